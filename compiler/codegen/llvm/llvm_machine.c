/* LLVM's target machines, kept for the next kernel of the same profile: making one and
 * what it learns of the CPU (its subtarget) costs 0.35 ms of a kernel's 5. A machine
 * belongs to one compilation at a time and to no context. */
#include "compiler/codegen/llvm/llvm_machine.h"

#include "compiler/codegen/codegen.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MAX_IDLE = 16, MAX_KEY = 512 };

/* An idle machine; an empty place holds none. */
typedef struct idle {
    char key[MAX_KEY];
    LLVMTargetMachineRef machine;
} idle;

static idle place[MAX_IDLE];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void initialise(void) {
#define KILN_ARCH(ID, row, LLVM)                                                       \
    LLVMInitialize##LLVM##TargetInfo();                                                \
    LLVMInitialize##LLVM##Target();                                                    \
    LLVMInitialize##LLVM##TargetMC();                                                  \
    LLVMInitialize##LLVM##AsmPrinter();                                                \
    LLVMInitialize##LLVM##Disassembler();
#define KILN_GPU_ARCH(ID, row) /* a driver's, or below */
#include "compiler/target/archs.def"
#undef KILN_ARCH
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
}

void kiln_cg_initialise(void) { pthread_once(&once, initialise); }

/* False: too long to be kept. */
static bool key_of(const kiln_profile *p, char key[MAX_KEY]) {
    const int n = snprintf(key, MAX_KEY, "%s %s %s", p->triple, p->cpu, p->features);
    return n > 0 && n < MAX_KEY;
}

/* An idle machine for the profile (out of its place), or NULL. */
static LLVMTargetMachineRef find(const char *key) {
    LLVMTargetMachineRef found = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_IDLE && found == NULL; i++) {
        if (place[i].machine == NULL || strcmp(place[i].key, key) != 0)
            continue;
        found = place[i].machine;
        place[i].machine = NULL;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

kiln_status kiln_cg_machine_take(const kiln_profile *p, LLVMTargetMachineRef *out,
                                 kiln_err *err) {
    LLVMTargetRef target;
    char key[MAX_KEY], *msg = NULL;
    pthread_once(&once, initialise);
    *out = key_of(p, key) ? find(key) : NULL;
    if (*out != NULL)
        return KILN_OK;
    if (LLVMGetTargetFromTriple(p->triple, &target, &msg)) {
        const kiln_status st = kiln_fail(
            err, KILN_ERR_LIB, "LLVM knows no target '%s': %s", p->triple, msg);
        LLVMDisposeMessage(msg);
        return st;
    }
    *out = LLVMCreateTargetMachine(target, p->triple, p->cpu, p->features,
                                   LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                   LLVMCodeModelSmall);
    if (*out == NULL)
        return kiln_fail(err, KILN_ERR_LIB, "LLVM makes no code for '%s'", p->triple);
    return KILN_OK;
}

void kiln_cg_machine_give(const kiln_profile *p, LLVMTargetMachineRef machine) {
    char key[MAX_KEY];
    const bool is_kept = key_of(p, key);
    if (machine == NULL)
        return;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_IDLE && is_kept && machine != NULL; i++) {
        if (place[i].machine != NULL)
            continue;
        snprintf(place[i].key, MAX_KEY, "%s", key);
        place[i].machine = machine;
        machine = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (machine != NULL)
        LLVMDisposeTargetMachine(machine);
}

const char *kiln_codegen_llvm_version(kiln_arena *a) {
    unsigned major = 0, minor = 0, patch = 0;
    LLVMGetVersion(&major, &minor, &patch);
    return kiln_format(a, "%u.%u.%u", major, minor, patch);
}
