/* Fetching: a model file of a catalog, from its URL to a verified file in the cache.
 *
 *     <cache>/models/<SHA-256>/<file name>    whole and verified, by atomic rename
 *     <cache>/partial/<SHA-256>               what has come so far; a later run goes on
 *
 * Nothing is believed but the SHA-256 and the size that the catalog states. Several
 * processes may share a cache: one downloads, the others wait for it.
 */
#ifndef KILN_ZOO_FETCH_H
#define KILN_ZOO_FETCH_H

#include "base/base.h"

typedef struct kiln_fetch_entry {
    const char *name; /* "resnet18-v1-7" */
    const char *url;
    const char *sha256; /* 64 lower-case hexadecimal digits */
    int64_t bytes;
    const char *licence; /* SPDX expression or a word; NULL: not known */
} kiln_fetch_entry;

/* A catalog of the user's: {"models": [{"name", "url", "sha256", "bytes", "licence"}]}
 * (docs/catalog-format.md). Refused, naming file and entry: unknown members, names
 * twice, hashes that are none, sizes that are none or above KILN_FETCH_MAX_BYTES, URLs
 * of other kinds than https, http and file. */
enum { KILN_FETCH_MAX_ENTRIES = 10000 };
#define KILN_FETCH_MAX_BYTES ((int64_t)1 << 36)
typedef struct kiln_catalog {
    KILN_VEC(kiln_fetch_entry) list;
} kiln_catalog;
kiln_status kiln_catalog_read(kiln_arena *a, const char *path, kiln_catalog *out,
                              kiln_err *err);
/* KILN_ERR_ARG: no such name; the nearest ones are named. */
kiln_status kiln_catalog_find(const kiln_catalog *m, const char *name,
                              kiln_fetch_entry *out, kiln_err *err);
/* The one that ships (models.def): trained networks of the ONNX model zoo. */
void kiln_catalog_shipped(kiln_arena *a, kiln_catalog *out);

typedef struct kiln_fetch_options {
    const char *cache;   /* folder; NULL: kiln_fetch_cache's */
    bool allow_http;     /* without it: https and file only, after redirects too */
    bool offline;        /* only what is in the cache */
    int retries;         /* after failures that may pass; negative: none; 0: 5 */
    double first_wait_s; /* before the first retry, doubled each time; 0: 1 */
    int connect_s;       /* 0: 30 */
    int stall_s;         /* below KILN_DOWNLOAD_SLOW; 0: 60 */
    void (*progress)(void *user, const kiln_fetch_entry *e, int64_t done);
    void (*waits)(void *user, const kiln_fetch_entry *e, const char *why,
                  double seconds);
    void *user;
} kiln_fetch_options;

/* *path (in `a`): the verified file. KILN_ERR_IO: it could not be had, with the reason
 * and what may help; what has come stays for the next run, but for what was wrong.
 * KILN_ERR_PARSE: it came whole and is not what the catalog says. */
kiln_status kiln_fetch(kiln_arena *a, const kiln_fetch_entry *e,
                       const kiln_fetch_options *o, const char **path, kiln_err *err);

/* $KILN_CACHE, else kiln in $XDG_CACHE_HOME or ~/.cache. */
kiln_status kiln_fetch_cache(kiln_arena *a, const char **out, kiln_err *err);

#endif
