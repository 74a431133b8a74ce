/* Convolution loops; see conv_f64.h. Compiled with -O3 in every variant (mk/build.mk).
 */
#include "compiler/op/conv/conv_f64.h"

#include <math.h>
#include <string.h>

#include "compiler/op/gemm_f64.h"
#include "compiler/op/op_common.h"

/* One group of one image as the right factor of the product: row (c, tap), column
 * output position. */
typedef struct columns {
    const kiln_conv *cv;
    const double *x;
} columns;

static int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }

/* Row of the input that a tap reads for an output row: offset of its first element; -1
 * in the padding. All axes but the last. */
static int64_t source_row(const kiln_window *w, const int64_t *out,
                          const int64_t *tap) {
    int64_t row = 0;
    for (int i = 0; i + 1 < w->n; i++) {
        const int64_t pos = kiln_window_pos(w, i, out[i], tap[i]);
        if (pos < 0 || pos >= w->in[i])
            return -1;
        row = row * w->in[i] + pos;
    }
    return row * w->in[w->n - 1];
}

/* Columns [j, j + n) of one output row, into panels of NR columns that are `panel`
 * elements apart. */
static void fill(const double *src, int64_t step, int64_t n, int64_t j, int64_t panel,
                 double *dst) {
    int64_t lane = j % KILN_GEMM_NR;
    double *to = dst + j / KILN_GEMM_NR * panel;
    for (int64_t i = 0; i < n; i++) {
        to[lane] = src == NULL ? 0.0 : src[i * step];
        if (++lane == KILN_GEMM_NR) {
            lane = 0;
            to += panel;
        }
    }
}

/* One row (c, tap) of the columns [j0, j0 + nc). */
static void pack_row(const columns *col, int64_t c, const int64_t *tap, int64_t j0,
                     int64_t nc, int64_t panel, double *dst) {
    const kiln_window *w = &col->cv->window;
    const int last = w->n - 1;
    const double *plane = col->x + c * col->cv->ins;
    int64_t out[KILN_MAX_SPATIAL], lo, hi;
    kiln_unravel(j0, w->n, w->out, out);
    kiln_window_range(w, last, tap[last], &lo, &hi);
    const int64_t step = w->stride[last];
    for (int64_t j = 0; j < nc;) {
        const int64_t begin = out[last], end = min_i64(w->out[last], begin + nc - j);
        const int64_t row = source_row(w, out, tap);
        const int64_t a = row < 0 || lo >= end ? end : lo > begin ? lo : begin;
        const int64_t b = row < 0 ? a : hi > a ? min_i64(hi, end) : a;
        fill(NULL, 0, a - begin, j, panel, dst);
        if (b > a)
            fill(plane + row + kiln_window_pos(w, last, a, tap[last]), step, b - a,
                 j + a - begin, panel, dst);
        fill(NULL, 0, end - b, j + b - begin, panel, dst);
        j += end - begin;
        out[last] = end - 1;
        (void)kiln_next_coord(w->n, w->out, out);
    }
    const int64_t tail = (KILN_GEMM_NR - nc % KILN_GEMM_NR) % KILN_GEMM_NR;
    fill(NULL, 0, tail, nc, panel, dst);
}

static void pack_columns(const void *user, int64_t k0, int64_t kc, int64_t j0,
                         int64_t nc, double *dst) {
    const columns *col = user;
    const kiln_window *w = &col->cv->window;
    int64_t tap[KILN_MAX_SPATIAL];
    int64_t c = k0 / col->cv->taps;
    kiln_unravel(k0 % col->cv->taps, w->n, w->kernel, tap);
    for (int64_t p = 0; p < kc; p++) {
        pack_row(col, c, tap, j0, nc, kc * KILN_GEMM_NR, dst + p * KILN_GEMM_NR);
        if (!kiln_next_coord(w->n, w->kernel, tap)) {
            kiln_unravel(0, w->n, w->kernel, tap);
            c++;
        }
    }
}

static void run_product(const kiln_conv *cv, kiln_arena *scratch) {
    const int64_t k = cv->c * cv->taps;
    for (int64_t i = 0; i < cv->n_batch * cv->n_groups; i++) {
        const int64_t g = i % cv->n_groups;
        const columns col = {cv, cv->x + i * cv->c * cv->ins};
        const kiln_gemm_f64 product = {
            .m = cv->o,
            .n = cv->outs,
            .k = k,
            .a = cv->w + g * cv->o * k,
            .a_row = k,
            .a_col = 1,
            .pack_b = pack_columns,
            .user = &col,
            .c = cv->y + i * cv->o * cv->outs,
            .c_row = cv->outs,
        };
        kiln_gemm_f64_run(&product, scratch);
    }
}

/* y[i] += w * x[i * step] over a row, in double or in integers modulo 2^64. */
static void add_row(const kiln_conv *cv, int64_t y, int64_t x, int64_t step, int64_t w,
                    int64_t n) {
    if (cv->x != NULL) {
        const double factor = cv->w[w];
        const double *restrict from = cv->x + x;
        double *restrict to = cv->y + y;
        if (step == 1) {
            for (int64_t i = 0; i < n; i++)
                to[i] += factor * from[i];
        } else {
            for (int64_t i = 0; i < n; i++)
                to[i] += factor * from[i * step];
        }
    } else {
        const uint64_t factor = (uint64_t)cv->wi[w];
        for (int64_t i = 0; i < n; i++)
            cv->yi[y + i] = (int64_t)((uint64_t)cv->yi[y + i] +
                                      factor * (uint64_t)cv->xi[x + i * step]);
    }
}

/* One tap of one input channel into one output plane. */
static void add_tap(const kiln_conv *cv, int64_t y, int64_t x, int64_t weight,
                    const int64_t *tap) {
    const kiln_window *w = &cv->window;
    const int last = w->n - 1;
    int64_t out[KILN_MAX_SPATIAL] = {0}, lo, hi;
    kiln_window_range(w, last, tap[last], &lo, &hi);
    if (lo == hi)
        return;
    const int64_t first = kiln_window_pos(w, last, lo, tap[last]);
    do {
        const int64_t row = source_row(w, out, tap);
        if (row >= 0)
            add_row(cv, y + lo, x + row + first, w->stride[last], weight, hi - lo);
        y += w->out[last];
    } while (kiln_next_coord(last, w->out, out));
}

static void run_direct(const kiln_conv *cv) {
    const int64_t planes = cv->n_batch * cv->n_groups * cv->o;
    for (int64_t i = 0; i < planes; i++) {
        const int64_t y = i * cv->outs;
        const int64_t image_group = i / cv->o, channel = i % (cv->n_groups * cv->o);
        for (int64_t j = 0; j < cv->outs; j++) {
            if (cv->x != NULL)
                cv->y[y + j] = 0.0;
            else
                cv->yi[y + j] = 0;
        }
        for (int64_t c = 0; cv->outs > 0 && c < cv->c; c++) {
            const int64_t x = (image_group * cv->c + c) * cv->ins;
            int64_t weight = (channel * cv->c + c) * cv->taps;
            int64_t tap[KILN_MAX_SPATIAL] = {0};
            do {
                add_tap(cv, y, x, weight++, tap);
            } while (kiln_next_coord(cv->window.n, cv->window.kernel, tap));
        }
    }
}

bool kiln_conv_f64_is_direct(const kiln_conv *cv) {
    if (cv->o < KILN_GEMM_MR)
        return true;
    const int64_t n = cv->n_groups * cv->o * cv->c * cv->taps;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(cv->w[i]))
            return true;
    }
    return false;
}

void kiln_conv_f64_run(const kiln_conv *cv, kiln_arena *scratch) {
    if (kiln_conv_f64_is_direct(cv))
        run_direct(cv);
    else
        run_product(cv, scratch);
}

void kiln_conv_i64_run(const kiln_conv *cv) { run_direct(cv); }

/* Where the terms of one output element begin. */
typedef struct terms {
    int64_t x, w; /* offsets of the group's first channel and of the filter */
    int64_t out[KILN_MAX_SPATIAL];
} terms;

static terms terms_of(const kiln_conv *cv, int64_t index) {
    const int64_t plane = index / cv->outs;
    terms t = {.x = plane / cv->o * cv->c * cv->ins,
               .w = plane % (cv->n_groups * cv->o) * cv->c * cv->taps};
    kiln_unravel(index % cv->outs, cv->window.n, cv->window.out, t.out);
    return t;
}

/* Where the window's taps read for one element of the output, from the channel's
 * beginning; -1: in the padding. They are the same for every channel. */
enum { MAX_TAPS = 1024 };
typedef struct places {
    const kiln_conv *cv;
    const int64_t *out;
    int64_t at[MAX_TAPS];
} places;

static int64_t place_of(const places *p, int64_t tap) {
    int64_t at[KILN_MAX_SPATIAL];
    kiln_unravel(tap, p->cv->window.n, p->cv->window.kernel, at);
    return kiln_window_index(&p->cv->window, p->out, at);
}

static void places_init(places *p, const kiln_conv *cv, const terms *t) {
    p->cv = cv;
    p->out = t->out;
    for (int64_t tap = 0; tap < cv->taps && cv->taps <= MAX_TAPS; tap++)
        p->at[tap] = place_of(p, tap);
}

static inline int64_t place_at(const places *p, int64_t tap) {
    return p->cv->taps <= MAX_TAPS ? p->at[tap] : place_of(p, tap);
}

double kiln_conv_f64_at(const kiln_conv *cv, int64_t index, bool is_direct) {
    const terms t = terms_of(cv, index);
    double total = 0.0, sum = 0.0;
    int64_t k = 0, cut = KILN_GEMM_KC;
    places p;
    places_init(&p, cv, &t);
    for (int64_t c = 0; c < cv->c; c++) {
        const double *x = cv->x + t.x + c * cv->ins;
        for (int64_t tap = 0; tap < cv->taps; tap++, k++) {
            if (!is_direct && k == cut) {
                total += sum;
                sum = 0.0;
                cut += KILN_GEMM_KC;
            }
            const int64_t at = place_at(&p, tap);
            if (at >= 0)
                sum += cv->w[t.w + k] * x[at];
        }
    }
    return total + sum;
}

int64_t kiln_conv_i64_at(const kiln_conv *cv, int64_t index) {
    const terms t = terms_of(cv, index);
    uint64_t sum = 0;
    int64_t k = 0;
    places p;
    places_init(&p, cv, &t);
    for (int64_t c = 0; c < cv->c; c++) {
        const int64_t *x = cv->xi + t.x + c * cv->ins;
        for (int64_t tap = 0; tap < cv->taps; tap++, k++) {
            const int64_t at = place_at(&p, tap);
            if (at >= 0)
                sum += (uint64_t)cv->wi[t.w + k] * (uint64_t)x[at];
        }
    }
    return (int64_t)sum;
}

/* ---- chosen elements of floats --------------------------------------------------- */

/* Some elements' sums. */
typedef struct lanes {
    const void *x[KILN_DOT_LANES], *w[KILN_DOT_LANES]; /* of one channel */
    int64_t *at[KILN_DOT_LANES];                       /* by tap, as places has it */
    double value[KILN_DOT_LANES], magnitude[KILN_DOT_LANES];
    double s[KILN_DOT_LANES], m[KILN_DOT_LANES]; /* of the block in hand */
} lanes;

static void lane_init(lanes *p, int l, const kiln_conv *cv, const void *x,
                      const void *w, int64_t index) {
    const terms t = terms_of(cv, index);
    const places at = {.cv = cv, .out = t.out};
    p->x[l] = kiln_f32_from(x, t.x);
    p->w[l] = kiln_f32_from(w, t.w);
    for (int64_t tap = 0; tap < cv->taps; tap++)
        p->at[l][tap] = place_of(&at, tap);
    p->value[l] = p->magnitude[l] = p->s[l] = p->m[l] = 0.0;
}

static void end_block(lanes *p) {
    for (int l = 0; l < KILN_DOT_LANES; l++) {
        p->value[l] += p->s[l];
        p->magnitude[l] += p->m[l];
        p->s[l] = p->m[l] = 0.0;
    }
}

/* Sums are copied, so that they are in registers meanwhile. */
static void add_taps(lanes *p, int64_t begin, int64_t end) {
    double s[KILN_DOT_LANES], m[KILN_DOT_LANES];
    memcpy(s, p->s, sizeof s);
    memcpy(m, p->m, sizeof m);
    for (int64_t tap = begin; tap < end; tap++) {
        for (int l = 0; l < KILN_DOT_LANES; l++) {
            const int64_t at = p->at[l][tap];
            if (at < 0)
                continue;
            const double product = kiln_f32_at(p->w[l], tap) * kiln_f32_at(p->x[l], at);
            s[l] += product;
            m[l] += fabs(product);
        }
    }
    memcpy(p->s, s, sizeof s);
    memcpy(p->m, m, sizeof m);
}

/* All terms; `block` of them are added up before they are added to the rest. */
static void add_channels(const kiln_conv *cv, lanes *p, int64_t block) {
    int64_t left = block;
    for (int64_t c = 0; c < cv->c; c++) {
        for (int64_t tap = 0; tap < cv->taps;) {
            const int64_t end = min_i64(cv->taps, tap + left);
            add_taps(p, tap, end);
            left -= end - tap;
            tap = end;
            if (left == 0) {
                end_block(p);
                left = block;
            }
        }
        for (int l = 0; l < KILN_DOT_LANES; l++) {
            p->x[l] = kiln_f32_from(p->x[l], cv->ins);
            p->w[l] = kiln_f32_from(p->w[l], cv->taps);
        }
    }
    end_block(p);
}

static bool is_direct_f32(const kiln_conv *cv, const void *w) {
    const int64_t n = cv->n_groups * cv->o * cv->c * cv->taps;
    bool all_finite = true;
    for (int64_t i = 0; i < n; i++)
        all_finite = all_finite && isfinite(kiln_f32_at(w, i));
    return cv->o < KILN_GEMM_MR || !all_finite;
}

void kiln_conv_f32_pick(const kiln_conv *cv, const void *x, const void *w,
                        const int64_t *pick, int64_t n_pick, double *value,
                        double *magnitude, kiln_arena *scratch) {
    KILN_ASSERT(n_pick >= 0 && cv->c >= 0 && cv->taps > 0,
                "%lld elements of %lld channels by %lld taps", (long long)n_pick,
                (long long)cv->c, (long long)cv->taps);
    const int64_t n_terms = cv->c * cv->taps;
    const int64_t block = is_direct_f32(cv, w) ? n_terms : KILN_GEMM_KC;
    lanes p;
    for (int l = 0; l < KILN_DOT_LANES; l++)
        p.at[l] = kiln_array(scratch, int64_t, cv->taps);
    for (int64_t j = 0; j < n_pick; j += KILN_DOT_LANES) {
        for (int l = 0; l < KILN_DOT_LANES; l++)
            lane_init(&p, l, cv, x, w, pick[min_i64(j + l, n_pick - 1)]);
        add_channels(cv, &p, block);
        for (int l = 0; l < KILN_DOT_LANES && j + l < n_pick; l++) {
            value[j + l] = p.value[l];
            magnitude[j + l] = p.magnitude[l];
        }
    }
}
