/* depthwise: convolution of each channel with a filter of its own, in NCHW[x]c
 * (window.h). Weights are [c][1][k...][c_b]: a multiply-add is one vector of x by one
 * of weights, no broadcast, so loads are short, not arithmetic. Weights of up to 3x3
 * stay in registers; larger windows are cut by rows ("taps"). Channels that no block
 * divides have tail lanes of zeros (trust_tails). Channel multipliers other than 1 are
 * conv_direct's. */
#include "compiler/schedule/template/window.h"

static kiln_windows windows_of(const kiln_workload *w, const kiln_profile *profile) {
    const kiln_value *weights = w->anchor->in[1];
    kiln_windows p = {.name = "depthwise",
                      .tag = "conv",
                      .w = w,
                      .profile = profile,
                      .weights = weights};
    kiln_windows_measure(&p, weights->type.dim + 2);
    return p;
}

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    (void)p;
    const kiln_node *n = w->anchor;
    if (n->op != &kiln_op_conv || n->in[0] == n->in[1] || n->in[1]->def != NULL ||
        !kiln_windows_fit(w))
        return false;
    const int64_t groups = kiln_node_attr(n, "groups")->i;
    return groups >= 2 && groups == n->in[0]->type.dim[1] &&
           groups == n->out[0]->type.dim[1];
}

static kiln_status space(const kiln_workload *w, const kiln_profile *profile,
                         kiln_space *out, kiln_err *err) {
    (void)err;
    const kiln_windows p = windows_of(w, profile);
    return kiln_windows_space(&p, out);
}

static kiln_config guess(const kiln_workload *w, const kiln_profile *profile,
                         const kiln_space *s) {
    const kiln_windows p = windows_of(w, profile);
    return kiln_windows_guess(&p, s);
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w,
                         const kiln_profile *profile, const kiln_space *s,
                         const kiln_config *c, kiln_scheduled *out, kiln_err *err) {
    const kiln_windows p = windows_of(w, profile);
    return kiln_windows_apply(a, &p, s, c, out, err);
}

const kiln_template kiln_template_depthwise = {
    .name = "depthwise",
    .doc = "one filter a channel, in NCHW[x]c, by a window that slides over columns",
    .takes = KILN_TAKES_ITS_OWN,
    .fits = fits,
    .space = space,
    .guess = guess,
    .apply = apply,
};
