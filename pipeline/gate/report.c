/* What the gate found, as text and as JSON (docs/gate-json.md). */
#include "pipeline/gate/gate_internal.h"

#include <inttypes.h>
#include <math.h>

enum { SHOWN_CHANGES = 12, SHOWN_STEPS = 10 };

/* ---- text --------------------------------------------------------------------------
 */

static void put_moved(kiln_buf *out, const kiln_gate_result *r) {
    if (r->moved_says != NULL)
        kiln_buf_printf(out, "  steps: %s\n", r->moved_says);
    for (size_t i = 0; i < r->moved.n && i < SHOWN_STEPS; i++) {
        const kiln_gate_step *s = &r->moved.v[i];
        kiln_buf_printf(out, "  %+9.4f ms  ", s->difference_ms);
        if (isnan(s->control_ms))
            kiln_buf_printf(out, "new -> %.4f", s->candidate_ms);
        else if (isnan(s->candidate_ms))
            kiln_buf_printf(out, "%.4f -> gone", s->control_ms);
        else
            kiln_buf_printf(out, "%.4f -> %.4f", s->control_ms, s->candidate_ms);
        kiln_buf_printf(out, "  %s",
                        kiln_str_printable(out->arena, kiln_str_from(s->name), 64));
        if (s->tmpl != NULL)
            kiln_buf_printf(out, " (%s, %s)", s->tmpl, s->origin);
        kiln_buf_puts(out, "\n");
    }
    if (r->moved.n > SHOWN_STEPS)
        kiln_buf_printf(out, "  and %zu more steps that moved\n",
                        r->moved.n - SHOWN_STEPS);
}

static void put_series(kiln_buf *out, const kiln_gate_result *r) {
    const kiln_gate_timing *t = &r->timing;
    const kiln_gate_look *itself = &t->first.itself;
    kiln_buf_printf(out,
                    "  order by seed %" PRIu64 ", %d runs in each process, %d taken "
                    "again; against itself %+.2f%% (%+.2f%% to %+.2f%%); slowdowns "
                    "from %.1f%% can be seen\n",
                    t->seed, r->runs, t->first.n_retaken + t->second.n_retaken,
                    100 * itself->slowdown.estimate, 100 * itself->slowdown.low,
                    100 * itself->slowdown.high, 100 * t->first.detectable);
}

static void put_frozen_text(kiln_buf *out, const kiln_gate_frozen *f) {
    if (!f->is_there)
        return;
    kiln_buf_printf(out, "  against the frozen archive of %s: ",
                    f->archive.when != NULL ? f->archive.when : "old");
    if (f->problem != NULL)
        kiln_buf_printf(out, "no ratio: %s\n", f->problem);
    else if (f->pairs == 0)
        kiln_buf_puts(out, "the same code\n");
    else
        kiln_buf_printf(out, "%.4f (%.4f to %.4f) of its time, %d pairs\n",
                        f->ratio.estimate, f->ratio.low, f->ratio.high, f->pairs);
}

static void put_result(kiln_buf *out, const kiln_gate_result *r) {
    kiln_arena *a = out->arena;
    const size_t n = r->structure.change.n;
    kiln_buf_printf(out, "%-12s ", kiln_gate_outcome_name(r->outcome));
    if (r->model != NULL)
        kiln_buf_printf(out, "%s, %s, %d thread%s: ",
                        kiln_str_printable(a, kiln_str_from(r->model), 64),
                        kiln_str_printable(a, kiln_str_from(r->profile), 64),
                        r->threads, r->threads == 1 ? "" : "s");
    else
        kiln_buf_printf(out, "%s: ", r->path);
    kiln_buf_printf(out, "%s\n", r->reason);
    for (size_t i = 0; i < n && i < SHOWN_CHANGES; i++)
        kiln_buf_printf(out, "  %s\n", r->structure.change.v[i]);
    if (n > SHOWN_CHANGES)
        kiln_buf_printf(out, "  and %zu more changes\n", n - SHOWN_CHANGES);
    if (r->is_timed)
        put_series(out, r);
    put_frozen_text(out, &r->frozen);
    put_moved(out, r);
    if (kiln_gate_is_failure(r->outcome) || r->outcome == KILN_GATED_INCONCLUSIVE)
        kiln_buf_printf(out, "  again: %s\n", r->command);
}

void kiln_gate_text(kiln_buf *out, const kiln_gate_report *r) {
    for (size_t i = 0; i < r->result.n; i++)
        put_result(out, &r->result.v[i]);
    if (r->result.n < 2)
        return;
    kiln_buf_printf(out, "%zu archives:", r->result.n);
    const char *comma = "";
    for (int o = KILN_N_GATED; o-- > 0;) {
        if (r->n[o] == 0)
            continue;
        kiln_buf_printf(out, "%s %d %s", comma, r->n[o],
                        kiln_gate_outcome_name((kiln_gate_outcome)o));
        comma = ",";
    }
    if (!isnan(r->geomean.estimate))
        kiln_buf_printf(
            out, "; geometric mean of those timed %+.2f%% (%+.2f%% to %+.2f%%)",
            100 * r->geomean.estimate, 100 * r->geomean.low, 100 * r->geomean.high);
    kiln_buf_puts(out, "\n");
}

/* ---- JSON --------------------------------------------------------------------------
 */

static void put_interval(kiln_json_writer *w, const char *key,
                         const kiln_stats_interval *v) {
    kiln_json_name(w, key);
    if (v == NULL || isnan(v->estimate)) {
        kiln_json_put_null(w);
        return;
    }
    kiln_json_begin_object(w);
    kiln_json_member_f64(w, "estimate", v->estimate);
    kiln_json_member_f64(w, "low", v->low);
    kiln_json_member_f64(w, "high", v->high);
    kiln_json_end_object(w);
}

static void put_number(kiln_json_writer *w, const char *key, bool known, double v) {
    kiln_json_member_f64(w, key, known ? v : (double)NAN); /* NaN is null */
}

static void put_archive(kiln_json_writer *w, const char *path, const char *sha256,
                        int64_t bytes) {
    kiln_json_member_str(w, "path", path);
    kiln_json_member_str(w, "sha256", sha256);
    put_number(w, "bytes", sha256 != NULL, (double)bytes);
}

static void put_accepted(kiln_json_writer *w, const kiln_gate_result *r) {
    kiln_json_name(w, "accepted");
    if (!r->has_accepted) {
        kiln_json_put_null(w);
        return;
    }
    kiln_json_begin_object(w);
    put_archive(w, r->accepted.file, r->accepted.sha256, r->accepted.bytes);
    kiln_json_member_str(w, "accepted_at", r->accepted.when);
    kiln_json_member_str(w, "who", r->accepted.who);
    kiln_json_member_str(w, "kiln", r->accepted.kiln);
    kiln_json_member_str(w, "commit", r->accepted.commit);
    kiln_json_member_str(w, "machine", r->accepted.machine);
    kiln_json_end_object(w);
}

static void put_changes(kiln_json_writer *w, const kiln_gate_structure *s) {
    kiln_json_name(w, "changes");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < s->change.n; i++)
        kiln_json_put_string(w, kiln_str_from(s->change.v[i]));
    kiln_json_end_array(w);
}

static void put_samples(kiln_json_writer *w, int series, const kiln_gate_series *s) {
    for (size_t i = 0; i < s->sample.n; i++) {
        const kiln_gate_sample *x = &s->sample.v[i];
        kiln_json_begin_row(w);
        kiln_json_put_i64(w, series);
        kiln_json_put_i64(w, x->pair);
        kiln_json_put_string(w, kiln_str_from(kiln_gate_side_name(x->side)));
        kiln_json_put_f64(w, x->process.ms);
        kiln_json_put_f64(w, x->process.min_ms);
        kiln_json_put_f64(w, x->process.clock_ghz);
        kiln_json_put_i64(w, (int64_t)x->process.n_disturbed);
        kiln_json_put_bool(w, x->is_used);
        kiln_json_end_array(w);
    }
}

static void put_look(kiln_json_writer *w, const char *key, bool is_there,
                     const kiln_gate_look *l, int pairs) {
    kiln_json_name(w, key);
    if (!is_there) {
        kiln_json_put_null(w);
        return;
    }
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "verdict", kiln_gate_verdict_name(l->verdict));
    kiln_json_member_i64(w, "pairs", pairs);
    put_interval(w, "slowdown", &l->slowdown);
    kiln_json_member_f64(w, "p", l->p);
    kiln_json_end_object(w);
}

static void put_timing(kiln_json_writer *w, const kiln_gate_result *r) {
    const kiln_gate_timing *t = &r->timing;
    const kiln_gate_series *s = &t->first;
    const bool is = r->is_timed;
    put_number(w, "pairs", is, s->pairs);
    put_interval(w, "slowdown", is ? &s->look.slowdown : NULL);
    put_number(w, "p", is, s->look.p);
    put_number(w, "detectable", is, s->detectable);
    put_look(w, "itself", is, &s->itself, (int)kiln_gate_pairs(s->itself.look));
    put_look(w, "confirmation", is && t->has_second, &t->second.look, t->second.pairs);
    put_number(w, "seed", is, (double)t->seed);
    put_number(w, "runs_of_a_process", is, r->runs);
    put_number(w, "retaken", is, s->n_retaken + t->second.n_retaken);
    kiln_json_name(w, "samples");
    kiln_json_begin_array(w);
    put_samples(w, 0, s);
    put_samples(w, 1, &t->second);
    kiln_json_end_array(w);
}

static void put_steps(kiln_json_writer *w, const kiln_gate_result *r) {
    kiln_json_name(w, "moved");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < r->moved.n; i++) {
        const kiln_gate_step *s = &r->moved.v[i];
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "name", s->name);
        kiln_json_member_str(w, "op", s->op);
        kiln_json_member_str(w, "template", s->tmpl);
        kiln_json_member_str(w, "origin", s->origin);
        kiln_json_member_f64(w, "candidate_ms", s->candidate_ms);
        kiln_json_member_f64(w, "control_ms", s->control_ms);
        kiln_json_member_f64(w, "difference_ms", s->difference_ms);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
    kiln_json_member_str(w, "moved_says", r->moved_says);
}

static void put_frozen(kiln_json_writer *w, const kiln_gate_frozen *f) {
    kiln_json_name(w, "frozen");
    if (!f->is_there) {
        kiln_json_put_null(w);
        return;
    }
    kiln_json_begin_object(w);
    put_archive(w, f->archive.file, f->archive.sha256, f->archive.bytes);
    kiln_json_member_str(w, "accepted_at", f->archive.when);
    put_interval(w, "ratio", f->problem == NULL ? &f->ratio : NULL);
    kiln_json_member_i64(w, "pairs", f->pairs);
    kiln_json_member_str(w, "problem", f->problem);
    kiln_json_end_object(w);
}

static void put_series_json(kiln_json_writer *w, const kiln_gate_result *r) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "model", r->model);
    kiln_json_member_str(w, "profile", r->profile);
    put_number(w, "threads", r->threads > 0, r->threads);
    kiln_json_member_str(w, "verdict", kiln_gate_outcome_name(r->outcome));
    kiln_json_member_str(w, "reason", r->reason);
    kiln_json_name(w, "candidate");
    kiln_json_begin_object(w);
    put_archive(w, r->path, r->sha256, r->bytes);
    kiln_json_end_object(w);
    put_accepted(w, r);
    put_frozen(w, &r->frozen);
    put_changes(w, &r->structure);
    kiln_json_member_str(w, "machine", r->machine);
    put_timing(w, r);
    put_steps(w, r);
    kiln_json_member_str(w, "command", r->command);
    kiln_json_end_object(w);
}

void kiln_gate_json(kiln_buf *out, const kiln_gate_report *r) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "format", "kiln-gate-1");
    kiln_json_member_str(&w, "kiln", KILN_VERSION);
    kiln_json_member_str(&w, "commit", kiln_own_version().commit);
    kiln_json_member_str(&w, "verdict", kiln_gate_outcome_name(r->outcome));
    kiln_json_name(&w, "by_verdict");
    kiln_json_begin_object(&w);
    for (int o = KILN_N_GATED; o-- > 0;)
        kiln_json_member_i64(&w, kiln_gate_outcome_name((kiln_gate_outcome)o), r->n[o]);
    kiln_json_end_object(&w);
    put_interval(&w, "geomean_slowdown", &r->geomean);
    kiln_json_name(&w, "series");
    kiln_json_begin_array(&w);
    for (size_t i = 0; i < r->result.n; i++)
        put_series_json(&w, &r->result.v[i]);
    kiln_json_end_array(&w);
    kiln_json_end_object(&w);
    kiln_buf_puts(out, "\n");
}
