/* One of two regions, chosen by a condition (ONNX If 21, with output types that both
 * branches share).
 *
 * Inputs: the condition, then the values that then_branch captures, then those that
 * else_branch captures, each in the order of the region's inputs; a value that both
 * capture is listed twice. Only the chosen branch runs. Exact: it adds no error to that
 * of the operators inside. */
#include "compiler/op/op_common.h"

enum { THEN_BRANCH, ELSE_BRANCH };

static const kiln_attr_def attrs[] = {
    [THEN_BRANCH] = {.name = "then_branch",
                     .kind = KILN_ATTR_GRAPH,
                     .doc = "runs where the condition is true",
                     .is_required = true},
    [ELSE_BRANCH] = {.name = "else_branch",
                     .kind = KILN_ATTR_GRAPH,
                     .doc = "runs where the condition is false",
                     .is_required = true},
};

/* The captured values from n->in[first] on must be what the region's inputs say. */
static kiln_status check_captured(const kiln_node *n, int attr, int first,
                                  kiln_err *err) {
    const kiln_graph *region = n->attr[attr].graph;
    kiln_arena a = {0};
    kiln_status st = KILN_OK;
    for (size_t i = 0; i < region->inputs.n && st == KILN_OK; i++) {
        const kiln_value *got = n->in[first + (int)i], *want = region->inputs.v[i];
        if (got == NULL)
            st = kiln_fail(err, KILN_ERR_SHAPE,
                           "input '%s' of %s must be given, is absent", want->name,
                           attrs[attr].name);
        else if (!kiln_type_eq(&got->type, &want->type))
            st =
                kiln_fail(err, KILN_ERR_SHAPE, "input '%s' of %s must be %s, is %s",
                          want->name, attrs[attr].name, kiln_type_text(&a, &want->type),
                          kiln_type_text(&a, &got->type));
    }
    kiln_arena_fini(&a);
    return st;
}

static kiln_status check_inputs(const kiln_node *n, kiln_err *err) {
    const kiln_type *cond = &n->in[0]->type;
    if (cond->dtype != KILN_BOOL || cond->rank != 0) {
        kiln_arena a = {0};
        kiln_fail(err, KILN_ERR_SHAPE, "input 'cond' must be a bool scalar, is %s",
                  kiln_type_text(&a, cond));
        kiln_arena_fini(&a);
        return KILN_ERR_SHAPE;
    }
    const size_t n_then = n->attr[THEN_BRANCH].graph->inputs.n;
    const size_t n_else = n->attr[ELSE_BRANCH].graph->inputs.n;
    if ((size_t)n->n_in != 1 + n_then + n_else)
        return kiln_fail(
            err, KILN_ERR_SHAPE,
            "then_branch and else_branch capture %zu and %zu values, inputs "
            "behind the condition are %d",
            n_then, n_else, n->n_in - 1);
    KILN_TRY(check_captured(n, THEN_BRANCH, 1, err));
    return check_captured(n, ELSE_BRANCH, 1 + (int)n_then, err);
}

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    KILN_TRY(check_inputs(n, err));
    const kiln_graph *t = n->attr[THEN_BRANCH].graph, *e = n->attr[ELSE_BRANCH].graph;
    if (t->outputs.n != (size_t)n->n_out || e->outputs.n != (size_t)n->n_out)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "both branches must have %d outputs, then_branch has %zu and "
                         "else_branch %zu",
                         n->n_out, t->outputs.n, e->outputs.n);
    for (int i = 0; i < n->n_out; i++) {
        const kiln_type *tt = &t->outputs.v[i]->type, *et = &e->outputs.v[i]->type;
        if (!kiln_type_eq(tt, et)) {
            kiln_arena a = {0};
            kiln_fail(
                err, KILN_ERR_SHAPE,
                "both branches must give one type, output %d is %s in then_branch "
                "and %s in else_branch",
                i, kiln_type_text(&a, tt), kiln_type_text(&a, et));
            kiln_arena_fini(&a);
            return KILN_ERR_SHAPE;
        }
        out[i] = *tt;
    }
    return KILN_OK;
}

static void captures(const kiln_node *n, size_t attr, size_t *of_node,
                     size_t *of_region) {
    *of_node = 1 + (attr == THEN_BRANCH ? 0 : n->attr[THEN_BRANCH].graph->inputs.n);
    *of_region = 0;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const bool cond = cx->in[0].i[0] != 0;
    const size_t n_then = n->attr[THEN_BRANCH].graph->inputs.n;
    const kiln_graph *region = n->attr[cond ? THEN_BRANCH : ELSE_BRANCH].graph;
    const kiln_wide *captured = cx->in + 1 + (cond ? 0 : n_then);
    kiln_wide *got = kiln_array(cx->scratch, kiln_wide, n->n_out);
    KILN_TRY(cx->eval_region(cx, region, captured, got, cx->err));
    for (int k = 0; k < n->n_out; k++) {
        const int64_t n_elems = kiln_type_elems(&got[k].type);
        for (int64_t i = 0; i < n_elems; i++)
            kiln_copy_elem(&cx->out[k], i, &got[k], i);
    }
    return KILN_OK;
}

static const char *const in_names[] = {"cond", NULL};

const kiln_op_def kiln_op_if = {
    .name = "if",
    .doc = "then_branch's outputs where cond is true, else else_branch's",
    .n_in_min = 1,
    .n_in_max = KILN_VARIADIC,
    .n_out_min = 1,
    .n_out_max = KILN_VARIADIC,
    .in_names = in_names,
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_BOOL,
    .fuse = KILN_FUSE_OPAQUE,
    .layout = KILN_LAYOUT_DEPENDENT,
    .infer = infer,
    .eval_ref = eval_ref,
    .captures = captures,
    .error_bound = kiln_bound_exact,
    .compute = NULL, /* control flow: whoever runs the graph runs a region */
};
