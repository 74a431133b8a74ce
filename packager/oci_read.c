/* An OCI image layout, which nobody trusts: every document, size and hash is held
 * against what names it before anything goes by it. Paths are made of hashes alone. */
#include "packager/oci.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <errno.h>

enum { MAX_LAYERS = 16, HEX_DIGITS = KILN_SHA256_HEX - 1, SHOWN = 200, MAX_NAME = 240 };
static const char sha256_prefix[] = "sha256:";

static const char *shown(kiln_arena *a, const char *text) {
    return kiln_str_printable(a, kiln_str_from(text), SHOWN);
}

/* ---- descriptors ----------------------------------------------------------------- */

static bool read_digest(const char *text, char out[KILN_SHA256_HEX]) {
    const size_t prefix = sizeof sha256_prefix - 1;
    if (strncmp(text, sha256_prefix, prefix) != 0 ||
        strlen(text + prefix) != HEX_DIGITS)
        return false;
    for (size_t i = 0; i < HEX_DIGITS; i++) {
        const char c = text[prefix + i];
        if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
            return false;
    }
    memcpy(out, text + prefix, KILN_SHA256_HEX);
    return true;
}

kiln_status kiln_oci_read_blob(kiln_arena *a, const kiln_json *v, const char *where,
                               const char *key, kiln_oci_blob *out, kiln_err *err) {
    const char *media = kiln_json_string(kiln_json_get(v, "mediaType"), NULL);
    const char *digest = kiln_json_string(kiln_json_get(v, "digest"), "");
    const kiln_json *annotations = kiln_json_get(v, "annotations");
    kiln_oci_blob b = {.media = media};
    if (media == NULL)
        return kiln_fail(err, KILN_ERR_PARSE, "%s has no mediaType", where);
    if (!read_digest(digest, b.sha256))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s: its digest must be sha256: and 64 digits of 0-9a-f, is "
                         "'%s'",
                         where, shown(a, digest));
    if (!kiln_json_i64(kiln_json_get(v, "size"), &b.bytes) || b.bytes < 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s: its size must be a whole number of bytes", where);
    if (key != NULL)
        b.name = kiln_json_string(kiln_json_get(annotations, key), NULL);
    *out = b;
    return KILN_OK;
}

/* ---- documents ------------------------------------------------------------------- */

static kiln_status check_head(const kiln_json *doc, const char *where,
                              const char *media, kiln_err *err) {
    int64_t version = 0;
    const char *is = kiln_json_string(kiln_json_get(doc, "mediaType"), media);
    if (!kiln_json_i64(kiln_json_get(doc, "schemaVersion"), &version) || version != 2)
        return kiln_fail(err, KILN_ERR_PARSE, "%s: schemaVersion must be 2", where);
    return strcmp(is, media) == 0 ? KILN_OK
                                  : kiln_fail(err, KILN_ERR_PARSE,
                                              "%s: mediaType must be %s", where, media);
}

static kiln_status read_document(kiln_arena *a, const char *path, uint64_t most,
                                 const kiln_json **out, kiln_err *err) {
    kiln_str text;
    KILN_TRY(kiln_file_map(a, path, most, &text, err));
    return kiln_json_parse(a, text, path, out, err);
}

static kiln_status check_layout(kiln_arena *a, const char *layout, kiln_err *err) {
    enum { MAX_BYTES = 4096 };
    const char *path = kiln_path_join(a, layout, "oci-layout");
    const kiln_json *doc = NULL;
    KILN_TRY(read_document(a, path, MAX_BYTES, &doc, err));
    const char *version =
        kiln_json_string(kiln_json_get(doc, "imageLayoutVersion"), "none");
    return strcmp(version, "1.0.0") == 0
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_UNSUPPORTED,
                           "'%s': imageLayoutVersion must be 1.0.0, is '%s'", path,
                           shown(a, version));
}

static kiln_status take_manifest(kiln_arena *a, const kiln_json *v, size_t i,
                                 kiln_oci_blobs *out, kiln_err *err) {
    const char *where = kiln_format(a, "index.json: manifests[%zu]", i);
    kiln_oci_blob b;
    KILN_TRY(kiln_oci_read_blob(a, v, where, KILN_OCI_REF_NAME, &b, err));
    if (strcmp(b.media, KILN_OCI_MANIFEST) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, "%s is '%s', which is no manifest", where,
                         shown(a, b.media));
    if (b.name == NULL || !kiln_oci_is_tag(b.name))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s has no tag (" KILN_OCI_REF_NAME "), or none of letters, "
                         "digits, '_', '.' and '-'",
                         where);
    for (size_t k = 0; k < out->n; k++)
        if (strcmp(out->v[k].name, b.name) == 0)
            return kiln_fail(err, KILN_ERR_PARSE, "%s: the tag '%s' is there twice",
                             where, b.name);
    kiln_vec_push(a, out, b);
    return KILN_OK;
}

kiln_status kiln_oci_read_index(kiln_arena *a, const char *layout, kiln_oci_blobs *out,
                                kiln_err *err) {
    const char *path = kiln_path_join(a, layout, "index.json");
    const kiln_json *doc = NULL;
    size_t i = 0;
    *out = (kiln_oci_blobs){.n = 0};
    KILN_TRY(check_layout(a, layout, err));
    KILN_TRY(read_document(a, path, KILN_OCI_MAX_INDEX, &doc, err));
    KILN_TRY(check_head(doc, "index.json", KILN_OCI_INDEX, err));
    const kiln_json *list = kiln_json_get(doc, "manifests");
    if (!kiln_json_is_array(list))
        return kiln_fail(err, KILN_ERR_PARSE, "index.json: manifests must be a list");
    if (kiln_json_size(list) > KILN_OCI_MAX_TAGS)
        return kiln_fail(err, KILN_ERR_LIMIT, "index.json: has more than %d manifests",
                         KILN_OCI_MAX_TAGS);
    for (const kiln_json *v = kiln_json_first(list); v != NULL; v = kiln_json_next(v))
        KILN_TRY(take_manifest(a, v, i++, out, err));
    return KILN_OK;
}

/* ---- blobs ----------------------------------------------------------------------- */

/* Its bytes, which are those that the descriptor says. */
static kiln_status read_blob(kiln_arena *a, const char *layout, const kiln_oci_blob *b,
                             uint64_t most, const char **path, kiln_str *out,
                             kiln_err *err) {
    char sha256[KILN_SHA256_HEX];
    *path = kiln_format(a, "%s/blobs/sha256/%s", layout, b->sha256);
    KILN_TRY(kiln_file_map(a, *path, most, out, err));
    if ((uint64_t)b->bytes != out->n)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' has %zu bytes, its descriptor says %" PRId64, *path,
                         out->n, b->bytes);
    kiln_sha256_of(out->p, out->n, sha256);
    return strcmp(sha256, b->sha256) == 0
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_PARSE, "'%s': its SHA-256 is not its name",
                           *path);
}

/* The layers by kind; which are not there have no media type. */
typedef struct layers {
    kiln_oci_blob of[KILN_OCI_N_KINDS];
} layers;

static kiln_status take_layer(kiln_arena *a, const kiln_json *v, size_t i, layers *out,
                              kiln_err *err) {
    const char *where = kiln_format(a, "manifest: layers[%zu]", i);
    kiln_oci_blob b;
    KILN_TRY(kiln_oci_read_blob(a, v, where, KILN_OCI_TITLE, &b, err));
    for (int k = 0; k < KILN_OCI_N_KINDS; k++) {
        if (strcmp(b.media, kiln_oci_kinds[k].media) != 0)
            continue;
        if (out->of[k].media != NULL)
            return kiln_fail(err, KILN_ERR_PARSE, "%s: a second '%s'", where, b.media);
        out->of[k] = b;
        return KILN_OK;
    }
    return kiln_fail(err, KILN_ERR_PARSE,
                     "%s is '%s', which is no part of a kiln package", where,
                     shown(a, b.media));
}

/* "{}", as artifacts without a configuration have it. */
static kiln_status check_config(kiln_arena *a, const char *layout, const kiln_json *doc,
                                kiln_err *err) {
    enum { MAX_BYTES = 16 };
    kiln_oci_blob b;
    kiln_str bytes;
    const char *path = NULL;
    KILN_TRY(kiln_oci_read_blob(a, kiln_json_get(doc, "config"), "manifest: config",
                                NULL, &b, err));
    if (strcmp(b.media, KILN_OCI_EMPTY) != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "manifest: config must be " KILN_OCI_EMPTY ", is '%s'",
                         shown(a, b.media));
    KILN_TRY(read_blob(a, layout, &b, MAX_BYTES, &path, &bytes, err));
    return kiln_str_eq(bytes, kiln_str_from("{}"))
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_PARSE, "manifest: config must be {}");
}

static kiln_status read_manifest(kiln_arena *a, const char *layout,
                                 const kiln_oci_blob *b, layers *out, kiln_err *err) {
    const kiln_json *doc = NULL;
    const char *path = NULL;
    kiln_str text;
    size_t i = 0;
    KILN_TRY(read_blob(a, layout, b, KILN_OCI_MAX_MANIFEST, &path, &text, err));
    KILN_TRY(kiln_json_parse(a, text, "manifest", &doc, err));
    KILN_TRY(check_head(doc, "manifest", KILN_OCI_MANIFEST, err));
    const char *type = kiln_json_string(kiln_json_get(doc, "artifactType"), "none");
    if (strcmp(type, KILN_OCI_ARTIFACT) != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "manifest: artifactType must be " KILN_OCI_ARTIFACT
                         ", is '%s': it is something else than a package of kiln",
                         shown(a, type));
    KILN_TRY(check_config(a, layout, doc, err));
    const kiln_json *list = kiln_json_get(doc, "layers");
    if (!kiln_json_is_array(list) || kiln_json_size(list) > MAX_LAYERS)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "manifest: layers must be a list of at most %d", MAX_LAYERS);
    for (const kiln_json *v = kiln_json_first(list); v != NULL; v = kiln_json_next(v))
        KILN_TRY(take_layer(a, v, i++, out, err));
    return out->of[KILN_OCI_ARCHIVE].media != NULL
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_PARSE, "manifest: no layer is an archive");
}

/* ---- references ------------------------------------------------------------------ */

bool kiln_oci_is_reference(const char *text) {
    return strncmp(text, KILN_OCI_PREFIX, sizeof KILN_OCI_PREFIX - 1) == 0;
}

/* DIR and TAG: where the whole is a folder there is no tag, and a folder's name may
 * have colons. */
static void split(kiln_arena *a, const char *reference, const char **layout,
                  const char **tag) {
    char *text = kiln_str_dup(a, reference + sizeof KILN_OCI_PREFIX - 1);
    char *colon = strrchr(text, ':');
    *layout = text;
    *tag = NULL;
    if (colon == NULL || kiln_dir_exists(text))
        return;
    *colon = '\0';
    *tag = colon + 1;
}

static kiln_status find_manifest(kiln_arena *a, const char *layout, const char *tag,
                                 kiln_oci_blob *out, kiln_err *err) {
    kiln_oci_blobs all;
    kiln_buf tags;
    KILN_TRY(kiln_oci_read_index(a, layout, &all, err));
    kiln_buf_init(&tags, a);
    for (size_t i = 0; i < all.n; i++) {
        kiln_buf_printf(&tags, "%s%s", i > 0 ? ", " : "", all.v[i].name);
        if (tag == NULL ? all.n == 1 : strcmp(all.v[i].name, tag) == 0) {
            *out = all.v[i];
            return KILN_OK;
        }
    }
    return kiln_fail(err, KILN_ERR_ARG, "'%s' has %s%s%s; its tags: %s", layout,
                     tag != NULL  ? "no tag '"
                     : all.n == 0 ? "no package"
                                  : "several packages: name one by its tag",
                     tag != NULL ? shown(a, tag) : "", tag != NULL ? "'" : "",
                     all.n > 0 ? tags.p : "none");
}

/* What an archive's file may be called: nothing that leaves a folder or hides. */
static bool is_file_name(const char *name) {
    const size_t n = name != NULL ? strlen(name) : 0;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] <= ' ' || (unsigned char)name[i] > '~' ||
            name[i] == '/')
            return false;
    return n > 0 && n <= MAX_NAME && name[0] != '.' && name[0] != '-' &&
           kiln_str_ends(kiln_str_from(name), ".kiln.tar.zst");
}

/* A folder with links to the blobs by their files' names, as they lie elsewhere. */
static kiln_status lay_out(kiln_arena *a, const char *layout, const layers *l,
                           const char **archive, kiln_err *err) {
    const char *dir = NULL, *name = l->of[KILN_OCI_ARCHIVE].name;
    if (!is_file_name(name))
        return kiln_fail(
            err, KILN_ERR_PARSE,
            "manifest: the archive's title must be a file's name that ends "
            "in .kiln.tar.zst, is '%s'",
            name != NULL ? shown(a, name) : "not there");
    KILN_TRY(kiln_dir_temp(a, &dir, err));
    for (int k = 0; k < KILN_OCI_N_KINDS; k++) {
        const char *path = NULL, *real = NULL;
        const uint64_t most = k == KILN_OCI_ARCHIVE ? 0 : KILN_OCI_MAX_BESIDE;
        kiln_str bytes;
        if (l->of[k].media == NULL)
            continue;
        KILN_TRY(read_blob(a, layout, &l->of[k], most, &path, &bytes, err));
        if (kiln_oci_kinds[k].ending == NULL)
            continue; /* the archive has its own */
        KILN_TRY(kiln_path_real(a, path, &real, err));
        const char *link =
            kiln_format(a, "%s/%s%s", dir, name, kiln_oci_kinds[k].ending);
        if (symlink(real, link) != 0)
            return kiln_fail(err, KILN_ERR_IO, "cannot make '%s': %s", link,
                             strerror(errno));
    }
    *archive = kiln_path_join(a, dir, name);
    return KILN_OK;
}

kiln_status kiln_oci_resolve(kiln_arena *a, const char *reference, const char **archive,
                             kiln_err *err) {
    const char *layout = NULL, *tag = NULL;
    kiln_oci_blob manifest;
    layers l = {.of = {{.media = NULL}}};
    split(a, reference, &layout, &tag);
    kiln_status st = find_manifest(a, layout, tag, &manifest, err);
    if (st == KILN_OK)
        st = read_manifest(a, layout, &manifest, &l, err);
    if (st == KILN_OK)
        st = lay_out(a, layout, &l, archive, err);
    if (st != KILN_OK)
        kiln_note(err, "reading '%s'", reference);
    return st;
}
