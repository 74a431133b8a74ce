/* Fuzz target: schedules as text, of a small product. Whatever is taken must lower, or be
 * refused by name; what lowers verifies. */
#include "compiler/schedule/schedule.h"
#include "tests/fuzz/fuzz.h"

static const char product[] =
    "x[i0: 8, k: 6] : f32\n"
    "w[k: 6, i1: 4] : f32\n"
    "scaled[i0: 8, k: 6] : f32 = x[i0, k]*2f\n"
    "out c[i0: 8, i1: 4] : f32 = sum(k: 6) scaled[i0, k]*w[k, i1]\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_arena arena = {0};
    kiln_err err = {0};
    const kiln_te **out = NULL, *arg[3];
    size_t n = 0;
    kiln_program *p = NULL;
    const kiln_status st =
        kiln_te_parse(&arena, kiln_str_from(product), "product", &out, &n, &err);
    KILN_ASSERT(st == KILN_OK, "the product must parse: %s", err.text);
    const kiln_te *scaled = out[0]->in[0]->n_in > 0 ? out[0]->in[0] : out[0]->in[1];
    arg[0] = scaled->in[0];
    arg[1] = out[0]->in[0] == scaled ? out[0]->in[1] : out[0]->in[0];
    arg[2] = out[0];
    kiln_schedule *s = kiln_schedule_new(&arena, out, n);
    const kiln_str text = {(const char *)data, size};
    if (kiln_schedule_read(s, text, "fuzz", &err) == KILN_OK &&
        kiln_lower(&arena, s, arg, 3, 2, "p", &p, &err) == KILN_OK) {
        const kiln_status verified = kiln_program_verify(p, &err);
        KILN_ASSERT(verified == KILN_OK, "what lowers must verify: %s", err.text);
    }
    kiln_arena_fini(&arena);
    return 0;
}
