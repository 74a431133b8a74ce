/* winograd_weights: weights [O, I, 3, 3] packed for Winograd's algorithm, as the
 * conv_winograd template reads them: positions outermost, blocks of channels innermost.
 *
 *     for blocks of y's and x's channels, x's channel
 *         taps = G g                    in registers: a few vectors over y's channels
 *         for i, j                      all unrolled
 *             u[i][j][oc][ic][ic_b] = taps G^T, divided
 *
 * Each tap is read once, with a stride: lanes are channels of y, which lie furthest
 * apart in row-major weights. What is written are whole vectors, one of each position.
 */
#include "compiler/schedule/template/access.h"

#include "compiler/graph/winograd.h"
#include "compiler/schedule/template.h"

#include <string.h>

/* Physical axes: positions, then channels of y and x, then their blocks. */
enum { I, J, CHANNELS };

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    static const uint8_t order[] = {2, 3, 0, 1};
    (void)p;
    const kiln_layout *l = &w->anchor->out[0]->type.layout;
    return w->anchor->op == &kiln_op_identity && w->graph->nodes.n == 1 &&
           l->winograd != 0 && l->n_order == 4 &&
           memcmp(l->order, order, sizeof order) == 0 && l->n_blocks > 0 &&
           w->anchor->in[0]->type.layout.winograd == 0;
}

static kiln_status space(const kiln_workload *w, const kiln_profile *p, kiln_space *s,
                         kiln_err *err) {
    static const char *const words[] = {"off", "on"};
    (void)w;
    (void)err;
    kiln_space_add_words(s, "parallel", "do outer loops run on several threads", words,
                         p->cores > 1 ? 2 : 1);
    return KILN_OK;
}

/* Whoever opens a model has no threads for it. */
static kiln_config guess(const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s) {
    const kiln_config c = {.n = s->n};
    (void)w;
    (void)p;
    return c;
}

/* Loops of the output: channels around positions around the last block's lanes. */
static kiln_status schedule_weights(kiln_stage *u, bool is_parallel, kiln_iter **at,
                                    kiln_err *err) {
    kiln_iter *order[KILN_MAX_AXES];
    const int rank = u->te->rank, lane = rank - 1;
    int n = 0;
    for (int axis = CHANNELS; axis < lane; axis++)
        order[n++] = kiln_stage_axis(u, axis);
    *at = order[n - 1];
    order[n++] = kiln_stage_axis(u, I);
    order[n++] = kiln_stage_axis(u, J);
    order[n++] = kiln_stage_axis(u, lane);
    KILN_TRY(kiln_reorder(u, order, (size_t)n, err));
    KILN_TRY(kiln_unroll(u, kiln_stage_axis(u, I), err));
    KILN_TRY(kiln_unroll(u, kiln_stage_axis(u, J), err));
    KILN_TRY(kiln_vectorize(u, kiln_stage_axis(u, lane), err));
    return is_parallel ? kiln_parallel(u, order[0], err) : KILN_OK;
}

static kiln_status schedule_taps(kiln_stage *taps, kiln_stage *u, kiln_iter *at,
                                 kiln_err *err) {
    KILN_TRY(kiln_compute_at(taps, u, at, err));
    KILN_TRY(kiln_set_scope(taps, KILN_SCOPE_LOCAL, err));
    KILN_TRY(kiln_unroll(taps, kiln_stage_axis(taps, I), err));
    KILN_TRY(kiln_unroll(taps, kiln_stage_axis(taps, J), err));
    return kiln_vectorize(taps, kiln_stage_axis(taps, taps->te->rank - 1), err);
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s, const kiln_config *c, kiln_scheduled *out,
                         kiln_err *err) {
    kiln_scheduled made = {.te = {.n_args = 0}};
    kiln_stage *taps = NULL, *u = NULL;
    kiln_iter *at = NULL;
    (void)p;
    KILN_TRY(kiln_graph_compute(a, w->graph, NULL, true, &made.te, err));
    made.schedule = kiln_schedule_new(a, made.te.arg + made.te.n_inputs,
                                      made.te.n_args - made.te.n_inputs);
    for (size_t i = 0; i < made.schedule->stage.n; i++) {
        kiln_stage *st = made.schedule->stage.v[i];
        if (st->is_output)
            u = st;
        else if (strcmp(st->te->tag, "winograd.taps") == 0)
            taps = st;
    }
    KILN_ASSERT(taps != NULL && u != NULL, "'%s' transforms nothing", w->graph->name);
    KILN_TRY(schedule_weights(u, kiln_config_is(s, c, 0, "on"), &at, err));
    KILN_TRY(schedule_taps(taps, u, at, err));
    *out = made;
    return KILN_OK;
}

const kiln_template kiln_template_winograd_weights = {
    .name = "winograd_weights",
    .doc = "weights packed for conv_winograd",
    .takes = KILN_TAKES_ANY,
    .fits = fits,
    .space = space,
    .guess = guess,
    .apply = apply,
};
