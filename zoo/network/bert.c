/* Encoders of text. Devlin et al.: BERT, 2018, in the sizes of Turc et al.: Well-read
 * students learn better, 2019, table 1: "mini" has 4 layers of 256 units and 4 heads.
 * One sequence of 128 tokens, one segment, nothing padded: what classifies a short
 * text. Attention is written as exporters of training frameworks do: products,
 * transposes, a softmax. */
#include "zoo/zoo_internal.h"

#include <math.h>

enum {
    N_TOKENS = 128,
    N_WORDS = 30522,
    N_POSITIONS = 512,
    UNITS = 256,
    N_LAYERS = 4,
    N_HEADS = 4,
    HEAD = UNITS / N_HEADS,
    INNER = 4 * UNITS
};

static void put_i64s(kiln_zoo_net *net, const char *name, const int64_t *v, size_t n) {
    kiln_onnx_put_initializer(&net->w,
                              kiln_onnx_raw_tensor(net->arena, name, KILN_ONNX_INT64,
                                                   kiln_format(net->arena, "%zu", n), v,
                                                   n * sizeof v[0]));
}

/* y = op(x), of as many inputs as it takes. */
static const char *put(kiln_zoo_net *net, const char *op, const char *in,
                       const char *name) {
    kiln_onnx_put_node(&net->w, op, name, in, name);
    return name;
}

static const char *transpose(kiln_zoo_net *net, const char *x, const int64_t *perm,
                             size_t rank, const char *name) {
    put(net, "Transpose", x, name);
    kiln_onnx_put_attr_ints(&net->w, "perm", perm, rank);
    return name;
}

/* The last dimension becomes n_out. */
static const char *linear(kiln_zoo_net *net, const char *x, const char *name, int n_in,
                          int n_out) {
    kiln_arena *const a = net->arena;
    kiln_zoo_net_weight(net, kiln_format(a, "%s.weight", name),
                        kiln_format(a, "%d,%d", n_in, n_out), 0.0,
                        kiln_zoo_net_reach(KILN_GAIN_LINEAR, n_in));
    kiln_zoo_net_weight(net, kiln_format(a, "%s.bias", name),
                        kiln_format(a, "%d", n_out), 0.0, 0.05);
    put(net, "MatMul", kiln_format(a, "%s,%s.weight", x, name),
        kiln_format(a, "%s.product", name));
    return put(net, "Add", kiln_format(a, "%s.product,%s.bias", name, name), name);
}

static const char *layer_norm(kiln_zoo_net *net, const char *x, const char *name) {
    kiln_arena *const a = net->arena;
    const char *const units = kiln_format(a, "%d", UNITS);
    kiln_zoo_net_weight(net, kiln_format(a, "%s.weight", name), units, 1.0, 0.2);
    kiln_zoo_net_weight(net, kiln_format(a, "%s.bias", name), units, 0.0, 0.05);
    put(net, "LayerNormalization",
        kiln_format(a, "%s,%s.weight,%s.bias", x, name, name), name);
    kiln_onnx_put_attr_int(&net->w, "axis", -1);
    kiln_onnx_put_attr_float(&net->w, "epsilon", 1e-12f);
    return name;
}

/* [1,tokens,units] to [1,heads,tokens,head], or [1,heads,head,tokens] for keys. */
static const char *heads(kiln_zoo_net *net, const char *x, const char *name,
                         bool is_key) {
    static const int64_t rows[] = {0, 2, 1, 3}, columns[] = {0, 2, 3, 1};
    kiln_arena *const a = net->arena;
    const char *const y = linear(net, x, name, UNITS, UNITS);
    put(net, "Reshape", kiln_format(a, "%s,heads", y),
        kiln_format(a, "%s.heads", name));
    return transpose(net, kiln_format(a, "%s.heads", name), is_key ? columns : rows, 4,
                     kiln_format(a, "%s.turned", name));
}

static const char *attention(kiln_zoo_net *net, const char *x, const char *name) {
    static const int64_t back[] = {0, 2, 1, 3};
    kiln_arena *const a = net->arena;
    const char *const q = heads(net, x, kiln_format(a, "%s.query", name), false);
    const char *const k = heads(net, x, kiln_format(a, "%s.key", name), true);
    const char *const v = heads(net, x, kiln_format(a, "%s.value", name), false);
    put(net, "MatMul", kiln_format(a, "%s,%s", q, k), kiln_format(a, "%s.raw", name));
    put(net, "Div", kiln_format(a, "%s.raw,root_of_head", name),
        kiln_format(a, "%s.scores", name));
    put(net, "Softmax", kiln_format(a, "%s.scores", name),
        kiln_format(a, "%s.shares", name));
    kiln_onnx_put_attr_int(&net->w, "axis", -1);
    put(net, "MatMul", kiln_format(a, "%s.shares,%s", name, v),
        kiln_format(a, "%s.mixed", name));
    transpose(net, kiln_format(a, "%s.mixed", name), back, 4,
              kiln_format(a, "%s.back", name));
    put(net, "Reshape", kiln_format(a, "%s.back,units", name),
        kiln_format(a, "%s.joined", name));
    return linear(net, kiln_format(a, "%s.joined", name),
                  kiln_format(a, "%s.output", name), UNITS, UNITS);
}

/* x / 2 * (1 + erf(x / sqrt 2)), in the nodes that exporters write. */
static const char *gelu(kiln_zoo_net *net, const char *x, const char *name) {
    kiln_arena *const a = net->arena;
    put(net, "Div", kiln_format(a, "%s,root_of_two", x), kiln_format(a, "%s.in", name));
    put(net, "Erf", kiln_format(a, "%s.in", name), kiln_format(a, "%s.erf", name));
    put(net, "Add", kiln_format(a, "%s.erf,one", name), kiln_format(a, "%s.sum", name));
    put(net, "Mul", kiln_format(a, "%s,%s.sum", x, name),
        kiln_format(a, "%s.twice", name));
    return put(net, "Mul", kiln_format(a, "%s.twice,half", name), name);
}

static const char *layer(kiln_zoo_net *net, const char *x, int i) {
    kiln_arena *const a = net->arena;
    const char *const name = kiln_format(a, "layer.%d", i);
    const char *y = attention(net, x, kiln_format(a, "%s.attention", name));
    put(net, "Add", kiln_format(a, "%s,%s", y, x),
        kiln_format(a, "%s.attention.sum", name));
    x = layer_norm(net, kiln_format(a, "%s.attention.sum", name),
                   kiln_format(a, "%s.attention.norm", name));
    y = linear(net, x, kiln_format(a, "%s.inner", name), UNITS, INNER);
    y = gelu(net, y, kiln_format(a, "%s.gelu", name));
    y = linear(net, y, kiln_format(a, "%s.outer", name), INNER, UNITS);
    put(net, "Add", kiln_format(a, "%s,%s", y, x), kiln_format(a, "%s.sum", name));
    return layer_norm(net, kiln_format(a, "%s.sum", name),
                      kiln_format(a, "%s.norm", name));
}

/* Of the table of segments only the row of the first is there: the others are never
 * read, and exporters fold it. */
static const char *embeddings(kiln_zoo_net *net) {
    static const struct {
        const char *name;
        int rows;
    } table[] = {{"word", N_WORDS}, {"position", N_POSITIONS}, {"segment", 1}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        kiln_zoo_net_weight(net, kiln_format(net->arena, "%s.weight", table[i].name),
                            kiln_format(net->arena, "%d,%d", table[i].rows, UNITS), 0.0,
                            kiln_zoo_net_reach(KILN_GAIN_LINEAR, 1));
    put(net, "Gather", "word.weight,tokens", "word");
    put(net, "Slice", "position.weight,zero,n_tokens,zero", "position");
    put(net, "Add", "word,position", "placed");
    put(net, "Add", "placed,segment.weight", "embedded");
    return layer_norm(net, "embedded", "embedding.norm");
}

static void constants(kiln_zoo_net *net) {
    static const struct {
        const char *name;
        double v;
    } scalar[] = {{"one", 1.0}, {"half", 0.5}};
    for (size_t i = 0; i < sizeof scalar / sizeof scalar[0]; i++)
        kiln_onnx_put_uniform(&net->w, scalar[i].name, "", 0, scalar[i].v, scalar[i].v);
    kiln_onnx_put_uniform(&net->w, "root_of_two", "", 0, sqrt(2.0), sqrt(2.0));
    kiln_onnx_put_uniform(&net->w, "root_of_head", "", 0, sqrt(HEAD), sqrt(HEAD));
    put_i64s(net, "zero", (const int64_t[]){0}, 1);
    put_i64s(net, "n_tokens", (const int64_t[]){N_TOKENS}, 1);
    put_i64s(net, "heads", (const int64_t[]){1, N_TOKENS, N_HEADS, HEAD}, 4);
    put_i64s(net, "units", (const int64_t[]){1, N_TOKENS, UNITS}, 3);
}

static void build(kiln_zoo_net *net) {
    kiln_arena *const a = net->arena;
    kiln_onnx_put_input(&net->w, "tokens", KILN_ONNX_INT64,
                        kiln_format(a, "1,%d", N_TOKENS));
    constants(net);
    const char *x = embeddings(net);
    for (int i = 0; i < N_LAYERS; i++)
        x = layer(net, x, i);
    put(net, "Gather", kiln_format(a, "%s,first", x), "first_token");
    kiln_onnx_put_attr_int(&net->w, "axis", 1);
    kiln_onnx_put_initializer(&net->w, kiln_onnx_raw_tensor(a, "first", KILN_ONNX_INT64,
                                                            "", &(const int64_t){0},
                                                            sizeof(int64_t)));
    linear(net, "first_token", "pooler", UNITS, UNITS);
    put(net, "Tanh", "pooler", "pooled");
    kiln_onnx_put_output(&net->w, x, KILN_ONNX_FLOAT,
                         kiln_format(a, "1,%d,%d", N_TOKENS, UNITS));
    kiln_onnx_put_output(&net->w, "pooled", KILN_ONNX_FLOAT,
                         kiln_format(a, "1,%d", UNITS));
}

const kiln_zoo_network kiln_zoo_bert_mini = {
    .name = "bert_mini",
    .doc = "text encoder, 4 transformer layers of 256, 128 tokens",
    .source = "Turc et al., 2019, mini; counts follow from Devlin et al., 2018",
    .n_params = 11170304,
    .muladds = 436273152,
    .build = build,
};
