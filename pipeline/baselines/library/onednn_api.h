/* Inside the programs of oneDNN: what kiln asks of the library, in kiln's words, so that
 * primitives are planned and run by the same code whichever version is behind it:
 *
 *     library_onednn2.c   version 2, linked with Debian's libdnnl (kiln-onednn)
 *     onednn3.c   version 3, a file that is opened when the program starts, of a Python
 *                 wheel (kiln-onednn3): it is not needed when kiln is built
 *
 * Names and their meaning are those of oneDNN's published C interface. What is made
 * lives in the arena of its kiln_onednn_cpu. KILN_ERR_UNSUPPORTED: the library has no
 * such operator; KILN_ERR_LIB: any other refusal, in the library's words. */
#ifndef KILN_PIPELINE_BASELINES_LIBRARY_ONEDNN_API_H
#define KILN_PIPELINE_BASELINES_LIBRARY_ONEDNN_API_H

#include "pipeline/baselines/library/library.h"

/* ---- tensors --------------------------------------------------------------------- */

enum { KILN_ONEDNN_MAX_RANK = 6 };

/* f32; strides in elements. */
typedef struct kiln_onednn_tensor {
    int rank; /* 0: there is none */
    int64_t dim[KILN_ONEDNN_MAX_RANK], stride[KILN_ONEDNN_MAX_RANK];
} kiln_onednn_tensor;

typedef enum kiln_onednn_layout {
    KILN_ONEDNN_PLAIN, /* by its strides */
    KILN_ONEDNN_ANY,   /* the library chooses */
    KILN_ONEDNN_NCHW16C,
    KILN_ONEDNN_NCHW8C,
    KILN_ONEDNN_NHWC,
    KILN_N_ONEDNN_LAYOUTS
} kiln_onednn_layout;

/* ---- a primitive ----------------------------------------------------------------- */

typedef enum kiln_onednn_algorithm {
    KILN_ONEDNN_NO_ALGORITHM, /* where there is no choice */
    KILN_ONEDNN_CONV_DIRECT,
    KILN_ONEDNN_CONV_WINOGRAD,
    KILN_ONEDNN_POOL_MAX,
    KILN_ONEDNN_POOL_MEAN_WITH_PADDING,
    KILN_ONEDNN_POOL_MEAN_WITHOUT_PADDING,
    KILN_N_ONEDNN_ALGORITHMS
} kiln_onednn_algorithm;

/* Over height and width. Dilations count what is left out between taps. */
typedef struct kiln_onednn_windows {
    int64_t kernel[2], stride[2], dilation[2], begin[2], end[2];
} kiln_onednn_windows;

typedef struct kiln_onednn_operand {
    kiln_onednn_tensor plain; /* rank 0: it has none */
    kiln_onednn_layout layout;
} kiln_onednn_operand;

typedef enum kiln_onednn_role {
    KILN_ONEDNN_SRC,
    KILN_ONEDNN_WEIGHTS,
    KILN_ONEDNN_BIAS,
    KILN_ONEDNN_DST,
    KILN_N_ONEDNN_ROLES
} kiln_onednn_role;

/* For inference, in f32 throughout, whatever the environment says. */
typedef struct kiln_onednn_request {
    kiln_library_kind kind;
    kiln_onednn_algorithm algorithm;
    kiln_onednn_operand operand[KILN_N_ONEDNN_ROLES];
    kiln_onednn_windows windows; /* of convolutions and pools */
    int axis;                    /* of softmax */
    /* Post-operations in this order: KILN_LIBRARY_ADD is a sum in place, a bias is an
     * operand and passed over, all others are element-wise. */
    const kiln_library_tail *tail;
    int n_tails;
} kiln_onednn_request;

/* ---- the library ----------------------------------------------------------------- */

typedef struct kiln_onednn_cpu kiln_onednn_cpu;   /* engine and stream */
typedef struct kiln_onednn_desc kiln_onednn_desc; /* of memory */
typedef struct kiln_onednn_memory kiln_onednn_memory;
typedef struct kiln_onednn_primitive kiln_onednn_primitive;

void kiln_onednn_version(int *major, int *minor, int *patch);

kiln_status kiln_onednn_cpu_new(kiln_arena *a, kiln_onednn_cpu **out, kiln_err *err);
kiln_status kiln_onednn_describe(kiln_onednn_cpu *c, const kiln_onednn_tensor *t,
                                 kiln_onednn_layout layout,
                                 const kiln_onednn_desc **out, kiln_err *err);
/* data NULL: the library's own memory; else borrowed. */
kiln_status kiln_onednn_memory_new(kiln_onednn_cpu *c, const kiln_onednn_desc *md,
                                   void *data, kiln_onednn_memory **out, kiln_err *err);
kiln_status kiln_onednn_reorder(kiln_onednn_cpu *c, const kiln_onednn_desc *from_md,
                                const kiln_onednn_memory *from,
                                const kiln_onednn_desc *to_md,
                                const kiln_onednn_memory *to, kiln_err *err);

/* Chooses an implementation and makes its code; nothing is bound yet. */
kiln_status kiln_onednn_primitive_new(kiln_onednn_cpu *c, const kiln_onednn_request *r,
                                      kiln_onednn_primitive **out, kiln_err *err);
/* The layout that it wants of an operand other than the bias. */
const kiln_onednn_desc *kiln_onednn_wants(const kiln_onednn_primitive *p,
                                          kiln_onednn_role role);
/* As the library calls what it chose; NULL: it does not say. */
const char *kiln_onednn_implementation(const kiln_onednn_primitive *p);
void kiln_onednn_bind(kiln_onednn_primitive *p, kiln_onednn_role role,
                      const kiln_onednn_memory *m);
/* Returns when it is done. */
kiln_status kiln_onednn_run(const kiln_onednn_primitive *p, kiln_err *err);

#endif
