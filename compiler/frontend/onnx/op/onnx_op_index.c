/* Importers of what picks, joins and cuts: Concat, Split, Slice, Gather,
 * GatherElements, GatherND, Scatter, ScatterElements, ScatterND, TopK, ReverseSequence,
 * Trilu. Source: the ONNX operator specification; versions are in onnx_ops.def. */
#include "compiler/frontend/onnx/onnx_internal.h"

#include <inttypes.h>

/* ---- Concat, Split ---- */

kiln_status kiln_onnx_import_concat(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    const int n_in = kiln_onnx_n_in(n);
    kiln_value **in = kiln_array(kiln_onnx_arena(cx), kiln_value *, n_in), *y;
    if (n_in == 0)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE, "at least one input must be given");
    for (int i = 0; i < n_in; i++)
        KILN_TRY(kiln_onnx_need(cx, n, i, "inputs", &in[i]));
    /* Version 1 has a default; from version 4 on the axis must be given. */
    if (!kiln_onnx_has_attr(n, "axis") && kiln_onnx_version(cx) >= 4)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE, "attribute 'axis' is missing");
    int axis;
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", 1), in[0]->type.rank,
                                 &axis, kiln_onnx_err(cx)));
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis)};
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_concat, in, n_in, args, 1, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* Sizes of n_out parts: equal, and from opset 18 on a smaller last one. */
static kiln_status even_split(kiln_onnx_cx *cx, int64_t dim, int n_out,
                              int64_t *sizes) {
    const int64_t part = (dim + n_out - 1) / n_out;
    if (kiln_onnx_version(cx) < 18 && dim % n_out != 0)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "the axis must be divisible by the number of outputs %d, "
                              "has %" PRId64 " elements",
                              n_out, dim);
    if (part * (n_out - 1) > dim)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "%" PRId64 " elements cannot be split into %d parts of "
                              "%" PRId64 " with a smaller last one",
                              dim, n_out, part);
    for (int i = 0; i < n_out; i++)
        sizes[i] = i < n_out - 1 ? part : dim - part * (n_out - 1);
    return KILN_OK;
}

kiln_status kiln_onnx_import_split(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *v = kiln_onnx_in(cx, n, 1);
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    const int n_out = kiln_onnx_n_out(n);
    int axis;
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", 0), x->type.rank,
                                 &axis, kiln_onnx_err(cx)));
    const int64_t num_outputs = kiln_onnx_attr_i(cx, n, "num_outputs", n_out);
    if (n_out < 1 || num_outputs != n_out)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "'num_outputs' must be the number of outputs %d, is "
                              "%" PRId64,
                              n_out, num_outputs);
    const int64_t *sizes = NULL;
    size_t count = 0;
    if (kiln_onnx_version(cx) < 13)
        count = kiln_onnx_attr_ints(cx, n, "split", &sizes);
    else if (v != NULL)
        KILN_TRY(kiln_onnx_const_ints(cx, v, "split", &sizes, &count));
    int64_t *even = kiln_array(kiln_onnx_arena(cx), int64_t, n_out);
    if (sizes == NULL && count == 0) {
        KILN_TRY(even_split(cx, x->type.dim[axis], n_out, even));
        sizes = even;
        count = (size_t)n_out;
    }
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_ints("sizes", sizes, count)};
    kiln_value **outs = kiln_array(kiln_onnx_arena(cx), kiln_value *, n_out);
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_split, &x, 1, args, 2, n_out, outs));
    for (int i = 0; i < n_out; i++)
        kiln_onnx_set(cx, n, i, outs[i]);
    return KILN_OK;
}

/* ---- Slice ---- */

typedef struct slice_spec {
    const int64_t *starts, *ends, *axes, *steps; /* axes, steps: NULL where absent */
    size_t n;
} slice_spec;

/* One list of `s->n` entries from an optional input. */
static kiln_status slice_list(kiln_onnx_cx *cx, const kiln_onnx_node *n, int in,
                              const char *name, const slice_spec *s,
                              const int64_t **out) {
    kiln_value *v = kiln_onnx_in(cx, n, in);
    size_t count;
    *out = NULL;
    if (v == NULL)
        return KILN_OK;
    KILN_TRY(kiln_onnx_const_ints(cx, v, name, out, &count));
    if (count != s->n)
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "'%s' must have as many entries as 'starts' (%zu), has %zu", name, s->n,
            count);
    return KILN_OK;
}

static kiln_status slice_attrs(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                               slice_spec *s) {
    s->n = kiln_onnx_attr_ints(cx, n, "starts", &s->starts);
    const size_t n_ends = kiln_onnx_attr_ints(cx, n, "ends", &s->ends);
    const size_t n_axes = kiln_onnx_attr_ints(cx, n, "axes", &s->axes);
    if (n_ends != s->n || (s->axes != NULL && n_axes != s->n))
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "'starts', 'ends' and 'axes' must have as many entries each, "
            "have %zu, %zu and %zu",
            s->n, n_ends, n_axes);
    return KILN_OK;
}

static kiln_status slice_inputs(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                slice_spec *s) {
    kiln_value *v;
    KILN_TRY(kiln_onnx_need(cx, n, 1, "starts", &v));
    KILN_TRY(kiln_onnx_const_ints(cx, v, "starts", &s->starts, &s->n));
    KILN_TRY(kiln_onnx_need(cx, n, 2, "ends", &v));
    KILN_TRY(slice_list(cx, n, 2, "ends", s, &s->ends));
    KILN_TRY(slice_list(cx, n, 3, "axes", s, &s->axes));
    return slice_list(cx, n, 4, "steps", s, &s->steps);
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi) {
    return v < lo ? lo : v > hi ? hi : v;
}

/* Numpy's rules for one axis of d elements: negative bounds count from the end, then
 * both are clamped. */
static void resolve_range(int64_t d, int64_t *start, int64_t end, int64_t *step,
                          int64_t *size) {
    int64_t first = *start < 0 ? *start + d : *start;
    int64_t last = end < 0 ? end + d : end;
    const int64_t by = clamp(*step, -KILN_MAX_ELEMS, KILN_MAX_ELEMS);
    if (by > 0) {
        first = clamp(first, 0, d);
        last = clamp(last, 0, d);
        *size = last > first ? (last - first - 1) / by + 1 : 0;
    } else {
        first = clamp(first, -1, d - 1);
        last = clamp(last, -1, d - 1);
        *size = first > last ? (first - last - 1) / -by + 1 : 0;
    }
    *start = *size == 0 ? 0 : first;
    *step = *size <= 1 ? 1 : by;
}

static kiln_status emit_slice(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                              const slice_spec *s) {
    const int rank = x->type.rank;
    int64_t starts[KILN_MAX_RANK] = {0}, steps[KILN_MAX_RANK], sizes[KILN_MAX_RANK];
    bool seen[KILN_MAX_RANK] = {false};
    for (int i = 0; i < rank; i++) {
        steps[i] = 1;
        sizes[i] = x->type.dim[i];
    }
    for (size_t k = 0; k < s->n; k++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(s->axes != NULL ? s->axes[k] : (int64_t)k, rank,
                                     &axis, kiln_onnx_err(cx)));
        if (seen[axis])
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "'axes' names axis %d twice",
                                  axis);
        seen[axis] = true;
        starts[axis] = s->starts[k];
        steps[axis] = s->steps != NULL ? s->steps[k] : 1;
        if (steps[axis] == 0)
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                                  "the step of axis %d must not be 0", axis);
        resolve_range(x->type.dim[axis], &starts[axis], s->ends[k], &steps[axis],
                      &sizes[axis]);
    }
    bool is_whole = true;
    for (int i = 0; i < rank; i++)
        is_whole = is_whole && steps[i] > 0 && sizes[i] == x->type.dim[i];
    kiln_value *y = x;
    const kiln_attr_arg args[] = {kiln_arg_ints("starts", starts, (size_t)rank),
                                  kiln_arg_ints("steps", steps, (size_t)rank),
                                  kiln_arg_ints("sizes", sizes, (size_t)rank)};
    if (!is_whole)
        KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_slice, x, args, 3, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_slice(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    slice_spec s = {0};
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    if (kiln_onnx_version(cx) < 10)
        KILN_TRY(slice_attrs(cx, n, &s));
    else
        KILN_TRY(slice_inputs(cx, n, &s));
    return emit_slice(cx, n, x, &s);
}

/* ---- Gather, Scatter ---- */

/* Operators whose inputs become the node's as they are, with an axis of input 0 where
 * `has_axis`. */
static kiln_status pass_on(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                           const kiln_op_def *op, int n_in, int64_t default_axis,
                           const kiln_attr_arg *more) {
    static const char *const names[] = {"data", "indices", "updates"};
    kiln_value *in[3], *y;
    int axis;
    for (int i = 0; i < n_in; i++)
        KILN_TRY(kiln_onnx_need(cx, n, i, names[i], &in[i]));
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", default_axis),
                                 in[0]->type.rank, &axis, kiln_onnx_err(cx)));
    kiln_attr_arg args[2] = {kiln_arg_int("axis", axis)};
    if (more != NULL)
        args[1] = *more;
    KILN_TRY(kiln_onnx_emit(cx, n, op, in, n_in, args, more != NULL ? 2 : 1, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_gather(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    return pass_on(cx, n, &kiln_op_gather, 2, 0, NULL);
}

kiln_status kiln_onnx_import_gather_elements(kiln_onnx_cx *cx,
                                             const kiln_onnx_node *n) {
    return pass_on(cx, n, &kiln_op_gather_elements, 2, 0, NULL);
}

/* The attribute of opset 16 on, or none. */
static kiln_status reduction_arg(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                 kiln_attr_arg *out) {
    static const char *const words[] = {"none", "add", "mul", "min", "max"};
    const kiln_str given = kiln_onnx_attr_s(cx, n, "reduction", "none");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (kiln_str_is(given, words[i])) {
            *out = kiln_arg_word("reduction", words[i]);
            return KILN_OK;
        }
    return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                          "reduction must be none, add, mul, min or max, is '%s'",
                          kiln_str_printable(kiln_onnx_arena(cx), given, 32));
}

kiln_status kiln_onnx_import_scatter_elements(kiln_onnx_cx *cx,
                                              const kiln_onnx_node *n) {
    kiln_attr_arg reduction;
    KILN_TRY(reduction_arg(cx, n, &reduction));
    return pass_on(cx, n, &kiln_op_scatter_elements, 3, 0, &reduction);
}

kiln_status kiln_onnx_import_gather_nd(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *in[2], *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &in[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "indices", &in[1]));
    const kiln_attr_arg args[] = {
        kiln_arg_int("batch_dims", kiln_onnx_attr_i(cx, n, "batch_dims", 0))};
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_gather_nd, in, 2, args, 1, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_scatter_nd(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *in[3], *y;
    kiln_attr_arg reduction;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &in[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "indices", &in[1]));
    KILN_TRY(kiln_onnx_need(cx, n, 2, "updates", &in[2]));
    KILN_TRY(reduction_arg(cx, n, &reduction));
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_scatter_nd, in, 3, &reduction, 1, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}
