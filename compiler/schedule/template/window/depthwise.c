/* depthwise: convolution of each channel with a filter of its own, in NCHW[x]c
 * (window.h). Weights are [c][1][k...][c_b]: a multiply-add is one vector of x by one
 * of weights, no broadcast, so loads are short, not arithmetic. Weights of up to 3x3
 * stay in registers; larger windows are cut by rows ("taps"). Channels that no block
 * divides have tail lanes of zeros (trust_tails). Channel multipliers other than 1 are
 * conv_direct's. */
#include "compiler/schedule/template/window/window.h"

#include "compiler/schedule/template/byte_dot.h"

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    (void)p;
    const kiln_node *n = w->anchor;
    if (!kiln_is_conv(n) || n->in[0] == n->in[1] || n->in[1]->def != NULL ||
        !kiln_windows_fit(w))
        return false;
    const int64_t groups = kiln_node_attr(n, "groups")->i;
    return groups >= 2 && groups == n->in[0]->type.dim[1] &&
           groups == n->out[0]->type.dim[1];
}

static const char *const layout_knobs[] = {"c_block", NULL};

const kiln_template kiln_template_depthwise = {
    .name = "depthwise",
    .doc = "one filter a channel, in NCHW[x]c, by a window that slides over columns",
    .takes = KILN_TAKES_ITS_OWN,
    .layout_knobs = layout_knobs,
    .fits = fits,
    .space = kiln_windows_space,
    .guess = kiln_windows_guess,
    .apply = kiln_windows_apply,
};
