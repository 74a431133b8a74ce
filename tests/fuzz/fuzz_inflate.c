/* Deflated bytes of any kind, into few bytes and into many. */
#include "tests/fuzz/fuzz.h"

#include "compiler/frontend/pytorch/script/inflate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { MANY = 4096 };
    char out[MANY];
    kiln_err err = {0};
    const kiln_str packed = {(const char *)data, size};
    (void)kiln_inflate(packed, out, 1, &err);
    (void)kiln_inflate(packed, out, MANY, &err);
    return 0;
}
