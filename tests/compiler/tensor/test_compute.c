/* What operators compute as tensor expressions is what the reference computes: for the
 * graph of every golden operator file and for odd shapes, in row-major and in random
 * layouts, and for each
 * node of the ONNX conformance models, where they are on this machine. How: see
 * tests/support/kernel/compute_case.h.
 *
 * An element may differ by what the operator's error bound allows. Extern stages have
 * no expression to evaluate: only their loop programs are run. */
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/frontend.h"
#include "compiler/op/op_common.h"
#include "tests/support/kernel/compute_case.h"
#include "tests/support/kiln_test.h"

#define FOLDER "tests/compiler/op/golden"

enum {
    N_LAYOUTS = 3, /* random ones, beside row-major */
    /* Operators that make no kernel: control flow, and what follows from types. */
    N_WITHOUT = 4
};

static void check_layouts(kiln_arena *a, const compute_case *c, kiln_rng *rng, int n,
                          const char *what) {
    const char *wrong = compute_case_check(a, c, NULL, false);
    if (wrong != NULL)
        fail_msg("%s, row-major, %s", what, wrong);
    for (int i = 0; i < n; i++) {
        kiln_buf text;
        kiln_buf_init(&text, a);
        const kiln_layout *l = compute_random_layouts(a, c->g, rng, &text);
        wrong = compute_case_check(a, c, l, i % 2 == 1);
        if (wrong != NULL)
            fail_msg("%s, %s%s%s", what, text.p, i % 2 == 1 ? "tails trusted, " : "",
                     wrong);
    }
}

/* ---- golden files ---------------------------------------------------------------- */

static void computes_what_the_reference_does(void **state) {
    const kiln_op_def *op = *state;
    kiln_arena a;
    kiln_rng rng;
    kiln_graph *g;
    kiln_err err = {0};
    compute_case c;
    kiln_test_golden golden;
    kiln_arena_init(&a);
    kiln_rng_init(&rng, kiln_hash64(op->name, strlen(op->name), kiln_test_seed()));
    const char *path = kiln_format(&a, FOLDER "/%s.txt", op->name);
    kiln_test_golden_read(path, &golden);
    kiln_assert_status_ok(kiln_graph_parse(&a, golden.input, path, &g, &err), &err);
    kiln_assert_status_ok(compute_case_init(&a, &c, g, NULL, &err), &err);
    check_layouts(&a, &c, &rng, (int)kiln_test_cases(N_LAYOUTS), op->name);
    kiln_arena_fini(&a);
}

/* Adding an operator without a tensor expression is a decision: it changes a number
 * here. */
static void few_operators_have_none(void **state) {
    (void)state;
    int n = 0;
    kiln_buf names;
    kiln_buf_init(&names, kiln_test_arena());
    for (int i = 0; i < (int)KILN_N_OPS; i++) {
        if (kiln_op_at(i)->compute != NULL)
            continue;
        kiln_buf_printf(&names, " %s", kiln_op_at(i)->name);
        n++;
    }
    print_message("without a tensor expression:%s\n", names.p);
    for (int i = 0; i < (int)KILN_N_OPS; i++) {
        const kiln_op_def *op = kiln_op_at(i);
        if ((op->compute == kiln_compute_unary && op->x1 == NULL) ||
            (op->compute == kiln_compute_binary && op->x2 == NULL))
            fail_msg("operator '%s' must say what it computes: x1 or x2", op->name);
    }
    assert_int_equal(n, N_WITHOUT);
}

/* ---- odd shapes ------------------------------------------------------------------ */

typedef struct shape_row {
    const char *name, *inputs, *node; /* the node makes %y */
} shape_row;

static shape_row shapes[] = {
    {"scalars", "%a : f32[], %b : f32[]", "add(%a, %b)"},
    {"scalars_of_halves", "%a : f16[], %b : f16[]", "mul(%a, %b)"},
    {"nothing", "%a : f32[0,3]", "relu(%a)"},
    {"nothing_stretched", "%a : f32[0,3], %b : f32[3]", "add(%a, %b)"},
    {"reshape_of_nothing", "%a : f32[0,3]", "reshape(%a) {shape=[3,0,2]}"},
    {"reshape_to_scalar", "%a : i32[1,1]", "reshape(%a) {shape=[]}"},
    {"reshape_odd", "%a : f32[5,7,3]", "reshape(%a) {shape=[3,35]}"},
    {"transpose_of_nothing", "%a : f32[2,0,3]", "transpose(%a) {perm=[2,0,1]}"},
    {"concat_with_nothing", "%a : f32[2,0], %b : f32[2,3], %c : f32[2,2]",
     "concat(%a, %b, %c) {axis=1}"},
    {"softmax_of_nothing", "%a : f32[0,5]", "softmax(%a)"},
    {"softmax_over_odd_channels", "%a : f32[2,17,3]", "softmax(%a) {axis=1}"},
    {"softmax_of_bf16", "%a : bf16[3,20]", "softmax(%a)"},
    {"mean_of_all", "%a : f32[3,17]", "reduce_mean(%a)"},
    {"mean_over_space", "%a : f32[2,20,3,5]", "reduce_mean(%a) {axes=[2,3]}"},
    {"sum_of_nothing", "%a : f32[0,3]", "reduce_sum(%a) {axes=[0], keepdims=false}"},
    {"product_of_halves", "%a : f16[3,5]", "reduce_prod(%a) {axes=[1]}"},
    {"argmax_last", "%a : i8[3,40]", "argmax(%a) {axis=1, select_last_index=true}"},
    {"layer_norm_of_nothing", "%a : f32[0,4]", "layer_norm(%a)"},
    {"layer_norm_of_f16", "%a : f16[3,17], %s : f16[17], %b : f16[17]",
     "layer_norm(%a, %s, %b)"},
    {"group_norm_in_blocks", "%a : f32[2,6,3,5], %s : f32[6], %b : f32[6]",
     "group_norm(%a, %s, %b) {groups=3}"},
    {"matmul_of_nothing", "%a : f32[3,0], %b : f32[0,2]", "matmul(%a, %b)"},
    {"matmul_stretched", "%a : f32[2,1,3,5], %b : f32[4,5,7]", "matmul(%a, %b)"},
    {"matmul_turned", "%a : f32[2,1,3,5], %b : f32[4,7,5]",
     "matmul(%a, %b) {trans_b=true}"},
    {"matmul_of_bf16", "%a : bf16[5,17], %b : bf16[17,3]", "matmul(%a, %b)"},
    {"matmul_of_i8", "%a : i8[5,17], %b : i8[17,3]", "matmul(%a, %b)"},
    {"gemm_full", "%a : f32[17,5], %b : f32[3,17], %c : f32[3]",
     "gemm(%a, %b, %c) {alpha=0.5, beta=-2.0, trans_a=true, trans_b=true}"},
    {"conv_of_no_images", "%x : f32[0,3,5,5], %w : f32[4,3,3,3]", "conv(%x, %w)"},
    {"conv_odd_channels", "%x : f32[1,17,5,6], %w : f32[20,17,3,3], %b : f32[20]",
     "conv(%x, %w, %b) {strides=[2,1], pads=[1,1,1,1]}"},
    {"conv_one_tap", "%x : f32[2,20,3,3], %w : f32[17,20,1,1]", "conv(%x, %w)"},
    {"conv_depthwise", "%x : f32[1,17,6,5], %w : f32[17,1,3,3]",
     "conv(%x, %w) {groups=17, pads=[0,1,2,1], dilations=[2,1]}"},
    {"conv_groups", "%x : f32[1,6,7], %w : f32[9,2,3], %b : f32[9]",
     "conv(%x, %w, %b) {groups=3, strides=[3], pads=[2,0]}"},
    {"conv_of_f16", "%x : f16[1,5,4,4], %w : f16[3,5,2,2]", "conv(%x, %w)"},
    {"deconv_groups", "%x : f32[1,4,3,4], %w : f32[4,3,3,2], %b : f32[6]",
     "conv_transpose(%x, %w, %b) {groups=2, strides=[2,3], pads=[1,0,0,1], "
     "dilations=[1,2], output_padding=[1,0]}"},
    {"deconv_of_one_tap_each", "%x : f32[1,20,3,4], %w : f32[20,17,2,3], %b : f32[17]",
     "conv_transpose(%x, %w, %b) {strides=[2,3]}"},
    {"deconv_of_one_tap_cropped", "%x : f32[2,3,5], %w : f32[3,4,3]",
     "conv_transpose(%x, %w) {strides=[3], pads=[2,1]}"},
    {"deconv_of_one_tap_in_groups",
     "%x : f16[1,6,3,2], %w : f16[6,5,2,1], %b : f16[15]",
     "conv_transpose(%x, %w, %b) {groups=3, strides=[2,1]}"},
    {"deconv_of_one_tap_and_more_rows", "%x : f32[1,4,3], %w : f32[4,2,2]",
     "conv_transpose(%x, %w) {strides=[2], output_padding=[1]}"},
    {"max_pool_odd", "%x : f32[1,17,7,5]",
     "max_pool(%x) {kernel=[3,2], strides=[2,2], pads=[1,0,1,1], ceil_mode=true}"},
    {"avg_pool_odd", "%x : f32[1,17,7,5]",
     "avg_pool(%x) {kernel=[3,2], strides=[2,2], pads=[1,0,1,1], ceil_mode=true}"},
    {"avg_pool_with_pads", "%x : f16[1,3,7,5]",
     "avg_pool(%x) {kernel=[3,3], strides=[2,1], pads=[1,1,1,1], "
     "count_include_pad=true, dilations=[2,1]}"},
    {"lp_pool_cubed", "%x : f32[1,3,9]", "lp_pool(%x) {kernel=[3], p=3}"},
    {"upsample", "%x : f32[1,20,3,5]",
     "resize(%x) {sizes=[1,20,6,10], scales=[1.0,1.0,2.0,2.0]}"},
    {"shrink_linear", "%x : f32[1,3,7,9]",
     "resize(%x) {sizes=[1,3,4,5], scales=[1.0,1.0,0.6,0.6], mode=linear, "
     "antialias=true}"},
    {"cubic", "%x : f32[1,2,4,5]",
     "resize(%x) {sizes=[1,2,7,5], scales=[1.0,1.0,1.75,1.0], mode=cubic, "
     "coordinates=align_corners}"},
    {"pad_around", "%x : f32[3,17]", "pad(%x) {pads=[2,-1,1,3], mode=reflect}"},
    {"running_sum_of_f16", "%x : f16[3,40]", "cumsum(%x) {axis=1, reverse=true}"},
    {"lstm_odd", "%x : f32[3,2,5], %w : f32[1,12,5], %r : f32[1,12,3]",
     "lstm(%x, %w, %r)"},
    {"gru_of_no_steps", "%x : f32[0,2,5], %w : f32[1,12,5], %r : f32[1,12,4]",
     "gru(%x, %w, %r)"},
};

static void computes_odd_shapes(void **state) {
    const shape_row *row = *state;
    kiln_arena a;
    kiln_rng rng;
    kiln_graph *g;
    kiln_buf text;
    kiln_err err = {0};
    compute_case c;
    kiln_tensor in[8];
    kiln_arena_init(&a);
    kiln_buf_init(&text, &a);
    kiln_rng_init(&rng, kiln_hash64(row->name, strlen(row->name), kiln_test_seed()));
    kiln_buf_puts(&text, "graph \"g\" {\n  input ");
    for (const char *p = row->inputs; *p != '\0'; p++) {
        if (strncmp(p, ", %", 3) == 0)
            kiln_buf_puts(&text, "\n  input");
        else
            kiln_buf_printf(&text, "%c", *p);
    }
    kiln_buf_printf(&text, "\n  %%y = %s\n  output %%y\n}\n", row->node);
    kiln_assert_status_ok(
        kiln_graph_parse(&a, kiln_buf_str(&text), row->name, &g, &err), &err);
    assert_true(g->inputs.n <= sizeof in / sizeof in[0]);
    for (size_t i = 0; i < g->inputs.n; i++)
        in[i] = kiln_ref_random(&a, &g->inputs.v[i]->type, kiln_test_seed() + i);
    kiln_assert_status_ok(compute_case_init(&a, &c, g, in, &err), &err);
    check_layouts(&a, &c, &rng, (int)kiln_test_cases(N_LAYOUTS), row->name);
    kiln_arena_fini(&a);
}

/* ---- nodes of conformance models ------------------------------------------------- */

enum {
    MAX_FILES = 64,
    MAX_WORK = 10000,   /* operations and elements of a node that is interpreted */
    MAX_RUN = 10000000, /* and of one that the reference runs */
    SHARE = 12,         /* one model in so many, unless KILN_SOAK asks for all */
    SANITIZED_SHARE = 36
};

typedef struct model {
    kiln_arena a;
    kiln_graph *g;
    kiln_tensor *value; /* by id */
    const char *dir;
} model;

static int64_t work_of(const kiln_node *n) {
    kiln_cost c;
    kiln_node_cost(n, &c);
    int64_t work = c.flops;
    for (int i = 0; i < n->n_in; i++)
        work += n->in[i] != NULL ? kiln_type_elems(&n->in[i]->type) : 0;
    for (int k = 0; k < n->n_out; k++)
        work += kiln_type_elems(&n->out[k]->type);
    return work;
}

/* What is not imported, or asks for more than an interpreter does in a moment, is other
 * tests' business. */
static bool open_model(model *m) {
    kiln_arena *a = &m->a;
    kiln_err err = {0};
    kiln_declared_input *in = NULL;
    kiln_import_report report = {0};
    kiln_shape_binding shape[MAX_FILES];
    kiln_value_binding hint[MAX_FILES];
    size_t n_declared = 0, n = 0;
    const char *path = kiln_path_join(a, m->dir, "model.onnx");
    if (kiln_import_inputs(a, path, &in, &n_declared, &err) != KILN_OK)
        return false;
    for (; n < n_declared && n < MAX_FILES; n++) {
        const char *file = kiln_format(a, "%s/test_data_set_0/input_%zu.pb", m->dir, n);
        kiln_tensor t;
        if (!kiln_file_exists(file))
            break;
        if (kiln_tensor_read_onnx(a, file, &t, &err) != KILN_OK)
            return false;
        shape[n] = (kiln_shape_binding){.name = in[n].name, .rank = t.type.rank};
        memcpy(shape[n].dim, t.type.dim, sizeof t.type.dim);
        hint[n] = (kiln_value_binding){.name = in[n].name, .value = t};
    }
    const kiln_import_options o = {
        .shapes = shape, .n_shapes = n, .hints = hint, .n_hints = n};
    if (kiln_import(a, path, &o, &m->g, &report, &err) != KILN_OK ||
        m->g->inputs.n != n)
        return false;
    m->value = kiln_array(a, kiln_tensor, m->g->values.n);
    for (size_t i = 0; i < m->g->values.n; i++)
        m->value[i] = (kiln_tensor){m->g->values.v[i]->type,
                                    (void *)(uintptr_t)m->g->values.v[i]->data};
    for (size_t i = 0; i < n; i++)
        m->value[m->g->inputs.v[i]->id] = hint[i].value;
    return true;
}

static void check_node(const model *m, const kiln_node *n, kiln_rng *rng) {
    kiln_arena a;
    kiln_err err = {0};
    compute_case c;
    int from[MAX_FILES];
    kiln_tensor in[MAX_FILES];
    kiln_arena_init(&a);
    if (n->n_in <= MAX_FILES) {
        kiln_graph *g = compute_node_graph(&a, n, from);
        for (size_t i = 0; i < g->inputs.n; i++)
            in[i] = m->value[n->in[from[i]]->id];
        kiln_assert_status_ok(compute_case_init(&a, &c, g, in, &err), &err);
        check_layouts(&a, &c, rng, 1, kiln_format(&a, "%s: %s", m->dir, n->op->name));
    }
    kiln_arena_fini(&a);
}

/* Node after node, each from what the reference makes of those before it. Returns how
 * many were checked. */
static int check_model(model *m, kiln_rng *rng) {
    kiln_err err = {0};
    int64_t left = 4 * (int64_t)MAX_WORK;
    int checked = 0;
    for (size_t i = 0; i < m->g->nodes.n; i++) {
        const kiln_node *n = m->g->nodes.v[i];
        kiln_tensor *in = kiln_array(&m->a, kiln_tensor, n->n_in);
        kiln_tensor *out = kiln_array(&m->a, kiln_tensor, n->n_out);
        const int64_t work = work_of(n);
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] != NULL)
                in[k] = m->value[n->in[k]->id];
        if (work > MAX_RUN || kiln_ref_eval_node(&m->a, n, in, out, &err) != KILN_OK)
            return checked;
        for (int k = 0; k < n->n_out; k++)
            m->value[n->out[k]->id] = out[k];
        if (n->op->compute == NULL || work > MAX_WORK || work > left)
            continue;
        left -= work;
        check_node(m, n, rng);
        checked++;
    }
    return checked;
}

static void computes_nodes_of_models(void **state) {
    const char *folder = *state;
    const char *path =
        kiln_test_shared(kiln_format(kiln_test_arena(), "onnx-node-tests/%s", folder));
    const bool is_soak = getenv("KILN_SOAK") != NULL;
    const int share = kiln_test_is_sanitized() ? SANITIZED_SHARE : SHARE;
    char **name;
    size_t n;
    kiln_rng rng;
    kiln_err err = {0};
    int checked = 0;
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_assert_status_ok(kiln_dir_list(kiln_test_arena(), path, &name, &n, &err),
                          &err);
    for (size_t i = 0; i < n; i++) {
        if (!is_soak && kiln_rng_range(&rng, 1, share) != 1)
            continue;
        model m = {.dir = kiln_path_join(kiln_test_arena(), path, name[i])};
        kiln_arena_init(&m.a);
        if (open_model(&m))
            checked += check_model(&m, &rng);
        kiln_arena_fini(&m.a);
    }
    print_message("%d nodes\n", checked);
    assert_true(checked > (int)n / (2 * share));
}

int main(void) {
    static const char *const folders[] = {"node", "node-older"};
    kiln_test_add("few_operators_have_none", few_operators_have_none, NULL);
    for (int i = 0; i < (int)KILN_N_OPS; i++)
        if (kiln_op_at(i)->compute != NULL)
            kiln_test_add(kiln_op_at(i)->name, computes_what_the_reference_does,
                          (void *)(uintptr_t)kiln_op_at(i));
    kiln_test_add_rows(computes_odd_shapes, shapes);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        kiln_test_add(kiln_format(kiln_test_arena(), "computes_models_%s", folders[i]),
                      computes_nodes_of_models, (void *)(uintptr_t)folders[i]);
    return kiln_test_run("compute");
}
