/* A workload's key as a graph again: what kiln_workload_key wrote, in the words of
 * graph text (docs/graph-text.md), which the parser then reads. Constants are zeros. */
#include "compiler/schedule/template.h"

#include <inttypes.h>
#include <string.h>

/* Elements of a constant: far above what the parser takes. */
static const int64_t max_elems = INT64_C(1) << 40;

typedef struct reader {
    kiln_str rest;
    kiln_str whole;
    kiln_buf *out;
    int n_values; /* numbered so far */
    kiln_err *err;
} reader;

static kiln_status refuse(reader *r, const char *what) {
    return kiln_fail(r->err, KILN_ERR_PARSE, "a workload's key has %s at byte %zu",
                     what, r->whole.n - r->rest.n);
}

static bool accept(reader *r, const char *text) {
    if (!kiln_str_starts(r->rest, text))
        return false;
    r->rest.p += strlen(text);
    r->rest.n -= strlen(text);
    return true;
}

/* Up to the first of these characters that is outside brackets. */
static bool until(reader *r, const char *ends, kiln_str *out) {
    int depth = 0;
    for (size_t i = 0; i < r->rest.n; i++) {
        const char c = r->rest.p[i];
        if (depth == 0 && strchr(ends, c) != NULL) {
            *out = (kiln_str){r->rest.p, i};
            r->rest.p += i;
            r->rest.n -= i;
            return i > 0;
        }
        depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    }
    return false;
}

/* ---- values ---------------------------------------------------------------------- */

/* "f32[64,3,7,7]": 9408. */
static bool count_elems(kiln_str type, int64_t *out) {
    kiln_str dims = type, head, dim;
    *out = 1;
    if (!kiln_str_cut(&dims, '[', &head) || !kiln_str_ends(dims, "]"))
        return false;
    dims.n--;
    while (dims.n > 0 && kiln_str_cut(&dims, ',', &dim)) {
        int64_t n = 0;
        if (!kiln_parse_i64(dim, &n) || n < 0 || n > max_elems)
            return false;
        *out = n != 0 && *out > max_elems / n ? max_elems : *out * n;
    }
    return true;
}

/* Where a value appears first, it is declared before the node that reads it. */
static kiln_status declare(reader *r, kiln_str name, kiln_str type) {
    int64_t n = 0;
    const bool is_const = kiln_str_starts(type, "const ");
    if (is_const)
        type = (kiln_str){type.p + strlen("const "), type.n - strlen("const ")};
    if (!count_elems(type, &n))
        return refuse(r, "no type");
    kiln_buf_printf(r->out, "  %s %.*s : %.*s", is_const ? "const" : "input",
                    KILN_STR_ARG(name), KILN_STR_ARG(type));
    if (is_const && n > 1)
        kiln_buf_printf(r->out, " = {0 x %" PRId64 "}", n);
    else if (is_const)
        kiln_buf_puts(r->out, n == 0 ? " = {}" : " = {0}");
    kiln_buf_puts(r->out, "\n");
    r->n_values++;
    return KILN_OK;
}

static kiln_status read_operand(reader *r, kiln_buf *args) {
    kiln_str name, type;
    if (!until(r, ":,)", &name) || (name.p[0] != '%' && !kiln_str_is(name, "_")))
        return refuse(r, "no operand");
    kiln_buf_printf(args, "%.*s", KILN_STR_ARG(name));
    if (!accept(r, ": "))
        return KILN_OK;
    if (!until(r, ",)", &type))
        return refuse(r, "no type");
    return declare(r, name, type);
}

/* ---- nodes ----------------------------------------------------------------------- */

static const kiln_attr_def *find_attr(const kiln_op_def *op, kiln_str name) {
    for (size_t i = 0; i < op->n_attr; i++)
        if (kiln_str_is(name, op->attr[i].name))
            return &op->attr[i];
    return NULL;
}

/* Keys write 1 where graph text has true. */
static kiln_status read_attrs(reader *r, const kiln_op_def *op, kiln_buf *out) {
    kiln_buf_puts(out, " {");
    for (bool is_first = true; is_first || accept(r, ","); is_first = false) {
        kiln_str name, value;
        if (!until(r, "=", &name) || !accept(r, "=") || !until(r, ",}", &value))
            return refuse(r, "no attribute");
        const kiln_attr_def *def = find_attr(op, name);
        if (def == NULL)
            return refuse(r, "an unknown attribute");
        const bool is_bool = def->kind == KILN_ATTR_BOOL;
        kiln_buf_printf(out, "%s%s=%.*s", is_first ? "" : ", ", def->name,
                        is_bool ? 0 : KILN_STR_ARG(value));
        if (is_bool)
            kiln_buf_puts(out, kiln_str_is(value, "0") ? "false" : "true");
    }
    kiln_buf_puts(out, "}");
    return accept(r, "}") ? KILN_OK : refuse(r, "attributes without an end");
}

static kiln_status read_node(reader *r, kiln_arena *scratch) {
    kiln_buf args, attrs;
    kiln_str name;
    kiln_buf_init(&args, scratch);
    kiln_buf_init(&attrs, scratch);
    if (!until(r, "{(", &name))
        return refuse(r, "no operator");
    const kiln_op_def *op = kiln_op_find(name);
    if (op == NULL)
        return kiln_fail(r->err, KILN_ERR_UNSUPPORTED, "there is no operator '%s'",
                         kiln_str_printable(scratch, name, 40));
    /* A key does not say how many results a node has: one, where that is enough; where a
     * key means another one too, its numbers are not what this would be written as. */
    if (op->n_out_min > 1) /* 0: exactly one */
        return kiln_fail(r->err, KILN_ERR_UNSUPPORTED,
                         "operator '%s' has more than one result: its key does not say "
                         "how many",
                         op->name);
    if (accept(r, "{"))
        KILN_TRY(read_attrs(r, op, &attrs));
    if (!accept(r, "("))
        return refuse(r, "no operands");
    for (bool is_first = true; is_first || accept(r, ", "); is_first = false) {
        kiln_buf_puts(&args, is_first ? "" : ", ");
        KILN_TRY(read_operand(r, &args));
    }
    if (!accept(r, ")"))
        return refuse(r, "operands without an end");
    kiln_buf_printf(r->out, "  %%%d = %s(%s)%s\n", r->n_values++, op->name, args.p,
                    attrs.n > 0 ? attrs.p : "");
    return KILN_OK;
}

static kiln_status read_outputs(reader *r) {
    for (int i = 0;; i++) {
        kiln_str value = r->rest;
        for (size_t n = 0; n < r->rest.n; n++)
            if (r->rest.p[n] == ',') {
                value.n = n;
                break;
            }
        if (value.n < 2 || value.p[0] != '%')
            return refuse(r, "no output");
        kiln_buf_printf(r->out, "  output %.*s \"y%d\"\n", KILN_STR_ARG(value), i);
        r->rest.p += value.n;
        r->rest.n -= value.n;
        if (r->rest.n == 0)
            return KILN_OK;
        if (!accept(r, ", "))
            return refuse(r, "no output");
    }
}

static kiln_status read_all(reader *r, kiln_arena *scratch) {
    kiln_buf_puts(r->out, "graph \"work\" {\n");
    do
        KILN_TRY(read_node(r, scratch));
    while (accept(r, "; "));
    if (!accept(r, " -> "))
        return refuse(r, "no outputs");
    KILN_TRY(read_outputs(r));
    kiln_buf_puts(r->out, "}\n");
    return KILN_OK;
}

/* What was read must have this very key: nothing was overlooked. */
static kiln_status check(kiln_arena *scratch, const kiln_graph *g, kiln_str key,
                         kiln_err *err) {
    kiln_workload w;
    kiln_buf again;
    kiln_buf_init(&again, scratch);
    KILN_TRY(kiln_workload_of(g, &w, err));
    kiln_workload_key(&again, &w, false);
    return kiln_str_eq(kiln_buf_str(&again), key)
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_PARSE,
                           "the workload's key would be '%s' today", again.p);
}

kiln_status kiln_workload_read(kiln_arena *a, kiln_str key, kiln_graph **out,
                               kiln_err *err) {
    kiln_arena scratch;
    kiln_buf text;
    kiln_graph *g = NULL;
    kiln_arena_init(&scratch);
    kiln_buf_init(&text, &scratch);
    reader r = {.rest = key, .whole = key, .out = &text, .err = err};
    kiln_status st = read_all(&r, &scratch);
    if (st == KILN_OK)
        st = kiln_graph_parse(a, kiln_buf_str(&text), "workload", &g, err);
    if (st == KILN_OK)
        st = check(&scratch, g, key, err);
    if (st == KILN_OK)
        *out = g;
    else
        kiln_note(err, "reading the workload '%s'",
                  kiln_str_printable(&scratch, key, 200));
    kiln_arena_fini(&scratch);
    return st;
}
