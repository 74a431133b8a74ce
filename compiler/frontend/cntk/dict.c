/* The file's messages as tables for the protobuf reader, and its dictionaries. Source:
 * CNTK.proto and Serialization.cpp of CNTK 2.7. */
#include "compiler/frontend/cntk/cntk_internal.h"

#include "compiler/frontend/protobuf_table.h"

static const kiln_pb_field shape_fields[] = {
    LIST(1, kiln_cntk_shape, dim, KILN_PB_U64),
};
static const kiln_pb_message shape_message =
    MESSAGE("NDShape", kiln_cntk_shape, shape_fields);

static const kiln_pb_field axis_fields[] = {
    FIELD(1, kiln_cntk_axis, index, KILN_PB_I32),
    FIELD(2, kiln_cntk_axis, name, KILN_PB_BYTES),
};
static const kiln_pb_message axis_message =
    MESSAGE("Axis", kiln_cntk_axis, axis_fields);

/* Numbers are packed on the wire, so that they are bytes here, wherever they lie. */
static const kiln_pb_field float_fields[] = {
    FIELD(1, kiln_cntk_array, f32, KILN_PB_BYTES),
};
static const kiln_pb_message float_message =
    MESSAGE("NDArrayView.FloatValues", kiln_cntk_array, float_fields);
static const kiln_pb_field double_fields[] = {
    FIELD(1, kiln_cntk_array, f64, KILN_PB_BYTES),
};
static const kiln_pb_message double_message =
    MESSAGE("NDArrayView.DoubleValues", kiln_cntk_array, double_fields);
static const kiln_pb_field bytes_fields[] = {
    FIELD(1, kiln_cntk_array, bytes, KILN_PB_BYTES),
};
static const kiln_pb_message bytes_message =
    MESSAGE("NDArrayView.BytesValue", kiln_cntk_array, bytes_fields);

static const kiln_pb_field array_fields[] = {
    FIELD(1, kiln_cntk_array, dtype, KILN_PB_I64),
    FIELD(2, kiln_cntk_array, storage, KILN_PB_I64),
    SUB(3, kiln_cntk_array, shape, shape_message),
    FLAT(4, "float_values", float_message),
    FLAT(5, "double_values", double_message),
    FLAT(6, "bytes_value", bytes_message),
};
static const kiln_pb_message array_message =
    MESSAGE("NDArrayView", kiln_cntk_array, array_fields);

static const kiln_pb_message dict_message, vector_message;

static const kiln_pb_field item_fields[] = {
    FIELD(2, kiln_cntk_item, kind, KILN_PB_I64),
    FIELD(3, kiln_cntk_item, flag, KILN_PB_BOOL),
    FIELD(4, kiln_cntk_item, i, KILN_PB_I32),
    FIELD(5, kiln_cntk_item, size, KILN_PB_U64),
    FIELD(6, kiln_cntk_item, f, KILN_PB_F32),
    FIELD(7, kiln_cntk_item, d, KILN_PB_F64),
    FIELD(8, kiln_cntk_item, text, KILN_PB_BYTES),
    SUB(9, kiln_cntk_item, shape, shape_message),
    SUB(10, kiln_cntk_item, axis, axis_message),
    SUB(11, kiln_cntk_item, vector, vector_message),
    SUB(12, kiln_cntk_item, dict, dict_message),
    SUB(13, kiln_cntk_item, array, array_message),
};
static const kiln_pb_message item_message =
    MESSAGE("DictionaryValue", kiln_cntk_item, item_fields);

static const kiln_pb_field vector_fields[] = {
    SUBS(1, kiln_cntk_vector, item, item_message),
};
static const kiln_pb_message vector_message =
    MESSAGE("Vector", kiln_cntk_vector, vector_fields);

static const kiln_pb_field entry_fields[] = {
    FIELD(1, kiln_cntk_entry, key, KILN_PB_BYTES),
    SUB(2, kiln_cntk_entry, value, item_message),
};
static const kiln_pb_message entry_message =
    MESSAGE("Dictionary.DataEntry", kiln_cntk_entry, entry_fields);

static const kiln_pb_field dict_fields[] = {
    SUBS(2, kiln_cntk_dict, entry, entry_message),
};
static const kiln_pb_message dict_message =
    MESSAGE("Dictionary", kiln_cntk_dict, dict_fields);

/* ---- whole files ----------------------------------------------------------------- */

/* Past 2 GB a file begins so: then a size, the dictionary, and behind it all numbers. */
static bool is_in_parts(kiln_str bytes) {
    return bytes.n >= 8 && kiln_str_starts(bytes, "ktnc");
}

/* Fields are a version and entries; one of them has the functions. */
bool kiln_cntk_is_model(kiln_str bytes) {
    kiln_pb_wire w, key;
    bool has_functions = false;
    if (is_in_parts(bytes))
        return true;
    for (kiln_str rest = bytes; rest.n > 0;) {
        if (!kiln_pb_next(&rest, &w))
            return false;
        if (w.number == 1 && w.type == 0)
            continue;
        if (w.number != 2 || w.type != 2)
            return false;
        kiln_str inside = w.bytes;
        if (!kiln_pb_next(&inside, &key) || key.number != 1 || key.type != 2)
            return false;
        has_functions = has_functions || kiln_str_is(key.bytes, "primitive_functions");
    }
    return has_functions;
}

kiln_status kiln_cntk_read_dict(kiln_arena *a, kiln_str bytes, kiln_cntk_dict *out,
                                kiln_err *err) {
    if (is_in_parts(bytes))
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "models of 2 GB and more, whose numbers lie behind their "
                         "dictionary, are not read; save it by CNTK as ONNX: "
                         "model.save('model.onnx', format=ModelFormat.ONNX)");
    return kiln_pb_read(a, &dict_message, bytes, out, err);
}

const kiln_cntk_item *kiln_cntk_get(const kiln_cntk_dict *d, const char *key) {
    for (size_t i = 0; d != NULL && i < d->n_entry; i++)
        if (kiln_str_is(d->entry[i].key, key))
            return d->entry[i].value;
    return NULL;
}

static bool is_whole(const kiln_cntk_item *v) {
    return (v->kind != KILN_CNTK_SHAPE || v->shape != NULL) &&
           (v->kind != KILN_CNTK_AXIS || v->axis != NULL) &&
           (v->kind != KILN_CNTK_VECTOR || v->vector != NULL) &&
           (v->kind != KILN_CNTK_DICT || v->dict != NULL) &&
           (v->kind != KILN_CNTK_ARRAY || v->array != NULL);
}

const kiln_cntk_item *kiln_cntk_get_kind(const kiln_cntk_dict *d, const char *key,
                                         kiln_cntk_kind kind) {
    const kiln_cntk_item *const v = kiln_cntk_get(d, key);
    return v != NULL && v->kind == (int64_t)kind && is_whole(v) ? v : NULL;
}

kiln_str kiln_cntk_get_text(const kiln_cntk_dict *d, const char *key) {
    const kiln_cntk_item *const v = kiln_cntk_get_kind(d, key, KILN_CNTK_STRING);
    return v != NULL ? v->text : (kiln_str){"", 0};
}
