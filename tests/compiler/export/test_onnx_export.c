/* Graphs in their text form, exported as ONNX: what comes back, names, types, weights in
 * another file, and how what ONNX cannot say is refused. */
#include <math.h>
#include <string.h>

#include "compiler/export/onnx/say.h"
#include "compiler/frontend/frontend.h"
#include "compiler/reference/reference.h"
#include "tests/support/import/export_run.h"
#include "tests/support/kiln_test.h"

static kiln_graph *parse(const char *text) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(
        kiln_graph_parse(kiln_test_arena(), kiln_str_from(text), "test", &g, &err),
        &err);
    return g;
}

/* ---- what comes back ------------------------------------------------------------- */

typedef struct row {
    const char *name, *graph;
    const char *has[3]; /* of the text of what is imported again */
    const char *refused;
} row;

static row rows[] = {
    {"keeps_names",
     "graph \"g\" { input %a : f32[2] %b = relu(%a) : f32[2] \"n\" output %b \"out\" }",
     .has = {"input %a : f32[2]", "%out = relu(%a) : f32[2] \"n\"",
             "output %out \"out\""}},
    {"gives_an_output_that_is_an_input",
     "graph \"g\" { input %a : f32[2] output %a \"out\" }",
     .has = {"output %a \"out\""}},
    {"gives_an_input_under_its_own_name",
     "graph \"g\" { input %a : f32[2] output %a \"a\" }", .has = {"output %a \"a\""}},
    {"gives_a_value_twice",
     "graph \"g\" { input %a : f32[2] %b = relu(%a) : f32[2] \"n\" "
     "output %b \"y\" output %b \"z\" }",
     .has = {"output %y \"y\"", "output %y \"z\""}},
    {"gives_a_constant",
     "graph \"g\" { input %a : f32[] const %k : i64[2] = {1, -2} output %k \"y\" "
     "output %a \"z\" }",
     .has = {": i64[2] = {1, -2}", "output %k \"y\""}},
    {"renames_an_output_that_is_called_as_an_input",
     "graph \"g\" { input %a : f32[2] %b = relu(%a) : f32[2] \"n\" output %b \"a\" }",
     .has = {"output %a.1 \"a.1\""}},
    {"has_no_axis_for_scalars",
     "graph \"g\" { input %a : f64[] %b = exp(%a) : f64[] \"n\" output %b \"y\" }",
     .has = {"%y = exp(%a) : f64[]"}},
    {"has_empty_tensors",
     "graph \"g\" { input %a : f32[0,3] const %k : f32[0,3] = {} "
     "%b = concat(%a, %k) {axis=1} : f32[0,6] \"n\" "
     "%c = reshape(%b) {shape=[2,0,3]} : f32[2,0,3] \"m\" output %c \"y\" }",
     .has = {"f32[0,3]", "reshape(", "f32[2,0,3]"}},
    {"packs_integers_of_4_bits",
     "graph \"g\" { input %a : f32[3] const %k : i4[3] = {-8, 7, 3} "
     "const %s : f32[] = {0x1p+0} %b = dequantize_linear(%k, %s) {axis=0, block=0, "
     "dtype=f32} : f32[3] \"n\" %c = add(%a, %b) : f32[3] \"m\" output %c \"y\" }",
     .has = {"f32[3]"}},
    {"packs_integers_of_2_bits",
     "graph \"g\" { input %a : u2[5] const %k : u2[5] = {3, 0, 1, 2, 3} "
     "%b = identity(%k) : u2[5] \"n\" output %b \"y\" output %a \"z\" }",
     .has = {"u2[5] = {3, 0, 1, 2, 3}"}},
    {"says_where_floats_become_integers_of_4_bits",
     "graph \"g\" { input %a : f32[3] %b = cast(%a) {to=i4} : i4[3] \"n\" output %b "
     "\"y\" }",
     .has = {"{to=i32}", "{to=i4}"}},
    {"has_bf16",
     "graph \"g\" { input %a : bf16[3] %b = sin(%a) : bf16[3] \"n\" output %b \"y\" }",
     .has = {"sin(%a) : bf16[3]"}},
    {"moves_integers_of_2_bits_as_bytes",
     "graph \"g\" { input %a : i2[2] %b = concat(%a, %a) {axis=0} : i2[4] \"n\" output "
     "%b \"y\" }",
     .has = {"cast(%a) {to=i8}", "concat(", "{to=i2} : i2[4]"}},
    {"reverses_bf16_as_f32",
     "graph \"g\" { input %a : bf16[3,2] input %l : i64[2] %b = reverse_sequence(%a, "
     "%l) {batch_axis=1, time_axis=0} : bf16[3,2] \"n\" output %b \"y\" }",
     .has = {"cast(%a) {to=f32}", "reverse_sequence(", "{to=bf16} : bf16[3,2]"}},
    {"slices_backwards_to_the_first_element",
     "graph \"g\" { input %a : f32[5,4] %b = slice(%a) {starts=[4,3], steps=[-2,-1], "
     "sizes=[3,4]} : f32[3,4] \"n\" output %b \"y\" }",
     .has = {"starts=[4, 3], steps=[-2, -1], sizes=[3, 4]"}},
    {"takes_a_convolution_of_quantised_integers_through_floats",
     "graph \"g\" { input %a : u8[1,1,4] const %w : i32[1,1,2] = {3, -4} "
     "%b = cast(%a) {to=i32} : i32[1,1,4] \"n\" %c = conv(%b, %w) {groups=1} : "
     "i32[1,1,3] "
     "\"m\" output %c \"y\" }",
     .has = {"{to=f32}", "conv(", "{to=i32}"}},
    {"knows_how_large_sums_are_by_each_output_s_weights",
     "graph \"g\" { input %a : u8[1,1,4] const %w : i32[1,1,3] = {50000, 1, -1} "
     "%b = cast(%a) {to=i32} : i32[1,1,4] \"n\" %c = conv(%b, %w) {groups=1} : "
     "i32[1,1,2] "
     "\"m\" output %c \"y\" }",
     .has = {"{to=f32}", "conv(", "{to=i32}"}},
    {"refuses_a_convolution_of_any_integers",
     "graph \"g\" { input %a : i64[1,1,4] const %w : i64[1,1,2] = {3, -4} "
     "%c = conv(%a, %w) {groups=1} : i64[1,1,3] \"m\" output %c \"y\" }",
     .refused = "operator 'conv': ONNX convolves floats, and sums of these i64 may be "
                "as large as "
                "6.45636e+19, which floats do not hold exactly (1 node, first 'm')"},
    {"refuses_attributes_of_f64_that_f32_does_not_hold",
     "graph \"g\" { input %a : f64[2] %b = elu(%a) {alpha=0x1.999999999999ap-4} : "
     "f64[2] \"n\" output %b \"y\" }",
     .refused =
         "operator 'elu': attribute 'alpha' has more digits than ONNX's attributes"},
    {"refuses_all_at_once",
     "graph \"g\" { input %a : f64[2] %b = celu(%a) {alpha=0x1p+0} : f64[2] \"n\" "
     "%c = celu(%b) {alpha=0x1p+0} : f64[2] \"o\" input %d : i64[1,1,2] "
     "%e = max_pool(%d) {kernel=[2]} : i64[1,1,1] \"p\" output %c \"y\" output %e "
     "\"z\" }",
     .refused =
         "(2 nodes, first 'n'); operator 'max_pool': ONNX takes maxima of floats"},
    {"refuses_layouts",
     "graph \"g\" { input %a : f32[1,2,3,4]{order=0231} %b = relu(%a) : "
     "f32[1,2,3,4]{order=0231} \"n\" output %b \"y\" }",
     .refused =
         "value 'a' has the layout NHWC; export the graph before layouts are chosen"},
};

static void check_row(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *again = NULL;
    kiln_buf text;
    const kiln_graph *g = parse(r->graph);
    const kiln_status st = kiln_test_export_again(&a, g, &again, &err);
    if (r->refused != NULL) {
        kiln_assert_fails(st, KILN_ERR_UNSUPPORTED, &err, r->refused);
        kiln_arena_fini(&a);
        return;
    }
    kiln_assert_status_ok(st, &err);
    kiln_buf_init(&text, &a);
    kiln_graph_print(&text, again, NULL);
    for (size_t i = 0; i < sizeof r->has / sizeof r->has[0] && r->has[i] != NULL; i++)
        if (strstr(text.p, r->has[i]) == NULL)
            fail_msg("'%s' is not in\n%s", r->has[i], text.p);
    kiln_arena_fini(&a);
}

/* ---- regions --------------------------------------------------------------------- */

/* Branches capture, use constants of their own and of the model, and give what they
 * captured; results are those of the graph. */
static void regions_are_the_same(void **state) {
    static const char text[] =
        "graph \"g\" { input %p : bool[] input %x : f32[2] const %k : f32[2] = "
        "{0x1p+0, 0x1p+1}\n"
        "%y = if(%p, %x, %x) {then_branch=graph \"t\" { input %v : f32[2] const %k : "
        "f32[2] = {0x1p+0, 0x1p+1} %s = add(%v, %k) : f32[2] \"n\" output %s \"y\" }, "
        "else_branch=graph \"t\" { input %v : f32[2] output %v \"y\" }} : f32[2] "
        "\"n\"\n"
        "%z = mul(%y, %k) : f32[2] \"m\" output %z \"z\" }";
    const kiln_graph *g = parse(text);
    kiln_test_exports e = {0};
    (void)state;
    for (int p = 0; p < 2; p++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        bool flag = p != 0;
        kiln_tensor out;
        const kiln_tensor in[] = {{g->inputs.v[0]->type, &flag},
                                  kiln_ref_random(&a, &g->inputs.v[1]->type, 1)};
        kiln_assert_status_ok(kiln_test_run_exported(&e, &a, g, in, 2, &out, &err),
                              &err);
        kiln_arena_fini(&a);
    }
    assert_int_equal(e.n_same, 2);
}

/* ---- sums of integers ------------------------------------------------------------ */

typedef struct sum_row {
    const char *name, *graph;
    size_t n_convs;
    const char *through;
} sum_row;

#define QUANTISED(k, sum)                                                              \
    "graph \"g\" { input %a : u8[1,4,3,3] const %w : i32[2,4,1,1] = " k                \
    " const %b : i32[2] = {2147483600, -7} %x = cast(%a) {to=i32} : i32[1,4,3,3] "     \
    "\"n\" %c = " sum " {groups=1} : i32[1,2,3,3] \"m\" output %c \"y\" }"

static sum_row sum_rows[] = {
    {"convolves_at_once_where_f32_holds_sums",
     QUANTISED("{1, -2, 300, 4, -5, 6, 7, -8}", "conv(%x, %w)"), 1, "{to=f32}"},
    {"cuts_sums_by_channels",
     QUANTISED("{60000, -50000, 40000, 65000, 1, 2, 3, 4}", "conv(%x, %w)"), 4,
     "{to=f32}"},
    {"cuts_no_more_than_need_be",
     QUANTISED("{30000, -30000, 1, 20000, 1, 2, 3, 4}", "conv(%x, %w)"), 2, "{to=f32}"},
    {"adds_a_bias_behind_from_which_on_sums_wrap",
     QUANTISED("{60000, -50000, 40000, 65000, 1, 2, 3, 4}", "conv(%x, %w, %b)"), 4,
     "{to=i64}"},
    {"adds_a_bias_behind_that_f32_does_not_hold",
     QUANTISED("{1, 2, 3, -4, 5, 6, 7, 8}", "conv(%x, %w, %b)"), 1, "{to=f32}"},
    {"takes_f64_where_a_channel_alone_has_larger_sums",
     QUANTISED("{70000, 1, 1, 1, 1, 2, 3, 4}", "conv(%x, %w)"), 1, "{to=f64}"},
    {"cuts_sums_of_bytes_that_are_padded",
     "graph \"g\" { input %a : u8[1,2,4,4] const %w : i16[1,2,1,1] = {32767, 32000} "
     "const %b : i32[1] = {-5} %c = conv_bytes(%a, %w, %b) {pads=[1,0,2,1], "
     "strides=[2,1], fill=130, w_zero=-32700} : i32[1,1,4,5] \"m\" output %c \"y\" }",
     2, "{to=f32}"},
};

static size_t count_text(const char *in, const char *text) {
    size_t n = 0;
    for (; (in = strstr(in, text)) != NULL; in++)
        n++;
    return n;
}

static void check_sums(void **state) {
    const sum_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    const kiln_graph *g = parse(r->graph);
    kiln_graph *again = NULL;
    kiln_test_exports e = {0};
    kiln_err err = {0};
    kiln_buf text;
    kiln_tensor out;
    kiln_rng rng;
    const kiln_tensor in = kiln_tensor_new(a, &g->inputs.v[0]->type);
    kiln_rng_init(&rng, kiln_test_seed());
    for (int64_t i = 0; i < kiln_type_bytes(&in.type); i++)
        ((uint8_t *)in.data)[i] = (uint8_t)(256 * sqrt(kiln_rng_unit(&rng)));
    kiln_assert_status_ok(kiln_test_run_exported(&e, a, g, &in, 1, &out, &err), &err);
    assert_int_equal(e.n_same, 1);
    kiln_assert_status_ok(kiln_test_export_again(a, g, &again, &err), &err);
    kiln_buf_init(&text, a);
    kiln_graph_print(&text, again, NULL);
    if (count_text(text.p, "= conv(") != r->n_convs ||
        strstr(text.p, r->through) == NULL)
        fail_msg("not %zu times conv, through %s, in\n%s", r->n_convs, r->through,
                 text.p);
}

/* ---- files ----------------------------------------------------------------------- */

static const char weighted[] =
    "graph \"g\" { input %a : f32[600] const %k : f32[600] = random(1) const %l : "
    "f32[600] = random(2) %b = add(%a, %k) : f32[600] \"n\" %c = mul(%b, %l) : "
    "f32[600] "
    "\"m\" %d = add(%c, %k) : f32[600] \"o\" output %d \"y\" }";

static kiln_str read_file(const char *path) {
    kiln_err err = {0};
    kiln_str bytes;
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &bytes, &err),
                          &err);
    return bytes;
}

static kiln_str export_to(const char *path, const kiln_export_options *o) {
    kiln_err err = {0};
    kiln_exported x;
    kiln_assert_status_ok(kiln_export(kiln_test_arena(), parse(weighted),
                                      &kiln_exporter_onnx, path, o, &x, &err),
                          &err);
    return read_file(path);
}

static void writes_the_same_bytes(void **state) {
    const char *dir = kiln_test_dir();
    kiln_arena *a = kiln_test_arena();
    (void)state;
    const kiln_str x = export_to(kiln_path_join(a, dir, "x.onnx"), NULL);
    const kiln_str y = export_to(kiln_path_join(a, dir, "y.onnx"), NULL);
    assert_true(kiln_str_eq(x, y));
    assert_false(kiln_file_exists(kiln_path_join(a, dir, "x.onnx.data")));
    /* Each constant once. */
    assert_true(x.n > 2 * 2400 && x.n < 3 * 2400);
}

static void check_external(const char *name, const kiln_export_options *o) {
    const char *path = kiln_path_join(kiln_test_arena(), kiln_test_dir(), name);
    const char *data = kiln_format(kiln_test_arena(), "%s.data", path);
    kiln_import_report report;
    kiln_err err = {0};
    kiln_graph *again = NULL;
    const kiln_str model = export_to(path, o);
    assert_true(model.n < 2400);
    assert_int_equal(read_file(data).n, 2400 + 32 + 2400); /* the second at 64 bytes */
    kiln_assert_status_ok(
        kiln_import(kiln_test_arena(), path, NULL, &again, &report, &err), &err);
    const kiln_graph *g = parse(weighted);
    const kiln_tensor in = kiln_ref_random(kiln_test_arena(), &g->inputs.v[0]->type, 1);
    kiln_tensor x, y;
    kiln_assert_status_ok(kiln_ref_run(kiln_test_arena(), g, &in, 1, &x, &err), &err);
    kiln_assert_status_ok(kiln_ref_run(kiln_test_arena(), again, &in, 1, &y, &err),
                          &err);
    assert_memory_equal(x.data, y.data, 2400);
}

static void puts_weights_beside_where_asked(void **state) {
    const kiln_export_options o = {.is_external = true};
    (void)state;
    check_external("asked.onnx", &o);
}

/* As of 2 GB. */
static void puts_weights_beside_where_they_are_too_large(void **state) {
    const kiln_export_options o = {.max_bytes = 4000};
    (void)state;
    check_external("large.onnx", &o);
}

static void refuses_what_no_file_holds(void **state) {
    const kiln_export_options o = {.max_bytes = 200, .data_name = "x.data"};
    kiln_exported x;
    kiln_err err = {0};
    (void)state;
    kiln_assert_fails(
        kiln_exporter_onnx.write(kiln_test_arena(), parse(weighted), &o, &x, &err),
        KILN_ERR_LIMIT, &err,
        "bytes without its weights, an ONNX file has at most 200");
}

/* ---- the table ------------------------------------------------------------------- */

static void every_operator_has_a_row(void **state) {
    (void)state;
    for (int i = 0; i < KILN_N_OPS; i++) {
        const kiln_say_row *r = kiln_say_row_of(kiln_op_at(i));
        if (r == NULL)
            fail_msg("operator '%s' needs a row in say_rows.def", kiln_op_at(i)->name);
        assert_true(r->dtypes != 0 && r->opset <= KILN_SAY_MAX_OPSET);
    }
}

static void formats_are_found(void **state) {
    const kiln_exporter *e = NULL;
    kiln_err err = {0};
    (void)state;
    for (int i = 0; kiln_exporter_at(i) != NULL; i++) {
        kiln_assert_status_ok(kiln_exporter_find(kiln_exporter_at(i)->name, &e, &err),
                              &err);
        assert_ptr_equal(e, kiln_exporter_at(i));
        assert_true(strlen(e->doc) > 0 && e->extension[0] == '.');
    }
    kiln_assert_fails(kiln_exporter_find("caffe", &e, &err), KILN_ERR_ARG, &err,
                      "no format 'caffe' to export to; formats: onnx");
}

int main(void) {
    const struct CMUnitTest others[] = {
        cmocka_unit_test(regions_are_the_same),
        cmocka_unit_test(writes_the_same_bytes),
        cmocka_unit_test(puts_weights_beside_where_asked),
        cmocka_unit_test(puts_weights_beside_where_they_are_too_large),
        cmocka_unit_test(refuses_what_no_file_holds),
        cmocka_unit_test(every_operator_has_a_row),
        cmocka_unit_test(formats_are_found),
    };
    kiln_test_add_rows(check_row, rows);
    kiln_test_add_rows(check_sums, sum_rows);
    kiln_test_add_tests(others);
    return kiln_test_run("ONNX export");
}
