/* Buffers: memory regions that loop programs load from and store to. */
#ifndef KILN_COMPILER_TENSOR_BUFFER_H
#define KILN_COMPILER_TENSOR_BUFFER_H

#include "compiler/tensor/tensor_expr.h"

enum {
    KILN_MAX_AXES = 16
}; /* of a compute or a buffer: rank 8 with every axis blocked */

/* Where a buffer lives. Targets may declare more scopes, numbered from
 * KILN_SCOPE_TARGET on. */
typedef enum kiln_scope {
    KILN_SCOPE_GLOBAL,   /* arguments of the kernel, or its workspace */
    KILN_SCOPE_LOCAL,    /* one thread's scratch memory */
    KILN_SCOPE_REGISTER, /* a tile that must become SSA vector values: constant indexes
                            once unrolled */
    KILN_SCOPE_SHARED,   /* one block of threads (GPU) */
    KILN_SCOPE_DEVICE, /* a device's: the host allocates it, copies there and back, and
                            gives it to launches, which know it as global memory */
    KILN_SCOPE_FRAGMENT, /* one warp's: its threads hold the elements between them, as
                            the instruction lays them out that computes it
                            (compiler/loop/fragment.h) */
    KILN_SCOPE_TARGET = 16,
} kiln_scope;

/* The word that texts have for it; NULL: a target's own, `scope16` and so on. */
const char *kiln_scope_name(kiln_scope scope);
/* Of such a word, or of scope16 to scope255; false, with *out unmoved: of no other. */
bool kiln_scope_find(kiln_str word, kiln_scope *out);

typedef struct kiln_dim_align { /* storage_align: stride of axis = offset (mod factor),
                                   in elements */
    int32_t factor, offset;
} kiln_dim_align;

/* A memory region. `dim` are extents in elements, row-major before flattening;
 * flattened buffers have rank 1. */
struct kiln_buffer {
    const char *name; /* unique in the program */
    kiln_dtype dtype;
    int rank;
    const kiln_expr *dim[KILN_MAX_AXES]; /* i64; constants today */
    kiln_dim_align align[KILN_MAX_AXES];
    kiln_scope scope;
    int align_bytes; /* 0: 64 */
    int arg;         /* index into the program's arguments; -1: allocated inside */
    bool is_written; /* arguments: an output */
};

kiln_buffer *kiln_buffer_new(kiln_arena *a, const char *name, kiln_dtype dtype,
                             int rank, const int64_t *dim, kiln_scope scope);
int64_t kiln_buffer_dim(const kiln_buffer *b, int axis);
/* Row-major strides in elements, storage_align considered: b->rank entries. */
void kiln_buffer_strides(const kiln_buffer *b, int64_t *stride);
int64_t kiln_buffer_elems(const kiln_buffer *b); /* padding of storage_align included */

#endif
