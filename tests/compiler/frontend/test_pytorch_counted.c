/* PyTorch's operators of values that are as long as data has them: suppression of boxes,
 * masks, and what is made of their results. The input x holds 0, 1, 2, 3. */
#include "compiler/frontend/frontend.h"

#include <math.h>

#include "compiler/frontend/frontend_internal.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/pt2_model.h"

enum { MAX_WANT = 24 };

typedef struct row {
    const char *name;
    const char *nodes; /* that make y */
    const char *shape; /* of y, filling too */
    int64_t count;
    double want[MAX_WANT];
} row;

/* The last box and the first two overlap; the best score is the last one's. */
#define NMS "k = torchvision.nms.default(dets=b, scores=x, iou_threshold=0.5)\n"
#define MASK "m = aten.gt.Scalar(self=x, other=1)\n"

static row rows[] = {
    {"boxes_that_are_left",
     NMS "y = aten.add.Tensor(self=k, other=0)",
     "[4]",
     2,
     {3, 2}},
    {"what_is_picked_of",
     NMS "y = aten.index.Tensor(self=b, indices=[k])",
     "[4,4]",
     2,
     {0, 0, 1, 1, 2, 2, 3, 3}},
    {"by_index_select",
     NMS "y = aten.index_select.default(self=x, dim=0, index=k)",
     "[4]",
     2,
     {3, 2}},
    {"a_pick_of_what_was_picked",
     NMS "a = aten.index.Tensor(self=x, indices=[k])\n"
         "y = aten.index.Tensor(self=a, indices=[z])",
     "[1]",
     -1,
     {3}},
    {"the_last_of_what_was_picked",
     NMS "a = aten.index.Tensor(self=x, indices=[k])\n"
         "y = aten.index.Tensor(self=a, indices=[l])",
     "[1]",
     -1,
     {2}},
    {"the_first_of_them",
     NMS "y = aten.slice.Tensor(self=k, dim=0, start=0, end=1)",
     "[1]",
     1,
     {3}},
    {"none_of_them",
     NMS "y = aten.slice.Tensor(self=k, dim=0, start=0, end=0)",
     "[0]",
     0,
     {0}},
    {"a_mask_of_none_of_them",
     NMS "k0 = aten.slice.Tensor(self=k, dim=0, start=0, end=0)\n"
         "m = aten.gt.Scalar(self=k0, other=0)\n"
         "y = aten.index.Tensor(self=k0, indices=[m])",
     "[0]",
     0,
     {0}},
    {"a_mask_of_nothing",
     "a = aten.slice.Tensor(self=x, dim=0, start=0, end=0)\n"
     "m = aten.gt.Scalar(self=a, other=0)\n"
     "y = aten.index.Tensor(self=a, indices=[m])",
     "[0]",
     0,
     {0}},
    {"more_than_there_are",
     NMS "y = aten.slice.Tensor(self=k, dim=0, start=0, end=3)",
     "[3]",
     2,
     {3, 2}},
    {"columns",
     NMS "a = aten.index.Tensor(self=b, indices=[k])\n"
         "y = aten.slice.Tensor(self=a, dim=1, start=2, end=4)",
     "[4,2]",
     2,
     {1, 1, 3, 3}},
    {"a_column",
     NMS "a = aten.index.Tensor(self=b, indices=[k])\n"
         "y = aten.select.int(self=a, dim=1, index=2)",
     "[4]",
     2,
     {1, 3}},
    /* Zeros behind what counts, whatever is computed. */
    {"element_by_element",
     NMS "a = aten.index.Tensor(self=x, indices=[k])\n"
         "e = aten.exp.default(self=a)\nc = aten.mul.Tensor(self=a, other=2)\n"
         "d = aten.clamp.default(self=c, max=5)\ny = aten.sub.Tensor(self=d, other=a)",
     "[4]",
     2,
     {2, 2}},
    {"joined_on_another_axis",
     NMS "a = aten.index.Tensor(self=b, indices=[k])\n"
         "s = aten.index.Tensor(self=x, indices=[k])\n"
         "u = aten.unsqueeze.default(self=s, dim=1)\n"
         "y = aten.cat.default(tensors=[a, u], dim=-1)",
     "[4,5]",
     2,
     {0, 0, 1, 1, 3, 2, 2, 3, 3, 2}},
    {"stacked",
     NMS "s = aten.index.Tensor(self=x, indices=[k])\n"
         "y = aten.stack.default(tensors=[s, s], dim=1)",
     "[4,2]",
     2,
     {3, 3, 2, 2}},
    {"what_is_asserted_of_it",
     NMS "n: = aten.sym_size.int(self=k, dim=0)\nq: = _operator.ge(a=n:, b=2)\n"
         "y = aten.add.Tensor(self=k, other=1)",
     "[4]",
     2,
     {4, 3}},
    {"sizes_of_other_axes",
     NMS "a = aten.index.Tensor(self=b, indices=[k])\n"
         "n: = aten.sym_size.int(self=a, dim=1)\ny = aten.mul.Tensor(self=k, other=n:)",
     "[4]",
     2,
     {12, 8}},
    {"a_mask",
     MASK "y = aten.index.Tensor(self=b, indices=[m])",
     "[4,4]",
     2,
     {2, 2, 3, 3, 0, 0, 1, 1}},
    {"a_mask_of_columns",
     MASK "y = aten.index.Tensor(self=b, indices=[None, m])",
     "[4,4]",
     2,
     {1, 1, 0, 0, 1, 0.9, 0, 0, 3, 3, 0, 0, 1, 1, 0, 0}},
    {"a_mask_of_what_a_mask_left",
     MASK "a = aten.index.Tensor(self=x, indices=[m])\n"
          "n = aten.lt.Scalar(self=a, other=3)\n"
          "y = aten.index.Tensor(self=a, indices=[n])",
     "[4]",
     1,
     {2}},
};

static const kiln_test_pt2_tensor tensors[] = {
    {.name = "x", .dims = "4"},
    {.name = "b", .dims = "4,4", .numbers = "0 0 1 1 0 0 1 0.9 2 2 3 3 0 0 1 1"},
    {.name = "z", .dims = "1", .numbers = "0", .is_int = true},
    {.name = "l", .dims = "1", .numbers = "-1", .is_int = true},
};
enum { N_TENSORS = sizeof tensors / sizeof tensors[0] };

static kiln_status import(const char *nodes, kiln_graph **g, kiln_err *err) {
    kiln_arena *const a = kiln_test_arena();
    const kiln_str bytes = kiln_test_pt2(a, tensors, N_TENSORS, nodes, "y");
    return kiln_frontend_pytorch.import(a, bytes, "m.pt2", NULL, NULL, g, NULL, err);
}

static double element(const kiln_tensor *t, int64_t i) {
    return t->type.dtype == KILN_I64 ? (double)((const int64_t *)t->data)[i]
                                     : (double)((const float *)t->data)[i];
}

static void check(void **state) {
    const row *const r = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_graph *g = NULL;
    kiln_err err = {0};
    float x[] = {0, 1, 2, 3};
    kiln_tensor y[2];
    const bool is_counted = r->count >= 0;
    kiln_assert_status_ok(import(r->nodes, &g, &err), &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    assert_int_equal(g->outputs.n, is_counted ? 2 : 1);
    const kiln_tensor in = {g->inputs.v[0]->type, x};
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, y, &err), &err);
    assert_string_equal(kiln_shape_text(a, y[0].type.rank, y[0].type.dim), r->shape);
    if (is_counted) {
        assert_ptr_equal(g->outputs.v[0]->count, g->outputs.v[1]);
        assert_string_equal(g->output_names.v[1], "y.count");
        assert_int_equal(*(const int64_t *)y[1].data, r->count);
    }
    for (int64_t i = 0; i < kiln_type_elems(&y[0].type); i++) {
        const double got = element(&y[0], i);
        if (!(fabs(got - r->want[i]) <= 1e-5))
            fail_msg("element %lld must be %g, is %g", (long long)i, r->want[i], got);
    }
}

typedef struct refusal {
    const char *name, *nodes, *says;
} refusal;

static refusal refusals[] = {
    {"an_operator_without_rule", NMS "y = aten.cumsum.default(self=k, dim=0)",
     "is as long as data has it, and this operator has no rule for that; "
     "export the model up to there"},
    {"a_length_that_is_computed_with",
     NMS "n: = aten.sym_size.int(self=k, dim=0)\n"
         "y = aten.view.default(self=x, size=[n:])",
     "something that the import does not know"},
    {"a_length_that_is_known_beside", NMS "y = aten.add.Tensor(self=k, other=x)",
     "and another operand's length is known"},
    {"two_lengths",
     NMS MASK "a = aten.index.Tensor(self=x, indices=[m])\n"
              "y = aten.add.Tensor(self=k, other=a)",
     "and another operand in another way"},
    {"the_last_of_them", NMS "y = aten.slice.Tensor(self=k, dim=0, start=1, end=3)",
     "and only its first elements may be cut off, x[:n]"},
    {"one_of_them", NMS "y = aten.select.int(self=k, dim=0, index=0)",
     "and one of its elements may not be there"},
    {"joined_along_the_axis", NMS "y = aten.cat.default(tensors=[k, k], dim=0)",
     "and is joined along the very axis"},
    {"a_mask_of_two_axes",
     "m = aten.gt.Scalar(self=b, other=1)\n"
     "y = aten.index.Tensor(self=b, indices=[m])",
     "such sizes are read where the mask is a list as long as the axis"},
    {"what_is_written",
     NMS "a = aten.add.Tensor(self=x, other=0)\n"
         "y = aten.index_put_.default(self=a, indices=[k], values=x)",
     "this operator has no rule for that"},
    {"boxes_of_three_numbers",
     "c = aten.slice.Tensor(self=b, dim=1, start=0, end=3)\n"
     "y = torchvision.nms.default(dets=c, scores=x, iou_threshold=0.5)",
     "nms: boxes must be [n, 4] and scores [n]"},
};

static void refuse(void **state) {
    const refusal *const r = *state;
    kiln_graph *g = NULL;
    kiln_err err = {0};
    const kiln_status st = import(r->nodes, &g, &err);
    assert_int_not_equal(st, KILN_OK);
    kiln_assert_fails(st, st, &err, r->says);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add_rows(refuse, refusals);
    return kiln_test_run("pytorch_counted");
}
