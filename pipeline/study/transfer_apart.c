/* A tuning database without what belongs to one network: what a build of that network
 * could know that was never tuned. */
#include "pipeline/study/study_internal.h"

#include <string.h>

static bool is_held_out(kiln_arena *scratch, const kiln_map *held,
                        const kiln_db_task *t) {
    const kiln_str anchor = kiln_tune_without_batch(scratch, kiln_str_from(t->anchor));
    return kiln_map_get(held, anchor) != NULL;
}

/* Repeats stay repeats: trials come in the order in which they were stored. */
static kiln_status copy_task(kiln_arena *scratch, kiln_db *from, const kiln_db_task *t,
                             kiln_db *to, kiln_err *err) {
    int64_t id = 0, new_id = 0;
    kiln_db_trials all;
    KILN_TRY(kiln_db_task_id(from, t, &id, err));
    KILN_TRY(kiln_db_trials_of(from, scratch, id, &all, err));
    KILN_TRY(kiln_db_task_id(to, t, &new_id, err));
    for (size_t i = 0; i < all.list.n; i++) {
        kiln_db_trial *x = &all.list.v[i];
        x->is_repeat = x->round > 0;
        KILN_TRY(kiln_db_record(to, new_id, x, NULL, err));
    }
    return kiln_interrupt_check(err);
}

kiln_status kiln_transfer_apart(kiln_arena *a, kiln_db *db,
                                const kiln_tune_works *without, kiln_db **out,
                                kiln_err *err) {
    kiln_arena scratch = {0}, keys = {0};
    kiln_map held = {0};
    kiln_db_tasks tasks = {.list = {.n = 0}};
    for (size_t i = 0; i < without->list.n; i++)
        kiln_map_set(
            &keys, &held,
            kiln_tune_without_batch(&keys, kiln_str_from(kiln_str_dupv(
                                               &keys, without->list.v[i].op.anchor))),
            &held);
    *out = NULL;
    kiln_status st = kiln_db_open(a, ":memory:", NULL, out, err);
    if (st == KILN_OK)
        st = kiln_db_tasks_of(db, &keys, &tasks, err);
    for (size_t i = 0; st == KILN_OK && i < tasks.list.n; i++) {
        if (!is_held_out(&scratch, &held, &tasks.list.v[i]))
            st = copy_task(&scratch, db, &tasks.list.v[i], *out, err);
        kiln_arena_reset(&scratch);
    }
    kiln_arena_fini(&scratch);
    kiln_arena_fini(&keys);
    if (st != KILN_OK) {
        kiln_db_close(*out);
        *out = NULL;
    }
    return st;
}
