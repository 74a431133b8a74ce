/* Who a process has started. */
#ifndef KILN_TESTS_SUPPORT_CHILD_OF_H
#define KILN_TESTS_SUPPORT_CHILD_OF_H

/* The first child of a process; 0: it has none. */
int kiln_test_child_of(int parent);

#endif
