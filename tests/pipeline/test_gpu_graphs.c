/* Whole graphs drawn at random, compiled for a GPU beside this machine, against the
 * reference. Skipped by name where there is no such device.
 *
 *   KILN_SEED=N    the first graph's seed; each graph has the seed after the last one's
 *   KILN_GRAPHS=N  so many graphs */
#include <inttypes.h>

#include "runtime/device.h"
#include "tests/support/graph_trial.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random_graph.h"

static void *alloc(void *user, size_t bytes) { return kiln_arena_alloc(user, bytes); }

static void release(void *user, void *block) {
    (void)user;
    (void)block;
}

/* Skips the test where the kind cannot be opened. */
static void need_device(const char *kind) {
    const kiln_allocator memory = {alloc, release, kiln_test_arena()};
    const kiln_device_kind *k = kiln_device_kind_named(kind, NULL, 0);
    kiln_device *d = NULL;
    char error[KILN_ERROR_TEXT] = "";
    assert_non_null(k);
    if (k->open(&memory, &d, error) != 0)
        kiln_test_skip("%s", error);
    k->close(d);
}

static void graphs_on_opencl(void **state) {
    graph_tally t = {.n_graphs = graph_trial_count(12, 1000)};
    const uint64_t first = kiln_test_seed() + 1299709;
    (void)state;
    need_device("opencl");
    for (uint64_t seed = first; seed < first + (uint64_t)t.n_graphs; seed++) {
        kiln_arena a = {0};
        random_graph r;
        const graph_way way = {.profile = "opencl-pocl",
                               .is_strict = seed % 2 == 0,
                               .is_fused = seed % 5 != 0,
                               .is_optimized = seed % 7 != 0,
                               .random_configs = seed % 3 == 0,
                               .seed = seed};
        random_graph_make(&a, seed, &r);
        graph_trial_check(
            kiln_format(&a, "KILN_GRAPHS=1 KILN_SEED=%" PRIu64, seed - 1299709),
            r.graph, &r.values, &way, 1, &t);
        kiln_arena_fini(&a);
    }
    graph_trial_report(&t);
}

int main(void) {
    kiln_test_add("graphs_on_opencl", graphs_on_opencl, NULL);
    return kiln_test_run("graphs on GPUs");
}
