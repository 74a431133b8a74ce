/* One archive for several shapes and profiles: what each computes, what is shared, what
 * is refused. */
#include "pipeline/devices/devices_internal.h"
#include "pipeline/package/package.h"
#include "runtime/kiln.h"
#include "runtime/variants.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_craft.h"
#include "tests/support/model/residual_model.h"

#include <string.h>

enum { N_BATCHES = 3, N_SCORES = 10, N_PIXELS = 3 * 8 * 8 };
static const int64_t batch[N_BATCHES] = {1, 4, 8};
static kiln_build alone[N_BATCHES]; /* each by itself */
static const char *alone_path[N_BATCHES];
static const char *joined, *unpacked;

static const char *file(const char *name) {
    static const char *dir;
    if (dir == NULL)
        dir = kiln_test_dir();
    return kiln_path_join(kiln_test_arena(), dir, name);
}

static kiln_build build(const char *profile, int64_t n, const char *path) {
    return kiln_test_build_residual(file("m.onnx"), profile, n, path);
}

static int prepare(void **state) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_build part[N_BATCHES];
    (void)state;
    kiln_test_write_residual(file("m.onnx"));
    for (int i = 0; i < N_BATCHES; i++) {
        alone_path[i] = file(kiln_format(a, "%d.kiln.tar.zst", i));
        part[i] = alone[i] = build("native", batch[i], alone_path[i]);
    }
    joined = kiln_test_join(part, N_BATCHES, file("joined.kiln.tar.zst"));
    unpacked = file("unpacked");
    kiln_assert_status_ok(kiln_package_unpack(a, joined, unpacked, NULL, &err), &err);
    return 0;
}

/* ---- what is computed ------------------------------------------------------------- */

static float *pixels(int64_t n) {
    float *p = kiln_array(kiln_test_arena(), float, (size_t)n *N_PIXELS);
    kiln_rng r;
    kiln_rng_init(&r, kiln_test_seed());
    for (int64_t i = 0; i < n * N_PIXELS; i++)
        p[i] = (float)(2 * kiln_rng_unit(&r) - 1);
    return p;
}

static void run_session(kiln_session *s, const float *in, int64_t n, float *out) {
    assert_int_equal(kiln_session_set_input(s, 0, in), 0);
    if (kiln_session_run(s) != 0)
        fail_msg("%s", kiln_session_error(s));
    memcpy(out, kiln_session_output(s, 0), (size_t)n * N_SCORES * sizeof *out);
}

static kiln_shape shape_of(int64_t n) {
    return (kiln_shape){.rank = 4, .dim = {n, 3, 8, 8}};
}

/* What the package by itself computes, bit by bit, whatever ran before. */
static void computes_each_shape(void **state) {
    kiln_arena *a = kiln_test_arena();
    char error[KILN_ERROR_TEXT] = "";
    const kiln_session_options two = {.n_threads = 2};
    float *want[N_BATCHES], got[8 * N_SCORES];
    (void)state;
    for (int i = 0; i < N_BATCHES; i++) {
        kiln_err err = {0};
        const char *folder = file(kiln_format(a, "alone%d", i));
        want[i] = kiln_array(a, float, 8 * N_SCORES);
        kiln_assert_status_ok(
            kiln_package_unpack_for_now(a, alone_path[i], folder, NULL, &err), &err);
        kiln_model *m = kiln_model_open(folder, NULL, error);
        assert_non_null(m);
        assert_int_equal(kiln_model_n_variants(m), 1);
        kiln_session *s = kiln_session_open(m, &two, error);
        run_session(s, pixels(batch[i]), batch[i], want[i]);
        kiln_session_close(s);
        kiln_model_close(m);
    }
    kiln_model *m = kiln_model_open(unpacked, NULL, error);
    if (m == NULL)
        fail_msg("%s", error);
    assert_int_equal(kiln_model_n_variants(m), N_BATCHES);
    kiln_session *s = kiln_session_open(m, &two, error);
    assert_non_null(s);
    for (int k = 0; k < 2 * N_BATCHES; k++) {
        const int i = (k * 2 + 1) % N_BATCHES;
        const kiln_shape shape = shape_of(batch[i]);
        kiln_port_info p;
        assert_int_equal(kiln_session_set_shapes(s, &shape, 1), 0);
        assert_int_equal(kiln_model_output(kiln_session_model(s), 0, &p), 0);
        assert_int_equal(p.dim[0], batch[i]);
        run_session(s, pixels(batch[i]), batch[i], got);
        assert_memory_equal(got, want[i], (size_t)batch[i] * N_SCORES * sizeof *got);
    }
    kiln_session_close(s);
    kiln_model_close(m);
}

/* A variant alone is a model like any other. */
static void runs_one_variant(void **state) {
    char error[KILN_ERROR_TEXT] = "";
    float got[8 * N_SCORES], again[8 * N_SCORES];
    (void)state;
    kiln_model *m = kiln_model_open(unpacked, NULL, error);
    assert_non_null(m);
    assert_null(kiln_model_variant(m, N_BATCHES));
    assert_null(kiln_model_variant(m, -1));
    assert_ptr_equal(kiln_model_variant(m, 0), m);
    kiln_session *s = kiln_session_open(kiln_model_variant(m, 2), NULL, error);
    run_session(s, pixels(8), 8, got);
    const kiln_shape one = shape_of(1);
    assert_int_equal(kiln_session_set_shapes(s, &one, 1), -1);
    kiln_session_close(s);
    kiln_model_close(m);
    /* So is its folder. */
    m = kiln_model_open(kiln_path_join(kiln_test_arena(), unpacked, "v2"), NULL, error);
    assert_non_null(m);
    s = kiln_session_open(m, NULL, error);
    run_session(s, pixels(8), 8, again);
    assert_memory_equal(got, again, sizeof got);
    kiln_session_close(s);
    kiln_model_close(m);
}

static void names_the_shapes(void **state) {
    char error[KILN_ERROR_TEXT] = "";
    (void)state;
    kiln_model *m = kiln_model_open(unpacked, NULL, error);
    kiln_session *s = kiln_session_open(m, NULL, error);
    const kiln_shape two = shape_of(2);
    assert_int_equal(kiln_session_set_shapes(s, &two, 1), -1);
    assert_string_equal(kiln_session_error(s),
                        "no variant takes 2x3x8x8; there are: data 1x3x8x8; data "
                        "4x3x8x8; data 8x3x8x8");
    assert_ptr_equal(kiln_session_model(s), m);
    kiln_session_close(s);
    kiln_model_close(m);
}

/* Activations and threads are shared: the session is about as large as the largest. */
static void shares_a_session(void **state) {
    char error[KILN_ERROR_TEXT] = "";
    size_t sum = 0, largest = 0;
    (void)state;
    kiln_model *m = kiln_model_open(unpacked, NULL, error);
    for (int i = 0; i < N_BATCHES; i++) {
        kiln_session *s = kiln_session_open(kiln_model_variant(m, i), NULL, error);
        const size_t bytes = kiln_session_bytes(s);
        sum += bytes;
        largest = bytes > largest ? bytes : largest;
        kiln_session_close(s);
    }
    kiln_session *s = kiln_session_open(m, NULL, error);
    const size_t all = kiln_session_bytes(s);
    print_message("alone %zu, the largest %zu, together %zu\n", sum, largest, all);
    assert_true(all < sum);
    kiln_session_close(s);
    kiln_model_close(m);
}

/* ---- the archive ------------------------------------------------------------------ */

/* Packed for one profile the three read the same bytes. */
static void stores_parameters_once(void **state) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_package_facts f;
    uint64_t sum = 0;
    (void)state;
    kiln_assert_status_ok(kiln_package_inspect(a, joined, &f, &err), &err);
    assert_int_equal(f.n_variants, N_BATCHES);
    for (int i = 0; i < N_BATCHES; i++) {
        kiln_package_facts own;
        kiln_assert_status_ok(kiln_package_inspect(a, alone_path[i], &own, &err), &err);
        sum += own.memory.params;
        assert_string_equal(f.variant[i].folder, kiln_format(a, "v%d", i));
        assert_int_equal(f.variant[i].facts->input[0].dim[0], batch[i]);
        assert_int_equal(f.variant[i].facts->memory.params, f.memory.params);
    }
    print_message("parameters: %llu bytes of %llu\n",
                  (unsigned long long)f.memory.params, (unsigned long long)sum);
    assert_true(f.memory.params < sum);
    assert_true(f.memory.params >= (uint64_t)alone[0].params);
}

/* A function of what is in it. */
static void is_reproducible(void **state) {
    kiln_build part[N_BATCHES];
    kiln_str x, y;
    kiln_err err = {0};
    (void)state;
    memcpy(part, alone, sizeof part);
    const char *again = kiln_test_join(part, N_BATCHES, file("again.kiln.tar.zst"));
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), joined, 0, &x, &err), &err);
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), again, 0, &y, &err), &err);
    assert_true(kiln_str_eq(x, y));
}

static void is_verified(void **state) {
    kiln_arena *a = kiln_test_arena();
    const int threads[] = {1};
    const char *const path[] = {joined, unpacked};
    (void)state;
    for (int i = 0; i < 2; i++) {
        kiln_err err = {0};
        kiln_checks checks = {.n_passed = 0};
        const kiln_verify_options o = {
            .threads = threads, .n_threads = 1, .model = file("m.onnx"), .seed = 2};
        kiln_assert_status_ok(kiln_verify_package(a, path[i], &o, &checks, &err), &err);
        assert_int_equal(checks.n_failed, 0);
        assert_int_equal(checks.n_passed, 1 + 2 * N_BATCHES);
    }
}

/* Inputs choose; others than there are are refused with all that there are. */
static void is_chosen_by_inputs(void **state) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_opened p;
    kiln_named_tensor in = {.name = "data"};
    const kiln_run_options o = {.in = &in, .n_in = 1};
    kiln_type t = kiln_type_make(KILN_F32, 4, (const int64_t[]){4, 3, 8, 8});
    (void)state;
    kiln_assert_status_ok(kiln_package_open(a, joined, &p, &err), &err);
    in.value = kiln_ref_random(a, &t, 1);
    kiln_assert_status_ok(kiln_opened_choose_for(a, &p, &o, &err), &err);
    assert_int_equal(p.chosen, 1);
    assert_int_equal(p.package.input[0].type.dim[0], 4);
    t.dim[0] = 5;
    in.value = kiln_ref_random(a, &t, 1);
    assert_int_equal(kiln_opened_choose_for(a, &p, &o, &err), KILN_ERR_SHAPE);
    assert_non_null(strstr(err.text, "was not built for data [5,3,8,8]; it was for: "
                                     "data [1,3,8,8]; data [4,3,8,8]; data [8,3,8,8]"));
}

/* Whatever bit is flipped. */
static void damage_is_found(void **state) {
    enum { STEP = 997 };
    kiln_arena *a = kiln_test_arena();
    kiln_str whole;
    kiln_err err = {0};
    (void)state;
    kiln_assert_status_ok(kiln_file_map(a, joined, 0, &whole, &err), &err);
    for (size_t at = 5; at < whole.n; at += whole.n / 16 + STEP) {
        char *copy = kiln_arena_dup(a, whole.p, whole.n);
        copy[at] ^= 4;
        kiln_err_clear(&err);
        kiln_assert_status_ok(kiln_file_write(file("bad"), copy, whole.n, &err), &err);
        assert_int_not_equal(
            kiln_package_unpack_for_now(a, file("bad"), file("none"), NULL, &err),
            KILN_OK);
        assert_false(kiln_dir_exists(file("none")));
    }
}

/* ---- profiles --------------------------------------------------------------------- */

static void puts_the_best_first(void **state) {
    static const char *const given[] = {"x86-baseline", "aarch64", "x86-avx2",
                                        "x86-avx512"};
    static const char *const want[] = {"x86-avx512", "x86-avx2", "x86-baseline",
                                       "aarch64"};
    enum { N = 4 };
    kiln_err err = {0};
    kiln_profile p[N];
    (void)state;
    for (int i = 0; i < N; i++)
        kiln_assert_status_ok(
            kiln_profile_find(kiln_test_arena(), given[i], &p[i], &err), &err);
    kiln_profiles_best_first(p, N);
    for (int i = 0; i < N; i++)
        assert_string_equal(p[i].name, want[i]);
}

static int has_no_avx2(const char *feature) {
    return strncmp(feature, "x86-64-v", 8) != 0;
}

/* A machine with AVX2 takes its code, another one the base's, both from one archive. */
static void takes_what_the_machine_has(void **state) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    char error[KILN_ERROR_TEXT] = "";
    kiln_build part[2];
    kiln_profile native;
    kiln_str text;
    kiln_variants v;
    (void)state;
    kiln_assert_status_ok(kiln_profile_find(a, "native", &native, &err), &err);
    if (native.arch != KILN_ARCH_X86_64 || native.vector_bytes < 32)
        kiln_test_skip("this machine has no AVX2");
    part[0] = build("x86-avx2", 1, file("avx2.kiln.tar.zst"));
    part[1] = build("x86-baseline", 1, file("baseline.kiln.tar.zst"));
    const char *both = kiln_test_join(part, 2, file("both.kiln.tar.zst"));
    const char *folder = file("both");
    kiln_assert_status_ok(kiln_package_unpack(a, both, folder, NULL, &err), &err);
    kiln_model *m = kiln_model_open(folder, NULL, error);
    assert_non_null(m);
    assert_string_equal(kiln_model_profile(m), "x86-avx2");
    assert_int_equal(kiln_model_n_variants(m), 1);
    kiln_model_close(m);
    kiln_assert_status_ok(
        kiln_file_map(a, kiln_path_join(a, folder, "variants"), 0, &text, &err), &err);
    assert_int_equal(kiln_variants_parse(text.p, text.n, &v, error), 0);
    const kiln_variants_machine old = {62, has_no_avx2};
    assert_int_equal(kiln_variants_choose(&v, &old, error), 1);
    assert_string_equal(v.row[1].profile, "x86-baseline");
}

/* The program for boards takes the best that the machine has: here AVX-512, in emulators
 * of lesser machines AVX2 and the base. */
static void runs_on_lesser_machines(void **state) {
    static const char *const cpu[] = {NULL, "max", "Nehalem"};
    static const char *const profile[] = {"x86-avx512", "x86-avx2", "x86-baseline"};
    enum { N = 3, MOST_ARGS = 12 };
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_build part[N];
    kiln_profile native;
    char *runner = NULL;
    (void)state;
    kiln_assert_status_ok(kiln_profile_find(a, "native", &native, &err), &err);
    if (native.arch != KILN_ARCH_X86_64 || native.vector_bytes < 64)
        kiln_test_skip("this machine has no AVX-512");
    if (kiln_test_is_sanitized() || kiln_program_in_path(a, "qemu-x86_64") == NULL)
        kiln_test_skip("qemu-user runs no program of this build, or is not here");
    for (int i = 0; i < N; i++)
        part[i] = build(profile[i], 1, file(kiln_format(a, "p%d.kiln.tar.zst", i)));
    const char *folder = file("three");
    kiln_assert_status_ok(
        kiln_package_unpack(a, kiln_test_join(part, N, file("three.kiln.tar.zst")),
                            folder, NULL, &err),
        &err);
    kiln_assert_status_ok(kiln_program_find(a, "kiln-run", &runner, &err), &err);
    for (int i = 0; i < N; i++) {
        const char *argv[MOST_ARGS] = {"qemu-x86_64", "-cpu", cpu[i]};
        int n = cpu[i] != NULL ? 3 : 0;
        kiln_process_result r;
        argv[n++] = runner; /* the first word where no processor is emulated */
        argv[n++] = folder;
        argv[n++] = "--zeros";
        argv[n++] = "--json";
        argv[n++] = "-";
        const kiln_process_options o = {.argv = argv,
                                        .time_limit_ms = KILN_TEST_PATIENCE_MS};
        kiln_assert_status_ok(kiln_process_run(a, &o, &r, &err), &err);
        assert_int_equal(r.code, 0);
        assert_non_null(strstr(r.out.p, kiln_format(a, "\"%s\"", profile[i])));
    }
}

/* ---- hostile archives ------------------------------------------------------------- */

static void other_list(craft *c) {
    static const char text[] = "kiln variants 1\nv0 0 62 - native\n";
    craft_set_data(c, craft_find(c, "variants"), text, sizeof text - 1);
}
static void other_plan(craft *c) {
    const craft_entry *e = &c->entry[craft_find(c, "v0/plan.bin")];
    craft_set_data(c, craft_find(c, "v1/plan.bin"), e->data.p, e->data.n);
}
static void other_params(craft *c) {
    const craft_entry *e = &c->entry[craft_find(c, "params.safetensors")];
    char *copy = kiln_arena_dup(c->arena, e->data.p, e->data.n);
    copy[e->data.n - 1] ^= 1;
    craft_set_data(c, craft_find(c, "params.safetensors"), copy, e->data.n);
}
static void no_variant(craft *c) { craft_replace(c, "\"v2\"", "\"v7\"", true); }
static void leads_out(craft *c) {
    craft_replace(c, "\"v1/lib.so\"", "\"../lib.so\"", true);
}
static void missing(craft *c) { craft_remove(c, craft_find(c, "v2/graph.json")); }
static void twice(craft *c) {
    craft_replace(c, "\"v1/lib.so\"", "\"v0/lib.so\"", true);
}

typedef struct hostile {
    const char *name;
    void (*edit)(craft *c);
    const char *text; /* a part of the reason */
} hostile;
static hostile hostiles[] = {
    {"another_list", other_list,
     "entry 'variants' is not what the variants' manifests"},
    {"another_plan", other_plan,
     "entry 'v1/plan.bin' is not what the manifest of variant 1 says"},
    {"other_parameters", other_params,
     "entry 'params.safetensors' is not what the manifest of variant 0 says"},
    {"another_folder", no_variant, "'variants' must be 'v0', 'v1' and so on"},
    {"a_path_that_leads_out", leads_out, "entry '../lib.so' needs 'name'"},
    {"a_missing_entry", missing, "entry 'v2/graph.json' is missing"},
    {"an_entry_twice", twice, "an entry comes twice"},
};

static void refuses_hostile_archives(void **state) {
    kiln_arena *a = kiln_test_arena();
    (void)state;
    for (size_t i = 0; i < sizeof hostiles / sizeof hostiles[0]; i++) {
        const hostile *h = &hostiles[i];
        kiln_err err = {0};
        craft *c = kiln_new(a, craft);
        craft_open(c, a, joined);
        h->edit(c);
        craft_write(file("hostile"), craft_compress(a, craft_tar(c)));
        assert_int_equal(
            kiln_package_unpack_for_now(a, file("hostile"), file("none"), NULL, &err),
            KILN_ERR_PARSE);
        if (strstr(err.text, h->text) == NULL)
            fail_msg("%s: %s", h->name, err.text);
        assert_false(kiln_dir_exists(file("none")));
    }
}

/* Of another model, or as many as nobody wants. */
static void refuses_to_join(void **state) {
    kiln_err err = {0};
    const char *const one[] = {alone_path[0]};
    const char *const again[] = {alone_path[0], joined};
    (void)state;
    assert_int_equal(kiln_package_write_variants(one, 1, 0, file("x"), NULL, &err),
                     KILN_ERR_LIMIT);
    kiln_err_clear(&err);
    assert_int_equal(kiln_package_write_variants(again, 2, 0, file("x"), NULL, &err),
                     KILN_ERR_ARG);
    assert_false(kiln_file_exists(file("x")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes_each_shape),
        cmocka_unit_test(runs_one_variant),
        cmocka_unit_test(names_the_shapes),
        cmocka_unit_test(shares_a_session),
        cmocka_unit_test(stores_parameters_once),
        cmocka_unit_test(is_reproducible),
        cmocka_unit_test(is_verified),
        cmocka_unit_test(is_chosen_by_inputs),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(puts_the_best_first),
        cmocka_unit_test(takes_what_the_machine_has),
        cmocka_unit_test(runs_on_lesser_machines),
        cmocka_unit_test(refuses_hostile_archives),
        cmocka_unit_test(refuses_to_join),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
