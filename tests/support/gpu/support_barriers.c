#include "tests/support/gpu/support_barriers.h"

#include <string.h>

typedef struct taking {
    int64_t at, n; /* takes number `at` of n */
} taking;

static const kiln_stmt *take(void *user, kiln_arena *a, const kiln_stmt *s) {
    taking *t = user;
    return s->kind == KILN_STMT_BARRIER && t->n++ == t->at ? kiln_s_nothing(a) : s;
}

static const kiln_stmt *without(kiln_arena *a, const kiln_stmt *s, taking *t) {
    return kiln_stmt_rewritten(a, s, &(kiln_stmt_rewrite){.stmt = take, .user = t});
}

int64_t kiln_test_barriers(kiln_arena *a, const kiln_stmt *s) {
    taking t = {.at = -1};
    (void)without(a, s, &t);
    return t.n;
}

const kiln_stmt *kiln_test_without_barrier(kiln_arena *a, const kiln_stmt *s,
                                           int64_t at) {
    return without(a, s, &(taking){.at = at});
}

bool kiln_test_is_missed(const kiln_err *err) {
    return strstr(err->text, "race: ") != NULL ||
           strstr(err->text, "which nobody has written yet") != NULL ||
           strstr(err->text, "still being copied: no barrier has waited") != NULL;
}
