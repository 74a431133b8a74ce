/* What the files of script_builtins.def's functions share. */
#ifndef KILN_COMPILER_FRONTEND_PYTORCH_SCRIPT_BUILTIN_H
#define KILN_COMPILER_FRONTEND_PYTORCH_SCRIPT_BUILTIN_H

#include "compiler/frontend/pytorch/script/script_internal.h"

/* One call. A function that leaves it to aten.def's operators says so by is_other. */
typedef struct kiln_script_call {
    kiln_script_cx *cx;
    const kiln_script_value *v;
    size_t n;
    kiln_script_value *out;
    bool is_other;
} kiln_script_call;

typedef kiln_status kiln_script_builtin_fn(kiln_script_call *k);

#define KILN_SCRIPT_BUILTIN(name, function, min, max)                                  \
    kiln_script_builtin_fn kiln_script_builtin_##function;
#include "compiler/frontend/pytorch/script/script_builtins.def"
#undef KILN_SCRIPT_BUILTIN

enum { KILN_SCRIPT_MAX_LIST = 1 << 20 }; /* items of a list */

kiln_status kiln_script_give(kiln_script_call *k, kiln_script_value v);
kiln_status kiln_script_leave(kiln_script_call *k);
bool kiln_script_is_number(const kiln_script_value *v); /* bool too */
double kiln_script_as_float(const kiln_script_value *v);
bool kiln_script_is_list(const kiln_script_value *v); /* or a tuple */
/* KILN_ERR_UNSUPPORTED where data decides how long an axis of the first argument, a
 * tensor, is; -1: any axis. */
kiln_status kiln_script_need_length(const kiln_script_call *k, int axis);
/* KILN_ERR_PARSE: argument i is not of the kind; `what`: "a list". */
kiln_status kiln_script_wrong(kiln_script_call *k, size_t i, const char *what);
/* Copies items from x and y (NULL: none) to a new list of x's kind. */
kiln_status kiln_script_join(kiln_script_call *k, const kiln_script_value *x,
                             const kiln_script_value *y, size_t times,
                             kiln_script_value *out);

#endif
