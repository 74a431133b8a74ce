/* A region run once for each element along axis 0 of its sequences (ONNX Scan 9 to 25;
 * an importer transposes other axes and reverses directions, before and behind).
 *
 *   inputs   n_state states, n_scan sequences [T, ...], then what the body captures
 *   body     takes the states, one element [...] of each sequence, what it captures;
 *            gives the next states, then what is stacked
 *   outputs  the last states, then for each stacked output [T, ...]
 *
 * T is static. Exact: it adds no error to that of the operators inside. */
#include "compiler/op/op_common.h"

#include <inttypes.h>
#include <string.h>

enum { BODY, N_STATE, N_SCAN };

static const kiln_attr_def attrs[] = {
    [BODY] = {.name = "body",
              .kind = KILN_ATTR_GRAPH,
              .doc = "one step",
              .is_required = true},
    [N_STATE] = {.name = "n_state",
                 .kind = KILN_ATTR_INT,
                 .doc = "number of states",
                 .is_required = true},
    [N_SCAN] = {.name = "n_scan",
                .kind = KILN_ATTR_INT,
                .doc = "number of sequences, at least 1",
                .is_required = true},
};

static int64_t n_steps(const kiln_node *n) {
    return n->in[n->attr[N_STATE].i]->type.dim[0];
}

/* ---- inference ---- */

static kiln_status check_counts(const kiln_node *n, kiln_err *err) {
    const kiln_graph *body = n->attr[BODY].graph;
    const int64_t n_state = n->attr[N_STATE].i, n_scan = n->attr[N_SCAN].i;
    if (n_state < 0 || n_state > n->n_in || n_scan < 1 || n_scan > n->n_in - n_state)
        return kiln_fail(
            err, KILN_ERR_SHAPE,
            "n_state must be >= 0, n_scan >= 1 and their sum at most the %d "
            "inputs, are %" PRId64 " and %" PRId64,
            n->n_in, n_state, n_scan);
    if (body->inputs.n != (size_t)n->n_in)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "body must take the node's %d inputs, takes %zu", n->n_in,
                         body->inputs.n);
    if (body->outputs.n != (size_t)n->n_out || n->n_out < n_state)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "body must give the node's %d outputs, of which %" PRId64
                         " are states, gives %zu",
                         n->n_out, n_state, body->outputs.n);
    return KILN_OK;
}

static kiln_status check_type(const char *what, int64_t i, const kiln_type *want,
                              const kiln_type *got, kiln_err *err) {
    if (kiln_type_eq(want, got))
        return KILN_OK;
    kiln_arena a = {0};
    kiln_fail(err, KILN_ERR_SHAPE, "%s %" PRId64 " must be %s, is %s", what, i,
              kiln_type_text(&a, want), kiln_type_text(&a, got));
    kiln_arena_fini(&a);
    return KILN_ERR_SHAPE;
}

/* The type of one element of a sequence. */
static kiln_status element_type(const kiln_node *n, int64_t k, kiln_type *out,
                                kiln_err *err) {
    const kiln_type *t = &n->in[k]->type, *first = &n->in[n->attr[N_STATE].i]->type;
    if (t->rank < 1 || t->dim[0] != first->dim[0]) {
        kiln_arena a = {0};
        kiln_fail(err, KILN_ERR_SHAPE,
                  "sequences must have one length on axis 0, are %s and %s",
                  kiln_type_text(&a, first), kiln_type_text(&a, t));
        kiln_arena_fini(&a);
        return KILN_ERR_SHAPE;
    }
    if (!kiln_layout_is_plain(&t->layout))
        return kiln_fail(err, KILN_ERR_SHAPE, "sequences must have a row-major layout");
    *out = kiln_type_make(t->dtype, t->rank - 1, t->dim + 1);
    return KILN_OK;
}

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    KILN_TRY(check_counts(n, err));
    const kiln_graph *body = n->attr[BODY].graph;
    const int64_t n_state = n->attr[N_STATE].i, n_scan = n->attr[N_SCAN].i;
    for (int64_t k = 0; k < n->n_in; k++) {
        kiln_type t = n->in[k]->type;
        if (k >= n_state && k < n_state + n_scan)
            KILN_TRY(element_type(n, k, &t, err));
        KILN_TRY(check_type("body's input", k, &t, &body->inputs.v[k]->type, err));
    }
    for (int64_t k = 0; k < n->n_out; k++) {
        const kiln_type *t = &body->outputs.v[k]->type;
        if (k < n_state) {
            KILN_TRY(check_type("body's state", k, &n->in[k]->type, t, err));
            out[k] = *t;
            continue;
        }
        if (t->rank == KILN_MAX_RANK)
            return kiln_fail(err, KILN_ERR_LIMIT,
                             "body's output %" PRId64 " has %d axes, stacked it would "
                             "have more than the limit of %d",
                             k, t->rank, (int)KILN_MAX_RANK);
        int64_t dim[KILN_MAX_RANK] = {n_steps(n)};
        for (int i = 0; i < t->rank; i++)
            dim[i + 1] = t->dim[i];
        out[k] = kiln_type_make(t->dtype, t->rank + 1, dim);
    }
    return KILN_OK;
}

static void captures(const kiln_node *n, size_t attr, size_t *of_node,
                     size_t *of_region) {
    (void)attr;
    *of_node = *of_region = (size_t)(n->attr[N_STATE].i + n->attr[N_SCAN].i);
}

/* ---- evaluation ---- */

static void copy(kiln_wide *dst, int64_t d, const kiln_wide *src) {
    const size_t n = (size_t)kiln_type_elems(&src->type);
    if (dst->f != NULL)
        memcpy(dst->f + d, src->f, n * sizeof(double));
    else
        memcpy(dst->i + d, src->i, n * sizeof(int64_t));
}

/* Element t of a sequence, in place. */
static kiln_wide element(const kiln_wide *seq, int64_t t) {
    kiln_wide w = {
        .type = kiln_type_make(seq->type.dtype, seq->type.rank - 1, seq->type.dim + 1)};
    const int64_t at = t * kiln_type_elems(&w.type);
    if (seq->f != NULL)
        w.f = seq->f + at;
    else
        w.i = seq->i + at;
    return w;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const int64_t n_state = n->attr[N_STATE].i, n_scan = n->attr[N_SCAN].i;
    kiln_wide *in = kiln_array(cx->scratch, kiln_wide, n->n_in);
    kiln_wide *got = kiln_array(cx->scratch, kiln_wide, n->n_out);
    for (int64_t k = 0; k < n->n_in; k++)
        in[k] = cx->in[k];
    for (int64_t k = 0; k < n_state; k++) { /* the states live in the outputs */
        copy(&cx->out[k], 0, &cx->in[k]);
        in[k] = cx->out[k];
    }
    const int64_t steps = n_steps(n);
    for (int64_t t = 0; t < steps; t++) {
        const kiln_arena_mark mark = kiln_arena_save(cx->scratch);
        for (int64_t k = n_state; k < n_state + n_scan; k++)
            in[k] = element(&cx->in[k], t);
        KILN_TRY(cx->eval_region(cx, n->attr[BODY].graph, in, got, cx->err));
        for (int64_t k = 0; k < n->n_out; k++)
            copy(&cx->out[k], k < n_state ? 0 : t * kiln_type_elems(&got[k].type),
                 &got[k]);
        kiln_arena_rewind(cx->scratch, mark);
    }
    return KILN_OK;
}

const kiln_op_def kiln_op_scan = {
    .name = "scan",
    .doc = "body run for each element of its sequences, with states handed on and "
           "outputs stacked",
    .n_in_min = 1,
    .n_in_max = KILN_VARIADIC,
    .n_out_min = 1,
    .n_out_max = KILN_VARIADIC,
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_ANY,
    .fuse = KILN_FUSE_OPAQUE,
    .layout = KILN_LAYOUT_DEPENDENT,
    .infer = infer,
    .eval_ref = eval_ref,
    .region_runs = n_steps,
    .captures = captures,
    .error_bound = kiln_bound_exact,
    .compute =
        NULL, /* control flow: whoever runs the graph runs its region step by step */
};
