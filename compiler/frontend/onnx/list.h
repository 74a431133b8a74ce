/* Sequences and optionals, which are there at import only: a list of values under one
 * ONNX name. Nothing of it reaches the Graph. */
#ifndef KILN_COMPILER_FRONTEND_ONNX_LIST_H
#define KILN_COMPILER_FRONTEND_ONNX_LIST_H

#include "compiler/frontend/onnx/onnx_internal.h"

enum { KILN_ONNX_MAX_LIST = 1 << 16 };

typedef struct kiln_onnx_list {
    kiln_value head; /* what stands in a scope for the list; in no graph */
    bool is_none;    /* an optional without an element */
    size_t n;
    kiln_value **v;
} kiln_onnx_list;

/* NULL: a tensor. */
kiln_onnx_list *kiln_onnx_as_list(kiln_value *v);
/* A list with room for n values. KILN_ERR_LIMIT past KILN_ONNX_MAX_LIST. */
kiln_status kiln_onnx_list_new(kiln_onnx_cx *cx, size_t n, kiln_onnx_list **out);
/* Does the operator of the row read lists? */
bool kiln_onnx_takes_lists(const kiln_onnx_op *row);

#endif
