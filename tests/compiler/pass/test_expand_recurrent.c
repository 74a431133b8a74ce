/* Seeded random cells of several steps keep their meaning when they become steps: the
 * reference before and after, as --check-passes compares them. What stays is as it was. */
#include "compiler/graph/graph.h"
#include "compiler/pass/pass.h"

#include <inttypes.h>

#include "tests/support/kiln_test.h"
#include "tests/support/random/random_recurrent.h"

enum { N_CELLS = 1200, MOST_STEPS = 64 };

static bool has_cell(const kiln_graph *g) {
    for (size_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.v[i]->op == &kiln_op_lstm)
            return true;
    return false;
}

/* Did it become steps? */
static bool expands(kiln_dtype dtype, uint64_t seed, int64_t most) {
    const kiln_pass *p = kiln_pass_find(KILN_STR_LIT("expand_recurrent"));
    const random_recurrent o = {
        .op = &kiln_op_lstm, .dtype = dtype, .is_hoisted = true};
    const kiln_pass_options how = {
        .check = true, .check_seed = seed, .recurrent_steps = most};
    kiln_arena a = {0};
    kiln_rng rng;
    kiln_err err = {0};
    kiln_rng_init(&rng, seed);
    kiln_graph *g = random_recurrent_graph(&a, &rng, &o);
    g->facts |= p->needs;
    const kiln_status st = kiln_pass_run(p, g, &how, &err);
    if (st != KILN_OK)
        print_message("KILN_SEED=%" PRIu64 "\n", seed);
    kiln_assert_status_ok(st, &err);
    const bool is_gone = !has_cell(g);
    kiln_arena_fini(&a);
    return is_gone;
}

static void keep_their_meaning(void **state) {
    const uint64_t seed = kiln_test_seed();
    int n = 0, n_of_one = 0;
    (void)state;
    for (uint64_t i = 0; i < N_CELLS; i++) {
        const kiln_dtype dtype = i % 3 == 0 ? KILN_F64 : KILN_F32;
        n += expands(dtype, seed + i, MOST_STEPS);
        n_of_one += expands(dtype, seed + i, 0);
    }
    print_message("%d of %d cells became steps, %d of one step\n", n, N_CELLS,
                  n_of_one);
    assert_true(n > n_of_one);
}

int main(void) {
    kiln_test_add("keep_their_meaning", keep_their_meaning, NULL);
    return kiln_test_run("expand_recurrent");
}
