/* Random placements of random graphs: whatever steps other devices do, the outputs are
 * the host's, bit by bit.
 *
 *   KILN_SEED=N    the first graph's seed; each graph has the seed after the last one's
 *   KILN_GRAPHS=N  so many graphs
 *   KILN_SOAK=1    10000 placements, else a few hundred
 *
 * Devices are host2, which is another thread and shows what happens to happen; and one
 * that does everything as late as it may (tests/support/gpu/late_device.h), on which a wait
 * that is missing shows every time. */
#include <inttypes.h>
#include <string.h>

#include "pipeline/network/network.h"
#include "tests/support/graph/graph_trial.h"
#include "tests/support/kiln_test.h"
#include "tests/support/graph/network_open.h"
#include "tests/support/gpu/late_device.h"
#include "tests/support/random/random_graph.h"
#include "tests/support/random/random_program.h"
#include "compiler/pass/pass.h"

enum { PLACEMENTS = 8, MAX_DEVICES = 4 };

/* One graph, compiled for the host. */
typedef struct job {
    kiln_arena arena;
    uint64_t seed;
    const kiln_graph *g;
    const void **in; /* inputs of the run that counts; others come before it */
    kiln_network network;
    const void **want; /* outputs */
    kiln_rng rng;
} job;

typedef struct tally {
    int64_t n_placements, n_steps, n_copies, n_waits, n_needed, n_elsewhere;
} tally;

static void *poison(void *arena, size_t bytes) {
    unsigned char *block = kiln_arena_alloc_raw(arena, bytes + 64);
    memset(block, 0xFF, bytes);
    return block;
}

static void keep_block(void *arena, void *block) {
    (void)arena;
    (void)block;
}

/* ---- running --------------------------------------------------------------------- */

static const char *run_session(job *j, kiln_session *s, const void **out) {
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < j->g->inputs.n; i++) {
            const kiln_value *x = j->g->inputs.v[i];
            const void *data = j->in[i];
            if (again == 0 && kiln_dtype_is_float(x->type.dtype))
                data = kiln_ref_random(&j->arena, &x->type, j->seed + i).data;
            if (kiln_session_set_input(s, (int)i, data) != 0)
                return kiln_session_error(s);
        }
        if (kiln_session_run(s) != 0)
            return kiln_session_error(s);
    }
    for (size_t i = 0; i < j->g->outputs.n; i++) {
        const size_t bytes = (size_t)kiln_type_bytes(&j->g->outputs.v[i]->type);
        out[i] = kiln_arena_dup(&j->arena, kiln_session_output(s, (int)i), bytes);
    }
    return NULL;
}

/* NULL, or what is wrong. */
static const char *run(job *j, const kiln_network *n, const void **out) {
    static const kiln_device_kind *const late[] = {&kiln_test_late_device};
    const kiln_allocator poisoned = {poison, keep_block, &j->arena};
    const kiln_model_options o = {
        .allocator = &poisoned, .device = late, .n_devices = 1};
    char text[KILN_ERROR_TEXT] = "";
    kiln_err err = {.status = KILN_OK};
    kiln_model *m = NULL;
    if (kiln_test_network_open(&j->arena, n, &o, &m, &err) != KILN_OK)
        return kiln_str_dup(&j->arena, err.text);
    kiln_session *s = kiln_session_open(m, NULL, text);
    const char *wrong = s != NULL ? run_session(j, s, out) : text;
    if (wrong != NULL)
        wrong = kiln_str_dup(&j->arena, wrong);
    kiln_session_close(s);
    kiln_model_close(m);
    return wrong;
}

/* ---- placing --------------------------------------------------------------------- */

static const char *devices_text(const job *j, const kiln_placement *o) {
    kiln_buf b;
    kiln_buf_init(&b, kiln_test_arena());
    for (int i = 0; i < o->n_devices; i++)
        kiln_buf_printf(&b, "%s%s", i > 0 ? "," : "", o->kind[i]);
    kiln_buf_printf(&b, " KILN_SEED=%" PRIu64, j->seed);
    return b.p;
}

static const char *check_outputs(const job *j, const void *const *got) {
    for (size_t i = 0; i < j->g->outputs.n; i++) {
        const size_t bytes = (size_t)kiln_type_bytes(&j->g->outputs.v[i]->type);
        if (memcmp(got[i], j->want[i], bytes) != 0)
            return "other outputs than the host's";
    }
    return NULL;
}

/* Without that wait steps are not in order: it is there for something. */
static bool is_needed(const kiln_network *n, size_t wait) {
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_net less = *n->net;
    less.step.v = kiln_arena_dup(&a, less.step.v, less.step.n * sizeof *less.step.v);
    less.step.v[wait].kind = KILN_NET_ELSE; /* which does nothing by itself */
    const kiln_status st = kiln_net_check(&less, &err);
    kiln_arena_fini(&a);
    return st != KILN_OK;
}

static void count(tally *t, const kiln_network *n) {
    t->n_placements++;
    for (size_t i = 0; i < n->net->step.n; i++) {
        const kiln_net_step *s = &n->net->step.v[i];
        t->n_steps++;
        t->n_elsewhere += s->device != 0;
        t->n_waits += s->kind == KILN_NET_WAIT;
        t->n_needed += s->kind == KILN_NET_WAIT && is_needed(n, i);
        t->n_copies += s->kind == KILN_NET_COPY && s->device != 0;
    }
}

/* One further device or two, of either kind. */
static void check_placement(job *j, tally *t) {
    const char *kind[MAX_DEVICES] = {KILN_PLACE_HOST};
    kiln_place_seed seed = {kiln_rng_next(&j->rng),
                            (int)kiln_rng_range(&j->rng, 2, MAX_DEVICES - 1)};
    const kiln_placement o = {kind, seed.n_devices, kiln_place_at_random, &seed};
    kiln_err err = {.status = KILN_OK};
    kiln_network n;
    for (int i = 1; i < o.n_devices; i++)
        kind[i] = kiln_rng_range(&j->rng, 0, 2) == 0 ? "late" : "host2";
    const void **got = kiln_array(&j->arena, const void *, j->g->outputs.n);
    kiln_assert_status_ok(kiln_network_place(&j->arena, &j->network, &o, &n, &err),
                          &err);
    const char *wrong = run(j, &n, got);
    if (wrong == NULL)
        wrong = check_outputs(j, got);
    if (wrong != NULL)
        fail_msg("%s: %s", devices_text(j, &o), wrong);
    count(t, &n);
}

static void check_graph(uint64_t seed, const kiln_graph *g, const void **in, tally *t) {
    job j = {.seed = seed, .g = g, .in = in};
    kiln_err err = {.status = KILN_OK};
    kiln_profile p;
    kiln_graph *copy = kiln_graph_clone(&j.arena, g);
    const kiln_pass_options passes = {.verify = true};
    const kiln_network_options o = {.pack_at_open = seed % 3 == 0,
                                    .no_fusion = seed % 5 == 0};
    kiln_rng_init(&j.rng, seed);
    kiln_assert_status_ok(kiln_profile_detect(&j.arena, &p, &err), &err);
    p.numerics = KILN_NUMERICS_STRICT;
    kiln_assert_status_ok(kiln_graph_optimize(copy, &passes, &err), &err);
    kiln_assert_status_ok(
        kiln_network_compile(&j.arena, copy, &p, &o, &j.network, &err), &err);
    j.want = kiln_array(&j.arena, const void *, g->outputs.n);
    const char *wrong = run(&j, &j.network, j.want);
    if (wrong != NULL)
        fail_msg("KILN_SEED=%" PRIu64 ": %s", seed, wrong);
    for (int i = 0; i < PLACEMENTS; i++)
        check_placement(&j, t);
    kiln_arena_fini(&j.arena);
}

static void report(const tally *t, int64_t n_graphs, const char *what) {
    kiln_test_tally("%" PRId64 " random placements of %" PRId64 " %s: %" PRId64
                    " steps, of which %" PRId64 " elsewhere, %" PRId64
                    " copies, %" PRId64 " waits, of which %" PRId64 " are needed",
                    t->n_placements, n_graphs, what, t->n_steps, t->n_elsewhere,
                    t->n_copies, t->n_waits, t->n_needed);
    assert_true(t->n_copies > 0 && t->n_waits > 0);
}

static void placed_graphs_compute_the_same(void **state) {
    const int64_t n_graphs = graph_trial_count(20, 5000 / PLACEMENTS);
    const uint64_t first = kiln_test_seed();
    tally t = {0};
    (void)state;
    for (uint64_t seed = first; seed < first + (uint64_t)n_graphs; seed++) {
        kiln_arena a = {0};
        random_graph r;
        random_graph_make(&a, seed, &r);
        const void **in = kiln_array(&a, const void *, r.graph->inputs.n);
        for (size_t i = 0; i < r.graph->inputs.n; i++)
            in[i] = graph_values_get(&r.values, r.graph->inputs.v[i])->run[0].data;
        check_graph(seed, r.graph, in, &t);
        kiln_arena_fini(&a);
    }
    report(&t, n_graphs, "graphs");
}

/* Branches and loops in one another. */
static void placed_programs_compute_the_same(void **state) {
    const int64_t n_graphs = graph_trial_count(20, 5000 / PLACEMENTS);
    const uint64_t first = kiln_test_seed();
    tally t = {0};
    (void)state;
    for (uint64_t seed = first; seed < first + (uint64_t)n_graphs; seed++) {
        kiln_arena a = {0};
        const kiln_graph *g = random_program(&a, seed);
        const void **in = kiln_array(&a, const void *, g->inputs.n);
        for (size_t i = 0; i < g->inputs.n; i++)
            in[i] = kiln_ref_random(&a, &g->inputs.v[i]->type, seed * 31 + i).data;
        check_graph(seed, g, in, &t);
        kiln_arena_fini(&a);
    }
    report(&t, n_graphs, "programs of branches and loops");
}

int main(void) {
    kiln_test_add("placed_graphs_compute_the_same", placed_graphs_compute_the_same,
                  NULL);
    kiln_test_add("placed_programs_compute_the_same", placed_programs_compute_the_same,
                  NULL);
    return kiln_test_run("placed graphs");
}
