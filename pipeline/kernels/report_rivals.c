/* What `kiln bench --ops` says of vendor libraries. */
#include "pipeline/kernels/kernels_internal.h"

/* ---- text --------------------------------------------------------------------------
 */

static void put_row(kiln_buf *out, const char *op, const kiln_op_rival *r) {
    const char *name = r->baseline->name;
    if (r->state != KILN_RIVAL_MEASURED) {
        kiln_buf_printf(out, "%-6s %-10s %s: %s\n", op, name,
                        kiln_rival_state_name(r->state), r->reason);
        return;
    }
    kiln_buf_printf(
        out, "%-6s %-10s %9.4f %9.4f %9.4f %7zu %9zu %6.3f [%.3f, %.3f]  %s\n", op,
        name, r->number.median_ms, r->number.q1_ms, r->number.q3_ms, r->sample.n,
        r->number.n_disturbed, r->number.ratio.estimate, r->number.ratio.low,
        r->number.ratio.high, r->implementation != NULL ? r->implementation : "");
}

static void put_standing(kiln_buf *out, const kiln_op_standing *s) {
    kiln_buf_printf(out, "%s%s%s: %zu measured", s->baseline->name,
                    s->version != NULL ? " " : "", s->version != NULL ? s->version : "",
                    s->n_measured);
    if (s->n_measured > 0)
        kiln_buf_printf(out, ", geometric mean of kiln / it %.3f [%.3f, %.3f]",
                        s->ratio.estimate, s->ratio.low, s->ratio.high);
    kiln_buf_puts(out, "\n");
}

void kiln_op_rivals_text(kiln_buf *out, const kiln_bench *b) {
    if (b->standing.n == 0)
        return;
    kiln_buf_printf(out, "\n%-6s %-10s %9s %9s %9s %7s %9s %s\n", "op", "baseline",
                    "median ms", "q1 ms", "q3 ms", "samples", "disturbed",
                    "kiln / it [95%]");
    for (size_t i = 0; i < b->row.n; i++)
        for (size_t k = 0; k < b->row.v[i].rival.n; k++)
            put_row(out, b->row.v[i].name, &b->row.v[i].rival.v[k]);
    kiln_buf_puts(out, "\n");
    for (size_t i = 0; i < b->standing.n; i++)
        put_standing(out, &b->standing.v[i]);
}

/* ---- JSON --------------------------------------------------------------------------
 */

static void put_samples(kiln_json_writer *w, const kiln_op_samples *s) {
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

static void put_ratio(kiln_json_writer *w, const kiln_stats_interval *r) {
    kiln_json_name(w, "ratio");
    kiln_json_begin_object(w);
    kiln_json_member_f64(w, "kiln_over_baseline", r->estimate);
    kiln_json_member_f64(w, "low", r->low);
    kiln_json_member_f64(w, "high", r->high);
    kiln_json_end_object(w);
}

void kiln_rival_numbers_put(kiln_json_writer *w, const kiln_rival_numbers *n) {
    kiln_json_member_i64(w, "runs_of_a_sample", n->runs);
    kiln_json_member_i64(w, "disturbed_samples", (int64_t)n->n_disturbed);
    kiln_json_member_f64(w, "median_ms", n->median_ms);
    kiln_json_member_f64(w, "q1_ms", n->q1_ms);
    kiln_json_member_f64(w, "q3_ms", n->q3_ms);
    kiln_json_member_f64(w, "min_ms", n->min_ms);
    put_ratio(w, &n->ratio);
}

static void put_rival(kiln_json_writer *w, const kiln_op_rival *r) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "name", r->baseline->name);
    kiln_json_member_str(w, "version", r->version);
    kiln_json_member_str(w, "state", kiln_rival_state_name(r->state));
    kiln_json_member_str(w, "problem", r->reason);
    kiln_json_member_str(w, "implementation", r->implementation);
    kiln_json_member_f64(w, "max_abs_error", r->verdict.max_abs);
    kiln_json_member_f64(w, "worst_error_of_bound", r->verdict.worst);
    if (r->state == KILN_RIVAL_MEASURED)
        kiln_rival_numbers_put(w, &r->number);
    put_samples(w, &r->sample);
    kiln_json_end_object(w);
}

void kiln_op_rivals_put(kiln_json_writer *w, const kiln_bench_row *row) {
    kiln_json_name(w, "baselines");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < row->rival.n; i++)
        put_rival(w, &row->rival.v[i]);
    kiln_json_end_array(w);
    put_samples(w, &row->sample);
}

void kiln_op_standings_put(kiln_json_writer *w, const kiln_bench *b) {
    kiln_json_name(w, "baselines");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < b->standing.n; i++) {
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "name", b->standing.v[i].baseline->name);
        kiln_json_member_str(w, "version", b->standing.v[i].version);
        kiln_json_member_i64(w, "measured", (int64_t)b->standing.v[i].n_measured);
        if (b->standing.v[i].n_measured > 0)
            put_ratio(w, &b->standing.v[i].ratio);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}
