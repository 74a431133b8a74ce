/* Activations, as functions and as layers. Source: keras.activations and keras.layers
 * of Keras 2 and 3. */
#include "compiler/frontend/keras/keras_internal.h"

#include <math.h>
#include <string.h>

/* ---- functions ------------------------------------------------------------------- */

/* {"class_name": "function", "config": "relu"} is how Keras 3 writes some. */
const char *kiln_keras_activation_name(const kiln_json *v) {
    if (kiln_json_is_string(v))
        return kiln_json_string(v, NULL);
    if (strcmp(kiln_json_string(kiln_json_get(v, "class_name"), ""), "function") == 0)
        return kiln_json_string(kiln_json_get(v, "config"), NULL);
    return NULL;
}

static kiln_value *with_number(kiln_compose *c, const kiln_op_def *op, kiln_value *x,
                               const char *name, double v) {
    const kiln_attr_arg arg = kiln_arg_float(name, v);
    return kiln_compose_op(c, op, &x, 1, &arg, 1);
}

static kiln_value *limited(kiln_compose *c, kiln_value *x, double lo, double hi) {
    const kiln_attr_arg args[] = {kiln_arg_float("min", lo), kiln_arg_float("max", hi)};
    return kiln_compose_op(c, &kiln_op_clip, &x, 1, args, 2);
}

static kiln_value *last_axis(kiln_compose *c, const kiln_op_def *op, kiln_value *x) {
    return kiln_compose_axis(c, op, x, NULL, x->type.rank > 0 ? x->type.rank - 1 : 0);
}

/* Until Keras 2 by 0.2, from Keras 3 on by 1/6. */
static kiln_value *hard_sigmoid(kiln_keras_call *k, kiln_value *x) {
    const double slope = k->cx->file.major >= 3 ? 1.0 / 6 : 0.2;
    const kiln_attr_arg args[] = {kiln_arg_float("alpha", slope),
                                  kiln_arg_float("beta", 0.5)};
    return kiln_compose_op(&k->c, &kiln_op_hard_sigmoid, &x, 1, args, 2);
}

static kiln_value *gelu(kiln_keras_call *k, kiln_value *x) {
    const kiln_attr_arg arg = kiln_arg_word("approximate", "none");
    return kiln_compose_op(&k->c, &kiln_op_gelu, &x, 1, &arg, 1);
}

static kiln_value *same(kiln_keras_call *k, kiln_value *x) {
    (void)k;
    return x;
}

static kiln_value *silu(kiln_keras_call *k, kiln_value *x) {
    return kiln_compose_2(&k->c, &kiln_op_mul, x,
                          kiln_compose_1(&k->c, &kiln_op_sigmoid, x));
}

static kiln_value *relu6(kiln_keras_call *k, kiln_value *x) {
    return limited(&k->c, x, 0, 6);
}

static kiln_value *leaky_relu(kiln_keras_call *k, kiln_value *x) {
    return with_number(&k->c, &kiln_op_leaky_relu, x, "alpha", 0.2);
}

static kiln_value *hard_silu(kiln_keras_call *k, kiln_value *x) {
    return kiln_compose_2(&k->c, &kiln_op_mul, x, hard_sigmoid(k, x));
}

static kiln_value *softmax(kiln_keras_call *k, kiln_value *x) {
    return last_axis(&k->c, &kiln_op_softmax, x);
}

static kiln_value *log_softmax(kiln_keras_call *k, kiln_value *x) {
    return last_axis(&k->c, &kiln_op_log_softmax, x);
}

static kiln_value *celu(kiln_keras_call *k, kiln_value *x) {
    return with_number(&k->c, &kiln_op_celu, x, "alpha", 1);
}

static kiln_value *hard_tanh(kiln_keras_call *k, kiln_value *x) {
    return limited(&k->c, x, -1, 1);
}

static kiln_value *log_sigmoid(kiln_keras_call *k, kiln_value *x) {
    x = kiln_compose_1(&k->c, &kiln_op_neg, x);
    x = kiln_compose_1(&k->c, &kiln_op_softplus, x);
    return kiln_compose_1(&k->c, &kiln_op_neg, x);
}

static kiln_value *tanh_shrink(kiln_keras_call *k, kiln_value *x) {
    return kiln_compose_2(&k->c, &kiln_op_sub, x,
                          kiln_compose_1(&k->c, &kiln_op_tanh, x));
}

/* 0 within the threshold; outside, `by` nearer to 0. */
static kiln_value *shrunk(kiln_compose *c, kiln_value *x, double threshold, double by) {
    const kiln_attr_arg args[] = {kiln_arg_float("lambd", threshold),
                                  kiln_arg_float("bias", by)};
    return kiln_compose_op(c, &kiln_op_shrink, &x, 1, args, 2);
}

static const double default_threshold = 0.5;

static kiln_value *hard_shrink(kiln_keras_call *k, kiln_value *x) {
    return shrunk(&k->c, x, default_threshold, 0);
}

static kiln_value *soft_shrink(kiln_keras_call *k, kiln_value *x) {
    return shrunk(&k->c, x, default_threshold, default_threshold);
}

static kiln_value *sparse_sigmoid(kiln_keras_call *k, kiln_value *x) {
    const kiln_attr_arg args[] = {kiln_arg_float("alpha", 0.5),
                                  kiln_arg_float("beta", 0.5)};
    return kiln_compose_op(&k->c, &kiln_op_hard_sigmoid, &x, 1, args, 2);
}

/* 0 up to -1, x from 1 on, (x + 1)^2 / 4 between. */
static kiln_value *sparse_plus(kiln_keras_call *k, kiln_value *x) {
    kiln_compose *const c = &k->c;
    kiln_value *t = limited(c, x, -1, 1);
    t = kiln_compose_scalar(c, &kiln_op_add, t, 1);
    t = kiln_compose_scalar(c, &kiln_op_mul, kiln_compose_2(c, &kiln_op_mul, t, t),
                            0.25);
    return kiln_compose_where(c, kiln_compose_scalar(c, &kiln_op_less, x, 1), t, x);
}

/* (x + sqrt(x^2 + b)) / 2 */
static kiln_value *rooted(kiln_compose *c, kiln_value *x, double b) {
    kiln_value *t = kiln_compose_2(c, &kiln_op_mul, x, x);
    t = kiln_compose_1(c, &kiln_op_sqrt, kiln_compose_scalar(c, &kiln_op_add, t, b));
    t = kiln_compose_2(c, &kiln_op_add, x, t);
    return kiln_compose_scalar(c, &kiln_op_mul, t, 0.5);
}

static kiln_value *squareplus(kiln_keras_call *k, kiln_value *x) {
    return rooted(&k->c, x, 4);
}

/* The first half of an axis, as far as the second lets it through. */
static kiln_value *gated(kiln_keras_call *k, kiln_value *x, int64_t axis) {
    kiln_compose *const c = &k->c;
    const int rank = x->type.rank;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank || x->type.dim[axis] % 2 != 0) {
        kiln_compose_fail(c,
                          kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                                    "it takes the halves of an axis of %s, of an "
                                    "even number of elements",
                                    kiln_type_text(&k->cx->common.scratch, &x->type)));
        return x;
    }
    const int64_t n = x->type.dim[axis] / 2;
    kiln_value *const gate = kiln_compose_slice(c, x, (int)axis, n, 1, n);
    return kiln_compose_2(c, &kiln_op_mul, kiln_compose_slice(c, x, (int)axis, 0, 1, n),
                          kiln_compose_1(c, &kiln_op_sigmoid, gate));
}

static kiln_value *glu(kiln_keras_call *k, kiln_value *x) { return gated(k, x, -1); }

typedef kiln_value *activation_fn(kiln_keras_call *k, kiln_value *x);

static kiln_value *by_name(kiln_keras_call *k, kiln_value *x, const char *name) {
    static const struct {
        const char *name;
        const kiln_op_def *op;
    } plain[] = {{"relu", &kiln_op_relu},         {"sigmoid", &kiln_op_sigmoid},
                 {"tanh", &kiln_op_tanh},         {"softplus", &kiln_op_softplus},
                 {"softsign", &kiln_op_softsign}, {"exponential", &kiln_op_exp},
                 {"selu", &kiln_op_selu},         {"elu", &kiln_op_elu},
                 {"mish", &kiln_op_mish}};
    static const struct {
        const char *name;
        activation_fn *make;
    } composed[] = {{"linear", same},
                    {"swish", silu},
                    {"silu", silu},
                    {"relu6", relu6},
                    {"leaky_relu", leaky_relu},
                    {"hard_sigmoid", hard_sigmoid},
                    {"hard_swish", hard_silu},
                    {"hard_silu", hard_silu},
                    {"gelu", gelu},
                    {"softmax", softmax},
                    {"log_softmax", log_softmax},
                    {"celu", celu},
                    {"glu", glu},
                    {"hard_shrink", hard_shrink},
                    {"hard_tanh", hard_tanh},
                    {"log_sigmoid", log_sigmoid},
                    {"soft_shrink", soft_shrink},
                    {"sparse_plus", sparse_plus},
                    {"sparse_sigmoid", sparse_sigmoid},
                    {"squareplus", squareplus},
                    {"tanh_shrink", tanh_shrink}};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (strcmp(name, plain[i].name) == 0)
            return kiln_compose_1(&k->c, plain[i].op, x);
    for (size_t i = 0; i < sizeof composed / sizeof composed[0]; i++)
        if (strcmp(name, composed[i].name) == 0)
            return composed[i].make(k, x);
    kiln_compose_fail(
        &k->c, kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "activation '%s' is not read; use one of Keras, or export the "
                         "model as ONNX",
                         kiln_import_show(&k->cx->common, kiln_str_from(name))));
    return x;
}

/* An activation that is a layer itself: {"class_name": "LeakyReLU", "config": {...}}. */
static kiln_value *by_layer(kiln_keras_call *k, kiln_value *x, const kiln_json *v) {
    kiln_keras_layer l = *k->layer;
    const char *const class_name =
        kiln_json_string(kiln_json_get(v, "class_name"), "?");
    const kiln_keras_row *const row = kiln_keras_find(class_name);
    if (row == NULL || row->import == kiln_keras_import_activation ||
        !kiln_json_is_object(kiln_json_get(v, "config")))
        return by_name(k, x, class_name);
    l.class_name = class_name;
    l.config = kiln_json_get(v, "config");
    kiln_compose_fail(&k->c, kiln_keras_run(k->cx, &l, &x, 1, &x));
    return x;
}

kiln_value *kiln_keras_activated(kiln_keras_call *k, kiln_value *x, const char *member,
                                 const char *otherwise) {
    const kiln_json *const v = kiln_keras_get(k, member, NULL);
    const char *const name = v != NULL ? kiln_keras_activation_name(v) : otherwise;
    if (k->c.status != KILN_OK || (v == NULL && otherwise == NULL))
        return x;
    return name != NULL ? by_name(k, x, name) : by_layer(k, x, v);
}

/* ---- layers ---------------------------------------------------------------------- */

static kiln_status set(kiln_keras_call *k, kiln_value *y) {
    k->out = y;
    return k->c.status;
}

kiln_status kiln_keras_import_activation(kiln_keras_call *k) {
    return set(k, kiln_keras_activated(k, k->in[0], "activation", "linear"));
}

/* A function of keras.ops that is an activation without numbers of its own. */
kiln_status kiln_keras_import_own_name(kiln_keras_call *k) {
    const char *const function = strrchr(k->layer->class_name, '.');
    KILN_ASSERT(function != NULL, "'%s' of keras.ops", k->layer->class_name);
    return set(k, by_name(k, k->in[0],
                          kiln_keras_snake_case(&k->cx->common.scratch, function + 1)));
}

kiln_status kiln_keras_import_identity(kiln_keras_call *k) { return set(k, k->in[0]); }

static bool is_zero(double v) { return !(v < 0) && !(v > 0); }

/* x from the threshold on, slope * (x - threshold) below, at most max_value. */
kiln_status kiln_keras_import_relu(kiln_keras_call *k) {
    kiln_compose *const c = &k->c;
    kiln_value *x = k->in[0];
    const double max = kiln_keras_number(k, "max_value", HUGE_VAL);
    const double threshold = kiln_keras_number(k, "threshold", 0);
    const double slope = kiln_keras_number(k, "negative_slope", 0);
    if (is_zero(threshold) && is_zero(slope))
        return set(k, max < HUGE_VAL ? limited(c, x, 0, max)
                                     : kiln_compose_1(c, &kiln_op_relu, x));
    if (is_zero(threshold)) {
        x = with_number(c, &kiln_op_leaky_relu, x, "alpha", slope);
    } else {
        kiln_value *below = kiln_compose_scalar(c, &kiln_op_sub, x, threshold);
        below = kiln_compose_scalar(c, &kiln_op_mul, below, slope);
        x = kiln_compose_where(
            c, kiln_compose_scalar(c, &kiln_op_greater_equal, x, threshold), x, below);
    }
    return set(k, max < HUGE_VAL ? kiln_compose_scalar(c, &kiln_op_min, x, max) : x);
}

kiln_status kiln_keras_import_leaky_relu(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    const double alpha = kiln_keras_number(k, "alpha", 0.3);
    return set(k, with_number(&k->c, &kiln_op_leaky_relu, k->in[0], "alpha",
                              kiln_keras_number(k, "negative_slope", alpha)));
}

kiln_status kiln_keras_import_elu(kiln_keras_call *k) {
    return set(k, with_number(&k->c, &kiln_op_elu, k->in[0], "alpha",
                              kiln_keras_number(k, "alpha", 1)));
}

kiln_status kiln_keras_import_celu(kiln_keras_call *k) {
    return set(k, with_number(&k->c, &kiln_op_celu, k->in[0], "alpha",
                              kiln_keras_number(k, "alpha", 1)));
}

kiln_status kiln_keras_import_glu(kiln_keras_call *k) {
    int64_t axis = -1;
    KILN_TRY(kiln_keras_int(k, "axis", NULL, -1, &axis));
    return set(k, gated(k, k->in[0], axis));
}

kiln_status kiln_keras_import_hard_shrink(kiln_keras_call *k) {
    return set(k, shrunk(&k->c, k->in[0],
                         kiln_keras_number(k, "threshold", default_threshold), 0));
}

kiln_status kiln_keras_import_soft_shrink(kiln_keras_call *k) {
    const double by = kiln_keras_number(k, "threshold", default_threshold);
    return set(k, shrunk(&k->c, k->in[0], by, by));
}

kiln_status kiln_keras_import_squareplus(kiln_keras_call *k) {
    return set(k, rooted(&k->c, k->in[0], kiln_keras_number(k, "b", 4)));
}

/* x above the threshold, another number elsewhere. */
kiln_status kiln_keras_import_threshold(kiln_keras_call *k) {
    kiln_value *const x = k->in[0];
    kiln_value *const other = kiln_import_scalar(
        &k->cx->common, x->type.dtype, kiln_keras_number(k, "default_value", 0));
    kiln_value *const is_above = kiln_compose_scalar(
        &k->c, &kiln_op_greater, x, kiln_keras_number(k, "threshold", 0));
    return set(k, kiln_compose_where(&k->c, is_above, x, other));
}

kiln_status kiln_keras_import_thresholded_relu(kiln_keras_call *k) {
    return set(k, with_number(&k->c, &kiln_op_thresholded_relu, k->in[0], "alpha",
                              kiln_keras_number(k, "theta", 1)));
}

/* What it is given beside its value, or the value's own: of a shape that stretches to the
 * value's. NULL: nothing. */
static kiln_status softmax_mask(kiln_keras_call *k, kiln_value **out) {
    kiln_value *const given = kiln_keras_operand(k, "mask", SIZE_MAX);
    kiln_value *const own = kiln_keras_mask_of(k->cx, k->in[0]);
    const kiln_type *const x = &k->in[0]->type;
    int rank;
    int64_t dim[KILN_MAX_RANK];
    if (k->n_in != 1 + (given != NULL))
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "it is called with %d values, of which one, and a mask, are "
                         "read",
                         k->n_in);
    *out = given != NULL ? given : own;
    if (*out == NULL)
        return KILN_OK;
    k->looks_at_masks = true;
    KILN_TRY(kiln_broadcast(x, &(*out)->type, &rank, dim, k->cx->common.err));
    const kiln_type both = kiln_type_make(x->dtype, rank, dim);
    if (!kiln_type_same_shape(&both, x))
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "its mask must stretch to %s, is %s",
                         kiln_type_text(&k->cx->common.scratch, x),
                         kiln_type_text(&k->cx->common.scratch, &(*out)->type));
    *out = kiln_compose_cast(&k->c, *out, KILN_BOOL);
    return k->c.status;
}

kiln_status kiln_keras_import_softmax(kiln_keras_call *k) {
    kiln_value *mask = NULL, *const own = kiln_keras_mask_of(k->cx, k->in[0]);
    int64_t axis = -1;
    const int rank = k->in[0]->type.rank;
    KILN_TRY(kiln_keras_int(k, "axis", NULL, -1, &axis));
    if (axis < -rank || axis >= rank)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "its axis must be in [%d, %d)", -rank, rank);
    if (!k->layer->is_function)
        KILN_TRY(softmax_mask(k, &mask));
    kiln_value *y = kiln_keras_hide(k, k->in[0], mask);
    y = kiln_compose_axis(&k->c, &kiln_op_softmax, y, NULL,
                          (int)(axis < 0 ? axis + rank : axis));
    if (mask != NULL && kiln_keras_is_since(&k->cx->file, 3, 14))
        y = kiln_compose_where(&k->c, mask, y,
                               kiln_import_scalar(&k->cx->common, y->type.dtype, 0));
    KILN_TRY(set(k, y));
    return mask != NULL && own != NULL ? kiln_keras_set_mask(k, y, own) : KILN_OK;
}

kiln_status kiln_keras_import_prelu(kiln_keras_call *k) {
    static const char *const roles[] = {"alpha|alphas"};
    kiln_value *alpha = NULL;
    KILN_TRY(kiln_keras_weights(k, roles, 1, &alpha));
    return set(k, kiln_compose_2(&k->c, &kiln_op_prelu, k->in[0], alpha));
}
