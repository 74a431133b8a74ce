/* Fragments: matrices that a warp holds, each thread some elements in registers of its own.
 *
 * Memory of scope `fragment` is one warp's: it is allocated inside the loops of threadIdx.y
 * and .z that count warps and outside those of threadIdx.x, whose 32 threads are one. Where
 * calls of wgmma's programs make it, it is a warpgroup's: 128 threads, four warps, of which
 * each holds every fourth block of rows. Two kinds of statements touch it:
 *
 *   a call with a fragment among its blocks, outside loops of threadIdx.x. By the rule of
 *   such places the thread that stands at 0 does it, and so the interpreter runs it; on a
 *   machine all threads of the warp come and do it together, as an instruction wants it.
 *   Nothing there can depend on threadIdx.x, so no warp can diverge;
 *
 *   loads, inside a loop of threadIdx.x, by the thread that holds the element. Another's
 *   are refused by name: by the interpreter, once calls say how the elements lie, and by
 *   code generators.
 *
 * Elements lie as the accumulators of mma.sync.m16n8k* do (NVIDIA, PTX ISA 8.5, 9.7.14.5,
 * "Matrix Fragments for mma.m16n8k16"): blocks of 16 rows and 8 columns, of which thread t
 * holds columns 2 (t % 4) and the next of rows t / 4 and t / 4 + 8. */
#ifndef KILN_COMPILER_LOOP_FRAGMENT_H
#define KILN_COMPILER_LOOP_FRAGMENT_H

#include "compiler/loop/loop.h"

enum {
    KILN_WARP = 32, /* threads */
    KILN_FRAGMENT_ROWS = 16,
    KILN_FRAGMENT_COLUMNS = 16, /* of what one call computes: two blocks of 8 */
    KILN_FRAGMENT_HELD = 4,     /* elements of a block of 16 x 8 that a thread holds */
    KILN_WARPGROUP = 4,         /* warps */
    KILN_WARPGROUP_COLUMNS =
        64 /* that lie next to each other in an operand of theirs */
};

/* How a flat fragment lies; 0: no call says so, or they differ. */
typedef struct kiln_fragment_form {
    int64_t row; /* elements from a row to the next */
    int warps;   /* that hold it: 1, or KILN_WARPGROUP */
} kiln_fragment_form;

/* The thread of the warps that holds an element. Warps hold the blocks of rows in turn. */
int kiln_fragment_thread(int64_t row, int64_t column, int warps);
/* Which of its elements it is: block after block, row by row, KILN_FRAGMENT_HELD of
 * each. */
int64_t kiln_fragment_element(int64_t row, int64_t column, kiln_fragment_form form);

/* Operands come by ldmatrix.x4 from 16 rows of two times 16 bytes: which row a thread
 * names, and which of the two. The four matrices are numbered down the rows first, or along
 * them, where terms of b lie so. */
void kiln_fragment_named(int thread, bool along_rows, int *row, int *column);

/* Is s a call that a warp does together? */
bool kiln_stmt_is_warps(const kiln_stmt *s);
/* As the calls in s say. */
kiln_fragment_form kiln_fragment_form_of(const kiln_stmt *s, const kiln_buffer *b);
/* Warps that do a program together: KILN_WARPGROUP for "wgmma...". */
int kiln_program_warps(const kiln_program *p);
/* Columns of what one call of such a program computes. */
int64_t kiln_program_columns(const kiln_program *p);

#endif
