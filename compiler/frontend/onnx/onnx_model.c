/* ONNX messages as tables for the protobuf reader. Source: onnx.proto, IR versions 3
 * to 14. */
#include "compiler/frontend/onnx/onnx_model.h"

#include "compiler/frontend/protobuf_table.h"

#include <string.h>

#define COUNT(number, T, name)                                                         \
    { number, KILN_PB_COUNT, true, #name, offsetof(T, name), KILN_PB_NONE, NULL }

static const kiln_pb_message graph_message, tensor_message;

static const kiln_pb_field pair_fields[] = {
    FIELD(1, kiln_onnx_pair, key, KILN_PB_BYTES),
    FIELD(2, kiln_onnx_pair, value, KILN_PB_BYTES),
};
static const kiln_pb_message pair_message =
    MESSAGE("StringStringEntryProto", kiln_onnx_pair, pair_fields);

static const kiln_pb_field tensor_fields[] = {
    LIST(1, kiln_onnx_tensor, dims, KILN_PB_I64),
    FIELD(2, kiln_onnx_tensor, data_type, KILN_PB_I64),
    LIST(4, kiln_onnx_tensor, float_data, KILN_PB_F32),
    LIST(5, kiln_onnx_tensor, int32_data, KILN_PB_I32),
    LIST(6, kiln_onnx_tensor, string_data, KILN_PB_BYTES),
    LIST(7, kiln_onnx_tensor, int64_data, KILN_PB_I64),
    FIELD(8, kiln_onnx_tensor, name, KILN_PB_BYTES),
    FIELD_HAS(9, kiln_onnx_tensor, raw_data, KILN_PB_BYTES, has_raw_data),
    LIST(10, kiln_onnx_tensor, double_data, KILN_PB_F64),
    LIST(11, kiln_onnx_tensor, uint64_data, KILN_PB_U64),
    SUBS(13, kiln_onnx_tensor, external_data, pair_message),
    FIELD(14, kiln_onnx_tensor, data_location, KILN_PB_I64),
};
static const kiln_pb_message tensor_message =
    MESSAGE("TensorProto", kiln_onnx_tensor, tensor_fields);

static const kiln_pb_field attr_fields[] = {
    FIELD(1, kiln_onnx_attr, name, KILN_PB_BYTES),
    FIELD_HAS(2, kiln_onnx_attr, f, KILN_PB_F32, has_f),
    FIELD_HAS(3, kiln_onnx_attr, i, KILN_PB_I64, has_i),
    FIELD_HAS(4, kiln_onnx_attr, s, KILN_PB_BYTES, has_s),
    SUB(5, kiln_onnx_attr, t, tensor_message),
    SUB(6, kiln_onnx_attr, g, graph_message),
    LIST(7, kiln_onnx_attr, floats, KILN_PB_F32),
    LIST(8, kiln_onnx_attr, ints, KILN_PB_I64),
    LIST(9, kiln_onnx_attr, strings, KILN_PB_BYTES),
    FIELD(20, kiln_onnx_attr, type, KILN_PB_I64),
    FIELD(21, kiln_onnx_attr, ref_attr_name, KILN_PB_BYTES),
};
static const kiln_pb_message attr_message =
    MESSAGE("AttributeProto", kiln_onnx_attr, attr_fields);

static const kiln_pb_field node_fields[] = {
    LIST(1, kiln_onnx_node, input, KILN_PB_BYTES),
    LIST(2, kiln_onnx_node, output, KILN_PB_BYTES),
    FIELD(3, kiln_onnx_node, name, KILN_PB_BYTES),
    FIELD(4, kiln_onnx_node, op_type, KILN_PB_BYTES),
    SUBS(5, kiln_onnx_node, attribute, attr_message),
    FIELD(7, kiln_onnx_node, domain, KILN_PB_BYTES),
    FIELD(8, kiln_onnx_node, overload, KILN_PB_BYTES),
};
static const kiln_pb_message node_message =
    MESSAGE("NodeProto", kiln_onnx_node, node_fields);

static const kiln_pb_field dim_fields[] = {
    FIELD_HAS(1, kiln_onnx_dim, value, KILN_PB_I64, has_value),
    FIELD(2, kiln_onnx_dim, param, KILN_PB_BYTES),
};
static const kiln_pb_message dim_message =
    MESSAGE("TensorShapeProto.Dimension", kiln_onnx_dim, dim_fields);

static const kiln_pb_field shape_fields[] = {
    SUBS(1, kiln_onnx_value_info, dims, dim_message),
};
static const kiln_pb_message shape_message =
    MESSAGE("TensorShapeProto", kiln_onnx_value_info, shape_fields);

static const kiln_pb_field tensor_type_fields[] = {
    FIELD(1, kiln_onnx_value_info, elem_type, KILN_PB_I64),
    FLAT_HAS(2, "shape", kiln_onnx_value_info, has_shape, shape_message),
};
static const kiln_pb_message tensor_type_message =
    MESSAGE("TypeProto.Tensor", kiln_onnx_value_info, tensor_type_fields);

static const kiln_pb_message other_type_message = {
    .name = "TypeProto", .size = sizeof(kiln_onnx_value_info)};

static const kiln_pb_field type_fields[] = {
    FLAT_HAS(1, "tensor_type", kiln_onnx_value_info, has_tensor_type,
             tensor_type_message),
    FLAT_HAS(4, "sequence_type", kiln_onnx_value_info, has_sequence_type,
             other_type_message),
    FLAT_HAS(5, "map_type", kiln_onnx_value_info, has_map_type, other_type_message),
    FLAT_HAS(8, "sparse_tensor_type", kiln_onnx_value_info, has_sparse_type,
             other_type_message),
    FLAT_HAS(9, "optional_type", kiln_onnx_value_info, has_optional_type,
             other_type_message),
};
static const kiln_pb_message type_message =
    MESSAGE("TypeProto", kiln_onnx_value_info, type_fields);

static const kiln_pb_field value_info_fields[] = {
    FIELD(1, kiln_onnx_value_info, name, KILN_PB_BYTES),
    FLAT_HAS(2, "type", kiln_onnx_value_info, has_type, type_message),
};
static const kiln_pb_message value_info_message =
    MESSAGE("ValueInfoProto", kiln_onnx_value_info, value_info_fields);

static const kiln_pb_field graph_fields[] = {
    SUBS(1, kiln_onnx_graph, node, node_message),
    FIELD(2, kiln_onnx_graph, name, KILN_PB_BYTES),
    SUBS(5, kiln_onnx_graph, initializer, tensor_message),
    SUBS(11, kiln_onnx_graph, input, value_info_message),
    SUBS(12, kiln_onnx_graph, output, value_info_message),
    COUNT(15, kiln_onnx_graph, n_sparse_initializer),
};
static const kiln_pb_message graph_message =
    MESSAGE("GraphProto", kiln_onnx_graph, graph_fields);

static const kiln_pb_field opset_fields[] = {
    FIELD(1, kiln_onnx_opset, domain, KILN_PB_BYTES),
    FIELD(2, kiln_onnx_opset, version, KILN_PB_I64),
};
static const kiln_pb_message opset_message =
    MESSAGE("OperatorSetIdProto", kiln_onnx_opset, opset_fields);

static const kiln_pb_field function_fields[] = {
    FIELD(1, kiln_onnx_function, name, KILN_PB_BYTES),
    LIST(4, kiln_onnx_function, input, KILN_PB_BYTES),
    LIST(5, kiln_onnx_function, output, KILN_PB_BYTES),
    LIST(6, kiln_onnx_function, attribute, KILN_PB_BYTES),
    SUBS(7, kiln_onnx_function, node, node_message),
    SUBS(9, kiln_onnx_function, opset_import, opset_message),
    FIELD(10, kiln_onnx_function, domain, KILN_PB_BYTES),
    SUBS(11, kiln_onnx_function, attribute_default, attr_message),
    FIELD(13, kiln_onnx_function, overload, KILN_PB_BYTES),
};
static const kiln_pb_message function_message =
    MESSAGE("FunctionProto", kiln_onnx_function, function_fields);

static const kiln_pb_field model_fields[] = {
    FIELD(1, kiln_onnx_model, ir_version, KILN_PB_I64),
    FIELD(2, kiln_onnx_model, producer_name, KILN_PB_BYTES),
    FIELD(3, kiln_onnx_model, producer_version, KILN_PB_BYTES),
    SUB(7, kiln_onnx_model, graph, graph_message),
    SUBS(8, kiln_onnx_model, opset_import, opset_message),
    SUBS(25, kiln_onnx_model, function, function_message),
};
static const kiln_pb_message model_message =
    MESSAGE("ModelProto", kiln_onnx_model, model_fields);

/* Nodes are numbered in their graph. The reader's depth limit bounds the recursion. */
static void number_nodes(kiln_onnx_node *node, size_t n) {
    for (size_t i = 0; i < n; i++) {
        node[i].index = (int64_t)i;
        for (size_t k = 0; k < node[i].n_attribute; k++) {
            kiln_onnx_graph *const g = node[i].attribute[k].g;
            if (g != NULL)
                number_nodes(g->node, g->n_node);
        }
    }
}

kiln_status kiln_onnx_decode_model(kiln_arena *a, kiln_str bytes, kiln_onnx_model *out,
                                   kiln_err *err) {
    kiln_onnx_model m;
    KILN_TRY(kiln_pb_read(a, &model_message, bytes, &m, err));
    if (m.graph == NULL)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "ModelProto has no graph; is this an ONNX model?");
    number_nodes(m.graph->node, m.graph->n_node);
    for (size_t i = 0; i < m.n_function; i++)
        number_nodes(m.function[i].node, m.function[i].n_node);
    *out = m;
    return KILN_OK;
}

kiln_status kiln_onnx_decode_tensor(kiln_arena *a, kiln_str bytes,
                                    kiln_onnx_tensor *out, kiln_err *err) {
    kiln_onnx_tensor t;
    KILN_TRY(kiln_pb_read(a, &tensor_message, bytes, &t, err));
    *out = t;
    return KILN_OK;
}

bool kiln_onnx_sniff(kiln_str bytes) {
    enum { MAX_IR_VERSION = 1000, IR_VERSION = 1, GRAPH = 7, OPSET_IMPORT = 8 };
    bool has_version = false, has_body = false;
    kiln_pb_wire w;
    while (kiln_pb_next(&bytes, &w)) {
        if (w.number == IR_VERSION && w.type == 0)
            has_version = w.value > 0 && w.value < MAX_IR_VERSION;
        else if ((w.number == GRAPH || w.number == OPSET_IMPORT) && w.type == 2)
            has_body = true;
    }
    return bytes.n == 0 && has_version && has_body;
}
