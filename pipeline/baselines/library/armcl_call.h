/* What kiln-armcl asks of kiln-armcl-aarch64, which is C++ (armcl_board.cpp): records in the bytes of a
 * little-endian machine, over its standard input and output.
 *
 *     kiln_armcl_call      -> kiln_armcl_answer; and where it is ready:
 *     x, w, bias where it has one, a tensor for each sum
 *     KILN_ARMCL_RUN       -> int64_t: nanoseconds
 *     KILN_ARMCL_READ      -> the output of the last run
 *
 * Shapes are the library's: the innermost axis first, missing ones 1. Images are
 * channels last: [c, w, h, n], weights [c, kw, kh, o], of depthwise ones [o, kw, kh].
 * A product's are x [k, rows], w [n, k]. Tensors are float, without gaps. */
#ifndef KILN_PIPELINE_BASELINES_LIBRARY_ARMCL_CALL_H
#define KILN_PIPELINE_BASELINES_LIBRARY_ARMCL_CALL_H

#include <stdint.h>

enum {
    KILN_ARMCL_RANK = 4,
    KILN_ARMCL_MAX_TAILS = 8,
    KILN_ARMCL_TEXT = 252,
    KILN_ARMCL_MAX_DIM = 1 << 24
};

typedef enum kiln_armcl_kind {
    KILN_ARMCL_CONV,
    KILN_ARMCL_DEPTHWISE,
    KILN_ARMCL_PRODUCT
} kiln_armcl_kind;

typedef enum kiln_armcl_tail_kind {
    KILN_ARMCL_ADD, /* a tensor of the output's shape */
    KILN_ARMCL_RELU,
    KILN_ARMCL_CLIP, /* to alpha..beta */
    KILN_ARMCL_LEAKY_RELU,
    KILN_ARMCL_ELU,
    KILN_ARMCL_SIGMOID,
    KILN_ARMCL_TANH,
    KILN_ARMCL_HARD_SWISH
} kiln_armcl_tail_kind;

typedef struct kiln_armcl_tail {
    int32_t kind;
    float alpha, beta;
} kiln_armcl_tail;

typedef struct kiln_armcl_call {
    int32_t kind, threads;
    int32_t x[KILN_ARMCL_RANK], w[KILN_ARMCL_RANK], y[KILN_ARMCL_RANK];
    int32_t stride[2], dilation[2]; /* x, y */
    int32_t pad[4];                 /* left, right, top, bottom */
    int32_t multiplier;             /* depthwise: outputs for each input channel */
    int32_t has_bias, n_tails;
    kiln_armcl_tail tail[KILN_ARMCL_MAX_TAILS];
} kiln_armcl_call;

typedef struct kiln_armcl_answer {
    int32_t is_ready;
    char text[KILN_ARMCL_TEXT]; /* what the library chose; else why it does not */
} kiln_armcl_answer;

typedef enum kiln_armcl_request {
    KILN_ARMCL_RUN = 1,
    KILN_ARMCL_READ
} kiln_armcl_request;

#endif
