/* What devices have in common that run this processor's code: memory of the host's, and
 * modules that runtime/loader.h maps, or that are linked in. */
#include "runtime/device.h"
#include "runtime/loader.h"

#include <stdio.h>

typedef struct module {
    kiln_device_module base;
    kiln_device *device;
    kiln_code *code; /* NULL: linked in */
    kiln_kernel_fn *(*kernel)(void *user, const char *symbol);
    void *user;
} module;

int kiln_cpu_open(const kiln_device_kind *kind, const kiln_allocator *allocator,
                  kiln_device **out, char error[KILN_ERROR_TEXT]) {
    kiln_device *d = allocator->alloc(allocator->user, sizeof *d);
    if (d == NULL) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for a device");
        return -1;
    }
    *d = (kiln_device){kind, *allocator};
    *out = d;
    return 0;
}

void kiln_cpu_close(kiln_device *d) {
    const kiln_allocator allocator = d->allocator;
    allocator.release(allocator.user, d);
}

void *kiln_cpu_alloc(kiln_device *d, uint32_t memory, size_t bytes) {
    (void)memory;
    return d->allocator.alloc(d->allocator.user, bytes);
}

void kiln_cpu_release(kiln_device *d, uint32_t memory, void *block) {
    (void)memory;
    if (block != NULL)
        d->allocator.release(d->allocator.user, block);
}

static kiln_kernel_fn *of_code(void *user, const char *symbol) {
    return kiln_code_kernel(user, symbol);
}

int kiln_cpu_module_open(kiln_device *d, const kiln_device_image *image,
                         kiln_device_module **out, char error[KILN_ERROR_TEXT]) {
    char text[KILN_LOAD_TEXT];
    module *m = kiln_cpu_alloc(d, 0, sizeof *m);
    if (m == NULL) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for a module");
        return -1;
    }
    *m = (module){{d->kind}, d, NULL, image->kernel, image->user};
    if (image->bytes != NULL) {
        if (kiln_code_open(image->bytes, image->n, &m->code, text) != KILN_LOAD_OK) {
            snprintf(error, KILN_ERROR_TEXT, "%s", text);
            kiln_cpu_release(d, 0, m);
            return -1;
        }
        m->kernel = of_code;
        m->user = m->code;
    }
    *out = &m->base;
    return 0;
}

int kiln_cpu_module_kernel(kiln_device_module *base, const char *symbol,
                           kiln_device_kernel *out) {
    const module *m = (module *)base;
    *out = (kiln_device_kernel){.fn = m->kernel(m->user, symbol)};
    return out->fn != NULL ? 0 : -1;
}

void kiln_cpu_module_close(kiln_device_module *base) {
    module *m = (module *)base;
    if (m == NULL)
        return;
    kiln_code_close(m->code);
    kiln_cpu_release(m->device, 0, m);
}
