/* Any bytes as JSON: refused with a message, or a tree that the writer turns into JSON
 * again. */
#include "base/base.h"
#include "tests/fuzz/fuzz.h"

static void write_value(kiln_json_writer *w, const kiln_json *v) {
    if (kiln_json_is_object(v) || kiln_json_is_array(v)) {
        if (kiln_json_is_object(v))
            kiln_json_begin_object(w);
        else
            kiln_json_begin_array(w);
        for (const kiln_json *m = kiln_json_first(v); m != NULL;
             m = kiln_json_next(m)) {
            if (kiln_json_is_object(v))
                kiln_json_name(w, kiln_json_key(m));
            write_value(w, m);
        }
        if (kiln_json_is_object(v))
            kiln_json_end_object(w);
        else
            kiln_json_end_array(w);
    } else if (kiln_json_is_string(v)) {
        kiln_json_put_string(w, kiln_str_from(kiln_json_string(v, "")));
    } else if (kiln_json_is_number(v)) {
        kiln_json_put_f64(w, kiln_json_number(v, 0));
    } else {
        kiln_json_put_null(
            w); /* true and false too: one is as good as the other here */
    }
}

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
    write_value(&w, v);
    const kiln_status st = kiln_json_parse(a, kiln_buf_str(&first), "own", &back, &err);
    KILN_ASSERT(st == KILN_OK, "what was written is refused: %s", err.text);
    kiln_buf_init(&second, a);
    kiln_json_writer_init(&w, &second);
    write_value(&w, back);
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
