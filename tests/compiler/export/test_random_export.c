/* Whole graphs drawn at random, exported as ONNX and imported again: they compute what
 * they did.
 *
 *   KILN_SEED=N    the first graph's seed; each graph has the seed after the last one's
 *   KILN_GRAPHS=N  so many graphs; KILN_SOAK=1: more
 *   KILN_EXPORT_DIR=DIR  they stay below DIR, with inputs and outputs, for others to run */
#include <inttypes.h>
#include <stdlib.h>

#include "compiler/frontend/frontend.h"
#include "tests/support/import/export_run.h"
#include "tests/support/graph/graph_trial.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_graph.h"

/* Attributes of ONNX are f32: of random ones that is no matter of the test. */
static void round_attributes(const kiln_graph *g) {
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *n = g->nodes.v[i];
        for (size_t k = 0; k < n->op->n_attr; k++) {
            if (n->op->attr[k].kind == KILN_ATTR_FLOAT &&
                n->attr[k].f != n->op->attr[k].default_f)
                n->attr[k].f = (double)(float)n->attr[k].f;
            if (n->op->attr[k].kind == KILN_ATTR_GRAPH && n->attr[k].graph != NULL)
                round_attributes(n->attr[k].graph);
        }
    }
}

static bool has_numpy(const kiln_value *v) {
    return kiln_dtype_get(v->type.dtype)->numpy != NULL &&
           !kiln_dtype_is_in(v->type.dtype, KILN_DT_LOW);
}

/* DIR/SEED: model.onnx, in0.npy, ..., out0.npy, ... */
static kiln_status keep(kiln_arena *a, uint64_t seed, const kiln_graph *g,
                        const kiln_tensor *in, const kiln_tensor *out, kiln_err *err) {
    const char *dir = getenv("KILN_EXPORT_DIR");
    kiln_exported x;
    bool can = dir != NULL;
    for (size_t i = 0; can && i < g->inputs.n; i++)
        can = has_numpy(g->inputs.v[i]);
    for (size_t i = 0; can && i < g->outputs.n; i++)
        can = has_numpy(g->outputs.v[i]);
    if (!can)
        return KILN_OK;
    dir = kiln_format(a, "%s/%" PRIu64, dir, seed);
    KILN_TRY(kiln_dir_make(dir, err));
    KILN_TRY(kiln_export(a, g, &kiln_exporter_onnx,
                         kiln_path_join(a, dir, "model.onnx"), NULL, &x, err));
    for (size_t i = 0; i < g->inputs.n; i++)
        KILN_TRY(
            kiln_tensor_write_npy(kiln_format(a, "%s/in%zu.npy", dir, i), &in[i], err));
    for (size_t i = 0; i < g->outputs.n; i++)
        KILN_TRY(kiln_tensor_write_npy(kiln_format(a, "%s/out%zu.npy", dir, i), &out[i],
                                       err));
    return KILN_OK;
}

/* False: ONNX cannot say it. */
static bool check(uint64_t seed, kiln_test_exports *e) {
    kiln_arena a = {0};
    random_graph r;
    kiln_err err = {0};
    random_graph_make(&a, seed, &r);
    const kiln_graph *g = r.graph;
    kiln_tensor *in = kiln_array(&a, kiln_tensor, g->inputs.n);
    kiln_tensor *out = kiln_array(&a, kiln_tensor, g->outputs.n);
    round_attributes(g);
    for (size_t i = 0; i < g->inputs.n; i++)
        in[i] = graph_values_get(&r.values, g->inputs.v[i])->run[0];
    const kiln_status st = kiln_test_run_exported(e, &a, g, in, g->inputs.n, out, &err);
    if (st != KILN_OK) {
        print_message("KILN_GRAPHS=1 KILN_SEED=%" PRIu64 ": %s\n", seed, err.text);
        if (st != KILN_ERR_UNSUPPORTED)
            fail_msg("a graph that was exported is another one");
    } else {
        kiln_assert_status_ok(keep(&a, seed, g, in, out, &err), &err);
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
