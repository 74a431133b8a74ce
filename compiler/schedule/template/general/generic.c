/* The generic template: schedules any expression by rule (template_rules.h), each rule open to a
 * knob. Value 0 of a knob leaves the choice to the rule, stage by stage; so the default
 * configuration is the rules alone. */
#include "compiler/schedule/template/template_rules.h"

#include "compiler/schedule/template.h"

#include <string.h>

enum {
    INLINE,
    FUSE,
    VECTOR,
    LANES,
    VECTORS,
    ROWS,
    ACCUMULATORS,
    UNROLL,
    ORDER,
    PARALLEL
};

static const char *const inline_words[] = {"rule", "all", "none"};
static const char *const fuse_words[] = {"rule", "none"};
static const char *const vector_words[] = {"best", "second", "none"};
static const char *const order_words[] = {"rows", "vectors"};
static const char *const parallel_words[] = {"off", "on"};
static const int64_t vectors[] = {0, 1, 2, 3, 4, 6, 8};
static const int64_t rows[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 28};
static const int64_t accumulators[] = {0, 1, 2, 4, 8};
static const int64_t unroll[] = {0, 1, 2, 3, 4, 8, 16};

#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    (void)p;
    for (size_t i = 0; i < w->graph->nodes.n; i++)
        if (w->graph->nodes.v[i]->op->compute == NULL)
            return false;
    return true;
}

static kiln_status space(const kiln_workload *w, const kiln_profile *p, kiln_space *s,
                         kiln_err *err) {
    int64_t lanes[16] = {0};
    int n_lanes = 1;
    (void)w;
    (void)err;
    for (int64_t n = 2; n <= p->vector_bytes && n_lanes < 16; n *= 2)
        lanes[n_lanes++] = n;
    kiln_space_add_words(s, "inline", "which injective stages are computed in place",
                         inline_words, COUNT(inline_words));
    kiln_space_add_words(s, "fuse", "are stages computed inside those that read them",
                         fuse_words, COUNT(fuse_words));
    kiln_space_add_words(s, "vector", "axis that becomes vectors, by estimated cost",
                         vector_words, COUNT(vector_words));
    kiln_space_add_ints(s, "lanes", "elements of a vector; 0: a register", lanes,
                        n_lanes);
    kiln_space_add_ints(s, "vectors", "vectors of a tile; 0: by rule", vectors,
                        COUNT(vectors));
    kiln_space_add_ints(s, "rows", "rows of a tile; 0: by rule", rows, COUNT(rows));
    kiln_space_add_ints(s, "accumulators",
                        "vectors of partial results of a narrow reduction; 0: by rule",
                        accumulators, COUNT(accumulators));
    kiln_space_add_ints(s, "unroll",
                        "iterations of the innermost reduction loop side by side; 0: "
                        "by rule",
                        unroll, COUNT(unroll));
    kiln_space_add_words(s, "order", "which tiles come outermost", order_words,
                         COUNT(order_words));
    kiln_space_add_words(s, "parallel", "do outer loops run on several threads",
                         parallel_words, p->cores > 1 ? 2 : 1);
    return KILN_OK;
}

static kiln_config guess(const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s) {
    kiln_config c = {.n = s->n};
    if (kiln_rules_want_threads(w, p))
        kiln_config_set_word(s, &c, PARALLEL, "on");
    return c;
}

static kiln_rules rules_of(const kiln_space *s, const kiln_config *c) {
    return (kiln_rules){
        .inlining = (kiln_rules_inline)c->option[INLINE],
        .keep_apart = c->option[FUSE] != 0,
        .parallel = c->option[PARALLEL] != 0,
        .nest = {.vector = c->option[VECTOR],
                 .lanes = (int)kiln_config_int(s, c, LANES, 0),
                 .vectors = (int)kiln_config_int(s, c, VECTORS, 0),
                 .rows = (int)kiln_config_int(s, c, ROWS, 0),
                 .accumulators = (int)kiln_config_int(s, c, ACCUMULATORS, 0),
                 .unroll = (int)kiln_config_int(s, c, UNROLL, 0),
                 .rows_inside = c->option[ORDER] != 0}};
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s, const kiln_config *c, kiln_scheduled *out,
                         kiln_err *err) {
    kiln_scheduled made = {.loop = {.max_unroll = 1024, .keep_large_loops = true}};
    const kiln_rules rules = rules_of(s, c);
    KILN_TRY(kiln_rules_begin(a, w, NULL, &made, err));
    KILN_TRY(kiln_rules_apply(made.schedule, p, &rules, err));
    *out = made;
    return KILN_OK;
}

const kiln_template kiln_template_generic = {
    .name = "generic",
    .doc = "any expression: stages inlined, fused, tiled and vectorised by rule",
    .takes = KILN_TAKES_ANY,
    .fits = fits,
    .space = space,
    .guess = guess,
    .apply = apply,
};
