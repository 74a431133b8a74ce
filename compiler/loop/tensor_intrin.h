/* Tensor intrinsics: instructions that compute a small block at once (TVM, OSDI'18,
 * section 4.3: behaviour declared as a tensor expression, and a lowering rule).
 *
 * kiln_tensorize (schedule.h) marks the innermost loops of a stage. They stay ordinary
 * loops through all passes, so the interpreter runs them as they stand; at the end the
 * pass `tensorize` matches each marked nest, expression and addresses, against the
 * declaration, and puts the rule's statements in its place. What does not match is
 * refused by name, never left as it was.
 *
 * An intrinsic whose operands are blocks of memory has no rule: it says which parts of a
 * reduction are instructions (TVM's body, reset and update), and each becomes a call of a
 * program that the declaration makes. So what it reads, writes and updates is declared,
 * to the verifier, the passes and the interpreter alike.
 *
 * Adding one: a file in intrin/ and a row in tensor_intrins.def;
 * docs/new-tensor-intrinsic.md.
 */
#ifndef KILN_COMPILER_LOOP_TENSOR_INTRIN_H
#define KILN_COMPILER_LOOP_TENSOR_INTRIN_H

#include "compiler/loop/loop.h"

/* Where an operand's block begins: element `at` of a flat buffer. Its elements lie as
 * the declaration's placeholder has them, row-major. */
typedef struct kiln_tensor_operand {
    const kiln_buffer *buffer;
    const kiln_expr *at; /* i64 */
    /* By axis of the declaration, in elements. Those of a dense block where the intrinsic
     * has no leading dimensions, else the last is 1 and rows do not overlap. */
    int64_t stride[KILN_MAX_AXES];
} kiln_tensor_operand;

/* Parts of a reduction that may be instructions. */
typedef enum kiln_tensor_part {
    KILN_TENSOR_RESET = 1,  /* out = the reducer's identity */
    KILN_TENSOR_UPDATE = 2, /* out = combine(out, in): out += in where it is a sum */
    KILN_TENSOR_BODY = 4    /* out = in: both, where no reduction loop is outside */
} kiln_tensor_part;

struct kiln_tensor_intrin {
    const char *name;
    const char *doc;
    /* The behaviour for blocks of `lanes` (16, 8, 4: a multiple of what the target has,
     * chosen by the template): a sum, product, maximum or minimum over small axes.
     * Placeholders are found in te->in. */
    const kiln_te *(*declare)(kiln_arena *a, int lanes);
    /* out += in, or out = max(out, in) and so on: operands in the order of te->in. NULL: `parts` says. */
    const kiln_stmt *(*update)(kiln_arena *a, int lanes, const kiln_tensor_operand *in,
                               const kiln_tensor_operand *out);
    /* Instructions with operands in memory, a set of kiln_tensor_part; with UPDATE where
     * there is no rule. Without RESET the loops that begin a reduction stay loops. */
    unsigned parts;
    /* Is it given the distance of rows (leading dimensions), so that operands may be
     * blocks of larger matrices? Operands of such a declaration are read by plain axes. */
    bool has_strides;
};
typedef struct kiln_tensor_intrin kiln_tensor_intrin;

/* Program "NAME.update" of that part, over flat blocks: inputs in the order of te->in (a
 * reset has none), then the output, each from its first element to its last, with rows as
 * far apart as the operands' strides say. `te`: what the intrinsic declares. */
const kiln_program *kiln_tensor_program(kiln_arena *a, const kiln_tensor_intrin *intrin,
                                        const kiln_te *te, kiln_tensor_part part,
                                        const kiln_tensor_operand *in,
                                        const kiln_tensor_operand *out);
/* How the declared reduction combines two values: KILN_EXPR_ADD, MUL, MAX or MIN. -1: by
 * none of these, or of pairs; such a one can't be an intrinsic. */
int kiln_tensor_combine(const kiln_te *te);

#define KILN_TENSOR_INTRIN(name) extern const kiln_tensor_intrin kiln_tensor_##name;
#include "compiler/loop/tensor_intrins.def"
#undef KILN_TENSOR_INTRIN
const kiln_tensor_intrin *kiln_tensor_intrin_at(int i); /* NULL past the end */
const kiln_tensor_intrin *kiln_tensor_intrin_find(kiln_str name);

/* Does `e` compute what the declared expression does, whatever it reads? Pattern reads
 * (of te->in[i]) are matched by reads or loads of one dtype; operand[i] receives the
 * one that stands for te->in[i]. False: it does not. Products may be the other way
 * round. */
bool kiln_tensor_match(const kiln_te *te, const kiln_expr *pattern, const kiln_expr *e,
                       const kiln_expr **operand);
/* The declared stage's reduction: its source expression. */
const kiln_expr *kiln_tensor_source(const kiln_te *te);

#endif
