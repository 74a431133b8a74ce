/* Arenas: see arena.h.
 *
 * Small objects are cut from shared blocks by moving a pointer; blocks double from 64
 * KiB to 4 MiB. An object above 256 KiB gets a block of its own, from calloc, which
 * takes zero pages from the system. Both kinds are kept in lists, newest first, so that
 * a mark is one pointer into each.
 *
 * Blocks of small objects are kept when they are emptied, those of large ones where it is
 * asked for. Each remembers how far it was ever written (`dirty`): only that part has to
 * be zeroed again.
 */
#include "base/core/arena.h"
#include "base/core/asked.h"
#include "base/core/resting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/status.h"

#if KILN_HAS_ASAN
#include <sanitizer/asan_interface.h>
/* Between objects, so that running over the end of one is seen. */
enum { RED_ZONE = 16 };
static void poison(const void *p, size_t n) { ASAN_POISON_MEMORY_REGION(p, n); }
static void unpoison(const void *p, size_t n) { ASAN_UNPOISON_MEMORY_REGION(p, n); }
#else
enum { RED_ZONE = 0 };
static void poison(const void *p, size_t n) {
    (void)p;
    (void)n;
}
static void unpoison(const void *p, size_t n) {
    (void)p;
    (void)n;
}
#endif

enum {
    SMALL_ALIGN = 16,
    LARGE_ALIGN = 64, /* a cache line, and the widest vector register */
    FIRST_BLOCK_BYTES = 64 * 1024,
    LAST_BLOCK_BYTES = 4 * 1024 * 1024,
    BIG_OBJECT_BYTES = 256 * 1024
};

struct kiln_arena_block {
    kiln_arena_block *next; /* older one */
    unsigned char *data;    /* aligned to LARGE_ALIGN, inside this allocation */
    size_t cap;             /* bytes at data */
    size_t used;
    size_t dirty; /* bytes from here on were never handed out: they are zero */
};

struct kiln_arena_cleanup {
    kiln_arena_cleanup *next; /* older one */
    void (*fn)(void *);
    void *p;
};

void kiln_arena_init(kiln_arena *a) { *a = (kiln_arena){0}; }

static size_t round_up(size_t n, size_t align) {
    return (n + align - 1) & ~(align - 1);
}

static kiln_arena_block *block_new(size_t cap) {
    const size_t overhead = sizeof(kiln_arena_block) + LARGE_ALIGN;
    if (cap > SIZE_MAX / 2 - overhead)
        kiln_out_of_memory(cap);
    /* calloc, not aligned_alloc and memset: the pages stay untouched. */
    kiln_arena_block *b = calloc(1, overhead + cap);
    if (b == NULL)
        kiln_out_of_memory(cap);
    const uintptr_t after = (uintptr_t)b + sizeof *b;
    b->data = (unsigned char *)b + sizeof *b + (-after & (LARGE_ALIGN - 1));
    b->cap = cap;
    poison(b->data, cap);
    return b;
}

static void block_free(kiln_arena_block *b) {
    unpoison(b->data, b->cap);
    free(b);
}

static void free_list(kiln_arena_block *b) {
    while (b != NULL) {
        kiln_arena_block *next = b->next;
        block_free(b);
        b = next;
    }
}

static bool one_malloc_each(void) {
    const char *setting = getenv("KILN_ARENA_EACH");
    return setting != NULL && strcmp(setting, "1") == 0;
}

/* Puts a block with room for `bytes` at the head: a spare one, or a new one twice as
 * large. */
static void add_block(kiln_arena *a, size_t bytes) {
    for (kiln_arena_block **at = &a->spare; *at != NULL; at = &(*at)->next) {
        kiln_arena_block *b = *at;
        if (b->cap < bytes)
            continue;
        *at = b->next;
        b->next = a->head;
        a->head = b;
        return;
    }
    size_t cap = FIRST_BLOCK_BYTES;
    if (a->head != NULL && a->head->cap < LAST_BLOCK_BYTES)
        cap = a->head->cap * 2;
    else if (a->head != NULL)
        cap = LAST_BLOCK_BYTES;
    while (cap < bytes)
        cap *= 2;
    kiln_arena_block *b = block_new(cap);
    b->next = a->head;
    a->head = b;
}

static void *take(kiln_arena_block *b, size_t at, size_t bytes, bool zero) {
    unsigned char *p = b->data + at;
    unpoison(p, bytes);
    if (zero && at < b->dirty)
        memset(p, 0, bytes < b->dirty - at ? bytes : b->dirty - at);
    b->used = at + bytes;
    if (b->used > b->dirty)
        b->dirty = b->used;
    return p;
}

/* One that was kept, no more than twice as large; NULL: there is none. */
static kiln_arena_block *take_kept(kiln_arena *a, size_t bytes) {
    for (kiln_arena_block **at = &a->kept; *at != NULL; at = &(*at)->next) {
        kiln_arena_block *b = *at;
        if (b->cap < bytes || b->cap / 2 > bytes)
            continue;
        *at = b->next;
        a->kept_bytes -= b->cap;
        return b;
    }
    return NULL;
}

/* The oldest ones go where there are too many. */
static void keep_block(kiln_arena *a, kiln_arena_block *b) {
    poison(b->data, b->used);
    b->used = 0;
    b->next = a->kept;
    a->kept = b;
    a->kept_bytes += b->cap;
    size_t bytes = 0;
    for (kiln_arena_block **at = &a->kept; *at != NULL; at = &(*at)->next) {
        bytes += (*at)->cap;
        if (bytes <= a->keep_bytes)
            continue;
        a->kept_bytes = bytes - (*at)->cap;
        free_list(*at);
        *at = NULL;
        return;
    }
}

/* Called with what does not fit into the newest block. */
static void *alloc_slow(kiln_arena *a, size_t bytes, bool zero) {
    if (bytes > BIG_OBJECT_BYTES || one_malloc_each()) {
        kiln_arena_block *b = take_kept(a, bytes);
        if (b == NULL)
            b = block_new(bytes);
        b->next = a->big;
        a->big = b;
        return take(b, 0, bytes, zero);
    }
    add_block(a, bytes);
    return take(a->head, 0, bytes, zero);
}

static void *alloc(kiln_arena *a, size_t bytes, bool zero) {
    const size_t size = bytes == 0 ? 1 : bytes;
    a->bytes += round_up(size, SMALL_ALIGN);
    if (a->bytes > a->peak_bytes)
        a->peak_bytes = a->bytes;

    kiln_arena_block *b = a->head;
    if (b != NULL && size <= BIG_OBJECT_BYTES) {

        const size_t at = round_up(b->used + RED_ZONE,
                                   size >= LARGE_ALIGN ? LARGE_ALIGN : SMALL_ALIGN);
        if (at <= b->cap && size <= b->cap - at)
            return take(b, at, size, zero);
    }
    return alloc_slow(a, size, zero);
}

void *kiln_arena_alloc(kiln_arena *a, size_t bytes) { return alloc(a, bytes, true); }

void *kiln_arena_alloc_raw(kiln_arena *a, size_t bytes) {
    return alloc(a, bytes, false);
}

void *kiln_arena_dup(kiln_arena *a, const void *p, size_t bytes) {
    void *copy = kiln_arena_alloc_raw(a, bytes);
    if (bytes > 0)
        memcpy(copy, p, bytes);
    return copy;
}

void *kiln_arena_array(kiln_arena *a, size_t n, size_t size) {
    if (size != 0 && n > SIZE_MAX / size)
        kiln_out_of_memory(SIZE_MAX);
    return kiln_arena_alloc(a, n * size);
}

void kiln_arena_defer(kiln_arena *a, void (*fn)(void *), void *p) {
    kiln_arena_cleanup *c = kiln_new(a, kiln_arena_cleanup);
    *c = (kiln_arena_cleanup){.next = a->cleanup, .fn = fn, .p = p};
    a->cleanup = c;
}

void *kiln_arena_find_deferred(const kiln_arena *a, void (*fn)(void *),
                               bool (*is_it)(const void *p, const void *user),
                               const void *user) {
    for (const kiln_arena_cleanup *c = a->cleanup; c != NULL; c = c->next)
        if (c->fn == fn && is_it(c->p, user))
            return c->p;
    return NULL;
}

kiln_arena_mark kiln_arena_save(const kiln_arena *a) {
    return (kiln_arena_mark){
        .head = a->head,
        .big = a->big,
        .used = a->head == NULL ? 0 : a->head->used,
        .cleanup = a->cleanup,
        .bytes = a->bytes,
    };
}

void kiln_arena_rewind(kiln_arena *a, kiln_arena_mark mark) {
    while (a->cleanup != mark.cleanup) {
        KILN_ASSERT(a->cleanup != NULL, "the mark was rewound past before");
        const kiln_arena_cleanup c = *a->cleanup;
        a->cleanup = c.next; /* first, so that no call runs twice */
        c.fn(c.p);
    }
    while (a->big != mark.big) {
        KILN_ASSERT(a->big != NULL, "the mark was rewound past before");
        kiln_arena_block *b = a->big;
        a->big = b->next;
        if (b->cap > BIG_OBJECT_BYTES && a->keep_bytes > 0 && !one_malloc_each())
            keep_block(a, b);
        else
            block_free(b);
    }
    while (a->head != mark.head) {
        KILN_ASSERT(a->head != NULL, "the mark was rewound past before");
        kiln_arena_block *b = a->head;
        a->head = b->next;
        poison(b->data, b->used);
        b->used = 0;
        b->next = a->spare;
        a->spare = b;
    }
    if (a->head != NULL) {
        KILN_ASSERT(mark.used <= a->head->used, "the mark was rewound past before");
        /* What lies behind was never handed out: it is poisoned. */
        poison(a->head->data + mark.used, a->head->used - mark.used);
        a->head->used = mark.used;
    }
    a->bytes = mark.bytes;
}

void kiln_arena_keep(kiln_arena *a, size_t bytes) { a->keep_bytes = bytes; }

void kiln_arena_reset(kiln_arena *a) { kiln_arena_rewind(a, (kiln_arena_mark){0}); }

void kiln_arena_fini(kiln_arena *a) {
    kiln_arena_reset(a);
    free_list(a->spare);
    free_list(a->kept);
    a->spare = a->kept = NULL;
    a->kept_bytes = 0;
}
