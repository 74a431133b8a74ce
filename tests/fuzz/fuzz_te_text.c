/* Fuzz target: text of tensor expressions. Whatever parses must print and read back to
 * the same text. */
#include "compiler/tensor/tensor.h"
#include "tests/fuzz/fuzz.h"

static kiln_str print(kiln_arena *a, const kiln_te *const *outs, size_t n) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_te_print(&b, outs, n);
    return kiln_buf_str(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_arena arena = {0};
    const kiln_te **outs = NULL;
    size_t n = 0;
    const kiln_str text = {(const char *)data, size};
    if (kiln_te_parse(&arena, text, "fuzz", &outs, &n, NULL) == KILN_OK) {
        kiln_err err = {0};
        const kiln_str first = print(&arena, outs, n);
        const kiln_status st = kiln_te_parse(&arena, first, "printed", &outs, &n, &err);
        KILN_ASSERT(st == KILN_OK, "printed text must parse: %s", err.text);
        KILN_ASSERT(kiln_str_eq(print(&arena, outs, n), first),
                    "printed text must stay the same");
    }
    kiln_arena_fini(&arena);
    return 0;
}
