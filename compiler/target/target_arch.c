/* The table of architectures. */
#include "compiler/target/target_internal.h"

#include <string.h>

#define KILN_ARCH(ID, row, LLVM) extern const kiln_arch_def kiln_arch_##row;
#include "compiler/target/archs.def"
#undef KILN_ARCH

static const kiln_arch_def *const table[KILN_N_ARCHS] = {
#define KILN_ARCH(ID, row, LLVM) &kiln_arch_##row,
#include "compiler/target/archs.def"
#undef KILN_ARCH
};

const kiln_arch_def *kiln_arch_of(kiln_arch arch) {
    KILN_ASSERT((int)arch >= 0 && arch < KILN_N_ARCHS, "no architecture %d", (int)arch);
    return table[arch];
}

/* By kiln_scope, whose header is above this folder; test_arch.c holds them together. */
const kiln_memory kiln_cpu_memory[] = {
    {"global", 0, 0}, {"local", 1, 0}, {"register", 2, 0}, {NULL, 0, 0}};

const kiln_memory kiln_gpu_memory[] = {
    {"global", 0, 0}, {"local", 1, 0},    {"register", 2, 0}, {"shared", 3, 0},
    {"device", 4, 0}, {"fragment", 5, 0}, {NULL, 0, 0}};

const kiln_memory *kiln_memory_of(const kiln_memory *list, int scope) {
    for (const kiln_memory *m = list; m != NULL && m->name != NULL; m++)
        if (m->scope == scope)
            return m;
    return NULL;
}

const char *kiln_target_kind_name(kiln_target_kind kind) {
    static const char *const name[] = {[KILN_TARGET_CPU] = "CPU",
                                       [KILN_TARGET_GPU] = "GPU",
                                       [KILN_TARGET_ACCELERATOR] = "accelerator"};
    KILN_ASSERT((size_t)kind < sizeof name / sizeof name[0], "no kind of target is %d",
                (int)kind);
    return name[kind];
}

const char *kiln_arch_name(kiln_arch arch) { return kiln_arch_of(arch)->name; }

bool kiln_arch_of_machine(uint64_t elf_machine, kiln_arch *out) {
    for (int i = 0; i < KILN_N_ARCHS; i++)
        if (elf_machine != 0 && (uint64_t)table[i]->elf_machine == elf_machine) {
            *out = (kiln_arch)i;
            return true;
        }
    return false;
}

const char *kiln_arch_titles(kiln_arena *a) {
    const char *all = "";
    for (int i = 0; i < KILN_N_ARCHS; i++)
        if (table[i]->elf_machine != 0)
            all = kiln_format(a, "%s%s%s (%d)", all, i == 0 ? "" : ", ",
                              table[i]->title, table[i]->elf_machine);
    return all;
}

kiln_status kiln_profile_detect(kiln_arena *a, kiln_profile *out, kiln_err *err) {
    for (int i = 0; i < KILN_N_ARCHS; i++)
        if (table[i]->detect != NULL)
            return table[i]->detect(a, out, err);
    return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                     "this machine is none of those that kiln makes code for: %s",
                     kiln_arch_titles(a));
}

/* ---- assembly, for the folders -----------------------------------------------------
 */

int kiln_asm_no_register(kiln_str text, size_t i) {
    (void)text;
    (void)i;
    return -1;
}

bool kiln_asm_has(kiln_str operand, const char *word) {
    const size_t n = strlen(word);
    for (size_t i = 0; i + n <= operand.n; i++)
        if (memcmp(operand.p + i, word, n) == 0)
            return true;
    return false;
}

int kiln_asm_number(kiln_str text, size_t at) {
    enum { MAX_DIGITS = 3 };
    const size_t begin = at;
    int n = 0;
    KILN_ASSERT(at <= text.n, "byte %zu of %zu", at, text.n);
    while (at < text.n && at < begin + MAX_DIGITS && text.p[at] >= '0' &&
           text.p[at] <= '9')
        n = n * 10 + (text.p[at++] - '0');
    return at > begin ? n : -1;
}

static bool has_word(const char *features, const char *word) {
    kiln_str rest = kiln_str_from(features), one;
    while (rest.n > 0 && kiln_str_cut(&rest, ',', &one))
        if (kiln_str_is(one, word))
            return true;
    return false;
}

bool kiln_need_holds(const kiln_need *n, const kiln_profile *p) {
    return p->vector_bytes >= n->vector_bytes &&
           (n->feature == NULL || has_word(p->features, n->feature));
}
