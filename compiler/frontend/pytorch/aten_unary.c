/* Makers of element-wise operators of one tensor: rows that name one of kiln's. */
#include "compiler/frontend/pytorch/aten_internal.h"

/* Of real numbers: integers become f32. */
kiln_status kiln_aten_make_real(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_real(k, kiln_aten_tensor(k, "self"));
    return kiln_aten_give(k, kiln_compose_1(&k->c, k->row->op, x));
}

/* Of any dtype that the operator has. */
kiln_status kiln_aten_make_same(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    return kiln_aten_give(k, kiln_compose_1(&k->c, k->row->op, x));
}

/* What gives its argument back: copies, aliases, dropout when nothing is trained. */
kiln_status kiln_aten_make_identity(kiln_aten_args *k) {
    return kiln_aten_give(k, kiln_aten_tensor(k, "self"));
}
