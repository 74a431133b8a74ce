/* pipeline/baselines: vendor libraries that kiln is compared with.
 *
 * An adapter answers three questions: is the library here, can it run this model, what
 * are its samples. A comparison ends in one of five words, which are never mixed up:
 * absent (not installed, or it reads no files of this format: nothing is known), failed
 * (it is here and refused, crashed or did not end), wrong (it answered, but not what the
 * reference says), emulated (that is right, but an emulator ran it: its times say
 * nothing, and nothing is timed), measured. It is given the very file that kiln is given; where it
 * does not read that, what kiln exports of it.
 *
 * Some run models (Python wheels), some single operators (programs of kiln's own, built
 * where the library's development package is).
 *
 *     kiln_baseline_here here;         is it here?
 *     kiln_baseline_session *s;        a model or operator, made ready with N threads
 *     kiln_baseline_run                one sample
 */
#ifndef KILN_PIPELINE_BASELINES_H
#define KILN_PIPELINE_BASELINES_H

#include "base/base.h"
#include "compiler/frontend/frontend.h"
#include "compiler/target/target.h"
#include "pipeline/baselines/library/library.h"

/* ---- is it here? ----------------------------------------------------------------- */

typedef struct kiln_baseline_here {
    bool is_here;
    const char *version; /* of what is here, "1.31.1"; NULL: absent */
    const char *remedy;  /* absent: how to get it, one line */
    const char *hint;    /* here: how to have another version, one line; NULL: no way */
    bool is_emulated;    /* its outputs count, its times do not */
} kiln_baseline_here;

/* ---- can it run this model? ------------------------------------------------------ */

typedef struct kiln_baseline_job {
    const char *dir;   /* where wheels are installed */
    const char *model; /* the file, or what was exported of it */
    int threads;
    const kiln_value_binding *in; /* every input that the model's file asks for */
    size_t n_in;
    const char *const *out; /* names of the outputs that are wanted */
    size_t n_out;
    int64_t limit_ms; /* of making ready, and of each sample; 0: five minutes */
} kiln_baseline_job;

/* The same for one operator, with what is behind it. */
typedef struct kiln_baseline_op_job {
    const char *dir;           /* where wheels are installed; NULL: nowhere */
    const kiln_library_op *op; /* with the values of its inputs */
    int threads;
    int64_t limit_ms; /* of making ready, and of each sample; 0: five minutes */
} kiln_baseline_op_job;

/* A model or operator made ready: lives in an arena, ends when that is reset. */
typedef struct kiln_baseline_session {
    /* One for each that the job asked for (of an operator: one), of the first run. */
    const kiln_tensor *out;
    const char *implementation; /* as the library calls what it chose; NULL: unsaid */
    void *own;                  /* the adapter's */
} kiln_baseline_session;

/* ---- what are its samples? ------------------------------------------------------- */

/* Of `runs` runs in a row, timed by whoever runs them, after one that was not: caches
 * and threads are as warm as in a loop. */
typedef struct kiln_baseline_sample {
    int64_t wall_ns;
    int64_t cpu_ns;    /* of all its threads */
    int64_t preempted; /* times that somebody took a processor away */
} kiln_baseline_sample;

/* What its clocks say of one run. One thread's time is what it got of the processor,
 * where others took it away; of several only the wall's clock counts, and that somebody
 * took a processor away is noted. */
double kiln_baseline_ms(const kiln_baseline_sample *s, int64_t runs, int threads,
                        bool *is_disturbed);

/* Never mixed up: not installed, or no reader of the file, nothing is known of it; here, and it refused, crashed
 * or did not end; its outputs are not the reference's; they are, and an emulator
 * computed them; there are numbers. */
typedef enum kiln_rival_state {
    KILN_RIVAL_ABSENT,
    KILN_RIVAL_FAILED,
    KILN_RIVAL_WRONG,
    KILN_RIVAL_EMULATED,
    KILN_RIVAL_MEASURED
} kiln_rival_state;
const char *kiln_rival_state_name(kiln_rival_state s); /* "absent", "failed", ... */

/* One library. A failure of open or run is the baseline's, with its reason in *err. */
typedef struct kiln_baseline {
    const char *name; /* as --baselines has it */
    const char *doc;
    /* What it needs: wheels (wheels.def; ends in NULL), or Debian's packages, with
     * which kiln is built again. One may be NULL; where neither is, each will do, and
     * wheels go first. */
    const char *const *wheel;
    const char *packages;
    const char *program; /* of a C interface; NULL: kiln-<name> */
    /* Gigabytes of wheels, or seconds a run: it is not meant where nobody names it. */
    bool is_by_name;
    /* Formats of model files, as frontends.def calls them; ends in NULL. Of one that
     * runs operators: NULL. */
    const char *const *reads;
    /* One of these it reads by what another baseline brings, which must be here too;
     * NULL: all by itself. */
    const char *borrowed_format, *borrowed_from;
    /* Fails where the place is there and broken. */
    kiln_status (*find)(const struct kiln_baseline *b, kiln_arena *a, const char *dir,
                        kiln_baseline_here *out, kiln_err *err);
    /* Of models, of operators: NULL where it does not run such. */
    kiln_status (*open)(const struct kiln_baseline *b, kiln_arena *a,
                        const kiln_baseline_job *job, kiln_baseline_session *out,
                        kiln_err *err);
    kiln_status (*open_op)(const struct kiln_baseline *b, kiln_arena *a,
                           const kiln_baseline_op_job *job, kiln_baseline_session *out,
                           kiln_err *err);
    /* After a failure the session is of no use. */
    kiln_status (*run)(const kiln_baseline_session *s, int64_t runs,
                       kiln_baseline_sample *out, kiln_err *err);
} kiln_baseline;

/* In the order of baselines.def; NULL past the last. */
const kiln_baseline *kiln_baseline_at(int index);
typedef enum kiln_baseline_subject {
    KILN_BASELINE_MODELS = 1,
    KILN_BASELINE_OPERATORS = 2,
    KILN_BASELINE_ANY = 3
} kiln_baseline_subject;
const char *kiln_baseline_runs(const kiln_baseline *b); /* "models" or "operators" */
bool kiln_baseline_reads(const kiln_baseline *b, const char *format);
/* With what is installed in `dir`: what it borrows, too. */
bool kiln_baseline_reads_here(const kiln_baseline *b, kiln_arena *a, const char *dir,
                              const char *format);
/* "onnx, tflite"; "" for one that runs operators. */
const char *kiln_baseline_formats(kiln_arena *a, const kiln_baseline *b);
/* "onnxruntime,openvino": a list that ends in NULL. KILN_ERR_ARG names those there are
 * for such a subject. */
kiln_status kiln_baselines_parse(kiln_arena *a, const char *text,
                                 kiln_baseline_subject subject,
                                 const kiln_baseline *const **out, kiln_err *err);

/* "profile": those of the profile's list that run such subjects, of its GPU's where it
 * has one. KILN_ERR_ARG where
 * there are none; p NULL: nobody knows a profile. Any other text: as above. */
kiln_status kiln_baselines_choose(kiln_arena *a, const char *text,
                                  const kiln_profile *p, kiln_baseline_subject subject,
                                  const kiln_baseline *const **out, kiln_err *err);

/* ---- where wheels are ------------------------------------------------------------ */

/* $KILN_BASELINES, else kiln/baselines in $XDG_DATA_HOME or ~/.local/share. */
kiln_status kiln_baselines_dir(kiln_arena *a, const char **out, kiln_err *err);

/* The version of a wheel that kiln asks for; NULL: no row of wheels.def. */
const char *kiln_wheel_version(const char *name);
/* The same of the wheel that runs models, which a baseline names last; NULL: it runs
 * none. */
const char *kiln_baseline_wanted(const kiln_baseline *b);
/* Is there something to install for it? Some wheels are not for every machine. */
bool kiln_baseline_has_wheels(const kiln_baseline *b);

/* Makes a Python virtual environment in `dir` (an existing one is used) and installs
 * the wheels that the baselines (a list that ends in NULL) need, in the versions of
 * wheels.def: what has another hash than is written there is refused. A baseline whose
 * wheels are not for this machine is left out. KILN_ERR_ARG where nothing is left. Takes
 * minutes and a network. A killed one is repeated by the same call. */
kiln_status kiln_baselines_install(kiln_arena *a, const char *dir,
                                   const kiln_baseline *const *which, kiln_err *err);

#endif
