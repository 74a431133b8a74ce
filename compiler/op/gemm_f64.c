/* Blocked matrix product in double; see gemm_f64.h. Compiled with -O3 in every variant
 * (mk/build.mk), because whole networks run through it. */
#include "compiler/op/gemm_f64.h"

#include <math.h>
#include <string.h>

enum {
    MR = KILN_GEMM_MR,
    NR = KILN_GEMM_NR,
    KC = KILN_GEMM_KC,
    TILE = MR * NR,
    MAX_PANELS = 4, /* of B, at once */
    TILES = MAX_PANELS * TILE,
};

static void ask_whole(const double *p, int64_t n) {
    kiln_ask_whole(p, (size_t)n * sizeof *p);
}

static int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t round_up(int64_t v, int64_t step) {
    return (v + step - 1) / step * step;
}

/* A block of a matrix, by the lines of it that lie in one piece. */
static void ask_block(const double *b, int64_t rows, int64_t row, int64_t columns,
                      int64_t column) {
    const bool is_turned = row == 1;
    const int64_t step = is_turned ? row : column;
    const int64_t n = is_turned ? rows : columns;
    for (int64_t i = 0; i < (is_turned ? columns : rows); i++) {
        const double *line = b + i * (is_turned ? column : row);
        for (int64_t k = 0; k < (step == 1 ? 1 : n); k++)
            ask_whole(line + k * step, step == 1 ? n : 1);
    }
}

KILN_ASKED_WHOLE void kiln_gemm_pack_matrix(const void *user, int64_t k0, int64_t kc,
                                            int64_t j0, int64_t nc, double *dst) {
    const kiln_gemm_matrix *m = user;
    ask_block(m->b + k0 * m->row + j0 * m->col, kc, m->row, nc, m->col);
    ask_whole(dst, kc * round_up(nc, NR));
    for (int64_t j = 0; j < nc; j += NR) {
        const int64_t nr = min_i64(NR, nc - j);
        for (int64_t p = 0; p < kc; p++, dst += NR) {
            const double *src = m->b + (k0 + p) * m->row + (j0 + j) * m->col;
            for (int64_t c = 0; c < NR; c++)
                dst[c] = c < nr ? src[c * m->col] : 0.0;
        }
    }
}

/* Panels of MR rows; the missing rows of the last one are zero and their sums are not
 * stored. */
static void pack_a(const kiln_gemm_f64 *g, int64_t i0, int64_t mc, int64_t k0,
                   int64_t kc, double *dst) {
    for (int64_t i = 0; i < mc; i += MR) {
        const int64_t mr = min_i64(MR, mc - i);
        for (int64_t p = 0; p < kc; p++, dst += MR) {
            const double *src = g->a + (i0 + i) * g->a_row + (k0 + p) * g->a_col;
            for (int64_t r = 0; r < MR; r++)
                dst[r] = r < mr ? src[r * g->a_row] : 0.0;
        }
    }
}

/* sum[r][c] over kc terms of a panel of A and one of B. Fixed trip counts let the
 * compiler keep `s` in registers, two columns in each. */
KILN_ASKED_WHOLE static void micro_kernel(int64_t kc, const double *restrict a,
                                          const double *restrict b,
                                          double *restrict sum) {
    double s[MR * NR] = {0};
    for (int64_t p = 0; p < kc; p++, a += MR, b += NR) {
        for (int r = 0; r < MR; r++) {
            for (int c = 0; c < NR; c++)
                s[r * NR + c] += a[r] * b[c];
        }
    }
    memcpy(sum, s, sizeof s);
}

/* The same products, added in the same order, with more of them at once: two panels of
 * B and four columns in a register. No fused multiply-add, so the bits are the same. */
#if defined(__x86_64__)
typedef double quad __attribute__((vector_size(NR * sizeof(double))));

KILN_WIDE KILN_ASKED_WHOLE static void two_panels(int64_t kc, const double *restrict a,
                                                  const double *restrict b,
                                                  double *restrict sum) {
    quad s[MR], t[MR];
    memset(s, 0, sizeof s);
    memset(t, 0, sizeof t);
    for (int64_t p = 0; p < kc; p++) {
        quad x, y;
        memcpy(&x, b + p * NR, sizeof x);
        memcpy(&y, b + (kc + p) * NR, sizeof y);
        for (int r = 0; r < MR; r++) {
            s[r] += a[p * MR + r] * x;
            t[r] += a[p * MR + r] * y;
        }
    }
    memcpy(sum, s, sizeof s);
    memcpy(sum + TILE, t, sizeof t);
}

/* And four panels, eight columns in a register. */
typedef double octet __attribute__((vector_size(2 * sizeof(quad))));

__attribute__((target("avx512f"))) KILN_ASKED_WHOLE static void
four_panels(int64_t kc, const double *restrict a, const double *restrict b,
            double *restrict sum) {
/* These machines have one, which Clang would use; GCC does not in ISO C. */
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
    const int64_t panel = kc * NR;
    octet s[MR], t[MR];
    memset(s, 0, sizeof s);
    memset(t, 0, sizeof t);
    for (int64_t p = 0; p < kc; p++, b += NR) {
        quad column[MAX_PANELS];
        for (int q = 0; q < MAX_PANELS; q++)
            memcpy(&column[q], b + q * panel, sizeof column[q]);
        const octet x =
            __builtin_shufflevector(column[0], column[1], 0, 1, 2, 3, 4, 5, 6, 7);
        const octet y =
            __builtin_shufflevector(column[2], column[3], 0, 1, 2, 3, 4, 5, 6, 7);
        for (int r = 0; r < MR; r++) {
            s[r] += a[p * MR + r] * x;
            t[r] += a[p * MR + r] * y;
        }
    }
    for (int64_t r = 0; r < MR; r++) {
        const quad row[MAX_PANELS] = {__builtin_shufflevector(s[r], s[r], 0, 1, 2, 3),
                                      __builtin_shufflevector(s[r], s[r], 4, 5, 6, 7),
                                      __builtin_shufflevector(t[r], t[r], 0, 1, 2, 3),
                                      __builtin_shufflevector(t[r], t[r], 4, 5, 6, 7)};
        for (int64_t q = 0; q < MAX_PANELS; q++)
            memcpy(sum + q * TILE + r * NR, &row[q], sizeof row[q]);
    }
}
#endif

/* Sums of a panel of A and so many of B, TILE after TILE. */
typedef struct kernel {
    int n_panels;
    void (*run)(int64_t kc, const double *restrict a, const double *restrict b,
                double *restrict sum);
} kernel;

/* Where so many panels of B are left. */
static kernel kernel_for(int64_t n_left) {
#if defined(__x86_64__)
    if (n_left >= MAX_PANELS && __builtin_cpu_supports("avx512f") != 0)
        return (kernel){MAX_PANELS, four_panels};
    if (n_left >= 2 && kiln_has_wide_registers())
        return (kernel){2, two_panels};
#endif
    return (kernel){1, micro_kernel};
}

static void store(const double *sum, int64_t mr, int64_t nr, bool is_first, double *c,
                  int64_t c_row) {
    for (int64_t r = 0; r < mr; r++) {
        for (int64_t j = 0; j < nr; j++) {
            double *to = c + r * c_row + j;
            *to = is_first ? sum[r * NR + j] : *to + sum[r * NR + j];
        }
    }
}

static void macro_kernel(int64_t mc, int64_t nc, int64_t kc, const double *a,
                         const double *b, bool is_first, double *c, int64_t c_row) {
    double sum[TILES];
    ask_whole(a, round_up(mc, MR) * kc);
    ask_whole(b, round_up(nc, NR) * kc);
    for (int64_t j = 0; j < nc;) {
        const kernel k = kernel_for(round_up(nc - j, NR) / NR);
        for (int64_t i = 0; i < mc; i += MR) {
            const int64_t mr = min_i64(MR, mc - i);
            k.run(kc, a + i * kc, b + j * kc, sum);
            for (int64_t q = 0; q < k.n_panels; q++) {
                const int64_t at = j + q * NR;
                store(sum + q * TILE, mr, min_i64(NR, nc - at), is_first,
                      c + i * c_row + at, c_row);
            }
        }
        j += k.n_panels * (int64_t)NR;
    }
}

static void zero(const kiln_gemm_f64 *g) {
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++)
            g->c[i * g->c_row + j] = 0.0;
    }
}

void kiln_gemm_f64_run(const kiln_gemm_f64 *g, kiln_arena *scratch) {
    KILN_ASSERT(g->m >= 0 && g->n >= 0 && g->k >= 0, "a product of %lld x %lld x %lld",
                (long long)g->m, (long long)g->k, (long long)g->n);
    if (g->m == 0 || g->n == 0)
        return;
    if (g->k == 0) {
        zero(g);
        return;
    }
    KILN_ASSERT(g->a != NULL && g->c != NULL && g->pack_b != NULL,
                "a product without operands");
    const kiln_arena_mark mark = kiln_arena_save(scratch);
    const int64_t kc_max = min_i64(g->k, KC);
    const int64_t mc_max = min_i64(round_up(g->m, MR), KILN_GEMM_MC);
    const int64_t nc_max = min_i64(round_up(g->n, NR), KILN_GEMM_NC);
    /* Packed whole before they are read; at most KILN_GEMM_KC * KILN_GEMM_NC. */
    double *pa = kiln_arena_alloc_raw(scratch, (size_t)(kc_max * mc_max) * sizeof *pa);
    double *pb = kiln_arena_alloc_raw(scratch, (size_t)(kc_max * nc_max) * sizeof *pb);
    for (int64_t j = 0; j < g->n; j += nc_max) {
        const int64_t nc = min_i64(nc_max, g->n - j);
        for (int64_t p = 0; p < g->k; p += KC) {
            const int64_t kc = min_i64(KC, g->k - p);
            g->pack_b(g->user, p, kc, j, nc, pb);
            for (int64_t i = 0; i < g->m; i += mc_max) {
                const int64_t mc = min_i64(mc_max, g->m - i);
                pack_a(g, i, mc, p, kc, pa);
                macro_kernel(mc, nc, kc, pa, pb, p == 0, g->c + i * g->c_row + j,
                             g->c_row);
            }
        }
    }
    kiln_arena_rewind(scratch, mark);
}

double kiln_dot_f64(int64_t k, const double *a, int64_t a_step, const double *b,
                    int64_t b_step) {
    double total = 0.0;
    for (int64_t p = 0; p < k; p += KC) {
        const int64_t end = min_i64(k, p + KC);
        double sum = 0.0;
        for (int64_t q = p; q < end; q++)
            sum += a[q * a_step] * b[q * b_step];
        total = p == 0 ? sum : total + sum;
    }
    return total;
}

/* Terms [begin, end) of the lanes' sums. */
static void add_block(const kiln_dot_f32 *lane, int64_t begin, int64_t end,
                      int64_t a_step, int64_t b_step, double *sum, double *magnitude) {
    double s[KILN_DOT_LANES] = {0}, m[KILN_DOT_LANES] = {0};
    for (int64_t q = begin; q < end; q++) {
        for (int l = 0; l < KILN_DOT_LANES; l++) {
            const double product =
                kiln_f32_at(lane[l].a, q * a_step) * kiln_f32_at(lane[l].b, q * b_step);
            s[l] += product;
            m[l] += fabs(product);
        }
    }
    for (int l = 0; l < KILN_DOT_LANES; l++) {
        sum[l] += s[l];
        magnitude[l] += m[l];
    }
}

void kiln_dots_f32(int64_t k, const kiln_dot_f32 *dot, int64_t n, int64_t a_step,
                   int64_t b_step, double *sum, double *magnitude) {
    KILN_ASSERT(k >= 0 && n >= 0, "%lld sums of %lld terms", (long long)n,
                (long long)k);
    for (int64_t j = 0; j < n; j += KILN_DOT_LANES) {
        kiln_dot_f32 lane[KILN_DOT_LANES];
        double s[KILN_DOT_LANES] = {0}, m[KILN_DOT_LANES] = {0};
        for (int64_t l = 0; l < KILN_DOT_LANES; l++)
            lane[l] = dot[min_i64(j + l, n - 1)];
        for (int64_t p = 0; p < k; p += KC)
            add_block(lane, p, min_i64(k, p + KC), a_step, b_step, s, m);
        for (int64_t l = 0; l < KILN_DOT_LANES && j + l < n; l++) {
            sum[j + l] = s[l];
            magnitude[j + l] = m[l];
        }
    }
}
