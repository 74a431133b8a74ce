/* XNNPACK: an operator for channels-last tensors, with bias and bounds in it, and where
 * something else is behind, one more operator for each, as its users run it. Weights
 * are packed when an operator is made; set-up is done once; a pool has as many threads
 * as are compared, none where that is one. */
#include "pipeline/baselines/library/library.h"

#include <math.h>
#include <pthreadpool.h>
#include <string.h>
#include <xnnpack.h>

enum { MAX_STEPS = 1 + KILN_LIBRARY_MAX_TAILS };

typedef struct xnnpack {
    const kiln_library_op *op;
    kiln_arena *arena;
    pthreadpool_t pool;
    float *x, *out;        /* as XNNPACK has them: channels last */
    size_t channels, rows; /* of the output; rows: all else */
    float low, high;       /* bounds of the step that is being made */
    xnn_operator_t step[MAX_STEPS];
    int n_steps;
} xnnpack;

static kiln_status check(enum xnn_status st, const char *doing, kiln_err *err) {
    static const char *const text[] = {
        [xnn_status_uninitialized] = "uninitialized",
        [xnn_status_invalid_parameter] = "invalid parameter",
        [xnn_status_invalid_state] = "invalid state",
        [xnn_status_unsupported_parameter] = "unsupported parameter",
        [xnn_status_unsupported_hardware] = "unsupported hardware",
        [xnn_status_out_of_memory] = "out of memory"};
    if (st == xnn_status_success)
        return KILN_OK;
    const size_t i = (size_t)st;
    const bool is_known = i < sizeof text / sizeof text[0] && text[i] != NULL;
    return kiln_fail(err,
                     st == xnn_status_unsupported_parameter ? KILN_ERR_UNSUPPORTED
                                                            : KILN_ERR_LIB,
                     "XNNPACK says '%s' (%s)", is_known ? text[i] : "unknown", doing);
}

static kiln_status none_such(kiln_err *err, const char *what) {
    return kiln_fail(err, KILN_ERR_UNSUPPORTED, "no such operator in XNNPACK: %s",
                     what);
}

/* ---- tensors --------------------------------------------------------------------- */

/* XNNPACK may read a little beyond the end. */
static float *new_floats(kiln_arena *a, int64_t n) {
    return (float *)(void *)kiln_array(a, char,
                                       n *(int64_t)sizeof(float) + XNN_EXTRA_BYTES);
}

static bool is_image(const xnnpack *p) {
    return p->op->kind != KILN_LIBRARY_MATMUL && p->op->kind != KILN_LIBRARY_SOFTMAX;
}

/* [n, c, h * w] to [n, h * w, c]; with c and h * w exchanged, back. */
static void exchange(const float *from, float *to, int64_t n, int64_t c, int64_t hw) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < c; j++)
            for (int64_t k = 0; k < hw; k++)
                to[(i * hw + k) * c + j] = from[(i * c + j) * hw + k];
}

static void to_channels_last(const kiln_type *t, const float *from, float *to) {
    exchange(from, to, t->dim[0], t->dim[1], t->dim[2] * t->dim[3]);
}

static float *activation(const xnnpack *p, int tensor) {
    const kiln_tensor *t = &p->op->in[tensor].value;
    const int64_t n = kiln_type_elems(&t->type);
    float *v = new_floats(p->arena, n);
    if (is_image(p))
        to_channels_last(&t->type, t->data, v);
    else
        memcpy(v, t->data, (size_t)n * sizeof *v);
    return v;
}

static uint32_t u32(int64_t v) { return (uint32_t)v; }

/* ---- tails ----------------------------------------------------------------------- */

/* Bounds of a clip or relu, applied to those there are. */
static void narrow(xnnpack *p, const kiln_library_tail *t) {
    const float low = t->kind == KILN_LIBRARY_RELU ? 0 : (float)t->alpha;
    const float high = t->kind == KILN_LIBRARY_RELU ? HUGE_VALF : (float)t->beta;
    p->low = fminf(fmaxf(p->low, low), high);
    p->high = fminf(fmaxf(p->high, low), high);
}

static bool is_bound(const kiln_library_tail *t) {
    return t->kind == KILN_LIBRARY_RELU || t->kind == KILN_LIBRARY_CLIP;
}

/* Those that follow tail `i` at once: the operator has them in it. Returns the next
 * tail. */
static int read_bounds(xnnpack *p, int i) {
    p->low = -HUGE_VALF;
    p->high = HUGE_VALF;
    while (i < p->op->n_tails && is_bound(&p->op->tail[i]))
        narrow(p, &p->op->tail[i++]);
    return i;
}

static kiln_status read_bias(const xnnpack *p, const float **bias, kiln_err *err) {
    *bias = NULL;
    for (int i = 0; i < p->op->n_tails; i++) {
        const kiln_library_tail *t = &p->op->tail[i];
        if (t->kind != KILN_LIBRARY_BIAS)
            continue;
        if (i != 0 || !p->op->in[t->tensor].is_constant)
            return none_such(err, "a bias that is no constant right behind");
        *bias = p->op->in[t->tensor].value.data;
    }
    return KILN_OK;
}

static kiln_status add_sum(xnnpack *p, int tensor, kiln_err *err) {
    const size_t shape[] = {p->rows, p->channels};
    xnn_operator_t *to = &p->step[p->n_steps];
    KILN_TRY(check(xnn_create_add_nd_f32(p->low, p->high, 0, to), "making an addition",
                   err));
    p->n_steps++;
    return check(xnn_setup_add_nd_f32(*to, 2, shape, 2, shape, p->out,
                                      activation(p, tensor), p->out, p->pool),
                 "setting an addition up", err);
}

static kiln_status add_activation(xnnpack *p, const kiln_library_tail *t,
                                  kiln_err *err) {
    const size_t c = p->channels, n = p->rows;
    const float alpha = (float)t->alpha;
    float *y = p->out;
    xnn_operator_t *to = &p->step[p->n_steps];
    enum xnn_status st = xnn_status_unsupported_parameter;
    switch (t->kind) {
    case KILN_LIBRARY_RELU:
    case KILN_LIBRARY_CLIP:
        p->low = -HUGE_VALF;
        p->high = HUGE_VALF;
        narrow(p, t);
        st = xnn_create_clamp_nc_f32(c, c, c, p->low, p->high, 0, to);
        if (st == xnn_status_success)
            st = xnn_setup_clamp_nc_f32(*to, n, y, y, p->pool);
        break;
    case KILN_LIBRARY_SIGMOID:
        st = xnn_create_sigmoid_nc_f32(c, c, c, 0, to);
        if (st == xnn_status_success)
            st = xnn_setup_sigmoid_nc_f32(*to, n, y, y, p->pool);
        break;
    case KILN_LIBRARY_HARD_SWISH:
        st = xnn_create_hardswish_nc_f32(c, c, c, 0, to);
        if (st == xnn_status_success)
            st = xnn_setup_hardswish_nc_f32(*to, n, y, y, p->pool);
        break;
    case KILN_LIBRARY_LEAKY_RELU:
        st = xnn_create_leaky_relu_nc_f32(c, c, c, alpha, 0, to);
        if (st == xnn_status_success)
            st = xnn_setup_leaky_relu_nc_f32(*to, n, y, y, p->pool);
        break;
    case KILN_LIBRARY_ELU:
        st = xnn_create_elu_nc_f32(c, c, c, alpha, 0, to);
        if (st == xnn_status_success)
            st = xnn_setup_elu_nc_f32(*to, n, y, y, p->pool);
        break;
    case KILN_LIBRARY_BIAS:
    case KILN_LIBRARY_ADD:
    case KILN_LIBRARY_TANH:
    case KILN_LIBRARY_GELU:
    case KILN_LIBRARY_GELU_TANH:
    case KILN_LIBRARY_SWISH:
    case KILN_N_LIBRARY_TAILS:
        return none_such(err, kiln_library_tail_name(t->kind));
    }
    KILN_TRY(check(st, kiln_library_tail_name(t->kind), err));
    p->n_steps++;
    return KILN_OK;
}

static kiln_status add_tails(xnnpack *p, int i, kiln_err *err) {
    while (i < p->op->n_tails) {
        const kiln_library_tail *t = &p->op->tail[i++];
        if (t->kind == KILN_LIBRARY_ADD) {
            i = read_bounds(p, i);
            KILN_TRY(add_sum(p, t->tensor, err));
        } else {
            KILN_TRY(add_activation(p, t, err));
        }
    }
    return KILN_OK;
}

/* ---- anchors --------------------------------------------------------------------- */

static kiln_status add_conv(xnnpack *p, const float *bias, kiln_err *err) {
    const kiln_library_op *op = p->op;
    const int64_t *x = op->in[0].value.type.dim, *w = op->in[1].value.type.dim;
    const size_t groups = (size_t)op->groups, ic = (size_t)w[1],
                 oc = (size_t)(w[0] / op->groups);
    if (!op->in[1].is_constant)
        return none_such(err, "a convolution whose weights are no constants");
    float *weights = new_floats(p->arena, kiln_type_elems(&op->in[1].value.type));
    to_channels_last(&op->in[1].value.type, op->in[1].value.data, weights);
    KILN_TRY(check(xnn_create_convolution2d_nhwc_f32(
                       u32(op->pad_begin[0]), u32(op->pad_end[1]), u32(op->pad_end[0]),
                       u32(op->pad_begin[1]), u32(op->kernel[0]), u32(op->kernel[1]),
                       u32(op->stride[0]), u32(op->stride[1]), u32(op->dilation[0]),
                       u32(op->dilation[1]), u32(op->groups), ic, oc, groups * ic,
                       groups * oc, weights, bias, p->low, p->high, 0, &p->step[0]),
                   "making a convolution", err));
    p->n_steps = 1;
    return check(xnn_setup_convolution2d_nhwc_f32(p->step[0], (size_t)x[0],
                                                  (size_t)x[2], (size_t)x[3], p->x,
                                                  p->out, p->pool),
                 "setting a convolution up", err);
}

static kiln_status add_matmul(xnnpack *p, const float *bias, kiln_err *err) {
    const kiln_library_op *op = p->op;
    const kiln_type *b = &op->in[1].value.type;
    if (!op->in[1].is_constant || b->rank != 2)
        return none_such(err, "a product of two activations");
    if (op->trans_a)
        return none_such(err, "a product with a transposed activation");
    const size_t k = (size_t)b->dim[op->trans_b ? 1 : 0], n = p->channels;
    const uint32_t flags = op->trans_b ? 0 : XNN_FLAG_TRANSPOSE_WEIGHTS;
    KILN_TRY(
        check(xnn_create_fully_connected_nc_f32(k, n, k, n, op->in[1].value.data, bias,
                                                p->low, p->high, flags, &p->step[0]),
              "making a fully connected layer", err));
    p->n_steps = 1;
    return check(
        xnn_setup_fully_connected_nc_f32(p->step[0], p->rows, p->x, p->out, p->pool),
        "setting a fully connected layer up", err);
}

static kiln_status add_max_pool(xnnpack *p, kiln_err *err) {
    const kiln_library_op *op = p->op;
    const int64_t *x = op->in[0].value.type.dim;
    const size_t c = p->channels;
    KILN_TRY(check(xnn_create_max_pooling2d_nhwc_f32(
                       u32(op->pad_begin[0]), u32(op->pad_end[1]), u32(op->pad_end[0]),
                       u32(op->pad_begin[1]), u32(op->kernel[0]), u32(op->kernel[1]),
                       u32(op->stride[0]), u32(op->stride[1]), u32(op->dilation[0]),
                       u32(op->dilation[1]), c, c, c, p->low, p->high, 0, &p->step[0]),
                   "making a pool", err));
    p->n_steps = 1;
    return check(xnn_setup_max_pooling2d_nhwc_f32(p->step[0], (size_t)x[0],
                                                  (size_t)x[2], (size_t)x[3], p->x,
                                                  p->out, p->pool),
                 "setting a pool up", err);
}

static kiln_status add_avg_pool(xnnpack *p, kiln_err *err) {
    const kiln_library_op *op = p->op;
    const int64_t *x = op->in[0].value.type.dim;
    const size_t c = p->channels;
    const int64_t padding =
        op->pad_begin[0] + op->pad_begin[1] + op->pad_end[0] + op->pad_end[1];
    if (op->counts_padding && padding > 0)
        return none_such(err, "a mean that counts padding");
    if (op->dilation[0] != 1 || op->dilation[1] != 1)
        return none_such(err, "a mean of dilated windows");
    KILN_TRY(check(xnn_create_average_pooling2d_nhwc_f32(
                       u32(op->pad_begin[0]), u32(op->pad_end[1]), u32(op->pad_end[0]),
                       u32(op->pad_begin[1]), u32(op->kernel[0]), u32(op->kernel[1]),
                       u32(op->stride[0]), u32(op->stride[1]), c, c, c, p->low, p->high,
                       0, &p->step[0]),
                   "making a pool", err));
    p->n_steps = 1;
    return check(xnn_setup_average_pooling2d_nhwc_f32(p->step[0], (size_t)x[0],
                                                      (size_t)x[2], (size_t)x[3], p->x,
                                                      p->out, p->pool),
                 "setting a pool up", err);
}

static kiln_status add_softmax(xnnpack *p, kiln_err *err) {
    const size_t c = p->channels;
    if (p->op->axis != p->op->out.rank - 1)
        return none_such(err, "a softmax along another axis than the last");
    KILN_TRY(check(xnn_create_softmax_nc_f32(c, c, c, 0, &p->step[0]),
                   "making a softmax", err));
    p->n_steps = 1;
    return check(xnn_setup_softmax_nc_f32(p->step[0], p->rows, p->x, p->out, p->pool),
                 "setting a softmax up", err);
}

/* *next: the first tail that is not in it. */
static kiln_status add_anchor(xnnpack *p, int *next, kiln_err *err) {
    const kiln_library_kind kind = p->op->kind;
    const bool takes_bias = kind == KILN_LIBRARY_CONV || kind == KILN_LIBRARY_MATMUL;
    const float *bias;
    KILN_TRY(read_bias(p, &bias, err));
    if (bias != NULL && !takes_bias)
        return none_such(err, "a bias behind it");
    *next = kind == KILN_LIBRARY_SOFTMAX ? 0 : read_bounds(p, bias != NULL ? 1 : 0);
    switch (kind) {
    case KILN_LIBRARY_CONV:
        return add_conv(p, bias, err);
    case KILN_LIBRARY_MATMUL:
        return add_matmul(p, bias, err);
    case KILN_LIBRARY_MAX_POOL:
        return add_max_pool(p, err);
    case KILN_LIBRARY_AVG_POOL:
        return add_avg_pool(p, err);
    case KILN_LIBRARY_SOFTMAX:
        return add_softmax(p, err);
    case KILN_N_LIBRARY_KINDS:
        break;
    }
    return none_such(err, "this one");
}

/* ---- the library ----------------------------------------------------------------- */

static void end(void *xnn) {
    xnnpack *p = xnn;
    for (int i = 0; i < p->n_steps; i++)
        (void)xnn_delete_operator(p->step[i]);
    pthreadpool_destroy(p->pool);
}

static kiln_status prepare(kiln_arena *a, const kiln_library_op *op, int threads,
                           kiln_library_ready *out, kiln_err *err) {
    xnnpack *p = kiln_new(a, xnnpack);
    kiln_library_op *own = kiln_new(a, kiln_library_op);
    const kiln_type *y = &op->out;
    int next = 0;
    *own = *op;
    *p = (xnnpack){.op = own, .arena = a};
    if (y->rank < 1 || kiln_type_elems(y) == 0)
        return none_such(err, "one without elements");
    KILN_TRY(check(xnn_initialize(NULL), "beginning", err));
    p->pool = threads > 1 ? pthreadpool_create((size_t)threads) : NULL;
    if (threads > 1 && p->pool == NULL)
        return kiln_fail(err, KILN_ERR_LIB, "%d threads cannot be started", threads);
    kiln_arena_defer(a, end, p);
    /* As kiln's and oneDNN's are: two that have slept wake on one processor and stay
     * there for milliseconds (C2 of ResNet-18: 4.3 ms in place of 0.6). */
    if (p->pool != NULL)
        KILN_TRY(kiln_library_spread(err));
    p->channels = (size_t)y->dim[is_image(p) ? 1 : y->rank - 1];
    p->rows = (size_t)kiln_type_elems(y) / p->channels;
    p->x = activation(p, 0);
    p->out = new_floats(a, kiln_type_elems(y));
    KILN_TRY(add_anchor(p, &next, err));
    KILN_TRY(add_tails(p, next, err));
    *out = (kiln_library_ready){.own = p};
    return KILN_OK;
}

static kiln_status run(const kiln_library_ready *r, kiln_err *err) {
    const xnnpack *p = r->own;
    for (int i = 0; i < p->n_steps; i++)
        KILN_TRY(check(xnn_run_operator(p->step[i], p->pool), "running", err));
    return KILN_OK;
}

static void do_nothing(void *context, size_t i) {
    (void)context;
    (void)i;
}

/* Its threads would spin for 16 ms, in the way of whoever comes next; told with the
 * last task, they sleep at once. Runs are not told. */
static void rest(const kiln_library_ready *r) {
    const xnnpack *p = r->own;
    if (p->pool != NULL)
        pthreadpool_parallelize_1d(p->pool, do_nothing, NULL,
                                   pthreadpool_get_threads_count(p->pool),
                                   PTHREADPOOL_FLAG_YIELD_WORKERS);
}

static kiln_status read(const kiln_library_ready *r, kiln_tensor *out, kiln_err *err) {
    const xnnpack *p = r->own;
    const int64_t *dim = p->op->out.dim, n = kiln_type_elems(&p->op->out);
    (void)err;
    if (is_image(p))
        exchange(p->out, out->data, dim[0], dim[2] * dim[3], dim[1]);
    else
        memcpy(out->data, p->out, (size_t)n * sizeof *p->out);
    return KILN_OK;
}

/* It has no function for that: what the build found of its package. */
static const char *version(kiln_arena *a) {
    return kiln_library_dated(a, KILN_XNNPACK_VERSION);
}

const kiln_library kiln_library_xnnpack = {
    .name = "xnnpack",
    .version = version,
    .prepare = prepare,
    .run = run,
    .rest = rest,
    .read = read,
};
