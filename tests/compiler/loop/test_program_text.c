/* Loop programs as text: whatever lowering and passes make prints, is read back the
 * same and computes the same; hostile text is refused with the place of the fault. */
#include "compiler/schedule/schedule.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_schedule.h"
#include "tests/support/kernel/te_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEDULES_EACH = 4, MIN_PRIMITIVES = 4, MAX_PRIMITIVES = 32 };

static kiln_str print(kiln_arena *a, const kiln_program *p) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_program_print(&b, p);
    return kiln_buf_str(&b);
}

/* ---- a property: random schedules, after each pass ------------------------------- */

static kiln_program *read_back(kiln_arena *a, const kiln_program *p) {
    const kiln_str text = print(a, p);
    kiln_program *again = NULL;
    kiln_err err = {0};
    if (kiln_program_parse(a, text, NULL, &again, &err) != KILN_OK ||
        !kiln_str_eq(print(a, again), text)) {
        fprintf(stderr, "%.*s\n%s\n", KILN_STR_ARG(text), err.text);
        if (again != NULL)
            fprintf(stderr, "became\n%.*s\n", KILN_STR_ARG(print(a, again)));
        fail();
        return NULL;
    }
    kiln_assert_status_ok(kiln_program_verify(again, &err), &err);
    return again;
}

static void check_schedule(kiln_arena *a, const te_example_def *def, uint64_t seed) {
    random_schedule_stats stats = {0, 0};
    te_example x = {.n_args = 0};
    te_call c = {.n_args = 0};
    kiln_wide in[8], want[8];
    kiln_rng rng;
    kiln_buf log;
    kiln_err err = {0};
    kiln_program *p = NULL;
    kiln_rng_init(&rng, seed);
    kiln_buf_init(&log, a);
    def->make(a, &x);
    te_call_prepare(a, &rng, &x, &c, in);
    te_call_evaluate(a, &x, in, want);
    kiln_schedule *s = random_schedule(
        a, &rng, x.arg + x.n_inputs, x.n_args - x.n_inputs,
        (int)kiln_rng_range(&rng, MIN_PRIMITIVES, MAX_PRIMITIVES), &log, &stats);
    if (kiln_lower(a, s, x.arg, x.n_args, x.n_inputs, def->name, &p, &err) != KILN_OK)
        return; /* test_random_schedules looks at these */
    kiln_program *again = read_back(a, p);
    const kiln_loop_options o = {.keep_large_loops = true, .max_unroll = 256};
    for (int i = 0; kiln_loop_pass_at(i) != NULL; i++) {
        const kiln_loop_pass *pass = kiln_loop_pass_at(i);
        const kiln_status st = pass->run(p, &o, &err);
        if (st == KILN_ERR_ARG && pass == &kiln_loop_pass_outline)
            return; /* test_passes_random looks at these */
        kiln_assert_status_ok(st, &err);
        again = read_back(a, p);
    }
    kiln_assert_status_ok(kiln_program_run(a, again, c.arg, NULL, &err), &err);
    for (int i = 0; i < c.n_out; i++)
        assert_false(te_call_differs(a, &c.out[i], &want[i]));
}

static void survives(void **state) {
    const int64_t wanted = kiln_test_cases(SCHEDULES_EACH);
    for (int64_t i = 0; i < wanted; i++) {
        kiln_arena a;
        kiln_arena_init(&a);
        check_schedule(&a, *state, kiln_test_seed() * 1000003u + (uint64_t)i);
        kiln_arena_fini(&a);
    }
}

/* ---- accepted -------------------------------------------------------------------- */

typedef struct accept_row {
    const char *name, *text, *prints; /* prints NULL: the same */
} accept_row;

#define PROGRAM(body) "program p(x: f32[8], out y: f32[8]) {\n" body "}\n"

static accept_row accepted[] = {
    {"every_loop", .text = PROGRAM("  for i in 0 .. +8 {\n"
                                   "    parallel j in i .. +1 {\n"
                                   "      vectorized k in 0 .. +1 {\n"
                                   "        unroll l in 0 .. +1 {\n"
                                   "          thread \"threadIdx.x\" m in 0 .. +1 {\n"
                                   "            vthread n in 0 .. +1 {\n"
                                   "              y[j + k + l + m + n] = x[j]\n"
                                   "            }\n"
                                   "          }\n"
                                   "        }\n"
                                   "      }\n"
                                   "    }\n"
                                   "  }\n")},
    {"every_attribute",
     .text = PROGRAM("  @pragma \"say \\\"it\\\"\" {\n"
                     "    @thread_extent \"blockIdx.x\" = 8 {\n"
                     "      @coproc_scope = 2 {\n"
                     "        @double_buffer on y {\n"
                     "          @dependence {\n"
                     "            @stage \"y\" {\n"
                     "              @tensorize \"dot4_u8s8\" = 16 {\n"
                     "                y[0] = x[0]\n"
                     "              }\n"
                     "            }\n"
                     "          }\n"
                     "        }\n"
                     "      }\n"
                     "    }\n"
                     "  }\n")},
    {"calls_and_launches",
     .text = "program q.update(a: f32[4], out c: f32[4]) flat {\n"
             "  for i in 0 .. +4 {\n"
             "    c[i] = c[i] + a[i]\n"
             "  }\n"
             "}\n"
             "program k(x: f32[8], out y: f32[8]; n: i64, f: f32) {\n"
             "  thread \"threadIdx.x\" t in 0 .. +2 {\n"
             "    y[t] = f\n"
             "    call q.update(x[n*4], y[t])\n"
             "  }\n"
             "}\n"
             "program p(x: f32[8], out y: f32[8]) {\n"
             "  alloc call: f32[2, 4] {\n"
             "    call[1, 0] = x[0]\n"
             "    for n in 0 .. +2 {\n"
             "      launch k[1, 1, 1; n + 1, 1, 1](x, call, n, 0.5f)\n"
             "    }\n"
             "    call q.update(call[1, 0], y)\n"
             "  }\n"
             "}\n"},
    {"every_property", .text = "program p(x: f32[3 align(16, 1), 8] scope17, out y: "
                               "f32[8] bytes(32)) flat {\n"
                               "  alloc t: bf16[] register {\n"
                               "    t[] = bf16(x[0, 1])\n"
                               "    y[0] = f32(t[])\n"
                               "  }\n"
                               "}\n"},
    {"branches", .text = PROGRAM("  for i in 0 .. +8 {\n"
                                 "    if i < 3 | i == 5 {\n"
                                 "      y[i] = x[i]\n"
                                 "    } else {\n"
                                 "      y[i] = 0f\n"
                                 "    }\n"
                                 "  }\n")},
    {"an_empty_branch", .text = PROGRAM("  for i in 0 .. +8 {\n"
                                        "    if i < 3 {\n"
                                        "    } else {\n"
                                        "      y[i] = 0f\n"
                                        "    }\n"
                                        "  }\n")},
    {"lets", .text = PROGRAM("  let v: f32 = x[0] {\n"
                             "    y[0] = v*v\n"
                             "  }\n"
                             "  let v: f32 = x[1] {\n"
                             "    y[1] = v\n"
                             "  }\n")},
    {"lets_in_expressions",
     .text = PROGRAM("  y[0] = 2f*let(a = x[0], b = a*a; a + b)\n"
                     "  y[1] = let(a = x[1]; a)\n"
                     "  y[ramp(0, 1, 8)] = let(k = x[2], v = x8(k) + x[ramp(0, 1, 8)]; "
                     "v*let(w = v; w))\n")},
    {"loops_in_expressions",
     .text =
         PROGRAM("  y[0] = loop(a = x[0], n = 0; 1f <= a; b = a*0.5f; b, n + 1; a)\n"
                 "  y[1] = loop(a = 1f; a < x[1]; ; a + a; a)\n"
                 "  y[ramp(0, 1, 8)] = loop(k = 0, v = x[ramp(0, 1, 8)]; v < x8(1f); "
                 "; k + 1, v + v; v)\n")},
    {"tables",
     .text = PROGRAM(
         "  y[0] = f32(table_i32(-1, 5, 7; i64(x[0])))\n"
         "  y[ramp(0, 1, 8)] = f32(table_u8(0, 255; ramp(0, 1, 8) % x8(2)))\n")},
    {"calls", .text = PROGRAM("  prefetch(x[3])\n  y[0] = fma(x[0], x[1], x[2])\n")},
    {"byte_dot_products",
     .text = "program p(a: u8[16], b: i8[16], out c: i32[4]) {\n"
             "  c[ramp(0, 1, 4)] = dot4(c[ramp(0, 1, 4)], a[ramp(0, 1, 16)], "
             "b[ramp(0, 1, 16)])\n"
             "}\n"},
    {"siblings_share_names", .text = PROGRAM("  alloc t: f32[1] local {\n"
                                             "    t[0] = x[0]\n"
                                             "  }\n"
                                             "  alloc t: f32[1] local {\n"
                                             "    t[0] = x[1]\n"
                                             "  }\n")},
    {"vectors",
     .text = PROGRAM(
         "  y[ramp(0, 1, 8)] where (ramp(0, 1, 8) < x8(5)) = x[ramp(0, 1, 8)] where "
         "(ramp(0, 1, 8) < x8(5)) + x8(2f)\n"
         "  y[ramp(0, 2, 4)] = shuffle(x[ramp(0, 1, 4)], x4(0f); 0, 4, 1, 7)\n")},
    {"a_mask_of_the_store_only",
     .text = PROGRAM(
         "  y[ramp(0, 1, 4)] where (ramp(0, 1, 4) < x4(3)) = x[ramp(0, 1, 4)]\n")},
    {"a_mask_of_the_load_only",
     .text = PROGRAM(
         "  y[ramp(0, 1, 4)] = x[ramp(0, 1, 4)] where (ramp(0, 1, 4) < x4(3))\n")},
    {"precedence",
     .text = PROGRAM(
         "  for i in 0 .. +8 {\n"
         "    if !(i < 3 & i < 4) | i - (2 - i) < (i + 1)*2 {\n"
         "      y[(i*2 + 1) % 7 // (1 + i) << 2 - i >> (i & 1 | i ^ 2)] = -1f*x[0]\n"
         "    }\n"
         "  }\n")},
    {"names_of_any_kind",
     .text = "program \"a b\"(\"in\": f32[8], out \"out/1\": f32[8]) {\n"
             "  for \"else\" in 0 .. +8 {\n"
             "    \"out/1\"[\"else\"] = \"in\"[\"else\"]\n"
             "  }\n"
             "}\n"},
    {"words_as_names", .text = "program program(out: f32[8], out for: f32[8]) {\n"
                               "  for alloc in 0 .. +8 {\n"
                               "    for[alloc] = out[alloc]\n"
                               "  }\n"
                               "}\n"},
    {"a_quoted_thread", .text = PROGRAM("  vthread \"in\" in 0 .. +8 {\n"
                                        "    thread \"t\" \"a b\" in 0 .. +1 {\n"
                                        "      y[\"in\" + \"a b\"] = 0f\n"
                                        "    }\n"
                                        "  }\n")},
    {"barriers", .text = PROGRAM("  alloc t: f32[8] shared {\n"
                                 "    thread \"threadIdx.x\" i in 0 .. +8 {\n"
                                 "      t[i] = x[i]\n"
                                 "      barrier shared\n"
                                 "      y[i] = t[7 - i]\n"
                                 "      barrier global\n"
                                 "    }\n"
                                 "  }\n")},
    {"a_barrier_as_a_name", .text = "program p(out barrier: f32[8]) {\n"
                                    "  barrier[0] = 0f\n"
                                    "}\n"},
    {"no_arguments", .text = "program p() {\n}\n"},
    {"any_blanks",
     .text = "program p(x:f32[8],out y:f32[8]){for i in 0..+8{y[i]=x[i]# so\n}}",
     .prints = PROGRAM("  for i in 0 .. +8 {\n    y[i] = x[i]\n  }\n")},
};

static void reads(void **state) {
    const accept_row *r = *state;
    kiln_arena a;
    kiln_err err = {0};
    kiln_program *p = NULL;
    kiln_arena_init(&a);
    const char *want = r->prints != NULL ? r->prints : r->text;
    kiln_assert_status_ok(
        kiln_program_parse(&a, kiln_str_from(r->text), NULL, &p, &err), &err);
    kiln_assert_text_equal(print(&a, p), kiln_str_from(want));
    kiln_arena_fini(&a);
}

/* ---- refused --------------------------------------------------------------------- */

typedef struct refuse_row {
    const char *name, *text;
    kiln_status status; /* KILN_OK: KILN_ERR_PARSE */
    const char *wants;
} refuse_row;

static refuse_row refused[] = {
    {"a_barrier_for_nobody", PROGRAM("  barrier local\n"), 0,
     "expected 'shared' or 'global'"},
    {"nothing", "", .wants = "t:1:1: expected 'program', the text ends"},
    {"another_thing", "graph \"g\" {}",
     .wants = "t:1:1: expected 'program', found 'g'"},
    {"more_behind", PROGRAM("") "}", .wants = "t:3:1: expected nothing behind"},
    {"an_open_block", "program p() {", .wants = "the text ends"},
    {"an_unknown_statement", PROGRAM("  while x\n"),
     .wants = "t:2:3: there is no statement 'while'"},
    {"an_unknown_attribute", PROGRAM("  @hot { y[0] = 0f }\n"),
     .wants = "t:2:4: there is no attribute 'hot'"},
    {"an_unknown_scope", "program p(x: f32[8] far) {}",
     .wants = "t:1:21: there is no scope 'far'"},
    {"an_unknown_buffer", PROGRAM("  z[0] = 0f\n"),
     .wants = "t:2:3: there is no buffer 'z' here"},
    {"a_buffer_out_of_scope",
     PROGRAM("  alloc t: f32[1] { t[0] = 0f }\n  y[0] = t[0]\n"),
     .wants = "t:3:10: there is no buffer 't' here"},
    {"a_variable_out_of_scope",
     PROGRAM("  for i in 0 .. +8 { y[i] = 0f }\n  y[i] = 0f\n"),
     .wants = "t:3:5: there is no variable 'i' here"},
    {"a_variable_in_its_own_extent", PROGRAM("  for i in 0 .. +i { y[i] = 0f }\n"),
     .wants = "there is no variable 'i' here"},
    {"a_variable_bound_inside_itself",
     PROGRAM("  for i in 0 .. +8 { for i in 0 .. +8 { y[i] = 0f } }\n"),
     .wants = "t:2:26: variable 'i' must not be bound inside its own scope"},
    {"a_variable_of_two_dtypes",
     PROGRAM("  for i in 0 .. +8 { y[i] = 0f }\n  let i: f32 = 0f { y[0] = i }\n"),
     .wants = "variable 'i' must have the dtype that it had before"},
    {"a_binding_inside_itself", PROGRAM("  y[0] = let(a = x[0], a = a; a)\n"),
     .wants = "t:2:24: variable 'a' must not be bound inside its own scope"},
    {"a_binding_out_of_scope", PROGRAM("  y[0] = let(a = x[0]; a) + a\n"),
     .wants = "there is no variable 'a' here"},
    {"a_binding_of_other_lanes",
     PROGRAM("  y[ramp(0, 1, 4)] = let(a = x2(0f); x4(1f))\n"),
     .wants = "t:2:22: what 'let' binds must have 1 lane or the 4 of its value, 'a' "
              "has 2"},
    {"a_binding_whose_lanes_change",
     PROGRAM("  y[0] = let(a = x[0]; a)\n  y[ramp(0, 1, 4)] = let(a = x4(0f); a)\n"),
     .wants = "variable 'a' must have the lanes that it had before"},
    {"a_binding_of_nothing", PROGRAM("  y[0] = let(x[0])\n"), .wants = "expected '='"},
    {"a_loop_by_a_number", PROGRAM("  y[0] = loop(a = 0f; a; ; a; a)\n"),
     .wants = "t:2:10: 'loop' must go on by bool of 1 lane or 1, goes on by f32 of 1"},
    {"a_loop_that_changes_dtype", PROGRAM("  y[0] = loop(a = 0f; a < 1f; ; 1; a)\n"),
     .wants = "the next 'a' must be f32 of 1 lanes, is i64 of 1"},
    {"a_loop_of_fewer_values",
     PROGRAM("  y[0] = loop(a = 0f, b = 1f; a < 1f; ; b; a)\n"),
     .wants = "expected ','"},
    {"a_local_behind_its_loop", PROGRAM("  y[0] = loop(a = 0f; a < 1f; b = a; b; b)\n"),
     .wants = "there is no variable 'b' here"},
    {"a_table_of_floats", PROGRAM("  y[0] = table_f32(1; 0)\n"),
     .wants = "there is no table of f32"},
    {"a_table_past_its_dtype", PROGRAM("  y[0] = f32(table_u8(256; 0))\n"),
     .wants = "a number"},
    {"a_table_by_a_float", PROGRAM("  y[0] = f32(table_u8(1; x[0]))\n"),
     .wants = "an index of i64, has 1 and one of f32"},
    {"a_buffer_inside_itself",
     PROGRAM("  alloc t: f32[1] { alloc t: f32[1] { t[0] = 0f } }\n"),
     .wants = "buffer 't' must not be allocated inside its own scope"},
    {"a_buffer_that_changes",
     PROGRAM("  alloc t: f32[1] { t[0] = 0f }\n"
             "  alloc t: f32[2] { t[0] = 0f }\n"),
     .wants = "buffer 't' must be what it was before; give it another name"},
    {"a_buffer_like_an_argument", PROGRAM("  alloc x: f32[8] { x[0] = 0f }\n"),
     .wants = "buffer 'x' must not be allocated inside its own scope"},
    {"arguments_of_one_name", "program p(x: f32[8], out x: f32[8]) {}",
     .wants = "t:1:26: argument 'x' must be named once"},
    {"an_input_behind_an_output", "program p(out y: f32[8], x: f32[8]) {}",
     .wants = "inputs stand before outputs"},
    {"another_rank", PROGRAM("  y[0, 0] = 0f\n"),
     .wants = "buffer 'y' must have 1 indexes, has 2"},
    {"another_dtype", PROGRAM("  y[0] = 1\n"),
     .wants = "buffer 'y' of f32 must not store i64"},
    {"other_lanes", PROGRAM("  y[ramp(0, 1, 4)] = x8(0f)\n"),
     .wants = "8 lanes must not be stored to 4"},
    {"lanes_of_operands", PROGRAM("  y[ramp(0, 1, 4) + 1] = x4(0f)\n"),
     .wants = "operands of '+' must have as many lanes each, have 4 and 1"},
    {"a_mask_of_other_lanes",
     PROGRAM("  y[ramp(0, 1, 4)] where (ramp(0, 1, 8) < x8(3)) = x4(0f)\n"),
     .wants = "the mask of 'y' must be bool, of as many lanes as its indexes"},
    {"a_dot_product_of_floats", PROGRAM("  y[0] = dot4(x[0], x[0], x[0])\n"),
     .wants = "t:2:10: 'dot4' must add bytes of 4 times the lanes to i32"},
    {"a_ramp_of_vectors", PROGRAM("  y[ramp(x4(0), x4(1), 4)] = x4(0f)\n"),
     .wants = "'ramp' must have arguments of one lane, has 4"},
    {"too_many_lanes", PROGRAM("  y[x1025(0)] = 0f\n"),
     .wants = "'x' must have 1 to 1024 lanes"},
    {"a_lane_past_the_end", PROGRAM("  y[ramp(0, 1, 2)] = shuffle(x2(0f); 0, 2)\n"),
     .wants = "a lane must be in [0, 1], is 2"},
    {"a_statement_without_effect", PROGRAM("  (x[0])*2f\n"), .wants = "expected '='"},
    {"a_number_as_a_statement", PROGRAM("  \"a\"\n"),
     .wants = "there is no variable 'a' here"},
    {"a_branch_by_a_number", PROGRAM("  if 1 { y[0] = 0f }\n"),
     .wants = "the condition of a branch must be one bool, is 1 lanes of i64"},
    {"bits_of_another_size", PROGRAM("  y[0] = bits_f32(f64(1))\n"),
     .wants = "bits of f32 must be taken from as many, not from f64"},
    {"an_alignment_past_its_factor", "program p(x: f32[8 align(4, 4)]) {}",
     .wants = "an offset must be in [0, 3], is 4"},
    {"a_buffer_past_memory", "program p(x: f32[1048576, 1048577]) {}",
     .status = KILN_ERR_LIMIT, .wants = "a buffer may have 2^40 elements"},
    {"strides_past_memory",
     "program p(x: f32[1000000 align(1000000000, 1), 1000000 align(1000000000, 1)]) {}",
     .status = KILN_ERR_LIMIT, .wants = "a buffer may have 2^40 elements"},
    {"an_output_of_a_stage", PROGRAM("  y[0] = x:1[0]\n"),
     .wants = "there is no buffer 'x' here"},
};

static void refuses(void **state) {
    const refuse_row *r = *state;
    kiln_arena a;
    kiln_err err = {0};
    kiln_program *p = NULL;
    kiln_arena_init(&a);
    kiln_assert_fails(kiln_program_parse(&a, kiln_str_from(r->text), "t", &p, &err),
                      r->status == KILN_OK ? KILN_ERR_PARSE : r->status, &err,
                      r->wants);
    assert_null(p);
    kiln_arena_fini(&a);
}

static void nesting_is_limited(void **state) {
    (void)state;
    static const char *const opens[] = {"@dependence {", "if x[0] < 1f {",
                                        "if true { } else {"};
    for (size_t i = 0; i < sizeof opens / sizeof opens[0]; i++) {
        kiln_arena a;
        kiln_buf b;
        kiln_err err = {0};
        kiln_program *p = NULL;
        kiln_arena_init(&a);
        kiln_buf_init(&b, &a);
        kiln_buf_puts(&b, "program p(x: f32[8]) {");
        for (int k = 0; k < 100000; k++)
            kiln_buf_puts(&b, opens[i]);
        kiln_assert_fails(kiln_program_parse(&a, kiln_buf_str(&b), "t", &p, &err),
                          KILN_ERR_LIMIT, &err, "text may nest 200 deep");
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
    return kiln_test_run("text of loop programs");
}
