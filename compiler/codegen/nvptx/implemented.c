/* What this back end implements. A construct without a row, and one that says why not, is
 * refused before anything is generated. */
#include "compiler/codegen/nvptx/nvptx.h"

const kiln_backend kiln_nvptx_backend = {
    .name = "nvptx",
    KILN_BACKEND_GPU,
};
