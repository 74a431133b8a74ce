/* One candidate is one `kiln build` in a process of its own: what it ends with is the
 * answer, whatever it does to itself. */
#include "pipeline/reduce/reduce_internal.h"

#include <string.h>

enum {
    DEFAULT_SECONDS = 60,
    DEFAULT_CASE_SECONDS = 30,
    DEFAULT_ASKED = 5000,
    EXIT_BUG = 5, /* as cli/ has it */
};

kiln_status kiln_asker_init(kiln_asker *q, kiln_arena *a, const kiln_reduce_options *o,
                            kiln_err *err) {
    char *program = NULL;
    *q = (kiln_asker){.arena = a, .o = o, .kind = o->expect, .message = ""};
    q->begin_ns = kiln_now_ns();
    KILN_TRY(kiln_program_own(a, &program, err));
    q->program = program;
    return kiln_dir_temp(a, &q->dir, err);
}

static double seconds_of(const kiln_asker *q) {
    return (double)(kiln_now_ns() - q->begin_ns) * 1e-9;
}

bool kiln_asker_is_over(const kiln_asker *q) {
    const double limit = q->o->seconds > 0 ? q->o->seconds : DEFAULT_SECONDS;
    const int most = q->o->max_asked > 0 ? q->o->max_asked : DEFAULT_ASKED;
    return kiln_interrupted() || q->n_asked >= most || seconds_of(q) >= limit;
}

static kiln_status run(kiln_asker *q, kiln_arena *a, const char *const *argv,
                       size_t output_bytes, kiln_process_result *out, kiln_err *err) {
    const double own = q->o->case_seconds;
    const kiln_process_options o = {
        .argv = argv,
        .time_limit_ms = (int64_t)((own > 0 ? own : DEFAULT_CASE_SECONDS) * 1e3),
        .output_limit_bytes = output_bytes};
    return kiln_process_run(a, &o, out, err);
}

/* ---- what a failure says --------------------------------------------------------- */

/* The line that has the text; "": none. */
static kiln_str line_with(kiln_str text, const char *part) {
    kiln_str line;
    while (kiln_str_cut(&text, '\n', &line))
        for (size_t i = 0; i + strlen(part) <= line.n; i++)
            if (memcmp(line.p + i, part, strlen(part)) == 0)
                return line;
    return (kiln_str){"", 0};
}

/* What another failure must say to be the same one: the place of a broken invariant, or
 * that the program was found wrong. */
static const char *kind_of(kiln_arena *a, kiln_str text) {
    const kiln_str line = line_with(text, ": broken invariant '");
    size_t n = 0;
    while (n < line.n && line.p[n] != '\'')
        n++;
    return n > 0 ? kiln_str_dupv(a, (kiln_str){line.p, n}) : "";
}

static const char *message_of(kiln_arena *a, const kiln_process_result *r) {
    kiln_str line = line_with(r->err, ": broken invariant '");
    if (line.n == 0)
        line = line_with(r->err, "error: ");
    if (line.n == 0)
        return r->end == KILN_PROCESS_SIGNALED
                   ? kiln_format(a, "ended by signal %d", r->code)
                   : "";
    return kiln_str_printable(a, line, 300);
}

static bool is_failure(const kiln_process_result *r) {
    return r->end == KILN_PROCESS_SIGNALED ||
           (r->end == KILN_PROCESS_EXITED && r->code == EXIT_BUG);
}

static bool is_this_one(kiln_asker *q, const kiln_process_result *r) {
    const int signal = r->end == KILN_PROCESS_SIGNALED ? r->code : 0;
    if (!is_failure(r))
        return false;
    if (q->o->expect == NULL && q->kind == NULL) {
        q->kind = kind_of(q->arena, r->err);
        q->signal = signal;
    }
    if (q->o->expect == NULL && signal != q->signal)
        return false;
    return q->kind[0] == '\0' || line_with(r->err, q->kind).n > 0;
}

/* ---- asking ---------------------------------------------------------------------- */

static kiln_status put_file(const kiln_asker *q, kiln_arena *a, kiln_str text,
                            const char **path, kiln_err *err) {
    *path = kiln_path_join(a, q->dir, "candidate.kgraph");
    return kiln_file_write(*path, text.p, text.n, err);
}

static kiln_status build(kiln_asker *q, kiln_arena *a, kiln_str text,
                         kiln_process_result *out, kiln_err *err) {
    const char *path = NULL;
    KILN_VEC(const char *) argv = {0};
    KILN_TRY(put_file(q, a, text, &path, err));
    kiln_vec_push(a, &argv, q->program);
    kiln_vec_push(a, &argv, "build");
    kiln_vec_push(a, &argv, path);
    for (size_t i = 0; i < q->o->n_options; i++)
        kiln_vec_push(a, &argv, q->o->option[i]);
    kiln_vec_push(a, &argv, "--no-reduce");
    kiln_vec_push(a, &argv, "--quiet");
    kiln_vec_push(a, &argv, "-o");
    kiln_vec_push(a, &argv, kiln_path_join(a, q->dir, "archive"));
    kiln_vec_push(a, &argv, NULL);
    return run(q, a, argv.v, 0, out, err);
}

kiln_status kiln_ask(kiln_asker *q, kiln_str text, bool *fails, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_process_result r;
    char key[KILN_SHA256_HEX];
    *fails = false;
    kiln_sha256_of(text.p, text.n, key);
    if (!kiln_map_set(q->arena, &q->known, kiln_str_from(key), NULL))
        return KILN_OK;
    q->n_asked++;
    const kiln_status st = build(q, &scratch, text, &r, err);
    if (st == KILN_OK && is_this_one(q, &r)) {
        *fails = true;
        q->message = message_of(q->arena, &r);
    }
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status passes(kiln_asker *q, kiln_arena *a, kiln_arena *scratch,
                          kiln_str text, kiln_graph **out, kiln_err *err) {
    enum { MOST_BYTES = 64 << 20 };
    const char *path = NULL;
    kiln_process_result r;
    KILN_TRY(put_file(q, scratch, text, &path, err));
    const char *argv[] = {q->program, "inspect", path, "--graph", "--data", NULL};
    KILN_TRY(run(q, scratch, argv, MOST_BYTES, &r, err));
    const char *at = r.out_cut ? NULL : strstr(r.out.p, "\ngraph \"");
    if (r.end != KILN_PROCESS_EXITED || r.code != 0 || at == NULL)
        return KILN_OK;
    const kiln_str graph = {kiln_str_dup(a, at + 1), strlen(at + 1)};
    if (kiln_graph_parse(a, graph, NULL, out, NULL) != KILN_OK)
        *out = NULL;
    return KILN_OK;
}

kiln_status kiln_ask_passes(kiln_asker *q, kiln_arena *a, kiln_str text,
                            kiln_graph **out, kiln_err *err) {
    kiln_arena scratch = {0};
    *out = NULL;
    const kiln_status st = passes(q, a, &scratch, text, out, err);
    kiln_arena_fini(&scratch);
    return st;
}
