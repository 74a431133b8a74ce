/* Suppression of boxes that overlap better ones, for formats whose results have as many
 * rows as the file says: rows that count come first, zeros behind them. */
#ifndef KILN_COMPILER_FRONTEND_SUPPRESS_H
#define KILN_COMPILER_FRONTEND_SUPPRESS_H

#include "compiler/frontend/compose.h"

/* What suppression leaves. */
typedef struct kiln_selection {
    kiln_value *box, *class; /* i64[rows], 0 where nothing is */
    kiln_value *is_none;     /* bool[rows] */
    kiln_value *count;       /* i64: rows that count */
    int64_t rows;            /* at most `most` of each class, and no more than boxes */
} kiln_selection;

/* boxes [1, n, 4] by two corners, scores [1, classes, n]; scores above `score` take
 * part, overlaps above `iou` suppress, each class by itself, `most` are left of each. */
kiln_status kiln_compose_suppress(kiln_compose *c, kiln_value *boxes,
                                  kiln_value *scores, int64_t most, double iou,
                                  double score, kiln_selection *out);
/* Rows of a matrix or elements of a list x by `row` [rows], zeros where is_none; filled
 * up with zeros to n rows. */
kiln_value *kiln_selection_rows(kiln_compose *c, kiln_value *x, kiln_value *row,
                                kiln_value *is_none, int64_t n);
/* Column i of a matrix as a list. */
kiln_value *kiln_compose_column(kiln_compose *c, kiln_value *x, int i);

#endif
