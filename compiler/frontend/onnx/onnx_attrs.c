/* Attributes of an ONNX node: by name, with a default, and checked for their kind.
 * Those that the importer did not ask for are refused, so nothing is silently ignored.
 * Source: onnx.proto, AttributeProto. */
#include "compiler/frontend/onnx/import_core.h"

#include <inttypes.h>
#include <string.h>

enum {
    ATTR_FLOAT = 1,
    ATTR_INT = 2,
    ATTR_STRING = 3,
    ATTR_TENSOR = 4,
    ATTR_GRAPH = 5,
    ATTR_FLOATS = 6,
    ATTR_INTS = 7,
    ATTR_STRINGS = 8,
};

static const char *const kind_names[] = {"of no kind", "a float",  "an int",
                                         "a string",   "a tensor", "a graph",
                                         "floats",     "ints",     "strings"};

/* Index of the attribute; n_attribute: absent. */
static size_t index_of(const kiln_onnx_node *n, const char *name) {
    size_t i = 0;
    while (i < n->n_attribute && !kiln_str_is(n->attribute[i].name, name))
        i++;
    return i;
}

bool kiln_onnx_has_attr(const kiln_onnx_node *n, const char *name) {
    return index_of(n, name) < n->n_attribute;
}

const kiln_onnx_attr *kiln_onnx_find_attr(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                          const char *name) {
    const size_t i = index_of(n, name);
    if (i == n->n_attribute)
        return NULL;
    KILN_ASSERT(n == cx->node, "an importer reads attributes of another node");
    KILN_ASSERT(i < KILN_ONNX_MAX_ATTRS, "attribute %zu of a node", i);
    cx->attrs_read.bits[i / 64] |= UINT64_C(1) << (i % 64);
    return &n->attribute[i];
}

/* Files of IR versions 1 and 2 leave the type out, as some writers do for empty lists.
 */
static bool is_kind(const kiln_onnx_attr *a, int64_t kind) {
    if (a->type != 0)
        return a->type == kind;
    switch (kind) {
    case ATTR_FLOAT:
        return a->has_f;
    case ATTR_INT:
        return a->has_i;
    case ATTR_STRING:
        return a->has_s;
    case ATTR_TENSOR:
        return a->t != NULL;
    case ATTR_GRAPH:
        return a->g != NULL;
    default:
        return true;
    }
}

static const kiln_onnx_attr *get(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                 const char *name, int64_t kind) {
    const kiln_onnx_attr *const a = kiln_onnx_find_attr(cx, n, name);
    if (a == NULL || is_kind(a, kind))
        return a;
    const bool is_known = a->type >= 0 && a->type <= ATTR_STRINGS;
    if (cx->attr_err.status == KILN_OK)
        kiln_fail(&cx->attr_err, KILN_ERR_PARSE, "attribute '%s' must be %s, is %s",
                  name, kind_names[kind],
                  is_known ? kind_names[a->type] : "of another kind");
    return NULL;
}

int64_t kiln_onnx_attr_i(kiln_onnx_cx *cx, const kiln_onnx_node *n, const char *name,
                         int64_t otherwise) {
    const kiln_onnx_attr *const a = get(cx, n, name, ATTR_INT);
    return a == NULL ? otherwise : a->i;
}

double kiln_onnx_attr_f(kiln_onnx_cx *cx, const kiln_onnx_node *n, const char *name,
                        double otherwise) {
    const kiln_onnx_attr *const a = get(cx, n, name, ATTR_FLOAT);
    return a == NULL ? otherwise : (double)a->f;
}

kiln_str kiln_onnx_attr_s(kiln_onnx_cx *cx, const kiln_onnx_node *n, const char *name,
                          const char *otherwise) {
    const kiln_onnx_attr *const a = get(cx, n, name, ATTR_STRING);
    return a == NULL ? kiln_str_from(otherwise) : a->s;
}

size_t kiln_onnx_attr_ints(kiln_onnx_cx *cx, const kiln_onnx_node *n, const char *name,
                           const int64_t **v) {
    const kiln_onnx_attr *const a = get(cx, n, name, ATTR_INTS);
    *v = a == NULL ? NULL : a->ints;
    return a == NULL ? 0 : a->n_ints;
}

size_t kiln_onnx_attr_floats(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                             const char *name, const double **v) {
    const kiln_onnx_attr *const a = get(cx, n, name, ATTR_FLOATS);
    *v = NULL;
    if (a == NULL)
        return 0;
    double *const wide = kiln_array(cx->common.arena, double, a->n_floats);
    for (size_t i = 0; i < a->n_floats; i++)
        wide[i] = (double)a->floats[i];
    *v = wide;
    return a->n_floats;
}

size_t kiln_onnx_attr_strings(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                              const char *name, const kiln_str **v) {
    const kiln_onnx_attr *const a = get(cx, n, name, ATTR_STRINGS);
    *v = a == NULL ? NULL : a->strings;
    return a == NULL ? 0 : a->n_strings;
}

const kiln_onnx_tensor *kiln_onnx_attr_tensor(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                              const char *name) {
    const kiln_onnx_attr *const a = get(cx, n, name, ATTR_TENSOR);
    return a == NULL ? NULL : a->t;
}

const kiln_onnx_graph *kiln_onnx_attr_graph(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                            const char *name) {
    const kiln_onnx_attr *const a = get(cx, n, name, ATTR_GRAPH);
    return a == NULL ? NULL : a->g;
}

/* ---- attributes that nothing asked for ------------------------------------------- */

typedef struct ignored {
    const char *op; /* "": any of the default domain */
    const char *attr;
    int since, until; /* opsets; until 0: still */
} ignored;

/* Without effect on what is computed, each for its reason. */
static bool is_harmless(const kiln_onnx_cx *cx, const kiln_onnx_node *n,
                        kiln_str attr) {
    static const ignored list[] = {
#define KILN_ONNX_IGNORED(op, attr, since, until, why) {op, attr, since, until},
#include "compiler/frontend/onnx/onnx_ignored.def"
#undef KILN_ONNX_IGNORED
    };
    /* Names that the specification keeps for tools' own marks. */
    if (attr.n >= 2 && attr.p[0] == '_' && attr.p[1] == '_')
        return true;
    if (!kiln_onnx_is_default_domain(n->domain))
        return false;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (kiln_str_is(attr, list[i].attr) &&
            (list[i].op[0] == '\0' || kiln_str_is(n->op_type, list[i].op)) &&
            cx->version >= list[i].since &&
            (list[i].until == 0 || cx->version <= list[i].until))
            return true;
    return false;
}

kiln_status kiln_onnx_check_attrs(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    KILN_ASSERT(n->n_attribute <= KILN_ONNX_MAX_ATTRS, "%zu attributes of a node",
                n->n_attribute);
    for (size_t i = 0; i < n->n_attribute; i++) {
        const kiln_str name = n->attribute[i].name;
        if ((cx->attrs_read.bits[i / 64] >> (i % 64) & 1) != 0 ||
            is_harmless(cx, n, name))
            continue;
        const char *const text = kiln_onnx_show(cx, name);
        for (size_t k = 0; k < i; k++)
            if (kiln_str_eq(n->attribute[k].name, name))
                return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                                      "attribute '%s' is given twice", text);
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "attribute '%s' of %s-%" PRId64
                              " is not known to kiln and may change the result; "
                              "export without it or with another opset",
                              text, kiln_onnx_show(cx, n->op_type), cx->version);
    }
    return KILN_OK;
}

static bool has_name(const kiln_str *list, size_t n, kiln_str name) {
    for (size_t i = 0; i < n; i++)
        if (kiln_str_eq(list[i], name))
            return true;
    return false;
}

kiln_status kiln_onnx_check_call_attrs(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                       const kiln_onnx_function *fn) {
    for (size_t i = 0; i < n->n_attribute; i++) {
        const kiln_str name = n->attribute[i].name;
        bool is_known = has_name(fn->attribute, fn->n_attribute, name);
        for (size_t k = 0; !is_known && k < fn->n_attribute_default; k++)
            is_known = kiln_str_eq(fn->attribute_default[k].name, name);
        if (!is_known && !is_harmless(cx, n, name))
            return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                                  "function '%s' has no attribute '%s'; declare it "
                                  "there or export without it",
                                  kiln_onnx_show(cx, fn->name),
                                  kiln_onnx_show(cx, name));
    }
    return KILN_OK;
}

/* ---- attribute references inside functions --------------------------------------- */

/* What `name` is in a call: the node's own attribute, else the function's default;
 * NULL: neither. */
static const kiln_onnx_attr *called_with(const kiln_onnx_frame *f, kiln_str name) {
    KILN_ASSERT(f->call != NULL && f->fn != NULL, "a call of no function");
    for (size_t i = 0; i < f->call->n_attribute; i++)
        if (kiln_str_eq(f->call->attribute[i].name, name))
            return &f->call->attribute[i];
    for (size_t i = 0; i < f->fn->n_attribute_default; i++)
        if (kiln_str_eq(f->fn->attribute_default[i].name, name))
            return &f->fn->attribute_default[i];
    return NULL;
}

kiln_status kiln_onnx_resolve_attrs(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                    const kiln_onnx_node **out) {
    const kiln_onnx_frame *const frame = cx->scope->frame;
    bool has_ref = false;
    for (size_t i = 0; i < n->n_attribute; i++)
        has_ref |= n->attribute[i].ref_attr_name.n > 0;
    *out = n;
    if (!has_ref)
        return KILN_OK;
    if (frame == NULL)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "an attribute refers to a function's attribute, but the "
                              "node is in no function");
    kiln_onnx_node *const copy = kiln_new(cx->common.arena, kiln_onnx_node);
    *copy = *n;
    copy->attribute = kiln_array(cx->common.arena, kiln_onnx_attr, n->n_attribute);
    copy->n_attribute = 0;
    for (size_t i = 0; i < n->n_attribute; i++) {
        kiln_onnx_attr a = n->attribute[i];
        if (a.ref_attr_name.n > 0) {
            const kiln_onnx_attr *const given = called_with(frame, a.ref_attr_name);
            if (given == NULL)
                continue; /* not given: the operator's own default holds */
            a = *given;
            a.name = n->attribute[i].name;
        }
        copy->attribute[copy->n_attribute++] = a;
    }
    *out = copy;
    return KILN_OK;
}
