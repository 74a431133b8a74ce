/* KILN_LOG=layout=debug says how each value is made, why, and what is converted. */
#include "compiler/network/executable.h"
#include "tests/support/kiln_test.h"

#include <string.h>

static const char text[] = "graph \"g\" { input %x : f32[1,8,4,4] "
                           "const %w : f32[16,8,3,3] = random(1) "
                           "const %m : f32[4,4] = random(2) "
                           "%c = conv(%x, %w) {pads=[1,1,1,1]} "
                           "%p = max_pool(%c) {kernel=[1,1]} "
                           "%y = matmul(%c, %m) output %y \"y\" output %p \"p\" }";

typedef struct job {
    kiln_graph *g;
    kiln_profile p;
} job;

static void compile_aloud(void *user) {
    job *j = user;
    kiln_net n;
    kiln_err err = {0};
    kiln_log_configure("layout=debug");
    kiln_assert_status_ok(kiln_compile(kiln_test_arena(), j->g, &j->p, NULL, &n, &err),
                          &err);
}

static void layouts_say_why(void **state) {
    static const char *const lines[] = {
        "debug layout: 'c' is made as f32[1,16,4,4]: until its template lays it out",
        "debug layout: 'c' is converted: it lies as f32[1,16,4,4]{block=1x",
        "who reads it takes f32[1,16,4,4]\n",
        "debug layout: 'y' is made as f32[1,16,4,4]: its template takes row-major",
        "debug layout: 'p' is made as f32[1,16,4,4]: it leaves the network",
    };
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_test_death child;
    job j;
    (void)state;
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "test", &j.g, &err),
                          &err);
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx2", &j.p, &err), &err);
    kiln_graph_renumber(j.g);
    kiln_test_in_child(compile_aloud, &j, &child);
    assert_int_equal(child.exit_code, 0);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (strstr(child.stderr_text, lines[i]) == NULL)
            fail_msg("'%s' is not in: %s", lines[i], child.stderr_text);
}

int main(void) {
    kiln_test_add("layouts_say_why", layouts_say_why, NULL);
    return kiln_test_run("log of layouts");
}
