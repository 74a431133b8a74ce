/* Packing: constants as kernels read them, by loop programs. A program reads a
 * constant's row-major elements and writes it in another layout, zeros in tail lanes
 * included; templates make it, by their own rules, as they make every other kernel.
 * Whoever packs (a build, a model that is opened, a kernel measured by itself) runs the
 * same program for its own machine: the bytes are the same. */
#ifndef KILN_COMPILER_NETWORK_NETWORK_PACK_H
#define KILN_COMPILER_NETWORK_NETWORK_PACK_H

#include "compiler/network/network_work.h"

/* Are the elements of the layout computed, not only moved? Then kiln_layout_pack does
 * not know them: a program does. */
bool kiln_pack_computes(const kiln_type *t);

/* One identity from x, of type `from`, to y, which lies as `to`. */
kiln_status kiln_pack_graph(kiln_arena *a, const kiln_type *from, const kiln_layout *to,
                            kiln_graph **out, kiln_err *err);

/* The program of two arguments, row-major elements and `t`, for machines of a profile.
 * KILN_ERR_UNSUPPORTED: no template packs so. */
kiln_status kiln_pack_program(kiln_arena *a, const kiln_type *t, const kiln_profile *p,
                              const char *name, kiln_program **out, kiln_err *err);

#endif
