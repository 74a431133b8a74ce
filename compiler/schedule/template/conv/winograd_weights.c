/* Weights [O, I, h, w] in f32 packed for Winograd's algorithm in tiles of m outputs along
 * each axis of more than one tap: the packings winograd_M, and winograd_M_by_2 of
 * convolutions in steps of two, say what conv_winograd reads, and the template
 * winograd_weights makes the program of each.
 *
 *     u[O, I, n_h, n_w] = G g G^T     of taps g (compiler/graph/winograd.h), n of F(m, h)
 *                                     and of F(m, w)
 *
 * in double: columns of g by rows of G, sums from the left, the same of rows, the
 * division last, rounded once. The same bits on any machine, but for NaN's. Stages:
 *
 *     "winograd.taps"  G g, times the divisors of its rows
 *     the output       (G g) G^T, divided
 *
 * The program, of positions outermost, blocks of channels innermost:
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
#include "base/fault.h"

#include "compiler/schedule/template/conv/conv_winograd.h"

#include <string.h>

/* ---- what is computed ------------------------------------------------------------ */

static const struct {
    const kiln_op_def *packing;
    int64_t size, stride;
} packings[] = {{&kiln_packing_winograd_2, 2, 1},
                {&kiln_packing_winograd_4, 4, 1},
                {&kiln_packing_winograd_2_by_2, 2, 2},
                {&kiln_packing_winograd_3_by_2, 3, 2}};
enum { N_PACKINGS = sizeof packings / sizeof packings[0] };

const kiln_op_def *kiln_winograd_packing(int64_t size, int64_t stride) {
    for (int i = 0; i < N_PACKINGS; i++)
        if (packings[i].size == size && packings[i].stride == stride)
            return packings[i].packing;
    return NULL;
}

static int row_of(const kiln_op_def *packing) {
    int i = 0;
    while (i < N_PACKINGS && packings[i].packing != packing)
        i++;
    return i;
}

static bool find_matrices(const kiln_node *n, kiln_winograd_pair *by) {
    const int i = row_of(n->op);
    return i < N_PACKINGS &&
           kiln_winograd_pair_of(packings[i].size, n->in[0]->type.dim + 2,
                                 packings[i].stride, by);
}

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *g = &n->in[0]->type;
    kiln_winograd_pair by;
    if (g->dtype != KILN_F32 || g->rank != 4 || !find_matrices(n, &by))
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "only f32 weights [O, I, h, w] of windows such as 3 x 3 are "
                         "packed for Winograd's algorithm");
    out[0] = kiln_type_make(KILN_F32, 4,
                            (int64_t[]){g->dim[0], g->dim[1], by.f[0]->n, by.f[1]->n});
    return KILN_OK;
}

static void cost(const kiln_node *n, kiln_cost *c) {
    (void)n;
    *c = (kiln_cost){0}; /* nobody waits for it */
}

static const kiln_expr *number(kiln_arena *a, double v) {
    return kiln_x_number(a, KILN_F64, v);
}

/* Row i of G times its divisor, and x: all terms, from the left. */
static const kiln_expr *row_of_g(kiln_arena *a, const kiln_winograd *f,
                                 const kiln_expr *i, const kiln_expr *const *x) {
    const kiln_expr *factor[KILN_WINOGRAD_MAX_N], *sum = NULL;
    for (int k = 0; k < f->taps; k++) {
        for (int row = 0; row < f->n; row++)
            factor[row] = number(a, f->g[row][k]);
        const kiln_expr *term = kiln_x_mul(a, x[k], kiln_x_choose(a, i, factor, f->n));
        sum = sum == NULL ? term : kiln_x_add(a, sum, term);
    }
    return sum;
}

static const kiln_expr *divisor_of(kiln_arena *a, const kiln_winograd *f,
                                   const kiln_expr *i) {
    const kiln_expr *divisor[KILN_WINOGRAD_MAX_N];
    for (int row = 0; row < f->n; row++)
        divisor[row] =
            number(a, f->divisor[row] + (row == 1 && KILN_FAULT(winograd_taps)));
    return kiln_x_choose(a, i, divisor, f->n);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_type *u = &cx->out[0].type;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    const kiln_expr *x[KILN_WINOGRAD_MAX_TAPS];
    kiln_winograd_pair by;
    const bool is_one = find_matrices(n, &by);
    KILN_ASSERT(is_one, "'%s' has no such windows", n->name);
    const kiln_winograd *rows = by.f[0], *columns = by.f[1];
    kiln_te_value half;
    kiln_type t = *u;
    t.dtype = KILN_F64;
    t.dim[3] = columns->taps;
    kiln_te *te = kiln_compute_begin(cx, "taps", &t, index);
    te->tag = "winograd.taps";
    memcpy(at, index, sizeof at);
    for (int r = 0; r < rows->taps; r++) {
        at[2] = kiln_x_index(a, r);
        x[r] = kiln_x_cast(a, KILN_F64, kiln_compute_read(cx, 0, at));
    }
    KILN_TRY(kiln_compute_inner(cx, te, &t, row_of_g(a, rows, index[2], x), &half));
    te = kiln_compute_begin(cx, "", u, index);
    memcpy(at, index, sizeof at);
    for (int s = 0; s < columns->taps; s++) {
        at[3] = kiln_x_index(a, s);
        x[s] = kiln_compute_read_value(cx, &half, at);
    }
    const kiln_expr *divisor =
        kiln_x_mul(a, divisor_of(a, rows, index[2]), divisor_of(a, columns, index[3]));
    return kiln_compute_end(cx, 0, te,
                            kiln_x_div(a, row_of_g(a, columns, index[3], x), divisor));
}

static const char *const in_names[] = {"g", NULL};

/* No model has it, so nothing evaluates it but its program. */
#define FOR_WINOGRAD                                                                   \
    .n_in_min = 1, .n_in_max = 1, .in_names = in_names, .dtypes = KILN_DT(KILN_F32),   \
    .fuse = KILN_FUSE_INJECTIVE, .layout = KILN_LAYOUT_OBLIVIOUS, .infer = infer,      \
    .cost = cost, .compute = compute

const kiln_op_def kiln_packing_winograd_2 = {
    FOR_WINOGRAD,
    .name = "winograd_2",
    .doc = "weights for Winograd's algorithm, tiles of 2",
};
const kiln_op_def kiln_packing_winograd_4 = {
    FOR_WINOGRAD,
    .name = "winograd_4",
    .doc = "weights for Winograd's algorithm, tiles of 4",
};
const kiln_op_def kiln_packing_winograd_2_by_2 = {
    FOR_WINOGRAD,
    .name = "winograd_2_by_2",
    .doc = "weights for Winograd's algorithm in steps of two, tiles of 2",
};
const kiln_op_def kiln_packing_winograd_3_by_2 = {
    FOR_WINOGRAD,
    .name = "winograd_3_by_2",
    .doc = "weights for Winograd's algorithm in steps of two, tiles of 3",
};

/* ---- its program ----------------------------------------------------------------- */

/* Physical axes: positions, then channels of y and x, then their blocks. */
enum { I, J, CHANNELS };

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    static const uint8_t order[] = {2, 3, 0, 1};
    (void)p;
    const kiln_layout *l = &w->anchor->out[0]->type.layout;
    return row_of(w->anchor->op) < N_PACKINGS && w->graph->nodes.n == 1 &&
           l->n_order == 4 && memcmp(l->order, order, sizeof order) == 0 &&
           l->n_blocks > 0;
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
