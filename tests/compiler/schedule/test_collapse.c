/* Neighbouring axes become one where every stage walks through them as one, and nowhere
 * else; one becomes two where its stage walks through it so: expressions as text, after. That values stay is test_generic's. */
#include "compiler/schedule/template/collapse.h"
#include "compiler/tensor/compute.h"
#include "tests/support/kiln_test.h"

typedef struct row {
    const char *name, *graph, *want;
    int block; /* of the input's channels; 0: row-major */
} row;

#define HEAD "graph \"g\" {\n"

static row rows[] = {
    {"joins_pixels_beside_a_bias",
     HEAD "  input %x : f32[1,4,5,6]\n  input %b : f32[4,1,1]\n"
          "  %y = add(%x, %b) : f32[1,4,5,6] \"y\"\n  output %y \"y\"\n}\n",
     "x[i0: 4, i1: 30] : f32\nb[i0: 4] : f32\n"
     "out y[i0: 4, i1: 30] : f32 @injective = x[i0, i1] + b[i0]\n",
     0},
    {"joins_everything_of_an_element_wise_chain",
     HEAD "  input %x : f32[2,3,5]\n  %t = relu(%x) : f32[2,3,5] \"t\"\n"
          "  %y = neg(%t) : f32[2,3,5] \"y\"\n  output %y \"y\"\n}\n",
     "x[i0: 30] : f32\nt[i0: 30] : f32 @injective = max(x[i0], 0f)\n"
     "out y[i0: 30] : f32 @injective = -0f - t[i0]\n",
     0},
    {"joins_axes_of_a_reduction",
     HEAD "  input %x : f32[2,3,5,7]\n"
          "  %y = reduce_max(%x) {axes=[2,3]} : f32[2,3,1,1] \"y\"\n"
          "  output %y \"y\"\n}\n",
     "x[i0: 6, i1: 35] : f32\nout y[i0: 6] : f32 @reduce = max(r0: 35) x[i0, r0]\n", 0},
    {"keeps_what_a_transposition_parts",
     HEAD "  input %x : f32[2,3,5]\n"
          "  %y = transpose(%x) {perm=[2,0,1]} : f32[5,2,3] \"y\"\n"
          "  output %y \"y\"\n}\n",
     "x[i0: 6, i1: 5] : f32\nout y[i0: 5, i1: 6] : f32 @injective = x[i1, i0]\n", 0},
    {"keeps_rows_under_windows",
     HEAD "  input %x : f32[2,3,5,7]\n"
          "  %y = max_pool(%x) {kernel=[2,2]} : f32[2,3,4,6] \"y\"\n"
          "  output %y \"y\"\n}\n",
     "x[i0: 6, i1: 5, i2: 7] : f32\nout y[i0: 6, i1: 4, i2: 6] : f32 @pool = "
     "max(k0: 2, k1: 2) x[i0, i1 + k0, i2 + k1]\n",
     0},
    {"parts_channels_that_lie_in_blocks",
     HEAD "  input %x : f32[1,32,3,5]\n"
          "  %y = identity(%x) : f32[1,32,3,5] \"y\"\n  output %y \"y\"\n}\n",
     "x[i0: 2, i1: 15, i2: 16] : f32\n"
     "out y[i0: 2, i1: 16, i2: 15] : f32 @injective = x[i0, i2, i1]\n",
     16},
    {"leaves_pixels_that_are_repeated",
     HEAD "  input %x : f32[2,3]\n"
          "  %y = resize(%x) {sizes=[2,6], scales=[1,2], mode=nearest, "
          "coordinates=asymmetric, rounding=floor} : f32[2,6] \"y\"\n"
          "  output %y \"y\"\n}\n",
     "x[i0: 2, i1: 3] : f32\n"
     "out y[i0: 2, i1: 6] : f32 @injective = x[i0, i1 // 2]\n",
     0},
    {"leaves_channels_that_fill_no_block",
     HEAD "  input %x : f32[1,24,3,5]\n"
          "  %y = identity(%x) : f32[1,24,3,5] \"y\"\n  output %y \"y\"\n}\n",
     "x[i0: 2, i1: 15, i2: 16] : f32\n"
     "out y[i0: 24, i1: 15] : f32 @injective = x[i0 // 16, i1, i0 % 16]\n",
     16},
};

static void becomes(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g;
    kiln_te_graph te;
    kiln_buf text;
    kiln_assert_status_ok(
        kiln_graph_parse(a, kiln_str_from(r->graph), r->name, &g, &err), &err);
    if (r->block > 0)
        g->inputs.v[0]->type.layout =
            (kiln_layout){.n_blocks = 1, .block = {{.axis = 1, .size = r->block}}};
    kiln_assert_status_ok(kiln_graph_compute(a, g, NULL, false, &te, &err), &err);
    kiln_assert_status_ok(kiln_te_collapse(a, te.arg, te.n_args, te.n_inputs, &err),
                          &err);
    kiln_assert_status_ok(kiln_te_uncollapse(a, te.arg, te.n_args, te.n_inputs, &err),
                          &err);
    kiln_buf_init(&text, a);
    kiln_te_print(&text, te.arg + te.n_inputs, te.n_args - te.n_inputs);
    kiln_assert_text_equal(kiln_buf_str(&text), kiln_str_from(r->want));
}

int main(void) {
    kiln_test_add_rows(becomes, rows);
    return kiln_test_run("collapse");
}
