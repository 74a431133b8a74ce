/* Building networks as ONNX of opset 17, with the operators and names that exporters of
 * training frameworks give them. Every function appends a node (and its weights) and
 * returns what the node makes; the node, its output and its weights share `name`. A
 * constant of numbers that nobody trains is called "<something>.fixed". */
#ifndef KILN_ZOO_ZOO_INTERNAL_H
#define KILN_ZOO_ZOO_INTERNAL_H

#include "zoo/onnx_write.h"
#include "zoo/zoo.h"

enum { KILN_ZOO_IR_VERSION = 8, KILN_ZOO_OPSET = 17 };

struct kiln_zoo_net {
    kiln_onnx_writer w;
    kiln_arena *arena; /* borrowed */
    kiln_rng seeds;    /* each weight takes a seed of its own from here */
    bool has_six;      /* the bounds of ReLU6 are written */
};

/* A value of batch 1: [1,c,h,w], or [1,c] when flat. */
typedef struct kiln_zoo_net_value {
    const char *name;
    int64_t c, h, w;
    bool is_flat;
} kiln_zoo_net_value;

/* What follows a layer, and so what its weight's variance times its fan-in must be for
 * the next activation to have the second moment of this one: 2 when a ReLU drops half of
 * it (He et al., Delving deep into rectifiers, ICCV 2015, section 2.2), 1 when nothing
 * does (Glorot and Bengio, 2010). A smooth activation f asks for g with
 * E[f(sqrt(g) z)^2] = 1, z standard normal. */
typedef enum kiln_zoo_net_gain {
    KILN_GAIN_LINEAR,
    KILN_GAIN_RELU,
    KILN_GAIN_HARD_SWISH,
    KILN_GAIN_SILU,
    KILN_GAIN_GELU,
    KILN_GAIN_GATED /* nothing follows; the input was halved by a gate, on average */
} kiln_zoo_net_gain;

typedef struct kiln_zoo_net_conv_spec {
    int64_t c_out, kernel, stride, pad; /* the height's, and the width's too */
    int64_t kernel_w, pad_w;            /* of the width, where kernel_w is not 0 */
    int64_t groups;                     /* 0: one */
    bool has_bias;
    bool has_own_bias; /* the caller has written "<name>.bias" */
    kiln_zoo_net_gain gain;
} kiln_zoo_net_conv_spec;

kiln_zoo_net_value kiln_zoo_net_input(kiln_zoo_net *net, const char *name, int64_t c,
                                      int64_t h, int64_t w);
void kiln_zoo_net_output(kiln_zoo_net *net, kiln_zoo_net_value x);

kiln_zoo_net_value kiln_zoo_net_conv(kiln_zoo_net *net, kiln_zoo_net_value x,
                                     const char *name,
                                     const kiln_zoo_net_conv_spec *spec);
/* Groups are not used. */
kiln_zoo_net_value kiln_zoo_net_conv_transpose(kiln_zoo_net *net, kiln_zoo_net_value x,
                                               const char *name,
                                               const kiln_zoo_net_conv_spec *spec);
/* Statistics near identity; the scale is near `scale`. */
kiln_zoo_net_value kiln_zoo_net_batch_norm(kiln_zoo_net *net, kiln_zoo_net_value x,
                                           const char *name, double scale);
kiln_zoo_net_value kiln_zoo_net_unary(kiln_zoo_net *net, kiln_zoo_net_value x,
                                      const char *op, const char *name);
kiln_zoo_net_value kiln_zoo_net_relu6(kiln_zoo_net *net, kiln_zoo_net_value x,
                                      const char *name);
kiln_zoo_net_value kiln_zoo_net_add(kiln_zoo_net *net, kiln_zoo_net_value x,
                                    kiln_zoo_net_value y, const char *name);
kiln_zoo_net_value kiln_zoo_net_max_pool(kiln_zoo_net *net, kiln_zoo_net_value x,
                                         const char *name, int64_t kernel,
                                         int64_t stride, int64_t pad);
/* Padding is part of the mean. */
kiln_zoo_net_value kiln_zoo_net_avg_pool(kiln_zoo_net *net, kiln_zoo_net_value x,
                                         const char *name, int64_t kernel,
                                         int64_t stride, int64_t pad);
kiln_zoo_net_value kiln_zoo_net_global_pool(kiln_zoo_net *net, kiln_zoo_net_value x,
                                            const char *name);
/* Values of one height and width, one behind the other along the channels. */
kiln_zoo_net_value kiln_zoo_net_concat(kiln_zoo_net *net, const kiln_zoo_net_value *x,
                                       size_t n, const char *name);
/* x * gate; `gate` has one number for each channel. */
kiln_zoo_net_value kiln_zoo_net_scale(kiln_zoo_net *net, kiln_zoo_net_value x,
                                      kiln_zoo_net_value gate, const char *name);
kiln_zoo_net_value kiln_zoo_net_flatten(kiln_zoo_net *net, kiln_zoo_net_value x,
                                        const char *name);
kiln_zoo_net_value kiln_zoo_net_linear(kiln_zoo_net *net, kiln_zoo_net_value x,
                                       const char *name, int64_t c_out,
                                       kiln_zoo_net_gain gain);

/* One weight, uniform around `mean` within `reach`. */
void kiln_zoo_net_weight(kiln_zoo_net *net, const char *name, const char *shape,
                         double mean, double reach);
/* The reach of a uniform distribution around 0 whose variance is gain / fan_in. */
double kiln_zoo_net_reach(kiln_zoo_net_gain gain, int64_t fan_in);
/* "a" and "b" give "a.b"; an empty prefix gives "b". */
const char *kiln_zoo_net_join(kiln_zoo_net *net, const char *prefix, const char *name);

#define KILN_ZOO(name) extern const kiln_zoo_network kiln_zoo_##name;
#include "zoo/networks.def"
#undef KILN_ZOO

#endif
