/* Planted faults: which one the environment names. */
#include "base/fault.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/core.h"

static const kiln_fault_row rows[] = {
#define KILN_FAULT_ROW(name, doc) {#name, doc},
#include "base/faults.def"
#undef KILN_FAULT_ROW
};

const kiln_fault_row *kiln_fault_at(int i) { return &rows[i]; }

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int wanted = -1; /* -1: none */
static atomic_flag has_fired = ATOMIC_FLAG_INIT;

static void read_environment(void) {
    const char *name = getenv("KILN_FAULT");
    if (name == NULL || name[0] == '\0')
        return;
    for (int i = 0; i < KILN_N_FAULTS; i++)
        if (strcmp(rows[i].name, name) == 0)
            wanted = i;
    KILN_ASSERT(wanted >= 0, "KILN_FAULT names '%s', which is no row of faults.def",
                name);
}

/* At once: the process may end in any way. */
static void tell(kiln_fault f) {
    const char *path = getenv("KILN_FAULT_FIRED");
    const int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (fd < 0)
        return;
    const ssize_t written = write(fd, rows[f].name, strlen(rows[f].name));
    (void)written;
    close(fd);
}

bool kiln_fault_is(kiln_fault f) {
    pthread_once(&once, read_environment);
    if ((int)f != wanted)
        return false;
    if (!atomic_flag_test_and_set(&has_fired))
        tell(f);
    return true;
}
