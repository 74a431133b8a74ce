/* What a process's data limit counts, from /proc. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "pipeline/measure/wire/wire.h"

/* The sixth number of statm, in pages. No stdio: handlers of signals call this. */
uint64_t kiln_data_bytes(int pid) {
    char path[32] = "/proc/self/statm", text[128];
    if (pid != 0)
        (void)snprintf(path, sizeof path, "/proc/%d/statm", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
    if (fd >= 0)
        close(fd);
    uint64_t pages = 0;
    int field = 0;
    for (ssize_t i = 0; i < n && field < 6; i++) {
        if (text[i] == ' ')
            field++;
        else if (field == 5 && text[i] >= '0' && text[i] <= '9')
            pages = pages * 10 + (uint64_t)(text[i] - '0');
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
