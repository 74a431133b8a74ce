/* A library with the names of CUDA's driver, cuDNN and cuBLAS, for machines without a GPU:
 * what kiln-cudnn asks is computed on the host, when it is asked, or when a graph that it
 * was captured in is launched. Its clock is what each way is made up to cost, so that the
 * fastest is known: algorithm 1 before 0, NHWC before NCHW, fused before apart, the second
 * proposal before the first, a graph before calls. */
#include "pipeline/baselines/library/cudnn_api.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KILN_NV(whose, result, name, parameters) result name parameters;
#include "pipeline/baselines/library/cudnn.def"
#undef KILN_NV

enum {
    NO_MEMORY = 2,
    BAD = 3,
    NONE_SUCH = 9,
    MAX_TOLD = 128,
    ALIGNED = 256,
    ALL_BYTES = 1 << 27
};
enum { FMA = 3, PRECOMP = 1, RELU = 1, N_ALGORITHMS = 3, N_PROPOSALS = 2 };

typedef struct tensor {
    int is_nhwc, type, dim[4];
} tensor;
typedef struct convolution {
    int pad[2], stride[2], dilation[2], groups, math;
} convolution;
typedef struct activation {
    int mode;
    double coefficient;
} activation;
typedef struct layout {
    int type, batch;
    uint64_t rows, columns;
    int64_t ld, stride;
} layout;
typedef struct description {
    int compute, trans_a, trans_b;
    unsigned epilogue;
    const float *bias;
} description;

/* One call, told to the stream. Column-major: y = a b. */
typedef struct work {
    enum { CONVOLVE, ADD, ACTIVATE, MULTIPLY } kind;
    tensor x_d, w_d, y_d;
    convolution conv;
    activation act;
    const float *x, *w;
    float *y;
    int trans_a, trans_b, epilogue, batch, is_half;
    int64_t m, n, k, lda, ldb, a_stride, b_stride;
    const float *bias, *sum;
    double cost;
} work;

static double clock_ms;
static bool is_capturing;
static work captured[MAX_TOLD];
static int n_captured, handle;

/* Zeroed; never given back: a process has one operator. NULL: there is no more. */
static void *take(size_t bytes) {
    static _Alignas(ALIGNED) char memory[ALL_BYTES];
    static size_t used;
    if (bytes + ALIGNED > ALL_BYTES - used)
        return NULL;
    void *at = memory + used;
    used += (bytes + ALIGNED) / ALIGNED * ALIGNED;
    return at;
}

/* ---- what is computed -------------------------------------------------------------- */

static size_t at(const tensor *t, int n, int c, int y, int x) {
    const size_t rows = (size_t)t->dim[2], columns = (size_t)t->dim[3];
    return t->is_nhwc
               ? (((size_t)n * rows + (size_t)y) * columns + (size_t)x) *
                         (size_t)t->dim[1] +
                     (size_t)c
               : (((size_t)n * (size_t)t->dim[1] + (size_t)c) * rows + (size_t)y) *
                         columns +
                     (size_t)x;
}

static double tap(const work *j, int n, int c, int i, int k) {
    const bool is_in = i >= 0 && i < j->x_d.dim[2] && k >= 0 && k < j->x_d.dim[3];
    return is_in ? (double)j->x[at(&j->x_d, n, c, i, k)] : 0;
}

static float window(const work *j, int n, int o, int i, int k) {
    const convolution *v = &j->conv;
    const int each = j->w_d.dim[1], first = o / (j->y_d.dim[1] / v->groups) * each;
    double sum = 0;
    for (int c = 0; c < each; c++)
        for (int p = 0; p < j->w_d.dim[2]; p++)
            for (int q = 0; q < j->w_d.dim[3]; q++)
                sum += tap(j, n, first + c,
                           i * v->stride[0] + p * v->dilation[0] - v->pad[0],
                           k * v->stride[1] + q * v->dilation[1] - v->pad[1]) *
                       (double)j->w[at(&j->w_d, o, c, p, q)];
    return (float)sum;
}

static float activated(const activation *a, float v) {
    const float c = (float)a->coefficient;
    switch (a->mode) {
    case 0:
        return 1 / (1 + expf(-v));
    case RELU:
        return v > 0 ? v : 0;
    case 2:
        return tanhf(v);
    case 3:
        return v < 0 ? 0 : v > c ? c : v;
    case 4:
        return v > 0 ? v : c * (expf(v) - 1);
    default:
        return v;
    }
}

static void do_pixel(const work *j, int n, int c, int i, int k) {
    const tensor *t = &j->x_d;
    float *y = &j->y[at(&j->y_d, n, c, i, k)];
    if (j->kind == CONVOLVE)
        *y = window(j, n, c, i, k);
    else if (j->kind == ADD)
        *y += j->x[at(t, t->dim[0] > 1 ? n : 0, c, t->dim[2] > 1 ? i : 0,
                      t->dim[3] > 1 ? k : 0)];
    else
        *y = activated(&j->act, *y);
}

static void do_image(const work *j) {
    const int *dim = j->y_d.dim;
    for (int n = 0; n < dim[0]; n++)
        for (int c = 0; c < dim[1]; c++)
            for (int i = 0; i < dim[2]; i++)
                for (int k = 0; k < dim[3]; k++)
                    do_pixel(j, n, c, i, k);
}

/* Normal numbers, and 0. */
static double from_half(uint16_t h) {
    const double part = (h & 0x3ff) / 1024.0, sign = (h & 0x8000) != 0 ? -1 : 1;
    return (h & 0x7c00) == 0 ? 0 : sign * ldexp(1 + part, (h >> 10 & 31) - 15);
}

static uint16_t to_half(double v) {
    int power;
    const double part = frexp(fabs(v), &power);
    const int up = (int)nearbyint((2 * part - 1) * 1024);
    const int bits = ((power - 1 + 15) << 10) + up;
    return v == 0 || bits <= 0 ? 0 : (uint16_t)((v < 0 ? 0x8000 : 0) | bits);
}

static double load(const work *j, const float *from, int64_t i) {
    return j->is_half ? from_half(((const uint16_t *)(const void *)from)[i])
                      : (double)from[i];
}

static double element(const work *j, int64_t of, int64_t r, int64_t c) {
    const int64_t a = of * j->a_stride, b = of * j->b_stride;
    double sum = 0;
    for (int64_t i = 0; i < j->k; i++)
        sum += load(j, j->x, a + (j->trans_a ? i + r * j->lda : r + i * j->lda)) *
               load(j, j->w, b + (j->trans_b ? c + i * j->ldb : i + c * j->ldb));
    if (j->sum != NULL)
        sum += load(j, j->sum, of * j->m * j->n + r + c * j->m);
    if ((j->epilogue & 4) != 0)
        sum += load(j, j->bias, r);
    return (j->epilogue & 2) != 0 && sum < 0 ? 0 : sum;
}

static void do_product(const work *j) {
    uint16_t *half = (uint16_t *)(void *)j->y;
    for (int64_t of = 0; of < j->batch; of++)
        for (int64_t c = 0; c < j->n; c++)
            for (int64_t r = 0; r < j->m; r++) {
                const int64_t to = of * j->m * j->n + r + c * j->m;
                const double v = element(j, of, r, c);
                if (j->is_half)
                    half[to] = to_half(v);
                else
                    j->y[to] = (float)v;
            }
}

static void compute(const work *j, double share) {
    clock_ms += j->cost * share;
    if (j->kind == MULTIPLY)
        do_product(j);
    else
        do_image(j);
}

static int tell(const work *j) {
    if (!is_capturing)
        compute(j, 1);
    else if (n_captured == MAX_TOLD)
        return BAD;
    else
        captured[n_captured++] = *j;
    return 0;
}

static void *host(kiln_nv_address a) { return (void *)(uintptr_t)a; }

/* ---- the driver -------------------------------------------------------------------- */

int cuInit(unsigned flags) { return (int)flags; }
int cuGetErrorString(int code, const char **text) {
    *text = code == NO_MEMORY ? "out of memory" : "made up";
    return 0;
}
int cuDeviceGetCount(int *n) {
    *n = getenv("FAKE_NO_GPU") == NULL;
    return 0;
}
int cuDeviceGet(int *device, int i) {
    *device = i;
    return 0;
}
int cuDeviceGetName(char *name, int n, int device) {
    (void)device;
    strncpy(name, "made up", (size_t)n);
    return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = &handle;
    return device;
}
int cuCtxSetCurrent(void *context) { return context != &handle; }
int cuMemAlloc_v2(kiln_nv_address *p, size_t bytes) {
    void *got = take(bytes);
    *p = (kiln_nv_address)(uintptr_t)got;
    return got != NULL ? 0 : NO_MEMORY;
}
int cuMemcpyHtoD_v2(kiln_nv_address to, const void *from, size_t bytes) {
    memcpy(host(to), from, bytes);
    return 0;
}
int cuMemcpyDtoH_v2(void *to, kiln_nv_address from, size_t bytes) {
    memcpy(to, host(from), bytes);
    return 0;
}
int cuStreamCreate(void **stream, unsigned flags) {
    *stream = &handle;
    return flags != 1;
}
int cuStreamSynchronize(void *stream) { return stream != &handle; }
int cuStreamBeginCapture_v2(void *stream, int mode) {
    if (getenv("FAKE_NO_GRAPHS") != NULL)
        return 801;
    is_capturing = true;
    n_captured = 0;
    return stream != &handle || mode != 1;
}
int cuStreamEndCapture(void *stream, void **graph) {
    work *copy = take((size_t)(n_captured + 1) * sizeof *copy);
    is_capturing = false;
    if (copy == NULL)
        return NO_MEMORY;
    memcpy(copy, captured, (size_t)n_captured * sizeof *copy);
    copy[n_captured].y = NULL; /* the end */
    *graph = copy;
    return stream != &handle;
}
int cuGraphInstantiateWithFlags(void **ready, void *graph, unsigned long long flags) {
    *ready = graph;
    return (int)flags;
}
int cuGraphLaunch(void *ready, void *stream) {
    for (const work *j = ready; j->y != NULL; j++)
        compute(j, 0.9);
    return stream != &handle;
}
int cuGraphDestroy(void *graph) { return graph == NULL; } /* what is ready has it */
int cuLaunchHostFunc(void *stream, void (*fn)(void *user), void *user) {
    (void)
        user; /* who waits at a gate would wait for ever: nothing here is told ahead */
    return stream != &handle || fn == NULL;
}
int cuEventCreate(void **event, unsigned flags) {
    *event = take(sizeof(double));
    return (int)flags;
}
int cuEventRecord(void *event, void *stream) {
    *(double *)event = clock_ms;
    return stream != &handle;
}
int cuEventElapsedTime(float *milliseconds, void *from, void *to) {
    *milliseconds = (float)(*(double *)to - *(double *)from);
    return 0;
}

/* ---- cuDNN ------------------------------------------------------------------------- */

size_t cudnnGetVersion(void) { return 91002; }
const char *cudnnGetErrorString(int status) {
    return status == NONE_SUCH ? "CUDNN_STATUS_NOT_SUPPORTED" : "made up";
}
int cudnnCreate(void **own) {
    *own = &handle;
    return 0;
}
int cudnnSetStream(void *own, void *stream) {
    return own != &handle || stream != &handle;
}
int cudnnCreateTensorDescriptor(void **d) {
    *d = take(sizeof(tensor));
    return 0;
}
int cudnnSetTensor4dDescriptor(void *d, int format, int type, int n, int c, int h,
                               int w) {
    *(tensor *)d = (tensor){format, type, {n, c, h, w}};
    return 0;
}
int cudnnCreateFilterDescriptor(void **d) { return cudnnCreateTensorDescriptor(d); }
int cudnnSetFilter4dDescriptor(void *d, int type, int format, int k, int c, int h,
                               int w) {
    return cudnnSetTensor4dDescriptor(d, format, type, k, c, h, w);
}
int cudnnCreateConvolutionDescriptor(void **d) {
    *d = take(sizeof(convolution));
    return 0;
}
int cudnnSetConvolution2dDescriptor(void *d, int pad_h, int pad_w, int stride_h,
                                    int stride_w, int dilation_h, int dilation_w,
                                    int mode, int type) {
    *(convolution *)d = (convolution){
        {pad_h, pad_w}, {stride_h, stride_w}, {dilation_h, dilation_w}, 1, 0};
    return mode != 1 || type != 0;
}
int cudnnSetConvolutionGroupCount(void *d, int groups) {
    ((convolution *)d)->groups = groups;
    return 0;
}
int cudnnSetConvolutionMathType(void *d, int math) {
    ((convolution *)d)->math = math;
    return 0;
}
int cudnnFindConvolutionForwardAlgorithmEx(void *own, void *x_d, const void *x,
                                           void *w_d, const void *w, void *conv_d,
                                           void *y_d, void *y, int most, int *n,
                                           kiln_nv_algorithm *found, void *workspace,
                                           size_t bytes) {
    const tensor *weights = w_d;
    (void)own, (void)x_d, (void)x, (void)w, (void)y_d, (void)y, (void)bytes;
    if (weights->dim[2] == 7) /* nothing has windows of 7 */
        return NONE_SUCH;
    *n = most < N_ALGORITHMS ? most : N_ALGORITHMS;
    for (int i = 0; i < *n; i++)
        found[i] = (kiln_nv_algorithm){.algorithm = i,
                                       .status = i == 2 ? NONE_SUCH : 0,
                                       .math = ((convolution *)conv_d)->math};
    return workspace == NULL ? BAD : 0;
}
int cudnnConvolutionForward(void *own, const void *alpha, void *x_d, const void *x,
                            void *w_d, const void *w, void *conv_d, int algorithm,
                            void *workspace, size_t bytes, const void *beta, void *y_d,
                            void *y) {
    work j = {.kind = CONVOLVE,
              .x_d = *(tensor *)x_d,
              .w_d = *(tensor *)w_d,
              .y_d = *(tensor *)y_d,
              .conv = *(convolution *)conv_d,
              .x = x,
              .w = w,
              .y = y,
              .cost = algorithm == PRECOMP ? 0.5 : 1};
    j.cost *= j.x_d.is_nhwc ? 0.8 : 1;
    if (*(const float *)alpha != 1 || *(const float *)beta != 0 || own != &handle ||
        workspace == NULL || bytes == 0)
        return BAD;
    /* f32 without TF32. */
    return j.x_d.type != 0 || j.conv.math != FMA || algorithm > 1 ? NONE_SUCH
                                                                  : tell(&j);
}
int cudnnAddTensor(void *own, const void *alpha, void *a_d, const void *a,
                   const void *beta, void *y_d, void *y) {
    const work j = {.kind = ADD,
                    .x_d = *(tensor *)a_d,
                    .y_d = *(tensor *)y_d,
                    .x = a,
                    .y = y,
                    .cost = 0.1};
    return own != &handle || *(const float *)alpha != 1 || *(const float *)beta != 1
               ? BAD
               : tell(&j);
}
int cudnnCreateActivationDescriptor(void **d) {
    *d = take(sizeof(activation));
    return 0;
}
int cudnnSetActivationDescriptor(void *d, int mode, int nan, double coefficient) {
    *(activation *)d = (activation){mode, coefficient};
    return nan;
}
int cudnnActivationForward(void *own, void *activation_d, const void *alpha, void *x_d,
                           const void *x, const void *beta, void *y_d, void *y) {
    const work j = {.kind = ACTIVATE,
                    .act = *(activation *)activation_d,
                    .y_d = *(tensor *)y_d,
                    .y = y,
                    .cost = 0.1};
    return own != &handle || *(const float *)alpha != 1 || *(const float *)beta != 0 ||
                   x != y || x_d != y_d
               ? BAD
               : tell(&j);
}
int cudnnConvolutionBiasActivationForward(void *own, const void *alpha, void *x_d,
                                          const void *x, void *w_d, const void *w,
                                          void *conv_d, int algorithm, void *workspace,
                                          size_t bytes, const void *alpha_z, void *z_d,
                                          const void *z, void *bias_d, const void *bias,
                                          void *activation_d, void *y_d, void *y) {
    static const float one = 1, zero = 0;
    const activation *a = activation_d;
    const int first = n_captured;
    if (a->mode != RELU && algorithm != PRECOMP)
        return NONE_SUCH;
    int st = cudnnConvolutionForward(own, alpha, x_d, x, w_d, w, conv_d, algorithm,
                                     workspace, bytes, &zero, y_d, y);
    const double before = clock_ms;
    if (st == 0 && *(const float *)alpha_z != 0)
        st = cudnnAddTensor(own, &one, z_d, z, &one, y_d, y);
    if (st == 0)
        st = cudnnAddTensor(own, &one, bias_d, bias, &one, y_d, y);
    if (st == 0)
        st = cudnnActivationForward(own, activation_d, &one, y_d, y, &zero, y_d, y);
    clock_ms = before; /* nothing of its own: it is fused */
    for (int i = first + 1; is_capturing && i < n_captured; i++)
        captured[i].cost = 0;
    return st;
}

/* ---- cuBLAS ------------------------------------------------------------------------ */

int cublasCreate_v2(void **own) { return cudnnCreate(own); }
int cublasSetStream_v2(void *own, void *stream) { return cudnnSetStream(own, stream); }
int cublasSetMathMode(void *own, int mode) { return own != &handle ? BAD : mode; }
int cublasGetProperty(int what, int *value) {
    *value = 13 - what;
    return 0;
}
int cublasLtCreate(void **own) { return cudnnCreate(own); }
int cublasLtMatmulDescCreate(void **d, int kind, int scale_type) {
    description *p = take(sizeof *p);
    *d = p;
    if (p != NULL)
        p->compute = kind;
    return scale_type;
}
int cublasLtMatmulDescSetAttribute(void *d, int attribute, const void *value,
                                   size_t bytes) {
    description *p = d;
    void *to = attribute == 3   ? (void *)&p->trans_a
               : attribute == 4 ? (void *)&p->trans_b
               : attribute == 7 ? (void *)&p->epilogue
               : attribute == 8 ? (void *)&p->bias
                                : NULL;
    if (to == NULL || bytes != (attribute == 8 ? sizeof p->bias : sizeof(int)))
        return BAD;
    memcpy(to, value, bytes);
    return 0;
}
int cublasLtMatrixLayoutCreate(void **d, int type, uint64_t rows, uint64_t columns,
                               int64_t ld) {
    layout *l = take(sizeof *l);
    *d = l;
    if (l != NULL)
        *l = (layout){type, 1, rows, columns, ld, 0};
    return 0;
}
int cublasLtMatrixLayoutSetAttribute(void *d, int attribute, const void *value,
                                     size_t bytes) {
    layout *l = d;
    void *to = attribute == 5   ? (void *)&l->batch
               : attribute == 6 ? (void *)&l->stride
                                : NULL;
    if (to == NULL || bytes != (attribute == 5 ? sizeof l->batch : sizeof l->stride))
        return BAD;
    memcpy(to, value, bytes);
    return 0;
}
int cublasLtMatmulPreferenceCreate(void **d) { return cudnnCreate(d); }
int cublasLtMatmulPreferenceSetAttribute(void *d, int attribute, const void *value,
                                         size_t bytes) {
    return d != &handle || attribute != 1 || value == NULL || bytes != sizeof(uint64_t);
}
int cublasLtMatmulAlgoGetHeuristic(void *own, void *d, void *a, void *b, void *c,
                                   void *out, void *preference, int most,
                                   kiln_nv_heuristic *found, int *n) {
    (void)d, (void)a, (void)b, (void)c, (void)out;
    *n = most < N_PROPOSALS ? most : N_PROPOSALS;
    memset(found, 0, (size_t)*n * sizeof *found);
    for (int i = 0; i < *n; i++)
        found[i].algorithm.data[0] = (uint64_t)i;
    return own != &handle || preference != &handle;
}

/* Pedantic or plain f32, in this order of time. */
static double cost_of(int kind) { return kind == 69 ? 1 : 0.9; }

int cublasLtMatmul(void *own, void *d, const void *alpha, const void *a, void *a_d,
                   const void *b, void *b_d, const void *beta, const void *c, void *c_d,
                   void *out, void *out_d, const kiln_nv_lt_algorithm *algorithm,
                   void *workspace, size_t bytes, void *stream) {
    const description *p = d;
    const layout *la = a_d, *lb = b_d, *to = out_d;
    const bool has_sum = *(const float *)beta != 0;
    const work j = {.kind = MULTIPLY,
                    .x = a,
                    .w = b,
                    .y = out,
                    .is_half = la->type == 2,
                    .trans_a = p->trans_a,
                    .trans_b = p->trans_b,
                    .epilogue = (int)p->epilogue,
                    .batch = to->batch,
                    .m = (int64_t)to->rows,
                    .n = (int64_t)to->columns,
                    .k = (int64_t)(p->trans_a ? la->rows : la->columns),
                    .lda = la->ld,
                    .ldb = lb->ld,
                    .a_stride = la->stride,
                    .b_stride = lb->stride,
                    .bias = p->bias,
                    .sum = has_sum ? c : NULL,
                    .cost = cost_of(p->compute) - 0.2 * (double)algorithm->data[0]};
    return own != &handle || stream != &handle || *(const float *)alpha != 1 ||
                   c_d != out_d || (la->type != 0 && la->type != 2) ||
                   workspace == NULL || bytes == 0 ||
                   (p->compute != 68 && p->compute != 69)
               ? BAD
               : tell(&j);
}
int cublasGemmStridedBatchedEx(void *own, int trans_a, int trans_b, int m, int n, int k,
                               const void *alpha, const void *a, int a_type, int lda,
                               long long a_stride, const void *b, int b_type, int ldb,
                               long long b_stride, const void *beta, void *c,
                               int c_type, int ldc, long long c_stride, int batch,
                               int kind, int algorithm) {
    const work j = {.kind = MULTIPLY,
                    .x = a,
                    .w = b,
                    .y = c,
                    .is_half = a_type == 2,
                    .trans_a = trans_a,
                    .trans_b = trans_b,
                    .batch = batch,
                    .m = m,
                    .n = n,
                    .k = k,
                    .lda = lda,
                    .ldb = ldb,
                    .a_stride = a_stride,
                    .b_stride = b_stride,
                    .cost = cost_of(kind)};
    return own != &handle || *(const float *)alpha != 1 || *(const float *)beta != 0 ||
                   (a_type != 0 && a_type != 2) || b_type != a_type ||
                   c_type != a_type || ldc != m || c_stride != (long long)m * n ||
                   algorithm != -1
               ? BAD
               : tell(&j);
}
