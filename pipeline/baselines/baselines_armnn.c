/* Arm NN, by kiln-armnn-aarch64 (library/armnn_board.cpp): models of TensorFlow Lite on its
 * backend CpuAcc. For AArch64, so that on another machine an emulator runs it and its
 * outputs alone count: it is asked where it is named. */
#include "pipeline/baselines/baselines_internal.h"

#include <string.h>

static const char board[] = "kiln-armnn-aarch64", emulator[] = "qemu-aarch64";
static const char *const reads[] = {"tflite", NULL};

enum { MAX_ARGS = 8 };

static bool is_native(kiln_arena *a) {
    return strcmp(kiln_wheel_machine(a), "aarch64") == 0;
}

/* What starts it; its own arguments are next. */
static kiln_status command(kiln_arena *a, const char **argv, size_t *n, kiln_err *err) {
    char *path;
    const char *by = is_native(a) ? NULL : kiln_program_in_path(a, emulator);
    KILN_TRY(kiln_program_find(a, board, &path, err));
    *n = 0;
    if (by != NULL)
        argv[(*n)++] = by;
    argv[(*n)++] = path;
    return KILN_OK;
}

static kiln_status find(const kiln_baseline *b, kiln_arena *a, const char *dir,
                        kiln_baseline_here *out, kiln_err *err) {
    const char *argv[MAX_ARGS];
    size_t n = 0;
    kiln_str version;
    (void)dir;
    if (command(a, argv, &n, NULL) != KILN_OK) {
        *out = (kiln_baseline_here){
            .remedy = kiln_format(a,
                                  "kiln was built without %s: 'make deps' gets "
                                  "Debian's %s of arm64 and g++-aarch64-linux-gnu, "
                                  "then build kiln again",
                                  board, b->packages)};
        return KILN_OK;
    }
    if (!is_native(a) && kiln_program_in_path(a, emulator) == NULL) {
        *out = (kiln_baseline_here){
            .remedy = kiln_format(a,
                                  "%s is for AArch64, and %s is not in PATH: install "
                                  "the package qemu-user",
                                  board, emulator)};
        return KILN_OK;
    }
    argv[n++] = "--version";
    argv[n] = NULL;
    KILN_TRY(kiln_asked_version(a, argv, b->name, &version, err));
    *out = (kiln_baseline_here){
        .is_here = true,
        .version = kiln_format(a, "%s%s", kiln_str_printable(a, version, 64),
                               is_native(a) ? "" : " (emulated)"),
        .is_emulated = !is_native(a)};
    return KILN_OK;
}

/* ---- a model --------------------------------------------------------------------- */

/* What it reads and writes is named when it is started. */
static kiln_status make_command(kiln_arena *a, const kiln_baseline_job *job,
                                const char *folder, const char ***out, kiln_err *err) {
    const char **argv =
        kiln_array(a, const char *, MAX_ARGS + 3 * (job->n_in + job->n_out));
    size_t n = 0;
    KILN_TRY(command(a, argv, &n, err));
    argv[n++] = job->model;
    argv[n++] = kiln_format(a, "%d", job->threads);
    for (size_t i = 0; i < job->n_in; i++) {
        const char *file = kiln_asked_file(a, folder, "in", i);
        KILN_TRY(kiln_tensor_write_npy(file, &job->in[i].value, err));
        argv[n++] = "--in";
        argv[n++] = job->in[i].name;
        argv[n++] = file;
    }
    for (size_t i = 0; i < job->n_out; i++) {
        argv[n++] = "--out";
        argv[n++] = job->out[i];
        argv[n++] = kiln_asked_file(a, folder, "out", i);
    }
    argv[n] = NULL;
    *out = argv;
    return KILN_OK;
}

static kiln_status load(const kiln_asked *own, kiln_arena *a,
                        const char **implementation, kiln_err *err) {
    kiln_buf request;
    const kiln_json *reply;
    kiln_buf_init(&request, a);
    kiln_buf_puts(&request, "{\"do\": \"load\"}");
    KILN_TRY(kiln_asked_ask(own, a, &request, &reply, err));
    *implementation = kiln_asked_implementation(a, reply);
    return KILN_OK;
}

static kiln_status open_model(const kiln_baseline *b, kiln_arena *a,
                              const kiln_baseline_job *job, kiln_baseline_session *out,
                              kiln_err *err) {
    kiln_asked *own = kiln_new(a, kiln_asked);
    const char *folder = NULL, **argv = NULL;
    *out = (kiln_baseline_session){.own = own};
    KILN_TRY(kiln_dir_temp(a, &folder, err));
    kiln_status st = make_command(a, job, folder, &argv, err);
    if (st == KILN_OK)
        st = kiln_asked_open(a, argv, b->name, job->limit_ms, own, err);
    own->folder = folder;
    if (st == KILN_OK)
        st = load(own, a, &out->implementation, err);
    if (st == KILN_OK)
        st = kiln_asked_outputs(own, a, job->n_out, out, err);
    if (st != KILN_OK)
        kiln_note(err, "making '%s' ready in %s with %d thread%s", job->model, b->name,
                  job->threads, job->threads == 1 ? "" : "s");
    return st;
}

const kiln_baseline kiln_baseline_armnn = {
    .name = "armnn",
    .doc = "Arm NN, its TensorFlow Lite parser, CpuAcc",
    .packages = "libarmnn-dev",
    .is_by_name = true,
    .reads = reads,
    .find = find,
    .open = open_model,
    .run = kiln_asked_run,
};
