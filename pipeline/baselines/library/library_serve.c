/* The program of a library: it makes one operator ready, and times itself.
 *
 * Requests and answers are JSON, one line each; an answer with "problem" is a refusal.
 *
 *     {"do": "load", "operator": {...}, "inputs": [{"name": TEXT, "file": NPY}...],
 *      "outputs": [{"name": TEXT, "file": NPY}]}     runs once, writes the output; the
 *                          answer may say which "implementation" the library chose.
 *                          The operator is what kiln_library_op_put writes.
 *     {"do": "run", "runs": R}     one run that is not timed, then R that are:
 *                                  {"wall_ns", "cpu_ns" (of all threads; 0: a device's
 *                                  clock timed them), "preempted"}
 *
 * An answer to "run" comes when the library's threads have stopped spinning, so that
 * whoever comes next has the processors to itself. */
#include "pipeline/baselines/library/library.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "compiler/frontend/frontend.h"

enum { MAX_LINE = 1 << 20, MAX_THREADS = 1024 };

typedef struct server {
    const kiln_library *library;
    kiln_arena *arena; /* of the process */
    int threads, answers;
    bool is_ready;
    kiln_library_ready ready;
    char line[MAX_LINE];
    size_t n_line;
} server;

/* ---- clocks ---------------------------------------------------------------------- */

static int64_t process_ns(void) {
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t n_preempted(void) {
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) == 0 ? (int64_t)u.ru_nivcsw : 0;
}

/* Is a thread of this process that is not the calling one running? By the third field
 * of its stat, behind the name in brackets. The process's CPU time does not tell: the
 * kernel adds what a thread on another processor does only at its next tick. */
static bool is_busy(kiln_arena *a, const char *id) {
    char text[256];
    const char *path = kiln_format(a, "/proc/self/task/%s/stat", id);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) /* it has ended */
        return false;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *state = strrchr(text, ')');
    return state != NULL && strncmp(state, ") R", 3) == 0;
}

static kiln_status count_busy(int *n_busy, kiln_err *err) {
    kiln_arena a = {0};
    char **id;
    size_t n;
    const char *own = kiln_format(&a, "%d", (int)getpid());
    const kiln_status st = kiln_dir_list(&a, "/proc/self/task", &id, &n, err);
    *n_busy = 0;
    for (size_t i = 0; st == KILN_OK && i < n; i++)
        *n_busy += strcmp(id[i], own) != 0 && is_busy(&a, id[i]);
    kiln_arena_fini(&a);
    return st;
}

/* Waits until this process does nothing: threads spin for a while after a run, GNU
 * OpenMP's for 5 ms. */
static kiln_status settle(const server *s, kiln_err *err) {
    const struct timespec tick = {.tv_nsec = 1000000};
    const int64_t end = kiln_now_ns() + 2000000000;
    int n_busy;
    if (s->library->rest != NULL)
        s->library->rest(&s->ready);
    do {
        (void)nanosleep(&tick, NULL);
        KILN_TRY(count_busy(&n_busy, err));
        if (n_busy == 0)
            return KILN_OK;
    } while (kiln_now_ns() < end);
    return kiln_fail(err, KILN_ERR_LIB, "threads still work 2 s after a run");
}

/* ---- requests -------------------------------------------------------------------- */

static kiln_status read_inputs(server *s, const kiln_json *list, kiln_library_op *op,
                               kiln_err *err) {
    const kiln_json *in = kiln_json_first(list);
    for (int i = 0; i < op->n_in; i++, in = kiln_json_next(in)) {
        kiln_library_tensor *t = &op->in[i];
        kiln_tensor value;
        const char *file = kiln_json_string(kiln_json_get(in, "file"), "");
        KILN_TRY(kiln_tensor_read_npy(s->arena, file, &value, err));
        /* A bias may come with axes of length 1 around it. */
        if (value.type.dtype != t->value.type.dtype ||
            kiln_type_elems(&value.type) != kiln_type_elems(&t->value.type))
            return kiln_fail(err, KILN_ERR_PARSE,
                             "'%s' is not what the operator says of '%s'", file,
                             t->name);
        t->value.data = value.data;
    }
    return KILN_OK;
}

static kiln_status load(server *s, const kiln_json *request, kiln_json_writer *w,
                        kiln_err *err) {
    kiln_library_op op;
    const kiln_json *to = kiln_json_first(kiln_json_get(request, "outputs"));
    const char *file = kiln_json_string(kiln_json_get(to, "file"), NULL);
    if (file == NULL)
        return kiln_fail(err, KILN_ERR_PARSE, "no file is named for the output");
    KILN_TRY(
        kiln_library_op_get(s->arena, kiln_json_get(request, "operator"), &op, err));
    if (op.out.dtype != KILN_F32 && !s->library->takes_f16)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED, "it is asked for f32 alone, not %s",
                         kiln_dtype_name(op.out.dtype));
    KILN_TRY(read_inputs(s, kiln_json_get(request, "inputs"), &op, err));
    KILN_TRY(s->library->prepare(s->arena, &op, s->threads, &s->ready, err));
    KILN_TRY(s->library->run(&s->ready, err));
    kiln_tensor out = kiln_tensor_new(s->arena, &op.out);
    KILN_TRY(s->library->read(&s->ready, &out, err));
    KILN_TRY(kiln_tensor_write_npy(file, &out, err));
    s->is_ready = true;
    kiln_json_member_str(w, "implementation", s->ready.implementation);
    return settle(s, err);
}

/* The device's clock knows nothing of who has the processors. */
static kiln_status sample_device(server *s, int64_t runs, kiln_json_writer *w,
                                 kiln_err *err) {
    int64_t ns, sum = 0;
    for (int64_t i = 0; i < runs; i++) {
        KILN_TRY(s->library->time(&s->ready, &ns, err));
        sum += ns;
    }
    kiln_json_member_i64(w, "wall_ns", sum > 0 ? sum : 1);
    kiln_json_member_i64(w, "cpu_ns", 0);
    kiln_json_member_i64(w, "preempted", 0);
    return settle(s, err);
}

static kiln_status sample(server *s, const kiln_json *request, kiln_json_writer *w,
                          kiln_err *err) {
    int64_t runs;
    if (!s->is_ready)
        return kiln_fail(err, KILN_ERR_PARSE, "nothing was loaded");
    if (!kiln_json_i64(kiln_json_get(request, "runs"), &runs) || runs < 1)
        return kiln_fail(err, KILN_ERR_PARSE, "'runs' must be a number from 1");
    KILN_TRY(s->library->run(&s->ready, err));
    if (s->library->time != NULL)
        return sample_device(s, runs, w, err);
    const int64_t preempted = n_preempted(), cpu = process_ns(), wall = kiln_now_ns();
    for (int64_t i = 0; i < runs; i++)
        KILN_TRY(s->library->run(&s->ready, err));
    const int64_t wall_ns = kiln_now_ns() - wall, cpu_ns = process_ns() - cpu;
    kiln_json_member_i64(w, "wall_ns", wall_ns > 0 ? wall_ns : 1);
    kiln_json_member_i64(w, "cpu_ns", cpu_ns);
    kiln_json_member_i64(w, "preempted", n_preempted() - preempted);
    return settle(s, err);
}

static kiln_status answer(server *s, kiln_arena *a, kiln_str line, kiln_json_writer *w,
                          kiln_err *err) {
    const kiln_json *request;
    KILN_TRY(kiln_json_parse(a, line, "request", &request, err));
    const char *what = kiln_json_string(kiln_json_get(request, "do"), "");
    if (strcmp(what, "load") == 0)
        return load(s, request, w, err);
    if (strcmp(what, "run") == 0)
        return sample(s, request, w, err);
    return kiln_fail(err, KILN_ERR_PARSE, "'do' must be load or run");
}

/* ---- lines ----------------------------------------------------------------------- */

static bool write_all(int fd, kiln_str text) {
    while (text.n > 0) {
        const ssize_t n = write(fd, text.p, text.n);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0)
            text = (kiln_str){text.p + n, text.n - (size_t)n};
    }
    return true;
}

/* Strings hold no raw line break, so all there are came from the writer. */
static bool send(int fd, kiln_buf *b) {
    for (size_t i = 0; i < b->n; i++)
        if (b->p[i] == '\n')
            b->p[i] = ' ';
    kiln_buf_puts(b, "\n");
    return write_all(fd, kiln_buf_str(b));
}

static bool answer_line(server *s, kiln_str line) {
    kiln_arena scratch = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_buf text;
    kiln_json_writer w;
    kiln_buf_init(&text, &scratch);
    kiln_json_writer_init(&w, &text);
    kiln_json_begin_object(&w);
    const kiln_status st = answer(s, &scratch, line, &w, &err);
    kiln_json_member_str(&w, "problem", st == KILN_OK ? NULL : err.text);
    kiln_json_end_object(&w);
    const bool is_sent = send(s->answers, &text);
    kiln_arena_fini(&scratch);
    return is_sent;
}

/* Until the input ends; 0 where it ended between two lines. */
static int serve(server *s) {
    for (;;) {
        const ssize_t got =
            read(STDIN_FILENO, s->line + s->n_line, MAX_LINE - s->n_line);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 && s->n_line == 0 ? 0 : 1;
        s->n_line += (size_t)got;
        const char *end;
        while ((end = memchr(s->line, '\n', s->n_line)) != NULL) {
            const size_t n = (size_t)(end - s->line);
            if (!answer_line(s, (kiln_str){s->line, n}))
                return 1;
            s->n_line -= n + 1;
            memmove(s->line, end + 1, s->n_line);
        }
    }
}

/* ---- the program ----------------------------------------------------------------- */

/* A library has read its environment before main begins: begins again with the right
 * one, where it is another. */
static void set_environment(kiln_arena *a, const server *s, char **argv) {
    bool is_new = false;
    if (s->library->environment == NULL)
        return;
    for (const char *const *e = s->library->environment(a, s->threads); *e != NULL;
         e += 2) {
        const char *now = getenv(e[0]);
        if (now == NULL || strcmp(now, e[1]) != 0)
            is_new = setenv(e[0], e[1], 1) == 0 || is_new;
    }
    if (is_new)
        (void)execv("/proc/self/exe", argv);
}

static int usage(const kiln_library *library) {
    fprintf(stderr, "usage: kiln-%s %s--version | --threads N\n", library->name,
            library->open != NULL ? "--library FILE " : "");
    return 2;
}

/* After the environment is set: a library may read it when it is opened. */
static bool open_library(const kiln_library *library, const char *file) {
    kiln_err err = {.status = KILN_OK};
    if (library->open == NULL || library->open(file, &err) == KILN_OK)
        return true;
    fprintf(stderr, "%s\n", err.text);
    return false;
}

static int print_version(kiln_arena *a, const kiln_library *library, const char *file) {
    if (!open_library(library, file))
        return 1;
    printf("%s\n", library->version(a));
    return 0;
}

static int answer_requests(kiln_arena *a, const kiln_library *library, int threads,
                           const char *file, char **argv) {
    server *s = kiln_new(a, server);
    s->library = library;
    s->arena = a;
    s->threads = threads;
    set_environment(a, s, argv);
    if (!open_library(library, file))
        return 1;
    /* What libraries print must not come between the answers. */
    s->answers = dup(STDOUT_FILENO);
    const bool is_open = s->answers >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
    return is_open ? serve(s) : 1;
}

int kiln_library_main(int argc, char **argv, const kiln_library *library) {
    kiln_arena a = {0};
    int64_t threads = 0;
    int code;
    const int n_file = library->open != NULL ? 2 : 0;
    char **rest = argv + 1 + n_file; /* what to do */
    const int n = argc - 1 - n_file;
    const char *file = n_file > 0 && argc > 2 ? argv[2] : NULL;
    if (n < 1 || (n_file > 0 && strcmp(argv[1], "--library") != 0))
        return usage(library);
    if (n == 1 && strcmp(rest[0], "--version") == 0)
        code = print_version(&a, library, file);
    else if (n == 2 && strcmp(rest[0], "--threads") == 0 &&
             kiln_parse_i64(kiln_str_from(rest[1]), &threads) && threads >= 1 &&
             threads <= MAX_THREADS)
        code = answer_requests(&a, library, (int)threads, file, argv);
    else
        code = usage(library);
    kiln_arena_fini(&a);
    return code;
}
