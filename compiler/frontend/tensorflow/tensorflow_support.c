/* Which operators a graph needs: rows of tf_ops.def, functions of its library, and what
 * is neither. */
#include "compiler/frontend/tensorflow/tf_internal.h"
#include "base/numbers.h"

#include <inttypes.h>

static const kiln_tf_op rows[] = {
#define KILN_TF(name, importer, op, outputs)                                           \
    {name, kiln_tf_import_##importer, op, outputs},
#include "compiler/frontend/tensorflow/tf_ops.def"
#undef KILN_TF
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

void kiln_tf_add_rows(kiln_tf_cx *cx) {
    for (size_t i = 0; i < N_ROWS; i++)
        kiln_map_set(&cx->common.scratch, &cx->rows, kiln_str_from(rows[i].name),
                     &rows[i]);
}

const kiln_tf_op *kiln_tf_find_op(kiln_tf_cx *cx, kiln_str name) {
    return kiln_map_get(&cx->rows, name);
}

/* ---- walking ---------------------------------------------------------------------- */

typedef struct walk {
    kiln_tf_cx *cx;
    kiln_map seen; /* functions */
    void (*visit)(kiln_tf_cx *cx, const kiln_tf_node *n, void *user);
    void *user;
} walk;

static kiln_status walk_frame(walk *w, kiln_tf_frame *f, const size_t *root,
                              size_t n_root, int depth);

/* Deeper calls are refused where they are imported. */
static kiln_status walk_function(walk *w, const kiln_tf_function *function, int depth) {
    kiln_tf_frame f;
    const size_t *root;
    size_t n_root;
    if (function == NULL || depth == KILN_TF_MAX_CALLS ||
        !kiln_map_set(&w->cx->common.scratch, &w->seen, function->name, NULL))
        return KILN_OK;
    KILN_TRY(kiln_tf_frame_of(w->cx, &f, function, &root, &n_root));
    return walk_frame(w, &f, root, n_root, depth + 1);
}

/* What it is, or calls by an attribute: branches, bodies. */
static kiln_status walk_calls(walk *w, const kiln_tf_node *n, int depth) {
    KILN_TRY(walk_function(w, kiln_tf_find_function(w->cx, n), depth));
    for (size_t i = 0; i < n->n_attr; i++)
        if (n->attr[i].has_func)
            KILN_TRY(walk_function(w, kiln_map_get(&w->cx->functions, n->attr[i].func),
                                   depth));
    return KILN_OK;
}

/* Loops of control flow form cycles, so that this walk minds none. */
static kiln_status walk_frame(walk *w, kiln_tf_frame *f, const size_t *root,
                              size_t n_root, int depth) {
    kiln_arena *const a = &w->cx->common.scratch;
    bool *const is_seen = kiln_array(a, bool, f->n_node);
    KILN_VEC(size_t) stack = {0};
    for (size_t i = 0; i < n_root; i++) {
        if (!is_seen[root[i]])
            kiln_vec_push(a, &stack, root[i]);
        is_seen[root[i]] = true;
    }
    while (stack.n > 0) {
        const kiln_tf_node *const n = &f->node[stack.v[--stack.n]];
        w->visit(w->cx, n, w->user);
        KILN_TRY(walk_calls(w, n, depth));
        for (size_t i = 0; i < n->n_input; i++) {
            size_t at = 0;
            int k;
            if (i < (size_t)n->n_in)
                KILN_TRY(kiln_tf_resolve(w->cx, f, n, n->input[i], &at, &k));
            else
                at = kiln_tf_pivot(f, n, i);
            if (at == 0 || is_seen[at - 1])
                continue;
            is_seen[at - 1] = true;
            kiln_vec_push(a, &stack, at - 1);
        }
    }
    return KILN_OK;
}

kiln_status
kiln_tf_walk(kiln_tf_cx *cx, kiln_tf_frame *f, const size_t *root, size_t n_root,
             void (*visit)(kiln_tf_cx *cx, const kiln_tf_node *n, void *user),
             void *user) {
    walk w = {.cx = cx, .visit = visit, .user = user};
    return walk_frame(&w, f, root, n_root, 0);
}

/* ---- listing ---------------------------------------------------------------------- */

static void add_unsupported(kiln_tf_cx *cx, const kiln_tf_node *n, void *user) {
    kiln_numbers *const seen = user;
    if (kiln_tf_find_op(cx, n->op) != NULL || kiln_tf_find_function(cx, n) != NULL)
        return;
    const size_t at = kiln_numbers_get(seen, n->op);
    if (at != 0) {
        cx->report->unsupported.v[at - 1].count++;
        return;
    }
    kiln_arena *const a = cx->common.arena;
    const kiln_unsupported u = {.op = kiln_str_printable(a, n->op, 120),
                                .first_node = kiln_str_printable(a, n->name, 200),
                                .count = 1};
    kiln_vec_push(a, &cx->report->unsupported, u);
    kiln_numbers_set(&cx->common.scratch, seen, n->op, cx->report->unsupported.n);
}

kiln_status kiln_tf_check_support(kiln_tf_cx *cx, kiln_tf_frame *f, const size_t *root,
                                  size_t n_root) {
    kiln_numbers seen = {0};
    kiln_buf text;
    KILN_TRY(kiln_tf_walk(cx, f, root, n_root, add_unsupported, &seen));
    const size_t n = cx->report->unsupported.n;
    if (n == 0)
        return KILN_OK;
    kiln_buf_init(&text, &cx->common.scratch);
    for (size_t i = 0; i < n; i++) {
        const kiln_unsupported *const u = &cx->report->unsupported.v[i];
        kiln_buf_printf(&text, "%s %s (%" PRId64 " time%s, first in node '%s')",
                        i == 0 ? "" : ",", u->op, u->count, u->count == 1 ? "" : "s",
                        u->first_node);
    }
    return kiln_tf_fail(
        cx, KILN_ERR_UNSUPPORTED,
        "%zu operator%s not read:%s; freeze the graph for inference, or "
        "export it without them",
        n, n == 1 ? " is" : "s are", kiln_buf_str(&text).p);
}
