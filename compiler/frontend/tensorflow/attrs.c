/* Attributes of a node: by name, with a default, checked for their kind. Those that no
 * importer asked for are refused, unless they cannot change a result. */
#include "compiler/frontend/tensorflow/tf_internal.h"

/* Index of the attribute; n_attr: absent. */
static size_t index_of(const kiln_tf_node *n, const char *name) {
    size_t i = 0;
    while (i < n->n_attr && !kiln_str_is(n->attr[i].name, name))
        i++;
    return i;
}

const kiln_tf_attr *kiln_tf_find_attr(kiln_tf_cx *cx, const kiln_tf_node *n,
                                      const char *name) {
    const size_t i = index_of(n, name);
    if (i == n->n_attr)
        return NULL;
    KILN_ASSERT(n != cx->node || i < KILN_TF_MAX_ATTRS, "attribute %zu of a node", i);
    if (n == cx->node)
        cx->attrs_read[i / 64] |= UINT64_C(1) << (i % 64);
    return &n->attr[i];
}

static void refuse(kiln_tf_cx *cx, const char *name, const char *kind) {
    if (cx->attr_err.status == KILN_OK)
        kiln_fail(&cx->attr_err, KILN_ERR_PARSE, "attribute '%s' must be %s", name,
                  kind);
}

int64_t kiln_tf_attr_i(kiln_tf_cx *cx, const kiln_tf_node *n, const char *name,
                       int64_t otherwise) {
    const kiln_tf_attr *const a = kiln_tf_find_attr(cx, n, name);
    if (a != NULL && !a->has_i)
        refuse(cx, name, "an int");
    return a == NULL ? otherwise : a->i;
}

double kiln_tf_attr_f(kiln_tf_cx *cx, const kiln_tf_node *n, const char *name,
                      double otherwise) {
    const kiln_tf_attr *const a = kiln_tf_find_attr(cx, n, name);
    if (a != NULL && !a->has_f)
        refuse(cx, name, "a float");
    return a == NULL ? otherwise : (double)a->f;
}

bool kiln_tf_attr_b(kiln_tf_cx *cx, const kiln_tf_node *n, const char *name,
                    bool otherwise) {
    const kiln_tf_attr *const a = kiln_tf_find_attr(cx, n, name);
    if (a != NULL && !a->has_b)
        refuse(cx, name, "a bool");
    return a == NULL ? otherwise : a->b;
}

kiln_str kiln_tf_attr_s(kiln_tf_cx *cx, const kiln_tf_node *n, const char *name,
                        const char *otherwise) {
    const kiln_tf_attr *const a = kiln_tf_find_attr(cx, n, name);
    if (a != NULL && !a->has_s)
        refuse(cx, name, "a string");
    return a == NULL ? kiln_str_from(otherwise) : a->s;
}

size_t kiln_tf_attr_ints(kiln_tf_cx *cx, const kiln_tf_node *n, const char *name,
                         const int64_t **v) {
    const kiln_tf_attr *const a = kiln_tf_find_attr(cx, n, name);
    *v = NULL;
    if (a == NULL)
        return 0;
    if (a->list == NULL) {
        refuse(cx, name, "a list of ints");
        return 0;
    }
    *v = a->list->i;
    return a->list->n_i;
}

kiln_status kiln_tf_attr_dtype(kiln_tf_cx *cx, const kiln_tf_node *n, const char *name,
                               kiln_dtype otherwise, kiln_dtype *out) {
    const kiln_tf_attr *const a = kiln_tf_find_attr(cx, n, name);
    *out = otherwise;
    if (a == NULL)
        return KILN_OK;
    if (!a->has_type)
        return kiln_tf_fail(cx, KILN_ERR_PARSE, "attribute '%s' must be a type", name);
    return kiln_tf_dtype(a->type, out, cx->common.err);
}

/* Types are those of the operands, names that begin with '_' are hints to TensorFlow's
 * own placement, and these say how, not what. */
static bool is_ignored(const kiln_tf_attr *a) {
    static const char *const names[] = {
#define KILN_TF_IGNORED(name, why) name,
#include "compiler/frontend/tensorflow/tf_ignored.def"
#undef KILN_TF_IGNORED
    };
    if (a->has_type || (a->list != NULL && a->list->n_type > 0) ||
        (a->name.n > 0 && a->name.p[0] == '_'))
        return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (kiln_str_is(a->name, names[i]))
            return true;
    return false;
}

kiln_status kiln_tf_check_attrs(kiln_tf_cx *cx, const kiln_tf_node *n) {
    KILN_ASSERT(n->n_attr <= KILN_TF_MAX_ATTRS, "decoding let %zu attributes pass",
                n->n_attr);
    for (size_t i = 0; i < n->n_attr; i++)
        if ((cx->attrs_read[i / 64] >> (i % 64) & 1) == 0 && !is_ignored(&n->attr[i]))
            return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                                "attribute '%s' is not read; it may change the result",
                                kiln_tf_show(cx, n->attr[i].name));
    return KILN_OK;
}
