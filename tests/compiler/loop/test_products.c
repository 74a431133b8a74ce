/* What a program multiplies without fail: each row a body and its count. */
#include "compiler/loop/loop.h"
#include "tests/support/kiln_test.h"

typedef struct row {
    const char *name, *body; /* of a program over f32, i8 and i32 arrays */
    double flops;
} row;

static row rows[] = {
    {"a_product_is_two", "for i in 0 .. +8 { y[i] = y[i] + x[i]*w[i] }", 16},
    {"a_fused_one_too", "for i in 0 .. +8 { y[i] = fma(x[i], w[i], y[i]) }", 16},
    {"lanes_count", "y[ramp(0, 1, 16)] = x[ramp(0, 1, 16)]*x16(w[0])", 32},
    {"constants_may_fold", "for i in 0 .. +8 { y[i] = x[i]*3f + x[i] }", 0},
    {"sums_are_free", "for i in 0 .. +8 { y[i] = x[i] + w[i] }", 0},
    {"indexes_are_no_products", "for i in 0 .. +8 { y[i*4] = x[i*4] }", 0},
    {"a_register_tile_is_read",
     "alloc t: f32[1] register { t[0] = x[0] + 1f y[0] = t[0]*t[0] }", 2},
    {"loops_multiply",
     "parallel i in 0 .. +4 { for k in 0 .. +5 { y[i] = y[i] + x[k]*w[k] } }", 40},
    {"a_guard_that_is_known",
     "for c in 0 .. +4 { for k in 0 .. +16 { if c*16 + k < 50 { y[k] = x[k]*w[k] } } }",
     100},
    {"bounds_by_the_variable", /* 1 + 2 + 3 + 4 */
     "for c in 0 .. +4 { for k in 0 .. +c + 1 { y[k] = x[k]*w[k] } }", 20},
    {"a_branch_that_is_not_known", /* the one that does less */
     "for i in 0 .. +4 { if x[i] < 1f { y[i] = x[i]*w[i]*x[0] } else { y[i] = "
     "x[i]*w[i] "
     "} }",
     8},
    {"what_may_not_run", "for i in 0 .. +4 { if x[i] < 1f { y[i] = x[i]*w[i] } }", 0},
    {"one_side_of_a_select",
     "for i in 0 .. +4 { y[i] = select(x[i] < 1f, x[i]*w[i], 0f) }", 0},
    {"of_a_loop_too_long_what_all_iterations_do",
     "for i in 0 .. +5000 { y[0] = x[0]*w[0] if i < 4 { y[1] = x[1]*w[1] } }", 10000},
    {"bytes_are_a_quarter", "for i in 0 .. +8 { s[i] = s[i] + i32(a[i])*i32(b[i]) }",
     4},
    {"so_are_dots",
     "s[ramp(0, 1, 16)] = dot4(s[ramp(0, 1, 16)], a[ramp(0, 1, 64)], b[ramp(0, 1, "
     "64)])",
     32},
    {"an_empty_loop", "for i in 0 .. +0 { y[i] = x[i]*w[i] }", 0},
};

static void counts(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_program *p = NULL;
    const char *text =
        kiln_format(a,
                    "program p(x: f32[64], w: f32[64], a: i8[64], b: i8[64], out y: "
                    "f32[64], out s: i32[64]) { %s }",
                    r->body);
    kiln_assert_status_ok(kiln_program_parse(a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    const double got = kiln_program_least_flops(a, p);
    if (got != r->flops)
        fail_msg("counts %g operations, must be %g", got, r->flops);
}

int main(void) {
    kiln_test_add_rows(counts, rows);
    return kiln_test_run("products");
}
