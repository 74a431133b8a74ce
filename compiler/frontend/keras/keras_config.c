/* What layers' configs say, by names of Keras 2 and 3 and those of Keras 1. */
#include "compiler/frontend/keras/keras_internal.h"

#include <string.h>

const kiln_json *kiln_keras_layers(const kiln_json *config) {
    return kiln_json_is_array(config) ? config : kiln_json_get(config, "layers");
}

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

const char *kiln_keras_snake_case(kiln_arena *a, const char *name) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    for (size_t i = 0; name[i] != '\0'; i++) {
        const bool begins_word = i > 0 && is_upper(name[i]) &&
                                 (is_lower(name[i + 1]) || is_lower(name[i - 1]));
        const char c = is_upper(name[i]) ? (char)(name[i] - 'A' + 'a') : name[i];
        if (begins_word)
            kiln_buf_puts(&b, "_");
        kiln_buf_add(&b, &c, 1);
    }
    return b.n > 0 ? b.p : "";
}

static const char before_function[] = "keras.ops.";

bool kiln_keras_is_of_ops(const char *class_name) {
    return strncmp(class_name, before_function, sizeof before_function - 1) == 0;
}

/* Functions of keras.ops have classes that are called as layers are; those that mean
 * what the layer does, and those that take numbers in place of tensors. */
static bool is_as_layer(const char *class_name) {
    static const char *const names[] = {
        "Add",       "Subtract",     "Multiply",  "Maximum",     "Minimum",
        "Divide",    "TrueDivide",   "Power",     "Equal",       "NotEqual",
        "Greater",   "GreaterEqual", "Less",      "LessEqual",   "LogicalAnd",
        "LogicalOr", "LogicalXor",   "Where",     "Mod",         "FloorDivide",
        "Fmod",      "Fmax",         "Fmin",      "Arctan2",     "Hypot",
        "Logaddexp", "Logaddexp2",   "Heaviside", "DivideNoNan", "BitwiseAnd",
        "BitwiseOr", "BitwiseXor"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(class_name, names[i]) == 0)
            return true;
    return false;
}

/* .h5 does not say the module; layers of Keras 3 say whether they are trained. */
static bool is_function(const kiln_json *layer) {
    const kiln_json *const node =
        kiln_json_first(kiln_json_get(layer, "inbound_nodes"));
    const kiln_json *const config = kiln_json_get(layer, "config");
    const char *const module = kiln_json_string(kiln_json_get(layer, "module"), "");
    if (module[0] == '\0')
        return kiln_json_is_array(kiln_json_get(node, "args")) &&
               kiln_json_get(config, "trainable") == NULL &&
               !kiln_json_is_object(kiln_json_get(config, "dtype"));
    return strncmp(module, "keras.src.ops", 13) == 0 ||
           strncmp(module, "keras.ops", 9) == 0;
}

/* The layers of Keras 2 that are functions of TensorFlow: "tf." and which. */
static const char *lambda_of(kiln_arena *a, const char *class_name,
                             const kiln_json *config) {
    const char *const function =
        kiln_json_string(kiln_json_get(config, "function"), "");
    return strcmp(class_name, "TFOpLambda") == 0 ||
                   strcmp(class_name, "SlicingOpLambda") == 0
               ? kiln_format(a, "tf.%s", function)
               : NULL;
}

kiln_status kiln_keras_read_layer(kiln_arena *a, const kiln_json *j,
                                  kiln_keras_layer *out, kiln_err *err) {
    const kiln_json *const config = kiln_json_get(j, "config");
    const char *const class_name =
        kiln_json_string(kiln_json_get(j, "class_name"), NULL);
    const char *name = kiln_json_string(kiln_json_get(j, "name"), NULL);
    if (name == NULL)
        name = kiln_json_string(kiln_json_get(config, "name"), class_name);
    if (class_name == NULL ||
        (!kiln_json_is_object(config) && !kiln_json_is_array(config)))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "a layer must have 'class_name' and 'config'; is the file "
                         "damaged?");
    out->name = kiln_str_dup(a, name);
    out->is_function = is_function(j);
    out->class_name = out->is_function && !is_as_layer(class_name)
                          ? kiln_format(a, "%s%s", before_function, class_name)
                          : class_name;
    const char *const lambda = lambda_of(a, class_name, config);
    out->is_lambda = lambda != NULL;
    if (out->is_lambda) {
        out->is_function = true;
        out->class_name = lambda;
    }
    out->config = config;
    out->nodes = kiln_json_get(j, "inbound_nodes");
    return KILN_OK;
}

kiln_status kiln_keras_inner_layer(kiln_keras_call *k, kiln_keras_layer *out) {
    *out = (kiln_keras_layer){.name = ""};
    const kiln_json *const j = kiln_keras_get(k, "layer", NULL);
    if (j == NULL)
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                         "'layer' must hold the layer that it wraps");
    return kiln_keras_read_layer(&k->cx->common.scratch, j, out, k->cx->common.err);
}

const kiln_json *kiln_keras_get(const kiln_keras_call *k, const char *name,
                                const char *old) {
    const kiln_json *v = kiln_json_get(k->layer->config, name);
    if (v == NULL && old != NULL)
        v = kiln_json_get(k->layer->config, old);
    return kiln_json_is_null(v) ? NULL : v;
}

bool kiln_keras_bool(const kiln_keras_call *k, const char *name, bool otherwise) {
    return kiln_json_bool(kiln_keras_get(k, name, NULL), otherwise);
}

/* Keras also writes a number as {"class_name": "__numpy__", "config": {"value": v}}, or
 * as a list of one. */
double kiln_keras_number(const kiln_keras_call *k, const char *name, double otherwise) {
    const kiln_json *v = kiln_keras_get(k, name, NULL);
    if (kiln_json_is_object(v)) {
        const kiln_json *const plain = kiln_json_get(v, "value");
        v = plain != NULL ? plain : kiln_json_get(kiln_json_get(v, "config"), "value");
    }
    return kiln_json_number(v, otherwise);
}

const char *kiln_keras_text(const kiln_keras_call *k, const char *name, const char *old,
                            const char *otherwise) {
    return kiln_json_string(kiln_keras_get(k, name, old), otherwise);
}

static kiln_status refuse_int(kiln_keras_call *k, const char *name, int n) {
    return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                     n == 1 ? "'%s' must be an integer"
                            : "'%s' must be an integer or a list of %d",
                     name, n);
}

kiln_status kiln_keras_int(kiln_keras_call *k, const char *name, const char *old,
                           int64_t otherwise, int64_t *out) {
    return kiln_keras_ints(k, name, old, otherwise, 1, out);
}

kiln_status kiln_keras_ints(kiln_keras_call *k, const char *name, const char *old,
                            int64_t otherwise, int n, int64_t *out) {
    const kiln_json *const v = kiln_keras_get(k, name, old);
    int64_t one = otherwise;
    if (kiln_json_is_array(v)) {
        const kiln_json *j = kiln_json_first(v);
        for (int i = 0; i < n; i++, j = kiln_json_next(j))
            if (j == NULL || !kiln_json_i64(j, &out[i]))
                return refuse_int(k, name, n);
        return j == NULL ? KILN_OK : refuse_int(k, name, n);
    }
    if (v != NULL && !kiln_json_i64(v, &one))
        return refuse_int(k, name, n);
    for (int i = 0; i < n; i++)
        out[i] = one;
    return KILN_OK;
}

kiln_status kiln_keras_check_format(kiln_keras_call *k) {
    const char *const format =
        kiln_keras_text(k, "data_format", "dim_ordering", "channels_last");
    if (strcmp(format, "channels_first") != 0 && strcmp(format, "th") != 0)
        return KILN_OK;
    return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                     "data_format 'channels_first' is not read; save the model with "
                     "channels last, or export it as ONNX");
}

kiln_status kiln_keras_min_rank(kiln_keras_call *k, int rank) {
    const kiln_type *const t = &k->in[0]->type;
    if (t->rank >= rank)
        return KILN_OK;
    return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                     "its input must have at least %d axes, is %s", rank,
                     kiln_type_text(&k->cx->common.scratch, t));
}
