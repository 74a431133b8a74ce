/* Importers of Fourier transforms and of complex tensors: pairs of the real and the imaginary
 * part, along one axis more, the last (kiln_tf_slot.parts). What moves elements, and sums,
 * treat both parts alike. Source: TensorFlow, spectral_ops.cc and math_ops.cc. */
#include "compiler/frontend/angles.h"
#include "compiler/frontend/fourier.h"
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <inttypes.h>

static kiln_status need_parts(kiln_tf_cx *cx, const kiln_tf_node *n, int i,
                              kiln_value **out) {
    kiln_tf_slot slot;
    if (i >= n->n_in)
        return kiln_tf_fail(cx, KILN_ERR_PARSE, "input %d is missing", i);
    KILN_TRY(kiln_tf_operand(cx, n, i, &slot));
    if (slot.parts == NULL)
        return kiln_tf_fail(cx, KILN_ERR_PARSE, "input %d must be complex", i);
    *out = slot.parts;
    return KILN_OK;
}

static kiln_status set_parts(kiln_compose *c, const kiln_tf_node *n, kiln_value *y) {
    const kiln_tf_slot slot = {.parts = y};
    kiln_tf_cx *const cx = kiln_tf_of(c->cx);
    KILN_TRY(c->status);
    cx->has_parts = true;
    kiln_tf_set_slots(cx, n, &slot, 1);
    return KILN_OK;
}

/* ---- transforms --------------------------------------------------------------------- */

/* Operand 0 with an axis of one part behind its own, and operand 1, `count` lengths. */
static kiln_status read_real(kiln_tf_cx *cx, const kiln_tf_node *n, kiln_compose *c,
                             int count, kiln_value **x, const int64_t **length) {
    int64_t dim[KILN_MAX_RANK + 1];
    size_t given;
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", x));
    KILN_TRY(kiln_tf_ints(cx, n, 1, "fft_length", length, &given));
    const int rank = (*x)->type.rank;
    if (given != (size_t)count || rank < count || rank == KILN_MAX_RANK)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'fft_length' must have %d values and the input rank %d to "
                            "%d, have %zu and %d",
                            count, count, KILN_MAX_RANK - 1, given, rank);
    for (int i = 0; i < rank; i++)
        dim[i] = (*x)->type.dim[i];
    dim[rank] = 1;
    *x = kiln_compose_reshape(c, *x, rank + 1, dim);
    return c->status;
}

kiln_status kiln_tf_import_rfft(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    const int64_t *length;
    kiln_dft d;
    KILN_TRY(read_real(cx, n, &c, 1, &x, &length));
    KILN_TRY(kiln_dft_init(&d, length[0], 1, false, true, cx->common.err));
    return set_parts(&c, n, kiln_compose_dft(&c, x, &d));
}

kiln_status kiln_tf_import_rfft_2d(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    const int64_t *length;
    KILN_TRY(read_real(cx, n, &c, 2, &x, &length));
    return set_parts(&c, n, kiln_compose_rfft_2d(&c, x, length));
}

kiln_status kiln_tf_import_irfft(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    int64_t length;
    kiln_dft d;
    KILN_TRY(need_parts(cx, n, 0, &x));
    KILN_TRY(kiln_tf_int(cx, n, 1, "fft_length", &length));
    KILN_TRY(kiln_dft_init(&d, length, 2, true, true, cx->common.err));
    x = kiln_compose_dft(&c, x, &d);
    return kiln_tf_end(&c, n, kiln_compose_part(&c, x, 0));
}

static kiln_status fft(kiln_tf_cx *cx, const kiln_tf_node *n, bool is_inverse) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    kiln_dft d;
    KILN_TRY(need_parts(cx, n, 0, &x));
    KILN_TRY(kiln_dft_init(&d, x->type.dim[x->type.rank - 2], 2, is_inverse, false,
                           cx->common.err));
    return set_parts(&c, n, kiln_compose_dft(&c, x, &d));
}

kiln_status kiln_tf_import_fft(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return fft(cx, n, false);
}

kiln_status kiln_tf_import_ifft(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return fft(cx, n, true);
}

/* ---- parts -------------------------------------------------------------------------- */

kiln_status kiln_tf_import_complex(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *real, *imag;
    KILN_TRY(kiln_tf_need(cx, n, 0, "real", &real));
    KILN_TRY(kiln_tf_need(cx, n, 1, "imag", &imag));
    if (!kiln_type_same_shape(&real->type, &imag->type))
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "'real' and 'imag' must have one shape, are %s and %s",
                            kiln_type_text(&cx->common.scratch, &real->type),
                            kiln_type_text(&cx->common.scratch, &imag->type));
    return set_parts(&c, n, kiln_compose_pairs(&c, real, imag));
}

static kiln_status part(kiln_tf_cx *cx, const kiln_tf_node *n, int which) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(need_parts(cx, n, 0, &x));
    return kiln_tf_end(&c, n, kiln_compose_part(&c, x, which));
}

kiln_status kiln_tf_import_real(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return part(cx, n, 0);
}

kiln_status kiln_tf_import_imag(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return part(cx, n, 1);
}

kiln_status kiln_tf_import_complex_abs(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(need_parts(cx, n, 0, &x));
    return kiln_tf_end(&c, n, kiln_compose_complex_abs(&c, x));
}

kiln_status kiln_tf_import_angle(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(need_parts(cx, n, 0, &x));
    kiln_value *const real = kiln_compose_part(&c, x, 0);
    return kiln_tf_end(&c, n,
                       kiln_compose_atan2(&c, kiln_compose_part(&c, x, 1), real));
}

kiln_status kiln_tf_import_conj(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(need_parts(cx, n, 0, &x));
    kiln_value *const imag =
        kiln_compose_1(&c, &kiln_op_neg, kiln_compose_part(&c, x, 1));
    return set_parts(&c, n, kiln_compose_pairs(&c, kiln_compose_part(&c, x, 0), imag));
}

/* ---- operators of both -------------------------------------------------------------- */

/* (a + bi) (c + di) = ac - bd + (ad + bc) i. */
static kiln_status multiply(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x[2], *v[2][2];
    for (int i = 0; i < 2; i++) {
        KILN_TRY(need_parts(cx, n, i, &x[i]));
        for (int p = 0; p < 2; p++)
            v[i][p] = kiln_compose_part(&c, x[i], p);
    }
    kiln_value *const real = kiln_compose_2(
        &c, &kiln_op_sub, kiln_compose_2(&c, &kiln_op_mul, v[0][0], v[1][0]),
        kiln_compose_2(&c, &kiln_op_mul, v[0][1], v[1][1]));
    kiln_value *const imag = kiln_compose_2(
        &c, &kiln_op_add, kiln_compose_2(&c, &kiln_op_mul, v[0][0], v[1][1]),
        kiln_compose_2(&c, &kiln_op_mul, v[0][1], v[1][0]));
    return set_parts(&c, n, kiln_compose_pairs(&c, real, imag));
}

/* The importer runs for the real parts, and for the imaginary ones. */
static kiln_status by_parts(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value **const given = kiln_array(&cx->common.scratch, kiln_value *, n->n_in);
    kiln_value *y[2] = {NULL, NULL};
    for (int p = 0; p < 2; p++) {
        kiln_status st = KILN_OK;
        for (int i = 0; i < n->n_in; i++) {
            kiln_tf_slot slot;
            KILN_TRY(kiln_tf_operand(cx, n, i, &slot));
            given[i] = slot.parts == NULL ? NULL : kiln_compose_part(&c, slot.parts, p);
        }
        KILN_TRY(c.status);
        cx->given = given;
        st = cx->row->import(cx, n);
        cx->given = NULL;
        KILN_TRY(st);
        y[p] = cx->frame->out[n - cx->frame->node].slot[0].value;
    }
    return set_parts(&c, n, kiln_compose_pairs(&c, y[0], y[1]));
}

static bool is_own(const kiln_tf_cx *cx) {
    static const kiln_tf_importer own[] = {
        kiln_tf_import_irfft, kiln_tf_import_fft,  kiln_tf_import_ifft,
        kiln_tf_import_real,  kiln_tf_import_imag, kiln_tf_import_complex_abs,
        kiln_tf_import_angle, kiln_tf_import_conj, kiln_tf_import_identity};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (own[i] == cx->row->import)
            return true;
    return false;
}

static bool is_by_parts(const kiln_tf_cx *cx) {
    static const kiln_tf_importer each[] = {
        kiln_tf_import_reshape,     kiln_tf_import_squeeze,
        kiln_tf_import_expand_dims, kiln_tf_import_strided_slice,
        kiln_tf_import_concat_v2,   kiln_tf_import_pack,
        kiln_tf_import_transpose};
    const kiln_op_def *const op = cx->row->op;
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++)
        if (each[i] == cx->row->import)
            return true;
    return cx->row->import == kiln_tf_import_binary &&
           (op == &kiln_op_add || op == &kiln_op_sub);
}

kiln_status kiln_tf_import_parts(kiln_tf_cx *cx, const kiln_tf_node *n, bool *done) {
    bool has_parts = false;
    *done = false;
    for (int i = 0; cx->has_parts && i < n->n_in; i++) {
        kiln_tf_slot slot;
        KILN_TRY(kiln_tf_operand(cx, n, i, &slot));
        has_parts = has_parts || slot.parts != NULL;
    }
    if (!has_parts || is_own(cx))
        return KILN_OK;
    *done = true;
    if (is_by_parts(cx))
        return by_parts(cx, n);
    if (cx->row->import == kiln_tf_import_binary && cx->row->op == &kiln_op_mul)
        return multiply(cx, n);
    return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                        "the operator is not read with complex numbers; take their "
                        "parts, or their size, before it");
}
