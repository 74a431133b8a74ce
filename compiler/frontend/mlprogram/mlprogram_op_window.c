/* Importers of operations whose windows slide over an image, and that change its size.
 * Source: coremltools, converters/mil/mil/ops/defs/iOS15 (conv, pool, image_resizing). */
#include <inttypes.h>

#include "compiler/frontend/mlprogram/mil.h"
#include "compiler/frontend/spatial.h"

/* Of each spatial axis, `otherwise` where they are left out. */
static kiln_status read_each(kiln_mil_call *k, const char *name, int n,
                             int64_t otherwise, int64_t *out) {
    KILN_ASSERT(n >= 0 && n <= KILN_MAX_SPATIAL, "'%s' of %d axes", name, n);
    const int64_t *given;
    size_t count;
    KILN_TRY(kiln_mil_ints(k, name, &given, &count));
    if (count != 0 && count != (size_t)n)
        return kiln_mil_fail(k, KILN_ERR_SHAPE, "'%s' must have %d numbers, has %zu",
                             name, n, count);
    for (int i = 0; i < n; i++) {
        out[i] = count > 0 ? given[i] : otherwise;
        if (out[i] < 1 || out[i] > INT32_MAX)
            return kiln_mil_fail(k, KILN_ERR_SHAPE,
                                 "'%s' must be positive, is %" PRId64, name, out[i]);
    }
    return KILN_OK;
}

static kiln_status read_pads(kiln_mil_call *k, kiln_spatial *s) {
    kiln_str type = KILN_STR_LIT("valid");
    const int64_t *pad;
    size_t n;
    KILN_TRY(kiln_mil_word(k, "pad_type", &type));
    s->is_same = kiln_str_is(type, "same") || kiln_str_is(type, "same_lower");
    s->is_upper = kiln_str_is(type, "same");
    if (s->is_same || kiln_str_is(type, "valid"))
        return KILN_OK;
    if (!kiln_str_is(type, "custom"))
        return kiln_mil_fail(k, KILN_ERR_UNSUPPORTED, "'pad_type' of '%s' is not read",
                             kiln_import_show(&k->cx->common, type));
    KILN_TRY(kiln_mil_ints(k, "pad", &pad, &n));
    if (n != 2 * (size_t)s->n)
        return kiln_mil_fail(k, KILN_ERR_SHAPE, "'pad' must have %d numbers, has %zu",
                             2 * s->n, n);
    for (size_t i = 0; i < n / 2; i++) {
        s->pads[i] = pad[2 * i];
        s->pads[n / 2 + i] = pad[2 * i + 1];
    }
    return KILN_OK;
}

static kiln_status need_image(kiln_mil_call *k, kiln_value **x) {
    KILN_TRY(kiln_mil_need(k, "x", x));
    return (*x)->type.rank >= 3
               ? KILN_OK
               : kiln_mil_fail(k, KILN_ERR_SHAPE,
                               "'x' must have spatial axes, has %d axes",
                               (*x)->type.rank);
}

/* x [N, C, spatial...], weight [O, C / groups, spatial...]. */
kiln_status kiln_mil_import_conv(kiln_mil_call *k) {
    kiln_value *in[3];
    kiln_spatial s;
    int64_t groups = 1;
    KILN_TRY(need_image(k, &in[0]));
    KILN_TRY(kiln_mil_need(k, "weight", &in[1]));
    KILN_TRY(kiln_mil_get(k, "bias", &in[2]));
    if (in[1]->type.rank != in[0]->type.rank)
        return kiln_mil_fail(k, KILN_ERR_SHAPE, "'weight' must have %d axes, has %d",
                             in[0]->type.rank, in[1]->type.rank);
    kiln_spatial_init(&s, in[0], in[1]->type.dim + 2);
    KILN_TRY(read_each(k, "strides", s.n, 1, s.strides));
    KILN_TRY(read_each(k, "dilations", s.n, 1, s.dilations));
    KILN_TRY(read_pads(k, &s));
    KILN_TRY(kiln_mil_int(k, "groups", &groups));
    return kiln_mil_end(k, kiln_compose_conv(&k->c, in, &s, groups));
}

kiln_status kiln_mil_import_pool(kiln_mil_call *k) {
    kiln_value *x;
    kiln_spatial s;
    int64_t kernel[KILN_MAX_SPATIAL];
    bool excludes = false, is_ceil = false;
    const bool is_mean = k->row->op == &kiln_op_avg_pool;
    KILN_TRY(need_image(k, &x));
    if (x->type.rank - 2 > KILN_MAX_SPATIAL)
        return kiln_mil_fail(k, KILN_ERR_LIMIT, "too many axes");
    KILN_TRY(read_each(k, "kernel_sizes", x->type.rank - 2, 1, kernel));
    kiln_spatial_init(&s, x, kernel);
    KILN_TRY(read_each(k, "strides", s.n, 1, s.strides));
    KILN_TRY(read_pads(k, &s));
    KILN_TRY(kiln_mil_bool(k, "exclude_padding_from_average", &excludes));
    KILN_TRY(kiln_mil_bool(k, "ceil_mode", &is_ceil));
    const kiln_attr_arg more = kiln_arg_bool("count_include_pad", !excludes);
    return kiln_mil_end(k, kiln_compose_pool(&k->c, k->row->op, x, &s, is_ceil, &more,
                                             is_mean ? 1 : 0));
}

/* Rows and columns, by factors. */
kiln_status kiln_mil_import_upsample(kiln_mil_call *k) {
    static const char *const names[] = {"scale_factor_height", "scale_factor_width"};
    const bool is_nearest = kiln_str_is(k->op->type, "upsample_nearest_neighbor");
    bool aligns = !is_nearest;
    int64_t size[2];
    kiln_value *x;
    KILN_TRY(need_image(k, &x));
    for (int i = 0; i < 2; i++) {
        double factor = 1;
        KILN_TRY(kiln_mil_float(k, names[i], &factor));
        const double exact =
            factor * (double)(x->type.rank == 4 ? x->type.dim[2 + i] : 0);
        if (!(exact >= 1 && exact <= INT32_MAX))
            return kiln_mil_fail(k, KILN_ERR_SHAPE,
                                 "'x' must be [N, C, H, W] and '%s' give a size, is %g",
                                 names[i], factor);
        size[i] = (int64_t)exact;
    }
    if (!is_nearest)
        KILN_TRY(kiln_mil_bool(k, "align_corners", &aligns));
    return kiln_mil_end(k, kiln_compose_planes(&k->c, x, size[0], size[1],
                                               is_nearest ? "nearest" : "linear",
                                               is_nearest ? "asymmetric"
                                               : aligns   ? "align_corners"
                                                          : "half_pixel"));
}
