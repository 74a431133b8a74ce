/* Provenance: what is written is read, and nothing else is: each member left out,
 * added, of another type, twice, or in another form. */
#include "packager/packager_provenance.h"
#include "tests/support/kiln_test.h"

#include <string.h>

#define SHA_1 "981c89d15016f849acde4e556754fff92439bc8993f7ead4578d6c6fd08406ab"
#define SHA_2 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static kiln_provenance all_of_it(void) {
    static const char *const shape[] = {"x:1x3x8x8", "h:2x1"};
    static const kiln_provenance_bind bind[] = {
        {{"sr", "i64", SHA_1}, "16000"}, {{"\xC3\xA4 \"", "f32[2,1]", SHA_2}, NULL}};
    static const kiln_material data[] = {{"weights.bin", SHA_2}, {"more/w.bin", SHA_1}};
    kiln_provenance p = {
        .archive = {"m-1-x.kiln.tar.zst", SHA_1},
        .model = {"m.onnx", SHA_2},
        .data = data,
        .n_data = 2,
        .name = "m",
        .version = "1",
        .licence = "MIT OR Apache-2.0",
        .shape = shape,
        .n_shapes = 2,
        .bind = bind,
        .n_binds = 2,
        .threads = 2,
        .profile = *kiln_profile_at(0),
        .time_s = 315532800,
        .seed = 1,
        .config = {"config.json", SHA_1},
        .n_records = 3,
        .n_ready = 1,
        .records_sha256 = SHA_2,
        .is_searched = true,
        .n_sites = 20,
        .n_known = 12,
        .n_costs = 34,
        .costs_sha256 = SHA_1,
        .ready = {"ready.jsonl", SHA_1},
        .builder = {.kiln = "0.1.0",
                    .llvm = "19.1.7",
                    .lld = "LLD 19.1.7",
                    .zstd = "1.5.4",
                    .commit = "5a8257b2c5f0cfbc096574c76d5f0542251a122b"}};
    p.profile.measure = "board";
    return p;
}

static kiln_str text_of(kiln_arena *a, const kiln_provenance *p) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_provenance_write(&text, p);
    return kiln_buf_str(&text);
}

static void reads_what_it_wrote(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const kiln_provenance full = all_of_it();
    kiln_provenance bare = full, again;
    static const char *const place[] = {"conv=host2", "random:7=host2"};
    kiln_provenance placed = full;
    placed.place = place;
    placed.n_places = 2;
    placed.signature = "encode";
    placed.has_state = true;
    placed.as_reference = true;
    bare.licence = bare.builder.commit = bare.profile.measure = NULL;
    bare.config.name = bare.ready.name = NULL;
    bare.n_data = bare.n_shapes = bare.n_binds = 0;
    bare.n_ready = 0;
    bare.is_searched = false;
    bare.model.name = "zoo:dqn";
    bare.is_unproved = bare.packs_at_open = true;
    kiln_profile more[2] = {*kiln_profile_at(1), *kiln_profile_at(2)};
    kiln_provenance several = full;
    more[1].measure = "board";
    several.more = more;
    several.n_more = 2;
    const kiln_provenance *const each[] = {&full, &bare, &placed, &several};
    for (int i = 0; i < 4; i++) {
        const kiln_str text = text_of(a, each[i]);
        kiln_assert_status_ok(kiln_provenance_read(a, text, "p", &again, &err), &err);
        kiln_assert_text_equal(text_of(a, &again), text);
    }
    kiln_assert_status_ok(kiln_provenance_read(a, text_of(a, &full), "p", &again, &err),
                          &err);
    assert_string_equal(again.bind[1].is.name, full.bind[1].is.name);
    assert_null(again.bind[1].number);
    assert_string_equal(again.data[1].name, "more/w.bin");
    assert_string_equal(again.profile.measure, "board");
    assert_int_equal(again.n_ready, 1);
    assert_true(again.is_searched && again.n_sites == 20 && again.n_known == 12);
    assert_int_equal(again.n_costs, 34);
    assert_string_equal(again.costs_sha256, full.costs_sha256);
}

/* ---- each member ----------------------------------------------------------------- */

typedef enum change { LEAVE_OUT, RENAME, ADD, TO_OBJECT, TO_LIST, TO_NUMBER } change;

typedef struct changing {
    kiln_json_writer w;
    change how;
    int at, n; /* the member that is changed; how many there were */
    const char *key;
} changing;

static void put(changing *c, const kiln_json *v);

static void put_changed(changing *c, const kiln_json *m) {
    c->key = kiln_json_key(m);
    if (c->how == LEAVE_OUT)
        return;
    if (c->how == ADD)
        kiln_json_member_str(&c->w, "and_more", "x");
    kiln_json_name(&c->w, c->how == RENAME
                              ? kiln_format(kiln_test_arena(), "%s_", kiln_json_key(m))
                              : kiln_json_key(m));
    if (c->how == TO_OBJECT) {
        kiln_json_begin_object(&c->w);
        kiln_json_end_object(&c->w);
    } else if (c->how == TO_LIST) {
        kiln_json_begin_array(&c->w);
        kiln_json_put_null(&c->w);
        kiln_json_end_array(&c->w);
    } else if (c->how == TO_NUMBER) {
        kiln_json_put_f64(&c->w, -0.5);
    } else {
        put(c, m);
    }
}

static void put(changing *c, const kiln_json *v) {
    if (!kiln_json_is_object(v) && !kiln_json_is_array(v)) {
        kiln_json_put(&c->w, v);
        return;
    }
    const bool is_object = kiln_json_is_object(v);
    if (is_object)
        kiln_json_begin_object(&c->w);
    else
        kiln_json_begin_array(&c->w);
    for (const kiln_json *m = kiln_json_first(v); m != NULL; m = kiln_json_next(m)) {
        if (is_object && c->n++ == c->at) {
            put_changed(c, m);
            continue;
        }
        if (is_object)
            kiln_json_name(&c->w, kiln_json_key(m));
        put(c, m);
    }
    if (is_object)
        kiln_json_end_object(&c->w);
    else
        kiln_json_end_array(&c->w);
}

static kiln_str changed(kiln_arena *a, const kiln_json *root, changing *c) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_json_writer_init(&c->w, &text);
    c->n = 0;
    put(c, root);
    kiln_buf_puts(&text, "\n");
    return kiln_buf_str(&text);
}

static void refuses_each_member_changed(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const kiln_provenance full = all_of_it();
    const kiln_str text = text_of(a, &full);
    const kiln_json *root = NULL;
    kiln_provenance out;
    int n_refused = 0;
    kiln_assert_status_ok(kiln_json_parse(a, text, "p", &root, &err), &err);
    changing none = {.at = -1};
    kiln_assert_text_equal(changed(a, root, &none), text);
    assert_true(none.n > 80);
    for (int at = 0; at < none.n; at++)
        for (int how = LEAVE_OUT; how <= TO_NUMBER; how++) {
            changing c = {.how = (change)how, .at = at};
            const kiln_str bad = changed(a, root, &c);
            kiln_err_clear(&err);
            if (kiln_provenance_read(a, bad, "that file", &out, &err) == KILN_OK)
                fail_msg("taken with '%s' changed: %.*s", c.key, KILN_STR_ARG(bad));
            if (strstr(err.text, "that file") == NULL)
                fail_msg("'%s': '%s' names no file", c.key, err.text);
            n_refused++;
        }
    print_message("%d changed members are refused\n", n_refused);
}

/* ---- by name --------------------------------------------------------------------- */

typedef struct row {
    const char *name, *what, *with, *why;
} row;

static row rows[] = {
    {"another_statement", "Statement/v1", "Statement/v2",
     "'_type' must be 'https://in-toto.io/Statement/v1'"},
    {"another_predicate", "provenance/v1", "provenance/v2", "'predicateType' must be"},
    {"another_type_of_build", "kiln:build:1", "kiln:build:2",
     "'predicate.buildDefinition.buildType' must be 'urn:kiln:build:1'"},
    {"another_builder", "urn:kiln:builder", "urn:mine",
     "'predicate.runDetails.builder.id' must be"},
    {"an_unknown_member", "\"threads\"", "\"thread\"",
     "'predicate.buildDefinition.externalParameters.threads' is missing"},
    {"a_commit_that_is_none", "5a8257b2", "5A8257b2",
     "version.commit' must be 40 hexadecimal digits"},
    {"too_many_threads", "\"threads\": 2", "\"threads\": 2000",
     "threads' must be a number from 1 to 1024"},
    {"half_a_thread", "\"threads\": 2", "\"threads\": 2.5",
     "threads' must be a number from 1 to 1024"},
    {"another_way_to_pack", "\"pack\": \"build\"", "\"pack\": \"never\"",
     "externalParameters.pack' must be 'build' or 'open'"},
    {"more_ready_than_all", "\"ready_kernels\": 1", "\"ready_kernels\": 4",
     "ready_kernels' must be a number from 0 to 3"},
    {"a_short_hash", SHA_2, "e3b0c442", "must be 64 hexadecimal digits"},
    {"a_path_for_an_archive", "m-1-x.kiln", "../m-1-x.kiln",
     "'subject[0].name' must be a file's name"},
    {"a_path_for_a_model", "\"m.onnx\"", "\"a/m.onnx\"", "must be a file's name"},
    {"a_way_out_for_data", "more/w.bin", "more/../../w.bin", "must be a file's name"},
    {"no_licence", "MIT OR", "MIT <>", "licence' must be an SPDX expression"},
    {"an_unknown_material", "urn:kiln:ready-records", "urn:kiln:other",
     "resolvedDependencies[6].uri' is not known"},
    {"more_measured_than_searched", "\"measured_steps\": 12", "\"measured_steps\": 21",
     "measured_steps' must be a number from 0 to 20"},
    {"no_costs", "urn:kiln:compared-costs", "urn:kiln:model-data",
     "must have the costs that were compared where layouts were searched"},
    {"costs_by_another_name", "costs that a search compared", "costs",
     "resolvedDependencies[5].name' must be 'costs that a search compared'"},
    {"a_model_twice", "urn:kiln:configurations", "urn:kiln:model",
     "resolvedDependencies[3].uri' is there twice"},
    {"no_records", "urn:kiln:tuning-records", "urn:kiln:model-data",
     "must have the records that were used"},
    {"no_more_profiles", "\"measure\": \"board\"",
     "\"measure\": \"board\",\n        \"more_profiles\": []",
     "more_profiles' must have some, or not be there"},
    {"a_profile_that_is_none", "\"measure\": \"board\"",
     "\"measure\": \"board\",\n        \"more_profiles\": [{\"measure\": null}]",
     "more_profiles[0].profile' is missing"},
    {"another_order", "\"has_fma\": true,\n          \"has_vnni\": ", "\"has_vnni\": ",
     "must be '          \"has_fma\": false,'"},
    {"another_indent", "  \"_type\"", " \"_type\"", "line 2 must be"},
    {"cut", "\n}\n", "\n", "that file:"},
};

static kiln_str replaced(kiln_arena *a, kiln_str text, const char *what,
                         const char *with) {
    kiln_buf out;
    const char *at = strstr(text.p, what);
    kiln_buf_init(&out, a);
    if (at == NULL)
        fail_msg("'%s' is not there", what);
    kiln_buf_add(&out, text.p, (size_t)(at - text.p));
    kiln_buf_puts(&out, with);
    kiln_buf_puts(&out, at + strlen(what));
    return kiln_buf_str(&out);
}

static void is_refused(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_provenance p = all_of_it(), out;
    p.profile.has_fma = true;
    const kiln_str text = replaced(a, text_of(a, &p), r->what, r->with);
    kiln_assert_fails(kiln_provenance_read(a, text, "that file", &out, &err),
                      KILN_ERR_PARSE, &err, r->why);
    assert_non_null(strstr(err.text, "that file"));
}

int main(void) {
    kiln_test_add("reads_what_it_wrote", reads_what_it_wrote, NULL);
    kiln_test_add("refuses_each_member_changed", refuses_each_member_changed, NULL);
    kiln_test_add_rows(is_refused, rows);
    return kiln_test_run("provenance");
}
