/* See package_vary.h. */
#include "tests/support/package/package_vary.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/package/package.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_build.h"
#include "tests/support/package/package_craft.h"

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
    if (v->is_strict)
        p.facts.profile.numerics = KILN_NUMERICS_STRICT;
    if (v->is_remodelled) {
        p.facts.profile.l3_bytes += 1 << 20;
        p.facts.profile.core.fma_latency++;
    }
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
    assert_int_equal(twice.kind, KILN_PLAN_LAUNCH);
    assert_true(h.operands >= at && h.strings >= at && h.steps > h.kernels);
    h.n_steps++;
    h.open.at += size;
    h.operands += size;
    h.strings += size;
    h.total_bytes += size;
    char *plan = kiln_arena_alloc(&a, old.n + size);
    memcpy(plan, old.p, at);
    memcpy(plan + at, &twice, size);
    memcpy(plan + at + size, old.p + at, old.n - at);
    memcpy(plan, &h, sizeof h);
    craft_set_data(c, entry, plan, old.n + size);
    craft_write(path, craft_compress(&a, craft_tar(c)));
    kiln_arena_fini(&a);
}

/* ---- idle ------------------------------------------------------------------------ */

static kiln_str compile_idle(kiln_arena *a, const char *dir, const char *symbol) {
    const char *cc = getenv("CC") != NULL ? getenv("CC") : "cc";
    const char *from = kiln_path_join(a, dir, kiln_format(a, "%s.c", symbol));
    const char *to = kiln_path_join(a, dir, kiln_format(a, "%s.o", symbol));
    const char *text = kiln_format(a, "int %s(void) { return 0; }\n", symbol);
    const char *const argv[] = {cc,
                                "-O1",
                                "-c",
                                "-ffreestanding",
                                "-fno-asynchronous-unwind-tables",
                                "-fcf-protection=none",
                                from,
                                "-o",
                                to,
                                NULL};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_process_result r;
    kiln_str object;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(from, text, strlen(text), &err), &err);
    kiln_assert_status_ok(kiln_process_run(a, &o, &r, &err), &err);
    if (r.code != 0)
        fail_msg("%.*s", KILN_STR_ARG(r.err));
    kiln_assert_status_ok(kiln_file_map(a, to, 0, &object, &err), &err);
    return object;
}

static kiln_str link_idle(kiln_arena *a, const kiln_package_facts *f) {
    const char *dir = kiln_test_dir();
    kiln_package_object *object = kiln_array(a, kiln_package_object, f->n_kernels);
    kiln_str lib;
    kiln_err err = {0};
    for (size_t i = 0; i < f->n_kernels; i++)
        object[i] = (kiln_package_object){f->kernel[i].symbol,
                                          compile_idle(a, dir, f->kernel[i].symbol)};
    kiln_assert_status_ok(
        kiln_package_link(a, f->profile.arch, object, f->n_kernels, &lib, &err), &err);
    return lib;
}

/* What the archive computes of its own inputs. */
static kiln_str outputs_of(kiln_arena *a, const char *archive) {
    kiln_opened p;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_package_open(a, archive, &p, &err), &err);
    const size_t n_in = p.package.n_inputs, n_out = p.package.n_outputs;
    kiln_tensor *in = kiln_array(a, kiln_tensor, n_in);
    kiln_tensor *out = kiln_array(a, kiln_tensor, n_out);
    kiln_package_expected *e = kiln_array(a, kiln_package_expected, n_out);
    const kiln_device_job job = {.n_threads = 1};
    kiln_package_selftest made;
    kiln_assert_status_ok(
        kiln_package_selftest_read(a, p.folder, &p.facts, in, e, &err), &err);
    kiln_assert_status_ok(
        kiln_device_run(a, p.device, &p.package, &job, in, n_in, out, NULL, &err),
        &err);
    for (size_t i = 0; i < n_out; i++)
        e[i] = (kiln_package_expected){.value = out[i]};
    kiln_package_selftest_make(a, in, n_in, e, n_out, &made);
    return made.expected;
}

void package_idle(const char *archive, const char *path) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_package_facts f;
    craft *c = kiln_new(&a, craft);
    kiln_assert_status_ok(kiln_package_inspect(&a, archive, &f, &err), &err);
    craft_open(c, &a, archive);
    const kiln_str lib = link_idle(&a, &f);
    craft_set_data(c, craft_find(c, "lib.so"), lib.p, lib.n);
    craft_write(path, craft_compress(&a, craft_tar(c)));
    const kiln_str expected = outputs_of(&a, path);
    craft_set_data(c, craft_find(c, "selftest/expected.safetensors"), expected.p,
                   expected.n);
    craft_write(path, craft_compress(&a, craft_tar(c)));
    kiln_arena_fini(&a);
}
