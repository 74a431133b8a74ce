/* Inside pipeline/machine: what is timed, by whom, and what it says. */
#ifndef KILN_PIPELINE_MACHINE_INTERNAL_H
#define KILN_PIPELINE_MACHINE_INTERNAL_H

#include "compiler/codegen/codegen.h"
#include "pipeline/machine/machine.h"
#include "runtime/facts.h"

typedef enum kiln_machine_probe_kind {
    KILN_PROBE_FMA,     /* independent chains: ports */
    KILN_PROBE_LATENCY, /* one chain */
    KILN_PROBE_READ,    /* a stream of vectors, again and again */
    KILN_PROBE_LOAD,    /* the same of so little that it lies in L1 whoever is near */
    KILN_PROBE_WRITE,
    KILN_PROBE_CHASE /* loads whose addresses the last one gave */
} kiln_machine_probe_kind;

/* One kernel and how it is called. */
typedef struct kiln_machine_probe {
    kiln_machine_probe_kind kind;
    int level;      /* 0, 1, 2: L1, L2, L3; 3: memory */
    int64_t bytes;  /* that it walks over: each thread its own */
    int64_t window; /* that one call walks over; the next call goes on behind it */
    int threads;    /* that run it at once */
    int calls;      /* of one slice */
    double units;   /* of one call: multiply-adds, bytes or steps */
    kiln_object code;
    const char *name;
} kiln_machine_probe;
enum { KILN_MAX_PROBES = 32, KILN_PROBE_LEVELS = 4 };

/* The chain that counts cycles, {i64[3]} to {i64[1]}. */
typedef struct kiln_machine_probes {
    int n;
    kiln_machine_probe probe[KILN_MAX_PROBES];
    kiln_object chain;
    const char *chain_name;
    double chain_cycles; /* of one call */
} kiln_machine_probes;

/* What is to be timed on a machine of that kind; code only where `compiles`. */
kiln_status kiln_machine_probes_make(kiln_arena *a, const kiln_profile *p,
                                     bool compiles, kiln_machine_probes *out,
                                     kiln_err *err);

/* What the slices of one probe say. */
typedef struct kiln_machine_reading {
    double cycles; /* of a unit, the best */
    double spread; /* median over best, less 1 */
    double clock_ghz;
    int slices, disturbed;
} kiln_machine_reading;

/* Who times: a child's clocks, or a test's made-up machine. */
typedef struct kiln_machine_meter {
    /* One slice of the probe behind one of the chain: nanoseconds of a unit, and of a
     * cycle. *disturbed: others had the processor meanwhile. */
    void (*slice)(void *cx, const kiln_machine_probe *p, double *unit_ns,
                  double *cycle_ns, bool *disturbed);
    /* Around all slices of a probe; may be NULL. */
    bool (*begin)(void *cx, const kiln_machine_probe *p);
    void (*end)(void *cx, const kiln_machine_probe *p);
    void *cx;
} kiln_machine_meter;

/* Of each probe. A probe that cannot begin (no memory) has no slices. */
void kiln_machine_sample(const kiln_machine_meter *m, const kiln_machine_probes *p,
                         kiln_machine_reading *out);
/* The core that the readings are of. KILN_ERR_IO says what cannot be. */
kiln_status kiln_machine_core(const kiln_profile *p, const kiln_machine_probes *probes,
                              const kiln_machine_reading *r, kiln_core *out,
                              kiln_err *err);
/* Samples in a child process. */
kiln_status kiln_machine_child(const kiln_machine_probes *p, kiln_machine_reading *out,
                               kiln_err *err);

/* The profile of a GPU that says this of itself, or why there is none. */
void kiln_machine_gpu_of(kiln_arena *a, const kiln_gpu_facts *f, kiln_machine_gpu *out);

#endif
