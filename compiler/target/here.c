/* Does code for a profile run on the machine at hand? */
#include "compiler/target/target.h"

kiln_status kiln_runs_here(const kiln_profile *p, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_profile machine;
    char missing[128] = "";
    if (kiln_profile_is_gpu(p)) /* only its driver says whether there is one */
        return KILN_OK;
    kiln_status st = kiln_profile_detect(&scratch, &machine, err);
    if (st == KILN_OK && !kiln_profile_runs_on(p, &machine, missing))
        st = kiln_fail(err, KILN_ERR_UNSUPPORTED,
                       "profile '%s' does not run on this machine: %s", p->name,
                       missing);
    kiln_arena_fini(&scratch);
    return st;
}
