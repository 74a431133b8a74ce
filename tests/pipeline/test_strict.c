/* Strict numerics: NaN and infinities come out as the reference has them. Every
 * element-wise operator of the table, alone and compiled for the profiles that run
 * here, on NaN, infinities, zeros of both signs, subnormal and huge numbers, each
 * paired with each; then the operators that take maxima, minima and sums, on odd
 * shapes, so that tails of vectors see them too.
 *
 * Finite results are held to the tolerance of networks; bounds of their own are tested
 * with each operator (tests/compiler). */
#include "pipeline/remote/remote.h"
#include "pipeline/pipeline.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/weighted_graph.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const float special[] = {NAN,     INFINITY, -INFINITY, 0.0F,    -0.0F,   1e-40F,
                                -1e-40F, 0.5F,     -0.5F,     1.0F,    3.0F,    -3.0F,
                                100.0F,  -100.0F,  0.25F,     FLT_MAX, -FLT_MAX};
enum {
    N_SPECIAL = sizeof special / sizeof special[0],
    N_PAIRS = N_SPECIAL * N_SPECIAL
};

static const char *const profiles[] = {"x86-avx512", "x86-avx2", "x86-baseline"};

typedef struct row {
    const char *name, *text;
} row;

static row rows[] = {
    {"max", "graph \"g\" { input %x : f32[289] input %y : f32[289] %a = max(%x, %y) "
            "output %a }"},
    {"min", "graph \"g\" { input %x : f32[289] input %y : f32[289] %a = min(%x, %y) "
            "output %a }"},
    {"relu_of_a_sum",
     "graph \"g\" { input %x : f32[289] input %y : f32[289] %a = add(%x, %y) "
     "%b = relu(%a) output %b }"},
    {"max_pool",
     "graph \"g\" { input %x : f32[1,17,17,19] %a = max_pool(%x) {kernel=[3,3], "
     "strides=[2,2], pads=[1,1,1,1]} output %a }"},
    {"avg_pool",
     "graph \"g\" { input %x : f32[1,17,17,19] %a = avg_pool(%x) {kernel=[2,2]} output "
     "%a }"},
    {"reduce_max", "graph \"g\" { input %x : f32[19,17] %a = reduce_max(%x) {axes=[1]} "
                   "output %a }"},
    {"reduce_min", "graph \"g\" { input %x : f32[17,19] %a = reduce_min(%x) {axes=[0]} "
                   "output %a }"},
    {"reduce_sum", "graph \"g\" { input %x : f32[19,17] %a = reduce_sum(%x) {axes=[1]} "
                   "output %a }"},
    {"reduce_mean", "graph \"g\" { input %x : f32[19,17] %a = reduce_mean(%x) "
                    "{axes=[0]} output %a }"},
    {"softmax", "graph \"g\" { input %x : f32[19,17] %a = softmax(%x) output %a }"},
    {"log_softmax",
     "graph \"g\" { input %x : f32[19,17] %a = log_softmax(%x) output %a }"},
    {"conv_of_17_channels",
     "graph \"g\" { input %x : f32[1,17,7,9] input %w : f32[20,17,3,3] "
     "%a = conv(%x, %w) {pads=[1,1,1,1]} %b = relu(%a) output %b }"},
    {"conv_of_blocks_then_another",
     "graph \"g\" { input %x : f32[1,3,9,9] input %w : f32[17,3,3,3] "
     "input %v : f32[5,17,3,3] %a = conv(%x, %w) {pads=[1,1,1,1]} %b = sigmoid(%a) "
     "%c = conv(%b, %v) output %c }"},
    {"cumsum",
     "graph \"g\" { input %x : f32[19,17] %a = cumsum(%x) {axis=1} output %a }"},
    {"convs_in_one_layout",
     "graph \"g\" { input %x : f32[1,16,9,9] input %w : f32[17,16,3,3] "
     "input %v : f32[16,17,1,1] %a = conv(%x, %w) %b = relu(%a) %c = conv(%b, %v) "
     "output %c }"},
    {"depthwise_conv",
     "graph \"g\" { input %x : f32[1,19,9,7] input %w : f32[19,1,3,3] "
     "%a = conv(%x, %w) {pads=[1,1,1,1], groups=19} output %a }"},
    {"matmul", "graph \"g\" { input %x : f32[17,19] input %w : f32[19,5] "
               "%a = matmul(%x, %w) output %a }"},
};

static bool stays(const kiln_value *v) {
    return v->name[0] != 'w' && v->name[0] != 'v';
}

static kiln_graph *parse(kiln_arena *a, const char *text) {
    return kiln_test_weighted_graph(a, text, stays);
}

/* Pairs meet each other; large inputs are ordinary numbers with a special one in every
 * 41 elements, so that some sums stay
 * finite; none is huge: where a sum of huge terms overflows depends on its order. */
static kiln_tensor input(kiln_arena *a, const kiln_type *t, size_t which) {
    kiln_tensor x = kiln_ref_random(a, t, 3 + which);
    float *f = x.data;
    const int64_t n = kiln_type_elems(t);
    for (int64_t i = 0; i < n; i++) {
        if (n == N_PAIRS)
            f[i] = special[which == 0 ? i / N_SPECIAL : i % N_SPECIAL];
        else if (i % 41 == 7)
            f[i] = special[i / 41 % (N_SPECIAL - 2)];
    }
    return x;
}

/* false: this machine cannot run the profile's code. */
static bool compare(kiln_arena *a, const kiln_graph *g, const char *profile) {
    kiln_err err = {0};
    kiln_profile p, machine;
    kiln_tensor in[2], want, got;
    char missing[128];
    kiln_check c = {.group = "", .reason = ""};
    kiln_assert_status_ok(kiln_profile_find(a, profile, &p, &err), &err);
    kiln_assert_status_ok(kiln_profile_detect(a, &machine, &err), &err);
    p.numerics = KILN_NUMERICS_STRICT;
    if (!kiln_profile_runs_on(&p, &machine, missing)) {
        print_message("not on this machine: %s\n", missing);
        return false;
    }
    for (size_t i = 0; i < g->inputs.n; i++)
        in[i] = input(a, &g->inputs.v[i]->type, i);
    kiln_assert_status_ok(kiln_ref_run(a, g, in, g->inputs.n, &want, &err), &err);
    kiln_remote_target target = kiln_remote_target_of(a, &p);
    kiln_assert_status_ok(
        kiln_remote_run_graph(&target, a, g, in, g->inputs.n, &got, &err), &err);
    kiln_assert_status_ok(
        kiln_check_network(a, &c, "y", &got, &want, &kiln_tolerance_network, &err),
        &err);
    if (c.outcome != KILN_PASSED)
        fail_msg("%s: %s", profile, c.reason);
    return true;
}

static void check(void **state) {
    const row *r = *state;
    int n_compared = 0;
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        kiln_arena a = {0};
        n_compared += compare(&a, parse(&a, r->text), profiles[i]);
        kiln_arena_fini(&a);
    }
    if (n_compared == 0)
        kiln_test_skip("this machine runs code of none of the profiles");
}

int main(void) {
    kiln_arena *a = kiln_test_arena();
    kiln_test_add_rows(check, rows);
    for (int i = 0; i < KILN_N_OPS; i++) {
        const kiln_op_def *op = kiln_op_at(i);
        if (op->f1 == NULL && (op->f2 == NULL || op->n_in_max == 1))
            continue; /* not element-wise; running sums have an f2 and one input */
        row *r = kiln_new(a, row);
        r->name = op->name;
        r->text = kiln_format(
            a,
            "graph \"g\" { input %%x : f32[%d] %s %%a = %s(%%x%s) "
            "output %%a }",
            N_PAIRS,
            op->n_in_max == 2 ? kiln_format(a, "input %%y : f32[%d]", N_PAIRS) : "",
            op->name, op->n_in_max == 2 ? ", %y" : "");
        kiln_test_add(r->name, check, r);
    }
    return kiln_test_run("strict");
}
