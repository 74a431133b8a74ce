/* A model's inputs and what the caller says of them; see frontend_inputs.h. */
#include "compiler/frontend/frontend_inputs.h"
#include "base/numbers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of operators in a list, which is searched for each node: real models have some
 * dozens. */
enum { MAX_LISTED = 500 };

/* What a dimension with a name is, and which input said so. */
typedef struct bound_dim {
    int64_t size;
    const char *input;
} bound_dim;

typedef struct binding {
    kiln_import_cx *cx;
    const kiln_import_options *options;
    const kiln_input_rules *rules;
    const kiln_declared_input *in;
    size_t n;
    kiln_map symbols;       /* name -> bound_dim */
    kiln_numbers guesses;   /* name -> plausible size */
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

static const char *show(kiln_import_cx *cx, const char *name) {
    return kiln_import_show(cx, kiln_str_from(name));
}

/* "[1,?,batch,3]", in scratch. */
static const char *declared_text(kiln_import_cx *cx, const kiln_declared_input *in) {
    kiln_buf b;
    if (in->rank < 0)
        return "of any rank";
    kiln_buf_init(&b, &cx->scratch);
    kiln_buf_puts(&b, "[");
    for (int i = 0; i < in->rank; i++) {
        kiln_buf_puts(&b, i == 0 ? "" : ",");
        if (in->symbol[i] != NULL)
            kiln_buf_puts(&b, show(cx, in->symbol[i]));
        else if (in->dim[i] >= 0)
            kiln_buf_printf(&b, "%" PRId64, in->dim[i]);
        else
            kiln_buf_puts(&b, "?");
    }
    kiln_buf_puts(&b, "]");
    return kiln_buf_str(&b).p;
}

/* ---- names ----------------------------------------------------------------------- */

/* Names that the caller binds must be inputs. */
static kiln_status check_name(binding *b, const char *name, const char *flag) {
    kiln_buf known;
    kiln_buf_init(&known, &b->cx->scratch);
    for (size_t i = 0; i < b->n; i++) {
        if (strcmp(b->in[i].name, name) == 0)
            return KILN_OK;
        kiln_buf_printf(&known, " '%s'", show(b->cx, b->in[i].name));
    }
    return kiln_fail(b->cx->err, KILN_ERR_ARG,
                     "%s names '%s', which is no graph input; the inputs are:%s", flag,
                     show(b->cx, name),
                     known.n == 0 ? " none" : kiln_buf_str(&known).p);
}

kiln_status kiln_import_check_options(const kiln_import_options *o, kiln_err *err) {
    const char *twice = NULL, *flag = "--shape";
    for (size_t i = 0; i < o->n_shapes && twice == NULL; i++)
        for (size_t k = 0; k < i && twice == NULL; k++)
            if (strcmp(o->shapes[i].name, o->shapes[k].name) == 0)
                twice = o->shapes[i].name;
    for (size_t i = 0; i < o->n_values && twice == NULL; i++)
        for (size_t k = 0; k < i && twice == NULL; k++)
            if (strcmp(o->values[i].name, o->values[k].name) == 0) {
                twice = o->values[i].name;
                flag = "--bind";
            }
    return twice == NULL ? KILN_OK
                         : kiln_fail(err, KILN_ERR_ARG,
                                     "%s is given twice for input '%s'; give it once",
                                     flag, twice);
}

static kiln_status check_names(binding *b) {
    const kiln_import_options *const o = b->options;
    kiln_map seen = {0};
    for (size_t i = 0; i < b->n; i++) {
        const kiln_str name = kiln_str_from(b->in[i].name);
        if (name.n == 0)
            return kiln_fail(b->cx->err, KILN_ERR_PARSE,
                             "graph input #%zu must have a name", i);
        if (!kiln_map_set(&b->cx->scratch, &seen, name, NULL))
            return kiln_fail(
                b->cx->err, KILN_ERR_PARSE,
                "graph input '%s' is given twice; give one of them another "
                "name",
                show(b->cx, b->in[i].name));
    }
    for (size_t i = 0; i < o->n_shapes; i++)
        KILN_TRY(check_name(b, o->shapes[i].name, "--shape"));
    for (size_t i = 0; i < o->n_values; i++)
        KILN_TRY(check_name(b, o->values[i].name, "--bind"));
    return KILN_OK;
}

bool kiln_import_has_word(const char *name, const char *const *word) {
    char low[256];
    size_t n = 0;
    for (; name != NULL && name[n] != '\0' && n + 1 < sizeof low; n++)
        low[n] =
            (char)(name[n] >= 'A' && name[n] <= 'Z' ? name[n] - 'A' + 'a' : name[n]);
    low[n] = '\0';
    for (; *word != NULL; word++)
        if (strlen(*word) == 1 ? strcmp(low, *word) == 0 : strstr(low, *word) != NULL)
            return true;
    return false;
}

/* ---- shapes ---------------------------------------------------------------------- */

/* The shape that the caller gives, by shape, value or hint; NULL: none. */
static const int64_t *given_shape(const binding *b, const kiln_declared_input *in,
                                  int *rank) {
    const kiln_import_options *const o = b->options;
    for (size_t i = 0; i < o->n_shapes; i++)
        if (strcmp(o->shapes[i].name, in->name) == 0) {
            *rank = o->shapes[i].rank;
            return o->shapes[i].dim;
        }
    const kiln_tensor *t = find_value(o->values, o->n_values, in->name);
    if (t == NULL)
        t = find_value(o->hints, o->n_hints, in->name);
    if (t == NULL)
        return NULL;
    *rank = t->type.rank;
    return t->type.dim;
}

static kiln_status check_given(binding *b, size_t i, int rank, const int64_t *dim) {
    const kiln_declared_input *const in = &b->in[i];
    const bool same_rank = in->rank < 0 || in->rank == rank;
    bool ok = same_rank;
    if (b->rules->may_have != NULL)
        ok = b->rules->may_have(b->rules->user, i, rank, dim);
    for (int k = 0; ok && b->rules->may_have == NULL && k < in->rank; k++)
        ok = in->dim[k] < 0 || in->dim[k] == dim[k];
    if (ok)
        return KILN_OK;
    return kiln_fail(
        b->cx->err, KILN_ERR_SHAPE, "its shape is declared as %s, but %s is given; %s",
        declared_text(b->cx, in), kiln_shape_text(&b->cx->scratch, rank, dim),
        !same_rank                 ? "ranks must be equal"
        : b->rules->remedy != NULL ? b->rules->remedy
                                   : "only dynamic dimensions can be bound");
}

/* What the caller gives is remembered by the names that dimensions have. */
static kiln_status bind_given(binding *b, size_t i) {
    const kiln_declared_input *const in = &b->in[i];
    int rank = 0;
    const int64_t *const dim = given_shape(b, in, &rank);
    if (dim == NULL)
        return KILN_OK;
    KILN_TRY(check_given(b, i, rank, dim));
    for (int k = 0; k < in->rank; k++) {
        if (in->dim[k] >= 0 || in->symbol[k] == NULL)
            continue;
        const kiln_str symbol = kiln_str_from(in->symbol[k]);
        bound_dim *known = kiln_map_get(&b->symbols, symbol);
        if (known != NULL && known->size != dim[k])
            return kiln_fail(b->cx->err, KILN_ERR_SHAPE,
                             "dimension '%s' is %" PRId64 " here, but %" PRId64
                             " for input '%s'",
                             show(b->cx, in->symbol[k]), dim[k], known->size,
                             show(b->cx, known->input));
        known = kiln_new(&b->cx->scratch, bound_dim);
        *known = (bound_dim){dim[k], in->name};
        kiln_map_set(&b->cx->scratch, &b->symbols, symbol, known);
    }
    return KILN_OK;
}

/* False: a dimension is not known. */
static bool resolve(const binding *b, const kiln_declared_input *in, int *rank,
                    int64_t *dim) {
    const int64_t *const given = given_shape(b, in, rank);
    if (given == NULL)
        *rank = in->rank;
    bool is_known = *rank >= 0;
    for (int i = 0; is_known && i < *rank; i++) {
        dim[i] = given != NULL ? given[i] : in->dim[i];
        if (dim[i] < 0 && given == NULL && in->symbol[i] != NULL) {
            const bound_dim *const d =
                kiln_map_get(&b->symbols, kiln_str_from(in->symbol[i]));
            dim[i] = d != NULL ? d->size : -1;
        }
        is_known = dim[i] >= 0;
    }
    return is_known;
}

/* A plausible size where the file says none: the same for the same name. */
static int64_t guess_dim(binding *b, const kiln_declared_input *in, int axis) {
    const size_t guess = axis == 0 ? 1 : in->rank == 4 ? 224 : 16;
    if (in->dim[axis] >= 0)
        return in->dim[axis];
    if (in->symbol[axis] == NULL)
        return (int64_t)guess;
    const kiln_str symbol = kiln_str_from(in->symbol[axis]);
    const size_t known = kiln_numbers_get(&b->guesses, symbol);
    if (known != 0)
        return (int64_t)known;
    kiln_numbers_set(&b->cx->scratch, &b->guesses, symbol, guess);
    return (int64_t)guess;
}

/* In graphs of TensorFlow 1 "tf.placeholder(tf.float32)" of a rate or a switch says no
 * more than its name does. */
bool kiln_import_is_setting(const kiln_declared_input *in, int64_t *value) {
    static const char *const one[] = {"keep_prob", "keep_rate", "keepprob",
                                      "batch_size", NULL};
    static const char *const zero[] = {"drop_prob",   "drop_rate",  "dropout",
                                       "is_train",    "istrain",    "phase_train",
                                       "train_phase", "train_mode", "learning_phase",
                                       "training",    NULL};
    const bool is_one = kiln_import_has_word(in->name, one);
    if (in->rank >= 0 || !in->has_type ||
        (!is_one && !kiln_import_has_word(in->name, zero)))
        return false;
    *value = is_one;
    return true;
}

/* "--shape x:1x3x224x224" */
static void add_open(binding *b, const kiln_declared_input *in) {
    const char *const name = show(b->cx, in->name);
    int64_t setting;
    kiln_buf_printf(&b->names, "%s '%s' %s", b->n_open == 0 ? "" : ",", name,
                    declared_text(b->cx, in));
    b->n_open++;
    if (kiln_import_is_setting(in, &setting)) {
        kiln_buf_printf(&b->remedy, " --bind %s=%" PRId64, name, setting);
        return;
    }
    kiln_buf_printf(&b->remedy, " --shape %s:%s", name,
                    in->rank < 0 ? "1x3x224x224" : "");
    for (int i = 0; i < in->rank; i++)
        kiln_buf_printf(&b->remedy, "%s%" PRId64, i == 0 ? "" : "x",
                        guess_dim(b, in, i));
}

/* ---- values ---------------------------------------------------------------------- */

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

static kiln_status bind_one(binding *b, size_t i, kiln_value **out) {
    const kiln_declared_input *const in = &b->in[i];
    int rank = 0;
    int64_t dim[KILN_MAX_RANK] = {0};
    if (!in->has_type)
        return kiln_fail(b->cx->err, KILN_ERR_UNSUPPORTED,
                         "it must be a tensor, is %s; kiln has values of no other kind",
                         in->what != NULL ? in->what : "of no type");
    if (!resolve(b, in, &rank, dim)) {
        add_open(b, in);
        return KILN_OK;
    }
    const kiln_type type = kiln_type_make(in->dtype, rank, dim);
    KILN_TRY(kiln_type_check(&type, b->cx->err));
    return make_input(b, in, &type, out);
}

static bool has_rank(const void *user, size_t i, int rank, const int64_t *dim) {
    const kiln_declared_input *const in = user;
    (void)dim;
    return in[i].rank < 0 || in[i].rank == rank;
}

kiln_status kiln_import_bind_inputs(kiln_import_cx *cx, const kiln_import_options *o,
                                    const kiln_declared_input *in, size_t n,
                                    bool is_default, kiln_import_report *report,
                                    kiln_value **out) {
    const kiln_input_rules rules = {.may_have = is_default ? has_rank : NULL,
                                    .user = in};
    return kiln_import_bind_by(cx, o, in, n, &rules, report, out);
}

kiln_status kiln_import_bind_by(kiln_import_cx *cx, const kiln_import_options *o,
                                const kiln_declared_input *in, size_t n,
                                const kiln_input_rules *rules,
                                kiln_import_report *report, kiln_value **out) {
    static const kiln_import_options none = {0};
    binding b = {
        .cx = cx, .options = o != NULL ? o : &none, .rules = rules, .in = in, .n = n};
    kiln_buf_init(&b.names, &cx->scratch);
    kiln_buf_init(&b.remedy, &cx->scratch);
    KILN_TRY(check_names(&b));
    for (int pass = 0; pass < 2; pass++) /* all names of dimensions, then their uses */
        for (size_t i = 0; i < n; i++) {
            const kiln_status st =
                pass == 0 ? bind_given(&b, i) : bind_one(&b, i, &out[i]);
            if (st != KILN_OK) {
                kiln_note(cx->err, "binding graph input '%s'", show(cx, in[i].name));
                return st;
            }
        }
    report->n_unbound = b.n_open;
    if (b.n_open == 0)
        return KILN_OK;
    return kiln_fail(cx->err, KILN_ERR_SHAPE,
                     "shapes must be known, but %zu graph input%s dynamic:%s; bind "
                     "them, for example%s ('kiln inspect' tries which sizes fit)",
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
