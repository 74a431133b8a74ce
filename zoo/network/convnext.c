/* ConvNeXt-T. Liu et al.: A ConvNet for the 2020s, CVPR 2022, table 9 and figure 4: depthwise
 * convolutions of 7x7, and what follows over channels that lie last, as exporters write
 * it: turned there and back. */
#include "zoo/sequence.h"

#include <inttypes.h>

#define FMT(...) kiln_format(net->arena, __VA_ARGS__)

enum { N_STAGES = 4, WIDER = 4 };

static const double epsilon = 1e-6;

/* Channels last, and back. */
static const int64_t there[] = {0, 2, 3, 1}, back[] = {0, 3, 1, 2};

static kiln_zoo_net_value norm(kiln_zoo_net *net, kiln_zoo_net_value x,
                               const char *name) {
    kiln_zoo_net_transpose(net, x.name, there, 4, FMT("%s.there", name));
    kiln_zoo_net_layer_norm(net, FMT("%s.there", name), name, x.c, epsilon);
    x.name = kiln_zoo_net_transpose(net, name, back, 4, FMT("%s.back", name));
    return x;
}

static kiln_zoo_net_value block(kiln_zoo_net *net, kiln_zoo_net_value x,
                                const char *name) {
    kiln_zoo_net_value y =
        kiln_zoo_net_conv(net, x, FMT("%s.block.0", name),
                          &(kiln_zoo_net_conv_spec){.c_out = x.c,
                                                    .kernel = 7,
                                                    .stride = 1,
                                                    .pad = 3,
                                                    .groups = x.c,
                                                    .has_bias = true,
                                                    .gain = KILN_GAIN_LINEAR});
    const char *const scale = FMT("%s.layer_scale", name);
    const char *z =
        kiln_zoo_net_transpose(net, y.name, there, 4, FMT("%s.block.1", name));
    z = kiln_zoo_net_layer_norm(net, z, FMT("%s.block.2", name), x.c, epsilon);
    z = kiln_zoo_net_dense(net, z, FMT("%s.block.3", name), x.c, WIDER * x.c);
    z = kiln_zoo_net_gelu(net, z, FMT("%s.block.4", name));
    z = kiln_zoo_net_dense(net, z, FMT("%s.block.5", name), WIDER * x.c, x.c);
    z = kiln_zoo_net_transpose(net, z, back, 4, FMT("%s.block.6", name));
    kiln_zoo_net_weight(net, scale, FMT("%" PRId64 ",1,1", x.c), 1.0, 0.2);
    y.name =
        kiln_zoo_net_put(net, "Mul", FMT("%s,%s", scale, z), FMT("%s.scaled", name));
    return kiln_zoo_net_add(net, y, x, FMT("%s.add", name));
}

static kiln_zoo_net_value patches(kiln_zoo_net *net, kiln_zoo_net_value x,
                                  const char *name, int64_t c, int64_t size) {
    return kiln_zoo_net_conv(net, x, name,
                             &(kiln_zoo_net_conv_spec){.c_out = c,
                                                       .kernel = size,
                                                       .stride = size,
                                                       .has_bias = true,
                                                       .gain = KILN_GAIN_LINEAR});
}

static void build(kiln_zoo_net *net) {
    static const int n_blocks[N_STAGES] = {3, 3, 9, 3};
    enum { CHANNELS = 96 };
    kiln_zoo_net_put_gelu(net);
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "input", 3, 224, 224);
    x = patches(net, x, "features.0.0", CHANNELS, 4);
    x = norm(net, x, "features.0.1");
    for (int i = 0; i < N_STAGES; i++) {
        if (i > 0) {
            x = norm(net, x, FMT("features.%d.0", 2 * i));
            x = patches(net, x, FMT("features.%d.1", 2 * i), 2 * x.c, 2);
        }
        for (int k = 0; k < n_blocks[i]; k++)
            x = block(net, x, FMT("features.%d.%d", 2 * i + 1, k));
    }
    x = kiln_zoo_net_global_pool(net, x, "avgpool");
    x = norm(net, x, "classifier.0");
    x = kiln_zoo_net_flatten(net, x, "classifier.1");
    kiln_zoo_net_output(
        net, kiln_zoo_net_linear(net, x, "classifier.2", 1000, KILN_GAIN_LINEAR));
}

const kiln_zoo_network kiln_zoo_convnext_tiny = {
    .name = "convnext_tiny",
    .doc = "ConvNeXt-T, image classification, 224x224",
    .source = "Liu et al., CVPR 2022; counts: torchvision, convnext_tiny",
    .n_params = 28589128,
    .muladds = 4455531264,
    .published_muladds = 4.46e9,
    .published_unit = 0.01e9,
    .build = build,
};
