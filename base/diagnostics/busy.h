/* Who had the processors between two moments: what disturbs a measurement has a name.
 *
 *     const kiln_busy *before = kiln_busy_now(arena, NULL);
 *     ... measure ...
 *     kiln_busy_between(arena, before, kiln_busy_now(arena, NULL), getpid(), &report);
 */
#ifndef KILN_BASE_BUSY_H
#define KILN_BASE_BUSY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/core.h"

/* What all processes had used by a moment. */
typedef struct kiln_busy kiln_busy;
/* proc: a folder like /proc; NULL: that. In `a`; NULL where nothing can be read. */
const kiln_busy *kiln_busy_now(kiln_arena *a, const char *proc);

enum { KILN_BUSY_MOST = 4 };

typedef struct kiln_busy_row {
    const char *name;  /* of the program, as the system has it; printable */
    int n;             /* processes of that name */
    double processors; /* that they had, on average: 1 is one of them, all the time */
} kiln_busy_row;

typedef struct kiln_busy_report {
    double seconds, processors; /* between the moments; that there are; 0: not known */
    double taken;               /* by all others together, the hypervisor included */
    double hypervisor;          /* that the machine below this one gave to others */
    double unseen; /* by what had ended, or runs outside of this container */
    size_t n;
    kiln_busy_row row[KILN_BUSY_MOST]; /* the greatest first, above a hundredth */
} kiln_busy_report;

/* All but `own` and what it started. Zeros where one of both is NULL. Names in `a`. */
void kiln_busy_between(kiln_arena *a, const kiln_busy *before, const kiln_busy *after,
                       int64_t own, kiln_busy_report *out);
/* "others took 1.7 of 2 processors: stress-ng 0.9 (2 processes), clang 0.5"; NULL: less
 * than a hundredth of one, or nothing is known. */
const char *kiln_busy_text(kiln_arena *a, const kiln_busy_report *r);

#endif
