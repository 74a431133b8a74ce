/* Libraries that come as Python wheels, each in a process of its own: kiln-bridge
 * (bridge.py, which documents the protocol) of the environment's Python. */
#include "pipeline/baselines/baselines_internal.h"

#include <string.h>

static const char cannot[] = "absent: ";

static const char *not_there(kiln_arena *a, const kiln_baseline *b, const char *dir) {
    if (kiln_baselines_python_named() != NULL)
        return kiln_format(a, "not in the Python that KILN_PYTHON names, '%s'",
                           kiln_baselines_python_named());
    return kiln_format(a, "not in '%s'; 'kiln baselines install --only %s' gets it",
                       dir, b->name);
}

/* An empty answer: Python is there, the wheel is not. One that begins with "absent: " is
 * why it cannot run here: there is no GPU. */
kiln_status kiln_bridge_find(const kiln_baseline *b, kiln_arena *a, const char *dir,
                             kiln_baseline_here *out, kiln_err *err) {
    const char *python = kiln_baselines_python(a, dir);
    char *program;
    kiln_str version = {NULL, 0};
    if (!kiln_file_exists(python) && kiln_baselines_python_named() != NULL)
        return kiln_fail(err, KILN_ERR_MISSING,
                         "there is no Python '%s', which KILN_PYTHON names", python);
    if (kiln_file_exists(python)) {
        KILN_TRY(kiln_program_find(a, "kiln-bridge", &program, err));
        const char *const argv[] = {python, "-I", program, "--version", b->name, NULL};
        KILN_TRY(kiln_asked_version(a, argv, b->name, &version, err));
    }
    if (kiln_str_starts(version, cannot))
        *out = (kiln_baseline_here){
            .remedy = kiln_str_printable(
                a, (kiln_str){version.p + strlen(cannot), version.n - strlen(cannot)},
                300)};
    else if (version.n > 0)
        *out = (kiln_baseline_here){.is_here = true,
                                    .version = kiln_str_printable(a, version, 64)};
    else
        *out = (kiln_baseline_here){.remedy = not_there(a, b, dir)};
    return KILN_OK;
}

/* ---- making ready ---------------------------------------------------------------- */

static kiln_status put_inputs(kiln_json_writer *w, kiln_arena *a, const char *folder,
                              const kiln_baseline_job *job, kiln_err *err) {
    kiln_json_name(w, "inputs");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < job->n_in; i++) {
        const char *file = kiln_asked_file(a, folder, "in", i);
        KILN_TRY(kiln_tensor_write_npy(file, &job->in[i].value, err));
        kiln_asked_put_file(w, job->in[i].name, file);
    }
    kiln_json_end_array(w);
    return KILN_OK;
}

static kiln_status load(const kiln_asked *b, kiln_arena *a,
                        const kiln_baseline_job *job, const char **implementation,
                        kiln_err *err) {
    kiln_buf request;
    kiln_json_writer w;
    const kiln_json *reply;
    kiln_buf_init(&request, a);
    kiln_json_writer_init(&w, &request);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "do", "load");
    kiln_json_member_str(&w, "model", job->model);
    kiln_json_member_i64(&w, "threads", job->threads);
    KILN_TRY(put_inputs(&w, a, b->folder, job, err));
    kiln_json_name(&w, "outputs");
    kiln_json_begin_array(&w);
    for (size_t i = 0; i < job->n_out; i++)
        kiln_asked_put_file(&w, job->out[i], kiln_asked_file(a, b->folder, "out", i));
    kiln_json_end_array(&w);
    kiln_json_end_object(&w);
    KILN_TRY(kiln_asked_ask(b, a, &request, &reply, err));
    *implementation = kiln_asked_implementation(a, reply);
    return KILN_OK;
}

kiln_status kiln_bridge_open(const kiln_baseline *b, kiln_arena *a,
                             const kiln_baseline_job *job, kiln_baseline_session *out,
                             kiln_err *err) {
    char *program;
    kiln_asked *own = kiln_new(a, kiln_asked);
    KILN_TRY(kiln_program_find(a, "kiln-bridge", &program, err));
    const char *const argv[] = {kiln_baselines_python(a, job->dir), "-I", program,
                                b->name, NULL};
    kiln_status st = kiln_asked_open(a, argv, b->name, job->limit_ms, own, err);
    *out = (kiln_baseline_session){.own = own};
    if (st == KILN_OK)
        st = load(own, a, job, &out->implementation, err);
    if (st == KILN_OK)
        st = kiln_asked_outputs(own, a, job->n_out, out, err);
    if (st != KILN_OK)
        kiln_note(err, "making '%s' ready in %s with %d thread%s", job->model, b->name,
                  job->threads, job->threads == 1 ? "" : "s");
    return st;
}
