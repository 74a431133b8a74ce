/* The archive's last bytes: a skippable zstd frame (RFC 8878, 3.1.2) with the SHA-256
 * of all bytes before it.
 *
 * zstd's own checks are too weak to tell every damage: some bits of a frame change
 * nothing that is unpacked, and kiln's archives must be either as written or refused.
 */
#include "packager/packager_internal.h"

#include <string.h>

static const unsigned char frame_magic[4] = {0x28, 0xB5, 0x2F, 0xFD};
static const unsigned char seal_start[8] = {0x5B, 0x2A, 0x4D, 0x18,
                                            KILN_SEAL_BYTES - 8};
static const char seal_word[] = "kiln-sha256:";
enum { WORD = sizeof seal_word - 1, HEX = KILN_SHA256_HEX - 1 };
_Static_assert(sizeof seal_start + WORD + HEX == KILN_SEAL_BYTES, "all of it");

void kiln_seal_make(const char sha256[KILN_SHA256_HEX],
                    unsigned char seal[KILN_SEAL_BYTES]) {
    memcpy(seal, seal_start, sizeof seal_start);
    memcpy(seal + sizeof seal_start, seal_word, WORD);
    memcpy(seal + sizeof seal_start + WORD, sha256, HEX);
}

bool kiln_package_is_archive(const char *path) {
    kiln_arena a = {0};
    kiln_str file = {NULL, 0};
    const bool is_one = kiln_file_map(&a, path, 0, &file, NULL) == KILN_OK &&
                        file.n >= sizeof frame_magic &&
                        memcmp(file.p, frame_magic, sizeof frame_magic) == 0;
    kiln_arena_fini(&a);
    return is_one;
}

enum { FIXED = sizeof seal_start + WORD };

kiln_status kiln_seal_cut(kiln_str file, const char *path, kiln_str *frame,
                          kiln_err *err) {
    unsigned char want[KILN_SEAL_BYTES];
    char sha256[KILN_SHA256_HEX];
    if (file.n < sizeof frame_magic ||
        memcmp(file.p, frame_magic, sizeof frame_magic) != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' is no package: it does not begin as zstd does", path);
    if (file.n < KILN_SEAL_BYTES + sizeof frame_magic)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' is truncated: %zu bytes are no package", path, file.n);
    *frame = (kiln_str){file.p, file.n - KILN_SEAL_BYTES};
    memset(sha256, '0', HEX);
    kiln_seal_make(sha256, want);
    if (memcmp(file.p + frame->n, want, FIXED) != 0)
        return kiln_fail(
            err, KILN_ERR_PARSE,
            "'%s' is truncated, or something was added: its last bytes are "
            "not a package's seal",
            path);
    return KILN_OK;
}

/* ---- the SHA-256 ----------------------------------------------------------------- */

/* What is hashed sooner than a thread is worth. */
enum { SMALL_BYTES = 8 << 20 };

static void hash(void *user) {
    kiln_sealing *s = user;
    kiln_sha256_of(s->frame.p, s->frame.n, s->sha256);
}

void kiln_sealing_begin(kiln_sealing *s, kiln_str frame, const char *path) {
    *s = (kiln_sealing){.frame = frame, .path = path};
    if (frame.n > SMALL_BYTES)
        kiln_task_start(&s->task, hash, s);
    else
        hash(s);
}

kiln_status kiln_sealing_end(kiln_sealing *s, kiln_err *err) {
    kiln_task_wait(&s->task);
    if (memcmp(s->frame.p + s->frame.n + FIXED, s->sha256, HEX) != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' is damaged: its SHA-256 is not the one in its seal; get "
                         "it again",
                         s->path);
    return KILN_OK;
}
