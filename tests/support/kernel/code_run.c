#include "tests/support/kernel/code_run.h"

#include "runtime/loader.h"
#include "tests/support/kernel/kernel_call.h"
#include "tests/support/kiln_test.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_PROFILES = 16 };
extern char **environ;

/* A machine that is emulated, and its process. */
typedef struct emulator {
    kiln_arch arch;
    int vector_bytes;
    const char *program, *cpu, *runner, *packages;
    pid_t pid; /* 0: not started */
    FILE *to, *from;
    const code_kernel *loaded; /* the object that the runner has */
} emulator;

static emulator emulators[] = {
#define KILN_QEMU(row, name, ARCH, word, vector_bytes, cpu, packages)                  \
    {KILN_ARCH_##ARCH,                                                                 \
     vector_bytes,                                                                     \
     "qemu-" #word,                                                                    \
     cpu,                                                                              \
     "build/" #word "/kernel_runner",                                                  \
     packages,                                                                         \
     0,                                                                                \
     NULL,                                                                             \
     NULL,                                                                             \
     NULL},
#include "pipeline/devices/qemu.def"
#undef KILN_QEMU
};
enum { N_EMULATORS = sizeof emulators / sizeof emulators[0] };

static struct {
    bool is_known;
    kiln_arch arch; /* of this machine */
    const kiln_profile *runs[MAX_PROFILES + 1];
    const char *missing[MAX_PROFILES + 1];
    int n_runs, n_missing;
} here;

struct code_kernel {
    const kiln_program *program;
    const kiln_profile *profile;
    kiln_object object;
    kiln_code *code; /* NULL: for the emulator */
};

/* ---- the emulator ---------------------------------------------------------------- */

/* NULL: this machine runs the profile's code itself, or nothing does. */
static emulator *emulator_for(const kiln_profile *p) {
    for (int i = 0; i < N_EMULATORS; i++)
        if (emulators[i].arch == p->arch && p->arch != here.arch &&
            p->vector_bytes <= emulators[i].vector_bytes)
            return &emulators[i];
    return NULL;
}

static bool is_in_path(const char *program) {
    const char *path = getenv("PATH");
    kiln_str rest = kiln_str_from(path != NULL ? path : ""), dir;
    while (rest.n > 0 && kiln_str_cut(&rest, ':', &dir)) {
        char full[4096];
        snprintf(full, sizeof full, "%.*s/%s", KILN_STR_ARG(dir), program);
        if (access(full, X_OK) == 0)
            return true;
    }
    return false;
}

static void start_emulator(emulator *m) {
    kiln_arena *a = kiln_test_arena();
    char *argv[] = {kiln_str_dup(a, m->program), kiln_str_dup(a, "-cpu"),
                    kiln_str_dup(a, m->cpu), kiln_str_dup(a, m->runner), NULL};
    int in[2], out[2];
    posix_spawn_file_actions_t what;
    signal(SIGPIPE, SIG_IGN); /* a runner that died is reported, not mourned */
    assert_true(pipe(in) == 0 && pipe(out) == 0);
    posix_spawn_file_actions_init(&what);
    posix_spawn_file_actions_adddup2(&what, in[0], 0);
    posix_spawn_file_actions_adddup2(&what, out[1], 1);
    const int all[] = {in[0], in[1], out[0], out[1]};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        posix_spawn_file_actions_addclose(&what, all[i]);
    const int failed = posix_spawnp(&m->pid, m->program, &what, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&what);
    close(in[0]);
    close(out[1]);
    (void)fcntl(in[1], F_SETFD, FD_CLOEXEC); /* no other emulator keeps them open */
    (void)fcntl(out[0], F_SETFD, FD_CLOEXEC);
    m->to = fdopen(in[1], "wb");
    m->from = fdopen(out[0], "rb");
    assert_true(failed == 0 && m->to != NULL && m->from != NULL);
}

static void stop_emulator(emulator *m, const char *what) {
    int status = 0;
    fclose(m->to);
    fclose(m->from);
    waitpid(m->pid, &status, 0);
    m->pid = 0;
    m->loaded = NULL;
    fail_msg("%s: the runner ended, with signal %d", what,
             WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void put(emulator *m, const void *p, size_t n) {
    if (n > 0)
        (void)!fwrite(p, 1, n, m->to);
}

static void emulate(emulator *m, const code_kernel *k, const kernel_call *c,
                    const char *what) {
    if (m == NULL) {
        fail_msg("%s: nothing here runs code for '%s'", what, k->profile->name);
        return;
    }
    const bool is_new = m->loaded != k;
    kernel_job j = {.magic = KERNEL_MAGIC,
                    .n_args = (uint32_t)c->n_args,
                    .n_inputs = (uint32_t)c->n_inputs,
                    .n_threads = (uint32_t)c->n_threads,
                    .object_bytes = is_new ? k->object.bytes.n : 0,
                    .workspace_bytes = c->workspace_bytes,
                    .scratch_bytes = c->scratch_bytes};
    kernel_reply r;
    snprintf(j.name, sizeof j.name, "%s", k->program->name);
    for (int i = 0; i < c->n_args; i++)
        j.bytes[i] = c->bytes[i];
    if (m->pid == 0)
        start_emulator(m);
    put(m, &j, sizeof j);
    put(m, k->object.bytes.p, j.object_bytes);
    for (int i = 0; i < c->n_inputs; i++)
        put(m, c->tensor[i], c->bytes[i]);
    fflush(m->to);
    if (fread(&r, sizeof r, 1, m->from) != 1 || r.magic != KERNEL_MAGIC) {
        stop_emulator(m, what);
        return;
    }
    m->loaded = NULL; /* until all went well: a failed test does not come back here */
    if (r.status != 0)
        fail_msg("%s: %s", what, r.text);
    for (int i = c->n_inputs; i < c->n_args; i++)
        if (fread(c->tensor[i], 1, c->bytes[i], m->from) != c->bytes[i])
            stop_emulator(m, what);
    m->loaded = k;
}

/* ---- profiles -------------------------------------------------------------------- */

static void find(void) {
    kiln_arena *a = kiln_test_arena();
    kiln_profile machine;
    kiln_err err = {0};
    if (here.is_known)
        return;
    here.is_known = true;
    kiln_assert_status_ok(kiln_profile_detect(a, &machine, &err), &err);
    here.arch = machine.arch;
    for (int i = 0; kiln_profile_at(i) != NULL && i < MAX_PROFILES; i++) {
        const kiln_profile *p = kiln_profile_at(i);
        char missing[128] = "";
        const char *why = NULL;
        const emulator *m = emulator_for(p);
        if (m != NULL && access(m->runner, X_OK) != 0)
            why = kiln_format(a, "%s is missing: make builds it with %s", m->runner,
                              m->packages);
        else if (m != NULL && !is_in_path(m->program))
            why = kiln_format(a, "%s is missing: package qemu-user", m->program);
        else if (m == NULL && !kiln_profile_runs_on(p, &machine, missing))
            why = kiln_str_dup(a, missing);
        if (why == NULL)
            here.runs[here.n_runs++] = p;
        else
            here.missing[here.n_missing++] = kiln_format(a, "%s: %s", p->name, why);
        if (why == NULL)
            print_message("run here: %s%s\n", p->name, m != NULL ? ", emulated" : "");
        else
            print_message("not run here: %s: %s\n", p->name, why);
    }
}

const kiln_profile *code_profile_at(int i) {
    find();
    return i <= here.n_runs ? here.runs[i] : NULL;
}

/* Is there one with the same vectors, and without the dot products? */
bool code_is_variant(const kiln_profile *p) {
    for (int i = 0; kiln_profile_at(i) != NULL; i++) {
        const kiln_profile *q = kiln_profile_at(i);
        if (q->arch == p->arch && q->vector_bytes == p->vector_bytes &&
            q->vector_registers == p->vector_registers && !q->has_vnni &&
            !q->has_dotprod)
            return p->has_vnni || p->has_dotprod;
    }
    return false;
}

/* "qemu-riscv64 version 7.2.22 (...)" */
static int version_of(const char *program) {
    kiln_arena *a = kiln_test_arena();
    const char *argv[] = {program, "--version", NULL};
    kiln_process_result got;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_process_run(a, &(kiln_process_options){.argv = argv}, &got, &err), &err);
    const char *at = strstr(got.out.p, "version ");
    if (at == NULL)
        fail_msg("%s --version says no version: %s", program, got.out.p);
    return (int)strtol(at + strlen("version "), NULL, 10);
}

bool code_converts(const kiln_profile *p) {
    enum { UNKNOWN, YES, NO };
    static int answer = UNKNOWN;
    const emulator *m = emulator_for(p);
    if (m == NULL || p->arch != KILN_ARCH_RISCV64 || strstr(p->features, "+v") == NULL)
        return true;
    if (answer == UNKNOWN) {
        answer = version_of(m->program) >= 8 ? YES : NO;
        if (answer == NO)
            print_message("not run here: casts to integers in RISC-V's vectors: %s is "
                          "older than version 8\n",
                          m->program);
    }
    return answer == YES;
}

const char *code_missing_at(int i) {
    find();
    return i <= here.n_missing ? here.missing[i] : NULL;
}

/* ---- kernels --------------------------------------------------------------------- */

code_kernel *code_compile(kiln_arena *a, const kiln_program *p,
                          const kiln_profile *prof) {
    code_kernel *k = kiln_new(a, code_kernel);
    kiln_err err = {0};
    char text[KILN_LOAD_TEXT] = "";
    find();
    *k = (code_kernel){.program = p, .profile = prof};
    /* Every other one has indexes of 32 bits, which GPUs have and here would show. */
    static unsigned n_compiled;
    const kiln_codegen_options o = {.narrow = n_compiled++ % 2 != 0};
    kiln_assert_status_ok(kiln_codegen(a, p, prof, &o, &k->object, NULL, &err), &err);
    if (emulator_for(prof) == NULL &&
        kiln_code_open(k->object.bytes.p, k->object.bytes.n, &k->code, text) !=
            KILN_LOAD_OK)
        fail_msg("%s on %s: %s", p->name, prof->name, text);
    return k;
}

void code_call(const code_kernel *k, void *const *tensor, const char *what) {
    code_call_threads(k, tensor, 1, what);
}

void code_call_threads(const code_kernel *k, void *const *tensor, int n_threads,
                       const char *what) {
    const kiln_program *p = k->program;
    size_t bytes[KERNEL_MAX_ARGS];
    char text[KERNEL_TEXT] = "";
    assert_true(p->n_args <= KERNEL_MAX_ARGS);
    for (int i = 0; i < p->n_args; i++) {
        bytes[i] = kiln_dtype_bytes(p->arg[i]->dtype);
        for (int d = 0; d < p->arg[i]->rank; d++)
            bytes[i] *= (size_t)kiln_buffer_dim(p->arg[i], d);
    }
    const kernel_call c = {.n_args = p->n_args,
                           .n_inputs = p->n_inputs,
                           .tensor = tensor,
                           .bytes = bytes,
                           .workspace_bytes = k->object.workspace_bytes,
                           .scratch_bytes = k->object.scratch_bytes,
                           .n_threads = n_threads};
    assert_true(n_threads <= KERNEL_MAX_THREADS);
    if (k->code == NULL) {
        emulate(emulator_for(k->profile), k, &c, what);
        return;
    }
    kiln_kernel_fn *fn = kiln_code_kernel(k->code, p->name);
    assert_non_null(fn);
    if (kernel_call_run(&c, fn, text) != 0)
        fail_msg("%s: %s", what, text);
}

void code_close(code_kernel *k) {
    kiln_code_close(k->code);
    k->code = NULL;
    for (int i = 0; i < N_EMULATORS; i++)
        if (emulators[i].loaded == k) /* its address may come again */
            emulators[i].loaded = NULL;
}
