/* The MXNet importer on any bytes: a symbol, a byte 0xff, parameters. It must refuse or
 * import, and what it imports must verify. */
#include "tests/fuzz/fuzz.h"

#include "compiler/frontend/mxnet/mxnet.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char empty[] = "\x12\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0" /* no arrays */
                                "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    kiln_arena a = {0};
    kiln_graph *g = NULL;
    kiln_import_report report = {0};
    kiln_err err = {0};
    /* What a variable x may have, so that more than shapes is looked at. */
    const kiln_shape_binding shape = {.name = "x", .rank = 4, .dim = {1, 2, 3, 3}};
    const kiln_import_options o = {.shapes = &shape, .n_shapes = 1};
    const kiln_str all = {(const char *)data, size};
    const char *const cut = size > 0 ? memchr(all.p, 0xff, size) : NULL;
    const size_t n = cut != NULL ? (size_t)(cut - all.p) : size;
    const kiln_str symbol = {all.p, n};
    const kiln_str params = cut != NULL ? (kiln_str){cut + 1, size - n - 1}
                                        : (kiln_str){empty, sizeof empty};
    const kiln_status st =
        kiln_import_mxnet_bytes(&a, symbol, params, "fuzz.json", &o, &g, &report, &err);
    if (st == KILN_OK) {
        const kiln_status verified = kiln_graph_verify(g, &err);
        KILN_ASSERT(verified == KILN_OK, "an imported graph does not verify: %s",
                    err.text);
    }
    kiln_arena_fini(&a);
    return 0;
}
