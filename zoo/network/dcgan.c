/* DCGAN's generator. Radford, Metz, Chintala: Unsupervised representation learning with
 * deep convolutional generative adversarial networks, ICLR 2016, figure 1, in the size
 * of PyTorch's example "dcgan": 100 numbers to 64x64, 64 feature maps, kernels of 4x4.
 */
#include "zoo/zoo_internal.h"

static void build(kiln_zoo_net *net) {
    static const int64_t channels[] = {512, 256, 128, 64};
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "noise", 100, 1, 1);
    int at = 0; /* as an exporter counts: convolution, normalisation, ReLU */
    for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++) {
        x = kiln_zoo_net_conv_transpose(
            net, x, kiln_format(net->arena, "main.%d", at++),
            &(kiln_zoo_net_conv_spec){.c_out = channels[i],
                                      .kernel = 4,
                                      .stride = i == 0 ? 1 : 2,
                                      .pad = i == 0 ? 0 : 1,
                                      .gain = KILN_GAIN_RELU});
        x = kiln_zoo_net_batch_norm(net, x, kiln_format(net->arena, "main.%d", at++),
                                    1.0);
        x = kiln_zoo_net_unary(net, x, "Relu",
                               kiln_format(net->arena, "main.%d", at++));
    }
    x = kiln_zoo_net_conv_transpose(
        net, x, kiln_format(net->arena, "main.%d", at++),
        &(kiln_zoo_net_conv_spec){
            .c_out = 3, .kernel = 4, .stride = 2, .pad = 1, .gain = KILN_GAIN_LINEAR});
    kiln_zoo_net_output(net, kiln_zoo_net_unary(net, x, "Tanh", "image"));
}

const kiln_zoo_network kiln_zoo_dcgan = {
    .name = "dcgan",
    .doc = "DCGAN generator, 64x64 images from 100 numbers",
    .source = "Radford et al., ICLR 2016, as PyTorch's example; counts follow from it",
    .n_params = 3576704,
    .muladds = 104628224,
    .build = build,
};
