/* Libraries with a C interface: the program kiln-<name> computes one operator with it.
 */
#include "pipeline/baselines/baselines_internal.h"

enum { MAX_ARGS = 7 };

/* The program with its library, and an option; 'value' may be NULL. */
static kiln_status command(kiln_arena *a, const kiln_program_use *u, const char *option,
                           const char *value, const char **argv, kiln_err *err) {
    char *program;
    int n = 0;
    KILN_TRY(kiln_program_find(a, u->program, &program, err));
    if (u->emulator != NULL) {
        argv[n++] = kiln_program_in_path(a, u->emulator);
        if (argv[0] == NULL)
            return kiln_fail(err, KILN_ERR_LIB,
                             "%s is not in PATH: install the package qemu-user",
                             u->emulator);
    }
    argv[n++] = program;
    if (u->library != NULL) {
        argv[n++] = "--library";
        argv[n++] = u->library;
    }
    argv[n++] = option;
    argv[n++] = value;
    argv[n] = NULL;
    return KILN_OK;
}

kiln_status kiln_program_use_version(kiln_arena *a, const kiln_baseline *b,
                                     const kiln_program_use *u, kiln_baseline_here *out,
                                     kiln_err *err) {
    const char *argv[MAX_ARGS];
    kiln_str version;
    KILN_TRY(command(a, u, "--version", NULL, argv, err));
    KILN_TRY(kiln_asked_version(a, argv, b->name, &version, err));
    if (version.n == 0)
        return kiln_fail(err, KILN_ERR_LIB, "'%s' names no version of '%s'", argv[0],
                         b->name);
    *out = (kiln_baseline_here){.is_here = true,
                                .version = kiln_str_printable(a, version, 64)};
    return KILN_OK;
}

static kiln_program_use use_of(const kiln_baseline *b, kiln_arena *a) {
    return (kiln_program_use){.program = b->program != NULL
                                             ? b->program
                                             : kiln_format(a, "kiln-%s", b->name)};
}

/* It is built where the library's development package is. */
kiln_status kiln_program_baseline_find(const kiln_baseline *b, kiln_arena *a,
                                       const char *dir, kiln_baseline_here *out,
                                       kiln_err *err) {
    const kiln_program_use u = use_of(b, a);
    char *program;
    (void)dir;
    if (kiln_program_find(a, u.program, &program, NULL) == KILN_OK)
        return kiln_program_use_version(a, b, &u, out, err);
    *out = (kiln_baseline_here){
        .remedy = kiln_format(a,
                              "kiln was built without it; install Debian's %s and "
                              "build kiln again",
                              b->packages)};
    return KILN_OK;
}

static kiln_status load(const kiln_asked *b, kiln_arena *a, const kiln_library_op *op,
                        const char **implementation, kiln_err *err) {
    kiln_buf request;
    kiln_json_writer w;
    const kiln_json *reply;
    kiln_buf_init(&request, a);
    kiln_json_writer_init(&w, &request);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "do", "load");
    kiln_json_name(&w, "operator");
    kiln_library_op_put(&w, op);
    kiln_json_name(&w, "inputs");
    kiln_json_begin_array(&w);
    for (int i = 0; i < op->n_in; i++) {
        const char *file = kiln_asked_file(a, b->folder, "in", (size_t)i);
        KILN_TRY(kiln_tensor_write_npy(file, &op->in[i].value, err));
        kiln_asked_put_file(&w, op->in[i].name, file);
    }
    kiln_json_end_array(&w);
    kiln_json_name(&w, "outputs");
    kiln_json_begin_array(&w);
    kiln_asked_put_file(&w, "y", kiln_asked_file(a, b->folder, "out", 0));
    kiln_json_end_array(&w);
    kiln_json_end_object(&w);
    KILN_TRY(kiln_asked_ask(b, a, &request, &reply, err));
    *implementation = kiln_asked_implementation(a, reply);
    return KILN_OK;
}

static kiln_status check_shape(const kiln_library_op *op, const kiln_tensor *t,
                               kiln_err *err) {
    if (t->type.dtype == op->out.dtype && kiln_type_same_shape(&t->type, &op->out))
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_LIB,
                     "the output has another shape or type than the operator's");
}

/* No note: whoever asks names library and operator beside what went wrong. */
kiln_status kiln_program_use_open(kiln_arena *a, const kiln_baseline *b,
                                  const kiln_program_use *u,
                                  const kiln_baseline_op_job *job,
                                  kiln_baseline_session *out, kiln_err *err) {
    const char *argv[MAX_ARGS];
    kiln_asked *own = kiln_new(a, kiln_asked);
    *out = (kiln_baseline_session){.own = own};
    KILN_TRY(command(a, u, "--threads", kiln_format(a, "%d", job->threads), argv, err));
    kiln_status st = kiln_asked_open(a, argv, b->name, job->limit_ms, own, err);
    if (st == KILN_OK)
        st = load(own, a, job->op, &out->implementation, err);
    if (st == KILN_OK)
        st = kiln_asked_outputs(own, a, 1, out, err);
    if (st == KILN_OK)
        st = check_shape(job->op, &out->out[0], err);
    return st;
}

kiln_status kiln_program_baseline_open(const kiln_baseline *b, kiln_arena *a,
                                       const kiln_baseline_op_job *job,
                                       kiln_baseline_session *out, kiln_err *err) {
    const kiln_program_use u = use_of(b, a);
    return kiln_program_use_open(a, b, &u, job, out, err);
}
