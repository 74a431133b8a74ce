/* The zoo: counts as published, numbers of order one, the same bytes again. */
#include <math.h>
#include <stdlib.h>

#include "compiler/frontend/frontend.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "zoo/onnx_write.h"
#include "zoo/zoo.h"

static kiln_graph *import(kiln_arena *a, const char *name, kiln_zoo_weights weights) {
    kiln_err err = {0};
    const kiln_zoo_network *network = NULL;
    kiln_graph *g = NULL;
    kiln_assert_status_ok(kiln_zoo_find(name, &network, &err), &err);
    kiln_assert_status_ok(kiln_zoo_import(a, network, 1, weights, &g, &err), &err);
    return g;
}

/* ---- counts ---------------------------------------------------------------------- */

/* Written here once more, as published: a slip in a row of the zoo is no agreement. */
typedef struct count_row {
    const char *name;
    int64_t n_params;
    double muladds, unit; /* of the last digit that the source prints */
} count_row;

static count_row count_rows[] = {
    {"resnet18", 11689512, 1.81e9, 0.01e9},
    {"resnet34", 21797672, 3.66e9, 0.01e9},
    {"resnet50", 25557032, 4.09e9, 0.01e9},
    {"resnet101", 44549160, 7.80e9, 0.01e9},
    {"resnet152", 60192808, 11.51e9, 0.01e9},
    {"vgg11", 132863336, 7.61e9, 0.01e9},
    {"vgg13", 133047848, 11.31e9, 0.01e9},
    {"vgg16", 138357544, 15.47e9, 0.01e9},
    {"vgg19", 143667240, 19.63e9, 0.01e9},
    {"densenet121", 7978856, 2.83e9, 0.01e9},
    {"densenet161", 28681000, 7.73e9, 0.01e9},
    {"densenet169", 14149480, 3.36e9, 0.01e9},
    {"densenet201", 20013928, 4.29e9, 0.01e9},
    {"inception_v3", 23834568, 5.71e9, 0.01e9},
    {"ssd_resnet50", 36450094, 23540421632, 1},
    {"mobilenet_v1", 4231976, 569e6, 1e6},
    {"mobilenet_v2", 3504872, 0.30e9, 0.01e9},
    {"mobilenet_v3_large", 5483032, 0.22e9, 0.01e9},
    {"efficientnet_b0", 5288548, 0.39e9, 0.01e9},
    {"squeezenet1_1", 1235496, 0.35e9, 0.01e9},
    {"convnext_tiny", 28589128, 4.46e9, 0.01e9},
    {"vit_b_16", 86567656, 17.56e9, 0.01e9},
    {"unet", 31030658, 48096083968, 1},
    {"dqn", 1693362, 9352192, 1},
    {"dcgan", 3576704, 104628224, 1},
    {"lstm_lm", 19780400, 464100000, 1},
    {"lstm_lm_step", 19780400, 13260000, 1},
    {"bert_mini", 11170304, 436273152, 1},
    {"bert_base", 109482240, 11174215680, 1},
    {"gpt2_step", 124439808, 132987648, 1},
    {"whisper_tiny_encoder", 8208384, 18468864000, 1},
};

static void counts_are_as_published(void **state) {
    const count_row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const kiln_zoo_network *network = NULL;
    kiln_zoo_facts facts;
    kiln_assert_status_ok(kiln_zoo_find(r->name, &network, &err), &err);
    kiln_zoo_count(&a, import(&a, r->name, KILN_ZOO_OUTLINE), &facts);
    assert_int_equal(facts.n_params, r->n_params);
    assert_true(fabs((double)facts.muladds - r->muladds) <= 0.5 * r->unit);
    assert_int_equal(facts.n_params, network->n_params);
    assert_int_equal(facts.muladds, network->muladds);
    assert_true(facts.constant_bytes >= 4 * facts.n_params);
    if (network->published_unit > 0)
        assert_true(fabs((double)facts.muladds - network->published_muladds) <=
                    0.5 * network->published_unit);
    kiln_arena_fini(&a);
}

static void every_network_is_counted_here(void **state) {
    (void)state;
    const size_t n_rows = sizeof count_rows / sizeof count_rows[0];
    for (size_t i = 0; i < n_rows; i++)
        assert_string_equal(kiln_zoo_at((int)i)->name, count_rows[i].name);
    assert_null(kiln_zoo_at((int)n_rows));
    assert_null(kiln_zoo_at(-1));
}

static void refuses_an_unknown_network(void **state) {
    (void)state;
    kiln_err err = {0};
    const kiln_zoo_network *network = NULL;
    kiln_assert_fails(kiln_zoo_find("alexnet", &network, &err), KILN_ERR_ARG, &err,
                      "the zoo has no network 'alexnet'; it has: resnet18 resnet34 ");
    assert_null(network);
}

/* ---- values ---------------------------------------------------------------------- */

typedef struct value_row {
    const char *name;
    const char *network;
    double most; /* root mean square that no value of the network may pass */
} value_row;

static value_row value_rows[] = {
    {"dqn_stays_of_order_one", "dqn", 10.0},
    {"dcgan_stays_of_order_one", "dcgan", 10.0},
    {"bert_mini_stays_of_order_one", "bert_mini", 10.0},
    {"mobilenet_v1_stays_of_order_one", "mobilenet_v1", 10.0},
    {"resnet18_stays_of_order_one", "resnet18", 10.0},
    {"mobilenet_v2_stays_of_order_one", "mobilenet_v2", 10.0},
    {"squeezenet1_1_stays_of_order_one", "squeezenet1_1", 10.0},
    {"mobilenet_v3_large_stays_of_order_one", "mobilenet_v3_large", 10.0},
    {"efficientnet_b0_stays_of_order_one", "efficientnet_b0", 10.0},
    {"lstm_lm_step_stays_of_order_one", "lstm_lm_step", 10.0},
};

static value_row large_value_rows[] = {
    {"lstm_lm_stays_of_order_one", "lstm_lm", 10.0},
    {"resnet50_stays_of_order_one", "resnet50", 10.0},
    {"densenet121_stays_of_order_one", "densenet121", 10.0},
    {"convnext_tiny_stays_of_order_one", "convnext_tiny", 10.0},
    {"inception_v3_stays_of_order_one", "inception_v3", 10.0},
};

static double rms_of(const kiln_tensor *t, const char *name) {
    const float *v = t->data;
    const int64_t n = kiln_type_elems(&t->type);
    double sum = 0.0;
    bool is_constant = true;
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)v[i];
        if (!isfinite(x))
            fail_msg("'%s' has an element that is not finite", name);
        sum += x * x;
        is_constant = is_constant && v[i] == v[0];
    }
    if (is_constant)
        fail_msg("'%s' is constant", name);
    return sqrt(sum / (double)n);
}

/* Every value that a node makes, not only the outputs: nothing grows or fades on the
 * way.
 */
static void values_stay_of_order_one(void **state) {
    const value_row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = import(&a, r->network, KILN_ZOO_FILLED);
    for (size_t i = 0; i < g->nodes.n; i++)
        kiln_graph_add_output(g, g->nodes.v[i]->out[0], g->nodes.v[i]->name);
    kiln_tensor *in = kiln_array(&a, kiln_tensor, g->inputs.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        in[i] = kiln_ref_random(&a, &g->inputs.v[i]->type, 7 + i);
    kiln_tensor *out = kiln_array(&a, kiln_tensor, g->outputs.n);
    kiln_assert_status_ok(kiln_ref_run(&a, g, in, g->inputs.n, out, &err), &err);
    double least = (double)INFINITY, most = 0.0;
    for (size_t i = 0; i < g->outputs.n; i++) {
        const double rms = rms_of(&out[i], g->output_names.v[i]);
        least = fmin(least, rms);
        most = fmax(most, rms);
        if (!(rms >= 1e-3 && rms <= r->most))
            fail_msg("'%s' has a root mean square of %g", g->output_names.v[i], rms);
    }
    print_message("%s: root mean squares from %.3f to %.3f\n", r->network, least, most);
    kiln_arena_fini(&a);
}

/* Half of what a sanitizer would take for all of this file. */
static void values_of_large_ones_stay(void **state) {
    kiln_test_skip_repeat(); /* smaller networks have its operators */
    values_stay_of_order_one(state);
}

/* ---- files ----------------------------------------------------------------------- */

static const char *write(const char *file, const char *name, uint64_t seed) {
    kiln_err err = {0};
    const kiln_zoo_network *network = NULL;
    const char *path = kiln_path_join(kiln_test_arena(), kiln_test_dir(), file);
    kiln_assert_status_ok(kiln_zoo_find(name, &network, &err), &err);
    kiln_assert_status_ok(kiln_zoo_write(network, seed, path, &err), &err);
    return path;
}

static kiln_str map(const char *path) {
    kiln_err err = {0};
    kiln_str bytes;
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &bytes, &err),
                          &err);
    return bytes;
}

static void one_seed_gives_one_file(void **state) {
    (void)state;
    const kiln_str first = map(write("a.onnx", "dqn", 5));
    assert_true(kiln_str_eq(first, map(write("b.onnx", "dqn", 5))));
    assert_false(kiln_str_eq(first, map(write("c.onnx", "dqn", 6))));
    assert_true(first.n > 4 * 1693362 && first.n < 4 * 1693362 + 4096);
    /* Another compiler or machine must make these bytes too. */
    char hex[KILN_SHA256_HEX];
    kiln_sha256_of(first.p, first.n, hex);
    assert_string_equal(
        hex, "f9020e50d9a4f2b507945ae3c9bde1443ba2bb45ac737c48ccf5dc2d2fe3c5d0");
}

static void file_holds_what_import_makes(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *want = import(&a, "dcgan", KILN_ZOO_FILLED), *got = NULL;
    kiln_import_report report = {0};
    kiln_assert_status_ok(
        kiln_import(&a, write("d.onnx", "dcgan", 1), NULL, &got, &report, &err), &err);
    assert_string_equal(report.producer, "kiln");
    assert_int_equal(report.opset, 17);
    assert_int_equal(got->values.n, want->values.n);
    for (size_t i = 0; i < got->values.n; i++) {
        const kiln_value *v = got->values.v[i], *w = want->values.v[i];
        assert_string_equal(v->name, w->name);
        assert_int_equal(kiln_value_is_const(v), kiln_value_is_const(w));
        if (kiln_value_is_const(v))
            assert_memory_equal(v->data, w->data, (size_t)kiln_type_bytes(&v->type));
    }
    kiln_arena_fini(&a);
}

static void refuses_a_folder_that_is_not_there(void **state) {
    (void)state;
    kiln_err err = {0};
    const char *path = kiln_path_join(kiln_test_arena(), kiln_test_dir(), "no/x.onnx");
    kiln_assert_fails(kiln_zoo_write(kiln_zoo_at(0), 1, path, &err), KILN_ERR_IO, &err,
                      "while writing the network 'resnet18'");
}

static void refuses_a_file_that_protobuf_cannot_hold(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_onnx_writer w;
    const char *path = kiln_path_join(kiln_test_arena(), kiln_test_dir(), "big.onnx");
    kiln_onnx_writer_init(&w, kiln_test_arena(), "g");
    kiln_onnx_put_uniform(&w, "w", "32768,16384", 1, -1.0, 1.0);
    kiln_assert_fails(kiln_onnx_write_model(&w, 8, 17, path, &err), KILN_ERR_LIMIT,
                      &err,
                      "an ONNX file without external data has at most 2147483647");
    assert_false(kiln_file_exists(path));
}

int main(void) {
    kiln_test_add_rows(counts_are_as_published, count_rows);
    kiln_test_add("every_network_is_counted_here", every_network_is_counted_here, NULL);
    kiln_test_add("refuses_an_unknown_network", refuses_an_unknown_network, NULL);
    kiln_test_add_rows(values_stay_of_order_one, value_rows);
    kiln_test_add_rows(values_of_large_ones_stay, large_value_rows);
    kiln_test_add("one_seed_gives_one_file", one_seed_gives_one_file, NULL);
    kiln_test_add("file_holds_what_import_makes", file_holds_what_import_makes, NULL);
    kiln_test_add("refuses_a_folder_that_is_not_there",
                  refuses_a_folder_that_is_not_there, NULL);
    kiln_test_add("refuses_a_file_that_protobuf_cannot_hold",
                  refuses_a_file_that_protobuf_cannot_hold, NULL);
    return kiln_test_run("networks");
}
