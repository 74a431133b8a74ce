/* What this machine can do: multiply-adds of all threads together, and how fast they copy
 * and read each level of its memory. By kernels that kiln made, in a forked process: the
 * runner itself has no threads. */
#include "pipeline/measure/runner/runner_internal.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEVEL_SLICES = 7, MAX_PEAKS = 1000 };
static const double slice_bytes = 4e6; /* a few hundred microseconds at most */

/* Shared with the process that measures. */
typedef struct answer {
    bool is_done;
    char problem[KILN_ERR_TEXT];
    kiln_peak_slice peak;
    double gbs[KILN_WIRE_MAX_LEVELS];
} answer;

/* ---- in the process -------------------------------------------------------------- */

static kiln_status open_pool(const kiln_runner *r, kiln_pool **out, kiln_err *err) {
    const kiln_pool_options o = {.n_threads = (int)r->options.threads, .pins = 1};
    char text[KILN_POOL_TEXT] = "";
    if (r->options.threads > 1 && kiln_pool_open(&o, out, text) != 0)
        return kiln_fail(err, KILN_ERR_LIB, "%s", text);
    return KILN_OK;
}

static void measure_peak(const kiln_runner *r, kiln_pool *pool, uint32_t n,
                         answer *out) {
    const kiln_meter_kernels *m = &r->meter;
    for (uint32_t i = 0; i < n; i++) {
        const kiln_peak_slice s = kiln_meter_kernels_slice(m, pool);
        out->peak.gflops = fmax(out->peak.gflops, s.gflops);
        out->peak.clock_ghz = fmax(out->peak.clock_ghz, s.clock_ghz);
    }
}

static double best_gbs(const kiln_runner *r, kiln_pool *pool, kiln_kernel_fn *fn,
                       void *const *tensor, uint64_t bytes) {
    const int runs = (int)(slice_bytes / (double)bytes) + 1;
    const double all = (double)bytes * runs * r->options.threads;
    double best = 0;
    for (int i = 0; i < LEVEL_SLICES; i++) {
        const double ns = kiln_meter_kernels_run(pool, fn, tensor, 2, runs);
        best = fmax(best, ns > 0 ? all / ns : 0);
    }
    return best;
}

/* Each thread has memory of its own. */
static kiln_status measure_level(const kiln_runner *r, kiln_pool *pool,
                                 const kiln_wire_level *l, double *gbs, kiln_err *err) {
    const kiln_str copy_name = KILN_STR_LIT("kiln_meter_copy"),
                   read_name = KILN_STR_LIT("kiln_meter_read");
    kiln_kernel_fn *copy = NULL, *read = NULL;
    kiln_region memory[2 * KILN_MAX_THREADS] = {{.map = NULL}};
    void *tensor[2 * KILN_MAX_THREADS];
    const uint64_t bytes =
        l->read_bytes > l->copy_bytes ? l->read_bytes : l->copy_bytes;
    kiln_status st = kiln_meter_kernels_load(l->copy, copy_name, &copy, err);
    if (st == KILN_OK)
        st = kiln_meter_kernels_load(l->read, read_name, &read, err);
    for (uint32_t i = 0; st == KILN_OK && i < 2 * r->options.threads; i++) {
        st = kiln_region_open((size_t)bytes, false, &memory[i], err);
        tensor[i] = memory[i].data;
        if (st == KILN_OK)
            memset(memory[i].data, 1, (size_t)bytes); /* else all pages are one */
    }
    if (st == KILN_OK)
        *gbs = fmax(best_gbs(r, pool, copy, tensor, l->copy_bytes),
                    best_gbs(r, pool, read, tensor, l->read_bytes));
    for (uint32_t i = 0; i < 2 * r->options.threads; i++)
        kiln_region_close(&memory[i]);
    return st;
}

static kiln_status measure(const kiln_runner *r, const kiln_wire_limits *q, answer *out,
                           kiln_err *err) {
    kiln_pool *pool = NULL;
    KILN_TRY(open_pool(r, &pool, err));
    measure_peak(r, pool, q->n_peaks < MAX_PEAKS ? q->n_peaks : MAX_PEAKS, out);
    for (uint32_t i = 0; i < q->n_levels; i++) {
        const kiln_wire_level *l = &q->level[i];
        if (l->copy_bytes == 0 || l->read_bytes == 0)
            return kiln_fail(err, KILN_ERR_PARSE, "a level of memory has no bytes");
        KILN_TRY(measure_level(r, pool, l, &out->gbs[i], err));
    }
    return KILN_OK;
}

static void child(const kiln_runner *r, const kiln_wire_limits *q, answer *out) {
    kiln_err err = {.len = 0};
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    if (measure(r, q, out, &err) != KILN_OK)
        (void)snprintf(out->problem, sizeof out->problem, "%s", err.text);
    out->is_done = true;
    _exit(0);
}

/* ---- in the runner --------------------------------------------------------------- */

/* One that does not end is the pool's to end, with this process. */
static const char *ended(kiln_arena *a, int pid, const answer *got) {
    int status = 0;
    while (waitpid((pid_t)pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (got->is_done)
        return kiln_str_dup(a, got->problem);
    if (WIFSIGNALED(status))
        return kiln_format(a, "what measures the machine ended with signal %d (%s)",
                           WTERMSIG(status), strsignal(WTERMSIG(status)));
    return kiln_format(a, "what measures the machine ended with code %d",
                       WEXITSTATUS(status));
}

void kiln_limits_measure(kiln_runner *r, kiln_arena *a, const kiln_wire_limits *q,
                         kiln_wire_limited *out) {
    kiln_region shared = {.map = NULL};
    kiln_err err = {.len = 0};
    *out = (kiln_wire_limited){.problem = KILN_STR_LIT("")};
    if (r->device != NULL) { /* what its profile says of it */
        out->peak = (kiln_peak_slice){r->options.device_gflops, 1};
        out->n_levels = q->n_levels;
        for (uint32_t i = 0; i < q->n_levels; i++)
            out->gbs[i] = r->options.device_gbs;
        return;
    }
    if (kiln_region_open(sizeof(answer), true, &shared, &err) != KILN_OK) {
        out->problem = kiln_str_from(kiln_str_dup(a, err.text));
        return;
    }
    answer *got = (answer *)(void *)shared.data;
    const int pid = (int)fork();
    if (pid == 0)
        child(r, q, got);
    out->problem = kiln_str_from(pid > 0 ? ended(a, pid, got) : "cannot fork");
    out->peak = got->peak;
    out->n_levels = q->n_levels;
    memcpy(out->gbs, got->gbs, sizeof got->gbs);
    kiln_region_close(&shared);
}
