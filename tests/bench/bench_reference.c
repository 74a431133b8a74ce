/* How fast the reference computes a convolution and a matrix product, in double on one
 * core: whole networks run through these two. Each prints the best of a few runs of
 * kiln_ref_eval_node, conversion from and to f32 included, and checks some elements. */
#include <math.h>
#include <stdio.h>

#include "compiler/graph/graph.h"
#include "tests/support/graph/node_run.h"

enum { RUNS = 5, CHECKED = 64 };

typedef struct row {
    const char *name;
    const char *body;
    kiln_test_element_fn want;
} row;

/* One 3x3 filter at one position; pads of 1. */
static kiln_test_element conv_at(const kiln_test_node *t, const void *user,
                                 int64_t index) {
    const int64_t *x = t->in[0].type.dim, *w = t->in[1].type.dim;
    int64_t y[4], k[4];
    kiln_test_element e = {0};
    (void)user;
    kiln_test_unravel(index, 4, t->node->out[0]->type.dim, y);
    for (int64_t j = 0; j < w[1] * w[2] * w[3]; j++) {
        kiln_test_unravel(j, 3, w + 1, k + 1);
        const int64_t from[4] = {y[0], k[1], y[2] + k[2] - 1, y[3] + k[3] - 1};
        if (from[2] < 0 || from[2] >= x[2] || from[3] < 0 || from[3] >= x[3])
            continue;
        kiln_test_element_add(&e, &t->in[0], kiln_test_ravel(4, x, from), &t->in[1],
                              y[1] * w[1] * w[2] * w[3] + j);
    }
    return e;
}

static kiln_test_element matmul_at(const kiln_test_node *t, const void *user,
                                   int64_t index) {
    const int64_t k = t->in[1].type.dim[0], n = t->in[1].type.dim[1];
    kiln_test_element e = {0};
    (void)user;
    for (int64_t p = 0; p < k; p++)
        kiln_test_element_add(&e, &t->in[0], index / n * k + p, &t->in[1],
                              p * n + index % n);
    return e;
}

static row rows[] = {
    {"conv_3x3_64_to_64_56x56",
     "input %x : f32[1,64,56,56] input %w : f32[64,64,3,3] "
     "%y = conv(%x, %w) {pads=[1,1,1,1]} output %y",
     conv_at},
    {"matmul_512",
     "input %a : f32[512,512] input %b : f32[512,512] %y = matmul(%a, %b) output %y",
     matmul_at},
};

static void measure(void **state) {
    const row *r = *state;
    kiln_err err = {0};
    kiln_arena a = {0};
    kiln_test_node t;
    kiln_assert_status_ok(kiln_test_node_parse(&t, &a, r->body, &err), &err);
    kiln_cost cost = {0};
    t.node->op->cost(t.node, &cost);
    double best = (double)INFINITY;
    kiln_tensor y;
    for (int i = 0; i < RUNS; i++) {
        const int64_t begin = kiln_now_ns();
        kiln_assert_status_ok(kiln_ref_eval_node(&a, t.node, t.native, &y, &err), &err);
        best = fmin(best, (double)(kiln_now_ns() - begin));
    }
    printf("%-24s %7.2f ms %6.2f GFLOP/s\n", r->name, best * 1e-6,
           (double)cost.flops / best);
    kiln_wide wide = kiln_wide_new(&a, &y.type);
    kiln_widen(&y.type, y.data, &wide);
    for (int64_t i = 0; i < CHECKED; i++) {
        const int64_t at = i * (kiln_type_elems(&y.type) - 1) / (CHECKED - 1);
        const kiln_test_element e = r->want(&t, r, at);
        assert_true(fabs(wide.f[at] - e.f) <=
                    0x1p-24 * fabs(e.f) + 1e-13 * e.magnitude);
    }
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(measure, rows);
    return kiln_test_run("bench_reference");
}
