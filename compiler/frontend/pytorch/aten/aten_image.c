/* Makers of margins, of resizing, and of planes that are shuffled. */
#include "compiler/frontend/pytorch/aten/aten_internal.h"

#include <inttypes.h>
#include <math.h>

/* ---- margins ---------------------------------------------------------------------- */

/* Pairs from the last axis on: beginning, end. */
static bool read_pads(kiln_aten_args *k, const kiln_value *x, int64_t *pads) {
    int64_t v[2 * KILN_MAX_RANK];
    const size_t n = kiln_aten_ints(k, "pad", v, sizeof v / sizeof v[0]);
    const int rank = x->type.rank;
    if (k->c.status == KILN_OK && (n % 2 != 0 || n / 2 > (size_t)rank))
        kiln_aten_fail(k, KILN_ERR_SHAPE,
                       "%s: 'pad' must have pairs for at most %d axes, has %zu numbers",
                       k->row->name, rank, n);
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = 0;
    for (size_t i = 0; i < n / 2 && k->c.status == KILN_OK; i++) {
        pads[rank - 1 - (int)i] = v[2 * i];
        pads[2 * rank - 1 - (int)i] = v[2 * i + 1];
    }
    return k->c.status == KILN_OK;
}

static kiln_status give_padded(kiln_aten_args *k, const char *mode, kiln_value *value) {
    kiln_value *in[] = {kiln_aten_tensor(k, "self"), value};
    int64_t pads[2 * KILN_MAX_RANK];
    if (!read_pads(k, in[0], pads))
        return k->c.status;
    const kiln_attr_arg args[] = {
        kiln_arg_word("mode", mode),
        kiln_arg_ints("pads", pads, 2 * (size_t)in[0]->type.rank)};
    return kiln_aten_give(
        k, kiln_compose_op(&k->c, &kiln_op_pad, in, value != NULL ? 2 : 1, args, 2));
}

/* Modes as torch.nn.functional.pad names them. */
kiln_status kiln_aten_make_pad(kiln_aten_args *k) {
    const kiln_str mode = kiln_aten_string(k, "mode");
    static const struct {
        const char *name, *word;
    } modes[] = {{"reflect", "reflect"}, {"replicate", "edge"}, {"circular", "wrap"}};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (kiln_str_is(mode, modes[i].name))
            return give_padded(k, modes[i].word, NULL);
    if (!kiln_str_is(mode, "constant"))
        kiln_aten_fail(k, KILN_ERR_UNSUPPORTED, "pad: mode '%s' is not read",
                       kiln_import_show(k->c.cx, mode));
    const kiln_dtype d = kiln_aten_tensor(k, "self")->type.dtype;
    kiln_value *const v = kiln_aten_is_none(k, "value")
                              ? kiln_import_scalar(k->c.cx, d, 0)
                              : kiln_aten_as(k, "value", d);
    return give_padded(k, "constant", v);
}

kiln_status kiln_aten_make_constant_pad(kiln_aten_args *k) {
    const kiln_dtype d = kiln_aten_tensor(k, "self")->type.dtype;
    return give_padded(k, "constant", kiln_aten_as(k, "value", d));
}

kiln_status kiln_aten_make_reflection_pad(kiln_aten_args *k) {
    return give_padded(k, "reflect", NULL);
}

kiln_status kiln_aten_make_replication_pad(kiln_aten_args *k) {
    return give_padded(k, "edge", NULL);
}

/* ---- resizing --------------------------------------------------------------------- */

typedef struct resizing {
    const char *mode, *coordinates, *rounding;
    bool antialias;
} resizing;

/* Sizes by "output_size" or by factors: a list of them, or one argument for each axis,
 * of which those that are given are what positions are scaled by. */
static bool read_scales(kiln_aten_args *k, const kiln_value *x, int64_t *sizes,
                        double *scales) {
    static const char *const single[] = {"scales_1", "scales_2", "scales_3"};
    const int n = x->type.rank - 2;
    int64_t out[KILN_MAX_RANK] = {0};
    const bool has_size = !kiln_aten_is_none(k, "output_size");
    const kiln_aten_value *const list = kiln_aten_get(k, "scales_1");
    if (has_size)
        kiln_aten_window(k, "output_size", n, out);
    for (int i = 0; i < x->type.rank; i++) {
        sizes[i] = x->type.dim[i];
        scales[i] = 1;
    }
    for (int i = 0; i < n; i++) {
        const kiln_aten_value *f = list;
        if (list->kind == KILN_ATEN_LIST)
            f = (size_t)i < list->n ? &list->list[i] : NULL;
        else if (i < 3)
            f = kiln_aten_get(k, single[i]);
        const bool is_given =
            f != NULL && (f->kind == KILN_ATEN_FLOAT || f->kind == KILN_ATEN_INT);
        const double in = (double)x->type.dim[2 + i];
        double factor = !is_given ? 0 : f->kind == KILN_ATEN_INT ? (double)f->i : f->f;
        if (!has_size && factor > 0 && in * factor < (double)INT32_MAX)
            out[i] = (int64_t)floor(in * factor);
        if (out[i] < 1 || out[i] > INT32_MAX || x->type.dim[2 + i] < 1) {
            if (k->c.status == KILN_OK)
                kiln_aten_fail(k, KILN_ERR_SHAPE,
                               "%s: sizes must be 1 or more, by 'output_size' or "
                               "factors",
                               k->row->name);
            return false;
        }
        sizes[2 + i] = out[i];
        scales[2 + i] = factor > 0 ? factor : (double)out[i] / in;
    }
    return k->c.status == KILN_OK;
}

static kiln_status give_resized(kiln_aten_args *k, const resizing *r) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    int64_t sizes[KILN_MAX_RANK];
    double scales[KILN_MAX_RANK];
    if (!kiln_aten_need_rank(k, x, 3, 5) || !read_scales(k, x, sizes, scales))
        return k->c.status;
    const size_t rank = (size_t)x->type.rank;
    const kiln_attr_arg args[] = {kiln_arg_ints("sizes", sizes, rank),
                                  kiln_arg_floats("scales", scales, rank),
                                  kiln_arg_word("mode", r->mode),
                                  kiln_arg_word("coordinates", r->coordinates),
                                  kiln_arg_word("rounding", r->rounding),
                                  kiln_arg_bool("antialias", r->antialias)};
    return kiln_aten_give(k, kiln_compose_op(&k->c, &kiln_op_resize, &x, 1, args, 6));
}

/* Positions by the corners' centres, or by half pixels. */
static kiln_status give_filtered(kiln_aten_args *k, const char *mode, bool antialias) {
    const bool align = kiln_aten_bool(k, "align_corners");
    const resizing r = {mode, align ? "align_corners" : "half_pixel", "floor",
                        antialias};
    return give_resized(k, &r);
}

kiln_status kiln_aten_make_nearest(kiln_aten_args *k) {
    static const resizing r = {"nearest", "asymmetric", "floor", false};
    return give_resized(k, &r);
}

kiln_status kiln_aten_make_nearest_exact(kiln_aten_args *k) {
    static const resizing r = {"nearest", "half_pixel", "round_prefer_ceil", false};
    return give_resized(k, &r);
}

kiln_status kiln_aten_make_linear_resize(kiln_aten_args *k) {
    return give_filtered(k, "linear", false);
}

kiln_status kiln_aten_make_cubic_resize(kiln_aten_args *k) {
    return give_filtered(k, "cubic", false);
}

kiln_status kiln_aten_make_linear_resize_smooth(kiln_aten_args *k) {
    return give_filtered(k, "linear", true);
}

/* ---- planes ----------------------------------------------------------------------- */

/* [..., C r^2, H, W] to [..., C, H r, W r], and back. */
static kiln_status give_shuffled(kiln_aten_args *k, const char *factor, bool back) {
    kiln_compose *const c = &k->c;
    kiln_value *x = kiln_aten_tensor(k, "self");
    const int64_t r = kiln_aten_int(k, factor);
    if (!kiln_aten_need_rank(k, x, 3, 4))
        return c->status;
    const int rank = x->type.rank;
    const int64_t *const d = x->type.dim + rank - 3;
    const int64_t n = rank == 4 ? x->type.dim[0] : 1;
    if (r < 1 || r > 1 << 15 ||
        (back ? d[1] % r != 0 || d[2] % r != 0 : d[0] % (r * r) != 0)) {
        kiln_aten_fail(k, KILN_ERR_SHAPE, "%s: a factor of %" PRId64 " does not fit %s",
                       k->row->name, r, kiln_type_text(&c->cx->scratch, &x->type));
        return c->status;
    }
    static const int64_t to[] = {0, 1, 4, 2, 5, 3}, from[] = {0, 1, 3, 5, 2, 4};
    const int64_t split[] = {n, d[0] / (r * r), r, r, d[1], d[2]};
    const int64_t unsplit[] = {n, d[0], d[1] / r, r, d[2] / r, r};
    const int64_t joined[] = {n, d[0] / (r * r), d[1] * r, d[2] * r};
    const int64_t deep[] = {n, d[0] * r * r, d[1] / r, d[2] / r};
    const int skip = 4 - rank;
    x = kiln_compose_reshape(c, x, 6, back ? unsplit : split);
    x = kiln_compose_transpose(c, x, back ? from : to);
    return kiln_aten_give(
        k, kiln_compose_reshape(c, x, rank, (back ? deep : joined) + skip));
}

kiln_status kiln_aten_make_pixel_shuffle(kiln_aten_args *k) {
    return give_shuffled(k, "upscale_factor", false);
}

kiln_status kiln_aten_make_pixel_unshuffle(kiln_aten_args *k) {
    return give_shuffled(k, "downscale_factor", true);
}

kiln_status kiln_aten_make_channel_shuffle(kiln_aten_args *k) {
    kiln_compose *const c = &k->c;
    kiln_value *x = kiln_aten_tensor(k, "self");
    const kiln_type t = x->type;
    const int64_t groups = kiln_aten_int(k, "groups");
    if (!kiln_aten_need_rank(k, x, 3, 5))
        return c->status;
    if (groups < 1 || t.dim[1] % groups != 0) {
        kiln_aten_fail(k, KILN_ERR_SHAPE, "channel_shuffle: %" PRId64 " groups of %s",
                       groups, kiln_type_text(&c->cx->scratch, &t));
        return c->status;
    }
    const int64_t rest =
        kiln_type_elems(&t) == 0 ? 0 : kiln_type_elems(&t) / (t.dim[0] * t.dim[1]);
    const int64_t split[] = {t.dim[0], groups, t.dim[1] / groups, rest};
    static const int64_t perm[] = {0, 2, 1, 3};
    x = kiln_compose_reshape(c, x, 4, split);
    x = kiln_compose_transpose(c, x, perm);
    return kiln_aten_give(k, kiln_compose_reshape(c, x, t.rank, t.dim));
}

kiln_status kiln_aten_make_grid_sample(kiln_aten_args *k) {
    static const char *const filters[] = {"linear", "nearest", "cubic"};
    static const char *const margins[] = {"zeros", "border", "reflection"};
    kiln_value *const in[] = {kiln_aten_tensor(k, "input"),
                              kiln_aten_tensor(k, "grid")};
    const int64_t filter = kiln_aten_int(k, "interpolation_mode");
    const int64_t margin = kiln_aten_int(k, "padding_mode");
    if (filter < 0 || filter > 2 || margin < 0 || margin > 2)
        kiln_aten_fail(k, KILN_ERR_PARSE, "grid_sampler: modes must be 0 to 2");
    KILN_TRY(k->c.status);
    const kiln_attr_arg args[] = {
        kiln_arg_word("mode", filters[filter]),
        kiln_arg_word("padding", margins[margin]),
        kiln_arg_bool("align_corners", kiln_aten_bool(k, "align_corners"))};
    return kiln_aten_give(k,
                          kiln_compose_op(&k->c, &kiln_op_grid_sample, in, 2, args, 3));
}
