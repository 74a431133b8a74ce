/* What the gate found, for people. */
#include "pipeline/gate/gate_internal.h"

#include <inttypes.h>
#include <math.h>

enum { SHOWN_CHANGES = 12, SHOWN_STEPS = 10, SHOWN_NAME = 64, MAX_NAME = 4096 };

/* ---- text ------------------------------------------------------------------------ */

static void put_moved(kiln_buf *out, const kiln_gate_result *r) {
    if (r->moved_says != NULL)
        kiln_buf_printf(out, "  steps: %s\n", r->moved_says);
    for (size_t i = 0; i < r->moved.n && i < SHOWN_STEPS; i++) {
        const kiln_results_moved *s = &r->moved.v[i];
        kiln_buf_printf(out, "  %+9.4f ms  ", s->difference_ms);
        if (isnan(s->control_ms))
            kiln_buf_printf(out, "new -> %.4f", s->candidate_ms);
        else if (isnan(s->candidate_ms))
            kiln_buf_printf(out, "%.4f -> gone", s->control_ms);
        else
            kiln_buf_printf(out, "%.4f -> %.4f", s->control_ms, s->candidate_ms);
        const char *name =
            kiln_str_printable(out->arena, kiln_str_from(s->name), MAX_NAME);
        kiln_buf_printf(out, "  %s", kiln_str_fit(out->arena, name, SHOWN_NAME));
        if (s->tmpl != NULL)
            kiln_buf_printf(out, " (%s, %s)", s->tmpl, s->origin);
        kiln_buf_puts(out, "\n");
    }
    if (r->moved.n > SHOWN_STEPS)
        kiln_buf_printf(out, "  and %zu more steps that moved\n",
                        r->moved.n - SHOWN_STEPS);
}

/* What a device elsewhere says of its heat. */
static void put_heat(kiln_buf *out, const kiln_gate_series *s) {
    if (s->n_throttled > 0)
        kiln_buf_printf(out, "  %d process%s had %s clock held back: too warm\n",
                        s->n_throttled, s->n_throttled == 1 ? "" : "es",
                        s->n_throttled == 1 ? "its" : "their");
    if (s->degrees > 0)
        kiln_buf_printf(out, "  at most %u degrees\n", (unsigned)s->degrees);
}

static void put_series(kiln_buf *out, const kiln_gate_result *r) {
    const kiln_gate_timing *t = &r->timing;
    const kiln_gate_look *itself = &t->first.itself;
    const char *who = kiln_busy_text(out->arena, &t->first.others);
    if (who != NULL && t->outcome != KILN_GATED_INVALID) /* there it is the reason's */
        kiln_buf_printf(out, "  meanwhile %s\n", who);
    put_heat(out, &t->first);
    if (t->first.pairs == 0) {
        kiln_buf_printf(out,
                        "  order by seed %" PRIu64
                        ", %d runs in each process, %d taken "
                        "again; no look was reached\n",
                        t->seed, r->runs, t->first.n_retaken);
        return;
    }
    kiln_buf_printf(out,
                    "  order by seed %" PRIu64 ", %d runs in each process, %d taken "
                    "again; against itself %+.2f%% (%+.2f%% to %+.2f%%)\n",
                    t->seed, r->runs, t->first.n_retaken + t->second.n_retaken,
                    100 * itself->slowdown.estimate, 100 * itself->slowdown.low,
                    100 * itself->slowdown.high);
    kiln_buf_printf(out,
                    "  slowdowns from %.1f%% can be seen; to tell %g%% from %g%% takes "
                    "some %.0f pairs in such noise, %d are the most\n",
                    100 * t->first.detectable, 100 * t->limits.fail_above,
                    100 * t->limits.pass_below, t->first.pairs_needed,
                    KILN_GATE_MAX_PAIRS);
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

/* Does the alarm go off? */
static void put_injected(kiln_buf *out, const kiln_gate_result *r) {
    const bool is_found = r->outcome == KILN_GATED_FAIL;
    if (!r->is_timed)
        kiln_buf_printf(out, "  nothing was timed: the injected %g%% had no effect\n",
                        100 * r->injected);
    else
        kiln_buf_printf(out,
                        "  the injected %g%% %s, where slowdowns from %.1f%% can be "
                        "seen\n",
                        100 * r->injected, is_found ? "was found" : "was not found",
                        100 * r->timing.first.detectable);
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
    if (r->injected > 0)
        put_injected(out, r);
    put_frozen_text(out, &r->frozen);
    put_moved(out, r);
    if (kiln_gate_is_failure(r->outcome) || r->outcome == KILN_GATED_INCONCLUSIVE)
        kiln_buf_printf(out, "  again: %s\n", r->command);
}

void kiln_gate_text(kiln_buf *out, const kiln_gate_report *r) {
    if (r->injected > 0)
        kiln_buf_printf(
            out,
            "INJECTED: each timed run of the candidate is slowed by %g%% on "
            "purpose; these are no verdicts, and no history or acceptance "
            "takes them\n",
            100 * r->injected);
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
