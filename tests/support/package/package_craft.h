/* Hostile archives, made out of good ones: taken apart, changed, put together again
 * with checksums and a seal that fit. */
#ifndef KILN_TESTS_SUPPORT_PACKAGE_PACKAGE_CRAFT_H
#define KILN_TESTS_SUPPORT_PACKAGE_PACKAGE_CRAFT_H

#include "packager/packager_internal.h"

enum { CRAFT_MAX_ENTRIES = 96 };

typedef struct craft_entry {
    kiln_tar_entry header;
    unsigned char
        block[KILN_TAR_BLOCK]; /* what is written; its checksum is made anew */
    bool keeps_sum;            /* but for this */
    kiln_str data;             /* so many bytes follow, and padding */
} craft_entry;

typedef struct craft {
    kiln_arena *arena;
    craft_entry entry[CRAFT_MAX_ENTRIES]; /* 0: the manifest */
    size_t n;
    size_t n_end; /* bytes of zeros at the end: 1024 */
} craft;

/* All entries of a good archive. */
void craft_open(craft *c, kiln_arena *a, const char *path);
size_t craft_find(const craft *c, const char *name);
/* Header as kiln writes it, for the entry's name and data. */
void craft_set_header(craft_entry *e, const char *name);
void craft_insert(craft *c, size_t at, const craft_entry *e);
void craft_remove(craft *c, size_t at);
void craft_swap(craft *c, size_t x, size_t y);
/* New bytes for an entry; its header, and size and hash in the manifest, follow. */
void craft_set_data(craft *c, size_t at, const void *p, size_t n);
/* In the manifest's text, which must have it; all occurrences or the first. */
void craft_replace(craft *c, const char *what, const char *with, bool all);

kiln_str craft_tar(const craft *c);
/* zstd and the seal. */
kiln_str craft_compress(kiln_arena *a, kiln_str bytes);
kiln_str craft_seal(kiln_arena *a, kiln_str frame);
kiln_str craft_decompress(kiln_arena *a, kiln_str archive);
void craft_write(const char *path, kiln_str bytes);

#endif
