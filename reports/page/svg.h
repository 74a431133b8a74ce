/* Pieces of plots as inline SVG. Coordinates are percentages of the plot's own width,
 * so that it fills whatever width there is while texts and lines keep their size. Ticks
 * belong to the axis, not to the data: their texts have the class "tick".
 */
#ifndef KILN_REPORTS_SVG_H
#define KILN_REPORTS_SVG_H

#include "reports/results/results.h"

typedef struct kiln_svg_axis {
    double end, step, start;
    bool is_log; /* else linear */
    int first, n,
        by; /* of a logarithmic one: its ticks are these of 1, 2, 5, 10, ... */
} kiln_svg_axis;
/* The smallest axis with round ticks, four to eight of them, that has `most` > 0 on
 * it. */
kiln_svg_axis kiln_svg_axis_to(double most);
/* The same of what lies between: it need not start at 0. */
kiln_svg_axis kiln_svg_axis_between(double low, double high);
/* Logarithmic, of numbers above 0. */
kiln_svg_axis kiln_svg_axis_log(double low, double high);

/* In percent, held to the plot. */
double kiln_svg_place(const kiln_svg_axis *axis, double v);
void kiln_svg_grid(kiln_buf *out, const kiln_svg_axis *axis);
void kiln_svg_ticks(kiln_buf *out, const kiln_svg_axis *axis);
/* Grid, axes and ticks of a plot with both axes; values of y grow upwards. */
void kiln_svg_frame(kiln_buf *out, const kiln_svg_axis *x, const kiln_svg_axis *y);
/* What the axes of a plot count; y stands above its axis. */
void kiln_svg_names(kiln_buf *out, const char *x, const char *y);
/* A horizontal line with ends, in the middle of the row. */
void kiln_svg_range(kiln_buf *out, const kiln_svg_axis *axis, double low, double high);

#endif
