/* A workload for workers: its graph as text, inputs for every seed, and what the
 * outputs must be, each a blob that workers ask for by its name. */
#include "pipeline/measure/measure_fleet.h"
#include "compiler/network/network_work.h"
#include "compiler/reference/reference.h"

#include <string.h>

/* Constants of more elements are weights: random with every seed, and not part of the
 * text. Smaller ones (axes, limits, variances) mean something. */
enum { MAX_KEPT_ELEMS = 1024 };

typedef struct writer {
    uint64_t seed;
    kiln_fleet_work *work;
    kiln_err *err;
} writer;

/* Kept for as long as the workload is; the same bytes once. */
static kiln_status put(writer *w, const void *p, size_t bytes, kiln_wire_blob *out) {
    kiln_wire_blob blob = {.bytes = bytes};
    if (bytes > KILN_WIRE_MAX_BLOB_BYTES)
        return kiln_fail(w->err, KILN_ERR_LIMIT,
                         "a value of %zu bytes is more than workers take", bytes);
    if (bytes > 0)
        kiln_sha256_digest(p, bytes, blob.sha256);
    *out = blob;
    if (bytes == 0 || kiln_fleet_blob_find(w->work, &blob) != NULL)
        return KILN_OK;
    blob.data = kiln_arena_dup(&w->work->arena, p, bytes);
    kiln_vec_push(&w->work->arena, &w->work->blob, blob);
    w->work->bytes += bytes;
    return KILN_OK;
}

static bool is_weight(const kiln_value *v) {
    return v->data != NULL && kiln_dtype_is_float(v->type.dtype) &&
           kiln_type_elems(&v->type) > MAX_KEPT_ELEMS;
}

/* Weights' values print as one element. */
static kiln_status put_text(writer *w, kiln_arena *a, const kiln_graph *g,
                            kiln_wire_blob *out) {
    kiln_graph *bare = kiln_graph_clone(a, g);
    kiln_buf text;
    for (size_t i = 0; i < bare->values.n; i++) {
        kiln_value *v = bare->values.v[i];
        if (is_weight(v))
            v->data = kiln_arena_alloc(a, (size_t)kiln_type_bytes(&v->type));
    }
    kiln_buf_init(&text, a);
    kiln_graph_print(&text, bare, NULL);
    return put(w, text.p, text.n, out);
}

static uint32_t wire_dtype(kiln_dtype t) {
    static const kiln_wire_dtype of[KILN_N_DTYPES] = {
        [KILN_F32] = KILN_WIRE_F32,
        [KILN_F16] = KILN_WIRE_F16,
        [KILN_BF16] = KILN_WIRE_BF16,
        [KILN_F64] = KILN_WIRE_F64,
        [KILN_I8] = KILN_WIRE_I8,
        [KILN_U8] = KILN_WIRE_U8,
        [KILN_I16] = KILN_WIRE_I16,
        [KILN_U16] = KILN_WIRE_U16,
        [KILN_I32] = KILN_WIRE_I32,
        [KILN_U32] = KILN_WIRE_U32,
        [KILN_I64] = KILN_WIRE_I64,
        [KILN_U64] = KILN_WIRE_U64,
        [KILN_BOOL] = KILN_WIRE_U8,
        [KILN_I4] = KILN_WIRE_I8,
        [KILN_U4] = KILN_WIRE_U8,
        [KILN_I2] = KILN_WIRE_I8,
        [KILN_U2] = KILN_WIRE_U8,
        [KILN_F8E4M3FN] = KILN_WIRE_E4M3FN,
        [KILN_F8E4M3FNUZ] = KILN_WIRE_E4M3FNUZ,
        [KILN_F8E5M2] = KILN_WIRE_E5M2,
        [KILN_F8E5M2FNUZ] = KILN_WIRE_E5M2FNUZ,
        [KILN_F8E8M0] = KILN_WIRE_E8M0,
        [KILN_F4E2M1] = KILN_WIRE_E2M1};
    KILN_ASSERT((size_t)t < sizeof of / sizeof of[0], "no word for %d", (int)t);
    return of[t];
}

static void describe(const kiln_value *v, kiln_wire_value *out) {
    *out = (kiln_wire_value){.name = kiln_str_from(v->name),
                             .dtype = wire_dtype(v->type.dtype),
                             .rank = (uint32_t)v->type.rank,
                             .is_weight = v->data != NULL};
    memcpy(out->dim, v->type.dim, sizeof out->dim);
}

/* Inputs, constants that are used, outputs. */
static kiln_status list_values(kiln_arena *a, const kiln_graph *g, kiln_wire_work *w,
                               const kiln_value **of, kiln_err *err) {
    const int *uses = kiln_graph_count_uses(g, a);
    size_t n = 0;
    w->value = kiln_array(a, kiln_wire_value, KILN_WIRE_MAX_OPERANDS);
    for (size_t i = 0; i < g->values.n + g->outputs.n; i++) {
        const bool is_output = i >= g->values.n;
        const kiln_value *v =
            is_output ? g->outputs.v[i - g->values.n] : g->values.v[i];
        if (!is_output && (v->def != NULL || (v->data != NULL && uses[v->id] == 0)))
            continue;
        if (n == KILN_WIRE_MAX_OPERANDS)
            return kiln_fail(err, KILN_ERR_LIMIT,
                             "a workload has at most %d inputs, constants and outputs",
                             KILN_WIRE_MAX_OPERANDS);
        describe(v, &w->value[n]);
        if (is_output) {
            w->value[n].name = kiln_str_from(g->output_names.v[i - g->values.n]);
            w->value[n].is_output = 1;
            w->value[n].is_weight = 0;
        }
        of[n++] = v;
    }
    w->n_values = (uint32_t)n;
    return KILN_OK;
}

/* Plain types everywhere: the reference and the blobs know no layouts. */
static kiln_graph *plain_clone(kiln_arena *a, const kiln_graph *g, uint64_t seed) {
    kiln_graph *plain = kiln_graph_clone(a, g);
    for (size_t i = 0; i < plain->values.n; i++) {
        kiln_value *v = plain->values.v[i];
        const bool is_drawn = is_weight(v);
        v->type = kiln_type_make(v->type.dtype, v->type.rank, v->type.dim);
        if (is_drawn)
            v->data = kiln_ref_random(a, &v->type, seed + i).data;
    }
    return plain;
}

static kiln_status put_expected(writer *w, kiln_arena *a, const kiln_expected *e,
                                kiln_wire_expected *out) {
    const double *bound = e->bound;
    const size_t n = (size_t)(e->pick != NULL ? e->n_pick : e->n_elems);
    if (e->pick != NULL) {
        if (bound == NULL)
            bound = kiln_array(a, double, n);
        KILN_TRY(put(w, e->pick, n * sizeof *e->pick, &out->pick));
    }
    KILN_TRY(put(w, e->value, n * sizeof *e->value, &out->value));
    return bound != NULL ? put(w, bound, n * sizeof *bound, &out->bound) : KILN_OK;
}

/* The first two have the same weights, so that slices of one process can have the
 * inputs of either. */
static kiln_status put_seed(writer *w, kiln_arena *a, const kiln_graph *g,
                            kiln_wire_work *work, const kiln_value *const *of, int s) {
    const uint64_t seed = w->seed + (uint64_t)s * 1000003;
    kiln_graph *plain = plain_clone(a, g, s == 1 ? w->seed : seed);
    kiln_op_work op;
    KILN_TRY(kiln_op_work_of(a, g->name, plain, &op, w->err));
    work->flops = (double)op.cost.flops;
    kiln_tensor *tensor = kiln_array(a, kiln_tensor, plain->values.n);
    size_t n_outputs = 0;
    for (uint32_t i = 0; i < work->n_values; i++) {
        kiln_wire_value *v = &work->value[i];
        const kiln_value *p = plain->values.v[of[i]->id];
        if (v->is_output != 0) {
            n_outputs++;
            continue;
        }
        tensor[p->id] =
            p->data != NULL
                ? (kiln_tensor){.type = p->type, .data = (void *)(uintptr_t)p->data}
                : kiln_ref_random(a, &p->type, seed + i);
        if (s == 1 && p->data != NULL) {
            v->data[1] = v->data[0];
            continue;
        }
        KILN_TRY(
            put(w, tensor[p->id].data, (size_t)kiln_type_bytes(&p->type), &v->data[s]));
    }
    kiln_expected *want = kiln_array(a, kiln_expected, n_outputs);
    KILN_TRY(kiln_expect(a, plain, op.workload.anchor, tensor, 1, seed, want, w->err));
    for (uint32_t i = 0, o = 0; i < work->n_values; i++)
        if (work->value[i].is_output != 0)
            KILN_TRY(put_expected(w, a, &want[o++], &work->value[i].expected[s]));
    return KILN_OK;
}

static kiln_status make(writer *w, kiln_arena *a, const kiln_graph *g,
                        kiln_wire_work *work) {
    const kiln_value **of = kiln_array(a, const kiln_value *, KILN_WIRE_MAX_OPERANDS);
    KILN_TRY(list_values(a, g, work, of, w->err));
    KILN_TRY(put_text(w, a, g, &work->graph));
    for (int s = 0; s < KILN_MEASURE_SEEDS; s++) {
        kiln_arena scratch = {0};
        const kiln_status st = put_seed(w, &scratch, g, work, of, s);
        kiln_arena_fini(&scratch);
        if (st != KILN_OK)
            return st;
    }
    return KILN_OK;
}

kiln_status kiln_measure_add_work(kiln_measure *m, const kiln_graph *g,
                                  bool weights_cold, int *work, kiln_err *err) {
    /* Only the caller's thread comes here: nobody else adds works. */
    kiln_fleet_work added = {.bytes = 0};
    writer w = {.seed = m->o.seed, .work = &added, .err = err};
    kiln_arena scratch = {0};
    kiln_wire_work message = {.id = (uint32_t)m->work.n,
                              .n_seeds = KILN_MEASURE_SEEDS,
                              .weights_cold = weights_cold};
    const kiln_status st = make(&w, &scratch, g, &message);
    if (st == KILN_OK) {
        kiln_buf text;
        kiln_buf_init(&text, &added.arena);
        kiln_wire_put(&text, KILN_WIRE_WORK, &message);
        added.message = kiln_buf_str(&text);
        added.flops = message.flops;
        for (size_t i = 0; i < g->outputs.n; i++)
            added.written_bytes += (double)kiln_type_bytes(&g->outputs.v[i]->type);
        pthread_mutex_lock(&m->lock);
        m->stats.shared_bytes += added.bytes;
        *work = (int)m->work.n;
        kiln_vec_push(&m->arena, &m->work, added);
        pthread_mutex_unlock(&m->lock);
    } else {
        kiln_arena_fini(&added.arena);
        kiln_note(err, "preparing workload '%s' for measurements", g->name);
    }
    kiln_arena_fini(&scratch);
    return st;
}

const kiln_wire_blob *kiln_fleet_blob_find(const kiln_fleet_work *w,
                                           const kiln_wire_blob *name) {
    for (size_t i = 0; i < w->blob.n; i++)
        if (kiln_wire_blob_eq(&w->blob.v[i], name))
            return &w->blob.v[i];
    return NULL;
}

/* Is a worker to read it yet? */
static bool is_wanted(const kiln_measure *m, int work) {
    for (int i = 0; i < KILN_MAX_JOBS; i++) {
        const kiln_job *j = &m->job[i];
        if (j->out.work == work && j->state >= KILN_JOB_QUEUED &&
            j->state <= KILN_JOB_RUNNING)
            return true;
    }
    return false;
}

bool kiln_measure_drop_work(kiln_measure *m, int work) {
    pthread_mutex_lock(&m->lock);
    KILN_ASSERT(work >= 0 && (size_t)work < m->work.n, "there is no workload %d", work);
    kiln_fleet_work *w = &m->work.v[work];
    const bool can = !is_wanted(m, work);
    if (can && w->bytes > 0) {
        m->stats.shared_bytes -= w->bytes;
        kiln_arena_fini(&w->arena);
        *w = (kiln_fleet_work){.bytes = 0};
        kiln_vec_push(&m->arena, &m->dropped, (uint32_t)work);
        kiln_fleet_wake(m); /* workers forget it too */
    }
    pthread_mutex_unlock(&m->lock);
    return can;
}
