#include "tests/support/kernel/sim_conv.h"

#include <math.h>
#include <string.h>

#include "tests/support/kiln_test.h"

const char kiln_sim_product[] =
    "program p(a: f32[8, 16], b: f32[16, 32], out c: f32[8, 32]) {\n"
    "  parallel i in 0 .. +8 {\n"
    "    for k in 0 .. +16 {\n"
    "      vectorized j in 0 .. +32 {\n"
    "        c[i, j] = c[i, j] + a[i, k]*b[k, j]\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "}\n";

void kiln_sim_conv_make(kiln_arena *a, const kiln_sim_shape *shape, kiln_sim_conv *c) {
    *c = (kiln_sim_conv){.shape = *shape};
    kiln_err err = {0};
    kiln_graph *g;
    const long long h = shape->h, k = shape->k, p = shape->k / 2, s = shape->s;
    const char *text = kiln_format(
        a,
        "graph \"conv\" { input %%x : f32[1,%lld,%lld,%lld] "
        "input %%w : f32[%lld,%lld,%lld,%lld] "
        "%%y = conv(%%x, %%w) {strides=[%lld,%lld], pads=[%lld,%lld,%lld,%lld]} "
        "output %%y }",
        (long long)shape->ic, h, h, (long long)shape->oc, (long long)shape->ic, k, k, s,
        s, p, p, p, p);
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "shape", &g, &err),
                          &err);
    kiln_assert_status_ok(kiln_workload_of(g, &c->work, &err), &err);
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx512", &c->profile, &err), &err);
    kiln_assert_status_ok(kiln_tune_task_make(a, &c->work, &c->profile,
                                              &kiln_template_conv_direct, &c->task,
                                              &err),
                          &err);
}

/* ---- the knobs ------------------------------------------------------------------- */

typedef struct knobs {
    double oc_block, ic_block, tile_oh, tile_ow, tile_oc, oc_chunk, oh_chunk, unroll;
    bool rows_outer, rows_inner, taps_outer;
    char pad; /* first letter */
} knobs;

static int knob_named(const kiln_space *s, const char *name) {
    for (int k = 0; k < s->n; k++)
        if (strcmp(s->knob[k].name, name) == 0)
            return k;
    fail_msg("there is no knob '%s'", name);
    return -1;
}

static double number(const kiln_space *s, const kiln_config *c, const char *name,
                     int part) {
    return (double)kiln_config_int(s, c, knob_named(s, name), part);
}

static bool is_word(const kiln_space *s, const kiln_config *c, const char *name,
                    const char *word) {
    return strcmp(kiln_config_word(s, c, knob_named(s, name)), word) == 0;
}

static knobs knobs_of(const kiln_space *s, const kiln_config *c) {
    return (knobs){.oc_block = number(s, c, "oc_block", 0),
                   .ic_block = number(s, c, "ic_block", 0),
                   .tile_oh = number(s, c, "tile", 0),
                   .tile_ow = number(s, c, "tile", 1),
                   .tile_oc = number(s, c, "tile", 2),
                   .oc_chunk = number(s, c, "oc_chunk", 0),
                   .oh_chunk = number(s, c, "oh_chunk", 0),
                   .unroll = number(s, c, "unroll", 0),
                   .rows_outer = is_word(s, c, "order", "rows"),
                   .rows_inner = is_word(s, c, "inner", "rows"),
                   .taps_outer = is_word(s, c, "reduce", "taps"),
                   .pad = kiln_config_word(s, c, knob_named(s, "pad"))[0]};
}

/* ---- the machine: 3 GHz, 2 multiply-adds and 2 loads a cycle, 32 KiB and 512 KiB - */

static const double ghz = 3, l1_bytes = 32768, l2_bytes = 524288;
static const double l2_bytes_cycle = 24, l3_bytes_cycle = 8;

/* Cycles of one step of the reduction in a tile. */
static double step_cycles(const knobs *x) {
    const double pixels = x->tile_oh * x->tile_ow, fma = pixels * x->tile_oc;
    const double loads = pixels + x->tile_oc;
    double cycles = fmax(fmax(fma, loads) / 2, 4);
    if (fma + x->tile_oc + 1 > 32)
        cycles *= 2; /* spills */
    if (x->pad == 'n')
        cycles *= 1.4; /* guards */
    cycles += 1.5 / x->unroll;
    if (fma * x->unroll > 160)
        cycles *= 1.3; /* past the cache of decoded instructions */
    return cycles;
}

/* Of memory that is read again and again in pieces of `piece` bytes. */
static double traffic_cycles(double bytes_read, double piece) {
    if (piece <= l1_bytes)
        return 0;
    return bytes_read / (piece <= l2_bytes ? l2_bytes_cycle : l3_bytes_cycle);
}

static double cycles_of(const kiln_sim_conv *c, const knobs *x) {
    const double k2 = (double)(c->shape.k * c->shape.k), ic = (double)c->shape.ic;
    const int64_t rows = c->shape.h / c->shape.s;
    const double out = (double)rows;
    const double blocks = ceil((double)c->shape.oc / x->oc_block);
    const double oc_chunk = fmin(x->oc_chunk, blocks),
                 oh_chunk = fmin(x->oh_chunk, out);
    const double chunks = ceil(blocks / oc_chunk) * ceil(out / oh_chunk);
    const double tiles =
        ceil(out / x->tile_oh) * ceil(out / x->tile_ow) * ceil(blocks / x->tile_oc);
    const double steps = ceil(ic / x->ic_block) * x->ic_block * k2;
    const double panel = ic * k2 * x->tile_oc * x->oc_block * 4; /* weights of a tile */
    const double weights = ic * k2 * oc_chunk * x->oc_block * 4;
    const double image = (oh_chunk * (double)c->shape.s + (double)c->shape.k) *
                         (double)c->shape.h * ic * 4;
    double cycles = tiles * steps * step_cycles(x);
    /* rows inside: each tile's panel stays while the rows go by */
    cycles += x->rows_inner ? traffic_cycles(tiles * panel, weights)
                            : traffic_cycles(tiles * panel, panel) / 2;
    cycles += traffic_cycles(chunks * image, image);
    cycles += x->rows_outer ? traffic_cycles(chunks * weights, weights) : 0;
    if (x->taps_outer && x->ic_block > 1)
        cycles *= 1.05;
    if (x->ic_block < 4)
        cycles *= 1.2;
    if (x->pad == 'c')
        cycles += chunks * image / 32;
    if (x->pad == 'a')
        cycles += 3 * (double)(c->shape.h * c->shape.h) * ic * 4 / l3_bytes_cycle;
    return cycles + 300 * chunks;
}

double kiln_sim_conv_ns(const kiln_sim_conv *c, uint64_t index) {
    const kiln_config config = kiln_config_at(&c->task.space, index);
    const knobs x = knobs_of(&c->task.space, &config);
    const uint64_t hash = kiln_hash64(&index, sizeof index, 17);
    const double noise = 1 + 0.03 * (double)(hash >> 11) * 0x1p-53;
    return cycles_of(c, &x) / ghz * noise;
}

/* ---- samples --------------------------------------------------------------------- */

kiln_samples kiln_sim_conv_samples(kiln_arena *a, const kiln_sim_conv *c,
                                   const kiln_cost_model_kind *kind, size_t n,
                                   uint64_t seed, bool carries_over) {
    kiln_rng rng;
    kiln_sample_set *set = kiln_new(a, kiln_sample_set);
    kiln_trial *t = kiln_array(a, kiln_trial, n);
    kiln_rng_init(&rng, seed);
    for (size_t i = 0; i < n; i++) {
        const kiln_config x = kiln_config_random(&c->task.space, &rng);
        const uint64_t index = kiln_config_index(&c->task.space, &x);
        t[i] = (kiln_trial){index, KILN_OUTCOME_MEASURED, kiln_sim_conv_ns(c, index)};
    }
    kiln_sample_set_init(set, a, carries_over);
    kiln_sample_set_add(set, kiln_candidates_new(a, &c->task, kind), t, n);
    return kiln_sample_set_view(set);
}

kiln_samples kiln_sim_shape_samples(kiln_arena *a, const kiln_sim_shape *shape,
                                    const kiln_cost_model_kind *kind, size_t n,
                                    uint64_t seed, bool carries_over) {
    kiln_sim_conv *c = kiln_new(a, kiln_sim_conv);
    kiln_sim_conv_make(a, shape, c);
    return kiln_sim_conv_samples(a, c, kind, n, seed, carries_over);
}
