/* A graph compiled and run in one of many ways, and held against the reference; in a
 * child process, so that crashes, broken invariants and hangs are results as others
 * are. */
#ifndef KILN_TESTS_SUPPORT_GRAPH_GRAPH_CHECK_H
#define KILN_TESTS_SUPPORT_GRAPH_GRAPH_CHECK_H

#include "compiler/target/target.h"
#include "tests/support/graph/graph_values.h"

/* How it is compiled. */
typedef struct graph_way {
    const char *profile; /* a shipped one's name; a GPU's comes beside this machine */
    bool is_strict, is_fused, is_optimized;
    bool random_configs; /* any configuration of any template that fits */
    bool random_layouts; /* of values that no template lays out */
    bool is_searched;    /* with random configurations: at random costs, several each */
    const char *chooser; /* who chooses, where nothing is searched; NULL: the usual */
    uint64_t seed;       /* of what is random */
} graph_way;

typedef enum graph_outcome {
    GRAPH_RIGHT,
    GRAPH_WRONG,
    GRAPH_REFUSED,
    GRAPH_BROKEN, /* it stopped, crashed or took too long */
    GRAPH_N_OUTCOMES
} graph_outcome;
const char *graph_outcome_name(graph_outcome o);

enum { GRAPH_TEXT = 1024 };
typedef struct graph_verdict {
    graph_outcome outcome;
    char text[GRAPH_TEXT];         /* but for right ones: what, and where */
    int64_t n_compared, n_loose;   /* elements */
    int64_t n_runs, n_conversions; /* sessions; steps between layouts */
    double worst;                  /* of what is allowed */
} graph_verdict;

/* Shipped profiles that this machine runs; NULL past the end. */
const char *graph_profile_at(int i);
/* "x86-avx2 strict fused optimized configs=17 layouts=17" */
const char *graph_way_text(kiln_arena *a, const graph_way *w);

/* Compiles a copy of the graph and runs it on one thread and two, on other inputs
 * first, in poisoned memory. All values that are inputs or outputs must be known. */
void graph_check(const kiln_graph *g, graph_values *known, const graph_way *w,
                 graph_verdict *out);

/* Calls fn(arg) in a child of its own, for limit_s seconds at most; what it writes to
 * *out comes back. */
void graph_in_child(void (*fn)(void *arg, graph_verdict *out), void *arg, int limit_s,
                    graph_verdict *out);

#endif
