/* What a run found, for people and programs. */
#include <inttypes.h>

#include "pipeline/tune/tune_internal.h"

static void put_row(kiln_buf *out, const kiln_tune_row *r) {
    kiln_buf_printf(out, "%-24.24s %5.0f %6" PRId64 " %6" PRId64 " ", r->name, r->calls,
                    r->n_known, r->n_new);
    if (r->best_ns <= 0) {
        kiln_buf_puts(out, "         none of them works\n");
        return;
    }
    if (r->start_ns > 0)
        kiln_buf_printf(out, "%10.1f %10.1f %7.2f", r->start_ns * 1e-3,
                        r->best_ns * 1e-3, r->start_ns / r->best_ns);
    else
        kiln_buf_printf(out, "%10s %10.1f %7s", "-", r->best_ns * 1e-3, "-");
    if (r->best_share > 0)
        kiln_buf_printf(out, " %5.1f%%", r->best_share * 100);
    kiln_buf_puts(out, "\n");
}

static void put_settled(kiln_buf *out, const kiln_tune_settled *s) {
    if (s->is_cut)
        kiln_buf_puts(out, "in the network: no time was left to compare the best; the "
                           "same command does that\n");
    else if (s->n_works > 0)
        kiln_buf_printf(out,
                        "in the network: %.3f ms with the best alone, %.3f ms as "
                        "chosen; %d of %d kernels change\n",
                        s->alone_ns * 1e-6, s->chosen_ns * 1e-6, s->n_changed,
                        s->n_works);
}

/* How many began with a ready record, and what became of it. */
static void put_ready(kiln_buf *out, const kiln_tune_result *r) {
    size_t n = 0, n_faster = 0;
    for (size_t i = 0; i < r->row.n; i++) {
        const kiln_tune_row *x = &r->row.v[i];
        n += x->is_from_ready;
        n_faster += x->is_from_ready && x->best_ns > 0 && x->best_ns < x->start_ns;
    }
    if (n > 0)
        kiln_buf_printf(out,
                        "%zu of %zu kernels began with a ready record; something "
                        "faster is known now for %zu\n",
                        n, r->row.n, n_faster);
}

void kiln_tune_text(kiln_buf *out, const kiln_tune_result *r,
                    const kiln_tune_settled *settled) {
    kiln_buf_printf(out, "%-24s %5s %6s %6s %10s %10s %7s %6s\n", "work", "calls",
                    "known", "new", "start us", "best us", "faster", "peak");
    for (size_t i = 0; i < r->row.n; i++)
        put_row(out, &r->row.v[i]);
    kiln_buf_printf(out, "\n%-24s %5s %6s %6" PRId64 " %10.1f %10.1f %7.2f\n", "all",
                    "", "", r->n_new, r->start_ns * 1e-3, r->best_ns * 1e-3,
                    r->best_ns > 0 ? r->start_ns / r->best_ns : 0);
    kiln_buf_printf(out, "%" PRId64 " trials in %.1f s (%.1f a second), ended by %s\n",
                    r->n_new, r->seconds,
                    r->seconds > 0 ? (double)r->n_new / r->seconds : 0,
                    r->is_interrupted ? "an interrupt" : kiln_task_end_name(r->end));
    put_ready(out, r);
    if (r->n_slices > 0)
        kiln_buf_printf(out, "%.1f%% of %" PRIu64 " slices were disturbed\n",
                        100 * (double)r->n_disturbed / (double)r->n_slices,
                        r->n_slices);
    if (r->n_again > 0)
        kiln_buf_printf(out,
                        "%" PRId64 " noisy ones that seemed best were measured "
                        "again\n",
                        r->n_again);
    if (r->n_unbelieved > 0)
        kiln_buf_printf(out,
                        "%" PRId64 " records were not used: no machine is as fast as "
                        "they say\n",
                        r->n_unbelieved);
    for (int e = 0; e < KILN_N_TRIAL_ERRORS; e++)
        if (r->by_error[e] > 0)
            kiln_buf_printf(out, "  %-16s %6" PRId64 "\n",
                            kiln_trial_error_name((kiln_trial_error)e), r->by_error[e]);
    if (settled != NULL)
        put_settled(out, settled);
}

static void put_row_json(kiln_json_writer *w, const kiln_tune_row *r) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "name", r->name);
    kiln_json_member_str(w, "workload", r->key);
    kiln_json_member_str(w, "template", r->tmpl);
    kiln_json_member_f64(w, "calls", r->calls);
    /* A number may be past 2^53. */
    kiln_json_member_f64(w, "configurations", (double)r->n_configs);
    kiln_json_member_i64(w, "known_trials", r->n_known);
    kiln_json_member_i64(w, "new_trials", r->n_new);
    kiln_json_member_bool(w, "starts_from_ready", r->is_from_ready);
    kiln_json_member_f64(w, "start_ns", r->start_ns);
    kiln_json_member_f64(w, "best_ns", r->best_ns);
    kiln_json_member_f64(w, "best_share_of_peak", r->best_share);
    kiln_json_member_str(w, "best", r->best);
    kiln_json_end_object(w);
}

/* Rows, one a line. */
static void put_curve(kiln_json_writer *w, const kiln_tune_curve *c) {
    kiln_json_name(w, "curve");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < c->n; i++) {
        kiln_json_begin_row(w);
        kiln_json_put_i64(w, c->v[i].trial);
        kiln_json_put_f64(w, c->v[i].ns);
        kiln_json_end_array(w);
    }
    kiln_json_end_array(w);
}

void kiln_tune_json(kiln_buf *out, const kiln_tune_result *r,
                    const kiln_tune_settled *settled) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_object(&w);
    kiln_json_member_i64(&w, "new_trials", r->n_new);
    kiln_json_member_i64(&w, "measured_again", r->n_again);
    kiln_json_member_i64(&w, "unbelieved_records", r->n_unbelieved);
    kiln_json_member_i64(&w, "slices", (int64_t)r->n_slices);
    kiln_json_member_i64(&w, "disturbed_slices", (int64_t)r->n_disturbed);
    kiln_json_member_f64(&w, "seconds", r->seconds);
    kiln_json_member_f64(&w, "start_ns", r->start_ns);
    kiln_json_member_f64(&w, "best_ns", r->best_ns);
    kiln_json_member_str(&w, "end", kiln_task_end_name(r->end));
    kiln_json_member_bool(&w, "interrupted", r->is_interrupted);
    kiln_json_name(&w, "trials");
    kiln_json_begin_object(&w);
    for (int e = 0; e < KILN_N_TRIAL_ERRORS; e++)
        if (r->by_error[e] > 0)
            kiln_json_member_i64(&w, kiln_trial_error_name((kiln_trial_error)e),
                                 r->by_error[e]);
    kiln_json_end_object(&w);
    kiln_json_name(&w, "works");
    kiln_json_begin_array(&w);
    for (size_t i = 0; i < r->row.n; i++)
        put_row_json(&w, &r->row.v[i]);
    kiln_json_end_array(&w);
    put_curve(&w, &r->curve);
    if (settled != NULL && (settled->n_works > 0 || settled->is_cut)) {
        kiln_json_name(&w, "in_network");
        kiln_json_begin_object(&w);
        kiln_json_member_bool(&w, "cut", settled->is_cut);
        kiln_json_member_i64(&w, "works", settled->n_works);
        kiln_json_member_i64(&w, "changed", settled->n_changed);
        kiln_json_member_f64(&w, "alone_ns", settled->alone_ns);
        kiln_json_member_f64(&w, "chosen_ns", settled->chosen_ns);
        kiln_json_end_object(&w);
    }
    kiln_json_end_object(&w);
    kiln_buf_puts(out, "\n");
}
