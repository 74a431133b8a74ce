/* Hardware profiles: what code is made for.
 *
 * A profile is JSON (docs/profile.md): triple, CPU, features, cores, vector width,
 * caches, memory scopes, numerics. profiles.def lists those that ship;
 * kiln_profile_detect describes this machine.
 */
#ifndef KILN_COMPILER_TARGET_TARGET_H
#define KILN_COMPILER_TARGET_TARGET_H

#include "base/base.h"

typedef enum kiln_numerics {
    KILN_NUMERICS_FAST,  /* default: Winograd within its bound */
    KILN_NUMERICS_STRICT /* no Winograd; NaN and infinities as the reference */
} kiln_numerics;

typedef enum kiln_arch { KILN_ARCH_X86_64, KILN_ARCH_AARCH64 } kiln_arch;

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
/* What code is made for, and nothing else: the key of tuning records, and what packages
 * hold. Measuring elsewhere orphans no record. */
void kiln_profile_json(kiln_buf *out, const kiln_profile *p);
/* All of it, as a file. */
void kiln_profile_document(kiln_buf *out, const kiln_profile *p);
/* As kiln_profile_json inside a document that is being written, and read from one;
 * `where` is for messages. */
void kiln_profile_put(kiln_json_writer *w, const kiln_profile *p);
kiln_status kiln_profile_read(kiln_arena *a, const kiln_json *json, const char *where,
                              kiln_profile *out, kiln_err *err);
const char *kiln_arch_name(kiln_arch arch);      /* "x86_64" */
const char *kiln_numerics_name(kiln_numerics n); /* "fast" */
/* Can code for `p` run on a machine that detect described as `machine`? The text says
 * what is missing. */
bool kiln_profile_runs_on(const kiln_profile *p, const kiln_profile *machine,
                          char missing[128]);

#endif
