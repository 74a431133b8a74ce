/* Generated code addresses these fields by offset (compiler/codegen). */
#include "runtime/kernel.h"

_Static_assert(offsetof(kiln_args, tensor) == 0, "kernel ABI");
_Static_assert(offsetof(kiln_args, workspace) == sizeof(void *), "kernel ABI");
_Static_assert(offsetof(kiln_ctx, parallel_for) == 0, "kernel ABI");
_Static_assert(offsetof(kiln_ctx, scratch) == sizeof(void *), "kernel ABI");
_Static_assert(sizeof(int) == 4, "a kernel returns 32 bits");
