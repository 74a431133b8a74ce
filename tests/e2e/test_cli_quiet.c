/* --quiet means one thing for every verb: what is shown while it works is not, and
 * nothing else changes. Each verb that shows progress does so without it, has an empty
 * stderr with it, and says on stdout what it says otherwise. KILN names the program. */
#include "tests/support/program/cli_run.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEMO "demo/samplenet/samplenet.onnx"
#define GOLDEN "demo/samplenet/golden"

static const char *dir; /* one for all */

typedef struct quiet_row {
    const char *name;
    const char *arg[KILN_TEST_CLI_ARGS]; /* behind the program; "@x" is DIR/x */
    int code;
    bool is_free; /* how many lines stdout has hangs on times */
} quiet_row;

/* In this order: the first makes the archives of the others. */
static quiet_row rows[] = {
    {"build", {"build", DEMO, "--profile", "native", "-o", "@a.tar.zst"}, 0, false},
    {"verify_a_model", {"verify", DEMO, "--golden", GOLDEN, "--reference"}, 0, false},
    {"verify_a_compiled_model",
     {"verify", DEMO, "--golden", GOLDEN, "--profile", "native"},
     0,
     false},
    {"verify_a_package", {"verify", "@a.tar.zst"}, 0, false},
    {"run", {"run", "@a.tar.zst", "--random", "1", "--output-dir", "@out"}, 0, false},
    {"tune",
     {"tune", DEMO, "--profile", "native", "--db", "@t.db", "--trials", "4"},
     0,
     true},
    {"bench", {"bench", DEMO, "--rounds", "2", "--steps"}, 0, true},
    {"bench_a_package", {"bench", "@a.tar.zst", "--rounds", "2"}, 0, true},
    {"bench_an_operator", {"bench", "--op", "matmul x m=8 k=16 n=32"}, 0, true},
    {"bench_a_load",
     {"bench", DEMO, "--instances", "1,2", "--duration", "0.2", "--threads", "1"},
     0,
     true},
    {"gate", {"gate", "@a.tar.zst", "--against", "@a.tar.zst"}, 0, false},
    {"accept", {"accept", "@a.tar.zst", "--to", "@acc", "--trust"}, 0, true},
    {"nightly", {"nightly", "@p.json", "--new"}, 0, true},
};

static kiln_process_result run(const quiet_row *r, bool is_quiet) {
    const char *arg[KILN_TEST_CLI_ARGS] = {NULL};
    size_t n = 0;
    for (; r->arg[n] != NULL; n++)
        arg[n] = r->arg[n];
    if (is_quiet)
        arg[n] = "--quiet";
    const kiln_process_result got = kiln_test_cli_run(kiln_test_arena(), dir, arg);
    if (got.code != r->code)
        fail_msg("exit code %d, must be %d:\n%s", got.code, r->code, got.err.p);
    return got;
}

/* What hangs on the moment is not in it: numbers, and blanks that align them. */
static const char *without_numbers(const char *text) {
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    for (const char *c = text; *c != '\0'; c++)
        if (isdigit((unsigned char)*c) == 0 && strchr(" .+-e", *c) == NULL)
            kiln_buf_add(&out, c, 1);
    kiln_buf_add(&out, "", 1);
    return out.p;
}

/* A build for a sanitizer confines no candidates, and warns of it however quiet it is. */
static const char *without_that_warning(const char *text) {
    static const char warning[] = "warn measure: candidates of ";
    const char *end = strchr(text, '\n');
    const bool is_there = kiln_test_is_sanitized() && end != NULL &&
                          strncmp(text, warning, strlen(warning)) == 0;
    return is_there ? end + 1 : text;
}

static void check(void **state) {
    const quiet_row *r = *state;
    const kiln_process_result loud = run(r, false), quiet = run(r, true);
    if (loud.err.n == 0)
        fail_msg("shows no progress without --quiet either");
    assert_string_equal(without_that_warning(quiet.err.p), "");
    assert_true(quiet.out.n > 0);
    if (!r->is_free)
        assert_string_equal(without_numbers(quiet.out.p), without_numbers(loud.out.p));
}

static void write_pipeline(void) {
    const char *model = NULL;
    kiln_err err = {0};
    kiln_arena *a = kiln_test_arena();
    KILN_ASSERT(kiln_path_real(a, DEMO, &model, &err) == KILN_OK, "%s", err.text);
    const char *text = kiln_format(
        a,
        "{\"models\": [{\"name\": \"a\", \"source\": \"%s\", \"tune\": null}], "
        "\"bench\": {\"rounds\": 2}, \"out\": \"nights\", \"db\": \"n.db\"}",
        model);
    KILN_ASSERT(kiln_file_write(kiln_path_join(a, dir, "p.json"), text, strlen(text),
                                &err) == KILN_OK,
                "%s", err.text);
}

int main(void) {
    kiln_test_own_home();
    dir = kiln_test_dir();
    write_pipeline();
    if (setenv("KILN_PROGRESS", "lines", 1) != 0)
        return 1;
    kiln_test_add_rows(check, rows);
    return kiln_test_run("cli: quiet");
}
