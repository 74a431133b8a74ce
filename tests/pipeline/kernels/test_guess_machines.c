/* Guesses for machines that are not here: public figures of several cores
 * (machines/machines.json, each with its source), and what the tile of a product must
 * satisfy on each. */
#include "compiler/schedule/template/product/product.h"
#include "pipeline/kernels/kernels.h"
#include "tests/pipeline/kernels/machines/machines.h"
#include "tests/support/kiln_test.h"

#include <string.h>

/* Products of BERT-base, ViT-B/16 and GPT-2, and one with long rows. */
static const char *const lines[] = {
    "mm bert_qkv 128 768 768",  "mm bert_up 128 768 3072", "mm bert_down 128 3072 768",
    "mm long_up 384 768 3072",  "mm vit_qkv 197 768 2304", "mm vit_up 197 768 3072",
    "mm vit_down 197 3072 768", "mm large 1024 4096 1024", "mm batch 1024 768 768"};
enum { N_LINES = sizeof lines / sizeof lines[0] };

static kiln_profile machine[KILN_MAX_MACHINES];
static int n_machines;

typedef struct guessed {
    kiln_profile p;
    int64_t m, k, n, rows, vectors, block_m, block_k;
    bool columns;
    double share; /* of the peak by the cycle model, one thread, weights from memory */
    const char *text;
} guessed;

static int64_t number(const kiln_json *config, const char *name) {
    int64_t v = 0;
    assert_true(kiln_json_i64(kiln_json_get(config, name), &v));
    return v;
}

static guessed guess(const kiln_profile *p, const char *line) {
    kiln_arena *a = kiln_test_arena();
    static const kiln_choose_options o = {.tmpl = "matmul"};
    guessed g = {.p = *p};
    kiln_op_line one;
    kiln_op_work work;
    kiln_choice c;
    kiln_err err = {0};
    kiln_buf text;
    const kiln_json *json = NULL;
    kiln_assert_status_ok(kiln_op_line_of(a, line, &one, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(a, &one, &work, &err), &err);
    kiln_assert_status_ok(kiln_choose(a, &work, &g.p, &o, &c, &err), &err);
    kiln_buf_init(&text, a);
    kiln_config_json(&text, c.tmpl, &c.space, &c.config);
    kiln_assert_status_ok(
        kiln_json_parse(a, kiln_buf_str(&text), "config", &json, &err), &err);
    const kiln_product x = kiln_product_of(&work.workload, &g.p);
    g.m = x.m;
    g.k = x.k;
    g.n = x.n;
    g.rows = number(json, "tile_m");
    g.vectors = number(json, "tile_n") / x.lanes;
    g.block_m = number(json, "block_m");
    g.block_k = number(json, "block_k");
    g.columns =
        strcmp(kiln_json_string(kiln_json_get(json, "order"), ""), "columns") == 0;
    const kiln_product_plan plan = {.tile_m = g.rows,
                                    .tile_n = g.vectors * x.lanes,
                                    .block_m = g.block_m,
                                    .block_n = number(json, "block_n"),
                                    .block_k = g.block_k,
                                    .columns_outer = g.columns,
                                    .parallel = 1};
    g.share = kiln_product_muladds(&x) / (double)(x.lanes * g.p.core.fma_ports) /
              kiln_product_cycles(&x, &plan, 1).all;
    g.text = text.p;
    return g;
}

static const kiln_profile *find(const char *name) {
    return kiln_machine_named(machine, n_machines, name);
}

#define HOLDS(g, cond)                                                                 \
    do {                                                                               \
        if (!(cond))                                                                   \
            fail_msg("%s, %s: %s must hold of %s", (g).p.name, line, #cond, (g).text); \
    } while (0)

/* Registers hold the tile, its sums hide the latency, loads keep up with multiply-adds,
 * and what is read again lies in a cache. */
static void check_machine(void **state) {
    const kiln_profile *p = *state;
    const kiln_core *c = &p->core;
    for (int i = 0; i < N_LINES; i++) {
        const char *line = lines[i];
        const guessed g = guess(p, line);
        const int64_t terms = g.block_k > 0 ? g.block_k : g.k;
        HOLDS(g, g.rows * g.vectors + g.vectors + 1 <= p->vector_registers);
        HOLDS(g, g.rows * g.vectors >= kiln_sums_to_hide_latency(p));
        HOLDS(g, (g.rows + g.vectors) * c->fma_ports <=
                     g.rows * g.vectors * c->load_ports);
        /* A panel of b passes all rows of a block from the L2 cache at the most. */
        HOLDS(g, g.vectors * p->vector_bytes * terms <= kiln_cache_l2(p) / 4 * 3);
        if (g.block_m > 0)
            HOLDS(g, g.block_m * g.rows * terms * 4 <=
                         kiln_cache_l2(p) / 2 + g.rows * terms * 4);
        /* By rows all of b passes for each panel: only where its cache keeps up. */
        const int64_t need = g.vectors * p->vector_bytes * c->fma_ports;
        const bool is_far = g.k * g.n * 4 > kiln_cache_l2(p);
        if (!g.columns && g.block_k == 0 && is_far && g.m > g.rows)
            HOLDS(g, need <= c->l3_rate * g.rows * g.vectors);
    }
}

/* By the cycle model, which hides less than fetched panels do: many rows reach half of
 * the peak of multiply-adds on every machine, with panels that pass once; one row half
 * of what memory gives, a multiply-add for 4 bytes. */
static void weights_from_memory_leave_most_of_the_peak(void **state) {
    (void)state;
    static const char *const many[] = {
        "mm bert_up 128 768 3072",  "mm bert_down 128 3072 768",
        "mm vit_proj 197 768 768",  "mm vit_up 197 768 3072",
        "mm square 1024 1024 1024", "mm head 128 768 10000"};
    for (int i = 0; i < n_machines; i++) {
        for (size_t k = 0; k < sizeof many / sizeof many[0]; k++) {
            const char *line = many[k];
            const guessed g = guess(&machine[i], line);
            print_message("%-20s %-26s %2d x %d%s %3.0f%%\n", g.p.name, line,
                          (int)g.rows, (int)g.vectors, g.columns ? " columns" : "",
                          100 * g.share);
            HOLDS(g, g.columns || g.block_k > 0);
            HOLDS(g, g.share >= 0.5);
        }
        const char *line = "mm gpt_up 1 768 3072";
        const guessed g = guess(&machine[i], line);
        const kiln_core *c = &g.p.core;
        const double stream =
            c->memory_rate / (4.0 * g.p.vector_bytes / 4 * c->fma_ports);
        print_message("%-20s %-26s %2d x %d %3.0f%% of %3.0f%%\n", g.p.name, line,
                      (int)g.rows, (int)g.vectors, 100 * g.share, 100 * stream);
        HOLDS(g, g.share >= 0.5 * stream && g.share <= stream);
    }
}

/* 24 sums and their operands need 28 registers; of 16, 12 sums are the most that leave
 * room for them. */
static void registers_bound_the_tile(void **state) {
    (void)state;
    kiln_profile p = *find("sapphire_rapids");
    const guessed large = guess(&p, lines[1]);
    p.vector_registers = 16;
    const guessed small = guess(&p, lines[1]);
    assert_true(large.rows * large.vectors >= 24 && small.rows * small.vectors <= 12);
}

/* The same product, where b does not fit the L2 cache: an L3 cache of 9 bytes a cycle
 * cannot feed a tile that takes 16, so b passes once, by columns. */
static void a_slow_last_cache_is_read_once(void **state) {
    (void)state;
    static const char *const slow[] = {"sapphire_rapids", "skylake_x"};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            assert_true(guess(find(slow[i]), lines[k]).columns);
    /* Of what L2 holds either order will do: few rows wait for b. */
    assert_false(guess(find("zen5"), "mm small 36 650 192").columns);
}

/* Rows that 2 MiB hold are blocked where there is 1. */
static void a_larger_cache_keeps_more_rows(void **state) {
    (void)state;
    const guessed small = guess(find("skylake_x"), "mm batch 1024 768 768"),
                  large = guess(find("sapphire_rapids"), "mm batch 1024 768 768");
    const int64_t all_small = small.block_m > 0 ? small.block_m * small.rows : small.m;
    const int64_t all_large = large.block_m > 0 ? large.block_m * large.rows : large.m;
    assert_true(all_small < all_large);
}

/* One core with a port, then a latency, then a load port less or more. */
static void ports_and_latency_decide_the_tile(void **state) {
    (void)state;
    kiln_profile p = *find("neoverse_v1");
    const char *line = "mm square 960 256 1536";
    for (int ports = 1; ports <= 4; ports *= 2)
        for (int latency = 4; latency <= 5; latency++)
            for (int loads = 1; loads <= 3; loads++) {
                p.core.fma_ports = ports;
                p.core.fma_latency = latency;
                p.core.load_ports = loads;
                const guessed g = guess(&p, line);
                const int64_t sums = g.rows * g.vectors;
                HOLDS(g, sums >= ports * latency);
                /* What the registers can do: 6 rows of 4 vectors, 24 sums of 10 loads. */
                HOLDS(g, (g.rows + g.vectors) * ports <= sums * loads ||
                             (g.rows + g.vectors) * 24 <= sums * 11);
            }
}

static void all_machines_are_read(void **state) {
    (void)state;
    assert_int_equal(n_machines, 9);
}

int main(void) {
    n_machines = kiln_machines_read(machine);
    kiln_test_add("all_machines_are_read", all_machines_are_read, NULL);
    for (int i = 0; i < n_machines; i++)
        kiln_test_add(machine[i].name, check_machine, &machine[i]);
    kiln_test_add("a_slow_last_cache_is_read_once", a_slow_last_cache_is_read_once,
                  NULL);
    kiln_test_add("weights_from_memory_leave_most_of_the_peak",
                  weights_from_memory_leave_most_of_the_peak, NULL);
    kiln_test_add("registers_bound_the_tile", registers_bound_the_tile, NULL);
    kiln_test_add("a_larger_cache_keeps_more_rows", a_larger_cache_keeps_more_rows,
                  NULL);
    kiln_test_add("ports_and_latency_decide_the_tile",
                  ports_and_latency_decide_the_tile, NULL);
    return kiln_test_run("guess_machines");
}
