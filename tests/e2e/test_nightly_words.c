/* What `kiln nightly` runs are verbs of kiln: each option that it spells, the verb has.
 * The pipeline asks for all that there is; nothing is run but --check and --help. */
#include "tests/support/program/cli_run.h"

#include <stdio.h>
#include <string.h>

static const char source[] = "pipeline/nightly/nightly_command.c";

static const char catalog[] =
    "{\"models\": [{\"name\": \"far\", \"licence\": \"MIT\", \"bytes\": 1, \"url\": "
    "\"https://example.com/far.onnx\", \"sha256\": "
    "\"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"}]}";

/* Each "%s" is the model's folder. */
static const char whole[] =
    "{\"catalog\": \"far.json\", \"db\": \"t.db\", \"sign\": \"k.key\", \"keyring\": "
    "\"keys\", \"profiles\": [\"native\", {\"profile\": \"x86-avx2\", \"name\": "
    "\"board\", \"runner\": \"tcp:127.0.0.1:9000\"},"
    " {\"profile\": \"x86-avx2\", \"name\": \"boards\", \"pool\": "
    "\"tcp:127.0.0.1:9001\", \"priority\": 3}], \"models\": ["
    "{\"name\": \"a\", \"source\": \"%s/samplenet.onnx\", \"golden\": \"%s/golden\","
    " \"shapes\": {\"x\": [1, 3]}, \"binds\": {\"y\": 1}, \"pack\": \"open\","
    " \"gate\": {\"fail_above\": 3, \"pass_below\": 9}},"
    "{\"name\": \"b\", \"source\": \"fetch:far\"}],"
    " \"tune\": {\"trials\": 3, \"seconds\": 5, \"search\": \"random\","
    " \"cost_model\": \"xgboost\", \"seed\": 3, \"early_end\": false},"
    " \"build\": {\"require_tuned\": 5},"
    " \"bench\": {\"rounds\": 3, \"baselines\": [\"onnxruntime\"]},"
    " \"gate\": {\"accepted\": \"accepted\"},"
    " \"operators\": [{\"set\": \"resnet18\", \"seconds\": 0.1, \"baselines\": "
    "[\"onednn\"], \"tune\": {\"trials\": 2}}]}";

static const char *dir;

static void write_file(const char *name, const char *text) {
    kiln_err err = {0};
    const char *path = kiln_path_join(kiln_test_arena(), dir, name);
    kiln_assert_status_ok(kiln_file_write(path, text, strlen(text), &err), &err);
}

static const char *out_of(const kiln_test_cli_row *row) {
    kiln_arena *a = kiln_test_arena();
    const kiln_process_result r = kiln_test_cli_check(a, dir, row);
    return kiln_str_dupv(a, r.out);
}

static const char *plan(void) {
    static const kiln_test_cli_row keys = {
        "makes_keys", {"keygen", "-o", "@k", "--no-password"}, 0, NULL, NULL};
    static const kiln_test_cli_row check = {
        "plans",
        {"nightly", "@p.json", "--check", "--no-ready", "--inject", "5%"},
        0,
        "kiln gate ",
        NULL};
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const char *model = NULL;
    kiln_assert_status_ok(kiln_path_real(a, "demo/samplenet", &model, &err), &err);
    write_file("far.json", catalog);
    write_file("p.json", kiln_format(a, whole, model, model));
    (void)out_of(&keys);
    kiln_assert_status_ok(kiln_dir_make(kiln_path_join(a, dir, "keys"), &err), &err);
    kiln_str key = {.n = 0};
    kiln_assert_status_ok(
        kiln_file_map(a, kiln_path_join(a, dir, "k.pub"), 1 << 16, &key, &err), &err);
    write_file("keys/k.pub", kiln_str_dupv(a, key));
    return out_of(&check);
}

/* In a help text an option begins a line. */
static bool has_option(const char *help, kiln_str option) {
    const char *line =
        kiln_format(kiln_test_arena(), "\n  %.*s ", KILN_STR_ARG(option));
    return strstr(help, line) != NULL;
}

/* A line of the plan: "  build     at most 900 s: kiln build FILE --profile ..."; the
 * words that it spells are added to `seen`. */
static void check_line(kiln_str line, kiln_map *seen) {
    kiln_arena *a = kiln_test_arena();
    kiln_str before, word, verb;
    if (!kiln_str_cut(&line, ':', &before) || !kiln_str_starts(line, " kiln "))
        return;
    line.p += strlen(" kiln ");
    line.n -= strlen(" kiln ");
    assert_true(kiln_str_cut(&line, ' ', &verb));
    const kiln_test_cli_row help = {
        "helps", {kiln_str_dupv(a, verb), "--help"}, 0, "options:\n", NULL};
    const char *text = out_of(&help);
    while (line.n > 0) {
        if (!kiln_str_cut(&line, ' ', &word)) {
            word = line;
            line.n = 0;
        }
        if (!kiln_str_starts(word, "--") && !kiln_str_is(word, "-o"))
            continue;
        if (!has_option(text, word))
            fail_msg("kiln %.*s has no option %.*s", KILN_STR_ARG(verb),
                     KILN_STR_ARG(word));
        kiln_map_set(a, seen, word, source);
    }
}

static void spells_options_that_its_verbs_have(void **state) {
    (void)state;
    kiln_map seen = {0};
    kiln_str text = kiln_str_from(plan()), line;
    while (kiln_str_cut(&text, '\n', &line))
        check_line(line, &seen);
    /* All that the source spells were there, so that none is left out of this test. */
    kiln_err err = {0};
    kiln_str code, part;
    kiln_assert_status_ok(
        kiln_file_map(kiln_test_arena(), source, 1 << 20, &code, &err), &err);
    while (kiln_str_cut(&code, '"', &part))
        if (kiln_str_starts(part, "--") && !kiln_map_has(&seen, part))
            fail_msg("the pipeline of this test asks for no '%.*s'",
                     KILN_STR_ARG(part));
    assert_true(seen.entries.n > 20);
}

int main(void) {
    kiln_test_own_home();
    dir = kiln_test_dir();
    kiln_test_add("spells_options_that_its_verbs_have",
                  spells_options_that_its_verbs_have, NULL);
    return kiln_test_run("words of kiln nightly");
}
