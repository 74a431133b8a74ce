/* One candidate: memory for it, a proof on every seed, then slices. */
#include "pipeline/measure/runner/runner_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_COPIES = 8192, MAX_SPARE = 64 };
/* What slices write to in turn: together little enough to stay in a core's own cache,
 * so that times are those of one output; but two at least, unless they are huge. */
static const uint64_t turn_bytes = UINT64_C(128) << 10, most_turn_bytes = UINT64_C(64)
                                                                          << 20;
/* A first run is cold, and pays for its page faults: only what is out of the question is
 * not timed again. */
static const double first_run_ns = 1e6, hopeless_times = 10;
/* Of the peak, which is measured too. kiln_db_is_implausible has the same. */
static const double tolerated_share = 1.05, device_slack = 4;

bool kiln_trial_fault(kiln_trial_run *t, kiln_trial_error e, const char *fmt, ...) {
    char text[512];
    if (t->out->error != KILN_TRIAL_GOOD)
        return false;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    t->out->error = (uint32_t)e;
    t->out->text = kiln_str_from(kiln_str_dup(t->arena, text));
    return false;
}

/* ---- what the request says ------------------------------------------------------- */

static kiln_status check_request(const kiln_trial_run *t, kiln_err *err) {
    const kiln_wire_code *c = &t->q->code;
    if (c->n_operands == 0 || c->n_operands == c->n_inputs)
        return kiln_fail(err, KILN_ERR_PARSE, "the kernel has no output");
    if (!(c->amplification >= 1) || !isfinite(c->amplification))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "the bounds' amplification must be at least 1, is %g",
                         c->amplification);
    for (uint32_t i = 0; i < c->n_operands; i++) {
        const kiln_wire_operand *o = &c->operand[i];
        size_t bytes;
        if (o->value >= t->w->n_values ||
            (t->w->value[o->value].is_output != 0) != (i >= c->n_inputs))
            return kiln_fail(err, KILN_ERR_PARSE,
                             "operand %" PRIu32 " is no value of the workload", i);
        KILN_TRY(kiln_trial_check_packing(t, i, err));
        KILN_TRY(kiln_operand_check(&t->w->value[o->value], o, &bytes, err));
    }
    return KILN_OK;
}

/* ---- memory ---------------------------------------------------------------------- */

/* Mapping memory costs more than what is done with it: regions of finished candidates
 * are used again. */
static kiln_status take_shared(kiln_runner *r, size_t bytes, kiln_region *out,
                               kiln_err *err) {
    for (size_t i = 0; i < r->spare.n; i++)
        if (r->spare.v[i].bytes == bytes) {
            *out = r->spare.v[i];
            r->spare.v[i] = r->spare.v[--r->spare.n];
            return KILN_OK;
        }
    return kiln_region_open(bytes, true, out, err);
}

static void give_shared(kiln_runner *r, kiln_region *g) {
    size_t at;
    if (g->map == NULL)
        return;
    if (r->spare.n >= MAX_SPARE) {
        kiln_region_close(&r->spare.v[0]); /* the oldest */
        r->spare.v[0] = r->spare.v[--r->spare.n];
    }
    if (kiln_region_is_broken(g, &at))
        kiln_region_close(g);
    else
        kiln_vec_push(&r->arena, &r->spare, *g);
    *g = (kiln_region){.map = NULL};
}

static kiln_status take_outputs(kiln_trial_run *t, uint32_t buffer, uint64_t *all,
                                kiln_err *err) {
    const kiln_wire_code *c = &t->q->code;
    *all = 0;
    t->buffer[buffer] = kiln_array(t->arena, kiln_region, c->n_operands);
    t->n_buffers = buffer + 1;
    for (uint32_t i = c->n_inputs; i < c->n_operands; i++) {
        kiln_region *g = &t->buffer[buffer][i - c->n_inputs];
        size_t bytes;
        KILN_TRY(kiln_operand_check(&t->w->value[c->operand[i].value], &c->operand[i],
                                    &bytes, err));
        KILN_TRY(t->r->device != NULL ? kiln_device_window_take(t->r, bytes, g, err)
                                      : take_shared(t->r, bytes, g, err));
        *all += bytes;
    }
    return KILN_OK;
}

static void give_outputs(kiln_trial_run *t, uint32_t buffer) {
    const uint32_t n_outputs = t->q->code.n_operands - t->q->code.n_inputs;
    for (uint32_t o = 0; t->buffer[buffer] != NULL && o < n_outputs; o++)
        give_shared(t->r, &t->buffer[buffer][o]);
}

static kiln_status open_outputs(kiln_trial_run *t, kiln_err *err) {
    const kiln_wire_code *c = &t->q->code;
    /* A device has its own. */
    const size_t workspace = t->r->device == NULL ? (size_t)c->workspace_bytes : 0;
    KILN_TRY(take_shared(t->r, workspace, &t->workspace, err));
    for (int i = 0; i < t->threads; i++)
        KILN_TRY(take_shared(t->r, c->scratch_bytes, &t->scratch[i], err));
    return take_outputs(t, 0, &t->output_bytes, err);
}

/* More outputs, for slices. Where there is no memory for them, one must do. */
static void open_turns(kiln_trial_run *t) {
    const uint64_t one = t->output_bytes > 0 ? t->output_bytes : 1;
    /* A device's last cache is no core's. */
    uint64_t bytes,
        n = (t->r->device != NULL ? t->r->options.last_cache_bytes / 4 : turn_bytes) /
            one;
    n = n > KILN_MAX_BUFFERS ? KILN_MAX_BUFFERS : n;
    n = n < 2 && one <= most_turn_bytes ? 2 : n;
    for (uint32_t b = t->n_buffers; b < n; b++)
        if (take_outputs(t, b, &bytes, NULL) != KILN_OK) {
            give_outputs(t, b);
            t->n_buffers = b;
            return;
        }
}

static void close_outputs(kiln_trial_run *t) {
    give_shared(t->r, &t->workspace);
    for (int i = 0; i < t->threads; i++)
        give_shared(t->r, &t->scratch[i]);
    for (uint32_t b = 0; b < KILN_MAX_BUFFERS; b++)
        give_outputs(t, b);
}

void kiln_trial_poison(kiln_trial_run *t) {
    const uint32_t n_outputs = t->q->code.n_operands - t->q->code.n_inputs;
    kiln_region_poison(&t->workspace);
    for (int i = 0; i < t->threads; i++)
        kiln_region_poison(&t->scratch[i]);
    for (uint32_t b = 0; b < t->n_buffers; b++)
        for (uint32_t o = 0; o < n_outputs; o++)
            kiln_region_poison(&t->buffer[b][o]);
}

/* Copies of the weights, as they are packed, that no cache holds together. */
static uint32_t copies_of(const kiln_trial_run *t) {
    const kiln_wire_code *c = &t->q->code;
    const uint64_t cache = t->r->options.last_cache_bytes;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < c->n_inputs; i++) {
        size_t packed = 0; /* they were checked when they were packed */
        const kiln_wire_value *v = &t->w->value[c->operand[i].value];
        if (v->is_weight != 0 &&
            kiln_operand_check(v, &c->operand[i], &packed, NULL) == KILN_OK)
            bytes += packed;
    }
    if (t->w->weights_cold == 0 || bytes == 0 || cache == 0)
        return 1;
    const uint64_t n = 2 * cache / bytes + 2; /* caches do not forget in order */
    return n < MAX_COPIES ? (uint32_t)n : MAX_COPIES;
}

/* Seeds that have the same weights from the first on: their inputs can be timed in
 * turn, with the same copies. */
static uint32_t count_sets(const kiln_trial_run *t) {
    const kiln_wire_code *c = &t->q->code;
    uint32_t n = 1;
    for (; n < t->w->n_seeds && n < KILN_TIMED_SETS; n++)
        for (uint32_t i = 0; i < c->n_inputs; i++) {
            const kiln_wire_value *v = &t->w->value[c->operand[i].value];
            if (v->is_weight != 0 && !kiln_wire_blob_eq(&v->data[n], &v->data[0]))
                return n;
        }
    return n;
}

/* Inputs of n_sets seeds, beginning with the first. */
static kiln_status give_inputs(kiln_trial_run *t, uint32_t first, uint32_t n_sets,
                               uint32_t n_copies, kiln_err *err) {
    const kiln_wire_code *c = &t->q->code;
    kiln_packed ***weight = kiln_array(t->arena, kiln_packed **, c->n_inputs);
    size_t n = 0;
    t->n_sets = t->n_given = 0; /* until they are there */
    for (uint32_t s = 0; s < n_sets; s++)
        for (uint32_t i = 0; i < c->n_inputs; i++)
            KILN_TRY(
                kiln_operand_input(t, &c->operand[i], first + s, &t->input[s][i], err));
    for (uint32_t i = 0; i < c->n_inputs; i++)
        if (t->w->value[c->operand[i].value].is_weight != 0)
            weight[n++] = &t->input[0][i];
    t->n_copies = t->r->device != NULL ? n_copies : 1;
    t->is_rotated = n_copies > 1 && t->r->device == NULL;
    if (t->is_rotated)
        KILN_TRY(kiln_operands_rotate(t->r, t->arena, weight, n, n_copies, err));
    for (uint32_t s = 1; s < n_sets; s++)
        for (uint32_t i = 0; i < c->n_inputs; i++)
            if (t->w->value[c->operand[i].value].is_weight != 0)
                t->input[s][i] = t->input[0][i];
    t->n_sets = t->n_given = n_sets;
    return KILN_OK;
}

/* Of a device, whose process proves too: those of all seeds. Copies of weights are for
 * the sets that are timed. */
static kiln_status give_all_inputs(kiln_trial_run *t, uint32_t n_copies,
                                   kiln_err *err) {
    const uint32_t n = t->w->n_seeds < KILN_MAX_SETS ? t->w->n_seeds : KILN_MAX_SETS;
    KILN_TRY(give_inputs(t, 0, count_sets(t), n_copies, err));
    for (uint32_t s = t->n_sets; s < n; s++)
        for (uint32_t i = 0; i < t->q->code.n_inputs; i++)
            KILN_TRY(
                kiln_operand_input(t, &t->q->code.operand[i], s, &t->input[s][i], err));
    t->n_given = n;
    return KILN_OK;
}

/* ---- runs ------------------------------------------------------------------------ */

/* False: over, for the reason in t->out. */
static bool give(kiln_trial_run *t, uint32_t first, uint32_t n_sets,
                 uint32_t n_copies) {
    kiln_err err = {.len = 0};
    if (give_inputs(t, first, n_sets, n_copies, &err) == KILN_OK)
        return true;
    return kiln_trial_fault(t, KILN_TRIAL_LOST, "%s", err.text);
}

static bool give_timed(kiln_trial_run *t, uint32_t n_copies) {
    kiln_err err = {.len = 0};
    if (t->r->device == NULL)
        return give(t, 0, count_sets(t), n_copies);
    if (give_all_inputs(t, n_copies, &err) == KILN_OK)
        return true;
    return kiln_trial_fault(t, KILN_TRIAL_LOST, "%s", err.text);
}

/* The time of its one run, which decides what is worth a slice. */
static bool check_once(kiln_trial_run *t, int64_t wall_ns) {
    const double ns = t->r->page->once_ns;
    if (ns >= 0 && ns <= (double)wall_ns)
        return true;
    return kiln_trial_fault(t, KILN_TRIAL_OUT_OF_BOUNDS,
                            "the record of its time was written: %.4g ns of a run that "
                            "took %" PRId64 " ns by the wall",
                            ns, wall_ns);
}

static bool prove(kiln_trial_run *t, uint32_t seed) {
    kiln_trial_process process;
    const int64_t begin = kiln_now_ns();
    if (!give(t, seed, 1, 1))
        return false;
    t->is_timed = false;
    t->when = "";
    kiln_trial_poison(t);
    if (!kiln_trial_start(t, &process) || !kiln_trial_finish(t, &process) ||
        !kiln_trial_check(t, seed, 0) || !check_once(t, kiln_now_ns() - begin))
        return false;
    t->out->n_seeds++;
    return true;
}

static bool is_loser(const kiln_trial_run *t, double ns, double times, double more_ns) {
    const double loser = t->r->options.loser;
    return loser > 0 && t->q->best_ns > 0 &&
           ns > t->q->best_ns * loser * times + more_ns;
}

bool kiln_trial_is_hopeless(const kiln_trial_run *t, double ns) {
    return is_loser(t, ns, hopeless_times, first_run_ns);
}

static void sum_up(kiln_trial_run *t) {
    const kiln_timed *timed = &t->timed;
    kiln_wire_ran *o = t->out;
    double ns[KILN_WIRE_MAX_SLICES], share[KILN_WIRE_MAX_SLICES];
    o->n_slices = timed->n_slices;
    o->slice = kiln_arena_dup(t->arena, timed->slice, o->n_slices * sizeof *o->slice);
    o->n_runs = timed->n_runs;
    o->is_noisy = timed->is_noisy;
    for (uint32_t i = 0; i < o->n_slices; i++) {
        o->n_disturbed += o->slice[i].disturbed;
        o->peak_gflops = fmax(o->peak_gflops, o->slice[i].peak_gflops);
    }
    const bool takes_all = o->n_slices - o->n_disturbed < KILN_WIRE_FEW_SLICES;
    size_t n = 0;
    for (uint32_t i = 0; i < o->n_slices; i++) {
        if (o->slice[i].disturbed && !takes_all)
            continue;
        ns[n] = o->slice[i].ns;
        share[n++] = t->w->flops / o->slice[i].ns / o->slice[i].peak_gflops;
    }
    if (n == 0) {
        (void)kiln_trial_fault(t, KILN_TRIAL_EXIT, "it was not timed");
        return;
    }
    double low, high;
    kiln_median_interval(ns, n, &o->median_ns, &o->low_ns, &o->high_ns);
    kiln_median_interval(share, n, &o->peak_share, &low, &high);
    if (timed->is_slow)
        (void)kiln_trial_fault(t, KILN_TRIAL_SLOW, "stopped at %.4g times the best",
                               o->median_ns / t->q->best_ns);
}

static bool time_it(kiln_trial_run *t, uint32_t n_copies) {
    if (!give_timed(t, n_copies))
        return false;
    open_turns(t);
    kiln_trial_poison(t);
    if (!kiln_trial_time(t))
        return false;
    sum_up(t);
    t->r->turn += t->out->n_runs;
    return t->out->error == KILN_TRIAL_GOOD;
}

/* Is it slow even where its weights are warm? Then it needs neither copies of them nor
 * further proofs: most trials of a search end here. */
static bool look(kiln_trial_run *t) {
    t->is_look = true;
    const bool goes_on = time_it(t, 1);
    t->is_look = false;
    return goes_on;
}

/* With one output: what is compared with it is timed so too. */
static bool take_turns(kiln_trial_run *t, uint32_t n_copies) {
    if (!give_timed(t, n_copies))
        return false;
    if (t->r->device != NULL) /* calls of which each has its own are told in a row */
        open_turns(t);
    kiln_trial_poison(t);
    if (!kiln_trial_take_turns(t))
        return false;
    sum_up(t);
    t->r->turn += t->out->n_runs;
    return t->out->error == KILN_TRIAL_GOOD;
}

/* What it must compute at least takes that long at the best peak that this machine has
 * shown. A kernel may compute less than the operator's sum says (Winograd), or, in
 * lanes past the shape, more. */
static bool beats_machine(kiln_trial_run *t) {
    kiln_wire_ran *o = t->out;
    o->least_flops = fmin(t->q->code.least_flops, t->w->flops);
    o->limit_gflops = fmax(t->r->meter.best_gflops, o->peak_gflops);
    if (t->r->device != NULL) /* a profile's, of no device in particular */
        o->limit_gflops *= device_slack;
    return o->least_flops > tolerated_share * o->limit_gflops * o->median_ns;
}

static void look_at_peak_again(kiln_trial_run *t) {
    if (t->r->device == NULL)
        kiln_meter_kernels_again(&t->r->meter, t->r->options.threads);
}

/* Timed; and once more where no machine is so fast: the peak may have been hidden by
 * other load until now, or the clock has changed. */
static void time_plausibly(kiln_trial_run *t, uint32_t n_copies) {
    kiln_wire_ran *o = t->out;
    o->n_disturbed = 0;
    if (!time_it(t, n_copies) || !beats_machine(t))
        return;
    look_at_peak_again(t);
    o->n_disturbed = 0;
    if (time_it(t, n_copies) && beats_machine(t))
        (void)kiln_trial_fault(
            t, KILN_TRIAL_IMPLAUSIBLE,
            "timed twice at %.4g ns, but %.4g operations take %.4g ns at the machine's "
            "peak of %.4g GFLOP/s",
            o->median_ns, o->least_flops, o->least_flops / o->limit_gflops,
            o->limit_gflops);
}

/* There are no second turns: another look at the peak must do. */
static void take_turns_plausibly(kiln_trial_run *t) {
    if (!take_turns(t, copies_of(t)) || !beats_machine(t))
        return;
    look_at_peak_again(t);
    if (beats_machine(t))
        (void)kiln_trial_fault(
            t, KILN_TRIAL_IMPLAUSIBLE,
            "timed at %.4g ns, but %.4g operations take %.4g ns at the machine's peak "
            "of %.4g GFLOP/s",
            t->out->median_ns, t->out->least_flops,
            t->out->least_flops / t->out->limit_gflops, t->out->limit_gflops);
}

/* With a best to be held against, and an output beside the one that is looked at. */
static bool prove_first(kiln_trial_run *t) {
    if (t->q->best_ns > 0 && t->q->takes_turns == 0)
        open_turns(t);
    t->is_first = t->n_buffers > 1;
    const bool goes_on = prove(t, 0);
    t->is_first = false;
    return goes_on;
}

/* False: over. */
static bool prove_all(kiln_trial_run *t) {
    if (!prove_first(t))
        return false;
    /* A clear loser is not worth copies and proofs; a surprise has them yet to come. */
    if (kiln_trial_is_hopeless(t, t->r->page->once_ns)) {
        t->timed = (kiln_timed){.slice[0] = {.ns = t->r->page->once_ns,
                                             .peak_gflops = t->r->meter.best_gflops,
                                             .disturbed = true},
                                .n_slices = 1,
                                .n_runs = 1,
                                .is_slow = true,
                                .is_noisy = true};
        sum_up(t);
        return false;
    }
    if (is_loser(t, t->r->page->once_ns, 1, 0) && !look(t))
        return false;
    for (uint32_t seed = 1; seed < t->w->n_seeds; seed++)
        if (!prove(t, seed))
            return false;
    return true;
}

/* What a fresh process would say too: not that one before it had left something. */
static bool is_its_own(kiln_trial_error e) {
    return e == KILN_TRIAL_GOOD || e == KILN_TRIAL_SLOW || e == KILN_TRIAL_UNLOADABLE ||
           e == KILN_TRIAL_TIMEOUT || e == KILN_TRIAL_IMPLAUSIBLE;
}

/* On a device one process does all of it (slices.c). */
static void run_all(kiln_trial_run *t) {
    if (t->r->device == NULL && !prove_all(t))
        return;
    if (t->q->takes_turns != 0)
        take_turns_plausibly(t);
    else
        time_plausibly(t, copies_of(t));
}

/* A process that served others may have had inputs that they wrote to. */
static void run_all_or_again(kiln_trial_run *t) {
    const bool is_used = kiln_device_is_used(t->r);
    run_all(t);
    if (!is_used || is_its_own((kiln_trial_error)t->out->error) ||
        t->q->takes_turns != 0)
        return;
    KILN_LOG(INFO, "runner", "once more in a process of its own: %.*s",
             KILN_STR_ARG(t->out->text));
    kiln_device_end(t->r);
    *t->out = (kiln_wire_ran){.id = t->q->id};
    run_all(t);
}

static bool is_too_large(const kiln_trial_run *t) {
    const kiln_wire_code *c = &t->q->code;
    const uint64_t limit = t->r->options.data_limit_bytes;
    return c->workspace_bytes > limit ||
           c->scratch_bytes > limit / (uint64_t)t->threads;
}

void kiln_trial_do(kiln_runner *r, kiln_arena *a, const kiln_wire_run *q,
                   const kiln_wire_work *w, kiln_wire_ran *out) {
    const kiln_wire_code *c = &q->code;
    const int64_t begin_ns = kiln_now_ns();
    kiln_err err = {.len = 0};
    kiln_trial_run t = {.r = r,
                        .q = q,
                        .arena = a,
                        .out = out,
                        .threads = (int)r->options.threads,
                        .when = "",
                        .scratch = kiln_array(a, kiln_region, r->options.threads),
                        .deadline_ns = begin_ns + r->options.time_limit_ms * 1000000 *
                                                      KILN_WIRE_WALL_LIMITS,
                        .cpu_left_ns = r->options.time_limit_ms * 1000000 *
                                       (int64_t)r->options.threads};
    if (r->device != NULL) {
        t.deadline_ns = begin_ns + kiln_device_limit_ns(&r->options);
        t.cpu_left_ns = kiln_device_cpu_ns(&r->options);
    }
    for (int s = 0; s < KILN_MAX_SETS; s++)
        t.input[s] = kiln_array(a, kiln_packed *, c->n_operands);
    kiln_operands_forget(r);
    if (r->device != NULL)
        kiln_device_window_reset(r);
    if (w == NULL) {
        (void)kiln_trial_fault(&t, KILN_TRIAL_LOST, "there is no workload %" PRIu32,
                               q->work);
        return;
    }
    t.w = w;
    if (check_request(&t, &err) != KILN_OK)
        (void)kiln_trial_fault(&t, KILN_TRIAL_UNLOADABLE, "%s", err.text);
    else if (is_too_large(&t))
        (void)kiln_trial_fault(&t, KILN_TRIAL_MEMORY,
                               "it wants %" PRIu64 " bytes of workspace and %" PRIu64
                               " of scratch for each thread",
                               c->workspace_bytes, c->scratch_bytes);
    else if (open_outputs(&t, &err) != KILN_OK)
        (void)kiln_trial_fault(&t, KILN_TRIAL_MEMORY, "%s", err.text);
    else
        run_all_or_again(&t);
    close_outputs(&t);
    out->run_ms = (double)(kiln_now_ns() - begin_ns) * 1e-6;
}
