/* A symbol's JSON: nodes in topological order, and which of their outputs the model has.
 *
 *     {"nodes": [{"op": "null", "name": "data", "inputs": []},
 *                {"op": "relu", "name": "r", "attrs": {...}, "inputs": [[0, 0, 0]]}],
 *      "arg_nodes": [0], "heads": [[1, 0, 0]], "attrs": {"mxnet_version": ["int", 10301]}}
 *
 * Before 1.0 an operator's attributes are its "param" and a user's its "attr". Source:
 * apache/mxnet 1.9, nnvm's saveload_json.cc and src/nnvm/legacy_json_util.cc. */
#include "compiler/frontend/mxnet/mxnet_internal.h"

#include <string.h>

enum { MAX_NAME = 120 };

/* [node, output] or [node, output, version] */
static bool read_entry(const kiln_json *j, size_t limit, kiln_mx_entry *out) {
    int64_t node, index = 0;
    const kiln_json *const first = kiln_json_first(j);
    if (!kiln_json_is_array(j) || !kiln_json_i64(first, &node) || node < 0 ||
        (uint64_t)node >= limit)
        return false;
    const kiln_json *const second = kiln_json_next(first);
    if (second != NULL && (!kiln_json_i64(second, &index) || index < 0))
        return false;
    *out = (kiln_mx_entry){(size_t)node, (size_t)index};
    return true;
}

static kiln_status read_inputs(kiln_arena *a, const kiln_json *j, kiln_mx_node *n,
                               kiln_err *err) {
    n->n_in = kiln_json_size(j);
    if (n->n_in > KILN_MX_MAX_INPUTS)
        return kiln_fail(err, KILN_ERR_LIMIT, "node '%s' may have %d inputs, has %zu",
                         kiln_str_printable(a, kiln_str_from(n->name), MAX_NAME),
                         KILN_MX_MAX_INPUTS, n->n_in);
    kiln_mx_entry *const in = kiln_array(a, kiln_mx_entry, n->n_in);
    size_t i = 0;
    for (const kiln_json *e = kiln_json_first(j); e != NULL; e = kiln_json_next(e), i++)
        if (!read_entry(e, n->index, &in[i]))
            return kiln_fail(
                err, KILN_ERR_PARSE,
                "input %zu of node '%s' must be an output of a node before "
                "it, as [node, output, version]",
                i, kiln_str_printable(a, kiln_str_from(n->name), MAX_NAME));
    n->in = in;
    return KILN_OK;
}

static kiln_status read_node(kiln_arena *a, const kiln_json *j, kiln_mx_node *n,
                             kiln_err *err) {
    static const char *const names[] = {"attrs", "attr", "param"};
    n->op = kiln_json_string(kiln_json_get(j, "op"), NULL);
    n->name = kiln_json_string(kiln_json_get(j, "name"), NULL);
    if (n->op == NULL || n->name == NULL)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "node %zu must have an 'op' and a 'name', which are texts",
                         n->index);
    for (size_t i = 0; i < 3; i++) {
        n->attrs[i] = kiln_json_get(j, names[i]);
        for (const kiln_json *m = kiln_json_first(n->attrs[i]); m != NULL;
             m = kiln_json_next(m))
            if (!kiln_json_is_string(m) || !kiln_json_is_object(n->attrs[i]))
                return kiln_fail(
                    err, KILN_ERR_PARSE, "'%s' of node '%s' must be an object of texts",
                    names[i], kiln_str_printable(a, kiln_str_from(n->name), MAX_NAME));
    }
    n->has_subgraphs = kiln_json_size(kiln_json_get(j, "subgraphs")) > 0;
    return read_inputs(a, kiln_json_get(j, "inputs"), n, err);
}

static kiln_status read_heads(kiln_arena *a, const kiln_json *j, kiln_mx_symbol *s,
                              kiln_err *err) {
    s->n_head = kiln_json_size(j);
    kiln_mx_entry *const head = kiln_array(a, kiln_mx_entry, s->n_head);
    size_t i = 0;
    for (const kiln_json *e = kiln_json_first(j); e != NULL; e = kiln_json_next(e), i++)
        if (!read_entry(e, s->n_node, &head[i]))
            return kiln_fail(err, KILN_ERR_PARSE,
                             "head %zu must be an output of a node, as [node, output, "
                             "version]",
                             i);
    if (s->n_head == 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "a symbol must have 'heads', its outputs");
    s->head = head;
    return KILN_OK;
}

/* "attrs": {"mxnet_version": ["int", 10301]} */
static int64_t read_version(const kiln_json *j) {
    int64_t v = 0;
    const kiln_json *const pair =
        kiln_json_get(kiln_json_get(j, "attrs"), "mxnet_version");
    return kiln_json_i64(kiln_json_at(pair, 1), &v) && v > 0 ? v : 0;
}

kiln_status kiln_mx_read_symbol(kiln_arena *a, kiln_str text, const char *file,
                                kiln_mx_symbol *out, kiln_err *err) {
    const kiln_json *j;
    KILN_TRY(kiln_json_parse(a, text, file, &j, err));
    const kiln_json *const nodes = kiln_json_get(j, "nodes");
    kiln_mx_symbol s = {.n_node = kiln_json_size(nodes), .version = read_version(j)};
    if (!kiln_json_is_array(nodes) || s.n_node == 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "a symbol must have 'nodes'; is this an MXNet symbol?");
    s.node = kiln_array(a, kiln_mx_node, s.n_node);
    size_t i = 0;
    for (const kiln_json *n = kiln_json_first(nodes); n != NULL;
         n = kiln_json_next(n), i++) {
        s.node[i].index = i;
        KILN_TRY(read_node(a, n, &s.node[i], err));
    }
    KILN_TRY(read_heads(a, kiln_json_get(j, "heads"), &s, err));
    *out = s;
    return KILN_OK;
}
