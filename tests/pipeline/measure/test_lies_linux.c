/* Kernels that lie (lies.def): none is taken for a good one, and nothing outside of
 * them is touched: no file, no process, no port, no other candidate; as who runs the
 * tests, and where that is root, as nobody too. This program is also the builder that
 * makes them, and what gives a runner to nobody:
 *
 *     test_lies_linux --builder OBJECT      a work's name says which function of it
 *     test_lies_linux --as-nobody PROGRAM
 *
 * KILN_SOAK=1: as nobody everything, not the system's part alone. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipeline/measure/builder/builder.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"

enum { ROWS = 64, COLUMNS = 33, PORT = 47115, NOBODY = 65534 };

/* How a lie must end; more than a kiln_trial_error. */
enum { ANY = -1, SYSTEM = -2, ON_STACK = -3 };
enum {
    WRONG = KILN_TRIAL_WRONG,
    TIMEOUT = KILN_TRIAL_TIMEOUT,
    CRASH = KILN_TRIAL_CRASH,
    RETURNED = KILN_TRIAL_RETURNED,
    OUT_OF_BOUNDS = KILN_TRIAL_OUT_OF_BOUNDS,
    FORBIDDEN = KILN_TRIAL_FORBIDDEN /* confined or not */
};

static const struct lie {
    const char *name;
    int threads, want;
} lies[] = {
#define LIE(name, threads, wants) {#name, threads, wants},
#include "tests/pipeline/measure/lies.def"
#undef LIE
};
enum { N_LIES = sizeof lies / sizeof lies[0] };
static const struct lie none = {"not_at_all", 1, KILN_TRIAL_GOOD};

static const char *self, *object;

/* ---- the builder ----------------------------------------------------------------- */

static kiln_status make_lie(kiln_arena *a, const kiln_op_work *w,
                            const kiln_choice *choice, const kiln_profile *p,
                            kiln_kernel *out, kiln_err *err) {
    kiln_choice guess = *choice;
    guess.config = choice->tmpl->guess(&w->workload, p, &choice->space);
    KILN_TRY(kiln_kernel_make_listed(a, w, &guess, p, out, err));
    kiln_program *lie = kiln_arena_dup(a, out->program, sizeof *lie);
    lie->name = kiln_format(a, "lie_%s", w->name);
    out->program = lie;
    return kiln_file_map(a, object, 0, &out->object.bytes, err);
}

static void compile_lies(kiln_arena *a, const char *sandbox, const char *to) {
    const char *const more[] = {"-D_GNU_SOURCE",
                                kiln_format(a, "-DLIE_ELEMS=%d", ROWS * COLUMNS),
                                kiln_format(a, "-DSANDBOX=\"%s\"", sandbox),
                                kiln_format(a, "-DPORT=%d", PORT), NULL};
    kiln_test_compile_bare(a, "tests/pipeline/measure/lying_kernels_linux.c", to, more);
}

/* ---- what must not be touched ---------------------------------------------------- */

static const char *const files[] = {"a", "b"};

/* Open to everybody: it is not the system's permissions that keep it. */
static void fill_sandbox(kiln_arena *a, const char *dir) {
    kiln_err err = {0};
    assert_int_equal(chmod(dir, 0777), 0);
    for (int i = 0; i < 2; i++) {
        const char *path = kiln_path_join(a, dir, files[i]);
        kiln_assert_status_ok(kiln_file_write(path, files[i], 1, &err), &err);
        assert_int_equal(chmod(path, 0666), 0);
    }
}

static void check_sandbox(kiln_arena *a, const char *dir) {
    kiln_err err = {0};
    DIR *d = opendir(dir);
    int n = 0;
    assert_non_null(d);
    while (readdir(d) != NULL)
        n++;
    (void)closedir(d);
    assert_int_equal(n, 2 + 2); /* . and .. */
    for (int i = 0; i < 2; i++) {
        kiln_str text;
        struct stat st;
        const char *path = kiln_path_join(a, dir, files[i]);
        kiln_assert_status_ok(kiln_file_map(a, path, 0, &text, &err), &err);
        assert_true(kiln_str_is(text, files[i]));
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0666);
    }
}

static void check_port(void) {
    const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const void *)&address, sizeof address), 0);
    close(fd);
}

/* This process is the reaper of all below it. */
static void check_processes(void) {
    errno = 0;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* ---- the tests ------------------------------------------------------------------- */

typedef struct as {
    const char *name;
    bool as_nobody;
    int threads;
} as;

static as runs[] = {
    {"accepts_no_lie", false, 1},
    {"accepts_no_lie_of_two_threads", false, 2},
    {"accepts_no_lie_as_nobody", true, 1},
};

static void submit(kiln_arena *a, kiln_measure *m, const kiln_profile *p,
                   const struct lie *l) {
    kiln_err err = {0};
    uint64_t id;
    void *user;
    const char *line = kiln_format(a, "relu %s in=f32[%d,%d]", l->name, ROWS, COLUMNS);
    const kiln_test_work w = kiln_test_measure_add(a, m, p, line, false);
    memcpy(&user, &l, sizeof user); /* a round trip through the fleet */
    const kiln_measure_candidate c = {.work = w.id, .tmpl = w.tmpl, .user = user};
    kiln_assert_status_ok(kiln_measure_submit(m, &c, &id, &err), &err);
}

/* False: it was taken for a good one. */
static bool check(const kiln_measured *got, const struct lie *l, bool is_confined) {
    const int want = l->want == SYSTEM && is_confined ? KILN_TRIAL_FORBIDDEN
                     : l->want == ON_STACK            ? KILN_TRIAL_OUT_OF_BOUNDS
                                                      : l->want;
    const bool is_right = want >= 0 ? (int)got->error == want
                                    : got->error != KILN_TRIAL_GOOD &&
                                          got->error != KILN_TRIAL_SLOW &&
                                          got->error != KILN_TRIAL_LOST;
    if (!is_right)
        print_error("%s: is '%s' (%s)\n", l->name, kiln_trial_error_name(got->error),
                    got->text);
    return is_right;
}

static bool is_asked(const as *run, const struct lie *l, bool is_confined) {
    if (l->threads > run->threads || (run->threads > 1 && l->threads == 1))
        return false;
    if (l->want == SYSTEM)
        return is_confined;
    if (l->want == ON_STACK && kiln_test_is_sanitized())
        return false;
    return !run->as_nobody || getenv("KILN_SOAK") != NULL;
}

static kiln_measure *open_pool(kiln_arena *a, const as *run, const char *to,
                               int64_t limit_ms, kiln_measure_options *o) {
    const char **argv = kiln_array(a, const char *, 4);
    argv[0] = self;
    argv[1] = "--builder";
    argv[2] = to;
    *o = (kiln_measure_options){.threads = run->threads,
                                .builder_argv = argv,
                                .budget_ms = 5,
                                .run_limit_ms = limit_ms,
                                .loser = -1,
                                .measures_spilling = true};
    if (!run->as_nobody)
        return kiln_test_measure_open(a, o);
    const char **nobody = kiln_array(a, const char *, 4);
    nobody[0] = self;
    nobody[1] = "--as-nobody";
    nobody[2] = kiln_test_worker(a, "kiln-runner")[0];
    o->runner_argv = nobody;
    return kiln_test_measure_open(a, o);
}

/* What was found of all of them, and of one that is none. */
typedef struct verdicts {
    bool is_judged[N_LIES + 1];
    int n, n_wrong, n_hurried; /* the last: ended too early to be judged */
} verdicts;

static const struct lie *lie_at(int i) { return i < N_LIES ? &lies[i] : &none; }

/* A machine where what does not hang takes longer than that. */
static bool is_hurried(const kiln_measured *got, const struct lie *l,
                       int64_t limit_ms) {
    return got->error == KILN_TRIAL_TIMEOUT && l->want != TIMEOUT && l->want != ANY &&
           limit_ms < KILN_TEST_PATIENCE_MS;
}

/* Those that are not judged yet, by a fleet of their own. */
static void judge(kiln_arena *a, const as *run, const char *to, int64_t limit_ms,
                  verdicts *v) {
    kiln_measure_options o;
    kiln_measure *m = open_pool(a, run, to, limit_ms, &o);
    const bool is_confined = kiln_measure_count(m).is_confined;
    int n = 0;
    if (!is_confined)
        print_message("not confined here: what asks the system is left out\n");
    for (int i = 0; i <= N_LIES; i++) /* the one that is none after all the others */
        if (!v->is_judged[i] && (i == N_LIES || is_asked(run, &lies[i], is_confined))) {
            submit(a, m, o.profile, lie_at(i));
            n++;
        }
    v->n_hurried = 0;
    for (; n > 0; n--) {
        kiln_measured got;
        assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &got));
        const struct lie *l = got.user;
        if (is_hurried(&got, l, limit_ms)) {
            v->n_hurried++;
            continue;
        }
        v->is_judged[l == &none ? N_LIES : (int)(l - lies)] = true;
        v->n += l != &none;
        v->n_wrong += !check(&got, l, is_confined);
    }
    assert_int_equal(kiln_measure_count(m).runners_started, 1);
    kiln_measure_close(m);
}

static void accepts_none(void **state) {
    enum { FIRST_LIMIT_MS = 1000, TIMES = 4 };
    const as *run = *state;
    kiln_arena a = {0};
    verdicts v = {.n = 0};
    if (run->as_nobody && geteuid() != 0)
        kiln_test_skip("only root can become nobody");
    const char *sandbox = kiln_test_dir();
    const char *to = kiln_path_join(&a, kiln_test_dir(), "lies.o");
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    fill_sandbox(&a, sandbox);
    compile_lies(&a, sandbox, to);
    int64_t limit_ms = FIRST_LIMIT_MS;
    do {
        judge(&a, run, to, limit_ms, &v);
        limit_ms *= TIMES;
    } while (v.n_hurried > 0);
    assert_int_equal(v.n_wrong, 0);
    check_sandbox(&a, sandbox);
    check_port();
    check_processes();
    print_message("%d lies, none accepted\n", v.n);
    kiln_arena_fini(&a);
}

static void has_eighty_kinds(void **state) {
    (void)state;
    assert_true(N_LIES >= 80);
}

static int as_nobody(char **argv) {
    if (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        return 1;
    (void)execv(argv[2], argv + 2);
    return 1;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--builder") == 0) {
        object = argv[2];
        return kiln_builder_main(make_lie);
    }
    if (argc == 3 && strcmp(argv[1], "--as-nobody") == 0)
        return as_nobody(argv);
    self = argv[0];
    kiln_test_add("has_eighty_kinds", has_eighty_kinds, NULL);
    kiln_test_add_rows(accepts_none, runs);
    return kiln_test_run("lies");
}
