/* What a dynamic model says about itself, and shapes that import, found by trying. */
#include "compiler/frontend/frontend.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/onnx_writer.h"

#include <string.h>

typedef struct row {
    const char *name;
    void (*build)(kiln_onnx_writer *m);
    kiln_shape_binding given; /* name NULL: none */
    const char *want;         /* "x:1x3x224x224 y:1"; "": none is found */
    const char *reason;       /* a part of it, where none is found */
} row;

static void put_weight(kiln_onnx_writer *m, const char *name, const char *shape,
                       size_t n) {
    float *const v = kiln_array(m->arena, float, n);
    kiln_onnx_put_initializer(
        m, kiln_onnx_raw_tensor(m->arena, name, KILN_ONNX_FLOAT, shape, v, n * 4));
}

static void image(kiln_onnx_writer *m) {
    kiln_onnx_put_input(m, "x", KILN_ONNX_FLOAT, "batch,3,height,width");
    kiln_onnx_put_node(m, "Relu", "", "x", "y");
    kiln_onnx_put_output(m, "y", KILN_ONNX_FLOAT, "batch,3,height,width");
}

/* Only 32 by 32 pixels fit the product. */
static void classifier(kiln_onnx_writer *m) {
    kiln_onnx_put_input(m, "x", KILN_ONNX_FLOAT, "?,3,?,?");
    put_weight(m, "w", "3072,10", 30720);
    kiln_onnx_put_node(m, "Flatten", "", "x", "f");
    kiln_onnx_put_node(m, "MatMul", "", "f,w", "y");
    kiln_onnx_put_output(m, "y", KILN_ONNX_FLOAT, NULL);
}

/* A table of 77 positions. */
static void text(kiln_onnx_writer *m) {
    kiln_onnx_put_input(m, "x", KILN_ONNX_FLOAT, "batch,tokens,8");
    kiln_onnx_put_input(m, "mask", KILN_ONNX_FLOAT, "batch,tokens,1");
    put_weight(m, "positions", "1,77,8", 616);
    kiln_onnx_put_node(m, "Add", "", "x,positions", "a");
    kiln_onnx_put_node(m, "Mul", "", "a,mask", "y");
    kiln_onnx_put_output(m, "y", KILN_ONNX_FLOAT, NULL);
}

/* A shape that Reshape asks for; the size is in no list. */
static void reshaped(kiln_onnx_writer *m) {
    static const int64_t shape[] = {7, 389};
    kiln_onnx_put_input(m, "x", KILN_ONNX_FLOAT, "n,389");
    kiln_onnx_put_initializer(m, kiln_onnx_int64_tensor(m->arena, "s", "2", shape, 2));
    kiln_onnx_put_node(m, "Reshape", "", "x,s", "y");
    kiln_onnx_put_output(m, "y", KILN_ONNX_FLOAT, NULL);
}

static void shapeless(kiln_onnx_writer *m) {
    put_weight(m, "w", "16,2", 32);
    kiln_onnx_put_input(m, "x", KILN_ONNX_FLOAT, NULL);
    kiln_onnx_put_node(m, "Gemm", "", "x,w", "y");
    kiln_onnx_put_output(m, "y", KILN_ONNX_FLOAT, NULL);
}

/* Only one number at most fits beside the product, and a switch decides what is no size. */
static void settings(kiln_onnx_writer *m) {
    put_weight(m, "w", "16,2", 32);
    kiln_onnx_put_input(m, "x", KILN_ONNX_FLOAT, NULL);
    kiln_onnx_put_input(m, "dropout_keep_prob", KILN_ONNX_FLOAT, NULL);
    kiln_onnx_put_input(m, "is_training", KILN_ONNX_BOOL, NULL);
    kiln_onnx_put_node(m, "Gemm", "", "x,w", "a");
    kiln_onnx_put_node(m, "Div", "", "a,dropout_keep_prob", "b");
    kiln_onnx_put_node(m, "Where", "", "is_training,a,b", "y");
    kiln_onnx_put_output(m, "y", KILN_ONNX_FLOAT, NULL);
}

static void impossible(kiln_onnx_writer *m) {
    put_weight(m, "u", "5", 5);
    put_weight(m, "v", "7", 7);
    kiln_onnx_put_input(m, "x", KILN_ONNX_FLOAT, "n,1");
    kiln_onnx_put_node(m, "Add", "", "x,u", "a");
    kiln_onnx_put_node(m, "Add", "sum", "a,v", "y");
    kiln_onnx_put_output(m, "y", KILN_ONNX_FLOAT, NULL);
}

static row rows[] = {
    {"usual_sizes_of_an_image", image, .want = "x:1x3x224x224"},
    {"sizes_that_fit_a_product", classifier, .want = "x:1x3x32x32"},
    {"sizes_of_the_models_constants", text, .want = "x:1x77x8 mask:1x77x1"},
    {"sizes_of_a_reshape", reshaped, .want = "x:7x389"},
    {"a_rank_for_what_has_none", shapeless, .want = "x:1x16"},
    {"fixes_what_training_sets", settings,
     .want = "x:1x16 dropout_keep_prob=1 is_training=0"},
    {"keeps_a_shape_that_a_setting_is_given", settings,
     .given = {"dropout_keep_prob", 1, {2}}, .want = "x:1x16 is_training=0"},
    {"keeps_what_is_given", text, .given = {"mask", 3, {2, 77, 1}}, .want = "x:2x77x8"},
    {"says_when_none_is_found", impossible, .want = "", .reason = "'sum' (Add)"},
};

static const char *model_file(const row *r) {
    kiln_arena *const a = kiln_test_arena();
    kiln_onnx_writer m;
    kiln_err err = {0};
    const char *const path = kiln_path_join(a, kiln_test_dir(), "m.onnx");
    kiln_onnx_writer_init(&m, a, "g");
    r->build(&m);
    const kiln_str bytes = kiln_onnx_finish_model(&m, 8, 17);
    kiln_assert_status_ok(kiln_file_write(path, bytes.p, bytes.n, &err), &err);
    return path;
}

static const char *text_of(kiln_arena *a, const kiln_suggestion *s) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    for (size_t i = 0; i < s->n; i++) {
        kiln_buf_printf(&b, "%s%s:", i > 0 ? " " : "", s->shape[i].name);
        for (int k = 0; k < s->shape[i].rank; k++)
            kiln_buf_printf(&b, "%s%lld", k > 0 ? "x" : "",
                            (long long)s->shape[i].dim[k]);
    }
    for (size_t i = 0; i < s->n_settings; i++)
        kiln_buf_printf(&b, "%s%s=%lld", b.n > 0 ? " " : "", s->setting[i].name,
                        (long long)s->setting[i].value);
    return kiln_buf_str(&b).p;
}

/* As --bind makes them. */
static kiln_value_binding *values_of(kiln_arena *a, const kiln_suggestion *s) {
    kiln_value_binding *const v = kiln_array(a, kiln_value_binding, s->n_settings);
    for (size_t i = 0; i < s->n_settings; i++) {
        const bool is_switch = strcmp(s->setting[i].name, "is_training") == 0;
        const kiln_type t = kiln_type_make(is_switch ? KILN_BOOL : KILN_F32, 0, NULL);
        v[i] = (kiln_value_binding){s->setting[i].name, kiln_tensor_new(a, &t)};
        const float value = (float)s->setting[i].value;
        if (!is_switch)
            memcpy(v[i].value.data, &value, sizeof value);
    }
    return v;
}

static void check_suggestion(void **state) {
    const row *const r = *state;
    kiln_arena *const a = kiln_test_arena();
    const char *const path = model_file(r);
    kiln_import_options o = {.shapes = &r->given, .n_shapes = r->given.name != NULL};
    kiln_suggestion s;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_import_suggest(a, path, &o, &s, &err), &err);
    assert_string_equal(text_of(a, &s), r->want);
    assert_true(s.n_tried > 0);
    assert_int_equal(s.is_found, r->reason == NULL);
    if (r->reason != NULL) {
        assert_non_null(strstr(s.reason, r->reason));
        return;
    }
    /* It imports indeed. */
    kiln_shape_binding all[4] = {r->given};
    kiln_graph *g = NULL;
    memcpy(all + o.n_shapes, s.shape, s.n * sizeof *all);
    o.shapes = all;
    o.n_shapes += s.n;
    o.values = values_of(a, &s);
    o.n_values = s.n_settings;
    kiln_assert_status_ok(kiln_import(a, path, &o, &g, NULL, &err), &err);
}

static void surveys_what_is_dynamic(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    kiln_onnx_writer m;
    kiln_err err = {0};
    kiln_model_survey s;
    const char *const path = kiln_path_join(a, kiln_test_dir(), "survey.onnx");
    kiln_onnx_writer_init(&m, a, "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "batch,3,?");
    put_weight(&m, "w", "3,1", 3);
    kiln_onnx_put_node(&m, "Mul", "", "x,w", "a");
    kiln_onnx_put_node(&m, "Frobnicate", "", "a", "b");
    kiln_onnx_put_node(&m, "Mul", "", "b,w", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "batch,3,?");
    const kiln_str bytes = kiln_onnx_finish_model(&m, 9, 17);
    kiln_assert_status_ok(kiln_file_write(path, bytes.p, bytes.n, &err), &err);
    kiln_assert_status_ok(kiln_import_survey(a, path, &s, &err), &err);
    assert_int_equal(s.ir_version, 9);
    assert_int_equal(s.opset, 17);
    assert_int_equal(s.n_nodes, 3);
    assert_int_equal(s.n_params, 3);
    assert_int_equal(s.const_bytes, 12);
    assert_int_equal(s.op.n, 2);
    assert_string_equal(s.op.v[0].op, "Frobnicate");
    assert_false(s.op.v[0].is_read);
    assert_string_equal(s.op.v[1].op, "Mul");
    assert_true(s.op.v[1].is_read);
    assert_int_equal(s.op.v[1].count, 2);
    assert_int_equal(s.n_inputs, 1);
    assert_int_equal(s.n_outputs, 1);
    assert_string_equal(s.input[0].symbol[0], "batch");
    assert_int_equal(s.input[0].dim[1], 3);
    assert_null(s.input[0].symbol[2]);
    assert_int_equal(s.output[0].dim[0], -1);
}

int main(void) {
    kiln_test_add_rows(check_suggestion, rows);
    kiln_test_add("surveys_what_is_dynamic", surveys_what_is_dynamic, NULL);
    return kiln_test_run("suggest");
}
