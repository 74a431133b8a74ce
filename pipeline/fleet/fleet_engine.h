/* What a scheduler answers: a row of engines.def, its file, and this. */
#ifndef KILN_PIPELINE_FLEET_FLEET_ENGINE_H
#define KILN_PIPELINE_FLEET_FLEET_ENGINE_H

#include "pipeline/fleet/fleet.h"

/* What the scheduler says of one member. */
typedef struct kiln_fleet_said {
    int member; /* number; -1: the job has only one */
    const char *state, *node, *reason;
    int restarts;
    bool has_ended, is_good;
} kiln_fleet_said;
typedef KILN_VEC(kiln_fleet_said) kiln_fleet_says;

struct kiln_fleet_engine {
    const char *name, *doc;
    /* Shell variables of a script: the job's number, and the member's (empty or not set
     * in the last one). */
    const char *job_variable, *last_job_variable, *member_variable;
    /* `n` members, 0 the last one, which begins when the job `after` has ended. *job:
     * its number. */
    kiln_status (*submit)(kiln_arena *a, const kiln_fleet_options *o,
                          const char *script, int n, const char *after,
                          const char **job, kiln_err *err);
    /* Those that it still knows; of others *out has nothing. */
    kiln_status (*look)(kiln_arena *a, const char *job, kiln_fleet_says *out,
                        kiln_err *err);
    const char *look_command, *end_command; /* the jobs' numbers behind it */
    const char *separator;                  /* between numbers */
};

/* The batch script of members, or of the last one. */
void kiln_fleet_script(kiln_buf *out, const kiln_fleet_engine *engine,
                       const kiln_fleet_options *o, bool is_last);

#define KILN_FLEET_ENGINE(name) extern const kiln_fleet_engine kiln_fleet_engine_##name;
#include "pipeline/fleet/engines.def"
#undef KILN_FLEET_ENGINE

#endif
