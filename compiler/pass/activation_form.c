/* Reads forms: see activation_form.h. */
#include "compiler/pass/activation_form.h"

#include <math.h>

bool kiln_form_is_arithmetic(const kiln_op_def *op) {
    return op == &kiln_op_add || op == &kiln_op_sub || op == &kiln_op_mul ||
           op == &kiln_op_div || op == &kiln_op_neg || op == &kiln_op_pow ||
           op == &kiln_op_reciprocal;
}

bool kiln_form_is_function(const kiln_op_def *op) {
    static const kiln_op_def *const all[] = {
        &kiln_op_erf,          &kiln_op_tanh, &kiln_op_sigmoid, &kiln_op_clip,
        &kiln_op_hard_sigmoid, &kiln_op_exp,  &kiln_op_log,     &kiln_op_softplus,
        &kiln_op_min,          &kiln_op_max,  &kiln_op_relu};
    enum { N = sizeof all / sizeof all[0] };
    for (int i = 0; i < N; i++)
        if (all[i] == op)
            return true;
    return false;
}

/* ---- functions ------------------------------------------------------------------- */

typedef struct call {
    kiln_form_function f;
    const kiln_value *arg;
    double low, high;
} call;

/* What max or min with one number limits, or relu; NULL: neither. */
static const kiln_value *limited(const kiln_node *n, call *c) {
    double limit = 0;
    if (n == NULL)
        return NULL;
    if (n->op == &kiln_op_relu) {
        c->low = 0;
        return n->in[0];
    }
    for (int i = 0; i < 2 && (n->op == &kiln_op_min || n->op == &kiln_op_max); i++)
        if (kiln_pass_number(n->in[i], &limit)) {
            *(n->op == &kiln_op_max ? &c->low : &c->high) = limit;
            return n->in[1 - i];
        }
    return NULL;
}

/* One limit behind the other, in either order. */
static void find_clip(const kiln_node *n, call *c) {
    c->low = -HUGE_VAL;
    c->high = HUGE_VAL;
    const kiln_value *v = limited(n, c);
    c->arg = v != NULL ? limited(v->def, c) : NULL;
    if (c->arg != NULL && isfinite(c->low) && isfinite(c->high) && c->low <= c->high)
        c->f = KILN_FORM_CLIP;
}

/* What ln(1 + e^v) is of, whichever way it is written; NULL: v is none. */
static const kiln_value *softplus_of(const kiln_value *v) {
    double one = 0;
    const kiln_node *n = v->def;
    if (n == NULL || n->op == &kiln_op_softplus)
        return n != NULL ? n->in[0] : NULL;
    const kiln_node *plus = n->op == &kiln_op_log ? n->in[0]->def : NULL;
    for (int i = 0; plus != NULL && plus->op == &kiln_op_add && i < 2; i++) {
        const kiln_node *e = plus->in[1 - i]->def;
        if (kiln_pass_number(plus->in[i], &one) && one == 1 && e != NULL &&
            e->op == &kiln_op_exp)
            return e->in[0];
    }
    return NULL;
}

static call call_of(const kiln_node *n) {
    call c = {.f = KILN_FORM_NONE, .arg = n->in[0]};
    if (n->op == &kiln_op_erf)
        c.f = KILN_FORM_ERF;
    if (n->op == &kiln_op_sigmoid)
        c.f = KILN_FORM_LOGISTIC;
    if (n->op == &kiln_op_exp)
        c.f = KILN_FORM_EXP;
    if (n->op == &kiln_op_tanh) {
        const kiln_value *v = softplus_of(n->in[0]);
        c.f = v != NULL ? KILN_FORM_TANH_SOFTPLUS : KILN_FORM_TANH;
        c.arg = v != NULL ? v : n->in[0];
    }
    if (n->op == &kiln_op_clip || n->op == &kiln_op_hard_sigmoid) {
        const bool is_clip = n->op == &kiln_op_clip;
        c.f = is_clip ? KILN_FORM_CLIP : KILN_FORM_HARD_SIGMOID;
        c.low = kiln_node_attr(n, is_clip ? "min" : "alpha")->f;
        c.high = kiln_node_attr(n, is_clip ? "max" : "beta")->f;
    }
    if (n->op == &kiln_op_min || n->op == &kiln_op_max || n->op == &kiln_op_relu)
        find_clip(n, &c);
    return c;
}

static bool read_form(kiln_form_reading *r, const kiln_value *v, kiln_form *out);

/* One call for all of it. */
static bool read_call(kiln_form_reading *r, const kiln_node *n, kiln_form *out) {
    const call c = call_of(n);
    kiln_form arg;
    *out = (kiln_form){.c = {{0}, {1}}, .f = c.f};
    if (c.f == KILN_FORM_NONE || r->call == n)
        return c.f != KILN_FORM_NONE;
    if (r->call != NULL || kiln_sweep_uses(r->sweep, n->out[0]) != 1)
        return false;
    r->call = n;
    r->low = c.low;
    r->high = c.high;
    if (!read_form(r, c.arg, &arg) || arg.f != KILN_FORM_NONE)
        return false;
    for (int j = 0; j < KILN_FORM_POWERS; j++)
        r->arg[j] = arg.c[0][j];
    return true;
}

/* ---- multiplying out ------------------------------------------------------------- */

static bool is_constant(const kiln_form *f) {
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < KILN_FORM_POWERS; j++)
            if (f->c[i][j] != 0 && i + j > 0)
                return false;
    return true;
}

/* The function of both; false: they have two. */
static bool join(const kiln_form *a, const kiln_form *b, kiln_form_function *out) {
    *out = a->f != KILN_FORM_NONE ? a->f : b->f;
    return a->f == b->f || a->f == KILN_FORM_NONE || b->f == KILN_FORM_NONE;
}

static bool sum(const kiln_form *a, const kiln_form *b, double sign, kiln_form *out) {
    kiln_form s = *a;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < KILN_FORM_POWERS; j++)
            s.c[i][j] += sign * b->c[i][j];
    const bool is_one = join(a, b, &s.f);
    *out = s;
    return is_one;
}

/* False: a term is of too high a power. */
static bool product(const kiln_form *a, const kiln_form *b, kiln_form *out) {
    kiln_form p = {.f = KILN_FORM_NONE};
    for (int i = 0; i < 4 * KILN_FORM_POWERS * KILN_FORM_POWERS; i++) {
        const int fa = i & 1, fb = i >> 1 & 1;
        const int xa = i / 4 % KILN_FORM_POWERS, xb = i / 4 / KILN_FORM_POWERS;
        const double c = a->c[fa][xa] * b->c[fb][xb];
        if (c == 0)
            continue;
        if (fa + fb > 1 || xa + xb >= KILN_FORM_POWERS)
            return false;
        p.c[fa + fb][xa + xb] += c;
    }
    const bool is_one = join(a, b, &p.f);
    *out = p;
    return is_one;
}

static bool read_power(const kiln_form *a, const kiln_form *exponent, kiln_form *out) {
    const double n = exponent->c[0][0];
    if (!is_constant(exponent) || (n != 2 && n != 3))
        return false;
    return product(a, a, out) && (n == 2 || product(a, out, out));
}

/* a over b = n's last operand: a number, or one times 1 + e^v that only n reads. */
static bool quotient(const kiln_form_reading *r, const kiln_node *n, const kiln_form *a,
                     const kiln_form *b, kiln_form *out) {
    const double c = b->c[0][0];
    kiln_form inverse = {.c = {{1 / c}}};
    if (c == 0)
        return false;
    if (is_constant(b))
        return product(a, &inverse, out);
    kiln_form rest = *b;
    rest.c[0][0] = rest.c[1][0] = 0;
    if (b->f != KILN_FORM_EXP || b->c[1][0] != c || !is_constant(&rest) ||
        kiln_sweep_uses(r->sweep, n->in[n->n_in - 1]) != 1)
        return false;
    inverse = (kiln_form){.c = {{0}, {1 / c}}, .f = KILN_FORM_LOGISTIC};
    return product(a, &inverse, out);
}

static bool read_arithmetic(kiln_form_reading *r, const kiln_node *n, kiln_form *out) {
    const kiln_form one = {.c = {{1}}};
    kiln_form a, b = {.f = KILN_FORM_NONE};
    if (!read_form(r, n->in[0], &a) || (n->n_in > 1 && !read_form(r, n->in[1], &b)))
        return false;
    if (n->op == &kiln_op_mul)
        return product(&a, &b, out);
    if (n->op == &kiln_op_pow)
        return read_power(&a, &b, out);
    if (n->op == &kiln_op_div)
        return quotient(r, n, &a, &b, out);
    if (n->op == &kiln_op_reciprocal)
        return quotient(r, n, &one, &a, out);
    return n->op == &kiln_op_neg ? sum(&b, &a, -1, out)
                                 : sum(&a, &b, n->op == &kiln_op_sub ? -1 : 1, out);
}

static bool read_form(kiln_form_reading *r, const kiln_value *v, kiln_form *out) {
    *out = (kiln_form){.f = KILN_FORM_NONE};
    if (r->visits-- <= 0)
        return false;
    if (v == r->x) {
        out->c[0][1] = 1;
        return true;
    }
    if (kiln_pass_number(v, &out->c[0][0]))
        return true;
    const kiln_node *n = v->def;
    if (n == NULL || n->n_out != 1 || v->count != NULL)
        return false;
    return kiln_form_is_arithmetic(n->op)
               ? read_arithmetic(r, n, out)
               : kiln_form_is_function(n->op) && read_call(r, n, out);
}

bool kiln_form_read(kiln_form_reading *r, const kiln_value *v, kiln_form *out) {
    enum { MOST_VISITS = 64 };
    r->visits = MOST_VISITS;
    return read_form(r, v, out);
}

/* 1 / (1 + e^a) is the logistic function of -a. */
void kiln_form_argument(const kiln_form_reading *r, const kiln_form *root,
                        double arg[KILN_FORM_POWERS]) {
    const bool is_turned = root->f == KILN_FORM_LOGISTIC && r->call->op == &kiln_op_exp;
    for (int j = 0; j < KILN_FORM_POWERS; j++)
        arg[j] = is_turned ? -r->arg[j] : r->arg[j];
}
