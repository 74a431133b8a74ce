/* Records of an older kiln, asked for as builds do today: workload and profile are
 * read, and the task is made of them anew. */
#include "pipeline/tune/tune_internal.h"
#include "tests/support/database/older_db.h"

#include <string.h>

#define OK(call) kiln_assert_status_ok((call), &err)

static void builds_find_every_record(void **state) {
    kiln_err err = {0};
    kiln_db *db = NULL;
    kiln_arena *a = kiln_test_arena();
    const kiln_db_options reads = {.read_only = true};
    const char *path = kiln_test_older_db(*state, "builds");
    const kiln_test_goods goods = kiln_test_goods_of(path);
    OK(kiln_db_open(a, path, &reads, &db, &err));
    assert_true(goods.list.n > 20);
    for (size_t i = 0; i < goods.list.n; i++) {
        const kiln_test_good *g = &goods.list.v[i];
        const kiln_json *json = NULL;
        kiln_profile p;
        kiln_graph *graph = NULL;
        kiln_op_work w;
        OK(kiln_json_parse(a, kiln_str_from(g->task.profile_json), "profile", &json,
                           &err));
        OK(kiln_profile_read(a, json, "profile", &p, &err));
        OK(kiln_workload_read(a, kiln_str_from(g->task.workload), &graph, &err));
        OK(kiln_op_work_of(a, graph->name, graph, &w, &err));
        const kiln_db_task today =
            kiln_tune_task_of(a, &w, &p, g->task.threads, g->task.cache);
        assert_string_equal(today.workload, g->task.workload);
        assert_string_equal(today.numerics, g->task.numerics);
        assert_true(kiln_test_is_exact(db, &today, &g->candidate));
    }
    kiln_db_close(db);
}

int main(void) {
    kiln_test_add_older("builds_find_every_record", builds_find_every_record);
    return kiln_test_run("older_records");
}
