/* gpu_reduce: sums, softmax and norms along axes that lie in one piece, a block for some
 * rows, its threads along them (gpu_rows.h). */
#include "compiler/schedule/template/gpu/gpu_rows.h"

enum { THREADS, ROWS, INLINE };

static const char *const inline_words[] = {"rule", "all", "none"};
static const int64_t rows[] = {1, 2, 4, 8, 16, 32};

#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))

/* ---- what it takes --------------------------------------------------------------- */

typedef struct shape {
    int64_t terms; /* of the longest sum */
    int64_t rows;
    bool is_straight; /* sums run along memory, one axis of it each */
    int n_sums;
} shape;

typedef struct looker {
    const kiln_te *te;
    bool is_straight;
} looker;

/* An index of a term is that term, or has nothing to do with it: no window. */
static void look_at(void *user, const kiln_expr *e) {
    looker *l = user;
    if (e->kind != KILN_EXPR_READ)
        return;
    for (int i = 0; i < e->n_arg; i++)
        for (int k = 0; k < l->te->n_reduce; k++)
            if (kiln_expr_uses(e->arg[i], l->te->reduce[k]->var) &&
                e->arg[i]->kind != KILN_EXPR_VAR)
                l->is_straight = false;
}

static bool is_straight(kiln_arena *a, const kiln_te *te) {
    looker l = {te, true};
    kiln_accesses x;
    for (int k = 0; k < te->n_out; k++)
        kiln_expr_visit(te->body[k], look_at, &l);
    kiln_accesses_of(a, te, &x);
    return l.is_straight && x.max_bytes > 0 &&
           !kiln_accesses_strided(&x, x.n_axes - 1) &&
           kiln_accesses_contiguous(&x, x.n_axes - 1);
}

static shape shape_of(kiln_arena *a, const kiln_schedule *s) {
    shape out = {.terms = 1, .rows = 1, .is_straight = true};
    const kiln_te **te = kiln_schedule_inlined(a, s);
    for (size_t i = 0; i < s->stage.n; i++) {
        if (s->stage.v[i]->attach == KILN_ATTACH_INLINE || te[i]->n_reduce == 0)
            continue;
        int64_t n = 1, m = kiln_te_elems(te[i]);
        for (int k = 0; k < te[i]->n_reduce; k++) {
            int64_t extent = 1;
            (void)kiln_x_is_int(te[i]->reduce[k]->extent, &extent);
            n *= extent;
        }
        out.n_sums++;
        out.terms = n > out.terms ? n : out.terms;
        out.rows = m > out.rows ? m : out.rows;
        out.is_straight = out.is_straight && n > 0 && m > 0 && is_straight(a, te[i]);
    }
    return out;
}

static kiln_status begin(kiln_arena *a, const kiln_workload *w, kiln_rules_inline how,
                         kiln_scheduled *out, kiln_err *err) {
    kiln_stage *sum;
    KILN_TRY(kiln_rules_begin(a, w, NULL, out, err));
    KILN_TRY(kiln_rules_inlined(out->schedule, how, err));
    kiln_stage *y = out->schedule->stage.v[out->schedule->stage.n - 1];
    return y->te->n_reduce > 0 ? kiln_cache_write(y, KILN_SCOPE_LOCAL, &sum, err)
                               : KILN_OK;
}

static shape look(const kiln_workload *w) {
    kiln_arena scratch = {0};
    kiln_scheduled x = {.schedule = NULL};
    kiln_err unused = {0};
    shape out = {.n_sums = 0};
    if (begin(&scratch, w, KILN_RULES_INLINE_BY_RULE, &x, &unused) == KILN_OK)
        out = shape_of(&scratch, x.schedule);
    kiln_arena_fini(&scratch);
    return out;
}

static bool fits(const kiln_workload *w, const kiln_profile *p) {
    if (w->graph->outputs.n != 1 || !kiln_gpu_takes(w, p))
        return false;
    const shape s = look(w);
    return s.n_sums > 0 && s.is_straight;
}

/* ---- space ----------------------------------------------------------------------- */

static kiln_status space(const kiln_workload *w, const kiln_profile *p, kiln_space *s,
                         kiln_err *err) {
    (void)w;
    (void)err;
    kiln_gpu_add_threads(s, "threads", "threads along a row", p, 1);
    kiln_space_add_ints(s, "rows", "rows of a block, where they are one axis", rows,
                        COUNT(rows));
    kiln_space_add_words(s, "inline", "which injective stages are computed in place",
                         inline_words, COUNT(inline_words));
    return KILN_OK;
}

/* A thread has four terms at least, a block 128 threads or the profile's usual ones. */
static kiln_config guess(const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s) {
    kiln_config c = {.n = s->n};
    const shape x = look(w);
    const int64_t most = p->gpu.warp > 1 ? 256 : 32;
    int64_t threads = 1, n_rows = 1;
    while (threads < most && threads < p->gpu.block_threads && threads * 8 <= x.terms)
        threads *= 2;
    while (p->gpu.warp > 1 && threads * n_rows < 128 &&
           n_rows * kiln_gpu_blocks_wanted(p) < x.rows && n_rows < 32)
        n_rows *= 2;
    kiln_config_set(s, &c, THREADS, &threads);
    kiln_config_set(s, &c, ROWS, &n_rows);
    return c;
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s, const kiln_config *c, kiln_scheduled *out,
                         kiln_err *err) {
    kiln_scheduled made = {.loop = {.max_unroll = 1024, .keep_large_loops = true}};
    kiln_gpu_rows r;
    KILN_TRY(begin(a, w, (kiln_rules_inline)c->option[INLINE], &made, err));
    KILN_TRY(kiln_gpu_rows_of(made.schedule, p, kiln_config_int(s, c, THREADS, 0),
                              kiln_config_int(s, c, ROWS, 0), &r, err));
    KILN_TRY(kiln_gpu_rows_apply(&r, err));
    *out = made;
    return KILN_OK;
}

const kiln_template kiln_template_gpu_reduce = {
    .name = "gpu_reduce",
    .doc =
        "sums, softmax and norms on a GPU: threads along rows, sums in shared memory",
    .takes = KILN_TAKES_PLAIN,
    .target = KILN_TARGET_GPU,
    .fits = fits,
    .space = space,
    .guess = guess,
    .apply = apply,
};
