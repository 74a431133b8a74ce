/* The CNTK importer on any bytes: it must refuse or import, and what it imports must
 * verify. */
#include "tests/fuzz/fuzz.h"

#include "compiler/frontend/frontend_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_arena a = {0};
    kiln_graph *g = NULL;
    kiln_import_report report = {0};
    kiln_err err = {0};
    const kiln_str bytes = {(const char *)data, size};
    const kiln_status st = kiln_frontend_cntk.import(&a, bytes, "fuzz.model", NULL,
                                                     NULL, &g, &report, &err);
    if (st == KILN_OK) {
        const kiln_status verified = kiln_graph_verify(g, &err);
        KILN_ASSERT(verified == KILN_OK, "an imported graph does not verify: %s",
                    err.text);
    }
    kiln_arena_fini(&a);
    return 0;
}
