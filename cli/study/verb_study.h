/* The experiments of kiln study: each has its options among those of the verb. */
#ifndef KILN_CLI_VERB_STUDY_H
#define KILN_CLI_VERB_STUDY_H

#include "cli/cli.h"
#include "reports/results/reports_study.h"

enum {
    KILN_STUDY_COLLECT,
    KILN_STUDY_CORPUS,
    KILN_STUDY_TIME,
    KILN_STUDY_CONFIGURATIONS,
    KILN_STUDY_WORKS,
    KILN_STUDY_ANEW,
    KILN_STUDY_SEEDS,
    KILN_STUDY_WHOLE,
    KILN_STUDY_MEASURED,
    KILN_STUDY_REPLAY,
    KILN_STUDY_MODELS,
    KILN_STUDY_PARTS,
    KILN_STUDY_BASELINES,
    KILN_STUDY_THREAD_COUNT,
    KILN_STUDY_ROUNDS,
    KILN_STUDY_PROFILE,
    KILN_STUDY_DB,
    KILN_STUDY_NO_READY,
    KILN_STUDY_NO_PREDICT,
    KILN_STUDY_JSON,
    KILN_STUDY_CSV,
    KILN_STUDY_HTML,
    KILN_STUDY_N_OPTIONS
};

/* Searches and cost models, on what was measured once (verb_study_autotvm.c). */
kiln_status kiln_cli_study_autotvm(const kiln_cli_args *args, int *exit_code,
                                   kiln_err *err);
/* Whole networks (verb_study_networks.c). */
kiln_status kiln_cli_study_neocpu(const kiln_cli_args *args, int *exit_code,
                                  kiln_err *err);
kiln_status kiln_cli_study_rivals(const kiln_cli_args *args, int *exit_code,
                                  kiln_err *err);
kiln_status kiln_cli_study_fusion(const kiln_cli_args *args, int *exit_code,
                                  kiln_err *err);
/* Networks left out of the database (verb_study_transfer.c). */
kiln_status kiln_cli_study_transfer(const kiln_cli_args *args, int *exit_code,
                                    kiln_err *err);
/* Gives a document in all forms that the options ask for; KILN_ERR_INTERRUPTED behind
 * it where it was cut short (verb_study_networks.c). */
kiln_status kiln_cli_study_give(const kiln_cli_args *args, const kiln_doc_study *s,
                                int *exit_code, kiln_err *err);

#endif
