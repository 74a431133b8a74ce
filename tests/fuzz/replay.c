/* Runs the saved corpus of a fuzz target without a fuzzer: each crash once found stays
 * a test.
 *
 *   replay_<x> [FILE or FOLDER]...      default: tests/fuzz/corpus/<x>
 *
 * Inputs run in a child that tells the parent, before each one, which is next. So a
 * crash or a hang is reported with the name of its input, and the inputs after it still
 * run. The output has cmocka's shape, one test per program: tests/run.sh counts it like
 * the others.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SECONDS_PER_INPUT =
        20, /* of the processor, sanitized; a fuzzer's limit is 60 by the wall */
};

typedef struct {
    char **path;
    size_t n;
} list;

static void die(const char *what, const char *name) {
    fprintf(stderr, "replay: cannot %s '%s': %s\n", what, name, strerror(errno));
    exit(1);
}

static void add(list *l, const char *folder, const char *name) {
    l->path = realloc(l->path, (l->n + 1) * sizeof *l->path);
    const size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = malloc(bytes);
    if (l->path == NULL || path == NULL)
        die("remember", name);
    snprintf(path, bytes, "%s%s%s", folder, folder[0] == '\0' ? "" : "/", name);
    l->path[l->n++] = path;
}

static void find(list *l, const char *path) {
    struct stat st;
    if (stat(path, &st) != 0)
        die("find", path);
    if (!S_ISDIR(st.st_mode)) {
        add(l, "", path);
        return;
    }
    DIR *dir = opendir(path);
    if (dir == NULL)
        die("open", path);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        if (e->d_name[0] != '.')
            add(l, path, e->d_name);
    }
    closedir(dir);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void run_one(const char *path) {
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (f == NULL || fstat(fileno(f), &st) != 0)
        die("read", path);
    const size_t size = (size_t)st.st_size;
    uint8_t *data = malloc(size); /* exactly: the byte after it is poisoned */
    if ((data == NULL && size > 0) || fread(data, 1, size, f) != size)
        die("read", path);
    fclose(f);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
}

/* By the processor's clock: a machine may have other things to do. */
static void limit_time(int seconds) {
    const struct itimerval t = {.it_value = {.tv_sec = seconds}};
    if (setitimer(ITIMER_PROF, &t, NULL) != 0)
        die("set", "a time limit");
}

/* Runs inputs from `first` on. Returns how many were begun; *status is the child's end.
 */
static size_t run_from(const list *l, size_t first, int *status) {
    int fd[2];
    fflush(stdout);
    if (pipe(fd) != 0)
        die("make", "a pipe");
    const pid_t child = fork();
    if (child < 0)
        die("start", "a child");
    if (child == 0) {
        close(fd[0]);
        for (size_t i = first; i < l->n; i++) {
            if (write(fd[1], "", 1) != 1)
                die("write to", "the parent");
            limit_time(SECONDS_PER_INPUT);
            run_one(l->path[i]);
        }
        limit_time(0);
        exit(0); /* not _exit: leaks are looked for at exit */
    }
    close(fd[1]);
    size_t begun = 0;
    char byte;
    for (ssize_t n = 1; n != 0;) {
        n = read(fd[0], &byte, 1);
        if (n < 0 && errno != EINTR)
            die("read from", "the child");
        if (n > 0)
            begun++;
    }
    close(fd[0]);
    while (waitpid(child, status, 0) < 0) {
        if (errno != EINTR)
            die("wait for", "the child");
    }
    return begun;
}

static int replay(const list *l) {
    int n_failed = 0;
    for (size_t first = 0; first < l->n;) {
        int status = 0;
        first += run_from(l, first, &status);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            break;
        n_failed++;
        const char *input = first == 0 ? "(none)" : l->path[first - 1];
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
            printf("%s: ran longer than %d s\n", input, SECONDS_PER_INPUT);
        else if (WIFSIGNALED(status))
            printf("%s: ended by signal %d\n", input, WTERMSIG(status));
        else /* a sanitizer's report, or leaks after the last input */
            printf("%s: ended with exit code %d\n", input, WEXITSTATUS(status));
        if (first == 0)
            break;
    }
    return n_failed;
}

int main(int argc, char **argv) {
    list l = {NULL, 0};
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash == NULL ? argv[0] : slash + 1;
    if (argc > 1) {
        for (int i = 1; i < argc; i++)
            find(&l, argv[i]);
    } else {
        char folder[256];
        const char *target = strchr(name, '_');
        snprintf(folder, sizeof folder, "tests/fuzz/corpus/%s",
                 target == NULL ? name : target + 1);
        find(&l, folder);
    }
    if (l.n > 0)
        qsort(l.path, l.n, sizeof *l.path, by_name);

    printf("[==========] Running 1 test(s).\n[ RUN      ] %s\n", name);
    int n_failed = 0;
    if (l.n == 0) {
        printf("no input was found; save at least one seed\n");
        n_failed = 1;
    } else {
        n_failed = replay(&l);
    }
    printf("%s %s: %zu inputs, %d failed\n",
           n_failed == 0 ? "[       OK ]" : "[  FAILED  ]", name, l.n, n_failed);
    for (size_t i = 0; i < l.n; i++)
        free(l.path[i]);
    free(l.path);
    return n_failed == 0 ? 0 : 1;
}
