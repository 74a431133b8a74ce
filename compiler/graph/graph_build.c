/* Building graphs: values, nodes with inferred types, names that nothing else has. */
#include <inttypes.h>
#include <stdio.h>

#include "compiler/graph/graph_internal.h"

/* ---- names ----------------------------------------------------------------------- */

/* The next suffix to try for a wanted name is remembered, so that the k-th node 'relu'
 * costs no k tries: graphs of 100k nodes mostly ask for a few names. */
static const char *fresh(kiln_arena *a, const kiln_map *names, kiln_numbers *suffixes,
                         const char *want, const char *otherwise) {
    if (want == NULL || want[0] == '\0')
        want = otherwise;
    if (!kiln_map_has(names, kiln_str_from(want)))
        return kiln_str_dup(a, want);
    size_t suffix = kiln_numbers_get(suffixes, kiln_str_from(want));
    suffix = suffix == 0 ? 1 : suffix;
    const char *name = kiln_format(a, "%s.%zu", want, suffix);
    while (kiln_map_has(names, kiln_str_from(name)))
        name = kiln_format(a, "%s.%zu", want, ++suffix);
    /* The one given, as the name is not taken before something is made with it. */
    kiln_numbers_set(a, suffixes, kiln_str_from(want), suffix);
    return name;
}

const char *kiln_graph_fresh_value_name(kiln_graph *g, const char *want) {
    return fresh(g->arena, &g->value_names, &g->value_suffix, want, "value");
}

const char *kiln_graph_fresh_node_name(kiln_graph *g, const char *want) {
    return fresh(g->arena, &g->node_names, &g->node_suffix, want, "node");
}

/* ---- values ---------------------------------------------------------------------- */

kiln_graph *kiln_graph_new(kiln_arena *a, const char *name) {
    kiln_graph *const g = kiln_new(a, kiln_graph);
    g->arena = a;
    g->name = kiln_str_dup(a, name == NULL ? "" : name);
    g->facts = KILN_TYPED;
    return g;
}

static kiln_value *new_value(kiln_graph *g, const char *name, const kiln_type *t) {
    kiln_value *const v = kiln_new(g->arena, kiln_value);
    v->id = (int)g->values.n;
    v->name = kiln_graph_fresh_value_name(g, name);
    v->type = *t;
    kiln_vec_push(g->arena, &g->values, v);
    kiln_map_set(g->arena, &g->value_names, kiln_str_from(v->name), v);
    return v;
}

kiln_value *kiln_graph_add_input(kiln_graph *g, const char *name, const kiln_type *t) {
    KILN_ASSERT(kiln_type_check(t, NULL) == KILN_OK, "input '%s' has an unchecked type",
                name);
    kiln_value *const v = new_value(g, name, t);
    kiln_vec_push(g->arena, &g->inputs, v);
    return v;
}

kiln_value *kiln_graph_add_const(kiln_graph *g, const char *name, const kiln_type *t,
                                 const void *data) {
    KILN_ASSERT(kiln_type_check(t, NULL) == KILN_OK,
                "constant '%s' has an unchecked type", name);
    KILN_ASSERT(data != NULL || kiln_type_bytes(t) == 0, "constant '%s' has no data",
                name);
    kiln_value *const v = new_value(g, name, t);
    /* Data tells a constant from an input, so an empty one points at something too. */
    v->data = data == NULL ? "" : data;
    return v;
}

kiln_value *kiln_graph_const_i64(kiln_graph *g, const char *name, int64_t v) {
    const kiln_type t = kiln_type_scalar(KILN_I64);
    return kiln_graph_add_const(g, name, &t, kiln_arena_dup(g->arena, &v, sizeof v));
}

kiln_value *kiln_graph_const_i64s(kiln_graph *g, const char *name, const int64_t *v,
                                  int64_t n) {
    const kiln_type t = kiln_type_make(KILN_I64, 1, &n);
    return kiln_graph_add_const(
        g, name, &t, kiln_arena_dup(g->arena, v, (size_t)kiln_type_bytes(&t)));
}

/* Towards zero; NaN is 0, and what int64_t (for u64: its 64 bits) cannot hold becomes
 * the nearest end. */
static int64_t int_from_f64(kiln_dtype dtype, double v) {
    const double two63 = 9223372036854775808.0;
    if (!(v > -two63))
        return v == v ? INT64_MIN : 0;
    if (v < two63)
        return (int64_t)v;
    if (dtype != KILN_U64)
        return INT64_MAX;
    return v < 2 * two63 ? (int64_t)(uint64_t)v : -1;
}

kiln_value *kiln_graph_const_scalar(kiln_graph *g, const char *name, kiln_dtype dtype,
                                    double v) {
    const kiln_type t = kiln_type_scalar(dtype);
    kiln_wide w = {.type = t};
    int64_t i = 0;
    if (kiln_dtype_is_float(dtype)) {
        w.f = &v;
    } else {
        i = dtype == KILN_BOOL ? v != 0 : int_from_f64(dtype, v);
        w.i = &i;
    }
    const kiln_tensor x = kiln_tensor_new(g->arena, &t);
    kiln_narrow(&w, x.data);
    return kiln_graph_add_const(g, name, &t, x.data);
}

void kiln_graph_add_output(kiln_graph *g, kiln_value *v, const char *name) {
    KILN_ASSERT(v->id >= 0 && (size_t)v->id < g->values.n && g->values.v[v->id] == v,
                "output '%s' is no value of graph '%s'", v->name, g->name);
    kiln_vec_push(g->arena, &g->outputs, v);
    kiln_vec_push(g->arena, &g->output_names,
                  kiln_str_dup(g->arena, name == NULL ? v->name : name));
}

bool kiln_value_is_const(const kiln_value *v) { return v->data != NULL; }

/* ---- nodes ----------------------------------------------------------------------- */

/* "2", "at least 1", "1 to 3" */
static const char *range_text(char *buf, size_t n, int min, int max) {
    if (max == KILN_VARIADIC)
        (void)snprintf(buf, n, "at least %d", min);
    else if (min == max)
        (void)snprintf(buf, n, "%d", min);
    else
        (void)snprintf(buf, n, "%d to %d", min, max);
    return buf;
}

static const char *in_name(const kiln_op_def *op, int i, char *buf, size_t n) {
    for (int k = 0; op->in_names != NULL && op->in_names[k] != NULL; k++) {
        if (k == i)
            return op->in_names[k];
    }
    (void)snprintf(buf, n, "%d", i);
    return buf;
}

static int out_min(const kiln_op_def *op) {
    return op->n_out_max == 0 ? 1 : op->n_out_min;
}

kiln_status kiln_node_check_counts(const kiln_op_def *op, kiln_value *const *in,
                                   int n_in, int n_out, kiln_err *err) {
    char text[64];
    const int max_out = op->n_out_max == 0 ? 1 : op->n_out_max;
    if (n_in < op->n_in_min || n_in > op->n_in_max)
        return kiln_fail(
            err, KILN_ERR_ARG, "operator '%s' takes %s inputs, has %d", op->name,
            range_text(text, sizeof text, op->n_in_min, op->n_in_max), n_in);
    if (n_out < out_min(op) || n_out > max_out)
        return kiln_fail(err, KILN_ERR_ARG, "operator '%s' makes %s outputs, has %d",
                         op->name, range_text(text, sizeof text, out_min(op), max_out),
                         n_out);
    /* In a list of any length an absent input would have no meaning. */
    const int required = op->n_in_max == KILN_VARIADIC ? n_in : op->n_in_min;
    for (int i = 0; i < required; i++) {
        if (in[i] == NULL)
            return kiln_fail(err, KILN_ERR_ARG, "input '%s' of '%s' must be given",
                             in_name(op, i, text, sizeof text), op->name);
    }
    return KILN_OK;
}

static kiln_status check_first_dtype(const kiln_node *n, kiln_err *err) {
    if (n->op->dtypes == 0 || n->n_in == 0 || n->in[0] == NULL ||
        kiln_dtype_is_in(n->in[0]->type.dtype, n->op->dtypes))
        return KILN_OK;
    kiln_arena scratch = {0};
    char text[16];
    const kiln_status st = kiln_fail(
        err, KILN_ERR_SHAPE, "input '%s' must be %s, is %s%s",
        in_name(n->op, 0, text, sizeof text),
        kiln_dtype_set_text(&scratch, n->op->dtypes),
        kiln_dtype_name(n->in[0]->type.dtype), kiln_dtype_remedy(n->in[0]->type.dtype));
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status infer_checked(const kiln_node *n, kiln_type *out, kiln_err *err) {
    KILN_TRY(check_first_dtype(n, err));
    KILN_TRY(n->op->infer(n, out, err));
    for (int i = 0; i < n->n_out; i++) {
        const kiln_status st = kiln_type_check(&out[i], err);
        if (st != KILN_OK) {
            kiln_note(err, "checking output %d", i);
            return st;
        }
    }
    return KILN_OK;
}

/* Names come from models and may hold any byte. */
static void note_node(kiln_err *err, const char *doing, const kiln_node *n) {
    kiln_arena scratch = {0};
    kiln_note(err, "%s node '%s' (%s)", doing,
              kiln_str_printable(&scratch, kiln_str_from(n->name), 200), n->op->name);
    kiln_arena_fini(&scratch);
}

kiln_status kiln_node_infer_types(const kiln_node *n, kiln_type *out, kiln_err *err) {
    for (int i = 0; i < n->n_out; i++)
        out[i] = (kiln_type){0};
    const kiln_status st = infer_checked(n, out, err);
    if (st != KILN_OK)
        note_node(err, "inferring the type of", n);
    return st;
}

kiln_status kiln_node_infer(kiln_node *n, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_type *const t = kiln_array(&scratch, kiln_type, n->n_out);
    const kiln_status st = kiln_node_infer_types(n, t, err);
    for (int i = 0; st == KILN_OK && i < n->n_out; i++)
        n->out[i]->type = t[i];
    kiln_arena_fini(&scratch);
    return st;
}

/* Inputs that belong to another graph would only be seen when this one runs. */
static void assert_owned(const kiln_graph *g, const kiln_node_spec *s) {
    for (int i = 0; i < s->n_in; i++) {
        const kiln_value *const v = s->in[i];
        KILN_ASSERT(v == NULL || (v->id >= 0 && (size_t)v->id < g->values.n &&
                                  g->values.v[v->id] == v),
                    "input '%s' of a new '%s' is not of this graph", v->name,
                    s->op->name);
    }
}

static void add_outputs(kiln_graph *g, kiln_node *n, const kiln_node_spec *s,
                        const kiln_type *types) {
    n->out = kiln_array(g->arena, kiln_value *, n->n_out);
    for (int i = 0; i < n->n_out; i++) {
        const char *want = s->out_names == NULL ? NULL : s->out_names[i];
        if (want == NULL || want[0] == '\0')
            want = i == 0 ? n->name : kiln_format(g->arena, "%s_%d", n->name, i);
        n->out[i] = new_value(g, want, &types[i]);
        n->out[i]->def = n;
        n->out[i]->def_index = i;
    }
}

static kiln_status prepare(kiln_graph *g, const kiln_node_spec *s, kiln_node *n,
                           kiln_type **types, kiln_err *err) {
    KILN_TRY(kiln_node_check_counts(s->op, s->in, n->n_in, n->n_out, err));
    KILN_TRY(kiln_attrs_make(g->arena, s->op, s->args, s->n_args, &n->attr, err));
    n->in = kiln_array(g->arena, kiln_value *, n->n_in);
    for (int i = 0; i < n->n_in; i++)
        n->in[i] = s->in[i];
    *types = kiln_array(g->arena, kiln_type, n->n_out);
    return KILN_OK;
}

kiln_status kiln_graph_add_node(kiln_graph *g, const kiln_node_spec *spec,
                                kiln_node **out, kiln_err *err) {
    assert_owned(g, spec);
    kiln_node *const n = kiln_new(g->arena, kiln_node);
    n->op = spec->op;
    n->graph = g;
    n->index = (int)g->nodes.n;
    n->name = kiln_graph_fresh_node_name(
        g, spec->name == NULL || spec->name[0] == '\0' ? spec->op->name : spec->name);
    n->n_in = spec->n_in;
    while (n->n_in > 0 && spec->in[n->n_in - 1] == NULL)
        n->n_in--;
    n->n_out = spec->n_out == 0 ? out_min(spec->op) : spec->n_out;
    kiln_type *types;
    const kiln_status st = prepare(g, spec, n, &types, err);
    if (st != KILN_OK) {
        note_node(err, "adding", n);
        return st;
    }
    KILN_TRY(kiln_node_infer_types(n, types, err));
    add_outputs(g, n, spec, types);
    kiln_vec_push(g->arena, &g->nodes, n);
    kiln_map_set(g->arena, &g->node_names, kiln_str_from(n->name), n);
    if (out != NULL)
        *out = n;
    return KILN_OK;
}
