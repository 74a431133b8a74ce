/* A machine elsewhere, as it says of itself. */
#include "compiler/target/target.h"

kiln_status kiln_profile_fits_machine(const kiln_profile *p, int threads,
                                      kiln_str machine, kiln_err *err) {
    KILN_ASSERT(threads > 0, "kernels of %d threads", threads);
    kiln_arena scratch = {0};
    const kiln_json *json = NULL;
    kiln_profile there;
    char missing[128];
    kiln_status st = kiln_json_parse(&scratch, machine, "its machine", &json, err);
    if (st == KILN_OK)
        st = kiln_profile_read(&scratch, json, "its machine", &there, err);
    if (st == KILN_OK && !kiln_profile_runs_on(p, &there, missing))
        st =
            kiln_fail(err, KILN_ERR_UNSUPPORTED,
                      "profile '%s' does not run on its machine: %s", p->name, missing);
    else if (st == KILN_OK && there.cores < threads)
        st = kiln_fail(err, KILN_ERR_UNSUPPORTED,
                       "kernels have %d threads, its machine %d CPUs", threads,
                       there.cores);
    kiln_arena_fini(&scratch);
    return st;
}
