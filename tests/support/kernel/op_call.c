/* Arguments of a kernel: random, packed, guarded, poisoned; one call of it; and is what
 * it computed right? Everything it may write is poisoned beforehand, so that a missing
 * store is seen; canaries show stores beside buffers. */
#include "tests/support/kernel/op_call.h"

#include "pipeline/kernels/kernels_pack.h"
#include "tests/support/kiln_test.h"

#include <inttypes.h>
#include <string.h>

/* ---- code and memory ------------------------------------------------------------- */

static void close_code(void *code) { kiln_code_close(code); }

kiln_status kiln_test_kernel_load(kiln_arena *a, const kiln_profile *p,
                                  const kiln_kernel *k, kiln_kernel_fn **out,
                                  kiln_err *err) {
    kiln_code *code = NULL;
    char text[KILN_LOAD_TEXT] = "";
    KILN_TRY(kiln_runs_here(p, err));
    if (kiln_code_open(k->object.bytes.p, k->object.bytes.n, &code, text) !=
        KILN_LOAD_OK)
        return kiln_fail(err, KILN_ERR_LIB, "kernel '%s' cannot be loaded: %s",
                         k->program->name, text);
    kiln_arena_defer(a, close_code, code);
    *out = kiln_code_kernel(code, k->program->name);
    assert_non_null(*out);
    return KILN_OK;
}

/* Pages on both sides: what is written far beside a buffer is seen too, and every
 * buffer starts at the same place of its page. */
enum { CANARY = 0xC3 };
static const size_t page = 4096;

static size_t room_of(size_t bytes) { return (bytes + page - 1) / page * page; }

static kiln_test_guarded guarded_new(kiln_arena *a, size_t bytes) {
    const size_t room = room_of(bytes) + 2 * page;
    unsigned char *raw = kiln_arena_alloc_raw(a, room + page);
    unsigned char *whole = raw + (page - (uintptr_t)raw % page) % page;
    memset(whole, CANARY, page);
    memset(whole + page + bytes, CANARY, room - page - bytes);
    return (kiln_test_guarded){.whole = whole, .data = whole + page, .bytes = bytes};
}

static bool is_broken(const kiln_test_guarded *g, int64_t *at) {
    const size_t room = room_of(g->bytes) + 2 * page;
    for (size_t i = page; i-- > 0;)
        if (g->whole[i] != CANARY) {
            *at = (int64_t)i - (int64_t)page;
            return true;
        }
    for (size_t i = page + g->bytes; i < room; i++)
        if (g->whole[i] != CANARY) {
            *at = (int64_t)i - (int64_t)page;
            return true;
        }
    return false;
}
/* ---- teams ----------------------------------------------------------------------- */

static void close_pool(void *pool) { kiln_pool_close(pool); }

kiln_test_team kiln_test_team_open(kiln_arena *a, int n) {
    kiln_test_team t = {.pool = NULL};
    char text[KILN_POOL_TEXT] = "";
    const kiln_pool_options o = {.n_threads = n, .pins = 1};
    if (n > 1 && kiln_pool_open(&o, &t.pool, text) != 0)
        fail_msg("%d threads cannot be started: %s", n, text);
    if (n > 1)
        kiln_arena_defer(a, close_pool, t.pool);
    return t;
}

static int team_size(kiln_test_team t) {
    return t.pool != NULL ? kiln_pool_threads(t.pool) : 1;
}

/* ---- a call ---------------------------------------------------------------------- */

/* All bits set is NaN in every float type, and no value that a kernel makes by chance
 * in an integer one. */
enum { POISON = 0xFF };

static void poison(kiln_test_guarded *g) { memset(g->data, POISON, g->bytes); }

static void poison_all(kiln_test_call *c) {
    const kiln_te_graph *te = &c->kernel->scheduled.te;
    for (size_t i = te->n_inputs; i < te->n_args; i++)
        poison(&c->arg[i]);
    poison(&c->workspace);
    for (int i = 0; i < team_size(c->team); i++)
        poison(&c->scratch[i]);
}

static kiln_tensor plain_value(kiln_arena *a, const kiln_value *v, uint64_t seed) {
    if (v->data != NULL)
        return (kiln_tensor){.type = v->type, .data = (void *)(uintptr_t)v->data};
    return kiln_ref_random(a, &v->type, seed);
}

kiln_status kiln_test_call_new(kiln_arena *a, const kiln_kernel *k, kiln_kernel_fn *fn,
                               kiln_test_team team, uint64_t seed, kiln_test_call *out,
                               kiln_err *err) {
    assert_non_null(fn);
    const kiln_te_graph *te = &k->scheduled.te;
    const int n_threads = team_size(team);
    kiln_packer *packer = kiln_packer_new(a, NULL);
    kiln_test_call c = {.kernel = k,
                        .fn = fn,
                        .team = team,
                        .hash = kiln_array(a, uint64_t, te->n_inputs),
                        .scratch = kiln_array(a, kiln_test_guarded, n_threads),
                        .scratch_data = kiln_array(a, void *, n_threads),
                        .plain = kiln_array(a, kiln_tensor, k->work->graph->values.n),
                        .arg = kiln_array(a, kiln_test_guarded, te->n_args),
                        .tensor = kiln_array(a, void *, te->n_args)};
    for (size_t i = 0; i < te->n_args; i++) {
        const kiln_value *v = te->arg_value[i];
        const kiln_type *t = &te->arg_type[i];
        KILN_TRY(kiln_type_check(t, err));
        c.arg[i] = guarded_new(a, (size_t)kiln_type_bytes(t));
        c.tensor[i] = c.arg[i].data;
        if (i >= te->n_inputs)
            continue;
        c.plain[v->id] = plain_value(a, v, seed + i);
        const kiln_packing packing = kiln_packing_of(&v->type, te->arg_packing[i], t);
        KILN_TRY(kiln_packer_add(packer, &packing, v->name, NULL, c.plain[v->id].data,
                                 c.arg[i].data, err));
        KILN_TRY(kiln_packer_finish(packer, err));
        c.hash[i] = kiln_hash64(c.arg[i].data, c.arg[i].bytes, 0);
    }
    c.workspace = guarded_new(a, k->object.workspace_bytes);
    for (int i = 0; i < n_threads; i++) {
        c.scratch[i] = guarded_new(a, k->object.scratch_bytes);
        c.scratch_data[i] = c.scratch[i].data;
    }
    c.args = (kiln_args){.tensor = c.tensor, .workspace = c.workspace.data};
    poison_all(&c);
    *out = c;
    return KILN_OK;
}

static int run(kiln_test_call *c) {
    if (c->team.pool == NULL) {
        kiln_ctx ctx;
        kiln_ctx_init_serial(&ctx, c->scratch_data[0]);
        return c->fn(&c->args, &ctx);
    }
    kiln_pool_set_scratch(c->team.pool, c->scratch_data);
    return c->fn(&c->args, kiln_pool_ctx(c->team.pool));
}

/* ---- right or wrong -------------------------------------------------------------- */

typedef struct checker {
    kiln_arena *arena;
    kiln_test_call *call;
    kiln_verdict *verdict;
} checker;

/* Only the first problem is told. */
#define problem(c, ...)                                                                \
    do {                                                                               \
        if ((c)->verdict->ok)                                                          \
            (c)->verdict->problem = kiln_format((c)->arena, __VA_ARGS__);              \
        (c)->verdict->ok = false;                                                      \
    } while (0)

static void check_canary(checker *c, const kiln_test_guarded *g, const char *what) {
    int64_t at;
    if (is_broken(g, &at))
        problem(c, "byte %" PRId64 " of %s was written, it has %zu", at, what,
                g->bytes);
}

static void check_memory(checker *c) {
    const kiln_te_graph *te = &c->call->kernel->scheduled.te;
    for (size_t i = 0; i < te->n_args; i++)
        check_canary(c, &c->call->arg[i],
                     kiln_format(c->arena, "argument '%s'", te->arg_value[i]->name));
    check_canary(c, &c->call->workspace, "the workspace");
    for (int i = 0; i < team_size(c->call->team); i++)
        check_canary(c, &c->call->scratch[i], "a thread's scratch memory");
    for (size_t i = 0; i < te->n_inputs; i++) {
        const kiln_test_guarded *g = &c->call->arg[i];
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

static void check_output(checker *c, size_t o, const kiln_expected *want) {
    const kiln_te_graph *te = &c->call->kernel->scheduled.te;
    const kiln_type *t = &te->arg_type[te->n_inputs + o];
    const kiln_test_guarded *g = &c->call->arg[te->n_inputs + o];
    const char *name = c->call->kernel->work->graph->output_names.v[o];
    kiln_tensor got = {.type = kiln_type_make(t->dtype, t->rank, t->dim)};
    got.data = kiln_arena_alloc_raw(c->arena, (size_t)kiln_type_bytes(&got.type));
    kiln_layout_unpack(t, g->data, got.data);
    kiln_expected_compare(c->arena, want, &got, name, c->verdict);
    check_tail(c, t, g->data, name);
}

static void compare(kiln_arena *a, kiln_test_call *call, const kiln_expected *want,
                    kiln_verdict *out) {
    kiln_verdict v = {.ok = true, .problem = ""};
    checker c = {.arena = a, .call = call, .verdict = &v};
    poison_all(call);
    const int code = run(call);
    if (code != 0)
        problem(&c, "the kernel returned %d", code);
    check_memory(&c);
    for (size_t o = 0; o < call->kernel->work->graph->outputs.n; o++)
        check_output(&c, o, &want[o]);
    *out = v;
}

kiln_status kiln_test_call_check(kiln_arena *a, kiln_test_call *call, uint64_t seed,
                                 kiln_verdict *out, kiln_err *err) {
    const kiln_op_work *work = call->kernel->work;
    kiln_expected *want = kiln_array(a, kiln_expected, work->graph->outputs.n);
    KILN_TRY(kiln_expect(a, work->graph, work->workload.anchor, call->plain,
                         kiln_choice_amplification(work, &call->kernel->choice), seed,
                         want, err));
    compare(a, call, want, out);
    return KILN_OK;
}
