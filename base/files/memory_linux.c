/* Files in memory (memfd), and how much memory there is. Linux, for memfd and /proc.
 *
 * The path is /proc/PID/fd/N: a link that other processes of the same user open like
 * any file, which gives them a description of their own. */
#include "base/files/file.h"
#include "base/host/host.h"
#include "base/core/core.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool kiln_memory_file(kiln_arena *a, int *fd, const char **path) {
    const int file = memfd_create("kiln", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return false;
    const char *link =
        kiln_format(a, "/proc/%" PRId64 "/fd/%d", (int64_t)getpid(), file);
    if (access(link, R_OK) != 0) { /* /proc is not there, or hidden */
        close(file);
        return false;
    }
    *fd = file;
    *path = link;
    return true;
}

/* EBUSY is for a moment: the kernel, on a machine that is short of memory, or another
 * process holds a page of it. */
kiln_status kiln_memory_file_seal(int fd, kiln_err *err) {
    enum { MOST_TRIES = 300 };
    const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    const struct timespec tick = {.tv_nsec = 10000000};
    int tries = 1;
    while (fcntl(fd, F_ADD_SEALS, seals) != 0) {
        if (errno != EBUSY || tries == MOST_TRIES)
            return kiln_fail(err, KILN_ERR_IO, "sealing a file in memory: %s",
                             strerror(errno));
        (void)nanosleep(&tick, NULL);
        tries++;
    }
    return KILN_OK;
}

/* Pages are joined where they are mapped, and only at a place that a huge one could have.
 * Elsewhere, and by other processes, they are then mapped as they lie. */
void kiln_memory_file_huge(int fd) {
    /* MADV_COLLAPSE, for which glibc before 2.37 has no name. */
    enum { HUGE_PAGE = 2 << 20, COLLAPSE = 25 };
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size < HUGE_PAGE)
        return;
    const size_t bytes = (size_t)st.st_size / HUGE_PAGE * HUGE_PAGE,
                 room = bytes + HUGE_PAGE;
    unsigned char *map =
        mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return;
    unsigned char *at = map + (HUGE_PAGE - (uintptr_t)map % HUGE_PAGE) % HUGE_PAGE;
    void *file = mmap(at, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
    if (file != MAP_FAILED)
        (void)madvise(file, bytes, COLLAPSE);
    (void)munmap(map, room);
}

void kiln_memory_forget(void *p, size_t bytes) { madvise(p, bytes, MADV_DONTNEED); }

/* A file that is one number; UINT64_MAX: it is none, or says "max". */
static uint64_t number_in(const char *path) {
    char line[32] = "";
    int64_t n = -1;
    FILE *in = fopen(path, "re");
    if (in == NULL)
        return UINT64_MAX;
    const bool has = fgets(line, sizeof line, in) != NULL;
    fclose(in);
    if (!has || !kiln_parse_i64(kiln_str_trim(kiln_str_from(line)), &n) || n < 0)
        return UINT64_MAX;
    return (uint64_t)n;
}

/* What a control group may have, less what it has: cgroups of version 2, then 1, as
 * containers see their own. */
static uint64_t left_of_group(void) {
    static const char *const file[][2] = {
        {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes",
         "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++) {
        const uint64_t most = number_in(file[i][0]), now = number_in(file[i][1]);
        if (most != UINT64_MAX && now != UINT64_MAX)
            return most > now ? most - now : 0;
    }
    return UINT64_MAX;
}

uint64_t kiln_memory_available(void) {
    kiln_arena scratch = {0};
    const char *text = kiln_proc_value(&scratch, "/proc/meminfo", "MemAvailable");
    kiln_str rest = kiln_str_from(text != NULL ? text : ""), number; /* "123 kB" */
    int64_t kib = 0;
    if (!kiln_str_cut(&rest, ' ', &number) || !kiln_parse_i64(number, &kib) || kib < 0)
        kib = 0;
    kiln_arena_fini(&scratch);
    const uint64_t machine = (uint64_t)kib << 10, group = left_of_group();
    return machine < group ? machine : group;
}
