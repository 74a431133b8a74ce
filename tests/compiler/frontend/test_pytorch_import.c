/* Exported PyTorch programs as files: their inputs, weights in every form, what they
 * write into, what they say of themselves, and what is refused. */
#include "compiler/frontend/frontend.h"

#include <string.h>

#include "compiler/frontend/frontend_internal.h"
#include "compiler/reference/reference.h"
#include "tests/support/damage.h"
#include "tests/support/import/mutants.h"
#include "tests/support/model/keras_model.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/pt2_model.h"

enum { MAX_IN = 16 };

static kiln_status import(kiln_arena *a, kiln_str bytes, const kiln_import_options *o,
                          kiln_graph **g, kiln_err *err) {
    return kiln_frontend_pytorch.import(a, bytes, "m.pt2", NULL, o, g, NULL, err);
}

/* Output `at` for inputs that hold 0, 1, 2, ... each. */
static kiln_tensor run(kiln_arena *a, const kiln_graph *g, size_t at) {
    kiln_err err = {0};
    kiln_tensor in[4], *const out = kiln_array(a, kiln_tensor, g->outputs.n);
    float *const x = kiln_array(a, float, MAX_IN);
    for (int i = 0; i < MAX_IN; i++)
        x[i] = (float)i;
    for (size_t i = 0; i < g->inputs.n; i++)
        in[i] = (kiln_tensor){g->inputs.v[i]->type, x};
    kiln_assert_status_ok(kiln_ref_run(a, g, in, g->inputs.n, out, &err), &err);
    return out[at];
}

static void check_floats(const kiln_tensor *t, const float *want, int64_t n) {
    assert_int_equal(t->type.dtype, KILN_F32);
    assert_int_equal(kiln_type_elems(&t->type), n);
    assert_memory_equal(t->data, want, (size_t)n * sizeof *want);
}

/* ---- what is written into --------------------------------------------------------- */

typedef struct write_row {
    const char *name, *nodes;
    float want[4];
} write_row;

/* x is [2, 2]: 0 1 2 3; z is a copy of it that nodes write into. */
static write_row writes[] = {
    {"random_numbers_that_nobody_reads",
     "r = aten.rand.default(size=[2])\n"
     "y = aten.add.Tensor(self=z, other=1)\n",
     {1, 2, 3, 4}},
    {"a_part",
     "s = aten.select.int(self=z, dim=0, index=1)\n"
     "w = aten.fill_.Scalar(self=s, value=7)\n"
     "y = aten.alias.default(self=z)\n",
     {0, 1, 7, 7}},
    {"a_part_of_a_part",
     "s = aten.slice.Tensor(self=z, dim=0, start=1)\n"
     "t = aten.slice.Tensor(self=s, dim=1, end=1)\n"
     "w = aten.add_.Tensor(self=t, other=5)\n"
     "y = aten.alias.default(self=z)\n",
     {0, 1, 7, 3}},
    {"another_view_sees_it",
     "v = aten.view.default(self=z, size=[4])\n"
     "s = aten.select.int(self=z, dim=0, index=0)\n"
     "w = aten.zero_.default(self=s)\n"
     "y = aten.alias.default(self=v)\n",
     {0, 0, 2, 3}},
    {"turned",
     "t = aten.transpose.int(self=z, dim0=0, dim1=1)\n"
     "s = aten.select.int(self=t, dim=0, index=0)\n"
     "w = aten.fill_.Scalar(self=s, value=9)\n"
     "y = aten.permute.default(self=z, dims=[0, 1])\n",
     {9, 1, 9, 3}},
    {"by_another_shape",
     "t = aten.view.default(self=z, size=[4])\n"
     "w = aten.mul_.Tensor(self=t, other=2)\n"
     "y = aten.alias.default(self=z)\n",
     {0, 2, 4, 6}},
    {"by_a_permutation",
     "t = aten.permute.default(self=z, dims=[1, 0])\n"
     "s = aten.select.int(self=t, dim=0, index=1)\n"
     "w = aten.copy_.default(self=s, src=s)\n"
     "y = aten.relu_.default(self=z)\n",
     {0, 1, 2, 3}},
    {"the_original_stays",
     "s = aten.select.int(self=z, dim=0, index=1)\n"
     "w = aten.fill_.Scalar(self=s, value=7)\n"
     "y = aten.alias.default(self=x)\n",
     {0, 1, 2, 3}},
};

static void check_write(void **state) {
    const write_row *const r = *state;
    static const kiln_test_pt2_tensor x = {.name = "x", .dims = "2,2"};
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const char *const nodes =
        kiln_format(&a, "z = aten.clone.default(self=x)\n%s", r->nodes);
    kiln_assert_status_ok(
        import(&a, kiln_test_pt2(&a, &x, 1, nodes, "y"), NULL, &g, &err), &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    const kiln_tensor y = run(&a, g, 0);
    check_floats(&y, r->want, 4);
    kiln_arena_fini(&a);
}

/* ---- inputs ----------------------------------------------------------------------- */

static void a_symbol_is_bound_everywhere(void **state) {
    (void)state;
    static const kiln_test_pt2_tensor in[] = {{.name = "x", .dims = "s0,2"},
                                              {.name = "z", .dims = "s0,2"}};
    const kiln_shape_binding two[] = {{.name = "x", .rank = 2, .dim = {3, 2}},
                                      {.name = "z", .rank = 2, .dim = {4, 2}}};
    const kiln_import_options one = {.shapes = two, .n_shapes = 1};
    const kiln_import_options other = {.shapes = two, .n_shapes = 2};
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const kiln_str bytes =
        kiln_test_pt2(&a, in, 2, "y = aten.add.Tensor(self=x, other=z)", "y");
    kiln_assert_fails(
        import(&a, bytes, NULL, &g, &err), KILN_ERR_SHAPE, &err,
        "shapes must be known, but 2 graph inputs are dynamic: 'x' [s0,2]");
    kiln_err_clear(&err);
    kiln_assert_status_ok(import(&a, bytes, &one, &g, &err), &err);
    assert_int_equal(g->inputs.v[1]->type.dim[0], 3);
    assert_string_equal(g->output_names.v[0], "y");
    kiln_assert_fails(import(&a, bytes, &other, &g, &err), KILN_ERR_SHAPE, &err,
                      "dimension 's0' is bound to 3 and to 4");
    kiln_arena_fini(&a);
}

static void says_what_it_is(void **state) {
    (void)state;
    static const kiln_test_pt2_tensor in[] = {
        {.name = "x", .dims = "1,2"},
        {.name = "w", .dims = "2,2", .numbers = "1 2 3 4"}};
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_model_survey s;
    const kiln_str bytes = kiln_test_pt2(
        &a, in, 2, "y = aten.mm.default(self=x, mat2=w)\nz = aten.foo.default(self=y)",
        "y");
    kiln_assert_status_ok(kiln_frontend_pytorch.survey(&a, bytes, "m.pt2", &s, &err),
                          &err);
    assert_string_equal(s.producer, "PyTorch 2.9.1");
    assert_int_equal(s.n_inputs, 1);
    assert_int_equal(s.n_params, 4);
    assert_int_equal(s.op.n, 2);
    assert_string_equal(s.op.v[0].op, "aten.foo.default");
    assert_false(s.op.v[0].is_read);
    assert_true(s.op.v[1].is_read);
    kiln_arena_fini(&a);
}

/* ---- weights as bytes beside a config ---------------------------------------------- */

/* Of an entry that is shorter than the shape says, however few bytes are missing. */
static void a_tensor_lies_in_its_entry(void **state) {
    (void)state;
    static const char *const numbers[] = {"1 2 3", "1"};
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const kiln_test_pt2_tensor in[] = {
            {.name = "x", .dims = "1,2"},
            {.name = "w", .dims = "2,2", .numbers = numbers[i]}};
        const kiln_str bytes =
            kiln_test_pt2(&a, in, 2, "y = aten.matmul.default(self=x, other=w)", "y");
        kiln_assert_fails(import(&a, bytes, NULL, &g, &err), KILN_ERR_PARSE, &err,
                          "a tensor reaches past its storage of");
        kiln_err_clear(&err);
    }
    kiln_arena_fini(&a);
}

/* ---- weights in pickles: files of torch before 2.8 -------------------------------- */

/* {'w': a tensor [2] in storage 0}, as torch.save writes it. */
#define PICKLE                                                                         \
    "\x80\x02}X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storage"     \
    "ctorch\nFloatStorage\nX\x01\0\0\0"                                                \
    "0X\x03\0\0\0cpuK\x02tQK\0K\x02\x85K\x01\x85\x89"                                  \
    "ccollections\nOrderedDict\n)RtRs."

static kiln_str old_archive(kiln_arena *a, kiln_str pickle, kiln_str storage) {
    static const kiln_test_pt2_tensor in[] = {
        {.name = "x", .dims = "2"}, {.name = "w", .dims = "2", .numbers = "0 0"}};
    static const char *const inner[] = {"archive/data.pkl", "archive/data/0"};
    static const char *const outer[] = {"serialized_exported_program.json",
                                        "serialized_state_dict.pt", "version"};
    const kiln_str within[] = {pickle, storage};
    const kiln_str entries[] = {
        kiln_str_from(
            kiln_test_pt2_json(a, in, 2, "y = aten.add.Tensor(self=x, other=w)", "y")),
        kiln_test_zip(a, inner, within, 2), KILN_STR_LIT("8.2")};
    return kiln_test_zip(a, outer, entries, 3);
}

static void files_before_2_8_have_pickles(void **state) {
    (void)state;
    static const float w[] = {10, 20}, want[] = {10, 21};
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const kiln_str storage = {(const char *)w, sizeof w};
    kiln_str bytes = old_archive(&a, KILN_STR_LIT(PICKLE), storage);
    kiln_assert_status_ok(import(&a, bytes, NULL, &g, &err), &err);
    const kiln_tensor y = run(&a, g, 0);
    check_floats(&y, want, 2);
    bytes = old_archive(&a, KILN_STR_LIT(PICKLE), (kiln_str){storage.p, 4});
    kiln_assert_fails(import(&a, bytes, NULL, &g, &err), KILN_ERR_PARSE, &err, "");
    kiln_err_clear(&err);
    bytes = old_archive(&a, KILN_STR_LIT("\x80\x02}."), storage);
    kiln_assert_fails(import(&a, bytes, NULL, &g, &err), KILN_ERR_PARSE, &err,
                      "the file has no tensor 'w'");
    kiln_arena_fini(&a);
}

/* ---- refusals --------------------------------------------------------------------- */

typedef struct refusal {
    const char *name, *nodes;
    kiln_status want;
    const char *text;
} refusal;

static refusal refusals[] = {
    {"lists_operators_that_are_not_read",
     "a = aten.foo.default(self=x)\nb = aten.foo.default(self=x)\ny = "
     "aten.bar.default(self=x)",
     KILN_ERR_UNSUPPORTED,
     "2 operators are not read: aten.foo.default (2 times, first in node 'a'), "
     "aten.bar.default (1 time, first in node 'y'); export the model again after"},
    {"random_numbers_that_are_read",
     "r = aten.rand.default(size=[2])\ny = aten.add.Tensor(self=x, other=r)",
     KILN_ERR_UNSUPPORTED, "aten.rand.default (1 time, first in node 'r')"},
    {"an_argument_that_is_not_read", "y = aten.relu.default(self=x, slope=1)",
     KILN_ERR_UNSUPPORTED, "relu: argument 'slope' is not read"},
    {"an_argument_that_matters",
     "y = aten.avg_pool1d.default(self=z, kernel_size=[1])\n", KILN_ERR_PARSE,
     "no node before it makes 'z'"},
    {"a_missing_argument", "y = aten.add.Tensor(self=x)", KILN_ERR_PARSE,
     "add: argument 'other' is missing"},
    {"an_argument_of_another_kind", "y = aten.permute.default(self=x, dims='a')",
     KILN_ERR_PARSE, "permute: argument 'dims' must be an integer, is a text"},
    {"training", "y = aten.dropout.default(input=x, p=0.5, train=True)",
     KILN_ERR_UNSUPPORTED, "dropout: argument 'train' is not read here"},
    {"a_shape_that_does_not_fit", "y = aten.view.default(self=x, size=[3, -1])",
     KILN_ERR_SHAPE, "view: 4 elements do not fill the shape [3,-1]"},
    {"an_axis_outside", "y = aten.softmax.int(self=x, dim=2)", KILN_ERR_SHAPE,
     "axis 2 is outside [-2, 2)"},
    {"a_mask_that_picks",
     "m = aten.gt.Scalar(self=x, other=0)\ny = aten.index.Tensor(self=x, indices=[m])",
     KILN_ERR_UNSUPPORTED, "a mask of bool picks as many elements as it has"},
    {"writing_by_an_expanded_view",
     "z = aten.clone.default(self=x)\nv = aten.expand.default(self=z, size=[2, 2, 2])\n"
     "y = aten.zero_.default(self=v)",
     KILN_ERR_UNSUPPORTED, "is not read; export the model again after ep"},
    {"writing_into_a_weight", "y = aten.zero_.default(self=w)", KILN_ERR_UNSUPPORTED,
     "buffer 'w' is written for the next call"},
    {"a_dtype_that_kiln_has_not", "y = aten._to_copy.default(self=x, dtype=@10)",
     KILN_ERR_UNSUPPORTED, "kiln has no dtype that is the file's number 10"},
    {"more_outputs_than_there_are", "[a, b, y] = aten.chunk.default(self=x, chunks=2)",
     KILN_ERR_PARSE, "the node has 3 outputs, its call gives 2"},
    {"numbers_that_are_none",
     "n: = _operator.mul(a=x, b=2)\ny = aten.relu.default("
     "self=x)",
     KILN_ERR_PARSE, "_operator.mul takes numbers"},
};

static void check_refusal(void **state) {
    const refusal *const r = *state;
    static const kiln_test_pt2_tensor in[] = {
        {.name = "x", .dims = "2,2"}, {.name = "w", .dims = "2", .numbers = "1 2"}};
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_fails(
        import(&a, kiln_test_pt2(&a, in, 2, r->nodes, "y"), NULL, &g, &err), r->want,
        &err, r->text);
    kiln_arena_fini(&a);
}

static void other_files_are_refused(void **state) {
    (void)state;
    static const char *const saved[] = {"m/data.pkl", "m/data/0"};
    static const char *const package[] = {"m/archive_format",
                                          "m/data/aotinductor/x.so"};
    const kiln_str bytes[] = {KILN_STR_LIT("\x80\x02}."), KILN_STR_LIT("0000")};
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const kiln_str state_dict = kiln_test_zip(&a, saved, bytes, 2);
    assert_true(kiln_frontend_pytorch.sniff(state_dict));
    kiln_assert_fails(import(&a, state_dict, NULL, &g, &err), KILN_ERR_UNSUPPORTED,
                      &err,
                      "without the model's code. Load it into its model, then "
                      "torch.export.save(");
    kiln_err_clear(&err);
    kiln_assert_fails(import(&a, kiln_test_zip(&a, package, bytes, 2), NULL, &g, &err),
                      KILN_ERR_PARSE, &err, "packages of compiled code");
    kiln_err_clear(&err);
    kiln_assert_fails(import(&a, KILN_STR_LIT("PK\x03\x04...."), NULL, &g, &err),
                      KILN_ERR_PARSE, &err, "is the file truncated?");
    kiln_err_clear(&err);
    kiln_assert_fails(
        import(&a, kiln_test_pt2_of_json(&a, "{\"graph_module\": {}}"), NULL, &g, &err),
        KILN_ERR_PARSE, &err, "the program must have 'graph_module'");
    kiln_arena_fini(&a);
}

/* ---- damage ----------------------------------------------------------------------- */

static const kiln_test_pt2_tensor of_whole[] = {
    {.name = "x", .dims = "1,2,4,4"},
    {.name = "w", .dims = "2,2,1,1", .numbers = "1 2 3 4"}};
static const char whole_nodes[] =
    "c = aten.conv2d.default(input=x, weight=w, padding=[1, 1])\n"
    "r = aten.relu_.default(self=c)\n"
    "v = aten.view.default(self=r, size=[2, -1])\n"
    "[a, b] = aten.chunk.default(self=v, chunks=2, dim=1)\n"
    "y = aten.add.Tensor(self=a, other=b, alpha=2)";

/* Of the JSON, which the archive has first, and of all. */
static void damaged_files_are_no_harm(void **state) {
    (void)state;
    enum { N = 1500 };
    kiln_rng r;
    const uint64_t seed = kiln_test_seed();
    kiln_rng_init(&r, seed);
    for (int i = 0; i < N; i++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        kiln_graph *g = NULL;
        kiln_str bytes;
        if (i % 2 == 0) {
            const char *const json =
                kiln_test_pt2_json(&a, of_whole, 2, whole_nodes, "y");
            size_t n = strlen(json);
            char *const p = kiln_str_dup(&a, json);
            kiln_test_damage(&r, p, &n);
            p[n] = '\0';
            bytes = kiln_test_pt2_of_json(&a, p);
        } else {
            const kiln_str whole = kiln_test_pt2(&a, of_whole, 2, whole_nodes, "y");
            size_t n = whole.n;
            char *const p = kiln_arena_dup(&a, whole.p, n);
            kiln_test_damage(&r, p, &n);
            bytes = (kiln_str){p, n};
        }
        if (import(&a, bytes, NULL, &g, &err) == KILN_OK &&
            kiln_graph_verify(g, &err) != KILN_OK)
            fail_msg("seed %llu, file %d: %s", (unsigned long long)seed, i, err.text);
        kiln_arena_fini(&a);
    }
}

static kiln_status import_bytes(kiln_arena *a, kiln_str bytes, const void *user,
                                kiln_graph **g, kiln_err *err) {
    (void)user;
    return import(a, bytes, NULL, g, err);
}

/* Its weights are inputs. */
static kiln_status import_json(kiln_arena *a, kiln_str json, const void *user,
                               kiln_graph **g, kiln_err *err) {
    static const char *const names[] = {"m/models/model.json",
                                        "m/data/weights/model_weights_config.json"};
    const kiln_str bytes[] = {json, KILN_STR_LIT("{\"config\": {}}")};
    return import_bytes(a, kiln_test_zip(a, names, bytes, 2), user, g, err);
}

static void mutations_end_in_a_named_error(void **state) {
    (void)state;
    static const kiln_test_pt2_tensor inputs[] = {{.name = "x", .dims = "1,2,4,4"},
                                                  {.name = "w", .dims = "2,2,1,1"}};
    kiln_arena *const a = kiln_test_arena();
    const kiln_test_mutants archive = {
        .file = "importing 'm.pt2'",
        .whole = kiln_test_pt2(a, of_whole, 2, whole_nodes, "y"),
        .import = import_bytes};
    const kiln_test_mutants json = {
        .file = "importing 'm.pt2'",
        .whole = kiln_str_from(kiln_test_pt2_json(a, inputs, 2, whole_nodes, "y")),
        .import = import_json,
        .alphabet = "0123456789-'\"[]{},:x"};
    kiln_test_mutants_end(&archive, KILN_TEST_MUTANTS);
    kiln_test_mutants_end(&json, KILN_TEST_MUTANTS);
}

int main(void) {
    kiln_test_add_rows(check_write, writes);
    kiln_test_add("a_symbol_is_bound_everywhere", a_symbol_is_bound_everywhere, NULL);
    kiln_test_add("says_what_it_is", says_what_it_is, NULL);
    kiln_test_add("a_tensor_lies_in_its_entry", a_tensor_lies_in_its_entry, NULL);
    kiln_test_add("files_before_2_8_have_pickles", files_before_2_8_have_pickles, NULL);
    kiln_test_add_rows(check_refusal, refusals);
    kiln_test_add("other_files_are_refused", other_files_are_refused, NULL);
    kiln_test_add("damaged_files_are_no_harm", damaged_files_are_no_harm, NULL);
    kiln_test_add("mutations_end_in_a_named_error", mutations_end_in_a_named_error,
                  NULL);
    return kiln_test_run("pytorch_import");
}
