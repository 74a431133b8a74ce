/* Several packages in one archive: what its manifest says, and that all of it fits. */
#include "packager/packager_internal.h"
#include "runtime/variants.h"

#include <inttypes.h>
#include <string.h>

const char *kiln_variant_folder(kiln_arena *a, size_t i) {
    KILN_ASSERT(i < KILN_PACKAGE_MAX_VARIANTS, "variant %zu", i);
    return kiln_format(a, "v%zu", i);
}

kiln_package_facts kiln_variants_facts(kiln_arena *a, const kiln_package_facts *f,
                                       size_t n) {
    KILN_ASSERT(n > 0 && n <= KILN_PACKAGE_MAX_VARIANTS, "%zu variants", n);
    kiln_package_variant *variant = kiln_array(a, kiln_package_variant, n);
    kiln_package_facts all = f[0];
    for (size_t i = 0; i < n; i++)
        variant[i] = (kiln_package_variant){kiln_variant_folder(a, i), &f[i]};
    all.variant = variant;
    all.n_variants = n;
    return all;
}

/* ---- what the runtime reads ------------------------------------------------------- */

static void put_needs(kiln_buf *out, const kiln_profile *p) {
    const char *before = "";
    for (const kiln_need *n = kiln_arch_of(p->arch)->need; n != NULL && n->name != NULL;
         n++)
        if (kiln_need_holds(n, p)) {
            kiln_buf_printf(out, "%s%s", before, n->name);
            before = ",";
        }
    kiln_buf_puts(out, before[0] == '\0' ? "-" : "");
}

kiln_str kiln_variants_text(kiln_arena *a, const kiln_package_facts *f, size_t n) {
    kiln_buf out;
    size_t group = 0;
    kiln_buf_init(&out, a);
    kiln_buf_puts(&out, "kiln variants 1\n");
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && strcmp(f[i].profile.name, f[i - 1].profile.name) != 0)
            group++;
        kiln_buf_printf(&out, "%s %zu %d ", kiln_variant_folder(a, i), group,
                        kiln_package_machine(f[i].profile.arch));
        put_needs(&out, &f[i].profile);
        kiln_buf_printf(&out, " %s\n",
                        kiln_str_printable(a, kiln_str_from(f[i].profile.name),
                                           KILN_VARIANTS_TEXT - 1));
    }
    return kiln_buf_str(&out);
}

/* ---- the manifest ----------------------------------------------------------------- */

static kiln_status refuse(const char *what, kiln_err *err) {
    return kiln_fail(err, KILN_ERR_PARSE, KILN_ENTRY_MANIFEST ": %s", what);
}

static kiln_status read_entry(kiln_arena *a, const kiln_json *o,
                              kiln_package_entry *out, kiln_err *err) {
    int64_t bytes = -1;
    const char *sha256 = kiln_json_string(kiln_json_get(o, "sha256"), "");
    out->name = kiln_json_string(kiln_json_get(o, "name"), "");
    const kiln_str name = kiln_str_from(out->name);
    if (name.n == 0 || name.n >= KILN_TAR_NAME || !kiln_path_is_contained(name) ||
        !kiln_json_i64(kiln_json_get(o, "bytes"), &bytes) || bytes < 0 ||
        (uint64_t)bytes > KILN_TAR_MAX_NUMBER ||
        strlen(sha256) != KILN_SHA256_HEX - 1 ||
        strspn(sha256, "0123456789abcdef") != KILN_SHA256_HEX - 1)
        return refuse(kiln_format(a, "entry '%s' needs 'name', 'bytes' and 'sha256'",
                                  kiln_str_printable(a, name, 64)),
                      err);
    out->bytes = (uint64_t)bytes;
    memcpy(out->sha256, sha256, KILN_SHA256_HEX);
    return KILN_OK;
}

static kiln_status read_list(kiln_arena *a, const kiln_json *root,
                             kiln_package_list *out, kiln_err *err) {
    const kiln_json *list = kiln_json_get(root, "entries");
    const kiln_json *variants = kiln_json_get(root, "variants");
    kiln_package_list l = {.n_variants = kiln_json_size(variants),
                           .n_entries = kiln_json_size(list)};
    if (!kiln_json_is_array(variants) || l.n_variants < 2 ||
        l.n_variants > KILN_PACKAGE_MAX_VARIANTS)
        return refuse(kiln_format(a, "'variants' must be a list of 2 to %d",
                                  KILN_PACKAGE_MAX_VARIANTS),
                      err);
    if (!kiln_json_is_array(list) || l.n_entries < l.n_variants ||
        l.n_entries > KILN_PACKAGE_ALL_ENTRIES)
        return refuse("'entries' must be a list of all of them", err);
    kiln_package_entry *entry = kiln_array(a, kiln_package_entry, l.n_entries);
    const kiln_json *o = kiln_json_first(list), *v = kiln_json_first(variants);
    kiln_map seen = {.slot = NULL};
    kiln_map_set(a, &seen, KILN_STR_LIT(KILN_ENTRY_MANIFEST), entry);
    for (size_t i = 0; i < l.n_entries; i++, o = kiln_json_next(o)) {
        KILN_TRY(read_entry(a, o, &entry[i], err));
        if (kiln_map_has(&seen, kiln_str_from(entry[i].name)))
            return refuse("an entry comes twice", err);
        kiln_map_set(a, &seen, kiln_str_from(entry[i].name), &entry[i]);
    }
    for (size_t i = 0; i < l.n_variants; i++, v = kiln_json_next(v)) {
        const char *folder = kiln_variant_folder(a, i);
        if (strcmp(kiln_json_string(v, ""), folder) != 0 ||
            strcmp(entry[i].name, kiln_path_join(a, folder, KILN_ENTRY_MANIFEST)) != 0)
            return refuse("'variants' must be 'v0', 'v1' and so on, and their "
                          "manifests the first entries",
                          err);
    }
    l.entry = entry;
    *out = l;
    return KILN_OK;
}

kiln_status kiln_package_list_read(kiln_arena *a, kiln_str text, kiln_package_list *out,
                                   kiln_err *err) {
    kiln_err why = {.status = KILN_OK};
    const kiln_json *root = NULL;
    int64_t version = 0;
    kiln_package_list l = {.n_variants = 0};
    const bool is_several =
        text.n <= KILN_PACKAGE_MAX_MANIFEST &&
        kiln_json_parse(a, text, KILN_ENTRY_MANIFEST, &root, &why) == KILN_OK &&
        strcmp(kiln_json_string(kiln_json_get(root, "format"), ""), "kiln package") ==
            0 &&
        kiln_json_i64(kiln_json_get(root, "format_version"), &version) &&
        version == KILN_PACKAGE_FORMAT_OF_SEVERAL;
    if (is_several)
        return read_list(a, root, out, err);
    KILN_TRY(kiln_manifest_read(a, text, &l.facts, err));
    l.entry = l.facts.entry;
    l.n_entries = l.facts.n_entries;
    *out = l;
    return KILN_OK;
}

/* ---- do they fit? ----------------------------------------------------------------- */

static const kiln_package_entry *find(const kiln_package_list *l, const char *name) {
    for (size_t i = 0; i < l->n_entries; i++)
        if (strcmp(l->entry[i].name, name) == 0)
            return &l->entry[i];
    return NULL;
}

/* Ports by their names and types, whatever their shapes. */
static bool same_names(const kiln_package_port *x, size_t n_x,
                       const kiln_package_port *y, size_t n_y) {
    bool same = n_x == n_y;
    for (size_t i = 0; i < n_x && same; i++)
        same = strcmp(x[i].name, y[i].name) == 0 && strcmp(x[i].dtype, y[i].dtype) == 0;
    return same;
}

kiln_status kiln_variants_fit(const kiln_package_facts *f, size_t n, kiln_err *err) {
    for (size_t i = 1; i < n; i++)
        if (strcmp(f[i].model, f[0].model) != 0 ||
            strcmp(f[i].version, f[0].version) != 0 ||
            strcmp(f[i].source_sha256, f[0].source_sha256) != 0 ||
            !same_names(f[i].input, f[i].n_inputs, f[0].input, f[0].n_inputs) ||
            !same_names(f[i].output, f[i].n_outputs, f[0].output, f[0].n_outputs))
            return kiln_fail(err, KILN_ERR_PARSE,
                             "variants must be of one model: names and types of "
                             "inputs and outputs of variant %zu are not those of the "
                             "first",
                             i);
    return KILN_OK;
}

static kiln_status check_entry(kiln_arena *a, const kiln_package_list *l, size_t i,
                               const kiln_package_entry *want, kiln_err *err) {
    const bool is_shared = strcmp(want->name, KILN_ENTRY_PARAMS) == 0;
    const char *name = is_shared
                           ? want->name
                           : kiln_path_join(a, kiln_variant_folder(a, i), want->name);
    const kiln_package_entry *e = find(l, name);
    if (e != NULL && e->bytes == want->bytes && strcmp(e->sha256, want->sha256) == 0)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_PARSE,
                     "entry '%s' is not what the manifest of variant %zu says", name,
                     i);
}

kiln_status kiln_variants_check(kiln_arena *a, const kiln_package_list *l,
                                const kiln_package_facts *f, kiln_err *err) {
    const kiln_str text = kiln_variants_text(a, f, l->n_variants);
    const kiln_content want = {KILN_ENTRY_VARIANTS, &text, 1};
    kiln_package_entry e;
    size_t n = l->n_variants + 2;
    kiln_content_describe(&want, &e);
    KILN_TRY(kiln_variants_fit(f, l->n_variants, err));
    for (size_t i = 0; i < l->n_variants; i++) {
        for (size_t k = 0; k < f[i].n_entries; k++)
            KILN_TRY(check_entry(a, l, i, &f[i].entry[k], err));
        n += f[i].n_entries - 1;
    }
    const kiln_package_entry *got = find(l, KILN_ENTRY_VARIANTS);
    if (got == NULL || got->bytes != e.bytes || strcmp(got->sha256, e.sha256) != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "entry '" KILN_ENTRY_VARIANTS
                         "' is not what the variants' manifests say");
    if (n != l->n_entries)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "there are %zu entries, the variants have %zu", l->n_entries,
                         n);
    return KILN_OK;
}
