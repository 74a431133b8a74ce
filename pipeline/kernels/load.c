/* Objects made callable in this process. */
#include "pipeline/kernels/kernels_internal.h"

static void close_code(void *code) { kiln_code_close(code); }

kiln_status kiln_object_load(kiln_arena *a, const kiln_object *o, const char *name,
                             kiln_kernel_fn **out, kiln_err *err) {
    KILN_ASSERT(o->bytes.n > 0, "the object of kernel '%s' is empty", name);
    kiln_code *code = NULL;
    char text[KILN_LOAD_TEXT] = "";
    if (kiln_code_open(o->bytes.p, o->bytes.n, &code, text) != KILN_LOAD_OK)
        return kiln_fail(err, KILN_ERR_LIB, "kernel '%s' cannot be loaded: %s", name,
                         text);
    kiln_arena_defer(a, close_code, code);
    kiln_kernel_fn *fn = kiln_code_kernel(code, name);
    KILN_ASSERT(fn != NULL, "the object of kernel '%s' has no such function", name);
    *out = fn;
    return KILN_OK;
}
