/* Packages written and read back: each entry by readers of its own, what the manifest
 * says, running what was unpacked, and failures of the system. */
#include "packager/packager_internal.h"
#include "runtime/kiln.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_build.h"

#include <archive.h>
#include <archive_entry.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *test_dir;

static const char *path_of(const char *name) {
    return kiln_path_join(kiln_test_arena(), test_dir, name);
}

static void make(kiln_arena *a, const char *profile, kiln_package *p) {
    kiln_err err = {0};
    kiln_profile found;
    kiln_assert_status_ok(kiln_profile_find(a, profile, &found, &err), &err);
    kiln_test_package(a, kiln_test_network_text, &found, p);
}

/* ---- there and back -------------------------------------------------------------- */

static void run_folder(kiln_arena *a, const char *folder, const kiln_package_facts *f) {
    char error[KILN_ERROR_TEXT] = "";
    kiln_err err = {0};
    kiln_tensor in[4];
    kiln_package_expected want[4];
    assert_true(f->n_inputs <= 4 && f->n_outputs <= 4);
    kiln_assert_status_ok(kiln_package_selftest_read(a, folder, f, in, want, &err),
                          &err);
    kiln_model *m = kiln_model_open(folder, NULL, error);
    if (m == NULL)
        fail_msg("%s", error);
    kiln_session *s = kiln_session_open(m, NULL, error);
    assert_non_null(s);
    for (size_t i = 0; i < f->n_inputs; i++)
        assert_int_equal(kiln_session_set_input(s, (int)i, in[i].data), 0);
    assert_int_equal(kiln_session_run(s), 0);
    for (size_t i = 0; i < f->n_outputs; i++) {
        const float *got = kiln_session_output(s, (int)i), *value = want[i].value.data;
        for (int64_t k = 0; k < kiln_type_elems(&want[i].value.type); k++) {
            const int64_t at = want[i].at != NULL ? want[i].at[k] : k;
            if (!(fabs((double)got[at] - (double)value[k]) <= 1e-4))
                fail_msg("output %zu, element %lld: %g, must be %g", i, (long long)at,
                         (double)got[at], (double)value[k]);
        }
    }
    kiln_session_close(s);
    kiln_model_close(m);
}

/* What is said of a package, in whatever way it is asked. */
static kiln_str manifest_of(kiln_arena *a, const kiln_package_facts *f) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_package_manifest(&text, f);
    return kiln_buf_str(&text);
}

static void unpacks_what_was_packed(void **state) {
    const char *profile = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_package p;
    kiln_package_facts f, inspected, of_folder;
    char sha256[KILN_SHA256_HEX], again[KILN_SHA256_HEX];
    kiln_str file;
    const char *archive = path_of(kiln_format(&a, "%s.zst", profile));
    const char *folder = path_of(kiln_format(&a, "%s/", profile));
    make(&a, profile, &p);
    kiln_assert_status_ok(kiln_package_write(&p, archive, sha256, &err), &err);
    kiln_assert_status_ok(kiln_file_map(&a, archive, 0, &file, &err), &err);
    kiln_sha256_of(file.p, file.n, again);
    assert_string_equal(sha256, again);
    kiln_assert_status_ok(kiln_package_unpack(&a, archive, folder, &f, &err), &err);
    kiln_assert_status_ok(kiln_package_inspect(&a, archive, &inspected, &err), &err);
    kiln_assert_status_ok(kiln_package_inspect_folder(&a, folder, &of_folder, &err),
                          &err);
    kiln_assert_text_equal(manifest_of(&a, &inspected), manifest_of(&a, &f));
    kiln_assert_text_equal(manifest_of(&a, &of_folder), manifest_of(&a, &f));
    assert_true(kiln_package_is_archive(archive) && !kiln_package_is_archive(folder));
    assert_true(kiln_package_is_folder(folder) && !kiln_package_is_folder(archive));
    assert_string_equal(f.model, "small");
    assert_string_equal(f.lld_version, "LLD 19");
    assert_true(f.zstd_version[0] >= '0' && f.zstd_version[0] <= '9');
    assert_string_equal(f.profile.name, p.facts.profile.name);
    assert_int_equal(f.n_kernels, p.facts.n_kernels);
    assert_string_equal(f.kernel[0].workload, p.facts.kernel[0].workload);
    assert_string_equal(f.kernel[0].step[0], "conv + relu");
    if (strcmp(profile, "native") == 0)
        run_folder(&a, folder, &f);
    kiln_arena_fini(&a);
}

/* libarchive's own reader of tar is a witness that others can read it. */
static void others_can_read_it(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_package p;
    kiln_package_facts f;
    struct archive_entry *e = NULL;
    const char *path = path_of("others.zst");
    make(&a, "x86-avx2", &p);
    kiln_assert_status_ok(kiln_package_write(&p, path, NULL, &err), &err);
    kiln_assert_status_ok(kiln_package_inspect(&a, path, &f, &err), &err);
    struct archive *in = archive_read_new();
    assert_int_equal(archive_read_support_filter_all(in), ARCHIVE_OK);
    assert_int_equal(archive_read_support_format_tar(in), ARCHIVE_OK);
    assert_int_equal(archive_read_open_filename(in, path, 10240), ARCHIVE_OK);
    for (size_t i = 0; i <= f.n_entries; i++) {
        assert_int_equal(archive_read_next_header(in, &e), ARCHIVE_OK);
        assert_string_equal(archive_entry_pathname(e),
                            i == 0 ? "manifest.json" : f.entry[i - 1].name);
        assert_int_equal(archive_entry_mode(e), AE_IFREG | 0644);
        assert_int_equal(archive_entry_uid(e), 0);
        assert_int_equal(archive_entry_mtime(e), KILN_PACKAGE_TIME);
        if (i == 0)
            continue;
        const size_t n = (size_t)f.entry[i - 1].bytes;
        char *data = kiln_arena_alloc(&a, n), sha256[KILN_SHA256_HEX];
        assert_int_equal(archive_entry_size(e), n);
        assert_int_equal(archive_read_data(in, data, n), n);
        kiln_sha256_of(data, n, sha256);
        assert_string_equal(sha256, f.entry[i - 1].sha256);
    }
    assert_int_equal(archive_read_next_header(in, &e), ARCHIVE_EOF);
    archive_read_free(in);
    kiln_arena_fini(&a);
}

/* ---- entries --------------------------------------------------------------------- */

static const kiln_json *parse(kiln_arena *a, kiln_str text) {
    kiln_err err = {0};
    const kiln_json *root = NULL;
    kiln_assert_status_ok(kiln_json_parse(a, text, "text", &root, &err), &err);
    return root;
}

static const char *word(const kiln_json *o, const char *key) {
    return kiln_json_string(kiln_json_get(o, key), "(none)");
}

static void graph_names_nodes_of_steps(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_package p;
    make(&a, "x86-avx2", &p);
    const kiln_json *root = parse(&a, p.graph);
    const kiln_json *step = kiln_json_at(kiln_json_get(root, "steps"), 0);
    const kiln_json *g = kiln_json_at(kiln_json_get(root, "graphs"), 0);
    const kiln_json *node = kiln_json_at(kiln_json_get(g, "nodes"), 0);
    assert_string_equal(word(root, "format"), "kiln graph");
    assert_string_equal(word(step, "kernel"), "k0");
    assert_int_equal(kiln_json_size(kiln_json_get(step, "nodes")), 2);
    assert_string_equal(word(g, "name"), "small");
    assert_string_equal(word(node, "op"), "conv");
    assert_string_equal(
        kiln_json_string(kiln_json_at(kiln_json_get(node, "inputs"), 1), ""), "w");
    assert_int_equal(kiln_json_size(kiln_json_get(g, "nodes")), 5);
    assert_int_equal(kiln_json_size(kiln_json_get(g, "values")), 9);
    kiln_arena_fini(&a);
}

/* What tools read of an unpacked folder; what an older writer did not know is NULL. */
static void steps_are_read_again(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_package p;
    const kiln_package_step *step = NULL;
    size_t n = 0;
    const char *folder = path_of("steps/");
    const char *file = kiln_path_join(&a, folder, "graph.json");
    make(&a, "x86-avx2", &p);
    const size_t n_made = kiln_json_size(kiln_json_get(parse(&a, p.graph), "steps"));
    kiln_assert_status_ok(kiln_dir_make(folder, &err), &err);
    kiln_assert_status_ok(kiln_file_write(file, p.graph.p, p.graph.n, &err), &err);
    kiln_assert_status_ok(kiln_package_steps_read(&a, folder, &step, &n, &err), &err);
    assert_int_equal(n, n_made);
    assert_string_equal(step[0].name, "conv + relu");
    assert_string_equal(step[0].kernel, "k0");
    assert_string_equal(step[0].epilogue, "bias, relu");
    assert_string_equal(step[0].layout_out, "NCHW8c");
    assert_true(step[0].n_in >= 2 && step[0].n_out == 1);
    assert_non_null(strstr(step[0].out[0], "{block=1x8"));
    static const struct {
        const char *text;
        kiln_status want;
        const char *message;
    } row[] = {
        {"{\"steps\": [{\"name\": \"a\", \"op\": \"b\", \"layout_in\": 7}]}", KILN_OK,
         NULL},
        {"{\"steps\": [{\"name\": \"a\", \"op\": \"b\", \"inputs\": 7, "
         "\"outputs\": [\"f32[1]\", null]}]}",
         KILN_OK, NULL},
        {"{\"steps\": [{\"name\": \"a\"}]}", KILN_ERR_PARSE,
         "graph.json: a step must have a name and an operator"},
        {"{\"steps\": 3}", KILN_ERR_PARSE, "graph.json: 'steps' must be a list"},
        {"{\"steps\": [", KILN_ERR_PARSE, "graph.json"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        kiln_assert_status_ok(
            kiln_file_write(file, row[i].text, strlen(row[i].text), &err), &err);
        const kiln_status st = kiln_package_steps_read(&a, folder, &step, &n, &err);
        if (row[i].want != KILN_OK) {
            kiln_assert_fails(st, row[i].want, &err, row[i].message);
            kiln_err_clear(&err);
            continue;
        }
        kiln_assert_status_ok(st, &err);
        assert_true(n == 1 && step[0].epilogue == NULL && step[0].layout_in == NULL);
        assert_true(step[0].in == NULL && step[0].out == NULL && step[0].n_out == 0);
    }
    kiln_arena_fini(&a);
}

/* Graphs inside graphs are listed behind the first. */
static void graph_lists_regions(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const char text[] =
        "graph \"g\" { input %x : f32[3] input %c : bool[] "
        "%y = if(%c, %x, %x) {then_branch=graph \"t\" { input %c : f32[3] "
        "%a = relu(%c) output "
        "%a }, "
        "else_branch=graph \"e\" { input %c : f32[3] %a = tanh(%c) "
        "output %a }} output %y }";
    kiln_assert_status_ok(kiln_graph_parse(&a, kiln_str_from(text), "t", &g, &err),
                          &err);
    const kiln_json *root = parse(&a, kiln_package_graph_json(&a, g, NULL, 0));
    const kiln_json *graphs = kiln_json_get(root, "graphs");
    const kiln_json *first = kiln_json_at(graphs, 0);
    const kiln_json *node = kiln_json_at(kiln_json_get(first, "nodes"), 0);
    const kiln_json *attributes = kiln_json_get(node, "attributes");
    int64_t index = 0;
    assert_int_equal(kiln_json_size(graphs), 3);
    assert_true(kiln_json_i64(
        kiln_json_get(kiln_json_get(attributes, "else_branch"), "graph"), &index));
    node = kiln_json_at(kiln_json_get(kiln_json_at(graphs, (size_t)index), "nodes"), 0);
    assert_string_equal(word(node, "op"), "tanh");
    kiln_arena_fini(&a);
}

/* Sizes, padding and types as a reader of safetensors wants them. */
static void params_are_safetensors(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const int64_t dim[] = {3, 5};
    kiln_type blocked = kiln_type_make(KILN_F32, 2, dim);
    blocked.layout = (kiln_layout){.n_blocks = 1, .block = {{1, 4}}};
    const int64_t even[] = {4, 8};
    const kiln_package_tensor t[] = {
        {"w", blocked, 0},
        {"w", kiln_type_make(KILN_F16, 2, even), 128},
        {"\xFF", kiln_type_make(KILN_BOOL, 0, NULL), 192},
        {"__metadata__", kiln_type_make(KILN_I64, 1, (const int64_t[]){0}), 256},
    };
    const kiln_str head = kiln_package_params_head(&a, t, 4, 256);
    kiln_safetensors s;
    assert_int_equal(head.n % 64, 0);
    kiln_assert_text_equal(
        kiln_str_trim((kiln_str){head.p + 8, head.n - 8}),
        kiln_str_from(
            "{\"__metadata__\": {\"w\": \"f32[3,5]{block=1x4}\", \"w#2\": "
            "\"f16[4,8]\", \"\xC3\xBF\": \"bool[]\", \"__metadata__#2\": \"i64[0]\"}, "
            "\"w\": {\"dtype\": \"F32\", \"shape\": [32], \"data_offsets\": [0, 128]}, "
            "\"w#2\": {\"dtype\": \"F16\", \"shape\": [4, 8], \"data_offsets\": [128, "
            "192]}, \"\xC3\xBF\": {\"dtype\": \"BOOL\", \"shape\": [64], "
            "\"data_offsets\": [192, 256]}, \"__metadata__#2\": {\"dtype\": \"I64\", "
            "\"shape\": [0], \"data_offsets\": [256, 256]}}"));
    kiln_assert_status_ok(kiln_safetensors_read(&a, head, head.n + 256, "t", &s, &err),
                          &err);
    assert_int_equal(s.n, 4);
    assert_true(kiln_type_eq(&s.tensor[0].type, &blocked));
    kiln_arena_fini(&a);
}

/* Older kilns wrote what a constant is packed to into its layout. */
typedef struct older_row {
    const char *name, *type, *is; /* is: as it is read today; NULL: refused */
} older_row;

static older_row older_rows[] = {
    {"older_weights", "f32[5,4,3,3]{order=2301,block=1x4,0x8,winograd=2}",
     "f32[5,4,4,4]{order=2301,block=1x4,0x8}"},
    {"older_weights_in_one_block", "f32[8,4,3,3]{block=0x8,winograd=2}",
     "f32[8,4,4,4]{block=0x8}"},
    {"older_weights_of_other_windows", "f32[5,4,5,5]{block=0x8,winograd=2}", NULL},
    {"older_weights_without_a_number", "f32[5,4,3,3]{block=0x8,winograd=}", NULL},
    {"older_weights_of_three_axes", "f32[5,3,3]{block=0x8,winograd=2}", NULL},
};

static void reads_params_of_older_kilns(void **state) {
    const older_row *r = *state;
    const int64_t bytes = (int64_t)4 * 4 * 8 * 4 * 4;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_safetensors s;
    kiln_buf head;
    kiln_buf_init(&head, &a);
    kiln_buf_add(&head, "\xB8\0\0\0\0\0\0\0", 8); /* 192 with itself */
    kiln_buf_printf(&head,
                    "{\"__metadata__\":{\"w\":\"%s\"},\"w\":{\"dtype\":\"F32\","
                    "\"shape\":[512],\"data_offsets\":[0,%d]}}",
                    r->type, (int)bytes);
    while (head.n < 192)
        kiln_buf_puts(&head, " ");
    const kiln_status st = kiln_safetensors_read(&a, kiln_buf_str(&head),
                                                 192 + (uint64_t)bytes, "t", &s, &err);
    if (r->is == NULL) {
        assert_int_equal(st, KILN_ERR_PARSE);
        assert_non_null(strstr(err.text, "has no type in the metadata"));
    } else {
        kiln_assert_status_ok(st, &err);
        assert_string_equal(kiln_type_text(&a, &s.tensor[0].type), r->is);
    }
    kiln_arena_fini(&a);
}

static void large_outputs_are_sampled(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_package_selftest t;
    kiln_package_expected out;
    kiln_tensor in;
    const int64_t dim[] = {7, 1000};
    kiln_tensor x = {kiln_type_make(KILN_F32, 0, NULL), (float[]){1}};
    kiln_tensor y = {kiln_type_make(KILN_I32, 2, dim), kiln_array(&a, int32_t, 7000)};
    for (int32_t i = 0; i < 7000; i++)
        ((int32_t *)y.data)[i] = 3 * i;
    const kiln_package_port ports[] = {{"x", "f32", 0, {0}},
                                       {"y", "i32", 2, {7, 1000}}};
    const kiln_package_facts f = {
        .input = &ports[0], .output = &ports[1], .n_inputs = 1, .n_outputs = 1};
    const kiln_package_expected whole = {.value = y};
    kiln_package_selftest_make(&a, &x, 1, &whole, 1, &t);
    kiln_assert_status_ok(
        kiln_selftest_decode(&a, &f, t.inputs, t.expected, &in, &out, &err), &err);
    const int64_t n = kiln_type_elems(&out.value.type);
    assert_true(n > 2000 && n <= KILN_SELFTEST_SAMPLES);
    assert_int_equal(out.at[0], 0);
    assert_int_equal(out.at[n - 1], 6999);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(((int32_t *)out.value.data)[i], 3 * out.at[i]);
    kiln_arena_fini(&a);
}

/* No run of 2 * 7000 / 4096 elements and more is without a sample. */
static void samples_leave_no_gaps(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_package_selftest t;
    kiln_package_expected out;
    kiln_tensor in;
    enum { N = 70000, GAP = 2 * (N / KILN_SELFTEST_SAMPLES + 1) };
    const int64_t dim[] = {N};
    kiln_tensor x = {kiln_type_make(KILN_F32, 0, NULL), (float[]){1}};
    kiln_tensor y = {kiln_type_make(KILN_F32, 1, dim), kiln_array(&a, float, N)};
    const kiln_package_port ports[] = {{"x", "f32", 0, {0}}, {"y", "f32", 1, {N}}};
    const kiln_package_facts f = {
        .input = &ports[0], .output = &ports[1], .n_inputs = 1, .n_outputs = 1};
    const kiln_package_expected whole = {.value = y};
    kiln_package_selftest_make(&a, &x, 1, &whole, 1, &t);
    kiln_assert_status_ok(
        kiln_selftest_decode(&a, &f, t.inputs, t.expected, &in, &out, &err), &err);
    const int64_t n = kiln_type_elems(&out.value.type);
    assert_int_equal(n, KILN_SELFTEST_SAMPLES);
    for (int64_t i = 1; i < n; i++)
        assert_true(out.at[i] > out.at[i - 1] && out.at[i] - out.at[i - 1] <= GAP);
    kiln_arena_fini(&a);
}

/* Bounds follow their elements: whole, sampled, and of a list with some left out. */
static void bounds_come_back(void **state) {
    (void)state;
    enum { N = 9000 };
    const int64_t kept[] = {3, N / 2};
    for (int how = 0; how < 4; how++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        kiln_package_selftest t;
        kiln_package_expected out;
        kiln_tensor in;
        const int64_t n = how == 0 ? 5 : N, n_kept = how == 3 ? 0 : kept[1];
        kiln_tensor x = {kiln_type_make(KILN_F32, 0, NULL), (float[]){1}};
        kiln_package_expected e = {.value.type = kiln_type_make(KILN_F32, 1, &n)};
        float *value = kiln_array(&a, float, N), *bound = kiln_array(&a, float, N);
        int64_t *at = kiln_array(&a, int64_t, N);
        for (int64_t i = 0; i < N; i++) {
            at[i] = how < 2 ? i : 2 * i + 1; /* of the whole output */
            value[i] = (float)at[i];
            bound[i] = (float)at[i] / 8;
        }
        e.value.data = value;
        e.bound = bound;
        if (how >= 2) {
            e.value.type = kiln_type_make(KILN_F32, 1, &n_kept);
            e.at = at;
        }
        const kiln_package_port ports[] = {{"x", "f32", 0, {0}}, {"y", "f32", 1, {n}}};
        const kiln_package_facts f = {
            .input = &ports[0], .output = &ports[1], .n_inputs = 1, .n_outputs = 1};
        kiln_package_selftest_make(&a, &x, 1, &e, 1, &t);
        kiln_assert_status_ok(
            kiln_selftest_decode(&a, &f, t.inputs, t.expected, &in, &out, &err), &err);
        const int64_t n_out = kiln_type_elems(&out.value.type);
        assert_int_equal(n_out, how == 0 ? 5 : how == 3 ? 0 : KILN_SELFTEST_SAMPLES);
        for (int64_t i = 0; i < n_out; i++) {
            const float place = out.at != NULL ? (float)out.at[i] : (float)i;
            assert_true(((float *)out.value.data)[i] == place);
            assert_true(out.bound[i] == place / 8);
        }
        kiln_arena_fini(&a);
    }
}

static void bounds_must_be_numbers(void **state) {
    (void)state;
    static const float bad[] = {-1, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        kiln_package_selftest t;
        kiln_package_expected out;
        kiln_tensor in;
        const int64_t n = 2;
        float value[2] = {1, 2}, bound[2] = {0, bad[i]};
        kiln_tensor x = {kiln_type_make(KILN_F32, 0, NULL), (float[]){1}};
        const kiln_package_port ports[] = {{"x", "f32", 0, {0}}, {"y", "f32", 1, {2}}};
        const kiln_package_facts f = {
            .input = &ports[0], .output = &ports[1], .n_inputs = 1, .n_outputs = 1};
        const kiln_package_expected e = {
            .value = {kiln_type_make(KILN_F32, 1, &n), value}, .bound = bound};
        kiln_package_selftest_make(&a, &x, 1, &e, 1, &t);
        kiln_assert_fails(
            kiln_selftest_decode(&a, &f, t.inputs, t.expected, &in, &out, &err),
            KILN_ERR_PARSE, &err,
            "tensor 'output0.bound' must hold numbers of at least 0");
        kiln_arena_fini(&a);
    }
}

static void sbom_is_spdx(void **state) {
    (void)state;
    kiln_arena a = {0};
    const kiln_package_facts f = {.model = "m",
                                  .version = "2",
                                  .source_sha256 = "00",
                                  .licence = "BSD-3-Clause",
                                  .kiln_version = "1",
                                  .llvm_version = "19.1",
                                  .lld_version = "LLD 19.1.7",
                                  .zstd_version = "1.5",
                                  .profile = {.name = "p"}};
    const kiln_json *root = parse(&a, kiln_package_sbom(&a, &f, 951782400));
    const kiln_json *packages = kiln_json_get(root, "packages");
    assert_string_equal(word(root, "spdxVersion"), "SPDX-2.3");
    assert_string_equal(word(kiln_json_get(root, "creationInfo"), "created"),
                        "2000-02-29T00:00:00Z");
    assert_int_equal(kiln_json_size(packages), 6);
    assert_int_equal(kiln_json_size(kiln_json_get(root, "relationships")), 6);
    assert_string_equal(word(kiln_json_at(packages, 4), "versionInfo"), "LLD 19.1.7");
    assert_string_equal(word(kiln_json_at(packages, 5), "versionInfo"), "1.5");
    assert_string_equal(word(kiln_json_at(packages, 1), "licenseDeclared"),
                        "BSD-3-Clause");
    assert_string_equal(word(kiln_json_at(packages, 3), "versionInfo"), "19.1");
    kiln_arena_fini(&a);
}

static void names_of_files_are_plain(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_package_facts f = {
        .model = "res/net 18", .version = "1.0", .profile = {.name = "é"}};
    assert_string_equal(kiln_package_file_name(a, &f),
                        "res_net_18-1.0-__.kiln.tar.zst");
    f.threads = 2;
    assert_string_equal(kiln_package_file_name(a, &f),
                        "res_net_18-1.0-__-t2.kiln.tar.zst");
}

/* ---- time ------------------------------------------------------------------------ */

typedef struct time_row {
    const char *name, *text;
    int64_t want; /* -1: refused */
} time_row;

static time_row time_rows[] = {
    {"time_not_given", NULL, KILN_PACKAGE_TIME},
    {"time_empty", "", KILN_PACKAGE_TIME},
    {"time_given", "1700000000", 1700000000},
    {"time_zero", "0", 0},
    {"time_negative", "-1", -1},
    {"time_too_late", "8589934592", -1},
    {"time_no_number", "yesterday", -1},
};

static void check_time(void **state) {
    const time_row *r = *state;
    kiln_err err = {0};
    int64_t t = -1;
    unsetenv("SOURCE_DATE_EPOCH");
    if (r->text != NULL)
        setenv("SOURCE_DATE_EPOCH", r->text, 1);
    if (r->want >= 0)
        kiln_assert_status_ok(kiln_package_time(&t, &err), &err);
    else
        kiln_assert_fails(kiln_package_time(&t, &err), KILN_ERR_ARG, &err,
                          kiln_format(kiln_test_arena(),
                                      "SOURCE_DATE_EPOCH must be seconds since 1970, "
                                      "from 0 to 8589934591, is '%s'",
                                      r->text));
    assert_int_equal(t, r->want);
    unsetenv("SOURCE_DATE_EPOCH");
}

/* ---- what the system refuses ----------------------------------------------------- */

static size_t count_names(const char *dir) {
    char **names = NULL;
    size_t n = 0;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_dir_list(kiln_test_arena(), dir, &names, &n, &err),
                          &err);
    return n;
}

typedef struct folder_row {
    const char *name;
    const char *folder; /* @: a fresh one, which has "file" and "link" in it */
    kiln_status status;
    const char *text; /* behind the folder's name; with @ as well */
} folder_row;

static folder_row folder_rows[] = {
    {"refuses_a_folder_that_exists", "@", KILN_ERR_ARG,
     "'@' exists; name a folder that does not, or remove it"},
    {"refuses_a_file", "@/file", KILN_ERR_ARG,
     "'@/file' exists; name a folder that does not, or remove it"},
    {"refuses_a_link_to_nothing", "@/link", KILN_ERR_ARG,
     "'@/link' exists; name a folder that does not, or remove it"},
    {"refuses_a_folder_in_none", "@/none/x", KILN_ERR_IO,
     "making a folder in '@/none': No such file or directory"},
    {"refuses_a_folder_in_a_file", "@/file/x", KILN_ERR_IO,
     "making a folder in '@/file': Not a directory"},
};

static const char *in_folder(const char *text, const char *dir) {
    kiln_str rest = kiln_str_from(text), head;
    const char *out = "";
    bool first = true;
    while (kiln_str_cut(&rest, '@', &head)) {
        out = kiln_format(kiln_test_arena(), "%s%s%.*s", out, first ? "" : dir,
                          KILN_STR_ARG(head));
        first = false;
    }
    return out;
}

static void check_folder(void **state) {
    const folder_row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const char *dir = path_of(r->name), *archive = path_of("good.zst");
    kiln_assert_status_ok(kiln_dir_make(dir, &err), &err);
    kiln_assert_status_ok(kiln_file_write(kiln_path_join(&a, dir, "file"), "", 0, &err),
                          &err);
    assert_int_equal(symlink("nowhere", kiln_path_join(&a, dir, "link")), 0);
    kiln_assert_fails(
        kiln_package_unpack(&a, archive, in_folder(r->folder, dir), NULL, &err),
        r->status, &err, in_folder(r->text, dir));
    assert_int_equal(count_names(dir), 2);
    kiln_arena_fini(&a);
}

/* A full disk, as far as one process can have one: writes past 8000 bytes fail. */
static void limit_files(void) {
    const struct rlimit limit = {8000, 8000};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static kiln_package full_package;

static void unpack_on_full_disk(void *dir) {
    kiln_err err = {0};
    limit_files();
    if (kiln_package_unpack(kiln_test_arena(), path_of("good.zst"),
                            kiln_path_join(kiln_test_arena(), dir, "x"), NULL,
                            &err) != KILN_ERR_IO ||
        strstr(err.text, "cannot write '") == NULL ||
        strstr(err.text, "': File too large") == NULL)
        _exit(1);
}

static void write_on_full_disk(void *dir) {
    kiln_err err = {0};
    limit_files();
    if (kiln_package_write(&full_package,
                           kiln_path_join(kiln_test_arena(), dir, "x.zst"), NULL,
                           &err) != KILN_ERR_IO ||
        strstr(err.text, "x.zst': File too large; it is larger than files may be here "
                         "(ulimit -f)\n  while writing the package") == NULL)
        _exit(1);
}

static void link_on_full_disk(void *dir) {
    kiln_err err = {0};
    kiln_str out;
    char *zeros = kiln_arena_alloc(kiln_test_arena(), 30000);
    const kiln_package_object object = {"k0", {zeros, 30000}};
    setenv("TMPDIR", dir, 1);
    limit_files();
    if (kiln_package_link(kiln_test_arena(), KILN_ARCH_X86_64, &object, 1, &out,
                          &err) != KILN_ERR_IO ||
        strstr(err.text, "0.o': File too large\n  while linking 1 kernel") == NULL)
        _exit(1);
}

static void unpack_interrupted(void *dir) {
    kiln_err err = {0};
    kiln_interrupt_catch();
    raise(SIGTERM);
    if (kiln_package_unpack(kiln_test_arena(), path_of("good.zst"),
                            kiln_path_join(kiln_test_arena(), dir, "x"), NULL,
                            &err) != KILN_ERR_INTERRUPTED ||
        strstr(err.text, "interrupted") == NULL)
        _exit(1);
}

static void link_interrupted(void *dir) {
    kiln_err err = {0};
    kiln_str out;
    const kiln_package_object object = {"k0", {"", 0}};
    setenv("TMPDIR", dir, 1);
    kiln_interrupt_catch();
    raise(SIGTERM);
    if (kiln_package_link(kiln_test_arena(), KILN_ARCH_X86_64, &object, 1, &out,
                          &err) != KILN_ERR_INTERRUPTED ||
        strstr(err.text, "interrupted; the same command starts again\n  while "
                         "linking") == NULL)
        _exit(1);
}

static void leaves_nothing_behind(void **state) {
    (void)state;
    void (*const child[])(void *) = {unpack_on_full_disk, write_on_full_disk,
                                     link_on_full_disk, unpack_interrupted,
                                     link_interrupted};
    for (size_t i = 0; i < sizeof child / sizeof child[0]; i++) {
        kiln_err err = {0};
        kiln_test_death death;
        char *dir = kiln_format(kiln_test_arena(), "%s/full%zu", test_dir, i);
        kiln_assert_status_ok(kiln_dir_make(dir, &err), &err);
        kiln_test_in_child(child[i], dir, &death);
        if (death.exit_code != 0)
            fail_msg("child %zu: %s", i, death.stderr_text);
        assert_int_equal(count_names(dir), 0);
    }
}

static void honours_the_umask(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    struct stat st;
    const char *folder = path_of("masked");
    const mode_t before = umask(027);
    kiln_assert_status_ok(
        kiln_package_unpack(&a, path_of("good.zst"), folder, NULL, &err), &err);
    umask(before);
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0750);
    assert_int_equal(stat(kiln_path_join(&a, folder, "plan.bin"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    kiln_arena_fini(&a);
}

/* ---- linking --------------------------------------------------------------------- */

static void links_nothing_that_is_no_object(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_str out;
    const kiln_package_object object = {"k0", KILN_STR_LIT("this is no object")};
    kiln_assert_fails(
        kiln_package_link(kiln_test_arena(), KILN_ARCH_X86_64, &object, 1, &out, &err),
        KILN_ERR_LIB, &err, "'ld.lld-19' ended with code 1: ");
}

static void names_the_remedy_without_linker(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_str out;
    const char *path = kiln_str_dup(kiln_test_arena(), getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    const kiln_status st =
        kiln_package_link(kiln_test_arena(), KILN_ARCH_X86_64, NULL, 0, &out, &err);
    setenv("PATH", path, 1);
    kiln_assert_fails(st, KILN_ERR_LIB, &err,
                      "kiln links with 'ld.lld-19': install the Debian package lld-19 "
                      "and have it in PATH\n  while linking 0 kernels");
}

/* Nothing but a copy: no kernel, no parameter. */
static void packs_a_network_without_kernels(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_package_facts f;
    const char *path = path_of("copy.zst");
    kiln_test_package_file("graph \"copy\" { input %x : f32[2,3] output %x }", NULL,
                           path);
    kiln_assert_status_ok(kiln_package_unpack(&a, path, path_of("copy"), &f, &err),
                          &err);
    assert_int_equal(f.n_kernels, 0);
    assert_int_equal(f.memory.params, 0);
    run_folder(&a, path_of("copy"), &f);
    kiln_arena_fini(&a);
}

/* What nobody could read again is not written. */
static void writes_nothing_that_does_not_fit(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_package p;
    const char *path = path_of("unfit.zst");
    make(&a, "x86-avx2", &p);
    p.facts.version = "";
    kiln_assert_fails(kiln_package_write(&p, path, NULL, &err), KILN_ERR_PARSE, &err,
                      "'model.version' must be a text of 1 to 256 bytes\n  while "
                      "writing the package");
    p.facts.version = "1";
    p.lib = KILN_STR_LIT("nothing");
    kiln_assert_fails(kiln_package_write(&p, path, NULL, &err), KILN_ERR_PARSE, &err,
                      "lib.so: this is no ELF64 object or shared library");
    assert_false(kiln_file_exists(path));
    kiln_arena_fini(&a);
}

int main(void) {
    static char native[] = "native", aarch64[] = "aarch64", sse[] = "x86-avx2";
    test_dir = kiln_test_dir();
    kiln_test_package_file(kiln_test_network_text, NULL, path_of("good.zst"));
    make(kiln_test_arena(), "x86-avx2", &full_package);
    kiln_test_add("unpacks_what_was_packed", unpacks_what_was_packed, native);
    kiln_test_add("unpacks_for_avx2", unpacks_what_was_packed, sse);
    kiln_test_add("unpacks_for_aarch64", unpacks_what_was_packed, aarch64);
    kiln_test_add("others_can_read_it", others_can_read_it, NULL);
    kiln_test_add("graph_names_nodes_of_steps", graph_names_nodes_of_steps, NULL);
    kiln_test_add("steps_are_read_again", steps_are_read_again, NULL);
    kiln_test_add("graph_lists_regions", graph_lists_regions, NULL);
    kiln_test_add("params_are_safetensors", params_are_safetensors, NULL);
    kiln_test_add_rows(reads_params_of_older_kilns, older_rows);
    kiln_test_add("large_outputs_are_sampled", large_outputs_are_sampled, NULL);
    kiln_test_add("samples_leave_no_gaps", samples_leave_no_gaps, NULL);
    kiln_test_add("bounds_come_back", bounds_come_back, NULL);
    kiln_test_add("bounds_must_be_numbers", bounds_must_be_numbers, NULL);
    kiln_test_add("sbom_is_spdx", sbom_is_spdx, NULL);
    kiln_test_add("names_of_files_are_plain", names_of_files_are_plain, NULL);
    kiln_test_add_rows(check_time, time_rows);
    kiln_test_add_rows(check_folder, folder_rows);
    kiln_test_add("leaves_nothing_behind", leaves_nothing_behind, NULL);
    kiln_test_add("honours_the_umask", honours_the_umask, NULL);
    kiln_test_add("links_nothing_that_is_no_object", links_nothing_that_is_no_object,
                  NULL);
    kiln_test_add("names_the_remedy_without_linker", names_the_remedy_without_linker,
                  NULL);
    kiln_test_add("packs_a_network_without_kernels", packs_a_network_without_kernels,
                  NULL);
    kiln_test_add("writes_nothing_that_does_not_fit", writes_nothing_that_does_not_fit,
                  NULL);
    return kiln_test_run("package");
}
