/* Do plan, library, parameters, self-test and manifest fit one another? */
#include "packager/packager_internal.h"

#include <inttypes.h>
#include <string.h>

/* kiln_plan_check wants 8-byte alignment: a mapped file has it, others are copied. */
static const void *aligned(kiln_arena *a, kiln_str s) {
    return (uintptr_t)s.p % 8 == 0 ? s.p : kiln_arena_dup(a, s.p, s.n);
}

static kiln_status disagree(const char *what, kiln_err *err) {
    return kiln_fail(
        err, KILN_ERR_PARSE,
        KILN_ENTRY_MANIFEST " and " KILN_ENTRY_PLAN " do not agree on the %s", what);
}

static bool same_ports(const kiln_package_port *x, size_t n_x,
                       const kiln_package_port *y, size_t n_y) {
    bool same = n_x == n_y;
    for (size_t i = 0; i < n_x && same; i++)
        same = strcmp(x[i].name, y[i].name) == 0 &&
               strcmp(x[i].dtype, y[i].dtype) == 0 && x[i].rank == y[i].rank &&
               memcmp(x[i].dim, y[i].dim, sizeof x[i].dim) == 0;
    return same;
}

/* A kernel of several devices is one row of the manifest, and as many of the plan. */
static bool same_kernels(const kiln_package_facts *f, const kiln_plan *plan) {
    const char *last = NULL;
    size_t n = 0;
    for (size_t i = 0; i < plan->header->n_kernels; i++) {
        const char *symbol = kiln_plan_string(plan, plan->kernel[i].symbol);
        if (last != NULL && strcmp(symbol, last) == 0)
            continue;
        if (n == f->n_kernels || strcmp(f->kernel[n].symbol, symbol) != 0)
            return false;
        last = f->kernel[n++].symbol;
    }
    return n == f->n_kernels;
}

static bool same_devices(const kiln_package_facts *f, const kiln_package_facts *says) {
    bool same = f->n_devices == says->n_devices;
    for (size_t i = 0; i < f->n_devices && same; i++)
        same = strcmp(f->device[i], says->device[i]) == 0;
    return same;
}

/* A library for each device, by its number. */
static bool has_libraries(const kiln_package_facts *f, const kiln_plan *plan) {
    const kiln_plan_header *h = plan->header;
    bool has =
        h->modules.n == h->devices.n && h->modules.n <= KILN_PACKAGE_MAX_MODULES + 1;
    for (size_t i = 0; has && i < h->modules.n; i++)
        has = plan->module[i].device == i &&
              strcmp(kiln_plan_string(plan, plan->module[i].file),
                     kiln_package_module_of(f, i)) == 0;
    return has;
}

static kiln_status check_plan(kiln_arena *a, const kiln_package_facts *f,
                              const kiln_plan *plan, kiln_err *err) {
    kiln_package_facts says = {.model = NULL};
    const kiln_plan_header *h = plan->header;
    kiln_facts_of_plan(a, plan, &says);
    if (!has_libraries(f, plan))
        return kiln_fail(err, KILN_ERR_PARSE,
                         KILN_ENTRY_PLAN " has other modules than " KILN_ENTRY_LIB
                                         " and one for each further device");
    if ((int)h->arch != kiln_package_machine(f->profile.arch))
        return kiln_fail(err, KILN_ERR_PARSE,
                         KILN_ENTRY_MANIFEST
                         " is for %s (ELF machine %d), " KILN_ENTRY_PLAN
                         " for ELF machine %" PRIu32,
                         kiln_arch_name(f->profile.arch),
                         kiln_package_machine(f->profile.arch), h->arch);
    if (strcmp(kiln_package_utf8(a, kiln_plan_string(plan, h->profile)),
               f->profile.name) != 0)
        return disagree("profile", err);
    if (!same_ports(f->input, f->n_inputs, says.input, says.n_inputs))
        return disagree("inputs", err);
    if (!same_ports(f->output, f->n_outputs, says.output, says.n_outputs))
        return disagree("outputs", err);
    if (f->memory.arena != says.memory.arena ||
        f->memory.params != says.memory.params ||
        f->memory.workspace != says.memory.workspace ||
        f->memory.scratch != says.memory.scratch ||
        f->memory.packed != says.memory.packed)
        return disagree("memory", err);
    if (!same_devices(f, &says))
        return disagree("devices", err);
    return same_kernels(f, plan) ? KILN_OK : disagree("kernels", err);
}

kiln_status kiln_package_params_of(kiln_arena *a, const kiln_plan *plan, kiln_str start,
                                   uint64_t file_bytes, kiln_safetensors *out,
                                   kiln_err *err) {
    kiln_safetensors s;
    KILN_TRY(kiln_safetensors_read(a, start, file_bytes, KILN_ENTRY_PARAMS, &s, err));
    if (s.bytes != plan->header->param_bytes)
        return kiln_fail(err, KILN_ERR_PARSE,
                         KILN_ENTRY_PARAMS " holds %" PRIu64 " bytes, " KILN_ENTRY_PLAN
                                           " wants %" PRIu64,
                         s.bytes, plan->header->param_bytes);
    *out = s;
    return KILN_OK;
}

static kiln_status check_libs(kiln_arena *a, const kiln_plan *plan,
                              const kiln_package_parts *p, kiln_err *err) {
    if (p->n_modules != plan->header->modules.n)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "there are %zu libraries, " KILN_ENTRY_PLAN " wants %" PRIu64,
                         p->n_modules, plan->header->modules.n);
    for (size_t i = 0; i < p->n_modules; i++)
        KILN_TRY(kiln_package_check_lib(a, p->module[i], plan, i, err));
    return KILN_OK;
}

kiln_status kiln_package_check(kiln_arena *a, const kiln_package_facts *f,
                               const kiln_package_parts *p, kiln_err *err) {
    char error[KILN_PLAN_ERROR];
    kiln_plan plan;
    kiln_safetensors tensors;
    if (kiln_plan_check(aligned(a, p->plan), p->plan.n, &plan, error) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, KILN_ENTRY_PLAN ": %s", error);
    KILN_TRY(check_plan(a, f, &plan, err));
    KILN_TRY(check_libs(a, &plan, p, err));
    KILN_TRY(
        kiln_package_params_of(a, &plan, p->params, p->params_bytes, &tensors, err));
    kiln_tensor *in = kiln_array(a, kiln_tensor, f->n_inputs);
    kiln_package_expected *out = kiln_array(a, kiln_package_expected, f->n_outputs);
    return kiln_selftest_decode(a, f, p->inputs, p->expected, in, out, err);
}
