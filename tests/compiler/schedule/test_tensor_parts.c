/* Tensor intrinsics whose operands are blocks of memory: a product of matrices whose
 * innermost loops are one of them, as reset, update and body, of packed blocks and of rows
 * of the matrices themselves, by sums, products, maxima and minima, of the whole and of
 * what rfactor took apart, in series and by threads, equals kiln_te_eval after every pass;
 * and each part is called where it belongs. */
#include "compiler/schedule/schedule.h"
#include "tests/support/kiln_test.h"
#include "tests/support/made_up/tensor_intrins.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CASES = 100, LANES = 4 };

typedef struct product {
    kiln_arena *a;
    kiln_rng rng;
    kiln_te *x, *y, *c;
    kiln_schedule *s;
    kiln_stage *stage, *sum;
    const kiln_tensor_intrin *intrin;
    int64_t m, n, k;
    bool splits;      /* a reduction loop stays outside */
    bool unrolls;     /* a spatial loop stands between it and the intrinsic */
    bool takes_turns; /* which virtual threads run */
    bool has_threads;
    bool packs[2]; /* blocks of what is read */
    bool factors;  /* the reduction loop outside is a stage's axis */
    kiln_err err;
} product;

static int64_t pick(product *p, int64_t lo, int64_t hi) {
    return kiln_rng_range(&p->rng, lo, hi);
}

static void make(product *p) {
    kiln_arena *a = p->a;
    p->x = kiln_te_placeholder(a, "x", KILN_I32, 2, (int64_t[]){p->m, p->k});
    p->y = kiln_te_placeholder(a, "y", KILN_I32, 2, (int64_t[]){p->k, p->n});
    p->c = kiln_te_begin(a, "c", 2, (int64_t[]){p->m, p->n});
    const kiln_axis *k = kiln_te_reduce_axis(p->c, "k", p->k);
    const kiln_expr *r = kiln_axis_var(a, k);
    const kiln_expr *at_x[] = {kiln_te_var(p->c, 0), r},
                    *at_y[] = {r, kiln_te_var(p->c, 1)};
    const kiln_reducer *by =
        p->intrin == &made_up_acc4_max    ? kiln_reducer_max(a, KILN_I32)
        : p->intrin == &made_up_acc4_min  ? kiln_reducer_min(a, KILN_I32)
        : p->intrin == &made_up_acc4_prod ? kiln_reducer_prod(a, KILN_I32)
                                          : kiln_reducer_sum(a, KILN_I32);
    const kiln_expr *source =
        kiln_x_mul(a, kiln_te_read(a, p->x, at_x), kiln_te_read(a, p->y, at_y));
    const kiln_expr *sum = kiln_x_reduce(a, by, &source, &k, 1, NULL, 0);
    kiln_assert_status_ok(kiln_te_end(p->c, 1, &sum, &p->err), &p->err);
    const kiln_te *out = p->c;
    p->s = kiln_schedule_new(a, &out, 1);
    p->stage = kiln_schedule_stage(p->s, p->c);
}

#define OK(call) kiln_assert_status_ok((call), &p->err)

/* A block of what the sum reads, packed where `at` begins. */
static void pack(product *p, const kiln_te *te, kiln_iter *at, bool in_loop) {
    kiln_stage *copy = NULL;
    OK(kiln_cache_read(p->s, te, KILN_SCOPE_LOCAL, &p->sum, 1, &copy, &p->err));
    OK(kiln_compute_at(copy, p->sum, at, &p->err));
    if (in_loop && pick(p, 0, 1) == 0)
        OK(kiln_double_buffer(copy, &p->err));
}

/* One partial result for each part of the reduction, which the stage then combines. */
static void schedule_factored(product *p) {
    kiln_iter *ko, *ki, *io, *ii, *jo, *ji;
    kiln_stage *st = p->stage;
    OK(kiln_split(st, kiln_stage_reduce(st, 0), LANES, &ko, &ki, &p->err));
    OK(kiln_rfactor(st, ko, &p->sum, &p->err));
    st = p->sum;
    OK(kiln_split(st, kiln_stage_axis(st, 1), LANES, &io, &ii, &p->err));
    OK(kiln_split(st, kiln_stage_axis(st, 2), LANES, &jo, &ji, &p->err));
    OK(kiln_reorder(st, (kiln_iter *[]){io, jo, ii, ji}, 4, &p->err));
    if (p->has_threads)
        OK(kiln_bind(st, io, "threadIdx.x", &p->err));
    if (p->packs[0])
        pack(p, p->x, jo, false);
    if (p->packs[1])
        pack(p, p->y, jo, false);
    OK(kiln_tensorize(st, ii, p->intrin, LANES, &p->err));
}

static void schedule(product *p) {
    if (p->factors) {
        schedule_factored(p);
        return;
    }
    kiln_iter *io, *ii, *jo, *ji, *ko = NULL, *ki, *so, *si;
    OK(kiln_cache_write(p->stage, KILN_SCOPE_LOCAL, &p->sum, &p->err));
    kiln_stage *st = p->stage;
    const int64_t rows = p->unrolls ? 2 * LANES : LANES;
    OK(kiln_split(st, kiln_stage_axis(st, 0), rows, &io, &ii, &p->err));
    OK(kiln_split(st, kiln_stage_axis(st, 1), LANES, &jo, &ji, &p->err));
    OK(kiln_reorder(st, (kiln_iter *[]){io, jo, ii, ji}, 4, &p->err));
    if (p->has_threads) {
        OK(kiln_bind(st, io, "blockIdx.x", &p->err));
        OK(kiln_bind(st, jo, "threadIdx.x", &p->err));
    }
    OK(kiln_compute_at(p->sum, st, jo, &p->err));
    st = p->sum;
    ki = kiln_stage_reduce(st, 0);
    ii = kiln_stage_axis(st, 0);
    ji = kiln_stage_axis(st, 1);
    OK(kiln_split(st, ji, LANES, &so, &ji, &p->err));
    OK(kiln_split(st, ii, LANES, &si, &ii, &p->err));
    if (p->splits) {
        OK(kiln_split(st, ki, LANES, &ko, &ki, &p->err));
        OK(kiln_reorder(st, (kiln_iter *[]){so, ko, si, ii, ji, ki}, 6, &p->err));
    } else {
        OK(kiln_reorder(st, (kiln_iter *[]){so, si, ii, ji, ki}, 5, &p->err));
    }
    if (p->takes_turns)
        OK(kiln_vthread(st, si, &p->err));
    else if (p->unrolls)
        OK(kiln_unroll(st, si, &p->err));
    if (p->packs[0])
        pack(p, p->x, si, p->k > LANES || (p->unrolls && !p->takes_turns));
    if (p->packs[1])
        pack(p, p->y, ko != NULL ? ko : si,
             ko != NULL ? p->k > LANES : p->unrolls && !p->takes_turns);
    OK(kiln_tensorize(st, ii, p->intrin, LANES, &p->err));
}

/* ---- running --------------------------------------------------------------------- */

typedef struct calls {
    int reset, update, body, tensorized;
} calls;

static void count(void *user, const kiln_stmt *s) {
    calls *n = user;
    if (s->kind == KILN_STMT_ATTR && s->u.attr.key == KILN_STMT_ATTR_TENSORIZE)
        n->tensorized++;
    if (s->kind == KILN_STMT_LAUNCH)
        kiln_stmt_visit(s->u.call.program->body, count, user);
    if (s->kind != KILN_STMT_CALL)
        return;
    const char *name = s->u.call.program->name;
    n->reset += strstr(name, ".reset") != NULL;
    n->update += strstr(name, ".update") != NULL;
    n->body += strstr(name, ".body") != NULL;
}

static void report(product *p, const kiln_program *program, uint64_t seed,
                   const char *pass) {
    kiln_buf text;
    kiln_buf_init(&text, p->a);
    kiln_program_print(&text, program);
    fprintf(stderr, "seed %" PRIu64 ", after %s\n%s\n%s\n", seed, pass, text.p,
            p->err.text);
}

typedef struct call {
    void *arg[3];
    const kiln_wide *want;
    int32_t *got;
} call;

static bool computes(product *p, const kiln_program *program, const call *c,
                     uint64_t seed) {
    const kiln_loop_run_options o = {.seed = seed};
    const int64_t n = p->m * p->n;
    memset(c->got, 0xFF, (size_t)n * sizeof *c->got);
    if (kiln_program_run(p->a, program, c->arg, &o, &p->err) != KILN_OK)
        return false;
    for (int64_t i = 0; i < n; i++)
        if (c->want->i[i] != c->got[i]) {
            (void)kiln_fail(&p->err, KILN_ERR_ARG, "element %" PRId64 " is %d", i,
                            c->got[i]);
            return false;
        }
    return true;
}

static void *numbers(product *p, const kiln_te *te, kiln_wide *w) {
    const int64_t dim[] = {kiln_te_dim(te, 0), kiln_te_dim(te, 1)};
    const kiln_type t = kiln_type_make(KILN_I32, 2, dim);
    *w = kiln_wide_new(p->a, &t);
    int32_t *data = kiln_array(p->a, int32_t, kiln_type_elems(&t));
    for (int64_t i = 0; i < kiln_type_elems(&t); i++)
        w->i[i] = data[i] = p->intrin == &made_up_acc4_prod ? (int32_t)pick(p, -1, 1)
                                                            : (int32_t)pick(p, -99, 99);
    return data;
}

static kiln_program *lowered(product *p) {
    kiln_program *program = NULL;
    const kiln_te *arg[] = {p->x, p->y, p->c};
    OK(kiln_lower(p->a, p->s, arg, 3, 2, "product", &program, &p->err));
    return program;
}

/* A text that reads back is the same text, with all that is called. */
static bool reads_back(product *p, const kiln_program *program) {
    kiln_buf one, two;
    kiln_program *again = NULL;
    kiln_buf_init(&one, p->a);
    kiln_buf_init(&two, p->a);
    kiln_program_print(&one, program);
    if (kiln_program_parse(p->a, kiln_buf_str(&one), NULL, &again, &p->err) != KILN_OK)
        return false;
    kiln_program_print(&two, again);
    return kiln_str_eq(kiln_buf_str(&one), kiln_buf_str(&two));
}

static bool passes_keep_it(product *p, kiln_program *program, const call *c,
                           uint64_t seed) {
    const kiln_loop_options o = {.intrins = made_up_intrins};
    for (int i = 0; kiln_loop_pass_at(i) != NULL; i++) {
        const kiln_loop_pass *pass = kiln_loop_pass_at(i);
        if (pass->run(program, &o, &p->err) != KILN_OK ||
            kiln_program_verify(program, &p->err) != KILN_OK ||
            !computes(p, program, c, seed + (uint64_t)i) || !reads_back(p, program)) {
            report(p, program, seed, pass->name);
            return false;
        }
    }
    return true;
}

static void draw(product *p, uint64_t seed) {
    kiln_rng_init(&p->rng, seed);
    p->intrin = made_up_intrins[pick(p, 0, N_MADE_UP_WORKING - 1)];
    p->factors = p->intrin->has_strides && pick(p, 0, 2) == 0;
    for (int i = 0; i < 2; i++)
        p->packs[i] = !p->intrin->has_strides || pick(p, 0, 1) == 0;
    p->splits = !p->factors && pick(p, 0, 2) > 0;
    p->unrolls = pick(p, 0, 2) == 0;
    p->takes_turns = p->unrolls && pick(p, 0, 1) == 0;
    p->has_threads = pick(p, 0, 1) == 0;
    p->m = (p->unrolls ? 2 : 1) * LANES * pick(p, 1, 3);
    p->n = LANES * pick(p, 1, 3);
    p->k = p->splits || p->factors ? LANES * pick(p, 1, 4) : LANES;
}

static bool holds(uint64_t seed, calls *all) {
    kiln_arena a = {0};
    product *p = &(product){.a = &a};
    kiln_wide in[2];
    draw(p, seed);
    make(p);
    schedule(p);
    const kiln_type t = kiln_type_make(KILN_I32, 2, (int64_t[]){p->m, p->n});
    kiln_wide want = kiln_wide_new(&a, &t);
    call c = {.want = &want, .got = kiln_array(&a, int32_t, p->m * p->n)};
    c.arg[0] = numbers(p, p->x, &in[0]);
    c.arg[1] = numbers(p, p->y, &in[1]);
    c.arg[2] = c.got;
    const kiln_te *out = p->c;
    OK(kiln_te_eval(&a, &out, 1, in, 2, &want, &p->err));
    kiln_program *program = lowered(p);
    bool ok = computes(p, program, &c, seed);
    if (!ok)
        report(p, program, seed, "lowering");
    ok = ok && passes_keep_it(p, program, &c, seed);
    calls n = {0};
    kiln_stmt_visit(program->body, count, &n);
    const bool is_whole = !p->splits && (p->intrin->parts & KILN_TENSOR_BODY) != 0;
    if (ok &&
        (n.tensorized > 0 || (n.body > 0) != is_whole || (n.update > 0) == is_whole ||
         (n.reset > 0) != ((p->intrin->parts & KILN_TENSOR_RESET) != 0 && !is_whole))) {
        report(p, program, seed, "all: calls in the wrong places");
        ok = false;
    }
    *all = (calls){all->reset + n.reset, all->update + n.update, all->body + n.body, 0};
    kiln_arena_fini(&a);
    return ok;
}

static void keeps_its_meaning(void **state) {
    const int64_t n = kiln_test_cases(CASES);
    calls all = {0};
    (void)state;
    for (int64_t i = 0; i < n; i++)
        assert_true(holds(kiln_test_seed() * 1000003u + (uint64_t)i, &all));
    print_message("%" PRId64 " products: %d resets, %d updates, %d bodies\n", n,
                  all.reset, all.update, all.body);
    assert_true(all.reset > 0 && all.update > 0 && all.body > 0);
}

/* An instruction that does all of a reduction does no step of one. */
static void no_such_part(void **state) {
    kiln_arena a = {0};
    product *p = &(product){.a = &a,
                            .intrin = &made_up_acc4_body,
                            .m = 8,
                            .n = 8,
                            .k = 8,
                            .splits = true,
                            .packs = {true, true}};
    (void)state;
    make(p);
    schedule(p);
    kiln_program *program = lowered(p);
    kiln_assert_fails(
        kiln_program_optimize(program, &(kiln_loop_options){.intrins = made_up_intrins},
                              &p->err),
        KILN_ERR_ARG, &p->err, "it has no instruction for a step of a reduction");
    kiln_arena_fini(&a);
}

/* The last two loops of what an intrinsic reads from matrices as they are. */
static kiln_status in_place(product *p, const kiln_tensor_intrin *declared) {
    kiln_iter *io, *ii, *jo, *ji;
    make(p);
    kiln_stage *st = p->sum = p->stage;
    OK(kiln_split(st, kiln_stage_axis(st, 0), LANES, &io, &ii, &p->err));
    OK(kiln_split(st, kiln_stage_axis(st, 1), LANES, &jo, &ji, &p->err));
    OK(kiln_reorder(st, (kiln_iter *[]){io, jo, ii, ji}, 4, &p->err));
    KILN_TRY(kiln_tensorize(st, ii, declared, LANES, &p->err));
    return kiln_program_optimize(
        lowered(p), &(kiln_loop_options){.intrins = made_up_intrins}, &p->err);
}

typedef struct refusal {
    const char *name;
    const kiln_tensor_intrin *computes, *declared; /* the product's, the schedule's */
    kiln_status status;
    const char *want;
} refusal;

static const refusal refusals[] = {
    {"rows_of_an_intrinsic_of_dense_blocks", &made_up_acc4_whole, &made_up_acc4_whole,
     KILN_ERR_ARG,
     "'c' must move by 4 elements along 'i0', but buffer 'c' moves by 8: pack it"},
    {"dense_minimum", &made_up_acc4_min, &made_up_acc4_min, KILN_ERR_ARG,
     "must move by 4 elements along 'i0'"},
    {"another_reduction", &made_up_acc4_max, &made_up_acc4_rows, KILN_ERR_ARG,
     "stage 'c' must compute what 'acc4_rows' declares (c[i, j] = sum("},
    {"a_maximum_is_no_minimum", &made_up_acc4_rows, &made_up_acc4_max, KILN_ERR_ARG,
     "which it does not"},
    {"pairs", &made_up_acc4_rows, &made_up_acc4_argmax, KILN_ERR_UNSUPPORTED,
     "'acc4_argmax' declares a reduction by 'argmax'; sum, prod, max and min can be"},
};

static void refused(void **state) {
    const refusal *r = *state;
    kiln_arena a = {0};
    product *p = &(product){.a = &a, .intrin = r->computes, .m = 8, .n = 8, .k = LANES};
    kiln_assert_fails(in_place(p, r->declared), r->status, &p->err, r->want);
    kiln_arena_fini(&a);
}

/* What lies column by column has no rows in one piece. */
static void columns(void **state) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_program *p = NULL;
    (void)state;
    kiln_assert_status_ok(
        kiln_program_parse(
            &a,
            KILN_STR_LIT("program p(x: i32[64], y: i32[64], out c: i32[64]) flat {\n"
                         "  @tensorize \"acc4_rows\" = 4 {\n"
                         "    for i in 0 .. +4 {\n      for j in 0 .. +4 {\n"
                         "        for k in 0 .. +4 {\n"
                         "          c[i*8 + j] = c[i*8 + j] + x[k*8 + i]*y[k*8 + j]\n"
                         "        }\n      }\n    }\n  }\n}\n"),
            NULL, &p, &err),
        &err);
    kiln_assert_fails(
        kiln_loop_pass_tensorize.run(
            p, &(kiln_loop_options){.intrins = made_up_intrins}, &err),
        KILN_ERR_ARG, &err,
        "rows of 'a' must lie in one piece, at least 1 elements apart, but buffer 'x' "
        "moves by 8 along 'i1'");
    kiln_arena_fini(&a);
}

int main(void) {
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        kiln_test_add(refusals[i].name, refused, (void *)(uintptr_t)&refusals[i]);
    kiln_test_add("columns", columns, NULL);
    kiln_test_add("keeps_its_meaning", keeps_its_meaning, NULL);
    kiln_test_add("no_such_part", no_such_part, NULL);
    return kiln_test_run("parts of tensor intrinsics");
}
