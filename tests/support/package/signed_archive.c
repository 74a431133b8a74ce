#include "tests/support/package/signed_archive.h"

#include "packager/crypto.h"
#include "tests/support/kiln_test.h"

#include <sodium.h>
#include <string.h>

void signed_write(const char *path, kiln_str bytes) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, bytes.p, bytes.n, &err), &err);
}

kiln_str signed_read(const char *path) {
    kiln_err err = {0};
    kiln_str bytes;
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &bytes, &err),
                          &err);
    return bytes;
}

const char *signed_beside(const char *archive, const char *ending) {
    return kiln_format(kiln_test_arena(), "%s%s", archive, ending);
}

static void draw_keys(const char *name, signed_keys *out) {
    unsigned char seed[crypto_sign_ed25519_SEEDBYTES];
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_hash64(name, strlen(name), kiln_test_seed()));
    for (size_t i = 0; i < sizeof seed; i++)
        seed[i] = (unsigned char)kiln_rng_range(&rng, 0, 255);
    for (size_t i = 0; i < sizeof out->secret.id; i++)
        out->secret.id[i] = (unsigned char)kiln_rng_range(&rng, 0, 255);
    out->public_key = (kiln_public_key){.name = NULL};
    memcpy(out->public_key.id, out->secret.id, sizeof out->secret.id);
    crypto_sign_ed25519_seed_keypair(out->public_key.key, out->secret.key, seed);
}

void signed_keys_make(const char *dir, const char *name, signed_keys *out) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_buf text;
    const char *path = kiln_path_join(a, dir, kiln_format(a, "%s.pub", name));
    kiln_assert_status_ok(kiln_dir_make(dir, &err), &err);
    draw_keys(name, out);
    kiln_buf_init(&text, a);
    kiln_public_key_write(&text, &out->public_key);
    signed_write(path, kiln_buf_str(&text));
    kiln_assert_status_ok(kiln_keyring_open(a, path, &out->ring, &err), &err);
}

void signed_sign(const signed_keys *k, const char *archive) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_archive_sign(&k->secret, archive, NULL, &err), &err);
}

void signed_sign_saying(const signed_keys *k, const char *archive, const char *trusted,
                        bool is_prehashed) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_signature s;
    kiln_buf text;
    const kiln_str bytes = signed_read(archive);
    kiln_assert_status_ok(kiln_signature_make(&k->secret, bytes, trusted, &s, &err),
                          &err);
    if (!is_prehashed) {
        kiln_buf all;
        s.is_prehashed = false;
        kiln_ed25519_sign(k->secret.key, bytes, s.bytes);
        kiln_buf_init(&all, a);
        kiln_buf_add(&all, s.bytes, sizeof s.bytes);
        kiln_buf_puts(&all, trusted);
        kiln_ed25519_sign(k->secret.key, kiln_buf_str(&all), s.global);
    }
    kiln_buf_init(&text, a);
    kiln_signature_write(&text, &s);
    signed_write(signed_beside(archive, KILN_SIGNATURE_ENDING), kiln_buf_str(&text));
}
