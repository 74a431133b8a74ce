/* pipeline/kernels: kernels by themselves. An operator (or a fused group) is described,
 * compiled with a template and a configuration, called on random arguments, held
 * against the reference, and measured beside the machine's own limits.
 *
 *     kiln_op_lines lines;                     text: what to measure (docs/ops-file.md)
 *     kiln_op_work work;                       its graph and workload
 *     kiln_kernel kernel;                      code for one configuration of it
 *     kiln_call call;                          arguments, guarded and poisoned
 *     kiln_verdict verdict;                    was the output right?
 *     kiln_timing timing;                      how long did it take, of what peak?
 */
#ifndef KILN_PIPELINE_KERNELS_H
#define KILN_PIPELINE_KERNELS_H

#include "compiler/codegen/codegen.h"
#include "compiler/reference/reference.h"
#include "compiler/schedule/template.h"
#include "pipeline/baselines/rivals.h"
#include "runtime/loader.h"
#include "runtime/pool.h"

/* ---- what: operators as text ----------------------------------------------------- */

/* One line of an ops file: not yet looked at but for its name. */
typedef struct kiln_op_line {
    const char *name;
    const char *text;  /* the whole line */
    const char *where; /* "file:line" for messages */
} kiln_op_line;

typedef struct kiln_op_lines {
    KILN_VEC(kiln_op_line) list;
} kiln_op_lines;

/* `source`: the name of a list that ships (kiln_op_list_at) or a file's path. Refuses
 * two lines of one name, and files without any. */
kiln_status kiln_op_lines_read(kiln_arena *a, const char *source, kiln_op_lines *out,
                               kiln_err *err);
/* A single line, as --op takes it. */
kiln_status kiln_op_line_of(kiln_arena *a, const char *text, kiln_op_line *out,
                            kiln_err *err);
const char *kiln_op_list_at(int i); /* "resnet18", ...; NULL past the end */

/* A workload made of a line; its weights are random. */
typedef struct kiln_op_work {
    const char *name;
    kiln_graph *graph;
    kiln_workload workload;
    kiln_cost cost; /* of the whole graph */
    kiln_str key;   /* kiln_workload_key, whole and of the anchor alone */
    kiln_str anchor;
} kiln_op_work;
kiln_status kiln_op_work_make(kiln_arena *a, const kiln_op_line *line,
                              kiln_op_work *out, kiln_err *err);
/* The same of a graph that is there already (typed, one group); both are borrowed. */
kiln_status kiln_op_work_of(kiln_arena *a, const char *name, kiln_graph *g,
                            kiln_op_work *out, kiln_err *err);

/* ---- how: template and configuration ----------------------------------------------
 */

/* Where a configuration came from. */
typedef enum kiln_origin {
    KILN_ORIGIN_FILE,        /* --config-file */
    KILN_ORIGIN_TUNED,       /* searched for this very work, on such a machine */
    KILN_ORIGIN_TIMED,       /* measured for it, and nothing else was: no search */
    KILN_ORIGIN_TRANSFERRED, /* measured for work like it, or on a relative */
    KILN_ORIGIN_PREDICTED,   /* a cost model likes it best */
    KILN_ORIGIN_GUESS        /* the template's own rule */
} kiln_origin;
const char *kiln_origin_name(kiln_origin o);

typedef struct kiln_choice {
    const kiln_template *tmpl;
    kiln_space space;
    kiln_config config;
    kiln_origin origin;
    int n_tried; /* configurations measured for this very work; 0: none, or not known */
} kiln_choice;

/* Who knows better than rules: a tuning database. What it says is about a workload
 * whose values are row-major; a network where a configuration makes no schedule of the
 * layouts that its values have takes the template's rule, with that origin. */
typedef struct kiln_advice {
    const char *tmpl; /* NULL: none */
    const kiln_json *config;
    kiln_origin origin;
    int n_tried; /* as a choice's */
} kiln_advice;
typedef struct kiln_adviser {
    kiln_status (*ask)(void *user, kiln_arena *a, const kiln_op_work *w,
                       const kiln_profile *p, kiln_advice *out, kiln_err *err);
    void *user;
} kiln_adviser;

typedef struct kiln_choose_options {
    const char *tmpl;      /* a template's name; NULL: the first that fits */
    const kiln_json *file; /* [{"op": NAME or key, "profile": NAME (may be absent),
                              "template": NAME, "config": {...}}, ...]; NULL: none */
    bool *is_used; /* of each entry: set where a work took it; NULL: nobody asks */
    const kiln_adviser *adviser; /* NULL: none */
} kiln_choose_options;

/* The first entry for the work in the file, else what the adviser says, else the
 * template's guess. KILN_ERR_ARG: a template that does not exist
 * or does not fit (which would, is listed), an entry that the template refuses;
 * KILN_ERR_UNSUPPORTED: no template fits. */
kiln_status kiln_choose(kiln_arena *a, const kiln_op_work *w, const kiln_profile *p,
                        const kiln_choose_options *o, kiln_choice *out, kiln_err *err);
/* KILN_ERR_PARSE where the document is not such a list. */
kiln_status kiln_config_file_check(const kiln_json *file, const char *path,
                                   kiln_err *err);
/* A line for each entry that no work took: most likely a slip. How many there are. */
size_t kiln_config_file_unused(kiln_buf *out, const kiln_choose_options *o);

/* ---- code ------------------------------------------------------------------------ */

typedef struct kiln_kernel {
    const kiln_op_work *work;
    kiln_choice choice;
    kiln_scheduled scheduled;
    kiln_program *program;
    kiln_object object;
    kiln_codegen_text text; /* assembly; IR where asked for */
    kiln_kernel_fn *fn;     /* after kiln_kernel_load */
    int64_t lower_ns, codegen_ns;
} kiln_kernel;

kiln_status kiln_kernel_make(kiln_arena *a, const kiln_op_work *w,
                             const kiln_choice *choice, const kiln_profile *p,
                             kiln_kernel *out, kiln_err *err);
/* The same, but text.assembly is the object's listing: half the time, and no comments.
 */
kiln_status kiln_kernel_make_listed(kiln_arena *a, const kiln_op_work *w,
                                    const kiln_choice *choice, const kiln_profile *p,
                                    kiln_kernel *out, kiln_err *err);
/* Makes it callable, until the arena is reset. KILN_ERR_UNSUPPORTED where this machine
 * cannot run the profile's code. */
kiln_status kiln_kernel_load(kiln_arena *a, const kiln_profile *p, kiln_kernel *k,
                             kiln_err *err);

/* What the innermost loops hold that do the work: those with multiply-adds, or where
 * there is none, with vector memory accesses, or any. */
typedef struct kiln_hot_loops {
    kiln_asm_loop *loop; /* all innermost loops, in order of the text */
    size_t n;
    const kiln_asm_loop *hot; /* the one with most multiply-adds (then instructions);
                                 NULL: no loop */
    int spills;               /* of all loops with multiply-adds */
    int vector_registers;     /* different ones named in the hot loop */
} kiln_hot_loops;
kiln_status kiln_kernel_loops(kiln_arena *a, const kiln_kernel *k,
                              const kiln_profile *p, kiln_hot_loops *out,
                              kiln_err *err);

/* ---- threads --------------------------------------------------------------------- */

/* Who runs kernels. Zeroed: the caller alone. */
typedef struct kiln_team {
    kiln_pool *pool; /* closed with the arena; NULL: parallel loops run in place */
    kiln_cpus cpus;  /* of who opened it, before a pool pinned it */
} kiln_team;
/* n >= 1 threads, each on a CPU of its own where there are so many. */
kiln_status kiln_team_open(kiln_arena *a, int n, kiln_team *out, kiln_err *err);
int kiln_team_size(kiln_team t);

/* ---- calls ----------------------------------------------------------------------- */

typedef struct kiln_guarded {
    unsigned char *whole, *data; /* data: page-aligned, canaries on both sides */
    size_t bytes;
} kiln_guarded;

typedef struct kiln_call {
    const kiln_kernel *kernel;
    kiln_tensor *plain; /* row-major, by graph value id; inputs and constants */
    kiln_guarded *arg;  /* the kernel's arguments, packed */
    kiln_guarded workspace;
    kiln_guarded *scratch; /* of each thread */
    void **tensor, **scratch_data;
    kiln_args args;
    kiln_team team;
} kiln_call;

/* Random inputs by `seed`; outputs, workspace and scratch are poisoned (NaN). */
kiln_status kiln_call_new(kiln_arena *a, const kiln_kernel *k, kiln_team team,
                          uint64_t seed, kiln_call *out, kiln_err *err);
/* Poisons everything that the kernel may write, again. */
void kiln_call_poison(kiln_call *c);
int kiln_call_run(kiln_call *c); /* the kernel's result: 0 is good */

typedef struct kiln_verdict {
    bool ok;
    const char *problem; /* "" when ok */
    double worst;        /* largest |got - want| / bound; 0 where all are equal */
    double max_abs;      /* largest |got - want| */
    int64_t n_checked, n_elems;
} kiln_verdict;
/* Runs the kernel once on poisoned memory and compares with the reference: all elements
 * where that is cheap, else corners, edges and 4096 random ones. Wrong is a verdict,
 * not an error; KILN_ERR_UNSUPPORTED: a graph whose bound is not known. */
kiln_status kiln_call_check(kiln_arena *a, kiln_call *c, uint64_t seed,
                            kiln_verdict *out, kiln_err *err);

/* Holds one output, row-major, against what it must be; adds to the verdict. */
void kiln_expected_compare(kiln_arena *a, const kiln_expected *want,
                           const kiln_tensor *got, const char *name, kiln_verdict *out);
/* Of a kernel's algorithm. */
double kiln_choice_amplification(const kiln_choice *c);

/* ---- the machine's limits -------------------------------------------------------- */

enum { KILN_N_LEVELS = 4 }; /* L1, L2, L3, memory */

/* Kernels that measure the machine, made by kiln's own code generator; each thread of
 * the team runs them by itself, and what they reach counts together. */
typedef struct kiln_meter {
    const kiln_profile *profile;
    kiln_team team;
    void ***fma_args, ***chain_args; /* by thread */
    kiln_kernel_fn *fma, *chain, *copy[KILN_N_LEVELS], *read[KILN_N_LEVELS];
    double fma_flops, chain_steps; /* of one call */
    int64_t copy_bytes[KILN_N_LEVELS], read_bytes[KILN_N_LEVELS];
    double level_gbs[KILN_N_LEVELS]; /* 0: not measured yet */
    double lanes;                    /* f32 in a vector */
    double fma_unit;                 /* what multiply-adds per cycle come in */
    double fma_per_cycle;            /* vector multiply-adds: a whole number */
} kiln_meter;

/* KILN_ERR_UNSUPPORTED where this machine cannot run the profile's code. */
kiln_status kiln_meter_new(kiln_arena *a, const kiln_profile *p, kiln_team team,
                           kiln_meter *out, kiln_err *err);
/* The kernels of the peak as objects, for processes without a compiler. */
typedef struct kiln_meter_code {
    kiln_object fma, chain;
    const char *fma_name, *chain_name;
    double fma_flops, chain_steps; /* of one call */
    double lanes;                  /* f32 in a vector */
    double fma_unit;               /* multiply-adds per cycle come in multiples of it */
} kiln_meter_code;
/* fma takes {f32[1], f32[1], f32[chains * lanes]}, chain {i64[3], i64[1]}. */
kiln_status kiln_meter_code_make(kiln_arena *a, const kiln_profile *p,
                                 kiln_meter_code *out, kiln_err *err);
typedef struct kiln_peak {
    double measured_gflops, clock_ghz;
    double fma_per_cycle;
    double gflops; /* the larger of measured and by clock */
} kiln_peak;
/* As documents have it. */
kiln_results_peak kiln_peak_results(const kiln_peak *p, int threads);
/* One slice of less than a millisecond: interleave it with what is measured. */
kiln_peak kiln_meter_slice(const kiln_meter *m);
/* Best of several slices. */
kiln_peak kiln_meter_best(const kiln_meter *m, int slices);
/* GB/s of the level that holds `bytes` (caches of each core hold a thread's part), the
 * larger of copying (bytes read and written)
 * and of reading alone; measured once for each level. */
double kiln_meter_bandwidth(kiln_meter *m, int64_t bytes, const char **level);
const char *kiln_level_name(int level);

/* ---- time ------------------------------------------------------------------------ */

/* Two clocks of the calling thread: what passed, and what it got of the processor; and
 * how often somebody took a processor away from this process. */
typedef struct kiln_watch {
    int64_t wall_ns, cpu_ns, preempted;
} kiln_watch;
kiln_watch kiln_watch_now(void);
/* Nanoseconds since `begin` of work by so many threads, by the rule that baselines have
 * too (kiln_baseline_ms). *disturbed (may be NULL): others had a processor meanwhile.
 */
double kiln_watch_ns(const kiln_watch *begin, int threads, bool *disturbed);

typedef struct kiln_timing {
    size_t n_slices;
    size_t n_disturbed; /* of them: others had the processor for a part. They count only
                           where fewer than seven are left */
    int64_t n_runs;
    double min_ms, q1_ms, median_ms, q3_ms;
    kiln_peak peak;     /* medians of the slices between */
    double gflops, gbs; /* at the median */
    double peak_share;  /* median over pairs of neighbouring slices */
    double roofline_ms; /* what peak and bandwidth allow */
    const char *bound;  /* "compute", "L1", "L2", "L3" or "memory" */
} kiln_timing;
kiln_status kiln_call_time(kiln_arena *a, kiln_call *c, kiln_meter *m, double seconds,
                           kiln_timing *out, kiln_err *err);

/* ---- beside vendor libraries ------------------------------------------------------
 */

/* A baseline's operators together. */
typedef struct kiln_op_standing {
    const kiln_baseline *baseline;
    const char *version; /* NULL: absent, or nobody could tell */
    size_t n_measured;
    kiln_stats_interval ratio; /* geometric mean, where something was measured */
} kiln_op_standing;

/* ---- reports --------------------------------------------------------------------- */

/* One operator's result. */
typedef struct kiln_bench_row {
    const char *name, *line; /* line: as in the ops file */
    const char *key;         /* the workload's; NULL: not that far */
    kiln_choice choice;      /* tmpl NULL: not that far */
    const char *refusal;     /* why it was not measured; NULL: it was */
    kiln_verdict verdict;
    kiln_timing timing;
    kiln_cost cost;
    int n_loops, spills, vector_registers, hot_instructions, hot_fma;
    double lower_ms, codegen_ms;
    size_t code_bytes, workspace_bytes, scratch_bytes;
    kiln_spread spread; /* of the work on two threads */
    /* One for each baseline asked for, and kiln's own samples in the order of rounds;
     * both are empty where nothing was measured. */
    kiln_rival_list rival;
    kiln_sample_list sample;
} kiln_bench_row;

typedef struct kiln_bench {
    const kiln_profile *profile;
    kiln_peak peak;                  /* best slices, before anything else */
    double level_gbs[KILN_N_LEVELS]; /* as far as measured, else 0 */
    int threads;
    KILN_VEC(kiln_bench_row) row;
    size_t n_wrong, n_refused;
    double mean_share; /* geometric, of what was measured; 0: nothing was */
    KILN_VEC(kiln_op_standing) standing; /* one for each baseline asked for */
    bool is_interrupted;                 /* not all lines were measured */
} kiln_bench;

typedef struct kiln_bench_options {
    const char *filter; /* only names that contain it; NULL: all */
    int threads;        /* 0 counts as 1 */
    double seconds;     /* for timing each */
    uint64_t seed;
    kiln_choose_options choose;
    /* To compare with: a list that ends in NULL, all of operators; NULL: none. */
    const kiln_baseline *const *baseline;
    int64_t baselines_limit_ms; /* of each answer; 0: as the adapters have it */
    void (*progress)(void *user, const char *name, size_t done, size_t total);
    void *user;
} kiln_bench_options;

/* Measures each line. What cannot be made is a row with a refusal; a wrong output is a
 * row with a verdict; wrong usage (KILN_ERR_ARG: a configuration that the template
 * refuses) fails the call, as does a filter that leaves nothing. An interrupt
 * (kiln_interrupted) ends measuring; what was measured stays. */
kiln_status kiln_bench_run(kiln_arena *a, const kiln_op_lines *lines,
                           const kiln_profile *p, const kiln_bench_options *o,
                           kiln_bench *out, kiln_err *err);
/* Was each baseline measured that was asked for? */
bool kiln_bench_is_compared(const kiln_bench *b);
void kiln_bench_text(kiln_buf *out, const kiln_bench *b);
/* docs/bench-ops-json.md */
void kiln_bench_json(kiln_buf *out, const kiln_bench *b);

/* What `kiln explain` shows of one operator. */
typedef enum kiln_explain_stage {
    KILN_EXPLAIN_SUMMARY,
    KILN_EXPLAIN_KNOBS,
    KILN_EXPLAIN_EXPRESSION,
    KILN_EXPLAIN_SCHEDULE,
    KILN_EXPLAIN_LOWERED,  /* the program before the loop passes */
    KILN_EXPLAIN_PROGRAM,  /* and after them */
    KILN_EXPLAIN_ASSEMBLY, /* hot loops */
    KILN_N_EXPLAIN_STAGES
} kiln_explain_stage;
const char *kiln_explain_stage_name(kiln_explain_stage s);
/* Appends the texts of the stages asked for (bits 1 << stage) to `text`, and each as a
 * member of the object that `json` is in: the summary as an object like a row of
 * kiln_bench_json, the knobs as a list, the others as texts. The summary holds the
 * kernel against the reference and times it, where this machine can run it; *is_wrong:
 * its output was. */
kiln_status kiln_explain(kiln_arena *a, const kiln_op_line *line, const kiln_profile *p,
                         const kiln_choose_options *choose, unsigned stages,
                         kiln_buf *text, kiln_json_writer *json, bool *is_wrong,
                         kiln_err *err);

#endif
