/* Attributes of ONNX nodes that an importer does not ask for: refused by name, unless
 * onnx_ignored.def says why they change nothing. */
#include "compiler/frontend/onnx/onnx_internal.h"

#include <string.h>

#include "tests/support/import/import_run.h"

#define F32(name, shape)                                                               \
    { (name), KILN_ONNX_FLOAT, (shape) }
#define I64S(name, shape, ...)                                                         \
    {                                                                                  \
        (name), (shape), KILN_ONNX_INT64,                                              \
            .i = {__VA_ARGS__},                                                        \
            .n = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)              \
    }
#define CONV_INPUTS                                                                    \
    { F32("x", "1,2,8,8"), F32("w", "4,2,3,3") }

static kiln_test_import_row refused[] = {
    {"rejects_an_attribute_that_no_version_has", "Relu", 13, "x", "y",
     .inputs = {F32("x", "2")}, .attrs = {KILN_I_INT("fast", 1)},
     .fails = KILN_ERR_UNSUPPORTED,
     .text = "attribute 'fast' of Relu-13 is not known to kiln and may change the "
             "result; export without it or with another opset"},
    {"names_the_node", "Relu", 13, "x", "y", .inputs = {F32("x", "2")},
     .attrs = {KILN_I_FLOAT("max_value", 6)}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "importing node 'node' (Relu), opset 13"},
    {"rejects_what_a_later_version_brings", "Shape", 13, "x", "y", .out_types = {7},
     .inputs = {F32("x", "2,3")}, .attrs = {KILN_I_INT("start", 1)},
     .fails = KILN_ERR_UNSUPPORTED, .text = "attribute 'start' of Shape-13"},
    {"rejects_what_an_earlier_version_had", "Add", 13, "x,z", "y",
     .inputs = {F32("x", "2"), F32("z", "2")}, .attrs = {KILN_I_INT("broadcast", 1)},
     .fails = KILN_ERR_UNSUPPORTED, .text = "attribute 'broadcast' of Add-13"},
    {"rejects_consumed_inputs_today", "Relu", 6, "x", "y", .inputs = {F32("x", "2")},
     .attrs = {KILN_I_INTS("consumed_inputs", 0)}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "attribute 'consumed_inputs' of Relu-6"},
    {"rejects_pads_as_attribute_of_an_operand", "Pad", 13, "x,p", "y",
     .inputs = {F32("x", "2")}, .consts = {I64S("p", "2", 1, 1)},
     .attrs = {KILN_I_INTS("pads", 2, 2)}, .fails = KILN_ERR_UNSUPPORTED,
     .text = "attribute 'pads' of Pad-13"},
    {"rejects_k_as_attribute_of_an_operand", "TopK", 11, "x,k", "y,i",
     .out_types = {KILN_ONNX_FLOAT, KILN_ONNX_INT64}, .inputs = {F32("x", "4")},
     .consts = {I64S("k", "1", 2)}, .attrs = {KILN_I_INT("k", 3)},
     .fails = KILN_ERR_UNSUPPORTED, .text = "attribute 'k' of TopK-11"},
    {"rejects_parts_as_attribute_of_an_operand", "Split", 13, "x", "y,z",
     .inputs = {F32("x", "4")}, .attrs = {KILN_I_INTS("split", 1, 3)},
     .fails = KILN_ERR_UNSUPPORTED, .text = "attribute 'split' of Split-13"},
    {"rejects_twins", "LeakyRelu", 16, "x", "y", .inputs = {F32("x", "2")},
     .attrs = {KILN_I_FLOAT("alpha", 0.5f), KILN_I_FLOAT("alpha", 0.25f)},
     .fails = KILN_ERR_PARSE, .text = "attribute 'alpha' is given twice"},
    {"rejects_padding_said_twice", "Conv", 13, "x,w", "y", .inputs = CONV_INPUTS,
     .attrs = {KILN_I_TEXT("auto_pad", "SAME_UPPER"), KILN_I_INTS("pads", 1, 1, 1, 1)},
     .fails = KILN_ERR_PARSE,
     .text = "attribute 'pads' must be absent or 0 where 'auto_pad' decides, has 1; "
             "export with one of them"},
    {"rejects_training_before_opset_7", "BatchNormalization", 6, "x,s,b,m,v", "y",
     .inputs = {F32("x", "1,2,3"), F32("s", "2"), F32("b", "2"), F32("m", "2"),
                F32("v", "2")},
     .fails = KILN_ERR_UNSUPPORTED,
     .text = "training mode of this opset, or moments as outputs of inference, are not "
             "read; export the model for inference, or with opset 14 or later"},
    {"training_takes_its_own_moments", "BatchNormalization", 15, "x,s,b,m,v", "y,p,q",
     .inputs = {F32("x", "4,2,3"), F32("s", "2"), F32("b", "2"), F32("m", "2"),
                F32("v", "2")},
     .attrs = {KILN_I_INT("training_mode", 1), KILN_I_FLOAT("momentum", 0.5f)},
     .want = {"reduce_mean(%x) {axes=[0, 2], keepdims=true}", "batch_norm(%x, %s, %b, ",
              "mul(%m, ", "output %p \"p\"", "output %q \"q\""}},
    {"training_may_leave_its_moments_out", "BatchNormalization", 14, "x,s,b,m,v", "y",
     .inputs = {F32("x", "4,2"), F32("s", "2"), F32("b", "2"), F32("m", "2"),
                F32("v", "2")},
     .attrs = {KILN_I_INT("training_mode", 1)},
     .want = {"reduce_mean(%x) {axes=[0], keepdims=true}", "batch_norm("},
     .lacks = "mul(%m"},
    {"rejects_training_on_a_list", "BatchNormalization", 15, "x,s,b,m,v", "y",
     .inputs = {F32("x", "4"), F32("s", "2"), F32("b", "2"), F32("m", "2"),
                F32("v", "2")},
     .attrs = {KILN_I_INT("training_mode", 1)}, .fails = KILN_ERR_SHAPE,
     .text = "input 'X' must have shape [N, C, ...], has rank 1"},
    {"rejects_moments_of_fewer_digits", "RMSNormalization", 23, "x,s", "y",
     .inputs = {F32("x", "2,3"), F32("s", "3")},
     .attrs = {KILN_I_INT("stash_type", KILN_ONNX_FLOAT16)},
     .fails = KILN_ERR_UNSUPPORTED,
     .text = "attribute 'stash_type' must be f32 or the dtype of 'X', f32, is f16; "
             "export with stash_type = 1"},
    {"rejects_moments_of_more_digits", "GroupNormalization", 21, "x,s,b", "y",
     .inputs = {F32("x", "1,2,3"), F32("s", "2"), F32("b", "2")},
     .attrs = {KILN_I_INT("num_groups", 2), KILN_I_INT("stash_type", 11)},
     .fails = KILN_ERR_UNSUPPORTED, .text = "'stash_type' must be f32"},
    {"rejects_windows_that_unpooling_lacks", "MaxUnpool", 11, "x,i", "y",
     .inputs = {F32("x", "1,1,2"), {"i", KILN_ONNX_INT64, "1,1,2"}},
     .attrs = {KILN_I_INTS("kernel_shape", 2), KILN_I_INTS("dilations", 2)},
     .fails = KILN_ERR_UNSUPPORTED,
     .text = "attributes 'dilations' and 'auto_pad' are not known here"},
};

static kiln_test_import_row harmless[] = {
    {"accepts_marks_of_tools", "Relu", 13, "x", "y", .inputs = {F32("x", "2")},
     .attrs = {KILN_I_INT("__rank", 1)}, .want = {"relu(%x)"}},
    {"accepts_consumed_inputs_of_old", "Relu", 5, "x", "y", .inputs = {F32("x", "2")},
     .attrs = {KILN_I_INTS("consumed_inputs", 0)}, .want = {"relu(%x)"}},
    {"accepts_what_only_training_reads", "Dropout", 10, "x", "y",
     .inputs = {F32("x", "2")}, .attrs = {KILN_I_FLOAT("ratio", 0.5f)},
     .want = {"output %x"}},
    {"accepts_momentum", "BatchNormalization", 9, "x,s,b,m,v", "y",
     .inputs = {F32("x", "1,2,3"), F32("s", "2"), F32("b", "2"), F32("m", "2"),
                F32("v", "2")},
     .attrs = {KILN_I_FLOAT("momentum", 0.9f)}, .want = {"batch_norm("}},
    {"accepts_padding_of_zero_beside_auto_pad", "Conv", 13, "x,w", "y",
     .inputs = CONV_INPUTS,
     .attrs = {KILN_I_TEXT("auto_pad", "SAME_UPPER"), KILN_I_INTS("pads", 0, 0, 0, 0)},
     .want = {"pads=[1, 1, 1, 1]"}},
    /* Exporters write the defaults of every mode at once. */
    {"accepts_a_cubic_coefficient_of_nearest", "Resize", 13, "x,,s", "y",
     .inputs = {F32("x", "1,1,2,2")},
     .consts = {{"s", "4", KILN_ONNX_FLOAT, 4, .f = {1, 1, 2, 2}}},
     .attrs = {KILN_I_TEXT("mode", "nearest"), KILN_I_FLOAT("cubic_coeff_a", -0.75f),
               KILN_I_TEXT("nearest_mode", "floor")},
     .want = {"resize(%x)"}},
    {"accepts_a_policy_beside_scales", "Resize", 18, "x,,s", "y",
     .inputs = {F32("x", "1,1,2,2")},
     .consts = {{"s", "4", KILN_ONNX_FLOAT, 4, .f = {1, 1, 2, 2}}},
     .attrs = {KILN_I_TEXT("keep_aspect_ratio_policy", "stretch")},
     .want = {"resize(%x)"}},
    {"accepts_a_value_that_reflection_does_not_need", "Pad", 9, "x", "y",
     .inputs = {F32("x", "4")},
     .attrs = {KILN_I_TEXT("mode", "reflect"), KILN_I_INTS("pads", 1, 1),
               KILN_I_FLOAT("value", 0)},
     .want = {"mode=reflect"}},
    {"accepts_an_axis_without_broadcast", "Mul", 6, "x,z", "y",
     .inputs = {F32("x", "2"), F32("z", "2")},
     .attrs = {KILN_I_INT("broadcast", 0), KILN_I_INT("axis", 0)},
     .want = {"mul(%x, %z)"}},
    {"accepts_noop_where_axes_are_given", "ReduceSum", 13, "x,a", "y",
     .inputs = {F32("x", "2,3")}, .consts = {I64S("a", "1", 1)},
     .attrs = {KILN_I_INT("noop_with_empty_axes", 1)}, .want = {"axes=[1]"}},
};

/* A call gives what the function declares, and nothing else. */
static void check_call(const char *declared, kiln_status want, const char *text) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_onnx_writer m, body;
    kiln_import_report report = {0};
    kiln_graph *g = NULL;
    kiln_onnx_writer_init(&m, &a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2");
    kiln_onnx_writer_init(&body, &a, "body");
    kiln_onnx_put_node(&body, "LeakyRelu", "leaky", "u", "v");
    kiln_onnx_put_function(&m, &body, "my", "F", "u", "v", declared, 13);
    kiln_onnx_put_node(&m, "F", "call", "x", "y");
    kiln_onnx_put_domain(&m, "my");
    kiln_onnx_put_attr_float(&m, "slope", 0.5f);
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, NULL);
    kiln_onnx_put_opset(&m, "my", 1);
    const kiln_status st =
        kiln_import_onnx_bytes(&a, kiln_onnx_finish_model(&m, 8, 13), "test.onnx", NULL,
                               NULL, &g, &report, &err);
    if (want == KILN_OK)
        kiln_assert_status_ok(st, &err);
    else
        kiln_assert_fails(st, want, &err, text);
    kiln_arena_fini(&a);
}

static void functions_refuse_what_they_do_not_declare(void **state) {
    (void)state;
    check_call("slope", KILN_OK, NULL);
    check_call("", KILN_ERR_PARSE,
               "function 'F' has no attribute 'slope'; declare it there or export "
               "without it");
}

typedef struct ignored {
    const char *op, *attr;
    int since, until;
    const char *why;
} ignored;

static const ignored list[] = {
#define KILN_ONNX_IGNORED(op, attr, since, until, why) {op, attr, since, until, why},
#include "compiler/frontend/onnx/onnx_ignored.def"
#undef KILN_ONNX_IGNORED
};

/* Each row says why, is in order, and holds for an operator that is read. */
static void ignored_rows_are_sound(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        const ignored *r = &list[i];
        assert_true(r->why[0] != '\0' && (r->until == 0 || r->until >= r->since));
        const int64_t opset = r->until == 0 ? r->since : r->until;
        if (r->op[0] != '\0' &&
            kiln_onnx_find(KILN_STR_LIT(""), kiln_str_from(r->op), opset) == NULL)
            fail_msg("no row reads %s-%d", r->op, (int)opset);
        if (i == 0)
            continue;
        const int order = strcmp(list[i - 1].op, r->op);
        assert_true(order < 0 || (order == 0 && strcmp(list[i - 1].attr, r->attr) < 0));
    }
}

int main(void) {
    kiln_test_add_rows(kiln_test_check_import, refused);
    kiln_test_add_rows(kiln_test_check_import, harmless);
    kiln_test_add("functions_refuse_what_they_do_not_declare",
                  functions_refuse_what_they_do_not_declare, NULL);
    kiln_test_add("ignored_rows_are_sound", ignored_rows_are_sound, NULL);
    return kiln_test_run("onnx_attrs");
}
