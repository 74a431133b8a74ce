/* Outputs held against what the reference expects, element by element. */
#include "pipeline/kernels/kernels_compare.h"

#include <inttypes.h>
#include <math.h>

typedef struct checker {
    kiln_arena *arena;
    kiln_verdict *verdict;
} checker;

/* Only the first problem is told. */
#define problem(c, ...)                                                                \
    do {                                                                               \
        if ((c)->verdict->ok)                                                          \
            (c)->verdict->problem = kiln_format((c)->arena, __VA_ARGS__);              \
        (c)->verdict->ok = false;                                                      \
    } while (0)

/* Element i, the j-th of those expected. */
static void check_element(checker *c, const kiln_expected *want, int64_t i, int64_t j,
                          double got, const char *name) {
    const double w = want->value[j], bound = want->bound != NULL ? want->bound[j] : 0;
    const bool is_same = (isnan(w) && isnan(got)) || got == w;
    const double off = fabs(got - w);
    c->verdict->n_checked++;
    if (is_same)
        return;
    if (!(off <= c->verdict->max_abs))
        c->verdict->max_abs = off;
    if (!(off <= bound)) /* NaN too */
        problem(c, "output '%s' element %" PRId64 " is %.9g, must be %.9g within %.3g",
                name, i, got, w, bound);
    const double ratio = bound > 0 ? off / bound : HUGE_VAL;
    if (!(ratio <= c->verdict->worst))
        c->verdict->worst = ratio;
}

/* Elements [begin, end) of what was got; those expected from the j-th on may be among
 * them. Others must have been written at least. */
static int64_t check_slice(checker *c, const kiln_expected *want, const kiln_wide *got,
                           int64_t begin, int64_t end, int64_t j, const char *name) {
    const bool is_u64 = got->type.dtype == KILN_U64;
    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        const double value = got->f != NULL ? got->f[k]
                             : is_u64       ? (double)(uint64_t)got->i[k]
                                            : (double)got->i[k];
        const bool is_chosen =
            want->pick == NULL || (j < want->n_pick && want->pick[j] == i);
        if (is_chosen)
            check_element(c, want, i, j++, value, name);
        else if (isnan(value))
            problem(c, "output '%s' element %" PRId64 " is NaN", name, i);
    }
    return j;
}

/* By slices that stay in the cache. */
static void check_elements(checker *c, const kiln_expected *want,
                           const kiln_tensor *got, const char *name) {
    enum { SLICE = 4096 };
    const kiln_dtype dtype = got->type.dtype;
    const int64_t n = want->n_elems, most = SLICE;
    const kiln_type longest = kiln_type_make(dtype, 1, &most);
    kiln_wide w = kiln_wide_new(c->arena, &longest);
    for (int64_t begin = 0, j = 0; begin < n; begin += SLICE) {
        const int64_t end = n - begin < SLICE ? n : begin + SLICE, length = end - begin;
        w.type = kiln_type_make(dtype, 1, &length);
        kiln_widen(&w.type,
                   (const char *)got->data + (size_t)begin * kiln_dtype_bytes(dtype),
                   &w);
        j = check_slice(c, want, &w, begin, end, j, name);
    }
    c->verdict->n_elems += n;
}

void kiln_expected_compare(kiln_arena *a, const kiln_expected *want,
                           const kiln_tensor *got, const char *name,
                           kiln_verdict *out) {
    checker c = {.arena = a, .verdict = out};
    check_elements(&c, want, got, name);
}
