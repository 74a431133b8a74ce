#include "compiler/loop/loop_words.h"

#include "compiler/loop/loop.h"

const char *const kiln_loop_words[] = {
    [KILN_LOOP_SERIAL] = "for",
    [KILN_LOOP_PARALLEL] = "parallel",
    [KILN_LOOP_VECTORIZED] = "vectorized",
    [KILN_LOOP_UNROLLED] = "unroll",
    [KILN_LOOP_THREAD] = "thread",
    [KILN_LOOP_VTHREAD] = "vthread",
};
const char *const kiln_attr_words[] = {
    [KILN_STMT_ATTR_PRAGMA] = "pragma",
    [KILN_STMT_ATTR_THREAD_EXTENT] = "thread_extent",
    [KILN_STMT_ATTR_COPROC_SCOPE] = "coproc_scope",
    [KILN_STMT_ATTR_DOUBLE_BUFFER] = "double_buffer",
    [KILN_STMT_ATTR_DEPENDENCE_SCOPE] = "dependence",
    [KILN_STMT_ATTR_STAGE] = "stage",
    [KILN_STMT_ATTR_TENSORIZE] = "tensorize",
    [KILN_STMT_ATTR_ASYNC] = "async",
    [KILN_STMT_ATTR_PRODUCTS] = "products",
    [KILN_STMT_ATTR_SWING] = "swing",
};

_Static_assert(KILN_LOOP_VTHREAD + 1 == KILN_N_LOOP_WORDS, "a word for each loop kind");
_Static_assert(KILN_STMT_ATTR_LAST + 1 == KILN_N_ATTR_WORDS, "a word for each key");
