/* A Caffe model is two files with one stem: NAME.prototxt describes the layers,
 * NAME.caffemodel has their weights. The caller names either. */
#include "compiler/frontend/caffe/caffe_internal.h"

#include <string.h>

static const char text_end[] = ".prototxt", weights_end[] = ".caffemodel";

/* The name without its ending. */
static kiln_str stem_of(const char *name) {
    static const char *const ends[] = {text_end, weights_end};
    const kiln_str s = kiln_str_from(name);
    for (size_t i = 0; i < 2; i++)
        if (kiln_str_ends(s, ends[i]))
            return (kiln_str){s.p, s.n - strlen(ends[i])};
    const char *const dot = strrchr(name, '.');
    return dot == NULL || dot == name ? s : (kiln_str){name, (size_t)(dot - name)};
}

/* By its content, or where that says nothing, by its name. */
static bool is_text(kiln_str bytes, const char *path) {
    return kiln_caffe_is_text(bytes) || (!kiln_caffe_is_weights(bytes) &&
                                         kiln_str_ends(kiln_str_from(path), text_end));
}

const char *kiln_caffe_other(kiln_arena *a, kiln_str bytes, const char *path) {
    return kiln_format(a, "%.*s%s", KILN_STR_ARG(stem_of(kiln_path_base(path))),
                       is_text(bytes, path) ? weights_end : text_end);
}

kiln_status kiln_caffe_open(kiln_arena *a, kiln_str bytes, const char *path,
                            kiln_caffe_files *out, kiln_err *err) {
    const bool names_text = is_text(bytes, path);
    const char *const other = kiln_caffe_other(a, bytes, path);
    const char *const beside = kiln_path_join(a, kiln_path_dir(a, path), other);
    kiln_str more;
    if (!kiln_file_exists(beside))
        return names_text
                   ? kiln_fail(err, KILN_ERR_MISSING,
                               "'%s' is a Caffe description of layers; its weights, "
                               "'%s', must lie beside it and do not: put the "
                               ".caffemodel there under this name",
                               path, other)
                   : kiln_fail(err, KILN_ERR_MISSING,
                               "'%s' is a Caffe model's weights; the description of "
                               "its layers, '%s', must lie beside it and does not: "
                               "put the deploy.prototxt there under this name",
                               path, other);
    KILN_TRY(kiln_file_map(a, beside, 0, &more, err));
    *out = (kiln_caffe_files){
        .text = names_text ? bytes : more,
        .weights = names_text ? more : bytes,
        .text_name = names_text ? path : beside,
        .weights_name = names_text ? beside : path,
        .other = other,
    };
    return KILN_OK;
}
