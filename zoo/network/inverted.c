/* The inverted residual with a gate: see inverted.h. */
#include "zoo/network/inverted.h"

#define FMT(...) kiln_format(net->arena, __VA_ARGS__)

static kiln_zoo_net_gain gain_of(kiln_inverted_act act) {
    static const kiln_zoo_net_gain gain[] = {
        [KILN_INVERTED_RELU] = KILN_GAIN_RELU,
        [KILN_INVERTED_HARD_SWISH] = KILN_GAIN_HARD_SWISH,
        [KILN_INVERTED_SILU] = KILN_GAIN_SILU,
        [KILN_INVERTED_NO_ACT] = KILN_GAIN_LINEAR,
    };
    KILN_ASSERT((size_t)act < sizeof gain / sizeof gain[0], "no activation %d",
                (int)act);
    return gain[act];
}

kiln_zoo_net_value kiln_inverted_activate(kiln_zoo_net *net, kiln_zoo_net_value x,
                                          const char *name, kiln_inverted_act act) {
    switch (act) {
    case KILN_INVERTED_RELU:
        return kiln_zoo_net_unary(net, x, "Relu", name);
    case KILN_INVERTED_HARD_SWISH:
        return kiln_zoo_net_unary(net, x, "HardSwish", name);
    case KILN_INVERTED_SILU:
        kiln_zoo_net_unary(net, x, "Sigmoid", FMT("%s.sigmoid", name));
        kiln_onnx_put_node(&net->w, "Mul", name, FMT("%s,%s.sigmoid", x.name, name),
                           name);
        x.name = name;
        return x;
    case KILN_INVERTED_NO_ACT:
        break;
    }
    return x;
}

static kiln_zoo_net_value conv_norm_act(kiln_zoo_net *net, kiln_zoo_net_value x,
                                        const char *name,
                                        const kiln_zoo_net_conv_spec *spec,
                                        kiln_inverted_act act, double scale) {
    x = kiln_zoo_net_conv(net, x, FMT("%s.0", name), spec);
    x = kiln_zoo_net_batch_norm(net, x, FMT("%s.1", name), scale);
    return kiln_inverted_activate(net, x, FMT("%s.2", name), act);
}

kiln_zoo_net_value kiln_inverted_conv(kiln_zoo_net *net, kiln_zoo_net_value x,
                                      const char *name, int64_t c, int64_t kernel,
                                      int64_t stride, kiln_inverted_act act) {
    return conv_norm_act(net, x, name,
                         &(kiln_zoo_net_conv_spec){.c_out = c,
                                                   .kernel = kernel,
                                                   .stride = stride,
                                                   .pad = kernel / 2,
                                                   .gain = gain_of(act)},
                         act, 1.0);
}

/* A number of [0, 1] for each channel, from the means of all of them. */
static kiln_zoo_net_value excite(kiln_zoo_net *net, kiln_zoo_net_value x,
                                 const char *name, const kiln_inverted_spec *s) {
    kiln_zoo_net_conv_spec spec = {.c_out = s->c_squeeze,
                                   .kernel = 1,
                                   .stride = 1,
                                   .has_bias = true,
                                   .gain = gain_of(s->squeeze_act)};
    kiln_zoo_net_value gate = kiln_zoo_net_global_pool(net, x, FMT("%s.avgpool", name));
    gate = kiln_zoo_net_conv(net, gate, FMT("%s.fc1", name), &spec);
    gate =
        kiln_inverted_activate(net, gate, FMT("%s.activation", name), s->squeeze_act);
    spec.c_out = x.c;
    spec.gain = KILN_GAIN_LINEAR;
    gate = kiln_zoo_net_conv(net, gate, FMT("%s.fc2", name), &spec);
    gate = kiln_zoo_net_unary(net, gate, s->gate, FMT("%s.gate", name));
    return kiln_zoo_net_scale(net, x, gate, FMT("%s.scale", name));
}

kiln_zoo_net_value kiln_inverted_residual(kiln_zoo_net *net, kiln_zoo_net_value x,
                                          const char *block,
                                          const kiln_inverted_spec *s) {
    const bool adds = s->stride == 1 && x.c == s->c_out;
    kiln_zoo_net_value y = x;
    int at = 0; /* as exporters count */
    if (s->c_wide != x.c)
        y = kiln_inverted_conv(net, y, FMT("%s.%d", block, at++), s->c_wide, 1, 1,
                               s->act);
    y = conv_norm_act(net, y, FMT("%s.%d", block, at++),
                      &(kiln_zoo_net_conv_spec){.c_out = s->c_wide,
                                                .kernel = s->kernel,
                                                .stride = s->stride,
                                                .pad = s->kernel / 2,
                                                .groups = s->c_wide,
                                                .gain = gain_of(s->act)},
                      s->act, 1.0);
    if (s->c_squeeze != 0)
        y = excite(net, y, FMT("%s.%d", block, at++), s);
    /* Much less of the sum than in resnet.c: what is above order one grows on in smooth
     * activations, and what is below it fades. */
    y = conv_norm_act(net, y, FMT("%s.%d", block, at),
                      &(kiln_zoo_net_conv_spec){.c_out = s->c_out,
                                                .kernel = 1,
                                                .stride = 1,
                                                .gain = s->c_squeeze != 0
                                                            ? KILN_GAIN_GATED
                                                            : KILN_GAIN_LINEAR},
                      KILN_INVERTED_NO_ACT, adds ? 0.3 : 1.0);
    return adds ? kiln_zoo_net_add(net, x, y, FMT("%s.add", block)) : y;
}
