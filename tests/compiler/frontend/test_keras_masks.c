/* Which steps count, as layers of Keras read it and hand it on: small models of an input x
 * [1, 3, 1] that holds 0, 1, 2; numbers are worked out by hand. */
#include "compiler/frontend/frontend.h"

#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/keras_model.h"

enum { MAX_WANT = 8 };

typedef struct row {
    const char *name, *version, *layers; /* the last one is y */
    const char *shape;
    double want[MAX_WANT];
} row;

/* A function, called with what `args` says, and a layer. */
#define FUNCTION(class_name, name, config, args, keywords)                             \
    "{'class_name': '" class_name "', 'name': '" name "', 'config': {'name': '" name   \
    "'" config "}, 'inbound_nodes': [{'args': [" args "], 'kwargs': {" keywords "}}]}"
#define LAYER(class_name, name, config, args, keywords)                                \
    FUNCTION(class_name, name, ", 'trainable': true" config, args, keywords)
#define TENSOR(name)                                                                   \
    "{'class_name': '__keras_tensor__', 'config': {'shape': [1], 'dtype': 'float32', " \
    "'keras_history': ['" name "', 0, 0]}}"
#define BOTH(a, b) "[" TENSOR(a) ", " TENSOR(b) "]"
/* x less the steps that are v. */
#define MASKING(name, v)                                                               \
    LAYER("Masking", name, ", 'mask_value': " v, TENSOR("x"), "") ", "
#define MEAN_OF(layers)                                                                \
    layers ", " LAYER("GlobalAveragePooling1D", "y", "", TENSOR("a"), "")
#define JOINED(axis, a, b) LAYER("Concatenate", "a", ", 'axis': " axis, BOTH(a, b), "")
/* softmax of 0, 1, 2 with the elements above v. */
#define SOFTMAX_ABOVE(v)                                                               \
    LAYER("Reshape", "r", ", 'target_shape': [3]", TENSOR("x"), "")                    \
    ", " FUNCTION("Greater", "g", "", TENSOR("r") ", " v, "") ", " LAYER(              \
        "Softmax", "y", ", 'axis': -1", TENSOR("r"), "'mask': " TENSOR("g"))

static row rows[] = {
    {"attention_to_steps_that_count",
     "3.15.1",
     MASKING("m", "2") LAYER("Attention", "y", "", BOTH("x", "m"), ""),
     "[1,3,1]",
     {.5, .73105858, .88079708}},
    {"attention_of_steps_that_count",
     "2.10.0",
     MASKING("m", "2") LAYER("Attention", "y", "", BOTH("m", "x"), ""),
     "[1,3,1]",
     {1, 1.57521026, 0}},
    {"attention_to_earlier_steps",
     "3.15.1",
     LAYER("Attention", "y", "", BOTH("x", "x"), "'use_causal_mask': true"),
     "[1,3,1]",
     {0, .73105858, 1.85093703}},
    {"mask_of_attention",
     "2.10.0",
     MEAN_OF(MASKING("m", "2") LAYER("Attention", "a", "", BOTH("m", "x"), "")),
     "[1,1]",
     {1.28760513}},
    {"steps_behind_others",
     "2.10.0",
     MEAN_OF(MASKING("m", "2") JOINED("1", "m", "x")),
     "[1,1]",
     {.8}},
    {"channels_of_which_all_count",
     "2.10.0",
     MEAN_OF(MASKING("m", "2") MASKING("n", "1") JOINED("-1", "m", "n")),
     "[1,2]",
     {0, 0}},
    {"channels_of_which_all_count_in_3_3",
     "3.3.3",
     MEAN_OF(MASKING("m", "2") MASKING("n", "1") JOINED("-1", "m", "n")),
     "[1,2]",
     {0, 0}},
    {"channels_of_which_any_counts",
     "3.15.1",
     MEAN_OF(MASKING("m", "2") MASKING("n", "1") JOINED("-1", "m", "n")),
     "[1,2]",
     {1.0 / 3, 2.0 / 3}},
    {"channels_beside_some_without_a_mask",
     "2.10.0",
     MEAN_OF(MASKING("m", "2") JOINED("-1", "m", "x")),
     "[1,2]",
     {.5, .5}},
    {"channels_that_count_beside_a_mask",
     "3.15.1",
     MEAN_OF(MASKING("m", "2") JOINED("-1", "m", "x")),
     "[1,2]",
     {1.0 / 3, 1}},
    {"softmax_of_some",
     "3.15.1",
     SOFTMAX_ABOVE("0"),
     "[1,3]",
     {0, .26894142, .73105858}},
    {"softmax_of_none", "3.15.1", SOFTMAX_ABOVE("5"), "[1,3]", {0, 0, 0}},
    {"softmax_of_none_in_3_13",
     "3.13.0",
     SOFTMAX_ABOVE("5"),
     "[1,3]",
     {1.0 / 3, 1.0 / 3, 1.0 / 3}},
};

static kiln_status import(const char *version, const char *layers, kiln_graph **g,
                          kiln_err *err) {
    static const kiln_test_weight none[] = {{NULL, NULL, NULL}};
    kiln_arena *const a = kiln_test_arena();
    const char *const model = kiln_format(
        a,
        "{'class_name': 'Functional', 'config': {'name': 'f', 'layers': "
        "[{'class_name': "
        "'InputLayer', 'name': 'x', 'config': {'name': 'x', 'batch_shape': [1, 3, 1]}, "
        "'inbound_nodes': []}, %s], 'input_layers': ['x', 0, 0], 'output_layers': "
        "['y', 0, 0]}}",
        layers);
    const kiln_str bytes =
        kiln_test_keras_h5(a, kiln_test_quoted(a, model), version, none);
    return kiln_test_import_keras(a, bytes, NULL, g, NULL, err);
}

static void check(void **state) {
    const row *const r = *state;
    kiln_arena *const a = kiln_test_arena();
    float x[] = {0, 1, 2}, want[MAX_WANT];
    kiln_graph *g = NULL;
    kiln_tensor y;
    kiln_err err = {0};
    kiln_assert_status_ok(import(r->version, r->layers, &g, &err), &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    const kiln_tensor in = {g->inputs.v[0]->type, x};
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, &y, &err), &err);
    assert_string_equal(kiln_shape_text(a, y.type.rank, y.type.dim), r->shape);
    const size_t n = (size_t)kiln_type_elems(&y.type);
    for (size_t i = 0; i < n; i++)
        want[i] = (float)r->want[i];
    kiln_assert_close(y.data, want, n, 8, 1e-7);
}

static void refuses_other_joins(void **state) {
    (void)state;
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_fails(
        import("2.10.0", MEAN_OF(MASKING("m", "2") JOINED("0", "m", "x")), &g, &err),
        KILN_ERR_UNSUPPORTED, &err,
        "with masks it joins values [N, T, C] along T or C");
}

static void refuses_masks_of_another_shape(void **state) {
    (void)state;
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_fails(import("3.15.1",
                             LAYER("Reshape", "r", ", 'target_shape': [3]", TENSOR("x"),
                                   "") ", " LAYER("Softmax", "y", "", TENSOR("r"),
                                                  "'mask': " TENSOR("x")),
                             &g, &err),
                      KILN_ERR_SHAPE, &err, "its mask must stretch to f32[1,3], is");
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("refuses_other_joins", refuses_other_joins, NULL);
    kiln_test_add("refuses_masks_of_another_shape", refuses_masks_of_another_shape,
                  NULL);
    return kiln_test_run("keras_masks");
}
