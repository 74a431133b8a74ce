/* Vision transformer. Dosovitskiy et al.: An image is worth 16x16 words, ICLR 2021,
 * section 3.1 and table 1: "base", 12 layers of 768 units and 12 heads over 196 patches
 * of 16x16 and one token of the class. */
#include "zoo/sequence.h"

#include <inttypes.h>

#define FMT(...) kiln_format(net->arena, __VA_ARGS__)

enum {
    IMAGE = 224,
    PATCH = 16,
    N_PATCHES = (IMAGE / PATCH) * (IMAGE / PATCH),
    N_TOKENS = N_PATCHES + 1,
    UNITS = 768,
    N_LAYERS = 12,
    N_HEADS = 12,
    INNER = 4 * UNITS
};

static const kiln_zoo_sequence sequence = {N_TOKENS, UNITS, N_HEADS, 1e-6};

static const char *attention(kiln_zoo_net *net, const char *x, const char *name) {
    const char *part[3];
    kiln_zoo_net_query_key_value(net, x, &sequence, name, part);
    for (int i = 0; i < 3; i++)
        part[i] = kiln_zoo_net_split_heads(net, part[i], part[i], i == 1);
    const char *const y = kiln_zoo_net_attend(net, part[0], part[1], part[2], name);
    return kiln_zoo_net_dense(net, y, FMT("%s.out_proj", name), UNITS, UNITS);
}

static const char *layer(kiln_zoo_net *net, const char *x, int i) {
    const char *const name = FMT("encoder.layers.%d", i);
    const char *y =
        kiln_zoo_net_layer_norm(net, x, FMT("%s.ln_1", name), UNITS, sequence.epsilon);
    y = attention(net, y, FMT("%s.self_attention", name));
    x = kiln_zoo_net_sum(net, y, x, FMT("%s.sum_1", name));
    y = kiln_zoo_net_layer_norm(net, x, FMT("%s.ln_2", name), UNITS, sequence.epsilon);
    y = kiln_zoo_net_dense(net, y, FMT("%s.mlp.0", name), UNITS, INNER);
    y = kiln_zoo_net_gelu(net, y, FMT("%s.mlp.1", name));
    y = kiln_zoo_net_dense(net, y, FMT("%s.mlp.3", name), INNER, UNITS);
    return kiln_zoo_net_sum(net, x, y, FMT("%s.sum_2", name));
}

/* The image as a sequence of patches, behind the token of the class. */
static const char *embed(kiln_zoo_net *net) {
    static const int64_t turn[] = {0, 2, 1};
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "input", 3, IMAGE, IMAGE);
    x = kiln_zoo_net_conv(net, x, "conv_proj",
                          &(kiln_zoo_net_conv_spec){.c_out = UNITS,
                                                    .kernel = PATCH,
                                                    .stride = PATCH,
                                                    .has_bias = true,
                                                    .gain = KILN_GAIN_LINEAR});
    kiln_zoo_net_put_i64s(net, "patches", (const int64_t[]){1, UNITS, N_PATCHES}, 3);
    kiln_zoo_net_put(net, "Reshape", FMT("%s,patches", x.name), "columns");
    kiln_zoo_net_transpose(net, "columns", turn, 3, "rows");
    kiln_zoo_net_weight(net, "class_token", FMT("1,1,%d", UNITS), 0.0,
                        kiln_zoo_net_reach(KILN_GAIN_LINEAR, 1));
    kiln_zoo_net_weight(net, "encoder.pos_embedding", FMT("1,%d,%d", N_TOKENS, UNITS),
                        0.0, kiln_zoo_net_reach(KILN_GAIN_LINEAR, 1));
    kiln_zoo_net_put(net, "Concat", "class_token,rows", "tokens");
    kiln_onnx_put_attr_int(&net->w, "axis", 1);
    return kiln_zoo_net_sum(net, "tokens", "encoder.pos_embedding", "placed");
}

static void build(kiln_zoo_net *net) {
    kiln_zoo_net_put_gelu(net);
    kiln_zoo_net_put_attention(net, &sequence);
    kiln_zoo_net_put_first(net, "first");
    const char *x = embed(net);
    for (int i = 0; i < N_LAYERS; i++)
        x = layer(net, x, i);
    x = kiln_zoo_net_layer_norm(net, x, "encoder.ln", UNITS, sequence.epsilon);
    kiln_zoo_net_put(net, "Gather", FMT("%s,first", x), "class");
    kiln_onnx_put_attr_int(&net->w, "axis", 1);
    const kiln_zoo_net_value class = {"class", UNITS, 1, 1, true};
    kiln_zoo_net_output(
        net, kiln_zoo_net_linear(net, class, "heads.head", 1000, KILN_GAIN_LINEAR));
}

const kiln_zoo_network kiln_zoo_vit_b_16 = {
    .name = "vit_b_16",
    .doc = "vision transformer ViT-B/16, image classification, 224x224",
    .source = "Dosovitskiy et al., ICLR 2021; counts: torchvision, vit_b_16",
    .n_params = 86567656,
    .muladds = 17563828224,
    .published_muladds = 17.56e9,
    .published_unit = 0.01e9,
    .build = build,
};
