#include "tests/support/code_run.h"

#include "runtime/loader.h"
#include "tests/support/kernel_call.h"
#include "tests/support/kiln_test.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_PROFILES = 16 };
static const char runner[] = "build/aarch64/kernel_runner";
static char emulator[] = "qemu-aarch64";

extern char **environ;

static struct {
    bool is_known;
    const kiln_profile *runs[MAX_PROFILES + 1];
    const char *missing[MAX_PROFILES + 1];
    int n_runs, n_missing;
    pid_t pid; /* of the emulator; 0: not started */
    FILE *to, *from;
    const code_kernel *loaded; /* the object that the runner has */
} here;

struct code_kernel {
    const kiln_program *program;
    const kiln_profile *profile;
    kiln_object object;
    kiln_code *code; /* NULL: for the emulator */
};

/* ---- the emulator ---------------------------------------------------------------- */

static bool is_emulated(const kiln_profile *p) {
#if defined(__aarch64__)
    (void)p;
    return false;
#else
    return p->arch == KILN_ARCH_AARCH64;
#endif
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

static void start_emulator(void) {
    char cpu[] = "-cpu", max[] = "max", path[sizeof runner];
    char *argv[] = {emulator, cpu, max, path, NULL};
    int in[2], out[2];
    posix_spawn_file_actions_t what;
    memcpy(path, runner, sizeof runner);
    signal(SIGPIPE, SIG_IGN); /* a runner that died is reported, not mourned */
    assert_true(pipe(in) == 0 && pipe(out) == 0);
    posix_spawn_file_actions_init(&what);
    posix_spawn_file_actions_adddup2(&what, in[0], 0);
    posix_spawn_file_actions_adddup2(&what, out[1], 1);
    const int all[] = {in[0], in[1], out[0], out[1]};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        posix_spawn_file_actions_addclose(&what, all[i]);
    const int failed = posix_spawnp(&here.pid, emulator, &what, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&what);
    close(in[0]);
    close(out[1]);
    here.to = fdopen(in[1], "wb");
    here.from = fdopen(out[0], "rb");
    assert_true(failed == 0 && here.to != NULL && here.from != NULL);
}

static void stop_emulator(const char *what) {
    int status = 0;
    fclose(here.to);
    fclose(here.from);
    waitpid(here.pid, &status, 0);
    here.pid = 0;
    here.loaded = NULL;
    fail_msg("%s: the runner ended, with signal %d", what,
             WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void put(const void *p, size_t n) {
    if (n > 0)
        (void)!fwrite(p, 1, n, here.to);
}

static void emulate(const code_kernel *k, const kernel_call *c, const char *what) {
    const bool is_new = here.loaded != k;
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
    if (here.pid == 0)
        start_emulator();
    put(&j, sizeof j);
    put(k->object.bytes.p, j.object_bytes);
    for (int i = 0; i < c->n_inputs; i++)
        put(c->tensor[i], c->bytes[i]);
    fflush(here.to);
    if (fread(&r, sizeof r, 1, here.from) != 1 || r.magic != KERNEL_MAGIC) {
        stop_emulator(what);
        return;
    }
    here.loaded = NULL; /* until all went well: a failed test does not come back here */
    if (r.status != 0)
        fail_msg("%s: %s", what, r.text);
    for (int i = c->n_inputs; i < c->n_args; i++)
        if (fread(c->tensor[i], 1, c->bytes[i], here.from) != c->bytes[i])
            stop_emulator(what);
    here.loaded = k;
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
    for (int i = 0; kiln_profile_at(i) != NULL && i < MAX_PROFILES; i++) {
        const kiln_profile *p = kiln_profile_at(i);
        char missing[128] = "";
        const char *why = NULL;
        if (is_emulated(p) && access(runner, X_OK) != 0)
            why = kiln_format(a, "%s is missing: make builds it with %s", runner,
                              "aarch64-linux-gnu-gcc (libc6-dev-arm64-cross)");
        else if (is_emulated(p) && !is_in_path(emulator))
            why = kiln_format(a, "%s is missing: package qemu-user", emulator);
        else if (!is_emulated(p) && !kiln_profile_runs_on(p, &machine, missing))
            why = kiln_str_dup(a, missing);
        if (why == NULL)
            here.runs[here.n_runs++] = p;
        else
            here.missing[here.n_missing++] = kiln_format(a, "%s: %s", p->name, why);
        if (why == NULL)
            print_message("run here: %s%s\n", p->name,
                          is_emulated(p) ? ", emulated" : "");
        else
            print_message("not run here: %s: %s\n", p->name, why);
    }
}

const kiln_profile *code_profile_at(int i) {
    find();
    return i <= here.n_runs ? here.runs[i] : NULL;
}

bool code_is_variant(const kiln_profile *p) { return p->has_vnni || p->has_dotprod; }

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
    *k = (code_kernel){.program = p, .profile = prof};
    kiln_assert_status_ok(kiln_codegen_llvm(a, p, prof, NULL, &k->object, NULL, &err),
                          &err);
    if (!is_emulated(prof) && kiln_code_open(k->object.bytes.p, k->object.bytes.n,
                                             &k->code, text) != KILN_LOAD_OK)
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
        emulate(k, &c, what);
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
    if (here.loaded == k) /* its address may come again */
        here.loaded = NULL;
}
