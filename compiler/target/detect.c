/* This machine: what any system says. Instruction sets are in the folders. */
#include "compiler/target/target_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct caches {
    int64_t l1, l2, l3, line, ways; /* bytes; the last two of L1; 0: not known */
} caches;

/* What Linux says of the first processor's n-th cache; "": nothing. */
static void read_line(int n, const char *what, char out[16]) {
    char path[96];
    (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s",
                   n, what);
    FILE *f = fopen(path, "r");
    out[0] = '\0';
    if (f == NULL)
        return;
    if (fgets(out, 16, f) == NULL)
        out[0] = '\0';
    (void)fclose(f);
}

/* In bytes, where it is a size. */
static int64_t told(int n, const char *what) {
    char line[16], *end;
    read_line(n, what, line);
    const long long value = strtoll(line, &end, 10);
    return *end == 'K' ? (int64_t)value * 1024 : (int64_t)value;
}

static bool is_for_code(int n) {
    static const char word[] = "Instruction";
    char line[16];
    read_line(n, "type", line);
    return strncmp(line, word, sizeof word - 1) == 0;
}

/* What sysconf says of L3 is, on AMD's, the sum of all that a package has: on a Zen 4
 * 320 MiB in place of the 32 that a core can use. Of other machines it often knows none.
 */
static caches caches_here(void) {
    enum { MOST = 8 };
    caches c = {.l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE),
                .l2 = sysconf(_SC_LEVEL2_CACHE_SIZE),
                .l3 = sysconf(_SC_LEVEL3_CACHE_SIZE),
                .line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE),
                .ways = sysconf(_SC_LEVEL1_DCACHE_ASSOC)};
    for (int n = 0; n < MOST; n++) {
        const int64_t level = told(n, "level"), bytes = told(n, "size");
        int64_t *const known[] = {NULL, &c.l1, &c.l2, &c.l3};
        if (level < 1 || level > 3 || bytes < 1 || is_for_code(n))
            continue;
        *known[level] = bytes;
        if (level == 1) {
            const int64_t line = told(n, "coherency_line_size"),
                          ways = told(n, "ways_of_associativity");
            c.line = line > 0 ? line : c.line;
            c.ways = ways > 0 ? ways : c.ways;
        }
    }
    return c;
}

void kiln_profile_detect_system(kiln_profile *p) {
    const caches c = caches_here();
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    p->name = "native";
    p->l1d_bytes = c.l1 > 0 ? c.l1 : 0;
    p->l2_bytes = c.l2 > 0 ? c.l2 : 0;
    p->l3_bytes = c.l3 > 0 ? c.l3 : 0;
    /* Only what is uncommon: profiles of most machines say neither. */
    kiln_profile common = *p;
    common.core.line_bytes = common.core.l1_way_kib = 0;
    const int64_t way = c.ways > 0 && c.l1 > 0 ? c.l1 / c.ways : 0;
    if (c.line > 0 && c.line <= 4096 && c.line != kiln_line_bytes(&common))
        p->core.line_bytes = (int)c.line;
    if (way >= 1024 && way != kiln_l1_way_bytes(&common))
        p->core.l1_way_kib = (int)(way / 1024);
    p->cores = cores > 0 ? (int)cores : 1;
}
