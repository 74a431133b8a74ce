/* Arenas: alignment, zeroing, marks, deferred calls, and that big objects cost nothing
 * untouched. Everything that can be is run with shared blocks and with one malloc for
 * each object. */
#include "tests/support/kiln_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#elif __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
static int is_poisoned(const void *p) { return __asan_address_is_poisoned(p); }
#endif

static void use_one_malloc_each(bool on) {
    assert_int_equal(setenv("KILN_ARENA_EACH", on ? "1" : "0", 1), 0);
}

static bool is_zero(const unsigned char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (p[i] != 0)
            return false;
    return true;
}

typedef struct size_row {
    const char *name;
    size_t bytes, align;
} size_row;

static size_row size_rows[] = {
    {"aligns_nothing_to_16", 0, 16},
    {"aligns_one_byte_to_16", 1, 16},
    {"aligns_63_bytes_to_16", 63, 16},
    {"aligns_64_bytes_to_64", 64, 64},
    {"aligns_65_bytes_to_64", 65, 64},
    {"aligns_a_whole_block_to_64", 64 * 1024, 64},
    {"aligns_more_than_a_block_to_64", 64 * 1024 + 1, 64},
    {"aligns_the_largest_shared_object_to_64", 256 * 1024, 64},
    {"aligns_the_smallest_big_object_to_64", 256 * 1024 + 1, 64},
    {"aligns_5_MiB_to_64", 5 * 1024 * 1024, 64},
};

/* Twice, behind an odd object each, and again after a reset: the second round gets
 * dirty memory. */
static void check_size(void **state) {
    const size_row *r = *state;
    for (int each = 0; each < 2; each++) {
        use_one_malloc_each(each == 1);
        kiln_arena a = {0};
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < 2; i++) {
                memset(kiln_arena_alloc(&a, 3), 0xAA, 3);
                unsigned char *p = kiln_arena_alloc(&a, r->bytes);
                assert_int_equal((uintptr_t)p % r->align, 0);
                assert_true(is_zero(p, r->bytes));
                memset(p, 0xAA, r->bytes);
            }
            kiln_arena_reset(&a);
            assert_int_equal(a.bytes, 0);
        }
        kiln_arena_fini(&a);
    }
    use_one_malloc_each(false);
}

static void objects_do_not_overlap(void **state) {
    (void)state;
    enum { N = 2000 };
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int each = 0; each < 2; each++) {
        use_one_malloc_each(each == 1);
        kiln_arena a = {0};
        unsigned char *p[N];
        size_t n[N];
        for (size_t i = 0; i < N; i++) {
            n[i] = (size_t)kiln_rng_range(&rng, 0, i % 100 == 0 ? 300000 : 300);
            p[i] = kiln_arena_alloc_raw(&a, n[i]);
            memset(p[i], (int)(i & 0xFF), n[i]);
        }
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < n[i]; k++)
                assert_int_equal(p[i][k], i & 0xFF);
        kiln_arena_fini(&a);
    }
    use_one_malloc_each(false);
}

typedef struct note {
    int *log, *n_log;
    int id;
} note;

static void write_note(void *p) {
    const note *n = p;
    n->log[(*n->n_log)++] = n->id;
}

static void defer_note(kiln_arena *a, int *log, int *n_log, int id) {
    note *n = kiln_new(a, note);
    *n = (note){log, n_log, id};
    kiln_arena_defer(a, write_note, n);
}

static void rewind_releases_what_came_later(void **state) {
    (void)state;
    for (int each = 0; each < 2; each++) {
        use_one_malloc_each(each == 1);
        kiln_arena a = {0};
        int log[8], n_log = 0;
        char *kept = kiln_str_dup(&a, "kept");
        defer_note(&a, log, &n_log, 1);
        const kiln_arena_mark mark = kiln_arena_save(&a);
        const size_t bytes = a.bytes;
        defer_note(&a, log, &n_log, 2);
        for (int i = 0; i < 100; i++)
            (void)kiln_arena_alloc(&a, 10000);
        (void)kiln_arena_alloc(&a, 1000000);
        defer_note(&a, log, &n_log, 3);

        kiln_arena_rewind(&a, mark);
        assert_int_equal(n_log,
                         2); /* newest first, and only what came after the mark */
        assert_int_equal(log[0], 3);
        assert_int_equal(log[1], 2);
        assert_int_equal(a.bytes, bytes);
        assert_string_equal(kept, "kept");
        assert_true(is_zero(kiln_arena_alloc(&a, 50000), 50000));

        kiln_arena_fini(&a);
        assert_int_equal(n_log, 3);
        assert_int_equal(log[2], 1);
        kiln_arena_fini(&a); /* twice is fine */
        assert_int_equal(n_log, 3);
    }
    use_one_malloc_each(false);
}

static void rewound_memory_is_used_again(void **state) {
    (void)state;
    kiln_arena a = {0};
    (void)kiln_arena_alloc(&a, 1);
    const kiln_arena_mark mark = kiln_arena_save(&a);
    const void *first = kiln_arena_alloc(&a, 100);
    kiln_arena_rewind(&a, mark);
    assert_ptr_equal(kiln_arena_alloc(&a, 100), first);
    kiln_arena_reset(&a);
    const kiln_arena_block *block = a.spare;
    assert_non_null(block);
    (void)kiln_arena_alloc(&a, 1);
    assert_ptr_equal(a.head, block);
    assert_true(a.peak_bytes >= 101);
    kiln_arena_fini(&a);
    assert_null(a.spare);
}

/* Of four released ones the newest two have room: they are found again by size, zeroed
 * where that is asked for, and gone after fini. */
static void big_objects_are_kept_where_asked_for(void **state) {
    (void)state;
    enum { BYTES = 1000000, N = 4 };
    kiln_arena a = {0};
    unsigned char *p[N];
    kiln_arena_keep(&a, 2 * BYTES);
    for (int i = 0; i < N; i++)
        memset(p[i] = kiln_arena_alloc_raw(&a, BYTES), 0xAA, BYTES);
    kiln_arena_reset(&a);
    assert_int_equal(a.kept_bytes, 2 * BYTES);
    (void)kiln_arena_alloc(&a, BYTES / 3); /* they are too large for it */
    assert_int_equal(a.kept_bytes, 2 * BYTES);
    unsigned char *again = kiln_arena_alloc(&a, BYTES - 1);
    assert_true(again == p[0] || again == p[1]);
    assert_true(is_zero(again, BYTES - 1));
    assert_int_equal(a.kept_bytes, BYTES);
    kiln_arena_fini(&a);
    assert_null(a.kept);
    assert_int_equal(a.kept_bytes, 0);
}

/* Resident pages of this process, from /proc; 0 where there is none. */
static size_t resident_bytes(void) {
    size_t total = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f == NULL)
        return 0;
    const int n = fscanf(f, "%zu %zu", &total, &resident);
    fclose(f);
    return n == 2 ? resident * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

static void a_big_object_is_not_touched(void **state) {
    (void)state;
#if defined(HAS_ASAN) || defined(HAS_TSAN)
    kiln_test_skip("a sanitizer writes shadow memory for a big object");
#endif
    const size_t gib = (size_t)1 << 30;
    if (resident_bytes() == 0)
        kiln_test_skip("/proc/self/statm is not on this machine");
    kiln_arena a = {0};
    for (int round = 0; round < 2; round++) {
        const size_t before = resident_bytes();
        unsigned char *p = kiln_arena_alloc(&a, gib);
        p[gib / 2] = 1;
        assert_int_equal(p[gib - 1], 0);
        assert_true(resident_bytes() < before + gib / 64);
        kiln_arena_reset(&a);
    }
    kiln_arena_fini(&a);
}

static void released_memory_is_poisoned(void **state) {
    (void)state;
#ifdef HAS_ASAN
    kiln_arena a = {0};
    (void)kiln_arena_alloc(&a, 8);
    const kiln_arena_mark mark = kiln_arena_save(&a);
    const char *p = kiln_arena_alloc(&a, 100);
    assert_false(is_poisoned(p) || is_poisoned(p + 99));
    assert_true(is_poisoned(p + 100)); /* one past the end */
    (void)kiln_arena_alloc(&a, 100);
    assert_true(is_poisoned(p + 100));
    kiln_arena_rewind(&a, mark);
    assert_true(is_poisoned(p) && is_poisoned(p + 99));
    p = kiln_arena_alloc(&a, 100);
    assert_false(is_poisoned(p) || is_poisoned(p + 99));
    kiln_arena_reset(&a);
    assert_true(is_poisoned(p) && is_poisoned(p + 99));
    kiln_arena_fini(&a);
#else
    kiln_test_skip("only AddressSanitizer sees poisoned memory");
#endif
}

static void ask_past_the_end(void *arg) {
    (void)arg;
    kiln_arena a = {0};
    const char *p = kiln_arena_alloc(&a, 100);
    kiln_ask_whole(p, 101);
}

static void one_byte_too_many_is_seen(void **state) {
    (void)state;
#ifdef HAS_ASAN
    kiln_test_death death;
    kiln_arena a = {0};
    kiln_ask_whole(kiln_arena_alloc(&a, 100), 100);
    kiln_arena_fini(&a);
    kiln_test_in_child(ask_past_the_end, NULL, &death);
    assert_non_null(strstr(death.stderr_text, "is nobody's"));
#else
    ask_past_the_end(NULL);
    kiln_test_skip("only AddressSanitizer sees poisoned memory");
#endif
}

static void ask_for_too_many(void *arg) {
    (void)arg;
    kiln_arena a = {0};
    (void)kiln_array(&a, double, SIZE_MAX / 4);
}

static void ask_for_too_much(void *arg) {
    (void)arg;
    kiln_arena a = {0};
    (void)kiln_arena_alloc(&a, SIZE_MAX);
}

static void impossible_sizes_end_with_4(void **state) {
    (void)state;
    kiln_test_death death;
    kiln_test_in_child(ask_for_too_many, NULL, &death);
    assert_int_equal(death.exit_code, 4);
    kiln_test_in_child(ask_for_too_much, NULL, &death);
    assert_int_equal(death.exit_code, 4);
    assert_non_null(strstr(death.stderr_text, "out of memory"));
}

static void rewind_to_a_stale_mark(void *arg) {
    (void)arg;
    kiln_arena a = {0};
    (void)kiln_arena_alloc(&a, 100);
    const kiln_arena_mark mark = kiln_arena_save(&a);
    kiln_arena_reset(&a);
    kiln_arena_rewind(&a, mark);
}

static void a_stale_mark_is_a_broken_invariant(void **state) {
    (void)state;
    kiln_test_death death;
    kiln_test_in_child(rewind_to_a_stale_mark, NULL, &death);
    assert_non_null(strstr(death.stderr_text, "broken invariant"));
}

int main(void) {
    kiln_test_add_rows(check_size, size_rows);
    kiln_test_add("objects_do_not_overlap", objects_do_not_overlap, NULL);
    kiln_test_add("rewind_releases_what_came_later", rewind_releases_what_came_later,
                  NULL);
    kiln_test_add("rewound_memory_is_used_again", rewound_memory_is_used_again, NULL);
    kiln_test_add("big_objects_are_kept_where_asked_for",
                  big_objects_are_kept_where_asked_for, NULL);
    kiln_test_add("a_big_object_is_not_touched", a_big_object_is_not_touched, NULL);
    kiln_test_add("released_memory_is_poisoned", released_memory_is_poisoned, NULL);
    kiln_test_add("one_byte_too_many_is_seen", one_byte_too_many_is_seen, NULL);
    kiln_test_add("impossible_sizes_end_with_4", impossible_sizes_end_with_4, NULL);
    kiln_test_add("a_stale_mark_is_a_broken_invariant",
                  a_stale_mark_is_a_broken_invariant, NULL);
    return kiln_test_run("arena");
}
