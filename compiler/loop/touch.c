/* Linear forms of indexes with quotients and remainders as parts, and what they touch.
 *
 * A quotient floor((c * q + r) / c) with r in [0, c) is q, and the remainder r: what
 * splits and fuses leave behind disappears. Other parts keep the form they are of, and
 * are bounded by it. */
#include "compiler/loop/touch.h"

#include <stdlib.h>

static void set_unknown(kiln_form *f) {
    const uint64_t depths = kiln_form_depths(f);
    *f = (kiln_form){.unknown = depths};
}

static void add_term(kiln_form *f, int depth, int64_t extent, int64_t factor) {
    if (f->unknown != 0) {
        f->unknown |= UINT64_C(1) << depth;
        return;
    }
    int at = 0;
    while (at < f->n_terms && f->term[at].depth != depth)
        at++;
    if (at == KILN_FORM_TERMS) {
        set_unknown(f);
        f->unknown |= UINT64_C(1) << depth;
        return;
    }
    if (at == f->n_terms) {
        f->term[f->n_terms].depth = depth;
        f->term[f->n_terms].extent = extent;
        f->term[f->n_terms++].factor = 0;
    }
    f->term[at].factor += factor;
    if (f->term[at].factor == 0)
        f->term[at] = f->term[--f->n_terms];
}

void kiln_form_add(kiln_form *f, const kiln_form *g, int64_t factor) {
    if (g->unknown != 0) {
        set_unknown(f);
        f->unknown |= g->unknown;
        return;
    }
    f->constant += factor * g->constant;
    for (int i = 0; i < g->n_terms; i++)
        add_term(f, g->term[i].depth, g->term[i].extent, factor * g->term[i].factor);
    for (int i = 0; i < g->n_parts; i++) {
        if (f->unknown != 0 || f->n_parts == KILN_FORM_PARTS) {
            const uint64_t depths = kiln_form_depths(g);
            set_unknown(f);
            f->unknown |= depths;
            return;
        }
        f->part[f->n_parts] = g->part[i];
        f->part[f->n_parts++].factor *= factor;
    }
}

static int64_t floor_div(int64_t x, int64_t y) {
    return x / y - (x % y != 0 && (x % y < 0) != (y < 0));
}

/* f = divisor * quotient + rest, as far as the factors tell. */
static void split_by(const kiln_form *f, int64_t divisor, kiln_form *quotient,
                     kiln_form *rest) {
    *quotient = *rest = (kiln_form){0};
    quotient->constant = floor_div(f->constant, divisor);
    rest->constant = f->constant - quotient->constant * divisor;
    for (int i = 0; i < f->n_terms; i++) {
        const int64_t factor = f->term[i].factor;
        if (factor % divisor == 0)
            add_term(quotient, f->term[i].depth, f->term[i].extent, factor / divisor);
        else
            add_term(rest, f->term[i].depth, f->term[i].extent, factor);
    }
    for (int i = 0; i < f->n_parts; i++) {
        const bool divides = f->part[i].factor % divisor == 0;
        kiln_form *to = divides ? quotient : rest;
        to->part[to->n_parts] = f->part[i];
        if (divides)
            to->part[to->n_parts].factor /= divisor;
        to->n_parts++;
    }
}

static void divide(const kiln_touch_vars *v, const kiln_form *f, int64_t divisor,
                   bool is_mod, kiln_form *out) {
    kiln_form quotient, rest;
    int64_t lo, hi;
    if (f->unknown != 0) {
        *out = *f;
        return;
    }
    split_by(f, divisor, &quotient, &rest);
    if (kiln_form_range(&rest, &lo, &hi) && lo >= 0 && hi < divisor) {
        *out = is_mod ? rest : quotient;
        return;
    }
    kiln_form part = {.n_parts = 1};
    part.part[0].of = kiln_arena_dup(v->arena, &rest, sizeof rest);
    part.part[0].divisor = divisor;
    part.part[0].factor = 1;
    part.part[0].is_mod = is_mod;
    if (!is_mod)
        kiln_form_add(&part, &quotient, 1);
    *out = part;
}

static void of_var(const kiln_touch_vars *v, const kiln_var *var, kiln_form *out) {
    *out = (kiln_form){0};
    for (size_t i = v->stack.n; i-- > 0;) {
        const kiln_touch_var *t = &v->stack.v[i];
        if (t->var != var)
            continue;
        if (t->form != NULL)
            *out = *t->form;
        else
            add_term(out, t->depth, t->extent, 1);
        return;
    }
}

static bool constant_of(const kiln_form *f, int64_t *out) {
    *out = f->constant;
    return f->unknown == 0 && f->n_terms == 0 && f->n_parts == 0;
}

/* Depends on what its arguments do, in no form. */
static void of_other(const kiln_touch_vars *v, const kiln_expr *e, kiln_form *out) {
    kiln_form sum = {0};
    for (int i = 0; i < e->n_arg; i++) {
        kiln_form f;
        kiln_form_of(v, e->arg[i], &f);
        sum.unknown |= kiln_form_depths(&f);
    }
    *out = sum;
}

static void of_binary(const kiln_touch_vars *v, const kiln_expr *e, kiln_form *out) {
    kiln_form x, y;
    int64_t c;
    kiln_form_of(v, e->arg[0], &x);
    kiln_form_of(v, e->arg[1], &y);
    if (e->kind == KILN_EXPR_ADD || e->kind == KILN_EXPR_SUB) {
        kiln_form_add(&x, &y, e->kind == KILN_EXPR_ADD ? 1 : -1);
        *out = x;
    } else if (e->kind == KILN_EXPR_MUL && constant_of(&y, &c)) {
        *out = (kiln_form){0};
        kiln_form_add(out, &x, c);
    } else if (e->kind == KILN_EXPR_MUL && constant_of(&x, &c)) {
        *out = (kiln_form){0};
        kiln_form_add(out, &y, c);
    } else if (e->kind != KILN_EXPR_MUL && constant_of(&y, &c) && c > 0) {
        divide(v, &x, c, e->kind == KILN_EXPR_FLOORMOD, out);
    } else {
        of_other(v, e, out);
    }
}

void kiln_form_of(const kiln_touch_vars *v, const kiln_expr *e, kiln_form *out) {
    switch (e->kind) {
    case KILN_EXPR_INT:
        *out = (kiln_form){.constant = e->u.i};
        return;
    case KILN_EXPR_VAR:
        of_var(v, e->u.var, out);
        return;
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
    case KILN_EXPR_MUL:
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
        of_binary(v, e, out);
        return;
    case KILN_EXPR_FLOAT:
    case KILN_EXPR_DIV:
    case KILN_EXPRS_EXTREME:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPRS_LANES:
        break;
    }
    of_other(v, e, out);
}

/* ---- what they reach ------------------------------------------------------------- */

static int64_t min64(int64_t x, int64_t y) { return x < y ? x : y; }

static int64_t part_width(const kiln_form *f, int i, int from) {
    const int64_t inner = kiln_form_width(f->part[i].of, from);
    return f->part[i].is_mod ? min64(inner, f->part[i].divisor - 1)
                             : inner / f->part[i].divisor;
}

int64_t kiln_form_width(const kiln_form *f, int from) {
    int64_t width = 0;
    for (int i = 0; i < f->n_terms; i++)
        if (f->term[i].depth >= from)
            width += llabs(f->term[i].factor) * (f->term[i].extent - 1);
    for (int i = 0; i < f->n_parts; i++)
        width += llabs(f->part[i].factor) * part_width(f, i, from);
    return width;
}

static int64_t gcd(int64_t x, int64_t y) {
    while (y != 0) {
        const int64_t r = x % y;
        x = y;
        y = r;
    }
    return x;
}

int64_t kiln_form_count(const kiln_form *f, int from) {
    int64_t step = 0, width = 0, product = 1;
    const int64_t most = INT64_C(1) << 40;
    for (int i = 0; i < f->n_terms; i++)
        if (f->term[i].depth >= from && f->term[i].extent > 1) {
            const int64_t factor = llabs(f->term[i].factor);
            step = gcd(step, factor);
            width += factor * (f->term[i].extent - 1);
            product = min64(most, product * f->term[i].extent);
        }
    for (int i = 0; i < f->n_parts; i++) {
        const int64_t w = part_width(f, i, from);
        if (w == 0)
            continue;
        step = gcd(step, llabs(f->part[i].factor));
        width += llabs(f->part[i].factor) * w;
        product = min64(most, product * (w + 1));
    }
    return step == 0 ? 1 : min64(width / step + 1, product);
}

int64_t kiln_form_step(const kiln_form *f, int depth) {
    int64_t step = 0;
    for (int i = 0; i < f->n_terms; i++)
        if (f->term[i].depth == depth)
            step += f->term[i].factor;
    for (int i = 0; i < f->n_parts; i++) {
        const int64_t inner = kiln_form_step(f->part[i].of, depth);
        const int64_t d = f->part[i].divisor;
        step += f->part[i].factor * (f->part[i].is_mod ? inner % d : inner / d);
    }
    return step;
}

uint64_t kiln_form_depths(const kiln_form *f) {
    uint64_t depths = f->unknown;
    for (int i = 0; i < f->n_terms; i++)
        depths |= UINT64_C(1) << f->term[i].depth;
    for (int i = 0; i < f->n_parts; i++)
        depths |= kiln_form_depths(f->part[i].of);
    return depths;
}

bool kiln_form_range(const kiln_form *f, int64_t *lo, int64_t *hi) {
    if (f->unknown != 0)
        return false;
    *lo = *hi = f->constant;
    for (int i = 0; i < f->n_terms; i++) {
        const int64_t reach = f->term[i].factor * (f->term[i].extent - 1);
        *(reach < 0 ? lo : hi) += reach;
    }
    for (int i = 0; i < f->n_parts; i++) {
        int64_t a, b;
        const int64_t d = f->part[i].divisor, factor = f->part[i].factor;
        if (!kiln_form_range(f->part[i].of, &a, &b))
            return false;
        a = f->part[i].is_mod ? 0 : floor_div(a, d);
        b = f->part[i].is_mod ? d - 1 : floor_div(b, d);
        *lo += factor * (factor < 0 ? b : a);
        *hi += factor * (factor < 0 ? a : b);
    }
    return true;
}
