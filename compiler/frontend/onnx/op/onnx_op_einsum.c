/* Importer of Einsum (12). */
#include "compiler/frontend/einsum.h"
#include "compiler/frontend/onnx/onnx_internal.h"

kiln_status kiln_onnx_import_einsum(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    const int n_in = kiln_onnx_n_in(n);
    const kiln_str equation = kiln_onnx_attr_s(cx, n, "equation", "");
    kiln_value **const in = kiln_array(kiln_onnx_arena(cx), kiln_value *, n_in + 1);
    for (int i = 0; i < n_in; i++)
        KILN_TRY(kiln_onnx_need(cx, n, i, "Inputs", &in[i]));
    kiln_value *const y = kiln_compose_einsum(&c, equation, in, n_in);
    if (c.status == KILN_OK)
        kiln_onnx_set(cx, n, 0, y);
    return c.status;
}
