/* A GPU's module: kernels as texts that its driver compiles (or did, ahead of a
 * measurement), and how they are launched.
 * Flat little-endian tables that are used where they lie:
 *
 *     header, kernels, launches, arguments, strings, code
 *
 * A kernel of a plan is one or more launches, one after another, each of one entry of the
 * code: grids are constants, as shapes are. What several of them hand on lies in the
 * kernel's workspace, which the queue has in the device's memory.
 *
 * Offsets are counted from the beginning, strings from that of their table; each ends in a
 * zero byte. A module is untrusted: kiln_gpu_module_check holds every number against its
 * table before anything is used. What the code does then is the device's affair: it is
 * trusted as a library's code is.
 *
 * Written by compiler/codegen/codegen_gpu_module.h. */
#ifndef KILN_RUNTIME_GPU_MODULE_H
#define KILN_RUNTIME_GPU_MODULE_H

#include <stddef.h>
#include <stdint.h>

#define KILN_GPU_MAGIC "KILNGPUM"
enum {
    KILN_GPU_VERSION = 1,
    KILN_GPU_AXES = 3,
    KILN_GPU_MAX_ARGS = 64,       /* of a launch */
    KILN_GPU_MAX_BYTES = 1 << 28, /* of a module */
    KILN_GPU_ERROR = 256
};

typedef enum kiln_gpu_language {
    KILN_GPU_OPENCL_C = 1, /* 1.2 */
    KILN_GPU_PTX = 2,
    KILN_GPU_CUBIN = 3 /* PTX as CUDA's driver compiled it for the GPU that it was asked
                          with; for that one alone, so never in a package */
} kiln_gpu_language;

typedef struct kiln_gpu_header {
    char magic[8];
    uint32_t version;
    uint32_t language; /* kiln_gpu_language */
    uint32_t n_kernels, n_launches, n_args;
    uint32_t reserved;                               /* 0 */
    uint64_t kernels, launches, args, strings, code; /* offsets; 8-byte aligned */
    uint64_t string_bytes, code_bytes; /* code ends in a zero byte, which counts; a text
                                          has no other */
    uint64_t bytes;                    /* of all of it */
} kiln_gpu_header;

typedef struct kiln_gpu_kernel {
    uint32_t symbol; /* string: as the plan has it */
    uint32_t n_operands;
    uint32_t first_launch, n_launches; /* at least 1 */
    uint64_t workspace_bytes;          /* of its launches together */
} kiln_gpu_kernel;

typedef struct kiln_gpu_launch {
    uint32_t entry; /* string: of the code */
    uint32_t first_arg, n_args;
    uint32_t shared_bytes;        /* that the launch gives a block, beside what the code
                                      declares */
    uint32_t grid[KILN_GPU_AXES]; /* blocks: at least 1 each */
    uint32_t block[KILN_GPU_AXES]; /* threads of one: at least 1 each */
} kiln_gpu_launch;

typedef enum kiln_gpu_arg_kind {
    KILN_GPU_OPERAND = 1, /* the address of operand `index` */
    KILN_GPU_WORKSPACE,   /* that of byte `value` of the workspace, a multiple of 64 */
    KILN_GPU_I64          /* `value`, a signed number of 64 bits */
} kiln_gpu_arg_kind;

typedef struct kiln_gpu_arg {
    uint32_t kind;
    uint32_t index; /* 0 where it is no operand */
    uint64_t value; /* 0 where it is one */
} kiln_gpu_arg;

/* A checked module: pointers into the bytes, which must be 8-byte aligned and outlive it. */
typedef struct kiln_gpu_module {
    const kiln_gpu_header *header;
    const kiln_gpu_kernel *kernel;
    const kiln_gpu_launch *launch;
    const kiln_gpu_arg *arg;
    const char *string;
    const char *code; /* ends in a zero byte */
} kiln_gpu_module;

/* 0, or -1 with what is wrong. */
int kiln_gpu_module_check(const void *bytes, size_t n, kiln_gpu_module *out,
                          char error[KILN_GPU_ERROR]);
/* NULL: it has none of that name. */
const kiln_gpu_kernel *kiln_gpu_module_find(const kiln_gpu_module *m,
                                            const char *symbol);

#endif
