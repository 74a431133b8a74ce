/* What `kiln bench` found of operators, as a document (docs/bench-ops-json.md). */
#include "pipeline/kernels/kernels_internal.h"

#include "reports/results/documents.h"

kiln_results_peak kiln_peak_results(const kiln_peak *p, int threads) {
    KILN_ASSERT(threads > 0, "the peak of %d threads", threads);
    return (kiln_results_peak){.threads = threads,
                               .gflops = p->gflops,
                               .measured_gflops = p->measured_gflops,
                               .fma_per_cycle = p->fma_per_cycle,
                               .clock_ghz = p->clock_ghz};
}

static const char *config_of(kiln_arena *a, const kiln_choice *c) {
    kiln_buf text;
    kiln_json_writer w;
    if (c->tmpl == NULL)
        return NULL;
    kiln_buf_init(&text, a);
    kiln_json_writer_init(&w, &text);
    kiln_config_put(&w, c->tmpl, &c->space, &c->config);
    return text.p;
}

static void put_output(const kiln_bench_row *r, kiln_doc_op *out) {
    const kiln_verdict *v = &r->verdict;
    out->has_output = true;
    out->output = (kiln_doc_op_output){.ok = v->ok,
                                       .problem = v->ok ? NULL : v->problem,
                                       .worst_error_of_bound = v->worst,
                                       .max_abs_error = v->max_abs,
                                       .checked = v->n_checked,
                                       .elements = v->n_elems};
}

static void put_time(const kiln_bench_row *r, int threads, kiln_doc_op *out) {
    const kiln_timing *t = &r->timing;
    out->has_time = true;
    out->time = (kiln_doc_op_time){.slices = t->n_slices,
                                   .disturbed_slices = t->n_disturbed,
                                   .runs = t->n_runs,
                                   .gbs = t->gbs,
                                   .peak_share = t->peak_share,
                                   .memory_ms = t->memory_ms,
                                   .instructions_ms = t->instructions_ms,
                                   .roofline_ms = t->roofline_ms,
                                   .bound = t->bound,
                                   .peak = kiln_peak_results(&t->peak, threads)};
    out->op.median_ms = t->median_ms;
    out->op.q1_ms = t->q1_ms;
    out->op.q3_ms = t->q3_ms;
    out->op.min_ms = t->min_ms;
    out->op.gflops = t->gflops;
    out->op.peak_share = t->peak_share;
}

static kiln_doc_code code_of(const kiln_bench_row *r) {
    const kiln_spread *s = &r->spread;
    return (kiln_doc_code){.bytes = (int64_t)r->code_bytes,
                           .workspace_bytes = (int64_t)r->workspace_bytes,
                           .scratch_bytes = (int64_t)r->scratch_bytes,
                           .forks = s->forks,
                           .parallel_iterations = s->iterations,
                           .gain_on_2_threads =
                               s->longest > 0 ? s->work / s->longest : 1,
                           .innermost_loops = r->n_loops,
                           .hot_instructions = r->hot_instructions,
                           .hot_vector_fma = r->hot_fma,
                           .hot_vector_registers = r->vector_registers,
                           .hot_spills = r->spills,
                           .lower_ms = r->lower_ms,
                           .codegen_ms = r->codegen_ms};
}

static kiln_doc_op op_of(kiln_arena *a, const kiln_bench_row *r, int threads) {
    const bool is_chosen = r->choice.tmpl != NULL;
    kiln_doc_op out = {
        .op = {.name = r->name,
               .line = r->line,
               .tmpl = is_chosen ? r->choice.tmpl->name : NULL,
               .origin = is_chosen ? kiln_origin_name(r->choice.origin) : NULL,
               .multiply_adds = r->cost.muladds,
               .baseline = kiln_rivals_results(a, &r->rival, true)},
        .workload = r->key,
        .config = config_of(a, &r->choice),
        .refusal = r->refusal,
        .failure = r->failure,
        .flops = r->cost.flops,
        .bytes = r->cost.bytes,
        .has_code = r->code_bytes > 0};
    if (r->refusal == NULL)
        put_output(r, &out);
    if (r->timing.n_slices > 0)
        put_time(r, threads, &out);
    if (out.has_code)
        out.code = code_of(r);
    kiln_samples_results(a, &r->sample, &out.sample_ms, &out.disturbed_at);
    return out;
}

void kiln_bench_row_put(kiln_json_writer *w, const kiln_bench_row *r, int threads) {
    const kiln_doc_op op = op_of(w->out->arena, r, threads);
    kiln_record_put(w, &kiln_op_table, &op);
}

void kiln_bench_json(kiln_buf *out, const kiln_bench *b) {
    kiln_arena *a = out->arena;
    kiln_doc_ops d = {.own = kiln_doc_own_of(a),
                      .profile = b->profile->name,
                      .threads = b->threads,
                      .peak = kiln_peak_results(&b->peak, b->threads),
                      .wrong = (int64_t)b->n_wrong,
                      .refused = (int64_t)b->n_refused,
                      .failed = (int64_t)b->n_failed,
                      .mean_peak_share = b->mean_share,
                      .is_interrupted = b->is_interrupted};
    for (int i = 0; i < KILN_N_LEVELS; i++) {
        const kiln_results_level level = {kiln_level_name(i), b->threads,
                                          b->level_gbs[i]};
        if (level.gbs > 0)
            kiln_vec_push(a, &d.level, level);
    }
    for (size_t i = 0; i < b->row.n; i++) {
        const kiln_doc_op op = op_of(a, &b->row.v[i], b->threads);
        kiln_vec_push(a, &d.op, op);
    }
    for (size_t i = 0; i < b->standing.n; i++) {
        const kiln_op_standing *s = &b->standing.v[i];
        const kiln_doc_standing standing = {s->baseline->name, s->version,
                                            (int64_t)s->n_measured, s->ratio};
        kiln_vec_push(a, &d.baseline, standing);
    }
    kiln_record_write(out, &kiln_ops_document, &d);
}
