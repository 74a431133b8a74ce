/* Child processes. The child is this program itself, called with the name of a part to
 * play: no test depends on which tools a machine has. */
#include "tests/support/kiln_test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the child's parts ----------------------------------------------------------- */

static void sleep_ms(long ms) {
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

static int number(const char *text) {
    int64_t n = -1;
    return kiln_parse_i64(kiln_str_from(text), &n) && n >= 0 && n <= INT_MAX ? (int)n
                                                                             : -1;
}

static int play_exit(char **arg) { return number(arg[0]); }

static int play_say(char **arg) {
    fputs(arg[0], stdout);
    fputs(arg[1], stderr);
    return 0;
}

static int play_copy(char **arg) {
    (void)arg;
    char chunk[5000];
    for (size_t n = fread(chunk, 1, sizeof chunk, stdin); n > 0;
         n = fread(chunk, 1, sizeof chunk, stdin)) {
        fwrite(chunk, 1, n, stdout);
        fwrite(chunk, 1, n, stderr);
    }
    return 0;
}

/* First much on one stream, then on the other: a reader of one at a time would wait for
 * ever. */
static int play_flood(char **arg) {
    const long n = number(arg[0]);
    for (long i = 0; i < n; i++)
        putc('e', stderr);
    for (long i = 0; i < n; i++)
        putchar('o');
    return 0;
}

static int play_sleep(char **arg) {
    sleep_ms(number(arg[0]));
    return 0;
}

/* Longer than anybody waits for it. */
static void stay(void) { sleep_ms(2L * KILN_TEST_PATIENCE_MS); }

/* Closes its streams, then stays. */
static int play_close_and_sleep(char **arg) {
    close(0);
    close(1);
    close(2);
    sleep_ms(number(arg[0]));
    return 5;
}

static int play_kill(char **arg) {
    raise(number(arg[0]));
    return 0;
}

/* Starts a grandchild that keeps the streams open, writes its number, and ends or
 * stays. */
static int play_leave_behind(char **arg) {
    const pid_t pid = fork();
    if (pid == 0) {
        stay();
        _exit(0);
    }
    printf("%ld\n", (long)pid);
    fflush(stdout);
    if (strcmp(arg[0], "stay") == 0)
        stay();
    return 0;
}

/* Writes its number into a file, and stays. */
static int play_tell(char **arg) {
    kiln_err err = {0};
    char text[32];
    const int n = snprintf(text, sizeof text, "%ld", (long)getpid());
    if (kiln_file_write(arg[0], text, (size_t)n, &err) != KILN_OK)
        return 1;
    stay();
    return 0;
}

static int play_spin(char **arg) {
    (void)arg;
    for (volatile unsigned i = 0;; i++)
        ;
    return 0;
}

static int play_descriptors(char **arg) {
    (void)arg;
    for (int fd = 0; fd < 256; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("%d ", fd);
    return 0;
}

static int play_signals(char **arg) {
    (void)arg;
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    int n_odd = 0;
    for (int s = 1; s < 32; s++) {
        struct sigaction sa;
        if (sigaction(s, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
            n_odd++;
        n_odd += sigismember(&mask, s) == 1;
    }
    printf("%d group %d", n_odd, getpgrp() == getpid());
    return 0;
}

static int play_folder(char **arg) {
    (void)arg;
    char path[4096];
    if (getcwd(path, sizeof path) != NULL)
        fputs(path, stdout);
    return 0;
}

static int play_env(char **arg) {
    for (int i = 0; arg[i] != NULL; i++) {
        const char *value = getenv(arg[i]);
        printf("%s=%s\n", arg[i], value == NULL ? "(none)" : value);
    }
    return 0;
}

static int play_limits(char **arg) {
    (void)arg;
    static const int which[] = {RLIMIT_CORE, RLIMIT_CPU, RLIMIT_DATA};
    for (int i = 0; i < 3; i++) {
        struct rlimit r = {0, 0};
        getrlimit(which[i], &r);
        printf("%ld %ld\n", (long)r.rlim_cur, (long)r.rlim_max);
    }
    return 0;
}

static int play_touch(char **arg) {
    const size_t n = (size_t)number(arg[0]);
    kiln_arena a = {0};
    char *p = kiln_arena_alloc_raw(&a, n); /* without memory: ends with code 4 */
    memset(p, 1, n);
    const int code = p[n / 2] == 1 ? 0 : 2;
    kiln_arena_fini(&a);
    return code;
}

static const struct part {
    const char *name;
    int (*play)(char **arg);
} parts[] = {
    {"exit", play_exit},       {"say", play_say},
    {"copy", play_copy},       {"flood", play_flood},
    {"sleep", play_sleep},     {"close_and_sleep", play_close_and_sleep},
    {"kill", play_kill},       {"leave_behind", play_leave_behind},
    {"spin", play_spin},       {"descriptors", play_descriptors},
    {"signals", play_signals}, {"folder", play_folder},
    {"env", play_env},         {"limits", play_limits},
    {"touch", play_touch},     {"tell", play_tell},
};

/* ---- the tests ------------------------------------------------------------------- */

static char *own_path;

/* Runs a part; the rest of the options may be set. */
static kiln_process_result run(kiln_process_options o, const char *part, const char *x,
                               const char *y) {
    o.argv = (const char *const[]){own_path, part, x, y, NULL};
    kiln_err err = {0};
    kiln_process_result r;
    kiln_assert_status_ok(kiln_process_run(kiln_test_arena(), &o, &r, &err), &err);
    assert_int_equal(r.out.p[r.out.n], '\0');
    assert_int_equal(r.err.p[r.err.n], '\0');
    assert_int_equal(waitpid(-1, NULL, WNOHANG),
                     -1); /* no child is left, not even a dead one */
    return r;
}

static const kiln_process_options none;

static void reports_exit_codes(void **state) {
    (void)state;
    static const char *const codes[] = {"0", "1", "127", "255"};
    for (size_t i = 0; i < 4; i++) {
        const kiln_process_result r = run(none, "exit", codes[i], NULL);
        assert_int_equal(r.end, KILN_PROCESS_EXITED);
        assert_int_equal(r.code, number(codes[i]));
        assert_int_equal(r.out.n + r.err.n, 0);
    }
}

static void reports_signals(void **state) {
    (void)state;
    static const char *const signals[] = {"9", "15", "13"};
    for (size_t i = 0; i < 3; i++) {
        const kiln_process_result r = run(none, "kill", signals[i], NULL);
        assert_int_equal(r.end, KILN_PROCESS_SIGNALED);
        assert_int_equal(r.code, number(signals[i]));
    }
}

static void keeps_the_streams_apart(void **state) {
    (void)state;
    const kiln_process_result r = run(none, "say", "to out", "to err");
    assert_string_equal(r.out.p, "to out");
    assert_string_equal(r.err.p, "to err");
    assert_false(r.out_cut || r.err_cut);
    assert_true(r.peak_rss_bytes > 0);
}

typedef struct listener {
    kiln_buf out, err;
    int n_ticks;
} listener;

static void hear(void *user, int stream, const char *bytes, size_t n) {
    listener *l = user;
    l->n_ticks += stream < 0;
    if (stream >= 0)
        kiln_buf_add(stream == STDERR_FILENO ? &l->err : &l->out, bytes, n);
}

/* More than is kept, and silence too. */
static void who_listens_hears_all_of_it(void **state) {
    (void)state;
    listener l = {.n_ticks = 0};
    kiln_buf_init(&l.out, kiln_test_arena());
    kiln_buf_init(&l.err, kiln_test_arena());
    const kiln_process_options o = {
        .output_limit_bytes = 10, .heard = hear, .user = &l};
    kiln_process_result r = run(o, "flood", "300000", NULL);
    assert_true(r.out_cut && r.err_cut);
    assert_int_equal(l.out.n, 300000);
    assert_int_equal(l.err.n, 300000);
    assert_true(l.out.p[299999] == 'o' && l.err.p[299999] == 'e');
    (void)run(o, "sleep", "1500", NULL);
    assert_int_equal(l.out.n + l.err.n, 600000);
    print_message("%d seconds were silent\n", l.n_ticks);
    assert_true(l.n_ticks >= 1);
}

static void carries_much_data_both_ways(void **state) {
    (void)state;
    const size_t n = 3000001;
    char *data = kiln_arena_alloc_raw(kiln_test_arena(), n);
    for (size_t i = 0; i < n; i++)
        data[i] = (char)(i * i >> 7); /* terminators and all */
    const kiln_process_options o = {.input = {data, n}, .output_limit_bytes = n};
    const kiln_process_result r = run(o, "copy", NULL, NULL);
    assert_int_equal(r.code, 0);
    assert_true(kiln_str_eq(r.out, o.input));
    assert_true(kiln_str_eq(r.err, o.input));
    assert_false(r.out_cut || r.err_cut);
}

static void gives_an_end_of_file_without_input(void **state) {
    (void)state;
    const kiln_process_result r = run(none, "copy", NULL, NULL);
    assert_int_equal(r.code, 0);
    assert_int_equal(r.out.n, 0);
}

static volatile sig_atomic_t n_sigpipes;
static void count_sigpipe(int s) {
    (void)s;
    n_sigpipes++;
}

static void survives_a_child_that_does_not_read(void **state) {
    (void)state;
    signal(SIGPIPE, count_sigpipe);
    const size_t n = 500000;
    const kiln_process_options o = {
        .input = {kiln_arena_alloc(kiln_test_arena(), n), n}};
    const kiln_process_result r = run(o, "say", "a", "b");
    signal(SIGPIPE, SIG_DFL);
    assert_int_equal(r.code, 0);
    assert_string_equal(r.out.p, "a");
    assert_int_equal(n_sigpipes, 0);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_false(sigismember(&mask, SIGPIPE) == 1); /* as before */

    const kiln_process_result slow = run(o, "close_and_sleep", "100", NULL);
    assert_int_equal(slow.code, 5);
}

static void cuts_long_output_but_reads_it_all(void **state) {
    (void)state;
    const kiln_process_options o = {.output_limit_bytes = 1000};
    kiln_process_result r = run(o, "flood", "1000", NULL);
    assert_false(r.out_cut || r.err_cut);
    assert_int_equal(r.out.n, 1000);
    r = run(o, "flood", "1001", NULL);
    assert_true(r.out_cut && r.err_cut);
    assert_int_equal(r.out.n, 1000);
    r = run(none, "flood", "1500000", NULL);
    assert_int_equal(r.code, 0);
    assert_true(r.out_cut && r.err_cut);
    assert_int_equal(r.out.n, 1024 * 1024);
    assert_int_equal(r.err.n, 1024 * 1024);
    assert_int_equal(r.err.p[r.err.n - 1], 'e');
}

static void kills_after_the_time_limit(void **state) {
    (void)state;
    static const char *const slow_parts[] = {"sleep", "close_and_sleep"};
    for (size_t i = 0; i < 2; i++) {
        const kiln_process_options o = {.time_limit_ms = 100};
        const kiln_process_result r = run(o, slow_parts[i], "1200000", NULL);
        assert_int_equal(r.end, KILN_PROCESS_TIMED_OUT);
        assert_int_equal(r.code, SIGKILL);
        assert_true(r.wall_ms >= 100);
    }
    const kiln_process_options o = {.time_limit_ms = KILN_TEST_PATIENCE_MS};
    assert_int_equal(run(o, "sleep", "20", NULL).end, KILN_PROCESS_EXITED);
}

/* False once the process is gone. */
static bool is_alive(pid_t pid) {
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return kill(pid, 0) == 0;
    const int n = fscanf(f, "%*d (%*[^)]) %c", &state);
    fclose(f);
    return n == 1 && state != 'Z' && state != 'X';
}

/* A killed orphan may take a moment to be reaped. */
static void dies(pid_t pid) {
    for (int ms = 0; ms < KILN_TEST_PATIENCE_MS && is_alive(pid); ms += 10)
        sleep_ms(10);
    assert_false(is_alive(pid));
}

/* The first limit that left it time to say its grandchild's number. */
static kiln_process_result leave_behind(const char *way, int64_t limit_ms) {
    kiln_process_options o = {.time_limit_ms = limit_ms};
    kiln_process_result r = run(o, "leave_behind", way, NULL);
    while (r.out.n == 0 && o.time_limit_ms < KILN_TEST_PATIENCE_MS) {
        o.time_limit_ms *= 3;
        r = run(o, "leave_behind", way, NULL);
    }
    return r;
}

/* Though the grandchild, which stays, keeps the streams open. */
static void kills_what_the_child_leaves_behind(void **state) {
    (void)state;
    static const char *const ways[] = {"end", "stay"};
    for (size_t i = 0; i < 2; i++) {
        const kiln_process_result r =
            leave_behind(ways[i], i == 0 ? KILN_TEST_PATIENCE_MS : 300);
        assert_int_equal(r.end, i == 0 ? KILN_PROCESS_EXITED : KILN_PROCESS_TIMED_OUT);
        int64_t pid = 0;
        assert_true(kiln_parse_i64(kiln_str_trim(r.out), &pid));
        dies((pid_t)pid);
    }
}

static void kills_a_child_whose_parent_died(void **state) {
    (void)state;
    const char *path = kiln_path_join(kiln_test_arena(), kiln_test_dir(), "number");
    const pid_t parent = fork();
    if (parent == 0) {
        const kiln_process_options o = {
            .argv = (const char *const[]){own_path, "tell", path, NULL}};
        kiln_process_result r;
        kiln_err err = {0};
        _exit(kiln_process_run(kiln_test_arena(), &o, &r, &err) == KILN_OK ? 0 : 1);
    }
    assert_true(parent > 0);
    for (int ms = 0; ms < KILN_TEST_PATIENCE_MS && !kiln_file_exists(path); ms += 10)
        sleep_ms(10);
    kiln_err err = {0};
    kiln_str text;
    int64_t pid = 0;
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &text, &err), &err);
    assert_true(kiln_parse_i64(text, &pid));
    assert_true(is_alive((pid_t)pid));
    assert_int_equal(kill(parent, SIGKILL), 0);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    dies((pid_t)pid);
}

static void limits_processor_time(void **state) {
    (void)state;
    const kiln_process_options o = {.cpu_limit_s = 1,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    const kiln_process_result r = run(o, "spin", NULL, NULL);
    assert_int_equal(r.end, KILN_PROCESS_SIGNALED);
    assert_int_equal(r.code, SIGXCPU);
}

static void sets_limits_in_the_child_only(void **state) {
    (void)state;
    struct rlimit before, after;
    assert_int_equal(getrlimit(RLIMIT_CPU, &before), 0);
    /* More than a sanitized program needs to start. */
    const kiln_process_options o = {.cpu_limit_s = 1000,
                                    .data_limit_bytes = UINT64_C(1) << 50};
    const kiln_process_result r = run(o, "limits", NULL, NULL);
    assert_string_equal(r.out.p, "0 0\n1000 1001\n1125899906842624 1125899906842624\n");
    assert_int_equal(getrlimit(RLIMIT_CPU, &after), 0);
    assert_true(before.rlim_cur == after.rlim_cur && before.rlim_max == after.rlim_max);
}

static void limits_memory(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    kiln_test_skip("a sanitized program does not start under a limit of data");
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    kiln_test_skip("a sanitized program does not start under a limit of data");
#endif
#endif
    const kiln_process_options o = {.data_limit_bytes = 64 * 1024 * 1024};
    assert_int_equal(run(o, "touch", "200000000", NULL).code, 4);
    assert_int_equal(run(o, "touch", "20000000", NULL).code, 0);
}

static void measures_time_and_memory(void **state) {
    (void)state;
    const int64_t start_ns = kiln_now_ns();
    const kiln_process_result r = run(none, "sleep", "50", NULL);
    assert_true(r.wall_ms >= 50);
    assert_true(kiln_now_ns() - start_ns >= INT64_C(50000000));
    assert_true(run(none, "touch", "100000000", NULL).peak_rss_bytes >= 100000000);
}

static void gives_the_child_three_descriptors(void **state) {
    (void)state;
    int pipes[3][2];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pipe(pipes[i]), 0); /* not close-on-exec */
    const kiln_process_result r = run(none, "descriptors", NULL, NULL);
    for (int i = 0; i < 3; i++) {
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
    assert_string_equal(r.out.p, "0 1 2 ");
}

/* In a child without stdio: the pipes would get 0, 1 and 2. */
static void run_without_stdio(void *arg) {
    (void)arg;
    const int saved = fcntl(2, F_DUPFD, 100);
    close(0);
    close(1);
    close(2);
    const kiln_process_options o = {
        .argv = (const char *const[]){own_path, "copy", NULL}, .input = {"hello", 5}};
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_process_result r = {.code = -1};
    const kiln_status st = kiln_process_run(&a, &o, &r, &err);
    dup2(saved, 2);
    fprintf(stderr, "%s %d %s %s", kiln_status_name(st), r.code, r.out.p, r.err.p);
    kiln_arena_fini(&a);
}

static void works_without_stdio(void **state) {
    (void)state;
    kiln_test_death child;
    kiln_test_in_child(run_without_stdio, NULL, &child);
    assert_string_equal(child.stderr_text, "OK 0 hello hello");
}

static void gives_the_child_default_signals_and_a_group(void **state) {
    (void)state;
    sigset_t mask, old;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigprocmask(SIG_BLOCK, &mask, &old);
    signal(SIGUSR2, SIG_IGN);
    const kiln_process_result r = run(none, "signals", NULL, NULL);
    signal(SIGUSR2, SIG_DFL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    assert_string_equal(r.out.p, "0 group 1");
}

static void adds_to_the_environment(void **state) {
    (void)state;
    assert_int_equal(setenv("KILN_TEST_KEPT", "kept", 1), 0);
    assert_int_equal(setenv("KILN_TEST_REPLACED", "old", 1), 0);
    const kiln_process_options o = {
        .argv = (const char *const[]){own_path, "env", "KILN_TEST_KEPT",
                                      "KILN_TEST_REPLACED", "KILN_TEST_REP",
                                      "KILN_TEST_EMPTY", NULL},
        .env = (const char *const[]){"KILN_TEST_REPLACED=new", "KILN_TEST_REP=x",
                                     "KILN_TEST_EMPTY=", NULL},
    };
    kiln_err err = {0};
    kiln_process_result r;
    kiln_assert_status_ok(kiln_process_run(kiln_test_arena(), &o, &r, &err), &err);
    assert_string_equal(r.out.p, "KILN_TEST_KEPT=kept\nKILN_TEST_REPLACED=new\n"
                                 "KILN_TEST_REP=x\nKILN_TEST_EMPTY=\n");
    assert_string_equal(getenv("KILN_TEST_REPLACED"), "old");
}

static void runs_in_a_folder(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    char real[4096], before[4096], after[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(dir), 0);
    assert_non_null(getcwd(real, sizeof real));
    assert_int_equal(chdir(before), 0);
    const kiln_process_options o = {.dir = dir};
    assert_string_equal(run(o, "folder", NULL, NULL).out.p, real);
    assert_non_null(getcwd(after, sizeof after));
    assert_string_equal(after, before);
}

static void looks_in_path(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *dir = kiln_test_dir();
    kiln_err err = {0};
    /* Passed over: a folder, a file that is no program, and the working folder. */
    kiln_assert_status_ok(kiln_dir_make(kiln_path_join(a, dir, "1/player"), &err),
                          &err);
    kiln_assert_status_ok(kiln_dir_make(kiln_path_join(a, dir, "2"), &err), &err);
    kiln_assert_status_ok(kiln_dir_make(kiln_path_join(a, dir, "3"), &err), &err);
    kiln_assert_status_ok(
        kiln_file_write(kiln_path_join(a, dir, "2/player"), "x", 1, &err), &err);
    assert_int_equal(symlink(own_path, kiln_path_join(a, dir, "3/player")), 0);
    char *old = kiln_str_dup(a, getenv("PATH"));
    setenv("PATH", kiln_format(a, ":.:%s/1:%s/none:%s/2:%s/3", dir, dir, dir, dir), 1);
    const kiln_process_options o = {
        .argv = (const char *const[]){"player", "exit", "7", NULL}};
    kiln_process_result r = {.code = -1};
    const kiln_status st = kiln_process_run(a, &o, &r, &err);
    setenv("PATH", old, 1);
    kiln_assert_status_ok(st, &err);
    assert_int_equal(r.code, 7);
}

typedef struct start_row {
    const char *name;
    const char *argv0, *dir;
    kiln_status want;
    const char *text;
} start_row;

static start_row start_rows[] = {
    {"rejects_a_program_that_is_nowhere", "no-such-program-as-this", NULL, KILN_ERR_IO,
     "cannot run 'no-such-program-as-this': not found in PATH"},
    {"rejects_a_path_that_is_nowhere", "/no/such/program", NULL, KILN_ERR_IO,
     "cannot run '/no/such/program': No such file or directory"},
    {"rejects_a_folder_as_program", "/", NULL, KILN_ERR_IO,
     "cannot run '/': Permission denied"},
    {"rejects_a_file_that_is_no_program", "./Makefile", NULL, KILN_ERR_IO,
     "cannot run './Makefile': Permission denied"},
    {"rejects_a_working_folder_that_is_nowhere", "/bin/sh", "/no/such/folder",
     KILN_ERR_IO,
     "cannot run '/bin/sh': cannot enter '/no/such/folder': No such file or directory"},
    {"rejects_no_program", NULL, NULL, KILN_ERR_ARG,
     "a process needs a program to run"},
    {"rejects_an_empty_program", "", NULL, KILN_ERR_ARG,
     "a process needs a program to run"},
};

static int count_descriptors(void) {
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void check_start(void **state) {
    const start_row *r = *state;
    const int n_open = count_descriptors();
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_process_result result = {.code = 77};
    const kiln_process_options o = {.argv = (const char *const[]){r->argv0, NULL},
                                    .dir = r->dir,
                                    .input = {"unread", 6}};
    kiln_assert_fails(kiln_process_run(&a, &o, &result, &err), r->want, &err, r->text);
    assert_int_equal(result.code, 77);
    assert_int_equal(count_descriptors(), n_open);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    kiln_arena_fini(&a);
}

/* Somebody else reaps our children: how it ended cannot be known, and must not be made
 * up. */
static void run_with_ignored_sigchld(void *arg) {
    (void)arg;
    signal(SIGCHLD, SIG_IGN);
    const kiln_process_options o = {
        .argv = (const char *const[]){own_path, "exit", "3", NULL}};
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_process_result r;
    const kiln_status st = kiln_process_run(&a, &o, &r, &err);
    fprintf(stderr, "%s: %s", kiln_status_name(st), err.text);
    kiln_arena_fini(&a);
}

static void says_when_somebody_else_reaped_the_child(void **state) {
    (void)state;
    kiln_test_death child;
    kiln_test_in_child(run_with_ignored_sigchld, NULL, &child);
    assert_non_null(strstr(child.stderr_text, "IO: cannot learn how '"));
    assert_non_null(strstr(child.stderr_text, "ended: No child processes"));
}

static void leaves_no_descriptor_open(void **state) {
    (void)state;
    const int n_open = count_descriptors();
    for (int i = 0; i < 20; i++)
        (void)run(none, "say", "a", "b");
    assert_int_equal(count_descriptors(), n_open);
}

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(argv[1], parts[i].name) == 0)
            return parts[i].play(argv + 2);
    char here[4096];
    if (getcwd(here, sizeof here) == NULL)
        return 1;
    own_path =
        kiln_path_join(kiln_test_arena(), here, argv[0]); /* for other folders too */
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(reports_exit_codes),
        cmocka_unit_test(reports_signals),
        cmocka_unit_test(keeps_the_streams_apart),
        cmocka_unit_test(who_listens_hears_all_of_it),
        cmocka_unit_test(carries_much_data_both_ways),
        cmocka_unit_test(gives_an_end_of_file_without_input),
        cmocka_unit_test(survives_a_child_that_does_not_read),
        cmocka_unit_test(cuts_long_output_but_reads_it_all),
        cmocka_unit_test(kills_after_the_time_limit),
        cmocka_unit_test(kills_what_the_child_leaves_behind),
        cmocka_unit_test(kills_a_child_whose_parent_died),
        cmocka_unit_test(limits_processor_time),
        cmocka_unit_test(sets_limits_in_the_child_only),
        cmocka_unit_test(limits_memory),
        cmocka_unit_test(measures_time_and_memory),
        cmocka_unit_test(gives_the_child_three_descriptors),
        cmocka_unit_test(works_without_stdio),
        cmocka_unit_test(gives_the_child_default_signals_and_a_group),
        cmocka_unit_test(adds_to_the_environment),
        cmocka_unit_test(runs_in_a_folder),
        cmocka_unit_test(looks_in_path),
        cmocka_unit_test(says_when_somebody_else_reaped_the_child),
        cmocka_unit_test(leaves_no_descriptor_open),
    };
    kiln_test_add_tests(plain);
    kiln_test_add_rows(check_start, start_rows);
    return kiln_test_run("process");
}
