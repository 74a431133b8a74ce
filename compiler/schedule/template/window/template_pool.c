/* pool: the largest, the mean or the p-norm under each window, in NCHW[x]c (window.h),
 * or in the plain layout, where columns become vectors by rule. One vector of x takes
 * part in each step, so that loads are what it costs. */
#include "compiler/schedule/template/window/window.h"

static bool is_pool(const kiln_op_def *op) {
    return op == &kiln_op_max_pool || op == &kiln_op_avg_pool || op == &kiln_op_lp_pool;
}

/* With the second output of max_pool: the generic template's. */
static bool fits(const kiln_workload *w, const kiln_profile *p) {
    (void)p;
    return is_pool(w->anchor->op) && kiln_windows_fit(w);
}

static const char *const layout_knobs[] = {"c_block", NULL};

const kiln_template kiln_template_pool = {
    .name = "pool",
    .doc = "largest, mean or norm under windows, in NCHW[x]c or plain",
    .takes = KILN_TAKES_ITS_OWN,
    .layout_knobs = layout_knobs,
    .fits = fits,
    .space = kiln_windows_space,
    .guess = kiln_windows_guess,
    .apply = kiln_windows_apply,
};
