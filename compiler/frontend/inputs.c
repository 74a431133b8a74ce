/* A model's inputs and what the caller says of them; see inputs.h. */
#include "compiler/frontend/inputs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of operators in a list, which is searched for each node: real models have some
 * dozens. */
enum { MAX_LISTED = 500 };

typedef struct binding {
    kiln_import_cx *cx;
    const kiln_import_options *options;
    bool is_default;
    kiln_buf names, remedy; /* of inputs that stay open */
    size_t n_open;
} binding;

static const kiln_tensor *find_value(const kiln_value_binding *v, size_t n,
                                     const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, v[i].name) == 0)
            return &v[i].value;
    return NULL;
}

/* "[1,?,?,3]", in scratch. */
static const char *declared_text(kiln_import_cx *cx, const kiln_declared_input *in) {
    kiln_buf b;
    if (in->rank < 0)
        return "of any rank";
    kiln_buf_init(&b, &cx->scratch);
    kiln_buf_puts(&b, "[");
    for (int i = 0; i < in->rank; i++) {
        kiln_buf_puts(&b, i == 0 ? "" : ",");
        if (in->dim[i] >= 0)
            kiln_buf_printf(&b, "%" PRId64, in->dim[i]);
        else
            kiln_buf_puts(&b, in->symbol[i] != NULL ? in->symbol[i] : "?");
    }
    kiln_buf_puts(&b, "]");
    return kiln_buf_str(&b).p;
}

/* Names that the caller binds must be inputs. */
static kiln_status check_name(binding *b, const kiln_declared_input *in, size_t n,
                              const char *name, const char *flag) {
    kiln_buf known;
    kiln_buf_init(&known, &b->cx->scratch);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(in[i].name, name) == 0)
            return KILN_OK;
        kiln_buf_printf(&known, " '%s'",
                        kiln_import_show(b->cx, kiln_str_from(in[i].name)));
    }
    return kiln_fail(b->cx->err, KILN_ERR_ARG,
                     "%s names '%s', which is no graph input; the inputs are:%s", flag,
                     kiln_import_show(b->cx, kiln_str_from(name)),
                     known.n == 0 ? " none" : kiln_buf_str(&known).p);
}

static kiln_status check_names(binding *b, const kiln_declared_input *in, size_t n) {
    const kiln_import_options *const o = b->options;
    for (size_t i = 0; i < o->n_shapes; i++)
        KILN_TRY(check_name(b, in, n, o->shapes[i].name, "--shape"));
    for (size_t i = 0; i < o->n_values; i++)
        KILN_TRY(check_name(b, in, n, o->values[i].name, "--bind"));
    return KILN_OK;
}

static kiln_status check_given(binding *b, const kiln_declared_input *in, int rank,
                               const int64_t *dim) {
    bool ok = in->rank < 0 || in->rank == rank;
    for (int i = 0; ok && !b->is_default && i < in->rank; i++)
        ok = in->dim[i] < 0 || in->dim[i] == dim[i];
    if (ok)
        return KILN_OK;
    return kiln_fail(
        b->cx->err, KILN_ERR_SHAPE, "its shape is declared as %s, but %s is given; %s",
        declared_text(b->cx, in), kiln_shape_text(&b->cx->scratch, rank, dim),
        b->is_default ? "ranks must be equal" : "only dynamic dimensions can be bound");
}

/* False: a dimension is not known. */
static kiln_status resolve(binding *b, const kiln_declared_input *in, kiln_type *type,
                           bool *is_known) {
    const kiln_import_options *const o = b->options;
    int rank = in->rank;
    const int64_t *dim = in->dim;
    const kiln_tensor *given = find_value(o->values, o->n_values, in->name);
    if (given == NULL)
        given = find_value(o->hints, o->n_hints, in->name);
    if (given != NULL) {
        rank = given->type.rank;
        dim = given->type.dim;
    }
    for (size_t i = 0; i < o->n_shapes; i++)
        if (strcmp(o->shapes[i].name, in->name) == 0) {
            rank = o->shapes[i].rank;
            dim = o->shapes[i].dim;
        }
    if (dim != in->dim)
        KILN_TRY(check_given(b, in, rank, dim));
    *is_known = rank >= 0;
    for (int i = 0; *is_known && i < rank; i++)
        *is_known = dim[i] >= 0;
    if (*is_known) {
        *type = kiln_type_make(in->dtype, rank, dim);
        KILN_TRY(kiln_type_check(type, b->cx->err));
    }
    return KILN_OK;
}

/* "--shape x:1x3x224x224" */
static void add_open(binding *b, const kiln_declared_input *in) {
    const char *const name = kiln_import_show(b->cx, kiln_str_from(in->name));
    kiln_buf_printf(&b->names, "%s '%s' %s", b->n_open == 0 ? "" : ",", name,
                    declared_text(b->cx, in));
    kiln_buf_printf(&b->remedy, " --shape %s:%s", name,
                    in->rank < 0 ? "1x3x224x224" : "");
    for (int i = 0; i < in->rank; i++) {
        const int64_t guess = i == 0 ? 1 : in->rank == 4 ? 224 : 16;
        kiln_buf_printf(&b->remedy, "%s%" PRId64, i == 0 ? "" : "x",
                        in->dim[i] >= 0 ? in->dim[i] : guess);
    }
    b->n_open++;
}

static kiln_status make_input(binding *b, const kiln_declared_input *in,
                              const kiln_type *type, kiln_value **out) {
    const kiln_import_options *const o = b->options;
    kiln_import_cx *const cx = b->cx;
    const kiln_tensor *const given = find_value(o->values, o->n_values, in->name);
    const kiln_tensor *const hint = find_value(o->hints, o->n_hints, in->name);
    kiln_tensor bound = {0};
    const kiln_tensor *value = hint;
    if (given != NULL) {
        bound = *given;
        KILN_TRY(kiln_tensor_from_bytes(&bound, type->dtype, cx->err));
        value = &bound;
    }
    if (value != NULL && !kiln_type_eq(&value->type, type))
        return kiln_fail(cx->err, KILN_ERR_SHAPE, "it is %s, but the value given is %s",
                         kiln_type_text(&cx->scratch, type),
                         kiln_type_text(&cx->scratch, &value->type));
    const char *const name = kiln_str_dup(cx->arena, in->name);
    if (given != NULL) {
        *out = kiln_graph_add_const(cx->graph, name, type, bound.data);
        return KILN_OK;
    }
    *out = kiln_graph_add_input(cx->graph, name, type);
    if (hint != NULL) {
        kiln_vec_push(&cx->scratch, &cx->hinted, *out);
        kiln_vec_push(&cx->scratch, &cx->hints, hint);
    }
    return KILN_OK;
}

static kiln_status bind_one(binding *b, const kiln_declared_input *in,
                            kiln_value **out) {
    kiln_type type;
    bool is_known = false;
    if (!in->has_type)
        return kiln_fail(b->cx->err, KILN_ERR_UNSUPPORTED,
                         "it must be a tensor, is %s; kiln has values of no other kind",
                         in->what != NULL ? in->what : "of no type");
    KILN_TRY(resolve(b, in, &type, &is_known));
    if (is_known)
        return make_input(b, in, &type, out);
    add_open(b, in);
    return KILN_OK;
}

kiln_status kiln_import_bind_inputs(kiln_import_cx *cx, const kiln_import_options *o,
                                    const kiln_declared_input *in, size_t n,
                                    bool is_default, kiln_import_report *report,
                                    kiln_value **out) {
    static const kiln_import_options none = {0};
    binding b = {.cx = cx, .options = o != NULL ? o : &none, .is_default = is_default};
    kiln_buf_init(&b.names, &cx->scratch);
    kiln_buf_init(&b.remedy, &cx->scratch);
    KILN_TRY(check_names(&b, in, n));
    for (size_t i = 0; i < n; i++) {
        const kiln_status st = bind_one(&b, &in[i], &out[i]);
        if (st != KILN_OK) {
            kiln_note(cx->err, "binding graph input '%s'",
                      kiln_import_show(cx, kiln_str_from(in[i].name)));
            return st;
        }
    }
    report->n_unbound = b.n_open;
    if (b.n_open == 0)
        return KILN_OK;
    return kiln_fail(cx->err, KILN_ERR_SHAPE,
                     "shapes must be known, but %zu graph input%s open:%s; bind them, "
                     "for example%s ('kiln inspect' tries which sizes fit)",
                     b.n_open, b.n_open == 1 ? " is" : "s are",
                     kiln_buf_str(&b.names).p, kiln_buf_str(&b.remedy).p);
}

/* ---- what is not read ------------------------------------------------------------ */

void kiln_import_add_unread(kiln_import_cx *cx, kiln_import_report *report,
                            const char *op, const char *node) {
    for (size_t i = 0; i < report->unsupported.n; i++)
        if (strcmp(report->unsupported.v[i].op, op) == 0) {
            report->unsupported.v[i].count++;
            return;
        }
    if (report->unsupported.n == MAX_LISTED) {
        report->unsupported.v[MAX_LISTED - 1].count++;
        return;
    }
    const bool is_last = report->unsupported.n == MAX_LISTED - 1;
    const kiln_unsupported u = {.op = is_last ? "others" : kiln_str_dup(cx->arena, op),
                                .first_node = kiln_str_dup(cx->arena, node),
                                .count = 1};
    kiln_vec_push(cx->arena, &report->unsupported, u);
}

kiln_status kiln_import_check_unread(kiln_import_cx *cx,
                                     const kiln_import_report *report, const char *what,
                                     const char *remedy) {
    const size_t n = report->unsupported.n;
    kiln_buf text;
    if (n == 0)
        return KILN_OK;
    kiln_buf_init(&text, &cx->scratch);
    for (size_t i = 0; i < n; i++) {
        const kiln_unsupported *const u = &report->unsupported.v[i];
        kiln_buf_printf(&text, "%s %s (%" PRId64 " time%s, first in node '%s')",
                        i == 0 ? "" : ",", u->op, u->count, u->count == 1 ? "" : "s",
                        u->first_node);
    }
    return kiln_fail(cx->err, KILN_ERR_UNSUPPORTED, "%zu %s%s not read:%s; %s", n, what,
                     n == 1 ? " is" : "s are", kiln_buf_str(&text).p, remedy);
}

void kiln_import_make_printable(kiln_err *err) {
    for (size_t i = 0; i < err->len; i++) {
        const unsigned char c = (unsigned char)err->text[i];
        if ((c < ' ' && c != '\n') || c == 0x7f)
            err->text[i] = '?';
    }
}

bool kiln_import_holds(kiln_str text, const char *part) {
    const size_t n = strlen(part);
    while (text.n >= n) {
        const char *const at = memchr(text.p, part[0], text.n - n + 1);
        if (at == NULL)
            return false;
        if (memcmp(at, part, n) == 0)
            return true;
        text.n -= (size_t)(at + 1 - text.p);
        text.p = at + 1;
    }
    return false;
}

/* ---- surveys --------------------------------------------------------------------- */

void kiln_survey_add_op(kiln_arena *a, kiln_model_survey *s, const char *op,
                        bool is_read) {
    s->n_nodes++;
    for (size_t i = 0; i < s->op.n; i++)
        if (strcmp(s->op.v[i].op, op) == 0) {
            s->op.v[i].count++;
            return;
        }
    if (s->op.n == MAX_LISTED)
        return;
    const kiln_model_op row = {.op = op, .count = 1, .is_read = is_read};
    kiln_vec_push(a, &s->op, row);
}

void kiln_survey_add_size(kiln_arena *a, kiln_model_survey *s, int64_t size) {
    enum { MAX_SIZES = 64, MAX_SIZE = 1 << 16 };
    if (size < 2 || size > MAX_SIZE || s->size.n == MAX_SIZES)
        return;
    for (size_t i = 0; i < s->size.n; i++)
        if (s->size.v[i] == size)
            return;
    kiln_vec_push(a, &s->size, size);
}

static int by_name(const void *x, const void *y) {
    return strcmp(((const kiln_model_op *)x)->op, ((const kiln_model_op *)y)->op);
}

void kiln_survey_sort_ops(kiln_model_survey *s) {
    if (s->op.n > 0)
        qsort(s->op.v, s->op.n, sizeof *s->op.v, by_name);
}
