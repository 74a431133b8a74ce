/* Common subexpressions: of nodes with one operator, equal attributes and the same
 * inputs the first is kept, and of constants with one type and equal bytes the first
 * that is used.
 *
 * Nodes are found through a map from their bytes (operator, attributes, input ids),
 * constants in two steps: a sample of the bytes first, so that a large weight is hashed
 * as a whole only when another looks like it. Floats are compared as bits, so 0 and -0
 * stay apart. Nodes with regions are left alone. */
#include "compiler/pass/pass_internal.h"

#include <string.h>

enum { SAMPLE_BYTES = 256 }; /* from each of both ends; one cache miss or two */

typedef struct merger {
    kiln_sweep sweep;
    kiln_arena *scratch;
    kiln_buf key;       /* written anew for each look-up; the maps copy it */
    kiln_map samples;   /* dtype, shape and sample -> first constant */
    kiln_map constants; /* dtype, shape and hash of all bytes -> first constant */
    kiln_map nodes;     /* key of a node -> first node */
} merger;

static void key_add_i64(merger *m, int64_t v) { kiln_buf_add(&m->key, &v, sizeof v); }

/* ---- constants ---- */

static void key_start_type(merger *m, const kiln_type *t) {
    m->key.n = 0;
    key_add_i64(m, t->dtype);
    key_add_i64(m, t->rank);
    kiln_buf_add(&m->key, t->dim, (size_t)t->rank * sizeof t->dim[0]);
}

static kiln_str sample_key(merger *m, const kiln_value *v) {
    const size_t bytes = (size_t)kiln_type_bytes(&v->type);
    const char *data = v->data;
    const size_t n = bytes < SAMPLE_BYTES ? bytes : SAMPLE_BYTES;
    key_start_type(m, &v->type);
    kiln_buf_add(&m->key, data, n);
    kiln_buf_add(&m->key, data + bytes - n, n);
    return kiln_buf_str(&m->key);
}

static kiln_str whole_key(merger *m, const kiln_value *v) {
    const uint64_t h = kiln_hash64(v->data, (size_t)kiln_type_bytes(&v->type), 0);
    key_start_type(m, &v->type);
    kiln_buf_add(&m->key, &h, sizeof h);
    return kiln_buf_str(&m->key);
}

/* Layout, place and facts are not in the keys, and hashes may collide. */
static bool is_same_constant(const kiln_value *a, const kiln_value *b) {
    return kiln_type_eq(&a->type, &b->type) &&
           memcmp(a->data, b->data, (size_t)kiln_type_bytes(&a->type)) == 0;
}

/* The constant that stands for v: an earlier one with equal bytes, or v itself. */
static kiln_value *find_constant(merger *m, kiln_value *v) {
    kiln_str key = sample_key(m, v);
    kiln_value *like = kiln_map_get(&m->samples, key);
    if (like == v)
        return v;
    if (like == NULL) {
        kiln_map_set(m->scratch, &m->samples, key, v);
        return v;
    }
    if (is_same_constant(like, v))
        return like;
    /* Past the first that looks so, constants are listed by all their bytes. */
    key = whole_key(m, v);
    kiln_value *same = kiln_map_get(&m->constants, key);
    if (same == NULL)
        kiln_map_set(m->scratch, &m->constants, key, v);
    return same != NULL && is_same_constant(same, v) ? same : v;
}

static void merge_constants(merger *m, kiln_value **stands_for, size_t n_values,
                            kiln_node *n) {
    for (int k = 0; k < n->n_in; k++) {
        kiln_value *v = n->in[k];
        if (v == NULL || !kiln_value_is_const(v) || (size_t)v->id >= n_values)
            continue;
        if (stands_for[v->id] == NULL)
            stands_for[v->id] = find_constant(m, v);
        if (stands_for[v->id] != v)
            kiln_sweep_set_in(&m->sweep, n, k, stands_for[v->id]);
    }
}

/* ---- nodes ---- */

static void key_add_attr(merger *m, const kiln_attr_def *def, const kiln_attr *a) {
    switch (def->kind) {
    case KILN_ATTR_INT:
    case KILN_ATTR_BOOL:
    case KILN_ATTR_WORD:
    case KILN_ATTR_DTYPE:
        key_add_i64(m, a->i);
        return;
    case KILN_ATTR_FLOAT:
        kiln_buf_add(&m->key, &a->f, sizeof a->f);
        return;
    case KILN_ATTR_INTS:
    case KILN_ATTR_WORDS:
        key_add_i64(m, (int64_t)a->n);
        kiln_buf_add(&m->key, a->ints, a->n * sizeof a->ints[0]);
        return;
    case KILN_ATTR_FLOATS:
        key_add_i64(m, (int64_t)a->n);
        kiln_buf_add(&m->key, a->floats, a->n * sizeof a->floats[0]);
        return;
    case KILN_ATTR_GRAPH:
        break;
    }
    KILN_ASSERT(false, "attribute '%s' has no key", def->name);
}

static bool has_region(const kiln_node *n) {
    for (size_t i = 0; i < n->op->n_attr; i++)
        if (n->op->attr[i].kind == KILN_ATTR_GRAPH)
            return true;
    return false;
}

static kiln_str node_key(merger *m, const kiln_node *n) {
    m->key.n = 0;
    kiln_buf_puts(&m->key, n->op->name);
    key_add_i64(m, n->n_out);
    key_add_i64(m, n->n_in);
    for (int k = 0; k < n->n_in; k++)
        key_add_i64(m, n->in[k] == NULL ? -1 : n->in[k]->id);
    for (size_t i = 0; i < n->op->n_attr; i++)
        key_add_attr(m, &n->op->attr[i], &n->attr[i]);
    return kiln_buf_str(&m->key);
}

/* The node that stands for n: an earlier one, or n itself. */
static kiln_node *find_node(merger *m, kiln_node *n) {
    if (has_region(n))
        return n;
    const kiln_str key = node_key(m, n);
    kiln_node *same = kiln_map_get(&m->nodes, key);
    if (same != NULL)
        return same;
    kiln_map_set(m->scratch, &m->nodes, key, n);
    return n;
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    merger m = {.scratch = cx->scratch};
    kiln_buf_init(&m.key, cx->scratch);
    const size_t n_values = g->values.n;
    kiln_value **stands_for = kiln_array(cx->scratch, kiln_value *, n_values);
    kiln_sweep_begin(&m.sweep, g, cx);
    for (kiln_node *n; (n = kiln_sweep_next(&m.sweep)) != NULL;) {
        merge_constants(&m, stands_for, n_values, n);
        kiln_node *same = find_node(&m, n);
        if (same == n) {
            kiln_sweep_keep(&m.sweep, n);
            continue;
        }
        for (int k = 0; k < n->n_out; k++)
            kiln_sweep_replace(&m.sweep, n->out[k], same->out[k]);
        kiln_sweep_drop(&m.sweep, n);
    }
    kiln_sweep_end(&m.sweep);
    return KILN_OK;
}

const kiln_pass kiln_pass_merge_common = {
    .name = "merge_common",
    .doc = "equal nodes and equal constants become one",
    .needs = KILN_TYPED,
    .makes = KILN_NO_DUPLICATES,
    .keeps = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_CONSTS_FOLDED |
             KILN_INFERENCE_ONLY | KILN_NO_DEAD_CODE,
    .is_exact = true,
    .run = run,
};
