/* kiln-run's report, read back. The package's code ran in the process that wrote it:
 * nothing in it is trusted. */
#include "pipeline/devices/devices_internal.h"

enum { MAX_REPORT_BYTES = 256 << 20 };

static bool get_u64(const kiln_json *object, const char *key, uint64_t *out) {
    int64_t v = 0;
    if (!kiln_json_i64(kiln_json_get(object, key), &v) || v < 0)
        return false;
    *out = (uint64_t)v;
    return true;
}

/* n numbers of a list; NULL: it is none of these. */
static const uint64_t *read_numbers(kiln_arena *a, const kiln_json *list, size_t n) {
    if (!kiln_json_is_array(list) || kiln_json_size(list) != n)
        return NULL;
    uint64_t *number = kiln_array(a, uint64_t, n);
    size_t i = 0;
    for (const kiln_json *v = kiln_json_first(list); v != NULL; v = kiln_json_next(v)) {
        int64_t x = 0;
        if (!kiln_json_i64(v, &x) || x < 0)
            return NULL;
        number[i++] = (uint64_t)x;
    }
    return number;
}

static bool read_runs(kiln_arena *a, const kiln_json *report, size_t n,
                      kiln_device_result *out) {
    const kiln_json *clock = kiln_json_get(report, "clock_ghz");
    out->n_runs = n;
    out->run_ns = read_numbers(a, kiln_json_get(report, "run_ns"), n);
    out->cpu_ns = read_numbers(a, kiln_json_get(report, "cpu_ns"), n);
    out->preempted = read_numbers(a, kiln_json_get(report, "preempted"), n);
    for (size_t i = 0; i < 2; i++)
        out->clock_ghz[i] = kiln_json_number(kiln_json_at(clock, i), -1);
    return out->run_ns != NULL && out->cpu_ns != NULL && out->preempted != NULL &&
           out->clock_ghz[0] > 0 && out->clock_ghz[1] > 0;
}

/* Names come from the plan. */
static bool read_steps(kiln_arena *a, const kiln_json *steps,
                       const kiln_device_package *p, kiln_device_result *out) {
    if (!kiln_json_is_array(steps) || kiln_json_size(steps) != p->n_steps)
        return false;
    kiln_device_step *step = kiln_array(a, kiln_device_step, p->n_steps);
    size_t i = 0;
    for (const kiln_json *v = kiln_json_first(steps); v != NULL;
         v = kiln_json_next(v), i++) {
        step[i] = p->step[i];
        if (!get_u64(v, "runs", &step[i].runs) || !get_u64(v, "ns", &step[i].time_ns))
            return false;
    }
    out->step = step;
    out->n_steps = p->n_steps;
    return true;
}

kiln_status kiln_device_read_report(kiln_arena *a, const char *path,
                                    const kiln_device_package *p,
                                    const kiln_device_job *job, kiln_device_result *out,
                                    kiln_err *err) {
    kiln_str text;
    const kiln_json *v = NULL;
    kiln_device_result r = {.n_runs = 0};
    KILN_TRY(kiln_file_map(a, path, MAX_REPORT_BYTES, &text, err));
    KILN_TRY(kiln_json_parse(a, text, "the runner's report", &v, err));
    if (!get_u64(v, "open_ns", &r.open_ns) ||
        !get_u64(v, "session_bytes", &r.session_bytes) ||
        !read_runs(a, v, (size_t)job->n_rounds, &r) ||
        (job->wants_profile && !read_steps(a, kiln_json_get(v, "steps"), p, &r)))
        return kiln_fail(err, KILN_ERR_PARSE, "the runner's report is not whole");
    *out = r;
    return KILN_OK;
}
