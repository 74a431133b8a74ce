/* Hints as configurations of today's templates: knobs that say the same are set, all
 * others are the rule's. */
#include <string.h>

#include "pipeline/tune/hints.h"
#include "pipeline/tune/tune_internal.h"

/* ---- for which work? ------------------------------------------------------------- */

static int64_t elements_of(const kiln_type *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dim[i];
    return n;
}

static bool loops_of_conv(const kiln_node *n, int64_t *extent) {
    const kiln_type *k = &n->in[1]->type, *y = &n->out[0]->type;
    if (y->rank != 4 || kiln_node_attr(n, "groups")->i != 1)
        return false;
    extent[KILN_HINT_IMAGES] = y->dim[0];
    extent[KILN_HINT_OUT] = y->dim[1];
    extent[KILN_HINT_ROWS] = y->dim[2];
    extent[KILN_HINT_COLUMNS] = y->dim[3];
    extent[KILN_HINT_IN] = k->dim[1];
    extent[KILN_HINT_KERNEL_ROWS] = k->dim[2];
    extent[KILN_HINT_KERNEL_COLUMNS] = k->dim[3];
    return true;
}

/* All rows of the first operand at once; each operand is read whole, by one product. */
static bool loops_of_product(const kiln_node *n, int64_t *extent) {
    const kiln_type *y = &n->out[0]->type;
    const int64_t a = elements_of(&n->in[0]->type), b = elements_of(&n->in[1]->type);
    if (y->rank < 1 || a == 0 || b == 0)
        return false;
    const int64_t columns = y->dim[y->rank - 1], rows = elements_of(y) / columns,
                  terms = rows > 0 ? a / rows : 0;
    extent[KILN_HINT_M] = rows;
    extent[KILN_HINT_N] = columns;
    extent[KILN_HINT_K] = terms;
    return rows > 0 && terms > 0 && rows * terms == a && terms * columns == b;
}

bool kiln_hint_is_for(const kiln_tune_hint *h, const kiln_workload *w) {
    const kiln_node *n = w->anchor;
    int64_t extent[KILN_HINT_LOOPS] = {0};
    if (n->n_in < 2 || n->in[0] == NULL || n->in[1] == NULL ||
        n->in[0]->type.dtype != KILN_F32)
        return false;
    const bool is_conv = n->op == &kiln_op_conv;
    const bool is_product = n->op == &kiln_op_matmul || n->op == &kiln_op_gemm;
    if (h->kind == KILN_HINT_CONV ? !is_conv || !loops_of_conv(n, extent)
                                  : !is_product || !loops_of_product(n, extent))
        return false;
    return memcmp(extent, h->extent, sizeof extent) == 0;
}

/* ---- knobs ----------------------------------------------------------------------- */

typedef struct setting {
    const kiln_tune_task *task;
    const kiln_tune_hint *hint;
    kiln_config config;
} setting;

/* -1: the template has no such knob. */
static int knob_named(const setting *s, const char *name) {
    for (int k = 0; k < s->task->space.n; k++)
        if (strcmp(s->task->space.knob[k].name, name) == 0)
            return k;
    return -1;
}

static void set(setting *s, const char *name, int64_t value) {
    const int k = knob_named(s, name);
    if (value > 0 && k >= 0 && s->task->space.knob[k].value != NULL &&
        s->task->space.knob[k].n_parts == 1)
        kiln_config_set(&s->task->space, &s->config, k, &value);
}

/* Rows, columns and channel blocks of conv_direct's register tile; 0: as the rule has
 * it. */
static void set_tile(setting *s, const int64_t part[3]) {
    const int k = knob_named(s, "tile");
    int64_t value[3];
    if (k < 0 || s->task->space.knob[k].n_parts != 3)
        return;
    for (int i = 0; i < 3; i++)
        value[i] =
            part[i] > 0 ? part[i] : kiln_config_int(&s->task->space, &s->config, k, i);
    kiln_config_set(&s->task->space, &s->config, k, value);
}

static int64_t lanes_of(const setting *s) {
    return s->task->profile->vector_bytes / (int64_t)kiln_dtype_bytes(KILN_F32);
}

/* Channels of a vector, and how many vectors of them the tile has: what was one block
 * there may be several vectors here. */
static void split_channels(const setting *s, int64_t *block, int64_t *blocks) {
    const int64_t n = s->hint->tile[KILN_HINT_OUT], lanes = lanes_of(s);
    *block = n < lanes ? n : lanes;
    *blocks = n <= lanes ? (n > 0 ? 1 : 0) : n / lanes;
}

static void set_conv_direct(setting *s) {
    const kiln_tune_hint *h = s->hint;
    const int64_t rows = h->tile[KILN_HINT_ROWS] > 0 ? h->tile[KILN_HINT_ROWS] : 1;
    int64_t block, blocks;
    split_channels(s, &block, &blocks);
    set(s, "oc_block", block);
    set(s, "ic_block", h->tile[KILN_HINT_IN]);
    set_tile(s, (const int64_t[3]){rows, h->tile[KILN_HINT_COLUMNS], blocks});
    if (h->unroll != KILN_HINT_SAYS_NOTHING)
        set(s, "unroll",
            h->unroll == KILN_HINT_UNROLLS ? h->extent[KILN_HINT_KERNEL_COLUMNS] : 1);
}

static void set_conv_1x1(setting *s) {
    int64_t block, blocks;
    split_channels(s, &block, &blocks);
    set(s, "oc_block", block);
    set(s, "ic_block", s->hint->tile[KILN_HINT_IN]);
    set(s, "tile_rows", s->hint->tile[KILN_HINT_ROWS]);
    set(s, "tile_p", s->hint->tile[KILN_HINT_COLUMNS]);
    set(s, "tile_oc", blocks);
}

static void set_product(setting *s) {
    const kiln_tune_hint *h = s->hint;
    set(s, "tile_m", h->tile[KILN_HINT_M]);
    set(s, "tile_n", h->tile[KILN_HINT_N]);
    set(s, "block_m", h->block[KILN_HINT_M]);
    set(s, "block_n", h->block[KILN_HINT_N]);
    set(s, "unroll_k", h->tile[KILN_HINT_K]);
}

typedef struct counterpart {
    const kiln_template *tmpl;
    kiln_hint_kind kind;
    void (*set)(setting *s);
} counterpart;

static const counterpart counterparts[] = {
    {&kiln_template_conv_direct, KILN_HINT_CONV, set_conv_direct},
    {&kiln_template_conv_1x1, KILN_HINT_CONV, set_conv_1x1},
    {&kiln_template_matmul, KILN_HINT_PRODUCT, set_product},
    {&kiln_template_matmul_dot, KILN_HINT_PRODUCT, set_product},
};

static const counterpart *counterpart_of(const kiln_tune_task *t) {
    for (size_t i = 0; i < sizeof counterparts / sizeof counterparts[0]; i++)
        if (counterparts[i].tmpl == t->tmpl)
            return &counterparts[i];
    return NULL;
}

size_t kiln_tune_hints_for(kiln_arena *scratch, const kiln_tune_hints *h,
                           const kiln_tune_task *t, size_t most, uint64_t *out) {
    const counterpart *c = counterpart_of(t);
    size_t n = 0;
    for (size_t i = 0; c != NULL && i < h->list.n && n < most; i++) {
        setting s = {.task = t, .hint = &h->list.v[i]};
        bool is_new = true;
        if (s.hint->kind != c->kind || !kiln_hint_is_for(s.hint, t->work))
            continue;
        s.config = t->tmpl->guess(t->work, t->profile, &t->space);
        c->set(&s);
        out[n] = kiln_config_index(&t->space, &s.config);
        for (size_t k = 0; k < n; k++)
            is_new = is_new && out[k] != out[n];
        if (is_new && kiln_tune_activations(scratch, t, &t->space, &s.config) != NULL)
            n++;
    }
    return n;
}
