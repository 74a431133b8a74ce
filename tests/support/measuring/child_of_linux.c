/* Processes by their parents, for tests; Linux, for /proc. */
#include "tests/support/measuring/child_of.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "tests/support/kiln_test.h"

enum { MOST = 16 };

static size_t children_of(int parent, int child[MOST]) {
    char path[300], text[512];
    size_t n = 0;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (const struct dirent *e; (e = readdir(proc)) != NULL && n < MOST;) {
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
            child[n++] = (int)number;
    }
    (void)closedir(proc);
    return n;
}

int kiln_test_a_child_of(int parent, uint64_t random) {
    int child[MOST];
    const size_t n = children_of(parent, child);
    return n > 0 ? child[random % n] : 0;
}

int kiln_test_child_of(int parent) { return kiln_test_a_child_of(parent, 0); }
