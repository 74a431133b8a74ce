/* Version 3 of oneDNN behind onednn_api.h: a shared library that is opened by its file,
 * so that kiln is built without its headers. Prototypes (onednn3.def) and enumerators
 * are those of its published C interface, which holds for all of version 3.
 *
 * It must be one that computes by OpenMP. The newest wheels (named onednn) have
 * processors run by SYCL, which queues each primitive and brings hundreds of megabytes
 * of runtimes: their latency says nothing of the library that people build themselves.
 */
#include "pipeline/baselines/library/onednn_api.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* ---- the published interface ----------------------------------------------------- */

enum { SUCCESS = 0, UNIMPLEMENTED = 3 };
enum { ENGINE_CPU = 1, STREAM_DEFAULT = 1, TYPE_F32 = 3, FORWARD_INFERENCE = 96 };
enum { FPMATH_STRICT = 0, SOFTMAX_ACCURATE = 0x30000, QUERY_IMPLEMENTATION = 8 };
enum { ARG_FROM = 1, ARG_TO = 17 };
enum { RUNTIME_OPENMP = 2 };

static const int tag_of[KILN_N_ONEDNN_LAYOUTS] = {
    [KILN_ONEDNN_ANY] = 1,
    [KILN_ONEDNN_NCHW16C] = 78,
    [KILN_ONEDNN_NCHW8C] = 102,
    [KILN_ONEDNN_NHWC] = 22,
};

static const int eltwise[KILN_N_LIBRARY_TAILS] = {
    [KILN_LIBRARY_RELU] = 0x20,       [KILN_LIBRARY_CLIP] = 0x2e,
    [KILN_LIBRARY_LEAKY_RELU] = 0x20, [KILN_LIBRARY_ELU] = 0x22,
    [KILN_LIBRARY_SIGMOID] = 0x29,    [KILN_LIBRARY_TANH] = 0x21,
    [KILN_LIBRARY_GELU] = 0x31,       [KILN_LIBRARY_GELU_TANH] = 0x2b,
    [KILN_LIBRARY_SWISH] = 0x2c,      [KILN_LIBRARY_HARD_SWISH] = 0x34,
};

static const int algorithm_of[KILN_N_ONEDNN_ALGORITHMS] = {
    [KILN_ONEDNN_CONV_DIRECT] = 1,
    [KILN_ONEDNN_CONV_WINOGRAD] = 2,
    [KILN_ONEDNN_POOL_MAX] = 0x1ff,
    [KILN_ONEDNN_POOL_MEAN_WITH_PADDING] = 0x2ff,
    [KILN_ONEDNN_POOL_MEAN_WITHOUT_PADDING] = 0x3ff,
};

static const int argument_of[KILN_N_ONEDNN_ROLES] = {[KILN_ONEDNN_SRC] = 1,
                                                     [KILN_ONEDNN_WEIGHTS] = 33,
                                                     [KILN_ONEDNN_BIAS] = 41,
                                                     [KILN_ONEDNN_DST] = 17};

static const int query_of[KILN_N_ONEDNN_ROLES] = {
    [KILN_ONEDNN_SRC] = 129, [KILN_ONEDNN_WEIGHTS] = 131, [KILN_ONEDNN_DST] = 133};

typedef struct version_info {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
} version_info;

typedef struct argument {
    int role;
    void *memory;
} argument;

/* The library's own memory: no address. */
static void *allocate(void) { return (void *)(uintptr_t)SIZE_MAX; }

/* ---- the library's file ---------------------------------------------------------- */

typedef struct functions {
#define KILN_ONEDNN3(result, name, parameters) result(*name) parameters;
#include "pipeline/baselines/library/onednn3.def"
#undef KILN_ONEDNN3
} functions;

static const struct {
    const char *name;
    size_t at;
} symbols[] = {
#define KILN_ONEDNN3(result, name, parameters)                                         \
    {"dnnl_" #name, offsetof(functions, name)},
#include "pipeline/baselines/library/onednn3.def"
#undef KILN_ONEDNN3
};

static functions dnnl;

/* POSIX: what dlsym returns is a function's address, too. */
_Static_assert(sizeof(void *) == sizeof dnnl.version, "pointers to functions");

static kiln_status look_up(void *library, const char *file, size_t i, functions *out,
                           kiln_err *err) {
    void *found = dlsym(library, symbols[i].name);
    if (found == NULL)
        return kiln_fail(err, KILN_ERR_LIB, "'%s' has no '%s'", file, symbols[i].name);
    memcpy((char *)out + symbols[i].at, &found, sizeof found);
    return KILN_OK;
}

/* The first symbol is its version: of another major version nothing else is known. */
static kiln_status check_version(const char *file, const version_info *v,
                                 kiln_err *err) {
    if (v->major != 3)
        return kiln_fail(err, KILN_ERR_LIB, "'%s' is oneDNN %d.%d.%d; 3.x is needed",
                         file, v->major, v->minor, v->patch);
    if (v->cpu_runtime != RUNTIME_OPENMP)
        return kiln_fail(err, KILN_ERR_LIB,
                         "'%s' has no threads by OpenMP (its runtime is %u): its times "
                         "could not be compared",
                         file, v->cpu_runtime);
    return KILN_OK;
}

kiln_status kiln_onednn3_open(const char *file, kiln_err *err) {
    functions f;
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return kiln_fail(err, KILN_ERR_LIB, "'%s' cannot be opened: %s", file,
                         dlerror());
    KILN_TRY(look_up(library, file, 0, &f, err));
    KILN_TRY(check_version(file, f.version(), err));
    for (size_t i = 1; i < sizeof symbols / sizeof symbols[0]; i++)
        KILN_TRY(look_up(library, file, i, &f, err));
    dnnl = f;
    return KILN_OK;
}

void kiln_onednn_version(int *major, int *minor, int *patch) {
    const version_info *v = dnnl.version();
    *major = v->major;
    *minor = v->minor;
    *patch = v->patch;
}

/* ---- handles, released with the arena -------------------------------------------- */

struct kiln_onednn_cpu {
    kiln_arena *arena;
    void *engine, *stream;
};
struct kiln_onednn_desc {
    const void *md;
};
struct kiln_onednn_memory {
    void *handle;
};
struct kiln_onednn_primitive {
    void *stream, *desc, *handle;
    kiln_onednn_desc wants[KILN_N_ONEDNN_ROLES];
    argument arg[KILN_N_ONEDNN_ROLES];
    int n_args;
};

static void end_engine(void *p) { (void)dnnl.engine_destroy(p); }
static void end_stream(void *p) { (void)dnnl.stream_destroy(p); }
static void end_md(void *p) { (void)dnnl.memory_desc_destroy(p); }
static void end_memory(void *p) { (void)dnnl.memory_destroy(p); }
static void end_primitive(void *p) { (void)dnnl.primitive_destroy(p); }
static void end_desc(void *p) { (void)dnnl.primitive_desc_destroy(p); }

static kiln_status check(int st, const char *doing, kiln_err *err) {
    if (st == SUCCESS)
        return KILN_OK;
    if (st == UNIMPLEMENTED)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED, "no such operator in oneDNN (%s)",
                         doing);
    return kiln_fail(err, KILN_ERR_LIB, "oneDNN says '%s' (%s)", dnnl.status2str(st),
                     doing);
}

kiln_status kiln_onednn_cpu_new(kiln_arena *a, kiln_onednn_cpu **out, kiln_err *err) {
    kiln_onednn_cpu *c = kiln_new(a, kiln_onednn_cpu);
    c->arena = a;
    KILN_TRY(check(dnnl.engine_create(&c->engine, ENGINE_CPU, 0),
                   "opening the processor", err));
    kiln_arena_defer(a, end_engine, c->engine);
    KILN_TRY(check(dnnl.stream_create(&c->stream, c->engine, STREAM_DEFAULT),
                   "opening a stream", err));
    kiln_arena_defer(a, end_stream, c->stream);
    *out = c;
    return KILN_OK;
}

/* ---- memory ---------------------------------------------------------------------- */

kiln_status kiln_onednn_describe(kiln_onednn_cpu *c, const kiln_onednn_tensor *t,
                                 kiln_onednn_layout layout,
                                 const kiln_onednn_desc **out, kiln_err *err) {
    void *md = NULL;
    const int st = layout == KILN_ONEDNN_PLAIN
                       ? dnnl.memory_desc_create_with_strides(&md, t->rank, t->dim,
                                                              TYPE_F32, t->stride)
                       : dnnl.memory_desc_create_with_tag(&md, t->rank, t->dim,
                                                          TYPE_F32, tag_of[layout]);
    KILN_TRY(check(st, "describing a tensor", err));
    kiln_arena_defer(c->arena, end_md, md);
    kiln_onednn_desc *d = kiln_new(c->arena, kiln_onednn_desc);
    d->md = md;
    *out = d;
    return KILN_OK;
}

kiln_status kiln_onednn_memory_new(kiln_onednn_cpu *c, const kiln_onednn_desc *md,
                                   void *data, kiln_onednn_memory **out,
                                   kiln_err *err) {
    kiln_onednn_memory *m = kiln_new(c->arena, kiln_onednn_memory);
    KILN_TRY(check(dnnl.memory_create(&m->handle, md->md, c->engine,
                                      data != NULL ? data : allocate()),
                   "making memory", err));
    kiln_arena_defer(c->arena, end_memory, m->handle);
    *out = m;
    return KILN_OK;
}

kiln_status kiln_onednn_reorder(kiln_onednn_cpu *c, const kiln_onednn_desc *from_md,
                                const kiln_onednn_memory *from,
                                const kiln_onednn_desc *to_md,
                                const kiln_onednn_memory *to, kiln_err *err) {
    void *desc = NULL, *primitive = NULL;
    const argument arg[] = {{ARG_FROM, from->handle}, {ARG_TO, to->handle}};
    int st = dnnl.reorder_primitive_desc_create(&desc, from_md->md, c->engine,
                                                to_md->md, c->engine, NULL);
    if (st == SUCCESS)
        st = dnnl.primitive_create(&primitive, desc);
    if (st == SUCCESS)
        st = dnnl.primitive_execute(primitive, c->stream, 2, arg);
    if (st == SUCCESS)
        st = dnnl.stream_wait(c->stream);
    (void)dnnl.primitive_destroy(primitive);
    (void)dnnl.primitive_desc_destroy(desc);
    return check(st, "bringing a tensor into its layout", err);
}

/* ---- post-operations ------------------------------------------------------------- */

static int append(void *ops, const kiln_library_tail *t) {
    float alpha = (float)t->alpha, beta = (float)t->beta;
    if (t->kind == KILN_LIBRARY_BIAS)
        return SUCCESS;
    if (t->kind == KILN_LIBRARY_ADD)
        return dnnl.post_ops_append_sum(ops, 1, 0, TYPE_F32);
    /* x * clip(alpha * x + beta, 0, 1), where version 2 had no choice. */
    if (t->kind == KILN_LIBRARY_HARD_SWISH) {
        alpha = 1.0f / 6;
        beta = 0.5f;
    }
    /* leaky_relu: alpha is the slope; relu: 0 as it stands in the description. */
    return dnnl.post_ops_append_eltwise(ops, eltwise[t->kind], alpha, beta);
}

static kiln_status make_attributes(const kiln_onednn_request *r, void **out,
                                   kiln_err *err) {
    void *ops = NULL;
    int st = dnnl.primitive_attr_create(out);
    if (st == SUCCESS)
        st = dnnl.primitive_attr_set_fpmath_mode(*out, FPMATH_STRICT);
    if (st == SUCCESS)
        st = dnnl.post_ops_create(&ops);
    for (int i = 0; i < r->n_tails && st == SUCCESS; i++)
        st = append(ops, &r->tail[i]);
    if (st == SUCCESS)
        st = dnnl.primitive_attr_set_post_ops(*out, ops);
    (void)dnnl.post_ops_destroy(ops);
    return check(st, "describing what is behind", err);
}

/* ---- primitives ------------------------------------------------------------------ */

/* Without an operand: NULL. */
typedef struct operands {
    const void *md[KILN_N_ONEDNN_ROLES];
} operands;

static int describe_operation(const kiln_onednn_cpu *c, const kiln_onednn_request *r,
                              const operands *o, const void *attributes, void **out) {
    const void *src = o->md[KILN_ONEDNN_SRC], *weights = o->md[KILN_ONEDNN_WEIGHTS];
    const void *bias = o->md[KILN_ONEDNN_BIAS], *dst = o->md[KILN_ONEDNN_DST];
    const int algorithm = algorithm_of[r->algorithm];
    const kiln_onednn_windows *w = &r->windows;
    switch (r->kind) {
    case KILN_LIBRARY_CONV:
        return dnnl.convolution_forward_primitive_desc_create(
            out, c->engine, FORWARD_INFERENCE, algorithm, src, weights, bias, dst,
            w->stride, w->dilation, w->begin, w->end, attributes);
    case KILN_LIBRARY_MATMUL:
        return dnnl.matmul_primitive_desc_create(out, c->engine, src, weights, bias,
                                                 dst, attributes);
    case KILN_LIBRARY_MAX_POOL:
    case KILN_LIBRARY_AVG_POOL:
        return dnnl.pooling_forward_primitive_desc_create(
            out, c->engine, FORWARD_INFERENCE, algorithm, src, dst, w->stride,
            w->kernel, w->dilation, w->begin, w->end, attributes);
    case KILN_LIBRARY_SOFTMAX:
        return dnnl.softmax_forward_primitive_desc_create(
            out, c->engine, FORWARD_INFERENCE, SOFTMAX_ACCURATE, src, dst, r->axis,
            attributes);
    case KILN_N_LIBRARY_KINDS:
        break;
    }
    return UNIMPLEMENTED;
}

static kiln_status choose(kiln_onednn_cpu *c, const kiln_onednn_request *r, void **out,
                          kiln_err *err) {
    operands o = {.md = {NULL}};
    void *attributes = NULL;
    for (int i = 0; i < KILN_N_ONEDNN_ROLES; i++) {
        const kiln_onednn_desc *d = NULL;
        if (r->operand[i].plain.rank == 0)
            continue;
        KILN_TRY(kiln_onednn_describe(c, &r->operand[i].plain, r->operand[i].layout, &d,
                                      err));
        o.md[i] = d->md;
    }
    kiln_status st = make_attributes(r, &attributes, err);
    if (st == KILN_OK)
        st = check(describe_operation(c, r, &o, attributes, out),
                   "choosing an implementation", err);
    (void)dnnl.primitive_attr_destroy(attributes);
    return st;
}

kiln_status kiln_onednn_primitive_new(kiln_onednn_cpu *c, const kiln_onednn_request *r,
                                      kiln_onednn_primitive **out, kiln_err *err) {
    kiln_onednn_primitive *p = kiln_new(c->arena, kiln_onednn_primitive);
    p->stream = c->stream;
    KILN_TRY(choose(c, r, &p->desc, err));
    kiln_arena_defer(c->arena, end_desc, p->desc);
    KILN_TRY(check(dnnl.primitive_create(&p->handle, p->desc), "making code", err));
    kiln_arena_defer(c->arena, end_primitive, p->handle);
    for (int i = 0; i < KILN_N_ONEDNN_ROLES; i++)
        if (i != KILN_ONEDNN_BIAS && r->operand[i].plain.rank > 0)
            p->wants[i].md = dnnl.primitive_desc_query_md(p->desc, query_of[i], 0);
    *out = p;
    return KILN_OK;
}

const kiln_onednn_desc *kiln_onednn_wants(const kiln_onednn_primitive *p,
                                          kiln_onednn_role role) {
    return &p->wants[role];
}

const char *kiln_onednn_implementation(const kiln_onednn_primitive *p) {
    const char *said = NULL;
    (void)dnnl.primitive_desc_query(p->desc, QUERY_IMPLEMENTATION, 0, (void *)&said);
    return said;
}

void kiln_onednn_bind(kiln_onednn_primitive *p, kiln_onednn_role role,
                      const kiln_onednn_memory *m) {
    p->arg[p->n_args++] = (argument){argument_of[role], m->handle};
}

kiln_status kiln_onednn_run(const kiln_onednn_primitive *p, kiln_err *err) {
    const int st = dnnl.primitive_execute(p->handle, p->stream, p->n_args, p->arg);
    return check(st == SUCCESS ? dnnl.stream_wait(p->stream) : st, "running", err);
}
