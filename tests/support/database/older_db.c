#include "tests/support/database/older_db.h"

#include "packager/codec.h"
#include "tuning_db/tuning_db_internal.h"

#include <string.h>

#define OK(call) kiln_assert_status_ok((call), &err)

static kiln_test_older olders[] = {{"version2"}, {"version3"}};

void kiln_test_add_older(const char *name, void (*test)(void **state)) {
    for (size_t i = 0; i < sizeof olders / sizeof olders[0]; i++)
        kiln_test_add(kiln_format(kiln_test_arena(), "%s_%s", name, olders[i].version),
                      test, &olders[i]);
}

const char *kiln_test_older_db(const kiln_test_older *older, const char *name) {
    enum { MAX_BYTES = 4 << 20 };
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_str packed;
    kiln_zstd_reader *r = NULL;
    size_t n = 0;
    char *bytes = kiln_arena_alloc(a, MAX_BYTES);
    const char *from =
        kiln_format(a, "tests/tuning_db/older/%s.db.zst", older->version);
    OK(kiln_file_map(a, from, 0, &packed, &err));
    OK(kiln_zstd_reader_open(a, packed, &r, &err));
    OK(kiln_zstd_reader_read(r, bytes, MAX_BYTES, &n, &err));
    kiln_zstd_reader_close(r);
    assert_true(n > 0 && n < MAX_BYTES);
    const char *path = kiln_path_join(a, kiln_test_dir(),
                                      kiln_format(a, "%s-%s.db", name, older->version));
    OK(kiln_file_write(path, bytes, n, &err));
    return path;
}

kiln_test_goods kiln_test_goods_of(const char *path) {
    static const char all[] =
        "SELECT " KILN_DB_TASK_COLUMNS
        ", t.template, t.config FROM " KILN_DB_TASK_TABLES
        " JOIN trial t ON t.task = k.id GROUP BY k.id, t.template, t.config"
        " HAVING max(t.error) = ''";
    kiln_arena *a = kiln_test_arena();
    kiln_test_goods out = {.list = {.n = 0}};
    kiln_err err = {0};
    kiln_sql *sql = NULL;
    kiln_query q = {0};
    bool has_row = false;
    const kiln_sql_options o = {.read_only = true, .what = "file", .remedy = ""};
    OK(kiln_sql_open(a, path, &o, &sql, &err));
    OK(kiln_query_open(sql, all, &q, &err));
    while (kiln_query_step(&q, &has_row, &err) == KILN_OK && has_row) {
        kiln_test_good g;
        kiln_db_get_task(&q, 0, a, &g.task);
        g.candidate.tmpl = kiln_query_get_text(&q, KILN_DB_N_TASK_COLUMNS, a);
        g.candidate.config = kiln_query_get_text(&q, KILN_DB_N_TASK_COLUMNS + 1, a);
        kiln_vec_push(a, &out.list, g);
    }
    kiln_query_close(&q);
    kiln_sql_close(sql);
    return out;
}

bool kiln_test_is_exact(kiln_db *db, const kiln_db_task *t,
                        const kiln_db_candidate *c) {
    enum { N_EACH = 10000 };
    kiln_err err = {0};
    kiln_db_bests b;
    OK(kiln_db_best(db, kiln_test_arena(), t, KILN_DB_EXACT, N_EACH, &b, &err));
    for (size_t i = 0; i < b.list.n; i++)
        if (strcmp(b.list.v[i].trial.candidate.tmpl, c->tmpl) == 0 &&
            strcmp(b.list.v[i].trial.candidate.config, c->config) == 0)
            return true;
    return false;
}
