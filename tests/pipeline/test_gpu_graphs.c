/* Whole graphs drawn at random, compiled for a GPU beside this machine, against the
 * reference. Skipped by name where there is no such device.
 *
 *   KILN_SEED=N    the first graph's seed; each graph has the seed after the last one's
 *   KILN_GRAPHS=N  so many graphs
 *   KILN_TEST_GPU=cuda, KILN_TEST_PROFILE=cuda-sm90
 *                  on this kind of device, by this profile: OpenCL's by PoCL otherwise
 *                  (tools/gpu-kit.sh carries this program to machines with a GPU) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device.h"
#include "tests/support/graph/graph_trial.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_graph.h"

static void *alloc(void *user, size_t bytes) { return kiln_arena_alloc(user, bytes); }

static void release(void *user, void *block) {
    (void)user;
    (void)block;
}

static void open_device(void *kind, graph_verdict *out) {
    const kiln_allocator memory = {alloc, release, kiln_test_arena()};
    const kiln_device_kind *k = kiln_device_kind_named(kind, NULL, 0);
    kiln_device *d = NULL;
    char error[KILN_ERROR_TEXT] = "";
    KILN_ASSERT(k != NULL, "there is no such kind of device");
    if (k->open(&memory, &d, error) == 0)
        k->close(d);
    else
        out->outcome = GRAPH_REFUSED;
    memcpy(out->text, error, sizeof error);
}

/* Skips the test where the kind cannot be opened: asked in a child, since a driver's
 * threads do not live on in this one's. */
static void need_device(const char *kind) {
    enum { LIMIT_S = 60 };
    char name[16];
    graph_verdict v;
    snprintf(name, sizeof name, "%s", kind);
    graph_in_child(open_device, name, LIMIT_S, &v);
    if (v.outcome == GRAPH_REFUSED)
        kiln_test_skip("%s", v.text);
    assert_int_equal(v.outcome, GRAPH_RIGHT);
}

static const char *from_environment(const char *name, const char *otherwise) {
    const char *told = getenv(name);
    return told != NULL && told[0] != '\0' ? told : otherwise;
}

static void graphs_on_a_gpu(void **state) {
    graph_tally t = {.n_graphs = graph_trial_count(12, 1000)};
    const uint64_t first = kiln_test_seed() + 1299709;
    (void)state;
    need_device(from_environment("KILN_TEST_GPU", "opencl"));
    for (uint64_t seed = first; seed < first + (uint64_t)t.n_graphs; seed++) {
        kiln_arena a = {0};
        random_graph r;
        const graph_way way = {.profile =
                                   from_environment("KILN_TEST_PROFILE", "opencl-pocl"),
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
    kiln_test_add("graphs_on_a_gpu", graphs_on_a_gpu, NULL);
    return kiln_test_run("graphs on GPUs");
}
