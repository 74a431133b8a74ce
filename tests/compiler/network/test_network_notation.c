/* Executable graphs as text: what passes make of random graphs and of small networks
 * prints, reads back and prints the same; texts with one thing changed are refused, by
 * name and line. */
#include "compiler/network/executable.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_graph.h"
#include "zoo/zoo.h"
#include "compiler/pass/pass.h"

#include <string.h>

enum { N_PASSES_MAX = 16 };

/* The text after each pass. */
typedef struct texts {
    kiln_arena *arena;
    const kiln_graph *g;
    kiln_profile profile;
    kiln_str after[N_PASSES_MAX];
    int n;
} texts;

static kiln_str print(kiln_arena *a, const kiln_net *n) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_net_print(&text, n);
    return kiln_buf_str(&text);
}

static void keep(void *user, const char *pass, const kiln_net *n) {
    texts *t = user;
    assert_in_range(t->n, 0, N_PASSES_MAX - 1);
    assert_string_equal(pass, kiln_net_pass_at(t->n)->name);
    t->after[t->n++] = print(t->arena, n);
}

/* *t begins with its arena. */
static void compile(texts *t, kiln_graph *g, const char *profile, bool no_fusion) {
    kiln_err err = {0};
    kiln_net n;
    t->g = g;
    t->n = 0;
    kiln_graph_renumber(g);
    kiln_assert_status_ok(kiln_profile_find(t->arena, profile, &t->profile, &err),
                          &err);
    const kiln_network_options o = {.print_after = "all",
                                    .print = keep,
                                    .printer = t,
                                    .no_fusion = no_fusion,
                                    .pack_at_open = no_fusion};
    kiln_assert_status_ok(kiln_compile(t->arena, g, &t->profile, &o, &n, &err), &err);
    assert_null(kiln_net_pass_at(t->n));
}

static void read_back(const texts *t) {
    for (int i = 0; i < t->n; i++) {
        kiln_err err = {0};
        kiln_net n;
        kiln_assert_status_ok(kiln_net_parse(t->arena, t->g, &t->profile, t->after[i],
                                             kiln_net_pass_at(i)->name, &n, &err),
                              &err);
        kiln_assert_text_equal(print(t->arena, &n), t->after[i]);
    }
}

/* ---- round trips ----------------------------------------------------------------- */

static void random_graphs_read_back(void **state) {
    static const char *const profile[] = {"x86-avx2", "x86-avx512", "aarch64"};
    enum { N_GRAPHS = 18 };
    (void)state;
    for (uint64_t i = 0; i < N_GRAPHS; i++) {
        kiln_arena a = {0};
        random_graph r;
        texts t = {.arena = &a};
        kiln_err err = {0};
        random_graph_make(&a, kiln_test_seed() + i, &r);
        kiln_assert_status_ok(kiln_graph_optimize(r.graph, NULL, &err), &err);
        compile(&t, r.graph, profile[i % 3], i % 4 == 3);
        read_back(&t);
        kiln_arena_fini(&a);
    }
}

static void network_reads_back(void **state) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const kiln_zoo_network *network = NULL;
    texts t = {.arena = &a};
    kiln_assert_status_ok(kiln_zoo_find(*state, &network, &err), &err);
    kiln_assert_status_ok(kiln_zoo_import(&a, network, 1, KILN_ZOO_OUTLINE, &g, &err),
                          &err);
    kiln_assert_status_ok(kiln_graph_optimize(g, NULL, &err), &err);
    compile(&t, g, "x86-avx512", false);
    read_back(&t);
    kiln_arena_fini(&a);
}

/* Packed when it is built, and when it is opened. */
static void packed_constants_read_back(void **state) {
    static const char packed[] = "graph \"p\" { input %x : f32[1,64,28,28] const %w : "
                                 "f32[64,64,3,3] = random(1) "
                                 "%y = conv(%x, %w) {pads=[1,1,1,1]} output %y }";
    (void)state;
    for (int i = 0; i < 2; i++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        kiln_graph *g = NULL;
        texts t = {.arena = &a};
        kiln_assert_status_ok(
            kiln_graph_parse(&a, kiln_str_from(packed), "test", &g, &err), &err);
        compile(&t, g, "x86-avx512", i == 1);
        assert_non_null(
            strstr(kiln_str_dupv(&a, t.after[t.n - 1]), "} by \"winograd_"));
        read_back(&t);
        kiln_arena_fini(&a);
    }
}

/* ---- texts that are refused ------------------------------------------------------ */

static const char graph_text[] =
    "graph \"g\" { input %b : bool[] input %x : f32[1,16,2,2] "
    "const %w : f32[16,16,1,1] = random(1) "
    "%a = relu(%x) %t = tanh(%x) %c = concat(%a, %t) {axis=1} "
    "%p, %q = split(%c) {axis=1, sizes=[16,16]} %v = conv(%p, %w) "
    "%y = if(%b, %v, %v) {then_branch=graph \"then\" { input %i : f32[1,16,2,2] "
    "%n = neg(%i) output %n \"r\" }, else_branch=graph \"else\" "
    "{ input %i : f32[1,16,2,2] output %i \"r\" }} output %y output %q }";

typedef struct row {
    const char *name, *pass;
    const char *from, *to; /* the first such piece of the text is changed */
    kiln_status status;
    const char *want;
} row;

static row rows[] = {
    {"a_node_that_is_not_there", "fuse", "relu \"relu\"", "relu \"relo\"",
     KILN_ERR_PARSE, "fuse:2:15: graph 'g' has no node 'relo'"},
    {"another_operator", "fuse", "relu \"relu\"", "tanh \"relu\"", KILN_ERR_PARSE,
     "node 'relu' is of operator relu"},
    {"a_node_in_two_steps", "fuse", "tanh \"tanh\"", "relu \"relu\"", KILN_ERR_BUG,
     "node 'relu' is in step 'relu' and in another\n  while reading line 3"},
    {"a_node_in_no_step", "fuse",
     "  call = tanh \"tanh\"\n  join = concat \"concat\"\n",
     "  join = concat \"concat\"\n", KILN_ERR_BUG,
     "step 'concat' reads 't' before it is made"},
    {"the_last_node_in_no_step", "fuse", "    call = neg \"neg\"\n", "", KILN_ERR_BUG,
     "node 'neg' of graph 'then' is in no step"},
    {"a_step_of_another_graph", "fuse", "neg \"neg\"", "relu \"relu\"", KILN_ERR_PARSE,
     "graph 'then' has no node 'relu'"},
    {"a_block_that_does_not_end", "fuse", "  }\n}\n", "  }\n", KILN_ERR_PARSE,
     "expected a step"},
    {"a_region_that_is_not_there", "fuse", "then_branch", "body", KILN_ERR_PARSE,
     "node 'if' has no region 'body'"},
    {"another_step", "fuse", "call", "jump", KILN_ERR_PARSE, "expected a step"},
    {"another_graph", "fuse", "executable \"g\"", "executable \"h\"", KILN_ERR_PARSE,
     "the graph is 'g', not 'h'"},
    {"another_profile", "fuse", "x86-avx2", "x86-avx512", KILN_ERR_PARSE,
     "the profile is 'x86-avx2', not 'x86-avx512'"},
    {"no_template", "choose", "\"template\": \"conv_1x1\"", "\"template\": \"magic\"",
     KILN_ERR_PARSE, "there is no template 'magic'"},
    {"a_template_that_does_not_take_it", "choose", "\"template\": \"conv_1x1\"",
     "\"template\": \"matmul\"", KILN_ERR_PARSE,
     "template 'matmul' does not take the work of step 'conv'"},
    {"a_value_that_is_no_option", "choose", "\"oc_block\": 8", "\"oc_block\": 7",
     KILN_ERR_ARG, "oc_block"},
    {"a_value_that_is_not_there", "lay_out", "input 1 \"x\"", "input 1 \"z\"",
     KILN_ERR_PARSE, "graph 'g' has no value 'z'"},
    {"a_type_that_the_value_has_not", "lay_out", "\"x\" : f32[1,16,2,2]",
     "\"x\" : f32[1,16,2,3]", KILN_ERR_PARSE, "value 'x' has type f32[1,16,2,2]"},
    {"a_packing_that_is_not_there", "lay_out", "\"x\" : f32[1,16,2,2]",
     "\"x\" : f32[1,16,2,2] by \"magic\"", KILN_ERR_PARSE,
     "there is no packing 'magic'"},
    {"a_packing_of_no_constant", "lay_out", "\"x\" : f32[1,16,2,2]",
     "\"x\" : f32[1,16,2,2] by \"winograd_4\"", KILN_ERR_PARSE,
     "value 'x' is packed, and no constant"},
    {"a_packing_of_other_constants", "lay_out", "\"w\" : f32[16,16,1,1]",
     "\"w\" : f32[16,16,1,1] by \"winograd_4\"", KILN_ERR_SHAPE,
     "only f32 weights [O, I, h, w] of windows"},
    {"a_layout_that_the_kernel_has_not", "lay_out", "\"x\" : f32[1,16,2,2]",
     "\"x\" : f32[1,16,2,2]{order=0231}", KILN_ERR_BUG,
     "operand 0 of step 'relu' is f32[1,16,2,2]{order=0231}, its kernel has"},
    {"a_tensor_out_of_order", "lay_out", "tensor 1 ", "tensor 2 ", KILN_ERR_PARSE,
     "tensor 1 must come next, is 2"},
    {"a_tensor_in_itself", "lay_out", "tensor 2 arena in 4", "tensor 2 arena in 2",
     KILN_ERR_BUG, "tensor 2, 'a', is in no tensor that there is"},
    {"a_tensor_in_none", "lay_out", "tensor 2 arena in 4", "tensor 2 arena in 99",
     KILN_ERR_BUG, "tensor 2, 'a', is in no tensor that there is"},
    {"an_operand_that_is_not_there", "lay_out", "call 0 (1) -> (2)",
     "call 0 (1) -> (99)", KILN_ERR_BUG,
     "step 'relu' has operand 1, which is no tensor"},
    {"a_kernel_that_is_not_there", "lay_out", "call 0 (1)", "call 9 (1)", KILN_ERR_BUG,
     "step 'relu' calls no kernel that there is"},
    {"too_few_operands", "lay_out", "call 0 (1) -> (2)", "call 0 (1) -> ()",
     KILN_ERR_BUG, "step 'relu' gives 1 operands, 1 of them to read; its kernel has 2"},
    {"a_write_to_an_input", "lay_out", "call 0 (1) -> (2)", "call 0 (1) -> (1)",
     KILN_ERR_BUG, "step 'relu' writes 'x', which is given\n  while reading line"},
    {"a_place_taken_that_is_not_read", "lay_out", "takes (1)", "takes (2)",
     KILN_ERR_BUG, "step 'relu' takes what it does not read"},
    {"an_output_too_early", "lay_out", "tensor 4 arena", "tensor 4 output 0",
     KILN_ERR_BUG, "tensor 4, 'c', has a place too early"},
    {"a_device_that_is_not_there", "devices", "call 0 on 0", "call 0 on 1",
     KILN_ERR_BUG, "step 'relu' runs on no device that there is"},
    {"a_wait_for_no_work", "devices", "  call 0 on 0",
     "  wait on 0 for 99 as wait \"w\"\n  call 0 on 0", KILN_ERR_BUG,
     "step 'w' waits for step 99, which does no work"},
    {"a_tensor_on_no_device", "devices", "tensor 4 arena", "tensor 4 arena on 7",
     KILN_ERR_BUG, "tensor 4, 'c', is on no device that there is"},
    {"a_ninth_device", "devices", "device 0 \"host\"", "device 8 \"host\"",
     KILN_ERR_PARSE, "device 0 of 8 at most must come next, is 8"},
    {"an_output_that_is_nobodys", "place", "output 1 \"q\"", "output 0 \"q\"",
     KILN_ERR_BUG, "output 'q' is not made in the caller's memory"},
    {"a_view_among_steps", "share", "  call 0 (",
     "  view (4) -> (5, 6) = split \"split\"\n  call 0 (", KILN_ERR_BUG,
     "step 'split' is a view or a join, and must be none"},
    {"a_part_past_the_end", "share", "in 4 at 256", "in 4 at 512", KILN_ERR_BUG,
     "lies at byte 512 of tensor 4, which has 512 bytes"},
    {"two_parts_in_one_place", "plan", "at 256 in 4 at 256", "at 0 in 4 at 0",
     KILN_ERR_BUG,
     "over 'a', another part of 'c', which step 'relu' made\n  while reading line"},
    {"bytes_past_the_arena", "plan", "memory arena ", "memory arena 0 least 0 # ",
     KILN_ERR_PARSE, "expected"},
    {"a_constant_past_the_end", "plan", "param 1024", "param 512", KILN_ERR_BUG,
     "has 1024 bytes from byte 0 of 512"},
    {"no_memory_for_code", "generate", " workspace ", " nothing ", KILN_ERR_PARSE,
     "expected 'workspace'"},
    {"a_fact_without_those_before_it", "plan", "facts=fused+chosen+laid_out+",
     "facts=fused+chosen+", KILN_ERR_PARSE, "expected"},
    {"facts_that_skip_one", "fuse", "facts=fused", "facts=fused+planned", KILN_ERR_BUG,
     "what pass 'plan' makes holds, what it needs does not"},
    {"nodes_out_of_order", "fuse", "tanh \"tanh\"", "tanh \"tanh\" + relu \"relu\"",
     KILN_ERR_PARSE, "nodes of a step come in the order of the graph"},
    {"a_region_twice", "fuse", "else_branch", "then_branch", KILN_ERR_BUG,
     "step 'if' begins no block"},
    {"an_if_that_repeats", "fuse", "if \"if\"", "loop \"if\" times 2", KILN_ERR_PARSE,
     "expected a step"},
    {"an_if_that_is_called", "fuse", "call = tanh \"tanh\"",
     "call = tanh \"tanh\" + if \"if\"", KILN_ERR_BUG,
     "node 'if' runs regions and must begin a block"},
    {"a_copy_of_nodes", "fuse", "call = tanh", "copy = tanh", KILN_ERR_BUG,
     "step 'tanh' has no nodes"},
    {"another_meaning", "share", "= split \"split\" 0", "= split \"split\" 1",
     KILN_ERR_BUG, "means another value"},
    {"an_arena_past_all_tensors", "plan", "memory arena 1", "memory arena 99999999991",
     KILN_ERR_BUG, "all tensors together"},
    {"a_number_past_all_bounds", "lay_out", "call 0 (1)", "call 0 (99999999999)",
     KILN_ERR_PARSE, "the number of a tensor"},
};

static texts example;
static kiln_arena example_arena;

static kiln_str after(const char *pass) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    if (example.n == 0) {
        example.arena = &example_arena;
        kiln_assert_status_ok(kiln_graph_parse(&example_arena,
                                               kiln_str_from(graph_text), "test", &g,
                                               &err),
                              &err);
        compile(&example, g, "x86-avx2", false);
    }
    for (int i = 0; i < example.n; i++)
        if (strcmp(kiln_net_pass_at(i)->name, pass) == 0)
            return example.after[i];
    fail_msg("there is no pass '%s'", pass);
    return example.after[0];
}

static void is_refused(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_net n;
    const char *text = kiln_str_dupv(&a, after(r->pass));
    const char *changed = kiln_test_replaced(text, r->from, r->to);
    kiln_assert_fails(kiln_net_parse(&a, example.g, &example.profile,
                                     kiln_str_from(changed), r->pass, &n, &err),
                      r->status, &err, r->want);
    kiln_arena_fini(&a);
}

/* A text that ends anywhere is refused, and nothing is read behind its end. */
static void ends_anywhere(void **state) {
    (void)state;
    for (int i = 0; kiln_net_pass_at(i) != NULL; i++) {
        const kiln_str whole = after(kiln_net_pass_at(i)->name);
        for (size_t k = 0; k + 2 < whole.n; k += 13) {
            kiln_arena a = {0};
            kiln_err err = {0};
            kiln_net n;
            const kiln_str part = {kiln_arena_dup(&a, whole.p, k), k};
            assert_int_not_equal(
                kiln_net_parse(&a, example.g, &example.profile, part, "cut", &n, &err),
                KILN_OK);
            kiln_arena_fini(&a);
        }
    }
}

/* Bytes changed at random: whatever comes of it is said, not done. */
static void changes_anywhere(void **state) {
    enum { N_CHANGES = 300 };
    static const char bytes[] = "0123456789 (){}[],->=+\"_abcdeinrtx";
    (void)state;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; kiln_net_pass_at(i) != NULL; i++) {
        const kiln_str whole = after(kiln_net_pass_at(i)->name);
        for (int k = 0; k < N_CHANGES; k++) {
            kiln_arena a = {0};
            kiln_err err = {0};
            kiln_net n;
            char *text = kiln_arena_dup(&a, whole.p, whole.n);
            for (int64_t left = kiln_rng_range(&rng, 1, 3); left > 0; left--)
                text[kiln_rng_next(&rng) % whole.n] =
                    bytes[kiln_rng_next(&rng) % (sizeof bytes - 1)];
            const kiln_str changed = {text, whole.n};
            if (kiln_net_parse(&a, example.g, &example.profile, changed, "changed", &n,
                               &err) == KILN_OK)
                (void)print(&a, &n);
            kiln_arena_fini(&a);
        }
    }
}

static void says_what_there_is(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_net n;
    kiln_buf text;
    const kiln_str plan = after("plan");
    kiln_assert_status_ok(kiln_net_parse(kiln_test_arena(), example.g, &example.profile,
                                         plan, "plan", &n, &err),
                          &err);
    kiln_buf_init(&text, kiln_test_arena());
    kiln_net_summary(&text, &n);
    assert_string_equal(text.p,
                        "10 steps (6 call, 1 copy, 1 if), 14 tensors, 6 kernels, "
                        "2 conversions, 1024 bytes of activations, 1024 of parameters");
}

int main(void) {
    kiln_test_add("random_graphs_read_back", random_graphs_read_back, NULL);
    static const char *const small[] = {"dqn", "dcgan", "lstm_lm", "bert_mini",
                                        "mobilenet_v1"};
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++)
        kiln_test_add(small[i], network_reads_back, (void *)(uintptr_t)small[i]);
    kiln_test_add("packed_constants_read_back", packed_constants_read_back, NULL);
    kiln_test_add_rows(is_refused, rows);
    kiln_test_add("ends_anywhere", ends_anywhere, NULL);
    kiln_test_add("changes_anywhere", changes_anywhere, NULL);
    kiln_test_add("says_what_there_is", says_what_there_is, NULL);
    const int failed = kiln_test_run("executable graphs as text");
    kiln_arena_fini(&example_arena);
    return failed;
}
