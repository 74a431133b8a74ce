/* The import of one model as far as no format is concerned: where its Graph is built,
 * in which memory, by which names, and what it may still cost. A frontend makes one
 * (kiln_import_begin), keeps `graph` at the graph or region that it builds, and answers
 * what only its format knows by a kiln_import_format.
 *
 *     frontend_nodes.c     making nodes; small constant nodes are evaluated at once
 *     consts.c    operands that must be constant because they decide a shape
 *     compose.h   short forms for operators that become several nodes
 *     spatial.h   windows of convolution and pooling
 *
 * `site` is what a node is made for: a frontend's own node, which only its format looks
 * at. */
#ifndef KILN_COMPILER_FRONTEND_IMPORT_CX_H
#define KILN_COMPILER_FRONTEND_IMPORT_CX_H

#include "compiler/frontend/frontend.h"

typedef struct kiln_import_cx kiln_import_cx;

/* What an input of a graph is. */
typedef enum kiln_import_origin {
    KILN_IMPORT_GIVEN,    /* the model's: a caller gives it */
    KILN_IMPORT_CAPTURED, /* a region's, for a value of the graph around it */
    KILN_IMPORT_FORMAL    /* a region's own */
} kiln_import_origin;

typedef struct kiln_import_format {
    /* Names of the node made for a site, and of its output i, which need not be unique;
     * in cx->scratch. */
    const char *(*node_name)(kiln_import_cx *cx, const void *site);
    const char *(*out_name)(kiln_import_cx *cx, const void *site, int i);
    /* May any operator read these values? Entries may be NULL. NULL: it may. */
    kiln_status (*may_read)(kiln_import_cx *cx, kiln_value *const *in, int n_in);
    /* What an input of g is; CAPTURED: and for which value of which graph. NULL: the
     * format has no regions. */
    kiln_import_origin (*origin)(kiln_import_cx *cx, const kiln_graph *g,
                                 const kiln_value *input, kiln_graph **around,
                                 const kiln_value **value);
} kiln_import_format;

struct kiln_import_cx {
    const kiln_import_format *format;
    kiln_arena *arena;  /* model lifetime; borrowed */
    kiln_arena scratch; /* released with the import */
    kiln_err *err;      /* never NULL */
    kiln_graph *graph;  /* being built */
    /* Graph inputs with a hint (kiln_import_options). */
    KILN_VEC(const kiln_value *) hinted;
    KILN_VEC(const kiln_tensor *) hints; /* parallel */

    bool reads_counted; /* format->may_read is not asked: bounded.c */

    /* What an import may still cost: a small file must not ask for gigabytes or
     * minutes. */
    int64_t eager_bytes; /* outputs of nodes evaluated at once */
    int64_t eager_flops;
    int64_t const_flops; /* of operands that must be constant */
    int64_t bytes_left;  /* kiln_import_spend */
};

/* With all that an import may cost; no graph yet. */
void kiln_import_begin(kiln_import_cx *cx, const kiln_import_format *format,
                       kiln_arena *a, kiln_err *err);
void kiln_import_end(kiln_import_cx *cx);
/* Printable, cut to a length that messages can hold; in scratch. */
const char *kiln_import_show(kiln_import_cx *cx, kiln_str name);
/* Charges bytes that the import itself computes (not those it maps): past 512 MiB in
 * all, KILN_ERR_LIMIT. For what makes a constant whose size the file chooses. */
kiln_status kiln_import_spend(kiln_import_cx *cx, int64_t bytes);

/* ---- frontend_nodes.c ---------------------------------------------------------------
 */

/* Appends one node and gives its outputs (n_out entries; 0: as few as the operator
 * has). Small nodes of constants are evaluated at once, so shape arithmetic never
 * reaches the Graph. */
kiln_status kiln_import_emit(kiln_import_cx *cx, const void *site,
                             const kiln_op_def *op, kiln_value *const *in, int n_in,
                             const kiln_attr_arg *args, size_t n_args, int n_out,
                             kiln_value **outs);
/* One input, one output. */
kiln_status kiln_import_emit1(kiln_import_cx *cx, const void *site,
                              const kiln_op_def *op, kiln_value *x,
                              const kiln_attr_arg *args, size_t n_args,
                              kiln_value **out);
/* Reshape to a known shape, cast, transpose: no node where nothing changes. */
kiln_status kiln_import_reshape(kiln_import_cx *cx, const void *site, kiln_value *x,
                                int rank, const int64_t *dim, kiln_value **out);
kiln_status kiln_import_cast(kiln_import_cx *cx, const void *site, kiln_value *x,
                             kiln_dtype dtype, kiln_value **out);
kiln_status kiln_import_transpose(kiln_import_cx *cx, const void *site, kiln_value *x,
                                  const int64_t *perm, kiln_value **out);
kiln_value *kiln_import_scalar(kiln_import_cx *cx, kiln_dtype dtype, double v);

/* Behind g's own outputs, how many rows of each bounded one count: "y.count", or with
 * more dots where the model has such an output. All other values forget that they
 * were. */
void kiln_import_add_counts(kiln_import_cx *cx, kiln_graph *g);

/* ---- consts.c ---------------------------------------------------------------------
 */

/* The constant that an operand has; evaluates the part of the graph it depends on,
 * through hints where it leads to an input. Message: "input 'shape' must be a constant,
 * it depends on graph input 'n'; fix its value with --bind n=..." */
kiln_status kiln_import_const(kiln_import_cx *cx, kiln_value *v, const char *what,
                              kiln_tensor *out);
/* The same as a list of integers / doubles (any rank; elements in row-major order). */
kiln_status kiln_import_const_ints(kiln_import_cx *cx, kiln_value *v, const char *what,
                                   const int64_t **out, size_t *n);
kiln_status kiln_import_const_floats(kiln_import_cx *cx, kiln_value *v,
                                     const char *what, const double **out, size_t *n);

#endif
