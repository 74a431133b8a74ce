/* Shared by network_place.c, which goes through the steps, and network_transfer.c, which brings values
 * from one device to another. */
#ifndef KILN_COMPILER_NETWORK_PLACE_INTERNAL_H
#define KILN_COMPILER_NETWORK_PLACE_INTERNAL_H

#include "compiler/network/executable_internal.h"
#include "compiler/network/network_place.h"

/* What a slot holds lies in `at` too, on another device. */
typedef struct kiln_mirror {
    int slot, device, at;
} kiln_mirror;

typedef struct kiln_placer {
    kiln_net *n; /* whose steps are made anew, of these: */
    const kiln_net_step *from;
    size_t n_from;
    int *device;                  /* of each */
    int *at;                      /* where each is among the new steps */
    int now;                      /* the one in hand */
    KILN_VEC(kiln_mirror) mirror; /* that are as their slots at this point */
    KILN_VEC(kiln_mirror) param;  /* of constants: always */
    KILN_VEC(kiln_net_step) open[KILN_NET_MAX_DEVICES];
} kiln_placer;

/* Whose memory the slot is in. */
int kiln_placer_home(const kiln_placer *p, int slot);
/* A slot of the same type in that device's memory, without what it holds. */
int kiln_placer_like(kiln_placer *p, int slot, int device);
/* A slot of the device's with what that slot holds: itself, a copy that is there, or
 * one that is made now. */
int kiln_placer_bring(kiln_placer *p, int slot, int device);
/* The same, where it is there already; -1: it is not. */
int kiln_placer_find(const kiln_placer *p, int slot, int device);
/* A step that moves all of one slot to another. */
void kiln_placer_copy(kiln_placer *p, int from, int to);
/* What `made`, a slot of the device's, holds goes to where the slot is. */
void kiln_placer_hand_on(kiln_placer *p, int made, int slot, int device);
/* The slot is written: what was a mirror of it is none. */
void kiln_placer_forget(kiln_placer *p, int slot);
/* Do steps [begin, end) of those that there were write to it, or to a part? */
bool kiln_placer_is_written(const kiln_placer *p, int slot, int begin, int end);

#endif
