/* A small trained model built, run and verified, and what goes wrong: inputs that do
 * not fit, damaged archives, other models. */
#include "pipeline/package/package.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_folder.h"

#include <string.h>

#define MODEL "demo/samplenet/samplenet.onnx"
#define GOLDEN "demo/samplenet/golden"

static kiln_build built; /* for this machine, by prepare() */

static kiln_build build_packing(const char *profile, const char *folder,
                                const char *file, bool pack_at_open) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile p;
    kiln_source s;
    kiln_expectation t;
    kiln_build b;
    const kiln_build_options o = {
        .folder = folder, .path = file, .pack_at_open = pack_at_open, .seed = 1};
    kiln_assert_status_ok(kiln_profile_find(a, profile, &p, &err), &err);
    kiln_assert_status_ok(kiln_source_read(a, MODEL, NULL, &s, &err), &err);
    kiln_assert_status_ok(kiln_expectation_of(a, &s, 1, &t, &err), &err);
    kiln_assert_status_ok(kiln_package_build(a, &s, &t, &p, &o, &b, &err), &err);
    return b;
}

static kiln_build build_for(const char *profile, const char *folder, const char *file) {
    return build_packing(profile, folder, file, false);
}

static int prepare(void **state) {
    (void)state;
    built = build_for("native", kiln_test_dir(), NULL);
    return 0;
}

/* ---- building -------------------------------------------------------------------- */

static void says_what_it_built(void **state) {
    (void)state;
    kiln_str file;
    kiln_err err = {0};
    char sha256[KILN_SHA256_HEX];
    int64_t steps = 0, muladds = 0;
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), built.path, 0, &file, &err),
                          &err);
    kiln_sha256_of(file.p, file.n, sha256);
    assert_string_equal(sha256, built.sha256);
    assert_int_equal(file.n, built.bytes);
    assert_string_equal(kiln_path_base(built.path), "samplenet-1-native.kiln.tar.zst");
    for (size_t i = 0; i < built.ledger.row.n; i++) {
        const kiln_ledger_row *r = &built.ledger.row.v[i];
        steps += r->copies;
        for (int c = 0; c < KILN_N_COVERAGE; c++) {
            steps += r->steps[c];
            muladds += r->muladds[c];
        }
    }
    assert_int_equal(steps, built.n_steps);
    assert_int_equal(muladds, built.cost.muladds);
    assert_int_equal(built.ledger.all.muladds[KILN_COVERED_TUNED], 0);
}

static void prints_the_ledger(void **state) {
    (void)state;
    kiln_buf text;
    kiln_buf_init(&text, kiln_test_arena());
    kiln_build_text(&text, &built);
    assert_non_null(strstr(text.p, "coverage, in steps"));
    assert_non_null(strstr(text.p, "  conv   "));
    assert_non_null(strstr(text.p, built.sha256));
}

/* The proof's own words; every step of this network can be held to the reference. */
static void says_what_was_proved(void **state) {
    (void)state;
    const kiln_proof *p = &built.proof;
    kiln_buf text;
    assert_string_equal(p->device, "local");
    assert_int_equal(p->n_steps, built.n_steps);
    assert_int_equal(p->n_proved, p->n_steps);
    assert_int_equal(p->n_unknown + p->n_unseen, 0);
    assert_true(p->n_checked > 0 && p->n_checked <= p->n_elems);
    kiln_buf_init(&text, kiln_test_arena());
    kiln_build_text(&text, &built);
    assert_non_null(strstr(text.p, "proof: ran on 'local'"));
}

static void packs_without_a_proof(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile p;
    kiln_source s;
    kiln_expectation t;
    kiln_build b;
    kiln_package_facts f;
    kiln_buf text;
    const kiln_build_options o = {
        .path = kiln_path_join(a, kiln_test_dir(), "unproved.kiln.tar.zst"),
        .no_verify = true,
        .seed = 1};
    kiln_assert_status_ok(kiln_profile_find(a, "native", &p, &err), &err);
    kiln_assert_status_ok(kiln_source_read(a, MODEL, NULL, &s, &err), &err);
    kiln_assert_status_ok(kiln_expectation_of(a, &s, 1, &t, &err), &err);
    kiln_assert_status_ok(kiln_package_build(a, &s, &t, &p, &o, &b, &err), &err);
    assert_null(b.proof.device);
    kiln_buf_init(&text, a);
    kiln_build_text(&text, &b);
    assert_non_null(strstr(text.p, "proof: none, by --no-verify"));
    kiln_assert_status_ok(kiln_package_inspect(a, o.path, &f, &err), &err);
    assert_true(f.is_unproved);
    kiln_assert_status_ok(kiln_package_inspect(a, built.path, &f, &err), &err);
    assert_false(f.is_unproved);
}

static kiln_tensor output_of(const char *archive) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_opened p;
    kiln_tensor out[2];
    kiln_device_result result = {.n_runs = 0};
    const kiln_run_options o = {.fills_random = true, .seed = 3, .n_threads = 2};
    kiln_assert_status_ok(kiln_package_open(a, archive, &p, &err), &err);
    kiln_assert_status_ok(kiln_opened_run(a, &p, &o, out, &result, &err), &err);
    return out[0];
}

/* The same model, its parameters row-major: a smaller archive, proved as any other,
 * which says so, and computes the same bits. */
static void packs_when_it_is_opened(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_package_facts f;
    kiln_buf text;
    static const int threads[] = {1, 2};
    const kiln_verify_options o = {.threads = threads, .n_threads = 2, .model = MODEL};
    kiln_checks c = {0};
    const kiln_build b = build_packing(
        "native", NULL, kiln_path_join(a, kiln_test_dir(), "open.kiln.tar.zst"), true);
    assert_true(b.packed > 0 && b.n_open > 0 && b.params < built.params);
    assert_int_equal(built.packed, 0);
    assert_int_equal(b.n_steps, built.n_steps);
    assert_int_equal(b.proof.n_proved, b.proof.n_steps);
    kiln_assert_status_ok(kiln_package_inspect(a, b.path, &f, &err), &err);
    assert_int_equal(f.memory.packed, b.packed);
    assert_string_equal(kiln_package_pack(&f.memory), "open");
    kiln_buf_init(&text, a);
    kiln_package_print(&text, &f);
    assert_non_null(strstr(text.p, "packed           when it is opened, once: "));
    kiln_buf_init(&text, a);
    kiln_build_text(&text, &b);
    assert_non_null(strstr(text.p, "packed when it is opened: "));
    /* Kernels that only pack say for which steps. */
    size_t n_packs = 0;
    for (size_t i = 0; i < f.n_kernels; i++)
        n_packs += f.kernel[i].n_steps > 0 &&
                   strncmp(f.kernel[i].step[0], "pack ", strlen("pack ")) == 0;
    assert_int_equal(n_packs, f.n_kernels - built.n_kernels);
    kiln_assert_status_ok(kiln_verify_package(a, b.path, &o, &c, &err), &err);
    assert_int_equal(c.n_failed, 0);
    assert_int_equal(c.n_passed, 1 + 2 * 2);
    const kiln_tensor x = output_of(built.path), y = output_of(b.path);
    assert_memory_equal(x.data, y.data, (size_t)kiln_type_bytes(&x.type));
}

/* A self-test that the package does not pass: nothing appears, and nothing stays. */
static void what_is_wrong_does_not_appear(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile p;
    kiln_source s;
    kiln_expectation t;
    kiln_build b;
    const kiln_build_options o = {
        .path = kiln_path_join(a, kiln_test_dir(), "wrong.kiln.tar.zst"), .seed = 1};
    kiln_assert_status_ok(kiln_profile_find(a, "native", &p, &err), &err);
    kiln_assert_status_ok(kiln_source_read(a, MODEL, NULL, &s, &err), &err);
    kiln_assert_status_ok(kiln_expectation_of(a, &s, 1, &t, &err), &err);
    ((float *)t.out[0].value.data)[0] += 1;
    kiln_assert_fails(kiln_package_build(a, &s, &t, &p, &o, &b, &err), KILN_ERR_BUG,
                      &err, "self-test, 1 thread: output");
    assert_false(kiln_file_exists(o.path));
    assert_false(kiln_file_exists(kiln_format(a, "%s.unproved", o.path)));
}

static void knows_every_origin(void **state) {
    (void)state;
    static const struct {
        kiln_origin origin;
        const char *tmpl, *want;
    } row[] = {{KILN_ORIGIN_TUNED, "generic", "tuned"},
               {KILN_ORIGIN_TRANSFERRED, "conv_direct", "transferred"},
               {KILN_ORIGIN_PREDICTED, "conv_direct", "predicted"},
               {KILN_ORIGIN_GUESS, "conv_direct", "default"},
               {KILN_ORIGIN_GUESS, "matmul", "default"},
               {KILN_ORIGIN_FILE, "matmul", "file"},
               {KILN_ORIGIN_TIMED, "matmul", "timed"},
               {KILN_ORIGIN_GUESS, "generic", "generic"}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const kiln_network_kernel k = {.tmpl = row[i].tmpl, .origin = row[i].origin};
        assert_string_equal(kiln_coverage_name(kiln_coverage_of(&k)), row[i].want);
    }
}

/* ---- running --------------------------------------------------------------------- */

typedef struct run_row {
    const char *name;
    const char *input; /* NULL: none is given */
    kiln_dtype dtype;
    int rank;
    int64_t dim[4];
    int times;
    bool fills_random;
    kiln_status want;
    const char *text;
} run_row;

static run_row run_rows[] = {
    {"runs_on_a_given_input",
     "data",
     KILN_F32,
     4,
     {1, 3, 32, 32},
     1,
     false,
     KILN_OK,
     NULL},
    {"runs_on_random_numbers", NULL, KILN_F32, 0, {0}, 0, true, KILN_OK, NULL},
    {"lists_the_inputs_when_one_is_missing",
     NULL,
     KILN_F32,
     0,
     {0},
     0,
     false,
     KILN_ERR_SHAPE,
     "input 'data' is missing; inputs: data f32[1,3,32,32]"},
    {"lists_the_inputs_when_a_name_is_not_known",
     "image",
     KILN_F32,
     4,
     {1, 3, 32, 32},
     1,
     true,
     KILN_ERR_SHAPE,
     "'samplenet' has no input 'image'; inputs: data f32[1,3,32,32]"},
    {"refuses_another_dtype",
     "data",
     KILN_F64,
     4,
     {1, 3, 32, 32},
     1,
     false,
     KILN_ERR_SHAPE,
     "input 'data' must be f32[1,3,32,32], is f64[1,3,32,32]"},
    {"refuses_another_shape",
     "data",
     KILN_F32,
     3,
     {3, 32, 32},
     1,
     false,
     KILN_ERR_SHAPE,
     "input 'data' must be f32[1,3,32,32], is f32[3,32,32]"},
    {"refuses_an_input_twice",
     "data",
     KILN_F32,
     4,
     {1, 3, 32, 32},
     2,
     false,
     KILN_ERR_ARG,
     "input 'data' is given twice"},
};

static void check_run(void **state) {
    const run_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_opened p;
    kiln_tensor out[2];
    kiln_device_result result = {.n_runs = 0};
    kiln_assert_status_ok(kiln_package_open(a, built.path, &p, &err), &err);
    const kiln_type t = kiln_type_make(r->dtype, r->rank, r->dim);
    const kiln_tensor value = kiln_tensor_new(a, &t);
    const kiln_named_tensor in[2] = {{r->input, value}, {r->input, value}};
    const kiln_run_options o = {
        .in = in, .n_in = (size_t)r->times, .fills_random = r->fills_random, .seed = 3};
    const kiln_status st = kiln_opened_run(a, &p, &o, out, &result, &err);
    if (r->want != KILN_OK) {
        kiln_assert_fails(st, r->want, &err, r->text);
        return;
    }
    kiln_assert_status_ok(st, &err);
    const char **path = NULL;
    const char *dir = kiln_path_join(a, kiln_test_dir(), r->name);
    kiln_tensor again;
    kiln_assert_status_ok(kiln_outputs_write(a, &p, out, dir, &path, &err), &err);
    kiln_assert_status_ok(kiln_tensor_read_npy(a, path[0], &again, &err), &err);
    assert_memory_equal(again.data, out[0].data, (size_t)kiln_type_bytes(&out[0].type));
}

/* ---- verifying ------------------------------------------------------------------- */

static kiln_status verify(const char *path, const kiln_verify_options *o,
                          kiln_checks *out, kiln_err *err) {
    *out = (kiln_checks){0};
    return kiln_verify_package(kiln_test_arena(), path, o, out, err);
}

static void verifies_everything(void **state) {
    (void)state;
    static const int threads[] = {1, 2};
    const kiln_verify_options o = {.threads = threads,
                                   .n_threads = 2,
                                   .golden = GOLDEN,
                                   .model = MODEL,
                                   .seed = 2};
    kiln_checks c;
    kiln_err err = {0};
    kiln_assert_status_ok(verify(built.path, &o, &c, &err), &err);
    for (size_t i = 0; i < c.list.n; i++)
        if (c.list.v[i].outcome != KILN_PASSED)
            print_error("%s: %s\n", c.list.v[i].name, c.list.v[i].reason);
    assert_int_equal(c.n_failed, 0);
    assert_int_equal(c.n_passed, 1 + 2 * (1 + 1 + 2)); /* two golden cases */
}

static void fails_a_damaged_archive(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    static const int threads[] = {1};
    const kiln_verify_options o = {.threads = threads, .n_threads = 1};
    const char *path = kiln_path_join(a, kiln_test_dir(), "damaged.kiln.tar.zst");
    kiln_checks c;
    kiln_err err = {0};
    kiln_str file;
    kiln_assert_status_ok(kiln_file_map(a, built.path, 0, &file, &err), &err);
    char *bytes = kiln_arena_dup(a, file.p, file.n);
    bytes[file.n / 2] = (char)(bytes[file.n / 2] ^ 1);
    kiln_assert_status_ok(kiln_file_write(path, bytes, file.n, &err), &err);
    kiln_assert_status_ok(verify(path, &o, &c, &err), &err);
    assert_int_equal(c.n_failed, 1);
    assert_string_equal(c.list.v[0].name, "archive");
    assert_true(strlen(c.list.v[0].reason) > 10);
}

/* Flips a bit in the middle of one file after another: a self-test alone would not see
 * it in a constant that matters little, nor in what only tools read. */
static void fails_a_changed_folder(void **state) {
    (void)state;
    static const int threads[] = {1};
    static const char *const name[] = {"graph.json", "params.safetensors",
                                       "selftest/inputs.safetensors", "sbom.spdx.json"};
    const kiln_verify_options o = {.threads = threads, .n_threads = 1};
    kiln_arena *a = kiln_test_arena();
    const char *folder = kiln_path_join(a, kiln_test_dir(), "changed");
    kiln_checks c;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_package_unpack(a, built.path, folder, NULL, &err), &err);
    kiln_assert_status_ok(verify(folder, &o, &c, &err), &err);
    assert_int_equal(c.n_failed, 0);
    assert_string_equal(c.list.v[0].name, "folder");
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
        const char *path = kiln_path_join(a, folder, name[i]);
        kiln_str file;
        kiln_assert_status_ok(kiln_file_map(a, path, 0, &file, &err), &err);
        char *bytes = kiln_arena_dup(a, file.p, file.n);
        bytes[file.n / 2] = (char)(bytes[file.n / 2] ^ 1);
        kiln_assert_status_ok(kiln_file_write(path, bytes, file.n, &err), &err);
        kiln_assert_status_ok(verify(folder, &o, &c, &err), &err);
        assert_int_equal(c.n_failed, 1);
        if (strstr(c.list.v[0].reason, name[i]) == NULL ||
            strstr(c.list.v[0].reason, "unpack the archive again") == NULL)
            fail_msg("%s", c.list.v[0].reason);
        bytes[file.n / 2] = (char)(bytes[file.n / 2] ^ 1);
        kiln_assert_status_ok(kiln_file_write(path, bytes, file.n, &err), &err);
    }
}

static void refuses_another_model(void **state) {
    (void)state;
    static const int threads[] = {1};
    const kiln_verify_options o = {
        .threads = threads, .n_threads = 1, .model = "zoo:dqn"};
    kiln_checks c;
    kiln_err err = {0};
    kiln_assert_fails(verify(built.path, &o, &c, &err), KILN_ERR_ARG, &err,
                      "the package was built from a file with SHA-256 ");
}

static void finds_a_wrong_golden_output(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    static const char *const copy[][2] = {
        {"golden.json", "golden.json"}, {"c0_in0.npy", "c0_in0.npy"},
        {"c1_in0.npy", "c1_in0.npy"},   {"c0_out0.npy", "c1_out0.npy"},
        {"c1_out0.npy", "c0_out0.npy"},
    };
    static const int threads[] = {1};
    const char *dir = kiln_path_join(a, kiln_test_dir(), "wrong");
    const kiln_verify_options o = {.threads = threads, .n_threads = 1, .golden = dir};
    kiln_checks c;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_dir_make(dir, &err), &err);
    for (size_t i = 0; i < sizeof copy / sizeof copy[0]; i++) {
        kiln_str bytes;
        kiln_assert_status_ok(
            kiln_file_map(a, kiln_path_join(a, GOLDEN, copy[i][0]), 0, &bytes, &err),
            &err);
        kiln_assert_status_ok(
            kiln_file_write(kiln_path_join(a, dir, copy[i][1]), bytes.p, bytes.n, &err),
            &err);
    }
    kiln_assert_status_ok(verify(built.path, &o, &c, &err), &err);
    assert_int_equal(c.n_failed, 2);
}

static void hash_file(const char *path, char hex[KILN_SHA256_HEX]) {
    kiln_str bytes;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &bytes, &err),
                          &err);
    kiln_sha256_of(bytes.p, bytes.n, hex);
}

/* Its manifest says what its library is, so that nothing but running it tells. */
static const char *crashing_folder(void) {
    kiln_arena *a = kiln_test_arena();
    const char *folder = kiln_path_join(a, kiln_test_dir(), "crashing");
    const char *lib = kiln_path_join(a, folder, "lib.so");
    const char *manifest = kiln_path_join(a, folder, "manifest.json");
    char before[KILN_SHA256_HEX], after[KILN_SHA256_HEX];
    kiln_package_facts f;
    kiln_str text;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_package_unpack(a, built.path, folder, &f, &err), &err);
    hash_file(lib, before);
    package_folder_break(folder, f.profile.arch, PACKAGE_CRASHES);
    hash_file(lib, after);
    kiln_assert_status_ok(kiln_file_map(a, manifest, 0, &text, &err), &err);
    char *copy = kiln_str_dupv(a, text), *at = strstr(copy, before);
    assert_non_null(at);
    memcpy(at, after, strlen(after));
    kiln_assert_status_ok(kiln_file_write(manifest, copy, text.n, &err), &err);
    return folder;
}

/* Each check has failed; none of it is the machine's fault. */
static void a_crash_fails_every_check(void **state) {
    (void)state;
    static const int threads[] = {1};
    const kiln_verify_options o = {
        .threads = threads, .n_threads = 1, .golden = GOLDEN};
    kiln_checks c;
    kiln_err err = {0};
    kiln_assert_status_ok(verify(crashing_folder(), &o, &c, &err), &err);
    assert_int_equal(c.n_failed, 1 + 2); /* the self-test and two golden cases */
    for (size_t i = 1; i < c.list.n; i++)
        if (strstr(c.list.v[i].reason, "died of signal") == NULL &&
            strstr(c.list.v[i].reason, "AddressSanitizer: ILL") == NULL) /* its words */
            fail_msg("%s", c.list.v[i].reason);
}

static void names_a_missing_archive(void **state) {
    (void)state;
    const kiln_verify_options o = {.n_threads = 0};
    kiln_checks c;
    kiln_err err = {0};
    kiln_assert_fails(verify("no/such.kiln.tar.zst", &o, &c, &err), KILN_ERR_MISSING,
                      &err, "no/such.kiln.tar.zst");
}

/* ---- fixed inputs ------------------------------------------------------------------
 * x + y, built with y fixed to 1: the model is asked again with the same y alone. */

typedef struct fixed_row {
    const char *name;
    const char *input[2]; /* that are fixed; NULL: none */
    float value;
    kiln_status want;
    const char *text;
} fixed_row;

static fixed_row fixed_rows[] = {
    {"takes_the_same_value", {"y"}, 1, KILN_OK, NULL},
    {"refuses_another_value",
     {"y"},
     2,
     KILN_ERR_ARG,
     "input 'y' was fixed to another value when the package was built (f32[3,4,5], "},
    {"asks_for_the_value",
     {NULL},
     1,
     KILN_ERR_ARG,
     "the package was built with input 'y' fixed to a value (f32[3,4,5]): give the "
     "same by --bind"},
    {"refuses_a_value_too_many",
     {"y", "x"},
     1,
     KILN_ERR_ARG,
     "the package was built without a value for input 'x': leave its --bind away"},
};

static kiln_value_binding bound(const char *name, float value) {
    static const int64_t dim[] = {3, 4, 5};
    const kiln_type t = kiln_type_make(KILN_F32, 3, dim);
    const kiln_value_binding b = {name, kiln_tensor_new(kiln_test_arena(), &t)};
    for (int64_t i = 0; i < kiln_type_elems(&t); i++)
        ((float *)b.value.data)[i] = value;
    return b;
}

static const char *build_fixed(const char *model) {
    kiln_arena *a = kiln_test_arena();
    const char *path = kiln_path_join(a, kiln_test_dir(), "fixed.kiln.tar.zst");
    const kiln_value_binding y = bound("y", 1);
    const kiln_import_options import = {.values = &y, .n_values = 1};
    const kiln_build_options o = {.path = path, .seed = 1, .import = &import};
    kiln_err err = {0};
    kiln_profile p;
    kiln_source s;
    kiln_expectation t;
    kiln_build b;
    kiln_assert_status_ok(kiln_profile_detect(a, &p, &err), &err);
    kiln_assert_status_ok(kiln_source_read(a, model, &import, &s, &err), &err);
    kiln_assert_status_ok(kiln_expectation_of(a, &s, 1, &t, &err), &err);
    kiln_assert_status_ok(kiln_package_build(a, &s, &t, &p, &o, &b, &err), &err);
    return path;
}

static void check_fixed(void **state) {
    const fixed_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    const char *model = kiln_test_shared("onnx-node-tests/node/test_add/model.onnx");
    kiln_value_binding value[2];
    kiln_fixed_inputs fixed = {.value = value};
    kiln_err err = {0};
    kiln_opened p;
    kiln_source s;
    for (; fixed.n < 2 && r->input[fixed.n] != NULL; fixed.n++)
        value[fixed.n] = bound(r->input[fixed.n], r->value);
    const char *path = build_fixed(model);
    kiln_assert_status_ok(kiln_package_open(a, path, &p, &err), &err);
    const kiln_status st = kiln_package_source(a, &p, model, &fixed, &s, &err);
    if (r->want != KILN_OK) {
        kiln_assert_fails(st, r->want, &err, r->text);
        return;
    }
    kiln_assert_status_ok(st, &err);
    assert_int_equal(s.imported->inputs.n, 1);
    static const int threads[] = {1};
    const kiln_verify_options o = {
        .threads = threads, .n_threads = 1, .model = model, .fixed = fixed, .seed = 2};
    kiln_checks c;
    kiln_assert_status_ok(verify(path, &o, &c, &err), &err);
    assert_int_equal(c.n_failed, 0);
    assert_int_equal(c.n_passed, 3); /* archive, self-test, reference */
}

int main(void) {
    enum { N_RUNS = sizeof run_rows / sizeof run_rows[0] };
    static const struct CMUnitTest others[] = {
        {"says_what_it_built", says_what_it_built, NULL, NULL, NULL},
        {"prints_the_ledger", prints_the_ledger, NULL, NULL, NULL},
        {"says_what_was_proved", says_what_was_proved, NULL, NULL, NULL},
        {"packs_without_a_proof", packs_without_a_proof, NULL, NULL, NULL},
        {"packs_when_it_is_opened", packs_when_it_is_opened, NULL, NULL, NULL},
        {"what_is_wrong_does_not_appear", what_is_wrong_does_not_appear, NULL, NULL,
         NULL},
        {"knows_every_origin", knows_every_origin, NULL, NULL, NULL},
        {"verifies_everything", verifies_everything, NULL, NULL, NULL},
        {"fails_a_damaged_archive", fails_a_damaged_archive, NULL, NULL, NULL},
        {"fails_a_changed_folder", fails_a_changed_folder, NULL, NULL, NULL},
        {"refuses_another_model", refuses_another_model, NULL, NULL, NULL},
        {"a_crash_fails_every_check", a_crash_fails_every_check, NULL, NULL, NULL},
        {"finds_a_wrong_golden_output", finds_a_wrong_golden_output, NULL, NULL, NULL},
        {"names_a_missing_archive", names_a_missing_archive, NULL, NULL, NULL},
    };
    enum { N_OTHERS = sizeof others / sizeof others[0] };
    enum { N_FIXED = sizeof fixed_rows / sizeof fixed_rows[0] };
    static struct CMUnitTest tests[N_RUNS + N_OTHERS + N_FIXED];
    for (size_t i = 0; i < N_RUNS; i++)
        tests[i] =
            (struct CMUnitTest){run_rows[i].name, check_run, NULL, NULL, &run_rows[i]};
    memcpy(tests + N_RUNS, others, sizeof others);
    for (size_t i = 0; i < N_FIXED; i++)
        tests[N_RUNS + N_OTHERS + i] = (struct CMUnitTest){
            fixed_rows[i].name, check_fixed, NULL, NULL, &fixed_rows[i]};
    return cmocka_run_group_tests(tests, prepare, NULL);
}
