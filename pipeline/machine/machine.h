/* The machine model of the machine at hand, measured: what one core does in a cycle,
 * and what it gets of caches that others share.
 *
 * Kernels that kiln compiles for the profile are timed in a child process, in short
 * slices between slices of a chain of additions, whose steps take one cycle each: so
 * everything is counted in cycles, whatever the clock does. The best of many
 * undisturbed slices counts. The result decides what rules guess and nothing else; it
 * is kept in a file of the user's, one for each machine, which the profile `native`
 * reads (docs/profile.md).
 *
 * Source: chains and streams as in McCalpin's STREAM and Hager and Wellein,
 * Introduction to High Performance Computing for Scientists and Engineers, chapter 3. */
#ifndef KILN_PIPELINE_MACHINE_H
#define KILN_PIPELINE_MACHINE_H

#include "compiler/target/target.h"

typedef struct kiln_machine_model {
    kiln_core core;
    double clock_ghz; /* while it was measured */
    double spread;    /* of the worst number: median over best, less 1 */
    double seconds;   /* that it took */
    int slices, disturbed;
    int64_t time_ms;  /* when: of the clock on the wall */
    const char *kiln; /* version that measured */
} kiln_machine_model;

/* A few seconds. KILN_ERR_UNSUPPORTED where this machine cannot run the profile's code,
 * KILN_ERR_IO where what was measured cannot be (others were at work), or the child
 * process ended before it was done. */
kiln_status kiln_machine_measure(kiln_arena *a, const kiln_profile *p,
                                 kiln_machine_model *out, kiln_err *err);

/* ---- kept ------------------------------------------------------------------------ */

/* kiln/machines/ID.json in $XDG_DATA_HOME or ~/.local/share; ID is of the CPU's name,
 * caches, cores and instructions. NULL: the user has no such folder. */
const char *kiln_machine_path(kiln_arena *a, const kiln_profile *native);
/* Of the machine that detection describes as `native`. *out: NULL where nothing is
 * kept, or it is another machine's. KILN_ERR_PARSE where the file is damaged. */
kiln_status kiln_machine_kept(kiln_arena *a, const kiln_profile *native,
                              const kiln_machine_model **out, kiln_err *err);
/* *path (may be NULL): where it is now. */
kiln_status kiln_machine_keep(kiln_arena *a, const kiln_profile *native,
                              const kiln_machine_model *m, const char **path,
                              kiln_err *err);
/* The document, and read from one; `where` is for messages. */
void kiln_machine_document(kiln_buf *out, const kiln_profile *native,
                           const kiln_machine_model *m);
kiln_status kiln_machine_read_document(kiln_arena *a, const kiln_json *json,
                                       const char *where, const kiln_profile *native,
                                       const kiln_machine_model **out, kiln_err *err);

/* This machine, with what is kept of it. */
kiln_status kiln_machine_native(kiln_arena *a, kiln_profile *out, kiln_err *err);
/* kiln_profile_find, where `native` is the above. A GPU's profile comes beside that of
 * its host (kiln_profile_beside). */
kiln_status kiln_machine_find(kiln_arena *a, const char *name_or_path,
                              kiln_profile *out, kiln_err *err);

/* ---- GPUs ------------------------------------------------------------------------- */

/* One of this machine's, or why it has none of a kind. */
typedef struct kiln_machine_gpu {
    const char *kind;    /* of device: "cuda" */
    const char *title;   /* "NVIDIA H200"; NULL: there is none of the kind */
    const char *problem; /* why there is none, or why it cannot be used; NULL: it can */
    const char *text;    /* its numbers, for people */
    kiln_profile profile; /* where there is no problem */
} kiln_machine_gpu;
enum { KILN_MOST_GPUS = 32 };
typedef struct kiln_machine_gpus {
    kiln_machine_gpu *gpu;
    int n;
} kiln_machine_gpus;

/* As their drivers describe them, in the order in which these show them; opens the
 * drivers' libraries. */
kiln_machine_gpus kiln_machine_gpus_here(kiln_arena *a);

#endif
