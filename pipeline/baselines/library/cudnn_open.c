/* NVIDIA's libraries, found and opened at run time. Those of Python wheels lie in
 * neighbouring folders and depend on one another, so each is opened before those that
 * need it, for all to see; the loader then knows it by its name. */
#include "pipeline/baselines/library/cudnn_api.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum whose { DRIVER, CUDNN, BLAS, LT } whose;

static const struct {
    whose whose;
    const char *name;
    size_t at;
} symbols[] = {
#define KILN_NV(whose, result, name, parameters)                                       \
    {whose, #name, offsetof(kiln_nv_api, name)},
#include "pipeline/baselines/library/cudnn.def"
#undef KILN_NV
};
_Static_assert(sizeof(void *) == sizeof(((kiln_nv_api *)NULL)->cuInit),
               "pointers to functions");

/* ---- files ----------------------------------------------------------------------- */

/* Below the folder: as packages have them, and wheels for CUDA 12 and 13. */
static const char *const places[] = {"",
                                     "lib",
                                     "lib64",
                                     "cudnn/lib",
                                     "cu13/lib",
                                     "cublas/lib",
                                     "cuda_nvrtc/lib",
                                     "cuda_runtime/lib",
                                     "nvjitlink/lib"};

/* Ahead of those that need them; none of these must be there. */
static const char *const ahead[] = {"libcudart.so.13",
                                    "libcudart.so.12",
                                    "libnvJitLink.so.13",
                                    "libnvJitLink.so.12",
                                    "libnvrtc.so.13",
                                    "libnvrtc.so.12",
                                    "libcublasLt.so.13",
                                    "libcublasLt.so.12",
                                    "libcublas.so.13",
                                    "libcublas.so.12",
                                    "libcudnn_graph.so.9",
                                    "libcudnn_ops.so.9",
                                    "libcudnn_engines_precompiled.so.9",
                                    "libcudnn_engines_runtime_compiled.so.9",
                                    "libcudnn_heuristic.so.9",
                                    "libcudnn_cnn.so.9",
                                    "libcudnn_adv.so.9"};

enum { N_AHEAD = sizeof ahead / sizeof ahead[0] };
static void *kept[N_AHEAD]; /* open as long as the process */

static void *open_in(kiln_arena *a, const char *folder, const char *file) {
    void *library = NULL;
    if (folder[0] == '\0')
        return dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    for (size_t i = 0; library == NULL && i < sizeof places / sizeof places[0]; i++) {
        const char *path = kiln_path_join(
            a, places[i][0] != '\0' ? kiln_path_join(a, folder, places[i]) : folder,
            file);
        if (kiln_file_exists(path))
            library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    }
    return library;
}

/* The first of several versions, here or where the loader looks. */
static void *open_one(kiln_arena *a, const char *folder, const char *const *file,
                      kiln_str *why) {
    void *library = NULL;
    for (; library == NULL && *file != NULL; file++) {
        library = open_in(a, folder, *file);
        if (library == NULL && folder[0] != '\0')
            library = open_in(a, "", *file);
        const char *said = library == NULL ? dlerror() : NULL;
        if (said != NULL && why->n == 0)
            *why = kiln_str_from(kiln_str_dup(a, said));
    }
    return library;
}

static kiln_status look_up(whose of, void *library, kiln_nv_api *api, kiln_err *err) {
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        if (symbols[i].whose != of)
            continue;
        void *found = dlsym(library, symbols[i].name);
        if (found == NULL)
            return kiln_fail(err, KILN_ERR_LIB, "NVIDIA's library has no '%s'",
                             symbols[i].name);
        memcpy((char *)api + symbols[i].at, &found, sizeof found);
    }
    return KILN_OK;
}

static kiln_status missing(const char *what, const char *remedy, kiln_str why,
                           kiln_err *err) {
    return kiln_fail(err, KILN_ERR_MISSING, "%s cannot be opened (%.*s): %s", what,
                     (int)(why.n < 200 ? why.n : 200), why.p != NULL ? why.p : "",
                     remedy);
}

static kiln_status open_driver(kiln_arena *a, kiln_nv *nv, kiln_err *err) {
    const char *other = getenv("KILN_CUDA_LIBRARY");
    const char *const file[] = {
        other != NULL && other[0] != '\0' ? other : "libcuda.so.1", NULL};
    kiln_str why = {"", 0};
    void *library = open_one(a, "", file, &why);
    if (library == NULL)
        return missing(file[0], "an NVIDIA GPU and its driver are needed", why, err);
    return look_up(DRIVER, library, &nv->api, err);
}

static kiln_status open_libraries(kiln_arena *a, const char *folder, kiln_nv *nv,
                                  kiln_err *err) {
    static const char *const cudnn[] = {"libcudnn.so.9", "libcudnn.so.8", NULL};
    static const char *const blas[] = {"libcublas.so.13", "libcublas.so.12",
                                       "libcublas.so.11", NULL};
    static const char *const lt[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                     "libcublasLt.so.11", NULL};
    kiln_str why = {"", 0}, ignored = {"", 0};
    for (int i = 0; i < N_AHEAD; i++)
        kept[i] = open_in(a, folder, ahead[i]);
    (void)dlerror();
    void *library = open_one(a, folder, cudnn, &why);
    if (library == NULL)
        return missing("libcudnn.so.9", "cuDNN is not here", why, err);
    KILN_TRY(look_up(CUDNN, library, &nv->api, err));
    void *of_blas = open_one(a, folder, blas, &ignored);
    void *of_lt = open_one(a, folder, lt, &ignored);
    nv->has_blas = of_blas != NULL && of_lt != NULL;
    if (!nv->has_blas)
        return KILN_OK;
    KILN_TRY(look_up(BLAS, of_blas, &nv->api, err));
    return look_up(LT, of_lt, &nv->api, err);
}

/* ---- the GPU --------------------------------------------------------------------- */

kiln_status kiln_nv_driver_says(const kiln_nv *nv, int code, const char *doing,
                                kiln_err *err) {
    const char *text = NULL;
    if (code == 0)
        return KILN_OK;
    (void)nv->api.cuGetErrorString(code, &text);
    return kiln_fail(err, KILN_ERR_LIB, "CUDA's driver says %d, %s (%s)", code,
                     text != NULL ? text : "which has no name", doing);
}

static kiln_status open_gpu(kiln_nv *nv, kiln_err *err) {
    const kiln_nv_api *api = &nv->api;
    int n = 0, device = 0;
    void *context = NULL;
    const int code = api->cuInit(0);
    if (code != 0 || api->cuDeviceGetCount(&n) != 0 || n < 1)
        return kiln_fail(err, KILN_ERR_MISSING,
                         "CUDA's driver finds no GPU (it says %d)", code);
    KILN_TRY(
        kiln_nv_driver_says(nv, api->cuDeviceGet(&device, 0), "finding the GPU", err));
    (void)api->cuDeviceGetName(nv->device, (int)sizeof nv->device - 1, device);
    /* Libraries work in the primary context, as the runtime does. */
    KILN_TRY(kiln_nv_driver_says(nv, api->cuDevicePrimaryCtxRetain(&context, device),
                                 "opening the GPU", err));
    KILN_TRY(
        kiln_nv_driver_says(nv, api->cuCtxSetCurrent(context), "opening the GPU", err));
    int st = api->cuStreamCreate(&nv->stream, 1); /* waits for no other stream */
    if (st == 0)
        st = api->cuEventCreate(&nv->begin, 0);
    if (st == 0)
        st = api->cuEventCreate(&nv->end, 0);
    return kiln_nv_driver_says(nv, st, "making a stream", err);
}

/* 91002 is 9.10.2 since version 9; 8902 is 8.9.2. */
static void put_version(kiln_nv *nv) {
    const size_t v = nv->api.cudnnGetVersion();
    const size_t major = v >= 90000 ? v / 10000 : v / 1000,
                 rest = v >= 90000 ? v % 10000 : v % 1000;
    int blas[3] = {0, 0, 0};
    for (int i = 0; nv->has_blas && i < 3; i++)
        (void)nv->api.cublasGetProperty(i, &blas[i]);
    const int n = snprintf(nv->version, sizeof nv->version, "%zu.%zu.%zu", major,
                           rest / 100, rest % 100);
    if (nv->has_blas && n > 0)
        (void)snprintf(nv->version + n, sizeof nv->version - (size_t)n,
                       ", cuBLAS %d.%d.%d", blas[0], blas[1], blas[2]);
}

kiln_status kiln_nv_open(const char *folder, kiln_nv *out, kiln_err *err) {
    kiln_arena a = {0};
    *out = (kiln_nv){.has_blas = false};
    kiln_status st = open_driver(&a, out, err);
    if (st == KILN_OK)
        st = open_libraries(&a, folder, out, err);
    if (st == KILN_OK)
        st = open_gpu(out, err);
    if (st == KILN_OK)
        put_version(out);
    kiln_arena_fini(&a);
    return st;
}

/* ---- memory ---------------------------------------------------------------------- */

void *kiln_nv_pointer(kiln_nv_address a) { return (void *)(uintptr_t)a; }

kiln_status kiln_nv_memory(const kiln_nv *nv, const void *from, size_t bytes,
                           kiln_nv_address *out, kiln_err *err) {
    KILN_TRY(kiln_nv_driver_says(nv, nv->api.cuMemAlloc_v2(out, bytes), "taking memory",
                                 err));
    if (from == NULL)
        return KILN_OK;
    return kiln_nv_driver_says(nv, nv->api.cuMemcpyHtoD_v2(*out, from, bytes),
                               "copying to the GPU", err);
}

kiln_status kiln_nv_workspace(kiln_nv *nv, kiln_err *err) {
    static const size_t most = (size_t)2 << 30, least = (size_t)32 << 20;
    int code = 0;
    for (size_t n = most; nv->workspace == 0 && n >= least; n /= 2) {
        code = nv->api.cuMemAlloc_v2(&nv->workspace, n);
        nv->workspace = code == 0 ? nv->workspace : 0;
        nv->workspace_bytes = code == 0 ? n : 0;
    }
    return kiln_nv_driver_says(nv, nv->workspace != 0 ? 0 : code, "taking a workspace",
                               err);
}

/* ---- what libraries say ---------------------------------------------------------- */

kiln_status kiln_nv_cudnn_says(const kiln_nv *nv, int code, const char *doing,
                               kiln_err *err) {
    const char *text = code != 0 ? nv->api.cudnnGetErrorString(code) : NULL;
    if (code == 0)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_LIB, "cuDNN says %d, %s (%s)", code,
                     text != NULL ? text : "which has no name", doing);
}

kiln_status kiln_nv_blas_says(int code, const char *doing, kiln_err *err) {
    if (code == 0)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_LIB, "cuBLAS says %d (%s)", code, doing);
}
