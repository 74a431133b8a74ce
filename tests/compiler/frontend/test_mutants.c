/* 300 mutants of a file of ONNX and of both kinds of PyTorch's: each is refused by an
 * error that names the file, or is still a model. Other formats' are with their
 * malformed files. */
#include <string.h>

#include "compiler/frontend/frontend.h"
#include "compiler/frontend/frontend_internal.h"
#include "tests/support/kiln_test.h"
#include "tests/support/import/mutants.h"
#include "tests/support/model/onnx_writer.h"
#include "tests/support/model/pt2_model.h"
#include "tests/support/model/script_model.h"

/* ---- ONNX ------------------------------------------------------------------------- */

static kiln_status import_onnx(kiln_arena *a, kiln_str bytes, const void *user,
                               kiln_graph **g, kiln_err *err) {
    (void)user;
    return kiln_import_onnx_bytes(a, bytes, "mutant.onnx", NULL, NULL, g, NULL, err);
}

static void of_onnx(void **state) {
    (void)state;
    static const float w[] = {1, -2, 0.5f, 4, 2, 1};
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, kiln_test_arena(), "g");
    kiln_onnx_put_input(&m, "x", KILN_ONNX_FLOAT, "2,3");
    kiln_onnx_put_initializer(
        &m, kiln_onnx_float_tensor(kiln_test_arena(), "w", "3,2", w, 6));
    kiln_onnx_put_node(&m, "MatMul", "m", "x,w", "a");
    kiln_onnx_put_node(&m, "Relu", "r", "a", "b");
    kiln_onnx_put_node(&m, "Transpose", "t", "b", "c");
    kiln_onnx_put_node(&m, "Softmax", "s", "c", "y");
    kiln_onnx_put_output(&m, "y", KILN_ONNX_FLOAT, "2,2");
    const kiln_test_mutants mutants = {.file = "mutant.onnx",
                                       .whole = kiln_onnx_finish_model(&m, 8, 13),
                                       .import = import_onnx};
    kiln_test_mutants_end(&mutants, KILN_TEST_MUTANTS);
}

/* ---- PyTorch ---------------------------------------------------------------------- */

static const kiln_test_pt2_tensor tensors[] = {
    {.name = "x", .dims = "1,2,4,4"},
    {.name = "w", .dims = "2,2,1,1", .numbers = "1 2 3 4"}};
static const char nodes[] = "c = aten.conv2d.default(input=x, weight=w)\n"
                            "r = aten.relu.default(self=c)\n"
                            "v = aten.view.default(self=r, size=[2, -1])\n"
                            "y = aten.add.Tensor(self=v, other=2, alpha=2)";

static kiln_status import_pt2(kiln_arena *a, kiln_str bytes, const void *user,
                              kiln_graph **g, kiln_err *err) {
    (void)user;
    return kiln_frontend_pytorch.import(a, bytes, "mutant.pt2", NULL, NULL, g, NULL,
                                        err);
}

static void of_a_program(void **state) {
    (void)state;
    const kiln_test_mutants mutants = {
        .file = "mutant.pt2",
        .whole = kiln_test_pt2(kiln_test_arena(), tensors, 2, nodes, "y"),
        .import = import_pt2};
    kiln_test_mutants_end(&mutants, KILN_TEST_MUTANTS / 2);
}

static kiln_status import_json(kiln_arena *a, kiln_str json, const void *user,
                               kiln_graph **g, kiln_err *err) {
    (void)user;
    return import_pt2(a, kiln_test_pt2_of_json(a, kiln_str_dupv(a, json)), NULL, g,
                      err);
}

/* Without weights, which a file of JSON alone has not. */
static void of_a_program_s_json(void **state) {
    (void)state;
    const char *const json =
        kiln_test_pt2_json(kiln_test_arena(), tensors, 1,
                           "r = aten.relu.default(self=x)\n"
                           "v = aten.view.default(self=r, size=[2, -1])\n"
                           "y = aten.add.Tensor(self=v, other=2, alpha=2)",
                           "y");
    const kiln_test_mutants mutants = {.file = "mutant.pt2",
                                       .whole = kiln_str_from(json),
                                       .import = import_json,
                                       .alphabet = "{}[]\",:0129-tfax_. "};
    kiln_test_mutants_end(&mutants, KILN_TEST_MUTANTS / 2);
}

static kiln_status import_script(kiln_arena *a, kiln_str code, const void *user,
                                 kiln_graph **g, kiln_err *err) {
    static const kiln_shape_binding x = {"x", 2, {2, 2}};
    static const kiln_import_options o = {.shapes = &x, .n_shapes = 1};
    kiln_import_report report;
    (void)user;
    return kiln_test_import_script(a, kiln_test_script(a, kiln_str_dupv(a, code)), &o,
                                   g, &report, err);
}

static void of_a_script(void **state) {
    (void)state;
    const kiln_test_mutants mutants = {
        .file = "net.pt",
        .whole = KILN_STR_LIT(
            "class Net(Module):\n  __parameters__ = [\"w\", ]\n  w : Tensor\n"
            "  n : int\n  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n"
            "    w = self.w\n    a = torch.matmul(x, w)\n    b = torch.relu(a)\n"
            "    if torch.gt(torch.dim(b), 1):\n      c = torch.flatten(b, 0, 1)\n"
            "    else:\n      c = b\n    return torch.softmax(c, -1)\n"),
        .import = import_script,
        .alphabet = "abwx01 \n.,()[]:=\""};
    kiln_test_mutants_end(&mutants, KILN_TEST_MUTANTS);
}

int main(void) {
    kiln_test_add("of_onnx", of_onnx, NULL);
    kiln_test_add("of_a_program", of_a_program, NULL);
    kiln_test_add("of_a_program_s_json", of_a_program_s_json, NULL);
    kiln_test_add("of_a_script", of_a_script, NULL);
    return kiln_test_run("mutants");
}
