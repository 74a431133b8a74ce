/* Exported PyTorch programs of a few nodes, as archives in memory. */
#ifndef KILN_TESTS_SUPPORT_MODEL_PT2_MODEL_H
#define KILN_TESTS_SUPPORT_MODEL_PT2_MODEL_H

#include "base/base.h"

/* An input or a weight: "1,3", or "s0,3" with a symbol; numbers "1 2 3" make it a weight
 * of that name, "*100" one of 100 floats that are 0. Of f32, or with is_int of int64. */
typedef struct kiln_test_pt2_tensor {
    const char *name, *dims, *numbers;
    bool is_int;
} kiln_test_pt2_tensor;

/* The program's JSON. `nodes` has a call a line:
 *     y = aten.add.Tensor(self=x, other=1.5)
 *     [a, b] = aten.chunk.default(self=y, chunks=2, dim=0)
 *     v, i = aten.topk.default(self=a, k=2)
 *     n: = aten.sym_size.int(self=x, dim=0)           a number
 *     z = aten.view.default(self=v, size=[n:, -1])
 * where arguments are names, integers, numbers with a point, True, False, None, 'text',
 * lists, and @7 for the dtype of that number in the file. `outputs`: "y z". */
const char *kiln_test_pt2_json(kiln_arena *a, const kiln_test_pt2_tensor *t, size_t n,
                               const char *nodes, const char *outputs);
/* The archive as torch 2.8 and later write it. */
kiln_str kiln_test_pt2(kiln_arena *a, const kiln_test_pt2_tensor *t, size_t n,
                       const char *nodes, const char *outputs);
/* The same around JSON, without weights. */
kiln_str kiln_test_pt2_of_json(kiln_arena *a, const char *json);

#endif
