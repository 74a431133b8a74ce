/* Which operators kiln reads, and all that a model needs beyond them, at once. */
#include "compiler/frontend/tflite/tflite_internal.h"
#include "base/numbers.h"

#include <inttypes.h>
#include <string.h>

enum { CUSTOM = 32, SHOWN_BYTES = 120 };

static const kiln_tflite_row rows[] = {
#define KILN_TFLITE(code, name, options, import, op, quant)                            \
    {code, #name, &kiln_tflite_##options##_options, kiln_tflite_import_##import,       \
     op,   quant},
#define KILN_TFLITE_CUSTOM(name, import, quant)                                        \
    {CUSTOM, name, &kiln_tflite_no_options, kiln_tflite_import_##import, NULL, quant},
#include "compiler/frontend/tflite/tflite_ops.def"
#undef KILN_TFLITE
#undef KILN_TFLITE_CUSTOM
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* Operators by number, those too that kiln does not read: for messages. */
static const char *const names[] = {
#define KILN_TFLITE_NAME(code, name) [code] = #name,
#include "compiler/frontend/tflite/tflite_names.def"
#undef KILN_TFLITE_NAME
};
enum { N_NAMES = sizeof names / sizeof names[0] };

const kiln_tflite_row *kiln_tflite_find(const kiln_tflite_code *code) {
    for (size_t i = 0; i < N_ROWS; i++)
        if (rows[i].code == code->builtin &&
            (code->builtin != CUSTOM || kiln_str_is(code->custom, rows[i].name)))
            return &rows[i];
    return NULL;
}

const char *kiln_tflite_code_name(kiln_arena *a, const kiln_tflite_code *code) {
    if (code->builtin == CUSTOM)
        return kiln_format(a, "CUSTOM %s",
                           kiln_str_printable(a, code->custom, SHOWN_BYTES));
    if (code->builtin >= 0 && code->builtin < N_NAMES && names[code->builtin] != NULL)
        return names[code->builtin];
    return kiln_format(a, "operator %" PRId64, code->builtin);
}

/* ---- listing ------------------------------------------------------------------------ */

static void add_unsupported(kiln_tflite_cx *cx, kiln_numbers *seen,
                            const kiln_tflite_op *op) {
    const kiln_tflite_code *const code = &cx->model->code[op->code];
    const char *const name = kiln_tflite_code_name(cx->common.arena, code);
    const size_t at = kiln_numbers_get(seen, kiln_str_from(name));
    if (at != 0) {
        cx->report->unsupported.v[at - 1].count++;
        return;
    }
    const kiln_unsupported u = {
        .op = name,
        .first_node = kiln_format(cx->common.arena, "#%" PRId64, op->index),
        .count = 1};
    kiln_vec_push(cx->common.arena, &cx->report->unsupported, u);
    kiln_numbers_set(&cx->common.scratch, seen, kiln_str_from(name),
                     cx->report->unsupported.n);
}

kiln_status kiln_tflite_check_support(kiln_tflite_cx *cx) {
    kiln_numbers seen = {0};
    /* Those of subgraphs too, which IF and WHILE run. */
    for (size_t i = 0; i < cx->model->n_subgraph; i++) {
        const kiln_tflite_subgraph *const g = &cx->model->subgraph[i];
        for (size_t k = 0; k < g->n_op; k++)
            if (kiln_tflite_find(&cx->model->code[g->op[k].code]) == NULL)
                add_unsupported(cx, &seen, &g->op[k]);
    }
    const size_t n = cx->report->unsupported.n;
    if (n == 0)
        return KILN_OK;
    kiln_buf text;
    kiln_buf_init(&text, &cx->common.scratch);
    for (size_t i = 0; i < n; i++) {
        const kiln_unsupported *const u = &cx->report->unsupported.v[i];
        kiln_buf_printf(&text, "%s %s (%" PRId64 " time%s, first in node %s)",
                        i == 0 ? "" : ",", u->op, u->count, u->count == 1 ? "" : "s",
                        u->first_node);
    }
    return kiln_tflite_fail(
        cx, KILN_ERR_UNSUPPORTED,
        "%zu operator%s not read:%s; convert the model without them", n,
        n == 1 ? " is" : "s are", kiln_buf_str(&text).p);
}
