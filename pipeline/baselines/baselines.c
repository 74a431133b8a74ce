/* The table of baselines, and of the versions of their wheels. */
#include "pipeline/baselines/baselines_internal.h"

#include <string.h>

#define KILN_BASELINE(name) extern const kiln_baseline kiln_baseline_##name;
#include "pipeline/baselines/baselines.def"
#undef KILN_BASELINE

static const kiln_baseline *const table[] = {
#define KILN_BASELINE(name) &kiln_baseline_##name,
#include "pipeline/baselines/baselines.def"
#undef KILN_BASELINE
};
enum { N_BASELINES = sizeof table / sizeof table[0] };

static const kiln_wheel wheels[] = {
#define KILN_WHEEL(name, version, machine, needs, hashes)                              \
    {name, version, machine, needs, hashes},
#include "pipeline/baselines/wheels.def"
#undef KILN_WHEEL
};

const kiln_baseline *kiln_baseline_at(int index) {
    return index >= 0 && index < N_BASELINES ? table[index] : NULL;
}

const kiln_wheel *kiln_wheel_find(kiln_str name) {
    for (size_t i = 0; i < sizeof wheels / sizeof wheels[0]; i++)
        if (kiln_str_is(name, wheels[i].name))
            return &wheels[i];
    return NULL;
}

const char *kiln_wheel_version(const char *name) {
    const kiln_wheel *w = kiln_wheel_find(kiln_str_from(name));
    return w != NULL ? w->version : NULL;
}

const char *kiln_baseline_wanted(const kiln_baseline *b) {
    const char *last = NULL;
    for (const char *const *w = b->wheel; b->open != NULL && w != NULL && *w != NULL;
         w++)
        last = *w;
    return last != NULL ? kiln_wheel_version(last) : NULL;
}

const char *kiln_rival_state_name(kiln_rival_state s) {
    static const char *const name[] = {[KILN_RIVAL_ABSENT] = "absent",
                                       [KILN_RIVAL_FAILED] = "failed",
                                       [KILN_RIVAL_WRONG] = "wrong",
                                       [KILN_RIVAL_EMULATED] = "emulated",
                                       [KILN_RIVAL_MEASURED] = "measured"};
    KILN_ASSERT((size_t)s < sizeof name / sizeof name[0], "no state %d of a rival",
                (int)s);
    return name[s];
}

double kiln_baseline_ms(const kiln_baseline_sample *s, int64_t runs, int threads,
                        bool *is_disturbed) {
    const double wall = (double)s->wall_ns, cpu = (double)s->cpu_ns;
    KILN_ASSERT(runs > 0 && threads > 0, "a sample of %lld runs on %d threads",
                (long long)runs, threads);
    const bool was_away = cpu > 0 && wall - cpu > wall / 50;
    *is_disturbed = threads == 1 ? was_away : s->preempted > 0;
    return (threads == 1 && was_away ? cpu : wall) * 1e-6 / (double)runs;
}

static const kiln_baseline *find(kiln_str name) {
    for (int i = 0; i < N_BASELINES; i++)
        if (kiln_str_is(name, table[i]->name))
            return table[i];
    return NULL;
}

static bool fits(const kiln_baseline *b, kiln_baseline_subject subject) {
    return ((subject & KILN_BASELINE_MODELS) != 0 && b->open != NULL) ||
           ((subject & KILN_BASELINE_OPERATORS) != 0 && b->open_op != NULL);
}

const char *kiln_baseline_runs(const kiln_baseline *b) {
    return b->open != NULL ? "models" : "operators";
}

bool kiln_baseline_reads(const kiln_baseline *b, const char *format) {
    for (const char *const *f = b->reads; f != NULL && *f != NULL; f++)
        if (strcmp(*f, format) == 0)
            return true;
    return false;
}

bool kiln_baseline_reads_here(const kiln_baseline *b, kiln_arena *a, const char *dir,
                              const char *format) {
    kiln_baseline_here here = {.is_here = false};
    if (!kiln_baseline_reads(b, format))
        return false;
    if (b->borrowed_format == NULL || strcmp(format, b->borrowed_format) != 0)
        return true;
    const kiln_baseline *from = find(kiln_str_from(b->borrowed_from));
    KILN_ASSERT(from != NULL, "%s borrows from '%s'", b->name, b->borrowed_from);
    return from->find(from, a, dir, &here, NULL) == KILN_OK && here.is_here;
}

const char *kiln_baseline_formats(kiln_arena *a, const kiln_baseline *b) {
    kiln_buf names;
    kiln_buf_init(&names, a);
    for (const char *const *f = b->reads; f != NULL && *f != NULL; f++)
        kiln_buf_printf(&names, "%s%s", names.n > 0 ? ", " : "", *f);
    return kiln_str_dupv(a, kiln_buf_str(&names));
}

static const char *names_of(kiln_arena *a, kiln_baseline_subject subject) {
    kiln_buf names;
    kiln_buf_init(&names, a);
    for (int i = 0; i < N_BASELINES; i++)
        if (fits(table[i], subject))
            kiln_buf_printf(&names, "%s%s", names.n > 0 ? ", " : "", table[i]->name);
    return names.p;
}

static kiln_status unknown(kiln_arena *a, kiln_str name, kiln_baseline_subject subject,
                           kiln_err *err) {
    return kiln_fail(err, KILN_ERR_ARG, "there is no baseline '%s'; there are: %s",
                     kiln_str_printable(a, name, 64), names_of(a, subject));
}

kiln_status kiln_baselines_parse(kiln_arena *a, const char *text,
                                 kiln_baseline_subject subject,
                                 const kiln_baseline *const **out, kiln_err *err) {
    kiln_str rest = kiln_str_from(text), name;
    const kiln_baseline **list = kiln_array(a, const kiln_baseline *, N_BASELINES + 1);
    size_t n = 0;
    while (kiln_str_cut(&rest, ',', &name)) {
        const kiln_baseline *b = find(name);
        if (b == NULL)
            return unknown(a, name, subject, err);
        if (!fits(b, subject))
            return kiln_fail(err, KILN_ERR_ARG,
                             "baseline '%s' runs %s; those of %s are: %s", b->name,
                             kiln_baseline_runs(b),
                             subject == KILN_BASELINE_MODELS ? "models" : "operators",
                             names_of(a, subject));
        for (size_t i = 0; i < n; i++)
            if (list[i] == b)
                return kiln_fail(err, KILN_ERR_ARG, "baseline '%s' is given twice",
                                 b->name);
        list[n++] = b;
    }
    *out = list;
    return KILN_OK;
}

/* ---- of a profile ---------------------------------------------------------------- */

/* A profile names those of models and of operators in one list. What runs on a GPU is
 * compared on it: the host's part of its profile says nothing. */
static kiln_status of_profile(kiln_arena *a, const kiln_profile *of,
                              kiln_baseline_subject subject, kiln_buf *out,
                              kiln_err *err) {
    const kiln_profile *p = of->device != NULL ? of->device : of;
    for (int i = 0; p->baseline != NULL && p->baseline[i] != NULL; i++) {
        const kiln_baseline *b = find(kiln_str_from(p->baseline[i]));
        if (b == NULL) {
            const kiln_status st =
                unknown(a, kiln_str_from(p->baseline[i]), KILN_BASELINE_ANY, err);
            kiln_note(err, "reading the baselines of profile '%s'", p->name);
            return st;
        }
        if (fits(b, subject))
            kiln_buf_printf(out, "%s%s", out->n > 0 ? "," : "", b->name);
    }
    return KILN_OK;
}

kiln_status kiln_baselines_choose(kiln_arena *a, const char *text,
                                  const kiln_profile *p, kiln_baseline_subject subject,
                                  const kiln_baseline *const **out, kiln_err *err) {
    kiln_buf names;
    if (strcmp(text, "profile") != 0)
        return kiln_baselines_parse(a, text, subject, out, err);
    if (p == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "a package does not say with what it is compared: name the "
                         "baselines; there are: %s",
                         names_of(a, subject));
    kiln_buf_init(&names, a);
    KILN_TRY(of_profile(a, p, subject, &names, err));
    if (names.n == 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "profile '%s' names no baselines of %s: add \"baselines\" to "
                         "its file, or name them; there are: %s",
                         p->name,
                         subject == KILN_BASELINE_MODELS ? "models" : "operators",
                         names_of(a, subject));
    return kiln_baselines_parse(a, names.p, subject, out, err);
}
