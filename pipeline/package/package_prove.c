/* Every package is proved before it appears: it runs as it is packed, here or in an
 * emulator, and what its steps read and write is held against the graph
 * (pipeline/network/network_prove.h); beside that its own self-test runs, at one thread and at
 * several.
 */
#include "pipeline/devices/runner/runner.h"
#include "pipeline/network/network_prove.h"
#include "pipeline/package/package_internal.h"

#include <string.h>

enum { MAX_DRAWS = 4 };

/* Bytes of a trace that lie in a temporary file together. */
static const uint64_t max_trace_bytes = (uint64_t)1 << 29;

/* The self-test, and what came of it. */
typedef struct self_test {
    const kiln_opened *package;
    int n_threads;
    bool has_begun;
    kiln_task task;
    kiln_arena arena;
    kiln_status st;
    kiln_err err;
} self_test;

typedef struct proving {
    kiln_arena *arena;
    const kiln_network *n;
    kiln_opened package;
    const kiln_proof_options *o;
    kiln_proof *out;
    bool *is_seen; /* by step, in any of the runs */
    const char *dir;
    self_test outputs;
} proving;

/* ---- outputs --------------------------------------------------------------------- */

static kiln_status check_outputs(self_test *t, kiln_err *err) {
    kiln_checks checks = {0};
    const int threads[] = {1, t->n_threads};
    KILN_TRY(kiln_opened_selftest(&t->arena, t->package, threads,
                                  t->n_threads > 1 ? 2 : 1, &checks, err));
    /* Where all hangs on rounding nothing is compared: the build says so. */
    for (size_t i = 0; i < checks.list.n; i++)
        if (checks.list.v[i].outcome == KILN_FAILED)
            return kiln_fail(err, KILN_ERR_BUG, "%s: %s", checks.list.v[i].name,
                             checks.list.v[i].reason);
    return KILN_OK;
}

static void run_outputs(void *user) {
    self_test *t = user;
    t->st = check_outputs(t, &t->err);
}

static void begin_outputs(proving *v) {
    self_test *t = &v->outputs;
    if (t->has_begun)
        return;
    t->has_begun = true;
    t->package = &v->package;
    t->n_threads = v->o->n_threads;
    kiln_task_start(&t->task, run_outputs, t);
}

/* ---- one run's trace ------------------------------------------------------------- */

static kiln_status take_records(kiln_prover *p, int n_steps, kiln_str file,
                                kiln_err *err) {
    for (size_t at = 0; at < file.n;) {
        run_trace_record r;
        if (file.n - at < sizeof r)
            return kiln_fail(err, KILN_ERR_LIB, "the trace ends inside a record");
        memcpy(&r, file.p + at, sizeof r);
        at += sizeof r;
        kiln_progress_step("proving", "steps", (double)r.step, n_steps, NULL);
        if (r.bytes > file.n - at)
            return kiln_fail(err, KILN_ERR_LIB, "the trace ends inside an operand");
        const kiln_prover_record record = {.kind = (kiln_trace_kind)r.kind,
                                           .step = (int)r.step,
                                           .operand = (int)r.operand,
                                           .iteration = (int64_t)r.iteration,
                                           .data = file.p + at,
                                           .bytes = (size_t)r.bytes};
        KILN_TRY(kiln_prover_take(p, &record, err));
        KILN_TRY(kiln_interrupt_check(err));
        at += (size_t)r.bytes;
    }
    return KILN_OK;
}

/* Steps [begin, end) in one more run: networks are too large to be traced whole. The
 * first trace to be looked at leaves time for the self-test. */
static kiln_status prove_part(proving *v, kiln_prover *p, const kiln_tensor *in,
                              int begin, int end, kiln_err *err) {
    const kiln_opened *k = &v->package;
    kiln_arena scratch = {0};
    kiln_str file;
    const kiln_device_job job = {.n_threads = v->o->n_threads,
                                 .trace = kiln_path_join(&scratch, v->dir, "trace"),
                                 .trace_begin = begin,
                                 .trace_end = end};
    kiln_status st = kiln_device_run(&scratch, k->device, &k->package, &job, in,
                                     k->package.n_inputs, NULL, NULL, err);
    if (st == KILN_OK)
        st = kiln_file_map(&scratch, job.trace, 0, &file, err);
    if (st == KILN_OK)
        begin_outputs(v);
    if (st == KILN_OK)
        st = take_records(p, v->n->n_steps, file, err);
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status prove_run(proving *v, const kiln_tensor *in, uint64_t seed,
                             kiln_err *err) {
    kiln_network_proof proof;
    kiln_prover *p = kiln_prover_new(v->arena, v->n, in, seed, &proof);
    kiln_status st = KILN_OK;
    for (int begin = 0, end; begin < v->n->n_steps && st == KILN_OK; begin = end) {
        end = v->n->n_steps;
        (void)kiln_network_trace_bytes(v->n, begin, &end, max_trace_bytes);
        KILN_ASSERT(end > begin && end <= v->n->n_steps, "steps %d to %d of %d", begin,
                    end, v->n->n_steps);
        st = prove_part(v, p, in, begin, end, err);
    }
    kiln_prover_end(p);
    if (st != KILN_OK)
        return st;
    if (proof.problem[0] != '\0')
        return kiln_fail(err, KILN_ERR_BUG, "%s", proof.problem);
    for (int i = 0; i < v->n->n_steps; i++)
        v->is_seen[i] = v->is_seen[i] || proof.is_seen[i];
    if (v->out->n_elems == 0)
        v->out->unknown = proof.unknown;
    v->out->n_unknown =
        proof.n_unknown > v->out->n_unknown ? proof.n_unknown : v->out->n_unknown;
    v->out->n_steps = proof.n_steps;
    v->out->n_elems += proof.n_elems;
    v->out->n_checked += proof.n_checked;
    return KILN_OK;
}

/* ---- all steps ------------------------------------------------------------------- */

static int count_unseen(const proving *v) {
    int n = 0;
    for (int i = 0; i < v->n->n_steps; i++)
        n += kiln_network_is_work(v->n, i) && !v->is_seen[i];
    return n;
}

/* The self-test's inputs; where a branch was not taken, others. */
static kiln_status prove_steps(proving *v, kiln_err *err) {
    const kiln_device_package *k = &v->package.package;
    kiln_tensor *in = kiln_array(v->arena, kiln_tensor, k->n_inputs);
    KILN_TRY(kiln_dir_temp(v->arena, &v->dir, err));
    KILN_TRY(prove_run(v, v->o->expectation->in, v->o->seed, err));
    for (uint64_t draw = 1; draw < MAX_DRAWS && count_unseen(v) > 0; draw++) {
        const uint64_t seed = v->o->seed + 1000003 * draw;
        for (size_t i = 0; i < k->n_inputs; i++)
            in[i] = kiln_ref_random(v->arena, &k->input[i].type, seed + i);
        KILN_TRY(prove_run(v, in, seed, err));
    }
    v->out->n_unseen = count_unseen(v);
    v->out->n_proved = v->out->n_steps - v->out->n_unseen - v->out->n_unknown;
    return KILN_OK;
}

/* A process that died, or was stopped, ran what kiln made. */
static kiln_status as_bug(kiln_status st, kiln_err *err) {
    if (st != KILN_ERR_LIB && st != KILN_ERR_PARSE)
        return st;
    err->status = KILN_ERR_BUG;
    return KILN_ERR_BUG;
}

static kiln_status prove(proving *v, const char *archive, kiln_err *err) {
    KILN_TRY(kiln_package_open(v->arena, archive, &v->package, err));
    v->out->device = v->package.device->name;
    const kiln_status st = prove_steps(v, err);
    if (st == KILN_OK)
        begin_outputs(v); /* there was no step to trace */
    kiln_task_wait(&v->outputs.task);
    if (st != KILN_OK || v->outputs.st == KILN_OK)
        return st; /* a step says more than an output */
    *err = v->outputs.err;
    return v->outputs.st;
}

kiln_status kiln_package_prove(const char *archive, const kiln_network *n,
                               const kiln_proof_options *o, kiln_proof *out,
                               kiln_err *err) {
    kiln_arena a = {0};
    kiln_proof found = {.device = NULL};
    const int64_t begin = kiln_now_ns();
    proving v = {.arena = &a, .n = n, .o = o, .out = &found};
    v.is_seen = kiln_array(&a, bool, n->n_steps + 1);
    kiln_status st = as_bug(prove(&v, archive, err), err);
    found.time_ms = (kiln_now_ns() - begin) / 1000000;
    if (found.unknown != NULL)
        found.unknown = kiln_str_dup(o->arena, found.unknown);
    kiln_arena_fini(&v.outputs.arena);
    kiln_arena_fini(&a);
    if (st == KILN_ERR_UNSUPPORTED)
        kiln_note(err, "proving the package before it appears; --no-verify packs it "
                       "unproved, and says so in it");
    else if (st != KILN_OK)
        kiln_note(err, "proving the package before it appears: there is none");
    else
        *out = found;
    return st;
}
