/* Importer of Where of one operand: where elements are not zero, as rows [count, rank] of
 * positions in their order. How many there are is data's: the result has a row for each
 * element, of which those count that come first (docs/bounded-outputs.md), and may only
 * be an output. Source: TensorFlow, where_op.cc. */
#include "compiler/frontend/bounded.h"
#include "compiler/frontend/tensorflow/tf_internal.h"

kiln_status kiln_tf_import_where(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *count, *part[KILN_MAX_RANK];
    KILN_TRY(kiln_tf_need(cx, n, 0, "condition", &x));
    const kiln_type t = x->type;
    const int64_t elems = kiln_type_elems(&t), column[] = {elems, 1};
    if (t.rank < 1 || elems < 1)
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "what is looked through must have an axis and an element");
    if (t.dtype != KILN_BOOL)
        x = kiln_compose_1(&c, &kiln_op_logical_not,
                           kiln_compose_scalar(&c, &kiln_op_equal, x, 0));
    kiln_value *at =
        kiln_compose_partition(&c, kiln_compose_reshape(&c, x, 1, &elems), &count);
    at = kiln_compose_reshape(&c, at, 2, column);
    for (int i = t.rank - 1; i >= 0; i--) {
        const double dim = (double)t.dim[i];
        part[i] = kiln_compose_scalar(&c, &kiln_op_mod, at, dim);
        at = kiln_compose_scalar(&c, &kiln_op_div, at, dim);
    }
    const kiln_attr_arg axis = kiln_arg_int("axis", 1);
    kiln_value *const rows =
        t.rank == 1 ? part[0]
                    : kiln_compose_op(&c, &kiln_op_concat, part, t.rank, &axis, 1);
    return kiln_tf_end(
        &c, n, kiln_compose_settled(&c, kiln_compose_bounded(&c, rows, 0, count)));
}
