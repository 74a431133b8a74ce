/* U-Net. Ronneberger, Fischer, Brox: U-Net: convolutional networks for biomedical image
 * segmentation, MICCAI 2015, figure 1, in the form that is mostly used: convolutions are
 * padded, so that the map is as large as the image, here 256x256, and nothing that goes
 * across is cropped. The parameters are those of the publication. */
#include "zoo/zoo_internal.h"

#define FMT(...) kiln_format(net->arena, __VA_ARGS__)

enum { N_LEVELS = 4, CHANNELS = 64 };

static kiln_zoo_net_value two_convs(kiln_zoo_net *net, kiln_zoo_net_value x,
                                    const char *name, int64_t c) {
    for (int i = 0; i < 2; i++) {
        x = kiln_zoo_net_conv(net, x, FMT("%s.conv%d", name, i + 1),
                              &(kiln_zoo_net_conv_spec){.c_out = c,
                                                        .kernel = 3,
                                                        .stride = 1,
                                                        .pad = 1,
                                                        .has_bias = true,
                                                        .gain = KILN_GAIN_RELU});
        x = kiln_zoo_net_unary(net, x, "Relu", FMT("%s.relu%d", name, i + 1));
    }
    return x;
}

static kiln_zoo_net_value up(kiln_zoo_net *net, kiln_zoo_net_value x,
                             kiln_zoo_net_value across, const char *name) {
    x = kiln_zoo_net_conv_transpose(
        net, x, FMT("%s.up", name),
        &(kiln_zoo_net_conv_spec){.c_out = x.c / 2,
                                  .kernel = 2,
                                  .stride = 2,
                                  .has_bias = true,
                                  .gain = KILN_GAIN_LINEAR});
    x = kiln_zoo_net_concat(net, (const kiln_zoo_net_value[]){across, x}, 2,
                            FMT("%s.concat", name));
    return two_convs(net, x, name, across.c);
}

static void build(kiln_zoo_net *net) {
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "image", 1, 256, 256);
    kiln_zoo_net_value across[N_LEVELS];
    for (int i = 0; i < N_LEVELS; i++) {
        across[i] = two_convs(net, x, FMT("down%d", i + 1), (int64_t)CHANNELS << i);
        x = kiln_zoo_net_max_pool(net, across[i], FMT("down%d.pool", i + 1), 2, 2, 0);
    }
    x = two_convs(net, x, "bottom", (int64_t)CHANNELS << N_LEVELS);
    for (int i = N_LEVELS; i-- > 0;)
        x = up(net, x, across[i], FMT("up%d", i + 1));
    kiln_zoo_net_output(
        net, kiln_zoo_net_conv(net, x, "segments",
                               &(kiln_zoo_net_conv_spec){.c_out = 2,
                                                         .kernel = 1,
                                                         .stride = 1,
                                                         .has_bias = true,
                                                         .gain = KILN_GAIN_LINEAR}));
}

const kiln_zoo_network kiln_zoo_unet = {
    .name = "unet",
    .doc = "U-Net with padded convolutions, segmentation, 256x256",
    .source = "Ronneberger et al., MICCAI 2015; counts follow from its figure 1",
    .n_params = 31030658,
    .muladds = 48096083968,
    .build = build,
};
