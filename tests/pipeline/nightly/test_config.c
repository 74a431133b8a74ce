/* The file of a pipeline: what is wrong with it is named by its path, all at once; and
 * the plan that comes of it. */
#include "packager/sign.h"
#include "compiler/target/target.h"
#include "pipeline/nightly/nightly.h"
#include "tests/support/kiln_test.h"

#include <stdlib.h>
#include <string.h>

static const char *folder; /* with a few files that pipelines may name */

static void write_file(const char *name, const char *text) {
    kiln_err err = {0};
    const char *path = kiln_path_join(kiln_test_arena(), folder, name);
    kiln_assert_status_ok(kiln_dir_make(kiln_path_dir(kiln_test_arena(), path), &err),
                          &err);
    kiln_assert_status_ok(kiln_file_write(path, text, strlen(text), &err), &err);
}

static const char *at(const char *name) {
    return kiln_path_join(kiln_test_arena(), folder, name);
}

/* ---- refused --------------------------------------------------------------------- */

typedef struct row {
    const char *name;
    const char *json; /* ' stands for a double quote */
    const char *text; /* part of the message; NULL: it is good */
} row;

#define MODEL "'models': [{'name': 'a', 'source': 'zoo:dqn'}]"
#define WITH(member) "{" MODEL ", " member "}"
#define OF_MODEL(member)                                                               \
    "{'models': [{'name': 'a', 'source': 'zoo:dqn'},"                                  \
    " {'name': 'b', 'source': 'zoo:dqn', " member "}]}"

static row rows[] = {
    {"a_model_is_enough", "{" MODEL "}", NULL},
    {"operators_are_enough", "{'operators': [{'set': 'gemm'}]}", NULL},
    {"no_json", "{", "p.json:1:2: "},
    {"no_object", "[]", "p.json: must be an object, is a list"},
    {"nothing_to_do", "{}", "models must not be empty: there is nothing to do"},
    {"unknown_member", WITH("'modles': []"),
     "p.json: modles is no known member; there are name, out, db,"},
    {"unknown_member_of_a_model", OF_MODEL("'thread': 1"),
     "p.json: models[1].thread is no known member; there are name, source,"},
    {"name_is_a_number", WITH("'name': 3"), "p.json: name must be a text, is 3"},
    {"out_is_empty", WITH("'out': ''"), "p.json: out must be a text, is ''"},
    {"models_are_no_list", "{'models': {}}", "models must be a list, is an object"},
    {"a_model_is_no_object", "{'models': [7]}", "models[0] must be an object, is 7"},
    {"a_model_has_no_name", "{'models': [{'source': 'zoo:dqn'}]}",
     "models[0].name must be there"},
    {"a_name_is_no_folder", "{'models': [{'name': '../a', 'source': 'zoo:dqn'}]}",
     "models[0].name must be a word of letters, digits and . _ + - (it names a "
     "folder), "
     "is '../a'"},
    {"a_name_is_there_twice",
     "{'models': [{'name': 'a', 'source': 'zoo:dqn'}, {'name': 'a', 'source': "
     "'zoo:resnet18'}]}",
     "models[1].name must be its own, models[0] is called 'a' too"},
    {"no_source", "{'models': [{'name': 'a'}]}",
     "models[0].source must say where the model is"},
    {"no_such_network", "{'models': [{'name': 'a', 'source': 'zoo:lenet9'}]}",
     "models[0].source is 'zoo:lenet9': "},
    {"no_such_catalog_entry", "{'models': [{'name': 'a', 'source': 'fetch:nothing'}]}",
     "models[0].source is 'fetch:nothing': there is no model of this name"},
    {"no_such_file", "{'models': [{'name': 'a', 'source': 'absent.onnx'}]}",
     "models[0].source must be a file that is there, \"zoo:NAME\" or \"fetch:NAME\", "
     "is "
     "'absent.onnx'"},
    {"a_file", "{'models': [{'name': 'a', 'source': 'm.onnx'}]}", NULL},
    {"shapes", OF_MODEL("'shapes': {'x': [1, 3, 224, 224], 'input:0': [1]}"), NULL},
    {"shapes_are_a_list", OF_MODEL("'shapes': [1, 3]"),
     "models[1].shapes must be an object such as {\"x\": [1, 3, 224, 224]}, is a list"},
    {"a_dimension_is_negative", OF_MODEL("'shapes': {'x': [1, -3]}"),
     "models[1].shapes.x must be a list of dimensions"},
    {"a_dimension_is_no_whole_number", OF_MODEL("'shapes': {'x': [1.5]}"),
     "models[1].shapes.x must be a list of dimensions"},
    {"no_dimensions", OF_MODEL("'shapes': {'x': []}"),
     "models[1].shapes.x must be a list of dimensions"},
    {"binds", OF_MODEL("'binds': {'sr': 16000, 'h': 'h.npy'}"), NULL},
    {"a_bound_file_is_absent", OF_MODEL("'binds': {'h': 'g.npy'}"),
     "models[1].binds.h must be a file that is there, is 'g.npy'"},
    {"a_bind_is_no_value", OF_MODEL("'binds': {'h': [1]}"),
     "models[1].binds.h must be a number or a file, is a list"},
    {"golden", OF_MODEL("'golden': 'golden'"), NULL},
    {"golden_is_none", OF_MODEL("'golden': 'deep'"),
     "models[1].golden must be a folder with a golden.json"},
    {"threads", WITH("'threads': [1, 2]"), NULL},
    {"threads_are_no_list", OF_MODEL("'threads': 2"),
     "models[1].threads must be a list, is 2"},
    {"no_threads", OF_MODEL("'threads': [0]"),
     "models[1].threads[0] must be a whole number from 1 to 1024, is 0"},
    {"threads_are_there_twice", WITH("'threads': [2, 2]"),
     "threads[1] is there twice: 2"},
    {"threads_are_empty", WITH("'threads': []"), "threads must not be empty"},
    {"profiles", WITH("'profiles': ['native', 'x86-avx2', 'board.json']"), NULL},
    {"no_such_profile", WITH("'profiles': ['z80']"), "profiles[0] must be a profile: "},
    {"a_profile_is_there_twice", WITH("'profiles': ['native', 'native']"),
     "profiles[1] is there twice: 'native'"},
    {"a_profile_is_a_number", WITH("'profiles': [1]"),
     "profiles[0] must be a profile's name or file, or an object of one and where it "
     "is "
     "measured, is 1"},
    {"measured_elsewhere",
     WITH("'profiles': [{'profile': 'aarch64', 'runner': 'board'}, {'profile': "
          "'aarch64', 'name': 'pi', 'runner': ['a', 'b']}, {'profile': 'riscv64', "
          "'pool': 'unix:/run/pool', 'priority': 20}]"),
     NULL},
    {"measured_where", WITH("'profiles': [{'profile': 'aarch64'}]"),
     "profiles[0] must say where it is measured: by one of \"runner\" and \"pool\""},
    {"measured_twice",
     WITH("'profiles': [{'profile': 'aarch64', 'runner': 'a', 'pool': 'b'}]"),
     "profiles[0] must say where it is measured"},
    {"measured_what", WITH("'profiles': [{'runner': 'a'}]"),
     "profiles[0].profile must be there"},
    {"a_runner_is_a_number", WITH("'profiles': [{'profile': 'aarch64', 'runner': 7}]"),
     "profiles[0].runner must be a device or a list of devices"},
    {"a_runner_of_a_list_is_a_number",
     WITH("'profiles': [{'profile': 'aarch64', 'runner': ['a', 7]}]"),
     "profiles[0].runner must be a device or a list of devices"},
    {"no_runners", WITH("'profiles': [{'profile': 'aarch64', 'runner': []}]"),
     "profiles[0].runner must be a device or a list of devices"},
    {"a_share_of_no_pool",
     WITH("'profiles': [{'profile': 'aarch64', 'runner': 'a', 'priority': 3}]"),
     "profiles[0].priority is said to a pool"},
    {"two_boards_of_one_profile",
     WITH("'profiles': [{'profile': 'aarch64', 'runner': 'a'}, {'profile': 'aarch64', "
          "'runner': 'b'}]"),
     "profiles[1] is there twice: 'aarch64'"},
    {"numerics_are_a_word", WITH("'numerics': 'exact'"),
     "numerics must be one of fast, strict, is 'exact'"},
    {"tune",
     WITH("'tune': {'trials': 8, 'seconds': 10, 'search': 'random', 'seed': 2}"), NULL},
    {"tunes_nothing", WITH("'tune': null"), NULL},
    {"no_trials", WITH("'tune': {'trials': 0}"),
     "tune.trials must be a whole number from 1 to 1000000, is 0"},
    {"half_a_trial", WITH("'tune': {'trials': 1.5}"), "tune.trials must be a whole"},
    {"no_such_search", WITH("'tune': {'search': 'luck'}"),
     "tune.search must be one of "},
    {"no_such_cost_model", OF_MODEL("'tune': {'cost_model': 'oracle'}"),
     "models[1].tune.cost_model must be one of "},
    {"tune_is_true", WITH("'tune': true"), "tune must be an object, is true"},
    {"packing_at_a_time", WITH("'build': {'pack': 'open'}"), NULL},
    {"packing_at_no_time", WITH("'build': {'pack': 'never'}"),
     "build.pack must be one of build, open, is 'never'"},
    {"packing_of_a_model_at_no_time", OF_MODEL("'pack': 1"), "models[1].pack must be "},
    {"shares_are_of_a_hundred", WITH("'build': {'require_tuned': 101}"),
     "build.require_tuned must be a number from 0 to 100, is 101"},
    {"no_rounds", WITH("'bench': {'rounds': 0}"),
     "bench.rounds must be a whole number"},
    {"baselines", WITH("'bench': {'baselines': ['onnxruntime', 'openvino']}"), NULL},
    {"no_such_baseline", WITH("'bench': {'baselines': ['onnxruntime', 'abacus']}"),
     "bench.baselines[1] must be one of onnxruntime, openvino"},
    {"requiring_is_a_word", WITH("'bench': {'require_baselines': 'yes'}"),
     "bench.require_baselines must be true or false, is 'yes'"},
    {"no_such_operators", WITH("'operators': [{'set': 'convs'}]"),
     "operators[0].set is 'convs': "},
    {"operators_are_there_twice", "{'operators': [{'set': 'gemm'}, {'set': 'gemm'}]}",
     "operators[1].set must be its own, operators[0] is 'gemm' too"},
    {"operators_tuned_how", "{'operators': [{'set': 'gemm', 'tune': {'trials': 0}}]}",
     "operators[0].tune.trials must be a whole number from 1 to 1000000, is 0"},
    {"operators_without_a_set", "{'operators': [{}]}",
     "operators[0].set must be a list of operators that ships, or a file"},
    {"gate_without_a_folder", WITH("'gate': {}"),
     "gate.accepted must be the folder of accepted archives"},
    {"frozen_and_drift",
     WITH("'gate': {'accepted': 'x', 'frozen': false, 'drift': 'fail'}"), NULL},
    {"gate_limits",
     WITH("'gate': {'accepted': 'x', 'fail_above': 0.5, 'pass_below': 2}"), NULL},
    {"gate_limits_of_a_model", OF_MODEL("'gate': {'pass_below': 10}"), NULL},
    {"gate_limits_are_in_order", WITH("'gate': {'accepted': 'x', 'fail_above': 3}"),
     "gate.pass_below must be above fail_above, 3, is 3"},
    {"gate_limits_of_a_model_are_in_order", OF_MODEL("'gate': {'pass_below': 1}"),
     "models[1].gate.pass_below must be above fail_above, 1, is 1"},
    {"gate_limits_are_of_a_hundred",
     WITH("'gate': {'accepted': 'x', 'pass_below': 101}"),
     "gate.pass_below must be a number from 0 to 100, is 101"},
    {"a_model_has_no_accepted_folder", OF_MODEL("'gate': {'accepted': 'x'}"),
     "models[1].gate.accepted"},
    {"drift_is_a_word", WITH("'gate': {'accepted': 'x', 'drift': 'shout'}"),
     "gate.drift must be one of warn, fail, is 'shout'"},
    {"keep", WITH("'keep': {'nights': 60, 'gb': 2.5}, 'history': 'h.db'"), NULL},
    {"keep_what", WITH("'keep': {}"), "keep must say how many nights, or how many gb"},
    {"keep_none", WITH("'keep': {'nights': 0}"),
     "keep.nights must be a whole number from 1 to 100000, is 0"},
    {"limits", WITH("'limits': {'tune': 60, 'operators': 5}"), NULL},
    {"no_limit", WITH("'limits': {'bench': 0}"), "limits.bench must be a whole number"},
    {"a_limit_of_nothing", WITH("'limits': {'sleep': 5}"),
     "limits.sleep is no known member; there are fetch, tune, build, verify, bench, "
     "gate, "
     "operators"},
    {"no_such_own_catalog", WITH("'catalog': 'none.json'"),
     "catalog must be a file that is there"},
};

static kiln_status read_text(const char *text, kiln_nightly_config *out,
                             kiln_err *err) {
    const kiln_nightly_overrides over = {.is_frozen = false};
    char *json = kiln_str_dup(kiln_test_arena(), text);
    for (char *c = json; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    write_file("p.json", json);
    return kiln_nightly_read(kiln_test_arena(), at("p.json"), &over, out, err);
}

static void reads(void **state) {
    const row *r = *state;
    kiln_nightly_config c;
    kiln_err err = {0};
    const kiln_status st = read_text(r->json, &c, &err);
    if (r->text == NULL)
        kiln_assert_status_ok(st, &err);
    else
        kiln_assert_fails(st, KILN_ERR_PARSE, &err, r->text);
}

static void names_all_at_once(void **state) {
    kiln_nightly_config c;
    kiln_err err = {0};
    kiln_buf many;
    (void)state;
    const kiln_status st = read_text(WITH("'threads': [0], 'nmae': 1"), &c, &err);
    kiln_assert_fails(st, KILN_ERR_PARSE, &err, "p.json: nmae is no known member");
    kiln_assert_fails(st, KILN_ERR_PARSE, &err, "p.json: threads[0] must be");
    kiln_buf_init(&many, kiln_test_arena());
    kiln_buf_puts(&many, "{'models': [");
    for (int i = 0; i < 200; i++)
        kiln_buf_printf(&many, "%s%d", i > 0 ? ", " : "", i);
    kiln_buf_puts(&many, "]}");
    kiln_assert_fails(read_text(many.p, &c, &err), KILN_ERR_PARSE, &err,
                      "models[0] must be an object, is 0");
    assert_non_null(strstr(err.text, " more"));
    assert_null(strstr(err.text, "models[199]"));
}

static void an_absent_file_is_no_mistake_in_it(void **state) {
    const kiln_nightly_overrides over = {.is_frozen = false};
    kiln_nightly_config c;
    kiln_err err = {0};
    (void)state;
    kiln_assert_fails(
        kiln_nightly_read(kiln_test_arena(), at("absent.json"), &over, &c, &err),
        KILN_ERR_MISSING, &err, "absent.json");
}

/* ---- what comes of it ------------------------------------------------------------ */

static void models_take_what_they_do_not_say(void **state) {
    kiln_nightly_config c;
    kiln_err err = {0};
    (void)state;
    kiln_assert_status_ok(
        read_text("{'models': [{'name': 'a', 'source': 'm.onnx'}, {'name': 'b', "
                  "'source': 'zoo:dqn', 'threads': [4], 'tune': {'trials': 9}, "
                  "'numerics': 'fast'}, {'name': 'c', 'source': 'zoo:dqn', 'tune': "
                  "null}], 'threads': [1, 2], 'tune': {'seconds': 5}, 'numerics': "
                  "'strict', 'out': '../runs', 'db': 'deep/t.db'}",
                  &c, &err),
        &err);
    const kiln_nightly_model *a = &c.model.v[0], *b = &c.model.v[1], *d = &c.model.v[2];
    const char *real = NULL;
    kiln_assert_status_ok(kiln_path_real(kiln_test_arena(), folder, &real, &err), &err);
    assert_string_equal(a->source, kiln_path_join(kiln_test_arena(), real, "m.onnx"));
    assert_string_equal(c.out,
                        kiln_path_join(kiln_test_arena(),
                                       kiln_path_dir(kiln_test_arena(), real), "runs"));
    assert_string_equal(c.db, kiln_path_join(kiln_test_arena(), real, "deep/t.db"));
    assert_int_equal(a->threads.n, 2);
    assert_string_equal(a->numerics, "strict");
    assert_true(a->tune.is_asked && a->tune.seconds == 5 && a->tune.trials == 64);
    assert_int_equal(b->threads.n, 1);
    assert_int_equal(b->threads.v[0], 4);
    assert_string_equal(b->numerics, "fast");
    assert_true(b->tune.is_asked && b->tune.seconds == 5 && b->tune.trials == 9);
    assert_false(d->tune.is_asked);
}

static void operators_take_what_they_do_not_say(void **state) {
    kiln_nightly_config c;
    kiln_err err = {0};
    (void)state;
    kiln_assert_status_ok(
        read_text("{'operators': [{'set': 'gemm'}, {'set': 'resnet18', 'tune': "
                  "{'seconds': 9, 'search': 'random'}}, {'set': 'mobilenet', 'tune': "
                  "null}], 'tune': {'trials': 5}, 'threads': [2]}",
                  &c, &err),
        &err);
    const kiln_nightly_set *s = c.set.v;
    assert_true(s[0].tune.is_asked && s[0].tune.trials == 5 && s[0].threads.v[0] == 2);
    assert_true(s[1].tune.is_asked && s[1].tune.trials == 5 && s[1].tune.seconds == 9);
    assert_string_equal(s[1].tune.search, "random");
    assert_false(s[2].tune.is_asked);
}

/* "/tmp/kiln-x" becomes "@". */
static kiln_str without_folder(kiln_str text) {
    kiln_err err = {0};
    const char *real = NULL;
    kiln_buf out;
    kiln_assert_status_ok(kiln_path_real(kiln_test_arena(), folder, &real, &err), &err);
    kiln_buf_init(&out, kiln_test_arena());
    const size_t n = strlen(real);
    for (size_t i = 0; i < text.n;) {
        const bool is_it = text.n - i >= n && memcmp(text.p + i, real, n) == 0;
        kiln_buf_add(&out, is_it ? "@" : text.p + i, 1);
        i += is_it ? n : 1;
    }
    return kiln_buf_str(&out);
}

static void plans(void **state) {
    kiln_test_golden golden;
    kiln_nightly_config c;
    kiln_nightly_graph g;
    kiln_err err = {0};
    kiln_buf out;
    kiln_test_golden_read(*state, &golden);
    kiln_assert_status_ok(
        read_text(kiln_str_dupv(kiln_test_arena(), golden.input), &c, &err), &err);
    kiln_assert_status_ok(kiln_nightly_plan(kiln_test_arena(), &c, &g, &err), &err);
    kiln_buf_init(&out, kiln_test_arena());
    kiln_nightly_plan_text(&out, &c, &g);
    kiln_test_golden_check(&golden, without_folder(kiln_buf_str(&out)));
}

/* ---- keys ------------------------------------------------------------------------ */

static const kiln_nightly_stage *first_of(const kiln_nightly_graph *g,
                                          kiln_nightly_kind kind) {
    return &g->stage.v[g->job.v[0].stage[kind]];
}

/* Does the stage's line of the plan have this? */
static bool stage_says(const kiln_nightly_config *c, const kiln_nightly_graph *g,
                       kiln_nightly_kind kind, const char *words) {
    kiln_buf out;
    kiln_str rest, line;
    bool has = false;
    assert_null(first_of(g, kind)->skip);
    kiln_buf_init(&out, kiln_test_arena());
    kiln_nightly_plan_text(&out, c, g);
    rest = kiln_buf_str(&out);
    while (kiln_str_cut(&rest, '\n', &line)) {
        const char *text = kiln_str_dupv(kiln_test_arena(), line);
        if (kiln_str_starts(kiln_str_trim(line), kiln_nightly_kind_name(kind)))
            has = has || strstr(text, words) != NULL;
    }
    return has;
}

static void make_keys(const char *where, const char *name, kiln_str password) {
    static const kiln_password_cost cheap = {1 << 19, 1 << 24};
    kiln_err err = {0};
    kiln_public_key k;
    kiln_assert_status_ok(kiln_dir_make(at(where), &err), &err);
    kiln_assert_status_ok(
        kiln_keys_save(kiln_test_arena(),
                       at(kiln_format(kiln_test_arena(), "%s/%s", where, name)),
                       password, &cheap, &k, &err),
        &err);
}

#define KEYED(sign)                                                                    \
    WITH("'keyring': 'keys', 'sign': '" sign "', 'gate': {'accepted': 'acc'}")

/* What builds signs; what runs an archive requires a key; what runs none has neither.
 */
static void stages_sign_and_require_keys(void **state) {
    const kiln_str none = {NULL, 0}, password = KILN_STR_LIT("x");
    kiln_nightly_config c;
    kiln_nightly_graph g;
    kiln_err err = {0};
    (void)state;
    assert_int_equal(unsetenv("KILN_PASSWORD_FILE"), 0);
    kiln_assert_fails(read_text(KEYED("keys/ours.key"), &c, &err), KILN_ERR_PARSE, &err,
                      "keyring must be a folder of public keys: ");
    assert_non_null(strstr(err.text, "sign must be a secret key that is there"));
    make_keys("keys", "ours", none);
    make_keys("locked", "mine", password);
    kiln_err_clear(&err);
    kiln_assert_fails(read_text(KEYED("locked/mine.key"), &c, &err), KILN_ERR_PARSE,
                      &err, "sign has a password, which nobody gives at night");
    assert_int_equal(setenv("KILN_PASSWORD_FILE", "pw", 1), 0);
    kiln_err_clear(&err);
    kiln_assert_status_ok(read_text(KEYED("locked/mine.key"), &c, &err), &err);
    assert_int_equal(unsetenv("KILN_PASSWORD_FILE"), 0);
    kiln_assert_status_ok(read_text(KEYED("keys/ours.key"), &c, &err), &err);
    kiln_assert_status_ok(kiln_nightly_plan(kiln_test_arena(), &c, &g, &err), &err);
    assert_true(stage_says(&c, &g, KILN_NIGHTLY_BUILD, "/keys/ours.key"));
    assert_true(stage_says(&c, &g, KILN_NIGHTLY_BUILD, " --sign "));
    assert_false(stage_says(&c, &g, KILN_NIGHTLY_BUILD, " --keyring "));
    assert_true(stage_says(&c, &g, KILN_NIGHTLY_VERIFY, " --keyring "));
    assert_true(stage_says(&c, &g, KILN_NIGHTLY_BENCH, " --keyring "));
    assert_true(stage_says(&c, &g, KILN_NIGHTLY_GATE, " --keyring "));
    assert_false(stage_says(&c, &g, KILN_NIGHTLY_GATE, " --sign "));
    kiln_assert_status_ok(read_text(WITH("'gate': {'accepted': 'acc'}"), &c, &err),
                          &err);
    kiln_assert_status_ok(kiln_nightly_plan(kiln_test_arena(), &c, &g, &err), &err);
    assert_false(stage_says(&c, &g, KILN_NIGHTLY_BUILD, " --sign "));
    assert_false(stage_says(&c, &g, KILN_NIGHTLY_GATE, " --keyring "));
}

/* Code for another machine is built, and run where an emulator is; it is not measured.
 */
static void other_machines_are_not_measured(void **state) {
    kiln_nightly_config c;
    kiln_nightly_graph g;
    kiln_err err = {0};
    (void)state;
    const kiln_profile *other = NULL;
    for (int i = 0; kiln_profile_at(i) != NULL && other == NULL; i++)
        if (kiln_runs_here(kiln_profile_at(i), &err) != KILN_OK)
            other = kiln_profile_at(i);
    assert_non_null(other); /* no machine is of two kinds */
    kiln_assert_status_ok(
        read_text(kiln_format(kiln_test_arena(),
                              WITH("'profiles': ['%s'], 'gate': {'accepted': 'acc'}"),
                              other->name),
                  &c, &err),
        &err);
    kiln_assert_status_ok(kiln_nightly_plan(kiln_test_arena(), &c, &g, &err), &err);
    assert_int_equal(g.job.n, 1);
    const int *stage = g.job.v[0].stage;
    assert_null(g.stage.v[stage[KILN_NIGHTLY_BUILD]].skip);
    assert_non_null(strstr(g.stage.v[stage[KILN_NIGHTLY_BENCH]].skip, other->name));
    assert_non_null(g.stage.v[stage[KILN_NIGHTLY_GATE]].skip);
    assert_int_equal(stage[KILN_NIGHTLY_FETCH], -1);
}

/* Nor is code for this machine whose profile is measured on another device, or verified
 * where that device is not. */
static void profiles_say_where_to_measure(void **state) {
    kiln_nightly_config c;
    kiln_nightly_graph g;
    kiln_err err = {0};
    kiln_profile p;
    kiln_buf text;
    (void)state;
    const char *path = kiln_path_join(kiln_test_arena(), kiln_test_dir(), "p.json");
    kiln_assert_status_ok(kiln_profile_detect(kiln_test_arena(), &p, &err), &err);
    p.name = "elsewhere";
    p.measure = "qemu-aarch64";
    kiln_buf_init(&text, kiln_test_arena());
    kiln_profile_document(&text, &p);
    kiln_assert_status_ok(kiln_file_write(path, text.p, text.n, &err), &err);
    kiln_assert_status_ok(
        read_text(kiln_format(kiln_test_arena(), WITH("'profiles': ['%s']"), path), &c,
                  &err),
        &err);
    kiln_assert_status_ok(kiln_nightly_plan(kiln_test_arena(), &c, &g, &err), &err);
    const int *stage = g.job.v[0].stage;
    assert_null(g.stage.v[stage[KILN_NIGHTLY_BUILD]].skip);
    for (int i = 0; i < 2; i++)
        assert_non_null(strstr(
            g.stage.v[stage[i == 0 ? KILN_NIGHTLY_BENCH : KILN_NIGHTLY_VERIFY]].skip,
            "measured on device 'qemu-aarch64'"));
}

static void what_ships_is_right(void **state) {
    static const struct {
        const char *path;
        bool is_gated;
    } shipped[] = {{"pipeline/demo.json", true},
                   {"ci/nightly.json", true},
                   {"ci/versus.json", false}};
    const kiln_nightly_overrides over = {.is_frozen = false};
    (void)state;
    for (size_t i = 0; i < sizeof shipped / sizeof shipped[0]; i++) {
        kiln_nightly_config c;
        kiln_err err = {0};
        kiln_assert_status_ok(
            kiln_nightly_read(kiln_test_arena(), shipped[i].path, &over, &c, &err),
            &err);
        assert_int_equal(c.accepted != NULL, shipped[i].is_gated);
    }
}

int main(void) {
    kiln_test_add("operators_take_what_they_do_not_say",
                  operators_take_what_they_do_not_say, NULL);
    folder = kiln_test_dir();
    kiln_profile native;
    kiln_err err = {0};
    kiln_buf profile;
    kiln_buf_init(&profile, kiln_test_arena());
    if (kiln_profile_find(kiln_test_arena(), "x86-baseline", &native, &err) != KILN_OK)
        return 1;
    kiln_profile_json(&profile, &native);
    write_file("board.json", profile.p);
    write_file("m.onnx", "a model");
    write_file("h.npy", "numbers");
    write_file("golden/golden.json", "{}");
    write_file("deep/empty.txt", "");
    kiln_test_add_rows(reads, rows);
    kiln_test_add("names_all_at_once", names_all_at_once, NULL);
    kiln_test_add("an_absent_file_is_no_mistake_in_it",
                  an_absent_file_is_no_mistake_in_it, NULL);
    kiln_test_add("models_take_what_they_do_not_say", models_take_what_they_do_not_say,
                  NULL);
    kiln_test_add("what_ships_is_right", what_ships_is_right, NULL);
    kiln_test_add("profiles_say_where_to_measure", profiles_say_where_to_measure, NULL);
    kiln_test_add("stages_sign_and_require_keys", stages_sign_and_require_keys, NULL);
    kiln_test_add("other_machines_are_not_measured", other_machines_are_not_measured,
                  NULL);
    kiln_test_add_golden("tests/pipeline/nightly/golden/plan", plans);
    return kiln_test_run("nightly config");
}
