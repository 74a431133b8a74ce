/* The two kinds of file that Keras writes: HDF5 with the model's JSON as an attribute,
 * and archives of JSON and an HDF5 file of weights. Source: keras.io, "Whole-model
 * saving & loading". */
#include "compiler/frontend/keras/keras_internal.h"

#include <string.h>

#define WEIGHTS_ENTRY "model.weights.h5"

static bool is_hdf5(kiln_str bytes) {
    return kiln_str_starts(bytes, "\x89HDF\r\n\x1a\n");
}

bool kiln_keras_sniff(kiln_str bytes) {
    return is_hdf5(bytes) || kiln_zip_has(bytes, WEIGHTS_ENTRY);
}

/* "2.10.0"; Keras 1 and files without a version are told by nothing else. */
static int major_of(const char *version) {
    return version[0] == '1' ? 1 : version[0] == '3' ? 3 : 2;
}

static int minor_of(const char *version) {
    kiln_str rest = kiln_str_from(version), part;
    int64_t v = 0;
    kiln_str_cut(&rest, '.', &part);
    kiln_str_cut(&rest, '.', &part);
    return kiln_parse_i64(part, &v) && v >= 0 && v <= INT32_MAX ? (int)v : 0;
}

kiln_status kiln_keras_parse(kiln_arena *a, kiln_str text, const char *name,
                             kiln_keras_file *out, kiln_err *err) {
    const kiln_json *j = NULL;
    KILN_TRY(kiln_json_parse(a, text, name, &j, err));
    const char *const class_name = kiln_json_string(kiln_json_get(j, "class_name"), "");
    if (!kiln_keras_is_model(class_name))
        return kiln_fail(
            err, KILN_ERR_UNSUPPORTED,
            "the model must be Sequential or Functional, is '%s': its code "
            "is not in the file; save it as a SavedModel, or export it as "
            "ONNX",
            kiln_str_printable(a, kiln_str_from(class_name), 60));
    out->model = j;
    return KILN_OK;
}

static kiln_status open_hdf5(kiln_arena *a, kiln_str bytes, kiln_keras_file *out,
                             kiln_err *err) {
    kiln_hdf5 *h = NULL;
    kiln_str text, version;
    KILN_TRY(kiln_hdf5_open(a, bytes, &h, err));
    KILN_TRY(kiln_hdf5_text(h, a, "/", "model_config", &text, err));
    KILN_TRY(kiln_hdf5_text(h, a, "/", "keras_version", &version, err));
    if (text.p == NULL)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "it is an HDF5 file without a model (attribute "
                         "'model_config'): weights alone, or of no Keras; save the "
                         "whole model with model.save");
    out->weights = bytes;
    out->version = version.p != NULL ? kiln_str_printable(a, version, 40) : "";
    return kiln_keras_parse(a, text, "model_config", out, err);
}

static kiln_status open_archive(kiln_arena *a, kiln_str bytes, kiln_keras_file *out,
                                kiln_err *err) {
    kiln_str config, metadata;
    KILN_TRY(kiln_zip_find(bytes, "config.json", "Keras", &config, err));
    KILN_TRY(kiln_zip_find(bytes, "metadata.json", "Keras", &metadata, err));
    KILN_TRY(kiln_zip_find(bytes, WEIGHTS_ENTRY, "Keras", &out->weights, err));
    if (config.p == NULL || out->weights.p == NULL)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "the archive must have 'config.json' and '" WEIGHTS_ENTRY
                         "'; is the file damaged?");
    out->is_archive = true;
    out->version = "";
    if (metadata.p != NULL) {
        const kiln_json *j = NULL;
        KILN_TRY(kiln_json_parse(a, metadata, "metadata.json", &j, err));
        const char *const v = kiln_json_string(kiln_json_get(j, "keras_version"), "");
        out->version = kiln_str_printable(a, kiln_str_from(v), 40);
    }
    return kiln_keras_parse(a, config, "config.json", out, err);
}

kiln_status kiln_keras_open(kiln_arena *a, kiln_str bytes, kiln_keras_file *out,
                            kiln_err *err) {
    *out = (kiln_keras_file){.version = ""};
    KILN_TRY(is_hdf5(bytes) ? open_hdf5(a, bytes, out, err)
                            : open_archive(a, bytes, out, err));
    out->major = major_of(out->version);
    out->minor = minor_of(out->version);
    return KILN_OK;
}
