/* The members of results.json as tables: one row drives the reader, the writer and the
 * documentation, so that they cannot drift apart.
 */
#ifndef KILN_REPORTS_RESULTS_FIELDS_H
#define KILN_REPORTS_RESULTS_FIELDS_H

#include "reports/results.h"

typedef enum kiln_results_kind {
    KILN_FIELD_TEXT,     /* const char *; null: not known */
    KILN_FIELD_WORD,     /* the same, one of `word` */
    KILN_FIELD_STATE,    /* kiln_stage_state, by name */
    KILN_FIELD_I64,      /* int64_t of at least 0 */
    KILN_FIELD_SIZE,     /* size_t */
    KILN_FIELD_INT,      /* int */
    KILN_FIELD_BOOL,     /* bool */
    KILN_FIELD_F64,      /* double; null: not known, NaN */
    KILN_FIELD_POSITIVE, /* double; null: not known, 0 */
    KILN_FIELD_OBJECT,   /* a struct of table `of` */
    KILN_FIELD_LIST,     /* KILN_VEC of such */
    KILN_FIELD_NUMBERS,  /* KILN_VEC(double) */
    KILN_FIELD_TEXTS     /* KILN_VEC(const char *) */
} kiln_results_kind;

typedef struct kiln_results_table kiln_results_table;

typedef struct kiln_results_field {
    const char *name; /* the member's */
    kiln_results_kind kind;
    size_t offset;
    const char *doc;
    const kiln_results_table *of;
    const char *const *word; /* NULL at the end */
    size_t has_offset;       /* of the bool that says whether there is one; 0: always */
    size_t most;             /* elements of a list; 0: as many as all lists may have */
} kiln_results_field;

struct kiln_results_table {
    const char *title; /* its heading in docs/results-json.md */
    const kiln_results_field *field;
    size_t n_fields, bytes; /* of the struct */
};

/* The outermost object. "schema", which no struct holds, stands before its members. */
extern const kiln_results_table kiln_results_root;
/* Every table, in the order of the documentation. */
extern const kiln_results_table *const kiln_results_tables[];
extern const size_t kiln_results_n_tables;

/* Any KILN_VEC, at `p`: the bytes of all of them are alike. */
typedef KILN_VEC(unsigned char) kiln_results_list;
kiln_results_list kiln_results_list_at(const void *p);

bool kiln_stage_state_of(const char *name, kiln_stage_state *out);

#endif
