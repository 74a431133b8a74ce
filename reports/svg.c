/* Pieces of plots: see svg.h. */
#include "reports/svg.h"

#include <math.h>

/* Steps of 1, 2 and 5 times powers of ten (Heckbert: Nice Numbers for Graph Labels,
 * Graphics Gems). */
kiln_svg_axis kiln_svg_axis_to(double most) {
    enum { MOST_TICKS = 6 };
    static const double nice[] = {1, 2, 5, 10};
    /* Numbers beyond any measurement still have an axis whose steps are numbers. */
    most = fmin(fmax(most, 1e-99), 1e99);
    const double raw = most / MOST_TICKS;
    const double power = pow(10, floor(log10(raw)));
    double step = nice[3] * power;
    for (int i = 2; i >= 0; i--)
        if (nice[i] * power >= raw)
            step = nice[i] * power;
    return (kiln_svg_axis){ceil(most / step - 1e-9) * step, step};
}

double kiln_svg_place(const kiln_svg_axis *axis, double v) {
    return fmin(fmax(100 * v / axis->end, 0), 100);
}

static int n_steps(const kiln_svg_axis *axis) {
    return (int)lround(axis->end / axis->step);
}

void kiln_svg_grid(kiln_buf *out, const kiln_svg_axis *axis) {
    for (int i = 0; i <= n_steps(axis); i++) {
        const double x = 100.0 * i / n_steps(axis);
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
                        i % 2 != 0 ? " odd" : "", 100.0 * i / n_steps(axis),
                        axis->step * i);
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
        const double at = 100.0 * i / n_steps(x);
        put_frame_line(out, i == 0 ? "frame" : "grid", at, 0, at, 100);
        kiln_buf_printf(out,
                        "<text class=\"tick\" x=\"%.2f%%\" y=\"100%%\" dy=\"17\" "
                        "text-anchor=\"middle\">%.6g</text>",
                        at, x->step * i);
    }
    for (int i = 0; i <= n_steps(y); i++) {
        const double at = 100 - 100.0 * i / n_steps(y);
        put_frame_line(out, i == 0 ? "frame" : "grid", 0, at, 100, at);
        kiln_buf_printf(out,
                        "<text class=\"tick\" x=\"-8\" y=\"%.2f%%\" dy=\"4\" "
                        "text-anchor=\"end\">%.6g</text>",
                        at, y->step * i);
    }
}

void kiln_svg_names(kiln_buf *out, const char *x, const char *y) {
    kiln_buf_printf(out,
                    "<text x=\"100%%\" y=\"100%%\" dy=\"33\" text-anchor=\"end\">%s"
                    "</text><text x=\"-8\" y=\"0\" dy=\"-12\" "
                    "text-anchor=\"end\">%s</text>",
                    x, y);
}
