/* Attributes of nodes: made from arguments by name, checked against the operator's row.
 */
#include <inttypes.h>

#include "compiler/graph/graph_internal.h"

/* ---- arguments ------------------------------------------------------------------- */

kiln_attr_arg kiln_arg_int(const char *name, int64_t v) {
    return (kiln_attr_arg){.name = name, .kind = KILN_ATTR_INT, .value.i = v};
}

kiln_attr_arg kiln_arg_bool(const char *name, bool v) {
    return (kiln_attr_arg){.name = name, .kind = KILN_ATTR_BOOL, .value.i = v ? 1 : 0};
}

kiln_attr_arg kiln_arg_float(const char *name, double v) {
    return (kiln_attr_arg){.name = name, .kind = KILN_ATTR_FLOAT, .value.f = v};
}

kiln_attr_arg kiln_arg_word(const char *name, const char *word) {
    return (kiln_attr_arg){.name = name, .kind = KILN_ATTR_WORD, .word = word};
}

kiln_attr_arg kiln_arg_words(const char *name, const char *const *words, size_t n) {
    return (kiln_attr_arg){
        .name = name, .kind = KILN_ATTR_WORDS, .value.n = n, .words = words};
}

kiln_attr_arg kiln_arg_dtype(const char *name, kiln_dtype v) {
    return (kiln_attr_arg){
        .name = name, .kind = KILN_ATTR_DTYPE, .value.i = (int64_t)v};
}

kiln_attr_arg kiln_arg_ints(const char *name, const int64_t *v, size_t n) {
    return (kiln_attr_arg){
        .name = name, .kind = KILN_ATTR_INTS, .value.n = n, .value.ints = v};
}

kiln_attr_arg kiln_arg_floats(const char *name, const double *v, size_t n) {
    return (kiln_attr_arg){
        .name = name, .kind = KILN_ATTR_FLOATS, .value.n = n, .value.floats = v};
}

kiln_attr_arg kiln_arg_graph(const char *name, kiln_graph *region) {
    return (kiln_attr_arg){
        .name = name, .kind = KILN_ATTR_GRAPH, .value.graph = region};
}

/* ---- checks ---------------------------------------------------------------------- */

const char *kiln_attr_kind_name(kiln_attr_kind kind) {
    switch (kind) {
    case KILN_ATTR_INT:
        return "int";
    case KILN_ATTR_BOOL:
        return "bool";
    case KILN_ATTR_FLOAT:
        return "float";
    case KILN_ATTR_WORD:
        return "word";
    case KILN_ATTR_DTYPE:
        return "dtype";
    case KILN_ATTR_INTS:
        return "list of ints";
    case KILN_ATTR_FLOATS:
        return "list of floats";
    case KILN_ATTR_WORDS:
        return "list of words";
    case KILN_ATTR_GRAPH:
        return "graph";
    }
    return "unknown";
}

int64_t kiln_attr_choice(const kiln_attr_def *def, kiln_str word) {
    for (int64_t i = 0; def->choices != NULL && def->choices[i] != NULL; i++) {
        if (kiln_str_is(word, def->choices[i]))
            return i;
    }
    return -1;
}

static int64_t n_choices(const kiln_attr_def *def) {
    int64_t n = 0;
    while (def->choices != NULL && def->choices[n] != NULL)
        n++;
    return n;
}

/* "attribute 'mode' must be one of 'nearest', 'linear', is 'cubic'" */
static kiln_status bad_word(const kiln_attr_def *def, const char *word, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_buf list;
    kiln_buf_init(&list, &scratch);
    for (int64_t i = 0; i < n_choices(def); i++)
        kiln_buf_printf(&list, "'%s', ", def->choices[i]);
    const kiln_status st =
        kiln_fail(err, KILN_ERR_ARG, "attribute '%s' must be one of %sis '%s'",
                  def->name, list.p == NULL ? "" : list.p,
                  kiln_str_printable(&scratch, kiln_str_from(word), 60));
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status check_index(const kiln_attr_def *def, int64_t i, kiln_err *err) {
    if (i >= 0 && i < n_choices(def))
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_ARG,
                     "attribute '%s' must be a choice in [0, %" PRId64 "), is %" PRId64,
                     def->name, n_choices(def), i);
}

kiln_status kiln_attr_check(const kiln_attr_def *def, const kiln_attr *value,
                            kiln_err *err) {
    switch (def->kind) {
    case KILN_ATTR_INT:
    case KILN_ATTR_FLOAT:
        return KILN_OK;
    case KILN_ATTR_BOOL:
        if (value->i != 0 && value->i != 1)
            return kiln_fail(err, KILN_ERR_ARG,
                             "attribute '%s' must be 0 or 1, is %" PRId64, def->name,
                             value->i);
        return KILN_OK;
    case KILN_ATTR_WORD:
        return check_index(def, value->i, err);
    case KILN_ATTR_DTYPE:
        if (value->i < 0 || value->i >= KILN_N_DTYPES)
            return kiln_fail(err, KILN_ERR_ARG,
                             "attribute '%s' must be a dtype, is %" PRId64, def->name,
                             value->i);
        return KILN_OK;
    case KILN_ATTR_WORDS:
        for (size_t i = 0; i < value->n; i++)
            KILN_TRY(check_index(def, value->ints[i], err));
        return KILN_OK;
    case KILN_ATTR_INTS:
        if (value->n > 0 && value->ints == NULL)
            return kiln_fail(err, KILN_ERR_ARG, "attribute '%s' has no elements",
                             def->name);
        return KILN_OK;
    case KILN_ATTR_FLOATS:
        if (value->n > 0 && value->floats == NULL)
            return kiln_fail(err, KILN_ERR_ARG, "attribute '%s' has no elements",
                             def->name);
        return KILN_OK;
    case KILN_ATTR_GRAPH:
        if (def->is_required && value->graph == NULL)
            return kiln_fail(err, KILN_ERR_ARG, "attribute '%s' must be given",
                             def->name);
        return KILN_OK;
    }
    return KILN_OK;
}

/* ---- making ---------------------------------------------------------------------- */

static kiln_status copy_words(kiln_arena *a, const kiln_attr_def *def,
                              const kiln_attr_arg *arg, kiln_attr *out, kiln_err *err) {
    int64_t *const index = kiln_array(a, int64_t, arg->value.n);
    for (size_t i = 0; i < arg->value.n; i++) {
        index[i] = arg->words == NULL
                       ? arg->value.ints[i]
                       : kiln_attr_choice(def, kiln_str_from(arg->words[i]));
        if (index[i] < 0 && arg->words != NULL)
            return bad_word(def, arg->words[i], err);
    }
    *out = (kiln_attr){.n = arg->value.n, .ints = index};
    return KILN_OK;
}

/* One argument into its place, with what it points to copied. */
static kiln_status set_attr(kiln_arena *a, const kiln_attr_def *def,
                            const kiln_attr_arg *arg, kiln_attr *out, kiln_err *err) {
    if (arg->kind != def->kind)
        return kiln_fail(
            err, KILN_ERR_ARG, "attribute '%s' must be of kind %s, is of kind %s",
            def->name, kiln_attr_kind_name(def->kind), kiln_attr_kind_name(arg->kind));
    kiln_attr v = arg->value;
    if (def->kind == KILN_ATTR_WORD && arg->word != NULL) {
        v.i = kiln_attr_choice(def, kiln_str_from(arg->word));
        if (v.i < 0)
            return bad_word(def, arg->word, err);
    }
    if (def->kind == KILN_ATTR_WORDS)
        KILN_TRY(copy_words(a, def, arg, &v, err));
    if (def->kind == KILN_ATTR_INTS)
        v.ints = kiln_arena_dup(a, v.ints, v.n * sizeof v.ints[0]);
    if (def->kind == KILN_ATTR_FLOATS)
        v.floats = kiln_arena_dup(a, v.floats, v.n * sizeof v.floats[0]);
    KILN_TRY(kiln_attr_check(def, &v, err));
    *out = v;
    return KILN_OK;
}

static int find_def(const kiln_op_def *op, const char *name) {
    for (size_t i = 0; i < op->n_attr; i++) {
        if (kiln_str_is(kiln_str_from(name), op->attr[i].name))
            return (int)i;
    }
    return -1;
}

kiln_status kiln_attrs_make(kiln_arena *a, const kiln_op_def *op,
                            const kiln_attr_arg *args, size_t n_args, kiln_attr **out,
                            kiln_err *err) {
    kiln_attr *const attr = kiln_array(a, kiln_attr, op->n_attr);
    bool *const is_given = kiln_array(a, bool, op->n_attr);
    for (size_t i = 0; i < op->n_attr; i++)
        attr[i] = (kiln_attr){.i = op->attr[i].default_i, .f = op->attr[i].default_f};
    for (size_t i = 0; i < n_args; i++) {
        const int at = find_def(op, args[i].name);
        if (at < 0)
            return kiln_fail(err, KILN_ERR_ARG, "operator '%s' has no attribute '%s'",
                             op->name, args[i].name);
        if (is_given[at])
            return kiln_fail(err, KILN_ERR_ARG, "attribute '%s' is given twice",
                             args[i].name);
        is_given[at] = true;
        KILN_TRY(set_attr(a, &op->attr[at], &args[i], &attr[at], err));
    }
    for (size_t i = 0; i < op->n_attr; i++) {
        if (op->attr[i].is_required && !is_given[i])
            return kiln_fail(err, KILN_ERR_ARG, "attribute '%s' must be given",
                             op->attr[i].name);
    }
    *out = attr;
    return KILN_OK;
}

static kiln_attr *attr_of(const kiln_node *n, const char *name) {
    const int i = find_def(n->op, name);
    KILN_ASSERT(i >= 0, "operator '%s' has no attribute '%s'", n->op->name, name);
    return &n->attr[i];
}

const kiln_attr *kiln_node_attr(const kiln_node *n, const char *name) {
    return attr_of(n, name);
}

kiln_attr *kiln_node_own_attr(kiln_node *n, const char *name) {
    return attr_of(n, name);
}
