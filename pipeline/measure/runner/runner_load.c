/* Several sessions of a network at once, as a server has them: each has a thread of its
 * own that runs it again as soon as it is done (a closed loop). */
#include "pipeline/measure/runner/runner_internal.h"

#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    START_NS = 20 * 1000 * 1000, /* until all threads are there */
    WATCH_MS = 20
};

typedef struct load {
    int64_t start, length; /* of time */
    atomic_bool must_stop;
    atomic_bool is_full;
} load;

typedef struct instance {
    load *of;
    kiln_session *session;
    kiln_task task;
    kiln_load_run *run;
    size_t n, room;
    bool has_failed;
} instance;

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
        x->run[x->n++] = (kiln_load_run){begin, kiln_now_ns() - l->start};
    }
}

/* Until time is up, an instance says stop, or whoever asked does. */
static void watch(load *l) {
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    const int64_t end = l->start + l->length;
    while (kiln_now_ns() < end && !atomic_load(&l->must_stop)) {
        const int64_t left_ms = (end - kiln_now_ns()) / 1000000;
        if (left_ms <= 0)
            sleep_until(end);
        else if (poll(&in, 1, left_ms < WATCH_MS ? (int)left_ms : WATCH_MS) > 0)
            atomic_store(&l->must_stop, true);
    }
}

static kiln_status run_all(load *l, instance *x, uint32_t n, kiln_wire_told *told,
                           kiln_err *err) {
    bool has_threads = true;
    l->start = kiln_now_ns() + START_NS;
    for (uint32_t k = 0; k < n && has_threads; k++) {
        kiln_task_start(&x[k].task, run_again_and_again, &x[k]);
        has_threads = x[k].task.has_thread;
    }
    if (has_threads)
        watch(l);
    else
        atomic_store(&l->must_stop, true);
    const int64_t stopped = kiln_now_ns() - l->start;
    for (uint32_t k = 0; k < n; k++)
        kiln_task_wait(&x[k].task);
    if (!has_threads)
        return kiln_fail(err, KILN_ERR_OOM, "there are no threads for %u instances",
                         (unsigned)n);
    for (uint32_t k = 0; k < n; k++)
        if (x[k].has_failed)
            return kiln_fail(err, KILN_ERR_LIB, "%s", kiln_session_error(x[k].session));
    told->wall_ns =
        atomic_load(&l->must_stop) && stopped < l->length ? stopped : l->length;
    told->wall_ns = told->wall_ns > 0 ? told->wall_ns : 1; /* before it began */
    told->is_full = atomic_load(&l->is_full);
    return KILN_OK;
}

kiln_status kiln_load_do(kiln_arena *a, kiln_session *const *session, uint32_t n,
                         size_t room, int64_t time_ns, kiln_load_record *out,
                         kiln_wire_told *told, kiln_err *err) {
    KILN_ASSERT(n > 0 && room > 0, "%u instances with room for %zu runs", n, room);
    load l = {.length = time_ns};
    instance *x = kiln_array(a, instance, n);
    atomic_init(&l.must_stop, false);
    atomic_init(&l.is_full, false);
    for (uint32_t k = 0; k < n; k++) {
        x[k] = (instance){.of = &l, .session = session[k], .room = room};
        x[k].run = kiln_array(a, kiln_load_run, room);
        /* pages are there before they count */
        memset(x[k].run, 0, room * sizeof *x[k].run);
    }
    KILN_TRY(run_all(&l, x, n, told, err));
    for (uint32_t k = 0; k < n; k++) {
        out[k] = (kiln_load_record){x[k].run, x[k].n};
        told->bytes += x[k].n * sizeof *x[k].run;
    }
    return KILN_OK;
}
