/* Discrete Fourier transforms as products with a constant matrix: y[k] = sum over n of x[n]
 * e^(-2 pi i n k / N), complex numbers as pairs; an inverse has e^(+...) / N. */
#ifndef KILN_COMPILER_FRONTEND_FOURIER_H
#define KILN_COMPILER_FRONTEND_FOURIER_H

#include "compiler/frontend/compose.h"

enum { KILN_DFT_MAX_LENGTH = 1 << 20 };

typedef struct kiln_dft {
    int64_t length;              /* N */
    int64_t n_in, n_out;         /* points read and made */
    int64_t parts_in, parts_out; /* 1: real, 2: complex */
    bool is_inverse, is_onesided;
} kiln_dft;

/* KILN_ERR_LIMIT: no such transform is made. */
kiln_status kiln_dft_init(kiln_dft *d, int64_t length, int64_t parts_in,
                          bool is_inverse, bool is_onesided, kiln_err *err);
/* Transforms the last axis but one of x, cut or filled up with zeros to n_in points; its
 * last axis holds the parts. In f32 at least. */
kiln_value *kiln_compose_dft(kiln_compose *c, kiln_value *x, const kiln_dft *d);

/* Both of the last axes but one (h, w) of x [.., h, w, 1], a real image, cut or filled up to
 * these sizes: [.., h, w / 2 + 1, 2]. KILN_ERR_LIMIT as above. */
kiln_value *kiln_compose_rfft_2d(kiln_compose *c, kiln_value *x, const int64_t size[2]);
/* x [.., 2] of pairs: part 0 or 1 alone, and the other way round. */
kiln_value *kiln_compose_part(kiln_compose *c, kiln_value *x, int part);
kiln_value *kiln_compose_pairs(kiln_compose *c, kiln_value *real, kiln_value *imag);
/* The size of each pair. */
kiln_value *kiln_compose_complex_abs(kiln_compose *c, kiln_value *x);

#endif
