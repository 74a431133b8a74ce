/* Programs that pack, compiled for this machine and run. */
#include "pipeline/kernels/pack.h"

#include "compiler/codegen/codegen.h"
#include "runtime/loader.h"

#include <string.h>

static const char pack_name[] = "kiln_pack";

typedef struct code {
    kiln_kernel_fn *fn;
    size_t workspace_bytes, scratch_bytes;
} code;

struct kiln_packer {
    kiln_arena *arena;
    bool has_profile;
    kiln_profile profile; /* of this machine */
    kiln_map code;        /* type's text -> code */
};

kiln_packer *kiln_packer_new(kiln_arena *a) {
    kiln_packer *p = kiln_new(a, kiln_packer);
    p->arena = a;
    return p;
}

static void close_code(void *of) { kiln_code_close(of); }

static kiln_status load(kiln_packer *p, const kiln_object *o, kiln_kernel_fn **out,
                        kiln_err *err) {
    kiln_code *own = NULL;
    char text[KILN_LOAD_TEXT] = "";
    if (kiln_code_open(o->bytes.p, o->bytes.n, &own, text) != KILN_LOAD_OK)
        return kiln_fail(err, KILN_ERR_LIB, "what packs cannot be loaded: %s", text);
    kiln_arena_defer(p->arena, close_code, own);
    *out = kiln_code_kernel(own, pack_name);
    KILN_ASSERT(*out != NULL, "an object has no function '%s'", pack_name);
    return KILN_OK;
}

static kiln_status make(kiln_packer *p, kiln_arena *scratch, const kiln_type *t,
                        code *out, kiln_err *err) {
    kiln_program *program = NULL;
    kiln_object object;
    if (!p->has_profile)
        KILN_TRY(kiln_profile_detect(p->arena, &p->profile, err));
    p->has_profile = true;
    KILN_TRY(kiln_pack_program(scratch, t, &p->profile, pack_name, &program, err));
    KILN_TRY(kiln_codegen(scratch, program, &p->profile, NULL, &object, NULL, err));
    KILN_TRY(kiln_object_check(object.bytes, err));
    KILN_TRY(load(p, &object, &out->fn, err));
    out->workspace_bytes = object.workspace_bytes;
    out->scratch_bytes = object.scratch_bytes;
    return KILN_OK;
}

static kiln_status find(kiln_packer *p, kiln_arena *scratch, const kiln_type *t,
                        const code **out, kiln_err *err) {
    const char *key = kiln_type_text(scratch, t);
    code *c = kiln_map_get(&p->code, kiln_str_from(key));
    if (c == NULL) {
        c = kiln_new(p->arena, code);
        KILN_TRY(make(p, scratch, t, c, err));
        kiln_map_set(p->arena, &p->code, kiln_str_from(kiln_str_dup(p->arena, key)), c);
    }
    *out = c;
    return KILN_OK;
}

/* 64-byte aligned, as kernels take them: a model's file has them anywhere. */
static void *aligned(kiln_arena *scratch, const void *plain, size_t bytes) {
    if ((uintptr_t)plain % 64 == 0)
        return (void *)(uintptr_t)plain;
    void *copy = kiln_arena_alloc_raw(scratch, bytes + 64);
    memcpy(copy, plain, bytes);
    return copy;
}

static kiln_status run(kiln_packer *p, kiln_arena *scratch, const kiln_type *t,
                       const void *plain, void *packed, kiln_err *err) {
    const kiln_type from = kiln_type_make(t->dtype, t->rank, t->dim);
    const code *c = NULL;
    kiln_ctx ctx;
    KILN_TRY(find(p, scratch, t, &c, err));
    void *tensor[] = {aligned(scratch, plain, (size_t)kiln_type_bytes(&from)), packed};
    const kiln_args args = {.tensor = tensor,
                            .workspace =
                                kiln_arena_alloc_raw(scratch, c->workspace_bytes + 64)};
    kiln_ctx_init_serial(&ctx, kiln_arena_alloc_raw(scratch, c->scratch_bytes + 64));
    const int result = c->fn(&args, &ctx);
    return result == 0 ? KILN_OK
                       : kiln_fail(err, KILN_ERR_BUG, "packing as %s ended with %d",
                                   kiln_type_text(scratch, t), result);
}

kiln_status kiln_packer_run(kiln_packer *p, const kiln_type *t, const void *plain,
                            void *packed, kiln_err *err) {
    if (kiln_type_elems(t) == 0)
        return KILN_OK; /* an empty axis has no blocks: nothing is stored */
    if (!kiln_pack_computes(t)) {
        kiln_layout_pack(t, plain, packed);
        return KILN_OK;
    }
    kiln_arena scratch = {0};
    const kiln_status st = run(p, &scratch, t, plain, packed, err);
    kiln_arena_fini(&scratch);
    return st;
}
