/* Virtual threads: random programs of them, one inside the other, with memory of their
 * own, with loops and branches that are the same for all of them or not, compute what one
 * thread after another does; and where statements are the same for all, threads take
 * turns: the next one's load stands before the use of the last one's. */
#include "compiler/loop/loop.h"
#include "tests/support/kiln_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    CASES = 300,
    N = 8,
    MAX_DEPTH = 3,
    MAX_THREADS = 3,
    Y = 2 * N * MAX_THREADS * 2
};

typedef struct drawn {
    kiln_arena *a;
    kiln_rng rng;
    kiln_buf text;
    int n_loops, n_lets, n_own; /* made */
    int own[MAX_DEPTH + 2];     /* memory that is there */
    int n_here;
    const char *vars[16]; /* i64, that are there */
    int n_vars;
    kiln_program *program;
} drawn;

static int64_t pick(drawn *d, int64_t lo, int64_t hi) {
    return kiln_rng_range(&d->rng, lo, hi);
}

static bool one_in(drawn *d, int64_t n) { return pick(d, 1, n) == 1; }

static const char *var(drawn *d) {
    return d->n_vars == 0 || one_in(d, 4) ? kiln_format(d->a, "%" PRId64, pick(d, 0, 5))
                                          : d->vars[pick(d, 0, d->n_vars - 1)];
}

static const char *index_text(drawn *d) {
    return kiln_format(d->a, "(%s*%" PRId64 " + %s) %% %d", var(d), pick(d, 1, 3),
                       var(d), N);
}

static const char *value(drawn *d) {
    const char *own = d->n_here == 0 || one_in(d, 3)
                          ? "x"
                          : kiln_format(d->a, "m%d", d->own[pick(d, 0, d->n_here - 1)]);
    return kiln_format(d->a, "(%s[%s]*3 + %s) %% 1009", own, index_text(d), var(d));
}

static void put(drawn *d, int depth);

static void put_block(drawn *d, int depth) {
    const int64_t n = pick(d, 1, 3);
    for (int64_t i = 0; i < n; i++)
        put(d, depth);
}

/* Each virtual thread writes its own elements: y of v and u. */
static void put_step(drawn *d) {
    if (d->n_here > 0 && !one_in(d, 3))
        kiln_buf_printf(&d->text, "m%d[%s] = %s\n", d->own[pick(d, 0, d->n_here - 1)],
                        index_text(d), value(d));
    else
        kiln_buf_printf(&d->text, "y[(v*2 + u)*%d + %s] = %s\n", N, index_text(d),
                        value(d));
}

/* Filled where it begins; in a loop, as often as not one iteration ahead. */
static void put_memory(drawn *d, int depth, bool in_loop) {
    const int m = d->n_own++, i = d->n_loops++;
    const bool is_ahead = in_loop && one_in(d, 2);
    kiln_buf_printf(&d->text, "alloc m%d: i64[%d] local {\n", m, N);
    if (is_ahead)
        kiln_buf_printf(&d->text, "@double_buffer on m%d {\n", m);
    kiln_buf_printf(&d->text,
                    "for i%d in 0 .. +%d {\nm%d[i%d] = x[(i%d + %s) %% %d]\n}\n", i, N,
                    m, i, i, var(d), N);
    if (is_ahead) { /* and written no more */
        kiln_buf_printf(&d->text, "}\ny[(v*2 + u)*%d + %s] = m%d[%s]\n}\n", N,
                        index_text(d), m, index_text(d));
        return;
    }
    d->own[d->n_here++] = m;
    put_block(d, depth + 1);
    d->n_here--;
    kiln_buf_puts(&d->text, "}\n");
}

static void put(drawn *d, int depth) {
    const int64_t kind = depth < MAX_DEPTH ? pick(d, 0, 9) : 0;
    if (kind < 5) {
        put_step(d);
    } else if (kind < 7) {
        const char *name = kiln_format(d->a, "k%d", d->n_loops++);
        kiln_buf_printf(&d->text, "for %s in %" PRId64 " .. +%s {\n", name,
                        pick(d, 0, 1), one_in(d, 5) ? "v + 1" : "2");
        d->vars[d->n_vars++] = name;
        if (one_in(d, 3))
            put_memory(d, depth + 1, true);
        put_block(d, depth + 1);
        d->n_vars--;
        kiln_buf_puts(&d->text, "}\n");
    } else if (kind == 7) {
        kiln_buf_printf(&d->text, "if %s < %s {\n", var(d), var(d));
        put_block(d, depth + 1);
        kiln_buf_puts(&d->text, "}\n");
    } else if (kind == 8) {
        const char *name = kiln_format(d->a, "w%d", d->n_lets++);
        kiln_buf_printf(&d->text, "let %s: i64 = %s + 1 {\n", name, var(d));
        d->vars[d->n_vars++] = name;
        put_block(d, depth + 1);
        d->n_vars--;
        kiln_buf_puts(&d->text, "}\n");
    } else {
        put_memory(d, depth, false);
    }
}

static void draw(kiln_arena *a, uint64_t seed, drawn *d) {
    kiln_err err = {0};
    *d = (drawn){.a = a};
    kiln_rng_init(&d->rng, seed);
    kiln_buf_init(&d->text, a);
    const bool is_nested = one_in(d, 2);
    kiln_buf_printf(&d->text,
                    "program p(x: i64[%d], out y: i64[%d]) {\nvthread v in %" PRId64
                    " .. +%" PRId64 " {\n",
                    N, Y, pick(d, 0, 1), pick(d, 2, MAX_THREADS));
    d->vars[d->n_vars++] = "v";
    kiln_buf_puts(&d->text,
                  is_nested ? "vthread u in 0 .. +2 {\n" : "let u: i64 = 1 {\n");
    d->vars[d->n_vars++] = "u";
    put_memory(d, 0, false);
    put_block(d, 0);
    kiln_buf_puts(&d->text, "}\n}\n}\n");
    kiln_assert_status_ok(
        kiln_program_parse(a, kiln_buf_str(&d->text), "drawn", &d->program, &err),
        &err);
}

static kiln_status run(const drawn *d, const kiln_program *p, bool backwards,
                       int64_t *y, kiln_err *err) {
    int64_t x[N];
    const kiln_loop_run_options o = {.reverse_parallel = backwards};
    for (int i = 0; i < N; i++)
        x[i] = 7 * i + 1;
    for (int i = 0; i < Y; i++)
        y[i] = -1;
    return kiln_program_run(d->a, p, (void *[]){x, y}, &o, err);
}

static void find_vthread(void *user, const kiln_stmt *s) {
    bool *found = user;
    *found =
        *found || (s->kind == KILN_STMT_FOR && s->u.loop.kind == KILN_LOOP_VTHREAD);
}

static bool holds(uint64_t seed) {
    kiln_arena a = {0};
    drawn d;
    kiln_err err = {0};
    int64_t want[Y], got[Y];
    bool has_vthread = false;
    draw(&a, seed, &d);
    kiln_program p = *d.program;
    kiln_assert_status_ok(run(&d, &p, false, want, &err), &err);
    kiln_assert_status_ok(run(&d, &p, true, got, &err), &err);
    assert_memory_equal(got, want, sizeof got); /* the threads are independent */
    bool ok = true;
    for (int i = 0; kiln_loop_pass_at(i) != NULL && ok; i++) {
        const kiln_loop_options o = {.keep_large_loops = true};
        ok = kiln_loop_pass_at(i)->run(&p, &o, &err) == KILN_OK &&
             kiln_program_verify(&p, &err) == KILN_OK &&
             run(&d, &p, false, got, &err) == KILN_OK &&
             memcmp(want, got, sizeof got) == 0;
        if (!ok) {
            kiln_buf text;
            kiln_buf_init(&text, &a);
            kiln_program_print(&text, &p);
            fprintf(stderr,
                    "program of seed %" PRIu64 ", after %s: %s\n%s\nbecame\n%s\n", seed,
                    kiln_loop_pass_at(i)->name, err.text, d.text.p, text.p);
        }
    }
    kiln_stmt_visit(p.body, find_vthread, &has_vthread);
    kiln_arena_fini(&a);
    return ok && !has_vthread;
}

static void one_after_another(void **state) {
    const int64_t n = kiln_test_cases(CASES);
    (void)state;
    for (int64_t i = 0; i < n; i++)
        assert_true(holds(kiln_test_seed() * 1000003u + (uint64_t)i));
    print_message("%" PRId64 " programs\n", n);
}

/* ---- turns ----------------------------------------------------------------------- */

static void put_letter(void *user, const kiln_stmt *s) {
    if (s->kind == KILN_STMT_STORE)
        kiln_buf_puts(user, s->u.store.buffer->name);
}

/* m is loaded to, y is what uses it: of four threads all load before any uses. */
static void loads_before_uses(void **state) {
    kiln_arena a = {0};
    kiln_program *p = NULL;
    kiln_err err = {0};
    kiln_buf order;
    (void)state;
    kiln_buf_init(&order, &a);
    kiln_assert_status_ok(
        kiln_program_parse(&a,
                           KILN_STR_LIT("program p(x: i64[64], out y: i64[4]) {\n"
                                        "vthread v in 0 .. +4 {\n"
                                        "alloc m: i64[1] local {\n"
                                        "for k in 0 .. +16 {\n"
                                        "m[0] = x[v*16 + k]\n"
                                        "y[v] = m[0]\n"
                                        "}\n}\n}\n}\n"),
                           NULL, &p, &err),
        &err);
    kiln_assert_status_ok(kiln_program_optimize(p, &(kiln_loop_options){0}, &err),
                          &err);
    kiln_stmt_visit(p->body, put_letter, &order);
    assert_string_equal(order.p, "mmmmyyyy");
    kiln_arena_fini(&a);
}

/* Shared memory that all virtual threads fill with the same is filled once; what they
 * fill each with their own has a part for each. */
static void fills_once_what_is_the_same(void **state) {
    (void)state;
    static const char text[] = "program p(x: f32[8], out y: f32[2, 8]) {\n"
                               "vthread v in 0 .. +2 {\n"
                               "thread \"threadIdx.x\" t in 0 .. +8 {\n"
                               "alloc same: f32[8] shared {\n"
                               "alloc own: f32[8] shared {\n"
                               "same[t] = x[t]\n"
                               "own[t] = x[t] + f32(v)\n"
                               "y[v, t] = same[7 - t] + own[7 - t]\n"
                               "}}}}}\n";
    kiln_arena *a = kiln_test_arena();
    kiln_program *p;
    kiln_err err = {0};
    kiln_buf b;
    float x[8] = {0, 1, 2, 3, 4, 5, 6, 7}, y[16];
    kiln_assert_status_ok(kiln_program_parse(a, kiln_str_from(text), "text", &p, &err),
                          &err);
    kiln_assert_status_ok(kiln_loop_pass_vthread.run(p, NULL, &err), &err);
    kiln_assert_status_ok(kiln_loop_pass_barriers.run(p, NULL, &err), &err);
    kiln_buf_init(&b, a);
    kiln_program_print(&b, p);
    print_message("%s\n", b.p);
    assert_non_null(strstr(b.p, "alloc same: f32[8] shared"));
    assert_non_null(strstr(b.p, "alloc own: f32[2, 8] shared"));
    assert_non_null(strstr(b.p, " same[t] = x[t]"));
    kiln_assert_status_ok(kiln_program_run(a, p, (void *[]){x, y},
                                           &(kiln_loop_run_options){.seed = 1}, &err),
                          &err);
    for (int v = 0; v < 2; v++)
        for (int t = 0; t < 8; t++)
            assert_true(y[v * 8 + t] == (float)(2 * (7 - t) + v));
}

int main(void) {
    kiln_test_add("one_after_another", one_after_another, NULL);
    kiln_test_add("loads_before_uses", loads_before_uses, NULL);
    kiln_test_add("fills_once_what_is_the_same", fills_once_what_is_the_same, NULL);
    return kiln_test_run("virtual threads");
}
