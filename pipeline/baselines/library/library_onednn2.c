/* Version 2 of oneDNN behind onednn_api.h: Debian's, which the program is linked with. */
#include "pipeline/baselines/library/onednn_api.h"

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>
#include <string.h>

struct kiln_onednn_cpu {
    kiln_arena *arena;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
};
struct kiln_onednn_desc {
    const dnnl_memory_desc_t *md;
};
struct kiln_onednn_memory {
    dnnl_memory_t handle;
};
struct kiln_onednn_primitive {
    dnnl_stream_t stream;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t handle;
    kiln_onednn_desc wants[KILN_N_ONEDNN_ROLES];
    dnnl_exec_arg_t arg[KILN_N_ONEDNN_ROLES];
    int n_args;
};

static kiln_status check(dnnl_status_t st, const char *doing, kiln_err *err) {
    if (st == dnnl_success)
        return KILN_OK;
    if (st == dnnl_unimplemented)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED, "no such operator in oneDNN (%s)",
                         doing);
    return kiln_fail(err, KILN_ERR_LIB, "oneDNN says '%s' (%s)", dnnl_status2str(st),
                     doing);
}

/* ---- handles, released with the arena -------------------------------------------- */

static void end_engine(void *p) { (void)dnnl_engine_destroy(p); }
static void end_stream(void *p) { (void)dnnl_stream_destroy(p); }
static void end_memory(void *p) { (void)dnnl_memory_destroy(p); }
static void end_primitive(void *p) { (void)dnnl_primitive_destroy(p); }
static void end_desc(void *p) { (void)dnnl_primitive_desc_destroy(p); }

void kiln_onednn_version(int *major, int *minor, int *patch) {
    const dnnl_version_t *v = dnnl_version();
    *major = v->major;
    *minor = v->minor;
    *patch = v->patch;
}

kiln_status kiln_onednn_cpu_new(kiln_arena *a, kiln_onednn_cpu **out, kiln_err *err) {
    kiln_onednn_cpu *c = kiln_new(a, kiln_onednn_cpu);
    c->arena = a;
    KILN_TRY(check(dnnl_engine_create(&c->engine, dnnl_cpu, 0), "opening the processor",
                   err));
    kiln_arena_defer(a, end_engine, c->engine);
    KILN_TRY(check(dnnl_stream_create(&c->stream, c->engine, dnnl_stream_default_flags),
                   "opening a stream", err));
    kiln_arena_defer(a, end_stream, c->stream);
    *out = c;
    return KILN_OK;
}

/* ---- memory ---------------------------------------------------------------------- */

static const dnnl_format_tag_t tag_of[KILN_N_ONEDNN_LAYOUTS] = {
    [KILN_ONEDNN_ANY] = dnnl_format_tag_any,
    [KILN_ONEDNN_NCHW16C] = dnnl_nChw16c,
    [KILN_ONEDNN_NCHW8C] = dnnl_nChw8c,
    [KILN_ONEDNN_NHWC] = dnnl_nhwc,
};

static kiln_status describe(const kiln_onednn_tensor *t, kiln_onednn_layout layout,
                            dnnl_memory_desc_t *out, kiln_err *err) {
    dnnl_dims_t dims = {0}, strides = {0};
    memcpy(dims, t->dim, sizeof t->dim);
    memcpy(strides, t->stride, sizeof t->stride);
    return check(
        layout == KILN_ONEDNN_PLAIN
            ? dnnl_memory_desc_init_by_strides(out, t->rank, dims, dnnl_f32, strides)
            : dnnl_memory_desc_init_by_tag(out, t->rank, dims, dnnl_f32,
                                           tag_of[layout]),
        "describing a tensor", err);
}

kiln_status kiln_onednn_describe(kiln_onednn_cpu *c, const kiln_onednn_tensor *t,
                                 kiln_onednn_layout layout,
                                 const kiln_onednn_desc **out, kiln_err *err) {
    dnnl_memory_desc_t *md = kiln_new(c->arena, dnnl_memory_desc_t);
    kiln_onednn_desc *d = kiln_new(c->arena, kiln_onednn_desc);
    KILN_TRY(describe(t, layout, md, err));
    d->md = md;
    *out = d;
    return KILN_OK;
}

kiln_status kiln_onednn_memory_new(kiln_onednn_cpu *c, const kiln_onednn_desc *md,
                                   void *data, kiln_onednn_memory **out,
                                   kiln_err *err) {
    kiln_onednn_memory *m = kiln_new(c->arena, kiln_onednn_memory);
    KILN_TRY(check(dnnl_memory_create(&m->handle, md->md, c->engine,
                                      data != NULL ? data : DNNL_MEMORY_ALLOCATE),
                   "making memory", err));
    kiln_arena_defer(c->arena, end_memory, m->handle);
    *out = m;
    return KILN_OK;
}

kiln_status kiln_onednn_reorder(kiln_onednn_cpu *c, const kiln_onednn_desc *from_md,
                                const kiln_onednn_memory *from,
                                const kiln_onednn_desc *to_md,
                                const kiln_onednn_memory *to, kiln_err *err) {
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t primitive = NULL;
    const dnnl_exec_arg_t arg[] = {{DNNL_ARG_FROM, from->handle},
                                   {DNNL_ARG_TO, to->handle}};
    dnnl_status_t st = dnnl_reorder_primitive_desc_create(&desc, from_md->md, c->engine,
                                                          to_md->md, c->engine, NULL);
    if (st == dnnl_success)
        st = dnnl_primitive_create(&primitive, desc);
    if (st == dnnl_success)
        st = dnnl_primitive_execute(primitive, c->stream, 2, arg);
    if (st == dnnl_success)
        st = dnnl_stream_wait(c->stream);
    (void)dnnl_primitive_destroy(primitive);
    (void)dnnl_primitive_desc_destroy(desc);
    return check(st, "bringing a tensor into its layout", err);
}

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

static dnnl_status_t append(dnnl_post_ops_t ops, const kiln_library_tail *t) {
    if (t->kind == KILN_LIBRARY_BIAS)
        return dnnl_success;
    if (t->kind == KILN_LIBRARY_ADD)
        return dnnl_post_ops_append_sum(ops, 1);
    /* leaky_relu: alpha is the slope; relu: 0 as it stands in the description. */
    return dnnl_post_ops_append_eltwise(ops, 1, eltwise[t->kind], (float)t->alpha,
                                        (float)t->beta);
}

static kiln_status make_attributes(const kiln_onednn_request *r,
                                   dnnl_primitive_attr_t *out, kiln_err *err) {
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t st = dnnl_primitive_attr_create(out);
    if (st == dnnl_success)
        st = dnnl_primitive_attr_set_fpmath_mode(*out, dnnl_fpmath_mode_strict);
    if (st == dnnl_success)
        st = dnnl_post_ops_create(&ops);
    for (int i = 0; i < r->n_tails && st == dnnl_success; i++)
        st = append(ops, &r->tail[i]);
    if (st == dnnl_success)
        st = dnnl_primitive_attr_set_post_ops(*out, ops);
    (void)dnnl_post_ops_destroy(ops);
    return check(st, "describing what is behind", err);
}

/* ---- primitives ------------------------------------------------------------------ */

static const dnnl_alg_kind_t algorithm_of[KILN_N_ONEDNN_ALGORITHMS] = {
    [KILN_ONEDNN_CONV_DIRECT] = dnnl_convolution_direct,
    [KILN_ONEDNN_CONV_WINOGRAD] = dnnl_convolution_winograd,
    [KILN_ONEDNN_POOL_MAX] = dnnl_pooling_max,
    [KILN_ONEDNN_POOL_MEAN_WITH_PADDING] = dnnl_pooling_avg_include_padding,
    [KILN_ONEDNN_POOL_MEAN_WITHOUT_PADDING] = dnnl_pooling_avg_exclude_padding,
};

typedef union operation {
    dnnl_convolution_desc_t conv;
    dnnl_matmul_desc_t matmul;
    dnnl_pooling_v2_desc_t pool;
    dnnl_softmax_v2_desc_t softmax;
} operation;

/* The library's functions name their windows by arrays of all the axes that it knows. */
typedef struct windows {
    dnnl_dims_t kernel, stride, dilation, begin, end;
} windows;

static windows windows_of(const kiln_onednn_windows *from) {
    windows w = {.kernel = {0}};
    memcpy(w.kernel, from->kernel, sizeof from->kernel);
    memcpy(w.stride, from->stride, sizeof from->stride);
    memcpy(w.dilation, from->dilation, sizeof from->dilation);
    memcpy(w.begin, from->begin, sizeof from->begin);
    memcpy(w.end, from->end, sizeof from->end);
    return w;
}

static dnnl_status_t describe_operation(const kiln_onednn_request *r,
                                        const dnnl_memory_desc_t *md, operation *o) {
    const dnnl_memory_desc_t *src = &md[KILN_ONEDNN_SRC], *dst = &md[KILN_ONEDNN_DST];
    const dnnl_memory_desc_t *weights = &md[KILN_ONEDNN_WEIGHTS];
    const dnnl_memory_desc_t *bias =
        r->operand[KILN_ONEDNN_BIAS].plain.rank > 0 ? &md[KILN_ONEDNN_BIAS] : NULL;
    const dnnl_alg_kind_t algorithm = algorithm_of[r->algorithm];
    const windows w = windows_of(&r->windows);
    switch (r->kind) {
    case KILN_LIBRARY_CONV:
        return dnnl_dilated_convolution_forward_desc_init(
            &o->conv, dnnl_forward_inference, algorithm, src, weights, bias, dst,
            w.stride, w.dilation, w.begin, w.end);
    case KILN_LIBRARY_MATMUL:
        return dnnl_matmul_desc_init(&o->matmul, src, weights, bias, dst);
    case KILN_LIBRARY_MAX_POOL:
    case KILN_LIBRARY_AVG_POOL:
        return dnnl_pooling_v2_forward_desc_init(&o->pool, dnnl_forward_inference,
                                                 algorithm, src, dst, w.stride,
                                                 w.kernel, w.dilation, w.begin, w.end);
    case KILN_LIBRARY_SOFTMAX:
        return dnnl_softmax_v2_forward_desc_init(&o->softmax, dnnl_forward_inference,
                                                 dnnl_softmax_accurate, src, dst,
                                                 r->axis);
    case KILN_N_LIBRARY_KINDS:
        break;
    }
    return dnnl_unimplemented;
}

static kiln_status choose(const kiln_onednn_cpu *c, const kiln_onednn_request *r,
                          dnnl_primitive_desc_t *out, kiln_err *err) {
    dnnl_memory_desc_t md[KILN_N_ONEDNN_ROLES];
    dnnl_primitive_attr_t attributes = NULL;
    operation o;
    for (int i = 0; i < KILN_N_ONEDNN_ROLES; i++)
        if (r->operand[i].plain.rank > 0)
            KILN_TRY(describe(&r->operand[i].plain, r->operand[i].layout, &md[i], err));
    KILN_TRY(check(describe_operation(r, md, &o), "describing the operator", err));
    kiln_status st = make_attributes(r, &attributes, err);
    if (st == KILN_OK)
        st = check(dnnl_primitive_desc_create(out, &o, attributes, c->engine, NULL),
                   "choosing an implementation", err);
    (void)dnnl_primitive_attr_destroy(attributes);
    return st;
}

kiln_status kiln_onednn_primitive_new(kiln_onednn_cpu *c, const kiln_onednn_request *r,
                                      kiln_onednn_primitive **out, kiln_err *err) {
    static const dnnl_query_t query[] = {[KILN_ONEDNN_SRC] = dnnl_query_src_md,
                                         [KILN_ONEDNN_WEIGHTS] = dnnl_query_weights_md,
                                         [KILN_ONEDNN_DST] = dnnl_query_dst_md};
    kiln_onednn_primitive *p = kiln_new(c->arena, kiln_onednn_primitive);
    p->stream = c->stream;
    KILN_TRY(choose(c, r, &p->desc, err));
    kiln_arena_defer(c->arena, end_desc, p->desc);
    KILN_TRY(check(dnnl_primitive_create(&p->handle, p->desc), "making code", err));
    kiln_arena_defer(c->arena, end_primitive, p->handle);
    for (int i = 0; i < KILN_N_ONEDNN_ROLES; i++)
        if (i != KILN_ONEDNN_BIAS && r->operand[i].plain.rank > 0)
            p->wants[i].md = dnnl_primitive_desc_query_md(p->desc, query[i], 0);
    *out = p;
    return KILN_OK;
}

const kiln_onednn_desc *kiln_onednn_wants(const kiln_onednn_primitive *p,
                                          kiln_onednn_role role) {
    return &p->wants[role];
}

const char *kiln_onednn_implementation(const kiln_onednn_primitive *p) {
    const char *said = NULL;
    (void)dnnl_primitive_desc_query(p->desc, dnnl_query_impl_info_str, 0,
                                    (void *)&said);
    return said;
}

void kiln_onednn_bind(kiln_onednn_primitive *p, kiln_onednn_role role,
                      const kiln_onednn_memory *m) {
    static const int argument[] = {[KILN_ONEDNN_SRC] = DNNL_ARG_SRC,
                                   [KILN_ONEDNN_WEIGHTS] = DNNL_ARG_WEIGHTS,
                                   [KILN_ONEDNN_BIAS] = DNNL_ARG_BIAS,
                                   [KILN_ONEDNN_DST] = DNNL_ARG_DST};
    p->arg[p->n_args++] = (dnnl_exec_arg_t){argument[role], m->handle};
}

kiln_status kiln_onednn_run(const kiln_onednn_primitive *p, kiln_err *err) {
    const dnnl_status_t st =
        dnnl_primitive_execute(p->handle, p->stream, p->n_args, p->arg);
    return check(st == dnnl_success ? dnnl_stream_wait(p->stream) : st, "running", err);
}
