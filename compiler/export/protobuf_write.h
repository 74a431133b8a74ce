/* Writing protobuf's wire format: the other way of compiler/frontend/protobuf.h.
 *
 * A message is text in a buffer, field by field in the order of the calls; one inside
 * another is written apart and put in as bytes. Nothing is checked. Source: Protocol
 * Buffers, "Encoding". */
#ifndef KILN_COMPILER_EXPORT_PROTOBUF_WRITE_H
#define KILN_COMPILER_EXPORT_PROTOBUF_WRITE_H

#include "base/base.h"

void kiln_pb_put_varint(kiln_buf *b, uint64_t v); /* without a tag */
void kiln_pb_put_int(kiln_buf *b, uint32_t field, int64_t v);
void kiln_pb_put_float(kiln_buf *b, uint32_t field, float v);
void kiln_pb_put_bytes(kiln_buf *b, uint32_t field, kiln_str v);
void kiln_pb_put_text(kiln_buf *b, uint32_t field, const char *v);
/* Tag and length alone, of bytes that whoever calls puts elsewhere. */
void kiln_pb_put_head(kiln_buf *b, uint32_t field, uint64_t bytes);

#endif
