/* Graphs as text. The form is complete and stable; its grammar is in
 * docs/graph-text.md, and graph_parse.c reads it back: change the three together. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compiler/graph/graph_internal.h"

const char *const kiln_graph_fact_names[KILN_N_GRAPH_FACTS] = {
    "typed",          "shapes_folded", "consts_folded",
    "inference_only", "no_dead_code",  "no_duplicates",
};

typedef struct printer {
    kiln_buf *out;
    const kiln_print_options *options;
    int depth; /* of regions */
} printer;

static void print_graph(printer *p, const kiln_graph *g);

/* ---- words ----------------------------------------------------------------------- */

static void put(printer *p, const char *z) { kiln_buf_puts(p->out, z); }

static void new_line(printer *p) {
    put(p, "\n");
    for (int i = 0; i < p->depth; i++)
        put(p, "  ");
}

bool kiln_text_is_bare(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '.' || c == '/' || c == '-';
}

static void put_value(printer *p, const kiln_value *v) {
    put(p, "%");
    bool is_bare = v->name[0] != '\0';
    for (const char *z = v->name; *z != '\0'; z++)
        is_bare = is_bare && kiln_text_is_bare(*z);
    if (is_bare)
        put(p, v->name);
    else
        kiln_buf_quote(p->out, v->name);
}

static void put_type(printer *p, const kiln_value *v) {
    kiln_type_print(p->out, &v->type);
    if (v->count == NULL)
        return;
    kiln_buf_printf(p->out, " bounded(%d, ", v->bounded_axis);
    put_value(p, v->count);
    put(p, ")");
}

/* ---- numbers --------------------------------------------------------------------- */

uint64_t kiln_text_plain_nan(kiln_dtype dtype) {
    double nan = (double)NAN;
    const kiln_wide w = {.type = kiln_type_scalar(dtype), .f = &nan};
    uint64_t bits = 0;
    kiln_narrow(&w, &bits);
    return bits;
}

/* One float of a dtype from its bits, in the low bytes. */
static void put_float(printer *p, kiln_dtype dtype, uint64_t bits) {
    const kiln_type t = kiln_type_scalar(dtype);
    double v = 0;
    kiln_wide w = {.type = t, .f = &v};
    kiln_widen(&t, &bits, &w);
    if (!isnan(v))
        kiln_buf_printf(p->out, "%a", v);
    else if (bits == kiln_text_plain_nan(dtype))
        put(p, "nan");
    else
        kiln_buf_printf(p->out, "nan:0x%" PRIx64, bits);
}

static void put_f64(printer *p, double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    put_float(p, KILN_F64, bits);
}

static void put_element(printer *p, kiln_dtype dtype, const unsigned char *at) {
    uint64_t bits = 0;
    memcpy(&bits, at, kiln_dtype_bytes(dtype));
    if (kiln_dtype_is_float(dtype)) {
        put_float(p, dtype, bits);
    } else if (dtype == KILN_U64) {
        kiln_buf_printf(p->out, "%" PRIu64, bits);
    } else {
        const kiln_type t = kiln_type_scalar(dtype);
        int64_t v = 0;
        kiln_wide w = {.type = t, .i = &v};
        kiln_widen(&t, &bits, &w);
        kiln_buf_printf(p->out, "%" PRId64, v);
    }
}

static bool all_equal(const unsigned char *data, size_t n, size_t size) {
    /* Each byte equals the one an element later, so all elements are the first. */
    return memcmp(data, data + size, (n - 1) * size) == 0;
}

static bool is_random(const kiln_type *t, const void *data, uint64_t seed) {
    kiln_arena scratch = {0};
    const kiln_tensor r = kiln_tensor_random(&scratch, t, seed);
    const bool is = memcmp(r.data, data, (size_t)kiln_type_bytes(t)) == 0;
    kiln_arena_fini(&scratch);
    return is;
}

/* The first elements say no for nearly all seeds. */
static bool put_random(printer *p, const kiln_value *v) {
    const int64_t few = 4;
    const uint64_t n_seeds = p->options != NULL ? p->options->n_random : 0;
    const kiln_type front = kiln_type_make(v->type.dtype, 1, &few);
    if (kiln_type_elems(&v->type) <= few || !kiln_layout_is_plain(&v->type.layout))
        return false;
    for (uint64_t seed = 1; seed <= n_seeds; seed++) {
        if (!is_random(&front, v->data, seed) || !is_random(&v->type, v->data, seed))
            continue;
        kiln_buf_printf(p->out, "random(%" PRIu64 ")", seed);
        return true;
    }
    return false;
}

static void put_data(printer *p, const kiln_value *v) {
    const size_t n = (size_t)kiln_type_stored_elems(&v->type);
    const size_t size = kiln_dtype_bytes(v->type.dtype);
    const unsigned char *const data = v->data;
    const kiln_print_options *const o = p->options;
    if (put_random(p, v))
        return;
    put(p, "{");
    if (o != NULL && o->elide_data && (int64_t)n > o->elide_above) {
        put(p, "...");
    } else if (n > 1 && all_equal(data, n, size)) {
        put_element(p, v->type.dtype, data);
        kiln_buf_printf(p->out, " x %zu", n);
    } else {
        for (size_t i = 0; i < n; i++) {
            put(p, i == 0 ? "" : ", ");
            put_element(p, v->type.dtype, data + i * size);
        }
    }
    put(p, "}");
}

/* ---- attributes ------------------------------------------------------------------ */

static void put_list(printer *p, const kiln_attr_def *def, const kiln_attr *a) {
    put(p, "[");
    for (size_t i = 0; i < a->n; i++) {
        put(p, i == 0 ? "" : ", ");
        if (def->kind == KILN_ATTR_FLOATS)
            put_f64(p, a->floats[i]);
        else if (def->kind == KILN_ATTR_WORDS)
            put(p, def->choices[a->ints[i]]);
        else
            kiln_buf_printf(p->out, "%" PRId64, a->ints[i]);
    }
    put(p, "]");
}

static void put_attr(printer *p, const kiln_attr_def *def, const kiln_attr *a) {
    kiln_buf_printf(p->out, "%s=", def->name);
    switch (def->kind) {
    case KILN_ATTR_INT:
        kiln_buf_printf(p->out, "%" PRId64, a->i);
        return;
    case KILN_ATTR_BOOL:
        put(p, a->i != 0 ? "true" : "false");
        return;
    case KILN_ATTR_FLOAT:
        put_f64(p, a->f);
        return;
    case KILN_ATTR_WORD:
        put(p, def->choices[a->i]);
        return;
    case KILN_ATTR_DTYPE:
        put(p, kiln_dtype_name((kiln_dtype)a->i));
        return;
    case KILN_ATTR_INTS:
    case KILN_ATTR_FLOATS:
    case KILN_ATTR_WORDS:
        put_list(p, def, a);
        return;
    case KILN_ATTR_GRAPH:
        if (a->graph == NULL)
            put(p, "none");
        else
            print_graph(p, a->graph);
        return;
    }
}

/* ---- statements ------------------------------------------------------------------ */

static void print_node(printer *p, const kiln_node *n) {
    new_line(p);
    for (int i = 0; i < n->n_out; i++) {
        put(p, i == 0 ? "" : ", ");
        put_value(p, n->out[i]);
    }
    kiln_buf_printf(p->out, " = %s(", n->op->name);
    for (int i = 0; i < n->n_in; i++) {
        put(p, i == 0 ? "" : ", ");
        if (n->in[i] == NULL)
            put(p, "_");
        else
            put_value(p, n->in[i]);
    }
    put(p, ")");
    for (size_t i = 0; i < n->op->n_attr; i++) {
        put(p, i == 0 ? " {" : ", ");
        put_attr(p, &n->op->attr[i], &n->attr[i]);
    }
    put(p, n->op->n_attr > 0 ? "} : " : " : ");
    for (int i = 0; i < n->n_out; i++) {
        put(p, i == 0 ? "" : ", ");
        put_type(p, n->out[i]);
    }
    put(p, " ");
    kiln_buf_quote(p->out, n->name);
}

/* The word that says which facts hold; nothing for what each parsed graph has. */
static void print_facts(printer *p, unsigned facts) {
    if (facts == KILN_TYPED)
        return;
    put(p, facts == 0 ? " facts=none" : " facts=");
    bool is_first = true;
    for (unsigned bit = 0; bit < KILN_N_GRAPH_FACTS; bit++) {
        if ((facts & 1u << bit) == 0)
            continue;
        KILN_ASSERT(kiln_graph_fact_names[bit] != NULL, "fact %u has no name", bit);
        kiln_buf_printf(p->out, "%s%s", is_first ? "" : "+",
                        kiln_graph_fact_names[bit]);
        is_first = false;
    }
}

/* Constants that nothing uses are not part of what the graph says. */
static void print_constants(printer *p, const kiln_graph *g) {
    kiln_arena scratch = {0};
    const int *const uses = kiln_graph_count_uses(g, &scratch);
    for (size_t i = 0; i < g->values.n; i++) {
        const kiln_value *const v = g->values.v[i];
        if (v->data == NULL || uses[v->id] == 0)
            continue;
        new_line(p);
        put(p, "const ");
        put_value(p, v);
        put(p, " : ");
        put_type(p, v);
        put(p, " = ");
        put_data(p, v);
    }
    kiln_arena_fini(&scratch);
}

static void print_graph(printer *p, const kiln_graph *g) {
    put(p, "graph ");
    kiln_buf_quote(p->out, g->name);
    print_facts(p, g->facts);
    put(p, " {");
    p->depth++;
    for (size_t i = 0; i < g->inputs.n; i++) {
        new_line(p);
        put(p, "input ");
        put_value(p, g->inputs.v[i]);
        put(p, " : ");
        put_type(p, g->inputs.v[i]);
    }
    print_constants(p, g);
    for (size_t i = 0; i < g->nodes.n; i++)
        print_node(p, g->nodes.v[i]);
    for (size_t i = 0; i < g->outputs.n; i++) {
        new_line(p);
        put(p, "output ");
        put_value(p, g->outputs.v[i]);
        put(p, " ");
        kiln_buf_quote(p->out, g->output_names.v[i]);
    }
    p->depth--;
    new_line(p);
    put(p, "}");
}

void kiln_graph_print(kiln_buf *out, const kiln_graph *g, const kiln_print_options *o) {
    printer p = {.out = out, .options = o};
    print_graph(&p, g);
    kiln_buf_puts(out, "\n");
}
