/* Does a package compute what another one does, which is known to be right? Nothing
 * that the first says of itself is asked: inputs, expectations and bounds are the
 * other's, and inputs are drawn that neither archive holds. */
#include "pipeline/package/package_internal.h"

#include <string.h>

typedef struct comparison {
    kiln_arena *arena;
    const kiln_opened *candidate, *control;
    kiln_package_expected *expected; /* of the control's self-test */
    kiln_tensor *in;
    int threads;
    kiln_checks *out;
} comparison;

static const char *with_threads(const comparison *c, const char *what) {
    return kiln_format(c->arena, "%s, %d thread%s", what, c->threads,
                       c->threads == 1 ? "" : "s");
}

static kiln_status run(const comparison *c, const kiln_opened *p, const kiln_tensor *in,
                       kiln_tensor *out, kiln_err *err) {
    const kiln_device_job job = {.n_threads = c->threads};
    return kiln_device_run(c->arena, p->device, &p->package, &job, in,
                           p->package.n_inputs, out, NULL, err);
}

/* A candidate that breaks is wrong; what says nothing about it is an error. */
static kiln_status run_candidate(const comparison *c, const kiln_tensor *in,
                                 kiln_tensor *out, kiln_check *check, kiln_err *err) {
    const kiln_status st = run(c, c->candidate, in, out, err);
    if (st == KILN_OK || kiln_status_is_environment(st))
        return st;
    check->outcome = KILN_FAILED;
    check->reason = kiln_str_dup(c->arena, err->text);
    kiln_err_clear(err);
    return KILN_OK;
}

/* ---- what the control's self-test knows ------------------------------------------ */

static kiln_status on_known_inputs(comparison *c, kiln_err *err) {
    const kiln_device_package *p = &c->control->package;
    const kiln_tolerance tolerance =
        kiln_opened_tolerance(&c->control->facts.tolerance);
    kiln_tensor *got = kiln_array(c->arena, kiln_tensor, p->n_outputs);
    kiln_check check = {.name = with_threads(c, "self-test of the accepted archive"),
                        .group = "",
                        .reason = ""};
    KILN_TRY(run_candidate(c, c->in, got, &check, err));
    for (size_t i = 0; i < p->n_outputs && check.outcome == KILN_PASSED; i++) {
        const kiln_wanted want = {p->output[i].name, c->expected[i].value,
                                  c->expected[i].at, c->expected[i].bound};
        KILN_TRY(kiln_check_wanted(c->arena, &check, &got[i], &want, &tolerance, err));
    }
    kiln_checks_add(c->arena, c->out, &check);
    return KILN_OK;
}

/* ---- inputs that nobody knew ----------------------------------------------------- */

/* The same elements in another order: each is one that the input may have, whatever it
 * stands for. */
static kiln_tensor shuffled(kiln_arena *a, const kiln_tensor *t, kiln_rng *rng) {
    enum { WIDEST = 16 };
    const size_t size = kiln_dtype_bytes(t->type.dtype);
    const int64_t n = kiln_type_elems(&t->type);
    const kiln_tensor out = {
        .type = t->type,
        .data = kiln_arena_dup(a, t->data, (size_t)kiln_type_bytes(&t->type))};
    unsigned char *p = out.data, held[WIDEST];
    KILN_ASSERT(size <= WIDEST, "an element of %zu bytes", size);
    for (int64_t i = n - 1; i > 0; i--) { /* Fisher and Yates */
        const int64_t j = kiln_rng_range(rng, 0, i);
        memcpy(held, p + (size_t)i * size, size);
        memcpy(p + (size_t)i * size, p + (size_t)j * size, size);
        memcpy(p + (size_t)j * size, held, size);
    }
    return out;
}

/* Of other inputs no bounds are at hand, and who could say which elements hang on
 * rounding? Where the self-test left none out, none is taken to; integers that came of
 * floats may always. */
static bool is_firm(const kiln_package_expected *e) {
    return kiln_dtype_is_float(e->value.type.dtype) &&
           (e->at == NULL || kiln_type_elems(&e->value.type) >= KILN_SELFTEST_SAMPLES);
}

/* Both may be off, in opposite directions. */
static kiln_status on_new_inputs(comparison *c, uint64_t seed, kiln_err *err) {
    const kiln_device_package *p = &c->control->package;
    kiln_tolerance tolerance = kiln_opened_tolerance(&c->control->facts.tolerance);
    kiln_tensor *in = kiln_array(c->arena, kiln_tensor, p->n_inputs);
    kiln_tensor *got = kiln_array(c->arena, kiln_tensor, p->n_outputs);
    kiln_tensor *want = kiln_array(c->arena, kiln_tensor, p->n_outputs);
    kiln_check check = {.name = with_threads(c, "beside the accepted archive"),
                        .group = "",
                        .reason = ""};
    kiln_rng rng;
    kiln_rng_init(&rng, seed);
    tolerance.relative *= 2;
    tolerance.rms *= 2;
    tolerance.absolute *= 2;
    for (size_t i = 0; i < p->n_inputs; i++)
        in[i] = shuffled(c->arena, &c->in[i], &rng);
    KILN_TRY(run(c, c->control, in, want, err));
    KILN_TRY(run_candidate(c, in, got, &check, err));
    for (size_t i = 0; i < p->n_outputs && check.outcome == KILN_PASSED; i++)
        if (is_firm(&c->expected[i]))
            KILN_TRY(kiln_check_network(c->arena, &check, p->output[i].name, &got[i],
                                        &want[i], &tolerance, err));
    if (check.outcome != KILN_PASSED)
        check.reason = kiln_format(c->arena, "%s; inputs were shuffled by seed %llu",
                                   check.reason, (unsigned long long)seed);
    kiln_checks_add(c->arena, c->out, &check);
    return KILN_OK;
}

/* ---- all ------------------------------------------------------------------------- */

static bool are_alike(const kiln_device_port *x, size_t n_x, const kiln_device_port *y,
                      size_t n_y) {
    for (size_t i = 0; i < n_x && n_x == n_y; i++)
        if (x[i].type.dtype != y[i].type.dtype ||
            !kiln_type_same_shape(&x[i].type, &y[i].type))
            return false;
    return n_x == n_y;
}

bool kiln_opened_is_comparable(const kiln_opened *x, const kiln_opened *y) {
    const kiln_device_package *p = &x->package, *q = &y->package;
    return x->facts.source_sha256 != NULL && y->facts.source_sha256 != NULL &&
           strcmp(x->facts.source_sha256, y->facts.source_sha256) == 0 &&
           are_alike(p->input, p->n_inputs, q->input, q->n_inputs) &&
           are_alike(p->output, p->n_outputs, q->output, q->n_outputs);
}

kiln_status kiln_opened_compare(kiln_arena *a, const kiln_opened *candidate,
                                const kiln_opened *control, int threads, uint64_t seed,
                                kiln_checks *out, kiln_err *err) {
    const kiln_device_package *p = &control->package;
    comparison c = {.arena = a,
                    .candidate = candidate,
                    .control = control,
                    .expected = kiln_array(a, kiln_package_expected, p->n_outputs),
                    .in = kiln_array(a, kiln_tensor, p->n_inputs),
                    .threads = threads,
                    .out = out};
    KILN_ASSERT(threads > 0, "packages are compared on %d threads", threads);
    KILN_TRY(kiln_package_selftest_read(a, control->folder, &control->facts, c.in,
                                        c.expected, err));
    KILN_TRY(on_known_inputs(&c, err));
    return on_new_inputs(&c, seed, err);
}
