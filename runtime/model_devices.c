/* A model's devices: opened as the plan names them, with their modules, whose kernels
 * are found by name. */
#include "runtime/model_internal.h"

#include <stdio.h>
#include <string.h>

const kiln_model_module *kiln_model_module_of(const kiln_model_options *o,
                                              const char *file) {
    for (size_t i = 0; o != NULL && i < o->n_modules; i++)
        if (strcmp(o->module[i].file, file) == 0)
            return &o->module[i];
    return NULL;
}

/* A table of n pointers, all NULL. */
static void *table(const kiln_model *m, uint64_t n, size_t size) {
    void *t = kiln_model_alloc(m, (size_t)(n + 1) * size);
    if (t != NULL)
        memset(t, 0, (size_t)(n + 1) * size);
    return t;
}

static int make_tables(kiln_model *m, char *error) {
    const kiln_plan_header *h = m->plan.header;
    m->device = table(m, h->devices.n, sizeof *m->device);
    m->module = table(m, h->modules.n, sizeof *m->module);
    m->packed = table(m, h->spaces.n, sizeof *m->packed);
    m->kernel = table(m, h->n_kernels, sizeof *m->kernel);
    if (m->device != NULL && m->module != NULL && m->packed != NULL &&
        m->kernel != NULL)
        return 0;
    snprintf(error, KILN_ERROR_TEXT, "no memory for %u kernels", h->n_kernels);
    return -1;
}

static int open_device(kiln_model *m, uint32_t i, const kiln_model_options *o,
                       char *error) {
    const kiln_plan *p = &m->plan;
    const char *name = kiln_plan_string(p, p->device[i].kind);
    const kiln_device_kind *kind = kiln_device_kind_named(
        name, o != NULL ? o->device : NULL, o != NULL ? o->n_devices : 0);
    if (kind == NULL) {
        snprintf(error, KILN_ERROR_TEXT,
                 "the package is for a device '%.60s', which this runtime does not "
                 "know: use one that does, or build the package without it",
                 name);
        return -1;
    }
    for (uint32_t s = 0; s < p->header->spaces.n; s++)
        if (p->space[s].device == i && p->space[s].memory >= kind->n_memories) {
            snprintf(error, KILN_ERROR_TEXT,
                     "device '%.60s' has %u kinds of memory, the package wants number "
                     "%u",
                     name, kind->n_memories, p->space[s].memory);
            return -1;
        }
    return kind->open(&m->allocator, &m->device[i], error);
}

static int open_module(kiln_model *m, uint32_t i, const kiln_model_source *source,
                       char *error) {
    const kiln_plan_module *module = &m->plan.module[i];
    char where[KILN_ERROR_TEXT], text[KILN_ERROR_TEXT];
    kiln_device_image image;
    if (source->find(source->user, kiln_plan_string(&m->plan, module->file), &image,
                     where, error) != 0)
        return -1;
    kiln_device *d = m->device[module->device];
    const int failed = d->kind->module_open(d, &image, &m->module[i], text);
    if (source->release != NULL)
        source->release(&image);
    if (failed)
        snprintf(error, KILN_ERROR_TEXT, "%.110s: %.140s", where, text);
    return failed;
}

static int find_kernel(kiln_model *m, uint32_t i, char *error) {
    const kiln_plan_kernel *k = &m->plan.kernel[i];
    const char *symbol = kiln_plan_string(&m->plan, k->symbol);
    kiln_device_module *module = m->module[k->module];
    if (module->kind->module_kernel(module, symbol, &m->kernel[i]) == 0)
        return 0;
    snprintf(error, KILN_ERROR_TEXT, "the library has no kernel '%.100s'", symbol);
    return -1;
}

int kiln_model_open_devices(kiln_model *m, const kiln_model_source *source,
                            const kiln_model_options *o, char error[KILN_ERROR_TEXT]) {
    const kiln_plan_header *h = m->plan.header;
    if (make_tables(m, error) != 0)
        return -1;
    for (uint32_t i = 0; i < h->devices.n; i++)
        if (open_device(m, i, o, error) != 0)
            return -1;
    for (uint32_t i = 0; i < h->modules.n; i++)
        if (open_module(m, i, source, error) != 0)
            return -1;
    for (uint32_t i = 0; i < h->n_kernels; i++)
        if (find_kernel(m, i, error) != 0)
            return -1;
    return 0;
}

void kiln_model_close_devices(kiln_model *m) {
    const kiln_plan_header *h = m->plan.header;
    for (uint32_t i = 0; m->packed != NULL && i < h->spaces.n; i++)
        if (m->packed[i] != NULL) {
            kiln_device *d = kiln_model_device_of(m, i);
            d->kind->release(d, m->plan.space[i].memory, m->packed[i]);
        }
    for (uint32_t i = 0; m->module != NULL && i < h->modules.n; i++)
        if (m->module[i] != NULL)
            m->module[i]->kind->module_close(m->module[i]);
    for (uint32_t i = 0; m->device != NULL && i < h->devices.n; i++)
        if (m->device[i] != NULL)
            m->device[i]->kind->close(m->device[i]);
    kiln_model_release(m, m->kernel);
    kiln_model_release(m, m->packed);
    kiln_model_release(m, m->module);
    kiln_model_release(m, m->device);
}
