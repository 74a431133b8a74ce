/* If (1, 11, 13 to 25) of ai.onnx: a constant condition picks its branch at import;
 * else both branches become regions. */
#include "compiler/frontend/onnx/import_core.h"

#include <string.h>

static kiln_status read_branch(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                               const char *name, const kiln_onnx_graph **out) {
    *out = kiln_onnx_attr_graph(cx, n, name);
    if (*out == NULL)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE, "attribute '%s' is missing", name);
    if ((*out)->n_output < n->n_output || (*out)->n_output == 0)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "%s must have %zu outputs as the node does, has %zu",
                              name, n->n_output, (*out)->n_output);
    return KILN_OK;
}

static kiln_status take_branch(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                               const kiln_onnx_graph *branch) {
    kiln_value **const outs =
        kiln_array(&cx->common.scratch, kiln_value *, branch->n_output);
    KILN_TRY(kiln_onnx_inline(cx, n, branch, outs));
    for (size_t i = 0; i < n->n_output; i++)
        kiln_onnx_set(cx, n, (int)i, outs[i]);
    return KILN_OK;
}

/* ONNX allows a condition of any shape with one element. */
static kiln_status read_condition(kiln_onnx_cx *cx, kiln_value *cond, bool *out) {
    const int64_t *v = NULL;
    size_t count = 0;
    KILN_TRY(kiln_onnx_const_ints(cx, cond, "cond", &v, &count));
    *out = v[0] != 0;
    return KILN_OK;
}

typedef struct branch {
    kiln_graph *region;
    kiln_value **captured;
    size_t n_captured;
} branch;

static bool same_results(const branch *a, const branch *b) {
    bool same = a->region->outputs.n == b->region->outputs.n;
    for (size_t i = 0; same && i < a->region->outputs.n; i++)
        same = kiln_type_eq(&a->region->outputs.v[i]->type,
                            &b->region->outputs.v[i]->type);
    return same;
}

static kiln_status emit_if(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *cond,
                           const branch *yes, const branch *no) {
    const size_t n_in = 1 + yes->n_captured + no->n_captured;
    const size_t n_out = yes->region->outputs.n;
    kiln_value **const in = kiln_array(&cx->common.scratch, kiln_value *, n_in);
    kiln_value **const outs = kiln_array(&cx->common.scratch, kiln_value *, n_out);
    in[0] = cond;
    for (size_t i = 0; i < yes->n_captured; i++)
        in[1 + i] = yes->captured[i];
    for (size_t i = 0; i < no->n_captured; i++)
        in[1 + yes->n_captured + i] = no->captured[i];
    const kiln_attr_arg args[] = {kiln_arg_graph("then_branch", yes->region),
                                  kiln_arg_graph("else_branch", no->region)};
    KILN_TRY(
        kiln_onnx_emit(cx, n, &kiln_op_if, in, (int)n_in, args, 2, (int)n_out, outs));
    for (size_t i = 0; i < n->n_output; i++)
        kiln_onnx_set(cx, n, (int)i, outs[i]);
    return KILN_OK;
}

/* ---- branches that do not fit ---------------------------------------------------- */

/* A branch as a region; where that fails, the import goes on as if nothing was tried.
 */
static kiln_status try_branch(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                              const kiln_onnx_graph *sub, branch *b,
                              kiln_err *failure) {
    kiln_onnx_scope *const scope = cx->scope;
    const kiln_err attr_err = cx->attr_err;
    const kiln_status st =
        kiln_onnx_region(cx, n, sub, NULL, 0, &b->region, &b->captured, &b->n_captured);
    if (st == KILN_OK)
        return st;
    *failure = cx->attr_err.status != KILN_OK ? cx->attr_err : *cx->common.err;
    kiln_onnx_set_scope(cx, scope);
    cx->attr_err = attr_err;
    kiln_err_clear(cx->common.err);
    return failure->status;
}

/* "--bind sr=16000 --bind mode=VALUE", and the inputs' names. */
static void put_remedy(kiln_onnx_cx *cx, kiln_value *cond, bool result, kiln_buf *names,
                       kiln_buf *binds) {
    enum { MAX_SHOWN = 4 };
    const char *input[MAX_SHOWN];
    const size_t n = kiln_onnx_leads_to(cx, cond, input, MAX_SHOWN);
    const char *const value = n == 1 ? kiln_onnx_value_for(cx, cond, result) : NULL;
    for (size_t i = 0; i < n; i++) {
        const char *const name = kiln_onnx_show(cx, kiln_str_from(input[i]));
        kiln_buf_printf(names, "%s'%s'", i > 0 ? ", " : "", name);
        kiln_buf_puts(binds, i > 0 ? " --bind" : "--bind");
        kiln_buf_put_word(binds, kiln_format(&cx->common.scratch, "%s=%s", name,
                                             value != NULL ? value : "VALUE"));
    }
}

/* The branch that failed is named, with what would keep it out of the graph. */
static kiln_status refuse(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *cond,
                          const kiln_err failure[2]) {
    static const char *const branch_name[] = {"else_branch", "then_branch"};
    const int bad = failure[1].status != KILN_OK;
    const bool other_fits = failure[!bad].status == KILN_OK;
    kiln_buf names, binds;
    kiln_buf_init(&names, &cx->common.scratch);
    kiln_buf_init(&binds, &cx->common.scratch);
    put_remedy(cx, cond, !bad, &names, &binds);
    *cx->common.err = failure[bad];
    if (other_fits && names.n > 0)
        kiln_note(cx->common.err,
                  "importing the %s of If %s; the other branch fits: which one runs "
                  "depends on graph input %s, so fix its value with %s",
                  branch_name[bad], kiln_onnx_show_node(cx, n), names.p, binds.p);
    else if (other_fits)
        kiln_note(cx->common.err, "importing the %s of If %s; the other branch fits",
                  branch_name[bad], kiln_onnx_show_node(cx, n));
    else
        kiln_note(cx->common.err,
                  "importing the %s of If %s; the other branch does not fit "
                  "either",
                  branch_name[bad], kiln_onnx_show_node(cx, n));
    return failure[bad].status;
}

/* One branch or both do not fit the shapes. Where the condition is known, by hints,
 * only the branch that runs has to. */
static kiln_status settle(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *cond,
                          const kiln_onnx_graph *const sub[2],
                          const kiln_err failure[2]) {
    bool is_true;
    if (read_condition(cx, cond, &is_true) == KILN_OK)
        return take_branch(cx, n, sub[is_true]);
    return refuse(cx, n, cond, failure);
}

kiln_status kiln_onnx_import_if(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    const kiln_onnx_graph *then_graph, *else_graph;
    kiln_value *cond;
    bool is_true;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "cond", &cond));
    KILN_TRY(read_branch(cx, n, "then_branch", &then_graph));
    KILN_TRY(read_branch(cx, n, "else_branch", &else_graph));
    if (cond->type.dtype != KILN_BOOL || kiln_type_elems(&cond->type) != 1)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "input 'cond' must be one bool, is %s",
                              kiln_type_text(&cx->common.scratch, &cond->type));
    if (kiln_value_is_const(cond)) {
        KILN_TRY(read_condition(cx, cond, &is_true));
        return take_branch(cx, n, is_true ? then_graph : else_graph);
    }
    branch yes = {0}, no = {0};
    const kiln_onnx_graph *const sub[] = {else_graph, then_graph};
    kiln_err *const failure = kiln_array(&cx->common.scratch, kiln_err, 2);
    const kiln_status st = try_branch(cx, n, then_graph, &yes, &failure[1]);
    if (st == KILN_ERR_LIMIT) {
        *cx->common.err = failure[1];
        return st;
    }
    const kiln_status other = try_branch(cx, n, else_graph, &no, &failure[0]);
    if (st != KILN_OK || other != KILN_OK)
        return settle(cx, n, cond, sub, failure);
    if (same_results(&yes, &no)) {
        KILN_TRY(kiln_onnx_reshape(cx, n, cond, 0, NULL, &cond));
        return emit_if(cx, n, cond, &yes, &no);
    }
    /* Shapes that differ can't be one value: the condition must then be known now. */
    KILN_TRY(read_condition(cx, cond, &is_true));
    return take_branch(cx, n, is_true ? then_graph : else_graph);
}
