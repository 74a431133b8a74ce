/* Is what a kernel computed right? Everything it may write is poisoned beforehand, so
 * that a missing store is seen; canaries show stores beside buffers. */
#include "pipeline/kernels/kernels_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct checker {
    kiln_arena *arena;
    kiln_call *call;
    kiln_verdict *verdict;
} checker;

/* Only the first problem is told. */
#define problem(c, ...)                                                                \
    do {                                                                               \
        if ((c)->verdict->ok)                                                          \
            (c)->verdict->problem = kiln_format((c)->arena, __VA_ARGS__);              \
        (c)->verdict->ok = false;                                                      \
    } while (0)

static void check_canary(checker *c, const kiln_guarded *g, const char *what) {
    int64_t at;
    if (kiln_guarded_broken(g, &at))
        problem(c, "byte %" PRId64 " of %s was written, it has %zu", at, what,
                g->bytes);
}

static void check_memory(checker *c) {
    const kiln_te_graph *te = &c->call->kernel->scheduled.te;
    for (size_t i = 0; i < te->n_args; i++)
        check_canary(c, &c->call->arg[i],
                     kiln_format(c->arena, "argument '%s'", te->arg_value[i]->name));
    check_canary(c, &c->call->workspace, "the workspace");
    for (int i = 0; i < kiln_team_size(c->call->team); i++)
        check_canary(c, &c->call->scratch[i], "a thread's scratch memory");
    for (size_t i = 0; i < te->n_inputs; i++) {
        const kiln_guarded *g = &c->call->arg[i];
        if (kiln_hash64(g->data, g->bytes, 0) != c->call->hash[i])
            problem(c, "input '%s' was written", te->arg_value[i]->name);
    }
}

/* Lanes behind the shape must hold zeros: whoever reads the output trusts them. */
static void check_tail(checker *c, const kiln_type *t, const unsigned char *stored,
                       const char *name) {
    const size_t bytes = (size_t)kiln_type_bytes(t);
    const size_t plain_bytes = (size_t)kiln_type_elems(t) * kiln_dtype_bytes(t->dtype);
    if (bytes == plain_bytes)
        return;
    unsigned char *ones = kiln_arena_alloc_raw(c->arena, plain_bytes);
    unsigned char *is_lane = kiln_arena_alloc_raw(c->arena, bytes);
    memset(ones, 0xFF, plain_bytes);
    kiln_layout_pack(t, ones, is_lane);
    for (size_t i = 0; i < bytes; i++)
        if (is_lane[i] == 0 && stored[i] != 0) {
            problem(c, "output '%s': tail lane at byte %zu is not zero", name, i);
            return;
        }
}

/* Element i, the j-th of those expected. */
static void check_element(checker *c, const kiln_expected *want, int64_t i, int64_t j,
                          double got, const char *name) {
    const double w = want->value[j], bound = want->bound != NULL ? want->bound[j] : 0;
    const bool is_same = (isnan(w) && isnan(got)) || got == w;
    const double off = fabs(got - w);
    c->verdict->n_checked++;
    if (is_same)
        return;
    if (!(off <= c->verdict->max_abs))
        c->verdict->max_abs = off;
    if (!(off <= bound)) /* NaN too */
        problem(c, "output '%s' element %" PRId64 " is %.9g, must be %.9g within %.3g",
                name, i, got, w, bound);
    const double ratio = bound > 0 ? off / bound : HUGE_VAL;
    if (!(ratio <= c->verdict->worst))
        c->verdict->worst = ratio;
}

/* Elements [begin, end) of what was got; those expected from the j-th on may be among
 * them. Others must have been written at least. */
static int64_t check_slice(checker *c, const kiln_expected *want, const kiln_wide *got,
                           int64_t begin, int64_t end, int64_t j, const char *name) {
    const bool is_u64 = got->type.dtype == KILN_U64;
    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        const double value = got->f != NULL ? got->f[k]
                             : is_u64       ? (double)(uint64_t)got->i[k]
                                            : (double)got->i[k];
        const bool is_chosen =
            want->pick == NULL || (j < want->n_pick && want->pick[j] == i);
        if (is_chosen)
            check_element(c, want, i, j++, value, name);
        else if (isnan(value))
            problem(c, "output '%s' element %" PRId64 " is NaN", name, i);
    }
    return j;
}

/* By slices that stay in the cache. */
static void check_elements(checker *c, const kiln_expected *want,
                           const kiln_tensor *got, const char *name) {
    enum { SLICE = 4096 };
    const kiln_dtype dtype = got->type.dtype;
    const int64_t n = want->n_elems, most = SLICE;
    const kiln_type longest = kiln_type_make(dtype, 1, &most);
    kiln_wide w = kiln_wide_new(c->arena, &longest);
    for (int64_t begin = 0, j = 0; begin < n; begin += SLICE) {
        const int64_t end = n - begin < SLICE ? n : begin + SLICE, length = end - begin;
        w.type = kiln_type_make(dtype, 1, &length);
        kiln_widen(&w.type,
                   (const char *)got->data + (size_t)begin * kiln_dtype_bytes(dtype),
                   &w);
        j = check_slice(c, want, &w, begin, end, j, name);
    }
    c->verdict->n_elems += n;
}

static void check_output(checker *c, size_t o, const kiln_expected *want) {
    const kiln_te_graph *te = &c->call->kernel->scheduled.te;
    const kiln_type *t = &te->arg_type[te->n_inputs + o];
    const kiln_guarded *g = &c->call->arg[te->n_inputs + o];
    const char *name = c->call->kernel->work->graph->output_names.v[o];
    kiln_tensor got = {.type = kiln_type_make(t->dtype, t->rank, t->dim)};
    got.data = kiln_arena_alloc_raw(c->arena, (size_t)kiln_type_bytes(&got.type));
    kiln_layout_unpack(t, g->data, got.data);
    check_elements(c, want, &got, name);
    check_tail(c, t, g->data, name);
}

void kiln_expected_compare(kiln_arena *a, const kiln_expected *want,
                           const kiln_tensor *got, const char *name,
                           kiln_verdict *out) {
    checker c = {.arena = a, .verdict = out};
    check_elements(&c, want, got, name);
}

void kiln_call_compare(kiln_arena *a, kiln_call *call, const kiln_expected *want,
                       kiln_verdict *out) {
    KILN_ASSERT(call->fn != NULL, "the kernel of '%s' is not loaded",
                call->kernel->work->name);
    kiln_verdict v = {.ok = true, .problem = ""};
    checker c = {.arena = a, .call = call, .verdict = &v};
    kiln_call_poison(call);
    const int code = kiln_call_run(call);
    if (code != 0)
        problem(&c, "the kernel returned %d", code);
    check_memory(&c);
    for (size_t o = 0; o < call->kernel->work->graph->outputs.n; o++)
        check_output(&c, o, &want[o]);
    *out = v;
}

kiln_status kiln_call_check(kiln_arena *a, kiln_call *call, uint64_t seed,
                            kiln_verdict *out, kiln_err *err) {
    const kiln_op_work *work = call->kernel->work;
    kiln_expected *want = kiln_array(a, kiln_expected, work->graph->outputs.n);
    KILN_TRY(kiln_expect(a, work->graph, work->workload.anchor, call->plain,
                         kiln_choice_amplification(&call->kernel->choice), seed, want,
                         err));
    kiln_call_compare(a, call, want, out);
    return KILN_OK;
}
