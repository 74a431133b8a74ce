/* Any bytes as logs of other tuners: every line is counted once, whatever it is, and a
 * hint that fits a work is a configuration of its template. */
#include "pipeline/tune/hints.h"
#include "tests/fuzz/fuzz.h"

/* A product that records of the corpus are of; made once. */
static const kiln_tune_task *task(void) {
    static kiln_arena a;
    static kiln_op_line line;
    static kiln_op_work work;
    static kiln_profile profile;
    static kiln_tune_task t;
    kiln_err err = {.status = KILN_OK};
    if (t.tmpl == NULL)
        KILN_ASSERT(
            kiln_op_line_of(&a, "mm fc m=8 k=16 n=32", &line, &err) == KILN_OK &&
                kiln_op_work_make(&a, &line, &work, &err) == KILN_OK &&
                kiln_profile_find(&a, "x86-avx512", &profile, &err) == KILN_OK &&
                kiln_tune_task_make(&a, &work.workload, &profile, &kiln_template_matmul,
                                    &t, &err) == KILN_OK,
            "%s", err.text);
    return &t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const kiln_tune_works none;
    kiln_arena a = {0};
    kiln_tune_hints h = {.arena = &a};
    kiln_buf text;
    uint64_t index[KILN_HINTS_EACH];
    kiln_tune_hints_read(&h, (kiln_str){(const char *)data, size}, "fuzz");
    KILN_ASSERT(h.n_failed + h.n_strange + h.n_bad <= h.n_records,
                "%lld lines became more", (long long)h.n_records);
    kiln_buf_init(&text, &a);
    kiln_tune_hints_text(&text, &h, &none);
    const size_t n = kiln_tune_hints_for(&a, &h, task(), KILN_HINTS_EACH, index);
    for (size_t i = 0; i < n; i++)
        KILN_ASSERT(index[i] < task()->space.size, "hint %zu is no configuration", i);
    kiln_arena_fini(&a);
    return 0;
}
