/* Importers of what holds or passes on values: Const, Identity and its like,
 * placeholders, Cast, RandomUniform. */
#include "compiler/frontend/tensorflow/tf_internal.h"

kiln_status kiln_tf_import_constant(kiln_tf_cx *cx, const kiln_tf_node *n) {
    const kiln_tf_attr *const value = kiln_tf_find_attr(cx, n, "value");
    kiln_tensor t;
    if (value == NULL || value->tensor == NULL)
        return kiln_tf_fail(cx, KILN_ERR_PARSE, "attribute 'value' must be a tensor");
    KILN_TRY(kiln_tf_tensor_read(&cx->common, value->tensor, &t));
    const char *const name =
        kiln_str_dup(cx->common.arena, kiln_tf_prefixed(cx, n->name));
    return kiln_tf_set(cx, n,
                       kiln_graph_add_const(cx->common.graph, name, &t.type, t.data));
}

/* What is asserted of the value (a shape, no NaN) is not checked at run time. */
kiln_status kiln_tf_import_identity(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_tf_slot slot;
    if (n->n_in < 1)
        return kiln_tf_fail(cx, KILN_ERR_PARSE, "input 0 ('input') is missing");
    kiln_tf_find_attr(cx, n, "shape");
    KILN_TRY(kiln_tf_operand(cx, n, 0, &slot));
    kiln_tf_set_slots(cx, n, &slot, 1);
    return KILN_OK;
}

kiln_status kiln_tf_import_identity_n(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_value **in;
    kiln_tf_find_attr(cx, n, "T");
    KILN_TRY(kiln_tf_need_list(cx, n, 0, n->n_in, &in));
    return kiln_tf_set_all(cx, n, in, n->n_in);
}

/* Those of the graph are bound before any node is imported; none is left. */
kiln_status kiln_tf_import_placeholder(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                        "a placeholder inside a function is given by no one; node '%s'",
                        kiln_tf_show(cx, n->name));
}

kiln_status kiln_tf_import_cast(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    kiln_dtype to;
    KILN_TRY(kiln_tf_need(cx, n, 0, "x", &x));
    KILN_TRY(kiln_tf_attr_dtype(cx, n, "DstT", x->type.dtype, &to));
    if (kiln_tf_attr_b(cx, n, "Truncate", false) && kiln_dtype_is_float(to))
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "floats that are cut, not rounded, are not read; cast with "
                            "Truncate = false");
    return kiln_tf_end(&c, n, kiln_compose_cast(&c, x, to));
}

/* Any numbers of [0, 1) are right: here always the same ones, so that what depends on
 * them by chance alone (dropout that is left in a frozen graph, and keeps all) does not
 * change from run to run. */
kiln_status kiln_tf_import_random_uniform(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    const int64_t *dim;
    size_t rank;
    kiln_dtype dtype;
    kiln_rng rng;
    KILN_TRY(kiln_tf_ints(cx, n, 0, "shape", &dim, &rank));
    KILN_TRY(kiln_tf_attr_dtype(cx, n, "dtype", KILN_F32, &dtype));
    const int64_t seed = kiln_tf_attr_i(cx, n, "seed", 0);
    const int64_t seed2 = kiln_tf_attr_i(cx, n, "seed2", 0);
    if (rank > KILN_MAX_RANK || !kiln_dtype_is_float(dtype))
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "a random tensor of %zu axes; at most %d, of floats", rank,
                            KILN_MAX_RANK);
    const kiln_type t = kiln_type_make(dtype, (int)rank, dim);
    KILN_TRY(kiln_type_check(&t, cx->common.err));
    const int64_t count = kiln_type_elems(&t);
    KILN_TRY(kiln_import_spend(&cx->common, 8 * count));
    double *const v = kiln_array(&cx->common.scratch, double, count);
    kiln_rng_init(&rng, (uint64_t)seed * 31 + (uint64_t)seed2);
    for (int64_t i = 0; i < count; i++)
        v[i] = (double)(kiln_rng_next(&rng) >> 56) / 256; /* exact in every dtype */
    return kiln_tf_end(&c, n, kiln_compose_floats(&c, dtype, (int)rank, dim, v));
}
