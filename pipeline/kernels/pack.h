/* Constants packed on this machine, whatever machine they are packed for. */
#ifndef KILN_PIPELINE_KERNELS_PACK_H
#define KILN_PIPELINE_KERNELS_PACK_H

#include "compiler/network/pack.h"

/* Programs compiled for this machine, each once. */
typedef struct kiln_packer kiln_packer;

/* In the arena, and with it what is compiled, until it is reset. */
kiln_packer *kiln_packer_new(kiln_arena *a);
/* Row-major elements, which may lie anywhere, to the layout of `t`; `packed` is 64-byte
 * aligned and has kiln_type_bytes(t) bytes. What is only moved is moved here; what is
 * computed (kiln_pack_computes) is by its program. KILN_ERR_UNSUPPORTED: no code for
 * this machine. */
kiln_status kiln_packer_run(kiln_packer *p, const kiln_type *t, const void *plain,
                            void *packed, kiln_err *err);

#endif
