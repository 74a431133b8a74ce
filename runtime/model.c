/* Models: a checked plan, its parameters, its kernels found by name. */
#include "runtime/arch.h"
#include "runtime/model_internal.h"
#include "runtime/pages.h"

#include <stdio.h>
#include <string.h>

static void *default_alloc(void *user, size_t bytes) {
    (void)user;
    return kiln_pages_alloc(KILN_PLAN_ALIGN, bytes);
}

static void default_release(void *user, void *block) {
    (void)user;
    kiln_pages_release(block);
}

void kiln_allocator_default(kiln_allocator *out) {
    *out = (kiln_allocator){default_alloc, default_release, NULL};
}

void *kiln_model_alloc(const kiln_model *m, size_t n) {
    return m->allocator.alloc(m->allocator.user, n > 0 ? n : KILN_PLAN_ALIGN);
}

void kiln_model_release(const kiln_model *m, void *block) {
    if (block != NULL)
        m->allocator.release(m->allocator.user, block);
}

kiln_model *kiln_model_new(const kiln_allocator *allocator,
                           char error[KILN_ERROR_TEXT]) {
    kiln_model *m = allocator->alloc(allocator->user, sizeof *m);
    if (m == NULL) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for a model");
        return NULL;
    }
    memset(m, 0, sizeof *m);
    m->allocator = *allocator;
    return m;
}

static kiln_model *model_new(const kiln_model_options *o, char *error) {
    kiln_allocator allocator;
    kiln_allocator_default(&allocator);
    if (o != NULL && o->allocator != NULL)
        allocator = *o->allocator;
    return kiln_model_new(&allocator, error);
}

void kiln_model_close(kiln_model *m) {
    if (m == NULL)
        return;
    const kiln_allocator allocator = m->allocator;
    for (int i = 0; i < m->n_siblings; i++)
        kiln_model_close(m->sibling[i]);
    kiln_model_release(m, m->sibling);
    kiln_model_close_devices(m);
    kiln_model_release_files(m);
    allocator.release(allocator.user, m);
}

static int check_params(const kiln_model *m, const void *params, size_t bytes,
                        char *error) {
    if (bytes >= m->plan.header->param_bytes &&
        (uintptr_t)params % KILN_PLAN_ALIGN == 0)
        return 0;
    snprintf(error, KILN_ERROR_TEXT,
             "parameters: the plan wants %llu bytes, 64-byte aligned; there are %zu",
             (unsigned long long)m->plan.header->param_bytes, bytes);
    return -1;
}

static int machine(void) {
    const kiln_runtime_arch *here = kiln_runtime_arch_here();
    return here != NULL ? here->machine : 0;
}

int kiln_model_assemble(kiln_model *m, const kiln_model_parts *parts,
                        const kiln_model_source *source, const kiln_model_options *o,
                        char error[KILN_ERROR_TEXT]) {
    if (kiln_plan_check(parts->plan, parts->plan_bytes, &m->plan, error) != 0)
        return -1;
    if ((int)m->plan.header->arch != machine()) {
        snprintf(error, KILN_ERROR_TEXT,
                 "the package is for ELF machine %u ('%.60s'), this is %d",
                 m->plan.header->arch,
                 kiln_plan_string(&m->plan, m->plan.header->profile), machine());
        return -1;
    }
    if (check_params(m, parts->params, parts->param_bytes, error) != 0)
        return -1;
    m->params = parts->params;
    return kiln_model_open_devices(m, source, o, error) == 0 ? kiln_model_pack(m, error)
                                                             : -1;
}

/* ---- parts ------------------------------------------------------------------------ */

typedef struct linked {
    const kiln_model_parts *parts;
    const kiln_model_options *options;
} linked;

static int find_linked(void *user, const char *file, kiln_device_image *out,
                       char where[KILN_ERROR_TEXT], char error[KILN_ERROR_TEXT]) {
    const linked *l = user;
    const kiln_model_module *module = kiln_model_module_of(l->options, file);
    (void)error;
    *out = (kiln_device_image){.kernel = l->parts->kernel, .user = l->parts->user};
    if (module != NULL)
        *out = (kiln_device_image){.bytes = module->bytes, .n = module->n};
    snprintf(where, KILN_ERROR_TEXT, "module '%s'", file);
    return 0;
}

kiln_model *kiln_model_from_parts(const kiln_model_parts *parts,
                                  const kiln_model_options *o,
                                  char error[KILN_ERROR_TEXT]) {
    kiln_model *m = model_new(o, error);
    linked l = {parts, o};
    const kiln_model_source source = {.find = find_linked, .user = &l};
    if (m == NULL || kiln_model_assemble(m, parts, &source, o, error) == 0)
        return m;
    kiln_model_close(m);
    return NULL;
}

/* ---- description ----------------------------------------------------------------- */

const char *kiln_model_name(const kiln_model *m) {
    return kiln_plan_string(&m->plan, m->plan.header->model);
}

const char *kiln_model_profile(const kiln_model *m) {
    return kiln_plan_string(&m->plan, m->plan.header->profile);
}

int kiln_model_n_inputs(const kiln_model *m) { return (int)m->plan.header->n_inputs; }
int kiln_model_n_outputs(const kiln_model *m) { return (int)m->plan.header->n_outputs; }

static void describe(const kiln_model *m, const kiln_plan_port *p,
                     kiln_port_info *out) {
    *out = (kiln_port_info){.name = kiln_plan_string(&m->plan, p->name),
                            .dtype = kiln_plan_string(&m->plan, p->dtype),
                            .rank = (int)p->rank,
                            .bytes = p->bytes};
    for (uint32_t i = 0; i < p->rank; i++)
        out->dim[i] = (int64_t)p->dim[i];
}

int kiln_model_input(const kiln_model *m, int i, kiln_port_info *out) {
    if (i < 0 || i >= kiln_model_n_inputs(m))
        return -1;
    describe(m, &m->plan.port[i], out);
    return 0;
}

int kiln_model_output(const kiln_model *m, int i, kiln_port_info *out) {
    if (i < 0 || i >= kiln_model_n_outputs(m))
        return -1;
    describe(m, &m->plan.port[kiln_model_n_inputs(m) + i], out);
    return 0;
}

static int find_port(const kiln_model *m, int begin, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(kiln_plan_string(&m->plan, m->plan.port[begin + i].name), name) == 0)
            return i;
    return -1;
}

int kiln_model_find_input(const kiln_model *m, const char *name) {
    return find_port(m, 0, kiln_model_n_inputs(m), name);
}

int kiln_model_find_output(const kiln_model *m, const char *name) {
    return find_port(m, kiln_model_n_inputs(m), kiln_model_n_outputs(m), name);
}

/* ---- folders --------------------------------------------------------------------- */

kiln_model *kiln_model_open(const char *folder, const kiln_model_options *o,
                            char error[KILN_ERROR_TEXT]) {
    kiln_model *m = model_new(o, error);
    if (m == NULL || kiln_model_read_files(m, folder, o, error) == 0)
        return m;
    kiln_model_close(m);
    return NULL;
}

kiln_model *kiln_model_open_memory(const kiln_model_files *files,
                                   const kiln_model_options *o,
                                   char error[KILN_ERROR_TEXT]) {
    kiln_model *m = model_new(o, error);
    if (m == NULL || kiln_model_read_memory(m, files, o, error) == 0)
        return m;
    kiln_model_close(m);
    return NULL;
}
