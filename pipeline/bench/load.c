/* Several instances of a model at once, as a server has them: how long does a run take
 * then, and how many are there in a second? Each instance is a session with a thread of
 * its own that runs it again as soon as it is done (a closed loop); the model's
 * parameters are shared. */
#include "pipeline/bench/bench_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MAX_RUNS = 16 << 20, /* of all instances: 16 bytes each */
    LEAST_RUNS = 1 << 15,
    WARM_UPS = 3,
    BOOTSTRAPS = 2000,
    START_NS = 20 * 1000 * 1000, /* until all threads are there */
    WATCH_NS = 20 * 1000 * 1000
};

/* Times since the start. */
typedef struct one_run {
    int64_t begin, end;
} one_run;

typedef struct load load;
typedef struct instance {
    load *of;
    kiln_session *session;
    kiln_task task;
    one_run *run;
    size_t n, room;
    bool has_failed;
} instance;

struct load {
    kiln_arena *arena; /* of one side */
    const kiln_subject *subject;
    kiln_load_side *side;
    instance *instance;
    int64_t start, length; /* of time */
    atomic_bool must_stop;
    atomic_bool is_full;
};

/* ---- an instance ----------------------------------------------------------------- */

static void sleep_until(int64_t when) {
    for (int64_t left = when - kiln_now_ns(); left > 0; left = when - kiln_now_ns()) {
        const struct timespec t = {.tv_sec = left / 1000000000,
                                   .tv_nsec = left % 1000000000};
        (void)nanosleep(&t, NULL);
    }
}

/* Nothing is allocated and nothing is shared but two flags while time is taken. */
static void run_again_and_again(void *user) {
    instance *x = user;
    load *l = x->of;
    sleep_until(l->start);
    while (!atomic_load_explicit(&l->must_stop, memory_order_relaxed)) {
        const int64_t begin = kiln_now_ns() - l->start;
        if (begin >= l->length && x->n > 0) /* once in any case */
            return;
        if (x->n == x->room) {
            atomic_store(&l->is_full, true);
            atomic_store(&l->must_stop, true);
            return;
        }
        if (kiln_session_run(x->session) != 0) {
            x->has_failed = true;
            atomic_store(&l->must_stop, true);
            return;
        }
        x->run[x->n++] = (one_run){begin, kiln_now_ns() - l->start};
    }
}

static void close_session(void *session) { kiln_session_close(session); }

/* How long a run takes alone, so that there is room for all of them. */
static kiln_status warm_up(instance *x, int64_t *ns, kiln_err *err) {
    *ns = INT64_MAX;
    for (int i = 0; i < WARM_UPS; i++) {
        const int64_t begin = kiln_now_ns();
        if (kiln_session_run(x->session) != 0)
            return kiln_session_failed(x->session, err);
        const int64_t took = kiln_now_ns() - begin;
        *ns = took < *ns ? took : *ns;
    }
    return KILN_OK;
}

static kiln_status open_instance(load *l, instance *x, kiln_check *check,
                                 kiln_err *err) {
    char text[KILN_ERROR_TEXT] = "";
    const kiln_session_options o = {.n_threads = l->side->threads};
    int64_t ns = 0;
    x->of = l;
    x->session = kiln_session_open(l->subject->model, &o, text);
    if (x->session == NULL)
        return kiln_fail(err, KILN_ERR_OOM, "instance %td of %d: %s", x - l->instance,
                         l->side->instances, text);
    kiln_arena_defer(l->arena, close_session, x->session);
    KILN_TRY(kiln_subject_check(l->arena, l->subject, x->session, check, err));
    KILN_TRY(warm_up(x, &ns, err));
    /* Far more than expected: whoever was disturbed while warming up looks slow. */
    const int64_t most = MAX_RUNS / l->side->instances,
                  wanted = 8 * (l->length / (ns > 0 ? ns : 1)) + LEAST_RUNS;
    x->room = (size_t)(wanted < most ? wanted : most);
    x->run = kiln_array(l->arena, one_run, x->room);
    memset(x->run, 0, x->room * sizeof *x->run); /* pages are there before they count */
    l->side->session_bytes = kiln_session_bytes(x->session);
    return KILN_OK;
}

/* ---- numbers --------------------------------------------------------------------- */

/* Percentile bootstrap of the mean over slices: what is near in time is alike, slices
 * are long beside runs. Seeded: equal counts give equal ends. */
static void throughput(kiln_arena *a, kiln_load_side *r) {
    const double slice_s = r->seconds / KILN_LOAD_SLICES;
    double *mean = kiln_array(a, double, BOOTSTRAPS);
    kiln_rng rng;
    kiln_rng_init(&rng, 1);
    for (int b = 0; b < BOOTSTRAPS; b++) {
        int64_t sum = 0;
        for (int i = 0; i < KILN_LOAD_SLICES; i++)
            sum += r->slice[kiln_rng_range(&rng, 0, KILN_LOAD_SLICES - 1)];
        mean[b] = (double)sum / KILN_LOAD_SLICES / slice_s;
    }
    (void)kiln_median(mean, BOOTSTRAPS); /* sorts */
    r->per_s = (double)r->runs / r->seconds;
    r->low = kiln_quantile(mean, BOOTSTRAPS, 0.025);
    r->high = kiln_quantile(mean, BOOTSTRAPS, 0.975);
}

static void add_up(load *l, int64_t length) {
    kiln_load_side *r = l->side;
    size_t n = 0, all = 0;
    for (int k = 0; k < r->instances; k++)
        all += l->instance[k].n;
    double *ms = kiln_array(l->arena, double, all);
    r->seconds = (double)length * 1e-9;
    for (int k = 0; k < r->instances; k++)
        for (size_t i = 0; i < l->instance[k].n; i++) {
            const one_run *run = &l->instance[k].run[i];
            ms[n++] = (double)(run->end - run->begin) * 1e-6;
            if (run->end >= length)
                continue;
            r->slice[run->end * KILN_LOAD_SLICES / length]++;
            r->runs++;
        }
    if (all > 0)
        r->ms = kiln_percentiles_of(ms, all);
    throughput(l->arena, r);
}

/* ---- one number of instances ----------------------------------------------------- */

/* Until time is up, somebody says stop, or an instance does. */
static void watch(load *l, const kiln_load_options *o) {
    const int64_t end = l->start + l->length;
    while (kiln_now_ns() < end && !atomic_load(&l->must_stop)) {
        if (kiln_interrupted())
            atomic_store(&l->must_stop, true);
        const int64_t next = kiln_now_ns() + WATCH_NS;
        sleep_until(next < end ? next : end);
        if (o->progress != NULL)
            o->progress(o->user, (double)(kiln_now_ns() - l->start) * 1e-9, o->seconds);
    }
}

static kiln_status run_all(load *l, const kiln_load_options *o, kiln_err *err) {
    const int n = l->side->instances;
    bool has_threads = true;
    l->start = kiln_now_ns() + START_NS;
    for (int k = 0; k < n && has_threads; k++) {
        kiln_task_start(&l->instance[k].task, run_again_and_again, &l->instance[k]);
        has_threads = l->instance[k].task.has_thread;
    }
    if (has_threads)
        watch(l, o);
    else
        atomic_store(&l->must_stop, true);
    int64_t stopped = kiln_now_ns() - l->start;
    stopped = stopped > 0 ? stopped : 1; /* before it began */
    for (int k = 0; k < n; k++)
        kiln_task_wait(&l->instance[k].task);
    if (!has_threads)
        return kiln_fail(err, KILN_ERR_OOM, "there are no threads for %d instances", n);
    for (int k = 0; k < n; k++)
        if (l->instance[k].has_failed)
            return kiln_session_failed(l->instance[k].session, err);
    l->side->is_cut = atomic_load(&l->is_full);
    add_up(l, atomic_load(&l->must_stop) && stopped < l->length ? stopped : l->length);
    return KILN_OK;
}

static kiln_status measure(load *l, const kiln_load_options *o, kiln_check *check,
                           kiln_err *err) {
    const int n = l->side->instances;
    l->instance = kiln_array(l->arena, instance, n);
    for (int k = 0; k < n; k++)
        KILN_TRY(open_instance(l, &l->instance[k], check, err));
    if (check->outcome != KILN_PASSED)
        return KILN_OK;
    KILN_TRY(run_all(l, o, err));
    for (int k = 0; k < n; k++)
        KILN_TRY(kiln_subject_compare(l->arena, l->subject, l->instance[k].session,
                                      check, err));
    return KILN_OK;
}

static kiln_status one_side(kiln_arena *a, kiln_load *out, const kiln_load_options *o,
                            int instances, int threads, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_load_side side = {.instances = instances, .threads = threads};
    kiln_check check = out->check;
    load l = {.arena = &scratch,
              .subject = out->subject,
              .side = &side,
              .length = (int64_t)(o->seconds * 1e9)};
    const kiln_status st = measure(&l, o, &check, err);
    out->check = check;
    out->check.reason = kiln_str_dup(a, check.reason); /* not the scratch's */
    kiln_arena_fini(&scratch);
    if (st != KILN_OK)
        return st;
    out->is_interrupted = kiln_interrupted() != 0;
    if (check.outcome == KILN_PASSED && side.ms.n > 0)
        kiln_vec_push(a, &out->side, side);
    return KILN_OK;
}

kiln_status kiln_load_run(kiln_arena *a, const kiln_subject *s,
                          const kiln_load_options *o, kiln_load *out, kiln_err *err) {
    KILN_ASSERT(s->model != NULL && s->n_want > 0,
                "'%s' has nothing to be compared with", s->name);
    *out = (kiln_load){.subject = s,
                       .check = {.name = s->name, .group = "", .reason = ""}};
    kiln_machine_read(a, &out->machine);
    for (int t = 0; t < o->n_threads; t++)
        for (int i = 0; i < o->n_instances; i++) {
            KILN_TRY(one_side(a, out, o, o->instances[i], o->threads[t], err));
            if (out->is_interrupted || out->check.outcome != KILN_PASSED)
                return KILN_OK;
        }
    return KILN_OK;
}
