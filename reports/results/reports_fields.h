/* Tables of what several documents say alike (base/text/record.h): for this folder alone. */
#ifndef KILN_REPORTS_REPORTS_FIELDS_H
#define KILN_REPORTS_REPORTS_FIELDS_H

#include "reports/results/documents.h"

/* Members of structs of results.h; fields_shared.c. */
extern const kiln_record_table kiln_results_peak_table, kiln_results_level_table,
    kiln_results_machine_table, kiln_results_ratio_table, kiln_results_interval_table,
    kiln_results_latency_table, kiln_results_baseline_table, kiln_results_step_table,
    kiln_results_memory_table, kiln_results_coverage_table, kiln_results_count_table,
    kiln_results_tuning_table, kiln_results_archive_table, kiln_results_gate_table,
    kiln_results_op_table;
/* Of documents.h. */
extern const kiln_record_table kiln_doc_own_table;

/* Of reports_study.h. */
extern const kiln_record_table kiln_doc_study_row_table;

/* Words that members are made of; NULL at the end. */
extern const char *const kiln_results_verdicts[], *const kiln_results_states[];

extern const kiln_record_document kiln_results_document;

#endif
