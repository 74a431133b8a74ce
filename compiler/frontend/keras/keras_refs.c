/* What calls refer to: values of other layers' calls, by place and by keyword. Source:
 * keras, Functional.get_config and serialize_node of Keras 2 and 3. */
#include "compiler/frontend/keras/keras_internal.h"

#include <string.h>

/* ["layer", node, tensor, ...] */
static bool as_ref(const kiln_json *j, kiln_keras_ref *out) {
    const kiln_json *const name = kiln_json_first(j);
    const kiln_json *const node = kiln_json_next(name);
    if (!kiln_json_is_array(j) || !kiln_json_is_string(name))
        return false;
    out->layer = kiln_json_string(name, "");
    return kiln_json_i64(node, &out->node) &&
           kiln_json_i64(kiln_json_next(node), &out->tensor);
}

/* {"class_name": "__numpy__", "config": {"value": [1, 2], "dtype": "float32"}} */
static bool as_array(const kiln_json *j, kiln_keras_ref *out) {
    const char *const kind = kiln_json_string(kiln_json_get(j, "class_name"), "");
    const kiln_json *const config = kiln_json_get(j, "config");
    *out =
        (kiln_keras_ref){.list = kiln_json_get(config, "value"),
                         .dtype = kiln_json_string(kiln_json_get(config, "dtype"), "")};
    return out->list != NULL &&
           (strcmp(kind, "__numpy__") == 0 || strcmp(kind, "__tensor__") == 0);
}

/* The parser bounds the depth. */
static void collect(kiln_arena *a, const kiln_json *j, bool has_arrays,
                    kiln_keras_refs *out) {
    kiln_keras_ref r = {0};
    if (as_ref(j, &r)) {
        kiln_vec_push(a, out, r);
        /* Keywords of the call may refer, too. */
        for (const kiln_json *i = kiln_json_first(j); i != NULL; i = kiln_json_next(i))
            if (kiln_json_is_object(i))
                collect(a, i, has_arrays, out);
        return;
    }
    if (has_arrays && as_array(j, &r)) {
        kiln_vec_push(a, out, r);
        return;
    }
    const kiln_json *const history =
        kiln_json_get(kiln_json_get(j, "config"), "keras_history");
    if (history != NULL) {
        collect(a, history, has_arrays, out);
        return;
    }
    if (!kiln_json_is_array(j) && !kiln_json_is_object(j))
        return;
    for (const kiln_json *i = kiln_json_first(j); i != NULL; i = kiln_json_next(i))
        collect(a, i, has_arrays, out);
}

void kiln_keras_collect(kiln_arena *a, const kiln_json *j, kiln_keras_refs *out) {
    collect(a, j, false, out);
}

void kiln_keras_collect_values(kiln_arena *a, const kiln_json *j,
                               kiln_keras_refs *out) {
    collect(a, j, true, out);
}

/* The parser bounds the depth. */
const char *kiln_keras_said_dtype(const kiln_json *j, const char *layer, int64_t node) {
    kiln_keras_ref r = {0};
    const kiln_json *const config = kiln_json_get(j, "config");
    if (as_ref(kiln_json_get(config, "keras_history"), &r))
        return r.node == node && strcmp(r.layer, layer) == 0
                   ? kiln_json_string(kiln_json_get(config, "dtype"), NULL)
                   : NULL;
    if (!kiln_json_is_array(j) && !kiln_json_is_object(j))
        return NULL;
    for (const kiln_json *i = kiln_json_first(j); i != NULL; i = kiln_json_next(i)) {
        const char *const said = kiln_keras_said_dtype(i, layer, node);
        if (said != NULL)
            return said;
    }
    return NULL;
}

/* ---- a call's operands by what they are called ------------------------------------- */

/* Keras 2 has them in the first reference: ["layer", node, tensor, {...}]. */
const kiln_json *kiln_keras_keywords(const kiln_json *node) {
    enum { KEYWORDS = 3 };
    if (kiln_json_is_object(node))
        return kiln_json_get(node, "kwargs");
    const kiln_json *const first = kiln_json_first(node);
    return kiln_json_at(kiln_json_is_string(first) ? node : first, KEYWORDS);
}

const kiln_json *kiln_keras_keyword(const kiln_keras_call *k, const char *name) {
    const kiln_json *const v = kiln_json_get(kiln_keras_keywords(k->layer->node), name);
    return kiln_json_is_null(v) ? NULL : v;
}

static size_t count_refs(const kiln_keras_call *k, const kiln_json *j) {
    kiln_keras_refs r = {0};
    kiln_keras_collect_values(&k->cx->common.scratch, j, &r);
    return r.n;
}

/* Of a list's or an object's members, number `at` or the one of that key; *before: what
 * the members in front of it refer to. NULL: there is none, or it is no one value. */
static const kiln_json *member(const kiln_keras_call *k, const kiln_json *in, size_t at,
                               const char *key, size_t *before) {
    const kiln_json *j = kiln_json_first(in);
    for (size_t i = 0; j != NULL; i++, j = kiln_json_next(j)) {
        const size_t n = count_refs(k, j);
        if (key == NULL ? i == at : strcmp(kiln_json_key(j), key) == 0)
            return n == 1 ? j : NULL;
        *before += n;
    }
    return NULL;
}

kiln_value *kiln_keras_operand(const kiln_keras_call *k, const char *name, size_t at) {
    const kiln_json *const node = k->layer->node, *const keywords =
                                                      kiln_keras_keywords(node);
    const size_t n_in = (size_t)k->n_in, n_by_name = count_refs(k, keywords);
    size_t before = 0;
    if (at == 0)
        return k->in[0];
    if (kiln_json_is_object(node) &&
        member(k, kiln_json_get(node, "args"), at, NULL, &before) != NULL)
        return before < n_in ? k->in[before] : NULL;
    before = n_in > n_by_name ? n_in - n_by_name : 0;
    if (member(k, keywords, 0, name, &before) != NULL)
        return before < n_in ? k->in[before] : NULL;
    return NULL;
}
