/* Probes run in a child process: what a kernel does wrong ends it and nothing else.
 * Linux, for dying with the parent and anonymous memory. */
#include "pipeline/machine/machine_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/loader.h"
#include "runtime/pool.h"

enum { PATIENCE_MS = 120000, CHAIN_CALLS = 8, LINE = 64 };

/* Memory of one thread. */
typedef struct region {
    void *data;
    size_t bytes;
} region;

enum { SMALL = 4096, MOST_THREADS = KILN_POOL_MAX_THREADS };

typedef struct child {
    const kiln_machine_probes *probes;
    kiln_kernel_fn *chain, *fn;
    kiln_code *code;
    kiln_pool *pool;
    int n;
    region large[MOST_THREADS], small[MOST_THREADS], weight[MOST_THREADS];
    int64_t at; /* where the next call begins in the large memory */
    int failed;
} child;

/* Of a thread's own, written: what nobody wrote to is one page of zeros. */
static bool region_open(size_t bytes, region *out) {
    void *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return false;
    memset(p, 1, bytes);
    out->data = p;
    out->bytes = bytes;
    return true;
}

static void region_close(region *r) {
    if (r->data != NULL)
        (void)munmap(r->data, r->bytes);
    *r = (region){NULL, 0};
}

/* One cycle through the first word of all lines, in random order: Sattolo's algorithm
 * (Information Processing Letters 22, 1986). Pages are far apart in it, as their
 * translations are then too. */
static void make_cycle(int64_t *at, size_t bytes) {
    const size_t n = bytes / LINE, words = LINE / sizeof *at;
    kiln_rng r;
    kiln_rng_init(&r, 1);
    for (size_t i = 0; i < n; i++)
        at[i * words] = (int64_t)(i * words);
    for (size_t i = n; i-- > 1;) {
        const size_t k = (size_t)kiln_rng_range(&r, 0, (int64_t)i - 1);
        const int64_t swap = at[i * words];
        at[i * words] = at[k * words];
        at[k * words] = swap;
    }
}

static int call_one(const child *c, const kiln_machine_probe *p, int64_t thread) {
    kiln_ctx serial;
    void *tensor[3] = {NULL, c->small[thread].data, NULL};
    kiln_ctx_init_serial(&serial, NULL);
    if (c->large[thread].data != NULL)
        tensor[0] = (char *)c->large[thread].data + c->at;
    switch (p->kind) {
    case KILN_PROBE_FMA:
        tensor[0] = tensor[1] = c->weight[thread].data;
        tensor[2] = c->small[thread].data;
        break;
    case KILN_PROBE_LATENCY:
        tensor[0] = c->weight[thread].data;
        break;
    case KILN_PROBE_WRITE:
        tensor[0] = c->small[thread].data;
        tensor[1] = c->large[thread].data;
        break;
    case KILN_PROBE_CHASE: /* goes on where the last call was */
    case KILN_PROBE_READ:
    case KILN_PROBE_LOAD:
        break;
    }
    const kiln_args args = {tensor, NULL};
    for (int i = 0; i < p->calls; i++)
        if (c->fn(&args, &serial) != 0)
            return 1;
    return 0;
}

typedef struct spread {
    const child *c;
    const kiln_machine_probe *p;
} spread;

static int run_part(const kiln_args *args, kiln_ctx *ctx, void *closure, int64_t begin,
                    int64_t end, void *scratch) {
    (void)args;
    (void)ctx;
    (void)scratch;
    const spread *s = closure;
    for (int64_t thread = begin; thread < end; thread++)
        if (call_one(s->c, s->p, thread) != 0)
            return 1;
    return 0;
}

/* ---- clocks ---------------------------------------------------------------------- */

typedef struct watch {
    int64_t wall_ns, preempted;
} watch;

static watch now(void) {
    struct rusage u = {.ru_nivcsw = 0};
    (void)getrusage(RUSAGE_SELF, &u);
    return (watch){kiln_now_ns(), (int64_t)u.ru_nivcsw};
}

static double since(const watch *begin, bool *disturbed) {
    const watch end = now();
    *disturbed = *disturbed || end.preempted != begin->preempted;
    return (double)(end.wall_ns - begin->wall_ns);
}

static void slice(void *cx, const kiln_machine_probe *p, double *unit_ns,
                  double *cycle_ns, bool *disturbed) {
    child *c = cx;
    int64_t in[3] = {1, 0x1234567, 0x7654321}, out = 0;
    void *tensor[2] = {in, &out};
    const kiln_args args = {tensor, NULL};
    spread s = {c, p};
    kiln_ctx serial;
    kiln_ctx_init_serial(&serial, NULL);
    watch begin = now();
    for (int i = 0; i < CHAIN_CALLS; i++)
        c->failed |= c->chain(&args, &serial);
    *cycle_ns = since(&begin, disturbed) / (CHAIN_CALLS * c->probes->chain_cycles);
    begin = now();
    if (c->pool == NULL) {
        c->failed |= call_one(c, p, 0);
    } else {
        kiln_ctx *ctx = kiln_pool_ctx(c->pool);
        c->failed |= ctx->parallel_for(ctx, run_part, NULL, &s, c->n);
    }
    *unit_ns = since(&begin, disturbed) / (p->units * p->calls);
    c->at = c->at + 2 * p->window <= p->bytes ? c->at + p->window : 0;
}

/* ---- around the slices ----------------------------------------------------------- */

static bool load(const kiln_object *o, const char *name, kiln_code **code,
                 kiln_kernel_fn **out) {
    char text[KILN_LOAD_TEXT];
    if (kiln_code_open(o->bytes.p, o->bytes.n, code, text) != KILN_LOAD_OK)
        return false;
    *out = kiln_code_kernel(*code, name);
    return *out != NULL;
}

static bool begin(void *cx, const kiln_machine_probe *p) {
    static const float one = 1;
    child *c = cx;
    bool warm = false;
    double unit, cycle;
    char text[KILN_POOL_TEXT];
    const kiln_pool_options o = {.n_threads = p->threads, .pins = 1};
    c->at = 0;
    c->n = p->threads < MOST_THREADS ? p->threads : MOST_THREADS;
    if (c->n > 1 && kiln_pool_open(&o, &c->pool, text) != 0)
        return false;
    for (int i = 0; i < c->n; i++)
        if (!region_open(SMALL, &c->small[i]) || !region_open(SMALL, &c->weight[i]) ||
            (p->bytes > 0 && !region_open((size_t)p->bytes + SMALL, &c->large[i])))
            return false;
    for (int i = 0; i < c->n; i++)
        for (size_t k = 0; k < SMALL / sizeof one; k++)
            memcpy((char *)c->weight[i].data + k * sizeof one, &one, sizeof one);
    if (p->kind == KILN_PROBE_CHASE) {
        make_cycle(c->large[0].data, (size_t)p->bytes);
        memset(c->small[0].data, 0, SMALL);
    }
    if (!load(&p->code, p->name, &c->code, &c->fn))
        return false;
    slice(c, p, &unit, &cycle, &warm);
    return true;
}

static void end(void *cx, const kiln_machine_probe *p) {
    child *c = cx;
    (void)p;
    for (int i = 0; i < c->n; i++) {
        region_close(&c->small[i]);
        region_close(&c->weight[i]);
        region_close(&c->large[i]);
    }
    kiln_pool_close(c->pool);
    c->pool = NULL;
    kiln_code_close(c->code);
    c->code = NULL;
}

/* Never returns. */
static void work(const kiln_machine_probes *p, int fd) {
    static child c;
    static kiln_machine_reading r[KILN_MAX_PROBES];
    const struct rlimit none = {0, 0};
    kiln_code *code = NULL;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit((__rlimit_resource_t)RLIMIT_CORE, &none);
    c = (child){.probes = p};
    if (!load(&p->chain, p->chain_name, &code, &c.chain))
        _exit(1);
    const kiln_machine_meter m = {slice, begin, end, &c};
    kiln_machine_sample(&m, p, r);
    const size_t bytes = (size_t)p->n * sizeof *r;
    if (c.failed != 0 || write(fd, r, bytes) != (ssize_t)bytes)
        _exit(1);
    _exit(0);
}

/* All of it, or false: the child ended, or takes too long, or we were asked to stop. */
static bool receive(int fd, void *out, size_t bytes) {
    enum { STEP_MS = 100 };
    size_t got = 0;
    for (int waited = 0; got < bytes && waited < PATIENCE_MS && !kiln_interrupted();) {
        struct pollfd one = {.fd = fd, .events = POLLIN};
        const int ready = poll(&one, 1, STEP_MS);
        waited += ready == 0 ? STEP_MS : 0;
        if (ready <= 0)
            continue;
        const ssize_t n = read(fd, (char *)out + got, bytes - got);
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return got == bytes;
}

kiln_status kiln_machine_child(const kiln_machine_probes *p, kiln_machine_reading *out,
                               kiln_err *err) {
    int fd[2], how = 0;
    KILN_ASSERT(p->n > 0 && p->n <= KILN_MAX_PROBES, "%d probes", p->n);
    if (pipe(fd) != 0)
        return kiln_fail(err, KILN_ERR_IO, "measuring the machine: no pipe: %s",
                         strerror(errno));
    const pid_t pid = fork();
    if (pid == 0) {
        (void)close(fd[0]);
        work(p, fd[1]);
    }
    (void)close(fd[1]);
    const bool has_all = pid > 0 && receive(fd[0], out, (size_t)p->n * sizeof *out);
    (void)close(fd[0]);
    if (pid > 0 && !has_all)
        (void)kill(pid, SIGKILL);
    if (pid > 0)
        (void)waitpid(pid, &how, 0);
    KILN_TRY(kiln_interrupt_check(err));
    if (!has_all && WIFSIGNALED(how) && WTERMSIG(how) != SIGKILL)
        return kiln_fail(err, KILN_ERR_IO,
                         "measuring the machine: the process that does it was ended by "
                         "signal %d",
                         WTERMSIG(how));
    if (!has_all)
        return kiln_fail(err, KILN_ERR_IO,
                         "measuring the machine: the process that does it did not come "
                         "to its end");
    return KILN_OK;
}
