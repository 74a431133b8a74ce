/* Inception-v3. Szegedy et al.: Rethinking the Inception architecture for computer
 * vision, CVPR 2016, section 6 and table 1, in the sizes and with the names of the model
 * that torchvision publishes; without the auxiliary classifier, which only training has.
 */
#include "zoo/zoo_internal.h"

#define FMT(...) kiln_format(net->arena, __VA_ARGS__)

/* One convolution of a branch: it keeps height and width, or halves them. */
typedef struct layer {
    const char *name; /* NULL: behind the branch's last */
    int64_t c, kernel_h, kernel_w;
    bool halves;
} layer;

enum { MOST_LAYERS = 6, MOST_BRANCHES = 6 };

static kiln_zoo_net_value conv(kiln_zoo_net *net, kiln_zoo_net_value x,
                               const char *name, const kiln_zoo_net_conv_spec *spec) {
    x = kiln_zoo_net_conv(net, x, FMT("%s.conv", name), spec);
    x = kiln_zoo_net_batch_norm(net, x, FMT("%s.bn", name), 1.0);
    return kiln_zoo_net_unary(net, x, "Relu", FMT("%s.relu", name));
}

static kiln_zoo_net_value branch(kiln_zoo_net *net, kiln_zoo_net_value x,
                                 const char *block, const layer *l) {
    for (; l->name != NULL; l++) {
        kiln_zoo_net_conv_spec spec = {.c_out = l->c,
                                       .kernel = l->kernel_h,
                                       .kernel_w = l->kernel_w,
                                       .stride = l->halves ? 2 : 1,
                                       .gain = KILN_GAIN_RELU};
        if (!l->halves) {
            spec.pad = l->kernel_h / 2;
            spec.pad_w = l->kernel_w / 2;
        }
        x = conv(net, x, FMT("%s.%s", block, l->name), &spec);
    }
    return x;
}

/* Branches of x side by side, and behind them what is there already. */
static kiln_zoo_net_value join(kiln_zoo_net *net, kiln_zoo_net_value x,
                               const char *block, const layer (*branches)[MOST_LAYERS],
                               int n, const kiln_zoo_net_value *last) {
    kiln_zoo_net_value y[MOST_BRANCHES];
    for (int i = 0; i < n; i++)
        y[i] = branch(net, x, block, branches[i]);
    y[n] = *last;
    return kiln_zoo_net_concat(net, y, (size_t)n + 1, FMT("%s.concat", block));
}

static kiln_zoo_net_value pooled(kiln_zoo_net *net, kiln_zoo_net_value x,
                                 const char *block, int64_t c) {
    const layer l[] = {{"branch_pool", c, 1, 1, false}, {NULL, 0, 0, 0, false}};
    x = kiln_zoo_net_avg_pool(net, x, FMT("%s.avgpool", block), 3, 1, 1);
    return branch(net, x, block, l);
}

/* Figure 5. */
static kiln_zoo_net_value mixed_5(kiln_zoo_net *net, kiln_zoo_net_value x,
                                  const char *block, int64_t c_pool) {
    static const layer branches[][MOST_LAYERS] = {
        {{"branch1x1", 64, 1, 1, false}},
        {{"branch5x5_1", 48, 1, 1, false}, {"branch5x5_2", 64, 5, 5, false}},
        {{"branch3x3dbl_1", 64, 1, 1, false},
         {"branch3x3dbl_2", 96, 3, 3, false},
         {"branch3x3dbl_3", 96, 3, 3, false}},
    };
    const kiln_zoo_net_value pool = pooled(net, x, block, c_pool);
    return join(net, x, block, branches, 3, &pool);
}

/* Figure 10: half the height and width. */
static kiln_zoo_net_value mixed_6a(kiln_zoo_net *net, kiln_zoo_net_value x,
                                   const char *block) {
    static const layer branches[][MOST_LAYERS] = {
        {{"branch3x3", 384, 3, 3, true}},
        {{"branch3x3dbl_1", 64, 1, 1, false},
         {"branch3x3dbl_2", 96, 3, 3, false},
         {"branch3x3dbl_3", 96, 3, 3, true}},
    };
    const kiln_zoo_net_value pool =
        kiln_zoo_net_max_pool(net, x, FMT("%s.maxpool", block), 3, 2, 0);
    return join(net, x, block, branches, 2, &pool);
}

/* Figure 6, n = 7. */
static kiln_zoo_net_value mixed_6(kiln_zoo_net *net, kiln_zoo_net_value x,
                                  const char *block, int64_t c) {
    const layer branches[][MOST_LAYERS] = {
        {{"branch1x1", 192, 1, 1, false}},
        {{"branch7x7_1", c, 1, 1, false},
         {"branch7x7_2", c, 1, 7, false},
         {"branch7x7_3", 192, 7, 1, false}},
        {{"branch7x7dbl_1", c, 1, 1, false},
         {"branch7x7dbl_2", c, 7, 1, false},
         {"branch7x7dbl_3", c, 1, 7, false},
         {"branch7x7dbl_4", c, 7, 1, false},
         {"branch7x7dbl_5", 192, 1, 7, false}},
    };
    const kiln_zoo_net_value pool = pooled(net, x, block, 192);
    return join(net, x, block, branches, 3, &pool);
}

static kiln_zoo_net_value mixed_7a(kiln_zoo_net *net, kiln_zoo_net_value x,
                                   const char *block) {
    static const layer branches[][MOST_LAYERS] = {
        {{"branch3x3_1", 192, 1, 1, false}, {"branch3x3_2", 320, 3, 3, true}},
        {{"branch7x7x3_1", 192, 1, 1, false},
         {"branch7x7x3_2", 192, 1, 7, false},
         {"branch7x7x3_3", 192, 7, 1, false},
         {"branch7x7x3_4", 192, 3, 3, true}},
    };
    const kiln_zoo_net_value pool =
        kiln_zoo_net_max_pool(net, x, FMT("%s.maxpool", block), 3, 2, 0);
    return join(net, x, block, branches, 2, &pool);
}

/* Figure 7: branches that part once more. */
static kiln_zoo_net_value mixed_7(kiln_zoo_net *net, kiln_zoo_net_value x,
                                  const char *block) {
    static const layer one[] = {{"branch1x1", 320, 1, 1, false},
                                {NULL, 0, 0, 0, false}};
    static const layer three[] = {{"branch3x3_1", 384, 1, 1, false},
                                  {NULL, 0, 0, 0, false}};
    static const layer twice[] = {{"branch3x3dbl_1", 448, 1, 1, false},
                                  {"branch3x3dbl_2", 384, 3, 3, false},
                                  {NULL, 0, 0, 0, false}};
    static const layer ends[][2] = {
        {{"branch3x3_2a", 384, 1, 3, false}, {NULL, 0, 0, 0, false}},
        {{"branch3x3_2b", 384, 3, 1, false}, {NULL, 0, 0, 0, false}},
        {{"branch3x3dbl_3a", 384, 1, 3, false}, {NULL, 0, 0, 0, false}},
        {{"branch3x3dbl_3b", 384, 3, 1, false}, {NULL, 0, 0, 0, false}},
    };
    kiln_zoo_net_value y[MOST_BRANCHES];
    y[0] = branch(net, x, block, one);
    kiln_zoo_net_value stem = branch(net, x, block, three);
    y[1] = branch(net, stem, block, ends[0]);
    y[2] = branch(net, stem, block, ends[1]);
    stem = branch(net, x, block, twice);
    y[3] = branch(net, stem, block, ends[2]);
    y[4] = branch(net, stem, block, ends[3]);
    y[5] = pooled(net, x, block, 192);
    return kiln_zoo_net_concat(net, y, MOST_BRANCHES, FMT("%s.concat", block));
}

static kiln_zoo_net_value first_layers(kiln_zoo_net *net) {
    static const struct {
        const char *name;
        int64_t c, kernel, stride, pad;
        bool has_pool;
    } rows[] = {{"Conv2d_1a_3x3", 32, 3, 2, 0, false},
                {"Conv2d_2a_3x3", 32, 3, 1, 0, false},
                {"Conv2d_2b_3x3", 64, 3, 1, 1, true},
                {"Conv2d_3b_1x1", 80, 1, 1, 0, false},
                {"Conv2d_4a_3x3", 192, 3, 1, 0, true}};
    kiln_zoo_net_value x = kiln_zoo_net_input(net, "input", 3, 299, 299);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        x = conv(net, x, rows[i].name,
                 &(kiln_zoo_net_conv_spec){.c_out = rows[i].c,
                                           .kernel = rows[i].kernel,
                                           .stride = rows[i].stride,
                                           .pad = rows[i].pad,
                                           .gain = KILN_GAIN_RELU});
        if (rows[i].has_pool)
            x = kiln_zoo_net_max_pool(net, x, FMT("%s.pool", rows[i].name), 3, 2, 0);
    }
    return x;
}

static void build(kiln_zoo_net *net) {
    kiln_zoo_net_value x = first_layers(net);
    x = mixed_5(net, x, "Mixed_5b", 32);
    x = mixed_5(net, x, "Mixed_5c", 64);
    x = mixed_5(net, x, "Mixed_5d", 64);
    x = mixed_6a(net, x, "Mixed_6a");
    x = mixed_6(net, x, "Mixed_6b", 128);
    x = mixed_6(net, x, "Mixed_6c", 160);
    x = mixed_6(net, x, "Mixed_6d", 160);
    x = mixed_6(net, x, "Mixed_6e", 192);
    x = mixed_7a(net, x, "Mixed_7a");
    x = mixed_7(net, x, "Mixed_7b");
    x = mixed_7(net, x, "Mixed_7c");
    x = kiln_zoo_net_global_pool(net, x, "avgpool");
    x = kiln_zoo_net_flatten(net, x, "flatten");
    kiln_zoo_net_output(net, kiln_zoo_net_linear(net, x, "fc", 1000, KILN_GAIN_LINEAR));
}

const kiln_zoo_network kiln_zoo_inception_v3 = {
    .name = "inception_v3",
    .doc = "Inception-v3, image classification, 299x299",
    .source = "Szegedy et al., CVPR 2016; counts: torchvision, inception_v3 without "
              "its auxiliary",
    .n_params = 23834568,
    .muladds = 5713216096,
    .published_muladds = 5.71e9,
    .published_unit = 0.01e9,
    .build = build,
};
