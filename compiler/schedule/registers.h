/* How many vector registers the innermost loops of a program want at once, told from the
 * program as code is made of it: what spills can be foreseen from without making any.
 *
 * A body is what one iteration of an innermost loop that multiplies and adds does. It is
 * walked in the order of the text. A value is alive from where it is made or read first
 * to where it is read last; a sum that goes on from one iteration to the next all the
 * time. A vector that is read once is an operand of its instruction and takes no
 * register; one that fills all lanes from one element does. The largest number of values
 * alive at once is what the body wants.
 *
 * A branch in such a body (a guard that no pass could take out) is counted by itself: it
 * cuts the body into pieces, between which every sum has to be where the next one looks
 * for it.
 *
 * It is a guess: the compiler orders instructions in its own way, keeps constants, masks
 * and addresses too, and reads some values twice rather than keep them.
 *
 * memory  values only; scratch
 * source  live ranges: Poletto and Sarkar, ACM TOPLAS 21(5), 1999 */
#ifndef KILN_COMPILER_SCHEDULE_REGISTERS_H
#define KILN_COMPILER_SCHEDULE_REGISTERS_H

#include "compiler/loop/loop.h"
#include "compiler/target/target.h"

typedef struct kiln_registers {
    int vectors; /* the most that any body wants; 0: none multiplies and adds */
    int guards;  /* the most branches in any such body */
} kiln_registers;

/* Of a program behind its loop passes (kiln_scheduled_program): flat, it is asserted. */
kiln_registers kiln_registers_of(kiln_arena *scratch, const kiln_profile *p,
                                 const kiln_program *program);

#endif
