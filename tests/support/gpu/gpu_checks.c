#include "tests/support/gpu/gpu_checks.h"

#include "runtime/model_internal.h"
#include "tests/support/kiln_test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool kiln_gpu_row_try(const kiln_gpu_row *r, kiln_gpu_trial *t, int fails,
                      char error[KILN_ERROR_TEXT]) {
    if (r->variable != NULL && setenv(r->variable, r->value, 1) != 0)
        fail_msg("there is no more environment");
    kiln_allocator_default(&plain);
    fail_at = fails;
    n_blocks = 0;
    return kiln_gpu_trial_open(t, r->kind, &counted, r->ptx, error);
}

void kiln_gpu_row_open(const kiln_gpu_row *r, kiln_gpu_trial *t) {
    char error[KILN_ERROR_TEXT] = "";
    if (kiln_gpu_row_try(r, t, -1, error))
        return;
    const bool has_device = t->device != NULL;
    kiln_gpu_row_close(t);
    if (has_device)
        fail_msg("%s", error);
    kiln_test_skip("%s", error);
}

int kiln_gpu_row_live(void) { return n_live; }

void kiln_gpu_row_close(kiln_gpu_trial *t) {
    kiln_gpu_trial_close(t);
    assert_int_equal(n_live, 0);
}

void kiln_gpu_check_does_as_the_model(void **state) {
    const kiln_gpu_row *r = *state;
    kiln_gpu_trial t;
    kiln_gpu_row_open(r, &t);
    for (int64_t i = kiln_test_cases(9); i > 0; i--) {
        kiln_arena a = {0};
        const char *wrong =
            kiln_gpu_trial_run(&t, &a, kiln_test_seed() + (uint64_t)i, 300);
        if (wrong != NULL)
            fail_msg("trial %d: %s", (int)i, wrong);
        kiln_arena_fini(&a);
    }
    kiln_gpu_row_close(&t);
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

void kiln_gpu_check_is_shared_by_threads(void **state) {
    enum { N_THREADS = 8 };
    const kiln_gpu_row *r = *state;
    kiln_gpu_trial t;
    pthread_t thread[N_THREADS];
    static worker workers[N_THREADS];
    kiln_gpu_row_open(r, &t);
    for (int i = 0; i < N_THREADS; i++) {
        workers[i] = (worker){.trial = t, .seed = kiln_test_seed() + (uint64_t)i};
        assert_int_equal(pthread_create(&thread[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < N_THREADS; i++)
        assert_string_equal(workers[i].text, "done");
    kiln_gpu_row_close(&t);
}

/* ---- failures --------------------------------------------------------------------- */

static uint64_t launch(const kiln_gpu_trial *t, int queue, uint32_t n_operands,
                       uint32_t tag) {
    void *operand[2] = {t->memory, t->memory + KILN_GPU_TRIAL_BYTES};
    const kiln_device_launch l = {t->step, operand, n_operands, tag};
    return t->kind->launch(t->queue[queue], &l);
}

void kiln_gpu_check_skips_what_follows_a_failure(void **state) {
    const kiln_gpu_row *r = *state;
    kiln_gpu_trial t;
    kiln_gpu_row_open(r, &t);
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
    kiln_gpu_row_close(&t);
}

void kiln_gpu_check_wants_its_workspace(void **state) {
    const kiln_gpu_row *r = *state;
    kiln_gpu_trial t;
    kiln_device_failure failure = {0};
    char error[KILN_ERROR_TEXT] = "";
    kiln_gpu_row_open(r, &t);
    const kiln_device_queue_options small = {.workspace_bytes = 1024};
    t.kind->queue_close(t.queue[0]);
    assert_int_equal(t.kind->queue_open(t.device, &small, &t.queue[0], error), 0);
    launch(&t, 0, 2, 5);
    assert_int_equal(t.kind->finish(t.queue[0], KILN_DEVICE_ALL, &failure), -1);
    assert_int_equal(failure.tag, 5);
    assert_string_equal(failure.why,
                        "the module's kernel wants more workspace than the plan says");
    kiln_gpu_row_close(&t);
}

void kiln_gpu_check_failing_memory_leaves_nothing(void **state) {
    const kiln_gpu_row *r = *state;
    kiln_gpu_trial t;
    int n_failures = 0;
    kiln_gpu_row_open(r, &t); /* or skip */
    kiln_gpu_row_close(&t);
    for (bool is_open = false; !is_open; n_failures++) {
        char error[KILN_ERROR_TEXT] = "";
        is_open = kiln_gpu_row_try(r, &t, n_failures, error);
        if (!is_open && strstr(error, "no memory for") == NULL)
            fail_msg("allocation %d: %s", n_failures, error);
        kiln_gpu_row_close(&t);
    }
    assert_true(n_failures >
                6); /* device, module of four blocks, queues; a kind's own */
}

void kiln_gpu_check_times_its_launches(void **state) {
    const kiln_gpu_row *r = *state;
    kiln_gpu_trial t;
    kiln_device_failure failure = {0};
    char error[KILN_ERROR_TEXT] = "";
    const kiln_device_queue_options options = {.workspace_bytes = 4096, .is_timed = 1};
    kiln_gpu_row_open(r, &t);
    assert_true(t.kind->last_ns(t.queue[0]) == 0); /* it is not timed */
    t.kind->queue_close(t.queue[0]);
    assert_int_equal(t.kind->queue_open(t.device, &options, &t.queue[0], error), 0);
    assert_true(t.kind->last_ns(t.queue[0]) == 0); /* nothing was launched */
    for (int again = 0; again < 3; again++) {
        launch(&t, 0, 2, 0);
        assert_int_equal(t.kind->finish(t.queue[0], KILN_DEVICE_ALL, &failure), 0);
        const uint64_t ns = t.kind->last_ns(t.queue[0]);
        assert_true(ns > 0);
        assert_true(r->ns == 0 || ns == r->ns);
    }
    kiln_gpu_row_close(&t);
}
