/* An importer on any bytes: it must refuse or import, and what it imports must verify. */
#ifndef KILN_TESTS_FUZZ_FUZZ_IMPORT_H
#define KILN_TESTS_FUZZ_FUZZ_IMPORT_H

#include "compiler/frontend/frontend_internal.h"
#include "tests/fuzz/fuzz.h"

/* All that a row of frontends.def offers, on a file of that name; options of the format by
 * bits of the size. */
static inline void kiln_fuzz_import(const kiln_frontend *f, const char *name,
                                    const uint8_t *data, size_t size) {
    kiln_arena a = {0};
    kiln_graph *g = NULL;
    kiln_import_report report = {0};
    kiln_declared_input *in = NULL;
    kiln_model_survey survey;
    size_t n = 0;
    kiln_err err = {0};
    const kiln_import_options options = {
        .as_reference = f->has_roundings && (size & 1) != 0,
        .has_state = f->has_variables && (size & 2) != 0,
    };
    const kiln_str bytes = {(const char *)data, size};
    f->sniff(bytes);
    f->list_inputs(&a, bytes, name, &in, &n, NULL);
    if (f->survey != NULL)
        f->survey(&a, bytes, name, &survey, NULL);
    if (f->import(&a, bytes, name, NULL, &options, &g, &report, &err) == KILN_OK) {
        const kiln_status verified = kiln_graph_verify(g, &err);
        KILN_ASSERT(verified == KILN_OK, "an imported graph does not verify: %s",
                    err.text);
    }
    kiln_arena_fini(&a);
}

#endif
