/* What a bench says of steps: each of them, slowest first, and what they add up to by
 * where their configurations are from. */
#include "pipeline/bench/bench_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

double kiln_step_gflops(const kiln_subject_step *step, double ms) {
    return ms > 0 ? (double)step->cost.flops * 1e-6 / ms : 0;
}

/* ---- coverage -------------------------------------------------------------------- */

static kiln_results_coverage *coverage_of(kiln_arena *a, kiln_results_coverages *all,
                                          const char *origin) {
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->v[i].origin, origin) == 0)
            return &all->v[i];
    const kiln_results_coverage row = {.origin = origin};
    kiln_vec_push(a, all, row);
    return &all->v[all->n - 1];
}

static int slowest_origin_first(const void *x, const void *y) {
    const kiln_results_coverage *a = x, *b = y;
    if (a->ms != b->ms)
        return a->ms > b->ms ? -1 : 1;
    return strcmp(a->origin, b->origin);
}

kiln_results_coverages kiln_steps_coverage(kiln_arena *a, const kiln_subject *s,
                                           const double *step_ms) {
    kiln_results_coverages all = {.n = 0};
    for (int i = 0; i < s->n_steps; i++) {
        const kiln_subject_step *step = &s->step[i];
        kiln_results_coverage *row =
            coverage_of(a, &all, step->origin != NULL ? step->origin : "copy");
        row->steps++;
        row->multiply_adds += step->cost.muladds;
        row->ms += step_ms[i];
    }
    if (all.n > 1)
        qsort(all.v, all.n, sizeof *all.v, slowest_origin_first);
    return all;
}

/* ---- text ------------------------------------------------------------------------ */

typedef struct slow {
    double ms;
    int step;
} slow;

static int slowest_first(const void *x, const void *y) {
    const slow *a = x, *b = y;
    if (a->ms != b->ms)
        return a->ms > b->ms ? -1 : 1;
    return a->step - b->step;
}

/* Packages are untrusted, and terminals obey what they are sent. */
static const char *shown(kiln_arena *a, const char *text, size_t most) {
    return text == NULL || text[0] == '\0'
               ? "-"
               : kiln_str_printable(a, kiln_str_from(text), most);
}

/* "NCHW>NCHW16c", or one where both are the same. */
static const char *layouts(kiln_arena *a, const kiln_subject_step *step) {
    if (step->layout_in == NULL || step->layout_out == NULL ||
        strcmp(step->layout_in, step->layout_out) == 0)
        return shown(a, step->layout_out, 16);
    return kiln_format(a, "%s>%s", shown(a, step->layout_in, 16),
                       shown(a, step->layout_out, 16));
}

static void put_step(kiln_buf *out, const kiln_subject_step *step, double ms,
                     double sum_ms, double peak_gflops) {
    kiln_arena *a = out->arena;
    const double gflops = kiln_step_gflops(step, ms);
    kiln_buf_printf(out, "%9.4f %6.1f %8.1f %6.1f  %-16s %-14s %-11s %-15s %-16s %s\n",
                    ms, sum_ms > 0 ? 100 * ms / sum_ms : 0, gflops,
                    peak_gflops > 0 ? 100 * gflops / peak_gflops : 0,
                    shown(a, step->op, 16), shown(a, step->tmpl, 32),
                    shown(a, step->origin, 32), layouts(a, step),
                    shown(a, step->epilogue, 48), shown(a, step->name, 512));
}

static void put_coverage(kiln_buf *out, const kiln_net_side *r, double sum_ms) {
    const kiln_results_coverages all =
        kiln_steps_coverage(out->arena, r->subject, r->step_ms);
    for (size_t i = 0; i < all.n; i++)
        kiln_buf_printf(out, "%s%.1f%% of it %s (%" PRId64 " step%s)",
                        i == 0 ? "time of the steps: " : ", ",
                        sum_ms > 0 ? 100 * all.v[i].ms / sum_ms : 0,
                        shown(out->arena, all.v[i].origin, 32), all.v[i].steps,
                        all.v[i].steps == 1 ? "" : "s");
    kiln_buf_puts(out, "\n");
}

void kiln_steps_text(kiln_buf *out, const kiln_net_side *r) {
    const kiln_subject *s = r->subject;
    slow *order = kiln_array(out->arena, slow, s->n_steps);
    double sum = 0;
    for (int i = 0; i < s->n_steps; i++) {
        order[i] = (slow){r->step_ms[i], i};
        sum += r->step_ms[i];
    }
    if (s->n_steps > 1)
        qsort(order, (size_t)s->n_steps, sizeof *order, slowest_first);
    kiln_buf_printf(out, "\nsteps at %d thread%s, slowest first\n", r->threads,
                    r->threads == 1 ? "" : "s");
    kiln_buf_printf(out, "%9s %6s %8s %6s  %-16s %-14s %-11s %-15s %-16s %s\n",
                    "median ms", "%time", "GFLOP/s", "%peak", "op", "template", "from",
                    "layout", "epilogue", "nodes");
    for (int i = 0; i < s->n_steps; i++)
        put_step(out, &s->step[order[i].step], order[i].ms, sum, r->peak.gflops);
    kiln_buf_printf(
        out,
        "the steps add up to %.4f ms, the runs that they were timed in took "
        "%.4f ms; without clocks at each step %.4f ms\n",
        sum, r->steps_run_ms, r->median_ms);
    put_coverage(out, r, sum);
}
