/* Loop (1, 11, 13 to 25) of ai.onnx, unrolled: all shapes are static, so the number of
 * steps must be, or the largest that data may end. Each step is one copy of the body.
 * (Scan keeps its body: onnx_op_scan.c.) */
#include "compiler/frontend/masked_loop.h"
#include "compiler/frontend/onnx/import_core.h"

#include <inttypes.h>

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
    kiln_carried *state;
    gathered *g;
    kiln_masked_loop mask;
} loop;

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
    l->state = kiln_array(&cx->common.scratch, kiln_carried, l->n_states);
    for (size_t i = 0; i < l->n_states; i++) {
        KILN_TRY(kiln_onnx_need(cx, n, (int)i + 2, "v_initial", &l->state[i].now));
        l->state[i].result = l->state[i].now;
    }
    l->g = kiln_array(&cx->common.scratch, gathered, l->n_gathered);
    return KILN_OK;
}

/* *cond: of the next step. */
static kiln_status loop_step(kiln_onnx_cx *cx, const kiln_onnx_node *n, loop *l,
                             int64_t t, kiln_value **cond) {
    kiln_compose c = {.cx = &cx->common, .site = n};
    const size_t n_actual = 2 + l->n_states;
    kiln_value **const actual = kiln_array(&cx->common.scratch, kiln_value *, n_actual);
    kiln_value **const outs =
        kiln_array(&cx->common.scratch, kiln_value *, l->body->n_output);
    actual[0] = kiln_graph_const_i64(cx->scope->g, "step", t);
    actual[1] = kiln_onnx_scalar(cx, KILN_BOOL, 1);
    for (size_t i = 0; i < l->n_states; i++)
        actual[2 + i] = l->state[i].now;
    KILN_TRY(kiln_onnx_inline_with(cx, step_prefix(cx, n, t), l->body, actual, n_actual,
                                   outs));
    *cond = outs[0];
    for (size_t i = 0; i < l->n_states; i++)
        KILN_TRY(kiln_masked_loop_carry(&l->mask, &c, outs[1 + i], &l->state[i]));
    for (size_t i = 0; i < l->n_gathered; i++)
        KILN_TRY(gather_add(cx, n, &l->g[i], outs[1 + l->n_states + i]));
    return KILN_OK;
}

static kiln_status run_steps(kiln_onnx_cx *cx, const kiln_onnx_node *n, loop *l) {
    kiln_compose c = {.cx = &cx->common, .site = n};
    kiln_value *cond = kiln_onnx_in(cx, n, 1);
    int64_t trip_count;
    bool goes_on = true;
    KILN_TRY(read_trip_count(cx, n, &trip_count));
    if (cond == NULL)
        cond = kiln_onnx_scalar(cx, KILN_BOOL, 1);
    for (int64_t t = 0; t < trip_count; t++) {
        KILN_TRY(kiln_masked_loop_ask(&l->mask, &c, cond,
                                      trip_count <= KILN_LOOP_MASKED_STEPS, &goes_on));
        if (!goes_on)
            break;
        if (l->mask.alive != NULL && l->n_gathered > 0)
            return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                                  "a loop that data may end must have no scan outputs: "
                                  "their length would depend on data");
        KILN_TRY(loop_step(cx, n, l, t, &cond));
    }
    return KILN_OK;
}

kiln_status kiln_onnx_import_loop(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    loop l = {0};
    KILN_TRY(read_loop(cx, n, &l));
    KILN_TRY(run_steps(cx, n, &l));
    for (size_t i = 0; i < l.n_states; i++)
        kiln_onnx_set(cx, n, (int)i, l.state[i].result);
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
