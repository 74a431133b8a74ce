/* A recurrent cell's step as a loop program: what the cells' `program` works with. */
#ifndef KILN_COMPILER_OP_RECURRENT_RECURRENT_EXPR_H
#define KILN_COMPILER_OP_RECURRENT_RECURRENT_EXPR_H

#include "compiler/op/op_extern.h"
#include "compiler/op/recurrent/recurrent.h"

/* One direction of a group of M images at one step. A step is made of two kinds of
 * loops, one after the other: products of the state and r (kiln_rnn_products), and what
 * each unit does with them (kiln_rnn_each_unit). */
typedef struct kiln_rnn_program {
    kiln_arena *a;
    const kiln_attr *attr; /* the node's */
    int64_t hidden;
    int64_t n_rows;   /* G*H */
    int64_t members;  /* M */
    bool is_shared;   /* several threads share a step's loops */
    kiln_var *member; /* 0 .. M: an image of the group; bound by each_unit, as is */
    kiln_var *time;   /* the step of xw and y that the image is at */
    const kiln_expr *direction, *step;
    const kiln_expr *first_image; /* of the group */
    const kiln_buffer *h, *c;     /* [M,H]: the states; c of lstm, else scratch */
    const kiln_buffer *gate;      /* [M,G*H or more]: scratch */
    const kiln_buffer *xw;        /* w * x: [S,N,D*G*H] or [S,N,D,G*H] */
    const kiln_buffer *r;         /* [D,G*H/B,H,B]: blocks of rows, transposed */
    const kiln_buffer *bias;      /* [D,2*G*H]; NULL: none */
    const kiln_buffer *peepholes; /* [D,3*H]; NULL: none */
    const kiln_buffer *lengths;   /* [N]; NULL: all steps */
    const kiln_buffer *y;         /* [S,D,N,H] */
    int64_t steps;
    bool is_reverse;
    int activation[KILN_RNN_MAX_ACTIVATIONS];
    double alpha[KILN_RNN_MAX_ACTIVATIONS], beta[KILN_RNN_MAX_ACTIVATIONS];
} kiln_rnn_program;

/* w * x + its bias of unit i of gate g. */
const kiln_expr *kiln_rnn_from_x(const kiln_rnn_program *p, int g, const kiln_expr *i);
/* gate[m,row] = the bias of r + r * v for the rows of gates [g, end); v is [M,H]. */
const kiln_stmt *kiln_rnn_products(const kiln_rnn_program *p, const kiln_buffer *v,
                                   int g, int end);
/* `body` for all units i of all images of the group that have this step, in vectors: so
 * it keeps values in `gate`, not in names. The last of a step writes y, too. */
const kiln_stmt *kiln_rnn_each_unit(const kiln_rnn_program *p, const kiln_var *i,
                                    const kiln_stmt *body, bool is_last);
/* A loop over units alone. */
const kiln_stmt *kiln_rnn_units(const kiln_rnn_program *p, const kiln_var *i,
                                kiln_loop_kind kind, const kiln_stmt *body);
/* `body` for each image of the group. */
const kiln_stmt *kiln_rnn_members(const kiln_rnn_program *p, const kiln_stmt *body);
/* Activation number k of a clipped input. */
const kiln_expr *kiln_rnn_act(const kiln_rnn_program *p, int k, const kiln_expr *x);
/* Unit i of gate g, of a state [M,H]; and storing them. */
const kiln_expr *kiln_rnn_gate_at(const kiln_rnn_program *p, int g, const kiln_expr *i);
const kiln_stmt *kiln_rnn_gate_set(const kiln_rnn_program *p, int g, const kiln_expr *i,
                                   const kiln_expr *v);
const kiln_expr *kiln_rnn_at(const kiln_rnn_program *p, const kiln_buffer *v,
                             const kiln_expr *i);
const kiln_stmt *kiln_rnn_set(const kiln_rnn_program *p, const kiln_buffer *v,
                              const kiln_expr *i, const kiln_expr *x);

#endif
