/* Where the pass puts barriers, where it puts none, and what it refuses. */
#include "compiler/loop/loop.h"
#include "tests/support/kiln_test.h"

#include <string.h>

typedef struct row {
    const char *name, *body;
    const char *want; /* "|" stands where a barrier goes; b for one of global memory */
    const char *refusal; /* NULL: none */
} row;

/* Bodies are of 8 threads with s: f32[8] shared; in `want`, a letter for each statement
 * that is no loop: s stores to s, y to y, l binds; ( and ) around loops and branches. */
static const row rows[] = {
    {"others", "s[t] = x[t]\ny[t] = s[7 - t]", "s|y", NULL},
    {"own", "s[t] = x[t]\ny[t] = s[t]", "sy", NULL},
    {"own_permuted_back", "s[(t*3 + 1) % 8] = x[t]\ny[t] = s[(t*3 + 1) % 8]", "sy",
     NULL},
    {"read_then_written", "s[t] = x[t]\nlet v: f32 = s[7 - t] {\ns[t] = v\n}", "s|l|s",
     NULL},
    {"halves_apart", "if t < 4 {\ns[t] = x[t]\n}\nif t < 4 {\ny[t] = s[3 - t]\n}",
     "(s)|(y)", NULL},
    {"in_front_of_a_loop",
     "s[t] = x[t]\nfor k in 0 .. +3 {\ny[t] = y[t] + s[(t + k) % 8]\n}", "s|(y)", NULL},
    {"carried", "for k in 0 .. +3 {\ns[t] = x[t]\ny[t] = s[7 - t]\n}", "(|s|y)", NULL},
    {"once_is_no_loop", "for k in 0 .. +1 {\ns[t] = x[t]\ny[t] = s[7 - t]\n}", "(s|y)",
     NULL},
    /* The other half is written while this one is read. */
    {"in_turn",
     "if t < 4 {\ns[t] = x[t]\n}\nfor k in 0 .. +3 {\nif t < 4 {\n"
     "y[t] = s[k % 2*4 + 3 - t]\ns[(k + 1) % 2*4 + t] = x[t]\n}\n}",
     "(s)(|(ys))", NULL},
    {"behind_a_loop", "for k in 0 .. +3 {\ns[t] = x[t]\n}\ny[t] = s[7 - t]", "(s)|y",
     NULL},
    {"global_memory", "y[t] = x[t]\ns[t] = y[7 - t]", "ybs", NULL},
    {"both", "y[t] = x[t]\ns[t] = x[t]\ns[t] = y[7 - t] + s[7 - t]", NULL,
     "two threads touch one element of 's' in one statement inside loop 't'"},
    {"data_decides", "s[t] = x[t]\ny[t] = s[i64(x[t])]", "s|y", NULL},
    {"data_decides_where", "s[i64(x[t])] = x[t]\ny[t] = s[t]", "s|y", NULL},
    {"all_to_one", "s[0] = x[t]", NULL, "no barrier can stand between"},
    {"inside_a_branch", "if x[0] < 1f {\ns[t] = x[t]\ny[t] = s[7 - t]\n}", NULL,
     "threads depend on each other by 's' inside a branch or loop that not all "
     "threads"},
    {"uniform_branch",
     "for k in 0 .. +2 {\nif k < 1 {\ns[t] = x[t]\ny[t] = s[7 - t]\n}\n}", "((s|y))",
     NULL},
    {"there_already", "s[t] = x[t]\nbarrier shared\ny[t] = s[7 - t]", "s|y", NULL},
    {"needless_stays", "s[t] = x[t]\nbarrier shared\ny[t] = s[t]", "s|y", NULL},
};

/* The letters of a body. */
static void letters(kiln_buf *out, const kiln_stmt *s) {
    const kiln_stmt *part = NULL;
    const bool is_block = s->kind == KILN_STMT_FOR || s->kind == KILN_STMT_IF;
    if (s->kind == KILN_STMT_STORE)
        kiln_buf_puts(out, s->u.store.buffer->name);
    if (s->kind == KILN_STMT_LET)
        kiln_buf_puts(out, "l");
    if (s->kind == KILN_STMT_BARRIER)
        kiln_buf_puts(out, s->u.barrier == KILN_SCOPE_SHARED ? "|" : "b");
    kiln_buf_puts(out, is_block ? "(" : "");
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++)
        letters(out, part);
    kiln_buf_puts(out, is_block ? ")" : "");
}

static void puts_them(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_program *p = NULL;
    kiln_err err = {0};
    kiln_buf got;
    const char *text = kiln_format(&a,
                                   "program p(x: f32[8], out y: f32[8]) {\n"
                                   "thread \"threadIdx.x\" t in 0 .. +8 {\n"
                                   "alloc s: f32[8] shared {\n%s\n}}}\n",
                                   r->body);
    kiln_assert_status_ok(kiln_program_parse(&a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    const kiln_status st = kiln_loop_pass_barriers.run(p, NULL, &err);
    if (r->refusal != NULL) {
        kiln_assert_fails(st, KILN_ERR_ARG, &err, r->refusal);
    } else {
        kiln_assert_status_ok(st, &err);
        kiln_assert_status_ok(kiln_program_verify(p, &err), &err);
        kiln_buf_init(&got, &a);
        letters(&got, p->body);
        assert_string_equal(got.p, kiln_format(&a, "(%s)", r->want));
    }
    kiln_arena_fini(&a);
}

/* A block of one thread needs none, wherever data decides what it touches. */
static void one_thread_waits_for_nobody(void **state) {
    static const char text[] =
        "program p(x: f32[8], out y: f32[8]) {\n"
        "thread \"blockIdx.x\" b in 0 .. +1 {\n"
        "thread \"threadIdx.x\" t in 0 .. +1 {\n"
        "alloc s: f32[8] shared {\n"
        "for k in 0 .. +8 {\nif x[k] < 1f {\ns[k] = x[k]\n"
        "y[k] = s[i64(x[k])]\ny[k] = y[i64(x[k])]\n}\n}\n}\n}\n}\n}\n";
    kiln_arena a = {0};
    kiln_program *p = NULL;
    kiln_err err = {0};
    kiln_buf got;
    (void)state;
    kiln_assert_status_ok(kiln_program_parse(&a, KILN_STR_LIT(text), "one", &p, &err),
                          &err);
    kiln_assert_status_ok(kiln_loop_pass_barriers.run(p, NULL, &err), &err);
    kiln_buf_init(&got, &a);
    letters(&got, p->body);
    assert_null(strpbrk(got.p, "|b"));
    kiln_arena_fini(&a);
}

int main(void) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        kiln_test_add(rows[i].name, puts_them, (void *)(uintptr_t)&rows[i]);
    kiln_test_add("one_thread_waits_for_nobody", one_thread_waits_for_nobody, NULL);
    return kiln_test_run("the pass barriers");
}
