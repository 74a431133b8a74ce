/* What this back end implements. A construct without a row, and one that says why not, is
 * refused before anything is generated. */
#include "compiler/codegen/nvptx/nvptx.h"

static const char *const calls[] = {"mma_f16.reset",
                                    "mma_f16.update",
                                    "mma_f16_t.reset",
                                    "mma_f16_t.update",
                                    "mma_bf16.reset",
                                    "mma_bf16.update",
                                    "mma_bf16_t.reset",
                                    "mma_bf16_t.update",
                                    "mma_s8_t.reset",
                                    "mma_s8_t.update",
                                    "wgmma_f16.reset",
                                    "wgmma_f16.update",
                                    "wgmma_f16_t.reset",
                                    "wgmma_f16_t.update",
                                    "wgmma_bf16.reset",
                                    "wgmma_bf16.update",
                                    "wgmma_bf16_t.reset",
                                    "wgmma_bf16_t.update",
                                    NULL};

const kiln_backend kiln_nvptx_backend = {
    .name = "nvptx",
    KILN_BACKEND_GPU(KILN_DOES, KILN_DOES, KILN_DOES),
    .calls = calls,
};
