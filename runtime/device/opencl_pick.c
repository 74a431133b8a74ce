/* Which of a machine's OpenCL devices is used. */
#include "runtime/device/device_opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 32, MAX_NAME = 120 };
_Static_assert(2 * MAX_NAME + 2 <= KILN_OPENCL_TITLE, "a device's name has room");

typedef struct choice {
    const char *wanted; /* NULL: whichever is best */
    int rank;           /* of the best so far; 0: none */
    kiln_cl_platform platform;
    kiln_cl_device device;
    char title[KILN_OPENCL_TITLE];
    char seen[KILN_ERROR_TEXT]; /* names of those that there are, as far as they fit */
} choice;

static int rank_of(uint64_t type) {
    return (type & KILN_CL_DEVICE_TYPE_GPU) != 0           ? 3
           : (type & KILN_CL_DEVICE_TYPE_ACCELERATOR) != 0 ? 2
                                                           : 1;
}

static void note(choice *c, const char *name) {
    const size_t n = strlen(c->seen);
    snprintf(c->seen + n, sizeof c->seen - n, "%s'%s'", n > 0 ? ", " : "", name);
}

static void look_at(const kiln_opencl_api *cl, choice *c, kiln_cl_platform p,
                    kiln_cl_device d) {
    char platform[MAX_NAME] = "", device[MAX_NAME] = "", name[2 * MAX_NAME + 2];
    uint64_t type = 0;
    /* Names that are too long for this are left empty by the driver. */
    cl->clGetPlatformInfo(p, KILN_CL_PLATFORM_NAME, sizeof platform - 1, platform,
                          NULL);
    cl->clGetDeviceInfo(d, KILN_CL_DEVICE_NAME, sizeof device - 1, device, NULL);
    if (cl->clGetDeviceInfo(d, KILN_CL_DEVICE_TYPE, sizeof type, &type, NULL) != 0)
        return;
    snprintf(name, sizeof name, "%s: %s", platform, device);
    note(c, name);
    if (rank_of(type) <= c->rank ||
        (c->wanted != NULL && strstr(name, c->wanted) == NULL))
        return;
    c->rank = rank_of(type);
    c->platform = p;
    c->device = d;
    memcpy(c->title, name, sizeof name);
}

int kiln_opencl_pick(const kiln_opencl_api *cl, kiln_cl_platform *platform,
                     kiln_cl_device *device, char title[KILN_OPENCL_TITLE],
                     char error[KILN_ERROR_TEXT]) {
    kiln_cl_platform p[MAX_PLATFORMS];
    kiln_cl_device d[MAX_DEVICES];
    choice c = {.wanted = getenv("KILN_OPENCL_DEVICE")};
    uint32_t n_platforms = 0;
    if (c.wanted != NULL && c.wanted[0] == '\0')
        c.wanted = NULL;
    if (cl->clGetPlatformIDs(MAX_PLATFORMS, p, &n_platforms) != 0)
        n_platforms = 0;
    for (uint32_t i = 0; i < n_platforms && i < MAX_PLATFORMS; i++) {
        uint32_t n_devices = 0;
        if (cl->clGetDeviceIDs(p[i], KILN_CL_DEVICE_TYPE_ALL, MAX_DEVICES, d,
                               &n_devices) != 0)
            continue;
        for (uint32_t k = 0; k < n_devices && k < MAX_DEVICES; k++)
            look_at(cl, &c, p[i], d[k]);
    }
    *platform = c.platform;
    *device = c.device;
    memcpy(title, c.title, sizeof c.title);
    if (c.rank > 0)
        return 0;
    if (c.seen[0] == '\0')
        snprintf(
            error, KILN_ERROR_TEXT,
            "this machine has no OpenCL device: install its driver, or "
            "pocl-opencl-icd, which runs OpenCL on the processor; that one must be "
            "able to write to POCL_CACHE_DIR or ~/.cache");
    else
        snprintf(error, KILN_ERROR_TEXT,
                 "KILN_OPENCL_DEVICE is '%.60s', which is part of no OpenCL device's "
                 "name: %.120s",
                 c.wanted, c.seen);
    return -1;
}
