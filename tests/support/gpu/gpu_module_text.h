/* A GPU's module from a few words, for tests of the runtime: the other way to write one
 * than the compiler's. */
#ifndef KILN_TESTS_SUPPORT_GPU_GPU_MODULE_TEXT_H
#define KILN_TESTS_SUPPORT_GPU_GPU_MODULE_TEXT_H

#include "base/base.h"
#include "runtime/gpu_module.h"

/* A module of this language and code. The text has a line for each kernel and, after it,
 * one for each of its launches:
 *
 *     kernel SYMBOL OPERANDS WORKSPACE_BYTES
 *     launch ENTRY GRID_X GRID_Y GRID_Z BLOCK_X BLOCK_Y BLOCK_Z ARGUMENT...
 *
 * An argument is oN (operand N), wN (byte N of the workspace) or iN (a number). The
 * bytes are 8-byte aligned and the arena's; a text that is wrong ends the program. */
const void *kiln_gpu_module_text(kiln_arena *a, kiln_gpu_language language,
                                 const char *text, const char *code, size_t *n);

#endif
