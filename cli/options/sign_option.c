#include "cli/options/sign_option.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum {
    MAX_FILE = 4096, /* bytes */
    END_OF_TEXT = 3  /* what Ctrl-C is where it makes no signal */
};

/* An empty variable is none. */
static const char *option_or_env(const kiln_cli_args *args, int option,
                                 const char *variable) {
    const char *env = getenv(variable);
    const char *otherwise = env != NULL && env[0] != '\0' ? env : NULL;
    return kiln_args_get(args, option, otherwise);
}

kiln_status kiln_cli_keyring(const kiln_cli_args *args, int option,
                             const kiln_keyring **out, kiln_err *err) {
    const char *path = option_or_env(args, option, "KILN_KEYRING");
    kiln_keyring *ring = kiln_new(args->arena, kiln_keyring);
    *out = NULL;
    if (path == NULL)
        return KILN_OK;
    KILN_TRY(kiln_keyring_open(args->arena, path, ring, err));
    *out = ring;
    return KILN_OK;
}

/* ---- passwords ------------------------------------------------------------------- */

void kiln_cli_wipe_password(char password[KILN_PASSWORD_MAX + 1]) {
    volatile char *p = password;
    for (size_t i = 0; i <= KILN_PASSWORD_MAX; i++)
        p[i] = '\0';
}

/* The first line. */
static kiln_status read_file(const char *path, char password[KILN_PASSWORD_MAX + 1],
                             kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_str text, line;
    kiln_status st = kiln_file_map(&scratch, path, MAX_FILE, &text, err);
    if (st == KILN_OK) {
        (void)kiln_str_cut(&text, '\n', &line);
        if (kiln_str_ends(line, "\r"))
            line.n--;
        if (line.n == 0 || line.n > KILN_PASSWORD_MAX ||
            memchr(line.p, '\0', line.n) != NULL)
            st = kiln_fail(err, KILN_ERR_PARSE,
                           "'%s': a password is a line of 1 to %d bytes", path,
                           KILN_PASSWORD_MAX);
        else
            memcpy(password, line.p, line.n);
    }
    kiln_arena_fini(&scratch);
    return st;
}

static bool write_text(int fd, const char *text) {
    const size_t n = strlen(text);
    return write(fd, text, n) == (ssize_t)n;
}

static kiln_status read_line(int fd, char password[KILN_PASSWORD_MAX + 1],
                             kiln_err *err) {
    size_t n = 0;
    for (;;) {
        char c = '\0';
        const ssize_t got = read(fd, &c, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || c == '\n' || c == '\0')
            break;
        if (c == END_OF_TEXT)
            return kiln_fail(err, KILN_ERR_ARG, "no password was given");
        if (n == KILN_PASSWORD_MAX)
            return kiln_fail(err, KILN_ERR_LIMIT, "a password has at most %d bytes",
                             KILN_PASSWORD_MAX);
        password[n++] = c;
    }
    return n > 0 ? KILN_OK : kiln_fail(err, KILN_ERR_ARG, "no password was given");
}

/* Nothing is shown, and Ctrl-C is a character: a signal would leave the terminal so. */
static kiln_status ask_terminal(int fd, const char *prompt,
                                char password[KILN_PASSWORD_MAX + 1], kiln_err *err) {
    struct termios before, quiet;
    if (tcgetattr(fd, &before) != 0 || !write_text(fd, prompt))
        return kiln_fail(err, KILN_ERR_IO, "the terminal cannot ask for a password");
    quiet = before;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
    if (tcsetattr(fd, TCSAFLUSH, &quiet) != 0)
        return kiln_fail(err, KILN_ERR_IO, "the terminal would show the password");
    const kiln_status st = read_line(fd, password, err);
    (void)tcsetattr(fd, TCSAFLUSH, &before);
    (void)write_text(fd, "\n");
    return st;
}

static kiln_status ask(const char *prompt, char password[KILN_PASSWORD_MAX + 1],
                       kiln_err *err) {
    const int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "there is no terminal to ask for the password: give it by "
                         "--password-file FILE");
    const kiln_status st = ask_terminal(fd, prompt, password, err);
    close(fd);
    return st;
}

kiln_status kiln_cli_new_password(const kiln_cli_args *args, int password_option,
                                  char password[KILN_PASSWORD_MAX + 1], kiln_err *err) {
    char again[KILN_PASSWORD_MAX + 1];
    const char *path = option_or_env(args, password_option, "KILN_PASSWORD_FILE");
    kiln_cli_wipe_password(password);
    if (path != NULL)
        return read_file(path, password, err);
    kiln_cli_wipe_password(again);
    kiln_status st = ask("password of the new key: ", password, err);
    if (st == KILN_OK)
        st = ask("once more: ", again, err);
    if (st == KILN_OK && strcmp(password, again) != 0)
        st = kiln_fail(err, KILN_ERR_ARG, "the two passwords are not the same");
    kiln_cli_wipe_password(again);
    return st;
}

/* ---- secret keys ----------------------------------------------------------------- */

static kiln_status open_key(const kiln_cli_args *args, kiln_str text, const char *path,
                            int password_option, kiln_secret_key *out, kiln_err *err) {
    char password[KILN_PASSWORD_MAX + 1];
    const char *file = option_or_env(args, password_option, "KILN_PASSWORD_FILE");
    kiln_str given = {NULL, 0};
    if (!kiln_secret_key_wants_password(text))
        return kiln_secret_key_read(text, path, given, out, err);
    kiln_cli_wipe_password(password);
    kiln_status st =
        file != NULL
            ? read_file(file, password, err)
            : ask(kiln_format(args->arena, "password of '%s': ", path), password, err);
    KILN_ASSERT(memchr(password, '\0', sizeof password) != NULL, "a password ends");
    given = (kiln_str){password, strlen(password)};
    if (st == KILN_OK)
        st = kiln_secret_key_read(text, path, given, out, err);
    kiln_cli_wipe_password(password);
    return st;
}

kiln_status kiln_cli_secret_key(const kiln_cli_args *args, const char *path,
                                int password_option, kiln_secret_key *out,
                                kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_str text;
    kiln_status st = kiln_file_map(&scratch, path, KILN_KEY_FILE_MAX, &text, err);
    if (st == KILN_OK)
        st = open_key(args, text, path, password_option, out, err);
    kiln_arena_fini(&scratch);
    return st;
}
