/* Fetching: a model file of a catalog, from its URL to a verified file in the cache.
 *
 *     <cache>/models/<SHA-256>/<file name>    whole and verified, by atomic rename; of a
 *                                             model of several files all of them, in the
 *                                             folder of the first
 *     <cache>/partial/<SHA-256>               what has come so far; a later run goes on
 *
 * Nothing is believed but the SHA-256 and the size that the catalog states. Several
 * processes may share a cache: one downloads, the others wait for it.
 */
#ifndef KILN_ZOO_ZOO_FETCH_H
#define KILN_ZOO_ZOO_FETCH_H

#include "base/base.h"

/* A further file of a model: at the same place as the first, wherever that is. */
typedef struct kiln_fetch_beside {
    const char *path; /* from the first file's folder: "variables/variables.index" */
    const char *sha256;
    int64_t bytes;
} kiln_fetch_beside;

typedef struct kiln_fetch_entry {
    const char *name;   /* "resnet18-v1-7" */
    const char *url;    /* NULL: it has no address of its own, a mirror has it */
    const char *path;   /* under a mirror's base; NULL: the URL's, behind its host */
    const char *sha256; /* 64 lower-case hexadecimal digits */
    int64_t bytes;
    const kiln_fetch_beside *beside; /* further files of it */
    size_t n_beside;
    /* For people; each NULL: not known. */
    const char *licence; /* SPDX expression or a word */
    const char *format;  /* as frontends.def calls it */
    const char *task;    /* "image classification" */
    const char *source;  /* whose it is, where it is from */
    const char *inputs;  /* "x: f32[?,3,224,224]", with ";" between several */
    const char *golden;  /* folder of its golden.json, under the same base as `path` */
} kiln_fetch_entry;

/* A catalog of the user's: {"models": [{"name", "url", "sha256", "bytes", ...}]}
 * (docs/catalog-format.md). Refused, naming file and entry: unknown members, names
 * twice, hashes that are none, sizes that are none or above KILN_FETCH_MAX_BYTES, URLs
 * of other kinds than https, http and file, paths that lead out of their folder, and
 * what has neither URL nor path. */
enum { KILN_FETCH_MAX_ENTRIES = 10000, KILN_FETCH_MAX_BESIDE = 1000 };
#define KILN_FETCH_MAX_BYTES ((int64_t)1 << 36)
typedef struct kiln_catalog {
    KILN_VEC(kiln_fetch_entry) list;
} kiln_catalog;
kiln_status kiln_catalog_read(kiln_arena *a, const char *path, kiln_catalog *out,
                              kiln_err *err);
/* KILN_ERR_ARG: no such name; the nearest ones are named. */
kiln_status kiln_catalog_find(const kiln_catalog *m, const char *name,
                              kiln_fetch_entry *out, kiln_err *err);
/* The one that ships: trained networks of the ONNX model zoo (models.def), and of others
 * in all formats (trained.def). */
void kiln_catalog_shipped(kiln_arena *a, kiln_catalog *out);

typedef struct kiln_fetch_options {
    const char *cache; /* folder; NULL: kiln_fetch_cache's */
    /* NULL: each at its own address. A URL, or a folder that is there: each at its path
     * under it, and nowhere else. */
    const char *mirror;
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

/* *path (in `a`): the verified file, the first of several. KILN_ERR_ARG: it has no
 * address, or the mirror is none. KILN_ERR_IO: it could not be had, with the reason
 * and what may help; what has come stays for the next run, but for what was wrong.
 * KILN_ERR_PARSE: it came whole and is not what the catalog says. */
kiln_status kiln_fetch(kiln_arena *a, const kiln_fetch_entry *e,
                       const kiln_fetch_options *o, const char **path, kiln_err *err);

/* Where its first file is, as a URL in `a`; `mirror` as in the options. */
kiln_status kiln_fetch_address(kiln_arena *a, const kiln_fetch_entry *e,
                               const char *mirror, const char **out, kiln_err *err);
/* The URL of a file below a folder's URL; the path is not as a URL has it. */
const char *kiln_url_below(kiln_arena *a, const char *folder, const char *path);
/* The path under a mirror's base, as bytes, not as a URL has them. */
const char *kiln_fetch_path(kiln_arena *a, const kiln_fetch_entry *e);

/* $KILN_CACHE, else kiln in $XDG_CACHE_HOME or ~/.cache. */
kiln_status kiln_fetch_cache(kiln_arena *a, const char **out, kiln_err *err);

#endif
