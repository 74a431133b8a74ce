#include "tests/support/import/mutants.h"

#include <string.h>

#include "tests/support/kiln_test.h"

enum { MAX_CHANGES = 4, WORD = 4 };

static char any_byte(const kiln_test_mutants *m, kiln_rng *rng) {
    if (m->alphabet == NULL)
        return (char)kiln_rng_range(rng, -128, 127);
    return m->alphabet[kiln_rng_range(rng, 0, (int64_t)strlen(m->alphabet) - 1)];
}

/* v has room for MAX_CHANGES more. */
static void change(const kiln_test_mutants *m, kiln_rng *rng, char *v, size_t *n) {
    static const uint32_t words[] = {0, 1, 127, INT32_MAX, 0x80000000, UINT32_MAX};
    const size_t at = (size_t)kiln_rng_range(rng, (int64_t)m->n_kept, (int64_t)*n - 1);
    switch (kiln_rng_range(rng, 0, 4)) {
    case 0:
        memmove(v + at, v + at + 1, *n - at - 1);
        --*n;
        break;
    case 1:
        memmove(v + at + 1, v + at, *n - at);
        ++*n;
        break;
    case 2:
        if (m->alphabet == NULL && *n - at >= WORD)
            memcpy(v + at, &words[kiln_rng_range(rng, 0, 5)], WORD);
        break;
    default:
        break;
    }
    if (at < *n && kiln_rng_range(rng, 0, 2) > 0)
        v[at] = any_byte(m, rng);
}

/* In memory of exactly its size, so that a read past its end is seen. */
static kiln_str mutant(const kiln_test_mutants *m, kiln_arena *a, kiln_rng *rng) {
    size_t n = m->whole.n;
    char *const v = kiln_array(kiln_test_arena(), char, n + MAX_CHANGES);
    memcpy(v, m->whole.p, n);
    for (int64_t k = kiln_rng_range(rng, 1, MAX_CHANGES); k > 0 && n > m->n_kept; k--)
        change(m, rng, v, &n);
    if (kiln_rng_range(rng, 0, 5) == 0)
        n = (size_t)kiln_rng_range(rng, (int64_t)m->n_kept, (int64_t)n);
    return (kiln_str){kiln_arena_dup(a, v, n), n};
}

bool kiln_test_mutant_ends(const kiln_test_mutants *m, kiln_str bytes) {
    kiln_arena a = {0};
    kiln_graph *g = NULL;
    kiln_err err = {0};
    const kiln_status st = m->import(&a, bytes, m->user, &g, &err);
    if (st == KILN_OK)
        kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    else if (err.status != st || st == KILN_ERR_BUG ||
             strstr(err.text, m->file) == NULL || err.len < strlen(m->file) + 20)
        fail_msg("a mutant of %zu bytes: %s", bytes.n, err.text);
    kiln_arena_fini(&a);
    return st != KILN_OK;
}

void kiln_test_mutants_end(const kiln_test_mutants *m, int n) {
    kiln_rng rng;
    int n_refused = 0;
    kiln_rng_init(&rng, kiln_test_seed());
    assert_true(m->whole.n > m->n_kept);
    assert_false(kiln_test_mutant_ends(m, m->whole));
    for (int i = 0; i < n; i++) {
        kiln_arena a = {0};
        n_refused += kiln_test_mutant_ends(m, mutant(m, &a, &rng));
        kiln_arena_fini(&a);
    }
    print_message("'%s': %d of %d are refused\n", m->file, n_refused, n);
    assert_true(n_refused >= n / 4);
}
