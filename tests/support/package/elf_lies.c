#include "tests/support/package/elf_lies.h"

#include <string.h>

static kiln_load_status link_anywhere(const unsigned char *file, size_t n,
                                      char text[KILN_LOAD_TEXT]) {
    kiln_elf e;
    kiln_arena a;
    unsigned char *copy = test_malloc(n > 0 ? n : 1); /* reads beyond it are seen */
    if (n > 0)
        memcpy(copy, file, n);
    kiln_load_status st = kiln_elf_open(&e, copy, n, KILN_ELF_X86_64, text);
    if (st == KILN_LOAD_OK) {
        kiln_arena_init(&a);
        st = kiln_elf_link(&e, kiln_arena_alloc(&a, e.image_bytes));
        kiln_elf_find(&e, "k");
        kiln_elf_fini(&e);
        kiln_arena_fini(&a);
    }
    test_free(copy);
    return st;
}

void kiln_test_elf_lie(const unsigned char *good, size_t n, const kiln_test_lie *l) {
    unsigned char *b = kiln_arena_dup(kiln_test_arena(), good, n);
    char text[KILN_LOAD_TEXT] = "";
    kiln_elf_put(b + l->at, l->value, l->bytes);
    const kiln_load_status st = link_anywhere(b, n, text);
    if (st != l->want || strstr(text, l->text) == NULL)
        fail_msg("status %d, '%s'; wanted %d, '%s'", (int)st, text, (int)l->want,
                 l->text);
}

size_t kiln_test_elf_cut(const unsigned char *good, size_t n) {
    size_t n_refused = 0;
    for (size_t i = 0; i < n; i++) {
        char text[KILN_LOAD_TEXT] = "";
        n_refused += link_anywhere(good, i, text) != KILN_LOAD_OK;
    }
    return n_refused;
}

size_t kiln_test_elf_scramble(const unsigned char *good, size_t n) {
    unsigned char *b = kiln_arena_dup(kiln_test_arena(), good, n);
    size_t n_refused = 0;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < 20000; i++) {
        char text[KILN_LOAD_TEXT] = "";
        const int n_bytes = (int)kiln_rng_range(&rng, 1, 4);
        memcpy(b, good, n);
        for (int k = 0; k < n_bytes; k++)
            b[kiln_rng_range(&rng, 0, (int64_t)n - 1)] =
                (unsigned char)kiln_rng_range(&rng, 0, 255);
        n_refused += link_anywhere(b, n, text) != KILN_LOAD_OK;
    }
    return n_refused;
}
