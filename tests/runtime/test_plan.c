/* Hand-made plans: what branches and loops compute, and each way in which a plan can be
 * broken, refused in its words. */
#include "runtime/kiln.h"
#include "runtime/model_internal.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/plan_text.h"

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
    {"packed_parameters", "open call add w w p; call add v p z", 0, 210, {0}},
    {"parameters_packed_twice",
     "open call add w w p; open call add w w q; call add p q z",
     0,
     400,
     {0}},
    {"packed_parameters_in_a_branch",
     "open call add w w p; copy v z; if c; copy p z; else; end",
     1,
     200,
     {0}},
    {"a_place_that_nobody_packs", "open call add w w q; copy q z", 0, 200, {0}},
    {"packing_that_nobody_reads", "open call add w w p; copy v z", 0, 10, {0}},
    {"parameters_packed_of_what_is_packed",
     "open call add w w p; open call add p w q; call add v q z",
     0,
     310,
     {0}},
    {"parameters_that_are_copied", "open copy w p; call add v p z", 0, 110, {0}},
    {"a_second_device",
     "@1 copy v a; @1 copy w d; @1 call add2 a d f; @1 copy f z; wait 3",
     0,
     110,
     {0}},
    {"the_run_ends_when_its_queues_do",
     "@1 copy v a; @1 call add2 a a f; @1 copy f z",
     0,
     20,
     {0}},
    {"two_queues_in_turns",
     "@1 copy v a; @2 wait 0; @2 call add2 a a d; @1 wait 2; @1 call add2 d a f; "
     "@2 wait 4; @2 copy f z",
     0,
     30,
     {0}},
    {"the_host_between",
     "@1 copy v a; @1 call add2 a a d; @1 copy d s; wait 2; call add s w e; "
     "@1 wait 4; @1 copy e f; @1 copy f z",
     0,
     120,
     {0}},
    {"parameters_of_a_second_device",
     "open call add w w p; open @1 copy p r; @1 copy v a; @1 call add2 a r d; @1 copy "
     "d z",
     0,
     210,
     {0}},
    {"parameters_packed_by_a_second_device",
     "open @1 copy w r; @1 copy v a; @1 call add2 a r d; @1 copy d z",
     0,
     110,
     {0}},
    {"a_loop_on_a_second_device",
     "@1 copy w a; loop 4; @1 take x d; @1 call add2 a d a; @1 put a y; end; @1 copy a "
     "z",
     0,
     110,
     {101, 103, 106, 110}},
    {"a_loop_over_two_queues",
     "@1 copy w a; loop 4; @2 wait 5; @2 take x d; @1 wait 3; @1 call add2 a d a; "
     "@1 put a y; end; @1 copy a z",
     0,
     110,
     {101, 103, 106, 110}},
    {"a_wait_for_a_branch_not_taken",
     "@1 copy v a; if c; @1 copy w a; else; end; @2 wait 2; @2 wait 0; @2 copy a z",
     0,
     10,
     {0}},
    {"a_wait_for_a_branch_taken",
     "@1 copy v a; if c; @1 copy w a; else; end; @2 wait 2; @2 wait 0; @2 copy a z",
     1,
     100,
     {0}},
    {"a_branch_by_what_a_second_device_computed",
     "@1 copy w a; @1 call add2 a a d; @1 copy d s; wait 2; call big s t; if t; copy v "
     "z; "
     "else; copy w z; end",
     0,
     10,
     {0}},
    {"more_than_a_queue_holds",
     "@1 copy w a; loop 500; @1 copy a d; @1 copy d a; end; @1 copy a z",
     0,
     100,
     {0}},
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

/* ---- plans that pack parameters
 * ------------------------------------------------------ */

typedef struct opening {
    int n_calls, fail_from;                /* calls of kernels; 0: none fails */
    int n_blocks, fail_block, live_blocks; /* of memory; fail_block -1: none */
} opening;
static opening seen;

static int counted_add(const kiln_args *args, kiln_ctx *ctx) {
    seen.n_calls++;
    return seen.n_calls == seen.fail_from ? 5 : add(args, ctx);
}

static kiln_kernel_fn *find_counted(void *user, const char *symbol) {
    (void)user;
    (void)symbol;
    return counted_add;
}

static void *counted_alloc(void *user, size_t bytes) {
    kiln_allocator *plain = user;
    if (seen.n_blocks++ == seen.fail_block)
        return NULL;
    seen.live_blocks++;
    return plain->alloc(plain->user, bytes);
}

static void counted_release(void *user, void *block) {
    kiln_allocator *plain = user;
    seen.live_blocks--;
    plain->release(plain->user, block);
}

static const char packing_steps[] =
    "open call add w w p; open call add w w q; call add p q z";

static kiln_model *open_packing(opening how, char error[KILN_ERROR_TEXT]) {
    static kiln_allocator plain;
    kiln_arena *a = kiln_test_arena();
    kiln_test_plan p;
    kiln_allocator_default(&plain);
    kiln_test_plan_read(packing_steps, &p);
    const kiln_str plan = kiln_test_plan_write(a, &p);
    float *w = kiln_array(a, float, N);
    filled(w, 100);
    const kiln_allocator counted = {counted_alloc, counted_release, &plain};
    const kiln_model_parts parts = {plan.p,        plan.n,       w,
                                    N * sizeof *w, find_counted, NULL};
    seen = how;
    return kiln_model_from_parts(&parts, &(kiln_model_options){.allocator = &counted},
                                 error);
}

/* Once for each model, whatever sessions do; two models have nothing in common. */
static void packs_when_it_is_opened(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT] = "";
    kiln_model *m[2];
    kiln_session *s[4];
    for (int i = 0; i < 2; i++) {
        m[i] = open_packing((opening){.fail_block = -1}, error);
        if (m[i] == NULL)
            fail_msg("%s", error);
        assert_int_equal(seen.n_calls, 2);
    }
    for (int i = 0; i < 4; i++) {
        s[i] = kiln_session_open(m[i / 2], NULL, error);
        assert_non_null(s[i]);
        set_inputs(s[i], 0);
    }
    assert_int_equal(seen.n_calls, 2);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(kiln_session_run(s[i]), 0);
        assert_float_equal(*(const float *)kiln_session_output(s[i], 1), 400, 0);
    }
    assert_int_equal(seen.n_calls, 2 + 4);
    for (int i = 0; i < 4; i++)
        kiln_session_close(s[i]);
    kiln_model_close(m[0]);
    kiln_model_close(m[1]);
}

static void opening_that_fails_leaves_nothing(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT];
    for (int i = 1; i <= 2; i++) {
        assert_null(open_packing((opening){.fail_block = -1, .fail_from = i}, error));
        assert_string_equal(error, "open step 'step' failed with code 5");
        assert_int_equal(seen.n_calls, i);
        assert_int_equal(seen.live_blocks, 0);
    }
    int n_failures = 0;
    kiln_model *m = NULL;
    for (; m == NULL; n_failures++) {
        m = open_packing((opening){.fail_block = n_failures}, error);
        if (m == NULL) {
            assert_non_null(strstr(error, "no memory"));
            assert_int_equal(seen.live_blocks, 0);
            assert_int_equal(seen.n_calls, 0);
        }
    }
    assert_true(n_failures > 6); /* model, kernels, packed memory and what fills it */
    kiln_model_close(m);
    assert_int_equal(seen.live_blocks, 0);
}

/* ---- plans that are refused
 * ---------------------------------------------------------- */

#define POKE(table, i, field, to)                                                      \
    .at = offsetof(kiln_test_plan, table) +                                            \
          (i) * sizeof(((kiln_test_plan *)0)->table[0]) +                              \
          offsetof(kiln_plan_##table, field),                                          \
    .bytes = sizeof(((kiln_plan_##table *)0)->field), .value = (to)
#define POKE_OPEN(i, field, to)                                                        \
    .at = offsetof(kiln_test_plan, open) + (i) * sizeof(kiln_plan_step) +              \
          offsetof(kiln_plan_step, field),                                             \
    .bytes = sizeof(((kiln_plan_step *)0)->field), .value = (to)
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
     .at = offsetof(kiln_test_plan, operand) + 4, .bytes = 4, .value = 13},
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
     POKE(space, 0, arena_bytes, 384)},
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
    {"packed_memory_that_nobody_fills", "open call add w w p; copy q z",
     .text = "operand 0 of step 'step' is packed memory that no open step fills"},
    {"packed_memory_without_open_steps", "copy p z",
     .text = "operand 0 of step 'step' is packed memory that no open step fills"},
    {"packed_memory_filled_in_part", "open call add w w q; copy p z",
     .text = "operand 0 of step 'step' is packed memory that no open step fills"},
    {"packed_memory_read_past_what_is_filled",
     "open call add w w q; copy x b; call add v p z",
     .text = "operand 1 of step 'step' is packed memory that no open step fills",
     POKE(tensor, 11, bytes, 128)},
    {"a_copy_to_packed_memory", "open call add w w p; copy v p",
     .text = "writes to what is never written"},
    {"a_kernel_that_writes_packed_memory", "open call add w w p; call add v v p",
     .text = "writes to what is never written"},
    {"a_packed_place_without_memory", "copy v z", .text = "tensor 11 has no place",
     POKE(space, 0, packed_bytes, 0)},
    {"a_packed_place_behind_the_memory", "copy v z",
     .text = "tensor 12 lies outside its memory", POKE(space, 0, packed_bytes, 64)},
    {"too_much_packed_memory", "copy v z", .text = "more than 2^40 bytes",
     POKE(space, 0, packed_bytes, (UINT64_C(1) << 40) + 1)},
    {"an_open_step_that_loops", "open loop 3",
     .text = "open step 'step' is neither a launch nor a copy"},
    {"an_open_step_that_reads_an_input", "open call add w v p",
     .text = "operand 1 of open step 'step' is no parameter"},
    {"an_open_step_that_reads_what_is_packed_later",
     "open call add w q p; open call add w w q",
     .text = "operand 1 of open step 'step' is no parameter, nor packed before"},
    {"an_open_step_that_writes_the_arena", "open call add w w s",
     .text = "open step 'step' must fill all of a packed place"},
    {"an_open_step_that_writes_a_parameter", "open call add w w w",
     .text = "open step 'step' must fill all of a packed place"},
    {"an_open_step_that_fills_a_part", "open call big w p",
     .text = "open step 'step' must fill all of a packed place"},
    {"an_open_step_that_writes_two", "open call add w p q",
     .text = "open step 'step' must write one tensor, writes 2",
     POKE(kernel, 0, n_written, 2)},
    {"a_place_that_is_packed_again", "open call add w w p; open call add w w p",
     .text = "writes what a step before it has filled"},
    {"open_steps_out_of_order", "open call add w w q; open call add w w p",
     .text = "writes what a step before it has filled"},
    {"an_open_step_without_a_kernel", "open call add w w p",
     .text = "calls no kernel of 3 operands", POKE_OPEN(0, kernel, 7)},
    {"an_open_step_of_a_short_parameter", "open call add w w p",
     .text = "operand 0 of step 'step' must have 64 bytes", POKE(tensor, 5, bytes, 63)},
    {"an_open_step_without_a_name", "open call add w w p", .text = "step 0 has no name",
     POKE_OPEN(0, name, 64)},
    {"a_launch_in_the_hosts_memory", "@1 call add2 a s d",
     .text = "operand 1 of step 'step' lies in space 0, where device 1 does not "
             "compute"},
    {"a_launch_in_anothers_memory", "call add s a e; @1 copy v a",
     .text = "operand 1 of step 'step' lies in space 1, where device 0 does not "
             "compute"},
    {"a_launch_that_reads_a_parameter_from_afar", "@1 call add2 a w d",
     .text = "operand 1 of step 'step' lies in space 0"},
    {"a_launch_of_anothers_code", "@1 call add a a d",
     .text = "launches what module 0 has for another device"},
    {"the_host_with_anothers_code", "call add2 s s e; @1 copy v a",
     .text = "launches what module 1 has for another device"},
    {"a_copy_by_the_host_from_afar", "copy a z; @1 copy v a",
     .text = "copies to or from space 1, device 0 cannot"},
    {"a_copy_by_the_host_to_afar", "copy v a; @1 copy v a",
     .text = "copies to or from space 1, device 0 cannot"},
    {"a_take_by_the_host_from_afar", "@1 copy v a; loop 4; take g s; end",
     .text = "copies to or from space 1, device 0 cannot"},
    {"a_put_by_the_host_to_afar", "@1 copy v a; loop 4; put s g; end",
     .text = "copies to or from space 1, device 0 cannot"},
    {"a_condition_from_afar", "@1 copy v a; if a; else; end",
     .text = "has a condition in space 1, which the host does not read"},
    {"a_branch_of_a_second_device", "@1 if c; else; end",
     .text = "lets queue 1 choose or repeat, the host does"},
    {"a_loop_of_a_second_device", "@1 loop 2; end",
     .text = "lets queue 1 choose or repeat, the host does"},
    {"a_step_for_no_queue", "@3 copy v a", .text = "step 'step' is for no queue"},
    {"an_open_step_for_no_queue", "open @3 copy w r; @1 copy v a",
     .text = "step 'step' is for no queue"},
    {"a_wait_for_no_step", "@1 copy v a; wait 2", .text = "waits for no step"},
    {"a_wait_that_never_comes", "@1 copy v a; wait 2; @1 copy a z",
     .text = "waits for step 2, which comes only afterwards"},
    {"a_wait_in_a_loop_for_what_is_behind_it", "loop 2; wait 3; end; @1 copy v a",
     .text = "which comes only afterwards"},
    {"a_wait_in_a_branch_for_what_is_behind_it", "if c; wait 2; @1 copy v a; else; end",
     .text = "which comes only afterwards"},
    {"a_ring_of_queues", "@1 wait 3; @1 copy v a; @2 wait 1; @2 copy v d",
     .text = "waits for step 3, which comes only afterwards"},
    {"a_queue_that_waits_for_itself", "@1 copy v a; @1 wait 0",
     .text = "lets queue 1 wait for its own step 0"},
    {"a_wait_for_a_loop", "loop 2; end; @1 wait 0",
     .text = "waits for step 0, which no queue does"},
    {"a_wait_for_a_wait", "@1 copy v a; wait 0; @1 wait 1",
     .text = "waits for step 1, which no queue does"},
    {"a_wait_with_an_operand", "@1 copy v a; wait 0 v",
     .text = "must have 0 operands, has 1"},
    {"no_device", "copy v z", .text = "must have 1 to 64 devices, has 0",
     POKE_HEADER(devices.n, 0)},
    {"too_many_queues", LOOPS_8 ENDS_8 "copy v z",
     .text = "must have 1 to 64 queues, has 65", POKE_HEADER(queues.n, 65)},
    {"no_space", "copy v z", .text = "must have 1 to 64 spaces, has 0",
     POKE_HEADER(spaces.n, 0)},
    {"a_first_device_that_is_not_the_host", "@1 copy v a",
     .text = "device 0 and no other must be 'host', device 0 is 'host2'",
     POKE(device, 0, kind, 37)},
    {"a_second_host", "@1 copy v a",
     .text = "device 0 and no other must be 'host', device 1 is 'host'",
     POKE(device, 1, kind, 32)},
    {"a_device_without_a_kind", "@1 copy v a", .text = "device 1 has no kind",
     POKE(device, 1, kind, 64)},
    {"a_space_of_no_device", "@1 copy v a", .text = "space 1 belongs to no device",
     POKE(space, 1, device, 2)},
    {"a_first_space_that_is_anothers", "@1 copy v a",
     .text = "space 0 must be the host's", POKE(space, 0, device, 1)},
    {"a_queue_of_no_device", "@1 copy v a", .text = "queue 2 belongs to no device",
     POKE(queue, 2, device, 2)},
    {"a_first_queue_that_is_anothers", "@1 copy v a",
     .text = "queue 0 must be the host's", POKE(queue, 0, device, 1)},
    {"a_second_queue_of_the_host", "@1 copy v a",
     .text = "the host has queue 0 alone, not queue 2", POKE(queue, 2, device, 0)},
    {"a_module_of_no_device", "@1 copy v a", .text = "module 1 belongs to no device",
     POKE(module, 1, device, 2)},
    {"a_module_outside_the_folder", "@1 copy v a",
     .text = "module 1 has no plain name of a file", POKE(module, 1, file, 36)},
    {"two_modules_of_one_name", "@1 copy v a",
     .text = "modules 0 and 1 are both 'lib.so'", POKE(module, 1, file, 43)},
    {"a_kernel_in_no_module", "copy v z", .text = "kernel 'big' is in no module",
     POKE(kernel, 1, module, 1)},
    {"too_much_memory_of_a_second_device", "@1 copy v a",
     .text = "space 1 asks for more than 2^40 bytes",
     POKE(space, 1, arena_bytes, (UINT64_C(1) << 40) + 1)},
    {"a_value_in_no_space", "@1 copy v a", .text = "tensor 13 has no place",
     POKE(tensor, 13, index, 2)},
    {"a_value_behind_a_second_devices_arena", "@1 copy v a",
     .text = "tensor 16 lies outside its memory", POKE(space, 1, arena_bytes, 384)},
    {"packed_memory_of_a_second_device_that_nobody_fills",
     "open call add w w p; @1 copy r z",
     .text = "operand 0 of step 'step' is packed memory that no open step fills"},
    {"an_open_copy_in_part", "open @1 copy w r; @1 copy v a",
     .text = "open step 'step' must fill all of a packed place",
     POKE(tensor, 17, bytes, 63)},
    {"an_open_copy_by_who_cannot", "open copy w r; @1 copy v a",
     .text = "copies to or from space 1, device 0 cannot"},
    {"open_steps_out_of_order_of_spaces",
     "open @1 copy w r; open call add w w p; @1 copy v a",
     .text = "writes what a step before it has filled, or lies before it"},
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
    kiln_test_add("packs_when_it_is_opened", packs_when_it_is_opened, NULL);
    kiln_test_add("opening_that_fails_leaves_nothing",
                  opening_that_fails_leaves_nothing, NULL);
    kiln_test_add_rows(is_refused, bad);
    return kiln_test_run("plans");
}
