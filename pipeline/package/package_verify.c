/* Does a package compute what it should? Its integrity, its self-test, the reference,
 * golden cases; at several numbers of threads. */
#include "pipeline/package/package_internal.h"
#include "pipeline/golden.h"

#include <math.h>
#include <string.h>

typedef struct verifier {
    kiln_arena *arena;
    const kiln_opened *package;
    const kiln_verify_options *o;
    kiln_checks *out;
    kiln_tolerance tolerance;
    kiln_expectation reference; /* of the model; n_out 0: not asked */
    const kiln_graph *imported; /* the model; NULL: not given */
    int threads;                /* of the checks now */
} verifier;

/* "v1 self-test, 2 threads": of a variant. */
static const char *with_threads(const verifier *v, const char *what) {
    const kiln_opened *p = v->package;
    return kiln_format(v->arena, "%s%s%s, %d thread%s",
                       p->n_variants > 0 ? p->variant[p->chosen].folder : "",
                       p->n_variants > 0 && what[0] != '\0' ? " " : "", what,
                       v->threads, v->threads == 1 ? "" : "s");
}

/* What the device said becomes the check's reason: a package that crashes is wrong. */
static kiln_status broke(const verifier *v, kiln_check *c, kiln_err *err) {
    if (kiln_status_is_environment(err->status))
        return err->status; /* says nothing about the package */
    c->outcome = KILN_FAILED;
    c->reason = kiln_str_dup(v->arena, err->text);
    kiln_err_clear(err);
    return KILN_OK;
}

static kiln_status run(const verifier *v, const kiln_tensor *in, kiln_tensor *out,
                       kiln_err *err) {
    const kiln_device_job job = {.n_threads = v->threads};
    const kiln_opened *p = v->package;
    return kiln_device_run(v->arena, p->device, &p->package, &job, in,
                           p->package.n_inputs, out, NULL, err);
}

/* ---- the self-test --------------------------------------------------------------- */

static bool holds_any(const kiln_wanted *want, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (kiln_type_elems(&want[i].value.type) > 0 || want[i].at == NULL)
            return true;
    return n == 0;
}

static kiln_status check_outputs(const verifier *v, const kiln_tensor *in,
                                 const kiln_wanted *want, kiln_check *c,
                                 kiln_err *err) {
    const kiln_device_package *p = &v->package->package;
    kiln_tensor *got = kiln_array(v->arena, kiln_tensor, p->n_outputs);
    const int64_t begin = kiln_now_ns();
    kiln_progress_step("running", NULL, 0, 0, c->name);
    if (run(v, in, got, err) != KILN_OK)
        return broke(v, c, err);
    c->time_ms = (kiln_now_ns() - begin) / 1000000;
    for (size_t i = 0; i < p->n_outputs; i++)
        KILN_TRY(kiln_check_wanted(v->arena, c, &got[i], &want[i], &v->tolerance, err));
    if (c->outcome == KILN_PASSED && !holds_any(want, p->n_outputs)) {
        c->outcome = KILN_UNSUPPORTED;
        c->reason = "every element hangs on rounding: nothing could be compared; "
                    "'verify --golden' compares with outputs of real inputs";
    }
    return KILN_OK;
}

static kiln_status selftest(verifier *v, kiln_err *err) {
    const kiln_opened *p = v->package;
    kiln_tensor *in = kiln_array(v->arena, kiln_tensor, p->package.n_inputs);
    const size_t n = p->package.n_outputs;
    kiln_package_expected *expected = kiln_array(v->arena, kiln_package_expected, n);
    kiln_wanted *want = kiln_array(v->arena, kiln_wanted, n);
    kiln_check c = {.name = with_threads(v, "self-test"), .group = "", .reason = ""};
    KILN_TRY(
        kiln_package_selftest_read(v->arena, p->folder, &p->facts, in, expected, err));
    for (size_t i = 0; i < n; i++)
        want[i] = (kiln_wanted){p->package.output[i].name, expected[i].value,
                                expected[i].at, expected[i].bound};
    KILN_TRY(check_outputs(v, in, want, &c, err));
    kiln_checks_add(v->arena, v->out, &c);
    return KILN_OK;
}

/* ---- the reference --------------------------------------------------------------- */

/* Other inputs than the self-test's, and the model itself. */
static kiln_status ask_reference(verifier *v, kiln_err *err) {
    kiln_source s;
    KILN_TRY(
        kiln_package_source(v->arena, v->package, v->o->model, &v->o->fixed, &s, err));
    v->imported = s.imported;
    return kiln_expectation_of(v->arena, &s, v->o->seed, &v->reference, err);
}

static kiln_status reference(verifier *v, kiln_err *err) {
    kiln_check c = {.name = with_threads(v, "reference"), .group = "", .reason = ""};
    KILN_TRY(check_outputs(v, v->reference.in, v->reference.out, &c, err));
    kiln_checks_add(v->arena, v->out, &c);
    return KILN_OK;
}

/* ---- golden cases ---------------------------------------------------------------- */

static bool is_fixed(const kiln_package_facts *f, const char *name) {
    for (size_t i = 0; i < f->n_fixed; i++)
        if (strcmp(f->fixed[i].name, name) == 0)
            return true;
    return false;
}

/* What the package was built with must be what the case has: else the case is another
 * program's. */
static kiln_status check_fixed(const verifier *v, kiln_arena *a,
                               const kiln_value_binding *given, size_t n_given,
                               kiln_err *err) {
    for (size_t i = 0; i < n_given; i++)
        if (is_fixed(&v->package->facts, given[i].name) &&
            kiln_package_check_fixed(a, &v->package->facts, &given[i], err) != KILN_OK)
            return err->status = KILN_ERR_UNSUPPORTED;
    return KILN_OK;
}

static kiln_status run_case(void *user, kiln_arena *a, const kiln_value_binding *given,
                            size_t n_given, kiln_golden_result *out, kiln_err *err) {
    const verifier *v = user;
    const kiln_device_package *p = &v->package->package;
    kiln_tensor *in = kiln_array(a, kiln_tensor, p->n_inputs);
    kiln_tensor *made = kiln_array(a, kiln_tensor, p->n_outputs);
    const char **name = kiln_array(a, const char *, p->n_outputs);
    KILN_TRY(check_fixed(v, a, given, n_given, err));
    for (size_t i = 0; i < p->n_outputs; i++)
        name[i] = p->output[i].name;
    for (size_t i = 0; i < p->n_inputs; i++) {
        size_t k = 0;
        while (k < n_given && strcmp(given[k].name, p->input[i].name) != 0)
            k++;
        if (k < n_given)
            in[i] = given[k].value;
        else if (kiln_golden_begins(p->input[i].name, name, p->n_outputs))
            in[i] = kiln_tensor_new(a, &p->input[i].type);
        else
            return kiln_fail(err, KILN_ERR_SHAPE, "the case has no input '%s'",
                             p->input[i].name);
        if (!kiln_type_same_shape(&in[i].type, &p->input[i].type))
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "input '%s' is %s, the package was built for %s",
                             p->input[i].name, kiln_type_text(a, &in[i].type),
                             kiln_type_text(a, &p->input[i].type));
    }
    *out = (kiln_golden_result){
        .name = name, .value = made, .imported = v->imported, .n = p->n_outputs};
    const kiln_status st = run(v, in, made, err);
    if (st == KILN_OK || kiln_status_is_environment(st))
        return st;
    out->failure = kiln_str_dup(a, err->text);
    kiln_err_clear(err);
    return KILN_OK;
}

static kiln_status golden(verifier *v, kiln_err *err) {
    const kiln_device_package *p = &v->package->package;
    const kiln_package_facts *f = &v->package->facts;
    const char **name = kiln_array(v->arena, const char *, p->n_inputs + f->n_fixed);
    kiln_shape_binding *const shape =
        kiln_array(v->arena, kiln_shape_binding, p->n_inputs + f->n_fixed);
    for (size_t i = 0; i < p->n_inputs; i++) {
        const kiln_type *const t = &p->input[i].type;
        name[i] = p->input[i].name;
        shape[i] = (kiln_shape_binding){.name = name[i], .rank = t->rank};
        memcpy(shape[i].dim, t->dim, sizeof shape[i].dim);
    }
    for (size_t i = 0; i < f->n_fixed; i++)
        name[p->n_inputs + i] = f->fixed[i].name;
    const kiln_golden_side side = {.input = name,
                                   .shape = shape,
                                   .n_inputs = p->n_inputs + f->n_fixed,
                                   .must_name = f->n_fixed > 0,
                                   .tolerance = v->tolerance,
                                   .suffix = with_threads(v, ""),
                                   .may_refuse = true,
                                   .run = run_case,
                                   .user = v};
    const size_t n_before = v->out->n_passed + v->out->n_failed;
    const size_t first = v->out->list.n;
    KILN_TRY(kiln_verify_golden_cases(v->arena, v->o->golden, &side, v->out, err));
    for (size_t i = first; i < v->out->list.n && v->imported == NULL; i++)
        if (v->out->list.v[i].outcome == KILN_FAILED)
            v->out->list.v[i].reason = kiln_format(
                v->arena, "%s (one tolerance for all: --model gives each its own)",
                v->out->list.v[i].reason);
    if (v->out->n_passed + v->out->n_failed == n_before)
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' has no case for the shapes of this package: nothing was "
                         "compared",
                         v->o->golden);
    return KILN_OK;
}

/* ---- all ------------------------------------------------------------------------- */

static void add_signature(kiln_arena *a, const kiln_signed *s, kiln_checks *out) {
    char id[KILN_KEY_ID_TEXT];
    kiln_key_id_text(s->key->id, id);
    const char *provenance = s->has_provenance       ? "and its provenance"
                             : s->provenance != NULL ? "its provenance is not here"
                             : s->says_provenance    ? "without provenance"
                                                     : "by another program";
    const kiln_check c = {.name = kiln_format(a, "signature by %s, key %s, %s",
                                              s->key->name, id, provenance),
                          .group = "",
                          .reason = ""};
    kiln_checks_add(a, out, &c);
}

/* A damaged archive, one without the signature that is required, or a folder that was
 * changed since it was unpacked, is a failed check; a file that is not there is an
 * error. */
static kiln_status open_checked(kiln_arena *a, const char *path,
                                const kiln_verify_options *o, kiln_opened *p,
                                kiln_checks *out, kiln_err *err) {
    const bool is_folder = kiln_package_is_folder(path);
    kiln_check c = {
        .name = is_folder ? "folder" : "archive", .group = "", .reason = ""};
    kiln_status st = is_folder ? kiln_package_verify_folder(path, err) : KILN_OK;
    if (st == KILN_OK)
        st = kiln_package_open_on(a, path, o->keys, o->where, p, err);
    if (kiln_status_is_environment(st) || st == KILN_ERR_UNSUPPORTED)
        return st;
    if (st != KILN_OK) {
        c.outcome = KILN_FAILED;
        c.reason = kiln_str_dup(a, err->text);
        kiln_err_clear(err);
    }
    kiln_checks_add(a, out, &c);
    if (st == KILN_OK && o->keys != NULL)
        add_signature(a, &p->is_signed, out);
    return KILN_OK;
}

/* What stands in for bounds: golden cases of a model that is not at hand, self-tests of
 * older archives. A package of f16 or of quantisers needs more than f32 does, and says
 * so; none may ask for more than a tenth. */
kiln_tolerance kiln_opened_tolerance(const kiln_package_tolerance *own) {
    static const double most = 0.1;
    return (kiln_tolerance){fmin(most, own->relative), fmin(most, own->rms),
                            fmin(kiln_tolerance_network.absolute, own->absolute)};
}

kiln_status kiln_opened_selftest(kiln_arena *a, const kiln_opened *p,
                                 const int *threads, int n_threads, kiln_checks *out,
                                 kiln_err *err) {
    verifier v = {.arena = a,
                  .package = p,
                  .out = out,
                  .tolerance = kiln_opened_tolerance(&p->facts.tolerance)};
    for (int i = 0; i < n_threads; i++) {
        KILN_ASSERT(threads[i] > 0, "a self-test on %d threads", threads[i]);
        v.threads = threads[i];
        KILN_TRY(selftest(&v, err));
    }
    return KILN_OK;
}

/* The package that is chosen. */
static kiln_status verify_one(kiln_arena *a, kiln_opened *p,
                              const kiln_verify_options *o, kiln_checks *out,
                              kiln_err *err) {
    if (p->where == NULL)
        KILN_TRY(kiln_device_judge_for(a, &p->facts.profile, &p->device, err));
    verifier v = {.arena = a,
                  .package = p,
                  .o = o,
                  .out = out,
                  .tolerance = kiln_opened_tolerance(&p->facts.tolerance)};
    if (o->model != NULL)
        KILN_TRY(ask_reference(&v, err));
    for (int i = 0; i < o->n_threads; i++) {
        v.threads = o->threads[i];
        KILN_TRY(selftest(&v, err));
        if (o->model != NULL)
            KILN_TRY(reference(&v, err));
        if (o->golden != NULL)
            KILN_TRY(golden(&v, err));
    }
    return KILN_OK;
}

/* A variant that nobody here can run is not verified, and the checks say so. */
static kiln_status verify_variant(kiln_arena *a, kiln_opened *p, size_t i,
                                  const kiln_verify_options *o, kiln_checks *out,
                                  kiln_err *err) {
    const kiln_status st = kiln_opened_choose(a, p, i, err);
    if (st != KILN_ERR_UNSUPPORTED)
        return st == KILN_OK ? verify_one(a, p, o, out, err) : st;
    const kiln_check c = {.name = p->variant[i].folder,
                          .group = "",
                          .outcome = KILN_UNSUPPORTED,
                          .reason = kiln_str_dup(a, err->text)};
    kiln_err_clear(err);
    kiln_checks_add(a, out, &c);
    return KILN_OK;
}

/* Golden cases are for some shapes: one of the variants must have some. */
static kiln_status verify_variants(kiln_arena *a, kiln_opened *p,
                                   const kiln_verify_options *o, kiln_checks *out,
                                   kiln_err *err) {
    bool has_cases = o->golden == NULL;
    for (size_t i = 0; i < p->n_variants; i++) {
        kiln_verify_options own = *o;
        own.golden = NULL;
        KILN_TRY(verify_variant(a, p, i, &own, out, err));
    }
    for (size_t i = 0; i < p->n_variants && o->golden != NULL; i++) {
        const kiln_status st = kiln_opened_choose(a, p, i, err);
        verifier v = {.arena = a,
                      .package = p,
                      .o = o,
                      .out = out,
                      .threads = o->threads[0],
                      .tolerance = kiln_opened_tolerance(&p->facts.tolerance)};
        const kiln_status went = st == KILN_OK ? golden(&v, err) : st;
        if (went != KILN_OK && went != KILN_ERR_ARG && went != KILN_ERR_UNSUPPORTED)
            return went;
        has_cases = has_cases || went == KILN_OK;
    }
    if (!has_cases)
        return err->status;
    kiln_err_clear(err);
    return KILN_OK;
}

kiln_status kiln_verify_package(kiln_arena *a, const char *path,
                                const kiln_verify_options *o, kiln_checks *out,
                                kiln_err *err) {
    kiln_opened p;
    KILN_TRY(open_checked(a, path, o, &p, out, err));
    if (out->n_failed > 0)
        return KILN_OK;
    return p.n_variants > 0 ? verify_variants(a, &p, o, out, err)
                            : verify_one(a, &p, o, out, err);
}
