/* Running the one node of a graph on random tensors and holding each element of its
 * first output against a formula of the test's own. */
#ifndef KILN_TESTS_SUPPORT_NODE_RUN_H
#define KILN_TESTS_SUPPORT_NODE_RUN_H

#include "compiler/reference/reference.h"

#include "tests/support/kiln_test.h"

enum { KILN_TEST_NODE_INS = 8, KILN_TEST_NODE_OUTS = 3 };

typedef struct kiln_test_node {
    kiln_arena *arena; /* borrowed */
    const kiln_node *node;
    kiln_wide in[KILN_TEST_NODE_INS]; /* as the dtype holds them; the test may write */
    kiln_tensor native[KILN_TEST_NODE_INS];
    kiln_wide out[KILN_TEST_NODE_OUTS];
} kiln_test_node;

/* What an element should be. */
typedef struct kiln_test_element {
    double f;         /* floats: in double */
    double magnitude; /* sum of the absolute values of what was added */
    float narrow;     /* the same in float, as generated code may compute it */
    uint64_t i;       /* integers: modulo 2^64 */
} kiln_test_element;

typedef kiln_test_element (*kiln_test_element_fn)(const kiln_test_node *t,
                                                  const void *user, int64_t index);

/* `body` is what stands between the braces of graph text, with one node. Fills the
 * inputs with random elements. The status and message are those of the parser. */
kiln_status kiln_test_node_parse(kiln_test_node *t, kiln_arena *a, const char *body,
                                 kiln_err *err);
/* Evaluates; rounds t->in to its dtype first. */
void kiln_test_node_run(kiln_test_node *t);
/* Runs, then checks output 0: each element against want(), floats within their dtype's
 * rounding and 1e-13 of the magnitude; each element chosen alone has the same bits as
 * in the whole; its error bound holds for the sum in float (f32) and is not above
 * 1e-4 of the magnitude + 1e-4 + 34 roundings of its dtype. */
void kiln_test_node_check(kiln_test_node *t, kiln_test_element_fn want,
                          const void *user);

/* Adds x * w to an element, in each of its forms. */
void kiln_test_element_add(kiln_test_element *e, const kiln_wide *x, int64_t xi,
                           const kiln_wide *w, int64_t wi);

/* Coordinates of a row-major index, and back. */
void kiln_test_unravel(int64_t index, int n, const int64_t *dim, int64_t *coord);
int64_t kiln_test_ravel(int n, const int64_t *dim, const int64_t *coord);

/* Refusals: a table's row, and the test function for it. */
typedef struct kiln_test_refusal {
    const char *name;
    const char *body;
    kiln_status status;
    const char *text;
} kiln_test_refusal;
void kiln_test_check_refusal(void **state);

/* ", NAME=[1,2]" as a node's text has it; nothing where all are 0. */
void kiln_test_put_list(kiln_buf *b, const char *name, int n, const int64_t *v);

#endif
