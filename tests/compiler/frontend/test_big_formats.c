/* Large files of each format: what import makes of them are views of the mapped file,
 * so that it takes hardly more memory than the file has bytes. Here a few megabytes, of
 * which next to nothing may lie in the model's arena; with KILN_SOAK=1 500 MB each, in
 * a process of its own that must end with 1.2 times the file at most, pages of the file
 * that it has read counted. ONNX is in test_big_model. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/frontend/frontend.h"
#include "tests/support/model/caffe_writer.h"
#include "tests/support/model/cntk_model.h"
#include "tests/support/model/coreml_model.h"
#include "tests/support/model/keras_model.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/mil_model.h"
#include "tests/support/model/mxnet_writer.h"
#include "tests/support/model/pb_text.h"
#include "tests/support/model/pt2_model.h"
#include "tests/support/model/tf_writer.h"
#include "tests/support/model/tflite_writer.h"

enum { COLUMNS = 1024, ROWS = 1024, SOAK_ROWS = 122071, PATH_TEXT = 1024 };

/* Writes a model of a matrix of so many rows below `dir`; returns what to import. */
typedef const char *make_fn(kiln_arena *a, const char *dir, int rows);

typedef struct row {
    const char *name;
    make_fn *make;
} row;

static const char *put(kiln_arena *a, const char *dir, const char *name,
                       kiln_str bytes) {
    kiln_err err = {0};
    const char *const path = kiln_path_join(a, dir, name);
    kiln_assert_status_ok(kiln_file_write(path, bytes.p, bytes.n, &err), &err);
    return path;
}

static const char *folder(kiln_arena *a, const char *dir, const char *name) {
    kiln_err err = {0};
    const char *const path = kiln_path_join(a, dir, name);
    kiln_assert_status_ok(kiln_dir_make(path, &err), &err);
    return path;
}

static const float *zeros(kiln_arena *a, int rows) {
    return kiln_array(a, float, (size_t)rows *COLUMNS);
}

static const char *tflite(kiln_arena *a, const char *dir, int rows) {
    enum { FULLY_CONNECTED = 9 };
    const int32_t x[] = {1, COLUMNS}, w[] = {rows, COLUMNS}, y[] = {1, rows};
    const int32_t in[] = {0, 1, -1}, out[] = {2};
    kiln_tfw m = kiln_tfw_begin();
    kiln_tfw_input(&m, kiln_tfw_tensor(&m, "x", KILN_TFW_F32, 2, x, NULL, 0));
    kiln_tfw_tensor(&m, "w", KILN_TFW_F32, 2, w, zeros(a, rows),
                    (size_t)rows * COLUMNS * sizeof(float));
    kiln_tfw_output(&m, kiln_tfw_tensor(&m, "y", KILN_TFW_F32, 2, y, NULL, 0));
    kiln_tfw_op(&m, FULLY_CONNECTED, NULL, 3, in, 1, out);
    return put(a, dir, "m.tflite", kiln_tfw_write(&m));
}

static const char *graph_def(kiln_arena *a, const char *dir, int rows) {
    return put(
        a, dir, "m.pb",
        kiln_tf_graph_of(a, kiln_format(a,
                                        "x Placeholder dtype=t1 shape=S1,1024\n"
                                        "w Const dtype=t1 value=Z1024,%d\ny MatMul x w",
                                        rows)));
}

static const char *saved_model(kiln_arena *a, const char *dir, int rows) {
    static const kiln_tf_test_function f = {
        "model", "x w", "product", "product=m:product:0",
        "k ReadVariableOp w dtype=t1\nm MatMul x k:value:0"};
    const char *const shape = kiln_format(a, "1024,%d", rows);
    const kiln_tf_test_variable v = {.key = "dense/kernel/.ATTRIBUTES/VALUE",
                                     .full = "dense/kernel",
                                     .shape = shape,
                                     .n = (size_t)rows * COLUMNS,
                                     .many = zeros(a, rows)};
    kiln_str index, data;
    kiln_tf_bundle_of(a, &v, 1, &index, &data);
    const char *const graph =
        kiln_format(a,
                    "given Placeholder dtype=t1 shape=S1,1024\n"
                    "w VarHandleOp dtype=t1 shape=S%s shared_name=sdense/kernel\n"
                    "call StatefulPartitionedCall given w f=Nmodel",
                    shape);
    const char *const whole = folder(a, dir, "saved");
    const char *const variables = folder(a, whole, "variables");
    put(a, whole, "saved_model.pb",
        kiln_tf_saved_of(a, kiln_tf_library_of(a, graph, &f, 1), "x=given:0",
                         "y=call:0"));
    put(a, variables, "variables.index", index);
    put(a, variables, "variables.data-00000-of-00001", data);
    return whole;
}

#define DENSE                                                                          \
    "{'class_name': 'Dense', 'config': {'name': 'd', 'units': %d, 'use_bias': false, " \
    "'activation': 'linear'}}"

static const char *keras_h5(kiln_arena *a, const char *dir, int rows) {
    const kiln_test_weight w[] = {
        {"d", "d/kernel:0", kiln_format(a, "1024,%d:*", rows)}, {NULL, NULL, NULL}};
    const char *const model =
        kiln_test_sequential(a, "null,1024", kiln_format(a, DENSE, rows));
    return put(a, dir, "m.h5", kiln_test_keras_h5(a, model, "2.10.0", w));
}

static const char *keras_zip(kiln_arena *a, const char *dir, int rows) {
    static const char *const names[] = {"metadata.json", "config.json",
                                        "model.weights.h5"};
    const kiln_test_weight w[] = {
        {NULL, "layers/dense/vars/0", kiln_format(a, "1024,%d:*", rows)},
        {NULL, NULL, NULL}};
    const kiln_str bytes[] = {KILN_STR_LIT("{\"keras_version\": \"3.15.1\"}"),
                              kiln_str_from(kiln_test_sequential(
                                  a, "null,1024", kiln_format(a, DENSE, rows))),
                              kiln_test_keras_weights(a, w)};
    return put(a, dir, "m.keras", kiln_test_zip(a, names, bytes, 3));
}

static const char *pt2(kiln_arena *a, const char *dir, int rows) {
    const kiln_test_pt2_tensor t[] = {
        {.name = "x", .dims = "1,1024"},
        {.name = "w",
         .dims = kiln_format(a, "%d,1024", rows),
         .numbers = kiln_format(a, "*%d", rows * COLUMNS)}};
    return put(
        a, dir, "m.pt2",
        kiln_test_pt2(a, t, 2, "y = aten.linear.default(input=x, weight=w)", "y"));
}

static void put_number(char to[5], int v) {
    to[0] = 'J';
    for (int i = 0; i < 4; i++)
        to[1 + i] = (char)(unsigned char)(v >> (8 * i) & 255);
}

/* The object has one member, a matrix; sizes as a pickle has them. */
static const char *script(kiln_arena *a, const char *dir, int rows) {
    static const char *const names[] = {"net/data.pkl", "net/code/__torch__.py",
                                        "net/data/0", "net/constants.pkl",
                                        "net/version"};
    static const char code[] =
        "class Net(Module):\n  __parameters__ = [\"w\", ]\n  __buffers__ = []\n"
        "  w : Tensor\n  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n"
        "    w = self.w\n    _0 = torch.linear(x, w)\n    return _0\n";
    char n[5], all[5];
    kiln_buf b;
    put_number(n, rows);
    put_number(all, rows * COLUMNS);
    kiln_buf_init(&b, a);
#define PUT(text) kiln_buf_add(&b, text, sizeof(text) - 1)
    PUT("\x80\x02"
        "c__torch__\nNet\n)\x81}(X\x01\0\0\0w"
        "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage"
        "\nU\x01"
        "0U\x03"
        "cpu");
    kiln_buf_add(&b, all, sizeof all);
    PUT("tQK\0");
    kiln_buf_add(&b, n, sizeof n);
    PUT("M\0\4\x86M\0\4K\1\x86\x89NtRub.");
#undef PUT
    const kiln_str bytes[] = {
        kiln_buf_str(&b),
        kiln_str_from(code),
        {(const char *)zeros(a, rows), (size_t)rows * COLUMNS * sizeof(float)},
        KILN_STR_LIT("\x80\x02)."),
        KILN_STR_LIT("3\n")};
    return put(a, dir, "m.pt", kiln_test_zip(a, names, bytes, 5));
}

static const char *mxnet(kiln_arena *a, const char *dir, int rows) {
    const kiln_test_mxnet_array w = {"arg:w", kiln_format(a, "%d,1024: *", rows)};
    put(a, dir, "m-0000.params", kiln_test_mxnet_params(a, 2, &w, 1));
    return put(
        a, dir, "m-symbol.json",
        kiln_str_from(kiln_test_quoted(
            a, kiln_format(a,
                           "{'nodes': [{'op': 'null', 'name': 'x', 'inputs': []}, "
                           "{'op': 'null', 'name': 'w', 'inputs': []}, {'op': "
                           "'FullyConnected', 'name': 'y', 'attrs': {'no_bias': "
                           "'True', 'num_hidden': '%d'}, 'inputs': [[0, 0, 0], "
                           "[1, 0, 0]]}], 'arg_nodes': [0, 1], 'heads': [[2, 0, 0]]}",
                           rows))));
}

static const char *caffe(kiln_arena *a, const char *dir, int rows) {
    const kiln_test_caffe_layer layer = {"l", kiln_format(a, "%d,1024: *", rows)};
    put(a, dir, "m.caffemodel", kiln_test_caffe_weights(a, &layer, 1));
    return put(
        a, dir, "m.prototxt",
        kiln_str_from(kiln_format(
            a,
            "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 "
            "dim: 1024 } } } layer { name: 'l' type: 'InnerProduct' bottom: 'x' top: "
            "'y' inner_product_param { num_output: %d bias_term: false } }",
            rows)));
}

static const char *coreml(kiln_arena *a, const char *dir, int rows) {
    return put(a, dir, "m.mlmodel",
               kiln_test_coreml(a, false, "1024,1,1", NULL,
                                kiln_format(a,
                                            "1:{1:'a' 2:'x' 3:'y' 140:{1:1024 2:%d "
                                            "20:w(*%d)}}",
                                            rows, rows * COLUMNS),
                                NULL));
}

static const char *mlprogram(kiln_arena *a, const char *dir, int rows) {
    const char *const whole = folder(a, dir, "m.mlpackage");
    const char *const inner = folder(a, folder(a, whole, "Data"), "com.apple.CoreML");
    put(a, inner, "model.mlmodel",
        kiln_test_mil(a, "1,1024",
                      kiln_format(a, "y = linear x=x weight=@64(%d,1024)", rows)));
    put(a, folder(a, inner, "weights"), "weight.bin",
        kiln_test_mil_weights(a, zeros(a, rows), (size_t)rows * COLUMNS));
    return whole;
}

static const char *cntk(kiln_arena *a, const char *dir, int rows) {
    const char *const w = kiln_format(a, CNTK_PARAMETER("w", "%d,1024", "*%d"), rows,
                                      rows, rows * COLUMNS);
    const char *const f =
        CNTK_FUNCTION("f", "31", CNTK_ITEM_TEXT("w") CNTK_ITEM_TEXT("x"),
                      CNTK_SIZE("outputRank", "1"));
    return put(a, dir, "m.model", kiln_test_cntk(a, "1024", NULL, w, f, "f"));
}

/* ---- convolutions of formats that keep channels last, whose filters are turned ----- */

static const char *tflite_conv(kiln_arena *a, const char *dir, int rows) {
    enum { CONV_2D = 3, STRIDE_W = 1, STRIDE_H = 2 };
    const int32_t x[] = {1, 1, 1, COLUMNS}, w[] = {rows, 1, 1, COLUMNS},
                  y[] = {1, 1, 1, rows}, bias[] = {rows};
    const int32_t in[] = {0, 1, 2}, out[] = {3};
    kiln_tfw m = kiln_tfw_begin();
    kiln_tfw_input(&m, kiln_tfw_tensor(&m, "x", KILN_TFW_F32, 4, x, NULL, 0));
    kiln_tfw_tensor(&m, "w", KILN_TFW_F32, 4, w, zeros(a, rows),
                    (size_t)rows * COLUMNS * sizeof(float));
    kiln_tfw_tensor(&m, "b", KILN_TFW_F32, 1, bias, kiln_array(a, float, rows),
                    (size_t)rows * sizeof(float));
    kiln_tfw_output(&m, kiln_tfw_tensor(&m, "y", KILN_TFW_F32, 4, y, NULL, 0));
    kiln_fbw_table *const o = kiln_tfw_op(&m, CONV_2D, NULL, 3, in, 1, out);
    kiln_fbw_int(o, STRIDE_W, 4, 1);
    kiln_fbw_int(o, STRIDE_H, 4, 1);
    return put(a, dir, "m.tflite", kiln_tfw_write(&m));
}

static const char *graph_def_conv(kiln_arena *a, const char *dir, int rows) {
    return put(
        a, dir, "m.pb",
        kiln_tf_graph_of(a, kiln_format(a,
                                        "x Placeholder dtype=t1 shape=S1,1,1,1024\n"
                                        "w Const dtype=t1 value=Z1,1,1024,%d\n"
                                        "y Conv2D x w strides=l1,1,1,1 padding=sVALID",
                                        rows)));
}

static const char *keras_conv(kiln_arena *a, const char *dir, int rows) {
    const kiln_test_weight w[] = {
        {"c", "c/kernel:0", kiln_format(a, "1,1,1024,%d:*", rows)}, {NULL, NULL, NULL}};
    const char *const model = kiln_test_sequential(
        a, "1,1,1,1024",
        kiln_format(a,
                    "{'class_name': 'Conv2D', 'config': {'name': 'c', 'filters': %d, "
                    "'kernel_size': [1, 1], 'use_bias': false}}",
                    rows));
    return put(a, dir, "m.h5", kiln_test_keras_h5(a, model, "2.10.0", w));
}

static row rows[] = {
    {"tflite", tflite},     {"graph_def", graph_def}, {"saved_model", saved_model},
    {"keras_h5", keras_h5}, {"keras_zip", keras_zip}, {"pt2", pt2},
    {"script", script},     {"mxnet", mxnet},         {"caffe", caffe},
    {"coreml", coreml},     {"mlprogram", mlprogram}, {"cntk", cntk},
};

/* Of these alone is the memory of large files looked at. */
static row turned[] = {{"tflite_conv", tflite_conv},
                       {"graph_def_conv", graph_def_conv},
                       {"keras_conv", keras_conv}};

static void import(kiln_arena *a, const char *path) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const kiln_shape_binding x = {.name = "x", .rank = 2, .dim = {1, COLUMNS}};
    kiln_import_options o = {.shapes = &x, .n_shapes = 1};
    kiln_declared_input *in = NULL;
    size_t n = 0;
    kiln_assert_status_ok(kiln_import_inputs(a, path, &in, &n, &err), &err);
    assert_int_equal(n, 1);
    if (in[0].rank > 2)
        o.n_shapes = 0;
    kiln_assert_status_ok(kiln_import(a, path, &o, &g, NULL, &err), &err);
    assert_true(g->nodes.n >= 1);
}

static void constants_are_views(void **state) {
    const row *const r = *state;
    kiln_arena a = {0};
    const char *const path = r->make(kiln_test_arena(), kiln_test_dir(), ROWS);
    import(&a, path);
    print_message("%s: %zu bytes of the model's arena for %d of weights\n", r->name,
                  a.peak_bytes, ROWS * COLUMNS * (int)sizeof(float));
    assert_in_range(a.peak_bytes, 0, ROWS * COLUMNS * sizeof(float) / 8);
    kiln_arena_fini(&a);
}

/* In a process of its own; what it ends with. */
static int of_child(void (*run)(const row *r, const char *dir, void *to), const row *r,
                    const char *dir, void *to, size_t bytes) {
    int pipe_of[2], how = -1;
    assert_int_equal(pipe(pipe_of), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run(r, dir, to);
        _exit(write(pipe_of[1], to, bytes) == (ssize_t)bytes ? 0 : 1);
    }
    close(pipe_of[1]);
    const ssize_t got = read(pipe_of[0], to, bytes);
    close(pipe_of[0]);
    assert_int_equal(waitpid(child, &how, 0), child);
    return got == (ssize_t)bytes ? how : -1;
}

static void write_large(const row *r, const char *dir, void *to) {
    kiln_arena a = {0};
    snprintf(to, PATH_TEXT, "%s", r->make(&a, dir, SOAK_ROWS));
}

static int64_t peak_bytes(void) {
    struct rusage u = {0};
    getrusage(RUSAGE_SELF, &u);
    return (int64_t)u.ru_maxrss * 1024;
}

/* What the process has of its parent is not the import's. */
static void measure(const row *r, const char *path, void *to) {
    kiln_arena a = {0};
    const int64_t before = peak_bytes();
    (void)r;
    import(&a, path);
    *(int64_t *)to = peak_bytes() - before;
}

static void import_takes_little_more(void **state) {
    const row *const r = *state;
    char path[PATH_TEXT] = {0};
    int64_t peak = 0;
    const int64_t bytes = (int64_t)SOAK_ROWS * COLUMNS * (int64_t)sizeof(float);
    assert_int_equal(of_child(write_large, r, kiln_test_dir(), path, sizeof path), 0);
    assert_int_equal(of_child(measure, r, path, &peak, sizeof peak), 0);
    print_message("%s: %.0f MB of weights imported by %.0f MB\n", r->name,
                  (double)bytes / 1e6, (double)peak / 1e6);
    assert_in_range(peak, 0, bytes / 5 * 6);
}

static void add_large(row *r, size_t n) {
    for (size_t i = 0; i < n && getenv("KILN_SOAK") != NULL; i++)
        kiln_test_add(kiln_format(kiln_test_arena(), "%s_of_500_mb", r[i].name),
                      import_takes_little_more, &r[i]);
}

int main(void) {
    kiln_test_add_rows(constants_are_views, rows);
    add_large(rows, sizeof rows / sizeof rows[0]);
    add_large(turned, sizeof turned / sizeof turned[0]);
    return kiln_test_run("big_formats");
}
