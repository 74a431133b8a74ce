/* A process that makes one model or operator ready and answers with samples:
 * kiln-bridge for wheels, kiln-onednn and the like for libraries with a C interface.
 * Requests and answers are JSON, a line each (bridge.py, library/library_serve.c); an answer
 * with "problem" is a refusal. */
#include "pipeline/baselines/baselines_internal.h"

#include <inttypes.h>

enum { FIND_MS = 60000, DEFAULT_LIMIT_MS = 300000 };

/* ---- versions -------------------------------------------------------------------- */

kiln_status kiln_asked_version(kiln_arena *a, const char *const *argv, const char *name,
                               kiln_str *out, kiln_err *err) {
    const kiln_process_options o = {.argv = argv, .time_limit_ms = FIND_MS};
    kiln_process_result r;
    KILN_TRY(kiln_process_run(a, &o, &r, err));
    *out = kiln_str_trim(r.out);
    if (r.end == KILN_PROCESS_EXITED && r.code == 0)
        return KILN_OK;
    const kiln_str said = kiln_str_trim(r.err);
    return kiln_fail(err, KILN_ERR_LIB,
                     "'%s' cannot say which version of '%s' is here: %s", argv[0], name,
                     r.end == KILN_PROCESS_TIMED_OUT ? "it did not end"
                     : said.n == 0                   ? "it said nothing"
                                   : kiln_str_printable(a, said, 400));
}

/* ---- questions ------------------------------------------------------------------- */

/* A request is one line: strings hold no raw line break, so all there are came from the
 * writer. */
static kiln_str one_line(kiln_buf *b) {
    for (size_t i = 0; i < b->n; i++)
        if (b->p[i] == '\n')
            b->p[i] = ' ';
    return kiln_buf_str(b);
}

kiln_status kiln_asked_ask(const kiln_asked *b, kiln_arena *a, kiln_buf *request,
                           const kiln_json **reply, kiln_err *err) {
    kiln_str answer;
    const kiln_json *doc;
    KILN_TRY(kiln_talk_ask(b->talk, a, one_line(request), b->limit_ms, &answer, err));
    const kiln_status st = kiln_json_parse(a, answer, "answer", &doc, err);
    if (st != KILN_OK || !kiln_json_is_object(doc)) {
        const char *said = kiln_str_printable(a, answer, 100);
        kiln_talk_end(b->talk);
        if (err != NULL)
            kiln_err_clear(err);
        return kiln_fail(err, KILN_ERR_LIB, "answered what is no answer: '%s'", said);
    }
    const char *problem = kiln_json_string(kiln_json_get(doc, "problem"), NULL);
    if (problem != NULL)
        return kiln_fail(err, KILN_ERR_LIB, "%s",
                         kiln_str_printable(a, kiln_str_from(problem), 600));
    *reply = doc;
    return KILN_OK;
}

kiln_status kiln_asked_open(kiln_arena *a, const char *const *argv, const char *name,
                            int64_t limit_ms, kiln_asked *out, kiln_err *err) {
    KILN_ASSERT(argv != NULL && argv[0] != NULL, "%s is asked without a program", name);
    *out = (kiln_asked){.name = name,
                        .limit_ms = limit_ms > 0 ? limit_ms : DEFAULT_LIMIT_MS};
    KILN_TRY(kiln_dir_temp(a, &out->folder, err));
    const kiln_talk_options o = {.shared = -1};
    return kiln_talk_open(a, argv, &o, &out->talk, err);
}

/* ---- tensors, in files of the session's folder ----------------------------------- */

const char *kiln_asked_file(kiln_arena *a, const char *folder, const char *what,
                            size_t i) {
    return kiln_path_join(a, folder, kiln_format(a, "%s%zu.npy", what, i));
}

void kiln_asked_put_file(kiln_json_writer *w, const char *name, const char *file) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "name", name);
    kiln_json_member_str(w, "file", file);
    kiln_json_end_object(w);
}

kiln_status kiln_asked_outputs(const kiln_asked *b, kiln_arena *a, size_t n,
                               kiln_baseline_session *out, kiln_err *err) {
    kiln_tensor *t = kiln_array(a, kiln_tensor, n);
    for (size_t i = 0; i < n; i++)
        KILN_TRY(kiln_tensor_read_npy(a, kiln_asked_file(a, b->folder, "out", i), &t[i],
                                      err));
    out->out = t;
    return KILN_OK;
}

const char *kiln_asked_implementation(kiln_arena *a, const kiln_json *reply) {
    const char *said = kiln_json_string(kiln_json_get(reply, "implementation"), NULL);
    return said != NULL ? kiln_str_printable(a, kiln_str_from(said), 100) : NULL;
}

/* ---- samples --------------------------------------------------------------------- */

static kiln_status read_sample(const kiln_json *reply, kiln_baseline_sample *out,
                               kiln_err *err) {
    kiln_baseline_sample s;
    if (!kiln_json_i64(kiln_json_get(reply, "wall_ns"), &s.wall_ns) || s.wall_ns <= 0 ||
        !kiln_json_i64(kiln_json_get(reply, "cpu_ns"), &s.cpu_ns) || s.cpu_ns < 0 ||
        !kiln_json_i64(kiln_json_get(reply, "preempted"), &s.preempted))
        return kiln_fail(err, KILN_ERR_LIB,
                         "answered without 'wall_ns', 'cpu_ns' and 'preempted'");
    *out = s;
    return KILN_OK;
}

kiln_status kiln_asked_run(const kiln_baseline_session *s, int64_t runs,
                           kiln_baseline_sample *out, kiln_err *err) {
    const kiln_asked *b = s->own;
    kiln_arena scratch = {0};
    kiln_buf request;
    const kiln_json *reply;
    KILN_ASSERT(runs > 0, "%lld runs are no sample", (long long)runs);
    kiln_buf_init(&request, &scratch);
    kiln_buf_printf(&request, "{\"do\": \"run\", \"runs\": %" PRId64 "}", runs);
    kiln_status st = kiln_asked_ask(b, &scratch, &request, &reply, err);
    if (st == KILN_OK)
        st = read_sample(reply, out, err);
    kiln_arena_fini(&scratch);
    if (st != KILN_OK)
        kiln_note(err, "running in %s", b->name);
    return st;
}
