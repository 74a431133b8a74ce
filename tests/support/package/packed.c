#include "tests/support/package/packed.h"

#include <string.h>

#include "tests/support/kiln_test.h"

kiln_packing kiln_test_packing(const kiln_te_graph *te, size_t i) {
    return kiln_packing_of(&te->arg_value[i]->type, te->arg_packing[i],
                           &te->arg_type[i]);
}

kiln_packing kiln_test_packing_of(const char *text) {
    kiln_str rest = kiln_str_from(text);
    kiln_packing k = {.by = NULL};
    kiln_type t;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_type_parse(&rest, &t, &err), &err);
    if (kiln_text_skip(&rest, " by ")) {
        k.by = kiln_packing_find(rest);
        assert_non_null(k.by);
    }
    k.from = kiln_type_make(t.dtype, t.rank, t.dim);
    kiln_assert_status_ok(kiln_packed_type(k.by, &k.from, &k.to, &err), &err);
    k.to.layout = t.layout;
    return k;
}

void kiln_test_pack(const kiln_packing *k, const void *plain, void *packed) {
    const size_t bytes = (size_t)kiln_type_bytes(&k->from);
    kiln_program *program = NULL;
    kiln_arena a = {0};
    kiln_err err = {0};
    if (k->by == NULL) {
        kiln_layout_pack(&k->to, plain, packed);
        return;
    }
    void *arg[] = {kiln_arena_alloc(&a, bytes + 64), packed};
    memcpy(arg[0], plain, bytes);
    kiln_assert_status_ok(
        kiln_pack_program(&a, k, kiln_profile_at(0), "pack", &program, &err), &err);
    kiln_assert_status_ok(kiln_program_run(&a, program, arg, NULL, &err), &err);
    kiln_arena_fini(&a);
}
