#include "tests/support/gpu/opencl_run.h"

#include "tests/support/kiln_test.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* OpenCL 1.2, as far as it is used: handles are pointers, sizes are size_t, results are
 * 32-bit numbers of which 0 is success. */
typedef void *handle;
enum {
    DEVICE_ALL = -1,
    MEM_READ_WRITE = 1,
    BUILD_LOG = 0x1183,
    MAX_PLATFORMS = 16,
    ALIGN = 64
};
typedef struct api {
    int32_t (*get_platforms)(uint32_t, handle *, uint32_t *);
    int32_t (*get_devices)(handle, uint64_t, uint32_t, handle *, uint32_t *);
    handle (*create_context)(const intptr_t *, uint32_t, const handle *, void *, void *,
                             int32_t *);
    handle (*create_queue)(handle, handle, uint64_t, int32_t *);
    handle (*create_program)(handle, uint32_t, const char **, const size_t *,
                             int32_t *);
    int32_t (*build)(handle, uint32_t, const handle *, const char *, void *, void *);
    int32_t (*build_info)(handle, handle, uint32_t, size_t, void *, size_t *);
    handle (*create_kernel)(handle, const char *, int32_t *);
    int32_t (*set_arg)(handle, uint32_t, size_t, const void *);
    handle (*create_buffer)(handle, uint64_t, size_t, void *, int32_t *);
    handle (*create_part)(handle, uint64_t, uint32_t, const void *, int32_t *);
    int32_t (*write)(handle, handle, uint32_t, size_t, size_t, const void *, uint32_t,
                     const handle *, handle *);
    int32_t (*read)(handle, handle, uint32_t, size_t, size_t, void *, uint32_t,
                    const handle *, handle *);
    int32_t (*launch)(handle, handle, uint32_t, const size_t *, const size_t *,
                      const size_t *, uint32_t, const handle *, handle *);
    int32_t (*finish)(handle);
    int32_t (*release_memory)(handle);
    int32_t (*release_kernel)(handle);
    int32_t (*release_program)(handle);
} api;

static api cl;
static handle device, context, queue;
static int32_t opened; /* what opening them came to */

struct opencl_code {
    const kiln_gpu_module *module;
    handle program;
};

/* ---- the library ----------------------------------------------------------------- */

static const char *open_library(void) {
    static const struct {
        const char *name;
        void **to;
    } table[] = {{"clGetPlatformIDs", (void **)&cl.get_platforms},
                 {"clGetDeviceIDs", (void **)&cl.get_devices},
                 {"clCreateContext", (void **)&cl.create_context},
                 {"clCreateCommandQueue", (void **)&cl.create_queue},
                 {"clCreateProgramWithSource", (void **)&cl.create_program},
                 {"clBuildProgram", (void **)&cl.build},
                 {"clGetProgramBuildInfo", (void **)&cl.build_info},
                 {"clCreateKernel", (void **)&cl.create_kernel},
                 {"clSetKernelArg", (void **)&cl.set_arg},
                 {"clCreateBuffer", (void **)&cl.create_buffer},
                 {"clCreateSubBuffer", (void **)&cl.create_part},
                 {"clEnqueueWriteBuffer", (void **)&cl.write},
                 {"clEnqueueReadBuffer", (void **)&cl.read},
                 {"clEnqueueNDRangeKernel", (void **)&cl.launch},
                 {"clFinish", (void **)&cl.finish},
                 {"clReleaseMemObject", (void **)&cl.release_memory},
                 {"clReleaseKernel", (void **)&cl.release_kernel},
                 {"clReleaseProgram", (void **)&cl.release_program}};
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return "no libOpenCL.so.1";
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        *table[i].to = dlsym(library, table[i].name);
        if (*table[i].to == NULL)
            return "libOpenCL.so.1 lacks a function of OpenCL 1.2";
    }
    return NULL;
}

static const char *find_device(void) {
    handle platform[MAX_PLATFORMS];
    uint32_t n = 0, n_devices = 0;
    /* PoCL keeps what it compiles, in the home folder unless it is told another. */
    (void)setenv("POCL_CACHE_DIR", kiln_test_dir(), 0);
    const char *why = open_library();
    if (why != NULL)
        return why;
    if (cl.get_platforms(MAX_PLATFORMS, platform, &n) != 0 || n == 0)
        return "no platform of OpenCL";
    if (n > MAX_PLATFORMS)
        n = MAX_PLATFORMS;
    for (uint32_t i = 0; i < n && n_devices == 0; i++)
        if (cl.get_devices(platform[i], 0xFFFFFFFF, 1, &device, &n_devices) != 0)
            n_devices = 0;
    if (n_devices == 0)
        return "no device of OpenCL";
    context = cl.create_context(NULL, 1, &device, NULL, NULL, &opened);
    if (context != NULL)
        queue = cl.create_queue(context, device, 0, &opened);
    return queue == NULL ? "the OpenCL device opens no queue" : NULL;
}

const char *opencl_missing(void) {
    static const char *why;
    static bool is_known;
    if (!is_known)
        why = find_device();
    is_known = true;
    return why;
}

/* ---- code ------------------------------------------------------------------------ */

kiln_status opencl_open(kiln_arena *a, const kiln_gpu_module *m, opencl_code **out,
                        kiln_err *err) {
    opencl_code *c = kiln_new(a, opencl_code);
    const char *text = m->code;
    int32_t st = 0;
    size_t n = 0;
    c->module = m;
    c->program = cl.create_program(context, 1, &text, NULL, &st);
    if (c->program == NULL)
        return kiln_fail(err, KILN_ERR_LIB, "OpenCL takes no program: %d", st);
    *out = c;
    st = cl.build(c->program, 1, &device, "-cl-std=CL1.2", NULL, NULL);
    if (st == 0)
        return KILN_OK;
    (void)cl.build_info(c->program, device, BUILD_LOG, 0, NULL, &n);
    char *log = kiln_arena_alloc(a, n + 1);
    (void)cl.build_info(c->program, device, BUILD_LOG, n, log, NULL);
    return kiln_fail(err, KILN_ERR_LIB, "OpenCL compiles nothing (%d): %s", st, log);
}

void opencl_close(opencl_code *c) { (void)cl.release_program(c->program); }

/* ---- launches -------------------------------------------------------------------- */

typedef struct running {
    opencl_code *c;
    handle *operand, work;
    handle part[4096]; /* of the workspace, while the launches go on */
    size_t n_parts, work_bytes;
} running;

static int32_t give(running *r, handle kernel, uint32_t at, const kiln_gpu_arg *arg) {
    int32_t st = 0;
    if (arg->kind == KILN_GPU_I64)
        return cl.set_arg(kernel, at, sizeof arg->value, &arg->value);
    if (arg->kind == KILN_GPU_OPERAND)
        return cl.set_arg(kernel, at, sizeof(handle), &r->operand[arg->index]);
    const size_t region[2] = {(size_t)arg->value, r->work_bytes - (size_t)arg->value};
    if (r->n_parts >= sizeof r->part / sizeof r->part[0])
        return -1;
    handle part = cl.create_part(r->work, MEM_READ_WRITE, 0x1220, region, &st);
    r->part[r->n_parts++] = part;
    return st != 0 ? st : cl.set_arg(kernel, at, sizeof(handle), &part);
}

static kiln_status launch(running *r, const kiln_gpu_launch *l, kiln_err *err) {
    const kiln_gpu_module *m = r->c->module;
    const char *entry = m->string + l->entry;
    int32_t st = 0;
    size_t global[3], local[3];
    const handle kernel = cl.create_kernel(r->c->program, entry, &st);
    if (kernel == NULL)
        return kiln_fail(err, KILN_ERR_LIB, "OpenCL has no kernel '%s': %d", entry, st);
    for (uint32_t i = 0; i < l->n_args && st == 0; i++)
        st = give(r, kernel, i, &m->arg[l->first_arg + i]);
    for (int i = 0; i < 3; i++) {
        local[i] = l->block[i];
        global[i] = (size_t)l->grid[i] * l->block[i];
    }
    if (st == 0)
        st = cl.launch(queue, kernel, 3, NULL, global, local, 0, NULL, NULL);
    (void)cl.release_kernel(kernel);
    if (st != 0)
        return kiln_fail(err, KILN_ERR_LIB, "OpenCL does not launch '%s': %d", entry,
                         st);
    return KILN_OK;
}

static kiln_status run_all(running *r, const kiln_gpu_kernel *k,
                           const opencl_operand *operand, int n, kiln_err *err) {
    int32_t st = 0;
    kiln_status ok = KILN_OK;
    for (int i = 0; i < n && st == 0; i++) {
        const size_t bytes = operand[i].bytes > 0 ? operand[i].bytes : 1;
        r->operand[i] = cl.create_buffer(context, MEM_READ_WRITE, bytes, NULL, &st);
        if (st == 0 && operand[i].bytes > 0)
            st = cl.write(queue, r->operand[i], 1, 0, operand[i].bytes, operand[i].data,
                          0, NULL, NULL);
    }
    r->work_bytes = (size_t)k->workspace_bytes + ALIGN;
    if (st == 0)
        r->work = cl.create_buffer(context, MEM_READ_WRITE, r->work_bytes, NULL, &st);
    for (uint32_t i = 0; i < k->n_launches && st == 0 && ok == KILN_OK; i++)
        ok = launch(r, &r->c->module->launch[k->first_launch + i], err);
    if (st == 0 && ok == KILN_OK)
        st = cl.finish(queue);
    for (int i = 0; i < n && st == 0 && ok == KILN_OK; i++)
        if (operand[i].bytes > 0)
            st = cl.read(queue, r->operand[i], 1, 0, operand[i].bytes, operand[i].data,
                         0, NULL, NULL);
    if (st != 0)
        return kiln_fail(err, KILN_ERR_LIB, "OpenCL fails: %d", st);
    return ok;
}

kiln_status opencl_run(opencl_code *c, const char *symbol,
                       const opencl_operand *operand, int n, kiln_err *err) {
    kiln_arena a = {0};
    running *r = kiln_new(&a, running);
    const kiln_gpu_kernel *k = kiln_gpu_module_find(c->module, symbol);
    if (k == NULL || k->n_operands != (uint32_t)n) {
        kiln_arena_fini(&a);
        return kiln_fail(err, KILN_ERR_ARG,
                         "the module has no kernel '%s' of %d operands", symbol, n);
    }
    r->c = c;
    r->operand = kiln_array(&a, handle, n + 1);
    const kiln_status st = run_all(r, k, operand, n, err);
    for (size_t i = 0; i < r->n_parts; i++)
        if (r->part[i] != NULL)
            (void)cl.release_memory(r->part[i]);
    for (int i = 0; i < n; i++)
        if (r->operand[i] != NULL)
            (void)cl.release_memory(r->operand[i]);
    if (r->work != NULL)
        (void)cl.release_memory(r->work);
    kiln_arena_fini(&a);
    return st;
}
