/* Inside the table of PyTorch's operators: what a maker asks of a call's arguments, and
 * what it gives.
 *
 * A maker reads arguments by the names that its row gives them. Like compose.h, each of
 * these does nothing after a failure, and gives back what may be looked at. Arguments
 * that were given, are not at their default and were not asked for are refused behind
 * the maker: nothing of a call is silently ignored. */
#ifndef KILN_COMPILER_FRONTEND_PYTORCH_ATEN_INTERNAL_H
#define KILN_COMPILER_FRONTEND_PYTORCH_ATEN_INTERNAL_H

#include "compiler/frontend/pytorch/aten/aten.h"
#include "compiler/frontend/spatial.h"

typedef struct kiln_aten_args kiln_aten_args;
typedef kiln_status kiln_aten_maker(kiln_aten_args *k);

struct kiln_aten_row {
    const char *name; /* "conv2d", "max.dim" */
    kiln_aten_maker *make;
    const kiln_op_def *op; /* that shared makers emit, or NULL */
    /* "input, weight, bias=None, stride=1": names in PyTorch's order, with defaults
     * (None, True, False, numbers, or a word). "dim|other": two names for one place.
     * '~' before a name: it changes no result (devices, hints). */
    const char *schema;
};

/* The arguments of one call, by the row's places. */
struct kiln_aten_args {
    kiln_compose c; /* first; c.cx is the import's */
    const kiln_aten_row *row;
    int n;                             /* places of the row */
    kiln_str name[KILN_ATEN_MAX_ARGS]; /* as the schema has it, with '|' */
    kiln_aten_value value[KILN_ATEN_MAX_ARGS];
    bool is_given[KILN_ATEN_MAX_ARGS], is_read[KILN_ATEN_MAX_ARGS],
        is_free[KILN_ATEN_MAX_ARGS]; /* free: '~' */
    kiln_aten_value out[KILN_ATEN_MAX_OUT];
    size_t n_out;
};

/* Fails the call, unless it has failed: the first failure is what is told. A macro, as
 * kiln_fail is. */
#define kiln_aten_fail(k, status_, ...)                                                \
    ((k)->c.status == KILN_OK                                                          \
         ? kiln_compose_fail(&(k)->c,                                                  \
                             kiln_fail((k)->c.cx->err, (status_), __VA_ARGS__))        \
         : (void)0)

/* ---- arguments: aten_args.c ------------------------------------------------------- */

/* The place of a name in the row; -1: it has none. */
int kiln_aten_find_name(const kiln_aten_args *k, const char *name);
/* The value at a place, whatever it is; the row must have the name. */
const kiln_aten_value *kiln_aten_get(kiln_aten_args *k, const char *name);
bool kiln_aten_is_none(kiln_aten_args *k, const char *name);
bool kiln_aten_is_tensor(kiln_aten_args *k, const char *name);
/* A tensor; numbers become scalars. */
kiln_value *kiln_aten_tensor(kiln_aten_args *k, const char *name);
/* The same, or NULL where it is None. */
kiln_value *kiln_aten_optional(kiln_aten_args *k, const char *name);
/* Tensors of a list; the array is in scratch. 0 after a failure. */
size_t kiln_aten_tensors(kiln_aten_args *k, const char *name, kiln_value ***out);
int64_t kiln_aten_int(kiln_aten_args *k, const char *name);
double kiln_aten_float(kiln_aten_args *k, const char *name);
bool kiln_aten_bool(kiln_aten_args *k, const char *name);
/* "" where it is None. */
kiln_str kiln_aten_string(kiln_aten_args *k, const char *name);
/* A list's integers, or one integer's; at most `max`. */
size_t kiln_aten_ints(kiln_aten_args *k, const char *name, int64_t *out, size_t max);
/* n of them: one stands for all. */
void kiln_aten_window(kiln_aten_args *k, const char *name, int n, int64_t *out);
kiln_dtype kiln_aten_dtype(kiln_aten_args *k, const char *name, kiln_dtype otherwise);
/* An axis of `rank`, made >= 0; of a scalar, 0 and -1 are axes. */
int kiln_aten_axis(kiln_aten_args *k, const char *name, int rank);
/* Axes of `rank`, each once: one, a list, or (None or an empty list) none. */
size_t kiln_aten_axes(kiln_aten_args *k, const char *name, int rank, int64_t *out);
/* Fails unless x has at least / at most so many axes. */
bool kiln_aten_need_rank(kiln_aten_args *k, const kiln_value *x, int min, int max);

/* ---- results ---------------------------------------------------------------------- */

/* One more value of the call; gives k's status. */
kiln_status kiln_aten_give(kiln_aten_args *k, kiln_value *y);
kiln_status kiln_aten_give_value(kiln_aten_args *k, kiln_aten_value v);
kiln_status kiln_aten_give_list(kiln_aten_args *k, kiln_value *const *y, size_t n);

/* ---- as long as data has it: aten_counted.c --------------------------------------- */

/* Does an argument of the call count (bounded.h)? */
bool kiln_aten_reads_counted(const kiln_aten_args *k);
/* Such a call by the rule of its maker; KILN_ERR_UNSUPPORTED where there is none. */
kiln_status kiln_aten_make_counted(kiln_aten_args *k);
/* Gives the elements of x along the axis where mask (bool[n]) is true. */
kiln_status kiln_aten_give_masked(kiln_aten_args *k, kiln_value *x, kiln_value *mask,
                                  int axis);

/* ---- types: aten_types.c ---------------------------------------------------------- */

/* The dtype of two tensors of equal claim together. */
kiln_dtype kiln_aten_wider(kiln_dtype x, kiln_dtype y);
/* The dtype of an operation between two arguments, as PyTorch promotes: by kind (bool,
 * integer, float), where tensors go before scalars and scalars before numbers. */
kiln_dtype kiln_aten_promote(kiln_aten_args *k, const char *x, const char *y);
/* The argument as a tensor of that dtype. */
kiln_value *kiln_aten_as(kiln_aten_args *k, const char *name, kiln_dtype dtype);
/* f32 for integers and bool, else x's own: what functions of real numbers compute in. */
kiln_value *kiln_aten_real(kiln_aten_args *k, kiln_value *x);

#define KILN_ATEN(name, maker, op, schema) kiln_aten_maker kiln_aten_make_##maker;
#include "compiler/frontend/pytorch/aten/aten.def"
#undef KILN_ATEN

#endif
