/* What ships: of a package, or of a model as it would be built, each step's kernel with
 * where it came from, what is on record about it, and how it was made.
 *
 *     kiln_shipped_of_package(a, path, &s, err);    or kiln_shipped_of_model
 *     kiln_shipped_ask_db(a, &s, db, err);          trials and best times
 *     kiln_shipped_ask_results(a, &s, file, err);   measured times, vendors' too
 *     kiln_shipped_text, kiln_shipped_step_text, kiln_shipped_json
 */
#ifndef KILN_PIPELINE_PACKAGE_PACKAGE_SHIPPED_H
#define KILN_PIPELINE_PACKAGE_PACKAGE_SHIPPED_H

#include "pipeline/package/package.h"
#include "tuning_db/tuning_db.h"

/* Somebody else's time. */
typedef struct kiln_shipped_rival {
    const char *name, *version; /* version NULL: not known */
    double ms;
} kiln_shipped_rival;
typedef KILN_VEC(kiln_shipped_rival) kiln_shipped_rivals;

typedef struct kiln_shipped_kernel {
    kiln_package_kernel is;
    int n_tried;          /* configurations on record for this very work; 0: none */
    double best_ms;       /* of them; 0: not known */
    const char *record;   /* whose: "database", "ready records"; NULL: nobody's */
    const char *schedule; /* NULL: not made here */
    const char *program;  /* the loop program; NULL: not made here */
    const char *not_made; /* why not, or why they may not be this code's; NULL */
    kiln_shipped_rivals rival; /* of results: the same operator alone */
} kiln_shipped_kernel;

typedef struct kiln_shipped_step {
    const char *name, *op;
    int kernel;       /* -1: a copy */
    double result_ms; /* of results: median of this step; 0: not known */
    /* Types of all that it reads and writes, as they lie (kiln_type_text); NULL: not
     * known, as of steps of older packages and of those that pack. */
    const char *const *in, *const *out;
    size_t n_in, n_out;
} kiln_shipped_step;

typedef struct kiln_shipped {
    const char *path;            /* of the package, or the model as it was named */
    kiln_opened package;         /* folder NULL: a model that nobody packed */
    kiln_package_facts facts;    /* model, profile, threads, kernels */
    const kiln_network *network; /* made here; NULL: it was not */
    KILN_VEC(kiln_shipped_kernel) kernel;
    /* In the plan's order: those of a run, then n_open that pack parameters when a
     * model is opened. */
    KILN_VEC(kiln_shipped_step) step;
    size_t n_open;
    const char *results;       /* which job of which file; NULL: none */
    double result_ms;          /* of the whole network */
    kiln_shipped_rivals rival; /* of the whole network */
} kiln_shipped;

/* No device is needed: nothing is run. */
kiln_status kiln_shipped_of_package(kiln_arena *a, const char *path, kiln_shipped *out,
                                    kiln_err *err);
/* Compiles it, as a build would. */
kiln_status kiln_shipped_of_model(kiln_arena *a, const kiln_source *s,
                                  const kiln_profile *p,
                                  const kiln_choose_options *choose, int threads,
                                  kiln_shipped *out, kiln_err *err);
/* A package has no schedules: the model that it was built from, compiled again with its
 * configurations, has. Kernels whose code differs then say so. */
kiln_status kiln_shipped_add_model(kiln_arena *a, kiln_shipped *s, const char *model,
                                   const kiln_fixed_inputs *fixed, kiln_err *err);

/* Records of this very work, profile and number of threads. `whose`: for people. What
 * was found before is kept. */
kiln_status kiln_shipped_ask_db(kiln_arena *a, kiln_shipped *s, kiln_db *db,
                                const char *whose, kiln_err *err);
/* A night's results.json, or what `kiln bench --json` wrote of a network or operators:
 * the job of this model, profile and number of threads, and operators that are the same
 * work. KILN_ERR_ARG: it has nothing of this model; KILN_ERR_PARSE: it is no such file.
 */
kiln_status kiln_shipped_ask_results(kiln_arena *a, kiln_shipped *s, const char *path,
                                     kiln_err *err);

/* A number from 1, as the table has it, or a name. KILN_ERR_ARG: no such step. */
kiln_status kiln_shipped_find(const kiln_shipped *s, const char *word, size_t *out,
                              kiln_err *err);
/* Of the step's kernel, as it is in the library. */
kiln_status kiln_shipped_assembly(kiln_arena *a, const kiln_shipped *s, size_t step,
                                  kiln_str *out, kiln_err *err);

void kiln_shipped_text(kiln_buf *out, const kiln_shipped *s);
kiln_status kiln_shipped_step_text(kiln_buf *out, const kiln_shipped *s, size_t step,
                                   kiln_err *err);
/* An object (docs/explain-json.md); step SIZE_MAX: all of them, without their code. */
kiln_status kiln_shipped_json(kiln_json_writer *w, const kiln_shipped *s, size_t step,
                              kiln_err *err);

#endif
