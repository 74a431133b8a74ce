/* avg_pool: mean of the elements under each window.
 *
 * The mean is over the elements inside the input, or with count_include_pad over those
 * inside the input and its padding (zeros); what a last window of ceil_mode covers
 * beyond the padding never counts. Source: ONNX AveragePool-22.
 */
#include "compiler/graph/op/op_common.h"
#include "compiler/graph/op/pool.h"

enum { COUNT_INCLUDE_PAD = KILN_POOL_N_ATTR, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    KILN_POOL_ATTRS,
    {.name = "count_include_pad",
     .kind = KILN_ATTR_BOOL,
     .doc = "padding counts as elements of value 0"},
};

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    kiln_pool p;
    KILN_TRY(kiln_pool_read(n, &p, cx->err));
    const bool with_pad = n->attr[COUNT_INCLUDE_PAD].i != 0;
    int64_t *at = kiln_array(cx->scratch, int64_t, p.room);
    const int64_t count = kiln_pick_count(cx, p.planes * p.outs);
    for (int64_t j = 0; j < count; j++) {
        const int64_t index = kiln_pick_at(cx, j);
        const double *x = cx->in[0].f + index / p.outs * p.ins;
        int64_t n_padded;
        const int64_t n_in = kiln_pool_gather(&p, index % p.outs, at, &n_padded);
        double sum = 0.0;
        for (int64_t i = 0; i < n_in; i++)
            sum += x[at[i]];
        cx->out[0].f[j] = sum / (double)(with_pad ? n_padded : n_in);
    }
    return KILN_OK;
}

static kiln_bound error_bound(const kiln_node *n) {
    /* a sum of taps and one division */
    return (kiln_bound){.kind = KILN_BOUND_DOT, .c = 1.0, .k = kiln_pool_taps(n) + 1};
}

const kiln_op_def kiln_op_avg_pool = {
    .name = "avg_pool",
    .doc = "Mean of the elements under each window.",
    .n_in_min = 1,
    .n_in_max = 1,
    .in_names = (const char *const[]){"x", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_FLOAT,
    .fuse = KILN_FUSE_REDUCTION,
    .layout = KILN_LAYOUT_TOLERANT,
    .can_pick = true,
    .infer = kiln_infer_pool,
    .eval_ref = eval_ref,
    .cost = kiln_cost_pool,
    .error_bound = error_bound,
};
