#include "tests/support/caffe_writer.h"

#include "zoo/onnx_write.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMS = 256 };

size_t kiln_test_numbers(const char *text, float *out, size_t max) {
    size_t n = 0;
    for (char *end = NULL; *text != '\0'; text = end) {
        const float v = strtof(text, &end);
        if (end == text)
            break;
        assert_true(n < max);
        out[n++] = v;
    }
    return n;
}

/* "2,3: 1 2 3 4 5 6" */
static void put_blob(kiln_arena *a, kiln_buf *layer, kiln_str text) {
    kiln_buf blob, dims, shape;
    kiln_str dim_text, dim;
    float v[MAX_ELEMS];
    kiln_buf_init(&blob, a);
    kiln_buf_init(&dims, a);
    kiln_buf_init(&shape, a);
    assert_true(kiln_str_cut(&text, ':', &dim_text));
    while (kiln_str_cut(&dim_text, ',', &dim)) {
        int64_t d = 0;
        assert_true(kiln_parse_i64(kiln_str_trim(dim), &d));
        kiln_pb_put_varint(&dims, (uint64_t)d);
    }
    const size_t n = kiln_test_numbers(kiln_str_dupv(a, text), v, MAX_ELEMS);
    kiln_pb_put_bytes(&shape, 1, kiln_buf_str(&dims));
    kiln_pb_put_bytes(&blob, 7, kiln_buf_str(&shape));
    kiln_pb_put_bytes(&blob, 5, (kiln_str){(const char *)v, n * sizeof v[0]});
    kiln_pb_put_bytes(layer, 7, kiln_buf_str(&blob));
}

kiln_str kiln_test_caffe_weights(kiln_arena *a, const kiln_test_caffe_layer *layer,
                                 size_t n) {
    kiln_buf net;
    kiln_buf_init(&net, a);
    kiln_pb_put_text(&net, 1, "net");
    for (size_t i = 0; i < n; i++) {
        kiln_buf one;
        kiln_str rest = kiln_str_from(layer[i].blobs), blob;
        kiln_buf_init(&one, a);
        kiln_pb_put_text(&one, 1, layer[i].name);
        kiln_pb_put_text(&one, 2, "Layer");
        while (layer[i].blobs != NULL && kiln_str_cut(&rest, ';', &blob))
            put_blob(a, &one, blob);
        kiln_pb_put_bytes(&net, 100, kiln_buf_str(&one));
    }
    return kiln_buf_str(&net);
}
