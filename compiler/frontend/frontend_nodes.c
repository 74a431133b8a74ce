/* Making nodes of the Graph for a frontend (import_cx.h), and what is known of the
 * import as a whole. Nodes of small constants are evaluated at once, so that the shape
 * arithmetic which exporters write never reaches the Graph. */
#include "compiler/frontend/import_cx.h"

#include <string.h>

#include "compiler/reference/reference.h"

enum {
    MAX_EAGER_OUT_BYTES = 64 * 1024, /* of one node's outputs */
    MAX_EAGER_IN_BYTES = 256 * 1024,
    EAGER_BYTES = 16 << 20,
    MAX_COMPUTED_BYTES = 512 << 20,
    SHOWN_BYTES = 120, /* of a name in a message */
};
static const int64_t max_eager_flops = (int64_t)1 << 22; /* of one node */
static const int64_t eager_flops = (int64_t)1 << 28;
/* On the way to all operands that must be constant: seconds. */
static const int64_t const_flops = (int64_t)1 << 31;

void kiln_import_begin(kiln_import_cx *cx, const kiln_import_format *format,
                       kiln_arena *a, kiln_err *err) {
    KILN_ASSERT(err != NULL && format->node_name != NULL && format->out_name != NULL,
                "a format that names no nodes");
    *cx = (kiln_import_cx){
        .format = format,
        .arena = a,
        .err = err,
        .eager_bytes = EAGER_BYTES,
        .eager_flops = eager_flops,
        .const_flops = const_flops,
        .bytes_left = MAX_COMPUTED_BYTES,
    };
}

void kiln_import_end(kiln_import_cx *cx) { kiln_arena_fini(&cx->scratch); }

const char *kiln_import_show(kiln_import_cx *cx, kiln_str name) {
    return kiln_str_printable(&cx->scratch, name, SHOWN_BYTES);
}

kiln_status kiln_import_spend(kiln_import_cx *cx, int64_t bytes) {
    KILN_ASSERT(bytes >= 0, "%lld bytes are spent", (long long)bytes);
    if (bytes > cx->bytes_left)
        return kiln_fail(cx->err, KILN_ERR_LIMIT,
                         "the constants that import computes may have 512 MiB in "
                         "all; export the model with constant folding");
    cx->bytes_left -= bytes;
    return KILN_OK;
}

/* ---- constants at once ------------------------------------------------------------
 */

static bool has_region(const kiln_op_def *op) {
    for (size_t i = 0; i < op->n_attr; i++)
        if (op->attr[i].kind == KILN_ATTR_GRAPH)
            return true;
    return false;
}

/* Weights of whole numbers, which the pass merge_quantized wants as they are. */
static bool makes_weights(const kiln_op_def *op, kiln_value *const *in) {
    return op == &kiln_op_dequantize_linear && in[0] != NULL && in[0]->type.rank > 1;
}

static bool may_evaluate(const kiln_import_cx *cx, const kiln_op_def *op,
                         kiln_value *const *in, int n_in) {
    int64_t bytes = 0;
    if (makes_weights(op, in))
        return false;
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
static bool is_cheap(kiln_import_cx *cx, const kiln_node *n) {
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
static kiln_status evaluate(kiln_import_cx *cx, const kiln_node_spec *spec,
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
        outs[i] = kiln_graph_add_const(cx->graph, n->out[i]->name, &out[i].type,
                                       kiln_arena_dup(cx->arena, out[i].data, bytes));
    }
    *done = true;
    return KILN_OK;
}

/* ---- nodes ------------------------------------------------------------------------
 */

kiln_status kiln_import_emit(kiln_import_cx *cx, const void *site,
                             const kiln_op_def *op, kiln_value *const *in, int n_in,
                             const kiln_attr_arg *args, size_t n_args, int n_out,
                             kiln_value **outs) {
    KILN_ASSERT(cx->graph != NULL && op != NULL && n_in >= 0 && n_out >= 0 &&
                    outs != NULL,
                "a node of %d inputs and %d outputs in no graph", n_in, n_out);
    if (cx->format->may_read != NULL && !cx->reads_counted)
        KILN_TRY(cx->format->may_read(cx, in, n_in));
    const kiln_arena_mark mark = kiln_arena_save(&cx->scratch);
    const int count = n_out > 0 ? n_out : op->n_out_min > 0 ? op->n_out_min : 1;
    const char **const names = kiln_array(&cx->scratch, const char *, count);
    for (int i = 0; i < count; i++)
        names[i] = cx->format->out_name(cx, site, i);
    const kiln_node_spec spec = {
        .op = op,
        .name = cx->format->node_name(cx, site),
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
        st = kiln_graph_add_node(cx->graph, &spec, &node, cx->err);
        for (int i = 0; st == KILN_OK && i < count; i++)
            outs[i] = node->out[i];
    }
    kiln_arena_rewind(&cx->scratch, mark);
    return st;
}

kiln_status kiln_import_emit1(kiln_import_cx *cx, const void *site,
                              const kiln_op_def *op, kiln_value *x,
                              const kiln_attr_arg *args, size_t n_args,
                              kiln_value **out) {
    return kiln_import_emit(cx, site, op, &x, 1, args, n_args, 1, out);
}

kiln_status kiln_import_reshape(kiln_import_cx *cx, const void *site, kiln_value *x,
                                int rank, const int64_t *dim, kiln_value **out) {
    KILN_ASSERT(rank >= 0 && rank <= KILN_MAX_RANK, "a reshape to rank %d", rank);
    if (x->type.rank == rank &&
        (rank == 0 || memcmp(x->type.dim, dim, (size_t)rank * sizeof *dim) == 0)) {
        *out = x;
        return KILN_OK;
    }
    const kiln_attr_arg shape = kiln_arg_ints("shape", dim, (size_t)rank);
    return kiln_import_emit1(cx, site, &kiln_op_reshape, x, &shape, 1, out);
}

kiln_status kiln_import_cast(kiln_import_cx *cx, const void *site, kiln_value *x,
                             kiln_dtype dtype, kiln_value **out) {
    KILN_ASSERT(x != NULL, "nothing is cast to %s", kiln_dtype_name(dtype));
    if (x->type.dtype == dtype) {
        *out = x;
        return KILN_OK;
    }
    const bool is_low = kiln_dtype_is_in(dtype, KILN_DT_LOW_FLOAT);
    const kiln_attr_arg to = kiln_arg_dtype("to", dtype);
    return kiln_import_emit1(cx, site, is_low ? &kiln_op_cast_low : &kiln_op_cast, x,
                             &to, 1, out);
}

kiln_status kiln_import_transpose(kiln_import_cx *cx, const void *site, kiln_value *x,
                                  const int64_t *perm, kiln_value **out) {
    bool is_same = true;
    KILN_ASSERT(perm != NULL || x->type.rank == 0, "'%s' is turned no way", x->name);
    for (int i = 0; i < x->type.rank; i++)
        is_same = is_same && perm[i] == i;
    if (is_same) {
        *out = x;
        return KILN_OK;
    }
    const kiln_attr_arg arg = kiln_arg_ints("perm", perm, (size_t)x->type.rank);
    return kiln_import_emit1(cx, site, &kiln_op_transpose, x, &arg, 1, out);
}

kiln_value *kiln_import_scalar(kiln_import_cx *cx, kiln_dtype dtype, double v) {
    return kiln_graph_const_scalar(cx->graph, "c", dtype, v);
}

/* ---- outputs ----------------------------------------------------------------------- */

static const char *count_name(kiln_import_cx *cx, const kiln_graph *g, const char *of) {
    const char *name = kiln_format(cx->arena, "%s" KILN_COUNT_SUFFIX, of);
    for (size_t i = 0; i < g->outputs.n; i++)
        if (strcmp(g->output_names.v[i], name) == 0)
            return count_name(cx, g, kiln_format(cx->arena, "%s.", of));
    return name;
}

/* Below the frontend nobody asks what of a value counts but of outputs. */
static void forget_counts(kiln_graph *g) {
    for (size_t i = 0; i < g->values.n; i++) {
        kiln_value *const v = g->values.v[i];
        bool is_output = false;
        for (size_t k = 0; k < g->outputs.n && v->count != NULL; k++)
            is_output = is_output || g->outputs.v[k] == v;
        if (!is_output)
            v->count = NULL;
    }
}

void kiln_import_add_counts(kiln_import_cx *cx, kiln_graph *g) {
    const size_t n = g->outputs.n;
    forget_counts(g);
    for (size_t i = 0; i < n; i++)
        if (g->outputs.v[i]->count != NULL)
            kiln_graph_add_output(g, g->outputs.v[i]->count,
                                  count_name(cx, g, g->output_names.v[i]));
}
