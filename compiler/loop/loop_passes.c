/* The loop passes' table and driver. */
#include "compiler/loop/loop.h"

static const kiln_loop_pass *const passes[] = {
#define KILN_LOOP_PASS(name) &kiln_loop_pass_##name,
#include "compiler/loop/loop_passes.def"
#undef KILN_LOOP_PASS
};
enum { N_PASSES = sizeof passes / sizeof passes[0] };

const kiln_loop_pass *kiln_loop_pass_at(int i) {
    return i >= 0 && i < N_PASSES ? passes[i] : NULL;
}

const kiln_loop_pass *kiln_loop_pass_find(kiln_str name) {
    for (int i = 0; i < N_PASSES; i++)
        if (kiln_str_is(name, passes[i]->name))
            return passes[i];
    return NULL;
}

kiln_status kiln_program_optimize(kiln_program *p, const kiln_loop_options *o,
                                  kiln_err *err) {
    KILN_ASSERT(p->body != NULL && p->n_inputs <= p->n_args,
                "program '%s' was not lowered", p->name);
    for (int i = 0; i < N_PASSES; i++) {
        kiln_status st = passes[i]->run(p, o, err);
#ifndef NDEBUG
        if (st == KILN_OK && kiln_program_verify(p, err) != KILN_OK) {
            st = KILN_ERR_BUG; /* who wrote the program is kiln */
            if (err != NULL)
                err->status = st;
        }
#endif
        if (st != KILN_OK) {
            kiln_note(err, "running loop pass '%s' on '%s'", passes[i]->name, p->name);
            return st;
        }
    }
    return KILN_OK;
}
