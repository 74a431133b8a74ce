/* Inside pipeline/baselines. */
#ifndef KILN_PIPELINE_BASELINES_INTERNAL_H
#define KILN_PIPELINE_BASELINES_INTERNAL_H

#include "pipeline/baselines/baselines.h"
#include "pipeline/talk/talk.h"

/* A row of wheels.def. */
typedef struct kiln_wheel {
    const char *name, *version;
    const char *machine; /* "x86_64", as uname has it; "": all that kiln runs on */
    const char *needs;   /* names of other rows, with blanks between */
    const char *hashes;  /* SHA-256 of its files, with blanks between */
} kiln_wheel;

const kiln_wheel *kiln_wheel_find(kiln_str name); /* NULL: no row */
const char *kiln_wheel_machine(kiln_arena *a);    /* this one, as uname has it */
/* Has it wheels, all of them for this machine? */
bool kiln_wheels_fit(const kiln_baseline *b, const char *machine);
/* A requirements file for pip's hash-checking mode: a file with another hash, and a
 * wheel that is not in it, is refused. KILN_ERR_ARG where nothing would be in it. */
kiln_status kiln_wheels_requirements(const kiln_baseline *const *which,
                                     const char *machine, kiln_buf *out, kiln_err *err);

/* Of Python wheels: these functions ask kiln-bridge, a process of the environment's
 * Python (bridge.py; the protocol is at its top). */
kiln_status kiln_bridge_find(const kiln_baseline *b, kiln_arena *a, const char *dir,
                             kiln_baseline_here *out, kiln_err *err);
kiln_status kiln_bridge_open(const kiln_baseline *b, kiln_arena *a,
                             const kiln_baseline_job *job, kiln_baseline_session *out,
                             kiln_err *err);

/* Of libraries with a C interface: these ask a program (library/library_serve.c; the protocol is
 * at its top). `library`: the file that it opens; NULL: it is linked with one. */
typedef struct kiln_program_use {
    const char *program; /* "kiln-onednn3" */
    const char *library;
    const char *emulator; /* in PATH, that runs the program; NULL: none is needed */
} kiln_program_use;
kiln_status kiln_program_use_version(kiln_arena *a, const kiln_baseline *b,
                                     const kiln_program_use *u, kiln_baseline_here *out,
                                     kiln_err *err);
kiln_status kiln_program_use_open(kiln_arena *a, const kiln_baseline *b,
                                  const kiln_program_use *u,
                                  const kiln_baseline_op_job *job,
                                  kiln_baseline_session *out, kiln_err *err);

/* What emulates AArch64 here, by name; NULL: this machine is one. */
const char *kiln_board_emulator(kiln_arena *a);
/* A library whose program `board` is for AArch64, asked by `u`. Absent says how to get
 * them: the program, by Debian's packages and the cross compiler; the emulator. */
kiln_status kiln_board_find(const kiln_baseline *b, kiln_arena *a, const char *board,
                            const char *compiler, const kiln_program_use *u,
                            kiln_baseline_here *out, kiln_err *err);

/* The same of kiln-<name of the baseline>. It was not built: absent. */
kiln_status kiln_program_baseline_find(const kiln_baseline *b, kiln_arena *a,
                                       const char *dir, kiln_baseline_here *out,
                                       kiln_err *err);
kiln_status kiln_program_baseline_open(const kiln_baseline *b, kiln_arena *a,
                                       const kiln_baseline_op_job *job,
                                       kiln_baseline_session *out, kiln_err *err);

/* Of both. */
kiln_status kiln_asked_run(const kiln_baseline_session *s, int64_t runs,
                           kiln_baseline_sample *out, kiln_err *err);

/* The Python that runs the wheels: the one that KILN_PYTHON names, with what is installed
 * there; else that of the environment in `dir`, where kiln installs them. */
const char *kiln_baselines_python(kiln_arena *a, const char *dir);
const char *kiln_baselines_python_named(void); /* by KILN_PYTHON; NULL: none */

/* ---- one that answers in JSON (baselines_ask.c) ---------------------------------- */

typedef struct kiln_asked {
    kiln_talk *talk;
    const char *name, *folder; /* folder: of the tensors' files */
    int64_t limit_ms;
} kiln_asked;

kiln_status kiln_asked_open(kiln_arena *a, const char *const *argv, const char *name,
                            int64_t limit_ms, kiln_asked *out, kiln_err *err);
/* Sends an object; KILN_ERR_LIB with the text of a refusal. */
kiln_status kiln_asked_ask(const kiln_asked *b, kiln_arena *a, kiln_buf *request,
                           const kiln_json **reply, kiln_err *err);
/* What it chose, in its words; NULL: the reply does not say. */
const char *kiln_asked_implementation(kiln_arena *a, const kiln_json *reply);
/* "in0.npy" in the folder; and as an object of a request. */
const char *kiln_asked_file(kiln_arena *a, const char *folder, const char *what,
                            size_t i);
void kiln_asked_put_file(kiln_json_writer *w, const char *name, const char *file);
/* Reads out0.npy, ... */
kiln_status kiln_asked_outputs(const kiln_asked *b, kiln_arena *a, size_t n,
                               kiln_baseline_session *out, kiln_err *err);
/* What the program prints, trimmed; how it failed where it did. */
kiln_status kiln_asked_version(kiln_arena *a, const char *const *argv, const char *name,
                               kiln_str *out, kiln_err *err);

#endif
