/* Libraries that come as Python wheels, each in a process of its own: kiln-bridge
 * (bridge.py, which documents the protocol) of the environment's Python. */
#include "pipeline/baselines/baselines_internal.h"

#include <inttypes.h>

enum { FIND_MS = 60000, DEFAULT_LIMIT_MS = 300000 };

typedef struct bridge {
    kiln_talk *talk;
    const char *name;
    int64_t limit_ms;
} bridge;

/* ---- is it here? ------------------------------------------------------------------
 */

static kiln_status ask_version(const kiln_baseline *b, kiln_arena *a,
                               const char *python, kiln_process_result *r,
                               kiln_err *err) {
    char *program;
    KILN_TRY(kiln_program_find(a, "kiln-bridge", &program, err));
    const char *const argv[] = {python, "-I", program, "--version", b->name, NULL};
    const kiln_process_options o = {.argv = argv, .time_limit_ms = FIND_MS};
    KILN_TRY(kiln_process_run(a, &o, r, err));
    if (r->end == KILN_PROCESS_EXITED && r->code == 0)
        return KILN_OK;
    const kiln_str said = kiln_str_trim(r->err);
    return kiln_fail(err, KILN_ERR_LIB,
                     "'%s' cannot say which version of '%s' is here: %s", python,
                     b->name,
                     r->end == KILN_PROCESS_TIMED_OUT ? "it did not end"
                     : said.n == 0                    ? "it said nothing"
                                   : kiln_str_printable(a, said, 400));
}

/* An empty answer: Python is there, the wheel is not. */
kiln_status kiln_bridge_find(const kiln_baseline *b, kiln_arena *a, const char *dir,
                             kiln_baseline_here *out, kiln_err *err) {
    const char *python = kiln_baselines_python(a, dir);
    kiln_process_result r = {.code = 0};
    kiln_str version = {NULL, 0};
    if (kiln_file_exists(python)) {
        KILN_TRY(ask_version(b, a, python, &r, err));
        version = kiln_str_trim(r.out);
    }
    if (version.n > 0)
        *out = (kiln_baseline_here){.is_here = true,
                                    .version = kiln_str_printable(a, version, 64)};
    else
        *out = (kiln_baseline_here){
            .remedy = kiln_format(
                a, "not in '%s'; 'kiln baselines install --only %s' gets it", dir,
                b->name)};
    return KILN_OK;
}

/* ---- questions --------------------------------------------------------------------
 */

/* A request is one line: strings hold no raw line break, so all there are came from the
 * writer. */
static kiln_str one_line(kiln_buf *b) {
    for (size_t i = 0; i < b->n; i++)
        if (b->p[i] == '\n')
            b->p[i] = ' ';
    return kiln_buf_str(b);
}

static kiln_status ask(const bridge *b, kiln_arena *a, kiln_buf *request,
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

/* ---- making ready -----------------------------------------------------------------
 */

static const char *file_of(kiln_arena *a, const char *folder, const char *what,
                           size_t i) {
    return kiln_path_join(a, folder, kiln_format(a, "%s%zu.npy", what, i));
}

static void put_file(kiln_json_writer *w, const char *name, const char *file) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "name", name);
    kiln_json_member_str(w, "file", file);
    kiln_json_end_object(w);
}

static kiln_status put_inputs(kiln_json_writer *w, kiln_arena *a, const char *folder,
                              const kiln_baseline_job *job, kiln_err *err) {
    kiln_json_name(w, "inputs");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < job->n_in; i++) {
        const char *file = file_of(a, folder, "in", i);
        KILN_TRY(kiln_tensor_write_npy(file, &job->in[i].value, err));
        put_file(w, job->in[i].name, file);
    }
    kiln_json_end_array(w);
    return KILN_OK;
}

static kiln_status load(const bridge *b, kiln_arena *a, const char *folder,
                        const kiln_baseline_job *job, kiln_err *err) {
    kiln_buf request;
    kiln_json_writer w;
    const kiln_json *reply;
    kiln_buf_init(&request, a);
    kiln_json_writer_init(&w, &request);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "do", "load");
    kiln_json_member_str(&w, "model", job->model);
    kiln_json_member_i64(&w, "threads", job->threads);
    KILN_TRY(put_inputs(&w, a, folder, job, err));
    kiln_json_name(&w, "outputs");
    kiln_json_begin_array(&w);
    for (size_t i = 0; i < job->n_out; i++)
        put_file(&w, job->out[i], file_of(a, folder, "out", i));
    kiln_json_end_array(&w);
    kiln_json_end_object(&w);
    return ask(b, a, &request, &reply, err);
}

static kiln_status read_outputs(kiln_arena *a, const char *folder,
                                const kiln_baseline_job *job,
                                kiln_baseline_session *out, kiln_err *err) {
    kiln_tensor *t = kiln_array(a, kiln_tensor, job->n_out);
    for (size_t i = 0; i < job->n_out; i++)
        KILN_TRY(kiln_tensor_read_npy(a, file_of(a, folder, "out", i), &t[i], err));
    out->out = t;
    return KILN_OK;
}

kiln_status kiln_bridge_open(const kiln_baseline *b, kiln_arena *a,
                             const kiln_baseline_job *job, kiln_baseline_session *out,
                             kiln_err *err) {
    char *program;
    const char *folder;
    bridge *own = kiln_new(a, bridge);
    KILN_TRY(kiln_program_find(a, "kiln-bridge", &program, err));
    const char *const argv[] = {kiln_baselines_python(a, job->dir), "-I", program,
                                b->name, NULL};
    *own = (bridge){.name = b->name,
                    .limit_ms = job->limit_ms > 0 ? job->limit_ms : DEFAULT_LIMIT_MS};
    KILN_TRY(kiln_dir_temp(a, &folder, err));
    kiln_status st = kiln_talk_open(a, argv, &own->talk, err);
    if (st == KILN_OK)
        st = load(own, a, folder, job, err);
    if (st == KILN_OK)
        st = read_outputs(a, folder, job, out, err);
    if (st != KILN_OK) {
        kiln_note(err, "making '%s' ready in %s with %d thread%s", job->model, b->name,
                  job->threads, job->threads == 1 ? "" : "s");
        return st;
    }
    out->own = own;
    return KILN_OK;
}

/* ---- samples ----------------------------------------------------------------------
 */

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

kiln_status kiln_bridge_run(const kiln_baseline_session *s, int64_t runs,
                            kiln_baseline_sample *out, kiln_err *err) {
    const bridge *b = s->own;
    kiln_arena scratch = {0};
    kiln_buf request;
    const kiln_json *reply;
    kiln_buf_init(&request, &scratch);
    kiln_buf_printf(&request, "{\"do\": \"run\", \"runs\": %" PRId64 "}", runs);
    kiln_status st = ask(b, &scratch, &request, &reply, err);
    if (st == KILN_OK)
        st = read_sample(reply, out, err);
    kiln_arena_fini(&scratch);
    if (st != KILN_OK)
        kiln_note(err, "running in %s", b->name);
    return st;
}
