/* What a bench says of baselines: rows of a table, and results. */
#include "pipeline/baselines/baselines_rivals.h"

#include <math.h>

/* ---- text ------------------------------------------------------------------------ */

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
        kiln_buf_printf(out, "%7s %-22s %s: %s%s%s\n", of, name,
                        kiln_rival_state_name(r->state), r->reason,
                        r->implementation != NULL ? "  " : "",
                        r->implementation != NULL ? r->implementation : "");
        return;
    }
    kiln_buf_printf(
        out, "%7s %-22s %10.4f %10.4f %10.4f %7zu %9zu %6.3f [%.3f, %.3f]%s%s%s%s\n",
        of, name, n->median_ms, n->q1_ms, n->q3_ms, r->sample.n, n->n_disturbed,
        n->ratio.estimate, n->ratio.low, n->ratio.high,
        r->implementation != NULL ? "  " : "",
        r->implementation != NULL ? r->implementation : "", r->file != NULL ? "  " : "",
        r->file != NULL ? r->file : "");
}

/* ---- as results ------------------------------------------------------------------ */

void kiln_samples_results(kiln_arena *a, const kiln_sample_list *s,
                          kiln_results_numbers *ms,
                          kiln_results_numbers *disturbed_at) {
    for (size_t i = 0; i < s->n; i++) {
        kiln_vec_push(a, ms, s->v[i].ms);
        if (s->v[i].is_disturbed)
            kiln_vec_push(a, disturbed_at, (double)i);
    }
}

kiln_results_baselines kiln_rivals_results(kiln_arena *a, const kiln_rival_list *list,
                                           bool are_operators) {
    const double unknown = (double)NAN;
    kiln_results_baselines all = {.n = 0};
    for (size_t i = 0; i < list->n; i++) {
        const kiln_rival *r = &list->v[i];
        const kiln_rival_numbers *n = &r->number; /* zeroed unless it was measured */
        kiln_results_baseline b = {
            .name = r->baseline->name,
            .version = r->version,
            .state = kiln_rival_state_name(r->state),
            .problem = r->reason != NULL && r->reason[0] != '\0' ? r->reason : NULL,
            .implementation = r->implementation,
            .file = r->file,
            .median_ms = n->median_ms,
            .q1_ms = n->q1_ms,
            .q3_ms = n->q3_ms,
            .min_ms = n->min_ms,
            .runs = n->runs,
            .n_disturbed = n->n_disturbed,
            .ratio = n->ratio,
            .max_abs_error = r->max_abs,
            .rms_error = are_operators ? unknown : r->error,
            .error_of_bound = are_operators ? r->error : unknown};
        kiln_samples_results(a, &r->sample, &b.sample_ms, &b.disturbed_at);
        kiln_vec_push(a, &all, b);
    }
    return all;
}
