/* The fleet as its caller sees it. */
#include "pipeline/measure/measure_fleet.h"
#include "runtime/device.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* One waits for the device while the driver's own threads work. */
enum { DRIVER_CPUS = 2 };
static const int64_t start_limit_ms = 120000, look_ms = 500;

/* ---- opening --------------------------------------------------------------------- */

static double or_else(double v, double otherwise) { return v != 0 ? v : otherwise; }

/* A GPU of its own: what processors do meanwhile is no matter to it. */
static bool is_apart(const kiln_profile *p) {
    const char *name = kiln_profile_is_gpu(p) ? kiln_arch_of(p->arch)->device : NULL;
    const kiln_device_kind *k =
        name != NULL ? kiln_device_kind_named(name, NULL, 0) : NULL;
    return k != NULL && k->is_apart;
}

static kiln_measure_options with_defaults(const kiln_measure_options *given) {
    kiln_measure_options o = *given;
    const bool is_gpu = kiln_profile_is_gpu(o.profile);
    o.threads = o.threads > 1 && !is_gpu ? o.threads : 1;
    /* Some drivers compute on the processors themselves. */
    o.is_alone = is_gpu ? !is_apart(o.profile) : o.is_alone;
    o.build_limit_ms = o.build_limit_ms > 0 ? o.build_limit_ms : 10000;
    o.run_limit_ms = o.run_limit_ms > 0 ? o.run_limit_ms : 4000;
    o.build_bytes = o.build_bytes > 0 ? o.build_bytes : UINT64_C(2) << 30;
    o.run_bytes = o.run_bytes > 0 ? o.run_bytes : UINT64_C(256) << 20;
    o.budget_ms = or_else(o.budget_ms, 60);
    o.precision = or_else(o.precision, 0.01);
    o.loser = or_else(o.loser, 1.5);
    return o;
}

static int count_addresses(const kiln_measure_options *o) {
    int n = 0;
    while (o->runner_addresses != NULL && o->runner_addresses[n] != NULL)
        n++;
    return n;
}

/* Who computes where. With a CPU to spare, builders work while kernels are timed. */
static kiln_status share_cpus(kiln_measure *m, kiln_err *err) {
    const bool apart = is_apart(m->o.profile);
    const int n_far = count_addresses(&m->o),
              threads = apart ? DRIVER_CPUS : m->o.threads;
    const int n_here = m->o.n_local_runners > 0   ? m->o.n_local_runners
                       : m->o.n_local_runners < 0 ? 0
                                                  : n_far == 0;
    m->all = m->measuring = m->building = kiln_cpus_own();
    const int n = m->all.n;
    if (n_here + n_far < 1 || n_here + n_far >= KILN_MAX_WORKERS)
        return kiln_fail(err, KILN_ERR_ARG, "a fleet has 1 to %d runners, not %d",
                         KILN_MAX_WORKERS - 1, n_here + n_far);
    if (n_here > 1 && n_here > (n - 1) / threads)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "%d runners of kernels with %d thread%s each disturb one "
                         "another on %d CPUs, of which builders need one",
                         n_here, threads, threads == 1 ? "" : "s", n);
    m->is_exclusive = n_here == 1 && !apart && (threads + 1 > n || m->o.is_alone);
    const bool is_shared = apart && n_here * threads >= n;
    if (n_here > 0 && !m->is_exclusive && !is_shared) {
        m->measuring = kiln_cpus_part(&m->all, 0, n_here * threads);
        m->building = kiln_cpus_part(&m->all, n_here * threads, n - n_here * threads);
    }
    if (m->o.n_builders <= 0)
        m->o.n_builders = m->building.n > 0 ? m->building.n : 1;
    m->n_runners = n_here + n_far;
    m->n_here = n_here;
    if (m->o.n_builders > KILN_MAX_WORKERS - m->n_runners)
        m->o.n_builders = KILN_MAX_WORKERS - m->n_runners;
    m->n_workers = m->n_runners + m->o.n_builders;
    m->stats.n_builders = m->o.n_builders;
    m->stats.measuring_cpu = n_here > 0 && !m->is_exclusive && threads == 1
                                 ? kiln_cpus_first(&m->measuring)
                                 : -1;
    return KILN_OK;
}

static kiln_status find_workers(kiln_measure *m, kiln_err *err) {
    static const char *const names[2] = {"kiln-builder", "kiln-runner"};
    const char *const *given[2] = {m->o.builder_argv, m->o.runner_argv};
    for (int i = 0; i < 2; i++) {
        m->argv[i] = given[i];
        if (given[i] != NULL || (i == 1 && m->n_here == 0))
            continue;
        char *path;
        KILN_TRY(kiln_program_find(&m->arena, names[i], &path, err));
        const char **argv = kiln_array(&m->arena, const char *, 2);
        argv[0] = path;
        m->argv[i] = argv;
    }
    return KILN_OK;
}

/* One of ours, on CPUs that no other has. */
static void make_runner(kiln_measure *m, int i) {
    kiln_worker *w = &m->worker[i];
    const int threads = m->o.threads;
    const bool has_all = m->is_exclusive || is_apart(m->o.profile);
    const kiln_cpus own =
        has_all ? m->measuring : kiln_cpus_part(&m->measuring, i * threads, threads);
    w->is_here = true;
    w->cpu = !has_all && threads == 1 ? kiln_cpus_first(&own) : -1;
    w->name = m->n_here == 1 ? "local" : kiln_format(&m->arena, "local %d", i + 1);
    kiln_transport_child(&w->t, m->argv[1], &own,
                         m->n_here == 1
                             ? "the runner"
                             : kiln_format(&m->arena, "the runner '%s'", w->name));
}

static void make_workers(kiln_measure *m) {
    for (int i = 0; i < m->n_runners; i++) {
        kiln_worker *w = &m->worker[i];
        w->is_runner = true;
        if (i < m->n_here) {
            make_runner(m, i);
            continue;
        }
        w->cpu = KILN_WIRE_OWN_CPU;
        w->name = kiln_str_dup(&m->arena, m->o.runner_addresses[i - m->n_here]);
        kiln_transport_elsewhere(&w->t, w->name,
                                 kiln_format(&m->arena, "the runner at %s", w->name));
    }
    for (int i = m->n_runners; i < m->n_workers; i++)
        kiln_transport_child(&m->worker[i].t, m->argv[0], &m->building, "the builder");
}

/* As long as a candidate may take, with all that it needs sent before. */
static void make_lease(kiln_measure *m) {
    const int64_t ms = m->o.run_limit_ms * KILN_WIRE_WALL_LIMITS + KILN_RUN_GRACE_MS +
                       KILN_WIRE_SILENCE_MS + KILN_WIRE_SILENCE_MS / 2;
    m->lease_ms = ms < KILN_WIRE_MOST_LEASE_MS ? ms : KILN_WIRE_MOST_LEASE_MS;
    m->owner = m->o.owner != NULL ? kiln_str_dup(&m->arena, m->o.owner)
                                  : kiln_machine_process(&m->arena);
}

static kiln_status start_thread(kiln_measure *m, kiln_err *err) {
    sigset_t all, old;
    sigfillset(&all); /* signals are the caller's */
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    const int error = pthread_create(&m->thread, NULL, kiln_fleet_main, m);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error != 0)
        return kiln_fail(err, KILN_ERR_LIB, "cannot start a thread: %s",
                         strerror(error));
    return KILN_OK;
}

struct timespec kiln_fleet_after(int64_t ms) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    const int64_t ns = t.tv_nsec + ms % 1000 * 1000000;
    t.tv_sec += (time_t)(ms / 1000 + ns / 1000000000);
    t.tv_nsec = (long)(ns % 1000000000);
    return t;
}

/* One of each at least, and nobody that is still waited for. */
static bool are_up(const kiln_measure *m) {
    bool has_builder = false, has_runner = false;
    for (int i = m->n_runners; i < m->n_workers; i++)
        has_builder = has_builder || m->worker[i].state == KILN_WORKER_IDLE;
    for (int i = 0; i < m->n_runners; i++) {
        const kiln_worker *w = &m->worker[i];
        /* One of a pool that was here will come again when there is work for it. */
        const bool is_up =
            w->state == KILN_WORKER_IDLE || (w->is_pooled && w->has_been_up);
        if (!is_up && !w->has_given_up && !w->is_queued)
            return false;
        has_runner = has_runner || is_up;
    }
    return has_builder && has_runner;
}

/* However long that takes: a pool says again and again that it is there. */
static bool waits_in_queue(const kiln_measure *m) {
    for (int i = 0; i < m->n_runners; i++)
        if (m->worker[i].is_queued && m->worker[i].state == KILN_WORKER_STARTING)
            return true;
    return false;
}

static kiln_status wait_until_up(kiln_measure *m, kiln_err *err) {
    const int64_t begin = kiln_now_ns();
    kiln_status st = KILN_OK;
    pthread_mutex_lock(&m->lock);
    while (!are_up(m) && m->failure.status == KILN_OK && st == KILN_OK) {
        const struct timespec soon = kiln_fleet_after(look_ms);
        if (pthread_cond_timedwait(&m->changed, &m->lock, &soon) != ETIMEDOUT)
            continue;
        if (waits_in_queue(m))
            st = kiln_interrupt_check(err);
        else if (kiln_now_ns() - begin > start_limit_ms * 1000000)
            st =
                kiln_fail(err, KILN_ERR_IO, "workers do not start within %" PRId64 " s",
                          start_limit_ms / 1000);
    }
    if (m->failure.status != KILN_OK) {
        st = m->failure.status;
        *err = m->failure;
    }
    pthread_mutex_unlock(&m->lock);
    return st;
}

static kiln_status prepare(kiln_measure *m, kiln_err *err) {
    kiln_buf json;
    const bool is_gpu = kiln_profile_is_gpu(m->o.profile);
    if (is_gpu && m->n_here != m->n_runners)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "profile '%s' is a GPU's: what uses its driver is not "
                         "confined, and not measured by runners elsewhere",
                         m->o.profile->name);
    if (m->n_here > 0) /* runners elsewhere say what they are */
        KILN_TRY(kiln_runs_here(m->o.profile, err));
    if (m->o.threads > KILN_POOL_MAX_THREADS)
        return kiln_fail(err, KILN_ERR_LIMIT, "at most %d threads, not %d",
                         KILN_POOL_MAX_THREADS, m->o.threads);
    (void)kiln_dir_temp_sweep(); /* what killed tuners and builds had left */
    KILN_TRY(find_workers(m, err));
    if (pipe(m->wake) != 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot make a pipe: %s", strerror(errno));
    for (int i = 0; i < 2; i++) {
        (void)fcntl(m->wake[i], F_SETFD, FD_CLOEXEC);
        (void)fcntl(m->wake[i], F_SETFL, O_NONBLOCK);
    }
    kiln_buf_init(&json, &m->arena);
    kiln_profile_json(&json, m->o.profile);
    m->profile_json = kiln_buf_str(&json);
    for (int i = 0; i < count_addresses(&m->o); i++)
        KILN_TRY(kiln_transport_check(m->o.runner_addresses[i], err));
    make_workers(m);
    make_lease(m);
    return KILN_OK;
}

static void init_lock(kiln_measure *m) {
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&m->lock, NULL);
    (void)pthread_cond_init(&m->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
}

static void release(kiln_measure *m) {
    for (int i = 0; i < 2; i++)
        if (m->wake[i] >= 0)
            close(m->wake[i]);
    for (size_t i = 0; i < m->work.n; i++)
        kiln_arena_fini(&m->work.v[i].arena);
    for (int i = 0; i < KILN_MAX_JOBS; i++)
        kiln_arena_fini(&m->job[i].arena);
    (void)pthread_cond_destroy(&m->changed);
    (void)pthread_mutex_destroy(&m->lock);
    kiln_arena_fini(&m->arena);
}

kiln_status kiln_measure_open(kiln_arena *a, const kiln_measure_options *o,
                              kiln_measure **out, kiln_err *err) {
    kiln_measure *m = kiln_new(a, kiln_measure);
    m->o = with_defaults(o);
    m->stats.device = "";
    m->taken = m->wake[0] = m->wake[1] = -1;
    init_lock(m);
    kiln_status st = share_cpus(m, err);
    if (st == KILN_OK)
        st = prepare(m, err);
    if (st == KILN_OK)
        st = start_thread(m, err);
    if (st != KILN_OK) {
        release(m);
        return st;
    }
    st = wait_until_up(m, err);
    if (st != KILN_OK) {
        kiln_measure_close(m);
        return st;
    }
    if (m->o.pins_caller)
        kiln_cpus_use(&m->building);
    *out = m;
    return KILN_OK;
}

void kiln_measure_close(kiln_measure *m) {
    if (m == NULL)
        return;
    pthread_mutex_lock(&m->lock);
    m->is_closing = true;
    kiln_fleet_wake(m);
    pthread_mutex_unlock(&m->lock);
    (void)pthread_join(m->thread, NULL);
    if (m->o.pins_caller)
        kiln_cpus_use(&m->all);
    release(m);
}

/* ---- candidates ------------------------------------------------------------------ */

void kiln_measure_set_best(kiln_measure *m, int work, double ns) {
    pthread_mutex_lock(&m->lock);
    KILN_ASSERT(work >= 0 && (size_t)work < m->work.n, "there is no workload %d", work);
    m->work.v[work].best_ns = ns > 0 ? ns : 0;
    pthread_mutex_unlock(&m->lock);
}

int kiln_job_free(kiln_measure *m) {
    for (int i = 0; i < KILN_MAX_JOBS; i++)
        if (m->job[i].state == KILN_JOB_FREE)
            return i;
    KILN_ASSERT(false, "%zu candidates are pending, and no job is free", m->n_pending);
    return -1;
}

static kiln_status submit(kiln_measure *m, const kiln_measure_candidate *c,
                          uint64_t *id, kiln_err *err) {
    if (m->failure.status != KILN_OK) {
        *err = m->failure;
        return m->failure.status;
    }
    if (c->work < 0 || (size_t)c->work >= m->work.n)
        return kiln_fail(err, KILN_ERR_ARG, "there is no workload %d", c->work);
    if (m->work.v[c->work].bytes == 0)
        return kiln_fail(err, KILN_ERR_ARG, "workload %d was dropped", c->work);
    if (m->n_pending >= KILN_MEASURE_MAX_QUEUED)
        return kiln_fail(err, KILN_ERR_LIMIT, "%d candidates are on their way already",
                         KILN_MEASURE_MAX_QUEUED);
    const int i = kiln_job_free(m);
    kiln_job *j = &m->job[i];
    *j = (kiln_job){.arena = j->arena,
                    .state = KILN_JOB_QUEUED,
                    .tmpl = c->tmpl,
                    .config = c->config,
                    .never_stops_early = c->never_stops_early,
                    .takes_spills = m->o.measures_spilling || c->takes_spills,
                    .budget_ms = or_else(c->budget_ms, m->o.budget_ms),
                    .takes_turns = c->takes_turns,
                    .out = {.id = ++m->stats.submitted,
                            .user = c->user,
                            .work = c->work,
                            .text = "",
                            .layouts = ""}};
    *id = j->out.id;
    m->n_pending++;
    const kiln_lethal *known = kiln_lethal_find(m, c->work, c->tmpl->name, c->config);
    if (known != NULL)
        kiln_job_finish(m, i, known->error, "it is known to be lethal");
    else
        kiln_queue_push(&m->queued, i);
    kiln_fleet_wake(m);
    return KILN_OK;
}

kiln_status kiln_measure_submit(kiln_measure *m, const kiln_measure_candidate *c,
                                uint64_t *id, kiln_err *err) {
    pthread_mutex_lock(&m->lock);
    const kiln_status st = submit(m, c, id, err);
    pthread_mutex_unlock(&m->lock);
    return st;
}

size_t kiln_measure_pending(kiln_measure *m) {
    pthread_mutex_lock(&m->lock);
    const size_t n = m->n_pending;
    pthread_mutex_unlock(&m->lock);
    return n;
}

static void free_taken(kiln_measure *m) {
    if (m->taken < 0)
        return;
    kiln_arena_fini(&m->job[m->taken].arena);
    m->job[m->taken].state = KILN_JOB_FREE;
    m->taken = -1;
}

bool kiln_measure_poll(kiln_measure *m, int64_t timeout_ms, kiln_measured *out) {
    const struct timespec end = kiln_fleet_after(timeout_ms > 0 ? timeout_ms : 0);
    bool has = false;
    pthread_mutex_lock(&m->lock);
    free_taken(m);
    const bool waits = m->finished.n == 0 && m->n_pending > 0;
    if (m->is_exclusive && waits && !m->caller_waits)
        kiln_fleet_wake(m);
    m->caller_waits = waits;
    while (m->finished.n == 0 && m->n_pending > 0)
        if (timeout_ms <= 0 ||
            pthread_cond_timedwait(&m->changed, &m->lock, &end) == ETIMEDOUT)
            break;
    if (m->finished.n > 0) {
        has = true;
        m->caller_waits = false;
        m->taken = kiln_queue_pop(&m->finished);
        m->job[m->taken].state = KILN_JOB_TAKEN;
        m->n_pending--;
        *out = m->job[m->taken].out;
    }
    pthread_mutex_unlock(&m->lock);
    return has;
}

/* ---- what is lethal -------------------------------------------------------------- */

static const char *lethal_key(kiln_arena *a, int work, const char *tmpl,
                              uint64_t index) {
    return kiln_format(a, "%d %s %" PRIu64, work, tmpl, index);
}

const kiln_lethal *kiln_lethal_find(const kiln_measure *m, int work, const char *tmpl,
                                    uint64_t index) {
    kiln_arena scratch = {0};
    const char *key = lethal_key(&scratch, work, tmpl, index);
    const size_t at = kiln_numbers_get(&m->lethal_of, kiln_str_from(key));
    kiln_arena_fini(&scratch);
    return at > 0 ? &m->lethal.v[at - 1] : NULL;
}

static void add_lethal(kiln_measure *m, const kiln_lethal *l) {
    if (kiln_lethal_find(m, l->work, l->tmpl, l->index) != NULL)
        return;
    kiln_lethal own = *l;
    own.tmpl = kiln_str_dup(&m->arena, l->tmpl);
    kiln_vec_push(&m->arena, &m->lethal, own);
    const char *key = lethal_key(&m->arena, l->work, l->tmpl, l->index);
    (void)kiln_numbers_set(&m->arena, &m->lethal_of, kiln_str_from(key), m->lethal.n);
}

void kiln_measure_add_lethal(kiln_measure *m, const kiln_lethal *l) {
    pthread_mutex_lock(&m->lock);
    add_lethal(m, l);
    pthread_mutex_unlock(&m->lock);
}

size_t kiln_measure_n_lethal(kiln_measure *m) {
    pthread_mutex_lock(&m->lock);
    const size_t n = m->lethal.n;
    pthread_mutex_unlock(&m->lock);
    return n;
}

kiln_lethal kiln_measure_lethal(kiln_measure *m, size_t i) {
    pthread_mutex_lock(&m->lock);
    KILN_ASSERT(i < m->lethal.n, "there is no lethal candidate %zu", i);
    const kiln_lethal l = m->lethal.v[i];
    pthread_mutex_unlock(&m->lock);
    return l;
}

kiln_measure_stats kiln_measure_count(kiln_measure *m) {
    pthread_mutex_lock(&m->lock);
    const kiln_measure_stats s = m->stats;
    pthread_mutex_unlock(&m->lock);
    return s;
}

size_t kiln_measure_n_runners(const kiln_measure *m) { return (size_t)m->n_runners; }

kiln_measure_runner kiln_measure_runner_at(kiln_measure *m, size_t i) {
    KILN_ASSERT(i < (size_t)m->n_runners, "there is no runner %zu", i);
    const kiln_worker *w = &m->worker[i];
    pthread_mutex_lock(&m->lock);
    const bool is_up = w->state == KILN_WORKER_IDLE || w->state == KILN_WORKER_BUSY;
    const kiln_measure_runner r = {
        .name = w->name,
        .is_up = is_up,
        .lease_left_ms = is_up ? (w->lease_end_ns - kiln_now_ns()) / 1000000 : 0,
        .runs = w->n_runs,
        .peak_gflops = w->peak_gflops,
        .memory_gbs = w->memory_gbs};
    pthread_mutex_unlock(&m->lock);
    return r;
}

void kiln_job_finish(kiln_measure *m, int job, kiln_trial_error e, const char *text) {
    kiln_job *j = &m->job[job];
    kiln_measured *o = &j->out;
    KILN_ASSERT((int)e >= 0 && e < KILN_N_TRIAL_ERRORS, "a job ends by error %d",
                (int)e);
    KILN_ASSERT(j->state != KILN_JOB_FREE && j->state != KILN_JOB_FINISHED,
                "job %d ends, but is none", job);
    o->error = e;
    o->text = kiln_str_dup(&j->arena, text);
    j->state = KILN_JOB_FINISHED;
    if (j->errand.n > 0) { /* who asked waits for it */
        (void)pthread_cond_broadcast(&m->changed);
        return;
    }
    m->stats.finished++;
    m->stats.by_error[e]++;
    kiln_fleet_work *w = &m->work.v[o->work];
    if (e == KILN_TRIAL_GOOD && (w->best_ns <= 0 || o->median_ns < w->best_ns))
        w->best_ns = o->median_ns;
    if (kiln_trial_error_is_fault(e)) {
        const kiln_lethal l = {
            .work = o->work, .tmpl = j->tmpl->name, .index = j->config, .error = e};
        add_lethal(m, &l);
    }
    kiln_queue_push(&m->finished, job);
    (void)pthread_cond_broadcast(&m->changed);
}
