/* Shared inside this folder. */
#ifndef KILN_PIPELINE_NIGHTLY_INTERNAL_H
#define KILN_PIPELINE_NIGHTLY_INTERNAL_H

#include "compiler/target/target.h"
#include "pipeline/nightly/fields.h"
#include "pipeline/nightly/nightly.h"

/* ---- names.c: what a file may name -------------------------------------------------
 */

/* By number, NULL past the end. */
const char *nightly_search_name(int i);
const char *nightly_cost_model_name(int i);
const char *nightly_baseline_name(int i);
const char *nightly_numerics_name(int i);
/* Is there such a network, model, list of operators? */
kiln_status nightly_find_zoo(const char *name, kiln_err *err);
/* catalog NULL: the one that ships. */
kiln_status nightly_find_in_catalog(kiln_arena *a, const char *catalog,
                                    const char *name, kiln_err *err);
kiln_status nightly_find_ops(kiln_arena *a, const char *set, kiln_err *err);

/* ---- command.c: the commands of stages ---------------------------------------------
 */

/* Where a stage finds and puts things. */
typedef struct nightly_places {
    const char *run;          /* the run's folder */
    const char *const *model; /* file (or "zoo:NAME") of each model */
} nightly_places;

/* The archive that a job builds. */
const char *nightly_archive(kiln_arena *a, const kiln_nightly_config *c,
                            const kiln_nightly_graph *g, const kiln_nightly_job *j,
                            const char *run);
/* Words behind the program's name. */
kiln_nightly_words nightly_command(kiln_arena *a, const kiln_nightly_config *c,
                                   const kiln_nightly_graph *g,
                                   const kiln_nightly_stage *s,
                                   const nightly_places *at);
/* As a shell has it. */
const char *nightly_shell(kiln_arena *a, const char *program,
                          const kiln_nightly_words *words);
/* "dqn, native, 2 threads". */
const char *nightly_title(kiln_arena *a, const kiln_nightly_config *c,
                          const kiln_nightly_graph *g, const kiln_nightly_stage *s);

#endif
