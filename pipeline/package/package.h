/* pipeline/package: from a model to an archive, and from an archive to results.
 *
 *     kiln_build b;                   an archive, and what went into it
 *     kiln_opened p;                  an archive verified, unpacked, and who can run it
 *     kiln_opened_run, kiln_verify_package
 */
#ifndef KILN_PIPELINE_PACKAGE_H
#define KILN_PIPELINE_PACKAGE_H

#include "packager/packager.h"
#include "packager/packager_provenance.h"
#include "pipeline/devices/devices.h"
#include "pipeline/network/network.h"
#include "pipeline/pipeline.h"

/* ---- the coverage ledger --------------------------------------------------------- */

/* Where a step's configuration came from, best first. */
typedef enum kiln_coverage {
    KILN_COVERED_TUNED,       /* searched for this very work */
    KILN_COVERED_TIMED,       /* measured for it alone: nothing else was tried */
    KILN_COVERED_TRANSFERRED, /* measured for work like it */
    KILN_COVERED_PREDICTED,   /* a cost model's choice */
    KILN_COVERED_FILE,        /* --config-file says so */
    KILN_COVERED_DEFAULT,     /* the template's own rule */
    KILN_COVERED_GENERIC,     /* of the template that takes any expression */
    KILN_N_COVERAGE
} kiln_coverage;
const char *kiln_coverage_name(kiln_coverage c); /* "tuned", ... */
kiln_coverage kiln_coverage_of(const kiln_network_kernel *k);

typedef struct kiln_ledger_row {
    const char *op; /* of the steps' anchors; "convert", "copy" */
    int64_t steps[KILN_N_COVERAGE], muladds[KILN_N_COVERAGE];
    int64_t copies;  /* steps without a kernel */
    int64_t n_tried; /* configurations measured for those that are tuned */
} kiln_ledger_row;
typedef struct kiln_ledger {
    KILN_VEC(kiln_ledger_row) row; /* in order of first appearance */
    kiln_ledger_row all;
} kiln_ledger;
void kiln_ledger_of(kiln_arena *a, const kiln_network *n, kiln_ledger *out);

/* ---- the proof ------------------------------------------------------------------- */

/* What a package was held to before it appeared (package_prove.c). */
typedef struct kiln_proof {
    const char *device; /* who ran it; NULL: nobody did (--no-verify) */
    /* Steps that compute or move: all; those whose results were held against the
     * reference; those it cannot say anything of, with the first reason; those of
     * branches that no inputs took. */
    int n_steps, n_proved, n_unknown, n_unseen;
    const char *unknown;
    int64_t n_elems, n_checked; /* of steps' results: all, and compared */
    int64_t time_ms;
} kiln_proof;

/* ---- building -------------------------------------------------------------------- */

typedef struct kiln_build_options {
    const char *version; /* of the model; NULL: "1" */
    const char *licence; /* of the model, an SPDX expression; NULL: not known */
    const char *path;    /* of the archive; NULL: its own name in `folder` */
    const char *folder;  /* NULL: here */
    const kiln_choose_options *choose; /* NULL: guesses */
    const kiln_net_chooser *chooser;   /* NULL: the usual one */
    const kiln_placement *placement;   /* NULL: the host does everything */
    const char *const *place;          /* its rules, as the provenance tells them */
    size_t n_places;
    const kiln_import_options *import; /* what the source was read with; NULL: none */
    int threads;                       /* that `choose` chooses for; 0: 1 */
    bool no_verify;                    /* packs without a proof, and says so */
    bool pack_at_open; /* the archive has parameters row-major, once; a model packs them
                          when it is opened */
    /* What an earlier build said, which this one is only compared with: nothing is
     * proved, and the archive says all the same whether it was. NULL: none. */
    const kiln_provenance *again;
    uint64_t seed; /* of the self-test's inputs */
} kiln_build_options;

/* What the self-test can tell: kiln_expectation's. */
typedef struct kiln_build_selftest {
    const char *law;
    int64_t n_elems, n_held, n_weak;
} kiln_build_selftest;

typedef struct kiln_build {
    const char *model, *profile, *numerics, *path;
    kiln_cost cost;
    int n_steps, n_conversions;
    const kiln_net_forecast *forecast; /* NULL: no search chose layouts */
    size_t n_kernels;
    int n_ready; /* different works that ready records chose for; the caller's to set */
    int n_predicted; /* and a model of other work; likewise */
    int64_t arena, lower_bound, params, workspace, scratch; /* bytes */
    int64_t packed; /* of a model that is open, beside the parameters */
    int n_open;     /* steps that fill them */
    kiln_ledger ledger;
    kiln_proof proof;
    kiln_build_selftest selftest;
    int64_t time_ms; /* of all, the proof included */
    uint64_t bytes;  /* of the archive */
    char sha256[KILN_SHA256_HEX];
} kiln_build;

/* Compiles, links, packs, proves, writes; `e` becomes the self-test, once for all
 * profiles. The archive is there whole, and proved, or not at all. KILN_ERR_BUG: what
 * was made is wrong; KILN_ERR_UNSUPPORTED: nobody here can run it to prove it. */
kiln_status kiln_package_build(kiln_arena *a, const kiln_source *s,
                               const kiln_expectation *e, const kiln_profile *p,
                               const kiln_build_options *o, kiln_build *out,
                               kiln_err *err);
/* One archive of archives that were built of one model, profile by profile, the best
 * first, each proved and now under the names that `part` has; they become this one's in
 * `part`. By o->path or o->folder; its variants have passed their self-tests in it. */
kiln_status kiln_package_join(kiln_arena *a, kiln_build *part, size_t n,
                              const kiln_build_options *o, kiln_err *err);
/* What needs more of a machine comes first; else as it was. */
void kiln_profiles_best_first(kiln_profile *p, size_t n);
void kiln_build_text(kiln_buf *out, const kiln_build *b);
/* An object of a list; docs/build-json.md. */
void kiln_build_put(kiln_json_writer *w, const kiln_build *b);

/* ---- provenance (docs/signatures.md) --------------------------------------------- */

/* What only who builds knows: words of the command. */
typedef struct kiln_provenance_words {
    const char *model;        /* "zoo:dqn", or a file's path */
    const char *const *shape; /* "x:1x3x224x224" */
    size_t n_shapes;
    const char *const *bind; /* "sr=16000", one for each value of `import` */
    const char *signature;   /* of a SavedModel; NULL: it was not given */
    bool has_state;          /* `--state` */
    bool as_reference;       /* `--rounding reference` */
    const char *config;      /* file of configurations; NULL: none */
    const struct kiln_tune_advice *advice; /* that was asked; NULL: none */
    bool no_ready, no_predict; /* ready records, the database's model were left out */
    const kiln_profile *more;  /* behind the first, of variants */
    size_t n_more;
} kiln_provenance_words;
kiln_status kiln_provenance_of(kiln_arena *a, const kiln_source *s,
                               const kiln_profile *p, const kiln_build_options *o,
                               const kiln_build *b, const kiln_provenance_words *words,
                               kiln_provenance *out, kiln_err *err);
/* Beside the archive; what would not be read again is refused. *path: the file. */
kiln_status kiln_provenance_save(kiln_arena *a, const kiln_provenance *p,
                                 const char *archive, const char **path, kiln_err *err);

/* Builds once more what an archive was built from, and compares. */
typedef struct kiln_rebuild_options {
    const char *model;                 /* "zoo:dqn", or a file */
    const kiln_import_options *import; /* as the provenance says; of variants one for */
    size_t n_imports;                  /* each set of shapes. 0: one */
    const char *db, *config;           /* files; NULL: none */
} kiln_rebuild_options;
typedef struct kiln_rebuild {
    KILN_VEC(const char *) difference; /* sentences; none: the same bytes */
    uint64_t bytes;                    /* of the rebuilt archive; 0: none was built */
    char sha256[KILN_SHA256_HEX];
} kiln_rebuild;
/* Other versions of what decides bytes are a difference, and nothing is built then.
 * KILN_ERR_PARSE: a file is not the one that the provenance names. */
kiln_status kiln_package_rebuild(kiln_arena *a, const char *archive,
                                 const kiln_provenance *p,
                                 const kiln_rebuild_options *o, kiln_rebuild *out,
                                 kiln_err *err);

/* ---- running --------------------------------------------------------------------- */

typedef struct kiln_opened {
    const char *folder; /* removed with the arena where the package was an archive */
    kiln_package_facts facts;
    kiln_device_package package;
    const kiln_device *device; /* who runs it */
    const kiln_device *where;  /* the only one that may; NULL: whoever can */
    kiln_signed is_signed;     /* where keys were required; else its key is NULL */
    /* Of an archive with variants: the folder of all, each of them, and which one the
     * rest is of. n_variants 0: it has none. */
    const char *root;
    const kiln_package_variant *variant;
    size_t n_variants, chosen;
} kiln_opened;

/* An archive is verified and held in memory (kiln_package_hold); an unpacked one is
 * taken where it lies. Of one with variants it is the first that runs here, in no
 * emulator if there is such a one. */
kiln_status kiln_package_open(kiln_arena *a, const char *path, kiln_opened *out,
                              kiln_err *err);

/* The same where one of these keys must have signed the archive (NULL: none need). An
 * unpacked folder has no signature: KILN_ERR_PARSE. */
kiln_status kiln_package_open_by(kiln_arena *a, const char *path,
                                 const kiln_keyring *keys, kiln_opened *out,
                                 kiln_err *err);

/* The same for this device alone (NULL: any): of variants the first that it runs.
 * KILN_ERR_UNSUPPORTED: it runs none. */
kiln_status kiln_package_open_on(kiln_arena *a, const char *path,
                                 const kiln_keyring *keys, const kiln_device *where,
                                 kiln_opened *out, kiln_err *err);

/* Makes it the package of the variant for the same profile and shapes of inputs as that
 * package; *found: there is one. Of a package by itself: is it one for these? */
kiln_status kiln_opened_choose_like(kiln_arena *a, kiln_opened *p,
                                    const kiln_package_facts *like, bool *found,
                                    kiln_err *err);
/* Makes it the package of that variant. */
kiln_status kiln_opened_choose(kiln_arena *a, kiln_opened *p, size_t i, kiln_err *err);

/* The model that it was built from, as it was imported then: the file must be that very
 * one, the dynamic dimensions are the package's, and `fixed` gives the same inputs the
 * same values. Messages say what differs. */
typedef struct kiln_fixed_inputs {
    const kiln_value_binding *value;
    size_t n;
} kiln_fixed_inputs;
kiln_status kiln_package_source(kiln_arena *a, const kiln_opened *p, const char *model,
                                const kiln_fixed_inputs *fixed, kiln_source *out,
                                kiln_err *err);

/* Was the package built with this very value for that input? KILN_ERR_ARG says how
 * not. */
kiln_status kiln_package_check_fixed(kiln_arena *a, const kiln_package_facts *f,
                                     const kiln_value_binding *value, kiln_err *err);

typedef struct kiln_named_tensor {
    const char *name;
    kiln_tensor value;
} kiln_named_tensor;

typedef struct kiln_run_options {
    const kiln_named_tensor *in;
    size_t n_in;
    bool fills_random; /* inputs that are not given are seeded random numbers */
    uint64_t seed;
    int n_threads;      /* 0: 1 */
    int64_t *n_rounded; /* values of f32 that became bf16 and changed are added; may be
                           NULL */
} kiln_run_options;

/* Makes it the package of the variant, of the same profile, that takes inputs of these
 * shapes. KILN_ERR_SHAPE lists the shapes that there are. */
kiln_status kiln_opened_choose_for(kiln_arena *a, kiln_opened *p,
                                   const kiln_run_options *o, kiln_err *err);
/* `out`: one tensor for each output, in their order. An input of bf16 may be given as
 * f32, which is rounded to the nearest, and any input by the name of its file
 * (kiln_port_name_of). KILN_ERR_SHAPE lists the inputs
 * that there are, where one is not known, missing, or of another type. */
kiln_status kiln_opened_run(kiln_arena *a, const kiln_opened *p,
                            const kiln_run_options *o, kiln_tensor *out,
                            kiln_device_result *result, kiln_err *err);
/* The file of an input or output: its name, bytes that names of files should not have
 * as %XX, and ".npy"; where that is too long for a file, "%output-INDEX.npy". */
char *kiln_port_file_name(kiln_arena *a, const char *name, size_t index);
/* The name that a file's name (without its ending) stands for; false: none. */
bool kiln_port_name_of(kiln_arena *a, const char *text, const char **out);
/* Floating-point values in another such type; those that changed are added to
 * *n_rounded (may be NULL). */
kiln_tensor kiln_tensor_as(kiln_arena *a, const kiln_tensor *t, kiln_dtype dtype,
                           int64_t *n_rounded);
/* Writes a file for each output, each whole or not at all, and makes the folder where
 * it is not there. bf16, which .npy does not know, is written as f32, exactly. */
kiln_status kiln_outputs_write(kiln_arena *a, const kiln_opened *p,
                               const kiln_tensor *out, const char *dir,
                               const char ***paths, kiln_err *err);

/* ---- verifying ------------------------------------------------------------------- */

typedef struct kiln_verify_options {
    const int *threads; /* each of these */
    int n_threads;
    const char *golden; /* folder of golden.json; NULL: none */
    const char *model;  /* the model it was built from; NULL: the reference is not asked
                           again, its recorded outputs are */
    kiln_fixed_inputs fixed;  /* of the model */
    uint64_t seed;            /* of inputs for the reference */
    const kiln_keyring *keys; /* one of which must have signed it; NULL: none */
    const kiln_device *where; /* runs it; NULL: whoever its profile says, or can */
} kiln_verify_options;

/* Were both built from the same file, for the same shapes? Then their outputs can be
 * compared. */
bool kiln_opened_is_comparable(const kiln_opened *x, const kiln_opened *y);
/* The candidate against another package, the control, whose word is taken: its
 * self-test, and inputs drawn by the seed on which both run. Two checks; nothing that
 * the candidate's archive expects is asked. For comparable packages. */
kiln_status kiln_opened_compare(kiln_arena *a, const kiln_opened *candidate,
                                const kiln_opened *control, int threads, uint64_t seed,
                                kiln_checks *out, kiln_err *err);

/* The archive's integrity, its self-test, the reference and golden cases, at each
 * number of threads. What is wrong with archive or outputs is a failed check; the call
 * fails where nothing can be said: no such file, nobody can run it. */
kiln_status kiln_verify_package(kiln_arena *a, const char *path,
                                const kiln_verify_options *o, kiln_checks *out,
                                kiln_err *err);

#endif
