/* How work is done: which template, which configuration, and who says so. */
#ifndef KILN_COMPILER_NETWORK_NETWORK_CHOOSE_H
#define KILN_COMPILER_NETWORK_NETWORK_CHOOSE_H

#include "compiler/network/network_work.h"

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

/* One way to do work, as somebody knows it: a template, in one pair of layouts, and its
 * best configuration. */
typedef struct kiln_answer {
    const char *tmpl;
    const kiln_json *config;
    const char *layouts; /* kiln_work_layouts with this configuration; NULL: not said */
    kiln_origin origin;
    int n_tried; /* as a choice's */
    double ns;   /* what one call costs; 0: not known, but take it */
    /* How far the work that it was measured for is from this one, on such a machine; 0:
     * it is this one. Costs compare between equal distances only. */
    int distance;
    /* The same measured by itself, where `ns` is from between a network's steps: ways
     * that never were in a network compare with this. 0: not known. */
    double alone_ns;
    int alone_distance;
} kiln_answer;
typedef KILN_VEC(kiln_answer) kiln_answers;

/* Who knows better than rules: a table of costs, such as a tuning database. What it
 * says is about a workload whose values are row-major; a network where a configuration
 * makes no schedule of the layouts that its values have takes the template's rule, with
 * that origin. */
typedef struct kiln_oracle {
    /* Appends what is known, in any order; nothing where nothing is. Memory in `a`, or
     * longer-lived. */
    kiln_status (*ask)(void *user, kiln_arena *a, const kiln_op_work *w,
                       const kiln_profile *p, kiln_answers *out, kiln_err *err);
    void *user;
} kiln_oracle;

/* The layouts that a configuration takes and makes activations in, as a text to
 * compare: constants are packed as each likes. NULL: the template refuses it. */
const char *kiln_work_layouts(kiln_arena *a, const kiln_workload *w,
                              const kiln_profile *p, const kiln_template *t,
                              const kiln_space *s, const kiln_config *c);

typedef struct kiln_choose_options {
    const char *tmpl;      /* a template's name; NULL: the first that fits */
    const kiln_json *file; /* [{"op": NAME or key, "profile": NAME (may be absent),
                              "template": NAME, "config": {...}}, ...]; NULL: none */
    bool *is_used; /* of each entry: set where a work took it; NULL: nobody asks */
    const kiln_oracle *oracle; /* NULL: none */
} kiln_choose_options;

/* The first entry for the work in the file; else what the oracle knows to be cheapest,
 * of those ways whose layouts are those of their template's own rule, so that
 * neighbours agree; else the rule of the first template that fits and pays. What is
 * known decides alone, whatever order templates have. Greedy: neighbours' conversions
 * have no part in it. KILN_ERR_ARG: a template that does not exist or does not fit
 * (which would, is listed), an entry that the template refuses; KILN_ERR_UNSUPPORTED:
 * no template fits. */
kiln_status kiln_choose(kiln_arena *a, const kiln_op_work *w, const kiln_profile *p,
                        const kiln_choose_options *o, kiln_choice *out, kiln_err *err);
/* KILN_ERR_PARSE where the document is not such a list. */
kiln_status kiln_config_file_check(const kiln_json *file, const char *path,
                                   kiln_err *err);
/* A line for each entry that no work took: most likely a slip. How many there are. */
size_t kiln_config_file_unused(kiln_buf *out, const kiln_choose_options *o);
/* Factor on the error bound, of the algorithm that was chosen. */
double kiln_choice_amplification(const kiln_op_work *w, const kiln_choice *c);

#endif
