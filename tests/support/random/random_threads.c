/* Steps in random order. A step writes one buffer at a permutation of the threads, from
 * what other threads have written; in a serial evaluation all threads read, then all
 * write. Values stay small, so that sums are exact. */
#include "tests/support/random/random_threads.h"

#include <inttypes.h>
#include <string.h>

enum {
    MAX_THREADS = 8,
    MAX_BLOCKS = 3,
    N_SHARED = 3,
    Y = N_SHARED, /* buffer number of the output's slice of a block */
    COPIES = 2,   /* each buffer has so many elements a thread */
    MODULUS = 1009,
    MAX_DEPTH = 3,
    N_VARS = MAX_DEPTH + 2 /* loops, and which is which: 0: none */
};

/* copy * threads + (factor * t + offset + turn * k) mod threads, or with the copy chosen
 * by the turn: k mod 2. */
typedef struct place {
    int buffer;
    int64_t factor, offset, turn, copy;
    bool alternates;
} place;

typedef struct step {
    place to, from[2];
    int n_from;
    int64_t constant, limit, stride; /* threads t < limit and t mod stride == 0 write */
    int64_t slide;                   /* or t + slide * turn < limit */
} step;

typedef struct maker {
    kiln_arena *a;
    kiln_rng rng;
    kiln_buf text;
    int64_t blocks, threads, width; /* threads = width * rows */
    bool nests_each;                /* each step in thread loops of its own */
    int n_loops;                    /* made */
    int64_t memory[N_SHARED][COPIES * MAX_THREADS];
    random_threads *out;
} maker;

static int64_t pick(maker *m, int64_t lo, int64_t hi) {
    return kiln_rng_range(&m->rng, lo, hi);
}

static bool one_in(maker *m, int64_t n) { return pick(m, 1, n) == 1; }

/* ---- drawing --------------------------------------------------------------------- */

typedef enum node_kind { STEP, LOOP, BRANCH, GROUP } node_kind;
typedef struct node node;
struct node {
    node_kind kind;
    step step;
    int64_t limit; /* LOOP: iterations; BRANCH: blocks below it */
    int loop;      /* LOOP: its number */
    int n;
    node *part[6];
};

static int64_t gcd(int64_t x, int64_t y) { return y == 0 ? x : gcd(y, x % y); }

static place draw_place(maker *m, int depth) {
    place p = {.buffer = (int)pick(m, 0, N_SHARED),
               .factor = pick(m, 1, m->threads - 1)};
    if (gcd(p.factor, m->threads) != 1 || one_in(m, 3))
        p.factor = 1;
    p.offset = one_in(m, 2) ? 0 : pick(m, 0, m->threads - 1);
    p.turn = depth > 0 && one_in(m, 3) ? 1 : 0;
    p.alternates = depth > 0 && one_in(m, 4);
    p.copy = p.alternates ? 0 : pick(m, 0, COPIES - 1);
    return p;
}

static node *draw(maker *m, int depth);

static void draw_step(maker *m, node *x, int depth) {
    step *s = &x->step;
    s->to = draw_place(m, depth);
    s->n_from = (int)pick(m, 0, 2);
    for (int i = 0; i < s->n_from; i++)
        s->from[i] = draw_place(m, depth);
    s->constant = pick(m, 0, 99);
    s->limit = one_in(m, 4) ? pick(m, 1, m->threads) : m->threads;
    s->stride = one_in(m, 5) ? 2 : 1;
    s->slide = depth > 0 && one_in(m, 4) ? 1 : 0;
}

static node *draw_group(maker *m, int depth, int64_t most) {
    node *x = kiln_new(m->a, node);
    x->kind = GROUP;
    x->n = (int)pick(m, 1, most);
    for (int i = 0; i < x->n; i++)
        x->part[i] = draw(m, depth);
    return x;
}

static node *draw(maker *m, int depth) {
    node *x = kiln_new(m->a, node);
    const int64_t kind = depth + 1 < MAX_DEPTH ? pick(m, 0, 9) : 0;
    x->kind = kind == 9 ? LOOP : (kind == 8 ? BRANCH : STEP);
    if (x->kind == STEP) {
        draw_step(m, x, depth);
        return x;
    }
    x->n = 1;
    x->limit = x->kind == LOOP ? pick(m, 1, 4) : pick(m, 1, MAX_BLOCKS - 1);
    x->loop = x->kind == LOOP ? ++m->n_loops : 0;
    x->part[0] = draw_group(m, depth + (x->kind == LOOP), 3);
    return x;
}

/* ---- text ------------------------------------------------------------------------ */

static const char *thread_text(const maker *m) {
    return m->width == m->threads ? "t"
                                  : kiln_format(m->a, "(u*%" PRId64 " + t)", m->width);
}

static const char *place_text(maker *m, const place *p, int loop) {
    const char *copy = p->alternates && loop > 0
                           ? kiln_format(m->a, "k%d %% 2*%" PRId64, loop, m->threads)
                           : kiln_format(m->a, "%" PRId64, p->copy * m->threads);
    const char *turn =
        p->turn != 0 && loop > 0 ? kiln_format(m->a, " + k%d", loop) : "";
    const bool is_plain = p->factor == 1 && p->offset == 0 && turn[0] == '\0';
    const char *inner =
        is_plain ? thread_text(m)
                 : kiln_format(m->a, "(%s*%" PRId64 " + %" PRId64 "%s) %% %" PRId64,
                               thread_text(m), p->factor, p->offset, turn, m->threads);
    if (p->buffer == Y)
        return kiln_format(m->a, "y[b*%" PRId64 " + %s + %s]", COPIES * m->threads,
                           copy, inner);
    return kiln_format(m->a, "s%d[%s + %s]", p->buffer, copy, inner);
}

static void open_threads(maker *m, int64_t width) {
    if (m->width < m->threads)
        kiln_buf_printf(&m->text, "thread \"threadIdx.y\" u in 0 .. +%" PRId64 " {\n",
                        m->threads / m->width);
    kiln_buf_printf(&m->text, "thread \"threadIdx.x\" t in 0 .. +%" PRId64 " {\n",
                    width);
}

static void close_threads(maker *m) {
    kiln_buf_puts(&m->text, m->width < m->threads ? "}\n}\n" : "}\n");
}

static void step_text(maker *m, const step *s, int loop) {
    kiln_buf *b = &m->text;
    const bool is_narrow = m->nests_each && m->width == m->threads && s->stride == 1;
    bool in_place = false;
    kiln_buf value;
    kiln_buf_init(&value, m->a);
    kiln_buf_printf(&value, "(%s + %" PRId64, thread_text(m), s->constant);
    for (int i = 0; i < s->n_from; i++) {
        in_place = in_place || s->from[i].buffer == s->to.buffer;
        kiln_buf_printf(&value, " + %s*%d", place_text(m, &s->from[i], loop),
                        2 * i + 3);
    }
    kiln_buf_printf(&value, ") %% %d", MODULUS);
    const bool slides = s->slide != 0 && loop > 0;
    const bool by_loop = is_narrow && !in_place && s->limit < m->threads && !slides;
    if (m->nests_each)
        open_threads(m, by_loop ? s->limit : m->width);
    if (in_place)
        kiln_buf_printf(b, "let v: i64 = %s {\n", value.p);
    const bool guarded = (s->limit < m->threads && !by_loop) || s->stride > 1 || slides;
    if (guarded)
        kiln_buf_printf(b, "if %s%s < %" PRId64 " & %s %% %" PRId64 " == 0 {\n",
                        thread_text(m), slides ? kiln_format(m->a, " + k%d", loop) : "",
                        s->limit, thread_text(m), s->stride);
    kiln_buf_printf(b, "%s = %s\n", place_text(m, &s->to, loop),
                    in_place ? "v" : value.p);
    kiln_buf_printf(b, "%s%s", guarded ? "}\n" : "", in_place ? "}\n" : "");
    if (m->nests_each)
        close_threads(m);
}

static void text(maker *m, const node *x, int loop) {
    if (x->kind == STEP) {
        step_text(m, &x->step, loop);
        return;
    }
    if (x->kind == LOOP)
        kiln_buf_printf(&m->text, "for k%d in 0 .. +%" PRId64 " {\n", x->loop,
                        x->limit);
    if (x->kind == BRANCH)
        kiln_buf_printf(&m->text, "if b < %" PRId64 " {\n", x->limit);
    for (int i = 0; i < x->n; i++)
        text(m, x->part[i], x->kind == LOOP ? x->loop : loop);
    if (x->kind != GROUP)
        kiln_buf_puts(&m->text, "}\n");
}

/* ---- what it computes ------------------------------------------------------------ */

static int64_t *element(maker *m, const place *p, int64_t b, int64_t t, int64_t k) {
    const int64_t at = (p->alternates ? k % 2 : p->copy) * m->threads +
                       (p->factor * t + p->offset + p->turn * k) % m->threads;
    return p->buffer == Y ? &m->out->want[b * COPIES * m->threads + at]
                          : &m->memory[p->buffer][at];
}

static void evaluate(maker *m, const node *x, int64_t b, int64_t k) {
    int64_t v[MAX_THREADS];
    const step *s = &x->step;
    const int64_t turns = x->kind == LOOP ? x->limit : 1;
    if (x->kind == BRANCH && b >= x->limit)
        return;
    for (int64_t i = 0; i < turns; i++)
        for (int j = 0; j < x->n; j++)
            evaluate(m, x->part[j], b, x->kind == LOOP ? i : k);
    if (x->kind != STEP)
        return;
    for (int64_t t = 0; t < m->threads; t++) {
        v[t] = t + s->constant;
        for (int i = 0; i < s->n_from; i++)
            v[t] += *element(m, &s->from[i], b, t, k) * (2 * i + 3);
    }
    for (int64_t t = 0; t < m->threads; t++)
        if (t + s->slide * k < s->limit && t % s->stride == 0)
            *element(m, &s->to, b, t, k) = v[t] % MODULUS;
}

/* ---- the whole ------------------------------------------------------------------- */

/* A step that fills one copy of a buffer. */
static node *fill(maker *m, int buffer, int64_t copy) {
    node *x = kiln_new(m->a, node);
    x->step = (step){.to = {.buffer = buffer, .factor = 1, .copy = copy},
                     .constant = pick(m, 0, 99),
                     .limit = m->threads,
                     .stride = 1};
    return x;
}

static void draw_size(maker *m) {
    m->blocks = pick(m, 1, MAX_BLOCKS);
    m->threads = pick(m, 2, MAX_THREADS);
    m->width = m->threads % 2 == 0 && one_in(m, 3) ? m->threads / 2 : m->threads;
    m->nests_each = one_in(m, 3);
}

void random_threads_make(kiln_arena *a, uint64_t seed, random_threads *out) {
    maker *m = kiln_new(a, maker);
    node *fills[(N_SHARED + 1) * COPIES];
    kiln_err err = {0};
    m->a = a;
    m->out = out;
    kiln_rng_init(&m->rng, seed);
    kiln_buf_init(&m->text, a);
    draw_size(m);
    out->n = m->blocks * m->threads * COPIES;
    out->x = kiln_array(a, int64_t, out->n);
    out->want = kiln_array(a, int64_t, out->n);
    kiln_buf_printf(&m->text,
                    "program p(x: i64[%" PRId64 "], out y: i64[%" PRId64 "]) {\n"
                    "thread \"blockIdx.x\" b in 0 .. +%" PRId64 " {\n",
                    out->n, out->n, m->blocks);
    for (int i = 0; i < N_SHARED; i++)
        kiln_buf_printf(&m->text, "alloc s%d: i64[%" PRId64 "] shared {\n", i,
                        COPIES * m->threads);
    if (!m->nests_each)
        open_threads(m, m->width);
    for (int i = 0; i < (N_SHARED + 1) * COPIES; i++) {
        fills[i] = fill(m, i / COPIES, i % COPIES);
        text(m, fills[i], 0);
    }
    const node *body = draw_group(m, 0, 6);
    text(m, body, 0);
    if (!m->nests_each)
        close_threads(m);
    kiln_buf_puts(&m->text, "}}}}}\n");
    for (int64_t b = 0; b < m->blocks; b++) {
        for (int i = 0; i < (N_SHARED + 1) * COPIES; i++)
            evaluate(m, fills[i], b, 0);
        evaluate(m, body, b, 0);
    }
    out->text = m->text.p;
    const kiln_status st =
        kiln_program_parse(a, kiln_str_from(out->text), "drawn", &out->program, &err);
    KILN_ASSERT(st == KILN_OK, "%s in\n%s", err.text, out->text);
}
