/* Files, golden text and child processes for tests: see kiln_test.h. */
#include "tests/support/kiln_test.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static KILN_VEC(char *) folders;
static pid_t owner; /* children of a test must not remove its folders */

static void remove_folders(void) {
    if (getpid() != owner)
        return;
    for (size_t i = 0; i < folders.n; i++) {
        kiln_err err = {0};
        if (kiln_remove_tree(folders.v[i], &err) != KILN_OK)
            print_error("%s\n", err.text);
    }
}

const char *kiln_test_dir(void) {
    const char *base = getenv("TMPDIR");
    char *path = kiln_path_join(kiln_test_arena(),
                                base == NULL || base[0] == '\0' ? "/tmp" : base,
                                "kiln-test-XXXXXX");
    if (mkdtemp(path) == NULL)
        fail_msg("cannot make '%s': %s", path, strerror(errno));
    if (folders.n == 0) {
        owner = getpid();
        atexit(remove_folders);
    }
    kiln_vec_push(kiln_test_arena(), &folders, path);
    return path;
}

void kiln_test_skip_at(const char *file, int line, const char *fmt, ...) {
    char reason[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(reason, sizeof reason, fmt, args);
    va_end(args);
    print_message("skipped: %s\n", reason);
    _skip(file, line);
}

kiln_process_result kiln_test_shell(const char *script) {
    kiln_err err = {0};
    char root[4096];
    assert_non_null(getcwd(root, sizeof root));
    const char *argv[] = {"sh", "-c", script, root, NULL};
    const kiln_process_options o = {
        .argv = argv, .dir = kiln_test_dir(), .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_process_result got;
    kiln_assert_status_ok(kiln_process_run(kiln_test_arena(), &o, &got, &err), &err);
    return got;
}

const char *kiln_test_find_shared(const char *suffix, const char *file, int line) {
    const char *folder = getenv("KILN_SHARED");
    char *path = kiln_path_join(
        kiln_test_arena(), folder == NULL || folder[0] == '\0' ? "../shared" : folder,
        suffix);
    if (access(path, R_OK) != 0)
        kiln_test_skip_at(file, line, "'%s' is not on this machine", path);
    return path;
}

/* Cuts `text` behind the first line that is exactly `line`; false when there is none.
 */
static bool cut_at_line(kiln_str *text, const char *line, kiln_str *head) {
    kiln_str rest = *text, current;
    while (rest.n > 0) {
        const char *start = rest.p;
        if (!kiln_str_cut(&rest, '\n', &current) || !kiln_str_is(current, line))
            continue;
        *head = (kiln_str){text->p, (size_t)(start - text->p)};
        *text = rest.p == NULL ? (kiln_str){"", 0} : rest;
        return true;
    }
    return false;
}

void kiln_test_golden_read(const char *path, kiln_test_golden *out) {
    enum { MAX_BYTES = 16 * 1024 * 1024 };
    kiln_err err = {0};
    kiln_str text;
    kiln_assert_status_ok(
        kiln_file_map(kiln_test_arena(), path, MAX_BYTES, &text, &err), &err);
    kiln_test_golden g = {.path = path};
    if (!cut_at_line(&text, "", &g.why) || kiln_str_trim(g.why).n == 0)
        fail_msg("'%s' must start with a sentence that says why, and an empty line",
                 path);
    if (!cut_at_line(&text, "---", &g.input))
        fail_msg("'%s' must have a line '---' between input and expected text", path);
    g.want = text;
    *out = g;
}

void kiln_test_golden_check(const kiln_test_golden *g, kiln_str got) {
    kiln_buf text;
    kiln_buf_init(&text, kiln_test_arena());
    kiln_buf_add(&text, got.p, got.n);
    if (got.n > 0 && got.p[got.n - 1] != '\n')
        kiln_buf_puts(&text, "\n");
    const kiln_str ended = kiln_buf_str(&text);

    const char *update = getenv("KILN_GOLDEN_UPDATE");
    if (update != NULL && strcmp(update, "1") == 0) {
        if (kiln_str_eq(ended, g->want))
            return;
        kiln_buf whole;
        kiln_buf_init(&whole, kiln_test_arena());
        kiln_buf_printf(&whole, "%.*s\n%.*s---\n", KILN_STR_ARG(g->why),
                        KILN_STR_ARG(g->input));
        kiln_buf_add(&whole, ended.p, ended.n);
        kiln_err err = {0};
        kiln_assert_status_ok(kiln_file_write(g->path, whole.p, whole.n, &err), &err);
        print_message("rewrote %s\n", g->path);
        return;
    }
    if (!kiln_str_eq(ended, g->want))
        print_error("%s: %.*sKILN_GOLDEN_UPDATE=1 rewrites it\n", g->path,
                    KILN_STR_ARG(g->why));
    kiln_test_check_text(ended, g->want, g->path, 1);
}

static void fail_without_golden(void **state) {
    fail_msg("'%s' has no golden file", (const char *)*state);
}

void kiln_test_add_golden(const char *folder, void (*check)(void **state)) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    char **names = NULL;
    size_t n_names = 0, n_found = 0;
    if (kiln_dir_list(a, folder, &names, &n_names, &err) != KILN_OK)
        print_error("%s\n", err.text);
    for (size_t i = 0; i < n_names; i++) {
        if (!kiln_str_ends(kiln_str_from(names[i]), ".txt"))
            continue;
        kiln_test_add(names[i], check, kiln_path_join(a, folder, names[i]));
        n_found++;
    }
    if (n_found == 0)
        kiln_test_add("has_golden_files", fail_without_golden, kiln_str_dup(a, folder));
}

void kiln_test_in_child(void (*fn)(void *arg), void *arg, kiln_test_death *out) {
    int fd[2];
    assert_int_equal(pipe(fd), 0);
    fflush(NULL); /* or the child would write what is buffered once more */
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(fd[1], STDERR_FILENO);
        close(fd[0]);
        close(fd[1]);
        fn(arg);
        _exit(0); /* no handlers: they belong to the parent */
    }
    close(fd[1]);
    *out = (kiln_test_death){.exit_code = -1};
    size_t n = 0;
    char chunk[1024];
    for (ssize_t got = read(fd[0], chunk, sizeof chunk); got > 0;
         got = read(fd[0], chunk, sizeof chunk)) {
        const size_t room = sizeof out->stderr_text - 1 - n;
        const size_t kept = (size_t)got < room ? (size_t)got : room;
        memcpy(out->stderr_text + n, chunk, kept);
        n += kept;
    }
    close(fd[0]);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status))
        out->exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status))
        out->signal = WTERMSIG(status);
}
