/* Log to stderr by level and tag: KILN_LOG=fuse=debug,tuner=info (or one level for all
 * tags). Default: warn. Arguments are not evaluated when the line is off. stdout
 * carries data only. */
#ifndef KILN_BASE_LOG_H
#define KILN_BASE_LOG_H

#include <stdbool.h>

#include "base/core/core.h"

typedef enum kiln_log_level {
    KILN_LOG_ERROR,
    KILN_LOG_WARN,
    KILN_LOG_INFO,
    KILN_LOG_DEBUG
} kiln_log_level;

/* Reads a setting such as "fuse=debug,tuner=info,warn"; NULL or "" is the default. The
 * environment variable KILN_LOG is read at the first use. An unknown level is ignored
 * with a warning. */
void kiln_log_configure(const char *setting);
bool kiln_log_is_on(kiln_log_level level, const char *tag);
void kiln_log_line(kiln_log_level level, const char *tag, const char *fmt, ...)
    KILN_PRINTF(3, 4);

#define KILN_LOG(level, tag, ...)                                                      \
    do {                                                                               \
        if (kiln_log_is_on(KILN_LOG_##level, (tag)))                                   \
            kiln_log_line(KILN_LOG_##level, (tag), __VA_ARGS__);                       \
    } while (0)

#endif
