/* The kit for GPUs elsewhere: its table of steps has its form and asks kiln for nothing
 * that kiln has not, and run.sh takes steps that fail and hang, with a made-up kiln. */
#include <string.h>

#include "base/base.h"
#include "tests/support/kiln_test.h"

static void need_python(void) {
    if (kiln_test_shell("command -v python3 && command -v xz").code != 0)
        kiln_test_skip("python3 or xz is not here");
}

static kiln_process_result good(const char *script) {
    const kiln_process_result got = kiln_test_shell(script);
    if (got.code != 0)
        fail_msg("ended with %d: %s%s", got.code, got.out.p, got.err.p);
    return got;
}

static void steps_have_their_form(void **state) {
    (void)state;
    good("awk -F'|' '"
         "/^#/ || NF == 0 { next }"
         "NF < 5 { print \"too few columns: \" $0; exit 1 }"
         "{ for (i = 1; i <= 4; i++) gsub(/ /, \"\", $i) }"
         "$1 !~ /^[a-z0-9-]+$/ || $1 in seen { print \"name: \" $0; exit 1 }"
         "$2 !~ /^[1-9][0-9]*$/ || $3 !~ /^[1-9][0-9]*$/ { print \"number: \" $0; exit "
         "1 }"
         "$4 !~ /^(all|gpu|short)$/ { print \"when: \" $0; exit 1 }"
         "{ seen[$1] = 1; n++ }"
         "END { exit n < 20 }' \"$0/tools/gpu-kit/steps.txt\"");
}

/* Verbs are rows of a table, options literals in the verb's file. */
static void steps_ask_for_what_kiln_has(void **state) {
    (void)state;
    good(
        "set -f; cd \"$0\"; grep -v '^#' tools/gpu-kit/steps.txt | cut -d'|' -f5- | "
        "tr '&' '\\n' | sed -n 's/^ *kiln //p' | sort -u | while read -r line; do\n"
        "    set -- $line; verb=$1\n"
        "    grep -q \"($verb)\" cli/verbs.def || { echo \"no verb $verb\"; exit 1; }\n"
        "    for word; do case $word in --*)\n"
        "        grep -rq \"\\\"$word\\\"\" --include=verb_$verb.c "
        "--include=*option*.[ch] --include=verb_verify.c cli ||\n"
        "            { echo \"kiln $verb has no $word\"; exit 1; } ;;\n"
        "    esac; done\n"
        "done");
}

static void list_prints_steps_in_their_order(void **state) {
    (void)state;
    need_python();
    const kiln_process_result got =
        good("\"$0/tools/gpu-kit/run.sh\" --list --only 'dqn,samplenet,tune-c*'");
    const char *first = strstr(got.out.p, "samplenet "),
               *then = strstr(got.out.p, "tune-conv "),
               *last = strstr(got.out.p, "\ndqn ");
    assert_true(first == got.out.p && then != NULL && last != NULL && then < last);
    assert_null(strstr(got.out.p, "resnet18.json"));
}

/* A kit whose kiln is a script: `good`, `bad` and `hangs` are its verbs. */
static const char made_up_kit[] =
    "mkdir -p stage/bin kit && cp \"$0/tools/gpu-kit/\"*.py stage/\n"
    "cp \"$0/tools/gpu-kit/run.sh\" kit/\n"
    "cat >stage/bin/kiln <<'KILN'\n"
    "#!/bin/sh\n"
    "case $1 in\n"
    "db) : >\"$KILN_DB\" ;;\n"
    "good) echo '{\"format\": \"kiln-ops-1\", \"ops\": [{\"name\": \"C7\", "
    "\"median_ms\": 0.5,"
    " \"output\": {\"ok\": true}, \"baselines\": [{\"name\": \"cudnn\", \"state\": "
    "\"measured\","
    " \"median_ms\": 0.25, \"ratio\": {\"estimate\": 2}}]}]}' >\"$2/good.json\" ;;\n"
    "bad) echo 'nothing works'; exit 3 ;;\n"
    "hangs) sleep 1000 ;;\n"
    "esac\n"
    "KILN\n"
    "chmod +x stage/bin/kiln\n"
    "cat >stage/steps.txt <<'STEPS'\n"
    "# a comment\n"
    "first  | 1  | 1 | all | kiln bad\n"
    "second | 1  | 1 | all | kiln hangs\n"
    "third  | 99 | 1 | all | kiln good {O}\n"
    "other  | 1  | 1 | short | kiln bad\n"
    "STEPS\n"
    "tar -c -C stage . | xz -0 >kit/kit.tar.xz\n";

static void what_fails_and_hangs_costs_itself_alone(void **state) {
    (void)state;
    need_python();
    const char *script = kiln_format(
        kiln_test_arena(),
        "set -e\n%s"
        "code=0; TMPDIR=$PWD kit/run.sh out --minutes 1 --profile opencl-pocl || "
        "code=$?\n"
        "[ $code = 1 ] && [ $(ls out | wc -l) -le 8 ]\n"
        "cat out/summary.txt\n"
        "tar -xzOf out/details.tar.gz ./logs/first.log\n"
        "[ -f out/tuning.db ] && [ -z \"$(ls -d kiln-gpu.* 2>/dev/null)\" ]\n",
        made_up_kit);
    const kiln_process_result got = good(script);
    static const char *const wanted[] = {
        "ended with 3", "over its time", "nothing works",
        "cudnn 0.2500 ms, kiln takes 2.00 of it", "right"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (strstr(got.out.p, wanted[i]) == NULL)
            fail_msg("'%s' is not in %s", wanted[i], got.out.p);
    assert_null(strstr(got.out.p, "other"));
}

static void wrong_usage_is_told(void **state) {
    (void)state;
    static const struct {
        const char *arguments, *text;
    } rows[] = {{"", "usage"},
                {"out --minutes none", "a whole number from 1"},
                {"out --nonesuch", "no option '--nonesuch'"},
                {"out more", "one folder for results"},
                {"--list --only nothing", "no step is called 'nothing'"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const kiln_process_result got = kiln_test_shell(kiln_format(
            kiln_test_arena(), "\"$0/tools/gpu-kit/run.sh\" %s", rows[i].arguments));
        assert_int_equal(got.code, 2);
        if (strstr(got.err.p, rows[i].text) == NULL)
            fail_msg("'%s' is not in %s", rows[i].text, got.err.p);
    }
}

int main(void) {
    kiln_test_add("steps_have_their_form", steps_have_their_form, NULL);
    kiln_test_add("steps_ask_for_what_kiln_has", steps_ask_for_what_kiln_has, NULL);
    kiln_test_add("list_prints_steps_in_their_order", list_prints_steps_in_their_order,
                  NULL);
    kiln_test_add("what_fails_and_hangs_costs_itself_alone",
                  what_fails_and_hangs_costs_itself_alone, NULL);
    kiln_test_add("wrong_usage_is_told", wrong_usage_is_told, NULL);
    return kiln_test_run("GPU kit");
}
