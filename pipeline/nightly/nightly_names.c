/* What a pipeline's file may name, and how its stages are called. */
#include "pipeline/nightly/nightly_internal.h"

#include <string.h>

#include "compiler/tuner/tuner.h"
#include "pipeline/baselines/baselines.h"
#include "pipeline/kernels/op_line.h"
#include "zoo/zoo_fetch.h"
#include "zoo/zoo.h"

const char *kiln_nightly_kind_name(kiln_nightly_kind k) {
    KILN_ASSERT((int)k >= 0 && k < KILN_NIGHTLY_N_KINDS, "no stage of kind %d", (int)k);
    static const char *const name[] = {"fetch", "tune", "build",    "verify",
                                       "bench", "gate", "operators"};
    _Static_assert(sizeof name / sizeof name[0] == KILN_NIGHTLY_N_KINDS, "a name each");
    return name[k];
}

const char *kiln_nightly_search_name(int i) {
    const kiln_search_kind *k = kiln_search_at(i);
    return k == NULL ? NULL : k->name;
}

const char *kiln_nightly_cost_model_name(int i) {
    const kiln_cost_model_kind *k = kiln_cost_model_at(i);
    return k == NULL ? NULL : k->name;
}

static const char *baseline_name(int i, kiln_baseline_subject subject) {
    const kiln_baseline *b = NULL;
    for (int k = 0; (b = kiln_baseline_at(k)) != NULL; k++) {
        const bool runs =
            subject == KILN_BASELINE_MODELS ? b->open != NULL : b->open_op != NULL;
        if (runs && i-- == 0)
            return b->name;
    }
    return NULL;
}

const char *kiln_nightly_baseline_name(int i) {
    return baseline_name(i, KILN_BASELINE_MODELS);
}

const char *kiln_nightly_op_baseline_name(int i) {
    return baseline_name(i, KILN_BASELINE_OPERATORS);
}

const char *kiln_nightly_numerics_name(int i) {
    static const kiln_numerics all[] = {KILN_NUMERICS_FAST, KILN_NUMERICS_STRICT};
    const int n = sizeof all / sizeof all[0];
    return i < n ? kiln_numerics_name(all[i]) : NULL;
}

const char *kiln_nightly_pack_name(int i) {
    static const char *const all[] = {"build", "open"};
    const int n = sizeof all / sizeof all[0];
    return i < n ? all[i] : NULL;
}

const char *kiln_nightly_drift_name(int i) {
    static const char *const all[] = {"warn", "fail"};
    const int n = sizeof all / sizeof all[0];
    return i < n ? all[i] : NULL;
}

kiln_status kiln_nightly_find_zoo(const char *name, kiln_err *err) {
    const kiln_zoo_network *network = NULL;
    return kiln_zoo_find(name, &network, err);
}

kiln_status kiln_nightly_find_in_catalog(kiln_arena *a, const char *catalog,
                                         const char *name, kiln_err *err) {
    kiln_catalog all;
    kiln_fetch_entry entry;
    if (catalog == NULL)
        kiln_catalog_shipped(a, &all);
    else
        KILN_TRY(kiln_catalog_read(a, catalog, &all, err));
    return kiln_catalog_find(&all, name, &entry, err);
}

bool kiln_nightly_is_ops_list(const char *name) {
    for (int i = 0; kiln_op_list_at(i) != NULL; i++)
        if (strcmp(kiln_op_list_at(i), name) == 0)
            return true;
    return false;
}

kiln_status kiln_nightly_find_ops(kiln_arena *a, const char *set, kiln_err *err) {
    kiln_op_lines lines = {.list = {.n = 0}};
    return kiln_op_lines_read(a, set, &lines, err);
}
