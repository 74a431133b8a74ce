/* Whole MXNet models: symbols of old and new, arrays of every version, values of no
 * input, open shapes, and the two files. test_mxnet_ops.c has the operators. */
#include "compiler/frontend/mxnet/mxnet.h"

#include "compiler/reference/reference.h"
#include "tests/support/model/mxnet_writer.h"

static kiln_status import(const char *symbol, kiln_str params,
                          const kiln_import_options *o, kiln_graph **g, kiln_err *err) {
    return kiln_import_mxnet_bytes(kiln_test_arena(), kiln_str_from(symbol), params,
                                   "net-symbol.json", o, g, NULL, err);
}

/* w * x of two numbers, described as MXNet 0.8 did. */
static const char old_symbol[] =
    "{\"nodes\": [{\"op\": \"null\", \"param\": {}, \"name\": \"x\", \"inputs\": [], "
    "\"backward_source_id\": -1, \"attr\": {\"__shape__\": \"(0, 2)\"}}, "
    "{\"op\": \"null\", \"param\": {}, \"name\": \"w\", \"inputs\": []}, "
    "{\"op\": \"FullyConnected\", \"param\": {\"no_bias\": \"True\", \"num_hidden\": "
    "\"1\"}, \"attr\": {\"lr_mult\": \"2\"}, \"name\": \"f\", \"inputs\": [[0, 0], [1, "
    "0]]}, "
    "{\"op\": \"SliceChannel\", \"param\": {\"num_outputs\": \"2\"}, \"name\": \"s\", "
    "\"inputs\": [[0, 0]]}], "
    "\"arg_nodes\": [0, 1], \"heads\": [[2, 0], [3, 1]]}";

static void check_old(int version) {
    kiln_arena *a = kiln_test_arena();
    const kiln_test_mxnet_array w = {"arg:w", "1,2: 1 10"};
    const kiln_shape_binding shape = {.name = "x", .rank = 2, .dim = {1, 2}};
    const kiln_import_options o = {.shapes = &shape, .n_shapes = 1};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_tensor out[2];
    float x[] = {2, 3};
    kiln_assert_status_ok(
        import(old_symbol, kiln_test_mxnet_params(a, version, &w, 1), &o, &g, &err),
        &err);
    assert_string_equal(g->output_names.v[0], "f");
    assert_string_equal(g->output_names.v[1], "s_output1");
    const kiln_tensor in = {g->inputs.v[0]->type, x};
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, out, &err), &err);
    assert_true(*(const float *)out[0].data == 32.0f);
    assert_true(*(const float *)out[1].data == 3.0f);
}

static void arrays_of_all_versions_are_read(void **state) {
    (void)state;
    for (int version = 0; version <= 3; version++)
        check_old(version);
}

/* x + 0, 1, 1.5 ... of no input */
static void values_of_no_input_are_made(void **state) {
    (void)state;
    static const char symbol[] =
        "{\"nodes\": [{\"op\": \"null\", \"name\": \"x\", \"inputs\": [], \"attrs\": "
        "{\"__shape__\": \"(2,)\", \"__dtype__\": \"0\"}}, {\"op\": \"_arange\", "
        "\"name\": "
        "\"a\", \"attrs\": {\"start\": \"1\", \"stop\": \"2\", \"step\": \"0.5\"}, "
        "\"inputs\": "
        "[]}, {\"op\": \"_ones\", \"name\": \"o\", \"attrs\": {\"shape\": \"(2,)\", "
        "\"ctx\": "
        "\"cpu(0)\"}, \"inputs\": []}, {\"op\": \"add_n\", \"name\": \"s\", "
        "\"inputs\": [[0, "
        "0, 0], [1, 0, 0], [2, 0, 0]]}], \"arg_nodes\": [0], \"heads\": [[3, 0, 0]]}";
    kiln_arena *a = kiln_test_arena();
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_tensor out;
    float x[] = {10, 20};
    static const float want[] = {12, 22.5f};
    kiln_assert_status_ok(
        import(symbol, kiln_test_mxnet_params(a, 2, NULL, 0), NULL, &g, &err), &err);
    const kiln_tensor in = {g->inputs.v[0]->type, x};
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, &out, &err), &err);
    kiln_assert_close(out.data, want, 2, 1, 0);
}

static void an_open_shape_is_asked_for(void **state) {
    (void)state;
    const kiln_test_mxnet_array w = {"arg:w", "1,2: 1 10"};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_fails(
        import(old_symbol, kiln_test_mxnet_params(kiln_test_arena(), 2, &w, 1), NULL,
               &g, &err),
        KILN_ERR_SHAPE, &err,
        "1 graph input is dynamic: 'x' [?,2]; bind them, for example --shape x:1x2");
}

static void either_file_is_named(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *dir = kiln_test_dir(),
               *symbol = kiln_path_join(a, dir, "n.v1-symbol.json"),
               *params = kiln_path_join(a, dir, "n.v1-0010.params"),
               *later = kiln_path_join(a, dir, "n.v1-0011.params");
    const char *const path[] = {symbol, params};
    const kiln_test_mxnet_array w = {"arg:w", "1,2: 1 10"};
    const kiln_str bytes = kiln_test_mxnet_params(a, 2, &w, 1);
    const kiln_shape_binding shape = {.name = "x", .rank = 2, .dim = {1, 2}};
    const kiln_import_options o = {.shapes = &shape, .n_shapes = 1};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_file_write(symbol, old_symbol, sizeof old_symbol - 1, &err), &err);
    kiln_assert_status_ok(kiln_file_write(params, bytes.p, bytes.n, &err), &err);
    for (int i = 0; i < 2; i++) {
        kiln_import_report report;
        kiln_declared_input *in = NULL;
        kiln_import_locations data;
        kiln_model_survey survey;
        size_t n = 0;
        kiln_assert_status_ok(kiln_import(a, path[i], &o, &g, &report, &err), &err);
        assert_string_equal(report.format, "mxnet");
        kiln_assert_status_ok(kiln_import_list_data(a, path[i], &data, &err), &err);
        assert_string_equal(data.v[0],
                            i == 0 ? "n.v1-0010.params" : "n.v1-symbol.json");
        kiln_assert_status_ok(kiln_import_inputs(a, path[i], &in, &n, &err), &err);
        assert_int_equal(n, 1);
        assert_int_equal(in[0].dim[0], -1);
        kiln_assert_status_ok(kiln_import_survey(a, path[i], &survey, &err), &err);
        assert_int_equal(survey.n_params, 2);
        assert_int_equal(survey.op.n, 2);
    }
    kiln_assert_status_ok(kiln_file_write(later, bytes.p, bytes.n, &err), &err);
    kiln_assert_status_ok(kiln_import(a, later, &o, &g, NULL, &err), &err);
    kiln_assert_fails(kiln_import(a, symbol, &o, &g, NULL, &err), KILN_ERR_ARG, &err,
                      "2 files of parameters beside it, up to 'n.v1-0011.params'; name "
                      "the one to take");
}

int main(void) {
    kiln_test_add("arrays_of_all_versions_are_read", arrays_of_all_versions_are_read,
                  NULL);
    kiln_test_add("values_of_no_input_are_made", values_of_no_input_are_made, NULL);
    kiln_test_add("an_open_shape_is_asked_for", an_open_shape_is_asked_for, NULL);
    kiln_test_add("either_file_is_named", either_file_is_named, NULL);
    return kiln_test_run("mxnet_import");
}
