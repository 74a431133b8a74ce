/* Schedules by example: golden/text/<case>.txt holds tensor expressions, a line
 * `schedule` with the primitives behind it (docs/schedule-text.md), and what the schedule
 * and the program that it lowers to print. */
#include "compiler/schedule/schedule.h"
#include "tests/support/kiln_test.h"

#include <string.h>

typedef struct scene {
    kiln_arena *a;
    kiln_schedule *s;
    const kiln_te **te; /* all stages of the expression */
    size_t n_te;
    kiln_err err;
} scene;

/* Placeholders, then outputs, in the order of the text. */
static size_t collect_args(const scene *c, const kiln_te **outs, size_t n_outs,
                           const kiln_te **arg, size_t *n_inputs) {
    size_t n = 0;
    for (size_t i = 0; i < c->n_te; i++)
        if (c->te[i]->kind == KILN_TE_PLACEHOLDER)
            arg[n++] = c->te[i];
    *n_inputs = n;
    for (size_t i = 0; i < n_outs; i++)
        arg[n++] = outs[i];
    return n;
}

static void check(void **state) {
    kiln_arena a;
    kiln_test_golden g;
    scene c = {.a = &a};
    const kiln_te **outs = NULL, *arg[16];
    size_t n_outs = 0, n_inputs = 0;
    kiln_arena_init(&a);
    kiln_test_golden_read(*state, &g);
    const char *split_at = strstr(kiln_str_dupv(&a, g.input), "\nschedule\n");
    assert_non_null(split_at);
    kiln_str rest = kiln_str_from(split_at + 1), line;
    const kiln_str te = {g.input.p, g.input.n - rest.n};
    kiln_assert_status_ok(kiln_te_parse(&a, te, *state, &outs, &n_outs, &c.err),
                          &c.err);
    c.te = kiln_te_topo(&a, outs, n_outs, &c.n_te);
    const size_t n_args = collect_args(&c, outs, n_outs, arg, &n_inputs);
    c.s = kiln_schedule_new(&a, outs, n_outs);
    kiln_str_cut(&rest, '\n', &line);
    kiln_assert_status_ok(kiln_schedule_read(c.s, rest, *state, &c.err), &c.err);

    kiln_buf text;
    kiln_program *p;
    kiln_buf_init(&text, &a);
    kiln_schedule_print(&text, c.s);
    kiln_assert_status_ok(kiln_lower(&a, c.s, arg, n_args, n_inputs, "p", &p, &c.err),
                          &c.err);
    kiln_assert_status_ok(kiln_program_verify(p, &c.err), &c.err);
    kiln_program_print(&text, p);
    kiln_test_golden_check(&g, kiln_buf_str(&text));
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_golden("tests/compiler/schedule/golden/text", check);
    return kiln_test_run("schedules by example");
}
