/* Whole graphs drawn at random, exported as ONNX and imported again: they compute what
 * they did.
 *
 *   KILN_SEED=N    the first graph's seed; each graph has the seed after the last one's
 *   KILN_GRAPHS=N  so many graphs; KILN_SOAK=1: more */
#include <inttypes.h>

#include "tests/support/export_run.h"
#include "tests/support/graph_trial.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random_graph.h"

/* False: ONNX cannot say it. */
static bool check(uint64_t seed, kiln_test_exports *e) {
    kiln_arena a = {0};
    random_graph r;
    kiln_err err = {0};
    random_graph_make(&a, seed, &r);
    const kiln_graph *g = r.graph;
    kiln_tensor *in = kiln_array(&a, kiln_tensor, g->inputs.n);
    kiln_tensor *out = kiln_array(&a, kiln_tensor, g->outputs.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        in[i] = graph_values_get(&r.values, g->inputs.v[i])->run[0];
    const kiln_status st = kiln_test_run_exported(e, &a, g, in, g->inputs.n, out, &err);
    if (st != KILN_OK) {
        print_message("KILN_GRAPHS=1 KILN_SEED=%" PRIu64 ": %s\n", seed, err.text);
        if (st != KILN_ERR_UNSUPPORTED)
            fail_msg("a graph that was exported is another one");
    }
    kiln_arena_fini(&a);
    return st == KILN_OK;
}

static void random_graphs_are_the_same(void **state) {
    const int64_t n = graph_trial_count(150, 5000);
    const uint64_t first = kiln_test_seed();
    kiln_test_exports e = {0};
    int64_t n_said = 0;
    (void)state;
    for (uint64_t seed = first; seed < first + (uint64_t)n; seed++)
        n_said += check(seed, &e);
    print_message("%" PRId64 " graphs, %" PRId64 " exported; of their outputs %" PRId64
                  " have the same bits, %" PRId64 " nearly\n",
                  n, n_said, e.n_same, e.n_near);
    assert_true(n_said * 10 >= n * 9);
}

int main(void) {
    kiln_test_add("random_graphs_are_the_same", random_graphs_are_the_same, NULL);
    return kiln_test_run("random exports");
}
