/* Scan (9 to 25) of ai.onnx: the body becomes a region that runs along axis 0.
 * Sequences along another axis are transposed before, those read backwards are
 * reversed; outputs likewise, behind. Scan-8 has a batch axis in front of all, and
 * lengths of its own for each element of the batch: each runs by itself. */
#include "compiler/frontend/onnx/onnx_internal.h"
#include "compiler/frontend/onnx/import_core.h"

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

/* The body and how many states and sequences there are, behind `before` other inputs.
 */
static kiln_status read_body(kiln_onnx_cx *cx, const kiln_onnx_node *n, int before,
                             scan *s) {
    s->body = kiln_onnx_attr_graph(cx, n, "body");
    if (s->body == NULL)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE, "attribute 'body' is missing");
    const int64_t n_in = kiln_onnx_n_in(n) - before;
    const int64_t n_scan = kiln_onnx_attr_i(cx, n, "num_scan_inputs", 0);
    if (n_scan < 1 || n_scan > n_in)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "num_scan_inputs must be in [1, %" PRId64
                              "], the number of inputs, is %" PRId64,
                              n_in, n_scan);
    s->n_scan = (size_t)n_scan;
    s->n_state = (size_t)(n_in - n_scan);
    KILN_ASSERT(s->n_scan + s->n_state == (size_t)n_in, "%zu states and %zu sequences",
                s->n_state, s->n_scan);
    if (s->body->n_output < s->n_state)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "body must give %zu states, has %zu outputs", s->n_state,
                              s->body->n_output);
    s->n_stacked = s->body->n_output - s->n_state;
    if ((size_t)kiln_onnx_n_out(n) > s->body->n_output)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "body must have %d outputs as the node does, has %zu",
                              kiln_onnx_n_out(n), s->body->n_output);
    return KILN_OK;
}

static kiln_status read_scan(kiln_onnx_cx *cx, const kiln_onnx_node *n, scan *s) {
    KILN_TRY(read_body(cx, n, 0, s));
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
    KILN_ASSERT(from >= 0 && from < x->type.rank && to >= 0 && to < x->type.rank,
                "axis %d of %d to %d", from, x->type.rank, to);
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

/* ---- Scan-8 ---- */

typedef struct batch {
    scan s;
    int64_t n, steps;      /* elements of the batch, of each sequence */
    const int64_t *length; /* n entries; NULL: all of them */
    kiln_value **in;       /* states, then sequences */
} batch;

/* All inputs have the batch in front, sequences their steps behind it. */
static kiln_status read_batch_inputs(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                     batch *b) {
    const size_t count = b->s.n_state + b->s.n_scan;
    b->in = kiln_array(&cx->common.scratch, kiln_value *, count);
    b->n = b->steps = -1;
    for (size_t k = 0; k < count; k++) {
        const bool is_state = k < b->s.n_state;
        KILN_TRY(kiln_onnx_need(cx, n, 1 + (int)k,
                                is_state ? "initial state" : "scan input", &b->in[k]));
        const kiln_type *t = &b->in[k]->type;
        if (t->rank >= 1 && b->n < 0)
            b->n = t->dim[0];
        if (t->rank >= 2 && !is_state && b->steps < 0)
            b->steps = t->dim[1];
        if (t->rank < (is_state ? 1 : 2) || t->dim[0] != b->n || b->n < 1 ||
            (!is_state && t->dim[1] != b->steps))
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                                  "input %zu must have shape [%" PRId64 "%s, ...], is "
                                  "%s",
                                  k + 1, b->n < 1 ? 1 : b->n, is_state ? "" : ", steps",
                                  kiln_type_text(&cx->common.scratch, t));
    }
    return KILN_OK;
}

static kiln_status read_batch(kiln_onnx_cx *cx, const kiln_onnx_node *n, batch *b) {
    kiln_value *const lengths = kiln_onnx_in(cx, n, 0);
    size_t count;
    KILN_TRY(read_body(cx, n, 1, &b->s));
    KILN_TRY(read_list(cx, n, "directions", b->s.n_scan, &b->s.in_reverse));
    KILN_TRY(read_batch_inputs(cx, n, b));
    if (lengths == NULL)
        return KILN_OK;
    KILN_TRY(kiln_onnx_const_ints(cx, lengths, "sequence_lens", &b->length, &count));
    bool ok = count == (size_t)b->n;
    for (size_t i = 0; ok && i < count; i++)
        ok = b->length[i] >= 0 && b->length[i] <= b->steps;
    if (!ok)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'sequence_lens' must be %" PRId64
                              " numbers in [0, %" PRId64 "]",
                              b->n, b->steps);
    return KILN_OK;
}

/* Element `at` of the batch, without that axis. */
static kiln_value *element(kiln_compose *c, kiln_value *x, int64_t at) {
    x = kiln_compose_slice(c, x, 0, at, 1, 1);
    const kiln_type t = x->type;
    return c->status == KILN_OK ? kiln_compose_reshape(c, x, t.rank - 1, t.dim + 1) : x;
}

/* The scan of one element: n_state results, then stacked ones, filled up with zeros;
 * each with a batch axis of one. */
static kiln_status scan_element(kiln_compose *c, const batch *b, int64_t at,
                                kiln_graph *body, kiln_value *const *captured,
                                size_t n_captured, kiln_value **out) {
    const size_t n_state = b->s.n_state, n_in = n_state + b->s.n_scan;
    const size_t n_out = n_state + b->s.n_stacked;
    const int64_t length = b->length == NULL ? b->steps : b->length[at];
    kiln_value **const in = kiln_array(&kiln_onnx_of(c->cx)->common.scratch,
                                       kiln_value *, n_in + n_captured);
    for (size_t k = 0; k < n_in + n_captured; k++) {
        if (k >= n_in) {
            in[k] = captured[k - n_in];
            continue;
        }
        in[k] = element(c, b->in[k], at);
        KILN_TRY(c->status);
        if (k < n_state)
            continue;
        in[k] = kiln_compose_slice(c, in[k], 0, 0, 1, length);
        KILN_TRY(c->status);
        if (b->s.in_reverse != NULL && b->s.in_reverse[k - n_state] != 0 && length > 0)
            KILN_TRY(reverse(kiln_onnx_of(c->cx), c->site, in[k], &in[k]));
    }
    const kiln_attr_arg args[] = {kiln_arg_graph("body", body),
                                  kiln_arg_int("n_state", (int64_t)n_state),
                                  kiln_arg_int("n_scan", (int64_t)b->s.n_scan)};
    KILN_TRY(kiln_import_emit(c->cx, c->site, &kiln_op_scan, in,
                              (int)(n_in + n_captured), args, 3, (int)n_out, out));
    for (size_t k = 0; k < n_out; k++) {
        int64_t pads[2 * KILN_MAX_RANK] = {0}, dim[KILN_MAX_RANK + 1] = {1};
        if (k >= n_state) {
            pads[out[k]->type.rank] = b->steps - length;
            out[k] = kiln_compose_pad(c, out[k], pads, 0);
        }
        const kiln_type t = out[k]->type;
        for (int i = 0; i < t.rank; i++)
            dim[1 + i] = t.dim[i];
        if (t.rank == KILN_MAX_RANK)
            return kiln_fail(c->cx->err, KILN_ERR_LIMIT,
                             "a value may have at most %d axes", (int)KILN_MAX_RANK);
        out[k] = kiln_compose_reshape(c, out[k], t.rank + 1, dim);
    }
    return c->status;
}

kiln_status kiln_onnx_import_scan_8(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    batch b = {0};
    KILN_TRY(read_batch(cx, n, &b));
    const size_t n_in = b.s.n_state + b.s.n_scan, n_out = b.s.n_state + b.s.n_stacked;
    kiln_type *const formal = kiln_array(&cx->common.scratch, kiln_type, n_in);
    for (size_t k = 0; k < n_in; k++) {
        const kiln_type *t = &b.in[k]->type;
        const int cut = k < b.s.n_state ? 1 : 2;
        formal[k] = kiln_type_make(t->dtype, t->rank - cut, t->dim + cut);
    }
    kiln_graph *body;
    kiln_value **captured;
    size_t n_captured;
    KILN_TRY(
        kiln_onnx_region(cx, n, b.s.body, formal, n_in, &body, &captured, &n_captured));
    cx->nodes_left -= b.n > cx->nodes_left
                          ? cx->nodes_left + 1
                          : b.n * (int64_t)(body->nodes.n + n_in + n_out);
    if (cx->nodes_left < 0)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                              "the body is repeated for each of %" PRId64
                              " elements of the batch, which is too many; export with "
                              "opset 9 or later",
                              b.n);
    /* By output, then by element. */
    kiln_value **const part =
        kiln_array(&cx->common.scratch, kiln_value *, (int64_t)n_out * b.n);
    kiln_value **const out = kiln_array(&cx->common.scratch, kiln_value *, n_out);
    for (int64_t i = 0; i < b.n; i++) {
        kiln_graph *own = i == 0 ? body : kiln_graph_clone(cx->common.arena, body);
        KILN_TRY(scan_element(&c, &b, i, own, captured, n_captured, out));
        for (size_t k = 0; k < n_out; k++)
            part[(int64_t)k * b.n + i] = out[k];
    }
    const kiln_attr_arg axis = kiln_arg_int("axis", 0);
    for (size_t k = 0; k < n_out; k++)
        kiln_onnx_set(cx, n, (int)k,
                      b.n == 1 ? part[k]
                               : kiln_compose_op(&c, &kiln_op_concat,
                                                 part + (int64_t)k * b.n, (int)b.n,
                                                 &axis, 1));
    return c.status;
}
