/* Shared by the operators that move data: gather, scatter, slice and their relatives.
 */
#ifndef KILN_COMPILER_OP_OP_MOVE_H
#define KILN_COMPILER_OP_OP_MOVE_H

#include "compiler/op/op_common.h"

/* What an index operand may be. */
enum { KILN_DT_INDEX = KILN_DT(KILN_I32) | KILN_DT(KILN_I64) };

/* What the rows of pure data movement share: exact, no arithmetic. */
void kiln_cost_move(const kiln_node *n, kiln_cost *c); /* no multiply-adds, no flops */
#define KILN_ROW_MOVE                                                                  \
    .layout = KILN_LAYOUT_DEPENDENT, .cost = kiln_cost_move,                           \
    .error_bound = kiln_bound_exact
/* Of those that give elements of one tensor another place... */
#define KILN_ROW_REARRANGE                                                             \
    KILN_ROW_MOVE, .n_in_min = 1, .n_in_max = 1, .in_names = kiln_names_x,             \
                   .dtypes = KILN_DT_STORED, .fuse = KILN_FUSE_INJECTIVE
/* ... and of those that choose them by an index tensor. */
extern const char *const kiln_names_gather[]; /* "x", "indices", NULL */
#define KILN_ROW_GATHER                                                                \
    KILN_ROW_MOVE, .n_in_min = 2, .n_in_max = 2, .in_names = kiln_names_gather,        \
                   .dtypes = KILN_DT_STORED, .fuse = KILN_FUSE_INJECTIVE

/* The output's type, in input 0's place, checked against the limits of a type. */
kiln_status kiln_move_type(const kiln_node *n, kiln_dtype dtype, int rank,
                           const int64_t *dim, kiln_type *out, kiln_err *err);
/* Attribute `attr`, a list that must have one entry per axis of input 0. */
kiln_status kiln_check_per_axis(const kiln_node *n, int attr, kiln_err *err);
/* Attribute `attr`, a list of dims: at most KILN_MAX_RANK, none negative. */
kiln_status kiln_check_dims(const kiln_node *n, int attr, kiln_err *err);

/* Index v into an axis of `dim` elements, counted from the end when negative: [-dim,
 * dim) to [0, dim). KILN_ERR_ARG: "index 7 in input 'indices' is outside [-5, 5)". */
kiln_status kiln_index_resolve(const kiln_node *n, int in, int64_t v, int64_t dim,
                               int64_t *out, kiln_err *err);
/* Checks the dtype of an index operand and, where it is a constant, every value:
 * element e indexes an axis of limit[e % period] elements. So a bad constant is refused
 * when the node is made. */
kiln_status kiln_check_index(const kiln_node *n, int in, const int64_t *limit,
                             int64_t period, kiln_err *err);

/* For gather_elements and scatter_elements: input `in` indexes `axis` of input 0, has
 * its rank, and is on no other axis longer. */
kiln_status kiln_check_elements(const kiln_node *n, int in, int axis, kiln_err *err);
/* For gather_nd and scatter_nd: the last axis of input `in` holds coordinates on the
 * axes of input 0 from `first` on, at least one and not more than there are. */
kiln_status kiln_check_coords(const kiln_node *n, int in, int first, kiln_err *err);
/* Row `row` of those coordinates (input 1) as a row-major index into the axes that they
 * cover. */
kiln_status kiln_coords_resolve(const kiln_node *n, kiln_eval_cx *cx, int first,
                                int64_t row, int64_t *out);

/* kiln_copy_strided from input 0 to output 0, or of the picked elements only. */
void kiln_move_strided(kiln_eval_cx *cx, int64_t offset, const int64_t *stride);
/* Copies `count` elements in a row. */
void kiln_copy_run(kiln_wide *dst, int64_t d, const kiln_wide *src, int64_t s,
                   int64_t count);
/* dim[from] * ... * dim[to - 1]. */
int64_t kiln_dim_product(const int64_t *dim, int from, int to);

/* The reductions of the scatter family, as words and as arithmetic on one element.
 * Integers wrap; a NaN operand of min and max gives NaN. */
typedef enum kiln_scatter_fn {
    KILN_SCATTER_NONE,
    KILN_SCATTER_ADD,
    KILN_SCATTER_MUL,
    KILN_SCATTER_MIN,
    KILN_SCATTER_MAX
} kiln_scatter_fn;
extern const char *const kiln_scatter_words[]; /* "none", "add", ..., NULL */
extern const char *const kiln_names_scatter[]; /* "x", "indices", "updates", NULL */
/* clang-format off */
#define KILN_SCATTER_ATTR /* the last attribute of each of them */                     \
    {.name = "reduction", .kind = KILN_ATTR_WORD, .default_i = KILN_SCATTER_NONE,      \
     .doc = "how an update and the element meet; none: the last update wins",          \
     .choices = kiln_scatter_words}
/* clang-format on */
kiln_scatter_fn kiln_scatter_fn_of(const kiln_node *n);
void kiln_cost_scatter(const kiln_node *n, kiln_cost *c); /* a flop an update */
void kiln_scatter_elem(kiln_wide *dst, int64_t d, const kiln_wide *src, int64_t s,
                       kiln_scatter_fn fn);
/* Exact for none, min, max and integers; otherwise each element may take every update
 * in any order. */
kiln_bound kiln_bound_scatter(const kiln_node *n);
#define KILN_ROW_SCATTER                                                               \
    .n_in_min = 3, .n_in_max = 3, .in_names = kiln_names_scatter,                      \
    .dtypes = KILN_DT_ANY, .fuse = KILN_FUSE_OPAQUE, .layout = KILN_LAYOUT_DEPENDENT,  \
    .cost = kiln_cost_scatter, .error_bound = kiln_bound_scatter

#endif
