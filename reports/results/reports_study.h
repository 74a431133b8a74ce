/* What `kiln study neocpu`, `fusion`, `rivals` and `transfer` found (docs/study-json.md): experiments
 * of papers, repeated, each beside what its paper says. Text, CSV and page are made of
 * this struct alone, so equal data gives equal bytes. */
#ifndef KILN_REPORTS_REPORTS_STUDY_H
#define KILN_REPORTS_REPORTS_STUDY_H

#include "reports/results/documents.h"

/* One way to run one network, timed in the same rounds as the rest of its group. */
typedef struct kiln_doc_study_row {
    const char *group; /* rows of one group stand together and are compared */
    const char *model; /* a network, or a piece of one */
    const char *way;   /* "plain", "fused", "kiln", or a library's name */
    int threads;
    const char *state;   /* kiln_rival_state's word; only "measured" has numbers */
    const char *version; /* of a library; NULL: kiln's own, or absent */
    const char *file;    /* that a library was given; NULL: none, or kiln's own row */
    const char *problem; /* why it was not measured; NULL: it was */
    /* Of a kernel: who chose it, its template and configuration ("predicted conv_direct
     * {...}"); NULL: not of one. */
    const char *choice;
    size_t n_samples, n_disturbed;
    kiln_stats_interval ms; /* median of one run, with its 95% interval */
    double q1_ms, q3_ms;
    kiln_stats_interval gain;   /* times as fast as the group's first row */
    double published;           /* the same in the paper; 0: it does not say */
    int64_t steps, conversions; /* of kiln's own; 0: it has none, or is a library */
} kiln_doc_study_row;

typedef struct kiln_doc_study_part { /* a table or figure of the paper */
    const char *name;                /* "steps", as --parts has it */
    const char *title, *source;      /* what is compared; which table of which paper */
    const char *shape;               /* what the paper found, in words */
    bool has_curve;                  /* of gains over threads */
    KILN_VEC(const char *)
    note; /* the paper's numbers, one line a network; of
                                        rivals: quotients, and their means */
    KILN_VEC(kiln_doc_study_row) row;
} kiln_doc_study_part;

typedef struct kiln_doc_study {
    kiln_doc_own own;
    const char *study; /* "neocpu", "fusion", "rivals", "transfer" */
    kiln_results_machine machine;
    const char *profile;
    int rounds; /* samples of each row that were asked for */
    bool is_interrupted;
    KILN_VEC(kiln_doc_study_part) part;
} kiln_doc_study;
extern const kiln_record_document kiln_study_document;

/* Was every row measured that could be? false: some are failed or wrong; absent libraries
 * are no failure. */
bool kiln_doc_study_is_good(const kiln_doc_study *s);

void kiln_doc_study_text(kiln_buf *out, const kiln_doc_study *s);
/* A line for each row, columns as members are (docs/study-json.md). */
void kiln_doc_study_csv(kiln_buf *out, const kiln_doc_study *s);
/* A page that loads and runs nothing. */
void kiln_doc_study_html(kiln_buf *out, const kiln_doc_study *s);

#endif
