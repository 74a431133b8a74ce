/* What a database teaches of work that it does not know: lessons.c reads it, tune_transfer.c
 * makes a model of it, predict.c asks that. */
#ifndef KILN_PIPELINE_TUNE_TRANSFER_INTERNAL_H
#define KILN_PIPELINE_TUNE_TRANSFER_INTERNAL_H

#include "compiler/tuner/tuner_transfer.h"
#include "pipeline/tune/tune_internal.h"

typedef KILN_VEC(const char *) kiln_tune_texts;

/* Lessons of a database, alone-measured trials of one work with one template each. */
typedef struct kiln_tune_lessons {
    KILN_VEC(kiln_lesson) list;
    kiln_tune_texts seen;         /* of each: kiln_tune_seen_text */
    kiln_tune_texts profile;      /* of each: its name and key */
    int64_t n_trials;             /* of all that they were drawn from */
    char sha256[KILN_SHA256_HEX]; /* of all of these */
} kiln_tune_lessons;

/* Of each work and template at most 192 candidates, of many works fewer (48 of 256 and
 * more): the fastest third, and others in
 * even steps; in the order of the database's tasks, which is that of their texts.
 * kind NULL: only counts and hash. Work that is none of today's is left out. */
kiln_status kiln_tune_lessons_read(kiln_arena *a, kiln_db *db,
                                   const kiln_cost_model_kind *kind,
                                   kiln_tune_lessons *out, kiln_err *err);

/* Of the same, those nearest to any of the pupils, each with its nearness as weight: at
 * most n_most lessons of 64 candidates, and none of the tasks `own`, which are the
 * pupils' own. Nearest first; n_trials and sha256 are not set. */
typedef struct kiln_tune_pupils {
    const kiln_setting *setting;
    const int64_t *own;
    size_t n; /* of both */
} kiln_tune_pupils;
kiln_status kiln_tune_lessons_near(kiln_arena *a, kiln_db *db,
                                   const kiln_cost_model_kind *kind,
                                   const kiln_tune_pupils *p, size_t n_most,
                                   kiln_tune_lessons *out, kiln_err *err);

/* Under which condition which shapes were measured: "conv_direct x86_64/64/32 1 fast
 * conv f32: 1 64 56 56 64 64 3 3 1 64 56 56", the dimensions of the anchor's operands (of
 * two and more) and of its result. */
const char *kiln_tune_seen_text(kiln_arena *a, const kiln_op_work *w,
                                const kiln_profile *p, int threads,
                                const kiln_template *t);
/* How many powers of two the dimension that differs most is apart, from the nearest of
 * them; infinity where none has the same condition. */
double kiln_tune_distance(const kiln_tune_texts *seen, const char *text);

struct kiln_tune_transfer {
    kiln_cost_model model;
    kiln_held_out held_out;
    int64_t n_trials;
    const char *sha256; /* of what it was fitted to */
    kiln_tune_texts seen;
};

/* Of the database as it is; NULL in *out: too little to learn from. */
kiln_status kiln_tune_transfer_learn(kiln_arena *a, kiln_db *db,
                                     const kiln_cost_model_kind *kind,
                                     kiln_tune_transfer **out, kiln_err *err);
kiln_status kiln_tune_transfer_keep(kiln_db *db, const kiln_tune_transfer *t,
                                    kiln_err *err);

/* The stored model alone, for a search to begin with; the caller's to release. False:
 * there is none that can be read. */
bool kiln_tune_transfer_take(kiln_db *db, const kiln_cost_model_kind *kind,
                             kiln_cost_model *out);

/* The answer for a work that nobody measured; *has false: the rule's. */
kiln_status kiln_tune_predict(const kiln_tune_transfer *t, kiln_arena *a,
                              const kiln_op_work *w, const kiln_profile *p, int threads,
                              bool *has, kiln_answer *out, kiln_err *err);

#endif
