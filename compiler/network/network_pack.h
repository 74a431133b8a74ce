/* Packing: constants as kernels read them, by loop programs. A program reads a
 * constant's row-major elements and writes it in another layout, zeros in tail lanes
 * included; templates make it, by their own rules, as they make every other kernel.
 * Whoever packs (a build, a model that is opened, a kernel measured by itself) runs the
 * same program for its own machine: the bytes are the same. */
#ifndef KILN_COMPILER_NETWORK_NETWORK_PACK_H
#define KILN_COMPILER_NETWORK_NETWORK_PACK_H

#include "compiler/network/network_work.h"

/* From a constant, row-major, to what a kernel reads. Without a packing (NULL) elements
 * are only moved, as kiln_layout_pack does it; else a program computes. */
typedef struct kiln_packing {
    kiln_type from;
    const kiln_op_def *by;
    kiln_type to;
} kiln_packing;

/* Of a constant, whatever its own layout is. */
kiln_packing kiln_packing_of(const kiln_type *constant, const kiln_op_def *by,
                             const kiln_type *to);

/* One packing, or where there is none an identity, from x, of type `from`, to y, which
 * lies as `to`. */
kiln_status kiln_pack_graph(kiln_arena *a, const kiln_type *from, const kiln_op_def *by,
                            const kiln_layout *to, kiln_graph **out, kiln_err *err);

/* The program of two arguments, row-major elements and `to`, for machines of a profile.
 * KILN_ERR_UNSUPPORTED: no template packs so. */
kiln_status kiln_pack_program(kiln_arena *a, const kiln_packing *k,
                              const kiln_profile *p, const char *name,
                              kiln_program **out, kiln_err *err);
/* Equal for what one program packs; and for people: "f32[8,4,3,3] by PACKING to
 * f32[8,4,6,6]{...}". In the arena. */
const char *kiln_packing_text(kiln_arena *a, const kiln_packing *k);

#endif
