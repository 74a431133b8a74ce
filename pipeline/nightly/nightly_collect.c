/* The results of a run, from what its stages wrote. */
#include "pipeline/nightly/nightly_collect.h"

#include <math.h>
#include <string.h>

/* ---- stages ---------------------------------------------------------------------- */

static kiln_results_stage stage_of(const night *n, size_t i) {
    const nightly_step *s = &n->step[i];
    return (kiln_results_stage){.name = kiln_nightly_kind_name(n->g->stage.v[i].kind),
                                .state = s->marker.state,
                                .seconds = s->marker.seconds,
                                .exit_code = s->marker.exit_code,
                                .message = s->marker.message,
                                .command = s->marker.command,
                                .is_reused = s->is_reused};
}

static bool is_bad(const kiln_results_stage *s) {
    return s->state == KILN_STAGE_FAILED || s->state == KILN_STAGE_TIMED_OUT;
}

typedef KILN_VEC(kiln_results_stage) stages;

/* Those that have ended, and what they say of the job. */
static const char *take_stages(const night *n, const kiln_nightly_job *j, stages *out) {
    const char *status = "ok";
    for (int k = 0; k < KILN_NIGHTLY_N_KINDS; k++) {
        const int i = j->stage[k];
        if (i < 0)
            continue;
        if (!n->step[i].has_ended)
            return "interrupted";
        const kiln_results_stage s = stage_of(n, (size_t)i);
        kiln_vec_push(n->arena, out, s);
        if (is_bad(&s))
            status = "failed";
    }
    return status;
}

/* What a stage wrote that came to a good end, or to a bad one with something to show:
 * is there any? */
static bool has_result(const night *n, int stage) {
    if (stage < 0 || !n->step[stage].has_ended)
        return false;
    const nightly_marker *m = &n->step[stage].marker;
    return m->state == KILN_STAGE_DONE ||
           (m->state == KILN_STAGE_FAILED && m->exit_code == 1 &&
            kiln_file_exists(kiln_nightly_result_path(n->arena, n, (size_t)stage)));
}

static kiln_status read_result(const night *n, int stage, const kiln_record_document *d,
                               void *out, kiln_err *err) {
    return kiln_record_read(
        n->arena, kiln_nightly_result_path(n->arena, n, (size_t)stage), d, out, err);
}

static kiln_status take_tune(const night *n, int stage, bool *has,
                             kiln_results_tuning *out, kiln_err *err) {
    kiln_doc_tune tune;
    *has = has_result(n, stage);
    if (!*has)
        return KILN_OK;
    KILN_TRY(read_result(n, stage, &kiln_tune_document, &tune, err));
    *out = tune.tuning;
    return KILN_OK;
}

/* ---- jobs ------------------------------------------------------------------------ */

static kiln_status take_results(const night *n, const int *stage,
                                kiln_results_machine *machine, kiln_results_job *out,
                                kiln_err *err) {
    if (has_result(n, stage[KILN_NIGHTLY_BUILD])) {
        kiln_doc_builds builds;
        KILN_TRY(read_result(n, stage[KILN_NIGHTLY_BUILD], &kiln_build_document,
                             &builds, err));
        kiln_nightly_take_build(&builds, out);
    }
    if (has_result(n, stage[KILN_NIGHTLY_BENCH])) {
        kiln_doc_bench bench;
        KILN_TRY(read_result(n, stage[KILN_NIGHTLY_BENCH], &kiln_bench_document, &bench,
                             err));
        kiln_nightly_take_bench(n->arena, &bench, out, machine);
    }
    if (has_result(n, stage[KILN_NIGHTLY_GATE])) {
        kiln_doc_gate gate;
        KILN_TRY(
            read_result(n, stage[KILN_NIGHTLY_GATE], &kiln_gate_document, &gate, err));
        kiln_nightly_take_gate(&gate, out);
    }
    return take_tune(n, stage[KILN_NIGHTLY_TUNE], &out->has_tuning, &out->tuning, err);
}

static kiln_status take_job(const night *n, const kiln_nightly_job *j,
                            kiln_results *out, kiln_err *err) {
    kiln_arena *a = n->arena;
    kiln_results_job r = {.model = n->c->model.v[j->model].name,
                          .profile = j->profile->label,
                          .threads = j->threads,
                          .max_abs_error = (double)NAN,
                          .rms_error = (double)NAN};
    stages list = {.n = 0};
    r.status = take_stages(n, j, &list);
    for (size_t i = 0; i < list.n; i++)
        kiln_vec_push(a, &r.stage, list.v[i]);
    KILN_TRY(take_results(n, j->stage, &out->machine, &r, err));
    kiln_vec_push(a, &out->job, r);
    return KILN_OK;
}

static kiln_status take_set(const night *n, const kiln_nightly_job *j,
                            kiln_results *out, kiln_err *err) {
    kiln_results_ops r = {.set = n->c->set.v[j->set].label,
                          .profile = j->profile->label,
                          .threads = j->threads};
    stages list = {.n = 0};
    r.status = take_stages(n, j, &list);
    for (size_t i = 0; i < list.n; i++)
        kiln_vec_push(n->arena, &r.stage, list.v[i]);
    KILN_TRY(take_tune(n, j->stage[KILN_NIGHTLY_TUNE], &r.has_tuning, &r.tuning, err));
    if (has_result(n, j->stage[KILN_NIGHTLY_OPS])) {
        kiln_doc_ops ops;
        KILN_TRY(
            read_result(n, j->stage[KILN_NIGHTLY_OPS], &kiln_ops_document, &ops, err));
        kiln_nightly_take_ops(n->arena, &ops, &r, &out->machine);
    }
    kiln_vec_push(n->arena, &out->ops, r);
    return KILN_OK;
}

/* ---- the night ------------------------------------------------------------------- */

static bool is_tuned(const kiln_results_tuning *t) {
    for (size_t k = 0; k < t->work.n; k++)
        if (t->work.v[k].best_ns > 0 &&
            t->work.v[k].known_trials + t->work.v[k].new_trials > 0)
            return true;
    return false;
}

/* A night in which nothing was measured, or nothing tuned that should have been, is no
 * success, whatever each stage says. NULL: all is well. */
static const char *what_is_dead(const night *n, const kiln_results *r) {
    bool measured = false, asked = false, tuned = false;
    for (size_t i = 0; i < r->job.n; i++) {
        const kiln_results_job *j = &r->job.v[i];
        measured |= j->has_latency && j->latency.median_ms > 0;
        tuned |= is_tuned(&j->tuning);
    }
    for (size_t i = 0; i < r->ops.n; i++)
        tuned |= is_tuned(&r->ops.v[i].tuning);
    for (size_t i = 0; i < r->ops.n; i++)
        for (size_t k = 0; k < r->ops.v[i].row.n; k++)
            measured |= r->ops.v[i].row.v[k].median_ms > 0;
    for (size_t i = 0; i < n->g->stage.n; i++)
        asked |=
            n->g->stage.v[i].kind == KILN_NIGHTLY_TUNE && n->g->stage.v[i].skip == NULL;
    return !measured         ? "nothing was measured"
           : asked && !tuned ? "nothing was tuned"
                             : NULL;
}

static const char *status_of(const night *n, const kiln_results *r, const char *dead) {
    bool has_failed = dead != NULL;
    for (size_t i = 0; i < n->g->stage.n; i++) {
        const kiln_results_stage s = stage_of(n, i);
        has_failed = has_failed || (n->step[i].has_ended && is_bad(&s));
    }
    if (n->is_interrupted)
        return "interrupted";
    if (has_failed)
        return "failed";
    if (r->verdict != NULL && strcmp(r->verdict, "wrong") == 0)
        return "failed";
    if (r->verdict != NULL && strcmp(r->verdict, "fail") == 0)
        return "regressed";
    return r->verdict != NULL && strcmp(r->verdict, "invalid") == 0 ? "unjudged" : "ok";
}

kiln_status kiln_nightly_collect(const night *n, kiln_results *out, const char **dead,
                                 kiln_err *err) {
    kiln_machine machine;
    kiln_results r = {.name = n->c->name,
                      .run = n->name,
                      .kiln = KILN_VERSION,
                      .commit = kiln_own_version().commit,
                      .build = kiln_own_build(n->arena),
                      .started = n->started,
                      .injected = n->c->injected,
                      .command =
                          kiln_nightly_shell(n->arena, n->program, &n->c->command)};
    kiln_machine_read(n->arena, &machine);
    r.machine =
        (kiln_results_machine){.cpu = machine.cpu[0] != '\0' ? machine.cpu : NULL,
                               .os = machine.os,
                               .cores = machine.cores,
                               .memory_bytes = machine.memory_bytes};
    for (size_t i = 0; i < n->g->job.n; i++) {
        const kiln_nightly_job *j = &n->g->job.v[i];
        KILN_TRY(j->set >= 0 ? take_set(n, j, &r, err) : take_job(n, j, &r, err));
    }
    for (size_t i = 0; i < n->g->stage.n; i++)
        r.seconds += n->step[i].has_ended ? n->step[i].marker.seconds : 0;
    kiln_nightly_judge_all(n->arena, &r);
    *dead = n->is_interrupted ? NULL : what_is_dead(n, &r);
    r.status = status_of(n, &r, *dead);
    r.failure = *dead;
    kiln_results_derive(n->arena, &r);
    *out = r;
    return KILN_OK;
}
