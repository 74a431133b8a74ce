/* An executable graph as text (docs/executable-text.md); network_parse.c reads it back: change
 * the three together. */
#include "compiler/network/executable_internal.h"

#include <inttypes.h>

const char *const kiln_net_kind_words[KILN_NET_N_KINDS] = {
    [KILN_NET_CALL] = "call", [KILN_NET_COPY] = "copy", [KILN_NET_IF] = "if",
    [KILN_NET_ELSE] = "else", [KILN_NET_LOOP] = "loop", [KILN_NET_END] = "end",
    [KILN_NET_TAKE] = "take", [KILN_NET_PUT] = "put",   [KILN_NET_VIEW] = "view",
    [KILN_NET_JOIN] = "join", [KILN_NET_WAIT] = "wait"};

const char *const kiln_net_place_words[KILN_NET_N_PLACES] = {
    [KILN_NET_INPUT] = "input",
    [KILN_NET_OUTPUT] = "output",
    [KILN_NET_PARAM] = "param",
    [KILN_NET_ARENA] = "arena",
    [KILN_NET_PACKED] = "packed"};

typedef struct printer {
    kiln_buf *out;
    const kiln_net *n;
    int depth; /* of blocks */
} printer;

static bool has(const printer *p, unsigned fact) { return (p->n->facts & fact) != 0; }

static void put(printer *p, const char *text) { kiln_buf_puts(p->out, text); }

static void quote(printer *p, const char *text) {
    put(p, " ");
    kiln_buf_quote(p->out, text);
}

static void new_line(printer *p) {
    put(p, "\n");
    for (int i = 0; i <= p->depth; i++)
        put(p, "  ");
}

static void put_list(printer *p, const int *v, int n) {
    put(p, " (");
    for (int i = 0; i < n; i++)
        if (v[i] < 0)
            kiln_buf_printf(p->out, "%s_", i == 0 ? "" : ", ");
        else
            kiln_buf_printf(p->out, "%s%d", i == 0 ? "" : ", ", v[i]);
    put(p, ")");
}

static void put_type(printer *p, const kiln_type *t) {
    put(p, kiln_type_text(p->out->arena, t));
}

/* ---- tensors --------------------------------------------------------------------- */

static void put_place(printer *p, const kiln_net_slot *s) {
    const bool is_port = s->place == KILN_NET_INPUT || s->place == KILN_NET_OUTPUT;
    kiln_buf_printf(p->out, " %s", kiln_net_place_words[s->place]);
    if (is_port)
        kiln_buf_printf(p->out, " %" PRIu32, s->index);
    if (s->device != 0)
        kiln_buf_printf(p->out, " on %d", s->device);
    if (has(p, KILN_NET_PLANNED))
        kiln_buf_printf(p->out, " at %" PRIu64, s->offset);
    if (s->view_of < 0)
        return;
    kiln_buf_printf(p->out, " in %d", s->view_of);
    if (has(p, KILN_NET_SHARED))
        kiln_buf_printf(p->out, " at %" PRId64, s->view_offset);
    if (s->is_given)
        put(p, " given");
}

static void put_tensor(printer *p, int i) {
    const kiln_net_slot *s = &p->n->slot.v[i];
    const kiln_type t = kiln_net_type_of(s);
    new_line(p);
    kiln_buf_printf(p->out, "tensor %d", i);
    put_place(p, s);
    if (s->path[0] != '\0')
        quote(p, s->path);
    quote(p, s->value->name);
    put(p, " : ");
    put_type(p, &t);
    if (s->packing != NULL) {
        put(p, " by");
        quote(p, s->packing->name);
    }
    if (s->means == NULL)
        return;
    kiln_buf_printf(p->out, " = %s", s->means->op->name);
    quote(p, s->means->name);
    kiln_buf_printf(p->out, " %d", s->means_out);
    put_list(p, s->means_in, s->means->n_in);
}

/* ---- kernels --------------------------------------------------------------------- */

/* JSON in one line. */
static void put_json(printer *p, const char *json) {
    bool quoted = false;
    for (const char *c = json; *c != '\0'; c++) {
        quoted = quoted != (*c == '"' && (c == json || c[-1] != '\\'));
        if (quoted || (*c != '\n' && *c != ' '))
            kiln_buf_add(p->out, c, 1);
        else if (c > json && (c[-1] == ',' || c[-1] == ':'))
            put(p, " ");
    }
}

static void put_choice(printer *p, kiln_origin origin, int n_tried,
                       const char *config) {
    kiln_buf_printf(p->out, " by %s", kiln_origin_name(origin));
    if (n_tried > 0)
        kiln_buf_printf(p->out, " of %d", n_tried);
    put(p, " ");
    put_json(p, config);
}

static void put_types(printer *p, const kiln_type *t, int n) {
    put(p, " (");
    for (int i = 0; i < n; i++) {
        put(p, i == 0 ? "" : ", ");
        put_type(p, &t[i]);
    }
    put(p, ")");
}

/* Of the activations of a call that was chosen so. */
static void put_layouts(printer *p, const kiln_net_step *s) {
    const kiln_graph *part = kiln_group_graph(p->out->arena, s->g, s->group, NULL);
    const int n_in = (int)part->inputs.n, n = s->choice->n_layouts;
    kiln_type *type = kiln_array(p->out->arena, kiln_type, n);
    for (int i = 0; i < n; i++) {
        type[i] = (i < n_in ? part->inputs.v[i] : part->outputs.v[i - n_in])->type;
        type[i].layout = s->choice->layout[i];
    }
    put_types(p, type, n_in);
    put(p, " ->");
    put_types(p, type + n_in, n - n_in);
}

static void put_kernel(printer *p, int i) {
    const kiln_network_kernel *k = &p->n->kernel.v[i];
    const int n_read = k->n_operands - k->n_written;
    new_line(p);
    kiln_buf_printf(p->out, "kernel %d", i);
    quote(p, k->workload);
    put_choice(p, k->origin, k->n_tried, k->config);
    put_types(p, k->operand, n_read);
    put(p, " ->");
    put_types(p, k->operand + n_read, k->n_written);
    if (has(p, KILN_NET_COMPILED))
        kiln_buf_printf(p->out, " workspace %" PRId64 " scratch %" PRId64,
                        (int64_t)k->object.workspace_bytes,
                        (int64_t)k->object.scratch_bytes);
}

/* ---- steps ----------------------------------------------------------------------- */

static void put_operands(printer *p, const kiln_net_step *s) {
    if (!has(p, KILN_NET_LAID_OUT))
        return;
    put_list(p, s->operand, s->n_read);
    if (s->n_operands > s->n_read) {
        put(p, " ->");
        put_list(p, s->operand + s->n_read, s->n_operands - s->n_read);
    }
    if (s->n_takeable > 0) {
        put(p, " takes");
        put_list(p, s->takeable, s->n_takeable);
    }
}

/* What a step is for: its nodes, or a word and a name. */
static void put_meaning(printer *p, const kiln_net_step *s) {
    put(p, s->group != NULL ? " =" : " as");
    if (s->group == NULL) {
        kiln_buf_printf(p->out, " %s", s->op);
        quote(p, s->name);
        return;
    }
    for (int i = 0; i < s->group->n; i++) {
        kiln_buf_printf(p->out, "%s %s", i == 0 ? "" : " +",
                        s->group->node[i]->op->name);
        quote(p, s->group->node[i]->name);
    }
}

static void put_block(printer *p, const kiln_net_step *s) {
    if (s->kind == KILN_NET_ELSE || s->kind == KILN_NET_END) {
        p->depth--;
        new_line(p);
        put(p, s->kind == KILN_NET_ELSE ? "} else" : "}");
    } else {
        new_line(p);
        put(p, kiln_net_kind_words[s->kind]);
        quote(p, s->node->name);
    }
    if (s->kind == KILN_NET_END)
        return;
    if (s->kind == KILN_NET_LOOP)
        kiln_buf_printf(p->out, " times %" PRId64, s->count);
    if (s->kind == KILN_NET_IF)
        put_operands(p, s);
    kiln_buf_printf(p->out, " %s {", s->region);
    p->depth++;
}

static void put_step(printer *p, const kiln_net_step *s) {
    switch (s->kind) {
    case KILN_NET_IF:
    case KILN_NET_ELSE:
    case KILN_NET_LOOP:
    case KILN_NET_END:
        put_block(p, s);
        return;
    case KILN_NET_CALL:
    case KILN_NET_COPY:
    case KILN_NET_TAKE:
    case KILN_NET_PUT:
    case KILN_NET_WAIT:
    case KILN_NET_VIEW:
    case KILN_NET_JOIN:
    case KILN_NET_N_KINDS:
        break;
    }
    new_line(p);
    put(p, kiln_net_kind_words[s->kind]);
    if (s->kind == KILN_NET_CALL && has(p, KILN_NET_LAID_OUT))
        kiln_buf_printf(p->out, " %d", s->kernel);
    if (has(p, KILN_NET_ON_DEVICES))
        kiln_buf_printf(p->out, " on %d", s->device);
    if (s->kind == KILN_NET_WAIT)
        kiln_buf_printf(p->out, " for %d", s->partner);
    else
        put_operands(p, s);
    put_meaning(p, s);
    if (s->choice != NULL && s->kind == KILN_NET_CALL)
        put_choice(p, s->choice->origin, s->choice->n_tried, s->choice->text);
    if (s->choice != NULL && s->kind == KILN_NET_CALL && s->choice->is_searched)
        put_layouts(p, s);
    if (s->choice != NULL && s->kind == KILN_NET_CALL && s->choice->is_alone)
        put(p, " alone");
}

/* ---- all ------------------------------------------------------------------------- */

static void put_head(printer *p) {
    bool is_first = true;
    put(p, "executable");
    quote(p, p->n->g->name);
    put(p, " for");
    quote(p, p->n->profile->name);
    put(p, " facts=");
    for (int i = 0; i < KILN_NET_N_FACTS; i++) {
        if (!has(p, 1u << i))
            continue;
        kiln_buf_printf(p->out, "%s%s", is_first ? "" : "+", kiln_net_fact_names[i]);
        is_first = false;
    }
    put(p, is_first ? "none {" : " {");
}

static void put_memory(printer *p) {
    const kiln_net *n = p->n;
    if (!has(p, KILN_NET_PLANNED))
        return;
    new_line(p);
    kiln_buf_printf(p->out,
                    "memory arena %" PRId64 " least %" PRId64 " param %" PRIu64
                    " packed %" PRIu64 " views %d taken %d",
                    n->arena_bytes, n->lower_bound, n->param_bytes, n->packed_bytes,
                    n->n_views, n->n_in_place);
}

static void put_device(printer *p, int i) {
    const kiln_net_device *d = &p->n->device.v[i];
    new_line(p);
    kiln_buf_printf(p->out, "device %d", i);
    quote(p, d->kind);
    if (has(p, KILN_NET_PLANNED))
        kiln_buf_printf(p->out, " arena %" PRId64 " least %" PRId64 " packed %" PRIu64,
                        d->arena_bytes, d->lower_bound, d->packed_bytes);
}

static void put_open(printer *p, const kiln_net_step *s) {
    new_line(p);
    if (s->kind == KILN_NET_COPY)
        kiln_buf_printf(p->out, "open copy on %d", s->device);
    else
        kiln_buf_printf(p->out, "open %d", s->kernel);
    put_operands(p, s);
    put_meaning(p, s);
}

void kiln_net_print(kiln_buf *out, const kiln_net *n) {
    printer p = {.out = out, .n = n};
    put_head(&p);
    for (size_t i = 0; i < n->device.n; i++)
        put_device(&p, (int)i);
    put_memory(&p);
    for (size_t i = 0; i < n->slot.n; i++)
        put_tensor(&p, (int)i);
    for (size_t i = 0; i < n->kernel.n; i++)
        put_kernel(&p, (int)i);
    for (size_t i = 0; i < n->port.n; i++) {
        const bool is_input = i < n->n_inputs;
        new_line(&p);
        put(&p, is_input ? "input" : "output");
        quote(&p, n->port.v[i].name);
        kiln_buf_printf(out, " %d", n->port.v[i].slot);
    }
    for (size_t i = 0; i < n->open.n; i++)
        put_open(&p, &n->open.v[i]);
    for (size_t i = 0; i < n->step.n; i++)
        put_step(&p, &n->step.v[i]);
    put(&p, "\n}\n");
}

void kiln_net_summary(kiln_buf *out, const kiln_net *n) {
    int count[KILN_NET_N_KINDS] = {0};
    kiln_buf_printf(out, "%zu steps", n->step.n);
    for (size_t i = 0; i < n->step.n; i++)
        count[n->step.v[i].kind]++;
    const char *before = " (";
    for (int k = 0; k < KILN_NET_N_KINDS; k++) {
        if (count[k] == 0 || k == KILN_NET_ELSE || k == KILN_NET_END)
            continue;
        kiln_buf_printf(out, "%s%d %s", before, count[k], kiln_net_kind_words[k]);
        before = ", ";
    }
    kiln_buf_puts(out, n->step.n > 0 ? ")" : "");
    if ((n->facts & KILN_NET_LAID_OUT) != 0)
        kiln_buf_printf(out, ", %zu tensors, %zu kernels, %d conversions", n->slot.n,
                        n->kernel.n, n->n_conversions);
    if ((n->facts & KILN_NET_PLANNED) != 0)
        kiln_buf_printf(out,
                        ", %" PRId64 " bytes of activations, %" PRIu64 " of parameters",
                        n->arena_bytes, n->param_bytes);
}

void kiln_net_forecast_text(kiln_buf *out, const kiln_net_forecast *f,
                            int n_conversions) {
    enum { MOST_CHANGES = 16 };
    kiln_buf_printf(out,
                    "layouts: search expects %.1f us (%d conversions), greedy would "
                    "take %.1f us (%d); %d ways of %d steps, %d of them measured, %d "
                    "steps done otherwise",
                    f->chosen_ns / 1e3, n_conversions, f->greedy_ns / 1e3,
                    f->greedy_conversions, f->n_ways, f->n_sites, f->n_known,
                    f->n_changed);
    if (f->n_changed > 0 && f->chosen_ns > 0)
        kiln_buf_printf(out, ": a gain of %.1f%%",
                        100 * (f->greedy_ns / f->chosen_ns - 1));
    kiln_buf_puts(out, "\n");
    for (size_t i = 0; i < f->change.n && i < MOST_CHANGES; i++)
        kiln_buf_printf(out, "  %s\n", f->change.v[i]);
    if (f->change.n > MOST_CHANGES)
        kiln_buf_printf(out, "  and %zu more\n", f->change.n - MOST_CHANGES);
}
