/* recurrent: the steps of rnn, gru and lstm (compiler/op/recurrent/recurrent_steps.c).
 *
 * Each step multiplies r with a state: nothing but a stream of r, from the L2 cache or
 * from behind it, so r is packed ahead in the order in which it is read: blocks of
 * rows whose sums stay in registers, and in them rows next to each other. How many
 * rows is the template's choice; the loops are the operator's. */
#include "compiler/schedule/template.h"
#include "compiler/schedule/template/template_rules.h"

enum { X, W, R };         /* inputs of all three operators */
enum { MAX_MEMBERS = 4 }; /* images that go through a step together */

enum { ROWS, N_KNOBS };

static const kiln_type *type_of_r(const kiln_workload *w) {
    return &w->anchor->in[R]->type;
}

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    const kiln_node *n = w->anchor;
    (void)p;
    return (n->op == &kiln_op_lstm || n->op == &kiln_op_gru || n->op == &kiln_op_rnn) &&
           w->graph->nodes.n == 1 && n->in[W] == NULL &&
           kiln_value_is_const(n->in[R]) && kiln_type_elems(type_of_r(w)) > 0;
}

/* Half floats are multiplied as f32. */
static int64_t lanes_of(const kiln_workload *w, const kiln_profile *p) {
    const kiln_dtype dtype = type_of_r(w)->dtype;
    const bool is_half = dtype == KILN_F16 || dtype == KILN_BF16;
    return p->vector_bytes / (is_half ? 4 : (int64_t)kiln_dtype_bytes(dtype));
}

static kiln_status space(const kiln_workload *w, const kiln_profile *p, kiln_space *s,
                         kiln_err *err) {
    static const int64_t vectors[] = {1, 2, 4, 8, 16};
    enum { N = sizeof vectors / sizeof vectors[0] };
    int64_t rows[N];
    (void)err;
    for (int i = 0; i < N; i++)
        rows[i] = vectors[i] * lanes_of(w, p);
    kiln_space_add_up_to(s, "rows", "rows of r whose sums are in registers", rows, N,
                         type_of_r(w)->dim[1]);
    return KILN_OK;
}

static kiln_config guess(const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s) {
    kiln_config c = kiln_config_at(s, 0);
    const int64_t images = w->anchor->in[X]->type.dim[1];
    const int64_t members = images < MAX_MEMBERS ? images : MAX_MEMBERS;
    /* Vectors of sums of an image: as many as hide the latency. Half of them read r as
     * fast where it comes from behind the L2 cache, and threads share smaller blocks
     * better. */
    const int sums = kiln_sums_to_hide_latency(p);
    int64_t vectors = p->vector_registers / 2 / (members > 0 ? members : 1);
    const bool is_far = kiln_type_bytes(type_of_r(w)) > kiln_cache_l2(p);
    const int64_t most = is_far ? (sums + 1) / 2 : sums;
    vectors = vectors > most ? most : vectors;
    const int64_t rows = vectors * lanes_of(w, p);
    kiln_config_set(s, &c, ROWS, &rows);
    return c;
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s, const kiln_config *c, kiln_scheduled *out,
                         kiln_err *err) {
    const kiln_value *r = w->anchor->in[R];
    const kiln_rules rules = {.inlining = KILN_RULES_INLINE_BY_RULE};
    kiln_scheduled made = {.loop = {.max_unroll = 1024, .keep_large_loops = true}};
    kiln_layout *layout = kiln_array(a, kiln_layout, w->graph->values.n);
    for (size_t i = 0; i < w->graph->values.n; i++)
        layout[i] = w->graph->values.v[i]->type.layout;
    layout[r->id] = (kiln_layout){
        .n_blocks = 1,
        .block[0] = {.axis = 1, .size = (int32_t)kiln_config_int(s, c, ROWS, 0)}};
    KILN_TRY(kiln_rules_begin(a, w, layout, &made, err));
    KILN_TRY(kiln_rules_apply(made.schedule, p, &rules, err));
    *out = made;
    return KILN_OK;
}

const kiln_template kiln_template_recurrent = {
    .name = "recurrent",
    .doc = "Steps of recurrent cells, their weights in blocks of rows.",
    .takes = KILN_TAKES_PLAIN,
    .fits = fits,
    .space = space,
    .guess = guess,
    .apply = apply,
};
