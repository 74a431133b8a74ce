/* TorchScript's code of any bytes, in an archive that is whole: it must be refused or
 * imported, and what is imported must verify. */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/support/model/script_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const kiln_shape_binding x = {"x", 2, {2, 2}};
    static const kiln_import_options options = {.shapes = &x, .n_shapes = 1};
    kiln_arena a = {0};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    char *const code = kiln_array(&a, char, size + 1);
    if (size > 0)
        memcpy(code, data, size);
    if (kiln_test_import_script(&a, kiln_test_script(&a, code), &options, &g, NULL,
                                &err) == KILN_OK) {
        const kiln_status verified = kiln_graph_verify(g, &err);
        KILN_ASSERT(verified == KILN_OK, "an imported graph does not verify: %s",
                    err.text);
    }
    kiln_arena_fini(&a);
    return 0;
}
