/* batch_norm, layer_norm, group_norm, rms_norm and lrn against their formulas, element
 * by element; NaN and infinity stay in their group. */
#include "compiler/graph/graph.h"

#include <math.h>

#include "tests/support/graph/node_run.h"

typedef enum special { NONE, SPECIAL, EQUAL, EMPTY_OF_VARIANCE } special;

typedef struct row {
    const char *name;
    const char *body;
    kiln_test_element_fn want;
    int64_t axis, groups, size;
    double epsilon, alpha, beta, bias;
    special special;
} row;

/* x less its mean and a bias may cancel: what is added has unit size. */
static kiln_test_element element(double v) {
    return (kiln_test_element){.f = v, .magnitude = 1 + fabs(v), .narrow = (float)v};
}

static int64_t product(const int64_t *dim, int64_t begin, int64_t end) {
    int64_t n = 1;
    for (int64_t i = begin; i < end; i++)
        n *= dim[i];
    return n;
}

/* Element of an input that stretches to x; 1 or 0 where it is absent. */
static double stretched(const kiln_test_node *t, int in, int64_t index, double absent) {
    const kiln_type *x = &t->in[0].type, *f = &t->in[in].type;
    if (in >= t->node->n_in || t->node->in[in] == NULL)
        return absent;
    int64_t c[KILN_MAX_RANK], own[KILN_MAX_RANK];
    kiln_test_unravel(index, x->rank, x->dim, c);
    for (int i = 0; i < f->rank; i++)
        own[i] = f->dim[i] == 1 ? 0 : c[x->rank - f->rank + i];
    return t->in[in].f[kiln_test_ravel(f->rank, f->dim, own)];
}

static kiln_test_element batch_at(const kiln_test_node *t, const void *user,
                                  int64_t index) {
    const row *r = user;
    const kiln_type *x = &t->in[0].type;
    const int64_t c = index / product(x->dim, 2, x->rank) % x->dim[1];
    const double v =
        (t->in[0].f[index] - t->in[3].f[c]) / sqrt(t->in[4].f[c] + r->epsilon);
    return element(v * t->in[1].f[c] + t->in[2].f[c]);
}

/* Mean and 1 / sqrt(variance + epsilon) of n elements from `first` on. */
static void moments(const double *x, int64_t first, int64_t n, double epsilon,
                    double *mean, double *inv) {
    double sum = 0, squares = 0;
    for (int64_t i = first; i < first + n; i++)
        sum += x[i] / (double)n;
    for (int64_t i = first; i < first + n; i++)
        squares += (x[i] - sum) * (x[i] - sum) / (double)n;
    *mean = sum;
    *inv = pow(squares + epsilon, -0.5);
}

static kiln_test_element layer_at(const kiln_test_node *t, const void *user,
                                  int64_t index) {
    const row *r = user;
    const kiln_type *x = &t->in[0].type;
    const int64_t n = product(x->dim, r->axis, x->rank);
    double mean, inv;
    moments(t->in[0].f, index / n * n, n, r->epsilon, &mean, &inv);
    const double v = (t->in[0].f[index] - mean) * inv;
    return element(v * stretched(t, 1, index, 1) + stretched(t, 2, index, 0));
}

static kiln_test_element group_at(const kiln_test_node *t, const void *user,
                                  int64_t index) {
    const row *r = user;
    const kiln_type *x = &t->in[0].type;
    const int64_t plane = product(x->dim, 2, x->rank), c = index / plane % x->dim[1];
    const int64_t n = x->dim[1] / r->groups * plane;
    double mean, inv;
    moments(t->in[0].f, index / n * n, n, r->epsilon, &mean, &inv);
    return element((t->in[0].f[index] - mean) * inv * t->in[1].f[c] + t->in[2].f[c]);
}

static kiln_test_element rms_at(const kiln_test_node *t, const void *user,
                                int64_t index) {
    const row *r = user;
    const kiln_type *x = &t->in[0].type;
    const int64_t n = product(x->dim, r->axis, x->rank), first = index / n * n;
    double squares = 0;
    for (int64_t i = first; i < first + n; i++)
        squares += t->in[0].f[i] * t->in[0].f[i] / (double)n;
    return element(t->in[0].f[index] * pow(squares + r->epsilon, -0.5) *
                   stretched(t, 1, index, 1));
}

static kiln_test_element lrn_at(const kiln_test_node *t, const void *user,
                                int64_t index) {
    const row *r = user;
    const kiln_type *x = &t->in[0].type;
    const int64_t plane = product(x->dim, 2, x->rank), c = index / plane % x->dim[1];
    double squares = 0;
    for (int64_t k = 0; k < r->size; k++) {
        const int64_t channel = c + k - (r->size - 1) / 2;
        if (channel < 0 || channel >= x->dim[1])
            continue;
        const double v = t->in[0].f[index + (channel - c) * plane];
        squares += v * v;
    }
    return element(t->in[0].f[index] *
                   pow(r->bias + r->alpha / (double)r->size * squares, -r->beta));
}

#define IN(name, type) "input %" name " : " type " "
#define BATCH_PARAMETERS(c) IN("s", c) IN("b", c) IN("m", c) IN("v", c)
#define BATCH(x, c, rest)                                                              \
    IN("x", x)                                                                         \
    BATCH_PARAMETERS(c)                                                                \
    "%y = batch_norm(%x, %s, %b, %m, %v) " rest " output %y"
#define GROUP(x, c, rest)                                                              \
    IN("x", x) IN("s", c) IN("b", c) "%y = group_norm(%x, %s, %b) " rest " output %y"
#define LRN(x, rest) IN("x", x) "%y = lrn(%x) " rest " output %y"

static row rows[] = {
    {"batch", BATCH("f32[2,17,3,5]", "f32[17]", ""), batch_at, .epsilon = 1e-5},
    {"batch_epsilon", BATCH("f32[2,3]", "f32[3]", "{epsilon=0.5}"), batch_at,
     .epsilon = 0.5},
    {"batch_moments_of_other_dtype",
     IN("x", "f16[2,3,5]") IN("s", "f16[3]") IN("b", "f16[3]") IN("m", "f32[3]")
         IN("v", "f32[3]") "%y = batch_norm(%x, %s, %b, %m, %v) output %y",
     batch_at, .epsilon = 1e-5},
    {"batch_variance_0", BATCH("f32[1,3,2]", "f32[3]", ""), batch_at, .epsilon = 1e-5,
     .special = EMPTY_OF_VARIANCE},
    {"batch_variance_0_without_epsilon", BATCH("f32[1,3,2]", "f32[3]", "{epsilon=0.0}"),
     batch_at, .special = EMPTY_OF_VARIANCE},
    {"batch_special", BATCH("f32[2,3,5]", "f32[3]", ""), batch_at, .epsilon = 1e-5,
     .special = SPECIAL},
    {"batch_no_images", BATCH("f32[0,3,5]", "f32[3]", ""), batch_at, .axis = 0},
    {"layer_last",
     IN("x", "f32[3,17]") IN("s", "f32[17]")
         IN("b", "f32[17]") "%y = layer_norm(%x, %s, %b) output %y",
     layer_at, 1, .epsilon = 1e-5},
    {"layer_middle",
     IN("x", "f32[2,3,5,7]")
         IN("s", "f32[5,7]") "%y = layer_norm(%x, %s) {axis=2, epsilon=0.25} output %y",
     layer_at, 2, .epsilon = 0.25},
    {"layer_all", IN("x", "f32[2,3]") "%y = layer_norm(%x) {axis=-2} output %y",
     layer_at, 0, .epsilon = 1e-5},
    {"layer_bias_without_scale",
     IN("x", "f32[2,3]") IN("b", "f32[1]") "%y = layer_norm(%x, _, %b) output %y",
     layer_at, 1, .epsilon = 1e-5},
    {"layer_stretched_factors",
     IN("x", "f32[2,3,5]") IN("s", "f32[3,1]")
         IN("b", "f32[1,5]") "%y = layer_norm(%x, %s, %b) output %y",
     layer_at, 2, .epsilon = 1e-5},
    {"layer_one_element", IN("x", "f32[5,1]") "%y = layer_norm(%x) output %y", layer_at,
     1, .epsilon = 1e-5},
    {"layer_equal_elements", IN("x", "f32[2,5]") "%y = layer_norm(%x) output %y",
     layer_at, 1, .epsilon = 1e-5, .special = EQUAL},
    {"layer_special", IN("x", "f32[4,5]") "%y = layer_norm(%x) output %y", layer_at, 1,
     .epsilon = 1e-5, .special = SPECIAL},
    {"layer_no_rows", IN("x", "f32[0,5]") "%y = layer_norm(%x) output %y", layer_at,
     .axis = 1},
    {"layer_no_elements", IN("x", "f32[5,0]") "%y = layer_norm(%x) output %y", layer_at,
     .axis = 1},
    {"group_one", GROUP("f32[2,6,3,5]", "f32[6]", "{groups=1}"), group_at, .groups = 1,
     .epsilon = 1e-5},
    {"group_three", GROUP("f32[2,6,7]", "f32[6]", "{groups=3, epsilon=0.5}"), group_at,
     .groups = 3, .epsilon = 0.5},
    {"group_each_channel", GROUP("f64[2,17,3,2,2]", "f64[17]", "{groups=17}"), group_at,
     .groups = 17, .epsilon = 1e-5},
    {"group_without_positions", GROUP("f32[2,6]", "f32[6]", "{groups=2}"), group_at,
     .groups = 2, .epsilon = 1e-5},
    {"group_special", GROUP("f32[2,6,5]", "f32[6]", "{groups=3}"), group_at,
     .groups = 3, .epsilon = 1e-5, .special = SPECIAL},
    {"group_no_elements", GROUP("f32[2,6,0]", "f32[6]", "{groups=3}"), group_at,
     .groups = 3},
    {"rms_last",
     IN("x", "f32[3,17]") IN("s", "f32[17]") "%y = rms_norm(%x, %s) output %y", rms_at,
     1, .epsilon = 1e-5},
    {"rms_middle",
     IN("x", "f32[2,3,5,7]") "%y = rms_norm(%x) {axis=1, epsilon=0.25} output %y",
     rms_at, 1, .epsilon = 0.25},
    {"rms_half",
     IN("x", "f16[3,5]") IN("s", "f16[1]") "%y = rms_norm(%x, %s) output %y", rms_at, 1,
     .epsilon = 1e-5},
    {"rms_special", IN("x", "f32[4,5]") "%y = rms_norm(%x) output %y", rms_at, 1,
     .epsilon = 1e-5, .special = SPECIAL},
    {"lrn_usual", LRN("f32[2,17,3,5]", "{size=5}"), lrn_at, .size = 5, .alpha = 1e-4,
     .beta = 0.75, .bias = 1},
    {"lrn_even", LRN("f32[2,7,3]", "{size=4, alpha=0.5, beta=0.5, bias=2.0}"), lrn_at,
     .size = 4, .alpha = 0.5, .beta = 0.5, .bias = 2},
    {"lrn_wider_than_channels", LRN("f32[1,3,2]", "{size=11, alpha=1.0}"), lrn_at,
     .size = 11, .alpha = 1, .beta = 0.75, .bias = 1},
    {"lrn_one", LRN("f32[1,3]", "{size=1, alpha=1.0}"), lrn_at, .size = 1, .alpha = 1,
     .beta = 0.75, .bias = 1},
    {"lrn_special", LRN("f32[1,7,3]", "{size=3}"), lrn_at, .size = 3, .alpha = 1e-4,
     .beta = 0.75, .bias = 1, .special = SPECIAL},
};

static void prepare(kiln_test_node *t, const row *r) {
    kiln_wide *x = &t->in[0];
    const int64_t n = kiln_type_elems(&x->type);
    for (int64_t i = 0; r->want == batch_at && i < t->in[4].type.dim[0]; i++)
        t->in[4].f[i] =
            r->special == EMPTY_OF_VARIANCE ? 0 : fabs(t->in[4].f[i]) + 0.125;
    for (int64_t i = 0; r->special == EQUAL && i < n; i++)
        x->f[i] = 0.75;
    if (r->special == SPECIAL) {
        x->f[0] = (double)INFINITY;
        x->f[n - 1] = (double)NAN;
    }
}

static void check_row(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_test_node t;
    kiln_assert_status_ok(kiln_test_node_parse(&t, &a, r->body, &err), &err);
    prepare(&t, r);
    kiln_test_node_check(&t, r->want, r);
    kiln_arena_fini(&a);
}

/* The second and third output of layer_norm, in a dtype of their own. */
static void check_moments(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_test_node t;
    const char *body =
        IN("x", "f16[5,7]") "%y, %m, %i = layer_norm(%x) {epsilon=0.5, stash=f64} "
                            "output %y output %m output %i";
    kiln_assert_status_ok(kiln_test_node_parse(&t, &a, body, &err), &err);
    kiln_test_node_run(&t);
    for (int64_t i = 0; i < 5; i++) {
        double want[2];
        moments(t.in[0].f, 7 * i, 7, 0.5, &want[0], &want[1]);
        kiln_assert_close_f64(&t.out[1].f[i], &want[0], 1, 8, 1e-15);
        kiln_assert_close_f64(&t.out[2].f[i], &want[1], 1, 8, 0);
    }
    assert_string_equal(kiln_type_text(&a, &t.out[1].type), "f64[5,1]");
    kiln_arena_fini(&a);
}

static kiln_test_refusal refusals[] = {
    {"batch_of_vector", BATCH("f32[3]", "f32[3]", ""), KILN_ERR_SHAPE,
     "input 'x' must have shape [N, C, ...], has rank 1"},
    {"batch_of_other_channels", BATCH("f32[2,4,3]", "f32[3]", ""), KILN_ERR_SHAPE,
     "input 'scale' must have 4 elements, one per channel, has 3"},
    {"batch_epsilon_below_0", BATCH("f32[2,3]", "f32[3]", "{epsilon=-1.0}"),
     KILN_ERR_SHAPE, "attribute 'epsilon' must be >= 0, is -1"},
    {"batch_epsilon_nan", BATCH("f32[2,3]", "f32[3]", "{epsilon=nan}"), KILN_ERR_SHAPE,
     "attribute 'epsilon' must be >= 0, is "},
    {"batch_of_integers", BATCH("i32[2,3]", "i32[3]", ""), KILN_ERR_SHAPE, "i32"},
    {"layer_axis_outside", IN("x", "f32[2,3]") "%y = layer_norm(%x) {axis=2} output %y",
     KILN_ERR_SHAPE, "axis"},
    {"layer_factor_that_does_not_stretch",
     IN("x", "f32[2,3]") IN("s", "f32[2]") "%y = layer_norm(%x, %s) output %y",
     KILN_ERR_SHAPE, "input 'scale' must stretch to [2,3], is [2]"},
    {"layer_factor_of_higher_rank",
     IN("x", "f32[2,3]") IN("s", "f32[1,2,3]") "%y = layer_norm(%x, %s) output %y",
     KILN_ERR_SHAPE, "input 'scale' must stretch to [2,3], is [1,2,3]"},
    {"layer_stash_of_integers",
     IN("x", "f32[2,3]") "%y = layer_norm(%x) {stash=i32} output %y", KILN_ERR_SHAPE,
     "attribute 'stash' must be a float dtype, is i32"},
    {"group_that_does_not_divide", GROUP("f32[2,6]", "f32[6]", "{groups=4}"),
     KILN_ERR_SHAPE, "groups must be >= 1 and divide the 6 channels, is 4"},
    {"group_of_0", GROUP("f32[2,6]", "f32[6]", "{groups=0}"), KILN_ERR_SHAPE,
     "groups must be >= 1 and divide the 6 channels, is 0"},
    {"group_of_other_channels", GROUP("f32[2,6]", "f32[3]", "{groups=3}"),
     KILN_ERR_SHAPE, "input 'scale' must have 6 elements, one per channel, has 3"},
    {"rms_factor_that_does_not_stretch",
     IN("x", "f32[2,3]") IN("s", "f32[2]") "%y = rms_norm(%x, %s) output %y",
     KILN_ERR_SHAPE, "input 'scale' must stretch to [2,3], is [2]"},
    {"lrn_of_size_0", LRN("f32[2,3]", "{size=0}"), KILN_ERR_SHAPE,
     "attribute 'size' must be in [1, 2147483647], is 0"},
    {"lrn_of_vector", LRN("f32[2]", "{size=1}"), KILN_ERR_SHAPE,
     "input 'x' must have shape [N, C, ...], has rank 1"},
};

int main(void) {
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("layer_gives_its_moments", check_moments, NULL);
    kiln_test_add_rows(kiln_test_check_refusal, refusals);
    return kiln_test_run("norm");
}
