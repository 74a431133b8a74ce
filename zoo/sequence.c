/* Layers of transformers: see sequence.h. Vaswani et al.: Attention is all you need,
 * 2017, section 3.2; Ba, Kiros, Hinton: Layer normalization, 2016; Hendrycks and
 * Gimpel: Gaussian error linear units, 2016. */
#include "zoo/sequence.h"

#include <inttypes.h>
#include <math.h>

#define FMT(...) kiln_format(net->arena, __VA_ARGS__)

const char *kiln_zoo_net_put(kiln_zoo_net *net, const char *op, const char *inputs,
                             const char *name) {
    kiln_onnx_put_node(&net->w, op, name, inputs, name);
    return name;
}

const char *kiln_zoo_net_transpose(kiln_zoo_net *net, const char *x,
                                   const int64_t *perm, size_t rank, const char *name) {
    KILN_ASSERT(rank > 0 && perm[0] >= 0 && (size_t)perm[0] < rank, "'%s' turns", name);
    kiln_zoo_net_put(net, "Transpose", x, name);
    kiln_onnx_put_attr_ints(&net->w, "perm", perm, rank);
    return name;
}

void kiln_zoo_net_put_i64s(kiln_zoo_net *net, const char *name, const int64_t *v,
                           size_t n) {
    kiln_onnx_put_initializer(&net->w,
                              kiln_onnx_raw_tensor(net->arena, name, KILN_ONNX_INT64,
                                                   FMT("%zu", n), v, n * sizeof v[0]));
}

void kiln_zoo_net_put_first(kiln_zoo_net *net, const char *name) {
    const int64_t zero = 0;
    kiln_onnx_put_initializer(&net->w,
                              kiln_onnx_raw_tensor(net->arena, name, KILN_ONNX_INT64,
                                                   "", &zero, sizeof zero));
}

void kiln_zoo_net_put_scalar(kiln_zoo_net *net, const char *name, double v) {
    kiln_onnx_put_uniform(&net->w, name, "", 0, v, v);
}

void kiln_zoo_net_put_attention(kiln_zoo_net *net, const kiln_zoo_sequence *s) {
    KILN_ASSERT(s->n_heads > 0 && s->units % s->n_heads == 0 && s->n_tokens > 0,
                "%" PRId64 " units of %" PRId64 " heads", s->units, s->n_heads);
    const int64_t head = s->units / s->n_heads;
    kiln_zoo_net_put_scalar(net, "root_of_head", sqrt((double)head));
    kiln_zoo_net_put_i64s(net, "heads",
                          (const int64_t[]){1, s->n_tokens, s->n_heads, head}, 4);
    kiln_zoo_net_put_i64s(net, "units", (const int64_t[]){1, s->n_tokens, s->units}, 3);
}

void kiln_zoo_net_put_gelu(kiln_zoo_net *net) {
    kiln_zoo_net_put_scalar(net, "one", 1.0);
    kiln_zoo_net_put_scalar(net, "half", 0.5);
    kiln_zoo_net_put_scalar(net, "root_of_two", sqrt(2.0));
}

static void put_dense_weight(kiln_zoo_net *net, const char *name, int64_t n_in,
                             int64_t n_out) {
    kiln_zoo_net_weight(net, FMT("%s.weight", name),
                        FMT("%" PRId64 ",%" PRId64, n_in, n_out), 0.0,
                        kiln_zoo_net_reach(KILN_GAIN_LINEAR, n_in));
}

const char *kiln_zoo_net_dense(kiln_zoo_net *net, const char *x, const char *name,
                               int64_t n_in, int64_t n_out) {
    put_dense_weight(net, name, n_in, n_out);
    kiln_zoo_net_weight(net, FMT("%s.bias", name), FMT("%" PRId64, n_out), 0.0, 0.05);
    kiln_zoo_net_put(net, "MatMul", FMT("%s,%s.weight", x, name),
                     FMT("%s.product", name));
    return kiln_zoo_net_put(net, "Add", FMT("%s.product,%s.bias", name, name), name);
}

const char *kiln_zoo_net_product(kiln_zoo_net *net, const char *x, const char *name,
                                 int64_t n_in, int64_t n_out) {
    put_dense_weight(net, name, n_in, n_out);
    return kiln_zoo_net_put(net, "MatMul", FMT("%s,%s.weight", x, name), name);
}

const char *kiln_zoo_net_layer_norm(kiln_zoo_net *net, const char *x, const char *name,
                                    int64_t units, double epsilon) {
    const char *const shape = FMT("%" PRId64, units);
    kiln_zoo_net_weight(net, FMT("%s.weight", name), shape, 1.0, 0.2);
    kiln_zoo_net_weight(net, FMT("%s.bias", name), shape, 0.0, 0.05);
    kiln_zoo_net_put(net, "LayerNormalization",
                     FMT("%s,%s.weight,%s.bias", x, name, name), name);
    kiln_onnx_put_attr_int(&net->w, "axis", -1);
    kiln_onnx_put_attr_float(&net->w, "epsilon", (float)epsilon);
    return name;
}

const char *kiln_zoo_net_gelu(kiln_zoo_net *net, const char *x, const char *name) {
    kiln_zoo_net_put(net, "Div", FMT("%s,root_of_two", x), FMT("%s.in", name));
    kiln_zoo_net_put(net, "Erf", FMT("%s.in", name), FMT("%s.erf", name));
    kiln_zoo_net_put(net, "Add", FMT("%s.erf,one", name), FMT("%s.sum", name));
    kiln_zoo_net_put(net, "Mul", FMT("%s,%s.sum", x, name), FMT("%s.twice", name));
    return kiln_zoo_net_put(net, "Mul", FMT("%s.twice,half", name), name);
}

const char *kiln_zoo_net_split_heads(kiln_zoo_net *net, const char *x, const char *name,
                                     bool is_key) {
    static const int64_t rows[] = {0, 2, 1, 3}, columns[] = {0, 2, 3, 1};
    kiln_zoo_net_put(net, "Reshape", FMT("%s,heads", x), FMT("%s.heads", name));
    return kiln_zoo_net_transpose(net, FMT("%s.heads", name), is_key ? columns : rows,
                                  4, FMT("%s.turned", name));
}

const char *kiln_zoo_net_attend(kiln_zoo_net *net, const char *q, const char *k,
                                const char *v, const char *name) {
    static const int64_t back[] = {0, 2, 1, 3};
    kiln_zoo_net_put(net, "MatMul", FMT("%s,%s", q, k), FMT("%s.raw", name));
    kiln_zoo_net_put(net, "Div", FMT("%s.raw,root_of_head", name),
                     FMT("%s.scores", name));
    kiln_zoo_net_put(net, "Softmax", FMT("%s.scores", name), FMT("%s.shares", name));
    kiln_onnx_put_attr_int(&net->w, "axis", -1);
    kiln_zoo_net_put(net, "MatMul", FMT("%s.shares,%s", name, v),
                     FMT("%s.mixed", name));
    kiln_zoo_net_transpose(net, FMT("%s.mixed", name), back, 4, FMT("%s.back", name));
    return kiln_zoo_net_put(net, "Reshape", FMT("%s.back,units", name),
                            FMT("%s.joined", name));
}

void kiln_zoo_net_query_key_value(kiln_zoo_net *net, const char *x,
                                  const kiln_zoo_sequence *s, const char *name,
                                  const char *out[3]) {
    static const char *const part[] = {"query", "key", "value"};
    const char *const all =
        kiln_zoo_net_dense(net, x, FMT("%s.qkv", name), s->units, 3 * s->units);
    for (int i = 0; i < 3; i++)
        out[i] = FMT("%s.%s", name, part[i]);
    kiln_onnx_put_node(&net->w, "Split", FMT("%s.split", name), all,
                       FMT("%s,%s,%s", out[0], out[1], out[2]));
    kiln_onnx_put_attr_int(&net->w, "axis", -1);
}

const char *kiln_zoo_net_sum(kiln_zoo_net *net, const char *x, const char *y,
                             const char *name) {
    return kiln_zoo_net_put(net, "Add", FMT("%s,%s", x, y), name);
}
