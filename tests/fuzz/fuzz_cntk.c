/* The CNTK importer; see fuzz_import.h. */
#include "tests/fuzz/fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_fuzz_import(&kiln_frontend_cntk, "fuzz.model", data, size);
    return 0;
}
