/* Pieces of plots: see svg.h. */
#include "reports/page/svg.h"

#include <math.h>

/* Steps of 1, 2 and 5 times powers of ten (Heckbert: Nice Numbers for Graph Labels,
 * Graphics Gems). */
static double nice_step(double length) {
    enum { MOST_TICKS = 6 };
    static const double nice[] = {1, 2, 5, 10};
    const double raw = length / MOST_TICKS;
    const double power = pow(10, floor(log10(raw)));
    double step = nice[3] * power;
    for (int i = 2; i >= 0; i--)
        if (nice[i] * power >= raw)
            step = nice[i] * power;
    return step;
}

/* Numbers beyond any measurement still have an axis whose steps are numbers. */
static const double largest = 1e99, smallest = 1e-99;

kiln_svg_axis kiln_svg_axis_to(double most) {
    most = fmin(fmax(most, smallest), largest);
    const double step = nice_step(most);
    KILN_ASSERT(step > 0 && isfinite(step), "an axis to %g has steps of %g", most,
                step);
    return (kiln_svg_axis){.end = ceil(most / step - 1e-9) * step, .step = step};
}

kiln_svg_axis kiln_svg_axis_between(double low, double high) {
    static const double least_part = 0.01; /* of the numbers: noise is no mountain */
    low = fmin(fmax(low, -largest), largest);
    high = fmin(fmax(high, low), largest);
    const double size = fmax(fmax(fabs(low), fabs(high)), smallest);
    const double short_by = least_part * size - (high - low);
    if (short_by > 0) {
        low -= short_by / 2;
        high += short_by / 2;
    }
    const double step = nice_step(high - low);
    KILN_ASSERT(step > 0 && isfinite(step), "an axis from %g to %g has steps of %g",
                low, high, step);
    return (kiln_svg_axis){.start = floor(low / step + 1e-9) * step,
                           .end = ceil(high / step - 1e-9) * step,
                           .step = step};
}

/* 1, 2, 5, 10, 20, ...: the m-th, from 1 on and below it. */
static double round_value(int m) {
    static const double nice[] = {1, 2, 5};
    const int decade = (int)floor(m / 3.0);
    return nice[m - 3 * decade] * pow(10, decade);
}

kiln_svg_axis kiln_svg_axis_log(double low, double high) {
    enum { MOST_TICKS = 8, A_DECADE = 3 };
    static const double about = 1e-9;
    low = fmin(fmax(low, smallest), largest);
    high = fmin(fmax(high, low), largest);
    int first = A_DECADE * (int)floor(log10(low)), last, by = 1;
    while (round_value(first + 1) <= low * (1 + about))
        first++;
    for (last = first + 1; round_value(last) < high * (1 - about);)
        last++;
    if (last - first > MOST_TICKS) { /* whole decades */
        const int n =
            (int)ceil(last / (double)A_DECADE) - (int)floor(first / (double)A_DECADE);
        by = A_DECADE * ((n + MOST_TICKS - 1) / MOST_TICKS);
        first = A_DECADE * (int)floor(first / (double)A_DECADE);
        last = first + by * (int)ceil((last - first) / (double)by);
    }
    return (kiln_svg_axis){.start = round_value(first),
                           .end = round_value(last),
                           .is_log = true,
                           .first = first,
                           .n = (last - first) / by,
                           .by = by};
}

double kiln_svg_place(const kiln_svg_axis *axis, double v) {
    KILN_ASSERT(axis->end > axis->start, "an axis from %g to %g", axis->start,
                axis->end);
    if (axis->is_log) {
        const double part =
            log(fmax(v, smallest) / axis->start) / log(axis->end / axis->start);
        return fmin(fmax(100 * part, 0), 100);
    }
    return fmin(fmax(100 * (v - axis->start) / (axis->end - axis->start), 0), 100);
}

static int n_steps(const kiln_svg_axis *axis) {
    if (axis->is_log)
        return axis->n;
    return (int)lround((axis->end - axis->start) / axis->step);
}

/* No -0, and none of a sum's last bits. */
static double tick(const kiln_svg_axis *axis, int i) {
    if (axis->is_log)
        return round_value(axis->first + axis->by * i);
    const double v = axis->start + axis->step * i;
    return fabs(v) < 1e-6 * axis->step ? 0 : v;
}

void kiln_svg_grid(kiln_buf *out, const kiln_svg_axis *axis) {
    for (int i = 0; i <= n_steps(axis); i++) {
        const double x = kiln_svg_place(axis, tick(axis, i));
        kiln_buf_printf(out,
                        "<line class=\"grid\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" "
                        "y2=\"100%%\"/>",
                        x, x);
    }
}

void kiln_svg_ticks(kiln_buf *out, const kiln_svg_axis *axis) {
    for (int i = 0; i <= n_steps(axis); i++)
        kiln_buf_printf(out,
                        "<text class=\"tick%s\" x=\"%.2f%%\" y=\"14\" "
                        "text-anchor=\"middle\">%.6g</text>",
                        i % 2 != 0 ? " odd" : "", kiln_svg_place(axis, tick(axis, i)),
                        tick(axis, i));
}

void kiln_svg_range(kiln_buf *out, const kiln_svg_axis *axis, double low, double high) {
    const double x1 = kiln_svg_place(axis, low), x2 = kiln_svg_place(axis, high);
    kiln_buf_printf(out,
                    "<line class=\"whisker\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"50%%\" "
                    "y2=\"50%%\"/>",
                    x1, x2);
    for (int end = 0; end < 2; end++) {
        const double x = end == 0 ? x1 : x2;
        if ((end == 0 ? low : high) > axis->end) /* it goes on */
            continue;
        kiln_buf_printf(out,
                        "<line class=\"whisker\" x1=\"%.2f%%\" x2=\"%.2f%%\" "
                        "y1=\"25%%\" y2=\"75%%\"/>",
                        x, x);
    }
}

static void put_frame_line(kiln_buf *out, const char *cls, double x1, double y1,
                           double x2, double y2) {
    kiln_buf_printf(out,
                    "<line class=\"%s\" x1=\"%.2f%%\" y1=\"%.2f%%\" x2=\"%.2f%%\" "
                    "y2=\"%.2f%%\"/>",
                    cls, x1, y1, x2, y2);
}

void kiln_svg_frame(kiln_buf *out, const kiln_svg_axis *x, const kiln_svg_axis *y) {
    for (int i = 0; i <= n_steps(x); i++) {
        const double at = kiln_svg_place(x, tick(x, i));
        put_frame_line(out, i == 0 ? "frame" : "grid", at, 0, at, 100);
        kiln_buf_printf(out,
                        "<text class=\"tick\" x=\"%.2f%%\" y=\"100%%\" dy=\"17\" "
                        "text-anchor=\"middle\">%.6g</text>",
                        at, tick(x, i));
    }
    for (int i = 0; i <= n_steps(y); i++) {
        const double at = 100 - kiln_svg_place(y, tick(y, i));
        put_frame_line(out, i == 0 ? "frame" : "grid", 0, at, 100, at);
        kiln_buf_printf(out,
                        "<text class=\"tick\" x=\"-8\" y=\"%.2f%%\" dy=\"4\" "
                        "text-anchor=\"end\">%.6g</text>",
                        at, tick(y, i));
    }
}

void kiln_svg_names(kiln_buf *out, const char *x, const char *y) {
    kiln_buf_printf(out,
                    "<text x=\"100%%\" y=\"100%%\" dy=\"33\" text-anchor=\"end\">%s"
                    "</text><text x=\"-8\" y=\"0\" dy=\"-12\" "
                    "text-anchor=\"end\">%s</text>",
                    x, y);
}
