/* Whole graphs through passes, fusion, templates, code, plan and runtime, against the
 * reference.
 *
 * Tolerance: f32 arithmetic with sums of at most a few hundred terms of magnitude 1:
 * k * 2^-24 * sum|ab| stays below 1e-4 of the largest output. */
#include "pipeline/network/network.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <string.h>

static const double tolerance = 1e-4;

typedef struct row {
    const char *name, *text;
    int n_steps,
        n_conversions; /* with fusion; at most: they are the templates' affair */
} row;

static row rows[] = {
    {"convolutions_keep_their_layout",
     "graph \"g\" { input %x : f32[1,16,8,8] input %w : f32[32,16,3,3] "
     "input %v : f32[32,32,3,3] %a = conv(%x, %w) {pads=[1,1,1,1]} %b = relu(%a) "
     "%c = conv(%b, %v) {pads=[1,1,1,1]} %d = add(%c, %b) %e = relu(%d) output %e }",
     4, 2},
    {"odd_channels",
     "graph \"g\" { input %x : f32[1,3,9,7] input %w : f32[17,3,3,3] "
     "input %v : f32[5,17,1,1] %a = conv(%x, %w) {strides=[2,2]} %b = sigmoid(%a) "
     "%c = conv(%b, %v) %d = max_pool(%c) {kernel=[2,2]} output %d output %c }",
     5, 2},
    {"half_a_block_of_channels",
     "graph \"g\" { input %x : f32[1,24,6,6] input %w : f32[24,24,1,1] "
     "input %v : f32[24,1,3,3] input %b : f32[24] %a = relu(%x) "
     "%c = conv(%a, %v) {pads=[1,1,1,1], groups=24} %d = conv(%c, %w, %b) "
     "%e = add(%a, %d) %f = relu(%e) output %f }",
     6, 4},
    {"padding_of_its_own",
     "graph \"g\" { input %x : f32[1,5,6,7] input %w : f32[20,5,3,3] "
     "%a = pad(%x) {pads=[0,0,0,1,0,0,1,2]} %b = conv(%a, %w) {strides=[2,2]} "
     "%c = relu(%b) %d = pad(%c) {pads=[0,0,1,1,0,0,1,1]} "
     "%e = max_pool(%d) {kernel=[3,3]} %f = pad(%e) {pads=[0,0,0,0,0,0,3,0]} "
     "%g = avg_pool(%f) {kernel=[2,2]} output %g }",
     5, 2},
    {"channels_last",
     "graph \"g\" { input %x : f32[1,6,6,3] input %w : f32[20,3,3,3] "
     "input %v : f32[20,20,1,1] input %b : f32[20] %c = transpose(%x) "
     "{perm=[0,3,1,2]} %d = conv(%c, %w) %e = transpose(%d) {perm=[0,2,3,1]} "
     "%f = add(%e, %b) %g = relu(%f) %h = transpose(%g) {perm=[0,3,1,2]} "
     "%i = conv(%h, %v) %j = transpose(%i) {perm=[0,2,3,1]} %k = add(%j, %g) "
     "%m = reduce_mean(%k) {axes=[1,2], keepdims=false} %n = softmax(%m) output %n }",
     5, 0},
    {"views_and_copies",
     "graph \"g\" { input %x : f32[2,3,4] %a = reshape(%x) {shape=[6,4]} "
     "%b = relu(%a) %c = reshape(%b) {shape=[24]} output %c output %x output %b }",
     3, 0},
    {"several_results",
     "graph \"g\" { input %x : f32[3,8] %a, %b = split(%x) {axis=1, sizes=[3,5]} "
     "%c = tanh(%a) %d = reduce_sum(%b) {axes=[1]} %e = softmax(%x) output %c output "
     "%d "
     "output %e }",
     4, 0},
    {"products",
     "graph \"g\" { input %x : f32[5,12] input %w : f32[12,20] input %b : f32[20] "
     "%a = matmul(%x, %w) %c = add(%a, %b) %d = relu(%c) %t = transpose(%d) "
     "{perm=[1,0]} %e = matmul(%d, %t) output %e }",
     3, 0},
};

/* Inputs that are not x become constants, so that they are packed. */
static kiln_graph *with_weights(kiln_arena *a, const char *text) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "test", &g, &err),
                          &err);
    size_t n = 0;
    for (size_t i = 0; i < g->inputs.n; i++) {
        kiln_value *v = g->inputs.v[i];
        if (strcmp(v->name, "x") == 0)
            g->inputs.v[n++] = v;
        else
            v->data = kiln_ref_random(a, &v->type, 7 + i).data;
    }
    g->inputs.n = n;
    kiln_graph_renumber(g);
    return g;
}

static void check_close(const kiln_type *t, const void *got, const void *want,
                        const char *what) {
    const float *x = got, *y = want;
    double scale = 1;
    for (int64_t i = 0; i < kiln_type_elems(t); i++)
        scale = fmax(scale, fabs((double)y[i]));
    for (int64_t i = 0; i < kiln_type_elems(t); i++)
        if (!(fabs((double)x[i] - (double)y[i]) <= tolerance * scale))
            fail_msg("%s: element %lld is %.9g, must be %.9g", what, (long long)i,
                     (double)x[i], (double)y[i]);
}

static kiln_session *run(kiln_model *m, const kiln_graph *g, const kiln_tensor *in,
                         int n_threads) {
    char error[KILN_ERROR_TEXT];
    const kiln_session_options o = {.n_threads = n_threads};
    kiln_session *s = kiln_session_open(m, &o, error);
    assert_non_null(s);
    assert_int_equal(kiln_session_run(s), -1); /* no input yet */
    for (size_t i = 0; i < g->inputs.n; i++)
        assert_int_equal(kiln_session_set_input(s, (int)i, in[i].data), 0);
    if (kiln_session_run(s) != 0)
        fail_msg("%s", kiln_session_error(s));
    return s;
}

static void check_network(kiln_arena *a, const row *r, bool no_fusion) {
    kiln_err err = {0};
    kiln_profile p;
    kiln_network n;
    kiln_model *m = NULL;
    kiln_tensor in[4], want[8];
    const kiln_network_options o = {.no_fusion = no_fusion};
    const kiln_graph *g = with_weights(a, r->text);
    kiln_graph *simple = kiln_graph_clone(a, g);
    kiln_assert_status_ok(kiln_graph_optimize(simple, NULL, &err), &err);
    kiln_graph_renumber(simple);
    kiln_assert_status_ok(kiln_profile_detect(a, &p, &err), &err);
    kiln_assert_status_ok(kiln_network_compile(a, simple, &p, &o, &n, &err), &err);
    print_message("%s: %d steps, %d conversions, %zu kernels, %d views, %d in place, "
                  "%lld bytes (bound %lld)\n",
                  r->name, n.n_steps, n.n_conversions, n.kernel.n, n.n_views,
                  n.n_in_place, (long long)n.arena_bytes, (long long)n.lower_bound);
    if (!no_fusion) {
        assert_true(n.n_steps <= r->n_steps);
        assert_true(n.n_conversions <= r->n_conversions);
    }
    kiln_assert_status_ok(kiln_network_open(a, &n, &m, &err), &err);
    for (size_t i = 0; i < g->inputs.n; i++)
        in[i] = kiln_ref_random(a, &g->inputs.v[i]->type, kiln_test_seed() + i);
    kiln_assert_status_ok(kiln_ref_run(a, g, in, g->inputs.n, want, &err), &err);
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        kiln_session *s = run(m, g, in, n_threads);
        for (size_t i = 0; i < g->outputs.n; i++)
            check_close(&want[i].type, kiln_session_output(s, (int)i), want[i].data,
                        g->output_names.v[i]);
        kiln_session_close(s);
    }
    kiln_model_close(m);
}

static void networks_compute_what_their_graphs_do(void **state) {
    for (int no_fusion = 0; no_fusion < 2; no_fusion++) {
        kiln_arena a;
        kiln_arena_init(&a);
        check_network(&a, *state, no_fusion);
        kiln_arena_fini(&a);
    }
}

int main(void) {
    kiln_test_add_rows(networks_compute_what_their_graphs_do, rows);
    return kiln_test_run("network");
}
