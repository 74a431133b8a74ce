/* Whisper's encoder of speech. Radford et al.: Robust speech recognition via large-scale
 * weak supervision, 2022, section 2.2 and table 1: "tiny", 4 layers of 384 units and 6
 * heads over 30 seconds of sound, 3000 frames of 80 mel bands; two convolutions, the
 * second with a stride of 2, leave 1500. Keys have no bias. The table of positions, made
 * of sines in the publication, is drawn here as the rest is. */
#include "zoo/sequence.h"

#define FMT(...) kiln_format(net->arena, __VA_ARGS__)

enum {
    N_BANDS = 80,
    N_FRAMES = 3000,
    N_TOKENS = N_FRAMES / 2,
    UNITS = 384,
    N_LAYERS = 4,
    N_HEADS = 6,
    INNER = 4 * UNITS
};

static const kiln_zoo_sequence sequence = {N_TOKENS, UNITS, N_HEADS, 1e-5};

/* Along time, of three frames: [1,n_in,frames] to [1,units,frames / stride]. */
static const char *conv(kiln_zoo_net *net, const char *x, const char *name, int n_in,
                        int64_t stride) {
    static const int64_t one = 1, kernel = 3, pads[] = {1, 1};
    kiln_zoo_net_weight(net, FMT("%s.weight", name), FMT("%d,%d,3", UNITS, n_in), 0.0,
                        kiln_zoo_net_reach(KILN_GAIN_GELU, 3 * (int64_t)n_in));
    kiln_zoo_net_weight(net, FMT("%s.bias", name), FMT("%d", UNITS), 0.0, 0.05);
    kiln_zoo_net_put(net, "Conv", FMT("%s,%s.weight,%s.bias", x, name, name), name);
    kiln_onnx_put_attr_ints(&net->w, "dilations", &one, 1);
    kiln_onnx_put_attr_int(&net->w, "group", 1);
    kiln_onnx_put_attr_ints(&net->w, "kernel_shape", &kernel, 1);
    kiln_onnx_put_attr_ints(&net->w, "strides", &stride, 1);
    kiln_onnx_put_attr_ints(&net->w, "pads", pads, 2);
    return kiln_zoo_net_gelu(net, name, FMT("%s.gelu", name));
}

static const char *attention(kiln_zoo_net *net, const char *x, const char *name) {
    const char *q = kiln_zoo_net_dense(net, x, FMT("%s.q_proj", name), UNITS, UNITS);
    const char *k = kiln_zoo_net_product(net, x, FMT("%s.k_proj", name), UNITS, UNITS);
    const char *v = kiln_zoo_net_dense(net, x, FMT("%s.v_proj", name), UNITS, UNITS);
    q = kiln_zoo_net_split_heads(net, q, q, false);
    k = kiln_zoo_net_split_heads(net, k, k, true);
    v = kiln_zoo_net_split_heads(net, v, v, false);
    const char *const y = kiln_zoo_net_attend(net, q, k, v, name);
    return kiln_zoo_net_dense(net, y, FMT("%s.out_proj", name), UNITS, UNITS);
}

static const char *layer(kiln_zoo_net *net, const char *x, int i) {
    const char *const name = FMT("layers.%d", i);
    const char *y = kiln_zoo_net_layer_norm(
        net, x, FMT("%s.self_attn_layer_norm", name), UNITS, sequence.epsilon);
    y = attention(net, y, FMT("%s.self_attn", name));
    x = kiln_zoo_net_sum(net, x, y, FMT("%s.self_attn.sum", name));
    y = kiln_zoo_net_layer_norm(net, x, FMT("%s.final_layer_norm", name), UNITS,
                                sequence.epsilon);
    y = kiln_zoo_net_dense(net, y, FMT("%s.fc1", name), UNITS, INNER);
    y = kiln_zoo_net_gelu(net, y, FMT("%s.gelu", name));
    y = kiln_zoo_net_dense(net, y, FMT("%s.fc2", name), INNER, UNITS);
    return kiln_zoo_net_sum(net, x, y, FMT("%s.sum", name));
}

static void build(kiln_zoo_net *net) {
    static const int64_t turn[] = {0, 2, 1};
    kiln_onnx_put_input(&net->w, "mel", KILN_ONNX_FLOAT,
                        FMT("1,%d,%d", N_BANDS, N_FRAMES));
    kiln_zoo_net_put_gelu(net);
    kiln_zoo_net_put_attention(net, &sequence);
    const char *x = conv(net, "mel", "conv1", N_BANDS, 1);
    x = conv(net, x, "conv2", UNITS, 2);
    x = kiln_zoo_net_transpose(net, x, turn, 3, "frames");
    kiln_zoo_net_weight(net, "embed_positions.weight", FMT("%d,%d", N_TOKENS, UNITS),
                        0.0, kiln_zoo_net_reach(KILN_GAIN_LINEAR, 1));
    x = kiln_zoo_net_sum(net, x, "embed_positions.weight", "placed");
    for (int i = 0; i < N_LAYERS; i++)
        x = layer(net, x, i);
    x = kiln_zoo_net_layer_norm(net, x, "layer_norm", UNITS, sequence.epsilon);
    kiln_onnx_put_output(&net->w, x, KILN_ONNX_FLOAT, FMT("1,%d,%d", N_TOKENS, UNITS));
}

const kiln_zoo_network kiln_zoo_whisper_tiny_encoder = {
    .name = "whisper_tiny_encoder",
    .doc = "speech encoder of Whisper tiny, 3000 mel frames",
    .source = "Radford et al., 2022, tiny; counts follow from its text",
    .n_params = 8208384,
    .muladds = 18468864000,
    .build = build,
};
