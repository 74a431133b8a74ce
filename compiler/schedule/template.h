/* Templates: from a workload and a configuration to a schedule (AutoTVM, NIPS'18,
 * section 2; NeoCPU, ATC'19, section 3.1).
 *
 * A workload is a fused group as a small graph with one anchor (the operator that
 * decides, such as a convolution) and element-wise operators behind it. A template
 * declares knobs for it (the space), and applies a configuration: it chooses layouts,
 * builds the tensor expressions (kiln_graph_compute), and schedules them.
 *
 * Adding a template: one file in a family of template/ and one row in templates.def;
 * docs/new-template.md.
 */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_H

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "compiler/tensor/compute.h"

/* How many parts of y elements x elements are cut into, the last of what is left; y > 0. */
static inline int64_t kiln_ceil_div(int64_t x, int64_t y) {
    return x / y + (x % y != 0);
}

/* ---- workloads ------------------------------------------------------------------ */

typedef struct kiln_workload {
    const kiln_graph *graph; /* typed; layouts that the template takes; no regions */
    const kiln_node *anchor; /* the one node that is not injective; the last node where
                                all are */
} kiln_workload;

/* KILN_ERR_UNSUPPORTED: an operator without compute, more than one that is not
 * injective, or no node at all. */
kiln_status kiln_workload_of(const kiln_graph *g, kiln_workload *out, kiln_err *err);
/* Canonical text: equal for equal work whatever names, order of nodes and dead nodes
 * its graph has; the anchor alone, or with what is fused to it (DESIGN, section 6).
 * Constants count by type, not by value; attributes that have their row's default are
 * left out, values are numbered by first appearance, a node's results behind its
 * arguments:
 *
 *   conv{pads=[1,1,1,1]}(%0: f32[1,8,56,56], %1: const f32[8,8,3,3]); relu(%2) -> %3 */
void kiln_workload_key(kiln_buf *out, const kiln_workload *w, bool anchor_only);
/* The graph of a whole key, with zeros for constants. KILN_ERR_PARSE: no such key, or
 * one that would be written in another way today; KILN_ERR_UNSUPPORTED: an operator
 * that is not there, or with several results. */
kiln_status kiln_workload_read(kiln_arena *a, kiln_str key, kiln_graph **out,
                               kiln_err *err);

/* ---- spaces and configurations --------------------------------------------------- */

enum { KILN_MAX_KNOBS = 24, KILN_KNOB_MAX_PARTS = 6 };

/* One choice of a template: one of n options, each `n_parts` integers (a split's
 * factors, outermost first; otherwise one), or a word. */
typedef struct kiln_knob {
    const char *name; /* "oc_block" */
    const char *doc;
    int n, n_parts;
    const int64_t *value;    /* n * n_parts; NULL for words */
    const char *const *word; /* n words; NULL for integers */
    bool is_later; /* configurations without it are older, and have its first option */
} kiln_knob;

typedef struct kiln_space {
    kiln_arena *arena;
    int n;
    kiln_knob knob[KILN_MAX_KNOBS];
    uint64_t size; /* product of the options; at most 2^62 */
} kiln_space;

/* A point of a space: an option for each knob. The index is its number, the first knob
 * fastest. */
typedef struct kiln_config {
    int n;
    int16_t option[KILN_MAX_KNOBS];
} kiln_config;

void kiln_space_init(kiln_space *s, kiln_arena *a);
/* Each adds a knob and returns its number; values are copied, name, doc and words are
 * borrowed. KILN_MAX_KNOBS, INT16_MAX options and the size of the space are asserted.
 */
int kiln_space_add_ints(kiln_space *s, const char *name, const char *doc,
                        const int64_t *value, int n);
int kiln_space_add_words(kiln_space *s, const char *name, const char *doc,
                         const char *const *word, int n);
/* A template that has grown by a knob keeps its records: the first option is what it did
 * before. */
void kiln_space_is_later(kiln_space *s, int knob);
/* Those of ascending values that are below `extent`, and the first that is not: larger
 * ones would mean the same. */
int kiln_space_add_up_to(kiln_space *s, const char *name, const char *doc,
                         const int64_t *value, int n, int64_t extent);
/* Sizes of equal parts of an extent, ascending: extent / k rounded up for k up to 64,
 * then halved down to 1. */
int kiln_space_add_parts(kiln_space *s, const char *name, const char *doc,
                         int64_t extent);
/* n options of n_parts integers each. */
int kiln_space_add_tuples(kiln_space *s, const char *name, const char *doc,
                          const int64_t *value, int n, int n_parts);

kiln_config kiln_config_at(const kiln_space *s, uint64_t index);
uint64_t kiln_config_index(const kiln_space *s, const kiln_config *c);
kiln_config kiln_config_random(const kiln_space *s, kiln_rng *rng);
/* Another option for one knob that has several: in half of all cases a neighbour of
 * what it has, else any. The same point where every knob has one option. */
kiln_config kiln_config_neighbour(const kiln_space *s, const kiln_config *c,
                                  kiln_rng *rng);
/* Each knob from x or from y. */
kiln_config kiln_config_cross(const kiln_space *s, const kiln_config *x,
                              const kiln_config *y, kiln_rng *rng);
/* What the configuration chose: part p of knob k; the word. */
int64_t kiln_config_int(const kiln_space *s, const kiln_config *c, int k, int p);
const char *kiln_config_word(const kiln_space *s, const kiln_config *c, int k);
bool kiln_config_is(const kiln_space *s, const kiln_config *c, int k, const char *word);
/* Chooses the option with this value; where there is none, the one with the largest
 * product among those that are in no part above it; else the smallest. The word must be
 * one of the knob's. For templates' guesses. */
void kiln_config_set(const kiln_space *s, kiln_config *c, int k, const int64_t *value);
void kiln_config_set_word(const kiln_space *s, kiln_config *c, int k, const char *word);
/* {"template": "conv_direct", "oc_block": 16, "ow_tile": [14, 1]}: names in the
 * template's order. Parsing refuses another template's name, knobs that are not there
 * or missing, and values that are no option, listing those that are (KILN_ERR_ARG);
 * "template" itself may be absent. */
typedef struct kiln_template kiln_template;
void kiln_config_json(kiln_buf *out, const kiln_template *t, const kiln_space *s,
                      const kiln_config *c);
/* The same into a document that is being written. */
void kiln_config_put(kiln_json_writer *w, const kiln_template *t, const kiln_space *s,
                     const kiln_config *c);
/* One option as JSON would have it: 16, [14, 1], "inner". */
void kiln_knob_put_option(kiln_json_writer *w, const kiln_knob *knob, int option);
void kiln_knob_option_text(kiln_buf *out, const kiln_knob *knob, int option);
kiln_status kiln_config_parse(const kiln_json *json, const kiln_template *t,
                              const kiln_space *s, kiln_config *out, kiln_err *err);

/* ---- templates ------------------------------------------------------------------- */

/* A scheduled workload: everything that lowering needs. Argument i of the kernel is the
 * graph value te.arg_value[i] in te.arg_type[i]'s layout: callers convert activations
 * (or choose a neighbour's layout) and pack constants ahead. */
typedef struct kiln_scheduled {
    kiln_te_graph te;
    kiln_schedule *schedule;
    kiln_loop_options loop;
} kiln_scheduled;

/* In what layouts a template takes what its kernels read. Who makes a network gives
 * none that is not taken: a template that knows nothing of blocks must not see any. */
enum { KILN_MAX_LAYOUT_KNOBS = 2 };
typedef enum kiln_takes {
    KILN_TAKES_PLAIN, /* row-major values only, whatever lies in memory is converted */
    KILN_TAKES_ANY,   /* as their types say: it reads by logical indexes */
    /* It lays out every value itself: how inputs lie is a hint for its guess, and what
     * differs from its choice is converted. */
    KILN_TAKES_ITS_OWN
} kiln_takes;

struct kiln_template {
    const char *name;
    const char *doc;
    kiln_takes takes;
    /* Names of those knobs of integers that say how activations lie, blocks of channels
     * of one each: no other knob does. Ends in NULL; NULL: none, or it takes what it is
     * given. At most KILN_MAX_LAYOUT_KNOBS. */
    const char *const *layout_knobs;
    kiln_target_kind target; /* that its schedules are for; CPUs where none is said */
    /* Can it take this workload, on this target? Asked by kiln_template_fits alone. */
    bool (*fits)(const kiln_workload *w, const kiln_profile *p);
    /* Is it the better choice for what it fits, by rule? NULL: it is. Where it is not,
     * those that come later are asked; by its name it can be had all the same. */
    bool (*pays)(const kiln_workload *w, const kiln_profile *p);
    kiln_status (*space)(const kiln_workload *w, const kiln_profile *p, kiln_space *out,
                         kiln_err *err);
    /* A good configuration without a search: by rule, from shapes and profile. */
    kiln_config (*guess)(const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s);
    /* KILN_ERR_ARG: a combination that makes no schedule (named); never a wrong one.
     * Called by kiln_template_apply alone. */
    kiln_status (*apply)(kiln_arena *a, const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s, const kiln_config *c, kiln_scheduled *out,
                         kiln_err *err);
    /* Factor on the anchor's error bound (op.h) that the configuration's algorithm
     * asks for; NULL: 1. Strict numerics take no other. */
    double (*amplification)(const kiln_workload *w, const kiln_space *s,
                            const kiln_config *c);
    /* The part of the workload's multiply-adds that the configuration's algorithm does;
     * NULL: all. */
    double (*share)(const kiln_workload *w, const kiln_space *s, const kiln_config *c);
    /* The least that `share` can say of any workload; 0: all. No kernel can be faster
     * than these at the machine's peak. */
    double least_share;
};
/* ---- packings -------------------------------------------------------------------- */

/* Constants are packed by programs like any other: the packing's operator is a workload
 * of its own, of which some template makes a schedule, and whoever packs (a build, a
 * model that is opened, a runner that measures) runs that program. */
#define KILN_PACKING(name) extern const kiln_op_def kiln_packing_##name;
#include "compiler/schedule/packings.def"
#undef KILN_PACKING
const kiln_op_def *kiln_packing_at(int i); /* NULL past the end */
const kiln_op_def *kiln_packing_find(kiln_str name);

/* ---- making ---------------------------------------------------------------------- */

/* Is its kind of target the profile's, and does it take the workload? */
bool kiln_template_fits(const kiln_template *t, const kiln_workload *w,
                        const kiln_profile *p);
/* t->apply, held to what a template promises: KILN_ERR_BUG where the workload's layouts
 * are none that it takes, or where what it made reads or writes an argument in another
 * shape, dtype, size or order of elements than it says. All kernels are made by this.
 */
kiln_status kiln_template_apply(kiln_arena *a, const kiln_template *t,
                                const kiln_workload *w, const kiln_profile *p,
                                const kiln_space *s, const kiln_config *c,
                                kiln_scheduled *out, kiln_err *err);
double kiln_template_amplification(const kiln_template *t, const kiln_workload *w,
                                   const kiln_space *s, const kiln_config *c);
double kiln_template_share(const kiln_template *t, const kiln_workload *w,
                           const kiln_space *s, const kiln_config *c);

#define KILN_TEMPLATE(name) extern const kiln_template kiln_template_##name;
#include "compiler/schedule/templates.def"
#undef KILN_TEMPLATE
const kiln_template *kiln_template_at(int i); /* best first; NULL past the end */
const kiln_template *kiln_template_find(kiln_str name);
/* The first that fits and pays; the generic one fits everything that has a compute. */
const kiln_template *kiln_template_for(const kiln_workload *w, const kiln_profile *p);

/* Lowers and runs every loop pass: what features are read from and code is made of. The
 * program refers to the schedule's arena where it changed nothing. */
kiln_status kiln_scheduled_program(kiln_arena *a, const kiln_scheduled *s,
                                   const char *name, kiln_program **out, kiln_err *err);

#endif
