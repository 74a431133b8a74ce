/* kiln-run from outside: what it writes, and each way in which arguments, files and
 * packages are refused, with its exit code. */
#include "compiler/frontend/frontend.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_IN = 6, MAX_ARGS = 12 };

static struct {
    const char *dir; /* the package, with good.npy and good.bin */
    kiln_tensor in, want;
} here;

static void write_file(const char *name, const void *p, size_t n) {
    kiln_err err = {.status = KILN_OK};
    const char *path = kiln_path_join(kiln_test_arena(), here.dir, name);
    kiln_assert_status_ok(kiln_file_write(path, p, n, &err), &err);
}

static void prepares(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    kiln_profile profile;
    kiln_network n;
    here.dir = kiln_test_dir();
    kiln_assert_status_ok(
        kiln_graph_parse(a,
                         kiln_str_from("graph \"two\\\"quotes\" { input %x : f32[2,3] "
                                       "%a = relu(%x) output %a \"y\" }"),
                         "test", &g, &err),
        &err);
    here.in = kiln_ref_random(a, &g->inputs.v[0]->type, kiln_test_seed());
    kiln_assert_status_ok(kiln_ref_run(a, g, &here.in, 1, &here.want, &err), &err);
    kiln_assert_status_ok(kiln_profile_detect(a, &profile, &err), &err);
    kiln_assert_status_ok(kiln_network_compile(a, g, &profile, NULL, &n, &err), &err);
    package_folder_write(here.dir, &n);
    kiln_assert_status_ok(
        kiln_tensor_write_npy(kiln_path_join(a, here.dir, "good.npy"), &here.in, &err),
        &err);
    write_file("good.bin", here.in.data, N_IN * sizeof(float));
}

/* "@x" is a file of the package's folder. */
static kiln_process_result run(const char *const *arg) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_process_result got;
    char *runner = NULL;
    const char *argv[MAX_ARGS + 2];
    size_t n = 0;
    kiln_assert_status_ok(kiln_program_find(a, "kiln-run", &runner, &err), &err);
    argv[n++] = runner;
    for (size_t i = 0; i < MAX_ARGS && arg[i] != NULL; i++)
        argv[n++] = arg[i][0] == '@' ? kiln_path_join(a, here.dir, arg[i] + 1) : arg[i];
    argv[n] = NULL;
    const kiln_process_options o = {
        .argv = argv, .dir = here.dir, .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(a, &o, &got, &err), &err);
    assert_int_equal(got.end, KILN_PROCESS_EXITED);
    return got;
}

/* ---- arguments and packages ------------------------------------------------------ */

typedef struct row {
    const char *name;
    const char *arg[MAX_ARGS];
    int code;
    const char *text; /* in stderr where code is not 0, else in stdout */
} row;

static row rows[] = {
    {"help", {"--help"}, 0, "usage: kiln-run FOLDER"},
    {"no_folder", {NULL}, 2, "no folder; kiln-run --help explains"},
    {"two_folders", {"a", "b"}, 2, "two folders: 'a' and 'b'"},
    {"unknown_option", {"@", "--fast", "1"}, 2, "'--fast' is not an option"},
    {"option_without_value", {"@", "--threads"}, 2, "'--threads' needs a value"},
    {"no_threads",
     {"@", "--threads", "0"},
     2,
     "--threads must be a number from 1 to 1024, is '0'"},
    {"half_a_number",
     {"@", "--rounds", "3x"},
     2,
     "--rounds must be a number from 0 to 1000000, is '3x'"},
    {"huge_number",
     {"@", "--warm-up", "99999999999999999999"},
     2,
     "--warm-up must be a number"},
    {"no_such_package", {"/nowhere"}, 3, "'/nowhere/plan.bin': No such file"},
    {"input_missing",
     {"@"},
     2,
     "input 0, 'x' (f32[2,3]), has no file; give --input x=FILE, or --zeros"},
    {"input_unknown",
     {"@", "--input", "z=good.npy"},
     2,
     "'z=good.npy': must be NAME=FILE of an input of 'two\"quotes'"},
    {"input_without_file", {"@", "--input", "x"}, 2, "'x': must be NAME=FILE"},
    {"input_is_not_there", {"@", "--input", "x=none.npy"}, 3, "'none.npy': No such"},
    {"input_is_a_folder", {"@", "--input", "x=."}, 3, "'.': is no file"},
    {"raw_input_of_wrong_size",
     {"@", "--input", "x=plan.bin"},
     3,
     "input 'x' has 24 bytes, the file has"},
    {"outputs_nowhere",
     {"@", "--zeros", "--output-dir", "/nowhere"},
     4,
     "'/nowhere/output_0.npy': No such"},
    {"report_nowhere", {"@", "--zeros", "--json", "/nowhere/r"}, 4, "'/nowhere/r'"},
    {"says_how_long",
     {"@", "--zeros", "--rounds", "3"},
     0,
     "two\"quotes: 3 runs at 1 threads, "},
    {"describes_without_running",
     {"@", "--rounds", "0", "--json", "-"},
     0,
     "\"run_ns\": []"},
    {"quotes_names",
     {"@", "--rounds", "0", "--json", "-"},
     0,
     "\"model\": \"two\\\"quotes\""},
};

static void check_row(void **state) {
    const row *r = *state;
    const kiln_process_result got = run(r->arg);
    if (got.code != r->code ||
        strstr(r->code == 0 ? got.out.p : got.err.p, r->text) == NULL)
        fail_msg("exit code %d, '%s', '%s'; wanted %d, '%s'", got.code, got.out.p,
                 got.err.p, r->code, r->text);
}

/* ---- .npy ------------------------------------------------------------------------ */

typedef struct npy_row {
    const char *name;
    const char *magic; /* NULL: of version 1 */
    const char *header;
    int length; /* of the header, where it lies; 0: what it is */
    int code;
    const char *text;
} npy_row;

#define ORDER "'fortran_order': False, "
static npy_row npy_rows[] = {
    {"good", NULL, "{'descr': '<f4', " ORDER "'shape': (2, 3), }", 0, 0, ""},
    {"other_order_of_keys", NULL, "{'shape':(2,3)," ORDER "'descr':'<f4'}\n", 0, 0, ""},
    {"other_magic", "\x93NUMPX\x01", "{}", 0, 3, "does not begin as .npy"},
    {"version_4", "\x93NUMPY\x04", "{}", 0, 3, "does not begin as .npy"},
    {"header_leaves", NULL, "{}", 40000, 3, "its header leaves the file"},
    {"no_dictionary", NULL, "[]", 0, 3, "its header is no dictionary"},
    {"not_closed", NULL, "{'descr': '<f4'", 0, 3, "its header is broken"},
    {"no_shape", NULL, "{'descr': '<f4', " ORDER "}", 0, 3, "its header is not whole"},
    {"unknown_key", NULL, "{'descr': '<f4', 'a': 1, }", 0, 3, "that is not known"},
    {"fortran", NULL, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", 0, 3,
     "it is in Fortran's order"},
    {"other_dtype", NULL, "{'descr': '>f4', " ORDER "'shape': (2, 3), }", 0, 3,
     "it holds '>f4' of rank 2; input 'x' is f32[2,3]"},
    {"long_dtype", NULL, "{'descr': '<f4444444444444444444', " ORDER "'shape': ()}", 0,
     3, "its header is broken"},
    {"other_shape", NULL, "{'descr': '<f4', " ORDER "'shape': (3, 2), }", 0, 3,
     "it holds '<f4' of rank 2; input 'x' is f32[2,3]"},
    {"other_rank", NULL, "{'descr': '<f4', " ORDER "'shape': (6,), }", 0, 3,
     "of rank 1; input 'x' is f32[2,3]"},
    {"many_axes", NULL, "{'descr': '<f4', " ORDER "'shape': (1,1,1,1,1,1,1,2,3)}", 0, 3,
     "its header is broken"},
    {"huge_axis", NULL, "{'descr': '<f4', " ORDER "'shape': (99999999999999999999,)}",
     0, 3, "its header is broken"},
    {"more_data", NULL, "{'descr': '<f4', " ORDER "'shape': (2, 3)} and more", 0, 3,
     "its header has more than a dictionary"},
};

static void check_npy(void **state) {
    const npy_row *r = *state;
    kiln_buf file;
    kiln_buf_init(&file, kiln_test_arena());
    const int length = r->length != 0 ? r->length : (int)strlen(r->header);
    const char fixed[3] = {0, (char)(length & 0xFF), (char)(length >> 8)};
    kiln_buf_add(&file, r->magic != NULL ? r->magic : "\x93NUMPY\x01", 7);
    kiln_buf_add(&file, fixed, sizeof fixed);
    kiln_buf_puts(&file, r->header);
    kiln_buf_add(&file, here.in.data, N_IN * sizeof(float));
    write_file("row.npy", file.p, file.n);
    const char *const arg[] = {here.dir, "--input", "x=row.npy", NULL};
    const kiln_process_result got = run(arg);
    if (got.code != r->code || strstr(got.err.p, r->text) == NULL)
        fail_msg("exit code %d, '%s'; wanted %d, '%s'", got.code, got.err.p, r->code,
                 r->text);
}

/* ---- outputs --------------------------------------------------------------------- */

static void check_output(kiln_str raw) {
    assert_int_equal(raw.n, N_IN * sizeof(float));
    kiln_assert_close((const float *)(const void *)raw.p, here.want.data, N_IN, 0, 0);
}

/* What kiln-run writes, kiln reads; and a folder of inputs. */
static void writes_what_it_computed(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_tensor got;
    kiln_str raw;
    const char *out = kiln_path_join(a, here.dir, "output_0");
    const char *const npy[] = {here.dir,       "--input", "x=good.npy",
                               "--output-dir", ".",       NULL};
    assert_int_equal(run(npy).code, 0);
    kiln_assert_status_ok(
        kiln_tensor_read_npy(a, kiln_format(a, "%s.npy", out), &got, &err), &err);
    assert_true(kiln_type_same_shape(&got.type, &here.want.type));
    check_output((kiln_str){got.data, N_IN * sizeof(float)});
    const char *const bin[] = {here.dir, "--input", "x=good.bin", "--output-dir",
                               ".",      "--raw",   NULL};
    assert_int_equal(run(bin).code, 0);
    kiln_assert_status_ok(
        kiln_file_map(a, kiln_format(a, "%s.bin", out), 0, &raw, &err), &err);
    check_output(raw);
    write_file("input_0.bin", here.in.data, N_IN * sizeof(float));
    write_file("output_0.bin", "", 0);
    const char *const dir[] = {here.dir, "--input-dir", ".", "--output-dir",
                               ".",      "--raw",       NULL};
    assert_int_equal(run(dir).code, 0);
    kiln_assert_status_ok(
        kiln_file_map(a, kiln_format(a, "%s.bin", out), 0, &raw, &err), &err);
    check_output(raw);
}

static void reports_runs_and_steps(void **state) {
    (void)state;
    const char *const arg[] = {here.dir, "--zeros",   "--rounds", "4", "--warm-up",
                               "2",      "--profile", "--json",   "-", NULL};
    const kiln_process_result got = run(arg);
    kiln_err err = {.status = KILN_OK};
    const kiln_json *doc = NULL;
    assert_int_equal(got.code, 0);
    kiln_assert_status_ok(
        kiln_json_parse(kiln_test_arena(), got.out, "report", &doc, &err), &err);
    assert_int_equal(kiln_json_size(kiln_json_get(doc, "run_ns")), 4);
    assert_int_equal(kiln_json_size(kiln_json_get(doc, "cpu_ns")), 4);
    assert_int_equal(kiln_json_size(kiln_json_get(doc, "preempted")), 4);
    assert_true(kiln_json_number(kiln_json_at(kiln_json_get(doc, "clock_ghz"), 1), 0) >
                0);
    const kiln_json *step = kiln_json_at(kiln_json_get(doc, "steps"), 0);
    assert_string_equal(kiln_json_string(kiln_json_get(step, "op"), ""), "relu");
    assert_int_equal((int)kiln_json_number(kiln_json_get(step, "runs"), 0), 4);
    const kiln_json *x = kiln_json_at(kiln_json_get(doc, "inputs"), 0);
    assert_string_equal(kiln_json_string(kiln_json_get(x, "name"), ""), "x");
    assert_int_equal(kiln_json_size(kiln_json_get(x, "shape")), 2);
}

static double fastest_ns(const char *ppm) {
    const char *const arg[] = {here.dir, "--zeros", "--rounds", "50", "--inject-ppm",
                               ppm,      "--json",  "-",        NULL};
    const kiln_process_result got = run(arg);
    kiln_err err = {.status = KILN_OK};
    const kiln_json *doc = NULL;
    assert_int_equal(got.code, 0);
    kiln_assert_status_ok(
        kiln_json_parse(kiln_test_arena(), got.out, "report", &doc, &err), &err);
    assert_true(kiln_json_number(kiln_json_get(doc, "injected_ppm"), 0) ==
                strtod(ppm, NULL));
    double least = (double)INFINITY;
    for (size_t i = 0; i < 50; i++)
        least = fmin(
            least, kiln_json_number(kiln_json_at(kiln_json_get(doc, "run_ns"), i), 0));
    return least;
}

/* Eleven times the time, where others can only make either slower. */
static void draws_runs_out(void **state) {
    (void)state;
    const double as_it_is = fastest_ns("0"), slowed = fastest_ns("10000000");
    print_message("%.0f and %.0f ns\n", as_it_is, slowed);
    assert_true(slowed > 3 * as_it_is);
}

int main(void) {
    kiln_test_add("prepares", prepares, NULL);
    kiln_test_add_rows(check_row, rows);
    kiln_test_add_rows(check_npy, npy_rows);
    kiln_test_add("writes_what_it_computed", writes_what_it_computed, NULL);
    kiln_test_add("reports_runs_and_steps", reports_runs_and_steps, NULL);
    kiln_test_add("draws_runs_out", draws_runs_out, NULL);
    return kiln_test_run("kiln-run");
}
