/* A folder that was unpacked: what it says of itself, and whether all of it fits. */
#include "packager/packager_internal.h"

#include <inttypes.h>
#include <string.h>

kiln_status kiln_variants_inspect(kiln_arena *a, const char *folder, size_t n,
                                  kiln_package_facts *out, kiln_err *err) {
    kiln_package_facts *f = kiln_array(a, kiln_package_facts, n);
    for (size_t i = 0; i < n; i++) {
        kiln_str text;
        const char *own = kiln_path_join(a, folder, kiln_variant_folder(a, i));
        KILN_TRY(kiln_file_map(a, kiln_path_join(a, own, KILN_ENTRY_MANIFEST),
                               KILN_PACKAGE_MAX_MANIFEST, &text, err));
        KILN_TRY(kiln_manifest_read(a, text, &f[i], err));
    }
    *out = kiln_variants_facts(a, f, n);
    return KILN_OK;
}

kiln_status kiln_package_inspect_folder(kiln_arena *a, const char *folder,
                                        kiln_package_facts *out, kiln_err *err) {
    kiln_str text;
    kiln_package_list l;
    KILN_TRY(kiln_file_map(a, kiln_path_join(a, folder, KILN_ENTRY_MANIFEST),
                           KILN_PACKAGE_MAX_MANIFEST, &text, err));
    kiln_status st = kiln_package_list_read(a, text, &l, err);
    if (st == KILN_OK && l.n_variants > 0)
        st = kiln_variants_inspect(a, folder, l.n_variants, out, err);
    else if (st == KILN_OK)
        *out = l.facts;
    if (st != KILN_OK)
        kiln_note(err, "reading the package's folder '%s'", folder);
    return st;
}

bool kiln_package_is_folder(const char *path) {
    kiln_arena a = {0};
    const bool is_one =
        kiln_file_exists(kiln_path_join(&a, path, KILN_ENTRY_MANIFEST)) &&
        (kiln_file_exists(kiln_path_join(&a, path, KILN_ENTRY_PLAN)) ||
         kiln_file_exists(kiln_path_join(&a, path, KILN_ENTRY_VARIANTS)));
    kiln_arena_fini(&a);
    return is_one;
}

/* What is there for tools and people: nothing that runs asks for it, so nothing else
 * would miss it. */
static kiln_status check_document(const char *folder, const char *name, const char *key,
                                  kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_str text;
    const kiln_json *root = NULL;
    kiln_status st =
        kiln_file_map(&scratch, kiln_path_join(&scratch, folder, name), 0, &text, err);
    if (st == KILN_OK)
        st = kiln_json_parse(&scratch, text, name, &root, err);
    if (st == KILN_OK && kiln_json_get(root, key) == NULL)
        st = kiln_fail(err, KILN_ERR_PARSE, "%s: must be an object with '%s'", name,
                       key);
    kiln_arena_fini(&scratch);
    return st;
}

/* The manifest's reader has seen that they are numbered from 1. */
static kiln_status map_modules(kiln_arena *a, const char *folder,
                               const kiln_package_facts *f, kiln_package_parts *p,
                               kiln_err *err) {
    kiln_str *module = kiln_array(a, kiln_str, KILN_PACKAGE_MAX_MODULES + 1);
    p->module = module;
    p->n_modules = 1;
    for (size_t i = 0; i < f->n_entries; i++)
        p->n_modules += kiln_package_module_number(f->entry[i].name) > 0;
    for (size_t i = 0; i < p->n_modules; i++)
        KILN_TRY(kiln_file_map(a,
                               kiln_path_join(a, folder, kiln_package_module_of(f, i)),
                               0, &module[i], err));
    return KILN_OK;
}

static kiln_status check_folder(kiln_arena *a, const char *folder,
                                const kiln_package_facts *f, kiln_err *err) {
    kiln_package_parts p;
    const char *const name[] = {KILN_ENTRY_PLAN, KILN_ENTRY_PARAMS, KILN_ENTRY_INPUTS,
                                KILN_ENTRY_EXPECTED};
    kiln_str *const file[] = {&p.plan, &p.params, &p.inputs, &p.expected};
    KILN_TRY(map_modules(a, folder, f, &p, err));
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++)
        KILN_TRY(kiln_file_map(a, kiln_path_join(a, folder, name[i]), 0, file[i], err));
    p.params_bytes = p.params.n;
    KILN_TRY(check_document(folder, KILN_ENTRY_GRAPH, "graphs", err));
    KILN_TRY(check_document(folder, KILN_ENTRY_SBOM, "spdxVersion", err));
    return kiln_package_check(a, f, &p, err);
}

kiln_status kiln_package_check_folder(kiln_arena *a, const char *folder,
                                      const kiln_package_list *l, kiln_err *err) {
    if (l->n_variants == 0)
        return check_folder(a, folder, &l->facts, err);
    kiln_package_facts all;
    KILN_TRY(kiln_variants_inspect(a, folder, l->n_variants, &all, err));
    KILN_TRY(kiln_variants_check(a, l, all.variant[0].facts, err));
    for (size_t i = 0; i < all.n_variants; i++) {
        const kiln_package_variant *v = &all.variant[i];
        const kiln_status st =
            check_folder(a, kiln_path_join(a, folder, v->folder), v->facts, err);
        if (st != KILN_OK) {
            kiln_note(err, "checking variant '%s'", v->folder);
            return st;
        }
    }
    return KILN_OK;
}

static kiln_status check_file(kiln_arena *a, const char *folder,
                              const kiln_package_entry *want, kiln_err *err) {
    kiln_str file;
    char sha256[KILN_SHA256_HEX];
    KILN_TRY(kiln_file_map(a, kiln_path_join(a, folder, want->name), 0, &file, err));
    if (file.n != want->bytes)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' has %zu bytes, the manifest says %" PRIu64 "; unpack "
                         "the archive again",
                         want->name, file.n, want->bytes);
    kiln_sha256_of(file.p, file.n, sha256);
    if (strcmp(sha256, want->sha256) != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s': its SHA-256 is not the manifest's; unpack the archive "
                         "again",
                         want->name);
    return KILN_OK;
}

/* All of an unpacked folder. */
static kiln_status verify_folder(kiln_arena *a, const char *folder, kiln_err *err) {
    kiln_package_list l;
    kiln_str text;
    KILN_TRY(kiln_file_map(a, kiln_path_join(a, folder, KILN_ENTRY_MANIFEST),
                           KILN_PACKAGE_MAX_MANIFEST, &text, err));
    KILN_TRY(kiln_package_list_read(a, text, &l, err));
    for (size_t i = 0; i < l.n_entries; i++)
        KILN_TRY(check_file(a, folder, &l.entry[i], err));
    return kiln_package_check_folder(a, folder, &l, err);
}

kiln_status kiln_package_verify_folder(const char *folder, kiln_err *err) {
    kiln_arena scratch = {0};
    const kiln_status st = verify_folder(&scratch, folder, err);
    if (st != KILN_OK)
        kiln_note(err, "verifying the package's folder '%s'", folder);
    kiln_arena_fini(&scratch);
    return st;
}
