/* Launches against what a target has. */
#include "compiler/loop/loop.h"
#include "tests/support/kiln_test.h"

typedef struct row {
    const char *name, *body, *want; /* NULL: it fits */
} row;

/* 64 bytes of shared memory, 32 of registers, 16 threads. */
static const kiln_memory memory[] = {{"global", KILN_SCOPE_GLOBAL, 0},
                                     {"shared", KILN_SCOPE_SHARED, 64},
                                     {"register", KILN_SCOPE_REGISTER, 32},
                                     {NULL, 0, 0}};

#define THREADS(n) "thread \"threadIdx.x\" t in 0 .. +" #n " {\n"

static const row rows[] = {
    {"fits", THREADS(16) "alloc s: f32[16] shared {\ns[t] = x[t]\ny[t] = s[t]\n}}",
     NULL},
    {"too_large", THREADS(16) "alloc s: f32[17] shared {\ns[t] = x[t]\ny[t] = s[t]\n}}",
     "buffer 's' takes 68 bytes of shared memory, beside 0 that are taken; there are "
     "64"},
    {"too_large_together",
     THREADS(8) "alloc s: f32[8] shared {\nalloc r: f32[9] shared {\ns[t] = x[t]\n"
                "r[t] = s[t]\ny[t] = r[t]\n}}}",
     "buffer 'r' takes 36 bytes of shared memory, beside 32 that are taken"},
    {"one_after_the_other",
     THREADS(8) "alloc s: f32[9] shared {\ns[t] = x[t]\ny[t] = s[t]\n}\n"
                "alloc r: f32[9] shared {\nr[t] = x[t]\ny[t] = r[t]\n}}",
     NULL},
    {"registers", THREADS(8) "alloc r: f32[9] register {\nr[0] = x[t]\ny[t] = r[0]\n}}",
     "buffer 'r' takes 36 bytes of register memory"},
    {"no_such_memory",
     THREADS(8) "alloc l: f32[1] local {\nl[0] = x[t]\ny[t] = l[0]\n}}",
     "the target has no local memory for 'l'"},
    {"no_such_scope",
     THREADS(8) "alloc l: f32[1] scope17 {\nl[0] = x[t]\ny[t] = l[0]\n}}",
     "the target has no scope17 memory for 'l'"},
    {"too_many_threads",
     "thread \"threadIdx.y\" u in 0 .. +3 {\n" THREADS(8) "y[t] = x[t]\n}}",
     "the launch of loop 'u' has blocks of 8 x 3 x 1 threads; the target has 16 a "
     "block"},
    {"blocks_are_no_threads",
     "thread \"blockIdx.x\" u in 0 .. +1000 {\n" THREADS(8) "y[t] = x[t]\n}}", NULL},
};

#define LAUNCHED(body, call)                                                           \
    "program k(x: f32[16], out y: f32[16]) {\n" body "\n}\n"                           \
    "program p(x: f32[16], out y: f32[16]) {\n" call "\n}\n"

/* Programs that a host launches. */
static const row launched[] = {
    {"launched",
     LAUNCHED(THREADS(16) "y[t] = x[t]\n}", "launch k[1, 1, 1; 16, 1, 1](x, y)"), NULL},
    {"launched_with_too_many_threads",
     LAUNCHED(THREADS(17) "y[t - 1] = x[0]\n}", "launch k[1, 1, 1; 17, 1, 1](x, y)"),
     "the launch of loop 't' has blocks of 17 x 1 x 1 threads; the target has 16 a"},
    {"launched_wider_than_its_loops",
     LAUNCHED(THREADS(8) "y[t] = x[t]\n}", "launch k[1, 1, 1; 8, 3, 1](x, y)"),
     "the launch of 'k' has blocks of 8 x 3 x 1 threads; the target has 16 a block"},
    {"launched_with_too_much_memory",
     LAUNCHED(THREADS(8) "alloc s: f32[17] shared {\ns[t] = x[t]\ny[t] = s[t]\n}\n}",
              "for i in 0 .. +2 {\nlaunch k[1, 1, 1; 8, 1, 1](x, y)\n}"),
     "buffer 's' takes 68 bytes of shared memory"},
};

static kiln_program *parsed(kiln_arena *a, const char *body) {
    kiln_program *p = NULL;
    kiln_err err = {0};
    const char *text =
        kiln_format(a, "program p(x: f32[16], out y: f32[16]) {\n%s\n}\n", body);
    kiln_assert_status_ok(kiln_program_parse(a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    return p;
}

static void holds(void **state) {
    const row *r = *state;
    const kiln_launch_limits limits = {memory, 16};
    kiln_arena a = {0};
    kiln_err err = {0};
    const kiln_status st =
        kiln_program_check_limits(parsed(&a, r->body), &limits, &err);
    if (r->want == NULL)
        kiln_assert_status_ok(st, &err);
    else
        kiln_assert_fails(st, KILN_ERR_UNSUPPORTED, &err, r->want);
    kiln_arena_fini(&a);
}

static void holds_launched(void **state) {
    const row *r = *state;
    const kiln_launch_limits limits = {memory, 16};
    kiln_arena a = {0};
    kiln_program *p = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_program_parse(&a, kiln_str_from(r->body), NULL, &p, &err), &err);
    const kiln_status st = kiln_program_check_limits(p, &limits, &err);
    if (r->want == NULL)
        kiln_assert_status_ok(st, &err);
    else
        kiln_assert_fails(st, KILN_ERR_UNSUPPORTED, &err, r->want);
    kiln_arena_fini(&a);
}

static void no_threads(void **state) {
    const kiln_launch_limits limits = {memory, 0};
    kiln_arena a = {0};
    kiln_err err = {0};
    (void)state;
    kiln_assert_fails(kiln_program_check_limits(parsed(&a, THREADS(8) "y[t] = x[t]\n}"),
                                                &limits, &err),
                      KILN_ERR_UNSUPPORTED, &err,
                      "the target has no threads for loop 't'");
    kiln_arena_fini(&a);
}

int main(void) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        kiln_test_add(rows[i].name, holds, (void *)(uintptr_t)&rows[i]);
    for (size_t i = 0; i < sizeof launched / sizeof launched[0]; i++)
        kiln_test_add(launched[i].name, holds_launched,
                      (void *)(uintptr_t)&launched[i]);
    kiln_test_add("no_threads", no_threads, NULL);
    return kiln_test_run("limits of launches");
}
