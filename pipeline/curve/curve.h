/* Who may speak to a device, and words that nobody else reads: ZeroMQ's CURVE.
 *
 *     NAME.pub, NAME.key        a pair of keys, of a device or of who measures on it
 *     kiln_curve_session        one end of a connection: bytes in, bytes out
 *     kiln_curve_relay          a session between a socket and a descriptor
 *
 * The protocol is ZMTP 3.0 (RFC 23) with the mechanism CURVE (RFC 26, after Bernstein's
 * CurveCP): who connects knows the other's public key beforehand, both prove that they
 * have their secret ones, and each connection has keys of its own that are forgotten
 * with it. The library itself speaks it to us in a test.
 */
#ifndef KILN_PIPELINE_CURVE_H
#define KILN_PIPELINE_CURVE_H

#include "base/base.h"

enum {
    KILN_CURVE_KEY = 32,
    KILN_CURVE_KEY_TEXT = 65, /* hexadecimal digits and a terminator */
    KILN_CURVE_KEY_FILE_MAX = 64 * 1024,
    KILN_CURVE_MAX_ALLOWED = 1000
};

/* ---- keys ------------------------------------------------------------------------ */

typedef struct kiln_curve_key {
    unsigned char bytes[KILN_CURVE_KEY];
} kiln_curve_key;

/* Wiped by who had it. Never in an arena: those are not wiped. */
typedef struct kiln_curve_pair {
    kiln_curve_key public_key, secret;
} kiln_curve_pair;
void kiln_curve_wipe(void *p, size_t bytes);

/* KILN_ERR_LIB: there are no random numbers. Before anything else here; again is fine. */
kiln_status kiln_curve_start(kiln_err *err);
/* kiln_curve_start was called. */
void kiln_curve_pair_make(kiln_curve_pair *out);
/* A pair from its secret half. */
void kiln_curve_pair_of(const kiln_curve_key *secret, kiln_curve_pair *out);
void kiln_curve_key_text(const kiln_curve_key *k, char text[KILN_CURVE_KEY_TEXT]);
bool kiln_curve_key_eq(const kiln_curve_key *a, const kiln_curve_key *b);

/* STEM.key (mode 0600) and STEM.pub: both or none, and never over what is there. */
kiln_status kiln_curve_pair_save(kiln_arena *a, const char *stem,
                                 const kiln_curve_pair *pair, kiln_err *err);
/* A STEM.key. KILN_ERR_UNSUPPORTED: others may read it. */
kiln_status kiln_curve_pair_read(const char *path, kiln_curve_pair *out, kiln_err *err);
/* 64 digits, or a file with one public key. */
kiln_status kiln_curve_public_read(const char *text, kiln_curve_key *out,
                                   kiln_err *err);

/* ---- this user's ----------------------------------------------------------------- */

/* In kiln's folder of settings: $XDG_CONFIG_HOME/kiln, else ~/.config/kiln.
 * KILN_ERR_MISSING: there is no place for it. */
kiln_status kiln_curve_own_key(kiln_arena *a, const char **path, kiln_err *err);

/* A device that the user has a name for. */
typedef struct kiln_known_device {
    const char *name, *place; /* "board", "192.0.2.7:7300" */
    kiln_curve_key key;
} kiln_known_device;
typedef struct kiln_known_devices {
    KILN_VEC(kiln_known_device) list;
} kiln_known_devices;
/* None where there is no such file yet. */
kiln_status kiln_known_read(kiln_arena *a, kiln_known_devices *out, kiln_err *err);
/* In place of one of the same name. */
kiln_status kiln_known_add(kiln_arena *a, const kiln_known_device *d, kiln_err *err);
kiln_status kiln_known_remove(kiln_arena *a, const char *name, kiln_err *err);
/* "curve://192.0.2.7:7300?device=..." of a name; anything with a colon is an address
 * already. */
kiln_status kiln_known_address(kiln_arena *a, const char *name_or_address,
                               const char **out, kiln_err *err);

/* ---- who is let in --------------------------------------------------------------- */

typedef struct kiln_curve_allowed {
    KILN_VEC(kiln_curve_key) list;
} kiln_curve_allowed;
/* Adds 64 digits, or all the public keys of a file, one a line. */
kiln_status kiln_curve_allow(kiln_arena *a, const char *text, kiln_curve_allowed *all,
                             kiln_err *err);
bool kiln_curve_is_allowed(const kiln_curve_allowed *all, const kiln_curve_key *k);

/* ---- sessions -------------------------------------------------------------------- */

enum {
    KILN_CURVE_MAX_PLAIN = 48 * 1024, /* that go into one message of ours */
    KILN_CURVE_MAX_FRAME = 64 * 1024, /* that is taken: its body */
    KILN_CURVE_SEAL = 42, /* what a sealed message has more than what it is of */
    KILN_CURVE_ROOM = KILN_CURVE_MAX_FRAME + 16
};

typedef enum kiln_curve_step {
    KILN_CURVE_GREETING, /* both sides say what they speak */
    KILN_CURVE_HELLO,    /* of who connects: knows the other's public key */
    KILN_CURVE_WELCOME,
    KILN_CURVE_INITIATE, /* of who connects: has the secret key of this public one */
    KILN_CURVE_READY,
    KILN_CURVE_OPEN
} kiln_curve_step;

/* One end. It knows no descriptors: what came from the other end goes in, what is for it
 * comes out. Large: not for the stack of a small thread. Wiped by kiln_curve_end. */
typedef struct kiln_curve_session {
    bool is_server;
    kiln_curve_step step;       /* that is to come next */
    kiln_curve_pair own, brief; /* brief: of this connection */
    kiln_curve_key peer;        /* a server's: whose it is once the session is open */
    kiln_curve_key peer_brief, shared;
    const kiln_curve_allowed *allowed; /* borrowed; of a server */
    unsigned char cookie[96];
    uint64_t sent, got; /* the last nonces */
    bool has_greeted;
    size_t n_in, at; /* bytes in `in`, and how far they were used */
    size_t n_out;
    unsigned char in[KILN_CURVE_ROOM];
    unsigned char out[512];
    unsigned char plain[KILN_CURVE_MAX_FRAME];
} kiln_curve_session;

/* kiln_curve_start was called. */
void kiln_curve_serve(kiln_curve_session *s, const kiln_curve_pair *own,
                      const kiln_curve_allowed *allowed);
void kiln_curve_connect(kiln_curve_session *s, const kiln_curve_pair *own,
                        const kiln_curve_key *server);
void kiln_curve_end(kiln_curve_session *s);

/* Room for what comes; *room > 0 once kiln_curve_next has wanted more. Then s->n_in
 * grows by what was put there. */
unsigned char *kiln_curve_room(kiln_curve_session *s, size_t *room);

typedef enum kiln_curve_what {
    KILN_CURVE_WANTS, /* more bytes from the other end */
    KILN_CURVE_SENDS, /* these are for the other end */
    KILN_CURVE_GIVES  /* these were sealed for us */
} kiln_curve_what;
typedef struct kiln_curve_event {
    kiln_curve_what what;
    kiln_str bytes; /* borrowed until the next call for this session */
} kiln_curve_event;
/* What is next: until it wants more. Who fails is not answered, neither why: the
 * connection is to be closed. KILN_ERR_PARSE: no such message, or none that the keys
 * open; KILN_ERR_LIMIT: too long; KILN_ERR_UNSUPPORTED: a key that is not allowed. */
kiln_status kiln_curve_next(kiln_curve_session *s, kiln_curve_event *out,
                            kiln_err *err);
/* Of an open session: n bytes, at most KILN_CURVE_MAX_PLAIN, as the other end gets them;
 * returns how many those are: n + KILN_CURVE_SEAL. */
size_t kiln_curve_seal(kiln_curve_session *s, const void *p, size_t n,
                       unsigned char *out);

/* ---- a session between a socket and a descriptor ----------------------------------- */

typedef struct kiln_curve_relay {
    kiln_curve_session session;
    int net; /* the other end; not blocking */
    /* Called once, when both know each other: a stream socket for what is plain, not
     * blocking; -1: there is none after all. NULL: `plain` was there before. */
    int (*open)(struct kiln_curve_relay *r);
    void *user;
    int plain;           /* -1: none yet */
    int64_t patience_ms; /* until it is open */
    bool is_open;
    int error; /* errno of how it ended; 0: nothing to say */
    size_t n_net, at_net, n_plain, at_plain;
    unsigned char to_net[KILN_CURVE_MAX_PLAIN + KILN_CURVE_SEAL];
    unsigned char to_plain[KILN_CURVE_MAX_FRAME];
    unsigned char from_plain[KILN_CURVE_MAX_PLAIN];
} kiln_curve_relay;

/* Passes bytes both ways until either side ends, which is no failure once it is open.
 * Closes neither. */
kiln_status kiln_curve_pass(kiln_curve_relay *r, kiln_err *err);

#endif
