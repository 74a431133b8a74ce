/* A runner elsewhere as a device: one run of a package is a network opened there, a session,
 * and turns. */
#include "pipeline/remote/remote_device.h"

#include <math.h>
#include <string.h>

#include "pipeline/remote/remote.h"

/* Long enough that what is sent for a turn does not count, short enough that one which is
 * disturbed is one of many. */
static const double turn_ns = 5e6;

typedef struct there {
    kiln_far *far;
    kiln_apart *apart; /* of all runs: it keeps what was sent */
} there;

static bool can_run(const kiln_device *d, kiln_arena *a, const kiln_profile *p,
                    const char **missing) {
    const there *t = d->user;
    kiln_err err = {.status = KILN_OK};
    if (kiln_profile_fits_machine(p, 1, kiln_far_machine(t->far), &err) == KILN_OK)
        return true;
    *missing = kiln_str_dup(a, err.text);
    return false;
}

/* One run of the package. */
typedef struct run {
    kiln_arena *arena; /* of what is returned */
    const kiln_device_order *o;
    kiln_remote *r;
    int session;
    kiln_device_result result;
    uint64_t *run_ns, *cpu_ns, *preempted;
    bool *throttled;
    uint64_t *step_ns; /* of all timed runs; NULL: nobody asks */
} run;

/* The first clock, and the last. */
static void note_heat(run *x, const kiln_remote_turn *t) {
    const double ghz = t->clock_mhz * 1e-3;
    if (x->result.n_runs == 0)
        x->result.clock_ghz[0] = ghz;
    x->result.clock_ghz[1] = ghz;
    if (t->degrees > x->result.degrees)
        x->result.degrees = t->degrees;
}

/* So many timed runs, each the mean of all. An injected slowdown is this side's: the
 * runner knows of none. */
static kiln_status take_turn(run *x, int64_t runs, int ahead, kiln_err *err) {
    const kiln_device_job *job = x->o->job;
    const double slower = 1 + job->injected_ppm * 1e-6;
    const kiln_remote_order order = {
        .n_ahead = ahead, .runs = runs, .has_steps = x->step_ns != NULL};
    kiln_remote_turn t;
    KILN_TRY(kiln_remote_take_turn(x->r, x->session, &order, &t, err));
    note_heat(x, &t);
    for (int64_t i = 0; i < runs; i++) {
        const size_t k = x->result.n_runs++;
        x->run_ns[k] = (uint64_t)llround((double)t.wall_ns * slower / (double)runs);
        x->cpu_ns[k] = (uint64_t)llround((double)t.cpu_ns * slower / (double)runs);
        x->preempted[k] = t.preempted > 0;
        x->throttled[k] = t.is_throttled;
    }
    for (size_t i = 0; i < t.n_steps && x->step_ns != NULL; i++)
        x->step_ns[i] += t.step_ns[i];
    return KILN_OK;
}

/* Of a turn: by the time of the last one. */
static int64_t runs_of_turn(const run *x) {
    const size_t left = (size_t)x->o->job->n_rounds - x->result.n_runs;
    const double last = (double)x->run_ns[x->result.n_runs - 1];
    const double n = fmax(1, floor(turn_ns / fmax(last, 1)));
    return n < (double)left ? (int64_t)n : (int64_t)left;
}

static kiln_status take_runs(run *x, kiln_err *err) {
    const kiln_device_job *job = x->o->job;
    const size_t n = (size_t)job->n_rounds;
    x->run_ns = kiln_array(x->arena, uint64_t, n);
    x->cpu_ns = kiln_array(x->arena, uint64_t, n);
    x->preempted = kiln_array(x->arena, uint64_t, n);
    x->throttled = kiln_array(x->arena, bool, n);
    if (job->wants_profile)
        x->step_ns = kiln_array(x->arena, uint64_t, x->o->package->n_steps);
    KILN_TRY(take_turn(x, 1, job->n_warm_up, err));
    while (x->result.n_runs < n) {
        KILN_TRY(kiln_interrupt_check(err));
        KILN_TRY(take_turn(x, runs_of_turn(x), 1, err)); /* caches, behind a wait */
    }
    return KILN_OK;
}

static void tell(run *x) {
    const kiln_device_package *p = x->o->package;
    const size_t n = (size_t)x->o->job->n_rounds;
    kiln_device_result *r = &x->result;
    r->open_ns = (uint64_t)llround(kiln_remote_open_ms(x->r) * 1e6);
    r->run_ns = x->run_ns;
    r->cpu_ns = x->cpu_ns;
    r->preempted = x->preempted;
    r->throttled = x->throttled;
    if (x->step_ns != NULL) {
        kiln_device_step *step = kiln_array(x->arena, kiln_device_step, p->n_steps);
        for (size_t i = 0; i < p->n_steps; i++) {
            step[i] = p->step[i];
            step[i].runs = n;
            step[i].time_ns = x->step_ns[i];
        }
        r->step = step;
        r->n_steps = p->n_steps;
    }
    if (x->o->result != NULL)
        *x->o->result = *r;
}

static kiln_status read_outputs(run *x, kiln_err *err) {
    const kiln_device_package *p = x->o->package;
    for (size_t i = 0; i < p->n_outputs && x->o->out != NULL; i++) {
        x->o->out[i] = kiln_tensor_new(x->arena, &p->output[i].type);
        KILN_ASSERT(kiln_remote_output_at(x->r, (int)i)->bytes ==
                        (size_t)kiln_type_bytes(&p->output[i].type),
                    "output %zu of another size than the plan's", i);
        KILN_TRY(kiln_remote_output(x->r, x->session, (int)i, x->o->out[i].data, err));
    }
    return KILN_OK;
}

static kiln_status run_session(run *x, kiln_err *err) {
    size_t bytes = 0;
    KILN_TRY(kiln_remote_session(x->r, x->o->job->n_threads, &x->session, &bytes, err));
    x->result.session_bytes = bytes;
    KILN_TRY(take_runs(x, err));
    tell(x);
    return read_outputs(x, err);
}

static kiln_status run_there(const kiln_device *d, kiln_arena *a,
                             const kiln_device_order *o, kiln_err *err) {
    const there *t = d->user;
    kiln_arena scratch = {0};
    run x = {.arena = a, .o = o};
    const kiln_remote_options options = {.apart = t->apart,
                                         .limit_ms = o->job->time_limit_ms,
                                         .data_limit_bytes = o->job->memory_limit_bytes,
                                         .has_no_peak = true};
    if (o->job->trace != NULL)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "a runner elsewhere writes no trace of what steps read");
    if (kiln_far_is_lost(t->far))
        return kiln_fail(err, KILN_ERR_IO, "the runner at '%s' is lost", d->name);
    kiln_status st = kiln_remote_of_package(&scratch, o->package->folder, NULL, o->in,
                                            o->package->n_inputs, &options, &x.r, err);
    if (st == KILN_OK)
        st = run_session(&x, err);
    kiln_arena_fini(&scratch);
    /* Nothing is said of the package then. */
    if (st != KILN_OK && kiln_far_is_lost(t->far))
        st = err->status = KILN_ERR_IO;
    return st;
}

/* "AMD EPYC 9R45, 2 cores, features 1f2e...", as it says: equal texts, same kind. */
static const char *machine_of(kiln_arena *a, const kiln_far *far) {
    kiln_profile p;
    const kiln_json *json = NULL;
    if (kiln_json_parse(a, kiln_far_machine(far), "its machine", &json, NULL) !=
            KILN_OK ||
        kiln_profile_read(a, json, "its machine", &p, NULL) != KILN_OK)
        return kiln_far_address(far);
    return kiln_format(
        a, "%s, %d core%s, features %016llx", p.cpu, p.cores, p.cores == 1 ? "" : "s",
        (unsigned long long)kiln_hash64(p.features, strlen(p.features), 0));
}

const kiln_device *kiln_remote_device_new(kiln_arena *a, kiln_far *far) {
    const kiln_apart_options o = {.far = far};
    there *t = kiln_new(a, there);
    kiln_device *d = kiln_new(a, kiln_device);
    *t = (there){.far = far, .apart = kiln_apart_new(a, &o)};
    *d = (kiln_device){.name = kiln_far_address(far),
                       .doc = "a runner elsewhere",
                       .user = t,
                       .can_run = can_run,
                       .run = run_there,
                       .machine = machine_of(a, far)};
    return d;
}
