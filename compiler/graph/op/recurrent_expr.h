/* A recurrent cell's step as a loop program: what the cells' `program` works with. */
#ifndef KILN_COMPILER_GRAPH_OP_RECURRENT_EXPR_H
#define KILN_COMPILER_GRAPH_OP_RECURRENT_EXPR_H

#include "compiler/graph/op/op_extern.h"
#include "compiler/graph/op/recurrent.h"

/* One direction of one image at one step. */
typedef struct kiln_rnn_program {
    kiln_arena *a;
    const kiln_attr *attr; /* the node's */
    int64_t hidden;
    const kiln_buffer *h, *c;     /* [H]: the state; c of lstm, else scratch */
    const kiln_buffer *gate;      /* [G*H]: scratch */
    const kiln_buffer *xw;        /* [S,D,N,G*H]: w * x */
    const kiln_expr *xw_at[3];    /* step, direction, image */
    const kiln_buffer *r;         /* [D,H,G*H]: transposed */
    const kiln_buffer *bias;      /* [D,2*G*H]; NULL: none */
    const kiln_buffer *peepholes; /* [D,3*H]; NULL: none */
    int64_t n_rows;               /* G*H */
    int activation[KILN_RNN_MAX_ACTIVATIONS];
    double alpha[KILN_RNN_MAX_ACTIVATIONS], beta[KILN_RNN_MAX_ACTIVATIONS];
} kiln_rnn_program;

/* w * x + its bias of element i of gate g. */
const kiln_expr *kiln_rnn_from_x(const kiln_rnn_program *p, int g, const kiln_expr *i);
/* gate[row] = the bias of r + r * v for the rows of gates [g, end); v is [H]. */
const kiln_stmt *kiln_rnn_products(const kiln_rnn_program *p, const kiln_buffer *v,
                                   int g, int end);
/* Activation number k of a clipped input. */
const kiln_expr *kiln_rnn_act(const kiln_rnn_program *p, int k, const kiln_expr *x);
/* Element i of gate g, of a vector [H]; and storing them. */
const kiln_expr *kiln_rnn_gate_at(const kiln_rnn_program *p, int g, const kiln_expr *i);
const kiln_stmt *kiln_rnn_gate_set(const kiln_rnn_program *p, int g, const kiln_expr *i,
                                   const kiln_expr *v);
const kiln_expr *kiln_rnn_at(const kiln_rnn_program *p, const kiln_buffer *v,
                             const kiln_expr *i);
const kiln_stmt *kiln_rnn_set(const kiln_rnn_program *p, const kiln_buffer *v,
                              const kiln_expr *i, const kiln_expr *x);

#endif
