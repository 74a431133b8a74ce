/* The reduce template: any axes of any shape, long rows far apart among them, with
 * random configurations, equal the reference. Tolerance: sums of at most 2000 terms
 * below 1 in f32, in any order, are within 2000 * 2^-24 * 2000 / 2 = 0.06 at worst and
 * within 2e-3 in every draw seen; maxima are exact. */
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_work.h"
#include "tests/support/kernel/template_check.h"

typedef struct reduction {
    const kiln_op_def *op;
    bool is_long; /* rows of more than eight vectors, 1 KiB apart and more */
} reduction;

static kiln_graph *random_reduction(kiln_arena *a, kiln_rng *rng,
                                    const template_property *p) {
    const reduction *r = p->of;
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
    if (r->is_long) { /* [some, rows, columns] over the rows */
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
        .op = r->op, .in = &x, .n_in = 1, .args = args, .n_args = 2};
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &node, &err), &err);
    kiln_value *y = node->out[0];
    if (kiln_rng_range(rng, 0, 2) == 0 && kiln_dtype_is_float(p->dtype))
        y = graph_node(g, &kiln_op_relu, &y, 1);
    kiln_graph_add_output(g, y, "y");
    return g;
}

static const reduction sum = {&kiln_op_reduce_sum, false};
static const reduction sum_of_long = {&kiln_op_reduce_sum, true};
static const reduction mean = {&kiln_op_reduce_mean, false};
static const reduction mean_of_long = {&kiln_op_reduce_mean, true};
static const reduction max = {&kiln_op_reduce_max, false};
static const reduction max_of_long = {&kiln_op_reduce_max, true};
static const reduction log_sum_exp = {&kiln_op_reduce_log_sum_exp, false};

static template_property properties[] = {
    {"sums", KILN_F32, 1e-5, 2e-3, 60, &sum},
    {"sums_across_long_rows", KILN_F32, 1e-5, 2e-3, 24, &sum_of_long},
    {"means", KILN_F32, 1e-5, 1e-4, 20, &mean},
    {"means_across_long_rows", KILN_F32, 1e-5, 1e-4, 8, &mean_of_long},
    {"largest", KILN_F32, 0, 0, 20, &max},
    {"largest_across_long_rows", KILN_F32, 0, 0, 8, &max_of_long},
    {"integers", KILN_I32, 0, 0, 12, &sum},
    {"halves", KILN_F16, 4e-3, 4e-3, 12, &mean},
    {"exponentials", KILN_F32, 1e-5, 1e-5, 12, &log_sum_exp},
};

static void random_configurations(void **state) {
    template_property_check(*state, &kiln_template_reduce, random_reduction);
}

int main(void) {
    kiln_test_add_rows(random_configurations, properties);
    return kiln_test_run("template_reduce");
}
