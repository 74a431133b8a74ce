/* A table-driven reader of the protobuf wire format, over a mapped file.
 *
 * A message is described by a table: field number, kind, where it goes in a struct.
 * Reading makes two passes over each message: the first checks the structure and counts
 * repeated fields, the second fills arrays of exactly that size. Bytes and strings stay
 * views into the file, and so do packed arrays of fixed32 and fixed64 where they lie
 * aligned; bulk data is neither copied nor touched. Unknown fields are skipped. Source:
 * Protocol Buffers, "Encoding" (wire types 0, 1, 2 and 5; groups are refused).
 */
#ifndef KILN_COMPILER_FRONTEND_PROTOBUF_H
#define KILN_COMPILER_FRONTEND_PROTOBUF_H

#include "base/base.h"

enum {
    KILN_PB_MAX_FIELDS = 64, /* of one table */
    KILN_PB_MAX_DEPTH =
        100, /* messages inside messages; the limit of the public readers */
};

/* A field number that protobuf allows ends here; also the wire's own limit. */
#define KILN_PB_MAX_NUMBER ((uint64_t)((1u << 29) - 1))

typedef enum kiln_pb_kind {
    KILN_PB_I64,     /* varint -> int64_t (int64, int32, enum) */
    KILN_PB_I32,     /* varint -> int32_t, the low 32 bits */
    KILN_PB_U64,     /* varint -> uint64_t */
    KILN_PB_BOOL,    /* varint -> bool */
    KILN_PB_F32,     /* fixed32 -> float */
    KILN_PB_F64,     /* fixed64 -> double */
    KILN_PB_BYTES,   /* bytes, string -> kiln_str, a view */
    KILN_PB_MESSAGE, /* -> struct in an array (repeated) or a pointer to a new struct */
    KILN_PB_INLINE,  /* message whose fields go into a struct inside this one, at
                        `offset` */
    KILN_PB_COUNT    /* any repeated field -> size_t, how many; contents are skipped */
} kiln_pb_kind;

typedef struct kiln_pb_message kiln_pb_message;

/* Where the second number of a field goes, when it has one: see kiln_pb_field.also. */
#define KILN_PB_NONE ((size_t)-1)

typedef struct kiln_pb_field {
    uint32_t number;
    kiln_pb_kind kind;
    bool is_repeated; /* the struct has a pointer to const elements */
    const char *name; /* for messages */
    size_t offset;    /* of the value, or of the pointer to the array */
    size_t also; /* repeated: offset of the size_t count; single: of a bool "was given",
                    or KILN_PB_NONE */
    const kiln_pb_message *sub; /* MESSAGE, INLINE; I64 of an enumeration: its values,
                                   by number and name, for the text format */
} kiln_pb_field;

struct kiln_pb_message {
    const char *name; /* for messages */
    size_t size;      /* of its struct */
    const kiln_pb_field *field;
    size_t n_field; /* <= KILN_PB_MAX_FIELDS */
};

/* Of one element of the field in a struct or an array. */
size_t kiln_pb_elem_bytes(const kiln_pb_field *f);

/* Reads one message from `bytes` into *out (m->size bytes, zeroed here). Arrays and
 * sub-structs are made in `a`; views borrow `bytes`. Memory made is held below 64 MiB +
 * 16 bytes per byte of input (KILN_ERR_LIMIT). KILN_ERR_PARSE names message, field and
 * byte offset. */
kiln_status kiln_pb_read(kiln_arena *a, const kiln_pb_message *m, kiln_str bytes,
                         void *out, kiln_err *err);

/* One field as it lies on the wire: for sniffing formats. */
typedef struct kiln_pb_wire {
    uint32_t number;
    unsigned type;  /* 0 varint, 1 fixed64, 2 length-delimited, 5 fixed32 */
    uint64_t value; /* varint or fixed */
    kiln_str bytes; /* length-delimited */
} kiln_pb_wire;

/* Takes one field from the front of *rest; false at the end or where the bytes are not
 * protobuf (then rest is not empty). */
bool kiln_pb_next(kiln_str *rest, kiln_pb_wire *out);

#endif
