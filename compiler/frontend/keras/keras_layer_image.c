/* Layers of Keras that prepare images, as they are when nothing is trained. Source:
 * keras.layers, "Image preprocessing layers". */
#include "compiler/frontend/bicubic.h"
#include "compiler/frontend/keras/keras_internal.h"

#include <inttypes.h>
#include <string.h>

static kiln_status check_size(kiln_keras_call *k, const int64_t size[2]) {
    if (k->in[0]->type.rank == 4 && size[0] > 0 && size[1] > 0 &&
        size[0] <= INT32_MAX && size[1] <= INT32_MAX)
        return KILN_OK;
    return kiln_fail(
        k->cx->common.err, KILN_ERR_SHAPE,
        "it makes %" PRId64 " x %" PRId64 " pixels of images [N, H, W, C], not of %s",
        size[0], size[1], kiln_type_text(&k->cx->common.scratch, &k->in[0]->type));
}

static kiln_status read_size(kiln_keras_call *k, int64_t size[2]) {
    KILN_TRY(kiln_keras_check_format(k));
    KILN_TRY(kiln_keras_int(k, "height", NULL, 0, &size[0]));
    KILN_TRY(kiln_keras_int(k, "width", NULL, 0, &size[1]));
    return check_size(k, size);
}

typedef struct method {
    bool is_nearest, is_cubic; /* neither: bilinear */
} method;

/* As argument `key` says; none of the options `others` (which end with NULL) may be on. */
static kiln_status read_method(kiln_keras_call *k, const char *key,
                               const char *const *others, method *out) {
    const char *const word = kiln_keras_text(k, key, NULL, "bilinear");
    *out = (method){.is_nearest = strcmp(word, "nearest") == 0,
                    .is_cubic = strcmp(word, "bicubic") == 0};
    for (; *others != NULL; others++)
        if (kiln_keras_bool(k, *others, false))
            return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                             "'%s' is not read", *others);
    if (!out->is_nearest && !out->is_cubic && strcmp(word, "bilinear") != 0)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "%s must be nearest, bilinear or bicubic, is '%s'", key,
                         kiln_import_show(&k->cx->common, kiln_str_from(word)));
    return KILN_OK;
}

/* Integers would be rounded in between: floats only. */
static kiln_status resize(kiln_keras_call *k, const int64_t size[2], const method *m) {
    kiln_value *const x = k->in[0];
    if (!m->is_nearest && !kiln_dtype_is_float(x->type.dtype))
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "it interpolates floats, not %s",
                         kiln_type_text(&k->cx->common.scratch, &x->type));
    k->out = m->is_cubic ? kiln_channels_last_bicubic(&k->c, x, size, false, true)
                         : kiln_channels_last_resize(&k->c, x, size, m->is_nearest,
                                                     false, true);
    return k->c.status;
}

kiln_status kiln_keras_import_resizing(kiln_keras_call *k) {
    static const char *const others[] = {"crop_to_aspect_ratio", "pad_to_aspect_ratio",
                                         "antialias", NULL};
    int64_t size[2] = {0};
    method m;
    KILN_TRY(read_size(k, size));
    KILN_TRY(read_method(k, "interpolation", others, &m));
    return resize(k, size, &m);
}

/* tf.image.resize */
kiln_status kiln_keras_import_image_resize(kiln_keras_call *k) {
    static const char *const others[] = {"preserve_aspect_ratio", "antialias", NULL};
    int64_t size[KILN_MAX_RANK];
    int n;
    method m;
    KILN_TRY(kiln_keras_sizes(k, "size", 1, size, &n));
    KILN_TRY(read_method(k, "method", others, &m));
    if (n != 2)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "'size' must be a height and a width");
    KILN_TRY(check_size(k, size));
    return resize(k, size, &m);
}

/* The middle; of an odd margin the smaller part comes first. */
kiln_status kiln_keras_import_center_crop(kiln_keras_call *k) {
    int64_t size[2] = {0};
    kiln_value *x = k->in[0];
    KILN_TRY(read_size(k, size));
    for (int i = 0; i < 2; i++) {
        const int64_t margin = x->type.dim[1 + i] - size[i];
        if (margin < 0)
            return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                             "%" PRId64 " pixels are not cut out of %" PRId64
                             ": it would resize them",
                             size[i], x->type.dim[1 + i]);
        x = kiln_compose_slice(&k->c, x, 1 + i, margin / 2, 1, size[i]);
    }
    k->out = x;
    return k->c.status;
}
