/* Options about keys (docs/signatures.md): whose archives are taken, and the secret key
 * that signs, with its password. */
#ifndef KILN_CLI_SIGN_OPTION_H
#define KILN_CLI_SIGN_OPTION_H

#include "cli/cli.h"

#define KILN_KEYRING_OPTION                                                            \
    {                                                                                  \
        "--keyring", "DIR",                                                            \
            "take archives only that are signed by a key of this folder, or by this "  \
            "NAME.pub ($KILN_KEYRING)",                                                \
            false                                                                      \
    }
#define KILN_PASSWORD_OPTION                                                           \
    {                                                                                  \
        "--password-file", "FILE",                                                     \
            "the secret key's password: this file's first line ($KILN_PASSWORD_FILE, " \
            "or "                                                                      \
            "asked for at a terminal)",                                                \
            false                                                                      \
    }

/* What the option says, else $KILN_KEYRING; NULL: no key is required. */
kiln_status kiln_cli_keyring(const kiln_cli_args *args, int option,
                             const kiln_keyring **out, kiln_err *err);
/* Opens a secret key, by its password where it has one. */
kiln_status kiln_cli_secret_key(const kiln_cli_args *args, const char *path,
                                int password_option, kiln_secret_key *out,
                                kiln_err *err);
/* A new key's password, asked for twice. `password` is the caller's to wipe;
 * KILN_ERR_ARG: neither file nor terminal. */
kiln_status kiln_cli_new_password(const kiln_cli_args *args, int password_option,
                                  char password[KILN_PASSWORD_MAX + 1], kiln_err *err);
void kiln_cli_wipe_password(char password[KILN_PASSWORD_MAX + 1]);

#endif
