/* Models that are not well formed: each is refused with a message that names file, node
 * and remedy. */
#include <stdio.h>
#include <string.h>

#include "compiler/frontend/frontend.h"
#include "tests/support/import/mutants.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/onnx_writer.h"

typedef struct row {
    const char *name;
    kiln_str (*build)(kiln_arena *a);
    kiln_status want;
    const char *text[3]; /* parts of the message */
} row;

static const float some[4] = {1.0f, -2.0f, 0.5f, 4.0f};

/* x: f32[2,3] -> one node -> y: f32[2,3]; the defect is in what the caller adds. */
static kiln_onnx_writer begin(kiln_arena *a) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2,3");
    return m;
}

static kiln_str end(kiln_onnx_writer *m) {
    kiln_onnx_put_output(m, "y", KILN_ONNX_FLOAT, "2,3");
    return kiln_onnx_finish_model(m, 8, 13);
}

static kiln_str well_formed(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_node(&m, "Relu", "r", "x", "y");
    return end(&m);
}

/* ---- the file -------------------------------------------------------------------- */

static kiln_str empty(kiln_arena *a) {
    (void)a;
    return (kiln_str){"", 0};
}

static kiln_str truncated(kiln_arena *a) {
    kiln_str s = well_formed(a);
    s.n -= 5;
    return s;
}

static kiln_str text_file(kiln_arena *a) {
    (void)a;
    return KILN_STR_LIT("<html><body>404 not found</body></html>");
}

static kiln_str no_graph(kiln_arena *a) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_pb_put_int(&b, 1, 8);
    return kiln_buf_str(&b);
}

static kiln_str long_varint(kiln_arena *a) {
    (void)a;
    return KILN_STR_LIT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

static kiln_str wrong_wire_type(kiln_arena *a) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_pb_put_int(&b, 7, 3); /* the graph as a number */
    return kiln_buf_str(&b);
}

static kiln_str group(kiln_arena *a) {
    (void)a;
    return KILN_STR_LIT("\x3b\x3c");
}

/* A graph in a node's attribute in a graph, and so on. */
static kiln_str deeply_nested(kiln_arena *a) {
    kiln_str inner = KILN_STR_LIT("");
    for (int i = 0; i < 60; i++) {
        kiln_onnx_writer g;
        kiln_onnx_writer_init(&g, a, "g");
        kiln_onnx_put_node(&g, "If", "", "b", "y");
        kiln_onnx_put_attr_graph(&g, "then_branch", inner);
        inner = kiln_onnx_finish_graph(&g);
    }
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_node(&m, "If", "top", "x", "y");
    kiln_onnx_put_attr_graph(&m, "then_branch", inner);
    return end(&m);
}

/* Empty messages: two bytes each in the file, hundreds in memory. */
static kiln_str memory_bomb(kiln_arena *a) {
    kiln_buf graph, model;
    kiln_buf_init(&graph, a);
    kiln_buf_init(&model, a);
    for (int i = 0; i < 2000000; i++)
        kiln_buf_add(&graph, "\x2a\x00", 2);
    kiln_pb_put_bytes(&model, 7, kiln_buf_str(&graph));
    return kiln_buf_str(&model);
}

static kiln_str old_ir(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_node(&m, "Relu", "r", "x", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "2,3");
    return kiln_onnx_finish_model(&m, 2, 6);
}

static kiln_str relu_of(kiln_arena *a, int64_t ir_version, int64_t opset) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_node(&m, "Relu", "r", "x", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "2,3");
    return kiln_onnx_finish_model(&m, ir_version, opset);
}

static kiln_str new_ir(kiln_arena *a) { return relu_of(a, 15, 20); }
static kiln_str new_opset(kiln_arena *a) { return relu_of(a, 14, 28); }
static kiln_str absurd_opset(kiln_arena *a) { return relu_of(a, 8, 999); }

static kiln_str function_of_new_opset(kiln_arena *a) {
    kiln_onnx_writer m = begin(a), body;
    kiln_onnx_writer_init(&body, a, "");
    kiln_onnx_put_node(&body, "Relu", "r", "u", "v");
    kiln_onnx_put_function(&m, &body, "my", "Half", "u", "v", "", 28);
    kiln_onnx_put_opset(&m, "my", 1);
    kiln_onnx_put_node(&m, "Half", "call", "x", "y");
    kiln_onnx_put_domain(&m, "my");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "2,3");
    return kiln_onnx_finish_model(&m, 14, 27);
}

static kiln_str no_opset(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_node(&m, "Relu", "r", "x", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "2,3");
    return kiln_onnx_finish_model(&m, 8, 0);
}

/* ---- names ----------------------------------------------------------------------- */

static kiln_str cyclic(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_node(&m, "Add", "one", "x,c", "b");
    kiln_onnx_put_node(&m, "Relu", "two", "b", "c");
    kiln_onnx_put_node(&m, "Relu", "three", "c", "y");
    return end(&m);
}

static kiln_str self_feeding(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_node(&m, "Add", "one", "x,y", "y");
    return end(&m);
}

static kiln_str missing_weights(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_node(&m, "Add", "conv1", "x,conv1.bias", "y");
    return end(&m);
}

static kiln_str missing_output(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_node(&m, "Relu", "r", "x", "z");
    return end(&m);
}

static kiln_str missing_input(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_node(&m, "Add", "sum", "x", "y");
    return end(&m);
}

static kiln_str defined_twice(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_node(&m, "Relu", "one", "x", "y");
    kiln_onnx_put_node(&m, "Neg", "two", "x", "y");
    return end(&m);
}

static kiln_str shadows_input(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_node(&m, "Relu", "one", "x", "x");
    kiln_onnx_put_node(&m, "Relu", "two", "x", "y");
    return end(&m);
}

static kiln_str twin_inputs(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2,3");
    kiln_onnx_put_node(&m, "Relu", "r", "x", "y");
    return end(&m);
}

static kiln_str twin_weights(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    const kiln_str w = kiln_onnx_float_tensor(a, "w", "1", some, 1);
    kiln_onnx_put_initializer(&m, w);
    kiln_onnx_put_initializer(&m, w);
    kiln_onnx_put_node(&m, "Add", "r", "x,w", "y");
    return end(&m);
}

/* ---- shapes and sizes ------------------------------------------------------------ */

static kiln_str wrong_rank(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_initializer(
        &m, kiln_onnx_raw_tensor(a, "w", KILN_ONNX_FLOAT, "1,1,2,2", some, 16));
    kiln_onnx_put_node(&m, "Conv", "conv1", "x,w", "y");
    return end(&m);
}

static kiln_str shapes_do_not_fit(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_initializer(&m, kiln_onnx_float_tensor(a, "w", "4", some, 4));
    kiln_onnx_put_node(&m, "Add", "sum", "x,w", "y");
    return end(&m);
}

static kiln_str wrong_output_shape(kiln_arena *a) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2,4");
    kiln_onnx_put_node(&m, "Relu", "r", "x", "y");
    return end(&m);
}

static kiln_str wrong_output_type(kiln_arena *a) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_DOUBLE, "2,3");
    kiln_onnx_put_node(&m, "Relu", "r", "x", "y");
    return end(&m);
}

static kiln_str huge_input(kiln_arena *a) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "4000000000,4000000000");
    kiln_onnx_put_node(&m, "Relu", "r", "x", "y");
    return end(&m);
}

static kiln_str deep_rank(kiln_arena *a) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "1,1,1,1,1,1,1,1,1");
    kiln_onnx_put_node(&m, "Relu", "r", "x", "y");
    return end(&m);
}

static kiln_str short_raw_data(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_initializer(
        &m, kiln_onnx_raw_tensor(a, "w", KILN_ONNX_FLOAT, "2,3", some, 16));
    kiln_onnx_put_node(&m, "Add", "sum", "x,w", "y");
    return end(&m);
}

static kiln_str short_nibbles(kiln_arena *a) {
    enum { INT4 = 22 };
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_initializer(&m, kiln_onnx_raw_tensor(a, "w", INT4, "2,3", some, 2));
    kiln_onnx_put_node(&m, "Identity", "copy", "w", "y");
    return end(&m);
}

static kiln_str short_pairs(kiln_arena *a) {
    enum { UINT2 = 25 };
    static const int32_t one = 0xFF;
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_initializer(&m, kiln_onnx_int32_tensor(a, "w", UINT2, "5", &one, 1));
    kiln_onnx_put_node(&m, "Identity", "copy", "w", "y");
    return end(&m);
}

static kiln_str short_float_data(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_initializer(&m,
                              kiln_onnx_float_tensor(a, "w", "1000000,1000", some, 4));
    kiln_onnx_put_node(&m, "Add", "sum", "x,w", "y");
    return end(&m);
}

static kiln_str negative_dim(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_initializer(&m, kiln_onnx_float_tensor(a, "w", "-3,2", some, 4));
    kiln_onnx_put_node(&m, "Add", "sum", "x,w", "y");
    return end(&m);
}

static kiln_str string_weights(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_initializer(&m, kiln_onnx_int32_tensor(a, "w", 8, "1", NULL, 0));
    kiln_onnx_put_node(&m, "Add", "sum", "x,w", "y");
    return end(&m);
}

static kiln_str dynamic_shape(kiln_arena *a) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "N,3,H,?");
    kiln_onnx_put_node(&m, "Relu", "r", "x", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, NULL);
    return kiln_onnx_finish_model(&m, 8, 13);
}

static kiln_str shape_from_input(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_input(&m, "n", KILN_ONNX_INT64, "2");
    kiln_onnx_put_node(&m, "Abs", "a", "n", "k");
    kiln_onnx_put_node(&m, "Reshape", "r", "x,k", "y");
    return end(&m);
}

static kiln_str wrong_attribute(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_node(&m, "Softmax", "s", "x", "y");
    kiln_onnx_put_attr_text(&m, "axis", "last");
    return end(&m);
}

/* ---- external data, functions ---------------------------------------------------- */

static kiln_str external(kiln_arena *a, const char *location, int64_t offset,
                         int64_t length) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_initializer(&m,
                              kiln_onnx_external_tensor(a, "w", KILN_ONNX_FLOAT, "2,3",
                                                        location, offset, length));
    kiln_onnx_put_node(&m, "Add", "sum", "x,w", "y");
    return end(&m);
}

static kiln_str external_outside(kiln_arena *a) {
    return external(a, "../../etc/passwd", -1, -1);
}
static kiln_str external_absolute(kiln_arena *a) {
    return external(a, "/etc/passwd", -1, -1);
}
static kiln_str external_absent(kiln_arena *a) {
    return external(a, "no/such.bin", -1, -1);
}
static kiln_str external_short(kiln_arena *a) {
    return external(a, "LICENSE", INT64_MAX, -1);
}
static kiln_str external_length(kiln_arena *a) { return external(a, "LICENSE", 0, 23); }

static kiln_str recursive_function(kiln_arena *a) {
    kiln_onnx_writer m = begin(a), body;
    kiln_onnx_writer_init(&body, a, "");
    kiln_onnx_put_node(&body, "F", "again", "u", "v");
    kiln_onnx_put_domain(&body, "my");
    kiln_onnx_put_function(&m, &body, "my", "F", "u", "v", "", 13);
    kiln_onnx_put_opset(&m, "my", 1);
    kiln_onnx_put_node(&m, "F", "call", "x", "y");
    kiln_onnx_put_domain(&m, "my");
    return end(&m);
}

/* Each function calls the one before twice: 2^25 nodes out of a kilobyte. */
static kiln_str exploding_functions(kiln_arena *a) {
    kiln_onnx_writer m = begin(a), body;
    for (int i = 0; i < 25; i++) {
        const char *const callee = i == 0 ? "Relu" : kiln_format(a, "F%d", i - 1);
        kiln_onnx_writer_init(&body, a, "");
        kiln_onnx_put_node(&body, callee, "", "u", "t");
        if (i > 0)
            kiln_onnx_put_domain(&body, "my");
        kiln_onnx_put_node(&body, callee, "", "t", "v");
        if (i > 0)
            kiln_onnx_put_domain(&body, "my");
        kiln_onnx_put_function(&m, &body, "my", kiln_format(a, "F%d", i), "u", "v", "",
                               13);
    }
    kiln_onnx_put_opset(&m, "my", 1);
    kiln_onnx_put_node(&m, "F24", "call", "x", "y");
    kiln_onnx_put_domain(&m, "my");
    return end(&m);
}

static kiln_str twin_functions(kiln_arena *a) {
    kiln_onnx_writer m = begin(a), body;
    for (int i = 0; i < 2; i++) {
        kiln_onnx_writer_init(&body, a, "");
        kiln_onnx_put_node(&body, "Relu", "", "u", "v");
        kiln_onnx_put_function(&m, &body, "my", "F", "u", "v", "", 13);
    }
    kiln_onnx_put_node(&m, "Relu", "r", "x", "y");
    return end(&m);
}

/* 10^5 functions and as many nodes, none of which is one of them: their product would
 * take hours. */
static kiln_str many_functions(kiln_arena *a) {
    enum { N = 100000 };
    kiln_onnx_writer m = begin(a);
    char name[32];
    for (int i = 0; i < N; i++) {
        kiln_buf fn;
        kiln_buf_init(&fn, a);
        snprintf(name, sizeof name, "F%d", i);
        kiln_pb_put_text(&fn, 1, name);
        kiln_pb_put_bytes(&m.model, 25, kiln_buf_str(&fn));
        kiln_onnx_put_node(&m, "Nothing", NULL, "", "");
    }
    return end(&m);
}

static kiln_str many_attributes(kiln_arena *a) {
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_node(&m, "Relu", "r", "x", "y");
    for (int i = 0; i < 1000; i++)
        kiln_onnx_put_attr_int(&m, "a", i);
    return end(&m);
}

/* A few numbers in the file, a gigabyte of constants in memory. */
static kiln_str computed_constants(kiln_arena *a) {
    static const int64_t v[] = {0, 10000000, 1};
    kiln_onnx_writer m = begin(a);
    kiln_onnx_put_initializer(&m, kiln_onnx_int64_tensor(a, "from", "", v, 1));
    kiln_onnx_put_initializer(&m, kiln_onnx_int64_tensor(a, "to", "", v + 1, 1));
    kiln_onnx_put_initializer(&m, kiln_onnx_int64_tensor(a, "by", "", v + 2, 1));
    for (int i = 0; i < 10; i++)
        kiln_onnx_put_node(&m, "Range", "", "from,to,by", kiln_format(a, "r%d", i));
    kiln_onnx_put_node(&m, "Relu", "r", "x", "y");
    return end(&m);
}

static row rows[] = {
    {"empty_file", empty, KILN_ERR_PARSE, {"ModelProto has no graph", "ONNX model?"}},
    {"truncated",
     truncated,
     KILN_ERR_PARSE,
     {"field 'graph' at byte 14", "is the file truncated?"}},
    {"text_file", text_file, KILN_ERR_PARSE, {"protobuf: ModelProto"}},
    {"no_graph", no_graph, KILN_ERR_PARSE, {"ModelProto has no graph"}},
    {"varint_of_eleven_bytes",
     long_varint,
     KILN_ERR_PARSE,
     {"'ir_version' at byte 0", "longer than 10 bytes"}},
    {"wrong_wire_type",
     wrong_wire_type,
     KILN_ERR_PARSE,
     {"'graph' at byte 0", "wire type does not fit"}},
    {"group", group, KILN_ERR_PARSE, {"groups and unknown wire types are not read"}},
    {"deeply_nested",
     deeply_nested,
     KILN_ERR_LIMIT,
     {"nested more than 100 messages deep"}},
    {"memory_bomb", memory_bomb, KILN_ERR_LIMIT, {"2000000 elements need more memory"}},
    {"old_ir_version",
     old_ir,
     KILN_ERR_UNSUPPORTED,
     {"ir_version must be 3 to 14, is 2", "version_converter"}},
    {"ir_version_to_come",
     new_ir,
     KILN_ERR_UNSUPPORTED,
     {"ir_version must be 3 to 14, is 15", "older onnx package"}},
    {"opset_to_come",
     new_opset,
     KILN_ERR_UNSUPPORTED,
     {"opset 28 is newer than 27, the newest that kiln knows",
      "export with opset 27 or below"}},
    {"opset_of_no_sense",
     absurd_opset,
     KILN_ERR_UNSUPPORTED,
     {"opset 999 is newer than 27"}},
    {"opset_to_come_of_a_function",
     function_of_new_opset,
     KILN_ERR_UNSUPPORTED,
     {"opset 28 is newer than 27", "reading function 'Half'"}},
    {"no_opset", no_opset, KILN_ERR_PARSE, {"opset_import must name the operator set"}},
    {"cyclic",
     cyclic,
     KILN_ERR_PARSE,
     {"these 2 do: 'one' (Add), 'two' (Relu)", "needs a Loop or Scan"}},
    {"self_feeding", self_feeding, KILN_ERR_PARSE, {"these 1 do: 'one' (Add)"}},
    {"missing_initializer",
     missing_weights,
     KILN_ERR_PARSE,
     {"input 1 ('conv1.bias') is not defined", "without its weights?",
      "node 'conv1' (Add)"}},
    {"missing_output", missing_output, KILN_ERR_PARSE, {"graph output 'y'"}},
    {"missing_input",
     missing_input,
     KILN_ERR_PARSE,
     {"is missing", "node 'sum' (Add), opset 13"}},
    {"value_defined_twice",
     defined_twice,
     KILN_ERR_PARSE,
     {"value 'y' must be defined once, but node 'two' (Neg) and node 'one' (Relu)",
      "another name"}},
    {"value_shadows_input",
     shadows_input,
     KILN_ERR_PARSE,
     {"value 'x' must be defined once", "an input of the graph"}},
    {"input_given_twice",
     twin_inputs,
     KILN_ERR_PARSE,
     {"graph input 'x' is given twice", "another name"}},
    {"initializer_given_twice",
     twin_weights,
     KILN_ERR_PARSE,
     {"initializer 'w' is given twice", "another name"}},
    {"wrong_rank", wrong_rank, KILN_ERR_SHAPE, {"node 'conv1' (Conv)", "rank"}},
    {"shapes_do_not_fit",
     shapes_do_not_fit,
     KILN_ERR_SHAPE,
     {"[2,3]", "[4]", "node 'sum' (Add)"}},
    {"output_of_another_shape",
     wrong_output_shape,
     KILN_ERR_SHAPE,
     {"declares it as f32[2,3], but its nodes make f32[2,4]", "graph output 'y'"}},
    {"output_of_another_type",
     wrong_output_type,
     KILN_ERR_SHAPE,
     {"declares it as f32[2,3], but its nodes make f64[2,3]"}},
    {"absurd_input", huge_input, KILN_ERR_LIMIT, {"graph input 'x'"}},
    {"absurd_rank",
     deep_rank,
     KILN_ERR_LIMIT,
     {"rank must be at most 8, is 9", "graph input 'x'"}},
    {"short_nibbles",
     short_nibbles,
     KILN_ERR_PARSE,
     {"i4[2,3] needs 3 bytes of raw_data, the file has 2"}},
    {"short_pairs",
     short_pairs,
     KILN_ERR_PARSE,
     {"u2[5] needs 2 elements in int32_data, the file has 1"}},
    {"raw_data_too_short",
     short_raw_data,
     KILN_ERR_PARSE,
     {"f32[2,3] needs 24 bytes of raw_data, the file has 16", "tensor 'w'",
      "node 'sum' (Add)"}},
    {"float_data_too_short",
     short_float_data,
     KILN_ERR_PARSE,
     {"needs 1000000000 elements in float_data, the file has 4", "tensor 'w'"}},
    {"negative_dimension", negative_dim, KILN_ERR_SHAPE, {"tensor 'w'"}},
    {"strings",
     string_weights,
     KILN_ERR_UNSUPPORTED,
     {"element type STRING is not read", "tensor 'w'"}},
    {"dynamic_shape_not_bound",
     dynamic_shape,
     KILN_ERR_SHAPE,
     {"'x' [N,3,H,?]", "--shape x:1x3x224x224"}},
    {"shape_depends_on_an_input",
     shape_from_input,
     KILN_ERR_UNSUPPORTED,
     {"must be a constant, it depends on graph input 'n'",
      "--bind n=", "node 'r' (Reshape)"}},
    {"attribute_of_another_kind",
     wrong_attribute,
     KILN_ERR_PARSE,
     {"attribute 'axis' must be an int, is a string", "node 's' (Softmax)"}},
    {"external_data_outside_the_folder",
     external_outside,
     KILN_ERR_PARSE,
     {"location '../../etc/passwd' must be a relative path", "tensor 'w'"}},
    {"external_data_by_absolute_path",
     external_absolute,
     KILN_ERR_PARSE,
     {"location '/etc/passwd' must be a relative path"}},
    {"external_data_missing",
     external_absent,
     KILN_ERR_MISSING,
     {"no/such.bin", "tensor 'w'"}},
    {"external_data_too_short",
     external_short,
     KILN_ERR_PARSE,
     {"'LICENSE' has", "is the file complete?"}},
    {"external_data_of_another_length",
     external_length,
     KILN_ERR_PARSE,
     {"length must be 24 bytes, is 23"}},
    {"function_calls_itself",
     recursive_function,
     KILN_ERR_LIMIT,
     {"does a function call itself?"}},
    {"function_given_twice",
     twin_functions,
     KILN_ERR_PARSE,
     {"function 'F' is given twice", "another name"}},
    {"many_functions",
     many_functions,
     KILN_ERR_UNSUPPORTED,
     {"Nothing-13 (100000 times"}},
    {"many_attributes",
     many_attributes,
     KILN_ERR_LIMIT,
     {"at most 256 attributes, has 1000", "node 'r' (Relu)"}},
    {"computed_constants",
     computed_constants,
     KILN_ERR_LIMIT,
     {"may have 512 MiB in all", "(Range)"}},
    {"functions_explode",
     exploding_functions,
     KILN_ERR_LIMIT,
     {"more than 16 times as large as the file"}},
};

static void check_refused(void **state) {
    const row *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const kiln_status st =
        kiln_import_onnx_bytes(&a, r->build(&a), "m.onnx", ".", NULL, &g, NULL, &err);
    if (st != r->want)
        fail_msg("want %s, got %s: %s", kiln_status_name(r->want), kiln_status_name(st),
                 err.text);
    assert_null(g);
    for (size_t i = 0; i < 3 && r->text[i] != NULL; i++)
        if (strstr(err.text, r->text[i]) == NULL)
            fail_msg("'%s' is not in: %s", r->text[i], err.text);
    if (strstr(err.text, "while importing 'm.onnx'") == NULL &&
        err.len + 4 < KILN_ERR_TEXT)
        fail_msg("the file is not named in: %s", err.text);
    kiln_arena_fini(&a);
}

static kiln_status import_bytes(kiln_arena *a, kiln_str bytes, const void *user,
                                kiln_graph **g, kiln_err *err) {
    (void)user;
    return kiln_import_onnx_bytes(a, bytes, "m.onnx", NULL, NULL, g, NULL, err);
}

/* Every prefix of a model is refused, and every model with one bit changed is, or is
 * still a model; by an error that names the file. */
static void cuts_and_flips_end_in_a_named_error(void **state) {
    (void)state;
    kiln_arena a = {0};
    const kiln_test_mutants m = {
        .file = "importing 'm.onnx'", .whole = well_formed(&a), .import = import_bytes};
    const size_t n = m.whole.n;
    size_t n_refused = 0;
    for (size_t i = 0; i < n; i++) {
        kiln_arena scratch = {0};
        const char *const cut = kiln_arena_dup(&scratch, m.whole.p, i);
        assert_true(kiln_test_mutant_ends(&m, (kiln_str){cut, i}));
        for (unsigned bit = 0; bit < 8; bit++) {
            char *const flipped = kiln_arena_dup(&scratch, m.whole.p, n);
            flipped[i] = (char)((unsigned char)flipped[i] ^ (1u << bit));
            n_refused += kiln_test_mutant_ends(&m, (kiln_str){flipped, n});
        }
        kiln_arena_fini(&scratch);
    }
    print_message("%zu of %zu flips are refused\n", n_refused, 8 * n);
    assert_true(n_refused > 4 * n);
    kiln_arena_fini(&a);
}

/* Names from a file reach a terminal only in printable form. */
static void messages_are_printable(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_onnx_writer m = begin(&a);
    kiln_onnx_put_initializer(&m, kiln_onnx_float_tensor(&a, "w\x1b[2J", "3", some, 1));
    kiln_onnx_put_node(&m, "Add", "bad\x1b[31m\n", "x,w\x1b[2J", "y");
    (void)kiln_import_onnx_bytes(&a, end(&m), "m.onnx", NULL, NULL, &g, NULL, &err);
    assert_null(strchr(err.text, '\x1b'));
    assert_non_null(strstr(err.text, "bad\\x1b[31m\\x0a"));
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(check_refused, rows);
    kiln_test_add("cuts_and_flips_end_in_a_named_error",
                  cuts_and_flips_end_in_a_named_error, NULL);
    kiln_test_add("messages_are_printable", messages_are_printable, NULL);
    return kiln_test_run("onnx_malformed");
}
