/* Packages on devices: this machine and the emulator compute what the graphs mean, at
 * one thread and two; what a package or a caller does wrong ends as an error that names
 * it: refused files, crashes, hangs, failing kernels, too much memory.
 *
 * Tolerance: f32 sums of at most a few hundred terms of magnitude 1. */
#include "pipeline/devices/devices.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/weighted_graph.h"
#include "tests/support/package/package_folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A sanitizer catches signals, and needs more memory than any limit. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
#define DIED "Sanitizer"
#else
#define DIED "died of signal 4"
#endif

static const double tolerance = 1e-4;

typedef struct row {
    const char *name, *text;
} row;

static row rows[] = {
    {"convolution_and_pooling",
     "graph \"conv net\" { input %x : f32[1,3,9,7] input %w : f32[17,3,3,3] "
     "input %v : f32[5,17,1,1] %a = conv(%x, %w) {strides=[2,2]} %b = sigmoid(%a) "
     "%c = conv(%b, %v) %d = max_pool(%c) {kernel=[2,2]} output %d output %c }"},
    {"products",
     "graph \"g\" { input %x : f32[5,12] input %w : f32[12,20] input %b : f32[20] "
     "%a = matmul(%x, %w) %c = add(%a, %b) %d = relu(%c) %t = transpose(%d) "
     "{perm=[1,0]} %e = matmul(%d, %t) output %e \"a/strange = name\" }"},
    {"several_inputs_and_dtypes",
     "graph \"g\" { input %x : f32[3,8] input %\"x=y/z\" : i64[2] "
     "%a = gather(%x, %\"x=y/z\") {axis=0} %s = argmax(%a) {axis=1} "
     "%m = softmax(%a) output %s output %m }"},
    {"views_and_copies",
     "graph \"g\" { input %x : f32[2,3] %a = reshape(%x) {shape=[6]} %b = relu(%x) "
     "output %a output %x output %b }"},
};
enum { N_ROWS = sizeof rows / sizeof rows[0], MAX_PORTS = 4 };

/* Inputs named w, v, b become constants, so that they are packed. */
static bool stays(const kiln_value *v) { return strchr("wvb", v->name[0]) == NULL; }

static kiln_graph *make_graph(const char *text) {
    return kiln_test_weighted_graph(kiln_test_arena(), text, stays);
}

/* One graph, as a package for a profile. */
typedef struct packed {
    const kiln_graph *g;
    const kiln_device *device;
    kiln_device_package package;
    kiln_tensor in[MAX_PORTS], want[MAX_PORTS];
} packed;

static void pack(const row *r, const kiln_profile *profile, packed *out) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_network n;
    const char *dir = kiln_test_dir();
    out->g = make_graph(r->text);
    if (kiln_device_find_for(a, NULL, profile, &out->device, &err) != KILN_OK)
        kiln_test_skip("%s", err.text);
    kiln_assert_status_ok(kiln_network_compile(a, out->g, profile, NULL, &n, &err),
                          &err);
    package_folder_write(dir, &n);
    kiln_assert_status_ok(kiln_device_package_read(a, dir, &out->package, &err), &err);
    for (size_t i = 0; i < out->g->inputs.n; i++) {
        const kiln_type *t = &out->g->inputs.v[i]->type;
        out->in[i] = kiln_ref_random(a, t, kiln_test_seed() + i);
        if (t->dtype == KILN_I64) { /* indices */
            ((int64_t *)out->in[i].data)[0] = 2;
            ((int64_t *)out->in[i].data)[1] = 0;
        }
    }
    kiln_assert_status_ok(
        kiln_ref_run(a, out->g, out->in, out->g->inputs.n, out->want, &err), &err);
}

static const kiln_profile *shipped(const char *name) {
    kiln_err err = {.status = KILN_OK};
    kiln_profile *p = kiln_new(kiln_test_arena(), kiln_profile);
    kiln_assert_status_ok(kiln_profile_find(kiln_test_arena(), name, p, &err), &err);
    return p;
}

static const kiln_profile *native(void) {
    kiln_err err = {.status = KILN_OK};
    kiln_profile *p = kiln_new(kiln_test_arena(), kiln_profile);
    kiln_assert_status_ok(kiln_profile_detect(kiln_test_arena(), p, &err), &err);
    return p;
}

static void check_close(const kiln_tensor *got, const kiln_tensor *want,
                        const char *what) {
    kiln_err err = {.status = KILN_OK};
    kiln_diff diff;
    assert_true(kiln_type_same_shape(&got->type, &want->type));
    kiln_assert_status_ok(
        kiln_ref_compare(got, want, tolerance, tolerance, &diff, &err), &err);
    if (!diff.ok)
        fail_msg("%s: element %lld is %.9g, must be %.9g", what,
                 (long long)diff.worst_index, diff.worst_got, diff.worst_want);
}

static void check_package(const packed *p, int n_threads) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_tensor got[MAX_PORTS];
    kiln_device_result result = {.n_runs = 0};
    const kiln_device_job job = {
        .n_threads = n_threads, .n_rounds = 3, .n_warm_up = 1, .wants_profile = true};
    kiln_assert_status_ok(kiln_device_run(a, p->device, &p->package, &job, p->in,
                                          p->package.n_inputs, got, &result, &err),
                          &err);
    for (size_t i = 0; i < p->package.n_outputs; i++)
        check_close(&got[i], &p->want[i], p->package.output[i].name);
    assert_int_equal(result.n_runs, 3);
    assert_int_equal(result.n_steps, p->package.n_steps);
    assert_true(result.session_bytes > 0);
    uint64_t all = 0, steps = 0;
    for (size_t i = 0; i < result.n_runs; i++)
        all += result.run_ns[i];
    for (size_t i = 0; i < result.n_steps; i++) {
        assert_int_equal(result.step[i].runs, 3);
        steps += result.step[i].time_ns;
    }
    assert_true(all > 0 && steps <= all);
}

static void check_row(const row *r, const kiln_profile *profile) {
    packed p;
    pack(r, profile, &p);
    assert_string_equal(p.package.profile, profile->name);
    for (int n_threads = 1; n_threads <= 2; n_threads++)
        check_package(&p, n_threads);
}

static void computes_here(void **state) { check_row(*state, native()); }
static void computes_on_aarch64(void **state) { check_row(*state, shipped("aarch64")); }
static void computes_on_arm(void **state) { check_row(*state, shipped("armv7-neon")); }
static void computes_on_riscv64(void **state) { check_row(*state, shipped("riscv64")); }
/* Vectors as long as the profile's, where there is a machine that has them. */
static void an_emulator_has_the_profiles_vectors(void **state) {
    (void)state;
#if defined(__riscv)
    kiln_test_skip("this machine needs no emulator for RISC-V");
#endif
    static const char *const pair[][2] = {{"riscv64", "qemu-riscv64-v128"},
                                          {"riscv64-v128", "qemu-riscv64-v128"},
                                          {"riscv64-v256", "qemu-riscv64-v256"},
                                          {"riscv64-v512", "qemu-riscv64"}};
    for (size_t i = 0; i < sizeof pair / sizeof pair[0]; i++) {
        kiln_err err = {.status = KILN_OK};
        const kiln_device *d = NULL;
        if (kiln_device_find_for(kiln_test_arena(), NULL, shipped(pair[i][0]), &d,
                                 &err) != KILN_OK)
            kiln_test_skip("%s", err.text);
        assert_string_equal(d->name, pair[i][1]);
    }
    const char *missing = "";
    kiln_err err = {.status = KILN_OK};
    const kiln_device *d = NULL;
    kiln_assert_status_ok(kiln_device_find("qemu-riscv64-v256", &d, &err), &err);
    assert_false(d->can_run(d, kiln_test_arena(), shipped("riscv64-v512"), &missing));
    assert_string_equal(missing, "its vectors have 32 bytes, the profile's 64");
}

/* Code for vectors of 256 bits, on a machine that has just these and on one whose are
 * longer. */
static void computes_on_scalable_vectors(void **state) {
    static const char *const machine[] = {"qemu-aarch64-sve256", "qemu-aarch64-sve512"};
    packed p;
#if defined(__aarch64__)
    kiln_test_skip("this machine needs no emulator for AArch64");
#endif
    pack(*state, shipped("aarch64-sve256"), &p);
    for (size_t i = 0; i < sizeof machine / sizeof machine[0]; i++) {
        kiln_err err = {.status = KILN_OK};
        kiln_assert_status_ok(kiln_device_find(machine[i], &p.device, &err), &err);
        check_package(&p, 2);
    }
}

static void scalable_code_asks_for_vectors(void **state) {
    const kiln_device *d = NULL;
    kiln_err err = {.status = KILN_OK};
    const char *missing = "";
    (void)state;
    kiln_assert_status_ok(kiln_device_find("qemu-aarch64", &d, &err), &err);
    assert_false(d->can_run(d, kiln_test_arena(), shipped("aarch64-sve256"), &missing));
    assert_string_equal(missing, "its vectors have 16 bytes, the profile's 32");
}

static void computes_on_its_vectors(void **state) {
    check_row(*state, shipped("riscv64-v256"));
}
static void computes_on_its_longest_vectors(void **state) {
    check_row(*state, shipped("riscv64-v512"));
}

/* The way that verification takes. */
static void stands_for_its_graph(void **state) {
    (void)state;
    packed p;
    kiln_err err = {.status = KILN_OK};
    kiln_tensor got[MAX_PORTS];
    pack(&rows[0], native(), &p);
    kiln_device_target t = {.device = p.device, .package = &p.package};
    kiln_assert_status_ok(
        kiln_device_run_graph(&t, kiln_test_arena(), p.g, p.in, 1, got, &err), &err);
    check_close(&got[0], &p.want[0], "output 0");
    const kiln_graph *other = make_graph(rows[1].text);
    kiln_assert_fails(
        kiln_device_run_graph(&t, kiln_test_arena(), other, p.in, 1, got, &err),
        KILN_ERR_SHAPE, &err, "the package has 2 outputs, the model has 1");
}

/* ---- what goes wrong ------------------------------------------------------------- */

typedef struct wrong {
    const char *name;
    package_fault fault;
    kiln_status want;
    const char *text;
} wrong;

static wrong wrongs[] = {
    {"a_crash_is_named", PACKAGE_CRASHES, KILN_ERR_LIB, DIED},
    {"a_hang_ends", PACKAGE_HANGS, KILN_ERR_LIMIT, "did not end within 1500 ms"},
    {"a_kernel_that_fails_is_named", PACKAGE_RETURNS_3, KILN_ERR_LIB,
     "failed with code 3"},
};

static void check_wrong(void **state) {
    const wrong *w = *state;
    const kiln_profile *profiles[] = {native(), shipped("aarch64"), shipped("riscv64")};
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        packed p;
        kiln_err err = {.status = KILN_OK};
        kiln_tensor got[MAX_PORTS];
        const kiln_device_job job = {.time_limit_ms =
                                         w->fault == PACKAGE_HANGS ? 1500 : 0};
        pack(&rows[1], profiles[i], &p);
        package_folder_break(p.package.folder, profiles[i]->arch, w->fault);
        kiln_assert_fails(kiln_device_run(kiln_test_arena(), p.device, &p.package, &job,
                                          p.in, 1, got, NULL, &err),
                          w->want, &err,
                          p.device->is_emulated && w->fault == PACKAGE_CRASHES
                              ? "died of signal 4"
                              : w->text);
    }
}

/* Whatever it is that it asks for. Emulators and sanitizers have no filter. */
static void code_that_calls_the_system_is_stopped(void **state) {
    (void)state;
    const kiln_device_job job = {.n_threads = 0};
    kiln_err err = {.status = KILN_OK};
    kiln_tensor got[MAX_PORTS];
    char why[KILN_CONFINE_TEXT];
    packed p;
    if (!kiln_confine_works(why))
        kiln_test_skip("%s", why);
    for (int n_threads = 1; n_threads <= 2; n_threads++) {
        kiln_device_job threads = job;
        threads.n_threads = n_threads;
        pack(&rows[1], native(), &p);
        package_folder_break(p.package.folder, native()->arch, PACKAGE_CALLS);
        kiln_assert_fails(kiln_device_run(kiln_test_arena(), p.device, &p.package,
                                          &threads, p.in, 1, got, NULL, &err),
                          KILN_ERR_LIB, &err, "the package's code made system call");
        kiln_err_clear(&err);
    }
}

static void callers_mistakes_are_named(void **state) {
    (void)state;
    packed p;
    kiln_arena *a = kiln_test_arena();
    kiln_device_job job = {.n_threads = 0};
    pack(&rows[1], native(), &p);
    kiln_err err = {.status = KILN_OK};
    kiln_assert_fails(
        kiln_device_run(a, p.device, &p.package, &job, p.in, 0, NULL, NULL, &err),
        KILN_ERR_SHAPE, &err, "'g' has 1 inputs, 0 are given");
    const int64_t dim[] = {5, 13};
    const kiln_type t = kiln_type_make(KILN_F32, 2, dim);
    const kiln_tensor crooked = kiln_tensor_new(a, &t);
    err = (kiln_err){.status = KILN_OK};
    kiln_assert_fails(
        kiln_device_run(a, p.device, &p.package, &job, &crooked, 1, NULL, NULL, &err),
        KILN_ERR_SHAPE, &err, "input 'x' must be f32[5,12], is f32[5,13]");
    job.n_threads = 100000;
    err = (kiln_err){.status = KILN_OK};
    kiln_assert_fails(
        kiln_device_run(a, p.device, &p.package, &job, p.in, 1, NULL, NULL, &err),
        KILN_ERR_ARG, &err, "threads must be 1 to 1024, are 100000");
    job = (kiln_device_job){.n_rounds = -1};
    err = (kiln_err){.status = KILN_OK};
    kiln_assert_fails(
        kiln_device_run(a, p.device, &p.package, &job, p.in, 1, NULL, NULL, &err),
        KILN_ERR_ARG, &err, "rounds must be 1 to 100000, are -1");
}

static void broken_packages_are_refused(void **state) {
    (void)state;
    packed p;
    kiln_arena *a = kiln_test_arena();
    kiln_device_package other;
    const kiln_device_job job = {.n_threads = 1};
    kiln_err err = {.status = KILN_OK};
    kiln_assert_fails(kiln_device_package_read(a, "/nowhere/at/all", &other, &err),
                      KILN_ERR_MISSING, &err, "/nowhere/at/all/plan.bin");
    pack(&rows[0], native(), &p);
    const char *lib = kiln_path_join(a, p.package.folder, "lib.so");
    kiln_assert_status_ok(kiln_file_write(lib, "no library", 10, &err), &err);
    err = (kiln_err){.status = KILN_OK};
    kiln_assert_fails(
        kiln_device_run(a, p.device, &p.package, &job, p.in, 1, NULL, NULL, &err),
        KILN_ERR_PARSE, &err, "this is no ELF64 object or shared library");
    const char *plan = kiln_path_join(a, p.package.folder, "plan.bin");
    err = (kiln_err){.status = KILN_OK};
    kiln_assert_status_ok(kiln_file_write(plan, "KILNPLAN", 8, &err), &err);
    kiln_assert_fails(kiln_device_package_read(a, p.package.folder, &other, &err),
                      KILN_ERR_PARSE, &err, "while reading '");
}

static void too_little_memory_is_an_error(void **state) {
    (void)state;
#ifdef SANITIZED
    kiln_test_skip("a program under a sanitizer does not start under a limit");
#endif
    static const char big[] =
        "graph \"big\" { input %x : f32[1,16,1024,1024] %a = relu(%x) output %a }";
    kiln_arena *a = kiln_test_arena();
    const kiln_profile *profile = native();
    kiln_err err = {.status = KILN_OK};
    kiln_network n;
    packed p = {.g = make_graph(big)};
    const char *dir = kiln_test_dir();
    kiln_assert_status_ok(kiln_device_find_for(a, NULL, profile, &p.device, &err),
                          &err);
    kiln_assert_status_ok(kiln_network_compile(a, p.g, profile, NULL, &n, &err), &err);
    package_folder_write(dir, &n);
    kiln_assert_status_ok(kiln_device_package_read(a, dir, &p.package, &err), &err);
    p.in[0] = kiln_tensor_new(a, &p.package.input[0].type);
    kiln_device_job job = {.memory_limit_bytes = 32 << 20};
    kiln_assert_fails(
        kiln_device_run(a, p.device, &p.package, &job, p.in, 1, NULL, NULL, &err),
        KILN_ERR_IO, &err, "no memory for a session of 'big'");
    job.memory_limit_bytes = (uint64_t)512 << 20;
    err = (kiln_err){.status = KILN_OK};
    kiln_assert_status_ok(
        kiln_device_run(a, p.device, &p.package, &job, p.in, 1, NULL, NULL, &err),
        &err);
}

/* ---- devices --------------------------------------------------------------------- */

static void devices_are_described(void **state) {
    (void)state;
    kiln_err err = {.status = KILN_OK};
    const kiln_device *d = NULL;
    int n = 0;
    for (; kiln_device_at(n) != NULL; n++) {
        assert_true(strlen(kiln_device_at(n)->name) > 0);
        assert_true(strlen(kiln_device_at(n)->doc) > 10);
        kiln_assert_status_ok(kiln_device_find(kiln_device_at(n)->name, &d, &err),
                              &err);
        assert_ptr_equal(d, kiln_device_at(n));
    }
    assert_true(n >= 2);
    kiln_assert_fails(kiln_device_find("toaster", &d, &err), KILN_ERR_ARG, &err,
                      "there is no device 'toaster'; there are local, qemu-aarch64, "
                      "qemu-aarch64-sve256, qemu-aarch64-sve512, qemu-riscv64-v128, "
                      "qemu-riscv64-v256, qemu-riscv64, qemu-arm");
}

/* What is missing is told by name and remedy, for a profile that does not run here. */
static void what_is_missing_is_named(void **state) {
    (void)state;
#if defined(__aarch64__)
    kiln_test_skip("this machine needs no emulator for AArch64");
#endif
    kiln_arena *a = kiln_test_arena();
    const kiln_device *d = NULL;
    const kiln_profile *p = shipped("aarch64");
    const char *was = getenv("PATH"), *programs = getenv("KILN_LIBEXEC");
    const char *path = kiln_str_dup(a, was != NULL ? was : "");
    const char *libexec = programs != NULL ? kiln_str_dup(a, programs) : NULL;
    kiln_err err = {.status = KILN_OK};
    setenv("PATH", "/nowhere", 1);
    kiln_assert_fails(kiln_device_find_for(a, NULL, p, &d, &err), KILN_ERR_UNSUPPORTED,
                      &err, "install the package qemu-user");
    setenv("PATH", path, 1);
    setenv("KILN_LIBEXEC", "/nowhere", 1);
    if (kiln_device_at(1)->can_run(kiln_device_at(1), a, p, &(const char *){NULL}))
        fail_msg("a runner was found in /nowhere");
    const char *missing = "";
    assert_false(kiln_device_at(1)->can_run(kiln_device_at(1), a, p, &missing));
    if (strstr(missing, "qemu-user") == NULL &&
        (strstr(missing, "program 'kiln-run-aarch64' is not in '/nowhere'") == NULL ||
         strstr(missing, "gcc-aarch64-linux-gnu") == NULL))
        fail_msg("'%s' does not say what is missing", missing);
    if (libexec != NULL)
        setenv("KILN_LIBEXEC", libexec, 1);
    else
        unsetenv("KILN_LIBEXEC");
}

int main(void) {
    for (size_t i = 0; i < N_ROWS; i++)
        kiln_test_add(kiln_format(kiln_test_arena(), "computes_here: %s", rows[i].name),
                      computes_here, &rows[i]);
    for (size_t i = 0; i < N_ROWS; i++)
        kiln_test_add(
            kiln_format(kiln_test_arena(), "computes_on_aarch64: %s", rows[i].name),
            computes_on_aarch64, &rows[i]);
    for (size_t i = 0; i < N_ROWS; i++)
        kiln_test_add(
            kiln_format(kiln_test_arena(), "computes_on_riscv64: %s", rows[i].name),
            computes_on_riscv64, &rows[i]);
    for (size_t i = 0; i < N_ROWS; i++)
        kiln_test_add(
            kiln_format(kiln_test_arena(), "computes_on_arm: %s", rows[i].name),
            computes_on_arm, &rows[i]);
    for (size_t i = 0; i < N_ROWS; i++)
        kiln_test_add(
            kiln_format(kiln_test_arena(), "computes_on_its_vectors: %s", rows[i].name),
            computes_on_its_vectors, &rows[i]);
    for (size_t i = 0; i < N_ROWS; i++)
        kiln_test_add(kiln_format(kiln_test_arena(),
                                  "computes_on_its_longest_vectors: %s", rows[i].name),
                      computes_on_its_longest_vectors, &rows[i]);
    for (size_t i = 0; i < N_ROWS; i++)
        kiln_test_add(kiln_format(kiln_test_arena(), "computes_on_scalable_vectors: %s",
                                  rows[i].name),
                      computes_on_scalable_vectors, &rows[i]);
    kiln_test_add("scalable_code_asks_for_vectors", scalable_code_asks_for_vectors,
                  NULL);
    kiln_test_add("an_emulator_has_the_profiles_vectors",
                  an_emulator_has_the_profiles_vectors, NULL);
    kiln_test_add("stands_for_its_graph", stands_for_its_graph, NULL);
    kiln_test_add_rows(check_wrong, wrongs);
    kiln_test_add("code_that_calls_the_system_is_stopped",
                  code_that_calls_the_system_is_stopped, NULL);
    kiln_test_add("callers_mistakes_are_named", callers_mistakes_are_named, NULL);
    kiln_test_add("broken_packages_are_refused", broken_packages_are_refused, NULL);
    kiln_test_add("too_little_memory_is_an_error", too_little_memory_is_an_error, NULL);
    kiln_test_add("devices_are_described", devices_are_described, NULL);
    kiln_test_add("what_is_missing_is_named", what_is_missing_is_named, NULL);
    return kiln_test_run("devices");
}
