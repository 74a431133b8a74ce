/* How bytes go to a worker and back, and how one is ended.
 *
 * Who speaks to it knows descriptors to wait for, an end, and a name for messages; not whether
 * there is a process of its own behind them or a connection to somebody else's.
 */
#ifndef KILN_PIPELINE_MEASURE_WIRE_TRANSPORT_H
#define KILN_PIPELINE_MEASURE_WIRE_TRANSPORT_H

#include "base/base.h"

#include <sys/types.h>

/* How it was over with a worker, as far as that can be told from here. */
typedef enum kiln_transport_end_kind {
    KILN_TRANSPORT_EXIT,   /* it ended by itself: `code` is its exit code */
    KILN_TRANSPORT_SIGNAL, /* of the signal `code` */
    KILN_TRANSPORT_GONE    /* nobody knows: it does not answer any more */
} kiln_transport_end_kind;

typedef struct kiln_transport_end {
    kiln_transport_end_kind kind;
    int code;
    bool by_itself; /* a child that had ended before it was killed */
    char text[200]; /* "exit code 3", "signal 9 (Killed)" */
} kiln_transport_end;

typedef struct kiln_transport kiln_transport;

typedef struct kiln_transport_def {
    const char *name; /* in the log: "child" */
    /* Fills in what is there while it is open. Never waits: who does not answer shows
     * by what can be read. */
    kiln_status (*open)(kiln_transport *t, kiln_err *err);
    /* As write(2). */
    ssize_t (*send)(kiln_transport *t, const void *p, size_t bytes);
    /* Ends the worker, as far as it is ours, and closes everything. has_closed: its
     * side did so first, and it is about to end by itself. */
    void (*end)(kiln_transport *t, bool has_closed, kiln_transport_end *how);
    /* It comes back by itself, perhaps: worth another try in a while. Else one that
     * does not start a few times in a row never will. */
    bool is_far;
    /* Of one elsewhere: how its addresses begin, NULL behind the last, and whether one is
     * whole: what can be known without asking anybody. */
    const char *const *begins;
    kiln_status (*check)(const char *address, kiln_err *err);
} kiln_transport_def;

#define KILN_TRANSPORT(name)                                                           \
    extern const kiln_transport_def kiln_transport_##name##_def;
#include "pipeline/measure/wire/transports.def"
#undef KILN_TRANSPORT

struct kiln_transport {
    const kiln_transport_def *def;
    const char *called; /* in messages: "the runner"; borrowed */
    /* Of a child: */
    const char *const *argv; /* borrowed */
    kiln_cpus cpus;
    int shared; /* memory, as of kiln_child_start; -1: none, as it is at first */
    kiln_child child;
    /* Of a socket: */
    const char *address;          /* borrowed; see wire/address.h, transport_curve.c */
    struct kiln_curve_link *link; /* what is behind it; NULL: nothing */
    /* While it is open; not blocking. -1: there is none. */
    int out; /* what is to be sent may go when this one can be written to */
    int in;  /* what it says */
    int log; /* what it writes for people */
};

/* A process of our own, spoken to by its standard input and output. It is killed, with
 * all that it started, and when this one dies. Who closes the log meanwhile sets it to
 * -1. */
void kiln_transport_child(kiln_transport *t, const char *const *argv,
                          const kiln_cpus *cpus, const char *called);

/* A connection to a worker that listens: by the row of transports.def that such addresses
 * begin like. It is not ours to kill: it notices the end of the connection. KILN_ERR_ARG:
 * there is no such row. */
kiln_status kiln_transport_check(const char *address, kiln_err *err);
/* The address was checked. */
void kiln_transport_elsewhere(kiln_transport *t, const char *address,
                              const char *called);

#endif
