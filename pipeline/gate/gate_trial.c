/* Two packages as the gate's sides: fresh processes on the device. */
#include "pipeline/gate/gate_internal.h"

#include <math.h>

enum {
    PATIENCE = 10, /* times what the control takes: slower than that, nobody waits */
    MIN_RUNS = 9,  /* of a process: five that nobody disturbs */
    MAX_RUNS = 20000,
    PROBE_RUNS = 5,
    PROBE_WARM_UP = 2,
    STEP_SHARE = 5 /* of the runs, that a process with each step timed takes */
};

static const kiln_opened *side_of(const kiln_gate_pair *p, kiln_gate_side side) {
    return side == KILN_GATE_CANDIDATE ? p->candidate : p->control;
}

/* Of a process: to open the package, and for its runs. */
static int64_t limit_ms(const kiln_gate_pair *p, int runs) {
    const double drawn_out = 1 + 1e-6 * (double)p->injected_ppm;
    return KILN_DEVICE_TIME_LIMIT_MS +
           (int64_t)ceil(PATIENCE * runs * p->run_ms * drawn_out);
}

static kiln_status run_process(kiln_arena *a, const kiln_gate_pair *p,
                               kiln_gate_side side, int runs, int warm_up,
                               bool wants_steps, kiln_device_result *out,
                               kiln_err *err) {
    const kiln_opened *o = side_of(p, side);
    const kiln_device_job job = {.n_threads = p->threads,
                                 .n_rounds = runs,
                                 .n_warm_up = warm_up,
                                 .wants_profile = wants_steps,
                                 .injected_ppm =
                                     side == KILN_GATE_CANDIDATE ? p->injected_ppm : 0,
                                 .time_limit_ms = limit_ms(p, warm_up + runs)};
    const kiln_status st = kiln_device_run(a, o->device, &o->package, &job, p->in,
                                           o->package.n_inputs, NULL, out, err);
    if (st != KILN_OK)
        kiln_note(err, "timing the %s",
                  side == KILN_GATE_CANDIDATE ? "candidate" : "accepted archive");
    return st;
}

/* ---- what runs say --------------------------------------------------------------- */

/* As bench has it: somebody else had the processor for a part of the run. */
static bool is_disturbed(const kiln_device_result *r, size_t i, kiln_gate_signs signs) {
    const double wall = (double)r->run_ns[i], cpu = (double)r->cpu_ns[i];
    return (signs.switches && r->preempted[i] > 0) ||
           (r->throttled != NULL && r->throttled[i]) ||
           (signs.processor && wall - cpu > wall / 50);
}

static kiln_gate_signs signs_of(const kiln_gate_pair *p, kiln_gate_side side) {
    const kiln_opened *o = side_of(p, side);
    const bool is_host = o->facts.n_devices == 1;
    return (kiln_gate_signs){.processor = p->threads == 1 && is_host,
                             .switches = is_host || o->package.has_driver};
}

kiln_gate_process kiln_gate_process_of(kiln_arena *scratch, const kiln_device_result *r,
                                       kiln_gate_signs signs) {
    kiln_gate_process p = {.n_runs = r->n_runs,
                           .clock_ghz = (r->clock_ghz[0] + r->clock_ghz[1]) / 2,
                           .degrees = r->degrees};
    double *ms = kiln_array(scratch, double, r->n_runs);
    size_t n = 0;
    for (size_t i = 0; i < r->n_runs && r->throttled != NULL; i++)
        p.n_throttled += r->throttled[i];
    for (size_t i = 0; i < r->n_runs; i++)
        p.n_disturbed += is_disturbed(r, i, signs);
    const bool takes_all = p.n_disturbed == r->n_runs;
    for (size_t i = 0; i < r->n_runs; i++)
        if (takes_all || !is_disturbed(r, i, signs))
            ms[n++] = (double)r->run_ns[i] * 1e-6;
    p.ms = kiln_stats_quantile(scratch, ms, n, 0.25);
    p.min_ms = kiln_stats_quantile(scratch, ms, n, 0);
    return p;
}

kiln_status kiln_gate_pair_run(void *user, kiln_gate_side side, kiln_gate_process *out,
                               kiln_err *err) {
    KILN_ASSERT(((const kiln_gate_pair *)user)->runs > 0, "side %d is run not once",
                (int)side);
    const kiln_gate_pair *p = user;
    kiln_arena scratch = {0};
    kiln_device_result r = {.n_runs = 0};
    const kiln_status st =
        run_process(&scratch, p, side, p->runs, p->warm_up, false, &r, err);
    if (st == KILN_OK)
        *out = kiln_gate_process_of(&scratch, &r, signs_of(p, side));
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_gate_pair_steps(kiln_arena *a, const kiln_gate_pair *p,
                                 kiln_gate_side side, double **ms, kiln_err *err) {
    kiln_device_result r = {.n_runs = 0};
    KILN_ASSERT(p->runs > 0 && p->threads > 0, "%d runs on %d threads", p->runs,
                p->threads);
    const int runs = p->runs / STEP_SHARE > 1 ? p->runs / STEP_SHARE : 1;
    KILN_TRY(run_process(a, p, side, runs, p->warm_up, true, &r, err));
    double *out = kiln_array(a, double, r.n_steps);
    for (size_t i = 0; i < r.n_steps; i++)
        out[i] = (double)r.step[i].time_ns * 1e-6 / (double)r.n_runs;
    *ms = out;
    return KILN_OK;
}

/* ---- making ready ---------------------------------------------------------------- */

static kiln_status read_inputs(kiln_arena *a, const kiln_opened *p, kiln_tensor **in,
                               kiln_err *err) {
    kiln_package_expected *expected =
        kiln_array(a, kiln_package_expected, p->package.n_outputs);
    *in = kiln_array(a, kiln_tensor, p->package.n_inputs);
    return kiln_package_selftest_read(a, p->folder, &p->facts, *in, expected, err);
}

kiln_status kiln_gate_pair_init(kiln_arena *a, const kiln_opened *candidate,
                                const kiln_opened *control, int threads, double seconds,
                                kiln_gate_pair *out, kiln_err *err) {
    kiln_gate_pair p = {.candidate = candidate, .control = control, .threads = threads};
    kiln_tensor *in = NULL;
    kiln_device_result r = {.n_runs = 0};
    KILN_TRY(read_inputs(a, control, &in, err));
    p.in = in;
    KILN_TRY(run_process(a, &p, KILN_GATE_CONTROL, PROBE_RUNS, PROBE_WARM_UP, false, &r,
                         err));
    p.run_ms = kiln_gate_process_of(a, &r, signs_of(&p, KILN_GATE_CONTROL)).min_ms;
    p.runs = (int)fmin(MAX_RUNS, fmax(MIN_RUNS, seconds * 1e3 / fmax(p.run_ms, 1e-4)));
    KILN_ASSERT(p.runs >= MIN_RUNS && p.runs <= MAX_RUNS, "%d runs", p.runs);
    p.warm_up = p.runs / 5;
    *out = p;
    return KILN_OK;
}
