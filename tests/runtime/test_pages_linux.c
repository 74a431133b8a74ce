/* Blocks of every size are aligned and can be written to their last byte; of large ones
 * the system is asked for huge pages, from their beginning on. */
#include "runtime/pages.h"
#include "tests/support/kiln_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ALIGN = 64 };

static const size_t sizes[] = {1,
                               ALIGN - 1,
                               ALIGN,
                               ALIGN + 1,
                               4096,
                               KILN_HUGE_PAGE - 1,
                               KILN_HUGE_PAGE,
                               KILN_HUGE_PAGE + 1,
                               3 * (size_t)KILN_HUGE_PAGE + 4097};

static void blocks_are_aligned_and_whole(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *p = kiln_pages_alloc(ALIGN, sizes[i]);
        assert_non_null(p);
        const size_t align = sizes[i] < KILN_HUGE_PAGE ? ALIGN : KILN_HUGE_PAGE;
        assert_int_equal((uintptr_t)p % align, 0);
        memset(p, 1, sizes[i]);
        kiln_pages_release(p);
    }
    assert_null(kiln_pages_alloc(ALIGN, SIZE_MAX));
    if (!kiln_test_is_sanitized()) /* which ends the process in place of saying no */
        assert_null(kiln_pages_alloc(ALIGN, SIZE_MAX - ALIGN));
}

/* Does the mapping at p have the flag, as /proc/self/smaps says? -1: it is not there. */
static int has_flag(const void *p, const char *flag) {
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[512];
    bool is_it = false;
    int found = -1;
    while (f != NULL && found < 0 && fgets(line, sizeof line, f) != NULL) {
        uintptr_t begin = 0, end = 0;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2)
            is_it = (uintptr_t)p >= begin && (uintptr_t)p < end;
        else if (is_it && strncmp(line, "VmFlags:", 8) == 0)
            found = strstr(line, flag) != NULL;
    }
    if (f != NULL)
        (void)fclose(f);
    return found;
}

static void large_blocks_want_huge_pages(void **state) {
    (void)state;
    if (!kiln_file_exists("/sys/kernel/mm/transparent_hugepage/enabled"))
        kiln_test_skip("this system has no transparent huge pages");
    char *large = kiln_pages_alloc(ALIGN, 2 * (size_t)KILN_HUGE_PAGE + 1);
    assert_non_null(large);
    assert_int_equal(has_flag(large, " hg"), 1);
    assert_int_equal(has_flag(large + 2 * (size_t)KILN_HUGE_PAGE - 1, " hg"), 1);
    kiln_pages_release(large);
}

int main(void) {
    kiln_test_add("blocks_are_aligned_and_whole", blocks_are_aligned_and_whole, NULL);
    kiln_test_add("large_blocks_want_huge_pages", large_blocks_want_huge_pages, NULL);
    return kiln_test_run("pages");
}
