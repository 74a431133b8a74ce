/* Models of 1 GB and more: import maps the file and touches no weight. The files are
 * sparse, so the test needs no disk; weights lie at odd addresses, as protobuf aligns
 * nothing. The time is printed, never asserted. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "compiler/frontend/frontend.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/onnx_writer.h"

enum { BYTES = 2 }; /* wire type */
enum { GRAPH = 7, INITIALIZER = 5, RAW_DATA = 9 };

/* What import may need beside the mapped file: tables, names, the tool itself. */
static const int64_t max_growth_bytes = (int64_t)64 << 20;

typedef struct row {
    const char *name;
    int64_t rows;        /* of the weight matrix of 16384 columns */
    bool is_external;    /* weights in a file beside the model */
    const char *padding; /* moves the weights by a byte each */
} row;

static row rows[] = {
    {"one_gigabyte", 16384, false, "_"},
    {"one_gigabyte_elsewhere", 16384, false, "__"},
    {"over_two_gigabytes", 40000, false, "___"},
    {"over_two_gigabytes_external", 40000, true, ""},
};

static int64_t peak_rss_bytes(void) {
    struct rusage u;
    assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
    return (int64_t)u.ru_maxrss * 1024;
}

static void put_head(kiln_buf *b, uint32_t field, uint64_t bytes) {
    kiln_pb_put_varint(b, ((uint64_t)field << 3) | BYTES);
    kiln_pb_put_varint(b, bytes);
}

static kiln_onnx_writer begin(kiln_arena *a, const row *r) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, kiln_format(a, "big%s", r->padding));
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT,
                        kiln_format(a, "1,%" PRId64, r->rows));
    kiln_onnx_put_node(&m, "MatMul", "m", "x,w", "h");
    kiln_onnx_put_node(&m, "Relu", "r", "h", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "1,16384");
    return m;
}

static void write_sparse(const char *path, kiln_str head, int64_t hole_bytes) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, head.p, head.n), (ssize_t)head.n);
    assert_int_equal(ftruncate(fd, (off_t)head.n + hole_bytes), 0);
    assert_int_equal(close(fd), 0);
}

/* Everything but the weights comes first, so that the file ends in a hole. */
static kiln_str head_of(kiln_arena *a, const row *r, int64_t weight_bytes) {
    const char *const shape = kiln_format(a, "%" PRId64 ",16384", r->rows);
    kiln_onnx_writer m = begin(a, r);
    const kiln_str graph = kiln_onnx_finish_graph(&m);
    kiln_str tensor = kiln_onnx_raw_tensor(a, "w", KILN_ONNX_FLOAT, shape, "", 0);
    tensor.n -= 2; /* the empty raw_data: a tag and a length */
    kiln_buf big, before, out;
    kiln_buf_init(&big, a);
    kiln_buf_init(&before, a);
    kiln_buf_init(&out, a);
    put_head(&big, RAW_DATA, (uint64_t)weight_bytes);
    const uint64_t tensor_bytes = tensor.n + big.n + (uint64_t)weight_bytes;
    put_head(&before, INITIALIZER, tensor_bytes);
    kiln_pb_put_int(&out, 1, 8);
    kiln_pb_put_bytes(&out, 8, KILN_STR_LIT("\x0a\x00\x10\x0d")); /* opset 13 */
    put_head(&out, GRAPH, graph.n + before.n + tensor_bytes);
    kiln_buf_add(&out, graph.p, graph.n);
    kiln_buf_add(&out, before.p, before.n);
    kiln_buf_add(&out, tensor.p, tensor.n);
    kiln_buf_add(&out, big.p, big.n);
    return kiln_buf_str(&out);
}

static const char *write_model(kiln_arena *a, const row *r, int64_t weight_bytes) {
    const char *const path = kiln_path_join(a, kiln_test_dir(), "big.onnx");
    if (!r->is_external) {
        write_sparse(path, head_of(a, r, weight_bytes), weight_bytes);
        return path;
    }
    const char *const shape = kiln_format(a, "%" PRId64 ",16384", r->rows);
    const char *const data = kiln_path_join(a, kiln_path_dir(a, path), "weights.bin");
    kiln_onnx_writer m = begin(a, r);
    kiln_err err = {0};
    kiln_onnx_put_initializer(&m, kiln_onnx_external_tensor(a, "w", KILN_ONNX_FLOAT,
                                                            shape, "weights.bin", 64,
                                                            weight_bytes));
    const kiln_str bytes = kiln_onnx_finish_model(&m, 8, 13);
    kiln_assert_status_ok(kiln_file_write(path, bytes.p, bytes.n, &err), &err);
    write_sparse(data, (kiln_str){"", 0}, 64 + weight_bytes);
    return path;
}

static void imports_without_touching(void **state) {
    const row *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const int64_t weight_bytes = r->rows * 16384 * (int64_t)sizeof(float);
    const char *const path = write_model(&a, r, weight_bytes);
    const int64_t before = peak_rss_bytes(), start = kiln_now_ns();
    kiln_assert_status_ok(kiln_import(&a, path, NULL, &g, NULL, &err), &err);
    const int64_t time_ns = kiln_now_ns() - start, growth = peak_rss_bytes() - before;
    print_message("%s: %.2f GB in %.1f ms, %.1f MB more memory\n", r->name,
                  (double)weight_bytes / 1e9, (double)time_ns / 1e6,
                  (double)growth / 1e6);
    assert_int_equal(g->nodes.n, 2);
    const kiln_value *const w = g->nodes.v[0]->in[1];
    assert_true(kiln_value_is_const(w));
    assert_int_equal(kiln_type_bytes(&w->type), weight_bytes);
    assert_true(growth < max_growth_bytes);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(imports_without_touching, rows);
    return kiln_test_run("big_model");
}
