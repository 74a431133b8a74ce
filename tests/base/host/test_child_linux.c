/* Long-lived children: what they are given, how they end. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/host/spawn.h"
#include "tests/support/kiln_test.h"

static kiln_child start(const char *script) {
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    const kiln_cpus any = {.n = 0};
    kiln_err err = {0};
    kiln_child c;
    kiln_assert_status_ok(kiln_child_start(argv, -1, &any, &c, &err), &err);
    return c;
}

/* What it writes until it closes its output. */
static void read_all(const kiln_child *c, char *text, size_t size) {
    size_t n = 0;
    for (int i = 0; i < KILN_TEST_PATIENCE_MS; i++) {
        const ssize_t got = read(c->out, text + n, size - 1 - n);
        n += got > 0 ? (size_t)got : 0;
        if (got == 0)
            break;
        if (got < 0)
            (void)usleep(1000);
    }
    text[n] = '\0';
}

static void answers_and_ends(void **state) {
    (void)state;
    kiln_child c = start("read x; echo \"got $x\"; exit 3");
    char text[64];
    bool by_itself = false;
    int status = 0;
    assert_int_equal(write(c.in, "it\n", 3), 3);
    read_all(&c, text, sizeof text);
    assert_string_equal(text, "got it\n");
    kiln_child_wait(&c);
    kiln_child_end(&c, &by_itself, &status);
    assert_true(by_itself);
    assert_int_equal(status >> 8, 3);
}

static void is_ended(void **state) {
    (void)state;
    kiln_child c = start("sleep 3600");
    bool by_itself = true;
    int status = 0;
    kiln_child_end(&c, &by_itself, &status);
    assert_false(by_itself);
}

/* More than the 64 KiB that a pipe has by itself lie in it before anybody reads. What is
 * no pipe, or more than the system gives, changes nothing. */
static void a_pipe_is_widened(void **state) {
    enum { WIDE = 256 << 10 };
    static char block[WIDE];
    int end[2];
    (void)state;
    assert_int_equal(pipe(end), 0);
    kiln_pipe_widen(end[0], WIDE);
    kiln_pipe_widen(end[0], -1);
    kiln_pipe_widen(-1, WIDE);
    if (fcntl(end[0], F_GETPIPE_SZ) < WIDE)
        kiln_test_skip("the system gives no pipe of %d bytes", WIDE);
    assert_int_equal(write(end[1], block, WIDE), WIDE);
    close(end[0]);
    close(end[1]);
}

/* Descriptors of ours that nobody marked are not its: none but three. */
static void has_no_other_descriptors(void **state) {
    (void)state;
    int end[2], status;
    bool by_itself;
    char text[64];
    assert_int_equal(pipe(end), 0);
    kiln_child c = start("for f in 3 4 5 6 7 8 9; do "
                         "[ -e /proc/$$/fd/$f ] && echo $f; done; echo end");
    read_all(&c, text, sizeof text);
    assert_string_equal(text, "end\n");
    kiln_child_end(&c, &by_itself, &status);
    close(end[0]);
    close(end[1]);
}

static void cpus_are_parted(void **state) {
    (void)state;
    const kiln_cpus all = kiln_cpus_own();
    assert_true(all.n >= 1);
    const kiln_cpus first = kiln_cpus_part(&all, 0, 1);
    assert_int_equal(first.n, 1);
    assert_int_equal(kiln_cpus_first(&first), kiln_cpus_first(&all));
    const kiln_cpus rest = kiln_cpus_part(&all, 1, all.n);
    assert_int_equal(rest.n, all.n - 1);
    const kiln_cpus any = {.n = 0};
    assert_int_equal(kiln_cpus_first(&any), -1);
    kiln_cpus_use(&first);
    assert_int_equal(kiln_cpus_own().n, 1);
    kiln_cpus_use(&all);
    assert_int_equal(kiln_cpus_own().n, all.n);
}

static int ended(int pid) {
    int status = -1;
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void returns(const void *arg) { (void)arg; }
static void fails_to_run(const void *arg) {
    const int fd = *(const int *)arg;
    char *const argv[] = {NULL}, *const env[] = {NULL};
    (void)execve("/dev/null/no program", argv, env);
    (void)close(fd); /* of the child's own table */
    _exit(3);
}

/* The caller has its descriptors and its stack afterwards. */
static void spawned_ones_leave_the_caller_alone(void **state) {
    (void)state;
    int fd[2];
    char text[16] = "as it was";
    assert_int_equal(pipe(fd), 0);
    assert_int_equal(ended(kiln_spawn(returns, NULL)), 127);
    for (int i = 0; i < 100; i++)
        assert_int_equal(ended(kiln_spawn(fails_to_run, &fd[1])), 3);
    assert_int_equal(write(fd[1], text, sizeof text), sizeof text);
    assert_int_equal(read(fd[0], text, sizeof text), sizeof text);
    assert_string_equal(text, "as it was");
    (void)close(fd[0]);
    (void)close(fd[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_and_ends),
        cmocka_unit_test(a_pipe_is_widened),
        cmocka_unit_test(is_ended),
        cmocka_unit_test(has_no_other_descriptors),
        cmocka_unit_test(cpus_are_parted),
        cmocka_unit_test(spawned_ones_leave_the_caller_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
