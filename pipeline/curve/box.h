/* What a session needs of cryptography: X25519, XSalsa20 and Poly1305 as NaCl's "box"
 * has them. The one file behind it is libsodium's wrapper. */
#ifndef KILN_PIPELINE_CURVE_BOX_H
#define KILN_PIPELINE_CURVE_BOX_H

#include "pipeline/curve/curve.h"

enum { KILN_BOX_TAG = 16, KILN_BOX_NONCE = 24 };

void kiln_box_random(void *p, size_t bytes);

/* Of our secret and their public key: what both know. False: theirs is no key. */
bool kiln_box_key(const kiln_curve_key *theirs, const kiln_curve_key *secret,
                  kiln_curve_key *out);
/* `out` has n + KILN_BOX_TAG bytes; may be in + anything, or `in` itself. */
void kiln_box_close(const kiln_curve_key *key,
                    const unsigned char nonce[KILN_BOX_NONCE], const void *in, size_t n,
                    unsigned char *out);
/* The n - KILN_BOX_TAG bytes that were closed so; false: they were not. */
bool kiln_box_open(const kiln_curve_key *key, const unsigned char nonce[KILN_BOX_NONCE],
                   const void *in, size_t n, unsigned char *out);

#endif
