/* Shared by packager_keys.c, signature.c and keyring.c: lines of minisign's files. */
#ifndef KILN_PACKAGER_SIGN_INTERNAL_H
#define KILN_PACKAGER_SIGN_INTERNAL_H

#include "packager/sign.h"

#define KILN_SIGN_UNTRUSTED "untrusted comment: "
#define KILN_SIGN_TRUSTED "trusted comment: "
enum { KILN_SIGN_COMMENT_MAX = 1024 };

/* UTF-8 without control characters but tabs. */
bool kiln_sign_is_line(kiln_str line);
/* Up to the next end of line, which must be there. */
bool kiln_sign_cut_line(kiln_str *rest, kiln_str *line);
/* The same of "PREFIX...", at most so many bytes behind the prefix. */
bool kiln_sign_cut_comment(kiln_str *rest, const char *prefix, size_t most,
                           kiln_str *comment);

#endif
