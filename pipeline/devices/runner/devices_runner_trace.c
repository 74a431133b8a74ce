/* A run's trace as a file: one record after the other, the operand's bytes behind each.
 */
#include <string.h>

#include "pipeline/devices/runner/runner.h"

typedef struct tracing {
    const run_options *o;
    FILE *file;
    int is_good;
} tracing;

static void put(tracing *t, const void *data, size_t bytes) {
    t->is_good = t->is_good && fwrite(data, 1, bytes, t->file) == bytes;
}

static void record(void *user, const kiln_trace *x) {
    tracing *t = user;
    const int is_end = x->kind == KILN_TRACE_END;
    if (x->step < (uint32_t)t->o->trace_begin || x->step >= (uint32_t)t->o->trace_end)
        return;
    /* Of a loop's end it counts how much of it was not seen. */
    if (is_end ? x->iteration <= RUN_TRACED : x->largest >= RUN_TRACED)
        return;
    const run_trace_record r = {.kind = (uint32_t)x->kind,
                                .step = x->step,
                                .operand = x->operand,
                                .iteration = x->iteration,
                                .bytes = x->is_parameter ? 0 : x->bytes};
    put(t, &r, sizeof r);
    if (r.bytes > 0)
        put(t, x->data, x->bytes);
}

run_exit run_traced(FILE *f, const run_options *o, kiln_session *s) {
    tracing t = {.o = o, .file = f, .is_good = 1};
    kiln_session_trace(s, record, &t);
    const int failed = kiln_session_run(s);
    kiln_session_trace(s, NULL, NULL);
    t.is_good = fflush(t.file) == 0 && t.is_good;
    if (failed)
        return run_fail(RUN_KERNEL, "%s", kiln_session_error(s));
    return t.is_good
               ? RUN_OK
               : run_fail(RUN_DEVICE, "'%s': could not be written whole", o->trace);
}
