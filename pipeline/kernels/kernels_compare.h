/* Is an output what the reference says? */
#ifndef KILN_PIPELINE_KERNELS_KERNELS_COMPARE_H
#define KILN_PIPELINE_KERNELS_KERNELS_COMPARE_H

#include "compiler/reference/reference.h"

typedef struct kiln_verdict {
    bool ok;
    const char *problem; /* "" when ok */
    double worst;        /* largest |got - want| / bound; 0 where all are equal */
    double max_abs;      /* largest |got - want| */
    int64_t n_checked, n_elems;
} kiln_verdict;

/* Holds one output, row-major, against what it must be; adds to the verdict, which is
 * {.ok = true, .problem = ""} to begin with. Only the first problem is told. */
void kiln_expected_compare(kiln_arena *a, const kiln_expected *want,
                           const kiln_tensor *got, const char *name, kiln_verdict *out);

#endif
