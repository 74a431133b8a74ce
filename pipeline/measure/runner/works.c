/* Workloads that the runner knows, and their blobs: what is read without a look later is
 * looked at here. */
#include "pipeline/measure/runner/runner_internal.h"

#include <inttypes.h>

enum { MAX_WORKS = 1 << 16 };

/* ---- what a message says ---------------------------------------------------------- */

static kiln_status check_bytes(const kiln_wire_blob *b, uint64_t bytes, kiln_err *err) {
    char text[KILN_WIRE_BLOB_TEXT];
    if (b->bytes == bytes)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_PARSE,
                     "a workload needs %" PRIu64 " bytes where it has %s", bytes,
                     kiln_wire_blob_text(b, text));
}

static kiln_status check_expected(const kiln_wire_expected *e, int64_t n_elems,
                                  kiln_err *err) {
    const uint64_t n = e->value.bytes / sizeof(double);
    KILN_TRY(check_bytes(&e->value, n * sizeof(double), err));
    if (e->bound.bytes > 0)
        KILN_TRY(check_bytes(&e->bound, n * sizeof(double), err));
    if (e->pick.bytes > 0 || n != (uint64_t)n_elems)
        KILN_TRY(check_bytes(&e->pick, n * sizeof(int64_t), err));
    return KILN_OK;
}

static kiln_status check_value(const kiln_wire_value *v, uint32_t n_seeds,
                               kiln_err *err) {
    uint64_t n = kiln_wire_dtype_bytes(v->dtype);
    for (uint32_t i = 0; i < v->rank; i++) {
        if (v->dim[i] < 0 || (uint64_t)v->dim[i] > UINT32_MAX ||
            (n > 0 && (uint64_t)v->dim[i] > UINT32_MAX * (uint64_t)64 / n))
            return kiln_fail(err, KILN_ERR_LIMIT,
                             "a value of the workload is too large");
        n *= (uint64_t)v->dim[i];
    }
    for (uint32_t s = 0; s < n_seeds; s++)
        KILN_TRY(v->is_output != 0
                     ? check_expected(&v->expected[s], kiln_value_elems(v), err)
                     : check_bytes(&v->data[s], n, err));
    return KILN_OK;
}

/* ---- what its blobs say ----------------------------------------------------------- */

static kiln_status check_picks(const kiln_wire_expected *e, int64_t n_elems,
                               kiln_err *err) {
    const int64_t *pick = e->pick.data;
    for (uint64_t i = 0; i < e->pick.bytes / sizeof *pick; i++)
        if (pick[i] < 0 || pick[i] >= n_elems)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "an expected element is outside its output");
    return KILN_OK;
}

static kiln_status check_blobs(const kiln_wire_work *w, kiln_err *err) {
    for (uint32_t i = 0; i < w->n_values; i++)
        for (uint32_t s = 0; s < w->n_seeds && w->value[i].is_output != 0; s++)
            KILN_TRY(check_picks(&w->value[i].expected[s],
                                 kiln_value_elems(&w->value[i]), err));
    return KILN_OK;
}

/* Those that a runner reads: graph texts are the builder's. */
static size_t list_blobs(kiln_wire_work *w, kiln_wire_blob **out) {
    size_t n = 0;
    for (uint32_t i = 0; i < w->n_values; i++) {
        kiln_wire_value *v = &w->value[i];
        for (uint32_t s = 0; s < w->n_seeds; s++) {
            if (v->is_output == 0) {
                out[n++] = &v->data[s];
                continue;
            }
            out[n++] = &v->expected[s].value;
            out[n++] = &v->expected[s].bound;
            out[n++] = &v->expected[s].pick;
        }
    }
    return n;
}

enum { MAX_BLOBS = KILN_WIRE_MAX_OPERANDS * KILN_WIRE_MAX_SEEDS * 3 };

/* ---- the list ---------------------------------------------------------------------- */

kiln_status kiln_works_take(kiln_runner *r, const kiln_wire_frame *f, kiln_err *err) {
    kiln_known_work k = {.is_known = true};
    kiln_wire_work *w = &k.wire;
    kiln_status st = kiln_wire_get(&k.arena, f, w, err);
    if (st == KILN_OK && (w->id >= MAX_WORKS || w->n_seeds == 0 ||
                          (w->id < r->work.n && r->work.v[w->id].is_known)))
        st = kiln_fail(err, KILN_ERR_PARSE, "workload %" PRIu32 " is out of order",
                       w->id);
    for (uint32_t i = 0; st == KILN_OK && i < w->n_values; i++) {
        /* Views into the frame would go with it. */
        w->value[i].name = kiln_str_from(kiln_str_dupv(&k.arena, w->value[i].name));
        st = check_value(&w->value[i], w->n_seeds, err);
    }
    if (st != KILN_OK) {
        kiln_arena_fini(&k.arena);
        return st;
    }
    while (r->work.n <= w->id) /* those between were dropped before we knew of them */
        kiln_vec_push(&r->arena, &r->work, (kiln_known_work){.is_known = false});
    r->work.v[w->id] = k;
    return KILN_OK;
}

/* Blobs that another workload has too stay. */
static bool is_wanted(kiln_runner *r, const kiln_wire_blob *b) {
    kiln_wire_blob *of[MAX_BLOBS];
    for (size_t i = 0; i < r->work.n; i++) {
        kiln_known_work *k = &r->work.v[i];
        const size_t n = k->is_known ? list_blobs(&k->wire, of) : 0;
        for (size_t j = 0; j < n; j++)
            if (kiln_wire_blob_eq(of[j], b))
                return true;
    }
    return false;
}

kiln_status kiln_works_drop(kiln_runner *r, const kiln_wire_frame *f, kiln_err *err) {
    kiln_wire_drop m;
    kiln_wire_blob *of[MAX_BLOBS];
    KILN_TRY(kiln_wire_get(&r->arena, f, &m, err));
    if (m.work >= r->work.n || !r->work.v[m.work].is_known)
        return kiln_fail(err, KILN_ERR_PARSE, "there is no workload %" PRIu32, m.work);
    kiln_known_work *k = &r->work.v[m.work];
    k->is_known = false;
    kiln_operands_drop(r, m.work);
    const size_t n = list_blobs(&k->wire, of);
    for (size_t i = 0; i < n; i++)
        if (!is_wanted(r, of[i]))
            kiln_blobs_drop(&r->blobs, of[i]);
    kiln_arena_fini(&k->arena);
    return KILN_OK;
}

kiln_status kiln_works_find(kiln_runner *r, uint32_t id, const kiln_wire_work **out,
                            kiln_err *err) {
    kiln_wire_blob *of[MAX_BLOBS];
    bool asked;
    *out = NULL;
    if (id >= r->work.n || !r->work.v[id].is_known)
        return KILN_OK;
    kiln_known_work *k = &r->work.v[id];
    const size_t n = list_blobs(&k->wire, of);
    KILN_TRY(kiln_blobs_fetch(&r->blobs, &r->peer, of, n, &asked, err));
    if (!k->is_checked)
        KILN_TRY(check_blobs(&k->wire, err));
    k->is_checked = true;
    *out = &k->wire;
    return KILN_OK;
}
