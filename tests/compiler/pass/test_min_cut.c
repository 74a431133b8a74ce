/* The minimum cut against all cuts, of small random networks. */
#include "compiler/pass/min_cut.h"

#include "tests/support/kiln_test.h"

enum { N_GRAPHS = 400, MAX_NODES = 9, MAX_EDGES = 24 };

typedef struct edge {
    int from, to;
    int64_t price;
} edge;

static int64_t price_of(const edge *e, int n, unsigned source_side) {
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        if ((source_side >> e[i].from & 1u) != 0 && (source_side >> e[i].to & 1u) == 0)
            sum += e[i].price;
    return sum;
}

static void check_one(uint64_t seed) {
    kiln_arena a = {0};
    kiln_rng rng;
    kiln_cut c;
    edge e[MAX_EDGES];
    bool is_source[MAX_NODES];
    kiln_rng_init(&rng, seed);
    kiln_cut_init(&c, &a);
    const int n = (int)kiln_rng_range(&rng, 2, MAX_NODES);
    const int n_edges = (int)kiln_rng_range(&rng, 0, MAX_EDGES);
    for (int i = 2; i < n; i++)
        assert_int_equal(kiln_cut_add_node(&c), i);
    for (int i = 0; i < n_edges; i++) {
        e[i] = (edge){(int)kiln_rng_range(&rng, 0, n - 1),
                      (int)kiln_rng_range(&rng, 0, n - 1), kiln_rng_range(&rng, 0, 9)};
        if (e[i].price == 9 && e[i].from != KILN_CUT_SOURCE)
            e[i].price = KILN_CUT_NEVER / MAX_EDGES;
        kiln_cut_add_edge(&c, e[i].from, e[i].to, e[i].price);
    }
    int64_t best = INT64_MAX;
    int fewest = n;
    for (unsigned side = 0; side < 1u << n; side++) {
        if ((side & 1u) == 0 || (side & 2u) != 0)
            continue;
        const int64_t price = price_of(e, n_edges, side);
        int count = 0;
        for (int i = 0; i < n; i++)
            count += side >> i & 1u;
        if (price < best || (price == best && count < fewest))
            fewest = count;
        best = price < best ? price : best;
    }
    assert_int_equal(kiln_cut_solve(&c, is_source), best);
    unsigned side = 0;
    int count = 0;
    for (int i = 0; i < n; i++) {
        side |= is_source[i] ? 1u << i : 0;
        count += is_source[i];
    }
    assert_int_equal(price_of(e, n_edges, side), best);
    assert_int_equal(count, fewest);
    kiln_arena_fini(&a);
}

static void cuts_are_the_cheapest_of_all(void **state) {
    (void)state;
    const uint64_t seed = kiln_test_seed();
    for (uint64_t i = 0; i < N_GRAPHS; i++)
        check_one(seed + i);
}

int main(void) {
    kiln_test_add("cuts_are_the_cheapest_of_all", cuts_are_the_cheapest_of_all, NULL);
    return kiln_test_run("min_cut");
}
