/* Tensor intrinsics whose operands are blocks of memory: a product of matrices whose
 * innermost loops are one of them, as reset, update and body, in series and by threads,
 * equals kiln_te_eval after every pass; and each part is called where it belongs. */
#include "compiler/schedule/schedule.h"
#include "tests/support/kiln_test.h"
#include "tests/support/made_up/tensor_intrins.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CASES = 60, LANES = 4 };

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
    const kiln_expr *sum = kiln_te_sum(
        p->c, kiln_x_mul(a, kiln_te_read(a, p->x, at_x), kiln_te_read(a, p->y, at_y)),
        &k, 1);
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

static void schedule(product *p) {
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
    pack(p, p->x, si, p->k > LANES || (p->unrolls && !p->takes_turns));
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
        w->i[i] = data[i] = (int32_t)pick(p, -99, 99);
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
    p->intrin = made_up_intrins[pick(p, 0, 2)];
    p->splits = pick(p, 0, 2) > 0;
    p->unrolls = pick(p, 0, 2) == 0;
    p->takes_turns = p->unrolls && pick(p, 0, 1) == 0;
    p->has_threads = pick(p, 0, 1) == 0;
    p->m = (p->unrolls ? 2 : 1) * LANES * pick(p, 1, 3);
    p->n = LANES * pick(p, 1, 3);
    p->k = p->splits ? LANES * pick(p, 1, 4) : LANES;
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
    product *p = &(product){
        .a = &a, .intrin = &made_up_acc4_body, .m = 8, .n = 8, .k = 8, .splits = true};
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

int main(void) {
    kiln_test_add("keeps_its_meaning", keeps_its_meaning, NULL);
    kiln_test_add("no_such_part", no_such_part, NULL);
    return kiln_test_run("parts of tensor intrinsics");
}
