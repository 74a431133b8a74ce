/* Models as people bring them: odd names, types that numpy does not know. KILN names
 * the program; "@x" in an argument is a file in the test's folder. */
#include "tests/support/program/cli_run.h"
#include "tests/support/model/onnx_writer.h"

#include "compiler/frontend/frontend.h"

#include <stdlib.h>
#include <string.h>

static const char *folder(void) {
    static const char *dir;
    if (dir == NULL)
        dir = kiln_test_dir();
    return dir;
}

static const char *file(const char *name) {
    return kiln_path_join(kiln_test_arena(), folder(), name);
}

static void write_model(kiln_onnx_writer *m, const char *name) {
    kiln_err err = {0};
    const kiln_str bytes = kiln_onnx_finish_model(m, 8, 17);
    kiln_assert_status_ok(kiln_file_write(file(name), bytes.p, bytes.n, &err), &err);
}

/* Two inputs and three outputs that no file could be called after. */
static void make_odd_names(void) {
    enum { BFLOAT16 = 16 };
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, kiln_test_arena(), "odd");
    kiln_onnx_put_input(&m, "in:0/a=b", KILN_ONNX_FLOAT, "4");
    kiln_onnx_put_input(&m, "half", BFLOAT16, "2");
    kiln_onnx_put_node(&m, "Relu", "", "in:0/a=b", "337");
    kiln_onnx_put_node(&m, "Neg", "", "in:0/a=b", "onnx::Gather_334");
    kiln_onnx_put_node(&m, "Neg", "", "half", "b\x1b[31m");
    kiln_onnx_put_output(&m, "337", KILN_ONNX_FLOAT, "4");
    kiln_onnx_put_output(&m, "onnx::Gather_334", KILN_ONNX_FLOAT, "4");
    kiln_onnx_put_output(&m, "b\x1b[31m", BFLOAT16, "2");
    write_model(&m, "odd.onnx");
}

/* An image of any size; with an operator that nobody knows, or not. */
static void make_dynamic(const char *name, bool is_known) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, kiln_test_arena(), "g");
    kiln_onnx_put_input(&m, "x\x1b[31m", KILN_ONNX_FLOAT, "batch,3,height,width");
    kiln_onnx_put_node(&m, is_known ? "Relu" : "Frobnicate", "", "x\x1b[31m", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "batch,3,height,width");
    write_model(&m, name);
}

/* A sample rate that no branch fits but one. */
static void make_choice(void) {
    static const int64_t rate[] = {16000};
    kiln_arena *const a = kiln_test_arena();
    kiln_onnx_writer m, yes, no;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_writer_init(&yes, a, "yes");
    kiln_onnx_writer_init(&no, a, "no");
    kiln_onnx_put_node(&yes, "Relu", "", "x", "p");
    kiln_onnx_put_output(&yes, "p", KILN_ONNX_FLOAT, NULL);
    kiln_onnx_put_node(&no, "Gemm", "", "x,x", "q");
    kiln_onnx_put_output(&no, "q", KILN_ONNX_FLOAT, NULL);
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "1,2,n");
    kiln_onnx_put_input(&m, "sr", KILN_ONNX_INT64, "");
    kiln_onnx_put_initializer(&m, kiln_onnx_int64_tensor(a, "rate", "", rate, 1));
    kiln_onnx_put_node(&m, "Equal", "", "sr,rate", "cond");
    kiln_onnx_put_node(&m, "If", "choice", "cond", "y");
    kiln_onnx_put_attr_graph(&m, "then_branch", kiln_onnx_finish_graph(&yes));
    kiln_onnx_put_attr_graph(&m, "else_branch", kiln_onnx_finish_graph(&no));
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, NULL);
    write_model(&m, "choice.onnx");
}

static void write_floats(const char *name, const float *v, int64_t n) {
    kiln_err err = {0};
    const kiln_type type = kiln_type_make(KILN_F32, 1, &n);
    const kiln_tensor t = {type, (void *)(uintptr_t)v};
    kiln_assert_status_ok(kiln_tensor_write_npy(file(name), &t, &err), &err);
}

/* A kilobyte that asks for gigabytes: a constant that is concatenated with itself, and
 * one that is added up again and again. */
static void make_hostile(const char *name, bool doubles, int n_steps) {
    static const int64_t shape[] = {4 << 20};
    kiln_arena *const a = kiln_test_arena();
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "1");
    kiln_onnx_put_initializer(&m, kiln_onnx_int64_tensor(a, "s", "1", shape, 1));
    kiln_onnx_put_node(&m, "ConstantOfShape", "", "s", "v0");
    for (int i = 0; i < n_steps; i++) {
        const char *from = kiln_format(a, "v%d", i);
        const char *to = kiln_format(a, "v%d", i + 1);
        const char *twice = kiln_format(a, "%s,%s", from, from);
        kiln_onnx_put_node(&m, doubles ? "Concat" : "Mul", "", twice, to);
        if (doubles)
            kiln_onnx_put_attr_int(&m, "axis", 0);
    }
    kiln_onnx_put_node(&m, "ReduceSum", "", kiln_format(a, "v%d", n_steps), "sum");
    kiln_onnx_put_node(&m, "Add", "", "x,sum", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, NULL);
    write_model(&m, name);
}

/* Cases of a model of which one input is fixed in its package: with that value, and
 * with another. */
static void make_golden(void) {
    static const char text[] =
        "{\"cases\": ["
        "{\"inputs\": [{\"name\": \"x\", \"gen\": {\"kind\": \"const\", \"value\": 3}, "
        "\"dtype\": \"float32\", \"shape\": [1, 2, 2]}, {\"name\": \"sr\", \"gen\": "
        "{\"kind\": \"const\", \"value\": 16000}, \"dtype\": \"int64\", \"shape\": "
        "[]}], "
        "\"outputs\": [{\"name\": \"y\", \"npy\": \"y.npy\", \"dtype\": \"float32\", "
        "\"shape\": [1, 2, 2]}]},"
        "{\"inputs\": [{\"name\": \"x\", \"gen\": {\"kind\": \"const\", \"value\": 3}, "
        "\"dtype\": \"float32\", \"shape\": [1, 2, 2]}, {\"name\": \"sr\", \"gen\": "
        "{\"kind\": \"const\", \"value\": 8000}, \"dtype\": \"int64\", \"shape\": "
        "[]}], "
        "\"outputs\": [{\"name\": \"y\", \"npy\": \"y.npy\", \"dtype\": \"float32\", "
        "\"shape\": [1, 2, 2]}]}]}";
    static const float y[] = {3, 3, 3, 3};
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_dir_make(file("golden"), &err), &err);
    kiln_assert_status_ok(
        kiln_file_write(file("golden/golden.json"), text, sizeof text - 1, &err), &err);
    const kiln_type type = kiln_type_make(KILN_F32, 3, (const int64_t[]){1, 2, 2});
    const kiln_tensor t = {type, (void *)(uintptr_t)y};
    kiln_assert_status_ok(kiln_tensor_write_npy(file("golden/y.npy"), &t, &err), &err);
}

/* The positive elements of x, and where they are: 1 and 3 of 1, -2, 3, -4. */
static void make_picked(void) {
    static const char text[] =
        "{\"cases\": [{\"inputs\": [{\"name\": \"x\", \"npy\": \"x.npy\", \"dtype\": "
        "\"float32\", \"shape\": [4]}], \"outputs\": [{\"name\": \"y\", \"npy\": "
        "\"y.npy\", \"dtype\": \"float32\", \"shape\": [2]}, {\"name\": \"at\", "
        "\"npy\": \"at.npy\", \"dtype\": \"int64\", \"shape\": [1, 2]}]}]}";
    static const float zero, x[] = {1, -2, 3, -4}, y[] = {1, 3};
    static const int64_t at[] = {0, 2};
    kiln_arena *const a = kiln_test_arena();
    const kiln_type type = kiln_type_make(KILN_I64, 2, (const int64_t[]){1, 2});
    const kiln_tensor places = {type, (void *)(uintptr_t)at};
    kiln_err err = {0};
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "4");
    kiln_onnx_put_initializer(
        &m, kiln_onnx_raw_tensor(a, "zero", KILN_ONNX_FLOAT, "", &zero, sizeof zero));
    kiln_onnx_put_node(&m, "Greater", "", "x,zero", "is");
    kiln_onnx_put_node(&m, "NonZero", "", "is", "at");
    kiln_onnx_put_node(&m, "Transpose", "", "at", "rows");
    kiln_onnx_put_node(&m, "GatherND", "", "x,rows", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "n");
    kiln_onnx_put_output(&m, "at", KILN_ONNX_INT64, "1,n");
    write_model(&m, "picked.onnx");
    kiln_assert_status_ok(kiln_dir_make(file("places"), &err), &err);
    kiln_assert_status_ok(
        kiln_file_write(file("places/golden.json"), text, sizeof text - 1, &err), &err);
    write_floats("places/x.npy", x, 4);
    write_floats("places/y.npy", y, 2);
    kiln_assert_status_ok(kiln_tensor_write_npy(file("places/at.npy"), &places, &err),
                          &err);
}

/* A rate that training sets, without a shape, as frozen graphs of TensorFlow have it. */
static void make_setting(void) {
    kiln_onnx_writer m;
    kiln_err err = {0};
    kiln_onnx_writer_init(&m, kiln_test_arena(), "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "n,3");
    kiln_onnx_put_input(&m, "keep_prob", KILN_ONNX_FLOAT, NULL);
    kiln_onnx_put_node(&m, "Div", "", "x,keep_prob", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "n,3");
    const kiln_str bytes = kiln_onnx_finish_model(&m, 8, 17);
    kiln_assert_status_ok(kiln_file_write(file("setting.onnx"), bytes.p, bytes.n, &err),
                          &err);
}

static void make_files(void **state) {
    static const float x[] = {1, -2, 3, -4}, half[] = {1.5f, 1.001f};
    (void)state;
    make_odd_names();
    make_dynamic("dynamic.onnx", true);
    make_dynamic("unknown.onnx", false);
    make_choice();
    make_setting();
    make_golden();
    make_picked();
    make_hostile("doubles.onnx", true, 9);
    make_hostile("repeats.onnx", false, 40);
    write_floats("x.npy", x, 4);
    write_floats("half.npy", half, 2);
}

/* ---- odd names ------------------------------------------------------------------- */

static kiln_test_cli_row odd_rows[] = {
    {"builds_what_has_odd_names",
     {"build", "@odd.onnx", "--profile", "native", "-o", "@odd.kiln.tar.zst"},
     0,
     "archive: ",
     NULL},
    {"runs_it_by_literal_names",
     {"run", "@odd.kiln.tar.zst", "--input", "in:0/a=b=@x.npy", "--random", "1",
      "--output-dir", "@literal"},
     0,
     "onnx%3A%3AGather_334.npy\n",
     NULL},
    {"runs_it_by_names_of_files",
     {"run", "@odd.kiln.tar.zst", "--input", "in%3A0%2Fa%3Db=@x.npy", "--input",
      "half=@half.npy", "--output-dir", "@coded"},
     0,
     "1 values of f32 inputs were rounded to bf16\n",
     NULL},
    {"says_which_output_is_where",
     {"run", "@odd.kiln.tar.zst", "--random", "1", "--output-dir", "@json", "--json",
      "-"},
     0,
     "\"name\": \"onnx::Gather_334\"",
     NULL},
    {"says_what_is_written_as_f32",
     {"run", "@odd.kiln.tar.zst", "--random", "1", "--output-dir", "@text"},
     0,
     " (as f32, exactly: .npy has no bf16)\n",
     NULL},
};

/* ---- dynamic models -------------------------------------------------------------- */

/* An escape sequence in the name of an input: whatever is printed, check() asks. */
static kiln_test_cli_row escape_rows[] = {
    {"inspect_escapes_names",
     {"inspect", "@odd.onnx"},
     0,
     "b\\x1b[31m: bf16[2]\n",
     NULL},
    {"graph_text_escapes_names",
     {"inspect", "@odd.onnx", "--graph"},
     0,
     "b\\x1b[31m\"",
     NULL},
    {"json_escapes_names", {"inspect", "@odd.onnx", "--json", "-"}, 0, "\\u001b", NULL},
    {"errors_escape_names",
     {"run", "@odd.kiln.tar.zst", "--input", "b\x1b[31m=@x.npy", "--output-dir", "@e"},
     3,
     NULL,
     "has no input 'b\\x1b[31m'"},
    {"errors_escape_files",
     {"inspect", "no\x1b[31m.onnx"},
     3,
     NULL,
     "no\\x1b[31m.onnx"},
    {"bench_escapes_names",
     {"bench", "@odd.kiln.tar.zst", "--rounds", "1", "--steps"},
     0,
     NULL,
     NULL},
};

static kiln_test_cli_row dynamic_rows[] = {
    {"shows_symbols",
     {"inspect", "@dynamic.onnx"},
     0,
     "x\\x1b[31m: f32[batch,3,height,width]\noutputs          y: "
     "f32[batch,3,height,width]\n",
     NULL},
    {"shows_versions",
     {"inspect", "@dynamic.onnx"},
     0,
     "(onnx, IR 8, opset 17, by kiln)\n",
     NULL},
    {"suggests_shapes",
     {"inspect", "@dynamic.onnx"},
     0,
     "with these the model imports (found by trying 1):\n",
     NULL},
    {"shows_symbols_as_json",
     {"inspect", "@dynamic.onnx", "--json", "-"},
     0,
     "\"shape\": [\"batch\", 3, \"height\", \"width\"]",
     NULL},
    {"suggests_shapes_as_json",
     {"inspect", "@dynamic.onnx", "--json", "-"},
     0,
     "\"tried\": 1",
     NULL},
    {"fixes_what_training_sets",
     {"inspect", "@setting.onnx"},
     0,
     "setting.onnx --shape x:1x3 --bind keep_prob=1\n                 'keep_prob' has "
     "no shape and the name of what training sets: fixed, it is no input any more; an "
     "input of one number is --shape keep_prob:\n",
     NULL},
    {"fixes_what_training_sets_in_json",
     {"inspect", "@setting.onnx", "--json", "-"},
     0,
     "\"binds\": [\n      \"keep_prob=1\"",
     NULL},
    {"builds_with_a_setting_fixed",
     {"build", "@setting.onnx", "--shape", "x:1x3", "--bind", "keep_prob=1",
      "--profile", "native", "-o", "@setting.kiln.tar.zst"},
     0,
     "archive: ",
     NULL},
    {"takes_a_setting_as_one_number",
     {"inspect", "@setting.onnx", "--shape", "x:1x3", "--shape", "keep_prob:"},
     0,
     "keep_prob: f32[]",
     NULL},
    {"has_no_graph_to_print",
     {"inspect", "@dynamic.onnx", "--graph"},
     3,
     "f32[batch,3,height,width]",
     "shapes must be known"},
    {"shows_what_is_not_read",
     {"inspect", "@unknown.onnx"},
     3,
     "Frobnicate           1 (not read)\n",
     "kiln has it at no opset"},
    {"suggests_a_value_where_a_branch_needs_it",
     {"inspect", "@choice.onnx", "--shape", "x:1x2x512"},
     3,
     NULL,
     "--bind sr=16000"},
    {"says_so_where_no_shape_helps",
     {"inspect", "@choice.onnx"},
     0,
     "so fix its value with --bind sr=16000",
     NULL},
    {"suggests_shapes_for_a_bound_input",
     {"inspect", "@choice.onnx", "--bind", "sr=16000"},
     0,
     "choice.onnx --bind sr=16000 --shape x:1x2x16\n",
     NULL},
    {"inspects_networks_of_the_zoo",
     {"inspect", "zoo:dqn"},
     0,
     "model            zoo:dqn (onnx, IR 8, opset 17, by kiln)\n",
     NULL},
    {"knows_what_the_zoo_lacks",
     {"inspect", "zoo:nope"},
     2,
     NULL,
     "the zoo has no network 'nope'"},
};

/* ---- lengths that depend on data ------------------------------------------------- */

static kiln_test_cli_row picked_rows[] = {
    {"counts_are_outputs",
     {"inspect", "@picked.onnx"},
     0,
     "at: i64[1,4]\n                 y.count: i64[]\n",
     NULL},
    {"builds_and_proves_what_picks",
     {"build", "@picked.onnx", "--profile", "native", "-o", "@picked.kiln.tar.zst"},
     0,
     "archive: ",
     NULL},
    {"as_many_are_compared_as_count",
     {"verify", "@picked.kiln.tar.zst", "--golden", "@places", "--threads", "1"},
     0,
     "passed      case 0, 1 thread",
     NULL},
    {"as_many_are_compared_by_bounds",
     {"verify", "@picked.kiln.tar.zst", "--golden", "@places", "--model",
      "@picked.onnx", "--threads", "1"},
     0,
     "passed      case 0, 1 thread",
     NULL},
    {"a_model_alone_is_held_too",
     {"verify", "@picked.onnx", "--golden", "@places", "--profile", "native"},
     0,
     "1 passed, 0 failed",
     NULL},
};

/* ---- packages of models with fixed inputs ---------------------------------------- */

#define CHOICE "@choice.kiln.tar.zst"

static kiln_test_cli_row fixed_rows[] = {
    {"builds_with_a_fixed_input",
     {"build", "@choice.onnx", "--shape", "x:1x2x2", "--bind", "sr=16000", "--profile",
      "native", "-o", CHOICE},
     0,
     "archive: ",
     NULL},
    {"verifies_cases_that_give_the_fixed_value",
     {"verify", CHOICE, "--golden", "@golden", "--threads", "1"},
     0,
     "passed      case 0, 1 thread",
     NULL},
    {"says_which_cases_give_another",
     {"verify", CHOICE, "--golden", "@golden", "--threads", "1"},
     0,
     "unsupported case 1, 1 thread: input 'sr' was fixed to another value",
     NULL},
    {"takes_shape_and_bind_as_build_does",
     {"verify", CHOICE, "--golden", "@golden", "--shape", "x:1x2x2", "--bind",
      "sr=16000", "--threads", "1"},
     0,
     "1 unsupported\n",
     NULL},
    {"takes_them_for_the_model_too",
     {"verify", CHOICE, "--model", "@choice.onnx", "--shape", "x:1x2x2", "--bind",
      "sr=16000", "--threads", "1"},
     0,
     "passed      reference, 1 thread",
     NULL},
    {"refuses_another_shape",
     {"verify", CHOICE, "--golden", "@golden", "--shape", "x:1x2x4"},
     3,
     NULL,
     "--shape x: the package was built for [1,2,2]"},
    {"refuses_another_value",
     {"verify", CHOICE, "--golden", "@golden", "--bind", "sr=8000"},
     2,
     NULL,
     "input 'sr' was fixed to another value when the package was built"},
    {"refuses_a_value_for_a_free_input",
     {"verify", CHOICE, "--golden", "@golden", "--bind", "x=1"},
     2,
     NULL,
     "the package was built without a value for such an input"},
};

static void check(void **state) {
    kiln_test_cli_row row = *(kiln_test_cli_row *)*state;
    for (int i = 0; i < KILN_TEST_CLI_ARGS && row.arg[i] != NULL; i++) {
        const char *at = strstr(row.arg[i], "=@"); /* NAME=@FILE */
        if (at != NULL)
            row.arg[i] = kiln_format(kiln_test_arena(), "%.*s=%s",
                                     (int)(at - row.arg[i]), row.arg[i], file(at + 2));
    }
    const kiln_process_result r =
        kiln_test_cli_check(kiln_test_arena(), folder(), &row);
    for (size_t i = 0; i < r.out.n; i++)
        assert_int_not_equal(r.out.p[i], '\x1b');
    for (size_t i = 0; i < r.err.n; i++)
        assert_int_not_equal(r.err.p[i], '\x1b');
}

static void check_floats(const char *name, const float *want, size_t n) {
    kiln_err err = {0};
    kiln_tensor t;
    kiln_assert_status_ok(kiln_tensor_read_npy(kiln_test_arena(), file(name), &t, &err),
                          &err);
    assert_int_equal(t.type.dtype, KILN_F32);
    assert_int_equal(kiln_type_elems(&t.type), n);
    assert_memory_equal(t.data, want, n * sizeof *want);
}

static void outputs_lie_where_their_names_say(void **state) {
    static const float relu[] = {1, 0, 3, 0}, neg[] = {-1, 2, -3, 4},
                       half[] = {-1.5f, -1.0f};
    (void)state;
    if (!kiln_file_exists(file("coded/337.npy")))
        kiln_test_skip("nothing ran");
    check_floats("literal/337.npy", relu, 4);
    check_floats("coded/337.npy", relu, 4);
    check_floats("coded/onnx%3A%3AGather_334.npy", neg, 4);
    check_floats("coded/b%1B%5B31m.npy", half, 2);
}

/* ---- hostile files --------------------------------------------------------------- */

typedef struct hostile_row {
    const char *name, *model;
} hostile_row;

static hostile_row hostile_rows[] = {
    {"a_kilobyte_of_doublings_takes_no_gigabytes", "doubles.onnx"},
    {"a_kilobyte_of_steps_takes_no_gigabytes", "repeats.onnx"},
};

static void check_hostile(void **state) {
    enum { MAX_PEAK = 1200 << 20, MAX_FILE = 1700 };
    const hostile_row *const row = *state;
    const char *argv[] = {getenv("KILN"), "inspect", file(row->model), NULL};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_process_result r;
    kiln_str bytes;
    kiln_err err = {0};
    if (argv[0] == NULL)
        kiln_test_skip("KILN does not name the program");
    kiln_assert_status_ok(
        kiln_file_map(kiln_test_arena(), file(row->model), MAX_FILE, &bytes, &err),
        &err);
    kiln_assert_status_ok(kiln_process_run(kiln_test_arena(), &o, &r, &err), &err);
    print_message("%s: %zu bytes, %lld ms, %lld MiB\n", row->model, bytes.n,
                  (long long)r.wall_ms, (long long)(r.peak_rss_bytes >> 20));
    assert_int_equal(r.end, KILN_PROCESS_EXITED);
    assert_int_equal(r.code, 0);
    if (!kiln_test_is_sanitized())
        assert_true(r.peak_rss_bytes < MAX_PEAK);
}

int main(void) {
    kiln_test_own_home();
    kiln_test_add("make_files", make_files, NULL);
    kiln_test_add_rows(check, odd_rows);
    kiln_test_add("outputs_lie_where_their_names_say",
                  outputs_lie_where_their_names_say, NULL);
    kiln_test_add_rows(check, escape_rows);
    kiln_test_add_rows(check, dynamic_rows);
    kiln_test_add_rows(check, picked_rows);
    kiln_test_add_rows(check, fixed_rows);
    kiln_test_add_rows(check_hostile, hostile_rows);
    return kiln_test_run("models from outside");
}
