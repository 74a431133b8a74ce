/* Inside pipeline/pool: who has which device, and what is done about one that hangs.
 *
 * A state machine: events and the time go in, actions come out. It has no socket, no
 * clock and no process, so that tests give it days of kills and hangs in a second.
 *
 *     kiln_core_device_up(c, now, device);          what happened
 *     kiln_core_tick(c, now);                       the clock
 *     while (kiln_core_next(c, &action)) ...        what is to be done about it
 *
 * Shares: an owner is one tuner or bench, with a priority. Its *account* grows by the time
 * that it has devices, divided by the priority. A free device goes to the owner whose
 * account would be lowest with it; an owner who is new, or comes back, starts at the
 * lowest account of those who have one. Who waits while another's account is higher by
 * half a slice gets a device that the other gives back when its candidate is done
 * (start-time fair queueing: Goyal, Vin, Cheng, SIGCOMM 1996; here for devices that are
 * not preempted).
 *
 * The ladder, for a device that owes an answer, or is not heard of at all: soft time-out
 * (it is asked after), its child is killed (the lease ends; the borrower is told, and
 * hands the candidate out anew), its server is restarted and the board power-cycled by
 * commands of who runs the pool, quarantine. A greeting at any step ends it. */
#ifndef KILN_PIPELINE_POOL_POOL_CORE_H
#define KILN_PIPELINE_POOL_POOL_CORE_H

#include "base/base.h"

enum {
    KILN_LENDER_MAX_DEVICES = 64,
    KILN_LENDER_MAX_REQUESTS = 256, /* waiting, or lent something */
    KILN_LENDER_MAX_PRIORITY = 100,
    KILN_LENDER_NAME = 160,
    KILN_LENDER_WHY = 160,
    KILN_LENDER_NOTES = 64
};

typedef enum kiln_lender_state {
    KILN_LENDER_ABSENT,  /* no such device */
    KILN_LENDER_JOINING, /* its greeting is awaited */
    KILN_LENDER_FREE,
    KILN_LENDER_LENT,
    KILN_LENDER_COOLING,     /* free, but too warm to be lent */
    KILN_LENDER_QUARANTINED, /* nothing helped */
    KILN_LENDER_N_STATES
} kiln_lender_state;
const char *kiln_lender_state_name(kiln_lender_state s);

typedef enum kiln_lender_rung {
    KILN_LENDER_WELL,
    KILN_LENDER_SOFT,   /* it owes something for long: asked after */
    KILN_LENDER_CHILD,  /* what runs there was killed */
    KILN_LENDER_SERVER, /* its server is being restarted, */
    KILN_LENDER_POWER,  /* the board power-cycled */
    KILN_LENDER_OUT,
    KILN_LENDER_N_RUNGS
} kiln_lender_rung;
const char *kiln_lender_rung_name(kiln_lender_rung r);

/* Milliseconds. */
typedef struct kiln_lender_limits {
    int64_t slice_ms;         /* a device is not recalled sooner */
    int64_t recall_ms;        /* who was asked for it gives it back within this */
    int64_t beat_ms;          /* a server that was not heard of for so long is out */
    int64_t soft_ms, hard_ms; /* an answer that is owed for so long */
    int64_t greet_ms;         /* a greeting comes within this, */
    int64_t server_ms;        /* after a restart of its server, */
    int64_t power_ms;         /* after a power cycle */
    int64_t pardon_ms;   /* one that hung again and again is tried every so often, */
    int64_t absent_ms;   /* and one that nobody saw */
    int64_t borrower_ms; /* who has a device is heard of within this */
    int strikes;         /* hangs without an answer between: quarantine at once */
    bool has_server, has_power; /* is there a command to do it by? */
    int cool_above, cool_below; /* degrees; 0: however warm it is */
} kiln_lender_limits;
kiln_lender_limits kiln_lender_limits_default(void);

typedef enum kiln_lender_todo {
    KILN_LENDER_DO_RESET,  /* end what runs on the device, and have it greet anew */
    KILN_LENDER_DO_CLOSE,  /* end what runs on it, no more */
    KILN_LENDER_DO_LEND,   /* the device to the request */
    KILN_LENDER_DO_RECALL, /* ask the request's borrower for it */
    KILN_LENDER_DO_CUT, /* the request's device is gone: tell its borrower, hang up */
    KILN_LENDER_DO_ASK, /* is anybody there? */
    KILN_LENDER_DO_RESTART, /* by the user's commands */
    KILN_LENDER_DO_POWER
} kiln_lender_todo;

typedef struct kiln_lender_action {
    kiln_lender_todo todo;
    int device, request;       /* -1: none */
    bool is_hung;              /* CUT: it owed an answer and gave none */
    char why[KILN_LENDER_WHY]; /* CUT: for people */
} kiln_lender_action;

typedef struct kiln_lender_device {
    kiln_lender_state state;
    kiln_lender_rung rung;
    char name[KILN_LENDER_NAME];
    int request;           /* LENT: whose it is; else -1 */
    int64_t since_ms;      /* in this state */
    int64_t heard_ms;      /* of the server */
    int64_t owes_ms;       /* since when an answer is owed; -1: none is */
    int64_t patience;      /* for that one, in place of hard_ms; 0: hard_ms */
    int64_t end_ms;        /* JOINING: then the next step; QUARANTINED: then a try */
    int64_t retry_ms;      /* JOINING: it is tried again; -1: a try is under way */
    int64_t lent_total_ms; /* and for the time that it is lent now since since_ms */
    int n_tries, strikes;
    uint64_t n_loans, n_hangs, n_losses;
    int temperature; /* degrees; 0: not known */
} kiln_lender_device;

typedef enum kiln_lender_request_state {
    KILN_LENDER_NOBODY,
    KILN_LENDER_WAITING,
    KILN_LENDER_HOLDING
} kiln_lender_request_state;

typedef struct kiln_lender_request {
    kiln_lender_request_state state;
    int owner;  /* index */
    int client; /* as it was given: what the caller knows it by */
    int device; /* HOLDING */
    int64_t since_ms, heard_ms;
    int64_t keeps_ms;    /* it is not recalled sooner, as far as slices allow */
    int64_t recalled_ms; /* HOLDING: it was asked to give it back; -1: it was not */
    bool has_recall;     /* WAITING: somebody was asked for the sake of this one */
    uint64_t number;     /* in the order in which they came */
} kiln_lender_request;

typedef struct kiln_lender_owner {
    char name[KILN_LENDER_NAME]; /* "": free */
    int priority;
    int n_held, n_waiting;
    double account_ms;
    double total_ms; /* of devices, ever */
} kiln_lender_owner;

typedef struct kiln_lender_note {
    int64_t ms;
    int device; /* -1: none */
    char text[KILN_LENDER_WHY];
} kiln_lender_note;

/* Does a device do for a client's request? Asked often, in any order. */
typedef bool kiln_lender_fits_fn(void *user, int client, int device);

typedef struct kiln_lender_core {
    kiln_lender_limits limits;
    kiln_lender_fits_fn *fits;
    void *user;
    kiln_lender_device device[KILN_LENDER_MAX_DEVICES];
    kiln_lender_request request[KILN_LENDER_MAX_REQUESTS];
    kiln_lender_owner owner[KILN_LENDER_MAX_REQUESTS];
    int n_devices; /* of which some may be absent */
    int64_t settled_ms;
    double served_ms; /* the lowest account of who has something; it never falls */
    uint64_t n_requests;
    kiln_lender_note note[KILN_LENDER_NOTES]; /* a ring */
    uint64_t n_notes;
    kiln_arena arena; /* of: */
    KILN_VEC(kiln_lender_action) todo;
    size_t todo_first;
} kiln_lender_core;

void kiln_core_init(kiln_lender_core *c, const kiln_lender_limits *limits,
                    kiln_lender_fits_fn *fits, void *user, int64_t now);
void kiln_core_fini(kiln_lender_core *c);

/* ---- events ------------------------------------------------------------------------- */

/* A device of this name registers: its number. One that is known is the same device; in
 * quarantine it gets another chance. -1: there are KILN_LENDER_MAX_DEVICES. */
int kiln_core_device_add(kiln_lender_core *c, int64_t now, const char *name);
/* It greeted, and can be lent. */
void kiln_core_device_up(kiln_lender_core *c, int64_t now, int device);
/* It cannot be reached, or its connection ended. */
void kiln_core_device_down(kiln_lender_core *c, int64_t now, int device,
                           const char *why);
/* Its server said something. */
void kiln_core_device_heard(kiln_lender_core *c, int64_t now, int device);
/* It was given work that wants an answer, within `patience` (0: the limit for all). */
void kiln_core_device_owes(kiln_lender_core *c, int64_t now, int device,
                           int64_t patience);
/* What it was given came to something. */
void kiln_core_device_answered(kiln_lender_core *c, int64_t now, int device);
void kiln_core_device_warm(kiln_lender_core *c, int64_t now, int device, int degrees);

/* Somebody wants a device: the request's number. -1: there are too many. */
int kiln_core_request(kiln_lender_core *c, int64_t now, const char *owner, int priority,
                      int64_t keeps_ms, int client);
/* Its borrower said something. */
void kiln_core_request_heard(kiln_lender_core *c, int64_t now, int request);
/* It gives back what it has, or waits no more. */
void kiln_core_request_end(kiln_lender_core *c, int64_t now, int request);

void kiln_core_tick(kiln_lender_core *c, int64_t now);

/* False: there is nothing more to do. */
bool kiln_core_next(kiln_lender_core *c, kiln_lender_action *out);

/* ---- between files of this folder ------------------------------------------------------ */

void kiln_core_note(kiln_lender_core *c, int64_t now, int device, const char *fmt, ...)
    KILN_PRINTF(4, 5);
void kiln_core_do(kiln_lender_core *c, kiln_lender_todo todo, int device, int request,
                  bool is_hung, const char *why);
void kiln_core_become(kiln_lender_core *c, int64_t now, int device,
                      kiln_lender_state s);
/* Whoever has it is told that it is gone. */
void kiln_core_cut(kiln_lender_core *c, int64_t now, int device, bool is_hung,
                   const char *why);
/* From the beginning: what runs there ends, and its greeting is awaited. */
void kiln_core_rejoin(kiln_lender_core *c, int64_t now, int device, int64_t within_ms);
/* ladder.c */
void kiln_core_watch(kiln_lender_core *c, int64_t now);
/* shares.c */
void kiln_core_settle(kiln_lender_core *c, int64_t now); /* the accounts */
int kiln_core_owner_of(kiln_lender_core *c, const char *name, int priority);
void kiln_core_lend(kiln_lender_core *c, int64_t now);

#endif
