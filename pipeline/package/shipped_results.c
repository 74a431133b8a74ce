/* Times of what ships: of a night's results.json, or of what `kiln bench --json` wrote of
 * a network or of operators. */
#include "pipeline/package/package_shipped.h"

#include "pipeline/kernels/op_line.h"
#include "reports/results/documents.h"
#include "reports/results/results.h"

#include <string.h>

typedef struct asked {
    kiln_arena *arena;
    const char *path;
    kiln_str text;
    kiln_shipped *s;
    size_t n_ops; /* lists of operators for its profile and threads hold */
} asked;

static void take_rivals(kiln_arena *a, const kiln_results_baselines *from,
                        kiln_shipped_rivals *out) {
    for (size_t i = 0; i < from->n; i++) {
        const kiln_shipped_rival r = {from->v[i].name, from->v[i].version,
                                      from->v[i].median_ms};
        if (r.ms > 0)
            kiln_vec_push(a, out, r);
    }
}

static void take_run(const asked *q, double run_ms, const kiln_results_steps *step,
                     const kiln_results_baselines *baseline, const char *from) {
    kiln_shipped *s = q->s;
    s->results = from;
    s->result_ms = run_ms;
    take_rivals(q->arena, baseline, &s->rival);
    for (size_t i = 0; i < s->step.n; i++)
        for (size_t k = 0; k < step->n; k++)
            if (step->v[k].name != NULL &&
                strcmp(step->v[k].name, s->step.v[i].name) == 0)
                s->step.v[i].result_ms = step->v[k].median_ms;
}

/* An operator of a list is a step's where its workload is, letter by letter. */
static kiln_status take_op(kiln_arena *a, kiln_shipped *s, const kiln_results_op *op,
                           kiln_err *err) {
    kiln_op_line line;
    kiln_op_work work;
    if (op->line == NULL || kiln_op_line_of(a, op->line, &line, err) != KILN_OK ||
        kiln_op_work_make(a, &line, &work, err) != KILN_OK) {
        kiln_err_clear(err); /* of another kiln, whose lines this one does not know */
        return KILN_OK;
    }
    for (size_t i = 0; i < s->kernel.n; i++) {
        kiln_shipped_kernel *k = &s->kernel.v[i];
        if (kiln_str_eq(kiln_str_from(k->is.workload), work.key))
            take_rivals(a, &op->baseline, &k->rival);
    }
    return KILN_OK;
}

/* ---- documents ------------------------------------------------------------------- */

static bool is_same(const char *x, const char *y) {
    return x != NULL && strcmp(x, y) == 0;
}

/* For what it was built. */
static int threads_of(const kiln_shipped *s) {
    return s->facts.threads > 0 ? s->facts.threads : 1;
}
static bool is_for(const kiln_shipped *s, const char *profile, int threads) {
    return is_same(profile, s->facts.profile.name) && threads == threads_of(s);
}

static kiln_status take_night(asked *q, kiln_err *err) {
    kiln_results r;
    KILN_TRY(kiln_results_parse(q->arena, q->text, q->path, &r, err));
    for (size_t i = 0; i < r.job.n; i++) {
        const kiln_results_job *j = &r.job.v[i];
        if (is_same(j->model, q->s->facts.model) &&
            is_for(q->s, j->profile, j->threads))
            take_run(q, j->has_latency ? j->latency.median_ms : 0, &j->step,
                     &j->baseline,
                     kiln_format(q->arena, "run %s of %s", r.run != NULL ? r.run : "?",
                                 q->path));
    }
    for (size_t i = 0; i < r.ops.n; i++)
        for (size_t k = 0; k < r.ops.v[i].row.n; k++)
            if (is_for(q->s, r.ops.v[i].profile, r.ops.v[i].threads)) {
                KILN_TRY(take_op(q->arena, q->s, &r.ops.v[i].row.v[k], err));
                q->n_ops++;
            }
    return KILN_OK;
}

static kiln_status take_bench(asked *q, kiln_err *err) {
    kiln_doc_bench d;
    KILN_TRY(
        kiln_record_parse(q->arena, q->text, q->path, &kiln_bench_document, &d, err));
    for (size_t i = 0; i < d.side.n; i++) {
        const kiln_doc_side *side = &d.side.v[i];
        if (is_same(d.model, q->s->facts.model) &&
            is_for(q->s, d.profile, side->threads))
            take_run(q, side->latency.median_ms, &side->step, &side->baseline, q->path);
    }
    return KILN_OK;
}

static kiln_status take_ops(asked *q, kiln_err *err) {
    kiln_doc_ops d;
    KILN_TRY(
        kiln_record_parse(q->arena, q->text, q->path, &kiln_ops_document, &d, err));
    for (size_t i = 0; i < d.op.n && is_for(q->s, d.profile, d.threads); i++) {
        KILN_TRY(take_op(q->arena, q->s, &d.op.v[i].op, err));
        q->n_ops++;
    }
    return KILN_OK;
}

static const struct document {
    const char *key, *format;
    kiln_status (*take)(asked *q, kiln_err *err);
} documents[] = {{"schema", KILN_RESULTS_SCHEMA, take_night},
                 {"format", "kiln-bench-1", take_bench},
                 {"format", "kiln-ops-1", take_ops}};
enum { N_DOCUMENTS = sizeof documents / sizeof documents[0] };

/* Which of them it is, it says itself. */
static kiln_status find_document(const asked *q, const struct document **out,
                                 kiln_err *err) {
    kiln_arena scratch = {0};
    const kiln_json *root = NULL;
    kiln_status st = kiln_json_parse(&scratch, q->text, q->path, &root, err);
    *out = NULL;
    for (int i = 0; i < N_DOCUMENTS && st == KILN_OK; i++)
        if (kiln_json_is_object(root) &&
            is_same(kiln_json_string(kiln_json_get(root, documents[i].key), NULL),
                    documents[i].format))
            *out = &documents[i];
    if (st == KILN_OK && *out == NULL)
        st = kiln_fail(err, KILN_ERR_PARSE,
                       "'%s' holds no times: it must be the results.json of 'kiln "
                       "nightly', or what 'kiln bench --json' wrote of a model, a "
                       "package or operators",
                       q->path);
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_shipped_ask_results(kiln_arena *a, kiln_shipped *s, const char *path,
                                     kiln_err *err) {
    asked q = {.arena = a, .path = path, .s = s};
    const int threads = threads_of(s);
    const struct document *d = NULL;
    KILN_TRY(kiln_file_map(a, path, KILN_JSON_MAX_BYTES, &q.text, err));
    KILN_TRY(find_document(&q, &d, err));
    KILN_TRY(d->take(&q, err));
    if (s->results == NULL && q.n_ops == 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' has no job '%s' for profile '%s' with %d thread%s, and "
                         "no operators for it",
                         path, kiln_str_printable(a, kiln_str_from(s->facts.model), 64),
                         s->facts.profile.name, threads, threads == 1 ? "" : "s");
    if (s->results == NULL)
        s->results = kiln_format(a, "operators of %s", path);
    return KILN_OK;
}
