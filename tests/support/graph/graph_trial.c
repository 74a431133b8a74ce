#include "tests/support/graph/graph_trial.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tests/support/graph/graph_reduce.h"
#include "tests/support/kiln_test.h"

enum { MAX_FAILURES = 5 };

static bool is_soak(void) { return getenv("KILN_SOAK") != NULL; }

int64_t graph_trial_count(int64_t quick, int64_t soak) {
    const char *wanted = getenv("KILN_GRAPHS");
    int64_t n = kiln_test_cases(is_soak() ? soak : quick);
    if (wanted != NULL && (!kiln_parse_i64(kiln_str_from(wanted), &n) || n < 1))
        fail_msg("KILN_GRAPHS must be a number, is '%s'", wanted);
    return n;
}

/* ---- ways ------------------------------------------------------------------------ */

int graph_all_ways(uint64_t seed, graph_way *way) {
    int n = 0;
    for (int i = 0; graph_profile_at(i) != NULL; i++)
        for (int bits = 0; bits < 8; bits++)
            way[n++] = (graph_way){.profile = graph_profile_at(i),
                                   .is_strict = bits % 2 != 0,
                                   .is_fused = bits != 4,
                                   .is_optimized = bits != 5,
                                   .random_configs = bits == 2 || bits == 3 || bits > 5,
                                   .random_layouts = bits >= 2 && bits < 6 && bits != 4,
                                   .is_searched = bits > 5,
                                   .chooser = bits == 1   ? "each"
                                              : bits == 5 ? "plain"
                                                          : NULL,
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
                             .is_searched = i == 1 && (bits & 0x30000) == 0,
                             .chooser = i == 0 || (bits & 0xc0000) != 0 ? NULL
                                        : (bits & 0x100000) != 0        ? "plain"
                                                                        : "each",
                             .seed = seed};
    }
    return 2;
}

int graph_trial_ways(uint64_t seed, graph_way *way) {
    return is_soak() ? graph_all_ways(seed, way) : some_ways(seed, way);
}

/* ---- results --------------------------------------------------------------------- */

static void count(graph_tally *t, const graph_verdict *v) {
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

/* ---- one graph in some ways ------------------------------------------------------ */

typedef struct job {
    const kiln_graph *g;
    graph_values *known;
    const graph_way *way;
} job;

static void check_way(void *arg, graph_verdict *out) {
    const job *j = arg;
    graph_check(j->g, j->known, j->way, out);
}

void graph_trial_check(const char *name, const kiln_graph *g, graph_values *known,
                       const graph_way *way, int n_ways, graph_tally *t) {
    for (int i = 0; i < n_ways; i++) {
        job j = {g, known, &way[i]};
        graph_verdict v;
        graph_in_child(check_way, &j, KILN_TEST_PATIENCE_S, &v);
        count(t, &v);
        if (v.outcome == GRAPH_RIGHT)
            continue;
        kiln_arena a = {0};
        graph_values small;
        print_error("%s is %s: %s: %s\n", name, graph_outcome_name(v.outcome),
                    graph_way_text(&a, &way[i]), v.text);
        if (++t->n_shown > MAX_FAILURES) {
            kiln_arena_fini(&a);
            continue;
        }
        show("reduced", graph_reduce(&a, g, known, &way[i], v.outcome,
                                     KILN_TEST_PATIENCE_S, &small));
        kiln_arena_fini(&a);
        return; /* the other ways would say the same */
    }
}

void graph_trial_report(const graph_tally *t) {
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
    if (t->n[GRAPH_REFUSED] > 0)
        fail_msg("%zu of %zu were refused", t->n[GRAPH_REFUSED], all);
    if (t->n_loose * 10 > t->n_compared)
        fail_msg("too much hangs on rounding: nothing is learnt from it");
}
