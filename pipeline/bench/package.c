/* A package as a subject: what plan and manifest say, and its self-test. */
#include "pipeline/bench/bench_internal.h"

#include <string.h>

#include "runtime/plan.h"

static const kiln_package_kernel *find_kernel(const kiln_package_facts *f,
                                              const char *symbol) {
    for (size_t i = 0; i < f->n_kernels; i++)
        if (strcmp(f->kernel[i].symbol, symbol) == 0)
            return &f->kernel[i];
    return NULL;
}

/* The plan knows each step's kernel, the manifest what is known of kernels. */
static kiln_subject_step *read_steps(kiln_arena *a, const kiln_package_facts *f,
                                     const kiln_plan *plan, kiln_subject *s) {
    const uint32_t n = plan->header->n_steps;
    kiln_subject_step *step = kiln_array(a, kiln_subject_step, n);
    for (uint32_t i = 0; i < n; i++) {
        const kiln_plan_step *from = &plan->step[i];
        step[i] = (kiln_subject_step){.name = kiln_plan_string(plan, from->name),
                                      .op = kiln_plan_string(plan, from->op)};
        if (from->kind != KILN_PLAN_LAUNCH)
            continue;
        const kiln_package_kernel *k =
            find_kernel(f, kiln_plan_string(plan, plan->kernel[from->kernel].symbol));
        if (k == NULL)
            continue;
        step[i].tmpl = k->tmpl;
        step[i].origin = k->origin;
        step[i].cost = (kiln_cost){k->muladds, k->flops, k->bytes};
        s->cost.muladds += k->muladds;
        s->cost.flops += k->flops;
        s->cost.bytes += k->bytes;
    }
    s->step = step;
    s->n_steps = (int)n;
    return step;
}

/* What graph.json says of the same steps. */
static kiln_status read_graph(kiln_arena *a, const kiln_opened *p, kiln_subject *s,
                              kiln_subject_step *step, kiln_err *err) {
    const kiln_package_step *known = NULL;
    size_t n = 0;
    KILN_TRY(kiln_package_steps_read(a, p->folder, &known, &n, err));
    if (n != (size_t)s->n_steps)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s': graph.json has %zu steps, plan.bin has %d", p->folder,
                         n, s->n_steps);
    for (size_t i = 0; i < n; i++) {
        step[i].epilogue = known[i].epilogue;
        step[i].layout_in = known[i].layout_in;
        step[i].layout_out = known[i].layout_out;
    }
    return KILN_OK;
}

static kiln_status read_plan(kiln_arena *a, const kiln_opened *p, kiln_subject *s,
                             kiln_err *err) {
    char text[KILN_PLAN_ERROR];
    kiln_str bytes;
    kiln_plan plan;
    const char *path = kiln_path_join(a, p->folder, "plan.bin");
    KILN_TRY(kiln_file_map(a, path, 0, &bytes, err));
    if (kiln_plan_check(bytes.p, bytes.n, &plan, text) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, "'%s': %s", path, text);
    return read_graph(a, p, s, read_steps(a, &p->facts, &plan, s), err);
}

static kiln_status read_selftest(kiln_arena *a, const kiln_opened *p, kiln_subject *s,
                                 kiln_err *err) {
    const size_t n_out = p->package.n_outputs;
    kiln_tensor *in = kiln_array(a, kiln_tensor, p->package.n_inputs);
    kiln_package_expected *expected = kiln_array(a, kiln_package_expected, n_out);
    kiln_wanted *want = kiln_array(a, kiln_wanted, n_out);
    KILN_TRY(kiln_package_selftest_read(a, p->folder, &p->facts, in, expected, err));
    for (size_t i = 0; i < n_out; i++)
        want[i] = (kiln_wanted){p->package.output[i].name, expected[i].value,
                                expected[i].at, expected[i].bound};
    s->in = in;
    s->want = want;
    s->n_want = n_out;
    return KILN_OK;
}

/* What baselines run: the very file that the package was built from. */
static kiln_status add_model(kiln_arena *a, const kiln_opened *p, const char *model,
                             const kiln_fixed_inputs *fixed, kiln_subject *s,
                             kiln_err *err) {
    kiln_source source;
    const kiln_status st = kiln_package_source(a, p, model, fixed, &source, err);
    if (st != KILN_OK) {
        kiln_note(err, "looking for what the package was built from in '%s'", model);
        return st;
    }
    s->file = source.path;
    s->format = source.format;
    s->imported = source.imported;
    s->fixed = fixed->value;
    s->n_fixed = fixed->n;
    return KILN_OK;
}

static kiln_subject facts_of(const kiln_opened *p) {
    const kiln_package_memory *m = &p->facts.memory;
    return (kiln_subject){.name = p->facts.model,
                          .profile = &p->facts.profile,
                          .arena = (int64_t)m->arena,
                          .lower_bound = (int64_t)m->lower_bound,
                          .params = (int64_t)m->params,
                          .workspace = (int64_t)m->workspace,
                          .scratch = (int64_t)m->scratch,
                          .packed = (int64_t)m->packed,
                          .tolerance = kiln_tolerance_network};
}

kiln_status kiln_subject_of_package(kiln_arena *a, const char *path, const char *model,
                                    const kiln_fixed_inputs *fixed, kiln_subject *out,
                                    kiln_err *err) {
    return kiln_subject_of_signed(a, path, NULL, NULL, model, fixed, out, err);
}

/* On this machine, not in an emulator. */
static kiln_status is_measured_here(const kiln_opened *p, const char *path,
                                    kiln_err *err) {
    const kiln_status here = kiln_device_measures_here(&p->facts.profile, err);
    if (here != KILN_OK) {
        kiln_note(err, "measuring '%s'", path);
        return here;
    }
    return p->device->is_emulated
               ? kiln_fail(
                     err, KILN_ERR_UNSUPPORTED,
                     "'%s' is made for '%s', which runs here in an emulator only: "
                     "its times would say nothing; measure it on such a machine, "
                     "or by --runner",
                     path, p->facts.profile.name)
               : KILN_OK;
}

kiln_status kiln_subject_of_signed(kiln_arena *a, const char *path,
                                   const kiln_keyring *keys,
                                   const kiln_remote_options *where, const char *model,
                                   const kiln_fixed_inputs *fixed, kiln_subject *out,
                                   kiln_err *err) {
    kiln_opened *p = kiln_new(a, kiln_opened);
    KILN_TRY(kiln_package_open_by(a, path, keys, p, err));
    if (where == NULL)
        KILN_TRY(is_measured_here(p, path, err));
    kiln_subject s = facts_of(p);
    KILN_TRY(read_plan(a, p, &s, err));
    KILN_TRY(read_selftest(a, p, &s, err));
    if (model != NULL)
        KILN_TRY(add_model(a, p, model, fixed, &s, err));
    const kiln_status opened = kiln_remote_of_package(
        a, p->folder, s.profile, s.in, p->package.n_inputs, where, &s.remote, err);
    if (opened != KILN_OK) {
        kiln_note(err, "opening '%s' in a process of its own", path);
        return opened;
    }
    s.open_ms = kiln_remote_open_ms(s.remote);
    *out = s;
    return KILN_OK;
}
