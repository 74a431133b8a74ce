/* One run of a package: inputs to files, kiln-run, outputs from files. Tensors go as
 * raw bytes, so that every dtype does. */
#include <inttypes.h>
#include <string.h>

#include "pipeline/devices/devices_internal.h"

enum { STDERR_SHOWN = 1000 };

/* What is needed for one run; all in `arena`. */
typedef struct run {
    kiln_arena *arena;
    const kiln_device *device;
    const kiln_device_package *package;
    kiln_device_job job; /* complete */
    const char *dir;
} run;

static kiln_status complete(const kiln_device_job *job, kiln_device_job *out,
                            kiln_err *err) {
    *out = *job;
    out->n_threads = job->n_threads != 0 ? job->n_threads : 1;
    out->n_rounds = job->n_rounds != 0 ? job->n_rounds : 1;
    out->time_limit_ms =
        job->time_limit_ms != 0 ? job->time_limit_ms : KILN_DEVICE_TIME_LIMIT_MS;
    if (out->n_threads < 1 || out->n_threads > KILN_DEVICE_MAX_THREADS)
        return kiln_fail(err, KILN_ERR_ARG, "threads must be 1 to %d, are %d",
                         KILN_DEVICE_MAX_THREADS, out->n_threads);
    if (out->n_rounds < 1 || out->n_rounds > KILN_DEVICE_MAX_ROUNDS ||
        out->n_warm_up < 0 || out->n_warm_up > KILN_DEVICE_MAX_ROUNDS)
        return kiln_fail(err, KILN_ERR_ARG, "rounds must be 1 to %d, are %d",
                         KILN_DEVICE_MAX_ROUNDS, out->n_rounds);
    if (out->injected_ppm < 0 || out->injected_ppm > KILN_DEVICE_MAX_INJECTED_PPM)
        return kiln_fail(err, KILN_ERR_ARG,
                         "an injected slowdown must be 0 to %d millionths, is %d",
                         KILN_DEVICE_MAX_INJECTED_PPM, out->injected_ppm);
    return KILN_OK;
}

static char *file_in(const run *r, const char *kind, size_t i) {
    return kiln_format(r->arena, "%s/%s_%zu.bin", r->dir, kind, i);
}

/* Row-major tensors: what else a type says is of no matter here. */
static bool fits(const kiln_type *x, const kiln_type *port) {
    return x->dtype == port->dtype && kiln_type_same_shape(x, port) &&
           kiln_layout_is_plain(&x->layout);
}

static kiln_status check_inputs(const run *r, const kiln_tensor *in, size_t n_in,
                                kiln_err *err) {
    const kiln_device_package *p = r->package;
    if (n_in != p->n_inputs)
        return kiln_fail(err, KILN_ERR_SHAPE, "'%s' has %zu inputs, %zu are given",
                         p->model, p->n_inputs, n_in);
    for (size_t i = 0; i < n_in; i++)
        if (!fits(&in[i].type, &p->input[i].type))
            return kiln_fail(err, KILN_ERR_SHAPE, "input '%s' must be %s, is %s",
                             p->input[i].name,
                             kiln_type_text(r->arena, &p->input[i].type),
                             kiln_type_text(r->arena, &in[i].type));
    return KILN_OK;
}

static kiln_status write_inputs(const run *r, const kiln_tensor *in, size_t n_in,
                                kiln_err *err) {
    for (size_t i = 0; i < n_in; i++)
        KILN_TRY(kiln_file_write(file_in(r, "input", i), in[i].data,
                                 (size_t)kiln_type_bytes(&in[i].type), err));
    return KILN_OK;
}

static kiln_status read_outputs(const run *r, kiln_arena *a, kiln_tensor *out,
                                kiln_err *err) {
    const kiln_device_package *p = r->package;
    for (size_t i = 0; i < p->n_outputs; i++) {
        kiln_str file;
        const uint64_t bytes = (uint64_t)kiln_type_bytes(&p->output[i].type);
        const char *path = file_in(r, "output", i);
        KILN_TRY(kiln_file_map(r->arena, path, 0, &file, err));
        if (file.n != bytes)
            return kiln_fail(err, KILN_ERR_LIB,
                             "output '%s' must have %" PRIu64 " bytes, has %zu",
                             p->output[i].name, bytes, file.n);
        out[i] = kiln_tensor_new(a, &p->output[i].type);
        if (file.n > 0)
            memcpy(out[i].data, file.p, file.n);
    }
    return KILN_OK;
}

/* NULL-terminated. */
static kiln_status make_command(const run *r, bool wants_outputs, const char ***out,
                                kiln_err *err) {
    enum { OWN_ARGS = 30 };
    kiln_arena *a = r->arena;
    const kiln_device_package *p = r->package;
    const char **argv = kiln_array(a, const char *, KILN_DEVICE_COMMAND + OWN_ARGS);
    size_t n = 0;
    KILN_TRY(r->device->command(r->device, a, argv, &n, err));
    KILN_ASSERT(n >= 1 && n <= KILN_DEVICE_COMMAND, "a command of %zu words", n);
    argv[n++] = /* never read as an option */
        p->folder[0] == '-' ? kiln_format(a, "./%s", p->folder) : p->folder;
    argv[n++] = "--raw";
    argv[n++] = "--threads";
    argv[n++] = kiln_format(a, "%d", r->job.n_threads);
    argv[n++] = "--rounds";
    argv[n++] = kiln_format(a, "%d", r->job.n_rounds);
    argv[n++] = "--warm-up";
    argv[n++] = kiln_format(a, "%d", r->job.n_warm_up);
    argv[n++] = "--json";
    argv[n++] = kiln_format(a, "%s/report.json", r->dir);
    if (p->has_driver)
        argv[n++] = "--free";
    if (r->job.wants_profile)
        argv[n++] = "--profile";
    if (r->job.injected_ppm > 0) {
        argv[n++] = "--inject-ppm";
        argv[n++] = kiln_format(a, "%d", r->job.injected_ppm);
    }
    if (r->job.trace != NULL) {
        argv[n++] = "--trace";
        argv[n++] = r->job.trace;
        argv[n++] = "--trace-begin";
        argv[n++] = kiln_format(a, "%d", r->job.trace_begin);
        argv[n++] = "--trace-end";
        argv[n++] = kiln_format(a, "%d", r->job.trace_end);
    }
    if (wants_outputs) {
        argv[n++] = "--output-dir";
        argv[n++] = r->dir;
    }
    argv[n++] = "--input-dir";
    argv[n++] = r->dir;
    KILN_ASSERT(n < KILN_DEVICE_COMMAND + OWN_ARGS, "a command of %zu words", n);
    argv[n] = NULL;
    *out = argv;
    return KILN_OK;
}

/* How kiln-run ended, as an error of ours; its own words where it had some. */
static kiln_status judge(const run *r, const kiln_process_result *got, kiln_err *err) {
    enum { RUNNER_USAGE = 2, RUNNER_INPUT, RUNNER_DEVICE, RUNNER_KERNEL };
    const char *says =
        kiln_str_printable(r->arena, kiln_str_trim(got->err), STDERR_SHOWN);
    if (got->end == KILN_PROCESS_TIMED_OUT)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "device '%s': '%s' did not end within %" PRId64 " ms",
                         r->device->name, r->package->model, r->job.time_limit_ms);
    if (got->end == KILN_PROCESS_SIGNALED)
        return kiln_fail(err, KILN_ERR_LIB, "device '%s': '%s' died of signal %d %s",
                         r->device->name, r->package->model, got->code, says);
    const kiln_status st = got->code == 0               ? KILN_OK
                           : got->code == RUNNER_USAGE  ? KILN_ERR_ARG
                           : got->code == RUNNER_INPUT  ? KILN_ERR_PARSE
                           : got->code == RUNNER_DEVICE ? KILN_ERR_IO
                                                        : KILN_ERR_LIB;
    return st == KILN_OK ? st
                         : kiln_fail(err, st, "device '%s': %s (exit code %d)",
                                     r->device->name, says, got->code);
}

static kiln_status spawn(const run *r, bool wants_outputs, kiln_err *err) {
    const char **argv = NULL;
    kiln_process_result got;
    KILN_TRY(make_command(r, wants_outputs, &argv, err));
    const uint64_t limit = r->job.memory_limit_bytes;
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = r->job.time_limit_ms,
                                    .data_limit_bytes =
                                        limit > 0 ? limit + r->device->own_bytes : 0};
    KILN_TRY(kiln_process_run(r->arena, &o, &got, err));
    return judge(r, &got, err);
}

static kiln_status run_in_folder(run *r, kiln_arena *a, const kiln_tensor *in,
                                 size_t n_in, kiln_tensor *out,
                                 kiln_device_result *result, kiln_err *err) {
    KILN_TRY(write_inputs(r, in, n_in, err));
    KILN_TRY(spawn(r, out != NULL, err));
    if (result != NULL)
        KILN_TRY(
            kiln_device_read_report(a, kiln_format(r->arena, "%s/report.json", r->dir),
                                    r->package, &r->job, result, err));
    return out != NULL ? read_outputs(r, a, out, err) : KILN_OK;
}

kiln_status kiln_device_run(kiln_arena *a, const kiln_device *d,
                            const kiln_device_package *p, const kiln_device_job *job,
                            const kiln_tensor *in, size_t n_in, kiln_tensor *out,
                            kiln_device_result *result, kiln_err *err) {
    kiln_arena scratch = {0};
    run r = {.arena = &scratch, .device = d, .package = p};
    const kiln_device_order o = {p, &r.job, in, out, result};
    KILN_TRY(complete(job, &r.job, err));
    kiln_status st = check_inputs(&r, in, n_in, err);
    if (st == KILN_OK)
        st = d->run != NULL ? d->run(d, a, &o, err)
                            : kiln_dir_temp(&scratch, &r.dir, err);
    if (st == KILN_OK && d->run == NULL)
        st = run_in_folder(&r, a, in, n_in, out, result, err);
    if (st != KILN_OK)
        kiln_note(err, "running '%s' on device '%s'", p->folder, d->name);
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_device_run_graph(void *target, kiln_arena *a, const kiln_graph *g,
                                  const kiln_tensor *in, size_t n_in, kiln_tensor *out,
                                  kiln_err *err) {
    const kiln_device_target *t = target;
    const kiln_device_package *p = t->package;
    if (g->outputs.n != p->n_outputs)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "the package has %zu outputs, the model has %zu", p->n_outputs,
                         g->outputs.n);
    for (size_t i = 0; i < p->n_outputs; i++)
        if (!fits(&g->outputs.v[i]->type, &p->output[i].type))
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "output '%s' is %s in the package, %s in the model",
                             p->output[i].name, kiln_type_text(a, &p->output[i].type),
                             kiln_type_text(a, &g->outputs.v[i]->type));
    return kiln_device_run(a, t->device, p, &t->job, in, n_in, out, NULL, err);
}
