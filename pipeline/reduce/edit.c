/* Candidates: a graph built again with some of it changed. Everything goes through the
 * builder, so that what is built is a graph like any other. */
#include "pipeline/reduce/reduce_internal.h"

#include <string.h>

void kiln_edit_init(kiln_edit *e, kiln_arena *a, const kiln_graph *g) {
    *e = (kiln_edit){.arena = a, .g = g};
    e->value = kiln_array(a, kiln_edit_value, g->values.n);
    e->attr = kiln_array(a, kiln_attr *, g->nodes.n);
    for (size_t i = 0; i < g->values.n; i++)
        e->value[i].type = g->values.v[i]->type;
    KILN_ASSERT(g->outputs.n == g->output_names.n, "%zu outputs have %zu names",
                g->outputs.n, g->output_names.n);
    for (size_t i = 0; i < g->outputs.n; i++) {
        kiln_vec_push(a, &e->out, g->outputs.v[i]);
        kiln_vec_push(a, &e->out_name, g->output_names.v[i]);
    }
}

kiln_attr *kiln_edit_attr(kiln_edit *e, const kiln_node *n) {
    KILN_ASSERT((size_t)n->index < e->g->nodes.n && e->g->nodes.v[n->index] == n,
                "node '%s' is none of the graph that is edited", n->name);
    kiln_attr **at = &e->attr[n->index];
    if (*at == NULL) {
        *at = kiln_array(e->arena, kiln_attr, n->op->n_attr);
        for (size_t k = 0; k < n->op->n_attr; k++)
            (*at)[k] = n->attr[k];
    }
    return *at;
}

/* Row-major, each axis cut at its new end. */
const void *kiln_edit_crop(kiln_arena *a, const kiln_value *v, const kiln_type *to) {
    KILN_ASSERT(v->data != NULL && v->type.rank == to->rank,
                "'%s' is cropped to rank %d", v->name, to->rank);
    const size_t size = kiln_dtype_bytes(to->dtype);
    const int64_t n = kiln_type_elems(to);
    int64_t from[KILN_MAX_RANK], at[KILN_MAX_RANK];
    if (kiln_type_same_shape(&v->type, to))
        return v->data;
    kiln_strides(v->type.rank, v->type.dim, from);
    kiln_strides(to->rank, to->dim, at);
    const kiln_tensor t = kiln_tensor_new(a, to);
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, source = 0;
        for (int k = 0; k < to->rank; k++) {
            source += rest / at[k] * from[k];
            rest %= at[k];
        }
        memcpy((char *)t.data + (size_t)i * size,
               (const char *)v->data + (size_t)source * size, size);
    }
    return t.data;
}

/* ---- what is built --------------------------------------------------------------- */

typedef struct builder {
    const kiln_edit *e;
    kiln_graph *g;
    bool *is_wanted;   /* by value */
    kiln_value **made; /* by value */
} builder;

static const kiln_value *resolved(const kiln_edit *e, const kiln_value *v) {
    while (e->value[v->id].fate == KILN_EDIT_OTHER)
        v = e->value[v->id].other;
    return v;
}

static bool is_made_by_node(const kiln_edit *e, const kiln_value *v) {
    return v->def != NULL && e->value[v->id].fate == KILN_EDIT_KEEP;
}

static bool is_node_wanted(const builder *b, const kiln_node *n) {
    bool is = false;
    for (int k = 0; k < n->n_out; k++)
        is = is || (b->is_wanted[n->out[k]->id] && is_made_by_node(b->e, n->out[k]));
    return is;
}

static void mark(builder *b) {
    const kiln_edit *e = b->e;
    for (size_t i = 0; i < e->out.n; i++)
        b->is_wanted[resolved(e, e->out.v[i])->id] = true;
    for (size_t i = e->g->nodes.n; i-- > 0;) {
        const kiln_node *n = e->g->nodes.v[i];
        for (int k = 0; is_node_wanted(b, n) && k < n->n_in; k++)
            if (n->in[k] != NULL)
                b->is_wanted[resolved(e, n->in[k])->id] = true;
    }
}

/* An input or a constant. */
static bool add_leaf(builder *b, const kiln_value *v) {
    const kiln_edit_value *f = &b->e->value[v->id];
    const bool is_const =
        f->fate == KILN_EDIT_CONST || (f->fate == KILN_EDIT_KEEP && v->data != NULL);
    if (kiln_type_check(&f->type, NULL) != KILN_OK)
        return false;
    if (!is_const) {
        b->made[v->id] = kiln_graph_add_input(b->g, v->name, &f->type);
        return true;
    }
    const void *data =
        f->seed != 0 || v->data == NULL
            ? kiln_tensor_random(b->e->arena, &f->type, f->seed != 0 ? f->seed : 1).data
        : f->data != NULL ? f->data
                          : kiln_edit_crop(b->e->arena, v, &f->type);
    b->made[v->id] = kiln_graph_add_const(b->g, v->name, &f->type, data);
    return true;
}

static bool add_node_with(builder *b, const kiln_node *n, const kiln_attr *attr,
                          kiln_node **out) {
    kiln_arena *a = b->e->arena;
    kiln_value **in = kiln_array(a, kiln_value *, (size_t)n->n_in);
    const char **name = kiln_array(a, const char *, (size_t)n->n_out);
    kiln_attr_arg *arg = kiln_array(a, kiln_attr_arg, n->op->n_attr);
    for (int k = 0; k < n->n_in; k++)
        in[k] = n->in[k] != NULL ? b->made[resolved(b->e, n->in[k])->id] : NULL;
    for (int k = 0; k < n->n_out; k++)
        name[k] = n->out[k]->name;
    for (size_t k = 0; k < n->op->n_attr; k++) {
        arg[k] = (kiln_attr_arg){
            .name = n->op->attr[k].name, .kind = n->op->attr[k].kind, .value = attr[k]};
        if (arg[k].kind == KILN_ATTR_GRAPH && attr[k].graph != NULL)
            arg[k].value.graph = kiln_graph_clone(a, attr[k].graph);
    }
    const kiln_node_spec spec = {.op = n->op,
                                 .name = n->name,
                                 .in = in,
                                 .n_in = n->n_in,
                                 .n_out = n->n_out,
                                 .out_names = name,
                                 .args = arg,
                                 .n_args = n->op->n_attr};
    return kiln_graph_add_node(b->g, &spec, out, NULL) == KILN_OK;
}

/* The shape that a reshape goes to follows its input's: one extent is what is left. */
static bool add_reshape(builder *b, const kiln_node *n, const kiln_attr *attr,
                        kiln_node **out) {
    const kiln_value *x = b->made[resolved(b->e, n->in[0])->id];
    const int64_t elems = kiln_type_elems(&x->type);
    kiln_attr own = attr[0];
    int64_t dim[KILN_MAX_RANK];
    if (n->op != &kiln_op_reshape || own.n > KILN_MAX_RANK)
        return false;
    for (size_t k = 0; k < own.n; k++) {
        int64_t others = 1;
        for (size_t i = 0; i < own.n; i++) {
            dim[i] = own.ints[i];
            others *= i == k || dim[i] < 1 || others > KILN_MAX_ELEMS ? 1 : dim[i];
        }
        if (elems % others != 0)
            continue;
        dim[k] = elems / others;
        const kiln_attr fitted = {.n = own.n, .ints = dim};
        if (add_node_with(b, n, &fitted, out))
            return true;
    }
    return false;
}

static bool add_node(builder *b, const kiln_node *n) {
    const kiln_attr *attr = b->e->attr[n->index];
    kiln_node *made = NULL;
    attr = attr != NULL ? attr : n->attr;
    if (!add_node_with(b, n, attr, &made) && !add_reshape(b, n, attr, &made))
        return false;
    for (int k = 0; k < n->n_out; k++)
        if (is_made_by_node(b->e, n->out[k]))
            b->made[n->out[k]->id] = made->out[k];
    return true;
}

kiln_graph *kiln_edit_apply(const kiln_edit *e) {
    const kiln_graph *g = e->g;
    builder b = {.e = e, .g = kiln_graph_new(e->arena, g->name)};
    b.is_wanted = kiln_array(e->arena, bool, g->values.n);
    b.made = kiln_array(e->arena, kiln_value *, g->values.n);
    mark(&b);
    for (size_t i = 0; i < g->values.n; i++)
        if (b.is_wanted[i] && !is_made_by_node(e, g->values.v[i]) &&
            !add_leaf(&b, g->values.v[i]))
            return NULL;
    for (size_t i = 0; i < g->nodes.n; i++)
        if (is_node_wanted(&b, g->nodes.v[i]) && !add_node(&b, g->nodes.v[i]))
            return NULL;
    for (size_t i = 0; i < e->out.n; i++)
        kiln_graph_add_output(b.g, b.made[resolved(e, e->out.v[i])->id],
                              e->out_name.v[i]);
    kiln_graph_renumber(b.g);
    return e->out.n > 0 ? b.g : NULL;
}
