/* pool: the largest, the mean or the p-norm under each window, in NCHW[x]c (window.h),
 * or in the plain layout, where columns become vectors by rule. One vector of x takes
 * part in each step, so that loads are what it costs. */
#include "compiler/schedule/template/window.h"

static bool is_pool(const kiln_op_def *op) {
    return op == &kiln_op_max_pool || op == &kiln_op_avg_pool || op == &kiln_op_lp_pool;
}

static kiln_windows windows_of(const kiln_workload *w, const kiln_profile *profile) {
    kiln_windows p = {.name = "pool",
                      .tag = "pool",
                      .w = w,
                      .profile = profile,
                      .can_be_plain = true};
    kiln_windows_measure(&p, kiln_node_attr(w->anchor, "kernel")->ints);
    return p;
}

/* With the second output of max_pool: the generic template's. */
static bool fits(const kiln_workload *w, const kiln_profile *p) {
    (void)p;
    return is_pool(w->anchor->op) && kiln_windows_fit(w);
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

const kiln_template kiln_template_pool = {
    .name = "pool",
    .doc = "largest, mean or norm under windows, in NCHW[x]c or plain",
    .takes = KILN_TAKES_ITS_OWN,
    .fits = fits,
    .space = space,
    .guess = guess,
    .apply = apply,
};
