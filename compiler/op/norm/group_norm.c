/* group_norm: y = (x - mean) / sqrt(var + epsilon) * scale[c] + bias[c], moments over
 * groups of channels.
 *
 * x is [N, C, ...]; a group is C / groups neighbouring channels of one image with all
 * their positions. With one channel a group it is instance normalisation. Source: ONNX
 * GroupNormalization-21, InstanceNormalization-22; Wu and He (arXiv:1803.08494).
 */
#include <inttypes.h>
#include <math.h>

#include "compiler/op/norm/norm.h"

enum { X, SCALE, BIAS };
enum { GROUPS, EPSILON, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "groups",
     .kind = KILN_ATTR_INT,
     .doc = "number of groups that the channels are cut into",
     .is_required = true},
    {.name = "epsilon",
     .kind = KILN_ATTR_FLOAT,
     .doc = "added to the variance before its root is taken",
     .default_f = 1e-5},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[X]->type;
    const int64_t groups = n->attr[GROUPS].i;
    if (x->rank < 2)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input 'x' must have shape [N, C, ...], has rank %d", x->rank);
    if (groups < 1 || x->dim[1] % groups != 0)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "groups must be >= 1 and divide the %" PRId64
                         " channels, is %" PRId64,
                         x->dim[1], groups);
    if (!(n->attr[EPSILON].f >= 0))
        return kiln_fail(err, KILN_ERR_SHAPE, "attribute 'epsilon' must be >= 0, is %g",
                         n->attr[EPSILON].f);
    for (int i = SCALE; i <= BIAS; i++) {
        KILN_TRY(kiln_check_same_dtype(n, X, i, err));
        KILN_TRY(kiln_check_rank(n, i, 1, err));
        if (n->in[i]->type.dim[0] != x->dim[1])
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "input '%s' must have %" PRId64
                             " elements, one per channel, has %" PRId64,
                             kiln_in_name(n, i), x->dim[1], n->in[i]->type.dim[0]);
    }
    out[0] = kiln_type_make(x->dtype, x->rank, x->dim);
    return KILN_OK;
}

/* Channels and positions of one group; false when there is nothing to do. */
static bool sizes(const kiln_node *n, int64_t *channels, int64_t *plane) {
    const kiln_type *x = &n->in[X]->type;
    if (kiln_type_elems(x) == 0)
        return false;
    *channels = x->dim[1] / n->attr[GROUPS].i;
    *plane = 1;
    for (int i = 2; i < x->rank; i++)
        *plane *= x->dim[i];
    return true;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    int64_t channels, plane;
    if (!sizes(n, &channels, &plane))
        return KILN_OK;
    const int64_t group = channels * plane;
    const int64_t n_groups = kiln_type_elems(&n->in[X]->type) / group;
    for (int64_t g = 0; g < n_groups; g++) {
        const double *x = cx->in[X].f + g * group;
        double sum = 0.0, squares = 0.0;
        for (int64_t i = 0; i < group; i++)
            sum += x[i];
        const double mean = sum / (double)group;
        for (int64_t i = 0; i < group; i++)
            squares += (x[i] - mean) * (x[i] - mean);
        const double inv = 1.0 / sqrt(squares / (double)group + n->attr[EPSILON].f);
        for (int64_t i = 0; i < group; i++) {
            const int64_t c = g % n->attr[GROUPS].i * channels + i / plane;
            cx->out[0].f[g * group + i] =
                (x[i] - mean) * inv * cx->in[SCALE].f[c] + cx->in[BIAS].f[c];
        }
    }
    return KILN_OK;
}

static kiln_bound error_bound(const kiln_node *n) {
    int64_t channels, plane;
    return kiln_bound_norm(sizes(n, &channels, &plane) ? channels * plane : 0);
}

/* Groups are [N, groups]; they run over their channels and all positions. */
static int open_group(const kiln_norm_group *g, kiln_compute_cx *cx, kiln_te *te,
                      const kiln_expr *const *index, const kiln_expr **at,
                      const kiln_axis **axis) {
    static const char *const name[KILN_MAX_RANK] = {"",   "c",  "r2", "r3",
                                                    "r4", "r5", "r6", "r7"};
    kiln_arena *a = cx->arena;
    const kiln_type *x = &cx->in[X].type;
    const int64_t channels = x->dim[1] / g->t->dim[1];
    at[0] = index[0];
    for (int i = 1; i < x->rank; i++) {
        axis[i - 1] = kiln_te_reduce_axis(te, name[i], i == 1 ? channels : x->dim[i]);
        at[i] = kiln_axis_var(a, axis[i - 1]);
    }
    at[1] = kiln_x_add(a, kiln_x_mul(a, index[1], kiln_x_index(a, channels)), at[1]);
    return x->rank - 1;
}

/* Stages: sum, mean, squares (about the mean), inverse, y. */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_type *x = &cx->in[X].type;
    const kiln_expr *index[KILN_MAX_RANK];
    kiln_te_value mean, inverse;
    const int64_t dim[2] = {x->dim[0], n->attr[GROUPS].i};
    const kiln_type t = kiln_type_make(x->dtype, 2, dim);
    kiln_norm_group g = {.t = &t, .n = x->dim[1] / dim[1], .open = open_group};
    for (int i = 2; i < x->rank; i++)
        g.n *= x->dim[i];
    KILN_TRY(kiln_compute_mean(cx, &g, &mean));
    KILN_TRY(
        kiln_compute_inverse_deviation(cx, &g, &mean, n->attr[EPSILON].f, &inverse));
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    const int64_t channels = x->dim[1] / dim[1];
    const kiln_expr *group[2] = {
        index[0], channels > 0 ? kiln_compute_div(cx, index[1], channels) : index[1]};
    const kiln_expr *v = kiln_compute_widened(cx, kiln_compute_read(cx, X, index));
    v = kiln_x_sub(a, v, kiln_compute_read_value(cx, &mean, group));
    v = kiln_x_mul(a, v, kiln_compute_read_value(cx, &inverse, group));
    const kiln_expr *scale =
        kiln_compute_widened(cx, kiln_compute_read(cx, SCALE, index + 1));
    const kiln_expr *bias =
        kiln_compute_widened(cx, kiln_compute_read(cx, BIAS, index + 1));
    return kiln_compute_end(cx, 0, y, kiln_x_add(a, kiln_x_mul(a, v, scale), bias));
}

const kiln_op_def kiln_op_group_norm = {
    KILN_ROW_NORM,
    .name = "group_norm",
    .doc = "(x - mean) / sqrt(var + epsilon) * scale[c] + bias[c], moments over each "
           "group of channels of an image.",
    .n_in_min = 3,
    .n_in_max = 3,
    .in_names = (const char *const[]){"x", "scale", "bias", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .infer = infer,
    .eval_ref = eval_ref,
    .error_bound = error_bound,
    .compute = compute,
};
