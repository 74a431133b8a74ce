/* The reduce template: any axes of any shape, long rows far apart among them, with
 * random configurations, equal the reference. Tolerance: sums of at most 2000 terms
 * below 1 in f32, in any order, are within 2000 * 2^-24 * 2000 / 2 = 0.06 at worst and
 * within 2e-3 in every draw seen; maxima are exact. */
#include "tests/support/kiln_test.h"
#include "tests/support/random_work.h"
#include "tests/support/template_check.h"

typedef struct property {
    const char *name;
    const kiln_op_def *op;
    kiln_dtype dtype;
    bool is_long; /* rows of more than eight vectors, 1 KiB apart and more */
    double rtol, atol;
    int runs;
} property;

static property properties[] = {
    {"sums", &kiln_op_reduce_sum, KILN_F32, false, 1e-5, 2e-3, 60},
    {"sums_across_long_rows", &kiln_op_reduce_sum, KILN_F32, true, 1e-5, 2e-3, 24},
    {"means", &kiln_op_reduce_mean, KILN_F32, false, 1e-5, 1e-4, 20},
    {"means_across_long_rows", &kiln_op_reduce_mean, KILN_F32, true, 1e-5, 1e-4, 8},
    {"largest", &kiln_op_reduce_max, KILN_F32, false, 0, 0, 20},
    {"largest_across_long_rows", &kiln_op_reduce_max, KILN_F32, true, 0, 0, 8},
    {"integers", &kiln_op_reduce_sum, KILN_I32, false, 0, 0, 12},
    {"halves", &kiln_op_reduce_mean, KILN_F16, false, 4e-3, 4e-3, 12},
    {"exponentials", &kiln_op_reduce_log_sum_exp, KILN_F32, false, 1e-5, 1e-5, 12},
};

static kiln_graph *random_reduction(kiln_arena *a, kiln_rng *rng, const property *p) {
    static const int64_t sizes[] = {1, 2, 3, 7, 16, 17, 33};
    int64_t dim[KILN_MAX_RANK], axis[KILN_MAX_RANK];
    int rank = (int)kiln_rng_range(rng, 1, 4);
    size_t n_axes = 0;
    kiln_err err = {0};
    kiln_node *node = NULL;
    for (int i = 0; i < rank; i++) {
        dim[i] = random_pick(rng, sizes, rank == 4 ? 5 : 7);
        if (kiln_rng_range(rng, 0, 1) == 0)
            axis[n_axes++] = i;
    }
    if (p->is_long) { /* [some, rows, columns] over the rows */
        rank = 3;
        dim[0] = kiln_rng_range(rng, 1, 2);
        dim[1] = kiln_rng_range(rng, 16, 37);
        dim[2] = kiln_rng_range(rng, 256, 300);
        n_axes = 1;
        axis[0] = 1;
    }
    kiln_graph *g = kiln_graph_new(a, "reduction");
    const kiln_type t = kiln_type_make(p->dtype, rank, dim);
    const kiln_attr_arg args[] = {
        kiln_arg_ints("axes", axis, n_axes),
        kiln_arg_bool("keepdims", kiln_rng_range(rng, 0, 1) == 0)};
    kiln_value *x = random_operand(g, "x", &t, false, 0);
    const kiln_node_spec spec = {
        .op = p->op, .in = &x, .n_in = 1, .args = args, .n_args = 2};
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &node, &err), &err);
    kiln_value *y = node->out[0];
    if (kiln_rng_range(rng, 0, 2) == 0 && kiln_dtype_is_float(p->dtype))
        y = graph_node(g, &kiln_op_relu, &y, 1);
    kiln_graph_add_output(g, y, "y");
    return g;
}

static void random_configurations(void **state) {
    const property *p = *state;
    template_runs runs = {.n = p->runs};
    for (int64_t i = 0; template_runs_next(&runs, i); i++) {
        const template_check t = {
            .tmpl = &kiln_template_reduce, .rtol = p->rtol, .atol = p->atol};
        assert_true(
            template_runs_check(&runs, &t, random_reduction(runs.arena, &runs.rng, p)));
    }
}

int main(void) {
    kiln_test_add_rows(random_configurations, properties);
    return kiln_test_run("template_reduce");
}
