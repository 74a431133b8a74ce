/* What a TensorFlow Lite file says about itself: inputs, outputs, operators with their
 * counts, weights. */
#include "compiler/frontend/tflite/tflite_internal.h"

#include <stdlib.h>
#include <string.h>

static void count_ops(kiln_arena *a, const kiln_tflite_model *m,
                      kiln_model_survey *out) {
    int64_t *const count = kiln_array(a, int64_t, m->n_code);
    for (size_t i = 0; i < m->n_subgraph; i++)
        for (size_t k = 0; k < m->subgraph[i].n_op; k++) {
            count[m->subgraph[i].op[k].code]++;
            out->n_nodes++;
        }
    for (size_t i = 0; i < m->n_code; i++) {
        const kiln_model_op op = {.op = kiln_tflite_code_name(a, &m->code[i]),
                                  .count = count[i],
                                  .is_read = kiln_tflite_find(&m->code[i]) != NULL};
        size_t known = 0; /* converters list an operator once for each version */
        while (known < out->op.n && strcmp(out->op.v[known].op, op.op) != 0)
            known++;
        if (known < out->op.n)
            out->op.v[known].count += count[i];
        else if (count[i] > 0)
            kiln_vec_push(a, &out->op, op);
    }
}

static void count_weights(const kiln_fb *fb, const kiln_tflite_model *m,
                          kiln_model_survey *out) {
    for (size_t i = 0; i < m->n_subgraph; i++)
        for (size_t k = 0; k < m->subgraph[i].n_tensor; k++) {
            const kiln_tflite_tensor *const t = &m->subgraph[i].tensor[k];
            kiln_str data;
            kiln_dtype dtype;
            if (kiln_tflite_data(fb, m, t, &data) != KILN_OK || data.n == 0)
                continue;
            out->const_bytes += (int64_t)data.n;
            if (kiln_tflite_dtype(t->type, &dtype, NULL) == KILN_OK &&
                (kiln_dtype_is_float(dtype) || kiln_tflite_is_quantized(t)))
                out->n_params += (int64_t)(data.n / kiln_dtype_bytes(dtype));
        }
}

static int by_name(const void *x, const void *y) {
    return strcmp(((const kiln_model_op *)x)->op, ((const kiln_model_op *)y)->op);
}

static kiln_declared_input *ports(kiln_arena *a, const kiln_tflite_subgraph *g,
                                  bool is_input, size_t n) {
    kiln_declared_input *const list = kiln_array(a, kiln_declared_input, n);
    for (size_t i = 0; i < n; i++)
        kiln_tflite_declare(a, g, is_input, i, &list[i]);
    return list;
}

kiln_status kiln_tflite_survey(kiln_arena *a, kiln_str bytes, const char *path,
                               kiln_model_survey *out, kiln_err *err) {
    kiln_tflite_model m;
    kiln_err own = {0};
    kiln_fb fb = kiln_fb_begin(a, bytes, err == NULL ? &own : err);
    (void)path;
    *out = (kiln_model_survey){.format = "tflite", .producer = "", .stride = 1};
    KILN_TRY(kiln_tflite_decode(&fb, &m));
    const kiln_tflite_subgraph *const g = &m.subgraph[0];
    out->producer = kiln_str_printable(a, m.description, 120);
    out->n_inputs = g->n_input;
    out->n_outputs = g->n_output;
    out->input = ports(a, g, true, g->n_input);
    out->output = ports(a, g, false, g->n_output);
    count_ops(a, &m, out);
    count_weights(&fb, &m, out);
    if (out->op.n > 0)
        qsort(out->op.v, out->op.n, sizeof *out->op.v, by_name);
    return KILN_OK;
}
