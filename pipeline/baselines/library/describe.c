/* A graph of one operator and what is behind it, as libraries know it. What they have
 * no words for is refused by name, never left out. */
#include "pipeline/baselines/library/library.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct describer {
    const kiln_graph *graph;
    const kiln_tensor *plain;
    kiln_library_op *op;
    kiln_err *err;
} describer;

#define unsupported(d, ...) kiln_fail((d)->err, KILN_ERR_UNSUPPORTED, __VA_ARGS__)

/* ---- tensors --------------------------------------------------------------------- */

static kiln_status check_type(describer *d, const kiln_value *v) {
    const kiln_dtype t = v->type.dtype;
    if (t != KILN_F32 && t != KILN_F16)
        return unsupported(d, "libraries are given f32 or f16 alone: '%s' is %s",
                           v->name, kiln_dtype_name(t));
    if (d->op->n_in > 0 && d->op->in[0].value.type.dtype != t)
        return unsupported(d, "libraries are given one type: '%s' is %s, '%s' is not",
                           v->name, kiln_dtype_name(t), d->op->in[0].name);
    return KILN_OK;
}

static kiln_status add_tensor(describer *d, const kiln_value *v, int *at) {
    kiln_library_op *op = d->op;
    KILN_TRY(check_type(d, v));
    if (v->def != NULL)
        return unsupported(d,
                           "node '%s' is ahead of the operator: a library is given "
                           "the operator and what is behind it",
                           v->def->name);
    if (op->n_in == KILN_LIBRARY_MAX_IN)
        return unsupported(d, "more than %d operands", KILN_LIBRARY_MAX_IN);
    kiln_library_tensor *t = &op->in[op->n_in];
    *t = (kiln_library_tensor){.name = v->name,
                               .value = {.type = v->type, .data = d->plain[v->id].data},
                               .is_constant = v->data != NULL};
    *at = op->n_in++;
    return KILN_OK;
}

static kiln_status add_operands(describer *d, const kiln_node *n, int n_operands) {
    int at;
    for (int i = 0; i < n_operands; i++)
        KILN_TRY(add_tensor(d, n->in[i], &at));
    d->op->n_operands = n_operands;
    return KILN_OK;
}

static kiln_status add_tail(describer *d, kiln_library_tail tail) {
    if (tail.kind == KILN_LIBRARY_BIAS) { /* libraries take a vector */
        kiln_type *t = &d->op->in[tail.tensor].value.type;
        *t = kiln_type_make(t->dtype, 1, (int64_t[]){kiln_type_elems(t)});
    }
    if (d->op->n_tails == KILN_LIBRARY_MAX_TAILS)
        return unsupported(d, "more than %d operators are behind it",
                           KILN_LIBRARY_MAX_TAILS);
    d->op->tail[d->op->n_tails++] = tail;
    return KILN_OK;
}

/* ---- windows --------------------------------------------------------------------- */

static const int64_t *ints(const kiln_node *n, const char *attr, size_t *count) {
    const kiln_attr *v = kiln_node_attr(n, attr);
    *count = v->n;
    return v->ints;
}

/* The padding behind is as much as the last window reaches: with ceil_mode more than
 * the attribute says, and where windows do not reach the end, less. */
static kiln_status describe_window(describer *d, const kiln_node *n,
                                   const int64_t *kernel) {
    const kiln_type *x = &n->in[0]->type, *y = &n->out[0]->type;
    kiln_library_op *op = d->op;
    size_t n_strides, n_dilations, n_pads;
    if (x->rank != 4)
        return unsupported(d, "'%s' of rank %d: libraries are given images, rank 4",
                           n->op->name, x->rank);
    const int64_t *strides = ints(n, "strides", &n_strides);
    const int64_t *dilations = ints(n, "dilations", &n_dilations);
    const int64_t *pads = ints(n, "pads", &n_pads);
    for (int i = 0; i < 2; i++) {
        op->kernel[i] = kernel[i];
        op->stride[i] = n_strides > 0 ? strides[i] : 1;
        op->dilation[i] = n_dilations > 0 ? dilations[i] : 1;
        op->pad_begin[i] = n_pads > 0 ? pads[i] : 0;
        const int64_t extent = (kernel[i] - 1) * op->dilation[i] + 1;
        const int64_t reach = (y->dim[2 + i] - 1) * op->stride[i] + extent;
        const int64_t behind = reach - x->dim[2 + i] - op->pad_begin[i];
        op->pad_end[i] = behind > 0 ? behind : 0;
        if (op->counts_padding && behind > (n_pads > 0 ? pads[2 + i] : 0))
            return unsupported(d, "a mean that counts its padding, but not what its "
                                  "last window covers beyond it");
    }
    return KILN_OK;
}

static kiln_status describe_conv(describer *d, const kiln_node *n) {
    d->op->kind = KILN_LIBRARY_CONV;
    d->op->groups = kiln_node_attr(n, "groups")->i;
    if (n->in[0]->type.rank != 4)
        return describe_window(d, n, n->in[1]->type.dim);
    KILN_TRY(describe_window(d, n, n->in[1]->type.dim + 2));
    KILN_TRY(add_operands(d, n, 2));
    if (n->n_in < 3 || n->in[2] == NULL)
        return KILN_OK;
    kiln_library_tail bias = {.kind = KILN_LIBRARY_BIAS};
    KILN_TRY(add_tensor(d, n->in[2], &bias.tensor));
    return add_tail(d, bias);
}

static kiln_status describe_pool(describer *d, const kiln_node *n) {
    const bool is_mean = strcmp(n->op->name, "avg_pool") == 0;
    d->op->kind = is_mean ? KILN_LIBRARY_AVG_POOL : KILN_LIBRARY_MAX_POOL;
    d->op->counts_padding = is_mean && kiln_node_attr(n, "count_include_pad")->i != 0;
    if (n->n_out != 1)
        return unsupported(d, "a pool that also says where its elements lie");
    KILN_TRY(describe_window(d, n, kiln_node_attr(n, "kernel")->ints));
    return add_operands(d, n, 1);
}

/* ---- products -------------------------------------------------------------------- */

static kiln_status describe_matmul(describer *d, const kiln_node *n) {
    const kiln_type *a = &n->in[0]->type, *b = &n->in[1]->type;
    d->op->kind = KILN_LIBRARY_MATMUL;
    d->op->trans_b = kiln_node_attr(n, "trans_b")->i != 0;
    if (a->rank < 2 || b->rank < 2)
        return unsupported(d, "a matrix product with a vector");
    /* One matrix for all of a batch is a taller product; libraries know batches of
     * equal rank. */
    if (b->rank != 2 && b->rank != a->rank)
        return unsupported(d, "a matrix product of ranks %d and %d", a->rank, b->rank);
    return add_operands(d, n, 2);
}

static kiln_status describe_gemm(describer *d, const kiln_node *n) {
    const bool has_c = n->n_in == 3 && n->in[2] != NULL;
    d->op->kind = KILN_LIBRARY_MATMUL;
    d->op->trans_a = kiln_node_attr(n, "trans_a")->i != 0;
    d->op->trans_b = kiln_node_attr(n, "trans_b")->i != 0;
    if (kiln_node_attr(n, "alpha")->f != 1 ||
        (has_c && kiln_node_attr(n, "beta")->f != 1))
        return unsupported(d, "gemm with an alpha or beta that is not 1");
    KILN_TRY(add_operands(d, n, 2));
    if (!has_c)
        return KILN_OK;
    const kiln_type *c = &n->in[2]->type;
    const int64_t columns = n->out[0]->type.dim[1];
    kiln_library_tail tail = {.kind = KILN_LIBRARY_BIAS};
    if (kiln_type_same_shape(c, &n->out[0]->type))
        tail.kind = KILN_LIBRARY_ADD;
    else if (c->rank < 1 || kiln_type_elems(c) != columns ||
             c->dim[c->rank - 1] != columns)
        return unsupported(d, "gemm that adds neither a row nor a matrix");
    KILN_TRY(add_tensor(d, n->in[2], &tail.tensor));
    return add_tail(d, tail);
}

static kiln_status describe_softmax(describer *d, const kiln_node *n) {
    const int rank = n->in[0]->type.rank;
    const int64_t axis = kiln_node_attr(n, "axis")->i;
    d->op->kind = KILN_LIBRARY_SOFTMAX;
    d->op->axis = (int)(axis < 0 ? axis + rank : axis);
    return add_operands(d, n, 1);
}

static const struct anchor {
    const char *op;
    kiln_status (*describe)(describer *d, const kiln_node *n);
} anchors[] = {
    {"conv", describe_conv},     {"matmul", describe_matmul},
    {"gemm", describe_gemm},     {"max_pool", describe_pool},
    {"avg_pool", describe_pool}, {"softmax", describe_softmax},
};

static kiln_status describe_anchor(describer *d, const kiln_node *n) {
    for (size_t i = 0; i < sizeof anchors / sizeof anchors[0]; i++)
        if (strcmp(anchors[i].op, n->op->name) == 0)
            return anchors[i].describe(d, n);
    return unsupported(d,
                       "libraries are not asked for '%s': for conv, matmul, gemm, "
                       "max_pool, avg_pool and softmax",
                       n->op->name);
}

/* ---- what is behind -------------------------------------------------------------- */

static bool is_bias(const describer *d, const kiln_type *v, const kiln_type *y) {
    const bool is_image =
        d->op->kind != KILN_LIBRARY_MATMUL && d->op->kind != KILN_LIBRARY_SOFTMAX;
    const int axis = is_image ? 1 : y->rank - 1;
    const int shift = y->rank - v->rank;
    if (axis - shift < 0 || shift < 0 || kiln_type_elems(v) != y->dim[axis])
        return false;
    return v->dim[axis - shift] == y->dim[axis];
}

static kiln_status describe_add(describer *d, const kiln_node *n,
                                const kiln_value *from) {
    const kiln_value *other = n->in[0] == from ? n->in[1] : n->in[0];
    const kiln_type *y = &n->out[0]->type;
    kiln_library_tail tail = {.kind = KILN_LIBRARY_ADD};
    if (other == from)
        return unsupported(d, "a value added to itself");
    if (!kiln_type_same_shape(&other->type, y)) {
        if (!is_bias(d, &other->type, y))
            return unsupported(d,
                               "'%s' is added: neither of the output's shape nor "
                               "one number for each channel",
                               other->name);
        tail.kind = KILN_LIBRARY_BIAS;
    }
    KILN_TRY(add_tensor(d, other, &tail.tensor));
    return add_tail(d, tail);
}

static const struct activation {
    const char *op;
    kiln_library_tail_kind kind;
    const char *alpha, *beta; /* attributes */
} activations[] = {
    {"relu", KILN_LIBRARY_RELU, NULL, NULL},
    {"clip", KILN_LIBRARY_CLIP, "min", "max"},
    {"leaky_relu", KILN_LIBRARY_LEAKY_RELU, "alpha", NULL},
    {"elu", KILN_LIBRARY_ELU, "alpha", NULL},
    {"sigmoid", KILN_LIBRARY_SIGMOID, NULL, NULL},
    {"tanh", KILN_LIBRARY_TANH, NULL, NULL},
    {"gelu", KILN_LIBRARY_GELU, NULL, NULL},
    {"swish", KILN_LIBRARY_SWISH, "alpha", NULL},
    {"hard_swish", KILN_LIBRARY_HARD_SWISH, NULL, NULL},
};

static kiln_status describe_tail(describer *d, const kiln_node *n,
                                 const kiln_value *from) {
    if (strcmp(n->op->name, "add") == 0)
        return describe_add(d, n, from);
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++) {
        const struct activation *a = &activations[i];
        if (strcmp(a->op, n->op->name) != 0)
            continue;
        kiln_library_tail tail = {.kind = a->kind, .tensor = -1};
        if (a->alpha != NULL)
            tail.alpha = kiln_node_attr(n, a->alpha)->f;
        if (a->beta != NULL)
            tail.beta = kiln_node_attr(n, a->beta)->f;
        if (a->kind == KILN_LIBRARY_GELU && kiln_node_attr(n, "approximate")->i != 0)
            tail.kind = KILN_LIBRARY_GELU_TANH;
        return add_tail(d, tail);
    }
    return unsupported(d, "libraries are not asked for '%s' behind '%s'", n->op->name,
                       kiln_library_kind_name(d->op->kind));
}

static bool reads(const kiln_node *n, const kiln_value *v) {
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] == v)
            return true;
    return false;
}

/* Each node behind the anchor must read the one before it: a chain. */
kiln_status kiln_library_op_of(const kiln_graph *g, const kiln_node *anchor,
                               const kiln_tensor *plain, kiln_library_op *out,
                               kiln_err *err) {
    kiln_library_op op = {.groups = 1};
    describer d = {g, plain, &op, err};
    const kiln_value *last = NULL;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *n = g->nodes.v[i];
        if (last == NULL && n != anchor)
            return unsupported(&d,
                               "node '%s' is ahead of the operator: a library is "
                               "given the operator and what is behind it",
                               n->name);
        if (last != NULL && !reads(n, last))
            return unsupported(&d, "node '%s' is no link of a chain", n->name);
        KILN_TRY(last == NULL ? describe_anchor(&d, n) : describe_tail(&d, n, last));
        last = n->out[0];
        KILN_TRY(check_type(&d, last));
    }
    if (last == NULL || g->outputs.n != 1 || g->outputs.v[0] != last)
        return unsupported(&d, "libraries are given one output: the last of a chain");
    op.out = last->type;
    *out = op;
    return KILN_OK;
}
