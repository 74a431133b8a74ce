/* Who is asked to stop notices, and is not ended by the first signal; the second ends
 * it. Each in a child process: signals are global. */
#include "base/host/interrupt.h"
#include "base/host/process.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kiln_test.h"

typedef struct row {
    const char *name;
    int signal_number, times;
    bool is_ignored; /* before kiln_interrupt_catch */
    int exit_code;   /* 10: ran on and was asked, 20: ran on and was not */
    int ended_by;    /* a signal; 0: none */
} row;

static row rows[] = {
    {"runs_on_when_nobody_asks", SIGINT, 0, false, 20, 0},
    {"runs_on_and_knows_after_ctrl_c", SIGINT, 1, false, 10, 0},
    {"runs_on_and_knows_after_a_polite_end", SIGTERM, 1, false, 10, 0},
    {"runs_on_and_knows_after_a_lost_terminal", SIGHUP, 1, false, 10, 0},
    {"leaves_nohup_alone", SIGHUP, 1, true, 20, 0},
    {"ends_at_the_second_ctrl_c", SIGINT, 2, false, -1, SIGINT},
    {"keeps_ignoring_what_was_ignored", SIGINT, 2, true, 20, 0},
};

static void child(void *arg) {
    const row *r = arg;
    if (r->is_ignored)
        signal(r->signal_number, SIG_IGN);
    kiln_interrupt_catch();
    for (int i = 0; i < r->times; i++)
        raise(r->signal_number);
    exit(kiln_interrupted() ? 10 : 20);
}

static void check(void **state) {
    row *r = *state;
    kiln_test_death d;
    kiln_test_in_child(child, r, &d);
    assert_int_equal(d.signal, r->ended_by);
    assert_int_equal(d.exit_code, r->exit_code);
}

/* A child that would run for an hour, whose parent is asked to stop by the child. */
static void run_sleeper(void *arg) {
    (void)arg;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_process_result r;
    const char *const argv[] = {"sh", "-c", "kill -TERM $PPID; exec sleep 3600", NULL};
    const kiln_process_options o = {.argv = argv};
    kiln_interrupt_catch();
    const kiln_status st = kiln_process_run(&a, &o, &r, &err);
    exit(st == KILN_ERR_INTERRUPTED && strstr(err.text, "interrupted") != NULL ? 10
                                                                               : 20);
}

static void ends_what_it_waits_for(void **state) {
    (void)state;
    kiln_test_death d;
    kiln_test_in_child(run_sleeper, NULL, &d);
    assert_int_equal(d.exit_code, 10);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("ends_what_it_waits_for", ends_what_it_waits_for, NULL);
    return kiln_test_run("interrupt");
}
