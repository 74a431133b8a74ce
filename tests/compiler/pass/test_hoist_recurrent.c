/* Seeded random cells keep their meaning when what they multiply their inputs with
 * leaves them: the reference before and after, as --check-passes compares them. */
#include "compiler/graph/graph.h"
#include "compiler/pass/pass.h"

#include <inttypes.h>

#include "tests/support/kiln_test.h"
#include "tests/support/random/random_recurrent.h"

enum { N_CELLS = 150 };

typedef struct row {
    const char *name;
    const kiln_op_def *op;
    kiln_dtype dtype;
    bool is_hoisted, changes;
} row;

static row rows[] = {
    {"rnn", &kiln_op_rnn, KILN_F32, false, true},
    {"gru", &kiln_op_gru, KILN_F32, false, true},
    {"lstm", &kiln_op_lstm, KILN_F32, false, true},
    {"lstm_f64", &kiln_op_lstm, KILN_F64, false, true},
    {"gru_of_half_floats_stays", &kiln_op_gru, KILN_BF16, false, false},
    {"lstm_hoisted_already_stays", &kiln_op_lstm, KILN_F32, true, false},
};

static void check_cell(const row *r, uint64_t seed) {
    kiln_arena a;
    kiln_rng rng;
    kiln_err err = {0};
    kiln_arena_init(&a);
    kiln_rng_init(&rng, seed);
    const random_recurrent o = {
        .op = r->op, .dtype = r->dtype, .is_hoisted = r->is_hoisted};
    kiln_graph *g = random_recurrent_graph(&a, &rng, &o);
    const kiln_pass *p = kiln_pass_find(KILN_STR_LIT("hoist_recurrent"));
    const kiln_pass_options how = {.check = true, .check_seed = seed};
    g->facts |= p->needs;
    const kiln_status st = kiln_pass_run(p, g, &how, &err);
    if (st != KILN_OK)
        print_message("KILN_SEED=%" PRIu64 "\n", seed);
    kiln_assert_status_ok(st, &err);
    const kiln_node *last = g->nodes.v[g->nodes.n - 1];
    assert_ptr_equal(last->op, r->op);
    assert_int_equal(g->nodes.n, r->changes ? 4 : 1); /* two reshapes and the product */
    assert_true((last->in[1] == NULL) == (r->changes || r->is_hoisted));
    kiln_arena_fini(&a);
}

static void check_row(void **state) {
    const uint64_t seed = kiln_test_seed();
    for (uint64_t i = 0; i < N_CELLS; i++)
        check_cell(*state, seed + i);
}

int main(void) {
    kiln_test_add_rows(check_row, rows);
    return kiln_test_run("hoist_recurrent");
}
