/* TensorFlow SavedModels: signatures, functions, variables beside the model; and of real
 * graphs, how many transposes are left. */
#include <string.h>
#include <unistd.h>

#include "compiler/frontend/frontend_internal.h"
#include "compiler/frontend/tensorflow/crc32c.h"
#include "compiler/pass/pass.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/tf_writer.h"

/* A folder with a model and its variables; NULL data: none are written. */
static const char *write_model(kiln_arena *a, const char *name, kiln_str model,
                               kiln_str index, kiln_str data) {
    kiln_err err = {0};
    const char *const dir = kiln_path_join(a, kiln_test_dir(), name);
    const char *const variables = kiln_path_join(a, dir, "variables");
    kiln_assert_status_ok(kiln_dir_make(dir, &err), &err);
    kiln_assert_status_ok(kiln_dir_make(variables, &err), &err);
    kiln_assert_status_ok(kiln_file_write(kiln_path_join(a, dir, "saved_model.pb"),
                                          model.p, model.n, &err),
                          &err);
    if (data.p == NULL)
        return dir;
    kiln_assert_status_ok(
        kiln_file_write(kiln_path_join(a, variables, "variables.index"), index.p,
                        index.n, &err),
        &err);
    kiln_assert_status_ok(
        kiln_file_write(kiln_path_join(a, variables, "variables.data-00000-of-00001"),
                        data.p, data.n, &err),
        &err);
    return dir;
}

/* y = 2 * relu(x @ w + b), by two functions; the saver's nodes stay out. */
static const kiln_tf_test_function functions[] = {
    {"dense", "inputs kernel bias", "identity", "identity=r:activations:0",
     "k ReadVariableOp kernel dtype=t1\nb ReadVariableOp bias dtype=t1\n"
     "m MatMul inputs k:value:0\na BiasAdd m:product:0 b:value:0\n"
     "r Relu a:output:0"},
    {"model", "x w b", "first second", "first=d:z:0 second=x",
     "c PartitionedCall x w b f=Ndense config=s\n"
     "t Const value=F:2\nd Mul c:output:0 t:output:0"},
};
static const char graph[] =
    "given Placeholder dtype=t1 shape=S1,2\n"
    "w VarHandleOp dtype=t1 shape=S2,2 shared_name=sdense/kernel\n"
    "b VarHandleOp dtype=t1 shape=S2 shared_name=sdense/bias\n"
    "call StatefulPartitionedCall given w b f=Nmodel\n"
    "saver_filename Placeholder dtype=t7 shape=S\n"
    "save SaveV2 saver_filename";
static const kiln_tf_test_variable variables[] = {
    {"dense/bias", NULL, "2", 2, {-1, -100}, NULL},
    {"dense/kernel/.ATTRIBUTES/VALUE", "dense/kernel", "2,2", 4, {1, 2, 3, 4}, NULL},
};

static kiln_str dense_model(kiln_arena *a) {
    return kiln_tf_saved_of(a, kiln_tf_library_of(a, graph, functions, 2), "x=given:0",
                            "y=call:0 same=call:1");
}

static void runs_functions_with_variables(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    kiln_str index, data;
    kiln_graph *g = NULL;
    kiln_import_report report;
    kiln_import_locations files;
    kiln_err err = {0};
    kiln_tf_bundle_of(a, variables, 2, &index, &data);
    const char *const dir = write_model(a, "dense", dense_model(a), index, data);
    kiln_assert_status_ok(kiln_import(a, dir, NULL, &g, &report, &err), &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    assert_string_equal(report.producer, "tensorflow 2.16.1");
    assert_int_equal(report.data.n, 2);
    assert_int_equal(g->inputs.n, 1);
    assert_string_equal(g->inputs.v[0]->name, "x");
    assert_int_equal(g->outputs.n, 2);
    assert_string_equal(g->output_names.v[0], "y");
    assert_string_equal(g->output_names.v[1], "same");
    float x[] = {1, 10};
    const kiln_tensor in = {g->inputs.v[0]->type, x};
    kiln_tensor out[2];
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, out, &err), &err);
    kiln_assert_close(out[0].data, ((const float[]){60, 0}), 2, 0, 0);
    kiln_assert_close(out[1].data, x, 2, 0, 0);
    kiln_assert_status_ok(kiln_import_list_data(a, dir, &files, &err), &err);
    assert_int_equal(files.n, 2);
    assert_string_equal(files.v[0], "variables/variables.data-00000-of-00001");
}

/* ---- signatures -------------------------------------------------------------------- */

static kiln_status import_by(const char *dir, const char *signature, kiln_graph **g,
                             kiln_import_report *report, kiln_err *err) {
    const kiln_import_options o = {.signature = signature};
    return kiln_import(kiln_test_arena(), dir, &o, g, report, err);
}

/* Two ways to call one graph: each has its own inputs and outputs. */
static void a_signature_is_chosen_by_name(void **state) {
    (void)state;
    static const kiln_tf_test_signature both[] = {
        {"double", "v=x:0", "twice=d:0"},
        {"serving_default", "x=x:0 y=y:0", "sum=s:0"},
        {"__saved_model_init_op", "", ""}};
    kiln_arena *const a = kiln_test_arena();
    kiln_graph *g = NULL;
    kiln_import_report report;
    kiln_err err = {0};
    const kiln_str graph_bytes =
        kiln_tf_graph_of(a, "x Placeholder dtype=t1 shape=S2\n"
                            "y Placeholder dtype=t1 shape=S2\nd AddV2 x x\n"
                            "s AddV2 x y");
    const char *const dir =
        write_model(a, "two", kiln_tf_saved_by(a, graph_bytes, both, 3), (kiln_str){0},
                    (kiln_str){0});
    kiln_assert_status_ok(import_by(dir, NULL, &g, &report, &err), &err);
    assert_int_equal(g->inputs.n, 2);
    assert_string_equal(g->output_names.v[0], "sum");
    assert_int_equal(report.notes.n, 1);
    assert_string_equal(report.notes.v[0].text, "double, serving_default (this one)");
    kiln_assert_status_ok(import_by(dir, "double", &g, &report, &err), &err);
    assert_int_equal(g->inputs.n, 1);
    assert_string_equal(g->inputs.v[0]->name, "v");
    assert_string_equal(g->output_names.v[0], "twice");
    kiln_assert_fails(import_by(dir, "triple", &g, &report, &err), KILN_ERR_ARG, &err,
                      "--signature names 'triple', which the model has not; it has: "
                      "'double' 'serving_default'");
    kiln_err_clear(&err);
    const char *const alone = kiln_path_join(a, kiln_test_dir(), "g.pb");
    kiln_assert_status_ok(kiln_file_write(alone, graph_bytes.p, graph_bytes.n, &err),
                          &err);
    kiln_assert_fails(import_by(alone, "double", &g, &report, &err), KILN_ERR_ARG, &err,
                      "--signature: a graph alone has none");
}

/* ---- control flow ------------------------------------------------------------------ */

/* x of three numbers goes through the functions as `y`. */
static const float *run_flow(const char *text, const kiln_tf_test_function *f, size_t n,
                             size_t n_want) {
    kiln_arena *const a = kiln_test_arena();
    const kiln_str bytes = kiln_tf_library_of(a, text, f, n);
    static float x[] = {1, 2, 3};
    kiln_graph *g = NULL;
    kiln_import_report report;
    kiln_tensor out;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_frontend_tensorflow.import(a, bytes, "flow.pb", NULL,
                                                          NULL, &g, &report, &err),
                          &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    const kiln_tensor in = {g->inputs.v[0]->type, x};
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, &out, &err), &err);
    assert_int_equal(kiln_type_elems(&out.type), n_want);
    return out.data;
}

#define X "x Placeholder dtype=t1 shape=S3\n"

static const kiln_tf_test_function branches[] = {
    {"yes", "v", "r", "r=n:y:0", "n Neg v"},
    {"no", "v", "r", "r=n:z:0", "n Add v v"},
};

static void picks_a_branch_by_a_constant(void **state) {
    (void)state;
    const float *const y =
        run_flow(X "c Const value=I:0\ny If c x then_branch=Nyes else_branch=Nno",
                 branches, 2, 3);
    kiln_assert_close(y, ((const float[]){2, 4, 6}), 3, 0, 0);
}

static void chooses_between_branches(void **state) {
    (void)state;
    const float *const y =
        run_flow(X "a Const value=I1:0\ns Sum x a\nt Const value=F:5\nc Greater s t\n"
                   "y StatelessIf c x then_branch=Nyes else_branch=Nno",
                 branches, 2, 3);
    kiln_assert_close(y, ((const float[]){-1, -2, -3}), 3, 0, 0);
}

/* Running sums of the rows, kept in a list: what a recurrent layer does. */
static const kiln_tf_test_function loop[] = {
    {"more", "i sum rows out", "r", "r=l:z:0", "n Const value=I:3\nl Less i n"},
    {"step", "i sum rows out", "j s r o", "j=j:z:0 s=s:z:0 r=rows o=o:output_handle:0",
     "one Const value=I:1\nj AddV2 i one\ne Const value=I0:\n"
     "row TensorListGetItem rows i e element_dtype=t1\n"
     "s AddV2 sum row:item:0\no TensorListSetItem out i s element_dtype=t1"},
};
static const char loop_graph[] =
    X "i Const value=I:0\nz Const value=F:0\ne Const value=I0:\nn Const value=I:3\n"
      "rows TensorListFromTensor x e element_dtype=t1 shape_type=t3\n"
      "out TensorListReserve e n element_dtype=t1 shape_type=t3\n"
      "w StatelessWhile i z rows out cond=Nmore body=Nstep parallel_iterations=i10\n"
      "y TensorListStack w:3 e element_dtype=t1 num_elements=i3";

static void unrolls_a_loop_over_lists(void **state) {
    (void)state;
    const float *const y = run_flow(loop_graph, loop, 2, 3);
    kiln_assert_close(y, ((const float[]){1, 3, 6}), 3, 0, 0);
}

/* while (i < 4 and sum of x < 20) { i += 1; x *= 2; out[i] = x }: data ends it, or i. */
static const kiln_tf_test_function bounded[] = {
    {"more", "i x out", "r", "r=a:z:0",
     "n Const value=I:4\nl Less i n\na0 Const value=I1:0\ns Sum x a0\n"
     "t Const value=F:20\nd Less s:output:0 t\na LogicalAnd l d"},
    {"step", "i x out", "j y o", "j=j:z:0 y=y:z:0 o=o:output_handle:0",
     "one Const value=I:1\nj AddV2 i one\ntwo Const value=F:2\ny Mul x two\n"
     "a0 Const value=I1:0\ns Sum y:z:0 a0\n"
     "o TensorListSetItem out i s:output:0 element_dtype=t1"},
};
static const char bounded_graph[] =
    X "i Const value=I:0\ne Const value=I0:\nn Const value=I:4\n"
      "out TensorListReserve e n element_dtype=t1 shape_type=t3\n"
      "w While i x out cond=Nmore body=Nstep\n"
      "sums TensorListStack w:2 e element_dtype=t1 num_elements=i4\n"
      "c Cast w DstT=t1\nd ExpandDims c e0\ne0 Const value=I:0\n"
      "y ConcatV2 w:1 sums d e0 N=i3";

static void data_may_end_a_loop(void **state) {
    (void)state;
    const float *const y = run_flow(bounded_graph, bounded, 2, 8);
    kiln_assert_close(y, ((const float[]){4, 8, 12, 12, 24, 0, 0, 2}), 8, 0, 0);
}

static void refuses_loops_without_end(void **state) {
    (void)state;
    static const kiln_tf_test_function endless[] = {
        {"more", "i x", "r", "r=c:output:0", "c Const value=I:1"},
        {"step", "i x", "j y", "j=i y=x", ""},
        {"open", "i x", "r", "r=g:z:0",
         "a Const value=I1:0\ns Sum x a\nz Const value=F:0\ng Greater s:output:0 z"},
    };
    static const char text[] = X "i Const value=I:0\ny While i x cond=N%s body=Nstep";
    kiln_arena *const a = kiln_test_arena();
    kiln_graph *g = NULL;
    kiln_import_report report;
    kiln_err err = {0};
    kiln_str bytes =
        kiln_tf_library_of(a, kiln_test_replaced(text, "%s", "more"), endless, 3);
    kiln_assert_fails(kiln_frontend_tensorflow.import(a, bytes, "flow.pb", NULL, NULL,
                                                      &g, &report, &err),
                      KILN_ERR_LIMIT, &err, "the loop runs more than 4096 times");
    kiln_err_clear(&err);
    bytes = kiln_tf_library_of(a, kiln_test_replaced(text, "%s", "open"), endless, 3);
    kiln_assert_fails(
        kiln_frontend_tensorflow.import(a, bytes, "flow.pb", NULL, NULL, &g, &report,
                                        &err),
        KILN_ERR_UNSUPPORTED, &err,
        "input 'condition' must be a constant, it depends on graph input 'x'");
}

/* ---- refusals --------------------------------------------------------------------- */

static void expect(const char *name, kiln_str model, kiln_str index, kiln_str data,
                   kiln_status want, const char *text) {
    kiln_arena *const a = kiln_test_arena();
    kiln_graph *g = NULL;
    kiln_err err = {0};
    const char *const dir = write_model(a, name, model, index, data);
    kiln_assert_fails(kiln_import(a, dir, NULL, &g, NULL, &err), want, &err, text);
}

static void refuses_broken_variables(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    const kiln_str model = dense_model(a), none = {0};
    kiln_str index, data;
    kiln_tf_bundle_of(a, variables, 2, &index, &data);
    const kiln_str cut = {index.p, index.n - 1}, less = {data.p, data.n - 1};
    expect("no_variables", model, none, none, KILN_ERR_MISSING, "variables.index");
    expect("cut_index", model, cut, data, KILN_ERR_PARSE, "it does not end as one");
    expect("cut_data", model, index, less, KILN_ERR_PARSE,
           "are asked for of a shard of");
    char *const other = kiln_arena_dup(a, data.p, data.n);
    other[data.n - 1] = (char)(other[data.n - 1] ^ 1);
    expect("changed_data", model, index, (kiln_str){other, data.n}, KILN_ERR_PARSE,
           "the shard is damaged: fetch the model again");
    kiln_tf_bundle_of(a, variables, 1, &index, &data);
    expect("other_variables", model, index, data, KILN_ERR_PARSE,
           "variable 'dense/kernel' is not among those beside the model");
}

/* Check values of the polynomial, and what is 0 to 40 bytes long in one piece and two. */
static void checksums_are_those_of_the_polynomial(void **state) {
    (void)state;
    char bytes[40] = {0};
    assert_int_equal(kiln_tf_crc32c(KILN_STR_LIT("123456789")), 0xe3069283);
    assert_int_equal(kiln_tf_crc32c((kiln_str){bytes, 32}), 0x8a9136aa);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        uint32_t slow = UINT32_MAX;
        for (size_t i = 0; i < n; i++) {
            bytes[i] = (char)(37 * i + n);
            slow ^= (unsigned char)bytes[i];
            for (int bit = 0; bit < 8; bit++)
                slow = (slow >> 1) ^ ((slow & 1) != 0 ? 0x82f63b78 : 0);
        }
        assert_int_equal(kiln_tf_crc32c((kiln_str){bytes, n}), ~slow);
    }
    assert_int_equal(kiln_tf_crc_mask(0), 0xa282ead8);
}

/* A shard that is a link to a file elsewhere. */
static void refuses_links_out_of_the_folder(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    kiln_str index, data;
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_tf_bundle_of(a, variables, 2, &index, &data);
    const char *const dir = write_model(a, "links", dense_model(a), index, data);
    const char *const shard =
        kiln_path_join(a, dir, "variables/variables.data-00000-of-00001");
    const char *const away = kiln_path_join(a, kiln_test_dir(), "secret");
    kiln_assert_status_ok(kiln_file_write(away, data.p, data.n, &err), &err);
    assert_int_equal(unlink(shard), 0);
    assert_int_equal(symlink(away, shard), 0);
    kiln_assert_fails(kiln_import(a, dir, NULL, &g, NULL, &err), KILN_ERR_PARSE, &err,
                      "is a link out of the model's folder");
}

static void refuses_broken_functions(void **state) {
    (void)state;
    static const kiln_tf_test_function itself[] = {
        {"f", "x", "y", "y=c:output:0", "c PartitionedCall x f=Nf"}};
    static const kiln_tf_test_function nothing[] = {{"f", "x", "y", "", "c Relu x"}};
    static const char call[] = "x Placeholder dtype=t1 shape=S1\ny f x";
    kiln_arena *const a = kiln_test_arena();
    const kiln_str none = {0};
    expect(
        "calls_itself",
        kiln_tf_saved_of(a, kiln_tf_library_of(a, call, itself, 1), "x=x:0", "y=y:0"),
        none, none, KILN_ERR_LIMIT, "does 'f' call itself?");
    expect(
        "gives_nothing",
        kiln_tf_saved_of(a, kiln_tf_library_of(a, call, nothing, 1), "x=x:0", "y=y:0"),
        none, none, KILN_ERR_PARSE, "function 'f' has no value for its output 'y'");
    expect("missing_function",
           kiln_tf_saved_of(a,
                            kiln_tf_graph_of(a, "x Placeholder dtype=t1 shape=S1\n"
                                                "y PartitionedCall x f=Ng"),
                            "x=x:0", "y=y:0"),
           none, none, KILN_ERR_PARSE, "function 'g' is not in the graph's library");
    expect("no_such_output",
           kiln_tf_saved_of(a, kiln_tf_graph_of(a, call), "x=x:0", "y=z:0"), none, none,
           KILN_ERR_PARSE, "a result reads 'z:0', but no node has this name");
    expect("no_such_input",
           kiln_tf_saved_of(a, kiln_tf_graph_of(a, call), "x=q:0", "y=y:0"), none, none,
           KILN_ERR_UNSUPPORTED, "input 'x' of signature 'serving_default'");
    expect("no_signature", kiln_tf_saved_of(a, kiln_tf_graph_of(a, call), "", ""), none,
           none, KILN_ERR_UNSUPPORTED, "the model has no signature");
}

/* Any table of variables is refused by name, or read within its bytes. */
static void mutated_tables_end_in_a_named_error(void **state) {
    enum { N = 300 };
    (void)state;
    kiln_rng rng;
    kiln_str index, data;
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_tf_bundle_of(kiln_test_arena(), variables, 2, &index, &data);
    const kiln_str model = dense_model(kiln_test_arena());
    const char *const dir =
        write_model(kiln_test_arena(), "mutated", model, index, data);
    for (int i = 0; i < N; i++) {
        kiln_arena a = {0};
        kiln_graph *g = NULL;
        kiln_import_report report;
        kiln_err err = {0};
        char *const v = kiln_arena_dup(&a, index.p, index.n);
        for (int64_t k = kiln_rng_range(&rng, 1, 3); k > 0; k--)
            v[kiln_rng_range(&rng, 0, (int64_t)index.n - 1)] =
                (char)kiln_rng_range(&rng, -128, 127);
        kiln_assert_status_ok(
            kiln_file_write(kiln_path_join(&a, dir, "variables/variables.index"), v,
                            index.n, &err),
            &err);
        const kiln_status st = kiln_frontend_tensorflow.import(
            &a, model, "saved_model.pb", dir, NULL, &g, &report, &err);
        if (st != KILN_OK)
            kiln_assert_fails(st, st, &err, "importing 'saved_model.pb'");
        kiln_arena_fini(&a);
    }
}

/* ---- a real one ------------------------------------------------------------------- */

/* What another program, of plain loops in double, gives for the generator's uniform
 * numbers of seed 11 (../shared/models/README.md). */
static void real_model_is_right(void **state) {
    (void)state;
    static const float want[] = {-1.2347767f, 0.41396604f, -2.7914586f, -2.8876782f,
                                 -4.1619872f, -5.7279726f, 3.1539973f,  -7.9092813f,
                                 -4.6669752f, 0.32375323f};
    const char *const path =
        kiln_test_shared("models/files/samplenet_savedmodel/samplenet_tf2");
    const kiln_shape_binding shape = {"conv2d_9_input", 4, {1, 32, 32, 3}};
    const kiln_import_options o = {.shapes = &shape, .n_shapes = 1};
    kiln_arena *const a = kiln_test_arena();
    kiln_graph *g = NULL;
    kiln_tensor out;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_import(a, path, &o, &g, NULL, &err), &err);
    const kiln_tensor in = kiln_tensor_new(a, &g->inputs.v[0]->type);
    for (uint32_t i = 0; i < 32 * 32 * 3; i++) {
        uint32_t h = i * UINT32_C(0x9E3779B1) + 11 * UINT32_C(0x85EBCA77);
        h = (h ^ h >> 16) * UINT32_C(0x85ebca6b);
        h = (h ^ h >> 13) * UINT32_C(0xc2b2ae35);
        ((float *)in.data)[i] = (float)((h ^ h >> 16) >> 8) / 16777216;
    }
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, &out, &err), &err);
    assert_string_equal(g->output_names.v[0], "dense_12");
    kiln_assert_close(out.data, want, 10, 4, 1e-5);
}

/* Every convolution is imported between two transposes: what the passes leave stands
 * where the input comes in and where channels last are looked at. */
typedef struct ends_row {
    const char *name, *file;
    kiln_shape_binding shape;
    int n_transposes;
} ends_row;

static ends_row ends_rows[] = {
    {"transposes_of_emotion",
     "emotion_pb/emotion.pb",
     {"input_1", 4, {1, 64, 64, 1}},
     0},
    {"transposes_of_iris", "iris_pb/iris.pb", {"input_1", 4, {1, 64, 64, 3}}, 1},
    {"transposes_of_samplenet",
     "samplenet_pb/samplenet.pb",
     {"data", 4, {1, 3, 32, 32}},
     0},
};

static void transposes_cancel(void **state) {
    const ends_row *const r = *state;
    const char *const path =
        kiln_test_shared(kiln_format(kiln_test_arena(), "models/files/%s", r->file));
    const kiln_import_options o = {.shapes = &r->shape, .n_shapes = 1};
    kiln_arena a = {0};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_import(&a, path, &o, &g, NULL, &err), &err);
    kiln_assert_status_ok(kiln_graph_optimize(g, NULL, &err), &err);
    int n = 0;
    for (size_t i = 0; i < g->nodes.n; i++)
        n += g->nodes.v[i]->op == &kiln_op_transpose;
    kiln_arena_fini(&a);
    assert_int_equal(n, r->n_transposes);
}

int main(void) {
    kiln_test_add_rows(transposes_cancel, ends_rows);
    kiln_test_add("runs_functions_with_variables", runs_functions_with_variables, NULL);
    kiln_test_add("picks_a_branch_by_a_constant", picks_a_branch_by_a_constant, NULL);
    kiln_test_add("chooses_between_branches", chooses_between_branches, NULL);
    kiln_test_add("unrolls_a_loop_over_lists", unrolls_a_loop_over_lists, NULL);
    kiln_test_add("data_may_end_a_loop", data_may_end_a_loop, NULL);
    kiln_test_add("refuses_loops_without_end", refuses_loops_without_end, NULL);
    kiln_test_add("refuses_broken_variables", refuses_broken_variables, NULL);
    kiln_test_add("a_signature_is_chosen_by_name", a_signature_is_chosen_by_name, NULL);
    kiln_test_add("checksums_are_those_of_the_polynomial",
                  checksums_are_those_of_the_polynomial, NULL);
    kiln_test_add("refuses_links_out_of_the_folder", refuses_links_out_of_the_folder,
                  NULL);
    kiln_test_add("refuses_broken_functions", refuses_broken_functions, NULL);
    kiln_test_add("mutated_tables_end_in_a_named_error",
                  mutated_tables_end_in_a_named_error, NULL);
    kiln_test_add("real_model_is_right", real_model_is_right, NULL);
    return kiln_test_run("tensorflow_saved");
}
