/* Status codes and the message chain that travels with them (house style, section 5).
 *
 * A function that can fail returns kiln_status, takes `kiln_err *err` last and leaves
 * its outputs alone on failure. The chain holds the root cause first, then what each
 * caller knew.
 */
#ifndef KILN_BASE_STATUS_H
#define KILN_BASE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/core/attr.h"

/* What the caller can do about it. A new code needs a new reaction. */
typedef enum kiln_status {
    KILN_OK = 0,
    KILN_ERR_ARG,         /* wrong usage: call it differently */
    KILN_ERR_PARSE,       /* the input is not what its format says */
    KILN_ERR_SHAPE,       /* types or shapes do not fit together */
    KILN_ERR_UNSUPPORTED, /* valid, but kiln does not do it: the message names a remedy
                           */
    KILN_ERR_LIMIT,       /* a size or count passes a named limit */
    KILN_ERR_MISSING, /* a file or folder that was named is not there: name another */
    KILN_ERR_IO,      /* the file system or a device said no */
    KILN_ERR_LIB,     /* a library failed in a way we do not expect */
    KILN_ERR_OOM,     /* out of memory; the runtime alone returns it */
    KILN_ERR_BUG, /* kiln found itself wrong: what it made is not what it must be. The
                    text says where; nothing of it may be used */
    KILN_ERR_INTERRUPTED /* somebody asked it to stop: call it again */
} kiln_status;

enum { KILN_ERR_TEXT = 2048 };

/* Fixed size, never allocates; a text that does not fit is cut and ends in "...".
 * A zeroed struct is an empty chain. */
typedef struct kiln_err {
    kiln_status status;
    size_t len;
    char text[KILN_ERR_TEXT]; /* root cause, then "\n  while ..." lines */
} kiln_err;

/* Starts a chain: sets the root cause and returns `status`, so that `return
 * kiln_fail(...)` works. `err` may be NULL: then the text is lost and the code alone is
 * returned. A macro, so that compilers see which status comes back: a function with a
 * variable number of arguments is never inlined, and every caller's output would look
 * as if it might be used after KILN_OK. */
#define kiln_fail(err, status, ...)                                                    \
    (kiln_fail_text((err), (status), __VA_ARGS__), kiln_fail_status(status))
void kiln_fail_text(kiln_err *err, kiln_status status, const char *fmt, ...)
    KILN_PRINTF(3, 4);
static inline kiln_status kiln_fail_status(kiln_status status) { return status; }

/* Adds "while <text>" to a chain that has a root cause; called only by a caller that
 * knows a name the callee did not. */
void kiln_note(kiln_err *err, const char *fmt, ...) KILN_PRINTF(2, 3);

/* Says nothing about what was looked at, whatever that is: a file that is not there,
 * the file system, memory, an interrupt. A verdict must not be made of it. */
static inline bool kiln_status_is_environment(kiln_status s) {
    return s == KILN_ERR_MISSING || s == KILN_ERR_IO || s == KILN_ERR_OOM ||
           s == KILN_ERR_INTERRUPTED;
}

/* Empties the chain, for a caller that goes on after a failure. */
void kiln_err_clear(kiln_err *err);

/* "ARG", "PARSE", ...: the word used in logs and JSON. Never NULL. */
const char *kiln_status_name(kiln_status status);

/* Returns at once on failure; only where nothing needs releasing (arena memory never
 * does). */
#define KILN_TRY(call)                                                                 \
    do {                                                                               \
        const kiln_status kiln_try_status = (call);                                    \
        if (kiln_try_status != KILN_OK)                                                \
            return kiln_try_status;                                                    \
    } while (0)

/* A broken invariant of our own: prints file, line and text to stderr and aborts. Never
 * for what a file, a model or the network says. The macro is kept in release builds: a
 * wrong answer costs more than the test. */
#define KILN_ASSERT(cond, ...)                                                         \
    do {                                                                               \
        if (!(cond))                                                                   \
            kiln_assert_failed(__FILE__, __LINE__, #cond, __VA_ARGS__);                \
    } while (0)

void kiln_assert_failed(const char *file, int line, const char *cond, const char *fmt,
                        ...) KILN_NORETURN KILN_PRINTF(4, 5);

/* Out of memory ends a tool: prints what was asked for and exits with code 4 (house
 * style, section 4). Finished work is on disk by then. */
void kiln_out_of_memory(size_t bytes) KILN_NORETURN;

#endif
