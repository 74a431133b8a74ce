/* Scan (9, 11, 16 to 25) and Loop (1, 11, 13 to 25) of ai.onnx, unrolled: all shapes
 * are static, so the number of steps of a Scan is, and that of a Loop must be. Each
 * step is one copy of the body. */
#include "compiler/frontend/onnx/import_core.h"

#include <inttypes.h>
#include <string.h>

/* Beyond that the unrolled graph is no use; the node limit of an import holds too. */
enum { MAX_STEPS = 4096 };

/* Results of each step that become one value, along a new axis. */
typedef struct gathered {
    KILN_VEC(kiln_value *) piece;
} gathered;

/* Gives the piece an axis of size 1 at `axis` of the result. */
static kiln_status gather_add(kiln_onnx_cx *cx, const kiln_onnx_node *n, gathered *g,
                              int64_t axis, kiln_value *v) {
    const int rank = v->type.rank + 1;
    int at = 0;
    if (rank > KILN_MAX_RANK)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT, "rank must be at most %d, is %d",
                              KILN_MAX_RANK, rank);
    KILN_TRY(kiln_axis_normalize(axis, rank, &at, kiln_onnx_err(cx)));
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dim[i] = i < at ? v->type.dim[i] : i == at ? 1 : v->type.dim[i - 1];
    kiln_value *piece;
    KILN_TRY(kiln_onnx_reshape(cx, n, v, rank, dim, &piece));
    kiln_vec_push(&cx->scratch, &g->piece, piece);
    return KILN_OK;
}

static kiln_status gather_end(kiln_onnx_cx *cx, const kiln_onnx_node *n, gathered *g,
                              int64_t axis, bool is_reversed, kiln_value **out) {
    kiln_value **const piece = g->piece.v;
    const size_t count = g->piece.n;
    for (size_t i = 0; is_reversed && i < count / 2; i++) {
        kiln_value *const v = piece[i];
        piece[i] = piece[count - 1 - i];
        piece[count - 1 - i] = v;
    }
    if (count == 0)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "a loop of no steps has no shape for its scan outputs");
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    return kiln_onnx_emit(cx, n, &kiln_op_concat, piece, (int)count, &arg, 1, 1, out);
}

/* Element `index` along an axis, without the axis. */
static kiln_status take_step(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                             int axis, int64_t index, kiln_value **out) {
    const kiln_type t = x->type;
    int64_t start[KILN_MAX_RANK] = {0}, step[KILN_MAX_RANK], size[KILN_MAX_RANK];
    int64_t dim[KILN_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < t.rank; i++) {
        step[i] = 1;
        size[i] = i == axis ? 1 : t.dim[i];
        if (i != axis)
            dim[rank++] = t.dim[i];
    }
    start[axis] = index;
    const size_t n_axes = (size_t)t.rank;
    const kiln_attr_arg args[] = {kiln_arg_ints("starts", start, n_axes),
                                  kiln_arg_ints("steps", step, n_axes),
                                  kiln_arg_ints("sizes", size, n_axes)};
    kiln_value *slice;
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_slice, x, args, 3, &slice));
    return kiln_onnx_reshape(cx, n, slice, rank, dim, out);
}

/* What changes from step to step must keep its type, as the copies read it in turn. */
static kiln_status check_state(kiln_onnx_cx *cx, const kiln_value *before,
                               const kiln_value *after, size_t i) {
    if (kiln_type_eq(&before->type, &after->type))
        return KILN_OK;
    return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                          "state %zu must keep its type, is %s and becomes %s", i,
                          kiln_type_text(&cx->scratch, &before->type),
                          kiln_type_text(&cx->scratch, &after->type));
}

static const char *step_prefix(kiln_onnx_cx *cx, const kiln_onnx_node *n, int64_t t) {
    return kiln_format(&cx->scratch, "%s%" PRId64 "/", kiln_onnx_node_prefix(cx, n), t);
}

/* ---- Scan
 * ----------------------------------------------------------------------------- */

typedef struct scan {
    const kiln_onnx_graph *body;
    size_t n_states, n_scans, n_gathered;
    const int64_t *in_dir, *out_axis, *out_dir; /* NULL: all 0 */
    int *axis;                                  /* of each scan input */
    int64_t n_steps;
    kiln_value **in; /* all inputs of the node */
} scan;

static kiln_status read_scan_list(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                  const char *name, size_t count, const int64_t **v) {
    const size_t got = kiln_onnx_attr_ints(cx, n, name, v);
    if (*v != NULL && got != count)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "attribute '%s' must have %zu entries, has %zu", name,
                              count, got);
    return KILN_OK;
}

static kiln_status read_steps(kiln_onnx_cx *cx, scan *s, const int64_t *in_axis) {
    s->axis = kiln_array(&cx->scratch, int, s->n_scans);
    for (size_t i = 0; i < s->n_scans; i++) {
        const kiln_type *const t = &s->in[s->n_states + i]->type;
        KILN_TRY(kiln_axis_normalize(in_axis == NULL ? 0 : in_axis[i], t->rank,
                                     &s->axis[i], cx->err));
        const int64_t steps = t->dim[s->axis[i]];
        if (i > 0 && steps != s->n_steps)
            return kiln_onnx_fail(
                cx, KILN_ERR_SHAPE,
                "scan inputs must have one length, input 0 has %" PRId64
                " and input %zu %" PRId64,
                s->n_steps, i, steps);
        s->n_steps = steps;
    }
    if (s->n_steps > MAX_STEPS)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                              "a loop may have at most %d steps, has %" PRId64,
                              (int)MAX_STEPS, s->n_steps);
    return KILN_OK;
}

static kiln_status read_scan(kiln_onnx_cx *cx, const kiln_onnx_node *n, scan *s) {
    const int64_t *in_axis;
    s->body = kiln_onnx_attr_graph(cx, n, "body");
    const int64_t n_scans = kiln_onnx_attr_i(cx, n, "num_scan_inputs", 0);
    if (s->body == NULL || n_scans < 1 || (uint64_t)n_scans > n->n_input)
        return kiln_onnx_fail(
            cx, KILN_ERR_PARSE,
            "attributes 'body' and 'num_scan_inputs' must be given and "
            "fit the node's %zu inputs",
            n->n_input);
    s->n_scans = (size_t)n_scans;
    s->n_states = n->n_input - s->n_scans;
    if (s->body->n_output < s->n_states || s->body->n_output < n->n_output)
        return kiln_onnx_fail(
            cx, KILN_ERR_PARSE, "body must have at least %zu outputs, has %zu",
            s->n_states > n->n_output ? s->n_states : n->n_output, s->body->n_output);
    s->n_gathered = s->body->n_output - s->n_states;
    s->in = kiln_array(&cx->scratch, kiln_value *, n->n_input);
    for (size_t i = 0; i < n->n_input; i++)
        KILN_TRY(
            kiln_onnx_need(cx, n, (int)i, "initial_state_and_scan_inputs", &s->in[i]));
    KILN_TRY(read_scan_list(cx, n, "scan_input_axes", s->n_scans, &in_axis));
    KILN_TRY(read_scan_list(cx, n, "scan_input_directions", s->n_scans, &s->in_dir));
    KILN_TRY(read_scan_list(cx, n, "scan_output_axes", s->n_gathered, &s->out_axis));
    KILN_TRY(
        read_scan_list(cx, n, "scan_output_directions", s->n_gathered, &s->out_dir));
    return read_steps(cx, s, in_axis);
}

static kiln_status scan_step(kiln_onnx_cx *cx, const kiln_onnx_node *n, scan *s,
                             int64_t t, gathered *g) {
    kiln_value **const actual = kiln_array(&cx->scratch, kiln_value *, n->n_input);
    kiln_value **const outs = kiln_array(&cx->scratch, kiln_value *, s->body->n_output);
    memcpy(actual, s->in, n->n_input * sizeof *actual);
    for (size_t i = 0; i < s->n_scans; i++) {
        const bool is_reversed = s->in_dir != NULL && s->in_dir[i] != 0;
        KILN_TRY(take_step(cx, n, s->in[s->n_states + i], s->axis[i],
                           is_reversed ? s->n_steps - 1 - t : t,
                           &actual[s->n_states + i]));
    }
    KILN_TRY(kiln_onnx_inline_with(cx, step_prefix(cx, n, t), s->body, actual,
                                   n->n_input, outs));
    for (size_t i = 0; i < s->n_states; i++) {
        KILN_TRY(check_state(cx, s->in[i], outs[i], i));
        s->in[i] = outs[i];
    }
    for (size_t i = 0; i < s->n_gathered; i++)
        KILN_TRY(gather_add(cx, n, &g[i], s->out_axis == NULL ? 0 : s->out_axis[i],
                            outs[s->n_states + i]));
    return KILN_OK;
}

kiln_status kiln_onnx_import_scan(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    scan s = {0};
    KILN_TRY(read_scan(cx, n, &s));
    gathered *const g = kiln_array(&cx->scratch, gathered, s.n_gathered);
    for (int64_t t = 0; t < s.n_steps; t++)
        KILN_TRY(scan_step(cx, n, &s, t, g));
    for (size_t i = 0; i < s.n_states; i++)
        kiln_onnx_set(cx, n, (int)i, s.in[i]);
    for (size_t i = 0; i < s.n_gathered; i++) {
        kiln_value *out;
        const bool is_reversed = s.out_dir != NULL && s.out_dir[i] != 0;
        const int slot = (int)(s.n_states + i);
        if (!kiln_onnx_wants(n, slot))
            continue;
        KILN_TRY(gather_end(cx, n, &g[i], s.out_axis == NULL ? 0 : s.out_axis[i],
                            is_reversed, &out));
        kiln_onnx_set(cx, n, slot, out);
    }
    return KILN_OK;
}

/* ---- Loop
 * ----------------------------------------------------------------------------- */

typedef struct loop {
    const kiln_onnx_graph *body;
    size_t n_states, n_gathered;
    kiln_value **state;
    gathered *g;
} loop;

static kiln_status read_condition(kiln_onnx_cx *cx, kiln_value *v, bool *out) {
    const int64_t *c = NULL;
    size_t count = 0;
    KILN_TRY(kiln_onnx_const_ints(cx, v, "cond", &c, &count));
    if (count != 1)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "cond must be one bool");
    *out = c[0] != 0;
    return KILN_OK;
}

/* The largest number of steps; how many there are the condition says too. */
static kiln_status read_trip_count(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                   int64_t *out) {
    kiln_value *const m = kiln_onnx_in(cx, n, 0);
    const int64_t *v = NULL;
    size_t count = 1;
    *out = INT64_MAX;
    if (m == NULL)
        return KILN_OK;
    KILN_TRY(kiln_onnx_const_ints(cx, m, "M", &v, &count));
    if (count != 1)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "input 'M' must be one number");
    *out = v[0];
    return KILN_OK;
}

static kiln_status read_loop(kiln_onnx_cx *cx, const kiln_onnx_node *n, loop *l) {
    l->body = kiln_onnx_attr_graph(cx, n, "body");
    l->n_states = n->n_input > 2 ? n->n_input - 2 : 0;
    if (l->body == NULL || l->body->n_output < 1 + l->n_states ||
        l->body->n_output - 1 < n->n_output)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "attribute 'body' must be given, with outputs for the "
                              "condition and each output of the node");
    l->n_gathered = l->body->n_output - 1 - l->n_states;
    l->state = kiln_array(&cx->scratch, kiln_value *, l->n_states);
    for (size_t i = 0; i < l->n_states; i++)
        KILN_TRY(kiln_onnx_need(cx, n, (int)i + 2, "v_initial", &l->state[i]));
    l->g = kiln_array(&cx->scratch, gathered, l->n_gathered);
    return KILN_OK;
}

static kiln_status loop_step(kiln_onnx_cx *cx, const kiln_onnx_node *n, loop *l,
                             int64_t t, bool *goes_on) {
    const size_t n_actual = 2 + l->n_states;
    kiln_value **const actual = kiln_array(&cx->scratch, kiln_value *, n_actual);
    kiln_value **const outs = kiln_array(&cx->scratch, kiln_value *, l->body->n_output);
    actual[0] = kiln_graph_const_i64(cx->scope->g, "step", t);
    actual[1] = kiln_onnx_scalar(cx, KILN_BOOL, 1);
    for (size_t i = 0; i < l->n_states; i++)
        actual[2 + i] = l->state[i];
    KILN_TRY(kiln_onnx_inline_with(cx, step_prefix(cx, n, t), l->body, actual, n_actual,
                                   outs));
    KILN_TRY(read_condition(cx, outs[0], goes_on));
    for (size_t i = 0; i < l->n_states; i++)
        l->state[i] = outs[1 + i];
    for (size_t i = 0; i < l->n_gathered; i++)
        KILN_TRY(gather_add(cx, n, &l->g[i], 0, outs[1 + l->n_states + i]));
    return KILN_OK;
}

kiln_status kiln_onnx_import_loop(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    loop l = {0};
    int64_t trip_count;
    bool goes_on = true;
    KILN_TRY(read_loop(cx, n, &l));
    KILN_TRY(read_trip_count(cx, n, &trip_count));
    if (kiln_onnx_in(cx, n, 1) != NULL)
        KILN_TRY(read_condition(cx, kiln_onnx_in(cx, n, 1), &goes_on));
    for (int64_t t = 0; t < trip_count && goes_on; t++) {
        if (t == MAX_STEPS)
            return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                                  "a loop may have at most %d steps", (int)MAX_STEPS);
        KILN_TRY(loop_step(cx, n, &l, t, &goes_on));
    }
    for (size_t i = 0; i < l.n_states; i++)
        kiln_onnx_set(cx, n, (int)i, l.state[i]);
    for (size_t i = 0; i < l.n_gathered; i++) {
        kiln_value *out;
        const int slot = (int)(l.n_states + i);
        if (!kiln_onnx_wants(n, slot))
            continue;
        KILN_TRY(gather_end(cx, n, &l.g[i], 0, false, &out));
        kiln_onnx_set(cx, n, slot, out);
    }
    return KILN_OK;
}
