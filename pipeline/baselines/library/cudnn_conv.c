/* Convolutions in cuDNN: all algorithms that its own exhaustive search finds, in NCHW and
 * in NHWC, each with what is behind it fused (cudnnConvolutionBiasActivationForward) and
 * as calls of their own. In f32 multiply-adds are f32's: TF32 is off. In f16 sums are
 * f32's, by tensor cores where there are any. */
#include "pipeline/baselines/library/cudnn_api.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { FORMAT_NCHW = 0, FORMAT_NHWC = 1 };
enum { TYPE_FLOAT = 0, TYPE_HALF = 2 };
enum { MATH_TENSOR_OP = 1, MATH_FMA = 3, CROSS_CORRELATION = 1, NO_NAN = 0 };
enum { RELU = 1, SIGMOID = 0, TANH = 2, CLIPPED_RELU = 3, ELU = 4, IDENTITY = 5 };
enum { IMPLICIT_PRECOMP_GEMM = 1, MOST_FOUND = 32 };

static const float one = 1, zero = 0;

/* What is behind: a bias, a sum, an activation, in this order. */
typedef struct behind {
    int bias, sum; /* of the operator's tensors; -1: none */
    int activation;
    double coefficient;
} behind;

/* In one format. */
typedef struct conv {
    kiln_nv *nv;
    const kiln_library_op *op;
    bool is_nhwc, is_half;
    behind behind;
    int pad[2];
    void *x_d, *w_d, *y_d, *bias_d, *activation_d;
    kiln_nv_address x, w, y, bias, sum;
} conv;

typedef struct algorithm {
    const conv *c;
    void *conv_d;
    int number;
} algorithm;

/* ---- what is behind -------------------------------------------------------------- */

static kiln_status no_such(const kiln_library_tail *t, kiln_err *err) {
    return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                     "cuDNN is asked for a bias, a sum and an activation of its own "
                     "behind a convolution, in this order; '%s' is none of them here",
                     kiln_library_tail_name(t->kind));
}

static bool activation_of(const kiln_library_tail *t, behind *b) {
    b->coefficient = t->alpha;
    switch (t->kind) {
    case KILN_LIBRARY_RELU:
        b->activation = RELU;
        return true;
    case KILN_LIBRARY_CLIP:
        b->activation = isinf(t->beta) ? RELU : CLIPPED_RELU;
        b->coefficient = t->beta;
        return t->alpha == 0 && t->beta > 0;
    case KILN_LIBRARY_ELU:
        b->activation = ELU;
        return true;
    case KILN_LIBRARY_SIGMOID:
        b->activation = SIGMOID;
        return true;
    case KILN_LIBRARY_TANH:
        b->activation = TANH;
        return true;
    case KILN_LIBRARY_BIAS:
    case KILN_LIBRARY_ADD:
    case KILN_LIBRARY_LEAKY_RELU:
    case KILN_LIBRARY_GELU:
    case KILN_LIBRARY_GELU_TANH:
    case KILN_LIBRARY_SWISH:
    case KILN_LIBRARY_HARD_SWISH:
    case KILN_N_LIBRARY_TAILS:
        break;
    }
    return false;
}

static kiln_status read_behind(const kiln_library_op *op, behind *out, kiln_err *err) {
    behind b = {.bias = -1, .sum = -1, .activation = IDENTITY};
    for (int i = 0; i < op->n_tails; i++) {
        const kiln_library_tail *t = &op->tail[i];
        bool fits = b.activation == IDENTITY;
        if (t->kind == KILN_LIBRARY_BIAS) {
            fits = fits && b.bias < 0;
            b.bias = t->tensor;
        } else if (t->kind == KILN_LIBRARY_ADD) {
            fits = fits && b.sum < 0;
            b.sum = t->tensor;
        } else {
            fits = fits && activation_of(t, &b);
        }
        if (!fits)
            return no_such(t, err);
    }
    *out = b;
    return KILN_OK;
}

/* ---- tensors --------------------------------------------------------------------- */

static size_t elem_bytes(const conv *c) { return c->is_half ? 2 : 4; }

/* Of a row-major image, as cuDNN is to have it: in this format, with zeros around it
 * where it would pad one side more than the other. */
static void *laid_out(kiln_arena *a, const conv *c, const kiln_tensor *t,
                      const int64_t *before, const int64_t *dim) {
    const int64_t *from = t->type.dim;
    const size_t bytes = elem_bytes(c);
    const int64_t n = dim[0] * dim[1] * dim[2] * dim[3];
    char *to = kiln_arena_alloc(a, (size_t)n * bytes);
    const char *at = t->data;
    memset(to, 0, (size_t)n * bytes);
    for (int64_t i = 0; i < from[0]; i++)
        for (int64_t ch = 0; ch < from[1]; ch++)
            for (int64_t y = 0; y < from[2]; y++)
                for (int64_t x = 0; x < from[3]; x++, at += bytes) {
                    const int64_t row = y + before[0], column = x + before[1];
                    const int64_t k =
                        c->is_nhwc
                            ? ((i * dim[2] + row) * dim[3] + column) * dim[1] + ch
                            : ((i * dim[1] + ch) * dim[2] + row) * dim[3] + column;
                    memcpy(to + (size_t)k * bytes, at, bytes);
                }
    return to;
}

static kiln_status put_tensor(const conv *c, const kiln_tensor *t,
                              const int64_t *before, const int64_t *dim,
                              kiln_nv_address *out, kiln_err *err) {
    kiln_arena own = {0};
    const void *from = laid_out(&own, c, t, before, dim);
    const size_t bytes = (size_t)(dim[0] * dim[1] * dim[2] * dim[3]) * elem_bytes(c);
    const kiln_status st = kiln_nv_memory(c->nv, from, bytes, out, err);
    kiln_arena_fini(&own);
    return st;
}

static kiln_status describe(const conv *c, const int64_t *dim, void **out,
                            kiln_err *err) {
    const kiln_nv_api *api = &c->nv->api;
    int st = api->cudnnCreateTensorDescriptor(out);
    if (st == 0)
        st = api->cudnnSetTensor4dDescriptor(
            *out, c->is_nhwc ? FORMAT_NHWC : FORMAT_NCHW,
            c->is_half ? TYPE_HALF : TYPE_FLOAT, (int)dim[0], (int)dim[1], (int)dim[2],
            (int)dim[3]);
    return kiln_nv_cudnn_says(c->nv, st, "describing a tensor", err);
}

static kiln_status describe_weights(conv *c, const int64_t *dim, kiln_err *err) {
    const kiln_nv_api *api = &c->nv->api;
    int st = api->cudnnCreateFilterDescriptor(&c->w_d);
    if (st == 0)
        st = api->cudnnSetFilter4dDescriptor(
            c->w_d, c->is_half ? TYPE_HALF : TYPE_FLOAT,
            c->is_nhwc ? FORMAT_NHWC : FORMAT_NCHW, (int)dim[0], (int)dim[1],
            (int)dim[2], (int)dim[3]);
    return kiln_nv_cudnn_says(c->nv, st, "describing the weights", err);
}

/* cuDNN pads both sides alike: what it would not do right is padded ahead. */
static void pad(conv *c, int64_t *before, int64_t *dim) {
    const kiln_library_op *op = c->op;
    const int64_t *x = op->in[0].value.type.dim, *y = op->out.dim;
    memcpy(dim, x, 4 * sizeof *dim);
    for (int i = 0; i < 2; i++) {
        const int64_t extent = (op->kernel[i] - 1) * op->dilation[i] + 1;
        const int64_t begin = op->pad_begin[i];
        const bool is_right =
            (x[2 + i] + 2 * begin - extent) / op->stride[i] + 1 == y[2 + i] &&
            op->pad_end[i] <= begin;
        c->pad[i] = is_right ? (int)begin : 0;
        before[i] = is_right ? 0 : begin;
        dim[2 + i] = is_right ? x[2 + i] : x[2 + i] + begin + op->pad_end[i];
    }
}

static kiln_status put_behind(kiln_arena *a, conv *c, kiln_err *err) {
    const kiln_library_op *op = c->op;
    const kiln_nv_api *api = &c->nv->api;
    const int64_t vector[] = {1, op->out.dim[1], 1, 1}, none[] = {0, 0};
    const size_t bytes = (size_t)vector[1] * elem_bytes(c);
    void *zeros = kiln_arena_alloc(a, bytes);
    memset(zeros, 0, bytes);
    const void *bias = c->behind.bias >= 0 ? op->in[c->behind.bias].value.data : zeros;
    KILN_TRY(describe(c, vector, &c->bias_d, err));
    KILN_TRY(kiln_nv_memory(c->nv, bias, bytes, &c->bias, err));
    if (c->behind.sum >= 0)
        KILN_TRY(put_tensor(c, &op->in[c->behind.sum].value, none, op->out.dim, &c->sum,
                            err));
    int st = api->cudnnCreateActivationDescriptor(&c->activation_d);
    if (st == 0)
        st = api->cudnnSetActivationDescriptor(c->activation_d, c->behind.activation,
                                               NO_NAN, c->behind.coefficient);
    return kiln_nv_cudnn_says(c->nv, st, "describing an activation", err);
}

static kiln_status put(kiln_arena *a, conv *c, kiln_err *err) {
    const kiln_library_op *op = c->op;
    const int64_t *w = op->in[1].value.type.dim, none[] = {0, 0};
    int64_t before[2], dim[4];
    pad(c, before, dim);
    KILN_TRY(describe(c, dim, &c->x_d, err));
    KILN_TRY(describe(c, op->out.dim, &c->y_d, err));
    KILN_TRY(describe_weights(c, w, err));
    KILN_TRY(put_tensor(c, &op->in[0].value, before, dim, &c->x, err));
    KILN_TRY(put_tensor(c, &op->in[1].value, none, w, &c->w, err));
    KILN_TRY(kiln_nv_memory(
        c->nv, NULL, (size_t)kiln_type_elems(&op->out) * elem_bytes(c), &c->y, err));
    return put_behind(a, c, err);
}

/* ---- runs ------------------------------------------------------------------------ */

static kiln_status tell_conv(const algorithm *g, kiln_err *err) {
    const conv *c = g->c;
    kiln_nv *nv = c->nv;
    return kiln_nv_cudnn_says(nv,
                              nv->api.cudnnConvolutionForward(
                                  nv->cudnn, &one, c->x_d, kiln_nv_pointer(c->x),
                                  c->w_d, kiln_nv_pointer(c->w), g->conv_d, g->number,
                                  kiln_nv_pointer(nv->workspace), nv->workspace_bytes,
                                  &zero, c->y_d, kiln_nv_pointer(c->y)),
                              "convolving", err);
}

static kiln_status tell_apart(const kiln_nv_way *w, kiln_err *err) {
    const algorithm *g = w->own;
    const conv *c = g->c;
    const kiln_nv_api *api = &c->nv->api;
    void *dnn = c->nv->cudnn, *y = kiln_nv_pointer(c->y);
    KILN_TRY(tell_conv(g, err));
    int st = 0;
    if (c->behind.bias >= 0)
        st = api->cudnnAddTensor(dnn, &one, c->bias_d, kiln_nv_pointer(c->bias), &one,
                                 c->y_d, y);
    if (st == 0 && c->behind.sum >= 0)
        st = api->cudnnAddTensor(dnn, &one, c->y_d, kiln_nv_pointer(c->sum), &one,
                                 c->y_d, y);
    if (st == 0 && c->behind.activation != IDENTITY)
        st = api->cudnnActivationForward(dnn, c->activation_d, &one, c->y_d, y, &zero,
                                         c->y_d, y);
    return kiln_nv_cudnn_says(c->nv, st, "computing what is behind", err);
}

/* What is not added is multiplied by 0, and must be there all the same. */
static kiln_status tell_fused(const kiln_nv_way *w, kiln_err *err) {
    const algorithm *g = w->own;
    const conv *c = g->c;
    kiln_nv *nv = c->nv;
    void *y = kiln_nv_pointer(c->y);
    const bool has_sum = c->behind.sum >= 0;
    return kiln_nv_cudnn_says(nv,
                              nv->api.cudnnConvolutionBiasActivationForward(
                                  nv->cudnn, &one, c->x_d, kiln_nv_pointer(c->x),
                                  c->w_d, kiln_nv_pointer(c->w), g->conv_d, g->number,
                                  kiln_nv_pointer(nv->workspace), nv->workspace_bytes,
                                  has_sum ? &one : &zero, c->y_d,
                                  has_sum ? kiln_nv_pointer(c->sum) : y, c->bias_d,
                                  kiln_nv_pointer(c->bias), c->activation_d, c->y_d, y),
                              "convolving with what is behind", err);
}

/* ---- the search ------------------------------------------------------------------ */

static kiln_status describe_conv(const conv *c, int math, void **out, kiln_err *err) {
    const kiln_nv_api *api = &c->nv->api;
    const kiln_library_op *op = c->op;
    int st = api->cudnnCreateConvolutionDescriptor(out);
    if (st == 0)
        st = api->cudnnSetConvolution2dDescriptor(
            *out, c->pad[0], c->pad[1], (int)op->stride[0], (int)op->stride[1],
            (int)op->dilation[0], (int)op->dilation[1], CROSS_CORRELATION, TYPE_FLOAT);
    if (st == 0)
        st = api->cudnnSetConvolutionGroupCount(*out, (int)op->groups);
    if (st == 0)
        st = api->cudnnSetConvolutionMathType(*out, math);
    return kiln_nv_cudnn_says(c->nv, st, "describing a convolution", err);
}

static const char *name_of(kiln_arena *a, const conv *c, int number, bool is_fused) {
    static const char *const known[] = {"implicit GEMM", "implicit GEMM, indices ahead",
                                        "GEMM",          "direct",
                                        "FFT",           "FFT of tiles",
                                        "Winograd",      "Winograd in steps"};
    const int n = sizeof known / sizeof known[0];
    return kiln_format(a, "%s, %s%s%s", number >= 0 && number < n ? known[number] : "?",
                       c->is_nhwc ? "NHWC" : "NCHW", is_fused ? ", fused" : "",
                       c->is_half ? "" : ", no TF32");
}

/* Is there something to fuse that the call knows? */
static bool can_fuse(const conv *c, int number) {
    if (c->behind.activation == RELU)
        return true;
    return c->behind.activation == IDENTITY && number == IMPLICIT_PRECOMP_GEMM &&
           c->op->n_tails > 0;
}

static kiln_status add_ways(kiln_arena *a, const conv *c, const kiln_nv_algorithm *f,
                            kiln_nv_ways *out, kiln_err *err) {
    algorithm *g = kiln_new(a, algorithm);
    *g = (algorithm){.c = c, .number = f->algorithm};
    KILN_TRY(describe_conv(c, c->is_half ? f->math : MATH_FMA, &g->conv_d, err));
    const kiln_nv_way way = {.nv = c->nv,
                             .op = c->op,
                             .tell = tell_apart,
                             .own = g,
                             .y = c->y,
                             .is_nhwc = c->is_nhwc,
                             .name = name_of(a, c, g->number, false)};
    kiln_vec_push(a, out, way);
    if (!can_fuse(c, g->number))
        return KILN_OK;
    kiln_nv_way fused = way;
    fused.tell = tell_fused;
    fused.name = name_of(a, c, g->number, true);
    kiln_vec_push(a, out, fused);
    return KILN_OK;
}

/* In one format and kind of arithmetic. */
static kiln_status search(kiln_arena *a, const conv *c, int math, kiln_nv_ways *out,
                          kiln_err *err) {
    kiln_nv *nv = c->nv;
    kiln_nv_algorithm found[MOST_FOUND];
    void *conv_d = NULL;
    int n = 0;
    KILN_TRY(describe_conv(c, math, &conv_d, err));
    KILN_TRY(kiln_nv_cudnn_says(
        nv,
        nv->api.cudnnFindConvolutionForwardAlgorithmEx(
            nv->cudnn, c->x_d, kiln_nv_pointer(c->x), c->w_d, kiln_nv_pointer(c->w),
            conv_d, c->y_d, kiln_nv_pointer(c->y), MOST_FOUND, &n, found,
            kiln_nv_pointer(nv->workspace), nv->workspace_bytes),
        "searching for algorithms", err));
    for (int i = 0; i < n && i < MOST_FOUND; i++)
        if (found[i].status == 0)
            KILN_TRY(add_ways(a, c, &found[i], out, err));
    return KILN_OK;
}

static kiln_status check(const kiln_library_op *op, kiln_err *err) {
    const kiln_dtype t = op->out.dtype;
    bool fits = t == KILN_F32 || t == KILN_F16;
    for (int i = 0; i < op->n_in; i++)
        fits = fits && op->in[i].value.type.dtype == t;
    if (!fits)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "cuDNN is asked for convolutions of f32 and f16 alone");
    for (int i = 0; i < 4; i++)
        if (op->in[0].value.type.dim[i] > INT_MAX / 4 || op->out.dim[i] > INT_MAX / 4)
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "an axis is too long for cuDNN");
    return KILN_OK;
}

static kiln_status open_handle(kiln_nv *nv, kiln_err *err) {
    int st = nv->cudnn == NULL ? nv->api.cudnnCreate(&nv->cudnn) : 0;
    if (st == 0)
        st = nv->api.cudnnSetStream(nv->cudnn, nv->stream);
    return kiln_nv_cudnn_says(nv, st, "opening it", err);
}

kiln_status kiln_nv_conv(kiln_arena *a, kiln_nv *nv, const kiln_library_op *op,
                         kiln_nv_ways *out, kiln_err *err) {
    behind b;
    kiln_err why = {.status = KILN_OK};
    kiln_status st = KILN_OK;
    KILN_TRY(check(op, err));
    KILN_TRY(read_behind(op, &b, err));
    KILN_TRY(open_handle(nv, err));
    KILN_TRY(kiln_nv_workspace(nv, err));
    for (int format = 0; format < 2; format++) {
        conv *c = kiln_new(a, conv);
        *c = (conv){.nv = nv,
                    .op = op,
                    .is_nhwc = format == FORMAT_NHWC,
                    .is_half = op->out.dtype == KILN_F16,
                    .behind = b};
        kiln_err_clear(&why);
        KILN_TRY(put(a, c, err));
        st = search(a, c, c->is_half ? MATH_TENSOR_OP : MATH_FMA, out, &why);
    }
    if (out->n > 0)
        return KILN_OK;
    if (st != KILN_OK)
        *err = why;
    else
        st = kiln_fail(err, KILN_ERR_UNSUPPORTED,
                       "cuDNN's search finds no algorithm for it");
    return st;
}
