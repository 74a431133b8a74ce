/* Schedules out of text: what random_schedule writes down reads back to the schedule that
 * it drew; any words at all are a schedule or a refusal, and what lowers computes what
 * the expressions say; refusals say where. */
#include "compiler/schedule/schedule.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_schedule.h"
#include "tests/support/kernel/te_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CASES = 30, ANY = 8, MAX_PRIMITIVES = 32, MAX_LINES = 24 };

static kiln_str print(kiln_arena *a, const kiln_schedule *s) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_schedule_print(&b, s);
    return kiln_buf_str(&b);
}

static void reads_back(void **state) {
    const te_example_def *def = *state;
    const int64_t n = kiln_test_cases(CASES);
    for (int64_t i = 0; i < n; i++) {
        kiln_arena a = {0};
        te_example x = {.n_args = 0};
        kiln_rng rng;
        kiln_buf log;
        kiln_err err = {0};
        random_schedule_stats stats = {0, 0};
        const uint64_t seed = kiln_test_seed() * 1000003u + (uint64_t)i;
        kiln_rng_init(&rng, seed);
        kiln_buf_init(&log, &a);
        def->make(&a, &x);
        const kiln_te *const *out = x.arg + x.n_inputs;
        const size_t n_out = x.n_args - x.n_inputs;
        const kiln_schedule *drawn =
            random_schedule(&a, &rng, out, n_out, MAX_PRIMITIVES, &log, &stats);
        kiln_schedule *again = kiln_schedule_new(&a, out, n_out);
        const kiln_status st =
            kiln_schedule_read(again, kiln_buf_str(&log), "drawn", &err);
        if (st != KILN_OK || !kiln_str_eq(print(&a, drawn), print(&a, again)))
            fail_msg("seed %" PRIu64 ": %s\n%.*s", seed, err.text,
                     KILN_STR_ARG(kiln_buf_str(&log)));
        kiln_arena_fini(&a);
    }
}

/* ---- any words ------------------------------------------------------------------- */

static int64_t pick(kiln_rng *rng, int64_t n) { return kiln_rng_range(rng, 0, n - 1); }

/* Of a kind that a primitive takes, as notation.c has them, or any. */
static const char *any_word(kiln_rng *rng, const kiln_schedule *s, const kiln_stage *st,
                            char kind) {
    static const char *const memory[] = {"global", "local", "register", "shared",
                                         "scope16"},
                             *const word[] = {"threadIdx.x", "blockIdx.x", "dot4_u8s8",
                                              "none",        "#",          "\"\\x41\""},
                             *const number[] = {"-1", "0", "1",  "2",
                                                "3",  "7", "16", "1000000000"};
    switch (pick(rng, 12) > 0 ? kind : "slmnwt"[pick(rng, 6)]) {
    case 's':
        return s->stage.v[pick(rng, (int64_t)s->stage.n)]->te->name;
    case 'l':
        return st->leaf.n > 0 ? st->leaf.v[pick(rng, (int64_t)st->leaf.n)]->name : "i";
    case 't':
        return st->te->n_in > 0 ? st->te->in[pick(rng, st->te->n_in)]->name : "x";
    case 'm':
        return memory[pick(rng, sizeof memory / sizeof memory[0])];
    case 'n':
        return number[pick(rng, sizeof number / sizeof number[0])];
    default:
        return word[pick(rng, sizeof word / sizeof word[0])];
    }
}

static const char *any_line(kiln_arena *a, kiln_rng *rng, kiln_schedule *s) {
    static const struct {
        const char *word, *takes;
    } of[] = {{"split", "sln"},          {"split", "sln"},       {"split_parts", "sln"},
              {"fuse", "sll"},           {"reorder", "sll"},     {"reorder", "slll"},
              {"vectorize", "sl"},       {"unroll", "sl"},       {"parallel", "sl"},
              {"bind", "slw"},           {"vthread", "sl"},      {"pragma", "slw"},
              {"prefetch", "sltn"},      {"tensorize", "slwn"},  {"compute_at", "ssl"},
              {"compute_inline", "s"},   {"compute_root", "s"},  {"cache_read", "tm"},
              {"cache_read", "tms"},     {"cache_write", "sm"},  {"set_scope", "sm"},
              {"storage_align", "snnn"}, {"double_buffer", "s"}, {"rfactor", "sl"},
              {"rfactor", "sln"},        {"no_such_thing", "s"}};
    const size_t row = (size_t)pick(rng, sizeof of / sizeof of[0]);
    const kiln_stage *st = s->stage.v[pick(rng, (int64_t)s->stage.n)];
    kiln_buf line;
    kiln_buf_init(&line, a);
    kiln_buf_puts(&line, of[row].word);
    for (const char *kind = of[row].takes; *kind != '\0'; kind++) {
        const char *word = any_word(rng, s, st, *kind);
        if (*kind == 's' && kiln_schedule_find(s, word) != NULL)
            st = kiln_schedule_find(s, word);
        kiln_buf_printf(&line, " %s", word);
    }
    kiln_buf_puts(&line, "\n");
    return line.p;
}

typedef struct counts {
    int64_t taken, refused, lowered;
} counts;

static void count_allocated(void *user, const kiln_stmt *s) {
    int64_t *elems = user;
    if (s->kind == KILN_STMT_ALLOC)
        *elems += kiln_buffer_elems(s->u.alloc.buffer);
}

/* Words may ask for rows that lie 1000000000 elements apart: of such a program it is
 * enough that it was lowered. */
static bool is_small(const kiln_program *p) {
    enum { MOST_ELEMS = 1 << 24 };
    int64_t elems = 0;
    kiln_stmt_visit(p->body, count_allocated, &elems);
    return elems < MOST_ELEMS;
}

static bool holds(const te_example_def *def, uint64_t seed, counts *all) {
    kiln_arena a = {0};
    te_example x = {.n_args = 0};
    te_call c = {.n_args = 0};
    kiln_wide in[8], want[8];
    kiln_rng rng;
    kiln_err err = {0};
    kiln_buf log;
    kiln_program *p = NULL;
    bool ok = true;
    kiln_rng_init(&rng, seed);
    kiln_buf_init(&log, &a);
    def->make(&a, &x);
    te_call_prepare(&a, &rng, &x, &c, in);
    te_call_evaluate(&a, &x, in, want);
    kiln_schedule *s = kiln_schedule_new(&a, x.arg + x.n_inputs, x.n_args - x.n_inputs);
    for (int64_t n = pick(&rng, MAX_LINES); n > 0; n--) {
        const char *line = any_line(&a, &rng, s);
        kiln_err_clear(&err);
        const kiln_status st = kiln_schedule_read(s, kiln_str_from(line), NULL, &err);
        all->taken += st == KILN_OK;
        all->refused += st != KILN_OK;
        kiln_buf_puts(&log, st == KILN_OK ? line : "");
        ok = ok && (st == KILN_OK || strstr(err.text, "text:1:") != NULL);
    }
    kiln_err_clear(&err);
    const kiln_status st =
        kiln_lower(&a, s, x.arg, x.n_args, x.n_inputs, "p", &p, &err);
    if (st == KILN_OK) {
        const bool runs = is_small(p);
        all->lowered++;
        ok = ok && (!runs || kiln_program_run(&a, p, c.arg, NULL, &err) == KILN_OK);
        for (int i = 0; i < c.n_out && ok && runs; i++)
            ok = !te_call_differs(&a, &c.out[i], &want[i]);
    } else {
        ok = ok && st == KILN_ERR_ARG;
    }
    if (!ok)
        fprintf(stderr, "%s, seed %" PRIu64 ": %s\n%s\n", def->name, seed, err.text,
                log.n > 0 ? log.p : "");
    kiln_arena_fini(&a);
    return ok;
}

static void any_words(void **state) {
    counts all = {0};
    const int64_t n = kiln_test_cases(ANY);
    (void)state;
    for (size_t e = 0; e < n_te_examples; e++)
        for (int64_t i = 0; i < n; i++)
            assert_true(holds(&te_examples[e],
                              kiln_test_seed() * 1000003u + (uint64_t)i, &all));
    print_message("%" PRId64 " lines taken, %" PRId64 " refused; %" PRId64
                  " schedules lowered\n",
                  all.taken, all.refused, all.lowered);
    assert_true(all.taken > all.lowered && all.refused > 0 &&
                all.lowered * 4 > n * (int64_t)n_te_examples);
}

/* ---- refusals -------------------------------------------------------------------- */

typedef struct row {
    const char *name, *text;
    kiln_status status;
    const char *want;
} row;

static const row rows[] = {
    {"no_primitive", "\nspilt c i0 2", KILN_ERR_PARSE,
     "text:2:1: there is no primitive 'spilt'"},
    {"no_word", "split c i0 2\n 7", KILN_ERR_PARSE, "text:2:2: expected a primitive"},
    {"no_stage", "split d i0 2", KILN_ERR_ARG,
     "text:1:7: there is no stage 'd'; there are c"},
    {"no_loop", "split c i9 2", KILN_ERR_ARG,
     "text:1:9: stage 'c' has no loop 'i9'; it has i0, i1, k"},
    {"gone_loop", "split c i0 2\nunroll c i0", KILN_ERR_ARG,
     "text:2:10: stage 'c' has no loop 'i0'; it has i0.outer, i0.inner, i1, k"},
    {"no_number", "split c i0 two", KILN_ERR_PARSE, "text:1:12: expected a number"},
    {"too_large", "split c i0 99999999999", KILN_ERR_PARSE, "a number must be in ["},
    {"missing", "split c i0", KILN_ERR_PARSE, "text:1:11: expected a number"},
    {"too_much", "unroll c i0 i1", KILN_ERR_PARSE,
     "text:1:13: expected the end of the line"},
    {"no_tensor", "cache_read z local", KILN_ERR_ARG, "text:1:12: no stage reads 'z'"},
    {"no_memory", "cache_read x near", KILN_ERR_ARG,
     "text:1:14: there is no memory 'near'; there are global, local, register, shared"},
    {"no_device_memory", "cache_read x device", KILN_ERR_ARG,
     "there is no memory 'device'"},
    {"no_intrinsic", "tensorize c i0 dot5 16", KILN_ERR_ARG,
     "there is no tensor intrinsic 'dot5'; there are dot4_"},
    {"refused_by_the_primitive", "unroll c i1\nparallel c k", KILN_ERR_ARG,
     "'k' of stage 'c' is a reduction loop; use rfactor to make it spatial"},
    {"place_of_what_is_refused", "unroll c i1\nparallel c k", KILN_ERR_ARG,
     "reading text:2:1"},
    {"what_is_no_word", "unroll c i1 \x01", KILN_ERR_PARSE,
     "expected the end of the line"},
};

static kiln_schedule *product(kiln_arena *a) {
    const kiln_te **outs;
    size_t n;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_te_parse(a,
                      KILN_STR_LIT("x[i0: 8, k: 6] : f32\nw[k: 6, i1: 4] : f32\n"
                                   "out c[i0: 8, i1: 4] : f32 = sum(k: 6) x[i0, "
                                   "k]*w[k, i1]\n"),
                      NULL, &outs, &n, &err),
        &err);
    return kiln_schedule_new(a, outs, n);
}

static void refused(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_assert_fails(
        kiln_schedule_read(product(&a), kiln_str_from(r->text), NULL, &err), r->status,
        &err, r->want);
    kiln_arena_fini(&a);
}

static void limits(void **state) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_buf text;
    (void)state;
    kiln_buf_init(&text, &a);
    for (int i = 0; i < 600; i++)
        kiln_buf_puts(&text, "storage_align x.local 0 8 0\n");
    kiln_schedule *s = product(&a);
    kiln_assert_status_ok(
        kiln_schedule_read(s, KILN_STR_LIT("# nothing\n\ncache_read x local"), NULL,
                           &err),
        &err);
    kiln_assert_fails(kiln_schedule_read(s, kiln_buf_str(&text), NULL, &err),
                      KILN_ERR_LIMIT, &err, "a schedule may have 512 steps");
    kiln_arena_fini(&a);
}

/* A reduction may be taken apart into more loops than a stage can have axes; split and
 * fused again and again, a loop's tails add up. */
static void what_adds_up(void **state) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_buf text;
    kiln_schedule *s = product(&a);
    (void)state;
    kiln_buf_init(&text, &a);
    const char *loop = "k";
    for (int i = 0; i < 17; i++) {
        kiln_buf_printf(&text, "split c %s 1\n", loop);
        loop = kiln_format(&a, "%s.outer", loop);
    }
    kiln_buf_printf(&text, "rfactor c %s\n", loop);
    kiln_assert_fails(kiln_schedule_read(s, kiln_buf_str(&text), NULL, &err),
                      KILN_ERR_LIMIT, &err, "has more than 16 reduction loops");
    kiln_status st = KILN_OK;
    for (int i = 0; i < 20 && st == KILN_OK; i++) {
        const kiln_iter *x = s->stage.v[0]->leaf.v[0]; /* twice as long, but for one */
        kiln_err_clear(&err);
        st = kiln_schedule_read(
            s,
            kiln_str_from(kiln_format(
                &a, "split c %s %" PRId64 "\nfuse c %s.outer %s.inner", x->name,
                x->extent > 2 ? x->extent - 1 : 2, x->name, x->name)),
            NULL, &err);
    }
    assert_int_equal(st, KILN_ERR_LIMIT);
    kiln_arena_fini(&a);
}

/* Copies of one tensor for several readers have names of their own. */
static void copies_are_told_apart(void **state) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_schedule *s = product(&a);
    (void)state;
    kiln_assert_status_ok(
        kiln_schedule_read(
            s,
            KILN_STR_LIT("cache_read x local  # one\r\ncache_read x local \n"
                         "split x.local.2 i0 2\n"),
            NULL, &err),
        &err);
    assert_non_null(kiln_schedule_find(s, "x.local"));
    assert_int_equal(kiln_schedule_find(s, "x.local.2")->leaf.n, 3);
    kiln_arena_fini(&a);
}

static void whom_it_is_for(void **state) {
    static const struct {
        const char *text;
        kiln_target_kind want;
    } of[] = {{"parallel c i0", KILN_TARGET_CPU},
              {"bind c i0 threadIdx.x", KILN_TARGET_GPU},
              {"cache_read x shared", KILN_TARGET_GPU},
              {"cache_read x shared\ncache_read w scope16", KILN_TARGET_ACCELERATOR}};
    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        kiln_schedule *s = product(&a);
        kiln_assert_status_ok(
            kiln_schedule_read(s, kiln_str_from(of[i].text), NULL, &err), &err);
        assert_int_equal(kiln_schedule_target(s), of[i].want);
        kiln_arena_fini(&a);
    }
}

int main(void) {
    for (size_t i = 0; i < n_te_examples; i++)
        kiln_test_add(
            kiln_format(kiln_test_arena(), "reads_back_%s", te_examples[i].name),
            reads_back, (void *)(uintptr_t)&te_examples[i]);
    kiln_test_add("any_words", any_words, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        kiln_test_add(rows[i].name, refused, (void *)(uintptr_t)&rows[i]);
    kiln_test_add("limits", limits, NULL);
    kiln_test_add("what_adds_up", what_adds_up, NULL);
    kiln_test_add("copies_are_told_apart", copies_are_told_apart, NULL);
    kiln_test_add("whom_it_is_for", whom_it_is_for, NULL);
    return kiln_test_run("schedules out of text");
}
