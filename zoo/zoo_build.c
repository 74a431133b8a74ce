/* Nodes and weights of networks: see zoo_internal.h. Shapes by the formulas of the ONNX
 * operators, opset 17. */
#include "zoo/zoo_internal.h"

#include <inttypes.h>
#include <math.h>

#define FMT(...) kiln_format(net->arena, __VA_ARGS__)

const char *kiln_zoo_net_join(kiln_zoo_net *net, const char *prefix, const char *name) {
    return prefix[0] == '\0' ? name : FMT("%s.%s", prefix, name);
}

double kiln_zoo_net_reach(kiln_zoo_net_gain gain, int64_t fan_in) {
    static const double times[] = {
        [KILN_GAIN_LINEAR] = 1.0, [KILN_GAIN_RELU] = 2.0, [KILN_GAIN_HARD_SWISH] = 2.5,
        [KILN_GAIN_SILU] = 2.4,   [KILN_GAIN_GELU] = 2.2, [KILN_GAIN_GATED] = 4.0,
    };
    KILN_ASSERT((size_t)gain < sizeof times / sizeof times[0], "no gain %d", (int)gain);
    KILN_ASSERT(fan_in > 0, "a sum of %" PRId64 " weights", fan_in);
    /* variance of [-r, r]: r^2 / 3 */
    return sqrt(3.0 * times[gain] / (double)fan_in);
}

void kiln_zoo_net_weight(kiln_zoo_net *net, const char *name, const char *shape,
                         double mean, double reach) {
    kiln_onnx_put_uniform(&net->w, name, shape, kiln_rng_next(&net->seeds),
                          mean - reach, mean + reach);
}

/* Small beside activations of order one. */
static const double bias_reach = 0.05;

static const char *shape_of(kiln_zoo_net *net, kiln_zoo_net_value x) {
    if (x.is_flat)
        return FMT("1,%" PRId64, x.c);
    return FMT("1,%" PRId64 ",%" PRId64 ",%" PRId64, x.c, x.h, x.w);
}

kiln_zoo_net_value kiln_zoo_net_input(kiln_zoo_net *net, const char *name, int64_t c,
                                      int64_t h, int64_t w) {
    KILN_ASSERT(c > 0 && h > 0 && w > 0, "'%s' has %" PRId64 " channels", name, c);
    const kiln_zoo_net_value x = {name, c, h, w, false};
    kiln_onnx_put_input(&net->w, name, KILN_ONNX_FLOAT, shape_of(net, x));
    return x;
}

void kiln_zoo_net_output(kiln_zoo_net *net, kiln_zoo_net_value x) {
    kiln_onnx_put_output(&net->w, x.name, KILN_ONNX_FLOAT, shape_of(net, x));
}

static void put_pair(kiln_zoo_net *net, const char *name, int64_t v) {
    kiln_onnx_put_attr_ints(&net->w, name, (const int64_t[]){v, v}, 2);
}

static void put_window(kiln_zoo_net *net, int64_t kernel, int64_t stride, int64_t pad) {
    put_pair(net, "kernel_shape", kernel);
    put_pair(net, "strides", stride);
    kiln_onnx_put_attr_ints(&net->w, "pads", (const int64_t[]){pad, pad, pad, pad}, 4);
}

static int64_t width_of(const kiln_zoo_net_conv_spec *s) {
    return s->kernel_w == 0 ? s->kernel : s->kernel_w;
}

static int64_t width_pad_of(const kiln_zoo_net_conv_spec *s) {
    return s->kernel_w == 0 ? s->pad : s->pad_w;
}

static void put_conv_window(kiln_zoo_net *net, const kiln_zoo_net_conv_spec *s) {
    const int64_t kernel[] = {s->kernel, width_of(s)};
    const int64_t pads[] = {s->pad, width_pad_of(s), s->pad, width_pad_of(s)};
    kiln_onnx_put_attr_ints(&net->w, "kernel_shape", kernel, 2);
    put_pair(net, "strides", s->stride);
    kiln_onnx_put_attr_ints(&net->w, "pads", pads, 4);
}

static int64_t pooled(int64_t size, int64_t kernel, int64_t stride, int64_t pad) {
    KILN_ASSERT(stride > 0 && pad >= 0 && pad < kernel, "stride %" PRId64, stride);
    KILN_ASSERT(size + 2 * pad >= kernel, "a window of %" PRId64 " does not fit",
                kernel);
    return (size + 2 * pad - kernel) / stride + 1;
}

kiln_zoo_net_value kiln_zoo_net_conv(kiln_zoo_net *net, kiln_zoo_net_value x,
                                     const char *name,
                                     const kiln_zoo_net_conv_spec *s) {
    const int64_t groups = s->groups == 0 ? 1 : s->groups;
    KILN_ASSERT(x.c % groups == 0 && s->c_out % groups == 0,
                "'%s': groups must divide the channels", name);
    const char *const weight = FMT("%s.weight", name);
    const char *const bias = FMT("%s.bias", name);
    kiln_zoo_net_weight(
        net, weight,
        FMT("%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, s->c_out, x.c / groups,
            s->kernel, width_of(s)),
        0.0, kiln_zoo_net_reach(s->gain, x.c / groups * s->kernel * width_of(s)));
    if (s->has_bias && !s->has_own_bias)
        kiln_zoo_net_weight(net, bias, FMT("%" PRId64, s->c_out), 0.0, bias_reach);
    kiln_onnx_put_node(&net->w, "Conv", name,
                       FMT("%s,%s%s%s", x.name, weight, s->has_bias ? "," : "",
                           s->has_bias ? bias : ""),
                       name);
    put_pair(net, "dilations", 1);
    kiln_onnx_put_attr_int(&net->w, "group", groups);
    put_conv_window(net, s);
    return (kiln_zoo_net_value){
        name, s->c_out, pooled(x.h, s->kernel, s->stride, s->pad),
        pooled(x.w, width_of(s), s->stride, width_pad_of(s)), false};
}

static int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }

kiln_zoo_net_value kiln_zoo_net_conv_transpose(kiln_zoo_net *net, kiln_zoo_net_value x,
                                               const char *name,
                                               const kiln_zoo_net_conv_spec *s) {
    KILN_ASSERT(s->stride > 0 && s->kernel >= s->stride,
                "'%s': outputs that no tap reaches", name);
    /* Of the kernel's k x k taps, an output sees those that a stride leaves, and no
     * more than there are inputs. */
    const int64_t taps_h = min_i64(s->kernel / s->stride, x.h);
    const int64_t taps_w = min_i64(s->kernel / s->stride, x.w);
    const char *const weight = FMT("%s.weight", name);
    kiln_zoo_net_weight(net, weight,
                        FMT("%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, x.c,
                            s->c_out, s->kernel, s->kernel),
                        0.0, kiln_zoo_net_reach(s->gain, x.c * taps_h * taps_w));
    if (s->has_bias)
        kiln_zoo_net_weight(net, FMT("%s.bias", name), FMT("%" PRId64, s->c_out), 0.0,
                            bias_reach);
    kiln_onnx_put_node(&net->w, "ConvTranspose", name,
                       s->has_bias ? FMT("%s,%s,%s.bias", x.name, weight, name)
                                   : FMT("%s,%s", x.name, weight),
                       name);
    put_pair(net, "dilations", 1);
    kiln_onnx_put_attr_int(&net->w, "group", 1);
    put_window(net, s->kernel, s->stride, s->pad);
    return (kiln_zoo_net_value){name, s->c_out,
                                (x.h - 1) * s->stride - 2 * s->pad + s->kernel,
                                (x.w - 1) * s->stride - 2 * s->pad + s->kernel, false};
}

kiln_zoo_net_value kiln_zoo_net_batch_norm(kiln_zoo_net *net, kiln_zoo_net_value x,
                                           const char *name, double scale) {
    const struct {
        const char *suffix;
        double mean, reach;
    } parts[] = {
        {"weight", scale, 0.2 * scale},
        {"bias", 0.0, bias_reach},
        {"running_mean", 0.0, bias_reach},
        {"running_var", 1.0, 0.2},
    };
    const char *const channels = FMT("%" PRId64, x.c);
    const char *inputs = x.name;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *const part = FMT("%s.%s", name, parts[i].suffix);
        kiln_zoo_net_weight(net, part, channels, parts[i].mean, parts[i].reach);
        inputs = FMT("%s,%s", inputs, part);
    }
    kiln_onnx_put_node(&net->w, "BatchNormalization", name, inputs, name);
    kiln_onnx_put_attr_float(&net->w, "epsilon", 1e-5f);
    kiln_onnx_put_attr_float(&net->w, "momentum", 0.9f);
    x.name = name;
    return x;
}

kiln_zoo_net_value kiln_zoo_net_unary(kiln_zoo_net *net, kiln_zoo_net_value x,
                                      const char *op, const char *name) {
    kiln_onnx_put_node(&net->w, op, name, x.name, name);
    x.name = name;
    return x;
}

kiln_zoo_net_value kiln_zoo_net_relu6(kiln_zoo_net *net, kiln_zoo_net_value x,
                                      const char *name) {
    if (!net->has_six) {
        kiln_onnx_put_uniform(&net->w, "relu6.min", "", 0, 0.0, 0.0);
        kiln_onnx_put_uniform(&net->w, "relu6.max", "", 0, 6.0, 6.0);
        net->has_six = true;
    }
    kiln_onnx_put_node(&net->w, "Clip", name, FMT("%s,relu6.min,relu6.max", x.name),
                       name);
    x.name = name;
    return x;
}

kiln_zoo_net_value kiln_zoo_net_add(kiln_zoo_net *net, kiln_zoo_net_value x,
                                    kiln_zoo_net_value y, const char *name) {
    KILN_ASSERT(x.c == y.c && x.h == y.h && x.w == y.w,
                "'%s' adds two values of one shape", name);
    kiln_onnx_put_node(&net->w, "Add", name, FMT("%s,%s", x.name, y.name), name);
    x.name = name;
    return x;
}

kiln_zoo_net_value kiln_zoo_net_max_pool(kiln_zoo_net *net, kiln_zoo_net_value x,
                                         const char *name, int64_t kernel,
                                         int64_t stride, int64_t pad) {
    kiln_onnx_put_node(&net->w, "MaxPool", name, x.name, name);
    put_window(net, kernel, stride, pad);
    return (kiln_zoo_net_value){name, x.c, pooled(x.h, kernel, stride, pad),
                                pooled(x.w, kernel, stride, pad), false};
}

kiln_zoo_net_value kiln_zoo_net_avg_pool(kiln_zoo_net *net, kiln_zoo_net_value x,
                                         const char *name, int64_t kernel,
                                         int64_t stride, int64_t pad) {
    kiln_onnx_put_node(&net->w, "AveragePool", name, x.name, name);
    kiln_onnx_put_attr_int(&net->w, "count_include_pad", 1);
    put_window(net, kernel, stride, pad);
    return (kiln_zoo_net_value){name, x.c, pooled(x.h, kernel, stride, pad),
                                pooled(x.w, kernel, stride, pad), false};
}

kiln_zoo_net_value kiln_zoo_net_global_pool(kiln_zoo_net *net, kiln_zoo_net_value x,
                                            const char *name) {
    kiln_onnx_put_node(&net->w, "GlobalAveragePool", name, x.name, name);
    return (kiln_zoo_net_value){name, x.c, 1, 1, false};
}

kiln_zoo_net_value kiln_zoo_net_concat(kiln_zoo_net *net, const kiln_zoo_net_value *x,
                                       size_t n, const char *name) {
    KILN_ASSERT(n > 0, "'%s' joins nothing", name);
    kiln_zoo_net_value y = x[0];
    const char *inputs = y.name;
    for (size_t i = 1; i < n; i++) {
        KILN_ASSERT(x[i].h == y.h && x[i].w == y.w,
                    "'%s' joins values of one height and width", name);
        inputs = FMT("%s,%s", inputs, x[i].name);
        y.c += x[i].c;
    }
    kiln_onnx_put_node(&net->w, "Concat", name, inputs, name);
    kiln_onnx_put_attr_int(&net->w, "axis", 1);
    y.name = name;
    return y;
}

kiln_zoo_net_value kiln_zoo_net_scale(kiln_zoo_net *net, kiln_zoo_net_value x,
                                      kiln_zoo_net_value gate, const char *name) {
    KILN_ASSERT(x.c == gate.c && gate.h == 1 && gate.w == 1,
                "'%s' has one gate for each channel", name);
    kiln_onnx_put_node(&net->w, "Mul", name, FMT("%s,%s", x.name, gate.name), name);
    x.name = name;
    return x;
}

kiln_zoo_net_value kiln_zoo_net_flatten(kiln_zoo_net *net, kiln_zoo_net_value x,
                                        const char *name) {
    kiln_onnx_put_node(&net->w, "Flatten", name, x.name, name);
    kiln_onnx_put_attr_int(&net->w, "axis", 1);
    return (kiln_zoo_net_value){name, x.c * x.h * x.w, 1, 1, true};
}

kiln_zoo_net_value kiln_zoo_net_linear(kiln_zoo_net *net, kiln_zoo_net_value x,
                                       const char *name, int64_t c_out,
                                       kiln_zoo_net_gain gain) {
    KILN_ASSERT(x.is_flat, "'%s' takes a flat value", name);
    const char *const weight = FMT("%s.weight", name);
    const char *const bias = FMT("%s.bias", name);
    kiln_zoo_net_weight(net, weight, FMT("%" PRId64 ",%" PRId64, c_out, x.c), 0.0,
                        kiln_zoo_net_reach(gain, x.c));
    kiln_zoo_net_weight(net, bias, FMT("%" PRId64, c_out), 0.0, bias_reach);
    kiln_onnx_put_node(&net->w, "Gemm", name, FMT("%s,%s,%s", x.name, weight, bias),
                       name);
    kiln_onnx_put_attr_float(&net->w, "alpha", 1.0f);
    kiln_onnx_put_attr_float(&net->w, "beta", 1.0f);
    kiln_onnx_put_attr_int(&net->w, "transB", 1);
    return (kiln_zoo_net_value){name, c_out, 1, 1, true};
}
