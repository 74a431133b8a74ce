/* Layers that change each element by itself: activations and functions of one value.
 * Source: NeuralNetwork.proto, ActivationParams, UnaryFunctionLayerParams. */
#include "compiler/frontend/coreml/coreml_internal.h"

#include "compiler/frontend/protobuf_table.h"

#include <inttypes.h>
#include <math.h>

/* ---- activations ----------------------------------------------------------------- */

typedef struct two_numbers {
    float alpha, beta;
} two_numbers;

static const kiln_pb_field two_fields[] = {
    FIELD(1, two_numbers, alpha, KILN_PB_F32),
    FIELD(2, two_numbers, beta, KILN_PB_F32),
};
static const kiln_pb_message two_message =
    MESSAGE("ActivationLinear", two_numbers, two_fields);

typedef struct two_vectors {
    const kiln_coreml_weights *alpha, *beta;
} two_vectors;

static const kiln_pb_field vectors_fields[] = {
    SUB(1, two_vectors, alpha, kiln_coreml_weights_message),
    SUB(2, two_vectors, beta, kiln_coreml_weights_message),
};
static const kiln_pb_message vectors_message =
    MESSAGE("ActivationPReLU", two_vectors, vectors_fields);

/* Only the one that is there is not NULL. */
typedef struct activation {
    const two_numbers *linear, *leaky_relu, *thresholded_relu, *scaled_tanh,
        *hard_sigmoid, *elu;
    const kiln_coreml_nothing *relu, *tanh, *sigmoid, *softsign, *softplus;
    const two_vectors *prelu, *parametric_softplus;
} activation;

static const kiln_pb_field activation_fields[] = {
    SUB(5, activation, linear, two_message),
    SUB(10, activation, relu, kiln_coreml_nothing_message),
    SUB(15, activation, leaky_relu, two_message),
    SUB(20, activation, thresholded_relu, two_message),
    SUB(25, activation, prelu, vectors_message),
    SUB(30, activation, tanh, kiln_coreml_nothing_message),
    SUB(31, activation, scaled_tanh, two_message),
    SUB(40, activation, sigmoid, kiln_coreml_nothing_message),
    SUB(41, activation, hard_sigmoid, two_message),
    SUB(50, activation, elu, two_message),
    SUB(60, activation, softsign, kiln_coreml_nothing_message),
    SUB(70, activation, softplus, kiln_coreml_nothing_message),
    SUB(71, activation, parametric_softplus, vectors_message),
};
static const kiln_pb_message activation_message =
    MESSAGE("ActivationParams", activation, activation_fields);

static bool is_number(double x, double v) { return !(x < v) && !(x > v); }

static kiln_value *affine(kiln_compose *c, kiln_value *x, double scale, double shift) {
    if (is_number(scale, -1))
        x = kiln_compose_1(c, &kiln_op_neg, x);
    else if (!is_number(scale, 1))
        x = kiln_compose_scalar(c, &kiln_op_mul, x, scale);
    return is_number(shift, 0) ? x : kiln_compose_scalar(c, &kiln_op_add, x, shift);
}

static kiln_value *with_alpha(kiln_compose *c, const kiln_op_def *op, kiln_value *x,
                              float alpha) {
    const kiln_attr_arg arg = kiln_arg_float("alpha", (double)alpha);
    return kiln_compose_op(c, op, &x, 1, &arg, 1);
}

/* One number for each channel, or one for all, with axes for rows and columns. */
static kiln_status by_channel(kiln_coreml_call *k, const kiln_coreml_weights *w,
                              const char *what, kiln_value **out) {
    const kiln_value *const x = k->in[0];
    if (w == NULL)
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE, "'%s' is missing", what);
    const int64_t n = kiln_coreml_count(w) == 1 || x->type.rank < 3
                          ? 1
                          : x->type.dim[x->type.rank - 3];
    const int64_t dim[] = {n, 1, 1};
    return kiln_coreml_const(k, w, what, x->type.rank < 3 ? x->type.rank : 3,
                             x->type.rank < 3 ? dim + 1 : dim, out);
}

/* x from alpha on, 0 below. */
static kiln_value *thresholded(kiln_compose *c, kiln_value *x, float alpha) {
    kiln_value *const at = kiln_import_scalar(c->cx, KILN_F32, (double)alpha);
    return kiln_compose_where(c, kiln_compose_2(c, &kiln_op_greater_equal, x, at), x,
                              kiln_import_scalar(c->cx, KILN_F32, 0));
}

static kiln_status of_vectors(kiln_coreml_call *k, const activation *p) {
    kiln_value *alpha = NULL, *beta = NULL, *x = k->in[0];
    const two_vectors *const v = p->prelu != NULL ? p->prelu : p->parametric_softplus;
    KILN_TRY(by_channel(k, v->alpha, "alpha", &alpha));
    if (p->prelu != NULL) {
        k->out[0] = kiln_compose_2(&k->c, &kiln_op_prelu, x, alpha);
        return k->c.status;
    }
    KILN_TRY(by_channel(k, v->beta, "beta", &beta));
    x = kiln_compose_1(&k->c, &kiln_op_softplus,
                       kiln_compose_2(&k->c, &kiln_op_mul, x, beta));
    k->out[0] = kiln_compose_2(&k->c, &kiln_op_mul, x, alpha);
    return k->c.status;
}

static kiln_value *hard_sigmoid(kiln_compose *c, kiln_value *x, const two_numbers *v) {
    const kiln_attr_arg args[] = {kiln_arg_float("alpha", (double)v->alpha),
                                  kiln_arg_float("beta", (double)v->beta)};
    return kiln_compose_op(c, &kiln_op_hard_sigmoid, &x, 1, args, 2);
}

static kiln_value *scaled_tanh(kiln_compose *c, kiln_value *x, const two_numbers *v) {
    x = kiln_compose_1(c, &kiln_op_tanh, affine(c, x, (double)v->beta, 0));
    return affine(c, x, (double)v->alpha, 0);
}

kiln_status kiln_coreml_import_activation(kiln_coreml_call *k) {
    activation p;
    kiln_compose *const c = &k->c;
    kiln_value *const x = k->in[0];
    KILN_TRY(kiln_coreml_params(k, &activation_message, &p));
    if (p.prelu != NULL || p.parametric_softplus != NULL)
        return of_vectors(k, &p);
    k->out[0] =
        p.linear != NULL ? affine(c, x, (double)p.linear->alpha, (double)p.linear->beta)
        : p.leaky_relu != NULL
            ? with_alpha(c, &kiln_op_leaky_relu, x, p.leaky_relu->alpha)
        : p.thresholded_relu != NULL ? thresholded(c, x, p.thresholded_relu->alpha)
        : p.scaled_tanh != NULL      ? scaled_tanh(c, x, p.scaled_tanh)
        : p.hard_sigmoid != NULL     ? hard_sigmoid(c, x, p.hard_sigmoid)
        : p.elu != NULL              ? with_alpha(c, &kiln_op_elu, x, p.elu->alpha)
        : p.relu != NULL             ? kiln_compose_1(c, &kiln_op_relu, x)
        : p.tanh != NULL             ? kiln_compose_1(c, &kiln_op_tanh, x)
        : p.sigmoid != NULL          ? kiln_compose_1(c, &kiln_op_sigmoid, x)
        : p.softsign != NULL         ? kiln_compose_1(c, &kiln_op_softsign, x)
        : p.softplus != NULL         ? kiln_compose_1(c, &kiln_op_softplus, x)
                                     : NULL;
    if (k->out[0] == NULL)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "its activation is none that kiln knows");
    return c->status;
}

/* ---- functions of scale * x + shift ---------------------------------------------- */

enum { SQRT, RSQRT, INVERSE, POWER, EXP, LOG, ABS, THRESHOLD, N_FUNCTIONS };

typedef struct unary {
    int64_t type;
    float alpha, epsilon, shift, scale;
    bool has_scale, has_epsilon;
} unary;

static const kiln_pb_field unary_fields[] = {
    FIELD(1, unary, type, KILN_PB_I64),
    FIELD(2, unary, alpha, KILN_PB_F32),
    FIELD_HAS(3, unary, epsilon, KILN_PB_F32, has_epsilon),
    FIELD(4, unary, shift, KILN_PB_F32),
    FIELD_HAS(5, unary, scale, KILN_PB_F32, has_scale),
};
static const kiln_pb_message unary_message =
    MESSAGE("UnaryFunctionLayerParams", unary, unary_fields);

static kiln_value *power(kiln_compose *c, kiln_value *x, double exponent) {
    if (is_number(exponent, 2)) /* as its reference does, and exact */
        return kiln_compose_2(c, &kiln_op_mul, x, x);
    return is_number(exponent, 1) ? x
                                  : kiln_compose_scalar(c, &kiln_op_pow, x, exponent);
}

kiln_status kiln_coreml_import_unary(kiln_coreml_call *k) {
    static const kiln_op_def *const ops[N_FUNCTIONS] = {[SQRT] = &kiln_op_sqrt,
                                                        [RSQRT] = &kiln_op_rsqrt,
                                                        [INVERSE] = &kiln_op_reciprocal,
                                                        [EXP] = &kiln_op_exp,
                                                        [LOG] = &kiln_op_log,
                                                        [ABS] = &kiln_op_abs};
    unary p;
    kiln_compose *const c = &k->c;
    KILN_TRY(kiln_coreml_params(k, &unary_message, &p));
    if (p.type < 0 || p.type >= N_FUNCTIONS)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "its function must be 0 to %d, is %" PRId64, N_FUNCTIONS - 1,
                         p.type);
    kiln_value *x =
        affine(c, k->in[0], p.has_scale ? (double)p.scale : 1, (double)p.shift);
    if (p.type == RSQRT || p.type == INVERSE)
        x = affine(c, x, 1, p.has_epsilon ? (double)p.epsilon : 1e-6);
    if (p.type == POWER)
        k->out[0] = power(c, x, (double)p.alpha);
    else if (p.type == THRESHOLD)
        k->out[0] = kiln_compose_scalar(c, &kiln_op_max, x, (double)p.alpha);
    else
        k->out[0] = kiln_compose_1(c, ops[p.type], x);
    return c->status;
}

/* ---- of later specifications ----------------------------------------------------- */

kiln_status kiln_coreml_import_map(kiln_coreml_call *k) {
    k->out[0] = kiln_compose_1(&k->c, k->op, k->in[0]);
    return k->c.status;
}

kiln_status kiln_coreml_import_copy(kiln_coreml_call *k) {
    k->out[0] = k->in[0];
    return KILN_OK;
}

kiln_status kiln_coreml_import_exp2(kiln_coreml_call *k) {
    kiln_value *const two = kiln_import_scalar(k->c.cx, KILN_F32, 2);
    k->out[0] = kiln_compose_2(&k->c, &kiln_op_pow, two, k->in[0]);
    return k->c.status;
}

static kiln_value *limited(kiln_coreml_call *k, kiln_value *x, float lo, float hi) {
    const kiln_attr_arg args[] = {kiln_arg_float("min", (double)lo),
                                  kiln_arg_float("max", (double)hi)};
    return kiln_compose_op(&k->c, &kiln_op_clip, &x, 1, args, 2);
}

kiln_status kiln_coreml_import_clip(kiln_coreml_call *k) {
    two_numbers p; /* smallest and largest */
    KILN_TRY(kiln_coreml_params(k, &two_message, &p));
    k->out[0] = limited(k, k->in[0], p.alpha, p.beta);
    return k->c.status;
}

/* min(beta, x >= 0 ? x : alpha * x) */
kiln_status kiln_coreml_import_clamped_relu(kiln_coreml_call *k) {
    two_numbers p;
    KILN_TRY(kiln_coreml_params(k, &two_message, &p));
    kiln_value *const x = with_alpha(&k->c, &kiln_op_leaky_relu, k->in[0], p.alpha);
    k->out[0] = limited(k, x, -HUGE_VALF, p.beta);
    return k->c.status;
}

typedef struct gelu {
    int64_t mode;
} gelu;

static const kiln_pb_field gelu_fields[] = {
    FIELD(1, gelu, mode, KILN_PB_I64),
};
static const kiln_pb_message gelu_message =
    MESSAGE("GeluLayerParams", gelu, gelu_fields);

kiln_status kiln_coreml_import_gelu(kiln_coreml_call *k) {
    enum { GELU_EXACT, GELU_TANH, GELU_SIGMOID };
    gelu p;
    kiln_value *x = k->in[0];
    KILN_TRY(kiln_coreml_params(k, &gelu_message, &p));
    if (p.mode == GELU_SIGMOID) { /* x * sigmoid(1.702 * x) */
        kiln_value *const wide = kiln_compose_scalar(&k->c, &kiln_op_mul, x, 1.702);
        x = kiln_compose_2(&k->c, &kiln_op_mul, x,
                           kiln_compose_1(&k->c, &kiln_op_sigmoid, wide));
    } else {
        const kiln_attr_arg arg =
            kiln_arg_word("approximate", p.mode == GELU_TANH ? "tanh" : "none");
        x = kiln_compose_op(&k->c, &kiln_op_gelu, &x, 1, &arg, 1);
    }
    k->out[0] = x;
    return k->c.status;
}
