/* Windows of convolution and pooling; see spatial.h. */
#include "compiler/frontend/spatial.h"

void kiln_spatial_init(kiln_spatial *s, const kiln_value *x, const int64_t *kernel) {
    KILN_ASSERT(x->type.rank >= 3 && x->type.rank <= KILN_MAX_RANK,
                "'%s' of rank %d has no spatial axes", x->name, x->type.rank);
    *s = (kiln_spatial){.n = x->type.rank - 2};
    for (int i = 0; i < s->n; i++) {
        s->in[i] = x->type.dim[2 + i];
        s->kernel[i] = kernel != NULL ? kernel[i] : 1;
        s->strides[i] = s->dilations[i] = 1;
    }
}

void kiln_spatial_same_pads(kiln_spatial *s) {
    for (int i = 0; i < s->n; i++) {
        KILN_ASSERT(s->strides[i] > 0 && s->dilations[i] > 0,
                    "axis %d in steps of %lld", i, (long long)s->strides[i]);
        const int64_t out = (s->in[i] + s->strides[i] - 1) / s->strides[i];
        const int64_t extent = (s->kernel[i] - 1) * s->dilations[i] + 1;
        const int64_t need = (out - 1) * s->strides[i] + extent - s->in[i];
        const int64_t total = need > 0 ? need : 0;
        const int64_t less = total / 2;
        s->pads[i] = s->is_upper ? less : total - less;
        s->pads[s->n + i] = total - s->pads[i];
    }
}

void kiln_spatial_args(const kiln_spatial *s, kiln_attr_arg *args) {
    const size_t n = (size_t)s->n;
    KILN_ASSERT(s->n >= 1 && s->n <= KILN_MAX_SPATIAL, "a window of %d axes", s->n);
    args[0] = kiln_arg_ints("strides", s->strides, n);
    args[1] = kiln_arg_ints("pads", s->pads, 2 * n);
    args[2] = kiln_arg_ints("dilations", s->dilations, n);
}

kiln_value *kiln_compose_conv(kiln_compose *c, kiln_value *const in[3], kiln_spatial *s,
                              int64_t groups) {
    kiln_attr_arg args[KILN_SPATIAL_ARGS + 1];
    KILN_ASSERT(in[0] != NULL && in[1] != NULL, "a convolution without weights");
    if (s->is_same)
        kiln_spatial_same_pads(s);
    kiln_spatial_args(s, args);
    args[KILN_SPATIAL_ARGS] = kiln_arg_int("groups", groups);
    return kiln_compose_op(c, &kiln_op_conv, in, 3, args, KILN_SPATIAL_ARGS + 1);
}

kiln_value *kiln_compose_pool(kiln_compose *c, const kiln_op_def *op, kiln_value *x,
                              kiln_spatial *s, bool ceil_mode,
                              const kiln_attr_arg *more, size_t n_more) {
    enum { OWN = KILN_SPATIAL_ARGS + 2, MAX_MORE = 2 };
    kiln_attr_arg args[OWN + MAX_MORE];
    KILN_ASSERT(n_more <= MAX_MORE, "%zu arguments of '%s' alone", n_more, op->name);
    KILN_ASSERT(c->status != KILN_OK || x->type.rank == s->n + 2,
                "a window of %d axes over rank %d", s->n, x->type.rank);
    if (s->is_same)
        kiln_spatial_same_pads(s);
    args[0] = kiln_arg_ints("kernel", s->kernel, (size_t)s->n);
    args[1] = kiln_arg_bool("ceil_mode", ceil_mode);
    kiln_spatial_args(s, args + 2);
    for (size_t i = 0; i < n_more; i++)
        args[OWN + i] = more[i];
    return kiln_compose_op(c, op, &x, 1, args, OWN + n_more);
}

kiln_value *kiln_compose_planes(kiln_compose *c, kiln_value *x, int64_t height,
                                int64_t width, const char *mode,
                                const char *coordinates) {
    const kiln_type *const t = &x->type;
    KILN_ASSERT(c->status != KILN_OK ||
                    (t->rank == 4 && t->dim[2] > 0 && t->dim[3] > 0),
                "'%s' has no planes", x->name);
    if (c->status != KILN_OK)
        return x;
    const int64_t sizes[] = {t->dim[0], t->dim[1], height, width};
    const double scales[] = {1, 1, (double)height / (double)t->dim[2],
                             (double)width / (double)t->dim[3]};
    const kiln_attr_arg args[] = {
        kiln_arg_ints("sizes", sizes, 4), kiln_arg_floats("scales", scales, 4),
        kiln_arg_word("mode", mode), kiln_arg_word("coordinates", coordinates),
        kiln_arg_word("rounding", "floor")};
    return kiln_compose_op(c, &kiln_op_resize, &x, 1, args, 5);
}
