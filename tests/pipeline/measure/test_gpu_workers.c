/* Candidates for a GPU's profile: built, proved and timed on this machine's OpenCL device
 * (PoCL), and whatever they do ends as a verdict. Skipped by name where there is no such
 * device. This program is also the builder that spoils kernels:
 *
 *     test_gpu_workers --builder
 *     test_gpu_workers --cuda-builder
 *
 * The last one makes a kernel that the made-up driver of CUDA knows
 * (tests/tools/fake_cuda.c). */
#include "compiler/codegen/codegen_gpu_module.h"
#include "pipeline/measure/builder/builder.h"
#include "tests/support/gpu/gpu_module_text.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"

#include <stdlib.h>
#include <string.h>

/* A configuration's index, modulo their number, chooses what its builder does; code is
 * that of the guess. */
static const struct fault {
    const char *first; /* what its kernel does first, in OpenCL C; $i: its first input,
                          $o: its output */
    kiln_trial_error want;
    const char *text; /* part of it */
} faults[] = {
    {"", KILN_TRIAL_GOOD, ""},
    {"return;", KILN_TRIAL_WRONG, "must be"},
    {"this is no C;", KILN_TRIAL_UNLOADABLE, "does not build"},
    {"*(volatile __global int *)(ulong)64 = 1;", KILN_TRIAL_CRASH, "signal"},
    {"((volatile __global float *)$o)[6 * 28 * 28] = 1;", KILN_TRIAL_OUT_OF_BOUNDS,
     "of an output was written"},
    {"((volatile __global float *)$i)[0] = 1e9f;", KILN_TRIAL_WRONG, "must be"},
    /* Where kernels are the host's own code, it waits in the system (pause is its call
     * 34): a hang does not come back, and need not keep processors from other tests. */
    {"for (volatile int i = 0; i == 0;) {\n"
     "#ifdef __x86_64__\n"
     "long call = 34; __asm__ volatile(\"syscall\" : \"+a\"(call) : : \"rcx\", "
     "\"r11\", "
     "\"memory\");\n"
     "#endif\n"
     "i = 0; }",
     KILN_TRIAL_TIMEOUT, "no end"},
};
enum { N_FAULTS = sizeof faults / sizeof faults[0], FIRST_HARMFUL = 3 };

/* ---- the builder ----------------------------------------------------------------- */

static void put_name(kiln_buf *out, const char *kernel, const char *ahead) {
    const char *name = strstr(kernel, ahead);
    assert_non_null(name);
    name += strlen(ahead);
    kiln_buf_add(out, name, strcspn(name, " ,)"));
}

static kiln_str fill_in(kiln_arena *a, const char *kernel, const char *words) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    for (; *words != '\0'; words++)
        if (strncmp(words, "$i", 2) == 0 || strncmp(words, "$o", 2) == 0)
            put_name(&text, kernel,
                     *++words == 'i' ? "__global const float *restrict "
                                     : "__global float *restrict ");
        else
            kiln_buf_add(&text, words, 1);
    return kiln_buf_str(&text);
}

/* The code is a module's last part. */
static void put_first(kiln_arena *a, kiln_object *o, const char *words) {
    kiln_gpu_header h;
    memcpy(&h, o->bytes.p, sizeof h);
    const char *code = o->bytes.p + h.code;
    const char *kernel = strstr(code, "__kernel"), *body = strstr(kernel, "{");
    const kiln_str first = fill_in(a, kernel, words);
    const size_t at = (size_t)(body + 1 - o->bytes.p);
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_buf_add(&text, o->bytes.p, at);
    kiln_buf_add(&text, first.p, first.n);
    kiln_buf_add(&text, o->bytes.p + at, o->bytes.n - at);
    h.code_bytes += first.n;
    h.bytes += first.n;
    memcpy(text.p, &h, sizeof h);
    o->bytes = kiln_buf_str(&text);
}

static kiln_status make_fault(kiln_arena *a, const kiln_op_work *w,
                              const kiln_choice *choice, const kiln_profile *p,
                              kiln_kernel *out, kiln_err *err) {
    const struct fault *f =
        &faults[kiln_config_index(&choice->space, &choice->config) % N_FAULTS];
    kiln_choice guess = *choice;
    guess.config = choice->tmpl->guess(&w->workload, p, &choice->space);
    KILN_TRY(kiln_kernel_make_listed(a, w, &guess, p, out, err));
    put_first(a, &out->object, f->first);
    return KILN_OK;
}

/* Odd configurations fault. */
static kiln_status make_times5(kiln_arena *a, const kiln_op_work *w,
                               const kiln_choice *choice, const kiln_profile *p,
                               kiln_kernel *out, kiln_err *err) {
    static const char code[] =
        ".version 7.0\n.target sm_70\n.entry times5 .entry fault\n";
    const bool faults_now = kiln_config_index(&choice->space, &choice->config) % 2 == 1;
    size_t n = 0;
    KILN_TRY(kiln_kernel_make_listed(a, w, choice, p, out, err));
    const void *module = kiln_gpu_module_text(
        a, KILN_GPU_PTX,
        faults_now ? "kernel kiln_kernel 2 0\nlaunch fault 1 1 1 1 1 1\n"
                   : "kernel kiln_kernel 2 0\nlaunch times5 1 1 1 192 1 1 o0 o1 i0\n",
        code, &n);
    out->object.bytes = (kiln_str){module, n};
    return KILN_OK;
}

/* ---- the fleet ------------------------------------------------------------------- */

static const char *self;
/* The first convolution of samplenet. */
static const char line[] = "conv C 28 1 6 5 1";

/* NULL: this machine has no such device, and the test is skipped. */
static kiln_measure *open_gpu(kiln_arena *a, kiln_measure_options *o) {
    kiln_err err = {0};
    kiln_measure *m = NULL;
    kiln_profile *p = kiln_new(a, kiln_profile);
    kiln_profile found;
    kiln_test_as_worker_environment();
    (void)setenv("POCL_CACHE_DIR", kiln_test_dir(), 0);
    kiln_assert_status_ok(kiln_profile_find(a, "opencl-pocl", p, &err), &err);
    found = o->profile != NULL ? *o->profile : *p;
    *p = found;
    o->profile = p;
    if (o->build_limit_ms == 0)
        o->build_limit_ms = KILN_TEST_PATIENCE_MS;
    if (o->run_limit_ms == 0)
        o->run_limit_ms = KILN_TEST_PATIENCE_MS;
    o->budget_ms = 5;
    o->runner_argv = kiln_test_worker(a, "kiln-runner");
    if (o->builder_argv == NULL)
        o->builder_argv = kiln_test_worker(a, "kiln-builder");
    if (kiln_measure_open(a, o, &m, &err) == KILN_OK)
        return m;
    if (strstr(err.text, "device 'opencl' cannot be used") == NULL)
        fail_msg("%s", err.text);
    kiln_test_skip("%s", err.text);
    return NULL;
}

static void submit(kiln_measure *m, const kiln_test_work *w, uint64_t index) {
    kiln_err err = {0};
    uint64_t id;
    const kiln_measure_candidate c = {
        .work = w->id, .tmpl = w->tmpl, .config = index, .never_stops_early = true};
    kiln_assert_status_ok(kiln_measure_submit(m, &c, &id, &err), &err);
}

static void check(kiln_measure *m, kiln_trial_error want, const char *text) {
    kiln_measured o;
    assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &o));
    if (o.error != want || strstr(o.text, text) == NULL)
        fail_msg("is '%s' (%s), must be '%s' (%s)", kiln_trial_error_name(o.error),
                 o.text, kiln_trial_error_name(want), text);
    if (want != KILN_TRIAL_GOOD)
        return;
    assert_int_equal(o.n_seeds, KILN_MEASURE_SEEDS);
    assert_true(o.worst <= 1 && o.low_ns <= o.median_ns && o.median_ns <= o.high_ns);
    assert_true(o.median_ns > 0 && o.n_slices > 0 && o.n_compared > 0);
    assert_true(o.least_flops <= 1.05 * o.limit_gflops * o.median_ns);
}

/* The template's guess, weights from memory. */
static void times_a_convolution(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_measure_options o = {.profile = NULL};
    kiln_measure *m = open_gpu(&a, &o);
    if (m == NULL)
        return;
    const kiln_test_work w = kiln_test_measure_add(&a, m, o.profile, line, true);
    const kiln_measure_stats s = kiln_measure_count(m);
    assert_string_equal(w.tmpl->name, "gpu_conv");
    assert_true(s.device[0] != '\0' && !s.is_confined && s.peak_gflops > 0);
    submit(m, &w, kiln_test_measure_guess(&w, o.profile));
    check(m, KILN_TRIAL_GOOD, "");
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

/* A kernel that does nothing, one that is none, one that faults, that writes beside its
 * output, to its input, and one that hangs; behind each of the last four one that is
 * good, in a process that nobody spoilt. */
static void ends_what_fails(void **state) {
    (void)state;
    kiln_arena a = {0};
    const char *argv[] = {self, "--builder", NULL};
    /* What hangs takes the driver's time too, which is the builder's; what is good needs
     * a tenth of it. */
    kiln_measure_options o = {
        .builder_argv = argv, .build_limit_ms = 10000, .run_limit_ms = 1000};
    kiln_measure *m = open_gpu(&a, &o);
    if (m == NULL)
        return;
    const kiln_test_work w = kiln_test_measure_add(&a, m, o.profile, line, false);
    for (int i = 1; i <= N_FAULTS; i++) {
        const struct fault *f = &faults[i % N_FAULTS];
        submit(m, &w, (uint64_t)(i % N_FAULTS));
        check(m, f->want, f->text);
        if (i < FIRST_HARMFUL)
            continue;
        submit(m, &w, (uint64_t)N_FAULTS * (uint64_t)i);
        check(m, KILN_TRIAL_GOOD, "");
    }
    assert_int_equal(kiln_measure_count(m).runners_started, 1);
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

/* More than the profile has is refused by the builder: no driver compiles it. */
static void refuses_more_than_there_is(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile wide, small;
    kiln_assert_status_ok(kiln_profile_find(&a, "opencl-pocl", &wide, &err), &err);
    small = wide;
    small.gpu.shared_bytes = 64;
    kiln_measure_options o = {.profile = &small};
    kiln_measure *m = open_gpu(&a, &o);
    if (m == NULL)
        return;
    const kiln_test_work w = kiln_test_measure_add(&a, m, o.profile, line, false);
    uint64_t index = 0;
    kiln_scheduled s;
    for (; index < w.space.size; index++) {
        const kiln_config c = kiln_config_at(&w.space, index);
        if (kiln_template_apply(&a, w.tmpl, &w.op.workload, o.profile, &w.space, &c, &s,
                                &err) != KILN_OK &&
            strstr(err.text, "shared") != NULL)
            break;
        kiln_err_clear(&err);
    }
    assert_true(index < w.space.size);
    submit(m, &w, index);
    check(m, KILN_TRIAL_REFUSED, "bytes of shared memory");
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

static const char five_times[] = "graph \"five\" {\n"
                                 "  input %x : i32[192]\n"
                                 "  %a = add(%x, %x)\n"
                                 "  %b = add(%a, %x)\n"
                                 "  %c = add(%b, %x)\n"
                                 "  %d = add(%c, %x)\n"
                                 "  output %d \"y\"\n"
                                 "}\n";

static void check_is_machine_code(kiln_measure *m) {
    kiln_measured o;
    kiln_gpu_header h;
    assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &o));
    assert_int_equal(o.error, KILN_TRIAL_GOOD);
    assert_true(o.object.n > sizeof h);
    memcpy(&h, o.object.p, sizeof h);
    assert_int_equal(h.language, KILN_GPU_CUBIN);
}

/* CUDA's protocol, by a driver that does everything as late as it may: builders have it
 * compile, and a candidate that faults, whose process has no context any more, leaves the
 * next ones theirs. */
static void measures_by_cuda(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile p;
    kiln_graph *g = NULL;
    kiln_measure *m = NULL;
    kiln_workload w;
    int work = -1;
    const char *folder = getenv("KILN_LIBEXEC");
    const char *driver =
        kiln_path_join(&a, folder != NULL ? folder : ".", "tests/tools/fake_cuda.so");
    const char *argv[] = {self, "--cuda-builder", NULL};
    if (!kiln_file_exists(driver))
        kiln_test_skip("there is no %s: make quick builds it", driver);
    kiln_test_as_worker_environment();
    (void)setenv("KILN_CUDA_LIBRARY", driver, 1);
    (void)setenv("FAKE_CUDA_TAKES_TIME", "1", 1);
    kiln_assert_status_ok(kiln_profile_find(&a, "cuda-sm80", &p, &err), &err);
    const kiln_measure_options o = {.profile = &p,
                                    .builder_argv = argv,
                                    .runner_argv = kiln_test_worker(&a, "kiln-runner"),
                                    .build_limit_ms = KILN_TEST_PATIENCE_MS,
                                    .run_limit_ms = KILN_TEST_PATIENCE_MS,
                                    .keeps_objects = true,
                                    .budget_ms = 5};
    kiln_assert_status_ok(kiln_measure_open(&a, &o, &m, &err), &err);
    assert_string_equal(kiln_measure_count(m).device, "made up 40");
    kiln_assert_status_ok(
        kiln_graph_parse(&a, kiln_str_from(five_times), "text", &g, &err), &err);
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    kiln_assert_status_ok(kiln_measure_add_work(m, g, true, &work, &err), &err);
    const kiln_test_work one = {.id = work, .tmpl = kiln_template_for(&w, &p)};
    assert_non_null(one.tmpl);
    submit(m, &one, 0);
    check(m, KILN_TRIAL_GOOD, "");
    submit(m, &one, 1);
    check(m, KILN_TRIAL_RETURNED, "an illegal memory access");
    submit(m, &one, 2);
    check_is_machine_code(m);
    submit(m, &one, 4);
    check(m, KILN_TRIAL_GOOD, "");
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

/* Runners elsewhere do not open drivers for others. */
static void refuses_runners_elsewhere(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile p;
    kiln_measure *m = NULL;
    const char *const address[] = {"unix:/nonesuch", NULL};
    kiln_assert_status_ok(kiln_profile_find(&a, "opencl-generic", &p, &err), &err);
    const kiln_measure_options o = {.profile = &p,
                                    .runner_addresses = address,
                                    .builder_argv =
                                        kiln_test_worker(&a, "kiln-builder"),
                                    .runner_argv = kiln_test_worker(&a, "kiln-runner")};
    assert_int_equal(kiln_measure_open(&a, &o, &m, &err), KILN_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "is a GPU's"));
    kiln_arena_fini(&a);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--builder") == 0)
        return kiln_builder_main(make_fault);
    if (argc > 1 && strcmp(argv[1], "--cuda-builder") == 0)
        return kiln_builder_main(make_times5);
    self = argv[0];
    kiln_test_add("times_a_convolution", times_a_convolution, NULL);
    kiln_test_add("ends_what_fails", ends_what_fails, NULL);
    kiln_test_add("refuses_more_than_there_is", refuses_more_than_there_is, NULL);
    kiln_test_add("measures_by_cuda", measures_by_cuda, NULL);
    kiln_test_add("refuses_runners_elsewhere", refuses_runners_elsewhere, NULL);
    return kiln_test_run("gpu_workers");
}
