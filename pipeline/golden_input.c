/* Golden inputs from a generator: counter-based, so that they can be made again in any
 * language.
 *
 * u(i, s) is kiln_counter_unit. uniform: lo + u * (hi - lo) in double, rounded once to
 * the dtype; int: lo + floor(u * (hi - lo + 1)); blocks (image-like): u mixes a coarse
 * 16x16 block pattern per channel with fine noise; const: one value.
 */
#include "pipeline/golden.h"

#include <math.h>
#include <string.h>

typedef enum kind { UNIFORM, INT, BLOCKS, CONST } kind;

typedef struct generator {
    kind kind;
    double lo, hi, value;
    uint32_t seed;
    bool is_nhwc;
} generator;

static kiln_status read_generator(const kiln_json *gen, generator *out, kiln_err *err) {
    static const char *const word[] = {"uniform", "int", "blocks", "const"};
    const char *name = kiln_json_string(kiln_json_get(gen, "kind"), "");
    int k = 0;
    while (k < 4 && strcmp(name, word[k]) != 0)
        k++;
    if (k == 4)
        return kiln_fail(
            err, KILN_ERR_UNSUPPORTED,
            "input generator '%s' is not known; known: uniform, int, blocks, "
            "const",
            name);
    const char *layout = kiln_json_string(kiln_json_get(gen, "layout"), "NCHW");
    *out = (generator){
        .kind = (kind)k,
        .lo = kiln_json_number(kiln_json_get(gen, "lo"), 0),
        .hi = kiln_json_number(kiln_json_get(gen, "hi"), 0),
        .value = kiln_json_number(kiln_json_get(gen, "value"), 0),
        .seed = (uint32_t)kiln_json_number(kiln_json_get(gen, "seed"), 0),
        .is_nhwc = strcmp(layout, "NHWC") == 0,
    };
    return KILN_OK;
}

static double unit(const generator *g, const kiln_type *t, int64_t i) {
    const double fine = kiln_counter_unit((uint32_t)i, g->seed);
    if (g->kind != BLOCKS)
        return fine;
    /* x, y, c from the last three axes; an axis that is not there counts as one
     * element. */
    int64_t dim[3] = {1, 1, 1};
    for (int k = 0; k < 3 && k < t->rank; k++)
        dim[2 - k] = t->dim[t->rank - 1 - k];
    const int64_t last = i % dim[2], middle = i / dim[2] % dim[1],
                  first = i / dim[2] / dim[1] % dim[0];
    const int64_t x = g->is_nhwc ? middle : last, y = g->is_nhwc ? first : middle,
                  c = g->is_nhwc ? last : first;
    const int64_t block = ((y >> 4) * 4096 + (x >> 4)) * 16 + c;
    return 0.75 * kiln_counter_unit((uint32_t)block, g->seed + 1) + 0.25 * fine;
}

kiln_status kiln_golden_generate(kiln_arena *a, const kiln_json *gen,
                                 const kiln_type *t, kiln_tensor *out, kiln_err *err) {
    generator g = {.kind = CONST};
    KILN_TRY(read_generator(gen, &g, err));
    kiln_wide w = kiln_wide_new(a, t);
    const int64_t n = kiln_type_elems(t);
    for (int64_t i = 0; i < n; i++) {
        double v = g.value;
        if (g.kind != CONST) {
            const double u = unit(&g, t, i);
            v = w.f == NULL || g.kind == INT ? g.lo + floor(u * (g.hi - g.lo + 1))
                                             : g.lo + u * (g.hi - g.lo);
        }
        if (w.f != NULL)
            w.f[i] = v;
        else
            w.i[i] = (int64_t)v;
    }
    *out = kiln_tensor_new(a, t);
    kiln_narrow(&w, out->data);
    return KILN_OK;
}

/* ---- states ------------------------------------------------------------------------ */

const char *kiln_golden_state_of(kiln_arena *a, const char *output) {
    const kiln_str name = kiln_str_from(output);
    const size_t n = sizeof KILN_STATE_SUFFIX - 1;
    return kiln_str_ends(name, KILN_STATE_SUFFIX)
               ? kiln_str_dupv(a, (kiln_str){name.p, name.n - n})
               : NULL;
}

bool kiln_golden_begins(const char *input, const char *const *output, size_t n) {
    const size_t own = strlen(input);
    for (size_t i = 0; i < n; i++)
        if (strncmp(output[i], input, own) == 0 &&
            strcmp(output[i] + own, KILN_STATE_SUFFIX) == 0)
            return true;
    return false;
}
