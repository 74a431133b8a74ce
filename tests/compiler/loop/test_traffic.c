/* What a launch moves, counted for programs of which it is known: sectors of 32 bytes of
 * global memory, turns of the 32 banks of shared memory, by warps of 32 threads. */
#include "compiler/loop/loop_nest.h"
#include "tests/support/kiln_test.h"

#include <inttypes.h>
#include <string.h>

typedef struct row {
    const char *name;
    const char *global, *shared; /* index that thread t reads; NULL: vectors of four */
    int64_t sectors, least_sectors, turns, least_turns; /* of one warp */
} row;

static row rows[] = {
    {"neighbours_take_four_sectors_and_one_turn", "t", "t", 4, 4, 1, 1},
    {"every_other_element_takes_twice_as_many", "t*2", "t*2", 8, 4, 2, 1},
    {"columns_take_a_sector_and_a_turn_each", "t*32", "t*32", 32, 4, 32, 1},
    {"padded_columns_take_one_turn", "t*33", "t*33", 32, 4, 1, 1},
    {"one_element_for_all_is_one_sector", "t - t", "t - t", 1, 1, 1, 1},
    {"what_begins_in_the_middle_takes_one_more", "t + 4", "t + 4", 5, 4, 1, 1},
    {"backwards_is_as_good", "31 - t", "31 - t", 4, 4, 1, 1},
    {"pairs_share", "t // 2", "t // 2", 2, 2, 1, 1},
    {"vectors_of_four_come_a_quarter_at_a_time", NULL, NULL, 16, 16, 4, 4},
};

static const kiln_buffer_traffic *find(const kiln_traffic *t, const char *name) {
    for (size_t i = 0; i < t->of.n; i++)
        if (strcmp(t->of.v[i].buffer->name, name) == 0)
            return &t->of.v[i];
    fail_msg("nobody touched '%s'", name);
    return NULL;
}

/* What the indexes tell is what a run counts. */
static void check_told(kiln_arena *a, const kiln_program *p, const kiln_traffic *t) {
    kiln_nest nest;
    kiln_nest_warps told;
    int64_t sectors = 0, least_sectors = 0, turns = 0, least_turns = 0;
    kiln_nest_of(a, p, &nest);
    kiln_nest_warps_of(&nest, t->warp, &told);
    for (size_t i = 0; i < t->of.n; i++) {
        const kiln_buffer_traffic *of = &t->of.v[i];
        const bool is_shared = of->buffer->scope == KILN_SCOPE_SHARED;
        *(is_shared ? &turns : &sectors) += of->transactions;
        *(is_shared ? &least_turns : &least_sectors) += of->least;
    }
    assert_int_equal((int64_t)told.threads, 64);
    assert_int_equal((int64_t)told.blocks, 1);
    assert_int_equal((int64_t)told.sectors, sectors);
    assert_int_equal((int64_t)told.least_sectors, least_sectors);
    assert_int_equal((int64_t)told.turns, turns);
    assert_int_equal((int64_t)told.least_turns, least_turns);
}

/* Two warps of one block: each reads x and, between barriers, s as the row says. */
static const char *text_of(kiln_arena *a, const row *r) {
    if (r->global == NULL)
        return "program p(x: f32[2048], out y: f32[256]) {\n"
               "thread \"threadIdx.x\" t in 0 .. +64 {\n"
               "alloc s: f32[2048] shared {\n"
               "for k in 0 .. +32 {\n"
               "s[k*64 + t] = 1f\n"
               "}\n"
               "barrier shared\n"
               "y[ramp(t*4, 1, 4)] = x[ramp(t*4, 1, 4)] + s[ramp(t*4, 1, 4)]\n"
               "}}}\n";
    return kiln_format(a,
                       "program p(x: f32[2048], out y: f32[64]) {\n"
                       "thread \"threadIdx.y\" w in 0 .. +2 {\n"
                       "thread \"threadIdx.x\" t in 0 .. +32 {\n"
                       "alloc s: f32[2048] shared {\n"
                       "for k in 0 .. +32 {\n"
                       "s[k*64 + w*32 + t] = 1f\n"
                       "}\n"
                       "barrier shared\n"
                       "y[w*32 + t] = x[%s] + s[%s]\n"
                       "}}}}\n",
                       r->global, r->shared);
}

static void counts(void **state) {
    const row *r = *state;
    enum { WARPS = 2, FILLS = 32 };
    kiln_arena *a = kiln_test_arena();
    kiln_program *p;
    kiln_err err = {0};
    static float x[2048], y[256];
    kiln_arena run = {0};
    kiln_traffic t = {.arena = a, .warp = 32};
    const kiln_loop_run_options o = {.seed = 3, .traffic = &t};
    kiln_assert_status_ok(
        kiln_program_parse(a, kiln_str_from(text_of(a, r)), "text", &p, &err), &err);
    kiln_assert_status_ok(kiln_program_run(&run, p, (void *[]){x, y}, &o, &err), &err);
    const kiln_buffer_traffic *of = find(&t, "x");
    assert_int_equal(of->accesses, WARPS);
    assert_int_equal(of->transactions, WARPS * r->sectors);
    assert_int_equal(of->least, WARPS * r->least_sectors);
    of = find(&t, "s");
    assert_int_equal(of->accesses, WARPS * (1 + FILLS));
    assert_int_equal(of->transactions - (int64_t)WARPS * FILLS, WARPS * r->turns);
    assert_int_equal(of->least - (int64_t)WARPS * FILLS, WARPS * r->least_turns);
    of = find(&t, "y");
    assert_int_equal(of->transactions, of->least);
    if (r->global != NULL) /* indexes of vectors come after lowering */
        check_told(a, p, &t);
    kiln_arena_fini(&run);
}

int main(void) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        kiln_test_add(rows[i].name, counts, &rows[i]);
    return kiln_test_run("traffic");
}
