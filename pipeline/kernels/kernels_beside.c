/* Operators of one profile beside the same ones of another: what one machine's two kinds
 * of code take, a GPU's and a CPU's, or those of two widths of vectors. */
#include "pipeline/kernels/kernels_internal.h"

#include <math.h>
#include <string.h>

static const kiln_bench_row *row_named(const kiln_bench *b, const char *name) {
    for (size_t i = 0; i < b->row.n; i++)
        if (strcmp(b->row.v[i].name, name) == 0)
            return &b->row.v[i];
    return NULL;
}

static bool is_timed(const kiln_bench_row *r) {
    return r != NULL && r->refusal == NULL && r->verdict.ok && r->timing.median_ms > 0;
}

void kiln_bench_beside_text(kiln_buf *out, const kiln_bench *b,
                            const kiln_bench *other) {
    double sum = 0;
    size_t n = 0;
    kiln_buf_printf(out, "\n%6s %-14s %12s %12s %10s  profile %s, %d thread%s\n", "op",
                    "template", "median ms", "beside ms", "ratio", other->profile->name,
                    other->threads, other->threads == 1 ? "" : "s");
    for (size_t i = 0; i < b->row.n; i++) {
        const kiln_bench_row *x = &b->row.v[i], *y = row_named(other, x->name);
        if (!is_timed(x) || !is_timed(y)) {
            kiln_buf_printf(out, "%6s not measured with both profiles\n", x->name);
            continue;
        }
        const double ratio = x->timing.median_ms / y->timing.median_ms;
        sum += log(ratio);
        n++;
        kiln_buf_printf(out, "%6s %-14s %12.4f %12.4f %10.3f\n", x->name,
                        y->choice.tmpl->name, x->timing.median_ms, y->timing.median_ms,
                        ratio);
    }
    if (n > 0)
        kiln_buf_printf(out, "geometric mean of %s / %s %.3f of %zu\n",
                        b->profile->name, other->profile->name, exp(sum / (double)n),
                        n);
}
