/* Graph text to a graph (docs/graph-text.md). The text is untrusted: regions nest to a
 * limit, memory is bounded by the text's length (and a limit for repeated constants),
 * and everything goes through the builder, which checks and infers. */
#include <stdio.h>

#include "compiler/graph/graph_parse_internal.h"

/* `bounded(axis, %count)` whose count may be defined further on. */
typedef struct bound {
    kiln_value *value;
    int64_t axis;
    const char *count, *at;
} bound;

/* One graph being read. */
typedef struct reader {
    kiln_parser *p;
    kiln_graph *g;
    KILN_VEC(bound) bounds; /* not tied to their counts yet */
} reader;

/* A name and where it stands. */
typedef struct named {
    const char *name, *at;
} named;

/* A type as it stands behind a colon. */
typedef struct typed {
    kiln_type type;
    bool is_bounded;
    bound bound;
    const char *at;
} typed;

static const char *shown(const reader *r, const char *name) {
    return kiln_str_printable(r->p->lex.arena, kiln_str_from(name), 60);
}

/* ---- values and types ------------------------------------------------------------ */

/* The name of a value that this statement defines. */
static kiln_status read_new_name(reader *r, named *out) {
    out->at = kiln_lex_here(&r->p->lex);
    KILN_TRY(kiln_parser_name(r->p, &out->name));
    if (kiln_map_has(&r->g->value_names, kiln_str_from(out->name)))
        return kiln_lex_fail(&r->p->lex, out->at, KILN_ERR_PARSE,
                             "value '%s' must be defined once, is defined again",
                             shown(r, out->name));
    return KILN_OK;
}

static kiln_status read_value(reader *r, kiln_value **out) {
    const char *const at = kiln_lex_here(&r->p->lex);
    const char *name;
    KILN_TRY(kiln_parser_name(r->p, &name));
    kiln_value *const v = kiln_map_get(&r->g->value_names, kiln_str_from(name));
    if (v == NULL)
        return kiln_lex_fail(&r->p->lex, at, KILN_ERR_PARSE,
                             "value '%s' must be defined before it is used",
                             shown(r, name));
    *out = v;
    return KILN_OK;
}

static kiln_status read_type(reader *r, typed *out) {
    kiln_parser *const p = r->p;
    *out = (typed){.at = kiln_lex_here(&p->lex)};
    const kiln_status st = kiln_type_parse(&p->lex.rest, &out->type, p->lex.err);
    if (st != KILN_OK)
        return kiln_lex_note(&p->lex, p->lex.rest.p, st);
    out->bound.at = kiln_lex_here(&p->lex);
    if (!kiln_lex_accept(&p->lex, "bounded"))
        return KILN_OK;
    out->is_bounded = true;
    KILN_TRY(kiln_lex_expect(&p->lex, "("));
    const char *const at = kiln_lex_here(&p->lex);
    if (!kiln_text_i64(&p->lex.rest, &out->bound.axis) || out->bound.axis < 0 ||
        out->bound.axis >= out->type.rank)
        return kiln_lex_fail(&p->lex, at, KILN_ERR_PARSE,
                             "the bounded axis must be in [0, %d)", out->type.rank);
    KILN_TRY(kiln_lex_expect(&p->lex, ","));
    KILN_TRY(kiln_parser_name(p, &out->bound.count));
    return kiln_lex_expect(&p->lex, ")");
}

static void remember_bound(reader *r, const typed *t, kiln_value *v) {
    if (!t->is_bounded)
        return;
    bound b = t->bound;
    b.value = v;
    kiln_vec_push(r->p->lex.arena, &r->bounds, b);
}

/* Ties bounded values to their counts, which must be there by now. */
static kiln_status resolve_bounds(reader *r) {
    for (size_t i = 0; i < r->bounds.n; i++) {
        const bound *const b = &r->bounds.v[i];
        kiln_value *const count =
            kiln_map_get(&r->g->value_names, kiln_str_from(b->count));
        if (count == NULL)
            return kiln_lex_fail(&r->p->lex, b->at, KILN_ERR_PARSE,
                                 "count '%s' must be defined no later than what it "
                                 "bounds",
                                 shown(r, b->count));
        if (count->type.dtype != KILN_I64 || count->type.rank != 0)
            return kiln_lex_fail(&r->p->lex, b->at, KILN_ERR_PARSE,
                                 "count '%s' must be i64[], is %s", shown(r, b->count),
                                 kiln_type_text(r->p->lex.arena, &count->type));
        b->value->count = count;
        b->value->bounded_axis = (int)b->axis;
    }
    r->bounds.n = 0;
    return KILN_OK;
}

/* ---- statements ------------------------------------------------------------------ */

static kiln_status read_input(reader *r) {
    named name;
    typed t;
    KILN_TRY(read_new_name(r, &name));
    KILN_TRY(kiln_lex_expect(&r->p->lex, ":"));
    KILN_TRY(read_type(r, &t));
    remember_bound(r, &t, kiln_graph_add_input(r->g, name.name, &t.type));
    return KILN_OK;
}

static kiln_status read_const(reader *r) {
    named name;
    typed t;
    const void *data;
    KILN_TRY(read_new_name(r, &name));
    KILN_TRY(kiln_lex_expect(&r->p->lex, ":"));
    KILN_TRY(read_type(r, &t));
    KILN_TRY(kiln_lex_expect(&r->p->lex, "="));
    KILN_TRY(kiln_parser_data(r->p, &t.type, &data));
    remember_bound(r, &t, kiln_graph_add_const(r->g, name.name, &t.type, data));
    return KILN_OK;
}

static kiln_status read_output(reader *r) {
    kiln_value *v;
    KILN_TRY(read_value(r, &v));
    const char *name = v->name;
    const char *const at = kiln_lex_here(&r->p->lex);
    if (r->p->lex.rest.n > 0 && *at == '"')
        KILN_TRY(kiln_lex_quoted(&r->p->lex, &name));
    kiln_graph_add_output(r->g, v, name);
    return KILN_OK;
}

static const kiln_attr_def *find_attr(const kiln_op_def *op, kiln_str name) {
    for (size_t i = 0; i < op->n_attr; i++) {
        if (kiln_str_is(name, op->attr[i].name))
            return &op->attr[i];
    }
    return NULL;
}

typedef struct node_text {
    KILN_VEC(const char *) outs;
    KILN_VEC(kiln_value *) ins;
    KILN_VEC(kiln_attr_arg) args;
    KILN_VEC(typed) types;
    const kiln_op_def *op;
    const char *name;
} node_text;

static kiln_status read_outs(reader *r, node_text *n) {
    kiln_map seen = {0};
    do {
        named name;
        KILN_TRY(read_new_name(r, &name));
        if (!kiln_map_set(r->p->lex.arena, &seen, kiln_str_from(name.name), r))
            return kiln_lex_fail(&r->p->lex, name.at, KILN_ERR_PARSE,
                                 "value '%s' must be defined once, is defined again",
                                 shown(r, name.name));
        kiln_vec_push(r->p->lex.arena, &n->outs, name.name);
    } while (kiln_lex_accept(&r->p->lex, ","));
    return kiln_lex_expect(&r->p->lex, "=");
}

static kiln_status read_op(reader *r, node_text *n) {
    kiln_str word;
    KILN_TRY(kiln_parser_word(r->p, "an operator", &word));
    n->op = kiln_op_find(word);
    if (n->op == NULL)
        return kiln_lex_fail(&r->p->lex, word.p, KILN_ERR_PARSE,
                             "there is no operator '%s'",
                             kiln_str_printable(r->p->lex.arena, word, 60));
    KILN_TRY(kiln_lex_expect(&r->p->lex, "("));
    if (kiln_lex_accept(&r->p->lex, ")"))
        return KILN_OK;
    do {
        kiln_value *v = NULL;
        if (!kiln_lex_accept(&r->p->lex, "_"))
            KILN_TRY(read_value(r, &v));
        kiln_vec_push(r->p->lex.arena, &n->ins, v);
    } while (kiln_lex_accept(&r->p->lex, ","));
    return kiln_lex_expect(&r->p->lex, ")");
}

static kiln_status read_attrs(reader *r, node_text *n) {
    if (!kiln_lex_accept(&r->p->lex, "{"))
        return KILN_OK;
    do {
        kiln_str word;
        KILN_TRY(kiln_parser_word(r->p, "an attribute", &word));
        const kiln_attr_def *const def = find_attr(n->op, word);
        if (def == NULL)
            return kiln_lex_fail(&r->p->lex, word.p, KILN_ERR_PARSE,
                                 "operator '%s' has no attribute '%s'", n->op->name,
                                 kiln_str_printable(r->p->lex.arena, word, 60));
        KILN_TRY(kiln_lex_expect(&r->p->lex, "="));
        kiln_attr_arg arg;
        KILN_TRY(kiln_parser_attr(r->p, def, &arg));
        kiln_vec_push(r->p->lex.arena, &n->args, arg);
    } while (kiln_lex_accept(&r->p->lex, ","));
    return kiln_lex_expect(&r->p->lex, "}");
}

static kiln_status read_types(reader *r, node_text *n) {
    const char *const at = kiln_lex_here(&r->p->lex);
    if (!kiln_lex_accept(&r->p->lex, ":"))
        return KILN_OK;
    do {
        typed t;
        KILN_TRY(read_type(r, &t));
        kiln_vec_push(r->p->lex.arena, &n->types, t);
    } while (kiln_lex_accept(&r->p->lex, ","));
    if (n->types.n != n->outs.n)
        return kiln_lex_fail(&r->p->lex, at, KILN_ERR_PARSE,
                             "a node of %zu outputs must have as many types, has %zu",
                             n->outs.n, n->types.n);
    return KILN_OK;
}

static kiln_status read_node_name(reader *r, node_text *n) {
    const char *const at = kiln_lex_here(&r->p->lex);
    if (r->p->lex.rest.n == 0 || *at != '"')
        return KILN_OK;
    KILN_TRY(kiln_lex_quoted(&r->p->lex, &n->name));
    if (n->name[0] == '\0')
        return kiln_lex_fail(&r->p->lex, at, KILN_ERR_PARSE,
                             "a node's name must not be empty");
    if (kiln_map_has(&r->g->node_names, kiln_str_from(n->name)))
        return kiln_lex_fail(&r->p->lex, at, KILN_ERR_PARSE,
                             "node '%s' must be defined once, is defined again",
                             shown(r, n->name));
    return KILN_OK;
}

static kiln_status check_types(reader *r, const node_text *text, const kiln_node *n) {
    for (size_t i = 0; i < text->types.n; i++) {
        const typed *const given = &text->types.v[i];
        if (!kiln_type_eq(&given->type, &n->out[i]->type))
            return kiln_lex_fail(&r->p->lex, given->at, KILN_ERR_SHAPE,
                                 "the type of '%s' must be %s, is given as %s",
                                 shown(r, n->out[i]->name),
                                 kiln_type_text(r->p->lex.arena, &n->out[i]->type),
                                 kiln_type_text(r->p->lex.arena, &given->type));
        remember_bound(r, given, n->out[i]);
    }
    return KILN_OK;
}

static kiln_status read_node(reader *r) {
    kiln_parser *const p = r->p;
    const char *const at = kiln_lex_here(&p->lex);
    node_text text = {0};
    KILN_TRY(resolve_bounds(r));
    KILN_TRY(read_outs(r, &text));
    KILN_TRY(read_op(r, &text));
    KILN_TRY(read_attrs(r, &text));
    KILN_TRY(read_types(r, &text));
    KILN_TRY(read_node_name(r, &text));
    if (text.ins.n > INT32_MAX || text.outs.n > INT32_MAX)
        return kiln_lex_fail(&p->lex, at, KILN_ERR_LIMIT,
                             "a node may have 2^31 inputs and outputs, has more");
    const kiln_node_spec spec = {.op = text.op,
                                 .name = text.name,
                                 .in = text.ins.v,
                                 .n_in = (int)text.ins.n,
                                 .n_out = (int)text.outs.n,
                                 .out_names = text.outs.v,
                                 .args = text.args.v,
                                 .n_args = text.args.n};
    kiln_node *n;
    const kiln_status st = kiln_graph_add_node(r->g, &spec, &n, p->lex.err);
    if (st != KILN_OK)
        return kiln_lex_note(&p->lex, at, st);
    KILN_TRY(check_types(r, &text, n));
    return resolve_bounds(r);
}

/* ---- graphs ---------------------------------------------------------------------- */

static kiln_status read_facts(reader *r) {
    kiln_parser *const p = r->p;
    if (!kiln_lex_accept(&p->lex, "facts"))
        return KILN_OK;
    KILN_TRY(kiln_lex_expect(&p->lex, "="));
    kiln_str word, fact;
    KILN_TRY(kiln_parser_word(p, "facts", &word));
    r->g->facts = 0;
    if (kiln_str_is(word, "none"))
        return KILN_OK;
    while (kiln_str_cut(&word, '+', &fact)) {
        unsigned bit = 0;
        while (bit < KILN_N_GRAPH_FACTS &&
               (kiln_graph_fact_names[bit] == NULL ||
                !kiln_str_is(fact, kiln_graph_fact_names[bit])))
            bit++;
        if (bit == KILN_N_GRAPH_FACTS)
            return kiln_lex_fail(&p->lex, fact.p, KILN_ERR_PARSE,
                                 "there is no fact '%s'",
                                 kiln_str_printable(p->lex.arena, fact, 60));
        r->g->facts |= 1u << bit;
    }
    return KILN_OK;
}

static kiln_status read_statement(reader *r) {
    kiln_parser *const p = r->p;
    const char *const at = kiln_lex_here(&p->lex);
    if (p->lex.rest.n > 0 && *at == '%')
        return read_node(r);
    kiln_str word;
    KILN_TRY(kiln_parser_word(p, "a statement or '}'", &word));
    if (kiln_str_is(word, "input"))
        return read_input(r);
    if (kiln_str_is(word, "const"))
        return read_const(r);
    if (kiln_str_is(word, "output"))
        return read_output(r);
    return kiln_lex_fail(&p->lex, at, KILN_ERR_PARSE,
                         "expected input, const, output or a node, found '%s'",
                         kiln_str_printable(p->lex.arena, word, 60));
}

kiln_status kiln_parser_graph(kiln_parser *p, kiln_graph **out) {
    const char *const at = kiln_lex_here(&p->lex);
    if (p->depth == KILN_MAX_REGION_DEPTH)
        return kiln_lex_fail(&p->lex, at, KILN_ERR_LIMIT, "graphs may nest %d deep",
                             KILN_MAX_REGION_DEPTH);
    const char *name;
    KILN_TRY(kiln_lex_expect(&p->lex, "graph"));
    KILN_TRY(kiln_lex_quoted(&p->lex, &name));
    reader r = {.p = p, .g = kiln_graph_new(p->lex.arena, name)};
    KILN_TRY(read_facts(&r));
    KILN_TRY(kiln_lex_expect(&p->lex, "{"));
    p->depth++;
    while (!kiln_lex_accept(&p->lex, "}"))
        KILN_TRY(read_statement(&r));
    p->depth--;
    KILN_TRY(resolve_bounds(&r));
    *out = r.g;
    return KILN_OK;
}

kiln_status kiln_graph_parse(kiln_arena *a, kiln_str text, const char *file,
                             kiln_graph **out, kiln_err *err) {
    kiln_parser p = {.lex = kiln_lexer_make(a, text, file, err)};
    kiln_graph *g;
    KILN_TRY(kiln_parser_graph(&p, &g));
    const char *const at = kiln_lex_here(&p.lex);
    if (p.lex.rest.n > 0)
        return kiln_lex_fail(&p.lex, at, KILN_ERR_PARSE,
                             "expected nothing behind the graph");
    *out = g;
    return KILN_OK;
}
