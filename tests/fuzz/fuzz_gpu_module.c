/* Any bytes as a GPU's module: refused with a message, or every number that a device
 * goes by leads to something inside the bytes. */
#include "tests/fuzz/fuzz.h"

#include "base/base.h"
#include "runtime/gpu_module.h"

#include <string.h>

static void follow(const kiln_gpu_module *m, const kiln_gpu_kernel *k) {
    for (uint32_t i = 0; i < k->n_launches; i++) {
        const kiln_gpu_launch *l = &m->launch[k->first_launch + i];
        KILN_ASSERT(strlen(m->string + l->entry) > 0, "an entry has no name");
        for (uint32_t j = 0; j < l->n_args; j++) {
            const kiln_gpu_arg *a = &m->arg[l->first_arg + j];
            KILN_ASSERT(a->kind != KILN_GPU_OPERAND || a->index < k->n_operands,
                        "an argument is no operand");
            KILN_ASSERT(a->kind != KILN_GPU_WORKSPACE || a->value < k->workspace_bytes,
                        "an argument lies outside the workspace");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_arena a = {0};
    kiln_gpu_module m;
    char error[KILN_GPU_ERROR] = "";
    const void *bytes = kiln_arena_dup(&a, data, size); /* aligned */
    if (kiln_gpu_module_check(bytes, size, &m, error) == 0) {
        /* A text ends where its zero byte is; machine code has others. */
        const size_t n = m.header->code_bytes;
        KILN_ASSERT(m.code[n - 1] == '\0' && (m.header->language == KILN_GPU_CUBIN ||
                                              strlen(m.code) + 1 == n),
                    "code does not end");
        for (uint32_t i = 0; i < m.header->n_kernels && i < 1000; i++) {
            const kiln_gpu_kernel *k = &m.kernel[i];
            const char *symbol = m.string + k->symbol;
            KILN_ASSERT(kiln_gpu_module_find(&m, symbol) != NULL, "'%s' is not found",
                        symbol);
            follow(&m, k);
        }
    } else {
        KILN_ASSERT(error[0] != '\0', "a module is refused without a reason");
    }
    kiln_arena_fini(&a);
    return 0;
}
