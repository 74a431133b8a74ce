/* Files in memory: another process reads what was written, nobody changes what was
 * sealed, nothing is left when they are closed. */
#include "tests/support/kiln_test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/host/task.h"

static int make(const char **path) {
    int fd = -1;
    if (!kiln_memory_file(kiln_test_arena(), &fd, path))
        kiln_test_skip("this system has no files in memory, or no /proc");
    return fd;
}

static void others_read_it(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *path = NULL;
    kiln_err err = {0};
    kiln_process_result got;
    kiln_str text;
    const int fd = make(&path);
    assert_int_equal(write(fd, "held\n", 5), 5);
    kiln_assert_status_ok(kiln_memory_file_seal(fd, &err), &err);
    const char *const argv[] = {"cat", path, NULL};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(a, &o, &got, &err), &err);
    assert_string_equal(got.out.p, "held\n");
    kiln_assert_status_ok(kiln_file_map(a, path, 0, &text, &err), &err);
    kiln_assert_text_equal(text, kiln_str_from("held\n"));
    close(fd);
    assert_int_equal(access(path, F_OK), -1);
}

static void nobody_changes_what_is_sealed(void **state) {
    (void)state;
    const char *path = NULL;
    kiln_err err = {0};
    const int fd = make(&path);
    assert_int_equal(write(fd, "held\n", 5), 5);
    kiln_assert_status_ok(kiln_memory_file_seal(fd, &err), &err);
    assert_int_equal(write(fd, "x", 1), -1);
    assert_int_equal(ftruncate(fd, 0), -1);
    const int again = open(path, O_RDWR | O_CLOEXEC);
    if (again >= 0) {
        assert_int_equal(pwrite(again, "x", 1, 0), -1);
        assert_int_equal(errno, EPERM);
        close(again);
    }
    kiln_assert_fails(kiln_memory_file_seal(fd, &err), KILN_ERR_IO, &err,
                      "sealing a file in memory: ");
    close(fd);
}

/* Whether it came into huge pages or not: sizes about one of them, and what is behind. */
static void joined_pages_hold_the_same(void **state) {
    static const size_t sizes[] = {0, 1, (2 << 20) - 1, 2 << 20, (5 << 20) + 3};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t n = sizes[i];
        char *want = kiln_array(kiln_test_arena(), char, n + 1);
        const char *path = NULL;
        kiln_err err = {0};
        kiln_str got;
        const int fd = make(&path);
        for (size_t k = 0; k < n; k++)
            want[k] = (char)(k % 251);
        assert_int_equal(write(fd, want, n), n);
        kiln_memory_file_huge(fd);
        kiln_assert_status_ok(kiln_memory_file_seal(fd, &err), &err);
        kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &got, &err),
                              &err);
        assert_int_equal(got.n, n);
        assert_memory_equal(got.p, want, n);
        close(fd);
    }
    kiln_memory_file_huge(-1); /* as a child that has none calls it */
}

static void lets_go_of(void *page) {
    const struct timespec moment = {.tv_nsec = 30000000};
    (void)nanosleep(&moment, NULL);
    (void)munmap(page, 5);
}

/* A page of it that may be written is mapped when it is to be sealed. */
static void waits_for_who_holds_it(void **state) {
    (void)state;
    const char *path = NULL;
    kiln_err err = {0};
    kiln_task t;
    const int fd = make(&path);
    assert_int_equal(write(fd, "held\n", 5), 5);
    void *page = mmap(NULL, 5, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(page != MAP_FAILED);
    kiln_task_start(&t, lets_go_of, page);
    const kiln_status st = kiln_memory_file_seal(fd, &err);
    kiln_task_wait(&t);
    kiln_assert_status_ok(st, &err);
    close(fd);
}

static void children_do_not_inherit_it(void **state) {
    (void)state;
    const char *path = NULL;
    const int fd = make(&path);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    close(fd);
}

static void there_is_memory(void **state) {
    (void)state;
    const uint64_t bytes = kiln_memory_available();
    assert_true(bytes > (1u << 20) && bytes < (UINT64_C(1) << 50));
}

int main(void) {
    kiln_test_add("others_read_it", others_read_it, NULL);
    kiln_test_add("nobody_changes_what_is_sealed", nobody_changes_what_is_sealed, NULL);
    kiln_test_add("joined_pages_hold_the_same", joined_pages_hold_the_same, NULL);
    kiln_test_add("waits_for_who_holds_it", waits_for_who_holds_it, NULL);
    kiln_test_add("children_do_not_inherit_it", children_do_not_inherit_it, NULL);
    kiln_test_add("there_is_memory", there_is_memory, NULL);
    return kiln_test_run("memory");
}
