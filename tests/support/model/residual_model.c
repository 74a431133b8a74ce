#include "tests/support/model/residual_model.h"

#include "zoo/onnx_write.h"

enum { BLOCKS = 2 };

static void put_conv(kiln_onnx_writer *w, const char *in, const char *out, int channels,
                     uint64_t seed) {
    static const int64_t pads[] = {1, 1, 1, 1};
    kiln_arena *a = kiln_test_arena();
    const char *weight = kiln_format(a, "%s_weight", out);
    kiln_onnx_put_uniform(w, weight, kiln_format(a, "16,%d,3,3", channels), seed, -0.2,
                          0.2);
    kiln_onnx_put_node(w, "Conv", out, kiln_format(a, "%s,%s", in, weight), out);
    kiln_onnx_put_attr_ints(w, "pads", pads, 4);
}

void kiln_test_write_residual(const char *path) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_onnx_writer w;
    kiln_onnx_writer_init(&w, a, "residual");
    kiln_onnx_put_input(&w, "data", KILN_ONNX_FLOAT, "batch,3,8,8");
    put_conv(&w, "data", "stem", 3, 1);
    kiln_onnx_put_node(&w, "Relu", "", "stem", "block0");
    for (int i = 0; i < BLOCKS; i++) {
        const char *in = kiln_format(a, "block%d", i);
        const char *conv = kiln_format(a, "conv%d", i);
        const char *sum = kiln_format(a, "sum%d", i);
        put_conv(&w, in, conv, 16, (uint64_t)i + 2);
        kiln_onnx_put_node(&w, "Add", "", kiln_format(a, "%s,%s", in, conv), sum);
        kiln_onnx_put_node(&w, "Relu", "", sum, kiln_format(a, "block%d", i + 1));
    }
    kiln_onnx_put_node(&w, "GlobalAveragePool", "", kiln_format(a, "block%d", BLOCKS),
                       "pooled");
    kiln_onnx_put_node(&w, "Flatten", "", "pooled", "flat");
    kiln_onnx_put_uniform(&w, "fc_weight", "16,10", 9, -0.5, 0.5);
    kiln_onnx_put_node(&w, "MatMul", "", "flat,fc_weight", "scores");
    kiln_onnx_put_output(&w, "scores", KILN_ONNX_FLOAT, "batch,10");
    kiln_assert_status_ok(kiln_onnx_write_model(&w, 8, 17, path, &err), &err);
}

kiln_build kiln_test_build_residual(const char *model, const char *profile,
                                    int64_t batch, const char *path) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile p;
    kiln_source s;
    kiln_expectation e;
    kiln_build b;
    kiln_shape_binding shape = {.name = "data", .rank = 4, .dim = {batch, 3, 8, 8}};
    const kiln_import_options import = {.shapes = &shape, .n_shapes = 1};
    const kiln_build_options o = {.path = path, .import = &import, .seed = 1};
    kiln_assert_status_ok(kiln_profile_find(a, profile, &p, &err), &err);
    kiln_assert_status_ok(kiln_source_read(a, model, &import, &s, &err), &err);
    kiln_assert_status_ok(kiln_expectation_of(a, &s, 1, &e, &err), &err);
    kiln_assert_status_ok(kiln_package_build(a, &s, &e, &p, &o, &b, &err), &err);
    return b;
}

const char *kiln_test_join(kiln_build *part, size_t n, const char *path) {
    kiln_err err = {0};
    const kiln_build_options o = {.path = path, .seed = 1};
    kiln_assert_status_ok(kiln_package_join(kiln_test_arena(), part, n, &o, &err),
                          &err);
    assert_string_equal(part[0].path, path);
    return path;
}
