/* sbom.spdx.json: what the package is made of (SPDX 2.3, JSON). Files are not analysed:
 * SPDX wants SHA-1 of each, the manifest has SHA-256. */
#include "packager/packager_internal.h"

#include <string.h>
#include <time.h>

static void put_package(kiln_json_writer *w, const char *id, const char *name,
                        const char *version, const char *licence, const char *sha256,
                        const char *purpose) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "SPDXID", id);
    kiln_json_member_str(w, "name", name);
    if (version != NULL)
        kiln_json_member_str(w, "versionInfo", version);
    kiln_json_member_str(w, "downloadLocation", "NOASSERTION");
    kiln_json_member_bool(w, "filesAnalyzed", false);
    kiln_json_member_str(w, "licenseConcluded", "NOASSERTION");
    kiln_json_member_str(w, "licenseDeclared",
                         licence != NULL ? licence : "NOASSERTION");
    kiln_json_member_str(w, "copyrightText", "NOASSERTION");
    kiln_json_member_str(w, "primaryPackagePurpose", purpose);
    if (sha256 != NULL) {
        kiln_json_name(w, "checksums");
        kiln_json_begin_array(w);
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "algorithm", "SHA256");
        kiln_json_member_str(w, "checksumValue", sha256);
        kiln_json_end_object(w);
        kiln_json_end_array(w);
    }
    kiln_json_end_object(w);
}

static void put_relation(kiln_json_writer *w, const char *from, const char *type,
                         const char *to) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "spdxElementId", from);
    kiln_json_member_str(w, "relationshipType", type);
    kiln_json_member_str(w, "relatedSpdxElement", to);
    kiln_json_end_object(w);
}

/* Of all other entries' hashes: equal contents have equal names, others do not. */
static const char *name_space(kiln_arena *a, const kiln_package_facts *f) {
    kiln_sha256 h;
    char hex[KILN_SHA256_HEX];
    kiln_sha256_init(&h);
    for (size_t i = 0; i < f->n_entries; i++)
        if (strcmp(f->entry[i].name, KILN_ENTRY_SBOM) != 0)
            kiln_sha256_add(&h, f->entry[i].sha256, KILN_SHA256_HEX - 1);
    kiln_sha256_add(&h, f->source_sha256, strlen(f->source_sha256));
    kiln_sha256_hex(&h, hex);
    return kiln_format(a, "https://spdx.org/spdxdocs/kiln-package-%s", hex);
}

static void put_packages(kiln_json_writer *w, const kiln_package_facts *f) {
    kiln_json_name(w, "packages");
    kiln_json_begin_array(w);
    put_package(w, "SPDXRef-package", f->model, f->version, f->licence, NULL,
                "APPLICATION");
    put_package(w, "SPDXRef-model", f->model, f->version, f->licence, f->source_sha256,
                "DATA");
    put_package(w, "SPDXRef-kiln", "kiln", f->kiln_version, "Apache-2.0", NULL,
                "APPLICATION");
    put_package(w, "SPDXRef-llvm", "LLVM", f->llvm_version,
                "Apache-2.0 WITH LLVM-exception", NULL, "APPLICATION");
    put_package(w, "SPDXRef-lld", "LLD", f->lld_version,
                "Apache-2.0 WITH LLVM-exception", NULL, "APPLICATION");
    put_package(w, "SPDXRef-zstd", "zstd", f->zstd_version,
                "BSD-3-Clause OR GPL-2.0-only", NULL, "APPLICATION");
    kiln_json_end_array(w);
    kiln_json_name(w, "relationships");
    kiln_json_begin_array(w);
    put_relation(w, "SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-package");
    put_relation(w, "SPDXRef-package", "GENERATED_FROM", "SPDXRef-model");
    put_relation(w, "SPDXRef-kiln", "BUILD_TOOL_OF", "SPDXRef-package");
    put_relation(w, "SPDXRef-llvm", "BUILD_TOOL_OF", "SPDXRef-package");
    put_relation(w, "SPDXRef-lld", "BUILD_TOOL_OF", "SPDXRef-package");
    put_relation(w, "SPDXRef-zstd", "BUILD_TOOL_OF", "SPDXRef-package");
    kiln_json_end_array(w);
}

kiln_str kiln_package_sbom(kiln_arena *a, const kiln_package_facts *f, int64_t time_s) {
    char created[32];
    struct tm when;
    const time_t t = (time_t)time_s;
    gmtime_r(&t, &when);
    strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", &when);
    kiln_buf out;
    kiln_json_writer w;
    kiln_buf_init(&out, a);
    kiln_json_writer_init(&w, &out);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "spdxVersion", "SPDX-2.3");
    kiln_json_member_str(&w, "dataLicense", "CC0-1.0");
    kiln_json_member_str(&w, "SPDXID", "SPDXRef-DOCUMENT");
    kiln_json_member_str(
        &w, "name",
        kiln_format(a, "%s %s for %s", f->model, f->version, f->profile.name));
    kiln_json_member_str(&w, "documentNamespace", name_space(a, f));
    kiln_json_name(&w, "creationInfo");
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "created", created);
    kiln_json_name(&w, "creators");
    kiln_json_begin_array(&w);
    kiln_json_put_string(
        &w, kiln_str_from(kiln_format(a, "Tool: kiln-%s", f->kiln_version)));
    kiln_json_end_array(&w);
    kiln_json_end_object(&w);
    put_packages(&w, f);
    kiln_json_end_object(&w);
    kiln_buf_puts(&out, "\n");
    return kiln_buf_str(&out);
}
