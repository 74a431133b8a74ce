/* The Caffe importer on any bytes: a description, a byte 0xff, weights. It must refuse or
 * import, and what it imports must verify. */
#include "tests/fuzz/fuzz.h"

#include "compiler/frontend/caffe/caffe.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_arena a = {0};
    kiln_graph *g = NULL;
    kiln_import_report report = {0};
    kiln_err err = {0};
    const kiln_str all = {(const char *)data, size};
    const char *const cut = size > 0 ? memchr(all.p, 0xff, size) : NULL;
    const size_t n = cut != NULL ? (size_t)(cut - all.p) : size;
    const kiln_str text = {all.p, n};
    const kiln_str weights =
        cut != NULL ? (kiln_str){cut + 1, size - n - 1} : KILN_STR_LIT("");
    const kiln_status st = kiln_import_caffe_bytes(&a, text, weights, "fuzz.prototxt",
                                                   NULL, &g, &report, &err);
    if (st == KILN_OK) {
        const kiln_status verified = kiln_graph_verify(g, &err);
        KILN_ASSERT(verified == KILN_OK, "an imported graph does not verify: %s",
                    err.text);
    }
    kiln_arena_fini(&a);
    return 0;
}
