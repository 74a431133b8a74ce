/* Which steps moved: each is timed in a few fresh processes of both sides, in turns. */
#include "pipeline/gate/gate_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MOVED = 50 };

/* ---- what times say ----------------------------------------------------------------
 */

typedef struct range {
    double low, median, high;
} range;

static range range_of(kiln_arena *a, const kiln_gate_step_times *t, size_t step) {
    double v[KILN_GATE_STEP_PROCESSES];
    for (size_t i = 0; i < KILN_GATE_STEP_PROCESSES; i++)
        v[i] = t->ms[i][step];
    return (range){kiln_stats_quantile(a, v, KILN_GATE_STEP_PROCESSES, 0),
                   kiln_stats_median(a, v, KILN_GATE_STEP_PROCESSES),
                   kiln_stats_quantile(a, v, KILN_GATE_STEP_PROCESSES, 1)};
}

/* Further apart than either side's processes among themselves: of five against five
 * that happens by chance once in 126 steps. */
static bool is_apart(const range *x, const range *y) {
    return x->low > y->high || x->high < y->low;
}

static int slower_first(const void *x, const void *y) {
    const kiln_gate_step *p = x, *q = y;
    return (p->difference_ms < q->difference_ms) -
           (p->difference_ms > q->difference_ms);
}

static void add(kiln_arena *a, kiln_gate_result *out, const kiln_device_step *step,
                double candidate_ms, double control_ms) {
    const kiln_gate_step moved = {
        .name = kiln_str_dup(a, step->name), /* the package is closed before */
        .op = kiln_str_dup(a, step->op),
        .candidate_ms = candidate_ms,
        .control_ms = control_ms,
        .difference_ms = (isnan(candidate_ms) ? 0 : candidate_ms) -
                         (isnan(control_ms) ? 0 : control_ms)};
    kiln_vec_push(a, &out->moved, moved);
}

/* By name; names that come again, in their order. */
static void map_steps(kiln_arena *a, const kiln_gate_step_times *t, kiln_map *out) {
    for (size_t i = 0; i < t->n_steps; i++) {
        const char *key = t->step[i].name;
        for (int k = 2; kiln_map_has(out, kiln_str_from(key)); k++)
            key = kiln_format(a, "%s#%d", t->step[i].name, k);
        kiln_map_set(a, out, kiln_str_from(key), (void *)(uintptr_t)(i + 1));
    }
}

void kiln_gate_moved_of(kiln_arena *a, const kiln_gate_step_times *candidate,
                        const kiln_gate_step_times *control, kiln_gate_result *out) {
    kiln_map before = {.slot = NULL}, after = {.slot = NULL};
    map_steps(a, control, &before);
    map_steps(a, candidate, &after);
    for (size_t i = 0; i < candidate->n_steps; i++) {
        const kiln_str key = after.entries.v[i].key;
        const uintptr_t old = (uintptr_t)kiln_map_get(&before, key);
        const range x = range_of(a, candidate, i);
        if (old == 0) {
            add(a, out, &candidate->step[i], x.median, (double)NAN);
            continue;
        }
        const range y = range_of(a, control, old - 1);
        if (is_apart(&x, &y))
            add(a, out, &candidate->step[i], x.median, y.median);
    }
    for (size_t i = 0; i < control->n_steps; i++)
        if (!kiln_map_has(&after, before.entries.v[i].key))
            add(a, out, &control->step[i], (double)NAN, range_of(a, control, i).median);
    if (out->moved.n > 0)
        qsort(out->moved.v, out->moved.n, sizeof *out->moved.v, slower_first);
    if (out->moved.n > MAX_MOVED)
        out->moved.n = MAX_MOVED;
}

/* ---- taking them -------------------------------------------------------------------
 */

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
    kiln_gate_step_times x = {.step = p->candidate->package.step,
                              .n_steps = p->candidate->package.n_steps};
    kiln_gate_step_times y = {.step = p->control->package.step,
                              .n_steps = p->control->package.n_steps};
    for (int i = 0; i < KILN_GATE_STEP_PROCESSES; i++) {
        KILN_TRY(kiln_interrupt_check(err));
        KILN_TRY(kiln_gate_pair_steps(a, p, KILN_GATE_CANDIDATE, &x.ms[i], err));
        KILN_TRY(kiln_gate_pair_steps(a, p, KILN_GATE_CONTROL, &y.ms[i], err));
    }
    kiln_gate_moved_of(a, &x, &y, out);
    add_kernels(a, &p->candidate->facts, out);
    return KILN_OK;
}
