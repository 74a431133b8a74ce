/* MobileNet. Version 1: Howard et al., MobileNets: efficient convolutional neural
 * networks for mobile vision applications, 2017, table 1. Version 2: Sandler et al.,
 * MobileNetV2: inverted residuals and linear bottlenecks, CVPR 2018, table 2. */
#include "zoo/zoo_internal.h"

static kiln_zoo_net_value conv_norm(kiln_zoo_net *net, kiln_zoo_net_value x,
                                    const char *name,
                                    const kiln_zoo_net_conv_spec *spec, double scale) {
    x = kiln_zoo_net_conv(net, x, kiln_zoo_net_join(net, name, "0"), spec);
    return kiln_zoo_net_batch_norm(net, x, kiln_zoo_net_join(net, name, "1"), scale);
}

static const char *part(kiln_zoo_net *net, const char *block, int i) {
    return kiln_format(net->arena, "%s.%d", block, i);
}

static kiln_zoo_net_value full(kiln_zoo_net *net, kiln_zoo_net_value x,
                               const char *name, int64_t c, int64_t kernel,
                               int64_t stride) {
    return conv_norm(net, x, name,
                     &(kiln_zoo_net_conv_spec){.c_out = c,
                                               .kernel = kernel,
                                               .stride = stride,
                                               .pad = kernel / 2,
                                               .gain = KILN_GAIN_RELU},
                     1.0);
}

static kiln_zoo_net_value depthwise(kiln_zoo_net *net, kiln_zoo_net_value x,
                                    const char *name, int64_t stride) {
    return conv_norm(net, x, name,
                     &(kiln_zoo_net_conv_spec){.c_out = x.c,
                                               .kernel = 3,
                                               .stride = stride,
                                               .pad = 1,
                                               .groups = x.c,
                                               .gain = KILN_GAIN_RELU},
                     1.0);
}

static kiln_zoo_net_value classify(kiln_zoo_net *net, kiln_zoo_net_value x,
                                   const char *name) {
    x = kiln_zoo_net_global_pool(net, x, "pool");
    x = kiln_zoo_net_flatten(net, x, "flatten");
    return kiln_zoo_net_linear(net, x, name, 1000, KILN_GAIN_LINEAR);
}

static kiln_zoo_net_value relu(kiln_zoo_net *net, kiln_zoo_net_value x,
                               const char *name) {
    return kiln_zoo_net_unary(net, x, "Relu", kiln_zoo_net_join(net, name, "2"));
}

static void build_v1(kiln_zoo_net *net) {
    static const struct {
        int64_t c, stride;
    } rows[] = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
                {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "input", 3, 224, 224);
    x = relu(net, full(net, x, "features.0", 32, 3, 2), "features.0");
    for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
        const char *const spatial = kiln_format(net->arena, "features.%d.dw", i + 1);
        const char *const across = kiln_format(net->arena, "features.%d.pw", i + 1);
        x = relu(net, depthwise(net, x, spatial, rows[i].stride), spatial);
        x = relu(net, full(net, x, across, rows[i].c, 1, 1), across);
    }
    kiln_zoo_net_output(net, classify(net, x, "classifier"));
}

static kiln_zoo_net_value relu6(kiln_zoo_net *net, kiln_zoo_net_value x,
                                const char *name) {
    return kiln_zoo_net_relu6(net, x, kiln_zoo_net_join(net, name, "2"));
}

/* Expand, filter, project; where the shape allows, the input is added. */
static kiln_zoo_net_value inverted_residual(kiln_zoo_net *net, kiln_zoo_net_value x,
                                            const char *block, int64_t expand,
                                            int64_t c, int64_t stride) {
    const bool adds = stride == 1 && x.c == c;
    kiln_zoo_net_value y = x;
    int i = 0;
    if (expand != 1) {
        const char *const name = part(net, block, i++);
        y = relu6(net, full(net, y, name, x.c * expand, 1, 1), name);
    }
    const char *const name = part(net, block, i++);
    y = relu6(net, depthwise(net, y, name, stride), name);
    /* As in resnet.c: the branch gets a quarter of the sum. */
    y = conv_norm(net, y, part(net, block, i),
                  &(kiln_zoo_net_conv_spec){
                      .c_out = c, .kernel = 1, .stride = 1, .gain = KILN_GAIN_LINEAR},
                  adds ? 0.5 : 1.0);
    return adds ? kiln_zoo_net_add(net, x, y, kiln_zoo_net_join(net, block, "add")) : y;
}

static void build_v2(kiln_zoo_net *net) {
    static const struct {
        int64_t expand, c;
        int n;
        int64_t stride;
    } rows[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "input", 3, 224, 224);
    x = relu6(net, full(net, x, "features.0", 32, 3, 2), "features.0");
    int at = 1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int k = 0; k < rows[i].n; k++, at++)
            x = inverted_residual(
                net, x, kiln_format(net->arena, "features.%d.conv", at), rows[i].expand,
                rows[i].c, k == 0 ? rows[i].stride : 1);
    const char *const last = kiln_format(net->arena, "features.%d", at);
    x = relu6(net, full(net, x, last, 1280, 1, 1), last);
    kiln_zoo_net_output(net, classify(net, x, "classifier.1"));
}

const kiln_zoo_network kiln_zoo_mobilenet_v1 = {
    .name = "mobilenet_v1",
    .doc = "MobileNet-v1 1.0, image classification, 224x224",
    .source = "Howard et al., 2017, table 4; parameters to the digit: Keras, MobileNet",
    .n_params = 4231976,
    .muladds = 568740352,
    .published_muladds = 569e6,
    .published_unit = 1e6,
    .build = build_v1,
};

const kiln_zoo_network kiln_zoo_mobilenet_v2 = {
    .name = "mobilenet_v2",
    .doc = "MobileNet-v2 1.0, image classification, 224x224",
    .source = "Sandler et al., CVPR 2018; counts: torchvision, mobilenet_v2",
    .n_params = 3504872,
    .muladds = 300774272,
    .published_muladds = 0.30e9,
    .published_unit = 0.01e9,
    .build = build_v2,
};
