/* The log: which lines are on. What is written is looked at in a child process, whose
 * stderr is ours; no test elsewhere reads the log. */
#include "tests/support/kiln_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct level_row {
    const char *name, *setting, *tag;
    kiln_log_level highest; /* that is on */
} level_row;

static level_row level_rows[] = {
    {"warns_by_default", NULL, "fuse", KILN_LOG_WARN},
    {"warns_with_an_empty_setting", "", "fuse", KILN_LOG_WARN},
    {"sets_all_tags", "debug", "fuse", KILN_LOG_DEBUG},
    {"silences_all_but_errors", "error", "fuse", KILN_LOG_ERROR},
    {"sets_one_tag", "fuse=debug,tuner=info", "fuse", KILN_LOG_DEBUG},
    {"sets_another_tag", "fuse=debug,tuner=info", "tuner", KILN_LOG_INFO},
    {"leaves_other_tags", "fuse=debug,tuner=info", "import", KILN_LOG_WARN},
    {"sets_the_others_too", "fuse=debug,info", "import", KILN_LOG_INFO},
    {"lets_a_tag_be_quieter", "debug,fuse=error", "fuse", KILN_LOG_ERROR},
    {"lets_the_later_part_win", "fuse=debug,fuse=info", "fuse", KILN_LOG_INFO},
    {"tells_tags_with_one_start_apart", "fuse=debug", "fuse2", KILN_LOG_WARN},
    {"passes_over_blanks_and_empty_parts", " , fuse=debug ,,", "fuse", KILN_LOG_DEBUG},
};

static void check_level(void **state) {
    const level_row *r = *state;
    kiln_log_configure(r->setting);
    for (int level = KILN_LOG_ERROR; level <= KILN_LOG_DEBUG; level++)
        assert_int_equal(kiln_log_is_on((kiln_log_level)level, r->tag),
                         level <= (int)r->highest);
    kiln_log_configure(NULL);
}

static void configure_in_child(void *arg) { kiln_log_configure(arg); }

typedef struct complaint_row {
    const char *name, *setting, *want;
} complaint_row;

static complaint_row complaint_rows[] = {
    {"accepts_a_good_setting", "fuse=debug,info", ""},
    {"warns_of_an_unknown_level", "loud",
     "warn log: KILN_LOG part 'loud' is ignored: the level must be error, warn, info "
     "or "
     "debug\n"},
    {"warns_of_an_unknown_level_of_a_tag", "info,fuse=all",
     "warn log: KILN_LOG part 'fuse=all' is ignored: the level must be error, warn, "
     "info or "
     "debug\n"},
    {"warns_of_an_empty_tag", "=info",
     "warn log: KILN_LOG part '=info' is ignored: the tag is empty or too long\n"},
    {"warns_of_a_long_tag", "a23456789b123456789c123456789d12=info",
     "warn log: KILN_LOG part 'a23456789b123456789c123456789d12=info' is ignored: the "
     "tag is "
     "empty or too long\n"},
};

static void check_complaint(void **state) {
    const complaint_row *r = *state;
    kiln_test_death child;
    kiln_test_in_child(configure_in_child, kiln_str_dup(kiln_test_arena(), r->setting),
                       &child);
    assert_int_equal(child.exit_code, 0);
    assert_string_equal(child.stderr_text, r->want);
}

static void bounds_the_number_of_tags(void **state) {
    (void)state;
    kiln_buf setting;
    kiln_buf_init(&setting, kiln_test_arena());
    for (int i = 0; i < 33; i++)
        kiln_buf_printf(&setting, "tag%d=info,", i);
    kiln_test_death child;
    kiln_test_in_child(configure_in_child, setting.p, &child);
    assert_string_equal(
        child.stderr_text,
        "warn log: KILN_LOG part 'tag32=info' is ignored: there are too many tags\n");
}

static int count(int *n) { return ++*n; }

static void log_some_lines(void *arg) {
    (void)arg;
    int n_evaluated = 0;
    kiln_log_configure("fuse=debug");
    KILN_LOG(DEBUG, "fuse", "merged %d nodes into '%s'", count(&n_evaluated), "conv1");
    KILN_LOG(DEBUG, "tuner", "not seen, not even evaluated: %d", count(&n_evaluated));
    KILN_LOG(WARN, "tuner", "evaluated %d times", n_evaluated);
}

static void writes_level_tag_and_text(void **state) {
    (void)state;
    kiln_test_death child;
    kiln_test_in_child(log_some_lines, NULL, &child);
    assert_string_equal(child.stderr_text, "debug fuse: merged 1 nodes into 'conv1'\n"
                                           "warn tuner: evaluated 1 times\n");
}

/* What the environment says is read at the first use: only a new program has that ahead
 * of it, so this one runs itself with an argument. */
static const char *own_path;

static void reads_the_environment_once(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_process_result result;
    const kiln_process_options o = {
        .argv = (const char *const[]){own_path, "log", NULL},
        .env = (const char *const[]){"KILN_LOG=import=info", NULL},
    };
    kiln_assert_status_ok(kiln_process_run(kiln_test_arena(), &o, &result, &err), &err);
    assert_int_equal(result.code, 0);
    assert_string_equal(result.err.p, "info import: seen\nwarn import: seen too\n");
}

static int log_as_the_environment_says(void) {
    KILN_LOG(INFO, "import", "seen");
    KILN_LOG(INFO, "fuse", "not seen");
    kiln_log_configure(NULL); /* wins from here on */
    KILN_LOG(INFO, "import", "not seen any more");
    KILN_LOG(WARN, "import", "seen too");
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "log") == 0)
        return log_as_the_environment_says();
    own_path = argv[0];
    kiln_test_add_rows(check_level, level_rows);
    kiln_test_add_rows(check_complaint, complaint_rows);
    kiln_test_add("bounds_the_number_of_tags", bounds_the_number_of_tags, NULL);
    kiln_test_add("writes_level_tag_and_text", writes_level_tag_and_text, NULL);
    kiln_test_add("reads_the_environment_once", reads_the_environment_once, NULL);
    return kiln_test_run("log");
}
