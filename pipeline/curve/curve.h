/* Who may speak to a device, and words that nobody else reads: ZeroMQ's CURVE.
 *
 *     NAME.pub, NAME.key        a pair of keys, of a device or of who measures on it
 *
 * The protocol is ZMTP 3.0 (RFC 23) with the mechanism CURVE (RFC 26, after Bernstein's
 * CurveCP): who connects knows the other's public key beforehand, both prove that they
 * have their secret ones, and each connection has keys of its own that are forgotten
 * with it.
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

/* Those that are let in. */
typedef struct kiln_curve_allowed {
    KILN_VEC(kiln_curve_key) list;
} kiln_curve_allowed;
/* Adds 64 digits, or all the public keys of a file, one a line. */
kiln_status kiln_curve_allow(kiln_arena *a, const char *text, kiln_curve_allowed *all,
                             kiln_err *err);
bool kiln_curve_is_allowed(const kiln_curve_allowed *all, const kiln_curve_key *k);

#endif
