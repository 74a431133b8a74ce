/* What the gate found, as a document (docs/gate-json.md). */
#include "pipeline/gate/gate_internal.h"

#include <math.h>

#include "reports/results/documents.h"

static const kiln_stats_interval unknown = {(double)NAN, (double)NAN, (double)NAN};

static kiln_doc_accepted accepted_of(const kiln_accepted *e) {
    return (kiln_doc_accepted){.path = e->file,
                               .sha256 = e->sha256,
                               .bytes = e->bytes,
                               .accepted_at = e->when,
                               .who = e->who,
                               .kiln = e->kiln,
                               .commit = e->commit,
                               .machine = e->machine};
}

static void put_processes(kiln_arena *a, int series, const kiln_gate_series *s,
                          kiln_doc_series *out) {
    for (size_t i = 0; i < s->sample.n; i++) {
        const kiln_gate_sample *x = &s->sample.v[i];
        const kiln_doc_process p = {.series = series,
                                    .pair = x->pair,
                                    .side = kiln_gate_side_name(x->side),
                                    .ms = x->process.ms,
                                    .min_ms = x->process.min_ms,
                                    .clock_ghz = x->process.clock_ghz,
                                    .disturbed = (int64_t)x->process.n_disturbed,
                                    .is_used = x->is_used};
        kiln_vec_push(a, &out->process, p);
    }
}

/* Each side of a pair ran twice, and the faster process counts. Pairs that the
 * candidate had no part in (its verdict was found, the control's against itself was
 * not) are none.
 */
static void put_pairs(kiln_arena *a, int series, const kiln_gate_series *s,
                      kiln_results_gate *out) {
    for (size_t i = 0; i < s->sample.n;) {
        kiln_results_pair p = {.series = series};
        const int pair = s->sample.v[i].pair;
        for (; i < s->sample.n && s->sample.v[i].pair == pair; i++) {
            const kiln_gate_sample *x = &s->sample.v[i];
            double *ms = x->side == KILN_GATE_CANDIDATE ? &p.candidate_ms
                         : x->side == KILN_GATE_CONTROL ? &p.control_ms
                                                        : NULL;
            if (ms != NULL && x->is_used && x->process.ms > 0)
                *ms = *ms > 0 ? fmin(*ms, x->process.ms) : x->process.ms;
        }
        if (p.candidate_ms > 0 && p.control_ms > 0)
            kiln_vec_push(a, &out->timed, p);
    }
}

/* What of it was timed; nothing is known of it where nothing was. */
static void put_timing(kiln_arena *a, const kiln_gate_result *r,
                       kiln_results_gate *out) {
    const kiln_gate_series *s = &r->timing.first;
    out->slowdown = out->frozen = unknown;
    out->p = out->detectable = (double)NAN;
    if (r->is_timed) {
        out->pairs = s->pairs;
        out->slowdown = s->look.slowdown;
        out->p = s->look.p;
        out->detectable = s->detectable;
        put_pairs(a, 0, s, out);
        put_pairs(a, 1, &r->timing.second, out);
    }
    if (r->frozen.is_there) {
        out->frozen_sha256 = r->frozen.archive.sha256;
        out->frozen_problem = r->frozen.problem;
        if (r->frozen.problem == NULL)
            out->frozen = r->frozen.ratio;
    }
}

static kiln_results_gate gate_of(kiln_arena *a, const kiln_gate_result *r) {
    kiln_results_gate out = {.verdict = kiln_gate_outcome_name(r->outcome),
                             .reason = r->reason,
                             .moved_says = r->moved_says,
                             .command = r->command};
    if (r->has_accepted) {
        out.accepted_sha256 = r->accepted.sha256;
        out.accepted_commit = r->accepted.commit;
    }
    put_timing(a, r, &out);
    for (size_t i = 0; i < r->structure.change.n; i++)
        kiln_vec_push(a, &out.change, r->structure.change.v[i]);
    for (size_t i = 0; i < r->moved.n; i++)
        kiln_vec_push(a, &out.moved, r->moved.v[i]);
    return out;
}

static kiln_doc_look look_of(const kiln_gate_look *l, int pairs) {
    return (kiln_doc_look){kiln_gate_verdict_name(l->verdict), pairs, l->slowdown,
                           l->p};
}

static kiln_doc_others others_of(kiln_arena *a, const kiln_busy_report *r) {
    kiln_doc_others out = {.seconds = r->seconds,
                           .processors = r->processors,
                           .taken = r->taken,
                           .hypervisor = r->hypervisor,
                           .unseen = r->unseen};
    for (size_t i = 0; i < r->n; i++) {
        const kiln_doc_busy row = {r->row[i].name, r->row[i].n, r->row[i].processors};
        kiln_vec_push(a, &out.greatest, row);
    }
    return out;
}

/* What of the series was timed. */
static void put_series(kiln_arena *a, const kiln_gate_result *r, kiln_doc_series *out) {
    const kiln_gate_timing *t = &r->timing;
    const kiln_busy_report *others =
        t->second.gave_up ? &t->second.others : &t->first.others;
    out->has_itself = t->first.pairs > 0;
    if (out->has_itself)
        out->itself =
            look_of(&t->first.itself, (int)kiln_gate_pairs(t->first.itself.look));
    out->has_confirmation = t->has_second;
    if (t->has_second)
        out->confirmation = look_of(&t->second.look, t->second.pairs);
    out->seed = (double)t->seed;
    out->runs_of_a_process = r->runs;
    out->retaken = t->first.n_retaken + t->second.n_retaken;
    out->throttled = t->first.n_throttled + t->second.n_throttled;
    out->degrees = (int)(t->second.degrees > t->first.degrees ? t->second.degrees
                                                              : t->first.degrees);
    put_processes(a, 0, &t->first, out);
    put_processes(a, 1, &t->second, out);
    out->pairs_needed = t->first.pairs_needed;
    out->gave_up = t->first.gave_up || t->second.gave_up;
    out->has_others = others->processors > 0;
    if (out->has_others)
        out->others = others_of(a, others);
}

static kiln_doc_series series_of(kiln_arena *a, const kiln_gate_result *r) {
    kiln_doc_series out = {
        .model = r->model,
        .profile = r->profile,
        .threads = r->threads,
        .gate = gate_of(a, r),
        .candidate = {r->path, r->sha256, r->sha256 != NULL ? r->bytes : 0},
        .has_accepted = r->has_accepted,
        .has_frozen = r->frozen.is_there,
        .machine = r->machine,
        .limits = {r->limits.fail_above, r->limits.pass_below},
        .seed = (double)NAN};
    if (r->has_accepted)
        out.accepted = accepted_of(&r->accepted);
    if (r->frozen.is_there) {
        out.frozen = accepted_of(&r->frozen.archive);
        out.frozen_pairs = r->frozen.pairs;
    }
    if (r->is_timed)
        put_series(a, r, &out);
    return out;
}

void kiln_gate_json(kiln_buf *out, const kiln_gate_report *r) {
    kiln_arena *a = out->arena;
    kiln_doc_gate d = {.own = kiln_doc_own_of(a),
                       .injected = r->injected,
                       .verdict = kiln_gate_outcome_name(r->outcome),
                       .geomean_slowdown = r->geomean};
    for (int o = KILN_N_GATED; o-- > 0;) {
        const kiln_results_count c = {kiln_gate_outcome_name((kiln_gate_outcome)o),
                                      r->n[o]};
        if (c.n > 0)
            kiln_vec_push(a, &d.by_verdict, c);
    }
    for (size_t i = 0; i < r->result.n; i++) {
        const kiln_doc_series series = series_of(a, &r->result.v[i]);
        kiln_vec_push(a, &d.series, series);
    }
    kiln_record_write(out, &kiln_gate_document, &d);
}
