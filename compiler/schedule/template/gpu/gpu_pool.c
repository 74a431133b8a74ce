/* gpu_pool: the largest, the mean or the p-norm under windows. Each thread has a tile of
 * rows and columns of one channel, and in registers what its windows read, padded: all its
 * loads are on their way at once. */
#include "compiler/schedule/template/gpu/gpu_cycles.h"
#include "compiler/schedule/template/gpu/gpu_tiles.h"

#include <math.h>

#include "compiler/schedule/template/blocked.h"
#include "compiler/schedule/template/tiles.h"
#include "compiler/schedule/template/window/window.h"

enum { THREADS_C, THREADS_OH, THREADS_OW, TILE_OH, TILE_OW, FETCH };

static const int64_t threads[] = {1, 2, 4, 8, 16, 32, 64};
static const int64_t tiles[] = {1, 2, 4, 7, 8};
static const char *const fetch_words[] = {"none", "local"};

#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))

typedef struct problem {
    const kiln_profile *profile;
    int n_spatial;
    int64_t batch, c, oh, ow, taps;
    int64_t step[2], reach[2]; /* of rows, columns */
    int64_t far;               /* of further axes: taps of one output element */
    int64_t sum_bytes;
} problem;

static problem problem_of(const kiln_workload *w, const kiln_profile *profile) {
    const kiln_node *n = w->anchor;
    const kiln_type *y = &n->out[0]->type;
    const kiln_attr *kernel = kiln_node_attr(n, "kernel");
    const kiln_attr *stride = kiln_node_attr(n, "strides");
    const kiln_attr *dilation = kiln_node_attr(n, "dilations");
    const int64_t bytes = (int64_t)kiln_dtype_bytes(y->dtype);
    problem p = {.profile = profile,
                 .n_spatial = y->rank - 2,
                 .batch = y->dim[0],
                 .c = y->dim[1],
                 .oh = y->rank > 3 ? y->dim[y->rank - 2] : 1,
                 .ow = y->dim[y->rank - 1],
                 .taps = 1,
                 .step = {1, 1},
                 .reach = {1, 1},
                 .far = 1,
                 .sum_bytes = bytes < 4 ? 4 : bytes};
    for (int i = 0; i < p.n_spatial; i++) {
        const int at = i + 2 - p.n_spatial; /* 0: rows, 1: columns */
        const int64_t dilated = dilation != NULL ? kiln_attr_at(dilation, i, 1) : 1;
        const int64_t reach = (kiln_attr_at(kernel, i, 1) - 1) * dilated + 1;
        p.taps *= kiln_attr_at(kernel, i, 1);
        if (at < 0) {
            p.far *= reach;
            p.batch *= y->dim[2 + i];
            continue;
        }
        p.step[at] = kiln_attr_at(stride, i, 1);
        p.reach[at] = reach;
    }
    return p;
}

/* Windows of more taps are rows to be summed: gpu_reduce's, or a loop each. */
static bool fits(const kiln_workload *w, const kiln_profile *p) {
    enum { MAX_TAPS = 36 };
    const kiln_op_def *op = w->anchor->op;
    return p->gpu.block_threads > 0 &&
           (op == &kiln_op_max_pool || op == &kiln_op_avg_pool ||
            op == &kiln_op_lp_pool) &&
           kiln_windows_fit(w) && kiln_gpu_takes(w, p) &&
           problem_of(w, p).taps <= MAX_TAPS;
}

static kiln_status space(const kiln_workload *w, const kiln_profile *prof,
                         kiln_space *s, kiln_err *err) {
    const problem p = problem_of(w, prof);
    (void)err;
    kiln_space_add_up_to(s, "threads_c", "threads of a block along channels", threads,
                         COUNT(threads), p.c);
    kiln_space_add_parts(s, "threads_oh", "threads of a block along rows", p.oh);
    kiln_space_add_parts(s, "threads_ow", "threads of a block along columns", p.ow);
    kiln_space_add_up_to(s, "tile_oh", "rows of a thread's tile", tiles, COUNT(tiles),
                         p.oh);
    kiln_space_add_up_to(s, "tile_ow", "columns of a thread's tile", tiles,
                         COUNT(tiles), p.ow);
    kiln_space_add_words(s, "fetch", "where the terms of a thread lie", fetch_words, 2);
    return KILN_OK;
}

/* ---- plans ----------------------------------------------------------------------- */

typedef struct plan {
    int64_t c, oh, ow, tile_oh, tile_ow; /* threads, tile */
    bool is_local;
} plan;

static plan plan_of(const kiln_space *s, const kiln_config *c) {
    return (plan){.c = kiln_config_int(s, c, THREADS_C, 0),
                  .oh = kiln_config_int(s, c, THREADS_OH, 0),
                  .ow = kiln_config_int(s, c, THREADS_OW, 0),
                  .tile_oh = kiln_config_int(s, c, TILE_OH, 0),
                  .tile_ow = kiln_config_int(s, c, TILE_OW, 0),
                  .is_local = kiln_config_is(s, c, FETCH, "local")};
}

/* Elements that a thread reads. */
static int64_t patch_of(const problem *p, const plan *x) {
    return p->far * ((x->tile_oh - 1) * p->step[0] + p->reach[0]) *
           ((x->tile_ow - 1) * p->step[1] + p->reach[1]);
}

static kiln_gpu_tiles tiles_of(const problem *p, const plan *x) {
    kiln_gpu_tiles t = {.lanes = 1, .max_unroll = 1152};
    const int last = p->n_spatial + 1;
    t.axis[t.n++] = (kiln_gpu_axis){1, x->c, 1, 1, 0};
    if (p->n_spatial > 1)
        t.axis[t.n++] = (kiln_gpu_axis){last - 1, x->oh, x->tile_oh, 1, 0};
    t.axis[t.n++] = (kiln_gpu_axis){last, x->ow, x->tile_ow, 1, 0};
    for (int i = 0; i < p->n_spatial; i++)
        t.step[i] = p->taps; /* all */
    return t;
}

static kiln_status check(const problem *p, const plan *x, kiln_err *err) {
    const kiln_gpu_tiles t = tiles_of(p, x);
    return kiln_gpu_tiles_check(&t, p->profile, 0, x->is_local ? patch_of(p, x) : 1,
                                p->sum_bytes, err);
}

/* ---- guess ----------------------------------------------------------------------- */

static double cost_of(const problem *p, const plan *x) {
    const double loads = (double)patch_of(p, x);
    const double sums = (double)(x->tile_oh * x->tile_ow);
    const kiln_gpu_work w = {
        .blocks = p->batch * kiln_ceil_div(p->c, x->c) *
                  kiln_ceil_div(p->oh, x->oh * x->tile_oh) *
                  kiln_ceil_div(p->ow, x->ow * x->tile_ow),
        .threads = x->c * x->oh * x->ow,
        .registers = (int64_t)(loads + sums) + KILN_GPU_OTHER_REGISTERS,
        .steps = 1,
        .muladds = sums * (double)p->taps,
        .loads = loads,
        .others = 1.5 * loads + 50,
        .turns = loads * kiln_gpu_lines(p->profile, x->ow, x->tile_ow * p->step[1] * 4),
        .waits = 1,
        .memory_bytes = 4 * (double)(p->batch * p->c * p->oh * p->ow) *
                        (double)(1 + p->step[0] * p->step[1])};
    const bool has_edge =
        p->oh % (x->oh * x->tile_oh) != 0 || p->ow % (x->ow * x->tile_ow) != 0;
    return kiln_gpu_cycles(p->profile, &w) * (has_edge ? 1.3 : 1);
}

static kiln_config with(const kiln_space *s, const plan *x) {
    kiln_config c = {.n = s->n};
    kiln_config_set(s, &c, THREADS_C, &x->c);
    kiln_config_set(s, &c, THREADS_OH, &x->oh);
    kiln_config_set(s, &c, THREADS_OW, &x->ow);
    kiln_config_set(s, &c, TILE_OH, &x->tile_oh);
    kiln_config_set(s, &c, TILE_OW, &x->tile_ow);
    kiln_config_set_word(s, &c, FETCH, fetch_words[x->is_local]);
    return c;
}

static kiln_config guess(const kiln_workload *w, const kiln_profile *prof,
                         const kiln_space *s) {
    enum { MOST_THREADS = 256 };
    const problem p = problem_of(w, prof);
    double least = HUGE_VAL;
    kiln_config best = with(s, &(plan){1, 1, 1, 1, 1, false});
    const bool is_alone = prof->gpu.warp <= 1;
    const uint64_t n = s->size / (uint64_t)s->knob[FETCH].n;
    for (uint64_t i = 0; i < n; i++) {
        kiln_err unused = {0};
        kiln_config c = kiln_config_at(s, i);
        kiln_config_set_word(s, &c, FETCH, fetch_words[1]);
        const plan x = plan_of(s, &c);
        const int64_t all = x.c * x.oh * x.ow;
        if (all > (is_alone ? 1 : MOST_THREADS))
            continue;
        const double cost = cost_of(&p, &x);
        if (cost < least && check(&p, &x, &unused) == KILN_OK) {
            least = cost;
            best = c;
        }
    }
    return best;
}

/* ---- apply ----------------------------------------------------------------------- */

static kiln_status apply(kiln_arena *a, const kiln_workload *w,
                         const kiln_profile *prof, const kiln_space *s,
                         const kiln_config *c, kiln_scheduled *out, kiln_err *err) {
    const problem p = problem_of(w, prof);
    const plan x = plan_of(s, c);
    kiln_scheduled made = {.loop = {.max_unroll = 4096, .keep_large_loops = true}};
    kiln_gpu_tiles t = tiles_of(&p, &x);
    KILN_TRY(check(&p, &x, err));
    KILN_TRY(kiln_graph_compute(a, w->graph, NULL, false, &made.te, err));
    made.schedule = kiln_schedule_new(a, made.te.arg + made.te.n_inputs,
                                      made.te.n_args - made.te.n_inputs);
    kiln_stage *acc = kiln_stage_tagged(made.schedule, "pool");
    KILN_TRY(kiln_inline_injective(made.schedule, err));
    if (acc->is_output)
        KILN_TRY(kiln_cache_write(acc, KILN_SCOPE_LOCAL, &acc, err));
    kiln_stage *y = made.schedule->stage.v[made.schedule->stage.n - 1];
    if (x.is_local)
        t.fetched[t.n_fetched++] = (kiln_gpu_fetched){
            .te = acc->te->in[0], .pad_axis = -1, .plane_axis = -1, .is_own = true};
    KILN_TRY(kiln_gpu_tiles_apply(y, acc, &t, err));
    *out = made;
    return KILN_OK;
}

const kiln_template kiln_template_gpu_pool = {
    .name = "gpu_pool",
    .doc =
        "largest, mean or norm under windows on a GPU: a thread's patch in registers",
    .takes = KILN_TAKES_PLAIN,
    .target = KILN_TARGET_GPU,
    .fits = fits,
    .space = space,
    .guess = guess,
    .apply = apply,
};
