/* MobileNet-v3 large. Howard et al.: Searching for MobileNetV3, ICCV 2019, table 1. */
#include "zoo/network/inverted.h"

#define FMT(...) kiln_format(net->arena, __VA_ARGS__)

static void build(kiln_zoo_net *net) {
    static const struct {
        int64_t kernel, stride, c_wide, c_out, c_squeeze;
        bool is_relu;
    } rows[] = {
        {3, 1, 16, 16, 0, true},      {3, 2, 64, 24, 0, true},
        {3, 1, 72, 24, 0, true},      {5, 2, 72, 40, 24, true},
        {5, 1, 120, 40, 32, true},    {5, 1, 120, 40, 32, true},
        {3, 2, 240, 80, 0, false},    {3, 1, 200, 80, 0, false},
        {3, 1, 184, 80, 0, false},    {3, 1, 184, 80, 0, false},
        {3, 1, 480, 112, 120, false}, {3, 1, 672, 112, 168, false},
        {5, 2, 672, 160, 168, false}, {5, 1, 960, 160, 240, false},
        {5, 1, 960, 160, 240, false},
    };
    enum { N_ROWS = sizeof rows / sizeof rows[0] };
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "input", 3, 224, 224);
    x = kiln_inverted_conv(net, x, "features.0", 16, 3, 2, KILN_INVERTED_HARD_SWISH);
    for (int i = 0; i < N_ROWS; i++) {
        const kiln_inverted_spec spec = {
            .kernel = rows[i].kernel,
            .stride = rows[i].stride,
            .c_wide = rows[i].c_wide,
            .c_out = rows[i].c_out,
            .c_squeeze = rows[i].c_squeeze,
            .act = rows[i].is_relu ? KILN_INVERTED_RELU : KILN_INVERTED_HARD_SWISH,
            .squeeze_act = KILN_INVERTED_RELU,
            .gate = "HardSigmoid"};
        x = kiln_inverted_residual(net, x, FMT("features.%d.block", i + 1), &spec);
    }
    x = kiln_inverted_conv(net, x, FMT("features.%d", N_ROWS + 1), 960, 1, 1,
                           KILN_INVERTED_HARD_SWISH);
    x = kiln_zoo_net_global_pool(net, x, "avgpool");
    x = kiln_zoo_net_flatten(net, x, "flatten");
    x = kiln_zoo_net_linear(net, x, "classifier.0", 1280, KILN_GAIN_HARD_SWISH);
    x = kiln_inverted_activate(net, x, "classifier.1", KILN_INVERTED_HARD_SWISH);
    kiln_zoo_net_output(
        net, kiln_zoo_net_linear(net, x, "classifier.3", 1000, KILN_GAIN_LINEAR));
}

const kiln_zoo_network kiln_zoo_mobilenet_v3_large = {
    .name = "mobilenet_v3_large",
    .doc = "MobileNet-v3 large, image classification, 224x224",
    .source = "Howard et al., ICCV 2019; counts: torchvision, mobilenet_v3_large",
    .n_params = 5483032,
    .muladds = 216589760,
    .published_muladds = 0.22e9,
    .published_unit = 0.01e9,
    .build = build,
};
