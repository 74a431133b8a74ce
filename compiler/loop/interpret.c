/* The loop interpreter: runs a program at any stage of lowering, checking every access.
 *
 * A value is an array of lanes, doubles for floats and int64_t for the rest, rounded or
 * wrapped to its dtype after each operation. Where a select or a mask turns lanes off,
 * what is not chosen is not evaluated: loads there touch nothing.
 */
#include "compiler/loop/interpret.h"
#include "compiler/loop/loop_threads.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- environment --------------------------------------------------------------- */

static const kiln_interp_var *slot_of(const kiln_interp *in, const kiln_var *v) {
    for (size_t i = in->vars.n; i-- > 0;)
        if (in->vars.v[i].var == v)
            return &in->vars.v[i];
    return NULL;
}

void kiln_interp_bind(kiln_interp *in, const kiln_var *v, double f, int64_t i) {
    const kiln_interp_var slot = {v, f, i};
    kiln_vec_push(in->arena, &in->vars, slot);
}

kiln_interp_memory *kiln_interp_find(kiln_interp *in, const kiln_buffer *b) {
    for (size_t i = in->memory.n; i-- > 0;)
        if (in->memory.v[i].buffer == b)
            return &in->memory.v[i];
    return NULL;
}

bool kiln_interp_reaches(kiln_interp *in, const kiln_buffer *b, const char *what) {
    if (b->scope != KILN_SCOPE_DEVICE)
        return true;
    in->status = in->status != KILN_OK
                     ? in->status
                     : kiln_fail(in->err, KILN_ERR_ARG,
                                 "the host %s '%s', which lies in the device's memory; "
                                 "copy it to the host's first%s",
                                 what, b->name, kiln_interp_where(in));
    return false;
}

const char *kiln_interp_where(kiln_interp *in) {
    kiln_buf text;
    kiln_buf_init(&text, in->arena);
    for (size_t i = 0; i < in->vars.n; i++)
        kiln_buf_printf(&text, "%s%s=%" PRId64, i > 0 ? ", " : " at ",
                        in->vars.v[i].var->name, in->vars.v[i].i);
    return text.p != NULL ? text.p : "";
}

/* ---- memory -------------------------------------------------------------------- */

/* Element number of one lane's indexes; -1 and an error when outside. */
int64_t kiln_interp_offset(kiln_interp *in, const kiln_interp_memory *m,
                           const kiln_lanes *index, int lane) {
    const kiln_buffer *b = m->buffer;
    int64_t offset = 0;
    for (int i = 0; i < b->rank; i++) {
        const int64_t x = index[i].i[lane];
        if (x < 0 || x >= m->dim[i]) {
            in->status = kiln_fail(in->err, KILN_ERR_SHAPE,
                                   "buffer '%s': index %d must be in [0, %" PRId64
                                   "), is %" PRId64 "%s",
                                   b->name, i, m->dim[i], x, kiln_interp_where(in));
            return -1;
        }
        offset += x * m->stride[i];
    }
    return offset;
}

void kiln_interp_load(const kiln_interp_memory *m, int64_t at, double *f, int64_t *i) {
    const kiln_type t = kiln_type_scalar(m->buffer->dtype);
    kiln_wide w = {.type = t, .f = f, .i = i};
    kiln_widen(&t, m->data + (size_t)at * kiln_dtype_bytes(t.dtype), &w);
}

void kiln_interp_store(kiln_interp_memory *m, int64_t at, const double *f,
                       const int64_t *i) {
    const kiln_type t = kiln_type_scalar(m->buffer->dtype);
    double fv = f != NULL ? *f : 0;
    int64_t iv = i != NULL ? *i : 0;
    const kiln_wide w = {
        .type = t, .f = f != NULL ? &fv : NULL, .i = f != NULL ? NULL : &iv};
    kiln_narrow(&w, m->data + (size_t)at * kiln_dtype_bytes(t.dtype));
}

/* ---- lanes --------------------------------------------------------------------- */

static kiln_lanes lanes_new(kiln_interp *in, kiln_dtype dtype, int n) {
    kiln_lanes v = {.n = n, .dtype = dtype};
    if (kiln_dtype_is_float(dtype))
        v.f = kiln_array(in->arena, double, n);
    else
        v.i = kiln_array(in->arena, int64_t, n);
    return v;
}

static bool is_on(const bool *mask, int lane) { return mask == NULL || mask[lane]; }

static void set_lane(kiln_lanes *to, int k, const kiln_lanes *from, int j) {
    if (to->f != NULL)
        to->f[k] = from->f[j];
    else
        to->i[k] = from->i[j];
}

static void no_quotient(kiln_interp *in, int64_t x, int64_t y) {
    in->status =
        kiln_fail(in->err, KILN_ERR_ARG,
                  "%" PRId64 " and %" PRId64 " have no quotient, remainder or shift%s",
                  x, y, kiln_interp_where(in));
}

/* One lane of a binary operation, by the builder's own folding: there is one meaning of
 * each operator. */
static bool binary_lane(kiln_interp *in, const kiln_expr *e, const kiln_lanes *x,
                        const kiln_lanes *y, int k, kiln_lanes *out) {
    if (x->f != NULL) {
        double v = 0;
        bool is_bool = false;
        if (!kiln_x_fold_float(e->kind, x->f[k], y->f[k], &v, &is_bool))
            return false;
        if (is_bool)
            out->i[k] = v != 0;
        else
            out->f[k] = kiln_round_f64(e->dtype, v);
        return true;
    }
    if (kiln_x_fold_int(e->kind, x->dtype, x->i[k], y->i[k], &out->i[k]))
        return true;
    no_quotient(in, x->i[k], y->i[k]);
    return false;
}

static bool is_int_binary(const kiln_expr *e) {
    switch (e->kind) {
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_LOGICAL:
        return !kiln_dtype_is_float(e->arg[0]->dtype);
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPR_VAR:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPRS_LANES:
        break;
    }
    return false;
}

static int64_t int_binary(kiln_interp *in, const kiln_expr *e);

/* What indexes are made of needs no memory. */
static int64_t eval_int(kiln_interp *in, const kiln_expr *e) {
    if (e->kind == KILN_EXPR_INT)
        return e->u.i;
    if (is_int_binary(e))
        return int_binary(in, e);
    const kiln_interp_var *slot =
        e->kind == KILN_EXPR_VAR && in->bound == NULL ? slot_of(in, e->u.var) : NULL;
    return slot != NULL ? slot->i : kiln_interp_eval(in, e, NULL).i[0];
}

/* An operation of two whole numbers in one lane. */
static int64_t int_binary(kiln_interp *in, const kiln_expr *e) {
    const int64_t x = eval_int(in, e->arg[0]), y = eval_int(in, e->arg[1]);
    int64_t v = 0;
    if (in->status == KILN_OK && !kiln_x_fold_int(e->kind, e->arg[0]->dtype, x, y, &v))
        no_quotient(in, x, y);
    return v;
}

static kiln_lanes eval_binary(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    const kiln_lanes x = kiln_interp_eval(in, e->arg[0], mask);
    const kiln_lanes y = kiln_interp_eval(in, e->arg[1], mask);
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    for (int k = 0; k < e->lanes && in->status == KILN_OK; k++)
        if (is_on(mask, k) && !binary_lane(in, e, &x, &y, k, &out))
            break;
    return out;
}

static kiln_lanes eval_select(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    const kiln_lanes cond = kiln_interp_eval(in, e->arg[0], mask);
    bool *side = kiln_array(in->arena, bool, e->lanes);
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    for (int want = 1; want >= 0 && in->status == KILN_OK; want--) {
        bool any = false;
        for (int k = 0; k < e->lanes; k++) {
            side[k] = is_on(mask, k) && (cond.i[k] != 0) == (want != 0);
            any = any || side[k];
        }
        if (!any)
            continue;
        const kiln_lanes v = kiln_interp_eval(in, e->arg[want != 0 ? 1 : 2], side);
        for (int k = 0; k < e->lanes && in->status == KILN_OK; k++)
            if (side[k])
                set_lane(&out, k, &v, k);
    }
    return out;
}

static kiln_lanes eval_cast(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    const kiln_lanes x = kiln_interp_eval(in, e->arg[0], mask);
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    for (int k = 0; k < e->lanes; k++) {
        if (!is_on(mask, k))
            continue;
        if (x.f != NULL && out.f != NULL)
            out.f[k] = kiln_round_f64(e->dtype, x.f[k]);
        else if (x.f != NULL)
            out.i[k] = e->dtype == KILN_BOOL
                           ? x.f[k] != 0
                           : kiln_interp_float_to_int(e->dtype, x.f[k]);
        else if (out.f != NULL)
            out.f[k] =
                kiln_round_f64(e->dtype, kiln_f64_from_int(x.dtype, e->dtype, x.i[k]));
        else
            out.i[k] =
                e->dtype == KILN_BOOL ? x.i[k] != 0 : kiln_wrap_i64(e->dtype, x.i[k]);
    }
    return out;
}

/* Truncates; what the dtype cannot hold saturates, NaN becomes 0: as generated code
 * does. */
int64_t kiln_interp_float_to_int(kiln_dtype dtype, double v) {
    const kiln_dtype_info *info = kiln_dtype_get(dtype);
    if (isnan(v))
        return 0;
    if (dtype == KILN_U64)
        return v <= 0 ? 0 : (v >= 18446744073709551616.0 ? -1 : (int64_t)(uint64_t)v);
    if (v <= (double)info->min_i)
        return info->min_i;
    return v >= (double)info->max_i ? info->max_i : (int64_t)v;
}

static kiln_lanes eval_dot4(kiln_interp *in, const kiln_expr *e) {
    kiln_lanes out = lanes_new(in, KILN_I32, e->lanes), arg[3];
    for (int i = 0; i < 3; i++)
        arg[i] = kiln_interp_eval(in, e->arg[i], NULL);
    for (int j = 0; j < e->lanes && in->status == KILN_OK; j++) {
        int64_t sum = arg[0].i[j];
        for (int k = 0; k < 4; k++)
            sum += arg[1].i[4 * j + k] * arg[2].i[4 * j + k];
        out.i[j] = kiln_wrap_i64(KILN_I32, sum);
    }
    return out;
}

static void call_lane(kiln_interp *in, const kiln_expr *e, const kiln_lanes *arg, int k,
                      kiln_lanes *out) {
    double x[3] = {0, 0, 0}, v;
    int64_t n[3] = {0, 0, 0}, w = 0;
    for (int i = 0; i < e->n_arg; i++) {
        if (arg[i].f != NULL)
            x[i] = arg[i].f[k];
        else
            n[i] = arg[i].i[k];
    }
    if (arg[0].f != NULL) {
        /* Of f32 not by way of double, which would round twice. */
        v = e->u.intrin == KILN_INTRIN_fma && e->dtype == KILN_F32
                ? (double)fmaf((float)x[0], (float)x[1], (float)x[2])
                : kiln_intrin_eval(e->u.intrin, x);
        w = out->f == NULL && v != 0; /* isnan */
        if (out->f != NULL)
            out->f[k] = kiln_round_f64(e->dtype, v);
    } else if (!kiln_intrin_eval_int(e->u.intrin, arg[0].dtype, n, &w)) {
        in->status =
            kiln_fail(in->err, KILN_ERR_ARG, "intrinsic '%s' has no meaning for %s%s",
                      kiln_intrin_get(e->u.intrin)->name, kiln_dtype_name(arg[0].dtype),
                      kiln_interp_where(in));
    }
    if (out->f == NULL)
        out->i[k] = w;
}

static kiln_lanes eval_call(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    kiln_lanes arg[3];
    if (!kiln_intrin_get(e->u.intrin)->is_pure)
        return out;
    if (e->u.intrin == KILN_INTRIN_dot4)
        return eval_dot4(in, e);
    for (int i = 0; i < e->n_arg; i++)
        arg[i] = kiln_interp_eval(in, e->arg[i], mask);
    for (int k = 0; k < e->lanes && in->status == KILN_OK; k++)
        if (is_on(mask, k))
            call_lane(in, e, arg, k, &out);
    return out;
}

static const bool *load_mask(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    if (e->u.load.mask == NULL)
        return mask;
    const kiln_lanes m = kiln_interp_eval(in, e->u.load.mask, mask);
    bool *on = kiln_array(in->arena, bool, e->lanes);
    for (int k = 0; k < e->lanes; k++)
        on[k] = is_on(mask, k) && m.i[k] != 0;
    return on;
}

static kiln_lanes eval_load(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    const kiln_interp_memory *m = kiln_interp_find(in, e->u.load.buffer);
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes), index[KILN_MAX_AXES];
    if (m == NULL) {
        in->status = kiln_fail(in->err, KILN_ERR_ARG,
                               "buffer '%s' is read where it does not exist",
                               e->u.load.buffer->name);
        return out;
    }
    if (!kiln_interp_reaches(in, e->u.load.buffer, "reads"))
        return out;
    mask = load_mask(in, e, mask);
    for (int i = 0; i < e->n_arg; i++)
        index[i] = kiln_interp_eval(in, e->arg[i], mask);
    const int64_t turn = kiln_traffic_turn(in, e);
    for (int k = 0; k < e->lanes && in->status == KILN_OK; k++) {
        if (!is_on(mask, k))
            continue;
        const int64_t at = kiln_interp_offset(in, m, index, k);
        if (at >= 0)
            kiln_traffic_note(in, e, turn, m, at);
        if (at >= 0 && kiln_shadow_touch(in, m, at, false))
            kiln_interp_load(m, at, out.f != NULL ? &out.f[k] : NULL,
                             out.f != NULL ? NULL : &out.i[k]);
    }
    return out;
}

static kiln_lanes eval_ramp(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    (void)mask;
    const kiln_lanes base = kiln_interp_eval(in, e->arg[0], NULL);
    const kiln_lanes step = kiln_interp_eval(in, e->arg[1], NULL);
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    for (int k = 0; k < e->lanes && in->status == KILN_OK; k++)
        out.i[k] = kiln_wrap_i64(e->dtype, base.i[0] + k * step.i[0]);
    return out;
}

static kiln_lanes eval_shuffle(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    (void)mask;
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    int begin = 0;
    for (int i = 0; i < e->n_arg; i++) {
        const kiln_lanes v = kiln_interp_eval(in, e->arg[i], NULL);
        for (int k = 0; k < e->lanes && in->status == KILN_OK; k++)
            if (e->u.lane[k] >= begin && e->u.lane[k] < begin + v.n)
                set_lane(&out, k, &v, e->u.lane[k] - begin);
        begin += v.n;
    }
    return out;
}

static kiln_lanes eval_not(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    const kiln_lanes x = kiln_interp_eval(in, e->arg[0], mask);
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    for (int k = 0; k < e->lanes; k++)
        out.i[k] = e->dtype == KILN_BOOL ? !x.i[k] : kiln_wrap_i64(e->dtype, ~x.i[k]);
    return out;
}

/* Through the native bytes: narrow as one dtype, widen as the other. */
static kiln_lanes eval_bitcast(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    const kiln_lanes x = kiln_interp_eval(in, e->arg[0], mask);
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    const kiln_type from = kiln_type_scalar(x.dtype), to = kiln_type_scalar(e->dtype);
    for (int k = 0; k < e->lanes; k++) {
        uint64_t bytes = 0;
        const kiln_wide a = {.type = from,
                             .f = x.f != NULL ? &x.f[k] : NULL,
                             .i = x.f != NULL ? NULL : &x.i[k]};
        kiln_wide b = {.type = to,
                       .f = out.f != NULL ? &out.f[k] : NULL,
                       .i = out.f != NULL ? NULL : &out.i[k]};
        kiln_narrow(&a, &bytes);
        kiln_widen(&to, &bytes, &b);
    }
    return out;
}

/* A scalar: f for float dtypes, i for the rest. */
static kiln_lanes scalar(kiln_interp *in, kiln_dtype dtype, double f, int64_t i) {
    kiln_lanes out = lanes_new(in, dtype, 1);
    if (out.f != NULL)
        out.f[0] = f;
    else if (out.i != NULL)
        out.i[0] = i;
    return out;
}

static kiln_lanes eval_var(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    (void)mask;
    for (const kiln_interp_bound *b = in->bound; b != NULL; b = b->next)
        if (b->var == e->u.var)
            return b->value;
    const kiln_interp_var *slot = slot_of(in, e->u.var);
    if (slot != NULL)
        return scalar(in, e->dtype, slot->f, slot->i);
    in->status =
        kiln_fail(in->err, KILN_ERR_ARG, "variable '%s' is used where it has no value",
                  e->u.var->name);
    return scalar(in, e->dtype, 0, 0);
}

static kiln_lanes eval_broadcast(kiln_interp *in, const kiln_expr *e,
                                 const bool *mask) {
    (void)mask;
    const kiln_lanes x = kiln_interp_eval(in, e->arg[0], NULL);
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    for (int k = 0; k < e->lanes; k++)
        set_lane(&out, k, &x, 0);
    return out;
}

static void push_bound(kiln_interp *in, const kiln_var *v, kiln_lanes value) {
    kiln_interp_bound *b = kiln_new(in->arena, kiln_interp_bound);
    *b = (kiln_interp_bound){v, value, in->bound};
    in->bound = b;
}

/* What all lanes share is evaluated whatever the mask says. */
static const bool *mask_of(const kiln_expr *part, const kiln_expr *e,
                           const bool *mask) {
    return part->lanes == e->lanes ? mask : NULL;
}

/* Lanes that are off bind anything; of what has one lane for all, nothing is off. */
static kiln_lanes eval_let(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    const kiln_interp_bound *const outside = in->bound;
    for (int i = 0; i + 1 < e->n_arg && in->status == KILN_OK; i++)
        push_bound(in, e->u.bound[i],
                   kiln_interp_eval(in, e->arg[i], mask_of(e->arg[i], e, mask)));
    const kiln_lanes v = kiln_interp_eval(in, e->arg[e->n_arg - 1], mask);
    in->bound = outside;
    return v;
}

static bool goes_on(kiln_interp *in, const kiln_expr *e, const kiln_expr *cond,
                    const bool *mask) {
    const kiln_lanes c = kiln_interp_eval(in, cond, mask_of(cond, e, mask));
    bool any = false;
    for (int k = 0; k < c.n && in->status == KILN_OK; k++)
        any = any || (c.i[k] != 0 && is_on(mask_of(cond, e, mask), k));
    return any;
}

static kiln_lanes eval_loop(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    const kiln_interp_bound *const outside = in->bound;
    const kiln_loop_parts p = kiln_x_loop_parts(e);
    kiln_lanes *state = kiln_array(in->arena, kiln_lanes, p.turns.n_state);
    for (int i = 0; i < p.turns.n_state; i++)
        state[i] = kiln_interp_eval(in, p.init[i], mask_of(p.init[i], e, mask));
    for (;;) {
        in->bound = outside;
        for (int i = 0; i < p.turns.n_state; i++)
            push_bound(in, p.turns.state[i], state[i]);
        if (!goes_on(in, e, p.cond, mask) || !kiln_interp_step(in))
            break;
        for (int i = 0; i < p.turns.n_local; i++)
            push_bound(in, p.turns.local[i],
                       kiln_interp_eval(in, p.local[i], mask_of(p.local[i], e, mask)));
        for (int i = 0; i < p.turns.n_state; i++)
            state[i] = kiln_interp_eval(in, p.next[i], mask_of(p.next[i], e, mask));
    }
    const kiln_lanes v = kiln_interp_eval(in, p.value, mask);
    in->bound = outside;
    return v;
}

static kiln_lanes eval_table(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    (void)mask;
    const kiln_lanes index = kiln_interp_eval(in, e->arg[0], NULL);
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    for (int k = 0; k < e->lanes && in->status == KILN_OK; k++) {
        if (index.i[k] >= 0 && index.i[k] < e->u.table->n)
            out.i[k] = e->u.table->v[index.i[k]];
        else
            in->status =
                kiln_fail(in->err, KILN_ERR_SHAPE,
                          "the index of a table must be in [0, %d), is %" PRId64 "%s",
                          e->u.table->n, index.i[k], kiln_interp_where(in));
    }
    return out;
}

static kiln_lanes eval_int_constant(kiln_interp *in, const kiln_expr *e,
                                    const bool *mask) {
    (void)mask;
    return scalar(in, e->dtype, 0, e->u.i);
}

static kiln_lanes eval_float_constant(kiln_interp *in, const kiln_expr *e,
                                      const bool *mask) {
    (void)mask;
    return scalar(in, e->dtype, e->u.f, 0);
}

static kiln_lanes eval_tensor(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    (void)mask;
    in->status = kiln_fail(in->err, KILN_ERR_ARG,
                           "a loop program must not hold reads or reductions of tensor "
                           "expressions; lower it first");
    return lanes_new(in, e->dtype, e->lanes);
}

/* A table, not a switch, so that each has a frame of its own and not all of them one, at
 * each level of an expression: AddressSanitizer clears frames at each call. What is not
 * here is binary. */
static kiln_lanes (*const evaluate[])(kiln_interp *in, const kiln_expr *e,
                                      const bool *mask) = {
    [KILN_EXPR_INT] = eval_int_constant,
    [KILN_EXPR_FLOAT] = eval_float_constant,
    [KILN_EXPR_VAR] = eval_var,
    [KILN_EXPR_NOT] = eval_not,
    [KILN_EXPR_CAST] = eval_cast,
    [KILN_EXPR_BITCAST] = eval_bitcast,
    [KILN_EXPR_SELECT] = eval_select,
    [KILN_EXPR_CALL] = eval_call,
    [KILN_EXPR_LOAD] = eval_load,
    [KILN_EXPR_RAMP] = eval_ramp,
    [KILN_EXPR_BROADCAST] = eval_broadcast,
    [KILN_EXPR_SHUFFLE] = eval_shuffle,
    [KILN_EXPR_LET] = eval_let,
    [KILN_EXPR_LOOP] = eval_loop,
    [KILN_EXPR_TABLE] = eval_table,
    [KILN_EXPR_READ] = eval_tensor,
    [KILN_EXPR_REDUCE] = eval_tensor,
};

_Static_assert(sizeof evaluate / sizeof evaluate[0] == KILN_EXPR_LAST + 1,
               "each kind is either here or binary");

kiln_lanes kiln_interp_eval(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    if (e->lanes == 1 && is_on(mask, 0) && is_int_binary(e))
        return scalar(in, e->dtype, 0, int_binary(in, e));
    return evaluate[e->kind] != NULL ? evaluate[e->kind](in, e, mask)
                                     : eval_binary(in, e, mask);
}
