/* The cycle model: nests whose cycles are known by hand, and what must hold of any. */
#include "compiler/schedule/cycles.h"
#include "compiler/schedule/schedule.h"
#include "tests/support/kiln_test.h"

/* Two multiply-adds a cycle, four late; caches of 32 KiB, 1 MiB and 32 MiB, of which
 * three quarters count; 64, 32 and 8 bytes a cycle. */
static kiln_profile machine(void) {
    kiln_profile p = *kiln_profile_at(0);
    p.vector_bytes = 64;
    p.cores = 4;
    p.l1d_bytes = 32 * 1024;
    p.l2_bytes = 1024 * 1024;
    p.l3_bytes = 32 * 1024 * 1024;
    p.core = (kiln_core){.fma_ports = 2,
                         .fma_latency = 4,
                         .load_ports = 2,
                         .store_ports = 1,
                         .l2_rate = 64,
                         .l3_rate = 32,
                         .memory_rate = 8};
    return p;
}

/* One loop of 1000 around a body. */
static kiln_cycles_nest body(double muladds, double chains, double loads,
                             double stores) {
    return (kiln_cycles_nest){.n_loops = 1,
                              .extent = {1000},
                              .muladds = muladds,
                              .chains = chains,
                              .loads = loads,
                              .stores = stores,
                              .share = 1};
}

static void near(double got, double want) {
    if (got < want * 0.999999 || got > want * 1.000001)
        fail_msg("%.9g cycles, must be %.9g", got, want);
}

typedef struct core_row {
    const char *name;
    double muladds, chains, loads, stores, cycles; /* of one run of the body */
} core_row;

static core_row core_rows[] = {
    {"ports_bound_many_chains", 24, 24, 0, 0, 12},
    {"latency_bounds_few_chains", 4, 4, 0, 0, 4},
    {"a_chain_is_as_long_as_it_is", 12, 2, 0, 0, 24},
    {"loads_bound_what_reads_much", 4, 0, 16, 0, 8 + 0.6},
    {"stores_bound_what_writes", 2, 0, 2, 5, 5 + 0.3},
    {"a_turn_takes_a_cycle", 0, 0, 0, 0, 1},
    {"smaller_loads_are_not_quite_hidden", 24, 24, 10, 0, 12 + 1.5},
};

static void bounds_the_core(void **state) {
    const core_row *r = *state;
    const kiln_profile p = machine();
    const kiln_cycles_nest n = body(r->muladds, r->chains, r->loads, r->stores);
    const kiln_cycles c = kiln_cycles_of_nest(&p, &n, 1);
    near(c.core, 1000 * r->cycles);
    near(c.all, c.core);
    assert_true(c.l2 == 0 && c.l3 == 0 && c.memory == 0);
}

/* for i < 10: for j < n, what j touches read again for each i. */
static kiln_cycles again(double bytes, bool is_cold) {
    const kiln_profile p = machine();
    kiln_cycles_nest n = {
        .n_loops = 2,
        .extent = {10, 100},
        .n_streams = 1,
        .stream = {{.bytes = {bytes, bytes, bytes / 100}, .is_cold = is_cold}},
        .share = 1};
    return kiln_cycles_of_nest(&p, &n, 1);
}

static void what_stays_comes_once(void **state) {
    (void)state;
    const double kib = 1024, mib = 1024 * kib;
    near(again(16 * kib, false).l2, 16 * kib / 64); /* to the L1 cache once */
    near(again(256 * kib, false).l2, 10 * 256 * kib / 64);
    assert_true(again(256 * kib, false).l3 == 0);
    near(again(2 * mib, false).l3, 10 * 2 * mib / 32);
    assert_true(again(2 * mib, false).memory == 0);
    near(again(64 * mib, false).memory, 10 * 64 * mib / 8);
    near(again(256 * kib, true).memory, 256 * kib / 8); /* once, then it is near */
    near(again(2 * mib, true).memory, 2 * mib / 8);
}

/* for i: for j: a[i] stays while j runs, b[j] comes again. */
static void what_the_loop_does_not_move_stays(void **state) {
    (void)state;
    const kiln_profile p = machine();
    const double a = 8 * 1024, b = 512 * 1024;
    const kiln_cycles_nest n = {
        .n_loops = 2,
        .extent = {20, 64},
        .n_streams = 2,
        .stream = {{.bytes = {20 * a, a, a}}, {.bytes = {b, b, b / 64}}},
        .share = 1};
    near(kiln_cycles_of_nest(&p, &n, 1).l2, (20 * a + 20 * b) / 64);
}

/* Windows that overlap bring what is new. */
static void windows_bring_what_is_new(void **state) {
    (void)state;
    const kiln_profile p = machine();
    const double window = 16 * 1024, all = 10 * 1024 + 90 * 1024;
    const kiln_cycles_nest n = {.n_loops = 2,
                                .extent = {10, 10},
                                .n_streams = 1,
                                .stream = {{.bytes = {all, window, window / 10}}},
                                .share = 1};
    near(kiln_cycles_of_nest(&p, &n, 1).l2, all / 64);
}

static void threads_share(void **state) {
    (void)state;
    kiln_profile p = machine();
    kiln_cycles_nest n = body(24, 24, 0, 0);
    near(kiln_cycles_of_nest(&p, &n, 4).core, 12000); /* no loop is parallel */
    n.parallel = 1000;
    near(kiln_cycles_of_nest(&p, &n, 4).core, 3000);
    n.parallel = 5; /* one of four gets two parts */
    near(kiln_cycles_of_nest(&p, &n, 4).core, 12000 * 2 / 5.0);
    n.parallel = 1000;
    n.n_streams = 1;
    n.stream[0] = (kiln_cycles_stream){.bytes = {1e6, 1e3}, .is_cold = true};
    near(kiln_cycles_of_nest(&p, &n, 4).memory, 1e6 / 4 / 8);
    p.core.memory_rate_all = 16; /* 4 bytes a cycle into each */
    near(kiln_cycles_of_nest(&p, &n, 4).memory, 1e6 / 4 / 4);
    near(kiln_cycles_of_nest(&p, &n, 1).memory, 1e6 / 8);
}

/* What a statement before left in a cache does not come again. */
static void what_was_touched_before_is_near(void **state) {
    (void)state;
    const kiln_profile p = machine();
    const double kib = 1024, all = 4096 * kib;
    kiln_cycles_nest n = {.n_loops = 1,
                          .extent = {1024},
                          .n_streams = 1,
                          .stream = {{.bytes = {all, all / 1024}, .again = 8 * kib}},
                          .share = 1};
    const kiln_cycles row = kiln_cycles_of_nest(&p, &n, 1); /* of 4 KiB, twice */
    assert_true(row.l2 == 0 && row.l3 == 0 && row.memory == 0);
    n.stream[0].again = 512 * kib;
    const kiln_cycles block = kiln_cycles_of_nest(&p, &n, 1);
    assert_true(block.l2 > 0 && block.l3 == 0);
    n.stream[0].again = 2 * all;
    const kiln_cycles far = kiln_cycles_of_nest(&p, &n, 1);
    near(far.l3, all / 32);
    n.stream[0].again = 0;
    near(kiln_cycles_of_nest(&p, &n, 1).l3, far.l3);
}

/* One core waits for what it reads; what all write back shares their rate. */
static void nobody_waits_for_what_is_written(void **state) {
    (void)state;
    kiln_profile p = machine();
    const double bytes = 64.0 * 1024 * 1024;
    kiln_cycles_nest n = {.n_loops = 1,
                          .extent = {1024},
                          .n_streams = 1,
                          .stream = {{.bytes = {bytes, bytes / 1024}}},
                          .share = 1,
                          .parallel = 1024};
    const double read = kiln_cycles_of_nest(&p, &n, 4).memory;
    n.stream[0].is_written = true;
    near(kiln_cycles_of_nest(&p, &n, 4).memory, read);
    p.core.memory_rate_all = 16;
    near(kiln_cycles_of_nest(&p, &n, 4).memory, 2 * bytes / 16);
}

static double draw(kiln_rng *r, double most) {
    return (double)kiln_rng_range(r, 1, 1000) / 1000 * most;
}

/* Of random nests: all is at least each part and at most their sum; a machine that is
 * better in anything is not slower; more threads are not slower. */
static void better_machines_are_no_slower(void **state) {
    (void)state;
    kiln_rng r;
    kiln_rng_init(&r, kiln_test_seed());
    for (int i = 0; i < 2000; i++) {
        kiln_profile p = machine(), q = p;
        kiln_cycles_nest n = {.n_loops = 3,
                              .n_streams = 3,
                              .muladds = draw(&r, 32),
                              .chains = draw(&r, 32),
                              .loads = draw(&r, 16),
                              .stores = draw(&r, 8),
                              .entry = draw(&r, 50),
                              .share = draw(&r, 1),
                              .parallel = (double)kiln_rng_range(&r, 0, 100)};
        for (int d = 0; d < 3; d++)
            n.extent[d] = (double)kiln_rng_range(&r, 1, 200);
        for (int k = 0; k < 3; k++) {
            kiln_cycles_stream *s = &n.stream[k];
            s->is_cold = kiln_rng_range(&r, 0, 1) == 1;
            s->bytes[3] = draw(&r, 256);
            for (int d = 2; d >= 0; d--)
                s->bytes[d] =
                    s->bytes[d + 1] * (kiln_rng_range(&r, 0, 1) == 1 ? n.extent[d] : 1);
        }
        q.core.fma_ports = 4;
        q.core.fma_latency = 3;
        q.core.load_ports = 3;
        q.core.l2_rate = 128;
        q.core.l3_rate = 48;
        q.core.memory_rate = 12;
        const kiln_cycles slow = kiln_cycles_of_nest(&p, &n, 1),
                          fast = kiln_cycles_of_nest(&q, &n, 1),
                          four = kiln_cycles_of_nest(&p, &n, 4);
        const double sum = slow.core + slow.l2 + slow.l3 + slow.memory;
        assert_true(slow.all >= slow.core && slow.all >= slow.l2);
        assert_true(slow.all >= slow.l3 && slow.all >= slow.memory);
        assert_true(slow.all <= sum * 1.000001);
        assert_true(fast.all <= slow.all * 1.000001);
        assert_true(four.all <= slow.all * 1.000001);
    }
}

/* ---- programs -------------------------------------------------------------------- */

/* y[i, j] = sum over k of a[i, k] * b[k, j], in tiles of `rows` by two vectors. */
static kiln_cycles product(int64_t m, int64_t n, int64_t k, int64_t rows,
                           bool is_cold) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const kiln_profile p = machine();
    const kiln_te *x = kiln_te_placeholder(a, "a", KILN_F32, 2, (int64_t[]){m, k});
    const kiln_te *w = kiln_te_placeholder(a, "b", KILN_F32, 2, (int64_t[]){k, n});
    kiln_te *y = kiln_te_begin(a, "y", 2, (int64_t[]){m, n});
    const kiln_axis *r = kiln_te_reduce_axis(y, "k", k);
    const kiln_expr *i = kiln_te_var(y, 0), *j = kiln_te_var(y, 1);
    const kiln_expr *t = kiln_axis_var(a, r);
    const kiln_expr *body =
        kiln_te_sum(y,
                    kiln_x_mul(a, kiln_te_read(a, x, (const kiln_expr *[]){i, t}),
                               kiln_te_read(a, w, (const kiln_expr *[]){t, j})),
                    &r, 1);
    kiln_assert_status_ok(kiln_te_end(y, 1, &body, &err), &err);
    const kiln_te *const arg[] = {x, w, y};
    kiln_schedule *s = kiln_schedule_new(a, arg + 2, 1);
    kiln_stage *out = kiln_schedule_stage(s, y), *tile;
    kiln_iter *row, *row_in, *col, *col_in, *v, *lane;
    kiln_assert_status_ok(kiln_cache_write(out, KILN_SCOPE_REGISTER, &tile, &err),
                          &err);
    kiln_assert_status_ok(
        kiln_split(out, kiln_stage_axis(out, 0), rows, &row, &row_in, &err), &err);
    kiln_assert_status_ok(
        kiln_split(out, kiln_stage_axis(out, 1), 32, &col, &col_in, &err), &err);
    kiln_iter *order[] = {row, col, row_in, col_in};
    kiln_assert_status_ok(kiln_reorder(out, order, 4, &err), &err);
    kiln_assert_status_ok(kiln_compute_at(tile, out, col, &err), &err);
    kiln_assert_status_ok(
        kiln_split(tile, kiln_stage_axis(tile, 1), 16, &v, &lane, &err), &err);
    kiln_iter *inner[] = {kiln_stage_reduce(tile, 0), kiln_stage_axis(tile, 0), v,
                          lane};
    kiln_assert_status_ok(kiln_reorder(tile, inner, 4, &err), &err);
    kiln_assert_status_ok(kiln_unroll(tile, inner[1], &err), &err);
    kiln_assert_status_ok(kiln_unroll(tile, v, &err), &err);
    kiln_assert_status_ok(kiln_vectorize(tile, lane, &err), &err);
    kiln_program *prog;
    kiln_assert_status_ok(kiln_lower(a, s, arg, 3, 2, "k", &prog, &err), &err);
    const bool cold[] = {false, is_cold, false};
    return kiln_cycles_of_program(a, &p, prog, cold, 1);
}

static void reads_a_program(void **state) {
    (void)state;
    const double n = 64.0 * 256 * 256;
    const kiln_cycles tall = product(64, 256, 256, 8, false),
                      flat = product(64, 256, 256, 1, false),
                      cold = product(64, 256, 256, 8, true);
    /* 16 sums of 16 lanes hide four cycles of two ports; two sums do not. */
    assert_true(tall.core >= n / 16 / 2 && tall.core < 1.5 * n / 16 / 2);
    assert_true(flat.core >= n / 16 / 2 * 4);
    assert_true(cold.memory >= 256 * 256 * 4 / 8.0 && tall.memory == 0);
    assert_true(tall.all < flat.all && tall.all < cold.all);
}

/* y = f(x) in vectors of 16, of n rows of 64. */
static kiln_cycles map(int64_t rows, bool is_function) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const kiln_profile p = machine();
    const int64_t dim[] = {rows, 64};
    const kiln_te *x = kiln_te_placeholder(a, "x", KILN_F32, 2, dim);
    kiln_te *y = kiln_te_begin(a, "y", 2, dim);
    const kiln_expr *at[] = {kiln_te_var(y, 0), kiln_te_var(y, 1)};
    const kiln_expr *v = kiln_te_read(a, x, at);
    const kiln_expr *body =
        is_function ? kiln_x_fn(a, KILN_INTRIN_exp, v) : kiln_x_add(a, v, v);
    kiln_assert_status_ok(kiln_te_end(y, 1, &body, &err), &err);
    const kiln_te *const arg[] = {x, y};
    kiln_schedule *s = kiln_schedule_new(a, arg + 1, 1);
    kiln_stage *out = kiln_schedule_stage(s, y);
    kiln_iter *outer, *lane;
    kiln_assert_status_ok(
        kiln_split(out, kiln_stage_axis(out, 1), 16, &outer, &lane, &err), &err);
    kiln_assert_status_ok(kiln_vectorize(out, lane, &err), &err);
    kiln_program *prog;
    kiln_assert_status_ok(kiln_lower(a, s, arg, 2, 1, "k", &prog, &err), &err);
    return kiln_cycles_of_program(a, &p, prog, NULL, 1);
}

/* A function is many multiply-adds; far away, neither it nor an addition matters. */
static void functions_take_their_polynomials(void **state) {
    (void)state;
    const kiln_cycles exp_near = map(64, true), add_near = map(64, false);
    assert_true(exp_near.core >= 5 * add_near.core);
    const kiln_cycles exp_far = map(1 << 20, true), add_far = map(1 << 20, false);
    assert_true(exp_far.all < 1.6 * add_far.all);
    assert_true(add_far.memory > add_far.core);
}

int main(void) {
    kiln_test_add_rows(bounds_the_core, core_rows);
    kiln_test_add("what_stays_comes_once", what_stays_comes_once, NULL);
    kiln_test_add("what_the_loop_does_not_move_stays",
                  what_the_loop_does_not_move_stays, NULL);
    kiln_test_add("windows_bring_what_is_new", windows_bring_what_is_new, NULL);
    kiln_test_add("threads_share", threads_share, NULL);
    kiln_test_add("better_machines_are_no_slower", better_machines_are_no_slower, NULL);
    kiln_test_add("what_was_touched_before_is_near", what_was_touched_before_is_near,
                  NULL);
    kiln_test_add("nobody_waits_for_what_is_written", nobody_waits_for_what_is_written,
                  NULL);
    kiln_test_add("functions_take_their_polynomials", functions_take_their_polynomials,
                  NULL);
    kiln_test_add("reads_a_program", reads_a_program, NULL);
    return kiln_test_run("cycles");
}
