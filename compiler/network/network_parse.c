/* Executable graphs out of text (docs/executable-text.md), beside the graph that they
 * are of. The text is untrusted: numbers are limited; what is still wrong with an
 * executable graph that parses, the verifier says. */
#include "compiler/network/network_place.h"
#include "compiler/network/network_parse_internal.h"

#include <string.h>

#define fail(r, at, ...) kiln_lex_fail(&(r)->lex, (at), KILN_ERR_PARSE, __VA_ARGS__)

enum { MAX_DEPTH = 64 }; /* of blocks */

/* ---- steps ----------------------------------------------------------------------- */

static kiln_status operands(kiln_net_reader *r, kiln_net_step *s) {
    const int *read = NULL, *written = NULL;
    int n_written = 0;
    if (!kiln_net_text_has(r, KILN_NET_LAID_OUT))
        return KILN_OK;
    KILN_TRY(kiln_net_read_list(r, &read, &s->n_read));
    if (kiln_lex_accept(&r->lex, "->"))
        KILN_TRY(kiln_net_read_list(r, &written, &n_written));
    s->n_operands = s->n_read + n_written;
    int *operand = kiln_array(r->lex.arena, int, s->n_operands);
    for (int i = 0; i < s->n_operands; i++)
        operand[i] = i < s->n_read ? read[i] : written[i - s->n_read];
    s->operand = operand;
    return kiln_lex_word(&r->lex, "takes")
               ? kiln_net_read_list(r, &s->takeable, &s->n_takeable)
               : KILN_OK;
}

/* `as convert "convert x"`: no node's step. */
static kiln_status named(kiln_net_reader *r, kiln_net_step *s) {
    kiln_str op;
    if (!kiln_lex_bare(&r->lex, &op))
        return kiln_lex_expected(&r->lex, "what the step does");
    s->op = kiln_str_dupv(r->lex.arena, op);
    r->n->n_conversions += strcmp(s->op, "convert") == 0;
    return kiln_lex_quoted(&r->lex, &s->name);
}

/* `= conv "conv_1" + relu "relu_1"` */
static kiln_status grouped(kiln_net_reader *r, kiln_net_step *s) {
    kiln_arena *a = r->lex.arena;
    KILN_VEC(kiln_node *) node = {0};
    kiln_group *group = kiln_new(a, kiln_group);
    KILN_TRY(kiln_lex_expect(&r->lex, "="));
    do {
        kiln_node *one = NULL;
        const char *at = kiln_lex_here(&r->lex);
        KILN_TRY(kiln_net_read_node(r, r->here.g, &one));
        if (node.n > 0 && one->index <= node.v[node.n - 1]->index)
            return fail(r, at, "nodes of a step come in the order of the graph");
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

static kiln_status on_device(kiln_net_reader *r, kiln_net_step *s) {
    KILN_TRY(kiln_lex_expect(&r->lex, "on"));
    return kiln_net_read_number(r, "the number of a device", 0, &s->device);
}

static kiln_status wait(kiln_net_reader *r, kiln_net_step *s) {
    KILN_TRY(on_device(r, s));
    KILN_TRY(kiln_lex_expect(&r->lex, "for"));
    KILN_TRY(kiln_net_read_number(r, "the number of a step", 0, &s->partner));
    KILN_TRY(kiln_lex_expect(&r->lex, "as"));
    return named(r, s);
}

static kiln_status work(kiln_net_reader *r, kiln_net_step *s) {
    const bool is_call = s->kind == KILN_NET_CALL;
    if (is_call && kiln_net_text_has(r, KILN_NET_LAID_OUT))
        KILN_TRY(kiln_net_read_number(r, "the number of a kernel", 0, &s->kernel));
    if (kiln_net_text_has(r, KILN_NET_ON_DEVICES))
        KILN_TRY(on_device(r, s));
    KILN_TRY(operands(r, s));
    KILN_TRY(kiln_lex_word(&r->lex, "as") ? named(r, s) : grouped(r, s));
    if (is_call && kiln_net_text_has(r, KILN_NET_CHOSEN) &&
        !kiln_net_text_has(r, KILN_NET_LAID_OUT) && kiln_lex_peek(&r->lex, 0) == 'b')
        KILN_TRY(kiln_net_read_chosen(r, s));
    return KILN_OK;
}

static int push(kiln_net_reader *r, const kiln_net_step *s) {
    kiln_vec_push(r->lex.arena, &r->n->step, *s);
    return (int)r->n->step.n - 1;
}

/* The steps of `of`'s region, up to what closes it. */
static kiln_status steps(kiln_net_reader *r);

static kiln_status in_region(kiln_net_reader *r, kiln_net_step *of) {
    const char *at = kiln_lex_here(&r->lex);
    const kiln_net_region around = r->here;
    kiln_str word;
    if (!kiln_lex_bare(&r->lex, &word))
        return kiln_lex_expected(&r->lex, "a region");
    of->region = kiln_str_dupv(r->lex.arena, word);
    const char *path =
        kiln_format(r->lex.arena, "%s%s.%s/", around.path, of->node->name, of->region);
    const kiln_net_region *in = kiln_net_region_at(r, path);
    if (in == NULL)
        return fail(r, at, "node '%s' has no region '%s'",
                    kiln_net_shown(r, of->node->name), of->region);
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

static kiln_status block(kiln_net_reader *r, kiln_net_step *s) {
    kiln_node *node = NULL;
    int begin = (int)r->n->step.n, last = begin;
    KILN_TRY(kiln_net_node_of(r, r->here.g, &node));
    s->node = node;
    s->g = r->here.g;
    s->path = r->here.path;
    s->op = node->op->name;
    s->name = kiln_format(r->lex.arena, "%s%s", s->path, node->name);
    const kiln_net_step plain = *s;
    if (s->kind == KILN_NET_LOOP) {
        KILN_TRY(kiln_lex_expect(&r->lex, "times"));
        KILN_TRY(kiln_lex_int(&r->lex, "how often the block runs", 0,
                              KILN_NETWORK_MAX_RUNS, &s->count));
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

static kiln_status steps(kiln_net_reader *r) {
    static const kiln_net_step_kind begins[] = {
        KILN_NET_CALL, KILN_NET_COPY, KILN_NET_TAKE, KILN_NET_PUT, KILN_NET_VIEW,
        KILN_NET_JOIN, KILN_NET_IF,   KILN_NET_LOOP, KILN_NET_WAIT};
    enum { N_BEGINS = sizeof begins / sizeof begins[0] };
    while (!kiln_lex_accept(&r->lex, "}")) {
        const char *at = kiln_lex_here(&r->lex);
        kiln_net_step s = {.line = kiln_net_line_of(r, at)};
        int i = 0;
        while (i < N_BEGINS && !kiln_lex_word(&r->lex, kiln_net_kind_words[begins[i]]))
            i++;
        if (i == N_BEGINS)
            return kiln_lex_expected(&r->lex, "a step");
        s.kind = begins[i];
        if (s.kind == KILN_NET_IF || s.kind == KILN_NET_LOOP) {
            KILN_TRY(block(r, &s));
        } else {
            KILN_TRY(s.kind == KILN_NET_WAIT ? wait(r, &s) : work(r, &s));
            (void)push(r, &s);
        }
    }
    return KILN_OK;
}

/* ---- all ------------------------------------------------------------------------- */

static void find_regions(kiln_net_reader *r, const kiln_graph *g, const char *path) {
    const kiln_net_region here = {g, path};
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

static kiln_status facts(kiln_net_reader *r) {
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

static kiln_status head(kiln_net_reader *r) {
    const char *name = NULL, *at = NULL;
    KILN_TRY(kiln_lex_expect(&r->lex, "executable"));
    at = kiln_lex_here(&r->lex);
    KILN_TRY(kiln_lex_quoted(&r->lex, &name));
    if (strcmp(name, r->n->g->name) != 0)
        return fail(r, at, "the graph is '%s', not '%s'",
                    kiln_net_shown(r, r->n->g->name), kiln_net_shown(r, name));
    KILN_TRY(kiln_lex_expect(&r->lex, "for"));
    at = kiln_lex_here(&r->lex);
    KILN_TRY(kiln_lex_quoted(&r->lex, &name));
    if (strcmp(name, r->n->profile->name) != 0)
        return fail(r, at, "the profile is '%s', not '%s'", r->n->profile->name,
                    kiln_net_shown(r, name));
    KILN_TRY(facts(r));
    return kiln_lex_expect(&r->lex, "{");
}

static kiln_status device(kiln_net_reader *r, const char *at) {
    kiln_net_device d = {.kind = NULL};
    int i = 0;
    KILN_TRY(kiln_net_read_number(r, "the number of a device", 0, &i));
    if ((size_t)i != r->n->device.n || i >= KILN_NET_MAX_DEVICES)
        return fail(r, at, "device %zu of %d at most must come next, is %d",
                    r->n->device.n, KILN_NET_MAX_DEVICES, i);
    KILN_TRY(kiln_lex_quoted(&r->lex, &d.kind));
    if (kiln_net_text_has(r, KILN_NET_PLANNED)) {
        KILN_TRY(kiln_net_read_bytes(r, "arena", &d.arena_bytes));
        KILN_TRY(kiln_net_read_bytes(r, "least", &d.lower_bound));
        KILN_TRY(kiln_net_read_u64(r, "packed", &d.packed_bytes));
    }
    kiln_vec_push(r->lex.arena, &r->n->device, d);
    return KILN_OK;
}

static kiln_status memory(kiln_net_reader *r) {
    kiln_net *n = r->n;
    KILN_TRY(kiln_net_read_bytes(r, "arena", &n->arena_bytes));
    KILN_TRY(kiln_net_read_bytes(r, "least", &n->lower_bound));
    KILN_TRY(kiln_net_read_u64(r, "param", &n->param_bytes));
    KILN_TRY(kiln_net_read_u64(r, "packed", &n->packed_bytes));
    KILN_TRY(kiln_lex_expect(&r->lex, "views"));
    KILN_TRY(kiln_net_read_number(r, "a number of views", 0, &n->n_views));
    KILN_TRY(kiln_lex_expect(&r->lex, "taken"));
    return kiln_net_read_number(r, "a number of places taken", 0, &n->n_in_place);
}

static kiln_status port(kiln_net_reader *r, const char *at, bool is_input) {
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
        return fail(r, at, "'%s' must come next", kiln_net_shown(r, name));
    KILN_TRY(kiln_net_read_number(r, "the number of a tensor", 0, &p.slot));
    kiln_vec_push(r->lex.arena, &n->port, p);
    n->n_inputs += is_input;
    n->n_outputs += !is_input;
    return KILN_OK;
}

static kiln_status open_step(kiln_net_reader *r, const char *at) {
    kiln_net_step s = {.kind = KILN_NET_CALL, .line = kiln_net_line_of(r, at)};
    if (kiln_lex_word(&r->lex, kiln_net_kind_words[KILN_NET_COPY])) {
        s.kind = KILN_NET_COPY;
        KILN_TRY(on_device(r, &s));
    } else {
        KILN_TRY(kiln_net_read_number(r, "the number of a kernel", 0, &s.kernel));
    }
    KILN_TRY(operands(r, &s));
    KILN_TRY(kiln_lex_expect(&r->lex, "as"));
    KILN_TRY(named(r, &s));
    kiln_vec_push(r->lex.arena, &r->n->open, s);
    return KILN_OK;
}

/* What stands before the steps. */
static kiln_status tables(kiln_net_reader *r) {
    for (;;) {
        const char *at = kiln_lex_here(&r->lex);
        if (kiln_lex_word(&r->lex, "device"))
            KILN_TRY(device(r, at));
        else if (kiln_lex_word(&r->lex, "memory"))
            KILN_TRY(memory(r));
        else if (kiln_lex_word(&r->lex, "tensor"))
            KILN_TRY(kiln_net_read_tensor(r, at));
        else if (kiln_lex_word(&r->lex, "kernel"))
            KILN_TRY(kiln_net_read_kernel(r, at));
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

static kiln_status read_all(kiln_net_reader *r) {
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
    kiln_net_reader r = {
        .lex = kiln_lexer_make(a, text, name, err), .n = out, .here = {g, ""}};
    find_regions(&r, g, "");
    KILN_TRY(read_all(&r));
    return kiln_net_verify(out, err);
}
