/* Element-wise operators at the edges of every dtype: NaN, infinities, zeros of both
 * signs, subnormals, the ends of the integers, divisors of 0 and -1, all pairs of them.
 */
#include <math.h>
#include <string.h>

#include "tests/support/kernel/compute_case.h"
#include "tests/support/kiln_test.h"

static const double floats[] = {(double)NAN,
                                (double)INFINITY,
                                -(double)INFINITY,
                                0.0,
                                -0.0,
                                1,
                                -1,
                                0.5,
                                -0.5,
                                1.5,
                                2.5,
                                -2.5,
                                3,
                                -3,
                                7,
                                -7,
                                1e-3,
                                -1e-3,
                                0.3,
                                -0.7,
                                1e-7,
                                -1e-7,
                                3.14159265,
                                20,
                                -20,
                                87,
                                -87,
                                89,
                                -104,
                                255,
                                6e-8,
                                -6e-8,
                                65504,
                                -65504,
                                1e10,
                                -1e10,
                                3e38,
                                -3e38,
                                1e-39,
                                -1e-39,
                                1e-45};
static const int64_t ints[] = {
    0,      1,     -1,        2,         -2,         3,         -3,       5,
    7,      -7,    8,         15,        16,         31,        32,       63,
    64,     100,   127,       128,       -128,       255,       256,      32767,
    -32768, 65535, INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN};

enum {
    N_FLOATS = sizeof floats / sizeof floats[0],
    N_INTS = sizeof ints / sizeof ints[0],
    MAX_ATTRS = 8
};

/* What `dtype` makes of the tables: as rows [1,n], or down the columns of [n,n]. */
static kiln_tensor edges(kiln_arena *a, kiln_dtype dtype, bool is_square) {
    const bool is_float = kiln_dtype_is_float(dtype);
    const int64_t n = is_float ? N_FLOATS : N_INTS;
    const int64_t dim[2] = {is_square ? n : 1, n};
    const kiln_type t = kiln_type_make(dtype, 2, dim);
    kiln_wide w = kiln_wide_new(a, &t);
    kiln_tensor out = kiln_tensor_new(a, &t);
    for (int64_t i = 0; i < dim[0] * n; i++) {
        const int64_t at = is_square ? i / n : i;
        if (is_float)
            w.f[i] = floats[at];
        else
            w.i[i] = ints[at];
    }
    kiln_narrow(&w, out.data);
    return out;
}

/* A node with every combination of what its word and bool attributes may be, in turn;
 * false past the last. */
static bool build(kiln_arena *a, const kiln_op_def *op, int variant,
                  const kiln_tensor *in, int n_in, const kiln_attr_arg *given,
                  kiln_graph **out) {
    kiln_err err = {0};
    kiln_value *value[2] = {NULL, NULL};
    kiln_attr_arg args[MAX_ATTRS];
    kiln_node_spec spec = {.op = op, .in = value, .n_in = n_in, .args = args};
    kiln_node *n = NULL;
    *out = kiln_graph_new(a, op->name);
    for (int i = 0; i < n_in; i++)
        value[i] = kiln_graph_add_input(*out, "x", &in[i].type);
    if (given != NULL)
        args[spec.n_args++] = *given;
    for (size_t i = 0; i < op->n_attr; i++) {
        if (op->attr[i].kind != KILN_ATTR_WORD && op->attr[i].kind != KILN_ATTR_BOOL)
            continue;
        int n_choices = 2;
        if (op->attr[i].kind == KILN_ATTR_WORD)
            for (n_choices = 0; op->attr[i].choices[n_choices] != NULL;)
                n_choices++;
        args[spec.n_args++] = (kiln_attr_arg){.name = op->attr[i].name,
                                              .kind = op->attr[i].kind,
                                              .value = {.i = variant % n_choices}};
        variant /= n_choices;
    }
    if (variant > 0)
        return false;
    kiln_assert_status_ok(kiln_graph_add_node(*out, &spec, &n, &err), &err);
    kiln_graph_add_output(*out, n->out[0], "y");
    return true;
}

static void check(kiln_arena *a, kiln_graph *g, const kiln_tensor *in,
                  const char *what) {
    kiln_err err = {0};
    compute_case c;
    kiln_assert_status_ok(compute_case_init(a, &c, g, in, &err), &err);
    const char *wrong = compute_case_check(a, &c, NULL, false);
    if (wrong != NULL)
        fail_msg("%s: %s", what, wrong);
}

static void agrees_at_the_edges(void **state) {
    const kiln_op_def *op = *state;
    for (int d = 0; d < KILN_N_DTYPES; d++) {
        if (!kiln_dtype_is_in((kiln_dtype)d, op->dtypes))
            continue;
        for (int variant = 0;; variant++) {
            kiln_arena a;
            kiln_graph *g;
            kiln_arena_init(&a);
            const kiln_tensor in[2] = {edges(&a, (kiln_dtype)d, op->x2 != NULL),
                                       edges(&a, (kiln_dtype)d, false)};
            const bool more =
                build(&a, op, variant, in, op->x2 != NULL ? 2 : 1, NULL, &g);
            if (more)
                check(&a, g, in, kiln_dtype_name((kiln_dtype)d));
            kiln_arena_fini(&a);
            if (!more)
                break;
        }
    }
}

static void casts_between_all_dtypes(void **state) {
    (void)state;
    for (int from = 0; from < KILN_N_DTYPES; from++) {
        for (int to = 0; to < KILN_N_DTYPES; to++) {
            kiln_arena a;
            kiln_graph *g;
            kiln_arena_init(&a);
            const kiln_tensor in = edges(&a, (kiln_dtype)from, false);
            const bool is_low = kiln_dtype_is_in((kiln_dtype)to, KILN_DT_LOW_FLOAT);
            const kiln_attr_arg arg = kiln_arg_dtype("to", (kiln_dtype)to);
            const kiln_op_def *op = is_low ? &kiln_op_cast_low : &kiln_op_cast;
            /* All of saturate and round; the one variant of cast. */
            for (int v = 0; build(&a, op, v, &in, 1, &arg, &g); v++)
                check(&a, g, &in,
                      kiln_format(&a, "%s to %s", kiln_dtype_name((kiln_dtype)from),
                                  kiln_dtype_name((kiln_dtype)to)));
            kiln_arena_fini(&a);
        }
    }
}

int main(void) {
    kiln_test_add("casts_between_all_dtypes", casts_between_all_dtypes, NULL);
    for (int i = 0; i < (int)KILN_N_OPS; i++) {
        const kiln_op_def *op = kiln_op_at(i);
        if (op->x1 != NULL || op->x2 != NULL)
            kiln_test_add(op->name, agrees_at_the_edges, (void *)(uintptr_t)op);
    }
    return kiln_test_run("compute elementwise");
}
