/* Importers of IF and WHILE: other subgraphs of the model, which take all that they read
 * as inputs. A condition that is known chooses a branch, or ends a loop, at import; an IF
 * whose condition is not becomes the operator `if`. A loop that data may end is written
 * out as often as it can run at most. Source: TensorFlow Lite, if.cc, while.cc. */
#include "compiler/frontend/masked_loop.h"
#include "compiler/frontend/tflite/tflite_internal.h"

#include <inttypes.h>

/* The only bool of a condition, where it is known. */
static kiln_status read_condition(kiln_tflite_cx *cx, kiln_value *v, bool *is_true) {
    const int64_t *i;
    size_t n;
    if (v->type.dtype != KILN_BOOL || kiln_type_elems(&v->type) != 1)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "a condition must be one bool, is %s",
                                kiln_type_text(&cx->common.scratch, &v->type));
    KILN_TRY(kiln_import_const_ints(&cx->common, v, "condition", &i, &n));
    *is_true = i[0] != 0;
    return KILN_OK;
}

static kiln_status read_operand_list(kiln_tflite_cx *cx, int first, kiln_value ***out,
                                     size_t *n) {
    *n = (size_t)(kiln_tflite_n_in(cx) - first);
    *out = kiln_array(&cx->common.scratch, kiln_value *, *n);
    for (size_t i = 0; i < *n; i++)
        KILN_TRY(kiln_tflite_need(cx, first + (int)i, "operand", &(*out)[i]));
    return KILN_OK;
}

static kiln_status set_all(kiln_tflite_cx *cx, kiln_value *const *v, size_t n) {
    if (n < (size_t)kiln_tflite_n_out(cx))
        return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                "the subgraph has %zu outputs for the operator's %d", n,
                                kiln_tflite_n_out(cx));
    for (int i = 0; i < kiln_tflite_n_out(cx); i++)
        KILN_TRY(kiln_tflite_set(cx, i, v[i]));
    return KILN_OK;
}

/* ---- IF ----------------------------------------------------------------------------- */

/* A subgraph as a region, whose inputs are the operands. */
static kiln_status make_region(kiln_tflite_cx *cx, int64_t subgraph, const char *name,
                               kiln_value *const *in, size_t n, kiln_graph **out) {
    kiln_value **const own = kiln_array(&cx->common.scratch, kiln_value *, n);
    kiln_value **made;
    size_t n_made;
    kiln_graph *const around = cx->common.graph;
    kiln_graph *const g = kiln_graph_new(cx->common.arena, name);
    for (size_t i = 0; i < n; i++)
        own[i] = kiln_graph_add_input(g, in[i]->name, &in[i]->type);
    cx->common.graph = g;
    const kiln_status st = kiln_tflite_inline(cx, subgraph, own, n, &made, &n_made);
    cx->common.graph = around;
    KILN_TRY(st);
    if (n_made != (size_t)kiln_tflite_n_out(cx))
        return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                "a branch has %zu outputs, the operator %d", n_made,
                                kiln_tflite_n_out(cx));
    for (size_t i = 0; i < n_made; i++)
        kiln_graph_add_output(g, made[i], made[i]->name);
    g->facts |= KILN_TYPED;
    *out = g;
    return KILN_OK;
}

static kiln_status emit_if(kiln_tflite_cx *cx, kiln_value *cond, kiln_value *const *in,
                           size_t n) {
    kiln_graph *yes, *no;
    kiln_value **const all = kiln_array(&cx->common.scratch, kiln_value *, 1 + 2 * n);
    const int n_out = kiln_tflite_n_out(cx);
    kiln_value **const out = kiln_array(&cx->common.scratch, kiln_value *, n_out);
    KILN_TRY(make_region(cx, cx->opt.first, "then", in, n, &yes));
    KILN_TRY(make_region(cx, cx->opt.second, "else", in, n, &no));
    KILN_TRY(kiln_import_reshape(&cx->common, cx->op, cond, 0, NULL, &all[0]));
    for (size_t i = 0; i < n; i++)
        all[1 + i] = all[1 + n + i] = in[i];
    const kiln_attr_arg args[] = {kiln_arg_graph("then_branch", yes),
                                  kiln_arg_graph("else_branch", no)};
    KILN_TRY(kiln_import_emit(&cx->common, cx->op, &kiln_op_if, all, (int)(1 + 2 * n),
                              args, 2, n_out, out));
    return set_all(cx, out, (size_t)n_out);
}

kiln_status kiln_tflite_import_if(kiln_tflite_cx *cx) {
    kiln_value *cond, **in, **out;
    size_t n, n_out;
    bool is_true;
    KILN_TRY(kiln_tflite_need(cx, 0, "condition", &cond));
    KILN_TRY(read_operand_list(cx, 1, &in, &n));
    if (cond->type.dtype != KILN_BOOL || kiln_type_elems(&cond->type) != 1)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "a condition must be one bool, is %s",
                                kiln_type_text(&cx->common.scratch, &cond->type));
    if (!kiln_value_is_const(cond))
        return emit_if(cx, cond, in, n);
    KILN_TRY(read_condition(cx, cond, &is_true));
    KILN_TRY(kiln_tflite_inline(cx, is_true ? cx->opt.first : cx->opt.second, in, n,
                                &out, &n_out));
    return set_all(cx, out, n_out);
}

/* ---- WHILE -------------------------------------------------------------------------- */

/* What the condition says before a step. */
static kiln_status ask(kiln_tflite_cx *cx, kiln_masked_loop *l, kiln_compose *c,
                       kiln_value *const *in, size_t n, bool *goes_on) {
    kiln_value **out;
    size_t n_out;
    KILN_TRY(kiln_tflite_inline(cx, cx->opt.first, in, n, &out, &n_out));
    if (n_out != 1)
        return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                "a condition must have 1 output, has %zu", n_out);
    return kiln_masked_loop_ask(l, c, out[0], false, goes_on);
}

kiln_status kiln_tflite_import_while(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_masked_loop loop = {0};
    kiln_value **in, **out;
    size_t n, n_out;
    bool goes_on;
    KILN_TRY(read_operand_list(cx, 0, &in, &n));
    kiln_carried *const v = kiln_array(&cx->common.scratch, kiln_carried, n);
    for (size_t i = 0; i < n; i++)
        v[i] = (kiln_carried){in[i], in[i]};
    for (;;) {
        KILN_TRY(ask(cx, &loop, &c, in, n, &goes_on));
        if (!goes_on)
            break;
        KILN_TRY(kiln_tflite_inline(cx, cx->opt.second, in, n, &out, &n_out));
        if (n_out != n)
            return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                    "the body of a loop of %zu values has %zu outputs",
                                    n, n_out);
        in = kiln_array(&cx->common.scratch, kiln_value *, n);
        for (size_t i = 0; i < n; i++) {
            KILN_TRY(kiln_masked_loop_carry(&loop, &c, out[i], &v[i]));
            in[i] = v[i].now;
        }
    }
    for (size_t i = 0; i < n; i++)
        in[i] = v[i].result;
    return set_all(cx, in, n);
}
