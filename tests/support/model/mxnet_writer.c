#include "tests/support/model/mxnet_writer.h"

#include <string.h>

static void put(kiln_buf *b, uint64_t v, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        const char c = (char)(unsigned char)(v >> (8 * i));
        kiln_buf_add(b, &c, 1);
    }
}

static void put_array(kiln_buf *b, int version, const kiln_test_array *v) {
    enum { CPU = 1, F32 = 0, DENSE = 0, V1 = 0x8, V2 = 0x9, V3 = 0xa };
    static const uint64_t last[] = {0, V1, V2, V3};
    if (version == 0) {
        put(b, v->rank, 4);
    } else {
        put(b, UINT64_C(0xF993FAC0) | last[version], 4);
        if (version > 1)
            put(b, DENSE, 4);
        put(b, v->rank, 4);
    }
    for (size_t i = 0; i < v->rank; i++)
        put(b, (uint64_t)v->dim[i], version == 0 ? 4 : 8);
    put(b, CPU, 4);
    put(b, 0, 4);
    put(b, F32, 4);
    kiln_buf_add(b, v->v, v->n * sizeof v->v[0]);
}

kiln_str kiln_test_mxnet_params(kiln_arena *a, int version,
                                const kiln_test_mxnet_array *array, size_t n) {
    enum { MAGIC = 0x112 };
    kiln_buf b;
    kiln_buf_init(&b, a);
    put(&b, MAGIC, 8);
    put(&b, 0, 8);
    put(&b, n, 8);
    for (size_t i = 0; i < n; i++) {
        kiln_test_array v;
        kiln_test_array_read(a, kiln_str_from(array[i].array), &v);
        put_array(&b, version, &v);
    }
    put(&b, n, 8);
    for (size_t i = 0; i < n; i++) {
        put(&b, strlen(array[i].name), 8);
        kiln_buf_puts(&b, array[i].name);
    }
    return kiln_buf_str(&b);
}
