/* Importer of Where of one operand: where elements are not zero, as rows [count, rank] of
 * positions in their order. How many there are is data's: the result has a row for each
 * element, of which those count that come first (docs/bounded-outputs.md). Source:
 * TensorFlow, where_op.cc. */
#include "compiler/frontend/tensorflow/tf_internal.h"

kiln_status kiln_tf_import_where(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "condition", &x));
    if (x->type.rank < 1 || kiln_type_elems(&x->type) < 1)
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "what is looked through must have an axis and an element");
    return kiln_tf_end(&c, n, kiln_compose_places(&c, x));
}
