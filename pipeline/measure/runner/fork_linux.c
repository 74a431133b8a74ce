/* A candidate's own process: forked, limited, confined, watched, and judged by how it
 * ended.
 *
 * The child trusts nothing to come: limits and handlers are set before the object is
 * loaded, inputs are mapped read-only, expectations not at all, the fleet's pipes are
 * closed, and once its threads are there it may ask the system for nothing. The parent
 * believes the shared page about signals only; what counts as right is for it to see
 * (runner_check.c), times are held against its own clocks (slices.c). Linux, for affinity and
 * for dying with the parent. */
#include "pipeline/measure/runner/runner_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHANNEL_FD = 3 };

/* For the handler, which gets nothing else. */
static kiln_page *own_page;
static bool is_confined;

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)context;
    if (!is_confined) /* else this is one of the calls that it may not make */
        own_page->data_bytes = kiln_data_bytes(0);
    own_page->system_call = number == SIGSYS ? info->si_syscall : 0;
    own_page->address = (uint64_t)(uintptr_t)info->si_addr;
    own_page->signal = number;
    own_page->stage = KILN_STAGE_SIGNAL;
    _exit(0);
}

static const int caught[] = {SIGSEGV, SIGBUS, SIGILL,  SIGFPE, SIGABRT,
                             SIGTRAP, SIGSYS, SIGXCPU, SIGPROF};

/* On a stack of its own: what overflowed one has none left. */
static void catch_signals(void) {
    enum { STACK = 64 * 1024 };
    static unsigned char stack[STACK];
    const stack_t own = {.ss_sp = stack, .ss_size = STACK};
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigset_t none;
    (void)sigaltstack(&own, NULL);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++)
        (void)sigaction(caught[i], &action, NULL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void limit(int resource, uint64_t most) {
    const struct rlimit r = {.rlim_cur = most, .rlim_max = most};
    (void)setrlimit((__rlimit_resource_t)resource, &r);
}

void kiln_device_std_files(void) {
    const int none = open("/dev/null", O_RDONLY);
    if (none < 0 || dup2(none, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        _exit(0);
    if (none > STDERR_FILENO)
        close(none);
}

/* No descriptor but standard error and the channel. */
static void close_files(const kiln_runner *r, int channel) {
    if (r->device != NULL) {
        kiln_device_std_files();
    } else {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
    }
    if (channel >= 0 && dup2(channel, CHANNEL_FD) != CHANNEL_FD)
        _exit(0);
    (void)close_range(CHANNEL_FD + (channel >= 0), ~0U, 0);
}

static void die_with(const kiln_runner *r, pid_t parent, int channel) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (getppid() != parent)
        _exit(0);
    close_files(r, channel);
    limit(RLIMIT_CORE, 0);
}

static void stay_on(const kiln_runner *r, int threads) {
    const int32_t cpu = r->options.cpu;
    cpu_set_t one;
    if (threads != 1 || cpu < 0)
        return;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
}

/* Drivers write files, have memory of their own, and serve many candidates. */
int kiln_trial_begin_child(kiln_runner *r, int parent, int channel) {
    own_page = r->page;
    die_with(r, parent, channel);
    stay_on(r, 1);
    catch_signals();
    return CHANNEL_FD;
}

static void limit_all(const kiln_trial_run *t, pid_t parent, int channel) {
    const kiln_wire_runner *o = &t->r->options;
    die_with(t->r, parent, channel);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_DATA, kiln_data_bytes(0) + o->data_limit_bytes);
    /* What the runs before took may be past the limit by a tick of the clock. */
    const int64_t left_ns = t->cpu_left_ns > 0 ? t->cpu_left_ns : 0;
    limit(RLIMIT_CPU, (uint64_t)(left_ns / 1000000000) + 2);
    const int64_t us = left_ns / 1000 + 1;
    const struct itimerval timer = {
        .it_value = {.tv_sec = (time_t)(us / 1000000),
                     .tv_usec = (suseconds_t)(us % 1000000)}};
    stay_on(t->r, t->threads);
    catch_signals();
    (void)setitimer(ITIMER_PROF, &timer, NULL);
}

/* Shared memory is mapped page by page at first touch, which is no part of a kernel's
 * time. */
static void prepare_memory(const kiln_trial_run *t) {
    const uint32_t n_outputs = t->q->code.n_operands - t->q->code.n_inputs;
    kiln_region_populate(&t->workspace, true);
    for (int i = 0; i < t->threads; i++)
        kiln_region_populate(&t->scratch[i], true);
    for (uint32_t b = 0; b < t->n_buffers; b++)
        for (uint32_t o = 0; o < n_outputs; o++)
            kiln_region_populate(&t->buffer[b][o], true);
}

/* A thread that starts asks the system for much: all have when it is open. */
static kiln_pool *open_pool(const kiln_trial_run *t, kiln_page *page) {
    const kiln_pool_options o = {.n_threads = t->threads, .pins = 1};
    void *scratch[KILN_MAX_THREADS];
    kiln_pool *pool = NULL;
    if (kiln_pool_open(&o, &pool, page->text) != 0) {
        page->stage = KILN_STAGE_NO_THREADS;
        _exit(0);
    }
    for (int i = 0; i < t->threads; i++)
        scratch[i] = t->scratch[i].data;
    kiln_pool_set_scratch(pool, scratch);
    return pool;
}

static kiln_kernel_fn *load(const kiln_trial_run *t, kiln_page *page) {
    const kiln_wire_code *c = &t->q->code;
    kiln_code *code = NULL;
    kiln_kernel_fn *fn = NULL;
    if (kiln_code_open(c->object.p, c->object.n, &code, page->text) == KILN_LOAD_OK) {
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", KILN_STR_ARG(c->name));
        fn = kiln_code_kernel(code, name);
        if (fn == NULL)
            (void)snprintf(page->text, sizeof page->text, "it has no function '%s'",
                           name);
    }
    if (fn == NULL) {
        page->stage = KILN_STAGE_UNLOADABLE;
        _exit(0);
    }
    return fn;
}

/* From here on nothing but computing is left to it, and to its threads. */
static void confine(const kiln_trial_run *t, kiln_page *page, int channel) {
    if (!t->r->is_confined)
        return;
    is_confined = true;
    if (kiln_confine(channel >= 0 ? CHANNEL_FD : -1))
        return;
    (void)snprintf(page->text, sizeof page->text, "it cannot be confined: %s",
                   strerror(errno));
    page->stage = KILN_STAGE_NO_THREADS;
    _exit(0);
}

/* What a call takes that is not the first, and so pays for no page faults: what decides
 * whether it is worth a look. The proof is of the first, whose outputs stay as they are. */
static void call_again(const kiln_trial_run *t, kiln_kernel_fn *fn, kiln_pool *pool,
                       kiln_page *page) {
    enum { AGAIN = 2 };
    static const double long_ns = 5e6;
    for (int i = 0; i < AGAIN && page->once_ns < long_ns && page->code == 0; i++) {
        const int64_t begin = kiln_now_ns();
        page->code = kiln_round_call(t, fn, pool, 1);
        page->once_ns = fmin(page->once_ns, (double)(kiln_now_ns() - begin));
    }
}

static void child(const kiln_trial_run *t, pid_t parent, int channel) {
    kiln_page *page = own_page = t->r->page;
    limit_all(t, parent, channel);
    (void)kiln_confine_paths(); /* before there are threads, and code */
    prepare_memory(t);
    kiln_kernel_fn *fn = load(t, page);
    kiln_pool *pool = t->threads > 1 ? open_pool(t, page) : NULL;
    confine(t, page, channel);
    page->stage = KILN_STAGE_RUNNING;
    if (t->is_timed) {
        page->code = kiln_rounds_serve(t, fn, pool, page, CHANNEL_FD);
    } else {
        const int64_t begin = kiln_now_ns();
        page->code = kiln_round_call(t, fn, pool, 0);
        page->once_ns = (double)(kiln_now_ns() - begin);
        if (t->is_first)
            call_again(t, fn, pool, page);
    }
    page->data_bytes = is_confined ? 0 : kiln_data_bytes(0);
    page->stage = KILN_STAGE_DONE;
    _exit(0);
}

/* ---- in the parent --------------------------------------------------------------- */

typedef struct ending {
    int status;          /* of wait */
    bool was_killed;     /* by us: no time left */
    uint64_t data_bytes; /* then: what it had taken */
    uint64_t own_bytes;  /* what this process had at the fork */
    int64_t cpu_ns;      /* what it took of processors */
} ending;

static int64_t nanoseconds(struct timeval t) {
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
}

/* SIGCHLD is blocked in this process: it stays pending until asked for. */
static void wait_for(pid_t pid, int64_t deadline_ns, ending *e) {
    sigset_t chld;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    for (;;) {
        struct rusage usage = {.ru_maxrss = 0};
        const pid_t got = wait4(pid, &e->status, WNOHANG, &usage);
        e->cpu_ns = nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
        if (got == pid)
            return;
        const int64_t left = deadline_ns - kiln_now_ns();
        if (left <= 0)
            break;
        const struct timespec t = {.tv_sec = (time_t)(left / 1000000000),
                                   .tv_nsec = (long)(left % 1000000000)};
        (void)sigtimedwait(&chld, NULL, &t);
    }
    e->data_bytes = kiln_data_bytes((int)pid);
    e->was_killed = true;
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, &e->status, 0) < 0 && errno == EINTR)
        ;
}

/* More than half of what it may have: the rest was refused. A driver's memory has no
 * limit. */
static bool is_hungry(const kiln_trial_run *t, const ending *e, uint64_t bytes) {
    return t->r->device == NULL &&
           bytes > e->own_bytes + t->r->options.data_limit_bytes / 2;
}

/* Which operand's memory is it? True: the fault is named. */
static bool judge_access(kiln_trial_run *t, uint64_t at) {
    const kiln_wire_code *c = &t->q->code;
    for (uint32_t i = 0; i < c->n_operands; i++) {
        const bool is_input = i < c->n_inputs;
        const uint32_t n = is_input ? t->n_sets : t->n_buffers;
        const kiln_wire_value *v = &t->w->value[c->operand[i].value];
        for (uint32_t k = 0; k < n; k++) {
            const kiln_region *g =
                is_input ? &t->input[k][i]->region : &t->buffer[k][i - c->n_inputs];
            if (!kiln_region_has(g, at, is_input))
                continue;
            (void)kiln_trial_fault(
                t, KILN_TRIAL_OUT_OF_BOUNDS,
                "it touched byte %" PRId64 " of '%.*s', %s",
                (int64_t)(at - (uint64_t)(uintptr_t)g->data), KILN_STR_ARG(v->name),
                is_input ? "which it may only read" : "beside its memory");
            return true;
        }
    }
    return false;
}

static bool judge_system_call(kiln_trial_run *t, long number) {
    char text[KILN_CONFINE_TEXT];
    return kiln_trial_fault(t, KILN_TRIAL_FORBIDDEN,
                            "it asked the system for '%s': kernels only compute",
                            kiln_system_call_name(number, text));
}

static bool judge_signal(kiln_trial_run *t, const ending *e) {
    const kiln_page *page = t->r->page;
    const uint64_t at = page->address;
    const bool hungry = is_hungry(t, e, page->data_bytes);
    const uint64_t taken =
        page->data_bytes > e->own_bytes ? page->data_bytes - e->own_bytes : 0;
    if (page->signal == SIGXCPU || page->signal == SIGPROF)
        return kiln_trial_fault(t, hungry ? KILN_TRIAL_MEMORY : KILN_TRIAL_TIMEOUT,
                                "no end after %" PRId64 " ms of processor time, "
                                "%" PRIu64 " bytes taken",
                                t->r->options.time_limit_ms, taken);
    if (page->signal == SIGSYS)
        return judge_system_call(t, page->system_call);
    const bool is_access = page->signal == SIGSEGV || page->signal == SIGBUS;
    if (is_access && judge_access(t, at))
        return false;
    bool is_beside = is_access && kiln_region_has(&t->workspace, at, false);
    for (int i = 0; is_access && i < t->threads; i++)
        is_beside = is_beside || kiln_region_has(&t->scratch[i], at, false);
    if (is_beside)
        return kiln_trial_fault(t, KILN_TRIAL_OUT_OF_BOUNDS,
                                "it touched memory beside its workspace");
    if (hungry)
        return kiln_trial_fault(t, KILN_TRIAL_MEMORY, "it took %" PRIu64 " bytes",
                                taken);
    return kiln_trial_fault(t, KILN_TRIAL_CRASH, "signal %d (%s)", page->signal,
                            strsignal(page->signal));
}

static bool judge(kiln_trial_run *t, const ending *e) {
    kiln_page *page = t->r->page;
    page->text[sizeof page->text - 1] = '\0';
    if (e->was_killed && is_hungry(t, e, e->data_bytes))
        return kiln_trial_fault(t, KILN_TRIAL_MEMORY, "it took %" PRIu64 " bytes",
                                e->data_bytes - e->own_bytes);
    if (e->was_killed && t->r->device != NULL)
        return kiln_trial_fault(t, KILN_TRIAL_TIMEOUT,
                                "no end, by the wall, after %" PRId64 " ms",
                                kiln_device_limit_ns(&t->r->options) / 1000000);
    if (e->was_killed)
        return kiln_trial_fault(t, KILN_TRIAL_TIMEOUT,
                                "no end, by the wall, after "
                                "%d times %" PRId64 " ms",
                                KILN_WIRE_WALL_LIMITS, t->r->options.time_limit_ms);
    if (WIFSIGNALED(e->status)) {
        const int s = WTERMSIG(e->status);
        if (s == SIGSYS)
            return kiln_trial_fault(t, KILN_TRIAL_FORBIDDEN,
                                    "it made a system call of another architecture");
        /* Only others send this: the system without memory, or a person. */
        return kiln_trial_fault(t, s == SIGKILL ? KILN_TRIAL_LOST : KILN_TRIAL_CRASH,
                                "signal %d (%s)", s, strsignal(s));
    }
    switch (page->stage) {
    case KILN_STAGE_UNLOADABLE:
        return kiln_trial_fault(t, KILN_TRIAL_UNLOADABLE, "%s", page->text);
    case KILN_STAGE_NO_THREADS:
        return kiln_trial_fault(t, KILN_TRIAL_LOST, "%s", page->text);
    case KILN_STAGE_SIGNAL:
        return judge_signal(t, e);
    case KILN_STAGE_BESIDE:
        return kiln_trial_fault(t, KILN_TRIAL_OUT_OF_BOUNDS, "%s", page->text);
    case KILN_STAGE_START:
    case KILN_STAGE_RUNNING:
        break;
    case KILN_STAGE_DONE:
        if (page->code != 0 && is_hungry(t, e, page->data_bytes))
            return kiln_trial_fault(t, KILN_TRIAL_MEMORY, "it took %" PRIu64 " bytes",
                                    page->data_bytes - e->own_bytes);
        if (page->code != 0)
            return kiln_trial_fault(t, KILN_TRIAL_RETURNED, "it returned %d%s%s",
                                    page->code, page->text[0] != '\0' ? ": " : "",
                                    page->text);
        return true;
    }
    return kiln_trial_fault(t, KILN_TRIAL_EXIT, "it ended its process with code %d",
                            WEXITSTATUS(e->status));
}

static void pass_inputs_on(const kiln_trial_run *t, bool yes) {
    for (uint32_t s = 0; s < t->n_given; s++)
        for (uint32_t i = 0; i < t->q->code.n_inputs; i++)
            if (t->input[s][i]->n_copies == 1)
                kiln_region_pass_on(&t->input[s][i]->region, yes);
    if (t->is_rotated)
        kiln_region_pass_on(&t->r->rotation, yes);
}

static void close_channel(kiln_trial_process *p) {
    if (p->channel >= 0)
        close(p->channel);
    p->channel = -1;
}

bool kiln_trial_start(kiln_trial_run *t, kiln_trial_process *p) {
    const pid_t self = getpid();
    int end[2] = {-1, -1};
    if (t->r->device != NULL)
        return kiln_device_start(t, p);
    *p = (kiln_trial_process){.channel = -1, .own_bytes = kiln_data_bytes(0)};
    if (t->is_timed && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) != 0)
        return kiln_trial_fault(t, KILN_TRIAL_LOST, "no channel: %s", strerror(errno));
    memset(t->r->page, 0, sizeof *t->r->page);
    pass_inputs_on(t, true);
    p->pid = (int)fork();
    if (p->pid == 0)
        child(t, self, end[1]);
    const int error = errno;
    pass_inputs_on(t, false);
    if (end[1] >= 0)
        close(end[1]);
    p->channel = end[0];
    if (p->pid > 0)
        return true;
    close_channel(p);
    return kiln_trial_fault(t, KILN_TRIAL_LOST, "cannot fork: %s", strerror(error));
}

int64_t kiln_trial_cpu_ns(const kiln_trial_process *p) {
    clockid_t clock;
    struct timespec now = {0};
    if (clock_getcpuclockid(p->pid, &clock) != 0 || clock_gettime(clock, &now) != 0)
        return 0;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A descriptor that a process of its own kept open hides the end: then the clock has us
 * look. */
bool kiln_trial_has_ended(const kiln_trial_process *p) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == p->pid;
}

/* A byte from it. */
bool kiln_trial_await(const kiln_trial_process *p, int64_t deadline_ns) {
    enum { LOOK_MS = 50 };
    for (;;) {
        char byte;
        struct pollfd fd = {.fd = p->channel, .events = POLLIN};
        const int64_t left_ms = (deadline_ns - kiln_now_ns()) / 1000000;
        if (left_ms < 0)
            return false;
        if (poll(&fd, 1, left_ms < LOOK_MS ? (int)left_ms + 1 : LOOK_MS) > 0)
            return recv(p->channel, &byte, 1, MSG_DONTWAIT) == 1;
        if (kiln_trial_has_ended(p))
            return false;
    }
}

bool kiln_trial_tell(const kiln_trial_process *p, int64_t deadline_ns) {
    return send(p->channel, "", 1, MSG_NOSIGNAL) == 1 &&
           kiln_trial_await(p, deadline_ns);
}

bool kiln_trial_do_round(kiln_trial_run *t, const kiln_trial_process *p,
                         const kiln_round *r, kiln_slice *out) {
    kiln_page *page = t->r->page;
    page->round = *r;
    if (!kiln_trial_tell(p, t->deadline_ns))
        return false;
    /* The candidate may have written any byte there. */
    unsigned char disturbed;
    memcpy(&disturbed, &page->slice.disturbed, 1);
    out->ns = page->slice.ns;
    out->peak_gflops = page->slice.peak_gflops;
    out->disturbed = disturbed != 0;
    return true;
}

bool kiln_trial_finish(kiln_trial_run *t, kiln_trial_process *p) {
    if (t->r->device != NULL)
        return kiln_device_finish(t, p);
    close_channel(p);
    return kiln_trial_reap(t, p);
}

bool kiln_trial_reap(kiln_trial_run *t, const kiln_trial_process *p) {
    ending e = {.own_bytes = p->own_bytes};
    if (t->out->error != KILN_TRIAL_GOOD)
        (void)kill(p->pid, SIGKILL);
    wait_for(p->pid, t->deadline_ns, &e);
    t->cpu_left_ns -= e.cpu_ns;
    const int n = kiln_trial_end_strays();
    if (n > 0)
        return kiln_trial_fault(t, KILN_TRIAL_FORBIDDEN, "it left %d process%s behind",
                                n, n == 1 ? "" : "es");
    return judge(t, &e);
}
