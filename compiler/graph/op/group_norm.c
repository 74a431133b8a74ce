/* group_norm: y = (x - mean) / sqrt(var + epsilon) * scale[c] + bias[c], moments over
 * groups of channels.
 *
 * x is [N, C, ...]; a group is C / groups neighbouring channels of one image with all
 * their positions. With one channel a group it is instance normalisation. Source: ONNX
 * GroupNormalization-21, InstanceNormalization-22; Wu and He (arXiv:1803.08494).
 */
#include <inttypes.h>
#include <math.h>

#include "compiler/graph/op/norm.h"

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

const kiln_op_def kiln_op_group_norm = {
    .name = "group_norm",
    .doc = "(x - mean) / sqrt(var + epsilon) * scale[c] + bias[c], moments over each "
           "group of channels of an image.",
    .n_in_min = 3,
    .n_in_max = 3,
    .in_names = (const char *const[]){"x", "scale", "bias", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_FLOAT,
    .fuse = KILN_FUSE_OPAQUE,
    .layout = KILN_LAYOUT_DEPENDENT,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = kiln_cost_norm,
    .error_bound = error_bound,
};
