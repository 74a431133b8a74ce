/* Ready records: what is written is read again; what was damaged is named. */
#include <string.h>

#include "tests/support/database/db_make.h"

static const char profile_a[] = "{\n  \"name\": \"a\",\n  \"cores\": 2\n}";
static const char profile_b[] = "{\n  \"name\": \"b\",\n  \"cores\": 4\n}";

static kiln_db_ready record(const char *workload, const char *profile, int threads,
                            double ns) {
    return (kiln_db_ready){
        .task = {workload, "conv()", profile == profile_a ? "a" : "b", profile, threads,
                 "fast", "rotated"},
        .candidate = {"direct", "{\"template\": \"direct\", \"k\": 3}"},
        .layouts = "f32[4]{block=0x4}",
        .ns = ns,
        .n_rounds = 2,
        .peak_gflops = 100.5,
        .rule = "{\"template\": \"direct\", \"k\": 1}",
        .rule_ns = 2 * ns,
        .proof = "{\"seeds\": 3, \"worst\": 0.25}",
        .kiln = "1.2.3",
        .time_ms = 1795000000000};
}

static kiln_buf written(const kiln_db_readies *r) {
    kiln_buf out;
    kiln_err err = {0};
    kiln_buf_init(&out, kiln_test_arena());
    kiln_assert_status_ok(kiln_db_ready_write(&out, r, &err), &err);
    return out;
}

static kiln_db_readies read_back(const char *text) {
    kiln_db_readies r;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_db_ready_read(kiln_test_arena(), kiln_str_from(text),
                                             "ready.jsonl", &r, &err),
                          &err);
    return r;
}

static kiln_db_readies three(bool backwards) {
    const kiln_db_ready all[] = {record("conv() -> %1", profile_b, 1, 100),
                                 record("conv() -> %1", profile_b, 2, 60.5),
                                 record("conv(); relu(%1) -> %2", profile_a, 1, 90)};
    kiln_db_readies r = {.list = {.n = 0}};
    for (size_t i = 0; i < 3; i++)
        kiln_vec_push(kiln_test_arena(), &r.list, all[backwards ? 2 - i : i]);
    return r;
}

static void text_is_a_function_of_the_records(void **state) {
    (void)state;
    const kiln_db_readies forth = three(false), back = three(true);
    const kiln_buf one = written(&forth), two = written(&back);
    kiln_assert_text_equal(kiln_buf_str(&one), kiln_buf_str(&two));
    const kiln_db_readies again = read_back(one.p);
    const kiln_buf three = written(&again);
    kiln_assert_text_equal(kiln_buf_str(&one), kiln_buf_str(&three));
    char hex[KILN_SHA256_HEX];
    kiln_sha256_of(one.p, one.n, hex);
    assert_string_equal(again.sha256, hex);
}

static void records_come_back_whole(void **state) {
    (void)state;
    const kiln_db_readies from = three(false);
    const kiln_buf text = written(&from);
    const kiln_db_readies got = read_back(text.p);
    assert_int_equal(got.list.n, 3);
    const kiln_db_ready *a = &from.list.v[1], *b = &got.list.v[1];
    assert_string_equal(b->task.workload, a->task.workload);
    assert_string_equal(b->task.anchor, a->task.anchor);
    assert_string_equal(b->task.profile, "b");
    assert_string_equal(b->task.profile_json, profile_b);
    assert_int_equal(b->task.threads, 2);
    assert_string_equal(b->task.numerics, "fast");
    assert_string_equal(b->candidate.tmpl, "direct");
    assert_string_equal(b->candidate.config, a->candidate.config);
    assert_string_equal(b->layouts, a->layouts);
    assert_true(b->ns == 60.5 && b->rule_ns == 121);
    assert_int_equal(b->n_rounds, 2);
    assert_string_equal(b->rule, a->rule);
    assert_string_equal(b->proof, a->proof);
    assert_int_equal(b->time_ms, a->time_ms);
}

static void they_answer_as_a_database(void **state) {
    (void)state;
    const kiln_db_readies from = three(false);
    kiln_db *db = NULL;
    kiln_err err = {0};
    kiln_db_bests b;
    kiln_assert_status_ok(kiln_db_ready_open(kiln_test_arena(), &from, &db, &err),
                          &err);
    kiln_test_db_is_sound(db);
    const kiln_db_task asked = from.list.v[1].task;
    kiln_assert_status_ok(
        kiln_db_best(db, kiln_test_arena(), &asked, KILN_DB_EXACT, 1, &b, &err), &err);
    assert_int_equal(b.list.n, 1);
    assert_true(b.list.v[0].trial.median_ns == 60.5);
    const kiln_json *facts = NULL;
    kiln_assert_status_ok(kiln_json_parse(kiln_test_arena(),
                                          kiln_str_from(b.list.v[0].trial.facts),
                                          "facts", &facts, &err),
                          &err);
    assert_true(kiln_json_number(kiln_json_get(facts, "rule_ns"), 0) == 121);
    /* Its algorithm may do less than the operator's sum: nobody doubts it for that. */
    assert_true(b.list.v[0].trial.peak_gflops > 0);
    assert_false(kiln_db_is_implausible(&b.list.v[0].trial, 1e12));
    assert_true(kiln_json_number(kiln_json_get(kiln_json_get(facts, "rule"), "k"), 0) ==
                1);
    kiln_db_close(db);
}

/* ---- what is refused ------------------------------------------------------------- */

/* The text of one record, with one piece of it replaced. */
typedef struct damage_row {
    const char *name, *was, *is;
    kiln_status want;
    const char *text, *where;
} damage_row;

static damage_row damage_rows[] = {
    {"another_file", "kiln_ready_records", "kiln_tuning_records", KILN_ERR_PARSE,
     "no file of ready records", "line 1 "},
    {"a_newer_file", "records\": 1", "records\": 2", KILN_ERR_UNSUPPORTED,
     "ready records of version 2; this kiln reads 1", "line 1 "},
    {"a_torn_line", "\"time_ms\": 1795000000000}", "\"time_ms\": ", KILN_ERR_PARSE,
     "ready.jsonl:1:", "line 3 "},
    {"a_changed_profile", "\"cores\": 2", "\"cores\": 3", KILN_ERR_PARSE,
     "the profile was changed", "line 2 "},
    {"an_unknown_profile", "\"on\": \"", "\"on\": \"x", KILN_ERR_PARSE,
     "no line above has the profile 'x", "line 3 "},
    {"no_configuration", "\"config\": {\"template\": \"direct\", \"k\": 3}",
     "\"config\": 3", KILN_ERR_PARSE, "'config' must be an object", "line 3 "},
    {"a_deep_configuration", "\"k\": 3",
     "\"k\": [[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]", KILN_ERR_LIMIT,
     "'config' is nested more than 16 deep", "line 3 "},
    {"no_time", "\"ns\": 90", "\"ns\": 0", KILN_ERR_PARSE,
     "'ns' must be a time above 0", "line 3 "},
    {"no_rule", "\"rule_ns\": 180", "\"rule_ns\": -1", KILN_ERR_PARSE,
     "'rule_ns' must be a time above 0", "line 3 "},
    {"no_threads", "\"threads\": 1", "\"threads\": 0", KILN_ERR_PARSE,
     "'threads' must be a whole number from 1", "line 3 "},
    {"no_workload_text", "\"workload\": \"conv(); relu(%1) -> %2\"",
     "\"workload\": \"\"", KILN_ERR_PARSE, "lacks its workload", "line 3 "},
};

static void check_damage(void **state) {
    const damage_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    const kiln_db_ready one = record("conv(); relu(%1) -> %2", profile_a, 1, 90);
    kiln_db_readies list = {.list = {.n = 0}}, got = {.list = {.n = 0}};
    kiln_err err = {0};
    kiln_vec_push(a, &list.list, one);
    const kiln_buf text = written(&list);
    const char *at = strstr(text.p, r->was);
    assert_non_null(at);
    const char *bad = kiln_format(a, "%.*s%s%s", (int)(at - text.p), text.p, r->is,
                                  at + strlen(r->was));
    kiln_assert_fails(
        kiln_db_ready_read(a, kiln_str_from(bad), "ready.jsonl", &got, &err), r->want,
        &err, r->text);
    assert_non_null(strstr(err.text, kiln_format(a,
                                                 "while reading %sof the ready "
                                                 "records 'ready.jsonl'",
                                                 r->where)));
    assert_int_equal(got.list.n, 0);
}

static void an_empty_file_is_none(void **state) {
    (void)state;
    kiln_db_readies got;
    kiln_err err = {0};
    kiln_assert_fails(
        kiln_db_ready_read(kiln_test_arena(), (kiln_str){"", 0}, "x", &got, &err),
        KILN_ERR_PARSE, &err, "the ready records 'x' are empty");
}

static void a_record_twice_is_refused(void **state) {
    (void)state;
    kiln_db_readies list = {.list = {.n = 0}};
    kiln_db *db = NULL;
    kiln_err err = {0};
    for (int i = 0; i < 2; i++)
        kiln_vec_push(kiln_test_arena(), &list.list,
                      record("conv() -> %1", profile_a, 1, 90 + i));
    kiln_assert_fails(kiln_db_ready_open(kiln_test_arena(), &list, &db, &err),
                      KILN_ERR_PARSE, &err, "two records say the same candidate");
    assert_null(db);
}

int main(void) {
    kiln_test_add("text_is_a_function_of_the_records",
                  text_is_a_function_of_the_records, NULL);
    kiln_test_add("records_come_back_whole", records_come_back_whole, NULL);
    kiln_test_add("they_answer_as_a_database", they_answer_as_a_database, NULL);
    kiln_test_add_rows(check_damage, damage_rows);
    kiln_test_add("an_empty_file_is_none", an_empty_file_is_none, NULL);
    kiln_test_add("a_record_twice_is_refused", a_record_twice_is_refused, NULL);
    return kiln_test_run("ready");
}
