/* Inside kiln-cudnn: the part of NVIDIA's libraries that it uses, declared from their
 * published references (CUDA Driver API, cuDNN 8 and 9, cuBLAS and cuBLASLt 11 to 13), so
 * that building needs none of them: they are found and opened when the program starts.
 *
 *     kiln_nv_open(folder, &nv, err)     opens them, and a GPU (cudnn_open.c)
 *     kiln_nv_way                        one way to compute an operator, ready to run
 *     kiln_nv_conv, kiln_nv_matmul       all ways that there are (cudnn_conv.c, cublas.c)
 *     kiln_nv_time                       one run by the GPU's own clock (library_cudnn.c)
 */
#ifndef KILN_PIPELINE_BASELINES_LIBRARY_CUDNN_API_H
#define KILN_PIPELINE_BASELINES_LIBRARY_CUDNN_API_H

#include "pipeline/baselines/library/library.h"

/* ---- the published interfaces ---------------------------------------------------- */

typedef unsigned long long kiln_nv_address;

/* cudnnConvolutionFwdAlgoPerf_t */
typedef struct kiln_nv_algorithm {
    int algorithm, status;
    float ms;
    size_t workspace;
    int determinism, math, reserved[3];
} kiln_nv_algorithm;

/* cublasLtMatmulAlgo_t, cublasLtMatmulHeuristicResult_t */
typedef struct kiln_nv_lt_algorithm {
    uint64_t data[8];
} kiln_nv_lt_algorithm;
typedef struct kiln_nv_heuristic {
    kiln_nv_lt_algorithm algorithm;
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
} kiln_nv_heuristic;

typedef struct kiln_nv_api {
#define KILN_NV(whose, result, name, parameters) result(*name) parameters;
#include "pipeline/baselines/library/cudnn.def"
#undef KILN_NV
} kiln_nv_api;

/* ---- what is open ---------------------------------------------------------------- */

typedef struct kiln_nv {
    kiln_nv_api api; /* BLAS and LT are NULL where has_blas is not */
    bool has_blas;
    char device[128], version[64];
    void *stream, *begin, *end; /* events */
    void *cudnn, *blas, *lt;    /* handles; NULL until they are asked for */
    kiln_nv_address workspace;
    size_t workspace_bytes;
} kiln_nv;

/* folder: where the libraries are, or a Python environment's folder `nvidia` above
 * those; "": where the loader looks. KILN_ERR_MISSING: no driver, no GPU or no library;
 * KILN_ERR_LIB: one that cannot be used. */
kiln_status kiln_nv_open(const char *folder, kiln_nv *out, kiln_err *err);

/* 0 is success in all of them. */
kiln_status kiln_nv_driver_says(const kiln_nv *nv, int code, const char *doing,
                                kiln_err *err);
kiln_status kiln_nv_cudnn_says(const kiln_nv *nv, int code, const char *doing,
                               kiln_err *err);
kiln_status kiln_nv_blas_says(int code, const char *doing, kiln_err *err);

/* ---- memory ---------------------------------------------------------------------- */

/* Lives as long as the process. from NULL: nothing is in it. */
kiln_status kiln_nv_memory(const kiln_nv *nv, const void *from, size_t bytes,
                           kiln_nv_address *out, kiln_err *err);
void *kiln_nv_pointer(kiln_nv_address a);
/* Makes the workspace that all ways share, once: as much of two gigabytes as there is. */
kiln_status kiln_nv_workspace(kiln_nv *nv, kiln_err *err);

/* ---- ways ------------------------------------------------------------------------ */

typedef struct kiln_nv_way {
    kiln_nv *nv;
    const kiln_library_op *op;
    /* Tells the stream of everything that one run takes. */
    kiln_status (*tell)(const struct kiln_nv_way *w, kiln_err *err);
    void *own;
    kiln_nv_address y;
    bool is_nhwc; /* of y */
    void *graph;  /* several in a row as a CUDA graph, ready to launch; NULL: none */
    int64_t ns;   /* of its median run, by the GPU's clock */
    const char *name;
} kiln_nv_way;
typedef KILN_VEC(kiln_nv_way) kiln_nv_ways;

/* Adds those that the library has. KILN_ERR_UNSUPPORTED: it has none. */
kiln_status kiln_nv_conv(kiln_arena *a, kiln_nv *nv, const kiln_library_op *op,
                         kiln_nv_ways *out, kiln_err *err);
kiln_status kiln_nv_matmul(kiln_arena *a, kiln_nv *nv, const kiln_library_op *op,
                           kiln_nv_ways *out, kiln_err *err);

/* One run, or the mean of those in a row: events around what the stream is told. */
kiln_status kiln_nv_time(const kiln_nv_way *w, int64_t *ns, kiln_err *err);

#endif
