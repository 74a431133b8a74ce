/* Folders for a while: whose are swept, whose stay. */
#include "tests/support/kiln_test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process that makes a folder with a file in it, and waits to be killed. */
static pid_t start_owner(const char **folder) {
    char text[512] = "";
    int end[2];
    assert_int_equal(pipe(end), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        kiln_arena a = {0};
        const char *path = "";
        if (kiln_dir_temp(&a, &path, NULL) != KILN_OK ||
            mkdir(kiln_path_join(&a, path, "inner"), 0700) != 0 ||
            write(end[1], path, strlen(path)) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    close(end[1]);
    assert_true(read(end[0], text, sizeof text - 1) > 0);
    close(end[0]);
    *folder = kiln_str_dup(kiln_test_arena(), text);
    return pid;
}

static void kill_owner(pid_t pid, bool is_collected) {
    siginfo_t info;
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(
        waitid(P_PID, (id_t)pid, &info, is_collected ? WEXITED : WEXITED | WNOWAIT), 0);
}

static void sweeps_what_killed_ones_left(void **state) {
    (void)state;
    const char *folder[3];
    const pid_t living = start_owner(&folder[0]), zombie = start_owner(&folder[1]),
                gone = start_owner(&folder[2]);
    assert_int_equal(kiln_dir_temp_sweep(), 0);
    kill_owner(zombie, false);
    kill_owner(gone, true);
    assert_int_equal(kiln_process_start(zombie), 0);
    assert_int_equal(kiln_process_start(gone), 0);
    assert_int_equal(kiln_dir_temp_sweep(), 2);
    assert_true(kiln_dir_exists(folder[0]));
    assert_false(kiln_dir_exists(folder[1]));
    assert_false(kiln_dir_exists(folder[2]));
    kill_owner(zombie, true);
    kill_owner(living, true);
    assert_int_equal(kiln_dir_temp_sweep(), 1);
    assert_false(kiln_dir_exists(folder[0]));
}

typedef struct name_row {
    const char *name, *folder; /* in TMPDIR */
    bool is_locked, goes;
} name_row;

static name_row name_rows[] = {
    {"an_orphan_goes", "kiln-1-2-abcdef", false, true},
    {"locked_elsewhere", "kiln-1-3-abcdef", true, false},
    {"of_a_test", "kiln-test-abcdef", false, false},
    {"without_a_start", "kiln-1-abcdef", false, false},
    {"start_not_known", "kiln-1-0-abcdef", false, false},
    {"no_number", "kiln-x-2-abcdef", false, false},
    {"below_zero", "kiln--1-2-abcdef", false, false},
    {"longer", "kiln-1-2-abcdef-old", false, false},
    {"somebody_else's", "other-1-2-abcdef", false, false},
};

static void sweeps_by_name(void **state) {
    const name_row *row = *state;
    const char *path = kiln_path_join(kiln_test_arena(), getenv("TMPDIR"), row->folder);
    assert_int_equal(mkdir(path, 0700), 0);
    const int fd = open(path, O_RDONLY | O_DIRECTORY);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, row->is_locked ? LOCK_EX : LOCK_UN), 0);
    assert_int_equal(kiln_dir_temp_sweep(), row->goes);
    assert_int_equal(kiln_dir_exists(path), !row->goes);
    close(fd);
    kiln_assert_status_ok(kiln_remove_tree(path, NULL), &(kiln_err){0});
}

/* A link in its place leads nowhere that is swept. */
static void leaves_links_alone(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *tmp = getenv("TMPDIR");
    const char *there = kiln_path_join(a, tmp, "precious");
    const char *link = kiln_path_join(a, tmp, "kiln-1-2-ghijkl");
    assert_int_equal(mkdir(there, 0700), 0);
    assert_int_equal(symlink(there, link), 0);
    assert_int_equal(kiln_dir_temp_sweep(), 0);
    assert_true(kiln_dir_exists(there));
    assert_int_equal(unlink(link), 0);
}

static void processes_have_a_start(void **state) {
    (void)state;
    const uint64_t ours = kiln_process_start(getpid());
    assert_true(ours > 0);
    assert_true(kiln_process_start(getpid()) == ours);
    assert_true(kiln_process_start(1) <= ours);
    assert_int_equal(kiln_process_start(0), 0);
    assert_int_equal(kiln_process_start(-5), 0);
}

int main(void) {
    if (setenv("TMPDIR", kiln_test_dir(), 1) != 0)
        return 1;
    kiln_test_add("sweeps_what_killed_ones_left", sweeps_what_killed_ones_left, NULL);
    kiln_test_add_rows(sweeps_by_name, name_rows);
    kiln_test_add("leaves_links_alone", leaves_links_alone, NULL);
    kiln_test_add("processes_have_a_start", processes_have_a_start, NULL);
    return kiln_test_run("temporary folders");
}
