/* Any bytes as a public key, a secret key without a password, a signature and
 * provenance: refused with a message, or read; what was read is written, and read again
 * as it was. Of one provenance there is one text. */
#include "packager/packager_provenance.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void try_public(kiln_arena *a, kiln_str text) {
    kiln_err err = {.status = KILN_OK};
    kiln_public_key k, again;
    kiln_buf out;
    if (kiln_public_key_read(text, "fuzz", &k, &err) != KILN_OK) {
        KILN_ASSERT(err.len > 0, "a refusal says why");
        return;
    }
    kiln_buf_init(&out, a);
    kiln_public_key_write(&out, &k);
    KILN_ASSERT(kiln_public_key_read(kiln_buf_str(&out), "written", &again, &err) ==
                    KILN_OK,
                "%s", err.text);
    KILN_ASSERT(memcmp(k.key, again.key, sizeof k.key) == 0, "another key");
}

/* A password costs a second: those are only told apart. */
static void try_secret(kiln_str text) {
    kiln_err err = {.status = KILN_OK};
    const kiln_str none = {NULL, 0};
    kiln_secret_key k;
    if (kiln_secret_key_read(text, "fuzz", none, &k, &err) != KILN_OK)
        KILN_ASSERT(err.len > 0, "a refusal says why");
    else
        KILN_ASSERT(!kiln_secret_key_wants_password(text), "it has no password");
}

static void try_signature(kiln_arena *a, kiln_str text) {
    kiln_err err = {.status = KILN_OK};
    kiln_signature s, again;
    kiln_buf out;
    const kiln_public_key k = {.id = {0}};
    if (kiln_signature_read(a, text, "fuzz", &s, &err) != KILN_OK) {
        KILN_ASSERT(err.len > 0, "a refusal says why");
        return;
    }
    KILN_ASSERT(!kiln_signature_holds(&s, &k, text), "nobody has this key");
    kiln_buf_init(&out, a);
    kiln_signature_write(&out, &s);
    KILN_ASSERT(kiln_signature_read(a, kiln_buf_str(&out), "written", &again, &err) ==
                    KILN_OK,
                "%s", err.text);
    KILN_ASSERT(strcmp(s.trusted, again.trusted) == 0 &&
                    memcmp(s.bytes, again.bytes, sizeof s.bytes) == 0,
                "another signature");
}

static void try_provenance(kiln_arena *a, kiln_str text) {
    kiln_err err = {.status = KILN_OK};
    kiln_provenance p;
    kiln_buf out;
    if (kiln_provenance_read(a, text, "fuzz", &p, &err) != KILN_OK) {
        KILN_ASSERT(err.len > 0, "a refusal says why");
        return;
    }
    kiln_buf_init(&out, a);
    kiln_provenance_write(&out, &p);
    KILN_ASSERT(kiln_str_eq(kiln_buf_str(&out), text), "another text");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_arena a = {0};
    const kiln_str text = {(const char *)data, size};
    try_public(&a, text);
    try_secret(text);
    try_signature(&a, text);
    try_provenance(&a, text);
    kiln_arena_fini(&a);
    return 0;
}
