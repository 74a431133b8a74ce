/* The thread pool: every iteration once, on as many threads as promised, with their own
 * scratch, whatever sleeps or fails. Under V=tsan its forks and joins are held to be
 * synchronisation. */
#include "runtime/affinity.h"
#include "runtime/pool.h"
#include "tests/support/kiln_test.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_N = 1000, MAX_THREADS = 8 };

/* ---- allocations that fail ------------------------------------------------------- */

#if defined(__has_feature)
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&                 \
    !HAS_FEATURE(address_sanitizer) && !HAS_FEATURE(thread_sanitizer)
#define CAN_FAIL 1
#else
#define CAN_FAIL 0
#endif

#if CAN_FAIL
static int fail_in; /* the so-manieth request from now on; 0: none */

static bool is_failing(void) { return fail_in > 0 && --fail_in == 0; }

/* In place of the library's, for this program; glibc's names of parameters are
 * reserved. NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
void *aligned_alloc(size_t align, size_t bytes) {
    void *p = NULL;
    return is_failing() || posix_memalign(&p, align, bytes) != 0 ? NULL : p;
}

int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *),
                   void *arg) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&real, &found, sizeof real);
    return is_failing() ? EAGAIN : real(t, attr, fn, arg);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
#endif

static kiln_pool *open_pool(const kiln_pool_options *o) {
    kiln_pool *p = NULL;
    char text[KILN_POOL_TEXT] = "";
    if (kiln_pool_open(o, &p, text) != 0)
        fail_msg("%s", text);
    return p;
}

/* ---- a loop ---------------------------------------------------------------------- */

typedef struct visits {
    atomic_int count[MAX_N];
    atomic_int calls;
    atomic_int bad;       /* broken promises */
    int64_t part[MAX_N];  /* the first iteration of its call */
    int64_t nested_total; /* of the loop inside, at iteration 0 */
    int fails_at;         /* -1: no */
} visits;

static int inner_body(const kiln_args *args, kiln_ctx *ctx, void *closure,
                      int64_t begin, int64_t end, void *scratch) {
    int64_t *total = closure;
    (void)args;
    (void)scratch;
    (void)ctx;
    for (int64_t i = begin; i < end; i++)
        *total += i; /* no atomics: in place */
    return 0;
}

static int body(const kiln_args *args, kiln_ctx *ctx, void *closure, int64_t begin,
                int64_t end, void *scratch) {
    visits *v = closure;
    int64_t total = 0;
    atomic_fetch_add(&v->calls, 1);
    if (scratch != NULL) {
        if ((uintptr_t)scratch % 64 != 0)
            atomic_fetch_add(&v->bad, 1);
        memset(scratch, (int)begin, 64); /* two threads with one scratch would race */
    }
    if (args->workspace != v || ctx->scratch != scratch ||
        ctx->parallel_for(ctx, inner_body, args, &total, 10) != 0 || total != 45)
        atomic_fetch_add(&v->bad, 1);
    for (int64_t i = begin; i < end; i++) {
        atomic_fetch_add(&v->count[i], 1);
        v->part[i] = begin;
        if (i == v->fails_at)
            return 7;
    }
    return 0;
}

typedef struct row {
    const char *name;
    kiln_pool_options o;
    int forks;
    bool is_run; /* forks between begin and end */
} row;

static row rows[] = {
    {"one_thread", {.n_threads = 1, .scratch_bytes = 64}, .forks = 3},
    {"two_threads", {.n_threads = 2, .scratch_bytes = 100}, .forks = 50},
    {"three_threads", {.n_threads = 3, .scratch_bytes = 64}, .forks = 50},
    {"eight_threads", {.n_threads = 8, .scratch_bytes = 64}, .forks = 20},
    {"chunks_on_two", {.n_threads = 2, .chunks = 4, .scratch_bytes = 64}, .forks = 50},
    {"chunks_on_three",
     {.n_threads = 3, .chunks = 1, .scratch_bytes = 64},
     .forks = 50},
    {"always_asleep",
     {.n_threads = 3, .spin_us = -1, .scratch_bytes = 64},
     .forks = 200},
    {"spinning", {.n_threads = 2, .spin_us = 2000, .scratch_bytes = 64}, .forks = 100},
    {"in_a_run", {.n_threads = 2, .scratch_bytes = 64}, .forks = 50, .is_run = true},
    {"a_run_of_sleepers",
     {.n_threads = 3, .spin_us = -1, .scratch_bytes = 64},
     .forks = 50,
     .is_run = true},
    {"a_run_that_outlasts_spinning",
     {.n_threads = 3, .spin_us = 1, .scratch_bytes = 64},
     .forks = 200,
     .is_run = true},
    {"pinned", {.n_threads = 2, .pins = 1, .scratch_bytes = 64}, .forks = 50},
    {"no_scratch", {.n_threads = 2}, .forks = 10},
};

static void visits_each_once(void **state) {
    static const int64_t sizes[] = {0, 1, 2, 3, 7, 64, MAX_N};
    const row *r = *state;
    kiln_pool *p = open_pool(&r->o);
    kiln_ctx *ctx = kiln_pool_ctx(p);
    static visits v;
    assert_int_equal(kiln_pool_threads(p), r->o.n_threads);
    assert_int_equal(ctx->n_threads, r->o.n_threads);
    assert_true((ctx->scratch != NULL) == (r->o.scratch_bytes > 0));
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        if (r->is_run)
            kiln_pool_begin(p);
        for (int k = 0; k < r->forks; k++) {
            memset(&v, 0, sizeof v);
            v.fails_at = -1;
            const kiln_args args = {.workspace = &v};
            assert_int_equal(ctx->parallel_for(ctx, body, &args, &v, sizes[s]), 0);
            assert_int_equal(v.bad, 0);
            for (int64_t i = 0; i < MAX_N; i++)
                assert_int_equal(v.count[i], i < sizes[s] ? 1 : 0);
            if (r->o.chunks > 0)
                continue;
            const int64_t most = sizes[s] < r->o.n_threads ? sizes[s] : r->o.n_threads;
            assert_int_equal(v.calls, most);
            for (int64_t i = 1; i < sizes[s]; i++)
                v.calls -= v.part[i] != v.part[i - 1]; /* whole parts, in order */
            assert_true(sizes[s] == 0 || v.calls == 1);
        }
        if (r->is_run)
            kiln_pool_end(p);
    }
    kiln_pool_close(p);
}

static void failure_comes_back(void **state) {
    const row *r = *state;
    kiln_pool *p = open_pool(&r->o);
    kiln_ctx *ctx = kiln_pool_ctx(p);
    static visits v;
    for (int at = -1; at < 100; at += 20) {
        memset(&v, 0, sizeof v);
        v.fails_at = at;
        const kiln_args args = {.workspace = &v};
        assert_int_equal(ctx->parallel_for(ctx, body, &args, &v, 100), at < 0 ? 0 : 7);
        assert_int_equal(v.bad, 0);
    }
    kiln_pool_close(p);
}

static void reserve_grows_scratch(void **state) {
    kiln_pool *p = open_pool(&(kiln_pool_options){.n_threads = 2});
    kiln_ctx *ctx = kiln_pool_ctx(p);
    (void)state;
    assert_null(ctx->scratch);
    assert_int_equal(kiln_pool_reserve(p, 1000), 0);
    memset(ctx->scratch, 1, 1000);
    void *before = ctx->scratch;
    assert_int_equal(kiln_pool_reserve(p, 10), 0);
    assert_ptr_equal(ctx->scratch, before);
    assert_int_equal(kiln_pool_reserve(p, SIZE_MAX), 1);
    assert_ptr_equal(ctx->scratch, before);
#if CAN_FAIL /* sanitizers end the program at such sizes */
    assert_int_equal(kiln_pool_reserve(p, SIZE_MAX / 2 / 64 * 64), 1);
#endif
    memset(ctx->scratch, 1, 1000);
    _Alignas(64) unsigned char own[2][64];
    kiln_pool_set_scratch(p, (void *[]){own[0], own[1]});
    assert_ptr_equal(ctx->scratch, own[0]);
    kiln_pool_close(p);
}

static void refuses_numbers(void **state) {
    kiln_pool *p = NULL;
    char text[KILN_POOL_TEXT] = "";
    (void)state;
    assert_int_equal(kiln_pool_open(&(kiln_pool_options){.n_threads = 1025}, &p, text),
                     1);
    assert_string_equal(
        text,
        "a pool must have 1 to 1024 threads and 0 or more chunks, not 1025 and 0");
    assert_int_equal(
        kiln_pool_open(&(kiln_pool_options){.n_threads = 2, .chunks = -1}, &p, text),
        1);
    assert_null(p);
}

/* ---- affinity -------------------------------------------------------------------- */

/* Two parts at once: neither ends before the other has begun, so each thread has one. But
 * a worker may rest, on a busy machine, and then the first part waits in vain: again. */
typedef struct both {
    cpu_set_t seen[2];
    pthread_t thread[2];
    atomic_int n, is_alone;
} both;

enum { TOGETHER_S = 3, MAX_TOGETHER = 20 }; /* rests are of a second at most */

static int at_once(const kiln_args *args, kiln_ctx *ctx, void *closure, int64_t begin,
                   int64_t end, void *scratch) {
    both *b = closure;
    (void)args;
    (void)ctx;
    (void)end;
    (void)scratch;
    CPU_ZERO(&b->seen[begin]);
    (void)sched_getaffinity(0, sizeof b->seen[begin], &b->seen[begin]);
    b->thread[begin] = pthread_self();
    atomic_fetch_add(&b->n, 1);
    for (const time_t since = time(NULL); atomic_load(&b->n) < 2;) {
        sched_yield();
        if (time(NULL) - since <= TOGETHER_S)
            continue;
        atomic_store(&b->is_alone, 1);
        break;
    }
    return 0;
}

static void fork_at_once(kiln_ctx *ctx, both *b) {
    const kiln_args args = {.workspace = NULL};
    for (int i = 0; i < MAX_TOGETHER; i++) {
        atomic_init(&b->n, 0);
        atomic_init(&b->is_alone, 0);
        assert_int_equal(ctx->parallel_for(ctx, at_once, &args, b, 2), 0);
        if (atomic_load(&b->is_alone) == 0)
            return;
    }
    fail_msg("two threads never come together");
}

static void honours_the_mask(void **state) {
    const kiln_affinity before = kiln_affinity_get();
    both b;
    (void)state;
    assert_true(before.n >= 1);
    kiln_affinity_pin(&before, before.n - 1); /* now one CPU is all there is */
    const kiln_affinity one = kiln_affinity_get();
    assert_int_equal(one.n, 1);
    kiln_pool *p = open_pool(NULL);
    assert_int_equal(kiln_pool_threads(p), 1);
    kiln_pool_close(p);
    p = open_pool(&(kiln_pool_options){.n_threads = 2});
    fork_at_once(kiln_pool_ctx(p), &b);
    assert_memory_equal(&b.seen[0], one.set, sizeof b.seen[0]);
    assert_memory_equal(&b.seen[1], one.set, sizeof b.seen[1]);
    kiln_pool_close(p);
    kiln_affinity_set(&before);
    assert_int_equal(kiln_affinity_get().n, before.n);
}

static void pins_when_asked(void **state) {
    const kiln_affinity before = kiln_affinity_get();
    both b;
    (void)state;
    if (before.n < 2)
        kiln_test_skip("there is one processor");
    for (int pins = 0; pins < 2; pins++) {
        kiln_pool *p = open_pool(&(kiln_pool_options){.n_threads = 2, .pins = pins});
        fork_at_once(kiln_pool_ctx(p), &b);
        for (int i = 0; i < 2; i++)
            assert_int_equal(CPU_COUNT(&b.seen[i]), pins ? 1 : before.n);
        assert_int_equal(CPU_EQUAL(&b.seen[0], &b.seen[1]) != 0, !pins);
        kiln_pool_close(p);
        assert_int_equal(kiln_affinity_get().n, before.n);
    }
}

/* ---- a thread that does not come ------------------------------------------------- */

enum { LOOPS = 400, TRIES = 20, PATIENCE_MS = 2000 };

static atomic_int is_held, may_go;
static atomic_int n_loops;   /* that ended */
static atomic_int is_helped; /* the loops did not go on before the worker was let go */

static void hold(int signal) {
    (void)signal;
    atomic_store(&is_held, 1);
    while (atomic_load(&may_go) == 0)
        sched_yield();
}

/* Lets the worker go when loops have stood still. */
static void *watch(void *user) {
    (void)user;
    for (int seen = -1, still = 0; atomic_load(&may_go) == 0; still++) {
        const int now = atomic_load(&n_loops);
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        if (now != seen)
            still = 0;
        seen = now;
        if (still < PATIENCE_MS)
            continue;
        atomic_store(&is_helped, 1);
        atomic_store(&may_go, 1);
    }
    return NULL;
}

static void loop_once(kiln_ctx *ctx) {
    static visits v;
    memset(&v, 0, sizeof v);
    v.fails_at = -1;
    const kiln_args args = {.workspace = &v};
    assert_int_equal(ctx->parallel_for(ctx, body, &args, &v, 100), 0);
    assert_int_equal(v.bad, 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(v.count[i], 1);
}

static bool ends_without(int chunks) {
    kiln_pool *p = open_pool(&(kiln_pool_options){
        .n_threads = 2, .chunks = chunks, .spin_us = 1000000, .scratch_bytes = 64});
    kiln_ctx *ctx = kiln_pool_ctx(p);
    pthread_t watcher;
    both b;
    fork_at_once(ctx, &b);
    const int worker = pthread_equal(b.thread[0], pthread_self()) != 0;
    atomic_store(&is_held, 0);
    atomic_store(&may_go, 0);
    atomic_store(&n_loops, 0);
    atomic_store(&is_helped, 0);
    assert_int_equal(pthread_kill(b.thread[worker], SIGUSR1), 0);
    while (atomic_load(&is_held) == 0)
        sched_yield();
    assert_int_equal(pthread_create(&watcher, NULL, watch, NULL), 0);
    for (int k = 0; k < LOOPS; k++) {
        loop_once(ctx);
        atomic_fetch_add(&n_loops, 1);
        if (k == LOOPS / 2) /* it comes in the middle of loops */
            atomic_store(&may_go, 1);
    }
    assert_int_equal(pthread_join(watcher, NULL), 0);
    fork_at_once(ctx, &b); /* it is there again */
    kiln_pool_close(p);
    return atomic_load(&is_helped) == 0;
}

/* As if another program had its processor: a worker is held outside of any part, and
 * loops end all the same, by the caller alone. Then it comes, late, to loops that are
 * over, and takes part in those that are not.
 *
 * A signal may find it with the lock of its bed in hand, which nobody can go on without:
 * rarely, for it spins, and not every time. */
static void who_is_away_is_not_waited_for(void **state) {
    static const int chunks[] = {0, 4};
    const struct sigaction held = {.sa_handler = hold};
    struct sigaction before;
    (void)state;
    assert_int_equal(sigaction(SIGUSR1, &held, &before), 0);
    for (int c = 0; c < 2; c++) {
        int tries = 1;
        while (!ends_without(chunks[c]))
            if (++tries > TRIES)
                fail_msg("loops end only when the worker comes");
    }
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

/* ---- a thread that is away in the middle of its part ------------------------------ */

typedef struct slow {
    pthread_t caller;
    atomic_int n, helped; /* iterations done; of them by the worker */
    int64_t ns;           /* that the worker takes */
} slow;

static int slow_body(const kiln_args *args, kiln_ctx *ctx, void *closure, int64_t begin,
                     int64_t end, void *scratch) {
    slow *s = closure;
    (void)args;
    (void)ctx;
    (void)scratch;
    const bool is_worker = pthread_equal(s->caller, pthread_self()) == 0;
    if (is_worker && s->ns > 0)
        (void)nanosleep(&(struct timespec){.tv_nsec = s->ns}, NULL);
    atomic_fetch_add(&s->n, (int)(end - begin));
    atomic_fetch_add(&s->helped, is_worker);
    return 0;
}

static void loop_slowly(kiln_ctx *ctx, slow *s, int64_t ns) {
    const kiln_args args = {.workspace = NULL};
    s->ns = ns;
    atomic_store(&s->n, 0);
    assert_int_equal(ctx->parallel_for(ctx, slow_body, &args, s, 100), 0);
    assert_int_equal(atomic_load(&s->n), 100);
}

/* A worker that is slow each time loses its turns for longer and longer, so that few of
 * many loops wait for it; and it is back in the end, where it is slow no more. */
static void who_is_slow_rests(void **state) {
    enum { SLOW_LOOPS = 3000 };
    slow s = {.caller = pthread_self()};
    kiln_pool *p = open_pool(&(kiln_pool_options){.n_threads = 2, .spin_us = 50});
    kiln_ctx *ctx = kiln_pool_ctx(p);
    (void)state;
    kiln_pool_begin(p);
    for (int i = 0; i < SLOW_LOOPS; i++)
        loop_slowly(ctx, &s, 5000000);
    assert_in_range(atomic_load(&s.helped), 0, SLOW_LOOPS / 10);
    const int before = atomic_load(&s.helped);
    const time_t since = time(NULL);
    while (atomic_load(&s.helped) == before && time(NULL) - since < 60)
        loop_slowly(ctx, &s, 0);
    assert_true(atomic_load(&s.helped) > before);
    kiln_pool_end(p);
    kiln_pool_close(p);
}

/* ---- failing allocations --------------------------------------------------------- */

static void survives_failures(void **state) {
    (void)state;
#if CAN_FAIL
    int failed = 0;
    for (int k = 1;; k++) { /* the pool, four scratches, three threads */
        kiln_pool *p = NULL;
        char text[KILN_POOL_TEXT] = "";
        const kiln_pool_options o = {.n_threads = 4, .scratch_bytes = 64};
        fail_in = k;
        const int r = kiln_pool_open(&o, &p, text);
        fail_in = 0;
        if (r == 0) {
            kiln_pool_close(p);
            break;
        }
        assert_null(p);
        assert_true(text[0] != '\0');
        failed++;
    }
    assert_int_equal(failed, 8);
#else
    kiln_test_skip("sanitizers have their own allocation");
#endif
}

int main(void) {
    kiln_test_add_rows(visits_each_once, rows);
    kiln_test_add("failure_comes_back", failure_comes_back, &rows[2]);
    kiln_test_add("failure_comes_back_from_chunks", failure_comes_back, &rows[4]);
    kiln_test_add("reserve_grows_scratch", reserve_grows_scratch, NULL);
    kiln_test_add("refuses_numbers", refuses_numbers, NULL);
    kiln_test_add("honours_the_mask", honours_the_mask, NULL);
    kiln_test_add("pins_when_asked", pins_when_asked, NULL);
    kiln_test_add("who_is_away_is_not_waited_for", who_is_away_is_not_waited_for, NULL);
    kiln_test_add("who_is_slow_rests", who_is_slow_rests, NULL);
    kiln_test_add("survives_failures", survives_failures, NULL);
    return kiln_test_run("thread pool");
}
