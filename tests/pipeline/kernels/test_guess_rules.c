/* What holds of guesses for any core: drawn ones, and drawn products and convolutions.
 */
#include "pipeline/kernels/kernels.h"
#include "tests/support/kiln_test.h"

#include <string.h>

typedef struct drawn {
    kiln_profile profile;
    kiln_op_work work;
    kiln_choice choice;
    const kiln_json *config;
} drawn;

static int64_t pick(kiln_rng *r, const int64_t *of, int n) {
    return of[kiln_rng_range(r, 0, n - 1)];
}
#define PICK(r, ...)                                                                   \
    pick(r, (const int64_t[]){__VA_ARGS__},                                            \
         (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)))

static kiln_profile draw_profile(kiln_rng *r) {
    kiln_profile p = *kiln_profile_at(0);
    p.vector_bytes = (int)PICK(r, 16, 32, 64);
    p.vector_registers = (int)PICK(r, 16, 32);
    p.cores = (int)PICK(r, 1, 2, 4);
    p.l1d_bytes = PICK(r, 0, 16, 32, 64) * 1024;
    p.l2_bytes = PICK(r, 0, 128, 512, 2048) * 1024;
    p.l3_bytes = PICK(r, 0, 4, 32) * 1024 * 1024;
    p.core = (kiln_core){.fma_ports = (int)PICK(r, 1, 2, 4),
                         .fma_latency = (int)PICK(r, 3, 4, 6),
                         .load_ports = (int)PICK(r, 1, 2, 3),
                         .store_ports = (int)PICK(r, 1, 2),
                         .l2_rate = (int)PICK(r, 16, 32, 64),
                         .l3_rate = (int)PICK(r, 0, 8, 32),
                         .memory_rate = (int)PICK(r, 2, 8)};
    return p;
}

static drawn choose(const kiln_profile *p, const char *line, const char *tmpl) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_op_line one;
    kiln_json_writer w;
    kiln_buf text;
    drawn d = {.profile = *p};
    const kiln_choose_options o = {.tmpl = tmpl};
    kiln_assert_status_ok(kiln_op_line_of(a, line, &one, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(a, &one, &d.work, &err), &err);
    kiln_assert_status_ok(kiln_choose(a, &d.work, p, &o, &d.choice, &err), &err);
    kiln_buf_init(&text, a);
    kiln_json_writer_init(&w, &text);
    kiln_config_put(&w, d.choice.tmpl, &d.choice.space, &d.choice.config);
    kiln_assert_status_ok(
        kiln_json_parse(a, kiln_buf_str(&text), "config", &d.config, &err), &err);
    return d;
}

static int64_t knob(const drawn *d, const char *name) {
    int64_t v = 0;
    assert_true(kiln_json_i64(kiln_json_get(d->config, name), &v));
    return v;
}

/* What applying a configuration refuses: tiles that exceed the registers among others.
 */
static void guesses_can_be_applied(void **state) {
    (void)state;
    kiln_rng r;
    kiln_rng_init(&r, kiln_test_seed());
    for (int i = 0; i < 60; i++) {
        kiln_arena *a = kiln_test_arena();
        const kiln_profile p = draw_profile(&r);
        const int64_t n = kiln_rng_range(&r, 1, 300);
        const char *const line[] = {
            kiln_format(a, "mm m %d %d %d", (int)n, (int)kiln_rng_range(&r, 1, 900),
                        (int)kiln_rng_range(&r, 1, 900)),
            kiln_format(a, "conv c %d %d %d %d %d", (int)PICK(&r, 7, 14, 23, 56),
                        (int)PICK(&r, 3, 16, 17, 64, 128),
                        (int)PICK(&r, 16, 20, 64, 128), (int)PICK(&r, 1, 3, 5),
                        (int)PICK(&r, 1, 2))};
        for (int k = 0; k < 2; k++) {
            const drawn d = choose(&p, line[k], NULL);
            kiln_err err = {0};
            kiln_scheduled s;
            kiln_assert_status_ok(d.choice.tmpl->apply(a, &d.work.workload, &p,
                                                       &d.choice.space,
                                                       &d.choice.config, &s, &err),
                                  &err);
        }
    }
}

/* Of a product large in all directions: what keeps multiply-adds from waiting for one
 * another, as far as registers go; and rows of a that are kept fit half of the L2
 * cache. */
static void tiles_follow_ports_and_caches(void **state) {
    (void)state;
    kiln_rng r;
    kiln_rng_init(&r, kiln_test_seed());
    for (int i = 0; i < 60; i++) {
        const kiln_profile p = draw_profile(&r);
        const int64_t k = PICK(&r, 64, 256, 1024);
        const drawn d = choose(
            &p, kiln_format(kiln_test_arena(), "mm m 960 %d 1536", (int)k), "matmul");
        const int64_t lanes = p.vector_bytes / 4;
        const int64_t rows = knob(&d, "tile_m"), vectors = knob(&d, "tile_n") / lanes;
        const int64_t block = knob(&d, "block_m");
        const int64_t need = kiln_sums_to_hide_latency(&p), room = p.vector_registers;
        assert_true(rows * vectors + vectors + 1 <= room || rows == 1);
        /* The next larger tile may leave a rest of rows; three quarters will do. */
        assert_true(4 * rows * vectors >= 3 * (need < room - 8 ? need : room - 8));
        if (block > 1 && knob(&d, "block_k") == 0)
            assert_true(block * rows * k * 4 <= kiln_cache_l2(&p) / 2 + rows * k * 4);
    }
}

/* With more ports for multiply-adds, all else alike, there are no fewer sums than
 * before where what is there would not do. */
static void more_ports_want_more_sums(void **state) {
    (void)state;
    for (int latency = 3; latency <= 6; latency++) {
        int64_t before = 0;
        for (int ports = 1; ports <= 4; ports *= 2) {
            kiln_profile p = *kiln_profile_at(0);
            p.core.fma_ports = ports;
            p.core.fma_latency = latency;
            p.core.load_ports = 4;
            const drawn d = choose(&p, "mm m 960 256 1536", "matmul");
            const int64_t sums = knob(&d, "tile_m") * (knob(&d, "tile_n") / 16);
            const int64_t need = (int64_t)ports * latency;
            assert_true(sums >= need || sums >= 24);
            assert_true(sums >= before || sums >= need);
            before = sums;
        }
    }
}

/* Whole blocks of rows for each core where they can be dealt out so, none is so small
 * that b, which passes by for each, would take more than half of what memory gives; and
 * no blocks where rows are left over, or one core does all. */
static void rows_are_dealt_out_to_cores(void **state) {
    (void)state;
    enum { N = 3 };
    static const int cores[N] = {1, 2, 4};
    static const int64_t rows[N] = {128, 197, 256};
    for (int i = 0; i < N; i++)
        for (int m = 0; m < N; m++) {
            kiln_profile p = *kiln_profile_at(0);
            p.cores = cores[i];
            p.core.fma_ports = 1;
            p.core.memory_rate = 8;
            const char *line =
                kiln_format(kiln_test_arena(), "mm m %d 256 1024", (int)rows[m]);
            const drawn d = choose(&p, line, "matmul");
            const int64_t block = knob(&d, "block_m") * knob(&d, "tile_m");
            const int64_t least = 2 * cores[i] * p.vector_bytes / 8;
            const bool is_dealt =
                cores[i] > 1 && rows[m] % cores[i] == 0 && rows[m] / cores[i] >= least;
            assert_int_equal(block > 0, is_dealt);
            assert_true(!is_dealt || rows[m] % (block * cores[i]) == 0);
            assert_true(!is_dealt || block >= least);
        }
}

int main(void) {
    kiln_test_add("guesses_can_be_applied", guesses_can_be_applied, NULL);
    kiln_test_add("tiles_follow_ports_and_caches", tiles_follow_ports_and_caches, NULL);
    kiln_test_add("more_ports_want_more_sums", more_ports_want_more_sums, NULL);
    kiln_test_add("rows_are_dealt_out_to_cores", rows_are_dealt_out_to_cores, NULL);
    return kiln_test_run("guess_rules");
}
