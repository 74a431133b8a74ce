/* gpu_conv: direct convolution. A block computes some channels of a patch of the output;
 * for each step of input channels it fetches the patch that it reads, padded, and the
 * filters, and each thread sums a tile of channels and columns. Depthwise convolutions
 * are those of one channel a group; transposed ones read what is spread out, with zeros
 * between. */
#include "compiler/schedule/template/gpu/gpu_tiles.h"

#include <inttypes.h>
#include <math.h>

#include "compiler/schedule/template/blocked.h"
#include "compiler/schedule/template/tiles.h"

enum {
    THREADS_OC,
    THREADS_OH,
    THREADS_OW,
    TILE_OC,
    TILE_OH,
    TILE_OW,
    STEP_IC,
    FETCH,
    LANES
};

static const int64_t threads[] = {1, 2, 4, 8, 16, 32, 64};
static const int64_t tiles[] = {1, 2, 3, 4, 6, 8, 16};
static const int64_t rows[] = {1, 2, 4, 7};
static const int64_t steps[] = {1, 2, 4, 8, 16, 32};
static const int64_t lanes[] = {1, 2, 4, 8, 16};
static const char *const fetch_words[] = {"none", "shared"};

#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))

typedef struct problem {
    const kiln_profile *profile;
    int n_spatial;
    int64_t batch, groups, c, o; /* channels of a group */
    int64_t oh, ow, taps;
    int64_t step[2], reach[2]; /* of rows, columns: stride, elements of a window */
    int64_t far;               /* of further axes: taps of one output element */
    int64_t bytes, sum_bytes;
} problem;

static bool is_transposed(const kiln_workload *w) {
    return w->anchor->op == &kiln_op_conv_transpose;
}

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    const kiln_node *n = w->anchor;
    return p->gpu.block_threads > 0 && (n->op == &kiln_op_conv || is_transposed(w)) &&
           n->in[0] != n->in[1] && kiln_ends_element_wise(w) && kiln_gpu_takes(w, p);
}

static problem problem_of(const kiln_workload *w, const kiln_profile *profile) {
    const kiln_node *n = w->anchor;
    const kiln_type *x = &n->in[0]->type, *f = &n->in[1]->type, *y = &n->out[0]->type;
    const kiln_attr *stride = kiln_node_attr(n, "strides");
    const kiln_attr *dilation = kiln_node_attr(n, "dilations");
    problem p = {.profile = profile,
                 .n_spatial = y->rank - 2,
                 .batch = y->dim[0],
                 .groups = kiln_node_attr(n, "groups")->i,
                 .oh = 1,
                 .ow = y->dim[y->rank - 1],
                 .taps = 1,
                 .step = {1, 1},
                 .reach = {1, 1},
                 .far = 1,
                 .bytes = (int64_t)kiln_dtype_bytes(x->dtype),
                 .sum_bytes = (int64_t)kiln_dtype_bytes(x->dtype)};
    p.c = x->dim[1] / p.groups;
    p.o = y->dim[1] / p.groups;
    p.sum_bytes = p.sum_bytes < 4 ? 4 : p.sum_bytes;
    for (int i = 0; i < p.n_spatial; i++) {
        const int at = i + 2 - p.n_spatial; /* 0: rows, 1: columns */
        p.taps *= f->dim[2 + i];
        if (at < 0) {
            p.far *= (f->dim[2 + i] - 1) * kiln_attr_at(dilation, i, 1) + 1;
            p.batch *= y->dim[2 + i];
            continue;
        }
        p.step[at] = is_transposed(w) ? 1 : kiln_attr_at(stride, i, 1);
        p.reach[at] = (f->dim[2 + i] - 1) * kiln_attr_at(dilation, i, 1) + 1;
    }
    if (p.n_spatial > 1)
        p.oh = y->dim[y->rank - 2];
    return p;
}

static kiln_status space(const kiln_workload *w, const kiln_profile *prof,
                         kiln_space *s, kiln_err *err) {
    const problem p = problem_of(w, prof);
    (void)err;
    kiln_space_add_up_to(s, "threads_oc", "threads of a block along channels", threads,
                         COUNT(threads), p.o);
    kiln_space_add_parts(s, "threads_oh", "threads of a block along rows", p.oh);
    kiln_space_add_parts(s, "threads_ow", "threads of a block along columns", p.ow);
    kiln_space_add_up_to(s, "tile_oc", "channels of a thread's tile", tiles,
                         COUNT(tiles), p.o);
    kiln_space_add_up_to(s, "tile_oh", "rows of a thread's tile", rows, COUNT(rows),
                         p.oh);
    kiln_space_add_up_to(s, "tile_ow", "columns of a thread's tile", tiles,
                         COUNT(tiles), p.ow);
    kiln_space_add_up_to(s, "step_ic", "input channels that are fetched at once", steps,
                         COUNT(steps), p.c);
    kiln_space_add_words(s, "fetch", "where the terms of a step lie", fetch_words, 2);
    kiln_space_add_ints(s, "lanes", "columns of a vector", lanes, COUNT(lanes));
    return KILN_OK;
}

/* ---- plans ----------------------------------------------------------------------- */

enum { OC, OH, OW };

typedef struct plan {
    int64_t threads[3], tile[3], step_ic, lanes;
    bool fetches;
} plan;

static plan plan_of(const kiln_space *s, const kiln_config *c) {
    plan p = {.step_ic = kiln_config_int(s, c, STEP_IC, 0),
              .lanes = kiln_config_int(s, c, LANES, 0),
              .fetches = kiln_config_is(s, c, FETCH, "shared")};
    for (int i = 0; i < 3; i++) {
        p.threads[i] = kiln_config_int(s, c, THREADS_OC + i, 0);
        p.tile[i] = kiln_config_int(s, c, TILE_OC + i, 0);
    }
    return p;
}

static int64_t block_of(const plan *x, int i) { return x->threads[i] * x->tile[i]; }

/* Of x, elements of one channel that a block reads. */
static int64_t patch_of(const problem *p, const plan *x) {
    return p->far * ((block_of(x, OH) - 1) * p->step[0] + p->reach[0]) *
           ((block_of(x, OW) - 1) * p->step[1] + p->reach[1]);
}

static int64_t shared_bytes(const problem *p, const plan *x) {
    return x->fetches
               ? x->step_ic * (patch_of(p, x) + block_of(x, OC) * p->taps) * p->bytes
               : 0;
}

static kiln_gpu_tiles tiles_of(const problem *p, const plan *x) {
    /* Four channels of 9 taps for 32 sums: filters are read four at a time. */
    kiln_gpu_tiles t = {.lanes = x->tile[OW] % x->lanes == 0 ? x->lanes : 1,
                        .max_unroll = 1152};
    const int last = p->n_spatial + 1;
    t.axis[t.n++] =
        (kiln_gpu_axis){1, x->threads[OC], x->tile[OC], 1, p->groups > 1 ? p->o : 0};
    if (p->n_spatial > 1)
        t.axis[t.n++] = (kiln_gpu_axis){last - 1, x->threads[OH], x->tile[OH], 1, 0};
    t.axis[t.n++] = (kiln_gpu_axis){last, x->threads[OW], x->tile[OW], 1, 0};
    t.step[0] = x->step_ic;
    for (int i = 0; i < p->n_spatial; i++)
        t.step[1 + i] = p->taps; /* all */
    return t;
}

static kiln_status check(const problem *p, const plan *x, kiln_err *err) {
    const kiln_gpu_tiles t = tiles_of(p, x);
    return kiln_gpu_tiles_check(&t, p->profile, shared_bytes(p, x),
                                x->tile[OC] + x->tile[OH] * x->tile[OW], p->sum_bytes,
                                err);
}

/* ---- guess ----------------------------------------------------------------------- */

static int64_t ceil_div(int64_t x, int64_t y) { return x / y + (x % y != 0); }

/* As for matrix products: rounds of blocks, each of multiply-adds, of loads from shared
 * memory, and of what is fetched to it. */
static double cost_of(const problem *p, const plan *x) {
    const kiln_gpu *g = &p->profile->gpu;
    const double blocks =
        (double)(p->batch * p->groups * ceil_div(p->o, block_of(x, OC)) *
                 ceil_div(p->oh, block_of(x, OH)) * ceil_div(p->ow, block_of(x, OW)));
    const double sums = (double)(block_of(x, OC) * block_of(x, OH) * block_of(x, OW));
    const double all = (double)(x->threads[0] * x->threads[1] * x->threads[2]);
    const double pixels = (double)(x->tile[OH] * x->tile[OW]);
    const double loads =
        4 * sums * (1 / pixels + 1 / (double)x->tile[OC]) * (double)p->taps;
    const double fetched =
        8 * ((double)patch_of(p, x) + (double)(block_of(x, OC) * p->taps));
    const double busy = fmin(1, all / 128);
    const double warps = (double)ceil_div((int64_t)all, g->warp) * g->warp / all;
    /* What is cut off at the edges is guarded sum by sum: of three instructions one is a
     * multiply-add. */
    const double guards = p->o % block_of(x, OC) != 0 || p->oh % block_of(x, OH) != 0 ||
                                  p->ow % block_of(x, OW) != 0
                              ? 2
                              : 1;
    return guards * ceil(blocks / (double)g->processors) *
           (sums * (double)p->taps * warps + loads * warps + fetched) / busy;
}

static kiln_config with(const kiln_space *s, const plan *x) {
    kiln_config c = {.n = s->n};
    for (int i = 0; i < 3; i++) {
        kiln_config_set(s, &c, THREADS_OC + i, &x->threads[i]);
        kiln_config_set(s, &c, TILE_OC + i, &x->tile[i]);
    }
    kiln_config_set(s, &c, STEP_IC, &x->step_ic);
    kiln_config_set(s, &c, LANES, &x->lanes);
    kiln_config_set_word(s, &c, FETCH, fetch_words[x->fetches]);
    return c;
}

static plan cut_to_space(const kiln_space *s, const plan *x) {
    const kiln_config c = with(s, x);
    return plan_of(s, &c);
}

static bool has_room(const problem *p, const plan *x) {
    kiln_err unused = {0};
    return check(p, x, &unused) == KILN_OK;
}

/* Threads that are loops of a CPU: one a block, with vectors of columns. */
static kiln_config guess_alone(const problem *p, const kiln_space *s) {
    plan x = {.threads = {1, 1, 1},
              .tile = {6, 1, p->step[1] == 1 ? 16 : 4},
              .step_ic = 32,
              .lanes = p->step[1] == 1 ? 8 : 1,
              .fetches = true};
    for (x = cut_to_space(s, &x); !has_room(p, &x); x = cut_to_space(s, &x)) {
        if (x.tile[OC] > 1 && !has_room(p, &(plan){.threads = {1, 1, 1},
                                                   .tile = {x.tile[0], 1, x.tile[2]},
                                                   .step_ic = 1,
                                                   .lanes = 1}))
            x.tile[OC] /= 2;
        else if (x.step_ic > 1)
            x.step_ic /= 2;
        else
            break;
    }
    while (x.lanes > 1 && x.tile[OW] % x.lanes != 0)
        x.lanes /= 2;
    x.fetches = x.fetches && has_room(p, &x);
    return with(s, &x);
}

/* The largest step that there is room for in half of shared memory: two blocks of
 * a processor take turns. */
static void choose_step(const problem *p, const kiln_space *s, kiln_config *c) {
    plan x = plan_of(s, c);
    for (int i = s->knob[STEP_IC].n; i-- > 0;) {
        c->option[STEP_IC] = (int16_t)i;
        x.step_ic = kiln_config_int(s, c, STEP_IC, 0);
        if (x.step_ic * p->taps <= 80 &&
            2 * shared_bytes(p, &x) <= p->profile->gpu.shared_bytes)
            return;
    }
}

/* Threads along rows and columns that leave little over: as many as there are, up to a
 * block's, or equal parts of them. */
static kiln_config guess(const kiln_workload *w, const kiln_profile *prof,
                         const kiln_space *s) {
    static const int64_t some_tiles[][3] = {{8, 1, 1}, {4, 1, 1}, {4, 1, 2}, {8, 1, 2},
                                            {4, 1, 4}, {2, 1, 4}, {1, 1, 4}, {1, 1, 2},
                                            {1, 1, 1}, {8, 1, 4}, {2, 2, 2}, {4, 2, 2}};
    const problem p = problem_of(w, prof);
    double least = HUGE_VAL;
    if (prof->gpu.warp <= 1)
        return guess_alone(&p, s);
    kiln_config best = with(
        s, &(plan){.threads = {1, 1, 1}, .tile = {1, 1, 1}, .step_ic = 1, .lanes = 1});
    for (int i = 0; i < COUNT(some_tiles); i++)
        for (int oc = 0; oc < s->knob[THREADS_OC].n; oc++)
            for (int oh = 0; oh < s->knob[THREADS_OH].n; oh++)
                for (int ow = 0; ow < s->knob[THREADS_OW].n; ow++) {
                    kiln_err unused = {0};
                    plan x = {.lanes = 1, .fetches = true};
                    for (int k = 0; k < 3; k++)
                        x.tile[k] = some_tiles[i][k];
                    kiln_config c = with(s, &x);
                    c.option[THREADS_OC] = (int16_t)oc;
                    c.option[THREADS_OH] = (int16_t)oh;
                    c.option[THREADS_OW] = (int16_t)ow;
                    choose_step(&p, s, &c);
                    x = plan_of(s, &c);
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
    kiln_stage *acc =
        kiln_stage_tagged(made.schedule, is_transposed(w) ? "conv_transpose" : "conv");
    KILN_TRY(kiln_inline_injective(made.schedule, err));
    if (acc->is_output)
        KILN_TRY(kiln_cache_write(acc, KILN_SCOPE_LOCAL, &acc, err));
    kiln_stage *y = made.schedule->stage.v[made.schedule->stage.n - 1];
    for (int i = 0; i < acc->te->n_in && x.fetches && t.n_fetched < KILN_GPU_FETCHES;
         i++)
        t.fetched[t.n_fetched++] =
            (kiln_gpu_fetched){.te = acc->te->in[i], .lanes = 1, .pad_axis = -1};
    KILN_TRY(kiln_gpu_tiles_apply(y, acc, &t, err));
    *out = made;
    return KILN_OK;
}

const kiln_template kiln_template_gpu_conv = {
    .name = "gpu_conv",
    .doc = "direct, depthwise and transposed convolution on a GPU: patches and filters "
           "in shared "
           "memory",
    .takes = KILN_TAKES_PLAIN,
    .target = KILN_TARGET_GPU,
    .fits = fits,
    .space = space,
    .guess = guess,
    .apply = apply,
};
