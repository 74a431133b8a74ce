/* Tensor expressions as text: what prints is read back the same, and means the same;
 * hostile text is refused with the place of the fault. */
#include "compiler/tensor/tensor.h"
#include "tests/support/kiln_test.h"
#include "tests/support/kernel/te_call.h"

#include <stdlib.h>
#include <string.h>

static kiln_str print(kiln_arena *a, const kiln_te *const *outs, size_t n) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_te_print(&b, outs, n);
    return kiln_buf_str(&b);
}

/* ---- examples: printed, read, printed, computed ---------------------------------- */

static void same_name(const kiln_te *te, const void *user, const kiln_te **out) {
    if (strcmp(te->name, user) == 0)
        *out = te;
}

/* The stages of `x` as they were read: arguments are found by their names. */
static te_example read_again(kiln_arena *a, const te_example *x, const kiln_te **outs,
                             size_t n_outs) {
    te_example y = *x;
    size_t n = 0;
    const kiln_te **all = kiln_te_topo(a, outs, n_outs, &n);
    for (size_t i = 0; i < x->n_args; i++) {
        y.arg[i] = NULL;
        for (size_t k = 0; k < n; k++)
            same_name(all[k], x->arg[i]->name, &y.arg[i]);
        assert_non_null(y.arg[i]);
    }
    return y;
}

static void survives(void **state) {
    const te_example_def *def = *state;
    kiln_arena a;
    kiln_err err = {0};
    kiln_rng rng;
    te_example x = {.n_args = 0};
    te_call c = {.n_args = 0};
    kiln_wide in[8], want[8], got[8];
    const kiln_te **outs = NULL;
    size_t n_outs = 0;
    kiln_arena_init(&a);
    def->make(&a, &x);
    const kiln_str text = print(&a, x.arg + x.n_inputs, x.n_args - x.n_inputs);
    kiln_assert_status_ok(kiln_te_parse(&a, text, NULL, &outs, &n_outs, &err), &err);
    assert_int_equal(n_outs, x.n_args - x.n_inputs);
    kiln_assert_text_equal(print(&a, outs, n_outs), text);

    const te_example y = read_again(&a, &x, outs, n_outs);
    kiln_rng_init(&rng, kiln_test_seed());
    te_call_prepare(&a, &rng, &x, &c, in);
    te_call_evaluate(&a, &x, in, want);
    te_call_evaluate(&a, &y, in, got);
    for (int i = 0; i < c.n_out; i++) {
        kiln_narrow(&got[i], c.out[i].data);
        assert_false(te_call_differs(&a, &c.out[i], &want[i]));
    }
    kiln_arena_fini(&a);
}

/* ---- accepted -------------------------------------------------------------------- */

typedef struct accept_row {
    const char *name, *text, *prints; /* prints NULL: the same */
} accept_row;

static accept_row accepted[] = {
    {"prints_what_it_reads",
     .text = "x[i0: 64, i1: 128] : f32\n"
             "w[i0: 128, i1: 32] : f32\n"
             "out c[i0: 64, i1: 32] : f32 @matmul = sum(r: 128) x[i0, r]*w[r, i1]\n"},
    {"keeps_two_outputs_of_a_stage",
     .text = "x[i0: 6, i1: 29] : f32\n"
             "out y:0[i0: 6] : i64 = argmax(r: 29) (r, x[i0, r])[0]\n"
             "y:1[i0: 6] : f32 = argmax(r: 29) (r, x[i0, r])[1]\n"},
    {"keeps_the_order_of_outputs",
     .text = "x[i0: 3] : f64\n"
             "out1 y[i0: 3] : f64 = x[i0] + f64(1)\n"
             "out0 z[i0: 3] : f64 = max(x[i0], y[i0])\n",
     .prints = "x[i0: 3] : f64\n"
               "out1 y[i0: 3] : f64 = x[i0] + f64(1)\n"
               "out0 z[i0: 3] : f64 = max(x[i0], y[i0])\n"},
    {"keeps_conditions", .text = "x[i0: 9] : f32\n"
                                 "out y[i0: 9] : f32 = sum(r: 9) x[r] where r <= i0\n"},
    {"keeps_reducers_without_a_name",
     .text =
         "x[i0: 9] : f32\n"
         "out y[] : f32 = reduce norm {a: f32, b: f32 -> sqrt(a*a + b*b); 0f}(r: 9) "
         "x[r]\n"},
    {"keeps_reducers_of_pairs",
     .text = "x[i0: 9] : f32\n"
             "out y:0[] : f32 = reduce both {a: f32, b: i64, a_1: f32, b_1: i64 -> "
             "a + a_1, max(b, b_1); 0f, -1}(r: 9) (x[r], r)[0]\n"
             "y:1[] : i64 = reduce both {a: f32, b: i64, a_1: f32, b_1: i64 -> "
             "a + a_1, max(b, b_1); 0f, -1}(r: 9) (x[r], r)[1]\n"},
    {"keeps_names_of_any_kind",
     .text = "\"/conv1/a b\"[i0: 3] : f32\n"
             "\"true\"[\"in\": 3] : f32 = \"/conv1/a b\"[\"in\"]\n"
             "out \"\\xc3\\xa4\"[i0: 3] : f32 @\"x y\" = \"true\"[i0] + 1f\n"},
    {"stages_may_bear_words", .text =
                                  "out[i0: 3] : f32\n"
                                  "extern[i0: 3] : f32 = out[i0]\n"
                                  "reduce[i0: 3] : f32 = extern[i0]\n"
                                  "sum[i0: 3] : f32 = reduce[i0]\n"
                                  "out out0[i0: 3] : f32 = min(sum[i0], out[i0])\n"},
    {"knows_a_reduction_by_min_from_a_call",
     .text = "x:0[i0: 3] : f32 = 1f\n"
             "x:1[i0: 3] : f32 = 2f\n"
             "y[i0: 3] : f32 = min(x:0[i0], x:1[i0])\n"
             "out z[] : f32 = min(r: 3) y[r]\n"},
    {"keeps_constants",
     .text = "out y[i0: 2] : f32 = select(i0 < 1, f32(nan), f32(-inf)) + 1e-45f*-0f\n",
     .prints = "out y[i0: 2] : f32 = select(i0 < 1, f32(nan), f32(-inf)) + -0f\n"},
    {"keeps_dtypes_of_constants",
     .text = "x[i0: 2] : u64\n"
             "out y[i0: 2] : i8 = i8(x[i0] >> u64(63)) + i8(-128) + "
             "i8(bits_u16(f16(0.333251953125)))\n"},
    {"reduces_nothing", .text = "x[] : f32\nout y[] : f32 = sum() x[]\n"},
    {"allows_empty_axes", .text = "x[i0: 0] : f32\nout y[] : f32 = sum(r: 0) x[r]\n"},
    {"reads_any_blanks",
     .text = "x [ i0 :3 ]:f32# a comment\nout y[i:3]:f32=x[ i ]+x[i] * 2f",
     .prints = "x[i0: 3] : f32\nout y[i: 3] : f32 = x[i] + x[i]*2f\n"},
};

static void reads(void **state) {
    const accept_row *r = *state;
    kiln_arena a;
    kiln_err err = {0};
    const kiln_te **outs = NULL;
    size_t n = 0;
    kiln_arena_init(&a);
    kiln_assert_status_ok(
        kiln_te_parse(&a, kiln_str_from(r->text), NULL, &outs, &n, &err), &err);
    kiln_assert_text_equal(print(&a, outs, n),
                           kiln_str_from(r->prints != NULL ? r->prints : r->text));
    kiln_arena_fini(&a);
}

/* ---- refused --------------------------------------------------------------------- */

typedef struct refuse_row {
    const char *name, *text;
    kiln_status status; /* KILN_OK: KILN_ERR_PARSE */
    const char *wants;
} refuse_row;

static refuse_row refused[] = {
    {"nothing", "", .wants = "t:1:1: some stage must be marked 'out'"},
    {"no_output", "x[i0: 3] : f32", .wants = "some stage must be marked 'out'"},
    {"a_stage_of_later", "out y[i0: 3] : f32 = x[i0]\nx[i0: 3] : f32",
     .wants = "t:1:22: stage 'x' must be defined before it is read"},
    {"twins", "x[] : f32\nx[] : f32", .wants = "t:2:1: stage 'x' must be defined once"},
    {"another_rank", "x[i: 3] : f32\nout y[i: 3] : f32 = x[i, i]",
     .status = KILN_ERR_SHAPE, .wants = "stage 'x' must be read with 1 indexes, has 2"},
    {"another_dtype", "x[i: 3] : f32\nout y[i: 3] : f64 = x[i]",
     .wants = "stage 'y' must compute f64, computes f32"},
    {"a_free_variable", "out y[i: 3] : i64 = j",
     .wants = "t:1:21: there is no variable 'j' here"},
    {"a_float_index", "x[i: 3] : f32\nout y[i: 3] : f32 = x[x[i]]",
     .wants = "index 0 of 'x' must be i64, is f32"},
    {"mixed_dtypes", "x[i: 3] : f32\nout y[i: 3] : f32 = x[i] + 1",
     .wants = "t:2:26: operands of '+' must have one dtype, have f32 and i64"},
    {"floats_in_an_integers_place", "out y[i: 3] : f32 = 1f // 2f",
     .wants = "'//' must have integers, has f32"},
    {"an_unknown_function", "out y[i: 3] : f32 = gamma(1f)",
     .wants = "there is no function 'gamma'"},
    {"too_few_arguments", "out y[i: 3] : f32 = pow(1f)",
     .wants = "'pow' must have 2 arguments, has 1"},
    {"an_unknown_reducer", "out y[] : f32 = mean(r: 3) 1f",
     .wants = "there is no reducer 'mean'"},
    {"a_reduction_inside", "x[i: 3] : f32\nout y[] : f32 = 1f + sum(r: 3) x[r]",
     .wants = "there is no function 'sum'"},
    {"an_odd_reducer", "out y[] : f32 = reduce f {a: f32 -> a; 0f}(r: 3) 1f",
     .wants = "a reducer must combine pairs of one dtype"},
    {"an_identity_with_variables",
     "out y[] : f32 = reduce f {a: f32, b: f32 -> a; b}(r: 3) 1f",
     .wants = "there is no variable 'b' here"},
    {"axes_of_one_name", "out y[i: 3, i: 2] : f32 = 1f",
     .wants = "axis 'i' must be named once"},
    {"lanes", "out y[i: 3] : i64 = x4(i)", .wants = "there is no function 'x4'"},
    {"masks", "x[i: 3] : f32\nout y[i: 3] : f32 = x[i] where i < 2",
     .wants = "t:2:32: expected '[', found 'i'"},
    {"an_output_of_one", "out x:0[] : f32 = 1f", .wants = "written without a number"},
    {"outputs_out_of_order", "x:0[] : f32 = 1f\nx:2[] : f32 = 1f",
     .wants = "output 1 of a stage must follow, not 2"},
    {"outputs_of_other_axes", "x:0[i: 3] : f32 = 1f\nx:1[i: 4] : f32 = 1f",
     .wants = "outputs of one stage must have its name, axes and tag"},
    {"outputs_of_two_reductions",
     "x[i: 3] : f32\nout y:0[] : i64 = argmax(r: 3) (r, x[r])[0]\n"
     "y:1[] : f32 = argmax(r: 3) (r, x[r] + 1f)[1]",
     .wants = "outputs of one stage must be results of one reduction"},
    {"a_reduction_and_none", "out y:0[] : f32 = sum(r: 3) 1f\ny:1[] : f32 = 1f",
     .wants = "all outputs of a stage or none must be reductions"},
    {"a_read_of_no_output",
     "x:0[] : f32 = 1f\nx:1[] : f32 = 1f\nout y[] : f32 = x[] + x:1[]",
     .wants = "stage 'x' has 2 outputs: 'x:0' reads the first"},
    {"an_output_without_a_place", "out3 y[] : f32 = 1f",
     .wants = "1 outputs must be marked 'out0' to 'out0', each once"},
    {"two_outputs_without_numbers", "out x[] : f32 = 1f\nout y[] : f32 = 1f",
     .wants = "2 outputs must be marked 'out0' to 'out1', each once"},
    {"an_extern_stage", "out y[i: 3] : f32 = extern topk(x)",
     .status = KILN_ERR_UNSUPPORTED,
     .wants = "an extern stage is a function and cannot be read from text"},
    {"a_float_without_dtype", "out y[] : f32 = 0.5", .wants = "as 0.5f or f64(0.5)"},
    {"a_number_past_i64", "out y[] : i64 = 9223372036854775808",
     .wants = "the number must fit i64"},
    {"a_shape_past_memory", "x[i: 1048576, j: 1048577] : f32", .status = KILN_ERR_LIMIT,
     .wants = "axes may have 2^40 elements together"},
    {"an_open_bracket", "out y[i: 3 : f32", .wants = "t:1:12: expected ']', found ':'"},
    {"a_zero_byte_ends_nothing", "out y[] : f32 = 1f\x01",
     .wants = "expected a stage, found byte 0x01"},
};

static void refuses(void **state) {
    const refuse_row *r = *state;
    kiln_arena a;
    kiln_err err = {0};
    const kiln_te **outs = NULL;
    size_t n = 0;
    kiln_arena_init(&a);
    kiln_assert_fails(kiln_te_parse(&a, kiln_str_from(r->text), "t", &outs, &n, &err),
                      r->status == KILN_OK ? KILN_ERR_PARSE : r->status, &err,
                      r->wants);
    assert_null(outs);
    kiln_arena_fini(&a);
}

/* Text that nests: refused, whatever it nests with. */
static void nesting_is_limited(void **state) {
    (void)state;
    static const struct {
        const char *open, *inside, *text;
        int n;
    } row[] = {
        {"(", "1", "text may nest", 100000},
        {"!", "true", "text may nest", 100000},
        {"min(1, ", "1", "text may nest", 100000},
        {"1 - (2*", "1", "text may nest", 100000},
        {"i + ", "1", "1000 operations high", 100000},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        kiln_arena a;
        kiln_buf b;
        kiln_err err = {0};
        const kiln_te **outs = NULL;
        size_t n = 0;
        kiln_arena_init(&a);
        kiln_buf_init(&b, &a);
        kiln_buf_puts(&b, "out y[i: 3] : i64 = ");
        for (int k = 0; k < row[i].n; k++)
            kiln_buf_puts(&b, row[i].open);
        kiln_buf_puts(&b, row[i].inside);
        kiln_assert_fails(kiln_te_parse(&a, kiln_buf_str(&b), "t", &outs, &n, &err),
                          KILN_ERR_LIMIT, &err, row[i].text);
        kiln_arena_fini(&a);
    }
}

int main(void) {
    for (size_t i = 0; i < n_te_examples; i++)
        kiln_test_add(te_examples[i].name, survives,
                      (void *)(uintptr_t)&te_examples[i]);
    kiln_test_add_rows(reads, accepted);
    kiln_test_add_rows(refuses, refused);
    kiln_test_add("nesting_is_limited", nesting_is_limited, NULL);
    return kiln_test_run("text of tensor expressions");
}
