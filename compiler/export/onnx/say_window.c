/* Convolution and pooling. */
#include "compiler/export/onnx/say_ops.h"

#include <math.h>
#include <string.h>

/* strides, pads, dilations: empty lists are what ONNX takes anyway. `pads`: others than
 * the node's, of so many axes; NULL: its own. */
static void say_lists(kiln_say *s, const int64_t *pads, size_t n_axes) {
    static const char *const lists[] = {"strides", "pads", "dilations"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const kiln_attr *v = kiln_say_attr(s, lists[i]);
        if (i == 1 && pads != NULL)
            kiln_say_ints(s, lists[i], pads, 2 * n_axes);
        else if (v->n > 0)
            kiln_say_ints(s, lists[i], v->ints, v->n);
    }
}

/* ---- convolution ----------------------------------------------------------------- */

/* Conv or ConvTranspose of values that are floats; what pads bytes stands before it. */
static void say_conv(kiln_say *s, const char *const in[3], const char *out) {
    const kiln_node *n = s->node;
    const kiln_type *w = &n->in[1]->type;
    const bool is_transposed = n->op == &kiln_op_conv_transpose;
    kiln_say_begin(s, is_transposed ? "ConvTranspose" : "Conv", KILN_SAY_BASE_OPSET);
    for (int i = 0; i < (*in[2] != '\0' ? 3 : 2); i++)
        kiln_say_take(s, in[i]);
    kiln_say_ints(s, "kernel_shape", w->dim + 2, (size_t)(w->rank - 2));
    static const int64_t none[2 * KILN_MAX_RANK] = {0};
    say_lists(s, n->op == &kiln_op_conv_bytes ? none : NULL, (size_t)(w->rank - 2));
    kiln_say_int(s, "group", kiln_say_attr(s, "groups")->i);
    if (is_transposed && kiln_say_attr(s, "output_padding")->n > 0)
        kiln_say_ints(s, "output_padding", kiln_say_attr(s, "output_padding")->ints,
                      kiln_say_attr(s, "output_padding")->n);
    kiln_say_give(s, out);
    kiln_say_end(s);
}

static double largest_of_dtype(kiln_dtype dtype) {
    const kiln_dtype_info *info = kiln_dtype_get(dtype);
    return -(double)info->min_i > (double)info->max_i ? -(double)info->min_i
                                                      : (double)info->max_i;
}

static double largest_of_const(kiln_arena *a, const kiln_value *v) {
    kiln_wide w = kiln_wide_new(a, &v->type);
    const int64_t n = kiln_type_elems(&v->type);
    double most = 0;
    kiln_widen(&v->type, v->data, &w);
    for (int64_t i = 0; i < n; i++) {
        const double x = w.i[i] < 0 ? -(double)w.i[i] : (double)w.i[i];
        most = x > most ? x : most;
    }
    return most;
}

enum { MAX_LOOK = 12 }; /* nodes behind one another: sums double the ways to go */

/* How large elements of an integer value can be: quantised ones are casts of 8 bits
 * less a zero point, moved about. */
static double largest_from(kiln_arena *a, const kiln_value *v, int look) {
    const double any = largest_of_dtype(v->type.dtype);
    if (kiln_value_is_const(v)) {
        const double most = largest_of_const(a, v);
        return most < any ? most : any;
    }
    if (v->def == NULL || look == 0)
        return any;
    const kiln_op_def *op = v->def->op;
    const kiln_value *const x = v->def->in[0];
    const kiln_value *const y = v->def->n_in > 1 ? v->def->in[1] : NULL;
    const bool is_sum = op == &kiln_op_sub || op == &kiln_op_add || op == &kiln_op_pad;
    const bool is_move = op == &kiln_op_cast || op == &kiln_op_reshape ||
                         op == &kiln_op_transpose || op == &kiln_op_slice ||
                         op == &kiln_op_identity;
    if ((!is_sum && !is_move) || kiln_dtype_is_float(x->type.dtype))
        return any;
    const double most = largest_from(a, x, look - 1) +
                        (is_sum && y != NULL ? largest_from(a, y, look - 1) : 0);
    return most < any ? most : any;
}

static double largest(kiln_arena *a, const kiln_value *v) {
    return largest_from(a, v, MAX_LOOK);
}

/* ---- convolutions of integers ---------------------------------------------------- */

/* ONNX convolves floats: integers come out the same where no sum is larger than what
 * floats hold exactly, in any order. Those of f32 hold 2^24. Larger sums are cut into
 * those of some of the channels, which are added as integers, since hardly an engine
 * convolves f64. */
enum { MAX_PARTS = 16 };

typedef struct int_conv {
    int64_t outputs, channels, taps; /* channels: of x, that an output sums over */
    double x, w;                     /* no element is larger */
    const int64_t *weight;           /* NULL: not known */
    double zero;                     /* taken off each weight */
    bool can_cut;
} int_conv;

static int_conv int_conv_of(kiln_say *s, double zero) {
    const kiln_node *n = s->node;
    const kiln_value *w = n->in[1];
    const bool is_transposed = n->op == &kiln_op_conv_transpose;
    int_conv c = {.outputs = w->type.dim[is_transposed ? 1 : 0],
                  .channels = w->type.dim[is_transposed ? 0 : 1],
                  .taps = 1,
                  .x = largest(s->arena, n->in[0]),
                  .w = largest(s->arena, w) + fabs(zero),
                  .zero = zero,
                  .can_cut = !is_transposed && kiln_say_attr(s, "groups")->i == 1};
    for (int i = 2; i < w->type.rank; i++)
        c.taps *= w->type.dim[i];
    if (is_transposed || !kiln_value_is_const(w))
        return c;
    kiln_wide wide = kiln_wide_new(s->arena, &w->type);
    kiln_widen(&w->type, w->data, &wide);
    c.weight = wide.i;
    return c;
}

/* How large sums over these channels can be, by each output's own weights where these
 * are known. */
static double largest_sum(const int_conv *c, int64_t first, int64_t last) {
    double most = 0;
    if (c->weight == NULL)
        return (double)(last - first) * (double)c->taps * c->x * c->w;
    for (int64_t o = 0; o < c->outputs; o++) {
        const int64_t *w = c->weight + o * c->channels * c->taps;
        double sum = 0;
        for (int64_t i = first * c->taps; i < last * c->taps; i++)
            sum += fabs((double)w[i] - c->zero);
        most = sum > most ? sum : most;
    }
    return most * c->x;
}

static bool holds_parts(const int_conv *c, int n) {
    for (int i = 0; i < n; i++)
        if (largest_sum(c, c->channels * i / n, c->channels * (i + 1) / n) >= 0x1p24)
            return false;
    return true;
}

/* How many parts of the channels; 0: too many, or there are no such parts. */
static int count_parts(const int_conv *c) {
    if (holds_parts(c, 1))
        return 1;
    for (int n = 2; n <= MAX_PARTS && n <= c->channels && c->can_cut; n *= 2)
        if (holds_parts(c, n))
            return n;
    return 0;
}

static void say_parts(kiln_say *s, const char *whole, const int_conv *c, int n,
                      const char **part) {
    int64_t size[MAX_PARTS] = {0};
    for (int i = 0; i < n; i++)
        size[i] = c->channels * (i + 1) / n - c->channels * i / n;
    const char *const sizes = kiln_say_list(s, size, (size_t)n);
    kiln_say_begin(s, "Split", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, whole);
    kiln_say_take(s, sizes);
    kiln_say_int(s, "axis", 1);
    for (int i = 0; i < n; i++) {
        part[i] = kiln_say_temp(s, "part");
        kiln_say_give(s, part[i]);
    }
    kiln_say_end(s);
}

/* Convolutions of x and w by parts, and the bias, as integers that hold every sum. */
static void say_sum_of_parts(kiln_say *s, const char *const in[2], const int_conv *c,
                             int n, kiln_dtype to, double most) {
    const kiln_dtype sums = to == KILN_I32 && most <= INT32_MAX ? KILN_I32 : KILN_I64;
    const char *x[MAX_PARTS] = {in[0]}, *w[MAX_PARTS] = {in[1]};
    const char *term[MAX_PARTS + 1];
    int n_terms = 0;
    if (n > 1) {
        say_parts(s, in[0], c, n, x);
        say_parts(s, in[1], c, n, w);
    }
    while (n_terms < n) {
        const char *const part[3] = {x[n_terms], w[n_terms], ""};
        const char *const y = kiln_say_temp(s, "sums");
        say_conv(s, part, y);
        term[n_terms++] = kiln_say_cast(s, y, sums, NULL);
    }
    if (kiln_say_has_in(s, 2)) {
        int64_t dim[KILN_MAX_RANK] = {1, c->outputs, 1, 1, 1, 1, 1, 1};
        const char *const bias = kiln_say_cast(s, kiln_say_in(s, 2), sums, NULL);
        term[n_terms++] =
            kiln_say_reshape(s, bias, s->node->out[0]->type.rank, dim, NULL);
    }
    const char *total = term[0];
    for (int i = 1; i < n_terms; i++)
        total = kiln_say_2(s, "Add", total, term[i],
                           i + 1 == n_terms && sums == to ? kiln_say_out(s, 0) : NULL);
    if (sums != to)
        kiln_say_cast(s, total, to, kiln_say_out(s, 0));
}

/* What x of bytes is padded with stands in front of it. */
static const char *padded(kiln_say *s, const char *x, kiln_dtype dtype) {
    const kiln_attr *pads = kiln_say_attr(s, "pads");
    const double fill = (double)kiln_say_attr(s, "fill")->i;
    const size_t n_axes = pads->n / 2;
    int64_t all[2 * KILN_MAX_RANK] = {0};
    if (n_axes == 0)
        return x;
    for (size_t i = 0; i < n_axes; i++) {
        all[2 + i] = pads->ints[i];
        all[n_axes + 4 + i] = pads->ints[n_axes + i];
    }
    return kiln_say_3(s, "Pad", x, kiln_say_list(s, all, 2 * (n_axes + 2)),
                      kiln_say_scalar(s, dtype, fill), NULL);
}

static kiln_status say_int_conv(kiln_say *s, const kiln_node *n) {
    const bool is_bytes = n->op == &kiln_op_conv_bytes,
               has_bias = kiln_say_has_in(s, 2);
    const double zero = is_bytes ? (double)kiln_say_attr(s, "w_zero")->i : 0;
    const kiln_dtype to = n->out[0]->type.dtype;
    const int_conv c = int_conv_of(s, zero);
    const double most =
        largest_sum(&c, 0, c.channels) + (has_bias ? largest(s->arena, n->in[2]) : 0);
    if (most >= 0x1p53)
        return kiln_say_refuse(s,
                               "ONNX convolves floats, and sums of these %s may be as "
                               "large as %g, which floats do not hold exactly",
                               kiln_dtype_name(n->in[0]->type.dtype), most);
    const int parts = count_parts(&c);
    const kiln_dtype through = parts > 0 ? KILN_F32 : KILN_F64;
    const char *in[3] = {kiln_say_cast(s, kiln_say_in(s, 0), through, NULL),
                         kiln_say_cast(s, kiln_say_in(s, 1), through, NULL), ""};
    if (zero != 0)
        in[1] = kiln_say_2(s, "Sub", in[1], kiln_say_scalar(s, through, zero), NULL);
    if (is_bytes)
        in[0] = padded(s, in[0], through);
    if (parts > 0 && most >= 0x1p24) {
        say_sum_of_parts(s, in, &c, parts, to, most);
        return KILN_OK;
    }
    if (has_bias)
        in[2] = kiln_say_cast(s, kiln_say_in(s, 2), through, NULL);
    const char *y = kiln_say_temp(s, "sums");
    say_conv(s, in, y);
    if (most > (double)kiln_dtype_get(to)->max_i)
        y = kiln_say_cast(s, y, KILN_I64, NULL); /* from which on sums wrap */
    kiln_say_cast(s, y, to, kiln_say_out(s, 0));
    return KILN_OK;
}

kiln_status kiln_say_op_conv(kiln_say *s, const kiln_node *n) {
    if (!kiln_dtype_is_float(n->in[0]->type.dtype))
        return say_int_conv(s, n);
    const char *const in[3] = {kiln_say_in(s, 0), kiln_say_in(s, 1), kiln_say_in(s, 2)};
    say_conv(s, in, kiln_say_out(s, 0));
    return KILN_OK;
}

/* ---- pooling --------------------------------------------------------------------- */

/* With ceil_mode ONNX counts a last window that begins in the padding behind x when it
 * infers shapes, and leaves it out when it computes. kiln leaves it out: where that
 * makes a difference the padding says so instead. False: it cannot. */
static bool cut_pads(kiln_say *s, int64_t *pads, bool *differs) {
    const kiln_node *n = s->node;
    const kiln_attr *kernel = kiln_say_attr(s, "kernel");
    const kiln_attr *given = kiln_say_attr(s, "pads");
    const kiln_attr *strides = kiln_say_attr(s, "strides");
    const kiln_attr *dilations = kiln_say_attr(s, "dilations");
    const size_t rank = kernel->n;
    bool can = true;
    *differs = false;
    for (size_t i = 0; i < rank; i++) {
        const int64_t stride = strides->n > 0 ? strides->ints[i] : 1;
        const int64_t step = dilations->n > 0 ? dilations->ints[i] : 1;
        const int64_t extent = (kernel->ints[i] - 1) * step + 1;
        const int64_t before = given->n > 0 ? given->ints[i] : 0;
        const int64_t behind = given->n > 0 ? given->ints[rank + i] : 0;
        const int64_t in = n->in[0]->type.dim[2 + i], out = n->out[0]->type.dim[2 + i];
        const int64_t room = in + before + behind - extent;
        const int64_t need = (out - 1) * stride + extent - in - before;
        const bool counts =
            n->op == &kiln_op_avg_pool && kiln_say_attr(s, "count_include_pad")->i != 0;
        *differs = *differs || (room + stride - 1) / stride + 1 != out;
        pads[i] = before;
        /* As much as there is, unless that makes another window. */
        pads[rank + i] = need > behind            ? need
                         : behind < need + stride ? behind
                                                  : need + stride - 1;
        can = can && out > 0 && pads[rank + i] >= 0 && !(counts && need > behind);
    }
    return can;
}

/* What the pooling of x gives: a value for each of the node's outputs. */
static void say_pool(kiln_say *s, const char *x, const char *const *y) {
    const kiln_node *n = s->node;
    const kiln_attr *kernel = kiln_say_attr(s, "kernel");
    const bool is_ceil = kiln_say_attr(s, "ceil_mode")->i != 0;
    int64_t pads[2 * KILN_MAX_RANK];
    bool differs = false;
    const bool is_cut = is_ceil && cut_pads(s, pads, &differs) && differs;
    kiln_say_begin(s, kiln_say_row_of(n->op)->onnx, KILN_SAY_BASE_OPSET);
    kiln_say_take(s, x);
    kiln_say_ints(s, "kernel_shape", kernel->ints, kernel->n);
    say_lists(s, is_cut ? pads : NULL, kernel->n);
    kiln_say_int(s, "ceil_mode", is_ceil && !is_cut);
    if (n->op == &kiln_op_avg_pool)
        kiln_say_int(s, "count_include_pad", kiln_say_attr(s, "count_include_pad")->i);
    if (n->op == &kiln_op_lp_pool)
        kiln_say_int(s, "p", kiln_say_attr(s, "p")->i);
    if (n->op == &kiln_op_max_pool)
        kiln_say_int(s, "storage_order", kiln_say_attr(s, "column_major")->i);
    for (int i = 0; i < n->n_out; i++)
        kiln_say_give(s, y[i]);
    kiln_say_end(s);
}

/* ONNX has maxima of floats and 8 bits: floats hold those of 16 and 32 exactly. */
kiln_status kiln_say_op_pool(kiln_say *s, const kiln_node *n) {
    const kiln_dtype dtype = n->in[0]->type.dtype;
    const int bits = kiln_dtype_bits(dtype);
    const char *y[2];
    for (int i = 0; i < n->n_out; i++)
        y[i] = kiln_say_out(s, i);
    if (kiln_dtype_is_float(dtype) || bits == 8) {
        say_pool(s, kiln_say_in(s, 0), y);
        return KILN_OK;
    }
    if (bits == 64)
        return kiln_say_refuse(s, "ONNX takes maxima of floats, which do not hold %s",
                               kiln_dtype_name(dtype));
    y[0] = kiln_say_temp(s, "float");
    say_pool(
        s, kiln_say_cast(s, kiln_say_in(s, 0), bits == 16 ? KILN_F32 : KILN_F64, NULL),
        y);
    kiln_say_cast(s, y[0], dtype, kiln_say_out(s, 0));
    return KILN_OK;
}

/* ---- patches --------------------------------------------------------------------- */

/* What the taps of a moved window read is what DeformConv gives for weights that are 1
 * at one tap of one channel: channels are groups, and each has an output for each tap.
 */
kiln_status kiln_say_op_deform_patches(kiln_say *s, const kiln_node *n) {
    const kiln_type *x = &n->in[0]->type, *y = &n->out[0]->type;
    const kiln_attr *kernel = kiln_say_attr(s, "kernel");
    const int64_t channels = x->dim[1], taps = y->dim[2];
    int64_t dim[KILN_MAX_RANK] = {0, 1}, flat[KILN_MAX_RANK];
    if (taps > 0 && channels > KILN_MAX_ELEMS / taps)
        return kiln_say_refuse(s,
                               "weights for so many channels and taps are too large");
    dim[0] = channels * taps;
    for (size_t i = 0; i < kernel->n; i++)
        dim[2 + i] = kernel->ints[i];
    const kiln_type w = kiln_type_make(x->dtype, x->rank, dim);
    KILN_TRY(kiln_type_check(&w, s->err));
    KILN_TRY(kiln_say_may_make(s, &w));
    kiln_wide ones = kiln_wide_new(s->arena, &w);
    kiln_tensor data = kiln_tensor_new(s->arena, &w);
    const int64_t count = kiln_type_elems(&w);
    for (int64_t i = 0; i < count; i++)
        ones.f[i] = i % taps == i / taps % taps;
    kiln_narrow(&ones, data.data);
    const char *const weights = kiln_say_constant_of(
        s, kiln_format(s->arena, "%s/taps", n->name), &w, data.data);
    const char *const out = kiln_say_temp(s, "DeformConv");
    kiln_say_begin(s, "DeformConv", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    kiln_say_take(s, weights);
    kiln_say_take(s, kiln_say_in(s, 1));
    if (kiln_say_has_in(s, 2)) {
        kiln_say_take(s, "");
        kiln_say_take(s, kiln_say_in(s, 2));
    }
    kiln_say_ints(s, "kernel_shape", kernel->ints, kernel->n);
    say_lists(s, NULL, 0);
    kiln_say_int(s, "group", channels);
    kiln_say_int(s, "offset_group", kiln_say_attr(s, "groups")->i);
    kiln_say_give(s, out);
    kiln_say_end(s);
    memcpy(flat, y->dim, sizeof flat);
    kiln_say_reshape(s, out, y->rank, flat, kiln_say_out(s, 0));
    return KILN_OK;
}
