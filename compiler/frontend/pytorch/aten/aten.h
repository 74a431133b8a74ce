/* PyTorch's operators ("aten"), by a table: a call of one becomes nodes of the Graph.
 *
 * Whoever reads a file of PyTorch (exported programs, TorchScript) makes a kiln_aten_cx,
 * holds its values as kiln_aten_value, and runs each operator by kiln_aten_run. Sizes
 * and other numbers are known at import: shapes are static, so that what asks for a
 * size gets an integer. A row of aten.def names the operator and its arguments with
 * their defaults, in PyTorch's order; arguments come by place or by keyword. Makers
 * (aten_<family>.c) read them by name (aten_internal.h).
 *
 * Source: PyTorch, aten/src/ATen/native/native_functions.yaml (signatures), and its
 * documentation of torch.* and torch.nn.functional.* (meaning). */
#ifndef KILN_COMPILER_FRONTEND_PYTORCH_ATEN_H
#define KILN_COMPILER_FRONTEND_PYTORCH_ATEN_H

#include "compiler/frontend/compose.h"

typedef enum kiln_aten_kind {
    KILN_ATEN_NONE,
    KILN_ATEN_TENSOR, /* .tensor */
    KILN_ATEN_INT,    /* .i */
    KILN_ATEN_FLOAT,  /* .f */
    KILN_ATEN_BOOL,   /* .i */
    KILN_ATEN_STRING, /* .s */
    KILN_ATEN_DTYPE,  /* .i is a kiln_dtype. Arguments that are dtypes may be an INT as
                         well: PyTorch's own number (c10::ScalarType) */
    KILN_ATEN_LIST,   /* .list, .n: lists and tuples, of any values */
    KILN_ATEN_OTHER   /* devices, layouts, memory formats, generators: what changes no
                         result */
} kiln_aten_kind;

typedef struct kiln_aten_value kiln_aten_value;
struct kiln_aten_value {
    kiln_aten_kind kind;
    kiln_value *tensor;
    int64_t i;
    double f;
    kiln_str s;
    const kiln_aten_value *list; /* lives as long as the import's scratch, at least */
    size_t n;
};

static inline kiln_aten_value kiln_aten_none(void) {
    return (kiln_aten_value){.kind = KILN_ATEN_NONE};
}
static inline kiln_aten_value kiln_aten_of_tensor(kiln_value *v) {
    return (kiln_aten_value){.kind = KILN_ATEN_TENSOR, .tensor = v};
}
static inline kiln_aten_value kiln_aten_of_int(int64_t i) {
    return (kiln_aten_value){.kind = KILN_ATEN_INT, .i = i};
}
static inline kiln_aten_value kiln_aten_of_float(double f) {
    return (kiln_aten_value){.kind = KILN_ATEN_FLOAT, .f = f};
}
static inline kiln_aten_value kiln_aten_of_bool(bool b) {
    return (kiln_aten_value){.kind = KILN_ATEN_BOOL, .i = b};
}
static inline kiln_aten_value kiln_aten_of_string(kiln_str s) {
    return (kiln_aten_value){.kind = KILN_ATEN_STRING, .s = s};
}
static inline kiln_aten_value kiln_aten_of_dtype(kiln_dtype d) {
    return (kiln_aten_value){.kind = KILN_ATEN_DTYPE, .i = (int64_t)d};
}
static inline kiln_aten_value kiln_aten_of_list(const kiln_aten_value *v, size_t n) {
    return (kiln_aten_value){.kind = KILN_ATEN_LIST, .list = v, .n = n};
}

/* An argument given by name. */
typedef struct kiln_aten_keyword {
    kiln_str name;
    kiln_aten_value value;
} kiln_aten_keyword;

enum {
    KILN_ATEN_MAX_ARGS = 24, /* of a row */
    KILN_ATEN_MAX_OUT = 8    /* values of a call; a list is one */
};

/* One call, as a file has it. */
typedef struct kiln_aten_call {
    kiln_str op;      /* "conv2d", "add.Tensor", with or without "aten::" or
                    "torch.ops.aten." before it; a '_' behind the name is of the variant
                    that writes into its first argument */
    const void *site; /* of its nodes, for the caller's kiln_import_format */
    const kiln_aten_value *arg;
    size_t n_arg;
    const kiln_aten_keyword *keyword;
    size_t n_keyword;
} kiln_aten_call;

typedef struct kiln_aten_row kiln_aten_row; /* a row of aten.def */

/* By its name with the overload, then without ("add.Tensor", "add"); variants that write
 * into their first argument are found by the name without '_'. NULL: not read. */
const kiln_aten_row *kiln_aten_find(kiln_str op);
/* Does the call write its result into its first argument as well ("relu_")? Then its
 * caller gives later readers of that argument the result. */
bool kiln_aten_writes(kiln_str op);
/* May the result share its elements with the first argument (view, select, slice)? What
 * is written into one of the two changes the other, which no Graph can say. */
bool kiln_aten_is_view(kiln_str op);

/* Makes the nodes of one call in cx->graph, and gives its values: *n_out of them, at
 * most KILN_ATEN_MAX_OUT. KILN_ERR_UNSUPPORTED where there is no row, or an argument
 * asks for what kiln has not; KILN_ERR_PARSE and KILN_ERR_SHAPE where arguments do not
 * fit the row or each other. Lists are in cx->scratch. Messages begin with the
 * operator; the caller adds the node. */
kiln_status kiln_aten_run(kiln_import_cx *cx, const kiln_aten_call *call,
                          kiln_aten_value out[KILN_ATEN_MAX_OUT], size_t *n_out);

/* kiln_import_format.may_read of both kinds of file: only rules of aten_counted.c read
 * values that are as long as data has them. */
kiln_status kiln_aten_may_read(kiln_import_cx *cx, kiln_value *const *in, int n_in);
/* A tensor as an output of the Graph: zeros behind what counts. */
kiln_status kiln_aten_settle(kiln_import_cx *cx, const void *site, kiln_value **v);

/* c10::ScalarType, as TorchScript and torch.dtype's numbers have it (6: float). False:
 * kiln has no such type (complex, quantised). */
bool kiln_aten_dtype_from_number(int64_t number, kiln_dtype *out);

#endif
