/* Writing protobuf; see protobuf_write.h. */
#include "compiler/export/protobuf_write.h"

enum { VARINT = 0, BYTES = 2, FIXED32 = 5 };

void kiln_pb_put_varint(kiln_buf *b, uint64_t v) {
    for (; v >= 0x80; v >>= 7) {
        const char c = (char)(unsigned char)(v | 0x80);
        kiln_buf_add(b, &c, 1);
    }
    const char c = (char)v;
    kiln_buf_add(b, &c, 1);
}

static void put_tag(kiln_buf *b, uint32_t field, unsigned type) {
    kiln_pb_put_varint(b, ((uint64_t)field << 3) | type);
}

void kiln_pb_put_int(kiln_buf *b, uint32_t field, int64_t v) {
    put_tag(b, field, VARINT);
    kiln_pb_put_varint(b, (uint64_t)v);
}

void kiln_pb_put_float(kiln_buf *b, uint32_t field, float v) {
    put_tag(b, field, FIXED32);
    kiln_buf_add(b, &v, sizeof v);
}

void kiln_pb_put_head(kiln_buf *b, uint32_t field, uint64_t bytes) {
    put_tag(b, field, BYTES);
    kiln_pb_put_varint(b, bytes);
}

void kiln_pb_put_bytes(kiln_buf *b, uint32_t field, kiln_str v) {
    kiln_pb_put_head(b, field, v.n);
    if (v.n > 0)
        kiln_buf_add(b, v.p, v.n);
}

void kiln_pb_put_text(kiln_buf *b, uint32_t field, const char *v) {
    kiln_pb_put_bytes(b, field, kiln_str_from(v));
}
