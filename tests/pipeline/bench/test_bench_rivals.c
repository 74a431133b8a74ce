/* Baselines beside a network: who is given which file, and when their outputs are right. */
#include "pipeline/bench/bench.h"
#include "tests/support/measuring/fake_baseline.h"
#include "tests/support/measuring/support_subject.h"
#include "zoo/onnx_write.h"

#include <string.h>

/* ---- files ---------------------------------------------------------------------- */

/* One that reads neither the model's file nor what is exported of it is not asked, and
 * nothing is missing; one that reads ONNX runs that. */
static void gives_what_is_exported(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *path = kiln_path_join(a, kiln_test_dir(), "above.kgraph");
    const char *right = kiln_path_join(a, kiln_test_dir(), "right.npy");
    const char *asked = kiln_path_join(a, kiln_test_dir(), "asked.txt");
    const kiln_str graph =
        kiln_str_from("graph \"above\" {\n  input %x : f32[4,8]\n"
                      "  %y = relu(%x) : f32[4,8] \"above\"\n  output %y\n}\n");
    kiln_err err = {0};
    kiln_str request;
    kiln_assert_status_ok(kiln_file_write(path, graph.p, graph.n, &err), &err);
    const kiln_subject s = kiln_test_subject(path);
    const kiln_baseline *const *list;
    static const int threads[] = {1};
    kiln_assert_status_ok(kiln_baselines_parse(a, "onnxruntime,litert",
                                               KILN_BASELINE_MODELS, &list, &err),
                          &err);
    kiln_assert_status_ok(kiln_tensor_write_npy(right, &s.want[0].value, &err), &err);
    const kiln_net_bench_options o = {
        .threads = threads,
        .n_threads = 1,
        .rounds = 1,
        .baseline = list,
        .baselines_dir = kiln_test_fake_baseline(
            kiln_format(a,
                        "case $line in *load*) echo \"$line\" >%s; give %s;; *) "
                        "sample;; esac",
                        asked, right)),
        .baselines_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_net_bench b;
    kiln_assert_status_ok(kiln_net_bench_run(a, &s, &o, &b, &err), &err);
    const kiln_rival *v = b.side.v[0].rival.v;
    assert_int_equal(v[0].state, KILN_RIVAL_MEASURED);
    assert_string_equal(v[0].file, "above.onnx, exported");
    kiln_assert_status_ok(kiln_file_map(a, asked, 1 << 20, &request, &err), &err);
    assert_non_null(strstr(kiln_str_dupv(a, request), "/above.onnx\""));
    assert_int_equal(v[1].state, KILN_RIVAL_ABSENT);
    assert_string_equal(v[1].reason,
                        "it reads files of tflite, and 'above.kgraph' is of graph");
    assert_true(kiln_net_bench_is_compared(&b));
}

/* One list for files of all formats: each is given those that it reads. */
static void gives_each_the_files_it_reads(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *file = kiln_path_join(a, kiln_test_dir(), "labels.npy");
    const kiln_subject s = kiln_test_subject(kiln_test_shared(
        "models/files/micro_speech_int8_tflite/micro_speech_quantized.tflite"));
    const kiln_baseline *const *list;
    static const int threads[] = {1};
    kiln_net_bench b;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_baselines_parse(a, "onnxruntime,litert",
                                               KILN_BASELINE_MODELS, &list, &err),
                          &err);
    assert_null(s.want[0].at);
    kiln_assert_status_ok(kiln_tensor_write_npy(file, &s.want[0].value, &err), &err);
    const kiln_net_bench_options o = {
        .threads = threads,
        .n_threads = 1,
        .rounds = 1,
        .baseline = list,
        .baselines_dir = kiln_test_fake_baseline(
            kiln_format(a, "case $line in *load*) give %s;; *) sample;; esac", file)),
        .baselines_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_net_bench_run(a, &s, &o, &b, &err), &err);
    const kiln_rival *v = b.side.v[0].rival.v;
    assert_int_equal(v[0].state, KILN_RIVAL_MEASURED);
    assert_string_equal(v[0].file, "micro_speech_quantized.onnx, exported");
    assert_int_equal(v[1].state, KILN_RIVAL_MEASURED);
    assert_string_equal(v[1].file, "micro_speech_quantized.tflite");
    assert_true(kiln_net_bench_is_compared(&b));
}

/* ---- quantised outputs ----------------------------------------------------------- */

/* y: x the other way round, in integers of 8 bits. */
static kiln_subject quantised_subject(void) {
    enum { INT8 = 3 }; /* TensorProto.DataType */
    kiln_arena *a = kiln_test_arena();
    const char *path = kiln_path_join(a, kiln_test_dir(), "turned.onnx");
    kiln_onnx_writer w;
    kiln_err err = {0};
    kiln_onnx_writer_init(&w, a, "turned");
    kiln_onnx_put_input(&w, "x", INT8, "4,5");
    kiln_onnx_put_node(&w, "Transpose", "turn", "x", "y");
    kiln_onnx_put_output(&w, "y", INT8, "5,4");
    const kiln_str bytes = kiln_onnx_finish_model(&w, 8, 17);
    kiln_assert_status_ok(kiln_file_write(path, bytes.p, bytes.n, &err), &err);
    return kiln_test_subject(path);
}

typedef struct step_row {
    const char *name;
    int steps; /* that one element is off */
    kiln_rival_state want;
} step_row;

static step_row step_rows[] = {
    {"takes_quantised_outputs", 0, KILN_RIVAL_MEASURED},
    {"takes_one_a_step_off", 1, KILN_RIVAL_MEASURED},
    {"says_one_two_steps_off", 2, KILN_RIVAL_WRONG},
};

/* Its first output, to be changed. */
static kiln_tensor copy_of_wanted(const kiln_subject *s) {
    kiln_tensor t = s->want[0].value;
    assert_null(s->want[0].at);
    t.data = kiln_arena_dup(kiln_test_arena(), t.data, kiln_type_bytes(&t.type));
    return t;
}

/* Beside a baseline that gives `t`, at 1 up to so many threads. */
static void bench_beside(const kiln_subject *s, const kiln_tensor *t, int n_threads,
                         kiln_net_bench *out) {
    static const int threads[] = {1, 2};
    kiln_arena *a = kiln_test_arena();
    const char *file = kiln_path_join(a, kiln_test_dir(), "given.npy");
    const kiln_baseline *const list[] = {kiln_baseline_at(0), NULL};
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_tensor_write_npy(file, t, &err), &err);
    const kiln_net_bench_options o = {
        .threads = threads,
        .n_threads = n_threads,
        .rounds = 1,
        .baseline = list,
        .baselines_dir = kiln_test_fake_baseline(
            kiln_format(a, "case $line in *load*) give %s;; *) sample;; esac", file)),
        .baselines_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_net_bench_run(a, s, &o, out, &err), &err);
}

/* Kiln itself is held to every bit, others to a step. */
static void check_steps(void **state) {
    const step_row *r = *state;
    const kiln_subject s = quantised_subject();
    kiln_net_bench b;
    kiln_tensor t = copy_of_wanted(&s);
    int8_t *first = t.data;
    *first = (int8_t)(*first + (*first > 0 ? -r->steps : r->steps));
    bench_beside(&s, &t, 1, &b);
    const kiln_rival *v = &b.side.v[0].rival.v[0];
    print_message("%s\n", v->reason);
    assert_int_equal(v->state, r->want);
    assert_true(v->max_abs == r->steps);
}

/* ---- what is less exact elsewhere ------------------------------------------------ */

/* y: of logistic functions of -60 to 60. */
static kiln_subject gates_subject(void) {
    kiln_arena *a = kiln_test_arena();
    const char *path = kiln_path_join(a, kiln_test_dir(), "gates.kgraph");
    const kiln_str graph = kiln_str_from(
        "graph \"gates\" {\n  input %x : f32[4,100]\n  const %s : f32[] = {60}\n"
        "  %m = mul(%x, %s) : f32[4,100] \"m\"\n"
        "  %y = sigmoid(%m) : f32[4,100] \"y\"\n  output %y\n}\n");
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, graph.p, graph.n, &err), &err);
    return kiln_test_subject(path);
}

typedef struct gate_row {
    const char *name;
    float below, off; /* results below this are 0; others are off by so much */
    kiln_rival_state want;
} gate_row;

static gate_row gate_rows[] = {
    {"takes_zeros_of_gates_that_are_all_but_shut", 1.6e-8F, 0, KILN_RIVAL_MEASURED},
    {"says_zeros_of_gates_that_are_not", 1e-4F, 0, KILN_RIVAL_WRONG},
    {"says_gates_that_are_off", 0, 1e-5F, KILN_RIVAL_WRONG},
};

static void check_gates(void **state) {
    const gate_row *r = *state;
    const kiln_subject s = gates_subject();
    kiln_net_bench b;
    kiln_tensor t = copy_of_wanted(&s);
    float *y = t.data;
    int n_zero = 0;
    for (int64_t i = 0; i < kiln_type_elems(&t.type); i++) {
        n_zero += y[i] < r->below;
        y[i] = y[i] < r->below ? 0 : y[i] + r->off;
    }
    assert_true(r->below == 0 || n_zero > 0);
    bench_beside(&s, &t, 2, &b);
    assert_int_equal(b.check.outcome, KILN_PASSED);
    for (size_t i = 0; i < b.side.n; i++) {
        print_message("%s\n", b.side.v[i].rival.v[0].reason);
        assert_int_equal(b.side.v[i].rival.v[0].state, r->want);
    }
}

int main(void) {
    kiln_test_add("gives_what_is_exported", gives_what_is_exported, NULL);
    kiln_test_add("gives_each_the_files_it_reads", gives_each_the_files_it_reads, NULL);
    kiln_test_add_rows(check_steps, step_rows);
    kiln_test_add_rows(check_gates, gate_rows);
    return kiln_test_run("rivals");
}
