/* TensorFlow's messages as tables for the protobuf reader. Source: the .proto files of
 * tensorflow/core/framework. */
#include "compiler/frontend/tensorflow/tf_bundle.h"

#include "compiler/frontend/protobuf_table.h"

/* ---- tensors --------------------------------------------------------------------- */

static const kiln_pb_field dim_fields[] = {
    FIELD(1, kiln_tf_dim, size, KILN_PB_I64),
};
static const kiln_pb_message dim_message =
    MESSAGE("TensorShapeProto.Dim", kiln_tf_dim, dim_fields);

static const kiln_pb_field shape_fields[] = {
    SUBS(2, kiln_tf_shape, dim, dim_message),
    FIELD(3, kiln_tf_shape, is_unknown, KILN_PB_BOOL),
};
const kiln_pb_message kiln_tf_shape_message =
    MESSAGE("TensorShapeProto", kiln_tf_shape, shape_fields);

static const kiln_pb_field tensor_fields[] = {
    FIELD(1, kiln_tf_tensor, dtype, KILN_PB_I64),
    INSIDE(2, kiln_tf_tensor, shape, kiln_tf_shape_message),
    FIELD_HAS(4, kiln_tf_tensor, content, KILN_PB_BYTES, has_content),
    LIST(5, kiln_tf_tensor, f32, KILN_PB_F32),
    LIST(6, kiln_tf_tensor, f64, KILN_PB_F64),
    LIST(7, kiln_tf_tensor, i32, KILN_PB_I32),
    LIST(8, kiln_tf_tensor, text, KILN_PB_BYTES),
    LIST(10, kiln_tf_tensor, i64, KILN_PB_I64),
    LIST(11, kiln_tf_tensor, flags, KILN_PB_I32),
    LIST(13, kiln_tf_tensor, halves, KILN_PB_I32),
    LIST(16, kiln_tf_tensor, u32, KILN_PB_U64),
    LIST(17, kiln_tf_tensor, u64, KILN_PB_U64),
};
static const kiln_pb_message tensor_message =
    MESSAGE("TensorProto", kiln_tf_tensor, tensor_fields);

/* ---- attributes ------------------------------------------------------------------ */

static const kiln_pb_field list_fields[] = {
    LIST(2, kiln_tf_list, s, KILN_PB_BYTES),
    LIST(3, kiln_tf_list, i, KILN_PB_I64),
    LIST(6, kiln_tf_list, type, KILN_PB_I64),
};
static const kiln_pb_message list_message =
    MESSAGE("AttrValue.ListValue", kiln_tf_list, list_fields);

static const kiln_pb_field func_fields[] = {
    FIELD(1, kiln_tf_attr, func, KILN_PB_BYTES),
};
static const kiln_pb_message func_message =
    MESSAGE("NameAttrList", kiln_tf_attr, func_fields);

static const kiln_pb_field value_fields[] = {
    SUB(1, kiln_tf_attr, list, list_message),
    FIELD_HAS(2, kiln_tf_attr, s, KILN_PB_BYTES, has_s),
    FIELD_HAS(3, kiln_tf_attr, i, KILN_PB_I64, has_i),
    FIELD_HAS(4, kiln_tf_attr, f, KILN_PB_F32, has_f),
    FIELD_HAS(5, kiln_tf_attr, b, KILN_PB_BOOL, has_b),
    FIELD_HAS(6, kiln_tf_attr, type, KILN_PB_I64, has_type),
    SUB(7, kiln_tf_attr, shape, kiln_tf_shape_message),
    SUB(8, kiln_tf_attr, tensor, tensor_message),
    FIELD(9, kiln_tf_attr, placeholder, KILN_PB_BYTES),
    FLAT_HAS(10, "func", kiln_tf_attr, has_func, func_message),
};
static const kiln_pb_message value_message =
    MESSAGE("AttrValue", kiln_tf_attr, value_fields);

static const kiln_pb_field attr_fields[] = {
    FIELD(1, kiln_tf_attr, name, KILN_PB_BYTES),
    FLAT(2, "value", value_message),
};
static const kiln_pb_message attr_message =
    MESSAGE("NodeDef.AttrEntry", kiln_tf_attr, attr_fields);

/* ---- graphs ---------------------------------------------------------------------- */

static const kiln_pb_field node_fields[] = {
    FIELD(1, kiln_tf_node, name, KILN_PB_BYTES),
    FIELD(2, kiln_tf_node, op, KILN_PB_BYTES),
    LIST(3, kiln_tf_node, input, KILN_PB_BYTES),
    SUBS(5, kiln_tf_node, attr, attr_message),
};
static const kiln_pb_message node_message =
    MESSAGE("NodeDef", kiln_tf_node, node_fields);

static const kiln_pb_field arg_fields[] = {
    FIELD(1, kiln_tf_arg, name, KILN_PB_BYTES),
    FIELD(3, kiln_tf_arg, type, KILN_PB_I64),
};
static const kiln_pb_message arg_message =
    MESSAGE("OpDef.ArgDef", kiln_tf_arg, arg_fields);

static const kiln_pb_field signature_fields[] = {
    FIELD(1, kiln_tf_function, name, KILN_PB_BYTES),
    SUBS(2, kiln_tf_function, input, arg_message),
    SUBS(3, kiln_tf_function, output, arg_message),
};
static const kiln_pb_message signature_message =
    MESSAGE("OpDef", kiln_tf_function, signature_fields);

static const kiln_pb_field pair_fields[] = {
    FIELD(1, kiln_tf_pair, key, KILN_PB_BYTES),
    FIELD(2, kiln_tf_pair, value, KILN_PB_BYTES),
};
static const kiln_pb_message pair_message =
    MESSAGE("FunctionDef.RetEntry", kiln_tf_pair, pair_fields);

static const kiln_pb_field function_fields[] = {
    FLAT(1, "signature", signature_message),
    SUBS(3, kiln_tf_function, node, node_message),
    SUBS(4, kiln_tf_function, ret, pair_message),
};
static const kiln_pb_message function_message =
    MESSAGE("FunctionDef", kiln_tf_function, function_fields);

static const kiln_pb_field library_fields[] = {
    SUBS(1, kiln_tf_graph, function, function_message),
};
static const kiln_pb_message library_message =
    MESSAGE("FunctionDefLibrary", kiln_tf_graph, library_fields);

static const kiln_pb_field versions_fields[] = {
    FIELD(1, kiln_tf_graph, producer, KILN_PB_I64),
};
static const kiln_pb_message versions_message =
    MESSAGE("VersionDef", kiln_tf_graph, versions_fields);

static const kiln_pb_field graph_fields[] = {
    SUBS(1, kiln_tf_graph, node, node_message),
    FLAT(2, "library", library_message),
    FLAT(4, "versions", versions_message),
};
static const kiln_pb_message graph_message =
    MESSAGE("GraphDef", kiln_tf_graph, graph_fields);

/* ---- saved models --- */

/* Of which is known only that it is there. */
static const kiln_pb_message nothing_message = {.name = "CooSparse",
                                                .size = sizeof(kiln_tf_tensor_info)};

static const kiln_pb_field info_fields[] = {
    FIELD(1, kiln_tf_tensor_info, name, KILN_PB_BYTES),
    FLAT_HAS(4, "coo_sparse", kiln_tf_tensor_info, is_sparse, nothing_message),
};
static const kiln_pb_message info_message =
    MESSAGE("TensorInfo", kiln_tf_tensor_info, info_fields);

static const kiln_pb_field info_entry_fields[] = {
    FIELD(1, kiln_tf_tensor_info, key, KILN_PB_BYTES),
    FLAT(2, "value", info_message),
};
static const kiln_pb_message info_entry_message =
    MESSAGE("SignatureDef.Entry", kiln_tf_tensor_info, info_entry_fields);

static const kiln_pb_field def_fields[] = {
    SUBS(1, kiln_tf_signature, input, info_entry_message),
    SUBS(2, kiln_tf_signature, output, info_entry_message),
};
static const kiln_pb_message def_message =
    MESSAGE("SignatureDef", kiln_tf_signature, def_fields);

static const kiln_pb_field def_entry_fields[] = {
    FIELD(1, kiln_tf_signature, key, KILN_PB_BYTES),
    FLAT(2, "value", def_message),
};
static const kiln_pb_message def_entry_message =
    MESSAGE("MetaGraphDef.SignatureDefEntry", kiln_tf_signature, def_entry_fields);

static const kiln_pb_field meta_info_fields[] = {
    LIST(4, kiln_tf_meta, tag, KILN_PB_BYTES),
    FIELD(5, kiln_tf_meta, version, KILN_PB_BYTES),
};
static const kiln_pb_message meta_info_message =
    MESSAGE("MetaInfoDef", kiln_tf_meta, meta_info_fields);

static const kiln_pb_field meta_fields[] = {
    FLAT(1, "meta_info_def", meta_info_message),
    SUB(2, kiln_tf_meta, graph, graph_message),
    SUBS(5, kiln_tf_meta, signature, def_entry_message),
};
static const kiln_pb_message meta_message =
    MESSAGE("MetaGraphDef", kiln_tf_meta, meta_fields);

static const kiln_pb_field saved_fields[] = {
    FIELD(1, kiln_tf_saved, version, KILN_PB_I64),
    SUBS(2, kiln_tf_saved, meta, meta_message),
};
static const kiln_pb_message saved_message =
    MESSAGE("SavedModel", kiln_tf_saved, saved_fields);

/* ---- reading --------------------------------------------------------------------- */

static bool is_control(kiln_str input) { return input.n > 0 && input.p[0] == '^'; }

/* Operands come before what only decides the order. */
static kiln_status count_inputs(kiln_arena *a, kiln_tf_node *node, size_t n,
                                kiln_err *err) {
    enum { SHOWN_BYTES = 120, MAX_INPUTS = 1 << 20 };
    for (size_t i = 0; i < n; i++) {
        kiln_tf_node *const at = &node[i];
        size_t k = 0;
        at->label = at->name;
        while (k < at->n_input && !is_control(at->input[k]))
            k++;
        at->n_in = (int)(k < MAX_INPUTS ? k : MAX_INPUTS);
        bool is_mixed = k > MAX_INPUTS;
        for (; k < at->n_input; k++)
            is_mixed = is_mixed || !is_control(at->input[k]);
        if (is_mixed)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "node '%s' must list its operands, at most %d, before its "
                             "control inputs",
                             kiln_str_printable(a, at->name, SHOWN_BYTES), MAX_INPUTS);
    }
    return KILN_OK;
}

static kiln_status finish_graph(kiln_arena *a, kiln_tf_graph *g, kiln_err *err) {
    if (g->n_node == 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "GraphDef has no nodes; is this a TensorFlow graph?");
    KILN_TRY(count_inputs(a, g->node, g->n_node, err));
    for (size_t i = 0; i < g->n_function; i++)
        KILN_TRY(count_inputs(a, g->function[i].node, g->function[i].n_node, err));
    return KILN_OK;
}

kiln_status kiln_tf_decode_graph(kiln_arena *a, kiln_str bytes, kiln_tf_graph *out,
                                 kiln_err *err) {
    kiln_tf_graph g;
    KILN_TRY(kiln_pb_read(a, &graph_message, bytes, &g, err));
    KILN_TRY(finish_graph(a, &g, err));
    *out = g;
    return KILN_OK;
}

kiln_status kiln_tf_decode_saved(kiln_arena *a, kiln_str bytes, kiln_tf_saved *out,
                                 kiln_err *err) {
    kiln_tf_saved s;
    KILN_TRY(kiln_pb_read(a, &saved_message, bytes, &s, err));
    for (size_t i = 0; i < s.n_meta; i++)
        if (s.meta[i].graph != NULL)
            KILN_TRY(finish_graph(a, s.meta[i].graph, err));
    *out = s;
    return KILN_OK;
}

/* The node's name and operator stand in front, as every writer puts them. */
static bool is_node(kiln_str bytes) {
    kiln_pb_wire w;
    if (!kiln_pb_next(&bytes, &w) || w.number != 1 || w.type != 2 ||
        !kiln_utf8_valid(w.bytes))
        return false;
    return kiln_pb_next(&bytes, &w) && w.number == 2 && w.type == 2 && w.bytes.n > 0 &&
           w.bytes.p[0] >= 'A' && w.bytes.p[0] <= 'z' && kiln_utf8_valid(w.bytes);
}

/* Nodes, then at most a library (2), a version (3) and versions (4). */
bool kiln_tf_sniff_graph(kiln_str bytes) {
    kiln_pb_wire w;
    bool has_node = false;
    while (kiln_pb_next(&bytes, &w)) {
        if (w.number == 1 && w.type == 2 && !has_node) {
            if (!is_node(w.bytes))
                return false;
            has_node = true;
        } else if (!(w.number == 1 && w.type == 2) && !(w.number == 2 && w.type == 2) &&
                   !(w.number == 3 && w.type == 0) && !(w.number == 4 && w.type == 2)) {
            return false;
        }
    }
    return bytes.n == 0 && has_node;
}

/* schema_version, then graphs with what they are for; nothing else. */
bool kiln_tf_sniff_saved(kiln_str bytes) {
    kiln_pb_wire w, meta;
    kiln_str rest;
    bool has_version = false, has_graph = false;
    while (kiln_pb_next(&bytes, &w)) {
        rest = w.bytes;
        if (w.number == 1 && w.type == 0 && w.value == 1)
            has_version = true;
        else if (w.number == 2 && w.type == 2 && kiln_pb_next(&rest, &meta) &&
                 meta.number <= 2 && meta.type == 2)
            has_graph = true;
        else
            return false;
    }
    return bytes.n == 0 && has_version && has_graph;
}
