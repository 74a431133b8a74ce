/* Workloads: which node anchors, and which graphs have the same key. */
#include "compiler/schedule/template.h"
#include "tests/support/kiln_test.h"

#include <string.h>

static kiln_workload workload(const char *text) {
    kiln_err err = {0};
    kiln_graph *g;
    kiln_workload w;
    kiln_assert_status_ok(
        kiln_graph_parse(kiln_test_arena(), kiln_str_from(text), "text", &g, &err),
        &err);
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    return w;
}

static kiln_str key(const char *text, bool anchor_only) {
    const kiln_workload w = workload(text);
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    kiln_workload_key(&out, &w, anchor_only);
    return kiln_buf_str(&out);
}

#define CONV_ATTRS " {strides=[], pads=[], dilations=[], groups=1} : f32[1,4,3,3] "
#define CONV_INPUTS                                                                    \
    "  input %x : f32[1,3,5,5]\n"                                                      \
    "  const %w : f32[4,3,3,3] = {0x1p-1 x 108}\n"
static const char conv[] =
    "graph \"g\" {\n" CONV_INPUTS "  %y = conv(%x, %w)" CONV_ATTRS "\"c\"\n"
    "  output %y \"y\"\n}\n";

typedef struct row {
    const char *name, *text, *full, *anchor;
} row;

static row rows[] = {
    {"anchor_alone", conv, "conv(%0: f32[1,3,5,5], %1: const f32[4,3,3,3]) -> %2",
     "conv(%0: f32[1,3,5,5], %1: const f32[4,3,3,3])"},
    {"names_and_values_do_not_count",
     "graph \"other\" {\n"
     "  input %in : f32[1,3,5,5]\n"
     "  const %weights : f32[4,3,3,3] = {0x1p3 x 108}\n"
     "  %out = conv(%in, %weights)" CONV_ATTRS "\"conv7\"\n"
     "  output %out \"result\"\n}\n",
     "conv(%0: f32[1,3,5,5], %1: const f32[4,3,3,3]) -> %2",
     "conv(%0: f32[1,3,5,5], %1: const f32[4,3,3,3])"},
    {"neutral_attributes_do_not_count",
     "graph \"g\" {\n" CONV_INPUTS
     "  %y = conv(%x, %w) {strides=[1, 1], pads=[0, 0, 0, 0], dilations=[1, 1], "
     "groups=1} : f32[1,4,3,3] \"c\"\n"
     "  output %y \"y\"\n}\n",
     "conv(%0: f32[1,3,5,5], %1: const f32[4,3,3,3]) -> %2",
     "conv(%0: f32[1,3,5,5], %1: const f32[4,3,3,3])"},
    {"attributes_count",
     "graph \"g\" {\n" CONV_INPUTS
     "  %y = conv(%x, %w) {strides=[2, 1], pads=[1, 0, 0, 1], dilations=[1, 1], "
     "groups=1} : f32[1,4,2,4] \"c\"\n"
     "  output %y \"y\"\n}\n",
     "conv{strides=[2,1],pads=[1,0,0,1]}(%0: f32[1,3,5,5], %1: const f32[4,3,3,3]) "
     "-> %2",
     "conv{strides=[2,1],pads=[1,0,0,1]}(%0: f32[1,3,5,5], %1: const f32[4,3,3,3])"},
    {"weights_that_are_computed_count",
     "graph \"g\" {\n"
     "  input %x : f32[1,3,5,5]\n"
     "  input %w : f32[4,3,3,3]\n"
     "  %y = conv(%x, %w)" CONV_ATTRS "\"c\"\n"
     "  output %y \"y\"\n}\n",
     "conv(%0: f32[1,3,5,5], %1: f32[4,3,3,3]) -> %2",
     "conv(%0: f32[1,3,5,5], %1: f32[4,3,3,3])"},
    {"one_value_read_twice",
     "graph \"g\" {\n"
     "  input %x : f32[6,6]\n"
     "  %y = matmul(%x, %x) : f32[6,6] \"m\"\n"
     "  output %y \"y\"\n  output %x \"x\"\n}\n",
     "matmul(%0: f32[6,6], %0) -> %1, %0", "matmul(%0: f32[6,6], %0)"},
};

static void check_key(void **state) {
    const row *r = *state;
    kiln_assert_text_equal(key(r->text, false), kiln_str_from(r->full));
    kiln_assert_text_equal(key(r->text, true), kiln_str_from(r->anchor));
}

/* ---- refusals -------------------------------------------------------------------- */

typedef struct refusal {
    const char *name, *text, *want;
} refusal;

static refusal refusals[] = {
    {"rejects_two_anchors",
     "graph \"g\" {\n"
     "  input %x : f32[6,6]\n"
     "  %y = matmul(%x, %x) : f32[6,6] \"first\"\n"
     "  %z = matmul(%y, %x) : f32[6,6] \"second\"\n"
     "  output %z \"z\"\n}\n",
     "a workload has one node that is not injective, this graph has 'first' and "
     "'second'"},
    {"rejects_no_node", "graph \"g\" {\n  input %x : f32[6,6]\n  output %x \"x\"\n}\n",
     "graph 'g' has no node"},
    {"rejects_what_has_no_expression",
     "graph \"g\" {\n"
     "  input %x : f32[6,6]\n"
     "  %y = size(%x) : i64[] \"d\"\n"
     "  output %y \"y\"\n}\n",
     "operator 'size' of node 'd' has no tensor expression, so no kernel can be made "
     "of "
     "it"},
};

static void check_refusal(void **state) {
    const refusal *r = *state;
    kiln_err err = {0};
    kiln_graph *g;
    kiln_workload w = {0};
    kiln_assert_status_ok(
        kiln_graph_parse(kiln_test_arena(), kiln_str_from(r->text), "text", &g, &err),
        &err);
    kiln_assert_fails(kiln_workload_of(g, &w, &err), KILN_ERR_UNSUPPORTED, &err,
                      r->want);
    assert_null(w.anchor);
}

/* ---- keys as graphs -------------------------------------------------------------- */

typedef struct key_row {
    const char *key;
} key_row;

static key_row key_rows[] = {
    {"conv(%0: f32[1,3,5,5], %1: const f32[4,3,3,3]) -> %2"},
    {"conv{strides=[2,1],pads=[1,0,0,1]}(%0: f32[1,3,5,5], %1: const f32[4,3,3,3], %2: "
     "const f32[4]); add(%3, %4: f32[1,4,2,4]); relu(%5) -> %6"},
    {"conv{strides=[2,2]}(%0: f32[1,64,56,56], %1: const f32[128,64,1,1], %2: const "
     "f32[128]); add(%4: f32[1,128,28,28], %3); relu(%5) -> %6"},
    {"gemm{trans_b=1}(%0: f32[1,512], %1: const f32[1000,512], %2: const f32[1000]) -> "
     "%3"},
    {"matmul(%0: f32[6,6], %0) -> %1, %0"},
    {"matmul(%0: f32[0,6], %1: const f32[6,1]) -> %2"},
    {"conv(%0: f32[1,1,5,5], %1: const f32[1,1,1,1]); "
     "clip{min=0x0p+0,max=0x1.8p+2}(%2) "
     "-> %3"},
    {"max_pool{strides=[2,2],pads=[1,1,1,1],kernel=[3,3]}(%0: f32[1,64,112,112]) -> "
     "%1"},
    {"avg_pool{kernel=[2,2]}(%0: f32[1,4,6,6]); relu(%1) -> %2"},
};

static void keys_read_back(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof key_rows / sizeof key_rows[0]; i++) {
        kiln_err err = {0};
        kiln_graph *g = NULL;
        kiln_workload w;
        kiln_buf again;
        kiln_assert_status_ok(kiln_workload_read(kiln_test_arena(),
                                                 kiln_str_from(key_rows[i].key), &g,
                                                 &err),
                              &err);
        kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
        kiln_buf_init(&again, kiln_test_arena());
        kiln_workload_key(&again, &w, false);
        kiln_assert_text_equal(kiln_buf_str(&again), kiln_str_from(key_rows[i].key));
    }
}

typedef struct bad_key {
    const char *name, *key;
    kiln_status want;
    const char *text;
} bad_key;

static bad_key bad_keys[] = {
    {"an_anchor_alone", "matmul(%0: f32[6,6], %0)", KILN_ERR_PARSE,
     "a workload's key has no outputs at byte 24"},
    {"no_key", "", KILN_ERR_PARSE, "no operator at byte 0"},
    {"an_unknown_operator", "no_such_op(%0: f32[1]) -> %1", KILN_ERR_UNSUPPORTED,
     "there is no operator 'no_such_op'"},
    {"several_results", "topk(%0: f32[4]) -> %1", KILN_ERR_UNSUPPORTED,
     "operator 'topk' has more than one result"},
    {"a_second_result", "max_pool{kernel=[2,2]}(%0: f32[1,4,6,6]) -> %1, %2",
     KILN_ERR_PARSE, "reading the workload"},
    {"an_unknown_attribute", "conv{colour=1}(%0: f32[1,3,5,5]) -> %1", KILN_ERR_PARSE,
     "an unknown attribute"},
    {"attributes_without_an_end", "conv{pads=[1,1", KILN_ERR_PARSE, "no attribute"},
    {"operands_without_an_end", "relu(%0: f32[4]", KILN_ERR_PARSE, "no type"},
    {"no_type", "relu(%0: f32) -> %1", KILN_ERR_PARSE, "no type"},
    {"a_size_past_all_limits",
     "matmul(%0: f32[1,2], %1: const f32[9999999999,9999999999]) -> %2", KILN_ERR_LIMIT,
     "reading the workload"},
    {"an_attribute_that_has_its_default",
     "conv{groups=1}(%0: f32[1,3,5,5], %1: const f32[4,3,3,3]) -> %2", KILN_ERR_PARSE,
     "the workload's key would be 'conv(%0: f32[1,3,5,5], %1: const f32[4,3,3,3]) -> "
     "%2' today"},
    {"a_node_that_is_not_read", "relu(%0: f32[4]); relu(%2: f32[4]) -> %3",
     KILN_ERR_PARSE, "the workload's key would be"},
    {"an_output_that_is_none", "relu(%0: f32[4]) -> %1, x", KILN_ERR_PARSE,
     "no output"},
};

static void check_bad_key(void **state) {
    const bad_key *r = *state;
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_fails(
        kiln_workload_read(kiln_test_arena(), kiln_str_from(r->key), &g, &err), r->want,
        &err, r->text);
    assert_null(g);
}

/* Cut or changed anywhere: an error or a graph, never a crash. */
static void damaged_keys_are_survived(void **state) {
    (void)state;
    kiln_rng rng;
    kiln_arena a = {0};
    const char *key = key_rows[1].key;
    const size_t n = strlen(key);
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < 400; i++) {
        kiln_err err = {0};
        kiln_graph *g = NULL;
        char *copy = kiln_arena_dup(&a, key, n + 1);
        copy[kiln_rng_next(&rng) % n] = key[kiln_rng_next(&rng) % n];
        const kiln_str text = {copy, i % 2 == 0 ? n : kiln_rng_next(&rng) % n};
        const kiln_status st = kiln_workload_read(&a, text, &g, &err);
        assert_true((st == KILN_OK) == (g != NULL));
        kiln_arena_reset(&a);
    }
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("keys_read_back", keys_read_back, NULL);
    kiln_test_add_rows(check_bad_key, bad_keys);
    kiln_test_add("damaged_keys_are_survived", damaged_keys_are_survived, NULL);
    kiln_test_add_rows(check_key, rows);
    kiln_test_add_rows(check_refusal, refusals);
    return kiln_test_run("workload");
}
