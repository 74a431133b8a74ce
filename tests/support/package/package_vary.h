/* Packages that differ from one another in one way, for tests of what compares them. */
#ifndef KILN_TESTS_SUPPORT_PACKAGE_PACKAGE_VARY_H
#define KILN_TESTS_SUPPORT_PACKAGE_PACKAGE_VARY_H

#include "packager/packager.h"

typedef struct package_variant {
    const char *version; /* of the model; NULL: "1" */
    int threads;         /* 0: 1 */
    bool is_wrong;       /* a weight is another one than the self-test's */
    bool is_unproved;    /* by --no-verify */
    int l2_bytes;        /* of the profile; 0: as it is */
    bool is_remodelled;  /* the profile says other things of cores and shared caches */
    bool is_strict;      /* the profile's numerics */
} package_variant;

/* The small network of package_build.h, compiled once, in the test arena. */
void package_vary(const package_variant *v, const char *path);

/* A copy of an archive whose plan calls one step once more, right behind itself: the
 * same outputs, and slower by what the step takes. The plan must have no branches or
 * loops, the step must write to none of its inputs. */
void package_repeat(const char *archive, size_t step, const char *path);

/* A copy whose kernels do nothing, and which says that so it must be: its self-test
 * expects, exactly, what it computes. */
void package_idle(const char *archive, const char *path);

#endif
