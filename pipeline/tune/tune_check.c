/* Records that cannot be true, as far as only their workload tells: the database itself
 * knows nothing of operators. */
#include <inttypes.h>

#include "pipeline/tune/tune_internal.h"

enum { N_EACH = 1 << 20, MAX_LINES = 1000 };

/* Operations of the task's workload; 0: a key of another time, which is no problem. */
static double flops_of(kiln_arena *scratch, const kiln_db_task *t) {
    kiln_graph *g = NULL;
    kiln_op_work w;
    if (kiln_workload_read(scratch, kiln_str_from(t->workload), &g, NULL) != KILN_OK ||
        kiln_op_work_of(scratch, g->name, g, &w, NULL) != KILN_OK)
        return 0;
    return kiln_tune_direct_flops(&w);
}

static kiln_status check_task(kiln_db *db, kiln_arena *a, kiln_arena *scratch,
                              const kiln_db_task *t, kiln_db_problems *out,
                              kiln_err *err) {
    kiln_db_bests bests;
    const double flops = flops_of(scratch, t);
    if (flops <= 0)
        return KILN_OK;
    KILN_TRY(kiln_db_best(db, scratch, t, KILN_DB_EXACT, N_EACH, &bests, err));
    for (size_t i = 0; i < bests.list.n; i++) {
        const kiln_db_trial *x = &bests.list.v[i].trial;
        if (kiln_db_is_implausible(x, 0) || !kiln_db_is_implausible(x, flops))
            continue; /* the database's own check has those that say what they compute
                       */
        if (out->line.n >= MAX_LINES)
            out->was_cut = true;
        else
            kiln_vec_push(a, &out->line,
                          kiln_format(a,
                                      "'%s' on %d thread%s, %s: %g ns is faster than "
                                      "its machine allows; kiln tune and kiln build do "
                                      "not use it",
                                      t->workload, t->threads,
                                      t->threads == 1 ? "" : "s", x->candidate.config,
                                      x->median_ns));
    }
    return KILN_OK;
}

kiln_status kiln_tune_check(kiln_db *db, kiln_arena *a, kiln_db_problems *out,
                            kiln_err *err) {
    kiln_db_tasks tasks;
    kiln_arena scratch = {0};
    KILN_TRY(kiln_db_tasks_of(db, a, &tasks, err));
    kiln_status st = KILN_OK;
    for (size_t i = 0; i < tasks.list.n && st == KILN_OK; i++) {
        st = check_task(db, a, &scratch, &tasks.list.v[i], out, err);
        kiln_arena_reset(&scratch);
    }
    kiln_arena_fini(&scratch);
    return st;
}
