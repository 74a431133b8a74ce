/* Arithmetic over one value, multiplied out: how merge_activations sees what exporters
 * write in many ways. Inside compiler/pass.
 *
 * A form is a polynomial in x whose terms may have one factor F, a function of a
 * polynomial in x. */
#ifndef KILN_COMPILER_PASS_ACTIVATION_FORM_H
#define KILN_COMPILER_PASS_ACTIVATION_FORM_H

#include "compiler/pass/pass_internal.h"

typedef enum kiln_form_function {
    KILN_FORM_NONE,
    KILN_FORM_ERF,
    KILN_FORM_TANH,
    KILN_FORM_LOGISTIC,     /* sigmoid, or a quotient by 1 + exp */
    KILN_FORM_EXP,          /* before it is in such a quotient */
    KILN_FORM_CLIP,         /* clip, or min of max */
    KILN_FORM_HARD_SIGMOID, /* clip(low x + high, 0, 1) */
    KILN_FORM_TANH_SOFTPLUS
} kiln_form_function;

enum { KILN_FORM_POWERS = 4 };

/* c[i][j] F^i x^j */
typedef struct kiln_form {
    double c[2][KILN_FORM_POWERS];
    kiln_form_function f; /* KILN_FORM_NONE: no term has it */
} kiln_form;

typedef struct kiln_form_reading {
    const kiln_sweep *sweep;
    const kiln_value *x;
    /* Of what was read: the one call of a function, its argument, and its limits; of
     * hard_sigmoid alpha and beta. */
    const kiln_node *call;
    double arg[KILN_FORM_POWERS];
    double low, high;
    int visits; /* that are left: what is read in many places is read often */
} kiln_form_reading;

/* False: v is no such form in x; of too high a power; of two functions, or of one that
 * is read elsewhere too and would have to be computed twice. */
bool kiln_form_read(kiln_form_reading *r, const kiln_value *v, kiln_form *out);
/* The argument of the root's F: of KILN_FORM_LOGISTIC that of the logistic function,
 * however it is written. */
void kiln_form_argument(const kiln_form_reading *r, const kiln_form *root,
                        double arg[KILN_FORM_POWERS]);

/* Does such an operator stand in forms, as arithmetic or as part of a function? */
bool kiln_form_is_arithmetic(const kiln_op_def *op);
bool kiln_form_is_function(const kiln_op_def *op);

#endif
