/* Which layers a model has: rows of keras_layers.def, and what is none; what the file
 * says about itself. */
#include "compiler/frontend/keras/keras_internal.h"
#include "compiler/frontend/frontend_inputs.h"

#include <stdlib.h>
#include <string.h>

static const kiln_keras_row rows[] = {
#define KILN_KERAS(class_name, importer, op, min_in, max_in)                           \
    {class_name, kiln_keras_import_##importer, op, min_in, max_in},
#include "compiler/frontend/keras/keras_layers.def"
#undef KILN_KERAS
};

const kiln_keras_row *kiln_keras_find(const char *class_name) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].class_name, class_name) == 0)
            return &rows[i];
    return NULL;
}

static const char *reason_of(const char *class_name) {
    static const struct {
        const char *class_name, *why;
    } refused[] = {
#define KILN_KERAS_REFUSED(class_name, why) {class_name, why},
#include "compiler/frontend/keras/keras_refused.def"
#undef KILN_KERAS_REFUSED
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (strcmp(refused[i].class_name, class_name) == 0)
            return refused[i].why;
    return "kiln has it not: save the model as a SavedModel, or export it as ONNX";
}

static bool is_read(const char *class_name) {
    return kiln_keras_find(class_name) != NULL || strcmp(class_name, "InputLayer") == 0;
}

/* Calls visit for every layer that computes, those of models inside too. */
typedef void visit_fn(void *user, const kiln_keras_layer *l);

static kiln_status walk(kiln_arena *a, const kiln_json *config, int depth,
                        visit_fn *visit, void *user, kiln_err *err) {
    if (depth > KILN_KERAS_MAX_DEPTH)
        return kiln_fail(err, KILN_ERR_LIMIT, "models may lie %d deep in models",
                         KILN_KERAS_MAX_DEPTH);
    for (const kiln_json *j = kiln_json_first(kiln_keras_layers(config)); j != NULL;
         j = kiln_json_next(j)) {
        kiln_keras_layer l = {0};
        KILN_TRY(kiln_keras_read_layer(a, j, &l, err));
        if (kiln_keras_is_model(l.class_name))
            KILN_TRY(walk(a, l.config, depth + 1, visit, user, err));
        else
            visit(user, &l);
    }
    return KILN_OK;
}

/* ---- what is not read ------------------------------------------------------------ */

typedef struct listing {
    kiln_keras_cx *cx;
    kiln_buf text;
} listing;

static void add_unsupported(void *user, const kiln_keras_layer *l) {
    listing *const list = user;
    kiln_import_report *const report = list->cx->report;
    kiln_arena *const a = list->cx->common.arena;
    if (is_read(l->class_name))
        return;
    const char *const name = kiln_str_printable(a, kiln_str_from(l->class_name), 100);
    const char *const first = kiln_str_printable(a, kiln_str_from(l->name), 200);
    const size_t before = report->unsupported.n;
    kiln_import_add_unread(&list->cx->common, report, name, first);
    if (report->unsupported.n > before)
        kiln_buf_printf(&list->text, "%s %s (first in layer '%s'; %s)",
                        list->text.n == 0 ? "" : ",", name, first,
                        reason_of(l->class_name));
}

kiln_status kiln_keras_check_support(kiln_keras_cx *cx) {
    listing list = {.cx = cx};
    kiln_buf_init(&list.text, &cx->common.scratch);
    KILN_TRY(walk(&cx->common.scratch, kiln_json_get(cx->file.model, "config"), 0,
                  add_unsupported, &list, cx->common.err));
    const size_t n = cx->report->unsupported.n;
    if (n == 0)
        return KILN_OK;
    return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                     "%zu kind%s of layer %s not read:%s", n, n == 1 ? "" : "s",
                     n == 1 ? "is" : "are", list.text.p);
}

/* ---- survey ---------------------------------------------------------------------- */

typedef struct survey {
    kiln_arena *arena;
    kiln_model_survey *out;
} survey;

static void count_layer(void *user, const kiln_keras_layer *l) {
    survey *const s = user;
    if (strcmp(l->class_name, "InputLayer") == 0)
        return;
    const char *const name =
        kiln_str_printable(s->arena, kiln_str_from(l->class_name), 100);
    s->out->n_nodes++;
    for (size_t i = 0; i < s->out->op.n; i++)
        if (strcmp(s->out->op.v[i].op, name) == 0) {
            s->out->op.v[i].count++;
            return;
        }
    const kiln_model_op op = {
        .op = name, .count = 1, .is_read = is_read(l->class_name)};
    kiln_vec_push(s->arena, &s->out->op, op);
}

static int by_name(const void *x, const void *y) {
    return strcmp(((const kiln_model_op *)x)->op, ((const kiln_model_op *)y)->op);
}

kiln_status kiln_keras_survey(kiln_arena *a, kiln_str bytes, const char *path,
                              kiln_model_survey *out, kiln_err *err) {
    kiln_keras_file f;
    survey s = {a, out};
    (void)path;
    KILN_TRY(kiln_keras_open(a, bytes, &f, err));
    *out = (kiln_model_survey){
        .format = "keras",
        .producer = f.version[0] != '\0' ? kiln_format(a, "Keras %s", f.version) : "",
        .stride = 1};
    KILN_TRY(walk(a, kiln_json_get(f.model, "config"), 0, count_layer, &s, err));
    if (out->op.n > 0)
        qsort(out->op.v, out->op.n, sizeof *out->op.v, by_name);
    return kiln_keras_declared(a, &f, &out->input, &out->n_inputs, err);
}
