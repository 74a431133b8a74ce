/* Double buffers: random programs whose buffers are filled ahead compute what filling
 * them in turn does, by threads in lock step in drawn orders and in series; the barriers
 * that the pass after it puts are enough, and none of them is too many. And what can't
 * be done ahead is refused. */
#include "compiler/loop/loop.h"
#include "tests/support/gpu/support_barriers.h"
#include "tests/support/kiln_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CASES = 300, SEEDS = 3, MAX_THREADS = 6, MAX_FILLED = 3, MODULUS = 1009 };

/* ---- programs -------------------------------------------------------------------- */

/* s[(factor * t + offset) mod threads] */
typedef struct place {
    int buffer;
    int64_t factor, offset;
} place;

typedef struct sum { /* constant + 3 * x[...] + 5 * place */
    int64_t constant, step;
    bool reads;
    place from;
} sum;

typedef struct drawn {
    kiln_arena *a;
    kiln_rng rng;
    kiln_buf text;
    int64_t blocks, threads, turns, first, rounds,
        odd; /* odd: turns that do it; -1: all */
    bool is_serial, nests_each;
    int n_filled, n_uses;
    sum fill[MAX_FILLED], use[MAX_FILLED];
    bool uses_scratch;
    int64_t n, *x, *want;
    kiln_program *program;
} drawn;

static int64_t pick(drawn *d, int64_t lo, int64_t hi) {
    return kiln_rng_range(&d->rng, lo, hi);
}

static bool one_in(drawn *d, int64_t n) { return pick(d, 1, n) == 1; }

static int64_t gcd(int64_t x, int64_t y) { return y == 0 ? x : gcd(y, x % y); }

/* `below`: buffers that may be read. */
static sum draw_sum(drawn *d, int below) {
    sum s = {.constant = pick(d, 0, 99),
             .step = pick(d, 1, 3),
             .reads = below > 0 && !one_in(d, 4)};
    s.from = (place){.buffer = below > 0 ? (int)pick(d, 0, below - 1) : 0,
                     .factor = pick(d, 1, d->threads),
                     .offset = one_in(d, 3) ? 0 : pick(d, 0, d->threads - 1)};
    if (gcd(s.from.factor, d->threads) != 1)
        s.from.factor = 1;
    return s;
}

static const char *place_text(drawn *d, const place *p, const char *buffer) {
    return p->factor == 1 && p->offset == 0
               ? kiln_format(d->a, "%s[t]", buffer)
               : kiln_format(d->a, "%s[(t*%" PRId64 " + %" PRId64 ") %% %" PRId64 "]",
                             buffer, p->factor, p->offset, d->threads);
}

static const char *sum_text(drawn *d, const sum *s) {
    const char *from =
        s->reads ? kiln_format(d->a, " + %s*5",
                               place_text(d, &s->from,
                                          kiln_format(d->a, "s%d", s->from.buffer)))
                 : "";
    return kiln_format(d->a,
                       "%" PRId64 " + x[(b + t + k*%" PRId64 ") %% %" PRId64 "]*3%s",
                       s->constant, s->step, d->n, from);
}

/* One step of all threads. */
static void put_step(drawn *d, const char *to, const char *value) {
    const char *loop = d->is_serial ? "for" : "thread \"threadIdx.x\"";
    if (d->nests_each)
        kiln_buf_printf(&d->text, "%s t in 0 .. +%" PRId64 " {\n", loop, d->threads);
    kiln_buf_printf(&d->text, "%s = (%s) %% %d\n", to, value, MODULUS);
    if (d->nests_each)
        kiln_buf_puts(&d->text, "}\n");
}

static void put_fills(drawn *d) {
    for (int i = 0; i < d->n_filled; i++) {
        kiln_buf_printf(&d->text,
                        "alloc s%d: i64[%" PRId64 "] %s {\n@double_buffer on s%d {\n",
                        i, d->threads, d->is_serial ? "local" : "shared", i);
        put_step(d, kiln_format(d->a, "s%d[t]", i), sum_text(d, &d->fill[i]));
        kiln_buf_puts(&d->text, "}\n");
    }
}

static void put_uses(drawn *d) {
    const char *y = kiln_format(d->a, "y[b*%" PRId64 " + t]", d->threads);
    for (int i = 0; i < d->n_uses; i++) {
        const sum *s = &d->use[i];
        if (d->uses_scratch)
            put_step(d, "r[t]", sum_text(d, s));
        put_step(d, y,
                 kiln_format(d->a, "%s + %s", y,
                             d->uses_scratch ? place_text(d, &s->from, "r")
                                             : sum_text(d, s)));
    }
}

static void put_program(drawn *d) {
    kiln_buf *b = &d->text;
    const char *y = kiln_format(d->a, "y[b*%" PRId64 " + t]", d->threads);
    int open = 3 + d->n_filled;
    kiln_buf_printf(b,
                    "program p(x: i64[%" PRId64 "], out y: i64[%" PRId64
                    "]) {\n%s b in 0 .. +%" PRId64 " {\n",
                    d->n, d->n, d->is_serial ? "for" : "thread \"blockIdx.x\"",
                    d->blocks);
    kiln_buf_printf(b, "alloc r: i64[%" PRId64 "] %s {\n", d->threads,
                    d->is_serial ? "" : "shared");
    if (!d->nests_each) {
        kiln_buf_printf(b, "thread \"threadIdx.x\" t in 0 .. +%" PRId64 " {\n",
                        d->threads);
        open++;
    }
    put_step(d, "r[t]", "0");
    put_step(d, y, "0");
    if (d->rounds > 1) {
        kiln_buf_printf(b, "for j in 0 .. +%" PRId64 " {\n", d->rounds);
        open++;
    }
    kiln_buf_printf(b, "%s k in %" PRId64 " .. +%" PRId64 " {\n",
                    one_in(d, 4) ? "unroll" : "for", d->first, d->turns);
    if (d->odd >= 0) {
        kiln_buf_printf(b, "if k %% 2 == %" PRId64 " {\n", d->odd);
        open++;
    }
    put_fills(d);
    put_uses(d);
    for (int i = 0; i < open; i++)
        kiln_buf_puts(b, "}\n");
    kiln_buf_puts(b, "}\n");
}

/* ---- what they compute ----------------------------------------------------------- */

static int64_t value(const drawn *d, const sum *s, int64_t b, int64_t t, int64_t k,
                     int64_t memory[][MAX_THREADS]) {
    int64_t v = s->constant + d->x[(b + t + k * s->step) % d->n] * 3;
    if (s->reads)
        v +=
            memory[s->from.buffer][(s->from.factor * t + s->from.offset) % d->threads] *
            5;
    return v;
}

static void evaluate_turn(drawn *d, int64_t b, int64_t k) {
    int64_t memory[MAX_FILLED][MAX_THREADS], r[MAX_THREADS];
    for (int i = 0; i < d->n_filled; i++)
        for (int64_t t = 0; t < d->threads; t++)
            memory[i][t] = value(d, &d->fill[i], b, t, k, memory) % MODULUS;
    for (int i = 0; i < d->n_uses; i++) {
        const sum *s = &d->use[i];
        for (int64_t t = 0; t < d->threads; t++)
            r[t] =
                value(d, s, b, t, k, memory) % (d->uses_scratch ? MODULUS : INT64_MAX);
        for (int64_t t = 0; t < d->threads; t++) {
            int64_t *y = &d->want[b * d->threads + t];
            const int64_t at = d->uses_scratch
                                   ? (s->from.factor * t + s->from.offset) % d->threads
                                   : t;
            *y = (*y + r[at]) % MODULUS;
        }
    }
}

static void draw(kiln_arena *a, uint64_t seed, bool is_serial, drawn *d) {
    kiln_err err = {0};
    *d = (drawn){.a = a, .is_serial = is_serial};
    kiln_rng_init(&d->rng, seed);
    kiln_buf_init(&d->text, a);
    d->blocks = pick(d, 1, 2);
    d->threads = pick(d, 2, MAX_THREADS);
    d->turns = pick(d, 1, 5);
    d->first = pick(d, 0, 2);
    d->rounds = pick(d, 1, 3);
    d->odd = one_in(d, 4) ? pick(d, 0, 1) : -1;
    d->nests_each = is_serial || one_in(d, 2);
    d->n_filled = (int)pick(d, 1, MAX_FILLED);
    d->n_uses = (int)pick(d, 1, MAX_FILLED);
    d->uses_scratch = one_in(d, 3);
    d->n = d->blocks * d->threads;
    for (int i = 0; i < d->n_filled; i++)
        d->fill[i] = draw_sum(d, i);
    for (int i = 0; i < d->n_uses; i++)
        d->use[i] = draw_sum(d, d->n_filled);
    d->x = kiln_array(a, int64_t, d->n);
    d->want = kiln_array(a, int64_t, d->n);
    for (int64_t i = 0; i < d->n; i++)
        d->x[i] = pick(d, 0, 99);
    put_program(d);
    for (int64_t b = 0; b < d->blocks; b++)
        for (int64_t j = 0; j < d->rounds; j++)
            for (int64_t k = d->first; k < d->first + d->turns; k++)
                if (d->odd < 0 || k % 2 == d->odd)
                    evaluate_turn(d, b, k);
    kiln_assert_status_ok(
        kiln_program_parse(a, kiln_buf_str(&d->text), "drawn", &d->program, &err),
        &err);
}

/* ---- running --------------------------------------------------------------------- */

static void report(const drawn *d, const kiln_program *p, uint64_t seed,
                   const char *what) {
    kiln_buf text;
    kiln_buf_init(&text, d->a);
    kiln_program_print(&text, p);
    fprintf(stderr, "program of seed %" PRIu64 ": %s\n%s\nbecame\n%s\n", seed, what,
            d->text.p, text.p);
}

static bool computes(drawn *d, const kiln_program *p, uint64_t seed, kiln_err *err) {
    int64_t *y = kiln_array(d->a, int64_t, d->n);
    for (uint64_t i = 0; i < SEEDS; i++) {
        const kiln_loop_run_options o = {.seed = seed * SEEDS + i};
        memset(y, 0xFF, (size_t)d->n * sizeof *y);
        if (kiln_program_run(d->a, p, (void *[]){d->x, y}, &o, err) != KILN_OK)
            return false;
        if (memcmp(y, d->want, (size_t)d->n * sizeof *y) != 0) {
            (void)kiln_fail(err, KILN_ERR_ARG, "another result");
            return false;
        }
    }
    return true;
}

static bool passes(kiln_program *p, const kiln_loop_pass *pass, kiln_err *err) {
    return pass->run(p, NULL, err) == KILN_OK && kiln_program_verify(p, err) == KILN_OK;
}

static bool holds(uint64_t seed, bool is_serial) {
    kiln_arena a = {0};
    drawn d;
    kiln_err err = {0};
    draw(&a, seed, is_serial, &d);
    kiln_program p = *d.program, all = *d.program;
    bool ok = !is_serial || computes(&d, &p, seed, &err);
    ok = ok && passes(&p, &kiln_loop_pass_double_buffer, &err) &&
         passes(&p, &kiln_loop_pass_barriers, &err) && computes(&d, &p, seed, &err);
    if (!ok)
        report(&d, &p, seed, err.text);
    if (ok) {
        ok = kiln_program_optimize(&all, &(kiln_loop_options){0}, &err) == KILN_OK &&
             computes(&d, &all, seed, &err);
        if (!ok)
            report(&d, &all, seed, err.text);
    }
    kiln_arena_fini(&a);
    return ok;
}

static void in_lock_step(void **state) {
    const int64_t n = kiln_test_cases(CASES);
    (void)state;
    for (int64_t i = 0; i < n; i++)
        assert_true(holds(kiln_test_seed() * 1000003u + (uint64_t)i, false));
    print_message("%" PRId64 " programs\n", n);
}

static void in_series(void **state) {
    const int64_t n = kiln_test_cases(CASES);
    (void)state;
    for (int64_t i = 0; i < n; i++)
        assert_true(holds(kiln_test_seed() * 1000003u + (uint64_t)i, true));
    print_message("%" PRId64 " programs\n", n);
}

/* ---- one barrier less ------------------------------------------------------------ */

static void one_barrier_less(void **state) {
    const int64_t n = kiln_test_cases(CASES);
    int64_t n_taken = 0, n_missed = 0;
    (void)state;
    for (uint64_t i = 0; i < (uint64_t)n; i++) {
        kiln_arena a = {0};
        drawn d;
        kiln_err err = {0};
        const uint64_t seed = kiln_test_seed() * 1000003u + i;
        draw(&a, seed, false, &d);
        kiln_program p = *d.program;
        if (d.odd >= 0) { /* what not every turn comes to, the pass does not count on */
            kiln_arena_fini(&a);
            continue;
        }
        assert_true(passes(&p, &kiln_loop_pass_double_buffer, &err) &&
                    passes(&p, &kiln_loop_pass_barriers, &err));
        const int64_t n_barriers = kiln_test_barriers(&a, p.body);
        for (int64_t k = 0; k < n_barriers; k++) {
            kiln_program q = p;
            q.body = kiln_test_without_barrier(&a, p.body, k);
            n_taken++;
            err = (kiln_err){0};
            if (computes(&d, &q, seed, &err) || !kiln_test_is_missed(&err)) {
                report(&d, &q, seed, "nobody misses a barrier");
                n_missed++;
            }
        }
        kiln_arena_fini(&a);
    }
    print_message("%" PRId64 " barriers taken out, %" PRId64 " not missed\n", n_taken,
                  n_missed);
    assert_true(n_taken > n / 2);
    assert_int_equal(n_missed, 0);
}

/* ---- refusals -------------------------------------------------------------------- */

typedef struct row {
    const char *name, *body, *want;
} row;

#define FILLS(what) "alloc s: f32[8] {\n@double_buffer on s {\n" what "\n}\n"

static const row rows[] = {
    {"no_loop", FILLS("s[0] = x[0]") "y[0] = s[0]\n}",
     "'s' is filled in no loop that it is allocated in"},
    {"allocated_outside",
     "alloc s: f32[8] {\nfor k in 0 .. +8 {\n@double_buffer on s {\ns[0] = x[k]\n}\n"
     "y[k] = s[0]\n}\n}",
     "'s' is filled in no loop that it is allocated in"},
    {"iterations_at_once",
     "parallel k in 0 .. +8 {\n" FILLS("s[0] = x[k]") "y[k] = s[0]\n}\n}",
     "'s' is filled once in each iteration of parallel loop 'k', which do not follow"},
    {"from_what_the_loop_writes",
     "for k in 0 .. +7 {\ny[k] = x[k]\n" FILLS("s[0] = y[k]") "y[k + 1] = s[0]\n}\n}",
     "'s' can't be filled ahead of loop 'k': it is filled from 'y'"},
    {"from_what_is_not_ahead",
     "for k in 0 .. +8 {\nalloc r: f32[1] {\nr[0] = x[k]\n" FILLS(
         "s[0] = r[0]") "y[k] = s[0]\n}\n}\n}",
     "it is filled from 'r', which the loop writes; compute that elsewhere, or"},
    {"by_what_the_loop_writes",
     "for k in 0 .. +8 {\nif y[k] < 1f {\n" FILLS("s[0] = x[k]") "y[k] = s[0]\n}\n}\n}",
     "it is filled from 'y', which the loop writes"},
    {"writes_more",
     "for k in 0 .. +8 {\n" FILLS("s[0] = x[k]\ny[k] = 0f") "y[k] = s[0]\n}\n}",
     "must write nothing else, but writes 'y'"},
    {"written_again",
     "for k in 0 .. +8 {\n" FILLS("s[0] = x[k]") "s[1] = s[0]\ny[k] = s[1]\n}\n}",
     "loop 'k' must write 's' in one place, which is marked"},
};

static void refused(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_program *p = NULL;
    kiln_err err = {0};
    const char *text =
        kiln_format(&a, "program p(x: f32[8], out y: f32[8]) {\n%s\n}\n", r->body);
    kiln_assert_status_ok(kiln_program_parse(&a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    kiln_assert_fails(kiln_loop_pass_double_buffer.run(p, NULL, &err), KILN_ERR_ARG,
                      &err, r->want);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("in_lock_step", in_lock_step, NULL);
    kiln_test_add("in_series", in_series, NULL);
    kiln_test_add("one_barrier_less", one_barrier_less, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        kiln_test_add(rows[i].name, refused, (void *)(uintptr_t)&rows[i]);
    return kiln_test_run("double buffers");
}
