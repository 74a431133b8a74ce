/* Keys and signatures from outside: pairs made, archives signed, taken and refused; and
 * what minisign's own program says of ours, and we of its. KILN names the program; "@x"
 * in an argument is a file in the test's folder. */
#include "packager/sign.h"
#include "tests/support/program/cli_run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL "demo/samplenet/samplenet.onnx"
#define PACKAGE "@samplenet-1-x86-avx2.kiln.tar.zst"
#define BARE "@bare.kiln.tar.zst"
#define MADE "@made.kiln.tar.zst"

/* In this order: some read what earlier ones wrote. */
static kiln_test_cli_row rows[] = {
    {"builds",
     {"build", MODEL, "--profile", "x86-avx2", "-o", "@"},
     0,
     "archive: ",
     NULL},
    {"builds_a_bare_one",
     {"build", MODEL, "--profile", "x86-avx2", "-o", BARE},
     0,
     "archive: ",
     NULL},
    {"asks_for_a_name",
     {"keygen"},
     2,
     NULL,
     "say what the keys are called, by -o NAME"},
    {"asks_for_one_of_two",
     {"keygen", "-o", "@x", "--no-password", "--password-file", "@pw"},
     2,
     NULL,
     "give either --password-file FILE or --no-password"},
    {"makes_keys",
     {"keygen", "-o", "@ours", "--no-password", "--json", "-"},
     0,
     "\"has_password\": false",
     NULL},
    {"makes_others",
     {"keygen", "-o", "@theirs", "--no-password"},
     0,
     "keep it to yourself",
     NULL},
    {"writes_over_no_key",
     {"keygen", "-o", "@ours", "--no-password"},
     2,
     NULL,
     "ours.key' is there: a key is never written over"},
    {"makes_keys_with_a_password",
     {"keygen", "-o", "@dear", "--password-file", "@pw"},
     0,
     "public: ",
     NULL},
    {"refuses_an_empty_password",
     {"keygen", "-o", "@x", "--password-file", "@empty"},
     3,
     NULL,
     "a password is a line of 1 to 1024 bytes"},
    {"asks_for_a_key", {"sign", PACKAGE}, 2, NULL, "by --key NAME.key"},
    {"signs_by_no_public_key",
     {"sign", PACKAGE, "--key", "@ours.pub"},
     3,
     NULL,
     "ours.pub' is no secret key"},
    {"signs_no_model",
     {"sign", MODEL, "--key", "@ours.key"},
     3,
     NULL,
     "is no package: it does not begin as zstd does"},
    {"signs_by_no_wrong_password",
     {"sign", PACKAGE, "--key", "@locked.key", "--password-file", "@wrong"},
     2,
     NULL,
     "this is not the password of this secret key"},
    {"signs_with_a_password",
     {"sign", PACKAGE, "--key", "@locked.key", "--password-file", "@pw"},
     0,
     ".minisig",
     NULL},
    {"verifies_that",
     {"verify", PACKAGE, "--key", "@locked.pub", "--threads", "1"},
     0,
     "passed      signature by ",
     NULL},
    {"signs",
     {"sign", PACKAGE, "--key", "@ours.key", "--json", "-"},
     0,
     "\"signature\": \"",
     NULL},
    {"verifies_by_a_key",
     {"verify", PACKAGE, "--key", "@ours.pub", "--threads", "1"},
     0,
     "passed      signature by ",
     NULL},
    {"verify_tells_anothers",
     {"verify", PACKAGE, "--key", "@theirs.pub", "--threads", "1"},
     1,
     "which is none of the 1 of '",
     NULL},
    {"verify_takes_one_of_two",
     {"verify", PACKAGE, "--key", "@ours.pub", "--keyring", "@"},
     2,
     NULL,
     "give either --key NAME.pub or --keyring DIR"},
    {"verify_has_keys_for_packages",
     {"verify", MODEL, "--golden", "demo/samplenet/golden", "--reference", "--key",
      "@ours.pub"},
     2,
     NULL,
     "only packages have keys"},
    {"unpacks",
     {"unpack", PACKAGE, "-o", "@folder", "--keyring", "@ours.pub"},
     0,
     "entries          graph.json, ",
     NULL},
    {"unpacks_no_others",
     {"unpack", PACKAGE, "-o", "@never", "--keyring", "@theirs.pub"},
     3,
     NULL,
     "which is none of the 1 of '"},
    {"unpacks_no_bare_one",
     {"unpack", BARE, "-o", "@never", "--keyring", "@ours.pub"},
     3,
     NULL,
     "bare.kiln.tar.zst' is not signed, and a signature by a key of '"},
    {"runs",
     {"run", PACKAGE, "--random", "1", "--output-dir", "@out", "--keyring",
      "@ours.pub"},
     0,
     "ran in ",
     NULL},
    {"runs_no_others",
     {"run", PACKAGE, "--random", "1", "--output-dir", "@never", "--keyring",
      "@theirs.pub"},
     3,
     NULL,
     "which is none of the 1 of '"},
    {"runs_no_folder",
     {"run", "@folder", "--random", "1", "--output-dir", "@never", "--keyring",
      "@ours.pub"},
     3,
     NULL,
     "name the archive that it was unpacked from"},
    {"bench_measures_no_others",
     {"bench", PACKAGE, "--rounds", "1", "--keyring", "@theirs.pub"},
     3,
     NULL,
     "which is none of the 1 of '"},
    {"bench_has_keys_for_packages",
     {"bench", MODEL, "--keyring", "@ours.pub"},
     2,
     NULL,
     "kiln bench: a model has no --keyring"},
    {"accepts_no_others",
     {"accept", PACKAGE, "--to", "@accepted", "--keyring", "@theirs.pub"},
     3,
     NULL,
     "which is none of the 1 of '"},
    {"accepts",
     {"accept", PACKAGE, "--to", "@accepted", "--keyring", "@ours.pub", "--trust"},
     0,
     "accepted samplenet",
     NULL},
    {"gates_no_others",
     {"gate", PACKAGE, "--against", "@accepted", "--keyring", "@theirs.pub"},
     6,
     "which is none of the 1 of '",
     NULL},
    {"gates",
     {"gate", PACKAGE, "--against", "@accepted", "--keyring", "@ours.pub"},
     0,
     "equal",
     NULL},
    {"builds_and_signs",
     {"build", MODEL, "--profile", "x86-avx2", "--sign", "@ours.key", "-o", MADE},
     0,
     "signature: ",
     NULL},
    {"verifies_with_provenance",
     {"verify", MADE, "--key", "@ours.pub", "--threads", "1"},
     0,
     ", and its provenance\n",
     NULL},
    {"rebuilds_the_same",
     {"rebuild", "--check", MADE, "--model", MODEL, "--keyring", "@ours.pub", "--json",
      "-"},
     0,
     "\"identical\": true",
     NULL},
    {"rebuilds_no_others",
     {"rebuild", "--check", MADE, "--model", MODEL, "--keyring", "@theirs.pub"},
     3,
     NULL,
     "which is none of the 1 of '"},
    {"rebuild_asks_for_the_model",
     {"rebuild", "--check", MADE},
     3,
     NULL,
     "there is no 'samplenet.onnx', neither here nor beside the archive"},
    {"rebuild_asks_for_that_very_model",
     {"rebuild", "--check", MADE, "--model", "zoo:dqn"},
     3,
     NULL,
     "the provenance names 'samplenet.onnx' with 981c89d1"},
    {"rebuild_asks_for_provenance",
     {"rebuild", "--check", BARE, "--model", MODEL},
     3,
     NULL,
     "bare.kiln.tar.zst.intoto.json': No such file or directory"},
    {"rebuild_only_checks", {"rebuild", MADE}, 2, NULL, "kiln rebuild --check "},
    {"build_finds_no_key",
     {"build", MODEL, "--profile", "x86-avx2", "--sign", "@none.key", "-o", "@never"},
     3,
     NULL,
     "none.key': No such file or directory"},
    {"builds_another_there",
     {"build", MODEL, "--profile", "x86-avx2", "--version", "2", "-o", MADE},
     0,
     "archive: ",
     NULL},
    {"rebuild_takes_only_its_own",
     {"rebuild", "--check", MADE, "--model", MODEL},
     3,
     NULL,
     "the provenance names 'made.kiln.tar.zst' with "},
    {"signs_no_old_provenance",
     {"sign", MADE, "--key", "@ours.key"},
     3,
     NULL,
     "is the provenance of another archive: take it away"},
    {"refuses_the_old_signature",
     {"unpack", MADE, "-o", "@never", "--keyring", "@ours.pub"},
     3,
     NULL,
     "for these bytes: archive or signature was changed"},
    {"finds_no_keyring",
     {"unpack", PACKAGE, "-o", "@never", "--keyring", "@none"},
     3,
     NULL,
     "opening the keyring '"},
};

static const char *dir;

static const char *in(kiln_arena *a, const char *name) {
    return kiln_path_join(a, dir, name);
}

static void check_row(void **state) {
    kiln_arena a = {0};
    kiln_test_cli_check(&a, dir, *state);
    assert_false(kiln_dir_exists(in(&a, "never")));
    kiln_arena_fini(&a);
}

/* Set, the variable requires a key of every verb; empty, it is as if it were not. */
static void the_environment_requires_a_key(void **state) {
    static const kiln_test_cli_row refused = {
        .arg = {"run", BARE, "--random", "1", "--output-dir", "@never"},
        .code = 3,
        .err = "is not signed"};
    static const kiln_test_cli_row taken = {
        .arg = {"run", BARE, "--random", "1", "--output-dir", "@free"}, .code = 0};
    (void)state;
    kiln_arena a = {0};
    assert_int_equal(setenv("KILN_KEYRING", in(&a, "ours.pub"), 1), 0);
    kiln_test_cli_check(&a, dir, &refused);
    assert_int_equal(setenv("KILN_KEYRING", "", 1), 0);
    kiln_test_cli_check(&a, dir, &taken);
    assert_int_equal(unsetenv("KILN_KEYRING"), 0);
    kiln_arena_fini(&a);
}

/* ---- a night --------------------------------------------------------------------- */

static void write_text(const char *name, const char *text) {
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_file_write(in(kiln_test_arena(), name), text, strlen(text), &err), &err);
}

/* A key whose password costs little; what others cost, keygen and minisign say. */
static void write_locked(void) {
    static const kiln_password_cost little = {1 << 19, 1 << 24};
    kiln_arena *a = kiln_test_arena();
    kiln_public_key key;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_keys_save(a, in(a, "locked"), KILN_STR_LIT("a word"), &little, &key, &err),
        &err);
}

static void write_pipeline(kiln_arena *a, const char *name, const char *keyring) {
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    write_text(kiln_format(a, "%s.json", name),
               kiln_format(a,
                           "{\"out\": \"%s\", \"sign\": \"ours.key\", "
                           "\"keyring\": \"%s.pub\", \"models\": [{\"name\": \"net\", "
                           "\"source\": \"%s/" MODEL "\"}], "
                           "\"bench\": {\"rounds\": 1}, "
                           "\"gate\": {\"accepted\": \"accepted %s\"}}",
                           name, keyring, here, name));
}

/* What it builds is signed, and what it runs is signed by whom it trusts. */
static void nights_sign_and_require_keys(void **state) {
    static const kiln_test_cli_row good = {.arg = {"nightly", "@night.json"}};
    static const kiln_test_cli_row accepted = {.arg = {"accept", "@night", "--to",
                                                       "@accepted night", "--keyring",
                                                       "@ours.pub", "--trust"},
                                               .out = "accepted net"};
    static const kiln_test_cli_row again = {.arg = {"nightly", "@night.json"}};
    static const kiln_test_cli_row foreign = {.arg = {"nightly", "@foreign.json"},
                                              .code = 1,
                                              .out = "which is none of the 1 of '"};
    (void)state;
    kiln_arena a = {0};
    write_pipeline(&a, "night", "ours");
    write_pipeline(&a, "foreign", "theirs");
    kiln_test_cli_check(&a, dir, &good);
    kiln_test_cli_check(&a, dir, &accepted);
    kiln_test_cli_check(&a, dir, &again); /* the gate takes what was accepted */
    kiln_test_cli_check(&a, dir, &foreign);
    kiln_arena_fini(&a);
}

/* ---- minisign -------------------------------------------------------------------- */

enum { MAX_WORDS = 12 };

static int minisign(kiln_arena *a, const char *input,
                    const char *const word[MAX_WORDS]) {
    kiln_err err = {0};
    kiln_process_result r;
    const char *argv[MAX_WORDS + 2] = {"minisign"};
    size_t n = 1;
    for (size_t i = 0; i < MAX_WORDS && word[i] != NULL; i++)
        argv[n++] = word[i][0] == '@' ? in(a, word[i] + 1) : word[i];
    const kiln_process_options o = {.argv = argv,
                                    .input = kiln_str_from(input),
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    if (kiln_process_run(a, &o, &r, &err) != KILN_OK || r.code == 127)
        kiln_test_skip("minisign is not installed");
    if (r.code != 0)
        print_message("%s\n", r.err.p);
    return r.end == KILN_PROCESS_EXITED ? r.code : -1;
}

#define MINISIGN(a, input, ...)                                                        \
    minisign((a), (input), (const char *const[MAX_WORDS]){__VA_ARGS__})

static void kiln_says(kiln_arena *a, int code,
                      const char *const word[KILN_TEST_CLI_ARGS]) {
    kiln_test_cli_row row = {.name = "", .code = code};
    memcpy(row.arg, word, sizeof row.arg);
    kiln_test_cli_check(a, dir, &row);
}

#define KILN_SAYS(a, code, ...)                                                        \
    kiln_says((a), (code), (const char *const[KILN_TEST_CLI_ARGS]){__VA_ARGS__})

/* Its keys and ours, with a password and without, sign; both programs hold them. */
static void minisign_and_kiln_agree(void **state) {
    (void)state;
    kiln_arena a = {0};
    if (MINISIGN(&a, "", "-v") != 0)
        kiln_test_skip("minisign does not run");
    assert_int_equal(MINISIGN(&a, "", "-Vm", PACKAGE, "-p", "@ours.pub"), 0);
    assert_int_not_equal(MINISIGN(&a, "", "-Vm", PACKAGE, "-p", "@theirs.pub"), 0);
    assert_int_equal(MINISIGN(&a, "", "-GW", "-p", "@its.pub", "-s", "@its.key"), 0);
    assert_int_equal(MINISIGN(&a, "", "-S", "-W", "-s", "@its.key", "-m", BARE), 0);
    KILN_SAYS(&a, 0, "unpack", BARE, "-o", "@by_its", "--keyring", "@its.pub");
    assert_int_equal(MINISIGN(&a, "", "-S", "-l", "-s", "@its.key", "-m", BARE), 0);
    KILN_SAYS(&a, 0, "unpack", BARE, "-o", "@by_its_old", "--keyring", "@its.pub");
    KILN_SAYS(&a, 0, "sign", BARE, "--key", "@its.key");
    assert_int_equal(MINISIGN(&a, "", "-Vm", BARE, "-p", "@its.pub"), 0);
    /* Ours by its program. */
    assert_int_equal(MINISIGN(&a, "", "-S", "-s", "@ours.key", "-m", BARE), 0);
    KILN_SAYS(&a, 0, "unpack", BARE, "-o", "@by_ours", "--keyring", "@ours.pub");
    assert_int_equal(MINISIGN(&a, "a word\n", "-S", "-s", "@locked.key", "-m", BARE),
                     0);
    KILN_SAYS(&a, 0, "unpack", BARE, "-o", "@by_locked", "--keyring", "@locked.pub");
    /* And its, with a password, by ours: twice seconds of a processor, whatever kiln is
     * compiled by. */
    if (kiln_test_is_sanitized() && getenv("KILN_SOAK") == NULL) {
        kiln_arena_fini(&a);
        return;
    }
    assert_int_equal(
        MINISIGN(&a, "a word\na word\n", "-G", "-p", "@shut.pub", "-s", "@shut.key"),
        0);
    KILN_SAYS(&a, 0, "sign", BARE, "--key", "@shut.key", "--password-file", "@pw");
    assert_int_equal(MINISIGN(&a, "", "-Vm", BARE, "-p", "@shut.pub"), 0);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_own_home();
    dir = kiln_test_dir();
    write_text("pw", "a word\nand what is below it\n");
    write_text("wrong", "another\n");
    write_text("empty", "\n");
    write_locked();
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("the_environment_requires_a_key", the_environment_requires_a_key,
                  NULL);
    kiln_test_add("nights_sign_and_require_keys", nights_sign_and_require_keys, NULL);
    kiln_test_add("minisign_and_kiln_agree", minisign_and_kiln_agree, NULL);
    return kiln_test_run("signatures from outside");
}
