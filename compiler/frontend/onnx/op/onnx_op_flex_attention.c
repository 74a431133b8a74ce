/* Importer of ai.onnx.preview.FlexAttention (1): attention whose scores and
 * probabilities pass through subgraphs of the model, which are inlined.
 *
 * y = prob_mod(softmax(score_mod(sqrt(s) q * (sqrt(s) k)^T))) * v for each head. */
#include "compiler/frontend/onnx/import_core.h"

#include <inttypes.h>
#include <math.h>

#include "compiler/frontend/onnx/onnx_internal.h"

/* Replaces x by the result of a subgraph with one input and one output of its type. */
static kiln_status modify(kiln_compose *c, const char *name, kiln_value **x) {
    kiln_onnx_cx *const cx = kiln_onnx_of(c->cx);
    const kiln_onnx_graph *const sub = kiln_onnx_attr_graph(cx, c->site, name);
    kiln_value *y;
    KILN_TRY(c->status);
    if (sub == NULL)
        return KILN_OK;
    if (sub->n_output != 1)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "attribute '%s' must have one output, has %zu", name,
                              sub->n_output);
    const char *const prefix = kiln_format(&cx->common.scratch, "%s%s/",
                                           kiln_onnx_node_prefix(cx, c->site), name);
    KILN_TRY(kiln_onnx_inline_with(cx, prefix, sub, x, 1, &y));
    if (!kiln_type_same_shape(&y->type, &(*x)->type) ||
        y->type.dtype != (*x)->type.dtype)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "attribute '%s' must keep the type of its input", name);
    *x = y;
    return KILN_OK;
}

static kiln_status read_inputs(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                               kiln_value **in) {
    static const char *const names[] = {"Q", "K", "V"};
    for (int i = 0; i < 3; i++) {
        KILN_TRY(kiln_onnx_need(cx, n, i, names[i], &in[i]));
        if (in[i]->type.rank != 4)
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                                  "input '%s' must have rank 4, has %d", names[i],
                                  in[i]->type.rank);
    }
    const int64_t q_heads = in[0]->type.dim[1], heads = in[1]->type.dim[1];
    if (heads < 1 || q_heads % heads != 0 || in[2]->type.dim[1] != heads)
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "the heads of 'K' and 'V' must be as many and divide those "
            "of 'Q', are %" PRId64 ", %" PRId64 " and %" PRId64,
            heads, in[2]->type.dim[1], q_heads);
    return KILN_OK;
}

kiln_status kiln_onnx_import_flex_attention(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    static const int64_t turn[] = {0, 1, 3, 2};
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *in[3];
    KILN_TRY(read_inputs(cx, n, in));
    const kiln_dtype dtype = in[0]->type.dtype;
    kiln_dtype precision = dtype == KILN_F64 ? KILN_F64 : KILN_F32;
    if (kiln_onnx_has_attr(n, "softmax_precision"))
        KILN_TRY(kiln_onnx_dtype(kiln_onnx_attr_i(cx, n, "softmax_precision", 1),
                                 &precision, kiln_onnx_err(cx)));
    const int64_t size = in[0]->type.dim[3];
    const int64_t group = in[0]->type.dim[1] / in[1]->type.dim[1];
    const double otherwise = size > 0 ? 1 / sqrt((double)size) : 1;
    const double scale = sqrt(kiln_onnx_attr_f(cx, n, "scale", otherwise));
    kiln_value *const q = kiln_compose_scalar(&c, &kiln_op_mul, in[0], scale);
    kiln_value *k = kiln_compose_repeat_heads(&c, in[1], group);
    k = kiln_compose_scalar(&c, &kiln_op_mul, kiln_compose_transpose(&c, k, turn),
                            scale);
    kiln_value *y = kiln_compose_2(&c, &kiln_op_matmul, q, k);
    y = kiln_compose_cast(&c, y, precision);
    KILN_TRY(modify(&c, "score_mod", &y));
    y = kiln_compose_axis(&c, &kiln_op_softmax, y, NULL, 3);
    KILN_TRY(modify(&c, "prob_mod", &y));
    y = kiln_compose_cast(&c, y, dtype);
    y = kiln_compose_2(&c, &kiln_op_matmul, y,
                       kiln_compose_repeat_heads(&c, in[2], group));
    kiln_onnx_set(cx, n, 0, y);
    return c.status;
}
