/* The device "opencl" where this machine has one, such as PoCL's: what is told to it is
 * done as a model on the host does it, what cannot be is refused by name, and nothing
 * stays. Addresses by shared virtual memory and by buffers. */
#include "runtime/model_internal.h"
#include "tests/support/gpu_module_text.h"
#include "tests/support/gpu_trial.h"
#include "tests/support/kiln_test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    const char *name, *memory;
} row;
static row memories[] = {{"by_addresses", "addresses"}, {"by_buffers", "buffers"}};

static kiln_allocator plain;
static int n_live, n_blocks, fail_at;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *counted_alloc(void *user, size_t bytes) {
    (void)user;
    pthread_mutex_lock(&lock);
    const bool fails = n_blocks++ == fail_at;
    n_live += !fails;
    pthread_mutex_unlock(&lock);
    return fails ? NULL : plain.alloc(plain.user, bytes);
}

static void counted_release(void *user, void *block) {
    (void)user;
    pthread_mutex_lock(&lock);
    n_live--;
    pthread_mutex_unlock(&lock);
    plain.release(plain.user, block);
}

static const kiln_allocator counted = {counted_alloc, counted_release, NULL};

/* A test that runs only where there is a device. */
static void open_trial(kiln_gpu_trial *t, const char *memory) {
    char error[KILN_ERROR_TEXT] = "";
    assert_int_equal(setenv("KILN_OPENCL_MEMORY", memory, 1), 0);
    fail_at = -1;
    if (kiln_gpu_trial_open(t, "opencl", &counted, NULL, error))
        return;
    const bool has_device = t->device != NULL;
    kiln_gpu_trial_close(t);
    if (has_device)
        fail_msg("%s", error);
    kiln_test_skip("%s", error);
}

static void close_trial(kiln_gpu_trial *t) {
    kiln_gpu_trial_close(t);
    assert_int_equal(n_live, 0);
}

static void does_as_the_model(void **state) {
    const row *r = *state;
    kiln_gpu_trial t;
    open_trial(&t, r->memory);
    for (int64_t i = kiln_test_cases(9); i > 0; i--) {
        kiln_arena a = {0};
        const char *wrong =
            kiln_gpu_trial_run(&t, &a, kiln_test_seed() + (uint64_t)i, 300);
        if (wrong != NULL)
            fail_msg("trial %d: %s", (int)i, wrong);
        kiln_arena_fini(&a);
    }
    close_trial(&t);
}

/* ---- threads ---------------------------------------------------------------------- */

typedef struct worker {
    kiln_gpu_trial trial; /* of its own but for device and module */
    uint64_t seed;
    char text[KILN_ERROR_TEXT];
} worker;

static void *work(void *user) {
    worker *w = user;
    kiln_gpu_trial *t = &w->trial;
    kiln_arena a = {0};
    const kiln_device_queue_options options = {.workspace_bytes = 4096};
    const char *wrong = NULL;
    t->queue[0] = t->queue[1] = NULL;
    t->memory = t->kind->alloc(t->device, 0,
                               (size_t)KILN_GPU_TRIAL_TENSORS * KILN_GPU_TRIAL_BYTES);
    if (t->memory == NULL ||
        t->kind->queue_open(t->device, &options, &t->queue[0], w->text) != 0 ||
        t->kind->queue_open(t->device, &options, &t->queue[1], w->text) != 0)
        return NULL;
    wrong = kiln_gpu_trial_run(t, &a, w->seed, 100);
    (void)snprintf(w->text, sizeof w->text, "%s", wrong != NULL ? wrong : "done");
    kiln_arena_fini(&a);
    for (int i = 0; i < 2; i++)
        t->kind->queue_close(t->queue[i]);
    t->kind->release(t->device, 0, t->memory);
    return NULL;
}

static void is_shared_by_threads(void **state) {
    enum { N_THREADS = 8 };
    const row *r = *state;
    kiln_gpu_trial t;
    pthread_t thread[N_THREADS];
    static worker workers[N_THREADS];
    open_trial(&t, r->memory);
    for (int i = 0; i < N_THREADS; i++) {
        workers[i] = (worker){.trial = t, .seed = kiln_test_seed() + (uint64_t)i};
        assert_int_equal(pthread_create(&thread[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < N_THREADS; i++)
        assert_string_equal(workers[i].text, "done");
    close_trial(&t);
}

/* ---- failures --------------------------------------------------------------------- */

static uint64_t launch(const kiln_gpu_trial *t, int queue, uint32_t n_operands,
                       uint32_t tag) {
    void *operand[2] = {t->memory, t->memory + KILN_GPU_TRIAL_BYTES};
    const kiln_device_launch l = {t->step, operand, n_operands, tag};
    return t->kind->launch(t->queue[queue], &l);
}

static void skips_what_follows_a_failure(void **state) {
    const row *r = *state;
    kiln_gpu_trial t;
    open_trial(&t, r->memory);
    static uint32_t zeros[KILN_GPU_TRIAL_N], got[KILN_GPU_TRIAL_N];
    const kiln_device_copy in = {t.memory, zeros, sizeof zeros, 0};
    const kiln_device_copy clear = {t.memory + KILN_GPU_TRIAL_BYTES, zeros,
                                    sizeof zeros, 0};
    const kiln_device_copy out = {got, t.memory + KILN_GPU_TRIAL_BYTES, sizeof got, 3};
    for (int again = 0; again < 2; again++) {
        kiln_device_failure failure = {0};
        memset(got, 0xFF, sizeof got);
        t.kind->copy(t.queue[0], &in);
        t.kind->copy(t.queue[0], &clear);
        const uint64_t good = launch(&t, 0, 2, 1), bad = launch(&t, 0, 1, 2);
        const uint64_t skipped = t.kind->copy(t.queue[0], &out);
        assert_true(good < bad && bad < skipped);
        t.kind->order(t.queue[1], t.queue[0], good);
        assert_int_equal(t.kind->finish(t.queue[1], KILN_DEVICE_ALL, &failure), 0);
        t.kind->order(t.queue[1], t.queue[0], skipped);
        launch(&t, 1, 2, 4);
        assert_int_equal(t.kind->finish(t.queue[1], KILN_DEVICE_ALL, &failure), -1);
        assert_int_equal(failure.tag, 2);
        assert_int_equal(t.kind->finish(t.queue[0], good, &failure), 0);
        assert_int_equal(t.kind->finish(t.queue[0], skipped, &failure), -1);
        assert_int_equal(t.kind->finish(t.queue[0], KILN_DEVICE_ALL, &failure), -1);
        assert_int_equal(failure.tag, 2);
        assert_int_equal(failure.code, -1);
        assert_string_equal(failure.why, "the plan has another number of operands than "
                                         "the module's kernel");
        assert_int_equal(got[0], UINT32_MAX);
        t.kind->copy(t.queue[0], &out);
        assert_int_equal(t.kind->finish(t.queue[0], KILN_DEVICE_ALL, &failure), 0);
        assert_int_equal(got[KILN_GPU_TRIAL_N - 1], 3);
    }
    close_trial(&t);
}

static void wants_its_workspace(void **state) {
    const row *r = *state;
    kiln_gpu_trial t;
    kiln_device_failure failure = {0};
    char error[KILN_ERROR_TEXT] = "";
    open_trial(&t, r->memory);
    const kiln_device_queue_options small = {.workspace_bytes = 1024};
    t.kind->queue_close(t.queue[0]);
    assert_int_equal(t.kind->queue_open(t.device, &small, &t.queue[0], error), 0);
    launch(&t, 0, 2, 5);
    assert_int_equal(t.kind->finish(t.queue[0], KILN_DEVICE_ALL, &failure), -1);
    assert_int_equal(failure.tag, 5);
    assert_string_equal(failure.why,
                        "the module's kernel wants more workspace than the plan says");
    close_trial(&t);
}

static void failing_memory_leaves_nothing(void **state) {
    const row *r = *state;
    kiln_gpu_trial t;
    int n_failures = 0;
    open_trial(&t, r->memory); /* or skip */
    close_trial(&t);
    for (bool is_open = false; !is_open; n_failures++) {
        char error[KILN_ERROR_TEXT] = "";
        fail_at = n_failures;
        n_blocks = 0;
        is_open = kiln_gpu_trial_open(&t, "opencl", &counted, NULL, error);
        if (!is_open && strstr(error, "no memory for") == NULL)
            fail_msg("allocation %d: %s", n_failures, error);
        close_trial(&t);
    }
    assert_true(n_failures > 9); /* device, module of four blocks, entries, queues */
}

/* ---- modules ---------------------------------------------------------------------- */

typedef struct refusal {
    const char *name, *kernels, *code, *text;
    kiln_gpu_language language;
} refusal;
static refusal refusals[] = {
    {.name = "code_that_does_not_build",
     .kernels = "kernel k 1 0\nlaunch k 1 1 1 1 1 1 o0\n",
     .code = "kernel void k(global float *x) { x[0] = nonesuch; }\n",
     .text = "nonesuch"},
    {.name = "an_entry_that_is_not_there",
     .kernels = "kernel k 1 0\nlaunch other 1 1 1 1 1 1 o0\n",
     .code = "kernel void k(global float *x) { x[0] = 1; }\n",
     .text = "the OpenCL code has no entry 'other'"},
    {.name = "an_entry_of_more_arguments",
     .kernels = "kernel k 1 0\nlaunch k 1 1 1 1 1 1 o0\n",
     .code = "kernel void k(global float *x, long n) { x[n] = 1; }\n",
     .text = "entry 'k' of the OpenCL code has 2 arguments, its launch 1"},
    {.name = "groups_that_are_too_large",
     .kernels = "kernel k 1 0\nlaunch k 1 1 1 256 256 1 o0\n",
     .code = "kernel void k(global float *x) { x[0] = 1; }\n",
     .text =
         "entry 'k' wants groups of 65536 work items, this OpenCL device has at most"},
    {.name = "another_language",
     .kernels = "kernel k 1 0\nlaunch k 1 1 1 1 1 1 o0\n",
     .code = ".version 7.0\n",
     .text = "device 'opencl' takes OpenCL C, the module is PTX",
     .language = KILN_GPU_PTX},
};

static void refuses(void **state) {
    const refusal *r = *state;
    kiln_arena *a = kiln_test_arena();
    char error[KILN_ERROR_TEXT] = "";
    kiln_device_image image = {0};
    kiln_device_module *m = NULL;
    kiln_gpu_trial t;
    open_trial(&t, "addresses");
    const int live = n_live;
    image.bytes =
        kiln_gpu_module_text(a, r->language != 0 ? r->language : KILN_GPU_OPENCL_C,
                             r->kernels, r->code, &image.n);
    assert_int_equal(t.kind->module_open(t.device, &image, &m, error), -1);
    if (strstr(error, r->text) == NULL)
        fail_msg("'%s' should say '%s'", error, r->text);
    assert_int_equal(n_live, live);
    close_trial(&t);
}

static void refuses_what_is_no_module(void **state) {
    (void)state;
    static const char text[] =
        "\177ELF, or whatever this is: longer than a header has to "
        "be, but nothing that anybody wrote for a GPU";
    char error[KILN_ERROR_TEXT] = "";
    const kiln_device_image file = {.bytes = text, .n = sizeof text}, linked = {0};
    kiln_device_module *m = NULL;
    kiln_gpu_trial t;
    open_trial(&t, "addresses");
    assert_int_equal(t.kind->module_open(t.device, &file, &m, error), -1);
    assert_string_equal(error, "gpu module: does not begin with 'KILNGPUM'");
    assert_int_equal(t.kind->module_open(t.device, &linked, &m, error), -1);
    assert_string_equal(error, "device 'opencl' runs no functions of this program: it "
                               "wants a module");
    close_trial(&t);
}

/* ---- machines without one --------------------------------------------------------- */

/* The first test: a library that was found stays. */
static void says_what_to_install(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT] = "";
    kiln_device *d = NULL;
    const kiln_device_kind *kind = kiln_device_kind_named("opencl", NULL, 0);
    assert_int_equal(setenv("KILN_OPENCL_LIBRARY", "libnonesuch.so.1", 1), 0);
    assert_int_equal(kind->open(&plain, &d, error), -1);
    assert_int_equal(unsetenv("KILN_OPENCL_LIBRARY"), 0);
    assert_non_null(strstr(error, "device 'opencl' needs OpenCL: install its loader"));
    assert_non_null(strstr(error, "libnonesuch.so.1"));
}

static void is_chosen_by_its_name(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT] = "";
    kiln_gpu_trial t;
    open_trial(&t, "addresses");
    close_trial(&t);
    kiln_device *d = NULL;
    assert_int_equal(setenv("KILN_OPENCL_DEVICE", "a device of nobody", 1), 0);
    assert_int_equal(t.kind->open(&plain, &d, error), -1);
    assert_int_equal(setenv("KILN_OPENCL_DEVICE", ": ", 1), 0);
    assert_non_null(strstr(error,
                           "KILN_OPENCL_DEVICE is 'a device of nobody', which is "
                           "part of no OpenCL device's name: '"));
    assert_int_equal(t.kind->open(&plain, &d, error), 0);
    t.kind->close(d);
    assert_int_equal(unsetenv("KILN_OPENCL_DEVICE"), 0);
}

/* PoCL 3.1 keeps what its compiler (LLVM 15) allocated, which LeakSanitizer then finds in
 * frames that it cannot name. What the runtime allocates is counted above. */
int __lsan_is_turned_off(void);              /* NOLINT: the name is the sanitizer's */
int __lsan_is_turned_off(void) { return 1; } /* NOLINT */

int main(void) {
    kiln_allocator_default(&plain);
    /* What PoCL compiles here goes with the test. */
    if (setenv("POCL_CACHE_DIR", kiln_test_dir(), 1) != 0)
        return 1;
    kiln_test_add("says_what_to_install", says_what_to_install, NULL);
    kiln_test_add("is_chosen_by_its_name", is_chosen_by_its_name, NULL);
    kiln_test_add_rows(does_as_the_model, memories);
    kiln_test_add_rows(is_shared_by_threads, memories);
    kiln_test_add_rows(skips_what_follows_a_failure, memories);
    kiln_test_add_rows(wants_its_workspace, memories);
    kiln_test_add_rows(failing_memory_leaves_nothing, memories);
    kiln_test_add_rows(refuses, refusals);
    kiln_test_add("refuses_what_is_no_module", refuses_what_is_no_module, NULL);
    return kiln_test_run("opencl");
}
