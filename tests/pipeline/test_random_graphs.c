/* Whole graphs drawn at random, compiled in many ways, against the reference.
 *
 *   KILN_SEED=N    the first graph's seed; each graph has the seed after the last one's
 *   KILN_GRAPHS=N  so many graphs
 *   KILN_SOAK=1    more graphs, each in every way; else each in a few ways
 *
 * What is wrong is reduced and printed as text: with a sentence it becomes a file of
 * tests/corpus/graphs, and is compiled in every way from then on, under a sanitizer in
 * a third of them. */
#include <inttypes.h>
#include <string.h>

#include "pipeline/devices/devices.h"
#include "tests/support/graph/graph_reduce.h"
#include "tests/support/graph/graph_trial.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_graph.h"

#define CORPUS "tests/corpus/graphs"

/* ---- random graphs --------------------------------------------------------------- */

static int n_missing(const int64_t *made) {
    int n = 0;
    for (int k = 0; k < KILN_N_OPS; k++)
        n += made[k] == 0;
    return n;
}

/* Rare ones come up within a few hundred graphs. */
static void every_operator_is_made(void **state) {
    enum { MOST_GRAPHS = 6000 };
    static int64_t made[KILN_N_OPS];
    (void)state;
    for (int i = 0; random_graph_gap_at(i) != NULL; i++)
        for (int k = 0; k < KILN_N_OPS; k++)
            made[k] += random_graph_gap_at(i)->op == kiln_op_at(k);
    for (uint64_t seed = 0; seed < MOST_GRAPHS && n_missing(made) > 0; seed++) {
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
    for (int k = 0; k < KILN_N_OPS; k++)
        if (made[k] == 0)
            fail_msg("operator '%s' must be made by a family of random_graph.def, or "
                     "random_graph_gap_at must say why not",
                     kiln_op_at(k)->name);
}

static void random_graphs_compute_what_they_say(void **state) {
    graph_way way[GRAPH_MAX_WAYS];
    graph_tally t = {.n_graphs = graph_trial_count(60, 3000)};
    const uint64_t first = kiln_test_seed();
    (void)state;
    for (uint64_t i = 0; i < (uint64_t)t.n_graphs; i++) {
        kiln_arena a = {0};
        random_graph r;
        random_graph_make(&a, first + i, &r);
        const int n = graph_trial_ways(first + i, way);
        graph_trial_check(
            kiln_format(&a, "KILN_GRAPHS=1 KILN_SEED=%" PRIu64, first + i), r.graph,
            &r.values, way, n, &t);
        kiln_arena_fini(&a);
    }
    graph_trial_report(&t);
}

/* Emulated, and so a few. */
static void graphs_for_aarch64(void **state) {
    graph_tally t = {.n_graphs = graph_trial_count(10, 200)};
    const uint64_t first = kiln_test_seed() + 104729;
    kiln_profile p;
    const kiln_device *d = NULL;
    kiln_err err = {.status = KILN_OK};
    (void)state;
    kiln_assert_status_ok(kiln_profile_find(kiln_test_arena(), "aarch64", &p, &err),
                          &err);
    if (kiln_device_find_for(kiln_test_arena(), NULL, &p, &d, &err) != KILN_OK)
        kiln_test_skip("%s", err.text);
    for (uint64_t seed = first; seed < first + (uint64_t)t.n_graphs; seed++) {
        kiln_arena a = {0};
        random_graph r;
        const graph_way way = {.profile = seed % 3 == 0 ? "aarch64-dotprod" : "aarch64",
                               .is_strict = seed % 2 == 0,
                               .is_fused = seed % 5 != 0,
                               .is_optimized = seed % 7 != 0,
                               .random_configs = seed % 4 == 0,
                               .random_layouts = seed % 4 >= 2,
                               .seed = seed};
        random_graph_make(&a, seed, &r);
        graph_trial_check(
            kiln_format(&a, "KILN_GRAPHS=1 KILN_SEED=%" PRIu64, seed - 104729), r.graph,
            &r.values, &way, 1, &t);
        kiln_arena_fini(&a);
    }
    graph_trial_report(&t);
}

/* ---- what is allowed ------------------------------------------------------------- */

static const graph_value *value_of(const char *text, size_t output, graph_values *v) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "test", &g, &err),
                          &err);
    graph_values_init(v, a, 1);
    kiln_assert_status_ok(graph_values_run(v, g, &err), &err);
    return graph_values_get(v, g->outputs.v[output]);
}

/* x * y - x * y may be the rounding of x * y, where the second product goes into the
 * sum as it is; x - x is 0. */
static void a_product_less_itself_hangs_on_rounding(void **state) {
    const char *text = "graph \"g\" { input %x : f32[5] input %y : f32[5] "
                       "%m = mul(%x, %y) %s = sub(%m, %m) %d = sub(%x, %x) "
                       "output %s output %d }";
    const float rounding[5] = {1e-8F, -1e-8F, 1e-8F, 1e-8F, 1e-8F};
    graph_values v;
    (void)state;
    const graph_diff s = graph_value_compare(value_of(text, 0, &v), rounding, 1);
    assert_int_equal(s.n_bad, 0);
    assert_int_equal(s.n_loose, 5);
    const graph_diff d = graph_value_compare(value_of(text, 1, &v), rounding, 1);
    assert_int_equal(d.n_bad, 5);
}

/* Products of values one last place off, whose signs differ in all drawn runs for some
 * of 16384: the cast leaves them nothing else to be judged by. */
static void errors_of_two_factors_do_not_cancel(void **state) {
    const char *text = "graph \"g\" { input %x : f32[128] %m = mul(%x, %x) "
                       "%c = cast(%m) {to=f64} %a = reshape(%c) {shape=[128, 1]} "
                       "%b = reshape(%c) {shape=[1, 128]} %p = matmul(%a, %b) "
                       "output %p }";
    enum { N = 128 * 128 };
    double got[N];
    graph_values v;
    (void)state;
    const graph_value *want = value_of(text, 0, &v);
    const double *exact = want->run[0].data;
    for (int i = 0; i < N; i++)
        got[i] = exact[i] * (1 + 0x1p-24);
    const graph_diff d = graph_value_compare(want, got, 1);
    assert_int_equal(d.n_bad, 0);
    assert_int_equal(d.n_loose, 0);
    for (int i = 0; i < N; i++)
        got[i] = exact[i] * (1 + 0x1p-18);
    assert_int_equal(graph_value_compare(want, got, 1).n_bad, N);
}

/* One last place is a large step of theirs, and would hang on rounding as such. */
static void codes_of_few_bits_are_the_same_or_not(void **state) {
    graph_values v;
    unsigned char got[6];
    (void)state;
    const graph_value *want = value_of("graph \"g\" { input %x : f32[6] "
                                       "%y = cast_low(%x) {to=f8e4m3fn} output %y }",
                                       0, &v);
    memcpy(got, want->run[0].data, sizeof got);
    graph_diff d = graph_value_compare(want, got, 1);
    assert_int_equal(d.n_bad, 0);
    assert_int_equal(d.n_compared, 6);
    got[2] ^= 1;
    d = graph_value_compare(want, got, 1);
    assert_int_equal(d.n_bad, 1);
    assert_int_equal(d.worst_index, 2);
}

/* ---- the corpus ------------------------------------------------------------------ */

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

/* Under a sanitizer every third: of profiles there are eight ways each, so that all of
 * both come up. The code that they make is the same code in other variants. */
static int corpus_ways(graph_way *way) {
    const int step = kiln_test_cases(3) == 1 ? 3 : 1;
    const int n = graph_all_ways(1, way);
    int kept = 0;
    for (int i = 0; i < n; i += step)
        way[kept++] = way[i];
    return kept;
}

static void what_failed_once_stays_right(void **state) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    graph_values known;
    graph_way way[GRAPH_MAX_WAYS];
    graph_tally t = {.n_graphs = 1};
    const kiln_graph *g = read_file(a, *state);
    graph_values_init(&known, a, 1);
    kiln_assert_status_ok(graph_values_run(&known, g, &err), &err);
    graph_trial_check(*state, g, &known, way, corpus_ways(way), &t);
    graph_trial_report(&t);
}

int main(void) {
    kiln_test_add("every_operator_is_made", every_operator_is_made, NULL);
    kiln_test_add("random_graphs_compute_what_they_say",
                  random_graphs_compute_what_they_say, NULL);
    kiln_test_add("graphs_for_aarch64", graphs_for_aarch64, NULL);
    kiln_test_add("a_product_less_itself_hangs_on_rounding",
                  a_product_less_itself_hangs_on_rounding, NULL);
    kiln_test_add("errors_of_two_factors_do_not_cancel",
                  errors_of_two_factors_do_not_cancel, NULL);
    kiln_test_add("codes_of_few_bits_are_the_same_or_not",
                  codes_of_few_bits_are_the_same_or_not, NULL);
    kiln_test_add_golden(CORPUS, what_failed_once_stays_right);
    return kiln_test_run("random graphs");
}
