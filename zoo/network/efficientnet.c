/* EfficientNet-B0. Tan and Le: EfficientNet: rethinking model scaling for convolutional
 * neural networks, ICML 2019, table 1. */
#include "zoo/network/inverted.h"

#define FMT(...) kiln_format(net->arena, __VA_ARGS__)

static void build(kiln_zoo_net *net) {
    static const struct {
        int64_t expand, kernel, stride, c;
        int n;
    } rows[] = {{1, 3, 1, 16, 1}, {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2},
                {6, 3, 2, 80, 3}, {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4},
                {6, 3, 1, 320, 1}};
    enum { N_ROWS = sizeof rows / sizeof rows[0], SQUEEZE = 4 /* of the input */ };
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "input", 3, 224, 224);
    x = kiln_inverted_conv(net, x, "features.0", 32, 3, 2, KILN_INVERTED_SILU);
    for (int i = 0; i < N_ROWS; i++) {
        for (int k = 0; k < rows[i].n; k++) {
            const kiln_inverted_spec spec = {.kernel = rows[i].kernel,
                                             .stride = k == 0 ? rows[i].stride : 1,
                                             .c_wide = rows[i].expand * x.c,
                                             .c_out = rows[i].c,
                                             .c_squeeze = x.c / SQUEEZE,
                                             .act = KILN_INVERTED_SILU,
                                             .squeeze_act = KILN_INVERTED_SILU,
                                             .gate = "Sigmoid"};
            x = kiln_inverted_residual(net, x, FMT("features.%d.%d.block", i + 1, k),
                                       &spec);
        }
    }
    x = kiln_inverted_conv(net, x, FMT("features.%d", N_ROWS + 1), 1280, 1, 1,
                           KILN_INVERTED_SILU);
    x = kiln_zoo_net_global_pool(net, x, "avgpool");
    x = kiln_zoo_net_flatten(net, x, "flatten");
    kiln_zoo_net_output(
        net, kiln_zoo_net_linear(net, x, "classifier.1", 1000, KILN_GAIN_LINEAR));
}

const kiln_zoo_network kiln_zoo_efficientnet_b0 = {
    .name = "efficientnet_b0",
    .doc = "EfficientNet-B0, image classification, 224x224",
    .source = "Tan and Le, ICML 2019; counts: torchvision, efficientnet_b0",
    .n_params = 5288548,
    .muladds = 385814752,
    .published_muladds = 0.39e9,
    .published_unit = 0.01e9,
    .build = build,
};
