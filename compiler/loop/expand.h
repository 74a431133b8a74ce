/* Intrinsics as expressions of simpler ones: what a back end has no instruction for,
 * written once for all of them.
 *
 * A back end says what it has (kiln_natives); the passes `halves` and `expand` leave
 * that and rewrite the rest into additions, multiplications, comparisons, selections
 * and operations on bits, bound by `let` so that nothing is computed twice. What
 * neither the back end has nor a row of expansions.def makes is refused by name. The
 * interpreter runs the result like any other program: tests hold it against libm with
 * no code generator in the way.
 */
#ifndef KILN_COMPILER_LOOP_EXPAND_H
#define KILN_COMPILER_LOOP_EXPAND_H

#include "compiler/loop/loop.h"

/* Which intrinsics a back end makes code for, by what they take: a bit
 * KILN_NATIVE(name) each. The pass `halves` makes f32 of f16 and bf16 first. `fma`
 * decides, too, how polynomials are evaluated: with it each step is rounded once.
 * add_rn, sub_rn and mul_rn of floats every back end has; sqrt has no expansion. */
typedef struct kiln_natives {
    const char *name; /* of the machine, for messages */
    uint64_t f32, f64, ints;
    bool has_f16_casts; /* between f16 and f32 */
} kiln_natives;
#define KILN_NATIVE(name) ((uint64_t)1 << KILN_INTRIN_##name)
_Static_assert(KILN_N_INTRINS <= 64, "a bit for each intrinsic");

/* Nothing but what every machine has; with sqrt, and without fma. */
extern const kiln_natives kiln_natives_least;

bool kiln_is_native(const kiln_natives *n, kiln_intrin i, kiln_dtype dtype);

/* A call while it is expanded: what has been bound so far. Inside compiler/loop. */
typedef struct kiln_formula kiln_formula;
/* f32 and f64, or integers; what they return may use variables
 * that the formula binds. NULL: kiln_formula_fail has said why not. */
typedef const kiln_expr *kiln_expand_fn(kiln_formula *f, kiln_intrin i,
                                        const kiln_expr *const *arg);

typedef struct kiln_expansion {
    kiln_intrin intrin;
    kiln_expand_fn *floats, *ints; /* NULL: has no expansion for these */
    double ulps[2];     /* f32, f64: bound of the error, whatever the argument */
    double floor;       /* an error of so many unit roundoffs is within it, too */
    const char *domain; /* where the result is special, or how it is found */
} kiln_expansion;

const kiln_expansion *kiln_expansion_at(int i);         /* NULL past the end */
const kiln_expansion *kiln_expansion_of(kiln_intrin i); /* NULL: none */

#endif
