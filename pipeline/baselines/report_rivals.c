/* What a bench says of baselines: rows of a table, members of an object. */
#include "pipeline/baselines/rivals.h"

/* ---- text --------------------------------------------------------------------------
 */

void kiln_rivals_text_head(kiln_buf *out, const char *what) {
    kiln_buf_printf(out, "\n%7s %-22s %10s %10s %10s %7s %9s %s\n", what, "baseline",
                    "median ms", "q1 ms", "q3 ms", "samples", "disturbed",
                    "kiln / it [95%]");
}

void kiln_rival_text(kiln_buf *out, const char *of, const kiln_rival *r) {
    const kiln_rival_numbers *n = &r->number;
    const char *name = kiln_format(out->arena, "%s%s%s", r->baseline->name,
                                   r->version != NULL ? " " : "",
                                   r->version != NULL ? r->version : "");
    if (r->state != KILN_RIVAL_MEASURED) {
        kiln_buf_printf(out, "%7s %-22s %s: %s\n", of, name,
                        kiln_rival_state_name(r->state), r->reason);
        return;
    }
    kiln_buf_printf(out,
                    "%7s %-22s %10.4f %10.4f %10.4f %7zu %9zu %6.3f [%.3f, %.3f]%s%s\n",
                    of, name, n->median_ms, n->q1_ms, n->q3_ms, r->sample.n,
                    n->n_disturbed, n->ratio.estimate, n->ratio.low, n->ratio.high,
                    r->implementation != NULL ? "  " : "",
                    r->implementation != NULL ? r->implementation : "");
}

/* ---- JSON --------------------------------------------------------------------------
 */

void kiln_samples_json(kiln_json_writer *w, const kiln_sample_list *s) {
    kiln_json_name(w, "samples");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < s->n; i++) {
        kiln_json_begin_row(w);
        kiln_json_put_f64(w, s->v[i].ms);
        kiln_json_put_bool(w, s->v[i].is_disturbed);
        kiln_json_end_array(w);
    }
    kiln_json_end_array(w);
}

void kiln_ratio_json(kiln_json_writer *w, const kiln_stats_interval *r) {
    kiln_json_name(w, "ratio");
    kiln_json_begin_object(w);
    kiln_json_member_f64(w, "kiln_over_baseline", r->estimate);
    kiln_json_member_f64(w, "low", r->low);
    kiln_json_member_f64(w, "high", r->high);
    kiln_json_end_object(w);
}

static void put_numbers(kiln_json_writer *w, const kiln_rival_numbers *n) {
    kiln_json_member_i64(w, "runs_of_a_sample", n->runs);
    kiln_json_member_i64(w, "disturbed_samples", (int64_t)n->n_disturbed);
    kiln_json_member_f64(w, "median_ms", n->median_ms);
    kiln_json_member_f64(w, "q1_ms", n->q1_ms);
    kiln_json_member_f64(w, "q3_ms", n->q3_ms);
    kiln_json_member_f64(w, "min_ms", n->min_ms);
    kiln_ratio_json(w, &n->ratio);
}

void kiln_rivals_json(kiln_json_writer *w, const kiln_rival_list *list,
                      const char *error_name) {
    kiln_json_name(w, "baselines");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < list->n; i++) {
        const kiln_rival *r = &list->v[i];
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "name", r->baseline->name);
        kiln_json_member_str(w, "version", r->version);
        kiln_json_member_str(w, "state", kiln_rival_state_name(r->state));
        kiln_json_member_str(w, "problem", r->reason);
        kiln_json_member_str(w, "implementation", r->implementation);
        kiln_json_member_f64(w, "max_abs_error", r->max_abs);
        kiln_json_member_f64(w, error_name, r->error);
        if (r->state == KILN_RIVAL_MEASURED)
            put_numbers(w, &r->number);
        kiln_samples_json(w, &r->sample);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}
