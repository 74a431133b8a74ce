#include "base/host/machine.h"

#include <sched.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/core/core.h"

const char *kiln_proc_value(kiln_arena *a, const char *path, const char *key) {
    FILE *in = fopen(path, "r"); /* /proc files cannot be mapped */
    if (in == NULL)
        return NULL;
    char line[8192];
    const char *found = NULL;
    while (found == NULL && fgets(line, sizeof line, in) != NULL) {
        kiln_str rest = kiln_str_from(line), left;
        if (kiln_str_cut(&rest, ':', &left) && kiln_str_is(kiln_str_trim(left), key))
            found = kiln_str_dupv(a, kiln_str_trim(rest));
    }
    fclose(in);
    return found;
}

/* x86 has a name for the processor, boards with AArch64 one for the board. */
static const char *cpu_name(kiln_arena *a) {
    static const char *const key[] = {"model name", "Model", "Hardware", "CPU part"};
    const char *name = NULL;
    for (size_t i = 0; name == NULL && i < sizeof key / sizeof key[0]; i++)
        name = kiln_proc_value(a, "/proc/cpuinfo", key[i]);
    return name != NULL ? kiln_str_printable(a, kiln_str_from(name), 128) : "";
}

static int cores(void) {
    cpu_set_t set;
    const int n =
        sched_getaffinity(0, sizeof set, &set) == 0 ? (int)CPU_COUNT(&set) : 0;
    return n > 0 ? n : 1;
}

const char *kiln_machine_process(kiln_arena *a) {
    kiln_machine m;
    kiln_machine_read(a, &m);
    return kiln_format(a, "process %ld on a machine with %s", (long)getpid(), m.os);
}

void kiln_machine_read(kiln_arena *a, kiln_machine *out) {
    struct utsname u;
    const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    *out = (kiln_machine){.cpu = cpu_name(a), .os = "", .cores = cores()};
    if (uname(&u) == 0) {
        const char *os = kiln_format(a, "%s %s %s", u.sysname, u.release, u.machine);
        out->os = kiln_str_printable(a, kiln_str_from(os), 128);
    }
    if (pages > 0 && bytes > 0)
        out->memory_bytes = (int64_t)pages * (int64_t)bytes;
}
