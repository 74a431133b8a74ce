/* Arithmetic with a neutral constant: see simplify_inference.c for which constants are
 * neutral. */
#include "compiler/pass/simplify.h"

#include <math.h>
#include <string.h>

bool kiln_simplify_is_filled(const kiln_value *v, double x) {
    if (!kiln_value_is_const(v) || !kiln_layout_is_plain(&v->type.layout))
        return false;
    const kiln_type t = kiln_type_scalar(v->type.dtype);
    int64_t i = (int64_t)x;
    const bool is_float = kiln_dtype_is_float(t.dtype);
    const kiln_wide w = {
        .type = t, .f = is_float ? &x : NULL, .i = is_float ? NULL : &i};
    unsigned char want[8] = {0};
    kiln_narrow(&w, want);
    const size_t bytes = kiln_dtype_bytes(t.dtype);
    const unsigned char *data = v->data;
    const int64_t n = kiln_type_elems(&v->type);
    for (int64_t k = 0; k < n; k++)
        if (memcmp(data + (size_t)k * bytes, want, bytes) != 0)
            return false;
    return true;
}

/* in[x], if in[c] is filled with `neutral` and broadcasting does not make the result
 * larger. */
static void match(const kiln_node *n, int x, int c, double neutral, kiln_value **same) {
    if (*same == NULL && kiln_type_eq(&n->in[x]->type, &n->out[0]->type) &&
        kiln_simplify_is_filled(n->in[c], neutral))
        *same = n->in[x];
}

kiln_status kiln_simplify_add(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    (void)s;
    match(n, 0, 1, -0.0, same);
    match(n, 1, 0, -0.0, same);
    return KILN_OK;
}

kiln_status kiln_simplify_sub(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    (void)s;
    match(n, 0, 1, 0.0, same);
    return KILN_OK;
}

kiln_status kiln_simplify_mul(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    (void)s;
    match(n, 0, 1, 1.0, same);
    match(n, 1, 0, 1.0, same);
    return KILN_OK;
}

/* x / 1 */
kiln_status kiln_simplify_div(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    (void)s;
    match(n, 0, 1, 1.0, same);
    return KILN_OK;
}

/* x ^ 1, and x ^ 2 as x x: a square of f64 would be rounded otherwise. */
kiln_status kiln_simplify_pow(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    kiln_value *const x[] = {n->in[0], n->in[0]};
    match(n, 0, 1, 1.0, same);
    if (*same == NULL && n->out[0]->type.dtype != KILN_F64 &&
        kiln_type_eq(&x[0]->type, &n->out[0]->type) &&
        kiln_simplify_is_filled(n->in[1], 2.0))
        return kiln_sweep_add(s, &kiln_op_mul, n, x, 2, NULL, 0, same);
    return KILN_OK;
}
