/* Shared by the folders of the architectures. */
#ifndef KILN_COMPILER_TARGET_TARGET_INTERNAL_H
#define KILN_COMPILER_TARGET_TARGET_INTERNAL_H

#include "compiler/target/target.h"

/* What a CPU has: global memory, a thread's own, and vector registers, of which there
 * seem to be any number. */
extern const kiln_memory kiln_cpu_memory[];
/* A GPU's: what a block shares too. How much of it there is, a profile says. */
extern const kiln_memory kiln_gpu_memory[];

/* One that ships, by its name; NULL: none has it. */
const kiln_profile *kiln_profile_shipped(const char *name);
/* The one that a detected machine begins as: it must ship. */
kiln_profile kiln_profile_base(const char *name);
/* Members of an object that is being written: all but the core. */
void kiln_profile_put_machine(kiln_json_writer *w, const kiln_profile *p);

/* Caches and cores, by the system; the name becomes "native". */
void kiln_profile_detect_system(kiln_profile *p);

/* Does the text of an operand hold the word? */
bool kiln_asm_has(kiln_str operand, const char *word);
/* The number that begins at text[at], of at most three digits; -1: none does. */
int kiln_asm_number(kiln_str text, size_t at);

/* Of texts that name none of a machine's registers: -1. */
int kiln_asm_no_register(kiln_str text, size_t i);

/* The first member that is none of a core's; NULL: all are. */
const char *kiln_core_unknown(const kiln_json *json);
/* The same of a GPU, as JSON by itself. */
void kiln_gpu_put(kiln_json_writer *w, const kiln_gpu *g);
kiln_status kiln_gpu_read(const kiln_json *json, const char *where, kiln_gpu *out,
                          kiln_err *err);
const char *kiln_gpu_unknown(const kiln_json *json);
/* A common core of the kind: for documents that do not say. */
kiln_core kiln_core_default(kiln_arch arch, int vector_bytes);

#endif
