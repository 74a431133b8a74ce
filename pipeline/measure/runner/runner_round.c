/* Rounds as the forked process runs them: calls in a row, timed, into buffers in turn.
 *
 * Ahead of each call one element of its output is spoilt: a kernel that takes what it
 * finds for what it would compute leaves such elements behind, one more with every
 * call. That costs a store or two, where a call costs a hundred and more; nothing else
 * comes between the calls. */
#include "pipeline/measure/runner/runner_internal.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* What does not change from call to call. */
typedef struct caller {
    const kiln_trial_run *t;
    kiln_kernel_fn *fn;
    kiln_pool *pool;
    void *tensor[KILN_WIRE_MAX_OPERANDS];
    uint64_t turn;
    uint32_t n_rotated, n_copies; /* inputs of which there are copies */
    uint32_t rotated[KILN_WIRE_MAX_OPERANDS];
} caller;

static void use_inputs(caller *c, uint32_t set) {
    c->n_rotated = 0;
    for (uint32_t i = 0; i < c->t->q->code.n_inputs; i++) {
        const kiln_packed *p = c->t->input[set][i];
        c->tensor[i] = p->region.data;
        if (p->n_copies <= 1)
            continue;
        c->n_copies = p->n_copies; /* of all of them */
        c->rotated[c->n_rotated++] = i;
    }
}

static void use_outputs(caller *c, uint32_t buffer) {
    const kiln_wire_code *code = &c->t->q->code;
    for (uint32_t i = code->n_inputs; i < code->n_operands; i++)
        c->tensor[i] = c->t->buffer[buffer][i - code->n_inputs].data;
}

static int call(caller *c, uint32_t set) {
    if (c->n_rotated > 0) {
        const size_t copy = (size_t)(c->turn % c->n_copies);
        for (uint32_t k = 0; k < c->n_rotated; k++) {
            const uint32_t i = c->rotated[k];
            const kiln_packed *p = c->t->input[set][i];
            c->tensor[i] = p->region.data + copy * p->stride;
        }
    }
    c->turn++;
    const kiln_args args = {.tensor = c->tensor, .workspace = c->t->workspace.data};
    if (c->pool != NULL)
        return c->fn(&args, kiln_pool_ctx(c->pool));
    kiln_ctx ctx;
    kiln_ctx_init_serial(&ctx, c->t->scratch[0].data);
    return c->fn(&args, &ctx);
}

static void spoil(const caller *c, const kiln_poke *p) {
    const uint32_t n_inputs = c->t->q->code.n_inputs;
    unsigned char *to = (unsigned char *)c->tensor[n_inputs + p->output] + p->at;
    if (p->bytes == 4) /* a constant size is one move */
        memset(to, 0xFF, 4);
    else
        memset(to, 0xFF, p->bytes);
}

static int run_calls(caller *c, const kiln_round *r) {
    uint64_t i = 0;
    uint32_t poke = 0;
    for (uint32_t s = 0; s < r->n_segments; s++) {
        use_outputs(c, r->segment[s].buffer);
        for (; i < r->segment[s].end; i++) {
            if (r->n_pokes > 0)
                spoil(c, &r->poke[poke]);
            poke = poke + 1 < r->n_pokes ? poke + 1 : 0;
            const int code = call(c, r->set);
            if (code != 0)
                return code;
        }
    }
    return 0;
}

static int run_round(caller *c, const kiln_round *r, kiln_slice *out,
                     kiln_peak_slice *peak) {
    const int threads = c->pool == NULL ? 1 : kiln_pool_threads(c->pool);
    use_inputs(c, r->set);
    use_outputs(c, r->warm_buffer);
    c->turn = r->turn;
    for (uint32_t i = 0; i < r->n_warm; i++) {
        const int code = call(c, r->set);
        if (code != 0)
            return code;
    }
    if (r->has_peak) {
        *peak = kiln_meter_kernels_slice(&c->t->r->meter, c->pool);
        out->peak_gflops = kiln_meter_kernels_gflops(&c->t->r->meter, peak, threads);
    }
    if (r->runs == 0)
        return 0;
    const kiln_slice_clocks begin = kiln_slice_now();
    const int code = run_calls(c, r);
    const kiln_slice_clocks end = kiln_slice_now();
    out->ns =
        kiln_slice_elapsed_ns(&begin, &end, threads, &out->disturbed) / (double)r->runs;
    if (!kiln_slice_is_sealed(&begin))
        out->ns = (double)NAN; /* no time, and found by who asked for it */
    return code;
}

static bool next(int channel) {
    char byte;
    ssize_t n;
    do
        n = read(channel, &byte, 1);
    while (n < 0 && errno == EINTR);
    return n == 1;
}

int kiln_rounds_serve(const kiln_trial_run *t, kiln_kernel_fn *fn, kiln_pool *pool,
                      kiln_page *page, int channel) {
    KILN_ASSERT(fn != NULL, "rounds of a kernel that is not loaded");
    caller c = {.t = t, .fn = fn, .pool = pool};
    while (next(channel)) {
        const kiln_round r = page->round;
        kiln_slice slice = {.ns = 0};
        kiln_peak_slice peak = {.gflops = 0};
        const int code = run_round(&c, &r, &slice, &peak);
        if (code != 0)
            return code;
        page->slice = slice;
        page->peak = peak;
        if (write(channel, "", 1) != 1)
            break;
    }
    return 0;
}

int kiln_round_call(const kiln_trial_run *t, kiln_kernel_fn *fn, kiln_pool *pool,
                    uint32_t buffer) {
    KILN_ASSERT(fn != NULL, "a call of a kernel that is not loaded");
    KILN_ASSERT(buffer < t->n_buffers, "there is no output %u", (unsigned)buffer);
    caller c = {.t = t, .fn = fn, .pool = pool};
    use_inputs(&c, 0);
    use_outputs(&c, buffer);
    return call(&c, 0);
}
