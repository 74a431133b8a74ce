/* Shared inside of the chooser `search`: steps as nodes of a problem. */
#ifndef KILN_COMPILER_NETWORK_CHOOSER_CHOOSER_SEARCH_INTERNAL_H
#define KILN_COMPILER_NETWORK_CHOOSER_CHOOSER_SEARCH_INTERNAL_H

#include "compiler/network/executable_internal.h"

/* A way to do a step. */
typedef struct kiln_net_way {
    const kiln_net_choice *choice; /* NULL: a view; the rule sees that it is one */
    const kiln_layout *layout;     /* by the site's values */
    double estimate;               /* kiln_work_estimate; 0: free */
    double ns;                     /* of one run: measured, or by the estimate */
    bool is_known;                 /* measured, not estimated */
} kiln_net_way;

/* A step whose layouts are chosen. */
typedef struct kiln_net_site {
    size_t step;              /* of the executable graph, as fuse made it */
    kiln_op_work work;        /* calls; key empty: a view or join */
    const kiln_value **value; /* of its graph: what it reads, then what it makes */
    const int *number;        /* among the survey's values, each */
    int n_read, n_values;
    double runs;                /* as often as its region does it */
    KILN_VEC(kiln_net_way) way; /* the greedy one first */
} kiln_net_site;

/* What is known of bringing a value from one layout into another. */
typedef struct kiln_net_conversion {
    kiln_type from, to;
    const char *workload, *config; /* of the template `convert`; workload NULL: no such
                                      work, or nobody was asked */
    double ns;                     /* of the nearest record; else an estimate */
    bool is_known;
    int distance; /* of the record */
    double calls; /* in rehearsals that an account was made of */
} kiln_net_conversion;

/* The whole graph, or a region of `if` or `scan`. */
typedef struct kiln_net_region {
    const kiln_graph *g;
    int *number;       /* by value id: among the survey's values */
    const int *output; /* by output: as which value it is handed on; NULL: row-major */
    double runs;       /* in one run of the network, at most */
} kiln_net_region;

/* All that is known for a search. */
typedef struct kiln_net_survey {
    kiln_arena *arena; /* of the search */
    kiln_net *n;
    const kiln_net_rehearsal *greedy;
    KILN_VEC(kiln_net_site) site;     /* of the whole graph and of its regions */
    KILN_VEC(kiln_net_region) region; /* the whole is the first */
    /* Each once: not again where a region captures it, or a branch makes it. */
    KILN_VEC(const kiln_value *) value;
    int *site_of; /* by step; -1: none */
    /* Nanoseconds for each that was estimated, where some were measured too; else 1. */
    double scale;
    /* On estimates of what could be measured: less than 1 where somebody asks what to
     * measure, so that what looks a little too dear is tried. */
    double hope;
    kiln_map conversion; /* types -> kiln_net_conversion */
    int n_known;         /* sites whose greedy way was measured */
} kiln_net_survey;

/* Layouts that a value may have beside row-major: channels in blocks of a vector, and
 * of half of one. How many of them; the first is row-major. */
enum { KILN_NET_MAX_PALETTE = 3 };
int kiln_net_palette(const kiln_profile *p, const kiln_type *t,
                     kiln_layout out[KILN_NET_MAX_PALETTE]);

/* The whole graph, before all regions; and that of a block's first step, before any step
 * of it (regions.c). */
void kiln_net_add_whole(kiln_net_survey *s);
void kiln_net_add_region(kiln_net_survey *s, const kiln_net_step *block);
/* Borrowed until the next one is added. */
const kiln_net_region *kiln_net_region_of(const kiln_net_survey *s,
                                          const kiln_graph *g);

/* All sites with all their ways. */
kiln_status kiln_net_survey_make(kiln_net_survey *s, kiln_err *err);
/* Ways of a call; the first is there. */
kiln_status kiln_net_add_ways(kiln_net_survey *s, kiln_net_site *site, kiln_err *err);
/* Of a view or join; the first is there. */
kiln_status kiln_net_add_views(kiln_net_survey *s, kiln_net_site *site, kiln_err *err);

/* Is it work that the tuner measures configurations of: a convolution or product, whose
 * rule is measured whatever is wished for? */
bool kiln_net_is_tuned(const kiln_net_site *site);
/* Or one that it can measure in other layouts, since a configuration says which: a pool. */
bool kiln_net_is_measured(const kiln_net_site *site);

/* Nanoseconds of bringing a value into another layout: of the oracle, else estimated;
 * 0 where nothing is to be done. out: NULL, or for what is known; NULL there: nothing
 * is to be done. */
kiln_status kiln_net_conversion_ns(kiln_net_survey *s, const kiln_type *shape,
                                   const kiln_layout *from, const kiln_layout *to,
                                   kiln_net_conversion **out, double *ns,
                                   kiln_err *err);
/* What a rehearsal comes to: kernels, conversions and copies, as often as they run. */
kiln_status kiln_net_account(kiln_net_survey *s, const kiln_net_rehearsal *r,
                             double *ns, kiln_err *err);

/* The way of each site that is best for all of them together. */
typedef struct kiln_net_solution {
    int *way; /* by site */
    double ns;
    bool is_least;
    int n_nodes, n_options, n_guessed;
} kiln_net_solution;
/* Choices of all steps: greedy's, but for sites whose way is another one. */
const kiln_net_choice **kiln_net_choices_of(kiln_net_survey *s,
                                            const kiln_net_solution *x, int *n_changed);
kiln_status kiln_net_solve(kiln_net_survey *s, kiln_net_solution *out, kiln_err *err);

/* Searches beside greedy's rehearsal, and takes what is expected to be faster. */
kiln_status kiln_net_search(kiln_net *n, const kiln_net_rehearsal *greedy,
                            kiln_err *err);

#endif
