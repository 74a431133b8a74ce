/* Any bytes as results.json: refused with a message, or results that are written, read
 * and written again as the same bytes. */
#include "reports/results/results.h"
#include "tests/fuzz/fuzz.h"

static void check_round_trip(kiln_arena *a, kiln_results *r) {
    kiln_results back;
    kiln_buf first, second;
    kiln_err err = {0};
    kiln_results_derive(a, r);
    kiln_buf_init(&first, a);
    kiln_results_json(&first, r);
    const kiln_status st =
        kiln_results_parse(a, kiln_buf_str(&first), "own", &back, &err);
    KILN_ASSERT(st == KILN_OK, "what was written is refused: %s", err.text);
    kiln_buf_init(&second, a);
    kiln_results_json(&second, &back);
    KILN_ASSERT(kiln_str_eq(kiln_buf_str(&first), kiln_buf_str(&second)),
                "written, read and written again gives other bytes");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_results r;
    const kiln_str text = {(const char *)data, size};
    if (kiln_results_parse(&a, text, "input", &r, &err) == KILN_OK)
        check_round_trip(&a, &r);
    else
        KILN_ASSERT(err.len > 0, "a refusal has a message");
    kiln_arena_fini(&a);
    return 0;
}
