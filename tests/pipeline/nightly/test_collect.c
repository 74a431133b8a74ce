/* From what stages wrote to results: each number arrives where it belongs, what is not
 * there is not known, and many verdicts become one. */
#include "pipeline/nightly/nightly_collect.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <string.h>

static void read_into(const kiln_record_document *d, const char *text, void *out) {
    kiln_err err = {0};
    char *json = kiln_str_dup(kiln_test_arena(), text);
    for (char *c = json; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    kiln_assert_status_ok(
        kiln_record_parse(kiln_test_arena(), kiln_str_from(json), "test", d, out, &err),
        &err);
}

static void take_bench(const char *text, kiln_results_job *j, kiln_results_machine *m) {
    kiln_doc_bench d;
    read_into(&kiln_bench_document, text, &d);
    kiln_nightly_take_bench(kiln_test_arena(), &d, j, m);
}

static const char bench[] =
    "{'format': 'kiln-bench-1', 'machine': {'bandwidth_gbs': 12, 'peaks':"
    " [{'threads': 2, 'gflops': 80, 'clock_ghz': 3.5}]}, 'output': {'ok': true,"
    " 'max_abs_error': 1e-6, 'rms_error': 2e-7}, 'open_ms': 6.5,"
    " 'threads': [{'threads': 2, 'median_ms': 1.5, 'q1_ms': 1.25, 'q3_ms': 1.75,"
    " 'min_ms': 1, 'n_samples': 2, 'n_disturbed': 1, 'gflops': 40, 'peak_share': 0.5,"
    " 'session_bytes': 4096, 'peak': {'gflops': 80, 'clock_ghz': 3.5},"
    " 'samples_ms': [1.5, 1.75], 'disturbed_at': [1], 'rounds': [[80, 79, 3.5], [80,"
    " 79, 3.5]],"
    " 'steps': [{'name': 'conv1', 'op': 'conv', 'template': 'conv_direct', 'origin':"
    " 'tuned', 'epilogue': 'bias, relu', 'layout_in': 'NCHW', 'layout_out': 'NCHW16c',"
    " 'multiply_adds': 100, 'flops': 210, 'bytes': 30, 'median_ms': 0.75, 'gflops': 20,"
    " 'peak_share': 0.25}, {'name': 'copy1', 'op': 'copy', 'template': null, 'origin':"
    " null, 'epilogue': null, 'layout_in': null, 'layout_out': null, 'multiply_adds': "
    "0,"
    " 'flops': 0, 'bytes': 8, 'median_ms': 0.25, 'gflops': 0, 'peak_share': 0}],"
    " 'steps_run_ms': 1.75, 'coverage': [{'origin': 'tuned', 'steps': 1, "
    "'multiply_adds': 100, 'ms': 0.75}],"
    " 'baselines': [{'name': 'fast', 'version': '1.2', 'state': 'measured', 'problem':"
    " null, 'max_abs_error': 3e-6, 'median_ms': 3, 'q1_ms': 2.5, 'q3_ms': 3.5,"
    " 'min_ms': 2, 'ratio': {'estimate': 0.5, 'low': 0.4, 'high': 0.6}},"
    " {'name': 'none', 'version': null, 'state': 'absent', 'problem': 'not installed',"
    " 'max_abs_error': 0}]}]}";

static void a_bench_arrives(void **state) {
    (void)state;
    kiln_results_job j = {.threads = 2};
    kiln_results_machine m = {.cores = 2};
    const kiln_results_coverage old = {.origin = "default"};
    kiln_vec_push(kiln_test_arena(), &j.coverage, old); /* the build's */
    take_bench(bench, &j, &m);
    const kiln_results_latency *l = &j.latency;
    assert_true(j.has_latency && l->median_ms == 1.5 && l->q1_ms == 1.25);
    assert_true(l->q3_ms == 1.75 && l->min_ms == 1 && l->gflops == 40);
    assert_true(l->session_bytes == 4096 && j.steps_run_ms == 1.75);
    assert_true(j.open_ms == 6.5);
    assert_true(l->n_samples == 2 && l->n_disturbed == 1 && l->sample_ms.v[1] == 1.75);
    assert_true(l->disturbed_at.n == 1 && l->disturbed_at.v[0] == 1);
    assert_true(j.max_abs_error == 1e-6 && j.rms_error == 2e-7);
    assert_int_equal(j.step.n, 2);
    const kiln_results_step *s = j.step.v;
    assert_string_equal(s[0].epilogue, "bias, relu");
    assert_string_equal(s[0].layout_out, "NCHW16c");
    assert_string_equal(s[0].tmpl, "conv_direct");
    assert_true(s[0].multiply_adds == 100 && s[0].flops == 210 && s[0].bytes == 30);
    assert_true(s[0].median_ms == 0.75 && s[0].gflops == 20);
    /* Shares are of one peak, the machine's, whatever this bench's own was. */
    kiln_results all = {.name = "test"};
    const kiln_results_peak best = {.threads = 2, .gflops = 160};
    kiln_vec_push(kiln_test_arena(), &all.job, j);
    kiln_vec_push(kiln_test_arena(), &all.machine.peak, best);
    kiln_results_derive(kiln_test_arena(), &all);
    assert_true(all.job.v[0].latency.peak_share == 0.25);
    assert_true(all.job.v[0].step.v[0].peak_share == 0.125);
    assert_true(fabs(all.job.v[0].step.v[0].gbs - 30e-6 / 0.75) < 1e-15);
    assert_true(s[1].tmpl == NULL && s[1].epilogue == NULL && s[1].layout_in == NULL);
    assert_int_equal(j.coverage.n, 1);
    assert_string_equal(j.coverage.v[0].origin, "tuned");
    assert_true(j.coverage.v[0].ms == 0.75);
    assert_int_equal(j.baseline.n, 2);
    const kiln_results_baseline *b = j.baseline.v;
    assert_true(b[0].median_ms == 3 && b[0].ratio.estimate == 0.5);
    assert_true(b[0].ratio.low == 0.4 && b[0].ratio.high == 0.6);
    assert_true(b[0].problem == NULL && b[0].implementation == NULL);
    assert_string_equal(b[1].state, "absent");
    assert_string_equal(b[1].problem, "not installed");
    assert_true(b[1].version == NULL && !(b[1].ratio.estimate > 0));
    assert_true(m.peak.n == 1 && m.bandwidth_gbs == 12);
    assert_true(m.peak.v[0].threads == 2 && m.peak.v[0].gflops == 80);
}

static void the_best_peak_is_the_machines(void **state) {
    (void)state;
    kiln_results_machine m = {.cores = 2};
    static const char form[] =
        "{'format': 'kiln-bench-1', 'machine': {'peaks': [{'threads': 1, 'gflops': %d,"
        " 'clock_ghz': 3}]}, 'threads': [{'threads': 1, 'median_ms': 1}]}";
    const int peaks[] = {70, 90, 80};
    for (int i = 0; i < 3; i++) {
        kiln_results_job j = {.threads = 1};
        take_bench(kiln_format(kiln_test_arena(), form, peaks[i]), &j, &m);
    }
    assert_true(m.peak.n == 1 && m.peak.v[0].gflops == 90);
}

static void what_is_wrong_has_no_times(void **state) {
    (void)state;
    kiln_results_job j = {.threads = 1};
    kiln_results_machine m = {.cores = 2};
    take_bench("{'format': 'kiln-bench-1', 'output': {'ok': false, 'max_abs_error': 7},"
               " 'threads': []}",
               &j, &m);
    assert_true(!j.has_latency && j.max_abs_error == 7 && m.peak.n == 0);
}

static void a_build_arrives(void **state) {
    (void)state;
    kiln_results_job j = {.threads = 1};
    kiln_doc_builds d;
    read_into(&kiln_build_document,
              "[{'archive': 'a.zst', 'sha256': 'ab', 'bytes': 99, 'memory':"
              " {'activation_bytes': 10, 'lower_bound_bytes': 8, 'parameter_bytes': 30,"
              " 'workspace_bytes': 4, 'scratch_bytes': 2, 'packed_bytes': 7}, "
              "'coverage_of_all': {'op':"
              " 'all', 'origins': [{'origin': 'tuned', 'steps': 3, 'multiply_adds':"
              " 50}], 'copies': 1}}]",
              &d);
    kiln_nightly_take_build(&d, &j);
    assert_true(j.has_archive && j.archive.bytes == 99);
    assert_string_equal(j.archive.sha256, "ab");
    assert_true(j.memory.activation == 10 && j.memory.lower_bound == 8);
    assert_true(j.memory.parameter == 30 && j.memory.workspace == 4);
    assert_int_equal(j.memory.scratch, 2);
    assert_int_equal(j.memory.packed, 7);
    assert_true(j.coverage.n == 1 && j.coverage.v[0].steps == 3);
    assert_string_equal(j.coverage.v[0].origin, "tuned");
}

static void a_verdict_arrives(void **state) {
    (void)state;
    kiln_results_job j = {.threads = 1};
    kiln_doc_gate d;
    read_into(
        &kiln_gate_document,
        "{'format': 'kiln-gate-1', 'verdict': 'fail', 'series': [{'verdict':"
        " 'fail', 'reason': 'slower', 'pairs': 16, 'slowdown': {'estimate': 0.05,"
        " 'low': 0.04, 'high': 0.06}, 'p': 0.001, 'detectable': 0.012,"
        " 'accepted_sha256': 'cd', 'accepted': {'sha256': 'cd'},"
        " 'changes': ['step x'], 'moved': [{'name': 'x', 'op': 'conv', 'template':"
        " 't', 'origin': 'tuned', 'difference_ms': -0.5}], 'timed':"
        " [{'series': 0, 'candidate_ms': 2.5, 'control_ms': 2}], 'command': 'kiln gate "
        "a'}]}",
        &d);
    kiln_nightly_take_gate(&d, &j);
    const kiln_results_gate *g = &j.gate;
    assert_true(j.has_gate && g->pairs == 16 && g->slowdown.low == 0.04);
    assert_true(g->p == 0.001 && g->detectable == 0.012);
    assert_string_equal(g->accepted_sha256, "cd");
    assert_true(g->change.n == 1 && g->moved.n == 1);
    assert_true(g->moved.v[0].difference_ms == -0.5);
    assert_true(g->timed.n == 1 && g->timed.v[0].candidate_ms == 2.5);
}

static void operators_arrive(void **state) {
    (void)state;
    kiln_results_ops o = {.threads = 1};
    kiln_results_machine m = {.cores = 2};
    kiln_doc_ops d;
    read_into(&kiln_ops_document,
              "{'format': 'kiln-ops-1', 'peak': {'threads': 1, 'gflops': 70,"
              " 'clock_ghz': 3}, 'levels': [{'name': 'L1', 'threads': 1, 'gbs': 300},"
              " {'name': 'memory', 'threads': 1, 'gbs': 20}], 'ops': [{'name': 'C1', "
              "'line': 'conv C1 1 1',"
              " 'template': 't', 'origin': 'table', 'multiply_adds': 5, 'median_ms': 2,"
              " 'gflops': 3, 'peak_share': 0.1, 'config': {'k': 1}, 'baselines':"
              " [{'name': 'lib', 'state': 'measured', 'implementation': 'jit:any',"
              " 'median_ms': 4, 'ratio': {'estimate': 0.5, 'low': 0.4, 'high': 0.6}}]},"
              " {'name': 'C2', 'line': 'conv C2 1 1', 'refusal': 'no'}]}",
              &d);
    kiln_nightly_take_ops(kiln_test_arena(), &d, &o, &m);
    assert_int_equal(o.row.n, 2);
    assert_true(o.row.v[0].median_ms == 2 && o.row.v[0].multiply_adds == 5);
    assert_true(o.row.v[0].baseline.v[0].ratio.estimate == 0.5);
    assert_string_equal(o.row.v[0].baseline.v[0].implementation, "jit:any");
    assert_true(o.row.v[1].median_ms == 0 && o.row.v[1].baseline.n == 0);
    assert_true(m.peak.v[0].gflops == 70);
    /* The best of all lists. */
    read_into(&kiln_ops_document,
              "{'format': 'kiln-ops-1', 'levels': [{'name': 'L1', 'threads': 1, 'gbs':"
              " 250}, {'name': 'L2', 'threads': 1, 'gbs': 90}, {'name': 'memory',"
              " 'threads': 1, 'gbs': 21}]}",
              &d);
    kiln_nightly_take_ops(kiln_test_arena(), &d, &o, &m);
    assert_true(m.level.n == 3 && m.level.v[0].gbs == 300 && m.level.v[1].gbs == 21);
    assert_string_equal(m.level.v[2].name, "L2");
}

/* ---- many verdicts --------------------------------------------------------------- */

typedef struct verdict_row {
    const char *name;
    struct one {
        const char *verdict; /* NULL: no gate */
        int pairs;
        double slowdown, p;
    } job[4];
    const char *want[4]; /* of each */
    const char *all;
    double geomean; /* 0: not known */
} verdict_row;

#define NONE                                                                           \
    { NULL, 0, 0, 0 }

static verdict_row verdicts[] = {
    {"no_gate", {NONE, NONE, NONE, NONE}, {NULL}, NULL, 0},
    {"the_worst_counts",
     {{"equal", 0, 0, 0}, {"pass", 10, 0.01, 0.5}, {"new", 0, 0, 0}, NONE},
     {"equal", "pass", "new", NULL},
     "new",
     0.01},
    {"what_is_invalid_hides_no_failure",
     {{"invalid", 10, 0, 0.5}, {"fail", 16, 0.1, 0.0001}, NONE, NONE},
     {"invalid", "fail", NULL, NULL},
     "fail",
     0.1},
    {"wrong_is_worse_than_slow",
     {{"wrong", 0, 0, 0}, {"fail", 16, 0.1, 0.0001}, {"invalid", 10, 0, 0.5}, NONE},
     {"wrong", "fail", "invalid", NULL},
     "wrong",
     0.1},
    {"invalid_is_worse_than_open",
     {{"invalid", 10, 0, 0.5}, {"inconclusive", 24, 0.01, 0.1}, NONE, NONE},
     {"invalid", "inconclusive", NULL, NULL},
     "invalid",
     0.01},
    {"a_clear_failure_holds",
     {{"fail", 16, 0.21, 0.0001}, {"pass", 10, 0, 0.9}, {"pass", 10, 0, 0.8}, NONE},
     {"fail", "pass", "pass", NULL},
     "fail",
     0.0656},
    {"among_many_it_may_be_chance",
     {{"fail", 16, 0.02, 0.04}, {"pass", 10, 0, 0.9}, {"pass", 10, 0, 0.8}, NONE},
     {"inconclusive", "pass", "pass", NULL},
     "inconclusive",
     0.0066},
};

static void judges(void **state) {
    const verdict_row *r = *state;
    kiln_results all = {.name = "test"};
    int64_t n = 0, counted = 0;
    for (int i = 0; i < 4; i++) {
        const struct one *o = &r->job[i];
        const bool is_timed = o->pairs > 0;
        const kiln_results_job j = {
            .status = i == 3 ? "failed" : "ok",
            .has_gate = o->verdict != NULL,
            .gate = {.verdict = o->verdict,
                     .reason = "so",
                     .pairs = o->pairs,
                     .p = is_timed ? o->p : (double)NAN,
                     .slowdown = {is_timed ? o->slowdown : (double)NAN, 0, 0}}};
        kiln_vec_push(kiln_test_arena(), &all.job, j);
        n += o->verdict != NULL;
    }
    kiln_nightly_judge_all(kiln_test_arena(), &all);
    for (int i = 0; i < 4; i++)
        if (r->want[i] != NULL)
            assert_string_equal(all.job.v[i].gate.verdict, r->want[i]);
    for (int i = 0; i < 3; i++) {
        const char *v = r->want[i] != NULL ? r->want[i] : "";
        assert_string_equal(all.job.v[i].status, strcmp(v, "wrong") == 0  ? "failed"
                                                 : strcmp(v, "fail") == 0 ? "regressed"
                                                 : strcmp(v, "invalid") == 0
                                                     ? "unjudged"
                                                     : "ok");
    }
    assert_string_equal(all.job.v[3].status, "failed");
    if (r->all == NULL)
        assert_null(all.verdict);
    else
        assert_string_equal(all.verdict, r->all);
    for (size_t i = 0; i < all.by_verdict.n; i++)
        counted += all.by_verdict.v[i].n;
    assert_int_equal(counted, n);
    if (r->geomean == 0)
        assert_true(isnan(all.geomean_slowdown.estimate));
    else
        assert_true(fabs(all.geomean_slowdown.estimate - r->geomean) < 1e-3);
}

int main(void) {
    kiln_test_add("a_bench_arrives", a_bench_arrives, NULL);
    kiln_test_add("the_best_peak_is_the_machines", the_best_peak_is_the_machines, NULL);
    kiln_test_add("what_is_wrong_has_no_times", what_is_wrong_has_no_times, NULL);
    kiln_test_add("a_build_arrives", a_build_arrives, NULL);
    kiln_test_add("a_verdict_arrives", a_verdict_arrives, NULL);
    kiln_test_add("operators_arrive", operators_arrive, NULL);
    kiln_test_add_rows(judges, verdicts);
    return kiln_test_run("nightly collect");
}
