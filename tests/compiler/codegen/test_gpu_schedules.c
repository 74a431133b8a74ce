/* Random schedules for GPUs of tensor expressions: printed as OpenCL C and run on this
 * machine's device they compute what the expressions say, within the tolerance of
 * tests/support/kernel/te_call.h; as PTX NVIDIA's assembler takes them. KILN_SOAK=1: 1,000 of them.
 * KILN_TEST_GPU=cuda: by the runtime, as PTX, on NVIDIA's first GPU; opencl: by the
 * runtime, too (tools/gpu-kit.sh carries this program to machines with a GPU). */
#include "base/files/file.h"
#include "base/host/process.h"
#include "base/files/program.h"
#include "compiler/codegen/codegen_gpu_module.h"
#include "compiler/schedule/schedule.h"
#include "tests/support/gpu/device_run.h"
#include "tests/support/kiln_test.h"
#include "tests/support/gpu/opencl_leaks.h"
#include "tests/support/gpu/opencl_run.h"
#include "tests/support/gpu/ptxas.h"
#include "tests/support/random/random_gpu_schedule.h"
#include "tests/support/kernel/te_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOAK_EACH = 32, MAX_PRIMITIVES = 24, TRIES = 24, BATCH = 11 };

enum { OPENCL, PTX, N_LANGUAGES };
static const char *const profiles[N_LANGUAGES] = {"opencl-pocl", "cuda-sm80"};

typedef struct drawn {
    const kiln_program *p;
    te_example x;
    te_call c;
    kiln_wide in[8], want[8];
    kiln_buf log;
} drawn;

typedef struct counts {
    int made, n_launches, raced, refused, threads;
    int died; /* programs that ended the driver's process */
} counts;

/* The runtime's kind of device to run on; NULL: OpenCL's first one, without it. */
static const char *device_kind(void) {
    const char *kind = getenv("KILN_TEST_GPU");
    return kind != NULL && kind[0] != '\0' ? kind : NULL;
}

static const char *missing(void) {
    return device_kind() != NULL ? device_missing(device_kind()) : opencl_missing();
}

static const kiln_profile *profile_of(const char *name) {
    for (int i = 0; kiln_gpu_profile_at(i) != NULL; i++)
        if (strcmp(kiln_gpu_profile_at(i)->name, name) == 0)
            return kiln_gpu_profile_at(i);
    fail_msg("no profile '%s'", name);
    return NULL;
}

static void find_thread(void *user, const kiln_stmt *s) {
    int *n = user;
    *n += s->kind == KILN_STMT_LAUNCH;
}

/* False: lowering, or a pass, refuses the draw; or threads of it race. */
static bool draw(kiln_arena *a, const te_example_def *def, uint64_t seed, drawn *d,
                 counts *n) {
    kiln_rng rng;
    random_schedule_stats stats = {0, 0};
    kiln_err err = {0};
    kiln_program *p = NULL;
    const kiln_natives natives = kiln_codegen_natives(profile_of("opencl-pocl"));
    const kiln_loop_options lo = {.natives = &natives};
    *d = (drawn){.p = NULL};
    kiln_rng_init(&rng, seed);
    kiln_buf_init(&d->log, a);
    def->make(a, &d->x);
    te_call_prepare(a, &rng, &d->x, &d->c, d->in);
    te_call_evaluate(a, &d->x, d->in, d->want);
    const kiln_te *const *out = d->x.arg + d->x.n_inputs;
    kiln_schedule *s = random_gpu_schedule(a, &rng, out, d->x.n_args - d->x.n_inputs,
                                           (int)kiln_rng_range(&rng, 0, MAX_PRIMITIVES),
                                           &d->log, &stats);
    if (kiln_lower(a, s, d->x.arg, d->x.n_args, d->x.n_inputs, "drawn", &p, &err) !=
        KILN_OK)
        return false;
    if (kiln_program_optimize(p, &lo, &err) != KILN_OK)
        return false;
    if (kiln_program_run(a, p, d->c.arg, &(kiln_loop_run_options){.seed = seed},
                         &err) != KILN_OK) {
        fprintf(stderr, "%s: %s\n%s\n", def->name, err.text,
                d->log.n > 0 ? d->log.p : "");
        n->raced++;
        return false;
    }
    kiln_stmt_visit(p->body, find_thread, &n->threads);
    d->p = p;
    return true;
}

/* False: a table, or the profile's limits, refuse it by name. */
static bool compile(kiln_arena *a, drawn *d, int number, kiln_str *out, counts *n) {
    kiln_program *p = kiln_new(a, kiln_program);
    *p = *d->p;
    p->name = kiln_format(a, "drawn_%d", number);
    d->p = p;
    for (size_t i = 0; i < N_LANGUAGES; i++) {
        kiln_object o;
        kiln_err err = {0};
        const kiln_status st =
            kiln_codegen(a, p, profile_of(profiles[i]), NULL, &o, NULL, &err);
        if (st == KILN_ERR_UNSUPPORTED || st == KILN_ERR_LIMIT) {
            n->refused++;
            if (getenv("VERBOSE") != NULL)
                print_message("%s\n", err.text);
            return false;
        }
        if (st != KILN_OK)
            fprintf(stderr, "%s", d->log.n > 0 ? d->log.p : "");
        kiln_assert_status_ok(st, &err);
        kiln_assert_status_ok(kiln_object_check(o.bytes, &err), &err);
        out[i] = o.bytes;
    }
    return true;
}

static void report(kiln_arena *a, const drawn *d, const char *what) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_program_print(&text, d->p);
    fprintf(stderr, "%s: %s\n%s\n%s\n", d->p->name, what, d->log.n > 0 ? d->log.p : "",
            text.p);
}

/* All of one language; *bytes: the module as it lies. */
static kiln_gpu_module linked(kiln_arena *a, kiln_str (*object)[N_LANGUAGES], size_t n,
                              int language, kiln_str *bytes) {
    kiln_str *all = kiln_array(a, kiln_str, n), out = {"", 0};
    kiln_gpu_module m;
    kiln_err err = {0};
    for (size_t i = 0; i < n; i++)
        all[i] = object[i][language];
    kiln_assert_status_ok(kiln_gpu_module_link(a, all, n, &out, &err), &err);
    kiln_assert_status_ok(kiln_gpu_object_open(a, out, &m, &err), &err);
    *bytes = out;
    return m;
}

/* Ready to run: one of them, or, where nothing runs here, none. */
typedef struct ready {
    opencl_code *opencl;
    device_code *device;
} ready;

static ready make_ready(kiln_arena *a, const kiln_gpu_module *m,
                        const kiln_str *bytes) {
    ready code = {NULL, NULL};
    kiln_err err = {0};
    if (missing() != NULL)
        return code;
    const kiln_status st = device_kind() == NULL ? opencl_open(a, m, &code.opencl, &err)
                           : strcmp(device_kind(), "cuda") == 0
                               ? device_open(a, bytes[PTX], &code.device, &err)
                               : device_open(a, bytes[OPENCL], &code.device, &err);
    if (st != KILN_OK && getenv("VERBOSE") != NULL)
        fprintf(stderr, "%s\n", m->code);
    kiln_assert_status_ok(st, &err);
    return code;
}

/* Returns how many compute something else. */
static int run(kiln_arena *a, const ready *code, drawn *d) {
    opencl_operand operand[16];
    kiln_err err = {0};
    for (int i = 0; i < d->p->n_args; i++) {
        const kiln_buffer *b = d->p->arg[i];
        operand[i] = (opencl_operand){d->c.arg[i], (size_t)kiln_buffer_elems(b) *
                                                       kiln_dtype_bytes(b->dtype)};
        if (i >= d->p->n_inputs)
            memset(d->c.arg[i], 0xFF, operand[i].bytes);
    }
    const kiln_status st =
        code->device != NULL
            ? device_run(code->device, d->p->name, operand, d->p->n_args, &err)
            : opencl_run(code->opencl, d->p->name, operand, d->p->n_args, &err);
    if (st != KILN_OK)
        report(a, d, err.text);
    kiln_assert_status_ok(st, &err);
    for (int i = 0; i < d->c.n_out; i++)
        if (te_call_differs(a, &d->c.out[i], &d->want[i])) {
            report(a, d, "another result");
            return 1;
        }
    return 0;
}

static int batch(size_t first, size_t n_examples, uint64_t round, counts *n) {
    kiln_arena a = {0};
    drawn *all = kiln_array(&a, drawn, BATCH);
    kiln_str object[BATCH][N_LANGUAGES];
    kiln_str bytes[N_LANGUAGES];
    size_t n_all = 0;
    int n_wrong = 0;
    for (size_t i = first; i < first + n_examples; i++)
        for (uint64_t k = 0; k < TRIES; k++) {
            const uint64_t seed =
                kiln_test_seed() * 1000003u + (round * n_te_examples + i) * TRIES + k;
            if (!draw(&a, &te_examples[i], seed, &all[n_all], n) ||
                !compile(&a, &all[n_all], (int)n_all, object[n_all], n))
                continue;
            n_all++;
            break;
        }
    n->made += (int)n_all;
    const kiln_gpu_module m = linked(&a, object, n_all, OPENCL, &bytes[OPENCL]);
    const kiln_gpu_module ptx = linked(&a, object, n_all, PTX, &bytes[PTX]);
    if (ptxas_is_here())
        (void)ptxas_said(&a, profile_of(profiles[PTX]), ptx.code);
    n->n_launches += (int)m.header->n_launches;
    const ready code = make_ready(&a, &m, bytes);
    const bool runs = code.opencl != NULL || code.device != NULL;
    for (size_t i = 0; i < n_all && runs; i++)
        n_wrong += run(&a, &code, &all[i]);
    if (code.opencl != NULL)
        opencl_close(code.opencl);
    if (code.device != NULL)
        device_close(code.device);
    kiln_arena_fini(&a);
    return n_wrong;
}

/* ---- in a process of its own ----------------------------------------------------- */

/* Drivers are programs with faults of their own, and one that ends the process is not to
 * end the test: a batch is done by this program once more, which says on a line what it
 * counted. Where it died, each expression is asked for alone. */
static const char asked_for[] = "KILN_TEST_BATCH";

static int answer(const char *asked) {
    counts n = {0};
    kiln_str rest = kiln_str_from(asked), word;
    int64_t v[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++)
        if (!kiln_str_cut(&rest, ',', &word) || !kiln_parse_i64(word, &v[i]))
            return 2;
    const int n_wrong = batch((size_t)v[0], (size_t)v[1], (uint64_t)v[2], &n);
    printf("%s=%d,%d,%d,%d,%d,%d\n", asked_for, n.made, n.n_launches, n.raced,
           n.refused, n.threads, n_wrong);
    return 0;
}

static bool read_counts(kiln_str out, counts *n, int *n_wrong) {
    int64_t v[6];
    kiln_str line;
    const kiln_str key = kiln_str_from(asked_for);
    while (kiln_str_cut(&out, '\n', &line)) {
        kiln_str word, rest = {line.p + key.n + 1, line.n - key.n - 1};
        if (!kiln_str_starts(line, asked_for))
            continue;
        for (int i = 0; i < 6; i++)
            if (!kiln_str_cut(&rest, ',', &word) || !kiln_parse_i64(word, &v[i]))
                return false;
        n->made += (int)v[0];
        n->n_launches += (int)v[1];
        n->raced += (int)v[2];
        n->refused += (int)v[3];
        n->threads += (int)v[4];
        *n_wrong += (int)v[5];
        return true;
    }
    return false;
}

static int ask(size_t first, size_t n_examples, uint64_t round, counts *n) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_process_result r;
    int n_wrong = 0;
    char *own = NULL;
    kiln_assert_status_ok(kiln_program_own(&a, &own, &err), &err);
    const char *argv[] = {own, NULL};
    const char *env[] = {
        kiln_format(&a, "%s=%zu,%zu,%" PRIu64, asked_for, first, n_examples, round),
        NULL};
    const char *folder = NULL; /* for what a driver leaves that dies */
    kiln_assert_status_ok(kiln_dir_temp(&a, &folder, &err), &err);
    const kiln_process_options o = {.argv = argv,
                                    .dir = folder,
                                    .env = env,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(&a, &o, &r, &err), &err);
    if (r.end == KILN_PROCESS_SIGNALED && n_examples > 1) {
        for (size_t i = 0; i < n_examples; i++)
            n_wrong += ask(first + i, 1, round, n);
    } else if (r.end == KILN_PROCESS_SIGNALED) {
        print_message("%s: the driver dies by signal %d\n", te_examples[first].name,
                      r.code);
        n->died++;
    } else if (r.end != KILN_PROCESS_EXITED || r.code != 0 ||
               !read_counts(r.out, n, &n_wrong)) {
        fail_msg("%s: %s%s", env[0], r.err.p, r.out.p);
    }
    if (n_wrong > 0 || n->raced > 0)
        fprintf(stderr, "%s", r.err.p);
    kiln_arena_fini(&a);
    return n_wrong;
}

static void random_schedules(void **state) {
    const int64_t asked = kiln_test_cases(1); /* KILN_SCHEDULES */
    const uint64_t rounds = getenv("KILN_SOAK") != NULL ? SOAK_EACH
                            : asked > 1                 ? (uint64_t)asked
                                                        : 1;
    const int n_all = (int)(rounds * n_te_examples);
    counts n = {0};
    int n_wrong = 0;
    (void)kiln_test_seed();
    (void)state;
    for (uint64_t r = 0; r < rounds; r++)
        for (size_t i = 0; i < n_te_examples; i += BATCH)
            n_wrong +=
                ask(i, n_te_examples - i < BATCH ? n_te_examples - i : BATCH, r, &n);
    print_message(
        "%d programs of %d launches, %d with threads; %d raced, %d refused by "
        "name, of %d the driver died; %d compute something else\n",
        n.made, n.n_launches, n.threads, n.raced, n.refused, n.died, n_wrong);
    if (missing() != NULL)
        kiln_test_skip("%s", missing());
    assert_int_equal(n_wrong, 0);
    assert_int_equal(n.raced, 0);
    assert_true(n.died <= 1 + n_all / 100);
    assert_true(n.made * 10 >= n_all * 9);
}

OPENCL_LEAKS_ARE_THE_DRIVERS

int main(void) {
    if (getenv(asked_for) != NULL)
        return answer(getenv(asked_for));
    kiln_test_add("random_schedules", random_schedules, NULL);
    return kiln_test_run("GPU schedules");
}
