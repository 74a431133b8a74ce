/* gpu_matmul: random products and configurations, interpreted under three orders of
 * blocks and threads, equal the reference; of every program each barrier is missed.
 *
 * Tolerance: as in test_template_matmul.c. */
#include "tests/support/kernel/gpu_check.h"
#include "tests/support/kiln_test.h"
#include "tests/support/gpu/opencl_leaks.h"
#include "tests/support/random/random_matmul.h"
#include "tests/support/random/random_work.h"
#include "tests/support/kernel/template_check.h"

#include <string.h>

typedef struct property {
    const char *name;
    kiln_dtype dtype, sums;
    double rtol, atol;
    int runs;
} property;

static property properties[] = {
    {"f32_is_the_reference", KILN_F32, KILN_F32, 1e-5, 3e-4, 80},
    {"f16_is_the_reference", KILN_F16, KILN_F16, 4e-3, 4e-3, 6},
    {"f64_is_the_reference", KILN_F64, KILN_F64, 1e-12, 1e-12, 6},
    {"i8_summed_in_i32_is_the_reference", KILN_I8, KILN_I32, 0, 0, 8},
};

static kiln_graph *draw(template_runs *r, const property *p) {
    return p->dtype == p->sums && kiln_rng_range(&r->rng, 0, 2) == 0
               ? random_gemm(r->arena, &r->rng, p->dtype, RANDOM_SMALL)
               : random_matmul(r->arena, &r->rng, p->dtype, p->sums, RANDOM_SMALL);
}

static void random_configurations(void **state) {
    const property *p = *state;
    template_runs runs = {.n = p->runs};
    for (int64_t i = 0; template_runs_next(&runs, i); i++) {
        const template_check t = {
            .tmpl = &kiln_template_gpu_matmul, .rtol = p->rtol, .atol = p->atol};
        (void)template_runs_check(&runs, &t, draw(&runs, p));
    }
}

static void misses_each_barrier(void **state) {
    template_runs runs = {.n = 72};
    int64_t n = 0;
    (void)state;
    for (int64_t i = 0; template_runs_next(&runs, i); i++) {
        n += gpu_check_barriers(&runs, &kiln_template_gpu_matmul,
                                draw(&runs, &properties[0]));
        runs.n_checked = (int)n;
    }
}

/* ---- banks ----------------------------------------------------------------------- */

/* Rows of a step that are a multiple of 32 words apart meet in one bank; padded ones do
 * not. What is stored fills whole sectors. */
static void padding_parts_banks(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_workload w;
    kiln_space s;
    const kiln_type ta = kiln_type_make(KILN_F32, 2, (int64_t[]){32, 16});
    const kiln_type tb = kiln_type_make(KILN_F32, 2, (int64_t[]){16, 32});
    const kiln_profile *p = kiln_gpu_profile_at(1);
    const kiln_template *t = &kiln_template_gpu_matmul;
    kiln_graph *g = kiln_graph_new(a, "product");
    kiln_value *in[2] = {kiln_graph_add_input(g, "a", &ta),
                         kiln_graph_add_input(g, "b", &tb)};
    kiln_graph_add_output(g, graph_node(g, &kiln_op_matmul, in, 2), "y");
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    kiln_space_init(&s, a);
    kiln_assert_status_ok(t->space(&w, p, &s, &err), &err);
    kiln_config c = t->guess(&w, p, &s);
    static const template_knob knobs[] = {
        {"threads_m", 8, NULL}, {"threads_n", 8, NULL}, {"tile_m", 4, NULL},
        {"tile_n", 4, NULL},    {"virtual", 1, NULL},   {"step_k", 8, NULL},
        {"fetch", 0, "shared"}, {"lanes", 1, NULL}};
    for (size_t i = 0; i < sizeof knobs / sizeof knobs[0]; i++)
        if (knobs[i].word != NULL)
            template_set_word(&s, &c, knobs[i].name, knobs[i].word);
        else
            template_set(&s, &c, knobs[i].name, knobs[i].value);
    int64_t turns[2];
    for (int pad = 0; pad < 2; pad++) {
        kiln_traffic of = {.arena = a, .warp = p->gpu.warp};
        template_set(&s, &c, "pad", pad);
        gpu_check_traffic(a, t, &w, p, &s, &c, &of);
        const kiln_buffer_traffic *rows = gpu_check_traffic_of(&of, "a.shared");
        turns[pad] = rows->transactions;
        print_message("%d turns of a.shared, %d at least\n", (int)turns[pad],
                      (int)rows->least);
    }
    assert_true(turns[1] * 2 < turns[0]);
}

/* One row, by the rule, of terms that no power of two divides: threads share sums, what is
 * left of the terms is guarded, and each sector of b is asked for once, whichever of its
 * axes the model has terms along. */
static void a_row_reads_each_sector_once(void **state) {
    enum { TERMS = 130, COLUMNS = 104 };
    kiln_arena *a = kiln_test_arena();
    const kiln_profile *p = kiln_gpu_profile_at(2);
    const kiln_template *t = &kiln_template_gpu_matmul;
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        kiln_err err = {0};
        kiln_workload w;
        kiln_space s;
        kiln_graph *g = kiln_graph_new(a, "row");
        const kiln_type ta = kiln_type_make(KILN_F32, 2, (int64_t[]){1, TERMS});
        const kiln_type tb = kiln_type_make(KILN_F32, 2,
                                            turned ? (int64_t[]){COLUMNS, TERMS}
                                                   : (int64_t[]){TERMS, COLUMNS});
        kiln_value *in[2] = {kiln_graph_add_input(g, "a", &ta),
                             random_operand(g, "b", &tb, true, 1)};
        const kiln_attr_arg arg = kiln_arg_bool("trans_b", turned != 0);
        kiln_graph_add_output(g, graph_node_with(g, &kiln_op_gemm, in, 2, &arg, 1),
                              "y");
        kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
        kiln_space_init(&s, a);
        kiln_assert_status_ok(t->space(&w, p, &s, &err), &err);
        const kiln_config c = t->guess(&w, p, &s);
        kiln_traffic of = {.arena = a, .warp = p->gpu.warp};
        gpu_check_traffic(a, t, &w, p, &s, &c, &of);
        const kiln_buffer_traffic *b = gpu_check_traffic_of(&of, "b");
        assert_int_equal(b->transactions, TERMS * COLUMNS * 4 / 32);
    }
}

/* Terms that no step divides are not fetched together, where some threads would come to
 * no barrier: what is guessed for them makes a kernel. */
static void any_number_of_terms_is_summed(void **state) {
    static const int64_t sizes[][3] = {{20, 130, 48}, {9, 33, 40}, {16, 70, 24}};
    kiln_arena *a = kiln_test_arena();
    const kiln_template *t = &kiln_template_gpu_matmul;
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int k = 0; kiln_gpu_profile_at(k) != NULL; k++) {
            const kiln_profile *p = kiln_gpu_profile_at(k);
            kiln_err err = {0};
            kiln_workload w;
            kiln_space s;
            kiln_graph *g = kiln_graph_new(a, "odd");
            const kiln_type ta =
                kiln_type_make(KILN_F32, 2, (int64_t[]){sizes[i][0], sizes[i][1]});
            const kiln_type tb =
                kiln_type_make(KILN_F32, 2, (int64_t[]){sizes[i][1], sizes[i][2]});
            kiln_value *in[2] = {kiln_graph_add_input(g, "a", &ta),
                                 random_operand(g, "b", &tb, true, 1)};
            kiln_graph_add_output(g, graph_node(g, &kiln_op_matmul, in, 2), "y");
            kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
            kiln_space_init(&s, a);
            kiln_assert_status_ok(t->space(&w, p, &s, &err), &err);
            const kiln_config c = t->guess(&w, p, &s);
            kiln_traffic of = {.arena = a, .warp = p->gpu.warp};
            gpu_check_traffic(a, t, &w, p, &s, &c, &of);
        }
}

/* Sizes that fill every tile. */
static void guesses_are_within_limits(void **state) {
    static const int64_t sizes[][3] = {
        {1024, 1024, 1024}, {1, 4096, 1000}, {128, 768, 3072}, {7, 33, 65}};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int k = 0; k < 2; k++) {
            const int64_t *n = sizes[i];
            kiln_graph *g = kiln_graph_new(kiln_test_arena(), "product");
            const kiln_type ta = kiln_type_make(k == 0 ? KILN_F32 : KILN_F64, 2,
                                                (int64_t[]){n[0], n[1]});
            const kiln_type tb = kiln_type_make(ta.dtype, 2, (int64_t[]){n[1], n[2]});
            kiln_value *in[2] = {kiln_graph_add_input(g, "a", &ta),
                                 kiln_graph_add_input(g, "b", &tb)};
            kiln_graph_add_output(g, graph_node(g, &kiln_op_matmul, in, 2), "y");
            gpu_check_guesses(&kiln_template_gpu_matmul, g);
        }
}

OPENCL_LEAKS_ARE_THE_DRIVERS

int main(void) {
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++)
        kiln_test_add(properties[i].name, random_configurations, &properties[i]);
    kiln_test_add("guesses_are_within_limits", guesses_are_within_limits, NULL);
    kiln_test_add("any_number_of_terms_is_summed", any_number_of_terms_is_summed, NULL);
    kiln_test_add("a_row_reads_each_sector_once", a_row_reads_each_sector_once, NULL);
    kiln_test_add("padding_parts_banks", padding_parts_banks, NULL);
    kiln_test_add("misses_each_barrier", misses_each_barrier, NULL);
    return kiln_test_run("gpu_matmul");
}
