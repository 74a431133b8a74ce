/* Executable graphs out of text (docs/executable-text.md), beside the graph that they
 * are of. The text is untrusted: numbers are limited here; what is still wrong with an
 * executable graph that parses, the verifier says. */
#include "compiler/network/executable_internal.h"

#include <string.h>

enum {
    MAX_NUMBER = 1 << 24, /* of tensors, kernels, operands */
    MAX_DEPTH = 64        /* of blocks */
};
static const int64_t max_bytes = INT64_C(1) << 50;

/* The graph or a region of it, by the path of its steps. */
typedef struct region {
    const kiln_graph *g;
    const char *path;
} region;

typedef struct reader {
    kiln_lexer lex;
    kiln_net *n;
    KILN_VEC(region) region; /* the whole first */
    region here;             /* of the block that is being read */
    int depth;
    bool has_choices;
} reader;

#define fail(r, at, ...) kiln_lex_fail(&(r)->lex, (at), KILN_ERR_PARSE, __VA_ARGS__)

static bool has(const reader *r, unsigned fact) { return (r->n->facts & fact) != 0; }

static int line_of(const reader *r, const char *at) {
    int line = 1;
    for (const char *c = r->lex.text.p; c < at; c++)
        line += *c == '\n';
    return line;
}

static const char *shown(reader *r, const char *name) {
    return kiln_str_printable(r->lex.arena, kiln_str_from(name), 60);
}

/* ---- words ----------------------------------------------------------------------- */

static kiln_status number(reader *r, const char *what, int min, int *out) {
    int64_t v = 0;
    KILN_TRY(kiln_lex_int(&r->lex, what, min, MAX_NUMBER, &v));
    *out = (int)v;
    return KILN_OK;
}

static kiln_status bytes(reader *r, const char *word, int64_t *out) {
    KILN_TRY(kiln_lex_expect(&r->lex, word));
    return kiln_lex_int(&r->lex, "a number of bytes", 0, max_bytes, out);
}

static kiln_status bytes_u64(reader *r, const char *word, uint64_t *out) {
    int64_t v = 0;
    KILN_TRY(bytes(r, word, &v));
    *out = (uint64_t)v;
    return KILN_OK;
}

/* "(1, _, 3)"; `_` is -1. */
static kiln_status list(reader *r, const int **out, int *n) {
    KILN_VEC(int) v = {0};
    KILN_TRY(kiln_lex_expect(&r->lex, "("));
    while (kiln_lex_peek(&r->lex, 0) != ')') {
        int one = -1;
        if (v.n > 0)
            KILN_TRY(kiln_lex_expect(&r->lex, ","));
        if (!kiln_lex_accept(&r->lex, "_"))
            KILN_TRY(number(r, "the number of a tensor", 0, &one));
        kiln_vec_push(r->lex.arena, &v, one);
    }
    *out = v.v;
    *n = (int)v.n;
    return kiln_lex_expect(&r->lex, ")");
}

static kiln_status type(reader *r, kiln_type *out) {
    const char *at = kiln_lex_here(&r->lex);
    const kiln_status st = kiln_type_parse(&r->lex.rest, out, r->lex.err);
    return st == KILN_OK ? KILN_OK : kiln_lex_note(&r->lex, at, st);
}

static kiln_status types(reader *r, kiln_type *out, int max, int *n) {
    KILN_TRY(kiln_lex_expect(&r->lex, "("));
    for (*n = 0; kiln_lex_peek(&r->lex, 0) != ')'; ++*n) {
        if (*n > 0)
            KILN_TRY(kiln_lex_expect(&r->lex, ","));
        if (*n == max)
            return fail(r, kiln_lex_here(&r->lex),
                        "a kernel has at most %d types on a side", max);
        KILN_TRY(type(r, &out[*n]));
    }
    return kiln_lex_expect(&r->lex, ")");
}

/* ---- the graph ------------------------------------------------------------------- */

static void find_regions(reader *r, const kiln_graph *g, const char *path) {
    const region here = {g, path};
    kiln_vec_push(r->lex.arena, &r->region, here);
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *node = g->nodes.v[i];
        for (size_t k = 0; k < node->op->n_attr; k++)
            if (node->attr[k].graph != NULL &&
                node->op->attr[k].kind == KILN_ATTR_GRAPH)
                find_regions(r, node->attr[k].graph,
                             kiln_format(r->lex.arena, "%s%s.%s/", path, node->name,
                                         node->op->attr[k].name));
    }
}

static const region *find_region(const reader *r, const char *path) {
    for (size_t i = 0; i < r->region.n; i++)
        if (strcmp(r->region.v[i].path, path) == 0)
            return &r->region.v[i];
    return NULL;
}

static kiln_node *find_node(const kiln_graph *g, const char *name) {
    for (size_t i = 0; i < g->nodes.n; i++)
        if (strcmp(g->nodes.v[i]->name, name) == 0)
            return g->nodes.v[i];
    return NULL;
}

static const kiln_value *find_value(const kiln_graph *g, const char *name) {
    for (size_t i = 0; i < g->values.n; i++)
        if (strcmp(g->values.v[i]->name, name) == 0)
            return g->values.v[i];
    return NULL;
}

static kiln_status node_of(reader *r, const kiln_graph *g, kiln_node **out) {
    const char *name = NULL, *at = kiln_lex_here(&r->lex);
    KILN_TRY(kiln_lex_quoted(&r->lex, &name));
    *out = find_node(g, name);
    return *out != NULL ? KILN_OK
                        : fail(r, at, "graph '%s' has no node '%s'", shown(r, g->name),
                               shown(r, name));
}

/* `conv "conv_1"` */
static kiln_status op_and_node(reader *r, const kiln_graph *g, kiln_node **out) {
    const char *at = kiln_lex_here(&r->lex);
    kiln_str word;
    if (!kiln_lex_bare(&r->lex, &word))
        return kiln_lex_expected(&r->lex, "an operator");
    KILN_TRY(node_of(r, g, out));
    return kiln_str_is(word, (*out)->op->name)
               ? KILN_OK
               : fail(r, at, "node '%s' is of operator %s", shown(r, (*out)->name),
                      (*out)->op->name);
}

/* ---- choices --------------------------------------------------------------------- */

static kiln_status origin(reader *r, kiln_origin *out) {
    for (int i = 0; i <= KILN_ORIGIN_GUESS; i++)
        if (kiln_lex_word(&r->lex, kiln_origin_name((kiln_origin)i))) {
            *out = (kiln_origin)i;
            return KILN_OK;
        }
    return kiln_lex_expected(&r->lex, "where a configuration came from");
}

/* A JSON object, as far as its last brace. */
static kiln_status object(reader *r, kiln_str *out) {
    const char *at = kiln_lex_here(&r->lex);
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < r->lex.rest.n && (i > 0 || at[0] == '{'); i++) {
        quoted = quoted != (at[i] == '"' && (i == 0 || at[i - 1] != '\\'));
        depth += quoted ? 0 : at[i] == '{' ? 1 : at[i] == '}' ? -1 : 0;
        if (depth > 0)
            continue;
        *out = (kiln_str){at, i + 1};
        kiln_lex_advance(&r->lex, i + 1);
        return KILN_OK;
    }
    return kiln_lex_expected(&r->lex, "a configuration in braces");
}

/* `by tuned of 100 {...}`: where from, how many were tried, and what. */
static kiln_status choice(reader *r, kiln_net_choice *out, const kiln_json **config) {
    const char *at = NULL;
    kiln_str text;
    *out = (kiln_net_choice){.tmpl = NULL};
    KILN_TRY(kiln_lex_expect(&r->lex, "by"));
    KILN_TRY(origin(r, &out->origin));
    if (kiln_lex_word(&r->lex, "of"))
        KILN_TRY(number(r, "how many were tried", 1, &out->n_tried));
    at = kiln_lex_here(&r->lex);
    KILN_TRY(object(r, &text));
    const kiln_json *json = NULL;
    const kiln_status st =
        kiln_json_parse(r->lex.arena, text, r->lex.file, &json, r->lex.err);
    if (st != KILN_OK)
        return kiln_lex_note(&r->lex, at, st);
    const char *name = kiln_json_string(kiln_json_get(json, "template"), "");
    out->tmpl = kiln_template_find(kiln_str_from(name));
    out->text = kiln_str_dupv(r->lex.arena, text);
    *config = json;
    return out->tmpl != NULL ? KILN_OK
                             : fail(r, at, "there is no template '%s'", shown(r, name));
}

/* The configuration as a point of the space that the template has for the group. */
static kiln_status locate(reader *r, const kiln_net_step *s, const kiln_json *json,
                          kiln_net_choice *c) {
    kiln_arena *a = r->lex.arena;
    kiln_workload w;
    kiln_space space;
    const kiln_graph *part = kiln_group_graph(a, s->g, s->group, NULL);
    kiln_space_init(&space, a);
    KILN_TRY(kiln_workload_of(part, &w, r->lex.err));
    if (!kiln_template_fits(c->tmpl, &w, r->n->profile))
        return kiln_fail(r->lex.err, KILN_ERR_PARSE,
                         "template '%s' does not take the work of step '%s'",
                         c->tmpl->name, s->name);
    KILN_TRY(c->tmpl->space(&w, r->n->profile, &space, r->lex.err));
    return kiln_config_parse(json, c->tmpl, &space, &c->config, r->lex.err);
}

static kiln_status chosen(reader *r, kiln_net_step *s) {
    kiln_net_choice *c = kiln_new(r->lex.arena, kiln_net_choice);
    const kiln_json *json = NULL;
    const char *at = kiln_lex_here(&r->lex);
    KILN_TRY(choice(r, c, &json));
    const kiln_status st = locate(r, s, json, c);
    s->choice = c;
    return st == KILN_OK ? KILN_OK : kiln_lex_note(&r->lex, at, st);
}

/* ---- tensors --------------------------------------------------------------------- */

static kiln_status place(reader *r, kiln_net_slot *s) {
    int i = 0, index = 0;
    while (i < KILN_NET_N_PLACES && !kiln_lex_word(&r->lex, kiln_net_place_words[i]))
        i++;
    if (i == KILN_NET_N_PLACES)
        return kiln_lex_expected(&r->lex, "where the tensor is");
    s->place = (kiln_net_place)i;
    if (i == KILN_NET_INPUT || i == KILN_NET_OUTPUT)
        KILN_TRY(number(r, "the number of an input or output", 0, &index));
    s->index = (uint32_t)index;
    if (has(r, KILN_NET_PLANNED))
        KILN_TRY(bytes_u64(r, "at", &s->offset));
    s->view_of = -1;
    if (!kiln_lex_word(&r->lex, "in"))
        return KILN_OK;
    KILN_TRY(number(r, "the number of a tensor", 0, &s->view_of));
    if (has(r, KILN_NET_SHARED))
        KILN_TRY(bytes(r, "at", &s->view_offset));
    s->is_given = kiln_lex_word(&r->lex, "given");
    return KILN_OK;
}

/* `"x"`, or `"If_0.then_branch/" "x"` of a region. */
static kiln_status value_of(reader *r, kiln_net_slot *s, const kiln_graph **g) {
    const char *at = kiln_lex_here(&r->lex), *name = NULL, *path = "";
    KILN_TRY(kiln_lex_quoted(&r->lex, &name));
    if (kiln_lex_peek(&r->lex, 0) == '"') {
        path = name;
        KILN_TRY(kiln_lex_quoted(&r->lex, &name));
    }
    const region *in = find_region(r, path);
    if (in == NULL)
        return fail(r, at, "there is no region '%s'", shown(r, path));
    s->path = in->path;
    s->value = find_value(in->g, name);
    *g = in->g;
    return s->value != NULL ? KILN_OK
                            : fail(r, at, "graph '%s' has no value '%s'",
                                   shown(r, in->g->name), shown(r, name));
}

static kiln_status meaning(reader *r, const kiln_graph *g, kiln_net_slot *s) {
    kiln_node *node = NULL;
    int n = 0;
    const char *at = kiln_lex_here(&r->lex);
    KILN_TRY(op_and_node(r, g, &node));
    s->means = node;
    KILN_TRY(number(r, "the number of a result", 0, &s->means_out));
    KILN_TRY(list(r, &s->means_in, &n));
    return n == node->n_in && s->means_out < node->n_out
               ? KILN_OK
               : fail(r, at, "node '%s' has %d inputs and %d results",
                      shown(r, node->name), node->n_in, node->n_out);
}

static kiln_status tensor(reader *r, const char *at) {
    kiln_net_slot s = {.line = line_of(r, at)};
    const kiln_graph *g = NULL;
    kiln_type t;
    int i = 0;
    KILN_TRY(number(r, "the number of a tensor", 0, &i));
    if ((size_t)i != r->n->slot.n)
        return fail(r, at, "tensor %zu must come next, is %d", r->n->slot.n, i);
    KILN_TRY(place(r, &s));
    KILN_TRY(value_of(r, &s, &g));
    KILN_TRY(kiln_lex_expect(&r->lex, ":"));
    KILN_TRY(type(r, &t));
    if (t.dtype != s.value->type.dtype || !kiln_type_same_shape(&t, &s.value->type))
        return fail(r, at, "value '%s' has type %s, the tensor %s",
                    shown(r, s.value->name),
                    kiln_type_text(r->lex.arena, &s.value->type),
                    kiln_type_text(r->lex.arena, &t));
    s.layout = t.layout;
    s.facts = t.facts;
    s.bytes = kiln_type_bytes(&t);
    if (kiln_lex_accept(&r->lex, "="))
        KILN_TRY(meaning(r, g, &s));
    kiln_vec_push(r->lex.arena, &r->n->slot, s);
    return KILN_OK;
}

/* ---- kernels --------------------------------------------------------------------- */

enum { MAX_TYPES = 256 };

static const char *key_of(kiln_arena *a, const kiln_network_kernel *k) {
    kiln_buf key;
    kiln_buf_init(&key, a);
    kiln_buf_printf(&key, "%s %s", k->workload, k->config);
    for (int i = 0; i < k->n_operands; i++)
        kiln_buf_printf(&key, " %s", kiln_type_text(a, &k->operand[i]));
    return key.p;
}

static kiln_status kernel(reader *r, const char *at) {
    kiln_arena *a = r->lex.arena;
    kiln_network_kernel k = {.amplification = 1};
    kiln_type *operand = kiln_array(a, kiln_type, 2 * MAX_TYPES);
    kiln_net_choice c;
    const kiln_json *json = NULL;
    int i = 0, n_read = 0;
    KILN_TRY(number(r, "the number of a kernel", 0, &i));
    if ((size_t)i != r->n->kernel.n)
        return fail(r, at, "kernel %zu must come next, is %d", r->n->kernel.n, i);
    KILN_TRY(kiln_lex_quoted(&r->lex, &k.workload));
    KILN_TRY(choice(r, &c, &json));
    KILN_TRY(types(r, operand, MAX_TYPES, &n_read));
    KILN_TRY(kiln_lex_expect(&r->lex, "->"));
    KILN_TRY(types(r, operand + n_read, MAX_TYPES, &k.n_written));
    if (has(r, KILN_NET_COMPILED)) {
        KILN_TRY(bytes_u64(r, "workspace", &k.object.workspace_bytes));
        KILN_TRY(bytes_u64(r, "scratch", &k.object.scratch_bytes));
    }
    k.symbol = kiln_format(a, "k%d", i);
    k.config = c.text;
    k.tmpl = c.tmpl->name;
    k.origin = c.origin;
    k.n_tried = c.n_tried;
    k.n_operands = n_read + k.n_written;
    k.operand = operand;
    k.key = key_of(a, &k);
    kiln_vec_push(a, &r->n->kernel, k);
    return KILN_OK;
}

/* ---- steps ----------------------------------------------------------------------- */

static kiln_status operands(reader *r, kiln_net_step *s) {
    const int *read = NULL, *written = NULL;
    int n_written = 0;
    if (!has(r, KILN_NET_LAID_OUT))
        return KILN_OK;
    KILN_TRY(list(r, &read, &s->n_read));
    if (kiln_lex_accept(&r->lex, "->"))
        KILN_TRY(list(r, &written, &n_written));
    s->n_operands = s->n_read + n_written;
    int *operand = kiln_array(r->lex.arena, int, s->n_operands);
    for (int i = 0; i < s->n_operands; i++)
        operand[i] = i < s->n_read ? read[i] : written[i - s->n_read];
    s->operand = operand;
    return kiln_lex_word(&r->lex, "takes") ? list(r, &s->takeable, &s->n_takeable)
                                           : KILN_OK;
}

/* `as convert "convert x"`: no node's step. */
static kiln_status named(reader *r, kiln_net_step *s) {
    kiln_str op;
    if (!kiln_lex_bare(&r->lex, &op))
        return kiln_lex_expected(&r->lex, "what the step does");
    s->op = kiln_str_dupv(r->lex.arena, op);
    r->n->n_conversions += strcmp(s->op, "convert") == 0;
    return kiln_lex_quoted(&r->lex, &s->name);
}

/* `= conv "conv_1" + relu "relu_1"` */
static kiln_status grouped(reader *r, kiln_net_step *s) {
    kiln_arena *a = r->lex.arena;
    KILN_VEC(kiln_node *) node = {0};
    kiln_group *group = kiln_new(a, kiln_group);
    KILN_TRY(kiln_lex_expect(&r->lex, "="));
    do {
        kiln_node *one = NULL;
        KILN_TRY(op_and_node(r, r->here.g, &one));
        kiln_vec_push(a, &node, one);
    } while (kiln_lex_accept(&r->lex, "+"));
    *group = kiln_group_of(node.v, (int)node.n);
    const kiln_net_step of = kiln_net_step_of(a, r->here.g, r->here.path, group);
    s->name = of.name;
    s->op = of.op;
    s->group = group;
    s->g = of.g;
    s->path = of.path;
    return KILN_OK;
}

static kiln_status work(reader *r, kiln_net_step *s) {
    const bool is_call = s->kind == KILN_NET_CALL;
    if (is_call && has(r, KILN_NET_LAID_OUT))
        KILN_TRY(number(r, "the number of a kernel", 0, &s->kernel));
    if (is_call && has(r, KILN_NET_PLACED)) {
        KILN_TRY(kiln_lex_expect(&r->lex, "on"));
        KILN_TRY(number(r, "the number of a device", 0, &s->device));
    }
    KILN_TRY(operands(r, s));
    KILN_TRY(kiln_lex_word(&r->lex, "as") ? named(r, s) : grouped(r, s));
    if (is_call && has(r, KILN_NET_CHOSEN) && !has(r, KILN_NET_LAID_OUT) &&
        kiln_lex_peek(&r->lex, 0) == 'b')
        KILN_TRY(chosen(r, s));
    return KILN_OK;
}

static int push(reader *r, const kiln_net_step *s) {
    kiln_vec_push(r->lex.arena, &r->n->step, *s);
    return (int)r->n->step.n - 1;
}

/* The steps of `of`'s region, up to what closes it. */
static kiln_status steps(reader *r);

static kiln_status in_region(reader *r, kiln_net_step *of) {
    const char *at = kiln_lex_here(&r->lex);
    const region around = r->here;
    kiln_str word;
    if (!kiln_lex_bare(&r->lex, &word))
        return kiln_lex_expected(&r->lex, "a region");
    of->region = kiln_str_dupv(r->lex.arena, word);
    const char *path =
        kiln_format(r->lex.arena, "%s%s.%s/", around.path, of->node->name, of->region);
    const region *in = find_region(r, path);
    if (in == NULL)
        return fail(r, at, "node '%s' has no region '%s'", shown(r, of->node->name),
                    of->region);
    if (r->depth == MAX_DEPTH)
        return fail(r, at, "blocks nest %d deep at most", MAX_DEPTH);
    (void)push(r, of);
    r->here = *in;
    r->depth++;
    KILN_TRY(kiln_lex_expect(&r->lex, "{"));
    KILN_TRY(steps(r));
    r->depth--;
    r->here = around;
    return KILN_OK;
}

static kiln_status block(reader *r, kiln_net_step *s) {
    kiln_node *node = NULL;
    int begin = (int)r->n->step.n, last = begin;
    KILN_TRY(node_of(r, r->here.g, &node));
    s->node = node;
    s->g = r->here.g;
    s->path = r->here.path;
    s->op = node->op->name;
    s->name = kiln_format(r->lex.arena, "%s%s", s->path, node->name);
    const kiln_net_step plain = *s;
    if (s->kind == KILN_NET_LOOP) {
        KILN_TRY(kiln_lex_expect(&r->lex, "times"));
        KILN_TRY(
            kiln_lex_int(&r->lex, "how often the block runs", 0, max_bytes, &s->count));
    } else {
        KILN_TRY(operands(r, s));
    }
    KILN_TRY(in_region(r, s));
    if (s->kind == KILN_NET_IF) {
        kiln_net_step other = plain;
        other.kind = KILN_NET_ELSE;
        KILN_TRY(kiln_lex_expect(&r->lex, "else"));
        last = r->n->step.v[begin].partner = (int)r->n->step.n;
        KILN_TRY(in_region(r, &other));
    }
    kiln_net_step end = plain;
    end.kind = KILN_NET_END;
    end.partner = begin;
    const int at_end = push(r, &end);
    r->n->step.v[last].partner = at_end;
    return KILN_OK;
}

static kiln_status steps(reader *r) {
    static const kiln_net_step_kind begins[] = {
        KILN_NET_CALL, KILN_NET_COPY, KILN_NET_TAKE, KILN_NET_PUT,
        KILN_NET_VIEW, KILN_NET_JOIN, KILN_NET_IF,   KILN_NET_LOOP};
    enum { N_BEGINS = sizeof begins / sizeof begins[0] };
    while (!kiln_lex_accept(&r->lex, "}")) {
        const char *at = kiln_lex_here(&r->lex);
        kiln_net_step s = {.line = line_of(r, at)};
        int i = 0;
        while (i < N_BEGINS && !kiln_lex_word(&r->lex, kiln_net_kind_words[begins[i]]))
            i++;
        if (i == N_BEGINS)
            return kiln_lex_expected(&r->lex, "a step");
        s.kind = begins[i];
        if (s.kind == KILN_NET_IF || s.kind == KILN_NET_LOOP) {
            KILN_TRY(block(r, &s));
        } else {
            KILN_TRY(work(r, &s));
            (void)push(r, &s);
        }
    }
    return KILN_OK;
}

/* ---- all ------------------------------------------------------------------------- */

static kiln_status facts(reader *r) {
    KILN_TRY(kiln_lex_expect(&r->lex, "facts"));
    KILN_TRY(kiln_lex_expect(&r->lex, "="));
    if (kiln_lex_word(&r->lex, "none"))
        return KILN_OK;
    do {
        int i = 0;
        while (i < KILN_NET_N_FACTS && !kiln_lex_word(&r->lex, kiln_net_fact_names[i]))
            i++;
        if (i == KILN_NET_N_FACTS)
            return kiln_lex_expected(&r->lex, "a fact");
        r->n->facts |= 1u << i;
    } while (kiln_lex_accept(&r->lex, "+"));
    return KILN_OK;
}

static kiln_status head(reader *r) {
    const char *name = NULL, *at = NULL;
    KILN_TRY(kiln_lex_expect(&r->lex, "executable"));
    at = kiln_lex_here(&r->lex);
    KILN_TRY(kiln_lex_quoted(&r->lex, &name));
    if (strcmp(name, r->n->g->name) != 0)
        return fail(r, at, "the graph is '%s', not '%s'", shown(r, r->n->g->name),
                    shown(r, name));
    KILN_TRY(kiln_lex_expect(&r->lex, "for"));
    at = kiln_lex_here(&r->lex);
    KILN_TRY(kiln_lex_quoted(&r->lex, &name));
    if (strcmp(name, r->n->profile->name) != 0)
        return fail(r, at, "the profile is '%s', not '%s'", r->n->profile->name,
                    shown(r, name));
    KILN_TRY(facts(r));
    return kiln_lex_expect(&r->lex, "{");
}

static kiln_status device(reader *r, const char *at) {
    kiln_net_device d = {.profile = r->n->profile};
    int i = 0;
    KILN_TRY(number(r, "the number of a device", 0, &i));
    if ((size_t)i != r->n->device.n)
        return fail(r, at, "device %zu must come next, is %d", r->n->device.n, i);
    KILN_TRY(kiln_lex_quoted(&r->lex, &d.name));
    kiln_vec_push(r->lex.arena, &r->n->device, d);
    return KILN_OK;
}

static kiln_status memory(reader *r) {
    kiln_net *n = r->n;
    KILN_TRY(bytes(r, "arena", &n->arena_bytes));
    KILN_TRY(bytes(r, "least", &n->lower_bound));
    KILN_TRY(bytes_u64(r, "param", &n->param_bytes));
    KILN_TRY(bytes_u64(r, "packed", &n->packed_bytes));
    KILN_TRY(kiln_lex_expect(&r->lex, "views"));
    KILN_TRY(number(r, "a number of views", 0, &n->n_views));
    KILN_TRY(kiln_lex_expect(&r->lex, "taken"));
    return number(r, "a number of places taken", 0, &n->n_in_place);
}

static kiln_status port(reader *r, const char *at, bool is_input) {
    kiln_net *n = r->n;
    const kiln_graph *g = n->g;
    const uint32_t i = is_input ? n->n_inputs : n->n_outputs;
    const size_t of = is_input ? g->inputs.n : g->outputs.n;
    kiln_net_port p = {.name = NULL};
    KILN_TRY(kiln_lex_quoted(&r->lex, &p.name));
    if (i >= of || (is_input && n->n_outputs > 0))
        return fail(r, at, "inputs come first, then outputs, %zu and %zu of them",
                    g->inputs.n, g->outputs.n);
    p.value = is_input ? g->inputs.v[i] : g->outputs.v[i];
    const char *name = is_input ? p.value->name : g->output_names.v[i];
    if (strcmp(p.name, name) != 0)
        return fail(r, at, "'%s' must come next", shown(r, name));
    KILN_TRY(number(r, "the number of a tensor", 0, &p.slot));
    kiln_vec_push(r->lex.arena, &n->port, p);
    n->n_inputs += is_input;
    n->n_outputs += !is_input;
    return KILN_OK;
}

static kiln_status open_step(reader *r, const char *at) {
    kiln_net_step s = {.kind = KILN_NET_CALL, .line = line_of(r, at)};
    KILN_TRY(number(r, "the number of a kernel", 0, &s.kernel));
    KILN_TRY(operands(r, &s));
    KILN_TRY(kiln_lex_expect(&r->lex, "as"));
    KILN_TRY(named(r, &s));
    kiln_vec_push(r->lex.arena, &r->n->open, s);
    return KILN_OK;
}

/* What stands before the steps. */
static kiln_status tables(reader *r) {
    for (;;) {
        const char *at = kiln_lex_here(&r->lex);
        if (kiln_lex_word(&r->lex, "device"))
            KILN_TRY(device(r, at));
        else if (kiln_lex_word(&r->lex, "memory"))
            KILN_TRY(memory(r));
        else if (kiln_lex_word(&r->lex, "tensor"))
            KILN_TRY(tensor(r, at));
        else if (kiln_lex_word(&r->lex, "kernel"))
            KILN_TRY(kernel(r, at));
        else if (kiln_lex_word(&r->lex, "input"))
            KILN_TRY(port(r, at, true));
        else if (kiln_lex_word(&r->lex, "output"))
            KILN_TRY(port(r, at, false));
        else if (kiln_lex_word(&r->lex, "open"))
            KILN_TRY(open_step(r, at));
        else
            return KILN_OK;
    }
}

static void sum_up(kiln_net *n) {
    for (size_t i = 0; i < n->kernel.n; i++) {
        const kiln_object *o = &n->kernel.v[i].object;
        if (o->workspace_bytes > n->workspace_bytes)
            n->workspace_bytes = o->workspace_bytes;
        if (o->scratch_bytes > n->scratch_bytes)
            n->scratch_bytes = o->scratch_bytes;
    }
}

static kiln_status read_all(reader *r) {
    KILN_TRY(head(r));
    KILN_TRY(tables(r));
    KILN_TRY(steps(r));
    (void)kiln_lex_here(&r->lex);
    if (r->lex.rest.n > 0)
        return kiln_lex_expected(&r->lex, "the end of the text");
    sum_up(r->n);
    return KILN_OK;
}

kiln_status kiln_net_parse(kiln_arena *a, const kiln_graph *g, const kiln_profile *p,
                           kiln_str text, const char *name, kiln_net *out,
                           kiln_err *err) {
    *out = (kiln_net){.arena = a, .g = g, .profile = p};
    reader r = {.lex = kiln_lexer_make(a, text, name, err), .n = out, .here = {g, ""}};
    find_regions(&r, g, "");
    KILN_TRY(read_all(&r));
    return kiln_net_verify(out, err);
}
