/* What is expected of large kernels at chosen elements: the reference's values there,
 * whatever stands behind the anchor, and bounds that do not depend on how an operand
 * comes to its shape. */
#include "compiler/reference/reference.h"
#include "compiler/schedule/template.h"
#include "tests/support/kiln_test.h"

/* Makes %y from %z, a convolution's result, and the inputs. */
typedef struct row {
    const char *name, *nodes;
} row;

static row rows[] = {
    {"alone", "%y = relu(%z)"},
    {"same_shape", "%s = add(%z, %r) %y = relu(%s)"},
    {"by_channel", "%s = mul(%z, %c) %y = tanh(%s)"},
    {"by_column", "%y = add(%z, %w1)"},
    {"by_row_and_image", "%y = sub(%hn, %z)"},
    {"one_for_all", "%s = mul(%z, %one) %y = clip(%s) {min=-0.5, max=0.5}"},
    {"chosen", "%q = greater(%r, %c) %y = where(%q, %z, %w1)"},
    {"read_twice", "%s = sigmoid(%z) %y = mul(%z, %s)"},
    {"made_beside", "%t = sigmoid(%r) %s = mul(%z, %t) %y = add(%s, %t)"},
    {"other_dtype", "%s = mul(%z, %c) %y = cast(%s) {to=i32}"},
    {"predicate", "%y = greater(%z, %c)"},
};

enum { N_IN = 7 };
static const char whole_shape[] = "1,64,16,16";

/* The operands of what is behind the anchor as they are, or all of its shape. */
static kiln_graph *parse(const char *nodes, bool is_whole) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const char *text = kiln_format(
        a,
        "graph \"g\" { input %%x : f32[1,32,16,16] input %%k : f32[64,32,3,3] "
        "input %%r : f32[%s] input %%c : f32[%s] input %%w1 : f32[%s] "
        "input %%hn : f32[%s] input %%one : f32[%s] "
        "%%z = conv(%%x, %%k) {pads=[1, 1, 1, 1]} %s output %%y }",
        whole_shape, is_whole ? whole_shape : "64,1,1", is_whole ? whole_shape : "16",
        is_whole ? whole_shape : "1,1,16,1", is_whole ? whole_shape : "1,1", nodes);
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "test", &g, &err),
                          &err);
    assert_int_equal(g->inputs.n, N_IN);
    return g;
}

static kiln_expected expect(kiln_graph *g, const kiln_tensor *in) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_workload work;
    kiln_expected want;
    kiln_tensor *plain = kiln_array(a, kiln_tensor, g->values.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        plain[g->inputs.v[i]->id] = in[i];
    kiln_assert_status_ok(kiln_workload_of(g, &work, &err), &err);
    kiln_assert_status_ok(
        kiln_expect(a, g, work.anchor, plain, 1, kiln_test_seed(), &want, &err), &err);
    assert_non_null(want.pick);
    assert_int_equal(want.n_elems, kiln_type_elems(&g->outputs.v[0]->type));
    return want;
}

static void draw(const kiln_graph *g, kiln_tensor *in) {
    for (size_t i = 0; i < N_IN; i++)
        in[i] = kiln_ref_random(kiln_test_arena(), &g->inputs.v[i]->type,
                                kiln_test_seed() + i);
}

static void check_values(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_tensor in[N_IN], out;
    kiln_graph *g = parse(r->nodes, false);
    draw(g, in);
    const kiln_expected want = expect(g, in);
    kiln_assert_status_ok(kiln_ref_run(a, g, in, N_IN, &out, &err), &err);
    kiln_wide w = kiln_wide_new(a, &out.type);
    kiln_widen(&out.type, out.data, &w);
    for (int64_t j = 0; j < want.n_pick; j++) {
        const int64_t i = want.pick[j];
        assert_true(i >= 0 && i < want.n_elems);
        if (w.f != NULL)
            assert_true(kiln_round_f64(KILN_F32, want.value[j]) == w.f[i]);
        else
            assert_true(want.value[j] == (double)w.i[i]);
        assert_true(want.bound[j] >= 0 && want.bound[j] <= 1);
    }
}

/* The operand as large as the anchor's result. */
static kiln_tensor stretched(const kiln_tensor *t, const kiln_type *to) {
    kiln_tensor out = kiln_tensor_new(kiln_test_arena(), to);
    int64_t own[KILN_MAX_RANK];
    kiln_strides(t->type.rank, t->type.dim, own);
    for (int64_t i = 0; i < kiln_type_elems(to); i++) {
        int64_t rest = i, at = 0;
        for (int k = to->rank - 1; k >= to->rank - t->type.rank; k--) {
            const int axis = k - (to->rank - t->type.rank);
            at += t->type.dim[axis] != 1 ? rest % to->dim[k] * own[axis] : 0;
            rest /= to->dim[k];
        }
        ((float *)out.data)[i] = ((const float *)t->data)[at];
    }
    return out;
}

static void check_stretching(void **state) {
    const row *r = *state;
    kiln_tensor in[N_IN], whole[N_IN];
    kiln_graph *g = parse(r->nodes, false), *h = parse(r->nodes, true);
    draw(g, in);
    for (size_t i = 0; i < N_IN; i++)
        whole[i] = stretched(&in[i], &h->inputs.v[i]->type);
    const kiln_expected x = expect(g, in), y = expect(h, whole);
    assert_int_equal(x.n_pick, y.n_pick);
    assert_memory_equal(x.pick, y.pick, (size_t)x.n_pick * sizeof *x.pick);
    assert_memory_equal(x.value, y.value, (size_t)x.n_pick * sizeof *x.value);
    assert_memory_equal(x.bound, y.bound, (size_t)x.n_pick * sizeof *x.bound);
}

/* Corners and edges among them, each once, in order. */
static void check_choice(void **state) {
    (void)state;
    kiln_tensor in[N_IN];
    kiln_graph *g = parse("%y = relu(%z)", false);
    draw(g, in);
    const kiln_expected want = expect(g, in);
    const int64_t last = want.n_elems - 1;
    bool has_centre = false; /* of each axis: channel 31, row 7, column 7 */
    for (int64_t j = 0; j < want.n_pick; j++) {
        assert_true(j == 0 || want.pick[j] > want.pick[j - 1]);
        has_centre = has_centre || want.pick[j] == (31 * 16 + 7) * 16 + 7;
    }
    assert_true(has_centre);
    assert_true(want.pick[0] == 0 && want.pick[want.n_pick - 1] == last);
    assert_true(want.n_pick > 3000 && want.n_pick < want.n_elems);
}

/* Where there are no more elements than would be drawn, all are compared. */
static void check_few(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(
        kiln_graph_parse(a,
                         kiln_str_from("graph \"g\" { input %a : f32[2,4100] input %b "
                                       ": f32[4100,600] %y = matmul(%a, %b) output %y "
                                       "}"),
                         "test", &g, &err),
        &err);
    kiln_tensor in[] = {kiln_ref_random(a, &g->inputs.v[0]->type, 1),
                        kiln_ref_random(a, &g->inputs.v[1]->type, 2)};
    const kiln_expected want = expect(g, in);
    assert_int_equal(want.n_pick, 1200);
    for (int64_t j = 0; j < want.n_pick; j++)
        assert_int_equal(want.pick[j], j);
}

int main(void) {
    kiln_test_add_rows(check_values, rows);
    kiln_test_add_rows(check_stretching, rows);
    kiln_test_add("chooses_corners_edges_and_others", check_choice, NULL);
    kiln_test_add("chooses_all_of_few", check_few, NULL);
    return kiln_test_run("kernels_expect");
}
