/* DenseNet-121 to DenseNet-201. Huang, Liu, van der Maaten, Weinberger: Densely connected
 * convolutional networks, CVPR 2017, table 1: each layer of a block reads what all
 * layers before it made, side by side. */
#include "zoo/zoo_internal.h"

#define FMT(...) kiln_format(net->arena, __VA_ARGS__)

enum { N_BLOCKS = 4, WIDTH = 4 /* of the 1x1 convolution, in growths */ };

typedef struct densenet {
    int64_t growth, c; /* channels that a layer adds; of the first convolution */
    int n_layers[N_BLOCKS];
} densenet;

/* Here normalisation and activation come before the convolution. */
static kiln_zoo_net_value norm_relu_conv(kiln_zoo_net *net, kiln_zoo_net_value x,
                                         const char *block, const char *suffix,
                                         int64_t c, int64_t kernel) {
    x = kiln_zoo_net_batch_norm(net, x, FMT("%s.norm%s", block, suffix), 1.0);
    x = kiln_zoo_net_unary(net, x, "Relu", FMT("%s.relu%s", block, suffix));
    return kiln_zoo_net_conv(net, x, FMT("%s.conv%s", block, suffix),
                             &(kiln_zoo_net_conv_spec){.c_out = c,
                                                       .kernel = kernel,
                                                       .stride = 1,
                                                       .pad = kernel / 2,
                                                       .gain = KILN_GAIN_RELU});
}

static kiln_zoo_net_value dense_block(kiln_zoo_net *net, kiln_zoo_net_value x,
                                      const densenet *d, int i) {
    const char *const block = FMT("features.denseblock%d", i + 1);
    for (int k = 0; k < d->n_layers[i]; k++) {
        const char *const layer = FMT("%s.denselayer%d", block, k + 1);
        kiln_zoo_net_value y = norm_relu_conv(net, x, layer, "1", WIDTH * d->growth, 1);
        y = norm_relu_conv(net, y, layer, "2", d->growth, 3);
        x = kiln_zoo_net_concat(net, (const kiln_zoo_net_value[]){x, y}, 2,
                                FMT("%s.concat", layer));
    }
    return x;
}

static void build_densenet(kiln_zoo_net *net, const densenet *d) {
    const kiln_zoo_net_conv_spec stem = {
        .c_out = d->c, .kernel = 7, .stride = 2, .pad = 3, .gain = KILN_GAIN_RELU};
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "input", 3, 224, 224);
    x = kiln_zoo_net_conv(net, x, "features.conv0", &stem);
    x = kiln_zoo_net_batch_norm(net, x, "features.norm0", 1.0);
    x = kiln_zoo_net_unary(net, x, "Relu", "features.relu0");
    x = kiln_zoo_net_max_pool(net, x, "features.pool0", 3, 2, 1);
    for (int i = 0; i < N_BLOCKS; i++) {
        x = dense_block(net, x, d, i);
        if (i == N_BLOCKS - 1)
            break;
        const char *const name = FMT("features.transition%d", i + 1);
        x = norm_relu_conv(net, x, name, "", x.c / 2, 1);
        x = kiln_zoo_net_avg_pool(net, x, FMT("%s.pool", name), 2, 2, 0);
    }
    x = kiln_zoo_net_batch_norm(net, x, "features.norm5", 1.0);
    x = kiln_zoo_net_unary(net, x, "Relu", "relu");
    x = kiln_zoo_net_global_pool(net, x, "avgpool");
    x = kiln_zoo_net_flatten(net, x, "flatten");
    kiln_zoo_net_output(
        net, kiln_zoo_net_linear(net, x, "classifier", 1000, KILN_GAIN_LINEAR));
}

static void build_121(kiln_zoo_net *net) {
    build_densenet(net, &(const densenet){32, 64, {6, 12, 24, 16}});
}

static void build_161(kiln_zoo_net *net) {
    build_densenet(net, &(const densenet){48, 96, {6, 12, 36, 24}});
}

static void build_169(kiln_zoo_net *net) {
    build_densenet(net, &(const densenet){32, 64, {6, 12, 32, 32}});
}

static void build_201(kiln_zoo_net *net) {
    build_densenet(net, &(const densenet){32, 64, {6, 12, 48, 32}});
}

const kiln_zoo_network kiln_zoo_densenet121 = {
    .name = "densenet121",
    .doc = "DenseNet-121, image classification, 224x224",
    .source = "Huang et al., CVPR 2017; counts: torchvision, densenet121",
    .n_params = 7978856,
    .muladds = 2834161664,
    .published_muladds = 2.83e9,
    .published_unit = 0.01e9,
    .build = build_121,
};

const kiln_zoo_network kiln_zoo_densenet161 = {
    .name = "densenet161",
    .doc = "DenseNet-161, image classification, 224x224",
    .source = "Huang et al., CVPR 2017; counts: torchvision, densenet161",
    .n_params = 28681000,
    .muladds = 7727907072,
    .published_muladds = 7.73e9,
    .published_unit = 0.01e9,
    .build = build_161,
};

const kiln_zoo_network kiln_zoo_densenet169 = {
    .name = "densenet169",
    .doc = "DenseNet-169, image classification, 224x224",
    .source = "Huang et al., CVPR 2017; counts: torchvision, densenet169",
    .n_params = 14149480,
    .muladds = 3359843328,
    .published_muladds = 3.36e9,
    .published_unit = 0.01e9,
    .build = build_169,
};

const kiln_zoo_network kiln_zoo_densenet201 = {
    .name = "densenet201",
    .doc = "DenseNet-201, image classification, 224x224",
    .source = "Huang et al., CVPR 2017; counts: torchvision, densenet201",
    .n_params = 20013928,
    .muladds = 4291365888,
    .published_muladds = 4.29e9,
    .published_unit = 0.01e9,
    .build = build_201,
};
