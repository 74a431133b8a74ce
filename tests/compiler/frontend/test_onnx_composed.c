/* Operators that an importer composes of several nodes: what they become, and what is
 * refused. */
#include "compiler/frontend/frontend.h"

#include <string.h>

#include "tests/support/kiln_test.h"
#include "tests/support/onnx_writer.h"

enum { MAX_INPUTS = 6, MAX_ATTRS = 4, MAX_TEXTS = 4 };

typedef struct input {
    const char *name;
    int type;
    const char *shape;
} input;

/* An integer, or a text where it is given. */
typedef struct attribute {
    const char *name;
    int64_t i;
    const char *text;
} attribute;

typedef struct row {
    const char *name;
    const char *op;
    int64_t opset;
    const char *in, *out; /* of the node */
    input inputs[MAX_INPUTS];
    attribute attrs[MAX_ATTRS];
    const char *want[MAX_TEXTS]; /* parts of the graph's text */
    kiln_status fails;
    const char *text;
} row;

#define F32(name, shape)                                                               \
    { (name), KILN_ONNX_FLOAT, (shape) }
#define I64(name, shape)                                                               \
    { (name), KILN_ONNX_INT64, (shape) }

static row loss[] = {
    {"nll_loss_picks_the_label", "NegativeLogLikelihoodLoss", 13, "x,t", "y",
     .inputs = {F32("x", "4,5"), I64("t", "4")},
     .want = {"gather_elements(%x,", "reduce_mean("}},
    {"mean_divides_by_the_weights", "NegativeLogLikelihoodLoss", 13, "x,t,w", "y",
     .inputs = {F32("x", "4,5"), I64("t", "4"), F32("w", "5")},
     .want = {"gather(%w, %t)", "reduce_sum(", "div("}},
    {"ignored_labels_cost_nothing", "SoftmaxCrossEntropyLoss", 13, "x,t", "y",
     .inputs = {F32("x", "4,5,2"), I64("t", "4,2")},
     .attrs = {{"ignore_index", -1}, {"reduction", .text = "none"}},
     .want = {"log_softmax(%x) {axis=1}", "equal(%t,", "where("}},
    {"rejects_an_unknown_reduction", "NegativeLogLikelihoodLoss", 13, "x,t", "y",
     .inputs = {F32("x", "4,5"), I64("t", "4")},
     .attrs = {{"reduction", .text = "max"}}, .fails = KILN_ERR_PARSE,
     .text = "reduction must be none, sum or mean, is 'max'"},
    {"rejects_labels_of_another_rank", "SoftmaxCrossEntropyLoss", 13, "x,t", "y",
     .inputs = {F32("x", "4,5"), I64("t", "4,1")}, .fails = KILN_ERR_SHAPE,
     .text = "the labels must have the shape [N, ...] of scores [N, C, ...]"},
    {"rejects_weights_of_other_classes", "NegativeLogLikelihoodLoss", 13, "x,t,w", "y",
     .inputs = {F32("x", "4,5"), I64("t", "4"), F32("w", "4")}, .fails = KILN_ERR_SHAPE,
     .text = "the weights must be a list of one for each of the 5 classes"},
};

static kiln_str build(kiln_arena *a, const row *r) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    for (int i = 0; i < MAX_INPUTS && r->inputs[i].name != NULL; i++)
        kiln_onnx_put_input(&m, r->inputs[i].name, r->inputs[i].type,
                            r->inputs[i].shape);
    kiln_onnx_put_node(&m, r->op, "node", r->in, r->out);
    for (int i = 0; i < MAX_ATTRS && r->attrs[i].name != NULL; i++)
        if (r->attrs[i].text != NULL)
            kiln_onnx_put_attr_text(&m, r->attrs[i].name, r->attrs[i].text);
        else
            kiln_onnx_put_attr_int(&m, r->attrs[i].name, r->attrs[i].i);
    kiln_str rest = kiln_str_from(r->out), out;
    while (kiln_str_cut(&rest, ',', &out))
        kiln_onnx_put_output(&m, kiln_str_dupv(a, out), KILN_ONNX_FLOAT, NULL);
    return kiln_onnx_finish_model(&m, 8, r->opset);
}

static void check(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_import_report report = {0};
    kiln_graph *g = NULL;
    const kiln_status st = kiln_import_onnx_bytes(&a, build(&a, r), "test.onnx", NULL,
                                                  NULL, &g, &report, &err);
    if (r->fails != KILN_OK) {
        kiln_assert_fails(st, r->fails, &err, r->text);
        kiln_arena_fini(&a);
        return;
    }
    kiln_assert_status_ok(st, &err);
    kiln_buf text;
    kiln_buf_init(&text, &a);
    kiln_graph_print(&text, g, NULL);
    for (int i = 0; i < MAX_TEXTS && r->want[i] != NULL; i++)
        if (strstr(text.p, r->want[i]) == NULL)
            fail_msg("want '%s' in\n%s", r->want[i], text.p);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(check, loss);
    return kiln_test_run("onnx_composed");
}
