/* Code generators: a loop program becomes an object file. A generator is a folder and a
 * row of generators.def; an architecture's row says which one makes its code.
 *
 * A GPU's object is a module of one kernel (runtime/gpu_module.h): a text that a driver
 * compiles, and launches. kiln_gpu_module_link (codegen_gpu_module.h) makes one of several.
 *
 * Objects are freestanding: no libc, no libm, no TLS, no import of any kind;
 * kiln_object_check says so. The kernel's interface is runtime/kernel.h.
 */
#ifndef KILN_COMPILER_CODEGEN_CODEGEN_H
#define KILN_COMPILER_CODEGEN_CODEGEN_H

#include "compiler/loop/expand.h"
#include "compiler/loop/backend.h"
#include "compiler/loop/loop.h"
#include "compiler/target/target.h"

typedef struct kiln_object {
    kiln_str bytes;         /* ELF relocatable, or a module; in the caller's arena */
    size_t workspace_bytes; /* one buffer shared by all threads */
    size_t scratch_bytes;   /* per thread */
} kiln_object;

typedef struct kiln_codegen_options {
    bool want_assembly; /* text of the whole object as assembly too */
    bool want_ir;       /* LLVM IR after the pipeline */
    bool narrow;        /* 32 bits for indexes that fit, as GPUs have (tests compare) */
} kiln_codegen_options;

/* Where an operand of a step lies: byte `at` of a port of the function, of the parameters
 * or of the workspace. */
typedef enum kiln_entry_base {
    KILN_ENTRY_BASE_PORT,
    KILN_ENTRY_BASE_PARAMS,
    KILN_ENTRY_BASE_WORK
} kiln_entry_base;

typedef struct kiln_entry_place {
    kiln_entry_base base;
    uint32_t port;
    uint64_t at;
} kiln_entry_place;

typedef enum kiln_entry_kind {
    KILN_ENTRY_STEP_CALL, /* a kernel on its operands */
    KILN_ENTRY_STEP_COPY, /* bytes of operand 0 to operand 1 */
    KILN_ENTRY_STEP_TAKE, /* the same from element t of operand 0, t: the innermost loop's */
    KILN_ENTRY_STEP_PUT, /* the same to element t of operand 1 */
    KILN_ENTRY_STEP_IF,  /* operand 0: a byte that is 0 or not */
    KILN_ENTRY_STEP_ELSE,
    KILN_ENTRY_STEP_LOOP, /* count times */
    KILN_ENTRY_STEP_END
} kiln_entry_kind;

typedef struct kiln_entry_step {
    kiln_entry_kind kind;
    const char *symbol; /* CALL: of the kernel */
    const kiln_entry_place *operand;
    int n_operands;
    uint64_t bytes, count;
} kiln_entry_step;

/* A whole network as one function of C, on one thread:
 *
 *     int NAME(void *port0, ..., void *workspace)
 *
 * 1: a pointer is not a multiple of 64, and nothing was done. 0: all is done. Blocks nest. */
typedef struct kiln_entry {
    const char *name;
    int n_ports;
    kiln_str params;                   /* are in the object */
    uint64_t workspace_at, scratch_at; /* of kernels: bytes into the workspace */
    const kiln_entry_step *step;
    size_t n_steps;
} kiln_entry;

typedef struct kiln_codegen_text {
    kiln_str assembly, ir;
} kiln_codegen_text;

/* "19.1.7": what makes the code, for records of what made it. */
const char *kiln_codegen_llvm_version(kiln_arena *a);

/* The functions below, of one generator. */
typedef struct kiln_generator {
    const char *name;            /* as kiln_arch_def.generator has it: "llvm_cpu" */
    const kiln_backend *backend; /* what it implements; the rest it refuses by name */
    int language; /* kiln_gpu_language of its objects, which are modules; 0: they are ELF */
    kiln_natives (*natives)(const kiln_profile *profile);
    kiln_status (*generate)(kiln_arena *a, const kiln_program *p,
                            const kiln_profile *profile, const kiln_codegen_options *o,
                            kiln_object *out, kiln_codegen_text *text, kiln_err *err);
    kiln_status (*list)(kiln_arena *a, kiln_str code, const kiln_profile *p,
                        kiln_buf *out, kiln_err *err);
    /* NULL: its objects are no functions that others call. */
    kiln_status (*entry)(kiln_arena *a, const kiln_entry *e,
                         const kiln_profile *profile, kiln_str *object, kiln_err *err);
} kiln_generator;

const kiln_generator *kiln_generator_at(int index); /* NULL past the last */
/* Of the profile's architecture: there is one. */
const kiln_generator *kiln_generator_of(const kiln_profile *profile);

/* What there are instructions for; the rest is expanded (expand.h). */
kiln_natives kiln_codegen_natives(const kiln_profile *profile);

/* Compiles one flattened program to one function of its name. KILN_ERR_UNSUPPORTED names
 * a construct that the generator does not implement. */
kiln_status kiln_codegen(kiln_arena *a, const kiln_program *p,
                         const kiln_profile *profile, const kiln_codegen_options *o,
                         kiln_object *out, kiln_codegen_text *text, kiln_err *err);
/* The function that calls kernels by their symbols, which it declares hidden: an object
 * in the caller's arena that imports nothing else. KILN_ERR_UNSUPPORTED: a GPU's code has
 * no such function. */
kiln_status kiln_codegen_entry(kiln_arena *a, const kiln_entry *e,
                               const kiln_profile *profile, kiln_str *object,
                               kiln_err *err);
/* KILN_ERR_LIB names an undefined symbol; KILN_ERR_PARSE says what is no object. */
kiln_status kiln_object_check(kiln_str bytes, kiln_err *err);

/* The object's code as assembly, sections one after another; labels where branches
 * lead. Cheaper by far than options.want_assembly, which makes the code once more. */
kiln_status kiln_object_listing(kiln_arena *a, kiln_str object, const kiln_profile *p,
                                kiln_str *out, kiln_err *err);

/* The same of machine code without an object around it: a function of a library. */
kiln_status kiln_code_listing(kiln_arena *a, kiln_str code, const kiln_profile *p,
                              kiln_str *out, kiln_err *err);

/* What the hottest loops of an assembly text hold: for explain, and for tests that
 * spills are absent. */
typedef struct kiln_asm_loop {
    int line_begin, line_end;
    int instructions, vector_fma, vector_loads, vector_stores,
        spills; /* spills: accesses to fixed places on the stack */
} kiln_asm_loop;
kiln_status kiln_asm_innermost_loops(kiln_arena *a, kiln_str assembly, kiln_arch arch,
                                     kiln_asm_loop **out, size_t *n, kiln_err *err);

#endif
