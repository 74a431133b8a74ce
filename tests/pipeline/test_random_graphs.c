/* Whole graphs drawn at random, compiled in many ways, against the reference.
 *
 *   KILN_SEED=N    the first graph's seed; each graph has the seed after the last one's
 *   KILN_GRAPHS=N  so many graphs
 *   KILN_SOAK=1    more graphs, each in every way; else each in a few ways
 *
 * What is wrong is reduced and printed as text: with a sentence it becomes a file of
 * tests/corpus/graphs, and is compiled in every way from then on. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/graph_reduce.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random_graph.h"

#define CORPUS "tests/corpus/graphs"
enum { LIMIT_S = 120, MAX_FAILURES = 5, MAX_WAYS = 128 };

static bool is_soak(void) { return getenv("KILN_SOAK") != NULL; }

static int64_t n_graphs(void) {
    const char *wanted = getenv("KILN_GRAPHS");
    int64_t n = kiln_test_cases(is_soak() ? 3000 : 60);
    if (wanted != NULL && (!kiln_parse_i64(kiln_str_from(wanted), &n) || n < 1))
        fail_msg("KILN_GRAPHS must be a number, is '%s'", wanted);
    return n;
}

/* ---- ways ------------------------------------------------------------------------
 */

static int all_ways(uint64_t seed, graph_way *way) {
    int n = 0;
    for (int i = 0; graph_profile_at(i) != NULL; i++)
        for (int bits = 0; bits < 6; bits++)
            way[n++] = (graph_way){.profile = graph_profile_at(i),
                                   .is_strict = bits % 2 != 0,
                                   .is_fused = bits != 4,
                                   .is_optimized = bits != 5,
                                   .random_configs = bits == 2 || bits == 3,
                                   .random_layouts = bits >= 2 && bits != 4,
                                   .seed = seed};
    return n;
}

/* Two: as users have it, and in another way. */
static int some_ways(uint64_t seed, graph_way *way) {
    kiln_rng rng;
    int n = 0;
    kiln_rng_init(&rng, seed);
    (void)kiln_rng_next(&rng);
    while (graph_profile_at(n) != NULL)
        n++;
    for (int i = 0; i < 2; i++) {
        const uint64_t bits = kiln_rng_next(&rng) >> 40;
        way[i] = (graph_way){.profile = graph_profile_at((int)(bits >> 8) % n),
                             .is_strict = (bits & 1) != 0,
                             .is_fused = i == 0 || (bits & 6) != 0,
                             .is_optimized = i == 0 || (bits & 24) != 0,
                             .random_configs = i == 1 && (bits & 32) != 0,
                             .random_layouts = i == 1 && (bits & 192) != 0,
                             .seed = seed};
    }
    return 2;
}

/* ---- results ---------------------------------------------------------------------
 */

typedef struct tally {
    size_t n[GRAPH_N_OUTCOMES]; /* ways */
    int64_t n_graphs, n_compared, n_loose, n_runs, n_conversions;
    double worst;
    int n_shown;
} tally;

static void count(tally *t, const graph_verdict *v) {
    t->n[v->outcome]++;
    t->n_compared += v->n_compared;
    t->n_loose += v->n_loose;
    t->n_runs += v->n_runs;
    t->n_conversions += v->n_conversions;
    t->worst = v->worst > t->worst ? v->worst : t->worst;
}

static void show(const char *what, const kiln_graph *g) {
    kiln_arena a = {0};
    kiln_buf text;
    kiln_buf_init(&text, &a);
    graph_put_text(&text, g);
    print_error("%s:\n%.*s", what, (int)text.n, text.p);
    kiln_arena_fini(&a);
}

/* ---- one graph in some ways -------------------------------------------------------
 */

typedef struct job {
    const kiln_graph *g;
    graph_values *known;
    const graph_way *way;
} job;

static void check_way(void *arg, graph_verdict *out) {
    const job *j = arg;
    graph_check(j->g, j->known, j->way, out);
}

static void check_graph(const char *name, const kiln_graph *g, graph_values *known,
                        const graph_way *way, int n_ways, tally *t) {
    for (int i = 0; i < n_ways; i++) {
        job j = {g, known, &way[i]};
        graph_verdict v;
        graph_in_child(check_way, &j, LIMIT_S, &v);
        count(t, &v);
        if (v.outcome == GRAPH_RIGHT)
            continue;
        kiln_arena a = {0};
        graph_values small;
        print_error("%s is %s: %s: %s\n", name, graph_outcome_name(v.outcome),
                    graph_way_text(&a, &way[i]), v.text);
        if (++t->n_shown > MAX_FAILURES) {
            kiln_arena_fini(&a);
            return;
        }
        show("reduced",
             graph_reduce(&a, g, known, &way[i], v.outcome, LIMIT_S, &small));
        kiln_arena_fini(&a);
        return; /* the other ways would say the same */
    }
}

/* ---- random graphs ---------------------------------------------------------------
 */

static void every_operator_is_made(void **state) {
    enum { GRAPHS = 1500 };
    static int64_t made[KILN_N_OPS];
    (void)state;
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        kiln_arena a = {0};
        random_graph r;
        kiln_err err = {.status = KILN_OK};
        random_graph_make(&a, seed, &r);
        kiln_assert_status_ok(kiln_graph_verify(r.graph, &err), &err);
        for (size_t i = 0; i < r.graph->nodes.n; i++)
            for (int k = 0; k < KILN_N_OPS; k++)
                made[k] += r.graph->nodes.v[i]->op == kiln_op_at(k);
        kiln_arena_fini(&a);
    }
    for (int i = 0; random_graph_gap_at(i) != NULL; i++)
        for (int k = 0; k < KILN_N_OPS; k++)
            made[k] += random_graph_gap_at(i)->op == kiln_op_at(k);
    for (int k = 0; k < KILN_N_OPS; k++)
        if (made[k] == 0)
            fail_msg("operator '%s' must be made by a family of random_graph.def, or "
                     "random_graph_gap_at must say why not",
                     kiln_op_at(k)->name);
}

static void report(const tally *t) {
    const size_t all = t->n[0] + t->n[1] + t->n[2] + t->n[3];
    print_message("%" PRId64 " graphs, %zu ways: %zu right, %zu wrong, %zu broken, %zu "
                  "refused; %" PRId64 " runs, %" PRId64 " conversions, %" PRId64
                  " elements compared, %" PRId64 " hang on rounding; the worst is %.3g "
                  "of what is allowed\n",
                  t->n_graphs, all, t->n[GRAPH_RIGHT], t->n[GRAPH_WRONG],
                  t->n[GRAPH_BROKEN], t->n[GRAPH_REFUSED], t->n_runs, t->n_conversions,
                  t->n_compared, t->n_loose, t->worst);
    if (t->n[GRAPH_WRONG] + t->n[GRAPH_BROKEN] > 0)
        fail_msg("%zu wrong, %zu broken", t->n[GRAPH_WRONG], t->n[GRAPH_BROKEN]);
    if (50 * t->n[GRAPH_REFUSED] > all)
        fail_msg("%zu of %zu were refused", t->n[GRAPH_REFUSED], all);
    if (t->n_loose * 10 > t->n_compared)
        fail_msg("too much hangs on rounding: nothing is learnt from it");
}

static void random_graphs_compute_what_they_say(void **state) {
    graph_way way[MAX_WAYS];
    tally t = {.n_graphs = n_graphs()};
    const uint64_t first = kiln_test_seed();
    (void)state;
    for (uint64_t i = 0; i < (uint64_t)t.n_graphs; i++) {
        kiln_arena a = {0};
        random_graph r;
        random_graph_make(&a, first + i, &r);
        const int n = is_soak() ? all_ways(first + i, way) : some_ways(first + i, way);
        check_graph(kiln_format(&a, "KILN_GRAPHS=1 KILN_SEED=%" PRIu64, first + i),
                    r.graph, &r.values, way, n, &t);
        kiln_arena_fini(&a);
    }
    report(&t);
}

/* ---- the corpus ------------------------------------------------------------------
 */

/* Why it is there, an empty line, the graph. */
static kiln_graph *read_file(kiln_arena *a, const char *path) {
    enum { MAX_BYTES = 1 << 20 };
    kiln_err err = {.status = KILN_OK};
    kiln_str text, line = {.n = 1};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(kiln_file_map(a, path, MAX_BYTES, &text, &err), &err);
    if (text.n == 0 || text.p[0] == '\n')
        fail_msg("'%s' must begin with a sentence that says why it is there", path);
    while (line.n > 0 && kiln_str_cut(&text, '\n', &line))
        continue;
    kiln_assert_status_ok(graph_read_text(a, text, path, &g, &err), &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    return g;
}

static void what_failed_once_stays_right(void **state) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    graph_values known;
    graph_way way[MAX_WAYS];
    tally t = {.n_graphs = 1};
    const kiln_graph *g = read_file(a, *state);
    graph_values_init(&known, a, 1);
    kiln_assert_status_ok(graph_values_run(&known, g, &err), &err);
    check_graph(*state, g, &known, way, all_ways(1, way), &t);
    report(&t);
}

int main(void) {
    kiln_test_add("every_operator_is_made", every_operator_is_made, NULL);
    kiln_test_add("random_graphs_compute_what_they_say",
                  random_graphs_compute_what_they_say, NULL);
    kiln_test_add_golden(CORPUS, what_failed_once_stays_right);
    return kiln_test_run("random graphs");
}
