/* PyTorch's operators: programs of a few calls with hand-checked numbers. The input x
 * holds 0, 1, 2, ... less what a row says. */
#include "compiler/frontend/frontend.h"

#include <math.h>
#include <string.h>

#include "compiler/frontend/frontend_internal.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/pt2_model.h"

enum { MAX_WANT = 32, MAX_IN = 64, MAX_W = 6 };

typedef struct row {
    const char *name;
    const char *x;     /* its sizes */
    const char *nodes; /* that make y */
    const char *shape; /* of y */
    double want[MAX_WANT];
    double less;
    kiln_test_pt2_tensor w[MAX_W + 1]; /* beside x */
} row;

/* A weight of floats, and of integers. */
#define W(n, d, v)                                                                     \
    { .name = (n), .dims = (d), .numbers = (v) }
#define I(n, d, v)                                                                     \
    { .name = (n), .dims = (d), .numbers = (v), .is_int = true }

static row rows[] = {
    {"add_scales_the_other", "2", "y = aten.add.Tensor(self=x, other=x, alpha=2)",
     .shape = "[2]", .want = {0, 3}},
    {"a_number_takes_the_tensors_dtype", "2", "y = aten.mul.Tensor(self=x, other=2)",
     .shape = "[2]", .want = {0, 2}},
    {"integers_divide_to_floats", "2",
     "i = aten._to_copy.default(self=x, dtype=@5)\n"
     "y = aten.div.Tensor(self=i, other=2)",
     .shape = "[2]", .want = {0, 0.5}},
    {"division_rounds_down", "2",
     "y = aten.div.Tensor_mode(self=x, other=2, rounding_mode='floor')", .shape = "[2]",
     .want = {-1, -1}, .less = 2},
    {"rsub", "2", "y = aten.rsub.Scalar(self=x, other=1)", .shape = "[2]",
     .want = {1, 0}},
    {"in_place_variants_are_found", "2", "y = aten.relu_.default(self=x)",
     .shape = "[2]", .want = {0, 0}, .less = 1},
    {"later_readers_see_what_was_written", "2",
     "z = aten.add.Tensor(self=x, other=0)\n"
     "w = aten.relu_.default(self=z)\n"
     "y = aten.add.Tensor(self=z, other=1)",
     .shape = "[2]", .want = {1, 1}, .less = 1},
    {"clamp_with_one_bound", "3", "y = aten.clamp.default(self=x, max=1)",
     .shape = "[3]", .want = {0, 1, 1}},
    {"hardtanh", "3", "y = aten.hardtanh.default(self=x, min_val=0.0, max_val=1.5)",
     .shape = "[3]", .want = {0, 1, 1.5}},
    {"where_of_a_comparison", "3",
     "c = aten.gt.Scalar(self=x, other=1)\n"
     "y = aten.where.ScalarOther(condition=c, self=x, other=-1)",
     .shape = "[3]", .want = {-1, -1, 2}},
    {"masked_fill", "3",
     "c = aten.eq.Scalar(self=x, other=1)\n"
     "y = aten.masked_fill.Scalar(self=x, mask=c, value=7)",
     .shape = "[3]", .want = {0, 7, 2}},
    {"pow_of_two", "3", "y = aten.pow.Tensor_Scalar(self=x, exponent=2)",
     .shape = "[3]", .want = {0, 1, 4}},
    {"view_settles_one_size", "2,3", "y = aten.view.default(self=x, size=[3, -1])",
     .shape = "[3,2]", .want = {0, 1, 2, 3, 4, 5}},
    {"flatten", "1,2,2", "y = aten.flatten.using_ints(self=x, start_dim=1)",
     .shape = "[1,4]", .want = {0, 1, 2, 3}},
    {"squeeze_of_named_axes", "1,2,1", "y = aten.squeeze.dims(self=x, dim=[0])",
     .shape = "[2,1]", .want = {0, 1}},
    {"permute", "2,3", "y = aten.permute.default(self=x, dims=[1, 0])",
     .shape = "[3,2]", .want = {0, 3, 1, 4, 2, 5}},
    {"expand_keeps_minus_one", "2,1", "y = aten.expand.default(self=x, size=[-1, 2])",
     .shape = "[2,2]", .want = {0, 0, 1, 1}},
    {"sizes_are_numbers", "2,3",
     "n: = aten.sym_size.int(self=x, dim=1)\n"
     "m: = _operator.mul(a=n:, b=2)\n"
     "y = aten.view.default(self=x, size=[m:])",
     .shape = "[6]", .want = {0, 1, 2, 3, 4, 5}},
    {"chunk_gives_a_list", "5",
     "[a, b] = aten.chunk.default(self=x, chunks=2)\n"
     "y = aten.cat.default(tensors=[b, a])",
     .shape = "[5]", .want = {3, 4, 0, 1, 2}},
    {"split_with_sizes", "3",
     "[a, b] = aten.split_with_sizes.default(self=x, split_sizes=[1, 2])\n"
     "y = aten.mul.Tensor(self=b, other=a)",
     .shape = "[2]", .want = {0, -1}, .less = 1},
    {"stack", "2", "y = aten.stack.default(tensors=[x, x], dim=1)", .shape = "[2,2]",
     .want = {0, 0, 1, 1}},
    {"select_from_the_end", "2,2", "y = aten.select.int(self=x, dim=0, index=-1)",
     .shape = "[2]", .want = {2, 3}},
    {"slice_to_a_large_end", "4",
     "y = aten.slice.Tensor(self=x, dim=0, start=1, end=9223372036854775807, step=2)",
     .shape = "[2]", .want = {1, 3}},
    {"roll", "4", "y = aten.roll.default(self=x, shifts=[1], dims=[0])", .shape = "[4]",
     .want = {3, 0, 1, 2}},
    {"flip", "3", "y = aten.flip.default(self=x, dims=[0])", .shape = "[3]",
     .want = {2, 1, 0}},
    {"index_of_two_axes", "2,3", "y = aten.index.Tensor(self=x, indices=[i, j])",
     .shape = "[2]", .want = {1, 5}, .w = {I("i", "2", "0 1"), I("j", "2", "1 2")}},
    {"index_skips_axes", "2,2", "y = aten.index.Tensor(self=x, indices=[None, i])",
     .shape = "[2,1]", .want = {1, 3}, .w = {I("i", "1", "1")}},
    {"index_put", "3", "y = aten.index_put.default(self=x, indices=[i], values=v)",
     .shape = "[3]", .want = {9, 1, 8}, .w = {I("i", "2", "0 2"), W("v", "2", "9 8")}},
    {"gather_of_fewer_rows", "2,2", "y = aten.gather.default(self=x, dim=1, index=i)",
     .shape = "[1,2]", .want = {1, 0}, .w = {I("i", "1,2", "1 0")}},
    {"embedding", "2",
     "i = aten._to_copy.default(self=x, dtype=@5)\n"
     "y = aten.embedding.default(weight=w, indices=i, padding_idx=0)",
     .shape = "[2,2]", .want = {1, 2, 3, 4}, .w = {W("w", "2,2", "1 2 3 4")}},
    {"arange_with_a_step", "1",
     "r = aten.arange.start_step(start=1, end=6, step=2)\n"
     "y = aten.add.Tensor(self=x, other=r)",
     .shape = "[3]", .want = {1, 3, 5}},
    {"full_of_x_dtype", "2", "y = aten.full_like.default(self=x, fill_value=3)",
     .shape = "[2]", .want = {3, 3}},
    {"tril", "2,2", "y = aten.tril.default(self=x)", .shape = "[2,2]",
     .want = {1, 0, 3, 4}, .less = -1},
    {"linear_of_a_matrix", "1,2", "y = aten.linear.default(input=x, weight=w, bias=b)",
     .shape = "[1,2]", .want = {12, 24},
     .w = {W("w", "2,2", "1 2 3 4"), W("b", "2", "10 20")}},
    {"linear_of_more_axes", "1,1,2", "y = aten.linear.default(input=x, weight=w)",
     .shape = "[1,1,2]", .want = {2, 4}, .w = {W("w", "2,2", "1 2 3 4")}},
    {"addmm", "1,2", "y = aten.addmm.default(self=b, mat1=x, mat2=w, beta=2)",
     .shape = "[1,2]", .want = {5, 8},
     .w = {W("w", "2,2", "1 2 3 4"), W("b", "2", "1 2")}},
    {"attention_of_one_key", "1,1,2",
     "y = aten.scaled_dot_product_attention.default(query=x, key=x, value=x, "
     "is_causal=True)",
     .shape = "[1,1,2]", .want = {0, 1}},
    {"attention_masked_whole_gives_zero", "1,1,2",
     "m = aten.gt.Scalar(self=x, other=9)\n"
     "s = aten.slice.Tensor(self=m, dim=2, end=1)\n"
     "y = aten.scaled_dot_product_attention.default(query=x, key=x, value=x, "
     "attn_mask=s)",
     .shape = "[1,1,2]", .want = {0, 0}},
    {"conv2d", "1,1,1,3",
     "y = aten.conv2d.default(input=x, weight=w, bias=b, padding=[0, 1])",
     .shape = "[1,1,1,3]", .want = {0, 1, 6},
     .w = {W("w", "1,1,1,3", "1 2 -1"), W("b", "1", "1")}},
    {"conv1d_of_one_example_and_same", "1,3",
     "y = aten.conv1d.padding(input=x, weight=w, padding='same')", .shape = "[1,3]",
     .want = {10, 21, 2}, .w = {W("w", "1,1,2", "1 10")}},
    {"convolution_transposed", "1,1,2",
     "y = aten.convolution.default(input=x, weight=w, bias=None, stride=[2], "
     "padding=[0], dilation=[1], transposed=True, output_padding=[0], groups=1)",
     .shape = "[1,1,4]", .want = {1, 2, 2, 4}, .less = -1,
     .w = {W("w", "1,1,2", "1 2")}},
    {"max_pool_steps_by_its_kernel", "1,1,1,4",
     "y = aten.max_pool2d.default(self=x, kernel_size=[1, 2])", .shape = "[1,1,1,2]",
     .want = {1, 3}},
    {"avg_pool_counts_padding", "1,1,2",
     "y = aten.avg_pool1d.default(self=x, kernel_size=[2], stride=[2], padding=[1])",
     .shape = "[1,1,2]", .want = {0, 0.5}},
    {"adaptive_pool_to_what_does_not_divide", "1,1,3",
     "y = aten.adaptive_avg_pool1d.default(self=x, output_size=[2])",
     .shape = "[1,1,2]", .want = {0.5, 1.5}},
    {"adaptive_max_pool", "1,1,3",
     "y, i = aten.adaptive_max_pool1d.default(self=x, output_size=[2])",
     .shape = "[1,1,2]", .want = {1, 2}},
    {"batch_norm_without_factors", "1,2",
     "y = aten.batch_norm.default(input=x, weight=None, bias=None, running_mean=m, "
     "running_var=v, training=False, momentum=0.1, eps=0.0, cudnn_enabled=True)",
     .shape = "[1,2]", .want = {1, 1}, .less = -2,
     .w = {W("m", "2", "1 1"), W("v", "2", "1 4")}},
    {"layer_norm", "1,2",
     "y, m, r = aten.native_layer_norm.default(input=x, normalized_shape=[2], "
     "weight=w, bias=b, eps=0.0000000001)",
     .shape = "[1,2]", .want = {-1, 3}, .w = {W("w", "2", "1 2"), W("b", "2", "0 1")}},
    {"group_norm_of_one_group", "1,2",
     "y = aten.group_norm.default(input=x, num_groups=1, eps=0.0000000001)",
     .shape = "[1,2]", .want = {-1, 1}},
    {"softmax", "1,2", "y = aten.softmax.int(self=x, dim=-1)", .shape = "[1,2]",
     .want = {0.2689414213, 0.7310585786}},
    {"mean_of_axes", "2,2", "y = aten.mean.dim(self=x, dim=[0], keepdim=True)",
     .shape = "[1,2]", .want = {1, 2}},
    {"sum_of_all", "2,2", "y = aten.sum.default(self=x)", .shape = "[]", .want = {6}},
    {"max_along_an_axis", "2,2",
     "v, i = aten.max.dim(self=x, dim=1)\n"
     "y = aten.add.Tensor(self=v, other=i)",
     .shape = "[2]", .want = {2, 4}},
    {"max_of_two", "2", "y = aten.max.other(self=x, other=w)", .shape = "[2]",
     .want = {0.5, 1}, .w = {W("w", "2", "0.5 0.5")}},
    {"argmax_of_all", "2,2",
     "i = aten.argmax.default(self=x)\ny = aten.add.Tensor(self=i, other=0.5)",
     .shape = "[]", .want = {3.5}},
    {"variance_is_corrected", "3", "y = aten.var.correction(self=x, dim=[0])",
     .shape = "[]", .want = {1}},
    {"variance_of_all_there_are", "2",
     "y = aten.var.correction(self=x, dim=[0], correction=0)", .shape = "[]",
     .want = {0.25}},
    {"vector_norm", "2", "y = aten.linalg_vector_norm.default(self=x, dim=[0])",
     .shape = "[]", .want = {5}, .less = -3},
    {"topk", "3", "y, i = aten.topk.default(self=x, k=2)", .shape = "[2]",
     .want = {2, 1}},
    {"sort", "3", "y, i = aten.sort.default(self=x, descending=True)", .shape = "[3]",
     .want = {2, 1, 0}},
    {"cumsum", "3", "y = aten.cumsum.default(self=x, dim=0)", .shape = "[3]",
     .want = {0, 1, 3}},
    {"pad_with_a_number", "2",
     "y = aten.constant_pad_nd.default(self=x, pad=[1, 0], "
     "value=7)",
     .shape = "[3]", .want = {7, 0, 1}},
    {"pad_reflects", "1,1,3",
     "y = aten.pad.default(self=x, pad=[1, 0], mode='reflect')", .shape = "[1,1,4]",
     .want = {1, 0, 1, 2}},
    {"nearest_by_factors", "1,1,1,2",
     "y = aten.upsample_nearest2d.vec(input=x, output_size=None, scale_factors=[1.0, "
     "2.0])",
     .shape = "[1,1,1,4]", .want = {0, 0, 1, 1}},
    {"bilinear_by_corners", "1,1,1,2",
     "y = aten.upsample_bilinear2d.default(self=x, output_size=[1, 3], "
     "align_corners=True)",
     .shape = "[1,1,1,3]", .want = {0, 0.5, 1}},
    {"pixel_shuffle", "1,4,1,1",
     "y = aten.pixel_shuffle.default(self=x, "
     "upscale_factor=2)",
     .shape = "[1,1,2,2]", .want = {0, 1, 2, 3}},
    {"gru_of_zero_weights_halves", "1,1,1",
     "y, h = aten.gru.input(input=x, hx=h0, params=[w, r], has_biases=False, "
     "num_layers=1, dropout=0.0, train=False, bidirectional=False, batch_first=True)",
     .shape = "[1,1,1]", .want = {2},
     .w = {W("h0", "1,1,1", "4"), W("w", "3,1", "0 0 0"), W("r", "3,1", "0 0 0")}},
    {"lstm_forgets_half", "1,1,1",
     "y, h, c = aten.lstm.input(input=x, hx=[h0, c0], params=[w, r], "
     "has_biases=False, num_layers=1, dropout=0.0, train=False, bidirectional=False, "
     "batch_first=True)",
     .shape = "[1,1,1]", .want = {0.2310585786},
     .w = {W("h0", "1,1,1", "0"), W("c0", "1,1,1", "1"), W("w", "4,1", "0 0 0 0"),
           W("r", "4,1", "0 0 0 0")}},
};

/* x and the row's weights. */
static size_t tensors_of(const row *r, kiln_test_pt2_tensor *t) {
    size_t n = 0;
    t[n++] = (kiln_test_pt2_tensor){.name = "x", .dims = r->x};
    for (int i = 0; i < MAX_W && r->w[i].name != NULL; i++)
        t[n++] = r->w[i];
    return n;
}

static void check(void **state) {
    const row *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_test_pt2_tensor t[MAX_W + 1];
    const size_t n = tensors_of(r, t);
    float *const x = kiln_array(&a, float, MAX_IN);
    for (int i = 0; i < MAX_IN; i++)
        x[i] = (float)(i - r->less);
    const kiln_str bytes = kiln_test_pt2(&a, t, n, r->nodes, "y");
    kiln_assert_status_ok(
        kiln_frontend_pytorch.import(&a, bytes, "m.pt2", NULL, NULL, &g, NULL, &err),
        &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    assert_int_equal(g->inputs.n, 1);
    const kiln_tensor in = {g->inputs.v[0]->type, x};
    kiln_tensor y;
    kiln_assert_status_ok(kiln_ref_run(&a, g, &in, 1, &y, &err), &err);
    assert_string_equal(kiln_shape_text(&a, y.type.rank, y.type.dim), r->shape);
    assert_int_equal(y.type.dtype, KILN_F32);
    for (int64_t i = 0; i < kiln_type_elems(&y.type); i++) {
        const double got = (double)((const float *)y.data)[i];
        if (!(fabs(got - r->want[i]) <= 1e-5))
            fail_msg("element %lld must be %g, is %g", (long long)i, r->want[i], got);
    }
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    return kiln_test_run("pytorch_ops");
}
