/* A table-driven reader of flatbuffers, over a mapped file.
 *
 * A flatbuffers table is described by a table of ours: slot, kind, where it goes in a
 * struct. Nothing of the file is trusted: every offset, virtual table, vector and string
 * is held against the file before it is used, and numbers are read wherever they lie,
 * aligned or not. Strings and bytes stay views into the file, and so do vectors of
 * numbers that lie aligned; bulk data is neither copied nor touched. Slots that no row
 * names are skipped; slots that the file leaves out have the row's value. Source:
 * FlatBuffers, "Internals".
 */
#ifndef KILN_COMPILER_FRONTEND_FLATBUFFERS_H
#define KILN_COMPILER_FRONTEND_FLATBUFFERS_H

#include "base/base.h"

enum {
    KILN_FB_MAX_DEPTH = 64 /* tables inside tables, as the public verifier has it */
};

/* A table that is read later, by what another field says it is: its position in the
 * file; 0: there is none. */
typedef uint64_t kiln_fb_ref;

typedef enum kiln_fb_kind {
    KILN_FB_BOOL, /* numbers -> int64_t */
    KILN_FB_I8,
    KILN_FB_U8,
    KILN_FB_I32,
    KILN_FB_U32,
    KILN_FB_I64,
    KILN_FB_U64,
    KILN_FB_F32,    /* -> double */
    KILN_FB_STRING, /* -> kiln_str, a view; absent: {NULL, 0} */
    KILN_FB_BYTES,  /* vector of bytes -> kiln_str, a view */
    KILN_FB_U16S,   /* vectors of numbers -> pointer to const, and size_t at `also` */
    KILN_FB_I32S,
    KILN_FB_F32S,
    KILN_FB_I64S,
    KILN_FB_REF,   /* table -> kiln_fb_ref */
    KILN_FB_TABLE, /* -> pointer to a new struct; absent: NULL */
    KILN_FB_TABLES /* vector of tables -> array of structs, and size_t at `also` */
} kiln_fb_kind;

typedef struct kiln_fb_table kiln_fb_table;

typedef struct kiln_fb_field {
    unsigned slot; /* number of the field in its table, unions counted as two */
    kiln_fb_kind kind;
    const char *name;         /* for messages */
    size_t offset;            /* of the value, or of the pointer */
    size_t also;              /* vectors: of the size_t count */
    int64_t otherwise;        /* integers: when the file leaves the field out */
    const kiln_fb_table *sub; /* TABLE, TABLES */
} kiln_fb_field;

struct kiln_fb_table {
    const char *name; /* for messages */
    size_t size;      /* of its struct */
    const kiln_fb_field *field;
    size_t n_field;
};

/* A file being read. */
typedef struct kiln_fb {
    kiln_arena *arena; /* of structs and arrays; borrowed */
    kiln_str bytes;    /* borrowed by all views */
    uint64_t budget;   /* bytes that may still be made */
    kiln_err *err;
} kiln_fb;

/* Memory made is held below 64 MiB + 16 bytes per byte of input (KILN_ERR_LIMIT). */
kiln_fb kiln_fb_begin(kiln_arena *a, kiln_str bytes, kiln_err *err);
/* Reads the table that the file begins with into *out (t->size bytes, zeroed here).
 * KILN_ERR_PARSE names table, field and byte offset. */
kiln_status kiln_fb_root(kiln_fb *fb, const kiln_fb_table *t, void *out);
/* The same for a table read later; ref 0: one without fields. */
kiln_status kiln_fb_at(kiln_fb *fb, kiln_fb_ref ref, const kiln_fb_table *t, void *out);

#endif
