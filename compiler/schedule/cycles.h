/* How many cycles a loop nest takes, from the machine model (kiln_core, caches) alone:
 * the last resort of whoever must compare schedules that nobody measured. It orders
 * schedules; what it says of one is a guess.
 *
 * A nest is loops around a body of straight vector code. Five things can bound it:
 *
 *   core    runs x the slowest of: multiply-adds / ports; the longest chain of sums x
 *           latency; loads / ports; stores / ports; one cycle
 *   l2      bytes that come from the L2 cache / its rate
 *   l3      bytes that come from the L3 cache / its rate
 *   memory  bytes that come from memory / its rate
 *
 * Bytes that pass a cache of C bytes: with d the outermost loop whose whole run, and
 * all inside it, touches at most C, each run of d brings what it touches, but not what
 * the runs before and behind it in the loop around touch as well (LRU with one reuse
 * distance for a loop: what one iteration of that loop touches). What lies in no cache
 * at first comes from memory once, what was computed before is in the nearest cache
 * that holds it. What is written back is waited for by nobody: it counts where all cores
 * share a rate. The parts overlap but for a share of the smaller ones.
 *
 * Of a program, sums wait for themselves only from one turn of a loop to the next: what
 * is added up in one body overlaps with the bodies behind it. A function counts as
 * multiply-adds.
 *
 * shapes  none: bytes and iterations are doubles
 * units   cycles of one core
 * memory  values only; of a program, scratch
 * source  Execution-cache-memory model: Stengel, Treibig, Hager and Wellein, ICS 2015;
 *         traffic by footprints of loops: Wolf and Lam, PLDI 1991; blocks of a
 *         product: Low, Igual, Smith and Quintana-Orti, ACM TOMS 43(2), 2016 */
#ifndef KILN_COMPILER_SCHEDULE_CYCLES_H
#define KILN_COMPILER_SCHEDULE_CYCLES_H

#include "compiler/loop/loop.h"
#include "compiler/target/target.h"

enum { KILN_CYCLES_LOOPS = 40, KILN_CYCLES_STREAMS = 16 };

/* What a body reads or writes of one place in memory. */
typedef struct kiln_cycles_stream {
    /* [d]: while the loops of depth >= d run; [n_loops]: in one run of the body. */
    double bytes[KILN_CYCLES_LOOPS + 1];
    bool is_cold;    /* in no cache at first: weights */
    bool is_written; /* what leaves a cache goes both ways */
    /* Bytes that were touched since a statement before this one touched it, in the same
     * run of the loops around both; 0: none did. What a cache holds of that long is in
     * it. */
    double again;
} kiln_cycles_stream;

typedef struct kiln_cycles_nest {
    int n_loops;
    double extent[KILN_CYCLES_LOOPS]; /* outermost first */
    int n_streams;
    kiln_cycles_stream stream[KILN_CYCLES_STREAMS];
    /* Of one run of the body; vectors. */
    double muladds, loads, stores;
    double chains; /* sums that do not wait for each other; 0: no sums */
    double entry;  /* cycles of a run of the innermost loop beside its iterations */
    double share;  /* of the runs that guards let through */
    /* Iterations that threads share; 0: none do. */
    double parallel;
} kiln_cycles_nest;

typedef struct kiln_cycles {
    double core, l2, l3, memory; /* each by itself */
    double all;                  /* together: at least the largest */
} kiln_cycles;

/* As so many threads run it, 1 to the profile's cores: of the one with most to do. */
kiln_cycles kiln_cycles_of_nest(const kiln_profile *p, const kiln_cycles_nest *nest,
                                int threads);
/* Of the statements of a lowered program, one after another. `is_cold`: by argument;
 * NULL: none is. Programs that were not lowered are asserted against. */
kiln_cycles kiln_cycles_of_program(kiln_arena *scratch, const kiln_profile *p,
                                   const kiln_program *program, const bool *is_cold,
                                   int threads);

#endif
