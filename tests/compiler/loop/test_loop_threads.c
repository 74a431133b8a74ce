/* The interpreter's threads: what lock step means, and that races, divergent barriers
 * and reads of nothing are found whatever the order. */
#include "compiler/loop/loop.h"
#include "tests/support/kiln_test.h"

#include <string.h>

enum { N = 8, SEEDS = 6 };

typedef struct row {
    const char *name, *body;
    float y[N];       /* where it runs; x[i] is i + 1 */
    const char *want; /* the error; NULL: none */
    kiln_status status;
} row;

#define BLOCKS(n) "thread \"blockIdx.x\" b in 0 .. +" #n " {\n"
#define THREADS(v, n) "thread \"threadIdx.x\" " v " in 0 .. +" #n " {\n"
#define SHARED(n) "alloc s: f32[" #n "] shared {\n"

static const row rows[] = {
    {"others_elements",
     THREADS("t", 8) SHARED(8) "s[t] = x[t]\nbarrier shared\ny[t] = s[7 - t]\n}}",
     {8, 7, 6, 5, 4, 3, 2, 1},
     NULL,
     KILN_OK},
    {"no_barrier",
     THREADS("t", 8) SHARED(8) "s[t] = x[t]\ny[t] = s[7 - t]\n}}",
     {0},
     "which nobody has written yet",
     KILN_ERR_ARG},
    {"barrier_of_another_memory",
     THREADS("t", 8) SHARED(8) "s[t] = x[t]\nbarrier global\ny[t] = s[7 - t]\n}}",
     {0},
     "with no barrier between",
     KILN_ERR_ARG},
    {"names_who_and_where",
     BLOCKS(1) THREADS("t", 2) "for k in 0 .. +3 {\ny[k] = x[t]\n}}}",
     {0},
     "block (0, 0, 0) writes 'y'[0], which thread (",
     KILN_ERR_ARG},
    {"through_global_memory",
     THREADS("t", 8) "y[t] = x[t]\nbarrier global\ny[t] = y[t]*2f\nbarrier global\n"
                     "let v: f32 = y[(t + 1) % 8] {\nbarrier global\ny[t] = v\n}}",
     {4, 6, 8, 10, 12, 14, 16, 2},
     NULL,
     KILN_OK},
    {"read_then_written",
     THREADS("t", 8) "y[t] = x[t]\nbarrier global\nlet v: f32 = y[(t + 1) % 8] {\n"
                     "y[t] = v\n}}",
     {0},
     "with no barrier between",
     KILN_ERR_ARG},
    {"barrier_in_a_loop",
     THREADS("t", 8) SHARED(8) "s[t] = x[t]\nfor k in 0 .. +3 {\nbarrier shared\n"
                               "let v: f32 = s[(t + 1) % 8] {\nbarrier shared\n"
                               "s[t] = v\n}}\ny[t] = s[t]\n}}",
     {4, 5, 6, 7, 8, 1, 2, 3},
     NULL,
     KILN_OK},
    {"carried_by_a_loop",
     THREADS("t", 8) SHARED(8) "s[t] = x[t]\nfor k in 0 .. +3 {\nbarrier shared\n"
                               "y[t] = s[(t + k) % 8]\ns[t] = x[t]\n}}}",
     {0},
     "race",
     KILN_ERR_ARG},
    /* Storage of each turn is the same, so the second writes what is still read. */
    {"memory_of_each_turn",
     THREADS("t", 8) "for k in 0 .. +2 {\n" SHARED(8) "s[t] = x[t]\nbarrier shared\n"
                                                      "y[t] = s[7 - t]\n}}}",
     {0},
     "race",
     KILN_ERR_ARG},
    {"memory_of_each_turn_apart",
     THREADS("t", 8) "for k in 0 .. +2 {\n" SHARED(8) "s[t] = x[t]\nbarrier shared\n"
                                                      "y[t] = s[7 - t]\n}\n"
                                                      "barrier shared\n}}",
     {8, 7, 6, 5, 4, 3, 2, 1},
     NULL,
     KILN_OK},
    {"shared_is_one_a_block",
     BLOCKS(2) SHARED(4) THREADS("t", 4) "s[t] = x[b*4 + t]\nbarrier shared\n"
                                         "y[b*4 + t] = s[3 - t]\n}}}",
     {4, 3, 2, 1, 8, 7, 6, 5},
     NULL,
     KILN_OK},
    {"local_is_one_a_thread",
     THREADS("t", 8) "alloc l: f32[1] local {\nl[0] = x[t]\nbarrier shared\n"
                     "y[t] = l[0]\n}}",
     {1, 2, 3, 4, 5, 6, 7, 8},
     NULL,
     KILN_OK},
    {"siblings_share_their_axis",
     BLOCKS(1) SHARED(8) THREADS("t", 8) "s[t] = x[t]\n}\nbarrier shared\n" THREADS(
         "u", 8) "y[u] = s[7 - u]\n}}}",
     {8, 7, 6, 5, 4, 3, 2, 1},
     NULL,
     KILN_OK},
    {"siblings_do_not_wait",
     BLOCKS(1) SHARED(8)
         THREADS("t", 8) "s[t] = x[t]\n}\n" THREADS("u", 8) "y[u] = s[7 - u]\n}}}",
     {0},
     "race",
     KILN_ERR_ARG},
    {"first_thread_outside",
     BLOCKS(2) SHARED(1) "s[0] = x[b]\nbarrier shared\n" THREADS(
         "t", 4) "y[b*4 + t] = s[0]\n}}}",
     {1, 1, 1, 1, 2, 2, 2, 2},
     NULL,
     KILN_OK},
    {"fewer_iterations_than_threads",
     BLOCKS(1) SHARED(8)
         THREADS("t", 4) "s[t*2] = x[t]\ns[t*2 + 1] = x[t]\n}\n"
                         "barrier shared\n" THREADS("u", 8) "y[u] = s[7 - u]\n}}}",
     {4, 4, 3, 3, 2, 2, 1, 1},
     NULL,
     KILN_OK},
    {"blocks_never_wait",
     BLOCKS(2) THREADS("t", 4) "y[b*4 + t] = x[t]\nbarrier global\n"
                               "y[b*4 + t] = y[(b*4 + t + 4) % 8]\n}}",
     {0},
     "blocks do not wait for each other",
     KILN_ERR_ARG},
    {"one_launch_after_another",
     THREADS("t", 8) "y[t] = x[t]\n}\n" THREADS("u", 4) "y[u] = y[u + 4]\n}",
     {5, 6, 7, 8, 5, 6, 7, 8},
     NULL,
     KILN_OK},
    {"barrier_in_a_branch",
     THREADS("t", 8) "y[t] = x[t]\nif t < 4 {\nbarrier shared\n}}",
     {0},
     "divergent barrier: thread (0, 0, 0) of block (0, 0, 0) waits where thread "
     "(4, 0, 0) does not come",
     KILN_ERR_ARG},
    {"barrier_in_both_branches",
     THREADS("t", 8) "y[t] = x[t]\nif t < 4 {\nbarrier shared\n} else {\n"
                     "barrier shared\n}}",
     {0},
     "divergent barrier",
     KILN_ERR_ARG},
    {"barrier_in_a_branch_of_all",
     THREADS("t", 8) "if x[0] < 2f {\nbarrier shared\ny[t] = x[t]\n}}",
     {1, 2, 3, 4, 5, 6, 7, 8},
     NULL,
     KILN_OK},
    {"barrier_in_turns_of_some",
     THREADS("t", 8) "y[t] = x[t]\nfor k in 0 .. +(t + 1) {\nbarrier shared\n}}",
     {0},
     "divergent barrier",
     KILN_ERR_ARG},
    {"barrier_of_too_few_threads",
     BLOCKS(1) THREADS("t", 4) "y[t] = x[t]\nbarrier shared\n}\n" THREADS(
         "u", 8) "y[u] = x[u]\n}}",
     {0},
     "divergent barrier",
     KILN_ERR_ARG},
    {"nobody_wrote",
     THREADS("t", 8) SHARED(9) "s[t] = x[t]\nbarrier shared\ny[t] = s[t + 1]\n}}",
     {0},
     "of block (0, 0, 0) reads 's'[8], which nobody has written",
     KILN_ERR_ARG},
    {"outside",
     THREADS("t", 8) SHARED(8) "s[t] = x[t]\nbarrier shared\ny[t] = s[t + 1]\n}}",
     {0},
     "buffer 's': index 0 must be in [0, 8), is 8 at t=7",
     KILN_ERR_SHAPE},
    {"shared_without_threads",
     SHARED(8) "s[0] = x[0]\ny[0] = s[0]\n}",
     {0},
     "shared memory for 's' stands outside all thread loops",
     KILN_ERR_ARG},
    {"barrier_without_threads",
     "barrier shared\n",
     {0},
     "outside all thread loops",
     KILN_ERR_ARG},
    {"no_axis",
     "thread \"lane\" t in 0 .. +8 {\ny[t] = x[t]\n}",
     {0},
     "thread loop 't' is bound to 'lane'; there are blockIdx.x",
     KILN_ERR_UNSUPPORTED},
    {"more_than_come",
     BLOCKS(1) THREADS("t", 4) "y[t] = x[t]\n" THREADS("u", 8) "y[u] = x[u]\n}}}",
     {0},
     "thread loop 'u' has 8 iterations along threadIdx.x, inside a loop to which only "
     "4 "
     "threads come",
     KILN_ERR_ARG},
    {"extent_of_data",
     THREADS("b", 2) "thread \"threadIdx.y\" t in 0 .. +(b + 1) {\ny[t] = x[t]\n}}",
     {0},
     "the extent of thread loop 't' must be a constant",
     KILN_ERR_UNSUPPORTED},
    {"memory_of_some_target",
     THREADS("t", 8) "alloc q: f32[1] scope17 {\nq[0] = x[t]\ny[t] = q[0]\n}}",
     {0},
     "has no scope17 memory for 'q' in thread loops",
     KILN_ERR_UNSUPPORTED},
    {"global_memory_of_a_thread",
     THREADS("t", 8) "alloc g: f32[1] {\ng[0] = x[t]\nbarrier global\ny[t] = g[0]\n}}",
     {1, 2, 3, 4, 5, 6, 7, 8},
     NULL,
     KILN_OK},
    {"global_memory_of_a_row",
     BLOCKS(1) "thread \"threadIdx.y\" r in 0 .. +2 {\nalloc g: f32[4] {\n" THREADS(
         "t", 4) "g[t] = x[r*4 + t]\nbarrier global\ny[r*4 + t] = g[3 - t]\n}}}}",
     {4, 3, 2, 1, 8, 7, 6, 5},
     NULL,
     KILN_OK},
    {"global_memory_of_blocks",
     "thread \"threadIdx.x\" t in 0 .. +4 {\nalloc g: f32[1] {\ng[0] = x[t]\n" BLOCKS(
         2) "y[b*4 + t] = x[t]\n}}}",
     {0},
     "allocated where blocks would share it",
     KILN_ERR_UNSUPPORTED},
    {"too_many",
     "thread \"threadIdx.x\" t in 0 .. +1000000 {\nif t < 8 {\n"
     "y[t] = x[t]\n}}",
     {0},
     "at most 65536 threads",
     KILN_ERR_LIMIT},
};

static kiln_program *parsed(kiln_arena *a, const row *r) {
    kiln_program *p = NULL;
    kiln_err err = {0};
    const char *text =
        kiln_format(a, "program p(x: f32[8], out y: f32[8]) {\n%s\n}\n", r->body);
    kiln_assert_status_ok(kiln_program_parse(a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    return p;
}

static void runs(void **state) {
    const row *r = *state;
    for (int i = 0; i < SEEDS; i++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        float x[N], y[N] = {0};
        void *const arg[] = {x, y};
        const kiln_loop_run_options o = {
            .reverse_parallel = i == 1,
            .seed = i < 2 ? 0 : kiln_test_seed() * SEEDS + (uint64_t)i};
        for (int k = 0; k < N; k++)
            x[k] = (float)(k + 1);
        const kiln_status st = kiln_program_run(&a, parsed(&a, r), arg, &o, &err);
        if (r->want == NULL) {
            kiln_assert_status_ok(st, &err);
            for (int k = 0; k < N; k++)
                if (y[k] != r->y[k])
                    fail_msg("y[%d] must be %g, is %g", k, (double)r->y[k],
                             (double)y[k]);
        } else {
            kiln_assert_fails(st, r->status, &err, r->want);
        }
        kiln_arena_fini(&a);
    }
}

int main(void) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        kiln_test_add(rows[i].name, runs, (void *)(uintptr_t)&rows[i]);
    return kiln_test_run("threads of the interpreter");
}
