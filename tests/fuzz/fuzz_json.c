/* Any bytes as JSON: refused with a message, or a tree that the writer turns into JSON
 * again. */
#include "base/base.h"
#include "tests/fuzz/fuzz.h"

static int depth_of(const kiln_json *v) {
    int deepest = 0;
    for (const kiln_json *m = kiln_json_first(v); m != NULL; m = kiln_json_next(m)) {
        const int depth = 1 + depth_of(m);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

static void check_round_trip(kiln_arena *a, const kiln_json *v) {
    enum { WRITER_DEPTH = 60 };
    if (depth_of(v) > WRITER_DEPTH)
        return;
    kiln_buf first, second;
    kiln_json_writer w;
    kiln_err err = {0};
    const kiln_json *back = NULL;
    kiln_buf_init(&first, a);
    kiln_json_writer_init(&w, &first);
    kiln_json_put(&w, v);
    const kiln_status st = kiln_json_parse(a, kiln_buf_str(&first), "own", &back, &err);
    KILN_ASSERT(st == KILN_OK, "what was written is refused: %s", err.text);
    kiln_buf_init(&second, a);
    kiln_json_writer_init(&w, &second);
    kiln_json_put(&w, back);
    KILN_ASSERT(kiln_str_eq(kiln_buf_str(&first), kiln_buf_str(&second)),
                "written, read and written again gives other bytes");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_arena a = {0};
    kiln_err err = {0};
    const kiln_json *v = NULL;
    const kiln_str text = {(const char *)data, size};
    if (kiln_json_parse(&a, text, "input", &v, &err) == KILN_OK)
        check_round_trip(&a, v);
    else
        KILN_ASSERT(v == NULL && err.len > 0, "a refusal has a message and no tree");
    kiln_arena_fini(&a);
    return 0;
}
