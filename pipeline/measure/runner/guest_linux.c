/* Networks and packings: a process is forked for each, and is limited and confined before
 * it loads any code. Of who started this runner it has the pipes for itself until it
 * ends; who is behind a socket has several at once (hosted_linux.c).
 * One that crashes, or asks the system for what it may not, ends alone: this process
 * says how, and forks the next. One that hangs is for the other side's clock.
 *
 * Linux, for dying with the parent and for how much memory there is. */
#include "base/files/files.h"
#include "pipeline/measure/runner/runner_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- in the process -------------------------------------------------------------- */

/* For the handler, which gets nothing else. */
static kiln_page *own_page;

static void on_trap(int number, siginfo_t *info, void *context) {
    (void)context;
    own_page->system_call = info->si_syscall;
    own_page->signal = number;
    own_page->stage = KILN_STAGE_SIGNAL;
    _exit(0);
}

static void limit(int resource, uint64_t most) {
    const struct rlimit r = {.rlim_cur = most, .rlim_max = most};
    (void)setrlimit((__rlimit_resource_t)resource, &r);
}

static uint64_t machine_bytes(void) {
    struct sysinfo s;
    return sysinfo(&s) == 0 ? (uint64_t)s.totalram * s.mem_unit : UINT64_MAX / 2;
}

kiln_status kiln_guest_limit(kiln_guest *g, uint64_t data_bytes, bool reads,
                             kiln_err *err) {
    const uint64_t most = data_bytes > 0 ? data_bytes : machine_bytes();
    const kiln_confine_room room = {.in = g->r->peer.in,
                                    .out = g->r->peer.out,
                                    .may = KILN_CONFINE_LOADS |
                                           (reads ? (unsigned)KILN_CONFINE_READS : 0)};
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_DATA, kiln_data_bytes(0) + most);
    /* Files of a package are links to what the caller has open (/proc/PID/fd), which
     * Landlock lets only its kin follow: who reads them has the other fence alone. */
    if (!reads)
        (void)kiln_confine_paths();
    if (g->r->is_confined && !kiln_confine_room_to(&room))
        return kiln_fail(err, KILN_ERR_IO, "it cannot be confined: %s",
                         strerror(errno));
    return KILN_OK;
}

kiln_status kiln_guest_close_in(const kiln_guest *g, kiln_err *err) {
    const kiln_confine_room room = {.in = g->r->peer.in, .out = g->r->peer.out};
    if (g->r->is_confined && !kiln_confine_room_to(&room))
        return kiln_fail(err, KILN_ERR_IO, "it cannot be confined: %s",
                         strerror(errno));
    return KILN_OK;
}

/* Memory that was shared before this runner began, with what was put there since. */
static kiln_status map_all(kiln_guest *g, kiln_err *err) {
    struct stat st;
    if (fstat(KILN_WIRE_SHARED_FD, &st) != 0 || st.st_size < 0)
        return kiln_fail(err, KILN_ERR_IO, "there is no shared memory");
    if (st.st_size == 0)
        return KILN_OK;
    kiln_memory_file_huge(KILN_WIRE_SHARED_FD);
    void *map =
        mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, KILN_WIRE_SHARED_FD, 0);
    if (map == MAP_FAILED)
        return kiln_fail(err, KILN_ERR_OOM, "cannot map what is shared");
    g->shared = map;
    g->shared_bytes = (uint64_t)st.st_size;
    return KILN_OK;
}

kiln_status kiln_guest_bytes(const kiln_guest *g, kiln_wire_place p, const void **out,
                             kiln_err *err) {
    /* An empty tensor lies somewhere, too. */
    static const _Alignas(64) unsigned char nothing[64];
    if (p.at % 64 != 0 || p.at > g->shared_bytes || p.bytes > g->shared_bytes - p.at)
        return kiln_fail(err, KILN_ERR_PARSE, "what is shared is broken");
    *out = p.bytes > 0 ? g->shared + p.at : nothing;
    return KILN_OK;
}

kiln_status kiln_guest_load(const kiln_guest *g, kiln_arena *a,
                            const kiln_wire_function *f, kiln_kernel_fn **out,
                            kiln_err *err) {
    const void *object = NULL;
    kiln_code *code = NULL; /* for as long as the process lives */
    char text[KILN_LOAD_TEXT] = "";
    const char *symbol = kiln_str_dupv(a, f->symbol);
    KILN_TRY(kiln_guest_bytes(g, f->object, &object, err));
    if (kiln_code_open(object, f->object.bytes, &code, text) != KILN_LOAD_OK)
        return kiln_fail(err, KILN_ERR_LIB, "kernel '%s' cannot be loaded: %s", symbol,
                         text);
    *out = kiln_code_kernel(code, symbol);
    return KILN_OK;
}

kiln_status kiln_guest_answer(const kiln_guest *g, kiln_arena *a, kiln_status st,
                              const kiln_err *why, const kiln_wire_told *told,
                              kiln_err *err) {
    kiln_wire_told answer = {.problem = kiln_str_from(st == KILN_OK ? "" : why->text),
                             .data = KILN_STR_LIT("")};
    kiln_buf text;
    if (st == KILN_OK)
        answer = *told;
    answer.guest = g->number;
    kiln_buf_init(&text, a);
    kiln_wire_put(&text, KILN_WIRE_TOLD, &answer);
    return kiln_wire_write(g->r->peer.out, kiln_buf_str(&text), err);
}

void kiln_guest_be(kiln_runner *r, const kiln_wire_frame *f, int parent) {
    const struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    kiln_guest g = {.r = r, .request = f};
    kiln_err err = {.len = 0};
    sigset_t none;
    own_page = r->page;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != (pid_t)parent)
        _exit(0);
    sigemptyset(&none);
    (void)sigaction(SIGSYS, &action, NULL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    kiln_status st = map_all(&g, &err);
    if (st == KILN_OK)
        st = f->kind == KILN_WIRE_PACKS ? kiln_packs_serve(&g, &err)
                                        : kiln_network_serve(&g, &err);
    r->page->stage = st == KILN_OK ? KILN_STAGE_DONE : KILN_STAGE_NO_THREADS;
    (void)snprintf(r->page->text, sizeof r->page->text, "%.*s",
                   (int)sizeof r->page->text - 1, err.text);
    _exit(0);
}

/* ---- in the runner --------------------------------------------------------------- */

const char *kiln_guest_end(kiln_arena *a, kiln_page *page, int status) {
    char name[KILN_CONFINE_TEXT];
    page->text[sizeof page->text - 1] = '\0';
    if (WIFSIGNALED(status))
        return kiln_format(a, "was ended by signal %d (%s)", WTERMSIG(status),
                           strsignal(WTERMSIG(status)));
    if (page->stage == KILN_STAGE_SIGNAL)
        return kiln_format(a, "was ended: it called '%s', which it may not",
                           kiln_system_call_name(page->system_call, name));
    if (page->stage == KILN_STAGE_NO_THREADS)
        return kiln_format(a, "gave up: %s", page->text);
    return page->stage == KILN_STAGE_DONE
               ? ""
               : kiln_format(a, "ended with code %d", WEXITSTATUS(status));
}

static kiln_status serve_one(kiln_runner *r, kiln_arena *a, const kiln_wire_frame *f,
                             kiln_err *err) {
    const pid_t self = getpid();
    int status = 0;
    memset(r->page, 0, sizeof *r->page);
    const pid_t pid = fork();
    if (pid == 0)
        kiln_guest_be(r, f, (int)self);
    if (pid < 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot fork: %s", strerror(errno));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    (void)kiln_trial_end_strays(); /* of one that could not be confined */
    const kiln_wire_ended ended = {
        .text = kiln_str_from(kiln_guest_end(a, r->page, status))};
    if (ended.text.n == 0)
        return KILN_OK;
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_wire_put(&text, KILN_WIRE_ENDED, &ended);
    return kiln_wire_write(r->peer.out, kiln_buf_str(&text), err);
}

kiln_status kiln_guests_serve(kiln_runner *r, const kiln_wire_frame *f, kiln_err *err) {
    char why[KILN_CONFINE_TEXT];
    kiln_arena a = {0};
    kiln_wire_frame next = *f;
    bool goes_on = true;
    kiln_status st = KILN_OK;
    r->is_confined = kiln_confine_works(why);
    while (goes_on && st == KILN_OK) {
        if (next.kind == KILN_WIRE_NETWORK || next.kind == KILN_WIRE_PACKS)
            st = serve_one(r, &a, &next, err);
        else if (next.kind != KILN_WIRE_ASK) /* of one that is gone: that was told */
            st = kiln_fail(err, KILN_ERR_PARSE, "there is no '%s' now",
                           kiln_wire_kind_name(next.kind));
        kiln_arena_reset(&a);
        if (st == KILN_OK)
            st = kiln_wire_hear(&r->peer, -1, &goes_on, &next, err);
    }
    kiln_arena_fini(&a);
    return st;
}
