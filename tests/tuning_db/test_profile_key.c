/* Keys of profiles: what records go by. A database that an older kiln wrote, whose
 * records went by all of a profile's text, loses none of them. */
#include "tests/support/database/older_db.h"

#include <string.h>

#include "tuning_db/tuning_db_internal.h"

#define OK(call) kiln_assert_status_ok((call), &err)

static kiln_db *open_as(const char *path, bool read_only) {
    const kiln_db_options o = {.read_only = read_only};
    kiln_err err = {0};
    kiln_db *db = NULL;
    OK(kiln_db_open(kiln_test_arena(), path, &o, &db, &err));
    return db;
}

/* The profile as a kiln to come may write it: one field more, another order of the
 * caches that are shared, another name. */
static const char *newer_text(const char *profile_json) {
    kiln_arena *a = kiln_test_arena();
    const char *brace = strchr(profile_json, '{');
    assert_non_null(brace);
    return kiln_format(a, "{\"made_up\": {\"ports\": 2}, %s", brace + 1);
}

static const char *renamed_text(const char *profile_json) {
    static const char was[] = "\"name\": \"";
    const char *at = strstr(profile_json, was);
    assert_non_null(at);
    return kiln_format(kiln_test_arena(), "%.*s%sother-%s", (int)(at - profile_json),
                       profile_json, was, at + strlen(was));
}

static void assert_all_found(kiln_db *db, const kiln_test_goods *goods) {
    for (size_t i = 0; i < goods->list.n; i++) {
        const kiln_test_good *g = &goods->list.v[i];
        kiln_db_task newer = g->task, renamed = g->task;
        newer.profile_json = newer_text(g->task.profile_json);
        renamed.profile_json = renamed_text(g->task.profile_json);
        assert_true(kiln_test_is_exact(db, &g->task, &g->candidate));
        assert_true(kiln_test_is_exact(db, &newer, &g->candidate));
        assert_true(kiln_test_is_exact(db, &renamed, &g->candidate));
    }
}

static void hash_file(const char *path, char hex[KILN_SHA256_HEX]) {
    kiln_err err = {0};
    kiln_str bytes;
    OK(kiln_file_map(kiln_test_arena(), path, 0, &bytes, &err));
    kiln_sha256_of(bytes.p, bytes.n, hex);
}

/* Where the file may not be written to, and where it is brought up to date. */
static void every_record_is_found(void **state) {
    kiln_err err = {0};
    const char *path = kiln_test_older_db(*state, "found");
    const kiln_test_goods goods = kiln_test_goods_of(path);
    char hash[2][KILN_SHA256_HEX], digest[3][KILN_SHA256_HEX];
    kiln_db_stats was, is;
    assert_true(goods.list.n > 20);
    hash_file(path, hash[0]);
    kiln_db *db = open_as(path, true);
    assert_all_found(db, &goods);
    OK(kiln_db_digest(db, digest[0], &err));
    OK(kiln_db_stats_of(db, kiln_test_arena(), &was, &err));
    kiln_db_close(db);
    hash_file(path, hash[1]);
    assert_string_equal(hash[0], hash[1]); /* it was only read */
    for (int i = 1; i < 3; i++) {          /* migrated, and opened once more */
        db = open_as(path, i == 2);
        assert_all_found(db, &goods);
        OK(kiln_db_digest(db, digest[i], &err));
        assert_string_equal(digest[0], digest[i]);
        kiln_db_close(db);
    }
    db = open_as(path, true);
    OK(kiln_db_stats_of(db, kiln_test_arena(), &is, &err));
    assert_int_equal(was.n_trials, is.n_trials);
    assert_int_equal(was.n_tasks, is.n_tasks);
    assert_int_equal(was.n_profiles, is.n_profiles);
    kiln_db_close(db);
}

static void assert_sound(kiln_db *db) {
    kiln_err err = {0};
    kiln_db_problems p;
    OK(kiln_db_check(db, kiln_test_arena(), &p, &err));
    if (p.line.n > 0)
        fail_msg("%s", p.line.v[0]);
}

/* What was measured under the old text is measured: nobody claims it again, and a new
 * trial joins the old task. */
static void a_newer_profile_goes_on(void **state) {
    static const double ns[] = {1000, 1001, 1002};
    kiln_err err = {0};
    const char *path = kiln_test_older_db(*state, "goes_on");
    const kiln_test_goods goods = kiln_test_goods_of(path);
    kiln_db *db = open_as(path, false);
    kiln_db_stats was, is;
    OK(kiln_db_stats_of(db, kiln_test_arena(), &was, &err));
    for (size_t i = 0; i < goods.list.n; i++) {
        const kiln_test_good *g = &goods.list.v[i];
        kiln_db_task newer = g->task;
        kiln_db_claim_state claim;
        int64_t old_id = 0, id = 0;
        newer.profile_json = newer_text(g->task.profile_json);
        OK(kiln_db_task_id(db, &g->task, &old_id, &err));
        OK(kiln_db_task_id(db, &newer, &id, &err));
        assert_int_equal(id, old_id);
        OK(kiln_db_claim(db, id, &g->candidate, "test", 60, &claim, &err));
        assert_int_equal(claim, KILN_DB_DONE);
    }
    kiln_db_task newer = goods.list.v[0].task;
    int64_t id = 0;
    const kiln_db_trial t = {.candidate = {"conv_direct", "{\"made_up\": 1}"},
                             .layouts = "",
                             .sample_ns = ns,
                             .n_samples = 3,
                             .proof = "{\"seeds\": 3, \"worst\": 0.1}",
                             .owner = "test",
                             .kiln = "0.0",
                             .time_ms = 1};
    newer.profile_json = newer_text(newer.profile_json);
    OK(kiln_db_task_id(db, &newer, &id, &err));
    OK(kiln_db_record(db, id, &t, NULL, &err));
    OK(kiln_db_stats_of(db, kiln_test_arena(), &is, &err));
    assert_int_equal(is.n_trials, was.n_trials + 1);
    assert_int_equal(is.n_tasks, was.n_tasks);
    assert_true(kiln_test_is_exact(db, &goods.list.v[0].task, &t.candidate));
    assert_sound(db);
    kiln_db_close(db);
}

/* An export of the older file, into one where a newer kiln measured already, twice. */
static void exports_come_together(void **state) {
    kiln_err err = {0};
    const char *path = kiln_test_older_db(*state, "export");
    const kiln_test_goods goods = kiln_test_goods_of(path);
    kiln_db *old = open_as(path, true), *db = open_as(":memory:", false);
    kiln_buf text;
    kiln_db_import_counts n;
    int64_t id = 0;
    kiln_db_task newer = goods.list.v[0].task;
    newer.profile_json = newer_text(newer.profile_json);
    OK(kiln_db_task_id(db, &newer, &id, &err));
    kiln_buf_init(&text, kiln_test_arena());
    OK(kiln_db_export(old, &text, &err));
    OK(kiln_db_import(db, kiln_buf_str(&text), "export", &n, &err));
    assert_true(n.n_new > 0 && n.n_known == 0);
    const int64_t n_all = n.n_new;
    OK(kiln_db_import(db, kiln_buf_str(&text), "export", &n, &err));
    assert_int_equal(n.n_new, 0);
    assert_int_equal(n.n_known, n_all);
    assert_all_found(db, &goods);
    assert_sound(db);
    kiln_db_close(old);
    kiln_db_close(db);
}

/* ---- keys --------------------------------------------------------------------------
 */

#define HEAD "\"arch\": \"x86_64\", \"cpu\": \"x86-64-v4\", \"has_fma\": true"
static const char plain[] = "{\"name\": \"a\", " HEAD ", \"vector_bytes\": 64}";

typedef struct key_row {
    const char *name, *json;
    bool is_same; /* as plain */
} key_row;

static key_row key_rows[] = {
    {"another_name", "{\"name\": \"b\", " HEAD ", \"vector_bytes\": 64}", true},
    {"another_order", "{\"vector_bytes\": 64, \"name\": \"a\", " HEAD "}", true},
    {"an_unknown_field", "{" HEAD ", \"vector_bytes\": 64, \"ports\": [1, 2]}", true},
    {"a_flag_that_is_not_set",
     "{" HEAD ", \"vector_bytes\": 64, \"has_vnni\": false, \"features\": \"\"}", true},
    {"the_caches_that_are_shared", "{" HEAD ", \"vector_bytes\": 64, \"l3_bytes\": 7}",
     true},
    {"numerics", "{" HEAD ", \"vector_bytes\": 64, \"numerics\": \"strict\"}", true},
    {"a_flag_that_is_set", "{" HEAD ", \"vector_bytes\": 64, \"has_vnni\": true}",
     false},
    {"features", "{" HEAD ", \"vector_bytes\": 64, \"features\": \"+x\"}", false},
    {"vectors", "{" HEAD ", \"vector_bytes\": 32}", false},
    {"own_caches", "{" HEAD ", \"vector_bytes\": 64, \"l2_bytes\": 1048576}", false},
    {"cores", "{" HEAD ", \"vector_bytes\": 64, \"cores\": 2}", false},
    {"a_gpu", "{" HEAD ", \"vector_bytes\": 64, \"gpu\": {\"warp\": 32}}", false},
    {"another_architecture", "{\"arch\": \"aarch64\", \"vector_bytes\": 64}", false},
    {"no_profile", "{\"name\": \"a\"}", false},
    {"no_object", "[]", false},
    {"no_json", "{", false},
};

static void check_key(void **state) {
    const key_row *r = *state;
    char x[KILN_SHA256_HEX], y[KILN_SHA256_HEX];
    kiln_db_profile_key(plain, x);
    kiln_db_profile_key(r->json, y);
    assert_int_equal(strcmp(x, y) == 0, r->is_same);
}

/* Of GPUs: limits are of the key, speeds that rules guess by are not. */
static void gpus_go_by_their_limits(void **state) {
    (void)state;
    static const char *const text[] = {
        "{\"arch\": \"opencl\", \"gpu\": {\"warp\": 1, \"shared_bytes\": 32768}}",
        ("{\"arch\": \"opencl\", \"gpu\": {\"shared_bytes\": 32768, \"warp\": 1,"
         " \"peak_gflops\": 9, \"memory_gbs\": 3, \"has_tensor_cores\": false}}"),
        "{\"arch\": \"opencl\", \"gpu\": {\"warp\": 1, \"shared_bytes\": 16384}}",
        "{\"arch\": \"nvptx\", \"gpu\": {\"warp\": 1, \"shared_bytes\": 32768}}"};
    enum { N = sizeof text / sizeof text[0] };
    char key[N][KILN_SHA256_HEX];
    for (int i = 0; i < N; i++)
        kiln_db_profile_key(text[i], key[i]);
    assert_string_equal(key[0], key[1]);
    assert_string_not_equal(key[0], key[2]);
    assert_string_not_equal(key[0], key[3]);
    assert_true(kiln_db_profile_key_has(kiln_str_from("shared_bytes")));
    assert_false(kiln_db_profile_key_has(kiln_str_from("peak_gflops")));
}

static void fields_of_the_key_are_told(void **state) {
    (void)state;
    assert_true(kiln_db_profile_key_has(kiln_str_from("l2_bytes")));
    assert_true(kiln_db_profile_key_has(kiln_str_from("arch")));
    assert_false(kiln_db_profile_key_has(kiln_str_from("l3_bytes")));
    assert_false(kiln_db_profile_key_has(kiln_str_from("name")));
    assert_false(kiln_db_profile_key_has(kiln_str_from("numerics")));
    assert_false(kiln_db_profile_key_has(kiln_str_from("")));
}

/* Texts that are no profile are told apart by all that they say. */
static void what_is_no_profile_is_its_own_key(void **state) {
    (void)state;
    static const char *const text[] = {"{\"name\": \"a\"}", "{\"name\": \"b\"}", "{}",
                                       "[]", "{"};
    enum { N = sizeof text / sizeof text[0] };
    char key[N][KILN_SHA256_HEX];
    for (int i = 0; i < N; i++) {
        kiln_db_profile_key(text[i], key[i]);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(key[k], key[i]);
    }
}

/* Rows whose keys another version wrote are written anew; a wrong key is found. */
static void keys_have_a_version(void **state) {
    kiln_err err = {0};
    kiln_db_problems p;
    const char *path = kiln_test_older_db(*state, "version");
    const kiln_test_goods goods = kiln_test_goods_of(path);
    kiln_db *db = open_as(path, false);
    OK(kiln_sql_run(db->sql, "UPDATE profile SET key = 'x', key_version = 99", &err));
    kiln_db_close(db);
    for (int i = 0; i < 2; i++) { /* read only at first */
        db = open_as(path, i == 0);
        assert_all_found(db, &goods);
        assert_sound(db);
        kiln_db_close(db);
    }
    db = open_as(path, false);
    OK(kiln_sql_run(db->sql, "UPDATE profile SET key = 'x' WHERE id = 1", &err));
    OK(kiln_db_check(db, kiln_test_arena(), &p, &err));
    assert_int_equal(p.line.n, 1);
    assert_non_null(strstr(p.line.v[0], "its key is not that of its text"));
    kiln_db_close(db);
}

int main(void) {
    kiln_test_add_older("every_record_is_found", every_record_is_found);
    kiln_test_add_older("a_newer_profile_goes_on", a_newer_profile_goes_on);
    kiln_test_add_older("exports_come_together", exports_come_together);
    kiln_test_add_rows(check_key, key_rows);
    kiln_test_add("gpus_go_by_their_limits", gpus_go_by_their_limits, NULL);
    kiln_test_add("fields_of_the_key_are_told", fields_of_the_key_are_told, NULL);
    kiln_test_add("what_is_no_profile_is_its_own_key",
                  what_is_no_profile_is_its_own_key, NULL);
    kiln_test_add_older("keys_have_a_version", keys_have_a_version);
    return kiln_test_run("profile_key");
}
