/* What templates ask about convolutions of bytes: see byte_dot.h. */
#include "compiler/schedule/template/byte_dot.h"

#include "compiler/schedule/template/blocked.h"

bool kiln_is_conv(const kiln_node *n) {
    return n->op == &kiln_op_conv || n->op == &kiln_op_conv_bytes;
}

bool kiln_conv_has_zero_point(const kiln_node *conv) {
    return conv->op == &kiln_op_conv_bytes && kiln_node_attr(conv, "w_zero")->i != 0;
}

const kiln_tensor_intrin *kiln_dot_of(const kiln_node *conv, const kiln_profile *p) {
    const bool has_pairs = kiln_arch_of(p->arch)->intrinsics.madd_i16[0] != NULL;
    if (conv->op != &kiln_op_conv_bytes ||
        !(p->has_vnni || p->has_dotprod || has_pairs))
        return NULL;
    const kiln_dtype x = conv->in[0]->type.dtype, w = conv->in[1]->type.dtype;
    if (x == KILN_U8 && w == KILN_I8)
        return &kiln_tensor_dot4_u8s8;
    if (x == KILN_I8 && w == KILN_I8)
        return &kiln_tensor_dot4_s8s8;
    return x == KILN_U8 && w == KILN_U8 ? &kiln_tensor_dot4_u8u8 : NULL;
}

const kiln_tensor_intrin *kiln_dot_sum_of(const kiln_node *conv) {
    return conv->in[0]->type.dtype == KILN_U8 ? &kiln_tensor_sum4_u8
                                              : &kiln_tensor_sum4_s8;
}

int64_t kiln_sum_lanes(const kiln_node *anchor, const kiln_profile *p) {
    const kiln_dtype x = anchor->in[0]->type.dtype;
    const bool is_widened =
        x == KILN_F16 || x == KILN_BF16 || anchor->op == &kiln_op_conv_bytes;
    return p->vector_bytes / (is_widened ? 4 : (int64_t)kiln_dtype_bytes(x));
}

bool kiln_trusts_tails(const kiln_node *anchor, const kiln_profile *p) {
    return p->numerics != KILN_NUMERICS_STRICT || anchor->op == &kiln_op_conv_bytes;
}

void kiln_conv_block_weights(const kiln_node *conv, const kiln_profile *p,
                             kiln_layout *w, int64_t ic_block, int64_t oc_block) {
    const int64_t depth = kiln_dot_of(conv, p) != NULL ? KILN_DOT_DEPTH : 1;
    kiln_layout_add_block(w, 1, ic_block / depth);
    kiln_layout_add_block(w, 0, oc_block);
    kiln_layout_add_block(w, 1, depth);
}
