/* VGG-16. Simonyan and Zisserman: Very deep convolutional networks for large-scale
 * image recognition, ICLR 2015, table 1, column D. */
#include "zoo/zoo_internal.h"

static void build(kiln_zoo_net *net) {
    enum { POOL = 0 };
    static const int64_t channels[] = {64,  64,   POOL, 128,  128, POOL,
                                       256, 256,  256,  POOL, 512, 512,
                                       512, POOL, 512,  512,  512, POOL};
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "input", 3, 224, 224);
    int at = 0; /* the layer's number, as exporters count: convolution, ReLU, pool */
    for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++) {
        const char *const name = kiln_format(net->arena, "features.%d", at++);
        if (channels[i] == POOL) {
            x = kiln_zoo_net_max_pool(net, x, name, 2, 2, 0);
            continue;
        }
        x = kiln_zoo_net_conv(net, x, name,
                              &(kiln_zoo_net_conv_spec){.c_out = channels[i],
                                                        .kernel = 3,
                                                        .stride = 1,
                                                        .pad = 1,
                                                        .has_bias = true,
                                                        .gain = KILN_GAIN_RELU});
        x = kiln_zoo_net_unary(net, x, "Relu",
                               kiln_format(net->arena, "features.%d", at++));
    }
    x = kiln_zoo_net_flatten(net, x, "flatten");
    x = kiln_zoo_net_linear(net, x, "classifier.0", 4096, KILN_GAIN_RELU);
    x = kiln_zoo_net_unary(net, x, "Relu", "classifier.1");
    x = kiln_zoo_net_linear(net, x, "classifier.3", 4096, KILN_GAIN_RELU);
    x = kiln_zoo_net_unary(net, x, "Relu", "classifier.4");
    kiln_zoo_net_output(
        net, kiln_zoo_net_linear(net, x, "classifier.6", 1000, KILN_GAIN_LINEAR));
}

const kiln_zoo_network kiln_zoo_vgg16 = {
    .name = "vgg16",
    .doc = "VGG-16, image classification, 224x224",
    .source = "Simonyan and Zisserman, ICLR 2015; counts: torchvision, vgg16",
    .n_params = 138357544,
    .muladds = 15470264320,
    .published_muladds = 15.47e9,
    .published_unit = 0.01e9,
    .build = build,
};
