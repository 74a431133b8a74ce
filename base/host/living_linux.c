/* Which processes there are. Linux, for /proc (proc(5), /proc/pid/stat). */
#include "base/host/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t kiln_process_start(int64_t pid) {
    /* Behind the name: state, and 18 numbers before the start, which is field 22. */
    enum { BETWEEN = 18 };
    char path[64], text[1024], state = 'X';
    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    const size_t n = fread(text, 1, sizeof text - 1, f);
    (void)fclose(f);
    text[n] = '\0';
    const char *behind = strrchr(text, ')'); /* names may hold anything */
    if (behind == NULL || sscanf(behind, ") %c", &state) != 1 || state == 'Z' ||
        state == 'X')
        return 0;
    kiln_str rest = kiln_str_from(behind + 4), word;
    int64_t start = 0;
    for (int i = 0; i <= BETWEEN; i++)
        if (!kiln_str_cut(&rest, ' ', &word))
            return 0;
    return kiln_parse_i64(word, &start) && start > 0 ? (uint64_t)start : 0;
}
