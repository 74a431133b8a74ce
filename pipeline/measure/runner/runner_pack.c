/* Constants packed by code that kiln made, in a process of their own (guest_linux.c): one
 * after the other, each sent off before the next is begun, so that whoever waits for
 * them knows which one was the last. */
#include "pipeline/measure/runner/runner_internal.h"

#include <string.h>
#include <sys/mman.h>

typedef struct packer {
    kiln_kernel_fn *fn;
    kiln_region workspace, scratch;
} packer;

typedef struct packs {
    kiln_guest *g;
    kiln_arena arena;
    kiln_wire_packs q;
    packer *packer;
} packs;

static kiln_status load(packs *p, uint32_t i, kiln_err *err) {
    const kiln_wire_packer *from = &p->q.packer[i];
    packer *to = &p->packer[i];
    KILN_TRY(kiln_guest_load(p->g, &p->arena, &from->function, &to->fn, err));
    if (to->fn == NULL)
        return kiln_fail(err, KILN_ERR_LIB, "there is no function '%.*s'",
                         KILN_STR_ARG(from->function.symbol));
    KILN_TRY(
        kiln_region_open((size_t)from->workspace_bytes, false, &to->workspace, err));
    return kiln_region_open((size_t)from->scratch_bytes, false, &to->scratch, err);
}

static kiln_status open_all(packs *p, kiln_err *err) {
    const kiln_wire_frame *f = p->g->request;
    KILN_TRY(kiln_wire_get(&p->arena, f, &p->q, err));
    KILN_TRY(kiln_guest_limit(p->g, p->q.data_limit_bytes, false, err));
    p->packer = kiln_array(&p->arena, packer, p->q.n_packers);
    for (uint32_t i = 0; i < p->q.n_packers; i++)
        KILN_TRY(load(p, i, err));
    return kiln_guest_close_in(p->g, err);
}

static kiln_status send_all(const packs *p, kiln_arena *a, const unsigned char *data,
                            size_t bytes, kiln_err *err) {
    for (size_t at = 0; at < bytes;) {
        const size_t left = bytes - at;
        const size_t n = left < KILN_WIRE_PIECE_BYTES ? left : KILN_WIRE_PIECE_BYTES;
        const kiln_wire_told told = {.problem = KILN_STR_LIT(""),
                                     .data = {(const char *)data + at, n}};
        KILN_TRY(kiln_guest_answer(p->g, a, KILN_OK, NULL, &told, err));
        kiln_arena_reset(a);
        at += n;
    }
    return KILN_OK;
}

/* Between guards, which stop most of what would be written beside it. */
static kiln_status pack(const packs *p, const kiln_wire_constant *c,
                        const kiln_region *to, kiln_err *err) {
    const packer *by = &p->packer[c->packer];
    const void *from = NULL;
    kiln_ctx ctx;
    size_t at;
    KILN_TRY(kiln_guest_bytes(p->g, c->from, &from, err));
    void *tensor[2] = {NULL, to->data};
    memcpy(&tensor[0], &from, sizeof from); /* mapped read-only */
    const kiln_args args = {.tensor = tensor, .workspace = by->workspace.data};
    kiln_ctx_init_serial(&ctx, by->scratch.data);
    const int result = by->fn(&args, &ctx);
    if (result != 0)
        return kiln_fail(err, KILN_ERR_LIB, "it returned %d", result);
    if (kiln_region_is_broken(to, &at) || kiln_region_is_broken(&by->workspace, &at) ||
        kiln_region_is_broken(&by->scratch, &at))
        return kiln_fail(err, KILN_ERR_LIB, "it wrote beside its memory");
    return KILN_OK;
}

static kiln_status pack_one(const packs *p, kiln_arena *a, const kiln_wire_constant *c,
                            kiln_status *st, kiln_err *why, kiln_err *err) {
    kiln_region to = {.map = NULL};
    *st = kiln_region_open((size_t)c->bytes, false, &to, why);
    if (*st == KILN_OK)
        *st = pack(p, c, &to, why);
    const kiln_status sent = *st == KILN_OK
                                 ? send_all(p, a, to.data, to.bytes, err)
                                 : kiln_guest_answer(p->g, a, *st, why, NULL, err);
    kiln_region_close(&to);
    return sent;
}

kiln_status kiln_packs_serve(kiln_guest *g, kiln_err *err) {
    packs p = {.g = g};
    kiln_arena scratch = {0};
    kiln_err why = {.len = 0};
    kiln_status st = open_all(&p, &why);
    if (st != KILN_OK)
        return kiln_guest_answer(g, &scratch, st, &why, NULL, err);
    for (uint32_t i = 0; i < p.q.n_constants && st == KILN_OK; i++)
        KILN_TRY(pack_one(&p, &scratch, &p.q.constant[i], &st, &why, err));
    return KILN_OK; /* the memory goes with the process */
}
