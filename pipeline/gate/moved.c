/* Which steps moved: each is timed in a few fresh processes of both sides, in turns.
 *
 * Processes of both sides are pairs, as the gate's own: what drifts between pairs
 * drifts for both. A step stands out where the exact interval of its differences'
 * centre is on one side of zero; the others' differences are chance, alone. Together
 * they need not be: so what all steps add up to is said beside them. */
#include "pipeline/gate/gate_internal.h"
#include "base/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MOVED = 50 };
/* Of nine pairs all must differ in the same direction, or all but the smallest one: two
 * steps of 250 do so by chance. */
static const double chance = 0.008;

/* ---- what times say -------------------------------------------------------------- */

static double median_of(kiln_arena *a, const kiln_results_moved_times *t, size_t step) {
    double v[KILN_GATE_STEP_PROCESSES];
    for (size_t i = 0; i < KILN_GATE_STEP_PROCESSES; i++)
        v[i] = t->ms[i][step];
    return kiln_stats_median(a, v, KILN_GATE_STEP_PROCESSES);
}

static kiln_stats_interval change_of(kiln_arena *a, const kiln_results_moved_times *x,
                                     size_t of_x, const kiln_results_moved_times *y,
                                     size_t of_y) {
    double d[KILN_GATE_STEP_PROCESSES];
    for (size_t i = 0; i < KILN_GATE_STEP_PROCESSES; i++)
        d[i] = x->ms[i][of_x] - y->ms[i][of_y];
    return kiln_stats_centre(a, d, KILN_GATE_STEP_PROCESSES, chance);
}

static int slower_first(const void *x, const void *y) {
    const kiln_results_moved *p = x, *q = y;
    return (p->difference_ms < q->difference_ms) -
           (p->difference_ms > q->difference_ms);
}

/* What the steps add up to, and the largest part of it that does not stand out. */
typedef struct sums {
    size_t n;
    double total_ms, largest_ms;
    const char *largest; /* NULL: all stand out */
} sums;

static void add(kiln_arena *a, kiln_gate_result *out, const kiln_device_step *step,
                double candidate_ms, double control_ms, double difference_ms) {
    const kiln_results_moved moved = {
        .name = kiln_str_dup(a, step->name), /* the package is closed before */
        .op = kiln_str_dup(a, step->op),
        .candidate_ms = candidate_ms,
        .control_ms = control_ms,
        .difference_ms = difference_ms};
    kiln_vec_push(a, &out->moved, moved);
}

/* By name; names that come again, in their order. */
static void map_steps(kiln_arena *a, const kiln_results_moved_times *t,
                      kiln_numbers *out) {
    for (size_t i = 0; i < t->n_steps; i++) {
        const char *key = t->step[i].name;
        for (int k = 2; kiln_numbers_get(out, kiln_str_from(key)) != 0; k++)
            key = kiln_format(a, "%s#%d", t->step[i].name, k);
        kiln_numbers_set(a, out, kiln_str_from(key), i + 1);
    }
}

static void take_step(kiln_arena *a, const kiln_results_moved_times *candidate,
                      size_t i, const kiln_results_moved_times *control, size_t old,
                      sums *all, kiln_gate_result *out) {
    const kiln_device_step *step = &candidate->step[i];
    const double x = median_of(a, candidate, i);
    all->n++;
    if (old == 0) {
        all->total_ms += x;
        add(a, out, step, x, (double)NAN, x);
        return;
    }
    const kiln_stats_interval c = change_of(a, candidate, i, control, old - 1);
    all->total_ms += c.estimate;
    if (c.low > 0 || c.high < 0) {
        add(a, out, step, x, median_of(a, control, old - 1), c.estimate);
    } else if (all->largest == NULL || fabs(c.estimate) > fabs(all->largest_ms)) {
        all->largest = step->name;
        all->largest_ms = c.estimate;
    }
}

static const char *sentence(kiln_arena *a, const kiln_gate_result *r, const sums *all) {
    double slower_ms = 0, faster_ms = 0;
    size_t n_slower = 0;
    for (size_t i = 0; i < r->moved.n; i++) {
        const double d = r->moved.v[i].difference_ms;
        n_slower += d > 0;
        slower_ms += d > 0 ? d : 0;
        faster_ms += d < 0 ? d : 0;
    }
    const char *rest =
        all->largest == NULL
            ? ""
            : kiln_format(a, "; of the others the largest is %+.4f ms of '%s'",
                          all->largest_ms,
                          kiln_str_printable(a, kiln_str_from(all->largest), 64));
    const char *whole =
        kiln_format(a, "%zu steps together %+.4f ms", all->n, all->total_ms);
    if (n_slower == 0 && all->total_ms > 0)
        return kiln_format(a, "no step stands out as slower: %s%s", whole, rest);
    if (r->moved.n == 0)
        return kiln_format(a, "no step stands out: %s%s", whole, rest);
    return kiln_format(a, "%zu got slower, %+.4f ms, and %zu faster, %+.4f ms; %s%s",
                       n_slower, slower_ms, r->moved.n - n_slower, faster_ms, whole,
                       rest);
}

void kiln_gate_moved_of(kiln_arena *a, const kiln_results_moved_times *candidate,
                        const kiln_results_moved_times *control,
                        kiln_gate_result *out) {
    kiln_numbers before = {.map = {.slot = NULL}}, after = {.map = {.slot = NULL}};
    sums all = {.n = 0};
    map_steps(a, control, &before);
    map_steps(a, candidate, &after);
    for (size_t i = 0; i < candidate->n_steps; i++)
        take_step(a, candidate, i, control,
                  kiln_numbers_get(&before, after.map.entries.v[i].key), &all, out);
    for (size_t i = 0; i < control->n_steps; i++)
        if (kiln_numbers_get(&after, before.map.entries.v[i].key) == 0) {
            const double y = median_of(a, control, i);
            all.total_ms -= y;
            add(a, out, &control->step[i], (double)NAN, y, -y);
        }
    out->moved_says = sentence(a, out, &all);
    if (out->moved.n > 0)
        qsort(out->moved.v, out->moved.n, sizeof *out->moved.v, slower_first);
    if (out->moved.n > MAX_MOVED)
        out->moved.n = MAX_MOVED;
}

/* ---- taking them ----------------------------------------------------------------- */

static void add_kernels(kiln_arena *a, const kiln_package_facts *f,
                        kiln_gate_result *out) {
    for (size_t k = 0; k < f->n_kernels; k++)
        for (size_t i = 0; i < f->kernel[k].n_steps; i++)
            for (size_t m = 0; m < out->moved.n; m++)
                if (strcmp(out->moved.v[m].name, f->kernel[k].step[i]) == 0) {
                    out->moved.v[m].tmpl = kiln_str_dup(a, f->kernel[k].tmpl);
                    out->moved.v[m].origin = kiln_str_dup(a, f->kernel[k].origin);
                }
}

kiln_status kiln_gate_moved(kiln_arena *a, const kiln_gate_pair *p,
                            kiln_gate_result *out, kiln_err *err) {
    kiln_results_moved_times x = {.step = p->candidate->package.step,
                                  .n_steps = p->candidate->package.n_steps};
    kiln_results_moved_times y = {.step = p->control->package.step,
                                  .n_steps = p->control->package.n_steps};
    for (int i = 0; i < KILN_GATE_STEP_PROCESSES; i++) {
        KILN_TRY(kiln_interrupt_check(err));
        kiln_progress_step("timing each step", "processes", 2 * i,
                           2 * KILN_GATE_STEP_PROCESSES, NULL);
        if (i % 2 == 0)
            KILN_TRY(kiln_gate_pair_steps(a, p, KILN_GATE_CANDIDATE, &x.ms[i], err));
        KILN_TRY(kiln_gate_pair_steps(a, p, KILN_GATE_CONTROL, &y.ms[i], err));
        if (i % 2 != 0) /* whoever comes first is treated alike */
            KILN_TRY(kiln_gate_pair_steps(a, p, KILN_GATE_CANDIDATE, &x.ms[i], err));
    }
    kiln_gate_moved_of(a, &x, &y, out);
    add_kernels(a, &p->candidate->facts, out);
    return KILN_OK;
}
