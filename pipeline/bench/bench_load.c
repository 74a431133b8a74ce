/* Several instances of a model at once, as a server has them: how long does a run take
 * then, and how many are there in a second? Each instance is a session with a thread of
 * its own that runs it again as soon as it is done (a closed loop); the model's
 * parameters are shared. All of it is in a process of its own
 * (pipeline/measure/runner/runner_load.c). */
#include "pipeline/bench/bench_internal.h"

#include <math.h>

enum {
    MAX_RUNS = 16 << 20, /* of all instances: 16 bytes each */
    LEAST_RUNS = 1 << 15,
    WARM_UPS = 3,
    BOOTSTRAPS = 2000
};

typedef struct load {
    kiln_arena *arena; /* of one side */
    const kiln_subject *subject;
    kiln_load_side *side;
    int first;     /* session: the others follow */
    double run_ns; /* that the shortest run took, alone */
    kiln_remote_load found;
} load;

/* ---- instances ------------------------------------------------------------------- */

static kiln_status open_instance(load *l, int k, kiln_check *check, kiln_err *err) {
    const kiln_remote_order once = {.runs = 1};
    kiln_remote *r = l->subject->remote;
    int session = 0;
    const kiln_status st = kiln_remote_session(r, l->side->threads, &session,
                                               &l->side->session_bytes, err);
    if (st != KILN_OK) {
        kiln_note(err, "opening instance %d of %d", k, l->side->instances);
        return st;
    }
    if (k == 0)
        l->first = session;
    KILN_TRY(kiln_subject_check(l->arena, l->subject, session, check, err));
    for (int i = 0; i < WARM_UPS; i++) {
        kiln_remote_turn turn;
        KILN_TRY(kiln_remote_take_turn(r, session, &once, &turn, err));
        l->run_ns = fmin(l->run_ns, fmax(1, turn.ms * 1e6));
    }
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

static void add_up(load *l) {
    kiln_load_side *r = l->side;
    const kiln_remote_load *f = &l->found;
    size_t n = 0, all = 0;
    for (int k = 0; k < r->instances; k++)
        all += f->n_runs[k];
    double *ms = kiln_array(l->arena, double, all);
    r->seconds = (double)f->length * 1e-9;
    for (int k = 0; k < r->instances; k++)
        for (size_t i = 0; i < f->n_runs[k]; i++) {
            const kiln_remote_run *run = &f->run[k][i];
            ms[n++] = (double)(run->end - run->begin) * 1e-6;
            if (run->end < 0 || run->end >= f->length)
                continue;
            r->slice[run->end * KILN_LOAD_SLICES / f->length]++;
            r->runs++;
        }
    if (all > 0)
        r->ms = kiln_percentiles_of(ms, all);
    throughput(l->arena, r);
}

/* ---- one number of instances ----------------------------------------------------- */

typedef struct shown {
    const kiln_load_options *o;
    int64_t begin_ns;
} shown;

static void show(void *user) {
    const shown *s = user;
    const double done = (double)(kiln_now_ns() - s->begin_ns) * 1e-9;
    s->o->progress(s->o->user, fmin(done, s->o->seconds), s->o->seconds);
}

/* Room for far more runs than expected: whoever was disturbed while warming up looks
 * slow. */
static kiln_status run_all(load *l, const kiln_load_options *o, kiln_err *err) {
    const int n = l->side->instances;
    const double length = o->seconds * 1e9, most = (double)MAX_RUNS / n,
                 wanted = 8 * (length / l->run_ns) + LEAST_RUNS;
    kiln_remote *r = l->subject->remote;
    shown s = {o, kiln_now_ns()};
    if (o->progress != NULL)
        kiln_remote_on_tick(r, show, &s);
    const kiln_status st =
        kiln_remote_do_load(r, l->arena, l->first, n, (int64_t)fmin(wanted, most),
                            (int64_t)length, &l->found, err);
    kiln_remote_on_tick(r, NULL, NULL);
    if (st != KILN_OK)
        return st;
    l->side->is_cut = l->found.is_full;
    add_up(l);
    return KILN_OK;
}

static kiln_status measure(load *l, const kiln_load_options *o, kiln_check *check,
                           kiln_err *err) {
    const int n = l->side->instances;
    for (int k = 0; k < n; k++)
        KILN_TRY(open_instance(l, k, check, err));
    if (check->outcome == KILN_PASSED)
        KILN_TRY(run_all(l, o, err));
    for (int k = 0; k < n && check->outcome == KILN_PASSED; k++)
        KILN_TRY(kiln_subject_compare(l->arena, l->subject, l->first + k, check, err));
    return kiln_remote_close_from(l->subject->remote, l->first, err);
}

/* At the t-th number of threads. */
static kiln_status one_side(kiln_arena *a, kiln_load *out, const kiln_load_options *o,
                            int t, int instances, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_load_side side = {.instances = instances, .threads = o->threads[t]};
    kiln_check check = out->check;
    load l = {.arena = &scratch,
              .subject = o->each != NULL ? &o->each[t] : out->subject,
              .side = &side,
              .run_ns = HUGE_VAL};
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
    KILN_ASSERT(s->remote != NULL && s->n_want > 0,
                "'%s' has nothing to be compared with", s->name);
    *out = (kiln_load){.subject = s,
                       .check = {.name = s->name, .group = "", .reason = ""}};
    kiln_bench_machine(a, s, &out->machine);
    for (int t = 0; t < o->n_threads; t++)
        for (int i = 0; i < o->n_instances; i++) {
            KILN_TRY(one_side(a, out, o, t, o->instances[i], err));
            if (out->is_interrupted || out->check.outcome != KILN_PASSED)
                return KILN_OK;
        }
    return KILN_OK;
}
