/* What an unpacked package's plan says, for packages of any machine. */
#include <inttypes.h>

#include "pipeline/devices/devices_internal.h"
#include "runtime/plan.h"

enum { MAX_PLAN_BYTES = 64 << 20 };

/* A port's type; its size in bytes must be what the plan says. */
static kiln_status read_type(const kiln_plan *plan, const kiln_plan_port *p,
                             kiln_type *out, kiln_err *err) {
    const char *name = kiln_plan_string(plan, p->name),
               *word = kiln_plan_string(plan, p->dtype);
    kiln_dtype dtype;
    if (!kiln_dtype_parse(kiln_str_from(word), &dtype))
        return kiln_fail(err, KILN_ERR_PARSE, "port '%s': '%s' is no dtype", name,
                         word);
    if (p->rank > KILN_MAX_RANK)
        return kiln_fail(err, KILN_ERR_LIMIT, "port '%s': rank %u, must be at most %d",
                         name, p->rank, KILN_MAX_RANK);
    int64_t dim[KILN_PLAN_MAX_RANK] = {0};
    uint64_t bytes = kiln_dtype_bytes(dtype);
    for (uint32_t i = 0; i < p->rank; i++) {
        if (p->dim[i] > INT64_MAX || (bytes > 0 && p->dim[i] > UINT64_MAX / bytes))
            return kiln_fail(err, KILN_ERR_LIMIT, "port '%s' is too large", name);
        dim[i] = (int64_t)p->dim[i];
        bytes *= p->dim[i];
    }
    if (bytes != p->bytes)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "port '%s': its shape has %" PRIu64 " bytes, the plan says "
                         "%" PRIu64,
                         name, bytes, p->bytes);
    *out = kiln_type_make(dtype, (int)p->rank, dim);
    return KILN_OK;
}

static kiln_status read_ports(kiln_arena *a, const kiln_plan *plan, uint32_t first,
                              uint32_t n, const kiln_device_port **out, kiln_err *err) {
    KILN_ASSERT(first + n <= plan->header->n_inputs + plan->header->n_outputs,
                "ports %u to %u", first, first + n);
    kiln_device_port *port = kiln_array(a, kiln_device_port, n);
    for (uint32_t i = 0; i < n; i++) {
        const kiln_plan_port *p = &plan->port[first + i];
        port[i].name = kiln_str_dup(a, kiln_plan_string(plan, p->name));
        KILN_TRY(read_type(plan, p, &port[i].type, err));
    }
    *out = port;
    return KILN_OK;
}

static const kiln_device_step *read_steps(kiln_arena *a, const kiln_plan *plan,
                                          const kiln_plan_step *from, size_t n) {
    kiln_device_step *step = kiln_array(a, kiln_device_step, n);
    for (size_t i = 0; i < n; i++)
        step[i] = (kiln_device_step){
            .name = kiln_str_dup(a, kiln_plan_string(plan, from[i].name)),
            .op = kiln_str_dup(a, kiln_plan_string(plan, from[i].op))};
    return step;
}

static kiln_status read_plan(kiln_arena *a, const kiln_plan *plan,
                             kiln_device_package *out, kiln_err *err) {
    const kiln_plan_header *h = plan->header;
    kiln_arch arch;
    if (!kiln_arch_of_machine(h->arch, &arch))
        return kiln_fail(err, KILN_ERR_UNSUPPORTED, "ELF machine %u; kiln knows %s",
                         h->arch, kiln_arch_titles(a));
    kiln_device_package p = {.model = kiln_str_dup(a, kiln_plan_string(plan, h->model)),
                             .profile =
                                 kiln_str_dup(a, kiln_plan_string(plan, h->profile)),
                             .arch = arch,
                             .n_inputs = h->n_inputs,
                             .n_outputs = h->n_outputs,
                             .step = read_steps(a, plan, plan->step, h->n_steps),
                             .n_steps = h->n_steps,
                             .open = read_steps(a, plan, plan->open, (size_t)h->open.n),
                             .n_open = (size_t)h->open.n};
    for (size_t i = 0; i < h->devices.n; i++)
        p.has_driver =
            p.has_driver ||
            kiln_devices_has_driver(kiln_plan_string(plan, plan->device[i].kind));
    KILN_TRY(read_ports(a, plan, 0, h->n_inputs, &p.input, err));
    KILN_TRY(read_ports(a, plan, h->n_inputs, h->n_outputs, &p.output, err));
    *out = p;
    return KILN_OK;
}

static kiln_status read_file(kiln_arena *a, kiln_arena *scratch, const char *path,
                             kiln_device_package *out, kiln_err *err) {
    kiln_str file;
    kiln_plan plan;
    char why[KILN_PLAN_ERROR] = "";
    KILN_TRY(kiln_file_map(scratch, path, MAX_PLAN_BYTES, &file, err));
    if (kiln_plan_check(file.p, file.n, &plan, why) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, "%s", why);
    return read_plan(a, &plan, out, err);
}

kiln_status kiln_device_package_read(kiln_arena *a, const char *folder,
                                     kiln_device_package *out, kiln_err *err) {
    kiln_arena scratch = {0};
    const char *path = kiln_path_join(a, folder, "plan.bin");
    const kiln_status st = read_file(a, &scratch, path, out, err);
    kiln_arena_fini(&scratch);
    if (st == KILN_OK)
        out->folder = kiln_str_dup(a, folder);
    else
        kiln_note(err, "reading '%s'", path);
    return st;
}
