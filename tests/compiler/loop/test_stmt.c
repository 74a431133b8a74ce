/* Walking statements: every kind is walked, and what is rewritten keeps the rest. */
#include "compiler/loop/loop.h"
#include "tests/support/kiln_test.h"

#include <string.h>

/* One of every kind of statement, in this order: letters below. */
static const char text[] = "program q(x: f32[8], out y: f32[8]; n: i64) {\n"
                           "  y[n] = x[n]\n"
                           "}\n"
                           "program p(x: f32[8], out y: f32[8]) {\n"
                           "  alloc t: f32[8] {\n"
                           "    for i in 0 .. +8 {\n"
                           "      let k: i64 = 7 - i {\n"
                           "        if k < 3 {\n"
                           "          t[k] = x[i]\n"
                           "        } else {\n"
                           "          @stage \"t\" {\n"
                           "            prefetch(x[k])\n"
                           "            t[k] = 2f*x[k]\n"
                           "          }\n"
                           "        }\n"
                           "      }\n"
                           "    }\n"
                           "    barrier shared\n"
                           "    y[ramp(0, 1, 8)] where (ramp(0, 1, 8) < x8(5)) = "
                           "x8(3f)\n"
                           "    call q(x, y, 3)\n"
                           "    launch q[4, 1, 1; 8, 1, 1](x, t, 3)\n"
                           "  }\n"
                           "}\n";

typedef struct seen {
    char letters[64];
    size_t n;
    int exprs;
} seen;

static const char letter_of[] = {
    [KILN_STMT_FOR] = 'f',  [KILN_STMT_SEQ] = 's',    [KILN_STMT_IF] = 'i',
    [KILN_STMT_LET] = 'l',  [KILN_STMT_ALLOC] = 'a',  [KILN_STMT_STORE] = '=',
    [KILN_STMT_EVAL] = 'e', [KILN_STMT_ATTR] = '@',   [KILN_STMT_BARRIER] = '|',
    [KILN_STMT_CALL] = 'c', [KILN_STMT_LAUNCH] = 'L',
};

static void count_expr(void *user, const kiln_expr *e) {
    assert_non_null(e);
    ((seen *)user)->exprs++;
}

static void see(void *user, const kiln_stmt *s) {
    seen *to = user;
    assert_true(to->n + 1 < sizeof to->letters);
    to->letters[to->n++] = letter_of[s->kind];
    kiln_stmt_exprs(s, count_expr, to);
}

static kiln_program *parsed(kiln_arena *a) {
    kiln_program *p = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_program_parse(a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    return p;
}

static void visits_each_before_its_parts(void **state) {
    kiln_arena a = {0};
    seen all = {.n = 0};
    (void)state;
    kiln_stmt_visit(parsed(&a)->body, see, &all);
    assert_string_equal(all.letters, "asfli=@se=|=cL");
    /* Bounds 2, value 1, condition 1, stores 2 each, prefetch 1, and a mask; what is
     * called is given 3, and a grid has 6. */
    assert_int_equal(all.exprs, 2 + 1 + 1 + 2 + 1 + 2 + 3 + 3 + 9);
    for (size_t i = 0; i < sizeof letter_of; i++)
        assert_non_null(strchr(all.letters, letter_of[i]));
    kiln_arena_fini(&a);
}

static void parts_end_with_null(void **state) {
    kiln_arena a = {0};
    const kiln_program *p = parsed(&a);
    const kiln_stmt *seq = kiln_stmt_part(p->body, 0);
    (void)state;
    assert_null(kiln_stmt_part(p->body, 1));
    assert_int_equal(seq->kind, KILN_STMT_SEQ);
    assert_non_null(kiln_stmt_part(seq, 2));
    assert_null(kiln_stmt_part(seq, 5));
    assert_null(kiln_stmt_part(kiln_stmt_part(seq, 3), 0));
    assert_null(kiln_stmt_part(kiln_stmt_part(seq, 4), 0));
    assert_null(kiln_stmt_part(kiln_stmt_part(seq, 1), 0));
    assert_null(kiln_stmt_part(kiln_stmt_part(seq, 2), 0));
    assert_null(kiln_stmt_part(kiln_s_nothing(&a), 0));
    kiln_arena_fini(&a);
}

static const kiln_stmt *same_stmt(void *user, kiln_arena *a, const kiln_stmt *s) {
    (void)a;
    ++*(int *)user;
    return s;
}

static const kiln_expr *same_expr(void *user, kiln_arena *a, const kiln_expr *e) {
    (void)user;
    (void)a;
    return e;
}

/* A map looks at the parts alone; a rewriting at everything. */
static void what_does_not_change_is_the_same(void **state) {
    kiln_arena a = {0};
    const kiln_program *p = parsed(&a);
    int n = 0;
    const kiln_stmt_rewrite r = {same_stmt, same_expr, &n};
    (void)state;
    assert_ptr_equal(kiln_stmt_map(&a, p->body, &r), p->body);
    assert_int_equal(n, 1);
    assert_ptr_equal(kiln_stmt_map(&a, p->body, &(kiln_stmt_rewrite){.user = &n}),
                     p->body);
    n = 0;
    assert_ptr_equal(kiln_stmt_rewritten(&a, p->body, &r), p->body);
    assert_int_equal(n, (int)strlen("asfli=@se=|=cL"));
    kiln_arena_fini(&a);
}

static const kiln_expr *threes(void *user, kiln_arena *a, const kiln_expr *e) {
    (void)user;
    return e->kind == KILN_EXPR_INT && e->u.i == 3 && e->dtype == KILN_I64
               ? kiln_x_index(a, 5)
               : e;
}

static void rewrites_whole_expressions_bottom_up(void **state) {
    kiln_arena a = {0};
    kiln_program *p = parsed(&a);
    kiln_buf out;
    (void)state;
    kiln_buf_init(&out, &a);
    p->body = kiln_stmt_rewritten(&a, p->body, &(kiln_stmt_rewrite){.expr = threes});
    kiln_program_print(&out, p);
    const char *now = strstr(out.p, "if k < 5");
    assert_non_null(now);
    assert_null(strstr(out.p, "k < 3"));
    assert_non_null(strstr(out.p, "call q(x, y, 5)"));
    kiln_arena_fini(&a);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(visits_each_before_its_parts),
        cmocka_unit_test(parts_end_with_null),
        cmocka_unit_test(what_does_not_change_is_the_same),
        cmocka_unit_test(rewrites_whole_expressions_bottom_up),
    };
    return cmocka_run_group_tests_name("statements", tests, NULL, NULL);
}
