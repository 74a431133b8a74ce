/* Machines that differ choose differently, where it matters: the same operator on two of
 * them (machines/machines.json), the choice that must not be the same, and the number of
 * the machine model that says so. Where machines differ in nothing that a choice is
 * about, it is the same. */
#include "pipeline/kernels/kernels.h"
#include "tests/pipeline/kernels/machines/machines.h"
#include "tests/support/kiln_test.h"

static kiln_profile machine[KILN_MAX_MACHINES];
static int n_machines;

/* The value of a knob, as JSON writes it; "template": the template. */
static const char *chosen(const kiln_profile *p, const char *line, const char *tmpl,
                          const char *knob) {
    kiln_arena *a = kiln_test_arena();
    const kiln_choose_options o = {.tmpl = tmpl};
    kiln_op_line one;
    kiln_op_work work;
    kiln_choice c;
    kiln_err err = {0};
    kiln_buf text, value;
    kiln_json_writer w;
    const kiln_json *json = NULL;
    kiln_assert_status_ok(kiln_op_line_of(a, line, &one, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(a, &one, &work, &err), &err);
    kiln_assert_status_ok(kiln_choose(a, &work, p, &o, &c, &err), &err);
    if (strcmp(knob, "template") == 0)
        return c.tmpl->name;
    kiln_buf_init(&text, a);
    kiln_json_writer_init(&w, &text);
    kiln_config_put(&w, c.tmpl, &c.space, &c.config);
    kiln_assert_status_ok(
        kiln_json_parse(a, kiln_buf_str(&text), "config", &json, &err), &err);
    const kiln_json *v = kiln_json_get(json, knob);
    assert_non_null(v);
    if (kiln_json_string(v, NULL) != NULL)
        return kiln_json_string(v, NULL);
    kiln_buf_init(&value, a);
    int64_t n = 0;
    if (kiln_json_i64(v, &n))
        kiln_buf_printf(&value, "%lld", (long long)n);
    for (const kiln_json *x = kiln_json_first(v); x != NULL; x = kiln_json_next(x)) {
        assert_true(kiln_json_i64(x, &n));
        kiln_buf_printf(&value, "%s%lld", value.n > 0 ? " " : "", (long long)n);
    }
    return value.p;
}

typedef struct row {
    const char *name, *line, *tmpl; /* NULL: the first that fits and pays */
    const char *knob;
    const char *one, *its;       /* a machine, and what it takes */
    const char *other, *another; /* another, and what that one takes */
} row;

static row rows[] = {
    /* 70000 multiply-adds are 4375 cycles of one port, 2188 of two; a fork must have four
     * times its own 780. */
    {"one_port_forks_earlier", "mm m 20 50 70", NULL, "parallel", "zen4", "tiles",
     "zen5", "no"},
    {"one_port_forks_earlier_to_reduce",
     "reduce_sum r in=f32[64,1000] axes=1 keepdims=no", NULL, "parallel",
     "skylake_x_one_port", "on", "skylake_x", "off"},
    /* Rows of 2 KiB begin in two sets of an L1 cache whose ways are 4 KiB: 8 of them find
     * room in 12 ways and leave a quarter, in 8 ways they do not. */
    {"few_ways_want_copies", "mm m 1024 512 1024", NULL, "pack_a", "skylake_x", "rows",
     "ice_lake", "no"},
    /* So 7 rows need no copies there, by three vectors; of 8 ways more than 6 do. */
    {"many_ways_take_fewer_rows", "mm m 196 1536 384", NULL, "tile_m", "zen5", "7",
     "skylake_x", "14"},
    /* Ways of 16 KiB: such rows do not meet. */
    {"long_ways_want_no_copies", "mm m 1024 512 1024", NULL, "pack_a", "skylake_x",
     "rows", "neoverse_n1", "no"},
    /* Rows that half of the L2 cache holds. */
    {"twice_the_l2_keeps_twice_the_rows", "mm m 1024 768 768", NULL, "block_m",
     "skylake_x", "16", "sapphire_rapids", "32"},
    {"a_small_l2_keeps_few_rows", "mm m 1024 512 512", NULL, "block_m", "cortex_a55",
     "4", "neoverse_n1", "32"},
    /* Two panels of 3072 terms leave no room in 1 MiB, or little: cut, b passes once for
     * all rows, and 8 cores pass the same rows by two panels each. Of 16 cores each has
     * one panel, and nothing passes again. */
    {"long_rows_are_cut", "mm m 128 3072 768", NULL, "block_k", "skylake_x", "512",
     "ice_lake", "0"},
    /* All of a and a panel of b fit into 2 MiB. */
    {"what_l2_holds_is_in_no_blocks", "mm m 512 512 512", NULL, "block_m",
     "sapphire_rapids", "0", "zen5", "32"},
    /* Rows of 32 KiB: three tiles of them are 768 KiB. */
    {"a_large_l2_cuts_no_terms", "mm m 128 8192 256", NULL, "block_k",
     "sapphire_rapids", "0", "skylake_x", "512"},
    /* A cut loads, adds and stores the sums: three cycles each on ports of one, but the
     * terms between two take twice as long as on ports of two. */
    {"slower_terms_are_cut_earlier", "mm m 128 8192 256", NULL, "block_k", "zen4",
     "384", "zen5", "512"},
    /* Of few pixels. One port is slow at the multiply-adds that Winograd saves, and its
     * larger weights come at 7 bytes a cycle meanwhile; two ports take half as long;
     * another memory brings 4. Of 7 x 7 pixels all of them take Winograd. */
    {"one_port_saves_multiply_adds", "conv c 4 512 512 3 1", NULL, "template", "zen4",
     "conv_winograd", "zen5", "conv_direct"},
    {"weights_from_a_slow_memory_are_as_they_are", "conv c 4 512 512 3 1", NULL,
     "template", "zen4", "conv_winograd", "skylake_x_one_port", "conv_direct"},
    /* 16 sums hide four ports, as many columns as the image has fit; 8 hide two. */
    {"more_ports_take_more_columns", "dw d 56 128 128 3 1", NULL, "tile", "neoverse_v1",
     "1 14", "neoverse_n1", "1 8"},
    /* 16 cores share rows that 8 would share in larger parts. */
    {"more_cores_share_smaller_parts", "dw d 56 128 128 3 1", NULL, "oh_chunk",
     "ice_lake", "28", "zen5", "56"},
    {"more_cores_share_channels", "conv c 7 512 512 3 1", "conv_direct", "oc_chunk",
     "sapphire_rapids", "2", "skylake_x", "4"},
    /* A chunk's x in a quarter of 128 KiB, or of 1 MiB. */
    {"a_small_l2_pads_few_rows", "conv c 224 3 64 7 2", NULL, "oh_chunk", "cortex_a55",
     "2", "neoverse_n1", "7"},
    /* Vectors of 16 lanes, or of four. */
    {"blocks_are_vectors", "conv c 28 128 128 3 1", NULL, "oc_block", "zen5", "16",
     "neoverse_v1", "4"},
    /* Sums of a product of one row keep up with weights from the L3 cache, twice over. */
    {"one_row_keeps_up_with_its_weights", "mm m 1 768 3072", NULL, "tile_n", "zen5",
     "64", "neoverse_v1", "24"},
    /* 512 KiB of weights do not stay in an L2 cache of 128 KiB while panels of pixels
     * pass: in blocks they do. One of 1 MiB holds them all. */
    {"weights_pass_in_blocks_that_stay", "conv c 14 256 512 1 1", NULL, "block_oc",
     "cortex_a55", "8", "neoverse_n1", "0"},
};

static void check_row(void **state) {
    const row *r = *state;
    const char *of[] = {r->one, r->other}, *want[] = {r->its, r->another};
    for (int i = 0; i < 2; i++) {
        const kiln_profile *p = kiln_machine_named(machine, n_machines, of[i]);
        const char *got = chosen(p, r->line, r->tmpl, r->knob);
        if (strcmp(got, want[i]) != 0)
            fail_msg("'%s' on %s: %s must be %s, is %s", r->line, of[i], r->knob,
                     want[i], got);
    }
    assert_string_not_equal(r->its, r->another);
}

/* Two ports or one, an L2 cache of one size or another: the register tile of a product
 * that is large in all directions is what 32 registers hold, since its 24 sums hide the
 * latency of either (8, or 4), and what is larger loads less for each multiply-add. */
static void tiles_of_wide_vectors_are_what_registers_hold(void **state) {
    (void)state;
    static const char *const wide[] = {"skylake_x", "skylake_x_one_port",
                                       "ice_lake",  "zen4",
                                       "zen5",      "sapphire_rapids"};
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        kiln_profile p = *kiln_machine_named(machine, n_machines, wide[i]);
        const char *line = "mm m 960 256 1536";
        assert_string_equal(chosen(&p, line, "matmul", "tile_m"), "8");
        assert_string_equal(chosen(&p, line, "matmul", "tile_n"), "48");
        p.vector_registers = 16;
        assert_string_not_equal(chosen(&p, line, "matmul", "tile_m"), "8");
    }
}

/* What the numbers of the model are worth by themselves. */
static void a_fork_pays_by_cycles(void **state) {
    (void)state;
    const kiln_profile *one = kiln_machine_named(machine, n_machines, "zen4"),
                       *two = kiln_machine_named(machine, n_machines, "zen5"),
                       *narrow = kiln_machine_named(machine, n_machines, "cortex_a55");
    for (int64_t i = 1000; i < 1000000; i += i / 10) {
        const double n = (double)i;
        assert_true(!kiln_is_worth_fork(two, n) || kiln_is_worth_fork(one, n));
        assert_true(!kiln_is_worth_fork(one, n) || kiln_is_worth_fork(narrow, n));
    }
}

int main(void) {
    n_machines = kiln_machines_read(machine);
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("tiles_of_wide_vectors_are_what_registers_hold",
                  tiles_of_wide_vectors_are_what_registers_hold, NULL);
    kiln_test_add("a_fork_pays_by_cycles", a_fork_pays_by_cycles, NULL);
    return kiln_test_run("machines_differ");
}
