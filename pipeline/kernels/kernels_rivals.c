/* What vendor libraries are asked to run beside a kernel. */
#include "pipeline/kernels/kernels_internal.h"

enum { BOOTSTRAP = 2000 };

typedef struct asked {
    kiln_arena *arena, *scratch;
    kiln_library_op op;
    kiln_err refusal; /* no status: there is a description */
    const kiln_expected *want;
    const char *dir; /* of wheels */
    int threads;
    int64_t limit_ms;
} asked;

static kiln_status open_one(void *user, const kiln_rival *v, kiln_baseline_session *out,
                            kiln_err *err) {
    const kiln_baseline *const b = v->baseline;
    const asked *r = user;
    const kiln_baseline_op_job job = {
        .dir = r->dir, .op = &r->op, .threads = r->threads, .limit_ms = r->limit_ms};
    if (r->refusal.status != KILN_OK) {
        *err = r->refusal;
        return err->status;
    }
    return b->open_op(b, r->scratch, &job, out, err);
}

static kiln_status compare(void *user, const kiln_baseline_session *session,
                           kiln_rival *v, kiln_err *err) {
    const asked *r = user;
    kiln_arena own = {0};
    kiln_verdict verdict = {.ok = true, .problem = ""};
    (void)err;
    kiln_expected_compare(&own, r->want, &session->out[0], "y", &verdict);
    v->max_abs = verdict.max_abs;
    v->error = verdict.worst;
    if (!verdict.ok) {
        v->state = KILN_RIVAL_WRONG;
        v->reason = kiln_str_dup(r->arena, verdict.problem);
    }
    kiln_arena_fini(&own);
    return KILN_OK;
}

/* Inputs like those that the kernel is proved on: of the same law. */
static const kiln_tensor *draw_inputs(kiln_arena *a, const kiln_graph *g,
                                      uint64_t seed) {
    kiln_tensor *plain = kiln_array(a, kiln_tensor, g->values.n);
    for (size_t i = 0; i < g->values.n; i++) {
        const kiln_value *v = g->values.v[i];
        if (v->data != NULL)
            plain[v->id] =
                (kiln_tensor){.type = v->type, .data = (void *)(uintptr_t)v->data};
    }
    for (size_t i = 0; i < g->inputs.n; i++) {
        const kiln_value *v = g->inputs.v[i];
        plain[v->id] = kiln_ref_random(a, &v->type, seed + i);
    }
    return plain;
}

kiln_rivals *kiln_op_rivals_open(kiln_arena *a, kiln_arena *scratch,
                                 const kiln_op_work *w, const kiln_bench_options *o,
                                 kiln_bench_row *row) {
    const kiln_tensor *plain = draw_inputs(scratch, w->graph, o->seed);
    kiln_expected *want = kiln_array(scratch, kiln_expected, w->graph->outputs.n);
    asked r = {.arena = a,
               .scratch = scratch,
               .want = want,
               .dir = o->baselines_dir != NULL ? o->baselines_dir : "",
               .threads = o->threads > 1 ? o->threads : 1,
               .limit_ms = o->baselines_limit_ms};
    const kiln_rivals_subject to = {.dir = r.dir,
                                    .threads = r.threads,
                                    .open = open_one,
                                    .compare = compare,
                                    .user = &r};
    const kiln_status st = kiln_expect(scratch, w->graph, w->workload.anchor, plain,
                                       kiln_choice_amplification(w, &row->choice),
                                       o->seed, want, &r.refusal);
    if (st == KILN_OK)
        (void)kiln_library_op_of(w->graph, w->workload.anchor, plain, &r.op,
                                 &r.refusal);
    return kiln_rivals_open(a, scratch, o->baseline, &to, &row->rival);
}

bool kiln_bench_is_compared(const kiln_bench *b) {
    for (size_t i = 0; i < b->row.n; i++)
        if (!kiln_rivals_are_measured(&b->row.v[i].rival))
            return false;
    return true;
}

/* ---- all operators together ------------------------------------------------------ */

static kiln_op_standing standing_of(kiln_arena *a, const kiln_bench *b,
                                    const kiln_baseline *baseline) {
    kiln_op_standing s = {.baseline = baseline};
    double *ratio = kiln_array(a, double, b->row.n);
    for (size_t i = 0; i < b->row.n; i++)
        for (size_t k = 0; k < b->row.v[i].rival.n; k++) {
            const kiln_rival *r = &b->row.v[i].rival.v[k];
            if (r->baseline == baseline && r->version != NULL)
                s.version = r->version;
            if (r->baseline == baseline && r->state == KILN_RIVAL_MEASURED)
                ratio[s.n_measured++] = r->number.ratio.estimate;
        }
    if (s.n_measured > 0)
        s.ratio = kiln_stats_geomean(a, ratio, s.n_measured, 0.95, BOOTSTRAP, 1);
    return s;
}

void kiln_op_standings(kiln_arena *a, kiln_bench *b,
                       const kiln_baseline *const *which) {
    for (size_t i = 0; which != NULL && which[i] != NULL; i++)
        kiln_vec_push(a, &b->standing, standing_of(a, b, which[i]));
}

static void put_standing(kiln_buf *out, const kiln_op_standing *s) {
    kiln_buf_printf(out, "%s%s%s: %zu measured", s->baseline->name,
                    s->version != NULL ? " " : "", s->version != NULL ? s->version : "",
                    s->n_measured);
    if (s->n_measured > 0)
        kiln_buf_printf(out, ", geometric mean of kiln / it %.3f [%.3f, %.3f]",
                        s->ratio.estimate, s->ratio.low, s->ratio.high);
    kiln_buf_puts(out, "\n");
}

void kiln_op_rivals_text(kiln_buf *out, const kiln_bench *b) {
    if (b->standing.n == 0)
        return;
    kiln_rivals_text_head(out, "op");
    for (size_t i = 0; i < b->row.n; i++)
        for (size_t k = 0; k < b->row.v[i].rival.n; k++)
            kiln_rival_text(out, b->row.v[i].name, &b->row.v[i].rival.v[k]);
    kiln_buf_puts(out, "\n");
    for (size_t i = 0; i < b->standing.n; i++)
        put_standing(out, &b->standing.v[i]);
}
