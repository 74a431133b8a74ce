/* PyTorch's files of any bytes: an archive, or the JSON of an exported program without
 * weights. They must be refused or imported, and what is imported must verify. */
#include "tests/fuzz/fuzz.h"

#include "compiler/frontend/frontend_internal.h"
#include "tests/support/model/pt2_model.h"

static void import(kiln_str bytes) {
    kiln_arena a = {0};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    const kiln_frontend *const f = &kiln_frontend_pytorch;
    if (f->import(&a, bytes, "fuzz.pt2", NULL, NULL, &g, NULL, &err) == KILN_OK) {
        const kiln_status verified = kiln_graph_verify(g, &err);
        KILN_ASSERT(verified == KILN_OK, "an imported graph does not verify: %s",
                    err.text);
    }
    kiln_arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_arena a = {0};
    const kiln_str bytes = {(const char *)data, size};
    if (size > 0 && data[0] == '{')
        import(kiln_test_pt2_of_json(&a, kiln_str_dupv(&a, bytes)));
    else
        import(bytes);
    kiln_arena_fini(&a);
    return 0;
}
