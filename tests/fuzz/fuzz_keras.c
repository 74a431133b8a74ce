/* A Keras model's JSON of any bytes, without weights: it must be refused or imported,
 * and what is imported must verify. Also as an archive. libhdf5 is not fuzzed: it is
 * not ours, and not proof against it. */
#include "tests/fuzz/fuzz.h"

#include "compiler/frontend/keras/keras_internal.h"

/* Archives as far as their entries. */
static void read_archive(kiln_str bytes) {
    kiln_err err = {0};
    kiln_str entry;
    if (kiln_zip_has(bytes, "config.json"))
        kiln_zip_find(bytes, "config.json", "Keras", &entry, &err);
    kiln_zip_find(bytes, "model.weights.h5", "Keras", &entry, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_arena a = {0};
    kiln_graph *g = NULL;
    kiln_import_report report = {.format = "keras", .producer = ""};
    kiln_err err = {0};
    kiln_keras_file f = {.version = "3.0.0", .major = 3};
    const kiln_str bytes = {(const char *)data, size};
    read_archive(bytes);
    kiln_status st = kiln_keras_parse(&a, bytes, "config.json", &f, &err);
    if (st == KILN_OK)
        st = kiln_keras_import_file(&a, &f, "fuzz.keras", NULL, &g, &report, &err);
    if (st == KILN_OK) {
        const kiln_status verified = kiln_graph_verify(g, &err);
        KILN_ASSERT(verified == KILN_OK, "an imported graph does not verify: %s",
                    err.text);
    }
    kiln_arena_fini(&a);
    return 0;
}
