/* Shared by network_prove.c (records) and prove_values.c (what slots hold). */
#ifndef KILN_PIPELINE_NETWORK_PROVE_INTERNAL_H
#define KILN_PIPELINE_NETWORK_PROVE_INTERNAL_H

#include "pipeline/network/network.h"
#include "pipeline/network/network_prove.h"
#include "compiler/reference/reference.h"

/* What a slot holds at this point of the run. */
typedef struct kiln_prover_slot {
    kiln_arena arena;  /* of value */
    kiln_tensor value; /* row-major */
    bool has_value;
    bool is_lost;    /* written by iterations that were not seen */
    bool is_derived; /* of other slots, by what it means */
    uint64_t at;     /* when it was written, or derived */
    int last;        /* the last step that may ask for it */
} kiln_prover_slot;

struct kiln_prover {
    kiln_arena *arena;
    kiln_arena scratch; /* of the step in hand */
    const kiln_network *n;
    const kiln_net *net;
    kiln_network_proof *proof;
    uint64_t seed, clock;
    int step;
    int branch; /* the IF that was read last; -1: something came after it */
    bool is_taken, is_expected;
    kiln_expected *want; /* of the step in hand, by output */
    int n_want;
    bool *is_seen; /* by step */
    kiln_prover_slot *slot;
};

void kiln_prover_problem(kiln_prover *p, const char *text);

/* The inputs' values, and when each slot is asked for last. */
void kiln_prover_begin(kiln_prover *p, const kiln_tensor *in);
void kiln_prover_release(kiln_prover *p);
/* What the slot must hold, by the graph: as it was written, or computed by the
 * reference from what it means. *is_known false: nobody saw it made. */
kiln_status kiln_prover_value(kiln_prover *p, int slot, kiln_tensor *out,
                              bool *is_known, kiln_err *err);
/* A copy is kept. */
void kiln_prover_put(kiln_prover *p, int slot, const kiln_tensor *value);
/* Element t of what a loop stacks. */
void kiln_prover_put_element(kiln_prover *p, int slot, const kiln_tensor *value,
                             int64_t t);
/* What a step that moves writes. */
kiln_status kiln_prover_moved(kiln_prover *p, const kiln_net_step *s, int64_t iteration,
                              kiln_tensor *out, kiln_err *err);
/* Element t of a sequence's bytes, as large as `part`. */
kiln_tensor kiln_prover_element(kiln_prover *p, const void *data, int part, int64_t t);
/* What steps of a loop have written is not known any more. */
void kiln_prover_lose(kiln_prover *p, int begin, int end);
/* Releases what nobody asks for from this step on. */
void kiln_prover_forget(kiln_prover *p, int step);

#endif
