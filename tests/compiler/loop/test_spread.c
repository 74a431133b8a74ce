/* How work falls on threads: each row a program and what it comes to on so many. */
#include "compiler/loop/loop.h"
#include "tests/support/kiln_test.h"

typedef struct row {
    const char *name, *body; /* of a program with x and y of 64 f32 */
    int threads;
    int64_t forks, iterations;
    double work, serial, longest;
} row;

/* One load, one addition, one store. */
#define STEP "y[i] = x[i] + 1f "

static row rows[] = {
    {"no_parallel_loop", "for i in 0 .. +8 { " STEP "}", 2, 0, 0, 24, 24, 24},
    {"equal_shares", "parallel i in 0 .. +8 { " STEP "}", 2, 1, 8, 24, 0, 12},
    {"seven_on_two", "parallel i in 0 .. +7 { " STEP "}", 2, 1, 7, 21, 0, 12},
    {"seven_on_four", "parallel i in 0 .. +7 { " STEP "}", 4, 1, 7, 21, 0, 6},
    {"fewer_than_threads", "parallel i in 0 .. +2 { " STEP "}", 8, 1, 2, 6, 0, 3},
    {"one_iteration_is_serial", "parallel i in 0 .. +1 { " STEP "}", 2, 0, 1, 3, 3, 3},
    {"serial_part", "for i in 0 .. +2 { " STEP "} parallel i in 0 .. +8 { " STEP "}", 2,
     1, 8, 30, 6, 18},
    {"forks_in_a_loop",
     "for j in 0 .. +5 { parallel i in 0 .. +4 { y[i] = x[i] + x[j] } }", 2, 5, 4, 80,
     0, 40},
    {"inner_parallel_loop_in_place",
     "parallel j in 0 .. +4 { parallel i in 0 .. +3 { y[i] = x[i] + x[j] } }", 2, 1, 4,
     48, 0, 24},
    {"last_chunk_does_less", /* 16, 16, 16 and 2 steps */
     "parallel c in 0 .. +4 { for k in 0 .. +16 { if c*16 + k < 50 { y[k] = x[k] + 1f "
     "} } }",
     2, 1, 4, 150, 0, 96},
    {"bounds_by_the_variable", /* 1 + 2 + 3 + 4 */
     "parallel c in 0 .. +4 { for k in 0 .. +c + 1 { y[k] = x[k] + 1f } }", 2, 1, 4, 30,
     0, 21},
    {"branches_that_are_not_known", /* count as the larger one */
     "parallel i in 0 .. +4 { if x[i] < 1f { y[i] = 1f } else { y[i] = x[i] } }", 2, 1,
     4, 8, 0, 4},
    {"walks_in_walks_have_a_limit", /* 1499 of 3000 rows, for half a row each: whole */
     "for i in 0 .. +3000 { for k in 0 .. +3000 { if k < i { y[0] = x[0] + 1f } } }", 2,
     0, 0, 13491000, 13491000, 13491000},
    {"register_tiles_are_free",
     "parallel i in 0 .. +4 { alloc t: f32[1] register { t[0] = x[i] y[i] = t[0] + "
     "t[0] } }",
     2, 1, 4, 12, 0, 6},
};

static void counts(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_program *p = NULL;
    const char *text =
        kiln_format(a, "program p(x: f32[64], out y: f32[64]) { %s }", r->body);
    kiln_assert_status_ok(kiln_program_parse(a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    const kiln_spread s = kiln_program_spread(a, p, r->threads, 64);
    assert_int_equal(s.threads, r->threads);
    assert_int_equal(s.forks, r->forks);
    assert_int_equal(s.iterations, r->iterations);
    assert_true(s.work == r->work);
    assert_true(s.serial == r->serial);
    assert_true(s.longest == r->longest);
}

int main(void) {
    kiln_test_add_rows(counts, rows);
    return kiln_test_run("spread over threads");
}
