/* oneDNN: an operator's description as descriptors of one primitive, with what is fused
 * behind it as post-operations (its documentation: primitive attributes). Layouts are
 * "any": the library chooses them, and gets its inputs in them. */
#include "pipeline/baselines/library/onednn_internal.h"

#include <string.h>

/* ---- post-operations ------------------------------------------------------------- */

static const dnnl_alg_kind_t eltwise[KILN_N_LIBRARY_TAILS] = {
    [KILN_LIBRARY_RELU] = dnnl_eltwise_relu,
    [KILN_LIBRARY_CLIP] = dnnl_eltwise_clip,
    [KILN_LIBRARY_LEAKY_RELU] = dnnl_eltwise_relu,
    [KILN_LIBRARY_ELU] = dnnl_eltwise_elu,
    [KILN_LIBRARY_SIGMOID] = dnnl_eltwise_logistic,
    [KILN_LIBRARY_TANH] = dnnl_eltwise_tanh,
    [KILN_LIBRARY_GELU] = dnnl_eltwise_gelu_erf,
    [KILN_LIBRARY_GELU_TANH] = dnnl_eltwise_gelu_tanh,
    [KILN_LIBRARY_SWISH] = dnnl_eltwise_swish,
    [KILN_LIBRARY_HARD_SWISH] = dnnl_eltwise_hardswish,
};

/* A bias is an operand of convolutions and products, and must come first; a sum is made
 * in place, on what lies in the output: there is one. */
static kiln_status read_operands(const kiln_library_op *op, kiln_onednn_plan *p,
                                 kiln_err *err) {
    p->bias_tensor = p->sum_tensor = -1;
    for (int i = 0; i < op->n_tails; i++) {
        const kiln_library_tail *t = &op->tail[i];
        const bool takes_bias =
            op->kind == KILN_LIBRARY_CONV || op->kind == KILN_LIBRARY_MATMUL;
        if (t->kind == KILN_LIBRARY_BIAS && (i != 0 || !takes_bias))
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "oneDNN adds a bias right behind a convolution or product "
                             "only");
        if (t->kind == KILN_LIBRARY_ADD && p->sum_tensor >= 0)
            return kiln_fail(err, KILN_ERR_UNSUPPORTED, "oneDNN adds in place once");
        if (t->kind == KILN_LIBRARY_BIAS)
            p->bias_tensor = t->tensor;
        if (t->kind == KILN_LIBRARY_ADD)
            p->sum_tensor = t->tensor;
    }
    p->has_bias = p->bias_tensor >= 0;
    return KILN_OK;
}

static dnnl_status_t append(dnnl_post_ops_t ops, const kiln_library_tail *t) {
    if (t->kind == KILN_LIBRARY_BIAS)
        return dnnl_success;
    if (t->kind == KILN_LIBRARY_ADD)
        return dnnl_post_ops_append_sum(ops, 1);
    /* leaky_relu: alpha is the slope; relu: 0 as it stands in the description. */
    return dnnl_post_ops_append_eltwise(ops, 1, eltwise[t->kind], (float)t->alpha,
                                        (float)t->beta);
}

/* f32 stays f32, whatever the environment says. */
static kiln_status make_attributes(const kiln_library_op *op,
                                   dnnl_primitive_attr_t *out, kiln_err *err) {
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t st = dnnl_primitive_attr_create(out);
    if (st == dnnl_success)
        st = dnnl_primitive_attr_set_fpmath_mode(*out, dnnl_fpmath_mode_strict);
    if (st == dnnl_success)
        st = dnnl_post_ops_create(&ops);
    for (int i = 0; i < op->n_tails && st == dnnl_success; i++)
        st = append(ops, &op->tail[i]);
    if (st == dnnl_success)
        st = dnnl_primitive_attr_set_post_ops(*out, ops);
    (void)dnnl_post_ops_destroy(ops);
    return kiln_onednn_check(st, "describing what is behind", err);
}

/* ---- memory ---------------------------------------------------------------------- */

static const dnnl_format_tag_t plain_tag[] = {
    dnnl_format_tag_undef, dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde,
    dnnl_abcdef,
};
enum { MAX_RANK = (int)(sizeof plain_tag / sizeof plain_tag[0]) - 1 };

static kiln_status describe(dnnl_memory_desc_t *out, int rank, const int64_t *dim,
                            kiln_err *err) {
    if (rank < 1 || rank > MAX_RANK)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED, "a tensor of rank %d", rank);
    dnnl_dims_t dims = {0};
    memcpy(dims, dim, (size_t)rank * sizeof *dim);
    return kiln_onednn_check(
        dnnl_memory_desc_init_by_tag(out, rank, dims, dnnl_f32, plain_tag[rank]),
        "describing a tensor", err);
}

/* The same tensor in a layout that the library chooses, or in one with a tag. */
static dnnl_memory_desc_t in_layout(const dnnl_memory_desc_t *plain,
                                    dnnl_format_tag_t tag) {
    dnnl_memory_desc_t any = {0};
    if (plain->ndims > 0)
        (void)dnnl_memory_desc_init_by_tag(&any, plain->ndims, plain->dims, dnnl_f32,
                                           tag);
    return any;
}

static dnnl_memory_desc_t any_layout(const dnnl_memory_desc_t *plain) {
    return in_layout(plain, dnnl_format_tag_any);
}

/* Over height and width. Dilations count what is left out between taps. */
typedef struct windows {
    dnnl_dims_t kernel, stride, dilation, begin, end;
} windows;

static windows windows_of(const kiln_library_op *op) {
    windows w = {.kernel = {0}};
    for (int i = 0; i < 2; i++) {
        w.kernel[i] = op->kernel[i];
        w.stride[i] = op->stride[i];
        w.dilation[i] = op->dilation[i] - 1;
        w.begin[i] = op->pad_begin[i];
        w.end[i] = op->pad_end[i];
    }
    return w;
}

/* ---- one function for each kind -------------------------------------------------- */

typedef union descriptor {
    dnnl_convolution_desc_t conv;
    dnnl_matmul_desc_t matmul;
    dnnl_pooling_v2_desc_t pool;
    dnnl_softmax_v2_desc_t softmax;
} descriptor;

static kiln_status plan_conv(const kiln_library_op *op, const kiln_onednn_way *way,
                             kiln_onednn_plan *p, descriptor *d, kiln_err *err) {
    const int64_t *x = op->in[0].value.type.dim, *w = op->in[1].value.type.dim;
    const int64_t g = op->groups;
    const windows v = windows_of(op);
    const int64_t grouped[] = {g, w[0] / g, w[1], w[2], w[3]};
    KILN_TRY(describe(&p->x, 4, x, err));
    KILN_TRY(describe(&p->w, g > 1 ? 5 : 4, g > 1 ? grouped : w, err));
    KILN_TRY(describe(&p->out, 4, op->out.dim, err));
    if (p->has_bias)
        KILN_TRY(describe(&p->bias, 1, w, err));
    p->has_w = true;
    const dnnl_memory_desc_t in = any_layout(&p->x), weights = any_layout(&p->w),
                             bias = any_layout(&p->bias), out = any_layout(&p->out);
    return kiln_onednn_check(dnnl_dilated_convolution_forward_desc_init(
                                 &d->conv, dnnl_forward_inference, way->algorithm, &in,
                                 &weights, p->has_bias ? &bias : NULL, &out, v.stride,
                                 v.dilation, v.begin, v.end),
                             "describing a convolution", err);
}

/* The last two axes exchanged: the same bytes, other strides. */
static kiln_status transpose(dnnl_memory_desc_t *md, kiln_err *err) {
    const int n = md->ndims;
    dnnl_dims_t dims, strides;
    int64_t step = 1;
    for (int i = n - 1; i >= 0; i--) {
        strides[i] = step;
        step *= md->dims[i];
        dims[i] = md->dims[i];
    }
    const int64_t stride = strides[n - 1];
    strides[n - 1] = strides[n - 2];
    strides[n - 2] = stride;
    dims[n - 1] = md->dims[n - 2];
    dims[n - 2] = md->dims[n - 1];
    return kiln_onednn_check(
        dnnl_memory_desc_init_by_strides(md, n, dims, dnnl_f32, strides),
        "describing a transposed matrix", err);
}

/* One matrix for all of a batch: a taller product. */
static void flatten(const kiln_type *t, int rank, int64_t *dim) {
    const int skip = t->rank - rank;
    for (int i = 0; i < rank; i++)
        dim[i] = t->dim[i + skip];
    for (int i = 0; i < skip; i++)
        dim[0] *= t->dim[i];
}

static kiln_status plan_matmul(const kiln_library_op *op, kiln_onednn_plan *p,
                               descriptor *d, kiln_err *err) {
    const kiln_type *a = &op->in[0].value.type, *b = &op->in[1].value.type;
    const int rank = b->rank;
    int64_t a_dim[KILN_MAX_RANK], out_dim[KILN_MAX_RANK], bias_dim[KILN_MAX_RANK];
    flatten(a, rank, a_dim);
    flatten(&op->out, rank, out_dim);
    KILN_TRY(describe(&p->x, rank, a_dim, err));
    KILN_TRY(describe(&p->w, rank, b->dim, err));
    KILN_TRY(describe(&p->out, rank, out_dim, err));
    if (op->trans_a)
        KILN_TRY(transpose(&p->x, err));
    if (op->trans_b)
        KILN_TRY(transpose(&p->w, err));
    for (int i = 0; i < rank; i++)
        bias_dim[i] = i == rank - 1 ? out_dim[i] : 1;
    if (p->has_bias)
        KILN_TRY(describe(&p->bias, rank, bias_dim, err));
    p->has_w = true;
    /* Activations on both sides come as they are: reordering them would be part of
     * every run. */
    const dnnl_memory_desc_t in = any_layout(&p->x), bias = any_layout(&p->bias),
                             out = any_layout(&p->out);
    const dnnl_memory_desc_t weights = op->in[1].is_constant ? any_layout(&p->w) : p->w;
    return kiln_onednn_check(dnnl_matmul_desc_init(&d->matmul, &in, &weights,
                                                   p->has_bias ? &bias : NULL, &out),
                             "describing a matrix product", err);
}

static kiln_status plan_pool(const kiln_library_op *op, const kiln_onednn_way *way,
                             kiln_onednn_plan *p, descriptor *d, kiln_err *err) {
    const windows v = windows_of(op);
    const dnnl_alg_kind_t algorithm =
        op->kind == KILN_LIBRARY_MAX_POOL ? dnnl_pooling_max
        : op->counts_padding              ? dnnl_pooling_avg_include_padding
                                          : dnnl_pooling_avg_exclude_padding;
    KILN_TRY(describe(&p->x, 4, op->in[0].value.type.dim, err));
    KILN_TRY(describe(&p->out, 4, op->out.dim, err));
    const dnnl_memory_desc_t in = in_layout(&p->x, way->tag), out = any_layout(&p->out);
    return kiln_onednn_check(dnnl_pooling_v2_forward_desc_init(
                                 &d->pool, dnnl_forward_inference, algorithm, &in, &out,
                                 v.stride, v.kernel, v.dilation, v.begin, v.end),
                             "describing a pool", err);
}

static kiln_status plan_softmax(const kiln_library_op *op, kiln_onednn_plan *p,
                                descriptor *d, kiln_err *err) {
    KILN_TRY(describe(&p->x, op->out.rank, op->out.dim, err));
    p->out = p->x;
    return kiln_onednn_check(dnnl_softmax_v2_forward_desc_init(
                                 &d->softmax, dnnl_forward_inference,
                                 dnnl_softmax_accurate, &p->x, &p->out, op->axis),
                             "describing a softmax", err);
}

static kiln_status plan_kind(const kiln_library_op *op, const kiln_onednn_way *way,
                             kiln_onednn_plan *p, descriptor *d, kiln_err *err) {
    switch (op->kind) {
    case KILN_LIBRARY_CONV:
        return plan_conv(op, way, p, d, err);
    case KILN_LIBRARY_MATMUL:
        return plan_matmul(op, p, d, err);
    case KILN_LIBRARY_MAX_POOL:
    case KILN_LIBRARY_AVG_POOL:
        return plan_pool(op, way, p, d, err);
    case KILN_LIBRARY_SOFTMAX:
        return plan_softmax(op, p, d, err);
    case KILN_N_LIBRARY_KINDS:
        break;
    }
    return kiln_fail(err, KILN_ERR_UNSUPPORTED, "no such operator in oneDNN");
}

/* ---- all ------------------------------------------------------------------------- */

/* Convolutions: the library's own choice ("auto") is never Winograd's, which is often
 * the faster one, so both are asked for. Pools take the layout that their input has:
 * blocked as the library's convolutions leave it on these machines, channels last, or
 * plain. */
int kiln_onednn_ways(const kiln_library_op *op, kiln_onednn_way *out) {
    static const kiln_onednn_way conv[] = {
        {dnnl_convolution_direct, dnnl_format_tag_any},
        {dnnl_convolution_winograd, dnnl_format_tag_any}};
    static const kiln_onednn_way pool[] = {{dnnl_alg_kind_undef, dnnl_nChw16c},
                                           {dnnl_alg_kind_undef, dnnl_nChw8c},
                                           {dnnl_alg_kind_undef, dnnl_nhwc},
                                           {dnnl_alg_kind_undef, dnnl_nchw}};
    static const kiln_onednn_way other[] = {{dnnl_alg_kind_undef, dnnl_format_tag_any}};
    if (op->kind == KILN_LIBRARY_CONV) {
        memcpy(out, conv, sizeof conv);
        return (int)(sizeof conv / sizeof conv[0]);
    }
    if (op->kind == KILN_LIBRARY_MAX_POOL || op->kind == KILN_LIBRARY_AVG_POOL) {
        memcpy(out, pool, sizeof pool);
        return (int)(sizeof pool / sizeof pool[0]);
    }
    memcpy(out, other, sizeof other);
    return 1;
}

kiln_status kiln_onednn_plan_make(const kiln_library_op *op, dnnl_engine_t engine,
                                  const kiln_onednn_way *way, kiln_onednn_plan *out,
                                  kiln_err *err) {
    kiln_onednn_plan p = {.desc = NULL};
    descriptor d;
    dnnl_primitive_attr_t attributes = NULL;
    KILN_TRY(read_operands(op, &p, err));
    KILN_TRY(plan_kind(op, way, &p, &d, err));
    kiln_status st = make_attributes(op, &attributes, err);
    if (st == KILN_OK)
        st = kiln_onednn_check(
            dnnl_primitive_desc_create(&p.desc, &d, attributes, engine, NULL),
            "choosing an implementation", err);
    (void)dnnl_primitive_attr_destroy(attributes);
    if (st == KILN_OK)
        *out = p;
    return st;
}
