/* Clock and temperature behind a slice (heat.c), and what the last cache holds
 * (last_cache.c). Inside pipeline/measure/runner. */
#ifndef KILN_PIPELINE_MEASURE_RUNNER_HEAT_H
#define KILN_PIPELINE_MEASURE_RUNNER_HEAT_H

#include <stdbool.h>
#include <stdint.h>

/* The warmest place of the machine, in degrees; 0: it does not say. */
uint32_t kiln_heat_degrees(void);

typedef struct kiln_heat {
    int cpu;
    uint32_t coolers; /* of the processor: a bit each */
    bool has_clock, has_zones;
    long n_throttled; /* times, as the processor counts */
} kiln_heat;
typedef struct kiln_heat_reading {
    uint32_t clock_mhz, degrees; /* 0: the machine does not say */
    bool is_throttled; /* the system, or the processor, holds its clock back */
} kiln_heat_reading;
void kiln_heat_begin(kiln_heat *h, int cpu); /* cpu below 0: any; the first is asked */
/* Now, and for is_throttled since the last reading. */
kiln_heat_reading kiln_heat_read(kiln_heat *h);

/* Of what one CPU reads through (-1: any), in bytes; 0: the system does not say. */
uint64_t kiln_last_cache_bytes(int32_t cpu);

#endif
