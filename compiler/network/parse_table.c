/* Tensors, kernels and choices of executable graphs' text. */
#include "compiler/network/network_parse_internal.h"

#include <string.h>

#define fail(r, at, ...) kiln_lex_fail(&(r)->lex, (at), KILN_ERR_PARSE, __VA_ARGS__)

static kiln_status read_type(kiln_net_reader *r, kiln_type *out) {
    const char *at = kiln_lex_here(&r->lex);
    const kiln_status st = kiln_type_parse(&r->lex.rest, out, r->lex.err);
    return st == KILN_OK ? KILN_OK : kiln_lex_note(&r->lex, at, st);
}

static kiln_status read_types(kiln_net_reader *r, kiln_type *out, int max, int *n) {
    KILN_TRY(kiln_lex_expect(&r->lex, "("));
    for (*n = 0; kiln_lex_peek(&r->lex, 0) != ')'; ++*n) {
        if (*n > 0)
            KILN_TRY(kiln_lex_expect(&r->lex, ","));
        if (*n == max)
            return fail(r, kiln_lex_here(&r->lex),
                        "a kernel has at most %d types on a side", max);
        KILN_TRY(read_type(r, &out[*n]));
    }
    return kiln_lex_expect(&r->lex, ")");
}

/* ---- choices --------------------------------------------------------------------- */

static kiln_status origin(kiln_net_reader *r, kiln_origin *out) {
    for (int i = 0; i <= KILN_ORIGIN_GUESS; i++)
        if (kiln_lex_word(&r->lex, kiln_origin_name((kiln_origin)i))) {
            *out = (kiln_origin)i;
            return KILN_OK;
        }
    return kiln_lex_expected(&r->lex, "where a configuration came from");
}

/* A JSON object, as far as its last brace. */
static kiln_status object(kiln_net_reader *r, kiln_str *out) {
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
static kiln_status choice(kiln_net_reader *r, kiln_net_choice *out,
                          const kiln_json **config) {
    const char *at = NULL;
    kiln_str text;
    *out = (kiln_net_choice){.tmpl = NULL};
    KILN_TRY(kiln_lex_expect(&r->lex, "by"));
    KILN_TRY(origin(r, &out->origin));
    if (kiln_lex_word(&r->lex, "of"))
        KILN_TRY(kiln_net_read_number(r, "how many were tried", 1, &out->n_tried));
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
    return out->tmpl != NULL
               ? KILN_OK
               : fail(r, at, "there is no template '%s'", kiln_net_shown(r, name));
}

/* The configuration as a point of the space that the template has for the group. */
static kiln_status locate(kiln_net_reader *r, const kiln_net_step *s,
                          const kiln_json *json, kiln_net_choice *c) {
    kiln_arena *a = r->lex.arena;
    kiln_workload w;
    kiln_space space;
    const kiln_graph *part = kiln_group_graph(a, s->g, s->group, NULL);
    kiln_space_init(&space, a);
    KILN_TRY(kiln_workload_of(part, &w, r->lex.err));
    if (!kiln_template_fits(c->tmpl, &w, kiln_net_profile_of(r->n, c->tmpl)))
        return kiln_fail(r->lex.err, KILN_ERR_PARSE,
                         "template '%s' does not take the work of step '%s'",
                         c->tmpl->name, s->name);
    KILN_TRY(
        c->tmpl->space(&w, kiln_net_profile_of(r->n, c->tmpl), &space, r->lex.err));
    return kiln_config_parse(json, c->tmpl, &space, &c->config, r->lex.err);
}

/* `(T, ...) -> (T, ...)`: how activations lie, where a search chose that. */
static kiln_status searched(kiln_net_reader *r, const kiln_net_step *s,
                            kiln_net_choice *c) {
    enum { MAX = KILN_NET_MAX_PARTS };
    kiln_arena *a = r->lex.arena;
    const kiln_graph *part = kiln_group_graph(a, s->g, s->group, NULL);
    kiln_type *type = kiln_array(a, kiln_type, 2 * MAX);
    int n_read = 0, n_made = 0;
    const char *at = kiln_lex_here(&r->lex);
    KILN_TRY(read_types(r, type, MAX, &n_read));
    KILN_TRY(kiln_lex_expect(&r->lex, "->"));
    KILN_TRY(read_types(r, type + n_read, MAX, &n_made));
    const int n = n_read + n_made;
    kiln_layout *layout = kiln_array(a, kiln_layout, n);
    bool is_right =
        (size_t)n_read == part->inputs.n && (size_t)n_made == part->outputs.n;
    for (int i = 0; i < n && is_right; i++) {
        const kiln_type *t =
            i < n_read ? &part->inputs.v[i]->type : &part->outputs.v[i - n_read]->type;
        is_right = t->dtype == type[i].dtype && kiln_type_same_shape(t, &type[i]);
        layout[i] = type[i].layout;
    }
    c->layout = layout;
    c->n_layouts = n;
    c->is_searched = true;
    return is_right ? KILN_OK
                    : fail(r, at, "these are not the activations of step '%s'",
                           kiln_net_shown(r, s->name));
}

kiln_status kiln_net_read_chosen(kiln_net_reader *r, kiln_net_step *s) {
    kiln_net_choice *c = kiln_new(r->lex.arena, kiln_net_choice);
    const kiln_json *json = NULL;
    const char *at = kiln_lex_here(&r->lex);
    KILN_TRY(choice(r, c, &json));
    const kiln_status st = locate(r, s, json, c);
    s->choice = c;
    if (st != KILN_OK)
        return kiln_lex_note(&r->lex, at, st);
    if (kiln_lex_peek(&r->lex, 0) == '(')
        KILN_TRY(searched(r, s, c));
    c->is_alone = kiln_lex_word(&r->lex, "alone");
    return KILN_OK;
}

/* The value of that name; NULL: there is none. */
static const kiln_value *find_value(const kiln_graph *g, const char *name) {
    for (size_t i = 0; i < g->values.n; i++)
        if (strcmp(g->values.v[i]->name, name) == 0)
            return g->values.v[i];
    return NULL;
}

/* ---- tensors --------------------------------------------------------------------- */

static kiln_status place(kiln_net_reader *r, kiln_net_slot *s) {
    int i = 0, index = 0;
    while (i < KILN_NET_N_PLACES && !kiln_lex_word(&r->lex, kiln_net_place_words[i]))
        i++;
    if (i == KILN_NET_N_PLACES)
        return kiln_lex_expected(&r->lex, "where the tensor is");
    s->place = (kiln_net_place)i;
    if (i == KILN_NET_INPUT || i == KILN_NET_OUTPUT)
        KILN_TRY(
            kiln_net_read_number(r, "the number of an input or output", 0, &index));
    s->index = (uint32_t)index;
    if (kiln_lex_word(&r->lex, "on"))
        KILN_TRY(kiln_net_read_number(r, "the number of a device", 0, &s->device));
    if (kiln_net_text_has(r, KILN_NET_PLANNED))
        KILN_TRY(kiln_net_read_u64(r, "at", &s->offset));
    s->view_of = -1;
    if (!kiln_lex_word(&r->lex, "in"))
        return KILN_OK;
    KILN_TRY(kiln_net_read_number(r, "the number of a tensor", 0, &s->view_of));
    if (kiln_net_text_has(r, KILN_NET_SHARED))
        KILN_TRY(kiln_net_read_bytes(r, "at", &s->view_offset));
    s->is_given = kiln_lex_word(&r->lex, "given");
    return KILN_OK;
}

/* `"x"`, or `"If_0.then_branch/" "x"` of a region. */
static kiln_status value_of(kiln_net_reader *r, kiln_net_slot *s,
                            const kiln_graph **g) {
    const char *at = kiln_lex_here(&r->lex), *name = NULL, *path = "";
    KILN_TRY(kiln_lex_quoted(&r->lex, &name));
    if (kiln_lex_peek(&r->lex, 0) == '"') {
        path = name;
        KILN_TRY(kiln_lex_quoted(&r->lex, &name));
    }
    const kiln_net_region *in = kiln_net_region_at(r, path);
    if (in == NULL)
        return fail(r, at, "there is no region '%s'", kiln_net_shown(r, path));
    s->path = in->path;
    s->value = find_value(in->g, name);
    *g = in->g;
    return s->value != NULL
               ? KILN_OK
               : fail(r, at, "graph '%s' has no value '%s'",
                      kiln_net_shown(r, in->g->name), kiln_net_shown(r, name));
}

static kiln_status meaning(kiln_net_reader *r, const kiln_graph *g, kiln_net_slot *s) {
    kiln_node *node = NULL;
    int n = 0;
    const char *at = kiln_lex_here(&r->lex);
    KILN_TRY(kiln_net_read_node(r, g, &node));
    s->means = node;
    KILN_TRY(kiln_net_read_number(r, "the number of a result", 0, &s->means_out));
    KILN_TRY(kiln_net_read_list(r, &s->means_in, &n));
    return n == node->n_in && s->means_out < node->n_out
               ? KILN_OK
               : fail(r, at, "node '%s' has %d inputs and %d results",
                      kiln_net_shown(r, node->name), node->n_in, node->n_out);
}

/* How a constant is packed, where the text says so; the type of all that it is. */
static kiln_status packing(kiln_net_reader *r, kiln_net_slot *s, kiln_type *out) {
    const char *at = kiln_lex_here(&r->lex), *name = NULL;
    *out = s->value->type;
    if (!kiln_lex_accept(&r->lex, "by"))
        return KILN_OK;
    KILN_TRY(kiln_lex_quoted(&r->lex, &name));
    s->packing = kiln_packing_find(kiln_str_from(name));
    if (s->packing == NULL)
        return fail(r, at, "there is no packing '%s'", kiln_net_shown(r, name));
    if (!kiln_value_is_const(s->value))
        return fail(r, at, "value '%s' is packed, and no constant",
                    kiln_net_shown(r, s->value->name));
    if (kiln_packed_type(s->packing, &s->value->type, out, r->lex.err) != KILN_OK)
        return kiln_lex_note(&r->lex, at, r->lex.err->status);
    return KILN_OK;
}

kiln_status kiln_net_read_tensor(kiln_net_reader *r, const char *at) {
    kiln_net_slot s = {.line = kiln_net_line_of(r, at)};
    const kiln_graph *g = NULL;
    kiln_type t, whole;
    int i = 0;
    KILN_TRY(kiln_net_read_number(r, "the number of a tensor", 0, &i));
    if ((size_t)i != r->n->slot.n)
        return fail(r, at, "tensor %zu must come next, is %d", r->n->slot.n, i);
    KILN_TRY(place(r, &s));
    KILN_TRY(value_of(r, &s, &g));
    KILN_TRY(kiln_lex_expect(&r->lex, ":"));
    KILN_TRY(read_type(r, &t));
    KILN_TRY(packing(r, &s, &whole));
    if (t.dtype != whole.dtype || !kiln_type_same_shape(&t, &whole))
        return fail(r, at, "value '%s' has type %s, the tensor %s",
                    kiln_net_shown(r, s.value->name),
                    kiln_type_text(r->lex.arena, &whole),
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

kiln_status kiln_net_read_kernel(kiln_net_reader *r, const char *at) {
    kiln_arena *a = r->lex.arena;
    kiln_network_kernel k = {.amplification = 1};
    kiln_type operand[2 * MAX_TYPES];
    kiln_net_choice c;
    const kiln_json *json = NULL;
    int i = 0, n_read = 0;
    KILN_TRY(kiln_net_read_number(r, "the number of a kernel", 0, &i));
    if ((size_t)i != r->n->kernel.n)
        return fail(r, at, "kernel %zu must come next, is %d", r->n->kernel.n, i);
    KILN_TRY(kiln_lex_quoted(&r->lex, &k.workload));
    KILN_TRY(choice(r, &c, &json));
    KILN_TRY(read_types(r, operand, MAX_TYPES, &n_read));
    KILN_TRY(kiln_lex_expect(&r->lex, "->"));
    KILN_TRY(read_types(r, operand + n_read, MAX_TYPES, &k.n_written));
    if (kiln_net_text_has(r, KILN_NET_COMPILED)) {
        KILN_TRY(kiln_net_read_u64(r, "workspace", &k.object.workspace_bytes));
        KILN_TRY(kiln_net_read_u64(r, "scratch", &k.object.scratch_bytes));
    }
    k.symbol = kiln_format(a, "k%d", i);
    k.config = c.text;
    k.tmpl = c.tmpl->name;
    k.origin = c.origin;
    k.n_tried = c.n_tried;
    k.n_operands = n_read + k.n_written;
    k.operand = kiln_arena_dup(a, operand, (size_t)k.n_operands * sizeof operand[0]);
    k.key = key_of(a, &k);
    kiln_vec_push(a, &r->n->kernel, k);
    return KILN_OK;
}
