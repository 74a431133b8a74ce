/* Making nodes of the Graph. A node whose inputs are all constant and whose outputs are
 * small is evaluated at once by the reference interpreter: the shape arithmetic that
 * exporters write never reaches the Graph. */
#include "compiler/frontend/onnx/counted.h"
#include "compiler/frontend/onnx/import_core.h"

#include "compiler/reference/reference.h"

#include <string.h>

enum {
    MAX_EAGER_OUT_BYTES = 64 * 1024, /* of one node's outputs */
    MAX_EAGER_IN_BYTES = 256 * 1024,
};
static const int64_t max_eager_flops = (int64_t)1 << 22; /* of one node */

const char *kiln_onnx_out_name(kiln_onnx_cx *cx, const kiln_onnx_node *n, int i) {
    enum { MAX_UNNAMED = 8 }; /* looked past: a node may have 10^5 outputs */
    kiln_str name = {0};
    if (kiln_onnx_wants(n, i))
        name = n->output[i];
    for (size_t k = 0; k < n->n_output && k < MAX_UNNAMED && name.n == 0; k++)
        name = n->output[k];
    if (name.n == 0)
        name = n->op_type;
    return kiln_onnx_prefixed(cx, cx->scope->prefix, name);
}

static const char *node_name(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    if (n->name.n == 0)
        return kiln_onnx_out_name(cx, n, 0);
    return kiln_onnx_prefixed(cx, cx->scope->prefix, n->name);
}

static bool has_region(const kiln_op_def *op) {
    for (size_t i = 0; i < op->n_attr; i++)
        if (op->attr[i].kind == KILN_ATTR_GRAPH)
            return true;
    return false;
}

static bool may_evaluate(const kiln_onnx_cx *cx, const kiln_op_def *op,
                         kiln_value *const *in, int n_in) {
    int64_t bytes = 0;
    for (int i = 0; i < n_in; i++) {
        if (in[i] == NULL)
            continue;
        if (!kiln_value_is_const(in[i]))
            return false;
        bytes += kiln_type_bytes(&in[i]->type);
        if (bytes > MAX_EAGER_IN_BYTES)
            return false;
    }
    return cx->eager_bytes > 0 && cx->eager_flops > 0 && !has_region(op);
}

/* Are the outputs of a node worth computing now? Spends what they cost. */
static bool is_cheap(kiln_onnx_cx *cx, const kiln_node *n) {
    int64_t bytes = 0;
    for (int i = 0; i < n->n_out; i++) {
        bytes += kiln_type_bytes(&n->out[i]->type);
        if (bytes > MAX_EAGER_OUT_BYTES || n->out[i]->count != NULL)
            return false;
    }
    kiln_cost cost = {0};
    kiln_node_cost(n, &cost);
    if (cost.flops > max_eager_flops)
        return false;
    cx->eager_bytes -= bytes;
    cx->eager_flops -= cost.flops;
    return true;
}

/* Builds the node in a graph of its own, so that nothing of it stays. *done: outs holds
 * constants. */
static kiln_status evaluate(kiln_onnx_cx *cx, const kiln_node_spec *spec,
                            kiln_value **outs, bool *done) {
    kiln_graph *const tmp = kiln_graph_new(&cx->scratch, "eager");
    kiln_tensor *const in = kiln_array(&cx->scratch, kiln_tensor, spec->n_in);
    kiln_value **const args = kiln_array(&cx->scratch, kiln_value *, spec->n_in);
    for (int i = 0; i < spec->n_in; i++) {
        const kiln_value *const v = spec->in[i];
        if (v == NULL)
            continue;
        in[i] = (kiln_tensor){v->type, (void *)(uintptr_t)v->data};
        args[i] = kiln_graph_add_const(tmp, v->name, &v->type, v->data);
    }
    kiln_node_spec own = *spec;
    own.in = args;
    kiln_node *n;
    KILN_TRY(kiln_graph_add_node(tmp, &own, &n, cx->err));
    if (!is_cheap(cx, n))
        return KILN_OK;
    kiln_tensor *const out = kiln_array(&cx->scratch, kiln_tensor, n->n_out);
    KILN_TRY(kiln_ref_eval_node(&cx->scratch, n, in, out, cx->err));
    for (int i = 0; i < n->n_out; i++) {
        const size_t bytes = (size_t)kiln_type_bytes(&out[i].type);
        outs[i] = kiln_graph_add_const(cx->scope->g, n->out[i]->name, &out[i].type,
                                       kiln_arena_dup(cx->arena, out[i].data, bytes));
    }
    *done = true;
    return KILN_OK;
}

/* Only rules know that the first rows of an operand count alone (counted.h). */
static kiln_status refuse_bounded(kiln_onnx_cx *cx, kiln_value *const *in, int n_in) {
    for (int i = 0; i < n_in && !cx->in_rule; i++)
        if (kiln_value_is_counted(in[i]))
            return kiln_onnx_refuse_counted(cx, in[i],
                                            "this operator has no rule for it");
    return KILN_OK;
}

kiln_status kiln_onnx_emit(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                           const kiln_op_def *op, kiln_value *const *in, int n_in,
                           const kiln_attr_arg *args, size_t n_args, int n_out,
                           kiln_value **outs) {
    KILN_TRY(refuse_bounded(cx, in, n_in));
    const kiln_arena_mark mark = kiln_arena_save(&cx->scratch);
    const int count = n_out > 0 ? n_out : op->n_out_min > 0 ? op->n_out_min : 1;
    const char **const names = kiln_array(&cx->scratch, const char *, count);
    for (int i = 0; i < count; i++)
        names[i] = kiln_onnx_out_name(cx, n, i);
    const kiln_node_spec spec = {
        .op = op,
        .name = node_name(cx, n),
        .in = in,
        .n_in = n_in,
        .n_out = count,
        .out_names = names,
        .args = args,
        .n_args = n_args,
    };
    bool done = false;
    kiln_status st = KILN_OK;
    if (may_evaluate(cx, op, in, n_in))
        st = evaluate(cx, &spec, outs, &done);
    if (st == KILN_OK && !done) {
        kiln_node *node;
        st = kiln_graph_add_node(cx->scope->g, &spec, &node, cx->err);
        for (int i = 0; st == KILN_OK && i < count; i++)
            outs[i] = node->out[i];
    }
    kiln_arena_rewind(&cx->scratch, mark);
    return st;
}

kiln_status kiln_onnx_emit1(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                            const kiln_op_def *op, kiln_value *x,
                            const kiln_attr_arg *args, size_t n_args,
                            kiln_value **out) {
    return kiln_onnx_emit(cx, n, op, &x, 1, args, n_args, 1, out);
}

kiln_status kiln_onnx_emit2(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                            const kiln_op_def *op, kiln_value *x, kiln_value *y,
                            kiln_value **out) {
    kiln_value *const in[] = {x, y};
    return kiln_onnx_emit(cx, n, op, in, 2, NULL, 0, 1, out);
}

kiln_status kiln_onnx_reshape(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                              int rank, const int64_t *dim, kiln_value **out) {
    if (x->type.rank == rank &&
        (rank == 0 || memcmp(x->type.dim, dim, (size_t)rank * sizeof *dim) == 0)) {
        *out = x;
        return KILN_OK;
    }
    const kiln_attr_arg shape = kiln_arg_ints("shape", dim, (size_t)rank);
    return kiln_onnx_emit1(cx, n, &kiln_op_reshape, x, &shape, 1, out);
}

kiln_status kiln_onnx_cast(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                           kiln_dtype dtype, kiln_value **out) {
    if (x->type.dtype == dtype) {
        *out = x;
        return KILN_OK;
    }
    const bool is_low = kiln_dtype_is_in(dtype, KILN_DT_LOW_FLOAT);
    const kiln_attr_arg to = kiln_arg_dtype("to", dtype);
    return kiln_onnx_emit1(cx, n, is_low ? &kiln_op_cast_low : &kiln_op_cast, x, &to, 1,
                           out);
}

kiln_status kiln_onnx_transpose(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                kiln_value *x, const int64_t *perm, kiln_value **out) {
    bool is_same = true;
    for (int i = 0; i < x->type.rank; i++)
        is_same = is_same && perm[i] == i;
    if (is_same) {
        *out = x;
        return KILN_OK;
    }
    const kiln_attr_arg arg = kiln_arg_ints("perm", perm, (size_t)x->type.rank);
    return kiln_onnx_emit1(cx, n, &kiln_op_transpose, x, &arg, 1, out);
}

kiln_value *kiln_onnx_scalar(kiln_onnx_cx *cx, kiln_dtype dtype, double v) {
    return kiln_graph_const_scalar(cx->scope->g, "c", dtype, v);
}

kiln_status kiln_onnx_make_const(kiln_onnx_cx *cx, const kiln_onnx_tensor *t,
                                 kiln_value **out) {
    kiln_tensor data;
    KILN_TRY(kiln_onnx_read_once(cx, t, &data));
    const char *const name =
        cx->node == NULL ? "const" : kiln_onnx_out_name(cx, cx->node, 0);
    *out = kiln_graph_add_const(cx->scope->g, name, &data.type, data.data);
    return KILN_OK;
}
