/* What the verifier and the passes refuse, with their words. */
#include "compiler/loop/loop.h"
#include "tests/support/kiln_test.h"

typedef struct maker {
    kiln_arena *a;
    kiln_buffer *x, *y, *t; /* input and output of 8 elements; local, of 4 */
    const kiln_var *i, *j;
    const kiln_expr *vi, *vj;
} maker;

static const kiln_expr *num(maker *m, int64_t v) { return kiln_x_index(m->a, v); }

static const kiln_expr *plus(maker *m, const kiln_expr *x, int64_t v) {
    return kiln_x_add(m->a, x, num(m, v));
}

static const kiln_expr *get(maker *m, const kiln_buffer *b, const kiln_expr *at) {
    return kiln_x_load(m->a, b, &at, 1, NULL);
}

static const kiln_stmt *put(maker *m, const kiln_buffer *b, const kiln_expr *at,
                            const kiln_expr *value) {
    return kiln_s_store(m->a, b, &at, value, NULL);
}

static const kiln_stmt *loop(maker *m, const kiln_var *v, int64_t n, kiln_loop_kind k,
                             const kiln_stmt *body) {
    return kiln_s_for(m->a, v, num(m, 0), num(m, n), k, NULL, body);
}

static const kiln_stmt *serial(maker *m, int64_t n, const kiln_stmt *body) {
    return loop(m, m->i, n, KILN_LOOP_SERIAL, body);
}

static const kiln_expr *one(maker *m) { return kiln_x_float(m->a, KILN_F32, 1); }

static const kiln_expr *less(maker *m, const kiln_expr *x, int64_t end) {
    return kiln_x_binary(m->a, KILN_EXPR_LT, x, num(m, end));
}

/* ---- refused -----------------------------------------------------------------------
 */

static const kiln_stmt *store_past_end(maker *m) {
    return serial(m, 8, put(m, m->y, plus(m, m->vi, 1), one(m)));
}
static const kiln_stmt *load_before_begin(maker *m) {
    return serial(m, 8, put(m, m->y, m->vi, get(m, m->x, plus(m, m->vi, -1))));
}
static const kiln_stmt *ramp_past_end(maker *m) {
    return put(m, m->y, kiln_x_ramp(m->a, num(m, 1), num(m, 1), 8), one(m));
}
static const kiln_stmt *read_of_nothing(maker *m) {
    return kiln_s_alloc(m->a, m->t, put(m, m->y, num(m, 0), get(m, m->t, num(m, 0))));
}
static const kiln_stmt *outside_scope(maker *m) {
    const kiln_stmt *both[] = {
        kiln_s_alloc(m->a, m->t, put(m, m->t, num(m, 0), one(m))),
        put(m, m->y, num(m, 0), get(m, m->t, num(m, 0)))};
    return kiln_s_seq(m->a, both, 2);
}
static const kiln_stmt *free_variable(maker *m) { return put(m, m->y, m->vj, one(m)); }
static const kiln_stmt *bound_twice(maker *m) {
    return serial(m, 2, serial(m, 3, put(m, m->y, m->vi, one(m))));
}
static const kiln_stmt *input_written(maker *m) {
    return put(m, m->x, num(m, 0), one(m));
}
static const kiln_stmt *race_of(maker *m, kiln_loop_kind kind) {
    return loop(m, m->i, 4, kind,
                loop(m, m->j, 1, KILN_LOOP_SERIAL, put(m, m->y, num(m, 0), one(m))));
}
static const kiln_stmt *race(maker *m) { return race_of(m, KILN_LOOP_PARALLEL); }
static const kiln_stmt *race_of_threads(maker *m) {
    return race_of(m, KILN_LOOP_THREAD);
}
static const kiln_stmt *race_of_vthreads(maker *m) {
    return race_of(m, KILN_LOOP_VTHREAD);
}

static const kiln_expr *bound(maker *m, const kiln_var *v, const kiln_expr *value,
                              const kiln_expr *body) {
    return kiln_x_let(m->a, &v, &value, 1, body);
}
static const kiln_stmt *bound_in_expression_twice(maker *m) {
    return serial(m, 8, put(m, m->y, bound(m, m->i, num(m, 0), m->vi), one(m)));
}
static const kiln_stmt *used_behind_its_let(maker *m) {
    return put(m, m->y, bound(m, m->i, num(m, 0), m->vi), get(m, m->x, m->vi));
}
static const kiln_stmt *load_outside_in_let(maker *m) {
    return put(m, m->y, num(m, 0),
               bound(m, m->i, num(m, 0), get(m, m->x, plus(m, num(m, 8), 0))));
}

/* ---- accepted ----------------------------------------------------------------------
 */

static const kiln_stmt *guarded_store(maker *m) {
    return serial(m, 8,
                  kiln_s_if(m->a, less(m, m->vi, 7),
                            put(m, m->y, plus(m, m->vi, 1), one(m)), NULL));
}
static const kiln_stmt *guarded_read(maker *m) {
    return serial(
        m, 9,
        put(m, m->y, kiln_x_binary(m->a, KILN_EXPR_FLOORDIV, m->vi, num(m, 2)),
            kiln_x_select(m->a, less(m, m->vi, 8), get(m, m->x, m->vi), one(m))));
}
static const kiln_stmt *own_buffer(maker *m) {
    const kiln_stmt *both[] = {put(m, m->t, num(m, 0), one(m)),
                               put(m, m->y, m->vi, get(m, m->t, num(m, 0)))};
    return loop(m, m->i, 8, KILN_LOOP_PARALLEL,
                kiln_s_alloc(m->a, m->t, kiln_s_seq(m->a, both, 2)));
}
static const kiln_stmt *siblings(maker *m) {
    const kiln_stmt *both[] = {serial(m, 4, put(m, m->y, m->vi, one(m))),
                               serial(m, 8, put(m, m->y, m->vi, one(m)))};
    return kiln_s_seq(m->a, both, 2);
}

static const kiln_stmt *barrier_in(maker *m, kiln_loop_kind kind) {
    const kiln_stmt *both[] = {put(m, m->y, m->vi, one(m)),
                               kiln_s_barrier(m->a, KILN_SCOPE_SHARED)};
    return loop(m, m->i, 8, kind, kiln_s_seq(m->a, both, 2));
}
static const kiln_stmt *barrier_of_threads(maker *m) {
    return barrier_in(m, KILN_LOOP_THREAD);
}
static const kiln_stmt *barrier_of_nobody(maker *m) {
    return barrier_in(m, KILN_LOOP_SERIAL);
}
static const kiln_stmt *barrier_in_parallel(maker *m) {
    return loop(m, m->j, 8, KILN_LOOP_THREAD, barrier_in(m, KILN_LOOP_PARALLEL));
}

/* The branch is never taken, which need not be provable. */
static const kiln_stmt *dead_read_of_nothing(maker *m) {
    const kiln_expr *odd = kiln_x_binary(m->a, KILN_EXPR_FLOORMOD,
                                         kiln_x_mul(m->a, m->vi, m->vi), num(m, 4));
    const kiln_expr *never = kiln_x_binary(m->a, KILN_EXPR_EQ, odd, num(m, 3));
    return serial(
        m, 8,
        kiln_s_alloc(m->a, m->t,
                     kiln_s_if(m->a, never,
                               put(m, m->y, m->vi, get(m, m->t, num(m, 0))), NULL)));
}

/* Indexes may use what is bound, whose range nobody knows. */
static const kiln_stmt *index_by_let(maker *m) {
    return put(m, m->y, num(m, 0),
               bound(m, m->i, num(m, 3), get(m, m->x, plus(m, m->vi, 1))));
}

typedef struct row {
    const char *name;
    const kiln_stmt *(*make)(maker *m);
    const char *want; /* NULL: accepted */
} row;

static row rows[] = {
    {"store_past_end", store_past_end,
     "buffer 'y' is written outside: index 0 must be in [0, 8), is in [1, 8]"},
    {"load_before_begin", load_before_begin,
     "buffer 'x' is read outside: index 0 must be in [0, 8), is in [-1, 6]"},
    {"says_where", store_past_end, "inside for i in 0 .. +8"},
    {"ramp_past_end", ramp_past_end, "is in [1, 8]"},
    {"read_of_nothing", read_of_nothing,
     "buffer 't' is read before anything is written to it"},
    {"outside_scope", outside_scope, "buffer 't' is read where it does not exist"},
    {"free_variable", free_variable, "variable 'j' is used where it has no value"},
    {"bound_twice", bound_twice, "variable 'i' is bound inside its own scope"},
    {"input_written", input_written, "input 'x' is written"},
    {"race", race,
     "every iteration of parallel loop 'i' stores to the same place of 'y'"},
    {"race_of_threads", race_of_threads,
     "every iteration of thread loop 'i' stores to the same place of 'y'"},
    {"race_of_vthreads", race_of_vthreads,
     "every iteration of vthread loop 'i' stores to the same place of 'y'"},
    {"barrier_of_threads", barrier_of_threads, NULL},
    {"barrier_of_nobody", barrier_of_nobody, "a barrier must stand in a thread loop"},
    {"barrier_in_parallel", barrier_in_parallel,
     "a barrier must not stand in the parallel loop 'i'"},
    {"bound_in_expression_twice", bound_in_expression_twice,
     "variable 'i' is bound inside its own scope"},
    {"used_behind_its_let", used_behind_its_let,
     "variable 'i' is used where it has no value"},
    {"load_outside_in_let", load_outside_in_let, "is in [8, 8]"},
    {"index_by_let", index_by_let, NULL},
    {"guarded_store", guarded_store, NULL},
    {"guarded_read", guarded_read, NULL},
    {"own_buffer", own_buffer, NULL},
    {"siblings", siblings, NULL},
    {"dead_read_of_nothing", dead_read_of_nothing, NULL},
};

static maker maker_make(kiln_arena *a, kiln_program *p) {
    maker m = {.a = a};
    m.x = kiln_buffer_new(a, "x", KILN_F32, 1, &(int64_t){8}, KILN_SCOPE_GLOBAL);
    m.y = kiln_buffer_new(a, "y", KILN_F32, 1, &(int64_t){8}, KILN_SCOPE_GLOBAL);
    m.t = kiln_buffer_new(a, "t", KILN_F32, 1, &(int64_t){4}, KILN_SCOPE_LOCAL);
    m.x->arg = 0;
    m.y->arg = 1;
    m.y->is_written = true;
    m.i = kiln_var_new(a, "i", KILN_I64);
    m.j = kiln_var_new(a, "j", KILN_I64);
    m.vi = kiln_x_ref(a, m.i);
    m.vj = kiln_x_ref(a, m.j);
    *p = (kiln_program){.name = "p", .arena = a, .n_args = 2, .n_inputs = 1};
    p->arg = kiln_array(a, const kiln_buffer *, 2);
    p->arg[0] = m.x;
    p->arg[1] = m.y;
    return m;
}

static void verifies(void **state) {
    const row *r = *state;
    kiln_arena a;
    kiln_arena_init(&a);
    kiln_program p;
    maker m = maker_make(&a, &p);
    kiln_err err = {0};
    p.body = r->make(&m);
    if (r->want == NULL)
        kiln_assert_status_ok(kiln_program_verify(&p, &err), &err);
    else
        kiln_assert_fails(kiln_program_verify(&p, &err), KILN_ERR_ARG, &err, r->want);
    kiln_arena_fini(&a);
}

/* ---- limits of unrolling
 * ------------------------------------------------------------- */

static const kiln_stmt *two_unrolled(maker *m) {
    const kiln_expr *at = kiln_x_add(m->a, kiln_x_mul(m->a, m->vi, num(m, 4)), m->vj);
    return loop(m, m->i, 2, KILN_LOOP_UNROLLED,
                loop(m, m->j, 4, KILN_LOOP_UNROLLED, put(m, m->y, at, one(m))));
}

static void unroll_is_limited(void **state) {
    (void)state;
    kiln_arena a;
    kiln_arena_init(&a);
    kiln_program p;
    maker m = maker_make(&a, &p);
    kiln_err err = {0};
    p.body = two_unrolled(&m);
    kiln_loop_options o = {.max_unroll = 7};
    kiln_assert_fails(kiln_program_optimize(&p, &o, &err), KILN_ERR_LIMIT, &err,
                      "unroll: loop 'i' must become at most 7 statements, becomes 8");
    assert_false(p.is_flat);
    kiln_err_clear(&err);
    o.keep_large_loops = true; /* the outer stays, the inner fits */
    p.body = two_unrolled(&m);
    kiln_assert_status_ok(kiln_program_optimize(&p, &o, &err), &err);
    assert_true(p.body->kind == KILN_STMT_FOR &&
                p.body->u.loop.kind == KILN_LOOP_SERIAL &&
                p.body->u.loop.body->kind == KILN_STMT_SEQ &&
                p.body->u.loop.body->u.seq.n == 4);
    kiln_arena_fini(&a);
}

static void wide_loops_become_chunks(void **state) {
    (void)state;
    kiln_arena a;
    kiln_arena_init(&a);
    kiln_program p;
    maker m = maker_make(&a, &p);
    kiln_err err = {0};
    const kiln_loop_options o = {.max_vector_lanes = 3};
    p.body = loop(&m, m.i, 8, KILN_LOOP_VECTORIZED, put(&m, m.y, m.vi, one(&m)));
    kiln_assert_status_ok(kiln_program_optimize(&p, &o, &err), &err);
    assert_int_equal(p.body->kind, KILN_STMT_SEQ);
    assert_int_equal(p.body->u.seq.n, 2);
    assert_int_equal(p.body->u.seq.stmt[0]->u.loop.body->u.store.value->lanes, 3);
    assert_int_equal(p.body->u.seq.stmt[1]->u.store.value->lanes, 2);
    kiln_arena_fini(&a);
}

static void passes_are_found(void **state) {
    (void)state;
    assert_null(kiln_loop_pass_at(-1));
    assert_null(kiln_loop_pass_find(kiln_str_from("no such pass")));
    for (int i = 0; kiln_loop_pass_at(i) != NULL; i++) {
        const kiln_loop_pass *p = kiln_loop_pass_at(i);
        assert_ptr_equal(kiln_loop_pass_find(kiln_str_from(p->name)), p);
        assert_true(p->doc[0] != '\0');
    }
}

int main(void) {
    kiln_test_add_rows(verifies, rows);
    kiln_test_add("unroll_is_limited", unroll_is_limited, NULL);
    kiln_test_add("wide_loops_become_chunks", wide_loops_become_chunks, NULL);
    kiln_test_add("passes_are_found", passes_are_found, NULL);
    return kiln_test_run("what loop passes and the verifier refuse");
}
