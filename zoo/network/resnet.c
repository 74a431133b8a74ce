/* ResNet-18 to ResNet-152. He, Zhang, Ren, Sun: Deep residual learning for image
 * recognition, CVPR 2016, table 1; with the stride in the 3x3 convolution of a
 * bottleneck, as the models that torchvision publishes have it. */
#include "zoo/network/resnet.h"

#include <math.h>

/* A sum of a block's input and its branch has the second moment of both. With the
 * branch's last scale at one half each block adds a quarter: 16 blocks stay of order
 * one (Goyal et al., 2017, section 5.1, start it at 0 for training). Where there are
 * more, each adds less. */
static double branch_scale_of(const int n_blocks[KILN_RESNET_STAGES]) {
    int n = 0;
    for (int i = 0; i < KILN_RESNET_STAGES; i++)
        n += n_blocks[i];
    return n <= 16 ? 0.5 : 2.0 / sqrt(n);
}

static kiln_zoo_net_value conv_norm(kiln_zoo_net *net, kiln_zoo_net_value x,
                                    const char *block, const char *conv,
                                    const char *norm,
                                    const kiln_zoo_net_conv_spec *spec, double scale) {
    x = kiln_zoo_net_conv(net, x, kiln_zoo_net_join(net, block, conv), spec);
    return kiln_zoo_net_batch_norm(net, x, kiln_zoo_net_join(net, block, norm), scale);
}

static kiln_zoo_net_value relu(kiln_zoo_net *net, kiln_zoo_net_value x,
                               const char *block, const char *name) {
    return kiln_zoo_net_unary(net, x, "Relu", kiln_zoo_net_join(net, block, name));
}

static kiln_zoo_net_value join_branch(kiln_zoo_net *net, kiln_zoo_net_value x,
                                      kiln_zoo_net_value y, const char *block,
                                      int64_t stride) {
    if (stride != 1 || x.c != y.c)
        x = conv_norm(
            net, x, block, "downsample.0", "downsample.1",
            &(kiln_zoo_net_conv_spec){
                .c_out = y.c, .kernel = 1, .stride = stride, .gain = KILN_GAIN_LINEAR},
            1.0);
    return kiln_zoo_net_add(net, y, x, kiln_zoo_net_join(net, block, "add"));
}

static kiln_zoo_net_value basic_block(kiln_zoo_net *net, kiln_zoo_net_value x,
                                      const char *block, int64_t c, int64_t stride,
                                      double branch_scale) {
    const kiln_zoo_net_conv_spec first = {.c_out = c,
                                          .kernel = 3,
                                          .stride = stride,
                                          .pad = 1,
                                          .gain = KILN_GAIN_RELU},
                                 last = {.c_out = c,
                                         .kernel = 3,
                                         .stride = 1,
                                         .pad = 1,
                                         .gain = KILN_GAIN_LINEAR};
    kiln_zoo_net_value y = conv_norm(net, x, block, "conv1", "bn1", &first, 1.0);
    y = relu(net, y, block, "relu1");
    y = conv_norm(net, y, block, "conv2", "bn2", &last, branch_scale);
    return relu(net, join_branch(net, x, y, block, stride), block, "relu2");
}

static kiln_zoo_net_value bottleneck(kiln_zoo_net *net, kiln_zoo_net_value x,
                                     const char *block, int64_t c, int64_t stride,
                                     double branch_scale) {
    const kiln_zoo_net_conv_spec
        narrow = {.c_out = c, .kernel = 1, .stride = 1, .gain = KILN_GAIN_RELU},
        middle = {.c_out = c,
                  .kernel = 3,
                  .stride = stride,
                  .pad = 1,
                  .gain = KILN_GAIN_RELU},
        wide = {.c_out = 4 * c, .kernel = 1, .stride = 1, .gain = KILN_GAIN_LINEAR};
    kiln_zoo_net_value y = conv_norm(net, x, block, "conv1", "bn1", &narrow, 1.0);
    y = relu(net, y, block, "relu1");
    y = conv_norm(net, y, block, "conv2", "bn2", &middle, 1.0);
    y = relu(net, y, block, "relu2");
    y = conv_norm(net, y, block, "conv3", "bn3", &wide, branch_scale);
    return relu(net, join_branch(net, x, y, block, stride), block, "relu3");
}

kiln_zoo_net_value kiln_resnet_stem(kiln_zoo_net *net, kiln_zoo_net_value x) {
    const kiln_zoo_net_conv_spec stem = {
        .c_out = 64, .kernel = 7, .stride = 2, .pad = 3, .gain = KILN_GAIN_RELU};
    x = conv_norm(net, x, "", "conv1", "bn1", &stem, 1.0);
    x = relu(net, x, "", "relu");
    return kiln_zoo_net_max_pool(net, x, "maxpool", 3, 2, 1);
}

kiln_zoo_net_value kiln_resnet_stage(kiln_zoo_net *net, kiln_zoo_net_value x,
                                     kiln_resnet_block block,
                                     const int n_blocks[KILN_RESNET_STAGES], int i) {
    const double scale = branch_scale_of(n_blocks);
    for (int k = 0; k < n_blocks[i]; k++) {
        const char *const name = kiln_format(net->arena, "layer%d.%d", i + 1, k);
        const int64_t c = (int64_t)64 << i, stride = i > 0 && k == 0 ? 2 : 1;
        x = block == KILN_RESNET_BASIC ? basic_block(net, x, name, c, stride, scale)
                                       : bottleneck(net, x, name, c, stride, scale);
    }
    return x;
}

static void build_resnet(kiln_zoo_net *net, const int n_blocks[KILN_RESNET_STAGES],
                         kiln_resnet_block block) {
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "input", 3, 224, 224);
    x = kiln_resnet_stem(net, x);
    for (int i = 0; i < KILN_RESNET_STAGES; i++)
        x = kiln_resnet_stage(net, x, block, n_blocks, i);
    x = kiln_zoo_net_global_pool(net, x, "avgpool");
    x = kiln_zoo_net_flatten(net, x, "flatten");
    kiln_zoo_net_output(net, kiln_zoo_net_linear(net, x, "fc", 1000, KILN_GAIN_LINEAR));
}

static void build_18(kiln_zoo_net *net) {
    build_resnet(net, (const int[]){2, 2, 2, 2}, KILN_RESNET_BASIC);
}

static void build_34(kiln_zoo_net *net) {
    build_resnet(net, (const int[]){3, 4, 6, 3}, KILN_RESNET_BASIC);
}

static void build_50(kiln_zoo_net *net) {
    build_resnet(net, (const int[]){3, 4, 6, 3}, KILN_RESNET_BOTTLENECK);
}

static void build_101(kiln_zoo_net *net) {
    build_resnet(net, (const int[]){3, 4, 23, 3}, KILN_RESNET_BOTTLENECK);
}

static void build_152(kiln_zoo_net *net) {
    build_resnet(net, (const int[]){3, 8, 36, 3}, KILN_RESNET_BOTTLENECK);
}

const kiln_zoo_network kiln_zoo_resnet18 = {
    .name = "resnet18",
    .doc = "ResNet-18, image classification, 224x224",
    .source = "He et al., CVPR 2016; counts: torchvision, resnet18",
    .n_params = 11689512,
    .muladds = 1814073344,
    .published_muladds = 1.81e9,
    .published_unit = 0.01e9,
    .build = build_18,
};

const kiln_zoo_network kiln_zoo_resnet34 = {
    .name = "resnet34",
    .doc = "ResNet-34, image classification, 224x224",
    .source = "He et al., CVPR 2016; counts: torchvision, resnet34",
    .n_params = 21797672,
    .muladds = 3663761408,
    .published_muladds = 3.66e9,
    .published_unit = 0.01e9,
    .build = build_34,
};

const kiln_zoo_network kiln_zoo_resnet50 = {
    .name = "resnet50",
    .doc = "ResNet-50, image classification, 224x224",
    .source = "He et al., CVPR 2016; counts: torchvision, resnet50",
    .n_params = 25557032,
    .muladds = 4089184256,
    .published_muladds = 4.09e9,
    .published_unit = 0.01e9,
    .build = build_50,
};

const kiln_zoo_network kiln_zoo_resnet101 = {
    .name = "resnet101",
    .doc = "ResNet-101, image classification, 224x224",
    .source = "He et al., CVPR 2016; counts: torchvision, resnet101",
    .n_params = 44549160,
    .muladds = 7801405440,
    .published_muladds = 7.80e9,
    .published_unit = 0.01e9,
    .build = build_101,
};

const kiln_zoo_network kiln_zoo_resnet152 = {
    .name = "resnet152",
    .doc = "ResNet-152, image classification, 224x224",
    .source = "He et al., CVPR 2016; counts: torchvision, resnet152",
    .n_params = 60192808,
    .muladds = 11513626624,
    .published_muladds = 11.51e9,
    .published_unit = 0.01e9,
    .build = build_152,
};
