/* kiln's own graph text as a model (docs/graph-text.md): small examples, what `kiln
 * reduce` writes. The parser holds the text to its grammar and infers every type; here
 * is what makes it a model, and not just any graph in the middle of compilation. */
#include "compiler/frontend/frontend_internal.h"

#include <string.h>

/* Blanks and comments, as the lexer has them; then `graph "`. */
static bool sniff(kiln_str bytes) {
    static const char word[] = "graph";
    enum { N_WORD = sizeof word - 1 };
    size_t i = 0;
    while (i < bytes.n && strchr(" \t\r\n#", bytes.p[i]) != NULL && bytes.p[i] != 0) {
        if (bytes.p[i] == '#')
            while (i < bytes.n && bytes.p[i] != '\n')
                i++;
        else
            i++;
    }
    if (bytes.n - i < N_WORD || memcmp(bytes.p + i, word, N_WORD) != 0)
        return false;
    for (i += N_WORD; i < bytes.n && strchr(" \t\r\n", bytes.p[i]) != NULL; i++)
        if (bytes.p[i] == 0)
            return false;
    return i < bytes.n && bytes.p[i] == '"';
}

/* ---- what a model is ------------------------------------------------------------- */

static kiln_status check_value(kiln_arena *a, const kiln_value *v, kiln_err *err) {
    const kiln_type plain = kiln_type_make(v->type.dtype, v->type.rank, v->type.dim);
    if (kiln_type_eq(&v->type, &plain))
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                     "value '%s' of a model must be %s: row-major, in main memory; is "
                     "%s",
                     kiln_str_printable(a, kiln_str_from(v->name), 60),
                     kiln_type_text(a, &plain), kiln_type_text(a, &v->type));
}

/* Also takes away what the text claims passes to have made. The parser bounds the
 * depth. */
static kiln_status check_graph(kiln_arena *a, kiln_graph *g, kiln_err *err) {
    g->facts = KILN_TYPED;
    for (size_t i = 0; i < g->values.n; i++)
        KILN_TRY(check_value(a, g->values.v[i], err));
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *n = g->nodes.v[i];
        for (size_t k = 0; k < n->op->n_attr; k++)
            if (n->op->attr[k].kind == KILN_ATTR_GRAPH && n->attr[k].graph != NULL)
                KILN_TRY(check_graph(a, n->attr[k].graph, err));
    }
    return KILN_OK;
}

static kiln_status read_model(kiln_arena *a, kiln_str bytes, const char *name,
                              kiln_graph **out, kiln_err *err) {
    kiln_graph *g = NULL;
    KILN_TRY(kiln_graph_parse(a, bytes, name, &g, err));
    if (g->outputs.n == 0)
        return kiln_fail(err, KILN_ERR_PARSE, "the graph must have outputs");
    KILN_TRY(check_graph(a, g, err));
    *out = g;
    return KILN_OK;
}

/* ---- what the caller says about inputs ------------------------------------------- */

static kiln_status find_input(kiln_arena *a, const kiln_graph *g, const char *name,
                              const char *flag, size_t *index, kiln_err *err) {
    for (size_t i = 0; i < g->inputs.n; i++)
        if (strcmp(g->inputs.v[i]->name, name) == 0) {
            *index = i;
            return KILN_OK;
        }
    return kiln_fail(err, KILN_ERR_ARG, "%s names '%s', which is no graph input", flag,
                     kiln_str_printable(a, kiln_str_from(name), 60));
}

static kiln_status check_shape(kiln_arena *a, const kiln_graph *g,
                               const kiln_shape_binding *b, kiln_err *err) {
    size_t i = 0;
    KILN_TRY(find_input(a, g, b->name, "--shape", &i, err));
    const kiln_type *t = &g->inputs.v[i]->type;
    if (b->rank == t->rank &&
        memcmp(b->dim, t->dim, (size_t)t->rank * sizeof *t->dim) == 0)
        return KILN_OK;
    return kiln_fail(
        err, KILN_ERR_SHAPE,
        "input '%s' is declared as %s, but %s is given; a graph's text has "
        "no dynamic dimensions",
        b->name, kiln_type_text(a, t), kiln_shape_text(a, b->rank, b->dim));
}

/* The input becomes a constant. */
static kiln_status fix(kiln_arena *a, kiln_graph *g, const kiln_value_binding *b,
                       kiln_err *err) {
    size_t i = 0;
    KILN_TRY(find_input(a, g, b->name, "--bind", &i, err));
    kiln_value *v = g->inputs.v[i];
    if (!kiln_type_eq(&v->type, &b->value.type))
        return kiln_fail(
            err, KILN_ERR_SHAPE, "input '%s' is %s, but the value given is %s", b->name,
            kiln_type_text(a, &v->type), kiln_type_text(a, &b->value.type));
    v->data = b->value.data;
    for (size_t k = i + 1; k < g->inputs.n; k++)
        g->inputs.v[k - 1] = g->inputs.v[k];
    g->inputs.n--;
    return KILN_OK;
}

static kiln_status bind(kiln_arena *a, kiln_graph *g, const kiln_import_options *o,
                        kiln_err *err) {
    for (size_t i = 0; o != NULL && i < o->n_shapes; i++)
        KILN_TRY(check_shape(a, g, &o->shapes[i], err));
    for (size_t i = 0; o != NULL && i < o->n_values; i++)
        KILN_TRY(fix(a, g, &o->values[i], err));
    return KILN_OK;
}

static kiln_status import(kiln_arena *a, kiln_str bytes, const char *name,
                          const char *dir, const kiln_import_options *o,
                          kiln_graph **out, kiln_import_report *report, kiln_err *err) {
    (void)dir; /* constants are in the text */
    kiln_graph *g = NULL;
    if (report != NULL)
        *report = (kiln_import_report){.format = "graph", .producer = ""};
    kiln_status st = read_model(a, bytes, name, &g, err);
    if (st == KILN_OK)
        st = bind(a, g, o, err);
    if (st != KILN_OK) {
        kiln_note(err, "importing '%s'", name);
        return st;
    }
    *out = g;
    return KILN_OK;
}

static kiln_status list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                               kiln_declared_input **out, size_t *n, kiln_err *err) {
    (void)path;
    kiln_graph *g = NULL;
    KILN_TRY(read_model(a, bytes, NULL, &g, err));
    kiln_declared_input *list = kiln_array(a, kiln_declared_input, g->inputs.n);
    for (size_t i = 0; i < g->inputs.n; i++) {
        const kiln_value *v = g->inputs.v[i];
        list[i] = (kiln_declared_input){.name = v->name,
                                        .has_type = true,
                                        .dtype = v->type.dtype,
                                        .rank = v->type.rank};
        memcpy(list[i].dim, v->type.dim, sizeof list[i].dim);
    }
    *out = list;
    *n = g->inputs.n;
    return KILN_OK;
}

static const char *const extensions[] = {".kgraph", NULL};

const kiln_frontend kiln_frontend_graph = {
    .name = "graph",
    .doc = "kiln's own graph text",
    .extensions = extensions,
    .sniff = sniff,
    .import = import,
    .list_inputs = list_inputs,
};
