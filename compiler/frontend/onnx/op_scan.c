/* Scan (9 to 25) of ai.onnx: the body becomes a region that runs along axis 0.
 * Sequences along another axis are transposed before, those read backwards are
 * reversed; outputs likewise, behind. Scan-8 has a batch axis and is not read. */
#include "compiler/frontend/onnx/onnx_internal.h"

#include <inttypes.h>

typedef struct scan {
    const kiln_onnx_graph *body;
    size_t n_state, n_scan, n_stacked;
    const int64_t *in_axes, *in_reverse, *out_axes, *out_reverse; /* NULL: all 0 */
} scan;

/* One of the four lists: absent, or of `n` entries. */
static kiln_status read_list(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                             const char *name, size_t n_want, const int64_t **out) {
    const size_t got = kiln_onnx_attr_ints(cx, n, name, out);
    if (*out == NULL || got == n_want)
        return KILN_OK;
    return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                          "attribute '%s' must have %zu entries, has %zu", name, n_want,
                          got);
}

static kiln_status read_scan(kiln_onnx_cx *cx, const kiln_onnx_node *n, scan *s) {
    s->body = kiln_onnx_attr_graph(cx, n, "body");
    if (s->body == NULL)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE, "attribute 'body' is missing");
    const int64_t n_in = kiln_onnx_n_in(n);
    const int64_t n_scan = kiln_onnx_attr_i(cx, n, "num_scan_inputs", 0);
    if (n_scan < 1 || n_scan > n_in)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "num_scan_inputs must be in [1, %" PRId64
                              "], the number of inputs, is %" PRId64,
                              n_in, n_scan);
    s->n_scan = (size_t)n_scan;
    s->n_state = (size_t)(n_in - n_scan);
    if (s->body->n_output < s->n_state)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "body must give %zu states, has %zu outputs", s->n_state,
                              s->body->n_output);
    s->n_stacked = s->body->n_output - s->n_state;
    if ((size_t)kiln_onnx_n_out(n) > s->body->n_output)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "body must have %d outputs as the node does, has %zu",
                              kiln_onnx_n_out(n), s->body->n_output);
    KILN_TRY(read_list(cx, n, "scan_input_axes", s->n_scan, &s->in_axes));
    KILN_TRY(read_list(cx, n, "scan_input_directions", s->n_scan, &s->in_reverse));
    KILN_TRY(read_list(cx, n, "scan_output_axes", s->n_stacked, &s->out_axes));
    return read_list(cx, n, "scan_output_directions", s->n_stacked, &s->out_reverse);
}

/* x with `from` moved to `to`, the others in order. */
static kiln_status move_axis(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                             int from, int to, kiln_value **out) {
    int64_t perm[KILN_MAX_RANK];
    int next = 0;
    for (int i = 0; i < x->type.rank; i++) {
        if (next == from)
            next++;
        perm[i] = i == to ? from : next++;
    }
    return kiln_onnx_transpose(cx, n, x, perm, out);
}

/* x backwards along axis 0. */
static kiln_status reverse(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                           kiln_value **out) {
    int64_t starts[KILN_MAX_RANK] = {0}, steps[KILN_MAX_RANK];
    const size_t rank = (size_t)x->type.rank;
    for (size_t i = 0; i < rank; i++)
        steps[i] = i == 0 ? -1 : 1;
    starts[0] = x->type.dim[0] > 0 ? x->type.dim[0] - 1 : 0;
    const kiln_attr_arg args[] = {kiln_arg_ints("starts", starts, rank),
                                  kiln_arg_ints("steps", steps, rank),
                                  kiln_arg_ints("sizes", x->type.dim, rank)};
    return kiln_onnx_emit1(cx, n, &kiln_op_slice, x, args, 3, out);
}

static kiln_status bring_in(kiln_onnx_cx *cx, const kiln_onnx_node *n, const scan *s,
                            size_t k, kiln_value **x) {
    int axis = 0;
    if ((*x)->type.rank == 0)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "sequence %zu must have an axis, is a scalar", k);
    KILN_TRY(kiln_axis_normalize(s->in_axes == NULL ? 0 : s->in_axes[k],
                                 (*x)->type.rank, &axis, kiln_onnx_err(cx)));
    if (axis != 0)
        KILN_TRY(move_axis(cx, n, *x, axis, 0, x));
    if (s->in_reverse != NULL && s->in_reverse[k] != 0)
        KILN_TRY(reverse(cx, n, *x, x));
    return KILN_OK;
}

static kiln_status bring_out(kiln_onnx_cx *cx, const kiln_onnx_node *n, const scan *s,
                             size_t k, kiln_value *y) {
    int axis = 0;
    KILN_TRY(kiln_axis_normalize(s->out_axes == NULL ? 0 : s->out_axes[k], y->type.rank,
                                 &axis, kiln_onnx_err(cx)));
    if (s->out_reverse != NULL && s->out_reverse[k] != 0)
        KILN_TRY(reverse(cx, n, y, &y));
    if (axis != 0)
        KILN_TRY(move_axis(cx, n, y, 0, axis, &y));
    kiln_onnx_set(cx, n, (int)(s->n_state + k), y);
    return KILN_OK;
}

/* The node's inputs as the region takes them, and its formal parameters' types. */
static kiln_status read_inputs(kiln_onnx_cx *cx, const kiln_onnx_node *n, const scan *s,
                               kiln_value **in, kiln_type *formal) {
    for (size_t k = 0; k < s->n_state + s->n_scan; k++) {
        const bool is_state = k < s->n_state;
        KILN_TRY(kiln_onnx_need(cx, n, (int)k,
                                is_state ? "initial state" : "scan input", &in[k]));
        if (!is_state)
            KILN_TRY(bring_in(cx, n, s, k - s->n_state, &in[k]));
        const kiln_type *t = &in[k]->type;
        formal[k] = is_state ? *t : kiln_type_make(t->dtype, t->rank - 1, t->dim + 1);
    }
    return KILN_OK;
}

kiln_status kiln_onnx_import_scan(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    scan s = {0};
    KILN_TRY(read_scan(cx, n, &s));
    kiln_arena *a = kiln_onnx_arena(cx);
    const size_t n_formal = s.n_state + s.n_scan;
    kiln_value **given = kiln_array(a, kiln_value *, n_formal);
    kiln_type *formal = kiln_array(a, kiln_type, n_formal);
    KILN_TRY(read_inputs(cx, n, &s, given, formal));
    kiln_graph *body = NULL;
    kiln_value **captured = NULL;
    size_t n_captured = 0;
    KILN_TRY(kiln_onnx_region(cx, n, s.body, formal, n_formal, &body, &captured,
                              &n_captured));
    kiln_value **in = kiln_array(a, kiln_value *, n_formal + n_captured);
    for (size_t k = 0; k < n_formal + n_captured; k++)
        in[k] = k < n_formal ? given[k] : captured[k - n_formal];
    const size_t n_out = s.n_state + s.n_stacked;
    kiln_value **out = kiln_array(a, kiln_value *, n_out);
    const kiln_attr_arg args[] = {kiln_arg_graph("body", body),
                                  kiln_arg_int("n_state", (int64_t)s.n_state),
                                  kiln_arg_int("n_scan", (int64_t)s.n_scan)};
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_scan, in, (int)(n_formal + n_captured),
                            args, 3, (int)n_out, out));
    for (size_t k = 0; k < s.n_state; k++)
        kiln_onnx_set(cx, n, (int)k, out[k]);
    for (size_t k = 0; k < s.n_stacked; k++)
        KILN_TRY(bring_out(cx, n, &s, k, out[s.n_state + k]));
    return KILN_OK;
}
