/* Loop passes by example: golden/<pass>/<case>.txt holds a program before and after. */
#include "compiler/loop/expand.h"
#include "tests/support/kiln_test.h"

#include <string.h>

static kiln_str print(kiln_arena *a, const kiln_program *p) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_program_print(&text, p);
    return kiln_buf_str(&text);
}

/* The pass that ".../golden/<pass>/<case>.txt" is for. */
static const kiln_loop_pass *pass_of(const char *path) {
    const char *end = strrchr(path, '/');
    assert_non_null(end);
    const char *begin = end;
    while (begin > path && begin[-1] != '/')
        begin--;
    const kiln_loop_pass *pass =
        kiln_loop_pass_find((kiln_str){begin, (size_t)(end - begin)});
    assert_non_null(pass);
    return pass;
}

static void check(void **state) {
    kiln_arena a;
    kiln_test_golden g;
    kiln_err err = {0};
    kiln_program *p = NULL;
    kiln_arena_init(&a);
    kiln_test_golden_read(*state, &g);
    kiln_assert_status_ok(kiln_program_parse(&a, g.input, *state, &p, &err), &err);
    kiln_assert_text_equal(print(&a, p), g.input);
    kiln_assert_status_ok(kiln_program_verify(p, &err), &err);
    const kiln_loop_options o = {.natives = &kiln_natives_least};
    kiln_assert_status_ok(pass_of(*state)->run(p, &o, &err), &err);
    kiln_assert_status_ok(kiln_program_verify(p, &err), &err);
    kiln_test_golden_check(&g, print(&a, p));
    kiln_arena_fini(&a);
}

int main(void) {
    for (int i = 0; kiln_loop_pass_at(i) != NULL; i++)
        kiln_test_add_golden(kiln_format(kiln_test_arena(),
                                         "tests/compiler/loop/golden/%s",
                                         kiln_loop_pass_at(i)->name),
                             check);
    return kiln_test_run("loop passes by example");
}
