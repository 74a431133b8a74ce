/* pipeline/baselines/library: vendor libraries with a C interface that compute single
 * operators, each in a program of its own (kiln-onednn, kiln-onednn3, kiln-xnnpack,
 * kiln-cudnn, kiln-clblast, kiln-armcl), as they bring threads of theirs.
 *
 *     kiln_library_op op;              an operator as libraries know it, of a graph
 *     kiln_library_op_put, _get        the same as JSON, on its way to the program
 *     kiln_library                     what a library's file implements
 *     kiln_library_main                its program: answers requests (library_serve.c)
 */
#ifndef KILN_PIPELINE_BASELINES_LIBRARY_H
#define KILN_PIPELINE_BASELINES_LIBRARY_H

#include "compiler/graph/graph.h"

/* ---- an operator as libraries know it -------------------------------------------- */

typedef enum kiln_library_kind {
    KILN_LIBRARY_CONV, /* 2-D: x [n, c, h, w], w [o, c / groups, kh, kw] */
    KILN_LIBRARY_MATMUL,
    KILN_LIBRARY_MAX_POOL,
    KILN_LIBRARY_AVG_POOL,
    KILN_LIBRARY_SOFTMAX,
    KILN_N_LIBRARY_KINDS
} kiln_library_kind;
const char *kiln_library_kind_name(kiln_library_kind k);

/* What comes behind it, in this order. */
typedef enum kiln_library_tail_kind {
    KILN_LIBRARY_BIAS, /* + tensor [channels]: axis 1 of conv and pools, else the last
                        */
    KILN_LIBRARY_ADD,  /* + tensor of the output's shape */
    KILN_LIBRARY_RELU,
    KILN_LIBRARY_CLIP,       /* to alpha..beta, which may be infinite */
    KILN_LIBRARY_LEAKY_RELU, /* alpha */
    KILN_LIBRARY_ELU,        /* alpha */
    KILN_LIBRARY_SIGMOID,
    KILN_LIBRARY_TANH,
    KILN_LIBRARY_GELU,      /* by erf */
    KILN_LIBRARY_GELU_TANH, /* its tanh form */
    KILN_LIBRARY_SWISH,     /* x * sigmoid(alpha * x) */
    KILN_LIBRARY_HARD_SWISH,
    KILN_N_LIBRARY_TAILS
} kiln_library_tail_kind;
const char *kiln_library_tail_name(kiln_library_tail_kind k);

typedef struct kiln_library_tail {
    kiln_library_tail_kind kind;
    int tensor; /* of those in `in`; -1: none */
    double alpha, beta;
} kiln_library_tail;

typedef struct kiln_library_tensor {
    const char *name;
    kiln_tensor value; /* row-major, of the output's type */
    bool is_constant;  /* may be made ready ahead */
} kiln_library_tensor;

enum { KILN_LIBRARY_MAX_IN = 16, KILN_LIBRARY_MAX_TAILS = 8 };

typedef struct kiln_library_op {
    kiln_library_kind kind;
    /* Windows over height and width. The padding behind is what the output's shape
     * takes, so that nobody needs to know of rounding. */
    int64_t kernel[2], stride[2], dilation[2], pad_begin[2], pad_end[2];
    int64_t groups;
    bool counts_padding;   /* avg_pool: in the number of elements */
    bool trans_a, trans_b; /* matmul: of the last two axes */
    int axis;              /* softmax */
    kiln_library_tensor in[KILN_LIBRARY_MAX_IN]; /* operands, then those of tails */
    int n_in, n_operands;
    kiln_library_tail tail[KILN_LIBRARY_MAX_TAILS];
    int n_tails;
    kiln_type out; /* f32 or f16 */
} kiln_library_op;

/* Of a typed graph: one operator and what is behind it. `plain`: row-major inputs and
 * constants by value id, borrowed. KILN_ERR_UNSUPPORTED says what cannot be described:
 * other operators, other types than f32 and f16, several
 * types, other orders. */
kiln_status kiln_library_op_of(const kiln_graph *g, const kiln_node *anchor,
                               const kiln_tensor *plain, kiln_library_op *out,
                               kiln_err *err);
/* Writes an object, without the values of tensors. */
void kiln_library_op_put(kiln_json_writer *w, const kiln_library_op *op);
/* Reads one; values' data is NULL. KILN_ERR_PARSE where it is none. */
kiln_status kiln_library_op_get(kiln_arena *a, const kiln_json *object,
                                kiln_library_op *out, kiln_err *err);

/* ---- a library ------------------------------------------------------------------- */

/* An operator made ready. */
typedef struct kiln_library_ready {
    void *own;
    const char *implementation; /* what the library chose, in its words; NULL: unsaid */
} kiln_library_ready;

typedef struct kiln_library {
    const char *name; /* of the program, behind "kiln-" */
    /* Of a library that the program is not linked with: opens its file, which the
     * program is given by name, before anything else is called. Else NULL. */
    kiln_status (*open)(const char *file, kiln_err *err);
    const char *(*version)(kiln_arena *a);
    bool takes_f16; /* operators of f16 too, with sums of f32 */
    /* Settings that the library reads from the environment when it is loaded: name,
     * value, ..., NULL. May be NULL. */
    const char *const *(*environment)(kiln_arena *a, int threads);
    /* Everything that can be done ahead: constants in the library's layout, inputs in
     * the one that it prefers. KILN_ERR_UNSUPPORTED: the library has none such.
     * Lives as long as the process. */
    kiln_status (*prepare)(kiln_arena *a, const kiln_library_op *op, int threads,
                           kiln_library_ready *out, kiln_err *err);
    kiln_status (*run)(const kiln_library_ready *r, kiln_err *err);
    /* The same by the clock of the device that it ran on, for libraries that compute on
     * one: what the host takes to ask for it is not in it. Else NULL. */
    kiln_status (*time)(const kiln_library_ready *r, int64_t *ns, kiln_err *err);
    /* Sends waiting threads to sleep, where the library can; else they spin for a
     * while. Not timed; may be NULL. */
    void (*rest)(const kiln_library_ready *r);
    /* The output of the last run, row-major. */
    kiln_status (*read)(const kiln_library_ready *r, kiln_tensor *out, kiln_err *err);
} kiln_library;

/* Gives each thread of this process, the calling one too, a processor of its own, for
 * libraries that leave that to their caller. */
kiln_status kiln_library_spread(kiln_err *err);

/* In the programs alone, not in the archive. The two of oneDNN have the same
 * kiln_library; that of version 3 opens its file. */
extern const kiln_library kiln_library_onednn, kiln_library_xnnpack, kiln_library_cudnn,
    kiln_library_clblast, kiln_library_armcl;
/* KILN_ERR_LIB names the file and what it lacks: it is none, another major version, a
 * symbol, another threading than OpenMP's. */
kiln_status kiln_onednn3_open(const char *file, kiln_err *err);

/* The whole program:
 *
 *     kiln-NAME --version              prints the library's version
 *     kiln-NAME --threads N            answers requests until its input ends (library_serve.c)
 *
 * Where the library is opened, "--library FILE" comes before these. */
int kiln_library_main(int argc, char **argv, const kiln_library *library);

/* ---- age ------------------------------------------------------------------------- */

/* The version with the month of the snapshot that it names, where it names one:
 * "0.0~git20220217.x-1 (of February 2022)". */
const char *kiln_library_dated(kiln_arena *a, const char *version);
/* "2.6.3 (of 2022)"; without the year where it is not known. */
const char *kiln_library_onednn_dated(kiln_arena *a, int major, int minor, int patch);

#endif
