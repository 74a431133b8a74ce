/* What launches, split from its host: random programs of launches, loops, branches and
 * memory between them compute, as host and device together and as their text reads back,
 * with one memory and with two and copies between them, what the whole program does. Each
 * copy that is taken out is missed. And what the host can't do is refused by name. */
#include "compiler/loop/loop.h"
#include "tests/support/kiln_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CASES = 300, SEEDS = 3, N_MEMORY = 3, MAX_DEPTH = 3, MAX_ELEMS = 24 };

typedef struct drawn {
    kiln_arena *a;
    kiln_rng rng;
    kiln_buf text;
    int64_t n; /* elements of each buffer: blocks * threads */
    int64_t blocks, threads;
    int n_vars; /* k0, ... around */
    kiln_program *program;
} drawn;

static int64_t pick(drawn *d, int64_t lo, int64_t hi) {
    return kiln_rng_range(&d->rng, lo, hi);
}

static bool one_in(drawn *d, int64_t n) { return pick(d, 1, n) == 1; }

static const char *buffer(drawn *d, bool is_read) {
    const int64_t i = pick(d, is_read ? -2 : -1, N_MEMORY - 1);
    return i == -2 ? "x" : i == -1 ? "y" : kiln_format(d->a, "m%" PRId64, i);
}

/* A variable of the host, or a number. */
static const char *scalar(drawn *d) {
    return d->n_vars == 0 || one_in(d, 3)
               ? kiln_format(d->a, "%" PRId64, pick(d, 0, 5))
               : kiln_format(d->a, "k%" PRId64, pick(d, 0, d->n_vars - 1));
}

/* Each element from one of another buffer, which nobody writes meanwhile. */
static void put_launch(drawn *d) {
    const char *to = buffer(d, false), *from = buffer(d, true);
    const char *at =
        d->blocks > 1 ? kiln_format(d->a, "b*%" PRId64 " + t", d->threads) : "t";
    while (strcmp(from, to) == 0)
        from = buffer(d, true);
    if (d->blocks > 1)
        kiln_buf_printf(&d->text, "thread \"blockIdx.x\" b in 0 .. +%" PRId64 " {\n",
                        d->blocks);
    kiln_buf_printf(&d->text, "thread \"threadIdx.x\" t in 0 .. +%" PRId64 " {\n",
                    d->threads);
    if (one_in(d, 2))
        kiln_buf_printf(&d->text, "%s[%s] = (%s[%s]*3 + %s) %% 1009\n", to, at, to, at,
                        scalar(d));
    kiln_buf_printf(&d->text,
                    "if t + %s < %" PRId64 " {\n%s[%s] = (%s[%" PRId64
                    " - (%s)] + %s) %% 1009\n}\n",
                    scalar(d), d->threads, to, at, from, d->n - 1, at, scalar(d));
    kiln_buf_puts(&d->text, d->blocks > 1 ? "}\n}\n" : "}\n");
}

/* Of no thread. */
static void put_store(drawn *d) {
    kiln_buf_printf(&d->text, "%s[%" PRId64 "] = %s[%" PRId64 "] + %s\n",
                    buffer(d, false), pick(d, 0, d->n - 1), buffer(d, true),
                    pick(d, 0, d->n - 1), scalar(d));
}

static void put(drawn *d, int depth);

static void put_block(drawn *d, int depth) {
    const int64_t n = pick(d, 1, 3);
    for (int64_t i = 0; i < n; i++)
        put(d, depth);
}

static void put(drawn *d, int depth) {
    const int64_t kind = depth < MAX_DEPTH ? pick(d, 0, 8) : pick(d, 0, 4);
    if (kind < 4) {
        put_launch(d);
    } else if (kind == 4) {
        put_store(d);
    } else if (kind < 7) {
        kiln_buf_printf(&d->text,
                        kind == 5 ? "for k%d in %s .. +2 {\n"
                                  : "let k%d: i64 = %s + 1 {\n",
                        d->n_vars, scalar(d));
        d->n_vars++;
        put_block(d, depth + 1);
        d->n_vars--;
        kiln_buf_puts(&d->text, "}\n");
    } else {
        kiln_buf_printf(&d->text, "if %s < %s {\n", scalar(d), scalar(d));
        put_block(d, depth + 1);
        kiln_buf_puts(&d->text, one_in(d, 2) ? "} else {\n" : "}\nif 0 < 1 {\n");
        put_block(d, depth + 1);
        kiln_buf_puts(&d->text, "}\n");
    }
}

static void draw(kiln_arena *a, uint64_t seed, drawn *d) {
    kiln_err err = {0};
    *d = (drawn){.a = a};
    kiln_rng_init(&d->rng, seed);
    kiln_buf_init(&d->text, a);
    d->blocks = pick(d, 1, 4);
    d->threads = pick(d, 2, 6);
    d->n = d->blocks * d->threads;
    kiln_buf_printf(&d->text,
                    "program p(x: i64[%" PRId64 "], out y: i64[%" PRId64 "]) {\n", d->n,
                    d->n);
    for (int i = 0; i < N_MEMORY; i++)
        kiln_buf_printf(&d->text, "alloc m%d: i64[%" PRId64 "] {\n", i, d->n);
    for (int i = 0; i <= N_MEMORY; i++) /* all is written */
        kiln_buf_printf(&d->text,
                        "thread \"threadIdx.x\" t in 0 .. +%" PRId64
                        " {\n%s[t] = x[t]\n}\n",
                        d->n, i < N_MEMORY ? kiln_format(a, "m%d", i) : "y");
    put_block(d, 0);
    put_block(d, 0);
    for (int i = 0; i <= N_MEMORY; i++)
        kiln_buf_puts(&d->text, "}\n");
    kiln_assert_status_ok(
        kiln_program_parse(a, kiln_buf_str(&d->text), "drawn", &d->program, &err),
        &err);
}

/* ---- running --------------------------------------------------------------------- */

static kiln_status run(const drawn *d, const kiln_program *p, uint64_t seed, int64_t *y,
                       kiln_err *err) {
    int64_t x[MAX_ELEMS];
    const kiln_loop_run_options o = {.seed = seed};
    for (int64_t i = 0; i < d->n; i++) {
        x[i] = 7 * i + 1;
        y[i] = -1;
    }
    return kiln_program_run(d->a, p, (void *[]){x, y}, &o, err);
}

static const char *print(kiln_arena *a, const kiln_program *p) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_program_print(&text, p);
    return text.p;
}

typedef struct counts {
    int64_t launches, copies, missed;
    int64_t threads; /* threads: loops of them that the host still has */
} counts;

static void count(void *user, const kiln_stmt *s) {
    counts *n = user;
    n->launches += s->kind == KILN_STMT_LAUNCH;
    n->copies += s->kind == KILN_STMT_COPY;
    n->threads += s->kind == KILN_STMT_STORE ||
                  (s->kind == KILN_STMT_FOR && s->u.loop.kind == KILN_LOOP_THREAD);
}

static bool split(drawn *d, kiln_program *p, bool copies, kiln_program **again,
                  kiln_err *err) {
    const kiln_loop_options o = {.host_memory = copies};
    return kiln_loop_pass_outline.run(p, &o, err) == KILN_OK &&
           kiln_program_verify(p, err) == KILN_OK &&
           kiln_program_parse(d->a, kiln_str_from(print(d->a, p)), "printed", again,
                              err) == KILN_OK &&
           kiln_program_verify(*again, err) == KILN_OK;
}

typedef struct cut {
    int64_t at, seen; /* the copy that goes */
} cut;

static const kiln_stmt *cut_copy(void *user, kiln_arena *a, const kiln_stmt *s) {
    cut *c = user;
    return s->kind == KILN_STMT_COPY && c->seen++ == c->at ? kiln_s_nothing(a) : s;
}

/* Without one copy: a failure, or another result. */
static bool is_missed(const drawn *d, const kiln_program *p, int64_t copy,
                      const int64_t *want) {
    int64_t got[MAX_ELEMS];
    kiln_err err = {0};
    cut c = {.at = copy};
    kiln_program less = *p;
    less.body = kiln_stmt_rewritten(d->a, p->body,
                                    &(kiln_stmt_rewrite){.stmt = cut_copy, .user = &c});
    return kiln_program_verify(&less, &err) != KILN_OK ||
           run(d, &less, 0, got, &err) != KILN_OK ||
           memcmp(want, got, (size_t)d->n * sizeof *got) != 0;
}

static bool holds(uint64_t seed, bool copies, counts *all) {
    kiln_arena a = {0};
    drawn d;
    kiln_err err = {0};
    int64_t want[MAX_ELEMS], got[MAX_ELEMS];
    draw(&a, seed, &d);
    kiln_program p = *d.program, *again = NULL;
    kiln_assert_status_ok(run(&d, &p, 0, want, &err), &err);
    bool ok = split(&d, &p, copies, &again, &err);
    for (uint64_t i = 0; i < 2 * SEEDS && ok; i++) {
        ok = run(&d, i < SEEDS ? &p : again, seed + i, got, &err) == KILN_OK;
        if (ok && memcmp(want, got, (size_t)d.n * sizeof *got) != 0) {
            (void)kiln_fail(&err, KILN_ERR_ARG, "another result");
            ok = false;
        }
    }
    counts own = {0};
    kiln_stmt_visit(p.body, count, &own);
    for (int64_t i = 0; i < own.copies && ok; i++)
        own.missed += is_missed(&d, &p, i, want);
    *all = (counts){all->launches + own.launches, all->copies + own.copies,
                    all->missed + own.missed, all->threads + own.threads};
    if (!ok)
        fprintf(stderr, "program of seed %" PRIu64 ": %s\n%s\nbecame\n%s\n", seed,
                err.text, d.text.p, print(&a, &p));
    kiln_arena_fini(&a);
    return ok;
}

static void together_as_whole(void **state) {
    const int64_t n = kiln_test_cases(CASES);
    counts all = {0};
    (void)state;
    for (int64_t i = 0; i < n; i++)
        assert_true(holds(kiln_test_seed() * 1000003u + (uint64_t)i, i % 2 == 1, &all));
    print_message("%" PRId64 " programs, %" PRId64 " launches, %" PRId64
                  " copies, %" PRId64 " missed\n",
                  n, all.launches, all.copies, all.missed);
    /* x and y go, y comes back: all but y's way there, where it is written whole. */
    assert_int_equal(all.copies, 3 * (n / 2));
    assert_true(all.missed >= 2 * (n / 2));
    assert_int_equal(all.threads, 0);
    assert_true(all.launches > 4 * n);
}

/* ---- refusals -------------------------------------------------------------------- */

typedef struct row {
    const char *name, *body, *want;
} row;

#define LAUNCH "thread \"threadIdx.x\" t in 0 .. +8 {\ny[t] = x[t]\n}\n"

static const row rows[] = {
    {"branch_on_an_element", "if x[0] < 1 {\n" LAUNCH "}",
     "depends on an element in the device's memory, which the host does not read"},
    {"loop_of_an_element", "for i in 0 .. +x[0] {\n" LAUNCH "}",
     "what 'p' launches depends on an element"},
    {"memory_of_a_thread",
     "alloc m: i64[8] local {\nm[0] = 1\nthread \"threadIdx.x\" t in 0 .. +8 {\n"
     "y[t] = m[0]\n}\n}",
     "local memory 'm' is allocated by the host and used by a launch"},
};

static void refused(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_program *p = NULL;
    kiln_err err = {0};
    const char *text =
        kiln_format(&a, "program p(x: i64[8], out y: i64[8]) {\n%s\n}\n", r->body);
    kiln_assert_status_ok(kiln_program_parse(&a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    kiln_assert_fails(kiln_loop_pass_outline.run(p, NULL, &err), KILN_ERR_ARG, &err,
                      r->want);
    kiln_arena_fini(&a);
}

/* ---- two memories ---------------------------------------------------------------- */

#define DEVICE "alloc d: i64[8] device {\n"

static const row sides[] = {
    {"a_read_without_a_copy", DEVICE "launch step[1, 1, 1; 8, 1, 1](d)\ny[0] = d[0]\n}",
     "the host reads 'd', which lies in the device's memory; copy it to the host's"},
    {"a_write", DEVICE "d[0] = x[0]\n}", "the host writes 'd', which lies in"},
    {"a_call", DEVICE "copy d from x : 8\ncall one(d)\n}", "on 'd', which lies in the"},
};

static const row verified[] = {
    {"a_launch_on_the_hosts",
     DEVICE "copy d from x : 8\nlaunch step[1, 1, 1; 8, 1, 1](y)\n}",
     "'step' is launched on 'y', which lies in the host's memory; copy it to the "
     "device's"},
    {"a_copy_at_home", "copy y from x : 8",
     "a copy must be to a device's memory or from it"},
    {"a_copy_by_threads",
     DEVICE "thread \"threadIdx.x\" t in 0 .. +8 {\ncopy d from x : 8\n}\n}",
     "'x' is copied inside a thread loop; the host copies"},
    {"a_copy_past_the_end", DEVICE "copy d[4] from x : 8\n}",
     "'d' is given away outside"},
    {"a_copy_to_an_input", DEVICE "copy d from y : 8\ncopy x from d : 8\n}",
     "input 'x' is written by 'copy'"},
    {"a_copy_of_nothing_yet", DEVICE "copy y from d : 8\n}",
     "'d' is read by 'copy' before anything is written to it"},
};

static kiln_program *of_two(kiln_arena *a, const char *body) {
    kiln_program *p = NULL;
    kiln_err err = {0};
    const char *text =
        kiln_format(a,
                    "program one(out d: i64[8]) {\nd[0] = 7\n}\n"
                    "program step(out d: i64[8]) {\n"
                    "thread \"threadIdx.x\" t in 0 .. +8 {\nd[t] = t\n}\n}\n"
                    "program p(x: i64[8], out y: i64[8]) {\n%s\n}\n",
                    body);
    kiln_assert_status_ok(kiln_program_parse(a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    return p;
}

/* Found by looking, and by running. */
static void on_the_wrong_side(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    int64_t x[8] = {0}, y[8] = {0};
    const kiln_program *p = of_two(&a, r->body);
    kiln_assert_fails(kiln_program_run(&a, p, (void *[]){x, y}, NULL, &err),
                      KILN_ERR_ARG, &err, "'d', which lies in the device's memory");
    kiln_err_clear(&err);
    assert_int_not_equal(kiln_program_verify(p, &err), KILN_OK);
    if (strstr(err.text, r->want) == NULL)
        fail_msg("no '%s' in: %s", r->want, err.text);
    kiln_arena_fini(&a);
}

static void does_not_verify(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    assert_int_not_equal(kiln_program_verify(of_two(&a, r->body), &err), KILN_OK);
    if (strstr(err.text, r->want) == NULL)
        fail_msg("no '%s' in: %s", r->want, err.text);
    kiln_arena_fini(&a);
}

/* Without threads there is nothing to split. */
static void others_stay(void **state) {
    kiln_arena a = {0};
    kiln_program *p = NULL;
    kiln_err err = {0};
    (void)state;
    kiln_assert_status_ok(
        kiln_program_parse(&a,
                           KILN_STR_LIT("program p(x: i64[8], out y: i64[8]) {\n"
                                        "  y[0] = x[0]\n}\n"),
                           NULL, &p, &err),
        &err);
    const kiln_stmt *body = p->body;
    kiln_assert_status_ok(kiln_loop_pass_outline.run(p, NULL, &err), &err);
    assert_ptr_equal(p->body, body);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("together_as_whole", together_as_whole, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        kiln_test_add(rows[i].name, refused, (void *)(uintptr_t)&rows[i]);
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++)
        kiln_test_add(sides[i].name, on_the_wrong_side, (void *)(uintptr_t)&sides[i]);
    for (size_t i = 0; i < sizeof verified / sizeof verified[0]; i++)
        kiln_test_add(verified[i].name, does_not_verify,
                      (void *)(uintptr_t)&verified[i]);
    kiln_test_add("others_stay", others_stay, NULL);
    return kiln_test_run("host and device");
}
