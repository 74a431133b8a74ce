/* What people see besides results, of the kiln program from outside: help, manual
 * pages, completion, colours, progress. KILN names the program. */
#include "tests/support/program/cli_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEMO "demo/samplenet/samplenet.onnx"
#define GOLDEN "demo/samplenet/golden"
#define VERIFY "verify", DEMO, "--golden", GOLDEN, "--reference"
#define PASSED_GREEN "\x1b[32mpassed\x1b[0m"

static kiln_test_cli_row rows[] = {
    {"help_is_a_verb", {"help"}, 0, "\n  completion ", NULL},
    {"help_of_help", {"help", "help"}, 0, "usage: kiln help ", NULL},
    {"help_names_the_options_of_all",
     {"help", "sign"},
     0,
     "\noptions of every verb:\n  --quiet ",
     NULL},
    {"help_takes_one_verb",
     {"help", "tune", "build"},
     2,
     NULL,
     "kiln tune has no verb 'build' of its own"},
    {"help_writes_pages_of_all_verbs",
     {"help", "tune", "--man", "@man"},
     2,
     NULL,
     "--man writes the pages of all verbs"},
    {"refuses_an_unknown_shell",
     {"completion", "csh"},
     2,
     NULL,
     "the shell must be bash, zsh or fish, is 'csh'"},
    {"wants_a_shell", {"completion"}, 2, NULL, "bash|zsh|fish"},
    {"refuses_an_unknown_colour",
     {"profile", "list", "--color", "red"},
     2,
     NULL,
     "--color must be auto, always or never, is 'red'"},
    {"guesses_a_misspelt_common_option",
     {"profile", "list", "--quite"},
     2,
     NULL,
     "did you mean '--quiet'?"},
    {"colours_where_it_is_told_to",
     {VERIFY, "--color", "always"},
     0,
     PASSED_GREEN,
     NULL},
    {"colours_by_an_equals_sign", {VERIFY, "--color=always"}, 0, PASSED_GREEN, NULL},
    {"quiet_leaves_what_verify_found",
     {VERIFY, "--quiet"},
     0,
     "passed      case",
     NULL},
};

static const char *dir; /* one for all */

static void check(void **state) {
    kiln_arena a = {0};
    kiln_test_cli_check(&a, dir, *state);
    kiln_arena_fini(&a);
}

/* ---- scripts -----------------------------------------------------------------------
 *
 * $0 is kiln, $1 a folder of the test's own. What a script prints is asked for as a
 * whole; where `needs` is not on this machine it is left out, by name. */

typedef struct script_row {
    const char *name, *needs, *script, *out;
} script_row;

/* Words behind "kiln", the last one to be completed. */
#define COMPLETE(...)                                                                  \
    "source <(\"$0\" completion bash); complete() { COMP_WORDS=(kiln \"$@\");"         \
    " COMP_CWORD=$#; _kiln; printf '%s\\n' \"${COMPREPLY[@]}\"; };"                    \
    "complete " __VA_ARGS__
#define BUILD " build demo/samplenet/samplenet.onnx --profile native -o \"$1\"/ "
#define TYPED(command) "script -qec \"" command "\" /dev/null"

static script_row script_rows[] = {
    {"bash_takes_the_completion", NULL, "\"$0\" completion bash | bash -n", ""},
    {"zsh_takes_the_completion", "zsh", "\"$0\" completion zsh | zsh -n", ""},
    {"fish_takes_the_completion", "fish", "\"$0\" completion fish | fish -n", ""},
    {"completes_a_verb", NULL, COMPLETE("tu"), "tune\n"},
    {"completes_several_verbs", NULL, COMPLETE("re"), "reduce\nrebuild\nreport\n"},
    {"completes_an_option", NULL, COMPLETE("tune --tri"), "--trials\n"},
    {"completes_an_option_of_all", NULL, COMPLETE("fetch x --qui"), "--quiet\n"},
    {"completes_a_word_of_an_option", NULL, COMPLETE("gate --color al"), "always\n"},
    {"completes_a_verb_behind_help", NULL, COMPLETE("help nig"), "nightly\n"},
    {"completes_a_shell", NULL, COMPLETE("completion z"), "zsh\n"},
    {"completes_a_file", NULL, COMPLETE("build demo/samplenet/samplenet.o"),
     "demo/samplenet/samplenet.onnx\n"},
    {"completes_the_file_of_an_option", NULL,
     COMPLETE("tune x --db demo/samplenet/samplenet.o"),
     "demo/samplenet/samplenet.onnx\n"},
    {"completes_no_number", NULL, COMPLETE("tune x --trials ''"), "\n"},
    {"has_a_page_of_each_verb", NULL,
     "\"$0\" help --man \"$1\"/man && \"$0\" --help | sed -n "
     "'s/^  \\([a-z][a-z]*\\)  *.*/\\1/p' | while read v; do"
     " test -s \"$1\"/man/kiln-$v.1 || echo no $v; done; test -s \"$1\"/man/kiln.1",
     ""},
    {"groff_takes_the_pages", "groff",
     "\"$0\" help --man \"$1\"/man && for p in \"$1\"/man/*.1; do"
     " groff -man -ww -z \"$p\" 2>&1; done",
     ""},
    {"mandoc_takes_the_pages", "mandoc",
     "\"$0\" help --man \"$1\"/man && mandoc -Tlint -W error \"$1\"/man/*.1", ""},
    {"pages_say_what_help_says", "man",
     "\"$0\" help --man \"$1\"/man && MANWIDTH=80 man \"$1\"/man/kiln-gate.1 | "
     "grep -c '^ *--against ACCEPTED$'",
     "1\n"},
    {"shows_lines_to_programs", NULL,
     "KILN_PROGRESS=lines \"$0\"" BUILD ">/dev/null 2>\"$1\"/err;"
     "LC_ALL=C grep -c $'^\\x1e\\\\[\"' \"$1\"/err | grep -vx 0 >/dev/null && "
     "LC_ALL=C grep -v $'^\\x1e\\\\[\"' \"$1\"/err",
     ""},
    {"shows_nothing_where_it_is_quiet", NULL,
     "KILN_PROGRESS=lines \"$0\"" BUILD "--quiet 2>&1 >/dev/null;"
     "KILN_PROGRESS=quiet \"$0\"" BUILD "2>&1 >/dev/null",
     ""},
    {"counts_alone_where_it_is_told_to", NULL,
     "\"$0\" verify demo/samplenet/samplenet.onnx --golden demo/samplenet/golden "
     "--reference --counts",
     "2 passed, 0 failed, 0 unsupported\n"},
    {"shows_nothing_of_what_is_soon_over", NULL, "\"$0\"" BUILD "2>&1 >/dev/null", ""},
    {"takes_the_line_away", NULL,
     "KILN_PROGRESS=terminal \"$0\"" BUILD "2>\"$1\"/err >/dev/null;"
     "tr '\\r' '\\n' <\"$1\"/err | tail -n 1 | grep -c '[^ ]';"
     "tr '\\r' '\\n' <\"$1\"/err | grep -c '^[a-z].*: ' | grep -vx 0 >/dev/null",
     "0\n"},
    {"a_terminal_has_colours_and_progress", "script",
     "export TERM=xterm; unset NO_COLOR;" TYPED(
         "$0 verify demo/samplenet/samplenet.onnx --golden demo/samplenet/golden "
         "--reference") " | grep -c $'\\x1b\\\\[32mpassed\\x1b\\\\[0m' | grep -vx 0 "
                        ">/dev/null && echo coloured",
     "coloured\n"},
    {"no_color_is_heard", "script",
     "export TERM=xterm NO_COLOR=1;" TYPED(
         "$0 verify demo/samplenet/samplenet.onnx --golden demo/samplenet/golden "
         "--reference") " | grep -c $'\\x1b\\\\['",
     "0\n"},
    {"a_dumb_terminal_has_no_colours", "script",
     "export TERM=dumb; unset NO_COLOR;" TYPED(
         "$0 verify demo/samplenet/samplenet.onnx --golden demo/samplenet/golden "
         "--reference") " | grep -c $'\\x1b\\\\['",
     "0\n"},
    {"a_pipe_has_no_colours", NULL,
     "TERM=xterm \"$0\" verify demo/samplenet/samplenet.onnx --golden "
     "demo/samplenet/golden --reference | grep -c $'\\x1b\\\\['",
     "0\n"},
    {"errors_are_red_where_it_is_told", NULL,
     "\"$0\" inspect /nowhere.onnx --color always 2>&1 | grep -c "
     "$'^\\x1b\\\\[31merror:\\x1b\\\\[0m'",
     "1\n"},
};

static kiln_process_result run_script(kiln_arena *a, const char *script) {
    kiln_err err = {0};
    kiln_process_result r;
    const char *kiln = getenv("KILN");
    if (kiln == NULL)
        kiln_test_skip("KILN does not name the program");
    const char *argv[] = {"bash", "-c", script, kiln, dir, NULL};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(a, &o, &r, &err), &err);
    return r;
}

static void check_script(void **state) {
    const script_row *r = *state;
    kiln_arena a = {0};
    if (r->needs != NULL &&
        run_script(&a, kiln_format(&a, "command -v %s", r->needs)).code != 0)
        kiln_test_skip("'%s' is not on this machine", r->needs);
    const kiln_process_result got = run_script(&a, r->script);
    print_message("%s", got.err.p);
    assert_string_equal(got.out.p, r->out);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_own_home();
    dir = kiln_test_dir();
    kiln_test_add_rows(check, rows);
    kiln_test_add_rows(check_script, script_rows);
    return kiln_test_run("cli: screen");
}
