/* Calls of PyTorch's operators: finding the row, putting arguments in their places. */
#include "compiler/frontend/pytorch/aten/aten_internal.h"

#include <string.h>

static const kiln_aten_row rows[] = {
#define KILN_ATEN(name, maker, op, schema) {name, kiln_aten_make_##maker, op, schema},
#include "compiler/frontend/pytorch/aten/aten.def"
#undef KILN_ATEN
};

enum { N_ROWS = sizeof rows / sizeof rows[0], MAX_NAME = 100 };

/* ---- names ----------------------------------------------------------------------- */

static kiln_str behind(kiln_str s, size_t n) { return (kiln_str){s.p + n, s.n - n}; }

/* Without what may stand before a name, and the overload "default". */
static kiln_str bare(kiln_str op) {
    static const char *const before[] = {"torch.ops.", "aten::", "aten.",
                                         "torchvision::", "torchvision."};
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
        if (kiln_str_starts(op, before[i]))
            op = behind(op, strlen(before[i]));
    if (kiln_str_ends(op, ".default"))
        op.n -= strlen(".default");
    return op;
}

static size_t base_length(kiln_str op) {
    const char *const dot = op.n > 0 ? memchr(op.p, '.', op.n) : NULL;
    return dot != NULL ? (size_t)(dot - op.p) : op.n;
}

static const kiln_aten_row *row_of(kiln_str name) {
    for (size_t i = 0; i < N_ROWS; i++)
        if (kiln_str_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

/* The name with its overload, then without. */
static const kiln_aten_row *find_plain(kiln_str op) {
    const kiln_aten_row *const row = row_of(op);
    return row != NULL ? row : row_of((kiln_str){op.p, base_length(op)});
}

const kiln_aten_row *kiln_aten_find(kiln_str op) {
    char name[MAX_NAME];
    op = bare(op);
    const size_t n = base_length(op);
    const kiln_aten_row *const row = find_plain(op);
    if (row != NULL || op.n >= MAX_NAME || n == 0 || op.p[n - 1] != '_')
        return row;
    memcpy(name, op.p, n - 1);
    memcpy(name + n - 1, op.p + n, op.n - n);
    return find_plain((kiln_str){name, op.n - 1});
}

bool kiln_aten_writes(kiln_str op) {
    op = bare(op);
    const size_t n = base_length(op);
    return n > 1 && op.p[n - 1] == '_' && op.p[0] != '_';
}

bool kiln_aten_is_view(kiln_str op) {
    static const char *const views[] = {
        "alias",     "as_strided",       "chunk",     "detach",     "diagonal",
        "expand",    "expand_as",        "flatten",   "lift_fresh", "movedim",
        "narrow",    "permute",          "reshape",   "select",     "slice",
        "split",     "split_with_sizes", "squeeze",   "swapaxes",   "t",
        "transpose", "unbind",           "unflatten", "unsqueeze",  "view",
        "view_as",   "_unsafe_view"};
    op = bare(op);
    op.n = base_length(op);
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++)
        if (kiln_str_is(op, views[i]))
            return true;
    return false;
}

/* ---- arguments -------------------------------------------------------------------- */

/* "None", "True", "False", a number, or a word. */
static kiln_aten_value parse_default(kiln_str text) {
    int64_t i;
    double f;
    if (kiln_str_is(text, "None"))
        return kiln_aten_none();
    if (kiln_str_is(text, "True") || kiln_str_is(text, "False"))
        return kiln_aten_of_bool(text.p[0] == 'T');
    if (kiln_str_is(text, "[]"))
        return kiln_aten_of_list(NULL, 0);
    if (kiln_parse_i64(text, &i))
        return kiln_aten_of_int(i);
    if (kiln_parse_f64(text, &f))
        return kiln_aten_of_float(f);
    return kiln_aten_of_string(text);
}

/* The row's places, with their defaults. */
static void read_schema(kiln_aten_args *k, bool *is_required) {
    kiln_str rest = kiln_str_from(k->row->schema), part;
    while (kiln_str_cut(&rest, ',', &part)) {
        kiln_str name;
        part = kiln_str_trim(part);
        if (part.n == 0)
            continue;
        KILN_ASSERT(k->n < KILN_ATEN_MAX_ARGS, "'%s' has too many arguments",
                    k->row->name);
        kiln_str_cut(&part, '=', &name);
        k->is_free[k->n] = kiln_str_starts(name, "~");
        k->name[k->n] = k->is_free[k->n] ? behind(name, 1) : name;
        is_required[k->n] = part.p == NULL;
        if (part.p != NULL)
            k->value[k->n] = parse_default(part);
        k->n++;
    }
}

/* Is `name` one of the names of a place? */
static bool is_named(kiln_str names, kiln_str name) {
    kiln_str one;
    while (kiln_str_cut(&names, '|', &one))
        if (kiln_str_eq(one, name))
            return true;
    return false;
}

static int place_of(const kiln_aten_args *k, kiln_str name) {
    for (int i = 0; i < k->n; i++)
        if (is_named(k->name[i], name))
            return i;
    return -1;
}

static bool is_harmless(kiln_str name) {
    static const char *const names[] = {"device",        "layout",    "pin_memory",
                                        "memory_format", "generator", "non_blocking",
                                        "requires_grad"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (kiln_str_is(name, names[i]))
            return true;
    return false;
}

static kiln_status place(kiln_aten_args *k, const kiln_aten_call *call) {
    kiln_import_cx *const cx = k->c.cx;
    bool is_required[KILN_ATEN_MAX_ARGS] = {false};
    read_schema(k, is_required);
    if (call->n_arg > (size_t)k->n)
        return kiln_fail(cx->err, KILN_ERR_UNSUPPORTED,
                         "%s: at most %d arguments are read, there are %zu",
                         k->row->name, k->n, call->n_arg);
    for (size_t i = 0; i < call->n_arg; i++) {
        k->value[i] = call->arg[i];
        k->is_given[i] = true;
    }
    for (size_t i = 0; i < call->n_keyword; i++) {
        const kiln_str name = call->keyword[i].name;
        const int at = place_of(k, name);
        if (at < 0 &&
            (is_harmless(name) || call->keyword[i].value.kind == KILN_ATEN_NONE))
            continue;
        if (at < 0 || k->is_given[at])
            return kiln_fail(cx->err, KILN_ERR_UNSUPPORTED, "%s: argument '%s' is %s",
                             k->row->name, kiln_import_show(cx, name),
                             at < 0 ? "not read" : "given twice");
        k->value[at] = call->keyword[i].value;
        k->is_given[at] = true;
    }
    for (int i = 0; i < k->n; i++)
        if (is_required[i] && !k->is_given[i])
            return kiln_fail(cx->err, KILN_ERR_PARSE, "%s: argument '%.*s' is missing",
                             k->row->name, KILN_STR_ARG(k->name[i]));
    return KILN_OK;
}

static bool same(const kiln_aten_value *x, const kiln_aten_value *y) {
    if (x->kind != y->kind)
        return (x->kind == KILN_ATEN_INT && y->kind == KILN_ATEN_FLOAT &&
                (double)x->i == y->f) ||
               (x->kind == KILN_ATEN_FLOAT && y->kind == KILN_ATEN_INT &&
                (double)y->i == x->f);
    switch (x->kind) {
    case KILN_ATEN_NONE:
        return true;
    case KILN_ATEN_INT:
    case KILN_ATEN_BOOL:
    case KILN_ATEN_DTYPE:
        return x->i == y->i;
    case KILN_ATEN_FLOAT:
        return x->f == y->f;
    case KILN_ATEN_STRING:
        return kiln_str_eq(x->s, y->s);
    case KILN_ATEN_LIST:
        return x->n == 0 && y->n == 0;
    case KILN_ATEN_TENSOR:
    case KILN_ATEN_OTHER:
        break;
    }
    return false;
}

/* What the maker did not ask for must be as if it were not there. */
static kiln_status check_read(const kiln_aten_args *k) {
    kiln_aten_args plain = {.row = k->row};
    bool is_required[KILN_ATEN_MAX_ARGS] = {false};
    read_schema(&plain, is_required);
    for (int i = 0; i < k->n; i++)
        if (k->is_given[i] && !k->is_read[i] && !k->is_free[i] &&
            k->value[i].kind != KILN_ATEN_NONE && k->value[i].kind != KILN_ATEN_OTHER &&
            !same(&k->value[i], &plain.value[i]))
            return kiln_fail(k->c.cx->err, KILN_ERR_UNSUPPORTED,
                             "%s: argument '%.*s' is not read here; leave it at its "
                             "default",
                             k->row->name, KILN_STR_ARG(k->name[i]));
    return KILN_OK;
}

kiln_status kiln_aten_run(kiln_import_cx *cx, const kiln_aten_call *call,
                          kiln_aten_value out[KILN_ATEN_MAX_OUT], size_t *n_out) {
    kiln_aten_args k = {.c = {.cx = cx, .site = call->site}};
    k.row = kiln_aten_find(call->op);
    if (k.row == NULL)
        return kiln_fail(cx->err, KILN_ERR_UNSUPPORTED, "operator '%s' is not read",
                         kiln_import_show(cx, call->op));
    KILN_TRY(place(&k, call));
    kiln_status st =
        kiln_aten_reads_counted(&k) ? kiln_aten_make_counted(&k) : k.row->make(&k);
    if (st == KILN_OK)
        st = k.c.status;
    if (st == KILN_OK)
        st = check_read(&k);
    if (st != KILN_OK)
        return st;
    KILN_ASSERT(k.n_out <= KILN_ATEN_MAX_OUT, "'%s' gives %zu values", k.row->name,
                k.n_out);
    memcpy(out, k.out, k.n_out * sizeof *out);
    *n_out = k.n_out;
    return KILN_OK;
}
