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

static const struct {
    const char *name, *version;
} wheels[] = {
#define KILN_WHEEL(name, version) {name, version},
#include "pipeline/baselines/wheels.def"
#undef KILN_WHEEL
};

const kiln_baseline *kiln_baseline_at(int index) {
    return index >= 0 && index < N_BASELINES ? table[index] : NULL;
}

const char *kiln_wheel_version(const char *name) {
    for (size_t i = 0; i < sizeof wheels / sizeof wheels[0]; i++)
        if (strcmp(wheels[i].name, name) == 0)
            return wheels[i].version;
    return NULL;
}

static const kiln_baseline *find(kiln_str name) {
    for (int i = 0; i < N_BASELINES; i++)
        if (kiln_str_is(name, table[i]->name))
            return table[i];
    return NULL;
}

static kiln_status unknown(kiln_arena *a, kiln_str name, kiln_err *err) {
    kiln_buf names;
    kiln_buf_init(&names, a);
    for (int i = 0; i < N_BASELINES; i++)
        kiln_buf_printf(&names, "%s%s", i > 0 ? ", " : "", table[i]->name);
    return kiln_fail(err, KILN_ERR_ARG, "there is no baseline '%s'; there are: %s",
                     kiln_str_printable(a, name, 64), names.p);
}

kiln_status kiln_baselines_parse(kiln_arena *a, const char *text,
                                 const kiln_baseline *const **out, kiln_err *err) {
    kiln_str rest = kiln_str_from(text), name;
    const kiln_baseline **list = kiln_array(a, const kiln_baseline *, N_BASELINES + 1);
    size_t n = 0;
    while (kiln_str_cut(&rest, ',', &name)) {
        const kiln_baseline *b = find(name);
        if (b == NULL)
            return unknown(a, name, err);
        for (size_t i = 0; i < n; i++)
            if (list[i] == b)
                return kiln_fail(err, KILN_ERR_ARG, "baseline '%s' is given twice",
                                 b->name);
        list[n++] = b;
    }
    *out = list;
    return KILN_OK;
}
