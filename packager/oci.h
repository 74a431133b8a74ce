/* Packages in registries' form (docs/oci.md): an artifact in an OCI image layout, OCI
 * Image Specification 1.1: "Image Layout", "Image Manifest", "Artifact Usage". Nothing
 * here speaks to a registry; tools that do copy such folders as they are.
 *
 *     kiln_oci_write("m-1-native.kiln.tar.zst", "layout", NULL, &w, err);
 *     kiln_oci_resolve(arena, "oci:layout:m-1-native", &archive, err);
 */
#ifndef KILN_PACKAGER_OCI_H
#define KILN_PACKAGER_OCI_H

#include "base/base.h"

#define KILN_OCI_PREFIX "oci:"
#define KILN_OCI_ARTIFACT "application/vnd.kiln.package.v1"

enum {
    KILN_OCI_TAG = 129, /* letters, digits, '_', '.', '-'; with a terminator */
    KILN_OCI_MAX_TAGS = 1000,
    KILN_OCI_MAX_MANIFEST = 1 << 20, /* bytes of any document but the index */
    KILN_OCI_MAX_INDEX = 8 << 20,
    KILN_OCI_MAX_BESIDE = 64 << 20 /* bytes of a layer that is no archive */
};

typedef struct kiln_oci {
    char tag[KILN_OCI_TAG];
    char digest[KILN_SHA256_HEX]; /* of the manifest */
    int n_layers;
} kiln_oci;

/* The archive, which is verified whole, with the signature and provenance beside it and
 * the SBOM in it. `tag` NULL: the archive's own name without its ending. What the
 * layout has under other tags stays; the same tag is replaced, its blobs stay. Equal
 * bytes in, equal bytes out, whatever the order of several. KILN_ERR_ARG: `layout` is
 * something else, or no tag is possible. */
kiln_status kiln_oci_write(const char *archive, const char *layout, const char *tag,
                           kiln_oci *out, kiln_err *err);

bool kiln_oci_is_reference(const char *text); /* begins with "oci:" */
/* "oci:DIR" where it has one package, "oci:DIR:TAG": *archive is a path, until the
 * arena is reset, beside which signature and provenance lie. All sizes and hashes are
 * verified. KILN_ERR_PARSE says what is wrong with the layout; KILN_ERR_ARG lists its
 * tags. */
kiln_status kiln_oci_resolve(kiln_arena *a, const char *reference, const char **archive,
                             kiln_err *err);

/* ---- inside ---------------------------------------------------------------------- */

typedef struct kiln_oci_kind {
    const char *media;  /* of the layer */
    const char *ending; /* of its file's name behind the archive's; NULL: the SBOM */
} kiln_oci_kind;
enum {
    KILN_OCI_ARCHIVE,
    KILN_OCI_SIGNATURE,
    KILN_OCI_PROVENANCE,
    KILN_OCI_SBOM,
    KILN_OCI_N_KINDS
};
extern const kiln_oci_kind kiln_oci_kinds[KILN_OCI_N_KINDS];
#define KILN_OCI_EMPTY "application/vnd.oci.empty.v1+json" /* "{}" */
#define KILN_OCI_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define KILN_OCI_INDEX "application/vnd.oci.image.index.v1+json"
#define KILN_OCI_REF_NAME "org.opencontainers.image.ref.name"
#define KILN_OCI_TITLE "org.opencontainers.image.title"

/* Bytes that lie in the layout under their hash. */
typedef struct kiln_oci_blob {
    const char *media, *name; /* name: of the tag, or the file; NULL: none */
    char sha256[KILN_SHA256_HEX];
    int64_t bytes;
} kiln_oci_blob;
typedef KILN_VEC(kiln_oci_blob) kiln_oci_blobs;

bool kiln_oci_is_tag(const char *text);
/* oci-layout and index.json: the manifests by tag. */
kiln_status kiln_oci_read_index(kiln_arena *a, const char *layout, kiln_oci_blobs *out,
                                kiln_err *err);
/* One descriptor of a document; `where` for messages. name: by annotation `key`. */
kiln_status kiln_oci_read_blob(kiln_arena *a, const kiln_json *v, const char *where,
                               const char *key, kiln_oci_blob *out, kiln_err *err);

#endif
