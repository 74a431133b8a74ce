/* Rules for operators of counted values (bounded.h), for every importer whose operators
 * are given their operands. A rule makes the operator on the largest shape and says how
 * many elements of its result count. Filling is never read as if it counted: it is
 * changed to what says nothing, or each element is treated by itself.
 *
 * An importer says by four functions how its operators are made, and by a table of its
 * own which of them has which rule: one of these, or a few lines that read an operator's
 * attributes for one. What has none is refused. ONNX's rules are their own
 * (onnx/counted.h), as its files compute shapes out of lengths: there two lengths may be
 * seen to be one, and a rule asks for bounds where these ask for constants. */
#ifndef KILN_COMPILER_FRONTEND_COUNTED_RULES_H
#define KILN_COMPILER_FRONTEND_COUNTED_RULES_H

#include "compiler/frontend/bounded.h"

typedef struct kiln_ruled kiln_ruled;
typedef kiln_status kiln_rule(kiln_ruled *r);

typedef struct kiln_ruled_format {
    /* The operator of r->given, of which none is counted any more; with r->op in the
     * place of its row's own, where that is not NULL. */
    kiln_status (*make)(kiln_ruled *r);
    /* Where output i of it is; NULL: there are no more. */
    kiln_value **(*result)(kiln_ruled *r, int i);
    /* Operand i, which must be constant, as integers. */
    kiln_status (*ints)(kiln_ruled *r, int i, const char *name, const int64_t **v,
                        size_t *n);
    /* KILN_ERR_UNSUPPORTED: "'x' is as long as data has it, <why>; export ..." */
    kiln_status (*refuse)(kiln_ruled *r, const char *why);
} kiln_ruled_format;

/* The counted ones among the operands, and the axis that they share. */
typedef struct kiln_counted {
    kiln_value *value; /* the first; NULL: there is none */
    kiln_value *count;
    int axis;       /* of `value`; -1: another counts otherwise */
    int from_right; /* the axis, counted from the last */
    int n;          /* how many there are */
} kiln_counted;

/* One operator. The lists are in the import's scratch; NULL entries: no tensor. */
struct kiln_ruled {
    const kiln_ruled_format *format;
    void *call; /* for `format` */
    kiln_compose c;
    kiln_value **given; /* what it is made of */
    int n_in;
    const kiln_op_def *row_op; /* that its row has, or NULL */

    /* By kiln_ruled_begin. */
    kiln_counted counted;
    kiln_value **in; /* operands as they were given */
    const kiln_op_def *op;
};

/* Looks at the operands; false: none is counted, and there is nothing to do. */
bool kiln_ruled_begin(kiln_ruled *r);

/* ---- what an importer's own rules are made of --------------------------------------- */

/* Refuses the operator unless operand 0 is counted and no other one is. */
kiln_status kiln_ruled_only_first(kiln_ruled *r, const char *why);
/* Operand i with another filling, before it is made. */
void kiln_ruled_fill(kiln_ruled *r, int i, double v);
/* Makes the operator. */
kiln_status kiln_ruled_make(kiln_ruled *r);
/* Makes it: its results count along that axis as the operands do, or by `count`. */
kiln_status kiln_ruled_keep(kiln_ruled *r, int axis);
kiln_status kiln_ruled_keep_as(kiln_ruled *r, int axis, kiln_value *count);
/* The same where an axis is new in the result, at this place of it. */
kiln_status kiln_ruled_add_axis(kiln_ruled *r, int at);
/* The same where n axes of the operand are gone; refused where it is one of them. */
kiln_status kiln_ruled_drop_axes(kiln_ruled *r, const int64_t *axes, size_t n,
                                 const char *why);
/* All operands along a new axis, at this place of the result. */
kiln_status kiln_ruled_stack(kiln_ruled *r, int at);
/* Operand 0 at places, operand 1, along an axis: places that count are of elements that
 * count, else frameworks stop. */
kiln_status kiln_ruled_pick(kiln_ruled *r, int axis, bool may_be_negative);
/* A reduction, or the place of an extreme, over n axes of operand 0. */
kiln_status kiln_ruled_reduce(kiln_ruled *r, const int64_t *axes, size_t n, bool keeps);
/* What a slice takes of the axis: where it lies in the result (-1: nowhere), of how many
 * elements, and whether these are the first, counted from the front. */
typedef struct kiln_counted_cut {
    int axis;
    int64_t size;
    bool is_first;
} kiln_counted_cut;
kiln_status kiln_ruled_slice(kiln_ruled *r, const kiln_counted_cut *cut);
/* What changes nothing in a reduction or an extreme's place; NAN: there is no such
 * number. */
double kiln_counted_neutral(const kiln_op_def *op);

/* ---- rules, whole --------------------------------------------------------------------
 */

kiln_rule kiln_rule_along;       /* each element by itself, operands broadcast */
kiln_rule kiln_rule_softmax;     /* along the last axis */
kiln_rule kiln_rule_rows;        /* of a matrix, times a matrix */
kiln_rule kiln_rule_join;        /* along another axis */
kiln_rule kiln_rule_reshape;     /* operand 1: the shape */
kiln_rule kiln_rule_transpose;   /* operand 1: the order */
kiln_rule kiln_rule_pick_points; /* operand 1: rows of positions */
kiln_rule kiln_rule_where;       /* positions of what is not zero */
kiln_rule kiln_rule_cumulative;  /* sums or products, in either direction */
kiln_rule kiln_rule_largest;     /* so many along the last axis; else frameworks stop */
kiln_rule kiln_rule_size;        /* how many elements there are */
kiln_rule kiln_rule_shape;

#endif
