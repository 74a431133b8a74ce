/* pipeline/fleet: a command, several times, on machines that a scheduler hands out, and
 * once more when all have ended.
 *
 *     const kiln_fleet_engine *e = kiln_fleet_engine_find("slurm");
 *     kiln_fleet_submit(a, e, &o, &fleet, err);
 *     kiln_fleet_wait(a, &fleet, err);            each member's end is in fleet.member
 *
 * Members are told apart by number; what they share is a folder that every machine sees
 * under the same path: script, logs, and what each found (docs/fleet.md).
 */
#ifndef KILN_PIPELINE_FLEET_H
#define KILN_PIPELINE_FLEET_H

#include "base/base.h"

typedef struct kiln_fleet_engine kiln_fleet_engine;
const kiln_fleet_engine *kiln_fleet_engine_find(const char *name); /* NULL: none */
const char *kiln_fleet_engine_names(kiln_arena *a);                /* "slurm, ..." */

enum { KILN_FLEET_MOST = 1000 };

typedef struct kiln_fleet_options {
    int n;            /* members, 1 to KILN_FLEET_MOST, beside the last one */
    const char *dir;  /* absolute; made where it is not there */
    const char *name; /* of the job, for people who look at the scheduler */
    const char *cwd;  /* where commands run, for paths that they name */
    /* The program on the machines, and what it says of itself there when it is asked
     * for its version: another one is refused. */
    const char *program, *version;
    /* Its arguments: what all have, then those of members and of the last one. In these
     * "{job}" and "{member}" are numbers, and "{out}" is a file's path without ending.
     * NULL-terminated. */
    const char *const *all, *const *each, *const *last;
    const char *const *engine_option; /* NULL-terminated: as the scheduler has them */
    int poll_ms; /* 0: a tenth of what it has taken, from 1 to 10 seconds */
} kiln_fleet_options;

/* One of them. Texts are in the arena. */
typedef struct kiln_fleet_member {
    const char *name;  /* "0", "1", ..., "last" */
    const char *out;   /* path without ending: .log, .txt, .json, .code */
    const char *state; /* in the scheduler's words; "": not known */
    const char *node;  /* ""; not known */
    const char *why;   /* it failed: its own last word, or the scheduler's; else "" */
    int restarts;
    int code; /* of exit; -1: it ended otherwise, or is not known */
    bool has_ended, is_good;
} kiln_fleet_member;

typedef struct kiln_fleet {
    const kiln_fleet_engine *engine;
    const kiln_fleet_options *o;        /* borrowed */
    const char *job, *last_job;         /* the scheduler's names */
    KILN_VEC(kiln_fleet_member) member; /* the last one behind the others */
} kiln_fleet;

/* Both jobs are in the scheduler's hands when it returns. KILN_ERR_MISSING: there is no
 * such scheduler here; KILN_ERR_IO: what it says against it. */
kiln_status kiln_fleet_submit(kiln_arena *a, const kiln_fleet_engine *engine,
                              const kiln_fleet_options *o, kiln_fleet *out,
                              kiln_err *err);
/* Until all have ended. That some failed is no failure: members say so.
 * KILN_ERR_INTERRUPTED: the jobs go on; KILN_ERR_IO: the scheduler does not answer. */
kiln_status kiln_fleet_wait(kiln_arena *a, kiln_fleet *fleet, kiln_err *err);
/* How to look at the jobs, and how to end them, as commands. */
const char *kiln_fleet_look_command(kiln_arena *a, const kiln_fleet *fleet);
const char *kiln_fleet_end_command(kiln_arena *a, const kiln_fleet *fleet);

#endif
