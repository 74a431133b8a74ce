/* Makers of convolutions and pools. */
#include "compiler/frontend/adaptive_pool.h"
#include "compiler/frontend/pytorch/aten/aten_internal.h"

#include <inttypes.h>

/* x as a batch: the operators take one example without its axis as well. */
static kiln_value *batched(kiln_aten_args *k, kiln_value *x, int n) {
    KILN_ASSERT(n >= 1 && n <= KILN_MAX_SPATIAL, "a window of %d axes", n);
    int64_t dim[KILN_MAX_RANK] = {1};
    if (x->type.rank != n + 1 || k->c.status != KILN_OK)
        return x;
    for (int i = 0; i <= n; i++)
        dim[i + 1] = x->type.dim[i];
    return kiln_compose_reshape(&k->c, x, n + 2, dim);
}

static kiln_status give_unbatched(kiln_aten_args *k, kiln_value *y, bool is_single) {
    if (is_single && k->c.status == KILN_OK)
        y = kiln_compose_reshape(&k->c, y, y->type.rank - 1, y->type.dim + 1);
    return kiln_aten_give(k, y);
}

static void set_pads(kiln_spatial *s, const int64_t *pads) {
    for (int i = 0; i < s->n; i++)
        s->pads[i] = s->pads[s->n + i] = pads[i];
}

/* ---- convolution ------------------------------------------------------------------ */

/* Numbers, or "valid" or "same": of which the odd element goes to the end. */
static void read_padding(kiln_aten_args *k, kiln_spatial *s) {
    const kiln_aten_value *const v = kiln_aten_get(k, "padding");
    int64_t pads[KILN_MAX_RANK] = {0};
    if (v->kind != KILN_ATEN_STRING) {
        kiln_aten_window(k, "padding", s->n, pads);
        set_pads(s, pads);
        return;
    }
    if (kiln_str_is(v->s, "valid"))
        return;
    for (int i = 0; i < s->n; i++) {
        const int64_t total = s->dilations[i] * (s->kernel[i] - 1);
        s->pads[i] = total / 2;
        s->pads[s->n + i] = total - total / 2;
    }
}

/* n: spatial axes, those of the weights. */
static kiln_status give_conv(kiln_aten_args *k, bool is_transposed) {
    kiln_compose *const c = &k->c;
    kiln_value *in[] = {kiln_aten_tensor(k, "input"), kiln_aten_tensor(k, "weight"),
                        kiln_aten_optional(k, "bias")};
    kiln_spatial s;
    if (!kiln_aten_need_rank(k, in[1], 3, KILN_MAX_RANK))
        return c->status;
    const int n = in[1]->type.rank - 2;
    const bool is_single = in[0]->type.rank == n + 1;
    in[0] = batched(k, in[0], n);
    if (!kiln_aten_need_rank(k, in[0], n + 2, n + 2))
        return c->status;
    kiln_spatial_init(&s, in[0], in[1]->type.dim + 2);
    kiln_aten_window(k, "stride", n, s.strides);
    kiln_aten_window(k, "dilation", n, s.dilations);
    read_padding(k, &s);
    const int64_t groups = kiln_aten_int(k, "groups");
    KILN_TRY(c->status);
    if (!is_transposed)
        return give_unbatched(k, kiln_compose_conv(c, in, &s, groups), is_single);
    int64_t more[KILN_MAX_RANK];
    kiln_attr_arg args[KILN_SPATIAL_ARGS + 2];
    kiln_aten_window(k, "output_padding", n, more);
    kiln_spatial_args(&s, args);
    args[KILN_SPATIAL_ARGS] = kiln_arg_int("groups", groups);
    args[KILN_SPATIAL_ARGS + 1] = kiln_arg_ints("output_padding", more, (size_t)n);
    kiln_value *const y =
        kiln_compose_op(c, &kiln_op_conv_transpose, in, 3, args, KILN_SPATIAL_ARGS + 2);
    return give_unbatched(k, y, is_single);
}

kiln_status kiln_aten_make_conv(kiln_aten_args *k) { return give_conv(k, false); }

kiln_status kiln_aten_make_conv_transpose(kiln_aten_args *k) {
    return give_conv(k, true);
}

kiln_status kiln_aten_make_convolution(kiln_aten_args *k) {
    const bool is_transposed = kiln_aten_bool(k, "transposed");
    if (!is_transposed)
        kiln_aten_get(k, "output_padding"); /* says nothing then */
    return give_conv(k, is_transposed);
}

/* ---- pools ------------------------------------------------------------------------ */

/* The last digit of the row's name is how many spatial axes it has. */
static int spatial_axes(const kiln_aten_args *k) {
    for (const char *p = k->row->name; *p != '\0'; p++)
        if (*p >= '1' && *p <= '3' && p[1] == 'd')
            return *p - '0';
    return 2;
}

static kiln_value *pool_input(kiln_aten_args *k, bool *is_single) {
    const int n = spatial_axes(k);
    kiln_value *x = kiln_aten_tensor(k, "self");
    *is_single = x->type.rank == n + 1;
    x = batched(k, x, n);
    kiln_aten_need_rank(k, x, n + 2, n + 2);
    return x;
}

static void read_pool(kiln_aten_args *k, const kiln_value *x, kiln_spatial *s) {
    const kiln_aten_value *const stride = kiln_aten_get(k, "stride");
    int64_t kernel[KILN_MAX_RANK] = {0}, pads[KILN_MAX_RANK] = {0};
    kiln_aten_window(k, "kernel_size", spatial_axes(k), kernel);
    kiln_spatial_init(s, x, kernel);
    if (stride->kind == KILN_ATEN_NONE ||
        (stride->kind == KILN_ATEN_LIST && stride->n == 0))
        for (int i = 0; i < s->n; i++)
            s->strides[i] = kernel[i];
    else
        kiln_aten_window(k, "stride", s->n, s->strides);
    kiln_aten_window(k, "padding", s->n, pads);
    set_pads(s, pads);
}

kiln_status kiln_aten_make_max_pool(kiln_aten_args *k) {
    kiln_spatial s;
    bool is_single;
    kiln_value *const x = pool_input(k, &is_single);
    KILN_TRY(k->c.status);
    read_pool(k, x, &s);
    kiln_aten_window(k, "dilation", s.n, s.dilations);
    const bool ceil_mode = kiln_aten_bool(k, "ceil_mode");
    KILN_TRY(k->c.status);
    kiln_value *const y =
        kiln_compose_pool(&k->c, &kiln_op_max_pool, x, &s, ceil_mode, NULL, 0);
    KILN_TRY(give_unbatched(k, y, is_single));
    return kiln_aten_give_value(k, kiln_aten_none()); /* indices: nobody's yet */
}

kiln_status kiln_aten_make_avg_pool(kiln_aten_args *k) {
    kiln_spatial s;
    bool is_single;
    kiln_value *const x = pool_input(k, &is_single);
    KILN_TRY(k->c.status);
    read_pool(k, x, &s);
    const bool ceil_mode = kiln_aten_bool(k, "ceil_mode");
    const kiln_attr_arg more =
        kiln_arg_bool("count_include_pad", kiln_aten_bool(k, "count_include_pad"));
    KILN_TRY(k->c.status);
    kiln_value *const y =
        kiln_compose_pool(&k->c, &kiln_op_avg_pool, x, &s, ceil_mode, &more, 1);
    return give_unbatched(k, y, is_single);
}

/* ---- adaptive pools: windows from floor(i * in / out) to ceil((i + 1) * in / out) --- */

/* Sizes to pool to; None keeps one. */
static void read_sizes(kiln_aten_args *k, const kiln_value *x, int n, int64_t *out) {
    const kiln_aten_value *const v = kiln_aten_get(k, "output_size");
    for (int i = 0; i < n; i++) {
        const bool is_kept = v->kind == KILN_ATEN_LIST && (size_t)i < v->n &&
                             v->list[i].kind == KILN_ATEN_NONE;
        const kiln_aten_value *const one = v->kind != KILN_ATEN_LIST ? v
                                           : v->n == (size_t)n       ? &v->list[i]
                                           : v->n == 1               ? &v->list[0]
                                                                     : NULL;
        out[i] = x->type.dim[2 + i];
        if (is_kept && out[i] > 0)
            continue;
        if (one == NULL || one->kind != KILN_ATEN_INT || one->i < 1 ||
            one->i > INT32_MAX) {
            if (k->c.status == KILN_OK)
                kiln_aten_fail(k, KILN_ERR_SHAPE,
                               "%s: 'output_size' must be %d numbers of 1 or more",
                               k->row->name, n);
            return;
        }
        out[i] = one->i;
    }
}

kiln_status kiln_aten_make_adaptive_avg_pool(kiln_aten_args *k) {
    const int n = spatial_axes(k);
    int64_t out[KILN_MAX_SPATIAL] = {0};
    bool is_single;
    kiln_value *x = pool_input(k, &is_single);
    KILN_TRY(k->c.status);
    read_sizes(k, x, n, out);
    KILN_TRY(k->c.status);
    x = kiln_compose_adaptive_pool(&k->c, x, out, false);
    return give_unbatched(k, x, is_single);
}

kiln_status kiln_aten_make_adaptive_max_pool(kiln_aten_args *k) {
    const int n = spatial_axes(k);
    int64_t out[KILN_MAX_SPATIAL] = {0};
    bool is_single;
    kiln_value *x = pool_input(k, &is_single);
    KILN_TRY(k->c.status);
    read_sizes(k, x, n, out);
    KILN_TRY(k->c.status);
    x = kiln_compose_adaptive_pool(&k->c, x, out, true);
    KILN_TRY(give_unbatched(k, x, is_single));
    return kiln_aten_give_value(k, kiln_aten_none());
}
