/* Fuzz target: text of loop programs. Whatever parses must print and read back to the
 * same text; the verifier and the interpreter must take it as it is. */
#include "compiler/loop/loop.h"
#include "tests/fuzz/fuzz.h"

static kiln_str print(kiln_arena *a, const kiln_program *p) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_program_print(&b, p);
    return kiln_buf_str(&b);
}

static void check_round_trip(kiln_arena *a, const kiln_program *p) {
    kiln_err err = {0};
    kiln_program *again = NULL;
    const kiln_str first = print(a, p);
    const kiln_status st = kiln_program_parse(a, first, "printed", &again, &err);
    KILN_ASSERT(st == KILN_OK, "printed text must parse: %s", err.text);
    KILN_ASSERT(kiln_str_eq(print(a, again), first), "printed text must stay the same");
}

enum { MAX_ARGS = 8, MAX_ELEMS = 4096 };

static const kiln_stmt *find_large(void *user, kiln_arena *a, const kiln_stmt *s) {
    bool *is_large = user;
    if (s->kind == KILN_STMT_ALLOC && kiln_buffer_elems(s->u.alloc.buffer) > MAX_ELEMS)
        *is_large = true;
    if (s->kind == KILN_STMT_CALL || s->kind == KILN_STMT_LAUNCH)
        (void)kiln_stmt_rewritten(
            a, s->u.call.program->body,
            &(kiln_stmt_rewrite){.stmt = find_large, .user = is_large});
    return s;
}

/* Runs it on zeros where its buffers are small. */
static void run(kiln_arena *a, const kiln_program *p) {
    void *arg[MAX_ARGS];
    bool is_large = p->n_args > MAX_ARGS;
    const kiln_stmt_rewrite look = {.stmt = find_large, .user = &is_large};
    (void)kiln_stmt_rewritten(a, p->body, &look);
    if (is_large)
        return;
    for (int i = 0; i < p->n_args; i++) {
        const int64_t n = kiln_buffer_elems(p->arg[i]);
        if (n > MAX_ELEMS)
            return;
        arg[i] = kiln_arena_alloc(a, (size_t)(n > 0 ? n : 1) *
                                         kiln_dtype_bytes(p->arg[i]->dtype));
    }
    const kiln_loop_run_options o = {.max_steps = 10000};
    (void)kiln_program_run(a, p, arg, &o, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_arena arena = {0};
    kiln_program *p = NULL;
    const kiln_str text = {(const char *)data, size};
    if (kiln_program_parse(&arena, text, "fuzz", &p, NULL) == KILN_OK) {
        check_round_trip(&arena, p);
        if (kiln_program_verify(p, NULL) == KILN_OK)
            run(&arena, p);
    }
    kiln_arena_fini(&arena);
    return 0;
}
