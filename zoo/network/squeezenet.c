/* SqueezeNet 1.1. Iandola et al.: SqueezeNet: AlexNet-level accuracy with 50x fewer
 * parameters, 2016, section 3.1, in the form of its authors' release 1.1, which pools
 * earlier and has 2.4 times fewer operations. */
#include "zoo/zoo_internal.h"

#define FMT(...) kiln_format(net->arena, __VA_ARGS__)

static kiln_zoo_net_value conv_relu(kiln_zoo_net *net, kiln_zoo_net_value x,
                                    const char *name, int64_t c, int64_t kernel) {
    x = kiln_zoo_net_conv(net, x, name,
                          &(kiln_zoo_net_conv_spec){.c_out = c,
                                                    .kernel = kernel,
                                                    .stride = 1,
                                                    .pad = kernel / 2,
                                                    .has_bias = true,
                                                    .gain = KILN_GAIN_RELU});
    return kiln_zoo_net_unary(net, x, "Relu", FMT("%s_activation", name));
}

/* Squeeze to few channels, expand by two convolutions side by side. */
static kiln_zoo_net_value fire(kiln_zoo_net *net, kiln_zoo_net_value x,
                               const char *name, int64_t squeeze, int64_t expand) {
    x = conv_relu(net, x, FMT("%s.squeeze", name), squeeze, 1);
    kiln_zoo_net_value y[2];
    y[0] = conv_relu(net, x, FMT("%s.expand1x1", name), expand, 1);
    y[1] = conv_relu(net, x, FMT("%s.expand3x3", name), expand, 3);
    return kiln_zoo_net_concat(net, y, 2, FMT("%s.concat", name));
}

static void build(kiln_zoo_net *net) {
    static const struct {
        int64_t squeeze, expand; /* 0: a pool */
    } rows[] = {{0, 0}, {16, 64},  {16, 64},  {0, 0},    {32, 128}, {32, 128},
                {0, 0}, {48, 192}, {48, 192}, {64, 256}, {64, 256}};
    enum { FIRST = 2 }; /* the layer's number: behind a convolution and its ReLU */
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "input", 3, 224, 224);
    x = kiln_zoo_net_conv(net, x, "features.0",
                          &(kiln_zoo_net_conv_spec){.c_out = 64,
                                                    .kernel = 3,
                                                    .stride = 2,
                                                    .has_bias = true,
                                                    .gain = KILN_GAIN_RELU});
    x = kiln_zoo_net_unary(net, x, "Relu", "features.1");
    for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
        const char *const name = FMT("features.%d", FIRST + i);
        x = rows[i].squeeze == 0 ? kiln_zoo_net_max_pool(net, x, name, 3, 2, 0)
                                 : fire(net, x, name, rows[i].squeeze, rows[i].expand);
    }
    x = conv_relu(net, x, "classifier.1", 1000, 1);
    x = kiln_zoo_net_global_pool(net, x, "classifier.3");
    kiln_zoo_net_output(net, kiln_zoo_net_flatten(net, x, "flatten"));
}

const kiln_zoo_network kiln_zoo_squeezenet1_1 = {
    .name = "squeezenet1_1",
    .doc = "SqueezeNet 1.1, image classification, 224x224",
    .source = "Iandola et al., 2016; counts: torchvision, squeezenet1_1",
    .n_params = 1235496,
    .muladds = 349151936,
    .published_muladds = 0.35e9,
    .published_unit = 0.01e9,
    .build = build,
};
