/* Sampling of images, and choosing boxes. */
#include "compiler/export/onnx/say_ops.h"

#include <math.h>
#include <string.h>

kiln_status kiln_say_op_grid_sample(kiln_say *s, const kiln_node *n) {
    (void)n;
    kiln_say_begin(s, "GridSample", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    kiln_say_take(s, kiln_say_in(s, 1));
    kiln_say_text(s, "mode", kiln_say_word(s, "mode"));
    kiln_say_text(s, "padding_mode", kiln_say_word(s, "padding"));
    kiln_say_int(s, "align_corners", kiln_say_attr(s, "align_corners")->i);
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_end(s);
    return KILN_OK;
}

/* ONNX has x and the regions of one dtype: the wider of both, which holds the other's
 * numbers. */
kiln_status kiln_say_op_roi_align(kiln_say *s, const kiln_node *n) {
    const kiln_dtype own = n->in[0]->type.dtype, rois = n->in[1]->type.dtype;
    const kiln_dtype both = own == rois                           ? own
                            : own == KILN_F64 || rois == KILN_F64 ? KILN_F64
                                                                  : KILN_F32;
    const char *in[3];
    for (int i = 0; i < 3; i++) {
        const kiln_dtype want = i < 2 ? both : KILN_I64;
        in[i] = kiln_say_in(s, i);
        if (n->in[i]->type.dtype != want)
            in[i] = kiln_say_cast(s, in[i], want, NULL);
    }
    const char *const y = both == own ? kiln_say_out(s, 0) : kiln_say_temp(s, "wide");
    kiln_say_begin(s, "RoiAlign", KILN_SAY_BASE_OPSET);
    for (int i = 0; i < 3; i++)
        kiln_say_take(s, in[i]);
    kiln_say_int(s, "output_height", kiln_say_attr(s, "height")->i);
    kiln_say_int(s, "output_width", kiln_say_attr(s, "width")->i);
    kiln_say_int(s, "sampling_ratio", kiln_say_attr(s, "sampling_ratio")->i);
    kiln_say_float(s, "spatial_scale", kiln_say_attr(s, "spatial_scale")->f);
    kiln_say_text(s, "mode", kiln_say_word(s, "mode"));
    kiln_say_text(s, "coordinate_transformation_mode",
                  kiln_say_attr(s, "half_pixel")->i != 0 ? "half_pixel"
                                                         : "output_half_pixel");
    kiln_say_give(s, y);
    kiln_say_end(s);
    if (both != own)
        kiln_say_cast(s, y, own, kiln_say_out(s, 0));
    return KILN_OK;
}

/* ---- resize ---------------------------------------------------------------------- */

static const char *floats(kiln_say *s, const double *v, size_t n, const char *what) {
    const int64_t dim = (int64_t)n;
    const kiln_type t = kiln_type_make(KILN_F32, 1, &dim);
    const kiln_wide w = {.type = t, .f = (double *)(uintptr_t)v};
    const kiln_tensor x = kiln_tensor_new(s->arena, &t);
    kiln_narrow(&w, x.data);
    return kiln_say_constant_of(s, kiln_format(s->arena, "%s/%s", s->node->name, what),
                                &t, x.data);
}

/* ONNX takes scales and makes the sizes of them, or sizes and makes the scales. kiln
 * has both: one must follow from the other in that way. */
static bool sizes_follow(const kiln_type *x, const int64_t *size, const double *scale) {
    for (int i = 0; i < x->rank; i++)
        if (!isfinite(scale[i]) || (double)(float)scale[i] != scale[i] ||
            !(scale[i] > 0) || (int64_t)floor((double)x->dim[i] * scale[i]) != size[i])
            return false;
    return true;
}

static bool scales_follow(const kiln_type *x, const int64_t *size,
                          const double *scale) {
    for (int i = 0; i < x->rank; i++)
        if (x->dim[i] == 0 || size[i] == 0 ||
            scale[i] != (double)size[i] / (double)x->dim[i])
            return false;
    return true;
}

static bool is_crop(kiln_say *s) {
    return strcmp(kiln_say_word(s, "coordinates"), "tf_crop_and_resize") == 0;
}

/* How the lengths of axes are said. */
typedef struct lengths {
    const char *scales, *sizes; /* operands, one of which is "" */
    int64_t axis[KILN_MAX_RANK];
    size_t n_axes; /* 0: all */
    bool keeps_ratio;
} lengths;

/* ONNX's "not_smaller": several axes with one scale, that of the axis whose size is a
 * whole number of it; sizes are rounded to nearest. The others ask for less, so that
 * the scale is the largest. */
static bool ratio_follows(const kiln_type *x, const int64_t *size, const double *scale,
                          lengths *l, int64_t *asked) {
    double common = 0;
    bool is_exact = false;
    l->n_axes = 0;
    for (int i = 0; i < x->rank; i++) {
        const double in = (double)x->dim[i];
        if (scale[i] == 1 && size[i] == x->dim[i])
            continue;
        if (x->dim[i] == 0 || (common != 0 && scale[i] != common) ||
            (int64_t)floor(scale[i] * in + 0.5) != size[i] || floor(scale[i] * in) < 1)
            return false;
        common = scale[i];
        const bool is_whole = (double)size[i] / in == scale[i];
        is_exact = is_exact || is_whole;
        asked[l->n_axes] = is_whole ? size[i] : (int64_t)floor(scale[i] * in);
        l->axis[l->n_axes++] = i;
    }
    return is_exact;
}

static kiln_status read_lengths(kiln_say *s, const kiln_type *x, lengths *l) {
    const size_t rank = (size_t)x->rank;
    const int64_t *size = kiln_say_attr(s, "sizes")->ints;
    const double *scale = kiln_say_attr(s, "scales")->floats;
    int64_t asked[KILN_MAX_RANK];
    *l = (lengths){.scales = "", .sizes = ""};
    if (sizes_follow(x, size, scale)) {
        l->scales = floats(s, scale, rank, "scales");
        return KILN_OK;
    }
    if (scales_follow(x, size, scale)) {
        l->sizes = kiln_say_list(s, size, rank);
        return KILN_OK;
    }
    if (is_crop(s) || !ratio_follows(x, size, scale, l, asked))
        return kiln_say_refuse(s,
                               "neither do its sizes follow from its scales, nor its "
                               "scales from its sizes; give one of them");
    l->keeps_ratio = true;
    l->sizes = kiln_say_list(s, asked, l->n_axes);
    return KILN_OK;
}

/* Attributes that mean something in this mode; readers refuse some of the others. */
static void say_filter(kiln_say *s) {
    const char *const mode = kiln_say_word(s, "mode");
    const bool is_cubic = strcmp(mode, "cubic") == 0;
    const bool is_nearest = strcmp(mode, "nearest") == 0;
    const bool antialias = !is_nearest && kiln_say_attr(s, "antialias")->i != 0;
    kiln_say_text(s, "mode", mode);
    kiln_say_text(s, "coordinate_transformation_mode", kiln_say_word(s, "coordinates"));
    if (is_nearest)
        kiln_say_text(s, "nearest_mode", kiln_say_word(s, "rounding"));
    if (is_cubic)
        kiln_say_float(s, "cubic_coeff_a", kiln_say_attr(s, "cubic_a")->f);
    if (antialias)
        kiln_say_int(s, "antialias", 1);
    /* A linear filter that is not widened gives an edge its own value either way. */
    if ((is_cubic || antialias) && kiln_say_attr(s, "exclude_outside")->i != 0)
        kiln_say_int(s, "exclude_outside", 1);
    if (is_crop(s))
        kiln_say_float(s, "extrapolation_value", kiln_say_attr(s, "extrapolation")->f);
}

kiln_status kiln_say_op_resize(kiln_say *s, const kiln_node *n) {
    const kiln_type *x = &n->in[0]->type;
    const size_t rank = (size_t)x->rank;
    const kiln_attr *roi = kiln_say_attr(s, "roi");
    double whole[2 * KILN_MAX_RANK] = {0};
    lengths l;
    KILN_TRY(read_lengths(s, x, &l));
    for (size_t i = 0; i < rank; i++)
        whole[rank + i] = 1;
    const char *const region =
        is_crop(s) ? floats(s, roi->n > 0 ? roi->floats : whole, 2 * rank, "roi") : "";
    kiln_say_begin(s, "Resize", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    kiln_say_take(s, region);
    kiln_say_take(s, l.scales);
    if (*l.sizes != '\0')
        kiln_say_take(s, l.sizes);
    if (l.n_axes > 0)
        kiln_say_ints(s, "axes", l.axis, l.n_axes);
    if (l.keeps_ratio)
        kiln_say_text(s, "keep_aspect_ratio_policy", "not_smaller");
    say_filter(s);
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_end(s);
    return KILN_OK;
}

/* ---- boxes ----------------------------------------------------------------------- */

static const char *as_f32(kiln_say *s, int i) {
    const char *const x = kiln_say_in(s, i);
    return kiln_say_in_type(s, i)->dtype == KILN_F32
               ? x
               : kiln_say_cast(s, x, KILN_F32, NULL);
}

/* The rows that ONNX gives, then -1 up to the number that kiln's value has; and their
 * number. */
static void say_rows(kiln_say *s, const char *found, const kiln_type *t) {
    static const int64_t zero = 0, one = 1;
    kiln_tensor none = kiln_tensor_new(s->arena, t);
    kiln_wide w = kiln_wide_new(s->arena, t);
    for (int64_t i = 0; i < kiln_type_elems(t); i++)
        w.i[i] = -1;
    kiln_narrow(&w, none.data);
    const char *const rest = kiln_say_constant_of(
        s, kiln_format(s->arena, "%s/none", s->node->name), t, none.data);
    const char *const all = kiln_say_temp(s, "Concat");
    const char *const begin = kiln_say_list(s, &zero, 1);
    const char *const end = kiln_say_list(s, t->dim, 1);
    const char *const axis = kiln_say_list(s, &zero, 1);
    kiln_say_begin(s, "Concat", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, found);
    kiln_say_take(s, rest);
    kiln_say_int(s, "axis", 0);
    kiln_say_give(s, all);
    kiln_say_end(s);
    kiln_say_begin(s, "Slice", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, all);
    kiln_say_take(s, begin);
    kiln_say_take(s, end);
    kiln_say_take(s, axis);
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_end(s);
    const char *const count = kiln_say_temp(s, "Shape");
    kiln_say_begin(s, "Shape", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, found);
    kiln_say_int(s, "start", 0);
    kiln_say_int(s, "end", one);
    kiln_say_give(s, count);
    kiln_say_end(s);
    kiln_say_reshape(s, count, 0, NULL, kiln_say_out(s, 1));
}

kiln_status kiln_say_op_non_max_suppression(kiln_say *s, const kiln_node *n) {
    const int64_t most = kiln_say_attr(s, "max_per_class")->i;
    const double score = kiln_say_attr(s, "score_threshold")->f;
    if (kiln_say_in_type(s, 1)->dtype == KILN_F64)
        return kiln_say_refuse(s, "scores of f64 are not read by ONNX; cast to f32");
    KILN_TRY(kiln_say_may_make(s, &n->out[0]->type));
    const char *const boxes = as_f32(s, 0), *const scores = as_f32(s, 1);
    const char *const limit = kiln_say_list(s, &most, 1);
    const char *const iou =
        floats(s, &kiln_say_attr(s, "iou_threshold")->f, 1, "iou_threshold");
    const char *const above =
        score == -HUGE_VAL
            ? ""
            : floats(s, &kiln_say_attr(s, "score_threshold")->f, 1, "score_threshold");
    const char *const found = kiln_say_temp(s, "found");
    kiln_say_begin(s, "NonMaxSuppression", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, boxes);
    kiln_say_take(s, scores);
    kiln_say_take(s, limit);
    kiln_say_take(s, iou);
    if (*above != '\0')
        kiln_say_take(s, above);
    kiln_say_int(s, "center_point_box", kiln_say_attr(s, "center_point")->i);
    kiln_say_give(s, found);
    kiln_say_end(s);
    say_rows(s, found, &n->out[0]->type);
    return KILN_OK;
}
