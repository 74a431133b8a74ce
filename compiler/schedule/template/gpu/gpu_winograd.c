/* gpu_winograd: 3 x 3 convolution in steps of one by Winograd's F(m, 3) (Lavin and Gray,
 * CVPR'16), in three launches. Weights are transformed when they are packed.
 *
 *     v[i][j]    B^T d B        a thread a tile of one channel: d, padded, in registers
 *     m[i][j]    products       as gpu_conv's, of 1 x 1 windows: a batch of (m + 2)^2,
 *                               each with filters of its own
 *     y          A^T m A        a thread a tile, and what is fused behind
 *
 * Positions (i, j) lie outermost, tiles innermost: neighbouring threads read and write
 * neighbours. */
#include "compiler/schedule/template/gpu/gpu_conv.h"
#include "compiler/schedule/template/gpu/gpu_cycles.h"

#include "compiler/graph/winograd.h"
#include "compiler/schedule/template/blocked.h"

enum { SIZE = KILN_GPU_CONV_KNOBS, LEAST_CHANNELS = 4, TAPS = 3 };
static const int64_t sizes[] = {2, 4};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    const kiln_node *n = w->anchor;
    if (p->gpu.block_threads < 1 || n->op != &kiln_op_conv ||
        p->numerics == KILN_NUMERICS_STRICT || !kiln_ends_element_wise(w))
        return false;
    const kiln_type *x = &n->in[0]->type, *k = &n->in[1]->type;
    return x->dtype == KILN_F32 && x->rank == 4 && k->dim[2] == TAPS &&
           k->dim[3] == TAPS && k->dim[1] >= LEAST_CHANNELS &&
           k->dim[0] >= LEAST_CHANNELS && n->in[0]->def == NULL &&
           kiln_value_is_const(n->in[1]) && kiln_node_attr(n, "groups")->i == 1 &&
           kiln_attr_is_all(kiln_node_attr(n, "strides"), 1) &&
           kiln_attr_is_all(kiln_node_attr(n, "dilations"), 1) && kiln_gpu_takes(w, p);
}

/* ---- plans ----------------------------------------------------------------------- */

/* The products as a convolution of 1 x 1. */
static kiln_gpu_conv_problem products_of(const kiln_workload *w,
                                         const kiln_profile *prof, int64_t size) {
    kiln_gpu_conv_problem p = kiln_gpu_conv_problem_of(w, prof);
    p.filter_sets = (size + 2) * (size + 2);
    p.batch *= p.filter_sets;
    p.channels += 2;
    p.oh = kiln_ceil_div(p.oh, size);
    p.ow = p.iw = kiln_ceil_div(p.ow, size);
    p.elems = p.batch * p.o * p.oh * p.ow;
    p.taps = p.kernel[0] = p.kernel[1] = p.reach[0] = p.reach[1] = 1;
    p.is_packed = true;
    p.has_window = false;
    return p;
}

static kiln_status space(const kiln_workload *w, const kiln_profile *prof,
                         kiln_space *s, kiln_err *err) {
    const kiln_gpu_conv_problem p = products_of(w, prof, sizes[0]);
    (void)err;
    kiln_gpu_conv_knobs(&p, s);
    kiln_space_add_ints(s, "size", "rows and columns of a tile of outputs", sizes,
                        N_SIZES);
    return KILN_OK;
}

static int64_t size_of(const kiln_space *s, const kiln_config *c) {
    return kiln_config_int(s, c, SIZE, 0);
}

/* Of all three launches: what is transformed is written and read once. */
static double cycles(const kiln_gpu_conv_problem *p, const kiln_gpu_conv_plan *x) {
    const double v = (double)(p->batch * p->c * p->oh * p->ow * p->bytes);
    const double m = (double)(p->elems * p->bytes);
    return kiln_gpu_conv_cycles(p, x) + kiln_gpu_cycles_again(p->profile, v) +
           kiln_gpu_cycles_again(p->profile, m);
}

static kiln_config guess(const kiln_workload *w, const kiln_profile *prof,
                         const kiln_space *s) {
    kiln_config c = {.n = s->n};
    double least = 0;
    for (int i = 0; i < N_SIZES; i++) {
        const kiln_gpu_conv_problem p = products_of(w, prof, sizes[i]);
        const kiln_gpu_conv_plan x = kiln_gpu_conv_best(&p, s);
        const double n = cycles(&p, &x);
        if (i > 0 && n >= least)
            continue;
        least = n;
        c = kiln_gpu_conv_config(s, &x);
        kiln_config_set(s, &c, SIZE, &sizes[i]);
    }
    return c;
}

/* No device has been asked yet when it pays: records choose it, never the rule. */
static bool pays(const kiln_workload *w, const kiln_profile *prof) {
    (void)w;
    (void)prof;
    return false;
}

static kiln_winograd_pair pair_of(const kiln_space *s, const kiln_config *c) {
    static const int64_t taps[2] = {TAPS, TAPS};
    kiln_winograd_pair by;
    const bool is_one = kiln_winograd_pair_of(size_of(s, c), taps, 1, &by);
    KILN_ASSERT(is_one, "F(%d, 3)", (int)size_of(s, c));
    return by;
}

static double amplification(const kiln_workload *w, const kiln_space *s,
                            const kiln_config *c) {
    const kiln_winograd_pair by = pair_of(s, c);
    (void)w;
    return kiln_winograd_amplification(&by);
}

static double share(const kiln_workload *w, const kiln_space *s, const kiln_config *c) {
    const kiln_winograd_pair by = pair_of(s, c);
    (void)w;
    return kiln_winograd_share(&by);
}

/* ---- apply ----------------------------------------------------------------------- */

/* Weights by positions, then input channels, output channels innermost. */
static const kiln_layout *layouts_of(kiln_arena *a, const kiln_workload *w) {
    kiln_layout *layout = kiln_array(a, kiln_layout, w->graph->values.n);
    for (size_t i = 0; i < w->graph->values.n; i++)
        layout[i] = w->graph->values.v[i]->type.layout;
    layout[w->anchor->in[1]->id] = (kiln_layout){.n_order = 4, .order = {2, 3, 1, 0}};
    return layout;
}

static const kiln_op_def *const *packings_of(kiln_arena *a, const kiln_workload *w,
                                             int64_t size) {
    const kiln_op_def **packing =
        kiln_array(a, const kiln_op_def *, w->graph->values.n);
    packing[w->anchor->in[1]->id] =
        size == 2 ? &kiln_packing_winograd_2 : &kiln_packing_winograd_4;
    return packing;
}

/* Axes of y; of what is computed for tiles. */
enum { Y_C = 1, Y_H, Y_W };
enum { I, J, C = 3, ROW, COLUMN };

typedef struct nest {
    kiln_schedule *s;
    kiln_stage *y, *columns, *products, *v, *rows, *pad; /* pad: NULL: there is none */
    int64_t size, threads; /* of a block that transforms */
    kiln_err *err;
} nest;

static kiln_status find_stages(nest *k) {
    const kiln_tagged_stage named[] = {{"winograd.cols", &k->columns},
                                       {"winograd.sum", &k->products},
                                       {"winograd.x", &k->v},
                                       {"winograd.rows", &k->rows},
                                       {"pad", &k->pad}};
    return kiln_tagged_stages(k->s, named, sizeof named / sizeof named[0], &k->y,
                              k->err);
}

/* Threads of a block along channels, rows and columns of tiles: rows are whole as far as
 * they have room. */
static void deal(nest *k, const kiln_te *tiles, int64_t *threads) {
    const int64_t most = k->threads;
    const int64_t columns = kiln_te_dim(tiles, COLUMN), rows = kiln_te_dim(tiles, ROW);
    threads[2] = columns < most ? columns : most;
    threads[1] = rows < most / threads[2] ? rows : most / threads[2];
    threads[0] = most / (threads[1] * threads[2]);
}

/* A thread's own part of a stage, in registers. */
static kiln_status keep(nest *k, kiln_stage *st, kiln_stage *reader, kiln_iter *thread,
                        int first, int n) {
    KILN_TRY(kiln_compute_at(st, reader, thread, k->err));
    KILN_TRY(kiln_set_scope(st, KILN_SCOPE_LOCAL, k->err));
    for (int i = first; i < first + n; i++)
        KILN_TRY(kiln_unroll(st, kiln_stage_axis(st, i), k->err));
    return KILN_OK;
}

static kiln_status schedule_v(nest *k) {
    const int64_t n = k->size + TAPS - 1;
    int64_t threads[3];
    kiln_iter *thread;
    deal(k, k->v->te, threads);
    const kiln_gpu_tiles t = {.n = 5,
                              .axis = {{I, 1, n, 1, 0},
                                       {J, 1, n, 1, 0},
                                       {C, threads[0], 1, 1, 0},
                                       {ROW, threads[1], 1, 1, 0},
                                       {COLUMN, threads[2], 1, 1, 0}},
                              .lanes = 1};
    KILN_TRY(kiln_gpu_tiles_map(k->v, &t, &thread, k->err));
    KILN_TRY(keep(k, k->rows, k->v, thread, I, 2));
    return k->pad == NULL ? KILN_OK : keep(k, k->pad, k->v, thread, Y_H, 2);
}

static kiln_status schedule_y(nest *k) {
    kiln_stage *held;
    int64_t threads[3];
    kiln_iter *thread;
    deal(k, k->products->te, threads);
    const kiln_gpu_tiles t = {.n = 3,
                              .axis = {{Y_C, threads[0], 1, 1, 0},
                                       {Y_H, threads[1], k->size, 1, 0},
                                       {Y_W, threads[2], k->size, 1, 0}},
                              .lanes = k->size};
    KILN_TRY(kiln_gpu_tiles_map(k->y, &t, &thread, k->err));
    KILN_TRY(keep(k, k->columns, k->y, thread, I, 2));
    KILN_TRY(kiln_cache_read(k->s, k->products->origin, KILN_SCOPE_LOCAL, &k->columns,
                             1, &held, k->err));
    return keep(k, held, k->y, thread, I, 2);
}

static kiln_status schedule_products(nest *k, const kiln_gpu_conv_problem *p,
                                     const kiln_gpu_conv_plan *x,
                                     const kiln_te *filter) {
    kiln_gpu_tiles t = kiln_gpu_conv_tiles(p, x);
    kiln_stage *acc;
    KILN_TRY(kiln_cache_write(k->products, KILN_SCOPE_LOCAL, &acc, k->err));
    for (int i = 0; i < acc->te->n_in && x->fetch == KILN_GPU_CONV_SHARED; i++)
        kiln_gpu_conv_fetches(p, x, acc->te->in[i], acc->te->in[i] == filter, &t);
    return kiln_gpu_tiles_apply(k->products, acc, &t, k->err);
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w,
                         const kiln_profile *prof, const kiln_space *s,
                         const kiln_config *c, kiln_scheduled *out, kiln_err *err) {
    const int64_t size = size_of(s, c);
    const kiln_gpu_conv_problem p = products_of(w, prof, size);
    const kiln_gpu_conv_plan x = kiln_gpu_conv_plan_of(s, c);
    kiln_scheduled made = {.loop = {.max_unroll = 4096, .keep_large_loops = true}};
    nest k = {.size = size,
              .threads = kiln_gpu_threads_for(
                  prof, p.elems / p.filter_sets), /* tiles of all channels */
              .err = err};
    KILN_TRY(kiln_gpu_conv_check(&p, &x, err));
    KILN_TRY(kiln_graph_compute_packed(a, w->graph, layouts_of(a, w),
                                       packings_of(a, w, size), false, &made.te, err));
    k.s = made.schedule = kiln_schedule_new(a, made.te.arg + made.te.n_inputs,
                                            made.te.n_args - made.te.n_inputs);
    KILN_TRY(find_stages(&k));
    KILN_TRY(schedule_y(&k));
    KILN_TRY(schedule_products(&k, &p, &x, made.te.value[w->anchor->in[1]->id].te));
    KILN_TRY(schedule_v(&k));
    *out = made;
    return KILN_OK;
}

const kiln_template kiln_template_gpu_winograd = {
    .name = "gpu_winograd",
    .doc = "3 x 3 convolution on a GPU by Winograd's algorithm, weights transformed "
           "ahead",
    .takes = KILN_TAKES_PLAIN,
    .target = KILN_TARGET_GPU,
    .fits = fits,
    .space = space,
    .pays = pays,
    .guess = guess,
    .apply = apply,
    .amplification = amplification,
    .share = share,
    .least_share = 36.0 / (16 * 9), /* F(4, 3): 6 x 6 products for 4 x 4 outputs */
};
