#include "tests/support/measuring/env_of_bench.h"

#include <stdlib.h>
#include <time.h>

#include "tests/support/kiln_test.h"

int kiln_bench_number(const char *name, int otherwise) {
    const char *text = getenv(name);
    int64_t v = otherwise;
    if (text != NULL && !kiln_parse_i64(kiln_str_from(text), &v))
        fail_msg("%s must be a number, is '%s'", name, text);
    return (int)v;
}

bool kiln_bench_is_chosen(const char *name) {
    const char *list = getenv("KILN_OPS");
    kiln_str rest = kiln_str_from(list != NULL ? list : ""), head;
    while (kiln_str_cut(&rest, ',', &head))
        if (kiln_str_is(head, name))
            return true;
    return list == NULL;
}

double kiln_bench_thread_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
