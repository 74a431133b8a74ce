/* Fork: the job is written and its parts are offered, one to each worker, then the epoch
 * grows; workers wait for that. Join: who is done with its own part takes what nobody
 * has begun, and waits for the rest: each worker writes the epoch to a line of its own.
 * So nobody waits for a thread that has not come: it may be asleep (40 us), or another
 * program may have its processor for a time slice (milliseconds, at each fork).
 *
 * Who takes its part and is then taken off its processor by another program keeps all
 * others waiting for a time slice, as nobody can do again what is half done. So a worker
 * that took far longer than the caller rests for a while, longer each time that it
 * happens again soon: the caller, which takes its parts, waits for nobody. And a
 * system that wakes a worker on the caller's own processor, where it waits for the
 * caller to leave, is told better: the worker is sent off that one, once, and may then
 * run anywhere again.
 *
 * A worker that comes late finds its offer gone, and touches nothing: the job may be
 * another one by then. All waiting spins first. Who goes to sleep says so in a counter
 * and looks once more before, and who changes what is waited for looks at the counter
 * after: sequentially consistent, so that one of the two sees the other. */
#include "runtime/pool.h"

#include "runtime/affinity.h"
#include "runtime/arch.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A sleeping thread needs 40 to 65 us to wake on a virtual machine: it spins about as
 * long, and during a run so long that waking after all costs a twentieth.
 *
 * Where others want the processors too, who spins takes them from whom it waits for,
 * and each fork may cost a time slice (28 ms for a network became 200). A spinning
 * thread that finds itself taken off its processor says so, and for a while nobody
 * spins; longer each time that it happens again soon. */
enum { LINE = 64, DEFAULT_SPIN_US = 50, RUN_FACTOR = 20, PAUSES = 64 };
enum {
    PREEMPTED_NS = 500 * 1000, /* between two looks: less is an interrupt */
    MIN_CROWDED_NS = 20 * 1000 * 1000,
    MAX_CROWDED_NS = 1000 * 1000 * 1000,
    APART_NS = 1000 * 1000 /* between two moves: a system decides by the millisecond */
};

enum { TAKEN = -1 }; /* no epoch */

typedef struct job {
    kiln_parallel_fn *fn;
    const kiln_args *args;
    void *closure;
    int64_t n, chunk; /* chunk 0: fixed parts */
} job;

/* Where threads sleep. */
typedef struct bed {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_int sleepers;
} bed;

typedef struct worker {
    _Alignas(LINE) kiln_ctx inner; /* for bodies: loops in them run in place */
    kiln_pool *pool;
    void *scratch;
    pthread_t thread;
    int index, result;
    int is_offered;              /* the caller's: it has a part of this job */
    int64_t begin_ns;            /* of that part; the worker's until it is done */
    int64_t rest_until, rest_ns; /* the caller's: end and length of the last rest */
    atomic_int rests;            /* sleeps until it is told otherwise */
    atomic_int cpu;              /* where it was last; -1: not known */
    atomic_int is_sent; /* off the caller's CPU: its own affinity is to come back */
    _Alignas(LINE) atomic_uint done; /* the epoch whose part is finished */
    atomic_llong offer;              /* the epoch whose part nobody has begun; TAKEN */
} worker;

struct kiln_pool {
    kiln_ctx ctx; /* first: parallel_for finds the pool by it */
    int n, n_started, chunks, pins;
    int64_t spin_ns;
    const kiln_runtime_arch *arch; /* this one; NULL: not known, nothing to relax by */
    kiln_affinity affinity;        /* of the opener, put back at the end */
    size_t scratch_bytes;
    bed workers, caller, resting;
    int n_resting;
    int64_t apart_ns; /* when workers were last sent off the caller's CPU */
    job job;
    _Alignas(LINE) atomic_uint epoch;
    atomic_uint runs;                       /* begun and ended: odd during one */
    atomic_llong crowded_until, crowded_ns; /* time and length of the last period */
    atomic_int stops;
    atomic_uint n_come; /* workers that need nothing more of the system to begin */
    _Alignas(LINE) atomic_llong next; /* iteration that nobody has taken */
    worker w[];
};

/* ---- waiting --------------------------------------------------------------------- */

static void relax(const kiln_pool *p) {
    if (p->arch != NULL)
        p->arch->pause();
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Until *at is `wanted` (or, where `differs`, is not). */
static int is_there(atomic_uint *at, unsigned value, int differs) {
    return (atomic_load_explicit(at, memory_order_acquire) == value) != differs;
}

static int64_t patience(kiln_pool *p, int64_t now) {
    const unsigned runs = atomic_load_explicit(&p->runs, memory_order_relaxed);
    if (now < atomic_load_explicit(&p->crowded_until, memory_order_relaxed))
        return 0;
    return runs % 2 == 1 ? RUN_FACTOR * p->spin_ns : p->spin_ns;
}

/* Of a period, when the last one was so long and ended then. */
static int64_t period_after(int64_t now, int64_t until, int64_t last) {
    if (now - until >= 4 * last)
        return MIN_CROWDED_NS;
    return last < MAX_CROWDED_NS / 2 ? 2 * last : MAX_CROWDED_NS;
}

static void note_crowd(kiln_pool *p, int64_t now) {
    const int64_t until = atomic_load_explicit(&p->crowded_until, memory_order_relaxed);
    const int64_t last = atomic_load_explicit(&p->crowded_ns, memory_order_relaxed);
    if (now < until)
        return;
    const int64_t ns = period_after(now, until, last);
    atomic_store_explicit(&p->crowded_ns, ns, memory_order_relaxed);
    atomic_store_explicit(&p->crowded_until, now + ns, memory_order_relaxed);
}

static int spin(kiln_pool *p, atomic_uint *at, unsigned value, int differs) {
    const int64_t begin = p->spin_ns > 0 ? now_ns() : 0;
    int64_t now = begin, last;
    do {
        for (int i = 0; i < PAUSES; i++) {
            if (is_there(at, value, differs))
                return 1;
            relax(p);
        }
        if (p->spin_ns <= 0)
            return 0;
        last = now;
        now = now_ns();
        if (now - last > PREEMPTED_NS)
            note_crowd(p, now);
    } while (now - begin < patience(p, now));
    return 0;
}

/* Where it is, for who might wake it. */
static void note_place(worker *w) {
    if (w->pool->pins == 0 && w->pool->spin_ns > 0)
        atomic_store_explicit(&w->cpu, kiln_affinity_here(), memory_order_relaxed);
}

/* Off the caller's CPU, and where that leaves any off those of the others. */
static void send_off(kiln_pool *p, worker *w, int here) {
    int taken[KILN_POOL_MAX_THREADS], n = 0;
    taken[n++] = here;
    for (int i = 1; i < p->n; i++)
        if (&p->w[i] != w)
            taken[n++] = atomic_load_explicit(&p->w[i].cpu, memory_order_relaxed);
    atomic_store(&w->is_sent, 1);
    if (!kiln_affinity_keep_off(&p->affinity, w->thread, taken, n))
        (void)kiln_affinity_keep_off(&p->affinity, w->thread, taken, 1);
}

/* Workers that were last where the caller is now, and would wait for it there, go
 * elsewhere. */
static void send_apart(kiln_pool *p) {
    if (p->pins != 0 || p->spin_ns <= 0)
        return;
    const int here = kiln_affinity_here();
    int64_t now = 0;
    for (int i = 1; here >= 0 && i <= p->n_started; i++) {
        if (here != atomic_load_explicit(&p->w[i].cpu, memory_order_relaxed))
            continue;
        now = now == 0 ? now_ns() : now;
        if (now - p->apart_ns < APART_NS)
            return;
        send_off(p, &p->w[i], here);
    }
    if (now != 0)
        p->apart_ns = now;
}

/* By the worker itself, once it runs. */
static void come_back(worker *w) {
    if (atomic_load_explicit(&w->is_sent, memory_order_relaxed) == 0)
        return;
    atomic_store(&w->is_sent, 0);
    kiln_affinity_set(&w->pool->affinity);
}

/* Who sleeps is woken by a run that begins too, and then spins again. */
static void await(kiln_pool *p, bed *b, atomic_uint *at, unsigned value, int differs) {
    while (!spin(p, at, value, differs)) {
        pthread_mutex_lock(&b->lock);
        atomic_fetch_add(&b->sleepers, 1);
        const unsigned runs = atomic_load(&p->runs);
        while ((atomic_load(at) == value) == differs && atomic_load(&p->runs) == runs)
            pthread_cond_wait(&b->wake, &b->lock);
        atomic_fetch_sub(&b->sleepers, 1);
        pthread_mutex_unlock(&b->lock);
    }
}

/* After the store that somebody may wait for. */
static void wake(bed *b) {
    if (atomic_load(&b->sleepers) == 0)
        return;
    pthread_mutex_lock(&b->lock);
    pthread_cond_broadcast(&b->wake);
    pthread_mutex_unlock(&b->lock);
}

/* ---- loops ----------------------------------------------------------------------- */

static int run_in_place(kiln_ctx *ctx, kiln_parallel_fn *fn, const kiln_args *args,
                        void *closure, int64_t n) {
    return n > 0 ? fn(args, ctx, closure, 0, n, ctx->scratch) : 0;
}

/* floor(n t / threads) without the product, which may not fit. */
static int64_t part(int64_t n, int t, int threads) {
    assert(n >= 0 && t >= 0 && t <= threads);
    return n / threads * t + n % threads * t / threads;
}

/* Part t, by `w`. */
static int run_part(kiln_pool *p, worker *w, int t) {
    const job *j = &p->job;
    int64_t begin = part(j->n, t, p->n), end = part(j->n, t + 1, p->n);
    int result = 0;
    if (j->chunk == 0)
        return begin < end
                   ? j->fn(j->args, &w->inner, j->closure, begin, end, w->scratch)
                   : 0;
    while (result == 0) {
        begin = atomic_fetch_add_explicit(&p->next, j->chunk, memory_order_relaxed);
        if (begin >= j->n)
            break;
        end = j->n - begin < j->chunk ? j->n : begin + j->chunk;
        result = j->fn(j->args, &w->inner, j->closure, begin, end, w->scratch);
    }
    return result;
}

/* The epoch of the part; TAKEN: somebody else has it. */
static long long take_offer(worker *w) { return atomic_exchange(&w->offer, TAKEN); }

/* ---- rests ------------------------------------------------------------------------ */

/* Those whose time is over are there again. */
static void end_rests(kiln_pool *p) {
    const int64_t now = p->n_resting > 0 ? now_ns() : 0;
    int ended = 0;
    for (int i = 1; i < p->n && p->n_resting > 0; i++) {
        worker *w = &p->w[i];
        if (atomic_load_explicit(&w->rests, memory_order_relaxed) == 0 ||
            now < w->rest_until)
            continue;
        atomic_store(&w->rests, 0);
        assert(p->n_resting > 0);
        p->n_resting--;
        ended = 1;
    }
    if (ended)
        wake(&p->resting);
}

/* Worker w, whose part the caller waited for since `since`, is done with it. It took as
 * long as the caller did, a late start included; else it was not let run. (Who asks for
 * pins has processors to itself, and measures by them.) */
static void judge(kiln_pool *p, worker *w, int64_t since) {
    const int64_t now = now_ns();
    const int64_t usual = since > w->begin_ns ? since - w->begin_ns : 0;
    if (p->spin_ns <= 0 || p->pins != 0 || now - since <= PREEMPTED_NS ||
        now - w->begin_ns <= PREEMPTED_NS + 2 * usual)
        return;
    w->rest_ns = period_after(now, w->rest_until, w->rest_ns);
    w->rest_until = now + w->rest_ns;
    atomic_store(&w->rests, 1);
    p->n_resting++;
    assert(p->n_resting < p->n); /* the caller never rests */
}

/* The worker's side. */
static void rest(kiln_pool *p, worker *w) {
    if (atomic_load_explicit(&w->rests, memory_order_relaxed) == 0)
        return;
    bed *b = &p->resting;
    pthread_mutex_lock(&b->lock);
    atomic_fetch_add(&b->sleepers, 1);
    while (atomic_load(&w->rests) != 0 && atomic_load(&p->stops) == 0)
        pthread_cond_wait(&b->wake, &b->lock);
    atomic_fetch_sub(&b->sleepers, 1);
    pthread_mutex_unlock(&b->lock);
}

/* ---- forks ------------------------------------------------------------------------ */

/* An offer to each that does not rest; returns how many there are. */
static int offer(kiln_pool *p, unsigned epoch) {
    int n = 0;
    for (int i = 1; i < p->n; i++) {
        worker *w = &p->w[i];
        w->is_offered = atomic_load_explicit(&w->rests, memory_order_relaxed) == 0;
        n += w->is_offered;
        if (w->is_offered)
            atomic_store(&w->offer, (long long)epoch);
    }
    return n;
}

/* The parts that nobody has begun are the caller's. */
static void take_what_is_left(kiln_pool *p, unsigned epoch) {
    int missing = 0;
    for (int i = 1; i < p->n; i++) {
        worker *w = &p->w[i];
        if (w->is_offered && take_offer(w) == TAKEN)
            continue;
        w->result = run_part(p, &p->w[0], i);
        atomic_store_explicit(&w->done, epoch, memory_order_relaxed);
        missing |= w->is_offered;
    }
    if (missing)
        send_apart(p);
}

static int join(kiln_pool *p, unsigned epoch) {
    int result = p->w[0].result;
    for (int i = 1; i < p->n; i++) {
        worker *w = &p->w[i];
        if (!is_there(&w->done, epoch, 0)) {
            const int64_t since = now_ns();
            await(p, &p->caller, &w->done, epoch, 0);
            judge(p, w, since);
        }
        if (result == 0)
            result = w->result;
    }
    return result;
}

static int run_all(kiln_ctx *ctx, kiln_parallel_fn *fn, const kiln_args *args,
                   void *closure, int64_t n) {
    kiln_pool *p = (kiln_pool *)(void *)ctx;
    if (n <= 0)
        return 0;
    if (p->n == 1 || n == 1) /* with a context in which loops run in place */
        return fn(args, &p->w[0].inner, closure, 0, n, p->w[0].scratch);
    p->job = (job){.fn = fn, .args = args, .closure = closure, .n = n};
    if (p->chunks > 0) {
        const int64_t all = (int64_t)p->n * p->chunks;
        p->job.chunk = n / all + (n % all != 0);
        atomic_store_explicit(&p->next, 0, memory_order_relaxed);
    }
    end_rests(p);
    const unsigned epoch = atomic_load(&p->epoch) + 1; /* nobody else changes it */
    const int n_offers = offer(p, epoch);
    atomic_store(&p->epoch, epoch);
    if (n_offers > 0) {
        if (atomic_load(&p->workers.sleepers) > 0)
            send_apart(p);
        wake(&p->workers);
    }
    p->w[0].result = run_part(p, &p->w[0], 0);
    take_what_is_left(p, epoch);
    return join(p, epoch);
}

static void *work(void *user) {
    worker *w = user;
    kiln_pool *p = w->pool;
    if (p->pins != 0)
        kiln_affinity_pin(&p->affinity, w->index);
    note_place(w);
    atomic_fetch_add(&p->n_come, 1);
    wake(&p->caller);
    for (unsigned seen = 0;;) {
        rest(p, w);
        await(p, &p->workers, &p->epoch, seen, 1);
        seen = atomic_load(&p->epoch);
        if (atomic_load(&p->stops) != 0)
            return NULL;
        come_back(w);
        const long long epoch = take_offer(w); /* of this job, or of one since */
        if (epoch != TAKEN) {
            w->begin_ns = now_ns();
            w->result = run_part(p, w, w->index);
            atomic_store(&w->done, (unsigned)epoch);
            wake(&p->caller);
        }
        note_place(w);
    }
}

/* ---- opening and closing --------------------------------------------------------- */

static int fail(char text[KILN_POOL_TEXT], const char *what) {
    snprintf(text, KILN_POOL_TEXT, "%s", what);
    return 1;
}

static int bed_init(bed *b) {
    atomic_init(&b->sleepers, 0);
    if (pthread_mutex_init(&b->lock, NULL) != 0)
        return 1;
    if (pthread_cond_init(&b->wake, NULL) == 0)
        return 0;
    pthread_mutex_destroy(&b->lock);
    return 1;
}

static void bed_fini(bed *b) {
    pthread_cond_destroy(&b->wake);
    pthread_mutex_destroy(&b->lock);
}

static void set_scratch(kiln_pool *p, int i, void *scratch) {
    p->w[i].scratch = scratch;
    p->w[i].inner.scratch = scratch;
    if (i == 0)
        p->ctx.scratch = scratch;
}

static void release_scratch(kiln_pool *p) {
    for (int i = 0; p->scratch_bytes > 0 && i < p->n; i++)
        free(p->w[i].scratch);
    p->scratch_bytes = 0;
}

int kiln_pool_reserve(kiln_pool *p, size_t scratch_bytes) {
    void *made[KILN_POOL_MAX_THREADS];
    if (scratch_bytes <= p->scratch_bytes)
        return 0;
    if (scratch_bytes > SIZE_MAX - LINE)
        return 1;
    const size_t room = (scratch_bytes + LINE - 1) / LINE * LINE;
    for (int i = 0; i < p->n; i++) {
        made[i] = aligned_alloc(LINE, room);
        if (made[i] != NULL)
            continue;
        while (i-- > 0)
            free(made[i]);
        return 1;
    }
    release_scratch(p);
    for (int i = 0; i < p->n; i++)
        set_scratch(p, i, made[i]);
    p->scratch_bytes = room;
    return 0;
}

void kiln_pool_set_scratch(kiln_pool *p, void *const *scratch) {
    release_scratch(p);
    for (int i = 0; i < p->n; i++)
        set_scratch(p, i, scratch[i]);
}

/* All have come when it returns: who confines the process afterwards confines threads
 * that only compute. */
static int start(kiln_pool *p, char text[KILN_POOL_TEXT]) {
    for (int i = 1; i < p->n; i++) {
        if (pthread_create(&p->w[i].thread, NULL, work, &p->w[i]) != 0)
            return fail(text, "the system gives no more threads");
        p->n_started = i;
    }
    if (p->pins != 0)
        kiln_affinity_pin(&p->affinity, 0);
    await(p, &p->caller, &p->n_come, (unsigned)(p->n - 1), 0);
    return 0;
}

static void init(kiln_pool *p, const kiln_pool_options *o, int n,
                 const kiln_affinity *affinity) {
    assert(n >= 1 && n <= KILN_POOL_MAX_THREADS);
    p->ctx = (kiln_ctx){.parallel_for = run_all, .n_threads = n};
    p->n = n;
    p->chunks = o->chunks;
    p->pins = o->pins;
    p->affinity = *affinity;
    p->arch = kiln_runtime_arch_here();
    p->spin_ns = (int64_t)o->spin_us * 1000;
    if (o->spin_us == 0 && n <= affinity->n)
        p->spin_ns = (int64_t)DEFAULT_SPIN_US * 1000;
    atomic_init(&p->epoch, 0);
    atomic_init(&p->runs, 0);
    atomic_init(&p->crowded_until, 0);
    atomic_init(&p->crowded_ns, 0);
    atomic_init(&p->stops, 0);
    atomic_init(&p->n_come, 0);
    atomic_init(&p->next, 0);
    for (int i = 0; i < n; i++) {
        worker *w = &p->w[i];
        w->inner = (kiln_ctx){.parallel_for = run_in_place, .n_threads = 1};
        w->pool = p;
        w->index = i;
        atomic_init(&w->done, 0);
        atomic_init(&w->offer, TAKEN);
        atomic_init(&w->rests, 0);
        atomic_init(&w->cpu, -1);
        atomic_init(&w->is_sent, 0);
    }
}

int kiln_pool_open(const kiln_pool_options *o, kiln_pool **out,
                   char text[KILN_POOL_TEXT]) {
    static const kiln_pool_options defaults = {.n_threads = 0};
    const kiln_affinity affinity = kiln_affinity_get();
    if (o == NULL)
        o = &defaults;
    int n = o->n_threads;
    if (n == 0)
        n = affinity.n < 1                       ? 1
            : affinity.n > KILN_POOL_MAX_THREADS ? KILN_POOL_MAX_THREADS
                                                 : affinity.n;
    if (n < 0 || n > KILN_POOL_MAX_THREADS || o->chunks < 0) {
        snprintf(text, KILN_POOL_TEXT,
                 "a pool must have 1 to %d threads and 0 or more chunks, not %d and %d",
                 KILN_POOL_MAX_THREADS, n, o->chunks);
        return 1;
    }
    const size_t bytes = sizeof(kiln_pool) + (size_t)n * sizeof(worker);
    kiln_pool *p = aligned_alloc(LINE, bytes);
    if (p == NULL)
        return fail(text, "no memory for the pool");
    memset(p, 0, bytes);
    init(p, o, n, &affinity);
    if (bed_init(&p->workers) != 0) {
        free(p);
        return fail(text, "the system gives no more locks");
    }
    if (bed_init(&p->caller) != 0) {
        bed_fini(&p->workers);
        free(p);
        return fail(text, "the system gives no more locks");
    }
    if (bed_init(&p->resting) != 0) {
        bed_fini(&p->workers);
        bed_fini(&p->caller);
        free(p);
        return fail(text, "the system gives no more locks");
    }
    if (kiln_pool_reserve(p, o->scratch_bytes) != 0) {
        kiln_pool_close(p);
        return fail(text, "no memory for the threads' scratch");
    }
    if (start(p, text) != 0) {
        kiln_pool_close(p);
        return 1;
    }
    *out = p;
    return 0;
}

kiln_ctx *kiln_pool_ctx(kiln_pool *p) { return &p->ctx; }

/* Where nobody spins, nobody is woken before there is work. */
void kiln_pool_begin(kiln_pool *p) {
    if (p->spin_ns <= 0)
        return;
    atomic_fetch_add(&p->runs, 1);
    if (atomic_load(&p->workers.sleepers) > 0)
        send_apart(p);
    wake(&p->workers);
}

void kiln_pool_end(kiln_pool *p) {
    if (p->spin_ns > 0)
        atomic_fetch_add(&p->runs, 1);
}

int kiln_pool_threads(const kiln_pool *p) { return p->n; }

void kiln_pool_close(kiln_pool *p) {
    if (p == NULL)
        return;
    atomic_store(&p->stops, 1);
    atomic_fetch_add(&p->epoch, 1);
    wake(&p->workers);
    wake(&p->resting);
    for (int i = 1; i <= p->n_started; i++)
        pthread_join(p->w[i].thread, NULL);
    if (p->pins != 0)
        kiln_affinity_set(&p->affinity);
    release_scratch(p);
    bed_fini(&p->workers);
    bed_fini(&p->caller);
    bed_fini(&p->resting);
    free(p);
}
