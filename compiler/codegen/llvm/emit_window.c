/* Vectors whose lanes lie anywhere in a short window: rows of a table of places, which
 * a linear resize reads its row at, or a table of a few numbers.
 *
 *     x[x16(base) + max(min(at[ramp(i, 1, 16)], x16(31)), x16(0))]
 *
 * The window is what the clamp lets through, so all of it may be read. It is loaded as
 * vectors, which the lanes of other rows and taps share, and the machine's permutation
 * by a vector of places picks the lanes out of one or two of these at a time; lane by
 * lane each would be a load, an insertion and an address of its own. Machines without
 * such a permutation, and windows that take more than a load for each lane, are left. */
#include "compiler/codegen/llvm/emit.h"

typedef struct window {
    const kiln_expr *base;  /* scalar: of element 0; NULL: 0 */
    const kiln_expr *place; /* lanes: what is clamped */
    int64_t low, high;      /* of the clamp */
    const char *one, *two;  /* permutations; two: NULL where there is none */
    int lanes, n;           /* of a vector; vectors */
} window;

/* ---- the index ------------------------------------------------------------------- */

/* max(min(place, high), low), or the other way round. */
static bool clamp_of(const kiln_expr *e, window *w) {
    const kiln_expr *in = e->arg[0];
    const bool is_max = e->kind == KILN_EXPR_MAX;
    if ((!is_max && e->kind != KILN_EXPR_MIN) || w->place != NULL ||
        in->kind != (is_max ? KILN_EXPR_MIN : KILN_EXPR_MAX) ||
        !kiln_x_is_int(e->arg[1], is_max ? &w->low : &w->high) ||
        !kiln_x_is_int(in->arg[1], is_max ? &w->high : &w->low))
        return false;
    w->place = in->arg[0];
    return w->low <= w->high;
}

/* A sum of what all lanes have in common and one clamp. */
static bool index_of(kiln_arena *a, const kiln_expr *e, window *w) {
    if (e->kind == KILN_EXPR_BROADCAST) {
        w->base = w->base == NULL ? e->arg[0] : kiln_x_add(a, w->base, e->arg[0]);
        return true;
    }
    if (e->kind == KILN_EXPR_ADD)
        return index_of(a, e->arg[0], w) && index_of(a, e->arg[1], w);
    return e->n_arg == 2 && clamp_of(e, w);
}

/* Vectors, permutations, and of more than one of these a comparison and a choice each,
 * against a load for each lane. */
static bool is_worth(const window *w) {
    const int picks = w->two != NULL ? (w->n + 1) / 2 : w->n;
    return w->n + picks + 2 * (picks - 1) <= w->lanes;
}

static bool find_machine(const kiln_cg *g, int lanes, window *w) {
    const kiln_arch_intrinsics *names = &kiln_arch_of(g->profile->arch)->intrinsics;
    const int bytes = 4 * lanes;
    if (bytes > g->profile->vector_bytes)
        return false;
    for (int i = 0; i < KILN_N_WIDTHS; i++)
        if (bytes == 16 << i) {
            w->one = names->permute[i];
            w->two = names->permute2[i];
        }
    return w->one != NULL;
}

static bool window_of(kiln_cg *g, const kiln_expr *e, window *out) {
    const bool is_word =
        e->dtype == KILN_F32 || e->dtype == KILN_I32 || e->dtype == KILN_U32;
    window w = {.lanes = e->lanes};
    if (!is_word || e->n_arg != 1 || e->u.load.mask != NULL ||
        !find_machine(g, e->lanes, &w) || !index_of(g->arena, e->arg[0], &w) ||
        w.place == NULL || w.high - w.low >= (int64_t)w.lanes * w.lanes)
        return false;
    w.n = (int)((w.high - w.low) / w.lanes) + 1;
    *out = w;
    return is_worth(&w);
}

/* ---- code ------------------------------------------------------------------------ */

static bool fits_i32(int64_t v) { return v >= INT32_MIN && v <= INT32_MAX; }

static LLVMValueRef extreme(kiln_cg *g, const char *name, LLVMValueRef x, int64_t y,
                            int lanes) {
    LLVMTypeRef t = LLVMTypeOf(x);
    LLVMValueRef arg[2] = {x, kiln_cg_int(g, LLVMGetElementType(t), y, lanes)};
    return kiln_cg_intrinsic(g, name, &t, 1, arg, 2);
}

/* Places in the window as 32-bit numbers; those that are such are clamped as such. */
static LLVMValueRef places(kiln_cg *g, const window *w) {
    const kiln_expr *e = w->place;
    if (e->kind == KILN_EXPR_CAST && e->arg[0]->dtype == KILN_I32 && fits_i32(w->low) &&
        fits_i32(w->high))
        e = e->arg[0];
    LLVMValueRef v = kiln_cg_expr(g, e, NULL);
    const LLVMTypeRef t = LLVMGetElementType(LLVMTypeOf(v));
    v = extreme(g, "llvm.smax", extreme(g, "llvm.smin", v, w->high, w->lanes), w->low,
                w->lanes);
    v = LLVMBuildSub(g->b, v, kiln_cg_int(g, t, w->low, w->lanes), "");
    return t == g->i32 ? v
                       : LLVMBuildTrunc(g->b, v,
                                        LLVMVectorType(g->i32, (unsigned)w->lanes), "");
}

/* Vector i of the window as numbers of f32; of the last one only what belongs to it. */
static LLVMValueRef part(kiln_cg *g, const kiln_expr *e, const window *w, int i) {
    kiln_arena *a = g->arena;
    const int64_t begin = w->low + (int64_t)i * w->lanes;
    const kiln_expr *at = kiln_x_index(a, begin), *mask = NULL;
    if (w->base != NULL)
        at = kiln_x_add(a, w->base, at);
    at = kiln_x_ramp(a, at, kiln_x_index(a, 1), w->lanes);
    if (begin + w->lanes - 1 > w->high)
        mask = kiln_x_less(
            a, kiln_x_ramp(a, kiln_x_index(a, begin), kiln_x_index(a, 1), w->lanes),
            kiln_x_broadcast(a, kiln_x_index(a, w->high + 1), w->lanes));
    const LLVMValueRef v =
        kiln_cg_expr(g, kiln_x_load(a, e->u.load.buffer, &at, 1, mask), NULL);

    return LLVMBuildBitCast(g->b, v, LLVMVectorType(g->f32, (unsigned)w->lanes), "");
}

/* Lanes of the vectors from i on: of two where the machine can. */
static LLVMValueRef picked(kiln_cg *g, const kiln_expr *e, const window *w,
                           LLVMValueRef at, int i) {
    LLVMValueRef arg[3] = {part(g, e, w, i), at, NULL};
    if (w->two == NULL || i + 1 == w->n)
        return kiln_cg_intrinsic(g, w->one, NULL, 0, arg, 2);
    arg[2] = part(g, e, w, i + 1);
    return kiln_cg_intrinsic(g, w->two, NULL, 0, arg, 3);
}

LLVMValueRef kiln_cg_load_window(kiln_cg *g, const kiln_expr *e) {
    window w;
    if (!window_of(g, e, &w))
        return NULL;
    const LLVMValueRef at = places(g, &w);
    const LLVMTypeRef t = kiln_cg_vector(kiln_cg_value_type(g, e->dtype), e->lanes);
    LLVMValueRef out = picked(g, e, &w, at, 0);
    const int step = w.two != NULL ? 2 : 1;
    for (int i = step; i < w.n; i += step) {
        const LLVMValueRef here =
            LLVMBuildICmp(g->b, LLVMIntSGE, at,
                          kiln_cg_int(g, g->i32, (int64_t)i * w.lanes, w.lanes), "");
        out = LLVMBuildSelect(g->b, here, picked(g, e, &w, at, i), out, "");
    }
    return LLVMBuildBitCast(g->b, out, t, "");
}
