/* What was measured: docs/bench-json.md, docs/bench-ops-json.md. */
#include "pipeline/nightly/collect.h"

static void add_peak(kiln_arena *a, const kiln_json *peak, int threads,
                     kiln_results_machine *machine) {
    const kiln_results_peak p = {.threads = threads,
                                 .gflops = nightly_positive(peak, "gflops"),
                                 .clock_ghz = nightly_positive(peak, "clock_ghz")};
    for (size_t i = 0; i < machine->peak.n; i++)
        if (machine->peak.v[i].threads == threads) {
            /* Every bench measures it beside itself; the machine's is the best. */
            if (machine->peak.v[i].gflops < p.gflops)
                machine->peak.v[i] = p;
            return;
        }
    if (p.gflops > 0)
        kiln_vec_push(a, &machine->peak, p);
}

/* Copying is disturbed easily: the best is the machine's. */
static void take_bandwidth(const kiln_json *v, kiln_results_machine *machine) {
    const double gbs = nightly_positive(kiln_json_get(v, "machine"), "bandwidth_gbs");
    if (gbs > machine->bandwidth_gbs)
        machine->bandwidth_gbs = gbs;
}

static void take_baselines(kiln_arena *a, const kiln_json *list,
                           kiln_results_baselines *out) {
    for (const kiln_json *b = kiln_json_first(list); b != NULL; b = kiln_json_next(b)) {
        const char *problem = nightly_text(b, "problem");
        const kiln_results_baseline v = {
            .name = nightly_text(b, "name"),
            .version = nightly_text(b, "version"),
            .implementation = nightly_text(b, "implementation"),
            .state = nightly_text(b, "state"),
            .problem = problem != NULL && problem[0] != '\0' ? problem : NULL,
            .median_ms = nightly_positive(b, "median_ms"),
            .q1_ms = nightly_positive(b, "q1_ms"),
            .q3_ms = nightly_positive(b, "q3_ms"),
            .min_ms = nightly_positive(b, "min_ms"),
            .ratio = nightly_interval(kiln_json_get(b, "ratio"), "kiln_over_baseline"),
            .max_abs_error = nightly_number(b, "max_abs_error")};
        kiln_vec_push(a, out, v);
    }
}

/* ---- networks ----------------------------------------------------------------------
 */

static void take_latency(kiln_arena *a, const kiln_json *t, kiln_results_latency *out) {
    *out = (kiln_results_latency){.median_ms = nightly_positive(t, "median_ms"),
                                  .q1_ms = nightly_positive(t, "q1_ms"),
                                  .q3_ms = nightly_positive(t, "q3_ms"),
                                  .min_ms = nightly_positive(t, "min_ms"),
                                  .n_disturbed =
                                      (size_t)nightly_count(t, "disturbed_samples"),
                                  .gflops = nightly_positive(t, "gflops"),
                                  .session_bytes = nightly_count(t, "session_bytes")};
    for (const kiln_json *s = kiln_json_first(kiln_json_get(t, "samples")); s != NULL;
         s = kiln_json_next(s))
        kiln_vec_push(a, &out->sample_ms, kiln_json_number(kiln_json_at(s, 0), 0));
    out->n_samples = out->sample_ms.n;
}

static void take_steps(kiln_arena *a, const kiln_json *t, kiln_results_job *out) {
    for (const kiln_json *s = kiln_json_first(kiln_json_get(t, "steps")); s != NULL;
         s = kiln_json_next(s)) {
        const kiln_results_step step = {.name = nightly_text(s, "name"),
                                        .op = nightly_text(s, "op"),
                                        .tmpl = nightly_text(s, "template"),
                                        .origin = nightly_text(s, "origin"),
                                        .epilogue = nightly_text(s, "epilogue"),
                                        .layout_in = nightly_text(s, "layout_in"),
                                        .layout_out = nightly_text(s, "layout_out"),
                                        .multiply_adds =
                                            nightly_count(s, "multiply_adds"),
                                        .flops = nightly_count(s, "flops"),
                                        .bytes = nightly_count(s, "bytes"),
                                        .median_ms = nightly_positive(s, "median_ms"),
                                        .gflops = nightly_positive(s, "gflops")};
        kiln_vec_push(a, &out->step, step);
    }
}

/* In place of the build's, which has no times. */
static void take_coverage(kiln_arena *a, const kiln_json *list, kiln_results_job *out) {
    if (kiln_json_size(list) == 0)
        return;
    out->coverage.n = 0;
    for (const kiln_json *c = kiln_json_first(list); c != NULL; c = kiln_json_next(c)) {
        const kiln_results_coverage row = {.origin = nightly_text(c, "origin"),
                                           .steps = nightly_count(c, "steps"),
                                           .multiply_adds =
                                               nightly_count(c, "multiply_adds"),
                                           .ms = nightly_positive(c, "ms")};
        kiln_vec_push(a, &out->coverage, row);
    }
}

void nightly_take_bench(kiln_arena *a, const kiln_json *v, kiln_results_job *out,
                        kiln_results_machine *machine) {
    const kiln_json *output = kiln_json_get(v, "output");
    const kiln_json *t = kiln_json_at(kiln_json_get(v, "threads"), 0);
    out->max_abs_error = nightly_number(output, "max_abs_error");
    out->rms_error = nightly_number(output, "rms_error");
    if (t == NULL) /* wrong: nothing was timed */
        return;
    out->has_latency = true;
    take_bandwidth(v, machine);
    take_latency(a, t, &out->latency);
    take_steps(a, t, out);
    out->steps_run_ms = nightly_positive(t, "steps_run_ms");
    take_coverage(a, kiln_json_get(t, "coverage"), out);
    take_baselines(a, kiln_json_get(t, "baselines"), &out->baseline);
    add_peak(a, kiln_json_get(t, "peak"), out->threads, machine);
}

/* ---- operators ---------------------------------------------------------------------
 */

void nightly_take_ops(kiln_arena *a, const kiln_json *v, kiln_results_ops *out,
                      kiln_results_machine *machine) {
    add_peak(a, kiln_json_get(v, "peak"), out->threads, machine);
    for (const kiln_json *o = kiln_json_first(kiln_json_get(v, "ops")); o != NULL;
         o = kiln_json_next(o)) {
        const kiln_json *time = kiln_json_get(o, "time");
        kiln_results_op op = {.name = nightly_text(o, "op"),
                              .line = nightly_text(o, "line"),
                              .tmpl = nightly_text(o, "template"),
                              .origin = nightly_text(o, "origin"),
                              .multiply_adds = nightly_count(o, "multiply_adds"),
                              .median_ms = nightly_positive(time, "median_ms"),
                              .gflops = nightly_positive(time, "gflops")};
        take_baselines(a, kiln_json_get(o, "baselines"), &op.baseline);
        kiln_vec_push(a, &out->row, op);
    }
}
