/* What follows from plan and names alone. */
#include "packager/packager_internal.h"
#include "runtime/gpu_module.h"

#include <string.h>

int kiln_package_machine(kiln_arch arch) { return kiln_arch_of(arch)->elf_machine; }

const char *kiln_package_utf8(kiln_arena *a, const char *name) {
    kiln_str s = kiln_str_from(name);
    if (kiln_utf8_valid(s))
        return name;
    kiln_buf out;
    kiln_buf_init(&out, a);
    while (s.n > 0) {
        size_t n = kiln_utf8_len(s);
        const unsigned char c = (unsigned char)s.p[0];
        if (n > 0) {
            kiln_buf_add(&out, s.p, n);
        } else { /* U+0080 to U+00FF */
            const char two[2] = {(char)(0xC0 | c >> 6), (char)(0x80 | (c & 0x3F))};
            kiln_buf_add(&out, two, sizeof two);
            n = 1;
        }
        s.p += n;
        s.n -= n;
    }
    return out.p;
}

const char *kiln_package_module_name(kiln_arena *a, size_t device, bool is_gpu) {
    KILN_ASSERT(device <= KILN_PACKAGE_MAX_MODULES, "device %zu", device);
    return device == 0 ? KILN_ENTRY_LIB
                       : kiln_format(a, "lib%zu.%s", device, is_gpu ? "gpu" : "so");
}

size_t kiln_package_module_number(const char *name) {
    const bool is_module =
        strncmp(name, "lib", 3) == 0 && name[3] >= '1' && name[3] <= '9' &&
        (strcmp(name + 4, ".so") == 0 || strcmp(name + 4, ".gpu") == 0);
    return is_module ? (size_t)(name[3] - '0') : 0;
}

bool kiln_package_is_gpu_module(kiln_str module) {
    return kiln_str_starts(module, KILN_GPU_MAGIC);
}

const char *kiln_package_module_of(const kiln_package_facts *f, size_t device) {
    for (size_t i = 0; i < f->n_entries && device > 0; i++)
        if (kiln_package_module_number(f->entry[i].name) == device)
            return f->entry[i].name;
    return KILN_ENTRY_LIB;
}

static kiln_package_port *ports(kiln_arena *a, const kiln_plan *plan, size_t first,
                                size_t n) {
    kiln_package_port *port = kiln_array(a, kiln_package_port, n);
    for (size_t i = 0; i < n; i++) {
        const kiln_plan_port *p = &plan->port[first + i];
        KILN_ASSERT(p->rank <= KILN_PLAN_MAX_RANK, "a port of rank %u", p->rank);
        port[i] = (kiln_package_port){
            .name = kiln_package_utf8(a, kiln_plan_string(plan, p->name)),
            .dtype = kiln_plan_string(plan, p->dtype),
            .rank = (int)p->rank};
        for (uint32_t k = 0; k < p->rank; k++)
            port[i].dim[k] = (int64_t)p->dim[k];
    }
    return port;
}

void kiln_facts_of_plan(kiln_arena *a, const kiln_plan *plan, kiln_package_facts *f) {
    const kiln_plan_header *h = plan->header;
    const char **device = kiln_array(a, const char *, (size_t)h->devices.n);
    for (size_t i = 0; i < h->devices.n; i++)
        device[i] = kiln_plan_string(plan, plan->device[i].kind);
    f->device = device;
    f->n_devices = (size_t)h->devices.n;
    f->n_inputs = h->n_inputs;
    f->n_outputs = h->n_outputs;
    f->input = ports(a, plan, 0, h->n_inputs);
    f->output = ports(a, plan, h->n_inputs, h->n_outputs);
    f->memory.arena = kiln_plan_arena_bytes(plan);
    f->memory.params = h->param_bytes;
    f->memory.workspace = h->workspace_bytes;
    f->memory.scratch = h->scratch_bytes;
    f->memory.packed = kiln_plan_packed_bytes(plan);
}

bool kiln_package_is_licence(const char *text) {
    enum { MAX_BYTES = 256 };
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-+:() ";
    const size_t n = strlen(text);
    return n > 0 && n <= MAX_BYTES && strspn(text, letters) == n;
}

kiln_package_fixed kiln_package_fixed_of(kiln_arena *a, const char *name,
                                         const kiln_tensor *value) {
    kiln_package_fixed f = {.name = kiln_package_utf8(a, name),
                            .type = kiln_type_text(a, &value->type)};
    kiln_sha256_of(value->data, (size_t)kiln_type_bytes(&value->type), f.sha256);
    return f;
}

static void put_plain(kiln_buf *out, const char *text) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    for (const char *p = text; *p != '\0'; p++)
        kiln_buf_add(out, strchr(plain, *p) != NULL ? p : "_", 1);
}

char *kiln_package_file_name(kiln_arena *a, const kiln_package_facts *f) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    put_plain(&out, f->model);
    kiln_buf_puts(&out, "-");
    put_plain(&out, f->version);
    kiln_buf_puts(&out, "-");
    put_plain(&out, f->profile.name);
    if (f->threads > 1)
        kiln_buf_printf(&out, "-t%d", f->threads);
    kiln_buf_puts(&out, ".kiln.tar.zst");
    return out.p;
}
