/* The Core ML file as tables for the protobuf reader, but for what single layers hold.
 * Source: Model.proto, FeatureTypes.proto and NeuralNetwork.proto, specification
 * versions 1 to 9. */
#include "compiler/frontend/coreml/coreml_internal.h"

#include "compiler/frontend/protobuf_table.h"

#include <inttypes.h>

/* ---- inputs and outputs ---------------------------------------------------------- */

static const kiln_pb_field range_fields[] = {
    FIELD(1, kiln_coreml_range, lower, KILN_PB_I64),
    FIELD(2, kiln_coreml_range, upper, KILN_PB_I64),
};
static const kiln_pb_message range_message =
    MESSAGE("SizeRange", kiln_coreml_range, range_fields);

static const kiln_pb_field size_fields[] = {
    FIELD(1, kiln_coreml_size, width, KILN_PB_I64),
    FIELD(2, kiln_coreml_size, height, KILN_PB_I64),
};
static const kiln_pb_message size_message =
    MESSAGE("ImageSize", kiln_coreml_size, size_fields);

static const kiln_pb_field sizes_fields[] = {
    SUBS(1, kiln_coreml_image, enumerated, size_message),
};
static const kiln_pb_message sizes_message =
    MESSAGE("EnumeratedImageSizes", kiln_coreml_image, sizes_fields);

static const kiln_pb_field size_range_fields[] = {
    SUB(1, kiln_coreml_image, width_range, range_message),
    SUB(2, kiln_coreml_image, height_range, range_message),
};
static const kiln_pb_message size_range_message =
    MESSAGE("ImageSizeRange", kiln_coreml_image, size_range_fields);

static const kiln_pb_field image_fields[] = {
    FIELD(1, kiln_coreml_image, width, KILN_PB_I64),
    FIELD(2, kiln_coreml_image, height, KILN_PB_I64),
    FIELD(3, kiln_coreml_image, color_space, KILN_PB_I64),
    FLAT(21, "enumeratedSizes", sizes_message),
    FLAT(31, "imageSizeRange", size_range_message),
};
static const kiln_pb_message image_message =
    MESSAGE("ImageFeatureType", kiln_coreml_image, image_fields);

static const kiln_pb_field shape_fields[] = {
    LIST(1, kiln_coreml_shape, dim, KILN_PB_I64),
};
static const kiln_pb_message shape_message =
    MESSAGE("Shape", kiln_coreml_shape, shape_fields);

static const kiln_pb_field shapes_fields[] = {
    SUBS(1, kiln_coreml_array, enumerated, shape_message),
};
static const kiln_pb_message shapes_message =
    MESSAGE("EnumeratedShapes", kiln_coreml_array, shapes_fields);

static const kiln_pb_field shape_range_fields[] = {
    SUBS(1, kiln_coreml_array, range, range_message),
};
static const kiln_pb_message shape_range_message =
    MESSAGE("ShapeRange", kiln_coreml_array, shape_range_fields);

static const kiln_pb_field array_fields[] = {
    LIST(1, kiln_coreml_array, dim, KILN_PB_I64),
    FIELD(2, kiln_coreml_array, data_type, KILN_PB_I64),
    FLAT(21, "enumeratedShapes", shapes_message),
    FLAT(31, "shapeRange", shape_range_message),
};
static const kiln_pb_message array_message =
    MESSAGE("ArrayFeatureType", kiln_coreml_array, array_fields);

const kiln_pb_message kiln_coreml_nothing_message = {
    "(empty)", sizeof(kiln_coreml_nothing), NULL, 0};
#define NOTHING kiln_coreml_nothing_message

static const kiln_pb_field type_fields[] = {
    SUB(1, kiln_coreml_feature, integer, NOTHING),
    SUB(2, kiln_coreml_feature, number, NOTHING),
    SUB(3, kiln_coreml_feature, text, NOTHING),
    SUB(4, kiln_coreml_feature, image, image_message),
    SUB(5, kiln_coreml_feature, array, array_message),
    SUB(6, kiln_coreml_feature, dictionary, NOTHING),
    SUB(7, kiln_coreml_feature, sequence, NOTHING),
};
static const kiln_pb_message type_message =
    MESSAGE("FeatureType", kiln_coreml_feature, type_fields);

static const kiln_pb_field feature_fields[] = {
    FIELD(1, kiln_coreml_feature, name, KILN_PB_BYTES),
    FLAT(3, "type", type_message),
};
static const kiln_pb_message feature_message =
    MESSAGE("FeatureDescription", kiln_coreml_feature, feature_fields);

static const kiln_pb_field pair_fields[] = {
    FIELD(1, kiln_coreml_pair, key, KILN_PB_BYTES),
    FIELD(2, kiln_coreml_pair, value, KILN_PB_BYTES),
};
static const kiln_pb_message pair_message =
    MESSAGE("UserDefinedEntry", kiln_coreml_pair, pair_fields);

static const kiln_pb_field metadata_fields[] = {
    SUBS(100, kiln_coreml_description, pair, pair_message),
};
static const kiln_pb_message metadata_message =
    MESSAGE("Metadata", kiln_coreml_description, metadata_fields);

static const kiln_pb_field description_fields[] = {
    SUBS(1, kiln_coreml_description, input, feature_message),
    SUBS(10, kiln_coreml_description, output, feature_message),
    FIELD(12, kiln_coreml_description, probabilities, KILN_PB_BYTES),
    FLAT(100, "metadata", metadata_message),
};
static const kiln_pb_message description_message =
    MESSAGE("ModelDescription", kiln_coreml_description, description_fields);

/* ---- networks -------------------------------------------------------------------- */

static const kiln_pb_field scaler_fields[] = {
    FIELD_HAS(10, kiln_coreml_scaler, scale, KILN_PB_F32, has_scale),
    FIELD(20, kiln_coreml_scaler, blue, KILN_PB_F32),
    FIELD(21, kiln_coreml_scaler, green, KILN_PB_F32),
    FIELD(22, kiln_coreml_scaler, red, KILN_PB_F32),
    FIELD(30, kiln_coreml_scaler, gray, KILN_PB_F32),
};
static const kiln_pb_message scaler_message =
    MESSAGE("NeuralNetworkImageScaler", kiln_coreml_scaler, scaler_fields);

static const kiln_pb_field mean_fields[] = {
    FIELD(1, kiln_coreml_mean, values, KILN_PB_BYTES),
};
static const kiln_pb_message mean_message =
    MESSAGE("NeuralNetworkMeanImage", kiln_coreml_mean, mean_fields);

static const kiln_pb_field preprocessing_fields[] = {
    FIELD(1, kiln_coreml_preprocessing, feature, KILN_PB_BYTES),
    SUB(10, kiln_coreml_preprocessing, scaler, scaler_message),
    SUB(11, kiln_coreml_preprocessing, mean, mean_message),
};
static const kiln_pb_message preprocessing_message = MESSAGE(
    "NeuralNetworkPreprocessing", kiln_coreml_preprocessing, preprocessing_fields);

/* NeuralNetwork; NeuralNetworkClassifier and -Regressor begin alike. */
static const kiln_pb_field network_fields[] = {
    LIST(1, kiln_coreml_network, bytes, KILN_PB_BYTES),
    SUBS(2, kiln_coreml_network, preprocessing, preprocessing_message),
    FIELD(5, kiln_coreml_network, array_mapping, KILN_PB_I64),
    FIELD(6, kiln_coreml_network, image_mapping, KILN_PB_I64),
    FIELD(200, kiln_coreml_network, probabilities, KILN_PB_BYTES),
};
static const kiln_pb_message network_message =
    MESSAGE("NeuralNetwork", kiln_coreml_network, network_fields);

static const kiln_pb_field model_fields[] = {
    FIELD(1, kiln_coreml_model, version, KILN_PB_I64),
    SUB(2, kiln_coreml_model, description, description_message),
    SUB(303, kiln_coreml_model, network, network_message),
    SUB(403, kiln_coreml_model, network, network_message),
    SUB(500, kiln_coreml_model, network, network_message),
};
static const kiln_pb_message model_message =
    MESSAGE("Model", kiln_coreml_model, model_fields);

static const kiln_pb_field layer_fields[] = {
    FIELD(1, kiln_coreml_layer, name, KILN_PB_BYTES),
    LIST(2, kiln_coreml_layer, input, KILN_PB_BYTES),
    LIST(3, kiln_coreml_layer, output, KILN_PB_BYTES),
};
static const kiln_pb_message layer_message =
    MESSAGE("NeuralNetworkLayer", kiln_coreml_layer, layer_fields);

/* ---- reading --------------------------------------------------------------------- */

/* What kind a layer is, is the number of its last field from 100 on. */
static kiln_status decode_layer(kiln_arena *a, kiln_str bytes, size_t index,
                                kiln_coreml_layer *out, kiln_err *err) {
    enum { FIRST_KIND = 100 };
    kiln_pb_wire w;
    KILN_TRY(kiln_pb_read(a, &layer_message, bytes, out, err));
    out->index = index;
    while (kiln_pb_next(&bytes, &w))
        if (w.number >= FIRST_KIND && w.type == 2) {
            out->number = w.number;
            out->params = w.bytes;
        }
    return KILN_OK;
}

static kiln_status decode_layers(kiln_arena *a, kiln_coreml_network *n, kiln_err *err) {
    kiln_coreml_layer *const list = kiln_array(a, kiln_coreml_layer, n->n_bytes);
    for (size_t i = 0; i < n->n_bytes; i++) {
        const kiln_status st = decode_layer(a, n->bytes[i], i, &list[i], err);
        if (st != KILN_OK) {
            kiln_note(err, "reading layer #%zu", i);
            return st;
        }
    }
    n->layers = list;
    return KILN_OK;
}

/* What a file without a network is. */
static kiln_status refuse_kind(kiln_str bytes, kiln_err *err) {
    enum { FIRST_KIND = 200 };
    static const struct {
        uint32_t number;
        const char *what, *way;
    } kinds[] = {
        {200, "a pipeline", "import the networks in it alone"},
        {201, "a pipeline", "import the networks in it alone"},
        {202, "a pipeline", "import the networks in it alone"},
        {502, "an ML program", "its format is 'mlprogram'"},
        {556, "a link to another model", "import that one"},
    };
    kiln_pb_wire w;
    while (kiln_pb_next(&bytes, &w)) {
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
            if (w.number == kinds[i].number)
                return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                                 "it must hold a neural network, is %s; %s",
                                 kinds[i].what, kinds[i].way);
        if (w.number >= FIRST_KIND)
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "it must hold a neural network, is a model of another "
                             "kind (field %" PRIu32 " of Model)",
                             w.number);
    }
    return kiln_fail(err, KILN_ERR_PARSE, "Model has no network; is it damaged?");
}

kiln_status kiln_coreml_decode(kiln_arena *a, kiln_str bytes, kiln_coreml_model *out,
                               kiln_err *err) {
    enum { EXACT = 1 };
    kiln_coreml_model m;
    KILN_TRY(kiln_pb_read(a, &model_message, bytes, &m, err));
    if (m.network == NULL)
        return refuse_kind(bytes, err);
    if (m.description == NULL)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "Model has no description; is it "
                         "damaged?");
    if (m.version < 1 || m.version > KILN_COREML_MAX_SPEC)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "specificationVersion must be 1 to %d, is %" PRId64,
                         KILN_COREML_MAX_SPEC, m.version);
    KILN_TRY(decode_layers(a, m.network, err));
    m.is_exact = m.network->array_mapping == EXACT;
    *out = m;
    return KILN_OK;
}

const char *kiln_coreml_producer(kiln_arena *a, const kiln_coreml_model *m) {
    enum { SHOWN_BYTES = 120 };
    const kiln_coreml_description *const d = m->description;
    for (size_t i = 0; i < d->n_pair; i++)
        if (kiln_str_is(d->pair[i].key, "com.github.apple.coremltools.version"))
            return kiln_format(a, "coremltools %s",
                               kiln_str_printable(a, d->pair[i].value, SHOWN_BYTES));
    return "";
}

/* specificationVersion, description, and the kind of model as a field from 200 on. */
bool kiln_coreml_sniff(kiln_str bytes) {
    enum { FIRST_KIND = 200, DESCRIPTION = 2 };
    bool is_first = true, has_kind = false, has_description = false;
    kiln_pb_wire w;
    while (kiln_pb_next(&bytes, &w)) {
        if (is_first && (w.number != 1 || w.type != 0))
            return false;
        is_first = false;
        has_description = has_description || (w.number == DESCRIPTION && w.type == 2);
        has_kind = has_kind || w.number >= FIRST_KIND;
    }
    return bytes.n == 0 && has_kind && has_description;
}
