/* gpu_generic: any expression as launches of one thread an element, by the rules of
 * gpu_launch.c. It takes all that has no hand-made loops, and stays the last for GPUs. */
#include "compiler/schedule/template/gpu/gpu.h"

enum { INLINE, FUSE, THREADS, EACH, LANES };

static const char *const inline_words[] = {"rule", "all", "none"};
static const char *const fuse_words[] = {"threads", "none"};
static const int64_t each[] = {1, 2, 4, 8, 16, 32};
static const int64_t lanes[] = {1, 2, 4, 8};

#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))

static kiln_status space(const kiln_workload *w, const kiln_profile *p, kiln_space *s,
                         kiln_err *err) {
    (void)w;
    (void)err;
    kiln_space_add_words(s, "inline", "which injective stages are computed in place",
                         inline_words, COUNT(inline_words));
    kiln_space_add_words(s, "fuse", "are stages computed by the threads that read them",
                         fuse_words, COUNT(fuse_words));
    kiln_gpu_add_threads(s, "threads", "threads of a block", p, 1);
    kiln_space_add_ints(s, "each", "elements or vectors of a thread", each,
                        COUNT(each));
    kiln_space_add_ints(s, "lanes", "elements of a vector, where nothing is summed",
                        lanes, COUNT(lanes));
    return KILN_OK;
}

static int64_t work_of(const kiln_workload *w) {
    int64_t most = 1;
    for (size_t i = 0; i < w->graph->outputs.n; i++) {
        const int64_t n = kiln_type_elems(&w->graph->outputs.v[i]->type);
        most = n > most ? n : most;
    }
    return most;
}

static kiln_config guess(const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s) {
    kiln_config c = {.n = s->n};
    const int64_t n = work_of(w), threads = kiln_gpu_threads_for(p, n);
    const int64_t most = n / (threads * kiln_gpu_blocks_wanted(p));
    /* Threads that go each by itself are loops: fewer blocks of longer ones. */
    const int64_t some = p->gpu.warp > 1 ? 4 : COUNT(each);
    kiln_config_set(s, &c, THREADS, &threads);
    kiln_config_set(s, &c, EACH,
                    &(const int64_t){most < 1 ? 1 : (most < some ? most : some)});
    return c;
}

static kiln_status apply(kiln_arena *a, const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s, const kiln_config *c, kiln_scheduled *out,
                         kiln_err *err) {
    kiln_scheduled made = {.loop = {.max_unroll = 1024, .keep_large_loops = true}};
    const kiln_gpu_rules rules = {
        .keep_apart = c->option[FUSE] != 0,
        .share = {.threads = kiln_config_int(s, c, THREADS, 0),
                  .each = kiln_config_int(s, c, EACH, 0),
                  .lanes = kiln_config_int(s, c, LANES, 0)}};
    (void)p;
    KILN_TRY(kiln_rules_begin(a, w, NULL, &made, err));
    KILN_TRY(
        kiln_rules_inlined(made.schedule, (kiln_rules_inline)c->option[INLINE], err));
    KILN_TRY(kiln_gpu_rules_apply(made.schedule, &rules, err));
    *out = made;
    return KILN_OK;
}

const kiln_template kiln_template_gpu_generic = {
    .name = "gpu_generic",
    .doc = "any expression on a GPU: one thread an element, by rule",
    .takes = KILN_TAKES_ANY,
    .target = KILN_TARGET_GPU,
    .fits = kiln_gpu_takes,
    .space = space,
    .guess = guess,
    .apply = apply,
};
