/* argmax, argmin and hardmax where lanes are longer than vectors: ties, signed zeros,
 * infinities and what is no number, anywhere in a lane, along any axis. */
#include "tests/support/kernel/compute_case.h"
#include "tests/support/kiln_test.h"

#include <math.h>

typedef struct row {
    const char *name, *op, *type, *attrs;
    int levels; /* of values: fewer are more ties */
    bool has_specials;
} row;

static row rows[] = {
    {"along_the_last_axis", "argmax", "f32[3,133]", "axis=1", 400, false},
    {"along_the_first_axis", "argmin", "f32[70,19]", "axis=0", 400, false},
    {"along_one_between", "argmax", "f32[2,37,3,5]", "axis=1, keepdims=false", 50,
     false},
    {"the_first_of_equals", "argmax", "f32[4,150]", "axis=1", 3, false},
    {"the_last_of_equals", "argmin", "f32[4,150]", "axis=1, select_last_index=true", 3,
     false},
    {"all_are_equal", "argmax", "f32[2,65]", "axis=1", 1, false},
    {"what_is_no_number_wins", "argmax", "f32[24,70]", "axis=1", 9, true},
    {"the_last_that_is_no_number", "argmin", "f32[24,70]",
     "axis=1, select_last_index=true", 9, true},
    {"of_halves", "argmax", "f16[5,81]", "axis=1", 12, true},
    {"of_doubles", "argmin", "f64[5,81]", "axis=1", 12, true},
    {"of_bytes", "argmax", "u8[6,200]", "axis=1", 0, false},
    {"of_large_integers", "argmin", "i64[6,40]", "axis=1", 0, false},
    {"marked", "hardmax", "f32[20,70]", "axis=1", 6, true},
};

/* Of any dtype, as the reference's random values are; few levels by rounding. */
static kiln_tensor values_of(kiln_arena *a, const row *r, const kiln_type *t,
                             kiln_rng *rng) {
    static const double special[] = {(double)NAN, HUGE_VAL, -HUGE_VAL, 0.0, -0.0};
    const int64_t n = kiln_type_elems(t);
    kiln_tensor x = kiln_ref_random(a, t, kiln_rng_next(rng));
    if (!kiln_dtype_is_float(t->dtype))
        return x;
    kiln_wide wide = {.type = *t, .f = kiln_array(a, double, n)};
    for (int64_t i = 0; i < n; i++) {
        wide.f[i] = floor(kiln_rng_unit(rng) * r->levels) - r->levels / 2.0;
        if (r->has_specials && kiln_rng_range(rng, 0, 60) == 0)
            wide.f[i] = special[kiln_rng_range(rng, 0, 4)];
    }
    kiln_narrow(&wide, x.data);
    return x;
}

static void finds_what_the_reference_does(void **state) {
    const row *r = *state;
    enum { RUNS = 4 };
    for (int64_t run = 0; run < kiln_test_cases(RUNS); run++) {
        kiln_arena a;
        kiln_rng rng;
        kiln_err err = {0};
        kiln_graph *g;
        compute_case c;
        kiln_arena_init(&a);
        kiln_rng_init(&rng, kiln_test_seed() + (uint64_t)run);
        const char *text = kiln_format(
            &a, "graph \"g\" { input %%x : %s %%y = %s(%%x) {%s} output %%y }", r->type,
            r->op, r->attrs);
        kiln_assert_status_ok(
            kiln_graph_parse(&a, kiln_str_from(text), r->name, &g, &err), &err);
        const kiln_tensor in = values_of(&a, r, &g->inputs.v[0]->type, &rng);
        kiln_assert_status_ok(compute_case_init(&a, &c, g, &in, &err), &err);
        const char *wrong = compute_case_check(&a, &c, NULL, false);
        if (wrong != NULL)
            fail_msg("%s, seed %llu, run %lld: %s", r->name,
                     (unsigned long long)kiln_test_seed(), (long long)run, wrong);
        kiln_arena_fini(&a);
    }
}

int main(void) {
    kiln_test_add_rows(finds_what_the_reference_does, rows);
    return kiln_test_run("argmax");
}
