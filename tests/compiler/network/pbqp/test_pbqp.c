/* Least costs: by tables and by reductions against all combinations, on random graphs;
 * where these are too many, reductions against tables. */
#include "compiler/network/pbqp/pbqp.h"
#include "tests/support/kiln_test.h"

#include <math.h>

enum { MAX_OPTIONS = 6, MAX_CELLS = 1 << 22 };

/* ---- drawing --------------------------------------------------------------------- */

/* Small whole numbers, so that sums are exact and many options cost the same; some are
 * forbidden. */
static double draw_cost(kiln_rng *rng, int forbidden) {
    if (kiln_rng_range(rng, 0, 99) < forbidden)
        return HUGE_VAL;
    return (double)kiln_rng_range(rng, 0, 9);
}

static void draw_costs(kiln_rng *rng, double *cost, int n, int forbidden) {
    for (int i = 0; i < n; i++)
        cost[i] = draw_cost(rng, forbidden);
}

static void draw_edge(kiln_arena *a, kiln_rng *rng, kiln_pbqp *p, int x, int y,
                      int forbidden) {
    double cost[MAX_OPTIONS * MAX_OPTIONS];
    draw_costs(rng, cost, p->node.v[x].n * p->node.v[y].n, forbidden);
    kiln_pbqp_add_edge(a, p, x, y, cost);
}

/* Each node is tied to some of the `reach` before it. */
static kiln_pbqp draw(kiln_arena *a, kiln_rng *rng, int n, int max_options, int reach,
                      int share, int forbidden) {
    kiln_pbqp p = {.node = {.n = 0}};
    for (int i = 0; i < n; i++) {
        double cost[MAX_OPTIONS];
        const int options = (int)kiln_rng_range(rng, 1, max_options);
        draw_costs(rng, cost, options, forbidden);
        (void)kiln_pbqp_add_node(a, &p, options, cost);
        for (int k = i > reach ? i - reach : 0; k < i; k++)
            if (kiln_rng_range(rng, 0, 99) < share) {
                const bool turned = kiln_rng_range(rng, 0, 1) != 0;
                draw_edge(a, rng, &p, turned ? i : k, turned ? k : i, forbidden);
            }
    }
    return p;
}

/* ---- all combinations ------------------------------------------------------------ */

static bool go_on(const kiln_pbqp *p, int *option) {
    for (size_t i = 0; i < p->node.n; i++) {
        if (++option[i] < p->node.v[i].n)
            return true;
        option[i] = 0;
    }
    return false;
}

static double least_of_all(const kiln_pbqp *p) {
    int option[16] = {0};
    double least = HUGE_VAL;
    do
        least = fmin(least, kiln_pbqp_cost(p, option));
    while (go_on(p, option));
    return least;
}

static void assert_answer(const kiln_pbqp *p, const kiln_pbqp_answer *x, uint64_t seed,
                          int64_t round) {
    const double cost = kiln_pbqp_cost(p, x->option);
    bool is_right = (isinf(cost) && isinf(x->cost)) || cost == x->cost;
    for (size_t i = 0; i < p->node.n; i++)
        is_right = is_right && x->option[i] >= 0 && x->option[i] < p->node.v[i].n;
    if (!is_right)
        fail_msg("seed %llu, round %lld: an answer that costs %g says %g",
                 (unsigned long long)seed, (long long)round, cost, x->cost);
}

/* Both say that it is the least: by tables always, by reductions where they guessed
 * nothing. A problem that allows nothing costs an infinity either way. */
static void least_on_small_graphs(void **state) {
    (void)state;
    enum { MAX_NODES = 7, MAX_SMALL = 4 };
    const uint64_t seed = kiln_test_seed();
    const int64_t n = kiln_test_cases(9000);
    int64_t n_exact = 0, n_guessed = 0, n_missed = 0;
    kiln_rng rng;
    kiln_rng_init(&rng, seed);
    for (int64_t round = 0; round < n; round++) {
        kiln_arena a = {0};
        kiln_pbqp_answer tables, reductions;
        const kiln_pbqp p =
            draw(&a, &rng, (int)kiln_rng_range(&rng, 0, MAX_NODES), MAX_SMALL,
                 (int)kiln_rng_range(&rng, 1, MAX_NODES),
                 (int)kiln_rng_range(&rng, 20, 100), (int)(round % 3) * 8);
        const double least = least_of_all(&p);
        assert_true(kiln_pbqp_solve_by_tables(&a, &p, MAX_CELLS, &tables));
        kiln_pbqp_solve_by_reductions(&a, &p, &reductions);
        assert_answer(&p, &tables, seed, round);
        assert_answer(&p, &reductions, seed, round);
        if (!(tables.cost == least) || !tables.is_least)
            fail_msg("seed %llu, round %lld: tables %g, least %g",
                     (unsigned long long)seed, (long long)round, tables.cost, least);
        if (reductions.is_least != (reductions.n_guessed == 0) ||
            reductions.cost < least ||
            (reductions.is_least && !(reductions.cost == least)))
            fail_msg("seed %llu, round %lld: reductions %g, least %g",
                     (unsigned long long)seed, (long long)round, reductions.cost,
                     least);
        n_exact += reductions.is_least;
        n_guessed += !reductions.is_least;
        n_missed += reductions.cost > least;
        kiln_arena_fini(&a);
    }
    print_message("%lld problems; reductions alone: %lld, with guesses: %lld, of which "
                  "%lld missed the least\n",
                  (long long)n, (long long)n_exact, (long long)n_guessed,
                  (long long)n_missed);
    assert_true(n_exact > n / 4);
    assert_true(n_guessed > n / 40);
}

/* ---- larger ones ----------------------------------------------------------------- */

/* Costs as networks have them: options by layouts, pairs free where these are equal. */
static kiln_pbqp draw_network(kiln_arena *a, kiln_rng *rng, int n, int reach) {
    enum { LAYOUTS = 3 };
    kiln_pbqp p = {.node = {.n = 0}};
    for (int i = 0; i < n; i++) {
        double cost[LAYOUTS];
        for (int k = 0; k < LAYOUTS; k++)
            cost[k] = 10 + 10 * kiln_rng_unit(rng);
        (void)kiln_pbqp_add_node(a, &p, LAYOUTS, cost);
        for (int k = i > reach ? i - reach : 0; k < i; k++) {
            double convert[LAYOUTS * LAYOUTS] = {0};
            if (k + 1 < i && kiln_rng_range(rng, 0, 99) >= 40)
                continue;
            for (int x = 0; x < LAYOUTS * LAYOUTS; x++)
                convert[x] = x % (LAYOUTS + 1) == 0 ? 0 : 8 * kiln_rng_unit(rng);
            kiln_pbqp_add_edge(a, &p, k, i, convert);
        }
    }
    return p;
}

static void reductions_are_near_on_large_graphs(void **state) {
    (void)state;
    const uint64_t seed = kiln_test_seed();
    const int64_t n = kiln_test_cases(120);
    double worst = 1, sum = 0;
    int64_t n_guessed = 0, n_least = 0, n_near = 0;
    kiln_rng rng;
    kiln_rng_init(&rng, seed);
    for (int64_t round = 0; round < n; round++) {
        kiln_arena a = {0};
        kiln_pbqp_answer tables, reductions;
        const kiln_pbqp p =
            draw_network(&a, &rng, (int)kiln_rng_range(&rng, 20, 120), 6);
        assert_true(kiln_pbqp_solve_by_tables(&a, &p, MAX_CELLS, &tables));
        kiln_pbqp_solve_by_reductions(&a, &p, &reductions);
        const double ratio = reductions.cost / tables.cost;
        n_guessed += reductions.n_guessed > 0;
        n_least += ratio < 1 + 1e-9;
        n_near += ratio <= 1.02;
        worst = fmax(worst, ratio);
        sum += ratio;
        kiln_arena_fini(&a);
    }
    print_message("%lld problems, %lld with guesses: the least in %lld, within 2%% in "
                  "%lld, mean %.4f of the least, at most %.4f\n",
                  (long long)n, (long long)n_guessed, (long long)n_least,
                  (long long)n_near, sum / (double)n, worst);
    assert_true(n_guessed > n / 2);
    if (n_near * 20 < n * 19 || worst > 1.05 || sum / (double)n > 1.005)
        fail_msg("seed %llu: reductions are %.4f of the least at worst",
                 (unsigned long long)seed, worst);
}

/* ---- by hand --------------------------------------------------------------------- */

static void a_limit_leaves_tables_alone(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_rng rng;
    kiln_pbqp_answer x = {.n_guessed = -1};
    kiln_rng_init(&rng, kiln_test_seed());
    const kiln_pbqp p = draw(&a, &rng, 12, 4, 12, 100, 0);
    assert_false(kiln_pbqp_solve_by_tables(&a, &p, 64, &x));
    assert_int_equal(x.n_guessed, -1);
    kiln_pbqp_solve(&a, &p, 64, &x);
    assert_true(x.n_guessed > 0);
    assert_false(x.is_least);
    kiln_pbqp_solve(&a, &p, (int64_t)1 << 40, &x);
    assert_true(x.is_least);
    kiln_arena_fini(&a);
}

/* A chain takes tables of one node, however long it is. */
static void chains_are_cheap(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_rng rng;
    kiln_pbqp_answer x, y;
    kiln_rng_init(&rng, kiln_test_seed());
    const kiln_pbqp p = draw(&a, &rng, 3000, MAX_OPTIONS, 1, 100, 0);
    assert_true(kiln_pbqp_solve_by_tables(&a, &p, MAX_CELLS, &x));
    assert_true(x.n_largest <= MAX_OPTIONS * MAX_OPTIONS);
    kiln_pbqp_solve_by_reductions(&a, &p, &y);
    assert_int_equal(y.n_guessed, 0);
    assert_true(x.cost == y.cost);
    kiln_arena_fini(&a);
}

/* Greedy would take the cheap options of both ends, and pay between them. */
static void neighbours_count(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_pbqp p = {.node = {.n = 0}};
    kiln_pbqp_answer x;
    const int first = kiln_pbqp_add_node(&a, &p, 2, (const double[]){1, 2});
    const int second = kiln_pbqp_add_node(&a, &p, 2, (const double[]){2, 1});
    kiln_pbqp_add_edge(&a, &p, second, first, (const double[]){0, 3, 3, 0.5});
    kiln_pbqp_solve(&a, &p, MAX_CELLS, &x);
    assert_true(x.cost == 3);
    assert_int_equal(x.option[first], 0);
    assert_int_equal(x.option[second], 0);
    kiln_arena_fini(&a);
}

static void equal_costs_take_the_first(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_pbqp p = {.node = {.n = 0}};
    kiln_pbqp_answer x, y;
    const double zeros[MAX_OPTIONS * MAX_OPTIONS] = {0};
    for (int i = 0; i < 5; i++)
        (void)kiln_pbqp_add_node(&a, &p, 3, zeros);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < i; k++)
            kiln_pbqp_add_edge(&a, &p, i, k, zeros);
    assert_true(kiln_pbqp_solve_by_tables(&a, &p, MAX_CELLS, &x));
    kiln_pbqp_solve_by_reductions(&a, &p, &y);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(x.option[i], 0);
        assert_int_equal(y.option[i], 0);
    }
    kiln_arena_fini(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_on_small_graphs),
        cmocka_unit_test(reductions_are_near_on_large_graphs),
        cmocka_unit_test(a_limit_leaves_tables_alone),
        cmocka_unit_test(chains_are_cheap),
        cmocka_unit_test(neighbours_count),
        cmocka_unit_test(equal_costs_take_the_first),
    };
    kiln_test_add_tests(tests);
    return kiln_test_run("quadratic problems of options");
}
