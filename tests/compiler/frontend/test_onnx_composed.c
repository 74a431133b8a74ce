/* Operators that an importer composes of several nodes: what they become, and what is
 * refused. */
#include "compiler/frontend/frontend.h"

#include <string.h>

#include "tests/support/kiln_test.h"
#include "tests/support/onnx_writer.h"

enum { MAX_INPUTS = 6, MAX_ATTRS = 4, MAX_TEXTS = 4 };

typedef struct input {
    const char *name;
    int type;
    const char *shape;
} input;

/* An integer, or a text or a list of one where that is given. */
typedef struct attribute {
    const char *name;
    int64_t i;
    const char *text;
    int64_t ints[1]; /* not 0 */
} attribute;

typedef struct row {
    const char *name;
    const char *op;
    int64_t opset;
    const char *in, *out; /* of the node */
    input inputs[MAX_INPUTS];
    attribute attrs[MAX_ATTRS];
    const char *want[MAX_TEXTS]; /* parts of the graph's text */
    kiln_status fails;
    const char *text;
} row;

#define F32(name, shape)                                                               \
    { (name), KILN_ONNX_FLOAT, (shape) }
#define I64(name, shape)                                                               \
    { (name), KILN_ONNX_INT64, (shape) }

static row loss[] = {
    {"nll_loss_picks_the_label", "NegativeLogLikelihoodLoss", 13, "x,t", "y",
     .inputs = {F32("x", "4,5"), I64("t", "4")},
     .want = {"gather_elements(%x,", "reduce_mean("}},
    {"mean_divides_by_the_weights", "NegativeLogLikelihoodLoss", 13, "x,t,w", "y",
     .inputs = {F32("x", "4,5"), I64("t", "4"), F32("w", "5")},
     .want = {"gather(%w, %t)", "reduce_sum(", "div("}},
    {"ignored_labels_cost_nothing", "SoftmaxCrossEntropyLoss", 13, "x,t", "y",
     .inputs = {F32("x", "4,5,2"), I64("t", "4,2")},
     .attrs = {{"ignore_index", .i = -1}, {"reduction", .text = "none"}},
     .want = {"log_softmax(%x) {axis=1}", "equal(%t,", "where("}},
    {"rejects_an_unknown_reduction", "NegativeLogLikelihoodLoss", 13, "x,t", "y",
     .inputs = {F32("x", "4,5"), I64("t", "4")},
     .attrs = {{"reduction", .text = "max"}}, .fails = KILN_ERR_PARSE,
     .text = "reduction must be none, sum or mean, is 'max'"},
    {"rejects_labels_of_another_rank", "SoftmaxCrossEntropyLoss", 13, "x,t", "y",
     .inputs = {F32("x", "4,5"), I64("t", "4,1")}, .fails = KILN_ERR_SHAPE,
     .text = "the labels must have the shape [N, ...] of scores [N, C, ...]"},
    {"rejects_weights_of_other_classes", "NegativeLogLikelihoodLoss", 13, "x,t,w", "y",
     .inputs = {F32("x", "4,5"), I64("t", "4"), F32("w", "4")}, .fails = KILN_ERR_SHAPE,
     .text = "the weights must be a list of one for each of the 5 classes"},
};

static row attention[] = {
    {"heads_of_keys_are_repeated", "Attention", 23, "q,k,v", "y",
     .inputs = {F32("q", "2,4,5,8"), F32("k", "2,2,6,8"), F32("v", "2,2,6,3")},
     .want = {"f32[2,2,2,6,8]", "softmax(", ": f32[2,4,5,3]"}},
    {"a_mask_may_leave_no_key", "Attention", 23, "q,k,v,m", "y",
     .inputs = {F32("q", "2,4,5,8"), F32("k", "2,4,6,8"), F32("v", "2,4,6,8"),
                F32("m", "5,6")},
     .want = {", %m)", "reduce_max(", "where("}},
    {"rejects_heads_that_do_not_divide", "Attention", 23, "q,k,v", "y",
     .inputs = {F32("q", "2,3,5,8"), F32("k", "2,2,6,8"), F32("v", "2,2,6,8")},
     .fails = KILN_ERR_SHAPE,
     .text = "the heads of 'K' and 'V' must be as many and divide those of 'Q'"},
    {"rejects_rank_3_without_heads", "Attention", 23, "q,k,v", "y",
     .inputs = {F32("q", "2,5,8"), F32("k", "2,6,8"), F32("v", "2,6,8")},
     .fails = KILN_ERR_SHAPE, .text = "attribute 'q_num_heads' must be >= 1"},
    {"rejects_mixed_ranks", "Attention", 23, "q,k,v", "y",
     .inputs = {F32("q", "2,1,5,8"), F32("k", "2,6,8"), F32("v", "2,6,8")},
     .fails = KILN_ERR_SHAPE, .text = "must all have rank 3 or all have rank 4"},
    {"rejects_half_a_past", "Attention", 23, "q,k,v,,p", "y",
     .inputs = {F32("q", "2,2,5,8"), F32("k", "2,2,6,8"), F32("v", "2,2,6,8"),
                F32("p", "2,2,4,8")},
     .fails = KILN_ERR_PARSE, .text = "must be given together"},
    {"rejects_an_unknown_mode", "Attention", 23, "q,k,v", "y",
     .inputs = {F32("q", "2,2,5,8"), F32("k", "2,2,6,8"), F32("v", "2,2,6,8")},
     .attrs = {{"qk_matmul_output_mode", .i = 4}}, .fails = KILN_ERR_PARSE,
     .text = "must be in [0, 3], is 4"},
    {"rotation_leaves_the_rest", "RotaryEmbedding", 23, "x,c,s", "y",
     .inputs = {F32("x", "2,3,4,8"), F32("c", "2,4,3"), F32("s", "2,4,3")},
     .attrs = {{"rotary_embedding_dim", .i = 6}}, .want = {"f32[2,3,4,2]", "concat("}},
    {"rejects_a_cache_of_another_size", "RotaryEmbedding", 23, "x,c,s", "y",
     .inputs = {F32("x", "2,3,4,8"), F32("c", "2,4,3"), F32("s", "2,4,4")},
     .fails = KILN_ERR_SHAPE,
     .text = "input 'cos_cache' must hold 4 numbers for each of 2 x 4 positions"},
    {"rejects_an_odd_rotation", "RotaryEmbedding", 23, "x,c,s", "y",
     .inputs = {F32("x", "2,3,4,8"), F32("c", "2,4,3"), F32("s", "2,4,4")},
     .attrs = {{"rotary_embedding_dim", .i = 5}}, .fails = KILN_ERR_SHAPE,
     .text = "must be even and at most the size of a head 8, is 5"},
    {"rejects_an_unknown_rule", "LinearAttention", 27, "q,k,v", "y,z",
     .inputs = {F32("q", "2,3,4"), F32("k", "2,3,4"), F32("v", "2,3,4")},
     .attrs = {{"q_num_heads", .i = 2},
               {"kv_num_heads", .i = 2},
               {"update_rule", .text = "x"}},
     .fails = KILN_ERR_PARSE, .text = "must be linear, gated, delta or gated_delta"},
    {"rejects_a_rule_without_its_input", "LinearAttention", 27, "q,k,v", "y,z",
     .inputs = {F32("q", "2,3,4"), F32("k", "2,3,4"), F32("v", "2,3,4")},
     .attrs = {{"q_num_heads", .i = 2},
               {"kv_num_heads", .i = 2},
               {"update_rule", .text = "gated"}},
     .fails = KILN_ERR_PARSE,
     .text = "the rule 'gated' needs input 'decay' and forbids input 'beta'"},
    {"rejects_too_many_steps", "LinearAttention", 27, "q,k,v", "y,z",
     .inputs = {F32("q", "1,5000,2"), F32("k", "1,5000,2"), F32("v", "1,5000,2")},
     .attrs = {{"q_num_heads", .i = 2},
               {"kv_num_heads", .i = 2},
               {"update_rule", .text = "linear"}},
     .fails = KILN_ERR_LIMIT, .text = "must have 1 to 4096 steps, has 5000"},
    {"rejects_a_state_of_another_length", "CausalConvWithState", 27, "x,w,,p", "y,z",
     .inputs = {F32("x", "2,3,4"), F32("w", "3,1,3"), F32("p", "2,3,3")},
     .fails = KILN_ERR_SHAPE, .text = "'past_state' must have shape [B, C, 2]"},
};

static row placing[] = {
    {"einsum_of_matrices_is_matmul", "Einsum", 12, "x,z", "y",
     .inputs = {F32("x", "2,3"), F32("z", "3,4")},
     .attrs = {{"equation", .text = "ij, jk -> ik"}},
     .want = {"matmul(%x, %z) : f32[2,4]"}},
    {"einsum_without_sums_is_mul", "Einsum", 12, "x,z", "y",
     .inputs = {F32("x", "2"), F32("z", "3")}, .attrs = {{"equation", .text = "i,j"}},
     .want = {"mul(", "f32[2,3]"}},
    {"einsum_of_a_diagonal_is_a_slice", "Einsum", 12, "x", "y",
     .inputs = {F32("x", "3,3")}, .attrs = {{"equation", .text = "ii"}},
     .want = {"steps=[4]", "reduce_sum("}},
    {"einsum_stretches_broadcast_axes", "Einsum", 12, "x,z", "y",
     .inputs = {F32("x", "1,2,3"), F32("z", "5,3,4")},
     .attrs = {{"equation", .text = "...ij,...jk->...ik"}},
     .want = {"expand(%x) {shape=[5, 2, 3]}", "f32[5,2,4]"}},
    {"rejects_axes_that_differ", "Einsum", 12, "x,z", "y",
     .inputs = {F32("x", "2,3"), F32("z", "4,4")},
     .attrs = {{"equation", .text = "ij,jk->ik"}}, .fails = KILN_ERR_SHAPE,
     .text = "axes of one label must have one extent, have 3 and 4"},
    {"rejects_labels_from_nowhere", "Einsum", 12, "x", "y", .inputs = {F32("x", "2,3")},
     .attrs = {{"equation", .text = "ij->ik"}}, .fails = KILN_ERR_PARSE,
     .text = "must give each label of the result once, and some term must have it"},
    {"rejects_other_characters", "Einsum", 12, "x", "y", .inputs = {F32("x", "2,3")},
     .attrs = {{"equation", .text = "i1->i"}}, .fails = KILN_ERR_PARSE,
     .text = "must consist of letters"},
    {"rejects_terms_of_no_input", "Einsum", 12, "x", "y", .inputs = {F32("x", "2,3")},
     .attrs = {{"equation", .text = "ij,jk->ik"}}, .fails = KILN_ERR_PARSE,
     .text = "must have as many terms as there are inputs"},
    {"rejects_terms_of_another_rank", "Einsum", 12, "x", "y",
     .inputs = {F32("x", "2,3")}, .attrs = {{"equation", .text = "ijk->i"}},
     .fails = KILN_ERR_SHAPE, .text = "must name the 2 axes of its input, names 3"},
    {"positions_run_in_a_circle", "TensorScatter", 24, "x,z,w", "y",
     .inputs = {F32("x", "2,1,4,3"), F32("z", "2,1,2,3"), I64("w", "2")},
     .attrs = {{"mode", .text = "circular"}},
     .want = {"add(", "mod(", "scatter_elements(%x,"}},
    {"rejects_updates_that_do_not_fit", "TensorScatter", 24, "x,z", "y",
     .inputs = {F32("x", "2,1,4,3"), F32("z", "2,1,5,3")}, .fails = KILN_ERR_SHAPE,
     .text =
         "'update' must have the shape of 'past_cache', and on axis 2 > 0 not more"},
    {"unpooling_scatters", "MaxUnpool", 11, "x,z", "y",
     .inputs = {F32("x", "1,1,2"), I64("z", "1,1,2")},
     .attrs = {{"kernel_shape", .ints = {2}}, {"strides", .ints = {2}}},
     .want = {"scatter_elements(", "f32[1,1,4]"}},
    {"rejects_an_image_shape_from_outside", "Col2Im", 18, "x,z,z", "y",
     .inputs = {F32("x", "1,4,4"), I64("z", "2")}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "input 'image_shape' must be a constant, it depends on graph input 'z'"},
    {"a_transform_is_a_product", "DFT", 17, "x", "y", .inputs = {F32("x", "1,4,1")},
     .want = {"f32[4,8]", "matmul(", "f32[1,4,2]"}},
    {"rejects_the_axis_of_parts", "DFT", 17, "x", "y", .inputs = {F32("x", "1,4,1")},
     .attrs = {{"axis", .i = -1}}, .fails = KILN_ERR_SHAPE,
     .text = "the axis must not be the last, which holds the parts"},
    {"rejects_three_parts", "DFT", 17, "x", "y", .inputs = {F32("x", "1,4,3")},
     .fails = KILN_ERR_LIMIT, .text = "points of 1 or 2 parts, has 4 of 3"},
    {"rejects_a_window_from_outside", "HannWindow", 17, "x", "y",
     .inputs = {I64("x", "")}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "input 'size' must be a constant, it depends on graph input 'x'"},
    {"rejects_a_size_from_outside", "AffineGrid", 20, "x,z", "y",
     .inputs = {F32("x", "1,2,3"), I64("z", "4")}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "input 'size' must be a constant"},
    {"sampling_knows_old_words", "GridSample", 16, "x,z", "y",
     .inputs = {F32("x", "1,1,2,2"), F32("z", "1,3,3,2")},
     .attrs = {{"mode", .text = "bicubic"}},
     .want = {"grid_sample(%x, %z) {mode=cubic"}},
    {"rejects_an_unknown_filter", "GridSample", 16, "x,z", "y",
     .inputs = {F32("x", "1,1,2,2"), F32("z", "1,3,3,2")},
     .attrs = {{"mode", .text = "lanczos"}}, .fails = KILN_ERR_PARSE,
     .text = "attribute 'mode' must be nearest, linear or cubic, is 'lanczos'"},
    {"rejects_a_grid_of_another_rank", "GridSample", 16, "x,z", "y",
     .inputs = {F32("x", "1,1,2,2"), F32("z", "1,3,2")}, .fails = KILN_ERR_SHAPE,
     .text = "inputs 'x' and 'grid' must have shapes"},
};

static row selection[] = {
    {"rejects_a_condition_from_outside", "Compress", 11, "x,z", "y",
     .inputs = {F32("x", "4"), {"z", KILN_ONNX_BOOL, "4"}},
     .fails = KILN_ERR_UNSUPPORTED,
     .text = "input 'condition' must be a constant, it depends on graph input 'z'"},
    {"rejects_zeros_from_outside", "NonZero", 13, "x", "y", .inputs = {F32("x", "4")},
     .fails = KILN_ERR_UNSUPPORTED,
     .text = "input 'X' must be a constant, it depends on graph input 'x'"},
    {"says_why_an_operator_is_not_read", "RandomUniformLike", 13, "x", "y",
     .inputs = {F32("x", "4")}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "first in node 'node'; it draws random numbers)"},
    {"rejects_duplicates_from_outside", "Unique", 11, "x", "y",
     .inputs = {I64("x", "4")}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "input 'X' must be a constant, it depends on graph input 'x'"},
};

static kiln_str build(kiln_arena *a, const row *r) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    for (int i = 0; i < MAX_INPUTS && r->inputs[i].name != NULL; i++)
        kiln_onnx_put_input(&m, r->inputs[i].name, r->inputs[i].type,
                            r->inputs[i].shape);
    kiln_onnx_put_node(&m, r->op, "node", r->in, r->out);
    for (int i = 0; i < MAX_ATTRS && r->attrs[i].name != NULL; i++)
        if (r->attrs[i].text != NULL)
            kiln_onnx_put_attr_text(&m, r->attrs[i].name, r->attrs[i].text);
        else if (r->attrs[i].ints[0] != 0)
            kiln_onnx_put_attr_ints(&m, r->attrs[i].name, r->attrs[i].ints, 1);
        else
            kiln_onnx_put_attr_int(&m, r->attrs[i].name, r->attrs[i].i);
    kiln_str rest = kiln_str_from(r->out), out;
    while (kiln_str_cut(&rest, ',', &out))
        kiln_onnx_put_output(&m, kiln_str_dupv(a, out), KILN_ONNX_FLOAT, NULL);
    return kiln_onnx_finish_model(&m, 8, r->opset);
}

static void check(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_import_report report = {0};
    kiln_graph *g = NULL;
    const kiln_status st = kiln_import_onnx_bytes(&a, build(&a, r), "test.onnx", NULL,
                                                  NULL, &g, &report, &err);
    if (r->fails != KILN_OK) {
        kiln_assert_fails(st, r->fails, &err, r->text);
        kiln_arena_fini(&a);
        return;
    }
    kiln_assert_status_ok(st, &err);
    kiln_buf text;
    kiln_buf_init(&text, &a);
    kiln_graph_print(&text, g, NULL);
    for (int i = 0; i < MAX_TEXTS && r->want[i] != NULL; i++)
        if (strstr(text.p, r->want[i]) == NULL)
            fail_msg("want '%s' in\n%s", r->want[i], text.p);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(check, loss);
    kiln_test_add_rows(check, attention);
    kiln_test_add_rows(check, placing);
    kiln_test_add_rows(check, selection);
    return kiln_test_run("onnx_composed");
}
