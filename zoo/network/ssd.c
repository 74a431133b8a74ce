/* SSD on ResNet-50. Liu et al.: SSD: single shot multibox detector, ECCV 2016, in the
 * sizes of GluonCV's ssd_512_resnet50_v1_voc, which NeoCPU (Liu et al., ATC 2019, section
 * 4) measures: images of 512x512, 20 classes, 6132 anchors. The strides of a bottleneck
 * are in its 3x3 convolution, as in resnet.c. Detection is part of the network: boxes are
 * decoded, scores of each class go through non-maximum suppression, and the best 100 of
 * all come out, fewer where fewer are left. */
#include "zoo/network/resnet.h"
#include "zoo/sequence.h"

#include <inttypes.h>
#include <math.h>

#define FMT(...) kiln_format(net->arena, __VA_ARGS__)

enum {
    SIZE = 512,
    N_CLASSES = 20,
    N_SCORES = N_CLASSES + 1, /* the first is of the background */
    N_SCALES = 6,
    N_EXTRAS = 4, /* scales behind the two that the ResNet gives */
    N_CORNERS = 4,
    N_MOST = 100 /* boxes of a class, and of all */
};

/* Of each scale: anchors at a point, and the size of the smallest in pixels; the list of
 * sizes has one more. */
static const int n_shapes[N_SCALES] = {4, 6, 6, 6, 4, 4};
static const double sizes[N_SCALES + 1] = {51.2,   102.4, 189.4, 276.4,
                                           363.52, 450.6, 492.0};
static const int64_t points[N_SCALES] = {32, 16, 8, 4, 2, 1}; /* along one axis */

static int64_t count_anchors(void) {
    int64_t n = 0;
    for (int i = 0; i < N_SCALES; i++)
        n += points[i] * points[i] * n_shapes[i];
    return n;
}

/* ---- anchors --------------------------------------------------------------------- */

/* Shape k of a scale: two squares, then the smaller one stretched. Square roots and
 * divisions are correctly rounded, so every machine makes the same bytes. */
static void shape(int scale, int k, float wh[2]) {
    static const double ratios[] = {2.0, 0.5, 3.0, 1.0 / 3.0};
    enum { N_SQUARES = 2 };
    const double product = sizes[scale] * sizes[scale + 1];
    const double side = k == 1 ? sqrt(product) : sizes[scale];
    const double stretch = k < N_SQUARES ? 1.0 : sqrt(ratios[k - N_SQUARES]);
    const double w = side * stretch, h = side / stretch;
    wh[0] = (float)w;
    wh[1] = (float)h;
}

/* Centres and sizes of all anchors in pixels, x before y, [1,anchors,2] each: the rows of
 * a scale's map, its points, their shapes. */
static void put_anchors(kiln_zoo_net *net, int64_t n_anchors) {
    float *const centre = kiln_array(net->arena, float, 2 * (size_t)n_anchors);
    float *const extent = kiln_array(net->arena, float, 2 * (size_t)n_anchors);
    size_t at = 0;
    for (int i = 0; i < N_SCALES; i++) {
        const double step = (double)SIZE / (double)points[i];
        for (int64_t p = 0; p < points[i] * points[i]; p++) {
            for (int k = 0; k < n_shapes[i]; k++, at += 2) {
                const int64_t row = p / points[i], column = p % points[i];
                const double x = (double)column + 0.5, y = (double)row + 0.5;
                centre[at] = (float)(x * step);
                centre[at + 1] = (float)(y * step);
                shape(i, k, extent + at);
            }
        }
    }
    KILN_ASSERT(at == 2 * (size_t)n_anchors, "%zu numbers of %" PRId64 " anchors", at,
                n_anchors);
    const char *const dims = FMT("1,%" PRId64 ",2", n_anchors);
    kiln_onnx_put_initializer(&net->w,
                              kiln_onnx_raw_tensor(net->arena, "anchors.centre.fixed",
                                                   KILN_ONNX_FLOAT, dims, centre,
                                                   at * sizeof centre[0]));
    kiln_onnx_put_initializer(
        &net->w, kiln_onnx_raw_tensor(net->arena, "anchors.size.fixed", KILN_ONNX_FLOAT,
                                      dims, extent, at * sizeof extent[0]));
}

/* ---- features -------------------------------------------------------------------- */

static kiln_zoo_net_value conv_norm_relu(kiln_zoo_net *net, kiln_zoo_net_value x,
                                         const char *name, int64_t c, int64_t kernel,
                                         int64_t stride) {
    x = kiln_zoo_net_conv(net, x, FMT("%s.conv", name),
                          &(kiln_zoo_net_conv_spec){.c_out = c,
                                                    .kernel = kernel,
                                                    .stride = stride,
                                                    .pad = kernel / 2,
                                                    .gain = KILN_GAIN_RELU});
    x = kiln_zoo_net_batch_norm(net, x, FMT("%s.bn", name), 1.0);
    return kiln_zoo_net_unary(net, x, "Relu", FMT("%s.relu", name));
}

static void features(kiln_zoo_net *net, kiln_zoo_net_value out[N_SCALES]) {
    static const int n_blocks[KILN_RESNET_STAGES] = {3, 4, 6, 3};
    static const int64_t channels[N_EXTRAS] = {512, 512, 256, 256};
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "image", 3, SIZE, SIZE);
    x = kiln_resnet_stem(net, x);
    int n = 0;
    for (int i = 0; i < KILN_RESNET_STAGES; i++) {
        x = kiln_resnet_stage(net, x, KILN_RESNET_BOTTLENECK, n_blocks, i);
        if (i >= KILN_RESNET_STAGES - (N_SCALES - N_EXTRAS))
            out[n++] = x;
    }
    for (int i = 0; i < N_EXTRAS; i++) {
        x = conv_norm_relu(net, x, FMT("extra.%d.narrow", i), channels[i], 1, 1);
        x = conv_norm_relu(net, x, FMT("extra.%d.halve", i), channels[i], 3, 2);
        out[n++] = x;
    }
}

/* ---- heads ----------------------------------------------------------------------- */

/* The time of suppression hangs on how many scores are candidates. A trained network
 * takes nearly all anchors for background, and so does this bias. */
static void put_class_bias(kiln_zoo_net *net, const char *name, int n_shapes_here) {
    static const double background = 8.0, reach = 0.05;
    const size_t n = (size_t)n_shapes_here * N_SCORES;
    float *const v = kiln_array(net->arena, float, n);
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_rng_next(&net->seeds));
    for (size_t i = 0; i < n; i++) {
        const double above = 2.0 * reach * kiln_rng_unit(&rng);
        v[i] = (float)(above - reach + (i % N_SCORES == 0 ? background : 0.0));
    }
    kiln_onnx_put_initializer(&net->w,
                              kiln_onnx_raw_tensor(net->arena, name, KILN_ONNX_FLOAT,
                                                   FMT("%zu", n), v, n * sizeof v[0]));
}

/* So many numbers for each anchor, from each scale's map: [1,anchors,n]. */
static const char *predict(kiln_zoo_net *net, const kiln_zoo_net_value x[N_SCALES],
                           const char *what, int64_t n, int64_t n_anchors) {
    static const int64_t there[] = {0, 2, 3, 1};
    const char *parts = "";
    for (int i = 0; i < N_SCALES; i++) {
        const char *const name = FMT("%s.%d", what, i);
        KILN_ASSERT(x[i].h == points[i] && x[i].w == points[i],
                    "scale %d has other anchors than its map", i);
        if (n == N_SCORES)
            put_class_bias(net, FMT("%s.bias", name), n_shapes[i]);
        kiln_zoo_net_conv(net, x[i], name,
                          &(kiln_zoo_net_conv_spec){.c_out = n_shapes[i] * n,
                                                    .kernel = 3,
                                                    .stride = 1,
                                                    .pad = 1,
                                                    .has_bias = true,
                                                    .has_own_bias = n == N_SCORES,
                                                    .gain = KILN_GAIN_LINEAR});
        kiln_zoo_net_transpose(net, name, there, 4, FMT("%s.last", name));
        const char *const flat = kiln_zoo_net_put(net, "Flatten", FMT("%s.last", name),
                                                  FMT("%s.flat", name));
        kiln_onnx_put_attr_int(&net->w, "axis", 1);
        parts = i == 0 ? flat : FMT("%s,%s", parts, flat);
    }
    kiln_zoo_net_put(net, "Concat", parts, FMT("%s.all", what));
    kiln_onnx_put_attr_int(&net->w, "axis", 1);
    kiln_zoo_net_put_i64s(net, FMT("%s.shape", what),
                          (const int64_t[]){1, n_anchors, n}, 3);
    return kiln_zoo_net_put(net, "Reshape", FMT("%s.all,%s.shape", what, what),
                            FMT("%s.rows", what));
}

static const char *slice(kiln_zoo_net *net, const char *x, const char *name,
                         int64_t first, int64_t past, int64_t axis) {
    kiln_zoo_net_put_i64s(net, FMT("%s.first", name), &first, 1);
    kiln_zoo_net_put_i64s(net, FMT("%s.past", name), &past, 1);
    kiln_zoo_net_put_i64s(net, FMT("%s.axis", name), &axis, 1);
    return kiln_zoo_net_put(
        net, "Slice", FMT("%s,%s.first,%s.past,%s.axis", x, name, name, name), name);
}

/* Two corners of each box: offsets of its centre in tenths of the anchor's size,
 * logarithms of its size in fifths. [1,anchors,4]. */
static const char *decode(kiln_zoo_net *net, const char *offsets) {
    kiln_zoo_net_put_scalar(net, "tenth", 0.1);
    kiln_zoo_net_put_scalar(net, "fifth", 0.2);
    kiln_zoo_net_put_scalar(net, "half", 0.5);
    slice(net, offsets, "offset.centre", 0, 2, 2);
    slice(net, offsets, "offset.size", 2, N_CORNERS, 2);
    kiln_zoo_net_put(net, "Mul", "offset.centre,tenth", "centre.scaled");
    kiln_zoo_net_put(net, "Mul", "centre.scaled,anchors.size.fixed", "centre.moved");
    kiln_zoo_net_sum(net, "centre.moved", "anchors.centre.fixed", "centre");
    kiln_zoo_net_put(net, "Mul", "offset.size,fifth", "size.scaled");
    kiln_zoo_net_put(net, "Exp", "size.scaled", "size.grown");
    kiln_zoo_net_put(net, "Mul", "size.grown,anchors.size.fixed", "size");
    kiln_zoo_net_put(net, "Mul", "size,half", "size.half");
    kiln_zoo_net_put(net, "Sub", "centre,size.half", "corner.low");
    kiln_zoo_net_sum(net, "centre", "size.half", "corner.high");
    kiln_zoo_net_put(net, "Concat", "corner.low,corner.high", "decoded");
    kiln_onnx_put_attr_int(&net->w, "axis", 2);
    return "decoded";
}

/* Probabilities without the background: [1,classes,anchors]. */
static const char *score(kiln_zoo_net *net, const char *logits) {
    static const int64_t turn[] = {0, 2, 1};
    kiln_zoo_net_put(net, "Softmax", logits, "shares");
    kiln_onnx_put_attr_int(&net->w, "axis", 2);
    slice(net, "shares", "objects", 1, N_SCORES, 2);
    return kiln_zoo_net_transpose(net, "objects", turn, 3, "by_class");
}

/* ---- detection ------------------------------------------------------------------- */

/* Rows (image, class, anchor) of what suppression leaves, the best N_MOST first to last.
 * What of it counts depends on the data. */
static void pick(kiln_zoo_net *net) {
    const int64_t most = N_MOST;
    kiln_zoo_net_put_i64s(net, "most", &most, 1);
    kiln_zoo_net_put_scalar(net, "least_overlap", 0.45);
    kiln_zoo_net_put_scalar(net, "least_score", 0.01);
    kiln_zoo_net_put(net, "NonMaxSuppression",
                     "decoded,by_class,most,least_overlap,least_score", "kept");
    kiln_zoo_net_put(net, "GatherND", "by_class,kept", "kept.scores");
    kiln_zoo_net_put(net, "Shape", "kept.scores", "n_kept");
    kiln_zoo_net_put(net, "Min", "n_kept,most", "n_best");
    kiln_onnx_put_node(&net->w, "TopK", "best", "kept.scores,n_best", "scores,best");
    kiln_onnx_put_attr_int(&net->w, "axis", 0);
    kiln_zoo_net_put(net, "Gather", "kept,best", "rows");
}

static const char *put_column(kiln_zoo_net *net, const char *name, int64_t i) {
    slice(net, "rows", FMT("%s.column", name), i, i + 1, 1);
    return kiln_zoo_net_put(net, "Squeeze", FMT("%s.column,one_axis", name), name);
}

static void put_outputs(kiln_zoo_net *net) {
    const int64_t zero = 0, one = 1;
    kiln_zoo_net_put_i64s(net, "image_axis", &zero, 1);
    kiln_zoo_net_put_i64s(net, "one_axis", &one, 1);
    put_column(net, "labels", 1);
    put_column(net, "anchor", 2);
    kiln_zoo_net_put(net, "Squeeze", "decoded,image_axis", "corners");
    kiln_zoo_net_put(net, "Gather", "corners,anchor", "boxes");
    kiln_onnx_put_output(&net->w, "boxes", KILN_ONNX_FLOAT, FMT("n,%d", N_CORNERS));
    kiln_onnx_put_output(&net->w, "scores", KILN_ONNX_FLOAT, "n");
    kiln_onnx_put_output(&net->w, "labels", KILN_ONNX_INT64, "n");
}

static void build(kiln_zoo_net *net) {
    const int64_t n_anchors = count_anchors();
    kiln_zoo_net_value x[N_SCALES];
    features(net, x);
    put_anchors(net, n_anchors);
    decode(net, predict(net, x, "box", N_CORNERS, n_anchors));
    score(net, predict(net, x, "class", N_SCORES, n_anchors));
    pick(net);
    put_outputs(net);
}

const kiln_zoo_network kiln_zoo_ssd_resnet50 = {
    .name = "ssd_resnet50",
    .doc = "SSD on ResNet-50 with its detection, 20 classes, 512x512",
    .source = "Liu et al., ECCV 2016, as GluonCV's; counts follow from it",
    .n_params = 36450094,
    .muladds = 23540421632,
    .build = build,
};
