/* Lengths that depend on data: what is computed from rows that a mask picks must be
 * what the same model computes whose mask is a constant, so that all its shapes are
 * static. That one is imported by other code, the rules of counted.def against the
 * operators' own importers. */
#include "compiler/reference/reference.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/import/import_run.h"

enum { ROWS = 6, COLUMNS = 4, MAX_TEXT = 128, MAX_NUMBERS = 4 };
enum { F32 = KILN_ONNX_FLOAT, I32 = KILN_ONNX_INT32, I64 = KILN_ONNX_INT64 };

/* From x (f32[6,4]) and m (bool[6]): nz (NonZero of m), i (i64[n]: rows that m picks),
 * r (f32[n,4]: them), rs (r's shape) and n0 (i64[1]: n) are there. The result is y. */
typedef struct model {
    const char *name;
    const char *text; /* "Operator inputs outputs attribute=value ...; ..." */
    int type;         /* of y */
    bool needs_rows;  /* a static operator refuses to work on none */
    int64_t opset;    /* 0: 18 */
} model;

static const char prelude[] = "NonZero m nz; Squeeze nz,c0 i; Gather x,i r; "
                              "Shape r rs; Gather rs,c0 n0";
static const char of_old[] = "NonZero m nz; Squeeze nz i axes=0; Gather x,i r";

static const struct {
    const char *name, *shape;
    int64_t v[2];
} numbers[] = {
    {"c0", "1", {0}},     {"c1", "1", {1}},      {"c2", "1", {2}},
    {"c3", "1", {3}},     {"m1", "1", {-1}},     {"s0", "", {0}},
    {"s1", "", {1}},      {"sm1", "", {-1}},     {"far", "1", {INT64_MAX}},
    {"c12", "2", {1, 2}}, {"by2", "2", {-1, 2}}, {"c02", "2", {0, 2}},
};

static model models[] = {
    {"rows_as_they_are", .type = F32, .text = "Identity r y"},
    {"element_by_element", .type = F32,
     .text = "Mul r,r t; "
             "Add t,h y"},
    {"columns_against_rows", .type = F32,
     .text = "Gather r,s1 c axis=1; "
             "Unsqueeze c,c1 u; "
             "Sub r,u y"},
    {"choices", .type = F32,
     .text = "Greater r,h b; "
             "Where b,r,h y"},
    {"conversions", .type = I64, .text = "Cast r y to=7"},
    {"clips_and_powers", .type = F32,
     .text = "Clip r,,h t; "
             "Pow t,two y"},
    {"transposed", .type = F32, .text = "Transpose r y perm=1,0"},
    {"transposed_by_default", .type = F32, .text = "Transpose r y"},
    {"rows_of_a_product", .type = F32, .text = "MatMul r,w y"},
    {"rows_of_a_product_and_bias", .type = F32, .text = "Gemm r,w,bias y"},
    {"softmax_of_a_row", .type = F32, .text = "Softmax r y axis=-1"},
    {"softmax_of_a_column", .type = F32, .needs_rows = true,
     .text = "Softmax r y axis=0"},
    {"softmax_of_old", .type = F32, .opset = 11, .text = "Softmax r y"},
    {"largest_of_all", .type = F32, .needs_rows = true, .text = "ReduceMax r y"},
    {"smallest_of_a_column", .type = F32, .needs_rows = true,
     .text = "ReduceMin r,c0 y keepdims=0"},
    {"sum_of_columns", .type = F32, .text = "ReduceSum r,c0 y keepdims=0"},
    {"sum_of_rows", .type = F32, .text = "ReduceSum r,c1 y keepdims=0"},
    {"sum_of_transposed_columns", .type = F32,
     .text = "Transpose r t; "
             "ReduceSum t,c0 y keepdims=0"},
    {"product_of_columns", .type = F32, .text = "ReduceProd r,c0 y keepdims=1"},
    {"norm_of_columns", .type = F32, .text = "ReduceL2 r,c0 y"},
    {"exponentials_of_columns", .type = F32, .needs_rows = true,
     .text = "ReduceLogSumExp r,c0 y"},
    {"largest_row", .type = I64, .needs_rows = true, .text = "ArgMax r y axis=0"},
    {"largest_integer", .type = I32, .needs_rows = true,
     .text = "Cast r t to=6; "
             "ReduceMax t,c0 y"},
    {"shape", .type = I64, .text = "Identity rs y"},
    {"part_of_a_shape", .type = I64, .text = "Shape r y start=-2 end=1"},
    {"size", .type = I64, .text = "Size r y"},
    {"joined_axes", .type = F32, .text = "Reshape r,m1 y"},
    {"parted_rows", .type = F32, .text = "Reshape r,by2 y"},
    {"joined_and_parted", .type = F32,
     .text = "Reshape r,m1 t; "
             "Reshape t,by4 y"},
    {"a_dim_kept", .type = F32, .text = "Reshape r,keep y"},
    {"a_shape_put_together", .type = F32, .needs_rows = true,
     .text = "Concat n0,m1,c2 s axis=0; "
             "Reshape r,s y"},
    {"flat_from_the_start", .type = F32, .text = "Flatten r y axis=0"},
    {"flat_from_the_end", .type = F32, .text = "Flatten r y axis=2"},
    {"flat_images", .type = F32,
     .text = "Unsqueeze r,c12 t; "
             "Flatten t y"},
    {"axes_around", .type = F32, .text = "Unsqueeze r,c02 y"},
    {"axes_around_and_back", .type = F32,
     .text = "Unsqueeze r,c02 t; "
             "Squeeze t,c2 y"},
    {"expanded_to_a_shape", .type = F32,
     .text = "Gather r,s1 c axis=1; "
             "Unsqueeze c,c1 u; "
             "Expand u,rs y"},
    {"one_row_for_each", .type = F32,
     .text = "Gather x,c1 t; "
             "Expand t,rs y"},
    {"zeros_of_a_shape", .type = F32, .text = "ConstantOfShape rs y"},
    {"a_shape_with_an_open_dim_made_one", .type = F32,
     .text = "Shape rs k; "
             "ConstantOfShape k t; "
             "Cast t z to=7; "
             "Sub z,s1 neg; "
             "Equal rs,neg b; "
             "Where b,z,rs s; "
             "Expand h,s y"},
    {"numbers_of_rows", .type = I64,
     .text = "Squeeze n0,c0 k; "
             "Range s0,k,s1 y"},
    {"some_rows", .type = F32, .text = "Slice r,c1,c3,c0,c1 y"},
    {"all_rows_of_a_slice", .type = F32, .text = "Slice r,c0,far,c0,c1 y"},
    {"all_but_the_last", .type = F32, .text = "Slice r,c0,m1,c0 y"},
    {"some_columns", .type = F32, .text = "Slice r,c1,c3,c1,c1 y"},
    {"every_second_column", .type = F32, .text = "Slice r,c0,far,c1,c2 y"},
    {"as_many_as_are_picked", .type = F32, .text = "Slice x,c0,n0,c0 y"},
    {"the_rest_from_the_second_on", .type = F32, .text = "Slice x,c1,n0,c0 y"},
    {"one_part", .type = F32, .text = "Split r y axis=0 num_outputs=1"},
    {"parts_of_rows", .type = F32, .text = "Split r t,y axis=1 num_outputs=2"},
    {"one_behind_the_other", .type = F32, .text = "Concat r,x,r y axis=0"},
    {"columns_behind_each_other", .type = F32,
     .text = "Transpose r t; "
             "Concat t,t y axis=1"},
    {"side_by_side", .type = F32,
     .text = "Neg r t; "
             "Concat r,t y axis=1"},
    {"one_alone", .type = F32, .text = "Concat r y axis=0"},
    {"picked_again", .type = F32,
     .text = "ReduceSum r,c1 t keepdims=0; "
             "Greater t,h b; "
             "NonZero b k; "
             "Squeeze k,c0 j; "
             "Gather r,j y"},
    {"places_in_a_matrix", .type = I64,
     .text = "Greater r,h b; "
             "NonZero b y"},
    {"a_row_that_is_known", .type = F32, .needs_rows = true, .text = "Gather r,s0 y"},
    {"the_last_row", .type = F32, .needs_rows = true, .text = "Gather r,sm1 y"},
    {"rows_by_index_from_the_end", .type = F32,
     .text = "Sub i,big j; "
             "Gather x,j y"},
    {"elements_by_index", .type = F32,
     .text = "Transpose nz j; "
             "GatherND x,j y"},
    {"the_last_element_by_index", .type = F32, .needs_rows = true,
     .text = "GatherND r,last y"},
    {"the_best_two", .type = F32,
     .text = "Gather r,s1 c axis=1; "
             "Concat n0,c2 t axis=0; "
             "ReduceMin t k keepdims=1; "
             "TopK c,k y,z axis=-1"},
    {"places_of_the_worst_two", .type = I64,
     .text = "Gather r,s1 c axis=1; "
             "Concat n0,c2 t axis=0; "
             "ReduceMin t k keepdims=1; "
             "TopK c,k z,y largest=0; "
             "Identity y w1"},
    {"the_best_row_of_each_column", .type = F32, .needs_rows = true,
     .text = "TopK r,c1 y,z axis=0"},
    {"the_best_columns", .type = F32, .text = "TopK r,c2 y,z axis=1"},
    {"rows_put_back", .type = F32,
     .text = "Unsqueeze i,c1 u; "
             "Expand u,rs j; "
             "ScatterElements x,j,t y; "
             "Neg r t"},
    {"rows_added_to", .type = F32,
     .text = "Unsqueeze i,c1 u; "
             "Expand u,rs j; "
             "ScatterElements x,j,r y reduction=add"},
    {"some_of_zeros_replaced", .type = F32,
     .text = "ReduceSum r,c1 t keepdims=0; "
             "Greater t,h b; "
             "NonZero b k; "
             "Squeeze k,c0 j; "
             "ConstantOfShape n0 z; "
             "Gather t,j v; "
             "ScatterElements z,j,v y"},
    {"boxes_that_do_not_overlap", .type = I64,
     .text = "Unsqueeze r,c0 boxes; "
             "Gather r,s1 c axis=1; "
             "Unsqueeze c,c01 scores; "
             "NonMaxSuppression boxes,scores,far,half y"},
    {"boxes_above_a_score", .type = F32,
     .text = "Unsqueeze r,c0 boxes; "
             "Gather r,s1 c axis=1; "
             "Unsqueeze c,c01 scores; "
             "NonMaxSuppression boxes,scores,c2,half,half s; "
             "Gather s,c2 k axis=1; "
             "Squeeze k,c1 j; "
             "Gather r,j y"},
    {"compressed_rows", .type = F32, .text = "Compress x,m y axis=0"},
    {"compressed_elements", .type = F32, .text = "Compress x,m y"},
    {"images_of_a_batch", .type = F32,
     .text = "Reshape r,image t; "
             "MaxPool t p kernel_shape=1,2; "
             "GlobalAveragePool p g; "
             "Flatten g y"},
};

static kiln_str tensors_of(kiln_arena *a, kiln_onnx_writer *w,
                           const unsigned char *mask) {
    static const float half[] = {0.5F}, two[] = {2},
                       w_data[] = {1, 2, 3, -1, 0.5F, 4, -2, 1};
    static const float bias[] = {0.25F, -3};
    static const int64_t keep[] = {0, 2, 2}, by4[] = {-1, 4}, last[] = {-1, 2},
                         big[] = {6};
    static const int64_t image[] = {-1, 1, 2, 2}, c01[] = {0, 1}, two_by[] = {2, -1};
    static const int64_t whole[] = {6, 4};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        kiln_onnx_put_initializer(
            w, kiln_onnx_raw_tensor(a, numbers[i].name, KILN_ONNX_INT64,
                                    numbers[i].shape, numbers[i].v,
                                    (strcmp(numbers[i].shape, "2") == 0 ? 2 : 1) * 8));
#define TENSOR(name, type, shape, v)                                                   \
    kiln_onnx_put_initializer(                                                         \
        w, kiln_onnx_raw_tensor(a, name, KILN_ONNX_##type, shape, v, sizeof(v)))
    TENSOR("h", FLOAT, "", half);
    TENSOR("half", FLOAT, "1", half);
    TENSOR("two", FLOAT, "", two);
    TENSOR("w", FLOAT, "4,2", w_data);
    TENSOR("bias", FLOAT, "2", bias);
    TENSOR("two_by", INT64, "2", two_by);
    TENSOR("whole", INT64, "2", whole);
    TENSOR("keep", INT64, "3", keep);
    TENSOR("by4", INT64, "2", by4);
    TENSOR("last", INT64, "1,2", last);
    TENSOR("image", INT64, "4", image);
    TENSOR("c01", INT64, "2", c01);
    TENSOR("big", INT64, "", big);
#undef TENSOR
    if (mask == NULL)
        return kiln_str_from("");
    return kiln_onnx_raw_tensor(a, "m", KILN_ONNX_BOOL, "6", mask, ROWS);
}

/* "axis=1", "perm=1,0", "reduction=add" */
static void put_attr(kiln_onnx_writer *w, char *text) {
    char *value = strchr(text, '='), *end = NULL;
    int64_t v[MAX_NUMBERS];
    size_t n = 0;
    *value++ = '\0';
    const bool is_text = *value >= 'a' && *value <= 'z';
    for (end = value; !is_text && n < MAX_NUMBERS && *end != '\0'; end += *end == ',')
        v[n++] = strtoll(end, &end, 10);
    if (is_text)
        kiln_onnx_put_attr_text(w, text, value);
    else if (n == 1 && strcmp(text, "axes") != 0)
        kiln_onnx_put_attr_int(w, text, v[0]);
    else
        kiln_onnx_put_attr_ints(w, text, v, n);
}

static void put_nodes(kiln_onnx_writer *w, const char *text) {
    for (size_t n; *text != '\0'; text += n + strspn(text + n, "; ")) {
        char line[MAX_TEXT], *word[3], *rest = NULL;
        n = strcspn(text, ";");
        assert_true(n < sizeof line);
        memcpy(line, text, n);
        line[n] = '\0';
        for (int i = 0; i < 3; i++)
            word[i] = strtok_r(i == 0 ? line : NULL, " ", &rest);
        kiln_onnx_put_node(w, word[0], word[2], word[1], word[2]);
        for (char *a; (a = strtok_r(NULL, " ", &rest)) != NULL;)
            put_attr(w, a);
    }
}

/* mask NULL: it is an input. */
static kiln_status try_import(kiln_arena *a, const model *t, const unsigned char *mask,
                              kiln_graph **g, kiln_err *err) {
    kiln_onnx_writer w;
    kiln_onnx_writer_init(&w, a, "g");
    kiln_onnx_put_input(&w, "x", KILN_ONNX_FLOAT, "6,4");
    const kiln_str m = tensors_of(a, &w, mask);
    if (mask == NULL)
        kiln_onnx_put_input(&w, "m", KILN_ONNX_BOOL, "6");
    else
        kiln_onnx_put_initializer(&w, m);
    put_nodes(&w, t->opset != 0 && t->opset < 13 ? of_old : prelude);
    put_nodes(&w, t->text);
    kiln_onnx_put_output(&w, "y", t->type, NULL);
    const kiln_str bytes = kiln_onnx_finish_model(&w, 9, t->opset != 0 ? t->opset : 18);
    return kiln_import_onnx_bytes(a, bytes, "test.onnx", NULL, NULL, g, NULL, err);
}

static kiln_graph *import_model(kiln_arena *a, const model *t,
                                const unsigned char *mask) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(try_import(a, t, mask, &g, &err), &err);
    return g;
}

/* Outputs of a run; inputs by their names. */
static kiln_tensor *run(kiln_arena *a, const kiln_graph *g, const float *x,
                        const unsigned char *mask) {
    kiln_err err = {0};
    kiln_tensor in[2], *out = kiln_array(a, kiln_tensor, g->outputs.n);
    for (size_t i = 0; i < g->inputs.n; i++) {
        const kiln_value *v = g->inputs.v[i];
        const void *data = strcmp(v->name, "x") == 0 ? (const void *)x : mask;
        in[i] = (kiln_tensor){v->type, (void *)(uintptr_t)data};
    }
    kiln_assert_status_ok(kiln_ref_run(a, g, in, g->inputs.n, out, &err), &err);
    return out;
}

static bool is_equal(const kiln_wide *x, int64_t i, const kiln_wide *y, int64_t k) {
    return x->f != NULL
               ? x->f[i] == y->f[k] || (x->f[i] != x->f[i] && y->f[k] != y->f[k])
               : x->i[i] == y->i[k];
}

/* Some elements of a tensor: the first `n` along an axis (all for axis -1). */
typedef struct part {
    kiln_tensor all;
    int axis;
    int64_t n;
} part;

static part part_of(const kiln_graph *g, const kiln_tensor *out) {
    const kiln_value *y = g->outputs.v[0];
    part p = {.all = out[0], .axis = y->count != NULL ? y->bounded_axis : -1};
    assert_int_equal(g->outputs.n, y->count != NULL ? 2 : 1);
    if (y->count != NULL)
        memcpy(&p.n, out[1].data, sizeof p.n);
    return p;
}

/* `got` is what `want` is; behind what counts there is `filling`. */
static void check_part(const part *got, const part *want, double filling) {
    kiln_arena *a = kiln_test_arena();
    const kiln_type *t = &got->all.type, *u = &want->all.type;
    kiln_wide g = kiln_wide_new(a, t), w = kiln_wide_new(a, u);
    const int axis = got->axis >= 0 ? got->axis : 0;
    int64_t inner = 1;
    kiln_widen(t, got->all.data, &g);
    kiln_widen(u, want->all.data, &w);
    assert_int_equal(t->rank, u->rank);
    for (int i = 0; i < t->rank; i++) {
        const int64_t counted = i == want->axis ? want->n : u->dim[i];
        assert_int_equal(i == got->axis ? got->n : t->dim[i], counted);
        inner *= i > axis ? t->dim[i] : 1;
    }
    for (int64_t i = 0; i < kiln_type_elems(t); i++) {
        const int64_t d = t->rank > 0 ? t->dim[axis] : 1, k = i / inner % d;
        const int64_t there =
            t->rank > 0 ? (i / inner / d * u->dim[axis] + k) * inner + i % inner : 0;
        if (got->axis < 0 || k < got->n)
            assert_true(is_equal(&g, i, &w, there));
        else
            assert_true(g.f != NULL ? g.f[i] == filling : g.i[i] == (int64_t)filling);
    }
}

/* g has the mask as an input, `fixed` as a constant. */
static void check_results(const kiln_graph *g, const kiln_graph *fixed, const float *x,
                          const unsigned char *mask) {
    kiln_arena *a = kiln_test_arena();
    const part got = part_of(g, run(a, g, x, mask));
    const part want = part_of(fixed, run(a, fixed, x, mask));
    const bool is_nms = g->outputs.v[0]->def->op == &kiln_op_non_max_suppression;
    check_part(&got, &want, is_nms ? -1 : 0);
}

static void computes_what_static_shapes_do(void **state) {
    const model *t = *state;
    kiln_arena *a = kiln_test_arena();
    const kiln_graph *g = import_model(a, t, NULL);
    kiln_rng rng;
    kiln_err err = {0};
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    for (int n = 0; n < 24; n++) {
        unsigned char mask[ROWS];
        float x[ROWS * COLUMNS];
        bool any = false;
        for (int i = 0; i < ROWS; i++) /* none, all, some */
            mask[i] = n == 0 ? 0 : n == 1 ? 1 : kiln_rng_next(&rng) >> 63 != 0;
        for (int i = 0; i < ROWS; i++)
            any = any || mask[i] != 0;
        for (int i = 0; i < ROWS * COLUMNS; i++)
            x[i] = (float)(int64_t)(kiln_rng_next(&rng) >> 60) / 4 - 2;
        if (any || !t->needs_rows)
            check_results(g, import_model(a, t, mask), x, mask);
    }
}

/* y = If(n == 0, then, else): the branches' nodes as text, with results t and e. */
static kiln_graph *import_branches(kiln_arena *a, const unsigned char *mask,
                                   const char *then_text, const char *else_text) {
    kiln_onnx_writer w, branch[2];
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_onnx_writer_init(&w, a, "g");
    kiln_onnx_put_input(&w, "x", KILN_ONNX_FLOAT, "6,4");
    const kiln_str m = tensors_of(a, &w, mask);
    if (mask == NULL)
        kiln_onnx_put_input(&w, "m", KILN_ONNX_BOOL, "6");
    else
        kiln_onnx_put_initializer(&w, m);
    put_nodes(&w, prelude);
    put_nodes(&w, "Equal n0,c0 b");
    for (int i = 0; i < 2; i++) {
        kiln_onnx_writer_init(&branch[i], a, i == 0 ? "then" : "else");
        put_nodes(&branch[i], i == 0 ? then_text : else_text);
        kiln_onnx_put_output(&branch[i], i == 0 ? "t" : "e", KILN_ONNX_FLOAT, NULL);
    }
    kiln_onnx_put_node(&w, "If", "if", "b", "y");
    kiln_onnx_put_attr_graph(&w, "then_branch", kiln_onnx_finish_graph(&branch[0]));
    kiln_onnx_put_attr_graph(&w, "else_branch", kiln_onnx_finish_graph(&branch[1]));
    kiln_onnx_put_output(&w, "y", KILN_ONNX_FLOAT, NULL);
    const kiln_str bytes = kiln_onnx_finish_model(&w, 9, 18);
    kiln_assert_status_ok(
        kiln_import_onnx_bytes(a, bytes, "test.onnx", NULL, NULL, &g, NULL, &err),
        &err);
    return g;
}

/* Branches of different lengths, as batched_nms has them; and of one length. */
static void branches_by_count(void **state) {
    static const char *const text[][2] = {{"Slice x,c0,c0,c0 t", "Neg r e"},
                                          {"Slice x,c0,c2,c0 t", "Gather x,i e"},
                                          {"ReduceSum x,c0 t", "ReduceSum r,c0 e"}};
    kiln_arena *a = kiln_test_arena();
    kiln_rng rng;
    (void)state;
    kiln_rng_init(&rng, kiln_test_seed());
    for (size_t k = 0; k < sizeof text / sizeof text[0]; k++) {
        const kiln_graph *g = import_branches(a, NULL, text[k][0], text[k][1]);
        for (unsigned bits = 0; bits < 1U << ROWS; bits += 7) {
            unsigned char mask[ROWS];
            float x[ROWS * COLUMNS];
            for (int i = 0; i < ROWS; i++)
                mask[i] = bits >> i & 1;
            for (int i = 0; i < ROWS * COLUMNS; i++)
                x[i] = (float)(int64_t)(kiln_rng_next(&rng) >> 60) / 4 - 2;
            check_results(g, import_branches(a, mask, text[k][0], text[k][1]), x, mask);
        }
    }
}

/* What has no rule, or whose lengths cannot be seen to agree, is refused with the name
 * of what is counted. */
static const struct {
    const char *text, *why;
} refusals[] = {
    {"Add r,x y", "'x' has as many elements along an axis"},
    {"Slice r,c1,far,c0 t; Add r,t y", "another operand's length is not seen"},
    {"Slice r,c1,far,c0 t; Concat r,t y axis=1", "not seen to be as long"},
    {"ReduceMean r,c0 y", "'r' is depends on data, and this reduction has no rule"},
    {"CumSum r,s0 y", "'r' is depends on data, and this operator has no rule for it"},
    {"Reshape r,two_by y", "mixes rows that count with others"},
    {"Reshape r,whole y", "the shape it gets does not"},
    {"Reshape r,m1 t; Concat n0,m1 s axis=0; Reshape t,s y",
     "the dim beside -1 is not seen to be its length"},
    {"MatMul x,r y", "'r' is depends on data, and this operand may not be so here"},
    {"Squeeze r y", "it is where it may be dropped"},
    {"Split r t,y axis=0 num_outputs=2", "its parts along it have no rule"},
    {"Slice r,m1,far,c0 y", "from a known place on in steps of 1 only"},
    {"NonZero r t; GatherND x,t y", "that is the axis of one index"},
    {"NonMaxSuppression r,r y", "are not seen to have as many"},
};

static void refuses_what_has_no_rule(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const model t = {"refusal", refusals[i].text, F32, false, 0};
        kiln_arena a = {0};
        kiln_err err = {0};
        kiln_graph *g = NULL;
        kiln_assert_fails(try_import(&a, &t, NULL, &g, &err), KILN_ERR_UNSUPPORTED,
                          &err, refusals[i].why);
        kiln_arena_fini(&a);
    }
}

int main(void) {
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        kiln_test_add(models[i].name, computes_what_static_shapes_do, &models[i]);
    kiln_test_add("branches_by_count", branches_by_count, NULL);
    kiln_test_add("refuses_what_has_no_rule", refuses_what_has_no_rule, NULL);
    return kiln_test_run("onnx_counted");
}
