/* kiln-run: see `usage`. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "pipeline/devices/runner/runner.h"

static const char usage[] =
    "usage: kiln-run FOLDER [OPTION]...\n"
    "\n"
    "Runs an unpacked package (plan.bin, params.safetensors, lib.so) on this machine.\n"
    "\n"
    "  --input NAME=FILE   bytes of an input: .npy, or raw and row-major\n"
    "  --input-dir DIR     takes inputs from input_0.npy or input_0.bin, ... there\n"
    "  --zeros             inputs without a file are zero\n"
    "  --output-dir DIR    writes output_0.npy, output_1.npy, ... there\n"
    "  --raw               writes output_0.bin, ... without a header instead\n"
    "  --threads N         default 1\n"
    "  --rounds R          timed runs, default 1; 0 only describes the package\n"
    "  --warm-up W         runs before them, default 0\n"
    "  --profile           measures each step too, in the timed runs\n"
    "  --json FILE         report; - is stdout\n"
    "  --inject-ppm N      draws each run out by N millionths of its time: a "
    "regression that is\n"
    "                      none, to test an alarm with\n"
    "  --free              lets the package's code make any system call; otherwise,\n"
    "                      where the system can, it may compute only\n"
    "  --trace FILE        writes what steps read and write in one more run\n"
    "  --trace-begin A     of the steps from A on, default 0\n"
    "  --trace-end B       to B, which is not included; default: all\n"
    "\n"
    "exit codes: 0 good, 2 wrong usage, 3 the package or an input is refused, 4 "
    "memory,\n"
    "threads or a file that cannot be written, 5 a kernel failed\n"
    "example: kiln-run resnet18 --input data=cat.npy --output-dir out --threads 2\n";

static uint64_t read_clock(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t run_now_ns(void) { return read_clock(CLOCK_MONOTONIC); }

void run_draw_out(uint64_t begin_ns, int ppm) {
    const uint64_t ran = run_now_ns() - begin_ns;
    const uint64_t end = begin_ns + ran + ran / 1000000 * (uint64_t)ppm +
                         ran % 1000000 * (uint64_t)ppm / 1000000;
    while (run_now_ns() < end)
        continue;
}

/* Of all threads: how often the system took a processor away before they gave it up. */
static uint64_t n_preempted(void) {
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) == 0 ? (uint64_t)u.ru_nivcsw : 0;
}

/* ---- arguments ------------------------------------------------------------------- */

typedef struct number_option {
    const char *name;
    size_t at; /* in run_options */
    int min, max;
} number_option;

static const number_option numbers[] = {
    {"--threads", offsetof(run_options, n_threads), 1, RUN_MAX_THREADS},
    {"--rounds", offsetof(run_options, n_rounds), 0, RUN_MAX_ROUNDS},
    {"--warm-up", offsetof(run_options, n_warm_up), 0, RUN_MAX_ROUNDS},
    {"--inject-ppm", offsetof(run_options, injected_ppm), 0, RUN_MAX_INJECTED_PPM},
    {"--trace-begin", offsetof(run_options, trace_begin), 0, INT_MAX},
    {"--trace-end", offsetof(run_options, trace_end), 0, INT_MAX},
};

static run_exit set_number(run_options *o, const number_option *n, const char *value) {
    char *end = NULL;
    const long v = strtol(value, &end, 10);
    if (end == value || *end != '\0' || v < n->min || v > n->max)
        return run_fail(RUN_USAGE, "%s must be a number from %d to %d, is '%s'",
                        n->name, n->min, n->max, value);
    const int as_int = (int)v;
    memcpy((char *)o + n->at, &as_int, sizeof as_int);
    return RUN_OK;
}

static int set_flag(run_options *o, const char *name) {
    int *const flag = strcmp(name, "--zeros") == 0     ? &o->fills_zeros
                      : strcmp(name, "--raw") == 0     ? &o->is_raw
                      : strcmp(name, "--profile") == 0 ? &o->is_profiled
                      : strcmp(name, "--free") == 0    ? &o->is_free
                                                       : NULL;
    if (flag != NULL)
        *flag = 1;
    return flag != NULL;
}

static run_exit set_value(run_options *o, const char *name, const char *value) {
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(name, numbers[i].name) == 0)
            return set_number(o, &numbers[i], value);
    if (strcmp(name, "--input-dir") == 0)
        o->input_dir = value;
    else if (strcmp(name, "--output-dir") == 0)
        o->output_dir = value;
    else if (strcmp(name, "--json") == 0)
        o->json = value;
    else if (strcmp(name, "--trace") == 0)
        o->trace = value;
    else if (strcmp(name, "--input") != 0)
        return run_fail(RUN_USAGE, "'%s' is not an option; kiln-run --help lists them",
                        name);
    else if (o->n_inputs == RUN_MAX_INPUTS)
        return run_fail(RUN_USAGE, "more than %d inputs", RUN_MAX_INPUTS);
    else
        o->input[o->n_inputs++] = value;
    return RUN_OK;
}

static run_exit parse(int argc, char **argv, run_options *o) {
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (name[0] != '-') {
            if (o->folder != NULL)
                return run_fail(RUN_USAGE, "two folders: '%s' and '%s'", o->folder,
                                name);
            o->folder = name;
            continue;
        }
        if (set_flag(o, name))
            continue;
        if (i + 1 == argc)
            return run_fail(RUN_USAGE, "'%s' needs a value, or is not an option", name);
        const run_exit code = set_value(o, name, argv[++i]);
        if (code != RUN_OK)
            return code;
    }
    if (o->folder == NULL)
        return run_fail(RUN_USAGE, "no folder; kiln-run --help explains");
    return RUN_OK;
}

/* ---- running --------------------------------------------------------------------- */

/* Names may hold '=': the longest left side that is an input. -1: none. */
static int find_input(const kiln_model *m, const char *text, const char **file) {
    kiln_port_info port;
    int found = -1;
    for (const char *p = strchr(text, '='); p != NULL; p = strchr(p + 1, '='))
        for (int i = 0; kiln_model_input(m, i, &port) == 0; i++)
            if (strncmp(port.name, text, (size_t)(p - text)) == 0 &&
                port.name[p - text] == '\0') {
                *file = p + 1;
                found = i;
            }
    return found;
}

static run_exit fill_zeros(kiln_session *s, int i, const kiln_port_info *port) {
    const size_t n = port->bytes > 0 ? port->bytes : 1;
    void *zeros =
        mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (zeros == MAP_FAILED)
        return run_fail(RUN_DEVICE, "no memory for input '%s'", port->name);
    const int failed = kiln_session_set_input(s, i, zeros);
    munmap(zeros, n);
    return failed ? run_fail(RUN_DEVICE, "%s", kiln_session_error(s)) : RUN_OK;
}

enum { PATH_BYTES = 4096 };

/* DIR/input_<i>.npy, or .bin; 0 where there is neither. */
static int find_in_folder(char path[PATH_BYTES], const char *dir, int i) {
    static const char *const kinds[] = {"npy", "bin"};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const int n = snprintf(path, PATH_BYTES, "%s/input_%d.%s", dir, i, kinds[k]);
        if (n > 0 && n < PATH_BYTES && access(path, R_OK) == 0)
            return 1;
    }
    return 0;
}

static run_exit set_input(const run_options *o, const kiln_model *m, kiln_session *s,
                          int i, const char *file) {
    enum { SHAPE_TEXT = 256 };
    char path[PATH_BYTES], shape[SHAPE_TEXT];
    kiln_port_info port;
    kiln_model_input(m, i, &port);
    if (file != NULL)
        return run_read_input(s, i, &port, file);
    if (o->input_dir != NULL && find_in_folder(path, o->input_dir, i))
        return run_read_input(s, i, &port, path);
    if (o->fills_zeros)
        return fill_zeros(s, i, &port);
    run_port_text(shape, sizeof shape, &port);
    return run_fail(RUN_USAGE,
                    "input %d, '%s' (%s), has no file; give --input %s=FILE, or "
                    "--zeros",
                    i, port.name, shape, port.name);
}

static run_exit set_inputs(const run_options *o, const kiln_model *m, kiln_session *s) {
    const char *file_of[RUN_MAX_INPUTS] = {NULL};
    if (kiln_model_n_inputs(m) > RUN_MAX_INPUTS)
        return run_fail(RUN_INPUT, "a package of more than %d inputs", RUN_MAX_INPUTS);
    for (int k = 0; k < o->n_inputs; k++) {
        const char *file = NULL;
        const int i = find_input(m, o->input[k], &file);
        if (i < 0)
            return run_fail(RUN_USAGE, "'%s': must be NAME=FILE of an input of '%s'",
                            o->input[k], kiln_model_name(m));
        file_of[i] = file;
    }
    for (int i = 0; i < kiln_model_n_inputs(m); i++) {
        const run_exit code = set_input(o, m, s, i, file_of[i]);
        if (code != RUN_OK)
            return code;
    }
    return RUN_OK;
}

static run_exit run_once(kiln_session *s) {
    return kiln_session_run(s) == 0 ? RUN_OK
                                    : run_fail(RUN_KERNEL, "%s", kiln_session_error(s));
}

/* The wall's clock is read last before a run and first after it. */
static run_exit run_timed(const run_options *o, kiln_session *s, int i, run_times *t) {
    const uint64_t preempted = n_preempted();
    const uint64_t cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
    const uint64_t begin = run_now_ns();
    const run_exit code = run_once(s);
    if (o->injected_ppm > 0)
        run_draw_out(begin, o->injected_ppm);
    t->run_ns[i] = run_now_ns() - begin;
    t->cpu_ns[i] = read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
    t->preempted[i] = n_preempted() - preempted;
    return code;
}

static run_exit run(const run_options *o, kiln_session *s, run_times *t) {
    run_exit code = RUN_OK;
    for (int i = 0; i < o->n_warm_up && code == RUN_OK; i++)
        code = run_once(s);
    t->clock_ghz[0] = run_clock_ghz();
    if (code == RUN_OK && o->n_warm_up > 0) /* what measured the clock went through */
        code = run_once(s);                 /* caches, and threads fell asleep */
    if (o->is_profiled)
        kiln_session_profile(s, 1);
    for (int i = 0; i < o->n_rounds && code == RUN_OK; i++)
        code = run_timed(o, s, i, t);
    t->clock_ghz[1] = run_clock_ghz();
    return code;
}

static void print_times(const run_options *o, const kiln_model *m, const run_times *t) {
    uint64_t least = UINT64_MAX, sum = 0;
    for (int i = 0; i < o->n_rounds; i++) {
        least = t->run_ns[i] < least ? t->run_ns[i] : least;
        sum += t->run_ns[i];
    }
    (void)snprintf(run_line, sizeof run_line,
                   "%s: %d runs at %d threads, %.3f ms at best, %.3f ms on average",
                   kiln_model_name(m), o->n_rounds, o->n_threads, (double)least * 1e-6,
                   (double)sum * 1e-6 / o->n_rounds);
    run_print(stdout, "", run_line);
}

/* ---- files ----------------------------------------------------------------------- */

static run_exit open_named(const char *path, FILE **out) {
    *out = run_open(path);
    return *out != NULL ? RUN_OK
                        : run_fail(RUN_DEVICE, "'%s': %s", path, strerror(errno));
}

static size_t bytes_of_list(const run_files *f) {
    return ((size_t)f->n_outputs + 1) * sizeof *f->output;
}

static run_exit open_files(const run_options *o, const kiln_model *m, run_files *f) {
    const int is_run = o->n_rounds > 0;
    kiln_port_info port;
    run_exit code = RUN_OK;
    if (o->json != NULL && strcmp(o->json, "-") == 0)
        f->json = stdout;
    else if (o->json != NULL)
        code = open_named(o->json, &f->json);
    if (code == RUN_OK && is_run && o->trace != NULL)
        code = open_named(o->trace, &f->trace);
    if (code != RUN_OK || !is_run || o->output_dir == NULL)
        return code;
    while (kiln_model_output(m, f->n_outputs, &port) == 0)
        f->n_outputs++;
    void *const list = mmap(NULL, bytes_of_list(f), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED)
        return run_fail(RUN_DEVICE, "no memory for %d outputs", f->n_outputs);
    f->output = list;
    for (int i = 0; i < f->n_outputs && code == RUN_OK; i++) {
        kiln_model_output(m, i, &port);
        code = run_open_output(o->output_dir, i, &port, o->is_raw, &f->output[i]);
    }
    return code;
}

static run_exit close_file(FILE *f, const char *name, run_exit code) {
    const int is_good = f == NULL || f == stdout || fclose(f) == 0;
    return code != RUN_OK || is_good
               ? code
               : run_fail(RUN_DEVICE, "'%s': could not be written whole", name);
}

static run_exit close_files(const run_options *o, run_files *f, run_exit code) {
    code = close_file(f->json, o->json, code);
    code = close_file(f->trace, o->trace, code);
    for (int i = 0; f->output != NULL && i < f->n_outputs; i++)
        code = close_file(f->output[i], o->output_dir, code);
    if (f->output != NULL)
        munmap(f->output, bytes_of_list(f));
    return code;
}

/* ---- a session ------------------------------------------------------------------- */

static run_exit write_outputs(const run_options *o, const kiln_model *m,
                              const kiln_session *s, const run_files *f) {
    kiln_port_info port;
    run_exit code = RUN_OK;
    for (int i = 0; f->output != NULL && i < f->n_outputs && code == RUN_OK; i++) {
        kiln_model_output(m, i, &port);
        code = run_write_output(f->output[i], i, &port, kiln_session_output(s, i),
                                o->is_raw);
    }
    return code;
}

/* Inputs are given, files are open: from here on the package's code runs. stdout gets
 * its buffer now, too. */
static run_exit run_confined(const run_options *o, const kiln_model *m, kiln_session *s,
                             const run_files *f, run_times *t) {
    static char buffer[BUFSIZ];
    const int is_run = o->n_rounds > 0;
    (void)setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    t->is_confined = is_run && !o->is_free && run_confine();
    run_exit code = is_run ? run(o, s, t) : RUN_OK;
    if (code == RUN_OK && f->json != NULL)
        code = run_report(f->json, o, m, s, t);
    if (code == RUN_OK && f->trace != NULL)
        code = run_traced(f->trace, o, s);
    if (code == RUN_OK)
        code = write_outputs(o, m, s, f);
    if (code == RUN_OK && is_run && f->json != stdout)
        print_times(o, m, t);
    return fflush(stdout) == 0 || code != RUN_OK
               ? code
               : run_fail(RUN_DEVICE, "stdout could not be written to");
}

static run_exit run_session(const run_options *o, const kiln_model *m, kiln_session *s,
                            run_times *t) {
    run_files f = {.json = NULL};
    run_exit code = o->n_rounds > 0 ? set_inputs(o, m, s) : RUN_OK;
    if (code == RUN_OK)
        code = open_files(o, m, &f);
    if (code == RUN_OK)
        code = run_confined(o, m, s, &f, t);
    return close_files(o, &f, code);
}

static run_exit open_and_run(const run_options *o) {
    char error[KILN_ERROR_TEXT] = "";
    run_times t = {0};
    const size_t n = (size_t)o->n_rounds + 1;
    const size_t time_bytes = 3 * n * sizeof *t.run_ns;
    void *const times = mmap(NULL, time_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (times == MAP_FAILED)
        return run_fail(RUN_DEVICE, "no memory for %d times", o->n_rounds);
    t.run_ns = times;
    t.cpu_ns = t.run_ns + n;
    t.preempted = t.cpu_ns + n;
    const uint64_t begin = run_now_ns();
    kiln_model *m = kiln_model_open(o->folder, NULL, error);
    if (m == NULL) {
        munmap(times, time_bytes);
        return run_fail(RUN_INPUT, "%s", error);
    }
    const kiln_session_options options = {.n_threads = o->n_threads};
    const kiln_model *v = m;
    kiln_session *s = NULL;
    run_exit code = run_choose(o, m, &v);
    if (code == RUN_OK) {
        s = kiln_session_open(v, &options, error);
        t.open_ns = run_now_ns() - begin;
        code = s != NULL ? run_session(o, v, s, &t) : run_fail(RUN_DEVICE, "%s", error);
    }
    kiln_session_close(s);
    kiln_model_close(m);
    munmap(times, time_bytes);
    return code;
}

int main(int argc, char **argv) {
    run_options o = {.n_threads = 1, .n_rounds = 1, .trace_end = INT_MAX};
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return fputs(usage, stdout) < 0 ? RUN_DEVICE : RUN_OK;
    const run_exit code = parse(argc, argv, &o);
    return (int)(code == RUN_OK ? open_and_run(&o) : code);
}
