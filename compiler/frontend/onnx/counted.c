/* Counted values: which rule a node has, and what rules are made of (counted.h). */
#include "compiler/frontend/onnx/counted.h"
#include "compiler/frontend/onnx/import_core.h"

#include <inttypes.h>
#include <math.h>

/* ---- rules ---- */

typedef enum when { COUNTED, SHAPED, ALWAYS } when;

typedef struct rule {
    kiln_status (*importer)(kiln_onnx_cx *cx, const kiln_onnx_node *n);
    when when;
    kiln_status (*run)(kiln_onnx_cx *cx, const kiln_onnx_node *n);
} rule;

static const rule rules[] = {
#define KILN_COUNTED(importer, when, rule)                                             \
    {kiln_onnx_import_##importer, when, kiln_onnx_counted_##rule},
#include "compiler/frontend/onnx/counted.def"
#undef KILN_COUNTED
};

static const rule *rule_of(const kiln_onnx_op *row) {
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].importer == row->import)
            return &rules[i];
    return NULL;
}

static bool reads_counted(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    for (int i = 0; i < kiln_onnx_n_in(n); i++)
        if (kiln_value_is_counted(kiln_onnx_in(cx, n, i)))
            return true;
    return false;
}

/* Does an operand that is no constant consist of numbers with bounds? */
static bool reads_extents(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_onnx_extent e[KILN_MAX_RANK];
    for (int i = 0; i < kiln_onnx_n_in(n) && cx->counts.n > 0; i++) {
        const kiln_value *const v = kiln_onnx_in(cx, n, i);
        if (v != NULL && !kiln_value_is_const(v) && v->type.dtype == KILN_I64 &&
            kiln_onnx_find_extents(cx, v, e))
            return true;
    }
    return false;
}

static bool concerns(kiln_onnx_cx *cx, const kiln_onnx_node *n, const rule *r) {
    return r->when == ALWAYS || reads_counted(cx, n) ||
           (r->when == SHAPED && reads_extents(cx, n));
}

/* Branches of an If read by name what no operand says. */
static bool is_if(const rule *r) { return r->importer == kiln_onnx_import_if; }

kiln_status kiln_onnx_import_counted(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                     bool *done) {
    const rule *const r = rule_of(cx->row);
    *done = r != NULL &&
            (concerns(cx, n, r) || (is_if(r) && kiln_onnx_if_reads_counted(cx, n)));
    if (!*done)
        return KILN_OK;
    cx->in_rule = true;
    const kiln_status st = r->run(cx, n);
    cx->in_rule = false;
    return st;
}

kiln_status kiln_onnx_import_given(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                   kiln_value *const *given, int n_given) {
    cx->given = given;
    cx->n_given = n_given;
    const kiln_status st = cx->row->import(cx, n);
    cx->given = NULL;
    cx->n_given = 0;
    return st;
}

kiln_status kiln_onnx_refuse_counted(kiln_onnx_cx *cx, const kiln_value *v,
                                     const char *why) {
    return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                          "how long '%s' is depends on data, and %s; make it an output "
                          "of the model, and do what follows outside of it",
                          kiln_onnx_show(cx, kiln_str_from(v->name)), why);
}

/* ---- marking ---- */

/* The first value that is the same number: counts that meet are then one. */
static kiln_value *origin_of(kiln_onnx_cx *cx, kiln_value *count) {
    kiln_onnx_extent e;
    if (!kiln_onnx_find_extent(cx, count, 0, &e) || e.lo == e.hi ||
        e.of->type.rank != 0 || e.of->type.dtype != KILN_I64)
        return count;
    return (kiln_value *)(uintptr_t)e.of;
}

kiln_value *kiln_compose_counted(kiln_compose *c, kiln_value *v, int axis,
                                 kiln_value *count) {
    KILN_ASSERT(count != NULL, "'%s' counts as nothing says", v->name);
    count = origin_of(kiln_onnx_of(c->cx), count);
    KILN_ASSERT(c->status != KILN_OK || (axis >= 0 && axis < v->type.rank),
                "'%s' of rank %d counts along axis %d", v->name, v->type.rank, axis);
    if (c->status != KILN_OK || (v->count == count && v->bounded_axis == axis))
        return v;
    /* Others may know the value as it is. */
    if (v->count != NULL || v->def == NULL ||
        (size_t)v->id < kiln_onnx_of(c->cx)->first_value)
        v = kiln_compose_1(c, &kiln_op_identity, v);
    if (kiln_value_is_const(v)) /* evaluated at once */
        v = kiln_graph_add_const(c->cx->graph, v->name, &v->type, v->data);
    if (c->status == KILN_OK) {
        v->count = count;
        v->bounded_axis = axis;
        kiln_onnx_add_count(kiln_onnx_of(c->cx), count, v->type.dim[axis]);
    }
    return v;
}

kiln_status kiln_onnx_mark(kiln_onnx_cx *cx, const kiln_onnx_node *n, int i, int axis,
                           kiln_value *count) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    if (!kiln_onnx_wants(n, i))
        return KILN_OK;
    kiln_value *const v = kiln_map_get(&cx->scope->values, n->output[i]);
    KILN_ASSERT(v != NULL, "output %d is not bound yet", i);
    kiln_value *const marked = kiln_compose_counted(&c, v, axis, count);
    if (marked != v)
        kiln_onnx_set(cx, n, i, marked);
    return c.status;
}

/* ---- parts of rules ---- */

kiln_value *kiln_compose_length(kiln_compose *c, kiln_value *v, int axis) {
    if (v->count != NULL && v->bounded_axis == axis)
        return v->count;
    KILN_ASSERT(c->status != KILN_OK || (axis >= 0 && axis < v->type.rank),
                "the length of axis %d of rank %d", axis, v->type.rank);
    return kiln_compose_number(c, v->type.dim[axis]);
}

/* ---- outputs of the model ---- */

kiln_status kiln_onnx_settle_counted(kiln_onnx_cx *cx, kiln_value **v) {
    static const kiln_onnx_node none;
    kiln_value *const x = *v;
    kiln_compose c = kiln_onnx_compose(cx, &none);
    if (x->count == NULL ||
        (x->def != NULL && x->def->op == &kiln_op_non_max_suppression))
        return KILN_OK; /* its filling is -1, as documented */
    kiln_value *const count = x->count;
    cx->in_rule = true;
    *v = kiln_compose_fill(&c, x, 0);
    *v = kiln_compose_counted(&c, *v, x->bounded_axis, count);
    cx->in_rule = false;
    return c.status;
}
