/* reduce: sums, extremes, norms over some axes, by the rules of template_rules.h, which take the
 * axes for what they are: joined where they are neighbours, lanes across results or
 * along the reduction, whole rows where those lie far apart. It costs what reading x
 * costs. Where there are fewer results than threads, the reduction is cut into parts
 * that run in parallel, and those are reduced in the end. */
#include "compiler/schedule/template/template_rules.h"

#include "compiler/schedule/template.h"

#include <string.h>

enum { PARTS, VECTOR, VECTORS, ACCUMULATORS, UNROLL, PARALLEL };

static const char *const vector_words[] = {"best", "second", "none"};
static const char *const parallel_words[] = {"off", "on"};
static const int64_t vectors[] = {0, 1, 2, 3, 4, 6, 8, 12, 16};
static const int64_t accumulators[] = {0, 1, 2, 4, 8, 16};
static const int64_t unroll[] = {0, 1, 2, 4, 8, 16};

/* The knob's, not a machine's: parts of at least LEAST_PART elements, up to twice the
 * threads of a large one. */
enum { MAX_PARTS = 256, LEAST_PART = 64 };

#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))

static int64_t n_results(const kiln_workload *w) {
    return kiln_type_elems(&w->anchor->out[0]->type);
}

/* Those operators that reduce along axes they list. */
static bool fits(const kiln_workload *w, const kiln_profile *p) {
    (void)p;
    const kiln_op_def *op = w->anchor->op;
    return op->fuse == KILN_FUSE_REDUCTION && op->n_attr > 0 &&
           strcmp(op->attr[0].name, "axes") == 0 && op->compute != NULL;
}

static kiln_status space(const kiln_workload *w, const kiln_profile *p, kiln_space *s,
                         kiln_err *err) {
    int64_t parts[16];
    int n = 0;
    (void)err;
    const int64_t elems = kiln_type_elems(&w->anchor->in[0]->type);
    for (int64_t i = 1; i <= MAX_PARTS && n < 16 && (i == 1 || i * LEAST_PART <= elems);
         i *= 2)
        parts[n++] = i;
    kiln_space_add_ints(s, "parts", "partial results of one result", parts,
                        n_results(w) < 4 * (int64_t)p->cores ? n : 1);
    kiln_space_add_words(s, "vector", "axis that becomes vectors, by estimated cost",
                         vector_words, COUNT(vector_words));
    kiln_space_add_ints(s, "vectors", "vectors of a tile of results; 0: by rule",
                        vectors, COUNT(vectors));
    kiln_space_add_ints(s, "accumulators",
                        "vectors of partial results where lanes meet; 0: by rule",
                        accumulators, COUNT(accumulators));
    kiln_space_add_ints(s, "unroll", "rows side by side; 0: by rule", unroll,
                        COUNT(unroll));
    kiln_space_add_words(s, "parallel", "do outer loops run on several threads",
                         parallel_words, p->cores > 1 ? 2 : 1);
    return KILN_OK;
}

static kiln_config guess(const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s) {
    kiln_config c = {.n = s->n};
    const int64_t cores = p->cores;
    /* An addition for each element at least, or what is one. */
    const double adds = (double)kiln_type_elems(&w->anchor->in[0]->type);
    if (cores < 2 || !kiln_is_worth_fork(p, adds))
        return c;
    kiln_config_set_word(s, &c, PARALLEL, "on");
    if (n_results(w) < cores)
        kiln_config_set(s, &c, PARTS, &cores);
    return c;
}

/* The one stage that reduces; NULL: several do. */
static kiln_stage *only_reduction(const kiln_schedule *s) {
    kiln_stage *found = NULL;
    for (size_t i = 0; i < s->stage.n; i++) {
        if (s->stage.v[i]->te->n_reduce == 0)
            continue;
        if (found != NULL)
            return NULL;
        found = s->stage.v[i];
    }
    return found;
}

static kiln_status cut_parts(kiln_schedule *s, int64_t parts, kiln_err *err) {
    kiln_stage *st = only_reduction(s), *part;
    kiln_iter *outer, *inner;
    if (st == NULL || parts < 2)
        return KILN_OK;
    KILN_TRY(
        kiln_split_parts(st, kiln_stage_reduce(st, 0), parts, &outer, &inner, err));
    return kiln_rfactor(st, outer, &part, err);
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s, const kiln_config *c, kiln_scheduled *out,
                         kiln_err *err) {
    kiln_scheduled made = {.loop = {.max_unroll = 1024, .keep_large_loops = true}};
    const kiln_rules rules = {
        .parallel = c->option[PARALLEL] != 0,
        .nest = {.vector = c->option[VECTOR],
                 .vectors = (int)kiln_config_int(s, c, VECTORS, 0),
                 .accumulators = (int)kiln_config_int(s, c, ACCUMULATORS, 0),
                 .unroll = (int)kiln_config_int(s, c, UNROLL, 0)}};
    KILN_TRY(kiln_rules_begin(a, w, NULL, &made, err));
    KILN_TRY(cut_parts(made.schedule, kiln_config_int(s, c, PARTS, 0), err));
    KILN_TRY(kiln_rules_apply(made.schedule, p, &rules, err));
    *out = made;
    return KILN_OK;
}

const kiln_template kiln_template_reduce = {
    .name = "reduce",
    .doc = "reductions along axes, at the speed of reading what is reduced",
    .takes = KILN_TAKES_ANY,
    .fits = fits,
    .space = space,
    .guess = guess,
    .apply = apply,
};
