/* Objects made callable in this process, and memory between canaries. */
#include "pipeline/kernels/kernels_internal.h"

#include <string.h>

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

kiln_status kiln_kernel_load(kiln_arena *a, const kiln_profile *p, const kiln_kernel *k,
                             kiln_kernel_fn **out, kiln_err *err) {
    KILN_TRY(kiln_runs_here(p, err));
    return kiln_object_load(a, &k->object, k->program->name, out, err);
}

/* Pages on both sides: what is written far beside a buffer is seen too, and every
 * buffer starts at the same place of its page. */
enum { CANARY = 0xC3 };
static const size_t page = 4096;

static size_t room_of(size_t bytes) { return (bytes + page - 1) / page * page; }

kiln_guarded kiln_guarded_new(kiln_arena *a, size_t bytes) {
    const size_t room = room_of(bytes) + 2 * page;
    unsigned char *raw = kiln_arena_alloc_raw(a, room + page);
    unsigned char *whole = raw + (page - (uintptr_t)raw % page) % page;
    memset(whole, CANARY, page);
    memset(whole + page + bytes, CANARY, room - page - bytes);
    return (kiln_guarded){.whole = whole, .data = whole + page, .bytes = bytes};
}

bool kiln_guarded_broken(const kiln_guarded *g, int64_t *at) {
    const size_t room = room_of(g->bytes) + 2 * page;
    for (size_t i = page; i-- > 0;)
        if (g->whole[i] != CANARY) {
            *at = (int64_t)i - (int64_t)page;
            return true;
        }
    for (size_t i = page + g->bytes; i < room; i++)
        if (g->whole[i] != CANARY) {
            *at = (int64_t)i - (int64_t)page;
            return true;
        }
    return false;
}
