/* What templates for GPUs share: loops dealt out to blocks and threads, memory fetched by
 * a block together, and what a profile's blocks may have. Inside
 * compiler/schedule/template. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_GPU_GPU_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_GPU_GPU_H

#include "compiler/schedule/template.h"
#include "compiler/schedule/template/template_rules.h"

/* The profile is a GPU's, all operators say what they compute, and none of it is a
 * program made by hand, which has no loops to deal out. */
bool kiln_gpu_takes(const kiln_workload *w, const kiln_profile *p);

/* ---- spaces ---------------------------------------------------------------------- */

/* A knob of powers of two from `least` up to what a block may have of threads. */
int kiln_gpu_add_threads(kiln_space *s, const char *name, const char *doc,
                         const kiln_profile *p, int64_t least);
/* So many blocks keep the machine busy. */
int64_t kiln_gpu_blocks_wanted(const kiln_profile *p);
/* Threads of a block for n pieces of work that know nothing of each other. */
int64_t kiln_gpu_threads_for(const kiln_profile *p, int64_t n);

/* ---- loops ----------------------------------------------------------------------- */

/* One loop over the stage's spatial leaves from number `first` on, which stand together:
 * all up to the first reduction, at most n of them (0: all). */
kiln_status kiln_gpu_fuse(kiln_stage *st, size_t first, size_t n, kiln_iter **out,
                          kiln_err *err);
/* All spatial loops of the stage as one, in blocks of `threads` threads of `each`
 * elements, a block's width apart so that neighbours read neighbours; `lanes` elements of
 * each are a vector. *inside: one iteration computes one vector. A stage without axes
 * is one thread's. */
typedef struct kiln_gpu_share {
    int64_t threads, each, lanes; /* lanes: 1 for none */
} kiln_gpu_share;
kiln_status kiln_gpu_deal(kiln_stage *st, const kiln_gpu_share *share,
                          kiln_iter **inside, kiln_err *err);

/* ---- rules ----------------------------------------------------------------------- */

/* What kiln_gpu_rules_apply does to all stages alike. */
typedef struct kiln_gpu_rules {
    bool keep_apart; /* a launch for each stage that is not inlined */
    kiln_gpu_share share;
} kiln_gpu_rules;
/* Every stage that is at root, untouched and not inlined becomes a launch of its own, or
 * is computed by the threads that read it where each reads what it computes alone.
 * Stages that are bound already, and what is computed inside them, stay as they are. */
kiln_status kiln_gpu_rules_apply(kiln_schedule *s, const kiln_gpu_rules *rules,
                                 kiln_err *err);

#endif
