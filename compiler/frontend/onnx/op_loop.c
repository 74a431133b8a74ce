/* Loop (1, 11, 13 to 25) of ai.onnx, unrolled: all shapes are static, so the number of
 * steps must be. Each step is one copy of the body. (Scan keeps its body: op_scan.c.)
 */
#include "compiler/frontend/onnx/import_core.h"

#include <inttypes.h>

/* Beyond that the unrolled graph is no use; the node limit of an import holds too. */
enum { MAX_STEPS = 4096 };

/* Results of each step that become one value, along a new axis. */
typedef struct gathered {
    KILN_VEC(kiln_value *) piece;
} gathered;

/* Gives the piece an axis of size 1 in front. */
static kiln_status gather_add(kiln_onnx_cx *cx, const kiln_onnx_node *n, gathered *g,
                              kiln_value *v) {
    const int rank = v->type.rank + 1;
    if (rank > KILN_MAX_RANK)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT, "rank must be at most %d, is %d",
                              KILN_MAX_RANK, rank);
    int64_t dim[KILN_MAX_RANK] = {1};
    for (int i = 1; i < rank; i++)
        dim[i] = v->type.dim[i - 1];
    kiln_value *piece;
    KILN_TRY(kiln_onnx_reshape(cx, n, v, rank, dim, &piece));
    kiln_vec_push(&cx->common.scratch, &g->piece, piece);
    return KILN_OK;
}

static kiln_status gather_end(kiln_onnx_cx *cx, const kiln_onnx_node *n, gathered *g,
                              kiln_value **out) {
    const size_t count = g->piece.n;
    if (count == 0)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "a loop of no steps has no shape for its scan outputs");
    const kiln_attr_arg arg = kiln_arg_int("axis", 0);
    return kiln_onnx_emit(cx, n, &kiln_op_concat, g->piece.v, (int)count, &arg, 1, 1,
                          out);
}

static const char *step_prefix(kiln_onnx_cx *cx, const kiln_onnx_node *n, int64_t t) {
    return kiln_format(&cx->common.scratch, "%s%" PRId64 "/",
                       kiln_onnx_node_prefix(cx, n), t);
}

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
    l->state = kiln_array(&cx->common.scratch, kiln_value *, l->n_states);
    for (size_t i = 0; i < l->n_states; i++)
        KILN_TRY(kiln_onnx_need(cx, n, (int)i + 2, "v_initial", &l->state[i]));
    l->g = kiln_array(&cx->common.scratch, gathered, l->n_gathered);
    return KILN_OK;
}

static kiln_status loop_step(kiln_onnx_cx *cx, const kiln_onnx_node *n, loop *l,
                             int64_t t, bool *goes_on) {
    const size_t n_actual = 2 + l->n_states;
    kiln_value **const actual = kiln_array(&cx->common.scratch, kiln_value *, n_actual);
    kiln_value **const outs =
        kiln_array(&cx->common.scratch, kiln_value *, l->body->n_output);
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
        KILN_TRY(gather_add(cx, n, &l->g[i], outs[1 + l->n_states + i]));
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
        KILN_TRY(gather_end(cx, n, &l.g[i], &out));
        kiln_onnx_set(cx, n, slot, out);
    }
    return KILN_OK;
}
