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
    kiln_test_add("no_threads", no_threads, NULL);
    return kiln_test_run("limits of launches");
}
