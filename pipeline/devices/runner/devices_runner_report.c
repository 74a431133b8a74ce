/* The report, as JSON: who ran, each run's time, each step's time. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "pipeline/devices/runner/runner.h"

/* Names come from the package and may hold any byte: what is not printable ASCII is
 * written by its code. */
char run_line[RUN_LINE];

void run_print(FILE *f, const char *begin, char *line) {
    for (char *c = line; *c != '\0'; c++)
        if (((unsigned char)*c < ' ' && *c != '\n') || *c == 0x7f)
            *c = '?';
    (void)fprintf(f, "%s%s\n", begin, line);
}

static void put_string(FILE *f, const char *s) {
    fputc('"', f);
    for (; *s != '\0'; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 0x20 || c > 0x7E)
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

static void put_port(FILE *f, const kiln_port_info *port, const char *separator) {
    fprintf(f, "%s\n    {\"name\": ", separator);
    put_string(f, port->name);
    fprintf(f, ", \"dtype\": ");
    put_string(f, port->dtype);
    fprintf(f, ", \"shape\": [");
    for (int i = 0; i < port->rank; i++)
        fprintf(f, "%s%" PRId64, i > 0 ? ", " : "", port->dim[i]);
    fprintf(f, "]}");
}

static void put_ports(FILE *f, const char *key, const kiln_model *m, int n,
                      int (*port_of)(const kiln_model *, int, kiln_port_info *)) {
    kiln_port_info port;
    fprintf(f, ",\n  \"%s\": [", key);
    for (int i = 0; i < n && port_of(m, i, &port) == 0; i++)
        put_port(f, &port, i > 0 ? "," : "");
    fprintf(f, "]");
}

static void put_steps(FILE *f, const kiln_session *s) {
    kiln_step_info step;
    fprintf(f, ",\n  \"steps\": [");
    for (int i = 0; kiln_session_step(s, i, &step) == 0; i++) {
        fprintf(f, "%s\n    {\"name\": ", i > 0 ? "," : "");
        put_string(f, step.name);
        fprintf(f, ", \"op\": ");
        put_string(f, step.op);
        fprintf(f, ", \"runs\": %" PRIu64 ", \"ns\": %" PRIu64 "}", step.runs,
                step.nanoseconds);
    }
    fprintf(f, "]");
}

static void put_numbers(FILE *f, const char *key, const uint64_t *v, int n) {
    fprintf(f, ",\n  \"%s\": [", key);
    for (int i = 0; i < n; i++)
        fprintf(f, "%s%" PRIu64, i > 0 ? ", " : "", v[i]);
    fprintf(f, "]");
}

static void put_report(FILE *f, const run_options *o, const kiln_model *m,
                       const kiln_session *s, const run_times *t) {
    fprintf(f, "{\n  \"model\": ");
    put_string(f, kiln_model_name(m));
    fprintf(f, ",\n  \"profile\": ");
    put_string(f, kiln_model_profile(m));
    fprintf(f, ",\n  \"threads\": %d,\n  \"session_bytes\": %zu", o->n_threads,
            kiln_session_bytes(s));
    fprintf(f, ",\n  \"open_ns\": %" PRIu64, t->open_ns);
    put_ports(f, "inputs", m, kiln_model_n_inputs(m), kiln_model_input);
    put_ports(f, "outputs", m, kiln_model_n_outputs(m), kiln_model_output);
    put_numbers(f, "run_ns", t->run_ns, o->n_rounds);
    put_numbers(f, "cpu_ns", t->cpu_ns, o->n_rounds);
    put_numbers(f, "preempted", t->preempted, o->n_rounds);
    fprintf(f, ",\n  \"clock_ghz\": [%.4f, %.4f]", t->clock_ghz[0], t->clock_ghz[1]);
    if (o->injected_ppm > 0)
        fprintf(f, ",\n  \"injected_ppm\": %d", o->injected_ppm);
    fprintf(f, ",\n  \"confined\": %s", t->is_confined ? "true" : "false");
    if (o->is_profiled)
        put_steps(f, s);
    fprintf(f, "\n}\n");
}

run_exit run_report(FILE *f, const run_options *o, const kiln_model *m,
                    const kiln_session *s, const run_times *t) {
    put_report(f, o, m, s, t);
    return fflush(f) == 0 && ferror(f) == 0
               ? RUN_OK
               : run_fail(RUN_DEVICE, "'%s': could not be written whole", o->json);
}
