/* Landlock alone, without a filter of system calls: what is open stays open and files can
 * be read, but nothing is written, made, moved or started by its name. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/kiln_test.h"

enum { DONE = 42, REFUSED = 43, OTHER = 44, NOT_CONFINED = 45 };

typedef struct row {
    const char *name;
    int (*ask)(int open_fd); /* 0, or -1 and errno */
    int version;             /* of Landlock that refuses it; 0: none does */
} row;

static int reads(int fd) {
    char byte;
    const int in = open("there", O_RDONLY);
    return fd >= 0 && in >= 0 && read(in, &byte, 1) == 1 ? 0 : -1;
}
static int writes_what_is_open(int fd) { return write(fd, "x", 1) == 1 ? 0 : -1; }
static int opens_to_write(int fd) { return fd < 0 ? 0 : open("there", O_WRONLY); }
static int opens_to_append(int fd) {
    return fd < 0 ? 0 : open("there", O_WRONLY | O_APPEND);
}
static int makes_a_file(int fd) {
    return fd < 0 ? 0 : open("new", O_CREAT | O_WRONLY, 0600);
}
static int makes_a_folder(int fd) { return fd < 0 ? 0 : mkdir("new", 0700); }
static int links(int fd) { return fd < 0 ? 0 : symlink("there", "new"); }
static int removes(int fd) { return fd < 0 ? 0 : unlink("there"); }
static int moves(int fd) { return fd < 0 ? 0 : rename("there", "new"); }
static int truncates(int fd) { return fd < 0 ? 0 : truncate("there", 0); }
static int starts(int fd) {
    return fd < 0 ? 0 : execl("/bin/sh", "sh", "-c", "exit 42", (char *)NULL);
}
static int connects(int fd) {
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons(9),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int s = fd < 0 ? -1 : socket(AF_INET, SOCK_STREAM, 0);
    return connect(s, (const struct sockaddr *)&to, sizeof to);
}

static void *of_thread(void *failed) {
    const int fd = open("there", O_WRONLY);
    *(int *)failed = fd < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return NULL;
}
static int opens_in_a_thread(int fd) {
    pthread_t t;
    int error = fd < 0;
    if (pthread_create(&t, NULL, of_thread, &error) != 0 || pthread_join(t, NULL) != 0)
        return 0;
    errno = error;
    return error == 0 ? 0 : -1;
}

static row rows[] = {
    {"reads", reads, 0},
    {"writes_what_is_open", writes_what_is_open, 0},
    {"opens_to_write", opens_to_write, 1},
    {"opens_to_append", opens_to_append, 1},
    {"opens_in_a_thread", opens_in_a_thread, 1},
    {"makes_a_file", makes_a_file, 1},
    {"makes_a_folder", makes_a_folder, 1},
    {"links", links, 1},
    {"removes", removes, 1},
    {"moves", moves, 1},
    {"starts", starts, 1},
    {"truncates", truncates, 3},
    {"connects", connects, 4},
};

static void ask_in_child(void *arg) {
    const row *r = arg;
    const int fd = open("open", O_CREAT | O_WRONLY, 0600);
    if (fd < 0 || !kiln_confine_paths())
        _exit(NOT_CONFINED);
    errno = 0;
    const int got = r->ask(fd);
    _exit(got >= 0 ? DONE : errno == EACCES ? REFUSED : OTHER);
}

static void check(void **state) {
    const row *r = *state;
    const int version = kiln_confine_paths_version();
    kiln_err err = {.status = KILN_OK};
    kiln_test_death d;
    if (version < r->version || version == 0)
        kiln_test_skip("this system's Landlock is of version %d (0: it has none)",
                       version);
    assert_int_equal(chdir(kiln_test_dir()), 0);
    kiln_assert_status_ok(kiln_file_write("there", "text", 4, &err), &err);
    kiln_test_in_child(ask_in_child, *state, &d);
    assert_int_equal(d.exit_code, r->version == 0 ? DONE : REFUSED);
    assert_true(kiln_file_exists("there"));
    assert_false(kiln_file_exists("new"));
}

/* Neither fails anybody. */
static void says_where_there_is_none(void **state) {
    (void)state;
    if (kiln_confine_paths_version() == 0)
        assert_false(kiln_confine_paths());
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("says_where_there_is_none", says_where_there_is_none, NULL);
    return kiln_test_run("confine_paths");
}
