/* Threads each on a processor of their own. Linux, for the affinity of a thread by its
 * number. */
#include "pipeline/baselines/library/library.h"

#include <sched.h>

/* The nth processor of a set, round and round. */
static void choose(const cpu_set_t *all, int nth, cpu_set_t *out) {
    int left = nth % CPU_COUNT(all);
    CPU_ZERO(out);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, all) && left-- == 0)
            CPU_SET(cpu, out);
}

kiln_status kiln_library_spread(kiln_err *err) {
    kiln_arena a = {0};
    char **id;
    size_t n;
    cpu_set_t all, one;
    const bool is_known =
        sched_getaffinity(0, sizeof all, &all) == 0 && CPU_COUNT(&all) > 0;
    kiln_status st = kiln_dir_list(&a, "/proc/self/task", &id, &n, err);
    for (size_t i = 0; st == KILN_OK && is_known && i < n; i++) {
        int64_t thread;
        choose(&all, (int)i, &one);
        if (!kiln_parse_i64(kiln_str_from(id[i]), &thread) ||
            sched_setaffinity((pid_t)thread, sizeof one, &one) != 0)
            st = kiln_fail(err, KILN_ERR_LIB, "thread %s cannot be given a processor",
                           id[i]);
    }
    kiln_arena_fini(&a);
    return st;
}
