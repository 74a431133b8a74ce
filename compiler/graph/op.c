/* The operator table: the rows of ops.def, found by name. */
#include "compiler/graph/graph.h"

/* NULL at the end, as a table without rows would have no elements, which C does not
 * allow. */
static const kiln_op_def *const table[] = {
#define KILN_OP(name) &kiln_op_##name,
#include "compiler/graph/ops.def"
#undef KILN_OP
    NULL,
};

const kiln_op_def *kiln_op_at(int i) {
    KILN_ASSERT(i >= 0 && i < (int)KILN_N_OPS, "operator %d", i);
    return table[i];
}

const kiln_op_def *kiln_op_find(kiln_str name) {
    /* The rows are alphabetical (test_op_table.c holds them to it). */
    int lo = 0;
    int hi = (int)KILN_N_OPS;
    while (lo < hi) {
        const int mid = lo + (hi - lo) / 2;
        const int order = kiln_str_cmp(kiln_str_from(table[mid]->name), name);
        if (order == 0)
            return table[mid];
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

bool kiln_is_oblivious(const kiln_node *n) {
    return n->op->layout == KILN_LAYOUT_OBLIVIOUS ||
           (n->op->is_oblivious != NULL && n->op->is_oblivious(n));
}

bool kiln_is_elementwise(const kiln_node *n) {
    return n->op->fuse == KILN_FUSE_INJECTIVE && n->n_out == 1 && kiln_is_oblivious(n);
}
