#include "runtime/affinity.h"

#include <sched.h>
#include <string.h>

_Static_assert(sizeof(cpu_set_t) == KILN_AFFINITY_BYTES, "glibc's set");

kiln_affinity kiln_affinity_get(void) {
    kiln_affinity a = {.n = 0};
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return a;
    a.n = CPU_COUNT(&set);
    memcpy(a.set, &set, sizeof set);
    return a;
}

void kiln_affinity_set(const kiln_affinity *a) {
    cpu_set_t set;
    memcpy(&set, a->set, sizeof set);
    if (a->n > 0)
        (void)sched_setaffinity(0, sizeof set, &set);
}

void kiln_affinity_pin(const kiln_affinity *a, int i) {
    cpu_set_t all, one;
    int left = a->n > 0 ? i % a->n : 0;
    memcpy(&all, a->set, sizeof all);
    CPU_ZERO(&one);
    for (size_t cpu = 0; a->n > 0 && cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all) || left-- > 0)
            continue;
        CPU_SET(cpu, &one);
        (void)sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

int kiln_affinity_here(void) { return sched_getcpu(); }

int kiln_affinity_keep_off(const kiln_affinity *a, pthread_t thread, const int *cpu,
                           int n) {
    cpu_set_t set;
    memcpy(&set, a->set, sizeof set);
    for (int i = 0; i < n; i++)
        if (cpu[i] >= 0 && cpu[i] < CPU_SETSIZE)
            CPU_CLR((size_t)cpu[i], &set);
    return a->n > 0 && CPU_COUNT(&set) > 0 &&
           pthread_setaffinity_np(thread, sizeof set, &set) == 0;
}
