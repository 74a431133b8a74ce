/* An archive built again from its provenance: the same bytes, or what differs first;
 * every material is held against its hash. */
#include "pipeline/package/package.h"
#include "pipeline/tune/tune.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/onnx_writer.h"
#include "tests/support/measuring/tune_run.h"

#include <stdlib.h>
#include <string.h>

static const char *dir;

static kiln_arena *arena(void) { return kiln_test_arena(); }
static const char *in(const char *name) { return kiln_path_join(arena(), dir, name); }

static void write_file(const char *path, kiln_str bytes) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, bytes.p, bytes.n, &err), &err);
}

/* A product with weights in a file of their own, of a model with a dynamic dimension
 * and an input to be fixed. */
static const char *write_model(const char *name) {
    enum { ROWS = 8, COLUMNS = 16 };
    const char *folder = in(name), *path = kiln_path_join(arena(), folder, "m.onnx");
    kiln_err err = {0};
    float weight[ROWS * COLUMNS];
    kiln_onnx_writer m;
    kiln_assert_status_ok(kiln_dir_make(folder, &err), &err);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        weight[i] = (float)(i % 7) - 3;
    kiln_onnx_writer_init(&m, arena(), "m");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "n,8");
    kiln_onnx_put_input(&m, "s", KILN_ONNX_FLOAT, "16");
    kiln_onnx_put_node(&m, "MatMul", "m", "x,w", "h");
    kiln_onnx_put_node(&m, "Mul", "k", "h,s", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "n,16");
    kiln_onnx_put_initializer(
        &m, kiln_onnx_external_tensor(arena(), "w", KILN_ONNX_FLOAT, "8,16",
                                      "weights.bin", 0, sizeof weight));
    write_file(path, kiln_onnx_finish_model(&m, 8, 13));
    write_file(kiln_path_join(arena(), folder, "weights.bin"),
               (kiln_str){(const char *)weight, sizeof weight});
    return path;
}

/* ---- one build ------------------------------------------------------------------- */

typedef struct built {
    const char *model;
    kiln_import_options import;
    kiln_build build;
    kiln_provenance provenance;
} built;

static kiln_import_options options_of(float scale) {
    enum { N = 16 };
    const int64_t dim[] = {N};
    kiln_shape_binding *shape = kiln_new(arena(), kiln_shape_binding);
    kiln_value_binding *value = kiln_new(arena(), kiln_value_binding);
    *shape = (kiln_shape_binding){.name = "x", .rank = 2, .dim = {4, 8}};
    const kiln_type t = kiln_type_make(KILN_F32, 1, dim);
    *value = (kiln_value_binding){.name = "s", .value = kiln_tensor_new(arena(), &t)};
    float *v = value->value.data;
    for (int i = 0; i < N; i++)
        v[i] = scale;
    return (kiln_import_options){
        .shapes = shape, .n_shapes = 1, .values = value, .n_values = 1};
}

static built build_packing(const char *name, bool pack_at_open) {
    static const char *const shape[] = {"x:4x8"};
    static const char *const bind[] = {"s=2"};
    kiln_err err = {0};
    built b = {.model = write_model(name), .import = options_of(2)};
    kiln_profile p;
    kiln_source s;
    kiln_expectation e;
    const kiln_build_options o = {.version = "3",
                                  .licence = "MIT",
                                  .folder = kiln_path_dir(arena(), b.model),
                                  .import = &b.import,
                                  .pack_at_open = pack_at_open,
                                  .seed = 1};
    const kiln_provenance_words words = {.model = b.model,
                                         .shape = shape,
                                         .n_shapes = 1,
                                         .bind = bind,
                                         .no_ready = true};
    const char *path = NULL;
    kiln_assert_status_ok(kiln_profile_find(arena(), "native", &p, &err), &err);
    kiln_assert_status_ok(kiln_source_read(arena(), b.model, &b.import, &s, &err),
                          &err);
    kiln_assert_status_ok(kiln_expectation_of(arena(), &s, 1, &e, &err), &err);
    kiln_assert_status_ok(kiln_package_build(arena(), &s, &e, &p, &o, &b.build, &err),
                          &err);
    kiln_assert_status_ok(
        kiln_provenance_of(arena(), &s, &p, &o, &b.build, &words, &b.provenance, &err),
        &err);
    kiln_assert_status_ok(
        kiln_provenance_save(arena(), &b.provenance, b.build.path, &path, &err), &err);
    return b;
}

static built build_in(const char *name) { return build_packing(name, false); }

static kiln_status rebuild(const built *b, kiln_rebuild *out, kiln_err *err) {
    const kiln_rebuild_options o = {.model = b->model, .import = &b->import};
    return kiln_package_rebuild(arena(), b->build.path, &b->provenance, &o, out, err);
}

static void is_the_same(const built *b) {
    kiln_err err = {0};
    kiln_rebuild r;
    kiln_assert_status_ok(rebuild(b, &r, &err), &err);
    for (size_t i = 0; i < r.difference.n; i++)
        print_message("%s\n", r.difference.v[i]);
    assert_int_equal(r.difference.n, 0);
    assert_string_equal(r.sha256, b->build.sha256);
    assert_int_equal(r.bytes, b->build.bytes);
}

static void differs_in(const built *b, const char *first) {
    kiln_err err = {0};
    kiln_rebuild r;
    kiln_assert_status_ok(rebuild(b, &r, &err), &err);
    assert_true(r.difference.n > 0);
    if (strstr(r.difference.v[0], first) == NULL)
        fail_msg("'%s' is not in '%s'", first, r.difference.v[0]);
}

static void is_refused(const built *b, const char *why) {
    kiln_err err = {0};
    kiln_rebuild r;
    kiln_assert_fails(rebuild(b, &r, &err), KILN_ERR_PARSE, &err, why);
}

/* ---- tests ----------------------------------------------------------------------- */

/* What the statement says: files by name and hash, the words of the command. */
static void says_what_it_was_made_of(void **state) {
    (void)state;
    const built b = build_in("said");
    const kiln_provenance *p = &b.provenance;
    kiln_provenance again;
    kiln_err err = {0};
    kiln_str text;
    const char *path = kiln_format(arena(), "%s" KILN_PROVENANCE_ENDING, b.build.path);
    kiln_assert_status_ok(kiln_file_map(arena(), path, 0, &text, &err), &err);
    kiln_assert_status_ok(kiln_provenance_read(arena(), text, path, &again, &err),
                          &err);
    assert_string_equal(again.archive.sha256, b.build.sha256);
    assert_string_equal(p->model.name, "m.onnx");
    assert_int_equal(p->n_data, 1);
    assert_string_equal(p->data[0].name, "weights.bin");
    assert_int_equal(p->n_binds, 1);
    assert_string_equal(p->bind[0].number, "2");
    assert_string_equal(p->bind[0].is.type, "f32[16]");
    assert_string_equal(p->shape[0], "x:4x8");
    assert_null(p->ready.name);
    assert_string_equal(p->builder.kiln, KILN_VERSION);
    assert_null(strstr(text.p, dir)); /* no path of this machine */
}

static void builds_the_same_bytes(void **state) {
    (void)state;
    built b = build_in("same");
    is_the_same(&b);
    /* Whatever the environment says now: the time is the provenance's. */
    assert_int_equal(setenv("SOURCE_DATE_EPOCH", "1000000000", 1), 0);
    is_the_same(&b);
    const built later = build_in("later");
    assert_int_equal(unsetenv("SOURCE_DATE_EPOCH"), 0);
    assert_string_not_equal(later.build.sha256, b.build.sha256);
    is_the_same(&later);
    b.provenance.time_s++;
    differs_in(&b, "its entry 'sbom.spdx.json' has ");
}

/* The way to pack is the provenance's: with another one it is another archive, where
 * there is nothing to pack by the layouts that parameters say they have. */
static void packs_as_it_was_packed(void **state) {
    (void)state;
    built b = build_packing("packed", true);
    assert_true(b.provenance.packs_at_open);
    is_the_same(&b);
    b.provenance.packs_at_open = false;
    differs_in(&b, b.build.packed > 0 ? "its entry 'lib.so' has "
                                      : "its entry 'params.safetensors' has ");
}

static void tells_what_differs(void **state) {
    (void)state;
    const built b = build_in("differs");
    built other = b;
    other.provenance.version = "4";
    differs_in(&other, "its entry 'sbom.spdx.json' has ");
    other = b;
    other.provenance.seed = 2;
    differs_in(&other, "its entry 'selftest/expected.safetensors' has ");
    other = b;
    other.provenance.is_unproved = true;
    differs_in(&other,
               "its manifest says \"proved\": true; rebuilt it says \"proved\": false");
    other = b;
    other.provenance.n_records = 1;
    other.provenance.records_sha256[0] ^= 1;
    differs_in(&other, "its tuning records are others: 1 kernel had some, here 0");
}

static void builds_nothing_with_other_versions(void **state) {
    (void)state;
    const built b = build_in("versions");
    built other = b;
    kiln_err err = {0};
    kiln_rebuild r;
    other.provenance.builder.kiln = "9.9.9";
    other.provenance.builder.zstd = "0.1";
    kiln_assert_status_ok(rebuild(&other, &r, &err), &err);
    assert_int_equal(r.difference.n, 2);
    assert_string_equal(r.difference.v[0],
                        "it was built by kiln 9.9.9, here is " KILN_VERSION);
    assert_non_null(strstr(r.difference.v[1], "it was built by zstd 0.1, here is "));
    assert_int_equal(r.bytes, 0);
    other = b;
    other.provenance.builder.commit = "0000000000000000000000000000000000000000";
    differs_in(&other, "it was built by kiln's commit 0000000000000000");
}

static void holds_materials_against_their_hashes(void **state) {
    (void)state;
    built b = build_in("materials");
    const built whole = b;
    kiln_err err = {0};
    kiln_str file;
    b.provenance.archive.sha256[0] ^= 1;
    is_refused(&b, "the provenance names 'm-3-native.kiln.tar.zst' with ");
    b = whole;
    b.provenance.model.sha256[5] ^= 1;
    is_refused(&b, "m.onnx' has SHA-256 ");
    b = whole;
    b.provenance.n_data = 0;
    is_refused(&b, "names 0 files of the model's data, the model 1");
    b = whole;
    b.provenance.config = (kiln_material){.name = "c.json"};
    kiln_rebuild r;
    kiln_assert_fails(rebuild(&b, &r, &err), KILN_ERR_ARG, &err,
                      "it was built with configurations of 'c.json'");
    /* A weight that was changed since. */
    const char *weights =
        kiln_path_join(arena(), kiln_path_dir(arena(), whole.model), "weights.bin");
    kiln_err_clear(&err);
    kiln_assert_status_ok(kiln_file_map(arena(), weights, 0, &file, &err), &err);
    char *copy = kiln_arena_dup(arena(), file.p, file.n);
    copy[2] ^= 1;
    write_file(weights, (kiln_str){copy, file.n});
    is_refused(&whole, "'weights.bin' has SHA-256 ");
}

/* ---- records --------------------------------------------------------------------- */

static void add_answer(kiln_tune_advice *advice, const kiln_profile *p,
                       const char *work, const char *tmpl, const char *config) {
    kiln_err err = {0};
    kiln_buf key;
    kiln_tune_answer *x = kiln_new(arena(), kiln_tune_answer);
    kiln_answer *a = kiln_new(arena(), kiln_answer);
    *a = (kiln_answer){.tmpl = tmpl, .origin = KILN_ORIGIN_TUNED};
    kiln_assert_status_ok(
        kiln_json_parse(arena(), kiln_str_from(config), "config", &a->config, &err),
        &err);
    kiln_buf_init(&key, arena());
    kiln_profile_json(&key, p);
    kiln_buf_puts(&key, work);
    if (tmpl != NULL)
        x->taken = a;
    kiln_map_set(arena(), &advice->known, kiln_buf_str(&key), x);
}

static kiln_tune_answers answers(const kiln_tune_advice *advice,
                                 const kiln_profile *p) {
    kiln_tune_answers out;
    kiln_tune_answers_of(arena(), advice, p, &out);
    return out;
}

/* Another way than the rule's has another hash of costs, and the same of what was taken;
 * so has another cost. */
static void hashes_what_was_compared(void **state) {
    (void)state;
    const kiln_profile *p = kiln_profile_at(0);
    kiln_tune_advice x = {.n_ready = 0}, y = x, z = x;
    kiln_tune_advice *const each[] = {&x, &y, &z};
    for (int i = 0; i < 3; i++) {
        add_answer(each[i], p, "a", "t", "{\"k\": 1}");
        kiln_tune_answer *a = each[i]->known.entries.v[0].value;
        kiln_answer way = *a->taken;
        way.layouts = "f32[1];";
        way.ns = i == 2 ? 2000 : 1000;
        kiln_vec_push(arena(), &a->list, way);
        if (i == 0)
            continue;
        way.layouts = "f32[1]{block=0x8};";
        kiln_vec_push(arena(), &a->list, way);
    }
    assert_int_equal(answers(&x, p).n_costs, 1);
    assert_int_equal(answers(&y, p).n_costs, 2);
    assert_string_equal(answers(&x, p).sha256, answers(&y, p).sha256);
    assert_string_equal(answers(&y, p).sha256, answers(&z, p).sha256);
    assert_string_not_equal(answers(&x, p).costs_sha256, answers(&y, p).costs_sha256);
    assert_string_not_equal(answers(&y, p).costs_sha256, answers(&z, p).costs_sha256);
}

/* ---- a search over layouts -------------------------------------------------------- */

/* Each convolution in its rule's layouts, and much faster in the others. */
static void plant(kiln_db *db, const kiln_graph *g, double other_ns) {
    static const char *const knobs[] = {"oc_block", "ic_block"};
    kiln_err err = {0};
    kiln_tune_works works;
    kiln_assert_status_ok(
        kiln_tune_works_of_graph(arena(), g, kiln_test_native(), &works, &err), &err);
    for (size_t i = 0; i < works.list.n; i++) {
        const kiln_op_work *w = &works.list.v[i].op;
        const kiln_template *t = kiln_template_for(&w->workload, kiln_test_native());
        kiln_tune_task task;
        if (w->workload.anchor->op != &kiln_op_conv)
            continue;
        kiln_assert_status_ok(kiln_tune_task_make(arena(), &w->workload,
                                                  kiln_test_native(), t, &task, &err),
                              &err);
        kiln_config c = t->guess(&w->workload, kiln_test_native(), &task.space);
        kiln_test_tune_record(db, w, t, NULL, 1e6);
        for (int k = 0; k < task.space.n; k++)
            for (int j = 0; j < 2; j++)
                if (strcmp(task.space.knob[k].name, knobs[j]) == 0)
                    c.option[k] = (int16_t)(c.option[k] == 0 ? 1 : c.option[k] - 1);
        kiln_buf text;
        kiln_buf_init(&text, arena());
        kiln_config_json(&text, t, &task.space, &c);
        kiln_test_tune_record(db, w, t, text.p, other_ns);
    }
}

/* Of a searched archive provenance names the costs that were compared; by the same
 * database the same bytes come again, and by another cost of a way it says so. */
static void names_the_costs_of_a_search(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_source s;
    kiln_expectation e;
    kiln_rebuild r;
    built b = {.model = "demo/samplenet/samplenet.onnx"};
    kiln_db *db = NULL;
    const char *path = in("search.db");
    kiln_assert_status_ok(kiln_source_read(arena(), b.model, NULL, &s, &err), &err);
    kiln_assert_status_ok(kiln_db_open(arena(), path, NULL, &db, &err), &err);
    plant(db, s.graph, 2000);
    kiln_tune_advice advice = {.db = db, .threads = 1, .arena = arena()};
    const kiln_oracle oracle = kiln_tune_oracle(&advice);
    const kiln_choose_options choose = {.oracle = &oracle};
    const kiln_build_options o = {.path = in("searched.kiln.tar.zst"),
                                  .choose = &choose,
                                  .no_verify = true,
                                  .seed = 1};
    const kiln_provenance_words words = {
        .model = b.model, .advice = &advice, .no_ready = true, .no_predict = true};
    kiln_assert_status_ok(kiln_expectation_of(arena(), &s, 1, &e, &err), &err);
    kiln_assert_status_ok(
        kiln_package_build(arena(), &s, &e, kiln_test_native(), &o, &b.build, &err),
        &err);
    kiln_assert_status_ok(kiln_provenance_of(arena(), &s, kiln_test_native(), &o,
                                             &b.build, &words, &b.provenance, &err),
                          &err);
    assert_non_null(b.build.forecast);
    assert_true(b.build.forecast->n_changed > 0);
    assert_true(b.provenance.is_searched && b.provenance.n_known > 0);
    assert_true(b.provenance.n_costs >= 2 * b.provenance.n_known);
    const kiln_rebuild_options again = {.model = b.model, .db = path};
    kiln_assert_status_ok(
        kiln_package_rebuild(arena(), b.build.path, &b.provenance, &again, &r, &err),
        &err);
    for (size_t i = 0; i < r.difference.n; i++)
        print_message("%s\n", r.difference.v[i]);
    assert_int_equal(r.difference.n, 0);
    assert_string_equal(r.sha256, b.build.sha256);
    kiln_db_close(db);
    const kiln_rebuild_options other = {.model = b.model, .db = in("other.db")};
    kiln_assert_status_ok(kiln_db_open(arena(), other.db, NULL, &db, &err), &err);
    plant(db, s.graph, 1500);
    kiln_assert_status_ok(
        kiln_package_rebuild(arena(), b.build.path, &b.provenance, &other, &r, &err),
        &err);
    assert_int_equal(r.difference.n, 1);
    assert_non_null(
        strstr(r.difference.v[0],
               "the costs that its search over layouts compared are others"));
    assert_string_equal(r.sha256, b.build.sha256);
    kiln_db_close(db);
}

/* Of one profile, in any order; any other word is another hash. */
static void hashes_what_records_said(void **state) {
    (void)state;
    const kiln_profile *p = kiln_profile_at(0), *q = kiln_profile_at(1);
    kiln_tune_advice x = {.n_ready = 0}, y = x, z = x, w = x;
    add_answer(&x, p, "a", "t", "{\"k\": 1}");
    add_answer(&x, p, "b", "u", "{\"k\": 2}");
    add_answer(&x, p, "c", NULL, "{}");
    add_answer(&y, q, "a", "t", "{\"k\": 9}");
    add_answer(&y, p, "b", "u", "{\"k\": 2}");
    add_answer(&y, p, "a", "t", "{\"k\": 1}");
    add_answer(&z, p, "a", "t", "{\"k\": 1}");
    add_answer(&z, p, "b", "u", "{\"k\": 3}");
    add_answer(&w, p, "a", "t", "{\"k\": 1}");
    add_answer(&w, p, "b", "v", "{\"k\": 2}");
    assert_int_equal(answers(&x, p).n, 2);
    assert_string_equal(answers(&x, p).sha256, answers(&y, p).sha256);
    assert_string_not_equal(answers(&x, p).sha256, answers(&z, p).sha256);
    assert_string_not_equal(answers(&x, p).sha256, answers(&w, p).sha256);
    assert_int_equal(answers(&y, q).n, 1);
    assert_int_equal(answers(&x, q).n, 0);
    assert_string_equal(answers(&x, q).sha256, answers(NULL, p).sha256);
}

int main(void) {
    dir = kiln_test_dir();
    kiln_test_add("says_what_it_was_made_of", says_what_it_was_made_of, NULL);
    kiln_test_add("builds_the_same_bytes", builds_the_same_bytes, NULL);
    kiln_test_add("packs_as_it_was_packed", packs_as_it_was_packed, NULL);
    kiln_test_add("tells_what_differs", tells_what_differs, NULL);
    kiln_test_add("builds_nothing_with_other_versions",
                  builds_nothing_with_other_versions, NULL);
    kiln_test_add("holds_materials_against_their_hashes",
                  holds_materials_against_their_hashes, NULL);
    kiln_test_add("hashes_what_was_compared", hashes_what_was_compared, NULL);
    kiln_test_add("names_the_costs_of_a_search", names_the_costs_of_a_search, NULL);
    kiln_test_add("hashes_what_records_said", hashes_what_records_said, NULL);
    return kiln_test_run("rebuilding");
}
