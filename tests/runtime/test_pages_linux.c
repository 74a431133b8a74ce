/* Blocks of every size are aligned and can be written to their last byte; of large ones,
 * and of large files that are mapped, the system is asked for huge pages. */
#include "runtime/pages.h"
#include "tests/support/kiln_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* A file's pages are as they were; of a small one nothing is asked. */
static void mapped_files_want_huge_pages(void **state) {
    (void)state;
    if (!kiln_file_exists("/sys/kernel/mm/transparent_hugepage/enabled"))
        kiln_test_skip("this system has no transparent huge pages");
    const size_t bytes[] = {4096, KILN_HUGE_PAGE + 4096};
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_int_equal(ftruncate(fileno(f), (off_t)bytes[1]), 0);
    for (int i = 0; i < 2; i++) {
        char *map = mmap(NULL, bytes[i], PROT_READ, MAP_PRIVATE, fileno(f), 0);
        assert_ptr_not_equal(map, MAP_FAILED);
        kiln_pages_advise(map, bytes[i]);
        assert_int_equal(has_flag(map, " hg"), i);
        assert_int_equal(map[0] | map[bytes[i] - 1], 0);
        assert_int_equal(munmap(map, bytes[i]), 0);
    }
    assert_int_equal(fclose(f), 0);
}

int main(void) {
    kiln_test_add("blocks_are_aligned_and_whole", blocks_are_aligned_and_whole, NULL);
    kiln_test_add("large_blocks_want_huge_pages", large_blocks_want_huge_pages, NULL);
    kiln_test_add("mapped_files_want_huge_pages", mapped_files_want_huge_pages, NULL);
    return kiln_test_run("pages");
}
