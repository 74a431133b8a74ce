/* What an archive was made of (docs/signatures.md): an in-toto statement beside it,
 * ARCHIVE.intoto.json, from which `kiln rebuild` makes the same bytes again. */
#ifndef KILN_PACKAGER_PACKAGER_PROVENANCE_H
#define KILN_PACKAGER_PACKAGER_PROVENANCE_H

#include "packager/packager.h"

enum { KILN_PROVENANCE_MAX = 16 << 20 /* bytes */ };

typedef struct kiln_material {
    const char *name; /* of a file, without its folder; NULL: there is none */
    char sha256[KILN_SHA256_HEX];
} kiln_material;

/* An input that was fixed. */
typedef struct kiln_provenance_bind {
    kiln_package_fixed is;
    const char *number; /* as it was given; NULL: by a file */
} kiln_provenance_bind;

/* Versions that decide bytes. */
typedef struct kiln_builder {
    const char *kiln, *llvm, *lld, *zstd;
    const char *commit; /* of kiln; NULL: not known */
} kiln_builder;
/* This program and its libraries; fails as linking does where there is no linker. */
kiln_status kiln_builder_here(kiln_arena *a, kiln_builder *out, kiln_err *err);

typedef struct kiln_provenance {
    kiln_material archive;
    kiln_material model;       /* name: "zoo:dqn", or its file's */
    const kiln_material *data; /* files that the model keeps weights in */
    size_t n_data;
    const char *name, *version, *licence; /* of the model; licence NULL: not known */
    const char *const *shape;             /* "x:1x3x224x224" */
    size_t n_shapes;
    const kiln_provenance_bind *bind;
    size_t n_binds;
    const char *signature; /* `--signature`; NULL: it was not given */
    bool has_state;        /* `--state` */
    bool as_reference;     /* `--rounding reference` */
    int threads;
    bool is_unproved;
    bool packs_at_open;       /* `--pack open` */
    const char *layouts;      /* `--layouts`; NULL: it was not given */
    bool no_predict;          /* `--no-predict` */
    const char *const *place; /* rules of placement: "conv=host2"; none: the host's */
    size_t n_places;
    kiln_profile profile; /* with numerics, and the device that measures it */
    /* Those behind it, in the archive's order, where it has variants of several. */
    const kiln_profile *more;
    size_t n_more;
    int64_t time_s, seed; /* of entries; of the self-test's inputs */
    kiln_material config; /* file of configurations */
    /* Records of tuning that were used, for `profile`: for how many kernels, how many of these by
     * ready ones, and a hash of what they said. */
    int n_records, n_ready;
    char records_sha256[KILN_SHA256_HEX];
    /* Where a search chose layouts: steps that it looked at, of how many of these greedy's
     * way was measured, costs on record that it compared, and a hash of these. What was
     * not measured it estimated: by the profile, and by this very kiln. */
    bool is_searched;
    int n_sites, n_known, n_costs;
    char costs_sha256[KILN_SHA256_HEX];
    kiln_material ready; /* file of ready records; NULL: they were left out */
    kiln_builder builder;
} kiln_provenance;

void kiln_provenance_write(kiln_buf *out, const kiln_provenance *p);
/* Untrusted: every member must be there, none other may, and all must be what the
 * writer writes. KILN_ERR_PARSE names file and member. */
kiln_status kiln_provenance_read(kiln_arena *a, kiln_str text, const char *path,
                                 kiln_provenance *out, kiln_err *err);

#endif
