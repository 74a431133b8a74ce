/* Loads what kiln's code generators make for CPUs (archs.def): freestanding ELF64
 * relocatable files, and the shared library that a package links of them (System V ABI
 * and its processor supplements). Both may be hostile: every offset is held against the
 * file, what is not known is refused.
 */
#ifndef KILN_RUNTIME_LOADER_H
#define KILN_RUNTIME_LOADER_H

#include "runtime/kernel.h"

typedef enum kiln_load_status {
    KILN_LOAD_OK = 0,
    KILN_LOAD_FORMAT,      /* not such an object, or a broken one */
    KILN_LOAD_UNSUPPORTED, /* another machine, an unknown relocation, an import */
    KILN_LOAD_MEMORY       /* none, or none that may be executed */
} kiln_load_status;

enum { KILN_LOAD_TEXT = 160, KILN_LOAD_MAX_BYTES = 256 * 1024 * 1024 };

typedef struct kiln_code kiln_code;

/* Copies what it needs: `object` may go. Code is never writable and executable at once.
 * `text` says what was wrong. */
kiln_load_status kiln_code_open(const void *object, size_t bytes, kiln_code **out,
                                char text[KILN_LOAD_TEXT]);
/* A global function; NULL when there is none of that name. */
kiln_kernel_fn *kiln_code_kernel(const kiln_code *c, const char *name);
void kiln_code_close(kiln_code *c); /* NULL is fine */

/* A context for one thread: parallel loops run in place. `scratch` (64-byte aligned) is
 * the caller's. */
void kiln_ctx_init_serial(kiln_ctx *ctx, void *scratch);

#endif
