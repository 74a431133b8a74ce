/* What a bench of a network found, as a document (docs/bench-json.md). */
#include "pipeline/bench/bench_internal.h"

#include "reports/results/documents.h"

/* ---- what every bench says ------------------------------------------------------- */

static kiln_results_machine machine_of(const kiln_machine *m, double bandwidth_gbs) {
    return (kiln_results_machine){.cpu = m->cpu[0] != '\0' ? m->cpu : NULL,
                                  .os = m->os,
                                  .cores = m->cores,
                                  .memory_bytes = m->memory_bytes,
                                  .bandwidth_gbs = bandwidth_gbs};
}

static kiln_results_memory memory_of(const kiln_subject *s) {
    kiln_results_memory m = {.activation = s->arena,
                             .lower_bound = s->lower_bound,
                             .parameter = s->params,
                             .workspace = s->workspace,
                             .scratch = s->scratch,
                             .packed = s->packed};
    kiln_results_derive_memory(&m);
    return m;
}

static kiln_doc_bench head_of(kiln_arena *a, const kiln_subject *s, const kiln_check *c,
                              const kiln_machine *m, double bandwidth_gbs) {
    const bool has_problem = c->reason != NULL && c->reason[0] != '\0';
    return (kiln_doc_bench){.own = kiln_doc_own_of(a),
                            .machine = machine_of(m, bandwidth_gbs),
                            .model = s->name,
                            .profile = s->profile->name,
                            .multiply_adds = s->cost.muladds,
                            .flops = s->cost.flops,
                            .output = {.ok = c->outcome == KILN_PASSED,
                                       .problem = has_problem ? c->reason : NULL,
                                       .max_abs_error = c->max_abs,
                                       .rms_error = c->rms_error,
                                       .rms_expected = c->rms_want},
                            .memory = memory_of(s),
                            .open_ms = s->open_ms};
}

static kiln_doc_percentiles percentiles_of(const kiln_percentiles *p) {
    _Static_assert((int)KILN_DOC_N_PERCENTILES == (int)KILN_N_PERCENTILES,
                   "the same percentiles");
    kiln_doc_percentiles out = {
        .samples = p->n, .mean = p->mean, .min = p->min, .max = p->max};
    for (int i = 0; i < KILN_N_PERCENTILES; i++)
        out.at[i] = p->at[i];
    return out;
}

/* ---- numbers of threads ---------------------------------------------------------- */

static kiln_results_latency latency_of(kiln_arena *a, const kiln_net_side *r) {
    kiln_results_latency l = {.median_ms = r->median_ms,
                              .q1_ms = r->q1_ms,
                              .q3_ms = r->q3_ms,
                              .min_ms = r->min_ms,
                              .runs = r->runs,
                              .n_samples = r->sample.n,
                              .n_disturbed = r->n_disturbed,
                              .gflops = r->gflops,
                              .peak_share = r->peak_share,
                              .session_bytes = (int64_t)r->session_bytes};
    kiln_samples_results(a, &r->sample, &l.sample_ms, &l.disturbed_at);
    return l;
}

static void put_steps(kiln_arena *a, const kiln_net_side *r, kiln_doc_side *out) {
    const kiln_subject *s = r->subject;
    for (int i = 0; i < s->n_steps; i++) {
        const kiln_subject_step *from = &s->step[i];
        const kiln_results_step step = {.name = from->name,
                                        .op = from->op,
                                        .tmpl = from->tmpl,
                                        .origin = from->origin,
                                        .epilogue = from->epilogue,
                                        .layout_in = from->layout_in,
                                        .layout_out = from->layout_out,
                                        .multiply_adds = from->cost.muladds,
                                        .flops = from->cost.flops,
                                        .bytes = from->cost.bytes,
                                        .median_ms = r->step_ms[i],
                                        .gflops =
                                            kiln_step_gflops(from, r->step_ms[i])};
        kiln_vec_push(a, &out->step, step);
    }
    out->steps_ms = kiln_results_derive_steps(&out->step, r->peak.gflops);
    out->steps_run_ms = r->steps_run_ms;
    out->coverage = kiln_steps_coverage(a, s, r->step_ms);
    kiln_results_derive_coverage(&out->coverage);
}

static kiln_doc_side side_of(kiln_arena *a, const kiln_net_side *r) {
    kiln_doc_side out = {.threads = r->threads,
                         .latency = latency_of(a, r),
                         .percentiles = percentiles_of(&r->percentiles),
                         .peak = kiln_peak_results(&r->peak, r->threads),
                         .baseline = kiln_rivals_results(a, &r->rival, false)};
    for (size_t i = 0; i < r->round_peak.n; i++) {
        const kiln_peak *p = &r->round_peak.v[i];
        const kiln_doc_round round = {p->gflops, p->measured_gflops, p->clock_ghz};
        kiln_vec_push(a, &out.round, round);
    }
    if (r->step_ms != NULL)
        put_steps(a, r, &out);
    return out;
}

void kiln_net_bench_json(kiln_buf *out, const kiln_net_bench *b) {
    kiln_arena *a = out->arena;
    kiln_doc_bench d = head_of(a, b->subject, &b->check, &b->machine, b->bandwidth_gbs);
    d.is_interrupted = b->is_interrupted;
    for (size_t i = 0; i < b->side.n && b->check.outcome == KILN_PASSED; i++) {
        const kiln_doc_side side = side_of(a, &b->side.v[i]);
        kiln_vec_push(a, &d.side, side);
        kiln_vec_push(a, &d.machine.peak, side.peak);
    }
    kiln_record_write(out, &kiln_bench_document, &d);
}

/* ---- under load ------------------------------------------------------------------ */

static kiln_doc_load load_of(kiln_arena *a, const kiln_load_side *r) {
    kiln_doc_load out = {.instances = r->instances,
                         .threads = r->threads,
                         .seconds = r->seconds,
                         .is_cut = r->is_cut,
                         .session_bytes = (int64_t)r->session_bytes,
                         .throughput = {.runs = r->runs,
                                        .per_s = r->per_s,
                                        .low = r->low,
                                        .high = r->high},
                         .latency = percentiles_of(&r->ms)};
    for (int i = 0; i < KILN_LOAD_SLICES; i++)
        kiln_vec_push(a, &out.throughput.slice, (double)r->slice[i]);
    return out;
}

void kiln_load_json(kiln_buf *out, const kiln_load *l) {
    kiln_arena *a = out->arena;
    kiln_doc_bench d = head_of(a, l->subject, &l->check, &l->machine, 0);
    d.is_interrupted = l->is_interrupted;
    for (size_t i = 0; i < l->side.n && l->check.outcome == KILN_PASSED; i++) {
        const kiln_doc_load load = load_of(a, &l->side.v[i]);
        kiln_vec_push(a, &d.load, load);
    }
    kiln_record_write(out, &kiln_bench_document, &d);
}
