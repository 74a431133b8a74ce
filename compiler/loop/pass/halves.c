/* halves: f16 and bf16 become what every machine computes with. In memory they are the
 * u16 of their bits, as values f32, rounded to the half after each operation, and
 * converted by math/math_halves.c. Nothing changes where no back end says what it has.
 *
 * What chooses among halves or keeps their precision (min, select, abs, floor, ...)
 * rounds nothing, and what is loaded and stored as it is stays bits. */
#include "compiler/loop/formula.h"

typedef struct renamed {
    const void *from, *to; /* a variable or a buffer */
} renamed;

typedef struct halving {
    kiln_arena *arena;
    const kiln_natives *natives;
    int n_names;
    KILN_VEC(renamed) vars, buffers;
} halving;

static bool is_half(kiln_dtype d) { return d == KILN_F16 || d == KILN_BF16; }

static const kiln_expr *value_of(halving *h, const kiln_expr *e);
static const kiln_expr *bits_of_half(halving *h, const kiln_expr *e);

/* ---- variables and buffers ---------------------------------------------------------
 */

static const kiln_var *var_of(halving *h, const kiln_var *v) {
    if (!is_half(v->dtype))
        return v;
    for (size_t i = 0; i < h->vars.n; i++)
        if (h->vars.v[i].from == v)
            return h->vars.v[i].to;
    const kiln_var *wide = kiln_var_vector(h->arena, v->name, KILN_F32, v->lanes);
    kiln_vec_push(h->arena, &h->vars, ((renamed){v, wide}));
    return wide;
}

static const kiln_buffer *buffer_of(halving *h, const kiln_buffer *b) {
    if (b == NULL || !is_half(b->dtype))
        return b;
    for (size_t i = 0; i < h->buffers.n; i++)
        if (h->buffers.v[i].from == b)
            return h->buffers.v[i].to;
    kiln_buffer *bits = kiln_new(h->arena, kiln_buffer);
    *bits = *b;
    bits->dtype = KILN_U16;
    KILN_ASSERT(kiln_dtype_bytes(b->dtype) == kiln_dtype_bytes(bits->dtype),
                "'%s' would change its size", b->name);
    kiln_vec_push(h->arena, &h->buffers, ((renamed){b, bits}));
    return bits;
}

/* ---- conversions -------------------------------------------------------------------
 */

static kiln_formula formula_of(halving *h) {
    return (kiln_formula){.arena = h->arena,
                          .natives = h->natives,
                          .n_names = &h->n_names,
                          .prefix = 'h'};
}

static const kiln_expr *widened(halving *h, kiln_dtype dtype, const kiln_expr *bits) {
    kiln_formula f = formula_of(h);
    KILN_ASSERT(is_half(dtype) && bits->dtype == KILN_U16,
                "bits of a half are u16, not %s", kiln_dtype_name(bits->dtype));
    const kiln_expr *x = kiln_formula_keep(&f, bits);
    f.n_leaves = (int)f.var.n;
    return kiln_formula_done(&f, kiln_math_from_half(&f, dtype, x), bits->lanes);
}

/* Of any number. */
static const kiln_expr *narrowed(halving *h, kiln_dtype dtype, const kiln_expr *x) {
    kiln_formula f = formula_of(h);
    const kiln_expr *v = kiln_formula_keep(&f, x);
    f.n_leaves = (int)f.var.n;
    v = kiln_math_before_half(&f, v);
    return kiln_formula_done(&f, kiln_math_to_half(&f, dtype, v), x->lanes);
}

/* ---- expressions -------------------------------------------------------------------
 */

static const kiln_expr *visit(void *user, kiln_arena *a, const kiln_expr *e) {
    (void)a;
    return value_of(user, e);
}

static const kiln_expr *mapped(halving *h, const kiln_expr *e) {
    return kiln_expr_map(h->arena, e, visit, h);
}

/* Of halves it gives halves: nothing to round. */
static bool is_exact(const kiln_expr *e) {
    const uint64_t exact = KILN_NATIVE(abs) | KILN_NATIVE(ceil) |
                           KILN_NATIVE(copysign) | KILN_NATIVE(floor) |
                           KILN_NATIVE(round) | KILN_NATIVE(trunc);
    return e->kind == KILN_EXPR_MIN || e->kind == KILN_EXPR_MAX ||
           e->kind == KILN_EXPR_SELECT || e->kind == KILN_EXPR_SHUFFLE ||
           e->kind == KILN_EXPR_BROADCAST ||
           (e->kind == KILN_EXPR_CALL && (exact >> e->u.intrin & 1) != 0);
}

static const kiln_expr *let(halving *h, const kiln_expr *e) {
    const int n = e->n_arg - 1;
    const kiln_var **var = kiln_array(h->arena, const kiln_var *, n);
    const kiln_expr **value = kiln_array(h->arena, const kiln_expr *, n);
    for (int i = 0; i < n; i++) {
        var[i] = var_of(h, e->u.bound[i]);
        value[i] = value_of(h, e->arg[i]);
    }
    return kiln_x_let(h->arena, var, value, n, value_of(h, e->arg[n]));
}

static const kiln_expr *load(halving *h, const kiln_expr *e) {
    const kiln_expr *index[KILN_MAX_AXES];
    for (int i = 0; i < e->n_arg; i++)
        index[i] = value_of(h, e->arg[i]);
    return kiln_x_load(h->arena, buffer_of(h, e->u.load.buffer), index, e->n_arg,
                       e->u.load.mask != NULL ? value_of(h, e->u.load.mask) : NULL);
}

static const kiln_expr *constant(halving *h, const kiln_expr *e) {
    const kiln_type t = kiln_type_scalar(e->dtype);
    double v = e->u.f;
    uint16_t bits = 0;
    kiln_narrow(&(kiln_wide){.type = t, .f = &v}, &bits);
    return kiln_x_int(h->arena, KILN_U16, bits);
}

static const kiln_expr *select_bits(halving *h, const kiln_expr *e) {
    const kiln_expr *cond = value_of(h, e->arg[0]);
    const kiln_expr *then = bits_of_half(h, e->arg[1]);
    return kiln_x_select(h->arena, cond, then, bits_of_half(h, e->arg[2]));
}

/* The u16 of a half. */
static const kiln_expr *bits_of_half(halving *h, const kiln_expr *e) {
    const kiln_expr *x = e->n_arg > 0 ? e->arg[0] : NULL;
    switch (e->kind) {
    case KILN_EXPR_LOAD:
        return load(h, e);
    case KILN_EXPR_FLOAT:
        return constant(h, e);
    case KILN_EXPR_SELECT:
        return select_bits(h, e);
    case KILN_EXPR_BROADCAST:
        return kiln_x_broadcast(h->arena, bits_of_half(h, x), e->lanes);
    case KILN_EXPR_INT:
    case KILN_EXPR_VAR:
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_COMPARING:
    case KILN_EXPRS_BITWISE:
    case KILN_EXPRS_UNARY:
    case KILN_EXPR_CALL:
    case KILN_EXPRS_TENSOR:
    case KILN_EXPR_RAMP:
    case KILN_EXPR_SHUFFLE:
    case KILN_EXPRS_SCOPED:
        break;
    }
    if (e->kind == KILN_EXPR_BITCAST)
        return is_half(x->dtype) ? bits_of_half(h, x)
                                 : kiln_x_bitcast(h->arena, KILN_U16, value_of(h, x));
    if (e->kind == KILN_EXPR_CAST)
        return narrowed(h, e->dtype, value_of(h, x));
    if (is_exact(e) || e->kind == KILN_EXPR_LET || e->n_arg == 0)
        return narrowed(h, e->dtype, value_of(h, e));
    return narrowed(h, e->dtype, mapped(h, e));
}

/* f32 in the place of halves; of anything else the same dtype. */
static const kiln_expr *value_of(halving *h, const kiln_expr *e) {
    if (e->kind == KILN_EXPR_LET)
        return let(h, e);
    if (!is_half(e->dtype) && e->kind == KILN_EXPR_BITCAST && is_half(e->arg[0]->dtype))
        return kiln_x_bitcast(h->arena, e->dtype, bits_of_half(h, e->arg[0]));
    if (!is_half(e->dtype))
        return mapped(h, e);
    if (e->kind == KILN_EXPR_FLOAT)
        return kiln_x_float(h->arena, KILN_F32, e->u.f);
    if (e->kind == KILN_EXPR_VAR)
        return kiln_x_ref(h->arena, var_of(h, e->u.var));
    if (is_exact(e))
        return mapped(h, e);
    return widened(h, e->dtype, bits_of_half(h, e));
}

/* ---- statements --------------------------------------------------------------------
 */

static const kiln_stmt *store(halving *h, const kiln_stmt *s) {
    const kiln_buffer *b = s->u.store.buffer;
    const kiln_expr *index[KILN_MAX_AXES], *value = s->u.store.value;
    const kiln_expr *mask = s->u.store.mask;
    for (int i = 0; i < b->rank; i++)
        index[i] = value_of(h, s->u.store.index[i]);
    value = is_half(b->dtype) ? bits_of_half(h, value) : value_of(h, value);
    mask = mask != NULL ? value_of(h, mask) : NULL;
    return kiln_s_store(h->arena, buffer_of(h, b), index, value, mask);
}

/* A prefetch names the place: the load stays one. */
static const kiln_expr *place_of(halving *h, const kiln_expr *e) {
    return e->kind == KILN_EXPR_LOAD && is_half(e->dtype) ? load(h, e) : value_of(h, e);
}

static const kiln_expr *called_with(void *user, kiln_arena *a, const kiln_expr *e) {
    (void)a;
    return place_of(user, e);
}

static const kiln_expr *effect(halving *h, const kiln_expr *e) {
    if (e->kind != KILN_EXPR_CALL || e->n_arg != 1 ||
        e->arg[0]->kind != KILN_EXPR_LOAD || !is_half(e->arg[0]->dtype))
        return value_of(h, e);
    const kiln_expr *place = load(h, e->arg[0]);
    return kiln_x_call(h->arena, e->u.intrin, &place);
}

/* Bodies are done. */
static const kiln_stmt *rewritten(void *user, kiln_arena *a, const kiln_stmt *s) {
    halving *h = user;
    const kiln_expr *e = NULL;
    switch (s->kind) {
    case KILN_STMT_FOR:
        e = value_of(h, s->u.loop.min);
        return kiln_s_for(a, s->u.loop.var, e, value_of(h, s->u.loop.extent),
                          s->u.loop.kind, s->u.loop.tag, s->u.loop.body);
    case KILN_STMT_SEQ:
        return s;
    case KILN_STMT_IF:
        return kiln_s_if(a, value_of(h, s->u.branch.cond), s->u.branch.then,
                         s->u.branch.otherwise);
    case KILN_STMT_LET:
        return kiln_s_let(a, var_of(h, s->u.let.var), value_of(h, s->u.let.value),
                          s->u.let.body);
    case KILN_STMT_ALLOC:
        return kiln_s_alloc(a, buffer_of(h, s->u.alloc.buffer), s->u.alloc.body);
    case KILN_STMT_STORE:
        return store(h, s);
    case KILN_STMT_EVAL:
        return kiln_s_eval(a, effect(h, s->u.eval));
    case KILN_STMT_ATTR:
        return kiln_s_attr(
            a, s->u.attr.key, s->u.attr.text, buffer_of(h, s->u.attr.buffer),
            s->u.attr.value != NULL ? value_of(h, s->u.attr.value) : NULL,
            s->u.attr.body);
    case KILN_STMT_CALL: /* of the bits */
    case KILN_STMT_COPY:
    case KILN_STMT_LAUNCH:
        return kiln_stmt_map(a, s,
                             &(kiln_stmt_rewrite){.expr = called_with, .user = h});
    case KILN_STMT_BARRIER:
        return s;
    }
    return s;
}

/* ---- the pass ----------------------------------------------------------------------
 */

static const kiln_expr *find_half(void *user, kiln_arena *a, const kiln_expr *e) {
    (void)a;
    *(bool *)user = *(bool *)user || is_half(e->dtype);
    return e;
}

static bool has_halves(const kiln_program *p) {
    bool found = false;
    for (int i = 0; i < p->n_args; i++)
        found = found || is_half(p->arg[i]->dtype);
    if (!found)
        kiln_stmt_rewritten(p->arena, p->body,
                            &(kiln_stmt_rewrite){.expr = find_half, .user = &found});
    return found;
}

static kiln_status run(kiln_program *p, const kiln_loop_options *o, kiln_err *err) {
    (void)err;
    if (o == NULL || o->natives == NULL || !has_halves(p))
        return KILN_OK;
    halving h = {.arena = p->arena, .natives = o->natives};
    const kiln_buffer **arg = kiln_array(p->arena, const kiln_buffer *, p->n_args);
    for (int i = 0; i < p->n_args; i++)
        arg[i] = buffer_of(&h, p->arg[i]);
    p->arg = arg;
    p->body = kiln_stmt_rewritten(p->arena, p->body,
                                  &(kiln_stmt_rewrite){.stmt = rewritten, .user = &h});
    return KILN_OK;
}

const kiln_loop_pass kiln_loop_pass_halves = {
    .name = "halves",
    .doc = "computes f16 and bf16 in f32, rounded by operations that machines have",
    .run = run,
};
