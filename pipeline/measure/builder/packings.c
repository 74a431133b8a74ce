/* Code that packs: the compiler's program for a constant, compiled for the machine that
 * candidates are measured on, or that has the device they are measured on. A search asks
 * for few of them, and for each often. */
#include "pipeline/measure/builder/builder_internal.h"

#include "compiler/codegen/codegen.h"

static const char function_name[] = "kiln_pack";

static kiln_status find_host(kiln_packings *p, kiln_err *err) {
    if (p->host != NULL)
        return KILN_OK;
    if (!kiln_profile_is_gpu(p->profile)) {
        p->host = p->profile;
        return KILN_OK;
    }
    const char *name = p->profile->host != NULL ? p->profile->host : "native";
    kiln_profile *host = kiln_new(p->arena, kiln_profile);
    KILN_TRY(kiln_profile_find(p->arena, name, host, err));
    p->host = host;
    return KILN_OK;
}

static kiln_status make(kiln_packings *p, kiln_arena *scratch, const kiln_packing *k,
                        kiln_wire_packing *out, kiln_err *err) {
    kiln_program *program = NULL;
    kiln_object object;
    KILN_TRY(find_host(p, err));
    KILN_TRY(kiln_pack_program(scratch, k, p->host, function_name, &program, err));
    KILN_TRY(kiln_codegen(scratch, program, p->host, NULL, &object, NULL, err));
    KILN_TRY(kiln_object_check(object.bytes, err));
    *out = (kiln_wire_packing){
        .object = {kiln_arena_dup(p->arena, object.bytes.p, object.bytes.n),
                   object.bytes.n},
        .name = kiln_str_from(function_name),
        .workspace_bytes = object.workspace_bytes,
        .scratch_bytes = object.scratch_bytes,
        .bytes = (uint64_t)kiln_type_bytes(&k->to)};
    return KILN_OK;
}

kiln_status kiln_packings_find(kiln_packings *p, const kiln_packing *k,
                               kiln_wire_packing *out, kiln_err *err) {
    kiln_arena scratch = {0};
    const char *key = kiln_packing_text(&scratch, k);
    kiln_wire_packing *known = kiln_map_get(&p->known, kiln_str_from(key));
    kiln_status st = KILN_OK;
    if (known == NULL) {
        kiln_wire_packing made = {.bytes = 0};
        st = make(p, &scratch, k, &made, err);
        if (st == KILN_OK) {
            known = kiln_arena_dup(p->arena, &made, sizeof made);
            kiln_map_set(p->arena, &p->known,
                         kiln_str_from(kiln_str_dup(p->arena, key)), known);
        }
    }
    if (known != NULL)
        *out = *known;
    kiln_arena_fini(&scratch);
    return st;
}
