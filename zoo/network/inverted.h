/* The inverted residual with a gate: expand, filter each channel, squeeze and excite,
 * project; where the shape allows, the input is added. Sandler et al.: MobileNetV2, CVPR
 * 2018, figure 3; Hu et al.: Squeeze-and-excitation networks, CVPR 2018, figure 3. */
#ifndef KILN_ZOO_NETWORK_INVERTED_H
#define KILN_ZOO_NETWORK_INVERTED_H

#include "zoo/zoo_internal.h"

typedef enum kiln_inverted_act {
    KILN_INVERTED_RELU,
    KILN_INVERTED_HARD_SWISH,
    KILN_INVERTED_SILU, /* x * sigmoid(x), two nodes */
    KILN_INVERTED_NO_ACT
} kiln_inverted_act;

typedef struct kiln_inverted_spec {
    int64_t kernel, stride, c_wide, c_out;
    int64_t c_squeeze; /* 0: no gate */
    kiln_inverted_act act, squeeze_act;
    const char *gate; /* the operator that makes the gate of [0, 1] */
} kiln_inverted_spec;

/* Convolution "<name>.0", padded to keep or halve the size, normalisation "<name>.1",
 * activation "<name>.2". */
kiln_zoo_net_value kiln_inverted_conv(kiln_zoo_net *net, kiln_zoo_net_value x,
                                      const char *name, int64_t c, int64_t kernel,
                                      int64_t stride, kiln_inverted_act act);
kiln_zoo_net_value kiln_inverted_activate(kiln_zoo_net *net, kiln_zoo_net_value x,
                                          const char *name, kiln_inverted_act act);
kiln_zoo_net_value kiln_inverted_residual(kiln_zoo_net *net, kiln_zoo_net_value x,
                                          const char *block,
                                          const kiln_inverted_spec *s);

#endif
