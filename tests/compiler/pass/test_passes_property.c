/* Seeded random graphs keep their meaning, and stay valid, under the whole pipeline. */
#include "compiler/graph/graph.h"
#include "compiler/pass/pass.h"

#include <inttypes.h>
#include <math.h>

#include "tests/support/kiln_test.h"

enum { N_GRAPHS = 300, N_STEPS = 40, MAX_ELEMS = 4096 };

typedef struct maker {
    kiln_graph *g;
    kiln_rng rng;
    KILN_VEC(kiln_value *) f32; /* values to choose from */
} maker;

static int64_t roll(maker *m, int64_t n) { return kiln_rng_range(&m->rng, 0, n - 1); }

static kiln_value *any(maker *m) { return m->f32.v[roll(m, (int64_t)m->f32.n)]; }

static void keep(maker *m, kiln_value *v) {
    if (v != NULL && v->type.dtype == KILN_F32 &&
        kiln_type_elems(&v->type) <= MAX_ELEMS)
        kiln_vec_push(kiln_test_arena(), &m->f32, v);
}

/* NULL when the operator does not take these inputs: the generator tries freely. */
static kiln_value *add(maker *m, const kiln_op_def *op, kiln_value *const *in, int n_in,
                       const kiln_attr_arg *args, size_t n_args) {
    const kiln_node_spec spec = {
        .op = op, .in = in, .n_in = n_in, .args = args, .n_args = n_args};
    kiln_node *n = NULL;
    if (kiln_graph_add_node(m->g, &spec, &n, NULL) != KILN_OK)
        return NULL;
    return n->out[0];
}

static kiln_value *constant(maker *m, int rank, const int64_t *dim) {
    static const float values[] = {0.0F, -0.0F, 1.0F, 0.5F, -2.0F};
    const kiln_type t = kiln_type_make(KILN_F32, rank, dim);
    const kiln_tensor x = kiln_tensor_new(m->g->arena, &t);
    float *f = x.data;
    const float fill = values[roll(m, 5)];
    const bool is_filled = roll(m, 2) == 0;
    for (int64_t i = 0; i < kiln_type_elems(&t); i++)
        f[i] = is_filled ? fill : (float)roll(m, 64) / 32.0F - 1.0F;
    return kiln_graph_add_const(m->g, "c", &t, x.data);
}

/* ---- steps ---- */

static void step_unary(maker *m) {
    const kiln_op_def *const ops[] = {&kiln_op_relu,     &kiln_op_neg,
                                      &kiln_op_abs,      &kiln_op_tanh,
                                      &kiln_op_identity, &kiln_op_sigmoid};
    kiln_value *x = any(m);
    keep(m, add(m, ops[roll(m, 6)], &x, 1, NULL, 0));
}

static void step_binary(maker *m) {
    const kiln_op_def *const ops[] = {&kiln_op_add, &kiln_op_sub, &kiln_op_mul,
                                      &kiln_op_max};
    kiln_value *x = any(m);
    kiln_value *in[2] = {x, any(m)};
    if (roll(m, 2) == 0)
        in[1] = roll(m, 2) == 0 ? constant(m, 0, NULL)
                                : constant(m, x->type.rank, x->type.dim);
    if (roll(m, 4) == 0) {
        in[0] = in[1];
        in[1] = x;
    }
    keep(m, add(m, ops[roll(m, 4)], in, 2, NULL, 0));
}

static void step_transpose(maker *m) {
    kiln_value *x = any(m);
    int64_t perm[KILN_MAX_RANK];
    for (int i = 0; i < x->type.rank; i++)
        perm[i] = i;
    for (int i = x->type.rank - 1; i > 0; i--) {
        const int64_t j = roll(m, i + 1), t = perm[i];
        perm[i] = perm[j];
        perm[j] = t;
    }
    const kiln_attr_arg arg = kiln_arg_ints("perm", perm, (size_t)x->type.rank);
    keep(m, add(m, &kiln_op_transpose, &x, 1, &arg, 1));
}

/* What speaks of axes: transposes go through it. */
static void step_axes(maker *m) {
    kiln_value *x = any(m);
    const int rank = x->type.rank;
    if (rank == 0 || kiln_type_elems(&x->type) == 0)
        return;
    const int64_t axis = roll(m, 2 * rank) - rank;
    const int64_t n = x->type.dim[axis < 0 ? axis + rank : axis];
    const int64_t parts[] = {n / 2, n - n / 2};
    int64_t pads[2 * KILN_MAX_RANK], repeats[KILN_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        pads[i] = roll(m, 2);
        pads[rank + i] = roll(m, 2);
        repeats[i] = 1 + roll(m, 2);
    }
    const kiln_attr_arg along = kiln_arg_int("axis", axis);
    const kiln_attr_arg reduce[] = {kiln_arg_ints("axes", &axis, 1),
                                    kiln_arg_bool("keepdims", roll(m, 2) == 0)};
    const kiln_attr_arg split[] = {along, kiln_arg_ints("sizes", parts, 2)};
    const kiln_attr_arg pad = kiln_arg_ints("pads", pads, 2 * (size_t)rank);
    const kiln_attr_arg tile = kiln_arg_ints("repeats", repeats, (size_t)rank);
    const kiln_op_def *const op[] = {
        &kiln_op_softmax, &kiln_op_cumsum, &kiln_op_reduce_mean, &kiln_op_reduce_max,
        &kiln_op_pad,     &kiln_op_tile,   &kiln_op_concat};
    kiln_value *in[] = {x, x};
    const kiln_node_spec spec = {.op = &kiln_op_split,
                                 .in = in,
                                 .n_in = 1,
                                 .n_out = 2,
                                 .args = split,
                                 .n_args = 2};
    kiln_node *parted = NULL;
    const int64_t kind = roll(m, 8);
    if (kind == 7 && kiln_graph_add_node(m->g, &spec, &parted, NULL) == KILN_OK) {
        keep(m, parted->out[0]);
        keep(m, parted->out[1]);
    } else if (kind < 7) {
        keep(m, add(m, op[kind], in, kind == 6 ? 2 : 1,
                    kind == 4   ? &pad
                    : kind == 5 ? &tile
                    : kind > 3  ? &along
                    : kind > 1  ? reduce
                                : &along,
                    kind == 2 || kind == 3 ? 2 : 1));
    }
}

static void step_reshape(maker *m) {
    kiln_value *x = any(m);
    const int64_t n = kiln_type_elems(&x->type);
    const int64_t flat[] = {n}, wide[] = {1, n}, halves[] = {2, n / 2};
    kiln_attr_arg arg = kiln_arg_ints("shape", flat, 1);
    const int64_t kind = roll(m, 3);
    if (kind == 1)
        arg = kiln_arg_ints("shape", wide, 2);
    else if (kind == 2 && n % 2 == 0)
        arg = kiln_arg_ints("shape", halves, 2);
    keep(m, add(m, &kiln_op_reshape, &x, 1, &arg, 1));
}

static void step_cast(maker *m) {
    const kiln_dtype middle[] = {KILN_F64, KILN_F16, KILN_F32, KILN_BOOL};
    kiln_value *x = any(m);
    const kiln_attr_arg to = kiln_arg_dtype("to", middle[roll(m, 4)]);
    kiln_value *y = add(m, &kiln_op_cast, &x, 1, &to, 1);
    const kiln_attr_arg back = kiln_arg_dtype("to", KILN_F32);
    if (y != NULL)
        keep(m, add(m, &kiln_op_cast, &y, 1, &back, 1));
}

/* A shape, on its way to a value that is multiplied. */
static void step_shape(maker *m) {
    kiln_value *x = any(m);
    kiln_value *n =
        add(m, roll(m, 2) == 0 ? &kiln_op_size : &kiln_op_shape, &x, 1, NULL, 0);
    const kiln_attr_arg to = kiln_arg_dtype("to", KILN_F32);
    if (n != NULL)
        keep(m, add(m, &kiln_op_cast, &n, 1, &to, 1));
}

static void step_slice_concat(maker *m) {
    kiln_value *x = any(m);
    if (x->type.rank == 0)
        return;
    int64_t starts[KILN_MAX_RANK] = {0}, steps[KILN_MAX_RANK], sizes[KILN_MAX_RANK];
    for (int i = 0; i < x->type.rank; i++) {
        steps[i] = 1;
        sizes[i] = x->type.dim[i];
    }
    const int64_t n = sizes[0];
    if (n > 0 && roll(m, 2) == 0) {
        sizes[0] = roll(m, n + 1);
        starts[0] = sizes[0] < n ? roll(m, n - sizes[0]) : 0;
    } else if (n > 0 && roll(m, 2) == 0) {
        starts[0] = n - 1;
        steps[0] = -1;
    }
    const size_t rank = (size_t)x->type.rank;
    const kiln_attr_arg args[] = {kiln_arg_ints("starts", starts, rank),
                                  kiln_arg_ints("steps", steps, rank),
                                  kiln_arg_ints("sizes", sizes, rank)};
    kiln_value *in[] = {x, add(m, &kiln_op_slice, &x, 1, args, 3)};
    const kiln_attr_arg axis = kiln_arg_int("axis", 0);
    keep(m, in[1]);
    if (in[1] != NULL)
        keep(m, add(m, &kiln_op_concat, in, 2, &axis, 1));
}

/* Convolution (or nothing) and batch norm on a value of rank 4 made for it. */
static void step_conv_batch_norm(maker *m) {
    kiln_value *x = any(m);
    const int64_t n = kiln_type_elems(&x->type), c = 1 + roll(m, 3);
    if (n == 0)
        return;
    const int64_t image[] = {1, 1, 1, n}, w_dim[] = {c, 1, 1, 1 + roll(m, 2)};
    const kiln_attr_arg shape = kiln_arg_ints("shape", image, 4);
    x = add(m, &kiln_op_reshape, &x, 1, &shape, 1);
    kiln_value *in[] = {x, constant(m, 4, w_dim), constant(m, 1, &c)};
    kiln_value *y = add(m, &kiln_op_conv, in, 2 + (int)roll(m, 2), NULL, 0);
    if (y == NULL)
        return;
    if (roll(m, 4) == 0)
        keep(m, y);
    const kiln_type t = kiln_type_make(KILN_F32, 1, &c);
    const kiln_tensor var = kiln_tensor_new(m->g->arena, &t);
    for (int64_t i = 0; i < c; i++)
        ((float *)var.data)[i] = 0.25F + (float)roll(m, 8);
    kiln_value *norm[] = {y, constant(m, 1, &c), constant(m, 1, &c), constant(m, 1, &c),
                          kiln_graph_add_const(m->g, "var", &t, var.data)};
    keep(m, add(m, &kiln_op_batch_norm, norm, 5, NULL, 0));
}

/* A pad, or two, and a window that slides over what they made. */
static void step_pad_window(maker *m) {
    const kiln_op_def *const pools[] = {&kiln_op_max_pool, &kiln_op_avg_pool,
                                        &kiln_op_lp_pool};
    kiln_value *x = any(m);
    const int64_t n = kiln_type_elems(&x->type);
    if (n == 0 || n % 2 != 0)
        return;
    const int64_t image[] = {1, 1, 2, n / 2}, w_dim[] = {1, 1, 2, 1 + roll(m, 3)};
    const kiln_attr_arg shape = kiln_arg_ints("shape", image, 4);
    x = add(m, &kiln_op_reshape, &x, 1, &shape, 1);
    if (roll(m, 2) == 0)
        x = add(m, &kiln_op_relu, &x, 1, NULL, 0);
    for (int64_t i = roll(m, 3); i >= 0; i--) {
        const int64_t fill = roll(m, 3);
        kiln_value *in[] = {
            x, kiln_graph_const_scalar(m->g, "fill", KILN_F32,
                                       fill == 2 ? -(double)INFINITY : (double)fill)};
        const int64_t pads[] = {0, 0, roll(m, 3), roll(m, 2),
                                0, 0, roll(m, 2), roll(m, 3)};
        const kiln_attr_arg arg = kiln_arg_ints("pads", pads, 8);
        x = add(m, &kiln_op_pad, in, 1 + (int)roll(m, 2), &arg, 1);
    }
    const int64_t own[] = {roll(m, 2), 0, 0, roll(m, 2)};
    const kiln_attr_arg args[] = {kiln_arg_ints("pads", own, 4),
                                  kiln_arg_ints("kernel", w_dim + 2, 2),
                                  kiln_arg_bool("ceil_mode", roll(m, 4) == 0),
                                  kiln_arg_bool("count_include_pad", roll(m, 2) == 0)};
    const int64_t kind = roll(m, 4);
    kiln_value *in[] = {x, constant(m, 4, w_dim)};
    keep(m, kind == 3 ? add(m, &kiln_op_conv, in, 2, args, 1)
                      : add(m, pools[kind], in, 1, args, kind == 1 ? 4 : 3));
}

static void step_conv_transpose(maker *m) {
    kiln_value *x = any(m);
    const int64_t n = kiln_type_elems(&x->type);
    if (n == 0)
        return;
    const bool is_pixel = n <= 64 && roll(m, 3) == 0;
    const int64_t c = is_pixel ? n : n % 2 == 0 ? 2 : 1;
    const int64_t image[] = {1, c, 1, n / c};
    const int64_t w_dim[] = {c, 2, 1 + roll(m, 3), 1 + roll(m, 4)};
    const int64_t strides[] = {1 + roll(m, 3), 1 + roll(m, 3)};
    const int64_t pads[] = {0, roll(m, 2), 0, roll(m, 2)};
    const int64_t more[] = {roll(m, strides[0]), roll(m, strides[1])};
    const kiln_attr_arg shape = kiln_arg_ints("shape", image, 4);
    const kiln_attr_arg args[] = {kiln_arg_ints("strides", strides, 2),
                                  kiln_arg_ints("pads", pads, 4),
                                  kiln_arg_ints("output_padding", more, 2)};
    kiln_value *in[] = {add(m, &kiln_op_reshape, &x, 1, &shape, 1),
                        constant(m, 4, w_dim)};
    keep(m, add(m, &kiln_op_conv_transpose, in, 2, args, 3));
}

/* Both branches of an if take one value; the condition is a constant or an input's
 * sign. */
static void step_if(maker *m) {
    static const unsigned char truth[] = {0, 1};
    kiln_value *x = any(m);
    const kiln_type t = x->type, b = kiln_type_scalar(KILN_BOOL);
    kiln_graph *branch[2];
    for (int i = 0; i < 2; i++) {
        maker inner = {.g = kiln_graph_new(m->g->arena, i == 0 ? "then" : "else"),
                       .rng = m->rng};
        kiln_value *in[] = {kiln_graph_add_input(inner.g, "x", &t),
                            constant(&inner, 0, NULL)};
        kiln_value *y =
            add(&inner, i == 0 ? &kiln_op_add : &kiln_op_mul, in, 2, NULL, 0);
        kiln_graph_add_output(inner.g, y, "y");
        branch[i] = inner.g;
        m->rng = inner.rng;
    }
    kiln_value *cond = kiln_graph_add_const(m->g, "cond", &b, &truth[roll(m, 2)]);
    if (roll(m, 2) == 0)
        cond = m->g->inputs.v[0];
    kiln_value *in[] = {cond, x, x};
    const kiln_attr_arg args[] = {kiln_arg_graph("then_branch", branch[0]),
                                  kiln_arg_graph("else_branch", branch[1])};
    keep(m, add(m, &kiln_op_if, in, 3, args, 2));
}

static kiln_graph *make(kiln_arena *a, uint64_t seed) {
    static void (*const steps[])(maker *) = {
        step_unary,        step_binary,          step_transpose,  step_reshape,
        step_cast,         step_shape,           step_if,         step_binary,
        step_slice_concat, step_conv_batch_norm, step_pad_window, step_axes,
        step_axes,         step_conv_transpose,  step_transpose,  step_transpose,
    };
    maker m = {.g = kiln_graph_new(a, "random")};
    kiln_rng_init(&m.rng, seed);
    const kiln_type b = kiln_type_scalar(KILN_BOOL);
    (void)kiln_graph_add_input(m.g, "flag", &b);
    for (int i = 0; i < 3; i++) {
        int64_t dim[KILN_MAX_RANK];
        const int rank = (int)roll(&m, 4);
        for (int k = 0; k < rank; k++)
            dim[k] = 1 + roll(&m, 4);
        const kiln_type t = kiln_type_make(KILN_F32, rank, dim);
        keep(&m, kiln_graph_add_input(m.g, "x", &t));
    }
    for (int i = 0; i < N_STEPS; i++)
        steps[roll(&m, (int64_t)(sizeof steps / sizeof steps[0]))](&m);
    for (int i = 0; i < 4; i++)
        kiln_graph_add_output(m.g, m.f32.v[m.f32.n - 1 - (size_t)roll(&m, 3)], "y");
    return m.g;
}

static void check_random(void **state) {
    (void)state;
    const uint64_t seed = kiln_test_seed();
    size_t n_before = 0, n_after = 0;
    for (uint64_t i = 0; i < N_GRAPHS; i++) {
        kiln_arena a = {0};
        kiln_graph *g = make(&a, seed + i);
        kiln_err err = {0};
        n_before += g->nodes.n;
        const kiln_pass_options o = {
            .check = true, .check_seed = seed + i, .verify = true};
        const kiln_status st = kiln_graph_optimize(g, &o, &err);
        if (st != KILN_OK)
            print_error("graph %" PRIu64 ": KILN_SEED=%" PRIu64 " makes it the first\n",
                        i, seed + i);
        kiln_assert_status_ok(st, &err);
        n_after += g->nodes.n;
        kiln_arena_fini(&a);
    }
    /* The generator would be of no use if the passes found nothing. */
    assert_true(n_after < n_before / 2);
}

int main(void) {
    kiln_test_add("random_graphs_keep_their_meaning", check_random, NULL);
    return kiln_test_run("passes_property");
}
