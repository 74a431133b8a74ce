/* Workloads: which node anchors, and which graphs have the same key. */
#include "compiler/schedule/template.h"
#include "tests/support/kiln_test.h"

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

int main(void) {
    kiln_test_add_rows(check_key, rows);
    kiln_test_add_rows(check_refusal, refusals);
    return kiln_test_run("workload");
}
