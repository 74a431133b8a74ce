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

/* ---- one frame ------------------------------------------------------------------- */

static uint32_t number_at(const unsigned char *p, int bytes) {
    uint32_t v = 0;
    for (int i = bytes; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

/* Bytes of a frame's header by its descriptor (RFC 8878, 3.1.1.1). */
static size_t header_bytes(unsigned char descriptor) {
    static const size_t dictionary[] = {0, 1, 2, 4}, content[] = {0, 2, 4, 8};
    const bool is_single = (descriptor >> 5 & 1) != 0;
    const size_t of_content =
        is_single && descriptor >> 6 == 0 ? 1 : content[descriptor >> 6];
    return sizeof frame_magic + 1 + !is_single + dictionary[descriptor & 3] +
           of_content;
}

/* Decoders read frame after frame, and pass over such that are to be skipped: something
 * could travel there that nobody unpacks. From block to block, nothing is decoded. */
static bool is_one_frame(kiln_str s) {
    enum { BLOCK_HEADER = 3, RLE = 1, RESERVED = 3, CHECKSUM = 4 };
    const unsigned char *p = (const unsigned char *)s.p;
    if (s.n <= sizeof frame_magic)
        return false;
    const unsigned char descriptor = p[sizeof frame_magic];
    size_t at = header_bytes(descriptor);
    for (bool is_last = false; !is_last;) {
        if (at > s.n || s.n - at < BLOCK_HEADER)
            return false;
        const uint32_t header = number_at(p + at, BLOCK_HEADER);
        const uint32_t type = header >> 1 & 3;
        const size_t bytes = type == RLE ? 1 : header >> 3;
        is_last = (header & 1) != 0;
        at += BLOCK_HEADER;
        if (type == RESERVED || bytes > s.n - at)
            return false;
        at += bytes;
    }
    return at + ((descriptor >> 2 & 1) != 0 ? CHECKSUM : 0) == s.n;
}

kiln_status kiln_seal_check_frame(kiln_str frame, const char *path, kiln_err *err) {
    return is_one_frame(frame)
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_PARSE,
                           "'%s' must be one zstd frame and its seal: something was "
                           "added to it",
                           path);
}

/* ---- the SHA-256 ----------------------------------------------------------------- */

/* What is hashed sooner than a thread is worth. */
enum { SMALL_BYTES = 8 << 20 };

static void hash(void *user) {
    kiln_sealing *s = user;
    kiln_sha256_of(s->frame.p, s->frame.n, s->sha256);
}

void kiln_sealing_begin(kiln_sealing *s, kiln_str frame, const char *path) {
    KILN_ASSERT(frame.n >= sizeof frame_magic,
                "'%s' has no frame: kiln_seal_cut gives it", path);
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
