#include "tests/support/package/packed.h"

#include <string.h>

#include "compiler/network/network_pack.h"
#include "tests/support/kiln_test.h"

void kiln_test_pack(const kiln_type *t, const void *plain, void *packed) {
    const kiln_type from = kiln_type_make(t->dtype, t->rank, t->dim);
    const size_t bytes = (size_t)kiln_type_bytes(&from);
    kiln_program *program = NULL;
    kiln_arena a = {0};
    kiln_err err = {0};
    if (!kiln_pack_computes(t)) {
        kiln_layout_pack(t, plain, packed);
        return;
    }
    void *arg[] = {kiln_arena_alloc(&a, bytes + 64), packed};
    memcpy(arg[0], plain, bytes);
    kiln_assert_status_ok(
        kiln_pack_program(&a, t, kiln_profile_at(0), "pack", &program, &err), &err);
    kiln_assert_status_ok(kiln_program_run(&a, program, arg, NULL, &err), &err);
    kiln_arena_fini(&a);
}
