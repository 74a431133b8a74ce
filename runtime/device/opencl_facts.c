/* What OpenCL says of its devices, all platforms' one after another. The numbers of
 * queries are those of the specification, table of clGetDeviceInfo. */
#include "runtime/device/opencl_api.h"
#include "runtime/facts.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_PLATFORMS = 16,
    MAX_DEVICES = 32,
    MAX_NAME = 120,
    MAX_EXTENSIONS = 8192,
    COMPUTE_UNITS = 0x1002,
    GROUP_SIZE = 0x1004,
    CLOCK_MHZ = 0x100C,
    CACHE_BYTES = 0x101E,
    LOCAL_BYTES = 0x1023,
    EXTENSIONS = 0x1030,
    KHZ = 1000
};
_Static_assert(2 * MAX_NAME + 2 <= KILN_FACTS_TITLE, "a device's name has room");

/* OpenCL's numbers have as many bytes as their own type; what is no number of so many is
 * not said. */
static int64_t ask(const kiln_opencl_api *cl, kiln_cl_device d, uint32_t what) {
    uint64_t value = 0;
    size_t has = 0;
    if (cl->clGetDeviceInfo(d, what, sizeof value, &value, &has) != 0)
        return 0;
    if (has == sizeof(uint32_t)) {
        uint32_t half;
        memcpy(&half, &value, sizeof half);
        value = half;
    }
    return value <= INT64_MAX ? (int64_t)value : 0;
}

static int32_t ask_int(const kiln_opencl_api *cl, kiln_cl_device d, uint32_t what) {
    const int64_t n = ask(cl, d, what);
    return n <= INT32_MAX ? (int32_t)n : 0;
}

static void describe(const kiln_opencl_api *cl, kiln_cl_platform p, kiln_cl_device d,
                     kiln_gpu_facts *out) {
    char platform[MAX_NAME] = "", device[MAX_NAME] = "",
         extensions[MAX_EXTENSIONS] = "";
    *out = (kiln_gpu_facts){.kind = "opencl"};
    /* What is too long for these is left empty by the driver. */
    cl->clGetPlatformInfo(p, KILN_CL_PLATFORM_NAME, sizeof platform - 1, platform,
                          NULL);
    cl->clGetDeviceInfo(d, KILN_CL_DEVICE_NAME, sizeof device - 1, device, NULL);
    cl->clGetDeviceInfo(d, EXTENSIONS, sizeof extensions - 1, extensions, NULL);
    snprintf(out->title, sizeof out->title, "%s: %s", platform, device);
    const uint64_t type = (uint64_t)ask(cl, d, KILN_CL_DEVICE_TYPE);
    const int32_t mhz = ask_int(cl, d, CLOCK_MHZ);
    out->is_processor = (type & KILN_CL_DEVICE_TYPE_CPU) != 0;
    out->has_f16 = strstr(extensions, "cl_khr_fp16") != NULL;
    out->block_threads = ask_int(cl, d, GROUP_SIZE);
    out->shared_bytes = out->shared_most_bytes = ask_int(cl, d, LOCAL_BYTES);
    out->processors = ask_int(cl, d, COMPUTE_UNITS);
    out->clock_khz = mhz <= INT32_MAX / KHZ ? mhz * KHZ : 0;
    out->l2_bytes = ask(cl, d, CACHE_BYTES);
}

int kiln_opencl_facts(uint32_t i, kiln_gpu_facts *out, char error[KILN_ERROR_TEXT]) {
    const kiln_opencl_api *cl = kiln_opencl_api_open(error);
    kiln_cl_platform p[MAX_PLATFORMS];
    kiln_cl_device d[MAX_DEVICES];
    uint32_t n_platforms = 0, n_seen = 0;
    if (cl == NULL)
        return -1;
    if (cl->clGetPlatformIDs(MAX_PLATFORMS, p, &n_platforms) != 0)
        n_platforms = 0;
    for (uint32_t k = 0; k < n_platforms && k < MAX_PLATFORMS; k++) {
        uint32_t n = 0;
        if (cl->clGetDeviceIDs(p[k], KILN_CL_DEVICE_TYPE_ALL, MAX_DEVICES, d, &n) != 0)
            continue;
        n = n < MAX_DEVICES ? n : MAX_DEVICES;
        if (i - n_seen < n) {
            describe(cl, p[k], d[i - n_seen], out);
            return 0;
        }
        n_seen += n;
    }
    if (n_seen > 0)
        return 1;
    snprintf(error, KILN_ERROR_TEXT,
             "this machine has no OpenCL device: install its driver, or "
             "pocl-opencl-icd, which runs OpenCL on the processor");
    return -1;
}
