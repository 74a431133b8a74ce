/* Deep Q-network. Mnih et al.: Human-level control through deep reinforcement learning,
 * Nature 518, 2015, Methods, "Model architecture"; all 18 actions of the console. */
#include "zoo/zoo_internal.h"

static void build(kiln_zoo_net *net) {
    static const struct {
        const char *conv, *relu;
        int64_t c, kernel, stride;
    } rows[] = {{"conv1", "relu1", 32, 8, 4},
                {"conv2", "relu2", 64, 4, 2},
                {"conv3", "relu3", 64, 3, 1}};
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "frames", 4, 84, 84);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        x = kiln_zoo_net_conv(net, x, rows[i].conv,
                              &(kiln_zoo_net_conv_spec){.c_out = rows[i].c,
                                                        .kernel = rows[i].kernel,
                                                        .stride = rows[i].stride,
                                                        .has_bias = true,
                                                        .gain = KILN_GAIN_RELU});
        x = kiln_zoo_net_unary(net, x, "Relu", rows[i].relu);
    }
    x = kiln_zoo_net_flatten(net, x, "flatten");
    x = kiln_zoo_net_linear(net, x, "fc1", 512, KILN_GAIN_RELU);
    x = kiln_zoo_net_unary(net, x, "Relu", "relu4");
    kiln_zoo_net_output(net, kiln_zoo_net_linear(net, x, "fc2", 18, KILN_GAIN_LINEAR));
}

const kiln_zoo_network kiln_zoo_dqn = {
    .name = "dqn",
    .doc = "deep Q-network, 18 actions from 4 frames of 84x84",
    .source = "Mnih et al., Nature 518, 2015; counts follow from its text",
    .n_params = 1693362,
    .muladds = 9352192,
    .build = build,
};
