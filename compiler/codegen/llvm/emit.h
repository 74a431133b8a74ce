/* The state of one translation of a loop program into LLVM IR.
 *
 * Values: f32 is `float`, f64 is `double`, integers are iN, bool is i1; several lanes
 * are vectors. f16 is `half`, between a conversion and its bits; bf16 does not come
 * here (the pass `halves`). In memory bool is i8.
 *
 * The first failure is kept in `status`; emission goes on with poison values, and the
 * entry looks at the status at the end. So emitters return values, not codes.
 */
#ifndef KILN_COMPILER_CODEGEN_LLVM_EMIT_H
#define KILN_COMPILER_CODEGEN_LLVM_EMIT_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "compiler/codegen/codegen.h"
#include "compiler/loop/fragment.h"

typedef struct kiln_cg_var {
    const kiln_var *var;
    LLVMValueRef value;
    bool is_captured; /* by the parallel loop that is being outlined */
} kiln_cg_var;

/* Where a buffer's memory comes from. */
typedef enum kiln_cg_place {
    KILN_CG_ARG,       /* args->tensor[i]; a GPU's function has it as a parameter */
    KILN_CG_WORKSPACE, /* args->workspace + offset */
    KILN_CG_SCRATCH,   /* the thread's scratch + offset */
    KILN_CG_STACK,     /* a local variable of the function: becomes registers */
    KILN_CG_SHARED     /* a variable of a block of threads */
} kiln_cg_place;

typedef struct kiln_cg_mem {
    const kiln_buffer *buffer;
    kiln_cg_place place;
    size_t offset;
    LLVMValueRef base;        /* pointer, in the function that is being emitted */
    LLVMValueRef alias_scope; /* accesses to two buffers never overlap */
    LLVMValueRef no_alias;
    bool is_captured;
    bool is_constant;        /* nobody writes it while the function runs */
    kiln_fragment_form form; /* of a fragment */
} kiln_cg_mem;

typedef struct kiln_cg_table {
    const kiln_table *table;
    LLVMValueRef constant;
} kiln_cg_table;

/* The function that is being emitted: the kernel, or the body of a parallel loop. */
typedef struct kiln_cg_fn {
    LLVMValueRef fn, args, ctx, scratch;
    LLVMBasicBlockRef entry; /* local variables are made here, whatever the nesting */
    bool is_parallel_body;
} kiln_cg_fn;

typedef struct kiln_cg kiln_cg;

/* What kinds of machines do otherwise. */
typedef struct kiln_cg_kind {
    const char *prefix; /* of names of constants */
    unsigned constants; /* their address space */
    kiln_natives (*natives)(const kiln_profile *p);
    /* Memory for a buffer that the program allocates. */
    void (*allocate)(kiln_cg *g, const kiln_buffer *b, size_t bytes, kiln_cg_mem *m);
    /* Emits what the common part would not, or otherwise; false: it is that part's. */
    bool (*stmt)(kiln_cg *g, const kiln_stmt *s);
    void (*prefetch)(kiln_cg *g, LLVMValueRef address);
    /* A load from a fragment; NULL: there are none. */
    LLVMValueRef (*load_fragment)(kiln_cg *g, const kiln_expr *e);
    /* CPU, features, vector width; no calls of library routines, no unwinding. */
    void (*attributes)(kiln_cg *g, LLVMValueRef fn);
    const char *pipeline; /* of LLVM's passes */
    bool joins_scalars;   /* LLVM makes one access of several elements where it may */
    bool is_narrow;       /* it has no arithmetic of 64 bits (narrow.c) */
} kiln_cg_kind;

struct kiln_cg {
    const kiln_cg_kind *kind;
    kiln_arena *arena;
    const kiln_program *p;
    const kiln_profile *profile;
    kiln_status status;
    kiln_err *err;
    LLVMContextRef cx;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    unsigned word; /* bytes of a pointer */
    LLVMTypeRef i1, i8, i16, i32, i64, f32, f64, ptr;
    unsigned md_alias_scope, md_no_alias, md_invariant;
    kiln_cg_fn now;
    KILN_VEC(kiln_cg_var) vars;
    kiln_ranges ranges; /* of the same variables, where that is narrow */
    bool is_narrow; /* the kind, or a pointer: indexes have 32 bits where they fit */
    KILN_VEC(kiln_cg_mem) mem;
    KILN_VEC(kiln_cg_table) tables;
    LLVMMetadataRef *scope_of; /* per buffer of the program, in order of appearance */
    const kiln_buffer **scope_buffer;
    size_t n_scopes;
    size_t workspace, max_workspace, scratch, max_scratch, stack;
    int n_parallel;
    const char *prefix; /* of names; NULL: that of the kind */
    /* Of a GPU's function. */
    const int64_t *extent;                /* of its launch */
    LLVMValueRef axis[KILN_N_AXES], work; /* where the thread stands: i64 */
    unsigned bound;                       /* axes of the thread loops around */
    bool is_alone;                       /* one thread does what is emitted by itself */
    KILN_VEC(kiln_cg_mem) shared_memory; /* of a block, by buffer */
    size_t shared;
    LLVMValueRef asked; /* all of it, where the launch gives it; NULL: the code declares
                           it */
    KILN_VEC(const kiln_var *) across; /* loops of threadIdx.x */
    bool is_async;                     /* copies to shared memory may come later */
    int64_t
        may_miss; /* groups of such copies that barriers leave; -1: there are none */
    KILN_VEC(const kiln_buffer *) swizzled; /* what warpgroups multiply */
    KILN_VEC(kiln_cg_mem) fragments;        /* that there are where code is made */
    bool is_grouped; /* the products that are made end with the group's wait */
    int64_t may_run; /* groups of products that barriers leave; -1: there are none */
    int64_t empty_groups; /* behind the last that was none */
};

/* ---- a module (module.c) --------------------------------------------------------- */

/* Whatever a compilation holds in LLVM. */
typedef struct kiln_cg_session {
    kiln_cg g;
    LLVMTargetMachineRef machine;
} kiln_cg_session;

/* g.arena, g.p, g.profile, g.kind and g.err are set before. */
kiln_status kiln_cg_open(kiln_cg_session *s, const char *name);
void kiln_cg_close(kiln_cg_session *s);
/* A copy of the program after the passes `halves` and `expand`. */
kiln_status kiln_cg_expand(kiln_cg *g);
/* LLVM's verifier, then its passes. */
kiln_status kiln_cg_optimise(kiln_cg_session *s);
kiln_status kiln_cg_machine_code(kiln_cg_session *s, LLVMModuleRef m,
                                 LLVMCodeGenFileType type, kiln_str *out);
void kiln_cg_text_attribute(kiln_cg *g, LLVMValueRef fn, const char *name,
                            const char *value);
/* A name that an assembler and a linker take as it is; else KILN_ERR_ARG. */
kiln_status kiln_cg_check_symbol(const char *name, kiln_err *err);

/* Where fma is an instruction, rounding is one, too. */
kiln_natives kiln_cg_natives(const kiln_profile *p);

/* Keeps the first failure. */
void kiln_cg_fail(kiln_cg *g, kiln_status st, const char *fmt, ...) KILN_PRINTF(3, 4);

/* ---- types and small values (emit_value.c) ------------------------------------- */
LLVMTypeRef kiln_cg_vector(LLVMTypeRef t, int lanes); /* t itself for one lane */
LLVMTypeRef kiln_cg_value_type(const kiln_cg *g, kiln_dtype dtype);
LLVMTypeRef kiln_cg_memory_type(const kiln_cg *g, kiln_dtype dtype);
LLVMValueRef kiln_cg_splat(const kiln_cg *g, LLVMValueRef scalar, int lanes);
LLVMValueRef kiln_cg_int(const kiln_cg *g, LLVMTypeRef t, int64_t v, int lanes);
LLVMValueRef kiln_cg_real(const kiln_cg *g, LLVMTypeRef t, double v, int lanes);
/* Calls llvm.<name>, overloaded on the type of its first argument (n_types 1) or not
 * (0). */
LLVMValueRef kiln_cg_intrinsic(const kiln_cg *g, const char *name, LLVMTypeRef *types,
                               size_t n_types, LLVMValueRef *arg, unsigned n);
LLVMValueRef kiln_cg_unary(const kiln_cg *g, const char *name, LLVMValueRef x);
/* x truncated to the integer type of the cast e; saturates; NaN becomes 0
 * (emit_convert.c). */
LLVMValueRef kiln_cg_float_to_int(kiln_cg *g, const kiln_expr *e, LLVMValueRef x);
LLVMBasicBlockRef kiln_cg_block(const kiln_cg *g);
/* Marks a multiply or add as free to contract. */
LLVMValueRef kiln_cg_contract(LLVMValueRef v);
LLVMValueRef kiln_cg_local(const kiln_cg *g, LLVMTypeRef t, unsigned align);

/* ---- expressions (emit_expr.c), memory (emit_memory.c), functions (emit_math.c) - */

/* Lanes that mask (i1 per lane; NULL: all on) turns off may hold anything; memory
 * there is not touched. */
LLVMValueRef kiln_cg_expr(kiln_cg *g, const kiln_expr *e, LLVMValueRef mask);
/* Must not be evaluated where it is not chosen: it touches memory or divides. */
bool kiln_cg_is_unsafe(const kiln_expr *e);
LLVMValueRef kiln_cg_load(kiln_cg *g, const kiln_expr *e, LLVMValueRef mask);
/* Of lanes at known distances, by vectors of neighbours (emit_near.c); NULL: they are not
 * near enough, or neighbours themselves. */
LLVMValueRef kiln_cg_load_near(kiln_cg *g, const kiln_expr *e);
/* The same where lanes lie anywhere in a window of a few vectors (emit_window.c). */
LLVMValueRef kiln_cg_load_window(kiln_cg *g, const kiln_expr *e);
void kiln_cg_store(kiln_cg *g, const kiln_stmt *s);
void kiln_cg_prefetch(kiln_cg *g, const kiln_expr *load);
/* Of the first of neighbouring elements, and what it is a multiple of in bytes; NULL: they
 * are no neighbours. */
LLVMValueRef kiln_cg_address(kiln_cg *g, const kiln_buffer *b,
                             const kiln_expr *const *index, unsigned *align);
LLVMValueRef kiln_cg_and_mask(const kiln_cg *g, LLVMValueRef x, LLVMValueRef y);
/* Byte dot products (emit_dot.c). */
LLVMValueRef kiln_cg_dot4(kiln_cg *g, const kiln_expr *e, const LLVMValueRef *arg);
LLVMValueRef kiln_cg_call(kiln_cg *g, const kiln_expr *e, const LLVMValueRef *arg);
/* Loops and tables in expressions (emit_loop.c). */
LLVMValueRef kiln_cg_loop(kiln_cg *g, const kiln_expr *e, LLVMValueRef mask);
LLVMValueRef kiln_cg_table_at(kiln_cg *g, const kiln_expr *e);
LLVMValueRef kiln_cg_any_lane(const kiln_cg *g, LLVMValueRef mask); /* i1 */
const kiln_cg_mem *kiln_cg_memory_of(kiln_cg *g, const kiln_buffer *b);

/* ---- statements (emit_stmt.c) -------------------------------------------------- */
void kiln_cg_stmt(kiln_cg *g, const kiln_stmt *s);
/* Gives every buffer of the program its alias scope; arguments their pointers. */
void kiln_cg_collect_scopes(kiln_cg *g);
void kiln_cg_push_memory(kiln_cg *g, kiln_cg_mem m);
void kiln_cg_bind(kiln_cg *g, const kiln_var *v, LLVMValueRef value);
/* What is known of its value, too. */
void kiln_cg_bind_within(kiln_cg *g, const kiln_var *v, LLVMValueRef value,
                         kiln_interval range);
LLVMValueRef kiln_cg_field(kiln_cg *g, LLVMValueRef base, int64_t offset);

/* ---- indexes of 32 bits (narrow.c) --------------------------------------------- */

/* Bounds by what is known of variables; elsewhere nothing is. */
kiln_interval kiln_cg_range(kiln_cg *g, const kiln_expr *e);
kiln_interval kiln_cg_turns(kiln_cg *g, const kiln_stmt *loop); /* of its variable */
/* i32 of an i64 that fits, and so do all that it is computed from; NULL: none such. */
LLVMValueRef kiln_cg_narrow(kiln_cg *g, const kiln_expr *e);
/* The same as i64, of arithmetic alone. */
LLVMValueRef kiln_cg_narrowed(kiln_cg *g, const kiln_expr *e);
/* Both sides of a comparison. */
bool kiln_cg_narrow_pair(kiln_cg *g, const kiln_expr *e, LLVMValueRef *x,
                         LLVMValueRef *y);

#endif
