/* Import of element-wise operators, activations, reductions and softmax: what each
 * version becomes, and what is refused. */
#include "compiler/frontend/frontend.h"

#include <string.h>

#include "tests/support/kiln_test.h"
#include "tests/support/onnx_writer.h"

enum { UINT8 = 2 }; /* TensorProto.DataType */
enum { MAX_INPUTS = 3, MAX_CONSTS = 2, MAX_ATTRS = 3, MAX_TEXTS = 4 };

typedef struct input {
    const char *name;
    int type;
    const char *shape;
} input;

/* Integers (int64) or floats. */
typedef struct constant {
    const char *name, *shape;
    int type;
    size_t n;
    int64_t i[2];
    float f[2];
} constant;

typedef struct attribute {
    const char *name;
    enum { INT = 1, FLOAT, TEXT, INTS } kind;
    int64_t i;
    float f;
    const char *text;
    size_t n;
    int64_t ints[2];
} attribute;

typedef struct row {
    const char *name;
    const char *op;
    int64_t opset;
    const char *in, *out; /* of the node */
    int out_types[2];     /* 0: float */
    input inputs[MAX_INPUTS];
    constant consts[MAX_CONSTS];
    attribute attrs[MAX_ATTRS];
    const char *want[MAX_TEXTS]; /* parts of the graph's text */
    const char *lacks;           /* no part of it */
    kiln_status fails;
    const char *text;
} row;

#define X23                                                                            \
    { "x", KILN_ONNX_FLOAT, "2,3" }
#define X234                                                                           \
    { "x", KILN_ONNX_FLOAT, "2,3,4" }
#define A_INT(attr, v)                                                                 \
    { .name = (attr), .kind = INT, .i = (v) }
#define A_FLOAT(attr, v)                                                               \
    { .name = (attr), .kind = FLOAT, .f = (v) }
#define A_TEXT(attr, v)                                                                \
    { .name = (attr), .kind = TEXT, .text = (v) }

static row binary[] = {
    {"stretches_as_numpy_since_7", "Add", 7, "x,z", "y",
     .inputs = {X23, {"z", KILN_ONNX_FLOAT, "3"}}, .want = {"add(%x, %z)", "f32[2,3]"},
     .lacks = "reshape"},
    {"aligns_the_second_operand_before_7", "Add", 6, "x,z", "y",
     .inputs = {X234, {"z", KILN_ONNX_FLOAT, "3"}},
     .attrs = {A_INT("broadcast", 1), A_INT("axis", 1)},
     .want = {"reshape(%z)", "f32[3,1]", "add(%x,", "f32[2,3,4]"}},
    {"stretches_a_suffix_before_7", "Mul", 6, "x,z", "y",
     .inputs = {X234, {"z", KILN_ONNX_FLOAT, "4"}}, .attrs = {A_INT("broadcast", 1)},
     .want = {"mul(%x, %z)"}, .lacks = "reshape"},
    {"rejects_two_shapes_without_broadcast_before_7", "Sub", 6, "x,z", "y",
     .inputs = {X23, {"z", KILN_ONNX_FLOAT, "3"}}, .fails = KILN_ERR_SHAPE,
     .text = "operands must have one shape where 'broadcast' is not set, are [2,3] and "
             "[3]"},
    {"rejects_a_second_operand_that_does_not_fit_before_7", "Div", 6, "x,z", "y",
     .inputs = {X23, {"z", KILN_ONNX_FLOAT, "3,1"}},
     .attrs = {A_INT("broadcast", 1), A_INT("axis", 1)}, .fails = KILN_ERR_SHAPE,
     .text = "'axis' 1 and the 2 axes of the second operand must fit in the 2 of the "
             "first"},
    {"rejects_a_missing_operand", "Add", 13, "x,", "y", .inputs = {X23},
     .fails = KILN_ERR_PARSE, .text = "input 1 ('B')"},
    {"pow_takes_the_dtype_of_the_base", "Pow", 15, "x,z", "y",
     .inputs = {X23, {"z", KILN_ONNX_INT32, "3"}},
     .want = {"cast(%z) {to=f32}", "pow(%x,"}},
    {"pow_of_integers_to_floats_goes_through_f64", "Pow", 15, "x,z", "y",
     .out_types = {KILN_ONNX_INT32},
     .inputs = {{"x", KILN_ONNX_INT32, "2"}, {"z", KILN_ONNX_FLOAT, "2"}},
     .want = {"cast(%x) {to=f64}", "cast(%z) {to=f64}", "{to=i32} : i32[2]"}},
    {"max_of_three", "Max", 13, "x,z,v", "y",
     .inputs = {X23, {"z", KILN_ONNX_FLOAT, "3"}, {"v", KILN_ONNX_FLOAT, ""}},
     .want = {"max(%x, %z)", ", %v)"}},
    {"max_of_one_is_nothing", "Max", 13, "x", "y", .inputs = {X23},
     .want = {"output %x \"y\""}, .lacks = "max("},
    {"mean_divides_once", "Mean", 13, "x,z,v", "y",
     .inputs = {X23, {"z", KILN_ONNX_FLOAT, "3"}, {"v", KILN_ONNX_FLOAT, ""}},
     .want = {"add(%x, %z)", "f32[] = {0x1.8p+1}", "div("}},
    {"shift_to_the_left", "BitShift", 11, "x,z", "y", .out_types = {UINT8},
     .inputs = {{"x", UINT8, "2"}, {"z", UINT8, "2"}},
     .attrs = {A_TEXT("direction", "LEFT")},
     .want = {"bit_shift(%x, %z) {direction=left} : u8[2]"}},
    {"rejects_shift_to_somewhere", "BitShift", 11, "x,z", "y",
     .inputs = {{"x", UINT8, "2"}, {"z", UINT8, "2"}},
     .attrs = {A_TEXT("direction", "UP")}, .fails = KILN_ERR_PARSE,
     .text = "attribute 'direction' must be LEFT or RIGHT, is 'UP'"},
    {"cast_to_the_same_is_nothing", "Cast", 13, "x", "y", .inputs = {X23},
     .attrs = {A_INT("to", KILN_ONNX_FLOAT)}, .want = {"output %x \"y\""},
     .lacks = "cast("},
    {"rejects_cast_to_strings", "Cast", 13, "x", "y", .inputs = {X23},
     .attrs = {A_INT("to", KILN_ONNX_STRING)}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "element type STRING is not read"},
    {"rejects_cast_to_nothing", "Cast", 13, "x", "y", .inputs = {X23},
     .fails = KILN_ERR_PARSE, .text = "attribute 'to' is missing"},
};

static row activation[] = {
    {"attributes_are_read_by_name", "HardSigmoid", 22, "x", "y", .inputs = {X23},
     .attrs = {A_FLOAT("alpha", 0.5F)},
     .want = {"hard_sigmoid(%x) {alpha=0x1p-1, beta=0x1p-1}"}},
    {"words_are_read_by_name", "Gelu", 20, "x", "y", .inputs = {X23},
     .attrs = {A_TEXT("approximate", "tanh")}, .want = {"gelu(%x) {approximate=tanh}"}},
    {"rejects_an_unknown_word", "Gelu", 20, "x", "y", .inputs = {X23},
     .attrs = {A_TEXT("approximate", "erf")}, .fails = KILN_ERR_ARG,
     .text = "attribute 'approximate' must be one of"},
    {"rejects_an_attribute_of_another_kind", "Elu", 6, "x", "y", .inputs = {X23},
     .attrs = {A_INT("alpha", 1)}, .fails = KILN_ERR_PARSE, .text = "alpha"},
    {"clip_by_attributes", "Clip", 6, "x", "y", .inputs = {X23},
     .attrs = {A_FLOAT("min", 0), A_FLOAT("max", 6)},
     .want = {"clip(%x) {min=0x0p+0, max=0x1.8p+2}"}},
    {"clip_by_constants", "Clip", 13, "x,lo,hi", "y", .inputs = {X23},
     .consts = {{"lo", "", KILN_ONNX_FLOAT, 1, .f = {-1}},
                {"hi", "1", KILN_ONNX_FLOAT, 1, .f = {1}}},
     .want = {"clip(%x) {min=-0x1p+0, max=0x1p+0}"}},
    {"clip_by_one_constant", "Clip", 13, "x,,hi", "y", .inputs = {X23},
     .consts = {{"hi", "", KILN_ONNX_FLOAT, 1, .f = {1}}},
     .want = {"clip(%x) {min=-inf, max=0x1p+0}"}},
    {"clip_by_operands", "Clip", 13, "x,lo,hi", "y",
     .inputs = {X23, {"lo", KILN_ONNX_FLOAT, ""}, {"hi", KILN_ONNX_FLOAT, ""}},
     .want = {"max(%x, %lo)", ", %hi)"}, .lacks = "clip("},
    {"clip_by_operand_and_constant", "Clip", 13, "x,lo,hi", "y",
     .inputs = {X23, {"lo", KILN_ONNX_FLOAT, ""}},
     .consts = {{"hi", "", KILN_ONNX_FLOAT, 1, .f = {1}}},
     .want = {"max(%x, %lo)", "{min=-inf, max=0x1p+0}"}},
    {"clip_by_integers_that_double_cannot_hold", "Clip", 13, "x,,hi", "y",
     .out_types = {KILN_ONNX_INT64}, .inputs = {{"x", KILN_ONNX_INT64, "2"}},
     .consts = {{"hi", "", KILN_ONNX_INT64, 1, .i = {(INT64_C(1) << 53) + 1}}},
     .want = {"min(%x, %hi)"}, .lacks = "clip("},
    {"clip_by_nothing_is_nothing", "Clip", 13, "x", "y", .inputs = {X23},
     .want = {"output %x \"y\""}, .lacks = "clip("},
    {"rejects_clip_by_a_list", "Clip", 13, "x,lo", "y", .inputs = {X23},
     .consts = {{"lo", "2", KILN_ONNX_FLOAT, 2, .f = {-1, 1}}}, .fails = KILN_ERR_SHAPE,
     .text = "input 'min' must be a scalar, has 2 elements"},
    {"prelu_of_channels_before_7", "PRelu", 6, "x,z", "y",
     .inputs = {X234, {"z", KILN_ONNX_FLOAT, "3"}}, .want = {"f32[3,1]", "prelu(%x,"}},
    {"rejects_prelu_of_other_channels_before_7", "PRelu", 6, "x,z", "y",
     .inputs = {X234, {"z", KILN_ONNX_FLOAT, "4"}}, .fails = KILN_ERR_SHAPE,
     .text = "input 'slope' must have one element or one for each channel of 'X', has "
             "4 for [2,3,4]"},
    {"dropout_is_nothing", "Dropout", 13, "x", "y", .inputs = {X23},
     .want = {"output %x \"y\""}, .lacks = "const"},
    {"dropout_masks_with_ones", "Dropout", 13, "x", "y,mask",
     .out_types = {KILN_ONNX_FLOAT, KILN_ONNX_BOOL}, .inputs = {X23},
     .want = {"bool[2,3] = {1 x 6}"}},
    {"dropout_masks_with_floats_before_10", "Dropout", 7, "x", "y,mask",
     .inputs = {X23}, .want = {"f32[2,3] = {0x1p+0 x 6}"}},
    {"rejects_dropout_in_training", "Dropout", 13, "x,,t", "y", .inputs = {X23},
     .consts = {{"t", "", KILN_ONNX_BOOL, 1, .i = {1}}}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "training mode draws random numbers; export with training_mode false"},
    {"dropout_in_training_may_drop_nothing", "Dropout", 13, "x,p,t", "y",
     .inputs = {X23},
     .consts = {{"p", "", KILN_ONNX_FLOAT, 1, .f = {0}},
                {"t", "", KILN_ONNX_BOOL, 1, .i = {1}}},
     .want = {"output %x \"y\""}},
    {"rejects_dropout_of_a_mode_from_outside", "Dropout", 13, "x,,t", "y",
     .inputs = {X23, {"t", KILN_ONNX_BOOL, ""}}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "input 'training_mode' must be a constant, it depends on graph input 't'"},
    {"rejects_dropout_in_training_before_7", "Dropout", 6, "x", "y", .inputs = {X23},
     .fails = KILN_ERR_UNSUPPORTED, .text = "export with is_test = 1"},
};

static row reduction[] = {
    {"axes_by_attribute", "ReduceMean", 13, "x", "y", .inputs = {X23},
     .attrs = {{.name = "axes", .kind = INTS, .n = 1, .ints = {-1}},
               A_INT("keepdims", 0)},
     .want = {"reduce_mean(%x) {axes=[-1], keepdims=false} : f32[2]"}},
    {"axes_by_operand", "ReduceMean", 18, "x,a", "y", .inputs = {X23},
     .consts = {{"a", "1", KILN_ONNX_INT64, 1, .i = {0}}},
     .want = {"reduce_mean(%x) {axes=[0], keepdims=true} : f32[1,3]"}},
    {"no_axes_are_all", "ReduceSum", 13, "x", "y", .inputs = {X23},
     .want = {"reduce_sum(%x) {axes=[], keepdims=true} : f32[1,1]"}},
    {"no_axes_are_none_for_sums", "ReduceSum", 13, "x", "y", .inputs = {X23},
     .attrs = {A_INT("noop_with_empty_axes", 1)}, .want = {"output %x \"y\""},
     .lacks = "reduce"},
    {"no_axes_still_square", "ReduceSumSquare", 18, "x", "y", .inputs = {X23},
     .attrs = {A_INT("noop_with_empty_axes", 1)},
     .want = {"f32[6,1]", "reduce_sum_square(", "f32[6]", "f32[2,3]"}},
    {"rejects_axes_from_outside", "ReduceSum", 13, "x,a", "y",
     .inputs = {X23, {"a", KILN_ONNX_INT64, "1"}}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "input 'axes' must be a constant, it depends on graph input 'a'"},
    {"rejects_axes_outside", "ReduceSum", 13, "x,a", "y", .inputs = {X23},
     .consts = {{"a", "1", KILN_ONNX_INT64, 1, .i = {2}}}, .fails = KILN_ERR_SHAPE,
     .text = "axis 2 is outside [-2, 2)"},
    {"argmax_of_the_first_axis", "ArgMax", 12, "x", "y", .out_types = {KILN_ONNX_INT64},
     .inputs = {X23},
     .want =
         {"argmax(%x) {axis=0, keepdims=true, select_last_index=false} : i64[1,3]"}},
    {"cumsum_along_a_constant", "CumSum", 14, "x,a", "y", .inputs = {X23},
     .consts = {{"a", "", KILN_ONNX_INT64, 1, .i = {-1}}},
     .attrs = {A_INT("reverse", 1)},
     .want = {"cumsum(%x) {axis=-1, exclusive=false, reverse=true}"}},
    {"softmax_along_one_axis", "Softmax", 13, "x", "y", .inputs = {X234},
     .want = {"softmax(%x) {axis=-1}"}, .lacks = "reshape"},
    {"softmax_over_a_matrix_before_13", "Softmax", 11, "x", "y", .inputs = {X234},
     .want = {"f32[2,12]", "{axis=1} : f32[2,12]", "f32[2,3,4]"}},
    {"softmax_of_the_last_axis_before_13", "Softmax", 11, "x", "y", .inputs = {X234},
     .attrs = {A_INT("axis", 2)}, .want = {"softmax(%x) {axis=2}"}, .lacks = "reshape"},
    {"rejects_softmax_of_an_axis_outside_before_13", "Softmax", 11, "x", "y",
     .inputs = {X23}, .attrs = {A_INT("axis", 2)}, .fails = KILN_ERR_SHAPE,
     .text = "axis 2 is outside [-2, 2)"},
    {"rejects_lp_normalization_of_other_norms", "LpNormalization", 22, "x", "y",
     .inputs = {X23}, .attrs = {A_INT("p", 3)}, .fails = KILN_ERR_PARSE,
     .text = "attribute 'p' must be 1 or 2, is 3"},
};

static void put_const(kiln_onnx_writer *m, const constant *c) {
    const unsigned char flag = c->i[0] != 0;
    const void *data =
        c->type == KILN_ONNX_FLOAT ? (const void *)c->f : (const void *)c->i;
    size_t bytes =
        c->n * (c->type == KILN_ONNX_FLOAT ? sizeof(float) : sizeof(int64_t));
    if (c->type == KILN_ONNX_BOOL) {
        data = &flag;
        bytes = 1;
    }
    kiln_onnx_put_initializer(
        m, kiln_onnx_raw_tensor(m->arena, c->name, c->type, c->shape, data, bytes));
}

static void put_attr(kiln_onnx_writer *m, const attribute *a) {
    switch (a->kind) {
    case INT:
        kiln_onnx_put_attr_int(m, a->name, a->i);
        break;
    case FLOAT:
        kiln_onnx_put_attr_float(m, a->name, a->f);
        break;
    case TEXT:
        kiln_onnx_put_attr_text(m, a->name, a->text);
        break;
    case INTS:
        kiln_onnx_put_attr_ints(m, a->name, a->ints, a->n);
        break;
    }
}

static kiln_str build(kiln_arena *a, const row *r) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    for (int i = 0; i < MAX_INPUTS && r->inputs[i].name != NULL; i++)
        kiln_onnx_put_input(&m, r->inputs[i].name, r->inputs[i].type,
                            r->inputs[i].shape);
    for (int i = 0; i < MAX_CONSTS && r->consts[i].name != NULL; i++)
        put_const(&m, &r->consts[i]);
    kiln_onnx_put_node(&m, r->op, "node", r->in, r->out);
    for (int i = 0; i < MAX_ATTRS && r->attrs[i].name != NULL; i++)
        put_attr(&m, &r->attrs[i]);
    kiln_str rest = kiln_str_from(r->out), out;
    for (int i = 0; kiln_str_cut(&rest, ',', &out); i++)
        kiln_onnx_put_output(&m, kiln_str_dupv(a, out),
                             r->out_types[i] != 0 ? r->out_types[i] : KILN_ONNX_FLOAT,
                             NULL);
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
    if (r->lacks != NULL && strstr(text.p, r->lacks) != NULL)
        fail_msg("want no '%s' in\n%s", r->lacks, text.p);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(check, binary);
    kiln_test_add_rows(check, activation);
    kiln_test_add_rows(check, reduction);
    return kiln_test_run("onnx_elementwise");
}
