/* Calls and launches of programs: what they compute, what a race, the verifier and the
 * pass `barriers` see of them, and what is refused. */
#include "compiler/loop/loop.h"
#include "tests/support/kiln_test.h"

#include <string.h>

enum { N = 16 };

/* Blocks of four; `tail` is a matrix; `grid` is for a device. */
#define CALLED                                                                         \
    "program copy4(a: i64[4], out c: i64[4]) {\n"                                      \
    "for i in 0 .. +4 {\nc[i] = a[i]\n}\n}\n"                                          \
    "program add4(a: i64[4], out c: i64[4]) {\n"                                       \
    "for i in 0 .. +4 {\nc[i] = c[i] + a[i]\n}\n}\n"                                   \
    "program scaled(a: i64[2, 2], out c: i64[2, 2]; by: i64) {\n"                      \
    "for i in 0 .. +2 {\nfor j in 0 .. +2 {\nc[i, j] = a[i, j]*by\n}\n}\n}\n"          \
    "program grid(x: i64[16], out y: i64[16]; n: i64) {\n"                             \
    "thread \"blockIdx.x\" b in 0 .. +2 {\nthread \"threadIdx.x\" t in 0 .. +8 {\n"    \
    "y[b*8 + t] = x[b*8 + t] + n\n}\n}\n}\n"

static kiln_program *parsed(kiln_arena *a, const char *body) {
    kiln_program *p = NULL;
    kiln_err err = {0};
    const char *text =
        kiln_format(a, CALLED "program p(x: i64[16], out y: i64[16]) {\n%s\n}\n", body);
    kiln_assert_status_ok(kiln_program_parse(a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    return p;
}

static kiln_str print(kiln_arena *a, const kiln_program *p) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_program_print(&text, p);
    return kiln_buf_str(&text);
}

static kiln_status run(kiln_arena *a, const kiln_program *p, int64_t *y, uint64_t seed,
                       kiln_err *err) {
    int64_t x[N];
    for (int i = 0; i < N; i++) {
        x[i] = i + 1;
        y[i] = 0;
    }
    const kiln_loop_run_options o = {.seed = seed};
    return kiln_program_run(a, p, (void *[]){x, y}, &o, err);
}

/* ---- what they compute ----------------------------------------------------------- */

typedef struct result {
    const char *name, *body;
    int64_t want[N];
} result;

#define THREADS(n) "thread \"threadIdx.x\" t in 0 .. +" #n " {\n"

static const result results[] = {
    {"first_elements", "call copy4(x, y)", {1, 2, 3, 4}},
    {"from_an_element_on", "call copy4(x[8], y[2])", {0, 0, 9, 10, 11, 12}},
    {"updates", "call copy4(x, y)\ncall add4(x[4], y[1])", {1, 7, 9, 11, 8}},
    {"with_a_parameter",
     "for k in 0 .. +2 {\ncall scaled(x[k], y[4*k], k + 2)\n}",
     {2, 4, 6, 8, 6, 9, 12, 15}},
    {"by_threads",
     THREADS(4) "call copy4(x[4*t], y[12 - 4*t])\n}",
     {13, 14, 15, 16, 9, 10, 11, 12, 5, 6, 7, 8, 1, 2, 3, 4}},
    {"launched",
     "launch grid[2, 1, 1; 8, 1, 1](x, y, 10)",
     {11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26}},
    {"launched_wider",
     "launch grid[3, 1, 1; 9, 2, 1](x, y, 0)",
     {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
    {"launched_in_turn",
     "alloc m: i64[16] {\nfor k in 0 .. +2 {\nlaunch grid[2, 1, 1; 8, 1, 1](x, m, k)\n"
     "launch grid[2, 1, 1; 8, 1, 1](m, y, 1)\n}\n}",
     {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}},
};

static void computes(void **state) {
    const result *r = *state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        int64_t y[N];
        kiln_program *p = parsed(&a, r->body), *again = NULL;
        kiln_assert_status_ok(kiln_program_verify(p, &err), &err);
        kiln_assert_status_ok(run(&a, p, y, seed, &err), &err);
        assert_memory_equal(y, r->want, sizeof y);
        kiln_assert_status_ok(
            kiln_program_parse(&a, print(&a, p), "printed", &again, &err), &err);
        kiln_assert_text_equal(print(&a, again), print(&a, p));
        kiln_assert_status_ok(run(&a, again, y, seed, &err), &err);
        assert_memory_equal(y, r->want, sizeof y);
        kiln_arena_fini(&a);
    }
}

/* ---- what is refused ------------------------------------------------------------- */

typedef struct row {
    const char *name, *body, *want;
} row;

static const row unverified[] = {
    {"past_the_end", "call copy4(x, y[13])",
     "buffer 'y' is given away outside: index 0 must be in [0, 16), is in [16, 16]"},
    {"writes_an_input", "call copy4(y, x)", "input 'x' is written by 'copy4'"},
    {"reads_nothing", "alloc m: i64[4] {\ncall copy4(m, y)\n}",
     "buffer 'm' is read by 'copy4' before anything is written to it"},
    {"updates_nothing", "alloc m: i64[4] {\ncall add4(x, m)\ncall copy4(m, y)\n}",
     "buffer 'm' is read by 'add4' before anything is written to it"},
    {"too_little", "alloc m: i64[3, 1] {\ncall copy4(x, m)\n}",
     "'copy4' takes 4 elements, buffer 'm' has 3"},
    {"at_once", "parallel k in 0 .. +3 {\ncall copy4(x[k], y)\n}",
     "every iteration of parallel loop 'k' stores to the same place of 'y'"},
    {"threads_by_one_thread", "call grid(x, y, 1)",
     "'grid' is called by one thread, and has threads of its own"},
    {"launched_by_a_thread", THREADS(2) "launch grid[2, 1, 1; 8, 1, 1](x, y, t)\n}",
     "'grid' is launched inside a thread loop"},
};

static void is_not_verified(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_assert_fails(kiln_program_verify(parsed(&a, r->body), &err), KILN_ERR_ARG,
                      &err, r->want);
    kiln_arena_fini(&a);
}

static const row failing[] = {
    {"other_elements", "alloc m: i8[64] {\ncall copy4(x, m)\n}",
     "'copy4' takes elements of i64, buffer 'm' has i8"},
    {"runs_past_the_end", "for k in 0 .. +16 {\ncall copy4(x, y[k*5])\n}",
     "'copy4' takes 4 elements of 'y' from element 15"},
    {"narrow_launch", "launch grid[2, 1, 1; 7, 1, 1](x, y, 1)",
     "a launch of 7 along threadIdx.x is of fewer than the 8 that"},
    /* Two threads update one block; neighbours' blocks lap over. */
    {"one_block", THREADS(2) "call add4(x[4*t], y)\n}", "race: "},
    {"blocks_lap_over", THREADS(2) "call copy4(x[4*t], y[2*t])\n}", "race: "},
    {"read_while_written",
     THREADS(2) "alloc s: i64[8] shared {\ncall copy4(x[4*t], s[4*t])\n"
                "call copy4(s[4 - 4*t], y[4*t])\n}\n}",
     "which nobody has written yet"},
};

static void fails(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    int64_t y[N];
    const kiln_status st = run(&a, parsed(&a, r->body), y, 1, &err);
    assert_int_not_equal(st, KILN_OK);
    if (strstr(err.text, r->want) == NULL)
        fail_msg("must say '%s', says: %s", r->want, err.text);
    kiln_arena_fini(&a);
}

static const row unread[] = {
    {"no_such_program", "call nothing(x, y)", "there is no program 'nothing' before"},
    {"too_few", "call copy4(x)", "expected ','"},
    {"too_many", "call copy4(x, y, x)", "expected ')'"},
    {"no_buffer", "call copy4(x, z)", "there is no buffer 'z' here"},
    {"other_parameter", "call scaled(x, y, 1f)", "a parameter must be one i64"},
    {"no_grid", "launch grid(x, y, 1)", "expected '['"},
};

static void is_not_read(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_program *p = NULL;
    kiln_err err = {0};
    const char *text = kiln_format(
        &a, CALLED "program p(x: i64[16], out y: i64[16]) {\n%s\n}\n", r->body);
    kiln_assert_fails(kiln_program_parse(&a, kiln_str_from(text), NULL, &p, &err),
                      KILN_ERR_PARSE, &err, r->want);
    kiln_arena_fini(&a);
}

/* Of a text that nobody trusts: what a program does to its arguments is soon told. */
static void calls_are_not_deep(void **state) {
    kiln_arena a = {0};
    kiln_program *p = NULL;
    kiln_err err = {0};
    (void)state;
    kiln_assert_fails(
        kiln_program_parse(&a,
                           KILN_STR_LIT("program p0(out y: i64[1]) {\ny[0] = 1\n}\n"
                                        "program p1(out y: i64[1]) {\ncall p0(y)\n}\n"
                                        "program p2(out y: i64[1]) {\ncall p1(y)\n}\n"
                                        "program p3(out y: i64[1]) {\ncall p2(y)\n}\n"),
                           NULL, &p, &err),
        KILN_ERR_LIMIT, &err, "calls may be 2 deep");
    kiln_arena_fini(&a);
}

/* ---- effects --------------------------------------------------------------------- */

static int n_barriers(const kiln_stmt *s) {
    const kiln_stmt *part = NULL;
    int n = s->kind == KILN_STMT_BARRIER;
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++)
        n += n_barriers(part);
    return n;
}

typedef struct wait {
    const char *name, *body;
    int want;
} wait;

/* Of two threads with s: i64[8] shared. */
static const wait waits[] = {
    {"others_block", "call copy4(x[4*t], s[4*t])\ncall copy4(s[4 - 4*t], y[4*t])", 1},
    {"own_block", "call copy4(x[4*t], s[4*t])\ncall copy4(s[4*t], y[4*t])", 0},
    {"laps_over", "call copy4(x[4*t], s[4*t])\ncall copy4(s[3*t], y[4*t])", 1},
    {"read_only", "s[t] = 0\ncall copy4(x, y[4*t])\ncall copy4(x, y[8 + 4*t])", 0},
    {"written_behind_reading",
     "call copy4(x[4*t], s[4*t])\ncall copy4(s[4 - 4*t], y[4*t])\n"
     "call copy4(x, s[4*t])",
     2},
    {"nobody_knows_where", "call copy4(x[4*t], s[4*t])\ny[t] = s[x[t] - 1]", 1},
};

static void waits_where_it_must(void **state) {
    const wait *w = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    int64_t y[N];
    kiln_program *p = parsed(
        &a, kiln_format(&a, THREADS(2) "alloc s: i64[8] shared {\n%s\n}\n}", w->body));
    kiln_assert_status_ok(kiln_loop_pass_barriers.run(p, NULL, &err), &err);
    assert_int_equal(n_barriers(p->body), w->want);
    kiln_assert_status_ok(run(&a, p, y, 1, &err), &err);
    kiln_arena_fini(&a);
}

static void declared_effects(void **state) {
    kiln_arena a = {0};
    const kiln_program *p = parsed(&a, "call copy4(x, y)\ncall add4(x, y)");
    (void)state;
    for (int i = 0; i < 2; i++) {
        const kiln_program *called = p->body->u.seq.stmt[i]->u.call.program;
        const kiln_effect in = kiln_program_effect(called, 0),
                          out = kiln_program_effect(called, 1);
        assert_true(in.reads && !in.writes && out.writes);
        assert_int_equal(out.reads, i == 1);
    }
    /* And by way of calls. */
    const kiln_effect x = kiln_program_effect(p, 0), y = kiln_program_effect(p, 1);
    assert_true(x.reads && !x.writes && y.reads && y.writes);
    kiln_arena_fini(&a);
}

#define ADD_ROWS(fn, rows)                                                             \
    for (size_t i = 0; i < sizeof(rows) / sizeof((rows)[0]); i++)                      \
    kiln_test_add((rows)[i].name, (fn), (void *)(uintptr_t) & (rows)[i])

int main(void) {
    ADD_ROWS(computes, results);
    ADD_ROWS(is_not_verified, unverified);
    ADD_ROWS(fails, failing);
    ADD_ROWS(is_not_read, unread);
    ADD_ROWS(waits_where_it_must, waits);
    kiln_test_add("calls_are_not_deep", calls_are_not_deep, NULL);
    kiln_test_add("declared_effects", declared_effects, NULL);
    return kiln_test_run("calls and launches");
}
