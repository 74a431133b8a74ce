/* Packing into a type's layout and back: every element where the layout says, tail
 * lanes zero. The place of an element is worked out here from its logical indexes, one
 * element at a time. */
#include <string.h>

#include "compiler/graph/graph.h"
#include "tests/support/kiln_test.h"
#include "tests/support/graph/random_layout.h"

enum { ROUNDS = 400, MAX_PHYSICAL = KILN_MAX_RANK + KILN_MAX_BLOCKS };

/* What the blocks of `axis` from block `from` on hold. */
static int64_t held(const kiln_layout *l, int axis, int from) {
    int64_t n = 1;
    for (int b = from; b < l->n_blocks; b++)
        if (l->block[b].axis == axis)
            n *= l->block[b].size;
    return n;
}

static int64_t place_of(const kiln_type *t, const int64_t *coord) {
    const kiln_layout *l = &t->layout;
    int64_t at = 0;
    for (int i = 0; i < t->rank; i++) {
        const int axis = l->n_order == 0 ? i : l->order[i];
        const int64_t n = held(l, axis, 0);
        at = at * ((t->dim[axis] + n - 1) / n) + coord[axis] / n;
    }
    for (int b = 0; b < l->n_blocks; b++) {
        const int axis = l->block[b].axis;
        at = at * l->block[b].size +
             coord[axis] / held(l, axis, b + 1) % l->block[b].size;
    }
    return at;
}

static void check_type(kiln_arena *a, const kiln_type *t) {
    const size_t bytes = kiln_dtype_bytes(t->dtype);
    const size_t n = (size_t)kiln_type_elems(t), stored = (size_t)kiln_type_bytes(t);
    unsigned char *plain = kiln_arena_alloc(a, n * bytes + 1);
    unsigned char *back = kiln_arena_alloc(a, n * bytes + 1);
    unsigned char *packed = kiln_arena_alloc(a, stored + 1);
    unsigned char *want = kiln_arena_alloc(a, stored + 1);
    for (size_t i = 0; i < n * bytes; i++)
        plain[i] = (unsigned char)(i * 37 + i / 251 + 1);
    memset(packed, 0xA5, stored + 1);
    memset(want, 0, stored);
    want[stored] = 0xA5; /* nothing is written past the end */
    int64_t coord[KILN_MAX_RANK] = {0};
    for (size_t i = 0; i < n; i++) {
        memcpy(want + (size_t)place_of(t, coord) * bytes, plain + i * bytes, bytes);
        for (int axis = t->rank - 1; axis >= 0; axis--) {
            if (++coord[axis] < t->dim[axis])
                break;
            coord[axis] = 0;
        }
    }
    kiln_layout_pack(t, plain, packed);
    if (memcmp(packed, want, stored + 1) != 0)
        fail_msg("%s is packed wrongly", kiln_type_text(a, t));
    kiln_layout_unpack(t, packed, back);
    if (memcmp(back, plain, n * bytes + 1) != 0)
        fail_msg("%s does not come back", kiln_type_text(a, t));
}

static void packs_as_layouts_say(void **state) {
    (void)state;
    static const kiln_dtype dtypes[] = {KILN_F32, KILN_BF16, KILN_I8, KILN_F64};
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int round = 0; round < ROUNDS; round++) {
        kiln_arena a;
        kiln_arena_init(&a);
        int64_t dim[KILN_MAX_RANK];
        const int rank = (int)kiln_rng_range(&rng, 0, 5);
        for (int i = 0; i < rank; i++)
            dim[i] = kiln_rng_range(&rng, 0, 40) == 0 ? 0 : kiln_rng_range(&rng, 1, 7);
        kiln_type t = kiln_type_make(dtypes[round % 4], rank, dim);
        t.layout = random_layout(&rng, rank);
        check_type(&a, &t);
        kiln_arena_fini(&a);
    }
}

typedef struct text_row {
    const char *name, *type;
} text_row;

static text_row rows[] = {
    {"packs_channels_in_blocks", "f32[1,20,5,3]{block=1x16}"},
    {"packs_weights_in_two_blocks", "f32[20,17,3,3]{block=1x16,0x16}"},
    {"packs_channels_last", "i8[2,3,5,7]{order=0231}"},
    {"packs_pairs_for_dot_products", "bf16[9,6]{block=1x4,0x8,1x2}"},
    {"packs_a_scalar", "f64[]"},
    {"packs_eight_axes", "f16[2,3,1,2,1,2,1,3]{order=76543210,block=1x2,7x2}"},
    {"packs_nothing", "f32[0,20]{block=1x16}"},
};

static void packs_row(void **state) {
    const text_row *r = *state;
    kiln_str rest = kiln_str_from(r->type);
    kiln_type t;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_type_parse(&rest, &t, &err), &err);
    check_type(kiln_test_arena(), &t);
}

/* ---- equal places ---------------------------------------------------------------- */

/* The elements of memory in order: 1 + row-major index, 0 for a tail lane. */
static const int32_t *places_of(kiln_arena *a, const kiln_type *t) {
    kiln_type as = *t;
    as.dtype = KILN_I32;
    const int64_t n = kiln_type_elems(&as);
    int32_t *number = kiln_array(a, int32_t, n + 1);
    int32_t *packed = kiln_arena_alloc(a, (size_t)kiln_type_bytes(&as) + 4);
    for (int64_t i = 0; i < n; i++)
        number[i] = (int32_t)i + 1;
    kiln_layout_pack(&as, number, packed);
    return packed;
}

static bool have_same_places(kiln_arena *a, const kiln_type *x, const kiln_type *y) {
    return kiln_type_bytes(x) == kiln_type_bytes(y) &&
           memcmp(places_of(a, x), places_of(a, y),
                  (size_t)kiln_type_bytes(x) / kiln_dtype_bytes(x->dtype) * 4) == 0;
}

/* Random pairs of layouts of one shape, and of a shape with two neighbours as one. */
static void tells_equal_places(void **state) {
    (void)state;
    kiln_rng rng;
    int n_same = 0, n_missed = 0;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int round = 0; round < 20 * ROUNDS; round++) {
        kiln_arena a;
        kiln_arena_init(&a);
        int64_t dim[4];
        for (int i = 0; i < 4; i++)
            dim[i] = kiln_rng_range(&rng, 1, 5);
        kiln_type x = kiln_type_make(KILN_F32, 4, dim), y = x;
        if (kiln_rng_range(&rng, 0, 2) == 0) {
            const int64_t joined[3] = {dim[0], dim[1], dim[2] * dim[3]};
            y = kiln_type_make(KILN_F32, 3, joined);
        }
        if (kiln_rng_range(&rng, 0, 3) > 0)
            x.layout = random_layout(&rng, x.rank);
        if (kiln_rng_range(&rng, 0, 3) > 0)
            y.layout = random_layout(&rng, y.rank);
        const bool same = have_same_places(&a, &x, &y);
        if (kiln_type_same_places(&x, &y) && !same)
            fail_msg("%s does not lie as %s (seed %llu, round %d)",
                     kiln_type_text(&a, &x), kiln_type_text(&a, &y),
                     (unsigned long long)kiln_test_seed(), round);
        n_same += same;
        n_missed += same && !kiln_type_same_places(&x, &y);
        kiln_arena_fini(&a);
    }
    /* What is called different though it is not costs a copy: in corners only, such as
     * a block longer than its axis. */
    print_message("%d equal, %d of them not seen\n", n_same, n_missed);
    assert_true(n_same > ROUNDS);
    assert_true(n_missed * 10 < n_same);
}

int main(void) {
    kiln_test_add_rows(packs_row, rows);
    kiln_test_add("packs_as_layouts_say", packs_as_layouts_say, NULL);
    kiln_test_add("tells_equal_places", tells_equal_places, NULL);
    return kiln_test_run("layout");
}
