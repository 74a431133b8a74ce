/* A transposed convolution of a single pixel becomes a product: the image that
 * generators begin with. Each output position reads one tap, the one at its place plus
 * the padding, whatever the stride: y[n, o, q] = sum over c of x[n, c] * w[c, o, q +
 * pad]. So the weights, cropped, are the matrix of a product [n, c] * [c, o * q], and
 * what follows is a view.
 *
 * Bias is repeated for each position and added to the product, where it is fused. Not
 * exact: other sums of the same products. */
#include "compiler/pass/pass_internal.h"

#include <string.h>

enum { MAX_SPATIAL = 3 };

typedef struct pixel {
    const kiln_node *node;
    int n; /* spatial axes */
    int64_t pad[MAX_SPATIAL];
} pixel;

static bool is_pixel(pixel *p, const kiln_node *n) {
    const kiln_type *x = &n->in[0]->type, *w = &n->in[1]->type, *y = &n->out[0]->type;
    const kiln_attr *pads = kiln_node_attr(n, "pads");
    const kiln_attr *dilations = kiln_node_attr(n, "dilations");
    *p = (pixel){.node = n, .n = x->rank - 2};
    if (p->n > MAX_SPATIAL || kiln_node_attr(n, "groups")->i != 1 ||
        !kiln_value_is_const(n->in[1]) || !kiln_dtype_is_float(x->dtype) ||
        kiln_type_elems(y) == 0 || kiln_type_elems(x) == 0 ||
        !kiln_layout_is_plain(&w->layout) ||
        (n->n_in > 2 && n->in[2] != NULL && !kiln_value_is_const(n->in[2])))
        return false;
    for (int i = 0; i < p->n; i++) {
        p->pad[i] = pads->n == 0 ? 0 : pads->ints[i];
        /* Past the last tap (output padding) there is nothing to multiply. */
        if (x->dim[2 + i] != 1 || (dilations->n > 0 && dilations->ints[i] != 1) ||
            p->pad[i] + y->dim[2 + i] > w->dim[2 + i])
            return false;
    }
    return true;
}

/* [c, o * q] of [c, o, taps...]. */
static kiln_value *matrix_of(kiln_graph *g, const pixel *p) {
    const kiln_value *w = p->node->in[1];
    const kiln_type *y = &p->node->out[0]->type;
    int64_t dim[KILN_MAX_RANK] = {w->type.dim[0]}, stride[KILN_MAX_RANK];
    int64_t at[KILN_MAX_RANK] = {0};
    memcpy(dim + 1, y->dim + 1, (size_t)(y->rank - 1) * sizeof dim[0]);
    const kiln_type cropped = kiln_type_make(w->type.dtype, w->type.rank, dim);
    const int64_t n = kiln_type_elems(&cropped);
    const size_t bytes = kiln_dtype_bytes(w->type.dtype);
    const kiln_type t =
        kiln_type_make(w->type.dtype, 2, (const int64_t[]){dim[0], n / dim[0]});
    unsigned char *to = kiln_tensor_new(g->arena, &t).data;
    kiln_strides(w->type.rank, w->type.dim, stride);
    for (int64_t k = 0; k < n; k++) {
        int64_t from = at[0] * stride[0] + at[1] * stride[1];
        for (int i = 0; i < p->n; i++)
            from += (at[2 + i] + p->pad[i]) * stride[2 + i];
        memcpy(to + (size_t)k * bytes,
               (const unsigned char *)w->data + (size_t)from * bytes, bytes);
        for (int i = cropped.rank - 1; i >= 0 && ++at[i] == dim[i]; i--)
            at[i] = 0;
    }
    return kiln_graph_add_const(g, w->name, &t, to);
}

/* [o * q] of [o]. */
static kiln_value *bias_of(kiln_graph *g, const pixel *p) {
    const kiln_value *b = p->node->in[2];
    const kiln_type *y = &p->node->out[0]->type;
    const int64_t each = kiln_type_elems(y) / y->dim[0] / y->dim[1];
    const size_t bytes = kiln_dtype_bytes(b->type.dtype);
    const kiln_type t =
        kiln_type_make(b->type.dtype, 1, (const int64_t[]){y->dim[1] * each});
    unsigned char *to = kiln_tensor_new(g->arena, &t).data;
    for (int64_t k = 0; k < t.dim[0]; k++)
        memcpy(to + (size_t)k * bytes,
               (const unsigned char *)b->data + (size_t)(k / each) * bytes, bytes);
    return kiln_graph_add_const(g, b->name, &t, to);
}

static kiln_status expand(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    pixel p;
    if (n->op != &kiln_op_conv_transpose || !is_pixel(&p, n))
        return KILN_OK;
    const kiln_type *x = &n->in[0]->type, *y = &n->out[0]->type;
    const kiln_attr_arg flat = kiln_arg_ints("shape", x->dim, 2);
    const kiln_attr_arg image = kiln_arg_ints("shape", y->dim, (size_t)y->rank);
    kiln_value *v = n->in[0];
    KILN_TRY(kiln_sweep_add(s, &kiln_op_reshape, n, &v, 1, &flat, 1, &v));
    kiln_value *const factor[] = {v, matrix_of(s->g, &p)};
    KILN_TRY(kiln_sweep_add(s, &kiln_op_matmul, n, factor, 2, NULL, 0, &v));
    if (n->n_in > 2 && n->in[2] != NULL) {
        kiln_value *const term[] = {v, bias_of(s->g, &p)};
        KILN_TRY(kiln_sweep_add(s, &kiln_op_add, n, term, 2, NULL, 0, &v));
    }
    return kiln_sweep_add(s, &kiln_op_reshape, n, &v, 1, &image, 1, same);
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    return kiln_sweep_by(g, cx, expand);
}

const kiln_pass kiln_pass_expand_pixel = {
    .name = "expand_pixel",
    .doc = "a transposed convolution of one pixel becomes a product",
    .needs = KILN_TYPED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .keeps = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .run = run,
};
