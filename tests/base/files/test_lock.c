/* Locks between processes: held, told, given up however their holder dies. */
#include "base/base.h"
#include "tests/support/kiln_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_lock(const char *path) {
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return fd;
}

/* A child that takes the lock, says so, and waits until it is killed. */
static pid_t hold(const char *path) {
    int told[2];
    char c = 0;
    assert_int_equal(pipe(told), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        kiln_err err = {.status = KILN_OK};
        long holder = -1;
        const int fd = open(path, O_RDWR);
        if (fd < 0 || kiln_file_lock(fd, path, &holder, &err) != KILN_OK ||
            holder != 0 || write(told[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    assert_true(pid > 0);
    close(told[1]);
    assert_int_equal(read(told[0], &c, 1), 1);
    close(told[0]);
    return pid;
}

static void tells_who_has_it_and_is_given_up(void **state) {
    (void)state;
    const char *path = kiln_path_join(kiln_test_arena(), kiln_test_dir(), "lock");
    const int fd = open_lock(path);
    kiln_err err = {.status = KILN_OK};
    long holder = 0;
    int status = 0;
    const pid_t pid = hold(path);
    kiln_assert_status_ok(kiln_file_lock(fd, path, &holder, &err), &err);
    assert_int_equal(holder, (long)pid);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    kiln_assert_status_ok(kiln_file_lock(fd, path, &holder, &err), &err);
    assert_int_equal(holder, 0);
    /* It is this process's: once more is no wait for itself. */
    kiln_assert_status_ok(kiln_file_lock(fd, path, &holder, &err), &err);
    assert_int_equal(holder, 0);
    close(fd);
}

static void names_what_cannot_be_locked(void **state) {
    (void)state;
    kiln_err err = {.status = KILN_OK};
    long holder;
    const char *path = kiln_path_join(kiln_test_arena(), kiln_test_dir(), "lock");
    close(open_lock(path));
    const int fd = open(path, O_RDONLY | O_CLOEXEC); /* a lock to write needs more */
    assert_true(fd >= 0);
    kiln_assert_fails(kiln_file_lock(fd, path, &holder, &err), KILN_ERR_IO, &err,
                      "cannot lock '");
    close(fd);
}

int main(void) {
    kiln_test_add("tells_who_has_it_and_is_given_up", tells_who_has_it_and_is_given_up,
                  NULL);
    kiln_test_add("names_what_cannot_be_locked", names_what_cannot_be_locked, NULL);
    return kiln_test_run("lock");
}
