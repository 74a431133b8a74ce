/* What no night asks for: kill -9 at any moment, a full disk, two nights at once, a
 * clock that is set back, a history that is damaged. Nothing that was accepted or
 * appended is lost, nothing stays lying around, and each message tells what to do. */
#include "pipeline/gate/gate.h"
#include "tests/support/program/cli_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_WORDS = 12, NO_LIMIT = 0 };

static const char *dir; /* one for all */

static const char *at(const char *name) {
    return kiln_path_join(kiln_test_arena(), dir, name);
}

/* ---- running kiln ---------------------------------------------------------------- */

/* In its own folder, its words to said.txt; file_bytes: as large as files may be. */
static pid_t start(const char *const *words, rlim_t file_bytes) {
    const char *kiln = getenv("KILN");
    char *argv[MOST_WORDS + 2] = {NULL};
    if (kiln == NULL)
        kiln_test_skip("KILN does not name the kiln program: 'make e2e'");
    argv[0] = kiln_str_dup(kiln_test_arena(), kiln);
    for (int i = 0; i < MOST_WORDS && words[i] != NULL; i++)
        argv[i + 1] = kiln_str_dup(kiln_test_arena(), words[i]);
    fflush(NULL);
    (void)unlink(at("said.txt")); /* what was said before is not said again */
    const pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit limit = {file_bytes, file_bytes};
        if (chdir(dir) != 0 || freopen("said.txt", "w", stdout) == NULL ||
            dup2(STDOUT_FILENO, STDERR_FILENO) < 0 ||
            (file_bytes != NO_LIMIT && setrlimit(RLIMIT_FSIZE, &limit) != 0))
            _exit(126);
        execv(kiln, argv);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

static int end_of(pid_t pid) {
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define RUN(...) end_of(start((const char *const[]){__VA_ARGS__, NULL}, NO_LIMIT))

static const char *said(void) {
    kiln_str text = {"", 0};
    kiln_err err = {0};
    if (kiln_file_exists(at("said.txt")))
        kiln_assert_status_ok(
            kiln_file_map(kiln_test_arena(), at("said.txt"), 0, &text, &err), &err);
    return kiln_str_dupv(kiln_test_arena(), text);
}

static void must(int code, int want, const char *text) {
    if (code != want || (text != NULL && strstr(said(), text) == NULL))
        fail_msg("exit code %d, must be %d with '%s':\n%s", code, want,
                 text != NULL ? text : "", said());
}

/* ---- what must hold at any moment ------------------------------------------------ */

static int n_left; /* temporary names */

static void count_left(const char *folder) {
    char **names = NULL;
    size_t n = 0;
    struct stat st;
    if (kiln_dir_list(kiln_test_arena(), folder, &names, &n, NULL) != KILN_OK)
        return;
    for (size_t i = 0; i < n; i++) {
        const char *path = kiln_path_join(kiln_test_arena(), folder, names[i]);
        if (kiln_str_starts(kiln_str_from(names[i]), ".kiln-") ||
            kiln_str_starts(kiln_str_from(names[i]), "kiln-") ||
            strcmp(names[i], "tmp") == 0) {
            print_message("left: %s\n", path);
            n_left++;
        }
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            count_left(path);
    }
}

static void nothing_is_left(const char *folder) {
    n_left = 0;
    count_left(at(folder));
    assert_int_equal(n_left, 0);
}

/* What a list names is there, each byte of it. */
static size_t holds_what_it_lists(const char *folder) {
    kiln_arena *a = kiln_test_arena();
    kiln_accepted_list list = {.folder = NULL};
    kiln_err err = {0};
    if (!kiln_file_exists(kiln_path_join(a, at(folder), "accepted.json")))
        return 0;
    kiln_assert_status_ok(kiln_accepted_read(a, at(folder), &list, &err), &err);
    for (size_t i = 0; i < list.now.n; i++) {
        kiln_str bytes;
        char hex[KILN_SHA256_HEX];
        const char *path = kiln_path_join(a, at(folder), list.now.v[i].file);
        kiln_assert_status_ok(kiln_file_map(a, path, 0, &bytes, &err), &err);
        kiln_sha256_of(bytes.p, bytes.n, hex);
        assert_string_equal(hex, list.now.v[i].sha256);
    }
    return list.now.n;
}

static void history_is_sound(const char *nights) {
    must(RUN("history", "check", "history.db"), 0, "0 problems");
    must(RUN("history", "list", "history.db"), 0, nights);
}

static void wait_a_moment(kiln_rng *rng, int longest_ms) {
    poll(NULL, 0, (int)(kiln_rng_next(rng) % (uint64_t)longest_ms));
}

static kiln_str bytes_of(const char *name) {
    kiln_str bytes = {"", 0};
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), at(name), 0, &bytes, &err),
                          &err);
    return (kiln_str){kiln_arena_dup(kiln_test_arena(), bytes.p, bytes.n), bytes.n};
}

/* ---- build ----------------------------------------------------------------------- */

/* The folders of its model and of its archive too: those that asked politely find them
 * gone, what SIGKILL leaves goes with the next build. */
static void what_killed_builds_leave_goes(void **state) {
    (void)state;
    static const char *const words[] = {"build", "zoo:dqn",       "--profile", "native",
                                        "-o",    "built/dqn.zst", NULL};
    static const int with[] = {SIGINT, SIGHUP, SIGTERM, SIGKILL};
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed() + 2);
    assert_int_equal(mkdir(at("built"), 0700), 0);
    const int kills = getenv("KILN_SOAK") != NULL ? 100 : 4; /* once by each */
    for (int i = 0; i < kills; i++) {
        const pid_t pid = start(words, NO_LIMIT);
        wait_a_moment(&rng, 700);
        (void)kill(pid, with[i % 4]);
        (void)end_of(pid);
        if (with[i % 4] == SIGKILL)
            must(end_of(start(words, NO_LIMIT)), 0, NULL);
        nothing_is_left("built");
        nothing_is_left("tmp-of-kiln");
    }
}

/* ---- accept ---------------------------------------------------------------------- */

/* Two archives for one place, accepted in turn, and killed in turn: at each moment what
 * the list names is what lies there, and what was accepted stays until another is. */
static void killed_acceptances_lose_nothing(void **state) {
    (void)state;
    static const char *const archive[] = {"one.kiln.tar.zst", "two.kiln.tar.zst"};
    kiln_rng rng;
    size_t n = 0;
    kiln_rng_init(&rng, kiln_test_seed());
    must(RUN("accept", archive[0], "--to", "killed", "--trust"), 0, NULL);
    for (int i = 0; i < kiln_test_times(4, 400); i++) {
        const char *const words[] = {
            "accept", archive[(i + 1) % 2], "--to", "killed", "--trust", NULL};
        const pid_t pid = start(words, NO_LIMIT);
        wait_a_moment(&rng, 120);
        (void)kill(pid, SIGKILL);
        n += end_of(pid) == 0;
        assert_int_equal(holds_what_it_lists("killed"), 1);
    }
    print_message("%zu of them were faster\n", n);
    must(RUN("accept", archive[0], "--to", "killed", "--trust"), 0, NULL);
    must(RUN("accept", archive[1], "--to", "killed", "--trust"), 0, NULL);
    assert_int_equal(holds_what_it_lists("killed"), 1);
    nothing_is_left("killed");
    nothing_is_left("tmp-of-kiln");
}

static void a_full_disk_accepts_nothing(void **state) {
    (void)state;
    const char *const words[] = {"accept", "two.kiln.tar.zst", "--to",
                                 "full",   "--trust",          NULL};
    must(RUN("accept", "one.kiln.tar.zst", "--to", "full", "--trust"), 0, NULL);
    const kiln_str before = bytes_of("full/accepted.json");
    for (rlim_t limit = 2048; limit < bytes_of("two.kiln.tar.zst").n; limit *= 2) {
        must(end_of(start(words, limit)), 4, "File too large");
        assert_true(kiln_str_eq(before, bytes_of("full/accepted.json")));
        assert_int_equal(holds_what_it_lists("full"), 1);
        nothing_is_left("full");
    }
    must(RUN("accept", "two.kiln.tar.zst", "--to", "full", "--trust"), 0, NULL);
    assert_int_equal(holds_what_it_lists("full"), 1);
}

/* Short answers too: a script must not take nothing for an answer. */
static void a_full_disk_is_said(void **state) {
    (void)state;
    static const char *const verb[] = {"--help",   "--version",    "build --help",
                                       "zoo list", "profile list", "doctor"};
    const char *kiln = getenv("KILN");
    struct stat st;
    for (size_t i = 0; kiln != NULL && i < sizeof verb / sizeof verb[0]; i++) {
        const char *command =
            kiln_format(kiln_test_arena(), "'%s' %s > /dev/full 2> '%s'", kiln, verb[i],
                        at("said.txt"));
        must(WEXITSTATUS(system(command)), 4, "No space left on device");
    }
    must(RUN("zoo", "list", "--json", "/dev/full"), 4, "make room there");
    must(RUN("zoo", "list", "--json", "/dev/stdout"), 0, "\"parameters\"");
    assert_true(lstat("/dev/full", &st) == 0 && S_ISCHR(st.st_mode));
}

/* ---- nights ---------------------------------------------------------------------- */

/* In this order; each test leaves whole nights. */
static const char *next_nights(int more) {
    static int n;
    n += more;
    return kiln_format(kiln_test_arena(), "\n%d night%s, ", n, n == 1 ? "" : "s");
}

static void a_night_and_what_it_accepts(void **state) {
    (void)state;
    must(RUN("nightly", "p.json"), 0, "verdict: new");
    must(RUN("accept", "out/latest", "--to", "acc"), 0, NULL);
    must(RUN("nightly", "p.json"), 0, "verdict: equal");
    history_is_sound(next_nights(2));
    nothing_is_left("out");
}

static void killed_nights_go_on(void **state) {
    (void)state;
    static const char *const words[] = {"nightly", "p.json", NULL};
    kiln_rng rng;
    const kiln_str accepted = bytes_of("acc/accepted.json");
    kiln_rng_init(&rng, kiln_test_seed() + 1);
    int n_ended = 0;
    for (int i = 0; i < kiln_test_times(2, 80); i++) {
        const pid_t pid = start(words, NO_LIMIT);
        wait_a_moment(&rng, 1500);
        (void)kill(pid, SIGKILL);
        n_ended += end_of(pid) == 0;
        assert_int_equal(holds_what_it_lists("acc"), 1);
    }
    /* One of them may have ended but for its exit code. */
    must(RUN("nightly", "p.json"), 0, "verdict: equal");
    must(RUN("history", "check", "history.db"), 0, "0 problems");
    must(RUN("history", "list", "history.db"), 0, NULL);
    int n_nights = 0;
    const char *list = said(), *counted = strstr(list, " nights, ");
    assert_non_null(counted);
    while (counted > list && counted[-1] != '\n')
        counted--;
    n_nights = (int)strtol(counted, NULL, 10);
    if (n_nights < 2 + n_ended + 1 || n_nights > 2 + n_ended + 2)
        fail_msg("%d nights, %d ended before the last", n_nights - 2, n_ended);
    (void)next_nights(n_nights - 2);
    assert_true(kiln_str_eq(accepted, bytes_of("acc/accepted.json")));
    nothing_is_left("out");
}

/* A night that stands still in its middle; *n_ended: how many were over before. */
static pid_t stopped_night(int *n_ended) {
    static const char *const words[] = {"nightly", "p.json", NULL};
    for (*n_ended = 0;; ++*n_ended) {
        siginfo_t end = {.si_pid = 0};
        const pid_t pid = start(words, NO_LIMIT);
        while (strstr(said(), "1 of 4") == NULL) /* it has the lock */
            poll(NULL, 0, 5);
        assert_int_equal(kill(pid, SIGSTOP), 0);
        assert_int_equal(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT),
                         0);
        if (end.si_pid != pid)
            return pid;
        assert_int_equal(end_of(pid), 0);
    }
}

static void two_at_once_are_one(void **state) {
    (void)state;
    int n_ended = 0;
    const pid_t first = stopped_night(&n_ended);
    const kiln_str before = bytes_of("said.txt");
    must(RUN("nightly", "p.json"), 4, "is at work in '");
    assert_non_null(
        strstr(said(), "wait for its end, or name another folder by --out"));
    assert_non_null(
        strstr(said(), kiln_format(kiln_test_arena(), "process %ld, ", (long)first)));
    assert_true(before.n > 0);
    assert_int_equal(kill(first, SIGCONT), 0);
    assert_int_equal(end_of(first), 0);
    history_is_sound(next_nights(1 + n_ended));
}

/* Nothing grows past some kilobytes: a stage fails, or the night; then there is room.
 */
static void a_full_disk_costs_no_night(void **state) {
    (void)state;
    static const char *const words[] = {"nightly", "p.json", NULL};
    for (rlim_t limit = 256; limit <= 16384; limit *= 8) {
        const int code = end_of(start(words, limit));
        if (code != 1 && code != 4)
            must(code, 4, NULL);
        if (strstr(said(), "File too large") == NULL &&
            strstr(said(), "than files may be here") == NULL &&
            strstr(said(), "disk I/O error") == NULL)
            fail_msg("no reason:\n%s", said());
        assert_int_equal(holds_what_it_lists("acc"), 1);
        must(RUN("history", "check", "history.db"), 0, "0 problems");
    }
    must(RUN("nightly", "p.json", "--new"), 0, "verdict: equal");
    must(RUN("history", "check", "history.db"), 0, "0 problems");
    nothing_is_left("out");
}

/* Begins a night of clock.json and kills it in the middle. How many ended before that. */
static int begin_clock_night(void) {
    static const char *const words[] = {"nightly", "clock.json", NULL};
    for (int n_ended = 0;; n_ended++) {
        /* Nights are named by the second that they begin in. */
        (void)poll(NULL, 0, 1001);
        const pid_t pid = start(words, NO_LIMIT);
        while (strstr(said(), "2 of ") == NULL)
            poll(NULL, 0, 5);
        (void)kill(pid, SIGKILL);
        if (end_of(pid) == 128 + SIGKILL)
            return n_ended;
    }
}

/* A run of tomorrow is there when the clock is set back: an interrupted one goes on all
 * the same, and the order of nights is that in which they ended. */
static void a_clock_set_back_loses_no_run(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    char name[256] = "";
    must(RUN("nightly", "clock.json"), 0, "verdict: ");
    const ssize_t n = readlink(at("clock/latest"), name, sizeof name - 1);
    assert_true(n > 0);
    const char *future = "clock/2099-01-01T00-00-00";
    assert_int_equal(rename(at(kiln_format(a, "clock/%s", name)), at(future)), 0);
    for (int i = 0; i < 2; i++) {
        const char *link = at(i == 0 ? "clock/latest" : "clock/current");
        assert_int_equal(unlink(link), 0);
        assert_int_equal(symlink(kiln_path_base(future), link), 0);
    }
    const int n_nights = 2 + begin_clock_night();
    must(RUN("nightly", "clock.json"), 0, "before");
    must(RUN("history", "check", "clock/history.db"), 0, "0 problems");
    must(RUN("history", "list", "clock/history.db"), 0,
         kiln_format(a, "\n%d nights, ", n_nights));
}

/* ---- a damaged history ----------------------------------------------------------- */

typedef struct damage {
    const char *name;
    const char *shell; /* in the folder */
} damage;

static damage damages[] = {
    {"a_history_that_is_a_text", "echo not a database at all, but long > h.db"},
    {"a_history_of_zeros", "head -c 8192 /dev/zero > h.db"},
    {"a_history_cut_short", "head -c 6000 h.db > x && cat x > h.db"},
    {"a_history_of_another_program",
     "head -c 60 h.db > x && printf 'abcd' >> x && tail -c +65 h.db >> x && "
     "printf 'XXXX' | dd of=x bs=1 seek=68 conv=notrunc 2>/dev/null && cat x > h.db"},
};

/* Of a pipeline of its own, so that the folders of all its nights are there. */
static void two_nights_to_damage(void **state) {
    (void)state;
    must(RUN("nightly", "h.json"), 0, "verdict: ");
    must(RUN("nightly", "h.json", "--new"), 0, "verdict: ");
}

/* The night's results are there, it says that its history is not, and by what commands
 * all of it comes back. */
static void history_is_damaged(void **state) {
    static int n_nights = 2;
    const damage *d = *state;
    kiln_arena *a = kiln_test_arena();
    assert_int_equal(system(kiln_format(a, "cd '%s' && %s", dir, d->shell)), 0);
    must(RUN("nightly", "h.json", "--new"), 1, "kiln history add");
    n_nights++;
    if (strstr(said(), "move it away, or bring back the copy") == NULL)
        must(1, 1, "or move this one away");
    assert_true(kiln_file_exists(at("h/latest/results.json")));
    assert_int_equal(rename(at("h.db"), at("h.damaged")), 0);
    const char *add =
        kiln_format(a, "cd '%s' && '%s' history add h.db $(ls -d h/2*) > said.txt 2>&1",
                    dir, getenv("KILN"));
    must(WEXITSTATUS(system(add)), 0, NULL);
    must(RUN("history", "check", "h.db"), 0, "0 problems");
    must(RUN("history", "list", "h.db"), 0, kiln_format(a, "\n%d nights, ", n_nights));
}

/* ---- places ---------------------------------------------------------------------- */

static void write_pipeline(const char *name, const char *out, const char *history,
                           const char *more) {
    const char *model = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_path_real(kiln_test_arena(),
                                         "demo/samplenet/samplenet.onnx", &model, &err),
                          &err);
    const char *text = kiln_format(
        kiln_test_arena(),
        "{\"models\": [{\"name\": \"a\", \"source\": \"%s\", \"tune\": null}], "
        "\"bench\": {\"rounds\": 2}, \"out\": \"%s\", \"db\": \"t.db\", "
        "\"history\": \"%s\"%s}",
        model, out, history, more);
    kiln_assert_status_ok(kiln_file_write(at(name), text, strlen(text), &err), &err);
}

static void make_archives(void **state) {
    (void)state;
    const char *model = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_path_real(kiln_test_arena(),
                                         "demo/samplenet/samplenet.onnx", &model, &err),
                          &err);
    must(RUN("build", model, "--profile", "native", "-o", "one.kiln.tar.zst"), 0, NULL);
    must(RUN("build", model, "--profile", "native", "--version", "2", "-o",
             "two.kiln.tar.zst"),
         0, NULL);
}

int main(void) {
    kiln_test_own_home();
    dir = kiln_test_dir();
    if (mkdir(at("tmp-of-kiln"), 0700) != 0 ||
        setenv("TMPDIR", at("tmp-of-kiln"), 1) != 0)
        return 1;
    write_pipeline("p.json", "out", "history.db",
                   ", \"gate\": {\"accepted\": \"acc\"}");
    write_pipeline("clock.json", "clock", "clock/history.db", "");
    write_pipeline("h.json", "h", "h.db", "");
    kiln_test_add("make_archives", make_archives, NULL);
    kiln_test_add("what_killed_builds_leave_goes", what_killed_builds_leave_goes, NULL);
    kiln_test_add("killed_acceptances_lose_nothing", killed_acceptances_lose_nothing,
                  NULL);
    kiln_test_add("a_full_disk_accepts_nothing", a_full_disk_accepts_nothing, NULL);
    kiln_test_add("a_full_disk_is_said", a_full_disk_is_said, NULL);
    kiln_test_add("a_night_and_what_it_accepts", a_night_and_what_it_accepts, NULL);
    kiln_test_add("killed_nights_go_on", killed_nights_go_on, NULL);
    kiln_test_add("two_at_once_are_one", two_at_once_are_one, NULL);
    kiln_test_add("a_full_disk_costs_no_night", a_full_disk_costs_no_night, NULL);
    kiln_test_add("a_clock_set_back_loses_no_run", a_clock_set_back_loses_no_run, NULL);
    kiln_test_add("two_nights_to_damage", two_nights_to_damage, NULL);
    kiln_test_add_rows(history_is_damaged, damages);
    return kiln_test_run("disasters");
}
