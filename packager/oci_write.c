/* An archive into an OCI image layout: blobs, then the manifest, the index last. */
#include "packager/oci.h"

#include "packager/packager_internal.h"
#include "packager/sign.h"

#include <stdlib.h>
#include <string.h>

const kiln_oci_kind kiln_oci_kinds[KILN_OCI_N_KINDS] = {
    [KILN_OCI_ARCHIVE] = {"application/vnd.kiln.package.v1.tar+zstd", ""},
    [KILN_OCI_SIGNATURE] = {"application/vnd.kiln.signature.v1.minisign",
                            KILN_SIGNATURE_ENDING},
    [KILN_OCI_PROVENANCE] = {"application/vnd.in-toto+json", KILN_PROVENANCE_ENDING},
    [KILN_OCI_SBOM] = {"application/spdx+json", NULL}};

static const char layout_text[] = "{\"imageLayoutVersion\": \"1.0.0\"}\n";
static const char ending[] = ".kiln.tar.zst";

bool kiln_oci_is_tag(const char *text) {
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i++) {
        const char c = text[i];
        const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || c == '_';
        if (!is_word && (i == 0 || (c != '.' && c != '-')))
            return false;
    }
    return n > 0 && n < KILN_OCI_TAG;
}

/* ---- blobs ----------------------------------------------------------------------- */

static kiln_status add_blob(kiln_arena *a, const char *layout, const char *media,
                            const char *name, kiln_str bytes, kiln_oci_blob *out,
                            kiln_err *err) {
    *out = (kiln_oci_blob){.media = media, .name = name, .bytes = (int64_t)bytes.n};
    kiln_sha256_of(bytes.p, bytes.n, out->sha256);
    return kiln_file_write(kiln_format(a, "%s/blobs/sha256/%s", layout, out->sha256),
                           bytes.p, bytes.n, err);
}

/* Verifies all of the archive on the way. */
static kiln_status read_sbom(kiln_arena *a, const char *archive,
                             kiln_package_facts *facts, kiln_str *out, kiln_err *err) {
    const char *dir = NULL;
    KILN_TRY(kiln_dir_temp(a, &dir, err));
    const char *folder = kiln_path_join(a, dir, "package");
    KILN_TRY(kiln_package_hold(a, archive, folder, facts, err));
    return kiln_file_map(a, kiln_path_join(a, folder, KILN_ENTRY_SBOM),
                         KILN_OCI_MAX_BESIDE, out, err);
}

static kiln_status add_layers(kiln_arena *a, const char *archive, const char *layout,
                              const char *name, kiln_str sbom, kiln_oci_blobs *out,
                              kiln_err *err) {
    for (int k = 0; k < KILN_OCI_N_KINDS; k++) {
        const kiln_oci_kind *kind = &kiln_oci_kinds[k];
        const bool is_sbom = kind->ending == NULL;
        const char *path = kiln_format(a, "%s%s", archive, is_sbom ? "" : kind->ending);
        const char *file =
            is_sbom ? KILN_ENTRY_SBOM : kiln_format(a, "%s%s", name, kind->ending);
        kiln_oci_blob blob;
        kiln_str bytes = sbom;
        if (!is_sbom && k != KILN_OCI_ARCHIVE && !kiln_file_exists(path))
            continue;
        if (!is_sbom)
            KILN_TRY(kiln_file_map(
                a, path, k == KILN_OCI_ARCHIVE ? 0 : KILN_OCI_MAX_BESIDE, &bytes, err));
        KILN_TRY(add_blob(a, layout, kind->media, file, bytes, &blob, err));
        kiln_vec_push(a, out, blob);
    }
    return KILN_OK;
}

/* ---- documents ------------------------------------------------------------------- */

static void put_blob(kiln_json_writer *w, const kiln_oci_blob *b, const char *key) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "mediaType", b->media);
    kiln_json_name(w, "digest");
    kiln_json_put_string(
        w, kiln_str_from(kiln_format(w->out->arena, "sha256:%s", b->sha256)));
    kiln_json_member_i64(w, "size", b->bytes);
    if (key != NULL && strcmp(key, KILN_OCI_REF_NAME) == 0)
        kiln_json_member_str(w, "artifactType", KILN_OCI_ARTIFACT);
    if (b->name != NULL) {
        kiln_json_name(w, "annotations");
        kiln_json_begin_object(w);
        kiln_json_member_str(w, key, b->name);
        kiln_json_end_object(w);
    }
    kiln_json_end_object(w);
}

/* No time and no host: equal archives have equal manifests. */
static kiln_str manifest_of(kiln_arena *a, const kiln_package_facts *f,
                            const kiln_oci_blob *empty, const kiln_oci_blobs *layer) {
    kiln_buf text;
    kiln_json_writer w;
    kiln_buf_init(&text, a);
    kiln_json_writer_init(&w, &text);
    kiln_json_begin_object(&w);
    kiln_json_member_i64(&w, "schemaVersion", 2);
    kiln_json_member_str(&w, "mediaType", KILN_OCI_MANIFEST);
    kiln_json_member_str(&w, "artifactType", KILN_OCI_ARTIFACT);
    kiln_json_name(&w, "config");
    put_blob(&w, empty, NULL);
    kiln_json_name(&w, "layers");
    kiln_json_begin_array(&w);
    for (size_t i = 0; i < layer->n; i++)
        put_blob(&w, &layer->v[i], KILN_OCI_TITLE);
    kiln_json_end_array(&w);
    kiln_json_name(&w, "annotations");
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, KILN_OCI_TITLE, f->model);
    kiln_json_member_str(&w, "org.opencontainers.image.version", f->version);
    if (f->licence != NULL)
        kiln_json_member_str(&w, "org.opencontainers.image.licenses", f->licence);
    kiln_json_end_object(&w);
    kiln_json_end_object(&w);
    kiln_buf_puts(&text, "\n");
    return kiln_buf_str(&text);
}

static int by_tag(const void *x, const void *y) {
    const kiln_oci_blob *p = x, *q = y;
    return strcmp(p->name, q->name);
}

static kiln_status write_index(kiln_arena *a, const char *layout, kiln_oci_blobs *all,
                               kiln_err *err) {
    kiln_buf text;
    kiln_json_writer w;
    qsort(all->v, all->n, sizeof *all->v, by_tag);
    kiln_buf_init(&text, a);
    kiln_json_writer_init(&w, &text);
    kiln_json_begin_object(&w);
    kiln_json_member_i64(&w, "schemaVersion", 2);
    kiln_json_member_str(&w, "mediaType", KILN_OCI_INDEX);
    kiln_json_name(&w, "manifests");
    kiln_json_begin_array(&w);
    for (size_t i = 0; i < all->n; i++)
        put_blob(&w, &all->v[i], KILN_OCI_REF_NAME);
    kiln_json_end_array(&w);
    kiln_json_end_object(&w);
    kiln_buf_puts(&text, "\n");
    return kiln_file_write(kiln_path_join(a, layout, "index.json"), text.p, text.n,
                           err);
}

/* ---- the whole ------------------------------------------------------------------- */

/* Nothing is written into a folder that is somebody else's. */
static kiln_status open_layout(kiln_arena *a, const char *layout, kiln_oci_blobs *all,
                               kiln_err *err) {
    char **names = NULL;
    size_t n = 0;
    if (kiln_file_exists(kiln_path_join(a, layout, "oci-layout")))
        return kiln_oci_read_index(a, layout, all, err);
    if (kiln_dir_exists(layout))
        KILN_TRY(kiln_dir_list(a, layout, &names, &n, err));
    return n == 0 ? KILN_OK
                  : kiln_fail(err, KILN_ERR_ARG,
                              "'%s' has files and is no OCI layout; name a new folder",
                              layout);
}

static kiln_status find_tag(kiln_arena *a, const char *tag, const kiln_package_facts *f,
                            const char **name, const char **out, kiln_err *err) {
    *name = kiln_package_file_name(a, f);
    *out = tag != NULL
               ? tag
               : kiln_format(a, "%.*s", (int)(strlen(*name) - strlen(ending)), *name);
    return kiln_oci_is_tag(*out)
               ? KILN_OK
               : kiln_fail(
                     err, KILN_ERR_ARG,
                     "'%s' cannot be a tag: 1 to %d letters, digits, '_', '.' and "
                     "'-', the first none of the last two; build with --name",
                     kiln_str_printable(a, kiln_str_from(*out), 200), KILN_OCI_TAG - 1);
}

static kiln_status write_all(kiln_arena *a, const char *archive, const char *layout,
                             const char *given, kiln_oci *out, kiln_err *err) {
    kiln_package_facts f;
    kiln_oci_blobs all = {.n = 0}, kept = {.n = 0}, layer = {.n = 0};
    kiln_oci_blob empty, manifest;
    kiln_str sbom;
    const char *name = NULL, *tag = NULL;
    KILN_TRY(read_sbom(a, archive, &f, &sbom, err));
    KILN_TRY(find_tag(a, given, &f, &name, &tag, err));
    KILN_TRY(open_layout(a, layout, &all, err));
    KILN_TRY(kiln_dir_make(kiln_format(a, "%s/blobs/sha256", layout), err));
    KILN_TRY(add_layers(a, archive, layout, name, sbom, &layer, err));
    KILN_TRY(
        add_blob(a, layout, KILN_OCI_EMPTY, NULL, kiln_str_from("{}"), &empty, err));
    KILN_TRY(add_blob(a, layout, KILN_OCI_MANIFEST, tag,
                      manifest_of(a, &f, &empty, &layer), &manifest, err));
    for (size_t i = 0; i < all.n; i++)
        if (strcmp(all.v[i].name, tag) != 0)
            kiln_vec_push(a, &kept, all.v[i]);
    kiln_vec_push(a, &kept, manifest);
    if (kept.n > KILN_OCI_MAX_TAGS)
        return kiln_fail(err, KILN_ERR_LIMIT, "a layout has at most %d tags",
                         KILN_OCI_MAX_TAGS);
    KILN_TRY(kiln_file_write(kiln_path_join(a, layout, "oci-layout"), layout_text,
                             sizeof layout_text - 1, err));
    *out = (kiln_oci){.n_layers = (int)layer.n};
    memcpy(out->tag, tag, strlen(tag) + 1);
    memcpy(out->digest, manifest.sha256, sizeof out->digest);
    return write_index(a, layout, &kept, err);
}

kiln_status kiln_oci_write(const char *archive, const char *layout, const char *tag,
                           kiln_oci *out, kiln_err *err) {
    kiln_arena a = {0};
    const kiln_status st = write_all(&a, archive, layout, tag, out, err);
    if (st != KILN_OK)
        kiln_note(err, "writing '%s' into the OCI layout '%s'", archive, layout);
    kiln_arena_fini(&a);
    return st;
}
