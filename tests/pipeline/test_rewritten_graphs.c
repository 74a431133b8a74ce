/* Graphs and others that compute the very same: random graphs and parts of networks,
 * with elements moved there and back, nodes repeated and consumers divided between
 * them, compiled in many ways, against the reference. See test_random_graphs.c. */
#include <inttypes.h>
#include <string.h>

#include "compiler/frontend/frontend.h"
#include "tests/support/graph/graph_part.h"
#include "tests/support/graph/graph_rewrite.h"
#include "tests/support/graph/graph_trial.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_graph.h"
#include "zoo/zoo.h"

/* The rewritten graph's outputs have the bits of the other one's. */
static void assert_same(const kiln_graph *g, graph_values *known,
                        const kiln_graph *other, graph_values *others) {
    assert_int_equal(g->outputs.n, other->outputs.n);
    for (size_t i = 0; i < g->outputs.n; i++) {
        const kiln_tensor *x = &graph_values_get(known, g->outputs.v[i])->run[0];
        const kiln_tensor *y = &graph_values_get(others, other->outputs.v[i])->run[0];
        assert_true(kiln_type_eq(&x->type, &y->type));
        assert_memory_equal(x->data, y->data, (size_t)kiln_type_bytes(&x->type));
    }
}

static void check_both(kiln_arena *a, const char *name, const kiln_graph *g,
                       graph_values *known, uint64_t seed, bool as_it_is,
                       graph_tally *t) {
    graph_way way[GRAPH_MAX_WAYS];
    graph_values others;
    kiln_rng rng;
    kiln_err err = {.status = KILN_OK};
    kiln_graph *other = kiln_graph_clone(a, g);
    const int n = graph_trial_ways(seed, way);
    kiln_rng_init(&rng, seed ^ 0x5bd1e995);
    graph_rewrite(other, &rng, (int)kiln_rng_range(&rng, 1, 5));
    kiln_assert_status_ok(kiln_graph_verify(other, &err), &err);
    graph_values_init(&others, a, seed);
    for (size_t i = 0; i < g->inputs.n; i++)
        graph_values_set(&others, other->inputs.v[i],
                         graph_values_get(known, g->inputs.v[i])->run[0].data);
    kiln_assert_status_ok(graph_values_run(&others, other, &err), &err);
    assert_same(g, known, other, &others);
    graph_trial_check(kiln_format(a, "%s, rewritten", name), other, &others, way, n, t);
    if (as_it_is)
        graph_trial_check(name, g, known, way, n, t);
}

static void random_graphs(void **state) {
    graph_tally t = {.n_graphs = graph_trial_count(20, 1000)};
    const uint64_t first = kiln_test_seed() + 7919;
    (void)state;
    for (uint64_t seed = first; seed < first + (uint64_t)t.n_graphs; seed++) {
        kiln_arena a = {0};
        random_graph r;
        random_graph_make(&a, seed, &r);
        if (r.graph->nodes.n > 0)
            check_both(&a,
                       kiln_format(&a, "KILN_GRAPHS=1 KILN_SEED=%" PRIu64, seed - 7919),
                       r.graph, &r.values, seed, false, &t);
        kiln_arena_fini(&a);
    }
    graph_trial_report(&t);
}

/* ---- parts of networks ----------------------------------------------------------- */

/* What the reference runs in a moment, nine times. */
static bool is_cheap(const kiln_graph *g) {
    enum { CHEAP_MULADDS = 6000000, CHEAP_BYTES = 8000000 };
    kiln_cost c;
    kiln_graph_cost(g, &c);
    return c.muladds <= CHEAP_MULADDS && c.bytes <= CHEAP_BYTES;
}

/* Some nodes in a row, with images cut where they take that; fewer where it is too
 * much. NULL: not here. */
static kiln_graph *draw_part(kiln_arena *a, const kiln_graph *g, kiln_rng *rng) {
    const size_t first = (size_t)kiln_rng_range(rng, 0, (int64_t)g->nodes.n - 1);
    size_t n = (size_t)kiln_rng_range(rng, 2, 9);
    for (; n > 0; n = n / 2) {
        const size_t left = g->nodes.n - first;
        const graph_part p = graph_part_window(a, g, first, n < left ? n : left);
        kiln_graph *part = graph_part_small(a, &p, kiln_rng_range(rng, 7, 15));
        if (part == NULL)
            part = graph_part_small(a, &p, 0);
        if (part != NULL && is_cheap(part) && part->outputs.n > 0 && part->nodes.n > 0)
            return part;
    }
    return NULL;
}

/* Where a part of it overflows, or divides by what was no divisor, the reference says
 * nothing that could be compared. */
static bool is_sane(const kiln_graph *g, graph_values *known) {
    for (size_t i = 0; i < g->outputs.n; i++) {
        const graph_spread s =
            graph_value_spread(graph_values_get(known, g->outputs.v[i]));
        if (!s.is_finite || s.max > 1e6 || s.n_loose * 10 > s.n)
            return false;
    }
    return true;
}

static void check_parts(const char *name, const kiln_graph *g) {
    graph_tally t = {.n_graphs = graph_trial_count(4, 200)};
    const uint64_t first = kiln_test_seed();
    for (uint64_t seed = first; seed < first + (uint64_t)t.n_graphs; seed++) {
        kiln_arena a = {0};
        kiln_rng rng;
        graph_values known;
        kiln_err err = {.status = KILN_OK};
        kiln_rng_init(&rng, seed * 31);
        (void)kiln_rng_next(&rng);
        const kiln_graph *part = draw_part(&a, g, &rng);
        graph_values_init(&known, &a, seed);
        if (part != NULL && graph_values_run(&known, part, &err) == KILN_OK &&
            is_sane(part, &known))
            check_both(
                &a, kiln_format(&a, "%s, KILN_GRAPHS=1 KILN_SEED=%" PRIu64, name, seed),
                part, &known, seed, true, &t);
        kiln_arena_fini(&a);
    }
    graph_trial_report(&t);
}

static void parts_of_the_zoo(void **state) {
    const char *name = *state;
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    const kiln_zoo_network *network = NULL;
    kiln_graph *g = NULL;
    kiln_assert_status_ok(kiln_zoo_find(name, &network, &err), &err);
    kiln_assert_status_ok(kiln_zoo_import(&a, network, 1, KILN_ZOO_FILLED, &g, &err),
                          &err);
    check_parts(name, g);
    kiln_arena_fini(&a);
}

static void parts_of_models(void **state) {
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    kiln_import_report report = {0};
    const char *path = kiln_test_shared(*state);
    kiln_assert_status_ok(kiln_import(&a, path, NULL, &g, &report, &err), &err);
    check_parts(*state, g);
    kiln_arena_fini(&a);
}

/* Not the language model: of its cells, the reference takes too long. */
int main(void) {
    static const char *const networks[] = {"resnet18", "mobilenet_v2", "dqn", "dcgan",
                                           "bert_mini"};
    static const char *const models[] = {
        "models/files/blazeface_front_onnx/face_detection_front_128x128_barracuda.onnx",
        "models/files/mlsd_320_tiny_onnx/mlsd_320x320_tiny.onnx"};
    kiln_test_add("random_graphs", random_graphs, NULL);
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++)
        kiln_test_add(networks[i], parts_of_the_zoo, (void *)(uintptr_t)networks[i]);
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        kiln_test_add(models[i], parts_of_models, (void *)(uintptr_t)models[i]);
    return kiln_test_run("rewritten graphs");
}
