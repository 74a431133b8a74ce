/* VGG-11 to VGG-19. Simonyan and Zisserman: Very deep convolutional networks for
 * large-scale image recognition, ICLR 2015, table 1, columns A, B, D and E. */
#include "zoo/zoo_internal.h"

enum { N_STAGES = 5 };

/* Stages of so many convolutions, each with a pool behind it. */
static void build_vgg(kiln_zoo_net *net, const int n_convs[N_STAGES]) {
    static const int64_t channels[N_STAGES] = {64, 128, 256, 512, 512};
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "input", 3, 224, 224);
    int at = 0; /* the layer's number, as exporters count: convolution, ReLU, pool */
    for (int i = 0; i < N_STAGES; i++) {
        for (int k = 0; k < n_convs[i]; k++) {
            x = kiln_zoo_net_conv(net, x, kiln_format(net->arena, "features.%d", at++),
                                  &(kiln_zoo_net_conv_spec){.c_out = channels[i],
                                                            .kernel = 3,
                                                            .stride = 1,
                                                            .pad = 1,
                                                            .has_bias = true,
                                                            .gain = KILN_GAIN_RELU});
            x = kiln_zoo_net_unary(net, x, "Relu",
                                   kiln_format(net->arena, "features.%d", at++));
        }
        x = kiln_zoo_net_max_pool(net, x, kiln_format(net->arena, "features.%d", at++),
                                  2, 2, 0);
    }
    x = kiln_zoo_net_flatten(net, x, "flatten");
    x = kiln_zoo_net_linear(net, x, "classifier.0", 4096, KILN_GAIN_RELU);
    x = kiln_zoo_net_unary(net, x, "Relu", "classifier.1");
    x = kiln_zoo_net_linear(net, x, "classifier.3", 4096, KILN_GAIN_RELU);
    x = kiln_zoo_net_unary(net, x, "Relu", "classifier.4");
    kiln_zoo_net_output(
        net, kiln_zoo_net_linear(net, x, "classifier.6", 1000, KILN_GAIN_LINEAR));
}

static void build_11(kiln_zoo_net *net) {
    build_vgg(net, (const int[]){1, 1, 2, 2, 2});
}

static void build_13(kiln_zoo_net *net) {
    build_vgg(net, (const int[]){2, 2, 2, 2, 2});
}

static void build_16(kiln_zoo_net *net) {
    build_vgg(net, (const int[]){2, 2, 3, 3, 3});
}

static void build_19(kiln_zoo_net *net) {
    build_vgg(net, (const int[]){2, 2, 4, 4, 4});
}

const kiln_zoo_network kiln_zoo_vgg11 = {
    .name = "vgg11",
    .doc = "VGG-11, image classification, 224x224",
    .source = "Simonyan and Zisserman, ICLR 2015; counts: torchvision, vgg11",
    .n_params = 132863336,
    .muladds = 7609090048,
    .published_muladds = 7.61e9,
    .published_unit = 0.01e9,
    .build = build_11,
};

const kiln_zoo_network kiln_zoo_vgg13 = {
    .name = "vgg13",
    .doc = "VGG-13, image classification, 224x224",
    .source = "Simonyan and Zisserman, ICLR 2015; counts: torchvision, vgg13",
    .n_params = 133047848,
    .muladds = 11308466176,
    .published_muladds = 11.31e9,
    .published_unit = 0.01e9,
    .build = build_13,
};

const kiln_zoo_network kiln_zoo_vgg16 = {
    .name = "vgg16",
    .doc = "VGG-16, image classification, 224x224",
    .source = "Simonyan and Zisserman, ICLR 2015; counts: torchvision, vgg16",
    .n_params = 138357544,
    .muladds = 15470264320,
    .published_muladds = 15.47e9,
    .published_unit = 0.01e9,
    .build = build_16,
};

const kiln_zoo_network kiln_zoo_vgg19 = {
    .name = "vgg19",
    .doc = "VGG-19, image classification, 224x224",
    .source = "Simonyan and Zisserman, ICLR 2015; counts: torchvision, vgg19",
    .n_params = 143667240,
    .muladds = 19632062464,
    .published_muladds = 19.63e9,
    .published_unit = 0.01e9,
    .build = build_19,
};
