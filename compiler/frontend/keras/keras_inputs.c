/* Inputs of a Keras model: InputLayers of a Functional one in the order of
 * input_layers; of a Sequential one its InputLayer, or what its first layer is built
 * for. */
#include "compiler/frontend/keras/keras_internal.h"

#include <string.h>

#include "compiler/frontend/frontend_inputs.h"

/* Words that Keras uses; other floats compute as f32. */
static kiln_dtype dtype_of(const kiln_json *v) {
    static const struct {
        const char *name;
        kiln_dtype dtype;
    } words[] = {{"int8", KILN_I8},   {"uint8", KILN_U8},  {"int16", KILN_I16},
                 {"int32", KILN_I32}, {"int64", KILN_I64}, {"bool", KILN_BOOL}};
    const char *const name = kiln_json_string(v, "float32");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(name, words[i].name) == 0)
            return words[i].dtype;
    return KILN_F32;
}

static void read_shape(const kiln_json *shape, kiln_declared_input *d) {
    d->rank = -1;
    if (!kiln_json_is_array(shape) || kiln_json_size(shape) > KILN_MAX_RANK)
        return;
    d->rank = 0;
    for (const kiln_json *j = kiln_json_first(shape); j != NULL;
         j = kiln_json_next(j)) {
        int64_t size = -1;
        if (!kiln_json_i64(j, &size) || size < 0)
            size = -1;
        d->dim[d->rank++] = size;
    }
}

/* The member that is there first. */
static const kiln_json *first_of(const kiln_json *config, const char *const *names) {
    const kiln_json *v = NULL;
    for (int i = 0; v == NULL && names[i] != NULL; i++) {
        v = kiln_json_get(config, names[i]);
        v = kiln_json_is_null(v) ? NULL : v;
    }
    return v;
}

static void declare(kiln_arena *a, const kiln_keras_layer *l, const kiln_json *shape,
                    const char *name, kiln_declared_input *d) {
    *d = (kiln_declared_input){.name = kiln_str_dup(a, name), .has_type = true};
    d->dtype = dtype_of(
        first_of(l->config, (const char *const[]){"dtype", "input_dtype", NULL}));
    read_shape(shape, d);
}

static const char *const shape_names[] = {"batch_shape", "batch_input_shape", NULL};

static kiln_status of_sequence(kiln_arena *a, const kiln_keras_layer *whole,
                               kiln_declared_input **out, size_t *n, kiln_err *err) {
    kiln_keras_layer first = {0};
    const kiln_json *config = whole->config;
    /* A model may come first in a model. */
    for (int depth = 0; depth < KILN_KERAS_MAX_DEPTH; depth++) {
        KILN_TRY(kiln_keras_read_layer(a, kiln_json_first(kiln_keras_layers(config)),
                                       &first, err));
        if (!kiln_keras_is_model(first.class_name))
            break;
        config = first.config;
    }
    const bool is_input = strcmp(first.class_name, "InputLayer") == 0;
    const kiln_json *shape = first_of(first.config, shape_names);
    if (shape == NULL)
        shape = kiln_json_get(whole->config, "build_input_shape");
    *n = 1;
    *out = kiln_array(a, kiln_declared_input, 1);
    declare(a, &first, shape,
            is_input ? first.name : kiln_format(a, "%s_input", first.name), *out);
    if (!is_input)
        (*out)->dtype = KILN_F32;
    return KILN_OK;
}

/* Names of input_layers: [["a", 0, 0], ...], or one alone without the list around. */
static kiln_status of_graph(kiln_arena *a, const kiln_keras_layer *whole,
                            kiln_declared_input **out, size_t *n, kiln_err *err) {
    const kiln_json *list = kiln_json_get(whole->config, "input_layers");
    const bool is_one = kiln_json_is_string(kiln_json_first(list));
    *n = is_one ? 1 : kiln_json_size(list);
    *out = kiln_array(a, kiln_declared_input, *n);
    const kiln_json *j = is_one ? list : kiln_json_first(list);
    for (size_t i = 0; i < *n; i++, j = kiln_json_next(j)) {
        const char *const name = kiln_json_string(kiln_json_first(j), NULL);
        kiln_keras_layer l = {0};
        bool is_found = false;
        for (const kiln_json *k = kiln_json_first(kiln_keras_layers(whole->config));
             k != NULL && name != NULL && !is_found; k = kiln_json_next(k)) {
            KILN_TRY(kiln_keras_read_layer(a, k, &l, err));
            is_found = strcmp(l.name, name) == 0;
        }
        if (!is_found)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "'input_layers' must name layers of the model, names '%s'",
                             kiln_str_printable(a, kiln_str_from(name), 60));
        declare(a, &l, first_of(l.config, shape_names), l.name, &(*out)[i]);
    }
    return KILN_OK;
}

kiln_status kiln_keras_declared(kiln_arena *a, const kiln_keras_file *f,
                                kiln_declared_input **out, size_t *n, kiln_err *err) {
    kiln_keras_layer whole = {0};
    KILN_TRY(kiln_keras_read_layer(a, f->model, &whole, err));
    return strcmp(whole.class_name, "Sequential") == 0
               ? of_sequence(a, &whole, out, n, err)
               : of_graph(a, &whole, out, n, err);
}

kiln_status kiln_keras_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                   kiln_declared_input **out, size_t *n,
                                   kiln_err *err) {
    kiln_keras_file f;
    (void)path;
    KILN_TRY(kiln_keras_open(a, bytes, &f, err));
    return kiln_keras_declared(a, &f, out, n, err);
}

/* ---- given ----------------------------------------------------------------------- */

kiln_status kiln_keras_bind_inputs(kiln_keras_cx *cx, kiln_value ***out, size_t *n) {
    kiln_declared_input *list = NULL;
    KILN_TRY(
        kiln_keras_declared(&cx->common.scratch, &cx->file, &list, n, cx->common.err));
    *out = kiln_array(&cx->common.scratch, kiln_value *, *n);
    return kiln_import_bind_inputs(&cx->common, cx->options, list, *n, false,
                                   cx->report, *out);
}
