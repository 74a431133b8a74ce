/* The body of a ResNet, for networks that stand on one. */
#ifndef KILN_ZOO_NETWORK_RESNET_H
#define KILN_ZOO_NETWORK_RESNET_H

#include "zoo/zoo_internal.h"

enum { KILN_RESNET_STAGES = 4 };

typedef enum kiln_resnet_block {
    KILN_RESNET_BASIC,     /* two convolutions of 3x3 */
    KILN_RESNET_BOTTLENECK /* 1x1, 3x3, 1x1 with four times the channels */
} kiln_resnet_block;

/* Up to the first pool: [1,64,h/4,w/4]. */
kiln_zoo_net_value kiln_resnet_stem(kiln_zoo_net *net, kiln_zoo_net_value x);
/* Stage i of a network that has so many blocks in its stages: 64 << i channels in a
 * block, four times as many behind a bottleneck; from the second on it halves the
 * height and the width. */
kiln_zoo_net_value kiln_resnet_stage(kiln_zoo_net *net, kiln_zoo_net_value x,
                                     kiln_resnet_block block,
                                     const int n_blocks[KILN_RESNET_STAGES], int i);

#endif
