/* The .npy reader on any bytes. */
#include "tests/fuzz/fuzz.h"

#include "compiler/frontend/frontend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_arena a = {0};
    kiln_tensor t;
    kiln_err err = {0};
    const kiln_str bytes = {(const char *)data, size};
    if (kiln_tensor_decode_npy(&a, bytes, &t, &err) == KILN_OK)
        KILN_ASSERT((size_t)kiln_type_bytes(&t.type) <= size,
                    "a tensor is larger than its file");
    kiln_arena_fini(&a);
    return 0;
}
