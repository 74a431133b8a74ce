/* pipeline/bench: how fast is a whole network, of what the machine could do?
 *
 *     kiln_subject s;                  what is measured: a network in a process of its
 *                                      own, with what is known of its steps and right
 *                                      outputs
 *     kiln_net_bench b;                samples at each number of threads
 *
 * Runs are taken in turns with slices of the multiply-add peak at the same number of
 * threads, so that what disturbs one disturbs the other. Nothing is timed that was not
 * held against the reference first.
 */
#ifndef KILN_PIPELINE_BENCH_H
#define KILN_PIPELINE_BENCH_H

#include "pipeline/baselines/baselines_rivals.h"
#include "pipeline/kernels/kernels.h"
#include "pipeline/package/package.h"
#include "pipeline/pipeline.h"
#include "pipeline/remote/remote.h"

/* ---- what is measured ------------------------------------------------------------ */

/* What is known of the plan's steps. */
typedef struct kiln_subject_step {
    const char *name, *op;
    const char *tmpl, *origin; /* of the kernel, as the coverage ledger has it; NULL:
                                  none, a copy */
    const char *epilogue;      /* "bias, add, relu"; "": none; NULL: not known */
    const char *layout_in, *layout_out; /* "NCHW16c"; NULL: none, or not known */
    kiln_cost cost;
} kiln_subject_step;

typedef struct kiln_subject {
    const char *name;
    /* Of the model, for baselines, and its format as frontends.def calls it; NULL: a
     * package alone. */
    const char *file, *format;
    /* The file as it was imported, whose outputs are `want`, in this order; NULL where
     * file is. */
    const kiln_graph *imported;
    /* Inputs of the file that are none of the model's: borrowed. */
    const kiln_value_binding *fixed;
    size_t n_fixed;
    const kiln_profile *profile;
    kiln_remote *remote; /* the network, in a process of its own */
    /* Where that is; NULL: here. */
    const kiln_machine *machine;
    kiln_cost cost;
    const kiln_subject_step *step;
    int n_steps, n_conversions; /* of layouts, among them; of a package: 0 */
    /* Bytes. */
    int64_t arena, lower_bound, params, workspace, scratch;
    int64_t packed; /* of the model: parameters that were packed when it was opened */
    double open_ms; /* that opening a package took; 0: it is none */
    const kiln_tensor *in; /* one for each input */
    const kiln_wanted *want;
    size_t n_want;
    kiln_tolerance tolerance;
    /* What it was compiled from and became, for kiln_subject_again; NULL: a package. */
    const kiln_source *source;
    const kiln_network *network;
} kiln_subject;

/* Imports the model, compiles it for the profile, opens it in another process until the
 * arena is reset, and asks the reference for its outputs on seeded inputs. choose NULL:
 * guesses; where NULL: that process is here.
 * KILN_ERR_UNSUPPORTED where the machine cannot run the profile's code. */
kiln_status kiln_subject_of_model(kiln_arena *a, const char *model,
                                  const kiln_import_options *o,
                                  const kiln_profile *profile,
                                  const kiln_choose_options *choose, uint64_t seed,
                                  const kiln_remote_options *where, kiln_subject *out,
                                  kiln_err *err);

/* The model of `s`, compiled by another choice: of the same inputs and right outputs, in
 * the process of `s` where it becomes the very same network. `s` is borrowed until the
 * arena is reset. */
kiln_status kiln_subject_again(kiln_arena *a, const kiln_subject *s,
                               const kiln_choose_options *choose,
                               const kiln_remote_options *where, kiln_subject *out,
                               kiln_err *err);

/* A source that was read, by other options of the compiler, held against what is expected
 * of it. All are borrowed until the arena is reset. */
kiln_status kiln_subject_of_source(kiln_arena *a, const kiln_source *source,
                                   const kiln_expectation *e,
                                   const kiln_profile *profile,
                                   const kiln_network_options *o, kiln_subject *out,
                                   kiln_err *err);

/* A package: its archive is verified and held in memory, opened in another process; right
 * outputs are its self-test's. KILN_ERR_UNSUPPORTED where it runs in an emulator only.
 * model NULL: nothing is beside it; else the model that it was built from
 * (kiln_package_source), which baselines run on the self-test's inputs. */
kiln_status kiln_subject_of_package(kiln_arena *a, const char *path, const char *model,
                                    const kiln_fixed_inputs *fixed, kiln_subject *out,
                                    kiln_err *err);
/* The same of an archive that one of these keys must have signed (NULL: none need). */
kiln_status kiln_subject_of_signed(kiln_arena *a, const char *path,
                                   const kiln_keyring *keys,
                                   const kiln_remote_options *where, const char *model,
                                   const kiln_fixed_inputs *fixed, kiln_subject *out,
                                   kiln_err *err);

/* Runs it once in a session (kiln_remote_session) and compares. */
kiln_status kiln_subject_check(kiln_arena *a, const kiln_subject *s, int session,
                               kiln_check *check, kiln_err *err);
/* Compares what the session's last run left. */
kiln_status kiln_subject_compare(kiln_arena *a, const kiln_subject *s, int session,
                                 kiln_check *check, kiln_err *err);

/* ---- percentiles ----------------------------------------------------------------- */

enum { KILN_N_PERCENTILES = 5 };
typedef struct kiln_percentiles {
    size_t n; /* samples */
    double mean, min, max;
    /* In the order of kiln_percentile_name; NaN where no sample lies above: so few
     * samples say nothing of it. */
    double at[KILN_N_PERCENTILES];
} kiln_percentiles;
const char *kiln_percentile_name(int i); /* "p50", "p90", "p95", "p99", "p99.9" */
/* By the nearest rank: each is one of the samples. Sorts v; n > 0. */
kiln_percentiles kiln_percentiles_of(double *v, size_t n);

/* ---- samples --------------------------------------------------------------------- */

/* One number of threads. */
typedef struct kiln_net_side {
    int threads;
    const kiln_subject *subject;    /* the network that ran */
    int64_t runs;                   /* of each sample: short networks run more often */
    kiln_sample_list sample;        /* in the order they were taken */
    KILN_VEC(kiln_peak) round_peak; /* of the slice before each */
    /* Of the samples that were not disturbed, of all where they are fewer than seven.
     */
    size_t n_disturbed;
    double min_ms, q1_ms, median_ms, q3_ms;
    kiln_percentiles percentiles; /* ms of the same samples */
    double gflops, peak_share;    /* of multiply-adds */
    kiln_peak peak;               /* medians */
    size_t session_bytes;
    const double *step_ms; /* median of each step, NULL: not asked for */
    double steps_run_ms;   /* of the runs that they were timed in, median */
    kiln_rival_list rival; /* on the same inputs in the same rounds */
} kiln_net_side;

typedef struct kiln_net_bench {
    const kiln_subject *subject; /* of the first number of threads */
    KILN_VEC(kiln_net_side) side;
    kiln_check check; /* worst of all numbers of threads */
    kiln_machine machine;
    double bandwidth_gbs; /* of copying, by all of its cores; 0: not measured */
    bool is_interrupted;  /* fewer rounds than asked for */
} kiln_net_bench;

typedef struct kiln_net_bench_options {
    const int *threads; /* each at least 1 */
    int n_threads;
    /* The network of each number of threads, all of one model (kiln_subject_again); NULL:
     * one does for all. */
    const kiln_subject *each;
    int rounds;
    bool steps;     /* measure each step too */
    bool bandwidth; /* and how fast the machine copies, once, behind everything else */
    /* To compare with: a list that ends in NULL; NULL: none. They run the subject's
     * file: KILN_ERR_ARG where it has none. */
    const kiln_baseline *const *baseline;
    const char *baselines_dir;  /* where their wheels are */
    int64_t baselines_limit_ms; /* of each answer; 0: as the adapters have it */
    void (*progress)(void *user, int done, int total);
    void *user;
} kiln_net_bench_options;

/* `s`: o->each[0], where there is one. A wrong output is a failed check in `out` and no
 * number. KILN_ERR_INTERRUPTED: before the first round. */
kiln_status kiln_net_bench_run(kiln_arena *a, const kiln_subject *s,
                               const kiln_net_bench_options *o, kiln_net_bench *out,
                               kiln_err *err);
void kiln_net_bench_text(kiln_buf *out, const kiln_net_bench *b);
/* Was each baseline measured that was asked for? */
bool kiln_net_bench_is_compared(const kiln_net_bench *b);
/* docs/bench-json.md */
void kiln_net_bench_json(kiln_buf *out, const kiln_net_bench *b);

/* ---- load ------------------------------------------------------------------------ */

enum { KILN_LOAD_SLICES = 20, KILN_LOAD_MAX_INSTANCES = 256 };

/* Several sessions of one model, each of so many threads, each running again and again
 * for the same time. */
typedef struct kiln_load_side {
    int instances, threads;
    double seconds; /* that were counted */
    bool is_cut;    /* fewer than asked for: no more runs are kept than fit in memory */
    /* Runs that ended in time, of all instances, in each of the slices of equal length.
     */
    int64_t runs, slice[KILN_LOAD_SLICES];
    /* Runs per second, with a 95% bootstrap interval over the slices. */
    double per_s, low, high;
    kiln_percentiles ms; /* of every run that was begun in time: wall time, nothing left
                            out */
    size_t session_bytes; /* of each instance */
} kiln_load_side;

typedef struct kiln_load {
    const kiln_subject *subject;
    KILN_VEC(kiln_load_side) side;
    /* Worst of all instances, before the runs and of what the last ones left. */
    kiln_check check;
    kiln_machine machine;
    bool is_interrupted;
} kiln_load;

typedef struct kiln_load_options {
    const int *threads, *instances; /* lists: each pair is measured */
    int n_threads, n_instances;
    const kiln_subject *each; /* as of kiln_net_bench_options */
    double seconds;           /* of each pair */
    void (*progress)(void *user, double done_s, double total_s);
    void *user;
} kiln_load_options;

/* A wrong output is a failed check in `out`, and the last number. */
kiln_status kiln_load_run(kiln_arena *a, const kiln_subject *s,
                          const kiln_load_options *o, kiln_load *out, kiln_err *err);
void kiln_load_text(kiln_buf *out, const kiln_load *l);
/* docs/bench-json.md */
void kiln_load_json(kiln_buf *out, const kiln_load *l);

#endif
