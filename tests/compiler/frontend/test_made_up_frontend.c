/* A format that is one row more than the table has is found from its bytes, or else by its
 * name, and builds a network with what is common to
 * frontends: names, constants computed at once, operands that must be constant,
 * convolution and pooling with padding. */
#include "compiler/frontend/frontend.h"

#include <math.h>
#include <string.h>

#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/made_up/net/net_text.h"

enum { IN = 2, OUT = 3, SIZE = 5, KERNEL = 3, STRIDE = 2, AFTER = 3 };

static const char text[] = "net \"tiny\"\n"
                           "input x 1 2 5 5\n"
                           "conv first x 3 3 2\n"
                           "relu r first\n"
                           "pool p r 2 2\n"
                           "list a 0 10\n"
                           "list b 1 2\n"
                           "sum s a b\n"
                           "shape y p s\n"
                           "output r\n"
                           "output y\n";

static const char *name_of_file = "a.net";

static kiln_status import_net(const char *from, kiln_graph **g, kiln_err *err) {
    kiln_import_report report;
    const kiln_import_options o = {.row = &kiln_test_net_text};
    const char *path = kiln_path_join(kiln_test_arena(), kiln_test_dir(), name_of_file);
    kiln_assert_status_ok(kiln_file_write(path, from, strlen(from), err), err);
    const kiln_status st = kiln_import(kiln_test_arena(), path, &o, g, &report, err);
    assert_string_equal(report.format, "net");
    return st;
}

static void a_net_becomes_a_graph(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g;
    kiln_assert_status_ok(import_net(text, &g, &err), &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    assert_string_equal(g->name, "tiny");
    assert_int_equal(g->outputs.n, 2);
    /* conv, relu, pool, reshape: the sum of two lists was computed at once */
    assert_int_equal(g->nodes.n, 4);
    assert_string_equal(g->nodes.v[0]->name, "line3");
    assert_string_equal(g->nodes.v[0]->out[0]->name, "first");
    const kiln_type *y = &g->outputs.v[1]->type;
    assert_true(y->rank == 2 && y->dim[0] == 1 && y->dim[1] == 12);
}

static double x_at(const float *x, int c, int i, int k) {
    return i < 0 || k < 0 || i >= SIZE || k >= SIZE
               ? 0
               : (double)x[(c * SIZE + i) * SIZE + k];
}

/* Same padding of 5 by windows of 3 and steps of 2: one row and column on each side. */
static double conv_at(const float *x, int m, int i, int k) {
    double sum = kiln_test_net_bias(m);
    for (int c = 0; c < IN; c++)
        for (int p = 0; p < KERNEL; p++)
            for (int q = 0; q < KERNEL; q++)
                sum += x_at(x, c, i * STRIDE + p - 1, k * STRIDE + q - 1) *
                       kiln_test_net_weight(((m * IN + c) * KERNEL + p) * KERNEL + q);
    return fmax(sum, 0);
}

static void it_computes_what_it_says(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g;
    kiln_tensor out[2];
    float x[IN * SIZE * SIZE];
    kiln_assert_status_ok(import_net(text, &g, &err), &err);
    for (int i = 0; i < IN * SIZE * SIZE; i++)
        x[i] = (float)(i * 5 % 13) / 4 - 1;
    const kiln_tensor in = {g->inputs.v[0]->type, x};
    kiln_assert_status_ok(kiln_ref_run(kiln_test_arena(), g, &in, 1, out, &err), &err);
    float want[OUT * AFTER * AFTER];
    for (int m = 0; m < OUT; m++)
        for (int i = 0; i < AFTER; i++)
            for (int k = 0; k < AFTER; k++)
                want[(m * AFTER + i) * AFTER + k] = (float)conv_at(x, m, i, k);
    kiln_assert_close(out[0].data, want, OUT * AFTER * AFTER, 4, 1e-6);
}

/* Without its row nobody knows it; with it, bytes say enough, or the name. */
static void it_is_found_by_its_row(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_import_report report;
    name_of_file = "a.made";
    kiln_assert_status_ok(import_net(text, &g, &err), &err);
    const char *path = kiln_path_join(kiln_test_arena(), kiln_test_dir(), "b.made");
    kiln_assert_status_ok(kiln_file_write(path, text, strlen(text), &err), &err);
    kiln_assert_fails(kiln_import(kiln_test_arena(), path, NULL, &g, &report, &err),
                      KILN_ERR_UNSUPPORTED, &err, "is of no format that kiln reads");
    name_of_file = "a.net";
    kiln_assert_fails(import_net("no net", &g, &err), KILN_ERR_PARSE, &err, "'net'");
}

typedef struct refusal {
    const char *name, *text;
    kiln_status want;
    const char *message;
} refusal;

static refusal refusals[] = {
    {"names_what_a_shape_depends_on",
     "net \"n\" input x 4 input n sum m n n shape y x m output y", KILN_ERR_UNSUPPORTED,
     "input 'LIST' must be a constant, it depends on graph input 'n'; fix its value "
     "with --bind n=..."},
    {"refuses_shapes_that_do_not_fit", "net \"n\" input x 4 list s 3 shape y x s",
     KILN_ERR_SHAPE, "reshape"},
    {"refuses_values_that_are_not_there", "net \"n\" relu y x", KILN_ERR_PARSE,
     "there is no value 'x'"},
    {"refuses_constants_without_end",
     "net \"n\" input x 1 16384 2 2 conv y x 16384 3 1 output y", KILN_ERR_LIMIT,
     "the constants that import computes may have 512 MiB in all"},
    {"refuses_windows_on_lists", "net \"n\" input x 4 pool y x 2 2", KILN_ERR_SHAPE,
     "a window slides over [N, C, H, W], not over f32[4]"},
};

static void check_refusal(void **state) {
    const refusal *r = *state;
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_fails(import_net(r->text, &g, &err), r->want, &err, r->message);
    assert_null(g);
}

int main(void) {
    kiln_test_add("a_net_becomes_a_graph", a_net_becomes_a_graph, NULL);
    kiln_test_add("it_computes_what_it_says", it_computes_what_it_says, NULL);
    kiln_test_add("it_is_found_by_its_row", it_is_found_by_its_row, NULL);
    kiln_test_add_rows(check_refusal, refusals);
    return kiln_test_run("made_up_frontend");
}
