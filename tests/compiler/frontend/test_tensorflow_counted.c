/* TensorFlow graphs that read values which are as long as data has them: each is run by the
 * reference on 0, 1, 2, ... of which a mask picks some; numbers are worked out by hand. */
#include "compiler/frontend/frontend_internal.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/tf_writer.h"

enum { MAX_WANT = 24, PLAIN = -1 };

typedef struct row {
    const char *name, *graph;
    int64_t count; /* PLAIN: no count is given */
    int rank;      /* of the first output, with what lies behind the count */
    int64_t dim[3];
    double want[MAX_WANT];
} row;

typedef struct typed_row { /* of others than f32 */
    const char *name;
    kiln_dtype dtype;
    row row;
} typed_row;

typedef struct refusal {
    const char *name, *graph, *text;
} refusal;

#define X(shape) "x Placeholder dtype=t1 shape=S" shape "\n"
#define INTS(name, v) name " Const value=I" v " dtype=t3\n"
#define ZERO INTS("z", ":0")
#define ONE INTS("one", ":1")

/* tf.boolean_mask(x, x > 2) of x [6]: q is 3, 4, 5. */
#define MASKED                                                                         \
    X("6")                                                                             \
    ZERO "two Const value=F:2\nm Greater x two\nw Where m\n"                           \
         "i Squeeze w squeeze_dims=l1\nq GatherV2 x i z\n"
/* Of x [4, 2] the rows whose first number is more than 1: q is 2 3; 4 5; 6 7. */
#define ROWS                                                                           \
    X("4,2")                                                                           \
    ZERO ONE INTS("b", "2:0;0") INTS("e", "2:0;1")                                     \
        INTS("s", "2:1;1") "two Const value=F:1\nc StridedSlice x b e s "              \
                           "begin_mask=i1 end_mask=i1 "                                \
                           "shrink_axis_mask=i2\nm Greater c two\nw Where m\n"         \
                           "i Squeeze w squeeze_dims=l1\nq GatherV2 x i z\n"

/* In TensorFlow's order; what lies behind them is zero. */
static typed_row places[] = {
    {"of_what_is_not_zero",
     KILN_I64,
     {"", X("2,2") "y Where x", 3, 2, {4, 2}, {0, 1, 1, 0, 1, 1}}},
    {"in_a_constant",
     KILN_I64,
     {"", X("1") "c Const value=F4:0;1;0;1\ny Where c ^x", PLAIN, 2, {2, 1}, {1, 3}}},
    {"of_boxes_without_padding",
     KILN_I32,
     {"",
      X("4") "b Const value=F4,4:0;0;1;1;0;0;1;0.9;2;2;3;3;0;0;1;1\n"
             "m Const value=I:3\nt Const value=F:0.5\ns Const value=F:1.5\n"
             "y NonMaxSuppressionV3 b x m t s",
      2,
      1,
      {3},
      {3, 2}}},
};

static row rows[] = {
    {"boolean_mask", MASKED "y Identity q", 3, 1, {6}, {3, 4, 5}},
    {"boolean_mask_of_rows", ROWS "y Identity q", 3, 2, {4, 2}, {2, 3, 4, 5, 6, 7}},
    {"gather_nd_by_where",
     X("2,3") ZERO "two Const value=F:3\nm Greater x two\nw Where m\ny GatherNd x w",
     2,
     1,
     {6},
     {4, 5}},
    {"each_element_by_itself",
     MASKED "k Const value=F:10\na Mul q k\ny Add a q",
     3,
     1,
     {6},
     {33, 44, 55}},
    {"rows_and_a_row",
     ROWS "k Const value=F2:10;20\ny Add q k",
     3,
     2,
     {4, 2},
     {12, 23, 14, 25, 16, 27}},
    {"rows_times_a_matrix",
     ROWS "k Const value=F2,1:10;1\ny MatMul q k",
     3,
     2,
     {4, 1},
     {23, 45, 67}},
    {"column_of_rows",
     ROWS "y StridedSlice q b e s begin_mask=i1 end_mask=i1 shrink_axis_mask=i2",
     3,
     1,
     {4},
     {2, 4, 6}},
    {"first_of_rows",
     MASKED INTS("b", "1:0") INTS("e", "1:2") INTS("s", "1:1") "y StridedSlice q b e s",
     2,
     1,
     {2},
     {3, 4}},
    {"more_than_there_are",
     MASKED INTS("b", "1:0") INTS("e", "1:5") INTS("s", "1:1") "y StridedSlice q b e s",
     3,
     1,
     {5},
     {3, 4, 5}},
    {"an_axis_more", MASKED ONE "y ExpandDims q one", 3, 2, {6, 1}, {3, 4, 5}},
    {"reshaped_around",
     ROWS INTS("r", "3:-1;2;1") "y Reshape q r",
     3,
     3,
     {4, 2, 1},
     {2, 3, 4, 5, 6, 7}},
    {"turned",
     ROWS INTS("p", "2:1;0") "y Transpose q p",
     3,
     2,
     {2, 4},
     {2, 4, 6, 0, 3, 5, 7, 0}},
    {"joined_by_columns",
     ROWS "y ConcatV2 q q one",
     3,
     2,
     {4, 4},
     {2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7}},
    {"stacked", MASKED "y Pack q q axis=i1", 3, 2, {6, 2}, {3, 3, 4, 4, 5, 5}},
    {"columns_of_rows",
     ROWS INTS("j", "3:1;0;1") "y GatherV2 q j one",
     3,
     2,
     {4, 3},
     {3, 2, 3, 5, 4, 5, 7, 6, 7}},
    {"known_places_of_it",
     MASKED INTS("j", "2:2;0") "y GatherV2 q j z",
     PLAIN,
     1,
     {2},
     {5, 3}},
    {"sum_of_what_counts", MASKED "y Sum q z", PLAIN, 0, {0}, {12}},
    {"mean_of_what_counts", MASKED "y Mean q z", PLAIN, 0, {0}, {4}},
    {"mean_over_both_axes", ROWS INTS("a", "2:0;1") "y Mean q a", PLAIN, 0, {0}, {4.5}},
    {"largest_of_what_counts", MASKED "a Neg q\ny Max a z", PLAIN, 0, {0}, {-3}},
    {"smallest_of_what_counts", MASKED "y Min q z", PLAIN, 0, {0}, {3}},
    {"product_of_what_counts", MASKED "y Prod q z", PLAIN, 0, {0}, {60}},
    {"sum_of_each_row", ROWS "y Sum q one", 3, 1, {4}, {5, 9, 13}},
    {"summed_on_the_way", MASKED "y Cumsum q z", 3, 1, {6}, {3, 7, 12}},
    {"summed_from_the_last",
     MASKED "y Cumsum q z reverse=btrue",
     3,
     1,
     {6},
     {12, 9, 5}},
    {"multiplied_from_the_last",
     MASKED "y Cumprod q z reverse=btrue",
     3,
     1,
     {6},
     {60, 20, 5}},
    {"the_two_largest",
     MASKED INTS("k", ":2") "n Neg q\nt TopKV2 n k\ny Identity t",
     PLAIN,
     1,
     {2},
     {-3, -4}},
    {"the_largest_of_each_row",
     ROWS INTS("k", ":1") "t TopKV2 q k\ny Identity t",
     3,
     2,
     {4, 1},
     {3, 5, 7}},
    {"all_that_counts",
     MASKED "a Greater q two\nb All a z\ny Cast b DstT=t1",
     PLAIN,
     0,
     {0},
     {1}},
    {"where_the_least_is", MASKED "a ArgMin q z\ny Cast a DstT=t1", PLAIN, 0, {0}, {0}},
    {"how_many_there_are", MASKED "a Size q\ny Cast a DstT=t1", PLAIN, 0, {0}, {3}},
    {"its_shape", ROWS "a Shape q\ny Cast a DstT=t1", PLAIN, 1, {2}, {3, 2}},
    {"softmax_of_rows",
     ROWS "k Const value=F2:0;-1\na Add q k\ny Softmax a",
     3,
     2,
     {4, 2},
     {.5, .5, .5, .5, .5, .5}},
    {"masked_again",
     MASKED "k Const value=F:4\nn Greater k q\nv Where n\n"
            "j Squeeze v squeeze_dims=l1\ny GatherV2 q j z",
     1,
     1,
     {6},
     {3}},
    /* The second box overlaps the first, which does not take part. */
    {"boxes_by_what_is_left",
     X("3") ZERO
     "b Const value=F3,4:0;0;1;1;0;0;1;0.9;2;2;3;3\nt Const value=F:0.5\n"
     "h Const value=F:0\nm Greater x h\nw Where m\ni Squeeze w squeeze_dims=l1\n"
     "c GatherV2 b i z\nd GatherV2 x i z\n" INTS(
         "n", ":3") "o NonMaxSuppressionV3 c d n t h\ny GatherV2 d o z",
     2,
     1,
     {3},
     {2, 1}},
};

static refusal refusals[] = {
    {"joined_along_itself", MASKED "y ConcatV2 q q z", "is joined along the very axis"},
    {"of_another_length", MASKED "y Add q x", "another operand's length is known"},
    {"one_that_may_not_be_there",
     MASKED INTS("b", "1:0") INTS("e", "1:1")
         INTS("s", "1:1") "y StridedSlice q b e s shrink_axis_mask=i1",
     "only its first elements may be cut off"},
    {"last_elements",
     MASKED INTS("b", "1:-2") INTS("e", "1:0")
         INTS("s", "1:1") "y StridedSlice q b e s end_mask=i1",
     "only its first elements may be cut off"},
    {"folded", ROWS INTS("r", "1:-1") "y Reshape q r",
     "the file says how long it is, or folds it into others"},
    {"squeezed_at_will", ROWS "y Squeeze q", "name the axes that are to go"},
    {"two_masks",
     MASKED "k Const value=F:4\nn Greater x k\nv Where n\n"
            "j Squeeze v squeeze_dims=l1\nu GatherV2 x j z\ny Add q u",
     "and another operand in another way"},
    {"a_matrix_of_it", MASKED "y MatrixDiag q",
     "'q' is as long as data has it, and this operator has no rule for that; "
     "export the model up to there"},
};

static kiln_status import(const char *text, kiln_graph **out, kiln_err *err) {
    kiln_arena *const a = kiln_test_arena();
    return kiln_frontend_tensorflow.import(a, kiln_tf_graph_of(a, text), "m.pb", NULL,
                                           NULL, out, NULL, err);
}

static void check_as(const row *r, kiln_dtype dtype) {
    kiln_arena *const a = kiln_test_arena();
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_tensor out[2];
    kiln_assert_status_ok(import(r->graph, &g, &err), &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    assert_int_equal(g->outputs.n, r->count == PLAIN ? 1 : 2);
    for (size_t i = 0; i < g->values.n; i++) /* others have forgotten it */
        assert_true(g->values.v[i]->count == NULL || g->values.v[i] == g->outputs.v[0]);
    const kiln_tensor in = kiln_tensor_new(a, &g->inputs.v[0]->type);
    for (int64_t i = 0; i < kiln_type_elems(&in.type); i++)
        ((float *)in.data)[i] = (float)i;
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, out, &err), &err);
    assert_string_equal(g->output_names.v[0], "y");
    const kiln_type want_type = kiln_type_make(dtype, r->rank, r->dim);
    assert_true(kiln_type_eq(&out[0].type, &want_type));
    if (r->count != PLAIN) {
        assert_ptr_equal(g->outputs.v[0]->count, g->outputs.v[1]);
        assert_string_equal(g->output_names.v[1], "y.count");
        assert_int_equal(*(const int64_t *)out[1].data, r->count);
    }
    const size_t n = (size_t)kiln_type_elems(&out[0].type);
    assert_in_range(n, 1, MAX_WANT);
    if (dtype != KILN_F32) {
        kiln_wide got = kiln_wide_new(a, &want_type);
        kiln_widen(&want_type, out[0].data, &got);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(got.i[i], (int64_t)r->want[i]);
        return;
    }
    float want[MAX_WANT];
    for (size_t i = 0; i < n; i++)
        want[i] = (float)r->want[i];
    kiln_assert_close(out[0].data, want, n, 2, 1e-7);
}

static void check(void **state) { check_as(*state, KILN_F32); }

static void check_places(void **state) {
    const typed_row *const r = *state;
    check_as(&r->row, r->dtype);
}

static void refuses(void **state) {
    const refusal *const r = *state;
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_fails(import(r->graph, &g, &err), KILN_ERR_UNSUPPORTED, &err, r->text);
}

int main(void) {
    kiln_test_add_rows(check_places, places);
    kiln_test_add_rows(check, rows);
    kiln_test_add_rows(refuses, refusals);
    return kiln_test_run("tensorflow_counted");
}
