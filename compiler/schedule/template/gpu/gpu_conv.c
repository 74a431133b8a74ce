/* gpu_conv: direct convolution. A block computes some channels of a patch of the output;
 * for each step of input channels it fetches the patch that it reads, padded, and the
 * filters, and each thread sums a tile of channels, rows and columns. Where the output has
 * too few tiles for the processors, threads of a block share sums: each has other input
 * channels. Constant filters are packed with output channels innermost, so that a thread
 * reads those of its tile as vectors. Depthwise convolutions are those of one channel a
 * group; transposed ones read what is spread out, with zeros between. */
#include "compiler/schedule/template/gpu/gpu_conv.h"

#include <inttypes.h>

#include "compiler/schedule/template/blocked.h"
#include "compiler/schedule/template/byte_dot.h"
#include "compiler/schedule/template/tiles.h"

enum {
    THREADS_OC,
    THREADS_OH,
    THREADS_OW,
    THREADS_K,
    TILE_OC,
    TILE_OH,
    TILE_OW,
    STEP_IC,
    FETCH,
    LANES,
    AHEAD,
    SPLITS,
    N_KNOBS
};
_Static_assert((int)N_KNOBS == (int)KILN_GPU_CONV_KNOBS, "knobs of gpu_conv");

static const int64_t threads[] = {1, 2, 4, 8, 16, 32, 64};
static const int64_t parts[] = {1, 2, 4, 8, 16, 32, 64};
static const int64_t tiles[] = {1, 2, 3, 4, 6, 8, 16};
static const int64_t rows[] = {1, 2, 4, 7};
static const int64_t columns[] = {1, 2, 3, 4, 6, 7, 8, 14, 16};
static const int64_t steps[] = {1, 2, 4, 8, 16, 32};
static const int64_t lanes[] = {1, 2, 4, 8, 16};
static const char *const fetch_words[] = {"none", "shared", "local"};
static const char *const ahead_words[] = {"no", "ahead", "async"};
static const int64_t splits[] = {1, 2, 4, 8, 16, 32};

#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))

static bool is_transposed(const kiln_workload *w) {
    return w->anchor->op == &kiln_op_conv_transpose;
}

static bool takes(const kiln_workload *w) {
    return is_transposed(w) ||
           (kiln_is_conv(w->anchor) && !kiln_conv_has_zero_point(w->anchor));
}

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    const kiln_node *n = w->anchor;
    return p->gpu.block_threads > 0 && takes(w) && n->in[0] != n->in[1] &&
           kiln_ends_element_wise(w) && kiln_gpu_takes(w, p);
}

kiln_gpu_conv_problem kiln_gpu_conv_problem_of(const kiln_workload *w,
                                               const kiln_profile *profile) {
    const kiln_node *n = w->anchor;
    const kiln_type *x = &n->in[0]->type, *f = &n->in[1]->type, *y = &n->out[0]->type;
    const kiln_attr *stride = kiln_node_attr(n, "strides");
    const kiln_attr *dilation = kiln_node_attr(n, "dilations");
    kiln_gpu_conv_problem p = {.profile = profile,
                               .n_spatial = y->rank - 2,
                               .channels = 1,
                               .filter_sets = 1,
                               .batch = y->dim[0],
                               .groups = kiln_node_attr(n, "groups")->i,
                               .oh = 1,
                               .ow = y->dim[y->rank - 1],
                               .iw = x->dim[x->rank - 1],
                               .taps = 1,
                               .kernel = {1, 1},
                               .step = {1, 1},
                               .reach = {1, 1},
                               .elems = kiln_type_elems(y),
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
        p.kernel[at] = f->dim[2 + i];
        p.step[at] = is_transposed(w) ? 1 : kiln_attr_at(stride, i, 1);
        p.reach[at] = (f->dim[2 + i] - 1) * kiln_attr_at(dilation, i, 1) + 1;
    }
    if (p.n_spatial > 1)
        p.oh = y->dim[y->rank - 2];
    /* One channel a group: all are one axis, whose blocks are any number of them. */
    p.is_depthwise = p.groups > 1 && p.c == 1 && p.o == 1 && !is_transposed(w);
    if (p.is_depthwise) {
        p.o = p.groups;
        p.groups = 1;
    }
    p.is_packed = kiln_value_is_const(n->in[1]) && p.groups == 1 && !p.is_depthwise &&
                  !is_transposed(w);
    p.has_window = p.taps > 1 || p.step[1] > 1 || kiln_pads_any(n);
    return p;
}

void kiln_gpu_conv_knobs(const kiln_gpu_conv_problem *p, kiln_space *s) {
    kiln_space_add_up_to(s, "threads_oc", "threads of a block along channels", threads,
                         COUNT(threads), p->o);
    kiln_space_add_parts(s, "threads_oh", "threads of a block along rows", p->oh);
    kiln_space_add_parts(s, "threads_ow", "threads of a block along columns", p->ow);
    kiln_space_add_up_to(s, "threads_k", "threads that share one sum", parts,
                         COUNT(parts), p->c);
    kiln_space_add_up_to(s, "tile_oc", "channels of a thread's tile", tiles,
                         COUNT(tiles), p->o);
    kiln_space_add_up_to(s, "tile_oh", "rows of a thread's tile", rows, COUNT(rows),
                         p->oh);
    kiln_space_add_up_to(s, "tile_ow", "columns of a thread's tile", columns,
                         COUNT(columns), p->ow);
    kiln_space_add_up_to(s, "step_ic", "input channels that are fetched at once", steps,
                         COUNT(steps), p->c);
    kiln_space_add_words(s, "fetch", "where the terms of a step lie", fetch_words, 3);
    kiln_space_add_ints(s, "lanes", "columns of a vector", lanes, COUNT(lanes));
    kiln_space_add_words(s, "ahead", "is the next step fetched while one is summed",
                         ahead_words, kiln_gpu_has_mma(p->profile) ? 3 : 2);
    kiln_space_is_later(s,
                        kiln_space_add_up_to(s, "splits", "blocks that share one sum",
                                             splits, COUNT(splits), p->c));
}

static kiln_status space(const kiln_workload *w, const kiln_profile *prof,
                         kiln_space *s, kiln_err *err) {
    const kiln_gpu_conv_problem p = kiln_gpu_conv_problem_of(w, prof);
    (void)err;
    kiln_gpu_conv_knobs(&p, s);
    return KILN_OK;
}

/* ---- plans ----------------------------------------------------------------------- */

enum { OC = KILN_GPU_CONV_OC, OH = KILN_GPU_CONV_OH, OW = KILN_GPU_CONV_OW };

kiln_gpu_conv_plan kiln_gpu_conv_plan_of(const kiln_space *s, const kiln_config *c) {
    kiln_gpu_conv_plan p = {.threads_k = kiln_config_int(s, c, THREADS_K, 0),
                            .step_ic = kiln_config_int(s, c, STEP_IC, 0),
                            .lanes = kiln_config_int(s, c, LANES, 0),
                            .splits = kiln_config_int(s, c, SPLITS, 0),
                            .fetch = (kiln_gpu_conv_fetch)c->option[FETCH]};
    p.ahead = !kiln_config_is(s, c, AHEAD, "no") && p.fetch == KILN_GPU_CONV_SHARED;
    p.is_async = p.ahead && kiln_config_is(s, c, AHEAD, "async");
    for (int i = 0; i < 3; i++) {
        p.threads[i] = kiln_config_int(s, c, THREADS_OC + i, 0);
        p.tile[i] = kiln_config_int(s, c, TILE_OC + i, 0);
    }
    return p;
}

kiln_config kiln_gpu_conv_config(const kiln_space *s, const kiln_gpu_conv_plan *x) {
    kiln_config c = {.n = s->n};
    for (int i = 0; i < 3; i++) {
        kiln_config_set(s, &c, THREADS_OC + i, &x->threads[i]);
        kiln_config_set(s, &c, TILE_OC + i, &x->tile[i]);
    }
    kiln_config_set(s, &c, THREADS_K, &x->threads_k);
    kiln_config_set(s, &c, STEP_IC, &x->step_ic);
    kiln_config_set(s, &c, LANES, &x->lanes);
    kiln_config_set_word(s, &c, FETCH, fetch_words[x->fetch]);
    kiln_config_set(s, &c, SPLITS, &x->splits);
    kiln_config_set_word(s, &c, AHEAD,
                         ahead_words[x->is_async ? 2 : (x->ahead ? 1 : 0)]);
    return c;
}

int64_t kiln_gpu_conv_block(const kiln_gpu_conv_plan *x, int axis) {
    return x->threads[axis] * x->tile[axis];
}

int64_t kiln_gpu_conv_rows(const kiln_gpu_conv_problem *p,
                           const kiln_gpu_conv_plan *x) {
    return p->far * ((kiln_gpu_conv_block(x, OH) - 1) * p->step[0] + p->reach[0]);
}

/* Rows begin at a multiple of 16 bytes. */
static int64_t row_multiple(const kiln_gpu_conv_problem *p) {
    return p->n_spatial > 1 && p->bytes < 16 ? 16 / p->bytes : 1;
}

int64_t kiln_gpu_conv_columns(const kiln_gpu_conv_problem *p,
                              const kiln_gpu_conv_plan *x) {
    const int64_t n = (kiln_gpu_conv_block(x, OW) - 1) * p->step[1] + p->reach[1];
    const int64_t m = row_multiple(p);
    return (n + m - 1) / m * m;
}

int64_t kiln_gpu_conv_patch(const kiln_gpu_conv_problem *p,
                            const kiln_gpu_conv_plan *x) {
    return kiln_gpu_conv_rows(p, x) * kiln_gpu_conv_columns(p, x) *
           (p->is_depthwise ? kiln_gpu_conv_block(x, OC) : 1);
}

int64_t kiln_gpu_conv_shared(const kiln_gpu_conv_problem *p,
                             const kiln_gpu_conv_plan *x) {
    return x->fetch == KILN_GPU_CONV_SHARED
               ? x->step_ic * x->threads_k *
                     (kiln_gpu_conv_patch(p, x) +
                      kiln_gpu_conv_block(x, OC) * p->taps) *
                     p->bytes
               : 0;
}

kiln_gpu_tiles kiln_gpu_conv_tiles(const kiln_gpu_conv_problem *p,
                                   const kiln_gpu_conv_plan *x) {
    /* Four channels of 9 taps for 32 sums: filters are read four at a time. */
    kiln_gpu_tiles t = {.lanes = x->tile[OW] % x->lanes == 0 ? x->lanes : 1,
                        .max_unroll = 1152,
                        .parts = x->threads_k,
                        .splits = x->splits,
                        .threads_after = kiln_gpu_threads_for(p->profile, p->elems),
                        .double_buffer =
                            x->ahead && x->step_ic * x->threads_k * x->splits < p->c,
                        .is_async = x->is_async};
    const int last = p->channels + p->n_spatial;
    t.axis[t.n++] = (kiln_gpu_axis){p->channels, x->threads[OC], x->tile[OC], 1,
                                    p->groups > 1 ? p->o : 0};
    if (p->n_spatial > 1)
        t.axis[t.n++] = (kiln_gpu_axis){last - 1, x->threads[OH], x->tile[OH], 1, 0};
    t.axis[t.n++] = (kiln_gpu_axis){last, x->threads[OW], x->tile[OW], 1, 0};
    t.step[0] = x->step_ic;
    for (int i = 0; i < p->n_spatial; i++)
        t.step[1 + i] = p->taps; /* all */
    return t;
}

/* What a term reads; where a thread has its patch, all of that. */
static int64_t operands_of(const kiln_gpu_conv_problem *p,
                           const kiln_gpu_conv_plan *x) {
    if (x->fetch != KILN_GPU_CONV_LOCAL)
        return x->tile[OC] + x->tile[OH] * x->tile[OW];
    return x->tile[OC] + (p->is_depthwise ? x->tile[OC] : x->step_ic) * p->far *
                             ((x->tile[OH] - 1) * p->step[0] + p->reach[0]) *
                             ((x->tile[OW] - 1) * p->step[1] + p->reach[1]);
}

kiln_status kiln_gpu_conv_check(const kiln_gpu_conv_problem *p,
                                const kiln_gpu_conv_plan *x, kiln_err *err) {
    const kiln_gpu_tiles t = kiln_gpu_conv_tiles(p, x);
    if (x->splits > 1 && p->c % x->splits != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "%" PRId64 " blocks do not share %" PRId64
                         " input channels equally",
                         x->splits, p->c);
    if (x->threads_k > 1 && x->threads_k * x->step_ic > p->c / x->splits)
        return kiln_fail(err, KILN_ERR_ARG,
                         "%" PRId64 " threads of %" PRId64
                         " input channels share sums of %" PRId64,
                         x->threads_k, x->step_ic, p->c / x->splits);
    return kiln_gpu_tiles_check(&t, p->profile, kiln_gpu_conv_shared(p, x),
                                operands_of(p, x), p->sum_bytes, err);
}

/* ---- apply ----------------------------------------------------------------------- */

static const kiln_layout *layouts_of(kiln_arena *a, const kiln_workload *w,
                                     const kiln_gpu_conv_problem *p) {
    kiln_layout *layout = kiln_array(a, kiln_layout, w->graph->values.n);
    if (!p->is_packed)
        return NULL;
    for (size_t i = 0; i < w->graph->values.n; i++)
        layout[i] = w->graph->values.v[i]->type.layout;
    kiln_layout *f = &layout[w->anchor->in[1]->id];
    f->n_order = (uint8_t)(p->n_spatial + 2);
    for (int i = 0; i <= p->n_spatial; i++)
        f->order[i] = (uint8_t)(i + 1);
    f->order[p->n_spatial + 1] = 0;
    return layout;
}

/* Elements that are copied at once: 16 bytes of what lies in one piece. */
static int64_t lanes_of(const kiln_gpu_conv_problem *p, int64_t block, int64_t all) {
    int64_t n = p->bytes < 16 ? 16 / p->bytes : 1;
    while (n > 1 && (block % n != 0 || all % n != 0))
        n /= 2;
    return p->profile->gpu.warp > 1 ? n : 1;
}

void kiln_gpu_conv_fetches(const kiln_gpu_conv_problem *p, const kiln_gpu_conv_plan *x,
                           const kiln_te *in, bool is_filter, kiln_gpu_tiles *t) {
    const int64_t step = x->step_ic * x->threads_k;
    kiln_gpu_fetched f = {.te = in, .lanes = 1, .pad_axis = -1, .plane_axis = -1};
    if (is_filter) { /* planes of input channels, plain ones of output channels */
        f.plane_axis = p->channels - 1;
        f.planes = p->is_packed ? step : kiln_gpu_conv_block(x, OC);
        f.plane = p->taps * (p->is_packed ? kiln_gpu_conv_block(x, OC) : step);
    } else {
        const int64_t n = (kiln_gpu_conv_block(x, OW) - 1) * p->step[1] + p->reach[1];
        f.plane_axis = p->channels;
        f.planes = p->is_depthwise ? kiln_gpu_conv_block(x, OC) : step;
        f.plane = kiln_gpu_conv_rows(p, x) * n;
    }
    if (is_filter && p->is_packed) {
        f.lanes = lanes_of(p, kiln_gpu_conv_block(x, OC), p->o);
    } else if (!is_filter) {
        if (row_multiple(p) > 1) {
            f.pad_axis = in->rank - 2;
            f.modulo = (int32_t)row_multiple(p);
        }
        if (!p->has_window)
            f.lanes = lanes_of(p, kiln_gpu_conv_block(x, OW), p->iw);
    }
    t->fetched[t->n_fetched++] = f;
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w,
                         const kiln_profile *prof, const kiln_space *s,
                         const kiln_config *c, kiln_scheduled *out, kiln_err *err) {
    const kiln_gpu_conv_problem p = kiln_gpu_conv_problem_of(w, prof);
    const kiln_gpu_conv_plan x = kiln_gpu_conv_plan_of(s, c);
    kiln_scheduled made = {.loop = {.max_unroll = 4096, .keep_large_loops = true}};
    kiln_gpu_tiles t = kiln_gpu_conv_tiles(&p, &x);
    KILN_TRY(kiln_gpu_conv_check(&p, &x, err));
    KILN_TRY(
        kiln_graph_compute(a, w->graph, layouts_of(a, w, &p), false, &made.te, err));
    made.schedule = kiln_schedule_new(a, made.te.arg + made.te.n_inputs,
                                      made.te.n_args - made.te.n_inputs);
    kiln_stage *acc =
        kiln_stage_tagged(made.schedule, is_transposed(w) ? "conv_transpose" : "conv");
    KILN_TRY(kiln_inline_injective(made.schedule, err));
    if (acc->is_output)
        KILN_TRY(kiln_cache_write(acc, KILN_SCOPE_LOCAL, &acc, err));
    kiln_stage *y = made.schedule->stage.v[made.schedule->stage.n - 1];
    const kiln_te *filter = made.te.value[w->anchor->in[1]->id].te;
    for (int i = 0; i < acc->te->n_in && t.n_fetched < KILN_GPU_FETCHES; i++) {
        const kiln_te *in = acc->te->in[i];
        if (x.fetch == KILN_GPU_CONV_SHARED)
            kiln_gpu_conv_fetches(&p, &x, in, in == filter, &t);
        else if (x.fetch == KILN_GPU_CONV_LOCAL && in != filter)
            t.fetched[t.n_fetched++] = (kiln_gpu_fetched){
                .te = in, .pad_axis = -1, .plane_axis = -1, .is_own = true};
    }
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
    .guess = kiln_gpu_conv_guess,
    .apply = apply,
};
