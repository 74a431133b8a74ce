/* Archives with signatures, for tests: keys, signing, and files put together by hand.
 */
#ifndef KILN_TESTS_SUPPORT_PACKAGE_SIGNED_ARCHIVE_H
#define KILN_TESTS_SUPPORT_PACKAGE_SIGNED_ARCHIVE_H

#include "packager/packager.h"

/* A pair, and a keyring of its public key alone: DIR/NAME.pub. All in the test arena.
 * The same name gives the same pair, as long as the seed is the same. */
typedef struct signed_keys {
    kiln_public_key public_key;
    kiln_secret_key secret;
    kiln_keyring ring;
} signed_keys;
void signed_keys_make(const char *dir, const char *name, signed_keys *out);

void signed_sign(const signed_keys *k, const char *archive);
/* The same with another trusted comment, hashed beforehand or not. */
void signed_sign_saying(const signed_keys *k, const char *archive, const char *trusted,
                        bool is_prehashed);
/* "X.minisig", ...: in the test arena. */
const char *signed_beside(const char *archive, const char *ending);
void signed_write(const char *path, kiln_str bytes);
kiln_str signed_read(const char *path);

#endif
