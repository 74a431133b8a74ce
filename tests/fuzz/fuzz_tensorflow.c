/* The TensorFlow importer on any bytes: it must refuse or import, and what it imports
 * must verify. */
#include "tests/fuzz/fuzz.h"

#include "compiler/frontend/frontend_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const kiln_frontend *const f = &kiln_frontend_tensorflow;
    kiln_arena a = {0};
    kiln_graph *g = NULL;
    kiln_import_report report = {0};
    kiln_declared_input *in = NULL;
    kiln_model_survey survey;
    size_t n = 0;
    kiln_err err = {0};
    const kiln_str bytes = {(const char *)data, size};
    f->sniff(bytes);
    f->list_inputs(&a, bytes, "fuzz.pb", &in, &n, NULL);
    f->survey(&a, bytes, "fuzz.pb", &survey, NULL);
    if (f->import(&a, bytes, "fuzz.pb", NULL, NULL, &g, &report, &err) == KILN_OK) {
        const kiln_status verified = kiln_graph_verify(g, &err);
        KILN_ASSERT(verified == KILN_OK, "an imported graph does not verify: %s",
                    err.text);
    }
    kiln_arena_fini(&a);
    return 0;
}
