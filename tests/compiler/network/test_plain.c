/* The choosers of NeoCPU's first steps: `plain` has no blocks and no conversions, `each`
 * converts before and behind every convolution, `greedy` only at both ends of a chain. */
#include "compiler/network/executable.h"
#include "tests/support/kiln_test.h"

#include <string.h>

static const char chain[] = "graph \"chain\" { input %x : f32[1,32,14,14] "
                            "const %u : f32[64,32,3,3] = random(1) "
                            "const %v : f32[48,64,3,3] = random(2) "
                            "const %w : f32[32,48,1,1] = random(3) "
                            "%a = conv(%x, %u) {pads=[1,1,1,1]} %b = relu(%a) "
                            "%c = conv(%b, %v) {pads=[1,1,1,1]} "
                            "%d = conv(%c, %w) output %d \"y\" }";
/* The second convolution adds what the first one made. */
static const char shortcut[] = "graph \"shortcut\" { input %x : f32[1,32,14,14] "
                               "const %u : f32[32,32,3,3] = random(1) "
                               "const %v : f32[32,32,3,3] = random(2) "
                               "%a = conv(%x, %u) {pads=[1,1,1,1]} "
                               "%b = conv(%a, %v) {pads=[1,1,1,1]} "
                               "%c = add(%b, %a) %d = relu(%c) output %d \"y\" }";
static const char pooled[] =
    "graph \"pooled\" { input %x : f32[1,32,14,14] "
    "const %u : f32[32,32,3,3] = random(1) "
    "const %v : f32[32,1,3,3] = random(2) "
    "%a = conv(%x, %u) {pads=[1,1,1,1]} "
    "%b = max_pool(%a) {kernel=[2,2], strides=[2,2]} "
    "%c = conv(%b, %v) {pads=[1,1,1,1], groups=32} output %c \"y\" }";

static void compile(kiln_arena *a, const char *text, const char *chooser,
                    kiln_net *out) {
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    kiln_profile *p = kiln_new(a, kiln_profile);
    kiln_network_options *o = kiln_new(a, kiln_network_options);
    *o = (kiln_network_options){
        .chooser = kiln_net_chooser_find(kiln_str_from(chooser)), .check_text = true};
    assert_non_null(o->chooser);
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "test", &g, &err),
                          &err);
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx512", p, &err), &err);
    kiln_graph_renumber(g);
    kiln_assert_status_ok(kiln_compile(a, g, p, o, out, &err), &err);
}

/* ---- how many conversions -------------------------------------------------------- */

typedef struct row {
    const char *name, *text, *chooser;
    int n_conversions;
} row;

static row rows[] = {
    {"a_chain_by_greedy_converts_at_its_ends", chain, "greedy", 2},
    {"a_chain_row_major_converts_nothing", chain, "plain", 0},
    {"each_of_a_chain_converts_before_and_behind", chain, "each", 6},
    {"a_shortcut_row_major_converts_nothing", shortcut, "plain", 0},
    /* x; a back; a once for both that read it; c back. */
    {"readers_in_the_same_blocks_share_a_conversion", shortcut, "each", 4},
    {"pools_row_major_convert_nothing", pooled, "plain", 0},
    {"pools_between_each_are_row_major", pooled, "each", 4},
};

static bool is_blocked(const kiln_net *n) {
    for (size_t i = 0; i < n->slot.n; i++)
        if (!kiln_net_is_param(n, (int)i) &&
            !kiln_layout_is_plain(&n->slot.v[i].layout))
            return true;
    return false;
}

static void check_conversions(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_net n;
    compile(&a, r->text, r->chooser, &n);
    assert_int_equal(n.n_conversions, r->n_conversions);
    assert_true(is_blocked(&n) == (strcmp(r->chooser, "plain") != 0));
    kiln_arena_fini(&a);
}

/* ---- what is said ---------------------------------------------------------------- */

static void keep_text(void *printer, const char *pass, const kiln_net *n) {
    (void)pass;
    kiln_net_print(printer, n);
}

/* Its text says so once it is chosen, and reads back (check_text). */
static void a_choice_that_is_alone_says_so(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    kiln_profile p;
    kiln_buf text;
    kiln_net n;
    kiln_buf_init(&text, &a);
    const kiln_network_options o = {.chooser = &kiln_net_chooser_each,
                                    .check_text = true,
                                    .print_after = "choose",
                                    .print = keep_text,
                                    .printer = &text};
    kiln_assert_status_ok(kiln_graph_parse(&a, kiln_str_from(chain), "test", &g, &err),
                          &err);
    kiln_assert_status_ok(kiln_profile_find(&a, "x86-avx512", &p, &err), &err);
    kiln_graph_renumber(g);
    kiln_assert_status_ok(kiln_compile(&a, g, &p, &o, &n, &err), &err);
    assert_non_null(strstr(text.p, "} alone"));
    kiln_arena_fini(&a);
}

static void what_a_file_says_is_meant(void **state) {
    static const char file[] =
        "[{\"op\": \"conv\", \"template\": \"conv_direct\", \"config\": {"
        "\"oc_block\": 8, \"ic_block\": 4, \"tile\": [2, 7, 2], \"oc_chunk\": 2, "
        "\"oh_chunk\": 14, \"order\": \"channels\", \"inner\": \"channels\", "
        "\"reduce\": \"channels\", \"unroll\": 1, \"pad\": \"chunk\"}}]";
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    kiln_profile p;
    kiln_net n;
    kiln_choose_options choose = {.tmpl = NULL};
    const kiln_network_options o = {.choose = &choose,
                                    .chooser = &kiln_net_chooser_plain};
    kiln_assert_status_ok(
        kiln_json_parse(&a, kiln_str_from(file), "file", &choose.file, &err), &err);
    kiln_assert_status_ok(
        kiln_graph_parse(&a, kiln_str_from(shortcut), "test", &g, &err), &err);
    kiln_assert_status_ok(kiln_profile_find(&a, "x86-avx512", &p, &err), &err);
    kiln_graph_renumber(g);
    kiln_assert_status_ok(kiln_compile(&a, g, &p, &o, &n, &err), &err);
    assert_true(is_blocked(&n));
    kiln_arena_fini(&a);
}

static void no_package_is_built_so(void **state) {
    (void)state;
    assert_true(kiln_net_chooser_plain.is_for_study);
    assert_true(kiln_net_chooser_each.is_for_study);
    assert_false(kiln_net_chooser_at(0)->is_for_study);
}

int main(void) {
    static const struct CMUnitTest unit[] = {
        cmocka_unit_test(a_choice_that_is_alone_says_so),
        cmocka_unit_test(what_a_file_says_is_meant),
        cmocka_unit_test(no_package_is_built_so),
    };
    kiln_test_add_rows(check_conversions, rows);
    kiln_test_add_tests(unit);
    return kiln_test_run("plain");
}
