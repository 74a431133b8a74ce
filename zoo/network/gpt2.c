/* A language model that writes a word at a time. Radford et al.: Language models are
 * unsupervised multitask learners, 2019, table 2, smallest: 12 layers of 768 units and
 * 12 heads, 50257 words, 1024 positions. One step: a token behind a past of 512, whose
 * keys and values come in and go out again one longer, as exporters of decoders give
 * them; the step attends to all of them, so that there is no mask. The table of words
 * is that of the logits too. */
#include "zoo/sequence.h"

#define FMT(...) kiln_format(net->arena, __VA_ARGS__)

enum {
    N_PAST = 512,
    N_WORDS = 50257,
    N_POSITIONS = 1024,
    UNITS = 768,
    N_LAYERS = 12,
    N_HEADS = 12,
    HEAD = UNITS / N_HEADS,
    INNER = 4 * UNITS
};

static const kiln_zoo_sequence sequence = {1, UNITS, N_HEADS, 1e-5};

/* x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))): Hendrycks and Gimpel, 2016. */
static const char *gelu(kiln_zoo_net *net, const char *x, const char *name) {
    kiln_zoo_net_put(net, "Pow", FMT("%s,three", x), FMT("%s.cube", name));
    kiln_zoo_net_put(net, "Mul", FMT("%s.cube,cubic", name), FMT("%s.term", name));
    kiln_zoo_net_put(net, "Add", FMT("%s,%s.term", x, name), FMT("%s.inner", name));
    kiln_zoo_net_put(net, "Mul", FMT("%s.inner,slope", name), FMT("%s.in", name));
    kiln_zoo_net_put(net, "Tanh", FMT("%s.in", name), FMT("%s.tanh", name));
    kiln_zoo_net_put(net, "Add", FMT("%s.tanh,one", name), FMT("%s.sum", name));
    kiln_zoo_net_put(net, "Mul", FMT("%s,half", x), FMT("%s.half", name));
    return kiln_zoo_net_put(net, "Mul", FMT("%s.half,%s.sum", name, name), name);
}

/* What came before and what this token adds: [1,heads,past + 1,head]. */
static const char *append(kiln_zoo_net *net, const char *x, int i, const char *what) {
    const char *const past = FMT("past.%d.%s", i, what);
    const char *const present = FMT("present.%d.%s", i, what);
    kiln_onnx_put_input(&net->w, past, KILN_ONNX_FLOAT,
                        FMT("1,%d,%d,%d", N_HEADS, N_PAST, HEAD));
    kiln_zoo_net_put(net, "Concat", FMT("%s,%s", past, x), present);
    kiln_onnx_put_attr_int(&net->w, "axis", 2);
    kiln_onnx_put_output(&net->w, present, KILN_ONNX_FLOAT,
                         FMT("1,%d,%d,%d", N_HEADS, N_PAST + 1, HEAD));
    return present;
}

static const char *attention(kiln_zoo_net *net, const char *x, int i,
                             const char *name) {
    static const int64_t turn[] = {0, 1, 3, 2};
    const char *part[3];
    kiln_zoo_net_query_key_value(net, x, &sequence, name, part);
    for (int k = 0; k < 3; k++)
        part[k] = kiln_zoo_net_split_heads(net, part[k], part[k], false);
    const char *const key = kiln_zoo_net_transpose(net, append(net, part[1], i, "key"),
                                                   turn, 4, FMT("%s.keys", name));
    const char *const value = append(net, part[2], i, "value");
    const char *const y = kiln_zoo_net_attend(net, part[0], key, value, name);
    return kiln_zoo_net_dense(net, y, FMT("%s.c_proj", name), UNITS, UNITS);
}

static const char *layer(kiln_zoo_net *net, const char *x, int i) {
    const char *const name = FMT("h.%d", i);
    const char *y =
        kiln_zoo_net_layer_norm(net, x, FMT("%s.ln_1", name), UNITS, sequence.epsilon);
    y = attention(net, y, i, FMT("%s.attn", name));
    x = kiln_zoo_net_sum(net, y, x, FMT("%s.sum_1", name));
    y = kiln_zoo_net_layer_norm(net, x, FMT("%s.ln_2", name), UNITS, sequence.epsilon);
    y = kiln_zoo_net_dense(net, y, FMT("%s.mlp.c_fc", name), UNITS, INNER);
    y = gelu(net, y, FMT("%s.mlp.act", name));
    y = kiln_zoo_net_dense(net, y, FMT("%s.mlp.c_proj", name), INNER, UNITS);
    return kiln_zoo_net_sum(net, x, y, FMT("%s.sum_2", name));
}

static void put_constants(kiln_zoo_net *net) {
    kiln_zoo_net_put_scalar(net, "one", 1.0);
    kiln_zoo_net_put_scalar(net, "half", 0.5);
    kiln_zoo_net_put_scalar(net, "three", 3.0);
    kiln_zoo_net_put_scalar(net, "cubic", 0.044715);
    kiln_zoo_net_put_scalar(net, "slope", 0.79788456080286536); /* sqrt(2 / pi) */
    kiln_zoo_net_put_i64s(net, "row", (const int64_t[]){1, UNITS}, 2);
    kiln_zoo_net_put_attention(net, &sequence);
}

/* Both tables have a variance of 1 / UNITS beside activations of order one, since the
 * one of words makes the logits; the sum is brought up again by the first layer's
 * normalisation. */
static const char *embed(kiln_zoo_net *net) {
    const double reach = kiln_zoo_net_reach(KILN_GAIN_LINEAR, UNITS);
    kiln_onnx_put_input(&net->w, "tokens", KILN_ONNX_INT64, "1,1");
    kiln_onnx_put_input(&net->w, "positions", KILN_ONNX_INT64, "1,1");
    kiln_zoo_net_weight(net, "wte.weight", FMT("%d,%d", N_WORDS, UNITS), 0.0, reach);
    kiln_zoo_net_weight(net, "wpe.weight", FMT("%d,%d", N_POSITIONS, UNITS), 0.0,
                        reach);
    kiln_zoo_net_put(net, "Gather", "wte.weight,tokens", "wte");
    kiln_zoo_net_put(net, "Gather", "wpe.weight,positions", "wpe");
    return kiln_zoo_net_sum(net, "wte", "wpe", "embedded");
}

static void build(kiln_zoo_net *net) {
    put_constants(net);
    const char *x = embed(net);
    kiln_onnx_put_output(&net->w, "logits", KILN_ONNX_FLOAT, FMT("1,%d", N_WORDS));
    for (int i = 0; i < N_LAYERS; i++)
        x = layer(net, x, i);
    x = kiln_zoo_net_layer_norm(net, x, "ln_f", UNITS, sequence.epsilon);
    kiln_zoo_net_put(net, "Reshape", FMT("%s,row", x), "last");
    kiln_zoo_net_put(net, "Gemm", "last,wte.weight", "logits");
    kiln_onnx_put_attr_int(&net->w, "transB", 1);
}

const kiln_zoo_network kiln_zoo_gpt2_step = {
    .name = "gpt2_step",
    .doc = "language model GPT-2 (124M), one token behind a past of 512",
    .source = "Radford et al., 2019, smallest; parameters: Hugging Face, gpt2",
    .n_params = 124439808,
    .muladds = 132987648,
    .build = build,
};
