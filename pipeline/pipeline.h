/* pipeline: what its rooms share: a model's graph from its file or the zoo, and its
 * verification against data that nobody here made, by the reference interpreter or by
 * compiled code. The stages of the batch have headers of their own (README.md).
 */
#ifndef KILN_PIPELINE_PIPELINE_H
#define KILN_PIPELINE_PIPELINE_H

#include "base/base.h"
#include "compiler/frontend/frontend.h"
#include "compiler/reference/reference.h"
#include "pipeline/tolerance.h"
#include "compiler/pass/pass.h"

typedef enum kiln_check_outcome {
    KILN_PASSED,
    KILN_FAILED,     /* ran and was wrong, or broke where it should not */
    KILN_UNSUPPORTED /* refused with a named reason: operator, type or feature */
} kiln_check_outcome;

const char *
kiln_check_outcome_name(kiln_check_outcome o); /* "passed", "failed", "unsupported" */

/* One conformance test, or one golden case. */
typedef struct kiln_check {
    const char *name;
    const char
        *group; /* conformance: "class a core", ...; "" when the folder has no index */
    kiln_check_outcome outcome;
    const char *reason; /* one line; "" when passed */
    /* Passed and failed comparisons: the output that was farthest from its expectation.
     */
    double max_abs, max_rel;
    double rms_error, rms_want;
    double of_bound; /* the largest share of its bound that an element took; 0: none of
                        them was held by one */
    int64_t n_held, n_elems; /* elements compared, and of all outputs, by bounds */
    bool elsewhere;          /* by the bounds of another engine's ways
                                (kiln_expect_elsewhere) */
    int64_t time_ms;
} kiln_check;

typedef struct kiln_checks {
    KILN_VEC(kiln_check) list;
    size_t n_passed, n_failed, n_unsupported;
} kiln_checks;

/* Who runs a graph: outputs are made in `a`. */
typedef struct kiln_runner {
    kiln_status (*run)(void *user, kiln_arena *a, const kiln_graph *g,
                       const kiln_tensor *in, size_t n_in, kiln_tensor *out,
                       kiln_err *err);
    void *user;
} kiln_runner;
/* The reference interpreter. */
extern const kiln_runner kiln_runner_reference;

typedef struct kiln_conformance_options {
    const char *filter; /* only tests whose name contains this; NULL: all */
    bool optimize;      /* run the graph passes before the reference */
    bool check_passes;  /* and compare before and after each of them */
    void (*progress)(void *user, const kiln_check *c, size_t done, size_t total);
    void *user;
    const kiln_runner *runner; /* NULL: the reference */
} kiln_conformance_options;
/* One folder of ONNX conformance tests (model.onnx and test_data_set_*, at any depth;
 * index.json where there is one names class and tier), in order of name. Every test
 * ends in an outcome; the call fails only when the folder cannot be read or holds no
 * test. Comparison rule of the ONNX backend test runner: shape and dtype equal, |got -
 * want| <= 1e-7 + 1e-3 * |want|, or as index.json says. */
kiln_status kiln_verify_conformance(kiln_arena *a, const char *dir,
                                    const kiln_conformance_options *o, kiln_checks *out,
                                    kiln_err *err);

/* A model against golden.json in `dir` (inputs by generator or .npy, outputs whole or
 * sampled), every case. Inputs and outputs are found by name, or by position where none
 * of the names is the model's: a twin of another format made them, and where its shapes
 * are the model's with channels last, they are turned. Where the model's states
 * are inputs (kiln_import_options.has_state), a case that gives none begins with what the
 * one before it left, as the runtime did that ran them in this order. runner NULL: the
 * reference.
 *
 * Each element is held to its own bound (pipeline/tolerance.h). Where none is at hand,
 * to kiln_tolerance_network: |got - want| <= 1e-4 * |want| + 1e-4 * rms(output) +
 * 2^-22, which fits f32. The rounding errors of two runtimes grow with depth, about
 * sqrt(layers * k) * 2^-24 of the typical magnitude (1e-5 for the deepest model here).
 * The last term: a float32 sigmoid or softmax is commonly computed relative to 1 (by
 * tanh, or 1 / (1 + e^-x)), so outputs near 0 carry an absolute error of some units of
 * 2^-24. */
kiln_status kiln_verify_golden(kiln_arena *a, const char *model, const char *dir,
                               const kiln_import_options *o,
                               const kiln_pass_options *passes,
                               const kiln_runner *runner, kiln_checks *out,
                               kiln_err *err);

/* A model to work on: a file, or "zoo:NAME", which is what `kiln zoo make NAME` writes.
 */
typedef struct kiln_source {
    const char *name;                  /* "resnet18": of the file, without its ending */
    const char *path;                  /* of the file, as long as the arena lives */
    const char *format;                /* of the file, as frontends.def calls it */
    char sha256[KILN_SHA256_HEX];      /* kiln_source_hash */
    char file_sha256[KILN_SHA256_HEX]; /* of the file alone */
    const kiln_import_data *data;      /* files beside it that were read */
    size_t n_data;
    kiln_graph *imported; /* as the file says: the reference's */
    kiln_graph *graph;    /* after the passes, numbered: the compiler's */
    kiln_cost cost;       /* of the latter */
} kiln_source;
/* The file of a model: of "zoo:NAME" it is written now, and lives as long as `a`. */
kiln_status kiln_source_path(kiln_arena *a, const char *model, const char **path,
                             kiln_err *err);
/* SHA-256 of a model's file. Where it names files beside it for its weights: of the
 * text "<SHA-256 of the file>\n" and "<SHA-256>  <location>\n" for each of them, in
 * order of bytes; "absent" instead of one that is not there. */
kiln_status kiln_source_hash(const char *path, char hex[KILN_SHA256_HEX],
                             kiln_err *err);
/* `o` may be NULL. Where the import fails, `out` holds the hashes alone. `import`
 * leaves out the passes: graph and cost are not there. */
kiln_status kiln_source_import(kiln_arena *a, const char *model,
                               const kiln_import_options *o, kiln_source *out,
                               kiln_err *err);
kiln_status kiln_source_read(kiln_arena *a, const char *model,
                             const kiln_import_options *o, kiln_source *out,
                             kiln_err *err);

/* How far a compiled float network may be from the reference or from another runtime:
 * |got - want| <= relative * |want| + rms * rms(want) + absolute. See
 * kiln_verify_golden for the reasons. */
typedef struct kiln_tolerance {
    double relative, rms, absolute;
} kiln_tolerance;
extern const kiln_tolerance kiln_tolerance_network;
/* kiln_check_compare with that tolerance. */
kiln_status kiln_check_network(kiln_arena *a, kiln_check *check, const char *output,
                               const kiln_tensor *got, const kiln_tensor *want,
                               const kiln_tolerance *tolerance, kiln_err *err);

/* By an output's own bounds; elements whose bound is negative are not compared. */
kiln_status kiln_check_bounded(kiln_arena *a, kiln_check *check, const char *output,
                               const kiln_tensor *got, const kiln_bounded *want,
                               kiln_err *err);

/* An output as it must be: whole, or those of its elements that are compared. */
typedef struct kiln_wanted {
    const char *name;
    kiln_tensor value;  /* with `at`: a list of the elements, which may be empty */
    const int64_t *at;  /* row-major indexes, ascending; NULL: all */
    const float *bound; /* how far each may be off; NULL: by a kiln_tolerance */
} kiln_wanted;
/* By the output's own bounds, or where it has none by `tolerance`. */
kiln_status kiln_check_wanted(kiln_arena *a, kiln_check *check, const kiln_tensor *got,
                              const kiln_wanted *want, const kiln_tolerance *tolerance,
                              kiln_err *err);

/* What a model must give on seeded inputs, by the reference, which runs the graph as it
 * was imported, and how far each element may be off (pipeline/tolerance.h). Elements
 * that hang on rounding are left out. Inputs are drawn by several laws until few hang:
 * uniform numbers of both signs first. Where an output hangs as a whole whatever the
 * inputs are, its list is empty: n_held says so. */
typedef struct kiln_expectation {
    const kiln_tensor *in;
    const kiln_wanted *out;
    size_t n_in, n_out;
    const char *law;        /* of the inputs: "uniform", "normal", ... */
    int64_t n_elems;        /* of all outputs together */
    int64_t n_held, n_weak; /* that have a bound; of a quarter of their size or more */
    /* For comparisons with other engines where no bounds are at hand: what holds all of
     * these elements, a step off at each quantiser included. */
    kiln_tolerance tolerance;
} kiln_expectation;
kiln_status kiln_expectation_of(kiln_arena *a, const kiln_source *s, uint64_t seed,
                                kiln_expectation *out, kiln_err *err);

/* What other engines must give on inputs that a graph has, which may err more than
 * kiln's code (kiln_expect_elsewhere): one for each of its outputs, in their order. */
kiln_status kiln_wanted_elsewhere(kiln_arena *a, const kiln_graph *g,
                                  const kiln_tensor *in, uint64_t seed,
                                  const kiln_wanted **out, kiln_err *err);

/* Who computes golden cases: a graph, a package. */
typedef struct kiln_golden_result {
    const char *const *name; /* of outputs */
    const kiln_tensor *value;
    const kiln_graph *imported; /* its reference gives the bounds, with these outputs;
                                   NULL: the side's tolerance holds */
    size_t n;
    const char *failure; /* it crashed, hung, ...: the case has failed; NULL: it ran */
} kiln_golden_result;
typedef struct kiln_golden_side {
    const char *const *input; /* names, in the model's order: a case may give none */
    const kiln_shape_binding
        *shape; /* of inputs, negative dimensions open; NULL: not known */
    size_t n_inputs;
    bool must_name; /* no: the order is not the model's */
    kiln_tolerance tolerance;
    const char *suffix; /* of the checks' names */
    /* A case that `run` calls KILN_ERR_UNSUPPORTED is a check of that outcome, not an
     * error of the call. */
    bool may_refuse;
    kiln_status (*run)(void *user, kiln_arena *a, const kiln_value_binding *in,
                       size_t n_in, kiln_golden_result *out, kiln_err *err);
    void *user;
} kiln_golden_side;
/* Every case of golden.json in `dir` becomes a check. */
kiln_status kiln_verify_golden_cases(kiln_arena *a, const char *dir,
                                     const kiln_golden_side *side, kiln_checks *out,
                                     kiln_err *err);

/* Compares one output and marks the check failed, with a reason in `a`, where dtype,
 * shape or a value differs; keeps the largest errors seen. */
kiln_status kiln_check_compare(kiln_arena *a, kiln_check *check, const char *output,
                               const kiln_tensor *got, const kiln_tensor *want,
                               double rtol, double atol, kiln_err *err);
/* Output i as `want` has it: the first along one axis only, where the results have an
 * output NAME.count and that says so (docs/bounded-outputs.md). Borrows the value's
 * elements where they lie together, else copies them into `a`. */
kiln_tensor kiln_counted_rows(kiln_arena *a, const char *const *name,
                              const kiln_tensor *value, size_t n, size_t i,
                              const kiln_type *want);
/* The other way: `whole` with its first elements along the axis replaced by `rows`, which
 * came from who gives no more than there are. Rows of another type, or more of them, as
 * they are. */
kiln_tensor kiln_counted_whole(kiln_arena *a, const kiln_tensor *rows, int axis,
                               const kiln_tensor *whole);
/* Appends and counts. */
void kiln_checks_add(kiln_arena *a, kiln_checks *c, const kiln_check *check);
/* JSON: counts in all and by group, then every check. */
void kiln_checks_json(kiln_buf *out, const kiln_checks *c);

#endif
