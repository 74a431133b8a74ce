/* Suppression of boxes that overlap better ones, for formats whose results have as many
 * rows as the file says: rows that count come first, zeros behind them. */
#ifndef KILN_COMPILER_FRONTEND_SUPPRESS_H
#define KILN_COMPILER_FRONTEND_SUPPRESS_H

#include "compiler/frontend/compose.h"

/* What suppression leaves. */
typedef struct kiln_selection {
    kiln_value *image, *box, *class; /* i64[rows], 0 where nothing is */
    kiln_value *is_none;             /* bool[rows] */
    kiln_value *count;               /* i64: rows that count */
    int64_t rows; /* at most `most` of each class, and no more than boxes */
} kiln_selection;

/* boxes [images, n, 4] by two corners, scores [images, classes, n]; scores above `score`
 * take part, overlaps above `iou` suppress, each class of an image by itself, `most` are
 * left of each. */
kiln_status kiln_compose_suppress(kiln_compose *c, kiln_value *boxes,
                                  kiln_value *scores, int64_t most, double iou,
                                  double score, kiln_selection *out);
/* Rows of a matrix or elements of a list x by `row` [rows], zeros where is_none; filled
 * up with zeros to n rows. */
kiln_value *kiln_selection_rows(kiln_compose *c, kiln_value *x, kiln_value *row,
                                kiln_value *is_none, int64_t n);
/* The best `most` of all classes by their scores, filled up with zeros to `rows`:
 * y[0] boxes [rows, 4], y[1] classes and y[2] scores f32[rows], y[3] how many count.
 * scores f32[classes, n]; boxes [n, 4], or [classes * n, 4] where each class has its own,
 * which then is an image of the selection. */
kiln_status kiln_selection_best(kiln_compose *c, const kiln_selection *s,
                                kiln_value *boxes, kiln_value *scores, int64_t most,
                                int64_t rows, kiln_value *y[4]);
/* Column i of a matrix as a list. */
kiln_value *kiln_compose_column(kiln_compose *c, kiln_value *x, int i);

#endif
