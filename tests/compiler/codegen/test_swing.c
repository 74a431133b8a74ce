/* Parallel loops that go to and fro (KILN_STMT_ATTR_SWING): the order in which one thread
 * goes through them, and that several threads do each iteration once. */
#include "compiler/codegen/codegen.h"
#include "tests/support/kernel/code_run.h"
#include "tests/support/kiln_test.h"

enum { TURNS = 3, PARTS = 7, N = TURNS * PARTS };

/* Iterations write down when they were done: no program of the compiler's own may tell. */
static const char in_order[] = "program p(x: i64[1], out y: i64[21], out n: i64[1]) {\n"
                               "  n[0] = x[0]\n"
                               "  for t in 0 .. +3 {\n"
                               "    @swing = t {\n"
                               "      parallel i in 2 .. +7 {\n"
                               "        y[n[0]] = i\n"
                               "        n[0] = n[0] + x[0] + 1\n"
                               "      }\n    }\n  }\n}\n";

/* Each turn reads what the one before it wrote. */
static const char each_once[] = "program p(x: i64[7], out y: i64[7]) {\n"
                                "  for i in 0 .. +7 {\n    y[i] = x[i]\n  }\n"
                                "  for t in 0 .. +3 {\n"
                                "    @swing = t + 1 {\n"
                                "      parallel i in 0 .. +7 {\n"
                                "        y[i] = y[i]*3 + t\n"
                                "      }\n    }\n  }\n}\n";

static code_kernel *compiled(kiln_arena *a, const char *text) {
    kiln_program *p = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_program_parse(a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    return code_compile(a, p, code_profile_at(0));
}

static void one_thread_turns_back(void **state) {
    (void)state;
    int64_t zero = 0, y[N], n = -1;
    void *tensor[] = {&zero, y, &n};
    code_kernel *k = compiled(kiln_test_arena(), in_order);
    code_call_threads(k, tensor, 1, "in_order");
    code_close(k);
    assert_int_equal(n, N);
    for (int t = 0; t < TURNS; t++)
        for (int i = 0; i < PARTS; i++)
            assert_int_equal(y[t * PARTS + i], 2 + (t % 2 == 0 ? i : PARTS - 1 - i));
}

static void threads_do_each_once(void **state) {
    (void)state;
    code_kernel *k = compiled(kiln_test_arena(), each_once);
    for (int threads = 1; threads <= 3; threads++) {
        int64_t x[PARTS] = {0, 1, -2, 3, 5, 8, 13}, y[PARTS];
        void *tensor[] = {x, y};
        code_call_threads(k, tensor, threads, "each_once");
        for (int i = 0; i < PARTS; i++)
            assert_int_equal(y[i], 27 * x[i] + 5); /* 3 (3 (3 x + 0) + 1) + 2 */
    }
    code_close(k);
}

int main(void) {
    kiln_test_add("one_thread_turns_back", one_thread_turns_back, NULL);
    kiln_test_add("threads_do_each_once", threads_do_each_once, NULL);
    return kiln_test_run("swing");
}
