/* Status codes and message chains: see status.h. */
#include "base/core/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ELLIPSIS[] = "...";
enum { ELLIPSIS_BYTES = sizeof ELLIPSIS - 1, UTF8_MAX_BYTES = 4, EXIT_OOM = 4 };

/* Where to cut text[0, at] so that no UTF-8 sequence is split: text[at] is the first
 * byte to go. */
static size_t utf8_cut(const char *text, size_t at) {
    size_t cut = at;
    while (cut > 0 && at - cut < UTF8_MAX_BYTES &&
           ((unsigned char)text[cut] & 0xC0U) == 0x80U)
        cut--;
    return cut;
}

static bool is_cut(const kiln_err *err) {
    return err->len + UTF8_MAX_BYTES + ELLIPSIS_BYTES > KILN_ERR_TEXT &&
           memcmp(err->text + err->len - ELLIPSIS_BYTES, ELLIPSIS, ELLIPSIS_BYTES) == 0;
}

static void append(kiln_err *err, const char *s, size_t n) {
    const size_t room = KILN_ERR_TEXT - 1 - err->len;
    if (n <= room) {
        memcpy(err->text + err->len, s, n);
        err->len += n;
    } else {
        memcpy(err->text + err->len, s, room);
        err->len = utf8_cut(err->text, KILN_ERR_TEXT - 1 - ELLIPSIS_BYTES);
        memcpy(err->text + err->len, ELLIPSIS, ELLIPSIS_BYTES);
        err->len += ELLIPSIS_BYTES;
    }
    err->text[err->len] = '\0';
}

/* Formats beside the chain, not into it: an argument may be the chain's own text. One
 * byte more than a chain holds, so that append sees that something is missing. */
static void append_format(kiln_err *err, const char *fmt, va_list args)
    KILN_PRINTF(2, 0);
static void append_format(kiln_err *err, const char *fmt, va_list args) {
    char s[KILN_ERR_TEXT + 1];
    const int n = vsnprintf(s, sizeof s, fmt, args);
    if (n < 0) {
        static const char broken[] = "(this message could not be formatted)";
        append(err, broken, sizeof broken - 1);
        return;
    }
    append(err, s, (size_t)n < sizeof s ? (size_t)n : sizeof s - 1);
}

void kiln_fail_text(kiln_err *err, kiln_status status, const char *fmt, ...) {
    KILN_ASSERT(status != KILN_OK, "a failure needs a code: %s", fmt);
    if (err == NULL)
        return;
    kiln_err fresh = {.status = status};
    va_list args;
    va_start(args, fmt);
    append_format(&fresh, fmt, args);
    va_end(args);
    err->status = fresh.status;
    err->len = fresh.len;
    memcpy(err->text, fresh.text, fresh.len + 1);
}

void kiln_note(kiln_err *err, const char *fmt, ...) {
    if (err == NULL || is_cut(err))
        return;
    kiln_err line = {.status = err->status};
    va_list args;
    va_start(args, fmt);
    append_format(&line, fmt, args);
    va_end(args);
    static const char lead[] = "\n  while ";
    append(err, lead, sizeof lead - 1);
    if (!is_cut(err))
        append(err, line.text, line.len);
}

void kiln_err_clear(kiln_err *err) {
    if (err == NULL)
        return;
    err->status = KILN_OK;
    err->len = 0;
    err->text[0] = '\0';
}

const char *kiln_status_name(kiln_status status) {
    switch (status) {
    case KILN_OK:
        return "OK";
    case KILN_ERR_ARG:
        return "ARG";
    case KILN_ERR_PARSE:
        return "PARSE";
    case KILN_ERR_SHAPE:
        return "SHAPE";
    case KILN_ERR_UNSUPPORTED:
        return "UNSUPPORTED";
    case KILN_ERR_LIMIT:
        return "LIMIT";
    case KILN_ERR_MISSING:
        return "MISSING";
    case KILN_ERR_IO:
        return "IO";
    case KILN_ERR_LIB:
        return "LIB";
    case KILN_ERR_OOM:
        return "OOM";
    case KILN_ERR_BUG:
        return "BUG";
    case KILN_ERR_INTERRUPTED:
        return "INTERRUPTED";
    }
    return "UNKNOWN";
}

void kiln_assert_failed(const char *file, int line, const char *cond, const char *fmt,
                        ...) {
    flockfile(stderr);
    fprintf(stderr, "%s:%d: broken invariant '%s': ", file, line, cond);
    va_list args;
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    funlockfile(stderr);
    abort();
}

void kiln_out_of_memory(size_t bytes) {
    fprintf(stderr, "error: out of memory: %zu bytes were asked for\n", bytes);
    /* Not exit(): handlers may want memory, or a lock that another thread holds. */
    _Exit(EXIT_OOM);
}
