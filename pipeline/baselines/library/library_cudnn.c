/* cuDNN and cuBLAS on the first GPU: every way that they have to compute an operator is
 * tried, as calls and as a CUDA graph of some runs in a row, and the fastest is kept.
 * Times are the GPU's, by events around a run, or around those in a row, as kiln times its
 * own kernels; what a run reads lies in the GPU's memory in the layout that the way asks
 * for. */
#include "pipeline/baselines/library/cudnn_api.h"

#include <semaphore.h>
#include <string.h>

enum {
    WARM_RUNS = 3,
    TRIAL_RUNS = 15,
    IN_A_ROW = 8, /* runs of a graph: what begins and ends it, they share */
    CAPTURE_THREAD_LOCAL = 1
};

static kiln_nv nv;

/* ---- runs ------------------------------------------------------------------------ */

static kiln_status tell(const kiln_nv_way *w, kiln_err *err) {
    if (w->graph == NULL)
        return w->tell(w, err);
    return kiln_nv_driver_says(w->nv, w->nv->api.cuGraphLaunch(w->graph, w->nv->stream),
                               "starting a graph", err);
}

static kiln_status await(const kiln_nv_way *w, kiln_err *err) {
    return kiln_nv_driver_says(w->nv, w->nv->api.cuStreamSynchronize(w->nv->stream),
                               "running", err);
}

static void wait_at_gate(void *user) {
    while (sem_wait(user) != 0) /* interrupted */
        ;
}

static kiln_status tell_between_events(const kiln_nv_way *w, kiln_err *err) {
    const kiln_nv *n = w->nv;
    KILN_TRY(kiln_nv_driver_says(n, n->api.cuEventRecord(n->begin, n->stream),
                                 "marking the begin of a run", err));
    KILN_TRY(tell(w, err));
    return kiln_nv_driver_says(n, n->api.cuEventRecord(n->end, n->stream),
                               "marking the end of a run", err);
}

/* The stream is held until all is told, as kiln's is: else what tells is timed. */
kiln_status kiln_nv_time(const kiln_nv_way *w, int64_t *ns, kiln_err *err) {
    const kiln_nv *n = w->nv;
    sem_t gate;
    float ms = 0;
    (void)sem_init(&gate, 0, 0);
    kiln_status st =
        kiln_nv_driver_says(n, n->api.cuLaunchHostFunc(n->stream, wait_at_gate, &gate),
                            "holding a run", err);
    if (st == KILN_OK)
        st = tell_between_events(w, err);
    (void)sem_post(&gate);
    const kiln_status ended = await(w, st == KILN_OK ? err : NULL);
    (void)sem_destroy(&gate);
    KILN_TRY(st != KILN_OK ? st : ended);
    KILN_TRY(kiln_nv_driver_says(n, n->api.cuEventElapsedTime(&ms, n->begin, n->end),
                                 "timing", err));
    *ns = (int64_t)((double)ms * 1e6 / (w->graph != NULL ? IN_A_ROW : 1));
    return KILN_OK;
}

/* ---- trials ---------------------------------------------------------------------- */

static kiln_status try_out(kiln_nv_way *w, kiln_err *err) {
    double ns[TRIAL_RUNS];
    int64_t one;
    for (int i = 0; i < WARM_RUNS; i++)
        KILN_TRY(kiln_nv_time(w, &one, err));
    for (int i = 0; i < TRIAL_RUNS; i++) {
        KILN_TRY(kiln_nv_time(w, &one, err));
        ns[i] = (double)one;
    }
    w->ns = (int64_t)kiln_median(ns, TRIAL_RUNS);
    return KILN_OK;
}

/* What is not capturable stays as it is. */
static bool make_graph(kiln_nv_way *w) {
    const kiln_nv_api *api = &w->nv->api;
    void *stream = w->nv->stream, *graph = NULL, *ready = NULL;
    if (api->cuStreamBeginCapture_v2(stream, CAPTURE_THREAD_LOCAL) != 0)
        return false;
    bool is_told = true;
    for (int i = 0; i < IN_A_ROW && is_told; i++)
        is_told = w->tell(w, NULL) == KILN_OK;
    if (api->cuStreamEndCapture(stream, &graph) != 0 || graph == NULL)
        return false;
    const bool is_ready =
        is_told && api->cuGraphInstantiateWithFlags(&ready, graph, 0) == 0;
    (void)api->cuGraphDestroy(graph);
    w->graph = is_ready ? ready : NULL;
    return is_ready;
}

static kiln_status try_both(kiln_arena *a, kiln_nv_way *w, kiln_err *err) {
    KILN_TRY(try_out(w, err));
    kiln_nv_way graph = *w;
    if (!make_graph(&graph) || try_out(&graph, NULL) != KILN_OK || graph.ns >= w->ns)
        return KILN_OK;
    graph.name = kiln_format(a, "%s, as a graph", w->name);
    *w = graph;
    return KILN_OK;
}

/* ---- the library ----------------------------------------------------------------- */

static kiln_status open_all(const char *folder, kiln_err *err) {
    return kiln_nv_open(folder, &nv, err);
}

static const char *version(kiln_arena *a) {
    (void)a;
    return nv.version;
}

/* It overrules what programs ask for: no TF32 in products of f32. */
static const char *const *environment(kiln_arena *a, int threads) {
    static const char *const e[] = {"NVIDIA_TF32_OVERRIDE", "0", NULL};
    (void)a;
    (void)threads;
    return e;
}

static kiln_status all_ways(kiln_arena *a, const kiln_library_op *op, kiln_nv_ways *out,
                            kiln_err *err) {
    switch (op->kind) {
    case KILN_LIBRARY_CONV:
        return kiln_nv_conv(a, &nv, op, out, err);
    case KILN_LIBRARY_MATMUL:
        return kiln_nv_matmul(a, &nv, op, out, err);
    case KILN_LIBRARY_MAX_POOL:
    case KILN_LIBRARY_AVG_POOL:
    case KILN_LIBRARY_SOFTMAX:
    case KILN_N_LIBRARY_KINDS:
        break;
    }
    return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                     "cuDNN and cuBLAS are asked for conv and matmul alone, not '%s'",
                     kiln_library_kind_name(op->kind));
}

static kiln_status prepare(kiln_arena *a, const kiln_library_op *op, int threads,
                           kiln_library_ready *out, kiln_err *err) {
    kiln_nv_ways ways = {.n = 0};
    kiln_nv_way *best = NULL;
    kiln_err first = {.status = KILN_OK};
    kiln_library_op *own = kiln_new(a, kiln_library_op);
    (void)threads; /* the GPU's are the library's to choose */
    *own = *op;
    KILN_TRY(all_ways(a, own, &ways, err));
    for (size_t i = 0; i < ways.n; i++) {
        kiln_err why = {.status = KILN_OK};
        const kiln_status st = try_both(a, &ways.v[i], &why);
        if (st != KILN_OK && first.status == KILN_OK)
            first = why;
        if (st == KILN_OK && (best == NULL || ways.v[i].ns < best->ns))
            best = &ways.v[i];
    }
    if (best == NULL) {
        *err = first;
        return first.status;
    }
    *out = (kiln_library_ready){.own = best, .implementation = best->name};
    return KILN_OK;
}

static kiln_status run(const kiln_library_ready *r, kiln_err *err) {
    const kiln_nv_way *w = r->own;
    KILN_TRY(tell(w, err));
    return await(w, err);
}

static kiln_status time_run(const kiln_library_ready *r, int64_t *ns, kiln_err *err) {
    return kiln_nv_time(r->own, ns, err);
}

static void to_nchw(const char *from, char *to, const int64_t *dim, size_t bytes) {
    const int64_t pixels = dim[2] * dim[3];
    for (int64_t n = 0; n < dim[0]; n++)
        for (int64_t p = 0; p < pixels; p++)
            for (int64_t c = 0; c < dim[1]; c++, from += bytes)
                memcpy(to + (size_t)((n * dim[1] + c) * pixels + p) * bytes, from,
                       bytes);
}

static kiln_status read_output(const kiln_library_ready *r, kiln_tensor *out,
                               kiln_err *err) {
    const kiln_nv_way *w = r->own;
    const size_t bytes = w->op->out.dtype == KILN_F16 ? 2 : 4,
                 all = (size_t)kiln_type_elems(&w->op->out) * bytes;
    kiln_arena own = {0};
    void *to = w->is_nhwc ? kiln_arena_alloc(&own, all) : out->data;
    const kiln_status st = kiln_nv_driver_says(
        w->nv, w->nv->api.cuMemcpyDtoH_v2(to, w->y, all), "copying from the GPU", err);
    if (st == KILN_OK && w->is_nhwc)
        to_nchw(to, out->data, w->op->out.dim, bytes);
    kiln_arena_fini(&own);
    return st;
}

const kiln_library kiln_library_cudnn = {
    .name = "cudnn",
    .open = open_all,
    .version = version,
    .takes_f16 = true,
    .environment = environment,
    .prepare = prepare,
    .run = run,
    .time = time_run,
    .read = read_output,
};
