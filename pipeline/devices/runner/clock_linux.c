/* The processor's clock, as a program sees it: additions and exclusive ors that wait
 * for one another, one cycle each where the compiler optimises. What is asked is not
 * how fast the clock is, but whether it was the same in all processes that are
 * compared. */
#include <time.h>

#include "pipeline/devices/runner/runner.h"

enum { STEPS = 1 << 16, SLICES = 5 };

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double run_clock_ghz(void) {
    /* Volatile: nothing is known of them when this is compiled, and the result is
     * used. */
    static volatile uint64_t given[] = {1, 0x1234567, 0x7654321};
    const uint64_t v = given[1], w = given[2];
    double least = 1;
    for (int slice = 0; slice < SLICES; slice++) {
        const double begin = seconds();
        uint64_t c = given[0];
        for (int i = 0; i < STEPS; i++)
            c = (c + v) ^ w;
        given[0] = c;
        const double took = seconds() - begin;
        least = took < least ? took : least; /* who was interrupted was slower */
    }
    return 2e-9 * STEPS / least;
}
