/* The header, and the function that calls all others: the steps of the plan. */
#include "pipeline/csource/csource_internal.h"

#include <inttypes.h>
#include <string.h>

void kiln_csource_put_head(const kiln_csource_writer *w, const char *what,
                           kiln_buf *out) {
    kiln_buf_printf(out, "/* %s: %s, for %s. Written by kiln %s. */\n",
                    kiln_c_comment(w->arena, w->n->name), what, w->n->profile->name,
                    KILN_VERSION);
}

void kiln_csource_put_parameters(const kiln_csource_writer *w, kiln_buf *out) {
    const kiln_net *n = w->n->net;
    for (size_t i = 0; i < n->port.n; i++)
        kiln_buf_printf(out, "%s%s *%s, ", i < n->n_inputs ? "const " : "",
                        kiln_csource_port_type(&n->port.v[i]), w->port[i]);
    kiln_buf_puts(out, "void *workspace");
}

static void put_port(const kiln_csource_writer *w, size_t i, kiln_buf *out) {
    const kiln_net *n = w->n->net;
    kiln_buf_printf(out, " *     %-8s %s: %s\n", i < n->n_inputs ? "reads" : "writes",
                    w->port[i], kiln_type_text(w->arena, &n->port.v[i].value->type));
}

static const char *upper_port(const kiln_csource_writer *w, size_t i) {
    char *out = kiln_str_dup(w->arena, w->port[i]);
    for (char *c = out; *c != '\0'; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    return out;
}

/* What holds of all of them. */
static void put_contract(const kiln_csource_writer *w, kiln_buf *out) {
    if (w->is_library)
        kiln_buf_printf(
            out,
            " *\n"
            " * No two of these overlap, nor does the workspace, which is\n"
            " * %s_WORKSPACE_BYTES long and holds nothing between runs. All begin at\n"
            " * multiples of %s_ALIGN bytes: else it returns 1 and does nothing.\n"
            " * Several threads may run it at once, each with its own workspace.\n"
            " * Returns 0. */\n",
            w->upper, w->upper);
    else
        kiln_buf_printf(
            out,
            " *\n"
            " * No two of these overlap, nor does the workspace, which is\n"
            " * %s_WORKSPACE_BYTES long, aligned as a double is (at 64 bytes it "
            "may be\n"
            " * faster), and holds nothing between runs. Several threads may "
            "run it at once,\n"
            " * each with its own. */\n",
            w->upper);
}

void kiln_csource_put_header(const kiln_csource_writer *w, kiln_buf *out) {
    const kiln_net *n = w->n->net;
    kiln_csource_put_head(w, "what is to be called", out);
    kiln_buf_printf(out,
                    "#ifndef %s_H\n#define %s_H\n\n"
                    "#include <stddef.h>\n#include <stdint.h>\n\n"
                    "enum {\n"
                    "    %s_WORKSPACE_BYTES = %" PRIu64 ",\n"
                    "    %s_PARAM_BYTES = %zu,\n",
                    w->upper, w->upper, w->upper, w->workspace_bytes, w->upper,
                    w->n->param_bytes);
    if (w->is_library)
        kiln_buf_printf(out, "    %s_ALIGN = 64,\n", w->upper);
    for (size_t i = 0; i < n->port.n; i++)
        kiln_buf_printf(out, "    %s_%s_ELEMS = %" PRId64 "%s\n", w->upper,
                        upper_port(w, i), kiln_type_elems(&n->port.v[i].value->type),
                        i + 1 < n->port.n ? "," : "");
    kiln_buf_printf(out, "};\n\n"
                         "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
                         "/* One run of the network. Elements are row-major:\n"
                         " *\n");
    for (size_t i = 0; i < n->port.n; i++)
        put_port(w, i, out);
    put_contract(w, out);
    kiln_buf_printf(out, "%s %s_run(", w->is_library ? "int" : "void", w->name);
    kiln_csource_put_parameters(w, out);
    kiln_buf_puts(out, ");\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

/* ---- places ---------------------------------------------------------------------- */

typedef struct places {
    kiln_csource_writer *w;
    const char **name; /* by slot; NULL: not asked for yet */
    kiln_buf values, params;
    bool has_params;
} places;

static const char *place_of(places *p, int slot) {
    kiln_csource_writer *w = p->w;
    const kiln_net_slot *s = &w->n->net->slot.v[slot];
    const bool is_param = s->place == KILN_NET_PARAM;
    kiln_buf *to = is_param ? &p->params : &p->values;
    if (p->name[slot] != NULL)
        return p->name[slot];
    p->name[slot] = kiln_csource_name(w, is_param ? "param" : "at", s->value->name);
    kiln_buf_printf(to, "%s    %s = %" PRIu64, to->n > 0 ? ",\n" : "", p->name[slot],
                    s->offset);
    return p->name[slot];
}

/* A part of a port, where something reads or makes no more of it. */
static const char *port_bytes(const kiln_csource_writer *w, const kiln_net_slot *s,
                              const char *is_const, size_t port) {
    const char *all =
        kiln_format(w->arena, "(%sunsigned char *)%s", is_const, w->port[port]);
    return s->offset == 0 ? all
                          : kiln_format(w->arena, "%s + %" PRIu64, all, s->offset);
}

/* Of bytes. */
static const char *bytes_of(places *p, int slot) {
    kiln_csource_writer *w = p->w;
    const kiln_net_slot *s = &w->n->net->slot.v[slot];
    switch (s->place) {
    case KILN_NET_INPUT:
        return port_bytes(w, s, "const ", s->index);
    case KILN_NET_OUTPUT:
        return port_bytes(w, s, "", w->n->net->n_inputs + s->index);
    case KILN_NET_PARAM:
        p->has_params = true;
        return kiln_format(w->arena, "params + %s", place_of(p, slot));
    case KILN_NET_ARENA:
        return kiln_format(w->arena, "work + %s", place_of(p, slot));
    case KILN_NET_PACKED:
    case KILN_NET_N_PLACES:
        break;
    }
    KILN_ASSERT(false, "slot %d of '%s' is packed when a model is opened", slot,
                w->n->name);
    return "";
}

/* Of anything. */
static const char *pointer_to(places *p, int slot) {
    const kiln_net_slot *s = &p->w->n->net->slot.v[slot];
    const char *bytes = bytes_of(p, slot);
    const bool is_const = s->place == KILN_NET_INPUT || s->place == KILN_NET_PARAM;
    if (s->offset == 0 && s->place == KILN_NET_INPUT)
        return p->w->port[s->index];
    if (s->offset == 0 && s->place == KILN_NET_OUTPUT)
        return p->w->port[p->w->n->net->n_inputs + s->index];
    return kiln_format(p->w->arena, "(%svoid *)(%s)", is_const ? "const " : "", bytes);
}

/* ---- steps ----------------------------------------------------------------------- */

static void put_call(places *p, const kiln_net_step *s, int depth, kiln_buf *out) {
    const kiln_csource_function *f = kiln_csource_function_of(p->w, s);
    const char *comma = "";
    kiln_buf_printf(out, "%*s%s(", 4 * depth, "", f->name);
    for (int k = 0; k < s->n_operands; k++) {
        if (f->same[k] >= 0)
            continue;
        kiln_buf_printf(out, "%s%s", comma, pointer_to(p, s->operand[k]));
        comma = ", ";
    }
    if (f->workspace_bytes > 0)
        kiln_buf_printf(out, ", work + %" PRIu64, p->w->arena_bytes);
    kiln_buf_puts(out, ");\n");
}

/* Element t of the innermost loop: so many bytes on. */
static void put_copy(places *p, const kiln_net_step *s, int depth, int loop,
                     kiln_buf *out) {
    const kiln_net *n = p->w->n->net;
    const int64_t bytes = n->slot.v[s->operand[s->kind == KILN_NET_TAKE ? 1 : 0]].bytes;
    const char *at = kiln_format(p->w->arena, " + turn%d * %" PRId64, loop, bytes);
    kiln_buf_printf(out, "%*smemcpy(%s%s, %s%s, %" PRId64 ");\n", 4 * depth, "",
                    bytes_of(p, s->operand[1]), s->kind == KILN_NET_PUT ? at : "",
                    bytes_of(p, s->operand[0]), s->kind == KILN_NET_TAKE ? at : "",
                    bytes);
}

typedef struct nesting {
    int depth, loops;
    int loop[KILN_PLAN_MAX_DEPTH + 1];
} nesting;

static void put_step(places *p, const kiln_net_step *s, nesting *in, kiln_buf *out) {
    const kiln_net *n = p->w->n->net;
    switch (s->kind) {
    case KILN_NET_CALL:
        put_call(p, s, in->depth, out);
        break;
    case KILN_NET_COPY:
    case KILN_NET_TAKE:
    case KILN_NET_PUT:
        put_copy(p, s, in->depth, in->loops, out);
        break;
    case KILN_NET_IF:
        kiln_buf_printf(out, "%*sif (*(%s) != 0) {\n", 4 * in->depth++, "",
                        bytes_of(p, s->operand[0]));
        break;
    case KILN_NET_ELSE:
        kiln_buf_printf(out, "%*s} else {\n", 4 * (in->depth - 1), "");
        break;
    case KILN_NET_LOOP:
        in->loops++;
        kiln_buf_printf(
            out, "%*sfor (size_t turn%d = 0; turn%d < %" PRId64 "; turn%d++) {\n",
            4 * in->depth++, "", in->loops, in->loops, s->count, in->loops);
        break;
    case KILN_NET_END:
        in->loops -= n->step.v[s->partner].kind == KILN_NET_LOOP;
        kiln_buf_printf(out, "%*s}\n", 4 * --in->depth, "");
        break;
    case KILN_NET_WAIT:
    case KILN_NET_VIEW:
    case KILN_NET_JOIN:
    case KILN_NET_N_KINDS:
        KILN_ASSERT(false, "'%s' has steps that one device has not", p->w->n->name);
        break;
    }
}

static void put_enum(const char *what, const kiln_buf *list, kiln_buf *out) {
    if (list->n > 0)
        kiln_buf_printf(out, "\n/* %s */\nenum {\n%s\n};\n", what, list->p);
}

void kiln_csource_put_run(kiln_csource_writer *w, kiln_buf *out) {
    const kiln_net *n = w->n->net;
    places p = {.w = w, .name = kiln_array(w->arena, const char *, n->slot.n + 1)};
    kiln_buf body;
    nesting in = {.depth = 1};
    kiln_buf_init(&body, w->arena);
    kiln_buf_init(&p.values, w->arena);
    kiln_buf_init(&p.params, w->arena);
    kiln_buf_puts(&body, "");
    for (size_t i = 0; i < n->step.n; i++)
        put_step(&p, &n->step.v[i], &in, &body);
    put_enum("Where values lie in the workspace.", &p.values, out);
    put_enum("Where parameters lie among them.", &p.params, out);
    if (p.has_params)
        kiln_buf_printf(out, "\nextern const uint64_t %s_params[];\n", w->name);
    kiln_buf_printf(out, "\nvoid %s_run(", w->name);
    kiln_csource_put_parameters(w, out);
    kiln_buf_puts(out, ") {\n    unsigned char *const work = workspace;\n");
    if (p.has_params)
        kiln_buf_printf(out,
                        "    const unsigned char *const params = (const unsigned char "
                        "*)%s_params;\n",
                        w->name);
    kiln_buf_puts(out, "    (void)work;\n");
    for (size_t i = 0; i < n->n_inputs; i++)
        kiln_buf_printf(out, "    (void)%s;\n", w->port[i]);
    kiln_buf_add(out, body.p, body.n);
    kiln_buf_puts(out, "}\n");
}

/* ---- parameters ------------------------------------------------------------------ */

/* Eight bytes a word, as every profile has their order. */
void kiln_csource_put_params(const kiln_csource_writer *w, kiln_buf *out) {
    enum { WORD = 8, A_LINE = 4 };
    const unsigned char *bytes = w->n->params;
    const size_t n = (w->n->param_bytes + WORD - 1) / WORD;
    kiln_csource_put_head(w, "its parameters", out);
    kiln_buf_printf(out,
                    "#include <stdint.h>\n\n"
                    "#if defined(__GNUC__)\n"
                    "#define ALIGNED __attribute__((aligned(64)))\n"
                    "#else\n#define ALIGNED\n#endif\n\n"
                    "extern const uint64_t %s_params[%zu];\n"
                    "const uint64_t %s_params[%zu] ALIGNED = {",
                    w->name, n, w->name, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t v = 0;
        for (size_t k = WORD; k-- > 0;)
            v = v << 8 | (i * WORD + k < w->n->param_bytes ? bytes[i * WORD + k] : 0);
        kiln_buf_printf(out, "%s0x%016" PRIx64 "u",
                        i == 0            ? "\n    "
                        : i % A_LINE == 0 ? ",\n    "
                                          : ", ",
                        v);
    }
    kiln_buf_puts(out, "};\n");
}

void kiln_csource_put_blob(const kiln_csource_writer *w, kiln_buf *out) {
    kiln_csource_put_head(w, "takes the blob of its parameters in", out);
    kiln_buf_printf(out,
                    "    .section .rodata\n    .balign 64\n    .globl %s_params\n"
                    "%s_params:\n    .incbin \"%s_params.bin\"\n"
                    "#if defined(__ELF__)\n"
                    "    .section .note.GNU-stack, \"\"\n#endif\n",
                    w->name, w->name, w->name);
}
