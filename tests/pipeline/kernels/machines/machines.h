/* Machines that are not here: public figures of several cores, each with its source
 * (machines.json), as profiles. Their strings live as long as a test's process. */
#ifndef KILN_TESTS_PIPELINE_KERNELS_MACHINES_MACHINES_H
#define KILN_TESTS_PIPELINE_KERNELS_MACHINES_MACHINES_H

#include "compiler/target/target.h"
#include "tests/support/kiln_test.h"

#include <string.h>

enum { KILN_MAX_MACHINES = 16 };

/* How many there are; 0 where the file cannot be read, which tests hold. */
static inline int kiln_machines_read(kiln_profile out[KILN_MAX_MACHINES]) {
    static const char path[] = "tests/pipeline/kernels/machines/machines.json";
    kiln_arena *a = kiln_test_arena();
    const kiln_json *all = NULL;
    kiln_err err = {0};
    int n = 0;
    if (kiln_json_read(a, path, &all, &err) != KILN_OK)
        return 0;
    for (const kiln_json *m = kiln_json_first(all); m != NULL; m = kiln_json_next(m)) {
        const bool has_source =
            kiln_json_string(kiln_json_get(m, "source"), NULL) != NULL;
        if (has_source && n < KILN_MAX_MACHINES &&
            kiln_profile_read(a, kiln_json_get(m, "profile"), path, &out[n], &err) ==
                KILN_OK)
            n++;
    }
    return n;
}

static inline const kiln_profile *kiln_machine_named(const kiln_profile *machine, int n,
                                                     const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(machine[i].name, name) == 0)
            return &machine[i];
    fail_msg("there is no machine '%s'", name);
    return machine;
}

#endif
