/* ONNX element-wise operators: arithmetic, comparison, logic, bits, conversion,
 * variadic folds.
 *
 * Up to opset 6 binary operators stretched their second operand only, and only where
 * the attribute `broadcast` asked for it; `axis` said which axis of the first the
 * second begins at. From opset 7 on both stretch as in numpy. */
#include "compiler/frontend/onnx/onnx_internal.h"

#include <math.h>

/* Attributes of the row's operator, read from the ONNX node by the same names. */
static kiln_status read_attrs(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                              const kiln_op_def *op, kiln_attr_arg *args) {
    for (size_t i = 0; i < op->n_attr; i++) {
        const kiln_attr_def *a = &op->attr[i];
        if (a->kind == KILN_ATTR_FLOAT)
            args[i] =
                kiln_arg_float(a->name, kiln_onnx_attr_f(cx, n, a->name, a->default_f));
        else if (a->kind == KILN_ATTR_INT)
            args[i] =
                kiln_arg_int(a->name, kiln_onnx_attr_i(cx, n, a->name, a->default_i));
        else if (a->kind == KILN_ATTR_BOOL)
            args[i] = kiln_arg_bool(
                a->name, kiln_onnx_attr_i(cx, n, a->name, a->default_i) != 0);
        else if (a->kind == KILN_ATTR_WORD)
            args[i] = kiln_arg_word(
                a->name, kiln_str_dupv(kiln_onnx_arena(cx),
                                       kiln_onnx_attr_s(cx, n, a->name,
                                                        a->choices[a->default_i])));
        else
            KILN_ASSERT(false,
                        "operator '%s': attribute '%s' needs an importer of its own",
                        op->name, a->name);
    }
    return KILN_OK;
}

enum { MAX_ATTRS = 4 }; /* of an operator that `unary` or `binary` imports */

kiln_status kiln_onnx_import_unary(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    const kiln_op_def *op = kiln_onnx_row(cx)->op;
    kiln_attr_arg args[MAX_ATTRS];
    KILN_ASSERT(op->n_attr <= MAX_ATTRS, "operator '%s' has %zu attributes", op->name,
                op->n_attr);
    kiln_value *x = NULL, *y = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(read_attrs(cx, n, op, args));
    KILN_TRY(kiln_onnx_emit1(cx, n, op, x, args, op->n_attr, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* The second operand of opsets before 7, with ones behind it so that its first axis
 * meets `axis`. */
static kiln_status align_legacy(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                const kiln_value *x, kiln_value **y) {
    const kiln_type *t = &(*y)->type;
    const int64_t given_axis = kiln_onnx_attr_i(cx, n, "axis", 0);
    if (kiln_onnx_attr_i(cx, n, "broadcast", 0) == 0) {
        if (kiln_type_same_shape(&x->type, t))
            return KILN_OK;
        kiln_arena *a = kiln_onnx_arena(cx);
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "operands must have one shape where 'broadcast' is not set, "
            "are %s and %s",
            kiln_shape_text(a, x->type.rank, x->type.dim),
            kiln_shape_text(a, t->rank, t->dim));
    }
    if (t->rank == 0 || !kiln_onnx_has_attr(n, "axis"))
        return KILN_OK;
    int axis = 0;
    KILN_TRY(kiln_axis_normalize(given_axis, x->type.rank, &axis, kiln_onnx_err(cx)));
    if (axis + t->rank > x->type.rank)
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "'axis' %d and the %d axes of the second operand must fit in "
            "the %d of the first",
            axis, t->rank, x->type.rank);
    int64_t dim[KILN_MAX_RANK];
    const int rank = x->type.rank - axis;
    for (int i = 0; i < rank; i++)
        dim[i] = i < t->rank ? t->dim[i] : 1;
    return kiln_onnx_reshape(cx, n, *y, rank, dim, y);
}

static kiln_status two_operands(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                kiln_value **x, kiln_value **y) {
    KILN_TRY(kiln_onnx_need(cx, n, 0, "A", x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "B", y));
    return kiln_onnx_version(cx) < 7 ? align_legacy(cx, n, *x, y) : KILN_OK;
}

kiln_status kiln_onnx_import_binary(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    const kiln_op_def *op = kiln_onnx_row(cx)->op;
    kiln_attr_arg args[MAX_ATTRS];
    KILN_ASSERT(op->n_attr <= MAX_ATTRS, "operator '%s' has %zu attributes", op->name,
                op->n_attr);
    kiln_value *in[2] = {NULL}, *z = NULL;
    KILN_TRY(two_operands(cx, n, &in[0], &in[1]));
    KILN_TRY(read_attrs(cx, n, op, args));
    KILN_TRY(kiln_onnx_emit(cx, n, op, in, 2, args, op->n_attr, 1, &z));
    kiln_onnx_set(cx, n, 0, z);
    return KILN_OK;
}

kiln_status kiln_onnx_import_bit_shift(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    const kiln_str direction = kiln_onnx_attr_s(cx, n, "direction", "");
    if (!kiln_str_is(direction, "LEFT") && !kiln_str_is(direction, "RIGHT"))
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "attribute 'direction' must be LEFT or RIGHT, is '%s'",
                              kiln_str_printable(kiln_onnx_arena(cx), direction, 40));
    const kiln_attr_arg arg =
        kiln_arg_word("direction", kiln_str_is(direction, "LEFT") ? "left" : "right");
    kiln_value *in[2] = {NULL}, *z = NULL;
    KILN_TRY(two_operands(cx, n, &in[0], &in[1]));
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_bit_shift, in, 2, &arg, 1, 1, &z));
    kiln_onnx_set(cx, n, 0, z);
    return KILN_OK;
}

/* The dtype in which operands of Pow meet: its result has the base's, whatever the
 * exponent's. */
static kiln_dtype pow_dtype(kiln_dtype x, kiln_dtype y) {
    if (x == y || kiln_dtype_is_float(x))
        return x;
    if (kiln_dtype_is_float(y))
        return KILN_F64; /* holds every base of up to 53 bits */
    return x == KILN_U64 || y == KILN_U64 ? KILN_U64 : KILN_I64;
}

kiln_status kiln_onnx_import_pow(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x = NULL, *y = NULL, *z = NULL;
    KILN_TRY(two_operands(cx, n, &x, &y));
    const kiln_dtype want = x->type.dtype, dtype = pow_dtype(want, y->type.dtype);
    KILN_TRY(kiln_onnx_cast(cx, n, x, dtype, &x));
    KILN_TRY(kiln_onnx_cast(cx, n, y, dtype, &y));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_pow, x, y, &z));
    KILN_TRY(kiln_onnx_cast(cx, n, z, want, &z));
    kiln_onnx_set(cx, n, 0, z);
    return KILN_OK;
}

/* op(op(in 0, in 1), in 2) ... */
static kiln_status fold_inputs(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                               const kiln_op_def *op, kiln_value **out) {
    kiln_value *acc = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data_0", &acc));
    for (int i = 1; i < kiln_onnx_n_in(n); i++) {
        kiln_value *x = NULL;
        KILN_TRY(kiln_onnx_need(cx, n, i, "data", &x));
        KILN_TRY(kiln_onnx_emit2(cx, n, op, acc, x, &acc));
    }
    *out = acc;
    return KILN_OK;
}

/* Max, Min, Sum of any number of inputs. */
kiln_status kiln_onnx_import_variadic(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *y = NULL;
    KILN_TRY(fold_inputs(cx, n, kiln_onnx_row(cx)->op, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_mean(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *y = NULL;
    KILN_TRY(fold_inputs(cx, n, &kiln_op_add, &y));
    const int count = kiln_onnx_n_in(n);
    if (count > 1)
        KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_div, y,
                                 kiln_onnx_scalar(cx, y->type.dtype, count), &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_where(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *in[3] = {NULL}, *y = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "condition", &in[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "X", &in[1]));
    KILN_TRY(kiln_onnx_need(cx, n, 2, "Y", &in[2]));
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_where, in, 3, NULL, 0, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}
