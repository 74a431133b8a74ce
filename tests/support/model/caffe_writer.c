#include "tests/support/model/caffe_writer.h"

#include "zoo/onnx_write.h"

/* "2,3: 1 2 3 4 5 6" */
static void put_blob(kiln_arena *a, kiln_buf *layer, kiln_str text) {
    kiln_buf blob, dims, shape;
    kiln_test_array v;
    kiln_buf_init(&blob, a);
    kiln_buf_init(&dims, a);
    kiln_buf_init(&shape, a);
    kiln_test_array_read(a, text, &v);
    for (size_t i = 0; i < v.rank; i++)
        kiln_pb_put_varint(&dims, (uint64_t)v.dim[i]);
    kiln_pb_put_bytes(&shape, 1, kiln_buf_str(&dims));
    kiln_pb_put_bytes(&blob, 7, kiln_buf_str(&shape));
    kiln_pb_put_bytes(&blob, 5, (kiln_str){(const char *)v.v, v.n * sizeof v.v[0]});
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
