/* A GPU's modules: checked, built by its driver, and a handle for each kernel. */
#include "runtime/device/device_gpu.h"

#include <stdio.h>
#include <string.h>

typedef struct code {
    kiln_device_module base;
    kiln_gpu_device *device;
    void *bytes; /* our copy of the file */
    kiln_gpu_module module;
    void *program;
    void **entry; /* by launch */
    kiln_gpu_handle *handle;
} code;

/* What the driver is asked in between, it is asked by this thread. */
static void enter(kiln_gpu_device *d) {
    if (d->driver->enter != NULL)
        d->driver->enter(d);
}

static void leave(kiln_gpu_device *d) {
    if (d->driver->leave != NULL)
        d->driver->leave(d);
}

static const char *const languages[] = {
    [KILN_GPU_OPENCL_C] = "OpenCL C",
    [KILN_GPU_PTX] = "PTX",
    [KILN_GPU_CUBIN] = "machine code of a GPU by NVIDIA",
};

static int read_module(code *c, const kiln_device_image *image, char *error) {
    kiln_device *d = &c->device->base;
    char text[KILN_GPU_ERROR];
    if (image->bytes == NULL) {
        snprintf(error, KILN_ERROR_TEXT,
                 "device '%s' runs no functions of this program: it wants a module",
                 d->kind->name);
        return -1;
    }
    /* The copy is aligned, and bounded before it is made. */
    c->bytes =
        image->n <= KILN_GPU_MAX_BYTES ? kiln_cpu_alloc(d, 0, image->n + 1) : NULL;
    if (c->bytes == NULL) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for a module of %zu bytes",
                 image->n);
        return -1;
    }
    memcpy(c->bytes, image->bytes, image->n);
    if (kiln_gpu_module_check(c->bytes, image->n, &c->module, text) != 0) {
        snprintf(error, KILN_ERROR_TEXT, "%s", text);
        return -1;
    }
    const uint32_t has = c->module.header->language;
    if (has != c->device->driver->language &&
        has != c->device->driver->machine_language) {
        snprintf(error, KILN_ERROR_TEXT,
                 "device '%s' takes %s, the module is %s: build the package for it",
                 d->kind->name, languages[c->device->driver->language], languages[has]);
        return -1;
    }
    return 0;
}

static int make_tables(code *c, char *error) {
    const kiln_gpu_header *h = c->module.header;
    kiln_device *d = &c->device->base;
    const size_t n_launches = (size_t)h->n_launches + 1,
                 n_kernels = (size_t)h->n_kernels + 1;
    c->entry = kiln_cpu_alloc(d, 0, n_launches * sizeof *c->entry);
    if (c->entry != NULL)
        memset(c->entry, 0, n_launches * sizeof *c->entry);
    c->handle = kiln_cpu_alloc(d, 0, n_kernels * sizeof *c->handle);
    if (c->entry == NULL || c->handle == NULL) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for %u kernels", h->n_kernels);
        return -1;
    }
    for (uint32_t i = 0; i < h->n_kernels; i++) {
        const kiln_gpu_kernel *k = &c->module.kernel[i];
        c->handle[i] = (kiln_gpu_handle){&c->module, k, c->entry + k->first_launch};
    }
    return 0;
}

static int build(code *c, char *error) {
    kiln_gpu_device *d = c->device;
    int failed = d->driver->build(d, &c->module, &c->program, error);
    for (uint32_t i = 0; i < c->module.header->n_launches && !failed; i++)
        failed = d->driver->entry(d, c->program, &c->module, &c->module.launch[i],
                                  &c->entry[i], error);
    return failed;
}

int kiln_gpu_module_open(kiln_device *base, const kiln_device_image *image,
                         kiln_device_module **out, char error[KILN_ERROR_TEXT]) {
    kiln_gpu_device *d = (kiln_gpu_device *)base;
    code *c = kiln_cpu_alloc(base, 0, sizeof *c);
    if (c == NULL) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for a module");
        return -1;
    }
    *c = (code){.base = {base->kind}, .device = d};
    int failed = read_module(c, image, error);
    if (!failed)
        failed = make_tables(c, error);
    if (!failed) {
        enter(d);
        failed = build(c, error);
        leave(d);
    }
    if (failed) {
        kiln_gpu_module_close(&c->base);
        return -1;
    }
    *out = &c->base;
    return 0;
}

int kiln_gpu_module_kernel(kiln_device_module *base, const char *symbol,
                           kiln_device_kernel *out) {
    const code *c = (code *)base;
    const kiln_gpu_kernel *k = kiln_gpu_module_find(&c->module, symbol);
    *out = (kiln_device_kernel){.handle = k != NULL ? &c->handle[k - c->module.kernel]
                                                    : NULL};
    return k != NULL ? 0 : -1;
}

void kiln_gpu_module_close(kiln_device_module *base) {
    code *c = (code *)base;
    if (c == NULL)
        return;
    kiln_gpu_device *d = c->device;
    enter(d);
    for (uint32_t i = 0; c->entry != NULL && i < c->module.header->n_launches; i++)
        if (c->entry[i] != NULL)
            d->driver->release_entry(d, c->entry[i]);
    if (c->program != NULL)
        d->driver->unbuild(d, c->program);
    leave(d);
    kiln_cpu_release(&d->base, 0, c->handle);
    kiln_cpu_release(&d->base, 0, c->entry);
    kiln_cpu_release(&d->base, 0, c->bytes);
    kiln_cpu_release(&d->base, 0, c);
}

/* Tables as they were; the code is a module's last part. */
static int translate(code *c, void **out, size_t *n, char *error) {
    const kiln_gpu_driver *driver = c->device->driver;
    kiln_gpu_header h = *c->module.header;
    const size_t room = (size_t)h.code;
    size_t all = 0;
    if (h.code + h.code_bytes != h.bytes || h.language == driver->machine_language) {
        snprintf(error, KILN_ERROR_TEXT, "the module's code is not its last part");
        return -1;
    }
    if (driver->translate(c->device, &c->module, room, out, &all, error) != 0)
        return -1;
    h.language = driver->machine_language;
    h.code_bytes = all - room;
    h.bytes = all;
    memcpy(*out, c->bytes, room);
    memcpy(*out, &h, sizeof h);
    *n = all;
    return 0;
}

int kiln_gpu_module_translate(kiln_device *base, const kiln_device_image *image,
                              void **bytes, size_t *n, char error[KILN_ERROR_TEXT]) {
    kiln_gpu_device *d = (kiln_gpu_device *)base;
    code c = {.base = {base->kind}, .device = d};
    int failed = read_module(&c, image, error);
    if (!failed) {
        enter(d);
        failed = translate(&c, bytes, n, error);
        leave(d);
    }
    kiln_cpu_release(base, 0, c.bytes);
    return failed;
}
