/* TorchScript: code of a few lines run at import. Inputs hold 0, 1, 2, ...; the outputs'
 * numbers are checked by hand. And code that is refused, damaged, or does not end. */
#include <string.h>

#include "compiler/frontend/frontend.h"
#include "compiler/reference/reference.h"
#include "tests/support/damage.h"
#include "tests/support/import/mutants.h"
#include "tests/support/model/keras_model.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/script_model.h"

enum { MAX_WANT = 12, MAX_IN = 64 };

typedef struct row {
    const char *name;
    const char *code; /* the body of forward(self, x: Tensor) -> Tensor, by lines */
    const char *rest; /* of the class or file; NULL: nothing */
    const char *out;  /* names and types: "output f32[2,2]" */
    double want[MAX_WANT]; /* of the first output */
} row;

#define ATTEND                                                                         \
    "def attend(y: Tensor, w: Tensor) -> Tensor:\n  q = torch.linear(y, w)\n"          \
    "  s = torch.div(torch.matmul(q, torch.transpose(q, 1, 2)), torch.sqrt(2))\n"      \
    "  return torch.linear(torch.matmul(torch.softmax(s, -1), q), w)\n"

static row rows[] = {
    {"members",
     "    return torch.matmul(x, self.w)\n",
     NULL,
     "output f32[2,2]",
     {3, 4, 11, 16}},
    {"constants",
     "    return torch.add(torch.flatten(x), CONSTANTS.c0)\n",
     NULL,
     "output f32[4]",
     {1, 3, 5, 7}},
    {"methods",
     "    sub = self.sub\n    return (sub).twice(x, )\n",
     "class Sub(Module):\n  k : Final[int] = 2\n"
     "  def twice(self, y: Tensor, by: int=1) -> Tensor:\n"
     "    return torch.mul(y, torch.mul(self.k, by))\n",
     "output f32[2,2]",
     {0, 2, 4, 6}},
    {"functions",
     "    _0 = __torch__.add_n\n    return _0(x, n=self.n, )\n",
     "def add_n(y: Tensor,\n    n: int) -> Tensor:\n  return torch.add(y, n)\n",
     "output f32[2,2]",
     {3, 4, 5, 6}},
    {"branches_by_shape",
     "    if torch.eq(torch.dim(x), 2):\n      y = torch.neg(x)\n    else:\n"
     "      ops.prim.RaiseException(\"no\")\n      y = uninitialized(Tensor)\n"
     "    return y\n",
     NULL,
     "output f32[2,2]",
     {-0., -1, -2, -3}},
    {"loops",
     "    y = x\n    for i in range(torch.size(x, 0)):\n      y0 = torch.add(y, i)\n"
     "      y = y0\n    k = 3\n    while torch.gt(k, 1):\n      k = torch.sub(k, 1)\n"
     "      y = torch.mul(y, 2)\n    return y\n",
     NULL,
     "output f32[2,2]",
     {4, 8, 12, 16}},
    {"loops_over_lists",
     "    a = annotate(List[Tensor], [])\n    for p in [1, 2]:\n"
     "      _0 = torch.append(a, torch.mul(x, p))\n    b, c, = a\n"
     "    return torch.sub(c, b)\n",
     NULL,
     "output f32[2,2]",
     {0, 1, 2, 3}},
    {"lists_and_slices",
     "    s = torch.slice(torch.size(x), None, 1)\n"
     "    t = torch.add(s, [-1])\n    return torch.reshape(x, t)\n",
     NULL,
     "output f32[2,2]",
     {0, 1, 2, 3}},
    {"dictionaries",
     "    d = {\"b\": x, \"a\": torch.neg(x)}\n    return d\n",
     NULL,
     "b f32[2,2], a f32[2,2]",
     {0, 1, 2, 3}},
    {"named_tuples",
     "    return __torch__.Pair(x, self.w)\n",
     "class Pair(NamedTuple):\n  left : Tensor\n  right : Tensor\n",
     "left f32[2,2], right f32[2,2]",
     {0, 1, 2, 3}},
    {"nested_tuples",
     "    return (x, (self.w, {\"k\": x}))\n",
     NULL,
     "output0 f32[2,2], output1.0 f32[2,2], output1.1.k f32[2,2]",
     {0, 1, 2, 3}},
    {"traced_sizes",
     "    n = ops.prim.NumToTensor(torch.size(x, 0))\n"
     "    m = torch.mul(n, CONSTANTS.c0)\n    k = int(torch.select(m, 0, 1))\n"
     "    return torch.view(x, [k, -1])\n",
     NULL,
     "output f32[4,1]",
     {0, 1, 2, 3}},
    {"numbers_of_tensors",
     "    a = annotate(int, torch.floor_divide(ops.prim.NumToTensor(7), 2))\n"
     "    return torch.add(x, a)\n",
     NULL,
     "output f32[2,2]",
     {3, 4, 5, 6}},
    {"writing_in_place",
     "    y = torch.clone(x)\n    z = y\n    _0 = torch.add_(y, 1)\n"
     "    return z\n",
     NULL,
     "output f32[2,2]",
     {1, 2, 3, 4}},
    {"writing_a_view",
     "    y = torch.clone(x)\n    r = torch.select(y, 1, 0)\n"
     "    _0 = torch.mul_(torch.slice(r, 0, 1, 2), 10)\n    return y\n",
     NULL,
     "output f32[2,2]",
     {0, 1, 20, 3}},
    {"writing_a_base",
     "    y = torch.clone(x)\n    t = torch.transpose(y, 0, 1)\n    _0 = torch.add_(y, "
     "1)\n"
     "    return t\n",
     NULL,
     "output f32[2,2]",
     {1, 3, 2, 4}},
    {"copying_into_a_view",
     "    y = torch.clone(x)\n"
     "    _0 = torch.copy_(torch.select(y, 0, 1), torch.tensor([7, 8]))\n    return "
     "y\n",
     NULL,
     "output f32[2,2]",
     {0, 1, 7, 8}},
    {"writing_a_transposed_view",
     "    y = torch.clone(x)\n    _0 = torch.mul_(torch.select(torch.transpose(y, 0, "
     "1), 0, "
     "0), 5)\n    return y\n",
     NULL,
     "output f32[2,2]",
     {0, 1, 10, 3}},
    {"writing_one_of_several",
     "    y = torch.clone(x)\n    a, b, = torch.chunk(y, 2, 1)\n"
     "    c, d, = torch.unbind(y)\n    e, f, = torch.split(y, [1, 1], -1)\n"
     "    _0 = torch.add_(b, 10)\n    _1 = torch.mul_(d, 2)\n    _2 = torch.sub_(e, "
     "1)\n"
     "    return y\n",
     NULL,
     "output f32[2,2]",
     {-1, 11, 3, 26}},
    {"writing_a_permuted_view",
     "    y = torch.reshape(torch.clone(x), [1, 2, 2])\n"
     "    _0 = torch.select(torch.permute(y, [2, 0, 1]), 0, 1)\n"
     "    _1 = torch.mul_(_0, 10)\n    return y\n",
     NULL,
     "output f32[1,2,2]",
     {0, 10, 2, 30}},
    {"writing_a_copy",
     "    y = torch.contiguous(torch.permute(x, [1, 0]))\n"
     "    _0 = torch.add_(torch.select(y, 0, 0), 1)\n    return y\n",
     NULL,
     "output f32[2,2]",
     {1, 3, 1, 3}},
    {"copies_are_no_views",
     "    y = torch.to(x, torch.device(\"cpu\"), 6, False, True)\n"
     "    z = torch.to(x, 6)\n    _0 = torch.add_(y, 5)\n"
     "    _1 = torch.add_(z, 1)\n    return x\n",
     NULL,
     "output f32[2,2]",
     {1, 2, 3, 4}},
    {"cosine_similarity",
     "    y = torch.cosine_similarity(x, self.w, 1)\n"
     "    return torch.round(torch.mul(y, 1000))\n",
     NULL,
     "output f32[2]",
     {894, 998}},
    {"nan_to_num",
     "    y = torch.div(torch.sub(x, 1), torch.sub(x, x))\n"
     "    return torch.nan_to_num(y, 5, 7)\n",
     NULL,
     "output f32[2,2]",
     {-3.4028234663852886e38, 5, 7, 7}},
    {"count_nonzero",
     "    return torch.mul(torch.count_nonzero(x, [1]), 1.)\n",
     NULL,
     "output f32[2]",
     {1, 2}},
    {"distances",
     "    return torch.round(torch.mul(torch.cdist(x, self.w), 1000))\n",
     NULL,
     "output f32[2,2]",
     {1414, 4243, 1414, 1414}},
    {"broadcast_tensors",
     "    a, b, = torch.broadcast_tensors([x, torch.tensor([10., 20.])])\n"
     "    return torch.add(a, b)\n",
     NULL,
     "output f32[2,2]",
     {10, 21, 12, 23}},
    {"padding_by_a_word",
     "    y = torch.reshape(x, [1, 1, 2, 2])\n"
     "    z = torch._convolution_mode(y, torch.ones([1, 1, 2, 2]), None, [1, 1], "
     "\"same\", [1, 1], 1)\n    return z\n",
     NULL,
     "output f32[1,1,2,2]",
     {6, 4, 5, 3}},
    {"weight_norm",
     "    w = torch._weight_norm(self.w, torch.reshape(torch.tensor([5., 10.]), [2, "
     "1]), "
     "0)\n    y = torch.mul(w, w)\n    return torch.round(torch.sum(y, [1]))\n",
     NULL,
     "output f32[2]",
     {25, 100}},
    {"dropout_of_no_training",
     "    y = torch.view(x, [4])\n    _0 = torch.dropout_(y, 0.5, False)\n    return "
     "y\n",
     NULL,
     "output f32[4]",
     {0, 1, 2, 3}},
    {"objects_of_the_code",
     "    b = __torch__.Box.__new__(__torch__.Box)\n    _0 = (b).__init__(x, )\n"
     "    b.v = torch.add(b.v, 1)\n    return (b).get()\n",
     "class Box:\n  v : Tensor\n  def __init__(self, v: Tensor) -> NoneType:\n"
     "    self.v = v\n    return None\n  def get(self) -> Tensor:\n    return self.v\n",
     "output f32[2,2]",
     {1, 2, 3, 4}},
    {"texts_and_conditions",
     "    a = \"x\\n\" if torch.lt(1, 2.) else \"y\"\n"
     "    if a == 'x\\012' and not torch.__contains__([1, 2], 3) or False:\n"
     "      y : Optional[Tensor] = torch.mul(x, -inf if 2 ** 3 == 9 else 2)\n"
     "    else:\n      y = None\n    return unchecked_cast(Tensor, y)\n",
     NULL,
     "output f32[2,2]",
     {0, 2, 4, 6}},
    /* torch's fused layers are what their parts are: 1 where the difference is small. */
    {"fused_attention",
     "    y = torch.unsqueeze(x, 0)\n    w = self.w\n"
     "    a, b, = torch._native_multi_head_attention(y, y, y, 2, 1, torch.cat([w, w, "
     "w]), "
     "torch.zeros([6]), w, torch.zeros([2]), None, False, True, None)\n"
     "    c = __torch__.attend(y, w)\n"
     "    return torch.mul(torch.lt(torch.abs(torch.sub(a, c)), 0.0001), 1.)\n",
     ATTEND,
     "output f32[1,2,2]",
     {1, 1, 1, 1}},
    {"fused_encoder_layers",
     "    y = torch.unsqueeze(x, 0)\n    w = self.w\n    z = torch.zeros([2])\n"
     "    a = torch._transformer_encoder_layer_fwd(y, 2, 1, torch.cat([w, w, w]), "
     "torch.zeros([6]), w, z, True, False, 0.1, z, w[0], w[1], z, w, z, w, z, None, "
     "None)\n"
     "    s = torch.layer_norm(torch.add(y, __torch__.attend(y, w)), [2], z, w[0], "
     "0.1)\n"
     "    f = torch.linear(torch.gelu(torch.linear(s, w)), w)\n"
     "    c = torch.layer_norm(torch.add(s, f), [2], w[1], z, 0.1)\n"
     "    return torch.mul(torch.lt(torch.abs(torch.sub(a, c)), 0.0001), 1.)\n",
     ATTEND,
     "output f32[1,2,2]",
     {1, 1, 1, 1}},
    {"values_of_kinds",
     "    if isinstance(x, Tensor):\n      y = torch.max(x, 1)\n    else:\n      pass\n"
     "    v, i, = y\n    return torch.add(v, torch.size(i, 0))\n",
     NULL,
     "output f32[2]",
     {3, 5}},
};

/* forward in a class, and the rest behind it. */
static const char *code_of(kiln_arena *a, const char *body, const char *rest) {
    return kiln_format(
        a,
        "class Net(Module):\n  __parameters__ = [\"w\", ]\n  w : Tensor\n"
        "  n : int\n  def forward(self: __torch__.Net,\n    x: Tensor) "
        "-> Tensor:\n%s%s",
        body, rest != NULL ? rest : "");
}

static const kiln_shape_binding two_by_two = {"x", 2, {2, 2}};
static const kiln_import_options options = {.shapes = &two_by_two, .n_shapes = 1};

static char *outputs_of(kiln_arena *a, const kiln_graph *g) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    for (size_t i = 0; i < g->outputs.n; i++)
        kiln_buf_printf(&b, "%s%s %s", i > 0 ? ", " : "", g->output_names.v[i],
                        kiln_type_text(a, &g->outputs.v[i]->type));
    return b.p;
}

static void check(void **state) {
    const row *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_import_report report;
    float in[MAX_IN];
    for (int i = 0; i < MAX_IN; i++)
        in[i] = (float)i;
    kiln_assert_status_ok(
        kiln_test_import_script(&a, kiln_test_script(&a, code_of(&a, r->code, r->rest)),
                                &options, &g, &report, &err),
        &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    assert_string_equal(outputs_of(&a, g), r->out);
    kiln_tensor x = {g->inputs.v[0]->type, in};
    kiln_tensor *const y = kiln_array(&a, kiln_tensor, g->outputs.n);
    kiln_assert_status_ok(kiln_ref_run(&a, g, &x, 1, y, &err), &err);
    kiln_wide w = kiln_wide_new(&a, &y[0].type);
    kiln_widen(&y[0].type, y[0].data, &w);
    for (int64_t i = 0; i < kiln_type_elems(&y[0].type); i++) {
        const float got = (float)w.f[i], want = (float)r->want[i];
        kiln_assert_close(&got, &want, 1, 2, 0);
    }
    kiln_arena_fini(&a);
}

/* ---- what is refused -------------------------------------------------------------- */

typedef struct refused {
    const char *name, *code, *rest;
    kiln_status want;
    const char *text[2];
} refused;

static refused refusals[] = {
    {"unknown_operators_at_once",
     "    y = torch.foo(x)\n    z = ops.mine.bar(y)\n    return torch.foo(z)\n",
     NULL,
     KILN_ERR_UNSUPPORTED,
     {"2 operators are not read: foo (2 times, ", "mine::bar (1 time, first in node "
                                                  "'code/__torch__.py:8')"}},
    {"conditions_on_data",
     "    if bool(torch.any(torch.gt(x, 0))):\n      y = x\n"
     "    else:\n      y = x\n    return y\n",
     NULL,
     KILN_ERR_UNSUPPORTED,
     {"it depends on graph input 'x'; fix its value with --bind x=...",
      "running 'forward' (code/__torch__.py, line 7)"}},
    {"loops_without_end",
     "    while True:\n      y = 1\n    return x\n",
     NULL,
     KILN_ERR_LIMIT,
     {"the code takes more than 4194304 steps; does it have a loop"}},
    {"functions_of_themselves",
     "    return (self).again(x, )\n",
     "  def again(self, x: Tensor) -> Tensor:\n    return (self).again(x, )\n",
     KILN_ERR_LIMIT,
     {"calls are nested deeper than 100"}},
    {"quantized",
     "    return ops.quantized.conv2d(x, 1., 0)\n",
     NULL,
     KILN_ERR_UNSUPPORTED,
     {"quantized operator 'ops.quantized.conv2d' is not read; save the float model"}},
    {"custom_classes",
     "    return __torch__.torch.classes.mine.Op(x)\n",
     NULL,
     KILN_ERR_UNSUPPORTED,
     {"custom class '__torch__.torch.classes.mine.Op' is not read"}},
    {"exceptions_of_the_model",
     "    ops.prim.RaiseException(torch.format(\"bad {}\", torch.size(x)))\n"
     "    return x\n",
     NULL,
     KILN_ERR_SHAPE,
     {"the model refuses these inputs: 'bad [2, 2]'"}},
    {"pools_that_keep_an_empty_axis",
     "    y = torch.reshape(torch.slice(x, 0, 0, 0, 1), [1, 1, 0, 2])\n"
     "    return torch.adaptive_avg_pool2d(y, [None, 2])\n",
     NULL,
     KILN_ERR_SHAPE,
     {"'output_size' must be 2 numbers of 1 or more"}},
    {"missing_code",
     "    return __torch__.other.f(x, )\n",
     NULL,
     KILN_ERR_PARSE,
     {"the archive has no code of '__torch__.other.f'"}},
    {"missing_members",
     "    return self.v\n",
     NULL,
     KILN_ERR_PARSE,
     {"an object of '__torch__.Net' has no member 'v'"}},
    {"missing_constants",
     "    return CONSTANTS.c9\n",
     NULL,
     KILN_ERR_PARSE,
     {"the archive has no constant 'c9'"}},
    {"names_without_a_value",
     "    return y\n",
     NULL,
     KILN_ERR_PARSE,
     {"'y' has no value here", "line 7"}},
    {"values_that_are_not_set",
     "    return torch.relu(uninitialized(Tensor))\n",
     NULL,
     KILN_ERR_PARSE,
     {"an argument is no tensor"}},
    {"stale_views",
     "    y = torch.clone(x)\n    c = torch.contiguous(y)\n    _0 = torch.add_(y, 1)\n"
     "    return c\n",
     NULL,
     KILN_ERR_UNSUPPORTED,
     {"a view or a copy (contiguous) of one that was written in place since"}},
    {"no_tensors",
     "    return 1\n",
     NULL,
     KILN_ERR_UNSUPPORTED,
     {"forward gives no tensor for these inputs"}},
    {"syntax", "    return (x\n", NULL, KILN_ERR_PARSE, {"code/__torch__.py:8"}},
    {"statements_that_are_not_read",
     "    with x:\n      pass\n    return x\n",
     NULL,
     KILN_ERR_UNSUPPORTED,
     {"code/__torch__.py:7: 'with' is not read"}},
    {"characters",
     "    return x ? 1\n",
     NULL,
     KILN_ERR_PARSE,
     {"a character that TorchScript does not have"}},
    {"divisions_by_zero",
     "    return torch.add(x, torch.floordiv(1, 0))\n",
     NULL,
     KILN_ERR_SHAPE,
     {"the code divides by zero"}},
    {"numbers_past_64_bits",
     "    return torch.add(x, torch.mul(9223372036854775807, 2))\n",
     NULL,
     KILN_ERR_LIMIT,
     {"an integer needs more than 64 bits"}},
    {"lists_without_end",
     "    a = [1]\n    while True:\n      a = torch.add(a, a)\n",
     NULL,
     KILN_ERR_LIMIT,
     {""}},
};

static void check_refused(void **state) {
    const refused *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const kiln_str bytes = kiln_test_script(&a, code_of(&a, r->code, r->rest));
    kiln_assert_fails(kiln_test_import_script(&a, bytes, &options, &g, NULL, &err),
                      r->want, &err, r->text[0]);
    if (r->text[1] != NULL && strstr(err.text, r->text[1]) == NULL)
        fail_msg("'%s' is not in: %s", r->text[1], err.text);
    assert_null(g);
    kiln_arena_fini(&a);
}

/* ---- inputs ------------------------------------------------------------------------ */

static void shapes_are_asked_for(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const kiln_str bytes =
        kiln_test_script(&a, code_of(&a, "    return torch.relu(x)\n", NULL));
    kiln_assert_fails(
        kiln_test_import_script(&a, bytes, NULL, &g, NULL, &err), KILN_ERR_SHAPE, &err,
        "1 graph input is dynamic: 'x' of any rank; bind them, for example "
        "--shape x:1x3x224x224");
    kiln_arena_fini(&a);
}

static void indices_are_integers(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    const kiln_str bytes =
        kiln_test_script(&a, code_of(&a,
                                     "    y = torch.unsqueeze(x, 0)\n"
                                     "    return torch.embedding(self.w, y)\n",
                                     NULL));
    kiln_assert_status_ok(kiln_test_import_script(&a, bytes, &options, &g, NULL, &err),
                          &err);
    assert_string_equal(kiln_type_text(&a, &g->inputs.v[0]->type), "i64[2,2]");
    assert_string_equal(outputs_of(&a, g), "output f32[1,2,2,2]");
    kiln_arena_fini(&a);
}

static const char several[] =
    "class Net(Module):\n"
    "  def forward(self, x: List[Tensor], h: Tuple[Tensor, Tensor], m: "
    "Optional[Tensor]=None, k: int=2) -> Tensor:\n"
    "    a, b, = h\n    y = torch.cat(x, 0)\n    if torch.__isnot__(m, None):\n"
    "      y = torch.mul(y, unchecked_cast(Tensor, m))\n    else:\n      pass\n"
    "    return torch.add(torch.mul(y, k), torch.sub(a, b))\n";

static void lists_and_tuples_are_several_inputs(void **state) {
    (void)state;
    static const kiln_shape_binding shapes[] = {{"x.0", 2, {1, 2}},
                                                {"x.1", 2, {2, 2}},
                                                {"h.0", 1, {2}},
                                                {"h.1", 1, {2}},
                                                {"m", 1, {1}}};
    kiln_arena a = {0};
    kiln_err err = {0};
    for (size_t n = 4; n <= 5; n++) {
        kiln_graph *g = NULL;
        const kiln_import_options o = {.shapes = shapes, .n_shapes = n};
        kiln_assert_status_ok(kiln_test_import_script(&a, kiln_test_script(&a, several),
                                                      &o, &g, NULL, &err),
                              &err);
        assert_int_equal(g->inputs.n, n);
        assert_string_equal(g->inputs.v[1]->name, "x.1");
        assert_string_equal(outputs_of(&a, g), "output f32[3,2]");
    }
    kiln_arena_fini(&a);
}

/* ---- what torch.save writes ------------------------------------------------------ */

/* As an archive, and as torch wrote it until 1.6. */
static void weights_alone_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *path, *says;
    } files[] = {{"models/files/cifar_net_pth/cifar_net.pth",
                  "it is a state dict of torch.save: weights by name (8 tensors, "
                  "first 'conv1.weight'"},
                 {"models/files/samplenet_pth/samplenet.pth",
                  "it is a state dict of torch.save: weights by name (10 tensors, "
                  "first 'conv1.weight', f32[6,3,5,5])"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        kiln_graph *g = NULL;
        kiln_assert_fails(
            kiln_import(&a, kiln_test_shared(files[i].path), NULL, &g, NULL, &err),
            KILN_ERR_UNSUPPORTED, &err, files[i].says);
        assert_non_null(strstr(err.text, "torch.jit.save(torch.jit.trace("));
        kiln_arena_fini(&a);
    }
}

/* Behind the magic number those of the format, 1001, and of the machine, {}. */
#define OLD_HEAD                                                                       \
    "\x80\x02\x8a\x0al\xfc\x9c"                                                        \
    "F\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}."

static void old_files_of_other_things_are_refused(void **state) {
    (void)state;
    const struct {
        kiln_str bytes;
        const char *says;
    } files[] = {
        {KILN_STR_LIT(OLD_HEAD "\x80\x02"
                               "cmodels.net\nNet\n)\x81}b."),
         "needs 'models.net.Net' of Python, whose code is not in the file"},
        {KILN_STR_LIT(OLD_HEAD "\x80\x02]."),
         "it is what torch.save writes: objects of Python"},
        {KILN_STR_LIT(OLD_HEAD), "it is what torch.save writes: objects of Python"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        kiln_graph *g = NULL;
        kiln_assert_fails(
            kiln_test_import_script(&a, files[i].bytes, NULL, &g, NULL, &err),
            KILN_ERR_UNSUPPORTED, &err, files[i].says);
        kiln_arena_fini(&a);
    }
}

static void pickled_modules_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {"net/data.pkl", "net/version"};
    const kiln_str bytes[] = {KILN_STR_LIT("\x80\x02"
                                           "cmodels.net\nNet\n)\x81}b."),
                              KILN_STR_LIT("3\n")};
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_fails(
        kiln_test_import_script(&a, kiln_test_zip(&a, names, bytes, 2), NULL, &g, NULL,
                                &err),
        KILN_ERR_UNSUPPORTED, &err,
        "needs 'models.net.Net' of Python, whose code is not in the file");
    kiln_arena_fini(&a);
}

/* ---- damage -------------------------------------------------------------------------- */

/* Words and numbers of the code change their places; the archive's bytes change. */
static void damaged_archives_are_no_harm(void **state) {
    (void)state;
    const int64_t n_mutants = kiln_test_cases(600);
    enum { N_ROWS = sizeof rows / sizeof rows[0] };
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int64_t i = 0; i < n_mutants; i++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        kiln_graph *g = NULL;
        const row *const r = &rows[i % N_ROWS];
        char *const code = kiln_str_dup(&a, code_of(&a, r->code, r->rest));
        size_t n = strlen(code);
        if (i % 2 == 0)
            kiln_test_damage(&rng, code, &n);
        code[n] = '\0';
        kiln_str bytes = kiln_test_script(&a, code);
        char *const p = kiln_arena_dup(&a, bytes.p, bytes.n);
        if (i % 2 != 0)
            kiln_test_damage(&rng, p, &bytes.n);
        const kiln_status st = kiln_test_import_script(&a, (kiln_str){p, bytes.n},
                                                       &options, &g, NULL, &err);
        if (st == KILN_OK)
            kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
        else
            assert_int_equal(err.status, st);
        kiln_arena_fini(&a);
    }
}

static kiln_status import_mutant(kiln_arena *a, kiln_str bytes, const void *user,
                                 kiln_graph **g, kiln_err *err) {
    (void)user;
    return kiln_test_import_script(a, bytes, &options, g, NULL, err);
}

static kiln_status import_code(kiln_arena *a, kiln_str code, const void *user,
                               kiln_graph **g, kiln_err *err) {
    return import_mutant(a, kiln_test_script(a, kiln_str_dupv(a, code)), user, g, err);
}

static void mutations_end_in_a_named_error(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    const char *const code = code_of(a, rows[0].code, rows[0].rest);
    const kiln_test_mutants archive = {.file = "importing 'net.pt'",
                                       .whole = kiln_test_script(a, code),
                                       .import = import_mutant};
    const kiln_test_mutants text = {.file = "importing 'net.pt'",
                                    .whole = kiln_str_from(code),
                                    .import = import_code,
                                    .alphabet = "0123456789-\"[](),.:= \nx_"};
    kiln_test_mutants_end(&archive, KILN_TEST_MUTANTS);
    kiln_test_mutants_end(&text, KILN_TEST_MUTANTS);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add_rows(check_refused, refusals);
    kiln_test_add("shapes_are_asked_for", shapes_are_asked_for, NULL);
    kiln_test_add("indices_are_integers", indices_are_integers, NULL);
    kiln_test_add("lists_and_tuples_are_several_inputs",
                  lists_and_tuples_are_several_inputs, NULL);
    kiln_test_add("weights_alone_are_refused", weights_alone_are_refused, NULL);
    kiln_test_add("pickled_modules_are_refused", pickled_modules_are_refused, NULL);
    kiln_test_add("old_files_of_other_things_are_refused",
                  old_files_of_other_things_are_refused, NULL);
    kiln_test_add("damaged_archives_are_no_harm", damaged_archives_are_no_harm, NULL);
    kiln_test_add("mutations_end_in_a_named_error", mutations_end_in_a_named_error,
                  NULL);
    return kiln_test_run("pytorch_script");
}
