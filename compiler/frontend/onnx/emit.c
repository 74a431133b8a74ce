/* Making nodes for ONNX's: the frontends' own way (import_cx.h), with names from the
 * file, and by the rules of counted values and regions. */
#include "compiler/frontend/onnx/counted.h"
#include "compiler/frontend/onnx/import_core.h"

/* ---- what only ONNX knows ----------------------------------------------------------
 */

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

static const char *name_of(kiln_import_cx *common, const void *site) {
    return node_name(kiln_onnx_of(common), site);
}

static const char *out_name_of(kiln_import_cx *common, const void *site, int i) {
    return kiln_onnx_out_name(kiln_onnx_of(common), site, i);
}

/* Only rules know that the first rows of an operand count alone (counted.h). */
static kiln_status refuse_bounded(kiln_import_cx *common, kiln_value *const *in,
                                  int n_in) {
    kiln_onnx_cx *const cx = kiln_onnx_of(common);
    for (int i = 0; i < n_in && !cx->in_rule; i++)
        if (kiln_value_is_counted(in[i]))
            return kiln_onnx_refuse_counted(cx, in[i],
                                            "this operator has no rule for it");
    return KILN_OK;
}

/* g is being built, or lies around what is. */
static kiln_import_origin origin_of(kiln_import_cx *common, const kiln_graph *g,
                                    const kiln_value *input, kiln_graph **around,
                                    const kiln_value **value) {
    const kiln_onnx_scope *s = kiln_onnx_owner(kiln_onnx_of(common)->scope);
    while (s->g != g) {
        KILN_ASSERT(s->parent != NULL, "'%s' does not lie around what is built",
                    g->name);
        s = kiln_onnx_owner(s->parent);
    }
    KILN_ASSERT(s->inner.n == s->outer.n, "%zu values are captured as %zu", s->outer.n,
                s->inner.n);
    for (size_t i = 0; i < s->inner.n; i++)
        if (s->inner.v[i] == input) {
            *around = s->parent->g;
            *value = s->outer.v[i];
            return KILN_IMPORT_CAPTURED;
        }
    return s->parent != NULL ? KILN_IMPORT_FORMAL : KILN_IMPORT_GIVEN;
}

const kiln_import_format kiln_onnx_format = {
    .node_name = name_of,
    .out_name = out_name_of,
    .may_read = refuse_bounded,
    .origin = origin_of,
};

/* ---- the frontends' own way --------------------------------------------------------
 */

kiln_onnx_cx *kiln_onnx_of(kiln_import_cx *common) {
    _Static_assert(offsetof(kiln_onnx_cx, common) == 0, "they begin together");
    KILN_ASSERT(common->format == &kiln_onnx_format, "an import of another format");
    return (kiln_onnx_cx *)common;
}

kiln_compose kiln_onnx_compose(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    return (kiln_compose){.cx = &cx->common, .site = n};
}

kiln_status kiln_onnx_emit(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                           const kiln_op_def *op, kiln_value *const *in, int n_in,
                           const kiln_attr_arg *args, size_t n_args, int n_out,
                           kiln_value **outs) {
    return kiln_import_emit(&cx->common, n, op, in, n_in, args, n_args, n_out, outs);
}

kiln_status kiln_onnx_emit1(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                            const kiln_op_def *op, kiln_value *x,
                            const kiln_attr_arg *args, size_t n_args,
                            kiln_value **out) {
    return kiln_import_emit1(&cx->common, n, op, x, args, n_args, out);
}

kiln_status kiln_onnx_emit2(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                            const kiln_op_def *op, kiln_value *x, kiln_value *y,
                            kiln_value **out) {
    kiln_value *const in[] = {x, y};
    return kiln_import_emit(&cx->common, n, op, in, 2, NULL, 0, 1, out);
}

kiln_status kiln_onnx_reshape(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                              int rank, const int64_t *dim, kiln_value **out) {
    KILN_ASSERT(x != NULL && rank >= 0 && rank <= KILN_MAX_RANK, "rank %d", rank);
    return kiln_import_reshape(&cx->common, n, x, rank, dim, out);
}

kiln_status kiln_onnx_cast(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                           kiln_dtype dtype, kiln_value **out) {
    return kiln_import_cast(&cx->common, n, x, dtype, out);
}

kiln_status kiln_onnx_transpose(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                kiln_value *x, const int64_t *perm, kiln_value **out) {
    KILN_ASSERT(x != NULL && (x->type.rank == 0 || perm != NULL),
                "an order of no axes");
    return kiln_import_transpose(&cx->common, n, x, perm, out);
}

kiln_value *kiln_onnx_scalar(kiln_onnx_cx *cx, kiln_dtype dtype, double v) {
    return kiln_import_scalar(&cx->common, dtype, v);
}

kiln_status kiln_onnx_const(kiln_onnx_cx *cx, kiln_value *v, const char *what,
                            kiln_tensor *out) {
    return kiln_import_const(&cx->common, v, what, out);
}

kiln_status kiln_onnx_const_ints(kiln_onnx_cx *cx, kiln_value *v, const char *what,
                                 const int64_t **out, size_t *n) {
    return kiln_import_const_ints(&cx->common, v, what, out, n);
}

kiln_status kiln_onnx_const_floats(kiln_onnx_cx *cx, kiln_value *v, const char *what,
                                   const double **out, size_t *n) {
    return kiln_import_const_floats(&cx->common, v, what, out, n);
}

kiln_status kiln_onnx_spend(kiln_onnx_cx *cx, int64_t bytes) {
    return kiln_import_spend(&cx->common, bytes);
}

kiln_status kiln_onnx_make_const(kiln_onnx_cx *cx, const kiln_onnx_tensor *t,
                                 kiln_value **out) {
    kiln_tensor data;
    KILN_TRY(kiln_onnx_read_once(cx, t, &data));
    KILN_ASSERT(cx->scope != NULL && cx->scope->g != NULL, "a constant of no graph");
    const char *const name =
        cx->node == NULL ? "const" : kiln_onnx_out_name(cx, cx->node, 0);
    *out = kiln_graph_add_const(cx->scope->g, name, &data.type, data.data);
    return KILN_OK;
}
