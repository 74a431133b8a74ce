/* Keys of devices and of who measures on them, in files of one line:
 *
 *     NAME.key   curve-secret 64 hexadecimal digits
 *     NAME.pub   curve-public 64 hexadecimal digits, and words for people
 *
 * A list of those who are let in is such lines too: `cat laptop.pub >> allowed`. Digits
 * rather than ZeroMQ's own Z85, whose letters mean something to shells and in addresses.
 */
#include "pipeline/curve/curve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET_WORD "curve-secret"
#define PUBLIC_WORD "curve-public"
enum { DIGITS = KILN_CURVE_KEY_TEXT - 1, SECRET_FILE_MAX = 4096 };

void kiln_curve_key_text(const kiln_curve_key *k, char text[KILN_CURVE_KEY_TEXT]) {
    static const char digit[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof k->bytes; i++) {
        text[2 * i] = digit[k->bytes[i] >> 4];
        text[2 * i + 1] = digit[k->bytes[i] & 15];
    }
    text[DIGITS] = '\0';
}

static int digit_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool read_digits(kiln_str s, kiln_curve_key *out) {
    if (s.n != DIGITS)
        return false;
    for (size_t i = 0; i < sizeof out->bytes; i++) {
        const int high = digit_of(s.p[2 * i]), low = digit_of(s.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out->bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

/* "WORD digits anything". */
static bool read_line(kiln_str line, const char *word, kiln_curve_key *out) {
    kiln_str rest = kiln_str_trim(line), first, digits;
    if (!kiln_str_cut(&rest, ' ', &first) || !kiln_str_is(first, word))
        return false;
    rest = kiln_str_trim(rest);
    return kiln_str_cut(&rest, ' ', &digits) && read_digits(digits, out);
}

/* ---- writing --------------------------------------------------------------------- */

static kiln_status cannot_write(const char *path, int error, kiln_err *err) {
    if (error == EEXIST)
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' is there: a key is never written over; give another "
                         "name, or move it away",
                         path);
    return kiln_fail(err, KILN_ERR_IO, "cannot write '%s': %s", path, strerror(error));
}

/* A new file or none; it is one line. */
static kiln_status write_new(const char *path, const char *text, mode_t mode,
                             kiln_err *err) {
    const size_t n = strlen(text);
    const int fd =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return cannot_write(path, errno, err);
    errno = EIO;
    const bool ok = write(fd, text, n) == (ssize_t)n && fsync(fd) == 0;
    const int error = errno;
    if (close(fd) == 0 && ok)
        return KILN_OK;
    (void)unlink(path);
    return cannot_write(path, error, err);
}

kiln_status kiln_curve_pair_save(kiln_arena *a, const char *stem,
                                 const kiln_curve_pair *pair, kiln_err *err) {
    const char *secret = kiln_format(a, "%s.key", stem);
    const char *open_one = kiln_format(a, "%s.pub", stem);
    char digits[KILN_CURVE_KEY_TEXT], line[DIGITS + sizeof SECRET_WORD + 2];
    kiln_curve_key_text(&pair->secret, digits);
    (void)snprintf(line, sizeof line, SECRET_WORD " %s\n", digits);
    kiln_status st = write_new(secret, line, S_IRUSR | S_IWUSR, err);
    kiln_curve_wipe(line, sizeof line);
    kiln_curve_wipe(digits, sizeof digits);
    if (st != KILN_OK)
        return st;
    kiln_curve_key_text(&pair->public_key, digits);
    st = write_new(open_one,
                   kiln_format(a, PUBLIC_WORD " %s %s\n", digits, kiln_path_base(stem)),
                   S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH, err);
    if (st != KILN_OK)
        (void)unlink(secret);
    return st;
}

/* ---- reading --------------------------------------------------------------------- */

static kiln_status read_secret(int fd, const char *path, kiln_curve_pair *out,
                               kiln_err *err) {
    char text[SECRET_FILE_MAX];
    kiln_curve_key secret;
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return kiln_fail(err, KILN_ERR_PARSE, "'%s' is no file with a key", path);
    if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "others may read or write the secret key '%s': make it yours "
                         "alone, by chmod 600",
                         path);
    const ssize_t n = read(fd, text, sizeof text);
    const bool ok =
        n > 0 && read_line((kiln_str){text, (size_t)n}, SECRET_WORD, &secret);
    kiln_curve_wipe(text, sizeof text);
    if (!ok)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' holds no secret key of a device; kiln device keygen "
                         "makes one",
                         path);
    kiln_curve_pair_of(&secret, out);
    kiln_curve_wipe(&secret, sizeof secret);
    return KILN_OK;
}

kiln_status kiln_curve_pair_read(const char *path, kiln_curve_pair *out,
                                 kiln_err *err) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return kiln_fail(err, kiln_errno_status(errno),
                         "cannot read the key '%s': %s; kiln device keygen makes one",
                         path, strerror(errno));
    const kiln_status st = read_secret(fd, path, out, err);
    close(fd);
    return st;
}

bool kiln_curve_is_allowed(const kiln_curve_allowed *all, const kiln_curve_key *k) {
    bool is = false; /* all are looked at: time does not tell which */
    for (size_t i = 0; i < all->list.n; i++)
        is = kiln_curve_key_eq(&all->list.v[i], k) || is;
    return is;
}

static kiln_status add(kiln_arena *a, kiln_curve_allowed *all, const kiln_curve_key *k,
                       kiln_err *err) {
    if (all->list.n == KILN_CURVE_MAX_ALLOWED)
        return kiln_fail(err, KILN_ERR_LIMIT, "at most %d keys may be allowed",
                         KILN_CURVE_MAX_ALLOWED);
    kiln_vec_push(a, &all->list, *k);
    return KILN_OK;
}

static kiln_status add_lines(kiln_arena *a, const char *path, kiln_str text,
                             kiln_curve_allowed *all, kiln_err *err) {
    kiln_str line;
    int at = 0;
    while (kiln_str_cut(&text, '\n', &line)) {
        kiln_curve_key k;
        at++;
        line = kiln_str_trim(line);
        if (line.n == 0 || line.p[0] == '#')
            continue;
        if (read_line(line, SECRET_WORD, &k)) {
            kiln_curve_wipe(&k, sizeof k);
            return kiln_fail(err, KILN_ERR_PARSE,
                             "line %d of '%s' is a secret key: give the public one, "
                             "the file beside it that ends in .pub",
                             at, path);
        }
        if (!read_line(line, PUBLIC_WORD, &k))
            return kiln_fail(err, KILN_ERR_PARSE,
                             "line %d of '%s' is no public key: " PUBLIC_WORD
                             " and 64 hexadecimal digits",
                             at, path);
        KILN_TRY(add(a, all, &k, err));
    }
    return KILN_OK;
}

kiln_status kiln_curve_allow(kiln_arena *a, const char *text, kiln_curve_allowed *all,
                             kiln_err *err) {
    kiln_curve_key k;
    kiln_arena scratch = {0};
    kiln_str lines;
    if (read_digits(kiln_str_from(text), &k))
        return add(a, all, &k, err);
    kiln_status st =
        kiln_file_map(&scratch, text, KILN_CURVE_KEY_FILE_MAX, &lines, err);
    if (st == KILN_OK)
        st = add_lines(a, text, lines, all, err);
    else
        kiln_note(err, "looking for a public key: 64 digits, or a file with them");
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_curve_public_read(const char *text, kiln_curve_key *out,
                                   kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_curve_allowed one = {0};
    kiln_status st = kiln_curve_allow(&scratch, text, &one, err);
    if (st == KILN_OK && one.list.n != 1)
        st = kiln_fail(err, KILN_ERR_PARSE, "'%s' has %zu public keys, not one", text,
                       one.list.n);
    if (st == KILN_OK)
        *out = one.list.v[0];
    kiln_arena_fini(&scratch);
    return st;
}
