/* What a bench of a network says of baselines. */
#include "pipeline/bench/bench_internal.h"

/* ---- text --------------------------------------------------------------------------
 */

static void put_row(kiln_buf *out, const kiln_net_side *s, const kiln_net_rival *r) {
    const char *name = kiln_format(out->arena, "%s %s", r->baseline->name,
                                   r->version != NULL ? r->version : "");
    if (r->state != KILN_RIVAL_MEASURED) {
        kiln_buf_printf(out, "%7d %-22s %s: %s\n", s->threads, name,
                        kiln_rival_state_name(r->state), r->reason);
        return;
    }
    kiln_buf_printf(
        out, "%7d %-22s %10.4f %10.4f %10.4f %7zu %9zu %6.3f [%.3f, %.3f]\n",
        s->threads, name, r->number.median_ms, r->number.q1_ms, r->number.q3_ms,
        r->sample.n, r->number.n_disturbed, r->number.ratio.estimate,
        r->number.ratio.low, r->number.ratio.high);
}

void kiln_rivals_text(kiln_buf *out, const kiln_net_bench *b) {
    bool is_first = true;
    for (size_t i = 0; i < b->side.n; i++)
        for (size_t k = 0; k < b->side.v[i].rival.n; k++) {
            if (is_first)
                kiln_buf_printf(out, "\n%7s %-22s %10s %10s %10s %7s %9s %s\n",
                                "threads", "baseline", "median ms", "q1 ms", "q3 ms",
                                "samples", "disturbed", "kiln / it [95%]");
            is_first = false;
            put_row(out, &b->side.v[i], &b->side.v[i].rival.v[k]);
        }
}

/* ---- JSON --------------------------------------------------------------------------
 */

void kiln_samples_json(kiln_json_writer *w, const kiln_net_samples *s) {
    kiln_json_name(w, "samples");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < s->n; i++) {
        const kiln_net_sample *v = &s->v[i];
        kiln_json_begin_row(w);
        kiln_json_put_f64(w, v->ms);
        kiln_json_put_f64(w, v->peak_gflops);
        kiln_json_put_f64(w, v->measured_gflops);
        kiln_json_put_f64(w, v->clock_ghz);
        kiln_json_put_bool(w, v->is_disturbed);
        kiln_json_end_array(w);
    }
    kiln_json_end_array(w);
}

static void put_rival(kiln_json_writer *w, const kiln_net_rival *r) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "name", r->baseline->name);
    kiln_json_member_str(w, "version", r->version);
    kiln_json_member_str(w, "state", kiln_rival_state_name(r->state));
    kiln_json_member_str(w, "problem", r->reason);
    kiln_json_member_f64(w, "max_abs_error", r->check.max_abs);
    kiln_json_member_f64(w, "rms_error", r->check.rms_error);
    if (r->state == KILN_RIVAL_MEASURED)
        kiln_rival_numbers_put(w, &r->number);
    kiln_samples_json(w, &r->sample);
    kiln_json_end_object(w);
}

void kiln_rivals_json(kiln_json_writer *w, const kiln_net_side *side) {
    kiln_json_name(w, "baselines");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < side->rival.n; i++)
        put_rival(w, &side->rival.v[i]);
    kiln_json_end_array(w);
}
