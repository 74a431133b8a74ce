/* Hardware profiles: what code is made for.
 *
 * A profile is JSON (docs/profile.md): triple, CPU, features, cores, vector width,
 * caches, numerics. profiles.def lists those that ship;
 * kiln_profile_detect describes this machine.
 */
#ifndef KILN_COMPILER_TARGET_TARGET_H
#define KILN_COMPILER_TARGET_TARGET_H

#include "base/base.h"

typedef enum kiln_numerics {
    KILN_NUMERICS_FAST,  /* default: Winograd within its bound */
    KILN_NUMERICS_STRICT /* no Winograd; NaN and infinities as the reference */
} kiln_numerics;

typedef enum kiln_arch {
#define KILN_ARCH(ID, row, LLVM) KILN_ARCH_##ID,
#include "compiler/target/archs.def"
#undef KILN_ARCH
    KILN_N_ARCHS
} kiln_arch;

/* What one core does in a cycle: rules that guess read it instead of some machine's
 * numbers. Vectors are of the profile's width. It decides which configuration is
 * guessed, never what a configuration means or which there are. */
typedef struct kiln_core {
    int fma_ports;                     /* multiply-adds begun in a cycle */
    int fma_latency;                   /* cycles until a sum can be added to again */
    int load_ports, store_ports;       /* vectors loaded, stored in a cycle, near */
    int l2_rate, l3_rate, memory_rate; /* bytes a cycle that come from there */
    /* As measured (pipeline/machine); 0: not known. */
    int l1_kib, l2_kib, l3_kib; /* that one core gets of the cache */
    int memory_latency;         /* cycles of a load that nothing foresaw */
    /* Bytes a cycle into all cores together. */
    int l3_rate_all, memory_rate_all;
    /* What the system or who made it says; 0: what is common (kiln_line_bytes...). */
    int line_bytes;  /* of a cache line */
    int l1_way_kib;  /* bytes of the L1 cache for each of its ways: what lies a multiple
                       of it apart competes for these */
    int fork_cycles; /* until another core begins, and all know that it is done */
    int branch_cycles; /* lost by a branch that was foreseen wrongly */
} kiln_core;

/* What a GPU has; all 0 where the profile is a CPU's. Threads are those of a grid:
 * OpenCL's work items, CUDA's threads. */
typedef struct kiln_gpu {
    int warp;              /* threads that go in step: 32; 1: each goes by itself */
    int block_threads;     /* most of a block: 1024 */
    int64_t shared_bytes;  /* that a block may have */
    int registers;         /* of 32 bits, that a thread may have without spilling */
    int processors;        /* multiprocessors, compute units: blocks run on one each */
    int processor_threads; /* that one holds at a time */
    int processor_registers; /* of 32 bits, for all its threads */
    int peak_gflops;         /* multiply-adds of 32-bit numbers, two each */
    int memory_gbs;          /* 10^9 bytes a second from its memory */
    int l2_kib;
    bool has_tensor_cores; /* mma.sync of f16 */
} kiln_gpu;

typedef struct kiln_profile {
    const char *name; /* "x86-avx512" */
    kiln_arch arch;
    const char *triple;   /* LLVM: "x86_64-unknown-linux-gnu" */
    const char *cpu;      /* LLVM: "znver4", "generic" */
    const char *features; /* LLVM: "+avx512f,+fma,..." */
    int cores;
    int vector_bytes;     /* widest register that code should use: 64, 32, 16 */
    int vector_registers; /* 32, 16 */
    int64_t l1d_bytes, l2_bytes,
        l3_bytes; /* per core, per core, shared; 0: none or not known */
    bool has_fma, has_vnni, has_dotprod, has_bf16, has_f16;
    kiln_numerics numerics;
    kiln_core core;
    kiln_gpu gpu;
    /* What the part of a network is compiled for that a GPU does not do: a profile's
     * name; NULL: a CPU's, which does all of it. */
    const char *host;
    /* The GPU beside this CPU that does what it can of a network: a profile of its own;
     * NULL: there is none
     * (kiln_profile_beside). */
    const struct kiln_profile *device;
    /* How its code is measured, which changes no code: on which device (its name; NULL:
     * the first that can), beside which baselines (ends in NULL; NULL: none named). */
    const char *measure;
    const char *const *baseline;
} kiln_profile;
enum { KILN_PROFILE_MAX_BASELINES = 32 };

/* This machine: the profile is named after what it can do. */
kiln_status kiln_profile_detect(kiln_arena *a, kiln_profile *out, kiln_err *err);
/* A shipped profile by name, or a JSON file by path. */
kiln_status kiln_profile_find(kiln_arena *a, const char *name_or_path,
                              kiln_profile *out, kiln_err *err);
const kiln_profile *kiln_profile_at(int i); /* shipped ones; NULL past the end */
/* The same of CPUs by name, whose code is that of a kind; kiln_profile_find knows them too. */
const kiln_profile *kiln_cpu_profile_at(int i);
/* The same of GPUs, which kiln_profile_find knows too. */
const kiln_profile *kiln_gpu_profile_at(int i);
/* What networks are compiled for where there is a GPU: the host's profile, with the GPU's
 * as its device, under the latter's name. KILN_ERR_ARG: they are no such pair. */
kiln_status kiln_profile_beside(kiln_arena *a, const kiln_profile *host,
                                const kiln_profile *device, kiln_profile *out,
                                kiln_err *err);
/* What code is made for, and nothing else: what packages and tuning records hold. */
void kiln_profile_json(kiln_buf *out, const kiln_profile *p);
/* The same without what rules guess by: what a machine says of itself
 * (kiln_profile_detect) where no library that reads JSON is. kiln_profile_read takes
 * it. */
void kiln_profile_machine_json(kiln_buf *out, const kiln_profile *p);
/* All of it, as a file. */
void kiln_profile_document(kiln_buf *out, const kiln_profile *p);
/* As kiln_profile_json inside a document that is being written, and read from one;
 * `where` is for messages. */
void kiln_profile_put(kiln_json_writer *w, const kiln_profile *p);
kiln_status kiln_profile_read(kiln_arena *a, const kiln_json *json, const char *where,
                              kiln_profile *out, kiln_err *err);
const char *kiln_numerics_name(kiln_numerics n); /* "fast" */
/* Has it threads instead of cores? Then `gpu` is filled in, and `core` is not. */
bool kiln_profile_is_gpu(const kiln_profile *p);
/* Bytes of shared memory that a block gets where the launch asks for them; at least
 * gpu.shared_bytes, which it has without asking. */
int64_t kiln_gpu_shared_most(const kiln_profile *p);
/* Warps multiply matrices of 16 x 16 by one instruction, and copies to shared memory come
 * while they do. */
bool kiln_gpu_has_mma(const kiln_profile *p);
/* Four warps together multiply blocks of 64 rows and up to 256 columns out of shared memory,
 * and go on while the products come. */
bool kiln_gpu_has_wgmma(const kiln_profile *p);
/* Can code for `p` run on a machine that detect described as `machine`? The text says
 * what is missing. */
bool kiln_profile_runs_on(const kiln_profile *p, const kiln_profile *machine,
                          char missing[128]);
/* KILN_ERR_UNSUPPORTED where this machine cannot run the profile's code: says what it
 * lacks. Whether there is a GPU, nobody knows who does not open its driver. */
kiln_status kiln_runs_here(const kiln_profile *p, kiln_err *err);
/* The same for one elsewhere, which says of itself what kiln_profile_machine_json
 * writes; and where it has fewer CPUs than threads. KILN_ERR_PARSE: it says what makes
 * no sense. */
kiln_status kiln_profile_fits_machine(const kiln_profile *p, int threads,
                                      kiln_str machine, kiln_err *err);

/* ---- for rules ---------------------------------------------------------------------
 * What to count on: where a profile does not say, the least that is common. */

int64_t kiln_cache_l1(const kiln_profile *p); /* bytes near one core: at least 1 */
int64_t kiln_cache_l2(const kiln_profile *p);
int64_t kiln_cache_last(const kiln_profile *p); /* in front of memory */
/* Of that one so much as one core reaches: systems name all of a package's, or of the
 * host's around a virtual machine. */
int64_t kiln_cache_reach(const kiln_profile *p);
/* As JSON by itself: what a document leaves out is 0 where that means "not known", else
 * as it was in *out. */
void kiln_core_put(kiln_json_writer *w, const kiln_core *m);
kiln_status kiln_core_read(const kiln_json *json, const char *where, kiln_core *out,
                           kiln_err *err);
int64_t kiln_line_bytes(const kiln_profile *p);   /* 64 */
int64_t kiln_l1_way_bytes(const kiln_profile *p); /* 4096: a page */
/* Of multiply-adds that fill vectors of 32-bit numbers: is it worth a fork and a join?
 */
bool kiln_is_worth_fork(const kiln_profile *p, double muladds);
/* What comes from memory while one load waits: to fetch so many bytes ahead keeps it
 * busy. */
int64_t kiln_fetch_bytes(const kiln_profile *p);
/* Bytes a cycle of what the L2 cache does not hold. */
int kiln_rate_behind_l2(const kiln_profile *p);
/* So many sums at once keep multiply-adds from waiting for one another. */
int kiln_sums_to_hide_latency(const kiln_profile *p);
/* The same where each adds a vector that comes from the L2 cache, and does nothing else:
 * the cache is slower than the ports. */
int kiln_sums_of_loads(const kiln_profile *p);
int kiln_branch_cycles(const kiln_profile *p); /* 20 */

/* ---- what no machine does ----------------------------------------------------------
 * For who is told times by others. The bounds are wide on purpose: 6.2 GHz, which is
 * more than CPUs have, and twice the ports that the model has, four at least: models are
 * measured on busy machines, and shipped profiles are of no machine in particular. What
 * passes may be false all the same; what does not is. */

/* Of multiply-adds of 32-bit numbers, by so many threads. */
double kiln_most_gflops(const kiln_profile *p, int threads);
/* That so many operations take, counted as such multiply-adds are (two each), and storing
 * so many bytes: the longer of both. What is read does not count: strides, gathers and
 * padding skip some of it, and caches keep some. */
double kiln_least_ns(const kiln_profile *p, int threads, double flops,
                     double written_bytes);

/* ---- of calls --------------------------------------------------------------------- */

/* Of one more call, or part of a parallel loop, beside its work. */
double kiln_call_cycles(const kiln_profile *p);

/* ---- architectures -----------------------------------------------------------------
 * One row of archs.def and one folder each. Whoever wants to know what holds of one
 * asks its row: a choice between two would take a third for the second. */

/* What an instruction of an assembly text is, as far as hot loops are counted by it. */
enum {
    KILN_ASM_BRANCH = 1, /* its last operand is a label */
    KILN_ASM_FMA = 2,    /* of vectors: multiplies and adds, dot products */
    KILN_ASM_LOAD = 4,   /* of vectors */
    KILN_ASM_STORE = 8,
    KILN_ASM_STACK = 16 /* an access to a fixed place on the stack */
};

/* What loops become: of a CPU threads and vectors, of a GPU a grid of threads, of an
 * accelerator the instructions that it has. A schedule for one is none for another. */
typedef enum kiln_target_kind {
    KILN_TARGET_CPU,
    KILN_TARGET_GPU,
    KILN_TARGET_ACCELERATOR
} kiln_target_kind;
const char *kiln_target_kind_name(kiln_target_kind kind); /* "CPU", "accelerator" */

/* A memory that a kernel may have buffers in. */
typedef struct kiln_memory {
    const char *name; /* in messages: "shared"; NULL ends a list */
    int scope;        /* as buffers name it: kiln_scope of compiler/tensor/buffer.h */
    int64_t bytes;    /* that one buffer may have; 0: what the code generator lets it */
} kiln_memory;

/* By width of a vector: 16, 32, 64 bytes. */
enum { KILN_N_WIDTHS = 3 };

/* LLVM's names of instructions that its IR has no operation for. NULL: none. */
typedef struct kiln_arch_intrinsics {
    /* llvm.minimum and llvm.maximum are instructions: NaN where either is. */
    bool has_nan_min_max;
    /* LLVM makes llvm.fpto*.sat of a vector lane by lane. */
    bool splits_saturated;
    /* [0] of f32, [1] of f64: min(y, x) is y < x ? y : x, so x where either is NaN. The
     * widest takes one argument more, the rounding that there is none of. */
    const char *min[2][KILN_N_WIDTHS], *max[2][KILN_N_WIDTHS];
    /* Lanes of f32, each from the place that a vector of i32 says, whose higher bits do
     * not count: permute(x, at); of two vectors, permute2(x, at, y). */
    const char *permute[KILN_N_WIDTHS], *permute2[KILN_N_WIDTHS];
    /* 32-bit sums of two products of neighbouring 16-bit numbers. */
    const char *madd_i16[KILN_N_WIDTHS];
    /* acc + sums of four products of bytes: unsigned by signed (profiles with vnni). */
    const char *dot_u8_s8[KILN_N_WIDTHS];
    /* The same, both signed, both unsigned; by types (profiles with dotprod). They take 16
     * bytes; the others one scalable vector, NULL: there is none. */
    const char *dot_s8, *dot_u8, *scalable_dot_s8, *scalable_dot_u8;
} kiln_arch_intrinsics;

/* What code of a profile may need of a machine, as runtime/arch.h calls it: the same
 * that kiln_profile_runs_on asks for. */
typedef struct kiln_need {
    const char *name;    /* "x86-64-v3"; NULL ends a list */
    int vector_bytes;    /* of the profile, at least; 0: any */
    const char *feature; /* of the profile's; NULL: none */
} kiln_need;
/* In place of vector_bytes: any, and the feature is a length that longer vectors have. */
enum { KILN_NEED_OF_LENGTH = -1 };

typedef struct kiln_arch_def {
    const char *name;          /* in profiles: "x86_64" */
    const char *title;         /* in messages: "x86-64" */
    kiln_target_kind kind;     /* templates are for one */
    const kiln_memory *memory; /* code for buffers elsewhere is refused */
    const char *device;        /* the plans' kind that runs it; NULL: the host itself */
    const char *generator;     /* who makes its code: compiler/codegen/codegen.h */
    int elf_machine; /* EM_X86_64: of objects, libraries and plans; 0: a GPU's */
    const char *linker_emulation; /* -m of ld */
    const kiln_need *need;        /* NULL: none */
    bool always_has_fma;          /* and rounding: no profile needs to say so */
    bool no_rounding;             /* is an instruction, whatever profiles have */
    /* Longer vectors than this are scalable ones: LLVM is told with each function how
     * many times this they have at least. 0: features say it, or there are none. */
    int scalable_bytes;
    kiln_arch_intrinsics intrinsics;
    /* Assembly as LLVM writes it. */
    const char *comment; /* what begins one */
    int code_step;       /* instructions begin at multiples of so many bytes */
    unsigned (*asm_flags)(kiln_str op, kiln_str operand);
    /* Number of the vector register whose name begins at text[i]; -1: none does. */
    int (*asm_register)(kiln_str text, size_t i);
    /* Of a GPU's profile; NULL: gpu.shared_bytes, and none. */
    int64_t (*shared_most)(const kiln_profile *p);
    bool (*has_mma)(const kiln_profile *p);
    bool (*has_wgmma)(const kiln_profile *p);
    /* This machine; NULL where this program runs on another architecture. */
    kiln_status (*detect)(kiln_arena *a, kiln_profile *out, kiln_err *err);
} kiln_arch_def;

const kiln_arch_def *kiln_arch_of(kiln_arch arch);
bool kiln_need_holds(const kiln_need *n, const kiln_profile *p);
/* Of a list as an architecture has it; NULL: there is none of that scope. */
const kiln_memory *kiln_memory_of(const kiln_memory *list, int scope);
const char *kiln_arch_name(kiln_arch arch); /* "x86_64" */
/* That of an ELF machine; false: there is none. */
bool kiln_arch_of_machine(uint64_t elf_machine, kiln_arch *out);
/* "x86-64 (62), AArch64 (183)": all there are, for messages. */
const char *kiln_arch_titles(kiln_arena *a);

#endif
