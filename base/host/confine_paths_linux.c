/* Landlock (landlock(7), Linux 5.13 and later), by the numbers of its calls: the C library
 * has no names for them. A ruleset that handles a right and has no rule takes that right
 * away from everything.
 *
 * What a version of it does not know must not be asked for: bits are kept as far as the
 * system's goes. They are the kernel's, <linux/landlock.h> of version 6; older headers do
 * not have all of them. */
#include "base/host/confine.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same everywhere: new calls have one number since 5.1. */
enum { CREATE_RULESET = 444, RESTRICT_SELF = 446, ASKS_VERSION = 1 };

/* struct landlock_ruleset_attr; systems that know fewer members take what they know where
 * the rest is 0, or a shorter one. */
typedef struct ruleset {
    uint64_t files, network, scoped;
} ruleset;

enum {
    FILES_1 = 0x1fff & ~(1 << 2 | 1 << 3), /* all but reading files and folders */
    REFER = 1 << 13,                       /* moving from one folder to another, 2 */
    TRUNCATE = 1 << 14,                    /* 3 */
    NETWORK = 3,                           /* binding and connecting TCP, 4 */
    IOCTL_DEVICE = 1 << 15,                /* 5 */
    SCOPED = 3                             /* abstract Unix sockets, signals, 6 */
};

static ruleset ruleset_of(int version) {
    ruleset r = {.files = FILES_1};
    if (version >= 2)
        r.files |= REFER;
    if (version >= 3)
        r.files |= TRUNCATE;
    if (version >= 4)
        r.network = NETWORK;
    if (version >= 5)
        r.files |= IOCTL_DEVICE;
    if (version >= 6)
        r.scoped = SCOPED;
    return r;
}

static size_t ruleset_bytes(int version) {
    return version >= 6   ? sizeof(ruleset)
           : version >= 4 ? offsetof(ruleset, scoped)
                          : offsetof(ruleset, network);
}

int kiln_confine_paths_version(void) {
    const long version = syscall(CREATE_RULESET, NULL, (size_t)0, ASKS_VERSION);
    return version > 0 ? (int)version : 0;
}

bool kiln_confine_paths(void) {
    const int version = kiln_confine_paths_version();
    if (version == 0)
        return false;
    const ruleset r = ruleset_of(version);
    const int fd = (int)syscall(CREATE_RULESET, &r, ruleset_bytes(version), 0);
    if (fd < 0)
        return false;
    const bool is_done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                         syscall(RESTRICT_SELF, fd, 0) == 0;
    const int error = errno;
    close(fd);
    errno = error;
    return is_done;
}
