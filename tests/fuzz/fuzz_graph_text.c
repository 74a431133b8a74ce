/* Fuzz target: graph text. Whatever parses must verify, print, and read back to the
 * same text; its copy, its cost and its export must not trip either. */
#include "compiler/export/export.h"
#include "compiler/graph/graph.h"
#include "tests/fuzz/fuzz.h"

static kiln_str print(kiln_arena *a, const kiln_graph *g) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_graph_print(&b, g, NULL);
    return kiln_buf_str(&b);
}

static void check_round_trip(kiln_arena *a, const kiln_graph *g) {
    kiln_err err = {0};
    kiln_graph *again = NULL;
    kiln_status st = kiln_graph_verify(g, &err);
    KILN_ASSERT(st == KILN_OK, "a parsed graph must verify: %s", err.text);
    const kiln_str first = print(a, g);
    st = kiln_graph_parse(a, first, "printed", &again, &err);
    KILN_ASSERT(st == KILN_OK, "printed text must parse: %s", err.text);
    KILN_ASSERT(kiln_str_eq(print(a, again), first), "printed text must stay the same");
    KILN_ASSERT(kiln_str_eq(print(a, kiln_graph_clone(a, g)), first),
                "a copy must print the same");
    kiln_cost cost;
    kiln_graph_cost(g, &cost);
    kiln_exported x;
    (void)kiln_exporter_onnx.write(a, g, NULL, &x, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* The parser's own limit is for large networks; printing that much for each input
     * would only slow the search down. */
    enum { MAX_DATA = 1 << 20 };
    kiln_arena arena = {0};
    kiln_graph *g = NULL;
    const kiln_str text = {(const char *)data, size};
    if (kiln_graph_parse(&arena, text, "fuzz", &g, NULL) == KILN_OK &&
        arena.bytes < MAX_DATA)
        check_round_trip(&arena, g);
    kiln_arena_fini(&arena);
    return 0;
}
