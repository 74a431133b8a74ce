/* Hand-made plans: what branches and loops compute, and each way in which a plan can be
 * broken, refused in its words. */
#include "runtime/kiln.h"
#include "tests/support/kiln_test.h"
#include "tests/support/plan_text.h"

#include <string.h>

enum { N = 16 }; /* floats of 64 bytes */

/* ---- plans that run
 * ----------------------------------------------------------------- */

/* Element i of x is i + 1 in all places, v is 10, w is 100. */
typedef struct good_row {
    const char *name, *steps;
    int c;
    float z, y[4];
} good_row;

static good_row good[] = {
    {"the_first_branch", "if c; copy v z; else; copy w z; end", 1, 10, {0}},
    {"any_byte_but_zero_is_true", "if c; copy v z; else; copy w z; end", 2, 10, {0}},
    {"the_other_branch", "if c; copy v z; else; copy w z; end", 0, 100, {0}},
    {"an_empty_branch", "copy w z; if c; else; copy v z; end", 1, 100, {0}},
    {"two_empty_branches", "if c; else; end; copy w z", 1, 100, {0}},
    {"branches_in_branches",
     "if c; if c; copy v z; else; copy w z; end; else; copy w z; end; call add z v z",
     1,
     20,
     {0}},
    {"a_loop_hands_its_state_on",
     "copy w s; loop 4; take x e; call add s e s; put s y; end; copy s z",
     0,
     110,
     {101, 103, 106, 110}},
    {"a_loop_of_no_iterations", "copy w z; loop 0; copy v z; end", 0, 100, {0}},
    {"a_loop_around_nothing", "loop 7; end; copy v z", 0, 10, {0}},
    {"a_loop_ends_before_the_last_element",
     "loop 2; take x e; put e y; end; copy v z",
     0,
     10,
     {1, 2}},
    {"loops_in_loops",
     "copy w s; loop 3; loop 4; take x e; call add s e s; end; end; copy s z",
     0,
     130,
     {0}},
    {"an_inner_loop_begins_again",
     "copy w s; loop 4; take x e; loop 2; call add s e s; end; put s y; end; copy s z",
     0,
     120,
     {102, 106, 112, 120}},
    {"a_branch_by_what_an_iteration_computed",
     "copy v s; loop 4; take x e; call big e t; if t; call add s e s; else; end; "
     "put s y; end; copy s z",
     0,
     17,
     {10, 10, 13, 17}},
    {"a_loop_in_a_branch",
     "copy w z; if c; loop 2; take x z; put z y; end; else; end",
     1,
     2,
     {1, 2}},
    {"elements_of_no_bytes", "loop 9; take none none; end; copy v z", 0, 10, {0}},
};

static int add(const kiln_args *args, kiln_ctx *ctx) {
    const float *x = args->tensor[0], *y = args->tensor[1];
    float *z = args->tensor[2];
    (void)ctx;
    for (int i = 0; i < N; i++)
        z[i] = x[i] + y[i];
    return 0;
}

static int big(const kiln_args *args, kiln_ctx *ctx) {
    const float *x = args->tensor[0];
    unsigned char *is_big = args->tensor[1];
    (void)ctx;
    *is_big = x[0] > 2;
    return 0;
}

static kiln_kernel_fn *find_kernel(void *user, const char *symbol) {
    (void)user;
    return strcmp(symbol, "add") == 0 ? add : big;
}

static const float *filled(float *to, float value) {
    for (int i = 0; i < N; i++)
        to[i] = value;
    return to;
}

static kiln_session *open_session(const char *steps, int n_threads, kiln_model **m) {
    kiln_arena *a = kiln_test_arena();
    char error[KILN_ERROR_TEXT] = "";
    kiln_test_plan p;
    kiln_test_plan_read(steps, &p);
    const kiln_str plan = kiln_test_plan_write(a, &p);
    float *w = kiln_array(a, float, N);
    filled(w, 100);
    const kiln_model_parts parts = {plan.p,        plan.n,      w,
                                    N * sizeof *w, find_kernel, NULL};
    const kiln_session_options o = {.n_threads = n_threads};
    *m = kiln_model_from_parts(&parts, NULL, error);
    if (*m == NULL)
        fail_msg("%s", error);
    kiln_session *s = kiln_session_open(*m, &o, error);
    assert_non_null(s);
    return s;
}

static void set_inputs(kiln_session *s, int c) {
    float x[4 * N], v[N];
    const unsigned char condition = (unsigned char)c;
    for (int i = 0; i < 4; i++)
        filled(x + i * N, (float)(i + 1));
    assert_int_equal(kiln_session_set_input(s, 0, x), 0);
    assert_int_equal(kiln_session_set_input(s, 1, filled(v, 10)), 0);
    assert_int_equal(kiln_session_set_input(s, 2, &condition), 0);
}

static void runs_as_it_says(void **state) {
    const good_row *r = *state;
    kiln_model *m = NULL;
    for (int n_threads = 1; n_threads <= 2; n_threads++) {
        kiln_session *s = open_session(r->steps, n_threads, &m);
        set_inputs(s, r->c);
        for (int again = 0; again < 2; again++) { /* nothing is left of a run */
            assert_int_equal(kiln_session_run(s), 0);
            const float *y = kiln_session_output(s, 0), *z = kiln_session_output(s, 1);
            for (int i = 0; i < N; i++) {
                assert_float_equal(z[i], r->z, 0);
                for (int k = 0; k < 4 && r->y[k] != 0; k++)
                    assert_float_equal(y[k * N + i], r->y[k], 0);
            }
        }
        kiln_session_close(s);
        kiln_model_close(m);
    }
}

static void profiles_count_what_ran(void **state) {
    (void)state;
    kiln_model *m = NULL;
    kiln_step_info step;
    kiln_session *s = open_session(
        "loop 3; take x e; end; if c; copy w z; else; copy v z; end", 1, &m);
    static const uint64_t runs[] = {0, 3, 0, 0, 0, 0, 1, 0};
    kiln_session_profile(s, 1);
    set_inputs(s, 0);
    assert_int_equal(kiln_session_run(s), 0);
    assert_int_equal(kiln_session_n_steps(s), 8);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(kiln_session_step(s, i, &step), 0);
        assert_int_equal(step.runs, runs[i]);
    }
    kiln_session_close(s);
    kiln_model_close(m);
}

/* ---- plans that are refused
 * ---------------------------------------------------------- */

#define POKE(table, i, field, to)                                                      \
    .at = offsetof(kiln_test_plan, table) +                                            \
          (i) * sizeof(((kiln_test_plan *)0)->table[0]) +                              \
          offsetof(kiln_plan_##table, field),                                          \
    .bytes = sizeof(((kiln_plan_##table *)0)->field), .value = (to)
#define POKE_HEADER(field, to)                                                         \
    .at = offsetof(kiln_test_plan, header) + offsetof(kiln_plan_header, field),        \
    .bytes = sizeof(((kiln_plan_header *)0)->field), .value = (to)

/* A plan of these steps, with one field changed (bytes 0: none). */
typedef struct bad_row {
    const char *name, *steps, *text;
    size_t at, bytes;
    uint64_t value;
    bool empty_port; /* input 0 holds nothing: its shape is [0, value] */
} bad_row;

#define LOOPS_8 "loop 1; loop 1; loop 1; loop 1; loop 1; loop 1; loop 1; loop 1; "
#define ENDS_8 "end; end; end; end; end; end; end; end; "

static bad_row bad[] = {
    {"an_else_alone", "else", .text = "is the else of no if"},
    {"an_else_in_a_loop", "loop 2; else; end", .text = "is the else of no if"},
    {"a_second_else", "if c; else; else; end", .text = "is the else of no if"},
    {"an_end_alone", "copy v z; end", .text = "ends no block"},
    {"an_end_too_many", "loop 2; end; end", .text = "ends no block"},
    {"an_if_without_else", "if c; copy v z; end",
     .text = "ends a block that names another end"},
    {"an_if_without_end", "if c; else", .text = "step 'step' has no end"},
    {"a_loop_without_end", "loop 2; copy v z", .text = "step 'step' has no end"},
    {"blocks_that_cross", "loop 2; if c; else; end; end", .text = "ends no block",
     POKE(step, 3, partner, 0)},
    {"an_if_with_the_else_of_another", "if c; else; if c; else; end; end",
     .text = "is the else of no if", POKE(step, 2, partner, 1)},
    {"an_if_whose_else_lies_before", "if c; else; if c; end; end",
     .text = "ends a block that names another end", POKE(step, 2, partner, 1)},
    {"an_if_whose_else_lies_behind", "if c; end; else",
     .text = "ends a block that names another end", POKE(step, 0, partner, 2)},
    {"an_else_outside_the_table", "if c; end; copy v z",
     .text = "ends a block that names another end", POKE(step, 0, partner, 1u << 31)},
    {"a_loop_with_another_end", "loop 2; copy v z; end; copy v z",
     .text = "ends a block that names another end", POKE(step, 0, partner, 3)},
    {"an_else_with_another_end", "if c; else; end; copy v z",
     .text = "ends a block that names another end", POKE(step, 1, partner, 3)},
    {"an_end_with_another_beginning", "if c; else; end; loop 2; end",
     .text = "ends no block", POKE(step, 4, partner, 0)},
    {"blocks_too_deep",
     LOOPS_8 LOOPS_8 LOOPS_8 LOOPS_8 "loop 1; end; " ENDS_8 ENDS_8 ENDS_8
                                     "end; end; end; end; end; end; end; end",
     .text = "is nested deeper than 32"},
    {"loops_that_never_end_in_practice", "loop 100000; loop 100000; end; end",
     .text = "begins more than 1073741824 runs"},
    {"a_loop_of_too_many_steps", "loop 1073741824; end",
     .text = "its steps are run more than 1073741824 times"},
    {"an_empty_condition", "if none; else; end", .text = "has an empty condition"},
    {"an_if_without_condition", "if; else; end", .text = "must have 1 operands, has 0"},
    {"a_loop_with_an_operand", "loop 2 c; end", .text = "must have 0 operands, has 1"},
    {"a_copy_of_three", "copy v z z", .text = "must have 2 operands, has 3"},
    {"a_take_outside_of_loops", "if c; take x e; else; end",
     .text = "wants an iteration outside of loops"},
    {"a_take_behind_a_loop", "loop 4; end; take x e",
     .text = "wants an iteration outside of loops"},
    {"a_take_past_the_end", "loop 5; take x e; end",
     .text = "wants 5 elements, its tensor has 4"},
    {"a_take_from_a_short_tensor", "loop 1; take e b; end",
     .text = "wants 1 elements, its tensor has 0"},
    {"a_put_past_the_end", "loop 5; if c; put e y; else; end; end",
     .text = "wants 5 elements, its tensor has 4"},
    {"a_put_past_the_end_of_the_inner_loop", "loop 1; loop 5; put e y; end; end",
     .text = "wants 5 elements, its tensor has 4"},
    {"a_take_into_an_input", "loop 4; take b v; end",
     .text = "writes to what is never written"},
    {"a_put_into_a_parameter", "loop 1; put e w; end",
     .text = "writes to what is never written"},
    {"a_copy_to_an_input", "copy z v", .text = "writes to what is never written"},
    {"a_copy_to_a_parameter", "copy z w", .text = "writes to what is never written"},
    {"a_kernel_that_writes_an_input", "call add e e v",
     .text = "writes to what is never written"},
    {"a_kernel_that_writes_two", "call add e w z",
     .text = "writes to what is never written", POKE(kernel, 0, n_written, 2)},
    {"a_copy_between_unlike_tensors", "copy x z",
     .text = "copies between unlike tensors"},
    {"a_short_operand", "call add e t z",
     .text = "operand 1 of step 'step' must have 64 bytes for kernel 'add', has 1"},
    {"a_short_result", "call add e e t",
     .text = "operand 2 of step 'step' must have 64 bytes for kernel 'add', has 1"},
    {"a_short_input", "call add c e z",
     .text = "operand 0 of step 'step' must have 64 bytes"},
    {"a_missing_operand", "call add e z", .text = "calls no kernel of 2 operands"},
    {"another_kernel", "call add e e z", .text = "calls no kernel of 3 operands",
     POKE(step, 0, kernel, 1)},
    {"a_kernel_outside", "call add e e z", .text = "calls no kernel of 3 operands",
     POKE(step, 0, kernel, 2)},
    {"an_unknown_kind", "copy v z", .text = "is of no known kind",
     POKE(step, 0, kind, KILN_PLAN_N_KINDS)},
    {"an_operand_outside", "copy v z", .text = "has operands outside the table",
     POKE(step, 0, first_operand, 1)},
    {"an_operand_that_is_no_tensor", "copy v z", .text = "operand 1 is no tensor",
     .at = offsetof(kiln_test_plan, operand) + 4, .bytes = 4, .value = 11},
    {"an_operand_of_no_step_that_is_no_tensor", "copy v z; loop 1 v; end",
     .text = "operand 2 is no tensor", .at = offsetof(kiln_test_plan, operand) + 8,
     .bytes = 4, .value = 1u << 30},
    {"a_step_without_a_name", "copy v z", .text = "step 0 has no name",
     POKE(step, 0, name, 64)},
    {"a_kernel_that_writes_nothing", "copy v z",
     .text = "kernel 'add' writes 0 of its 3", POKE(kernel, 0, n_written, 0)},
    {"a_kernel_that_writes_too_much", "copy v z",
     .text = "kernel 'big' writes 3 of its 2", POKE(kernel, 1, n_written, 3)},
    {"sizes_outside", "copy v z", .text = "kernel 'big' has sizes outside the table",
     POKE(kernel, 1, first_size, 4)},
    {"a_workspace_that_is_not_there", "copy v z",
     .text = "kernel 'add' needs more workspace than there is",
     POKE_HEADER(workspace_bytes, 127)},
    {"a_scratch_that_is_not_there", "copy v z",
     .text = "kernel 'add' needs more workspace than there is",
     POKE(kernel, 0, scratch_bytes, 65)},
    {"an_input_longer_than_its_port", "copy v z",
     .text = "tensor 0 lies outside its memory", POKE(tensor, 0, bytes, 257)},
    {"an_output_behind_its_port", "copy v z",
     .text = "tensor 4 lies outside its memory", POKE(tensor, 4, offset, 64)},
    {"a_value_behind_the_arena", "copy v z", .text = "tensor 9 lies outside its memory",
     POKE_HEADER(arena_bytes, 384)},
    {"a_crooked_offset", "copy v z", .text = "tensor 7 lies outside its memory",
     POKE(tensor, 7, offset, 65)},
    {"a_port_with_another_shape", "copy v z",
     .text = "port 'x' has not the bytes of its shape", POKE(port, 0, dim[0], 65)},
    {"a_port_with_a_shape_past_all_bounds", "copy v z",
     .text = "port 'x' has not the bytes of its shape",
     POKE(port, 0, dim[0], UINT64_MAX / 4 + 65)},
    {"a_port_of_nothing_with_a_shape_past_all_bounds", "copy v z",
     .text = "port 'x' has not the bytes of its shape",
     POKE(port, 0, dim[1], UINT64_MAX), .empty_port = true},
    {"a_port_of_an_unknown_type", "copy v z",
     .text = "port 'z' has not the bytes of its shape", POKE(port, 4, dtype, 0)},
    {"a_port_with_another_tensor", "copy v z",
     .text = "port 'v' and its tensor do not agree", POKE(port, 1, tensor, 4)},
};

static void is_refused(void **state) {
    const bad_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    char error[KILN_PLAN_ERROR];
    kiln_plan checked;
    kiln_test_plan p;
    kiln_test_plan_read(r->steps, &p);
    if (r->empty_port) {
        p.port[0].rank = 2;
        p.port[0].dim[0] = p.port[0].bytes = p.tensor[0].bytes = 0;
    }
    memcpy((char *)&p + r->at, &r->value, r->bytes); /* little-endian, as plans are */
    const kiln_str bytes = kiln_test_plan_write(a, &p);
    const int st = kiln_plan_check(bytes.p, bytes.n, &checked, error);
    assert_int_equal(st, -1);
    if (strstr(error, r->text) == NULL)
        fail_msg("'%s' does not say '%s'", error, r->text);
}

int main(void) {
    kiln_test_add_rows(runs_as_it_says, good);
    kiln_test_add("profiles_count_what_ran", profiles_count_what_ran, NULL);
    kiln_test_add_rows(is_refused, bad);
    return kiln_test_run("plans");
}
