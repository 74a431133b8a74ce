/* Modules of a GPU (runtime/gpu_module.h): what a GPU's code generator makes of one
 * program, and several of them as one.
 *
 * A generator splits its program into launches first (kiln_gpu_split_program), makes a text of
 * each entry, and writes both as a module of one kernel: its object.
 */
#ifndef KILN_COMPILER_CODEGEN_CODEGEN_GPU_MODULE_H
#define KILN_COMPILER_CODEGEN_CODEGEN_GPU_MODULE_H

#include "compiler/codegen/codegen.h"
#include "runtime/gpu_module.h"

/* A program of the device: one function of the code. */
typedef struct kiln_gpu_entry {
    const char *name; /* no other kernel has it: the kernel's, and a number */
    const kiln_program *program;
    int64_t extent[KILN_N_AXES]; /* blocks, then threads of one */
    /* By who prints it. */
    size_t workspace_bytes; /* of a launch; its address is the last argument. 0: none */
    size_t shared_bytes;    /* that the code declares */
    bool asks_for_shared;   /* no, the launch gives them */
} kiln_gpu_entry;

typedef struct kiln_gpu_started {
    int entry;
    const kiln_gpu_arg *arg; /* by argument, then parameter of the program */
    int n_args;
    size_t workspace; /* bytes that are in use around it */
} kiln_gpu_started;

/* A program as what the host does one after another: in the order of the launches. */
typedef struct kiln_gpu_split {
    const char *symbol;
    int n_operands;
    KILN_VEC(kiln_gpu_entry) entry;
    KILN_VEC(kiln_gpu_started) launch;
    size_t workspace_bytes; /* of buffers between launches */
} kiln_gpu_split;

/* Runs the pass `outline` where nobody has; what has no threads is launched with one.
 * The host's loops are unrolled: KILN_ERR_UNSUPPORTED names what is not known before it
 * runs, KILN_ERR_LIMIT too many launches. */
kiln_status kiln_gpu_split_program(kiln_arena *a, const kiln_program *p,
                                   kiln_gpu_split *out, kiln_err *err);

/* As an object. The code's entries must be those of the split. */
kiln_status kiln_gpu_object(kiln_arena *a, const kiln_gpu_split *s,
                            kiln_gpu_language language, kiln_str code, kiln_object *out,
                            kiln_err *err);

/* One module of several, whose kernels must have different names: what a package holds.
 * KILN_ERR_PARSE: one is no module; KILN_ERR_ARG: two are not of one language, or name
 * the same kernel. */
kiln_status kiln_gpu_module_link(kiln_arena *a, const kiln_str *module, size_t n,
                                 kiln_str *out, kiln_err *err);
/* A generator's `list`: the text is the code. */
kiln_status kiln_gpu_list(kiln_arena *a, kiln_str code, const kiln_profile *p,
                          kiln_buf *out, kiln_err *err);
/* Begins so: whether it is sound, kiln_gpu_module_check says. */
bool kiln_gpu_is_module(kiln_str bytes);
/* KILN_ERR_PARSE says what is wrong with it; `bytes` may lie anywhere. */
kiln_status kiln_gpu_object_open(kiln_arena *a, kiln_str bytes, kiln_gpu_module *out,
                                 kiln_err *err);

#endif
