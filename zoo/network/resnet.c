/* ResNet-18 and ResNet-50. He, Zhang, Ren, Sun: Deep residual learning for image
 * recognition, CVPR 2016, table 1; with the stride in the 3x3 convolution of a
 * bottleneck, as the models that torchvision publishes have it. */
#include "zoo/zoo_internal.h"

/* A sum of a block's input and its branch has the second moment of both. With the
 * branch's last scale at one half each block adds a quarter: 16 blocks stay of order
 * one (Goyal et al., 2017, section 5.1, start it at 0 for training). */
static const double branch_scale = 0.5;

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
                                      const char *block, int64_t c, int64_t stride) {
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
                                     const char *block, int64_t c, int64_t stride) {
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

enum { N_STAGES = 4 };

static void
build_resnet(kiln_zoo_net *net, const int n_blocks[N_STAGES],
             kiln_zoo_net_value (*block)(kiln_zoo_net *net, kiln_zoo_net_value x,
                                         const char *name, int64_t c, int64_t stride)) {
    const kiln_zoo_net_conv_spec stem = {
        .c_out = 64, .kernel = 7, .stride = 2, .pad = 3, .gain = KILN_GAIN_RELU};
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "input", 3, 224, 224);
    x = conv_norm(net, x, "", "conv1", "bn1", &stem, 1.0);
    x = relu(net, x, "", "relu");
    x = kiln_zoo_net_max_pool(net, x, "maxpool", 3, 2, 1);
    for (int i = 0; i < N_STAGES; i++)
        for (int k = 0; k < n_blocks[i]; k++)
            x = block(net, x, kiln_format(net->arena, "layer%d.%d", i + 1, k),
                      (int64_t)64 << i, i > 0 && k == 0 ? 2 : 1);
    x = kiln_zoo_net_global_pool(net, x, "avgpool");
    x = kiln_zoo_net_flatten(net, x, "flatten");
    kiln_zoo_net_output(net, kiln_zoo_net_linear(net, x, "fc", 1000, KILN_GAIN_LINEAR));
}

static void build_18(kiln_zoo_net *net) {
    build_resnet(net, (const int[N_STAGES]){2, 2, 2, 2}, basic_block);
}

static void build_50(kiln_zoo_net *net) {
    build_resnet(net, (const int[N_STAGES]){3, 4, 6, 3}, bottleneck);
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
