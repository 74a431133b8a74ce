/* Damaged files, for tests of readers. */
#ifndef KILN_TESTS_SUPPORT_DAMAGE_H
#define KILN_TESTS_SUPPORT_DAMAGE_H

#include "base/base.h"

/* Some of the n bytes become others below 0x80, or the end is cut off. */
void kiln_test_damage(kiln_rng *r, char *p, size_t *n);

#endif
