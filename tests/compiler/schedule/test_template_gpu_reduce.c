/* gpu_reduce: every operator's golden graph that it takes (softmax, norms, sums along
 * rows), and random reductions, with random configurations, interpreted under three
 * orders of blocks and threads, equal the reference; each barrier is missed.
 *
 * Tolerance: as in test_template_reduce.c and test_generic.c. */
#include "tests/support/kernel/gpu_check.h"
#include "tests/support/graph/graph_part.h"
#include "tests/support/kiln_test.h"
#include "tests/support/gpu/opencl_leaks.h"
#include "tests/support/random/random_work.h"

#define FOLDER "tests/compiler/op/golden"

static template_property properties[] = {
    {"sums_are_the_reference", KILN_F32, 1e-4, 2e-3, 48, &kiln_op_reduce_sum},
    {"maxima_are_the_reference", KILN_F32, 0, 0, 12, &kiln_op_reduce_max},
    {"means_are_the_reference", KILN_F16, 1e-2, 1e-2, 6, &kiln_op_reduce_mean},
    {"positions_are_the_reference", KILN_F32, 0, 0, 12, &kiln_op_argmax},
    {"softmax_is_the_reference", KILN_F32, 1e-4, 1e-5, 48, &kiln_op_softmax},
};

/* Along the last axes, rows of one to 70 elements. */
static kiln_graph *draw(kiln_arena *a, kiln_rng *rng, const template_property *p) {
    static const int64_t sizes[] = {1, 2, 3, 7, 17}, lengths[] = {1, 5, 16, 33, 70};
    const kiln_op_def *op = p->of;
    int64_t dim[3], axis[2];
    const int rank = (int)kiln_rng_range(rng, 1, 3);
    const bool takes_axes = op != &kiln_op_softmax && op != &kiln_op_argmax;
    const size_t n_axes =
        rank > 1 && takes_axes ? (size_t)kiln_rng_range(rng, 1, 2) : 1;
    kiln_graph *g = kiln_graph_new(a, "rows");
    for (int i = 0; i < rank; i++)
        dim[i] = random_pick(rng, i + 1 < rank ? sizes : lengths, 5);
    for (size_t i = 0; i < n_axes; i++)
        axis[i] = rank - (int64_t)n_axes + (int64_t)i;
    const kiln_type t = kiln_type_make(p->dtype, rank, dim);
    const kiln_attr_arg args[] = {takes_axes ? kiln_arg_ints("axes", axis, n_axes)
                                             : kiln_arg_int("axis", axis[0])};
    kiln_value *x = kiln_graph_add_input(g, "x", &t);
    kiln_value *y = graph_node_with(g, op, &x, 1, args, 1);
    if (kiln_dtype_is_float(y->type.dtype) && kiln_rng_range(rng, 0, 1) == 0)
        y = graph_node(g, &kiln_op_relu, &y, 1);
    kiln_graph_add_output(g, y, "y");
    return g;
}

static void random_configurations(void **state) {
    const template_property *p = *state;
    const template_check t = {
        .tmpl = &kiln_template_gpu_reduce, .rtol = p->rtol, .atol = p->atol};
    template_runs runs = {.n = p->runs};
    for (int64_t i = 0; template_runs_next(&runs, i); i++)
        (void)template_runs_check(&runs, &t, draw(runs.arena, &runs.rng, p));
}

static void misses_each_barrier(void **state) {
    template_runs runs = {.n = 24};
    (void)state;
    for (int64_t i = 0; template_runs_next(&runs, i); i++)
        runs.n_checked += (int)gpu_check_barriers(
            &runs, &kiln_template_gpu_reduce,
            draw(runs.arena, &runs.rng, &properties[i % 2 == 0 ? 0 : 4]));
}

/* ---- operators ------------------------------------------------------------------- */

static int n_taken;

/* Node i by itself, where it is taken: what is guessed and two random configurations. */
static void takes_node(kiln_arena *a, const kiln_graph *whole, size_t i) {
    const kiln_profile *p = kiln_gpu_profile_at(1);
    const template_check t = {.tmpl = &kiln_template_gpu_reduce,
                              .profile = p,
                              .rtol = 0x1p-7,
                              .atol = 0x1p-8};
    const graph_part part = graph_part_window(a, whole, i, 1);
    graph_values from, to;
    kiln_err err = {0};
    kiln_workload w;
    kiln_space space;
    kiln_rng rng;
    graph_values_init(&from, a, 1);
    graph_values_init(&to, a, 1);
    const kiln_graph *g = graph_part_make(a, &part, &from, &to);
    if (kiln_workload_of(g, &w, &err) != KILN_OK || !kiln_template_fits(t.tmpl, &w, p))
        return;
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_space_init(&space, a);
    kiln_assert_status_ok(t.tmpl->space(&w, p, &space, &err), &err);
    kiln_config c = t.tmpl->guess(&w, p, &space);
    for (int k = 0; k < 3; k++) {
        assert_true(template_check_run(a, &t, &w, &space, &c, &err) || k > 0);
        c = kiln_config_random(&space, &rng);
    }
    n_taken++;
}

static void takes_operator(void **state) {
    const kiln_op_def *const op = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    kiln_test_golden golden;
    kiln_graph *g;
    const char *const path = kiln_format(a, FOLDER "/%s.txt", op->name);
    kiln_test_golden_read(path, &golden);
    kiln_assert_status_ok(kiln_graph_parse(a, golden.input, path, &g, &err), &err);
    const int before = n_taken;
    for (size_t i = 0; i < g->nodes.n; i++)
        takes_node(a, g, i);
    if (n_taken > before)
        print_message("%s: %d nodes\n", op->name, n_taken - before);
}

static void some_are_taken(void **state) {
    (void)state;
    print_message("%d nodes\n", n_taken);
    assert_true(n_taken > 0);
}

OPENCL_LEAKS_ARE_THE_DRIVERS

int main(void) {
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++)
        kiln_test_add(properties[i].name, random_configurations, &properties[i]);
    kiln_test_add("misses_each_barrier", misses_each_barrier, NULL);
    for (int i = 0; i < (int)KILN_N_OPS; i++)
        kiln_test_add(kiln_op_at(i)->name, takes_operator,
                      (void *)(uintptr_t)kiln_op_at(i));
    kiln_test_add("some_are_taken", some_are_taken, NULL);
    return kiln_test_run("gpu_reduce");
}
