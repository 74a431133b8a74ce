/* The recurrent template: random cells and configurations equal the reference; the
 * products with r stream it at full width. Sums of at most 400 terms of unit size, then
 * functions of slope 1: a few units of 1e-6 for f32, f16 rounds once at the end. */
#include "compiler/codegen/codegen.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_recurrent.h"
#include "tests/support/random/random_work.h"
#include "tests/support/kernel/template_check.h"

static const random_recurrent rnn = {.op = &kiln_op_rnn, .is_hoisted = true};
static const random_recurrent gru = {.op = &kiln_op_gru, .is_hoisted = true};
static const random_recurrent lstm = {.op = &kiln_op_lstm, .is_hoisted = true};
/* Large enough that threads share the loops of a step. */
static const random_recurrent large_rnn = {
    .op = &kiln_op_rnn, .is_hoisted = true, .hidden = 370};
static const random_recurrent large_gru = {
    .op = &kiln_op_gru, .is_hoisted = true, .hidden = 257};
static const random_recurrent large_lstm = {
    .op = &kiln_op_lstm, .is_hoisted = true, .hidden = 257};

static template_property properties[] = {
    {"rnn_f32", KILN_F32, 3e-5, 3e-5, 40, &rnn},
    {"gru_f32", KILN_F32, 3e-5, 3e-5, 60, &gru},
    {"lstm_f32", KILN_F32, 3e-5, 3e-5, 60, &lstm},
    {"lstm_f64", KILN_F64, 1e-12, 1e-12, 15, &lstm},
    {"gru_f16", KILN_F16, 4e-3, 4e-3, 15, &gru},
    {"rnn_shared", KILN_F32, 1e-4, 1e-4, 4, &large_rnn},
    {"gru_shared", KILN_F32, 1e-4, 1e-4, 4, &large_gru},
    {"lstm_shared", KILN_F32, 1e-4, 1e-4, 4, &large_lstm},
};

static kiln_graph *random_cell(kiln_arena *a, kiln_rng *rng,
                               const template_property *p) {
    random_recurrent o = *(const random_recurrent *)p->of;
    o.dtype = p->dtype;
    return random_recurrent_graph(a, rng, &o);
}

static void random_configurations(void **state) {
    template_property_check(*state, &kiln_template_recurrent, random_cell);
}

/* A cell of `units`, as lstm_lm has them. */
static kiln_graph *lstm_of(kiln_arena *a, int64_t units, bool is_const) {
    kiln_graph *g = kiln_graph_new(a, "lstm");
    const kiln_type x = kiln_type_make(KILN_F32, 3, (int64_t[]){35, 1, 4 * units});
    const kiln_type r = kiln_type_make(KILN_F32, 3, (int64_t[]){1, 4 * units, units});
    kiln_value *in[3] = {random_operand(g, "x", &x, false, 0), NULL,
                         random_operand(g, "r", &r, is_const, 1)};
    kiln_graph_add_output(g, graph_node(g, &kiln_op_lstm, in, 3), "y");
    return g;
}

/* In the loop of the products a block's sums are the only thing that stays: it is all
 * multiply-adds, a broadcast, an address and the loop's own. */
typedef struct hot_row {
    const char *name;
    const char *profile;
    int64_t units;
    int fma, instructions;
} hot_row;

static hot_row hot_rows[] = {
    {"products_of_avx512", "x86-avx512", 64, 8, 13},
    {"products_of_avx512_past_l2", "x86-avx512", 650, 4, 9},
    {"products_of_avx2", "x86-avx2", 64, 8, 13},
};

static void products_are_clean(void **state) {
    const hot_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile p;
    kiln_workload w;
    kiln_asm_loop *loop;
    bool found = false;
    const kiln_graph *g = lstm_of(a, r->units, true);
    kiln_assert_status_ok(kiln_profile_find(a, r->profile, &p, &err), &err);
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    assert_ptr_equal(kiln_template_for(&w, &p), &kiln_template_recurrent);
    const template_check t = {.tmpl = &kiln_template_recurrent};
    const size_t n = template_guess_loops(&t, g, r->profile, &loop);
    for (size_t i = 0; i < n; i++)
        found = found || (loop[i].vector_fma == r->fma && loop[i].vector_stores == 0 &&
                          loop[i].instructions <= r->instructions);
    assert_true(found);
}

static void leaves_weights_that_are_inputs(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_workload w;
    kiln_profile p;
    kiln_assert_status_ok(kiln_profile_find(kiln_test_arena(), "x86-avx2", &p, &err),
                          &err);
    kiln_assert_status_ok(
        kiln_workload_of(lstm_of(kiln_test_arena(), 5, false), &w, &err), &err);
    assert_ptr_equal(kiln_template_for(&w, &p), &kiln_template_generic);
}

int main(void) {
    kiln_test_add_rows(random_configurations, properties);
    kiln_test_add_rows(products_are_clean, hot_rows);
    kiln_test_add("leaves_weights_that_are_inputs", leaves_weights_that_are_inputs,
                  NULL);
    return kiln_test_run("template_recurrent");
}
