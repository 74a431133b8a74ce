/* Shapes and types as the Graph has them; the inputs that a caller gives, and what
 * `kiln inspect` shows. */
#include "compiler/frontend/cntk/cntk_internal.h"

#include <inttypes.h>

enum { MAX_SHOWN = 80 };

kiln_status kiln_cntk_turn_shape(const kiln_cntk_shape *s, int *rank, int64_t *dim,
                                 kiln_err *err) {
    if (s->n_dim > KILN_MAX_RANK - 1) /* a batch may come in front */
        return kiln_fail(err, KILN_ERR_LIMIT, "it has %zu axes, at most %d are read",
                         s->n_dim, KILN_MAX_RANK - 1);
    *rank = (int)s->n_dim;
    for (size_t i = 0; i < s->n_dim; i++) {
        const uint64_t d = s->dim[s->n_dim - 1 - i];
        if (d < KILN_CNTK_OPEN && d > (uint64_t)KILN_MAX_ELEMS)
            return kiln_fail(err, KILN_ERR_LIMIT, "it has an axis of %" PRIu64, d);
        dim[i] = d < KILN_CNTK_OPEN ? (int64_t)d : -1;
    }
    return KILN_OK;
}

bool kiln_cntk_dtype(int64_t dtype, kiln_dtype *out) {
    enum { FLOAT = 1, DOUBLE = 2, FLOAT16 = 4 };
    *out = dtype == DOUBLE ? KILN_F64 : dtype == FLOAT16 ? KILN_F16 : KILN_F32;
    return dtype == FLOAT || dtype == DOUBLE || dtype == FLOAT16;
}

/* A batch of 1 unless the caller says otherwise: the file gives none. */
kiln_status kiln_cntk_declare(kiln_arena *a, const kiln_cntk_variable *v,
                              kiln_declared_input *out, kiln_err *err) {
    int rank = 0;
    int64_t dim[KILN_MAX_RANK];
    *out = (kiln_declared_input){.name = kiln_str_dupv(a, v->name)};
    out->has_type = kiln_cntk_dtype(v->dtype, &out->dtype);
    out->what = out->has_type ? NULL : "a tensor of no float type";
    const kiln_status st = kiln_cntk_turn_shape(v->shape, &rank, dim, err);
    if (st != KILN_OK) {
        kiln_note(err, "reading input '%s'", kiln_str_printable(a, v->name, MAX_SHOWN));
        return st;
    }
    if (v->has_batch)
        out->dim[out->rank++] = 1;
    for (int i = 0; i < rank; i++)
        out->dim[out->rank++] = dim[i];
    return KILN_OK;
}

kiln_status kiln_cntk_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                  kiln_declared_input **out, size_t *n, kiln_err *err) {
    kiln_cntk_model m;
    (void)path;
    KILN_TRY(kiln_cntk_read_model(a, bytes, &m, err));
    *out = kiln_array(a, kiln_declared_input, m.n_variable);
    *n = 0;
    for (size_t i = 0; i < m.n_variable; i++)
        if (m.variable[i].role == KILN_CNTK_INPUT)
            KILN_TRY(kiln_cntk_declare(a, &m.variable[i], &(*out)[(*n)++], err));
    return KILN_OK;
}

static void survey_weights(kiln_arena *a, const kiln_cntk_model *m,
                           kiln_model_survey *out) {
    for (size_t i = 0; i < m->n_variable; i++) {
        const kiln_cntk_array *const t = m->variable[i].array;
        if (t == NULL)
            continue;
        out->n_params += (int64_t)(t->f32.n / 4 + t->f64.n / 8 + t->bytes.n / 2);
        out->const_bytes += (int64_t)(t->f32.n + t->f64.n + t->bytes.n);
        for (size_t d = 0;
             t->shape != NULL && t->shape->n_dim > 1 && d < t->shape->n_dim; d++)
            if (t->shape->dim[d] <= (uint64_t)KILN_MAX_ELEMS)
                kiln_survey_add_size(a, out, (int64_t)t->shape->dim[d]);
    }
}

kiln_status kiln_cntk_survey(kiln_arena *a, kiln_str bytes, const char *path,
                             kiln_model_survey *out, kiln_err *err) {
    kiln_cntk_model m;
    *out = (kiln_model_survey){.format = "cntk", .producer = "", .stride = 1};
    KILN_TRY(kiln_cntk_read_model(a, bytes, &m, err));
    for (size_t i = 0; i < m.n_function; i++) {
        const kiln_cntk_row *const row = kiln_cntk_find(m.function[i].op);
        if (m.function[i].op != KILN_CNTK_BLOCK &&
            m.function[i].op != KILN_CNTK_COMBINE)
            kiln_survey_add_op(a, out, kiln_cntk_op_name(a, m.function[i].op),
                               row != NULL && row->import != NULL);
    }
    kiln_survey_sort_ops(out);
    survey_weights(a, &m, out);
    return kiln_cntk_list_inputs(a, bytes, path, &out->input, &out->n_inputs, err);
}
