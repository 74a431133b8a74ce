/* Protobuf's text format, by the same tables as its wire format (protobuf.h).
 *
 *     layer { name: "conv1" type: "Convolution" convolution_param { num_output: 8 } }
 *
 * A table's names are those of the .proto file. An enumeration's values are written by
 * name, so an I64 field that is one has a table of them as its `sub`. A name that the
 * table does not have is refused, as protobuf's own reader does, unless the table has a
 * row of kind COUNT whose name is '*' and an ending ("*_param"), which it has: then it is
 * skipped, and counted there. Fields of kind COUNT are skipped whatever they hold. Strings are views into the text where they
 * have no escapes. Source: Protocol Buffers, "Text Format Language Specification";
 * extensions and Any are refused. */
#ifndef KILN_COMPILER_FRONTEND_PROTOBUF_TEXT_H
#define KILN_COMPILER_FRONTEND_PROTOBUF_TEXT_H

#include "compiler/frontend/protobuf.h"

enum { KILN_PB_TEXT_MAX_BYTES = 64 << 20 };

/* As kiln_pb_read. Messages name file, line, column, message and field. A field that is
 * not repeated must not be given twice. KILN_ERR_LIMIT: a text of more than
 * KILN_PB_TEXT_MAX_BYTES, messages nested more than KILN_PB_MAX_DEPTH deep, or memory as
 * for kiln_pb_read. */
kiln_status kiln_pb_read_text(kiln_arena *a, const kiln_pb_message *m, kiln_str text,
                              const char *file, void *out, kiln_err *err);

#endif
