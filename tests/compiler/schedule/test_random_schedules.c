/* Whatever a schedule does, the result stays: random schedules, lowered and
 * interpreted, compute what the tensor expressions say.
 *
 * Tolerance: schedules may sum in another order and in float32 after each step, while
 * kiln_te_eval sums in double. With |x| <= 1 and at most k = 98 terms the difference is
 * below k * 2^-24 * sum|ab| <= 98 * 98 * 6e-8 = 6e-4; integers and moves are exact. */
#include "compiler/schedule/schedule.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random_schedule.h"
#include "tests/support/te_examples.h"

#include <math.h>
#include <stdlib.h>

enum { SCHEDULES_EACH = 12, PRIMITIVES = 14 };
static const double tolerance = 6e-4;

static kiln_type type_of(const kiln_te *te, int out) {
    int64_t dim[KILN_MAX_AXES];
    for (int i = 0; i < te->rank; i++)
        dim[i] = kiln_te_dim(te, i);
    return kiln_type_make(te->dtype[out], te->rank, dim);
}

static kiln_tensor random_input(kiln_arena *a, kiln_rng *rng, const kiln_te *te) {
    const kiln_type t = type_of(te, 0);
    kiln_wide w = kiln_wide_new(a, &t);
    for (int64_t i = 0; i < kiln_type_elems(&t); i++) {
        if (w.f != NULL)
            w.f[i] = 2 * kiln_rng_unit(rng) - 1;
        else
            w.i[i] = kiln_rng_range(rng, t.dtype == KILN_BOOL ? 0 : -7,
                                    t.dtype == KILN_BOOL ? 1 : 7);
    }
    kiln_tensor out = kiln_tensor_new(a, &t);
    kiln_narrow(&w, out.data);
    return out;
}

/* Arguments of the program: inputs, then every output's tensors, poisoned. */
typedef struct call {
    void *arg[16];
    int n_args;
    kiln_tensor out[8];
    int n_out;
} call;

static void prepare(kiln_arena *a, kiln_rng *rng, const te_example *x, call *c,
                    kiln_wide *in) {
    for (size_t i = 0; i < x->n_inputs; i++) {
        const kiln_tensor t = random_input(a, rng, x->arg[i]);
        in[i] = kiln_wide_new(a, &t.type);
        kiln_widen(&t.type, t.data, &in[i]);
        c->arg[c->n_args++] = t.data;
    }
    for (size_t i = x->n_inputs; i < x->n_args; i++) {
        for (int k = 0; k < x->arg[i]->n_out; k++) {
            const kiln_type t = type_of(x->arg[i], k);
            c->out[c->n_out] = kiln_tensor_new(a, &t);
            unsigned char *bytes = c->out[c->n_out].data;
            for (int64_t b = 0; b < kiln_type_bytes(&t); b++)
                bytes[b] = 0xFF; /* NaN for floats */
            c->arg[c->n_args++] = c->out[c->n_out++].data;
        }
    }
}

/* Placeholders in the order that kiln_te_eval takes them. */
static void evaluate(kiln_arena *a, const te_example *x, const kiln_wide *in,
                     kiln_wide *want) {
    kiln_wide ordered[8];
    size_t n = 0, taken = 0;
    const kiln_te *const *outs = x->arg + x->n_inputs;
    const kiln_te **te = kiln_te_topo(a, outs, x->n_args - x->n_inputs, &n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < x->n_inputs; k++)
            if (te[i] == x->arg[k])
                ordered[taken++] = in[k];
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_te_eval(a, outs, x->n_args - x->n_inputs, ordered, taken, want, &err),
        &err);
}

static bool differs(kiln_arena *a, const kiln_tensor *got, const kiln_wide *want) {
    kiln_wide g = kiln_wide_new(a, &got->type);
    kiln_widen(&got->type, got->data, &g);
    for (int64_t i = 0; i < kiln_type_elems(&got->type); i++) {
        if (g.f != NULL ? !(fabs(g.f[i] - want->f[i]) <= tolerance)
                        : g.i[i] != want->i[i]) {
            print_error("element %lld: %.9g, wanted %.9g\n", (long long)i,
                        g.f != NULL ? g.f[i] : (double)g.i[i],
                        g.f != NULL ? want->f[i] : (double)want->i[i]);
            return true;
        }
    }
    return false;
}

static void report(kiln_arena *a, const te_example *x, const kiln_buf *log,
                   const kiln_program *p, const kiln_err *err, uint64_t seed) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_te_print(&text, x->arg + x->n_inputs, x->n_args - x->n_inputs);
    if (p != NULL)
        kiln_program_print(&text, p);
    print_error("seed %llu\n%.*s\n%s\n%s\n", (unsigned long long)seed,
                KILN_STR_ARG(kiln_buf_str(log)), text.p, err->text);
}

/* One schedule: true when it computes what the expressions say, forwards and with
 * parallel loops backwards. A schedule that lowering refuses by name counts as refused.
 */
static bool try_schedule(kiln_arena *a, const te_example_def *def, uint64_t seed,
                         random_schedule_stats *stats, int *n_lowered) {
    te_example x = {.n_args = 0};
    kiln_rng rng;
    kiln_buf log;
    kiln_err err = {0};
    call c = {.n_args = 0};
    kiln_wide in[8], want[8];
    kiln_rng_init(&rng, seed);
    kiln_buf_init(&log, a);
    def->make(a, &x);
    prepare(a, &rng, &x, &c, in);
    evaluate(a, &x, in, want);
    kiln_schedule *s = random_schedule(a, &rng, x.arg + x.n_inputs,
                                       x.n_args - x.n_inputs, PRIMITIVES, &log, stats);
    kiln_program *p = NULL;
    const kiln_status st =
        kiln_lower(a, s, x.arg, x.n_args, x.n_inputs, def->name, &p, &err);
    if (st == KILN_ERR_ARG && err.len > 0)
        return true;
    ++*n_lowered;
    for (int backwards = 0; backwards < 2; backwards++) {
        const kiln_loop_run_options o = {.reverse_parallel = backwards != 0};
        bool bad = st != KILN_OK || kiln_program_run(a, p, c.arg, &o, &err) != KILN_OK;
        for (int i = 0; i < c.n_out && !bad; i++)
            bad = differs(a, &c.out[i], &want[i]);
        if (bad) {
            report(a, &x, &log, p, &err, seed);
            return false;
        }
    }
    return true;
}

static void keeps_its_meaning(void **state) {
    const te_example_def *def = *state;
    random_schedule_stats stats = {0, 0};
    int n_lowered = 0;
    int64_t wanted = SCHEDULES_EACH; /* soaks ask for more */
    if (getenv("KILN_SCHEDULES") != NULL)
        assert_true(kiln_parse_i64(kiln_str_from(getenv("KILN_SCHEDULES")), &wanted));
    const int n = (int)wanted;
    for (int i = 0; i < n; i++) {
        kiln_arena a;
        kiln_arena_init(&a);
        const bool ok = try_schedule(&a, def, kiln_test_seed() * 1000003u + (uint64_t)i,
                                     &stats, &n_lowered);
        kiln_arena_fini(&a);
        assert_true(ok);
    }
    print_message("%s: %d schedules, %d lowered, %d primitives taken, %d refused\n",
                  def->name, n, n_lowered, stats.applied, stats.refused);
    /* Most draws must be schedules, or the property says little. */
    assert_true(n_lowered * 2 > n);
}

int main(void) {
    for (size_t i = 0; i < n_te_examples; i++)
        kiln_test_add(te_examples[i].name, keeps_its_meaning,
                      (void *)(uintptr_t)&te_examples[i]);
    return kiln_test_run("random schedules");
}
