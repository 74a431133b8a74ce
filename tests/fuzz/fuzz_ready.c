/* Any bytes as ready records, and as a workload's key: refused with a message; or the
 * records are written and read again as they were, and the key is that of its graph. */
#include "compiler/schedule/template.h"
#include "tests/fuzz/fuzz.h"
#include "tuning_db/tuning_db.h"

static void try_records(kiln_arena *a, kiln_str text) {
    kiln_err err = {.status = KILN_OK};
    kiln_db_readies r, again;
    kiln_buf one, two;
    if (kiln_db_ready_read(a, text, "fuzz", &r, &err) != KILN_OK)
        return;
    kiln_buf_init(&one, a);
    kiln_buf_init(&two, a);
    KILN_ASSERT(kiln_db_ready_write(&one, &r, &err) == KILN_OK, "%s", err.text);
    KILN_ASSERT(kiln_db_ready_read(a, kiln_buf_str(&one), "written", &again, &err) ==
                    KILN_OK,
                "%s", err.text);
    KILN_ASSERT(kiln_db_ready_write(&two, &again, &err) == KILN_OK, "%s", err.text);
    KILN_ASSERT(again.list.n == r.list.n &&
                    kiln_str_eq(kiln_buf_str(&one), kiln_buf_str(&two)),
                "what was written is not what is read");
}

/* Constants become zeros: as large as the key says, up to the graph parser's limit. */
static void try_key(kiln_arena *a, kiln_str text) {
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    kiln_workload w;
    if (kiln_workload_read(a, text, &g, &err) == KILN_OK)
        KILN_ASSERT(kiln_workload_of(g, &w, &err) == KILN_OK, "%s", err.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_arena a = {0};
    const kiln_str text = {(const char *)data, size};
    try_records(&a, text);
    kiln_arena_reset(&a);
    try_key(&a, text);
    kiln_arena_fini(&a);
    return 0;
}
