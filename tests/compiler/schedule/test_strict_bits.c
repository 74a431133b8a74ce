/* In strict numerics the order of additions is the configuration's alone: the same one gives
 * the same bits, whatever becomes of schedules, lowering and passes. These programs are
 * interpreted, each operation rounded by itself, so that the bits hang on no machine, no
 * LLVM and no C library. The hashes are those of commit ce178e2 too, from before driver,
 * loop passes and packing were rebuilt; a change that is meant to add in another order
 * writes down others, and says why. */
#include "compiler/schedule/template.h"
#include "compiler/loop/loop.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/weighted_graph.h"

#include <string.h>

typedef struct row {
    const char *name, *graph, *tmpl, *config, *hash;
} row;

#define CONV(attrs)                                                                    \
    "graph \"g\" { input %x : f32[1,19,9,11] input %w : f32[21,19,3,3] "               \
    "input %b : f32[21] %a = conv(%x, %w, %b) {" attrs "} %y = relu(%a) output %y }"

static row rows[] = {
    {"conv_direct", CONV("pads=[1,1,1,1]"), "conv_direct",
     "{\"oc_block\": 8, \"ic_block\": 4, \"tile\": [1, 11, 1], \"oc_chunk\": 3, "
     "\"oh_chunk\": 5, \"order\": \"channels\", \"inner\": \"channels\", \"reduce\": "
     "\"channels\", \"unroll\": 1, \"pad\": \"chunk\"}",
     "e8105e1459efba9f"},
    {"conv_direct_strided", CONV("pads=[1,1,1,1], strides=[2,2]"), "conv_direct",
     "{\"oc_block\": 8, \"ic_block\": 4, \"tile\": [1, 3, 3], \"oc_chunk\": 3, "
     "\"oh_chunk\": 3, \"order\": \"channels\", \"inner\": \"channels\", \"reduce\": "
     "\"channels\", \"unroll\": 1, \"pad\": \"chunk\"}",
     "0f6cc573203449be"},
    {"conv_1x1",
     "graph \"g\" { input %x : f32[1,37,5,7] input %w : f32[20,37,1,1] "
     "%y = conv(%x, %w) output %y }",
     "conv_1x1",
     "{\"oc_block\": 8, \"ic_block\": 8, \"tile_rows\": 1, \"tile_p\": 4, \"tile_oc\": "
     "3, \"block_p\": 0, \"block_oc\": 0, \"unroll_ic\": 1, \"order\": \"pixels\", "
     "\"pack_x\": \"no\", \"parallel\": \"no\"}",
     "6b9bc49ffc6350f2"},
    {"depthwise",
     "graph \"g\" { input %x : f32[1,19,9,7] input %w : f32[19,1,3,3] "
     "%y = conv(%x, %w) {pads=[1,1,1,1], groups=19} output %y }",
     "depthwise",
     "{\"c_block\": 8, \"tile\": [1, 4], \"oh_chunk\": 5, \"taps\": \"all\", "
     "\"inner\": \"tile\", \"pad\": \"none\"}",
     "2f76a900dacbd0ac"},
    {"matmul",
     "graph \"g\" { input %x : f32[7,67] input %w : f32[67,33] %y = matmul(%x, %w) "
     "output %y }",
     "matmul",
     "{\"tile_m\": 4, \"tile_n\": 24, \"block_m\": 0, \"block_n\": 0, \"block_k\": 0, "
     "\"unroll_k\": 1, \"order\": \"rows\", \"pack_a\": \"no\", \"pack_b\": \"ahead\", "
     "\"parallel\": \"no\"}",
     "5bd85d88ad19b498"},
    {"avg_pool",
     "graph \"g\" { input %x : f32[1,19,9,9] %y = avg_pool(%x) {kernel=[3,3], "
     "pads=[1,1,1,1]} output %y }",
     "pool",
     "{\"c_block\": 8, \"tile\": [1, 3], \"oh_chunk\": 5, \"taps\": \"all\", "
     "\"inner\": \"tile\", \"pad\": \"none\"}",
     "516ff29d87e92d9c"},
    {"reduce_mean",
     "graph \"g\" { input %x : f32[19,67] %y = reduce_mean(%x) {axes=[1]} output %y }",
     "reduce",
     "{\"parts\": 1, \"vector\": \"best\", \"vectors\": 0, \"accumulators\": 0, "
     "\"unroll\": 0, \"parallel\": \"off\"}",
     "1a2c9045f876f78f"},
};

/* Weights are constants, so that they are packed ahead. */
static bool stays(const kiln_value *v) { return v->name[0] == 'x'; }

/* Numbers whose sums are rounded. */
static void fill(const kiln_type *t, uint64_t seed, float *to) {
    kiln_rng rng;
    kiln_rng_init(&rng, seed);
    for (int64_t i = 0; i < kiln_type_elems(t); i++)
        to[i] = (float)kiln_rng_range(&rng, -100000, 100000) * 1e-5F;
}

static float *plain_of(kiln_arena *a, const kiln_type *t, kiln_type *plain) {
    *plain = kiln_type_make(t->dtype, t->rank, t->dim);
    return kiln_arena_alloc(a, (size_t)kiln_type_bytes(plain) + 64);
}

static kiln_workload work_of(kiln_arena *a, const row *r) {
    kiln_workload w;
    kiln_err err = {.status = KILN_OK};
    const kiln_graph *g = kiln_test_weighted_graph(a, r->graph, stays);
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    return w;
}

static kiln_scheduled schedule_of(kiln_arena *a, const row *r) {
    kiln_err err = {.status = KILN_OK};
    kiln_profile p;
    kiln_space s;
    kiln_config c;
    kiln_scheduled made;
    const kiln_json *json = NULL;
    const kiln_workload w = work_of(a, r);
    const kiln_template *t = kiln_template_find(kiln_str_from(r->tmpl));
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx2", &p, &err), &err);
    kiln_space_init(&s, a);
    kiln_assert_status_ok(t->space(&w, &p, &s, &err), &err);
    kiln_assert_status_ok(
        kiln_json_parse(a, kiln_str_from(r->config), r->name, &json, &err), &err);
    kiln_assert_status_ok(kiln_config_parse(json, t, &s, &c, &err), &err);
    kiln_assert_status_ok(kiln_template_apply(a, t, &w, &p, &s, &c, &made, &err), &err);
    return made;
}

static void check(void **state) {
    enum { MAX_ARGS = 8, SHOWN = 16 };
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_program *program = NULL;
    kiln_type plain;
    void *arg[MAX_ARGS] = {NULL};
    char hash[KILN_SHA256_HEX];
    const kiln_scheduled made = schedule_of(a, r);
    const kiln_te_graph *te = &made.te;
    kiln_assert_status_ok(kiln_scheduled_program(a, &made, "k", &program, &err), &err);
    assert_in_range(te->n_args, 2, MAX_ARGS);
    for (size_t i = 0; i < te->n_args; i++) {
        float *x = plain_of(a, &te->arg_type[i], &plain);
        arg[i] = kiln_arena_alloc(a, (size_t)kiln_type_bytes(&te->arg_type[i]) + 64);
        fill(&plain, i + 1, x);
        kiln_layout_pack(&te->arg_type[i], x, arg[i]);
    }
    kiln_assert_status_ok(kiln_program_run(a, program, arg, NULL, &err), &err);
    float *y = plain_of(a, &te->arg_type[te->n_args - 1], &plain);
    kiln_layout_unpack(&te->arg_type[te->n_args - 1], arg[te->n_args - 1], y);
    kiln_sha256_of(y, (size_t)kiln_type_bytes(&plain), hash);
    hash[SHOWN] = '\0';
    assert_string_equal(hash, r->hash);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    return kiln_test_run("strict_bits");
}
