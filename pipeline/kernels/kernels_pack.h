/* Constants packed on this machine, whatever machine they are packed for. */
#ifndef KILN_PIPELINE_KERNELS_KERNELS_PACK_H
#define KILN_PIPELINE_KERNELS_KERNELS_PACK_H

#include "compiler/codegen/codegen.h"
#include "compiler/network/network_pack.h"

/* Programs compiled for this machine, each once; another process runs them. */
typedef struct kiln_packer kiln_packer;

typedef struct kiln_packer_options {
    const char *const *argv;   /* of that process: ends in NULL; NULL: kiln-runner */
    int64_t limit_ms;          /* of all constants of a batch; 0: ten minutes */
    uint64_t data_limit_bytes; /* that packing may take; 0: all the machine's */
    /* What is compiled goes by here before it is sent: for tests, which need code that
     * fails. May be NULL. */
    void (*compiled)(void *user, kiln_object *o);
    void *user;
} kiln_packer_options;

/* In the arena, and with it what is compiled, and the process, until it is reset. `o`
 * may be NULL. */
kiln_packer *kiln_packer_new(kiln_arena *a, const kiln_packer_options *o);
/* Row-major elements, which may lie anywhere, to what a kernel reads; `packed` is
 * 64-byte aligned and has kiln_type_bytes(&k->to) bytes. What is only moved is moved
 * here, at once; what is computed waits for kiln_packer_finish, and so long `packed` and
 * `name` are borrowed. The name is of the constant, for messages; `reader`, which may be
 * NULL, of a node that reads it. KILN_ERR_UNSUPPORTED: no code for this machine. */
kiln_status kiln_packer_add(kiln_packer *p, const kiln_packing *k, const char *name,
                            const char *reader, const void *plain, void *packed,
                            kiln_err *err);
/* All that were added, in one go. KILN_ERR_LIB: the code crashed, hung, or took too much
 * memory; the message names the constant. Nothing is left to be done then. */
kiln_status kiln_packer_finish(kiln_packer *p, kiln_err *err);

#endif
