/* Operators that are not read, all at once: of the code that the model's methods reach.
 * Also what a file says of itself: its operators, counted. */
#include "compiler/frontend/pytorch/script/script_internal.h"

#include <string.h>

enum { MAX_FUNCTIONS = 20000 };

/* A walk over trees: which names are called, function by function. */
typedef struct walk {
    kiln_script_cx *cx;
    kiln_map seen; /* functions and classes by whole name */
    KILN_VEC(const kiln_script_function *) pending;
    void (*found)(struct walk *w, kiln_str name, const kiln_script_function *in,
                  int line);
    const kiln_script_function *in;
    kiln_model_survey *survey; /* NULL: a report is filled */
    kiln_arena *arena;
} walk;

static void add_methods(walk *w, const kiln_script_class *c) {
    for (size_t i = 0; i < c->function.n; i++)
        kiln_vec_push(&w->cx->common.scratch, &w->pending, c->function.v[i]);
}

/* A function or class of the file, once. What is not there is no matter here. */
static void reach(walk *w, kiln_str name) {
    const kiln_script_function *fn = NULL;
    const kiln_script_class *type = NULL;
    kiln_err ignored = {0};
    kiln_err *const err = w->cx->common.err;
    if (w->seen.entries.n >= MAX_FUNCTIONS ||
        !kiln_map_set(&w->cx->common.scratch, &w->seen, name, w))
        return;
    w->cx->common.err = &ignored;
    if (kiln_script_find(w->cx, name, &fn, &type) == KILN_OK) {
        if (fn != NULL)
            kiln_vec_push(&w->cx->common.scratch, &w->pending, fn);
        else
            add_methods(w, type);
    }
    w->cx->common.err = err;
}

static void walk_expr(walk *w, const kiln_script_expr *e) {
    kiln_buf path;
    if (e == NULL)
        return;
    kiln_buf_init(&path, &w->cx->common.scratch);
    if ((e->kind == KILN_SCRIPT_ATTR || e->kind == KILN_SCRIPT_NAME) &&
        kiln_script_dotted(w->cx, e, &path) &&
        kiln_str_starts(kiln_buf_str(&path), "__torch__.")) {
        reach(w, kiln_buf_str(&path));
        return;
    }
    path.n = 0;
    if (e->kind == KILN_SCRIPT_CALL && kiln_script_dotted(w->cx, e->arg[0], &path) &&
        !kiln_str_starts(kiln_buf_str(&path), "__torch__."))
        w->found(w, kiln_buf_str(&path), w->in, e->line);
    for (size_t i = 0; i < e->n; i++)
        walk_expr(w, e->arg[i]);
}

static void walk_block(walk *w, const kiln_script_block *b) {
    for (size_t i = 0; i < b->n; i++) {
        const kiln_script_stmt *const s = &b->stmt[i];
        walk_expr(w, s->value);
        walk_block(w, &s->body);
        walk_block(w, &s->orelse);
    }
}

/* Classes of the objects in the pickle are reached. Objects that many hold are many: the
 * number is bounded. */
static void walk_pickle(walk *w, const kiln_pickle_value *p, int *left) {
    if (p == NULL || --*left < 0)
        return;
    if (p->kind == KILN_PICKLE_OBJECT && kiln_str_starts(p->module, "__torch__"))
        reach(w,
              kiln_str_from(kiln_format(&w->cx->common.scratch, "%.*s.%.*s",
                                        KILN_STR_ARG(p->module), KILN_STR_ARG(p->s))));
    for (size_t i = 0; i < p->item.n; i++)
        walk_pickle(w, p->item.v[i], left);
    walk_pickle(w, p->state, left);
}

static void walk_all(walk *w, const kiln_pickle_value *root) {
    int left = 1000000;
    walk_pickle(w, root, &left);
    for (size_t i = 0; i < w->pending.n; i++) {
        w->in = w->pending.v[i];
        walk_block(w, &w->in->body);
    }
}

bool kiln_script_is_read(kiln_script_cx *cx, kiln_str name) {
    return kiln_str_starts(name, "__torch__.") || kiln_script_is_builtin(name) ||
           kiln_str_ends(name, "copy_") || kiln_str_ends(name, "torch.tensor") ||
           kiln_aten_find(kiln_script_bare_name(cx, name)) != NULL;
}

static const char *shown_name(kiln_script_cx *cx, kiln_str name) {
    return kiln_import_show(&cx->common, kiln_script_bare_name(cx, name));
}

static void add_unread(walk *w, kiln_str name, const kiln_script_function *in,
                       int line) {
    if (!kiln_script_is_read(w->cx, name))
        kiln_import_add_unread(
            &w->cx->common, w->cx->report, shown_name(w->cx, name),
            kiln_format(&w->cx->common.scratch, "%s:%d", in->file, line));
}

kiln_status kiln_script_refuse_unread(kiln_script_cx *cx, kiln_str name) {
    walk w = {.cx = cx, .found = add_unread};
    walk_all(&w, cx->root);
    if (cx->report->unsupported.n == 0) /* in code that nobody names */
        add_unread(&w, name, cx->in, cx->line);
    return kiln_import_check_unread(
        &cx->common, cx->report, "operator",
        "save the model without them, or export it as ONNX (torch.onnx.export)");
}

/* ---- the survey ---------------------------------------------------------------------- */

static void add_surveyed(walk *w, kiln_str name, const kiln_script_function *in,
                         int line) {
    (void)in;
    (void)line;
    if (kiln_script_is_builtin(name) &&
        kiln_aten_find(kiln_script_bare_name(w->cx, name)) == NULL)
        return; /* Python's own */
    w->survey->n_nodes++;
    kiln_survey_add_op(w->arena, w->survey,
                       kiln_str_dup(w->arena, shown_name(w->cx, name)),
                       kiln_script_is_read(w->cx, name));
}

/* Tensors, each once as far as they are one value of the pickle. */
static void survey_tensors(walk *w, const kiln_pickle_value *p, int *left) {
    kiln_pickle_tensor t;
    if (p == NULL || --*left < 0)
        return;
    if (kiln_pickle_is_tensor(p)) {
        const kiln_str key = {(const char *)&p, sizeof p};
        if (kiln_map_set(&w->cx->common.scratch, &w->seen, key, w) &&
            kiln_pickle_tensor_of(p, &t, NULL) == KILN_OK) {
            w->survey->n_params +=
                kiln_dtype_is_float(t.type.dtype) ? kiln_type_elems(&t.type) : 0;
            w->survey->const_bytes += kiln_type_bytes(&t.type);
        }
        return;
    }
    for (size_t i = 0; i < p->item.n; i++)
        survey_tensors(w, p->item.v[i], left);
    survey_tensors(w, p->state, left);
}

void kiln_script_survey_code(kiln_script_cx *cx, kiln_arena *a,
                             kiln_model_survey *out) {
    walk w = {.cx = cx, .found = add_surveyed, .survey = out, .arena = a};
    int left = 1000000;
    walk_all(&w, cx->root);
    survey_tensors(&w, cx->root, &left);
    kiln_survey_sort_ops(out);
}
