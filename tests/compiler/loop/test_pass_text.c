/* Loop passes by example: golden/<pass>/<case>.txt holds a program before and after.
 * The programs are built here, one function each, named after the file. */
#include "compiler/loop/loop.h"
#include "tests/support/kiln_test.h"

#include <string.h>

typedef struct maker {
    kiln_arena *a;
    kiln_buffer *x, *y; /* input and output */
    const kiln_var *i, *j;
    const kiln_expr *vi, *vj;
} maker;

static const kiln_expr *num(maker *m, int64_t v) { return kiln_x_index(m->a, v); }

static const kiln_expr *op(maker *m, kiln_expr_kind k, const kiln_expr *x,
                           const kiln_expr *y) {
    return kiln_x_binary(m->a, k, x, y);
}

/* i*c + j */
static const kiln_expr *blocked(maker *m, int64_t c) {
    return op(m, KILN_EXPR_ADD, op(m, KILN_EXPR_MUL, m->vi, num(m, c)), m->vj);
}

static const kiln_expr *below(maker *m, const kiln_expr *x, int64_t end) {
    return op(m, KILN_EXPR_LT, x, num(m, end));
}

static const kiln_stmt *loop(maker *m, const kiln_var *v, int64_t extent,
                             kiln_loop_kind kind, const kiln_stmt *body) {
    return kiln_s_for(m->a, v, num(m, 0), num(m, extent), kind, NULL, body);
}

static const kiln_stmt *guard(maker *m, const kiln_expr *cond, const kiln_stmt *s) {
    return kiln_s_if(m->a, cond, s, NULL);
}

/* y[at] = x[at] + 1 */
static const kiln_stmt *step(maker *m, const kiln_expr *at) {
    const kiln_expr *x = kiln_x_load(m->a, m->x, &at, 1, NULL);
    return kiln_s_store(m->a, m->y, &at,
                        kiln_x_add(m->a, x, kiln_x_float(m->a, KILN_F32, 1)), NULL);
}

/* ---- the programs ---------------------------------------------------------------- */

static const kiln_stmt *decided_branches(maker *m) {
    const kiln_stmt *inner = guard(m, below(m, m->vi, 6), step(m, m->vi));
    const kiln_stmt *part[] = {
        guard(m, below(m, m->vi, 8), inner), /* the outer one holds */
        guard(m, below(m, m->vi, 4), inner), /* the inner one follows */
        guard(m, below(m, num(m, 9), 4), inner),
    };
    return loop(m, m->i, 8, KILN_LOOP_SERIAL, kiln_s_seq(m->a, part, 3));
}

/* (5i + 2) // 7 < 2 holds for i <= 2 only. */
static const kiln_stmt *guard_of_quotient(maker *m) {
    const kiln_expr *at =
        op(m, KILN_EXPR_FLOORDIV,
           op(m, KILN_EXPR_ADD, op(m, KILN_EXPR_MUL, m->vi, num(m, 5)), num(m, 2)),
           num(m, 7));
    const kiln_stmt *low = guard(m, below(m, m->vi, 3), step(m, m->vi));
    return loop(m, m->i, 8, KILN_LOOP_SERIAL,
                kiln_s_if(m->a, below(m, at, 2), low, low));
}

static const kiln_stmt *loops_of_one(maker *m) {
    return loop(m, m->i, 8, KILN_LOOP_SERIAL,
                loop(m, m->j, 1, KILN_LOOP_UNROLLED, step(m, blocked(m, 1))));
}

static const kiln_stmt *fixed_guard_moves_out(maker *m) {
    const kiln_expr *both =
        op(m, KILN_EXPR_AND, below(m, m->vi, 5), below(m, blocked(m, 4), 31));
    return loop(
        m, m->i, 8, KILN_LOOP_SERIAL,
        loop(m, m->j, 4, KILN_LOOP_SERIAL, guard(m, both, step(m, blocked(m, 4)))));
}

static const kiln_stmt *split_of(maker *m, kiln_loop_kind outer, kiln_loop_kind inner) {
    return loop(m, m->i, 9, outer,
                loop(m, m->j, 4, inner,
                     guard(m, below(m, blocked(m, 4), 33), step(m, blocked(m, 4)))));
}

static const kiln_stmt *serial_split(maker *m) {
    return split_of(m, KILN_LOOP_SERIAL, KILN_LOOP_SERIAL);
}
static const kiln_stmt *vectorized_split(maker *m) {
    return split_of(m, KILN_LOOP_SERIAL, KILN_LOOP_VECTORIZED);
}
static const kiln_stmt *parallel_split(maker *m) {
    return split_of(m, KILN_LOOP_PARALLEL, KILN_LOOP_UNROLLED);
}

/* Padding by 1 on both sides: y[i] = sum over j in [0, 3) of x[i + j - 1]. */
static const kiln_stmt *padding(maker *m) {
    const kiln_expr *at = op(m, KILN_EXPR_SUB, blocked(m, 1), num(m, 1));
    const kiln_expr *inside =
        op(m, KILN_EXPR_AND, op(m, KILN_EXPR_LE, num(m, 0), at), below(m, at, 36));
    const kiln_expr *x =
        kiln_x_select(m->a, inside, kiln_x_load(m->a, m->x, &at, 1, NULL),
                      kiln_x_float(m->a, KILN_F32, 0));
    const kiln_expr *y = kiln_x_load(m->a, m->y, &m->vi, 1, NULL);
    return loop(m, m->i, 36, KILN_LOOP_SERIAL,
                loop(m, m->j, 3, KILN_LOOP_SERIAL,
                     kiln_s_store(m->a, m->y, &m->vi, kiln_x_add(m->a, y, x), NULL)));
}

/* What is guarded has a loop of its own. */
static const kiln_stmt *guard_around_loop(maker *m) {
    const kiln_expr *at = blocked(m, 4);
    const kiln_var *k = kiln_var_new(m->a, "k", KILN_I64);
    const kiln_expr *from = op(m, KILN_EXPR_ADD, m->vi, kiln_x_ref(m->a, k));
    const kiln_expr *sum = kiln_x_add(m->a, kiln_x_load(m->a, m->y, &at, 1, NULL),
                                      kiln_x_load(m->a, m->x, &from, 1, NULL));
    const kiln_stmt *both[] = {
        step(m, at),
        loop(m, k, 4, KILN_LOOP_SERIAL, kiln_s_store(m->a, m->y, &at, sum, NULL))};
    return loop(m, m->i, 9, KILN_LOOP_SERIAL,
                loop(m, m->j, 4, KILN_LOOP_SERIAL,
                     guard(m, below(m, at, 33), kiln_s_seq(m->a, both, 2))));
}

/* x, padded by 1 on both sides, is computed into memory in front of its reader. */
static const kiln_stmt *stage_in_memory(maker *m) {
    const int64_t size = 16;
    const kiln_buffer *p =
        kiln_buffer_new(m->a, "p", KILN_F32, 1, &size, KILN_SCOPE_GLOBAL);
    const kiln_expr *at = blocked(m, 16), *from = op(m, KILN_EXPR_SUB, at, num(m, 1));
    const kiln_expr *inside =
        op(m, KILN_EXPR_AND, op(m, KILN_EXPR_LE, num(m, 1), at), below(m, at, 35));
    const kiln_expr *x =
        kiln_x_select(m->a, inside, kiln_x_load(m->a, m->x, &from, 1, NULL),
                      kiln_x_float(m->a, KILN_F32, 0));
    const kiln_stmt *pad =
        loop(m, m->j, 16, KILN_LOOP_SERIAL, kiln_s_store(m->a, p, &m->vj, x, NULL));
    const kiln_stmt *copy =
        kiln_s_store(m->a, m->y, &at, kiln_x_load(m->a, p, &m->vj, 1, NULL), NULL);
    const kiln_stmt *both[] = {
        kiln_s_attr(m->a, KILN_STMT_ATTR_STAGE, "p", NULL, NULL, pad),
        loop(m, m->j, 16, KILN_LOOP_UNROLLED, guard(m, below(m, at, 36), copy))};
    return loop(m, m->i, 3, KILN_LOOP_PARALLEL,
                kiln_s_alloc(m->a, p, kiln_s_seq(m->a, both, 2)));
}

/* i is a fused loop: its quotient is guarded. */
static const kiln_stmt *fused_loop(maker *m) {
    const kiln_expr *q = op(m, KILN_EXPR_FLOORDIV, m->vi, num(m, 3));
    const kiln_expr *row =
        op(m, KILN_EXPR_ADD, op(m, KILN_EXPR_MUL, q, num(m, 4)), m->vj);
    return loop(m, m->i, 9, KILN_LOOP_PARALLEL,
                loop(m, m->j, 4, KILN_LOOP_VECTORIZED,
                     guard(m, below(m, row, 11), step(m, row))));
}

static const kiln_stmt *masked_tail(maker *m) {
    return loop(m, m->j, 16, KILN_LOOP_VECTORIZED,
                guard(m, below(m, m->vj, 10),
                      step(m, op(m, KILN_EXPR_ADD, m->vj, num(m, 24)))));
}

static const kiln_stmt *register_keeps_lanes(maker *m) {
    const int64_t size = 16;
    const kiln_buffer *acc =
        kiln_buffer_new(m->a, "acc", KILN_F32, 1, &size, KILN_SCOPE_REGISTER);
    const kiln_expr *sum = kiln_x_add(m->a, kiln_x_load(m->a, acc, &m->vj, 1, NULL),
                                      kiln_x_load(m->a, m->x, &m->vj, 1, NULL));
    const kiln_stmt *part[] = {
        loop(m, m->j, 16, KILN_LOOP_VECTORIZED,
             kiln_s_store(m->a, acc, &m->vj, kiln_x_float(m->a, KILN_F32, 0), NULL)),
        loop(m, m->j, 16, KILN_LOOP_VECTORIZED,
             guard(m, below(m, m->vj, 10), kiln_s_store(m->a, acc, &m->vj, sum, NULL))),
        loop(m, m->j, 16, KILN_LOOP_VECTORIZED,
             guard(m, below(m, m->vj, 10),
                   kiln_s_store(m->a, m->y, &m->vj,
                                kiln_x_load(m->a, acc, &m->vj, 1, NULL), NULL)))};
    return kiln_s_alloc(m->a, acc, kiln_s_seq(m->a, part, 3));
}

static const kiln_stmt *select_masks_load(maker *m) {
    const kiln_expr *at = op(m, KILN_EXPR_SUB, m->vj, num(m, 1));
    const kiln_expr *x = kiln_x_select(m->a, op(m, KILN_EXPR_LE, num(m, 0), at),
                                       kiln_x_load(m->a, m->x, &at, 1, NULL),
                                       kiln_x_float(m->a, KILN_F32, 0));
    return loop(m, m->j, 8, KILN_LOOP_VECTORIZED,
                kiln_s_store(m->a, m->y, &m->vj, x, NULL));
}

/* All lanes add to one place: they must take turns. */
static const kiln_stmt *reduction_stays_serial(maker *m) {
    const kiln_expr *zero = num(m, 0);
    const kiln_expr *sum = kiln_x_add(m->a, kiln_x_load(m->a, m->y, &zero, 1, NULL),
                                      kiln_x_load(m->a, m->x, &m->vj, 1, NULL));
    return loop(m, m->j, 8, KILN_LOOP_VECTORIZED,
                kiln_s_store(m->a, m->y, &zero, sum, NULL));
}

static const kiln_stmt *uniform_is_scalar(maker *m) {
    const kiln_expr *sum = kiln_x_mul(m->a, kiln_x_load(m->a, m->x, &m->vi, 1, NULL),
                                      kiln_x_load(m->a, m->x, &m->vj, 1, NULL));
    return loop(m, m->i, 4, KILN_LOOP_SERIAL,
                loop(m, m->j, 8, KILN_LOOP_VECTORIZED,
                     guard(m, below(m, m->vi, 3),
                           kiln_s_store(m->a, m->y, &m->vj, sum, NULL))));
}

static const kiln_stmt *register_tile(maker *m) {
    kiln_buffer *t = kiln_buffer_new(m->a, "tile", KILN_F32, 2, (int64_t[]){3, 4},
                                     KILN_SCOPE_REGISTER);
    const kiln_expr *at[] = {m->vi, kiln_x_ramp(m->a, num(m, 0), num(m, 1), 4)};
    const kiln_expr *from =
        kiln_x_ramp(m->a, op(m, KILN_EXPR_MUL, m->vi, num(m, 4)), num(m, 1), 4);
    const kiln_stmt *fill =
        kiln_s_store(m->a, t, at, kiln_x_load(m->a, m->x, &from, 1, NULL), NULL);
    const kiln_stmt *drain =
        kiln_s_store(m->a, m->y, &from, kiln_x_load(m->a, t, at, 2, NULL), NULL);
    const kiln_stmt *both[] = {
        loop(m, m->i, 3, KILN_LOOP_UNROLLED, fill),
        loop(m, m->i, 3, KILN_LOOP_UNROLLED, guard(m, below(m, m->vi, 2), drain)),
    };
    return kiln_s_alloc(m->a, t, kiln_s_seq(m->a, both, 2));
}

static const kiln_stmt *strides_and_ramps(maker *m) {
    kiln_buffer *t =
        kiln_buffer_new(m->a, "t", KILN_F32, 3, (int64_t[]){2, 3, 8}, KILN_SCOPE_LOCAL);
    t->align[1] = (kiln_dim_align){16, 1}; /* a row takes 17 */
    const kiln_expr *at[] = {num(m, 1), m->vi,
                             kiln_x_ramp(m->a, num(m, 0), num(m, 1), 8)};
    const kiln_expr *from[] = {m->vi};
    const kiln_stmt *both[] = {
        kiln_s_store(m->a, t, at, kiln_x_load(m->a, m->x, from, 1, NULL), NULL),
        kiln_s_store(m->a, m->y, &at[2], kiln_x_load(m->a, t, at, 3, NULL), NULL)};
    return kiln_s_alloc(m->a, t,
                        loop(m, m->i, 3, KILN_LOOP_SERIAL, kiln_s_seq(m->a, both, 2)));
}

/* sums[j] += a[8 + k] * b[j*4 + k], marked for dot4: flat buffers of their own. */
static const kiln_stmt *byte_dot_product(maker *m) {
    const int64_t n[3] = {16, 36, 8};
    const kiln_dtype type[3] = {KILN_U8, KILN_I8, KILN_I32};
    static const char *const name[3] = {"a", "b", "sums"};
    kiln_buffer *b[3];
    for (int i = 0; i < 3; i++)
        b[i] = kiln_buffer_new(m->a, name[i], type[i], 1, &n[i], KILN_SCOPE_LOCAL);
    const kiln_expr *at[3] = {
        op(m, KILN_EXPR_ADD, m->vj, num(m, 8)),
        op(m, KILN_EXPR_ADD, op(m, KILN_EXPR_MUL, m->vi, num(m, 4)), m->vj), m->vi};
    const kiln_expr *x[3];
    const kiln_stmt *fill[4];
    for (int i = 0; i < 3; i++) {
        x[i] = kiln_x_load(m->a, b[i], &at[i], 1, NULL);
        fill[i] = loop(
            m, m->j, n[i], KILN_LOOP_SERIAL,
            kiln_s_store(m->a, b[i], &m->vj, kiln_x_cast(m->a, type[i], m->vj), NULL));
    }
    const kiln_expr *product = kiln_x_mul(m->a, kiln_x_cast(m->a, KILN_I32, x[0]),
                                          kiln_x_cast(m->a, KILN_I32, x[1]));
    const kiln_stmt *update =
        kiln_s_store(m->a, b[2], &at[2], kiln_x_add(m->a, x[2], product), NULL);
    fill[3] = kiln_s_attr(
        m->a, KILN_STMT_ATTR_TENSORIZE, "dot4_u8s8", NULL, num(m, 8),
        loop(m, m->i, 8, KILN_LOOP_SERIAL, loop(m, m->j, 4, KILN_LOOP_SERIAL, update)));
    const kiln_stmt *s = kiln_s_seq(m->a, fill, 4);
    for (int i = 0; i < 3; i++)
        s = kiln_s_alloc(m->a, b[i], s);
    return s;
}

static const struct {
    const char *name;
    const kiln_stmt *(*make)(maker *m);
} cases[] = {
    {"decided_branches", decided_branches},
    {"guard_of_quotient", guard_of_quotient},
    {"loops_of_one", loops_of_one},
    {"fixed_guard_moves_out", fixed_guard_moves_out},
    {"serial_split", serial_split},
    {"vectorized_split", vectorized_split},
    {"parallel_split", parallel_split},
    {"padding", padding},
    {"guard_around_loop", guard_around_loop},
    {"stage_in_memory", stage_in_memory},
    {"fused_loop", fused_loop},
    {"masked_tail", masked_tail},
    {"register_keeps_lanes", register_keeps_lanes},
    {"select_masks_load", select_masks_load},
    {"reduction_stays_serial", reduction_stays_serial},
    {"uniform_is_scalar", uniform_is_scalar},
    {"register_tile", register_tile},
    {"strides_and_ramps", strides_and_ramps},
    {"byte_dot_product", byte_dot_product},
};

/* ---- the check ---------------------------------------------------------------------
 */

static kiln_program build(kiln_arena *a, const char *name) {
    const int64_t size = 36;
    maker m = {.a = a};
    m.x = kiln_buffer_new(a, "x", KILN_F32, 1, &size, KILN_SCOPE_GLOBAL);
    m.y = kiln_buffer_new(a, "y", KILN_F32, 1, &size, KILN_SCOPE_GLOBAL);
    m.x->arg = 0;
    m.y->arg = 1;
    m.y->is_written = true;
    m.i = kiln_var_new(a, "i", KILN_I64);
    m.j = kiln_var_new(a, "j", KILN_I64);
    m.vi = kiln_x_ref(a, m.i);
    m.vj = kiln_x_ref(a, m.j);
    kiln_program p = {.name = name, .arena = a, .n_args = 2, .n_inputs = 1};
    p.arg = kiln_array(a, const kiln_buffer *, 2);
    p.arg[0] = m.x;
    p.arg[1] = m.y;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, name) == 0)
            p.body = cases[i].make(&m);
    if (p.body == NULL)
        fail_msg("no program is called '%s'", name);
    return p;
}

/* ".../golden/<pass>/<case>.txt" */
static void check(void **state) {
    const char *path = *state;
    kiln_arena a;
    kiln_arena_init(&a);
    kiln_test_golden g;
    kiln_test_golden_read(path, &g);
    const char *file = strrchr(path, '/');
    assert_non_null(file);
    const char *folder = file;
    while (folder > path && folder[-1] != '/')
        folder--;
    const kiln_loop_pass *pass = kiln_loop_pass_find(
        kiln_str_from(kiln_format(&a, "%.*s", (int)(file - folder), folder)));
    assert_non_null(pass);
    kiln_program p =
        build(&a, kiln_format(&a, "%.*s", (int)strlen(file + 1) - 4, file + 1));
    kiln_err err = {0};
    kiln_buf text;
    kiln_buf_init(&text, &a);
    kiln_program_print(&text, &p);
    kiln_assert_text_equal(kiln_buf_str(&text), g.input);
    kiln_assert_status_ok(pass->run(&p, NULL, &err), &err);
    kiln_assert_status_ok(kiln_program_verify(&p, &err), &err);
    kiln_buf_init(&text, &a);
    kiln_program_print(&text, &p);
    kiln_test_golden_check(&g, kiln_buf_str(&text));
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
