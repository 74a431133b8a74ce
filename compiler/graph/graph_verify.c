/* The verifier: what must hold of every graph between passes. It goes on after a fault,
 * so that one run names every broken node. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "compiler/graph/graph_internal.h"

/* What one verification has found so far, regions included. */
typedef struct faults {
    kiln_arena *scratch;
    kiln_buf text;
    int n;
    kiln_status first;
} faults;

/* One graph under verification. */
typedef struct verifier {
    faults *found;
    const kiln_graph *g;
    const char *where; /* "" or "region 'then' of node 'x': " */
    bool *is_defined;  /* by value id: at this point of the order */
    bool *is_broken;   /* by value id: its type must not be read */
    kiln_map names;    /* of values seen */
    kiln_map nodes;    /* of nodes seen */
    int depth;
} verifier;

static void verify_graph(verifier *v);

/* ---- faults ---------------------------------------------------------------------- */

static const char *shown(verifier *v, const char *name) {
    return kiln_str_printable(v->found->scratch, kiln_str_from(name), 60);
}

/* Past the room of a kiln_err the texts would be cut anyway; only their number still
 * grows. */
static void KILN_PRINTF(3, 4)
    fault(verifier *v, kiln_status status, const char *fmt, ...) {
    faults *const f = v->found;
    if (f->n++ == 0)
        f->first = status;
    if (f->text.n >= KILN_ERR_TEXT)
        return;
    char text[KILN_ERR_TEXT];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    kiln_buf_printf(&f->text, "%s%s%s", f->n == 1 ? "" : "; ", v->where, text);
}

/* A fault whose text another function wrote. */
static void fault_from(verifier *v, const char *what, const char *name, kiln_status st,
                       const kiln_err *err) {
    fault(v, st, "%s '%s': %s", what, shown(v, name), err->text);
}

/* ---- values ---------------------------------------------------------------------- */

static bool is_owned(const kiln_graph *g, const kiln_value *x) {
    return x->id >= 0 && (size_t)x->id < g->values.n && g->values.v[x->id] == x;
}

/* Whether x can be read at this point; else says why not. `user` is "node 'a'" or the
 * like. */
static bool check_use(verifier *v, const char *user, const kiln_value *x) {
    if (is_owned(v->g, x) && (x->data != NULL || v->is_defined[x->id]))
        return true;
    const char *const name = shown(v, x->name);
    if (!is_owned(v->g, x))
        fault(v, KILN_ERR_ARG, "%s uses '%s', which belongs to another graph", user,
              name);
    else if (x->def == NULL)
        fault(v, KILN_ERR_ARG,
              "%s uses '%s', which is no input, no constant and made by no node", user,
              name);
    else if (!kiln_node_is_listed(v->g, x->def))
        fault(v, KILN_ERR_ARG, "%s uses '%s', whose node '%s' is not in the graph",
              user, name, shown(v, x->def->name));
    else
        fault(v, KILN_ERR_ARG, "%s uses '%s' before node '%s' makes it", user, name,
              shown(v, x->def->name));
    return false;
}

static void check_bound(verifier *v, const kiln_value *x) {
    if (x->count == NULL)
        return;
    const char *const user =
        kiln_format(v->found->scratch, "bounded value '%s'", shown(v, x->name));
    if (!check_use(v, user, x->count) || v->is_broken[x->count->id])
        return;
    if (x->count->type.dtype != KILN_I64 || x->count->type.rank != 0)
        fault(v, KILN_ERR_SHAPE, "%s must have a count of type i64[], has %s", user,
              kiln_type_text(v->found->scratch, &x->count->type));
    if (x->bounded_axis < 0 || x->bounded_axis >= x->type.rank)
        fault(v, KILN_ERR_SHAPE, "%s must be bounded on an axis in [0, %d), is on %d",
              user, x->type.rank, x->bounded_axis);
}

/* Name and type, for what an input, a constant or a node's output is; false when its
 * type is none. */
static bool check_value(verifier *v, const kiln_value *x) {
    if (x->name == NULL || x->name[0] == '\0')
        fault(v, KILN_ERR_ARG, "value %d has no name", x->id);
    else if (!kiln_map_set(v->found->scratch, &v->names, kiln_str_from(x->name), v))
        fault(v, KILN_ERR_ARG, "the name '%s' must be one value's, is another's too",
              shown(v, x->name));
    kiln_err err = {0};
    const kiln_status st = kiln_type_check(&x->type, &err);
    if (st != KILN_OK)
        fault_from(v, "value", x->name, st, &err);
    return st == KILN_OK;
}

static void check_inputs(verifier *v) {
    for (size_t i = 0; i < v->g->inputs.n; i++) {
        const kiln_value *const x = v->g->inputs.v[i];
        if (!is_owned(v->g, x)) {
            fault(v, KILN_ERR_ARG, "input '%s' belongs to another graph",
                  shown(v, x->name));
            continue;
        }
        if (v->is_defined[x->id])
            fault(v, KILN_ERR_ARG, "input '%s' must be listed once, is listed again",
                  shown(v, x->name));
        else
            (void)check_value(v, x);
        if (x->def != NULL || x->data != NULL)
            fault(v, KILN_ERR_ARG, "input '%s' must not be %s too", shown(v, x->name),
                  x->def != NULL ? "made by a node" : "a constant");
        v->is_defined[x->id] = true;
    }
    for (size_t i = 0; i < v->g->inputs.n; i++)
        check_bound(v, v->g->inputs.v[i]);
}

/* Generated code adds and compares such bytes as they are. */
static void check_bools(verifier *v, const kiln_value *x) {
    if (x->type.dtype != KILN_BOOL)
        return;
    const unsigned char *const byte = x->data;
    const int64_t n = kiln_type_stored_elems(&x->type);
    for (int64_t i = 0; i < n; i++) {
        if (byte[i] > 1) {
            fault(v, KILN_ERR_ARG,
                  "constant '%s' must hold bytes 0 and 1, holds %d at %" PRId64,
                  shown(v, x->name), byte[i], i);
            return;
        }
    }
}

/* Only those in use: the rest is not part of what the graph says. */
static void check_constants(verifier *v, const int *uses) {
    for (size_t i = 0; i < v->g->values.n; i++) {
        const kiln_value *const x = v->g->values.v[i];
        if (x->id != (int)i) {
            fault(v, KILN_ERR_ARG, "value '%s' must have the id %zu, has %d",
                  shown(v, x->name), i, x->id);
            continue;
        }
        if (x->data == NULL || uses[i] == 0)
            continue;
        if (x->def != NULL)
            fault(v, KILN_ERR_ARG, "constant '%s' must not be made by a node too",
                  shown(v, x->name));
        check_bound(v, x);
        if (check_value(v, x))
            check_bools(v, x);
    }
}

/* ---- nodes ----------------------------------------------------------------------- */

static bool check_node_inputs(verifier *v, const kiln_node *n) {
    const char *const user =
        kiln_format(v->found->scratch, "node '%s'", shown(v, n->name));
    bool ok = true;
    for (int i = 0; i < n->n_in; i++)
        ok = (n->in[i] == NULL ||
              (check_use(v, user, n->in[i]) && !v->is_broken[n->in[i]->id])) &&
             ok;
    if (n->n_in > 0 && n->in[n->n_in - 1] == NULL) {
        fault(v, KILN_ERR_ARG, "%s must not list an absent input last", user);
        ok = false;
    }
    return ok;
}

static bool check_node_outputs(verifier *v, const kiln_node *n) {
    bool ok = true;
    for (int i = 0; i < n->n_out; i++) {
        const kiln_value *const x = n->out[i];
        if (x == NULL || !is_owned(v->g, x)) {
            fault(v, KILN_ERR_ARG, "output %d of node '%s' is no value of the graph", i,
                  shown(v, n->name));
            ok = false;
            continue;
        }
        if (x->def != n || x->def_index != i || x->data != NULL) {
            fault(v, KILN_ERR_ARG,
                  "output %d of node '%s', '%s', must link back to it, does not", i,
                  shown(v, n->name), shown(v, x->name));
            ok = false;
        }
        v->is_defined[x->id] = true;
    }
    return ok;
}

static bool check_region(verifier *v, const kiln_node *n, const kiln_attr_def *def,
                         const kiln_graph *region) {
    if (region == NULL)
        return true;
    const char *const where =
        kiln_format(v->found->scratch, "%sregion '%s' of node '%s': ", v->where,
                    def->name, shown(v, n->name));
    verifier inner = {
        .found = v->found, .g = region, .where = where, .depth = v->depth + 1};
    const int before = v->found->n;
    verify_graph(&inner);
    return v->found->n == before;
}

static bool check_node_attrs(verifier *v, const kiln_node *n) {
    bool ok = true;
    for (size_t i = 0; i < n->op->n_attr; i++) {
        kiln_err err = {0};
        const kiln_attr_def *const def = &n->op->attr[i];
        const kiln_status st = kiln_attr_check(def, &n->attr[i], &err);
        if (st != KILN_OK) {
            fault_from(v, "node", n->name, st, &err);
            ok = false;
        } else if (def->kind == KILN_ATTR_GRAPH) {
            ok = check_region(v, n, def, n->attr[i].graph) && ok;
        }
    }
    return ok;
}

static void check_node_types(verifier *v, const kiln_node *n) {
    kiln_err err = {0};
    kiln_type *const types = kiln_array(v->found->scratch, kiln_type, n->n_out);
    const kiln_status st = kiln_node_infer_types(n, types, &err);
    if (st != KILN_OK) {
        fault_from(v, "node", n->name, st, &err);
        return;
    }
    for (int i = 0; i < n->n_out; i++) {
        if (!kiln_type_eq(&types[i], &n->out[i]->type))
            fault(v, KILN_ERR_SHAPE, "output '%s' of node '%s' must be %s, is %s",
                  shown(v, n->out[i]->name), shown(v, n->name),
                  kiln_type_text(v->found->scratch, &types[i]),
                  kiln_type_text(v->found->scratch, &n->out[i]->type));
    }
}

static void check_node(verifier *v, size_t index) {
    const kiln_node *const n = v->g->nodes.v[index];
    const char *const name = shown(v, n->name);
    if (n->graph != v->g || n->index != (int)index)
        fault(v, KILN_ERR_ARG, "node '%s' must be number %zu of its graph, is not",
              name, index);
    if (!kiln_map_set(v->found->scratch, &v->nodes, kiln_str_from(n->name), v))
        fault(v, KILN_ERR_ARG, "the name '%s' must be one node's, is another's too",
              name);
    bool ok = check_node_inputs(v, n);
    ok = check_node_outputs(v, n) && ok;
    kiln_err err = {0};
    const kiln_status st =
        kiln_node_check_counts(n->op, n->in, n->n_in, n->n_out, &err);
    if (st != KILN_OK)
        fault_from(v, "node", n->name, st, &err);
    ok = check_node_attrs(v, n) && ok && st == KILN_OK;
    /* Inference may read what the checks above found broken. */
    if (!ok)
        return;
    for (int i = 0; i < n->n_out; i++) {
        ok = check_value(v, n->out[i]) && ok;
        check_bound(v, n->out[i]);
    }
    if (ok)
        check_node_types(v, n);
}

/* ---- graphs ---------------------------------------------------------------------- */

static void check_outputs(verifier *v) {
    if (v->g->output_names.n != v->g->outputs.n)
        fault(v, KILN_ERR_ARG,
              "a graph of %zu outputs must have as many names, has %zu",
              v->g->outputs.n, v->g->output_names.n);
    for (size_t i = 0; i < v->g->outputs.n; i++)
        (void)check_use(v, kiln_format(v->found->scratch, "graph output %zu", i),
                        v->g->outputs.v[i]);
}

/* As kiln_graph_count_uses, of a graph whose links may be broken: marks owned constants
 * in use. */
static int *used_constants(verifier *v) {
    const kiln_graph *const g = v->g;
    int *const uses = kiln_array(v->found->scratch, int, g->values.n);
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *const n = g->nodes.v[i];
        for (int k = 0; k < n->n_in; k++) {
            if (n->in[k] != NULL && is_owned(g, n->in[k]))
                uses[n->in[k]->id]++;
        }
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        if (is_owned(g, g->outputs.v[i]))
            uses[g->outputs.v[i]->id]++;
    }
    return uses;
}

static void verify_graph(verifier *v) {
    if (v->depth >= KILN_MAX_REGION_DEPTH) {
        fault(v, KILN_ERR_LIMIT, "regions may nest %d deep", KILN_MAX_REGION_DEPTH);
        return;
    }
    v->is_defined = kiln_array(v->found->scratch, bool, v->g->values.n);
    v->is_broken = kiln_array(v->found->scratch, bool, v->g->values.n);
    for (size_t i = 0; i < v->g->values.n; i++)
        v->is_broken[i] = kiln_type_check(&v->g->values.v[i]->type, NULL) != KILN_OK;
    check_inputs(v);
    check_constants(v, used_constants(v));
    for (size_t i = 0; i < v->g->nodes.n; i++)
        check_node(v, i);
    check_outputs(v);
}

kiln_status kiln_graph_verify(const kiln_graph *g, kiln_err *err) {
    kiln_arena scratch = {0};
    faults found = {.scratch = &scratch};
    kiln_buf_init(&found.text, &scratch);
    verifier v = {.found = &found, .g = g, .where = ""};
    verify_graph(&v);
    kiln_status st = KILN_OK;
    if (found.n > 0)
        st = kiln_fail(err, found.first, "graph '%s' has %d fault%s: %s",
                       shown(&v, g->name), found.n, found.n == 1 ? "" : "s",
                       found.text.p);
    kiln_arena_fini(&scratch);
    return st;
}
