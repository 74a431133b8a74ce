#include "base/arithmetic/order.h"
#include "base/core/core.h"

#include <stdlib.h>

static int ascending(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

void kiln_sort_f64(double *v, size_t n) { qsort(v, n, sizeof *v, ascending); }

double kiln_quantile(const double *sorted, size_t n, double share) {
    KILN_ASSERT(n > 0 && share >= 0 && share <= 1, "quantile %g of %zu", share, n);
    const double at = share * (double)(n - 1);
    const size_t i = (size_t)at;
    const double rest = at - (double)i;
    return i + 1 < n ? sorted[i] * (1 - rest) + sorted[i + 1] * rest : sorted[i];
}

double kiln_median(double *v, size_t n) {
    kiln_sort_f64(v, n);
    return kiln_quantile(v, n, 0.5);
}
