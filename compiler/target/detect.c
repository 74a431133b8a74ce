/* This machine: what any system says. Instruction sets are in the folders. */
#include "compiler/target/target_internal.h"

#include <unistd.h>

void kiln_profile_detect_system(kiln_profile *p) {
    const int64_t l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE),
                  l2 = sysconf(_SC_LEVEL2_CACHE_SIZE),
                  l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
    const int64_t line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE),
                  ways = sysconf(_SC_LEVEL1_DCACHE_ASSOC);
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    p->name = "native";
    p->l1d_bytes = l1 > 0 ? l1 : 0;
    p->l2_bytes = l2 > 0 ? l2 : 0;
    p->l3_bytes = l3 > 0 ? l3 : 0;
    /* Only what is uncommon: profiles of most machines say neither. */
    kiln_profile common = *p;
    common.core.line_bytes = common.core.l1_way_kib = 0;
    const int64_t way = ways > 0 && l1 > 0 ? l1 / ways : 0;
    if (line > 0 && line <= 4096 && line != kiln_line_bytes(&common))
        p->core.line_bytes = (int)line;
    if (way >= 1024 && way != kiln_l1_way_bytes(&common))
        p->core.l1_way_kib = (int)(way / 1024);
    p->cores = cores > 0 ? (int)cores : 1;
}
