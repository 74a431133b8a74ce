/* Programs that pack, compiled for this machine, and run by a process of their own: what
 * is generated does not run here. */
#include "pipeline/kernels/kernels_pack.h"

#include "pipeline/talk/apart.h"

#include <string.h>

static const char pack_name[] = "kiln_pack";
static const int64_t default_limit_ms = 600000;

/* Compiled once; of each batch it is a number. */
typedef struct code {
    kiln_object object;
    uint64_t batch; /* that has it */
    uint32_t index; /* there */
} code;

/* What waits for the end of the batch. */
typedef struct waiting {
    kiln_packing packing;
    const char *name, *reader;
    unsigned char *packed;
    size_t bytes;
} waiting;

struct kiln_packer {
    kiln_arena *arena;
    kiln_packer_options o;
    bool has_profile;
    kiln_profile profile; /* of this machine */
    kiln_map code;        /* packing's text -> code */
    kiln_apart *apart;
    kiln_arena batch; /* of these: */
    uint64_t n_batches;
    KILN_VEC(waiting) waiting;
    KILN_VEC(kiln_wire_packer) packer;
    KILN_VEC(kiln_wire_constant) constant;
};

static void release(void *packer) { kiln_arena_fini(&((kiln_packer *)packer)->batch); }

kiln_packer *kiln_packer_new(kiln_arena *a, const kiln_packer_options *o) {
    kiln_packer *p = kiln_new(a, kiln_packer);
    p->arena = a;
    if (o != NULL)
        p->o = *o;
    const kiln_apart_options own = {.argv = p->o.argv};
    p->apart = kiln_apart_new(a, &own);
    kiln_arena_defer(a, release, p);
    return p;
}

/* ---- code ------------------------------------------------------------------------ */

static kiln_status make(kiln_packer *p, kiln_arena *scratch, const kiln_packing *k,
                        code *out, kiln_err *err) {
    kiln_program *program = NULL;
    kiln_object object;
    if (!p->has_profile)
        KILN_TRY(kiln_profile_detect(p->arena, &p->profile, err));
    p->has_profile = true;
    KILN_TRY(kiln_pack_program(scratch, k, &p->profile, pack_name, &program, err));
    KILN_TRY(kiln_codegen(scratch, program, &p->profile, NULL, &object, NULL, err));
    KILN_TRY(kiln_object_check(object.bytes, err));
    if (p->o.compiled != NULL)
        p->o.compiled(p->o.user, &object);
    out->object = object;
    out->object.bytes.p = kiln_arena_dup(p->arena, object.bytes.p, object.bytes.n);
    return KILN_OK;
}

static kiln_status find(kiln_packer *p, const kiln_packing *k, code **out,
                        kiln_err *err) {
    kiln_arena scratch = {0};
    const char *key = kiln_packing_text(&scratch, k);
    kiln_status st = KILN_OK;
    code *c = kiln_map_get(&p->code, kiln_str_from(key));
    if (c == NULL) {
        c = kiln_new(p->arena, code);
        st = make(p, &scratch, k, c, err);
        if (st == KILN_OK)
            kiln_map_set(p->arena, &p->code, kiln_str_from(kiln_str_dup(p->arena, key)),
                         c);
    }
    kiln_arena_fini(&scratch);
    *out = c;
    return st;
}

/* ---- a batch --------------------------------------------------------------------- */

static void forget(kiln_packer *p) {
    kiln_arena_reset(&p->batch);
    p->waiting.n = p->waiting.cap = 0;
    p->packer.n = p->packer.cap = 0;
    p->constant.n = p->constant.cap = 0;
    p->waiting.v = NULL;
    p->packer.v = NULL;
    p->constant.v = NULL;
}

static kiln_status put_code(kiln_packer *p, code *c, kiln_err *err) {
    kiln_wire_packer k = {.function = {.symbol = kiln_str_from(pack_name)},
                          .workspace_bytes = c->object.workspace_bytes,
                          .scratch_bytes = c->object.scratch_bytes};
    if (c->batch == p->n_batches)
        return KILN_OK;
    KILN_TRY(kiln_apart_put(p->apart, c->object.bytes.p, c->object.bytes.n,
                            &k.function.object, err));
    c->batch = p->n_batches;
    c->index = (uint32_t)p->packer.n;
    kiln_vec_push(&p->batch, &p->packer, k);
    return KILN_OK;
}

static kiln_status put(kiln_packer *p, const waiting *w, const void *plain,
                       kiln_err *err) {
    const kiln_type *from = &w->packing.from;
    code *c = NULL;
    if (w->bytes > KILN_WIRE_MAX_BLOB_BYTES)
        return kiln_fail(err, KILN_ERR_LIMIT, "%zu bytes; at most %llu are packed",
                         w->bytes, (unsigned long long)KILN_WIRE_MAX_BLOB_BYTES);
    KILN_TRY(find(p, &w->packing, &c, err));
    if (p->constant.n == 0) {
        KILN_TRY(kiln_apart_begin(p->apart, err));
        p->n_batches++;
    }
    KILN_TRY(put_code(p, c, err));
    kiln_wire_constant k = {.packer = c->index, .bytes = w->bytes};
    KILN_TRY(
        kiln_apart_put(p->apart, plain, (size_t)kiln_type_bytes(from), &k.from, err));
    kiln_vec_push(&p->batch, &p->constant, k);
    kiln_vec_push(&p->batch, &p->waiting, *w);
    return KILN_OK;
}

static kiln_status failed(kiln_packer *p, const waiting *w, kiln_status st,
                          kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_note(
        err,
        "packing constant '%s'%s%s%s as %s, which 'kiln build --pack open' leaves "
        "to whoever opens the model",
        w->name, w->reader != NULL ? " of node '" : "",
        w->reader != NULL ? w->reader : "", w->reader != NULL ? "'" : "",
        kiln_type_text(&scratch, &w->packing.to));
    kiln_arena_fini(&scratch);
    forget(p);
    return st;
}

kiln_status kiln_packer_add(kiln_packer *p, const kiln_packing *k, const char *name,
                            const char *reader, const void *plain, void *packed,
                            kiln_err *err) {
    if (kiln_type_elems(&k->to) == 0)
        return KILN_OK; /* an empty axis has no blocks: nothing is stored */
    if (k->by == NULL) {
        kiln_layout_pack(&k->to, plain, packed);
        return KILN_OK;
    }
    const waiting w = {.packing = *k,
                       .name = name,
                       .reader = reader,
                       .packed = packed,
                       .bytes = (size_t)kiln_type_bytes(&k->to)};
    const kiln_status st = put(p, &w, plain, err);
    return st == KILN_OK ? KILN_OK : failed(p, &w, st, err);
}

static kiln_status receive(kiln_packer *p, const waiting *w, int64_t deadline_ns,
                           kiln_err *err) {
    for (size_t at = 0; at < w->bytes;) {
        const size_t left = w->bytes - at;
        kiln_wire_told told;
        KILN_TRY(kiln_apart_receive(p->apart, deadline_ns, &told, err));
        if (told.data.n !=
            (left < KILN_WIRE_PIECE_BYTES ? left : (size_t)KILN_WIRE_PIECE_BYTES))
            return kiln_apart_refuse(p->apart, "told another number of bytes", err);
        memcpy(w->packed + at, told.data.p, told.data.n);
        at += told.data.n;
    }
    return KILN_OK;
}

kiln_status kiln_packer_finish(kiln_packer *p, kiln_err *err) {
    const int64_t ms = p->o.limit_ms > 0 ? p->o.limit_ms : default_limit_ms;
    const int64_t deadline_ns = kiln_now_ns() + ms * 1000000;
    const kiln_wire_packs q = {.n_packers = (uint32_t)p->packer.n,
                               .packer = p->packer.v,
                               .n_constants = (uint32_t)p->constant.n,
                               .constant = p->constant.v,
                               .data_limit_bytes = p->o.data_limit_bytes};
    if (p->constant.n == 0)
        return KILN_OK;
    if (p->constant.n > KILN_WIRE_MAX_CONSTANTS)
        return kiln_fail(err, KILN_ERR_LIMIT, "at most %d constants, not %zu",
                         KILN_WIRE_MAX_CONSTANTS, p->constant.n);
    KILN_ASSERT(p->waiting.n == p->constant.n, "%zu constants wait, %zu are asked for",
                p->waiting.n, p->constant.n);
    const waiting *w = p->waiting.v;
    kiln_status st = kiln_apart_send(p->apart, KILN_WIRE_PACKS, &q, deadline_ns, err);
    for (size_t i = 0; i < p->waiting.n && st == KILN_OK; i++) {
        w = &p->waiting.v[i];
        st = receive(p, w, deadline_ns, err);
    }
    kiln_apart_ended(p->apart);
    if (st != KILN_OK)
        return failed(p, w, st, err);
    forget(p);
    return KILN_OK;
}
