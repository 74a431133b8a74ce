/* Every back end against every construct of loop programs: it implements it, or refuses
 * it by name and says what to do instead. A construct that a table forgets fails here. */
#include "compiler/codegen/c/c.h"
#include "compiler/codegen/codegen.h"
#include "tests/support/kiln_test.h"

#include <string.h>

enum { N = 8 };

/* The interpreter, what prints C, then every code generator; NULL past the last. */
static const kiln_backend *backend_at(int i) {
    const kiln_generator *g = kiln_generator_at(i - 2);
    return i == 0      ? &kiln_backend_interpreter
           : i == 1    ? &kiln_c_backend
           : g != NULL ? g->backend
                       : NULL;
}

/* ---- one program ------------------------------------------------------------------ */

static kiln_status interpret(kiln_arena *a, const kiln_program *p, kiln_err *err) {
    void *arg[4];
    for (int i = 0; i < p->n_args; i++) {
        int64_t *data = kiln_array(a, int64_t, N); /* room for every dtype */
        for (int k = 0; k < N; k++)
            data[k] = 1;
        arg[i] = data;
    }
    return kiln_program_run(a, p, arg, NULL, err);
}

static kiln_status print_c(kiln_arena *a, const kiln_program *p, kiln_err *err) {
    const kiln_c_function f = {.name = "p"};
    kiln_c_printed made;
    kiln_c_unit u;
    kiln_c_unit_init(a, &kiln_c_dialect_c99, &u);
    return kiln_c_print(&u, p, &f, &made, err);
}

static bool is_for(const kiln_profile *p, const kiln_backend *b) {
    const char *name = kiln_arch_of(p->arch)->generator;
    return strcmp(name, b->name) == 0;
}

/* For the first profile that ships and has it. */
static kiln_status generate(kiln_arena *a, const kiln_backend *b, const kiln_program *p,
                            kiln_err *err) {
    kiln_object o;
    for (int i = 0; kiln_profile_at(i) != NULL; i++)
        if (kiln_generator_of(kiln_profile_at(i))->backend == b)
            return kiln_codegen(a, p, kiln_profile_at(i), NULL, &o, NULL, err);
    for (int i = 0; kiln_gpu_profile_at(i) != NULL; i++)
        if (is_for(kiln_gpu_profile_at(i), b))
            return kiln_codegen(a, p, kiln_gpu_profile_at(i), NULL, &o, NULL, err);
    return kiln_fail(err, KILN_ERR_ARG, "no profile has the generator '%s'", b->name);
}

/* `entry` is the table's; `names` must be in the refusal. */
static void check(kiln_arena *a, const kiln_backend *b, const char *entry,
                  const kiln_program *p, const char *names) {
    kiln_err err = {0};
    if (entry == NULL)
        fail_msg("%s decided nothing for %s", b->name, names);
    const kiln_status st = b == &kiln_backend_interpreter ? interpret(a, p, &err)
                           : b == &kiln_c_backend         ? print_c(a, p, &err)
                                                          : generate(a, b, p, &err);
    if (entry[0] == '\0') {
        kiln_assert_status_ok(st, &err);
        return;
    }
    assert_int_equal(st, KILN_ERR_UNSUPPORTED);
    if (strstr(err.text, b->name) == NULL || strstr(err.text, names) == NULL ||
        strstr(err.text, entry) == NULL)
        fail_msg("must name '%s' and '%s' and say '%s', is: %s", b->name, names, entry,
                 err.text);
}

static const kiln_program *parsed(kiln_arena *a, const char *body) {
    kiln_program *p = NULL;
    kiln_err err = {0};
    const char *text =
        kiln_format(a,
                    "program other(x: f32[8], out y: f32[8]) {\n  y[0] = x[0]\n}\n"
                    "program mma_f16.reset(out c: f32[256]) flat {\n"
                    "  for i in 0 .. +256 {\n    c[i] = 0f\n  }\n}\n"
                    "program p(x: f32[8], out y: f32[8]) {\n%s}\n",
                    body);
    kiln_assert_status_ok(kiln_program_parse(a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    return p;
}

/* ---- texts ------------------------------------------------------------------------- */

typedef struct row {
    const char *body, *names;
} row;

#define STORE "y[0] = x[0]\n"
#define LOOP(words) "  " words " i in 0 .. +8 {\n    y[i] = x[i]\n  }\n"
#define ATTR(words) "  @" words " {\n    " STORE "  }\n"
#define TILE(scope)                                                                    \
    "  alloc t: f32[8] " scope " {\n    t[0] = x[0]\n    y[0] = t[0]\n  }\n"

#define THREADS(body) "  thread \"threadIdx.x\" t in 0 .. +8 {\n" body "  }\n"

static const row stmts[KILN_N_STMT_KINDS] = {
    [KILN_STMT_FOR] = {LOOP("for"), "loop"},
    [KILN_STMT_SEQ] = {"  " STORE "  y[1] = x[1]\n", "sequence"},
    [KILN_STMT_IF] = {"  if x[0] < 1f {\n    " STORE "  }\n", "branch"},
    [KILN_STMT_LET] = {"  let v: f32 = x[0] {\n    y[0] = v\n  }\n", "let"},
    [KILN_STMT_ALLOC] = {TILE(""), "alloc"},
    [KILN_STMT_STORE] = {"  " STORE, "store"},
    [KILN_STMT_EVAL] = {"  prefetch(x[0])\n", "statement"},
    [KILN_STMT_ATTR] = {ATTR("stage \"y\""), "attribute"},
    [KILN_STMT_BARRIER] = {THREADS("y[t] = x[t]\nbarrier shared\n"), "barrier"},
    [KILN_STMT_CALL] = {"  call other(x, y)\n", "call 'other'"},
    [KILN_STMT_COPY] = {"  alloc d: f32[8] device {\n    copy d from x : 8\n"
                        "    copy y from d : 8\n  }\n",
                        "copy"},
    [KILN_STMT_LAUNCH] = {"  launch other[1, 1, 1; 1, 1, 1](x, y)\n", "launch 'other'"},
};
static const row loops[KILN_N_LOOP_KINDS] = {
    [KILN_LOOP_SERIAL] = {LOOP("for"), "for"},
    [KILN_LOOP_PARALLEL] = {LOOP("parallel"), "parallel"},
    [KILN_LOOP_VECTORIZED] = {LOOP("vectorized"), "vectorized"},
    [KILN_LOOP_UNROLLED] = {LOOP("unroll"), "unroll"},
    [KILN_LOOP_THREAD] = {LOOP("thread \"threadIdx.x\""), "thread loop 'threadIdx.x'"},
    [KILN_LOOP_VTHREAD] = {LOOP("vthread"), "vthread loop 'i'"},
};
static const row scopes[KILN_N_SCOPES] = {
    [KILN_SCOPE_GLOBAL] = {TILE(""), "global"},
    [KILN_SCOPE_LOCAL] = {TILE("local"), "local"},
    [KILN_SCOPE_REGISTER] = {TILE("register"), "register"},
    [KILN_SCOPE_SHARED] = {THREADS("alloc s: f32[8] shared {\ns[t] = x[t]\n"
                                   "y[t] = s[t]\n}\n"),
                           "shared memory for 't'"},
    [KILN_SCOPE_DEVICE] = {"  alloc d: f32[8] device {\n    copy d from x : 8\n"
                           "    copy y from d : 8\n  }\n",
                           "device memory for 'd'"},
    [KILN_SCOPE_FRAGMENT] = {"  thread \"threadIdx.y\" w in 0 .. +1 {\n"
                             "    alloc t: f32[256] fragment {\n"
                             "      call mma_f16.reset(t)\n"
                             "      thread \"threadIdx.x\" l in 0 .. +32 {\n"
                             "        if l < 8 {\n          y[l] = x[l]\n        }\n"
                             "      }\n    }\n  }\n",
                             "fragment memory for 't'"},
    [KILN_N_SCOPES - 1] = {TILE("scope17"), "scope17 memory for 't'"},
};
static const row attrs[KILN_N_ATTR_KEYS] = {
    [KILN_STMT_ATTR_PRAGMA] = {ATTR("pragma \"fast\""), "pragma 'fast'"},
    [KILN_STMT_ATTR_THREAD_EXTENT] = {ATTR("thread_extent \"blockIdx.x\" = 8"),
                                      "thread_extent 'blockIdx.x'"},
    [KILN_STMT_ATTR_COPROC_SCOPE] = {ATTR("coproc_scope = 2"), "coproc_scope"},
    [KILN_STMT_ATTR_DOUBLE_BUFFER] = {ATTR("double_buffer on y"), "double_buffer"},
    [KILN_STMT_ATTR_DEPENDENCE_SCOPE] = {ATTR("dependence"), "dependence"},
    [KILN_STMT_ATTR_STAGE] = {ATTR("stage \"y\""), "stage"},
    [KILN_STMT_ATTR_TENSORIZE] = {ATTR("tensorize \"dot4_u8s8\" = 16"), "tensorize"},
    [KILN_STMT_ATTR_ASYNC] = {ATTR("async = 1"), "async"},
    [KILN_STMT_ATTR_PRODUCTS] = {ATTR("products = 1"), "products"},
    [KILN_STMT_ATTR_SWING] = {ATTR("swing = 1"), "swing"},
};

/* For who refuses them: without the threads that it would refuse before. */
static const char *const alone_stmts[KILN_N_STMT_KINDS] = {
    [KILN_STMT_BARRIER] = ("  " STORE "  barrier shared\n"),
    [KILN_STMT_COPY] = "  copy y from x : 8\n"};
static const char *const alone_scopes[KILN_N_SCOPES] = {
    [KILN_SCOPE_SHARED] = TILE("shared"), [KILN_SCOPE_FRAGMENT] = TILE("fragment")};

static void check_rows(kiln_arena *a, const kiln_backend *b, const row *rows, int n,
                       const char *const *entries, const char *const *alone) {
    for (int i = 0; i < n; i++) {
        if (rows[i].body == NULL)
            fail_msg("construct %d has no program here", i);
        const bool refuses = entries[i] != NULL && entries[i][0] != '\0';
        const char *body =
            refuses && alone != NULL && alone[i] != NULL ? alone[i] : rows[i].body;
        check(a, b, entries[i], parsed(a, body), rows[i].names);
    }
}

static void statements_loops_scopes_and_attributes(void **state) {
    const kiln_backend *b;
    (void)state;
    for (int i = 0; (b = backend_at(i)) != NULL; i++) {
        kiln_arena a = {0};
        check_rows(&a, b, stmts, KILN_N_STMT_KINDS, b->stmt, alone_stmts);
        check_rows(&a, b, loops, KILN_N_LOOP_KINDS, b->loop, NULL);
        check_rows(&a, b, scopes, KILN_N_SCOPES, b->scope, alone_scopes);
        check_rows(&a, b, attrs, KILN_N_ATTR_KEYS, b->attr, NULL);
        kiln_arena_fini(&a);
    }
}

/* ---- expressions -------------------------------------------------------------------- */

static const kiln_expr *element(kiln_arena *a, const kiln_program *p) {
    const kiln_expr *at = kiln_x_index(a, 0);
    return kiln_x_load(a, p->arg[0], &at, 1, NULL);
}

static const kiln_expr *turning(kiln_arena *a) {
    const kiln_var *v = kiln_var_new(a, "v", KILN_I64);
    const kiln_expr *one = kiln_x_index(a, 1), *ref = kiln_x_ref(a, v);
    const kiln_expr *next = kiln_x_add(a, ref, one);
    return kiln_x_loop(
        a, &(kiln_loop_parts){.turns = {.state = &v, .n_state = 1},
                              .init = &one,
                              .next = &next,
                              .cond = kiln_x_less(a, ref, kiln_x_index(a, 4)),
                              .value = ref});
}

static const kiln_expr *from_table(kiln_arena *a) {
    static const int64_t number[] = {2, 3};
    static const kiln_table t = {.dtype = KILN_I64, .n = 2, .v = number};
    return kiln_x_table(a, &t, kiln_x_index(a, 1));
}

static const kiln_expr *reading(kiln_arena *a, bool reduced) {
    const int64_t dim[] = {N};
    kiln_te *te = kiln_te_placeholder(a, "t", KILN_I64, 1, dim);
    const kiln_expr *at = kiln_x_index(a, 0);
    const kiln_expr *read = kiln_x_read(a, te, 0, &at, 1);
    return reduced ? kiln_x_reduce(a, kiln_reducer_sum(a, KILN_I64), &read, NULL, 0,
                                   NULL, 0)
                   : read;
}

/* An expression of that kind around e, an i64 that folds to nothing. */
static const kiln_expr *of_kind(kiln_arena *a, kiln_expr_kind kind,
                                const kiln_expr *e) {
    const kiln_expr *two = kiln_x_index(a, 2), *cond = NULL;
    const kiln_var *v = NULL;
    const int lane[] = {1, 0};
    switch (kind) {
    case KILN_EXPR_INT:
        return two;
    case KILN_EXPR_FLOAT:
        return kiln_x_mul(a, kiln_x_cast(a, KILN_F32, e),
                          kiln_x_float(a, KILN_F32, 2.5));
    case KILN_EXPR_VAR: /* bound around it */
    case KILN_EXPR_LET:
        v = kiln_var_new(a, "v", KILN_I64);
        return kiln_x_let(a, &v, &e, 1, kiln_x_mul(a, kiln_x_ref(a, v), e));
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
    case KILN_EXPR_MUL:
    case KILN_EXPR_DIV:
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
    case KILN_EXPR_MIN:
    case KILN_EXPR_MAX:
    case KILN_EXPR_EQ:
    case KILN_EXPR_NE:
    case KILN_EXPR_LT:
    case KILN_EXPR_LE:
    case KILN_EXPR_AND:
    case KILN_EXPR_OR:
    case KILN_EXPR_XOR:
    case KILN_EXPR_SHL:
    case KILN_EXPR_SHR:
        return kiln_x_binary(a, kind, e, two);
    case KILN_EXPR_NOT:
        return kiln_x_not(a, e);
    case KILN_EXPR_CAST:
        return kiln_x_cast(a, KILN_F32, e);
    case KILN_EXPR_BITCAST:
        return kiln_x_bitcast(a, KILN_F64, e);
    case KILN_EXPR_SELECT:
        cond = kiln_x_less(a, e, two);
        return kiln_x_select(a, cond, e, two);
    case KILN_EXPR_CALL:
        return kiln_x_fn(a, KILN_INTRIN_abs, e);
    case KILN_EXPR_READ:
        return reading(a, false);
    case KILN_EXPR_REDUCE:
        return reading(a, true);
    case KILN_EXPR_LOAD:
        return e;
    case KILN_EXPR_RAMP:
        return kiln_x_ramp(a, e, two, 2);
    case KILN_EXPR_BROADCAST:
        return kiln_x_broadcast(a, e, 2);
    case KILN_EXPR_SHUFFLE:
        e = kiln_x_ramp(a, e, two, 2);
        return kiln_x_shuffle(a, &e, 1, lane, 2);
    case KILN_EXPR_LOOP:
        return turning(a);
    case KILN_EXPR_TABLE:
        return from_table(a);
    }
    return NULL;
}

typedef struct search {
    kiln_expr_kind kind;
    bool found;
} search;

static void find_kind(void *user, const kiln_expr *e) {
    search *x = user;
    x->found = x->found || e->kind == x->kind;
}

/* "y[0] = i64(...)": the kind must be in it. */
static const kiln_program *storing(kiln_arena *a, kiln_expr_kind kind) {
    search x = {kind, false};
    kiln_program *p = NULL;
    kiln_err err = {0};
    const char *text = "program p(x: i64[8], out y: i64[8]) {\n  y[0] = x[0]\n}\n";
    kiln_assert_status_ok(kiln_program_parse(a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    const kiln_expr *value = of_kind(a, kind, element(a, p));
    if (value == NULL) {
        fail_msg("no expression of kind %d is made", (int)kind);
        return NULL;
    }
    const kiln_expr *at =
        value->lanes > 1
            ? kiln_x_ramp(a, kiln_x_index(a, 0), kiln_x_index(a, 1), value->lanes)
            : kiln_x_index(a, 0);
    if (value->dtype != KILN_I64)
        value = kiln_x_cast(a, KILN_I64, value);
    kiln_expr_visit(value, find_kind, &x);
    assert_true(x.found); /* nothing folded it away */
    p->body = kiln_s_store(a, p->arg[1], &at, value, NULL);
    return p;
}

static void expressions(void **state) {
    const kiln_backend *b;
    (void)state;
    for (int i = 0; (b = backend_at(i)) != NULL; i++)
        for (int k = 0; k < KILN_N_EXPR_KINDS; k++) {
            kiln_arena a = {0};
            const kiln_expr_kind kind = (kiln_expr_kind)k;
            check(&a, b, b->expr[k], storing(&a, kind),
                  kind == KILN_EXPR_REDUCE ? "read" : kiln_expr_kind_name(kind));
            kiln_arena_fini(&a);
        }
}

/* Intrinsics that are not pure, and values that nobody keeps. */
static void effects(void **state) {
    const kiln_backend *b;
    (void)state;
    for (int i = 0; (b = backend_at(i)) != NULL; i++) {
        kiln_arena a = {0};
        kiln_program value = *parsed(&a, "  " STORE);
        int n_effects = 0;
        for (int k = 0; k < KILN_N_INTRINS; k++) {
            const kiln_intrin_info *info = kiln_intrin_get((kiln_intrin)k);
            if (info->is_pure)
                continue;
            n_effects++;
            kiln_program p = value;
            const kiln_expr *arg[4], *at = kiln_x_index(&a, 0);
            assert_true(info->n_args <= 4);
            for (int j = 0; j < info->n_args; j++)
                arg[j] = kiln_x_load(&a, p.arg[0], &at, 1, NULL);
            p.body = kiln_s_eval(&a, kiln_x_call(&a, (kiln_intrin)k, arg));
            check(&a, b, b->effect[k], &p, info->name);
        }
        assert_true(n_effects > 0);
        value.body = kiln_s_eval(&a, element(&a, &value));
        check(&a, b, b->value, &value, "statement without effect 'load'");
        kiln_arena_fini(&a);
    }
}

/* Nobody but a launch gives a program its parameters. */
static void parameters(void **state) {
    const kiln_backend *b;
    (void)state;
    for (int i = 0; (b = backend_at(i)) != NULL; i++) {
        kiln_arena a = {0};
        kiln_program *p = NULL;
        kiln_err err = {0};
        kiln_assert_status_ok(
            kiln_program_parse(&a,
                               KILN_STR_LIT("program p(x: f32[8], out y: f32[8]; n: "
                                            "i64) {\n  y[n] = x[n]\n}\n"),
                               NULL, &p, &err),
            &err);
        check(&a, b, b->param, p, "parameter 'n'");
        kiln_arena_fini(&a);
    }
}

/* What is launched is held against the table as well. */
static void what_is_launched(void **state) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_backend forgetful = kiln_backend_interpreter;
    (void)state;
    forgetful.name = "forgetful";
    forgetful.stmt[KILN_STMT_STORE] = NULL;
    assert_int_equal(
        kiln_backend_check(
            &forgetful, parsed(&a, "  launch other[1, 1, 1; 1, 1, 1](x, y)\n"), &err),
        KILN_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "forgetful has no store"));
    kiln_arena_fini(&a);
}

/* A construct that nobody decided about is refused, not taken to be there. */
static void what_a_table_forgets(void **state) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_backend forgetful = kiln_backend_interpreter;
    (void)state;
    forgetful.name = "forgetful";
    forgetful.stmt[KILN_STMT_STORE] = NULL;
    assert_int_equal(kiln_backend_check(&forgetful, parsed(&a, "  " STORE), &err),
                     KILN_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "forgetful has no store: its table says nothing"));
    kiln_arena_fini(&a);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_loops_scopes_and_attributes),
        cmocka_unit_test(expressions),
        cmocka_unit_test(effects),
        cmocka_unit_test(parameters),
        cmocka_unit_test(what_is_launched),
        cmocka_unit_test(what_a_table_forgets),
    };
    return cmocka_run_group_tests_name("back ends", tests, NULL, NULL);
}
