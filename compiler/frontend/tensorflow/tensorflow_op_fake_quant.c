/* Importers of FakeQuantWithMinMaxArgs, -Vars and -VarsPerChannel: one range in
 * attributes, in two operands, or one for each channel. Source: TensorFlow,
 * fake_quant_ops.cc. */
#include "compiler/frontend/fake_quant.h"
#include "compiler/frontend/tensorflow/tf_internal.h"

static kiln_status finish(kiln_tf_cx *cx, const kiln_tf_node *n, kiln_value *x,
                          const double *min, const double *max, size_t count) {
    kiln_compose c = kiln_tf_compose(cx, n);
    const int64_t bits = kiln_tf_attr_i(cx, n, "num_bits", 8);
    const bool is_narrow = kiln_tf_attr_b(cx, n, "narrow_range", false);
    return kiln_tf_end(
        &c, n, kiln_compose_fake_quant(&c, x, min, max, count, bits, is_narrow));
}

kiln_status kiln_tf_import_fake_quant_args(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "inputs", &x));
    const double min = kiln_tf_attr_f(cx, n, "min", -6);
    const double max = kiln_tf_attr_f(cx, n, "max", 6);
    return finish(cx, n, x, &min, &max, 1);
}

kiln_status kiln_tf_import_fake_quant_vars(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_value *x;
    const double *min, *max;
    size_t n_min, n_max;
    KILN_TRY(kiln_tf_need(cx, n, 0, "inputs", &x));
    KILN_TRY(kiln_tf_floats(cx, n, 1, "min", &min, &n_min));
    KILN_TRY(kiln_tf_floats(cx, n, 2, "max", &max, &n_max));
    if (n_min != n_max)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'min' and 'max' must have as many elements, have %zu and "
                            "%zu",
                            n_min, n_max);
    return finish(cx, n, x, min, max, n_min);
}
