#include "tests/support/gpu/device_run.h"

#include "runtime/device.h"
#include "tests/support/kiln_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPERANDS = 16 };

struct device_code {
    kiln_device_module *module;
    kiln_device_queue *queue;
};

static kiln_device *device;

const char *device_missing(const char *kind) {
    static char why[KILN_ERROR_TEXT];
    static bool is_known;
    kiln_allocator memory;
    if (!is_known) {
        const kiln_device_kind *k = kiln_device_kind_named(kind, NULL, 0);
        /* PoCL keeps what it compiles, in the home folder unless it is told another. */
        (void)setenv("POCL_CACHE_DIR", kiln_test_dir(), 0);
        kiln_allocator_default(&memory);
        if (k == NULL)
            snprintf(why, sizeof why, "there is no kind of device '%.32s'", kind);
        else if (k->open(&memory, &device, why) == 0)
            why[0] = '\0';
    }
    is_known = true;
    return device != NULL ? NULL : why;
}

static size_t workspace_of(const kiln_gpu_module *m) {
    size_t most = 0;
    for (uint32_t i = 0; i < m->header->n_kernels; i++)
        if (m->kernel[i].workspace_bytes > most)
            most = (size_t)m->kernel[i].workspace_bytes;
    return most;
}

kiln_status device_open(kiln_arena *a, kiln_str module, device_code **out,
                        kiln_err *err) {
    const kiln_device_kind *k = device->kind;
    const kiln_device_image image = {.bytes = module.p, .n = module.n};
    char why[KILN_ERROR_TEXT] = "";
    device_code *c = kiln_new(a, device_code);
    kiln_gpu_module m;
    KILN_TRY(kiln_gpu_object_open(a, module, &m, err));
    const kiln_device_queue_options o = {.n_threads = 1,
                                         .workspace_bytes = workspace_of(&m)};
    if (k->module_open(device, &image, &c->module, why) != 0)
        return kiln_fail(err, KILN_ERR_LIB, "%s", why);
    if (k->queue_open(device, &o, &c->queue, why) != 0) {
        k->module_close(c->module);
        return kiln_fail(err, KILN_ERR_LIB, "%s", why);
    }
    *out = c;
    return KILN_OK;
}

void device_close(device_code *c) {
    device->kind->queue_close(c->queue);
    device->kind->module_close(c->module);
}

static kiln_status run_there(const device_code *c, const kiln_device_launch *l,
                             const opencl_operand *operand, kiln_err *err) {
    const kiln_device_kind *k = device->kind;
    kiln_device_failure failure = {.code = 0};
    for (uint32_t i = 0; i < l->n_operands; i++)
        if (operand[i].bytes > 0)
            (void)k->copy(c->queue, &(kiln_device_copy){.to = l->operand[i],
                                                        .from = operand[i].data,
                                                        .bytes = operand[i].bytes});
    (void)k->launch(c->queue, l);
    for (uint32_t i = 0; i < l->n_operands; i++)
        if (operand[i].bytes > 0)
            (void)k->copy(c->queue, &(kiln_device_copy){.to = operand[i].data,
                                                        .from = l->operand[i],
                                                        .bytes = operand[i].bytes});
    if (k->finish(c->queue, KILN_DEVICE_ALL, &failure) == 0)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_LIB, "the device fails with %d: %s", failure.code,
                     failure.why != NULL ? failure.why : "it does not say why");
}

kiln_status device_run(device_code *c, const char *symbol,
                       const opencl_operand *operand, int n, kiln_err *err) {
    const kiln_device_kind *k = device->kind;
    void *there[MOST_OPERANDS] = {NULL};
    kiln_device_launch l = {.operand = there, .n_operands = (uint32_t)n};
    kiln_status st = KILN_OK;
    if (n > MOST_OPERANDS || k->module_kernel(c->module, symbol, &l.kernel) != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "the module has no kernel '%s' of %d operands", symbol, n);
    for (int i = 0; i < n && st == KILN_OK; i++) {
        there[i] = k->alloc(device, 0, operand[i].bytes > 0 ? operand[i].bytes : 1);
        if (there[i] == NULL)
            st = kiln_fail(err, KILN_ERR_OOM, "the device has no %zu bytes",
                           operand[i].bytes);
    }
    if (st == KILN_OK)
        st = run_there(c, &l, operand, err);
    for (int i = 0; i < n; i++)
        if (there[i] != NULL)
            k->release(device, 0, there[i]);
    return st;
}
