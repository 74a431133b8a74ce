/* Keys and signatures: known answers of others (RFC 8032, RFC 7693, minisign 0.11), and
 * every way in which a file is none. */
#include "packager/crypto.h"
#include "packager/sign.h"
#include "tests/support/kiln_test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Made by minisign 0.11, -GW and -S of "hello\n". The secret key is nobody's. */
#define PUBLIC_LINE "RWShsqhL7mqFfLxUGVwP+sPX0QH5ehRmF73xOI+3s+IKuWk3UvcsDftv"
#define SECRET_LINE                                                                    \
    "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAobKoS+5q" \
    "hXyBUAoom+5Snwb92EVDbCEegAMw3aBE7QP4zqH0T0Hs7LxUGVwP+sPX0QH5ehRmF73xOI+3s+IKuWk3" \
    "UvcsDftvAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define HASHED_LINE                                                                    \
    "RUShsqhL7mqFfHTQfPakKwOjgD/24C1N9/VaYHfNmCFnrkqr+UykhHkW129uZqrt3jQH5Dx8S4hHR8GY" \
    "RaC4/QcBwh0IH/p0vQg="
#define HASHED_GLOBAL                                                                  \
    "G1zRZoKbeQ2a2p535I/a/Rrl569z2KaNLKyyIvpjetHJ8Hpotb7dJjYUKSPq2nL6YIKSyxE/rAbFfl2S" \
    "NBNjDw=="
#define PLAIN_LINE                                                                     \
    "RWShsqhL7mqFfIKZIcoosp9vWQBdWZKO3leu9vlYxEncdSw6JJkXQfhC2fbNt3pNxbTejdonEvpxxvI0" \
    "hSd59CpeWqXmKFwYpAw="
#define PLAIN_GLOBAL                                                                   \
    "CfrGi0vuS3JS2+t3G1sbJw79qK3lpSaLqCmNkh5Ik45eMB/U+0Icmniwh2KysV/2gDdK5gTwYdRm8LFl" \
    "i0iSAg=="

static const char public_text[] =
    "untrusted comment: minisign public key 7C856AEE4BA8B2A1\n" PUBLIC_LINE "\n";
static const char secret_text[] =
    "untrusted comment: minisign encrypted secret key\n" SECRET_LINE "\n";
static const char hashed_text[] =
    "untrusted comment: signature from minisign secret key\n" HASHED_LINE "\n"
    "trusted comment: timestamp:1795382227\tfile:m.txt\thashed\n" HASHED_GLOBAL "\n";
static const char plain_text[] =
    "untrusted comment: signature from minisign secret key\n" PLAIN_LINE "\n"
    "trusted comment: timestamp:1795382227\tfile:m.txt\n" PLAIN_GLOBAL "\n";
static const kiln_str hello = {"hello\n", 6};
static const kiln_str no_password = {NULL, 0};
static const kiln_password_cost cheap = {KILN_SCRYPT_LEAST_OPS,
                                         KILN_SCRYPT_LEAST_BYTES};

static void from_hex(const char *hex, unsigned char *out) {
    for (size_t i = 0; hex[2 * i] != '\0'; i++) {
        const char digits[] = {hex[2 * i], hex[2 * i + 1], '\0'};
        out[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
}

/* ---- known answers --------------------------------------------------------------- */

/* RFC 8032, 7.1, test 2. */
static void signs_as_the_rfc(void **state) {
    (void)state;
    kiln_err err = {0};
    unsigned char secret[64], want[64], got[64];
    from_hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"
             "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
             secret);
    from_hex("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
             "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
             want);
    const kiln_str message = {"\x72", 1};
    kiln_assert_status_ok(kiln_crypto_start(&err), &err);
    kiln_ed25519_sign(secret, message, got);
    assert_memory_equal(got, want, sizeof want);
    assert_true(kiln_ed25519_holds(secret + 32, message, got));
    assert_true(kiln_ed25519_is_whole(secret));
    got[3] ^= 1;
    assert_false(kiln_ed25519_holds(secret + 32, message, got));
    secret[40] ^= 1;
    assert_false(kiln_ed25519_is_whole(secret));
}

/* RFC 7693, appendix A; in pieces too. */
static void hashes_as_the_rfc(void **state) {
    (void)state;
    unsigned char want[64], got[64];
    const kiln_str whole = {"abc", 3};
    const kiln_str piece[] = {{"a", 1}, {NULL, 0}, {"bc", 2}};
    from_hex("ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
             "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
             want);
    kiln_blake2b_of(&whole, 1, got, sizeof got);
    assert_memory_equal(got, want, sizeof want);
    kiln_blake2b_of(piece, 3, got, sizeof got);
    assert_memory_equal(got, want, sizeof want);
}

static void reads_what_minisign_wrote(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_public_key k;
    kiln_secret_key secret;
    char id[KILN_KEY_ID_TEXT];
    kiln_assert_status_ok(
        kiln_public_key_read(kiln_str_from(public_text), "a.pub", &k, &err), &err);
    kiln_key_id_text(k.id, id);
    assert_string_equal(id, "7C856AEE4BA8B2A1");
    assert_false(kiln_secret_key_wants_password(kiln_str_from(secret_text)));
    kiln_assert_status_ok(kiln_secret_key_read(kiln_str_from(secret_text), "a.key",
                                               no_password, &secret, &err),
                          &err);
    assert_memory_equal(secret.id, k.id, sizeof k.id);
    assert_memory_equal(secret.key + 32, k.key, sizeof k.key);
    const char *const text[] = {hashed_text, plain_text};
    for (int i = 0; i < 2; i++) {
        kiln_signature s;
        kiln_assert_status_ok(
            kiln_signature_read(a, kiln_str_from(text[i]), "x.minisig", &s, &err),
            &err);
        assert_int_equal(s.is_prehashed, i == 0);
        assert_true(kiln_signature_holds(&s, &k, hello));
        assert_false(kiln_signature_holds(&s, &k, (kiln_str){"hellp\n", 6}));
        s.trusted = "timestamp:1";
        assert_false(kiln_signature_holds(&s, &k, hello));
    }
}

/* Ed25519 has one signature of a key and a message: ours is minisign's to the bit. */
static void writes_what_minisign_wrote(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_secret_key secret;
    kiln_signature s;
    kiln_buf text;
    kiln_public_key k;
    kiln_assert_status_ok(kiln_secret_key_read(kiln_str_from(secret_text), "a.key",
                                               no_password, &secret, &err),
                          &err);
    kiln_assert_status_ok(
        kiln_signature_make(&secret, hello, "timestamp:1795382227\tfile:m.txt\thashed",
                            &s, &err),
        &err);
    kiln_buf_init(&text, a);
    kiln_signature_write(&text, &s);
    kiln_assert_text_equal(
        kiln_buf_str(&text),
        KILN_STR_LIT(
            "untrusted comment: signature by kiln, key 7C856AEE4BA8B2A1\n" HASHED_LINE
            "\n"
            "trusted comment: timestamp:1795382227\tfile:m.txt\thashed\n" HASHED_GLOBAL
            "\n"));
    kiln_assert_status_ok(
        kiln_public_key_read(kiln_str_from(public_text), "a.pub", &k, &err), &err);
    kiln_buf_init(&text, a);
    kiln_public_key_write(&text, &k);
    kiln_assert_text_equal(
        kiln_buf_str(&text),
        KILN_STR_LIT("untrusted comment: kiln public key 7C856AEE4BA8B2A1\n" PUBLIC_LINE
                     "\n"));
}

/* ---- secret keys ----------------------------------------------------------------- */

static void keeps_a_key_behind_a_password(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_public_key k;
    kiln_secret_key secret, again;
    char text[KILN_SECRET_KEY_TEXT], other[KILN_SECRET_KEY_TEXT];
    const kiln_str password = KILN_STR_LIT("a \xC3\xA4 b"), wrong = KILN_STR_LIT("a");
    kiln_assert_status_ok(kiln_keys_make(&k, &secret, &err), &err);
    kiln_assert_status_ok(kiln_secret_key_write(&secret, password, &cheap, text, &err),
                          &err);
    assert_true(kiln_secret_key_wants_password(kiln_str_from(text)));
    kiln_assert_status_ok(
        kiln_secret_key_read(kiln_str_from(text), "k", password, &again, &err), &err);
    assert_memory_equal(&again, &secret, sizeof secret);
    kiln_assert_fails(
        kiln_secret_key_read(kiln_str_from(text), "k", wrong, &again, &err),
        KILN_ERR_ARG, &err, "'k': this is not the password of this secret key");
    kiln_err_clear(&err);
    kiln_assert_fails(
        kiln_secret_key_read(kiln_str_from(text), "k", no_password, &again, &err),
        KILN_ERR_ARG, &err, "needs its password: give it by --password-file FILE");
    /* Salted: one password, other bytes. */
    kiln_assert_status_ok(kiln_secret_key_write(&secret, password, &cheap, other, &err),
                          &err);
    assert_string_not_equal(text, other);
    kiln_assert_status_ok(
        kiln_secret_key_write(&secret, no_password, &cheap, other, &err), &err);
    kiln_assert_status_ok(
        kiln_secret_key_read(kiln_str_from(other), "k", no_password, &again, &err),
        &err);
    assert_memory_equal(&again, &secret, sizeof secret);
    kiln_secret_key_wipe(&again);
    const kiln_secret_key zeros = {.id = {0}};
    assert_memory_equal(&again, &zeros, sizeof zeros);
}

static void saves_a_pair_once(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_public_key k;
    kiln_keyring ring;
    struct stat st;
    const char *dir = kiln_path_join(a, kiln_test_dir(), "pair");
    const char *stem = kiln_path_join(a, dir, "me");
    const mode_t before = umask(0);
    kiln_assert_status_ok(kiln_dir_make(dir, &err), &err);
    kiln_assert_status_ok(kiln_keys_save(a, stem, no_password, NULL, &k, &err), &err);
    umask(before);
    assert_int_equal(stat(kiln_format(a, "%s.key", stem), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    kiln_assert_status_ok(kiln_keyring_open(a, dir, &ring, &err), &err);
    assert_int_equal(ring.n, 1);
    assert_memory_equal(ring.key[0].key, k.key, sizeof k.key);
    kiln_assert_fails(kiln_keys_save(a, stem, no_password, NULL, &k, &err),
                      KILN_ERR_ARG, &err, "a key is never written over");
    /* Half a pair is none: the public key is there, so no secret one is left. */
    kiln_err_clear(&err);
    assert_int_equal(unlink(kiln_format(a, "%s.key", stem)), 0);
    kiln_assert_fails(kiln_keys_save(a, stem, no_password, NULL, &k, &err),
                      KILN_ERR_ARG, &err, "me.pub' is there");
    assert_false(kiln_file_exists(kiln_format(a, "%s.key", stem)));
    /* A link is not followed. */
    kiln_err_clear(&err);
    assert_int_equal(symlink("nowhere", kiln_format(a, "%s/l.key", dir)), 0);
    kiln_assert_fails(
        kiln_keys_save(a, kiln_path_join(a, dir, "l"), no_password, NULL, &k, &err),
        KILN_ERR_ARG, &err, "l.key' is there");
}

/* ---- what is none ---------------------------------------------------------------- */

typedef enum reader { PUBLIC, SECRET, SIGNATURE } reader;

typedef struct row {
    const char *name;
    reader reader;
    const char *text, *why;
} row;

#define COMMENT "untrusted comment: x\n"
#define TRUSTED "trusted comment: x\n"

static row rows[] = {
    {"public_of_nothing", PUBLIC, "",
     "its first line must be 'untrusted comment: ...'"},
    {"public_without_comment", PUBLIC, PUBLIC_LINE "\n", "its first line must be"},
    {"public_without_key", PUBLIC, COMMENT, "its second line is not such a key"},
    {"public_with_a_terminal's_words", PUBLIC,
     "untrusted comment: \x1b[2J\n" PUBLIC_LINE "\n", "its first line must be"},
    {"public_that_is_no_utf_8", PUBLIC, "untrusted comment: \xff\n" PUBLIC_LINE "\n",
     "its first line must be"},
    {"public_cut", PUBLIC, COMMENT "RWShsqhL7mqFfLxUGVwP+sPX0QH5ehRmF73xOI+3s+IKuWk3\n",
     "its second line is not such a key"},
    {"public_without_its_last_newline", PUBLIC, COMMENT PUBLIC_LINE,
     "its second line is not such a key"},
    {"public_with_more", PUBLIC, COMMENT PUBLIC_LINE "\n\n", "more follows"},
    {"public_in_another_base64", PUBLIC,
     COMMENT "RWShsqhL7mqFfLxUGVwP-sPX0QH5ehRmF73xOI-3s-IKuWk3UvcsDftv\n",
     "its second line is not such a key"},
    {"signature_with_a_byte_above_127", SIGNATURE,
     COMMENT "RUShsqhL7mqFfHTQfPakKwOjgD\xAF"
             "24C1N9/VaYHfNmCFnrkqr+UykhHkW129uZqrt3jQH5Dx8S4hHR8GYRaC4/QcBwh0IH/"
             "p0vQg=\n" TRUSTED HASHED_GLOBAL "\n",
     "its second line is no signature"},
    {"public_with_a_blank", PUBLIC,
     COMMENT "RWShsqhL7mqFfLxUGVwP+sPX0QH5ehRmF73xOI+3s+IKuWk3UvcsDft \n",
     "its second line is not such a key"},
    {"public_for_another_algorithm", PUBLIC,
     COMMENT "RXShsqhL7mqFfLxUGVwP+sPX0QH5ehRmF73xOI+3s+IKuWk3UvcsDftv\n",
     "it is not for Ed25519"},
    {"public_that_is_secret", PUBLIC, secret_text, "its second line is not such a key"},
    {"secret_that_is_public", SECRET, public_text, "its second line is not such a key"},
    {"secret_with_more", SECRET, COMMENT SECRET_LINE "\nx", "more follows"},
    {"secret_for_another_password", SECRET,
     COMMENT
     "RWQAAUIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAobKoS+5q"
     "hXyBUAoom+5Snwb92EVDbCEegAMw3aBE7QP4zqH0T0Hs7LxUGVwP+sPX0QH5ehRmF73xOI+3s+IKuWk3"
     "UvcsDftvAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
     "its password is not for scrypt"},
    {"secret_of_another_public_key", SECRET,
     COMMENT
     "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAobKoS+5q"
     "hXyBUAoom+5Snwb92EVDbCEegAMw3aBE7QP4zqH0T0Hs7LxUGVwP+sPX0QH5ehRmF73xOI+3s+IKuWk3"
     "UvcsDftuAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
     "it is damaged"},
    {"signature_of_nothing", SIGNATURE, "", "its first line must be"},
    {"signature_without_base64", SIGNATURE, COMMENT "x\n",
     "its second line is no signature"},
    {"signature_that_is_a_key", SIGNATURE, public_text,
     "its second line is no signature"},
    {"signature_without_trust", SIGNATURE, COMMENT HASHED_LINE "\n",
     "its third line must be 'trusted comment: ...'"},
    {"signature_with_two_untrusted", SIGNATURE,
     COMMENT HASHED_LINE "\n" COMMENT HASHED_GLOBAL "\n", "its third line must be"},
    {"signature_without_global", SIGNATURE, COMMENT HASHED_LINE "\n" TRUSTED,
     "its fourth line is no signature"},
    {"signature_with_more", SIGNATURE,
     COMMENT HASHED_LINE "\n" TRUSTED HASHED_GLOBAL "\n" COMMENT,
     "more follows its four lines"},
    {"signature_by_another_algorithm", SIGNATURE,
     COMMENT
     "RVShsqhL7mqFfHTQfPakKwOjgD/24C1N9/VaYHfNmCFnrkqr+UykhHkW129uZqrt3jQH5Dx8S4hHR8GY"
     "RaC4/QcBwh0IH/p0vQg=\n" TRUSTED HASHED_GLOBAL "\n",
     "it is not by Ed25519"},
    {"signature_with_a_carriage_return", SIGNATURE,
     COMMENT HASHED_LINE "\r\n" TRUSTED HASHED_GLOBAL "\n",
     "its second line is no signature"},
};

static void is_refused(void **state) {
    const row *r = *state;
    kiln_err err = {0};
    kiln_public_key k;
    kiln_secret_key secret;
    kiln_signature s;
    const kiln_str text = kiln_str_from(r->text);
    kiln_status st = KILN_OK;
    if (r->reader == PUBLIC)
        st = kiln_public_key_read(text, "the file", &k, &err);
    else if (r->reader == SECRET)
        st = kiln_secret_key_read(text, "the file", no_password, &secret, &err);
    else
        st = kiln_signature_read(kiln_test_arena(), text, "the file", &s, &err);
    kiln_assert_fails(st, KILN_ERR_PARSE, &err, r->why);
    assert_non_null(strstr(err.text, "'the file'"));
}

static void bounds_what_a_password_costs(void **state) {
    (void)state;
    kiln_err err = {0};
    unsigned char salt[KILN_SCRYPT_SALT] = {0}, out[8];
    const kiln_str password = KILN_STR_LIT("x");
    kiln_assert_fails(
        kiln_scrypt(password, salt, KILN_SCRYPT_MOST_OPS + 1, 1, out, sizeof out, &err),
        KILN_ERR_LIMIT, &err, "costs more than is allowed");
    kiln_err_clear(&err);
    kiln_assert_fails(kiln_scrypt(password, salt, 1, KILN_SCRYPT_MOST_BYTES + 1, out,
                                  sizeof out, &err),
                      KILN_ERR_LIMIT, &err, "costs more than is allowed");
}

static void signs_one_line(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_secret_key secret = {.id = {0}};
    kiln_signature s;
    kiln_assert_fails(kiln_signature_make(&secret, hello, "a\nb", &s, &err),
                      KILN_ERR_ARG, &err, "must be one line of text");
}

/* ---- keyrings -------------------------------------------------------------------- */

static void write_text(const char *dir, const char *name, const char *text) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(kiln_path_join(kiln_test_arena(), dir, name),
                                          text, strlen(text), &err),
                          &err);
}

static void opens_keyrings(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_keyring ring;
    const char *dir = kiln_path_join(a, kiln_test_dir(), "ring");
    kiln_assert_status_ok(kiln_dir_make(dir, &err), &err);
    kiln_assert_fails(kiln_keyring_open(a, dir, &ring, &err), KILN_ERR_PARSE, &err,
                      "the folder has no *.pub");
    kiln_err_clear(&err);
    write_text(dir, "one.pub", public_text);
    write_text(dir, "README", "not a key");
    kiln_assert_status_ok(kiln_keyring_open(a, dir, &ring, &err), &err);
    assert_int_equal(ring.n, 1);
    kiln_assert_status_ok(
        kiln_keyring_open(a, kiln_path_join(a, dir, "one.pub"), &ring, &err), &err);
    assert_int_equal(ring.n, 1);
    write_text(dir, "two.pub", public_text);
    kiln_assert_fails(kiln_keyring_open(a, dir, &ring, &err), KILN_ERR_PARSE, &err,
                      "are keys of one number: keep one of them");
    kiln_err_clear(&err);
    write_text(dir, "two.pub", secret_text);
    kiln_assert_fails(kiln_keyring_open(a, dir, &ring, &err), KILN_ERR_PARSE, &err,
                      "two.pub' is no public key");
    kiln_err_clear(&err);
    kiln_assert_fails(kiln_keyring_open(a, kiln_path_join(a, dir, "none"), &ring, &err),
                      KILN_ERR_MISSING, &err, "none");
}

int main(void) {
    kiln_test_add("signs_as_the_rfc", signs_as_the_rfc, NULL);
    kiln_test_add("hashes_as_the_rfc", hashes_as_the_rfc, NULL);
    kiln_test_add("reads_what_minisign_wrote", reads_what_minisign_wrote, NULL);
    kiln_test_add("writes_what_minisign_wrote", writes_what_minisign_wrote, NULL);
    kiln_test_add("keeps_a_key_behind_a_password", keeps_a_key_behind_a_password, NULL);
    kiln_test_add("saves_a_pair_once", saves_a_pair_once, NULL);
    kiln_test_add_rows(is_refused, rows);
    kiln_test_add("bounds_what_a_password_costs", bounds_what_a_password_costs, NULL);
    kiln_test_add("signs_one_line", signs_one_line, NULL);
    kiln_test_add("opens_keyrings", opens_keyrings, NULL);
    return kiln_test_run("signatures");
}
