/* Loop programs as C: one function each, of a unit that becomes one file.
 *
 * What is printed is C99 (ISO/IEC 9899:1999) with no library: no libm, no heap, nothing
 * of libc. Types come from <stdint.h> and <stddef.h>, which compilers bring themselves.
 * Functions of expressions are expanded first (compiler/loop/expand.h); square roots,
 * wrapping arithmetic and conversions are helpers in front of the functions, each
 * printed where something uses it. Vectors are loops over their lanes, with constant
 * bounds and `restrict` pointers, so that compilers make vectors of them again.
 *
 * A dialect is a row of dialects.def: the words that C's relatives have otherwise. One
 * with threads prints programs of a device: every thread of a launch runs the function.
 */
#ifndef KILN_COMPILER_CODEGEN_C_C_H
#define KILN_COMPILER_CODEGEN_C_C_H

#include "compiler/loop/backend.h"
#include "compiler/loop/expand.h"
#include "compiler/loop/loop.h"

/* A helper as a dialect has it; letters behind '@' as in helpers.c. */
typedef struct kiln_c_wording {
    const char *name; /* NULL ends a list */
    const char *text;
} kiln_c_wording;

/* Types and operations of vectors; letters behind '@' as in c_vector.c. */
typedef struct kiln_c_vectors {
    const char *floats, *ints, *small, *convert;
    const char *fused; /* multiply-add where contraction is off; NULL: it is muladd */
    const char *near;  /* of an u8 and an i16, as i32; NULL: likewise */
    const char *widen[2]; /* u8, i8 as i32; NULL: as all others */
    /* What integers alone do, of 32 and 64 bits, and the low bits of one; NULL: lane by
     * lane, as all that has 64 bits. */
    const char *bits, *wrap;
    const char *held;  /* f32 as a small integer, in an i32; NULL: lane by lane */
    const char *round; /* of f32, ties to even; NULL: lane by lane */
    /* i32 and four products of bytes each, so many of the two vectors signed, in pieces
     * that end with NULL; four bytes over and over. NULL: lane by lane. */
    const char *const *dot[3];
    const char *quad;
    const char *some; /* the first lanes of memory, where there are counts */
    int max_lanes;
    bool has_counts; /* the first lanes of a vector by themselves */
    bool is_aligned; /* where memory is, it is read and written as one element */
} kiln_c_vectors;

typedef struct kiln_c_dialect {
    const char *name;
    const kiln_backend *backend; /* what is implemented; the rest is refused by name */
    const kiln_natives *natives; /* functions that it has words for, or helpers */
    bool has_functions;          /* of mathematics, as part of the language */
    const char *qualifiers;      /* of functions that only this file calls */
    const char
        *helper; /* the same of helpers, which are small and called for each element */
    const char *restricted; /* behind the star of a pointer that nothing else aliases */
    const char *global;     /* in front of the type that a pointer leads to; "" or ends
                               with a space */
    const char *table;      /* of constant arrays */
    const char *headers;    /* what a file begins with */
    const char *exact, *exactly;   /* in front of a function, and in it, that counts on
                                    each operation's rounding */
    const kiln_c_wording *helpers; /* instead of the common ones; NULL: none */
    const kiln_c_vectors *vectors;
    /* Units are put together to one file: what is common to several is there once. */
    bool is_merged;
    const char *kernel; /* in front of a function that is launched; NULL: nothing is */
    const char *shared; /* in front of a type of a block's memory */
} kiln_c_dialect;

#define KILN_C_DIALECT(word) extern const kiln_c_dialect kiln_c_dialect_##word;
#include "compiler/codegen/c/dialects.def"
#undef KILN_C_DIALECT

extern const kiln_backend kiln_c_backend, kiln_c_backend_opencl;
extern const kiln_natives kiln_c_natives_c99, kiln_c_natives_opencl;
extern const kiln_c_wording kiln_c_helpers_opencl[];
extern const kiln_c_vectors kiln_c_vectors_gnu, kiln_c_vectors_opencl;

/* A file while functions are printed to it. */
typedef struct kiln_c_unit {
    kiln_arena *arena; /* borrowed; all texts live in it */
    const kiln_c_dialect *dialect;
    kiln_buf helpers; /* and tables, in the order of their first use */
    kiln_buf functions;
    kiln_map known; /* helpers, by name */
    int n_tables;
} kiln_c_unit;

void kiln_c_unit_init(kiln_arena *a, const kiln_c_dialect *d, kiln_c_unit *out);

/* A word of it: letters, digits and '_', no keyword, no digit in front. */
char *kiln_c_word(kiln_arena *a, const char *text);
/* Text for a comment: nothing in it ends one. */
char *kiln_c_comment(kiln_arena *a, const char *text);

typedef struct kiln_c_function {
    const char *name;    /* a word */
    const char *comment; /* NULL: none */
    /* By argument: the argument before it that is the same memory, and element for
     * element the same type; -1: none. NULL: no two are the same. */
    const int *same;
    /* Of two arguments whose memory is the same and whose types are not: neither may
     * be restrict. NULL: of none. */
    const bool *is_shared;
    /* KILN_N_AXES extents of the grid that it is launched with; NULL: it is called. Then
     * its parameters follow the pointers, 64 bits each, in front of the workspace. */
    const int64_t *extent;
} kiln_c_function;

/* What who calls it must know. */
typedef struct kiln_c_printed {
    size_t workspace_bytes; /* 0: the function has no parameter for it */
    size_t shared_bytes;    /* of a block */
} kiln_c_printed;

/* One function more: `NAME(pointers of the arguments..., workspace)`, where arguments
 * that are the same memory as another have no pointer. `p` is flat or not; it is not
 * changed. KILN_ERR_UNSUPPORTED names what is not implemented. */
kiln_status kiln_c_print(kiln_c_unit *u, const kiln_program *p,
                         const kiln_c_function *f, kiln_c_printed *out, kiln_err *err);

/* The C type of an element in memory: "float". */
const char *kiln_c_type(kiln_dtype dtype);

#endif
