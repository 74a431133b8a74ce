/* Order statistics of doubles; NaN must not be among them. */
#ifndef KILN_BASE_ORDER_H
#define KILN_BASE_ORDER_H

#include <stddef.h>

void kiln_sort_f64(double *v, size_t n); /* ascending */
/* Of sorted ones, n > 0: between neighbours linearly (Hyndman and Fan, type 7). share:
 * 0 to 1. */
double kiln_quantile(const double *sorted, size_t n, double share);
double kiln_median(double *v, size_t n); /* sorts v; n > 0 */

#endif
