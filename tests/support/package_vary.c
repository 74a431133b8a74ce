/* See package_vary.h. */
#include "tests/support/package_vary.h"

#include <string.h>

#include "tests/support/kiln_test.h"
#include "tests/support/package_build.h"
#include "tests/support/package_craft.h"

void package_vary(const package_variant *v, const char *path) {
    static kiln_package built;
    static bool is_built;
    kiln_err err = {0};
    kiln_arena *a = kiln_test_arena();
    if (!is_built)
        kiln_test_package(a, kiln_test_network_text, NULL, &built);
    is_built = true;
    kiln_package p = built;
    if (v->version != NULL)
        p.facts.version = v->version;
    p.facts.threads = v->threads;
    p.facts.is_unproved = v->is_unproved;
    if (v->l2_bytes > 0)
        p.facts.profile.l2_bytes = v->l2_bytes;
    if (v->is_wrong) {
        const kiln_plan_header *h = (const void *)p.plan.p;
        float *params = kiln_arena_dup(a, p.params, (size_t)h->param_bytes);
        params[0] += 100;
        p.params = params;
    }
    kiln_assert_status_ok(kiln_package_write(&p, path, NULL, &err), &err);
}

/* Tables lie in the order of the header's offsets: what is behind the steps moves. */
void package_repeat(const char *archive, size_t step, const char *path) {
    kiln_arena a = {0};
    craft *c = kiln_new(&a, craft);
    craft_open(c, &a, archive);
    const size_t entry = craft_find(c, "plan.bin");
    const kiln_str old = c->entry[entry].data;
    kiln_plan_header h;
    memcpy(&h, old.p, sizeof h);
    assert_true(step < h.n_steps);
    const size_t size = sizeof(kiln_plan_step);
    const size_t at = (size_t)h.steps + (step + 1) * size;
    kiln_plan_step twice;
    memcpy(&twice, old.p + at - size, size);
    assert_int_equal(twice.kind, KILN_PLAN_CALL);
    assert_true(h.operands >= at && h.strings >= at && h.steps > h.kernels);
    h.n_steps++;
    h.operands += size;
    h.strings += size;
    h.total_bytes += size;
    char *plan = kiln_arena_alloc(&a, old.n + size);
    memcpy(plan, old.p, at);
    memcpy(plan + at, &twice, size);
    memcpy(plan + at + size, old.p + at, old.n - at);
    memcpy(plan, &h, sizeof h);
    craft_set_data(c, entry, plan, old.n + size);
    craft_write(path, craft_seal(&a, craft_compress(&a, craft_tar(c))));
    kiln_arena_fini(&a);
}
