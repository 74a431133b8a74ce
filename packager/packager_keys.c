/* Keys as minisign keeps them: a line of comment, a line of base64.
 *
 *     public   "Ed" number[8] key[32]
 *     secret   "Ed" kdf[2] "B2" salt[32] ops[8] memory[8] { number[8] key[64] sum[32] }
 *
 * kdf: two zeros, or "Sc": then what is in braces is XORed with as many bytes that
 * scrypt makes of a password. sum: BLAKE2b-256 of "Ed", number and key; zeros in keys
 * without a password that minisign made. Numbers of two bytes and more are
 * little-endian. */
#include "packager/crypto.h"
#include "packager/sign_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const kiln_password_cost kiln_password_cost_usual = {KILN_SCRYPT_MOST_OPS,
                                                     KILN_SCRYPT_MOST_BYTES};

enum { SUM_BYTES = 32, NUMBER_BYTES = 8, ALGORITHM = 2 };

typedef struct public_bytes {
    unsigned char algorithm[ALGORITHM], id[KILN_KEY_ID], key[KILN_ED25519_PUBLIC];
} public_bytes;

typedef struct hidden_bytes {
    unsigned char id[KILN_KEY_ID], key[KILN_ED25519_SECRET], sum[SUM_BYTES];
} hidden_bytes;

typedef struct secret_bytes {
    unsigned char algorithm[ALGORITHM], kdf[ALGORITHM], check[ALGORITHM];
    unsigned char salt[KILN_SCRYPT_SALT], ops[NUMBER_BYTES], memory[NUMBER_BYTES];
    hidden_bytes hidden;
} secret_bytes;
/* All members are bytes: there is nothing to align. */
_Static_assert(sizeof(public_bytes) == 42, "as minisign has it");
_Static_assert(sizeof(secret_bytes) == 158, "as minisign has it");

static const char ed25519[] = "Ed", scrypt[] = "Sc", blake2[] = "B2";
static const unsigned char none[ALGORITHM];

void kiln_key_id_text(const unsigned char id[KILN_KEY_ID],
                      char text[KILN_KEY_ID_TEXT]) {
    for (size_t i = 0; i < KILN_KEY_ID; i++)
        snprintf(text + 2 * i, 3, "%02X", id[KILN_KEY_ID - 1 - i]);
}

/* ---- the two lines --------------------------------------------------------------- */

static bool is_line_char(unsigned char c) { return c == '\t' || (c >= 32 && c != 127); }

bool kiln_sign_is_line(kiln_str line) {
    for (size_t i = 0; i < line.n; i++)
        if (!is_line_char((unsigned char)line.p[i]))
            return false;
    return kiln_utf8_valid(line);
}

bool kiln_sign_cut_line(kiln_str *rest, kiln_str *line) {
    const char *end = rest->n > 0 ? memchr(rest->p, '\n', rest->n) : NULL;
    if (end == NULL)
        return false;
    *line = (kiln_str){rest->p, (size_t)(end - rest->p)};
    *rest = (kiln_str){end + 1, rest->n - line->n - 1};
    return true;
}

bool kiln_sign_cut_comment(kiln_str *rest, const char *prefix, size_t most,
                           kiln_str *comment) {
    kiln_str line;
    if (!kiln_sign_cut_line(rest, &line) || !kiln_str_starts(line, prefix))
        return false;
    *comment = (kiln_str){line.p + strlen(prefix), line.n - strlen(prefix)};
    return comment->n <= most && kiln_sign_is_line(*comment);
}

static kiln_status is_no_key(const char *name, const char *what, const char *why,
                             kiln_err *err) {
    return kiln_fail(err, KILN_ERR_PARSE, "'%s' is no %s key: %s", name, what, why);
}

static kiln_status read_lines(kiln_str text, const char *name, const char *what,
                              void *out, size_t bytes, kiln_err *err) {
    kiln_str comment, line;
    if (!kiln_sign_cut_comment(&text, KILN_SIGN_UNTRUSTED, KILN_SIGN_COMMENT_MAX,
                               &comment))
        return is_no_key(name, what,
                         "its first line must be '" KILN_SIGN_UNTRUSTED "...'", err);
    if (!kiln_sign_cut_line(&text, &line) || !kiln_base64_read(line, out, bytes))
        return is_no_key(name, what, "its second line is not such a key in base64",
                         err);
    return text.n == 0 ? KILN_OK
                       : is_no_key(name, what, "more follows its two lines", err);
}

/* ---- public keys ----------------------------------------------------------------- */

kiln_status kiln_public_key_read(kiln_str text, const char *name, kiln_public_key *out,
                                 kiln_err *err) {
    public_bytes b;
    KILN_TRY(kiln_crypto_start(err));
    KILN_TRY(read_lines(text, name, "public", &b, sizeof b, err));
    if (memcmp(b.algorithm, ed25519, ALGORITHM) != 0)
        return is_no_key(name, "public", "it is not for Ed25519", err);
    *out = (kiln_public_key){.name = name};
    memcpy(out->id, b.id, sizeof b.id);
    memcpy(out->key, b.key, sizeof b.key);
    return KILN_OK;
}

void kiln_public_key_write(kiln_buf *out, const kiln_public_key *k) {
    char text[KILN_BASE64_TEXT(sizeof(public_bytes))], id[KILN_KEY_ID_TEXT];
    public_bytes b;
    memcpy(b.algorithm, ed25519, ALGORITHM);
    memcpy(b.id, k->id, sizeof b.id);
    memcpy(b.key, k->key, sizeof b.key);
    kiln_base64_write(&b, sizeof b, text);
    kiln_key_id_text(k->id, id);
    kiln_buf_printf(out, KILN_SIGN_UNTRUSTED "kiln public key %s\n%s\n", id, text);
}

/* ---- secret keys ----------------------------------------------------------------- */

void kiln_secret_key_wipe(kiln_secret_key *k) { kiln_wipe(k, sizeof *k); }

kiln_status kiln_keys_make(kiln_public_key *public_key, kiln_secret_key *secret,
                           kiln_err *err) {
    KILN_TRY(kiln_crypto_start(err));
    *public_key = (kiln_public_key){.name = NULL};
    kiln_random_fill(public_key->id, sizeof public_key->id);
    memcpy(secret->id, public_key->id, sizeof secret->id);
    kiln_ed25519_make(public_key->key, secret->key);
    return KILN_OK;
}

static uint64_t number_of(const unsigned char p[NUMBER_BYTES]) {
    uint64_t n = 0;
    for (int i = NUMBER_BYTES; i-- > 0;)
        n = n << 8 | p[i];
    return n;
}

static void put_number(uint64_t n, unsigned char p[NUMBER_BYTES]) {
    for (int i = 0; i < NUMBER_BYTES; i++, n >>= 8)
        p[i] = (unsigned char)n;
}

static void sum_of(const secret_bytes *b, unsigned char sum[SUM_BYTES]) {
    const kiln_str piece[] = {
        {(const char *)b->algorithm, ALGORITHM},
        {(const char *)b->hidden.id, sizeof b->hidden.id},
        {(const char *)b->hidden.key, sizeof b->hidden.key},
    };
    kiln_blake2b_of(piece, sizeof piece / sizeof piece[0], sum, SUM_BYTES);
}

/* There and back again. */
static kiln_status hide(secret_bytes *b, kiln_str password, kiln_err *err) {
    unsigned char stream[sizeof b->hidden];
    unsigned char *p = (unsigned char *)&b->hidden;
    const kiln_status st =
        kiln_scrypt(password, b->salt, number_of(b->ops), number_of(b->memory), stream,
                    sizeof stream, err);
    for (size_t i = 0; st == KILN_OK && i < sizeof stream; i++)
        p[i] ^= stream[i];
    kiln_wipe(stream, sizeof stream);
    return st;
}

static bool has_password(const secret_bytes *b) {
    return memcmp(b->kdf, scrypt, ALGORITHM) == 0;
}

static bool fits_sum(const secret_bytes *b) {
    static const unsigned char no_sum[SUM_BYTES];
    unsigned char sum[SUM_BYTES];
    sum_of(b, sum);
    return kiln_secret_equal(sum, b->hidden.sum, sizeof sum) ||
           (!has_password(b) && memcmp(b->hidden.sum, no_sum, sizeof sum) == 0);
}

static kiln_status decode(secret_bytes *b, kiln_str text, const char *name,
                          kiln_str password, kiln_err *err) {
    KILN_TRY(read_lines(text, name, "secret", b, sizeof *b, err));
    if (memcmp(b->algorithm, ed25519, ALGORITHM) != 0)
        return is_no_key(name, "secret", "it is not for Ed25519", err);
    if (memcmp(b->check, blake2, ALGORITHM) != 0)
        return is_no_key(name, "secret", "its sum is not by BLAKE2b", err);
    if (!has_password(b) && memcmp(b->kdf, none, ALGORITHM) != 0)
        return is_no_key(name, "secret", "its password is not for scrypt", err);
    if (has_password(b) && password.p == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "the secret key '%s' needs its password: give it by "
                         "--password-file FILE, or at a terminal",
                         name);
    if (has_password(b)) {
        const kiln_status st = hide(b, password, err);
        if (st != KILN_OK) {
            kiln_note(err, "opening the secret key '%s'", name);
            return st;
        }
    }
    if (!fits_sum(b) || !kiln_ed25519_is_whole(b->hidden.key))
        return has_password(b)
                   ? kiln_fail(err, KILN_ERR_ARG,
                               "'%s': this is not the password of this secret key",
                               name)
                   : is_no_key(name, "secret", "it is damaged", err);
    return KILN_OK;
}

bool kiln_secret_key_wants_password(kiln_str text) {
    secret_bytes b;
    const bool wants = kiln_crypto_start(NULL) == KILN_OK &&
                       read_lines(text, "", "secret", &b, sizeof b, NULL) == KILN_OK &&
                       has_password(&b);
    kiln_wipe(&b, sizeof b);
    return wants;
}

kiln_status kiln_secret_key_read(kiln_str text, const char *name, kiln_str password,
                                 kiln_secret_key *out, kiln_err *err) {
    secret_bytes b;
    KILN_TRY(kiln_crypto_start(err));
    const kiln_status st = decode(&b, text, name, password, err);
    if (st == KILN_OK) {
        memcpy(out->id, b.hidden.id, sizeof out->id);
        memcpy(out->key, b.hidden.key, sizeof out->key);
    }
    kiln_wipe(&b, sizeof b);
    return st;
}

static kiln_status encode(const kiln_secret_key *k, kiln_str password,
                          const kiln_password_cost *cost, secret_bytes *b,
                          kiln_err *err) {
    *b = (secret_bytes){.kdf = {0}};
    memcpy(b->algorithm, ed25519, ALGORITHM);
    memcpy(b->check, blake2, ALGORITHM);
    memcpy(b->hidden.id, k->id, sizeof k->id);
    memcpy(b->hidden.key, k->key, sizeof k->key);
    sum_of(b, b->hidden.sum);
    if (password.p == NULL)
        return KILN_OK;
    if (password.n > KILN_PASSWORD_MAX)
        return kiln_fail(err, KILN_ERR_LIMIT, "a password has at most %d bytes",
                         KILN_PASSWORD_MAX);
    memcpy(b->kdf, scrypt, ALGORITHM);
    kiln_random_fill(b->salt, sizeof b->salt);
    put_number(cost->ops, b->ops);
    put_number(cost->bytes, b->memory);
    return hide(b, password, err);
}

kiln_status kiln_secret_key_write(const kiln_secret_key *k, kiln_str password,
                                  const kiln_password_cost *cost,
                                  char text[KILN_SECRET_KEY_TEXT], kiln_err *err) {
    char line[KILN_BASE64_TEXT(sizeof(secret_bytes))];
    secret_bytes b;
    KILN_TRY(kiln_crypto_start(err));
    const kiln_status st =
        encode(k, password, cost != NULL ? cost : &kiln_password_cost_usual, &b, err);
    if (st == KILN_OK) {
        kiln_base64_write(&b, sizeof b, line);
        snprintf(text, KILN_SECRET_KEY_TEXT,
                 KILN_SIGN_UNTRUSTED "kiln %ssecret key\n%s\n",
                 password.p != NULL ? "encrypted " : "", line);
    }
    kiln_wipe(&b, sizeof b);
    kiln_wipe(line, sizeof line);
    return st;
}

/* ---- their files ----------------------------------------------------------------- */

static kiln_status cannot_write(const char *path, int error, kiln_err *err) {
    if (error == EEXIST)
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' is there: a key is never written over; give another "
                         "name, or move it away",
                         path);
    return kiln_fail(err, KILN_ERR_IO, "cannot write '%s': %s", path, strerror(error));
}

static int write_out(int fd, const char *p, size_t n) {
    while (n > 0) {
        const ssize_t done = write(fd, p, n);
        if (done < 0 && errno != EINTR)
            return errno;
        p += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return fsync(fd) == 0 ? 0 : errno;
}

/* A new file or none; the mode holds whatever the umask is. */
static kiln_status write_new(const char *path, kiln_str text, mode_t mode,
                             kiln_err *err) {
    const int fd =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return cannot_write(path, errno, err);
    int error = write_out(fd, text.p, text.n);
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error == 0)
        return KILN_OK;
    (void)unlink(path);
    return cannot_write(path, error, err);
}

static kiln_status save(kiln_arena *a, const char *stem, const kiln_public_key *k,
                        kiln_str secret, kiln_err *err) {
    const char *path = kiln_format(a, "%s.key", stem);
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_public_key_write(&text, k);
    KILN_TRY(write_new(path, secret, S_IRUSR | S_IWUSR, err));
    const kiln_status st = write_new(k->name, kiln_buf_str(&text),
                                     S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH, err);
    if (st != KILN_OK)
        (void)unlink(path);
    return st;
}

kiln_status kiln_keys_save(kiln_arena *a, const char *stem, kiln_str password,
                           const kiln_password_cost *cost, kiln_public_key *out,
                           kiln_err *err) {
    char text[KILN_SECRET_KEY_TEXT];
    kiln_secret_key secret;
    kiln_public_key k;
    KILN_TRY(kiln_keys_make(&k, &secret, err));
    k.name = kiln_format(a, "%s.pub", stem);
    kiln_status st = kiln_secret_key_write(&secret, password, cost, text, err);
    if (st == KILN_OK)
        st = save(a, stem, &k, kiln_str_from(text), err);
    kiln_wipe(text, sizeof text);
    kiln_secret_key_wipe(&secret);
    if (st == KILN_OK)
        *out = k;
    return st;
}
