/* Caffe's net and layers as tables, for both of protobuf's formats, and how their files
 * are known. Source: caffe.proto of BVLC Caffe 1.0. */
#include "compiler/frontend/caffe/caffe_tables.h"
#include "compiler/frontend/frontend_inputs.h"

#include <string.h>

typedef kiln_caffe_layer layer;

/* Parameters all lie in layer.p. */
#define PARAMS(number, name)                                                           \
    {                                                                                  \
        number, KILN_PB_INLINE, false, #name "_param", offsetof(layer, p),             \
            offsetof(layer, has_params) + KILN_CAFFE_HAS_##name,                       \
            &kiln_caffe_##name##_param                                                 \
    }

/* ---- layers ---------------------------------------------------------------------- */

static const kiln_pb_field phase_value_fields[] = {VALUE(0, "TRAIN"), VALUE(1, "TEST")};
static const kiln_pb_message phase_values = VALUES("Phase", phase_value_fields);

static const kiln_pb_field rule_fields[] = {
    ENUM_HAS(1, kiln_caffe_rule, phase, phase_values),
    FIELD_GIVEN(2, kiln_caffe_rule, min_level, KILN_PB_I64),
    FIELD_GIVEN(3, kiln_caffe_rule, max_level, KILN_PB_I64),
    LIST(4, kiln_caffe_rule, stage, KILN_PB_BYTES),
    LIST(5, kiln_caffe_rule, not_stage, KILN_PB_BYTES),
};
static const kiln_pb_message rule_message =
    MESSAGE("NetStateRule", kiln_caffe_rule, rule_fields);

static const kiln_pb_field layer_fields[] = {
    FIELD(1, layer, name, KILN_PB_BYTES),
    FIELD(2, layer, type, KILN_PB_BYTES),
    LIST(3, layer, bottom, KILN_PB_BYTES),
    LIST(4, layer, top, KILN_PB_BYTES),
    IGNORED(5, layer, "loss_weight"),
    IGNORED(6, layer, "param"),
    SUBS(8, layer, include, rule_message),
    SUBS(9, layer, exclude, rule_message),
    ENUM_HAS(10, layer, phase, phase_values),
    IGNORED(11, layer, "propagate_down"),
    IGNORED(100, layer, "transform_param"),
    IGNORED(101, layer, "loss_param"),
    IGNORED(102, layer, "accuracy_param"),
#define KILN_CAFFE_PARAM(number, old, name) PARAMS(number, name),
#define KILN_CAFFE_NEW_PARAM(number, name) PARAMS(number, name),
#include "compiler/frontend/caffe/caffe_params.def"
#undef KILN_CAFFE_NEW_PARAM
#undef KILN_CAFFE_PARAM
    {0, KILN_PB_COUNT, true, "*_param", offsetof(layer, n_other), KILN_PB_NONE, NULL},
};
static const kiln_pb_message layer_message =
    MESSAGE("LayerParameter", layer, layer_fields);

/* Types of V1 by number: what they are called there, and now. */
static const struct {
    uint32_t number;
    const char *then, *now;
} old_types[] = {
#define KILN_CAFFE_OLD(number, then, now) {number, #then, now},
#include "compiler/frontend/caffe/caffe_old_types.def"
#undef KILN_CAFFE_OLD
};

static const kiln_pb_field old_type_fields[] = {
#define KILN_CAFFE_OLD(number, then, now) VALUE(number, #then),
#include "compiler/frontend/caffe/caffe_old_types.def"
#undef KILN_CAFFE_OLD
};
static const kiln_pb_message old_type_values = VALUES("LayerType", old_type_fields);

static const kiln_pb_field old_layer_fields[] = {
    LIST(2, layer, bottom, KILN_PB_BYTES),
    LIST(3, layer, top, KILN_PB_BYTES),
    FIELD(4, layer, name, KILN_PB_BYTES),
    {5, KILN_PB_I64, false, "type", offsetof(layer, v1_type), KILN_PB_NONE,
     &old_type_values},
    IGNORED(7, layer, "blobs_lr"),
    IGNORED(8, layer, "weight_decay"),
    IGNORED(1001, layer, "param"),
    IGNORED(1002, layer, "blob_share_mode"),
    SUBS(32, layer, include, rule_message),
    SUBS(33, layer, exclude, rule_message),
    IGNORED(35, layer, "loss_weight"),
    IGNORED(36, layer, "transform_param"),
    IGNORED(42, layer, "loss_param"),
    IGNORED(27, layer, "accuracy_param"),
#define KILN_CAFFE_PARAM(number, old, name) PARAMS(old, name),
#define KILN_CAFFE_NEW_PARAM(number, name)
#include "compiler/frontend/caffe/caffe_params.def"
#undef KILN_CAFFE_NEW_PARAM
#undef KILN_CAFFE_PARAM
    {0, KILN_PB_COUNT, true, "*_param", offsetof(layer, n_other), KILN_PB_NONE, NULL},
};
static const kiln_pb_message old_layer_message =
    MESSAGE("V1LayerParameter", layer, old_layer_fields);

static const kiln_pb_field net_fields[] = {
    FIELD(1, kiln_caffe_net, name, KILN_PB_BYTES),
    SUBS(2, kiln_caffe_net, layers, old_layer_message),
    LIST(3, kiln_caffe_net, input, KILN_PB_BYTES),
    LIST(4, kiln_caffe_net, input_dim, KILN_PB_I64),
    IGNORED(5, kiln_caffe_net, "force_backward"),
    IGNORED(6, kiln_caffe_net, "state"),
    IGNORED(7, kiln_caffe_net, "debug_info"),
    SUBS(8, kiln_caffe_net, input_shape, kiln_caffe_shape_message),
    SUBS(100, kiln_caffe_net, layer, layer_message),
};
static const kiln_pb_message net_message =
    MESSAGE("NetParameter", kiln_caffe_net, net_fields);

/* ---- weights --------------------------------------------------------------------- */

static const kiln_pb_field blob_fields[] = {
    FIELD(1, kiln_caffe_blob, num, KILN_PB_I64),
    FIELD(2, kiln_caffe_blob, channels, KILN_PB_I64),
    FIELD(3, kiln_caffe_blob, height, KILN_PB_I64),
    FIELD(4, kiln_caffe_blob, width, KILN_PB_I64),
    FIELD(5, kiln_caffe_blob, data, KILN_PB_BYTES),
    SUB(7, kiln_caffe_blob, shape, kiln_caffe_shape_message),
    FIELD(8, kiln_caffe_blob, double_data, KILN_PB_BYTES),
};
static const kiln_pb_message blob_message =
    MESSAGE("BlobProto", kiln_caffe_blob, blob_fields);

static const kiln_pb_field weights_fields[] = {
    FIELD(1, layer, name, KILN_PB_BYTES),
    FIELD(2, layer, type, KILN_PB_BYTES),
    SUBS(7, layer, blobs, blob_message),
};
static const kiln_pb_message weights_message =
    MESSAGE("LayerParameter", layer, weights_fields);

static const kiln_pb_field old_weights_fields[] = {
    FIELD(4, layer, name, KILN_PB_BYTES),
    FIELD(5, layer, v1_type, KILN_PB_I64),
    SUBS(6, layer, blobs, blob_message),
};
static const kiln_pb_message old_weights_message =
    MESSAGE("V1LayerParameter", layer, old_weights_fields);

static const kiln_pb_field weight_net_fields[] = {
    FIELD(1, kiln_caffe_net, name, KILN_PB_BYTES),
    SUBS(2, kiln_caffe_net, layers, old_weights_message),
    SUBS(100, kiln_caffe_net, layer, weights_message),
};
static const kiln_pb_message weight_net_message =
    MESSAGE("NetParameter", kiln_caffe_net, weight_net_fields);

/* ---- both ------------------------------------------------------------------------ */

static kiln_str new_type(int64_t old) {
    for (size_t i = 0; i < sizeof old_types / sizeof old_types[0]; i++)
        if (old_types[i].number == old)
            return kiln_str_from(old_types[i].now);
    return KILN_STR_LIT("a type of no name");
}

/* Layers of old become layers. */
static kiln_status settle(kiln_caffe_net *net, kiln_err *err) {
    if (net->n_layers > 0 && net->n_layer > 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "NetParameter has both 'layer' and 'layers'; upgrade it with "
                         "upgrade_net_proto_text or upgrade_net_proto_binary");
    for (size_t i = 0; i < net->n_layers; i++)
        net->layers[i].type = new_type(net->layers[i].v1_type);
    if (net->n_layers > 0) {
        net->layer = net->layers;
        net->n_layer = net->n_layers;
    }
    for (size_t i = 0; i < net->n_layer; i++)
        net->layer[i].index = i;
    return KILN_OK;
}

kiln_status kiln_caffe_decode_text(kiln_arena *a, kiln_str text, const char *file,
                                   kiln_caffe_net *out, kiln_err *err) {
    KILN_TRY(kiln_pb_read_text(a, &net_message, text, file, out, err));
    return settle(out, err);
}

kiln_status kiln_caffe_decode_weights(kiln_arena *a, kiln_str bytes,
                                      kiln_caffe_net *out, kiln_err *err) {
    KILN_TRY(kiln_pb_read(a, &weight_net_message, bytes, out, err));
    return settle(out, err);
}

/* ---- which file it is ------------------------------------------------------------ */

/* "layer {", with whatever blanks. */
static bool has_layer(kiln_str text) {
    static const char word[] = "layer";
    while (text.n >= sizeof word) {
        const char *const at = memchr(text.p, word[0], text.n);
        if (at == NULL)
            return false;
        text = (kiln_str){at + 1, (size_t)(text.p + text.n - at) - 1};
        kiln_str rest = {at, text.n + 1};
        if (!kiln_text_skip(&rest, word))
            continue;
        (void)kiln_text_skip(&rest, "s");
        while (kiln_text_skip(&rest, " ") || kiln_text_skip(&rest, "\t") ||
               kiln_text_skip(&rest, "\r") || kiln_text_skip(&rest, "\n"))
            continue;
        if (rest.n > 0 && rest.p[0] == '{')
            return true;
    }
    return false;
}

bool kiln_caffe_is_text(kiln_str bytes) {
    enum { HEAD_BYTES = 64 * 1024 };
    const kiln_str head = {bytes.p, bytes.n < HEAD_BYTES ? bytes.n : HEAD_BYTES};
    return head.n > 0 && memchr(head.p, '\0', head.n) == NULL && has_layer(head) &&
           (kiln_import_holds(head, "top") || kiln_import_holds(head, "bottom"));
}

/* Does a layer begin as one of its version does? */
static bool is_layer(kiln_str bytes, bool is_old) {
    bool has_name = false, has_type = false;
    kiln_pb_wire w;
    while (kiln_pb_next(&bytes, &w)) {
        has_name = has_name || (w.number == (is_old ? 4u : 1u) && w.type == 2 &&
                                kiln_utf8_valid(w.bytes));
        has_type = has_type || (is_old ? w.number == 5 && w.type == 0
                                       : w.number == 2 && w.type == 2);
    }
    return bytes.n == 0 && has_name && (is_old || has_type);
}

bool kiln_caffe_is_weights(kiln_str bytes) {
    size_t n_layers = 0;
    kiln_pb_wire w;
    while (kiln_pb_next(&bytes, &w)) {
        if (w.number > 8 && w.number != 100)
            return false;
        if (w.number == 1 && (w.type != 2 || !kiln_utf8_valid(w.bytes)))
            return false;
        if (w.number != 2 && w.number != 100)
            continue;
        if (w.type != 2 || (n_layers == 0 && !is_layer(w.bytes, w.number == 2)))
            return false;
        n_layers++;
    }
    return bytes.n == 0 && n_layers > 0;
}
