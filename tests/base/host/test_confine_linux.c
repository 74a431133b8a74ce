/* Confinement: what computes goes on, what asks the system is stopped, and named. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/kiln_test.h"

typedef struct row {
    const char *name;
    long (*ask)(int fd); /* fd: the one that may be used */
    long number;         /* of the call that is trapped; -1: none is */
    bool has_files;      /* kiln_confine_files, which leaves all that are open */
} row;

static long computes(int fd) { return fd < 0; }

static long asks_the_time(int fd) {
    struct timespec t;
    (void)fd;
    return syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
}

static long uses_its_descriptor(int fd) { return write(fd, "x", 1) != 1; }
static long uses_another(int fd) { return write(fd + 1, "x", 1); }
static long uses_another_file(int fd) { return write(fd + 1, "x", 1) != 1; }
static long uses_a_wide_one(int fd) {
    return syscall(SYS_write, (unsigned long)fd | 1UL << 32, "x", 1UL);
}
static long reads_another(int fd) { return read(fd + 1, &fd, 1); }
static long opens(int fd) { return syscall(SYS_openat, fd, "/etc/passwd", 0); }
static long forks(int fd) { return syscall(SYS_clone, SIGCHLD, fd & 0, 0, 0, 0); }
static long signals(int fd) { return syscall(SYS_kill, getppid(), fd & 0); }
static long maps(int fd) {
    return (long)syscall(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                         fd & 0);
}
static long talks(int fd) { return syscall(SYS_socket, AF_INET, SOCK_STREAM, fd & 0); }
static long seeks(int fd) { return lseek(fd, 0, SEEK_SET) >= 0; }
static long closes(int fd) { return close(fd + 1); }
static long gives_back(int fd) { return syscall(SYS_munmap, 0, 4096, fd & 0); }
static long makes_executable(int fd) {
    return (long)syscall(SYS_mprotect, 0, 4096, PROT_EXEC, fd & 0);
}
static long catches(int fd) { return syscall(SYS_rt_sigaction, SIGSYS, 0, 0, fd & 0); }

static row rows[] = {
    {"computes", computes, -1, false},
    {"asks_the_time", asks_the_time, -1, false},
    {"uses_its_descriptor", uses_its_descriptor, -1, false},
    {"uses_another", uses_another, SYS_write, false},
    {"uses_a_wide_one", uses_a_wide_one, SYS_write, false},
    {"reads_another", reads_another, SYS_read, false},
    {"opens", opens, SYS_openat, false},
    {"forks", forks, SYS_clone, false},
    {"signals", signals, SYS_getppid, false},
    {"maps", maps, SYS_mmap, false},
    {"talks", talks, SYS_socket, false},
    {"catches", catches, SYS_rt_sigaction, false},
    {"files_computes", computes, -1, true},
    {"files_asks_the_time", asks_the_time, -1, true},
    {"files_uses_its_descriptor", uses_its_descriptor, -1, true},
    {"files_uses_another", uses_another_file, -1, true},
    {"files_seeks", seeks, -1, true},
    {"files_closes", closes, -1, true},
    {"files_gives_back", gives_back, -1, true},
    {"files_reads_another", reads_another, SYS_read, true},
    {"files_opens", opens, SYS_openat, true},
    {"files_forks", forks, SYS_clone, true},
    {"files_signals", signals, SYS_getppid, true},
    {"files_maps", maps, SYS_mmap, true},
    {"files_makes_executable", makes_executable, SYS_mprotect, true},
    {"files_talks", talks, SYS_socket, true},
    {"files_catches", catches, SYS_rt_sigaction, true},
};

enum { TRAPPED = 100, OTHER = 101, DONE = 42, NOT_CONFINED = 43 };

static const row *asked;

static void on_trap(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    _exit(info->si_syscall == asked->number ? TRAPPED : OTHER);
}

static void ask_in_child(void *arg) {
    const struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    int fd[2], other;
    asked = arg;
    if (pipe(fd) != 0 || (other = dup(fd[1])) < 0 ||
        sigaction(SIGSYS, &action, NULL) != 0 ||
        !(asked->has_files ? kiln_confine_files() : kiln_confine(fd[1])))
        _exit(NOT_CONFINED);
    if (other != fd[1] + 1) /* what is another one, below */
        _exit(NOT_CONFINED);
    _exit(asked->ask(fd[1]) == 0 ? DONE : 1);
}

static void skip_where_it_cannot(void) {
    char why[KILN_CONFINE_TEXT];
    if (kiln_confine_works(why)) {
        assert_string_equal(why, "");
        return;
    }
    assert_true(why[0] != '\0');
    kiln_test_skip("%s", why);
}

static void check(void **state) {
    kiln_test_death d;
    const row *r = *state;
    skip_where_it_cannot();
    kiln_test_in_child(ask_in_child, *state, &d);
    assert_int_equal(d.exit_code, r->number < 0 ? DONE : TRAPPED);
}

static void names_calls(void **state) {
    char text[KILN_CONFINE_TEXT];
    (void)state;
    assert_string_equal(kiln_system_call_name(SYS_socket, text), "socket");
    assert_string_equal(kiln_system_call_name(SYS_unlinkat, text), "unlinkat");
    assert_string_equal(kiln_system_call_name(99999, text), "system call 99999");
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("names_calls", names_calls, NULL);
    return kiln_test_run("confine");
}
