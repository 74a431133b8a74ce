/* The loop interpreter: runs a program at any stage of lowering, checking every access.
 *
 * A value is an array of lanes, doubles for floats and int64_t for the rest, rounded or
 * wrapped to its dtype after each operation. Where a select or a mask turns lanes off,
 * what is not chosen is not evaluated: loads there touch nothing. What has one lane, as
 * most of a program does, is a number by itself, and needs no array; each operation is
 * written for one lane, and goes through the lanes where there are more.
 */
#include "compiler/loop/interpret.h"
#include "compiler/loop/loop_threads.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static kiln_number of_float(double f) { return (kiln_number){f, 0}; }
static kiln_number of_int(int64_t i) { return (kiln_number){0, i}; }

/* ---- environment --------------------------------------------------------------- */

static const kiln_interp_var *slot_of(const kiln_interp *in, const kiln_var *v) {
    for (size_t i = in->vars.n; i-- > 0;)
        if (in->vars.v[i].var == v)
            return &in->vars.v[i];
    return NULL;
}

void kiln_interp_bind(kiln_interp *in, const kiln_var *v, kiln_number value) {
    const kiln_interp_var slot = {v, value};
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
                        in->vars.v[i].var->name, in->vars.v[i].value.i);
    return text.p != NULL ? text.p : "";
}

/* ---- memory -------------------------------------------------------------------- */

static bool is_inside(kiln_interp *in, const kiln_interp_memory *m, int axis,
                      int64_t x) {
    if (x >= 0 && x < m->dim[axis])
        return true;
    in->status =
        kiln_fail(in->err, KILN_ERR_SHAPE,
                  "buffer '%s': index %d must be in [0, %" PRId64 "), is %" PRId64 "%s",
                  m->buffer->name, axis, m->dim[axis], x, kiln_interp_where(in));
    return false;
}

int64_t kiln_interp_offset(kiln_interp *in, const kiln_interp_memory *m,
                           const kiln_lanes *index, int lane) {
    int64_t offset = 0;
    for (int i = 0; i < m->buffer->rank; i++) {
        const int64_t x = index[i].i[lane];
        if (!is_inside(in, m, i, x))
            return -1;
        offset += x * m->stride[i];
    }
    return offset;
}

int64_t kiln_interp_place(kiln_interp *in, const kiln_interp_memory *m,
                          const kiln_expr *const *index) {
    int64_t offset = 0;
    for (int i = 0; i < m->buffer->rank; i++) {
        const int64_t x = kiln_interp_number(in, index[i]).i;
        if (in->status != KILN_OK || !is_inside(in, m, i, x))
            return -1;
        offset += x * m->stride[i];
    }
    return offset;
}

static kiln_number load(const kiln_interp_memory *m, int64_t at) {
    const unsigned char *const p = m->data + (size_t)at * m->elem_bytes;
    return m->is_float ? of_float(kiln_load_f64(m->buffer->dtype, p))
                       : of_int(kiln_load_i64(m->buffer->dtype, p));
}

void kiln_interp_store(kiln_interp_memory *m, int64_t at, kiln_number value) {
    unsigned char *const p = m->data + (size_t)at * m->elem_bytes;
    if (m->is_float)
        kiln_store_f64(m->buffer->dtype, value.f, p);
    else
        kiln_store_i64(m->buffer->dtype, value.i, p);
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

kiln_number kiln_interp_lane(const kiln_lanes *v, int k) {
    return v->f != NULL ? of_float(v->f[k]) : of_int(v->i[k]);
}

static void set_lane(kiln_lanes *to, int k, kiln_number v) {
    if (to->f != NULL)
        to->f[k] = v.f;
    else
        to->i[k] = v.i;
}

static void no_quotient(kiln_interp *in, int64_t x, int64_t y) {
    in->status =
        kiln_fail(in->err, KILN_ERR_ARG,
                  "%" PRId64 " and %" PRId64 " have no quotient, remainder or shift%s",
                  x, y, kiln_interp_where(in));
}

/* One lane of a binary operation, by the builder's own folding: there is one meaning of
 * each operator. */
static kiln_number binary(kiln_interp *in, const kiln_expr *e, kiln_number x,
                          kiln_number y) {
    const kiln_dtype dtype = e->arg[0]->dtype;
    if (kiln_dtype_is_float(dtype)) {
        double v = 0;
        bool is_bool = false;
        if (!kiln_x_fold_float(e->kind, x.f, y.f, &v, &is_bool))
            return of_int(0);
        return is_bool ? of_int(v != 0) : of_float(kiln_round_f64(e->dtype, v));
    }
    int64_t v = 0;
    if (in->status == KILN_OK && !kiln_x_fold_int(e->kind, dtype, x.i, y.i, &v))
        no_quotient(in, x.i, y.i);
    return of_int(v);
}

static kiln_number binary_number(kiln_interp *in, const kiln_expr *e) {
    const kiln_number x = kiln_interp_number(in, e->arg[0]);
    return binary(in, e, x, kiln_interp_number(in, e->arg[1]));
}

static kiln_lanes eval_binary(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    const kiln_lanes x = kiln_interp_eval(in, e->arg[0], mask);
    const kiln_lanes y = kiln_interp_eval(in, e->arg[1], mask);
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    for (int k = 0; k < e->lanes && in->status == KILN_OK; k++)
        if (is_on(mask, k))
            set_lane(&out, k,
                     binary(in, e, kiln_interp_lane(&x, k), kiln_interp_lane(&y, k)));
    return out;
}

static kiln_number select_number(kiln_interp *in, const kiln_expr *e) {
    const bool is_true = kiln_interp_number(in, e->arg[0]).i != 0;
    return in->status == KILN_OK ? kiln_interp_number(in, e->arg[is_true ? 1 : 2])
                                 : of_int(0);
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
                set_lane(&out, k, kiln_interp_lane(&v, k));
    }
    return out;
}

static kiln_number cast(const kiln_expr *e, kiln_number x) {
    const kiln_dtype from = e->arg[0]->dtype, to = e->dtype;
    const bool is_float = kiln_dtype_is_float(from);
    if (kiln_dtype_is_float(to))
        return (kiln_number){
            .f = kiln_round_f64(to, is_float ? x.f : kiln_f64_from_int(from, to, x.i))};
    if (to == KILN_BOOL)
        return of_int(is_float ? x.f != 0 : x.i != 0);
    return of_int(is_float ? kiln_interp_float_to_int(to, x.f)
                           : kiln_wrap_i64(to, x.i));
}

static kiln_number cast_number(kiln_interp *in, const kiln_expr *e) {
    return cast(e, kiln_interp_number(in, e->arg[0]));
}

static kiln_lanes eval_cast(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    const kiln_lanes x = kiln_interp_eval(in, e->arg[0], mask);
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    for (int k = 0; k < e->lanes; k++)
        if (is_on(mask, k))
            set_lane(&out, k, cast(e, kiln_interp_lane(&x, k)));
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

static kiln_number call(kiln_interp *in, const kiln_expr *e, const kiln_number *arg) {
    const kiln_dtype from = e->arg[0]->dtype;
    if (kiln_dtype_is_float(from)) {
        const double x[3] = {arg[0].f, arg[1].f, arg[2].f};
        /* Of f32 not by way of double, which would round twice. */
        const double v = e->u.intrin == KILN_INTRIN_fma && e->dtype == KILN_F32
                             ? (double)fmaf((float)x[0], (float)x[1], (float)x[2])
                             : kiln_intrin_eval(e->u.intrin, x);
        return kiln_dtype_is_float(e->dtype) ? of_float(kiln_round_f64(e->dtype, v))
                                             : of_int(v != 0); /* isnan */
    }
    const int64_t n[3] = {arg[0].i, arg[1].i, arg[2].i};
    int64_t w = 0;
    if (!kiln_intrin_eval_int(e->u.intrin, from, n, &w))
        in->status =
            kiln_fail(in->err, KILN_ERR_ARG, "intrinsic '%s' has no meaning for %s%s",
                      kiln_intrin_get(e->u.intrin)->name, kiln_dtype_name(from),
                      kiln_interp_where(in));
    return of_int(w);
}

static kiln_number call_number(kiln_interp *in, const kiln_expr *e) {
    kiln_number arg[3] = {{0, 0}, {0, 0}, {0, 0}};
    if (!kiln_intrin_get(e->u.intrin)->is_pure)
        return of_int(0);
    if (e->u.intrin == KILN_INTRIN_dot4) {
        const kiln_lanes v = eval_dot4(in, e);
        return kiln_interp_lane(&v, 0);
    }
    for (int i = 0; i < e->n_arg; i++)
        arg[i] = kiln_interp_number(in, e->arg[i]);
    return in->status == KILN_OK ? call(in, e, arg) : of_int(0);
}

static kiln_lanes eval_call(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    kiln_lanes arg[3];
    kiln_number x[3] = {{0, 0}, {0, 0}, {0, 0}};
    if (!kiln_intrin_get(e->u.intrin)->is_pure)
        return out;
    if (e->u.intrin == KILN_INTRIN_dot4)
        return eval_dot4(in, e);
    for (int i = 0; i < e->n_arg; i++)
        arg[i] = kiln_interp_eval(in, e->arg[i], mask);
    for (int k = 0; k < e->lanes && in->status == KILN_OK; k++) {
        if (!is_on(mask, k))
            continue;
        for (int i = 0; i < e->n_arg; i++)
            x[i] = kiln_interp_lane(&arg[i], k);
        set_lane(&out, k, call(in, e, x));
    }
    return out;
}

/* What the load reads; NULL: it must not. */
static const kiln_interp_memory *read_of(kiln_interp *in, const kiln_expr *e) {
    const kiln_buffer *b = e->u.load.buffer;
    const kiln_interp_memory *m = kiln_interp_find(in, b);
    if (m == NULL)
        in->status = kiln_fail(in->err, KILN_ERR_ARG,
                               "buffer '%s' is read where it does not exist", b->name);
    return m != NULL && kiln_interp_reaches(in, b, "reads") ? m : NULL;
}

/* The element `at`, where that is one (not -1) and may be read. */
static kiln_number read_element(kiln_interp *in, const kiln_expr *e, int64_t turn,
                                const kiln_interp_memory *m, int64_t at) {
    if (at < 0)
        return of_int(0);
    kiln_traffic_note(in, e, turn, m, at);
    return kiln_shadow_touch(in, m, at, false) ? load(m, at) : of_int(0);
}

static kiln_number load_number(kiln_interp *in, const kiln_expr *e) {
    const kiln_interp_memory *m = read_of(in, e);
    if (m == NULL)
        return of_int(0);
    const int64_t turn = kiln_traffic_turn(in, e);
    if (e->u.load.mask != NULL && kiln_interp_number(in, e->u.load.mask).i == 0)
        return of_int(0);
    return read_element(in, e, turn, m, kiln_interp_place(in, m, e->arg));
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
    const kiln_interp_memory *m = read_of(in, e);
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes), index[KILN_MAX_AXES];
    if (m == NULL)
        return out;
    mask = load_mask(in, e, mask);
    for (int i = 0; i < e->n_arg; i++)
        index[i] = kiln_interp_eval(in, e->arg[i], mask);
    const int64_t turn = kiln_traffic_turn(in, e);
    for (int k = 0; k < e->lanes && in->status == KILN_OK; k++)
        if (is_on(mask, k))
            set_lane(&out, k,
                     read_element(in, e, turn, m, kiln_interp_offset(in, m, index, k)));
    return out;
}

static kiln_lanes eval_ramp(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    (void)mask;
    const int64_t base = kiln_interp_number(in, e->arg[0]).i;
    const int64_t step = kiln_interp_number(in, e->arg[1]).i;
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    for (int k = 0; k < e->lanes && in->status == KILN_OK; k++)
        out.i[k] = kiln_wrap_i64(e->dtype, base + k * step);
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
                set_lane(&out, k, kiln_interp_lane(&v, e->u.lane[k] - begin));
        begin += v.n;
    }
    return out;
}

static kiln_number not_of(const kiln_expr *e, kiln_number x) {
    return of_int(e->dtype == KILN_BOOL ? !x.i : kiln_wrap_i64(e->dtype, ~x.i));
}

static kiln_number not_number(kiln_interp *in, const kiln_expr *e) {
    return not_of(e, kiln_interp_number(in, e->arg[0]));
}

static kiln_lanes eval_not(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    const kiln_lanes x = kiln_interp_eval(in, e->arg[0], mask);
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    for (int k = 0; k < e->lanes; k++)
        set_lane(&out, k, not_of(e, kiln_interp_lane(&x, k)));
    return out;
}

/* Through the native bytes: stored as the one dtype, loaded as the other. */
static kiln_number bitcast(const kiln_expr *e, kiln_number x) {
    const kiln_dtype from = e->arg[0]->dtype, to = e->dtype;
    uint64_t bytes = 0;
    if (kiln_dtype_is_float(from))
        kiln_store_f64(from, x.f, &bytes);
    else
        kiln_store_i64(from, x.i, &bytes);
    return kiln_dtype_is_float(to) ? of_float(kiln_load_f64(to, &bytes))
                                   : of_int(kiln_load_i64(to, &bytes));
}

static kiln_number bitcast_number(kiln_interp *in, const kiln_expr *e) {
    return bitcast(e, kiln_interp_number(in, e->arg[0]));
}

static kiln_lanes eval_bitcast(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    const kiln_lanes x = kiln_interp_eval(in, e->arg[0], mask);
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    for (int k = 0; k < e->lanes; k++)
        set_lane(&out, k, bitcast(e, kiln_interp_lane(&x, k)));
    return out;
}

static kiln_lanes eval_var(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    (void)mask;
    for (const kiln_interp_bound *b = in->bound; b != NULL; b = b->next)
        if (b->var == e->u.var)
            return b->value;
    in->status =
        kiln_fail(in->err, KILN_ERR_ARG, "variable '%s' is used where it has no value",
                  e->u.var->name);
    return lanes_new(in, e->dtype, e->lanes);
}

/* Loops and statements bind numbers, expressions lanes. */
static kiln_number var_number(kiln_interp *in, const kiln_expr *e) {
    const kiln_interp_var *slot = slot_of(in, e->u.var);
    if (slot != NULL)
        return slot->value;
    const kiln_lanes v = eval_var(in, e, NULL);
    return kiln_interp_lane(&v, 0);
}

static kiln_lanes eval_broadcast(kiln_interp *in, const kiln_expr *e,
                                 const bool *mask) {
    (void)mask;
    const kiln_number x = kiln_interp_number(in, e->arg[0]);
    kiln_lanes out = lanes_new(in, e->dtype, e->lanes);
    for (int k = 0; k < e->lanes; k++)
        set_lane(&out, k, x);
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

static kiln_number int_constant(kiln_interp *in, const kiln_expr *e) {
    (void)in;
    return of_int(e->u.i);
}

static kiln_number float_constant(kiln_interp *in, const kiln_expr *e) {
    (void)in;
    return of_float(e->u.f);
}

static kiln_lanes eval_tensor(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    (void)mask;
    in->status = kiln_fail(in->err, KILN_ERR_ARG,
                           "a loop program must not hold reads or reductions of tensor "
                           "expressions; lower it first");
    return lanes_new(in, e->dtype, e->lanes);
}

/* Tables, not switches, so that each has a frame of its own and not all of them one, at
 * each level of an expression: AddressSanitizer clears frames at each call. What is in
 * neither is binary; what is not in the first has lanes within, whatever it has itself,
 * and what is not in the second has one lane. */
static kiln_number (*const number[])(kiln_interp *in, const kiln_expr *e) = {
    [KILN_EXPR_INT] = int_constant,     [KILN_EXPR_FLOAT] = float_constant,
    [KILN_EXPR_VAR] = var_number,       [KILN_EXPR_NOT] = not_number,
    [KILN_EXPR_CAST] = cast_number,     [KILN_EXPR_BITCAST] = bitcast_number,
    [KILN_EXPR_SELECT] = select_number, [KILN_EXPR_CALL] = call_number,
    [KILN_EXPR_LOAD] = load_number,     [KILN_EXPR_LAST] = NULL,
};
static kiln_lanes (*const evaluate[])(kiln_interp *in, const kiln_expr *e,
                                      const bool *mask) = {
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

static bool has_number(const kiln_expr *e) {
    return number[e->kind] != NULL || evaluate[e->kind] == NULL;
}

kiln_number kiln_interp_number(kiln_interp *in, const kiln_expr *e) {
    if (has_number(e))
        return number[e->kind] != NULL ? number[e->kind](in, e) : binary_number(in, e);
    const kiln_lanes v = evaluate[e->kind](in, e, NULL);
    return kiln_interp_lane(&v, 0);
}

kiln_lanes kiln_interp_eval(kiln_interp *in, const kiln_expr *e, const bool *mask) {
    if (e->lanes > 1 || !has_number(e))
        return evaluate[e->kind] != NULL ? evaluate[e->kind](in, e, mask)
                                         : eval_binary(in, e, mask);
    kiln_lanes out = lanes_new(in, e->dtype, 1);
    if (is_on(mask, 0))
        set_lane(&out, 0, kiln_interp_number(in, e));
    return out;
}
