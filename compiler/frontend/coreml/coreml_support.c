/* Which layers a network has: rows of coreml_layers.def, and what is none; what the
 * file says about itself. */
#include "compiler/frontend/coreml/coreml_internal.h"
#include "compiler/frontend/frontend_inputs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const kiln_coreml_row rows[] = {
#define KILN_COREML(number, name, importer, op, min_in, max_in, has_outputs)           \
    {number, name, kiln_coreml_import_##importer, op, min_in, max_in, has_outputs},
#include "compiler/frontend/coreml/coreml_layers.def"
#undef KILN_COREML
};

static const struct {
    uint32_t number;
    const char *name, *why;
} refused[] = {
#define KILN_COREML_REFUSED(number, name, why) {number, name, why},
#include "compiler/frontend/coreml/coreml_refused.def"
#undef KILN_COREML_REFUSED
};
enum { N_REFUSED = sizeof refused / sizeof refused[0] };

const kiln_coreml_row *kiln_coreml_find(uint32_t number) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].number == number)
            return &rows[i];
    return NULL;
}

const char *kiln_coreml_layer_type(kiln_arena *a, uint32_t number) {
    const kiln_coreml_row *const row = kiln_coreml_find(number);
    if (row != NULL)
        return row->name;
    for (size_t i = 0; i < N_REFUSED; i++)
        if (refused[i].number == number)
            return refused[i].name;
    return number == 0 ? "no layer" : kiln_format(a, "layer type %" PRIu32, number);
}

/* ---- what is not read ------------------------------------------------------------ */

static const char *reason_of(uint32_t number) {
    for (size_t i = 0; i < N_REFUSED; i++)
        if (refused[i].number == number)
            return refused[i].why;
    return "kiln has it not";
}

/* Entries of the report are found again by where they are. */
static void add_unsupported(kiln_coreml_cx *cx, const kiln_coreml_layer *l) {
    kiln_arena *const a = cx->common.arena;
    const char *const type = kiln_coreml_layer_type(a, l->number);
    kiln_import_add_unread(&cx->common, cx->report, type,
                           l->name.n > 0 ? kiln_str_printable(a, l->name, 200)
                                         : kiln_format(a, "#%zu", l->index));
}

kiln_status kiln_coreml_check_support(kiln_coreml_cx *cx) {
    const kiln_coreml_network *const net = cx->model.network;
    kiln_buf text;
    kiln_buf_init(&text, &cx->common.scratch);
    for (size_t i = 0; i < net->n_bytes; i++) {
        const kiln_coreml_layer *const l = &net->layers[i];
        if (kiln_coreml_find(l->number) != NULL)
            continue;
        const size_t before = cx->report->unsupported.n;
        add_unsupported(cx, l);
        if (cx->report->unsupported.n > before)
            kiln_buf_printf(
                &text, "%s %s (first in layer '%s'; %s)", before == 0 ? "" : ",",
                cx->report->unsupported.v[before].op,
                cx->report->unsupported.v[before].first_node, reason_of(l->number));
    }
    const size_t n = cx->report->unsupported.n;
    if (n == 0)
        return KILN_OK;
    return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                     "%zu kind%s of layer %s not read:%s; export the model as ONNX "
                     "from the framework it was made in",
                     n, n == 1 ? "" : "s", n == 1 ? "is" : "are",
                     kiln_buf_str(&text).p);
}

/* ---- survey ---------------------------------------------------------------------- */

static void count_layer(kiln_arena *a, const kiln_coreml_layer *l,
                        kiln_model_survey *out) {
    const char *const type = kiln_coreml_layer_type(a, l->number);
    out->n_nodes++;
    for (size_t i = 0; i < out->op.n; i++)
        if (strcmp(out->op.v[i].op, type) == 0) {
            out->op.v[i].count++;
            return;
        }
    const kiln_model_op op = {
        .op = type, .count = 1, .is_read = kiln_coreml_find(l->number) != NULL};
    kiln_vec_push(a, &out->op, op);
}

static int by_name(const void *x, const void *y) {
    return strcmp(((const kiln_model_op *)x)->op, ((const kiln_model_op *)y)->op);
}

kiln_status kiln_coreml_survey(kiln_arena *a, kiln_str bytes, const char *path,
                               kiln_model_survey *out, kiln_err *err) {
    kiln_coreml_model m;
    KILN_TRY(kiln_coreml_decode(a, bytes, &m, err));
    *out = (kiln_model_survey){.format = "coreml",
                               .producer = kiln_coreml_producer(a, &m),
                               .ir_version = m.version,
                               .stride = 1};
    for (size_t i = 0; i < m.network->n_bytes; i++)
        count_layer(a, &m.network->layers[i], out);
    if (out->op.n > 0)
        qsort(out->op.v, out->op.n, sizeof *out->op.v, by_name);
    kiln_declared_input *const list =
        kiln_array(a, kiln_declared_input, m.description->n_output);
    for (size_t i = 0; i < m.description->n_output; i++)
        kiln_coreml_declare(a, &m, &m.description->output[i], &list[i]);
    out->output = list;
    out->n_outputs = m.description->n_output;
    return kiln_coreml_list_inputs(a, bytes, path, &out->input, &out->n_inputs, err);
}
