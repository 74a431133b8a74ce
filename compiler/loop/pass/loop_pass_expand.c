/* expand: calls of intrinsics that the back end has no code for become expressions of
 * what it has (compiler/loop/expand.h; the functions are in compiler/loop/math).
 * Nothing changes where nobody says what there is.
 *
 * A call stays where it was: behind a select or a mask its formula is evaluated where
 * the call would have been. */
#include "compiler/loop/formula.h"

#include <stdarg.h>
#include <stdio.h>

static const kiln_expansion rows[] = {
#define KILN_EXPANSION(name, floats, ints, ulps_f32, ulps_f64, floor, domain)          \
    {KILN_INTRIN_##name, floats, ints, {ulps_f32, ulps_f64}, floor, domain},
#include "compiler/loop/expansions.def"
#undef KILN_EXPANSION
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

const kiln_expansion *kiln_expansion_at(int i) {
    return i >= 0 && i < N_ROWS ? &rows[i] : NULL;
}

const kiln_expansion *kiln_expansion_of(kiln_intrin intrin) {
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].intrin == intrin)
            return &rows[i];
    return NULL;
}

const kiln_natives kiln_natives_least = {
    .name = "any machine", .f32 = KILN_NATIVE(sqrt), .f64 = KILN_NATIVE(sqrt)};

bool kiln_is_native(const kiln_natives *n, kiln_intrin i, kiln_dtype dtype) {
    const uint64_t always =
        KILN_NATIVE(add_rn) | KILN_NATIVE(sub_rn) | KILN_NATIVE(mul_rn);
    const uint64_t set = !kiln_dtype_is_float(dtype) ? n->ints
                         : dtype == KILN_F64         ? n->f64 | always
                                                     : n->f32 | always;
    return (set >> i & 1) != 0;
}

/* ---- formulas ----------------------------------------------------------------------
 */

static bool is_simple(const kiln_expr *e) {
    if (e->kind == KILN_EXPR_BROADCAST)
        e = e->arg[0];
    return e->kind == KILN_EXPR_INT || e->kind == KILN_EXPR_FLOAT ||
           e->kind == KILN_EXPR_VAR;
}

val kiln_formula_keep(kiln_formula *f, val e) {
    if (is_simple(e))
        return e;
    kiln_var *v = kiln_var_vector(f->arena, NULL, e->dtype, e->lanes);
    kiln_vec_push(f->arena, &f->var, v);
    kiln_vec_push(f->arena, &f->value, e);
    return kiln_x_ref(f->arena, v);
}

static const char *next_name(kiln_formula *f) {
    return kiln_format(f->arena, "%c%d", f->prefix, (*f->n_names)++);
}

/* Bindings in the order in which they are needed: that of their making is the C
 * compiler's, which may evaluate arguments as it likes. */
typedef struct ordered {
    bool *is_placed;
    const kiln_var **var;
    const kiln_expr **value;
    int n;
} ordered;

static ordered ordered_new(const kiln_formula *f) {
    return (ordered){.is_placed = kiln_array(f->arena, bool, f->var.n),
                     .var = kiln_array(f->arena, const kiln_var *, f->var.n),
                     .value = kiln_array(f->arena, const kiln_expr *, f->var.n)};
}

static int find_bound(const kiln_formula *f, const kiln_expr *e) {
    for (size_t i = f->var.n; e->kind == KILN_EXPR_VAR && i-- > 0;)
        if (f->var.v[i] == e->u.var)
            return (int)i;
    return -1;
}

static void place(kiln_formula *f, ordered *o, const kiln_expr *e);

static void place_args(kiln_formula *f, ordered *o, const kiln_expr *e) {
    for (int i = 0; i < e->n_arg; i++)
        place(f, o, e->arg[i]);
}

/* What a value needs, then itself; arguments of the call need nothing of it. */
static void place(kiln_formula *f, ordered *o, const kiln_expr *e) {
    const int i = find_bound(f, e);
    if (i < 0) {
        place_args(f, o, e);
        return;
    }
    if (o->is_placed[i])
        return;
    o->is_placed[i] = true;
    if (i >= f->n_leaves)
        place_args(f, o, f->value.v[i]);
    KILN_ASSERT((size_t)o->n < f->var.n, "a formula of %zu variables has more",
                f->var.n);
    f->var.v[i]->name = next_name(f);
    o->var[o->n] = f->var.v[i];
    o->value[o->n++] = f->value.v[i];
}

/* What the body stands for is the body. */
const kiln_expr *kiln_formula_done(kiln_formula *f, val body, int lanes) {
    ordered o = ordered_new(f);
    const int i = find_bound(f, body);
    if (i >= 0)
        body = f->value.v[i];
    if (i < 0 || i >= f->n_leaves)
        place_args(f, &o, body);
    return kiln_x_let(f->arena, o.var, o.value, o.n,
                      kiln_x_broadcast(f->arena, body, lanes));
}

val kiln_formula_state(kiln_formula_loop *l, val init) {
    kiln_formula *f = l->outside;
    KILN_ASSERT(l->n < KILN_MAX_STATES, "a loop of more than %d states", l->n);
    init = kiln_x_broadcast(f->arena, init, l->lanes);
    const kiln_var *v = kiln_var_vector(f->arena, next_name(f), init->dtype, l->lanes);
    l->init[l->n] = init;
    l->var[l->n++] = v;
    return kiln_x_ref(f->arena, v);
}

kiln_formula kiln_formula_inner(const kiln_formula *outside) {
    kiln_formula f = *outside;
    f.var.n = f.var.cap = f.value.n = f.value.cap = 0;
    f.var.v = NULL;
    f.value.v = NULL;
    f.n_leaves = 0;
    return f;
}

val kiln_formula_turns(kiln_formula_loop *l, val cond, kiln_formula *turn,
                       const val *next, kiln_formula *after, val value) {
    kiln_arena *a = l->outside->arena;
    val wide[KILN_MAX_STATES];
    ordered o = ordered_new(turn);
    for (int i = 0; i < l->n; i++) {
        KILN_ASSERT(next[i]->dtype == l->var[i]->dtype,
                    "state %d of a loop is %s, then %s", i,
                    kiln_dtype_name(l->var[i]->dtype), kiln_dtype_name(next[i]->dtype));
        place(turn, &o, next[i]);
        wide[i] = kiln_x_broadcast(a, next[i], l->lanes);
    }
    const kiln_loop_parts p = {
        .turns = {.state = l->var, .local = o.var, .n_state = l->n, .n_local = o.n},
        .init = l->init,
        .local = o.value,
        .next = wide,
        .cond = cond,
        .value = kiln_formula_done(after, value, l->lanes)};
    return kiln_formula_keep(l->outside, kiln_x_loop(a, &p));
}

val kiln_formula_fail(kiln_formula *f, const char *fmt, ...) {
    va_list ap;
    char text[256];
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (f->status == KILN_OK)
        f->status = kiln_fail(f->err, KILN_ERR_UNSUPPORTED, "%s", text);
    return NULL;
}

/* ---- the pass ----------------------------------------------------------------------
 */

typedef struct expanding {
    const kiln_natives *natives;
    int n_names;
    kiln_status status;
    kiln_err *err;
} expanding;

static kiln_expand_fn *function_of(expanding *x, const kiln_expr *e) {
    const kiln_dtype dtype = e->arg[0]->dtype;
    const kiln_expansion *row = kiln_expansion_of(e->u.intrin);
    const bool is_float = kiln_dtype_is_float(dtype);
    kiln_expand_fn *fn = row == NULL ? NULL : is_float ? row->floats : row->ints;
    KILN_ASSERT(dtype != KILN_F16 && dtype != KILN_BF16, "'%s' before pass halves",
                kiln_intrin_get(e->u.intrin)->name);
    const char *name = kiln_intrin_get(e->u.intrin)->name;
    if (fn == NULL && is_float)
        x->status = kiln_fail(x->err, KILN_ERR_UNSUPPORTED,
                              "intrinsic '%s' of %s is neither an instruction of '%s' "
                              "nor made of others",
                              name, kiln_dtype_name(dtype), x->natives->name);
    else if (fn == NULL)
        x->status =
            kiln_fail(x->err, KILN_ERR_UNSUPPORTED,
                      "intrinsic '%s' is not generated for %s; cast to f32 first", name,
                      kiln_dtype_name(dtype));
    return fn;
}

/* Arguments first, so that a formula may use each of them often. */
static const kiln_expr *expanded(expanding *x, kiln_arena *a, const kiln_expr *e,
                                 kiln_expand_fn *fn) {
    kiln_formula f = {.arena = a,
                      .natives = x->natives,
                      .n_names = &x->n_names,
                      .prefix = 't',
                      .err = x->err};
    const kiln_expr *arg[3];
    KILN_ASSERT(e->n_arg <= 3, "a function of %d arguments", e->n_arg);
    for (int i = 0; i < e->n_arg; i++)
        arg[i] = kiln_formula_keep(&f, e->arg[i]);
    f.n_leaves = (int)f.var.n;
    const kiln_expr *body = fn(&f, e->u.intrin, arg);
    if (f.status == KILN_OK) {
        KILN_ASSERT(body != NULL && body->dtype == e->dtype,
                    "'%s' gives %s, its formula another dtype",
                    kiln_intrin_get(e->u.intrin)->name, kiln_dtype_name(e->dtype));
        return kiln_formula_done(&f, body, e->lanes);
    }
    x->status = f.status;
    return e;
}

static const kiln_expr *visit(void *user, kiln_arena *a, const kiln_expr *e) {
    expanding *x = user;
    if (e->kind != KILN_EXPR_CALL || x->status != KILN_OK ||
        !kiln_intrin_get(e->u.intrin)->is_pure || e->u.intrin == KILN_INTRIN_dot4 ||
        kiln_is_native(x->natives, e->u.intrin, e->arg[0]->dtype))
        return e;
    kiln_expand_fn *fn = function_of(x, e);
    return fn != NULL ? expanded(x, a, e, fn) : e;
}

static kiln_status run(kiln_program *p, const kiln_loop_options *o, kiln_err *err) {
    if (o == NULL || o->natives == NULL)
        return KILN_OK;
    expanding x = {.natives = o->natives, .err = err};
    const kiln_stmt *body = kiln_stmt_rewritten(
        p->arena, p->body, &(kiln_stmt_rewrite){.expr = visit, .user = &x});
    if (x.status == KILN_OK)
        p->body = body;
    return x.status;
}

const kiln_loop_pass kiln_loop_pass_expand = {
    .name = "expand",
    .doc = "writes out the functions that the back end has no code for",
    .run = run,
};
