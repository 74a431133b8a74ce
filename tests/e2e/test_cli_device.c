/* Devices from outside: keys made, a device named, served and measured on, and what is
 * wrong said. KILN names the program; "@x" in an argument is a file in the test's folder.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/program/c_source.h"
#include "tests/support/program/cli_run.h"

static kiln_arena arena;
static const char *dir;
static kiln_child board;

#define DIGITS "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

/* In this order: some read what earlier ones wrote. */
static kiln_test_cli_row rows[] = {
    {"tells_its_verbs", {"device", "--help"}, 0, "keygen", NULL},
    {"helps_with_one", {"help", "device", "serve"}, 0, "--allow FILE", NULL},
    {"knows_no_other", {"device", "fly"}, 2, NULL, "kiln device does keygen"},
    {"helps_with_no_other", {"help", "device", "fly"}, 2, NULL, "no verb 'fly'"},
    {"completes_them", {"completion", "bash"}, 0, "words='keygen", NULL},
    {"asks_for_a_name", {"device", "keygen"}, 2, NULL, "by -o NAME"},
    {"makes_keys",
     {"device", "keygen", "-o", "@board", "--json", "-"},
     0,
     "\"secret\": ",
     NULL},
    {"writes_over_no_key",
     {"device", "keygen", "-o", "@board"},
     2,
     NULL,
     "never written over"},
    {"serves_nobody_unknown",
     {"device", "serve", "--key", "@board.key"},
     2,
     NULL,
     "--allow KEY is needed"},
    {"serves_by_its_own_key_alone",
     {"device", "serve", "--key", "@board.pub", "--allow", DIGITS},
     4,
     NULL,
     "make it yours alone"},
    {"refuses_bad_names",
     {"device", "add", "a:b", "127.0.0.1:7300", "@board.pub"},
     2,
     NULL,
     "a device's name has letters"},
    {"refuses_bad_places",
     {"device", "add", "board", "127.0.0.1", "@board.pub"},
     2,
     NULL,
     "no address of a device"},
    {"refuses_secrets",
     {"device", "add", "board", "127.0.0.1:7300", "@board.key"},
     3,
     NULL,
     "is a secret key"},
    {"knows_no_such_device",
     {"tune", "--op", "conv S 8 16 16 3 1", "--runner", "board", "--db", "@t.db"},
     2,
     NULL,
     "there is no device 'board'"},
    {"verifies_there_what_is_compiled",
     {"verify", "demo/samplenet/samplenet.onnx", "--golden", "demo/samplenet/golden",
      "--reference", "--runner", "board"},
     2,
     NULL,
     "say for which profile by --profile"},
    {"sends_no_libraries",
     {"bench", "demo/samplenet/samplenet.onnx", "--profile", "aarch64", "--baselines",
      "armcl", "--runner", "board"},
     2,
     NULL,
     "runs the kernels that it is sent, and no programs"},
    {"sends_no_libraries_of_operators",
     {"bench", "--op", "conv S 8 16 16 3 1", "--baselines", "xnnpack", "--runner",
      "board"},
     2,
     NULL,
     "run 'kiln bench --baselines xnnpack' there"},
    {"gives_a_name",
     {"device", "add", "board", "127.0.0.1:7300", "@board.pub"},
     0,
     "curve-public ",
     NULL},
    {"lists_names", {"device", "list"}, 0, "board 127.0.0.1:7300 ", NULL},
    {"lists_names_as_json",
     {"device", "list", "--json", "-"},
     0,
     "\"place\": \"127.0.0.1:7300\"",
     NULL},
    {"has_notes_of_pools_alone",
     {"device", "list", "--log", "3"},
     2,
     NULL,
     "say which, by --pool"},
    {"forgets_a_name", {"device", "remove", "board"}, 0, NULL, NULL},
    {"lists_none", {"device", "list"}, 0, "no device has a name yet", NULL},
    {"forgets_it_once", {"device", "remove", "board"}, 2, NULL, "no device 'board'"},
};

static void check(void **state) { (void)kiln_test_cli_check(&arena, dir, *state); }

/* "... listens on tcp:127.0.0.1:PORT, ..." of what it says first. */
static const char *first_port(void) {
    char text[256] = "";
    size_t n = 0;
    for (int ms = 0; ms < KILN_TEST_PATIENCE_MS && strchr(text, '\n') == NULL; ms++) {
        const struct timespec pause = {.tv_nsec = 1000000};
        const ssize_t got = read(board.out, text + n, sizeof text - 1 - n);
        assert_true(got != 0);
        n += got > 0 ? (size_t)got : 0;
        (void)nanosleep(&pause, NULL);
    }
    const char *at = strstr(text, "127.0.0.1:");
    assert_non_null(at);
    kiln_str rest = kiln_str_from(at), place;
    assert_true(kiln_str_cut(&rest, ',', &place));
    return kiln_str_dupv(&arena, place);
}

/* A board that an emulator stands for: a whole session with the static program that
 * boards of this machine run. */
typedef struct other {
    const char *name, *emulator, *program, *profile;
    bool is_long; /* left to make soak: others show the same */
} other;

static const other others[] = {
    {"measures_on_armv7", "qemu-arm", "kiln-device-arm", "armv7-neon", false},
    {"measures_on_riscv64", "qemu-riscv64", "kiln-device-riscv64", "riscv64", true},
    {"measures_on_aarch64", "qemu-aarch64", "kiln-device-aarch64", "aarch64", true},
};

static void measures_on_other(void **state) {
    const other *o = *state;
    const char *libexec = getenv("KILN_LIBEXEC");
    const kiln_cpus any = {.n = 0};
    kiln_err err = {.len = 0};
    if (getenv("KILN") == NULL || libexec == NULL)
        kiln_test_skip("KILN or KILN_LIBEXEC is not set");
    if ((o->is_long || kiln_test_is_sanitized()) && getenv("KILN_SOAK") == NULL)
        kiln_test_skip("it is left to KILN_SOAK=1");
    const char *program = kiln_path_join(&arena, libexec, o->program);
    if (!kiln_file_exists(program) || !kiln_test_has_program(&arena, o->emulator))
        kiln_test_skip("'%s' and '%s' are not both here", o->program, o->emulator);
    const char *own = kiln_path_join(&arena, getenv("XDG_CONFIG_HOME"), "kiln");
    const char *const argv[] = {"/bin/sh",
                                "-c",
                                "exec \"$@\"",
                                "sh",
                                o->emulator,
                                program,
                                "serve",
                                "--key",
                                kiln_path_join(&arena, dir, "board.key"),
                                "--allow",
                                kiln_path_join(&arena, own, "device.pub"),
                                "--listen",
                                "tcp:127.0.0.1:0",
                                NULL};
    kiln_assert_status_ok(kiln_child_start(argv, -1, &any, &board, &err), &err);
    const char *db = kiln_format(&arena, "@%s.db", o->profile);
    const kiln_test_cli_row steps[] = {
        {"add",
         {"device", "add", o->profile, first_port(), "@board.pub"},
         0,
         "--runner ",
         NULL},
        {"verify",
         {"verify", "demo/samplenet/samplenet.onnx", "--golden",
          "demo/samplenet/golden", "--profile", o->profile, "--runner", o->profile},
         0,
         "passed, 0 failed",
         NULL},
        {"tune",
         {"tune", "--op", "conv S 8 16 16 3 1", "--trials", "1", "--no-ready",
          "--profile", o->profile, "--runner", o->profile, "--db", db},
         0,
         "good",
         NULL},
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        (void)kiln_test_cli_check(&arena, dir, &steps[i]);
    bool by_itself;
    int status;
    kiln_child_end(&board, &by_itself, &status);
}

/* One that measures there what it builds here. */
static void write_pipeline(void) {
    static const char text[] =
        "{\"models\": [{\"name\": \"dqn\", \"source\": \"zoo:dqn\"}], \"profiles\": "
        "[{\"profile\": \"native\", \"runner\": \"board\"}], \"bench\": {\"rounds\": "
        "2, \"baselines\": [\"onnxruntime\"]}, \"gate\": {\"accepted\": \"none\"}}";
    kiln_err err = {.len = 0};
    kiln_assert_status_ok(kiln_file_write(kiln_path_join(&arena, dir, "nightly.json"),
                                          text, sizeof text - 1, &err),
                          &err);
}

/* What a board is asked once it has its name, in this order. */
static kiln_test_cli_row by_name[] = {
    {"tune",
     {"tune", "--op", "conv S 8 16 16 3 1", "--trials", "1", "--no-ready", "--runner",
      "board", "--db", "@t.db"},
     0,
     "good",
     NULL},
    {"verify",
     {"verify", "demo/samplenet/samplenet.onnx", "--golden", "demo/samplenet/golden",
      "--profile", "native", "--runner", "board"},
     0,
     "passed, 0 failed",
     NULL},
    {"build",
     {"build", "demo/samplenet/samplenet.onnx", "--profile", "native", "-o",
      "@p.kiln.tar.zst"},
     0,
     NULL,
     NULL},
    {"bench",
     {"bench", "@p.kiln.tar.zst", "--rounds", "2", "--runner", "board"},
     0,
     "output: right",
     NULL},
    {"verify_package",
     {"verify", "@p.kiln.tar.zst", "--golden", "demo/samplenet/golden", "--model",
      "demo/samplenet/samplenet.onnx", "--runner", "board"},
     0,
     "9 passed, 0 failed",
     NULL},
    {"run",
     {"run", "@p.kiln.tar.zst", "--random", "1", "--output-dir", "@out", "--runner",
      "board"},
     0,
     "once, on curve://",
     NULL},
    {"accept",
     {"accept", "@p.kiln.tar.zst", "--to", "@accepted", "--model",
      "demo/samplenet/samplenet.onnx", "--runner", "board"},
     0,
     "1 thread: sha256 ",
     NULL},
    {"accepted_there",
     {"accept", "@p.kiln.tar.zst", "--to", "@accepted", "--runner", "board", "--json",
      "-"},
     0,
     "\"not_tested\": null",
     NULL},
    {"gate",
     {"gate", "@p.kiln.tar.zst", "--against", "@p.kiln.tar.zst", "--runner", "board"},
     0,
     "equal ",
     NULL},
    {"nightly", {"nightly", "@nightly.json"}, 0, "verdict: new\n", NULL},
    {"stats", {"db", "stats", "--db", "@t.db"}, 0, "curve://127.0.0.1:", NULL},
};

static void measures_by_name(void **state) {
    const char *program = getenv("KILN");
    const kiln_cpus any = {.n = 0};
    kiln_err err = {.len = 0};
    (void)state;
    if (program == NULL)
        kiln_test_skip("KILN is not set");
    /* "gives_a_name" made this user's own keys. */
    const char *own = kiln_path_join(&arena, getenv("XDG_CONFIG_HOME"), "kiln");
    const char *const argv[] = {program,
                                "device",
                                "serve",
                                "--key",
                                kiln_path_join(&arena, dir, "board.key"),
                                "--allow",
                                kiln_path_join(&arena, own, "device.pub"),
                                "--listen",
                                "tcp:127.0.0.1:0",
                                NULL};
    kiln_assert_status_ok(kiln_child_start(argv, -1, &any, &board, &err), &err);
    write_pipeline();
    const kiln_test_cli_row add = {
        "add",
        {"device", "add", "board", first_port(), "@board.pub"},
        0,
        "--runner board",
        NULL};
    (void)kiln_test_cli_check(&arena, dir, &add);
    for (size_t i = 0; i < sizeof by_name / sizeof by_name[0]; i++)
        (void)kiln_test_cli_check(&arena, dir, &by_name[i]);
    bool by_itself;
    int status;
    kiln_child_end(&board, &by_itself, &status);
}

int main(void) {
    kiln_test_own_home();
    dir = kiln_test_dir();
    (void)setenv("XDG_CONFIG_HOME", kiln_test_dir(), 1);
    kiln_test_add_rows(check, rows);
    kiln_test_add("measures_by_name", measures_by_name, NULL);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        kiln_test_add(others[i].name, measures_on_other, (void *)(uintptr_t)&others[i]);
    const int code = kiln_test_run("cli_device");
    kiln_arena_fini(&arena);
    return code;
}
