/* Inside pipeline/gate. */
#ifndef KILN_PIPELINE_GATE_INTERNAL_H
#define KILN_PIPELINE_GATE_INTERNAL_H

#include "pipeline/gate/gate.h"

#define KILN_ARCHIVE_ENDING ".kiln.tar.zst"
#define KILN_ACCEPTED_FILE "accepted.json"

/* Paths: files and unpacked packages as they are, of other folders all archives below
 * them by name, sorted. KILN_ERR_ARG where a folder has none. */
typedef KILN_VEC(const char *) kiln_gate_paths;
kiln_status kiln_gate_find_archives(kiln_arena *a, const char *const *path, size_t n,
                                    kiln_gate_paths *out, kiln_err *err);

/* `where`, or this machine (NULL): "AMD EPYC 9R45, 2 cores, features 1f2e...": equal texts, same kind. */
kiln_status kiln_gate_machine(kiln_arena *a, const kiln_device *where, const char **out,
                              kiln_err *err);
/* SHA-256 and size of a file. */
kiln_status kiln_gate_hash(kiln_arena *a, const char *path, const char **sha256,
                           int64_t *bytes, kiln_err *err);
/* The chain as one sentence. */
const char *kiln_gate_sentence(kiln_arena *a, const kiln_err *err);

/* ---- who else says that it is right (gate_judge.c) ------------------------------------ */

/* The one that the archive says it was built from; NULL: none of them. */
kiln_status kiln_gate_find_model(kiln_arena *a, const kiln_gate_models *models,
                                 const kiln_package_facts *f, const char **out,
                                 kiln_err *err);
/* Its outputs, on inputs drawn now, against the model's reference. KILN_ERR_SHAPE,
 * where *is_wrong: they are; else they could not be had. keys: one of which must have
 * signed it, as it is opened once more; NULL: none, for a folder that was unpacked from
 * what was checked. where: as of kiln_gate_options. */
kiln_status kiln_gate_ask_model(const char *package, const kiln_keyring *keys,
                                const kiln_device *where, const char *model,
                                int threads, bool *is_wrong, kiln_err *err);
/* And against those of an accepted archive (kiln_opened_compare). seed 0: drawn now. */
kiln_status kiln_gate_ask_accepted(const kiln_opened *candidate,
                                   const kiln_opened *control, int threads,
                                   uint64_t seed, bool *is_wrong, kiln_err *err);

/* ---- accepted.json (accepted.c) -------------------------------------------------- */

/* By model, then profile, then threads. */
int kiln_accepted_order(const kiln_accepted *x, const kiln_accepted *y);
/* What is accepted and has nothing frozen is frozen. */
void kiln_accepted_freeze_new(kiln_arena *a, kiln_accepted_list *l);
void kiln_accepted_json(kiln_buf *out, const kiln_accepted_list *l);

/* ---- many (gate.c) --------------------------------------------------------------- */

/* Which failures stand among all results, and what they are together. */
void kiln_gate_add_up(kiln_arena *a, kiln_gate_report *r);

/* ---- packages as sides (gate_trial.c) ------------------------------------------------- */

typedef struct kiln_gate_pair {
    const kiln_opened *candidate, *control;
    const kiln_tensor *in; /* the control's self-test: equal work for both */
    int threads, runs, warm_up;
    double run_ms;    /* of the control, about; 0: not known yet */
    int injected_ppm; /* of the candidate's timed runs; 0: nothing */
} kiln_gate_pair;

/* Finds out how many runs fill so many seconds. */
kiln_status kiln_gate_pair_init(kiln_arena *a, const kiln_opened *candidate,
                                const kiln_opened *control, int threads, double seconds,
                                kiln_gate_pair *out, kiln_err *err);
/* A fresh process (kiln_gate_bench.run); user: a kiln_gate_pair. */
kiln_status kiln_gate_pair_run(void *user, kiln_gate_side side, kiln_gate_process *out,
                               kiln_err *err);
/* One process with each step timed: milliseconds of a run, in the plan's order. */
kiln_status kiln_gate_pair_steps(kiln_arena *a, const kiln_gate_pair *p,
                                 kiln_gate_side side, double **ms, kiln_err *err);
/* By what runs tell that others disturbed them. A thread that waits, for other threads or
 * for a device, gets less of its processor than the run takes; and a device that is
 * threads of this process takes processors from the others. */
typedef struct kiln_gate_signs {
    bool processor; /* what the first thread got of it */
    bool switches;  /* threads that lost theirs */
} kiln_gate_signs;
/* What runs of one process say. n >= 1 of each. */
kiln_gate_process kiln_gate_process_of(kiln_arena *scratch, const kiln_device_result *r,
                                       kiln_gate_signs signs);

/* ---- which steps moved (moved.c) ------------------------------------------------- */

/* Steps whose time differs by more than their noise, largest slowdown first, and what
 * all of them say (moved_says). */
kiln_status kiln_gate_moved(kiln_arena *a, const kiln_gate_pair *p,
                            kiln_gate_result *out, kiln_err *err);
/* The same of given times: n_processes rows of each side's steps, in plan order. */
enum { KILN_GATE_STEP_PROCESSES = 9 };
typedef struct kiln_results_moved_times {
    const kiln_device_step *step; /* of the plan */
    size_t n_steps;
    double *ms[KILN_GATE_STEP_PROCESSES];
} kiln_results_moved_times;
void kiln_gate_moved_of(kiln_arena *a, const kiln_results_moved_times *candidate,
                        const kiln_results_moved_times *control, kiln_gate_result *out);

#endif
