/* The device "cuda" by a made-up driver (tests/tools/fake_cuda.c), which does everything
 * as late as it may: what is told to the device is done as a model on the host does it,
 * every call of the driver may fail, and nothing stays, of the host's or the driver's. */
#include "runtime/model_internal.h"
#include "tests/support/gpu/gpu_checks.h"
#include "tests/support/gpu/gpu_module_text.h"
#include "tests/support/kiln_test.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const char ptx[] = ".version 7.0\n.target sm_70\n.entry times5 .entry plus3 "
                          ".entry mixed .entry fault\n";
static kiln_gpu_row rows[] = {{"as_late_as_it_may", "cuda", NULL, NULL, ptx, 2000000}};

/* ---- the driver ------------------------------------------------------------------- */

typedef struct driver {
    void (*fail_at)(long call);
    long (*live)(void);
    long (*graphs)(void);
    int (*depth)(void);
} driver;
static driver fake; /* all NULL: it is not here */

static const char *path_of_driver(void) {
    const char *folder = getenv("KILN_LIBEXEC");
    return kiln_format(kiln_test_arena(), "%s/tests/tools/fake_cuda.so",
                       folder != NULL ? folder : ".");
}

static void find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
}

static void open_driver(void) {
    void *library = dlopen(path_of_driver(), RTLD_NOW);
    if (library == NULL || setenv("KILN_CUDA_LIBRARY", path_of_driver(), 1) != 0)
        return;
    find(library, "fake_cuda_fail_at", &fake.fail_at);
    find(library, "fake_cuda_live", &fake.live);
    find(library, "fake_cuda_graphs", &fake.graphs);
    find(library, "fake_cuda_depth", &fake.depth);
}

static void open_trial(kiln_gpu_trial *t) {
    if (fake.live == NULL)
        kiln_test_skip("there is no %s: make quick builds it", path_of_driver());
    kiln_gpu_row_open(&rows[0], t);
}

static void close_trial(kiln_gpu_trial *t) {
    kiln_gpu_row_close(t);
    assert_int_equal(fake.live(), 0);
    assert_int_equal(fake.depth(), 0);
}

/* ---- failures --------------------------------------------------------------------- */

/* From the first call of the driver to the last one of a run. */
static void survives_every_call_that_fails(void **state) {
    (void)state;
    kiln_gpu_trial t;
    long n = 0;
    open_trial(&t);
    close_trial(&t);
    for (bool is_over = false; !is_over; n++) {
        kiln_arena a = {0};
        char error[KILN_ERROR_TEXT] = "";
        fake.fail_at(n);
        const bool is_open = kiln_gpu_row_try(&rows[0], &t, -1, error);
        const char *wrong =
            is_open ? kiln_gpu_trial_run(&t, &a, kiln_test_seed(), 40) : error;
        fake.fail_at(-1);
        assert_true(wrong == NULL || wrong[0] != '\0');
        is_over = wrong == NULL;
        close_trial(&t);
        kiln_arena_fini(&a);
    }
    assert_true(n > 200); /* calls */
}

static void says_what_the_driver_says(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT] = "";
    kiln_gpu_trial t;
    open_trial(&t);
    close_trial(&t);
    fake.fail_at(0);
    assert_false(kiln_gpu_row_try(&rows[0], &t, -1, error));
    assert_string_equal(error, "device 'cuda' needs an NVIDIA GPU: error 999 of CUDA's "
                               "driver, made up");
    fake.fail_at(-1);
    assert_int_equal(setenv("FAKE_CUDA_NONE", "1", 1), 0);
    assert_false(kiln_gpu_row_try(&rows[0], &t, -1, error));
    assert_int_equal(unsetenv("FAKE_CUDA_NONE"), 0);
    assert_string_equal(error,
                        "device 'cuda' needs an NVIDIA GPU: the driver shows none");
    assert_int_equal(fake.live(), 0);
}

static kiln_device_module *open_module(const kiln_gpu_trial *t, const char *kernels,
                                       const char *code, char *error) {
    kiln_device_image image = {0};
    kiln_device_module *m = NULL;
    image.bytes =
        kiln_gpu_module_text(kiln_test_arena(), KILN_GPU_PTX, kernels, code, &image.n);
    return t->kind->module_open(t->device, &image, &m, error) == 0 ? m : NULL;
}

/* A fault in a kernel shows when somebody waits; all that follows is lost with it. */
static void tells_of_a_fault_that_comes_late(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT] = "";
    kiln_device_kernel fault;
    kiln_device_failure failure = {0};
    kiln_gpu_trial t;
    open_trial(&t);
    kiln_device_module *m =
        open_module(&t, "kernel k 0 0\nlaunch fault 1 1 1 1 1 1\n", ptx, error);
    assert_non_null(m);
    assert_int_equal(t.kind->module_kernel(m, "k", &fault), 0);
    void *operand[2] = {t.memory, t.memory + KILN_GPU_TRIAL_BYTES};
    const kiln_device_launch good = {t.step, operand, 2, 1}, bad = {fault, NULL, 0, 2};
    t.kind->launch(t.queue[0], &good);
    const uint64_t ticket = t.kind->launch(t.queue[0], &bad);
    t.kind->order(t.queue[1], t.queue[0], ticket);
    t.kind->launch(t.queue[1], &good);
    assert_int_equal(t.kind->finish(t.queue[0], ticket, &failure), -1);
    assert_int_equal(failure.tag, 2);
    assert_int_equal(failure.code, 700);
    assert_string_equal(failure.why, "an illegal memory access was encountered");
    assert_int_equal(t.kind->finish(t.queue[1], KILN_DEVICE_ALL, &failure), -1);
    assert_int_equal(failure.tag, 2);
    t.kind->module_close(m);
    close_trial(&t);
}

/* ---- modules ---------------------------------------------------------------------- */

typedef struct refusal {
    const char *name, *kernels, *code, *text;
} refusal;
static refusal refusals[] = {
    {"code_that_does_not_build", "kernel k 1 0\nlaunch times5 1 1 1 1 1 1 o0\n",
     "nonesuch;\n",
     "the PTX does not build for this GPU (sm_86): ptxas application ptx input, line "
     "1; "
     "error: nonesuch;"},
    {"an_entry_that_is_not_there", "kernel k 1 0\nlaunch other 1 1 1 1 1 1 o0\n", ptx,
     "the PTX has no entry 'other' (error 500)"},
    {"blocks_that_are_too_large", "kernel k 1 0\nlaunch mixed 1 1 1 64 32 1 o0\n", ptx,
     "entry 'mixed' wants blocks of 2048 threads, this GPU runs at most 1024 of it: "
     "build the package for its profile"},
};

static void refuses(void **state) {
    const refusal *r = *state;
    char error[KILN_ERROR_TEXT] = "";
    kiln_gpu_trial t;
    open_trial(&t);
    const int blocks = kiln_gpu_row_live();
    const long live = fake.live();
    assert_null(open_module(&t, r->kernels, r->code, error));
    assert_string_equal(error, r->text);
    assert_int_equal(kiln_gpu_row_live(), blocks);
    assert_int_equal(fake.live(), live);
    close_trial(&t);
}

/* ---- ahead of a measurement -------------------------------------------------------- */

static const char step[] = "kernel k 2 0\nlaunch times5 1 1 1 192 1 1 o0 o1 i0\n";

static bool translate(const kiln_gpu_trial *t, const char *code, char *error,
                      kiln_device_image *out) {
    kiln_device_image image = {0};
    void *bytes = NULL;
    image.bytes =
        kiln_gpu_module_text(kiln_test_arena(), KILN_GPU_PTX, step, code, &image.n);
    const bool ok = t->kind->translate(t->device, &image, &bytes, &out->n, error) == 0;
    if (!ok)
        return false;
    out->bytes = kiln_arena_dup(kiln_test_arena(), bytes, out->n);
    t->device->allocator.release(t->device->allocator.user, bytes);
    return true;
}

/* Machine code of this GPU: it opens as the text does. Whatever the driver refuses, and
 * wherever it fails, nothing is left. */
static void translates_ahead(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT] = "";
    kiln_device_image image = {0};
    kiln_device_module *m = NULL;
    kiln_device_kernel k;
    kiln_gpu_module own;
    kiln_gpu_trial t;
    open_trial(&t);
    const int blocks = kiln_gpu_row_live();
    const long live = fake.live();
    assert_false(translate(&t, "nonesuch;\n", error, &image));
    assert_non_null(strstr(error, "line 1; error: nonesuch;"));
    long n = 0;
    for (bool is_good = false; !is_good; n++) {
        fake.fail_at(n);
        is_good = translate(&t, ptx, error, &image) && image.n > 0;
        fake.fail_at(-1);
        assert_int_equal(kiln_gpu_row_live(), blocks);
        assert_int_equal(fake.live(), live);
    }
    assert_true(n > 3); /* calls, of which ends may fail unnoticed */
    assert_int_equal(kiln_gpu_module_check(image.bytes, image.n, &own, error), 0);
    assert_int_equal(own.header->language, KILN_GPU_CUBIN);
    assert_int_equal(t.kind->module_open(t.device, &image, &m, error), 0);
    assert_int_equal(t.kind->module_kernel(m, "k", &k), 0);
    t.kind->module_close(m);
    close_trial(&t);
}

/* What the driver counts: a millisecond for each launch. */
static void times_launches_in_a_row(void **state) {
    (void)state;
    enum { IN_A_ROW = 5 };
    char error[KILN_ERROR_TEXT] = "";
    const kiln_device_queue_options o = {.workspace_bytes = 4096, .is_timed = 1};
    kiln_device_failure failure = {0};
    kiln_device_queue *q = NULL;
    kiln_gpu_trial t;
    open_trial(&t);
    assert_int_equal(t.kind->queue_open(t.device, &o, &q, error), 0);
    void *operand[2] = {t.memory, t.memory + KILN_GPU_TRIAL_BYTES};
    const kiln_device_launch l = {t.step, operand, 2, 1};
    for (int again = 0; again < 2; again++) {
        t.kind->span(q, 1);
        for (int i = 0; i < IN_A_ROW; i++)
            t.kind->launch(q, &l);
        t.kind->span(q, 0);
        assert_int_equal(t.kind->finish(q, KILN_DEVICE_ALL, &failure), 0);
        assert_int_equal(t.kind->last_ns(q), IN_A_ROW * rows[0].ns);
        t.kind->launch(q, &l); /* and one by itself again */
        assert_int_equal(t.kind->finish(q, KILN_DEVICE_ALL, &failure), 0);
        assert_int_equal(t.kind->last_ns(q), rows[0].ns);
    }
    assert_true(fake.graphs() > 0); /* each row was one */
    t.kind->span(q, 1);             /* who waits in between lets them go */
    for (int i = 0; i < 100; i++)
        t.kind->launch(q, &l);
    assert_int_equal(t.kind->finish(q, KILN_DEVICE_ALL, &failure), 0);
    t.kind->span(q, 0);
    assert_int_equal(t.kind->finish(q, KILN_DEVICE_ALL, &failure), 0);
    t.kind->queue_close(q);
    close_trial(&t);
}

/* By a graph, and without one; whichever call fails, somebody says so and nothing is left. */
static void rows_survive_every_call_that_fails(void **state) {
    (void)state;
    enum { IN_A_ROW = 3 };
    const kiln_device_queue_options o = {.workspace_bytes = 4096, .is_timed = 1};
    for (int graphs = 0; graphs < 2; graphs++) {
        bool is_good = false;
        long n = 0;
        if (!graphs)
            assert_int_equal(setenv("KILN_GPU_GRAPHS", "0", 1), 0);
        for (; !is_good; n++) {
            char error[KILN_ERROR_TEXT] = "";
            kiln_device_failure failure = {0};
            kiln_device_queue *q = NULL;
            kiln_gpu_trial t;
            open_trial(&t);
            assert_int_equal(t.kind->queue_open(t.device, &o, &q, error), 0);
            void *operand[2] = {t.memory, t.memory + KILN_GPU_TRIAL_BYTES};
            const kiln_device_launch l = {t.step, operand, 2, 1};
            const long made = fake.graphs();
            fake.fail_at(n);
            t.kind->span(q, 1);
            for (int i = 0; i < IN_A_ROW; i++)
                t.kind->launch(q, &l);
            t.kind->span(q, 0);
            is_good = t.kind->finish(q, KILN_DEVICE_ALL, &failure) == 0;
            const uint64_t ns = t.kind->last_ns(q);
            fake.fail_at(-1);
            is_good = is_good && ns == IN_A_ROW * rows[0].ns &&
                      fake.graphs() == made + graphs;
            assert_int_equal(t.kind->finish(q, KILN_DEVICE_ALL, &failure), 0);
            t.kind->queue_close(q);
            close_trial(&t);
        }
        assert_true(n > 10); /* calls */
        assert_int_equal(unsetenv("KILN_GPU_GRAPHS"), 0);
    }
}

static void pins_the_hosts_memory(void **state) {
    (void)state;
    static _Alignas(4096) char memory[4096];
    kiln_gpu_trial t;
    open_trial(&t);
    assert_int_equal(t.kind->pin(t.device, memory + 1, 4095), -1);
    assert_int_equal(t.kind->pin(t.device, memory, sizeof memory), 0);
    t.kind->unpin(t.device, memory);
    close_trial(&t);
}

/* ---- runs that repeat themselves --------------------------------------------------- */

/* z = 5 (5 x + 3) + 3 by two launches, then y = 5 z + 3 and z once more behind a copy of
 * z to the host; the tensors from `first` on. */
typedef struct repeated {
    const kiln_gpu_trial *t;
    kiln_device_queue *q;
    bool looks_on; /* waits for each launch */
} repeated;

static uint64_t step_of(const repeated *r, int from, int to) {
    const kiln_gpu_trial *t = r->t;
    kiln_device_failure f = {0};
    void *operand[2] = {t->memory + from * KILN_GPU_TRIAL_BYTES,
                        t->memory + to * KILN_GPU_TRIAL_BYTES};
    const kiln_device_launch l = {t->step, operand, 2, (uint32_t)from};
    const uint64_t ticket = t->kind->launch(r->q, &l);
    if (r->looks_on)
        (void)t->kind->finish(r->q, ticket, &f);
    return ticket;
}

static uint32_t step_value(uint32_t x) { return 5 * x + 3; }

/* False: the queue said that something failed. What it did not say is right. */
static bool run_repeated(const repeated *r, uint32_t x, int first) {
    static uint32_t in[KILN_GPU_TRIAL_N], middle[KILN_GPU_TRIAL_N],
        out[KILN_GPU_TRIAL_N];
    const kiln_gpu_trial *t = r->t;
    kiln_device_failure f = {0};
    char *tensor = t->memory + first * KILN_GPU_TRIAL_BYTES;
    for (int i = 0; i < KILN_GPU_TRIAL_N; i++)
        in[i] = x + (uint32_t)i;
    const kiln_device_copy put = {tensor, in, sizeof in, 9};
    const kiln_device_copy show = {middle, tensor + 2 * KILN_GPU_TRIAL_BYTES,
                                   sizeof middle, 9};
    const kiln_device_copy fetch = {out, tensor + 2 * KILN_GPU_TRIAL_BYTES, sizeof out,
                                    9};
    t->kind->begin(r->q);
    t->kind->copy(r->q, &put);
    step_of(r, first, first + 1);
    step_of(r, first + 1, first + 2);
    t->kind->copy(r->q, &show);
    step_of(r, first + 2, first + 1);
    step_of(r, first + 1, first + 2);
    t->kind->copy(r->q, &fetch);
    const bool is_good = t->kind->finish(r->q, KILN_DEVICE_ALL, &f) == 0;
    t->kind->end(r->q);
    for (int i = 0; i < KILN_GPU_TRIAL_N && is_good; i++) {
        const uint32_t z = step_value(step_value(in[i]));
        assert_int_equal(middle[i], z);
        assert_int_equal(out[i], step_value(step_value(z)));
    }
    return is_good;
}

static uint64_t n_replayed(const repeated *r, const char **why) {
    return r->t->kind->n_replayed(r->q, why);
}

static bool open_repeated(const kiln_gpu_trial *t, repeated *out) {
    char error[KILN_ERROR_TEXT] = "";
    const kiln_device_queue_options o = {.workspace_bytes = 4096};
    *out = (repeated){.t = t};
    return t->kind->queue_open(t->device, &o, &out->q, error) == 0;
}

static void replays_what_repeats_itself(void **state) {
    (void)state;
    enum { RUNS = 6, LAUNCHES = 4, AHEAD = 2 };
    kiln_gpu_trial t;
    repeated r;
    const char *why = "";
    open_trial(&t);
    assert_true(open_repeated(&t, &r));
    const long before = fake.graphs();
    for (uint32_t i = 0; i < RUNS; i++) {
        assert_true(run_repeated(&r, 100 * i, 0));
        assert_int_equal(fake.graphs() - before, i + 1 < AHEAD ? 0 : 2);
        assert_int_equal(n_replayed(&r, &why),
                         i < AHEAD ? 0 : LAUNCHES * (i + 1 - AHEAD));
        assert_null(why);
    }
    /* Who looks on has launches by themselves, and the graphs stay. */
    const uint64_t so_far = n_replayed(&r, &why);
    r.looks_on = true;
    assert_true(run_repeated(&r, 7, 0));
    assert_int_equal(n_replayed(&r, &why), so_far);
    r.looks_on = false;
    assert_true(run_repeated(&r, 8, 0));
    assert_int_equal(n_replayed(&r, &why), so_far + LAUNCHES);
    assert_int_equal(fake.graphs() - before, 2);
    t.kind->queue_close(r.q);
    close_trial(&t);
}

/* Graphs are made anew a few times, then never. */
static void follows_runs_that_differ(void **state) {
    (void)state;
    kiln_gpu_trial t;
    repeated r;
    const char *why = NULL;
    open_trial(&t);
    assert_true(open_repeated(&t, &r));
    uint64_t so_far = 0;
    uint32_t x = 0;
    for (int change = 0; change < 4; change++) {
        for (int again = 0; again < 4; again++)
            assert_true(run_repeated(&r, x++, change % 2));
        assert_true(n_replayed(&r, &why) > so_far && why == NULL);
        so_far = n_replayed(&r, &why);
    }
    for (int again = 0; again < 4; again++)
        assert_true(run_repeated(&r, x++, 0));
    assert_string_equal((n_replayed(&r, &why), why), "runs differ from one another");
    assert_int_equal(n_replayed(&r, &why), so_far);
    t.kind->queue_close(r.q);
    close_trial(&t);
}

/* Wherever the driver fails, results are right or the failure is told, and nothing is
 * left. Where it makes no graph, launches go on as ever. */
static void survives_graphs_that_fail(void **state) {
    (void)state;
    enum { RUNS = 4 };
    const char *why = NULL;
    bool had_none = false, is_over = false;
    for (long n = 0; !is_over; n++) {
        kiln_gpu_trial t;
        repeated r;
        open_trial(&t);
        fake.fail_at(n);
        bool is_good = open_repeated(&t, &r);
        const bool is_open = is_good;
        for (uint32_t i = 0; is_open && i < RUNS; i++)
            is_good = run_repeated(&r, i, 0) && is_good;
        is_over = is_good && n_replayed(&r, &why) == 2 * 4 && n > 200;
        if (is_open) {
            had_none = had_none || (is_good && n_replayed(&r, &why) == 0 &&
                                    why != NULL && strcmp(why, "made up") == 0);
            t.kind->queue_close(r.q);
        }
        fake.fail_at(-1);
        close_trial(&t);
    }
    assert_true(had_none);
}

static void makes_no_graphs_when_told_so(void **state) {
    (void)state;
    kiln_gpu_trial t;
    repeated r;
    const char *why = NULL;
    open_trial(&t);
    assert_int_equal(setenv("KILN_GPU_GRAPHS", "0", 1), 0);
    assert_true(open_repeated(&t, &r));
    assert_int_equal(unsetenv("KILN_GPU_GRAPHS"), 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(run_repeated(&r, i, 0));
    assert_int_equal(n_replayed(&r, &why), 0);
    assert_string_equal(why, "it has no graphs");
    t.kind->queue_close(r.q);
    close_trial(&t);
}

/* ---- machines without one --------------------------------------------------------- */

/* The first test: a library that was found stays. */
static void says_what_to_install(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT] = "";
    kiln_allocator allocator;
    kiln_device *d = NULL;
    kiln_allocator_default(&allocator);
    const kiln_device_kind *kind = kiln_device_kind_named("cuda", NULL, 0);
    assert_int_equal(setenv("KILN_CUDA_LIBRARY", "libnonesuch.so.1", 1), 0);
    assert_int_equal(kind->open(&allocator, &d, error), -1);
    assert_int_equal(setenv("KILN_CUDA_LIBRARY", path_of_driver(), 1), 0);
    assert_non_null(strstr(error, "device 'cuda' needs an NVIDIA GPU and its driver: "
                                  "install that"));
    assert_non_null(strstr(error, "libnonesuch.so.1"));
}

/* One that is there, but is not what it should be. */
static void refuses_a_library_without_the_functions(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT] = "";
    kiln_allocator allocator;
    kiln_device *d = NULL;
    kiln_allocator_default(&allocator);
    const kiln_device_kind *kind = kiln_device_kind_named("cuda", NULL, 0);
    assert_int_equal(setenv("KILN_CUDA_LIBRARY", "libm.so.6", 1), 0);
    assert_int_equal(kind->open(&allocator, &d, error), -1);
    assert_int_equal(setenv("KILN_CUDA_LIBRARY", path_of_driver(), 1), 0);
    assert_non_null(strstr(error, "libcuda.so.1 has no 'cuInit': it is too old"));
}

int main(void) {
    open_driver();
    kiln_test_add("says_what_to_install", says_what_to_install, NULL);
    kiln_test_add("refuses_a_library_without_the_functions",
                  refuses_a_library_without_the_functions, NULL);
    kiln_test_add_rows(kiln_gpu_check_does_as_the_model, rows);
    kiln_test_add_rows(kiln_gpu_check_is_shared_by_threads, rows);
    kiln_test_add_rows(kiln_gpu_check_skips_what_follows_a_failure, rows);
    kiln_test_add_rows(kiln_gpu_check_wants_its_workspace, rows);
    kiln_test_add_rows(kiln_gpu_check_failing_memory_leaves_nothing, rows);
    kiln_test_add_rows(kiln_gpu_check_times_its_launches, rows);
    kiln_test_add("survives_every_call_that_fails", survives_every_call_that_fails,
                  NULL);
    kiln_test_add("says_what_the_driver_says", says_what_the_driver_says, NULL);
    kiln_test_add("tells_of_a_fault_that_comes_late", tells_of_a_fault_that_comes_late,
                  NULL);
    kiln_test_add_rows(refuses, refusals);
    kiln_test_add("translates_ahead", translates_ahead, NULL);
    kiln_test_add("times_launches_in_a_row", times_launches_in_a_row, NULL);
    kiln_test_add("rows_survive_every_call_that_fails",
                  rows_survive_every_call_that_fails, NULL);
    kiln_test_add("replays_what_repeats_itself", replays_what_repeats_itself, NULL);
    kiln_test_add("follows_runs_that_differ", follows_runs_that_differ, NULL);
    kiln_test_add("survives_graphs_that_fail", survives_graphs_that_fail, NULL);
    kiln_test_add("makes_no_graphs_when_told_so", makes_no_graphs_when_told_so, NULL);
    kiln_test_add("pins_the_hosts_memory", pins_the_hosts_memory, NULL);
    return kiln_test_run("cuda");
}
