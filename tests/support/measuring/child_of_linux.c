/* Processes by their parents, for tests; Linux, for /proc. */
#include "tests/support/measuring/child_of.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "tests/support/kiln_test.h"

int kiln_test_child_of(int parent) {
    char path[300], text[512];
    int found = 0;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (const struct dirent *e; (e = readdir(proc)) != NULL && found == 0;) {
        int64_t number;
        int of = 0;
        if (!kiln_parse_i64(kiln_str_from(e->d_name), &number))
            continue;
        (void)snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        FILE *f = fopen(path, "r");
        if (f == NULL)
            continue;
        text[fread(text, 1, sizeof text - 1, f)] = '\0';
        (void)fclose(f);
        const char *behind = strrchr(text, ')');
        if (behind != NULL && sscanf(behind, ") %*c %d", &of) == 1 && of == parent)
            found = (int)number;
    }
    (void)closedir(proc);
    return found;
}
