/* Who a process has started. */
#ifndef KILN_TESTS_SUPPORT_CHILD_OF_H
#define KILN_TESTS_SUPPORT_CHILD_OF_H

#include <stdint.h>

/* One of its children, as `random` says; 0: it has none. */
int kiln_test_a_child_of(int parent, uint64_t random);
/* The first child of a process; 0: it has none. */
int kiln_test_child_of(int parent);

#endif
