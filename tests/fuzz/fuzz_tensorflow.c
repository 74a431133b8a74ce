/* The TensorFlow importer; see fuzz_import.h. */
#include "tests/fuzz/fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_fuzz_import(&kiln_frontend_tensorflow, "fuzz.pb", data, size);
    return 0;
}
