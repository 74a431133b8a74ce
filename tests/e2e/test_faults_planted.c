/* Mistakes that kiln makes on purpose (base/faults.def): building a model in which one
 * shows must end with exit code 5, say where, and leave no archive; and what reducing
 * leaves of a network of forty nodes is small. Only builds with assertions have the
 * faults; without them these tests are skipped.
 *
 * Under a sanitizer every third fault is tried. KILN_SOAK=1 reduces the network for
 * each fault that shows in it. */
#include "base/fault.h"
#include "compiler/frontend/frontend.h"
#include "pipeline/kernels/kernels.h"
#include "tests/support/program/cli_run.h"
#include "tests/support/model/fault_models.h"

#include <stdlib.h>
#include <string.h>

#define PROFILE "x86-avx2"

/* What finds it, by what the message then holds. */
typedef enum finder {
    BY_STEP,      /* a step's result against the reference, or what it reads */
    BY_STRUCTURE, /* steps held against one another, before anything runs */
    BY_TEMPLATE,  /* what a template made against what the workload is */
    BY_PROGRAM,   /* the verifier of loop programs */
    BY_SELF_TEST, /* the outputs alone */
    BY_ANY        /* memory is overwritten: who notices first is chance */
} finder;

static const char *const found[] = {[BY_STEP] = "step '",
                                    [BY_STRUCTURE] = "while holding the steps of '",
                                    [BY_TEMPLATE] = "while holding template '",
                                    [BY_PROGRAM] = "while verifying program '",
                                    [BY_SELF_TEST] =
                                        "error: self-test, 1 thread: output",
                                    [BY_ANY] = "error: "};

typedef struct row {
    const char *name, *model;
    finder by;
    const char *step; /* BY_STEP: which */
} row;

static row rows[] = {
    {"conv_stride", "conv_s2", BY_STEP, "step 'conv'"},
    {"conv_dilation", "conv_dil", BY_STEP, "step 'conv'"},
    {"conv_group", "conv_grp", BY_STEP, "step 'conv'"},
    {"conv_bias", "conv_bias", BY_STEP, "step 'conv + relu'"},
    {"max_pool_padding", "max_pool", BY_STEP, "step 'max_pool'"},
    {"avg_pool_count", "avg_pool", BY_STEP, "step 'avg_pool'"},
    {"window_last_tap", "max_pool", BY_STEP, "step 'max_pool'"},
    {"softmax_max", "softmax", BY_STEP, "step 'softmax'"},
    {"softmax_sum", "softmax", BY_STEP, "step 'softmax'"},
    {"norm_epsilon", "layer_norm", BY_STEP, "step 'layer_norm'"},
    {"norm_mean", "layer_norm", BY_STEP, "step 'layer_norm'"},
    {"reduce_mean_count", "reduce_mean", BY_STEP, "step 'reduce_mean'"},
    {"gather_clamp", "gather", BY_STEP, "step 'gather'"},
    {"argmax_tie", "argmax", BY_STEP, "step 'argmax'"},
    {"topk_order", "topk", BY_STEP, "step 'topk'"},
    {"transpose_inverse", "transpose", BY_STEP, "step 'transpose'"},
    {"broadcast_axis", "broadcast", BY_STEP, "step 'add'"},
    {"matmul_batch", "matmul_b", BY_STEP, "step 'matmul'"},
    {"matmul_last_term", "matmul", BY_STEP, "step 'matmul + add + relu'"},
    {"gemm_transpose", "gemm", BY_STEP, "step 'gemm'"},
    {"gemm_beta", "gemm", BY_STEP, "step 'gemm'"},
    {"lstm_gates", "lstm", BY_SELF_TEST, NULL},
    {"quantize_round", "quantize", BY_STEP,
     "step 'quantize_linear + dequantize_linear'"},
    {"quantize_saturation", "quantize", BY_STEP,
     "step 'quantize_linear + dequantize_linear'"},
    {"dequantize_zero", "quantize", BY_STEP,
     "step 'quantize_linear + dequantize_linear'"},
    {"concat_order", "concat", BY_STEP, "step 'concat + neg'"},
    {"slice_start", "slice", BY_STEP, "step 'slice + neg'"},
    {"pad_end", "pad", BY_STEP, "step 'pad + neg'"},
    {"relu_dropped", "matmul", BY_STEP, "step 'matmul + add + relu'"},
    {"add_operand", "add", BY_STEP, "step 'add'"},
    {"where_swapped", "where", BY_STEP, "step 'where'"},
    {"half_accumulator", "matmul_f16", BY_STEP, "step 'matmul'"},
    {"max_identity", "reduce_max", BY_SELF_TEST, NULL},
    {"tail_guard", "tails", BY_STEP, "step 'conv + exp'"},
    {"exp_coefficient", "exp", BY_STEP, "step 'exp'"},
    {"tanh_sign", "tanh", BY_STEP, "step 'tanh'"},
    {"erf_near", "erf", BY_STEP, "step 'erf'"},
    {"bf16_truncated", "bf16", BY_STEP, "step 'cast'"},
    {"lane_order", "exp", BY_STEP, "step 'exp'"},
    {"parallel_last", "conv_big", BY_STEP, "step 'conv + relu'"},
    {"workspace_overlap", "lstm", BY_ANY, NULL},
    {"workspace_size", "lstm", BY_ANY, NULL},
    {"scratch_overlap", "conv_big", BY_ANY, NULL},
    {"scratch_shared", "conv_big", BY_ANY, NULL},
    {"region_short", "conv_big", BY_PROGRAM, NULL},
    {"rfactor_partial", "wide_dot", BY_STEP, "step 'matmul'"},
    {"split_extent", "matmul", BY_STEP, "step 'matmul + add + relu'"},
    {"reduction_start", "matmul", BY_STEP, "step 'matmul + add + relu'"},
    {"guard_dropped", "matmul", BY_PROGRAM, NULL},
    {"partition_tail", "conv_bias", BY_STEP, "step 'convert x'"},
    {"partition_branch", "matmul", BY_PROGRAM, NULL},
    {"vector_mask", "slice", BY_PROGRAM, NULL},
    {"unroll_last", "matmul", BY_STEP, "step 'matmul + add + relu'"},
    {"flat_stride", "matmul", BY_STEP, "step 'matmul + add + relu'"},
    {"winograd_taps", "wino", BY_STEP, "step 'conv'"},
    {"fused_operands", "fused", BY_SELF_TEST, NULL},
    {"view_inside", "split", BY_STRUCTURE, NULL},
    {"in_place_early", "in_place", BY_STRUCTURE, NULL},
    {"liveness_short", "live", BY_STRUCTURE, NULL},
    {"plan_overlap", "live", BY_STRUCTURE, NULL},
    {"loop_liveness", "scan", BY_STRUCTURE, NULL},
    {"pack_first_run", "pack", BY_STEP, "step 'conv'"},
    {"if_swapped", "if", BY_SELF_TEST, NULL},
    {"loop_count", "scan", BY_STRUCTURE, NULL},
    {"scan_state", "scan", BY_SELF_TEST, NULL},
    {"conversion_skipped", "convert", BY_STEP, "step 'conv'"},
    {"part_offset", "split", BY_STEP, "step 'softmax.1'"},
    {"kernel_key", "keys", BY_STRUCTURE, NULL},
    {"output_copy", "twice", BY_STRUCTURE, NULL},
    {"operand_swapped", "sub", BY_STEP, "step 'sub'"},
    {"param_offset", "params", BY_STEP, "step 'matmul.1'"},
    {"param_stale", "params", BY_STEP, "step 'matmul.1'"},
    {"device_wait", "scan", BY_STRUCTURE, NULL},
    {"device_copy", "scan", BY_STRUCTURE, NULL},
    {"open_param", "params", BY_STRUCTURE, NULL},
    {"merged_layout", "merged", BY_TEMPLATE, NULL},
    {"archive_params", "params", BY_STEP, "step 'matmul'"},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* ---- running --------------------------------------------------------------------- */

enum { MAX_ARGS = 16 };

static void need_faults(void) {
#ifdef NDEBUG
    kiln_test_skip("a release build has no planted faults");
#endif
    kiln_arena *a = kiln_test_arena();
    kiln_profile p;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_profile_find(a, PROFILE, &p, &err), &err);
    if (kiln_runs_here(&p, &err) != KILN_OK)
        kiln_test_skip("this machine does not run " PROFILE);
    if (getenv("KILN") == NULL)
        kiln_test_skip("KILN does not name the program");
}

/* KILN with the fault planted; NULL: with none. */
static kiln_process_result run(const char *fault, const char *fired,
                               const char *const *arg) {
    kiln_arena *a = kiln_test_arena();
    const char *argv[MAX_ARGS] = {getenv("KILN")};
    const char *env[] = {
        kiln_format(a, "KILN_FAULT=%s", fault != NULL ? fault : ""),
        kiln_format(a, "KILN_FAULT_FIRED=%s", fired != NULL ? fired : "/dev/null"),
        NULL};
    kiln_process_result r;
    kiln_err err = {0};
    for (int i = 0; arg[i] != NULL; i++) {
        assert_true(i + 2 < MAX_ARGS);
        argv[i + 1] = arg[i];
    }
    const kiln_process_options o = {
        .argv = argv, .env = env, .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(a, &o, &r, &err), &err);
    assert_int_equal(r.end, KILN_PROCESS_EXITED);
    return r;
}

static const char *file_of(const char *dir, const char *name) {
    return kiln_path_join(kiln_test_arena(), dir, name);
}

static const char *write_model(const char *dir, const char *name) {
    const kiln_fault_model *m = kiln_fault_model_of(name);
    const char *path = file_of(dir, kiln_format(kiln_test_arena(), "%s.kgraph", name));
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, m->text, strlen(m->text), &err), &err);
    return path;
}

/* option NULL: none more; else with its value. */
static kiln_process_result build_with(const char *fault, const char *dir,
                                      const char *model, const char *option,
                                      const char *value) {
    const char *const arg[] = {
        "build",      model,         "--profile", PROFILE,
        "--no-ready", "--no-reduce", "-o",        file_of(dir, "made.kiln.tar.zst"),
        option,       value,         NULL};
    return run(fault, file_of(dir, "fired"), arg);
}

static kiln_process_result build(const char *fault, const char *dir,
                                 const char *model) {
    return build_with(fault, dir, model, NULL, NULL);
}

/* Of what is done when a model is opened, or for another device. */
static kiln_process_result build_for(const char *fault, const char *dir,
                                     const char *model) {
    return strncmp(fault, "open_", 5) == 0
               ? build_with(fault, dir, model, "--pack", "open")
           : strncmp(fault, "device_", 7) == 0
               ? build_with(fault, dir, model, "--place", "exp=host2")
               : build(fault, dir, model);
}

static void must_hold(const kiln_process_result *r, const char *text) {
    if (strstr(r->err.p, text) == NULL)
        fail_msg("stderr must hold '%s', is: %s", text, r->err.p);
}

/* ---- found ----------------------------------------------------------------------- */

/* A new folder has the model and what tells of the fault, and nothing more. */
static void check_row(void **state) {
    const row *w = *state;
    kiln_arena *a = kiln_test_arena();
    const char *dir = kiln_test_dir();
    kiln_err err = {0};
    kiln_str fired;
    char **name;
    size_t n = 0;
    if (kiln_test_is_sanitized() && getenv("KILN_SOAK") == NULL && (w - rows) % 3 != 0)
        kiln_test_skip("every third is enough under a sanitizer");
    if (kiln_test_is_sanitized() && w->by == BY_ANY)
        kiln_test_skip("a sanitizer in the runner says what it wants of this");
    need_faults();
    const kiln_process_result r = build_for(w->name, dir, write_model(dir, w->model));
    kiln_assert_status_ok(kiln_file_map(a, file_of(dir, "fired"), 0, &fired, &err),
                          &err);
    assert_true(kiln_str_is(fired, w->name));
    if (r.code != 5)
        fail_msg("exit code %d: %s%s", r.code, r.out.p, r.err.p);
    must_hold(&r, found[w->by]);
    if (w->step != NULL)
        must_hold(&r, w->step);
    kiln_assert_status_ok(kiln_dir_list(a, dir, &name, &n, &err), &err);
    assert_int_equal(n, 2);
}

/* Without the fault nothing is wrong: the network, and every fourth of the others. */
static void check_models(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    need_faults();
    for (size_t i = 0; i < kiln_n_fault_models; i++) {
        const bool is_last = i + 1 == kiln_n_fault_models;
        if (getenv("KILN_SOAK") == NULL && i % 4 != 0 && !is_last)
            continue;
        const kiln_process_result r =
            build(NULL, dir, write_model(dir, kiln_fault_models[i].name));
        if (r.code != 0)
            fail_msg("'%s' ends with exit code %d: %s", kiln_fault_models[i].name,
                     r.code, r.err.p);
    }
}

/* Each fault has its row here. */
static void check_table(void **state) {
    (void)state;
    assert_int_equal(N_ROWS, KILN_N_FAULTS);
    for (int i = 0; i < KILN_N_FAULTS; i++) {
        bool has_row = false;
        for (size_t k = 0; k < N_ROWS; k++)
            has_row = has_row || strcmp(rows[k].name, kiln_fault_at(i)->name) == 0;
        if (!has_row)
            fail_msg("fault '%s' has no row", kiln_fault_at(i)->name);
    }
}

static void check_unknown(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    need_faults();
    const kiln_process_result r = build("no_such", dir, write_model(dir, "matmul"));
    assert_int_equal(r.code, 5);
    must_hold(&r, "KILN_FAULT names 'no_such', which is no row of faults.def");
}

/* ---- reduced --------------------------------------------------------------------- */

static size_t nodes_of(const char *path) {
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_import(kiln_test_arena(), path, NULL, &g, NULL, &err),
                          &err);
    return g->nodes.n;
}

/* How many nodes are left of the network; -1: the fault does not show in it. */
static int reduced(const char *fault, const char *dir) {
    const char *to = file_of(dir, "small.kgraph");
    const char *const arg[] = {
        "reduce", write_model(dir, "net"), "--profile", PROFILE, "--no-ready", "-o",
        to,       "--time-limit",          "10m",       NULL};
    const kiln_process_result r = run(fault, NULL, arg);
    if (r.code == 1)
        return -1;
    if (r.code != 0)
        fail_msg("'%s': exit code %d: %s", fault, r.code, r.err.p);
    assert_int_equal(build(fault, dir, to).code, 5);
    assert_int_equal(build(NULL, dir, to).code, 0);
    return (int)nodes_of(to);
}

static void check_reduced(void **state) {
    (void)state;
    static const char *const some[] = {"conv_dilation", "softmax_max"};
    need_faults();
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        assert_in_range(reduced(some[i], kiln_test_dir()), 1, 2);
}

static void check_all_reduced(void **state) {
    (void)state;
    int n_shown = 0, n_small = 0;
    if (getenv("KILN_SOAK") == NULL)
        kiln_test_skip("takes many minutes; KILN_SOAK=1 asks for it");
    need_faults();
    for (size_t i = 0; i < N_ROWS; i++) {
        const int n = reduced(rows[i].name, kiln_test_dir());
        n_shown += n >= 0;
        n_small += n >= 0 && n <= 5;
        print_message("%s: %d nodes\n", rows[i].name, n);
    }
    print_message("%d of %d faults show in the network, %d end at 5 nodes or less\n",
                  n_shown, (int)N_ROWS, n_small);
    assert_true(n_small >= 60);
}

/* A build that fails leaves an example by itself. */
static void check_left_behind(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    const char *const arg[] = {
        "build", write_model(dir, "matmul"),        "--profile", PROFILE, "--no-ready",
        "-o",    file_of(dir, "made.kiln.tar.zst"), NULL};
    need_faults();
    const kiln_process_result r = run("relu_dropped", NULL, arg);
    assert_int_equal(r.code, 5);
    must_hold(&r, "a small example of it, of 1 node: kiln build ");
    assert_int_equal(nodes_of(file_of(dir, "matmul.reproducer.kgraph")), 1);
    assert_false(kiln_file_exists(file_of(dir, "made.kiln.tar.zst")));
}

/* Nothing to reduce: also in release builds. */
static void check_right(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    const char *const arg[] = {"reduce", write_model(dir, "matmul"), "-o",
                               file_of(dir, "small.kgraph"), NULL};
    if (getenv("KILN") == NULL)
        kiln_test_skip("KILN does not name the program");
    const kiln_process_result r = run(NULL, NULL, arg);
    assert_int_equal(r.code, 1);
    assert_non_null(strstr(r.out.p, "matmul.kgraph' does not fail"));
    assert_false(kiln_file_exists(file_of(dir, "small.kgraph")));
}

int main(void) {
    kiln_test_own_home();
    kiln_test_add("the_table_is_covered", check_table, NULL);
    kiln_test_add("models_are_right_without_faults", check_models, NULL);
    kiln_test_add("unknown_fault_is_refused", check_unknown, NULL);
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("nothing_fails_nothing_is_left", check_right, NULL);
    kiln_test_add("network_is_reduced", check_reduced, NULL);
    kiln_test_add("build_leaves_a_small_example", check_left_behind, NULL);
    kiln_test_add("network_is_reduced_for_every_fault", check_all_reduced, NULL);
    return kiln_test_run("faults_planted");
}
